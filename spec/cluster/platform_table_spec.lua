-- SPDX-License-Identifier: Apache-2.0
-- What Trainer and JobSet make of a run on every platform, GPU and framework (platform-runtimes.md 4.2): taken by their
-- webhooks, and with all that was asked for where the pods get it. platform_table.md shows it; UPDATE_GOLDEN=1 writes
-- it anew. Runs whose objects are the same but for their name are made once; they are suspended, but for some whose
-- pods no node takes.
require "aicr_native"
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local golden = require "spec.support.golden"
local objects = require "spec.support.cluster_objects"
local platform = require "aicr.platform"
local tables = require "spec.support.platform_table"
local value = require "aicr.platform.value"

local GOLDEN <const> = "spec/cluster/platform_table.md"
local TRAINER <const>, JOBSET <const> = "trainer.kubeflow.org/v1alpha1", "jobset.x-k8s.io/v1alpha2"
local COLLECTIONS <const> = {
  TrainingRuntime = TRAINER .. "/namespaces/%s/trainingruntimes", TrainJob = TRAINER .. "/namespaces/%s/trainjobs",
  ResourceClaimTemplate = "resource.k8s.io/v1/namespaces/%s/resourceclaimtemplates",
}
-- What the controllers leave out on purpose, by the end of its path: Trainer's own mount of the keys takes the place of
-- the runtime's. A secret is read-only in any case.
local LEFT_OUT <const> = "%.volumeMounts%[%d%]%.readOnly: asked true, got nothing$"

-- The request that creates an object, or asks only whether it could be.
local function request(namespace, object, is_dry)
  local collection = COLLECTIONS[object.kind]:format(namespace)
  return {
    method = "POST", body = object,
    path = ("/apis/%s?fieldValidation=Strict%s"):format(collection, is_dry and "&dryRun=All" or ""),
  }
end

