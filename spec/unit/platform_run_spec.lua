-- SPDX-License-Identifier: Apache-2.0
--- Whole runs with their override rows: platform-runtimes.md 3.6, 4.4 and rows 43 to 59 and 66 of
--- its section 8.
require "aicr_native"
local compose = require "aicr.platform.run"
local json = require "aicr.json"
local older = require "spec.support.platform_older"
local platform = require "aicr.platform"
local raised = require "spec.support.raised"
local support = require "spec.support.platform"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"
local vectors = require "spec.support.vectors"

local COMMAND <const> = { torch = { "train.py" }, exec = { "python", "t.py" } }

-- "gcp h100 torch" with what differs; Runtime's own fields go into it.
local function build(words, more)
  local name, arch, framework = words:match "^(%S+) (%S+) (%S+)$"
  local run = {
    Platform = name, GPUArchitecture = arch, FrameworkType = framework, MlnxPerNode = 8, Binary = "/b/perf",
    Command = COMMAND[framework],
    Runtime = { EntryName = "run1", Image = "img", NodesPerJob = 2, GpusPerNode = 8 },
  }
  for key, member in pairs(more or {}) do
    local into = (key == "Env" or key == "GpusPerNode" or key == "NodesPerJob") and run.Runtime or run
    into[key] = member
  end
  return platform.build_run(run)
end

local function pod(built, job)
  return built.dependencies[1].spec.template.spec.replicatedJobs[job or 1].template.spec.template.spec
end

local function container(built)
  return pod(built).containers[1]
end

local function words(list)
  local out = {}
  for i, item in ipairs(list or {}) do
    out[i] = type(item) == "string" and item or item.value and item.name .. "=" .. item.value or item.name
  end
  return table.concat(out, " ")
end

local function position(list, word)
  for i, item in ipairs(list) do
    if item == word then
      return i
    end
  end
end

local function object(built, kind, name)
  for _, one in ipairs(built.dependencies) do
    if one.kind == kind and one.metadata.name == name then
      return one
    end
  end
end

local function plain(framework)
  return platform["build_" .. framework .. "_runtime"] {
    EntryName = "run1", Image = "img", NodesPerJob = 2, GpusPerNode = 8, Env = platform.base_nccl_env(false),
  }
end

