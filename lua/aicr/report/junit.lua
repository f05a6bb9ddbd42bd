-- SPDX-License-Identifier: Apache-2.0
--- The JUnit report (cli-and-reports.md 7.3): one suite a phase, times in seconds, the message both
--- as attribute and as text, and nothing that XML 1.0 forbids.
local text = require "aicr.report.text"

local M = {}

local opt = text.opt

local OUTPUT_MAX <const> = 64 * 1024
local REPLACEMENT <const> = "\u{FFFD}"

local function legal(s)
  s = text.utf8(s):gsub("[\0-\8\11\12\14-\31]", REPLACEMENT)
  s = s:gsub("\xEF\xBF[\xBE\xBF]", REPLACEMENT)
  -- Legal, and no text: C1 controls steer a terminal too.
  return (s:gsub("\x7F", REPLACEMENT):gsub("\xC2[\x80-\x9F]", REPLACEMENT))
end

local ENTITY <const> = {
  ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;", ["\n"] = "&#10;",
  ["\t"] = "&#9;",
  ["\r"] = "&#13;",
}

local function attribute(s)
  return (legal(tostring(s)):gsub('[&<>"\n\t\r]', ENTITY))
end

local function body(s)
  return (legal(s):gsub("[&<>\r]", ENTITY))
end

local function seconds(ms)
  return ("%d.%03d"):format(ms // 1000, ms % 1000)
end

local function element(name, attributes)
  local out = { "<" .. name }
  for _, pair in ipairs(attributes) do
    if pair[2] ~= nil then
      out[#out + 1] = (' %s="%s"'):format(pair[1], attribute(pair[2]))
    end
  end
  return table.concat(out)
end

--- Head and tail of what is too long, cut between characters.
local function capped(s)
  if #s <= OUTPUT_MAX then
    return s
  end
  local half = OUTPUT_MAX // 2 - 64
  local head, tail = half, #s - half + 1
  while head > 0 and s:byte(head + 1) & 0xC0 == 0x80 do
    head = head - 1
  end
  while tail <= #s and s:byte(tail) & 0xC0 == 0x80 do
    tail = tail + 1
  end
  return ("%s\n[%d bytes left out]\n%s"):format(s:sub(1, head), tail - head - 1, s:sub(tail))
end

local function system_out(result)
  local lines = {}
  for _, line in ipairs(result.evidence) do
    lines[#lines + 1] = tostring(line)
  end
  for _, m in ipairs(result.measures) do
    lines[#lines + 1] = text.measure(m)
  end
  for _, note in ipairs(result.notes) do
    lines[#lines + 1] = "note: " .. note
  end
  if #lines > 0 then
    return "      <system-out>" .. body(capped(legal(table.concat(lines, "\n"))))
      .. "</system-out>\n"
  end
  return ""
end

local function failure_text(result)
  local lines = { result.message }
  for _, line in ipairs(text.findings(result)) do
    lines[#lines + 1] = line
  end
  for _, frame in ipairs(result.trace) do
    lines[#lines + 1] = "in " .. frame
  end
  for _, key in ipairs { "why", "fix" } do
    if result[key] then
      lines[#lines + 1] = ("%s: %s"):format(key, result[key])
    end
  end
  return table.concat(lines, "\n")
end

local CHILD <const> = { fail = "failure", error = "error" }

local function outcome_element(result)
  if result.shown == "pass" then
    return ""
  end
  local name = CHILD[result.shown]
  if name then
    return "      " .. element(name, { { "type", result.reason }, { "message", result.message } })
      .. ">" .. body(failure_text(result)) .. "</" .. name .. ">\n"
  end
  local message = result.message
  if result.shown == "waived" then
    message = ("waived until %s: %s (failed: %s)"):format(result.waived.expires,
      result.waived.reason, result.message)
  end
  return "      " .. element("skipped", { { "message", message } }) .. ">" .. body(message)
    .. "</skipped>\n"
end

local function case(result, name)
  local head = "    " .. element("testcase", {
    { "classname", result.phase }, { "name", name }, { "file", result.path },
    { "time", seconds(result.duration_ms) },
  })
  local inner = outcome_element(result) .. system_out(result)
  if inner == "" then
    return head .. "/>\n"
  end
  return head .. ">\n" .. inner .. "    </testcase>\n"
end

local function tally(results)
  local n = { tests = #results, failures = 0, errors = 0, skipped = 0, ms = 0 }
  for _, result in ipairs(results) do
    n.ms = n.ms + result.duration_ms
    if result.shown == "fail" then
      n.failures = n.failures + 1
    elseif result.shown == "error" then
      n.errors = n.errors + 1
    elseif result.shown ~= "pass" then
      n.skipped = n.skipped + 1
    end
  end
  return n
end

local function counts(name, n, ...)
  return {
    { "name", name }, { "tests", n.tests }, { "failures", n.failures }, { "errors", n.errors },
    { "skipped", n.skipped }, { "time", seconds(n.ms) }, ...,
  }
end

local function properties(run)
  local list = { { "aicr-run.run", run.id }, { "aicr-run.seed", run.seed } }
  if run.recipe then
    list[3] = { "recipe", run.recipe.name }
  end
  if run.target.insecure then
    list[#list + 1] = { "aicr-run.insecure", "true" }
  end
  local out = { "    <properties>\n" }
  for _, pair in ipairs(list) do
    out[#out + 1] = "      " .. element("property", { { "name", pair[1] }, { "value", pair[2] } })
      .. "/>\n"
  end
  out[#out + 1] = "    </properties>\n"
  return table.concat(out)
end

local function suite(run, phase, results, used)
  local stamp = text.timestamp(run.start):gsub("%.%d+", ""):gsub("Z$", "")
  local out = {
    "  " .. element("testsuite", counts(phase, tally(results), { "timestamp", stamp },
      { "hostname", opt(run.target.context) or "none" })) .. ">\n",
    properties(run),
  }
  for _, result in ipairs(results) do
    local name, n = result.name, 1
    while used[name] do
      n = n + 1
      name = ("%s (%d)"):format(result.name, n)
    end
    used[name] = true
    out[#out + 1] = case(result, name)
  end
  out[#out + 1] = "  </testsuite>\n"
  return table.concat(out)
end

--- The text of the report.
--- @param run table the result model
function M.render(run)
  local out = {
    '<?xml version="1.0" encoding="UTF-8"?>\n',
    element("testsuites", counts("aicr-run", tally(run.results))), ">\n",
  }
  local i, used = 1, {}
  while i <= #run.results do
    local phase, group = run.results[i].phase, {}
    while run.results[i] and run.results[i].phase == phase do
      group[#group + 1] = run.results[i]
      i = i + 1
    end
    out[#out + 1] = suite(run, phase, group, used)
  end
  out[#out + 1] = "</testsuites>\n"
  return table.concat(out)
end

return M
