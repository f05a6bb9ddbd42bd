-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local text = require "aicr.native.text"

describe("text", function()
  it("finds the nearest word", function()
    assert.equal("platform", text.nearest("platfrom", { "params", "platform", "phase" }))
    assert.is_nil(text.nearest("nothing", { "params", "platform" }))
    assert.is_nil(text.nearest("x", {}))
    assert.is_nil(text.nearest("platform\0", { "platform" }))
  end)

  it("makes text printable", function()
    assert.equal("a\n\tb\\x1b[0m\\xff", text.printable "a\n\tb\27[0m\xff")
    assert.equal("", text.printable "")
  end)

  it("makes text valid UTF-8", function()
    assert.equal("a\u{FFFD}b\u{FFFD}", text.utf8 "a\xffb\xc3")
    assert.equal("", text.utf8 "")
  end)

  it("trims Unicode white space", function()
    assert.equal("a b", text.trim "\u{00A0}\n\u{3000}a b\u{2028} ")
    assert.equal("\u{200B}a\u{FEFF}", text.trim "\u{200B}a\u{FEFF}")
    assert.equal("\xa0a\x85", text.trim "\xa0a\x85")
    assert.equal("", text.trim " \t\u{0085}")
  end)

  it("hashes", function()
    assert.equal("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
      text.sha256 "abc")
  end)

  local rows = {
    { "nearest", "string expected", {} },
    { "nearest", "table expected", { "x", 5 } },
    { "nearest", "a list of strings expected", { "x", { 5 } } },
    { "printable", "string expected", { {} } },
    { "utf8", "string expected", { {} } },
    { "trim", "string expected", { {} } },
    { "sha256", "string expected", { {} } },
  }
  for _, row in ipairs(rows) do
    it(("wants the right arguments for %s: %s"):format(row[1], row[2]), function()
      local ok, message = pcall(text[row[1]], table.unpack(row[3]))
      assert.is_false(ok)
      assert.is_truthy(tostring(message):find(row[2], 1, true))
    end)
  end
end)
