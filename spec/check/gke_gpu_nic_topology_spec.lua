-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local binary = require "spec.support.binary"
local cases = require "spec.support.cases"
local files = require "spec.support.files"
local recording = require "spec.support.recording"

local NAME <const> = "gke-gpu-nic-topology"

describe(NAME, function()
  cases.vectors(NAME, it)
  cases.faults(NAME, it)

  it("tells the operator what gke-tcpxo.md 4.4 asks for", function()
    local told = cases.told "gvnic-in-a-gpu-slot" .. cases.told "no-gpu-nodes"
    for _, words in ipairs { "gke-nccl-tcpxo", "node lyra-gpu-b: unexpected interfaces gve0",
      "node lyra-gpu-b: 7 of 8", "missing eth1", "its 8 GPU NIC slots to eth1..eth8",
      "Create the node pool again without a gVNIC additional network", "networking.gke.io/nic-info",
      "node pool exists, is not scaled to zero" } do
      assert.truthy(told:find(words, 1, true), ("%q not in %s"):format(words, told))
    end
  end)

  it("with --strict fails where only a part could be verified", function()
    local parts = recording.read()
    for _, node in ipairs(parts.lists[recording.NODES].items) do
      if node.metadata.name == "lyra-gpu-b" then
        node.metadata.annotations["networking.gke.io/nic-info"] = nil
      end
    end
    local folder = files.folder()
    local report = binary.report { "--recording", recording.write(folder, parts), "--recipe",
      "recipes/lyra.yaml", NAME, "--strict" }
    files.remove(folder)
    local check = binary.check(report, NAME)
    assert.equal("fail", check.outcome)
    assert.equal("CONFLICT", check.code)
    assert.equal("coverage", check.reason)
    assert.equal(1, report.exit)
  end)

  it("says that there is no recipe, as the census does", function()
    local report = binary.report { "--recording", "spec/fixtures/recordings/lyra-ok", "-p", "deployment",
      "checks/gke_tcpxo.lua" }
    assert.equal(2, #report.checks)
    for _, check in ipairs(report.checks) do
      assert.equal("skip", check.outcome)
      assert.equal("no recipe given: add --recipe FILE, one that declares gke-nccl-tcpxo", check.message)
    end
  end)

  it("lists nothing for a recipe that does not declare TCPXO", function()
    local folder = files.folder()
    local parts = recording.read()
    recording.fail(parts, recording.NODES, { status = 403, reason = "Forbidden" })
    recording.fail(parts, recording.NETWORKS, { status = 403, reason = "Forbidden" })
    files.write(folder .. "/recipe.yaml", "kind: RecipeResult\napiVersion: aicr.run/v1\n")
    local report = binary.report { "--recording", recording.write(folder .. "/cluster", parts), "--recipe",
      folder .. "/recipe.yaml", NAME }
    files.remove(folder)
    local check = binary.check(report, NAME)
    assert.equal("skip", check.outcome)
    assert.equal("not-declared", check.reason)
    assert.equal("the recipe does not declare gke-nccl-tcpxo", check.message)
  end)
end)
