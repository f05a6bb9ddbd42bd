-- SPDX-License-Identifier: Apache-2.0
--- Expressions of an override's `when`: what they answer, and what is refused.
require "aicr_native"
local expression = require "aicr.platform.expression"
local platform = require "aicr.platform"
local raised = require "spec.support.raised"

local RUN <const> = {
  platform = "gcp", gpuArchitecture = "gb200", workloadKind = "TrainJob", topologyMode = "topology", domainCount = 3,
}

local ANSWERS <const> = {
  { "true", true }, { "false", false }, { "!false", true }, { "!!false", false },
  { 'platform == "gcp"', true }, { "platform == 'aws'", false }, { "platform != 'aws'", true },
  { "'gcp' == platform", true }, { "domainCount > 2", true }, { "domainCount > 3", false },
  { "3 <= domainCount", true },
  { "domainCount >= -1 && domainCount < 4", true }, { "domainCount == 3", true },
  { "platform in ['aws', 'gcp']", true }, { "platform in []", false }, { "!(platform in ['aws'])", true },
  { "domainCount in [1, 2]", false }, { "domainCount in [1, 3]", true },
  { "gpuArchitecture.startsWith('gb')", true }, { "gpuArchitecture.endsWith('200')", true },
  { "gpuArchitecture.endsWith('')", true }, { "gpuArchitecture.contains('b2')", true },
  { "gpuArchitecture.contains('.')", false }, { "gpuArchitecture.size() == 5", true }, { "[1, 2].size() == 2", true },
  -- && binds tighter than ||, a comparison tighter than both.
  { "true || false && false", true }, { "(true || false) && false", false },
  { "false && false || true", true }, { "platform == 'aws' || domainCount == 3 && topologyMode == 'topology'", true },
  { "domainCount > 2 ? platform == 'gcp' : false", true }, { "false ? true : domainCount == 4", false },
  { "false ? true : true ? false : true", false }, { "(domainCount > 2 ? 'a' : 'b') == 'a'", true },
  { [["it's" == 'it\'s']], true }, { [['a"b' == "a\"b"]], true }, { [["\\" == '\\']], true },
  { " \t\n true ", true }, { "'a' < 'b'", true }, { "true == true", true }, { "true != false", true },
  { "workloadKind == 'TrainJob'", true },
}

local REFUSED <const> = {
  { "", "at character 1: expected a value, found the end" },
  { "platform", "when takes a question, not a text" },
  { "1", "when takes a question, not a number" },
  { "platform = 'gcp'", 'at character 10: "=" is not read here' },
  { "platform == gcp", '"gcp" is not known here; known: domainCount, gpuArchitecture, platform' },
  { "Platform == 'gcp'", '"Platform" is not known here; did you mean "platform"?' },
  { "platform == 3", "== takes a text, not a number" }, { "domainCount > '2'", "> takes a number, not a text" },
  { "true < false", "a question is not compared with < here" }, { "[1] == [1]", "a list of number is not compared" },
  { "domainCount && true", "&& takes a question, not a number" }, { "!platform", "! takes a question, not a text" },
  { "platform in 'gcp'", "in takes a list of text, not a text" }, { "platform in [1]", "in takes a list of text, not" },
  { "platform in ['gcp', 1]", "a list of texts takes a text, not a number" },
  { "platform in [['gcp']]", "a list is of texts or of numbers" },
  { "platform in ['gcp'", 'expected ",", found the end' }, { "(true", 'expected ")", found the end' },
  { "true true", '"true" is too much' }, { "true)", '")" is too much' },
  { "platform == 'gcp", "the text does not end" }, { "platform == 'g\ncp'", "the text does not end" },
  { [[platform == 'g\xcp']], [[an escape that is not known: "\\x"]] },
  { "domainCount > 1.5", '"1.5" is no whole number' }, { "domainCount > 2u", '"2u" is no whole number' },
  { "domainCount > 99999999999999999999", "is no whole number" }, { "-domainCount < 1", "expected a number behind" },
  { "domainCount + 1 > 2", '"+" is not read here' }, { "platform.matches('g.*')", 'method "matches" is not read here' },
  { "platform.size", 'expected "(", found the end' }, { "domainCount.size() > 1", 'method "size" is not read here' },
  { "platform.startsWith(1)", "startsWith takes a text, not a number" },
  { "size(platform) == 3", '"size" is not known' },
  { "true ? 1 : false", "? : takes a number, not a question" }, { "1 ? true : false", "? takes a question, not" },
  { "platform == 'gke'", '"gke" is no platform; expected one of: aws' },
  { "'GCP' == platform", '"GCP" is no platform' }, { "platform in ['aws', 'eks']", '"eks" is no platform' },
  { "gpuArchitecture == 'GB200'", '"GB200": architectures are lower case' },
  { ("("):rep(60) .. "true" .. (")"):rep(60), "nested more than 50 deep" },
  { ("!"):rep(60) .. "true", "nested more than 50 deep" },
  { ("["):rep(4000), "nested more than 50 deep" }, { (" "):rep(5000) .. "true", "longer than 4096 bytes" },
  { "true \0", 'is not read here' }, { "\xff", "is not read here" },
}

describe("an expression", function()
  for _, row in ipairs(ANSWERS) do
    it(("answers %s to %s"):format(row[2], row[1]), function()
      local ask, why = expression.compile(row[1])
      assert.is_nil(why)
      assert.equal(row[2], ask(RUN))
    end)
  end
  for i, row in ipairs(REFUSED) do
    it(("is refused: %d, %s"):format(i, row[2]), function()
      local err = raised(platform.matches, { expression = row[1] }, {})
      assert.same({ "INVALID_REQUEST", "override" }, { err.code, err.reason })
      assert.truthy(err.message:find(row[2], 1, true), err.message)
    end)
  end
  it("holds beside the other conditions", function()
    local context = { Platform = "aws", GPUArchitecture = "h100", DomainCount = 2, TopologyMode = "simple" }
    assert.is_true(platform.matches({ platform = { equals = "aws" }, expression = "domainCount == 2" }, context))
    assert.is_false(platform.matches({ platform = { equals = "gcp" }, expression = "domainCount == 2" }, context))
    assert.is_false(platform.matches({ platform = { equals = "aws" }, expression = "topologyMode != 'simple'" },
      context))
    assert.is_true(platform.matches({ expression = "platform == '' && domainCount == 0" }, {}))
  end)
  it("of random words is read or refused, and then answered", function()
    local words = { "platform", "domainCount", "'gcp'", "1", "==", "&&", "||", "!", "(", ")", "[", "]", ",", "in", "?",
      ":", "true", ".size()", ".startsWith('g')", "<", "-", "\\", "'" }
    math.randomseed(7)
    local read = 0
    for _ = 1, 20000 do
      local text = {}
      for i = 1, math.random(8) do
        text[i] = words[math.random(#words)]
      end
      local ask, why = expression.compile(table.concat(text, " "))
      assert.equal(ask == nil, why ~= nil)
      if ask then
        read = read + 1
        assert.equal("boolean", type(ask(RUN)))
      end
    end
    assert.is_true(read > 100, "only so many were read: " .. read)
  end)
end)
