-- SPDX-License-Identifier: Apache-2.0
-- doctor on the real cluster, with credentials that are good and some that are not.
require "aicr_native"
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local json = require "aicr.json"
local json_schema = require "spec.support.json_schema"
local site = require "spec.support.site"

local SCHEMA <const> = json_schema.load("spec/schema/report.schema.json")
local MAKES <const> = site.check("makes", 'return "x"',
  'needs = { "list nodes", "create configmaps", "get /healthz/*" },')

--- Runs doctor on a check that makes config maps; gives exit code, `outcome reason` by row, rows, stdout of a report
--- for people.
local function doctor(kubeconfig, args)
  return site.with({ ["makes.lua"] = MAKES }, function(folder)
    local words = { "doctor", "-k", kubeconfig, "-o", folder .. "/report.json", folder .. "/makes.lua",
      table.unpack(args or {}) }
    local result = binary.run(words)
    local report = json.decode(files.read(folder .. "/report.json"))
    assert(json_schema.validate(report, SCHEMA))
    local rows, checks = {}, {}
    for _, check in ipairs(report.checks) do
      rows[check.name] = check.outcome .. (check.reason and " " .. check.reason or "")
      checks[check.name] = check
      if check.outcome == "fail" or check.outcome == "error" then
        assert.is_string(check.fix, check.name)
      end
    end
    return result.code, rows, checks, result.stdout:gsub(folder, "FOLDER"), report
  end)
end

local function state(name)
  return cluster.STATE .. "/" .. name
end

describe("doctor on a cluster", function()
  it("passes for who may do all", function()
    cluster.in_namespace(function(namespace)
      local code, rows, checks, out = doctor(state "kubeconfig", { "-n", namespace })
      assert.equal(0, code, out)
      assert.same({
        libraries = "pass", terminal = "pass", kubeconfig = "pass", context = "pass", server = "pass",
        identity = "pass", clock = "pass", namespace = "pass", ["may-run-makes"] = "pass", leftovers = "pass",
      }, rows)
      assert.truthy(checks.server.result:find("^Kubernetes v1%.%d+%.%d+"))
      assert.same({ "admin", "5 permissions", namespace, "none among 1 kind of objects" }, { checks.identity.result,
        checks["may-run-makes"].result, checks.namespace.result, checks.leftovers.result })
      assert.equal(state "kubeconfig", checks.kubeconfig.result)
      assert.equal("aicr: " .. cluster.SERVER, checks.context.result)
    end)
  end)

  it("names what a user without rights lacks, and the command that gives it", function()
    local code, rows, checks = doctor(state "kubeconfig-nobody", { "-n", "default" })
    assert.equal(1, code)
    assert.same({ "pass", "pass", "pass", "error forbidden", "fail forbidden", "skip not-allowed" }, { rows.server,
      rows.identity, rows.clock, rows.namespace, rows["may-run-makes"], rows.leftovers })
    assert.equal("nobody", checks.identity.result)
    local missing = checks["may-run-makes"]
    table.sort(missing.details.denied)
    assert.same({ "create configmaps in default", "delete configmaps in default", "get /healthz/*",
      "get configmaps in default", "list nodes" }, missing.details.denied)
    assert.matches("^aicr%-run rbac %-n default /%S+/makes%.lua > role%.yaml && "
      .. "kubectl %-%-kubeconfig ADMIN_KUBECONFIG apply %-f role%.yaml  # ", missing.fix)
  end)

  local refused = {
    { "expired", "error unauthenticated", "skip prerequisite", "renew the credentials" },
    { "bad-token", "error unauthenticated", "skip prerequisite", "renew the credentials" },
    { "wrong-ca", "error tls-verify", "skip prerequisite", "--certificate-authority=FILE" },
    { "wrong-name", "error tls-verify", "skip prerequisite", "--tls-server-name=HOST" },
  }
  for _, row in ipairs(refused) do
    it("says what is wrong with kubeconfig-" .. row[1], function()
      local code, rows, checks = doctor(state("kubeconfig-" .. row[1]))
      assert.equal(3, code)
      assert.same({ row[2], row[3], "skip prerequisite" }, { rows.server, rows.identity, rows["may-run-makes"] })
      assert.truthy(checks.server.fix:find(row[4], 1, true), checks.server.fix)
    end)
  end

  it("misses a namespace that checks need", function()
    local code, rows, checks = doctor(state "kubeconfig", { "-n", "no-such-namespace" })
    assert.same({ 1, "fail not-found",
      ("kubectl --kubeconfig %s create namespace no-such-namespace"):format(state "kubeconfig") },
      { code, rows.namespace, checks.namespace.fix })
  end)

  it("finds what an earlier run left, and its fix removes it", function()
    cluster.in_namespace(function(namespace)
      assert.equal(0, cluster.apply({ { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "left",
        labels = { ["app.kubernetes.io/managed-by"] = "aicr-run", ["aicr-run/run"] = "r1" } } } }, "-n",
        namespace).code)
      local code, rows, checks = doctor(state "kubeconfig", { "-n", namespace })
      assert.same({ 1, "fail leftovers" }, { code, rows.leftovers })
      assert.truthy(checks.leftovers.message:find("configmaps/left in " .. namespace, 1, true))
      local words = {}
      for word in checks.leftovers.fix:gmatch "%S+" do
        words[#words + 1] = word
      end
      assert.equal("kubectl", table.remove(words, 1))
      cluster.kubectl(table.unpack(words))
      assert.equal("pass", select(2, doctor(state "kubeconfig", { "-n", namespace })).leftovers)
    end)
  end)

  it("warns loudly where the certificate is not verified", function()
    local folder = files.folder()
    local path = folder .. "/insecure"
    files.write(path, (files.read(state "kubeconfig"):gsub("certificate%-authority%-data: %S+",
      "insecure-skip-tls-verify: true")))
    assert(os.execute("chmod 600 " .. path))
    local ok, err = pcall(function()
      local _, rows, checks, out, report = doctor(path, { "-n", "default" })
      assert.equal("pass", rows.server)
      assert.truthy(checks.server.result:find("its certificate is NOT verified", 1, true))
      assert.truthy(out:find("\nWARNING: nothing proves that these answers are the server's", 1, true), out)
      assert.is_true(report.target.insecure)
    end)
    files.remove(folder)
    assert(ok, err)
    assert.is_nil(select(5, doctor(state "kubeconfig", { "-n", "default" })).target.insecure)
  end)
end)

describe("the head of a report", function()
  it("names context and version, also to a user without rights", function()
    for _, name in ipairs { "kubeconfig", "kubeconfig-nobody" } do
      local result = binary.run { "-k", state(name), "gke-gpu-nic-networks" }
      assert.truthy(result.stdout:find("^aicr%-run %S+ · aicr · Kubernetes v1%.%d+%.%d+"), result.stdout)
    end
  end)
end)
