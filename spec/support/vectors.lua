-- SPDX-License-Identifier: Apache-2.0
--- The differential vectors of spec/fixtures/vectors/ as rows for specs.
local json = require "aicr.json"

local M = {}

M.DIR = "spec/fixtures/vectors/"
--- Those of gke-tcpxo.md.
M.GKE = { "gkenet-section7.jsonl", "gkenet-sample.jsonl" }

local DIGITS = {}
do
  local alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
  for i = 1, #alphabet do
    DIGITS[alphabet:byte(i)] = i - 1
  end
end

--- Decodes base64 text (standard alphabet, padding optional).
-- @param text string
-- @return string the bytes
function M.base64(text)
  local out, bits, held = {}, 0, 0
  for i = 1, #text do
    local digit = DIGITS[text:byte(i)]
    if digit then
      held = (held << 6 | digit) & 0xffffff
      bits = bits + 6
      if bits >= 8 then
        bits = bits - 8
        out[#out + 1] = string.char(held >> bits & 0xff)
      end
    else
      assert(text:sub(i):match "^=+$", "not base64: " .. text)
    end
  end
  return table.concat(out)
end

--- Reads a file of vectors, every line.
-- @param file string a name in M.DIR
-- @return table list of {id, op, args, ok, code, result, why}; null is json.null, an argument
--   `NAME_b64` is also there decoded, as `NAME`
function M.read(file)
  local rows = {}
  for line in assert(io.open(M.DIR .. file, "rb")):lines() do
    local row = json.decode(line)
    if type(row.args) == "table" then
      local decoded = {}
      for key, value in pairs(row.args) do
        local name = type(key) == "string" and key:match "^(.*)_b64$"
        if name then
          decoded[name] = M.base64(value)
        end
      end
      for name, value in pairs(decoded) do
        row.args[name] = value
      end
    end
    rows[#rows + 1] = row
  end
  assert(#rows > 0, "no vectors in " .. file)
  return rows
end

--- The rows of one operation; an operation without rows is an error, so that a wrong name is seen.
-- @param file string|table a name in M.DIR or a list of them
-- @param op string
-- @return table list of rows in file order
function M.rows(file, op)
  local found = {}
  for _, name in ipairs(type(file) == "table" and file or { file }) do
    for _, row in ipairs(M.read(name)) do
      if row.op == op then
        found[#found + 1] = row
      end
    end
  end
  assert(#found > 0, "no vectors of " .. op)
  return found
end

return M
