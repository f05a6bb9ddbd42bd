-- SPDX-License-Identifier: Apache-2.0
-- The API server and Trainer take what aicr.platform builds, and lose nothing of it.
require "aicr_native"
local check = require "spec.support.cluster_check"
local objects = require "spec.support.cluster_objects"

-- What a server does not know it leaves out, so that what comes back has to hold what was sent.
local BODY <const> = [[
    local platform = require "aicr.platform"
    local quantity = require "aicr.quantity"

    local function lost(sent, got, path)
      if type(sent) ~= "table" then
        local same = sent == got or path:find "resources" and quantity.compare(sent, got) == 0
        return not same and ("%s: sent %s, got %s"):format(path, tostring(sent), tostring(got)) or nil
      elseif next(sent) == nil then
        return nil
      elseif type(got) ~= "table" then
        return ("%s: got %s"):format(path, tostring(got))
      end
      for key, member in pairs(sent) do
        local why = lost(member, got[key], path .. "." .. tostring(key))
        if why then
          return why
        end
      end
    end

    local KINDS = { TrainingRuntime = true, ResourceClaimTemplate = true }
    local SIZES = { EntryName = "run1", Image = "img", NodesPerJob = 2, GpusPerNode = 8 }
    local tried, problems = 0, json.array()

    local function try(object, words, options)
      tried = tried + 1
      local got, err = ctx:try(ctx.k8s.create, ctx.k8s, object, options)
      local why = err and err.message or lost(object, got, object.kind)
      if why then
        problems[#problems + 1] = words .. ": " .. why
      end
    end

    local function runtime_of(gang)
      local config = { GangSchedulerName = gang, ImagePullSecrets = { { name = "s" } } }
      for key, value in pairs(SIZES) do
        config[key] = value
      end
      return config
    end

    local function run_of(name, arch, framework, gang)
      return platform.build_run {
        Platform = name, GPUArchitecture = arch, FrameworkType = framework, MlnxPerNode = 8, Binary = "/b/perf",
        Command = framework ~= "mpi" and { "train.py" } or nil, NicResourceName = "rdma/ib", Runtime = runtime_of(gang),
      }
    end

    local runs = { { "onprem", "b200", "torch" }, { "nscale", "b200", "mpi" }, { "gcp", "rtxpro6000", "mpi" },
      { "aws", "h100", "mpi", "kai-scheduler" }, { "aws", "h100", "torch", "kai-scheduler" } }
    for _, name in ipairs(platform.names()) do
      runs[#runs + 1] = { name, "h100", "torch" }
      runs[#runs + 1] = { name, "gb300", "mpi" }
    end
    for _, run in ipairs(runs) do
      for _, object in ipairs(run_of(table.unpack(run)).dependencies) do
        if KINDS[object.kind] then
          try(object, table.concat(run, " "), { dry_run = true })
        end
      end
    end
    for _, name in ipairs(platform.nccl_tests()) do
      local options = { platform = "gcp", arch = "h100", gpus = 8, entry = "nccl-" .. name, nodes = 2, nics = 8 }
      local built = platform.build_run(platform.nccl_run(platform.nccl_test(name, options), options))
      try(built.dependencies[1], name)
      try(built.train_job, name, { dry_run = true })
    end
    note("tried", tried)
    note("problems", problems)
]]

describe("what aicr.platform builds", function()
  it("is taken whole, on each platform", function()
    objects.in_namespace(function(namespace)
      local noted = check.run(namespace, {
        "create trainingruntimes.trainer.kubeflow.org", "create trainjobs.trainer.kubeflow.org",
        "create resourceclaimtemplates.resource.k8s.io",
      }, BODY)
      assert.same({}, noted.problems)
      assert.is_true(noted.tried > 35)
    end)
  end)
end)
