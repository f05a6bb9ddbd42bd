-- SPDX-License-Identifier: Apache-2.0
-- A recording that --record wrote on a real API server (spec/cluster/gke_spec.lua has its objects), as a folder and as
-- archives.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local site = require "spec.support.site"

local RECORDED <const> = "spec/fixtures/recordings/lyra-recorded"
local SUITE <const> = { "--recipe", "recipes/lyra.yaml", "-p", "deployment", "checks/gke_tcpxo.lua" }

local function run(recording, how)
  return binary.run({ "--recording", recording, table.unpack(SUITE) }, how)
end

local function verdicts(recording)
  local out = {}
  for _, check in ipairs(binary.report({ "--recording", recording, table.unpack(SUITE) }).checks) do
    out[#out + 1] = ("%s %s %s"):format(check.name, check.outcome, check.result)
  end
  return out
end

local function shell(...)
  local command = string.format(...)
  assert(os.execute(("env -u LD_PRELOAD sh -c %s"):format(files.quote(command))), command)
end

-- The recording as an archive in a folder of its own.
local function with_archive(name, options, f)
  site.with({}, function(folder)
    shell("tar -C spec/fixtures/recordings %s %s/%s lyra-recorded", options, folder, name)
    f(folder .. "/" .. name, folder)
  end)
end

describe("the suite on a recording that was written", function()
  it("gives the verdicts of the one that was made by hand", function()
    assert.same(verdicts "spec/fixtures/recordings/lyra-ok", verdicts(RECORDED))
    assert.equal(0, run(RECORDED).code)
  end)

  for name, options in pairs { ["rec.tar"] = "-cf", ["rec.tar.gz"] = "-czf", ["rec.tgz"] = "-czf", rec = "-czf" } do
    it("gives them from " .. name, function()
      with_archive(name, options, function(path)
        assert.same(verdicts(RECORDED), verdicts(path))
      end)
    end)
  end

  it("leaves nothing of an archive in TMPDIR", function()
    with_archive("rec.tgz", "-czf", function(path, folder)
      shell("mkdir %s/tmp", folder)
      assert.equal(0, run(path, { env = { TMPDIR = folder .. "/tmp" } }).code)
      shell("rmdir %s/tmp", folder)
    end)
  end)

  it("refuses an archive that is cut", function()
    with_archive("rec.tar", "-cf", function(path, folder)
      for _, size in ipairs { 700, 10240, 20480 } do
        shell("head -c %d %s > %s/cut.tar", size, path, folder)
        local result = run(folder .. "/cut.tar")
        assert.equal(2, result.code)
        assert.truthy(result.stderr:find("cut.tar", 1, true), result.stderr)
        assert.equal("", result.stdout)
      end
    end)
  end)

  it("refuses an archive with a link", function()
    with_archive("rec.tar", "-cf", function(path, folder)
      shell("ln -s /etc/passwd %s/link && tar -C %s -rf %s link", folder, folder, path)
      local result = run(path)
      assert.equal(2, result.code)
      assert.truthy(result.stderr:find('"link": a link; links in a recording are not followed', 1, true), result.stderr)
    end)
  end)

  it("refuses a recording without its index", function()
    site.with({}, function(folder)
      shell("cp -r %s %s/rec && rm %s/rec/index.jsonl", RECORDED, folder, folder)
      local result = run(folder .. "/rec")
      assert.equal(2, result.code)
      assert.truthy(result.stderr:find('"index.jsonl": the file is missing', 1, true), result.stderr)
    end)
  end)
end)

describe("a node list that was taken with a selector", function()
  local LABEL <const> = "cloud.google.com/gke-accelerator=nvidia-h100-mega-80gb"
  local CHECKS <const> = {
    ["some.lua"] = site.check("some", ('return #ctx.k8s:list("nodes", { label = %q }) .. " nodes"'):format(LABEL),
      'needs = { "list nodes" },'),
    ["all.lua"] = site.check("all", 'return #ctx.k8s:list("nodes") .. " nodes"', 'needs = { "list nodes" },'),
    ["other.lua"] = site.check("other", 'return #ctx.k8s:list("nodes", { label = "a=b" }) .. " nodes"',
      'needs = { "list nodes" },'),
    ["one.lua"] = site.check("one", 'return ctx.k8s:get("nodes", "none").metadata.name', 'needs = { "get nodes" },'),
  }

  it("does not answer one without", function()
    site.with(CHECKS, function(folder)
      shell("cp -r %s %s/rec && grep label %s/index.jsonl > %s/rec/index.jsonl", RECORDED, folder, RECORDED, folder)
      local report = binary.report { "--recording", folder .. "/rec", folder .. "/" }
      assert.equal(3, report.exit)
      local some = binary.check(report, "some")
      assert.same({ "pass", "2 nodes" }, { some.outcome, some.result })
      for _, name in ipairs { "all", "other", "one" } do
        local check = binary.check(report, name)
        assert.same({ "error", "INTERNAL", "not-recorded" }, { check.outcome, check.code, check.reason })
      end
    end)
  end)
end)

describe("what is to be made on a recording", function()
  it("is refused, and is not said to be left where another one was refused first", function()
    site.with({ ["c.lua"] = site.check("two", [[
      local function make(name)
        return function()
          ctx.k8s:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name } }
        end
      end
      ctx:all { make "a", make "b" }]], 'needs = { "create configmaps" },') }, function(folder)
      local check = binary.check(binary.report { "--recording", RECORDED, "-n", "n", folder .. "/c.lua" }, "two")
      assert.same({ "error", "read-only" }, { check.outcome, check.reason }, check.message)
      assert.same({}, check.notes or {})
    end)
  end)
end)

describe("--record", function()
  it("of a recording is refused, and makes no folder", function()
    site.with({}, function(folder)
      local result = binary.run { "--recording", RECORDED, "--record", folder .. "/new", table.unpack(SUITE) }
      assert.equal(2, result.code)
      assert.truthy(result.stderr:find("--record needs a live cluster", 1, true), result.stderr)
      assert.is_false(files.exists(folder .. "/new"))
    end)
  end)

  it("makes no folder where there is no cluster", function()
    site.with({}, function(folder)
      local result = binary.run { "--kubeconfig", folder .. "/none", "--record", folder .. "/new", table.unpack(SUITE) }
      assert.equal(2, result.code)
      assert.is_false(files.exists(folder .. "/new"))
    end)
  end)
end)
