-- SPDX-License-Identifier: Apache-2.0
-- What goes wrong under a run: each ends as an error that says what it was, in time, and never as a pass.
require "aicr_native"
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local gke = require "spec.support.cluster_gke"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"

local CONFIG_MAPS <const> = "/api/v1/namespaces/%s/configmaps"

-- Words of a check: waits until the spec has made the ConfigMap "go".
local GO <const> = [[
ctx:eventually("waits for go", { timeout = "60s", every = "100ms" }, function()
  return ctx.k8s:find("configmaps", "go", ctx.namespace) ~= nil
end)
]]
local LIST <const> = [[ctx.k8s:list("configmaps", { namespace = ctx.namespace })]]
local LISTING <const> = [[
for n = 1, 1000000 do
  ]] .. LIST .. [[

  if n == 20 then ctx:progress("listing") end
end
]]

local function go(namespace)
  assert.is_nil(objects.put(objects.config_map(namespace, "go")))
end

-- An error with that code and reason, and words of its message.
local function assert_error(code, reason, result, ...)
  local check = assert(result.check, result.stderr)
  local said = ("%s %s %s: %s"):format(check.outcome, check.code, check.reason, check.message)
  assert.equal("error", check.outcome, said)
  assert.equal(code, check.code, said)
  assert.equal(reason, check.reason, said)
  for _, words in ipairs { ... } do
    assert.truthy(said:find(words, 1, true), ("%q not in %s"):format(words, said))
  end
  assert.equal(3, result.code, said)
  assert.is_string(check.fix, said)
end

local function stopped(f)
  cluster.must("stop", "kube-apiserver")
  local ok, err = pcall(f)
  cluster.must("cont", "kube-apiserver")
  assert(ok, err)
end

local function with_server(name, server)
  local path = cluster.STATE .. "/kubeconfig-spec-" .. name
  local text = files.read(cluster.STATE .. "/kubeconfig")
  files.write(path, (text:gsub("server: [^\n]*", "server: " .. server)))
  os.execute("chmod 600 " .. path)
  return path
end

after_each(runs.end_all)

