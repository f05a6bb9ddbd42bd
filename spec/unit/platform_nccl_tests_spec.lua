-- SPDX-License-Identifier: Apache-2.0
--- The catalogue of NCCL tests and what is made of their figures: platform-runtimes.md 6, 7 and rows
--- 103 to 108 of its section 8; the spec of aicr.nccl has the logs.
require "aicr_native"
local catalog = require "aicr.platform.catalog"
local files = require "spec.support.files"
local gke = require "aicr.gke"
local platform = require "aicr.platform"
local raised = require "spec.support.raised"

local function test(name, words, more)
  local on, arch = words:match "^(%S+) (%S+)$"
  local options = { platform = on, arch = arch, gpus = 8 }
  for key, member in pairs(more or {}) do
    options[key] = member
  end
  return platform.nccl_test(name, options), options
end

local function env(one)
  local out = {}
  for i, entry in ipairs(one.env) do
    out[i] = entry.value and entry.name .. "=" .. entry.value or entry.name
  end
  return table.concat(out, " ")
end

local IB <const> = "NCCL_DEBUG=INFO NCCL_IB_PCI_RELAXED_ORDERING=1"
local GB <const> = "NCCL_DEBUG=INFO NCCL_NVLS_ENABLE=1 NCCL_CUMEM_ENABLE=1 NCCL_P2P_NET_CHUNKSIZE=2097152"
  .. " NCCL_MNNVL_ENABLE=0"

