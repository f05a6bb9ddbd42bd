-- SPDX-License-Identifier: Apache-2.0
-- What a run asks of a recording that was written by a run (design.md 9): its answers in their order.
require "aicr_native"
local binary = require "spec.support.binary"
local json = require "aicr.json"
local site = require "spec.support.site"

local OBJECTS <const> = "objects/core/v1/nodes/"

-- A recording in which the node's condition Ready was read with those states, one after another; by the check of that
-- name, of which there are those further lines.
local function recording(contents, states, check, events)
  local lines = {}
  for i, state in ipairs(states) do
    local file = ("%sn1+%d.json"):format(OBJECTS, i)
    contents["rec/" .. file] = json.encode {
      apiVersion = "v1", kind = "Node", metadata = { name = "n1", resourceVersion = tostring(i) },
      status = { conditions = json.array { { type = "Ready", status = state } } },
    }
    lines[i] = json.encode {
      group = "", version = "v1", resource = "nodes", verb = "get", name = "n1", http = 200,
      contentType = "application/json", file = file, check = check,
    }
  end
  for _, event in ipairs(events or {}) do
    event.check = check
    lines[#lines + 1] = json.encode(event)
  end
  contents["rec/index.jsonl"] = table.concat(lines, "\n") .. "\n"
  contents["rec/aicr-recording.json"] = json.encode { schema = 1, indexed = true }
end

local function replay(states, body, more, events)
  local contents = { ["asks.lua"] = site.check("asks", body,
    'needs = { "get nodes", "watch nodes", "list nodes", "patch nodes anywhere" },') }
  recording(contents, states, events and "asks", events)
  for name, text in pairs(more or {}) do
    contents[name] = text
  end
  return site.with(contents, function(folder)
    return binary.check(binary.report { "--recording", folder .. "/rec", folder .. "/asks.lua" }, "asks")
  end)
end

local POLL <const> = [[
    local asked = 0
    local node = ctx.k8s:wait("nodes", "n1", nil, function(object)
      asked = asked + 1
      return object.status.conditions[1].status == "True", object.status.conditions[1].status
    end, { timeout = "%s" })
    return asked .. " reads, version " .. node.metadata.resourceVersion]]

describe("a wait on a recording", function()
  it("with a function reads on until it is true", function()
    local got = replay({ "False", "False", "False", "True", "False" }, POLL:format "1m")
    assert.same({ "pass", "4 reads, version 4" }, { got.outcome, got.result })
  end)

  it("with a function reads no more often than the time allows", function()
    local got = replay({ "False", "False", "False", "False", "False", "True" }, POLL:format "2s")
    assert.same({ "error", "never-true" }, { got.outcome, got.reason })
    assert.matches("not so in the recording; waited for .*; last seen: False", got.message)
  end)

  local CONDITION <const> = [[
    local node = ctx.k8s:wait("nodes", "n1", nil, "condition=Ready", { timeout = "1m" })
    return "version " .. node.metadata.resourceVersion]]

  it("for a condition reads once where it is so", function()
    assert.equal("version 1", replay({ "True", "False" }, CONDITION).result)
  end)

  it("for a condition reads on until it is so", function()
    assert.equal("version 3", replay({ "False", "Unknown", "True", "False" }, CONDITION).result)
    local got = replay({ "False", "Unknown" }, CONDITION)
    assert.same({ "error", "never-true" }, { got.outcome, got.reason })
    assert.matches("last seen: Ready=Unknown", got.message)
  end)
end)

describe("a check that was in the run of the recording", function()
  local ENDED <const> = { verb = "run" }
  local WAITS <const> = {
    ["ctx.k8s:wait"] = { what = "wait: nodes n1  ", body = POLL:format "1m", outcome = "error",
      told = "ctx%.k8s:wait nodes n1, last seen: False" },
    ["ctx.k8s:wait for a condition"] = {
      what = "wait: nodes n1  condition=Ready", outcome = "error",
      told = "ctx%.k8s:wait nodes n1 for condition=Ready, last seen: Ready=False",
      body = [[ctx.k8s:wait("nodes", "n1", nil, "condition=Ready", { timeout = "1m" })
    return "ready"]],
    },
    ["ctx:eventually"] = {
      what = "eventually: it is ready", outcome = "fail", told = 'ctx:eventually "it is ready"',
      body = [[ctx:eventually("it is ready", { timeout = "1m", every = "1s" }, function()
      return ctx.k8s:get("nodes", "n1").status.conditions[1].status == "True"
    end)
    return "ready"]],
    },
  }

  for name, wait in pairs(WAITS) do
    local function ending(states, ...)
      local got = replay(states, wait.body, nil, { ... })
      return { got.outcome, got.reason, got.message }
    end

    local function over(looks, transport, what)
      return { verb = "wait", what = what or wait.what, looks = looks, transport = transport }
    end

    it("looks no more often than it did, where its time was over: " .. name, function()
      local got = ending({ "False", "False", "True" }, over(2, "deadline"), ENDED)
      assert.same({ wait.outcome, "never-true" }, { got[1], got[2] }, got[3])
      assert.equal("pass", ending({ "False", "False", "True" }, over(3), ENDED)[1])
      assert.equal("pass", ending({ "False", "False", "True" }, over(3, "deadline"), ENDED)[1])
    end)

    it("does not look on where it stopped looking: " .. name, function()
      local got = ending({ "False", "False", "True" }, over(2), ENDED)
      assert.same({ "error", "not-recorded" }, { got[1], got[2] })
      assert.matches("looked 2 times at .*record this check again: %-%-record", got[3])
    end)

    it("looks once at what it did not wait for: " .. name, function()
      assert.equal("pass", ending({ "True" }, ENDED)[1])
      assert.same({ "error", "not-recorded" }, { table.unpack(ending({ "False", "True" }, ENDED), 1, 2) })
      assert.same({ "error", "not-recorded" },
        { table.unpack(ending({ "False", "True" }, over(2, nil, "something else"), ENDED), 1, 2) })
    end)

    it("ends in a wait where it ended in it: " .. name, function()
      for transport, wanted in pairs { deadline = "timeout", canceled = "interrupted" } do
        local got = ending({ "False", "False" }, { verb = "run", transport = transport })
        assert.same({ "error", wanted }, { got[1], got[2] })
        assert.matches("run of it that was recorded", got[3])
        if transport == "deadline" then
          assert.matches("; it was at " .. wait.told .. "$", got[3])
        end
      end
    end)
  end

  local READ <const> = 'return ctx.k8s:get("nodes", "n1").status.conditions[1].status'

  it("has no verdict where the run had none", function()
    for transport, wanted in pairs { deadline = "timeout", canceled = "interrupted" } do
      local got = replay({ "True" }, READ, nil, { { verb = "run", transport = transport } })
      assert.same({ "error", wanted }, { got.outcome, got.reason })
      got = replay({ "True" }, "ctx:try(ctx.k8s.list, ctx.k8s, 'nodes') " .. READ, nil,
        { { verb = "run", transport = transport } })
      assert.same({ "error", wanted }, { got.outcome, got.reason })
    end
    assert.equal("True", replay({ "True" }, READ, nil, { ENDED }).result)
  end)

  it("has none where the run broke off", function()
    local got = replay({ "True" }, READ, nil, {})
    assert.same({ "error", "CANCELED", "interrupted" }, { got.outcome, got.code, got.reason })
  end)

  it("has none of a check that a run that broke off may not have come to", function()
    local function replay_other(open)
      local contents = { ["asks.lua"] = site.check("asks", READ, 'needs = { "get nodes" },') }
      recording(contents, { "True" }, "other", { { verb = "run" } })
      contents["rec/aicr-recording.json"] = json.encode { schema = 1, indexed = true, open = open }
      return site.with(contents, function(folder)
        return binary.check(binary.report { "--recording", folder .. "/rec", folder .. "/asks.lua" }, "asks")
      end)
    end
    assert.equal("pass", replay_other(nil).outcome)
    local got = replay_other(true)
    assert.same({ "error", "CANCELED", "interrupted" }, { got.outcome, got.code, got.reason })
  end)

  it("fails as the run had failed before it was ended", function()
    local got = replay({ "True" }, [[local node = ctx.k8s:get("nodes", "n1")
    ctx:expect("name", node.metadata.name, "==", "n2")
    ctx.k8s:get("nodes", "n1")
    return "read"]], nil, { { verb = "run", transport = "deadline" } })
    assert.same({ "fail", "expectation" }, { got.outcome, got.reason })
    assert.matches("afterwards: the run of it that was recorded", table.concat(got.notes, "\n"))
  end)

  it("has no verdict on what it would have changed", function()
    local got = replay({ "True" }, [[local _, err = ctx:try(ctx.k8s.patch, ctx.k8s, "nodes", "n1", nil, { spec = {} })
    return err and "it is refused, as it should be"]], nil, { ENDED })
    assert.same({ "error", "METHOD_NOT_ALLOWED", "read-only" }, { got.outcome, got.code, got.reason })
  end)

  it("cleans up with its own answers", function()
    local got = replay({ "True" }, [[ctx:defer(function() ctx.k8s:get("nodes", "n1") end)
    ]] .. READ, nil, { ENDED })
    assert.same({ "pass", "True" }, { got.outcome, got.result })
  end)
end)

describe("an access review on a recording", function()
  local function access(spec, allowed)
    return {
      apiVersion = "authorization.k8s.io/v1", kind = "SelfSubjectAccessReview", spec = spec,
      status = { allowed = allowed, reason = allowed and "yes" or "no" },
    }
  end

  local function reviews(...)
    return { ["rec/access.json"] = json.encode { items = json.array { ... } } }
  end

  local ASK <const> = [[
    local words = {}
    for _, path in ipairs { "/version", "/metrics", "nodes" } do
      words[#words + 1] = path .. " " .. tostring(ctx.k8s:can("get", path))
    end
    return table.concat(words, ", ")]]

  it("is told from one of another path, verb or resource", function()
    local got = replay({ "True" }, ASK, reviews(
      access({ nonResourceAttributes = { path = "/version", verb = "get" } }, true),
      access({ nonResourceAttributes = { path = "/metrics", verb = "post" } }, true),
      access({ nonResourceAttributes = { path = "/metrics", verb = "get" } }, false),
      access({ resourceAttributes = { verb = "get", resource = "nodes" } }, true)))
    assert.equal("/version true, /metrics false, nodes true", got.result)
  end)

  it("is not answered by another's", function()
    local got = replay({ "True" }, ASK, reviews(
      access({ nonResourceAttributes = { path = "/version", verb = "get" } }, true)))
    assert.same({ "error", "not-recorded" }, { got.outcome, got.reason })
  end)

  it("has to ask something", function()
    site.with({ ["asks.lua"] = site.check("asks", ASK) }, function(folder)
      local contents = reviews(access({}, true))
      recording(contents, { "True" })
      site.with(contents, function(inner)
        local result = binary.run { "--recording", inner .. "/rec", folder .. "/asks.lua" }
        assert.not_equal(0, result.code)
        assert.matches("either resourceAttributes or nonResourceAttributes", result.stdout .. result.stderr)
      end)
    end)
  end)
end)
