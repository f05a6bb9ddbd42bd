-- SPDX-License-Identifier: Apache-2.0
--- Recipes: validation-model.md 0 and 9, gke-tcpxo.md 2.4 and 3.6.
require "aicr_native"
local errors = require "aicr.native.error"
local files = require "spec.support.files"
local json = require "aicr.json"
local recipe = require "aicr.recipe"
local vectors = require "spec.support.vectors"

local SAMPLE <const> = "validation-sample.jsonl"
local HEADER <const> = "kind: RecipeResult\napiVersion: aicr.run/v1\n"

local function refused(f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.is_true(errors.is(err), tostring(err))
  assert.equal("INVALID_REQUEST", err.code)
  assert.is_true(err.verdict)
  return err
end

describe("recipe.header", function()
  for _, row in ipairs(vectors.rows(SAMPLE, "recipe.header")) do
    it(("%s %s %s"):format(row.id, row.args.kind, row.args.apiVersion), function()
      if row.ok then
        assert.is_nil(recipe.header(row.args.kind, row.args.apiVersion))
      else
        assert.equal(row.code, refused(recipe.header, row.args.kind, row.args.apiVersion).code)
      end
    end)
  end

  it("reads the two newest silently", function()
    for _, version in ipairs { "aicr.run/v1", "aicr.run/v1beta2" } do
      local _, warnings = recipe.load("kind: RecipeResult\napiVersion: " .. version, "r.yaml")
      assert.same({}, warnings)
    end
  end)

  for _, version in ipairs { "aicr.run/v1beta1", "aicr.run/v1alpha3", "aicr.run/v1alpha2",
    "aicr.nvidia.com/v1alpha1" } do
    it("reads " .. version .. " with a warning that names its age", function()
      local _, warnings = recipe.load("kind: RecipeResult\napiVersion: " .. version, "r.yaml")
      assert.equal(1, #warnings)
      assert.truthy(warnings[1]:find("r.yaml: apiVersion " .. version, 1, true))
      assert.truthy(warnings[1]:find("AICR", 1, true))
    end)
  end

  it("looks at the kind before the version", function()
    local err = refused(recipe.load, "kind: Snapshot\napiVersion: nonsense", "r.yaml")
    assert.equal("wrong-kind", err.reason)
    assert.equal('r.yaml: kind: expected RecipeResult, found "Snapshot"', err.message)
  end)

  for text, what in pairs { ["apiVersion: ''"] = '""', ["a: 1"] = "nothing",
    ["apiVersion: null"] = "null", ["apiVersion: 1"] = "1", ["apiVersion: [x]"] = "a list" } do
    it("refuses " .. text, function()
      local err = refused(recipe.load, "kind: RecipeResult\n" .. text, "r.yaml")
      assert.equal("unsupported-version", err.reason)
      assert.truthy(err.message:find("found " .. what, 1, true), err.message)
    end)
  end

  it("refuses the source of an overlay and says what to do", function()
    local err = refused(recipe.load, "kind: RecipeMetadata\napiVersion: aicr.run/v1beta2", "r.yaml")
    assert.equal("wrong-kind", err.reason)
    assert.truthy(err.message:find("aicr recipe", 1, true))
  end)
end)

-- What the vectors show of a recipe.
local function phase_view(section)
  if not section then
    return json.null
  end
  local constraints = json.array()
  for i, c in ipairs(section.constraints or {}) do
    constraints[i] = { name = c.name or "", value = c.value or "", unit = c.unit or "",
      severity = c.severity or "", remediation = c.remediation or "" }
  end
  return { checks = section.checks or json.array(), constraints = constraints,
    infrastructure = section.infrastructure or "", timeout = section.timeout or "" }
end

describe("recipe.load", function()
  for _, row in ipairs(vectors.rows(SAMPLE, "recipe.decode")) do
    it(row.id, function()
      if not row.ok then
        refused(recipe.load, row.args.yaml, "r.yaml")
        return
      end
      local found = recipe.load(row.args.yaml, "r.yaml")
      assert.equal(row.result.components, #(found.componentRefs or {}))
      assert.equal(json.encode(row.result.constraints), json.encode(found.constraints or json.array()))
      for _, name in ipairs { "readiness", "deployment", "performance", "conformance" } do
        if row.result[name] ~= nil then
          assert.equal(json.encode(row.result[name]),
            json.encode(phase_view((found.validation or {})[name])))
        end
      end
    end)
  end

  for _, row in ipairs(vectors.rows(SAMPLE, "component.enabled")) do
    it(("%s %s"):format(row.id, row.args.overrides), function()
      local found, warnings = recipe.load(HEADER .. "componentRefs: [{name: a, overrides: "
        .. row.args.overrides .. "}]", "r.yaml")
      assert.equal(row.result, recipe.declares(found, "a"))
      local boolean = row.args.overrides:match ": ([Tt]rue)}" or row.args.overrides:match ": ([Ff]alse)}"
      local gate = row.args.overrides:match "^{(%l+):"
      local warned = gate ~= nil and (not boolean or row.args.overrides:find("!!str", 1, true) ~= nil)
      assert.equal(warned and 1 or 0, #warnings, table.concat(warnings, "\n"))
    end)
  end

  for _, row in ipairs(vectors.rows(SAMPLE, "declares")) do
    it(("%s %s"):format(row.id, row.args.component), function()
      local refs = row.args.componentRefs
      local found = refs ~= json.null and recipe.load(HEADER .. "componentRefs: " .. refs, "r.yaml") or nil
      assert.equal(row.result, recipe.declares(found, row.args.component))
    end)
  end

  it("says of a gate that is no boolean that the component counts as enabled", function()
    local found, warnings = recipe.load(HEADER .. "componentRefs:\n- name: a\n  overrides: {enabled: no}\n",
      "r.yaml")
    assert.is_true(recipe.declares(found, "a"))
    assert.same({ 'r.yaml: componentRefs[0].overrides.enabled: "no" is not a boolean, so the component'
      .. " counts as enabled (write true or false)" }, warnings)
  end)

  it("keeps nulls of overrides and drops those of typed fields", function()
    local found = recipe.load(HEADER .. "criteria: null\ncomponentRefs: [{name: a, version: null,"
      .. " overrides: {x: null}}]", "r.yaml")
    assert.is_nil(found.criteria)
    assert.is_nil(found.componentRefs[1].version)
    assert.equal(json.null, found.componentRefs[1].overrides.x)
  end)

  it("reads whole numbers and booleans in text fields as their text", function()
    local found = recipe.load(HEADER .. "componentRefs: [{name: 7, version: true}]\n"
      .. "validation: {performance: {constraints: [{name: a, value: 300}], checks: [1]}}", "r.yaml")
    assert.equal("7", found.componentRefs[1].name)
    assert.equal("true", found.componentRefs[1].version)
    assert.equal("300", found.validation.performance.constraints[1].value)
    assert.equal("1", found.validation.performance.checks[1])
  end)

  it("refuses a constraint whose digits may be lost, and warns elsewhere", function()
    local err = refused(recipe.load, HEADER .. "constraints: [{name: K8s.server.version, value: 1.30}]",
      "r.yaml")
    assert.truthy(err.message:find("r.yaml: constraints[0].value: write the value in quotes", 1, true))
    local _, warnings = recipe.load(HEADER .. "componentRefs: [{name: a, version: 1.30}]", "r.yaml")
    assert.equal(1, #warnings)
    assert.truthy(warnings[1]:find("componentRefs[0].version", 1, true))
  end)

  it("warns of unknown fields with the nearest known one", function()
    local found, warnings = recipe.load(HEADER .. "validation: {deployment: {cheks: [a]}}\nzzz: 1",
      "r.yaml")
    assert.same({ 'r.yaml: validation.deployment.cheks: unknown field; did you mean "checks"?',
      "r.yaml: zzz: unknown field" }, warnings)
    assert.equal(1, found.zzz)
  end)

  it("reads JSON", function()
    local found, warnings = recipe.load('{"kind":"RecipeResult","apiVersion":"aicr.run/v1",'
      .. '"componentRefs":[{"name":"a","overrides":{"enabled":false}},{"name":"a"}]}', "r.json")
    assert.same({}, warnings)
    assert.is_true(recipe.declares(found, "a"))
    assert.equal(found.componentRefs[2], recipe.component(found, "a"))
  end)

  local rows = {
    { "two documents", HEADER .. "---\n" .. HEADER, "malformed" },
    { "no document", "", "malformed" },
    { "no YAML", "kind: [", "malformed" },
    { "a list", "[]", "wrong-type" },
    { "a text", "hello", "wrong-type" },
    { "a repeated key", HEADER .. "kind: RecipeResult", "duplicate-key" },
    { "a repeated key below", HEADER .. "componentRefs: [{name: a, overrides: {x: 1, x: 2}}]",
      "duplicate-key" },
    { "components that are no list", HEADER .. "componentRefs: {name: a}", "wrong-type" },
    { "a component that is a text", HEADER .. "componentRefs: [a]", "wrong-type" },
    { "overrides that are a list", HEADER .. "componentRefs: [{name: a, overrides: [x]}]", "wrong-type" },
    { "a name that is a map", HEADER .. "componentRefs: [{name: {}}]", "wrong-type" },
    { "nodes that are a text", HEADER .. "criteria: {nodes: two}", "wrong-type" },
    { "cleanup that is a number", HEADER .. "componentRefs: [{name: a, cleanup: 1}]", "wrong-type" },
    { "a profile in v1", HEADER .. "metadata: {selectedProfile: {name: a}}", "incoherent" },
  }
  for _, row in ipairs(rows) do
    it("refuses " .. row[1], function()
      local err = refused(recipe.load, row[2], "r.yaml")
      assert.equal(row[3], err.reason)
      assert.equal("r.yaml: ", err.message:sub(1, 8))
    end)
  end

  it("reads the typed booleans of old YAML", function()
    local found = recipe.load(HEADER .. "componentRefs: [{name: a, cleanup: yes, healthCheckSkip: off}]",
      "r.yaml")
    assert.is_true(found.componentRefs[1].cleanup)
    assert.is_false(found.componentRefs[1].healthCheckSkip)
  end)

  it("needs no file name", function()
    assert.equal("wrong-type", refused(recipe.load, "[]").reason)
  end)
end)

describe("recipe.constraint", function()
  local found = recipe.load(HEADER .. [[
constraints: [{name: a, value: top}]
validation:
  readiness: {constraints: [{name: a, value: second}, {name: b, value: ready}]}
  performance: {constraints: [{name: p, value: "1"}, {name: p, value: "2"}]}
]], "r.yaml")

  it("finds the first of the phase", function()
    assert.equal("1", recipe.constraint(found, "performance", "p").value)
    assert.equal("top", recipe.constraint(found, "readiness", "a").value)
    assert.equal("ready", recipe.constraint(found, "readiness", "b").value)
  end)

  it("is nil where there is none", function()
    assert.is_nil(recipe.constraint(found, "deployment", "p"))
    assert.is_nil(recipe.constraint(found, "performance", "a"))
    assert.is_nil(recipe.constraint(nil, "performance", "a"))
  end)
end)

describe("configuration.gke.tcpxoInterfaces", function()
  local LYRA <const> = files.read "recipes/lyra.yaml"

  local function changed(from, to, count)
    local text, n = LYRA:gsub(from, to, count)
    assert(n > 0, "nothing changed: " .. from)
    return text
  end

  it("is coherent in the example, which has no warning", function()
    local found, warnings = recipe.load(LYRA, "lyra.yaml")
    assert.same({}, warnings)
    assert.is_true(recipe.declares(found, "gke-nccl-tcpxo"))
  end)

  local rows = {
    { "apiVersion", changed("v1beta2", "v1"), "incoherent", "needs apiVersion aicr.run/v1beta2" },
    { "seven pairs", changed("      %- {interfaceName: eth8, network: lyra%-gpu%-nic%-k8}\n", "", 1),
      "mapping-invalid", "8" },
    { "no mapping at all", changed("    tcpxoInterfaces:\n.-\nconstraints:", "    {}\nconstraints:", 1),
      "mapping-invalid", "8" },
    { "service", changed("service: gke", "service: eks"), "incoherent", 'criteria.service gke, found "eks"' },
    { "accelerator", changed("accelerator: h100, ", ""), "incoherent", "criteria.accelerator h100, found nothing" },
    { "platform", changed("platform: kubeflow", "platform: slurm"), "incoherent", "criteria.platform kubeflow" },
    { "no criteria", changed("criteria: [^\n]*\n", ""), "incoherent", "criteria.service" },
    { "the manifest", changed("torch%-distributed%-tcpxo%-cluster", "torch-other-cluster"),
      "incoherent", "to ship torch-distributed-tcpxo" },
    { "a disabled trainer", changed("    overrides:\n", "    overrides:\n      install: false\n"),
      "incoherent", "to ship torch-distributed-tcpxo" },
    { "a disabled first trainer, whatever follows", changed("  %- name: kubeflow%-trainer\n",
      "  - {name: kubeflow-trainer, overrides: {enabled: false}}\n  - name: kubeflow-trainer\n"),
      "incoherent", "to ship torch-distributed-tcpxo" },
    { "no TCPXO component", changed("name: gke%-nccl%-tcpxo\n", "name: other\n"), "incoherent",
      "gke-nccl-tcpxo to be enabled" },
    { "a profile that owns the override", changed("metadata:\n", "metadata:\n  selectedProfile: {name: p,"
      .. " value: v, ownedPaths: {kubeflow-trainer: [tcpxoInterfaces]}}\n"), "incoherent", "profile" },
    { "no override", changed("    overrides:\n      tcpxoInterfaces:\n.-\ndeploymentOrder",
      "deploymentOrder"), "incoherent", "has no override" },
    { "an override of null", changed("    overrides:\n      tcpxoInterfaces:\n.-\ndeploymentOrder",
      "    overrides: {tcpxoInterfaces: null}\ndeploymentOrder"), "mapping-malformed", "found null" },
    { "an override in another order", changed("(        %- {interfaceName: eth1[^\n]*\n)(        %- [^\n]*\n)",
      "%2%1"), "incoherent", "differ" },
    { "an override with another network", changed("(        %- {interfaceName: eth3, network: )lyra%-gpu%-nic%-k3",
      "%1lyra-gpu-nic-k33"), "incoherent", "differ" },
  }
  for _, row in ipairs(rows) do
    it("is refused for " .. row[1], function()
      local err = refused(recipe.load, row[2], "lyra.yaml")
      assert.equal(row[3], err.reason)
      assert.truthy(err.message:find(row[4], 1, true), err.message)
    end)
  end

  it("may stand beside a profile that owns something else", function()
    local text = changed("metadata:\n", "metadata:\n  selectedProfile: {name: p, value: v,"
      .. " ownedPaths: {kubeflow-trainer: [tcpxo, tcpxoInterfacesX]}}\n")
    assert.is_table((recipe.load(text, "lyra.yaml")))
  end)
end)
