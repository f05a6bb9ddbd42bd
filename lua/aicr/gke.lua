-- SPDX-License-Identifier: Apache-2.0
--- GKE multi-networking for GPUDirect-TCPXO: what a cluster, its nodes, the deployed runtime and
--- the recipe say about GPU NIC networks (gke-tcpxo.md 1, 3, 4). Objects are decoded JSON; a
--- mapping is a list of `{interfaceName=, network=}`, a network status is
--- `{name=, ready=, paramsReady=, paramSet=, bound=}`.
---
--- Everything raises error objects: verdicts (`NOT_FOUND`, `CONFLICT`, `INVALID_REQUEST`) for what
--- was observed, the reader's own error where nothing could be observed.
local attempt = require "aicr.base.attempt"
local component = require "aicr.component"
local errors = require "aicr.native.error"
local failure = require "aicr.failure"
local json = require "aicr.json"
local native = require "aicr.native.gke"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

--- GPU NIC networks that GPUDirect-TCPXO needs: one a GPU of an a3-megagpu-8g node.
M.REQUIRED = 8
--- The recipe's component that stands for TCPXO.
M.COMPONENT = "gke-nccl-tcpxo"
--- The recipe's component that delivers the runtime.
M.TRAINER = "kubeflow-trainer"
--- The ClusterTrainingRuntime that the trainer component ships.
M.RUNTIME = "torch-distributed-tcpxo"
--- The entry of `manifestFiles` with which the trainer component ships it.
M.RUNTIME_MANIFEST =
  "components/kubeflow-trainer/manifests/torch-distributed-tcpxo-cluster-training-runtime.yaml"
--- The override under which the trainer component records the mapping.
M.OVERRIDE = "tcpxoInterfaces"
M.INTERFACES_ANNOTATION = "networking.gke.io/interfaces"
M.DEFAULT_INTERFACE_ANNOTATION = "networking.gke.io/default-interface"
M.DEVICES_ANNOTATION = "devices.gke.io/container.tcpxo-daemon"
M.NIC_INFO_ANNOTATION = "networking.gke.io/nic-info"
M.NORTH_INTERFACES_ANNOTATION = "networking.gke.io/north-interfaces"
M.DEFAULT_INTERFACE = "eth0"
M.DEFAULT_NETWORK = "default"
--- Name of the worker job and of its container.
M.NODE_JOB = "node"
M.SIDECAR = "tcpxo-daemon"
--- A Network whose name contains this is a GPU NIC network. Case-sensitive.
M.NAME_SUBSTRING = "gpu-nic"
--- Longest name of a Device network, in bytes.
M.MAX_NETWORK_NAME = 41
--- Label selector of the a3-megagpu-8g nodes.
M.NODE_SELECTOR = "cloud.google.com/gke-accelerator=nvidia-h100-mega-80gb"
--- Resources, as `ctx.k8s` names them. The versions are those whose shape is read here.
M.NETWORKS = "networks.v1.networking.gke.io"
M.RUNTIMES = "clustertrainingruntimes.v1alpha1.trainer.kubeflow.org"

local function census_message(observed)
  return ("the recipe declares %s, but %s"):format(M.COMPONENT, observed)
end

--- What the networks are and where they come from, for the `fixes` of checks (gke-tcpxo.md 4.4-A).
M.PROVISIONING = "One Network per GPU NIC is required, each bound to a GKENetworkParamSet and each"
  .. " with \"" .. M.NAME_SUBSTRING .. "\" in its own name. They come with the cluster's"
  .. " provisioning; neither aicr-run nor a Helm chart makes them, and --enable-multi-networking"
  .. " cannot be switched on after the cluster was created. Look with: kubectl get"
  .. " network.networking.gke.io. Documentation: https://cloud.google.com/kubernetes-engine/docs/"
  .. "how-to/setup-multinetwork-support-for-pods"

