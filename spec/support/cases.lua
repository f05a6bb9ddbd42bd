-- SPDX-License-Identifier: Apache-2.0
--- The vectors and the faults of a check as tests that run the program on a recording. For specs.
local binary = require "spec.support.binary"
local faults = require "spec.support.faults"
local files = require "spec.support.files"
local golden = require "spec.support.golden"
local json = require "aicr.json"
local luassert = require "luassert"
local outcome = require "spec.support.outcome"
local recording = require "spec.support.recording"
local vectors = require "spec.support.vectors"

local M = {}

local GOLDEN <const> = "spec/check/golden/"
local RECIPE <const> = "recipes/lyra.yaml"
local SUITE <const> = "checks/gke_tcpxo.lua"

-- The vectors' recipes are bare: a header makes them documents.
local function write_recipe(folder, recipe)
  if recipe == nil or recipe == json.null then
    return nil
  end
  recipe.kind = recipe.kind or "RecipeResult"
  recipe.apiVersion = recipe.apiVersion or "aicr.run/v1"
  local path = folder .. "/recipe.json"
  files.write(path, json.encode(recipe))
  return path
end

local function coverage_of(check)
  local extra = check.extra ~= json.null and check.extra or {}
  if not extra.nodesTotal and not extra.nodesValidated then
    return nil
  end
  return { nodesTotal = extra.nodesTotal, nodesValidated = extra.nodesValidated }
end

local EXIT <const> = { pass = 0, skip = 0, fail = 1, error = 3 }

local function run_vector(row, name)
  files.with_folder(function(folder)
    local args = { name, "--platform", "gcp" }
    if not row.args.noClient then
      args[#args + 1] = "--recording"
      args[#args + 1] = recording.write(folder, recording.from_vector(row.args))
    end
    local recipe = write_recipe(folder, row.args.recipe)
    if recipe then
      args[#args + 1] = "--recipe"
      args[#args + 1] = recipe
    end
    local report = binary.report(args)
    local check = binary.check(report, name)
    local want = outcome.ours(row.outcome, row.code, row.args.noClient)
    local said = ("%s %s: %s"):format(check.reason, check.code, check.message)
    luassert.equal(want, check.outcome, said)
    luassert.equal(EXIT[want], report.exit)
    luassert.equal(row.code, check.code, said)
    if row.args.noClient then
      luassert.equal("no-cluster", check.reason)
    end
    if row.why == "topology" then
      for _, node in ipairs(row.nodes) do
        luassert.truthy(check.message:find("node " .. node .. ":", 1, true), said)
      end
    elseif row.why == "census" then
      luassert.truthy(check.message:find(("only %d of 8"):format(row.count), 1, true), said)
    elseif row.why and row.why:match "^position:" then
      luassert.truthy(check.message:find("pair " .. row.why:match "%d+", 1, true), said)
    end
    luassert.same(row.coverage, coverage_of(check))
  end)
end

--- One test for each `check` vector of that check.
---@param name string
---@param it function busted's
function M.vectors(name, it)
  for _, row in ipairs(vectors.rows(vectors.GKE, "check")) do
    if row.args.check == name then
      it(("vector %s: %s %s"):format(row.id, row.outcome, row.code or ""), function()
        run_vector(row, name)
      end)
    end
  end
end

-- What differs from run to run, or from machine to machine, in the output for people.
local function normalised(text, folder)
  text = text:gsub(folder:gsub("%p", "%%%0"), "RECORDING")
  text = text:gsub("%d+%.%d+s", "0.0s"):gsub("(%.lua):%d+", "%1:LINE")
  return text
end

--- Writes the faulty cluster and recipe.
---@param fault table of spec.support.faults
---@param folder string
---@return string[] the arguments of a run on them; the second is the recording
function M.prepare(fault, folder)
  local parts = recording.read()
  if fault.change then
    fault.change(parts)
  end
  local recipe = RECIPE
  if fault.recipe then
    local healthy = files.read(RECIPE)
    local text = fault.recipe(healthy)
    assert(text ~= healthy, "the fault changes nothing of the recipe")
    recipe = folder .. "/recipe.yaml"
    files.write(recipe, text)
  end
  local cluster = folder .. "/cluster"
  return { "--recording", recording.write(cluster, parts), "--recipe", recipe, SUITE,
    "-p", "deployment", "--seed", "1" }
end

--- Holds a report against what the fault says of it.
---@param fault table of spec.support.faults
---@param report table
function M.judge_fault(fault, report)
  local check = binary.check(report, fault.check)
  local said = ("%s %s: %s"):format(check.reason, check.code, check.message)
  luassert.equal(fault.outcome, check.outcome, said)
  luassert.equal(fault.code, check.code, said)
  if fault.reason then
    luassert.equal(fault.reason, check.reason, said)
  end
  local told = check.outcome == "pass" and check.result or check.message
  for _, words in ipairs(fault.says) do
    luassert.truthy(told:find(words, 1, true), ("%q not in %s"):format(words, told))
  end
  if fault.outcome == "fail" then
    luassert.equal("string", type(check.fix), "a fail names the next step: " .. said)
  end
  if fault.check == "gke-gpu-nic-topology" then
    local want = fault.coverage
      and { nodesValidated = tostring(fault.coverage[1]), nodesTotal = tostring(fault.coverage[2]) }
    luassert.same(want, coverage_of(check))
  end
end

--- One test for each fault of that check: what the report holds, and what a person sees.
---@param name string
---@param it function busted's
function M.faults(name, it)
  for _, fault in ipairs(faults) do
    if fault.check == name then
      it(("fault %s: %s %s"):format(fault.name, fault.outcome, fault.code or ""), function()
        files.with_folder(function(folder)
          local args = M.prepare(fault, folder)
          args[#args + 1] = "--output"
          args[#args + 1] = "json:" .. folder .. "/report.json"
          local result = binary.run(args)
          M.judge_fault(fault, (json.decode(files.read(folder .. "/report.json"))))
          golden(GOLDEN .. fault.name .. ".txt", normalised(result.stdout, folder))
        end)
      end)
    end
  end
end

--- What an operator is told of a fault: message, why and fix in one text.
---@param name string of the fault
---@return string
function M.told(name)
  local text
  for _, fault in ipairs(faults) do
    if fault.name == name then
      files.with_folder(function(folder)
        local check = binary.check(binary.report(M.prepare(fault, folder)), fault.check)
        text = table.concat({ check.message, check.why or "", check.fix }, "\n")
      end)
    end
  end
  return assert(text, "no fault " .. name)
end

--- What a person sees of a shipped recording.
---@param name string of the golden file
---@param folder string the recording
function M.golden(name, folder)
  local result = binary.run { "--recording", folder, "--recipe", RECIPE, SUITE, "-p", "deployment",
    "--seed", "1" }
  golden(GOLDEN .. name .. ".txt", normalised(result.stdout, folder))
  return result
end

return M
