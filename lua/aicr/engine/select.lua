-- SPDX-License-Identifier: Apache-2.0
--- Which of the resolved checks run, and in which order.
local emptied = require "aicr.engine.emptied"
local message = require "aicr.engine.message"
local phases = require "aicr.engine.phases"
local platform = require "aicr.engine.platform"

local M = {}

local function names_of(items)
  local names = {}
  for i, item in ipairs(items) do
    names[i] = item.name
  end
  return names
end

local function check_names(items, problems)
  local by_name = {}
  for _, item in ipairs(items) do
    local twin = by_name[item.name]
    if twin and twin.path == item.path then
      problems:add {
        what = ('the check "%s" (%s) is selected twice'):format(item.name, item.path),
        fix = 'name it once, or give one of them another name in a suite: { "PATH", as = "NAME" }',
      }
    elseif twin then
      problems:add(message.twins(item.name, twin.path, item.path))
    end
    by_name[item.name] = by_name[item.name] or item
    if not item.name:find("^[a-z0-9-]+$") or #item.name > 63 then
      problems:add('%s: "%s" is no name for a check: expected [a-z0-9-]+, at most 63 characters',
        item.path, item.name)
    end
    for _, name in ipairs(item.meta.platforms or {}) do
      if not platform.canonical(name) then
        problems:add('%s: unknown platform "%s"%s', item.path, name,
          message.suggestion(name, platform.words()))
      end
    end
  end
  return by_name
end

--- The phases that `--phase` asks for, as a set; problems for what is no phase.
function M.phases(given, problems)
  local chosen, refused = phases.select(given or {})
  if not chosen then
    if refused == "all" then
      problems:add('--phase all stands alone; it was given with others')
    else
      local known = table.move(phases.ORDER, 1, #phases.ORDER, 1, { "all" })
      problems:add('--phase "%s" is not valid; expected one of: %s, all%s', refused,
        table.concat(phases.ORDER, ", "), message.suggestion(refused, known))
    end
    chosen = phases.ORDER
  end
  local set = {}
  for _, phase in ipairs(chosen) do
    set[phase] = true
  end
  return set
end

local function parse_tags(expr, problems)
  local terms = {}
  for word in (expr .. ","):gmatch("([^,]*),") do
    local bang, tag = word:match("^%s*(!?)%s*(.-)%s*$")
    if tag == "" then
      problems:add('--tags "%s": a tag is missing; expected TAG or !TAG, separated by commas', expr)
      return {}
    end
    terms[#terms + 1] = { tag = tag, wanted = bang == "" }
  end
  return terms
end

local function matches_tags(tags, alternatives)
  if #alternatives == 0 then
    return true
  end
  local has = {}
  for _, tag in ipairs(tags or {}) do
    has[tag] = true
  end
  for _, terms in ipairs(alternatives) do
    local all = true
    for _, term in ipairs(terms) do
      all = all and (has[term.tag] or false) == term.wanted
    end
    if all then
      return true
    end
  end
  return false
end

local function apply_skips(items, by_name, skip, all_names, problems)
  local known
  for _, name in ipairs(skip) do
    if not by_name[name] then
      if not known then
        known = all_names()
        table.move(names_of(items), 1, #items, #known + 1, known)
      end
      for _, unknown in ipairs(phases.unknown_skips({ name }, known)) do
        problems:add('--skip: no check named "%s"%s', unknown, message.suggestion(unknown, known))
      end
    end
  end
  local skipped = {}
  for _, name in ipairs(skip) do
    skipped[name] = true
  end
  for _, item in ipairs(items) do
    if skipped[item.name] then
      item.preset = {
        outcome = "skip", reason = "skipped-by-user", message = "left out with --skip",
      }
    end
  end
end

--- Puts what is required before what requires it, the rest as it stands; reports cycles.
local function order(items, by_name, problems)
  local out, state, chain = {}, {}, {}
  local function visit(item)
    if state[item] == "done" then
      return
    end
    chain[#chain + 1] = item.name
    if state[item] == "open" then
      local first = 1
      while chain[first] ~= item.name do
        first = first + 1
      end
      problems:add("the checks require each other: %s", table.concat(chain, " → ", first))
      chain[#chain] = nil
      return
    end
    state[item] = "open"
    for _, name in ipairs(item.meta.requires or {}) do
      local required = by_name[name]
      if required and phases.rank(required.phase) > phases.rank(item.phase) then
        problems:add("%s (%s) requires %s, which runs later (%s)", item.name, item.phase, name,
          required.phase)
      elseif required then
        visit(required)
      end
    end
    state[item] = "done"
    chain[#chain] = nil
    out[#out + 1] = item
  end
  for _, item in ipairs(items) do
    visit(item)
  end
  return out
end

local function keep(items, fits)
  local kept = {}
  for _, item in ipairs(items) do
    if fits(item) then
      kept[#kept + 1] = item
    end
  end
  return kept
end

--- Those of the wanted phases and tags, phase by phase; the reason when the last ones went.
local function filter(items, wanted, alternatives, options)
  local in_phase = {}
  for _, phase in ipairs(phases.ORDER) do
    local own = keep(items, function(item) return item.phase == phase and wanted[phase] end)
    table.move(own, 1, #own, #in_phase + 1, in_phase)
  end
  if #in_phase == 0 then
    return in_phase, #items > 0 and emptied.by_phase(items, options.phase or {}) or nil
  end
  local tagged = keep(in_phase, function(item)
    return matches_tags(item.meta.tags, alternatives)
  end)
  return tagged, #tagged == 0 and emptied.by_tags(in_phase, options.tags or {}) or nil
end

--- The checks that run, in the order of the plan.
--- @param items table resolved items, all of them
--- @param options table phase, tags, skip as given
--- @param all_names function → every name that exists, for suggestions
--- @param problems table message.problems()
--- @return table checks
--- @return string|nil which option left none of the items
function M.choose(items, options, all_names, problems)
  local by_name = check_names(items, problems)
  local wanted = M.phases(options.phase, problems)
  local alternatives = {}
  for i, expr in ipairs(options.tags or {}) do
    alternatives[i] = parse_tags(expr, problems)
  end
  apply_skips(items, by_name, options.skip or {}, all_names, problems)
  local chosen, why = filter(items, wanted, alternatives, options)
  local chosen_names = {}
  for _, item in ipairs(chosen) do
    chosen_names[item.name] = item
  end
  return order(chosen, chosen_names, problems), why
end

return M
