-- SPDX-License-Identifier: Apache-2.0
-- --record on a real API server: a replay gives checks the same values, byte for byte, and the same report.
require "aicr_native"
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local cluster_check = require "spec.support.cluster_check"
local files = require "spec.support.files"
local json = require "aicr.json"
local site = require "spec.support.site"

local READS <const> = {
  "list namespaces", "get namespaces", "list configmaps", "list nodes", "list widgets.example.com",
  "list,get networks.networking.gke.io", "list leases.coordination.k8s.io", "get /readyz", "get /nope",
}

local READ <const> = [[
    attempt("get", "get", "namespaces", ctx.namespace)
    attempt("absent", "get", "namespaces", "no-such-one")
    note("find", ctx.k8s:find("configmaps", "no-such-one", ctx.namespace) == nil)
    attempt("list", "list", "configmaps", { namespace = ctx.namespace })
    attempt("labelled", "list", "configmaps", { namespace = ctx.namespace, label = "n in (1, 3)" })
    attempt("not labelled", "list", "configmaps", { namespace = ctx.namespace, label = "n!=1" })
    attempt("field", "list", "configmaps", { namespace = ctx.namespace, field = "metadata.name=map-2" })
    attempt("all of a namespace that is not there", "list", "configmaps", { namespace = "no-such-one" })
    attempt("bad selector", "list", "configmaps", { label = "a in" })
    attempt("nodes", "list", "nodes", { label = "kubernetes.io/hostname" })
    attempt("not served", "list", "widgets.example.com")
    attempt("custom", "list", "networks.networking.gke.io")
    attempt("custom absent", "get", "networks.networking.gke.io", "no-such-one")
    attempt("leases", "list", "leases.coordination.k8s.io")
    attempt("version", "server_version")
    note("can", (ctx.k8s:can("get", "pods")))
    note("can delete", { ctx.k8s:can("delete", "nodes", { name = "n", explain = true }) })
    note("can in", { ctx.k8s:can("create", "pods", { namespace = ctx.namespace, subresource = "exec",
      explain = true }) })
    attempt("ready", "get_raw", "/readyz")
    attempt("nowhere", "get_raw", "/nope")
]]

local needs = { table.unpack(READS) }
needs[#needs + 1] = "get configmaps"

-- Runs the same check on the cluster with --record, then on the recording; gives what both noted, and the folder to f.
local function twice(namespace, wanted, body, kubeconfig, f)
  site.with({}, function(folder)
    local dir = folder .. "/rec"
    local live = cluster_check.run(namespace, wanted, body, {
      "--kubeconfig", cluster.STATE .. "/" .. (kubeconfig or "kubeconfig"), "--record", dir,
    })
    local replay = cluster_check.run(namespace, wanted, body, { "--recording", dir })
    assert.same(live, replay)
    if f then
      f(live, dir)
    end
  end)
end

local function map(number, labels)
  return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "map-" .. number, labels = labels },
    data = { text = ("%d \226\130\172 \"\\\n"):format(number) } }
end

