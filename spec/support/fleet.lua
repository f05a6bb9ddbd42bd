-- SPDX-License-Identifier: Apache-2.0
--- Recorded clusters of GPU nodes for specs: of each platform, as its nodes look (platform-runtimes.md 5), with what
--- its fabric needs. A cluster is a table of parts (spec.support.recording), and its nodes can be changed by name.
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"
local luassert = require "luassert"
local recording = require "spec.support.recording"

local M = {}

M.NODES = recording.NODES
M.DAEMONSETS = "apps/v1/daemonsets"
M.PODS = "core/v1/pods"
M.SLICES = "resource.k8s.io/v1/resourceslices"
M.CLASSES = "resource.k8s.io/v1/deviceclasses"
M.DOMAINS = "resource.nvidia.com/v1beta1/computedomains"
M.DOMAIN_DRIVER = "compute-domain.nvidia.com"
-- Which NVLink domain a node is of, and the one of a healthy cluster.
M.CLIQUE = "nvidia.com/gpu.clique"
M.DOMAIN = "7b968a6d-c8aa-45e1-9e07-e1e51be99c31.1"

-- The ComputeDomain driver says of its devices what they are.
local CHANNEL <const> = { type = { string = "channel" } }

local KINDS <const> = {
  [M.NODES] = "NodeList", [M.DAEMONSETS] = "DaemonSetList", [M.SLICES] = "ResourceSliceList",
  [M.CLASSES] = "DeviceClassList", [M.DOMAINS] = "ComputeDomainList",
}

M.PRODUCTS = {
  h100 = "NVIDIA-H100-80GB-HBM3", a100 = "NVIDIA-A100-SXM4-80GB", b200 = "NVIDIA-B200", gb200 = "NVIDIA-GB200",
  gb300 = "NVIDIA-GB300", l40s = "NVIDIA-L40S", rtxpro6000 = "NVIDIA-RTX-PRO-6000-Blackwell",
  v100 = "Tesla-V100-SXM2-16GB",
}

-- What the nodes of a platform say: provider ID, labels.
local PLATFORMS <const> = {
  aws = { id = "aws:///us-east-1a/i-%d" },
  gcp = { id = "gce://p/us-central1-a/n%d", labels = { ["cloud.google.com/gke-accelerator"] = "nvidia" } },
  azure = { id = "azure:///subscriptions/s/vm/%d" },
  oci = { id = "ocid1.instance.oc1.%d" },
  onprem = { id = "openstack:///%d" },
  togetherai = { id = "kubevirt://%d", labels = { ["node-role.together.ai/worker"] = "" } },
  mistral = { id = "metal3://ns/%d" },
  forge = { labels = { ["nke.nvidia.com/site-name"] = "s1" } },
  nscale = { id = "nscale://%d" },
}

local function list(key, items)
  local document = recording.list(key, items)
  document.kind = KINDS[key]
  return document
end

--- A node of a cluster.
---@param i integer
---@param opts {platform: string, arch: string, gpus: integer, resources: table<string, string>?}
---@return table
function M.node(i, opts)
  local like, gpus = PLATFORMS[opts.platform], tostring(opts.gpus)
  local name = ("n%d"):format(i)
  local labels = {
    ["kubernetes.io/hostname"] = name, ["kubernetes.io/arch"] = "amd64", ["nvidia.com/gpu.present"] = "true",
    ["nvidia.com/gpu.product"] = M.PRODUCTS[opts.arch],
  }
  for key, value in pairs(like.labels or {}) do
    labels[key] = value
  end
  local allocatable = { cpu = "190", memory = "1900Gi", pods = "110", ["nvidia.com/gpu"] = gpus }
  for key, value in pairs(opts.resources or {}) do
    allocatable[key] = value
  end
  return {
    metadata = { name = name, labels = labels }, spec = { providerID = like.id and like.id:format(i) },
    status = {
      allocatable = allocatable, capacity = { cpu = "192", ["nvidia.com/gpu"] = opts.gpus > 0 and gpus or nil },
      conditions = json.array { { type = "Ready", status = "True" } },
    },
  }
end

