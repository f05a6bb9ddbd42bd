-- SPDX-License-Identifier: Apache-2.0
-- Reports as files and on stdout: valid, equal for equal runs, whole or not there.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"
local schema = require "spec.support.json_schema"
local lxp = require "lxp"

local function arguments(recording, more)
  local words = {
    "--recording", "spec/fixtures/recordings/" .. recording, "--recipe", "recipes/lyra.yaml",
    "checks/gke_tcpxo.lua", "-p", "deployment",
  }
  return table.move(more or {}, 1, #(more or {}), #words + 1, words)
end

local function parse_xml(text)
  local root = { name = "document" }
  local stack = { root }
  local parser = lxp.new {
    StartElement = function(_, name, attributes)
      local node = { name = name, attributes = attributes, text = "" }
      table.insert(stack[#stack], node)
      stack[#stack + 1] = node
    end,
    EndElement = function()
      stack[#stack] = nil
    end,
    CharacterData = function(_, data)
      stack[#stack].text = (stack[#stack].text or "") .. data
    end,
  }
  assert(parser:parse(text))
  assert(parser:parse())
  parser:close()
  return root[1]
end

describe("-f json", function()
  local SCHEMA = schema.load "spec/schema/report.schema.json"

  for _, recording in ipairs { "lyra-ok", "lyra-swapped" } do
    it("agrees with the schema: " .. recording, function()
      local result = binary.run(arguments(recording, { "-f", "json" }))
      assert.equal("", result.stderr)
      assert(schema.validate(json.decode(result.stdout), SCHEMA))
    end)
  end

  it("is the same for the same seed but for times and ids", function()
    local function run()
      local text = binary.run(arguments("lyra-swapped", { "-f", "json", "--seed", "7" })).stdout
      text = text:gsub('"%d%d%d%d%-%d%d%-%d%dT[%d:.]+Z"', '"TIME"')
      return (text:gsub('("duration_ms"%s*:%s*)%d+', "%10"):gsub('("id"%s*:%s*)"[%w-]+"', '%1"ID"'))
    end
    assert.equal(run(), run())
  end)

  it("does not depend on the locale", function()
    local function run(locale)
      return (binary.run(arguments("lyra-ok", { "-f", "json", "--seed", "7" }),
        { env = { LC_ALL = locale, LC_NUMERIC = "de_DE.UTF-8" } }).stdout
        :gsub('"[^"\n]*%d%d:%d%d:%d%d[^"\n]*"', "TIME"):gsub('("duration_ms"%s*:%s*)%d+', "%10")
        :gsub('("id"%s*:%s*)"[%w-]+"', '%1"ID"'))
    end
    assert.equal(run "C.UTF-8", run "C")
  end)
end)

describe("-f junit", function()
  it("is read back by an XML parser", function()
    local result = binary.run(arguments("lyra-swapped", { "-f", "junit" }))
    assert.equal(1, result.code)
    local suites = parse_xml(result.stdout)
    assert.equal("testsuites", suites.name)
    assert.equal("2", suites.attributes.tests)
    assert.equal("1", suites.attributes.failures)
    local seen = {}
    for _, suite in ipairs(suites) do
      for _, case in ipairs(suite) do
        if case.name == "testcase" then
          local first = case[1] and case[1].name
          seen[case.attributes.name] = first == "system-out" and "passed" or first
        end
      end
    end
    assert.same({ ["gke-gpu-nic-networks"] = "failure", ["gke-gpu-nic-topology"] = "passed" }, seen)
  end)
end)

describe("-o", function()
  it("writes each format beside what stdout gets", function()
    files.with_folder(function(folder)
      local result = binary.run(arguments("lyra-ok", {
        "-o", folder .. "/a.json", "-o", folder .. "/b.xml", "-o", "human:" .. folder .. "/c",
        "-o", "json:" .. folder .. "/d.txt",
      }))
      assert.equal(0, result.code, result.stderr)
      assert.match("^aicr%-run ", result.stdout)
      assert.equal(2, json.decode(files.read(folder .. "/a.json")).totals.pass)
      assert.equal("testsuites", parse_xml(files.read(folder .. "/b.xml")).name)
      assert.match("2 checks: 2 passed", files.read(folder .. "/c"))
      assert.equal(2, json.decode(files.read(folder .. "/d.txt")).totals.pass)
    end)
  end)

  it("takes a list from the environment", function()
    files.with_folder(function(folder)
      local env = { AICR_RUN_OUTPUT = ("%s/a.json:human:%s/b"):format(folder, folder) }
      assert.equal(0, binary.run(arguments "lyra-ok", { env = env }).code)
      assert.is_true(files.exists(folder .. "/a.json"))
      assert.match("2 checks: 2 passed", files.read(folder .. "/b"))
    end)
  end)

  it("replaces a file and leaves nothing beside it", function()
    files.with_folder(function(folder)
      files.write(folder .. "/a.json", "old")
      binary.run(arguments("lyra-ok", { "-o", folder .. "/a.json" }))
      assert.equal(2, json.decode(files.read(folder .. "/a.json")).totals.pass)
      local pipe = assert(io.popen("ls -A " .. folder))
      local listing = pipe:read "a"
      pipe:close()
      assert.equal("a.json\n", listing)
    end)
  end)

  it("writes to what is no regular file", function()
    assert.equal(0, binary.run(arguments("lyra-ok", { "-o", "json:/dev/null" })).code)
    local result = binary.run(arguments("lyra-ok", { "-o", "json:/dev/full" }))
    assert.equal(3, result.code)
    assert.match("/dev/full: No space left on device", result.stderr)
  end)

  it("shows on stderr what could not be written, unless a file has it", function()
    local result = binary.run(arguments("lyra-ok", { "-o", "json:/dev/full" }))
    local told = result.stderr:match "the json report that could not be written follows\n(.*)$"
    local run = json.decode(told)
    assert.equal(2, run.totals.pass)
    assert.equal(3, run.run.exit_code)
    files.with_folder(function(folder)
      local kept = folder .. "/a.json"
      result = binary.run(arguments("lyra-ok", { "-o", "json:/dev/full", "-o", kept }))
      assert.equal(3, result.code)
      assert.truthy(result.stderr:find("that report is whole in " .. kept, 1, true), result.stderr)
      assert.falsy(result.stderr:find("totals", 1, true), result.stderr)
    end)
    result = binary.run(arguments "lyra-ok", { stdout = ">/dev/full" })
    assert.match("the human report that could not be written follows\naicr%-run .*2 checks: 2 passed", result.stderr)
  end)

  it("says before the first check what could not be written at the end", function()
    files.with_folder(function(folder)
      files.write(folder .. "/old.json", "old")
      os.execute(("ln -s nowhere %s/lost; mkdir %s/sub"):format(folder, folder))
      for _, row in ipairs {
        { folder .. "/no ne/a.json", "No such file or directory", "mkdir -p '" .. folder .. "/no ne'" },
        { "json:" .. folder .. "/sub", "Is a directory", "name a file in a folder" },
        { "json:" .. folder .. "/old.json/a", "Not a directory", "name a file in a folder" },
        { "json:" .. folder .. "/lost", "No such file or directory", "name a file in a folder" },
      } do
        local result = binary.run(arguments("lyra-ok", { "-o", folder .. "/old.json", "-o", row[1] }))
        assert.equal(3, result.code, result.stderr)
        local at = result.stderr:find("as it is now the report cannot be written: " .. row[2], 1, true)
        assert.truthy(at, result.stderr)
        assert.truthy(result.stderr:find("  fix  " .. row[3], at, true), result.stderr)
        assert.truthy(result.stderr:find("that report is whole in", at, true), result.stderr)
        assert.equal(2, json.decode(files.read(folder .. "/old.json")).totals.pass)
      end
    end)
  end)

  it("refuses two reports in one file", function()
    files.with_folder(function(folder)
      local outputs = { "-o", "json:" .. folder .. "/a", "-o", "junit:" .. folder .. "/a" }
      local result = binary.run(arguments("lyra-ok", outputs))
      assert.equal(2, result.code)
      assert.match("a report of format json is to be written there too", result.stderr)
    end)
  end)

  it("gives no report to a usage error", function()
    files.with_folder(function(folder)
      assert.equal(2, binary.run(arguments("lyra-ok", { "-o", folder .. "/a.json", "--frmat" })).code)
      assert.equal(2, binary.run(arguments("lyra-ok", { "-o", folder .. "/a.json", "no-check" })).code)
      assert.is_false(files.exists(folder .. "/a.json"))
    end)
  end)
end)
