-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local constraint = require "aicr.constraint"
local json = require "aicr.json"
local raised = require "spec.support.raised"
local vectors = require "spec.support.vectors"

local VALIDATION = "validation-sample.jsonl"

-- Thresholds: validation-model.md section 0, RT, and gke-tcpxo.md 5.8, OURS. The reference reads
-- them as Go does and accepts infinities, NaN, hexadecimal floats, digit separators and negative
-- numbers. Ours refuses these: a floor of nan or below zero passes whatever was measured. So a
-- threshold whose number is one of them is expected to be refused, whatever the vector says.
local function ours_refuses(text)
  local number = text:match "^[><=!%s]*([^ ]*)"
  local word = number:lower():gsub("^[+-]", "")
  return number:sub(1, 1) == "-" and tonumber(number) ~= 0 or word == "inf" or word == "infinity"
    or word == "nan" or word:find("_", 1, true) ~= nil or word:sub(1, 2) == "0x"
end

local TOLERANCE = 0.9

local function refused(row, err)
  assert.equal("INVALID_REQUEST", row.ok and "INVALID_REQUEST" or row.code)
  assert.equal("INVALID_REQUEST", err.code)
  assert.equal("constraint", err.reason)
  assert.is_true(err.verdict)
end

local function each(files, op, run, differs)
  for _, row in ipairs(vectors.rows(files, op)) do
    it(row.id, function()
      if row.ok and not (differs and differs(row)) then
        assert.same(row.result, run(row.args))
      else
        refused(row, raised(run, row.args))
      end
    end)
  end
end

describe("parse", function()
  each(VALIDATION, "expr.parse", function(args) return constraint.parse(args.expr) end)
end)

describe("parse_term", function()
  each(VALIDATION, "term.parse", function(args) return constraint.parse_term(args.expr) end)
end)

describe("eval", function()
  each(VALIDATION, "expr.eval", function(args)
    return constraint.eval(args.expr, args.actual)
  end)
end)

describe("eval_term", function()
  each(VALIDATION, "term.eval", function(args)
    return constraint.eval_term(args.expr, args.actual)
  end)
end)

describe("threshold", function()
  each(VALIDATION, "threshold.parse", function(args)
    return constraint.threshold(args.value)
  end, function(row) return ours_refuses(row.args.value) end)

  each(vectors.GKE, "parse_threshold", function(args)
    return constraint.threshold(args.text)
  end, function(row) return ours_refuses(row.args.text) end)
end)

describe("threshold with the tolerance of the bandwidth checks", function()
  each(VALIDATION, "nccl.verdict", function(args)
    return args.measured >= constraint.threshold(args.value) * TOLERANCE
  end, function(row) return ours_refuses(row.args.value) end)

  each(vectors.GKE, "bandwidth_verdict", function(args)
    return args.bandwidth >= constraint.threshold(args.threshold) * TOLERANCE
  end, function(row) return ours_refuses(row.args.threshold) end)
end)

describe("the rule for refused thresholds", function()
  for _, text in ipairs { "inf", ">= -Inf", "+infinity", "NaN", "0x1p4", "1_000", "-5", "<= -1" } do
    it("refuses " .. text, function()
      assert.is_true(ours_refuses(text))
      assert.equal("constraint", raised(constraint.threshold, text).reason)
    end)
  end

  for text, number in pairs { ["300"] = 300, ["-0"] = 0, [">= 300 GB/s"] = 300, ["+300"] = 300,
      [".5"] = 0.5, ["5."] = 5, ["1e3"] = 1000, [">=\t300"] = 300, ["3 00"] = 3 } do
    it("takes " .. text, function()
      assert.is_false(ours_refuses(text))
      assert.equal(number, constraint.threshold(text))
    end)
  end

  it("covers every vector that it lets differ", function()
    local seen = 0
    for _, op in ipairs { "threshold.parse", "nccl.verdict" } do
      for _, row in ipairs(vectors.rows(VALIDATION, op)) do
        seen = seen + (row.ok and ours_refuses(row.args.value) and 1 or 0)
      end
    end
    assert.is_true(seen > 0)
  end)
end)