--- What to say when the Network API is not served (gke-tcpxo.md 4.4-A).
M.ABSENT = census_message(
  ("the API is not served, so 0 of %d GPU NIC networks exist"):format(M.REQUIRED))

local function json_type(v)
  if v == nil then
    return "nothing"
  elseif v == json.null then
    return "null"
  elseif type(v) == "table" then
    return tree.is_list(v) and "a list" or "a map"
  end
  return "a " .. type(v)
end

local function invalid(reason, fmt, ...)
  errors.raise {
    code = "INVALID_REQUEST", reason = reason, message = fmt:format(...), verdict = true,
  }
end

-- Calls f(...); its error object says where.
local function at(place, f, ...)
  local result, err = attempt(f, ...)
  if not err then
    return result
  end
  errors.raise {
    code = err.code, reason = err.reason, message = place .. ": " .. err.message, details = err.details,
    verdict = err.verdict, cause = err.cause,
  }
end

-- What an object is called in messages: "ClusterTrainingRuntime torch-distributed-tcpxo".
local function title(obj)
  local kind = tree.text(obj, "kind") or "object"
  local name = tree.text(obj, "metadata", "name")
  return text.printable(name and kind .. " " .. name or kind .. " without a name")
end

-- Annotations and mappings: pure C.

--- Reads an interfaces annotation (gke-tcpxo.md 3.2): the entries after eth0 -> default.
--- Raises INVALID_REQUEST.
M.parse_interfaces = native.parse_interfaces

--- The mapping itself when it is eth1..eth8 on eight GPU NIC networks (3.6). Raises
--- INVALID_REQUEST.
M.validate_interfaces = native.validate_interfaces

--- Reads "eth1=net,eth2=net,…" (3.6). Raises INVALID_REQUEST.
M.parse_interface_list = native.parse_interface_list

--- The interfaces annotation for network names in order (3.12).
M.interfaces_annotation = native.interfaces_annotation

--- The device annotation for so many GPUs (3.12).
M.devices_annotation = native.devices_annotation

--- Reads a nic-info annotation (3.11): `{interfaces=, ips=, present=, missing=, extra=}`.
--- Raises INVALID_REQUEST.
M.parse_nic_info = native.parse_nic_info

--- Reads a north-interfaces annotation (3.11): address -> network. Raises INVALID_REQUEST.
M.parse_north_interfaces = native.parse_north_interfaces

--- Which of eth1..eth8 sit on no GPU NIC network (3.11): a list of descriptions.
M.displaced_interfaces = native.displaced_interfaces

--- Reads a mapping from decoded JSON or YAML (gke-tcpxo.md 3.6). Keys are exact, extra keys are
--- ignored. Raises INVALID_REQUEST/`mapping-malformed`.
---@param value any
---@param place string|nil where it stands, for messages; default the override's name
---@return table[] pairs
function M.normalize_interfaces(value, place)
  place = place or M.OVERRIDE
  if not tree.is_list(value) then
    invalid("mapping-malformed", "%s: expected a list of {interfaceName, network}, found %s", place,
      json_type(value))
  end
  local mapping = json.array()
  for i = 1, #value do
    local entry = value[i]
    if not tree.is_map(entry) then
      invalid("mapping-malformed", "%s[%d]: expected {interfaceName, network}, found %s", place,
        i - 1, json_type(entry))
    end
    for _, key in ipairs { "interfaceName", "network" } do
      if type(entry[key]) ~= "string" or entry[key] == "" then
        invalid("mapping-malformed", "%s[%d].%s: expected a name, found %s", place, i - 1, key,
          entry[key] == "" and "an empty string" or json_type(entry[key]))
      end
    end
    mapping[i] = { interfaceName = entry.interfaceName, network = entry.network }
  end
  return mapping
end

-- The runtime.

local JOBS <const> = "spec.template.spec.replicatedJobs"

