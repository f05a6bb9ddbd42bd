-- SPDX-License-Identifier: Apache-2.0
--- The table of benchmarks by platform and architecture, and that each pair can be built.
require "aicr_native"
local benchmarks = require "aicr.nccl_runtime.benchmarks"
local objects = require "aicr.nccl_runtime.objects"
local platform = require "aicr.platform"
local raised = require "spec.support.raised"

local ARCHITECTURES <const> = { "a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "l40", "l40s", "rtxpro6000" }

-- Of each platform: architecture=file, or what it is of the others.
local PAIRS <const> = {
  aws = "h100=aws h200=missing b200=missing gb200=aws gb300=aws",
  gcp = "h100=gke b200=missing gb200=gcp gb300=gcp rtxpro6000=gcp",
  azure = "a100=azure h100=azure h200=azure b200=azure b300=azure gb200=azure gb300=azure",
  oci = "a100=oci h100=oci h200=oci b200=oci b300=oci gb200=oci gb300=oci l40s=oci",
  onprem = "b200=onprem b300=onprem gb200=onprem gb300=onprem",
  togetherai = "a100=togetherai h100=togetherai h200=togetherai b200=togetherai b300=togetherai gb200=togetherai"
    .. " gb300=togetherai",
  mistral = "b200=missing gb200=mistral gb300=mistral",
  forge = "b200=missing gb200=forge gb300=forge",
  nscale = "b200=nscale gb200=nscale gb300=nscale",
}

local function each_pair(f)
  for _, name in ipairs(platform.names()) do
    for _, arch in ipairs(ARCHITECTURES) do
      local row = benchmarks.row(name, arch)
      if row then
        f(name, arch, row)
      end
    end
  end
end

describe("the benchmarks", function()
  it("are of these pairs", function()
    local found = {}
    each_pair(function(name, arch, row)
      local words = found[name] or {}
      words[#words + 1] = ("%s=%s"):format(arch, row.runtime or "missing")
      found[name] = words
    end)
    for name, words in pairs(found) do
      found[name] = table.concat(words, " ")
    end
    assert.same(PAIRS, found)
  end)

  it("each have their file, and can be built", function()
    local names = {}
    for _, name in ipairs(benchmarks.runtimes()) do
      local file = require("aicr.nccl_runtime." .. name)
      assert.equal("function", type(file.runtime), name)
      assert.equal(name ~= "gke", type(file.LOOK) == "string", name)
      names[name] = true
    end
    each_pair(function(name, arch, row)
      assert.is_true(row.missing ~= nil or names[row.runtime])
      local sizes = platform.sizes(arch, name, {})
      local test, built = objects.build("all-reduce", {
        platform = name, arch = arch, nodes = 2, gpus = sizes.GpusPerNode, nics = sizes.MlnxPerNode,
        mnnvl = sizes.EnableMNNVL,
      })
      assert.equal("mpi", test.framework)
      assert.equal("nccl-all-reduce", built.train_job.metadata.name)
      -- NCCL tells over what it went only then, and only at the ranks.
      local args = table.concat(built.train_job.spec.trainer.args, " ")
      assert.truthy(args:find("NCCL_DEBUG=INFO", 1, true), name .. " " .. arch)
      assert.truthy(args:find("NCCL_DEBUG_SUBSYS=NET,INIT", 1, true) or row.runtime == "gke", name .. " " .. arch)
    end)
  end)

  it("go over NVLink where multi-node NVLink is on", function()
    each_pair(function(name, arch, row)
      local mnnvl = platform.sizes(arch, name, {}).EnableMNNVL
      assert.equal(mnnvl, row.nvlink or false, name .. " " .. arch)
    end)
  end)

  it("have AICR's profiles", function()
    assert.equal("b200/any gb200/any gb200/eks gb200/oke h100/aks h100/eks h100/gke h200/eks",
      table.concat(benchmarks.profiles(), " "))
    assert.same({ name = "h100/gke", floor = 250 }, benchmarks.profile "h100/gke")
    assert.is_true(benchmarks.profile("gb200/eks").other)
    assert.is_nil(benchmarks.profile "b100/gke")
  end)

  local function load(rows, profiles)
    return benchmarks.load(("rows: %s\nprofiles: %s"):format(rows, profiles or "[]"), "site.yaml")
  end

  it("take the last row that matches", function()
    local all = load "[{name: a, when: {}, runtime: aws}, {name: b, when: {platform: {equals: aws}}, runtime: gke}]"
    assert.equal("b", benchmarks.row_of(all, "aws", "h100").name)
    assert.equal("a", benchmarks.row_of(all, "oci", "h100").name)
    assert.is_nil(benchmarks.row_of(load "[]", "oci", "h100"))
  end)

  for _, row in ipairs {
    { "no YAML", "[", 'site.yaml: ' },
    { "a row without a name", "[{when: {}, runtime: aws}]", "site.yaml: rows[1]: it has a name" },
    { "two of a name", "[{name: a, when: {}, runtime: aws}, {name: a, when: {}, runtime: aws}]",
      'site.yaml: row "a": there are two' },
    { "a misspelt field", "[{name: a, when: {}, runtme: aws}]",
      'site.yaml: row "a": "runtme" is not known; did you mean' },
    { "an unknown platform", "[{name: a, when: {platform: {equals: gke}}, runtime: gke}]",
      'site.yaml: row "a": when.platform.equals: "gke" is no platform' },
    { "a file that is no name", "[{name: a, when: {}, runtime: ../x}]",
      'site.yaml: row "a": runtime: expected the name of a file' },
    { "an unknown fabric", "[{name: a, when: {}, runtime: aws, fabric: [eth]}]",
      'site.yaml: row "a": fabric[1]: "eth" is no fabric' },
    { "no fabric in its list", "[{name: a, when: {}, runtime: aws, fabric: []}]",
      'site.yaml: row "a": fabric: expected' },
    { "nvlink that is no true", "[{name: a, when: {}, runtime: aws, nvlink: 1}]",
      'site.yaml: row "a": nvlink: expected' },
    { "neither a runtime nor why", "[{name: a, when: {}}]", 'site.yaml: row "a": a row has either' },
    { "both", "[{name: a, when: {}, runtime: aws, missing: x}]", 'site.yaml: row "a": a row has either' },
    { "what is missing over a fabric", "[{name: a, when: {}, missing: x, nvlink: true}]", 'site.yaml: row "a": where' },
    { "a row that always holds unsaid", "[{name: a, runtime: aws}]", 'site.yaml: row "a": a row says when' },
    { "a profile of another form", "[]", 'site.yaml: row "h100": name: expected ACC', "[{name: h100}]" },
    { "a floor that is no number", "[]", 'site.yaml: row "a/b": floor: expected GB/s', "[{name: a/b, floor: x}]" },
  } do
    it("are refused with " .. row[1], function()
      local message = raised(load, row[2], row[4]).message
      assert.equal(row[3], message:sub(1, #row[3]))
    end)
  end
end)
