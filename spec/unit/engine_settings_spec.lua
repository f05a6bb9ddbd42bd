-- SPDX-License-Identifier: Apache-2.0
-- Who sets the parameters of a run, and where secrets may come from.
require "aicr_native"
local fake_host = require "spec.support.fake_host"
local json = require "aicr.json"
local main = require "aicr.engine.main"

local PARAMS <const> = {
  nodes = { type = "integer", default = 1 },
  floor = { type = "number", default = 1, constraint = "bw" },
  words = { type = "list", default = "a,b" },
  token = { type = "string", secret = true },
  pin = { type = "integer", secret = true },
}

local function check(name, params)
  return { name = name, phase = "deployment", summary = "x", params = params or PARAMS }
end

local RECIPE <const> = [[
kind: RecipeResult
apiVersion: aicr.run/v1
metadata: {version: v1.3.0}
criteria: {service: any}
componentRefs: []
validation: {deployment: {constraints: [{name: bw, value: ">= 2"}]}}
]]

-- Runs checks a and b; gives the exit code, stderr, the parameters that each check got and the
-- report's, by name.
local function run(fields)
  local disk = { ["a.lua"] = check "a", ["b.lua"] = check "b", ["r.yaml"] = RECIPE }
  for path, content in pairs(fields.disk or {}) do
    disk[path] = content
  end
  fields.disk = disk
  fields.operands = fields.operands or { "a.lua", "b.lua" }
  fields.options = fields.options or {}
  fields.options.output = { "o.json" }
  fields.embedded = fields.embedded or {}
  local host = fake_host.new(fields)
  local code = main(fake_host.command(fields), host)
  local got, shown = {}, {}
  for _, task in ipairs(host.state.started) do
    got[task.path:match "(%w+)%.lua$"] = task.params
  end
  local report = host.state.written["o.json"]
  for _, c in ipairs(report and json.decode(report).checks or {}) do
    shown[c.name] = c.params
  end
  return code, host.state.written.stderr or "", got, shown, host.state
end

describe("the last one that sets a parameter wins:", function()
  local SUITE <const> = { suite = "s", options = { set = { "nodes=3", "floor=3" } },
    checks = { "./a.lua", { path = "./b.lua", set = { nodes = 4 } } } }
  local LEVELS <const> = {
    { "default", {}, 1, 1 },
    { "recipe", { recipe = "r.yaml" }, 1, 2 },
    { "suite", {}, 3, 3, 4 },
    { "values", { values = { "v.yaml" } }, 5, 5 },
    { "environment", {}, 6, 6 },
    { "command line", { set = { "nodes=7", "floor=7" } }, 7, 7 },
  }
  for n, level in ipairs(LEVELS) do
    it(level[1], function()
      local fields = { options = {}, disk = { ["v.yaml"] = "all: {nodes: 5, floor: 5}\n" } }
      for i = 1, n do
        for key, value in pairs(LEVELS[i][2]) do
          fields.options[key] = value
        end
        if LEVELS[i][1] == "suite" then
          fields.operands, fields.disk["s.lua"] = { "s.lua" }, SUITE
        elseif LEVELS[i][1] == "environment" then
          fields.environment = { set = { "nodes=6", "floor=6" } }
        end
      end
      local code, err, got, shown = run(fields)
      assert.equal("", err)
      assert.equal(0, code)
      assert.same({ level[3], level[4], level[5] or level[3] }, { got.a.nodes, got.a.floor, got.b.nodes })
      assert.equal(level[1], shown.a.floor.from)
      assert.equal(level[1] == "recipe" and "default" or level[1], shown.a.nodes.from)
    end)
  end
end)

