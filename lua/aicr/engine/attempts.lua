-- SPDX-License-Identifier: Apache-2.0
--- What became of each attempt at a check (`--retry`): an error may be repeated, a fail never is.
local text = require "aicr.report.text"

local M = {}

local opt = text.opt

--- Adds an attempt that ended.
--- @param tries table list of attempts; `left` is what the clean-up of one of them left unconfirmed
--- @param out table of outcome.of, masked
--- @param event table its done event
function M.add(tries, out, event)
  local record = opt(event.record) or {}
  local cleanup = opt(record.cleanup)
  if cleanup and cleanup.ok == false then
    tries.left = opt(cleanup.message) or "no message"
  end
  tries[#tries + 1] = {
    attempt = #tries + 1, outcome = out.outcome, code = out.code, reason = out.reason,
    message = out.message or out.result, started = opt(event.started),
    duration_ms = opt(event.duration_ms) or 0,
  }
end

--- Tells a result of the attempts before it: it began with the first and took as long as all.
--- @param result table of result.new
--- @param tries table|nil
--- @param retry integer how often a check may be repeated
function M.apply(result, tries, retry)
  if not tries then
    return
  end
  local total = 0
  for i, try in ipairs(tries) do
    total = total + try.duration_ms
    if i < #tries then
      result.notes[#result.notes + 1] = ("attempt %d of at most %d ended in error %s: %s"):format(i,
        retry + 1, try.reason, try.message)
    end
  end
  result.attempts, result.duration_ms = #tries, total
  result.started = tries[1].started
  result.tries = #tries > 1 and tries or nil
end

return M
