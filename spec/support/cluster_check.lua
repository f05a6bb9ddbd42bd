-- SPDX-License-Identifier: Apache-2.0
--- One check on the test cluster that does many things, for specs: starting the program costs more than what it asks.
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local json = require "aicr.json"
local site = require "spec.support.site"

local M = {}

-- What the check's text finds: note keeps a value for the spec; attempt keeps what a method of ctx.k8s gave, or why it
-- did not.
local PREAMBLE <const> = [[
    local json = require "aicr.json"
    local function note(name, value)
      ctx:extra { [name] = json.encode { value } }
    end
    local function attempt(name, method, ...)
      local value, err = ctx:try(ctx.k8s[method], ctx.k8s, ...)
      if err then
        value = { code = err.code, reason = err.reason, message = err.message, details = err.details,
          verdict = err.verdict }
      end
      note(name, value)
    end
]]

--- Runs a check in a namespace and gives what it noted.
---@param namespace string the run's
---@param needs string[]
---@param body string
---@param options? string[] further words of the command line; a kubeconfig in the place of the administrator's
---@return table<string, any>
function M.run(namespace, needs, body, options)
  local fields = ('timeout = "5m", needs = require("aicr.json").decode(%q),'):format(json.encode(json.array(needs)))
  local text = site.check("noted", PREAMBLE .. body .. '\n    return "all done"', fields)
  return site.with({ ["noted.lua"] = text }, function(folder)
    local words = { "--namespace", namespace, folder .. "/noted.lua" }
    if not options then
      table.move({ "--kubeconfig", cluster.STATE .. "/kubeconfig" }, 1, 2, #words + 1, words)
    end
    table.move(options or {}, 1, #(options or {}), #words + 1, words)
    local report = binary.report(words)
    local got = binary.check(report, "noted")
    assert(got.outcome == "pass" and report.exit == 0, tostring(got.message))
    local noted = {}
    for name, value in pairs(got.extra) do
      noted[name] = json.decode(value)[1]
    end
    return noted
  end)
end

local REFUSED <const> = "aicr-spec-refused"

--- Calls f while there is a node on whose kubelet's port nobody listens.
---@param f fun(node: string)
function M.with_refused_node(f)
  local function remove()
    cluster.kubectl("delete", "node", REFUSED, "--ignore-not-found")
  end
  remove()
  local created = cluster.command({ "spec/cluster/ctl", "kubectl", "create", "-f", "-" }, json.encode {
    apiVersion = "v1", kind = "Node", metadata = { name = REFUSED }, spec = { unschedulable = true },
    status = {
      addresses = json.array { { type = "InternalIP", address = cluster.SERVER:match("//([%d.]+)") } },
      daemonEndpoints = { kubeletEndpoint = { Port = 10999 } },
    },
  })
  assert(created.code == 0, created.stderr)
  local ok, err = pcall(f, REFUSED)
  remove()
  if not ok then
    error(err, 0)
  end
end

return M