describe("--set-file", function()
  it("gives the content of a file but for a closing line end", function()
    for _, row in ipairs { { "x\n", "x" }, { "x\r\n", "x" }, { "x\n\n", "x\n" }, { "x", "x" }, { "", "" },
      { " a\nb ", " a\nb " } } do
      local _, err, got, shown = run { disk = { f = row[1] }, options = { set_file = { "a.token=f" } } }
      assert.equal("", err)
      assert.equal(row[2], got.a.token)
      assert.is_nil(got.b.token)
      assert.same({ value = "***", from = "command line" }, shown.a.token)
    end
  end)

  it("is typed, and reaches all checks without a check's name", function()
    local _, err, got = run { disk = { f = "12\n" }, options = { set_file = { "nodes=f" } } }
    assert.equal("", err)
    assert.same({ 12, 12 }, { got.a.nodes, got.b.nodes })
  end)

  for _, row in ipairs {
    { { "a.token=none" }, "--set-file a.token: none: No such file or directory" },
    { { "a.token=bad" }, "--set-file a.token: bad: it is not valid UTF-8" },
    { { "a.token=big" }, "--set-file a.token: big: it is larger than 1 MiB" },
    { { "a.tokn=f" }, '--set-file a.tokn: a has no parameter "tokn"; did you mean "token"?' },
    { { "c.token=f" }, '--set-file c.token: no check named "c" in this run' },
    { { "a.pin=f" }, '--set-file a.pin: pin of a: expected an integer (integer), found "***"' },
    { { "token" }, '--set-file "token": expected [CHECK.]KEY=FILE' },
    { { "token=" }, "--set-file token: expected [CHECK.]KEY=FILE" },
  } do
    it("refuses " .. row[1][1], function()
      local code, err = run { options = { set_file = row[1] },
        disk = { f = "hunter2", bad = "hunter2\255", big = ("x"):rep(1024 * 1024 + 1) } }
      assert.equal(2, code)
      assert.truthy(err:find(row[2], 1, true), err)
      assert.is_nil(err:find("hunter2", 1, true))
    end)
  end

  it("and --set for one parameter are a contradiction", function()
    local code, err = run { disk = { f = "1" }, options = { set = { "nodes=2" }, set_file = { "a.nodes=f" } } }
    assert.equal(2, code)
    assert.truthy(err:find("--set-file a.nodes: nodes of a is also given with --set", 1, true), err)
  end)

  it("goes over the environment's", function()
    local _, _, got = run { disk = { f = "1", g = "2" }, options = { set_file = { "nodes=f" } },
      environment = { set_file = { "nodes=g" }, set = { "b.words=x" } } }
    assert.equal(1, got.a.nodes)
    assert.same({ "x" }, { table.unpack(got.b.words) })
  end)
end)

describe("--values", function()
  it("takes YAML and JSON, for a check before all, the last file wins", function()
    local _, err, got, shown = run { options = { values = { "v.yaml", "w.json" } }, disk = {
      ["v.yaml"] = "a:\n  nodes: 3\n  words: [x, 7]\n  timeout: 90s\nall:\n  nodes: 2\n",
      ["w.json"] = '{"b": {"floor": 0.5}}',
    } }
    assert.equal("", err)
    assert.same({ 3, 2, 0.5 }, { got.a.nodes, got.b.nodes, got.b.floor })
    assert.same({ "x", "7" }, { table.unpack(got.a.words) })
    assert.equal("values", shown.a.nodes.from)
  end)

  it("may speak of checks that are not in the run, and may be empty", function()
    local embedded = { ["checks/deployment/c.lua"] = check("c", { zone = { type = "string" } }) }
    local code, err = run { embedded = embedded, options = { values = { "v.yaml", "e.yaml" } }, disk = {
      ["v.yaml"] = "c: {zone: z}\nall: {zone: z}\n", ["e.yaml"] = "" } }
    assert.same({ 0, "" }, { code, err })
  end)

  for _, row in ipairs {
    { "a: {nodez: 1}", 'v.yaml: a.nodez: a has no parameter "nodez"; did you mean "nodes"?' },
    { "alll: {nodes: 1}", 'v.yaml: no check named "alll"; did you mean "all"?' },
    { "all: {nodez: 1}", 'v.yaml: all.nodez: no selected check has a parameter "nodez"; did you mean "nodes"?' },
    { "all: {timeout: 5m}", "v.yaml: all.timeout: a time limit belongs to a check" },
    { "a: {nodes: many}", 'v.yaml: a.nodes: nodes of a: expected an integer (integer), found "many"' },
    { "a: {nodes: null}", 'v.yaml: a.nodes: nodes of a: expected an integer (integer), found "null"' },
    { "a: {words: [[x]]}", 'v.yaml: a.words: words of a: expected a list such as a,b,c (list), found "[["x"]]"' },
    { "a: {timeout: 30}", "v.yaml: a.timeout: timeout of a: expected a duration" },
    { "a: {token: hunter2}", "v.yaml: a.token: token of a is secret and is not taken from a file of values" },
    { "a: [nodes]", "v.yaml: a: expected {KEY: VALUE}" },
    { "[a]", "v.yaml: expected CHECK: {KEY: VALUE}, or all: {KEY: VALUE}" },
    { "text", "v.yaml: expected CHECK: {KEY: VALUE}, or all: {KEY: VALUE}" },
    { "a: {", "v.yaml" },
    { nil, "--values v.yaml: No such file or directory" },
  } do
    it("is refused: " .. (row[1] or "no such file"), function()
      local code, err = run { options = { values = { "v.yaml" } }, disk = { ["v.yaml"] = row[1] } }
      assert.equal(2, code)
      assert.truthy(err:find(row[2], 1, true), err)
      assert.is_nil(err:find("hunter2", 1, true))
    end)
  end
end)

