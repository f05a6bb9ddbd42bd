-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local head = require "aicr.engine.facts"
local plan = require "aicr.engine.plan"
local platform = require "aicr.engine.platform"
local target = require "aicr.engine.target"

describe("a platform's name", function()
  for _, row in ipairs {
    { "gke", "gcp" }, { "eks", "aws" }, { "aks", "azure" }, { "oke", "oci" }, { "gcp", "gcp" },
    { "nscale", "nscale" },
    { "kind", nil }, { "GKE", nil }, { "", nil }, { "any", nil },
  } do
    it(("%s stands for %s"):format(row[1], tostring(row[2])), function()
      assert.equal(row[2], platform.canonical(row[1]))
    end)
  end

  it("is one of the nine on the command line, without aliases", function()
    for _, name in ipairs(platform.NAMES) do
      assert.is_true(platform.is_name(name))
    end
    for _, name in ipairs { "gke", "AWS", " gcp", "on-prem", "" } do
      assert.is_false(platform.is_name(name))
    end
    assert.equal("aws, gcp, azure, oci, onprem, togetherai, mistral, forge, nscale",
      platform.list())
  end)

  for _, row in ipairs {
    { { "gke" }, "gcp", true }, { { "gcp" }, "gcp", true }, { { "aws", "gcp" }, "gcp", true },
    { { "aws" }, "gcp", false },
    { {}, "gcp", true }, { nil, "gcp", true }, { { "aws" }, nil, true },
  } do
    it(("%s on %s: %s"):format(row[1] and table.concat(row[1], "+") or "any", tostring(row[2]),
      tostring(row[3])),
      function()
        assert.equal(row[3], platform.matches(row[1], row[2]))
      end)
  end
end)

describe("the plan", function()
  it("gives each check its limit and its turn", function()
    local items = plan.complete({
      { phase = "deployment", meta = {} }, { phase = "performance", meta = {} },
      { phase = "performance", meta = { exclusive = false, timeout_ms = 1000 } },
      { phase = "conformance", meta = { timeout_ms = 1000, exclusive = true }, timeout_ms = 7 },
    }, {})
    local out = {}
    for i, item in ipairs(items) do
      out[i] = { item.timeout_ms, item.exclusive }
    end
    assert.same({ { 300000, false }, { 1800000, true }, { 1000, false }, { 7, true } }, out)
  end)

  it("keeps what was decided before the platform was known", function()
    local decided = { outcome = "skip", reason = "skipped-by-user", message = "x" }
    local items = plan.apply_platform({ { meta = { platforms = { "aws" } }, preset = decided } },
      "gcp", false)
    assert.equal(decided, items[1].preset)
  end)
end)

local function node(provider_id, labels, gpus)
  return {
    metadata = { name = "n", labels = labels },
    spec = { providerID = provider_id },
    status = { allocatable = gpus and { ["nvidia.com/gpu"] = gpus } },
  }
end

-- Runs the embedded task on nodes; gives the facts.
local function look(nodes)
  local facts = {}
  local ctx = {
    k8s = {
      server_version = function() return "v1.34.4" end,
      each = function(_, resource)
        assert.equal("nodes", resource)
        local i = 0
        return function()
          i = i + 1
          return nodes[i]
        end
      end,
    },
    try = function(_, f, ...) return f(...) end,
    extra = function(_, t)
      for k, v in pairs(t) do
        facts[k] = v
      end
    end,
    progress = function() facts.answers = true end,
  }
  assert.is_string(target.run(ctx))
  return facts
end

