-- SPDX-License-Identifier: Apache-2.0
--- Calls f(...), which must raise an error object, and returns that object.
return function(f, ...)
  local outcome = table.pack(pcall(f, ...))
  assert(not outcome[1], "raised nothing")
  local err = outcome[2]
  assert(type(err) == "table" and getmetatable(err) == "aicr.error",
    "raised no error object: " .. tostring(err))
  return err
end
