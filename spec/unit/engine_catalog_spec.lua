-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local catalogs = require "aicr.engine.catalog"
local fake_host = require "spec.support.fake_host"
local message = require "aicr.engine.message"
local paths = require "aicr.engine.path"

local function check(name, phase)
  return { name = name, phase = phase or "deployment", summary = "it holds" }
end

local EMBEDDED <const> = {
  ["checks/deployment/a.lua"] = check "alpha",
  ["checks/performance/b.lua"] = check("beta-bandwidth", "performance"),
  ["checks/deployment/_helper.lua"] = "return {}",
  ["checks/suite.lua"] = { suite = "all", checks = { "deployment/a.lua", "performance/b.lua" } },
  ["checks/gke_x.lua"] = { suite = "x", checks = { "deployment/a.lua" } },
  ["lua/aicr/x.lua"] = "return {}",
}

local function resolve(operands, disk, path, links)
  local problems = message.problems()
  local host = fake_host.new { embedded = EMBEDDED, disk = disk, links = links }
  local catalog = catalogs.new(host, path, problems)
  local items, suites = catalog:operands(operands)
  local out = {}
  for i, item in ipairs(items) do
    out[i] = ("%s=%s (%s)"):format(item.name, item.path, item.origin)
  end
  return table.concat(out, "\n"), problems:any() and problems:text() or "", items, suites
end

local function problem(operands, disk, path, links)
  local _, text = resolve(operands, disk, path, links)
  return (text:gsub("aicr%-run: no check was run\n$", ""))
end

describe("an operand", function()
  it("without / and .lua is a built-in check", function()
    assert.equal("alpha=checks/deployment/a.lua (built-in)", (resolve { "alpha" }))
  end)

  it("is then a check of AICR_RUN_PATH", function()
    local disk = { ["site/c.lua"] = check "gamma" }
    assert.equal("gamma=site/c.lua (file)", (resolve({ "gamma" }, disk, { "site" })))
  end)

  it("that nobody has is refused with the nearest name", function()
    assert.equal('aicr-run: no check named "beta-bandwith"; did you mean "beta-bandwidth"?\n'
      .. "  fix  see which there are: aicr-run --list\n",
      problem { "beta-bandwith" })
  end)

  it("that is nearly a command is told which", function()
    assert.truthy(problem({ "doctr" }):find('no check named "doctr"; did you mean "doctor"?', 1, true))
  end)

  for _, word in ipairs { "gke_x", "gke-x", "gke_x.lua" } do
    it(("that names a built-in suite as %s is told where it is"):format(word), function()
      assert.matches("suite: aicr%-run checks/gke_x%.lua\n$", problem { word })
    end)
  end

  it("that is also a folder says how to write it", function()
    local text = problem({ "site" }, { ["site/c.lua"] = check "gamma" })
    assert.truthy(text:find("why  a folder of that name is here", 1, true))
    assert.truthy(text:find("fix  aicr-run site/", 1, true))
  end)

  it("with a path is the file on disk, else the embedded one", function()
    local disk = { ["checks/deployment/a.lua"] = check "mine" }
    assert.equal("mine=checks/deployment/a.lua (file)",
      (resolve({ "checks/deployment/a.lua" }, disk)))
    assert.equal("alpha=checks/deployment/a.lua (built-in)",
      (resolve { "checks/deployment/a.lua" }))
    assert.equal("alpha=checks/deployment/a.lua (built-in)",
      (resolve { "./checks/deployment/a.lua" }))
  end)

  it("that is on disk and cannot be read is not replaced by the embedded one", function()
    assert.equal("aicr-run: checks/deployment/a.lua: Permission denied\n",
      problem({ "checks/deployment/a.lua" }, { ["checks/deployment/a.lua"] = false }))
  end)

  it("that is a folder is not left by links in it, and not entered for ever", function()
    local disk = { ["site/a.lua"] = check "gamma", ["site/up/a.lua"] = check "delta" }
    assert.equal("aicr-run: site/up: a link to a folder is not followed\n"
      .. "  fix  name the folder behind it as an operand of its own, and take the link away\n",
      problem({ "site/" }, disk, nil, { ["site/up"] = "/root" }))
    local deep = "site/" .. ("x/"):rep(33) .. "a.lua"
    assert.equal("aicr-run: site" .. ("/x"):rep(33) .. ": over 32 folders in one another\n",
      problem({ "site/" }, { ["site/a.lua"] = check "gamma", [deep] = check "delta" }))
  end)

  it("that is nowhere is refused", function()
    assert.truthy(problem({ "nowhere/x.lua" }):find("no such file or folder: nowhere/x.lua", 1,
      true))
  end)

  it("that is a folder is every check below it, in byte order, no suite, nothing hidden", function()
    local disk = {
      ["s/b.lua"] = check "b", ["s/B.lua"] = check "upper", ["s/a/z.lua"] = check "z",
      ["s/_x.lua"] = check "x",
      ["s/.y.lua"] = check "y", ["s/_d/q.lua"] = check "q", ["s/note.txt"] = "text",
      ["s/suite.lua"] = { checks = { "b.lua" } },
    }
    local expected = "upper=s/B.lua (file)\nz=s/a/z.lua (file)\nb=s/b.lua (file)"
    assert.equal(expected, (resolve({ "s/" }, disk)))
    assert.equal("", problem({ "s/" }, disk))
  end)

  it("may be an embedded folder", function()
    assert.equal("alpha=checks/deployment/a.lua (built-in)\nbeta-bandwidth=checks/performance/b.lua (built-in)",
      (resolve { "checks/" }))
  end)

  it("that does not load is a problem with file and line, once", function()
    local disk = { ["x.lua"] = { load_error = 'unknown field "pahse"', line = 3 } }
    assert.equal('aicr-run: x.lua:3: unknown field "pahse"\n', problem({ "x.lua", "x.lua" }, disk))
  end)

  it("gives the roots for require: its folder, then the suite's", function()
    local disk = { ["s/suite.lua"] = { suite = "s", checks = { "d/x.lua", "y.lua" } },
      ["s/d/x.lua"] = check "x",
      ["s/y.lua"] = check "y" }
    local _, _, items = resolve({ "s/suite.lua", "alpha" }, disk)
    assert.same({ "s/d", "s" }, items[1].roots)
    assert.same({ "s" }, items[2].roots)
    assert.same({}, items[3].roots)
  end)

  it("shows all offenders at once", function()
    local _, text = resolve { "nope", "no/where.lua", "nada" }
    assert.equal(4, select(2, text:gsub("aicr%-run: ", "")))
  end)
end)