describe("nccl_test", function()
  local rows = {
    { "forge h100", "common", "NCCL_DEBUG=INFO NCCL_MNNVL_ENABLE=0" },
    { "aws h100", "aws", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin:/opt/amazon/efa/bin"
      .. " NCCL_DEBUG=INFO FI_EFA_USE_DEVICE_RDMA=1 FI_PROVIDER=efa NCCL_SOCKET_IFNAME=eth0 LD_LIBRARY_PATH" },
    { "azure h100", "azure", IB .. " NCCL_SOCKET_IFNAME=eth0 NCCL_TOPO_FILE=/etc/nccl/topo.xml" },
    { "azure a100", "common" },
    { "oci h100", "oci", IB .. " NCCL_IB_TC=41 NCCL_IB_SL=0 NCCL_IB_QPS_PER_CONNECTION=4 NCCL_IB_GID_INDEX=3"
      .. " NCCL_IB_SPLIT_DATA_ON_QPS=0 NCCL_SOCKET_IFNAME=eth0 OMPI_MCA_coll_hcoll_enable=0"
      .. " OMPI_MCA_orte_keep_fqdn_hostnames=t" },
    { "forge gb200", "gb", GB }, { "azure gb300", "gb", GB }, { "oci gb300", "gb", GB },
    { "aws gb200", "aws-gb200", GB .. " FI_PROVIDER=efa FI_EFA_USE_DEVICE_RDMA=1 FI_EFA_FORK_SAFE=1" },
    { "gcp gb200", "gcp-gb", GB .. " NCCL_NET_GDR_LEVEL=5" }, { "aws gb300", "aws-gb300" },
    { "mistral gb300", "mistral-gb300" }, { "gcp rtxpro6000", "gcp-rtxpro6000" }, { "gcp h200", "common" },
  }
  for _, row in ipairs(rows) do
    it("on " .. row[1], function()
      local got = test("all-reduce", row[1])
      assert.equal(row[2], got.row)
      if row[3] then
        assert.equal(row[3], env(got))
      end
    end)
  end
  it("takes programs and image of the platform", function()
    local aws, gcp, forge = test("alltoall", "aws h100"), test("alltoall", "gcp h100"), test("alltoall", "forge h100")
    assert.equal("/opt/nccl-tests/build/alltoall_perf", aws.binary)
    assert.equal("/opt/amazon/openmpi/bin/mpirun", aws.mpirun)
    assert.equal("/usr/local/bin/alltoall_perf_mpi", gcp.binary)
    assert.equal("nvcr.io/nvidia/pytorch:25.06-py3", gcp.image)
    assert.equal(29, #gcp.env)
    assert.equal("nvcr.io/nvidia/pytorch:26.01-py3", forge.image)
    assert.equal("/usr/local/mpi/bin/mpirun", forge.mpirun)
  end)
  it("has the arguments of the sweep", function()
    assert.equal("-b 8 -e 16G -f 2 -n 20 -N 1", table.concat(test("all-reduce", "aws h100").args, " "))
    local some = test("all-reduce", "aws h100", { max_bytes = "32G", iterations = 100, cycles = 3 })
    assert.equal("-b 8 -e 32G -f 2 -n 100 -N 3", table.concat(some.args, " "))
    assert.equal("-b 8 -e 16G -f 2 -n 5 -N 1",
      table.concat(test("all-gather", "aws h100", { diagnose = true }).args, " "))
    assert.equal("-b 8 -e 16G -f 2 -n 20 -N 1 -g 8", table.concat(test("loopback-nvswitch", "aws h100").args, " "))
  end)
  it("judges one rank alone by the algorithm's bandwidth", function()
    assert.equal("algBandwidthGBps", test("loopback", "aws h100").judged)
    for _, name in ipairs { "all-reduce", "all-gather", "alltoall", "loopback-nvswitch" } do
      assert.equal("busBandwidthGBps", test(name, "aws h100").judged)
    end
  end)
  it("has what was published, and no threshold", function()
    local off = test("all-reduce", "aws gb300", { mnnvl = false })
    assert.same({ busBandwidthGBps = 376.01, nodes = 8 }, off.published)
    assert.same({ busBandwidthGBps = 923.32, nodes = 8 }, test("all-reduce", "aws gb300", { mnnvl = true }).published)
    assert.is_nil(test("all-reduce", "oci h100").published)
    assert.is_nil(off.thresholds)
  end)
  for _, row in ipairs {
    { "all_reduce", {}, "unknown-test", 'there is no NCCL test "all_reduce"; did you mean "all-reduce"?' },
    { "all-reduce", { max_bytes = "16 G" }, "size", 'max_bytes "16 G" is not valid' },
    { "all-reduce", { max_bytes = "-1" }, "size", 'max_bytes "-1" is not valid' },
    { "all-reduce", { iterations = 0 }, "size", 'iterations "0" is not valid' },
    { "all-reduce", { cycles = 1.5 }, "size", 'cycles "1.5" is not valid' },
  } do
    it("refuses " .. row[4], function()
      local err = raised(test, row[1], "aws h100", row[2])
      assert.equal(row[3], err.reason)
      assert.equal(row[4], err.message:sub(1, #row[4]))
    end)
  end
  it("ends with a launcher that fails, and asks oci for the NICs that a node has", function()
    local function jobs(words, more)
      local one, options = test("all-reduce", words, more)
      options.entry, options.nodes = "e", 2
      local built = platform.build_run(platform.nccl_run(one, options))
      return built.dependencies[1].spec.template.spec.replicatedJobs, built.train_job.spec.trainer.args
    end
    local of, args = jobs("oci h100", { nics = 8, min_bytes = "1K" })
    assert.equal("-b 1K -e 16G -f 2 -n 20 -N 1", table.concat(args, " ", #args - 9))
    local worker, launcher = of[1].template.spec.template.spec, of[2].template.spec.template.spec
    assert.equal("Never", launcher.restartPolicy)
    assert.equal("FallbackToLogsOnError", launcher.containers[1].terminationMessagePolicy)
    assert.equal("OnFailure", worker.restartPolicy)
    assert.equal(8, worker.containers[1].resources.limits["nvidia.com/mlnxnics"])
    assert.equal(8, worker.containers[1].resources.requests["nvidia.com/mlnxnics"])
    worker = jobs("oci gb200", { nics = 0 })[1].template.spec.template.spec
    assert.is_nil(worker.containers[1].resources.limits["nvidia.com/mlnxnics"])
  end)
end)

describe("nccl_run", function()
  local function built(name, words, more)
    local one, options = test(name, words, more)
    options.entry, options.nodes, options.nics = "run1", 2, 8
    return platform.build_run(platform.nccl_run(one, options))
  end
  it("forwards the environment of the catalogue, and what the run has besides", function()
    local args = table.concat(built("all-reduce", "aws h100").trainer.args, " ")
    assert.matches(" %-x LD_LIBRARY_PATH /opt/nccl%-tests/build/all_reduce_perf %-b 8 ", args)
    assert.matches(" %-x FI_PROVIDER=efa %-x NCCL_SOCKET_IFNAME=eth0 %-x LD_LIBRARY_PATH ", args)
    assert.matches(" %-x NCCL_DEBUG_SUBSYS=NET,INIT ", args)
    assert.equal(2, select(2, args:gsub("NCCL_SOCKET_IFNAME=", "")) + select(2, args:gsub("NCCL_DEBUG=", "")))
  end)
  it("starts one process with all GPUs for the NVSwitch test, on any node", function()
    local got = built("loopback-nvswitch", "aws h100")
    assert.equal(1, got.trainer.numNodes)
    assert.equal(1, got.trainer.numProcPerNode)
    assert.same({ "/opt/nccl-tests/build/all_reduce_perf" }, got.trainer.command)
    local spec = got.dependencies[1].spec
    assert.equal(1, spec.mlPolicy.torch.numProcPerNode)
    local pod = spec.template.spec.replicatedJobs[1].template.spec.template.spec
    assert.same({ { operator = "Exists" } }, pod.tolerations)
    assert.same({ "IPC_LOCK" }, pod.containers[1].securityContext.capabilities.add)
    assert.equal("8", pod.containers[1].resources.limits["nvidia.com/gpu"])
    assert.is_nil(pod.containers[1].env[11].valueFrom)
  end)
  it("sets GPUDirect-TCPXO up as the nodes have it", function()
    local networks = { "a-gpu-nic", "b-gpu-nic", "c-gpu-nic", "d-gpu-nic", "e-gpu-nic", "f-gpu-nic", "g-gpu-nic",
      "h-gpu-nic" }
    local got = built("all-reduce", "gcp h100", { networks = networks, release = "v1.0.17" })
    assert.equal("nvcr.io/nvidia/pytorch:26.01-py3", got.trainer.image)
    local jobs = got.dependencies[1].spec.template.spec.replicatedJobs
    local pod = jobs[1].template.spec.template
    assert.same(gke.interfaces_annotation(networks), pod.metadata.annotations["networking.gke.io/interfaces"])
    assert.matches("/dev/nvidia7\n", pod.metadata.annotations["devices.gke.io/container.tcpxo-daemon"])
    assert.matches(":v1%.0%.23$", pod.spec.initContainers[1].image)
    local mounts = {}
    for i, mount in ipairs(pod.spec.containers[1].volumeMounts) do
      mounts[i] = mount.mountPath
    end
    assert.equal("/tmp/mpi-ssh-raw /dev/shm /usr/local/nvidia /dev/aperture_devices", table.concat(mounts, " "))
    assert.equal("fix-ssh-permissions", jobs[2].template.spec.template.spec.initContainers[1].name)
    assert.equal("nvcr.io/nvidia/pytorch:25.06-py3", built("all-reduce", "gcp h100").trainer.image)
  end)
  it("takes the user's image", function()
    assert.equal("mine", built("all-reduce", "aws h100", { image = "mine" }).trainer.image)
  end)
end)

describe("figures", function()
  it("8.103 have a running mean", function()
    assert.same({ algbw = 12.0, busbw = 22.0, count = 3 },
      platform.add_measurement({ algbw = 10.0, busbw = 20.0, count = 2 }, { algbw = 16, busbw = 26 }))
    assert.same({ algbw = 1.01, busbw = 2.0, count = 1 }, platform.add_measurement(nil, { algbw = 1.006, busbw = 2 }))
  end)
  it("8.104 have a peak over sizes, each by itself", function()
    local means = { { busbw = 0.0, algbw = 9 }, { busbw = 480.11, algbw = 2 }, { busbw = 487.87, algbw = 1 } }
    assert.same({ busBandwidthGBps = 487.87, algBandwidthGBps = 9 }, platform.peak(means))
    assert.same({}, platform.peak {})
  end)
  local rows = {
    { "8.105", ">= 487.87", 487.87, true }, { "8.105", ">= 487.88", 487.87, false, "threshold" },
    { "8.106", ">= 1", nil, false, "measurement-missing" },
    { "below", "<= 3.0", 3.1, false, "threshold" }, { "strictly above", "> 3", 3, false, "threshold" },
    { "strictly below", "<3", 2.9, true }, { "equal", "== 3", 3, true }, { "equal, shorter", "= 3", 3, true },
    { "between", ">= 370 < 500", 370.5, true }, { "not between", ">= 370 < 500", 500, false, "threshold" },
    { "one of two", "< 1 || >= 370", 400, true }, { "none of two", "< 1 || >= 370", 200, false, "threshold" },
    { "other than", "!= 0", 0, false, "threshold" }, { "no version: 0.9 is more than 0.87", "> 0.87", 0.9, true },
    { "no version: a fraction counts", "> 370", 370.5, true }, { "no number", "!= 1", 0 / 0, false, "threshold" },
  }
  for _, row in ipairs(rows) do
    it(("%s %s against %s"):format(row[1], row[2], tostring(row[3])), function()
      local got = platform.judge({ busBandwidthGBps = row[2] }, { busBandwidthGBps = row[3] })
      local wanted = { figure = "busBandwidthGBps", threshold = row[2], value = row[3], pass = row[4], reason = row[5] }
      if row[3] == row[3] then
        assert.same({ wanted }, got)
      else
        assert.same({ false, row[5] }, { got[1].pass, got[1].reason })
      end
    end)
  end
  it("without thresholds nothing is judged", function()
    assert.same({}, platform.judge(nil, { busBandwidthGBps = 1 }))
  end)
  for _, text in ipairs { "370", ">= fast", "=> 3", ">= 1e3", "", ">= 3 ||", ">= 3<4", ">= -1", ">= 3 GB/s" } do
    it(("no threshold is %q"):format(text), function()
      assert.equal("threshold", raised(platform.judge, { busBandwidthGBps = text }, {}).reason)
    end)
  end
  it("8.108 failed nodes: sorted, each reason once", function()
    local function entry(name, reason)
      return { name = name, reason = reason }
    end
    assert.same({ entry("a", "y"), entry("b", "x") },
      platform.failed_nodes { entry("b", "x"), entry("a", "y"), entry("b", "x"), entry("", "z") })
    assert.same({ entry("a", "x"), entry("a", "y") }, platform.failed_nodes { entry("a", "y"), entry("a", "x") })
  end)
end)

describe("a catalogue", function()
  local function load(text)
    return catalog.load(text, "site.yaml", function() return nil end)
  end
  local rows = {
    { "an unknown key", "test: []", 'site.yaml: "test" is not known; did you mean "tests"?' },
    { "no object", "- a", "site.yaml: expected an object" },
    { "a row without a name", "platforms: [{when: {}}]", "site.yaml: platforms[1]: a row has a name" },
    { "an unknown platform", "platforms: [{name: a, when: {platform: {equals: gke}}}]",
      'site.yaml: row "a": when.platform.equals: "gke" is no platform' },
    { "a fragment that is missing", "platforms: [{name: a, env: [{$use: x}]}]",
      "site.yaml: platforms[1].env[1]: there is no fragment _lib/x.yaml" },
    { "a threshold of no test", "tests: [{name: a}]\nthresholds: [{test: b, busBandwidthGBps: '> 1'}]",
      'site.yaml: thresholds[1].test: there is no test "b"' },
    { "a threshold that is a number", "tests: [{name: a}]\nthresholds: [{test: a, busBandwidthGBps: 370}]",
      'site.yaml: thresholds[1].busBandwidthGBps: expected a comparison such as ">= 370", got 370' },
    { "a threshold of no test's name", "tests: [{name: a}]\nthresholds: [{busBandwidthGBps: '> 1'}]",
      "site.yaml: thresholds[1]: a threshold names its test" },
    { "a threshold of an unknown platform", "tests: [{name: a}]\n"
      .. "thresholds: [{test: a, platform: gke, busBandwidthGBps: '> 1'}]",
      'site.yaml: thresholds[1].platform: "gke" is no platform; expected one of: aws, gcp' },
    { "a threshold of an architecture in capitals", "tests: [{name: a}]\n"
      .. "thresholds: [{test: a, arch: H100, busBandwidthGBps: '> 1'}]",
      "site.yaml: thresholds[1].arch: expected lower-case letters and digits" },
    { "a threshold that is text", "tests: [{name: a}]\nthresholds: [a]",
      "site.yaml: thresholds[1]: expected an object, got" },
    { "thresholds that are text", "thresholds: x", "site.yaml: thresholds: expected a list, got" },
    { "a threshold of nothing", "tests: [{name: a}]\nthresholds: [{test: a}]",
      "site.yaml: thresholds[1]: a threshold names" },
    { "a threshold of another figure", "tests: [{name: a}]\nthresholds: [{test: a, busbw: '> 1'}]",
      "site.yaml: thresholds[1].busbw: is not known" },
  }
  for _, row in ipairs(rows) do
    it("is refused with " .. row[1], function()
      local message = raised(load, row[2]).message
      assert.equal(row[3], message:sub(1, #row[3]))
    end)
  end
  it("gives thresholds of platform, architecture and test", function()
    local data = files.read(catalog.FILE):gsub("thresholds: %[%]", "thresholds:\n"
      .. "- {test: all-reduce, busBandwidthGBps: '>= 1'}\n"
      .. "- {test: all-reduce, platform: aws, arch: h100, busBandwidthGBps: '>= 370'}\n"
      .. "- {test: all-reduce, platform: gcp, algBandwidthGBps: '>= 5'}\n")
    local all = catalog.load(data, "site.yaml", function(name)
      return files.read(("recipes/overrides/_lib/%s.yaml"):format(name))
    end)
    local function thresholds(name, on, arch)
      return catalog.test_of(all, name, { platform = on, arch = arch, gpus = 8 }).thresholds
    end
    assert.same({ busBandwidthGBps = ">= 370" }, thresholds("all-reduce", "aws", "h100"))
    assert.same({ busBandwidthGBps = ">= 1" }, thresholds("all-reduce", "aws", "h200"))
    assert.same({ busBandwidthGBps = ">= 1", algBandwidthGBps = ">= 5" }, thresholds("all-reduce", "gcp", "h100"))
    assert.is_nil(thresholds("alltoall", "aws", "h100"))
  end)
end)
