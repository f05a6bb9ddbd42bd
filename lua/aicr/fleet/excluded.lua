-- SPDX-License-Identifier: Apache-2.0
--- Which GPU nodes count, and why others do not.
local text = require "aicr.native.text"

local M = {}

-- Names in a message; the rest are attached.
local SHOWN_MAX <const> = 10
-- Bytes of an attached text (ctx:attach).
local ATTACHED_MAX <const> = 48 * 1024

--- The words in a sentence, the first of many.
---@param words string[]
---@param between? string default: a comma and a blank
---@return string
function M.some(words, between)
  between = between or ", "
  if #words <= SHOWN_MAX then
    return table.concat(words, between)
  end
  return ("%s and %d more"):format(table.concat(words, between, 1, SHOWN_MAX), #words - SHOWN_MAX)
end

local function words_of(rows)
  local words = {}
  for i, row in ipairs(rows) do
    words[i] = ("%s (%s)"):format(text.printable(row.node), row.reason)
  end
  return words
end

--- Nodes with their reasons.
---@param rows {node: string, reason: string}[]
---@return string
function M.text(rows)
  return M.some(words_of(rows))
end

--- The names of nodes.
---@param nodes {name: string}[]
---@return string
function M.names(nodes)
  local names = {}
  for i, one in ipairs(nodes) do
    names[i] = text.printable(one.name)
  end
  return M.some(names)
end

local function reason_of(one, said)
  if one.ready ~= "True" then
    return ("not ready: condition Ready is %s"):format(text.printable(one.ready))
  elseif one.cordoned then
    return "cordoned"
  elseif one.out_of_use then
    return "tainted " .. text.printable(one.out_of_use)
  elseif one.like and one.gpus == 0 then
    return ("of instance type %s as %s, but offers no GPU"):format(text.printable(one.type), text.printable(one.like))
  elseif one.arch == "" and not said then
    return "does not say which GPUs it has"
  elseif one.gpus == 0 then
    return "marked as a GPU node, but offers no GPU"
  end
end

--- Sorts nodes into those that count, those that are left out, and those of another architecture than the one that was
--- asked for, which nobody asked about.
---@param nodes aicr.fleet.Node[]
---@param arch string
---@param said boolean somebody said the architecture: then it holds for nodes that say none
---@return aicr.fleet.Node[] nodes
---@return {node: string, reason: string, empty: boolean}[] excluded
---@return {node: string, reason: string}[] others
function M.sort(nodes, arch, said)
  local kept, excluded, others = {}, {}, {}
  for _, one in ipairs(nodes) do
    local reason = reason_of(one, said)
    if one.arch ~= "" and one.arch ~= arch then
      others[#others + 1] = { node = one.name, reason = text.printable(one.arch) }
    elseif reason then
      local usable = one.ready == "True" and not one.cordoned and not one.out_of_use
      excluded[#excluded + 1] = { node = one.name, reason = reason, empty = usable and one.gpus == 0 }
    else
      kept[#kept + 1] = one
    end
  end
  return kept, excluded, others
end

local function tell(ctx, what, rows)
  if #rows == 0 then
    return
  end
  ctx:evidence("%s: %s", what, M.text(rows))
  if #rows > SHOWN_MAX then
    local all = table.concat(words_of(rows), "\n") .. "\n"
    ctx:attach(what, "text/plain", all:sub(1, ATTACHED_MAX))
  end
end

-- Taints that pods must tolerate, with how many of the nodes have them: "dedicated=train:NoSchedule on 1 of 3".
local function tell_taints(ctx, nodes)
  local counts, words = {}, {}
  for _, one in ipairs(nodes) do
    for _, taint in ipairs(one.taints or {}) do
      counts[taint] = (counts[taint] or 0) + 1
    end
  end
  for taint, n in pairs(counts) do
    words[#words + 1] = ("%s on %d of %d"):format(text.printable(taint), n, #nodes)
  end
  if #words > 0 then
    table.sort(words)
    ctx:evidence("taints that pods must tolerate: %s", M.some(words))
  end
end

--- Puts both lists into the report, and the taints of the nodes that count.
---@param ctx aicr.ctx
---@param fleet aicr.fleet.Fleet
function M.tell(ctx, fleet)
  tell(ctx, "left out", fleet.excluded)
  tell(ctx, "of another architecture", fleet.others)
  tell_taints(ctx, fleet.nodes)
end

return M
