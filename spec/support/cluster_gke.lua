-- SPDX-License-Identifier: Apache-2.0
--- The healthy example cluster and its faults (spec.support.faults) as objects of the test cluster.
---
--- Nodes are objects without a kubelet, closed to pods. Only what differs from what was brought before is changed.
local cluster = require "spec.support.cluster"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local recording = require "spec.support.recording"

local M = {}

local GKE <const>, TRAINER <const> = "networking.gke.io", "trainer.kubeflow.org"
local PATHS <const> = {
  [recording.NETWORKS] = "/apis/networking.gke.io/v1/networks",
  [recording.RUNTIMES] = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes",
}
local CRDS <const> = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
local OF_GROUP <const> = {
  [GKE] = { "networks.networking.gke.io", "gkenetworkparamsets.networking.gke.io" },
  [TRAINER] = { "clustertrainingruntimes.trainer.kubeflow.org" },
}

-- Where the cluster has no Trainer: enough of its kind for a client.
local MINIMAL <const> = {
  apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition",
  metadata = { name = OF_GROUP[TRAINER][1] },
  spec = {
    group = TRAINER, scope = "Cluster",
    names = {
      kind = "ClusterTrainingRuntime", listKind = "ClusterTrainingRuntimeList", plural = "clustertrainingruntimes",
      singular = "clustertrainingruntime",
    },
    versions = json.array { {
      name = "v1alpha1", served = true, storage = true,
      schema = { openAPIV3Schema = { type = "object", ["x-kubernetes-preserve-unknown-fields"] = true } },
    } },
  },
}

local definitions, had_trainer
local now = {}

local function served(group)
  local key = group == GKE and recording.NETWORKS or recording.RUNTIMES
  local known = json.decode(objects.send("GET", "/apis").body)
  local listed = false
  for _, g in ipairs(known.groups) do
    listed = listed or g.name == group
  end
  return objects.send("GET", PATHS[key]).http == 200 and listed
end

--- Makes the group's kinds served; gone with `remove_group`.
---@param group string
function M.add_group(group)
  if group == GKE then
    cluster.kubectl("apply", "--server-side", "-f", "spec/cluster/config/gke_crds.yaml")
  else
    objects.send("POST", CRDS, definitions)
  end
  cluster.eventually(group .. " is served", 30, function()
    return served(group)
  end)
end

local function forget(group)
  for key in pairs(now) do
    if key:sub(1, #group + 1) == group .. "/" then
      now[key] = {}
    end
  end
end

--- Deletes the kinds of a group and all objects of them.
---@param group string
function M.remove_group(group)
  for _, name in ipairs(OF_GROUP[group]) do
    objects.send("DELETE", CRDS .. "/" .. name)
    cluster.eventually(name .. " is gone", 60, function()
      local answer = objects.send("GET", CRDS .. "/" .. name)
      return answer.http == 404, answer.body
    end)
  end
  forget(group)
end

local function has_group(parts, group)
  for _, item in ipairs(parts.discovery.apis.items) do
    if item.metadata.name == group then
      return true
    end
  end
  return false
end

-- Nodes nobody may run pods on, and nothing that their kubelet would have to say.
local function closed(node)
  node.spec = { unschedulable = true, taints = node.spec.taints }
  node.status = { capacity = node.status.capacity, allocatable = node.status.allocatable }
  return node
end

local function parameter_sets()
  local requests = {}
  for n = 1, 8 do
    requests[n] = objects.apply_requests({
      apiVersion = "networking.gke.io/v1", kind = "GKENetworkParamSet", metadata = { name = "lyra-params-k" .. n },
      spec = { vpc = "lyra-vpc-k" .. n, vpcSubnet = "lyra-subnet-k" .. n, deviceMode = "NetDevice" },
    })[1]
  end
  return requests
end

local function bring_group(parts, group)
  if not has_group(parts, group) then
    M.remove_group(group)
  elseif not served(group) then
    M.add_group(group)
  end
end

local function wanted_of(key, list)
  local wanted = {}
  for _, item in ipairs(list.items) do
    local object = objects.bare(item)
    object.apiVersion, object.kind = list.apiVersion, (list.kind:gsub("List$", ""))
    object = key == recording.NODES and closed(object) or object
    wanted[object.metadata.name] = json.encode(object)
  end
  return wanted
end

--- Makes the cluster's objects those of the parts. A list that is an error there stays as it is here.
---@param parts table of spec.support.recording
---@return string|nil what the API server said of an object that it does not take
function M.bring(parts)
  bring_group(parts, GKE)
  bring_group(parts, TRAINER)
  local requests, refused = {}, nil
  for key, list in pairs(parts.lists) do
    local wanted, had = wanted_of(key, list), now[key] or {}
    for name, text in pairs(had) do
      if not wanted[name] then
        requests[#requests + 1] = { method = "DELETE", path = objects.path((json.decode(text))) }
      end
    end
    for name, text in pairs(wanted) do
      if had[name] ~= text and key == recording.RUNTIMES then
        -- Applied, a map that loses its last member would become null, which its schema refuses.
        refused = objects.replace((json.decode(text))) or refused
      elseif had[name] ~= text then
        local more = objects.apply_requests((json.decode(text)))
        table.move(more, 1, #more, #requests + 1, requests)
      end
    end
    now[key] = wanted
  end
  for i, answer in ipairs(objects.batch(requests)) do
    if answer.http >= 400 or answer.http == 0 then
      refused = ("%s: %d %s"):format(requests[i].path, answer.http, answer.body)
    end
  end
  -- Of what was refused it is not known what is there now: all is brought anew.
  now = refused and {} or now
  return refused
end

--- Before all: notes Trainer's definition, and makes one where there is none.
function M.begin()
  local answer = objects.send("GET", CRDS .. "/" .. OF_GROUP[TRAINER][1])
  had_trainer = answer.http == 200
  definitions = had_trainer and objects.bare((json.decode(answer.body))) or MINIMAL
  definitions.status = nil
  assert(not M.bring(recording.read()))
  objects.batch(parameter_sets())
end

--- After all: only what was there before is left.
function M.finish()
  local parts = recording.read()
  for key in pairs(parts.lists) do
    parts.lists[key] = recording.list(key, {})
  end
  M.bring(parts)
  local sets = parameter_sets()
  for _, request in ipairs(sets) do
    request.method, request.body = "DELETE", nil
  end
  objects.batch(sets)
  if not had_trainer then
    M.remove_group(TRAINER)
  end
end

return M
