-- SPDX-License-Identifier: Apache-2.0
--- Output handler of busted: TAP rows with full names; a pending test is a
--- failed one; a file that does not load is one too.

local function show(message)
  if type(message) == "table" and message.message then
    message = message.message
  end
  return tostring(message):gsub("\n", "\n#   ")
end

return function()
  local busted = require "busted"
  local handler = require "busted.outputHandlers.base"()
  local count = 0

  local function row(word, name)
    count = count + 1
    print(("%s %d - %s"):format(word, count, (name:gsub("[\r\n]", " "))))
  end

  local function tell(message, trace)
    print("#   " .. show(message))
    if type(trace) == "table" and trace.traceback then
      print("#   " .. show(trace.traceback))
    end
    io.stdout:flush()
  end

  local function failed(element, _, message, trace)
    row("not ok", handler.getFullName(element) or "?")
    tell(message, trace)
    return nil, true
  end

  busted.subscribe({ "test", "end" }, function(element, _, status)
    if status == "success" then
      row("ok", handler.getFullName(element))
    elseif status == "pending" then
      row("not ok", handler.getFullName(element) .. " (pending)")
    end
    return nil, true
  end)
  busted.subscribe({ "failure" }, failed)
  busted.subscribe({ "error" }, failed)
  busted.subscribe({ "suite", "end" }, function()
    print("1.." .. count)
    io.stdout:flush()
    return nil, true
  end)
  return handler
end
