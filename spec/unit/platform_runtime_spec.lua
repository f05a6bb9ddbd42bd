-- SPDX-License-Identifier: Apache-2.0
--- Training runtimes: platform-runtimes.md 3 and rows 20 to 38 of its section 8.
require "aicr_native"
local json = require "aicr.json"
local older = require "spec.support.platform_older"
local platform = require "aicr.platform"
local raised = require "spec.support.raised"
local scripts = require "aicr.platform.scripts"
local support = require "spec.support.platform"
local vectors = require "spec.support.vectors"

local BUILD <const> = {
  torch = platform.build_torch_runtime, exec = platform.build_exec_runtime, mpi = platform.build_mpi_runtime,
}

local function build(framework, more)
  local config = { EntryName = "run1", Image = "img", NodesPerJob = 2, GpusPerNode = 8 }
  for key, value in pairs(more or {}) do
    config[key] = value
  end
  return BUILD[framework](config)
end

local function jobs(runtime)
  return runtime.spec.template.spec.replicatedJobs
end

local function pod(runtime, i)
  return jobs(runtime)[i or 1].template.spec.template.spec
end

local function names(list, key)
  local out = {}
  for i, item in ipairs(list) do
    out[i] = item[key or "name"]
  end
  return table.concat(out, " ")
end

-- All keys and texts of a value.
local function holds(value, wanted)
  local found = false
  support.map(value, function(v, key)
    found = found or v == wanted or key == wanted
    return v
  end)
  return found
end

local GPU8 <const> = { ["nvidia.com/gpu"] = "8" }
local KAI <const> = "kai.scheduler/queue"

describe("a torch runtime", function()
  it("8.20 without anything else", function()
    local r = build "torch"
    assert.equal("run1-runtime", r.metadata.name)
    assert.same({ numNodes = 2, torch = { numProcPerNode = 8 } }, r.spec.mlPolicy)
    assert.equal("node", names(jobs(r)))
    assert.same({ limits = GPU8, requests = GPU8 }, pod(r).containers[1].resources)
    assert.equal("/dev/shm", names(pod(r).containers[1].volumeMounts, "mountPath"))
    assert.equal("dshm", names(pod(r).volumes))
    assert.is_nil(pod(r).initContainers)
    assert.is_nil(pod(r).schedulerName)
    assert.equal(json.null, pod(r).containers[1].env)
  end)
  it("8.21 is that of exec", function()
    support.same(build "torch", build "exec")
  end)
  it("8.22 volumes and mounts come behind the shared memory", function()
    local r = build("torch", {
      Volumes = { { name = "data", emptyDir = {} } }, VolumeMounts = { { name = "data", mountPath = "/data" } },
    })
    assert.equal("dshm data", names(pod(r).volumes))
    assert.equal("/dev/shm /data", names(pod(r).containers[1].volumeMounts, "mountPath"))
  end)
  local rows = {
    { "8.23", 8, { limits = { cpu = "4" } },
      { limits = { cpu = "4", ["nvidia.com/gpu"] = "8" }, requests = GPU8 } },
    { "8.24", 8, { requests = { ["nvidia.com/gpu"] = 0 } }, { requests = { ["nvidia.com/gpu"] = 0 } } },
    { "8.25", 0, { limits = { memory = "1Gi" } }, { limits = { memory = "1Gi" } } },
  }
  for _, row in ipairs(rows) do
    it(row[1] .. " resources", function()
      local given = json.encode(row[3])
      assert.same(row[4], pod(build("torch", { GpusPerNode = row[2], Resources = row[3] })).containers[1].resources)
      assert.equal(given, json.encode(row[3]), "the caller's table is not changed")
    end)
  end
  it("8.26 no pull secrets", function()
    assert.is_false(holds(build("torch", { ImagePullSecrets = { { name = "s" } } }), "imagePullSecrets"))
  end)
  it("8.27 a gang scheduler and its default queue", function()
    local r = build("torch", { GangSchedulerName = "kai-scheduler", GangSchedulerQueue = "" })
    assert.equal("kai-scheduler", pod(r).schedulerName)
    assert.equal("default-queue", jobs(r)[1].template.metadata.labels[KAI])
    assert.equal("default-queue", jobs(r)[1].template.spec.template.metadata.labels[KAI])
  end)
  it("8.28 a queue label of its own", function()
    local r = build("torch", {
      GangSchedulerName = "runai-scheduler", GangSchedulerQueue = "team-a", GangSchedulerQueueLabelKey = "runai/queue",
    })
    assert.equal("team-a", jobs(r)[1].template.metadata.labels["runai/queue"])
    assert.equal("team-a", jobs(r)[1].template.spec.template.metadata.labels["runai/queue"])
    assert.is_false(holds(r, KAI))
  end)
  it("8.29 a queue without a scheduler is nothing", function()
    support.same(build "torch", build("torch", { GangSchedulerName = "", GangSchedulerQueue = "q" }))
  end)
end)

