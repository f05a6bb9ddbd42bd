-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local binary = require "spec.support.binary"
local json = require "aicr.json"
local site = require "spec.support.site"
local yaml = require "aicr.yaml"

--- A check that needs those lines.
local function check(name, needs)
  local quoted = {}
  for i, line in ipairs(needs) do
    quoted[i] = ("%q"):format(line)
  end
  return site.check(name, 'return "x"', ("needs = { %s },"):format(table.concat(quoted, ", ")))
end

--- Runs rbac on checks that need those lines.
local function rbac(needs_of, args)
  local texts = {}
  for name, needs in pairs(needs_of) do
    texts[name .. ".lua"] = check(name, needs)
  end
  return site.with(texts, function(folder)
    local words = { "rbac", folder .. "/", table.unpack(args or {}) }
    return binary.run(words)
  end)
end

--- The rules of roles as lines: `NAMESPACE: VERBS RESOURCES in GROUP`.
local function rules(result)
  assert.equal(0, result.code, result.stderr)
  local out = {}
  for _, role in ipairs(yaml.decode_all(result.stdout, { schema = "kubernetes" })) do
    assert.equal("rbac.authorization.k8s.io/v1", role.apiVersion)
    assert.equal(role.metadata.namespace and "Role" or "ClusterRole", role.kind)
    for _, rule in ipairs(role.rules) do
      out[#out + 1] = ("%s: %s %s"):format(role.metadata.namespace or "all", table.concat(rule.verbs, ","),
        rule.nonResourceURLs and table.concat(rule.nonResourceURLs, ",")
        or ("%s in %s"):format(table.concat(rule.resources, ","), json.encode(rule.apiGroups)))
    end
  end
  return out
end