local function find_node_template(obj)
  local jobs = tree.dig(obj, "spec", "template", "spec", "replicatedJobs")
  if not tree.is_list(jobs) then
    invalid("no-node-template", "%s: %s: expected a list, found %s", title(obj), JOBS,
      json_type(jobs))
  end
  for i = 1, #jobs do
    local job = jobs[i]
    if tree.is_map(job) and job.name == M.NODE_JOB then
      local template = tree.dig(job, "template", "spec", "template")
      if not tree.is_map(template) then
        invalid("no-node-template", "%s: job %s: template.spec.template: expected a pod template,"
          .. " found %s", title(obj), M.NODE_JOB, json_type(template))
      end
      return template
    end
  end
  invalid("no-node-job", "%s: %s declares no %s job", title(obj), JOBS, M.NODE_JOB)
end

--- The worker pod template (metadata and spec) of a runtime (gke-tcpxo.md 3.3), a deep copy.
--- Raises INVALID_REQUEST, reasons `no-node-template`, `no-node-job`.
---@param obj table
---@return table
function M.node_template(obj)
  return tree.copy(find_node_template(obj))
end

-- Annotations as a map of strings: one value that is none makes the whole map unreadable (3.4).
local function string_map(v)
  if not tree.is_map(v) then
    return {}
  end
  for _, value in pairs(v) do
    if type(value) ~= "string" then
      return {}
    end
  end
  return v
end

--- The mapping that a deployed runtime gives its workers (gke-tcpxo.md 3.4). Raises
--- INVALID_REQUEST, reasons of `node_template` and `parse_interfaces`, `not-wired`,
--- `default-interface`.
---@param obj table
---@return table[] pairs
function M.deployed_mapping(obj)
  local annotations = string_map(tree.dig(find_node_template(obj), "metadata", "annotations"))
  local interfaces = annotations[M.INTERFACES_ANNOTATION]
  if not interfaces or text.trim(interfaces) == "" then
    invalid("not-wired", "%s: the %s pod template has no annotation %s: the deployed runtime is not"
      .. " wired to the GPU NICs", title(obj), M.NODE_JOB, M.INTERFACES_ANNOTATION)
  end
  local default = annotations[M.DEFAULT_INTERFACE_ANNOTATION] or ""
  if default ~= M.DEFAULT_INTERFACE then
    invalid("default-interface", "%s: annotation %s is \"%s\", wanted \"%s\"", title(obj),
      M.DEFAULT_INTERFACE_ANNOTATION, text.printable(default), M.DEFAULT_INTERFACE)
  end
  return at(title(obj), native.parse_interfaces, interfaces)
end

--- The mapping that the recipe recorded for the runtime it ships (gke-tcpxo.md 3.7), nil when it
--- ships none. Decided from the recipe alone. Raises INVALID_REQUEST, reasons
--- `mapping-not-recorded`, `mapping-malformed`, `mapping-invalid`.
---@param recipe table|nil
---@return table[]|nil pairs
function M.fabric_runtime_delivered(recipe)
  local ref = component.first_enabled(recipe, M.TRAINER)
  if not ref or not component.has_manifest(ref, M.RUNTIME_MANIFEST) then
    return nil
  end
  local recorded = component.override(ref, M.OVERRIDE)
  if recorded == nil then
    invalid("mapping-not-recorded", "the recipe's component %s ships %s but records no %s: the"
      .. " recipe must be generated again with the cluster's mapping", M.TRAINER, M.RUNTIME,
      M.OVERRIDE)
  end
  local place = ("component %s: overrides.%s"):format(M.TRAINER, M.OVERRIDE)
  return at(place, M.validate_interfaces, M.normalize_interfaces(recorded, place))
end

-- What the cluster says.

local NO_CONDITIONS <const> = "no status.conditions"

local function condition_detail(kind, condition)
  local reason = type(condition.reason) == "string" and condition.reason or ""
  local message = type(condition.message) == "string" and condition.message or ""
  if reason == "" then
    return ("%s is not True"):format(kind)
  elseif message == "" then
    return ("%s is not True: %s"):format(kind, text.printable(reason))
  end
  return ("%s is not True: %s: %s"):format(kind, text.printable(reason), text.printable(message))