describe("an MPI runtime", function()
  it("8.30 jobs and policy", function()
    local r = build("mpi", { NodesPerJob = 4 })
    assert.same({
      numNodes = 1,
      mpi = { mpiImplementation = "OpenMPI", numProcPerNode = 8, sshAuthMountPath = "/tmp/mpi-ssh-raw" },
    }, r.spec.mlPolicy)
    assert.equal("node launcher", names(jobs(r)))
    assert.same({ operator = "All", targetReplicatedJobs = { "launcher" } }, r.spec.template.spec.successPolicy)
    assert.is_true(r.spec.template.spec.network.publishNotReadyAddresses)
  end)
  it("8.31 the launcher waits for the workers and has no GPU", function()
    local r = build "mpi"
    assert.same({ { name = "node", status = "Ready" } }, jobs(r)[2].dependsOn)
    assert.same({ limits = { cpu = "2", memory = "1Gi" } }, pod(r, 2).containers[1].resources)
    assert.equal("fix-ssh-permissions", names(pod(r, 2).initContainers))
  end)
  it("8.32 the worker", function()
    local worker = pod(build "mpi").containers[1]
    assert.same({ capabilities = { add = { "IPC_LOCK" } } }, worker.securityContext)
    assert.same({ initialDelaySeconds = 5, tcpSocket = { port = 22 } }, worker.readinessProbe)
    assert.same({
      { name = "mpi-ssh-auth", mountPath = "/tmp/mpi-ssh-raw", readOnly = true },
      { name = "dshm", mountPath = "/dev/shm" },
    }, worker.volumeMounts)
    assert.equal("dshm", names(pod(build "mpi").volumes))
  end)
  it("8.33 both containers have the environment, the init container none", function()
    local env = json.array { { name = "A", value = "1" } }
    local r = build("mpi", { Env = env })
    assert.same(env, pod(r, 1).containers[1].env)
    assert.same(env, pod(r, 2).containers[1].env)
    assert.is_nil(pod(r, 2).initContainers[1].env)
  end)
  it("8.34 no volumes, mounts or init containers of the user's", function()
    support.same(build "mpi", build("mpi", {
      Volumes = { { name = "data", emptyDir = {} } }, VolumeMounts = { { name = "data", mountPath = "/data" } },
      InitContainers = { { name = "i", image = "i" } },
    }))
  end)
  it("8.35 no metadata on the workers' job without a gang scheduler", function()
    assert.is_nil(jobs(build "mpi")[1].template.metadata)
  end)
  it("8.36 with KAI the launcher waits inside", function()
    local r = build("mpi", { GangSchedulerName = "kai-scheduler" })
    assert.is_nil(jobs(r)[2].dependsOn)
    assert.same({ name = "mpi-hostfile", mountPath = "/etc/mpi", readOnly = true },
      pod(r, 2).initContainers[1].volumeMounts[3])
    for _, job in ipairs(jobs(r)) do
      assert.equal("default-queue", job.template.metadata.labels[KAI])
    end
  end)
  it("8.37 with another scheduler it stays gated", function()
    local r = build("mpi", { GangSchedulerName = "volcano" })
    assert.same({ { name = "node", status = "Ready" } }, jobs(r)[2].dependsOn)
    assert.equal("volcano", pod(r, 1).schedulerName)
    assert.equal("volcano", pod(r, 2).schedulerName)
  end)
  it("8.38 sshd is installed only where the image has none", function()
    local script = pod(build "mpi").containers[1].args[1]
    assert.matches("\nif %[ ! %-x /usr/sbin/sshd %]; then\n.*install.*openssh%-server\nfi\n", script)
    assert.matches("\nexec /usr/sbin/sshd %-De\n$", script)
  end)
end)

for _, framework in ipairs { "torch", "exec", "mpi" } do
  local op = ("build_%s_runtime"):format(framework)
  describe(op, function()
    for _, row in ipairs(vectors.rows(support.FILE, op)) do
      it(row.id .. " " .. (row.args.rev or "C"), function()
        local config = support.config(row.args.config)
        if support.tagged(row, "queue-key-collides") then
          assert.equal("queue-label-key", raised(BUILD[framework], config).reason)
        elseif row.args.rev == "S" then
          support.same(row.result, older.runtime(BUILD[framework](older.config(config))), row.tags)
        else
          support.same(row.result, support.marked(BUILD[framework](config)), row.tags)
        end
      end)
    end
  end)
end

describe("a configuration", function()
  local rows = {
    { "a misspelt field", { GPUsPerNode = 8 }, 'unknown field "GPUsPerNode"; did you mean "GpusPerNode"?' },
    { "no EntryName", { EntryName = false }, "EntryName: expected text, got boolean" },
    { "a size that is text", { GpusPerNode = "8" }, "GpusPerNode: expected a whole number, got string" },
    { "half a node", { NodesPerJob = 1.5 }, "NodesPerJob: expected a whole number, got number" },
  }
  for _, row in ipairs(rows) do
    it("is refused with " .. row[1], function()
      local err = raised(build, "torch", row[2])
      assert.equal("config", err.reason)
      assert.is_truthy(err.message:find(row[3], 1, true), err.message)
    end)
  end
end)

