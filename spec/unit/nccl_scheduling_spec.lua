-- SPDX-License-Identifier: Apache-2.0
--- Where the benchmark's workers may run, and the texts of its sizes: gke-tcpxo.md 5.4, validation-model.md 3.2.
require "aicr_native"
local json = require "aicr.json"
local request = require "aicr.nccl_runtime.request"
local scheduling = require "aicr.nccl_runtime.scheduling"
local supplied = require "aicr.nccl_runtime.supplied"
local tree = require "aicr.nccl_runtime.tree"

local function refused(reason, f, ...)
  local ok, err = pcall(f, ...)
  assert.is_false(ok)
  assert.same({ "INVALID_REQUEST", reason }, { err.code, err.reason })
  return err
end

describe("a node selector", function()
  it("is what the terms say", function()
    assert.same({ pool = "a", ["x.example/y"] = "b-1", empty = "" },
      scheduling.selector { "pool=a", " x.example/y=b-1 ", "empty=" })
    assert.is_nil(scheduling.selector {})
  end)

  for _, term in ipairs { "", "pool", "=x", "a=b=c", "a b=c", "a=b\27" } do
    it(("is not %q"):format(term), function()
      assert.is_false(refused("node-selector", scheduling.selector, { term }).verdict)
    end)
  end
end)

describe("tolerations", function()
  it("are what the terms say", function()
    local found = scheduling.tolerations { "a=b:NoSchedule", "x.example/y:NoExecute", "c=:PreferNoSchedule", "*" }
    assert.same({
      { key = "a", operator = "Equal", value = "b", effect = "NoSchedule" },
      { key = "x.example/y", operator = "Exists", effect = "NoExecute" },
      { key = "c", operator = "Equal", value = "", effect = "PreferNoSchedule" }, { operator = "Exists" },
    }, { table.unpack(found) })
    assert.is_true(json.is_array(found))
    assert.is_nil(scheduling.tolerations {})
  end)

  for _, term in ipairs { "", "a", "a=b", "a=b:", "a=b:noschedule", ":NoSchedule", "=b:NoSchedule" } do
    it(("are not %q"):format(term), function()
      refused("toleration", scheduling.tolerations, { term })
    end)
  end

  it("and selector replace what the worker has, or leave it", function()
    local function runtime()
      return { spec = { template = { spec = { replicatedJobs = json.array { { name = "node", template = { spec = {
        template = { spec = { nodeSelector = { old = "x" }, tolerations = json.array { { key = "old" } } } },
      } } } } } } } }
    end
    local spec = tree.pod_template(scheduling.stamp(runtime(), { new = "y" }, nil), "node").spec
    assert.same({ { new = "y" }, "old" }, { spec.nodeSelector, spec.tolerations[1].key })
    spec = tree.pod_template(scheduling.stamp(runtime(), nil, json.array { { operator = "Exists" } }), "node").spec
    assert.same({ { old = "x" }, "Exists", nil }, { spec.nodeSelector, spec.tolerations[1].operator,
      spec.tolerations[1].key })
  end)
end)

describe("the label that nodes share", function()
  local function size(...)
    return { nodes = { "a", "b" }, labels = { { l = (...) }, { l = select(2, ...) } } }
  end

  it("selects them", function()
    assert.same({ l = "x" }, scheduling.shared_label("l", size("x", "x")))
  end)

  for what, pair in pairs { ["differs"] = { "x", "y" }, ["is missing"] = { "x" }, ["is empty"] = { "", "" } } do
    it("is refused when it " .. what, function()
      assert.is_true(refused("mixed-nodes", scheduling.shared_label, "l", size(pair[1], pair[2])).verdict)
    end)
  end
end)

describe("the text of a size", function()
  for bytes, wanted in pairs { [1024] = "1K", [17179869184] = "16G", [1 << 40] = "1024G", [1000] = "1000",
    [3 << 20] = "3M", [1] = "1", [1536] = "1536" } do
    it("is " .. wanted, function()
      assert.equal(wanted, request.size_text(bytes))
    end)
  end
end)

describe("a supplied runtime", function()
  local CARRIER <const> = "apiVersion: trainer.kubeflow.org/v1alpha1\nkind: TrainingRuntime\nspec: {template: {spec: "
    .. "{replicatedJobs: [{name: node, template: {spec: {template: {x: ['${NAMESPACE}', ${WORKER_COUNT}, "
    .. "'${GPU_COUNT}', ${GPU_COUNT_PER_NODE}, '${TEST_TYPE}', '${MIN_MESSAGE_SIZE}', '${MAX_MESSAGE_SIZE}', "
    .. "'${OTHER}', '$NAMESPACE']}}}}]}}}\n"

  it("has its variables replaced, and no others", function()
    local object = supplied.render(CARRIER, {
      namespace = "ns", workers = 3, gpus = 8, min_size = "1K", max_size = "16G",
    })
    assert.same({ "ns", 3, "24", 8, "all_reduce_perf", "1K", "16G", "${OTHER}", "$NAMESPACE" },
      { table.unpack(tree.pod_template(object, "node").x) })
  end)

  it("may have braces where YAML takes none", function()
    assert.equal("TrainingRuntime", supplied.check(CARRIER).kind)
  end)
end)
