-- SPDX-License-Identifier: Apache-2.0
-- What a check made is gone however it ended; what cannot be removed is named with the command that does it.
require "aicr_native"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"

local NEEDS <const> = [["create configmaps in run", "get configmaps"]]
local MAKE <const> = [[
    ctx.k8s:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made" } }
    ctx:progress("made it")
]]
local WAIT <const> = MAKE .. [[    ctx:sleep("60s")]]
local MARK <const> = "?labelSelector=app.kubernetes.io/managed-by%3Daicr-run"

local function left(namespace)
  local names = {}
  for _, kind in ipairs { "configmaps", "secrets" } do
    local list = objects.must("GET", ("/api/v1/namespaces/%s/%s%s"):format(namespace, kind, MARK))
    for _, item in ipairs(list.items) do
      names[#names + 1] = item.metadata.name
    end
  end
  return names
end

local function path_of(namespace)
  return ("/api/v1/namespaces/%s/configmaps/made"):format(namespace)
end

-- A removal that cannot succeed is waited for almost a minute: beside the other tests.
local held, held_in

local function start_held()
  held_in = objects.namespace()
  held = runs.start(runs.check(NEEDS, "60s", [[
    ctx.k8s:create { apiVersion = "v1", kind = "ConfigMap",
      metadata = { name = "made", finalizers = { "example.com/held" } } }
    return "fine"]]), { namespace = held_in, keep = true })
end

after_each(runs.end_all)

describe("what a check made is gone after", function()
  lazy_setup(start_held)

  local rows = {
    { "SIGINT", WAIT, signal = "INT", code = 130, outcome = "error", reason = "interrupted" },
    { "SIGHUP", WAIT, signal = "HUP", code = 129, outcome = "error", reason = "interrupted" },
    { "SIGTERM", WAIT, signal = "TERM", code = 143, outcome = "error", reason = "interrupted" },
    { "its deadline", WAIT, timeout = "10s", code = 3, outcome = "error", reason = "timeout" },
    { "a Lua error", MAKE .. "local nothing = nil; return nothing.x", code = 3, outcome = "error",
      reason = "script" },
    { "a fail", MAKE .. [[ctx:fail { code = "CONFLICT", reason = "spec", message = "on purpose" }]], code = 1,
      outcome = "fail", reason = "spec" },
    { "a pass", MAKE .. [[return "fine"]], code = 0, outcome = "pass" },
    { "an error beside many creates whose answers nobody waits for", [[
        local many = {}
        for i = 1, 40 do
          many[i] = function()
            ctx.k8s:create { apiVersion = "v1", kind = "ConfigMap",
              metadata = i == 1 and { name = "made" } or { generateName = "many-" } }
            if i == 20 then error("in the middle") end
          end
        end
        ctx:all(many)]], code = 3, outcome = "error", reason = "script", timeout = "90s" },
    { "its memory limit", MAKE .. [[return ("x"):rep(1 << 30)]], code = 3,
      outcome = "error", reason = "memory" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      objects.in_namespace(function(namespace)
        local run = runs.start(runs.check(NEEDS, row.timeout or "90s", row[2]), { namespace = namespace })
        if row.signal then
          run:saw "made it"
          assert.equal(200, objects.send("GET", path_of(namespace)).http)
          assert.same({ "made" }, left(namespace))
          run:signal(row.signal)
        end
        local result = run:finish(60)
        assert.equal(row.outcome, result.check.outcome, result.stdout)
        assert.equal(row.reason, result.check.reason, result.stdout)
        assert.equal(row.code, result.code, result.stdout)
        assert.equal("made", result.check.resources[1].name)
        assert.same({}, left(namespace))
        assert.equal(404, objects.send("GET", path_of(namespace)).http)
      end)
    end)
  end
end)

describe("what a check made and cannot be removed", function()
  it("is named, with the command that removes it", function()
    if not held then
      start_held()
    end
    local result = held:finish(120)
    local free = { metadata = { finalizers = json.null } }
    objects.must("PATCH", path_of(held_in), free, "application/merge-patch+json")
    objects.must("DELETE", "/api/v1/namespaces/" .. held_in)
    local check = result.check
    assert.equal("error", check.outcome)
    assert.equal("cleanup", check.reason)
    assert.equal(3, result.code)
    for _, words in ipairs { "configmap/made", held_in, "example.com/held",
      ("kubectl delete -n %s configmap/made"):format(held_in) } do
      assert.truthy(check.message:find(words, 1, true), ("%q not in %s"):format(words, check.message))
    end
    assert.truthy(check.fix:find(("delete -n %s configmap/made"):format(held_in), 1, true), check.fix)
    -- That waits for what holds it: the other command is there, too.
    assert.truthy(check.fix:find(([[patch -n %s configmap/made --type merge -p '{"metadata":{"finalizers":null}}']])
      :format(held_in), 1, true), check.fix)
  end)

  it("stays when it is another object with the same name", function()
    objects.in_namespace(function(namespace)
      local run = runs.start(runs.check(NEEDS, "60s", MAKE .. [[
        ctx:eventually("waits for go", { timeout = "50s", every = "100ms" }, function()
          return ctx.k8s:find("configmaps", "go", ctx.namespace) ~= nil
        end)
        return "fine"]]), { namespace = namespace })
      run:saw "waits for go"
      objects.must("DELETE", path_of(namespace))
      local another = objects.must("POST", ("/api/v1/namespaces/%s/configmaps"):format(namespace),
        objects.config_map(namespace, "made"))
      assert.is_nil(objects.put(objects.config_map(namespace, "go")))
      local result = run:finish(60)
      assert.equal("pass", result.check.outcome, result.stdout)
      assert.equal(another.metadata.uid, objects.must("GET", path_of(namespace)).metadata.uid)
    end)
  end)
end)
