-- SPDX-License-Identifier: Apache-2.0
--- The benchmark's check on recordings, up to the first thing that it would make: gke-tcpxo.md 5.1 to 5.5, vectors R-01
--- to R-13, R-24, R-25, and B-04. On a recording what is well ends as `read-only`: everything that can be read was.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"
local recording = require "spec.support.recording"

local NAME <const> = "nccl-all-reduce-bw"
local RUNTIME <const> = "torch-distributed-tcpxo"

-- The lyra recipe with pieces of text exchanged: {from, to, …}.
local function recipe_with(changes)
  local text = files.read "recipes/lyra.yaml"
  for i = 1, #changes, 2 do
    local at, last = text:find(changes[i], 1, true)
    assert(at, "the recipe has no " .. changes[i])
    text = text:sub(1, at - 1) .. changes[i + 1] .. text:sub(last + 1)
  end
  return text
end

local FLOOR <const> = '- {name: nccl-all-reduce-bw, value: ">= 300"}'

local function floor(value)
  return { '">= 300"', ("%q"):format(value) }
end

-- More performance constraints.
local function constraints(lines)
  return { FLOOR, FLOOR .. "\n      " .. lines:gsub("\n", "\n      ") }
end

-- A recipe that ships no runtime: no trainer component, no mapping.
local function fixture_recipe(changes)
  local text = recipe_with(changes or {})
  text = text:gsub("\nconfiguration:.-\nconstraints:", "\nconstraints:", 1)
  text = text:gsub("\n  %- name: kubeflow%-trainer.-\ndeploymentOrder", "\ndeploymentOrder", 1)
  return text
end