describe("rbac", function()
  local rows = {
    { "reads everywhere", { "list nodes", "find pods", "each jobs.batch", "wait jobsets.jobset.x-k8s.io" }, {
      'all: list nodes in [""]', 'all: get pods in [""]', 'all: list jobs in ["batch"]',
      'all: get,list,watch jobsets in ["jobset.x-k8s.io"]' } },
    { "the same verbs in one rule", { "list pods", "list nodes", "get services" }, {
      'all: list nodes,pods in [""]', 'all: get services in [""]' } },
    { "writes in the run's namespace, with what cleans up", { "create pods", "patch configmaps" }, {
      'aicr-validation: patch configmaps in [""]', 'aicr-validation: get,create,delete pods in [""]' } },
    { "apply looks first", { "apply configmaps" }, {
      'aicr-validation: get,create,patch,delete configmaps in [""]' } },
    { "namespaces of their own", { "list pods in kube-system", "create pods in a", "list pods in run" }, {
      'a: get,create,delete pods in [""]', 'aicr-validation: list pods in [""]', 'kube-system: list pods in [""]' } },
    { "logs and exec", { "logs pods in a", "exec pods in a" }, {
      'a: get,create pods/exec in [""]', 'a: get pods/log in [""]' } },
    { "paths", { "get /healthz/*", "get /version", "list nodes" }, {
      'all: list nodes in [""]', "all: get /healthz/*,/version" } },
    { "nothing twice", { "get,list pods", "list pods in a", "create pods in a" }, {
      'all: get,list pods in [""]', 'a: create,delete pods in [""]' } },
    { "the resource behind another name", { "list po", "list deploy" }, {
      'all: list pods in [""]', 'all: list deployments in ["apps"]' } },
  }
  for _, row in ipairs(rows) do
    it("grants " .. row[1], function()
      local got, wanted = rules(rbac { a = row[2] }), table.move(row[3], 1, #row[3], 1, {})
      table.sort(got)
      table.sort(wanted)
      assert.same(wanted, got)
    end)
  end

  it("is the union of the checks, the same at any time", function()
    local needs = { a = { "list nodes", "create pods" }, b = { "get nodes", "list pods in z" } }
    local first, second = rbac(needs), rbac(needs)
    assert.equal(first.stdout:gsub("/tmp/%S+", ""), (second.stdout:gsub("/tmp/%S+", "")))
    assert.same({ 'all: get,list nodes in [""]', 'aicr-validation: get,create,delete pods in [""]',
      'z: list pods in [""]' }, rules(first))
  end)

  it("puts what is in run into the namespace of the run", function()
    assert.same({ 'mine: get,create,delete pods in [""]' }, rules(rbac({ a = { "create pods" } }, { "-n", "mine" })))
  end)

  it("says for which checks, and how to bind", function()
    local out = rbac({ a = { "list nodes" }, b = { "create pods" } }).stdout
    assert.truthy(out:find("^# The least that these checks need:\n#   a: list nodes\n#   b: create pods\n# Bind it"),
      out)
    assert.truthy(out:find("\n#   kubectl create clusterrolebinding aicr-run-a-b --clusterrole=aicr-run-a-b "
      .. "--user=NAME\n#   kubectl -n aicr-validation create rolebinding aicr-run-a-b --role=aicr-run-a-b "
      .. "--user=NAME\n", 1, true), out)
    assert.truthy(out:find("\n# The namespace aicr-validation has to be there before: kubectl create namespace "
      .. "aicr-validation\n", 1, true), out)
  end)

  it("says what is lost where nodes may not be listed", function()
    assert.is_nil(rbac({ a = { "each nodes" } }).stdout:find("--platform", 1, true))
    assert.truthy(rbac({ a = { "get nodes" } }).stdout:find("--platform", 1, true))
    assert.truthy(rbac({ a = { "list nodes in a" } }).stdout:find("--platform", 1, true))
  end)

  it("names the role of one check, or of a suite, after it", function()
    local function name(args)
      return binary.run({ "rbac", table.unpack(args) }).stdout:match '\n  name: "([^"]+)"\n'
    end
    assert.equal("aicr-run-gke-gpu-nic-networks", name { "gke-gpu-nic-networks" })
    assert.equal("aicr-run-gke-tcpxo", name { "checks/gke_tcpxo.lua" })
    assert.equal("aicr-run-gke-gpu-nic-networks-gke-gpu-nic-topology",
      name { "gke-gpu-nic-networks", "gke-gpu-nic-topology" })
    assert.equal("aicr-run", name {})
    assert.equal("aicr-run-gke-gpu-nic-topology", name { "--skip", "gke-gpu-nic-networks", "--tags", "tcpxo" })
    assert.equal("aicr-run-gke-gpu-nic-topology", name { "--skip", "gke-gpu-nic-networks", "-p", "deployment",
      "checks/gke_tcpxo.lua" })
  end)

  it("is JSON for machines", function()
    local result = rbac({ a = { "list nodes", "create pods" } }, { "-f", "json" })
    local list = json.decode(result.stdout)
    assert.same({ "v1", "List" }, { list.apiVersion, list.kind })
    assert.same({ "ClusterRole", "Role" }, { list.items[1].kind, list.items[2].kind })
    assert.same({ { apiGroups = { "" }, resources = { "nodes" }, verbs = { "list" } } }, list.items[1].rules)
  end)

  it("says that nothing is needed", function()
    local result = rbac { a = {} }
    assert.equal(0, result.code)
    assert.equal("# The least that these checks need:\n#   a: nothing\n# No role is needed.\n", result.stdout)
  end)

  it("leaves out what does not run: other platforms, --skip", function()
    local all = binary.run { "rbac", "checks/gke_tcpxo.lua", "--skip", "gke-gpu-nic-topology", "--skip",
      "nccl-all-reduce-bw" }
    assert.same({ 'all: list networks in ["networking.gke.io"]',
      'all: get clustertrainingruntimes in ["trainer.kubeflow.org"]' }, rules(all))
    local none = binary.run { "rbac", "gke-gpu-nic-networks", "--platform", "aws" }
    assert.same({}, rules(none))
  end)

  it("admits what it cannot know", function()
    local result = binary.run { "rbac", "--recipe", "recipes/lyra.yaml" }
    assert.equal(3, result.code)
    assert.truthy(result.stdout:find("# NOT KNOWN is what check-nvidia-smi needs", 1, true), result.stdout)
    assert.truthy(result.stderr:find("check-nvidia-smi", 1, true), result.stderr)
  end)

  it("is 4 where no check is selected", function()
    local result = binary.run { "rbac", "gke-gpu-nic-networks", "-t", "nothing" }
    assert.equal(4, result.code)
    assert.truthy(result.stderr:find("no check is selected", 1, true), result.stderr)
  end)

  local refused = {
    { { "-f", "junit" }, "--format junit does not go with the command rbac; expected human (YAML) or json" },
    { { "-o", "a.json" }, "--output does not go with the command rbac, which prints to stdout" },
    { { "--list" }, "--list does not go with the command rbac" },
    { { "--dry-run" }, "--dry-run does not go with the command rbac" },
  }
  for _, row in ipairs(refused) do
    it("refuses " .. row[1][1], function()
      local result = binary.run { "rbac", "gke-gpu-nic-networks", table.unpack(row[1]) }
      assert.equal(2, result.code)
      assert.equal("", result.stdout)
      assert.equal(("aicr-run: %s\naicr-run: no check was run\n"):format(row[2]), result.stderr)
    end)
  end

  it("refuses a namespace that would be read as something else, from a suite too", function()
    local EVIL <const> = "a\n---\nkind: ClusterRoleBinding"
    local result = binary.run { "rbac", "gke-gpu-nic-networks", "-n", EVIL }
    assert.same({ 2, "" }, { result.code, result.stdout })
    assert.truthy(result.stderr:find("--namespace: expected a namespace", 1, true), result.stderr)
    for _, name in ipairs { "A", "a.b", "-a", "a-", ("a"):rep(64), "a b" } do
      assert.equal(2, binary.run({ "rbac", "gke-gpu-nic-networks", "--namespace=" .. name }).code, name)
    end
    result = site.with({ ["a.lua"] = check("a", { "create pods" }),
      ["s.lua"] = ('return { suite = "s", checks = { "a.lua" }, options = { namespace = %q } }'):format(EVIL) },
      function(folder)
        return binary.run { "rbac", folder .. "/s.lua" }
      end)
    assert.same({ 2, "" }, { result.code, result.stdout })
    assert.truthy(result.stderr:find("suite option namespace: expected a namespace", 1, true), result.stderr)
  end)

  it("asks no cluster", function()
    local result = binary.run { "rbac", "gke-gpu-nic-networks", "-k", "/nonexistent" }
    assert.equal(0, result.code, result.stderr)
    assert.equal("aicr-run: then bind it to who runs the checks: kubectl create clusterrolebinding "
      .. "aicr-run-gke-gpu-nic-networks --clusterrole=aicr-run-gke-gpu-nic-networks --user=NAME\n", result.stderr)
  end)

  it("gives the role of several checks their names", function()
    local result = rbac({ one = { "list nodes" }, two = { "create pods" } })
    for _, role in ipairs(yaml.decode_all(result.stdout, { schema = "kubernetes" })) do
      assert.equal("aicr-run-one-two", role.metadata.name)
    end
    assert.equal(2, select(2, result.stderr:gsub("then bind it to who runs the checks: kubectl ", "")), result.stderr)
    assert.truthy(result.stderr:find("not there yet, first: kubectl create namespace aicr-validation\n", 1, true),
      result.stderr)
  end)
end)

describe("--explain", function()
  it("tells the same permissions", function()
    local out = site.with({ ["a.lua"] = check("a", { "apply configmaps", "list nodes", "exec pods in z" }) },
      function(folder)
        return binary.run({ "--explain", "-n", "mine", folder .. "/a.lua" }).stdout
      end)
    assert.truthy(out:find("    apply configmaps  get,create,patch,delete configmaps in mine\n"
      .. "    list nodes\n    exec pods in z    get,create pods/exec in z\n", 1, true), out)
  end)
end)
