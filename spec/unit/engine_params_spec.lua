-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local message = require "aicr.engine.message"
local fake_host = require "spec.support.fake_host"
local settings = require "aicr.engine.settings"
local values = require "aicr.engine.value"

local function item(name, declared, set)
  return { name = name, path = name .. ".lua", meta = { name = name, params = declared },
    set = set }
end

local function texts(problems)
  local list = {}
  for i, p in ipairs(problems.list) do
    list[i] = type(p) == "table" and p.what or p
  end
  return table.concat(list, "\n")
end

-- Gives the items their values; gives them and the problems as text. `set` is of the command line,
-- the rest of `how`: set_file, values, environment, suites, recipe, disk, others.
local function apply(items, set, how)
  how = how or {}
  local problems = message.problems()
  local host = fake_host.new { disk = how.disk }
  local job = { items = items, suites = how.suites or {}, host = host,
    recipe = how.recipe and { recipe = how.recipe }, options = { values = how.values } }
  local given = { options = { set = set, set_file = how.set_file }, environment = how.environment }
  settings.apply(job, given, function() return how.others or {} end, problems)
  return items, texts(problems)
end

describe("the value of a parameter", function()
  local ACCEPTED <const> = {
    { "string", "x y", "x y" }, { "string", "", "" }, { "integer", "5", 5 },
    { "integer", "-3", -3 },
    { "integer", "+7", 7 }, { "integer", 5, 5 },
    { "integer", "9223372036854775807", math.maxinteger },
    { "number", "0.5", 0.5 }, { "number", ".5", 0.5 }, { "number", "1e3", 1000.0 },
    { "number", 2, 2 },
    { "boolean", "true", true }, { "boolean", "0", false }, { "boolean", false, false },
    { "duration", "90s", "90s" }, { "duration", "1h30m", "1h30m" }, { "size", "8M", 8 << 20 },
    { "size", "8G", 8 << 30 },
    { "size", "1024", 1024 }, { "size", "4GiB", 4 << 30 }, { "size", 17, 17 },
    { "bandwidth", "250GB/s", 250.0 },
    { "bandwidth", "250", 250.0 }, { "bandwidth", "500MB/s", 0.5 }, { "bandwidth", 12.5, 12.5 },
  }
  for _, row in ipairs(ACCEPTED) do
    it(("%s takes %s"):format(row[1], tostring(row[2])), function()
      local value, why = values.convert({ type = row[1] }, row[2])
      assert.is_nil(why)
      assert.equal(row[3], value)
    end)
  end

  it("list takes words with commas, and lists", function()
    assert.same({ "a", "b", "" }, { table.unpack((values.convert({ type = "list" }, "a,b,"))) })
    assert.same({}, { table.unpack((values.convert({ type = "list" }, ""))) })
    assert.same({ "a" }, { table.unpack((values.convert({ type = "list" }, { "a" }))) })
  end)

  local REFUSED <const> = {
    { "integer", "5.0" }, { "integer", "0x10" }, { "integer", "" },
    { "integer", "9223372036854775808" }, { "integer", 5.5 },
    { "integer", true }, { "number", "nan" }, { "number", "inf" }, { "number", "1e999" },
    { "number", "0x1p4" },
    { "number", "1,5" }, { "number", "" }, { "number", 0 / 0 }, { "boolean", "yes" },
    { "boolean", "TRUE" }, { "boolean", 1 },
    { "duration", "30" }, { "duration", "soon" }, { "duration", 30 }, { "size", "8X" },
    { "size", "-1" }, { "size", "1.5G" },
    { "size", "9999999999T" }, { "bandwidth", "fast" }, { "bandwidth", "250Gbit" },
    { "bandwidth", -1 }, { "bandwidth", "1.2.3" },
    { "list", 5 }, { "list", { a = 1 } }, { "string", 5 },
  }
  for _, row in ipairs(REFUSED) do
    it(("%s refuses %s and names the type"):format(row[1], tostring(row[2])), function()
      local value, why = values.convert({ type = row[1] }, row[2])
      assert.is_nil(value)
      assert.truthy(why:find("(" .. row[1] .. ")", 1, true))
    end)
  end

  for _, row in ipairs {
    { { type = "integer", min = 2 }, "1", "at least 2" },
    { { type = "integer", max = 2 }, "3", "at most 2" },
    { { type = "integer", min = 1, max = 16 }, "17", "1 to 16" },
    { { type = "duration", min = "10s" }, "9s", "at least 10s" },
    { { type = "size", max = "1G" }, "2G", "at most 1G" },
    { { type = "number", min = 0, max = 0.5 }, "0.6", "0 to 0.5" },
    { { type = "string", choices = { "a", "b" } }, "c", "one of: a, b" },
    { { type = "integer", choices = { 1, 2 } }, "3", "one of: 1, 2" },
  } do
    it(("%s is not taken where %s"):format(row[2], row[3]), function()
      local value, why = values.convert(row[1], row[2])
      assert.is_nil(value)
      assert.truthy(why:find(row[3], 1, true), why)
    end)
  end

  for _, row in ipairs {
    { { type = "integer", min = 2, max = 2 }, "2", 2 },
    { { type = "duration", min = "10s", max = "1m" }, "60s", "60s" },
    { { type = "string", choices = { "a", "b" } }, "b", "b" },
  } do
    it(("%s is taken at its limit"):format(row[2]), function()
      assert.equal(row[3], (values.convert(row[1], row[2])))
    end)
  end
end)

