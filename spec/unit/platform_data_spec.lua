-- SPDX-License-Identifier: Apache-2.0
--- The names and the embedded data of aicr.native.platform.
require "aicr_native"
local files = require "spec.support.files"
local native = require "aicr.native.platform"

describe("platform.data", function()
  it("is the file of the tree, byte for byte", function()
    assert.equal(files.read "recipes/overrides/workloadrun.yaml", native.data "overrides/workloadrun.yaml")
  end)

  for _, name in ipairs { "overrides/none.yaml", "../lua/aicr/gke.lua", "", "overrides", "lyra.yaml",
    "overrides/workloadrun.yaml\0" } do
    it(("is nil for %q"):format(name), function()
      if name:find "\0" then
        assert.has_error(function() return native.data(name) end)
      else
        assert.is_nil(native.data(name))
      end
    end)
  end
end)
