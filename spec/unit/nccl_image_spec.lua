-- SPDX-License-Identifier: Apache-2.0
--- The override of the benchmark's image: gke-tcpxo.md 5.4, vector R-24.
require "aicr_native"
local image = require "aicr.nccl_runtime.image"
local skeleton = require "aicr.nccl_runtime.gke_skeleton"
local tree = require "aicr.nccl_runtime.tree"

describe("the reference of an image", function()
  local good = {
    "pytorch", "pytorch:25.06-py3", "nvidia/pytorch:25.06-py3", "registry.example/nvidia/pytorch:25.06-py3",
    "localhost/x", "localhost:5000/x:y", "registry.example:5000/a/b_c/d__e/f--g:T.a_g-1",
    "registry.example/x@sha256:" .. ("0a"):rep(32), "registry.example/x:1@sha256:" .. ("0a"):rep(32),
    " registry.example/x:1 ", "UPPER/x",
  }
  for _, given in ipairs(good) do
    it("may be " .. given, function()
      assert.equal((given:gsub(" ", "")), image.reference(given))
    end)
  end

  it("may be absent", function()
    assert.is_nil(image.reference "")
  end)

  local bad = {
    " ", "\t\n", "Bad Ref!!", "a b", "x:", ":x", "/x", "x/", "a//b", "x@sha256:12", "x@", "X", "a/B", "x:-t", "-x",
    "x-", "a._b", "a___b", "registry.example:port/x", "-host.example/x", "http://registry.example/x", "x\0y", "$(id)",
    "x:" .. ("t"):rep(129), ("a"):rep(5000),
  }
  for _, given in ipairs(bad) do
    it(("is not %q"):format(given:sub(1, 40)), function()
      local ok, err = pcall(image.reference, given)
      assert.is_false(ok)
      assert.same({ "INVALID_REQUEST", "runtime-image", true }, { err.code, err.reason, err.verdict })
      assert.is_nil(err.message:find "[\0-\8\11-\31]")
    end)
  end
end)

describe("the image", function()
  local function runtime()
    return skeleton.runtime {
      namespace = "ns", workers = 2, gpus = 8, min_size = "1K", max_size = "16G", networks = { "a-gpu-nic" },
    }
  end

  it("is put where the benchmark's program runs, and not into the daemon", function()
    local changed = image.override(runtime(), "registry.example/x:1")
    local launcher, worker = tree.pod_template(changed, "launcher"), tree.pod_template(changed, "node")
    assert.equal("registry.example/x:1", launcher.spec.initContainers[1].image)
    assert.equal("registry.example/x:1", launcher.spec.containers[1].image)
    assert.equal("registry.example/x:1", worker.spec.containers[1].image)
    assert.equal(skeleton.DAEMON_IMAGE, worker.spec.initContainers[1].image)
  end)

  it("needs a container to go to", function()
    local bare = runtime()
    bare.spec.template.spec.replicatedJobs = nil
    local ok, err = pcall(image.override, bare, "x")
    assert.is_false(ok)
    assert.same({ "INTERNAL", "no-container", false }, { err.code, err.reason, err.verdict })
  end)
end)