--- A DaemonSet that is rolled out to so many nodes.
---@param namespace string
---@param name string
---@param image string
---@param pods integer
---@return table
function M.daemonset(namespace, name, image, pods)
  return {
    metadata = { name = name, namespace = namespace, generation = 3 },
    spec = { template = { spec = { containers = json.array { { name = "main", image = image } } } } },
    status = {
      observedGeneration = 3, desiredNumberScheduled = pods, updatedNumberScheduled = pods, numberAvailable = pods,
    },
  }
end

--- A pod of a DaemonSet on a node.
---@param node string
---@param namespace string
---@param name string of the DaemonSet
---@param ready boolean
---@return table
function M.pod(node, namespace, name, ready)
  return {
    metadata = {
      name = name .. "-" .. node, namespace = namespace,
      ownerReferences = json.array { { kind = "DaemonSet", name = name } },
    },
    spec = { nodeName = node },
    status = { conditions = json.array { { type = "Ready", status = ready and "True" or "False" } } },
  }
end

--- The devices that a driver published of a node.
---@param node string
---@param driver string
---@param count integer
---@param attributes? table of each device
---@return table
function M.slice(node, driver, count, attributes)
  local devices = json.array()
  for i = 1, count do
    devices[i] = { name = "device-" .. i, attributes = attributes }
  end
  return {
    metadata = { name = node .. "-" .. driver },
    spec = {
      driver = driver, nodeName = node, devices = devices,
      pool = { name = node, generation = 1, resourceSliceCount = 1 },
    },
  }
end

--- A device class that selects a driver.
---@param name string
---@param driver? string
---@return table
function M.class(name, driver)
  local expression = driver and ('device.driver == "%s"'):format(driver) or "true"
  return { metadata = { name = name }, spec = { selectors = json.array { { cel = { expression = expression } } } } }
end

