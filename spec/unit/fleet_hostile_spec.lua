-- SPDX-License-Identifier: Apache-2.0
--- The deployment checks of a platform on clusters in which something is of another value or another form than it
--- ought to be: each ends with a verdict or an error of its own, and none passes over a node that lacks something.
require "aicr_native"
local errors = require "aicr.native.error"
local fleet = require "spec.support.fleet"
local json = require "aicr.json"
local value = require "aicr.platform.value"

local CHECKS <const> = { "gpu_nodes", "fabric_resources", "dra_devices", "compute_domains", "device_plugin" }
local EFA <const>, CLASS <const>, DRIVER <const> = "vpc.amazonaws.com/efa", "roce.networking.k8s.aws", "r"
local GPU <const> = "nvidia.com/gpu"

local CLUSTERS <const> = {
  {
    platform = "aws", arch = "h100", gpus = 8, resources = { [EFA] = "32" },
    plugins = { { "efa", "x/aws-efa-k8s-device-plugin" } },
  },
  {
    platform = "aws", arch = "gb300", gpus = 4, devices = { [DRIVER] = 8, [fleet.DOMAIN_DRIVER] = 1 },
    classes = { fleet.class(CLASS, DRIVER) }, domains = true,
  },
  {
    platform = "onprem", arch = "b200", gpus = 8, resources = { ["rdma/ib"] = "8" },
    plugins = { { "rdma", "x/k8s-rdma-shared-dev-plugin" } },
  },
  { platform = "nscale", arch = "b200", gpus = 0, devices = { ["gpu.nvidia.com"] = 8, ["rdma.nscale.com"] = 8 },
    classes = { fleet.class("gpu.nvidia.com", "gpu.nvidia.com"), fleet.class("rdma.nscale.com", "rdma.nscale.com") } },
}

local LISTS <const> = {
  nodes = fleet.NODES, pods = fleet.PODS, ["daemonsets.apps"] = fleet.DAEMONSETS,
  ["resourceslices.resource.k8s.io"] = fleet.SLICES,
  ["deviceclasses.v1.resource.k8s.io"] = fleet.CLASSES, ["computedomains.v1beta1.resource.nvidia.com"] = fleet.DOMAINS,
}

-- How a check ended: pass, fail, skip, error with its reason, or what Lua said.
local function run(check, parts, platform)
  local coverage, given = {}, {}
  for name, param in pairs(check.params) do
    given[name] = param.type == "list" and {} or param.default
  end
  local ctx = { params = given, platform = platform, k8s = {} }
  function ctx.evidence() end
  function ctx.attach() end
  function ctx.coverage(_, of) coverage = of end
  function ctx.fail(_, of) error({ ended = "fail", reason = of.reason, message = of.message }, 0) end
  function ctx.skip(_, of) error({ ended = "skip", reason = of.reason }, 0) end
  function ctx.try(_, f, ...)
    local ok, got = pcall(f, ...)
    if ok or errors.is(got) then
      return ok and got or nil, not ok and got or nil
    end
    error(got, 0)
  end
  function ctx.k8s.list(_, resource)
    return parts.lists[LISTS[resource]].items
  end
  function ctx.k8s.each(_, resource)
    local items, i = parts.lists[LISTS[resource]].items, 0
    return function()
      i = i + 1
      return items[i]
    end
  end
  function ctx.k8s.find(_, resource, name)
    for _, item in ipairs(parts.lists[LISTS[resource]].items) do
      if type(item.metadata) == "table" and item.metadata.name == name then
        return item
      end
    end
  end
  local ok, got = pcall(check.run, ctx)
  if ok then
    return "pass", got, coverage
  elseif type(got) == "table" and got.ended then
    return got.ended, got.reason, coverage
  elseif errors.is(got) then
    return "error", got.reason, coverage
  end
  return "lua", tostring(got), coverage
end

local VALUES <const> = {
  "", "x", "0", "7", "8", "-8", "8.5", "8000m", "99999999999999999999999", "1e400", "\27[31m", ("y"):rep(5000), 5, -1,
  0.5, 1e300, true, false, {}, json.array(), json.array { 1 }, json.array { {} }, { a = 1 }, { name = 5 }, "True",
  "NVIDIA-GB200", "NVIDIA-H100-80GB-HBM3-SHARED", "NoSchedule",
}

