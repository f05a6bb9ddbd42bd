-- SPDX-License-Identifier: Apache-2.0
-- Whatever a check puts into its record, the outcome is one of ours and every report stays legal.
require "aicr_native"
local human = require "aicr.report.human"
local json = require "aicr.json"
local json_schema = require "spec.support.json_schema"
local junit = require "aicr.report.junit"
local lom = require "lxp.lom"
local native = require "aicr.report.native"
local outcome = require "aicr.engine.outcome"
local result = require "aicr.engine.result"

local SCHEMA <const> = json_schema.load("spec/schema/report.schema.json")
local CASES <const> = 400
local SEED <const> = 7

local WORDS <const> = { "x", "", "\27[1m\255", "]]>&", 5, -1, 0.5, true, false, json.null, "ü→" }
local KEYS <const> = { "diff", "rows", "k", "l", "r", "key", "left", "right" }
local HOWS <const> = { "returned", "ended", "error", "script", "memory", "budget", "deadline",
  "canceled", "odd" }

local function one_of(list)
  return list[math.random(#list)]
end

-- Any plain value; tables often look like a comparison.
local function any(depth)
  local r = math.random(#WORDS + 3)
  if r <= #WORDS then
    return WORDS[r]
  elseif depth > 3 then
    return 1
  end
  local list, map = {}, {}
  for i = 1, math.random(0, 3) do
    list[i] = any(depth + 1)
    map[one_of(KEYS)] = list[i]
  end
  return r == #WORDS + 1 and json.array(list) or map
end

local function maybe(share, make)
  if math.random() < share then
    return make()
  end
end

local function some(most, make)
  local out = json.array()
  for i = 1, math.random(0, most) do
    out[i] = make()
  end
  return out
end

local function an_ending()
  return { kind = one_of { "fail", "skip", "expectation" }, code = any(3), reason = "r",
    message = any(1),
    why = any(1),
    fix = any(1), details = any(0) }
end

local function an_expectation()
  return { what = one_of { "x", "\27\255" }, op = one_of { "==", "same_set", "same_list" },
    expected = any(0),
    actual = any(0), ok = math.random() < 0.5 }
end

local function an_event()
  local kind = one_of { "string", "nil", "number" }
  return {
    started = 1, duration_ms = 3,
    ending = {
      how = one_of(HOWS), result = kind == "string" and one_of { "x", "\27\255" } or nil,
        result_type = kind,
      message = any(2), at = maybe(0.5, function() return { file = "f", line = 3 } end),
      error = { code = any(3), reason = "r", message = any(2), verdict = any(3), details = any(0),
        cause = any(2) },
    },
    record = {
      endings = some(2, an_ending), expectations = some(2, an_expectation),
        evidence = { "\27\255" },
      coverage = maybe(0.3, function() return { verified = 1, total = 2 } end),
      cleanup = maybe(0.2, function() return { ok = false, message = any(2) } end),
    },
  }
end

local function model_of(event, strict)
  local item = { name = "a", phase = "deployment", path = "p", origin = "file",
    meta = { name = "a" }, timeout_ms = 5 }
  local res = result.new(item, outcome.of(event, item, { strict = strict }), event)
  return result.model {
    version = "1", id = "20260310t201044-7f3a", start = 1, stop = 2, seed = 1, notes = {},
      results = { res }, target = {},
  }
end

describe("any record", function()
  it("gives legal reports", function()
    math.randomseed(SEED)
    for case = 1, CASES do
      local event = json.decode(json.encode(an_event()))
      local run = model_of(event, case % 2 == 0)
      local ok, why = json_schema.validate(json.decode(native.render(run)), SCHEMA)
      assert.is_true(ok, ("case %d: %s"):format(case, tostring(why)))
      assert.is_table(lom.parse(junit.render(run)))
      for _, terminal in ipairs { { utf8 = true }, { width = 30 } } do
        assert.is_nil(human.render(run, { terminal = terminal,
          verbose = true }):find("[\0-\9\11-\31\127]"))
      end
    end
  end)
end)