describe("gang_schedule", function()
  local KAI_CONFIG <const> = { GangSchedulerName = "kai-scheduler" }

  it("changes nothing without a scheduler", function()
    support.same(json.array { build "mpi" }, platform.gang_schedule({ build "mpi" }, {}))
  end)
  it("overwrites the scheduler and opens the gate of the launcher, once", function()
    local given = build "mpi"
    pod(given).schedulerName = "volcano"
    given.spec.template.spec.startupPolicy = { startupPolicyOrder = "InOrder" }
    local once = platform.gang_schedule({ given, { kind = "ConfigMap" } }, KAI_CONFIG)
    assert.equal("kai-scheduler", pod(once[1]).schedulerName)
    assert.is_nil(jobs(once[1])[2].dependsOn)
    assert.is_nil(once[1].spec.template.spec.startupPolicy)
    assert.equal("fix-ssh-permissions wait-for-workers", names(pod(once[1], 2).initContainers))
    assert.equal("volcano", pod(given).schedulerName)
    support.same(once, platform.gang_schedule(once, KAI_CONFIG))
  end)
  it("leaves a gate of another form alone", function()
    local given = build "mpi"
    jobs(given)[2].dependsOn[1].status = "Complete"
    local done = platform.gang_schedule({ given }, KAI_CONFIG)
    assert.same({ { name = "node", status = "Complete" } }, jobs(done[1])[2].dependsOn)
    assert.equal("fix-ssh-permissions", names(pod(done[1], 2).initContainers))
  end)
end)

describe("the scripts", function()
  -- Runs a script of ours below a folder, with the programs in place that it calls.
  local function run(script, hostfile, programs)
    local dir = assert(io.popen "mktemp -d"):read "l"
    local function write(name, text)
      local file = assert(io.open(dir .. "/" .. name, "w"))
      file:write(text)
      file:close()
    end
    write("hostfile", hostfile)
    write("script", (script:gsub("/etc/mpi/hostfile", dir .. "/hostfile")))
    for name, body in pairs(programs) do
      write(name, "#!/bin/sh\n" .. body)
      os.execute(("chmod +x %s/%s"):format(dir, name))
    end
    local pipe = io.popen(("cd %s && HOSTNAME=w-0 PATH=%s:$PATH sh -e script 2>&1; echo code=$?"):format(dir, dir))
    local out = pipe:read "a"
    pipe:close()
    os.execute("rm -r " .. dir)
    return out
  end

  for name, script in pairs(scripts) do
    if script:find "\n" then
      it(name .. " is a script of sh", function()
        local pipe = assert(io.popen("sh -n", "w"))
        pipe:write(script)
        assert.is_true(pipe:close())
      end)
    end
  end

  local WAIT <const> = scripts.WAIT_FOR_WORKERS
  local NO_SLEEP <const> = "exit 0\n"

  it("wait until every other host answers", function()
    local out = run(WAIT, "w-0.run slots=8\nw-1.run slots=8\nw-10.run slots=8", {
      sleep = NO_SLEEP,
      ssh = 'echo "$*" >> asked\ncase "$*" in *w-1.run*) [ "$(grep -c w-1.run asked)" -ge 3 ];; esac\n',
    })
    assert.equal("wait-for-workers: all answer\ncode=0\n", out)
  end)
  it("do not ask this pod, and ask one whose name only starts alike", function()
    local out = run(WAIT, "w-0\nw-0.run\nw-00.run\n", {
      sleep = NO_SLEEP, ssh = 'case "$*" in *w-00.run*) exit 0;; *) echo "asked $*" >&2; exit 9;; esac\n',
    })
    assert.equal("wait-for-workers: all answer\ncode=0\n", out)
  end)
  it("end when no host is named", function()
    assert.matches("^wait%-for%-workers: no host in .*\ncode=1\n$", run(WAIT, "\n", { sleep = NO_SLEEP }))
  end)
  it("name who is silent, and give up after 240 rounds", function()
    local shorter, changed = WAIT:gsub("%-le 240 ", "-le 11 ")
    assert.equal(1, changed)
    assert.matches("\n  sleep 5\n", WAIT)
    local out = run(shorter, "w-1.run\n", {
      sleep = NO_SLEEP, ssh = "echo refused >&2\nexit 255\n", timeout = 'shift\nexec "$@"\n',
    })
    assert.matches("wait%-for%-workers: round 10: w%-1.run: refused\n", out)
    assert.matches("wait%-for%-workers: after 20 minutes 1 host%(s%) of .* port 22\ncode=1\n$", out)
  end)
end)
