-- SPDX-License-Identifier: Apache-2.0
--- What is about to run: each chosen check with its time limit, its turn, and whether it applies.
local emptied = require "aicr.engine.emptied"
local platform = require "aicr.engine.platform"
local rbac = require "aicr.engine.rbac"

local M = {}

local TIMEOUT_MS <const> = { deployment = 300000, conformance = 300000, performance = 1800000 }

--- Fills what a check did not say: its time limit (and who set it), whether it runs alone, and the command that grants
--- what it needs.
--- @param items table chosen checks in order
--- @param options table of the run
function M.complete(items, options)
  for _, item in ipairs(items) do
    item.grant, item.cluster = rbac.command(item, options.namespace), options
    item.timeout_from = item.timeout_from or (item.meta.timeout_ms and "check" or "default")
    item.timeout_ms = item.timeout_ms or item.meta.timeout_ms or TIMEOUT_MS[item.phase]
    item.exclusive = item.meta.exclusive
    if item.exclusive == nil then
      item.exclusive = item.phase == "performance"
    end
  end
  return items
end

--- Marks the checks that do not run on the platform as skipped; those nobody named are left out.
--- @param items table
--- @param name string|nil the platform; nil: unknown, and then nothing is skipped
--- @param implicit boolean the checks were not named: all built-in ones
--- @return table items
--- @return string|nil why none is left
function M.apply_platform(items, name, implicit)
  local out = {}
  for _, item in ipairs(items) do
    local fits = platform.matches(item.meta.platforms, name)
    if not fits and not implicit then
      item.preset = item.preset or {
        outcome = "skip", reason = "platform", message = ("not for platform %s"):format(name),
      }
    end
    if fits or not implicit then
      out[#out + 1] = item
    end
  end
  return out, #out == 0 and #items > 0 and emptied.by_platform(items, name) or nil
end

return M
