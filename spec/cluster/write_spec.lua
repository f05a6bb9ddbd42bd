-- SPDX-License-Identifier: Apache-2.0
-- What a check may change, what becomes of what it made, and what it may ask of its user's rights.
require "aicr_native"
local cluster = require "spec.support.cluster"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"

local function check(needs, body, how)
  local result
  objects.in_namespace(function(namespace)
    how = how or {}
    how.namespace = namespace
    if how.before_run then
      how.before_run(namespace)
    end
    result = runs.run(runs.check(needs, "30s", body), how, 60)
    result.left = objects.send("GET", ("/api/v1/namespaces/%s/configmaps/%s"):format(namespace, how.name or "made"))
  end)
  result.said = result.stdout:match "probe +[%d.]+s +(%S+)\n"
  return result
end

local MAKE <const> = [[
    ctx.k8s:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made" } }
]]

after_each(runs.end_all)

describe("a need of create", function()
  it("lets a check delete what it made", function()
    local got = check([["create configmaps"]], MAKE .. [[
      ctx.k8s:delete("cm", "made", ctx.namespace)
      return "fine"]])
    assert.equal("pass", got.check.outcome, got.stdout)
    assert.equal(404, got.left.http)
  end)

  it("lets a check delete nothing that it did not make", function()
    local got = check([["create configmaps"]], MAKE .. [[
      ctx.k8s:delete("configmaps", "other", ctx.namespace)
      return "fine"]], { name = "other", before_run = function(namespace)
        objects.must("POST", ("/api/v1/namespaces/%s/configmaps"):format(namespace),
          objects.config_map(namespace, "other"))
      end })
    assert.equal("undeclared-permission", got.check.reason, got.stdout)
    assert.equal(200, got.left.http)
  end)

  it("does not reach what took the name of what the check made", function()
    local got = check([["create configmaps", "create secrets", "delete configmaps"]], MAKE .. [[
      ctx.k8s:create { apiVersion = "v1", kind = "Secret", metadata = { name = "made" } }
      ctx.k8s:delete("configmaps", "made", ctx.namespace)
      ctx.k8s:delete("secrets", "made", ctx.namespace)
      local _, err = ctx:try(ctx.k8s.delete, ctx.k8s, "configmaps", "made", ctx.namespace)
      return err.reason]])
    assert.equal("not-found", got.said, got.stdout)
  end)
end)

describe("apply", function()
  it("is refused before anything is sent where it is not declared", function()
    local got = check("", [[
      ctx.k8s:apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made" } }
      return "fine"]], { kubeconfig = cluster.STATE .. "/kubeconfig-nobody" })
    assert.equal("undeclared-permission", got.check.reason, got.stdout)
    assert.truthy(got.check.message:find("apply configmaps", 1, true), got.check.message)
  end)

  it("removes what it made and leaves what was there", function()
    local APPLY <const> = [[
      local made = ctx.k8s:apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made" },
        data = { ours = "b" } }
      return made.data.ours]]
    local got = check([["apply configmaps"]], APPLY)
    assert.equal("pass", got.check.outcome, got.stdout)
    assert.equal(404, got.left.http)
    got = check([["apply configmaps"]], APPLY, { before_run = function(namespace)
      objects.must("POST", ("/api/v1/namespaces/%s/configmaps"):format(namespace),
        objects.config_map(namespace, "made"))
    end })
    assert.equal("pass", got.check.outcome, got.stdout)
    assert.equal(200, got.left.http)
  end)
end)

-- What the managed fields of a real server tell of an apply whose answer was lost.
describe("an apply", function()
  local NATIVES <const> = { "aicr.ctx.k8s.clean", "aicr.native.k8s", "aicr.native.task" }
  local kept, clean = {}, nil

  setup(function()
    for _, name in ipairs(NATIVES) do
      kept[name], package.loaded[name] = package.loaded[name], name ~= NATIVES[1] and {} or nil
    end
    clean = require "aicr.ctx.k8s.clean"
  end)

  teardown(function()
    for _, name in ipairs(NATIVES) do
      package.loaded[name] = kept[name]
    end
  end)

  local function made(before, after)
    local answer
    objects.in_namespace(function(namespace)
      local path = ("/api/v1/namespaces/%s/configmaps"):format(namespace)
      if before then
        objects.must("POST", path, objects.config_map(namespace, "made"))
        os.execute("sleep " .. before)
      end
      objects.must("PATCH", path .. "/made?fieldManager=aicr-run", { apiVersion = "v1", kind = "ConfigMap",
        metadata = { name = "made" }, data = { ours = "x" } }, "application/apply-patch+yaml")
      if after then
        objects.must("PATCH", path .. "/made", { data = { theirs = "y" } }, "application/merge-patch+json")
      end
      answer = clean.is_made_by_apply(objects.must("GET", path .. "/made").metadata)
    end)
    return answer
  end

  it("that made the object is told", function()
    assert.is_true(made())
  end)

  it("that changed another one's object is told, or it is said that it cannot be", function()
    assert.is_false(made(1.1))
    assert.is_not_true(made(0))
  end)

  it("that made an object which another one changed at once is not taken for that one's", function()
    assert.is_not_false(made(nil, true))
  end)
end)

describe("create", function()
  it("with generateName leaves nothing", function()
    local got = check([["create configmaps", "list configmaps"]], [[
      ctx.k8s:create { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "made-" } }
      return tostring(#ctx.k8s:list("configmaps", { namespace = ctx.namespace, label = "aicr-run/run=" .. ctx.run_id }))
    ]])
    assert.equal("1", got.said, got.stdout)
    assert.equal("pass", got.check.outcome)
  end)

  it("in a namespace that does not exist is an error, and says how to make it", function()
    local got = check([["create configmaps in aicr-spec-nowhere"]], [[
      ctx.k8s:create({ apiVersion = "v1", kind = "ConfigMap", metadata = { name = "made" } },
        { namespace = "aicr-spec-nowhere" })]])
    assert.equal("error", got.check.outcome, got.stdout)
    assert.equal("namespace-not-found", got.check.reason)
    assert.truthy(got.check.fix:find("kubectl.* create namespace aicr%-spec%-nowhere"), got.check.fix)
  end)

  it("of a name that another object has leaves that", function()
    local got = check([["create configmaps"]], MAKE, { before_run = function(namespace)
      objects.must("POST", ("/api/v1/namespaces/%s/configmaps"):format(namespace),
        objects.config_map(namespace, "made"))
    end })
    assert.equal("already-exists", got.check.reason, got.stdout)
    assert.equal(200, got.left.http)
  end)
end)

describe("can", function()
  local function asked(resource)
    return check("", ([[return tostring((ctx.k8s:can("create", %q)))]]):format(resource), {
      kubeconfig = cluster.STATE .. "/kubeconfig-nobody",
    })
  end

  it("finds the group of a resource that is named without one", function()
    assert.equal("true", asked("selfsubjectaccessreviews").said)
    assert.equal("true", asked("selfsubjectaccessreviews.v1.authorization.k8s.io").said)
    assert.equal("false", asked("deploy").said)
  end)

  it("asks for a resource of a group that is not served, not for a name that nobody knows", function()
    assert.equal("false", asked("gizmos.example.org").said)
    assert.equal("api-not-served", asked("gizmos").check.reason)
  end)
end)
