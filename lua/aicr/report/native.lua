-- SPDX-License-Identifier: Apache-2.0
--- The native JSON report: the full record of a run (cli-and-reports.md 7.1).
local json = require "aicr.json"
local ordered = require "aicr.report.ordered"
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.report.text"

local M = {}

local object, array, opt = ordered.object, ordered.array, text.opt

--- A value that is known to be none is written as null.
local function null(value)
  value = opt(value)
  if value == nil then
    return json.null
  end
  return value
end

local function pick(item, ...)
  local args, names = {}, table.pack(...)
  for i, name in ipairs(names) do
    args[2 * i - 1], args[2 * i] = name, opt(item[name])
  end
  return object(table.unpack(args, 1, 2 * names.n))
end

local function map(items, write)
  local out = {}
  for i, item in ipairs(items or {}) do
    out[i] = write(item)
  end
  return array(out)
end

local function parameters(params)
  local keys, args = sorted_keys(params), {}
  for i, key in ipairs(keys) do
    args[2 * i - 1] = key
    args[2 * i] = object("value", params[key].value, "from", params[key].from)
  end
  return object(table.unpack(args, 1, 2 * #keys))
end

local function step(s)
  return pick(s, "name", "outcome", "duration_ms")
end

local function expectation(e)
  return object("what", opt(e.what), "op", opt(e.op), "expected", null(e.expected),
    "actual", null(e.actual), "ok", e.ok == true, "code", opt(e.code), "reason", opt(e.reason))
end

local function measure(m)
  local limit = opt(m.limit)
  return object("name", opt(m.name), "value", null(m.value), "unit", opt(m.unit),
    "limit", limit and text.limit(limit), "tolerance", opt(m.tolerance), "ok", opt(m.ok))
end

local function series(s)
  return object("name", opt(s.name), "x", opt(s.x), "y", opt(s.y), "points", array(s.points or {}))
end

local function same(value)
  return value
end

local function waiver(w)
  return w and object("reason", w.reason, "expires", w.expires) or json.null
end

local function optional_list(items)
  return #items > 0 and map(items, same) or nil
end

local function try(t)
  return object("attempt", t.attempt, "outcome", t.outcome, "code", t.code, "reason", t.reason,
    "message", t.message, "start", t.started and text.timestamp(t.started),
    "duration_ms", t.duration_ms)
end

local function check(r)
  return object(
    "name", r.name, "phase", r.phase, "tags", map(r.tags, same), "file", r.file, "line", r.line,
    "origin", r.origin,
    "outcome", r.outcome, "code", r.code, "reason", r.reason, "result", r.result,
    "message", r.message, "why", r.why, "fix", r.fix, "details", opt(r.details),
    "waived", waiver(r.waived), "start", r.started and text.timestamp(r.started),
    "duration_ms", r.duration_ms, "attempts", r.attempts,
    "tries", r.tries and map(r.tries, try),
    "params", parameters(r.params), "steps", map(r.steps, step),
    "expectations", map(r.expectations, expectation), "measures", map(r.measures, measure),
    "series", map(r.series, series), "evidence", map(r.evidence, same), "log", map(r.log, same),
    "resources", map(r.resources, same), "attachments", map(r.attachments, same),
    "extra", opt(r.extra), "coverage", r.coverage and pick(r.coverage, "verified", "total"),
    "notes", optional_list(r.notes), "trace", optional_list(r.trace))
end

--- What a result comes to, as one line of JSON, for the journal.
--- @param r table a result of the model
function M.line(r)
  return json.encode {
    name = r.name, phase = r.phase, outcome = r.outcome, code = r.code, reason = r.reason,
    result = r.result, message = r.message, why = r.why, fix = r.fix, file = r.file, line = r.line,
    duration_ms = r.duration_ms, waived = r.waived and r.waived.reason or nil,
  }
end

--- The report as JSON text, members in the order that the schema document shows.
--- @param run table the result model
function M.render(run)
  local target, totals = run.target, run.totals
  local recipe = run.recipe and object("name", run.recipe.name, "sha256", run.recipe.sha256)
  return ordered.encode(object(
    "schema", "aicr-run/report/1",
    "tool", object("name", "aicr-run", "version", run.version),
    "run", object("id", run.id, "start", text.timestamp(run.start),
      "stop", text.timestamp(run.stop), "duration_ms", run.stop - run.start,
      "exit_code", run.exit_code, "seed", run.seed, "interrupted", run.signal ~= nil, "strict",
        run.strict == true),
    "target", object("context", null(target.context), "platform", null(target.platform),
      "platform_from", null(target.platform_from),
      "platform_why", target.platform_from == "nodes" and opt(target.platform_why) or nil,
      "server_version", null(target.server_version), "gpu_nodes", null(target.gpu_nodes),
      "gpus", null(target.gpus), "gpu_nodes_empty", opt(target.gpu_nodes_empty),
      "recording", null(target.recording), "insecure", opt(target.insecure)),
    "recipe", recipe or json.null,
    "totals", object("checks", totals.checks, "pass", totals.pass, "fail", totals.fail,
      "error", totals.error, "skip", totals.skip, "waived", totals.waived),
    "checks", map(run.results, check),
    "notes", map(run.notes, same)))
end

return M
