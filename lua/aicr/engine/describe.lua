-- SPDX-License-Identifier: Apache-2.0
--- `--list` and `--explain`: what the selected checks are (cli-and-reports.md 6.6), also with `--format json`.
local message = require "aicr.engine.message"
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.report.text"
local ordered = require "aicr.report.ordered"
local rbac = require "aicr.engine.rbac"

local M = {}

local NOTHING <const> = 4

local function platforms(item)
  local names = item.meta.platforms or {}
  return #names == 0 and "any" or table.concat(names, " ")
end

--- Rows as aligned columns behind an indent; the last column wraps under itself.
function M.columns(rows, indent, width)
  local widths, lines = {}, {}
  for _, row in ipairs(rows) do
    for i, cell in ipairs(row) do
      widths[i] = math.max(widths[i] or 0, text.width(cell))
    end
  end
  for _, row in ipairs(rows) do
    local cells = {}
    for i = 1, #row - 1 do
      cells[i] = text.pad(row[i], widths[i])
    end
    cells[#row] = ""
    local head = (" "):rep(indent) .. table.concat(cells, "  ")
    local hang = text.width(head)
    for i, line in ipairs(text.wrap(row[#row], width and width - hang)) do
      local whole = (i == 1 and head or (" "):rep(hang)) .. line
      lines[#lines + 1] = whole:gsub("%s+$", "") .. "\n"
    end
  end
  return table.concat(lines)
end

local function list(plan, width)
  local rows = { { "PHASE", "NAME", "PLATFORMS", "TIMEOUT", "SUMMARY" } }
  for _, item in ipairs(plan) do
    rows[#rows + 1] = {
      item.phase, item.name, platforms(item), text.time_limit(item.timeout_ms),
      text.printable(item.meta.summary or ""),
    }
  end
  return M.columns(rows, 0, width)
end

-- What the list says of a check, and more.
local function facts_json(item, ...)
  return ordered.object(
    "name", item.name, "phase", item.phase, "platforms", ordered.array(item.meta.platforms or {}),
    "tags", ordered.array(item.meta.tags or {}), "timeout_ms", item.timeout_ms,
    "summary", item.meta.summary, "file", item.path, "origin", item.origin, ...)
end

local function list_json(plan)
  local checks = {}
  for i, item in ipairs(plan) do
    checks[i] = facts_json(item)
  end
  return ordered.encode(ordered.array(checks))
end

local function section(lines, title, rows, none, width)
  lines[#lines + 1] = "  " .. title
  for line in M.columns(#rows > 0 and rows or { { none } }, 4, width):gmatch("[^\n]+") do
    lines[#lines + 1] = line
  end
end

local function parameter_rows(item)
  local rows = {}
  for _, key in ipairs(sorted_keys(item.meta.params)) do
    local decl, given = item.meta.params[key], item.params[key]
    local value = given and (decl.secret and "***" or text.printable(text.value(given.value))) or "(none)"
    rows[#rows + 1] = { key, decl.type, value, given and given.from or "",
      text.printable(decl.help or "") }
  end
  return rows
end

local function explain(item, host, namespace, width)
  local meta, lines = item.meta, {}
  lines[1] = ("%s: %s"):format(item.name, text.printable(meta.summary or "no such check"))
  local facts = { "phase " .. item.phase, "platforms " .. platforms(item) }
  if #(meta.tags or {}) > 0 then
    facts[#facts + 1] = "tags " .. table.concat(meta.tags, ", ")
  end
  facts[#facts + 1] = "timeout " .. text.time_limit(item.timeout_ms)
  facts[#facts + 1] = ("%s (%s)"):format(item.path, item.origin)
  lines[2] = "  " .. table.concat(facts, ", ")
  if meta.doc then
    lines[#lines + 1] = ""
    for _, line in ipairs(text.printable_lines(meta.doc)) do
      lines[#lines + 1] = line == "" and "" or "  " .. line
    end
  end
  lines[#lines + 1] = ""
  section(lines, "parameters", parameter_rows(item), "none", width)
  local needs, fixes = {}, {}
  for i, need in ipairs(meta.needs or {}) do
    local comes_to = rbac.line(host, need, namespace)
    needs[i] = { text.printable(need), comes_to ~= need and comes_to or nil }
  end
  section(lines, "permissions", needs, "none", width)
  for _, reason in ipairs(sorted_keys(meta.fixes)) do
    fixes[#fixes + 1] = { text.printable(reason), text.printable(meta.fixes[reason]) }
  end
  section(lines, "fails with", fixes, "no reason of its own", width)
  return table.concat(lines, "\n") .. "\n"
end

local function explain_json(plan, host, namespace)
  local checks = {}
  for i, item in ipairs(plan) do
    local meta, params, needs, fixes = item.meta, {}, {}, {}
    for _, key in ipairs(sorted_keys(meta.params)) do
      local decl, given = meta.params[key], item.params[key] or {}
      local value = given.value
      if decl.secret then
        value = nil
      end
      params[#params + 1] = ordered.object("name", key, "type", decl.type, "value", value, "from", given.from,
        "secret", decl.secret or nil, "help", decl.help)
    end
    for k, need in ipairs(meta.needs or {}) do
      needs[k] = ordered.object("need", need, "permissions", rbac.line(host, need, namespace))
    end
    for _, reason in ipairs(sorted_keys(meta.fixes)) do
      fixes[#fixes + 1] = ordered.object("reason", reason, "fix", meta.fixes[reason])
    end
    checks[i] = facts_json(item, "doc", meta.doc, "params", ordered.array(params), "needs", ordered.array(needs),
      "fixes", ordered.array(fixes))
  end
  return ordered.encode(ordered.array(checks))
end

--- Prints the list or the descriptions of the planned checks.
--- @param job table plan, options (list, explain), reports.format, namespace
--- @param host table the border
--- @param width integer|nil columns; nil: unlimited
--- @return integer exit code
function M.print(job, host, width)
  local out
  if job.options.list then
    out = job.reports.format == "json" and list_json(job.plan) or list(job.plan, width)
  elseif job.reports.format == "json" then
    out = explain_json(job.plan, host, job.namespace)
  else
    local parts = {}
    for i, item in ipairs(job.plan) do
      parts[i] = explain(item, host, job.namespace, width)
    end
    out = table.concat(parts, "\n")
  end
  return message.print(host, out, #job.plan > 0 and 0 or NOTHING)
end

return M
