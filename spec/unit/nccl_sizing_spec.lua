-- SPDX-License-Identifier: Apache-2.0
--- Which nodes the benchmark runs on: gke-tcpxo.md 5.3, vectors R-03 and R-04.
require "aicr_native"
local errors = require "aicr.native.error"
local json = require "aicr.json"
local sizing = require "aicr.nccl_runtime.sizing"

local H100 <const> = "NVIDIA-H100-80GB-HBM3"

local function node(name, gpus, labels, spec)
  return {
    metadata = { name = name, labels = labels or {} }, spec = spec or {},
    status = { allocatable = { ["nvidia.com/gpu"] = gpus, cpu = "8" } },
  }
end

local function product(name)
  return { ["nvidia.com/gpu.product"] = name }
end

describe("the nodes of the benchmark", function()
  local rows = {
    { "two of eight", { node("b", "8"), node("a", "8") }, {}, { "a", "b" }, 8 },
    { "a uniformly low count", { node("a", "4"), node("b", "4") }, {}, { "a", "b" }, 4 },
    { "nodes without GPUs are none", { node("a", "8"), node("b", "8"), node("c", "0"), node("d", nil) }, {},
      { "a", "b" }, 8 },
    { "cordoned ones are left out", { node("a", "8"), node("b", "8"), node("c", "4", {}, { unschedulable = true }) },
      {}, { "a", "b" }, 8 },
    { "by the selector", { node("a", "8", { pool = "x" }), node("b", "8", { pool = "x" }), node("c", "2") },
      { selector = { pool = "x" } }, { "a", "b" }, 8 },
    { "a selector goes before the product", { node("a", "8", { pool = "x" }), node("b", "8", { pool = "x" }),
      node("c", "8", product(H100)) }, { selector = { pool = "x" }, product = "NVIDIA-H100-" }, { "a", "b" }, 8 },
    { "by the product", { node("a", "8", product(H100)), node("b", "8", product(H100)), node("c", "8", product "L4"),
      node("d", "8") }, { product = "NVIDIA-H100-" }, { "a", "b" }, 8 },
    { "where no product is named, all", { node("a", "8"), node("b", "8") }, { product = "NVIDIA-H100-" },
      { "a", "b" }, 8 },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local size, fault = sizing.of(row[2], row[3])
      assert.is_nil(fault)
      assert.same(row[4], size.nodes)
      assert.same({ #row[4], row[5], #row[4] * row[5] }, { size.workers, size.gpus, size.total })
    end)
  end

  local faults = {
    { "no node", {}, {}, "INTERNAL", "no-gpu-nodes", "no node of 0" },
    { "only cordoned ones", { node("a", "8", {}, { unschedulable = true }) }, {}, "INTERNAL", "no-gpu-nodes",
      "cordoned: a" },
    { "R-03 one node", { node("a", "8") }, {}, "NOT_FOUND", "too-few-nodes", "one GPU node for it: a" },
    { "one node and a cordoned one", { node("a", "8"), node("b", "8", {}, { unschedulable = true }) }, {},
      "NOT_FOUND", "too-few-nodes", "cordoned: b" },
    { "R-04 different counts", { node("a", "8"), node("b", "7") }, {}, "INTERNAL", "gpu-counts", "b (7/8)" },
    { "none with the labels", { node("a", "8"), node("b", "8") }, { selector = { pool = "x", k = "v" } }, "INTERNAL",
      "no-gpu-nodes", "k=v,pool=x" },
    { "none of the product", { node("a", "8", product "NVIDIA-A100"), node("b", "8", product "L4") },
      { product = "NVIDIA-H100-" }, "INTERNAL", "no-gpu-nodes", "L4, NVIDIA-A100" },
  }
  for _, row in ipairs(faults) do
    it("are not enough: " .. row[1], function()
      local size, fault = sizing.of(row[2], row[3])
      assert.is_nil(size)
      assert.same({ row[4], row[5] }, { fault.code, fault.reason })
      assert.truthy(fault.message:find(row[6], 1, true), fault.message)
    end)
  end

  for _, count in ipairs { "8\27x", "", "-8", "7500m", "7.9999999" } do
    it(("cannot be told from the count %q"):format(count), function()
      local ok, err = pcall(sizing.of, { node("b", "8"), node("c", "8"), node("a", count) }, {})
      assert.is_false(ok)
      assert.is_true(errors.is(err))
      assert.same({ "INTERNAL", "gpu-count", false }, { err.code, err.reason, err.verdict })
      assert.is_nil(err.message:find("\27", 1, true))
    end)
  end

  local GKE <const> = "cloud.google.com/gke-accelerator"
  local MEGA <const> = { [GKE] = "nvidia-h100-mega-80gb" }
  local function capacity(one, gpus)
    one.status.capacity = { ["nvidia.com/gpu"] = gpus }
    return one
  end
  local left = {
    { "nobody", node("c", "0"), {}, nil },
    { "one without a number", node("c", nil), {}, nil },
    { "one that is cordoned", node("c", "8", {}, { unschedulable = true }), {}, "cordoned: c" },
    { "one whose plug-in offers none of its GPUs", capacity(node("c", "0"), "8"), {},
      "offers no GPU that pods can use: c" },
    { "one whose plug-in is not there", node("c", nil, MEGA), {}, "offers no GPU that pods can use: c" },
    { "one that feature discovery knows", node("c", "0", { ["nvidia.com/gpu.present"] = "true" }), {},
      "offers no GPU that pods can use: c" },
    { "one that was chosen", node("c", "0", { pool = "x", [GKE] = "y" }), { selector = { pool = "x" } },
      "offers no GPU that pods can use: c" },
    { "not one that was not chosen", node("c", "0", MEGA), { selector = { pool = "x" } }, nil },
    { "not one of another product", node("c", "0", product "NVIDIA-L4"), { product = "NVIDIA-H100-" }, nil },
    { "not one of another accelerator", node("c", "0", { [GKE] = "nvidia-l4" }), { product = "NVIDIA-H100-" }, nil },
    { "one that does not say its product", capacity(node("c", "0"), "8"), { product = "NVIDIA-H100-" },
      "offers no GPU that pods can use: c" },
  }
  for _, row in ipairs(left) do
    it("leave out " .. row[1], function()
      local labels = { pool = "x", ["nvidia.com/gpu.product"] = H100, [GKE] = MEGA[GKE] }
      local size, fault = sizing.of({ node("a", "8", labels), row[2], node("b", "8", labels) }, row[3])
      assert.is_nil(fault)
      assert.same({ 2, row[4] and 3 or 2 }, { size.workers, size.seen })
      assert.equal(row[4], size.left_out)
    end)
  end

  it("name those that are left out where none is left", function()
    local _, fault = sizing.of({ node("a", "0", MEGA), node("b", "8", {}, { unschedulable = true }) }, {})
    assert.truthy(fault.message:find("cordoned: b; offers no GPU that pods can use: a", 1, true), fault.message)
  end)

  it("names no more than ten nodes", function()
    local nodes = {}
    for i = 1, 40 do
      nodes[i] = node(("n%02d"):format(i), "8", {}, { unschedulable = i > 1 })
    end
    local _, fault = sizing.of(nodes, {})
    assert.truthy(fault.message:find("n11 and 29 more", 1, true), fault.message)
  end)
end)

describe("the node selector of a template", function()
  it("is what it says, or nil", function()
    assert.same({ a = "b" }, sizing.template_selector { spec = { nodeSelector = { a = "b" } } })
    assert.is_nil(sizing.template_selector { spec = { nodeSelector = {} } })
    assert.is_nil(sizing.template_selector { spec = {} })
    assert.is_nil(sizing.template_selector(nil))
  end)

  for what, selector in pairs { ["a list"] = json.array { "a=b" }, ["text"] = "a=b", ["a number in it"] = { a = 1 } } do
    it("is refused as " .. what, function()
      local ok, err = pcall(sizing.template_selector, { spec = { nodeSelector = selector } })
      assert.is_false(ok)
      assert.same({ "INVALID_REQUEST", "node-selector", true }, { err.code, err.reason, err.verdict })
    end)
  end
end)