describe("a recording of the cluster", function()
  it("gives a check what the cluster gave", function()
    cluster.in_namespace(function(namespace)
      assert.equal(0, cluster.apply({ map(1, { n = "1" }), map(2), map(3, { n = "3" }) }, "-n", namespace).code)
      twice(namespace, needs, READ, nil, function(live)
        assert.same({ "api-not-served", "not-found", "not-found", "bad-request" }, { live["not served"].reason,
          live.absent.reason, live["custom absent"].reason, live["bad selector"].reason })
        assert.same({ 2, 2, 1, 0 }, { #live.labelled - 0, #live["not labelled"] - 1, #live.field,
          #live["all of a namespace that is not there"] })
        assert.same({ true, "ok" }, { live.can, live.ready })
      end)
    end)
  end)

  it("gives a check what was forbidden", function()
    twice("default", needs, READ:gsub('note%("find"[^\n]*\n', ""), "kubeconfig-nobody", function(live)
      assert.same({ "forbidden", "forbidden", "api-not-served", false }, { live.get.reason, live.list.reason,
        live["not served"].reason, live.can })
      assert.is_true(live.custom.details.served)
    end)
  end)

  it("has all pages of a list, and of one that was left what was seen", function()
    cluster.in_namespace(function(namespace)
      local maps = {}
      for i = 1, 1203 do
        maps[i] = map(i)
        maps[i].metadata.namespace = namespace
      end
      assert.equal(0, cluster.apply(maps).code)
      twice(namespace, { "list configmaps" }, [[
        local here = { namespace = ctx.namespace }
        local all, names = ctx.k8s:list("configmaps", here), {}
        for i, object in ipairs(all) do
          names[i] = object.metadata.name
        end
        note("all", table.concat(names, " "))
        local seen = 0
        for object in ctx.k8s:each("configmaps", { namespace = ctx.namespace, label = "!x" }) do
          seen = seen + 1
          if seen == 700 then
            note("last", object)
            break
          end
        end
        note("seen", seen)
      ]], nil, function(live, dir)
        assert.equal(1204, select(2, live.all:gsub("%S+", "")))
        local noted = cluster_check.run(namespace, { "list configmaps" }, [[
          local seen = 0
          local ok, err = ctx:try(function()
            for _ in ctx.k8s:each("configmaps", { namespace = ctx.namespace, label = "!x" }) do
              seen = seen + 1
            end
          end)
          note("err", err.reason)
          note("seen", seen)
        ]], { "--recording", dir })
        assert.equal("not-recorded", noted.err)
        assert.is_true(noted.seen >= 700 and noted.seen < 1204, noted.seen)
      end)
    end)
  end)

  it("answers a question as often as it was asked, with what the answer was then", function()
    cluster.in_namespace(function(namespace)
      assert.equal(0, cluster.apply({ cluster.pod("slow", "sleep 4") }, "-n", namespace).code)
      twice(namespace, { "get,list,watch pods" }, [[
        local phases = {}
        ctx:eventually("it has ended", { timeout = "60s", every = "100ms" }, function()
          local phase = ctx.k8s:get("pods", "slow", ctx.namespace).status.phase
          phases[#phases + 1] = phase
          return phase == "Succeeded", phase
        end)
        note("phases", table.concat(phases, " "))
      ]], nil, function(live)
        assert.truthy(live.phases:find("Running Succeeded$"), live.phases)
      end)
    end)
  end)

  it("has what was watched and waited for", function()
    cluster.in_namespace(function(namespace)
      local function talk(name)
        return cluster.pod(name, "sleep 3")
      end
      assert.equal(0, cluster.apply({ talk "watched", talk "waited", talk "polled" }, "-n", namespace).code)
      twice(namespace, { "get,list,watch pods" }, [[
        local seen = {}
        ctx:all {
          watch = function()
            for kind, pod in ctx.k8s:watch("pods", { namespace = ctx.namespace, field = "metadata.name=watched" }) do
              seen[#seen + 1] = kind .. " " .. pod.status.phase
              if pod.status.phase == "Succeeded" then
                break
              end
            end
          end,
          wait = function()
            note("waited", ctx.k8s:wait("pods", "waited", ctx.namespace, "condition=PodReadyToStartContainers=False",
              { timeout = "60s" }))
          end,
          poll = function()
            note("polled", ctx.k8s:wait("pods", "polled", ctx.namespace, function(pod)
              return pod.status.phase == "Succeeded", pod.status.phase
            end, { timeout = "60s", every = "200ms" }).status.phase)
          end,
        }
        note("watched", table.concat(seen, "\n"))
        local _, never = ctx:try(ctx.k8s.wait, ctx.k8s, "pods", "waited", ctx.namespace, "gone", { timeout = "1s" })
        note("never", never.reason)
        _, never = ctx:try(ctx.k8s.wait, ctx.k8s, "pods", "waited", ctx.namespace, function() return false, "it" end,
          { timeout = "1s", every = "300ms" })
        note("never true", never.reason)
      ]], nil, function(live)
        assert.truthy(live.watched:find("^ADDED %a+\n.*MODIFIED Succeeded$"), live.watched)
        assert.equal("Succeeded", live.polled)
        assert.same({ "never-true", "never-true" }, { live.never, live["never true"] })
      end)
    end)
  end)

  it("holds no value of a secret, and says so to who asks for one", function()
    cluster.in_namespace(function(namespace)
      local secret = { apiVersion = "v1", kind = "Secret", metadata = { name = "s" }, stringData = { a = "hunter2" } }
      assert.equal(0, cluster.apply({ secret }, "-n", namespace).code)
      local applied = cluster.command({ "spec/cluster/ctl", "kubectl", "apply", "-n", namespace, "-f", "-" },
        json.encode { apiVersion = "v1", kind = "Secret", metadata = { name = "t" }, stringData = { a = "hunter2" } })
      assert.equal(0, applied.code, applied.stderr)
      site.with({}, function(folder)
        local dir, wanted = folder .. "/rec", { "get,list,watch secrets" }
        local body = [[
          local only = { namespace = ctx.namespace, field = "metadata.name=s", timeout = "1s" }
          for _, s in ctx.k8s:watch("secrets", only) do
            ctx.k8s:list("secrets", { namespace = ctx.namespace, label = "x=" .. s.metadata.name })
          end
          for _, s in ipairs(ctx.k8s:list("secrets", { namespace = ctx.namespace })) do
            local value, err = ctx:try(function() return s.data.a end)
            note(s.metadata.name, value and value == "aHVudGVyMg==" or err.reason)
          end
          local one = ctx.k8s:get("secrets", "s", ctx.namespace)
          note("type", one.type)
          note("there", one.data ~= nil)
          for name, f in pairs { index = function() return one.data.a end, length = function() return #one.data end,
            pairs = function() for _ in pairs(one.data) do return true end end,
            concat = function() return one.data .. "" end } do
            local _, err = ctx:try(f)
            note(name, err and err.code .. "/" .. err.reason or "none")
          end
        ]]
        local live = cluster_check.run(namespace, wanted, body:gsub("length.-,\n", "\n"):gsub("concat = .- end }", "}"),
          { "--kubeconfig", cluster.STATE .. "/kubeconfig", "--record", dir })
        assert.same({ true, true, "Opaque" }, { live.s, live.t, live.type })
        local replay = cluster_check.run(namespace, wanted, body, { "--recording", dir })
        local no = "INTERNAL/not-recorded"
        assert.same({ s = "not-recorded", t = "not-recorded", type = "Opaque", there = true, index = no, length = no,
          pairs = no, concat = no }, replay)
        local grep = cluster.command { "grep", "-rlE", "hunter2|aHVudGVyMg", dir }
        assert.equal("", grep.stdout)
        local token = files.read(cluster.STATE .. "/token"):match("%S+")
        assert.equal("", cluster.command({ "grep", "-rlF", token, dir }).stdout)
      end)
    end)
  end)

  it("has logs, whole and in part", function()
    cluster.in_namespace(function(namespace)
      assert.equal(0, cluster.apply({ cluster.pod("talks", "for i in 1 2 3; do echo line $i; done") }, "-n",
        namespace).code)
      cluster.wait_pod(namespace, "talks", "Succeeded")
      twice(namespace, { "logs pods" }, [[
        attempt("whole", "logs", "talks", ctx.namespace, { container = "main" })
        attempt("tail", "logs", "talks", ctx.namespace, { tail = 1 })
        attempt("previous", "logs", "talks", ctx.namespace, { container = "main", previous = true })
        attempt("absent", "logs", "no-such-one", ctx.namespace)
      ]], nil, function(live, dir)
        assert.same({ "line 1\nline 2\nline 3\n", "line 3\n" }, { live.whole, live.tail })
        local more = cluster_check.run(namespace, { "logs pods" }, [[
          attempt("two", "logs", "talks", ctx.namespace, { container = "main", tail = 2 })
          attempt("bytes", "logs", "talks", ctx.namespace, { container = "main", tail = 2, limit = 6 })
          attempt("times", "logs", "talks", ctx.namespace, { container = "main", timestamps = true })
        ]], { "--recording", dir })
        assert.same({ "line 2\nline 3\n", "line 2", "not-recorded" }, { more.two, more.bytes, more.times.reason })
      end)
    end)
  end)

  it("of a server that does not answer ends as the run did", function()
    twice("default", { "list nodes" }, [[
      attempt("nodes", "list", "nodes")
    ]], "kubeconfig-wrong-ca", function(live)
      assert.equal("tls-verify", live.nodes.reason)
    end)
  end)
end)

describe("a dump of kubectl", function()
  it("has the lists and logs of its namespaces", function()
    cluster.in_namespace(function(namespace)
      local two = cluster.pod("two", "echo one; printf end")
      local other = cluster.pod("x", "echo other").spec.containers[1]
      other.name = "other"
      two.spec.containers[2] = other
      assert.equal(0, cluster.apply({ two }, "-n", namespace).code)
      cluster.wait_pod(namespace, "two", "Succeeded")
      site.with({}, function(folder)
        cluster.kubectl("cluster-info", "dump", "--output-directory=" .. folder .. "/dump",
          "--namespaces=" .. namespace)
        assert.equal(0, cluster.command({ "tar", "-C", folder, "-czf", folder .. "/dump.tgz", "dump" }).code)
        for _, path in ipairs { "/dump", "/dump.tgz" } do
          local wanted = { "list pods", "list daemonsets.apps", "list nodes", "logs pods" }
          local noted = cluster_check.run(namespace, wanted, [[
            note("pods", #ctx.k8s:list("pods", { namespace = ctx.namespace }))
            note("daemonsets", #ctx.k8s:list("daemonsets.apps", { namespace = ctx.namespace }))
            note("nodes", #ctx.k8s:list("nodes") > 0)
            attempt("all", "list", "pods")
            attempt("main", "logs", "two", ctx.namespace, { container = "main" })
            attempt("other", "logs", "two", ctx.namespace, { container = "other", tail = 1 })
          ]], { "--recording", folder .. path })
          assert.same({ 1, 0, true, "one\nend", "other\n", "not-recorded" }, { noted.pods, noted.daemonsets,
            noted.nodes, noted.main, noted.other, noted.all.reason })
        end
      end)
    end)
  end)
end)

describe("--record", function()
  local CHECK <const> = site.check("one", 'ctx.k8s:list("namespaces") return "read"', 'needs = { "list namespaces" },')

  local function record(folder, dir, how)
    return binary.run({ "--kubeconfig", cluster.STATE .. "/kubeconfig", "--record", dir, folder .. "/one.lua" }, how)
  end

  it("takes a folder that is new or empty, and refuses others before anything is asked", function()
    site.with({ ["one.lua"] = CHECK, ["full/x"] = "", ["file"] = "", ["empty/.keep"] = "" }, function(folder)
      os.remove(folder .. "/empty/.keep")
      assert.equal(0, record(folder, folder .. "/new").code)
      assert.equal(0, record(folder, folder .. "/empty").code)
      for _, dir in ipairs { "/full", "/new", "/file", "/none/rec" } do
        local result = record(folder, folder .. dir)
        assert.equal(2, result.code, dir)
        assert.truthy(result.stderr:find("--record", 1, true), result.stderr)
        assert.truthy(result.stderr:find(folder .. dir, 1, true), result.stderr)
        assert.truthy(result.stderr:find("no check was run", 1, true))
      end
    end)
  end)

  it("that runs out of room is an error of the run", function()
    site.with({ ["one.lua"] = CHECK }, function(folder)
      local dir = folder .. "/small"
      assert(os.execute(("mkdir %s && mount -t tmpfs -o size=16k,nr_inodes=6 none %s"):format(dir, dir)))
      local result = record(folder, dir)
      assert(os.execute("umount " .. dir))
      assert.equal(3, result.code, result.stdout .. result.stderr)
      assert.truthy(result.stderr:find("cannot record into", 1, true), result.stderr)
      assert.truthy(result.stderr:find("No space left", 1, true), result.stderr)
      assert.truthy(result.stdout:find("read", 1, true))
    end)
  end)
end)
