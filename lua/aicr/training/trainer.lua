-- SPDX-License-Identifier: Apache-2.0
--- Is Kubeflow Trainer there, and does its controller answer (gke-tcpxo.md 5.9)? It is never installed.
local api = require "aicr.training.api"
local errors = require "aicr.native.error"
local native = require "aicr.native.task"

local M = {}

local CRDS <const> = "customresourcedefinitions.apiextensions.k8s.io"
local NAMES <const> = { api.JOBS, api.RUNTIMES, "jobsets.jobset.x-k8s.io" }
local WEBHOOKS <const> = "validatingwebhookconfigurations.admissionregistration.k8s.io"
local VALIDATOR <const> = "validator.trainer.kubeflow.org"

--- The command that installs it.
M.INSTALL = 'kubectl apply --server-side -k "https://github.com/kubeflow/trainer.git/manifests/overlays/manager'
  .. '?ref=v2.2.0"'

-- Name and namespace of the Service behind the webhook that judges TrainJobs.
local function service_of(configuration)
  for _, hook in ipairs(api.at(configuration, "webhooks")) do
    for _, rule in ipairs(api.at(hook, "rules")) do
      for _, resource in ipairs(api.at(rule, "resources")) do
        local service = api.at(hook, "clientConfig", "service")
        if resource == "trainjobs" and type(service.name) == "string" and type(service.namespace) == "string" then
          return service
        end
      end
    end
  end
  return nil
end

local function selects(selector, labels)
  for key, value in pairs(selector) do
    if labels[key] ~= value then
      return false
    end
  end
  return next(selector) ~= nil
end

local function deployment_of(service, namespace)
  for _, deployment in ipairs(api.list("deployments.apps", namespace)) do
    if selects(api.at(service, "spec", "selector"), api.at(deployment, "spec", "template", "metadata", "labels")) then
      return deployment
    end
  end
  return nil
end

--- What keeps Trainer from working now.
--- @return string|nil missing an object that is not there
--- @return string|nil waiting for what is there and not ready
local function probe()
  for _, name in ipairs(NAMES) do
    local crd = api.find(CRDS, name)
    if not crd then
      return "customresourcedefinition " .. name
    elseif not api.condition(crd, "Established", "True") then
      return nil, ("the API server serves %s"):format(name)
    end
  end
  local configuration = api.find(WEBHOOKS, VALIDATOR)
  local at = service_of(configuration)
  if not at then
    return ("validatingwebhookconfiguration %s%s"):format(VALIDATOR, configuration and " for trainjobs" or "")
  end
  local service = api.find("services", at.name, at.namespace)
  if not service then
    return ("service %s in namespace %s"):format(at.name, at.namespace)
  end
  local deployment = deployment_of(service, at.namespace)
  if not deployment then
    return ("the deployment behind service %s in namespace %s"):format(at.name, at.namespace)
  end
  -- The condition "Available" is true of a deployment of no replicas, too.
  local available = math.tointeger(api.at(deployment, "status").availableReplicas) or 0
  if available < 1 then
    return nil, ("deployment %s in namespace %s is available: %s"):format(deployment.metadata.name, at.namespace,
      api.condition(deployment, "Available", "False") or "it has no replica")
  end
  return nil, nil
end

local function raise_missing(missing, declared, waited)
  errors.raise {
    code = "NOT_FOUND", reason = "not-found", verdict = declared,
    message = ("Kubeflow Trainer is not complete: %s is not there%s; install it with: %s"):format(missing,
      declared and (" after %s, though the recipe declares it"):format(waited) or "", M.INSTALL),
  }
end

--- Waits until Trainer is there and its controller available. Raises NOT_FOUND/`not-found` where something of it is
--- missing, at once unless the recipe declares it; TIMEOUT/`trainer-not-ready`; what its requests raise.
--- @param ctx aicr.ctx
--- @param declared boolean does the recipe declare it?
--- @param times table trainer, trainer_every: {text=, ms=}
function M.wait(ctx, declared, times)
  local ends = native.monotonic() + times.trainer.ms
  while true do
    local missing, waiting = probe()
    if not missing and not waiting then
      return
    end
    local over = native.monotonic() >= ends
    if missing and (over or not declared) then
      raise_missing(missing, declared, times.trainer.text)
    elseif over then
      api.raise("TIMEOUT", "trainer-not-ready", "Kubeflow Trainer is not ready after %s: waited until %s",
        times.trainer.text, waiting)
    end
    ctx:progress("waits for Trainer: %s", missing and missing .. " is not there" or "until " .. waiting)
    native.sleep(math.max(0, math.min(times.trainer_every.ms, ends - native.monotonic())))
  end
end

return M
