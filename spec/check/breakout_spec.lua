-- SPDX-License-Identifier: Apache-2.0
--- Attempts to leave the sandbox, to hang a run, to leave something behind and to get a pass that was not earned,
--- through the real program: many checks in few runs, and an honest neighbour in each whose result must not change.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"

local RECORDING <const> = "spec/fixtures/recordings/lyra-ok"

local HEAD <const> = [[
return { name = "NAME", phase = "deployment", summary = "It is so", NEEDS
  run = function(ctx)
]]
local NEIGHBOUR <const> = [[
return { name = "zz-neighbour", phase = "deployment", summary = "It is so", needs = { "list nodes" },
  run = function(ctx)
    ctx:sleep("20ms")
    ctx:must("nodes", #ctx.k8s:list("nodes"), "==", 3)
    return "three nodes, " .. ctx.k8s:server_version() .. (" %d"):format(2)
  end }
]]

-- A check whose run is `body`, which begins in line 3.
local function source(name, body, needs)
  return (HEAD:gsub("%u%u%u%u%u?", { NAME = name, NEEDS = ("needs = { %s },"):format(needs or '"list nodes"') }))
    .. body .. "\n  end }\n"
end

-- Runs all rows as one directory; the rows' `files` lie beside them.
local function run_rows(folder, rows)
  for i, row in ipairs(rows) do
    row.name = ("row-%02d"):format(i)
    files.write(("%s/%s.lua"):format(folder, row.name), source(row.name, row[2], row.needs))
  end
  files.write(folder .. "/zz-neighbour.lua", NEIGHBOUR)
  return binary.report { "--recording", RECORDING, folder .. "/" }
end

local function expect_row(report, row)
  local got = binary.check(report, row.name)
  local said = tostring(got.message or got.result):sub(1, 400)
  assert.equal(row.outcome or "error", got.outcome, said)
  if row.outcome ~= "pass" then
    assert.equal(row.reason or "script", got.reason, said)
  end
  for _, words in ipairs(row.says or {}) do
    assert.truthy(said:find(words, 1, true), said)
  end
end

local function catalogue(what, rows)
  describe(what, function()
    local folder, report

    setup(function()
      folder = files.folder()
      report = run_rows(folder, rows)
    end)

    teardown(function()
      files.remove(folder)
    end)

    for _, row in ipairs(rows) do
      it(row[1], function()
        expect_row(report, row)
      end)
    end

    it("leaves its neighbour alone, and the run its exit code", function()
      local got = binary.check(report, "zz-neighbour")
      assert.equal("pass", got.outcome, got.message)
      assert.equal("three nodes, v1.32.6-gke.1013000 2", got.result)
      local worst = 0
      for _, row in ipairs(rows) do
        worst = row.outcome == "fail" and 1 or worst == 0 and (row.outcome or "error") == "error" and 3 or worst
      end
      assert.equal(worst, report.exit)
      assert.equal(#rows + 1, #report.checks)
    end)
  end)
end

-- Every method, by its name, on what is not its object.
local K8S <const> = { "get", "find", "list", "each", "server_version", "create", "apply", "patch", "delete", "exec" }
local CTX <const> = { "fail", "skip", "expect", "must", "measure", "series", "evidence", "progress", "attach",
  "coverage", "extra", "try", "all", "step", "sleep", "now", "eventually", "defer" }
local selves = {}

local function foreign(object, method)
  selves[#selves + 1] = {
    ("%s.%s on a foreign self"):format(object, method),
    ([[
    local liar = setmetatable({}, { __eq = function() return true end, __index = %s })
    local wrong = {}
    for _, self in ipairs { {}, liar, "text", 7, true, %s, print, coroutine.create(print) } do
      local ok, err = pcall(%s.%s, self, "nodes", "lyra-gpu-a")
      local says = tostring(err)
      if ok or not says:find("bad argument #1 to '%s:%s' (%s expected, got", 1, true) then
        wrong[#wrong + 1] = type(self) .. ": " .. says
      end
    end
    assert(not pcall(%s.%s))
    ctx:expect("refused", table.concat(wrong, "; "), "==", "")
    return "all refused"]]):format(object, object == "ctx" and "ctx.k8s" or "ctx", object, method, object, method,
      object, object, method),
    outcome = "pass",
  }
end

for _, method in ipairs(K8S) do
  foreign("ctx.k8s", method)
end
for _, method in ipairs(CTX) do
  foreign("ctx", method)
end

catalogue("a method called on a foreign self", selves)