describe("the tables of validation-model.md 6", function()
  -- expression, actual, result
  local rows = {
    { ">= 1.32", "1.32.4", true },
    { "> 1.32", "1.32.4", false },
    { "<= 1.32", "1.32.4", true },
    { "< 1.33", "v1.32.9-eks-abc", true },
    { ">= 1.32.4", "1.32", true },
    { "== 1.32", "1.32.4", false },
    { "== 24.04", "24.4", true },
    { ">= v25.10.0", "v25.3.1", false },
    { ">= 300", "338.1", true },
    { ">= 338.5", "338.25", true },
    { "<= 1.35.0", "1.35.0-gke.1", false },
    { "> 1.35.0", "1.35.0-gke.1", true },
    { "< 1.35.0-gke.5", "1.35.0", true },
    { "1.32", "1.32.0", false },
    { "1.32", " 1.32\n", true },
    { "= x", "x", true },
    { "ubuntu", "Ubuntu", false },
    { "! x", "! x", true },
    { "!", "!", true },
    { ">= 1.30 < 1.33", "1.32", true },
    { ">= 1.30\t< 1.32", "1.32", false },
    { "< 1 || >= 2", "1.5", false },
    { "1.5 || >= nothing", "1.5", true },
    { "< 1 >= nothing || 1.5", "1.5", true },
    { "!= 1.5", "1.5.0", false },
    { ">= 1.35.0", "1.35.0-gke.x", true },
  }
  for _, row in ipairs(rows) do
    it(("%q of %q is %s"):format(row[1], row[2], row[3]), function()
      assert.equal(row[3], constraint.eval(row[1], row[2]))
    end)
  end

  -- expression, actual, part of the message
  local errors = {
    { "", "x", "the expression is empty" },
    { "\u{3000}", "x", "the expression is empty" },
    { ">=", "x", "no value after the operator" },
    { "!x", "x", "'!' is no operator, use '!='" },
    { "a ||", "a", "nothing on one side of ||" },
    { ">= 1.2<1.3", "1.2", 'the expected value "1.2<1.3" is no version' },
    { ">= 1.2", "ubuntu", 'constraint >= "1.2": the actual value "ubuntu" is no version' },
    { ">= 1.35.0-gke.x", "1.35.0", "the number after -gke. is malformed" },
    { "a || >= 1.35.0-gke.x", "a", "the number after -gke. is malformed" },
    { "a || !b", "a", "'!' is no operator" },
    { "< 1.2 || >= x.y", "1.5", 'the expected value "x.y" is no version' },
  }
  for _, row in ipairs(errors) do
    it(("%q is refused: %s"):format(row[1], row[3]), function()
      local err = raised(constraint.eval, row[1], row[2])
      assert.same({ "INVALID_REQUEST", "constraint", true }, { err.code, err.reason, err.verdict })
      assert.is_truthy(err.message:find(row[3], 1, true), err.message)
    end)
  end
end)

describe("the number of terms", function()
  for _, row in ipairs { { 64, true }, { 65, false } } do
    it(("%d is taken: %s"):format(row[1], row[2]), function()
      local expr = ("< 1 "):rep(row[1])
      if row[2] then
        assert.equal(64, #constraint.parse(expr)[1])
        assert.equal(64, #constraint.parse(("a||"):rep(63) .. "a"))
      else
        assert.is_truthy(raised(constraint.parse, expr).message:find("over 64 terms", 1, true))
      end
    end)
  end
end)

describe("lists of a parsed expression", function()
  it("are arrays of terms with text operators", function()
    assert.equal('[[{"op":">=","value":"1.30","version":true},'
      .. '{"op":"<","value":"1.33","version":true}],[{"op":"","value":"any","version":false}]]',
      json.encode(constraint.parse ">= 1.30 < 1.33 || any"))
  end)
end)

describe("wrong arguments", function()
  for _, name in ipairs { "parse", "parse_term", "eval", "eval_term", "threshold" } do
    it("of " .. name, function()
      local ok, message = pcall(constraint[name], {}, {})
      assert.is_false(ok)
      assert.is_truthy(tostring(message):find("string expected", 1, true))
    end)
  end
end)
