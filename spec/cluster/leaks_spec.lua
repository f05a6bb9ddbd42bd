-- SPDX-License-Identifier: Apache-2.0
-- File descriptors and memory stay what they are over 10,000 requests, and over 1,000 watches that begin again.
require "aicr_native"
local cluster = require "spec.support.cluster"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"

local REQUESTS <const>, WATCHES <const>, ROUNDS <const> = 10000, 100, 10
-- Of growth that is noise: pages that the allocator keeps.
local NOISE_KIB <const> = 3072

-- A sanitizer keeps freed memory back on purpose: as little of it as can be.
local HOW <const> = { ASAN_OPTIONS = "quarantine_size_mb=1:thread_local_quarantine_size_kb=16:malloc_context_size=1" }

local function lines(command)
  local pipe = assert(io.popen(command))
  local all = {}
  for line in pipe:lines() do
    all[#all + 1] = line
  end
  pipe:close()
  return all
end

local function measured(run)
  local pid = run:pid()
  local status = table.concat(lines(("cat /proc/%d/status"):format(pid)), "\n")
  return {
    kib = assert(math.tointeger(tonumber(status:match "VmRSS:%s*(%d+)"))),
    descriptors = #lines(("ls /proc/%d/fd"):format(pid)),
  }
end

local function assert_flat(early, late)
  local said = ("%d KiB, %d descriptors; then %d KiB, %d descriptors"):format(early.kib, early.descriptors, late.kib,
    late.descriptors)
  assert.truthy(late.kib - early.kib <= NOISE_KIB, said)
  -- One connection may be closing while another is there.
  assert.truthy(late.descriptors <= early.descriptors + 1, said)
end

after_each(runs.end_all)

it("descriptors and memory are flat over 10,000 requests", function()
  objects.in_namespace(function(namespace)
    assert.is_nil(objects.put(objects.config_map(namespace, "there")))
    local run = runs.start(runs.check([["get,list configmaps"]], "10m", ([[
      for n = 1, %d do
        local kind = n %% 4
        if kind == 0 then
          ctx.k8s:list("configmaps", { namespace = ctx.namespace })
        elseif kind == 1 then
          ctx.k8s:find("configmaps", "absent", ctx.namespace)
        else
          ctx.k8s:get("configmaps", "there", ctx.namespace)
        end
        if n %% 2000 == 0 then ctx:progress("asked " .. n) end
      end
      ctx:eventually("waits for go", { timeout = "60s", every = "100ms" }, function()
        return ctx.k8s:find("configmaps", "go", ctx.namespace) ~= nil
      end)
      return "asked"]]):format(REQUESTS)), { namespace = namespace, env = HOW })
    run:saw("asked 2000", 240)
    local early = measured(run)
    run:saw("waits for go", 600)
    local late = measured(run)
    assert.is_nil(objects.put(objects.config_map(namespace, "go")))
    local result = run:finish(60)
    assert.equal("pass", result.check.outcome, result.stdout)
    assert_flat(early, late)
  end)
end)

-- Resets the connections of that process with the API server.
local function cut(pid)
  local address, port = cluster.SERVER:match "//(.*):(%d+)$"
  local there = ("%s:%s"):format(address, port)
  local count = 0
  for line in cluster.command({ "ss", "-tnpH", "dst", there }).stdout:gmatch "[^\n]+" do
    if line:find("pid=" .. pid .. ",", 1, true) then
      local own = line:match "%s%S+:(%d+)%s+%S+:%d+"
      local cutting = cluster.command { "ss", "-K", "dst", there, "sport", "=", ":" .. own }
      assert(cutting.code == 0, cutting.stderr)
      count = count + 1
    end
  end
  return count
end

it("descriptors and memory are flat over 1,000 watches that begin again, and no event is lost", function()
  objects.in_namespace(function(namespace)
    local run = runs.start(runs.check([["list,watch configmaps"]], "10m", ([[
      local seen, watches = {}, {}
      local function follow()
        local mine = {}
        for _, object in ctx.k8s:watch("configmaps", { namespace = ctx.namespace, label = "spec=tick" }) do
          local n = math.tointeger(object.data.n)
          ctx:must("seen only once", mine[n], "==", nil)
          mine[n] = true
          seen[n] = (seen[n] or 0) + 1
          if seen[n] == %d then ctx:progress("all saw tick " .. n .. ".") end
          if n == %d then break end
        end
      end
      for n = 1, %d do watches[n] = follow end
      ctx:progress("watching")
      ctx:all(watches)
      return "all saw all"]]):format(WATCHES, ROUNDS, WATCHES)), { namespace = namespace, env = HOW })
    run:saw "watching"
    local early
    for n = 0, ROUNDS do
      local tick = objects.config_map(namespace, "tick", { labels = { spec = "tick" } })
      tick.data = { n = tostring(n) }
      if n == ROUNDS then
        local late = measured(run)
        assert.is_nil(objects.put(tick))
        local result = run:finish(120)
        assert.equal("pass", result.check.outcome, result.stdout)
        assert_flat(early, late)
        return
      end
      assert.is_nil(objects.put(tick))
      run:saw(("all saw tick %d."):format(n), 60)
      early = n == 2 and measured(run) or early
      assert.truthy(cut(run:pid()) > 0)
    end
  end)
end)