describe("a duplicate name", function()
  it("on AICR_RUN_PATH is a problem", function()
    assert.equal('aicr-run: two checks are named "alpha": checks/deployment/a.lua and site/c.lua\n'
      .. "  fix  change `name` in one of the files, or name only one of them on the command line; in a suite: "
      .. '{ "PATH", as = "NAME" }\n',
      problem({ "gamma-none", "alpha" }, { ["site/c.lua"] = check "alpha" },
        { "site" }):match("[^\n]*two checks[^\n]*\n[^\n]*\n"))
  end)

  it("of folders that do not exist is reported", function()
    assert.truthy(problem({ "zzz" }, {},
      { "missing" }):find("AICR_RUN_PATH: missing: no such folder", 1, true))
  end)
end)

describe("a suite", function()
  local function suite(entries, more)
    local disk = { ["s/suite.lua"] = { suite = "s", checks = entries }, ["s/x.lua"] = check "x",
      ["s/d/y.lua"] = check "y" }
    for k, v in pairs(more or {}) do
      disk[k] = v
    end
    return disk
  end

  it("lists paths relative to its file, names and folders", function()
    assert.equal("x=s/x.lua (file)\nalpha=checks/deployment/a.lua (built-in)\ny=s/d/y.lua (file)",
      (resolve({ "s/suite.lua" }, suite { "x.lua", "alpha", "d/" })))
  end)

  it("takes the embedded file of the same path where there is none on disk", function()
    local disk = { ["checks/suite.lua"] = { suite = "s", checks = { "deployment/a.lua" } } }
    assert.equal("alpha=checks/deployment/a.lua (built-in)",
      (resolve({ "checks/suite.lua" }, disk)))
    local away = { ["site/s.lua"] = { suite = "s", checks = { "../checks/deployment/a.lua" } } }
    assert.equal("alpha=checks/deployment/a.lua (built-in)", (resolve({ "site/s.lua" }, away)))
  end)

  it("that is embedded lists embedded checks, and files of the same path win", function()
    assert.equal("alpha=checks/deployment/a.lua (built-in)\nbeta-bandwidth=checks/performance/b.lua (built-in)",
      (resolve { "checks/suite.lua" }))
    local disk = { ["checks/deployment/a.lua"] = check "mine" }
    assert.equal("mine=checks/deployment/a.lua (file)\nbeta-bandwidth=checks/performance/b.lua (built-in)",
      (resolve({ "checks/suite.lua" }, disk)))
  end)

  it("names and sets", function()
    local _, _, items = resolve({ "s/suite.lua" },
      suite { "x.lua", { path = "x.lua", as = "x-small", set = { n = 1 } },
        { path = "d/", set = { n = 2 } } })
    assert.same({ "x", "x-small", "y" }, { items[1].name, items[2].name, items[3].name })
    assert.same({ n = 1 }, items[2].set)
    assert.same({ n = 2 }, items[3].set)
  end)

  for _, row in ipairs {
    { { "other.lua" }, "s/other.lua is a suite; a suite lists checks" },
    { { { path = "./", as = "z" } }, '"as" names one check, and ./ is a folder' },
    { { { path = "x.lua", set = "n=1" } }, "set of x.lua: expected a table KEY = VALUE" },
    { { "missing.lua" }, "s/suite.lua: no such file or folder: s/missing.lua" },
    { { "alphq" }, 's/suite.lua: no check named "alphq"; did you mean "alpha"?' },
  } do
    it("is refused: " .. row[2], function()
      local text = problem({ "s/suite.lua" },
        suite(row[1], { ["s/other.lua"] = { checks = { "x.lua" } } }))
      assert.truthy(text:find(row[2]:gsub("^s/other.lua", "other.lua"), 1, true), text)
    end)
  end
end)

describe("a path", function()
  for _, row in ipairs {
    { "a/./b//c", "a/b/c" }, { "a/../b", "b" }, { "../a", "../a" }, { "a/../../b", "../b" },
    { "./", "." }, { "/a/../b", "/b" },
  } do
    it(row[1] .. " is " .. row[2], function()
      assert.equal(row[2], paths.normalize(row[1]))
    end)
  end

  for _, row in ipairs { { "a/b", true }, { "a/../b", true }, { "../a", false }, { "/a", false },
    { "a/../../b", false }, { "..", false } } do
    it(("%s is %s"):format(row[1], row[2] and "inside" or "outside"), function()
      assert.equal(row[2], paths.inside(row[1]))
    end)
  end
end)
