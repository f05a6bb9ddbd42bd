-- SPDX-License-Identifier: Apache-2.0
--- Phases as AICR defines them (validation-model.md 2): pure functions over names and lists.
local M = {}

--- The phases in the order in which they run.
M.ORDER = { "deployment", "conformance", "performance" }

local RANK <const> = { deployment = 1, conformance = 2, performance = 3 }

--- The position of a phase in the fixed order, nil for an unknown name.
function M.rank(phase)
  return RANK[phase]
end

--- The phases that a list of names asks for, in the order given, each once. None means all.
--- @param names table list; `all` stands alone
--- @return table|nil phases
--- @return string|nil the name that is refused
function M.select(names)
  local chosen, seen, all = {}, {}, false
  for _, name in ipairs(names) do
    if name == "all" then
      all = true
    elseif not RANK[name] then
      return nil, name
    elseif not seen[name] then
      seen[name] = true
      chosen[#chosen + 1] = name
    end
  end
  if all and #names > 1 then
    return nil, "all"
  elseif #chosen == 0 then
    return table.move(M.ORDER, 1, #M.ORDER, 1, {})
  end
  return chosen
end

--- The status of a phase from those of its tests: failed over other over passed; no test, skipped.
--- @param tests table list of passed, failed, skipped, pending, other
--- @return string status
--- @return boolean failing true when it blocks
function M.status(tests)
  local has = {}
  for _, status in ipairs(tests) do
    has[status] = true
  end
  if has.failed then
    return "failed", true
  elseif has.other then
    return "other", true
  end
  return #tests == 0 and "skipped" or "passed", false
end

--- Runs phases one after another. With fail_fast every phase after a failing one is recorded as
--- skipped, with all checks that the catalog has for it.
--- @param phase_names table list
--- @param catalog table list of {name, phase}
--- @param fail_fast boolean
--- @param run function phase name → status
--- @return table list of {phase, status, skipped = names|nil}
function M.run(phase_names, catalog, fail_fast, run)
  local out, stopped = {}, false
  for i, phase in ipairs(phase_names) do
    if stopped then
      local skipped = {}
      for _, check in ipairs(catalog) do
        if check.phase == phase then
          skipped[#skipped + 1] = check.name
        end
      end
      out[i] = { phase = phase, status = "skipped", skipped = skipped }
    else
      local status = run(phase)
      out[i] = { phase = phase, status = status }
      stopped = fail_fast and (status == "failed" or status == "other")
    end
  end
  return out
end

local function phase_problems(phase, names, phase_of, out)
  local seen, repeated = {}, {}
  for _, name in ipairs(names) do
    local home = phase_of[name]
    if seen[name] then
      if seen[name] == 1 then
        repeated[#repeated + 1] = { kind = "duplicate", name = name, phase = phase }
      end
      seen[name] = seen[name] + 1
    else
      seen[name] = 1
      if not home then
        out[#out + 1] = { kind = "unmatched", name = name, phase = phase }
      elseif home ~= phase then
        out[#out + 1] = { kind = "cross-phase", name = name, phase = phase, other = home }
      end
    end
  end
  table.move(repeated, 1, #repeated, #out + 1, out)
end

local function phases_by_name(catalog)
  local phase_of = {}
  for _, check in ipairs(catalog) do
    phase_of[check.name] = check.phase
  end
  return phase_of
end

--- Everything that is wrong with the declared checks of the requested phases.
--- @param phase_names table list
--- @param declared table phase → list of names
--- @param catalog table list of {name, phase}
--- @return table list of {kind = "unmatched"|"cross-phase"|"duplicate", name, phase, other}
function M.declared_problems(phase_names, declared, catalog)
  local phase_of, out = phases_by_name(catalog), {}
  for _, phase in ipairs(phase_names) do
    phase_problems(phase, declared[phase] or {}, phase_of, out)
  end
  return out
end

--- The declared checks of the requested phases in the order of the catalog.
--- @return table phase → list of names
function M.declared_checks(phase_names, declared, catalog)
  local out = {}
  for _, phase in ipairs(phase_names) do
    local wanted, names = {}, {}
    for _, name in ipairs(declared[phase] or {}) do
      wanted[name] = true
    end
    for _, check in ipairs(catalog) do
      if check.phase == phase and wanted[check.name] then
        names[#names + 1] = check.name
      end
    end
    out[phase] = names
  end
  return out
end

--- The names of a skip list that no check has.
--- @param skip table list of names
--- @param names table list of all names
function M.unknown_skips(skip, names)
  local known, out = {}, {}
  for _, name in ipairs(names) do
    known[name] = true
  end
  for _, name in ipairs(skip) do
    if not known[name] then
      out[#out + 1] = name
    end
  end
  return out
end

return M
