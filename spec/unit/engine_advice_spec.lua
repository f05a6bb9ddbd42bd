-- SPDX-License-Identifier: Apache-2.0
-- No reason of the client is without the next command to type (design 1): the sources say which there are.
require "aicr_native"
local advice = require "aicr.engine.advice"
local files = require "spec.support.files"

-- What ends no check: recordings and configurations say more where they are read.
local ELSEWHERE <const> = { ["record-failed"] = true }

-- Where reasons are raised, and how.
local SOURCES <const> = {
  ["runtime/kube/*.c"] = 'AICR_[%u_]+,%s*"(%l[%l-]+)"', ["lua/aicr/training/*.lua"] = '"%u[%u_]+", "(%l[%l-]+)"',
}

local function reasons_of(sources)
  local pipe = assert(io.popen("ls " .. sources))
  local found = {}
  for path in pipe:lines() do
    for reason in files.read(path):gmatch(SOURCES[sources]) do
      found[reason] = path
    end
  end
  pipe:close()
  return found
end

describe("the next step of each reason", function()
  local count = 0
  for sources in pairs(SOURCES) do
    for reason, path in pairs(reasons_of(sources)) do
      count = count + 1
      if not ELSEWHERE[reason] then
        it(("%s (%s)"):format(reason, path), function()
          assert.is_string(advice.fix(reason, { name = "x", path = "x.lua" }, 'get pods "a": it went wrong'))
        end)
      end
    end
  end

  it("is looked for in what the client and the libraries say", function()
    assert.truthy(count > 40, count)
  end)

  it("of a run of a TrainJob names its namespace, its node, or what installs Trainer", function()
    local message = "pods are in namespace aicr-nccl-1: another run owns it"
    assert.matches("kubectl get pods .*%-n aicr%-nccl%-1$", advice.fix("namespace-in-use", nil, message))
    message = "the launcher x-launcher-0-0-abcde on node-7.example failed: it went wrong"
    assert.matches("kubectl describe node node%-7%.example$", advice.fix("launcher-failed", { name = "x" }, message))
    message = "it is not there; install it with: kubectl apply -k x"
    assert.equal("kubectl apply -k x", advice.fix("not-found", nil, message))
  end)

  it("tells an expired list from expired credentials", function()
    local list = advice.fix("expired", nil, "list pods: expired (HTTP 410): The provided continue parameter is too old")
    assert.matches("run the check again", list)
    assert.matches("credentials", advice.fix("expired", nil, "the token of the plug-in has expired"))
  end)
end)