describe("a run", function()
  it("says which variables of rows its ranks do not get", function()
    assert.same({ "NCCL_NET_GDR_LEVEL" }, build "gcp gb200 mpi".unreached)
    assert.same({}, build("gcp gb200 mpi", { UserMPIArgs = { "-x", "NCCL_NET_GDR_LEVEL=5" } }).unreached)
    assert.same({}, build("gcp gb200 mpi", { Env = { { name = "NCCL_NET_GDR_LEVEL", value = "3" } } }).unreached)
    local mistral = table.concat(build "mistral gb300 mpi".unreached, " ")
    assert.truthy(mistral:find("NCCL_IB_HCA", 1, true), mistral)
    assert.falsy(mistral:find("NCCL_DEBUG ", 1, true), mistral)
    assert.same({}, build "mistral gb300 torch".unreached)
    assert.same({}, build "aws h100 mpi".unreached)
    local h100 = build "gcp h100 mpi".unreached
    assert.truthy(table.concat(h100, " "):find("NCCL_FASTRAK_IFNAME", 1, true))
    local mine = { name = "mine", when = {}, podSpec = { containers = { { name = "node", env = {
      { name = "MINE", value = "1" },
    } } } } }
    assert.same({ "MINE" }, build("aws h100 mpi", { UserOverrides = { mine } }).unreached)
    mine.mpiArgs = { "-x", "MINE=1" }
    assert.same({}, build("aws gb300 mpi", { UserOverrides = { mine } }).unreached)
  end)

  it("8.43 aws gb300 mpi: later rows come before earlier ones, the user's last", function()
    local script, args = build("aws gb300 mpi", { UserMPIArgs = { "-x", "U=1" } }).trainer.args[1], {}
    script = script:match "\nexec timeout 3600 %S+ ([^\n]*)$":gsub("'.-'", "OPTIONS")
    for word in script:gmatch "%S+" do
      args[#args + 1] = word
    end
    assert.matches("coll_hcoll_enable 0 .* %-x NCCL_NET_GDR_C2C=1 %-x NCCL_NET_PLUGIN=none %-x U=1 /b/perf$", script)
    local first = position(args, "orte_keep_fqdn_hostnames") - 1
    assert.equal(36, position(args, "NCCL_NET_PLUGIN=none") - 1 - first)
    assert.equal("-N 8 --allow-run-as-root --mca plm_rsh_args OPTIONS", words(table.move(args, 1, 6, 1, {})))
    assert.equal("-x NCCL_DEBUG=INFO -x NCCL_NET_GDR_LEVEL=PHB -x NCCL_P2P_NET_CHUNKSIZE=2097152 -x NCCL_SHM_DISABLE=1"
      .. " -x NCCL_MNNVL_ENABLE=0", words(table.move(args, 7, first - 1, 1, {})))
  end)
  it("8.44 the older revision has the plug-in's row and the user's", function()
    local rows = older.overrides(platform.build_overrides, { EntryName = "run1", FrameworkType = "mpi" }, "S")
    local args = compose.compose({
      Platform = "aws", GPUArchitecture = "gb300", FrameworkType = "mpi", Binary = "/b/perf",
      UserMPIArgs = { "-x", "U=1" },
      Runtime = { EntryName = "run1", NodesPerJob = 2, GpusPerNode = 4 },
    }, rows).trainer.args
    assert.matches(" %-x NCCL_NET_PLUGIN=none %-x U=1 /b/perf$", args[1])
    assert.is_nil(args[1]:find("orte_keep_fqdn_hostnames", 1, true))
  end)
  it("8.45 aws gb300 exec: lines before the command", function()
    local trainer = build("aws gb300 exec").trainer
    assert.same({ "/bin/bash", "-c" }, trainer.command)
    assert.equal(1, #trainer.args)
    local _, breaks = trainer.args[1]:gsub("\n", "")
    assert.equal(4, breaks)
    assert.matches("\nexec python t%.py$", trainer.args[1])
  end)
  it("8.46 gcp h100 torch: the environment of TCPXO, nothing else", function()
    local built = build "gcp h100 torch"
    assert.equal(29, #built.trainer.env)
    assert.equal("0", value.named(built.trainer.env, "NCCL_NVLS_ENABLE").value)
    support.same(json.array { plain "torch" }, built.dependencies)
  end)
  it("8.47 gcp gb200: claims, networks, environment in its place, tolerations, topology", function()
    local built = build("gcp gb200 torch", { GpusPerNode = 4 })
    assert.equal("compute-domain", words(container(built).resources.claims))
    for i = 0, 3 do
      assert.equal("1", container(built).resources.limits["networking.gke.io.networks/rdma-" .. i])
      assert.equal("1", container(built).resources.requests["networking.gke.io.networks/rdma-" .. i])
    end
    local wanted = words(platform.base_nccl_env(false)):gsub("GDR_LEVEL=PHB", "GDR_LEVEL=5")
    assert.equal(wanted, words(container(built).env))
    assert.equal(2, #pod(built).tolerations)
    assert.equal("cloud.google.com/gce-topology-block", built.topology.topologyKey)
    local job = built.dependencies[1].spec.template.spec.replicatedJobs[1]
    local interfaces = job.template.metadata.annotations["networking.gke.io/interfaces"]
    assert.equal(5, #json.decode(interfaces))
    assert.equal(interfaces, job.template.spec.template.metadata.annotations["networking.gke.io/interfaces"])
  end)
  it("8.48 azure h100: NICs beside GPUs", function()
    assert.same({ ["nvidia.com/mlnxnics"] = 8, ["nvidia.com/gpu"] = "8" },
      container(build "azure h100 torch").resources.limits)
  end)
  it("8.49 togetherai h100: NICs as text, environment without MPI", function()
    local torch, mpi = build "togetherai h100 torch", build "togetherai h100 mpi"
    assert.equal("8", container(torch).resources.requests["nvidia.com/mlnxnics"])
    assert.equal("8", container(mpi).resources.requests["nvidia.com/mlnxnics"])
    assert.equal(10, #torch.trainer.env)
    assert.equal("=mlx5_7:1", value.named(torch.trainer.env, "NCCL_IB_HCA").value:sub(1, 9))
    assert.is_nil(mpi.trainer.env)
  end)
  it("8.50 mistral gb300 exec with MNNVL", function()
    local built = build("mistral gb300 exec", { EnableMNNVL = true })
    assert.equal("1", container(built).resources.limits["rdma/ib"])
    assert.equal("1", value.named(container(built).env, "NCCL_MNNVL_ENABLE").value)
    assert.equal("1", value.named(built.trainer.env, "NCCL_MNNVL_ENABLE").value)
    assert.equal("compute-domain", words(container(built).resources.claims))
  end)
  for id, names in pairs { ["8.51"] = { "mistral" }, ["8.52"] = { "oci", "forge", "onprem" } } do
    for _, name in ipairs(names) do
      it(("%s %s h100: nothing changes"):format(id, name), function()
        local built = build(name .. " h100 torch")
        support.same(json.array { plain "torch" }, built.dependencies)
        assert.is_nil(built.trainer.env)
        assert.same({}, built.rows)
      end)
    end
  end
  it("8.53 forge gb200, 18 nodes: a compute domain of 18", function()
    local domain = object(build("forge gb200 torch", { NodesPerJob = 18 }), "ComputeDomain", "run1-compute-domain")
    assert.equal(18, domain.spec.numNodes)
    assert.equal("run1-channel", domain.spec.channel.resourceClaimTemplate.name)
  end)
  it("8.54 aws gb300: each claim once, the RoCE template", function()
    local built = build "aws gb300 torch"
    assert.equal("compute-domain roce-channel", words(container(built).resources.claims))
    assert.equal("compute-domain roce-channel", words(pod(built).resourceClaims))
    local request = object(built, "ResourceClaimTemplate", "run1-roce").spec.spec.devices.requests[1]
    assert.same({ deviceClassName = "roce.networking.k8s.aws", count = 8 }, request.exactly)
  end)
  it("8.55 onprem gb300 without a NIC resource", function()
    local built = build("onprem gb300 torch", { NicResourceName = "" })
    assert.same({ ["nvidia.com/gpu"] = "8" }, container(built).resources.limits)
    assert.equal(2, #pod(built).tolerations)
    assert.equal(9, #built.trainer.env)
    assert.equal("^ds12", value.named(container(built).env, "PMIX_MCA_gds").value)
  end)
  it("8.56 onprem gb300 with rdma/ib", function()
    local resources = container(build("onprem gb300 mpi", { NicResourceName = "rdma/ib", MlnxPerNode = 1 })).resources
    assert.equal("1", resources.limits["rdma/ib"])
    assert.equal("1", resources.requests["rdma/ib"])
  end)
  it("8.57 nscale b200: claims instead of GPUs", function()
    local built = build "nscale b200 torch"
    assert.is_nil(container(built).resources.limits["nvidia.com/gpu"])
    assert.is_nil(container(built).resources.requests["nvidia.com/gpu"])
    assert.equal("gpu rdma", words(container(built).resources.claims))
    for _, name in ipairs { "gpu", "rdma" } do
      local request = object(built, "ResourceClaimTemplate", "run1-" .. name).spec.spec.devices.requests[1]
      assert.equal(8, request.exactly.count)
    end
    assert.equal(10, #built.trainer.env)
  end)
  it("8.58 an override of the user's comes last, and lists replace", function()
    local trainer = { env = { { name = "X", value = "1" } } }
    local mine = { jobTemplate = { spec = { workload = { trainJob = { trainer = trainer } } } } }
    assert.equal("X=1", words(build("gcp h100 torch", { UserOverrides = { mine } }).trainer.env))
  end)
  it("8.59 the user's environment wins in a row's list, and adds nothing to it", function()
    local ours = build "gcp h100 torch".trainer.env
    local got = build("gcp h100 torch", {
      Env = { { name = "NCCL_PROTO", value = "Simple" }, { name = "NCCL_ALGO", value = "Ring" } },
    }).trainer.env
    assert.equal(words(ours):gsub("NCCL_PROTO=Simple,LL128", "NCCL_PROTO=Simple"), words(got))
  end)
  it("8.66 a row's topology key keeps what else was asked for", function()
    assert.same({ strictDomain = true, topologyKey = "kubernetes.azure.com/ppg" },
      build("azure gb200 torch", { Topology = { strictDomain = true } }).topology)
  end)

  it("says which rows changed nothing", function()
    local function changed(built)
      local out = {}
      for _, row in ipairs(built.rows) do
        out[#out + 1] = ("%s=%s"):format(row.name, row.changed)
      end
      return table.concat(out, " ")
    end
    assert.equal("azure-nics=false", changed(build("azure h100 torch", { MlnxPerNode = 0 })))
    assert.equal("azure-nics=true", changed(build "azure h100 mpi"))
    assert.equal("aws-h100-efa=true aws-h100-efa-env=true", changed(build "aws h100 mpi"))
    local same = { jobTemplate = { spec = { workload = { trainJob = { trainer = { image = "img" } } } } } }
    assert.equal("user-1=false", changed(build("oci h100 torch", { UserOverrides = { same } })))
  end)
  it("takes of an override of the user's what a row of the file may have", function()
    local mine = {
      name = "mine", podSpec = { resourceClaims = json.null, nodeSelector = { a = "b" },
        containers = { { name = "node", resources = { claims = json.null } } } },
      jobAnnotations = { note = "n" }, rankEnv = { { name = "X", value = "1" } }, topologyKey = "rack",
      jobTemplate = { spec = { workload = { trainJob = { trainer = { image = "other" } } } } },
      dependencies = { { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "c" } } },
    }
    local before = value.copy(mine)
    local built, mpi = build("aws gb300 torch", { UserOverrides = { mine } }),
      build("aws gb300 mpi", { UserOverrides = { mine } })
    for _, one in ipairs { built, mpi } do
      assert.is_nil(pod(one).resourceClaims)
      assert.is_nil(container(one).resources.claims)
      assert.equal("8", container(one).resources.limits["nvidia.com/gpu"])
      assert.same({ a = "b" }, pod(one).nodeSelector)
      local template = one.dependencies[1].spec.template.spec.replicatedJobs[1].template
      assert.equal("n n", template.metadata.annotations.note .. " " .. template.spec.template.metadata.annotations.note)
      assert.equal("rack", one.topology.topologyKey)
      assert.equal("other", one.trainer.image)
      assert.truthy(object(one, "ConfigMap", "c"))
    end
    assert.equal("X=1", words(built.trainer.env))
    assert.matches(" %-x X=1 ", mpi.trainer.args[1])
    assert.is_nil(mpi.trainer.env)
    assert.same(before, mine)
    local half = { name = "mine", trainerEnv = { { name = "X" } } }
    local err = raised(build, "oci h100 torch", { UserOverrides = { half } })
    assert.equal('UserOverrides: row "mine": trainerEnv[1]: X has neither a value nor a valueFrom', err.message)
  end)
  it("patches the job after the merge of the same row", function()
    local at = "/spec/workload/trainJob/trainer/image"
    local merged = { spec = { workload = { trainJob = { trainer = { image = "merged" } } } } }
    local built = build("oci h100 torch", { UserOverrides = { {
      jobTemplate = merged,
      jobTemplatePatch = {
        { op = "test", path = at, value = "merged" }, { op = "replace", path = at, value = "last" },
      },
    } } })
    assert.equal("last", built.trainer.image)
    assert.is_true(built.rows[1].changed)
  end)
  it("lets the launcher tolerate what the workers do", function()
    local built = build "gcp gb200 mpi"
    assert.equal(2, #pod(built, 1).tolerations)
    assert.same(pod(built, 1).tolerations, pod(built, 2).tolerations)
    assert.is_nil(pod(build "aws h100 mpi", 2).tolerations)
  end)
  it("puts pull secrets on the pods of each job", function()
    local run = {
      Platform = "oci", GPUArchitecture = "h100", FrameworkType = "mpi", Binary = "b",
      Runtime = { EntryName = "r", NodesPerJob = 1, GpusPerNode = 8, ImagePullSecrets = { { name = "s" } } },
    }
    local built = platform.build_run(run)
    assert.equal("s", words(pod(built, 1).imagePullSecrets))
    assert.equal("s", words(pod(built, 2).imagePullSecrets))
    run.Runtime.ImagePullSecrets = nil
    assert.is_nil(pod(platform.build_run(run)).imagePullSecrets)
  end)
  it("has permissions for all that it may bring, and no more", function()
    local wanted, seen = {}, {}
    for _, framework in ipairs { "torch", "mpi" } do
      for _, row in ipairs(platform.build_overrides { EntryName = "r", FrameworkType = framework, MlnxPerNode = 8 }) do
        for _, one in ipairs(value.list(row.dependencies)) do
          local group = one.apiVersion:match "^(.*)/"
          if one.kind ~= "TrainingRuntime" then
            seen[("create %ss.%s anywhere if served"):format(one.kind:lower(), group)] = true
          end
        end
      end
    end
    for _, need in ipairs(platform.needs) do
      wanted[need] = true
    end
    assert.same(wanted, seen)
  end)
  it("names its runtime", function()
    local built = build "oci h100 torch"
    assert.equal("TrainJob", built.train_job.kind)
    assert.equal("run1", built.train_job.metadata.name)
    assert.equal(built.dependencies[1].metadata.name, built.train_job.spec.runtimeRef.name)
  end)

  it("has a runtime that an override brings beside its own, whatever is in it", function()
    local other = {
      apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainingRuntime", metadata = { name = "other" },
    }
    local built = platform.build_run {
      Platform = "oci", GPUArchitecture = "h100", FrameworkType = "mpi", Binary = "b",
      Runtime = { EntryName = "r", NodesPerJob = 1, GpusPerNode = 8 },
      UserOverrides = { { dependencies = { other } } },
    }
    assert.same(other, built.dependencies[2])
  end)

  local refused = {
    { "an unknown framework", { FrameworkType = "jax" }, 'framework "jax" is not known' },
    { "an exec run without a command", { FrameworkType = "exec" }, "an exec run needs a Command" },
    { "a misspelt field", { MpiRunPath = "x" }, 'unknown field "MpiRunPath"; did you mean "MpirunPath"?' },
    { "an MPI run without a program", { FrameworkType = "mpi" }, "an MPI run needs a Binary" },
    { "no runtime", { Runtime = false }, "Runtime: expected a table, got boolean" },
    { "a JSON patch that does not fit",
      { UserOverrides = { { jobTemplatePatch = { { op = "remove", path = "/x" } } } } },
      'operation 1: there is no "x"' },
    { "a job that is gone", { UserOverrides = { { jobTemplate = { spec = { workload = json.null } } } } },
      "the overrides leave the job no spec.workload.trainJob.trainer" },
    { "an unknown platform", { Platform = "gke" }, 'Platform: "gke" is not valid; expected one of: aws, gcp' },
    { "an architecture in capitals", { GPUArchitecture = "H100" },
      'GPUArchitecture: expected lower-case letters and digits, such as h100, got "H100"' },
    { "fewer than no nodes", { Runtime = { EntryName = "r", NodesPerJob = -1, GpusPerNode = 8 } },
      "Runtime.NodesPerJob: -1 is not valid; expected a whole number from 0 to 100000" },
    { "more GPUs than there are", { Runtime = { EntryName = "r", NodesPerJob = 1, GpusPerNode = 257 } },
      "Runtime.GpusPerNode: 257 is not valid" },
    { "fewer than no NICs", { MlnxPerNode = -8 }, "MlnxPerNode: -8 is not valid" },
    { "a variable that is text", { Runtime = { EntryName = "r", NodesPerJob = 1, GpusPerNode = 8, Env = { "A=1" } } },
      'build_run: Runtime.Env[1]: expected an object with a name, and a value or a valueFrom, got "A=1"' },
    { "a variable without a name",
      { Runtime = { EntryName = "r", NodesPerJob = 1, GpusPerNode = 8, Env = { { value = "1" } } } },
      'build_run: Runtime.Env[1]: expected an object with a name, and a value or a valueFrom, got {"value":"1"}' },
    { "an expression that is none", { UserOverrides = { { when = { expression = "1" } } } },
      "when.expression: at character 2: when takes a question" },
    { "a job without pods for a gang scheduler", {
      UserOverrides = { { dependencies = { {
        apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainingRuntime", metadata = { name = "other" },
        spec = { template = { spec = { replicatedJobs = { { name = "node" } } } } },
      } } } },
      Runtime = { EntryName = "r", NodesPerJob = 1, GpusPerNode = 8, GangSchedulerName = "volcano" },
    }, 'job "node" of TrainingRuntime "other" has no pod template' },
  }
  for _, row in ipairs(refused) do
    it("is refused with " .. row[1], function()
      local run = {
        Platform = "oci", GPUArchitecture = "h100", FrameworkType = "torch",
        Runtime = { EntryName = "r", NodesPerJob = 1, GpusPerNode = 8 },
      }
      for key, member in pairs(row[2]) do
        run[key] = member
      end
      local err = raised(platform.build_run, run)
      assert.is_truthy(err.message:find(row[3], 1, true), err.message)
    end)
  end
end)

describe("the user's environment", function()
  local MINE <const> = {
    NCCL_DEBUG = "WARN", NCCL_SOCKET_IFNAME = "bond0", FI_PROVIDER = "tcp", NCCL_NET_GDR_LEVEL = "SYS",
    NCCL_MNNVL_ENABLE = "2", NCCL_IB_HCA = "mlx5_9", NCCL_PROTO = "LL", NCCL_NET_PLUGIN = "mine",
  }
  local ENV = json.array()
  for _, name in ipairs(sorted_keys(MINE)) do
    ENV[#ENV + 1] = { name = name, value = MINE[name] }
  end

  -- Every variable that the objects set, in containers, for the trainer and for the ranks.
  local function each_variable(built, see)
    support.map(json.array { built.train_job, built.dependencies }, function(v, key)
      if key == "env" and value.is_list(v) then
        for _, entry in ipairs(v) do
          see(entry.name, entry.value)
        end
      elseif type(v) == "string" then
        for name, set in v:gmatch "%f[%w_]([A-Z][A-Z0-9_]+)=([^ ']*)" do
          see(name, set)
        end
      end
      return v
    end)
  end

  for _, name in ipairs(platform.names()) do
    it("wins on " .. name, function()
      local seen = 0
      for _, arch in ipairs { "h100", "b200", "b300", "gb200", "gb300", "rtxpro6000" } do
        for _, framework in ipairs { "torch", "exec", "mpi" } do
          each_variable(build(("%s %s %s"):format(name, arch, framework), { Env = ENV }), function(variable, set)
            if MINE[variable] then
              seen = seen + 1
              assert.equal(MINE[variable], set, ("%s %s %s"):format(arch, framework, variable))
            end
          end)
        end
      end
      assert.is_true(seen > 100)
    end)
  end
end)

describe("quoting", function()
  it("gives a shell each word back", function()
    local given = { "a", "", "a b", "it's", '"', "$HOME", "`id`", "\\n", "a\nb", "*", "~", "#x", "!", "é", "--x=y,z" }
    local quoted = {}
    for i, word in ipairs(given) do
      quoted[i] = compose.quote(word)
    end
    local pipe = io.popen(("bash -c %s"):format(compose.quote("printf '%s\\0' " .. table.concat(quoted, " "))))
    local out = {}
    for word in pipe:read("a"):gmatch "([^\0]*)\0" do
      out[#out + 1] = word
    end
    pipe:close()
    assert.same(given, out)
  end)
end)

-- The reference's answer for what ours makes otherwise on purpose.
local function wanted(row)
  local out, framework = value.copy(row.result), row.args.run.FrameworkType
  -- Ten variables in the base environment, wherever the second one is not the user's.
  out.dependencies = support.map(out.dependencies, function(v, key)
    if key == "env" and value.is_list(v) and value.named(v, "NCCL_SHM_DISABLE") then
      if not value.named(v, "NCCL_DEBUG_SUBSYS") then
        local _, at = value.named(v, "NCCL_NVLS_ENABLE")
        table.insert(v, at, { name = "NCCL_DEBUG_SUBSYS", value = "NET,INIT" })
      end
    end
    return v
  end)
  local args = out.trainer.args
  if framework == "mpi" and row.args.rev == "C" and not words(args):find("NCCL_DEBUG_SUBSYS", 1, true) then
    local at = position(args, "NCCL_NVLS_ENABLE=1") - 1
    table.insert(args, at, "-x")
    table.insert(args, at + 1, "NCCL_DEBUG_SUBSYS=NET,INIT")
  end
  local asked = value.opt(row.args.run.Topology)
  if asked and out.topology and asked.strictDomain then
    out.topology.strictDomain = true -- 8.66
  end
  return out
end

-- Ours gives the launcher the workers' tolerations, which the reference does not.
local function without_alike(dependencies)
  local jobs = dependencies[1].spec.template.spec.replicatedJobs
  if jobs[2] and jobs[2].name == "launcher" then
    assert.same(jobs[1].template.spec.template.spec.tolerations, jobs[2].template.spec.template.spec.tolerations)
    jobs[2].template.spec.template.spec.tolerations = nil
  end
end

-- The answer in the form of the vectors.
local function shown(built)
  without_alike(built.dependencies)
  local out = {
    dependencies = support.without_pod_annotations(support.marked(built.dependencies)), rows = json.array(),
    topology = built.topology, trainer = value.copy(built.trainer),
  }
  for i, row in ipairs(built.rows) do
    out.rows[i] = row.index - 1
  end
  local trainer = out.trainer
  if trainer.command[1] == "/bin/bash" then
    local lines = json.array()
    for line in trainer.args[1]:gmatch "[^\n]+" do
      lines[#lines + 1] = line
    end
    local exec = table.remove(lines)
    assert(exec:sub(1, 5) == "exec ")
    out.script = { lines = lines, exec = json.array() }
    for word in exec:sub(6):gmatch "%S+" do
      out.script.exec[#out.script.exec + 1] = word
    end
    trainer.args = nil
  end
  return out
end

describe("build_run", function()
  for _, row in ipairs(vectors.rows(support.FILE, "pipeline")) do
    it(("%s %s"):format(row.id, row.args.rev), function()
      local run = support.config(row.args.run)
      run.UserOverrides = row.args.run.UserOverrides -- a null deletes
      local got
      if row.args.rev == "C" then
        got = shown(platform.build_run(run))
      else
        local rows = older.overrides(platform.build_overrides, compose.configuration(run, nil), "S")
        got = shown(compose.compose(run, rows))
        got.dependencies[1] = older.runtime(got.dependencies[1])
        if run.FrameworkType == "mpi" then
          got.trainer.args = older.mpi_args(got.trainer.args, run.EnableMNNVL)
        end
      end
      support.same(wanted(row), got, row.tags)
    end)
  end
end)
