-- SPDX-License-Identifier: Apache-2.0
-- No reason of the client is without the next command to type (design 1): the sources say which there are.
require "aicr_native"
local advice = require "aicr.engine.advice"
local files = require "spec.support.files"

-- What ends no check: recordings and configurations say more where they are read.
local ELSEWHERE <const> = { ["record-failed"] = true }

local function reasons_of(folder)
  local pipe = assert(io.popen("ls " .. folder .. "/*.c"))
  local found = {}
  for path in pipe:lines() do
    for reason in files.read(path):gmatch 'AICR_[%u_]+,%s*"(%l[%l-]+)"' do
      found[reason] = path
    end
  end
  pipe:close()
  return found
end

describe("the next step of each reason", function()
  local count = 0
  for reason, path in pairs(reasons_of "runtime/kube") do
    count = count + 1
    if not ELSEWHERE[reason] then
      it(("%s (%s)"):format(reason, path), function()
        assert.is_string(advice.fix(reason, { name = "x", path = "x.lua" }, 'get pods "a": it went wrong'))
      end)
    end
  end

  it("is looked for in what the client says", function()
    assert.truthy(count > 30, count)
  end)

  it("tells an expired list from expired credentials", function()
    local list = advice.fix("expired", nil, "list pods: expired (HTTP 410): The provided continue parameter is too old")
    assert.matches("run the check again", list)
    assert.matches("credentials", advice.fix("expired", nil, "the token of the plug-in has expired"))
  end)
end)
