-- SPDX-License-Identifier: Apache-2.0
--- `--dry-run`: the plan in its order, with every effective parameter and who set it. The cluster is
--- not touched, so what only the cluster can tell is left open.
local describe = require "aicr.engine.describe"
local message = require "aicr.engine.message"
local ordered = require "aicr.report.ordered"
local plans = require "aicr.engine.plan"
local platform = require "aicr.engine.platform"
local sorted_keys = require "aicr.base.sorted_keys"
local styles = require "aicr.report.style"
local text = require "aicr.report.text"

local M = {}

local NOTHING <const> = 4

local object, array = ordered.object, ordered.array

local function value_of(item, key)
  local decl = item.meta.params and item.meta.params[key] or {}
  return decl.secret and "***" or item.params[key].value
end

--- What is known of a check's end before it starts, in words; nil: nothing.
local function decided(item)
  local preset = item.preset
  return preset and ("%s: %s, %s"):format(preset.outcome, preset.reason, preset.message)
end

local function facts(item)
  local words = { ("timeout %s (%s)"):format(text.time_limit(item.timeout_ms), item.timeout_from) }
  if item.exclusive then
    words[#words + 1] = "alone"
  end
  if #(item.meta.requires or {}) > 0 then
    words[#words + 1] = "after " .. table.concat(item.meta.requires, ", ")
  end
  if item.waiver then
    words[#words + 1] = "a fail is waived until " .. item.waiver.expires
  end
  words[#words + 1] = ("%s (%s)"):format(item.path, item.origin)
  return words
end

local function parameters(item)
  local rows = {}
  for _, key in ipairs(sorted_keys(item.meta.params)) do
    local given = item.params[key]
    rows[#rows + 1] = { key, given and text.printable(text.value(value_of(item, key))) or "(none)",
      given and given.from or "" }
  end
  return rows
end

local function head(job, seed)
  local limits = job.limits
  local words = { text.count(#job.plan, "check"), ("%d side by side"):format(limits.jobs) }
  if limits.timeout_ms then
    words[#words + 1] = "at most " .. text.time_limit(limits.timeout_ms)
  end
  if limits.retry > 0 then
    words[#words + 1] = ("%d %s of an error"):format(limits.retry,
      limits.retry == 1 and "repetition" or "repetitions")
  end
  words[#words + 1] = job.platform and ("platform %s (%s)"):format(job.platform, job.platform_from)
    or "platform not known before the cluster is looked at"
  words[#words + 1] = "seed " .. seed
  return "plan: " .. table.concat(words, ", ")
end

local function add_check(lines, i, item, width)
  local function add(indent, s)
    for n, line in ipairs(text.wrap(s, width and width - indent)) do
      lines[#lines + 1] = (" "):rep(n == 1 and indent or indent + 2) .. line
    end
  end
  add(2, ("%d  %s"):format(i, item.name))
  if decided(item) then
    add(5, text.printable(decided(item)))
  end
  add(5, text.printable(table.concat(facts(item), ", ")))
  local rows = parameters(item)
  if #rows > 0 then
    lines[#lines + 1] = (describe.columns(rows, 7, width):gsub("\n$", ""))
  end
end

local function human(job, width, plain)
  local lines, phase = text.wrap(head(job, job.seed), width), nil
  for i, item in ipairs(job.plan) do
    if item.phase ~= phase then
      phase = item.phase
      lines[#lines + 1] = ""
      lines[#lines + 1] = phase
    end
    add_check(lines, i, item, width)
  end
  lines[#lines + 1] = ""
  local closing = text.wrap("nothing was run, the cluster was not looked at", width)
  table.move(closing, 1, #closing, #lines + 1, lines)
  return plain(table.concat(lines, "\n") .. "\n")
end

local function check_json(item)
  local params, preset, waiver = {}, item.preset, item.waiver
  for i, key in ipairs(sorted_keys(item.params)) do
    params[2 * i - 1] = key
    params[2 * i] = object("value", value_of(item, key), "from", item.params[key].from)
  end
  return object(
    "name", item.name, "phase", item.phase, "file", item.path, "origin", item.origin,
    "timeout_ms", item.timeout_ms, "timeout_from", item.timeout_from,
    "exclusive", item.exclusive == true, "requires", array(item.meta.requires or {}),
    "params", object(table.unpack(params)),
    "decided", preset and object("outcome", preset.outcome, "reason", preset.reason,
      "message", preset.message),
    "waived", waiver and object("reason", waiver.reason, "expires", waiver.expires))
end

local function json(job, version)
  local checks, outputs, limits = {}, {}, job.limits
  for i, item in ipairs(job.plan) do
    checks[i] = check_json(item)
  end
  for i, output in ipairs(job.reports.outputs) do
    outputs[i] = object("format", output.format, "file", output.file)
  end
  return ordered.encode(object(
    "schema", "aicr-run/plan/1",
    "tool", object("name", "aicr-run", "version", version),
    "run", object("seed", job.seed, "jobs", limits.jobs, "retry", limits.retry,
      "timeout_ms", limits.timeout_ms, "fail_fast", job.options.fail_fast == true,
      "strict", job.options.strict == true),
    "target", object("platform", job.platform, "platform_from", job.platform_from,
      "recording", job.options.recording, "namespace", job.namespace),
    "recipe", job.recipe and object("name", job.recipe.name, "sha256", job.recipe.sha256),
    "checks", array(checks), "outputs", array(outputs)))
end

--- Prints the plan.
--- @param job table plan, limits, options, reports, recipe, suites, implicit, namespace, seed
--- @param host table the border
--- @param given table the parsed command line: version, terminal
--- @return integer exit code
function M.print(job, host, given)
  job.platform, job.platform_from = platform.requested(job.options.platform,
    job.recipe and job.recipe.recipe, job.suites)
  local why
  job.plan, why = plans.apply_platform(job.plan, job.platform, job.implicit)
  job.emptied = job.emptied or why
  local out = job.reports.format == "json" and json(job, given.version)
    or human(job, given.terminal.width, styles.new(given.terminal).plain)
  return message.print(host, out, #job.plan > 0 and 0 or NOTHING)
end

return M
