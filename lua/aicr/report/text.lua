-- SPDX-License-Identifier: Apache-2.0
--- What the report formats share: durations, dates, legal text, wrapping, comparisons in words.
local json = require "aicr.json"
local native = require "aicr.native.text"
local sorted_keys = require "aicr.base.sorted_keys"
local time = require "aicr.time"

local M = {}

--- nil for an absent value, whether it is nil or JSON null; else the value.
function M.opt(value)
  if value == json.null then
    return nil
  end
  return value
end

local opt = M.opt

--- A list, empty when the value is absent.
function M.list(value)
  value = opt(value)
  return type(value) == "table" and value or {}
end

--- `0.4s`, `12s`, `1m 52s`, `1h 03m` (cli-and-reports.md 6).
--- @param ms number milliseconds
function M.duration(ms)
  ms = math.max(0, math.tointeger(ms) or math.floor(ms))
  if ms < 9950 then
    return ("%.1fs"):format(ms / 1000)
  end
  local s = (ms + 500) // 1000
  if s < 60 then
    return ("%ds"):format(s)
  elseif s < 3600 then
    return ("%dm %02ds"):format(s // 60, s % 60)
  end
  return ("%dh %02dm"):format(s // 3600, s % 3600 // 60)
end

local UNITS <const> = { { "h", 3600000 }, { "m", 60000 }, { "s", 1000 } }

--- A time limit as it would be typed: `5m`, `90s`, `1h`.
--- @param ms integer milliseconds
function M.time_limit(ms)
  for _, unit in ipairs(UNITS) do
    if ms % unit[2] == 0 then
      return ("%d%s"):format(ms // unit[2], unit[1])
    end
  end
  return ("%dms"):format(ms)
end

--- RFC 3339 UTC with milliseconds.
--- @param ms integer milliseconds since the epoch
function M.timestamp(ms)
  return time.format(ms)
end

local BREAKS <const> = { ["\n"] = "\\n", ["\t"] = "\\t" }

--- Text from outside for one line of a terminal: control characters, line ends, escapes and bad
--- bytes shown.
function M.printable(s)
  return (native.printable(tostring(s)):gsub("[\n\t]", BREAKS))
end

--- The same for text of several lines: line feeds stay, a tab is two spaces.
function M.printable_lines(s)
  local out = {}
  for line in (tostring(s) .. "\n"):gmatch("([^\n]*)\n") do
    out[#out + 1] = M.printable((line:gsub("\r$", ""):gsub("\t", "  ")))
  end
  return out
end

--- Valid UTF-8; a bad byte becomes U+FFFD.
function M.utf8(s)
  return native.utf8(tostring(s))
end

--- Columns that valid text takes: one a character.
function M.width(s)
  return utf8.len(s) or #s
end

--- `s` filled with blanks to `n` columns.
function M.pad(s, n)
  return s .. (" "):rep(n - M.width(s))
end

local function cut(word, width)
  local at = utf8.offset(word, width + 1)
  if not at or at > #word then
    return word, ""
  end
  return word:sub(1, at - 1), word:sub(at)
end

local PROGRAMS <const> = { kubectl = true, ["aicr-run"] = true, helm = true, ["apt-get"] = true, gcloud = true,
  mkdir = true, chmod = true, env = true, ulimit = true }

-- Where the command that begins at `from` ends: before a semicolon that is in no quotes.
local function command_end(s, from)
  local quote
  for at = from, #s do
    local c = s:sub(at, at)
    if quote then
      quote = c ~= quote and quote or nil
    elseif c == "'" or c == '"' then
      quote = c
    elseif c == ";" and (at == #s or s:sub(at + 1, at + 1) == " ") then
      return at - 1
    end
  end
  return #s
end

-- Prose and commands in turn: a list of {text, is it a command?}. A command begins the text or follows ": " or "; ".
local function prose_and_commands(s)
  local out, prose, at = {}, 1, 1
  while at do
    local word, after = s:match("^([%a-]+) ()", at)
    if PROGRAMS[word or ""] and not s:find("^%d", after) then
      local last = command_end(s, at)
      if at > prose then
        out[#out + 1] = { s:sub(prose, at - 1) }
      end
      out[#out + 1] = { s:sub(at, last), true }
      prose = s:find("[^; ]", last + 1) or #s + 1
      at = prose <= #s and prose or nil
    else
      at = s:match("[:;] ()", at)
    end
  end
  out[#out + 1] = prose <= #s and { s:sub(prose) } or nil
  return out
end

local function wrap_prose(s, width, lines)
  width = math.max(width, 8)
  local line = ""
  for word in s:gmatch("%S+") do
    if line ~= "" and M.width(line) + 1 + M.width(word) > width then
      lines[#lines + 1] = line
      line = ""
    end
    line = line == "" and word or line .. " " .. word
    while M.width(line) > width do
      local head, rest = cut(line, width)
      lines[#lines + 1] = head
      line = rest
    end
  end
  if line ~= "" then
    lines[#lines + 1] = line
  end
end

--- Lines of at most `width` columns, broken at blanks, inside a word where it is longer. A command to type stands on a
--- line of its own and whole, however long: it has to survive a paste.
--- @param s string one line of printable text
--- @param width integer|nil nil: unlimited, one line
function M.wrap(s, width)
  if not width or M.width(s) <= width then
    return { s }
  end
  local lines = {}
  for _, part in ipairs(prose_and_commands(s)) do
    if part[2] then
      lines[#lines + 1] = part[1]
    else
      wrap_prose(part[1], width, lines)
    end
  end
  return lines
end

--- `s` in at most `width` columns, cut behind a word unless that would lose half of it.
--- @param mark string what stands for the rest
function M.shortened(s, width, mark)
  if M.width(s) <= width then
    return s
  end
  local head, rest = cut(s, width - M.width(mark))
  local words = rest:find("^%s") and head or head:match("^(.*%S)%s+%S*$")
  if words and M.width(words) >= width // 2 then
    head = words
  end
  return head .. mark
end

--- A plain value in words: text (`""` when empty), lists with commas, `(none)` for nothing.
function M.value(v)
  v = opt(v)
  if v == nil then
    return "(none)"
  elseif v == "" then
    return '""'
  elseif math.type(v) == "float" then
    return ("%.6g"):format(v)
  elseif type(v) ~= "table" then
    return tostring(v)
  end
  local parts = {}
  if #v > 0 then
    for i, item in ipairs(v) do
      parts[i] = M.value(item)
    end
  else
    for i, k in ipairs(sorted_keys(v)) do
      parts[i] = tostring(k) .. "=" .. M.value(v[k])
    end
  end
  return #parts == 0 and "(none)" or table.concat(parts, ", ")
end

-- In a comparison a line end is what may differ: it is shown, not made.
local SHOWN <const> = { ["\\"] = "\\\\", ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t" }

--- A plain value as a comparison shows it: text in quotes, tables as JSON, `nothing` for none.
function M.quoted(v)
  v = opt(v)
  if v == nil then
    return "nothing"
  elseif type(v) == "string" then
    return '"' .. v:gsub("[\\\n\r\t]", SHOWN) .. '"'
  elseif type(v) == "table" then
    return json.encode(v)
  end
  return tostring(v)
end

local function missing_from(a, b)
  local seen, out = {}, {}
  for _, item in ipairs(b) do
    seen[M.value(item)] = true
  end
  for _, item in ipairs(a) do
    if not seen[M.value(item)] then
      out[#out + 1] = M.value(item)
    end
  end
  return out
end

local function add_side(lines, what, word, items, most)
  if #items > 0 then
    local n = math.min(#items, most or #items)
    local more = #items > n and (" and %d more"):format(#items - n) or ""
    lines[#lines + 1] = ("%s: %s %s%s"):format(what, word, table.concat(items, ", ", 1, n), more)
  end
end

--- What a false expectation says, in lines: sets name what is missing and unexpected, the rest
--- says both sides.
--- @param e table {what, op, expected, actual} as the host records it
--- @param most integer|nil names of a set that are listed; nil: all
function M.expectation(e, most)
  local what, op = tostring(opt(e.what) or "value"), opt(e.op)
  local expected, actual = opt(e.expected), opt(e.actual)
  if op == "same_set" and type(expected) == "table" and type(actual) == "table"
    and (#actual > 0 or next(actual) == nil) then
    local lines = {}
    add_side(lines, what, "missing", missing_from(expected, actual), most)
    add_side(lines, what, "unexpected", missing_from(actual, expected), most)
    if #lines > 0 then
      return lines
    end
  end
  return {
    ("%s: got %s, required %s %s"):format(what, M.quoted(actual), op or "==", M.quoted(expected)),
  }
end

--- A measure in words: `busbw=327.2 GB/s limit=">= 250"`.
function M.measure(m)
  local text = ("%s=%s"):format(tostring(opt(m.name)), M.value(m.value))
  if opt(m.unit) then
    text = text .. " " .. tostring(m.unit)
  end
  if opt(m.limit) then
    text = text .. (" limit=%q"):format(M.limit(m.limit))
  end
  return text
end

--- A limit in words, whether it is text or {op, value}.
function M.limit(limit)
  if type(limit) == "table" then
    return ("%s %s"):format(opt(limit.op) or ">=", M.value(limit.value))
  end
  return tostring(limit)
end

local function is_row(row)
  return type(row) == "table" and opt(row.k) ~= nil
end

--- The comparison in a result's details, `{key, left, right, rows = {{k, l, r}}}`; nil when there
--- is none or it has another shape, since a check may put anything into its details.
function M.diff_of(details)
  local diff = type(details) == "table" and opt(details.diff)
  if type(diff) ~= "table" or type(diff.rows) ~= "table" or #diff.rows == 0 then
    return nil
  end
  for _, key in ipairs { "key", "left", "right" } do
    if type(diff[key]) ~= "string" then
      return nil
    end
  end
  for _, row in ipairs(diff.rows) do
    if not is_row(row) then
      return nil
    end
  end
  return diff
end

--- True when the two sides of a row are not the same.
function M.differs(row)
  return opt(row.l) ~= opt(row.r)
end

--- The rows of `details.diff` that differ, as `k: expected L, got R`.
function M.diff_lines(details)
  local diff, lines = M.diff_of(details), {}
  for _, row in ipairs(diff and diff.rows or {}) do
    if M.differs(row) then
      lines[#lines + 1] = ("%s: expected %s, got %s"):format(M.value(row.k), M.value(row.l),
        M.value(row.r))
    end
  end
  return lines
end

local function says_both_sides(message, e)
  return (message or ""):find(tostring(opt(e.what)) .. ": got ", 1, true) == 1
end

--- The sentences of a result below its message: differing rows, else the false expectations, but
--- not a single one that is the message.
--- @param most integer|nil names of a set that are listed; nil: all
function M.findings(result, most)
  local lines = M.diff_lines(result.details)
  if #lines > 0 then
    return lines
  end
  for _, e in ipairs(result.expectations or {}) do
    if e.ok == false and (e.op == "same_set" or not says_both_sides(result.message, e)) then
      table.move(M.expectation(e, most), 1, 2, #lines + 1, lines)
    end
  end
  return lines
end

--- One of the two words for a count: `1 check`, `2 checks`.
function M.count(n, one, many)
  return ("%d %s"):format(n, n == 1 and one or many or one .. "s")
end

return M
