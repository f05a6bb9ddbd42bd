-- SPDX-License-Identifier: Apache-2.0
-- A run on the test cluster that is recorded, and its replay (design.md 9): the same outcomes, and nothing of secrets.
require "aicr_native"
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local json = require "aicr.json"
local site = require "spec.support.site"

local SECRET <const> = "hunter2-of-a-parameter"

-- Bodies of checks. Each changes nothing, so that the replay can run it, but `writes`.
local BODIES <const> = {
  condition = [[ctx.k8s:wait("pods", "slow", ctx.namespace, "condition=Ready", { timeout = "1m" })
    return "ready"]],
  polled = [[local pod = ctx.k8s:wait("pods", "slow", ctx.namespace, function(pod)
      return pod and pod.status.phase == "Succeeded", pod and pod.status.phase
    end, { timeout = "1m" })
    return pod.status.phase]],
  never = [[ctx.k8s:wait("pods", "slow", ctx.namespace, "condition=Nosuch", { timeout = "2s" })
    return "never"]],
  watched = [[for kind, pod in ctx.k8s:watch("pods", { namespace = ctx.namespace, timeout = "1s" }) do
      if pod.metadata.name == "slow" then
        return kind
      end
    end]],
  allowed = [[return tostring(ctx.k8s:can("get", "/version")) .. tostring(ctx.k8s:can("get", "/metrics"))]],
  writes = [[ctx.k8s:apply {
      apiVersion = "v1", kind = "ConfigMap", metadata = { name = "written", namespace = ctx.namespace },
      data = { text = "in the clear: " .. ctx.params.key },
    }
    ctx.k8s:get("configmaps", "written", ctx.namespace)
    ctx.k8s:list("configmaps", { namespace = ctx.namespace })
    ctx.k8s:list("configmaps", { namespace = ctx.namespace, field = "metadata.name=" .. ctx.params.key })
    ctx:try(ctx.k8s.get, ctx.k8s, "configmaps", ctx.params.key, ctx.namespace)
    return "written"]],
}

-- Verbs of an index: reads, and how waits and checks ended. Of what is created only access reviews are kept.
local KEPT <const> = { get = true, list = true, watch = true, get_raw = true, wait = true, run = true }

local FIELDS <const> = [[timeout = "2m", needs = { "get,list,watch pods", "get,list,create,patch configmaps" },
  params = { key = { type = "string", secret = true, default = "" } },]]

describe("a run that is recorded", function()
  local live, replay, found, index = {}, {}, nil, nil

  setup(function()
    cluster.in_namespace(function(namespace)
      local contents = {}
      for name, body in pairs(BODIES) do
        contents[name .. ".lua"] = site.check(name, body, FIELDS)
      end
      contents.key = SECRET
      local applied = cluster.apply({ cluster.pod("slow", "sleep 4") }, "-n", namespace)
      assert.equal(0, applied.code, applied.stderr)
      site.with(contents, function(folder)
        local rec = folder .. "/rec"
        local words = { "--namespace", namespace, "--set-file", "writes.key=" .. folder .. "/key" }
        for name in pairs(BODIES) do
          words[#words + 1] = ("%s/%s.lua"):format(folder, name)
        end
        live = binary.report { "--kubeconfig", cluster.STATE .. "/kubeconfig", "--record", rec, table.unpack(words) }
        replay = binary.report { "--recording", rec, table.unpack(words) }
        found = cluster.command { "grep", "-rlF", SECRET, rec }
        index = files.read(rec .. "/index.jsonl")
      end)
    end)
  end)

  for _, row in ipairs {
    { "condition", "pass", "ready" }, { "polled", "pass", "Succeeded" }, { "never", "error" },
    { "watched", "pass", "ADDED" }, { "allowed", "pass", "truetrue" },
  } do
    local name, outcome, result = table.unpack(row)
    it("replays as it was: " .. name, function()
      for _, report in ipairs { live, replay } do
        local got = binary.check(report, name)
        assert.same({ outcome, result }, { got.outcome, outcome == "pass" and got.result or nil }, got.message)
      end
      assert.equal(binary.check(live, name).reason, binary.check(replay, name).reason)
    end)
  end

  it("is whole", function()
    assert.equal("pass", binary.check(live, "writes").outcome, binary.check(live, "writes").message)
    for line in index:gmatch "[^\n]+" do
      local entry = json.decode(line)
      assert.is_true(KEPT[entry.verb] or entry.resource == "selfsubjectaccessreviews" and entry.verb == "create", line)
    end
  end)

  it("has no value of a parameter that is a secret", function()
    assert.same({ code = 1, stdout = "", stderr = "" }, found)
  end)
end)
