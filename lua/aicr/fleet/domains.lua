-- SPDX-License-Identifier: Apache-2.0
--- Which NVLink domain GPU nodes are of. NVLink reaches between nodes of one domain only (a clique of a fabric), and a
--- ComputeDomain over several has it in each of them (nccl-benchmark.md 7.5; the label: recipes/platforms/fabric.yaml).
local excluded = require "aicr.fleet.excluded"
local json = require "aicr.json"
local text = require "aicr.native.text"

local M = {}

--- The nodes that are looked at, by domain.
---@param fleet aicr.fleet.Fleet
---@return {label: string, groups: {name: string, nodes: table[]}[], silent: table[]} groups by name; silent: no label
function M.of(fleet)
  local label = fleet.fabric.domain_label
  local found = { label = label, groups = {}, silent = {} }
  local by_name = {}
  for _, one in ipairs(fleet.nodes) do
    local name = one.domains and one.domains[label]
    if not name then
      found.silent[#found.silent + 1] = one
    else
      local group = by_name[name]
      if not group then
        group = { name = name, nodes = {} }
        by_name[name], found.groups[#found.groups + 1] = group, group
      end
      group.nodes[#group.nodes + 1] = one
    end
  end
  table.sort(found.groups, function(a, b) return a.name < b.name end)
  return found
end

--- The domains with their nodes: "d1: n1, n2; d2: n3".
---@param found table what `of` gave
---@return string
function M.text(found)
  local words = {}
  for i, group in ipairs(found.groups) do
    words[i] = ("%s: %s"):format(text.printable(group.name), excluded.names(group.nodes))
  end
  return excluded.some(words, "; ")
end

--- The command that shows them.
---@param found table what `of` gave
---@return string
function M.look(found)
  return "kubectl get nodes -L " .. found.label
end

--- The rows of nodes that are not of the first domain, `{k = node, l = that domain, r = its own}`, for a comparison.
---@param found table what `of` gave, with a domain or more
---@return table[]
function M.apart(found)
  local rows, first = {}, found.groups[1].name
  for i = 2, #found.groups do
    for _, one in ipairs(found.groups[i].nodes) do
      rows[#rows + 1] = { k = one.name, l = first, r = found.groups[i].name }
    end
  end
  for _, one in ipairs(found.silent) do
    rows[#rows + 1] = { k = one.name, l = first, r = json.null }
  end
  table.sort(rows, function(a, b) return a.k < b.k end)
  return rows
end

return M
