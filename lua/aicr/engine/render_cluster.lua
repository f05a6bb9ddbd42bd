-- SPDX-License-Identifier: Apache-2.0
--- Asks the nodes of a cluster or of a recording what `aicr-run render` is not told (engine/render_nodes.lua).
local json = require "aicr.json"
local result = require "aicr.engine.result"
local text = require "aicr.report.text"

local M = {}

local PATH <const> = "lua/aicr/engine/render_nodes.lua"
local NEEDS <const> = { "list nodes", "list resourceslices.resource.k8s.io", "list pods in kube-system" }
local ID <const>, TICK_MS <const>, DEADLINE_MS <const> = 0, 1000, 120000
local ASKED <const> = { "recording", "kubeconfig", "context" }

local USAGE <const>, NO_VERDICT <const> = 2, 3

local opt = text.opt

--- Does the command line name a cluster?
---@param given table the parsed command line
---@return boolean
function M.is_asked(given)
  for _, name in ipairs(ASKED) do
    if given.origins[name] == "command line" then
      return true
    end
  end
  return false
end

-- What a check says of parameters, for the options of render.
local function in_options(message)
  local said = message:gsub("%-%-set ([%l_]+)=", function(name) return "--" .. name:gsub("_", "-") .. " " end)
  return (said:gsub("parameter ([%l_]+)", function(name) return "--" .. name:gsub("_", "-") end))
end

local function await(host)
  local signal
  while true do
    local event = host.next(TICK_MS)
    if event.kind == "done" and event.id == ID then
      return event, signal
    elseif event.kind == "signal" then
      if signal then
        return {}, signal
      end
      signal = event.signal
      host.cancel(ID, signal)
    end
  end
end

--- Reads the facts of a run: platform, arch, nodes, gpus, nics, nic_resource, tcpxo, covered, by.
---@param given table the parsed command line
---@param host table the border
---@return table|nil facts
---@return string|nil why there are none
---@return integer|nil code to exit with then
function M.read(given, host)
  local options = given.options
  local cluster = host.cluster {
    recording = options.recording, kubeconfig = options.kubeconfig, context = options.context,
    no_exec_plugins = options.no_exec_plugins,
  }
  if not cluster.ok then
    return nil, (cluster.error or {}).message or "the cluster cannot be used", USAGE
  end
  host.start {
    id = ID, path = PATH, source = host.embedded(PATH), roots = {}, needs = NEEDS, deadline_ms = DEADLINE_MS,
    params = {
      arch = options.arch or "", gpus = options.gpus, nics = options.nics, nodes = options.nodes,
      node_selector = json.array(), nic_resource = options.nic_resource or "",
    },
    context = { platform = options.platform, namespace = options.namespace, run_id = "render", seed = 0, args = {} },
  }
  local event, signal = await(host)
  local ending, extra = opt(event.ending) or {}, opt((opt(event.record) or {}).extra) or {}
  local facts = ending.how == "returned" and opt(extra.facts)
  if facts then
    return json.decode(facts)
  end
  local first = (opt((opt(event.record) or {}).endings) or {})[1]
  local err = first or opt(ending.error) or ending
  return nil, in_options(opt(err.message) or "the nodes could not be read"),
    signal and result.signal_exit(signal) or NO_VERDICT
end

return M