describe("looking at the target", function()
  for _, row in ipairs {
    { "gce://p/z/n", nil, "gcp" }, { "aws:///z/i", nil, "aws" }, { "azure:///x", nil, "azure" },
    { "ocid1.instance.x", nil, "oci" },
    { "nscale://x", nil, "nscale" }, { "openstack:///x", nil, "onprem" },
    { "metal3://x", nil, "mistral" },
    { "kubevirt://x", { ["node-role.together.ai/worker"] = "" }, "togetherai" },
    { "kubevirt://x", nil, "onprem" },
    { nil, { ["kubernetes.io/hostname"] = "a-forge-1" }, "forge" },
    { "", { ["nke.nvidia.com/site-name"] = "" }, "forge" },
    { nil, { ["cloud.google.com/gke-accelerator"] = "x" }, "gcp" }, { nil, nil, nil },
    { "kind://docker/x", nil, nil },
    { "GCE://x", nil, nil },
  } do
    it(("says %s for %s"):format(tostring(row[3]), row[1] or (row[2] and next(row[2]))
      or "a bare node"), function()
      local facts = look { node(row[1], row[2], "8") }
      assert.equal(row[3], facts.platform)
      assert.equal(row[3] == nil, facts.reason ~= nil)
      assert.equal(row[3] ~= nil, facts.platform_why ~= nil)
    end)
  end

  it("guesses nothing for a mixed set, one unknown node, or none", function()
    local mixed = look { node("gce://x"), node("aws:///x"), node("gce://y") }
    assert.is_nil(mixed.platform)
    assert.equal("the nodes are of more than one platform: gcp 2 (node \"n\": its provider ID starts with gce://), "
      .. "aws 1 (node \"n\": its provider ID starts with aws://)", mixed.reason)
    local unknown = look { node("gce://x"), node(nil), node("k3s://x") }
    assert.is_nil(unknown.platform)
    assert.equal("2 nodes do not say which platform this is, such as node \"n\": it has no provider ID", unknown.reason)
    assert.equal("there are no nodes", look({}).reason)
    assert.same({ 0, 0 }, { look({}).gpu_nodes, look({}).gpus })
    assert.is_nil(look({}).platform)
  end)

  it("knows the version before it looks at the nodes", function()
    local facts
    pcall(target.run, {
      k8s = { server_version = function() return "v1.34.4" end, each = function() error("forbidden") end },
      try = function(_, f, ...) return f(...) end,
      extra = function(_, t) facts = t end,
      progress = function() end,
    })
    assert.same({ server_version = "v1.34.4" }, facts)
  end)

  for _, row in ipairs {
    { what = "a server that answers slowly", heard = true, canceled = nil },
    { what = "a silent server", heard = false, canceled = "the server did not answer within 15s" },
  } do
    it("waits as it should for " .. row.what, function()
      local clock, canceled, said = 0, nil, not row.heard
      local found = head.read({
        embedded = function() return "" end, start = function() end,
        monotonic = function() return clock end,
        cancel = function(_, reason) canceled = reason end,
        next = function(ms)
          clock = clock + ms
          if not said then
            said = true
            return { id = 0, kind = "progress", text = "the server answers" }
          elseif canceled then
            return { id = 0, kind = "done", ending = { how = "canceled", reason = canceled }, record = {} }
          elseif clock >= 40000 then
            return { id = 0, kind = "done", ending = { how = "returned" }, record = { extra = { gpus = 8 } } }
          end
          return { kind = "tick" }
        end,
      }, {})
      assert.equal(row.canceled, canceled)
      assert.equal(row.canceled, found.reason)
      assert.equal(row.heard and 8 or nil, found.gpus)
      assert.equal(row.heard and 40000 or 16000, clock)
    end)
  end

  it("counts nodes and GPUs", function()
    local facts = look { node("gce://a", nil, "8"), node("gce://b", nil, "4"),
      node("gce://c", nil, "0"), node("gce://d"),
      { metadata = {}, spec = {}, status = { capacity = { ["nvidia.com/gpu"] = 2 } } } }
    assert.same({ 3, 14 }, { facts.gpu_nodes, facts.gpus })
    assert.is_nil(facts.gpu_nodes_empty)
  end)

  it("counts nodes that are labelled and offer no GPU", function()
    local labels = { { ["cloud.google.com/gke-accelerator"] = "nvidia-h100-mega-80gb" },
      { ["nvidia.com/gpu.present"] = "true" }, { ["feature.node.kubernetes.io/pci-10de.present"] = "true" },
      { ["nvidia.com/gpu.present"] = "false" }, {} }
    local nodes = { node("gce://a", labels[1], "8") }
    for i, l in ipairs(labels) do
      nodes[i + 1] = node("gce://n" .. i, l, i == 1 and "0" or nil)
    end
    local facts = look(nodes)
    assert.same({ 1, 8, 3 }, { facts.gpu_nodes, facts.gpus, facts.gpu_nodes_empty })
  end)
end)
