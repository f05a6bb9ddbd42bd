-- SPDX-License-Identifier: Apache-2.0
--- The methods of ctx that add to what is told of a check.
local arguments = require "aicr.ctx.arguments"
local kept = require "aicr.ctx.kept"
local native = require "aicr.native.task"

local misuse, need, take = arguments.misuse, arguments.need, arguments.take
local array, clip = kept.array, kept.clip

local EVIDENCE_MAX <const> = 4096
local ATTACHMENT_MAX <const> = 48 * 1024

local ctx = {}

-- fmt:format(…), or the text as it is when there is nothing to format.
local function formatted(fmt, ...)
  if select("#", ...) == 0 then
    return tostring(fmt)
  end
  if type(fmt) ~= "string" then
    error(("a format must be a string, got %s"):format(type(fmt)), 3)
  end
  return fmt:format(...)
end

--- Data for a plot. @param points table {{x, y}, …}
function ctx:series(name, x, y, points)
  need(name, "string", "ctx:series: name")
  need(points, "table", "ctx:series: points")
  native.record("series", { name = name, x = x, y = y, points = array(points) })
end

--- A line of evidence for the report: `ctx:evidence("%d networks", n)`.
function ctx:evidence(fmt, ...)
  local line = formatted(fmt, ...)
  native.record("evidence", clip(line, EVIDENCE_MAX))
end

--- What the check waits for or does now, for the live line.
function ctx:progress(fmt, ...)
  native.progress(formatted(fmt, ...))
end

--- A text file in the report, at most 48 KiB.
function ctx:attach(name, kind, bytes)
  need(name, "string", "ctx:attach: name")
  need(bytes, "string", "ctx:attach: bytes")
  if #bytes > ATTACHMENT_MAX then
    misuse("ctx:attach: %d bytes, at most %d", #bytes, ATTACHMENT_MAX)
  end
  native.record("attachments", { name = name, type = kind, text = bytes })
end

--- How much of what the check is about it could verify. With --strict a pass below `total` is a fail.
-- @param t table {verified=, total=} whole numbers
function ctx:coverage(t)
  t = take(t, { verified = true, total = true }, "ctx:coverage")
  local verified, total = math.tointeger(t.verified), math.tointeger(t.total)
  if not verified or not total or verified < 0 or verified > total then
    misuse("ctx:coverage: verified and total must be whole numbers, 0 <= verified <= total")
  end
  native.set("coverage", { verified = verified, total = total })
end

--- Flat facts for machines: counts and codes, never names (validation-model.md 8).
-- @param t table {key = string | number | boolean}
function ctx:extra(t)
  need(t, "table", "ctx:extra: its argument")
  for k, v in next, t do
    need(k, "string", "ctx:extra: a key")
    if type(v) ~= "string" and type(v) ~= "number" and type(v) ~= "boolean" then
      misuse("ctx:extra: %s must be a string, a number or a boolean, got %s", k, type(v))
    end
    native.extra(k, v)
  end
end

return ctx
