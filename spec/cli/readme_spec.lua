-- SPDX-License-Identifier: Apache-2.0
-- What the README shows works.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"

local README <const> = files.read "README.md"
local OK <const> = "spec/fixtures/recordings/lyra-ok"

--- Runs the README's check after a change of its text.
local function run_check(change)
  local text = assert(README:match "```lua\n(.-)```", "no Lua in the README")
  local folder = files.folder()
  files.write(folder .. "/eight_gpus.lua", (change and text:gsub(table.unpack(change)) or text))
  local result = binary.run { "--recording", OK, folder .. "/eight_gpus.lua" }
  files.remove(folder)
  return result
end

describe("the README", function()
  it("has a check that passes", function()
    local result = run_check()
    assert.equal(0, result.code, result.stderr .. result.stdout)
    assert.match("2 nodes with eight GPUs each", result.stdout)
  end)
  it("has a check that can fail, and says where", function()
    local result = run_check { '"8"', '"16"' }
    assert.equal(1, result.code)
    assert.match('lyra%-gpu%-a: got "8", required == "16"', result.stdout)
  end)
  it("has a check that does not pass without nodes", function()
    assert.equal(1, run_check({ "gke%-accelerator", "no-such-label" }).code)
  end)
  it("has a check whose permission is needed", function()
    local result = run_check { 'needs = { "list nodes" },', "" }
    assert.equal(3, result.code)
    assert.match("list nodes", result.stdout)
  end)
  it("names each exit code once", function()
    for code in ("0 1 2 3 4 70"):gmatch "%d+" do
      assert.match("\n| " .. code .. " | %l", README)
    end
  end)
  it("shows a command that works", function()
    local words = {}
    for word in README:match("\nbuild/release/aicr%-run (%-%-recording [^\n]*gke_tcpxo.lua)\n"):gmatch "%S+" do
      words[#words + 1] = word
    end
    assert.equal(0, binary.run(words).code)
  end)
  it("points to files that are there", function()
    for path in README:gmatch "`([%w_]+/[%w_/.]+)`" do
      local is_resource = path:match "^rdma/"
      if not is_resource and not path:match "^build/" and not path:match "%u%u" and path:match "^[a-z]+/" then
        local full = path:match "^bind/" and "runtime/" .. path or path
        assert(os.execute("test -e " .. full), path)
      end
    end
  end)
end)
