-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local yaml = require "aicr.yaml"
local json = require "aicr.json"
local errors = require "aicr.native.error"

describe("yaml.decode", function()
  -- text, value by the recipe schema, value by the Kubernetes schema (when it differs)
  local rows = {
    { "true", true }, { "True", true }, { "TRUE", true }, { "tRUE", "tRUE" }, { "false", false },
    { "yes", "yes", true }, { "no", "no", false }, { "on", "on", true }, { "off", "off", false }, { "y", "y", true },
    { "n", "n", false }, { "~", json.null }, { "null", json.null }, { "''", "" }, { "'true'", "true" },
    { '"8"', "8" }, { "8", 8 }, { "010", 8 }, { "0o17", 15 }, { "0x1f", 31 }, { "1e3", 1000.0, 1000 }, { ".5", 0.5 },
    { "9007199254740993", 9007199254740993 }, { "12:30:45", "12:30:45" }, { "2025-01-01", "2025-01-01" },
    { "[a, b]", { "a", "b" } }, { "{a: 1, b: {c: []}}", { a = 1, b = { c = {} } } },
    { "a: &x [1]\nb: *x", { a = { 1 }, b = { 1 } } }, { "1: a", { ["1"] = "a" } },
    { "a: |\n  x\n  y\n", { a = "x\ny\n" } },
    { "\239\187\191a: 1", { a = 1 } }, { "a: 1\r\nb: 2\r\n", { a = 1, b = 2 } },
  }
  for _, row in ipairs(rows) do
    for i, schema in ipairs { "recipe", "kubernetes" } do
      it(("%s as %s"):format(json.encode(row[1]), schema), function()
        local want = row[2]
        if i == 2 and row[3] ~= nil then
          want = row[3]
        end
        local got = yaml.decode(row[1], { schema = schema })
        assert.same(want, got)
        assert.equal(math.type(want), math.type(got))
      end)
    end
  end

  it("keeps arrays as arrays", function()
    assert.is_true(json.is_array(yaml.decode "[]"))
  end)

  local bomb = { "a0: &a0 [x,x,x,x,x,x,x,x,x]" }
  for i = 1, 9 do
    bomb[#bomb + 1] = ("a%d: &a%d [%s]"):format(i, i, ("*a%d,"):format(i - 1):rep(9))
  end
  local bad = {
    { "not closed", "a: [1", "malformed" }, { "a tab", "a:\n\t- b", "malformed" },
    { "a repeated key in a recipe", "a: 1\nb: 2\na: 3", "duplicate-key", line = 3 },
    { "two documents", "a: 1\n---\nb: 2", "malformed" }, { "no document", "", "malformed" },
    { "an unknown alias", "a: *x", "malformed" }, { "a cycle", "&a [*a]" }, { "bad UTF-8", "a: \xff" },
    { "too deep", ("["):rep(200) .. ("]"):rep(200) }, { "an alias bomb", table.concat(bomb, "\n"), "alias-bomb" },
  }
  for _, row in ipairs(bad) do
    it("refuses " .. row[1], function()
      local ok, err = pcall(yaml.decode, row[2], { schema = "recipe" })
      assert.is_false(ok)
      assert.is_true(errors.is(err), tostring(err))
      assert.equal("INVALID_REQUEST", err.code)
      if row[3] then
        assert.equal(row[3], err.reason)
      end
      if row.line then
        assert.matches(("^line %d: "):format(row.line), err.message)
      end
    end)
  end

  it("the last of repeated keys wins outside recipes", function()
    assert.same({ a = 2 }, yaml.decode("a: 1\na: 2", { schema = "kubernetes" }))
  end)

  it("reads all documents", function()
    assert.same({ { a = 1 }, { b = 2 } }, yaml.decode_all "a: 1\n---\nb: 2\n")
    assert.same({}, yaml.decode_all "")
  end)

  it("refuses an unknown schema", function()
    assert.has_error(function() yaml.decode("a: 1", { schema = "toml" }) end)
  end)
end)