local function serve_domains(parts)
  local verbs = json.array { "create", "delete", "get", "list", "patch", "update", "watch" }
  local items = parts.discovery.apis.items
  items[#items + 1] = {
    metadata = { name = "resource.nvidia.com" },
    versions = json.array { {
      version = "v1beta1", freshness = "Current",
      resources = json.array { {
        resource = "computedomains", scope = "Namespaced", singularResource = "computedomain", verbs = verbs,
        responseKind = { group = "", version = "", kind = "ComputeDomain" },
      } },
    } },
  }
  parts.lists[M.DOMAINS] = list(M.DOMAINS, {})
  local classes = parts.lists[M.CLASSES].items
  classes[#classes + 1] = M.class("compute-domain-daemon.nvidia.com", M.DOMAIN_DRIVER)
  classes[#classes + 1] = M.class("compute-domain-default-channel.nvidia.com", M.DOMAIN_DRIVER)
end

local GPU_PLUGIN <const> = "nvcr.io/nvidia/k8s-device-plugin:v0.17.1"

--- A healthy cluster.
---@param opts {platform: string, arch: string, gpus: integer, count: integer?, resources: table?, devices: table?,
---  classes: table[]?, domains: boolean?, plugins: table[]?} devices: driver -> how many on each node
---@return table parts
function M.cluster(opts)
  local parts, nodes, slices = recording.read(), {}, {}
  local count = opts.count or 3
  parts.lists = {}
  for i = 1, count do
    nodes[i] = M.node(i, opts)
    nodes[i].metadata.labels[M.CLIQUE] = opts.domains and M.DOMAIN or nil
    for driver, n in pairs(opts.devices or {}) do
      slices[#slices + 1] = M.slice("n" .. i, driver, n, driver == M.DOMAIN_DRIVER and CHANNEL or nil)
    end
  end
  nodes[#nodes + 1] = {
    metadata = { name = "cpu-1", labels = { ["kubernetes.io/hostname"] = "cpu-1" } }, spec = { providerID = "x://1" },
    status = { allocatable = { cpu = "8" }, conditions = json.array { { type = "Ready", status = "True" } } },
  }
  local sets = { M.daemonset("kube-system", "kube-proxy", "registry.k8s.io/kube-proxy:v1.34.0", count + 1) }
  if opts.gpus > 0 then
    sets[2] = M.daemonset("gpu-operator", "nvidia-device-plugin-daemonset", GPU_PLUGIN, count)
  end
  for _, plugin in ipairs(opts.plugins or {}) do
    sets[#sets + 1] = M.daemonset("kube-system", plugin[1], plugin[2], count)
  end
  parts.lists[M.NODES], parts.lists[M.DAEMONSETS] = list(M.NODES, nodes), list(M.DAEMONSETS, sets)
  parts.lists[M.SLICES], parts.lists[M.CLASSES] = list(M.SLICES, slices),
    list(M.CLASSES, table.move(opts.classes or {}, 1, #(opts.classes or {}), 1, {}))
  if opts.domains then
    serve_domains(parts)
  end
  return parts
end

--- An object of a cluster, by its name.
---@param parts table
---@param key string
---@param name string
---@return table object
---@return integer index
function M.find(parts, key, name)
  for i, object in ipairs(parts.lists[key].items) do
    if object.metadata.name == name then
      return object, i
    end
  end
  error("the cluster has no " .. name)
end

--- Runs checks on a cluster.
---@param parts table
---@param args string[]
---@param recipe? string its text
---@return table report
function M.report(parts, args, recipe)
  local folder = files.folder()
  local words = table.move(args, 1, #args, 3, { "--recording", recording.write(folder .. "/cluster", parts) })
  if recipe then
    files.write(folder .. "/recipe.yaml", recipe)
    words[#words + 1] = "--recipe"
    words[#words + 1] = folder .. "/recipe.yaml"
  end
  local report = binary.report(words)
  files.remove(folder)
  return report
end

--- Holds a result against what is expected of it: outcome, and code and reason where they are said; every word of
--- `says`, and that a fail or error names the next command.
---@param check table of a report
---@param want {outcome: string, code: string?, reason: string?, says: string[]?, coverage: integer[]?}
function M.judge(check, want)
  local told = table.concat({ check.result or "", check.message or "", check.why or "", check.fix or "" }, "\n")
  local said = ("%s %s %s: %s"):format(check.outcome, check.code, check.reason, told)
  luassert.equal(want.outcome, check.outcome, said)
  if want.reason then
    luassert.equal(want.reason, check.reason, said)
  end
  if want.code then
    luassert.equal(want.code, check.code, said)
  end
  for _, words in ipairs(want.says or {}) do
    luassert.truthy(told:find(words, 1, true), ("%q not in %s"):format(words, said))
  end
  if want.outcome == "fail" then
    luassert.equal("string", type(check.fix), "a fail names the next command: " .. said)
  end
  if want.coverage then
    luassert.same({ verified = want.coverage[1], total = want.coverage[2] }, check.coverage, said)
  end
end

--- One test for each row: a check on a healthy cluster that `change` changed, an A100 cluster of AWS where the row says
--- no other. A row has the fields of `cluster`, and `args` and those of `judge`.
---@param it function busted's
---@param name string of the check
---@param rows table[]
function M.rows(it, name, rows)
  for _, row in ipairs(rows) do
    it(("%s: %s %s"):format(row[1], row.outcome, row.reason or ""), function()
      local parts = M.cluster {
        platform = row.platform or "aws", arch = row.arch or "a100", gpus = row.gpus or 8, devices = row.devices,
        classes = row.classes, domains = row.domains, resources = row.resources,
      }
      if row.change then
        row.change(parts)
      end
      local args = table.move(row.args or {}, 1, #(row.args or {}), 4, { name, "--platform", row.platform or "aws" })
      M.judge(binary.check(M.report(parts, args), name), row)
    end)
  end
end

--- A change that makes a resource unreadable.
---@param key string
---@param err? table of recording.fail; default: forbidden
---@return fun(parts: table)
function M.unreadable(key, err)
  return function(parts)
    recording.fail(parts, key, err or { status = 403, reason = "Forbidden" })
  end
end

--- A change that puts a node into another NVLink domain, nil: into none.
---@param node string
---@param domain? string
---@return fun(parts: table)
function M.move(node, domain)
  return function(parts)
    M.find(parts, M.NODES, node).metadata.labels[M.CLIQUE] = domain
  end
end

--- Takes an object out of a cluster.
---@param parts table
---@param key string
---@param name string
function M.remove(parts, key, name)
  local _, i = M.find(parts, key, name)
  table.remove(parts.lists[key].items, i)
end

return M