describe("a secret", function()
  local FIX <const> = "--set-file a.token=FILE"
  for _, row in ipairs {
    { "the command line", { options = { set = { "a.token=hunter2" } } } },
    { "the command line", { options = { set = { "token=hunter2" } } } },
    { "a file of values", { options = { values = { "v.json" } } } },
    { "a suite", { operands = { "s.lua" } }, { suite = "s", options = { set = "token=hunter2" },
      checks = { "./a.lua" } } },
    { "a suite", { operands = { "s.lua" } }, { suite = "s", checks = { { path = "./a.lua",
      set = { token = "hunter2" } } } } },
  } do
    it("is not taken from " .. row[1], function()
      local fields = row[2]
      fields.disk = { ["v.json"] = '{"a":{"token":"hunter2"}}', ["s.lua"] = row[3] }
      local code, err, _, _, state = run(fields)
      assert.equal(2, code)
      assert.truthy(err:find("token of a is secret and is not taken from " .. row[1], 1, true), err)
      assert.truthy(err:find(FIX, 1, true), err)
      assert.is_nil(err:find("hunter2", 1, true))
      assert.equal(0, #state.started)
    end)
  end

  it("that held a comma in AICR_RUN_SET is not repeated", function()
    for _, rest in ipairs { "ter2", "ter2=x", "b.ter2=x", "ter2.nodes=x" } do
      local code, err = run { environment = { set = { "a.token=hun", rest } } }
      assert.equal(2, code)
      assert.truthy(err:find("AICR_RUN_SET item 2: ", 1, true), err)
      assert.is_nil(err:find("ter2", 1, true), err)
    end
  end)

  it("is in no report, no journal and no message, however the check repeats it", function()
    local key = "-----BEGIN-----\nhunter2-line-one\n\nhunter2-line-two\n-----END-----"
    local _, _, got, _, state = run {
      operands = { "a.lua" }, disk = { f = key }, options = { set_file = { "token=f" }, retry = 1,
        verbose = 2 },
      endings = { a = {
        { ending = { how = "script", message = "cannot use " .. key, at = { file = "a.lua", line = 1 },
          trace = { "run (hunter2-line-two:1)" } } },
        { fail = { code = "CONFLICT", reason = "bad", message = "hunter2-line-one is wrong", why = key,
            fix = key, details = { [key] = { key } } },
          record = {
            evidence = { key, "x hunter2-line-two y", ("e"):rep(300) .. key:sub(1, 30) .. "…" },
            expectations = { { what = key, op = "==", expected = key, actual = "x", ok = false } },
            measures = { { name = key, value = 1, unit = key } }, steps = { { name = key, outcome = "pass",
              duration_ms = 3 } },
            log = { { level = "info", text = key } }, extra = { a = key },
            attachments = { { name = key, type = "text", text = key } },
            series = { { name = key, points = { { 1, key } } } },
          } },
      } },
    }
    assert.equal(key, got.a.token)
    local all = { table.concat(state.journal, "\n") }
    for _, text in pairs(state.written) do
      all[#all + 1] = text
    end
    all = table.concat(all, "\n")
    for _, piece in ipairs { "hunter2", "BEGIN", "END" } do
      assert.is_nil(all:find(piece, 1, true), piece)
    end
    assert.truthy(all:find("*** is wrong", 1, true))
    assert.truthy(all:find("attempt 1 of at most 2 ended in error script", 1, true))
  end)

  it("changes no outcome, whatever it is", function()
    for _, value in ipairs { "fail", "expectation", "pass", "a", "CONFLICT", "1", "bad", "***", "" } do
      local code, _, _, _, state = run { operands = { "a.lua" }, disk = { f = value },
        options = { set_file = { "token=f" } },
        endings = { a = { fail = { code = "CONFLICT", reason = "bad", message = "m" }, record = {
          steps = { { name = "s", outcome = "pass", duration_ms = 1 } },
          measures = { { name = "m", value = 1, unit = "s", ok = true, tolerance = 1 } },
          coverage = { verified = 1, total = 1 } } } } }
      assert.equal(1, code)
      local made = json.decode(state.written["o.json"]).checks[1]
      assert.same({ "fail", "CONFLICT" }, { made.outcome, made.code })
      assert.same({ "pass", 1 }, { made.steps[1].outcome, made.steps[1].duration_ms })
    end
  end)

  it("that is a number is masked as text and as a number", function()
    local _, _, got, _, state = run { operands = { "a.lua" }, disk = { f = "4711" },
      options = { set_file = { "pin=f" } },
      endings = { a = { result = "pin 4711", record = { evidence = { "4711" },
        measures = { { name = "m", value = 4711, unit = "s" } } } } } }
    assert.equal(4711, got.a.pin)
    assert.is_nil(state.written["o.json"]:find("4711", 1, true))
    assert.is_nil(state.written["-"]:find("4711", 1, true))
  end)
end)

describe("a suite", function()
  it("sets the parameters of its own checks only", function()
    local _, err, got = run { operands = { "s.lua", "b.lua" }, disk = { ["s.lua"] = { suite = "s",
      options = { set = "nodes=9" }, checks = { "./a.lua" } } } }
    assert.equal("", err)
    assert.same({ 9, 1 }, { got.a.nodes, got.b.nodes })
  end)

  it("runs one check twice under two names with parameters of its own", function()
    local _, err, got, shown, state = run { operands = { "s.lua" }, options = { set = { "small.words=x" } },
      disk = { ["s.lua"] = { suite = "s", checks = { { path = "./a.lua", set = { nodes = 2 } },
        { path = "./a.lua", as = "small", set = { nodes = 3 } } } } } }
    assert.equal("", err)
    assert.same({ 2, 3 }, { state.started[1].params.nodes, state.started[2].params.nodes })
    assert.same({ "x" }, { table.unpack(got.a.words) })
    assert.equal("command line", shown.small.words.from)
    assert.equal("default", shown.a.words.from)
  end)

  it("may name files of values in its folder", function()
    local suite = { suite = "s", options = { values = "v.yaml" }, checks = { "../a.lua" } }
    local _, err, got = run { operands = { "s/s.lua" },
      disk = { ["s/s.lua"] = suite, ["s/v.yaml"] = "a: {nodes: 8}" } }
    assert.equal("", err)
    assert.equal(8, got.a.nodes)
  end)

  for _, row in ipairs {
    { { output = "../x.json" }, "options.output: ../x.json lies outside" },
    { { output = "o/../../x.json" }, "options.output: o/../../x.json lies outside" },
    { { output = "junit:/tmp/x.xml" }, "options.output: junit:/tmp/x.xml lies outside" },
    { { output = "link/x.json" }, "options.output: link/x.json lies outside" },
    { { output = "out.json" }, "options.output: out.json lies outside" },
    { { values = "../v.yaml" }, "options.values: ../v.yaml lies outside" },
    { { values = "link/v.yaml" }, "options.values: link/v.yaml lies outside" },
    { { dry_run = true }, 'unknown option "dry_run"' },
  } do
    it("is refused: " .. row[2], function()
      local code, err = run { operands = { "s/s.lua" },
        links = { ["s/link"] = "/etc", ["s/out.json"] = "/root/other/out.json" },
        disk = { ["s/s.lua"] = { suite = "s", options = row[1], checks = { "../a.lua" } },
          ["v.yaml"] = "" } }
      assert.equal(2, code)
      assert.truthy(err:find("s/s.lua: " .. row[2], 1, true), err)
    end)
  end

  it("may write where a link stays in its folder", function()
    local code, err = run { operands = { "s/s.lua" }, links = { ["s/link"] = "/root/s/real" },
      disk = { ["s/s.lua"] = { suite = "s", options = { output = "link/x.json" }, checks = { "../a.lua" } } } }
    assert.same({ 0, "" }, { code, err })
  end)
end)