-- Tables in a tree, each with the path to it.
local function places(v, path, out)
  for key, member in pairs(v) do
    out[#out + 1] = { of = v, key = key, path = path .. "." .. tostring(key) }
    if type(member) == "table" then
      places(member, path .. "." .. tostring(key), out)
    end
  end
  return out
end

local KEYS <const> = {
  "nodes", "daemonsets.apps", "resourceslices.resource.k8s.io", "deviceclasses.v1.resource.k8s.io",
}

-- Changes one value somewhere in a cluster; what it changed.
local function mutate(parts)
  local key = LISTS[KEYS[math.random(#KEYS)]]
  local items = parts.lists[key].items
  if #items == 0 then
    return "nothing"
  end
  local i = math.random(#items)
  if type(items[i]) ~= "table" or next(items[i]) == nil then
    return "nothing"
  end
  local all = places(items[i], "", {})
  table.sort(all, function(a, b) return a.path < b.path end)
  local place = all[math.random(#all)]
  local n = math.random(0, #VALUES)
  if n == 0 and math.type(place.key) == "integer" then
    table.remove(place.of, place.key)
  else
    place.of[place.key] = value.copy(VALUES[n])
  end
  return ("%s %d%s = %s"):format(key, i, place.path, n == 0 and "nil" or json.encode(VALUES[n]):sub(1, 60))
end

local function devices_of(parts, driver, name)
  local n = 0
  for _, slice in ipairs(parts.lists[fleet.SLICES].items) do
    if slice.spec.driver == driver and slice.spec.nodeName == name then
      n = n + #slice.spec.devices
    end
  end
  return n
end

-- What a healthy node must have, read by other means than the checks.
local function lacks(parts, cluster, name)
  local node = fleet.find(parts, fleet.NODES, name)
  local has = node.status.allocatable
  if cluster.gpus > 0 and tonumber(has[GPU]) ~= cluster.gpus then
    return GPU
  end
  for resource, count in pairs(cluster.resources or {}) do
    if (tonumber(has[resource]) or 0) < tonumber(count) then
      return resource
    end
  end
  for driver, count in pairs(cluster.devices or {}) do
    if devices_of(parts, driver, name) < count then
      return driver
    end
  end
  return node.spec.unschedulable == true and "cordoned" or nil
end

-- A cluster with the pods of a device plug-in.
local function cluster_of(opts)
  local parts, pods = fleet.cluster(value.copy(opts)), {}
  for i = 1, 3 do
    pods[i] = fleet.pod("n" .. i, "gpu-operator", "nvidia-device-plugin-daemonset", true)
  end
  parts.lists[fleet.PODS] = { items = pods }
  return parts
end

describe("a check of a platform's nodes", function()
  local checks = {}
  for i, name in ipairs(CHECKS) do
    checks[i] = dofile(("checks/deployment/%s.lua"):format(name))
  end

  for _, cluster in ipairs(CLUSTERS) do
    it(("passes or skips on healthy %s %s"):format(cluster.platform, cluster.arch), function()
      for _, check in ipairs(checks) do
        local ended, words = run(check, cluster_of(cluster), cluster.platform)
        assert.truthy(ended == "pass" or ended == "skip", ("%s: %s %s"):format(check.name, ended, words))
      end
    end)

    it(("ends with a verdict or an error of its own on %s %s"):format(cluster.platform, cluster.arch), function()
      math.randomseed(20261130)
      local seen = { pass = 0, fail = 0, skip = 0, error = 0 }
      for _ = 1, tonumber(os.getenv "AICR_ROUNDS" or 150) do
        local parts = cluster_of(cluster)
        local what = { mutate(parts) }
        for i = 2, math.random(2) do
          what[i] = mutate(parts)
        end
        for _, check in ipairs(checks) do
          local ended, words = run(check, parts, math.random(2) == 1 and cluster.platform or nil)
          assert.truthy(seen[ended], ("%s: %s: %s"):format(check.name, table.concat(what, "; "), words))
          seen[ended] = seen[ended] + 1
        end
      end
      assert.is_true(seen.pass > 0 and seen.fail > 0 and seen.error > 0, json.encode(seen))
    end)

    it(("leaves no node out in silence on %s %s"):format(cluster.platform, cluster.arch), function()
      math.randomseed(7)
      local sound = 0
      for _ = 1, tonumber(os.getenv "AICR_ROUNDS" or 150) do
        local parts = fleet.cluster(value.copy(cluster))
        local what, all_whole = mutate(parts), true
        for _, check in ipairs(checks) do
          local ended, _, coverage = run(check, parts, cluster.platform)
          all_whole = all_whole and (ended == "skip" or ended == "pass" and coverage.verified == 3
            and coverage.total == 3)
        end
        if all_whole then
          sound = sound + 1
          for i = 1, 3 do
            local ok, lacking = pcall(lacks, parts, cluster, "n" .. i)
            assert.truthy(ok and not lacking, ("all pass, and n%d lacks %s: %s"):format(i, tostring(lacking), what))
          end
        end
      end
      assert.is_true(sound > 0)
    end)
  end
end)
