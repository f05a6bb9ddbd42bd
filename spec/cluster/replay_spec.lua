-- SPDX-License-Identifier: Apache-2.0
-- What a replay may not be given of a run that was recorded (design.md 9): another check's answers, another attempt's,
-- those that came after a wait. A pod that runs only some seconds after it was made is too late for who waits 1 s.
require "aicr_native"
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local site = require "spec.support.site"

local NEEDS <const> = 'needs = { "get,list,watch,logs pods", "list configmaps" },'
local FIELDS <const> = 'timeout = "3m", ' .. NEEDS
local SHORT <const> = 'timeout = "5s", ' .. NEEDS

-- Three ways to wait for the pod.
local function condition(timeout)
  return ('ctx.k8s:wait("pods", ctx.params.pod, ctx.namespace, "condition=Ready", { timeout = "%s" })'):format(timeout)
end

local function wait(timeout, every)
  return ([[ctx.k8s:wait("pods", ctx.params.pod, ctx.namespace, function(pod)
      return pod.status.phase == "Running", pod.status.phase
    end, { timeout = "%s", every = "%s" })]]):format(timeout, every)
end

local PHASE <const> = 'ctx.k8s:get("pods", ctx.params.pod, ctx.namespace).status.phase'

local EARLY <const> = {
  condition = condition "1s", wait = wait("1s", "100ms"),
  eventually = ([[ctx:eventually("the pod runs", { timeout = "1s", every = "100ms" }, function()
      return %s == "Running"
    end)]]):format(PHASE),
}

-- name = {body, fields, outcome, reason}
local CHECKS <const> = {
  later = { condition "2m" .. ' return "runs"', FIELDS, "pass" },
  once = { 'ctx:expect("phase", ' .. PHASE .. ', "==", "Running")', FIELDS, "fail", "expectation" },
  after = { "return " .. PHASE, 'requires = { "later" }, ' .. FIELDS, "pass" },
  maps = { 'return #ctx.k8s:list("configmaps", { namespace = ctx.namespace }) .. " maps"', FIELDS, "pass" },
  -- Only a recording that knows when the first wait was over can tell.
  tries = { ([[local _, err = ctx:try(function() return %s end)
      if not err then
        return "ran"
      end
      %s
      return err.reason]]):format(condition "1s", wait("2m", "2s")), FIELDS, "pass" },
  sides = { ([[local function try(f)
        local _, err = ctx:try(f)
        return err and err.reason or "ran"
      end
      local got = ctx:all { a = function() return try(function() return %s end) end,
        b = function() return try(function() return %s end) end }
      return got.a .. " " .. got.b]]):format(condition "1s", wait("2m", "2s")), FIELDS, "pass" },
  watches = { [[local function watch(timeout)
        local only = { namespace = ctx.namespace, field = "metadata.name=" .. ctx.params.pod, timeout = timeout }
        for _, pod in ctx.k8s:watch("pods", only) do
          if pod.status.phase == "Running" then
            return "ran"
          end
        end
        return "over"
      end
      local first = watch "1s"
      return first .. " " .. watch "2m"]], FIELDS, "pass" },
  follows = { ([[local what = { container = "init", follow = true, timeout = "1s" }
      ctx:eventually("its log begins", { timeout = "1m", every = "200ms" }, function()
        local pod = ctx.k8s:get("pods", ctx.params.pod, ctx.namespace)
        local status = (pod.status.initContainerStatuses or {})[1]
        return status ~= nil and status.state.waiting == nil
      end)
      local _, err = ctx:try(function()
        for _ in ctx.k8s:logs(ctx.params.pod, ctx.namespace, what) do
          ctx:progress "a line"
        end
      end)
      %s
      local all = ctx.k8s:logs(ctx.params.pod, ctx.namespace, { container = "init" })
      return (err and err.reason or "all of it") .. ", then " .. all:gsub("\n", " ")]]):format(condition "2m"), FIELDS,
    "pass" },
  counts = { [[local asked = 0
      ctx:eventually("it was asked five times", { timeout = "2s", every = "10ms" }, function()
        asked = asked + 1
        ctx:sleep "1s"
        return asked == 5, asked
      end)
      return "asked"]], FIELDS, "fail", "never-true" },
  asks = { [[local asked = 0
      ctx.k8s:wait("pods", ctx.params.pod, ctx.namespace, function()
        asked = asked + 1
        return asked == 9, asked
      end)
      return "asked"]], SHORT, "error", "timeout" },
  sleeps = { PHASE:gsub("%.status.*", "") .. ' ctx:sleep "9s" return "slept"', SHORT, "error", "timeout" },
}
for name, text in pairs(EARLY) do
  local outcome = name == "eventually" and "fail" or "error"
  CHECKS["early-" .. name] = { text .. ' return "ran"', FIELDS, outcome, "never-true" }
  CHECKS["defers-" .. name] = { ('ctx:defer(function() %s end) %s return "ran"'):format(wait("50s", "2s"), text),
    FIELDS, outcome, "never-true" }