end

-- Is that condition True, and if not, why: the last of its type decides (3.8).
local function condition(conditions, kind)
  if not tree.is_list(conditions) then
    return false, NO_CONDITIONS
  end
  local holds, detail = false, ("no condition %s reported"):format(kind)
  for i = 1, #conditions do
    local c = conditions[i]
    if tree.is_map(c) and c.type == kind then
      holds = c.status == "True"
      detail = condition_detail(kind, c)
    end
  end
  return holds, detail
end

local function param_set(obj)
  local ref = tree.dig(obj, "spec", "parametersRef")
  if tree.text(ref, "kind") ~= "GKENetworkParamSet" then
    return ""
  end
  return tree.text(ref, "name") or ""
end

--- What a Network object says (gke-tcpxo.md 3.8): `{name, ready, paramsReady, paramSet, bound}`,
--- and `why` when it is not bound: the first cause in the order of 4.2.
---@param obj table
---@return table
function M.network_status(obj)
  local conditions = tree.dig(obj, "status", "conditions")
  local ready, ready_detail = condition(conditions, "Ready")
  local params_ready, params_detail = condition(conditions, "ParamsReady")
  local set = param_set(obj)
  local why
  if not ready then
    why = ("not Ready (%s)"):format(ready_detail)
  elseif set == "" then
    why = "it has no reference to a GKENetworkParamSet"
  elseif not params_ready then
    why = ("its GKENetworkParamSet %s is not ready (%s)"):format(text.printable(set), params_detail)
  end
  return {
    name = tree.text(obj, "metadata", "name") or "",
    ready = ready,
    paramsReady = params_ready,
    paramSet = set,
    bound = why == nil,
    why = why,
  }
end

--- Is the object on its way out? What is in use stays so, as it is, until nothing holds it.
---@param object table
---@return boolean
function M.is_deleted(object)
  return object.metadata.deletionTimestamp ~= nil
end

