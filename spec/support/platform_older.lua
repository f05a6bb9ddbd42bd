-- SPDX-License-Identifier: Apache-2.0
--- What the older revision of the reference ("rev": "S" in the vectors) answers where ours follows
--- the newer one: each function makes the older answer of ours, so that all else is compared.
local json = require "aicr.json"
local support = require "spec.support.platform"
local value = require "aicr.platform.value"

local M = {}

--- The older revision knew one queue label.
function M.config(config)
  local out = value.copy(config)
  out.GangSchedulerQueueLabelKey = nil
  return out
end

local function launcher(runtime)
  return (value.named(runtime.spec.template.spec.replicatedJobs, "launcher"))
end

--- No queue label on pods; in MPI runtimes no environment, and the launcher always gated.
function M.runtime(runtime)
  local out = value.copy(runtime)
  for _, job in ipairs(out.spec.template.spec.replicatedJobs) do
    local pod = job.template.spec.template
    pod.metadata = nil
    if out.spec.mlPolicy.mpi then
      pod.spec.containers[1].env = nil
    end
  end
  local job = launcher(out)
  if job then
    job.dependsOn = json.array { { name = "node", status = "Ready" } }
    local init = job.template.spec.template.spec.initContainers[1]
    init.volumeMounts[3] = nil
    init.args[1] = "<launcher-init-script>"
  end
  return support.marked(out)
end

--- Nodes that ours takes for what the older revision took these for: nscale was told by a resource
--- of openstack nodes.
function M.nodes(nodes)
  local out = {}
  for i, node in ipairs(nodes) do
    out[i] = value.copy(node)
    local id = node.providerID or ""
    if id:find "^nscale://" then
      out[i].providerID = "other://"
    elseif id:find "^openstack://" and (node.allocatable or {})["nscale.com/rdmashare"] then
      out[i].providerID = "nscale://"
    end
  end
  return out
end

--- It knew blanks in products as little as the one of two words.
function M.architecture(product, arch)
  if arch == "rtxpro6000" then
    return "rtx"
  end
  return product:find " " and product:gsub("^NVIDIA%-", ""):gsub("^(.-)%-.*$", "%1"):lower() or arch
end

--- GB200 had NICs on oci.
function M.sizes(args, sizes)
  local out = value.copy(sizes)
  if args.arch == "gb200" and args.platform == "oci" then
    out.mlnxPerNode = 8
  end
  return out
end

--- Two variables were forwarded to the ranks, whatever the run's environment.
function M.mpi_args(args, mnnvl)
  local out, i = json.array(), 1
  while i <= #args do
    if args[i] == "-x" then
      i = i + 2
    else
      out[#out + 1] = args[i]
      i = i + 1
    end
  end
  for k, word in ipairs { "-x", "NCCL_DEBUG=INFO", "-x", "NCCL_MNNVL_ENABLE=" .. (mnnvl and "1" or "0") } do
    table.insert(out, 6 + k, word)
  end
  return out
end

-- Rows that the older revision ("S") and the one between ("M") lack.
local NEWER <const> = {
  ["aws-gb300-mpi-over-tcp"] = "SM", ["aws-gb200-efa-env"] = "SM", ["aws-h100-efa-env"] = "SM",
  ["onprem-gb"] = "S", ["onprem-gb-env"] = "S", ["onprem-b"] = "SM", ["gcp-rtxpro6000"] = "SM",
  ["nscale-claims"] = "SM", ["nscale-env"] = "SM",
}

-- It removed the EFA plug-in everywhere on aws.
local ALL_OF_AWS <const> = { ["aws-gb300-no-efa-plugin"] = true, ["aws-gb300-no-net-plugin"] = true }
local EFA <const> = { ["aws-gb200-efa"] = true, ["aws-h100-efa"] = true }
local NICS <const> = { ["azure-nics"] = true, ["togetherai-nics"] = true }
local STAND_IN <const> = 7

local function older_tcpxo(row)
  local env = row.jobTemplate.spec.workload.trainJob.trainer.env
  local _, at = value.named(env, "NCCL_PROTO")
  env[at] = { name = "NCCL_ALGO", value = "Ring,Tree" }
  env[at + 1] = { name = "NCCL_PROTO", value = "Simple" }
end

local function no_capabilities(row)
  local job = row.dependencies[1].spec.template.spec.replicatedJobs[1]
  job.template.spec.template.spec.containers[1].securityContext = nil
end

local function with_count(row, count)
  return support.map(row, function(v)
    if v == STAND_IN then
      return count
    end
    return v == tostring(STAND_IN) and tostring(count) or v
  end)
end

--- The rows of an older revision; `build` makes ours.
function M.overrides(build, config, revision)
  local given = value.copy(config)
  local count = given.MlnxPerNode or 0
  if count <= 0 then
    given.MlnxPerNode = STAND_IN -- its rows were there without NICs too
  end
  local out = json.array()
  for _, row in ipairs(build(given)) do
    if not (NEWER[row.name] or ""):find(revision) then
      if ALL_OF_AWS[row.name] then
        row.when.gpuArchitecture = nil
      elseif EFA[row.name] then
        no_capabilities(row)
      elseif row.name == "gcp-h100-tcpxo-env" then
        older_tcpxo(row)
      elseif NICS[row.name] and count <= 0 then
        row = with_count(row, count)
      end
      out[#out + 1] = row
    end
  end
  return out
end

return M
