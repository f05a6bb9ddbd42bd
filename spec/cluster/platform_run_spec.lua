-- SPDX-License-Identifier: Apache-2.0
-- A torch, an exec and an MPI run of aicr.platform on the real Trainer, from a check to their end: what comes before
-- the command and the user's environment are seen in what the workers wrote. spec/support/cluster_train.lua says what
-- stands for PyTorch, MPI and sshd.
require "aicr_native"
local cluster = require "spec.support.cluster"
local json = require "aicr.json"
local runs = require "spec.support.cluster_run"
local train = require "spec.support.cluster_train"
local training = require "spec.support.cluster_training"

local SECONDS <const> = 90
-- Each word arrives as it is, whatever a shell would make of it.
local WORDS <const> = { "a b", "it's $HOME", "`id`" }
local ARGS <const> = ('Args = { "a b", "it\'s $HOME", "`id`" }')

local RUNS <const> = {
  torch = {
    platform = "aws", arch = "gb300", framework = "torch", has_claims = true,
    program = 'Command = { "/share/train" }, ' .. ARGS,
  },
  exec = {
    platform = "gcp", arch = "h100", framework = "exec", program = 'Command = { "sh", "/share/train" }, ' .. ARGS,
  },
  named = {
    platform = "oci", arch = "h100", framework = "exec", program = 'Command = { "true" }', launcher = "8s",
    entry = ("x"):rep(57),
  },
  half = {
    platform = "oci", arch = "h100", framework = "exec",
    program = [[Command = { "sh", "-c", "until [ $JOB_COMPLETION_INDEX = 0 ] || [ -e /tmp/go ]; do sleep 0.1; done" }]],
  },
  mpi = {
    platform = "aws", arch = "gb300", framework = "mpi", has_claims = true,
    program = 'Binary = "/share/train", UserMPIArgs = { "-x", "SPEC_BEFORE" }, EnableMNNVL = true, ' .. ARGS,
  },
}

local function holds(text, ...)
  for _, line in ipairs { ... } do
    assert.truthy(("\n" .. text):find("\n" .. line .. "\n", 1, true), ("no line %q in:\n%s"):format(line, text))
  end
end

local function lacks(text, ...)
  for _, words in ipairs { ... } do
    assert.is_nil(text:find(words, 1, true), ("%q is in:\n%s"):format(words, text))
  end
end

-- What a rank said, whatever started it.
local function holds_rank(text, rank)
  for _, word in ipairs(WORDS) do
    holds(text, ("rank %d word <%s>"):format(rank, word))
  end
  holds(text, ("rank %d env SPEC_USER=the user's own"):format(rank), ("rank %d env SPEC_BEFORE=before"):format(rank),
    ("rank %d env NCCL_DEBUG=WARN"):format(rank), ("rank %d env NCCL_SOCKET_IFNAME=eth0"):format(rank))
end

local function workers_logs(namespace)
  local out = {}
  for i, pod in ipairs(training.pods(namespace, "node")) do
    out[i] = cluster.kubectl("-n", namespace, "logs", pod.metadata.name)
  end
  return out
end

-- Ends what pod 1 waits for.
local function let_go(namespace)
  for _, pod in ipairs(training.pods(namespace, "node")) do
    if pod.metadata.name:find("-node-0-1-", 1, true) then
      cluster.kubectl("-n", namespace, "exec", pod.metadata.name, "--", "touch", "/tmp/go")
      return
    end
  end
  error "there is no pod 1 any more"
end

