-- SPDX-License-Identifier: Apache-2.0
-- What a run asks of a recording that was written by a run (design.md 9): its answers in their order.
require "aicr_native"
local binary = require "spec.support.binary"
local json = require "aicr.json"
local site = require "spec.support.site"

local OBJECTS <const> = "objects/core/v1/nodes/"

-- A recording in which the node's condition Ready was read with those states, one after another.
local function recording(contents, states)
  local lines = {}
  for i, state in ipairs(states) do
    local file = ("%sn1+%d.json"):format(OBJECTS, i)
    contents["rec/" .. file] = json.encode {
      apiVersion = "v1", kind = "Node", metadata = { name = "n1", resourceVersion = tostring(i) },
      status = { conditions = json.array { { type = "Ready", status = state } } },
    }
    lines[i] = json.encode {
      group = "", version = "v1", resource = "nodes", verb = "get", name = "n1", http = 200,
      contentType = "application/json", file = file,
    }
  end
  contents["rec/index.jsonl"] = table.concat(lines, "\n") .. "\n"
  contents["rec/aicr-recording.json"] = json.encode { schema = 1, indexed = true }
end

local function replay(states, body, more)
  local contents = { ["asks.lua"] = site.check("asks", body, 'needs = { "get nodes", "watch nodes", "list nodes" },') }
  recording(contents, states)
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