-- Sends them; what is not taken, in words.
local function problems(requests)
  local out = {}
  for i, answer in ipairs(objects.batch(requests)) do
    if answer.http ~= 201 then
      out[#out + 1] = ("%s: %d %s"):format(requests[i].body.metadata.name, answer.http, answer.body)
    end
  end
  return out
end

local function each(namespace, list, is_dry)
  local out = {}
  for i, object in ipairs(list) do
    out[i] = request(namespace, object, is_dry)
  end
  return problems(out)
end

local function list(path)
  return objects.must("GET", path).items
end

-- All objects of a kind by name, when there are so many.
local function by_name(what, path, count)
  cluster.eventually(("%d %s"):format(count, what), 120, function()
    local page = objects.must("GET", path .. "?limit=1")
    local seen = #page.items + (page.metadata.remainingItemCount or 0)
    return seen >= count, seen
  end)
  local out = {}
  for _, item in ipairs(list(path)) do
    out[item.metadata.name] = item
  end
  return out
end

-- Adds what is lost, without what is left out on purpose.
local function add_lost(out, sent, got, path)
  for _, line in ipairs(tables.lost(sent, got, path)) do
    out[#out + 1] = not line:find(LEFT_OUT) and line or nil
  end
end

-- Adds what of a run is not in the JobSet and its Jobs; the pods of its jobs as they came out.
local function compare(lost, run, jobset, jobs)
  local asked, pods = tables.asked(run), {}
  add_lost(lost, asked, jobset.spec, run.entry)
  for i, job in ipairs(asked.replicatedJobs) do
    local real = jobs[("%s-%s-0"):format(run.entry, job.name)]
    local spec = real and real.spec or jobset.spec.replicatedJobs[i].template.spec
    local pod = spec.template
    add_lost(lost, job.template.spec, spec, run.entry .. " job " .. job.name)
    for _, name in ipairs(tables.twice(value.named(pod.spec.containers, "node"))) do
      lost[#lost + 1] = ("%s job %s: %s is set twice"):format(run.entry, job.name, name)
    end
    pods[i] = { name = job.name, pod = pod, count = spec.completions, is_job = real ~= nil }
  end
  return pods
end

local function runtimes_of(runs)
  local out = {}
  for i, run in ipairs(runs) do
    out[i] = tables.runtime(run)
  end
  return out
end

local function train_jobs_of(runs, suspend)
  local out = {}
  for i, run in ipairs(runs) do
    out[i] = value.copy(run.built.train_job)
    out[i].spec.suspend = suspend
  end
  return out
end

-- Trainer's webhook looks at a copy that follows what is stored.
local function await_runtimes(namespace, train_jobs)
  cluster.eventually("Trainer's webhook sees the last runtime", 30, function()
    local seen = each(namespace, { train_jobs[#train_jobs] }, true)
    return #seen == 0, seen[1]
  end)
end

describe("runs of every platform, GPU and framework", function()
  local namespace, all, runs, first, made

  setup(function()
    namespace, all = objects.namespace(), tables.runs()
    runs, first = tables.distinct(all)
  end)

  teardown(function()
    objects.send("DELETE", "/apis/" .. COLLECTIONS.TrainJob:format(namespace))
    objects.send("DELETE", "/api/v1/namespaces/" .. namespace)
  end)

  it("are taken by the webhooks: runtimes, claims and TrainJobs", function()
    assert.equal(9 * 11 * 3, #all)
    assert.is_true(#runs > 60)
    local runtimes, train_jobs, claims = runtimes_of(runs), train_jobs_of(runs, true), {}
    for _, run in ipairs(runs) do
      for _, object in ipairs(run.built.dependencies) do
        claims[#claims + 1] = object.kind == "ResourceClaimTemplate" and object or nil
      end
    end
    assert.is_true(#claims > 9)
    assert.same({}, each(namespace, runtimes, true))
    assert.same({}, each(namespace, claims, true))
    assert.same({}, each(namespace, runtimes, false))
    await_runtimes(namespace, train_jobs)
    assert.same({}, each(namespace, train_jobs, true))
    assert.same({}, each(namespace, train_jobs, false))
  end)

  it("become JobSets and Jobs whose pods get all that was asked for", function()
    local jobsets = by_name("JobSets", ("/apis/%s/namespaces/%s/jobsets"):format(JOBSET, namespace), #runs)
    local jobs = by_name("Jobs", ("/apis/batch/v1/namespaces/%s/jobs"):format(namespace), #runs)
    local lost, pods = {}, {}
    for _, run in ipairs(runs) do
      pods[run.entry] = compare(lost, run, jobsets[run.entry], jobs)
      assert.is_true(pods[run.entry][1].is_job)
    end
    assert.same({}, lost)
    made = {}
    for i, run in ipairs(all) do
      local entry = first[run.entry].entry
      made[i] = { run = run, entry = entry, jobs = pods[entry] }
    end
  end)

  it("are the ones of platform_table.md", function()
    local versions = files.read "spec/cluster/versions"
    local text = tables.markdown(made, {
      trainer = versions:match "TRAINER=(%S+)", jobset = versions:match "JOBSET=(%S+)",
    })
    golden(GOLDEN, text)
  end)

  it("have pods with claims, networks and tolerations", function()
    local never = { podSpec = { nodeSelector = { [tables.NEVER] = "1" } } }
    local some = {}
    for _, words in ipairs { "aws h100 torch", "aws gb300 torch", "aws gb300 mpi", "gcp h100 exec", "gcp gb200 torch",
      "gcp gb200 mpi", "gcp rtxpro6000 torch", "azure gb300 torch", "togetherai h100 torch", "mistral gb300 torch",
      "onprem gb300 torch", "onprem b200 torch", "nscale b200 torch", "nscale gb300 mpi" } do
      local name, arch, framework = words:match "^(%S+) (%S+) (%S+)$"
      local entry = ("real-%s-%s-%s"):format(name, arch, framework)
      some[#some + 1] = tables.run(name, arch, framework, { entry = entry, overrides = { never } })
    end
    local train_jobs = train_jobs_of(some, nil)
    assert.same({}, each(namespace, runtimes_of(some), false))
    await_runtimes(namespace, train_jobs)
    assert.same({}, each(namespace, train_jobs, false))
    local pods = by_name("pods", ("/api/v1/namespaces/%s/pods"):format(namespace), 2 * #some)
    local lost, seen = {}, 0
    for _, run in ipairs(some) do
      local template = tables.asked(run).replicatedJobs[1].template.spec.template
      for name, pod in pairs(pods) do
        if name:find(run.entry .. "-node-0-", 1, true) == 1 then
          add_lost(lost, template, pod, run.entry)
          seen = seen + 1
        end
      end
    end
    assert.same({}, lost)
    assert.equal(2 * #some, seen)
  end)
end)

it("what aicr-run render shows is taken by the webhooks, for each test, platform and GPU", function()
  objects.in_namespace(function(namespace)
    local runs = {}
    for _, name in ipairs(platform.names()) do
      for _, arch in ipairs(tables.ARCHITECTURES) do
        local sizes = platform.sizes(arch, name, { nodes = 2 })
        for _, test in ipairs(platform.nccl_tests()) do
          local entry = ("%s-%s-%s"):format(name, arch, test)
          local facts = {
            platform = name, arch = arch, nodes = 2, gpus = sizes.GpusPerNode, nics = sizes.MlnxPerNode,
            mnnvl = sizes.EnableMNNVL, entry = entry,
          }
          local built = platform.build_run(platform.nccl_run(platform.nccl_test(test, facts), facts))
          runs[#runs + 1] = { entry = entry, built = built }
        end
      end
    end
    assert.equal(9 * 11 * #platform.nccl_tests(), #runs)
    runs = tables.distinct(runs)
    local train_jobs = train_jobs_of(runs, true)
    assert.same({}, each(namespace, runtimes_of(runs), false))
    await_runtimes(namespace, train_jobs)
    assert.same({}, each(namespace, train_jobs, true))
  end)
end)
