-- SPDX-License-Identifier: Apache-2.0
--- What a worker claims as devices, read from the objects of a run.
require "aicr_native"
local claims = require "aicr.nccl_runtime.claims"
local json = require "aicr.json"

local function runtime(names)
  local list = json.array()
  for i, name in ipairs(names) do
    list[i] = { name = "c" .. i, resourceClaimTemplateName = name }
  end
  return { spec = { template = { spec = { replicatedJobs = json.array { {
    name = "node", template = { spec = { template = { spec = { resourceClaims = list } } } },
  } } } } } }
end

local function template(name, ...)
  return {
    kind = "ResourceClaimTemplate", metadata = { name = name },
    spec = { spec = { devices = { requests = json.array { ... } } } },
  }
end

describe("the claims of a worker", function()
  it("are counted by class, one where no number is said", function()
    local got = claims.of(runtime { "a", "b" }, {
      template("a", { name = "x", exactly = { deviceClassName = "gpu", count = 8 } }),
      template("b", { name = "y", exactly = { deviceClassName = "nic" } },
        { name = "z", exactly = { deviceClassName = "gpu", count = 1 } }),
      template("unused", { name = "q", exactly = { deviceClassName = "other", count = 99 } }),
    })
    assert.same({
      classes = { { class = "gpu", count = 9 }, { class = "nic", count = 1 } }, channel = false, others = {},
    }, got)
  end)

  it("are a channel where a ComputeDomain makes the template", function()
    local domain = { kind = "ComputeDomain", spec = { channel = { resourceClaimTemplate = { name = "ch" } } } }
    assert.same({ classes = {}, channel = true, others = {} }, claims.of(runtime { "ch" }, { domain }))
  end)

  it("are told where they cannot be counted", function()
    local choice = { name = "x", firstAvailable = json.array { { deviceClassName = "gpu", count = 8 } } }
    assert.same({ classes = {}, channel = false, others = { "a choice of devices in a", "claim c2" } },
      claims.of(runtime { "a", "elsewhere" }, { template("a", choice) }))
  end)

  it("are none of a runtime without, or of another form", function()
    local none = { classes = {}, channel = false, others = {} }
    for _, one in ipairs { runtime {}, {}, { spec = 3 } } do
      assert.same(none, claims.of(one, {}))
    end
    assert.same({ classes = {}, channel = false, others = { "a choice of devices in a" } },
      claims.of(runtime { "a" }, { template("a", "text") }))
  end)
end)
