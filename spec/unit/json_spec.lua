-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local json = require "aicr.json"
local errors = require "aicr.native.error"

describe("json.decode", function()
  local rows = {
    { "null", json.null }, { "true", true }, { "false", false }, { "0", 0 }, { "-0", 0 }, { "3", 3 }, { "3.0", 3.0 },
    { "1e3", 1000.0 }, { "9007199254740993", 9007199254740993 }, { "9223372036854775807", math.maxinteger },
    { "-9223372036854775808", math.mininteger }, { "9223372036854775808", 9223372036854775808.0 },
    { '""', "" }, { '"a\\u0000b"', "a\0b" }, { '"\\ud83d\\ude00"', "😀" }, { '"\\u00e9"', "é" },
    { "[]", {} }, { "{}", {} }, { "[1,[2,{}],null]", { 1, { 2, {} }, json.null } },
    { '{"a":{"b":[1]},"c":null}', { a = { b = { 1 } }, c = json.null } },
    { '{"a":1,"a":2}', { a = 2 } }, { '{"":1}', { [""] = 1 } },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local value = json.decode(row[1])
      assert.same(row[2], value)
      assert.equal(math.type(row[2]), math.type(value))
    end)
  end

  local bad = {
    "", " ", "nul", "01", "1.", ".5", "+1", "1e", "NaN", "Infinity", "'a'", '"a', '"\\x"', '"\\ud800"', '"a\nb"',
    "[1,]", "[1", "{", '{"a"}', '{"a":}', '{"a":1,}', "{a:1}", "1 2", "[1] x", "\239\187\191[]", '"\xff"', "1e400",
    ("["):rep(257) .. ("]"):rep(257), ("["):rep(10000),
  }
  for i, text in ipairs(bad) do
    it(("refuses row %d"):format(i), function()
      local ok, err = pcall(json.decode, text)
      assert.is_false(ok)
      assert.is_true(errors.is(err))
      assert.equal("INVALID_REQUEST", err.code)
      assert.equal("malformed", err.reason)
      assert.is_false(err.verdict)
    end)
  end

  it("accepts 256 levels", function()
    local value, depth = json.decode(("["):rep(256) .. ("]"):rep(256)), 0
    while value do
      value, depth = value[1], depth + 1
    end
    assert.equal(256, depth)
  end)

  it("counts repeated keys", function()
    assert.equal(2, select(2, json.decode('{"a":1,"a":2,"b":{"c":1,"c":1}}', { repeated = true })))
    assert.equal(0, select(2, json.decode('{"a":1,"b":{"a":1}}', { repeated = true })))
    assert.equal(1, select("#", json.decode '{"a":1,"a":2}'))
  end)

  it("drops null members on request, in arrays they stay", function()
    assert.same({ b = { json.null } }, (json.decode('{"a":null,"b":[null]}', { nulls = "drop" })))
    assert.same({}, (json.decode('{"a":1,"a":null}', { nulls = "drop" })))
  end)

  it("refuses wrong arguments", function()
    assert.has_error(function() json.decode() end)
    assert.has_error(function() json.decode({}) end)
    assert.has_error(function() json.decode("{}", { nulls = "maybe" }) end)
  end)
end)

describe("json.encode", function()
  local rows = {
    { json.null, "null" }, { true, "true" }, { 3, "3" }, { 3.0, "3.0" }, { 0.1, "0.1" }, { 1e300, "1e+300" },
    { math.mininteger, "-9223372036854775808" }, { "a\0b\"\\\n", '"a\\u0000b\\"\\\\\\n"' }, { "é", '"é"' },
    { "\xff", '"\u{FFFD}"' }, { {}, "{}" }, { json.array(), "[]" }, { { 1, 2 }, "[1,2]" },
    { { b = 1, a = { c = json.array() } }, '{"a":{"c":[]},"b":1}' }, { { [1] = "x", [2] = "y" }, '["x","y"]' },
  }
  for _, row in ipairs(rows) do
    it(row[2], function()
      assert.equal(row[2], json.encode(row[1]))
    end)
  end

  local cycle = {}
  cycle.a = cycle
  local bad = {
    { "a NaN", 0 / 0 }, { "infinity", math.huge }, { "a function", print }, { "a hole", { 1, nil, 3, [5] = 1 } },
    { "mixed keys", { 1, a = 2 } }, { "a boolean key", { [true] = 1 } }, { "a cycle", cycle },
    { "a string key in an array", json.array { a = 1 } }, { "a thread", coroutine.create(print) },
    { "a float key", { [1.5] = 1 } },
  }
  for _, row in ipairs(bad) do
    it("refuses " .. row[1], function()
      local ok, err = pcall(json.encode, { deep = { row[2] } })
      assert.is_false(ok)
      assert.matches("cannot encode", err)
      assert.matches("deep", err)
    end)
  end

  it("gives back what it was given", function()
    local text = '{"a":[],"b":{},"c":[1,2.5,"x",null,true],"d":9007199254740993}'
    assert.equal(text, json.encode((json.decode(text))))
  end)

  it("sorts keys by bytes", function()
    assert.equal('{"":0,"A":1,"Z":2,"a":3,"é":4}', json.encode { ["é"] = 4, a = 3, Z = 2, A = 1, [""] = 0 })
  end)
end)

describe("json.array and is_array", function()
  it("tell an array from an object", function()
    assert.is_true(json.is_array(json.decode "[]"))
    assert.is_false(json.is_array((json.decode "{}")))
    assert.is_false(json.is_array({}))
    assert.is_true(json.is_array(json.array {}))
    assert.is_false(json.is_array("x"))
    assert.is_false(json.is_array(setmetatable({}, { __metatable = "aicr.array" })))
  end)
end)

describe("json.array", function()
  it("leaves a protected metatable alone", function()
    local ok, err = pcall(require "aicr.json".decode, "{")
    assert.is_false(ok)
    assert.has_error(function() json.array(err) end)
    assert.equal("aicr.error", getmetatable(err))
  end)
end)
