-- SPDX-License-Identifier: Apache-2.0
-- What a replay may not be given of a run that was recorded (design.md 9): another check's answers, another attempt's,
-- those of a later wait. In each of these a pod runs some 4 s after it was made, which is too late for one that waits.
require "aicr_native"
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local site = require "spec.support.site"

local FIELDS <const> = [[timeout = "2m", exclusive = true, needs = { "get,list,watch pods" },]]

-- Three ways to wait for the pod.
local function condition(timeout)
  return ('ctx.k8s:wait("pods", "slow", ctx.namespace, "condition=Ready", { timeout = "%s" })'):format(timeout)
end

local function wait(timeout, every)
  return ([[ctx.k8s:wait("pods", "slow", ctx.namespace, function(pod)
      return pod.status.phase == "Running", pod.status.phase
    end, { timeout = "%s", every = "%s" })]]):format(timeout, every)
end

local function eventually(timeout, every)
  return ([[ctx:eventually("the pod runs", { timeout = "%s", every = "%s" }, function()
      return ctx.k8s:get("pods", "slow", ctx.namespace).status.phase == "Running"
    end)]]):format(timeout, every)
end

local LATER <const> = { "later", condition "1m" .. ' return "runs"', FIELDS }

local function slow()
  local pod = cluster.pod("slow", "sleep 60")
  local init = cluster.pod("slow", "sleep 4").spec.containers[1]
  init.name = "init"
  pod.spec.initContainers = { init }
  pod.spec.terminationGracePeriodSeconds = 0
  return pod
end

