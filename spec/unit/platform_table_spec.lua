-- SPDX-License-Identifier: Apache-2.0
--- What the table of what pods get is made with (spec/support/platform_table.lua): it has to find whatever is missing.
require "aicr_native"
local json = require "aicr.json"
local tables = require "spec.support.platform_table"

local function asked()
  return tables.asked(tables.run("gcp", "gb200", "torch"))
end

-- What is lost when f has changed a copy of what was asked for.
local function lost(f)
  local got = asked()
  local template = got.replicatedJobs[1].template.spec.template
  f(template, template.spec.containers[1], got)
  return table.concat(tables.lost(asked(), got, "run"), "; ")
end

describe("what pods get", function()
  local POD <const> = "run.replicatedJobs[1].template.spec.template"
  local rows = {
    { "nothing missing", function() end, "" },
    { "amounts in another form", function(_, container)
      container.resources.limits["nvidia.com/gpu"] = 4
    end, "" },
    { "environment in another order, with more", function(_, container)
      table.insert(container.env, 1, { name = "PET_NNODES", value = "2" })
    end, "" },
    { "no annotations", function(template) template.metadata.annotations = nil end,
      POD .. ".metadata.annotations: got nothing" },
    { "a claim less", function(_, container) container.resources.claims = nil end,
      POD .. ".spec.containers[1].resources.claims: got nothing" },
    { "another amount", function(_, container) container.resources.limits["nvidia.com/gpu"] = "3" end,
      POD .. '.spec.containers[1].resources.limits.nvidia.com/gpu: asked "4", got "3"' },
    { "another value", function(_, container) container.env[1].value = "other" end, 'asked "INFO", got "other"' },
    { "no toleration", function(template) template.spec.tolerations = json.array() end,
      POD .. ".spec.tolerations[1]: got nothing" },
    { "fewer pods", function(_, _, got) got.replicatedJobs[1].template.spec.parallelism = 1 end,
      "run.replicatedJobs[1].template.spec.parallelism: asked 2, got 1" },
  }
  for _, row in ipairs(rows) do
    it("are compared with what was asked: " .. row[1], function()
      local found = lost(row[2])
      if row[3] == "" then
        assert.equal("", found)
      else
        assert.truthy(found:find(row[3], 1, true), found)
      end
    end)
  end

  it("include what a job's annotations say, and the trainer's environment in its job alone", function()
    assert.equal("eth0", asked().replicatedJobs[1].template.spec.template.metadata.annotations[
      "networking.gke.io/default-interface"])
    local jobs = tables.asked(tables.run("gcp", "h100", "mpi")).replicatedJobs
    local function count(i)
      return #jobs[i].template.spec.template.spec.containers[1].env
    end
    assert.equal(count(1) + 29 - 7, count(2)) -- seven of them are common ones, too
  end)

  it("are made once for runs that are the same", function()
    local runs = { tables.run("oci", "h100", "torch"), tables.run("forge", "h100", "torch"),
      tables.run("oci", "gb200", "torch") }
    local some, first = tables.distinct(runs)
    assert.equal("oci-h100-torch oci-gb200-torch", some[1].entry .. " " .. some[2].entry)
    assert.equal("oci-h100-torch", first["forge-h100-torch"].entry)
  end)
end)
