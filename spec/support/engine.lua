-- SPDX-License-Identifier: Apache-2.0
--- Runs the engine on a fake host with some built-in checks, for specs.
local fake_host = require "spec.support.fake_host"
local json = require "aicr.json"
local json_schema = require "spec.support.json_schema"
local main = require "aicr.engine.main"

local M = {}

local SCHEMA <const> = json_schema.load("spec/schema/report.schema.json")

--- The metadata of a check.
function M.check(name, fields)
  local meta = { name = name, phase = "deployment", summary = "it holds" }
  for k, v in pairs(fields or {}) do
    meta[k] = v
  end
  return meta
end

M.FAIL = { fail = { code = "CONFLICT", reason = "bad", message = "it is bad" } }
M.ERROR = { ending = { how = "script", message = "boom",
  at = { file = "x.lua", line = 2 } } }
M.SKIP = { skip = { reason = "not-applicable", message = "not here" } }

M.EMBEDDED = {
  ["checks/deployment/gke.lua"] = M.check("gke-networks",
    { platforms = { "gcp" }, needs = { "list networks" } }),
  ["checks/deployment/any.lua"] = M.check("node-health"),
  ["checks/performance/bw.lua"] = M.check("nccl-bw", { phase = "performance" }),
  ["lua/aicr/engine/target.lua"] = "return {}",
}

M.FACTS = { result = "2", record = { extra = { platform = "gcp", gpu_nodes = 2,
  gpus = 16 } } }

--- The text of a recipe.
function M.recipe(validation, more)
  return ([[
kind: RecipeResult
apiVersion: aicr.run/v1
metadata: {version: v1.3.0}
criteria: {service: %s}
componentRefs: []
validation: %s
]]):format(more or "any", json.encode(validation))
end

--- Runs the engine; gives the exit code, stdout, stderr, the decoded JSON report and the host's
--- state.
function M.run(fields)
  fields.embedded = fields.embedded or M.EMBEDDED
  fields.endings = fields.endings or {}
  fields.endings.target = fields.endings.target or M.FACTS
  fields.options = fields.options or {}
  local host = fake_host.new(fields)
  fields.options.output = fields.options.output or { "out.json" }
  local code = main(fake_host.command(fields), host)
  local written = host.state.written
  local report = written["out.json"] and json.decode(written["out.json"])
  if report then
    assert(json_schema.validate(report, SCHEMA))
  end
  return code, written["-"] or "", written.stderr or "", report, host.state
end

--- `name outcome reason` of each check of a report.
function M.outcomes(report)
  local out = {}
  for i, c in ipairs(report.checks) do
    out[i] = ("%s %s%s"):format(c.name, c.outcome, c.reason and " " .. c.reason or "")
  end
  return out
end

return M
