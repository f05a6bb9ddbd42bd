-- SPDX-License-Identifier: Apache-2.0
--- Whether a check that would pass observed anything (design 4), and what it looked for in vain. Pure.
local rbac = require "aicr.engine.rbac"
local advice = require "aicr.engine.advice"
local text = require "aicr.report.text"

local M = {}

local opt, list = text.opt, text.list

local COMPARE <const> = 'let the check compare what it found before it goes through it: ctx:must("nodes", #nodes, '
  .. '">", 0), or "==", 0 where there is to be none; then look with: aicr-run -vv %s'
local ASK <const> = "where it does not apply, end the check with ctx:skip { reason = …, message = … }; else ask and "
  .. "compare, then look with: aicr-run -vv %s"
local COVERED <const> = "see in the evidence why none could be verified: aicr-run -v %s"

-- "WHAT (and 2 more)"
local function first_of(what, n)
  return n > 1 and ("%s (and %d more)"):format(what, n - 1) or what
end

local function looked(seen)
  local said = {}
  if seen.empty > 0 then
    said[1] = "found no " .. first_of(seen.first_empty, seen.empty)
  end
  if seen.unread > 0 then
    said[#said + 1] = "could not read " .. first_of(seen.first_unread, seen.unread)
  end
  return said
end

local function dropped(record)
  return opt(list(record.dropped).expectations) or 0
end

-- The expectations of which both sides were absent, and all.
local function absent_sides(record)
  local found, all = {}, list(record.expectations)
  for _, e in ipairs(all) do
    if e.op == "==" and opt(e.actual) == nil and opt(e.expected) == nil then
      found[#found + 1] = e
    end
  end
  return found, #all + dropped(record)
end

-- One more thing that a reader of the report has to know: in the phrase where the pass stands on it alone.
local function admit(out, alone, words)
  if alone then
    out.result = ("%s; %s"):format(out.result, words)
  else
    out.notes[#out.notes + 1] = words
  end
end

-- Nothing stands behind the phrase. Design 4 lets it pass: whoever reads it is told, and --strict takes it for none.
local function nothing(out, item, strict, alone, words, fix)
  fix = fix:format(rbac.operand(item))
  if not strict then
    admit(out, alone, words)
    admit(out, false, advice.on_cluster(fix, item.cluster))
    return
  end
  out.message = ("%s, so that %s was not observed"):format(words, text.quoted(out.result))
  out.outcome, out.code, out.reason, out.result, out.fix = "error", "INTERNAL", "nothing-observed", nil, fix
end

--- Says with a pass what it does not stand on. With strict, one that nothing stands behind is an error.
--- @param out table the outcome: result, notes; changed
--- @param event table the host's done event: record, seen
--- @param item table name, path, meta
--- @param strict boolean|nil
function M.apply(out, event, item, strict)
  local record, seen = opt(event.record) or {}, opt(event.seen)
  if out.outcome ~= "pass" then
    if out.reason == "script" and seen then -- a loop over nothing, and no phrase
      table.move(looked(seen), 1, 2, #out.notes + 1, out.notes)
    end
    return
  end
  local coverage = opt(record.coverage)
  if coverage and (opt(coverage.total) or 0) == 0 then -- of some, the phrase says it
    return nothing(out, item, strict, true, "verified 0 of 0", COVERED)
  end
  local absent, all = absent_sides(record)
  if seen and all == 0 and seen.found == 0 then
    local said = looked(seen)
    if #said > 0 then
      return nothing(out, item, strict, true, table.concat(said, "; ") .. ", and compared nothing", COMPARE)
    elseif seen.asked == 0 and #list(item.meta and item.meta.needs) > 0 then -- a library's questions it judges itself
      return nothing(out, item, strict, false, "asked the cluster nothing and compared nothing", ASK)
    end
  end
  for _, words in ipairs(seen and looked(seen) or {}) do
    admit(out, seen.found == 0, words)
  end
  if #absent > 0 and #absent == all then
    admit(out, true, all == 1 and "both sides absent in its comparison"
      or ("both sides absent in all %d comparisons"):format(all))
  elseif #absent > 0 then
    admit(out, false, ("both sides absent in %d of %d comparisons, first: %s"):format(#absent, all,
      tostring(opt(absent[1].what))))
  end
end

return M
