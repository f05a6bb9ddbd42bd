-- SPDX-License-Identifier: Apache-2.0
-- The whole GKE TCPXO suite, interrupted after any of its requests, leaves the cluster's objects as they were, or names
-- what is left with the command that removes it. `make soak` takes each request, else it is a sample.
require "aicr_native"
local image = require "spec.support.cluster_nccl_image"
local json = require "aicr.json"
local nccl = require "spec.support.cluster_nccl"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"
local training = require "spec.support.cluster_training"

local SOAK <const> = os.getenv "AICR_SOAK" ~= nil
-- Those up to FREE come before the GPUs are taken, and fit beside each other.
local FREE <const>, SIDE_BY_SIDE <const> = 34, 6
local EARLY <const>, LATE <const> = { 2, 9, 13, 17, 22, 27 }, { 38, 47 }
local PATIENCE_S <const> = 240

local function span(first, last)
  local all = {}
  for n = first, last do
    all[#all + 1] = n
  end
  return all
end

local function start(n)
  return { n = n, run = nccl.start {
    params = { runtime_image = image.FREE }, before = "spec/support/interrupt_after " .. n, keep = true,
    env = { AICR_RUN_HEARTBEAT = "10m" },
  } }
end

-- Is the run's namespace left, and does its report give the command that removes it?
local function left_and_named(result)
  local namespace = result.stderr:match(nccl.SPACES)
  if not namespace then
    return false, false
  end
  local is_left, is_named = training.is_there(namespace),
    json.encode(result.report):find("delete namespace/" .. namespace, 1, true) ~= nil
  objects.send("DELETE", "/api/v1/namespaces/" .. namespace)
  return is_left, is_named
end

local function judge(one)
  local result = one.run:finish(PATIENCE_S)
  one.run = nil
  local said = ("after request %d: %s%s"):format(one.n, result.stdout, result.stderr)
  local is_cut = result.code == 130
  assert.truthy(is_cut or result.code == 0, said)
  local check = result.report and result.check
  -- Behind the last word of the check only its clean-up is interrupted, and goes on.
  local is_over = check and check.outcome == "pass" and result.stderr:find "delete [^\n]*/namespaces/[%w-]+ %->"
  if is_cut and check and not is_over then
    assert.equal("error", check.outcome, said)
    assert.truthy(({ interrupted = true, ["not-run"] = true })[check.reason], said)
  end
  local is_left, is_named = left_and_named(result)
  assert.equal(is_left, is_named, said)
  return is_cut
end

local function everything()
  return training.objects(function() return true end)
end

-- Runs side by side, each interrupted after its number of requests: how many were.
local function interrupt(numbers)
  local before, batch, cut = everything(), {}, 0
  finally(function()
    for _, one in ipairs(batch) do
      if one.run then
        one.run:kill()
      end
    end
  end)
  for _, n in ipairs(numbers) do
    batch[#batch + 1] = start(n)
  end
  for _, one in ipairs(batch) do
    cut = cut + (judge(one) and 1 or 0)
  end
  assert.same(before, everything())
  return cut
end

describe("SIGINT to the GKE TCPXO suite", function()
  lazy_setup(nccl.begin)
  lazy_teardown(nccl.finish)
  after_each(runs.end_all)

  local early = SOAK and span(1, FREE) or EARLY
  for first = 1, #early, SIDE_BY_SIDE do
    local numbers = table.move(early, first, math.min(#early, first + SIDE_BY_SIDE - 1), 1, {})
    it(("after request %s leaves nothing"):format(table.concat(numbers, " ")), function()
      assert.truthy(interrupt(numbers) > 0, "no run was interrupted")
    end)
  end

  for _, n in ipairs(SOAK and {} or LATE) do
    it(("after request %d leaves nothing"):format(n), function()
      assert.equal(1, interrupt { n }, "no run was interrupted")
    end)
  end

  if SOAK then
    it("after each later request leaves nothing", function()
      local n = FREE
      repeat
        n = n + 1
      until interrupt { n } == 0
    end)
  end
end)
