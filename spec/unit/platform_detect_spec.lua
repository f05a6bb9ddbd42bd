-- SPDX-License-Identifier: Apache-2.0
--- What nodes say of platform, GPUs and NICs: platform-runtimes.md 4.5, 5 and rows 69 to 96 of its
--- section 8.
require "aicr_native"
local json = require "aicr.json"
local older = require "spec.support.platform_older"
local platform = require "aicr.platform"
local raised = require "spec.support.raised"
local support = require "spec.support.platform"
local vectors = require "spec.support.vectors"

-- A node of the API from the short form of the vectors.
local function node(short)
  return {
    metadata = { name = short.name or "n1", labels = short.labels, annotations = short.annotations },
    spec = { providerID = short.providerID },
    status = short.allocatable and { allocatable = short.allocatable },
  }
end

local function nodes(list)
  local out = {}
  for i, short in ipairs(list) do
    out[i] = node(short)
  end
  return out
end

local function names(list)
  local out = json.array()
  for i, one in ipairs(list) do
    out[i] = one.metadata.name
  end
  return out
end

local PRODUCT <const> = "nvidia.com/gpu.product"

-- "h100 - gb200": nodes n1, n2, n3; "-" has no label.
local function fleet(words)
  local out = {}
  for word in words:gmatch "%S+" do
    local label = word ~= "-" and { [PRODUCT] = "NVIDIA-" .. word:upper() .. "-80GB" } or nil
    out[#out + 1] = node { name = "n" .. #out + 1, labels = label }
  end
  return out
end

describe("platform_of", function()
  local TOGETHER <const> = { ["node-role.together.ai/worker"] = "" }
  local rows = {
    { "8.69", "aws:///us-east-1a/i-1", nil, "aws", true },
    { "8.70", "gce://p/z/n", nil, "gcp", true }, { "8.70", "azure:///subscriptions/x", nil, "azure", true },
    { "8.70", "ocid1.instance.x", nil, "oci", true },
    { "8.71", "", { ["kubernetes.io/hostname"] = "node-forge-3" }, "forge", true },
    { "8.72", nil, { ["nke.nvidia.com/site-name"] = "" }, "forge", true },
    { "8.73", "", { ["kubernetes.io/hostname"] = "FORGE-1" }, "onprem", false },
    { "8.74", "openstack://x", nil, "onprem", true }, { "8.74", "nscale://x", nil, "nscale", true },
    { "8.75", "kubevirt://x", TOGETHER, "togetherai", true }, { "8.75", "kubevirt://x", nil, "onprem", true },
    { "8.76", "metal3://x", nil, "mistral", true },
    { "8.77", "kind://docker/x", nil, "onprem", false }, { "8.77", "AWS:///x", nil, "onprem", false },
  }
  for _, row in ipairs(rows) do
    it(("%s %s is %s"):format(row[1], row[2] or "nothing", row[4]), function()
      local name, told, why = platform.platform_of(node { providerID = row[2], labels = row[3] })
      assert.equal(row[4], name)
      assert.equal(row[5], told)
      assert.is_string(why)
    end)
  end
  it("8.74 takes the resource of nscale for nothing", function()
    local with = node { providerID = "openstack://x", allocatable = { ["nscale.com/rdmashare"] = "8" } }
    assert.equal("onprem", (platform.platform_of(with)))
  end)
end)

describe("detect_platform", function()
  it("8.78 names what each kind of node says", function()
    local err = raised(platform.detect_platform, nodes {
      { name = "a", providerID = "aws://1" }, { name = "b", providerID = "aws://2" }, { name = "c" },
    })
    assert.equal("mixed-platforms", err.reason)
    assert.is_false(err.verdict)
    assert.same({ aws = 2, onprem = 1 }, err.details.platforms)
    for _, part in ipairs { "aws 2, onprem 1", "c: it has no provider ID", "--platform" } do
      assert.is_truthy(err.message:find(part, 1, true), err.message)
    end
  end)
  for _, opts in ipairs { {}, { lenient = true } } do
    it("8.79 is onprem of no nodes", function()
      assert.equal("onprem", platform.detect_platform({}, opts).platform)
    end)
  end
  it("says that onprem is only what is left, and what Metal3 looks like", function()
    local left = platform.detect_platform(nodes { { name = "a", providerID = "k3s://a" } })
    assert.is_false(left.told)
    assert.is_truthy(left.why:find('"k3s://a"', 1, true))
    assert.is_truthy(left.note:find("--platform", 1, true))
    assert.is_truthy(platform.detect_platform(nodes { { providerID = "metal3://x" } }).note:find("Metal3", 1, true))
    assert.is_nil(platform.detect_platform(nodes { { providerID = "gce://x" } }).note)
  end)
  it("is lenient by the first node by name", function()
    local mixed = nodes { { name = "b", providerID = "aws://1" }, { name = "a", providerID = "gce://1" } }
    assert.equal("gcp", platform.detect_platform(mixed, { lenient = true }).platform)
    assert.equal("b", mixed[1].metadata.name)
  end)
  for _, row in ipairs(vectors.rows(support.FILE, "detect_platform")) do
    it(row.id .. " " .. row.args.rev, function()
      local list = nodes(row.args.rev == "S" and older.nodes(row.args.nodes) or row.args.nodes)
      assert.equal(row.result.lenient, platform.detect_platform(list, { lenient = true }).platform)
      if row.result.conflict then
        assert.same(row.result.conflict, raised(platform.detect_platform, list).details.platforms)
      else
        assert.equal(row.result.strict, platform.detect_platform(list).platform)
      end
    end)
  end
end)

describe("gpu_architecture", function()
  for _, row in ipairs {
    { "8.80", "NVIDIA-H100-80GB-HBM3", "h100" }, { "8.80", "NVIDIA-GB200-NVL72", "gb200" },
    { "8.80", "NVIDIA-GB300", "gb300" }, { "8.80", "NVIDIA-L40S", "l40s" },
    { "8.81", "Tesla-V100-SXM2-16GB", "tesla" }, { "8.81", "nvidia-h100", "nvidia" }, { "8.81", "H200", "h200" },
    { "8.82", "NVIDIA-RTX-PRO-6000-Blackwell", "rtxpro6000" },
  } do
    it(("%s %s"):format(row[1], row[2]), function()
      assert.equal(row[3], platform.gpu_architecture(row[2]))
    end)
  end
  for _, row in ipairs(vectors.rows(support.FILE, "gpu_arch")) do
    it(("%s %q"):format(row.id, row.args.product), function()
      local got = platform.gpu_architecture(row.args.product)
      assert.equal(row.result, row.args.rev == "S" and older.architecture(row.args.product, got) or got)
    end)
  end
end)

describe("product_label_value", function()
  for _, row in ipairs(vectors.rows(support.FILE, "product_label_value")) do
    it(("%s %q"):format(row.id, row.args.name), function()
      assert.equal(row.result, platform.product_label_value(row.args.name))
    end)
  end
end)

describe("detect_architecture", function()
  local rows = {
    { "8.83", "h100 gb200 gb200", "gb200", "n2 n3", "gb200 2, h100 1; gb200 was taken, 1 node is left out: --arch" },
    { "8.84", "h100 gb200", "h100", "n1", "h100 was taken because it has the first node by name of those as frequent" },
    { "8.85", "- - - h100", "h100", "n4", "h100 1, without the label nvidia.com/gpu.product 3" },
    { "8.86", "- -", "unknown", "n1 n2",
      "no node has the label nvidia.com/gpu.product: say the architecture with --arch" },
    { "one kind", "h100 h100", "h100", "n1 n2" },
  }
  for _, row in ipairs(rows) do
    it(("%s %s"):format(row[1], row[2]), function()
      local got = platform.detect_architecture(fleet(row[2]))
      assert.equal(row[3], got.arch)
      assert.equal(row[4], table.concat(names(got.kept), " "))
      if row[5] then
        assert.is_truthy(got.note:find(row[5], 1, true), got.note)
      else
        assert.is_nil(got.note)
      end
    end)
  end
  it("8.83 says what the nodes have that are left out", function()
    local out = platform.detect_architecture(fleet "h100 gb200 gb200 -")
    assert.same({ { node = "n1", arch = "h100" }, { node = "n4", arch = "unknown" } }, out.excluded)
  end)
  it("takes what the user says, without a note", function()
    local got = platform.detect_architecture(fleet "h100 gb200 gb200", { arch = "h100" })
    assert.same({ "n1" }, names(got.kept))
    assert.is_nil(got.note)
    assert.same({ "n1", "n2" }, names(platform.detect_architecture(fleet "- -", { arch = "h100" }).kept))
  end)
  it("reads the devices of nodes without a label", function()
    local function slice(driver, name, attributes)
      local devices = { { attributes = {} }, { attributes = attributes } }
      return { spec = { driver = driver, nodeName = name, devices = devices } }
    end
    local slices = {
      slice("net.nvidia.com", "n1", { productName = { string = "NVIDIA B200" } }),
      slice("gpu.nvidia.com", "n1", { productName = { string = "NVIDIA GB300" } }),
      slice("gpu.nvidia.com", "n2", { productName = { string = "NVIDIA H100 80GB" } }),
      slice("gpu.nvidia.com", nil, { productName = { string = "NVIDIA H100" } }),
      slice("gpu.nvidia.com", "n3", { productName = { version = "1" } }),
    }
    local got = platform.detect_architecture(fleet "- gb300 -", { slices = slices })
    assert.equal("gb300", got.arch)
    assert.same({ "n1", "n2" }, names(got.kept)) -- a label wins over a device
  end)
  for _, row in ipairs(vectors.rows(support.FILE, "detect_arch")) do
    it(row.id, function()
      local got = platform.detect_architecture(nodes(row.args.nodes))
      support.same(row.result, { arch = got.arch, kept = names(got.kept) })
    end)
  end
end)

describe("gpu_capacity", function()
  local function with(amounts)
    local out = {}
    for i, amount in ipairs(amounts) do
      out[i] = node { name = "n" .. i, allocatable = amount ~= "" and { ["nvidia.com/gpu"] = amount } or {} }
    end
    return out
  end
  it("8.87 leaves out who says fewer, and nobody else", function()
    local got = platform.gpu_capacity(with { "8", "7", "0", "" }, 8)
    assert.same({ "n1", "n3", "n4" }, names(got.kept))
    assert.same({ { node = "n2", has = 7 } }, got.excluded)
    assert.same({ "node n2 has 7 GPUs, needs 8" }, got.messages)
  end)
  it("filters nothing for no need", function()
    assert.same({ "n1" }, names(platform.gpu_capacity(with { "7" }, 0).kept))
  end)
  it("raises a verdict that names the best node when none is left", function()
    local err = raised(platform.require_gpu_capacity, with { "4", "7", "1" }, 8)
    assert.equal("CONFLICT", err.code)
    assert.equal("too-few-gpus", err.reason)
    assert.is_true(err.verdict)
    assert.equal("no node has 8 GPUs: the best of 3, n2, has 7; --gpus 7 asks for no more than that", err.message)
    assert.same({ "n2" }, names(platform.require_gpu_capacity(with { "4", "8" }, 8).kept))
    assert.same({}, platform.require_gpu_capacity({}, 8).kept)
  end)
  for _, row in ipairs(vectors.rows(support.FILE, "gpu_capacity")) do
    it(row.id, function()
      local got = platform.gpu_capacity(nodes(row.args.nodes), row.args.need)
      support.same(row.result, { kept = names(got.kept), excluded = got.excluded })
    end)
  end
  it("counts what the objects ask for", function()
    local function asks(field, amount)
      return { spec = { containers = { { resources = { [field] = { ["nvidia.com/gpu"] = amount } } } } } }
    end
    local all = {
      asks("limits", "4"), asks("requests", 8), asks("limits", "x"), asks("claims", "64"), asks("limits", "-2"),
    }
    assert.equal(8, platform.gpus_needed(all))
    assert.equal(0, platform.gpus_needed { asks("limits", "x"), asks("requests", "0"), {} })
  end)
end)

describe("sizes", function()
  for _, row in ipairs {
    { "8.88", "gb200", "oci", 4, 0 }, { "8.88", "gb200", "aws", 4, 8 }, { "8.88", "l40s", "oci", 4, 2 },
    { "8.88", "v100", "aws", 4, 0 }, { "4.5", "gb300", "nscale", 4, 4 }, { "4.5", "l40", "aws", 8, 4 },
    { "4.5", "", nil, 4, 0 },
  } do
    it(("%s %s on %s"):format(row[1], row[2], row[3] or "nothing"), function()
      local got = platform.gpu_defaults(row[2], row[3])
      assert.same({ row[4], row[5] }, { got.gpusPerNode, got.mlnxPerNode })
    end)
  end
  for arch, mnnvl in pairs { h100 = false, gb300 = true, gb200 = true, b300 = false, unknown = false } do
    it("8.89 multi-node NVLink of " .. arch, function()
      assert.equal(mnnvl, platform.gpu_defaults(arch).mnnvl)
    end)
  end
  for _, row in ipairs(vectors.rows(support.FILE, "gpu_defaults")) do
    it(("%s %s %s"):format(row.id, row.args.arch, row.args.platform), function()
      local got = platform.gpu_defaults(row.args.arch, row.args.platform)
      support.same(row.result, row.args.rev == "S" and older.sizes(row.args, got) or got)
    end)
  end
  it("take what is asked for", function()
    assert.same({ NodesPerJob = 2, GpusPerNode = 1, MlnxPerNode = 0, EnableMNNVL = false },
      platform.sizes("gb200", "aws", { nodes = 2, gpus = 1, nics = 0, mnnvl = false }))
    assert.same({ GpusPerNode = 4, MlnxPerNode = 8, EnableMNNVL = true }, platform.sizes("gb200", "aws", {}))
  end)
  it("warn of an architecture that is not known", function()
    local warning = platform.sizes("v100", "aws", {}).warning
    assert.is_truthy(warning:find('"v100" are not known: 4 GPUs and 0 NICs', 1, true))
    assert.is_nil(platform.sizes("v100", "aws", { gpus = 8, nics = 0 }).warning)
    assert.is_nil(platform.sizes("", "aws", {}).warning)
  end)
  for _, row in ipairs {
    { "gpus", -1 }, { "gpus", 0 }, { "gpus", 257 }, { "gpus", 1.5 }, { "gpus", "8" }, { "nics", -1 }, { "nodes", 0 },
    { "nodes", 100001 }, { "nodes", math.mininteger },
  } do
    it(("refuse %s %s"):format(row[1], tostring(row[2])), function()
      local err = raised(platform.sizes, "h100", "aws", { [row[1]] = row[2] })
      assert.equal("size", err.reason)
      assert.matches("^" .. row[1] .. ' ".-" is not valid; expected a whole number from %d+ to %d+$', err.message)
    end)
  end
end)
