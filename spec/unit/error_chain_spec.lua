-- SPDX-License-Identifier: Apache-2.0
--- Chains of errors: the outermost code decides, the text shows every layer
--- (validation-model.md 4).
require "aicr_native"
local errors = require "aicr.native.error"
local vectors = require "spec.support.vectors"

-- A layer without a code has no counterpart of ours: an error object always has one of the set.
local function ours(chain)
  for _, layer in ipairs(chain) do
    if not layer.code or layer.code == "" or layer.code == "WHATEVER" then
      return false
    end
  end
  return true
end

local function build(chain, i)
  local layer = chain[i]
  return errors.new {
    code = layer.code, reason = "r", message = layer.message,
    cause = chain[i + 1] and build(chain, i + 1) or nil,
  }
end

describe("error.chain", function()
  for _, row in ipairs(vectors.rows("validation-sample.jsonl", "error.chain")) do
    local chain = row.args.chain
    if ours(chain) then
      it(row.id, function()
        local err = build(chain, 1)
        assert.equal(row.result.code, err.code)
        assert.equal(row.result.text, tostring(err))
      end)
    else
      it(row.id .. ": a layer without a code of the set is refused", function()
        for i, layer in ipairs(chain) do
          if not ours { layer } then
            local ok, err = pcall(build, { chain[i] }, 1)
            assert.is_false(ok)
            assert.truthy(tostring(err):find "error.new: ", tostring(err))
          end
        end
      end)
    end
  end
end)