describe("the origin of a parameter", function()
  local DECLARED <const> = {
    nodes = { type = "integer", default = 2 },
    floor = { type = "bandwidth", default = "250GB/s", constraint = "nccl-bw" },
    name = { type = "string" },
  }
  local RECIPE <const> = { validation = { performance = { constraints = { { name = "nccl-bw",
    value = ">= 300 GB/s" } } } } }

  it("is the default", function()
    local items = apply { item("a", DECLARED) }
    assert.same({ value = 2, from = "default" }, items[1].params.nodes)
    assert.same({ value = 250.0, from = "default" }, items[1].params.floor)
    assert.is_nil(items[1].params.name)
  end)

  it("is the recipe's constraint over the default", function()
    local items = apply({ item("a", DECLARED) }, nil, { recipe = RECIPE })
    assert.same({ value = 300.0, from = "recipe" }, items[1].params.floor)
  end)

  it("is the suite over the recipe", function()
    local items = apply({ item("a", DECLARED, { floor = "310GB/s", nodes = 4 }) }, nil,
      { recipe = RECIPE })
    assert.same({ value = 310.0, from = "suite" }, items[1].params.floor)
    assert.same({ value = 4, from = "suite" }, items[1].params.nodes)
  end)

  it("is the last --set, with and without the check's name", function()
    local items, problems = apply({ item("a", DECLARED, { nodes = 4 }), item("b", DECLARED) },
      { "nodes=5", "a.nodes=6", "b.name=x=y" })
    assert.equal("", problems)
    local first, second = items[1].params.nodes, items[2].params.nodes
    assert.same({ 6, "command line" }, { first.value, first.from })
    assert.same({ 5, "command line" }, { second.value, second.from })
    assert.equal("x=y", items[2].params.name.value)
  end)

  it("is the environment where --set came from there", function()
    local items = apply({ item("a", DECLARED) }, nil, { environment = { set = { "nodes=5" } } })
    assert.same({ 5, "environment" }, { items[1].params.nodes.value, items[1].params.nodes.from })
  end)

  for _, row in ipairs {
    { "is no threshold", "=> x" }, { "is above the parameter's maximum", ">= 900" },
  } do
    it("makes a check fail whose constraint in the recipe " .. row[1], function()
      local bad = { validation = { performance = { constraints = { { name = "nccl-bw",
        value = row[2] } } } } }
      local declared = { floor = { type = "bandwidth", max = "500GB/s", constraint = "nccl-bw" } }
      local items, problems = apply({ item("a", declared) }, nil, { recipe = bad })
      assert.equal("", problems)
      local preset = items[1].preset
      assert.same({ "fail", "INVALID_REQUEST", "invalid-constraint" },
        { preset.outcome, preset.code, preset.reason })
      assert.equal(('constraint nccl-bw of the recipe has no usable threshold: "%s"'):format(row[2]), preset.message)
    end)
  end

  it("is a whole number from the recipe where the parameter is one", function()
    local function from(value)
      local recipe = { validation = { deployment = { constraints = { { name = "c",
        value = value } } } } }
      return apply({ item("a", { n = { type = "integer", constraint = "c" } }) }, nil,
        { recipe = recipe })[1]
    end
    assert.same({ value = 8, from = "recipe" }, from(">= 8").params.n)
    assert.equal("invalid-constraint", from(">= 8.5").preset.reason)
  end)
end)

