-- SPDX-License-Identifier: Apache-2.0
--- JSON patches: the examples of RFC 6902, appendix A, and what is refused.
require "aicr_native"
local json = require "aicr.json"
local patch = require "aicr.platform.patch"
local raised = require "spec.support.raised"
local support = require "spec.support.platform"

local function apply(document, operations)
  return patch.apply(json.decode(document), json.decode(operations))
end

describe("a JSON patch", function()
  local rows = {
    { "A.1 adds a member", '{"foo":"bar"}', '[{"op":"add","path":"/baz","value":"qux"}]', '{"baz":"qux","foo":"bar"}' },
    { "A.2 adds an item", '{"foo":["bar","baz"]}', '[{"op":"add","path":"/foo/1","value":"qux"}]',
      '{"foo":["bar","qux","baz"]}' },
    { "A.3 removes a member", '{"baz":"qux","foo":"bar"}', '[{"op":"remove","path":"/baz"}]', '{"foo":"bar"}' },
    { "A.4 removes an item", '{"foo":["bar","qux","baz"]}', '[{"op":"remove","path":"/foo/1"}]',
      '{"foo":["bar","baz"]}' },
    { "A.5 replaces", '{"baz":"qux","foo":"bar"}', '[{"op":"replace","path":"/baz","value":"boo"}]',
      '{"baz":"boo","foo":"bar"}' },
    { "A.6 moves a member", '{"foo":{"bar":"baz","waldo":"fred"},"qux":{"corge":"grault"}}',
      '[{"op":"move","from":"/foo/waldo","path":"/qux/thud"}]',
      '{"foo":{"bar":"baz"},"qux":{"corge":"grault","thud":"fred"}}' },
    { "A.7 moves an item", '{"foo":["all","grass","cows","eat"]}', '[{"op":"move","from":"/foo/1","path":"/foo/3"}]',
      '{"foo":["all","cows","eat","grass"]}' },
    { "A.8 tests", '{"baz":"qux","foo":["a",2,"c"]}',
      '[{"op":"test","path":"/baz","value":"qux"},{"op":"test","path":"/foo/1","value":2}]',
      '{"baz":"qux","foo":["a",2,"c"]}' },
    { "A.10 adds what is nested", '{"foo":"bar"}', '[{"op":"add","path":"/child","value":{"grandchild":{}}}]',
      '{"foo":"bar","child":{"grandchild":{}}}' },
    { "A.11 ignores what it does not know", '{"foo":"bar"}', '[{"op":"add","path":"/baz","value":"qux","xyz":123}]',
      '{"foo":"bar","baz":"qux"}' },
    { "A.14 escapes", '{"/":9,"~1":10}', '[{"op":"test","path":"/~01","value":10}]', '{"/":9,"~1":10}' },
    { "A.16 adds behind the last item", '{"foo":["bar"]}', '[{"op":"add","path":"/foo/-","value":["abc","def"]}]',
      '{"foo":["bar",["abc","def"]]}' },
    { "copies", '{"a":{"b":[1]}}', '[{"op":"copy","from":"/a/b","path":"/c"},{"op":"add","path":"/c/-","value":2}]',
      '{"a":{"b":[1]},"c":[1,2]}' },
    { "adds null", "{}", '[{"op":"add","path":"/a","value":null}]', '{"a":null}' },
    { "replaces the whole", '{"a":1}', '[{"op":"replace","path":"","value":[1]}]', "[1]" },
    { "replaces an item", "[1,2,3]", '[{"op":"replace","path":"/1","value":9}]', "[1,9,3]" },
    { "empties a list", "[1]", '[{"op":"remove","path":"/0"}]', "[]" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      support.same(json.decode(row[4]), apply(row[2], row[3]))
    end)
  end

  it("leaves the document as it was", function()
    local document = json.decode '{"a":[1]}'
    patch.apply(document, { { op = "add", path = "/a/-", value = 2 } })
    support.same(json.decode '{"a":[1]}', document)
  end)

  local refused = {
    { "A.9 a test that fails", '{"baz":"qux"}', '[{"op":"test","path":"/baz","value":"bar"}]',
      'operation 1: "/baz" is not "bar"' },
    { "A.12 a place that is not there", '{"foo":"bar"}', '[{"op":"add","path":"/baz/bat","value":"qux"}]',
      'operation 1: there is no "baz"' },
    { "A.15 another type", '{"~1":10}', '[{"op":"test","path":"/~01","value":"10"}]',
      'operation 1: "/~01" is not "10"' },
    { "a place behind the list", "[1]", '[{"op":"add","path":"/2","value":1}]',
      'operation 1: "2" is no place in a list' },
    { "a place with a zero before it", "[1,2]", '[{"op":"remove","path":"/01"}]', 'operation 1: "01" is no place' },
    { "a place that is no number", "[1]", '[{"op":"remove","path":"/-"}]', 'operation 1: "-" is no place' },
    { "what is not there to replace", "{}", '[{"op":"replace","path":"/a","value":1}]',
      'operation 1: there is no "a"' },
    { "a move into itself", '{"a":{"b":1}}', '[{"op":"move","from":"/a","path":"/a/b"}]',
      "operation 1: \"/a\" cannot be" },
    { "the second operation", '{"a":1}', '[{"op":"remove","path":"/a"},{"op":"remove","path":"/a"}]', "operation 2: " },
    { "an operation that there is not", "{}", '[{"op":"spam","path":"/a"}]',
      "operation 1: expected an operation: add, " },
    { "an add without a value", "{}", '[{"op":"add","path":"/a"}]', "operation 1: add needs a value" },
    { "a path that is none", "{}", '[{"op":"remove","path":"a"}]', 'operation 1: "a" is no JSON pointer' },
    { "no path", "{}", '[{"op":"remove"}]', "operation 1: " },
    { "the whole removed", "{}", '[{"op":"remove","path":""}]', "operation 1: the whole document" },
    { "into a text", '{"a":"b"}', '[{"op":"add","path":"/a/c","value":1}]', 'operation 1: "c" is in no object' },
    { "no list", "{}", '{"op":"remove"}', "expected a list of operations" },
  }
  for _, row in ipairs(refused) do
    it("is refused: " .. row[1], function()
      local err = raised(apply, row[2], row[3])
      assert.equal("json-patch", err.reason)
      assert.equal(row[4], err.message:sub(1, #row[4]))
    end)
  end
end)
