-- SPDX-License-Identifier: Apache-2.0
--- What a run needs of the network and cannot be guessed: the resource of NICs on premises, the
--- networks and the plug-in of GPUDirect-TCPXO on GKE (platform-runtimes.md 5.5 to 5.7).
local gke = require "aicr.gke"
local json = require "aicr.json"
local quantity = require "aicr.quantity"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"

local M = {}

M.MLNX = "nvidia.com/mlnxnics"
M.RDMA_PREFIX = "rdma/"
M.NETWORK_PREFIX = "networking.gke.io.networks/"
M.PLUGIN_IMAGE = "nccl-plugin-gpudirecttcpx-dev"

local ON_PREMISES <const> = { gb200 = true, gb300 = true, b200 = true, b300 = true }

local function allocatable(node)
  return node.status and value.opt(node.status.allocatable) or {}
end

local function at_least(amount, n)
  local ok, order = pcall(quantity.compare, amount, tostring(n))
  return ok and order >= 0
end

-- Names by what each node says: how many nodes have one, how many have enough of it.
local function census(nodes, is_candidate, count)
  local has, enough = {}, {}
  for _, node in ipairs(nodes) do
    for name, amount in pairs(allocatable(node)) do
      if is_candidate(name) then
        has[name] = (has[name] or 0) + 1
        enough[name] = (enough[name] or 0) + (at_least(amount, count) and 1 or 0)
      end
    end
  end
  return has, enough
end

