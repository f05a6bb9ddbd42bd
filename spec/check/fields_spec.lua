-- SPDX-License-Identifier: Apache-2.0
--- `fields` of ctx.k8s:list and :each, through the real program.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"

local GPU <const> = [['metadata.name', 'status.allocatable["nvidia.com/gpu"]', 'spec.taints[*].key']]

-- Runs a check on the healthy recording whose run is `body`.
local function run(body)
  local folder = files.folder()
  files.write(folder .. "/one.lua", ([[
return {
  name = "one", phase = "deployment", summary = "It is so",
  needs = { "list nodes", "list networks.networking.gke.io" },
  run = function(ctx)
%s
  end,
}
]]):format(body))
  local report = binary.report { "--recording", "spec/fixtures/recordings/lyra-ok", folder .. "/one.lua" }
  files.remove(folder)
  return report.checks[1]
end

describe("the fields of a list", function()
  local holds = {
    { "are what the whole objects hold", [[
    local all = ctx.k8s:list("nodes")
    local some = ctx.k8s:list("nodes", { fields = { GPU } })
    ctx:must("nodes", #some, "==", #all)
    for i, node in ipairs(all) do
      ctx:must("name", some[i].metadata.name, "==", node.metadata.name)
      ctx:must("GPUs", some[i].status.allocatable["nvidia.com/gpu"], "==", node.status.allocatable["nvidia.com/gpu"])
      for j, taint in ipairs(node.spec.taints or {}) do
        ctx:must("taint", some[i].spec.taints[j].key, "==", taint.key)
      end
    end
    return "same"]] },
    { "come with each, too, and with selectors", [[
    local label = "cloud.google.com/gke-accelerator"
    local n, gpus = 0, 0
    for node in ctx.k8s:each("nodes", { label = label, fields = { GPU } }) do
      n, gpus = n + 1, gpus + math.tointeger(tonumber(node.status.allocatable["nvidia.com/gpu"]))
    end
    ctx:must("nodes", n, "==", #ctx.k8s:list("nodes", { label = label }))
    ctx:must("GPUs", gpus, "==", 8 * n)
    return "counted"]] },
    { "are nothing else", [[
    local keys = {}
    for _, node in ipairs(ctx.k8s:list("nodes", { fields = { "metadata.name", "kind" } })) do
      for key in pairs(node) do keys[key] = true end
      for key in pairs(node.metadata) do keys[key] = true end
      ctx:must("kind", node.kind, "==", "Node")
    end
    ctx:must("keys", keys, "==", { metadata = true, name = true, kind = true })
    return "few"]] },
    { "are nil where an object has none", [[
    for _, node in ipairs(ctx.k8s:list("nodes", { fields = { "metadata.none", "none[*].x", "none2.x" } })) do
      ctx:must("absent", node.metadata.none == nil and node.none == nil and node.none2 == nil, "==", true)
    end
    return "absent"]] },
    { "may be written to JSON and compared", [[
    local nodes = ctx.k8s:list("nodes", { fields = { "metadata.name" } })
    local json = require "aicr.json"
    ctx:must("text", json.encode(nodes[1]), "==", ('{"metadata":{"name":"%s"}}'):format(nodes[1].metadata.name))
    ctx:must("value", nodes[1], "==", { metadata = { name = nodes[1].metadata.name } })
    return "data"]] },
    { "take a whole subtree", [[
    local all, some = ctx.k8s:list("nodes"), ctx.k8s:list("nodes", { fields = { "metadata" } })
    for i, node in ipairs(all) do
      ctx:must("metadata", some[i].metadata, "==", node.metadata)
      ctx:must("no guard below", some[i].metadata.nothing, "==", nil)
    end
    return "whole"]] },
  }
  for _, row in ipairs(holds) do
    it(row[1], function()
      local got = run((row[2]:gsub("GPU }", GPU .. " }")))
      assert.equal("pass", got.outcome, got.message)
    end)
  end

  -- What was not read is not "absent": it is the check's slip, and no verdict.
  local slips = {
    { "{ 'metadata.name' }", "node.status", "status was not read: add it to the fields of this list" },
    { "{ 'metadata.name' }", "node.metadata.labels", "metadata.labels was not read" },
    { "{ 'metadata.name' }", "node.kind", "kind was not read" },
    { "{ 'spec.taints[*].key' }", "node.spec.podCIDR", "spec.podCIDR was not read" },
    { "{ 'status.addresses[*].type' }", "node.status.addresses[1].address",
      "status.addresses[*].address was not read" },
    { "{}", "node", "option 'fields' must be a list of paths, and is empty" },
    { "'metadata.name'", "node", "option 'fields' must be a list of paths, got string" },
    { "{ 7 }", "node", "option 'fields': a path must be a string, got number" },
    { "{ 'a..b' }", "node", 'the path "a..b": a name is missing' },
    { "{ 'metadata.labels.app.kubernetes.io/name' }", "node", "after a name there must be '.' or '['" },
    { "{ 'a[0]' }", "node", "after '[' there must be *]" },
    { "many", "node", "option 'fields': more than 64 paths" },
  }
  for _, row in ipairs(slips) do
    it(("%s: %s"):format(row[1], row[2]), function()
      local got = run(([[
    local many = {}
    for i = 1, 65 do many[i] = "f" .. i end
    for _, node in ipairs(ctx.k8s:list("nodes", { fields = %s })) do
      ctx:expect("x", %s, "==", nil)
    end
    return "fine"]]):format(row[1], row[2]))
      assert.equal("error", got.outcome)
      assert.truthy(got.message:find(row[3], 1, true), got.message)
    end)
  end

  it("stand among the options that are named", function()
    local got = run "    return #ctx.k8s:list('nodes', { feilds = { 'a' } })"
    assert.truthy(got.message:find("unknown option 'feilds': namespace, label, field, fields", 1, true), got.message)
  end)
end)
