-- SPDX-License-Identifier: Apache-2.0
-- A run of aicr.training that is interrupted after any of its requests leaves nothing on the cluster, or names what is
-- left with the command that removes it. `make soak` takes each request, else it is a sample.
require "aicr_native"
local json = require "aicr.json"
local runs = require "spec.support.cluster_run"
local training = require "spec.support.cluster_training"

local SOAK <const> = os.getenv "AICR_SOAK" ~= nil
-- More than there are of a run that nothing holds up.
local LAST <const>, SIDE_BY_SIDE <const> = 70, 6
local SAMPLE <const> = { 3, 4, 7, 14, 16, 19, 20, 23, 26, 31, 34, 36 }

local function chosen()
  if not SOAK then
    return SAMPLE
  end
  local all = {}
  for n = 1, LAST do
    all[n] = n
  end
  return all
end

local function start(n)
  local namespace = training.namespace()
  return { n = n, namespace = namespace, run = training.start { namespace = namespace, run = {
    keep = true, before = "spec/support/interrupt_after " .. n, args = { "--log-level", "trace" },
    env = { AICR_RUN_HEARTBEAT = "10m" },
  } } }
end

-- The namespace for whose removal a report gives the command.
local function is_named(result, namespace)
  return json.encode(result.check):find("kubectl delete namespace/" .. namespace, 1, true) ~= nil
end

local function judge(one, is_left)
  local result = one.run:finish(240)
  one.run = nil
  local said = ("after request %d: %s%s"):format(one.n, result.stdout, result.stderr)
  local is_cut = result.stderr:find("trace: ", 1, true) and result.code == 130
  assert.truthy(is_cut or result.code == 0, said)
  if is_cut then
    assert.equal("error", result.check.outcome, said)
    assert.equal("interrupted", result.check.reason, said)
  end
  one.is_named = is_named(result, one.namespace)
  assert.truthy(one.is_named or not is_left(one.namespace), said)
  return is_cut
end

describe("SIGINT after a request of a TrainJob's run", function()
  after_each(runs.end_all)

  local all = chosen()
  for first = 1, #all, SIDE_BY_SIDE do
    local last = math.min(#all, first + SIDE_BY_SIDE - 1)
    it(("leaves nothing: %s"):format(table.concat(all, " ", first, last)), function()
      local batch, ours, cut = {}, {}, 0
      finally(function()
        for _, one in ipairs(batch) do
          if one.run then
            one.run:kill()
          end
          training.remove(one.namespace)
        end
      end)
      for i = first, last do
        batch[#batch + 1] = start(all[i])
      end
      for _, one in ipairs(batch) do
        cut = cut + (judge(one, training.is_there) and 1 or 0)
        ours[one.namespace] = not one.is_named
      end
      assert.same({}, training.objects(function(space) return ours[space] == true end))
      assert.truthy(cut > 0 or SOAK, "no run was interrupted")
    end)
  end
end)

it("what a run has made is seen while it is there", function()
  local namespace = training.namespace()
  finally(function()
    training.remove(namespace)
  end)
  training.leave_namespace(namespace)
  training.leave_lock(namespace, 1)
  local found = table.concat(training.objects(function(space) return space == namespace end), "\n")
  for _, name in ipairs { "Namespace <none>/" .. namespace, ("Lease %s/spec-lock"):format(namespace) } do
    assert.truthy(found:find(name, 1, true), found)
  end
end)