describe("a training run on a platform", function()
  local results, sshd = {}, nil

  setup(function()
    train.make_image()
    train.serve_domains()
    local started = {}
    for name, how in pairs(RUNS) do
      how.namespace = training.namespace()
      started[name] = train.start(how)
    end
    started.mpi:saw("workers 2/2 running, launcher running", SECONDS)
    sshd = workers_logs(RUNS.mpi.namespace)
    training.go(RUNS.mpi.namespace)
    started.half:saw(": succeeded", SECONDS)
    let_go(RUNS.half.namespace)
    for name, run in pairs(started) do
      results[name] = run:finish(SECONDS)
    end
  end)

  teardown(function()
    runs.end_all()
    train.serve_no_domains()
  end)

  for _, name in ipairs { "torch", "exec", "mpi" } do
    it(name .. " ends well, and nothing of it is left", function()
      local result = results[name]
      assert.equal("pass", result.check.outcome, result.stdout .. result.stderr)
      assert.is_false(training.is_there(RUNS[name].namespace))
    end)
  end

  it("torch: torchrun starts the ranks of each node, behind the lines of the platform and the user", function()
    local extra = results.torch.check.extra
    local workers = json.decode(extra.workers)
    assert.equal(1, #workers)
    for node, log in ipairs { extra.log, workers[1].log } do
      holds(log, ("torchrun of node %d of 2, main node run1-node-0-0.run1:29500"):format(node - 1))
      assert.matches("^before on run1%-node%-0%-" .. node - 1 .. "\n", log)
      for rank = 2 * node - 2, 2 * node - 1 do
        holds_rank(log, rank)
        holds(log, ("rank %d has no /opt/amazon"):format(rank), ("rank %d env NCCL_MNNVL_ENABLE=0"):format(rank))
      end
    end
  end)

  it("exec: each node runs the command, with the platform's environment but for what the user set", function()
    local extra = results.exec.check.extra
    for node, log in ipairs { extra.log, json.decode(extra.workers)[1].log } do
      assert.matches("^before on run1%-node%-0%-" .. node - 1 .. "\n", log)
      holds_rank(log, node - 1)
      local rank = ("rank %d "):format(node - 1)
      holds(log, rank .. "has /opt/amazon", rank .. "env NCCL_FASTRAK_CTRL_DEV=eth0", rank .. "env NCCL_NVLS_ENABLE=0")
    end
  end)

  it("mpi: the workers' pods and the ranks have the environment, the launcher what comes before", function()
    for _, log in ipairs(sshd) do
      assert.truthy(log:find("sshd env SPEC_USER=the user's own\n", 1, true), log)
      assert.truthy(log:find("sshd env NCCL_DEBUG=WARN\n", 1, true), log)
    end
    assert.equal(2, #sshd)
    local log = results.mpi.check.extra.log
    assert.matches("^before on run1%-launcher%-0%-0\n", log)
    holds(log, "mpirun mca plm_rsh_args <-o StrictHostKeyChecking=no -o ConnectionAttempts=10>", "mpirun mca pml <ob1>",
      "mpirun host run1-node-0-0.run1 slots=2", "mpirun host run1-node-0-1.run1 slots=2")
    for rank = 0, 3 do
      holds_rank(log, rank)
      holds(log, ("rank %d env NCCL_NET_PLUGIN=none"):format(rank), ("rank %d env NCCL_MNNVL_ENABLE=1"):format(rank),
        ("rank %d has no /opt/amazon"):format(rank))
    end
    lacks(log, "rank 4 ", " env OMPI_MCA")
    assert.equal("none", results.mpi.check.extra.workers)
  end)

  it("torch and mpi: what the claims need was made with them", function()
    for _, name in ipairs { "torch", "mpi" } do
      local kinds = {}
      for _, one in ipairs(results[name].check.resources) do
        kinds[#kinds + 1] = one.kind
      end
      assert.matches("TrainingRuntime ComputeDomain ResourceClaimTemplate TrainJob", table.concat(kinds, " "))
    end
  end)

  it("whose name is too long for pods is an error with the words of JobSet", function()
    local result = results.named
    assert.equal("launcher-missing", result.check.reason, result.stdout .. result.stderr)
    assert.matches("the TrainJob says: .*exceed 63 characters", result.check.message)
    assert.is_false(training.is_there(RUNS.named.namespace))
  end)

  it("waits for all of its pods, though pod 0 has succeeded", function()
    assert.equal("pass", results.half.check.outcome, results.half.stdout .. results.half.stderr)
    assert.equal(1, #json.decode(results.half.check.extra.workers))
  end)
end)