-- Runs checks {name, body, fields}, recorded, and again on the recording with those words; gives both reports.
local function twice(checks, words, replayed)
  local live, replay
  cluster.in_namespace(function(namespace)
    local contents = {}
    for i, check in ipairs(checks) do
      contents[("%d.lua"):format(i)] = site.check(table.unpack(check, 1, 3))
    end
    local applied = cluster.apply({ slow() }, "-n", namespace)
    assert.equal(0, applied.code, applied.stderr)
    site.with(contents, function(folder)
      local function run(first, second, more, names)
        local all = { first, second, "--namespace", namespace }
        table.move(more or {}, 1, #(more or {}), #all + 1, all)
        for _, name in ipairs(names) do
          all[#all + 1] = ("%s/%d.lua"):format(folder, name)
        end
        return binary.report(all)
      end
      local order = {}
      for i = 1, #checks do
        order[i] = i
      end
      local recorded = table.move(words or {}, 1, #(words or {}), 3, { "--record", folder .. "/rec" })
      live = run("--kubeconfig", cluster.STATE .. "/kubeconfig", recorded, order)
      replay = run("--recording", folder .. "/rec", replayed and replayed.words or words,
        replayed and replayed.order or order)
    end)
  end)
  return live, replay
end

local function ending(report, name)
  local got = binary.check(report, name)
  return { got.outcome, got.code, got.reason, got.outcome == "pass" and got.result or nil }
end

-- Each check ends as it did.
local function same(live, replay, ...)
  for _, name in ipairs { ... } do
    assert.same(ending(live, name), ending(replay, name), binary.check(replay, name).message)
    assert.equal(binary.check(live, name).attempts, binary.check(replay, name).attempts)
  end
end

describe("a replay", function()
  for name, early in pairs {
    condition = condition "1s", wait = wait("1s", "10ms"), eventually = eventually("1s", "10ms"),
  } do
    it("gives a wait none of another check's answers: " .. name, function()
      local live, replay = twice { { "early", early .. ' return "ran"', FIELDS }, LATER }
      assert.equal("never-true", binary.check(live, "early").reason)
      same(live, replay, "early", "later")
    end)

    it("gives a wait none of the answers of what was deferred: " .. name, function()
      local live, replay = twice {
        { "defers", ('ctx:defer(function() %s end) %s return "ran"'):format(wait("1m", "2s"), early), FIELDS },
      }
      assert.equal("never-true", binary.check(live, "defers").reason)
      same(live, replay, "defers")
    end)

  end

  it("gives each attempt its own answers", function()
    local live, replay = twice({ { "retried", condition "1s" .. ' return "ran"', FIELDS } }, { "--retry", "9" })
    assert.equal("pass", binary.check(live, "retried").outcome)
    assert.is_true(binary.check(live, "retried").attempts > 1)
    same(live, replay, "retried")
  end)

  it("gives a check its own answers, whatever the order and the company", function()
    local live, replay = twice({
      { "once", [[ctx:expect("phase", ctx.k8s:get("pods", "slow", ctx.namespace).status.phase, "==", "Running")]],
        FIELDS },
      LATER,
      { "after", [[return ctx.k8s:get("pods", "slow", ctx.namespace).status.phase]], FIELDS },
    }, nil, { order = { 3, 2, 1 } })
    assert.equal("fail", binary.check(live, "once").outcome)
    assert.equal("Running", binary.check(live, "after").result)
    same(live, replay, "once", "later", "after")
  end)

  it("gives a wait none of the answers that came after its time", function()
    local body = [[local _, err = ctx:try(function() return %s end)
      if not err then
        return "ran"
      end
      %s
      return err.reason]]
    local live, replay = twice { { "tries", body:format(condition "1s", wait("1m", "2s")), FIELDS } }
    assert.equal("never-true", binary.check(live, "tries").result)
    same(live, replay, "tries")
  end)

  it("gives functions side by side each its own answers", function()
    local live, replay = twice { { "sides", ([[local function try(f)
        local _, err = ctx:try(f)
        return err and err.reason or "ended"
      end
      local got = ctx:all { a = function() return try(function() %s end) end,
        b = function() return try(function() %s end) end }
      return got.a .. " " .. got.b]]):format(condition "1s", wait("1m", "2s")), FIELDS } }
    assert.equal("never-true ended", binary.check(live, "sides").result)
    same(live, replay, "sides")
  end)

  it("polls no more often than the run did", function()
    local body = [[local asked = 0
      ctx:eventually("it was asked five times", { timeout = "2s", every = "10ms" }, function()
        asked = asked + 1
        ctx:sleep "1s"
        return asked == 5, asked
      end)
      return "asked"]]
    local live, replay = twice { { "counts", body, FIELDS } }
    assert.same({ "fail", "TIMEOUT", "never-true" }, ending(live, "counts"))
    same(live, replay, "counts")
  end)

  it("without the attempts that passed does not pass", function()
    local check = { "retried", condition "1s" .. ' return "ran"', FIELDS }
    local live, replay = twice({ check }, { "--retry", "9" }, { words = {} })
    assert.equal("pass", binary.check(live, "retried").outcome)
    assert.same({ "error", "TIMEOUT", "never-true" }, ending(replay, "retried"))
  end)

  it("ends where the check's deadline ended it", function()
    local asks = [[local asked = 0
      ctx.k8s:wait("pods", "slow", ctx.namespace, function()
        asked = asked + 1
        return asked == 9, asked
      end)
      return "asked"]]
    local fields = FIELDS:gsub("2m", "2s")
    local live, replay = twice({ { "asks", asks, fields },
      { "sleeps", 'ctx.k8s:get("pods", "slow", ctx.namespace) ctx:sleep "3s" return "slept"', fields } },
      nil, { words = { "--set", "sleeps.timeout=1m" } })
    assert.same({ "error", "TIMEOUT", "timeout" }, ending(live, "asks"))
    same(live, replay, "asks", "sleeps")
  end)

  it("ends where the run's time limit ended it", function()
    local live, replay = twice({ { "reads", [[local first = ctx.k8s:get("pods", "slow", ctx.namespace).status.phase
      ctx:sleep "3s"
      return first .. ctx.k8s:get("pods", "slow", ctx.namespace).status.phase]], FIELDS } }, { "--timeout", "2s" },
      { words = {} })
    assert.same({ "error", "TIMEOUT", "timeout" }, ending(live, "reads"))
    same(live, replay, "reads")
  end)

  it("gives a check that was not in the run what was always answered, and nothing that changed", function()
    local checks = {
      { "early", 'return ctx.k8s:get("pods", "slow", ctx.namespace).metadata.name', FIELDS },
      LATER,
    }
    cluster.in_namespace(function(namespace)
      local contents = {
        ["new.lua"] = site.check("new", [[ctx.k8s:get("pods", "slow", ctx.namespace) return "read"]], FIELDS),
        ["other.lua"] = site.check("other", 'return #ctx.k8s:list("configmaps", { namespace = ctx.namespace }) .. ""',
          'needs = { "list configmaps" },'),
        ["maps.lua"] = site.check("maps", 'return #ctx.k8s:list("configmaps", { namespace = ctx.namespace }) .. ""',
          'needs = { "list configmaps" },'),
      }
      for i, check in ipairs(checks) do
        contents[i .. ".lua"] = site.check(table.unpack(check))
      end
      assert.equal(0, cluster.apply({ slow() }, "-n", namespace).code)
      site.with(contents, function(folder)
        local live = binary.report { "--kubeconfig", cluster.STATE .. "/kubeconfig", "--record", folder .. "/rec",
          "--namespace", namespace, folder .. "/1.lua", folder .. "/2.lua", folder .. "/maps.lua" }
        assert.equal(0, live.exit)
        local replay = binary.report { "--recording", folder .. "/rec", "--namespace", namespace, folder .. "/new.lua",
          folder .. "/other.lua" }
        assert.same({ "error", "INTERNAL", "not-recorded" }, ending(replay, "new"))
        assert.matches("answers that differ", binary.check(replay, "new").message)
        assert.same({ "pass", nil, nil, "1" }, ending(replay, "other"))
      end)
    end)
  end)
end)
