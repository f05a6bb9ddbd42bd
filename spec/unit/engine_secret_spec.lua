-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local fake_host = require "spec.support.fake_host"
local json = require "aicr.json"
local main = require "aicr.engine.main"
local secret = require "aicr.engine.secret"

local function item(params, declared)
  return { params = params, meta = { params = declared } }
end

describe("masking", function()
  local ONE <const> = item({ t = { value = "hunter2" }, n = { value = "open" } },
    { t = { type = "string", secret = true }, n = { type = "string" } })

  for _, row in ipairs {
    { "hunter2", "***" }, { "a hunter2 b hunter2", "a *** b ***" }, { "open", "open" }, { 5, 5 },
    { true, true },
    { { "hunter2", { k = "xhunter2" } }, { "***", { k = "x***" } } },
    { { hunter2 = 1 }, { ["***"] = 1 } },
  } do
    it("of " .. json.encode { row[1] }, function()
      assert.same(row[2], secret.masked(row[1], ONE))
    end)
  end

  it("knows the values of Secrets that the check has read so far", function()
    local one = item({}, {})
    secret.saw(one, nil)
    assert.equal("a value-1", secret.masked("a value-1", one))
    secret.saw(one, json.array { "value-1", json.null })
    secret.saw(one, json.array { "value-2" })
    assert.equal("a *** and ***", secret.masked("a value-1 and value-2", one))
  end)

  it("keeps null and empty lists", function()
    local out = secret.masked({ a = json.null, b = json.array() }, ONE)
    assert.equal('{"a":null,"b":[]}', json.encode(out))
  end)

  it("takes patterns literally, the longest value first, and never loops", function()
    local many = item({ a = { value = "a" }, b = { value = "a.%b" }, c = { value = "*" },
      d = { value = "" } },
      { a = { secret = true }, b = { secret = true }, c = { secret = true },
        d = { secret = true } })
    assert.is_nil(secret.masked("x a.%b y a", many):find("a.%b", 1, true))
    assert.is_string(secret.masked("***", many))
  end)

  it("covers lists and numbers", function()
    local list = item({ l = { value = { "one", "two" } }, n = { value = 4711 } },
      { l = { secret = true }, n = { secret = true } })
    assert.same({ "*** *** ***", "***" }, secret.masked({ "one two 4711", 4711 }, list))
  end)

  it("hands back what a check without secrets recorded", function()
    local data = { "x" }
    assert.equal(data, secret.masked(data, item({}, {})))
  end)
end)

describe("a secret parameter", function()
  it("reaches its check and no report", function()
    local host = fake_host.new {
      disk = { ["a.lua"] = { name = "a", phase = "deployment", summary = "x", fixes = {},
        params = { token = { type = "string", secret = true } } } },
      endings = { a = {
        record = { evidence = { "token is hunter2" }, extra = { t = "hunter2" },
          endings = { { kind = "fail", code = "CONFLICT", reason = "bad",
            message = "hunter2 refused", why = "hunter2",
            fix = "hunter2", details = { diff = { key = "k", left = "l", right = "r",
              rows = { { k = "hunter2", l = "hunter2", r = "x" } } } } } } },
        ending = { how = "script", message = "hunter2", at = { file = "a.lua", line = 1 },
          trace = { "hunter2" } },
      } },
    }
    local given = fake_host.command {
      operands = { "a.lua" }, options = { output = { "r.json", "r.xml" }, verbose = 1 },
      environment = { set = { "token=hunter2" } },
    }
    assert.equal(1, main(given, host))
    assert.equal("hunter2", host.state.started[1].params.token)
    for _, target in ipairs { "-", "r.json", "r.xml" } do
      assert.is_nil(host.state.written[target]:find("hunter2", 1, true), target)
      assert.truthy(host.state.written[target]:find("***", 1, true), target)
    end
  end)
end)