describe("an API server", function()
  local nowhere

  -- It takes its time before it gives up: beside the other tests.
  lazy_setup(function()
    nowhere = runs.start(runs.check([["list configmaps"]], "5s", LIST), {
      kubeconfig = with_server("nowhere", (cluster.SERVER:gsub("%.2:", ".99:"))), keep = true,
    })
  end)

  it("that falls silent during a list: the check's time limit", function()
    objects.in_namespace(function(namespace)
      local run = runs.start(runs.check([["list configmaps"]], "10s", LISTING), { namespace = namespace })
      run:saw "listing"
      stopped(function()
        local result = run:finish(60)
        assert_error("TIMEOUT", "deadline", result, "list configmaps", namespace)
        assert.truthy(result.seconds < 40, result.seconds)
      end)
    end)
  end)

  it("that falls silent during a watch: the check's time limit", function()
    objects.in_namespace(function(namespace)
      local run = runs.start(runs.check([["list,watch configmaps"]], "10s", [[
        for kind, object in ctx.k8s:watch("configmaps", { namespace = ctx.namespace }) do
          if object.metadata.name == "go" then ctx:progress("watching") end
          if object.metadata.name == "never" then return "seen" end
        end]]), { namespace = namespace })
      go(namespace)
      run:saw "watching"
      stopped(function()
        assert_error("TIMEOUT", "timeout", run:finish(60))
      end)
    end)
  end)

  it("that falls silent during a wait: what it waited for, never a pass", function()
    objects.in_namespace(function(namespace)
      local run = runs.start(runs.check([["get,list,watch configmaps"]], "20s", [[
        ctx:progress("waiting")
        ctx.k8s:wait("configmaps", "absent", ctx.namespace, "condition=Ready", { timeout = "2s" })
        return "seen"]]), { namespace = namespace })
      run:saw "waiting"
      stopped(function()
        assert_error("TIMEOUT", "never-true", run:finish(60), "configmaps " .. namespace .. "/absent: waited 2s")
      end)
    end)
  end)

  it("that is started anew during a watch: the watch goes on, each event once", function()
    objects.in_namespace(function(namespace)
      local run = runs.start(runs.check([["list,watch configmaps"]], "2m", [[
        local told = {}
        for kind, object in ctx.k8s:watch("configmaps", { namespace = ctx.namespace }) do
          local name = object.metadata.name
          if name:find "^spec%-" then
            told[#told + 1] = kind .. " " .. name
            ctx:progress(table.concat(told, ", "))
          end
          if name == "spec-last" then break end
        end
        ctx:expect("events", told, "same_list", { "ADDED spec-one", "ADDED spec-two", "DELETED spec-one",
          "ADDED spec-last" })
        return "all"]]), { namespace = namespace })
      local one = objects.config_map(namespace, "spec-one")
      assert.is_nil(objects.put(one))
      run:saw "ADDED spec-one"
      cluster.must("restart", "kube-apiserver")
      assert.is_nil(objects.put(objects.config_map(namespace, "spec-two")))
      run:saw "ADDED spec-two"
      objects.remove(one)
      run:saw "DELETED spec-one"
      assert.is_nil(objects.put(objects.config_map(namespace, "spec-last")))
      local result = run:finish(60)
      assert.equal("pass", result.check.outcome, result.stdout)
    end)
  end)

  it("that nobody is at: unreachable or out of time", function()
    local check = nowhere:finish(60).check
    assert.equal("error", check.outcome)
    assert.truthy(check.code == "SERVICE_UNAVAILABLE" and check.reason == "connect" or check.code == "TIMEOUT",
      check.message)
    assert.truthy(check.message:find("list configmaps", 1, true), check.message)
  end)

  it("at another port: refused", function()
    local result = runs.run(runs.check([["list configmaps"]], "30s", LIST), {
      kubeconfig = with_server("port", (cluster.SERVER:gsub(":6443", ":6499"))),
    }, 90)
    assert_error("SERVICE_UNAVAILABLE", "connect", result, ":6499", "refused")
  end)
end)

describe("credentials and certificates", function()
  local function with(name)
    return runs.run(runs.check([["list configmaps"]], "30s", LIST), { kubeconfig = cluster.STATE .. "/" .. name }, 60)
  end

  it("of another authority are named", function()
    assert_error("INTERNAL", "tls-verify", with "kubeconfig-wrong-ca", "certificate")
  end)

  it("of another host are named", function()
    assert_error("INTERNAL", "tls-verify", with "kubeconfig-wrong-name", "host name")
  end)

  it("that have expired are not accepted", function()
    assert_error("UNAUTHORIZED", "unauthenticated", with "kubeconfig-expired", "401")
  end)

  it("that nobody issued are not accepted", function()
    assert_error("UNAUTHORIZED", "unauthenticated", with "kubeconfig-bad-token", "401")
  end)

  it("without rights are forbidden, not: not there", function()
    assert_error("UNAUTHORIZED", "forbidden", with "kubeconfig-nobody", "403", "nobody")
  end)

  it("of a token that expires under the run are not accepted any more", function()
    local path = cluster.STATE .. "/kubeconfig-spec-token"
    local text = files.read(cluster.STATE .. "/kubeconfig-token")
    files.write(path, (text:gsub("token: [^\n]*", "token: " .. objects.short_token(3))))
    local result = runs.run(runs.check([["list configmaps"]], "60s", [[
      ]] .. LIST .. [[

      ctx:progress("accepted")
      while true do
        ]] .. LIST .. [[

        ctx:sleep("200ms")
      end]]), { kubeconfig = path, namespace = "default" }, 70)
    assert_error("UNAUTHORIZED", "unauthenticated", result, "401")
    assert.truthy(result.stderr:find("accepted", 1, true))
  end)
end)

describe("under a run", function()
  it("an expired list token between two pages ends what has given objects out already", function()
    objects.in_namespace(function(namespace)
      objects.fill(namespace, 501)
      local text = runs.check([["list,get configmaps"]], "2m", [[
        local n = 0
        for object in ctx.k8s:each("configmaps", { namespace = ctx.namespace }) do
          n = n + 1
          if n == 1 then
            ]] .. GO .. [[
          end
        end
        return n .. " objects"]])
      local run = runs.start(text, { namespace = namespace })
      run:saw "waits for go"
      local path = CONFIG_MAPS:format(namespace) .. "?limit=1"
      local token = assert(json.decode(cluster.request(path).body).metadata.continue)
      cluster.must("compact")
      cluster.eventually("the token has expired", 60, function()
        return cluster.request(path .. "&continue=" .. token).http == 410
      end)
      go(namespace)
      local result = run:finish(60)
      assert_error("INTERNAL", "expired", result)
    end)
  end)

  it("an API that is not served any more is a fail, not an empty list; one that comes is seen", function()
    local text = runs.check([["list networks.networking.gke.io", "get configmaps"]], "90s", [[
      local function networks()
        return ctx:try(ctx.k8s.list, ctx.k8s, "networks.networking.gke.io")
      end
      local before, err = networks()
      ctx:progress(before and "served" or err.reason)
      ]] .. GO .. [[
      ctx:sleep("1100ms") -- for a second the client believes what discovery said
      ctx.k8s:list("networks.networking.gke.io")
      return "served"]])
    finally(function()
      gke.add_group "networking.gke.io"
    end)
    objects.in_namespace(function(namespace)
      gke.add_group "networking.gke.io"
      local run = runs.start(text, { namespace = namespace })
      run:saw "waits for go"
      gke.remove_group "networking.gke.io"
      cluster.eventually("it is gone", 30, function()
        return objects.send("GET", "/apis/networking.gke.io/v1/networks").http == 404
      end)
      go(namespace)
      local result = run:finish(60)
      assert.equal("fail", result.check.outcome, result.stdout)
      assert.equal("api-not-served", result.check.reason)
      objects.remove(objects.config_map(namespace, "go"))
      run = runs.start(text, { namespace = namespace })
      run:saw "waits for go"
      gke.add_group "networking.gke.io"
      go(namespace)
      result = run:finish(60)
      assert.equal("pass", result.check.outcome, result.stdout)
    end)
  end)

  it("rights that are taken away end what waits", function()
    local user = "aicr-spec-revoked"
    local kubeconfig = objects.user(user)
    objects.in_namespace(function(namespace)
      objects.grant(user, { objects.rule("get list", "configmaps") }, namespace)
      local run = runs.start(runs.check([["get configmaps"]], "30s", [[
        local n = 0
        ctx:eventually("it is there", { timeout = "25s", every = "100ms" }, function()
          n = n + 1
          if n == 3 then ctx:progress("waiting") end
          return ctx.k8s:find("configmaps", "absent", ctx.namespace) ~= nil
        end)
        return "seen"]]), { namespace = namespace, kubeconfig = kubeconfig })
      run:saw "waiting"
      objects.revoke(user, namespace)
      assert_error("UNAUTHORIZED", "forbidden", run:finish(90), "absent", user)
    end)
  end)

  it("a namespace that is deleted takes no more objects, and nothing is left", function()
    objects.in_namespace(function(namespace)
      local run = runs.start(runs.check([["create configmaps in run"]], "60s", [[
        for n = 1, 100000 do
          ctx.k8s:create { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "spec-" } }
          if n == 3 then ctx:progress("creating") end
          ctx:sleep("50ms")
        end]]), { namespace = namespace })
      run:saw "creating"
      objects.must("DELETE", "/api/v1/namespaces/" .. namespace)
      local result = run:finish(90)
      assert_error("UNAUTHORIZED", "forbidden", result, namespace, "being terminated")
      assert.truthy(result.check.fix:find("--namespace", 1, true), result.check.fix)
    end)
  end)
end)