describe("--set", function()
  local DECLARED <const> = { nodes = { type = "integer", default = 2, min = 1 },
    token = { type = "string", secret = true } }

  for _, row in ipairs {
    { "nodez=3", '--set nodez: no selected check has a parameter "nodez"; did you mean "nodes"?' },
    { "a.nodez=3", '--set a.nodez: a has no parameter "nodez"; did you mean "nodes"?' },
    { "gpu-helth.nodes=3",
      '--set gpu-helth.nodes: no check named "gpu-helth" in this run; did you mean "gpu-health"?' },
    { "nodes=many", '--set nodes: nodes of a: expected an integer (integer), found "many"' },
    { "nodes=0", '--set nodes: nodes of a: expected at least 1 (integer), found "0"' },
    { "nodes", '--set "nodes": expected [CHECK.]KEY=VALUE' },
    { "=3", '--set "=3": expected [CHECK.]KEY=VALUE' },
    { "a.timeout=30", '--set a.timeout: timeout of a: expected a duration such as 90s or 5m, found "30"' },
    { "a.timeout=0s", '--set a.timeout: timeout of a: expected a duration such as 90s or 5m, found "0s"' },
    { "timeout=5m", "--set timeout: a time limit belongs to a check" },
    { "a.token=hunter2", "--set a.token: token of a is secret and is not taken from the command line" },
  } do
    it(("refuses %s"):format(row[1]), function()
      local _, problems = apply({ item("a", DECLARED), item "gpu-health" }, { row[1] })
      assert.equal(row[2], problems)
    end)
  end

  it("says what to type after a value that does not fit", function()
    local function fix(word, items)
      local problems = message.problems()
      settings.apply({ items = items, suites = {}, host = fake_host.new {}, options = {} },
        { options = { set = { word } } }, function() return {} end, problems)
      return problems.list[1].fix
    end
    local typed = item("a", { gpus = { type = "integer" } })
    assert.equal("see what it takes: aicr-run --explain " .. typed.path, fix("gpus=x", { typed }))
    local none = item("b", {})
    assert.equal("see what it takes: aicr-run --explain b.lua", fix("b.zebra=1", { none }))
    assert.equal("see what it takes: aicr-run --explain b.lua", fix("zebra=1", { none }))
    assert.equal("see what a check takes: aicr-run --explain CHECK", fix("zebra=1", { typed, none }))
    assert.equal("--set a.timeout=5m", fix("a.timeout=30", { typed }))
    assert.is_nil(fix("gpsu=1", { typed }))
  end)

  it("never repeats a secret", function()
    local number = { n = { type = "integer", secret = true } }
    local _, from_environment = apply({ item("a", number) }, nil,
      { environment = { set = { "a.n=hunter2" } } })
    assert.equal('AICR_RUN_SET a.n: n of a: expected an integer (integer), found "***"', from_environment)
    local _, problems = apply({ item("a", DECLARED) }, { "a.token=hunter2", "token=hunter2" })
    assert.is_nil(problems:find("hunter2", 1, true))
  end)

  it("takes a secret from the environment", function()
    local items, problems = apply({ item("a", DECLARED) }, nil,
      { environment = { set = { "a.token=hunter2" } } })
    assert.same({ "", "hunter2" }, { problems, items[1].params.token.value })
  end)

  it("sets a check's time limit", function()
    local items, problems = apply({ item("a", DECLARED) }, { "a.timeout=5m" })
    assert.same({ "", 300000 }, { problems, items[1].timeout_ms })
  end)

  it("leaves a declared parameter called timeout to its check", function()
    local items = apply({ item("a", { timeout = { type = "integer", default = 1 } }) },
      { "timeout=7" })
    assert.equal(7, items[1].params.timeout.value)
    assert.is_nil(items[1].timeout_ms)
  end)

  for _, row in ipairs {
    { { type = "integer", min = "x" }, "min: expected an integer (integer), found x" },
    { { type = "duration", max = 5 }, "max: expected a duration such as 90s or 5m (duration), found 5" },
    { { type = "string", min = 1 }, "a string has no min" },
    { { type = "integer", min = 5, max = 3 }, "min 5 is above max 3" },
    { { type = "size", min = "2G", max = "1G" }, "min 2G is above max 1G" },
    { { type = "string", choices = "a" }, "choices: expected a list of values" },
    { { type = "integer", choices = { 1, "2" } },
      "choices[2]: expected an integer (integer), found 2" },
    { { type = "string", constraint = "bw" }, "a string takes no constraint" },
  } do
    it("refuses the declaration: " .. row[2], function()
      local _, problems = apply({ item("a", { n = row[1] }) }, { "a.n=1" })
      assert.equal("a.lua: parameter n: " .. row[2], problems)
    end)
  end

  it("refuses a default of the wrong type, naming the file", function()
    local _, problems = apply { item("a", { n = { type = "integer", default = "x" } }) }
    assert.equal("a.lua: default of parameter n: expected an integer (integer), found x", problems)
  end)
end)
