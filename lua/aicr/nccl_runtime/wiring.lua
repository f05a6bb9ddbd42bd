-- SPDX-License-Identifier: Apache-2.0
--- Whether worker pods carried TCPXO while they ran (gke-tcpxo.md 5.7). Workers are deleted as soon as the job ends, so
--- what was seen once stays seen. Pure: pods are handed in as they come.
local attempt = require "aicr.base.attempt"
local errors = require "aicr.native.error"
local gke = require "aicr.gke"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

local INDEX_LABEL <const> = "batch.kubernetes.io/job-completion-index"

local function quoted(s)
  return ('"%s"'):format(text.printable(s))
end

local function has_daemon(pod)
  for _, container in ipairs(tree.list(pod, "spec", "initContainers")) do
    if tree.text(container, "name") == gke.SIDECAR and tree.text(container, "restartPolicy") == "Always" then
      return true
    end
  end
  return false
end

local function mapping_fault(entries)
  if #entries ~= gke.REQUIRED then
    return ("%s has %d entries, wanted %d: %s and eth1..eth%d"):format(gke.INTERFACES_ANNOTATION, #entries + 1,
      gke.REQUIRED + 1, gke.DEFAULT_INTERFACE, gke.REQUIRED)
  end
  local interfaces, networks = {}, {}
  for _, entry in ipairs(entries) do
    local name, network = entry.interfaceName, entry.network
    if not name:find("^eth[1-8]$") then
      return ("%s names interface %s, wanted eth1..eth%d"):format(gke.INTERFACES_ANNOTATION, quoted(name), gke.REQUIRED)
    elseif interfaces[name] then
      return ("%s names interface %s twice"):format(gke.INTERFACES_ANNOTATION, name)
    elseif network == gke.DEFAULT_NETWORK then
      return ("%s puts %s on network %s, which is that of %s"):format(gke.INTERFACES_ANNOTATION, name, network,
        gke.DEFAULT_INTERFACE)
    elseif networks[network] then
      return ("%s puts %s and %s on network %s"):format(gke.INTERFACES_ANNOTATION, networks[network], name,
        quoted(network))
    end
    interfaces[name], networks[network] = true, name
  end
  return nil
end

-- Where the entries differ from those that the workers were to get.
local function other_mapping(entries, mapping)
  local networks = {}
  for _, entry in ipairs(entries) do
    networks[entry.interfaceName] = entry.network
  end
  for _, entry in ipairs(mapping or {}) do
    local found = networks[entry.interfaceName]
    if found ~= entry.network then
      return ("%s puts %s on network %s, the deployed runtime on %s"):format(gke.INTERFACES_ANNOTATION,
        text.printable(entry.interfaceName), quoted(found or ""), quoted(entry.network))
    end
  end
  return nil
end

--- What is wrong with the wiring of a worker pod, a sentence that names it; nil when nothing is.
---@param pod table
---@param mapping {interfaceName: string, network: string}[]|nil what the workers were to get; nil: any
---@return string|nil
function M.fault(pod, mapping)
  local function of_pod(sentence)
    return ("pod %s: %s"):format(text.printable(tree.text(pod, "metadata", "name") or ""), sentence)
  end
  if not has_daemon(pod) then
    return of_pod(("it has no init container %s with restartPolicy Always"):format(gke.SIDECAR))
  end
  local annotations = tree.map(pod, "metadata", "annotations")
  local default = tree.text(annotations, gke.DEFAULT_INTERFACE_ANNOTATION) or ""
  if default ~= gke.DEFAULT_INTERFACE then
    return of_pod(("annotation %s is %s, wanted \"%s\""):format(gke.DEFAULT_INTERFACE_ANNOTATION, quoted(default),
      gke.DEFAULT_INTERFACE))
  end
  local annotation = tree.text(annotations, gke.INTERFACES_ANNOTATION) or ""
  if annotation == "" then
    return of_pod(("it has no annotation %s"):format(gke.INTERFACES_ANNOTATION))
  end
  local entries, malformed = attempt(gke.parse_interfaces, annotation)
  local wrong = malformed and malformed.message or mapping_fault(entries) or other_mapping(entries, mapping)
  return wrong and of_pod(wrong)
end

local function daemon_started(pod)
  local status = tree.named(tree.dig(pod, "status", "initContainerStatuses"), gke.SIDECAR)
  return tree.dig(status, "started") == true
end

local Observed = {}
Observed.__index = Observed

--- Notes what a pod shows now.
---@param pod table
function Observed:see(pod)
  local name = tree.text(pod, "metadata", "name")
  if not name then
    return
  end
  if not self.pods[name] then
    self.pods[name] = { started = false }
    self.count = self.count + 1
  end
  local noted = self.pods[name]
  noted.fault = noted.fault or M.fault(pod, self.mapping)
  noted.started = noted.started or daemon_started(pod)
  noted.index = tree.text(pod, "metadata", "labels", INDEX_LABEL) or noted.index
end

--- The pods that were wired wrongly, as a fault `{code, reason, message}` for `ctx:fail`; nil when none was.
---@return table|nil fault
function Observed:problem()
  local problems = {}
  for _, noted in pairs(self.pods) do
    problems[#problems + 1] = noted.fault
  end
  if #problems == 0 then
    return nil
  end
  table.sort(problems)
  return {
    code = "INTERNAL", reason = "worker-wiring",
    message = "the benchmark's workers were not wired for TCPXO: " .. table.concat(problems, "; "),
  }
end

--- Judges what was seen, once the job is over: nil, or a fault as `problem` gives it. Raises INTERNAL/`no-workers-seen`
--- when there was nothing to see.
---@param workers integer
---@return table|nil fault
function Observed:verdict(workers)
  if self.count == 0 then
    errors.raise {
      code = "INTERNAL", reason = "no-workers-seen",
      message = "no worker pod was seen while the benchmark ran: whether it used TCPXO is not known",
    }
  end
  local started = {}
  for _, noted in pairs(self.pods) do
    if noted.started and noted.index then
      started[noted.index] = true
    end
  end
  local fault = self:problem()
  for index = 0, fault and -1 or workers - 1 do
    if not started[tostring(index)] then
      return {
        code = "INTERNAL", reason = "daemon-not-started",
        message = ("%s was never seen started on the worker with index %d of %d"):format(gke.SIDECAR, index, workers),
      }
    end
  end
  return fault
end

--- An empty set of observations: `see(pod)`, then `verdict(workers)`.
---@param mapping table[]|nil of `fault`
---@return table
function M.observed(mapping)
  return setmetatable({ pods = {}, count = 0, mapping = mapping }, Observed)
end

return M
