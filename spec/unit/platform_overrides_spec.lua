-- SPDX-License-Identifier: Apache-2.0
--- Override rows as they are rendered, matched and merged: platform-runtimes.md 4 and rows 39 to 68
--- of its section 8; platform_run_spec.lua has whole runs.
require "aicr_native"
local json = require "aicr.json"
local older = require "spec.support.platform_older"
local platform = require "aicr.platform"
local support = require "spec.support.platform"
local value = require "aicr.platform.value"
local vectors = require "spec.support.vectors"

local ENTRY <const> = { EntryName = "run1", NodesPerJob = 2, GpusPerNode = 8, MlnxPerNode = 8 }

local function rows(framework, more)
  local config = value.copy(ENTRY)
  config.FrameworkType = framework
  for key, member in pairs(more or {}) do
    config[key] = member
  end
  return platform.build_overrides(config)
end

local function names(list)
  local out = {}
  for i, item in ipairs(list) do
    out[i] = item.name
  end
  return table.concat(out, " ")
end

local function select_rows(framework, name, arch, more)
  local out = {}
  for _, row in ipairs(rows(framework, more)) do
    if platform.matches(row.when, { Platform = name, GPUArchitecture = arch }) then
      out[#out + 1] = row
    end
  end
  return out
end

describe("build_overrides", function()
  it("8.39 has 22 rows for MPI, the older revision 14", function()
    assert.equal(22, #rows "mpi")
    assert.equal(14, #older.overrides(platform.build_overrides, { EntryName = "e", FrameworkType = "mpi" }, "S"))
  end)
  it("8.40 has 23 rows for torch, the older revision 15, none with arguments of mpirun", function()
    assert.equal(23, #rows "torch")
    assert.equal(15, #older.overrides(platform.build_overrides, { EntryName = "e", FrameworkType = "torch" }, "S"))
    for _, row in ipairs(rows "torch") do
      assert.is_nil(row.mpiArgs)
    end
  end)
  it("8.41 aws h100 torch: EFA, its environment, no lines before the command", function()
    local found = select_rows("torch", "aws", "h100")
    assert.equal("aws-h100-efa aws-h100-efa-env", names(found))
    local pod = found[1].dependencies[1].spec.template.spec.replicatedJobs[1].template.spec.template.spec
    assert.same({ limits = { ["vpc.amazonaws.com/efa"] = 32 }, requests = { ["vpc.amazonaws.com/efa"] = 32 } },
      pod.containers[1].resources)
    assert.same({ "IPC_LOCK" }, pod.containers[1].securityContext.capabilities.add)
    assert.equal("FI_PROVIDER FI_EFA_USE_DEVICE_RDMA FI_EFA_FORK_SAFE",
      names(found[2].jobTemplate.spec.workload.trainJob.trainer.env))
    assert.is_nil(found[1].preCommand or found[2].preCommand)
  end)
  it("8.42 aws a100 torch: nothing", function()
    assert.equal("", names(select_rows("torch", "aws", "a100")))
  end)

  -- Which rows match, with the words of 4.2; E stands for the rows that are not for MPI.
  local GB <const> = "compute-domain"
  local table_4_2 = {
    { "aws h100", "aws-h100-efa aws-h100-efa-env" }, { "aws a100", "" }, { "aws h200", "" }, { "aws b200", "" },
    { "aws gb200", GB .. " aws-topology aws-gb200-efa aws-gb200-efa-env" },
    { "aws gb300", GB .. " aws-topology aws-gb300-no-efa-plugin aws-gb300-roce",
      GB .. " aws-topology aws-gb300-no-efa-plugin aws-gb300-no-net-plugin aws-gb300-mpi-over-tcp aws-gb300-roce" },
    { "gcp h100", "gcp-h100-tcpxo-env" }, { "gcp gb200", GB .. " gcp-topology gcp-gb-rdma" },
    { "gcp gb300", GB .. " gcp-topology gcp-gb-rdma" }, { "gcp rtxpro6000", "gcp-rtxpro6000" }, { "gcp h200", "" },
    { "azure a100", "azure-nics" }, { "azure gb200", GB .. " azure-topology azure-nics" },
    { "oci gb200", GB }, { "oci h100", "" }, { "forge gb300", GB }, { "forge h100", "" },
    { "togetherai h100", "togetherai-nics togetherai-env", "togetherai-nics" },
    { "togetherai gb200", GB .. " togetherai-nics togetherai-env", GB .. " togetherai-nics" },
    { "mistral gb300", GB .. " mistral-gb300 mistral-gb300-env", GB .. " mistral-gb300" },
    { "mistral gb200", GB }, { "mistral h100", "" },
    { "onprem gb200", GB .. " onprem-gb onprem-gb-env", GB .. " onprem-gb" },
    { "onprem b200", "onprem-b" }, { "onprem b300", "onprem-b" }, { "onprem h100", "" },
    { "nscale b200", "nscale-claims nscale-env" }, { "nscale gb300", GB .. " nscale-claims nscale-env" },
    { "nscale gb200", GB }, { "nscale h100", "" },
  }
  for _, row in ipairs(table_4_2) do
    it("4.2 " .. row[1], function()
      local name, arch = row[1]:match "^(%S+) (%S+)$"
      assert.equal(row[2], names(select_rows("torch", name, arch)))
      assert.equal(row[2], names(select_rows("exec", name, arch)))
      assert.equal(row[3] or row[2], names(select_rows("mpi", name, arch)))
    end)
  end

  it("gives rows of the caller's own", function()
    local first = rows "torch"
    first[1].dependencies[1].metadata.name, first[2].orchestration.topology.topologyKey = "x", "y"
    support.same(rows "torch", rows "torch")
    assert.equal("run1-compute-domain", rows("torch")[1].dependencies[1].metadata.name)
  end)

  for _, row in ipairs(vectors.rows(support.FILE, "build_overrides")) do
    local revision = row.args.rev
    it(("%s %s"):format(row.id, revision), function()
      local config = support.config(row.args.config)
      local got
      if revision == "C" then
        got = platform.build_overrides(config)
      else
        got = older.overrides(platform.build_overrides, config, revision)
      end
      support.same(row.result, support.rows(got), row.tags)
      assert.equal(config.EntryName, got[1].dependencies[1].metadata.labels.app)
    end)
  end
end)

describe("matches", function()
  it("8.67 every field must hold", function()
    assert.is_false(platform.matches(
      { platform = { ["in"] = { "aws", "gcp" } }, gpuArchitecture = { notIn = { "gb200" } } },
      { Platform = "gcp", GPUArchitecture = "gb200" }))
  end)
  it("8.68 an empty one always holds", function()
    assert.is_true(platform.matches({}, { Platform = "gcp", GPUArchitecture = "gb200" }))
  end)
  for _, row in ipairs(vectors.rows(support.FILE, "match_when")) do
    it(row.id, function()
      assert.equal(row.result, platform.matches(row.args.when, row.args.ctx))
    end)
  end
end)

describe("merge", function()
  local function object(text)
    return json.decode(text)
  end
  local rows_of_8 = {
    { "8.60", '{"a":1,"b":2}', '{"b":null,"c":3}', '{"a":1,"c":3}' },
    { "8.61", '{"l":[{"name":"x","v":1},{"name":"y"}]}', '{"l":[{"name":"z"},{"name":"x","w":2}]}',
      '{"l":[{"name":"x","v":1,"w":2},{"name":"y"},{"name":"z"}]}' },
    { "8.62", '{"l":[{"name":"x"}]}', '{"l":[]}', '{"l":[]}' },
    { "8.63", '{"tolerations":[{"key":"a"}]}', '{"tolerations":[{"key":"b"}]}', '{"tolerations":[{"key":"b"}]}' },
    { "8.64", "{}", '{"r":{"g":null}}', '{"r":{"g":null}}' },
    { "a volume that is mounted twice",
      '{"volumeMounts":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/b"}]}',
      '{"volumeMounts":[{"name":"v","mountPath":"/b","readOnly":true},{"name":"w","mountPath":"/c"}]}',
      '{"volumeMounts":[{"name":"v","mountPath":"/a"},{"name":"v","mountPath":"/b","readOnly":true},'
        .. '{"name":"w","mountPath":"/c"}]}' },
    { "a value over valueFrom", '{"env":[{"name":"A","valueFrom":{"x":1}}]}', '{"env":[{"name":"A","value":"1"}]}',
      '{"env":[{"name":"A","value":"1"}]}' },
    { "valueFrom over a value", '{"env":[{"name":"A","value":"1"}]}', '{"env":[{"name":"A","valueFrom":{"x":1}}]}',
      '{"env":[{"name":"A","valueFrom":{"x":1}}]}' },
  }
  for _, row in ipairs(rows_of_8) do
    it(row[1], function()
      local base, override = object(row[2]), object(row[3])
      support.same(object(row[4]), platform.merge_maps(base, override))
      support.same(object(row[2]), base)
      support.same(object(row[3]), override)
    end)
  end
  it("8.65 a dependency of another name is added", function()
    local base = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "a" } }
    local other = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "b" } }
    support.same(json.array { base, other }, platform.merge_dependency({ base }, other))
  end)
  for _, row in ipairs(vectors.rows(support.FILE, "merge_maps")) do
    it(row.id, function()
      support.same(row.result, platform.merge_maps(row.args.base, row.args.override), row.tags)
    end)
  end
  for _, row in ipairs(vectors.rows(support.FILE, "merge_dependency")) do
    it(row.id, function()
      support.same(row.result, platform.merge_dependency(row.args.deps, row.args.override), row.tags)
    end)
  end
end)
