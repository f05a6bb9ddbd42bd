-- SPDX-License-Identifier: Apache-2.0
--- Figures of a run that is looked at while it goes on, and the nodes of a run that failed
--- (platform-runtimes.md 6.5, 7).
local json = require "aicr.json"

local M = {}

local function two_decimals(x)
  return math.floor(x * 100 + 0.5) / 100
end

--- The means of a size with one more measurement. Two decimals are kept at each step.
---@param mean {algbw: number, busbw: number, count: integer}|nil nil: the first one
---@param row {algbw: number, busbw: number}
---@return {algbw: number, busbw: number, count: integer}
function M.add(mean, row)
  local n = mean and mean.count or 0
  local function of(field)
    return two_decimals(((mean and mean[field] or 0) * n + row[field]) / (n + 1))
  end
  return { algbw = of "algbw", busbw = of "busbw", count = n + 1 }
end

--- The largest mean of all sizes, of each figure by itself.
---@param means {algbw: number, busbw: number}[]
---@return {busBandwidthGBps: number?, algBandwidthGBps: number?}
function M.peak(means)
  local bus, alg
  for _, mean in ipairs(means) do
    bus, alg = math.max(bus or 0, mean.busbw), math.max(alg or 0, mean.algbw)
  end
  return { busBandwidthGBps = bus, algBandwidthGBps = alg }
end

--- The nodes that failed, each reason of each once, sorted by node, then reason.
---@param entries {name: string, reason: string, message: string?}[]
---@return {name: string, reason: string, message: string?}[]
function M.failed_nodes(entries)
  local seen, out = {}, json.array()
  for _, entry in ipairs(entries) do
    local key = entry.name .. "\0" .. entry.reason
    if entry.name ~= "" and not seen[key] then
      seen[key] = true
      out[#out + 1] = { name = entry.name, reason = entry.reason, message = entry.message }
    end
  end
  table.sort(out, function(a, b)
    if a.name ~= b.name then
      return a.name < b.name
    end
    return a.reason < b.reason
  end)
  return out
end

return M