local function is_nic(name)
  return name == M.MLNX or name:sub(1, #M.RDMA_PREFIX) == M.RDMA_PREFIX
end

local function why_none(qualified, has, count)
  if #qualified > 1 then
    return ("several NIC resources are on every node: %s; say which one with --nic-resource"):format(
      table.concat(qualified, ", "))
  end
  local names = sorted_keys(has)
  if #names == 0 then
    return ("no node has a NIC resource (%s* or %s); --nic-resource names one that is meant"):format(M.RDMA_PREFIX,
      M.MLNX)
  end
  return ("%s below count %d on some nodes; --nics says how many a node has, --nic-resource which are meant"):format(
    table.concat(names, ", "), count)
end

--- Does a run there ask for NICs by a resource that differs from site to site?
---@param platform string
---@param arch string
---@return boolean
function M.needs_resource(platform, arch)
  return platform == "onprem" and ON_PREMISES[arch] == true
end

--- The resource under which NICs are asked for, on premises: the only one that every node has enough
--- of, else none and why.
---@param nodes table[]
---@param run {platform: string, arch: string, nics: integer?, given: string?} given: as the user says it, "" for none
---@return {resource: string, why: string?} resource "": none
function M.detect_nic_resource(nodes, run)
  if run.given then
    return { resource = run.given }
  elseif not M.needs_resource(run.platform, run.arch) then
    return { resource = "" }
  end
  local count = math.max(run.nics or 0, 1)
  local has, enough = census(nodes, is_nic, count)
  local qualified = {}
  for _, name in ipairs(sorted_keys(enough)) do
    if enough[name] == #nodes then
      qualified[#qualified + 1] = name
    end
  end
  if #qualified == 1 then
    return { resource = qualified[1] }
  end
  return { resource = "", why = why_none(qualified, has, count) }
end

local function is_network(name)
  return name:sub(1, #M.NETWORK_PREFIX) == M.NETWORK_PREFIX and name:sub(-3) ~= ".IP"
    and name ~= M.NETWORK_PREFIX .. gke.DEFAULT_NETWORK
end

--- The networks of GPUs that a node offers, as its resources are called.
---@param node table
---@return string[]
function M.networks_of(node)
  local names = json.array()
  for _, name in ipairs(sorted_keys(node.status.allocatable)) do
    names[#names + 1] = is_network(name) and name or nil
  end
  return names
end

local function shared_networks(nodes)
  local has, shared = census(nodes, is_network, 0), json.array()
  for _, name in ipairs(sorted_keys(has)) do
    if has[name] == #nodes then
      shared[#shared + 1] = name:sub(#M.NETWORK_PREFIX + 1)
    end
  end
  return shared
end

--- The networks in the order of the host's interfaces eth1…, nil where the node does not say it of all.
local function host_order(node, networks)
  local annotations = value.opt(node.metadata.annotations) or {}
  local ok, info = pcall(gke.parse_nic_info, annotations[gke.NIC_INFO_ANNOTATION] or "")
  local read, by_address = pcall(gke.parse_north_interfaces, annotations[gke.NORTH_INTERFACES_ANNOTATION] or "")
  if not ok or not read then
    return nil
  end
  local order, placed, wanted = json.array(), 0, {}
  for _, name in ipairs(networks) do
    wanted[name] = true
  end
  for i = 1, #networks do
    local address = info.ips["eth" .. i]
    local network = address and by_address[address]
    if not network or not wanted[network] then
      return nil
    end
    wanted[network] = nil -- each has an interface of its own
    order[i], placed = network, placed + 1
  end
  return placed == #networks and order or nil
end

local function common_order(nodes, networks)
  local first
  for _, node in ipairs(nodes) do
    local order = host_order(node, networks)
    if not order or first and not value.equal(first, order) then
      return nil
    end
    first = order
  end
  return first
end

local function default_networks()
  local names = json.array()
  for i = 0, gke.REQUIRED - 1 do
    names[i + 1] = "gpu-nic" .. i
  end
  return names
end

--- The eight networks of GPUDirect-TCPXO, in the order of the host's interfaces where all nodes
--- agree on it, else by name; names by convention with a warning where there are not eight.
---@param nodes table[]
---@param opts? {networks: string[]?} networks: as the user says them
---@return {networks: string[], order: "host"|"name"|"default"|"given", warning: string?}
function M.detect_gke_networks(nodes, opts)
  if opts and opts.networks then
    return { networks = opts.networks, order = "given" }
  end
  local shared = #nodes > 0 and shared_networks(nodes) or {}
  if #shared ~= gke.REQUIRED then
    local seen = #shared == 0 and "no network" or ("%d networks, %s,"):format(#shared, table.concat(shared, ", "))
    return {
      networks = default_networks(), order = "default",
      warning = ("%s on every node, needed %d: gpu-nic0 to gpu-nic7 were taken; the option networks names those that"
        .. " are meant"):format(seen .. (#shared == 0 and " is" or " are"), gke.REQUIRED),
    }
  end
  local order = common_order(nodes, shared)
  return { networks = order or shared, order = order and "host" or "name" }
end

--- The pairs that the interfaces annotation of a pod has for these networks.
---@param networks string[]
---@return aicr.gke.Pair[]
function M.interface_pairs(networks)
  local pairs_of = value.array { interfaceName = gke.DEFAULT_INTERFACE, network = gke.DEFAULT_NETWORK }
  for i, network in ipairs(networks) do
    pairs_of[i + 1] = { interfaceName = "eth" .. i, network = network }
  end
  return pairs_of
end

-- Which CUDA and daemon belong to a release of the plug-in.
local RELEASES <const> = {
  { tag = "v1.0.15", cuda = 12, daemon = "v1.0.21" },
  { tag = "v1.0.16", cuda = 12, daemon = "v1.0.22" },
  { tag = "v1.0.17", cuda = 13, daemon = "v1.0.23" },
}

--- What is taken where the nodes do not say it.
M.OLDEST_RELEASE = RELEASES[1].tag

--- The release of a tag, without what follows a hyphen; nil for any other form.
local function base_of(tag)
  return tag:match "^(v%d+%.%d+%.%d+)$" or tag:match "^(v%d+%.%d+%.%d+)%-.+$"
end

local function numbers_of(tag)
  local major, minor, patch = tag:match "^v(%d+)%.(%d+)%.(%d+)$"
  return (tonumber(major) * 100000 + tonumber(minor)) * 100000 + tonumber(patch)
end

local function tag_of_image(image)
  local last = image:gsub("@.*$", ""):match "[^/]*$"
  local name, tag = last:match "^(.-):(.*)$"
  if (name or last) == M.PLUGIN_IMAGE then
    return tag or ""
  end
end

local function tag_of_pod(pod)
  local spec = value.opt(pod.spec) or {}
  for _, field in ipairs { "initContainers", "containers" } do
    for _, container in ipairs(value.list(spec[field])) do
      local tag = tag_of_image(value.opt(container.image) or "")
      if tag then
        return tag
      end
    end
  end
end

local function is_live(pod)
  return value.opt(pod.metadata.deletionTimestamp) == nil and pod.status and pod.status.phase == "Running"
end

local function tags_by_node(nodes, pods)
  local targets, by_node = {}, {}
  for _, node in ipairs(nodes) do
    targets[node.metadata.name] = true
  end
  for _, pod in ipairs(pods) do
    local node = pod.spec and value.opt(pod.spec.nodeName)
    if node and targets[node] and is_live(pod) and not by_node[node] then
      by_node[node] = tag_of_pod(pod)
    end
  end
  return by_node
end

local function release(row, warning)
  return {
    tag = row.tag, cuda = row.cuda, daemon = row.daemon, exact = warning == nil,
    warning = warning and ("%s: %s was taken (CUDA %d, daemon %s); the option release says which one is meant"):format(
      warning, row.tag, row.cuda, row.daemon),
  }
end

local function closest(tag)
  local found, n = RELEASES[1], base_of(tag) and numbers_of(base_of(tag))
  if not n then
    value.invalid("release", "release %s is not valid; expected such as %s", value.quoted(tag), RELEASES[#RELEASES].tag)
  end
  for _, row in ipairs(RELEASES) do
    local known = numbers_of(row.tag)
    if known == n then
      return release(row)
    elseif known < n then
      found = row
    end
  end
  return release(found, ("release %s of the TCPXO plug-in is not known"):format(tag))
end

local function untold(tag)
  return tag == "" and "without a tag" or ("with the tag %s"):format(value.quoted(tag))
end

--- The release of the TCPXO plug-in that runs on the nodes, with what belongs to it; the oldest one,
--- with a warning, where they do not all say the same.
---@param nodes table[]
---@param pods table[] of kube-system
---@param opts? {release: string?} release: as the user says it
---@return {tag: string, cuda: integer, daemon: string, exact: boolean, warning: string?}
function M.detect_tcpxo_release(nodes, pods, opts)
  if opts and opts.release then
    return closest(opts.release)
  end
  local by_node, first, mixed = tags_by_node(nodes, pods), nil, {}
  for _, node in ipairs(nodes) do
    local name = node.metadata.name
    local tag = by_node[name]
    if not tag then
      return release(RELEASES[1], ("no running pod with the image %s on node %s"):format(M.PLUGIN_IMAGE, name))
    elseif not base_of(tag) then
      return release(RELEASES[1], ("the image %s on node %s is %s"):format(M.PLUGIN_IMAGE, name, untold(tag)))
    end
    first = first or base_of(tag)
    mixed[base_of(tag)] = true
  end
  if not first then
    return release(RELEASES[1], "there are no nodes")
  elseif #sorted_keys(mixed) > 1 then
    return release(RELEASES[1], ("nodes have different releases of the TCPXO plug-in: %s"):format(
      table.concat(sorted_keys(mixed), ", ")))
  end
  return closest(first)
end

return M