end

local RETRIED <const> = condition "1s" .. ' return "ran"'
local READS <const> = ([[local first = %s
  ctx:sleep "3s"
  return first .. %s]]):format(PHASE, PHASE)

local function make_pod(namespace, name)
  local pod = cluster.pod(name, "sleep 60")
  local init = cluster.pod(name, "echo one; sleep 5; echo two").spec.containers[1]
  init.name = "init"
  pod.spec.initContainers = { init }
  pod.spec.terminationGracePeriodSeconds = 0
  local applied = cluster.apply({ pod }, "-n", namespace)
  assert.equal(0, applied.code, applied.stderr)
end

local function ending(report, name)
  local got = binary.check(report, name)
  return { got.outcome, got.code, got.reason, got.attempts, got.outcome == "pass" and got.result or nil }
end

-- The check ends as it did.
local function same(live, replay, name)
  assert.same(ending(live, name), ending(replay, name), binary.check(replay, name).message)
end

describe("a replay", function()
  local live, replay, foreign, retried, once, limited, sorted = {}, {}, nil, {}, nil, {}, {}

  setup(function()
    local contents = {}
    local function add(name, body, fields, pod)
      contents[name .. ".lua"] = site.check(name, body,
        fields .. (' params = { pod = { type = "string", default = "%s" } },'):format(pod))
    end
    for name, check in pairs(CHECKS) do
      add(name, check[1], check[2], "slow")
      sorted[#sorted + 1] = name
    end
    table.sort(sorted)
    add("retried", RETRIED, FIELDS, "other")
    add("reads", READS, FIELDS, "other")
    add("new", "return " .. PHASE, FIELDS, "slow")
    add("new-maps", CHECKS.maps[1], FIELDS, "slow")
    cluster.in_namespace(function(namespace)
      site.with(contents, function(folder)
        local function run(recording, names, ...)
          local words = { "--namespace", namespace, ... }
          for _, name in ipairs(names) do
            words[#words + 1] = ("%s/%s.lua"):format(folder, name)
          end
          return binary.report { recording, table.unpack(words) }
        end
        local function record(name, names, ...)
          local config = "--kubeconfig=" .. cluster.STATE .. "/kubeconfig"
          return run(config, names, "--record=" .. folder .. "/" .. name, ...)
        end
        local function again(name, names, ...)
          return run("--recording=" .. folder .. "/" .. name, names, ...)
        end
        make_pod(namespace, "slow")
        live = record("all", sorted, "-j", "20")
        local backwards = {}
        for i, name in ipairs(sorted) do
          backwards[#sorted + 1 - i] = name
        end
        replay = again("all", backwards, "-j", "1", "--set", "sleeps.timeout=1m")
        foreign = again("all", { "new", "new-maps" })
        make_pod(namespace, "other")
        retried.live = record("retried", { "retried" }, "--retry", "9")
        retried.replay = again("retried", { "retried" }, "--retry", "9")
        once = again("retried", { "retried" })
        limited.live = record("limited", { "reads" }, "--timeout", "2s")
        limited.replay = again("limited", { "reads" })
      end)
    end)
  end)

  for name, check in pairs(CHECKS) do
    it("ends as the run did, whatever the order and the company: " .. name, function()
      local got = binary.check(live, name)
      assert.same({ check[3], check[4] }, { got.outcome, got.reason }, got.message)
      same(live, replay, name)
    end)
  end

  it("has told each its own", function()
    assert.equal("Running", binary.check(replay, "after").result)
    assert.equal("never-true", binary.check(replay, "tries").result)
    assert.equal("never-true ran", binary.check(replay, "sides").result)
    assert.equal("over ran", binary.check(replay, "watches").result)
    assert.equal("deadline, then one two ", binary.check(replay, "follows").result)
  end)

  it("gives each attempt its own answers", function()
    assert.equal("pass", binary.check(retried.live, "retried").outcome)
    assert.is_true(binary.check(retried.live, "retried").attempts > 1)
    same(retried.live, retried.replay, "retried")
  end)

  it("without the attempt that passed does not pass", function()
    assert.same({ "error", "TIMEOUT", "never-true", 1 }, ending(once, "retried"))
  end)

  it("ends where the run's time limit ended it", function()
    assert.same({ "error", "TIMEOUT", "timeout", 1 }, ending(limited.live, "reads"))
    same(limited.live, limited.replay, "reads")
  end)

  it("gives a check that was not in the run what was always answered, and nothing that changed", function()
    assert.same({ "error", "INTERNAL", "not-recorded", 1 }, ending(foreign, "new"))
    assert.matches("answers that differ.*%-%-record", binary.check(foreign, "new").message)
    assert.same({ "pass", nil, nil, 1, "1 maps" }, ending(foreign, "new-maps"))
  end)
end)