--- The statuses of the cluster's GPU NIC networks, sorted by name (gke-tcpxo.md 3.8). One list;
--- its error is raised as it is, for `aicr.verify` to classify.
---@param k8s table
---@return table[]
function M.gpu_nic_networks(k8s)
  local found = json.array()
  for _, obj in ipairs(k8s:list(M.NETWORKS)) do
    local status = M.network_status(obj)
    if status.name:find(M.NAME_SUBSTRING, 1, true) then
      status.deleted = M.is_deleted(obj) or nil
      found[#found + 1] = status
    end
  end
  table.sort(found, function(a, b) return a.name < b.name end)
  return found
end

local function collect(networks, keep)
  local out = json.array()
  for _, status in ipairs(networks) do
    if keep(status) then
      out[#out + 1] = status.name
    end
  end
  return out
end

--- The names of those networks.
---@param networks table[] statuses
---@return string[]
function M.names(networks)
  return collect(networks, function() return true end)
end

--- The names of the bound ones: Ready, ParamsReady, with a parameter set.
---@param networks table[] statuses
---@return string[]
function M.bound(networks)
  return collect(networks, function(status) return status.bound end)
end

--- Raises NOT_FOUND/`too-few-networks` when there are fewer than REQUIRED (gke-tcpxo.md 4.1,
--- step 7).
---@param networks table[] statuses
function M.require_census(networks)
  if #networks >= M.REQUIRED then
    return
  end
  errors.raise {
    code = "NOT_FOUND", reason = "too-few-networks", verdict = true,
    message = census_message(("only %d of %d GPU NIC networks (with \"%s\" in their name) exist")
      :format(#networks, M.REQUIRED, M.NAME_SUBSTRING)),
  }
end

--- Raises CONFLICT/`network-not-bound` when fewer than REQUIRED are bound, and names the first
--- that is not (gke-tcpxo.md 4.1 step 8, 4.2).
---@param networks table[] statuses, sorted by name
function M.require_bound(networks)
  local bound = #M.bound(networks)
  if bound >= M.REQUIRED then
    return
  end
  for _, status in ipairs(networks) do
    if not status.bound then
      errors.raise {
        code = "CONFLICT", reason = "network-not-bound", verdict = true,
        message = ("the recipe declares %s and the networks exist, but only %d of %d are Ready"
          .. " with an intact binding to their GKENetworkParamSet: Network %s: %s"):format(
          M.COMPONENT, bound, M.REQUIRED, text.printable(status.name), status.why),
      }
    end
  end
  error("require_bound: fewer networks than the census asks for", 2)
end

--- The code of a read that failed with anything but a 404 (gke-tcpxo.md 3.8): an expired deadline
--- is TIMEOUT, a run that was cancelled CANCELED, all else INTERNAL.
M.read_error_code = failure.runtime_read_code

--- The runtime that the recipe ships, as deployed (gke-tcpxo.md 3.8). Raises
--- NOT_FOUND/`runtime-not-deployed` (a verdict) for any 404; else `read_error_code` with the
--- client's reason.
---@param k8s table
---@return table
function M.read_deployed_runtime(k8s)
  local runtime, err = attempt(k8s.get, k8s, M.RUNTIMES, M.RUNTIME)
  if not err then
    return runtime
  elseif failure.classify(err) == "NOT_FOUND" then
    errors.raise {
      code = "NOT_FOUND", reason = "runtime-not-deployed", verdict = true, cause = err,
      message = ("the recipe ships ClusterTrainingRuntime %s, but it is not deployed")
        :format(M.RUNTIME),
    }
  end
  errors.raise {
    code = M.read_error_code(err), reason = err.reason, cause = err,
    message = ("cannot read ClusterTrainingRuntime %s"):format(M.RUNTIME),
  }
end

-- What a node says.

local function north_problem(info, annotation, gpu_networks)
  local north, err = attempt(native.parse_north_interfaces, annotation)
  if err then
    return err.message
  end
  local displaced = #gpu_networks > 0
    and native.displaced_interfaces(info, north, gpu_networks) or {}
  if #displaced > 0 then
    return ("not on a GPU NIC network: %s"):format(table.concat(displaced, ", "))
  end
  return nil
end

--- What a node's annotations say of its NICs (gke-tcpxo.md 4.3 step 6): `name`; `verified`: it has
--- nic-info that can be read; `annotated`: it has nic-info; `placed`: its interfaces could be
--- compared with the networks; `problems`: a list of sentences.
---@param node table
---@param gpu_networks string[] names of the cluster's GPU NIC networks
---@return table
function M.node_topology(node, gpu_networks)
  local annotations = tree.dig(node, "metadata", "annotations")
  local out = {
    name = tree.text(node, "metadata", "name") or "",
    annotated = false,
    verified = false,
    placed = false,
    problems = json.array(),
  }
  local function problem(sentence)
    out.problems[#out.problems + 1] = ("node %s: %s"):format(text.printable(out.name), sentence)
  end

  local nic_info = tree.text(annotations, M.NIC_INFO_ANNOTATION) or ""
  if nic_info == "" then
    return out
  end
  out.annotated = true
  local info, malformed = attempt(native.parse_nic_info, nic_info)
  if not info then
    problem(malformed.message)
    return out
  end
  out.verified = true
  if #info.extra > 0 then
    problem(("unexpected interfaces %s"):format(text.printable(table.concat(info.extra, ", "))))
  end
  if info.present < M.REQUIRED then
    problem(("%d of %d GPU NICs present, missing %s"):format(info.present, M.REQUIRED,
      table.concat(info.missing, ", ")))
  end
  local north = tree.text(annotations, M.NORTH_INTERFACES_ANNOTATION) or ""
  if north ~= "" then
    local displaced = north_problem(info, north, gpu_networks)
    out.placed = #gpu_networks > 0
    if displaced then
      problem(displaced)
    end
  end
  return out
end

return M