-- Runs the check: opts {cluster = function(parts), recipe = text or false, args = list}.
local function run(opts)
  local folder = files.folder()
  local parts = recording.read()
  if opts.cluster then
    opts.cluster(parts)
  end
  local args = { "--recording", recording.write(folder .. "/cluster", parts), NAME }
  if opts.recipe ~= false then
    files.write(folder .. "/recipe.yaml", opts.recipe or recipe_with {})
    args[#args + 1] = "--recipe"
    args[#args + 1] = folder .. "/recipe.yaml"
  end
  if opts.runtime then
    files.write(folder .. "/runtime.yaml", opts.runtime)
    args[#args + 1] = "--set-file"
    args[#args + 1] = NAME .. ".runtime=" .. folder .. "/runtime.yaml"
  end
  table.move(opts.args or {}, 1, #(opts.args or {}), #args + 1, args)
  local report = binary.report(args)
  files.remove(folder)
  return binary.check(report, NAME)
end

local function worker(parts)
  for _, item in ipairs(parts.lists[recording.RUNTIMES].items) do
    if item.metadata.name == RUNTIME then
      return item.spec.template.spec.replicatedJobs[1].template.spec.template.spec.containers[1], item
    end
  end
end

local function nodes(change)
  return function(parts)
    change(parts.lists[recording.NODES].items)
  end
end

local function of_worker(change)
  return function(parts)
    change(worker(parts))
  end
end

local function without_networks(count)
  return function(parts)
    local items = parts.lists[recording.NETWORKS].items
    for i = #items, 1, -1 do
      if count > 0 and items[i].metadata.name:find("gpu-nic", 1, true) then
        table.remove(items, i)
        count = count - 1
      end
    end
  end
end

local function set(text)
  return { "--set", NAME .. "." .. text }
end

local CARRIER <const> = [[
apiVersion: trainer.kubeflow.org/v1alpha1
kind: TrainingRuntime
metadata: {name: site}
spec:
  template:
    spec:
      replicatedJobs:
        - name: node
          template:
            spec:
              template:
                spec:
                  containers:
                    - {name: node, image: registry.example/x}
]]

local function carried(text)
  return constraints("- name: nccl-benchmark-runtime\n  value: |\n    " .. text:gsub("\n", "\n    "))
end

-- What is well: the first thing that would be made is a probe, or a namespace.
local REACHED <const>, WRITES <const> = "error INTERNAL read-only", "error METHOD_NOT_ALLOWED read-only"

-- name, outcome code reason, words of the message, opts, runtimeSource
local ROWS <const> = {
  { "lyra, as far as a recording goes", REACHED, "lyra-gpu-a", {}, "delivered-artifact" },
  { "R-01 no constraint", "skip not-declared no-constraint", "no performance constraint",
    { recipe = recipe_with { FLOOR, "[]" } } },
  { "no recipe and no floor", "skip - no-constraint", "--recipe FILE", { recipe = false } },
  { "no recipe, but a floor", REACHED, "probe", { recipe = false, args = set "min_busbw=250GB/s" },
    "cluster-capability" },
  { "R-02 another accelerator", "skip - not-supported", "b100/gke",
    { recipe = fixture_recipe { "accelerator: h100", "accelerator: b100" } } },
  { "an accelerator whose fabric nothing here gives", "error INVALID_REQUEST not-available", "b200/gke",
    { recipe = fixture_recipe { "accelerator: h100", "accelerator: b200" } } },
  { "AICR's h200/eks", "error INVALID_REQUEST not-available", "h200/eks is not in this release",
    { recipe = fixture_recipe { "accelerator: h100", "accelerator: h200" }, args = { "--platform", "aws" } } },
  { "another platform", "fail INVALID_REQUEST other-runtime", "no runtime of aws h100",
    { args = { "--platform", "aws" } } },
  { "an accelerator without a benchmark", "skip - not-supported", "h100/onprem",
    { args = { "--platform", "onprem" } } },
  { "a GKE cluster whose nodes are to say what they have", REACHED, "probe",
    { recipe = fixture_recipe { "accelerator: h100", "accelerator: any" } }, "cluster-capability" },
  { "more nodes than there are", "fail NOT_FOUND too-few-nodes", "3 GPU nodes are asked for, and it can run on 2",
    { args = set "nodes=3" }, "delivered-artifact" },
  { "fewer GPUs than there are", "fail INTERNAL gpu-counts", "4 GPUs of each node are asked for",
    { args = set "gpus=4" }, "delivered-artifact" },
  { "R-03 one GPU node", "fail NOT_FOUND too-few-nodes", "lyra-gpu-a",
    { cluster = nodes(function(items) table.remove(items, 2) end) }, "delivered-artifact" },
  { "one GPU node and a cordoned one", "fail NOT_FOUND too-few-nodes", "cordoned: lyra-gpu-b",
    { cluster = nodes(function(items) items[2].spec.unschedulable = true end) }, "delivered-artifact" },
  { "no GPU node", "fail INTERNAL no-gpu-nodes", "no node of 0",
    { cluster = nodes(function(items) while items[1] do table.remove(items) end end) }, "delivered-artifact" },
  { "R-04 eight and seven GPUs", "fail INTERNAL gpu-counts", "lyra-gpu-b (7/8)",
    { cluster = nodes(function(items) items[2].status.allocatable["nvidia.com/gpu"] = "7" end) },
    "delivered-artifact" },
  { "R-05 nothing delivered, seven networks", "fail INTERNAL too-few-networks", "the cluster has 7",
    { recipe = fixture_recipe(), cluster = without_networks(1) }, "cluster-capability" },
  { "R-06 nothing delivered, eight networks", REACHED, "probe", { recipe = fixture_recipe() }, "cluster-capability" },
  { "nothing delivered, nodes of two kinds", "fail INVALID_REQUEST mixed-nodes", "lyra-gpu-b",
    { recipe = fixture_recipe(), cluster = nodes(function(items)
      items[2].metadata.labels["cloud.google.com/gke-accelerator"] = "other"
    end) }, "cluster-capability" },
  { "R-07 delivered, but not there", "fail NOT_FOUND runtime-not-deployed", RUNTIME, { cluster = function(parts)
    parts.lists[recording.RUNTIMES] = recording.list(recording.RUNTIMES, {})
  end }, "delivered-artifact" },
  { "R-08 a network that is not ready", REACHED, "probe", { cluster = function(parts)
    for _, item in ipairs(parts.lists[recording.NETWORKS].items) do
      item.status = nil
    end
  end }, "delivered-artifact" },
  { "a network that is gone", "fail NOT_FOUND network-missing", "lyra-gpu-nic-k", { cluster = without_networks(1) },
    "delivered-artifact" },
  { "two pairs exchanged", "fail INVALID_REQUEST mapping-mismatch", "pair 3", { cluster = function(parts)
    require "spec.support.faults".swap_pairs(parts)
  end }, "delivered-artifact" },
  { "the runtime may not be read", "error INTERNAL forbidden", RUNTIME, { cluster = function(parts)
    recording.fail(parts, recording.RUNTIMES, { status = 403, reason = "Forbidden" })
  end }, "delivered-artifact" },
  { "the networks may not be listed", "error INTERNAL forbidden", "networks", { cluster = function(parts)
    recording.fail(parts, recording.NETWORKS, { status = 403, reason = "Forbidden" })
  end }, "delivered-artifact" },
  { "the networks are not recorded", "error INTERNAL not-recorded", "networks", { cluster = function(parts)
    parts.lists[recording.NETWORKS] = nil
  end }, "delivered-artifact" },
  { "the Network API is gone, nothing delivered", "error INTERNAL", "networks",
    { recipe = fixture_recipe(), cluster = function(parts) recording.remove_group(parts, "networking.gke.io") end },
    "cluster-capability" },
  { "the nodes may not be listed", "error INTERNAL forbidden", "nodes", { cluster = function(parts)
    recording.fail(parts, recording.NODES, { status = 403, reason = "Forbidden" })
  end }, "delivered-artifact" },
  { "R-09 delivered and supplied", "fail INVALID_REQUEST two-owners", "two owners", { recipe = recipe_with(
    carried(CARRIER)) } },
  { "R-09 delivered and a profile", "fail INVALID_REQUEST two-owners", "profile", { recipe = recipe_with(
    constraints "- {name: nccl-benchmark-profile, value: h100/gke}") } },
  { "R-10 a command", "fail INVALID_REQUEST shipped-worker", "command",
    { cluster = of_worker(function(w) w.command = json.array { "x" } end) }, "delivered-artifact" },
  { "R-11 no NCCL_SOCKET_IFNAME", "fail INVALID_REQUEST shipped-worker", "NCCL_SOCKET_IFNAME",
    { cluster = of_worker(function(w) table.remove(w.env, 2) end) }, "delivered-artifact" },
  { "R-12 another resource", "fail INVALID_REQUEST shipped-worker", "cpu",
    { cluster = of_worker(function(w) w.resources.limits.cpu = "1" end) }, "delivered-artifact" },
  { "R-13 four of eight GPUs", "fail INVALID_REQUEST shipped-worker", "8 GPUs each",
    { cluster = of_worker(function(w)
      w.resources.limits["nvidia.com/gpu"], w.resources.requests["nvidia.com/gpu"] = "4", "4"
    end) }, "delivered-artifact" },
  { "a malformed nodeSelector", "fail INVALID_REQUEST node-selector", "nodeSelector", { cluster = function(parts)
    local _, item = worker(parts)
    item.spec.template.spec.replicatedJobs[1].template.spec.template.spec.nodeSelector = { a = 1 }
  end }, "delivered-artifact" },
  { "the mapping is not recorded", "fail INVALID_REQUEST", "tcpxoInterfaces", { recipe = recipe_with {
    "configuration:", "x-configuration:", "tcpxoInterfaces:\n        - ", "other:\n        - " } } },
  { "R-24 a blank image", "fail INVALID_REQUEST runtime-image", "blank", { args = set "runtime_image= " } },
  { "R-24 a malformed image", "fail INVALID_REQUEST runtime-image", "Bad Ref!!",
    { args = set "runtime_image=Bad Ref!!" } },
  { "an image", REACHED, "probe", { args = set "runtime_image=registry.example/x:1" }, "delivered-artifact" },
  { "R-25 a fabric that is none", "fail INVALID_REQUEST fabric", '"roc"', { args = set "fabric=roc" } },
  { "a fabric, which is no use here", REACHED, "probe", { args = set "fabric= EFA " }, "delivered-artifact" },
  { "B-04 no space before the unit", "fail INVALID_REQUEST constraint", "300GB/s", { recipe = recipe_with(
    floor "300GB/s") } },
  { "B-04 no number", "fail INVALID_REQUEST constraint", ">=", { recipe = recipe_with(floor ">=") } },
  { "B-04 nothing", "fail INVALID_REQUEST constraint", "", { recipe = recipe_with(floor "") } },
  { "no finite number", "fail INVALID_REQUEST constraint", "inf", { recipe = recipe_with(floor "inf") } },
  { "a hexadecimal number", "fail INVALID_REQUEST constraint", "0x1", { recipe = recipe_with(floor "0x1p4") } },
  { "a floor that is no text", REACHED, "probe", { recipe = recipe_with { '">= 300"', "300" } },
    "delivered-artifact" },
  { "a bad floor of hardware without a benchmark", "skip - not-supported", "b100",
    { recipe = fixture_recipe { "accelerator: h100", "accelerator: b100", '">= 300"', '"x"' } } },
  { "a supplied runtime of the recipe", WRITES, "create namespaces", { recipe = fixture_recipe(carried(CARRIER)) },
    "recipe-supplied-runtime" },
  { "a supplied runtime of the user", WRITES, "create namespaces", { recipe = fixture_recipe(), runtime = CARRIER },
    "recipe-supplied-runtime" },
  { "two supplied runtimes", "fail INVALID_REQUEST two-runtimes", "parameter runtime",
    { recipe = fixture_recipe(carried(CARRIER)), runtime = CARRIER } },
  { "two of the recipe", "fail INVALID_REQUEST two-runtimes", "2 constraints nccl-benchmark-runtime",
    { recipe = fixture_recipe(constraints(
      '- {name: nccl-benchmark-runtime, value: ""}\n- {name: nccl-benchmark-runtime, value: "x"}')) } },
  { "two references", "fail INVALID_REQUEST two-runtimes", "nccl-benchmark-runtime-ref", { recipe = fixture_recipe(
    constraints '- {name: nccl-benchmark-runtime-ref, value: a}\n- {name: nccl-benchmark-runtime-ref, value: b}') } },
  { "a reference that nobody resolved", "fail INVALID_REQUEST runtime-unresolved", "h100/site", { recipe =
    fixture_recipe(constraints "- {name: nccl-benchmark-runtime-ref, value: h100/site}") } },
  { "a supplied runtime and a profile", "fail INVALID_REQUEST two-runtimes", "drop one", { recipe = fixture_recipe(
    constraints "- {name: nccl-benchmark-profile, value: h100/gke}"), runtime = CARRIER } },
  { "a carrier of another kind", "fail INVALID_REQUEST runtime-kind", "found ClusterTrainingRuntime",
    { recipe = fixture_recipe(), runtime = CARRIER:gsub("TrainingRuntime", "ClusterTrainingRuntime") } },
  { "a carrier of another version", "fail INVALID_REQUEST runtime-kind", "v1beta1",
    { recipe = fixture_recipe(), runtime = CARRIER:gsub("v1alpha1", "v1beta1") } },
  { "a carrier without a worker", "fail INVALID_REQUEST no-node-job", "node",
    { recipe = fixture_recipe(), runtime = CARRIER:gsub("%- name: node", "- name: worker", 1) } },
  { "a carrier that is no YAML", "fail INVALID_REQUEST runtime-malformed", "",
    { recipe = fixture_recipe(), runtime = "a: [" } },
  { "a carrier of two documents", "fail INVALID_REQUEST runtime-malformed", "",
    { recipe = fixture_recipe(), runtime = CARRIER .. "---\n" .. CARRIER } },
  { "a carrier that grows without end", "fail INVALID_REQUEST runtime-malformed", "", { recipe = fixture_recipe(),
    runtime = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b]\n"
      .. "d: &d [*c,*c,*c,*c,*c,*c,*c,*c]\ne: &e [*d,*d,*d,*d,*d,*d,*d,*d]\nf: [*e,*e,*e,*e,*e,*e,*e,*e]\n" } },
  { "a malformed profile", "fail INVALID_REQUEST benchmark-profile", "ACCELERATOR/SERVICE", { recipe = fixture_recipe(
    constraints "- {name: nccl-benchmark-profile, value: h100}") } },
  { "an unknown profile", "fail INVALID_REQUEST benchmark-profile", "h100/gke", { recipe = fixture_recipe(
    constraints "- {name: nccl-benchmark-profile, value: h100/aix}") } },
  { "a profile of another variant", "skip - not-supported", "gb200/eks", { recipe = fixture_recipe(
    constraints "- {name: nccl-benchmark-profile, value: gb200/eks}") } },
  { "a profile, with spaces and capitals", REACHED, "probe", { recipe = fixture_recipe {
    "accelerator: h100", "accelerator: b100", table.unpack(
      constraints "- {name: nccl-benchmark-profile, value: ' H100 / GKE '}") } }, "cluster-capability" },
  { "nodes that the user chose", "fail INTERNAL no-gpu-nodes", "pool=x", { args = set "node_selector=pool=x" },
    "delivered-artifact" },
  { "a selector that is none", "error INVALID_REQUEST node-selector", "KEY=VALUE",
    { args = set "node_selector=pool" } },
  { "a sweep that begins behind its end", "error INVALID_REQUEST sweep", "begin at 2M and end at 1M",
    { args = { "--set", NAME .. ".min_size=2M", "--set", NAME .. ".max_size=1M" } } },
  { "a sweep that ends before the first size", "error INVALID_REQUEST sweep", "begin at 1K and end at 512",
    { args = set "max_size=512" }, "delivered-artifact" },
  { "a sweep of no value", "error INVALID_REQUEST sweep", "3 bytes", { args = set "max_size=3" } },
  { "a sweep of one size", REACHED, "probe", { args = { "--set", NAME .. ".min_size=1M", "--set", NAME
    .. ".max_size=1M" } }, "delivered-artifact" },
  { "a lock that is stale before it is renewed", "error INVALID_REQUEST times", "more than parameter lock_renew, 1m",
    { args = set "lock_stale=1m" } },
  { "a lock that is always stale", "error INVALID_REQUEST times", "at least 1m", { args = { "--set", NAME
    .. ".lock_stale=30s", "--set", NAME .. ".lock_renew=1s" } } },
  { "namespaces that are old at once", "error INVALID_REQUEST times", "prune_age is 0s",
    { args = set "prune_age=0s" } },
  { "an interval that is none", "error INVALID_REQUEST times", "without a pause", { args = set "log_interval=0s" } },
  { "a toleration that is none", "error INVALID_REQUEST toleration", "KEY=VALUE:EFFECT",
    { args = set "toleration=a=b:Never" } },
}

describe(NAME .. " on a recording", function()
  for _, row in ipairs(ROWS) do
    it(row[1] .. ": " .. row[2], function()
      local check = run(row[4])
      local said = ("%s %s %s: %s"):format(check.outcome, check.code, check.reason, check.message)
      local outcome, code, reason = row[2]:match "^(%S+) ?(%S*) ?(%S*)$"
      assert.equal(outcome, check.outcome, said)
      if outcome == "skip" then
        assert.equal(reason, check.reason, said)
      elseif code ~= "" then
        assert.equal(code, check.code, said)
        assert.truthy(reason == "" or reason == check.reason, said)
      end
      assert.truthy(check.message:find(row[3], 1, true), said)
      local extra = check.extra ~= json.null and check.extra or {}
      assert.equal(row[5], extra.runtimeSource, said)
      if outcome ~= "skip" then
        assert.equal("string", type(check.fix), "the next command is missing: " .. said)
      end
      assert.same({}, check.measures)
      for _, attachment in ipairs(check.attachments) do
        assert.not_equal("provenance.json", attachment.name)
      end
    end)
  end
end)

describe("what is given and not used is told", function()
  local rows = {
    { "by GPUDirect-TCPXO", "the benchmark of GPUDirect-TCPXO does not use parameters that were given: fabric, mnnvl",
      { args = { "--set", NAME .. ".mnnvl=true", "--set", NAME .. ".fabric=efa" } } },
    { "by a supplied runtime", "a supplied runtime does not use parameters that were given: nics, runtime_image",
      { recipe = fixture_recipe(), runtime = CARRIER, args = { "--set", NAME .. ".runtime_image=x:1", "--set", NAME
        .. ".nics=4" } } },
    { "the recipe's floor", "parameter min_busbw goes before the recipe's constraint >= 300",
      { args = set "min_busbw=200GB/s" } },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local said = json.encode(run(row[3]).evidence)
      assert.truthy(said:find(row[2], 1, true), said)
    end)
  end
end)

describe("nodes that it does not run on", function()
  local function with_third(change)
    return nodes(function(items)
      local third = json.decode(json.encode(items[2]))
      third.metadata.name = "lyra-gpu-c"
      change(third)
      items[3] = third
    end)
  end
  local function cordon(node) node.spec.unschedulable = true end
  local function empty(node) node.status.allocatable["nvidia.com/gpu"] = "0" end

  local rows = {
    { "are none", nil, nil, 2, nil },
    { "are cordoned", with_third(cordon), nil, 3, "cordoned: lyra-gpu-c" },
    { "offer no GPU", with_third(empty), nil, 3, "offers no GPU that pods can use: lyra-gpu-c" },
    { "are wanted by the recipe", nil, recipe_with { "criteria: {", "criteria: {nodes: 4, " }, 4, nil },
  }
  for _, row in ipairs(rows) do
    it("are told, and not verified, when they " .. row[1], function()
      local check = run { cluster = row[2], recipe = row[3] }
      assert.same({ verified = 2, total = row[4] }, check.coverage)
      local said = json.encode(check.evidence)
      assert.truthy(not row[5] or said:find(row[5], 1, true), said)
    end)
  end
end)
