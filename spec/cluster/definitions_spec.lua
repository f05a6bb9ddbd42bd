-- SPDX-License-Identifier: Apache-2.0
-- A definition that is deleted and made again under a run, as an operator's upgrade does.
require "aicr_native"
local cluster = require "spec.support.cluster"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"

local GROUP <const>, NAME <const> = "spec.aicr.example", "widgets.spec.aicr.example"
local CRDS <const> = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

local function path(version, namespace)
  return ("/apis/%s/%s/%swidgets"):format(GROUP, version, namespace and "namespaces/" .. namespace .. "/" or "")
end

local function served(version)
  local group = objects.send("GET", ("/apis/%s/%s"):format(GROUP, version))
  return group.http == 200 and group.body:find('"widgets"', 1, true) and objects.send("GET", path(version)).http == 200
    and objects.send("GET", "/apis").body:find('"' .. GROUP .. '"', 1, true)
end

local function remove()
  objects.send("DELETE", CRDS .. "/" .. NAME)
  cluster.eventually("it is gone", 60, function()
    return objects.send("GET", CRDS .. "/" .. NAME).http == 404
  end)
end

local function define(scope, version)
  remove()
  objects.must("POST", CRDS, {
    apiVersion = "apiextensions.k8s.io/v1", kind = "CustomResourceDefinition", metadata = { name = NAME },
    spec = {
      group = GROUP, scope = scope,
      names = { kind = "Widget", listKind = "WidgetList", plural = "widgets", singular = "widget" },
      versions = json.array { { name = version, served = true, storage = true, schema = { openAPIV3Schema = {
        type = "object", ["x-kubernetes-preserve-unknown-fields"] = true,
      } } } },
    },
  })
  cluster.eventually(version .. " is served", 30, function()
    return served(version)
  end)
end

local function add(version, namespace, name)
  objects.must("POST", path(version, namespace), {
    apiVersion = GROUP .. "/" .. version, kind = "Widget", metadata = { name = name },
  })
end

-- A check that lists, waits for the spec, and goes on.
local function check(body)
  return runs.check('"list,get widgets.spec.aicr.example", "get configmaps"', "60s", [[
    ctx.k8s:list("widgets.spec.aicr.example")
    ctx:eventually("waits for go", { timeout = "50s", every = "100ms" }, function()
      return ctx.k8s:find("configmaps", "go", ctx.namespace) ~= nil
    end)
]] .. body)
end

-- The result of a check under which `change` is made.
local function under(body, change)
  local result
  objects.in_namespace(function(namespace)
    local run = runs.start(check(body), { namespace = namespace })
    run:saw "waits for go"
    change(namespace)
    assert.is_nil(objects.put(objects.config_map(namespace, "go")))
    result = run:finish(60)
  end)
  return assert(result.check, result.stderr)
end

after_each(runs.end_all)

describe("a definition made anew under a run", function()
  teardown(remove)

  it("in another version, for namespaces: its objects are found", function()
    define("Cluster", "v1")
    local seen = under([[
      local list = ctx.k8s:list("widgets.spec.aicr.example", { namespace = ctx.namespace })
      ctx:must("one", #list, "==", 1)
      ctx:must("which", list[1].apiVersion .. "/" .. list[1].metadata.name, "==", "spec.aicr.example/v2/new")
      ]], function(namespace)
      define("Namespaced", "v2")
      add("v2", namespace, "new")
    end)
    assert.equal("pass", seen.outcome, seen.message)
  end)

  it("for the cluster: its objects are found, and those of a namespace are refused with the reason", function()
    define("Namespaced", "v1")
    local seen = under([[
      ctx:evidence("found %s", ctx.k8s:get("widgets.spec.aicr.example", "new").metadata.name)
      ctx.k8s:list("widgets.spec.aicr.example", { namespace = ctx.namespace })
      return "listed"]], function()
      define("Cluster", "v1")
      add("v1", nil, "new")
    end)
    assert.equal("error", seen.outcome, seen.message)
    assert.equal("bad-request", seen.reason, seen.message)
    assert.truthy(seen.message:find("belong to the cluster", 1, true), seen.message)
    assert.truthy(json.encode(seen.evidence):find("found new", 1, true))
  end)
end)
