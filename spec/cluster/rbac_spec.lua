-- SPDX-License-Identifier: Apache-2.0
-- The role that rbac prints is enough for its check on a real API server, and no part of it is too much.
require "aicr_native"
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local json = require "aicr.json"
local site = require "spec.support.site"

local USER <const> = "rbac-reader"
local CHECK <const> = site.check("probe", [[
    ctx:expect("nodes", type(ctx.k8s:list("nodes")), "==", "table")
    ctx:expect("health", ctx.k8s:get_raw("/healthz/ping"), "==", "ok")
    local made = ctx.k8s:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "probe" } }
    ctx.k8s:apply { apiVersion = "v1", kind = "Secret", metadata = { name = "probe" }, stringData = { a = "b" } }
    return made.metadata.name]],
  'needs = { "list nodes", "get /healthz/*", "create configmaps", "apply secrets", },')

--- Every verb of every rule, with the objects that are left without it.
local function without_each(list)
  local out = {}
  local text = json.encode(list)
  for i, role in ipairs(list.items) do
    for k, rule in ipairs(role.rules) do
      for n, verb in ipairs(rule.verbs) do
        local less = json.decode(text)
        table.remove(less.items[i].rules[k].verbs, n)
        if #less.items[i].rules[k].verbs == 0 then
          table.remove(less.items[i].rules, k)
        end
        out[#out + 1] = { name = ("%s %s"):format(verb, (rule.resources or rule.nonResourceURLs)[1]),
          items = less.items }
      end
    end
  end
  return out
end

describe("the role of rbac", function()
  it("is enough, and each of its verbs is needed", function()
    cluster.must("issue", USER, "/O=visitors/CN=" .. USER)
    local kubeconfig = cluster.STATE .. "/kubeconfig-" .. USER
    cluster.in_namespace(function(namespace)
      site.with({ ["probe.lua"] = CHECK }, function(folder)
        local path = folder .. "/probe.lua"
        local function run()
          return binary.check(binary.report { "-k", kubeconfig, "-n", namespace, path }, "probe")
        end
        local yaml = binary.run({ "rbac", "-n", namespace, path }).stdout
        local list = json.decode(binary.run({ "rbac", "-n", namespace, path, "-f", "json" }).stdout)
        local ok, err = pcall(function()
          local applied = cluster.command({ "spec/cluster/ctl", "kubectl", "apply", "-f", "-" }, yaml)
          assert.equal(0, applied.code, applied.stderr)
          assert.equal("forbidden", run().reason, "before it is bound")
          for command in yaml:gmatch "\n#   kubectl ([^\n]+)" do
            local words = {}
            for word in command:gsub("NAME$", USER):gmatch "%S+" do
              words[#words + 1] = word
            end
            cluster.kubectl(table.unpack(words))
          end
          local result = run()
          assert.equal("pass", result.outcome, result.message)
          local may = binary.check(binary.report { "doctor", "-k", kubeconfig, "-n", namespace, path },
            "may-run-probe")
          assert.equal("pass", may.outcome, may.message)
          for _, less in ipairs(without_each(list)) do
            assert.equal(0, cluster.apply(less.items, "--force-conflicts").code, less.name)
            result = run()
            assert.equal("error", result.outcome, less.name)
            assert.truthy(result.reason == "forbidden" or result.reason == "cleanup", less.name .. result.reason)
            if result.reason == "cleanup" or #(result.notes or {}) > 0 then
              cluster.kubectl("delete", "-n", namespace, "configmap/probe", "secret/probe", "--ignore-not-found")
            end
          end
        end)
        cluster.ctl("kubectl", "delete", "clusterrole/aicr-run-probe", "clusterrolebinding/aicr-run-probe",
          "--ignore-not-found")
        assert(ok, err)
      end)
    end)
  end)
end)
