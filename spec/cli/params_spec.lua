-- SPDX-License-Identifier: Apache-2.0
-- Parameters on the real program: files, environment, secrets, suites and links.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local site = require "spec.support.site"

local RECORDING <const> = "spec/fixtures/recordings/lyra-ok"
local SECRET <const> = "s3cret-line-one\ns3cret-line-two"

-- Repeats its secret in every way that a check has.
local TELL <const> = site.check("tell", [[local t = ctx.params.token
    print(t)
    ctx:progress(t)
    ctx:evidence(t)
    ctx:evidence("%s", ("x"):rep(4090) .. t)
    ctx:extra { token = t }
    ctx:attach("token", "text/plain", t)
    ctx:measure(t, 1, t)
    ctx:series("s", t, t, { { 1, 2 } })
    ctx:step(t, function() end)
    ctx:try(function() ctx.k8s:get("nodes", t) end)
    ctx:defer(function() error(t) end)
    ctx:sleep("30ms")
    if ctx.args[1] == "script" then error("refused: " .. t) end
    ctx:expect(t, t, "==", "x", { message = t, why = t, fix = t })
    ctx:fail { reason = "told", message = t, why = t, fix = t, details = { [t] = { t } } }]],
  'params = { token = { type = "string", secret = true }, n = { type = "integer", default = 1 } },'
    .. ' needs = { "get nodes" },')

local function everything(folder, result)
  local parts = { result.stdout, result.stderr }
  for _, name in ipairs { "r.json", "r.xml", "r.txt" } do
    parts[#parts + 1] = files.read(folder .. "/" .. name)
  end
  return table.concat(parts, "\n")
end

describe("a secret", function()
  local function run(args, how)
    return site.with({ ["tell.lua"] = TELL, token = SECRET .. "\n" }, function(folder)
      local words = { "--recording", RECORDING, folder .. "/tell.lua", "-vv", "-o", folder .. "/r.json",
        "-o", folder .. "/r.xml", "-o", "human:" .. folder .. "/r.txt" }
      for _, arg in ipairs(args) do
        words[#words + 1] = (arg:gsub("@", folder .. "/token"))
      end
      local result = binary.run(words, how)
      return result, result.code ~= 2 and everything(folder, result) or result.stderr
    end)
  end

  local HEARTBEAT <const> = { AICR_RUN_HEARTBEAT = "1ms" }
  for _, row in ipairs {
    { "a file", { "--set-file", "tell.token=@" } },
    { "a file and a Lua error", { "--set-file", "token=@", "--", "script" }, 3 },
    { "retries", { "--set-file", "token=@", "--retry=2", "--", "script" }, 3 },
    { "AICR_RUN_SET", {}, 1, { AICR_RUN_SET = "tell.token=" .. SECRET, AICR_RUN_HEARTBEAT = "1ms" } },
  } do
    it("from " .. row[1] .. " is in nothing that is written", function()
      local result, all = run(row[2], { env = row[4] or HEARTBEAT })
      assert.equal(row[3] or 1, result.code, result.stderr)
      assert.is_nil(all:find("s3cret", 1, true), all)
      assert.truthy(all:find("***", 1, true))
      if row[3] ~= 3 then
        assert.match("tell: running", result.stderr)
      end
    end)
  end

  it("is refused on the command line, with a hint and without repeating it", function()
    local result, all = run { "--set", "tell.token=s3cret" }
    assert.equal(2, result.code)
    assert.is_nil(all:find("s3cret", 1, true))
    assert.match("fix  put it into a file, %-%-set%-file tell.token=FILE", all)
  end)

  it("that is not UTF-8 is not repeated either", function()
    local result, all = run({}, { env = { AICR_RUN_SET = "tell.token=s3cret\255" } })
    assert.equal(2, result.code)
    assert.equal("aicr-run: AICR_RUN_SET is not valid UTF-8\n", all)
    result, all = run { "--set=tell.token=s3cret\255" }
    assert.equal(2, result.code)
    assert.equal("aicr-run: --set is not valid UTF-8\n", all)
  end)
end)

describe("parameters", function()
  local SHOW <const> = site.check("show", 'return ("%s %s"):format(ctx.params.n, ctx.params.s)',
    'params = { n = { type = "integer", default = 1 }, s = { type = "string", default = "-" } },')

  local function show(contents, args, env)
    contents["show.lua"] = SHOW
    return site.with(contents, function(folder)
      local words = { folder .. "/show.lua" }
      for i, arg in ipairs(args) do
        words[i + 1] = (arg:gsub("@", folder .. "/"))
      end
      local variables = {}
      for name, value in pairs(env or {}) do
        variables[name] = value:gsub("@", folder .. "/")
      end
      local result = site.run(words, { env = variables })
      return result.checks.show and result.checks.show.result or result.stderr
    end)
  end

  it("come from all places at once", function()
    assert.equal("2 -", show({ v = "show: {n: 2}" }, { "--values=@v" }))
    assert.equal("2 x", show({ v = "show: {n: 2, s: v}" }, { "--values=@v", "--set=s=x" }))
    assert.equal("3 x", show({ v = "all: {n: 2, s: v}" }, { "--set=s=x" },
      { AICR_RUN_VALUES = "@v", AICR_RUN_SET = "n=3,show.s=y" }))
    assert.equal("4 z", show({ f = "4\n", g = "z" }, {}, { AICR_RUN_SET_FILE = "n=@f:show.s=@g" }))
    assert.equal("5 z", show({ f = "5\n", g = "z", h = "6" }, { "--set-file", "n=@f" },
      { AICR_RUN_SET_FILE = "n=@h:s=@g" }))
  end)
end)

describe("a suite that was downloaded", function()
  it("does not write through a link out of its folder", function()
    site.with({ ["s/a.lua"] = site.check("a", 'return "x"'), ["s/s.lua"] =
      'return { suite = "s", options = { output = { "out/x.json" } }, checks = { "./a.lua" } }',
      ["other/keep"] = "" }, function(folder)
      assert(os.execute(("ln -s ../other %s/s/out"):format(folder)))
      local result = binary.run { "--recording", RECORDING, folder .. "/s/s.lua" }
      assert.equal(2, result.code)
      assert.match("options.output: out/x.json lies outside the suite's folder", result.stderr)
      assert.is_false(files.exists(folder .. "/other/x.json"))
      assert(os.execute(("rm %s/s/out && mkdir %s/s/out"):format(folder, folder)))
      assert.equal(0, binary.run({ "--recording", RECORDING, folder .. "/s/s.lua" }).code)
      assert.is_true(files.exists(folder .. "/s/out/x.json"))
    end)
  end)

  for _, row in ipairs {
    { 'kubeconfig = "k"', "a suite must not choose the credentials" },
    { 'set_file = { "a=/etc/passwd" }', "a suite must not read files of the machine it runs on" },
    { 'record = "r"', "a suite must not choose where a recording is written" },
    { 'recording = "r"', "a suite must not choose which cluster is looked at" },
  } do
    it("may not set " .. row[1], function()
      site.with({ ["s.lua"] = ('return { suite = "s", options = { %s }, checks = {} }'):format(row[1]) },
        function(folder)
          local result = binary.run { "--recording", RECORDING, folder .. "/s.lua" }
          assert.equal(2, result.code)
          assert.truthy(result.stderr:find(row[2], 1, true), result.stderr)
        end)
    end)
  end
end)
