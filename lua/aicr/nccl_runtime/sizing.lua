-- SPDX-License-Identifier: Apache-2.0
--- Which nodes the benchmark runs on, and with how many GPUs (gke-tcpxo.md 5.3, 5.1 steps 9 and 10). Pure.
---
--- What the cluster lacks comes back as a fault, `{code, reason, message}` for `ctx:fail`: it was looked at and is not
--- enough.
local errors = require "aicr.native.error"
local quantity = require "aicr.quantity"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

local GPU <const>, PRODUCT <const> = "nvidia.com/gpu", "nvidia.com/gpu.product"
--- What is read of each node.
M.FIELDS = { "metadata.name", "metadata.labels", "spec.unschedulable", 'status.allocatable["nvidia.com/gpu"]' }

-- Names in a message.
local SHOWN_MAX <const> = 10

local function gpus_of(node)
  local allocatable = tree.dig(node, "status", "allocatable", GPU)
  if allocatable == nil then
    return 0
  end
  local ok, count = pcall(quantity.value, allocatable)
  if not ok or count < 0 then
    errors.raise {
      code = "INTERNAL", reason = "gpu-count",
      message = ("node %s: allocatable %s is no number of GPUs: %s"):format(text.printable(node.metadata.name), GPU,
        text.printable(tostring(allocatable))),
    }
  end
  return count
end

local function names_of(nodes)
  local names = {}
  for i, node in ipairs(nodes) do
    names[i] = text.printable(node.name)
  end
  local more = #names > SHOWN_MAX and (" and %d more"):format(#names - SHOWN_MAX) or ""
  return table.concat(names, ", ", 1, math.min(#names, SHOWN_MAX)) .. more
end

-- The nodes with GPUs: those that pods may be put on, and those that are cordoned.
local function gpu_nodes(list)
  local open, cordoned = {}, {}
  for _, node in ipairs(list) do
    local gpus = gpus_of(node)
    if gpus > 0 then
      local into = tree.dig(node, "spec", "unschedulable") == true and cordoned or open
      into[#into + 1] = {
        name = tree.text(node, "metadata", "name") or "", gpus = gpus, labels = tree.map(node, "metadata", "labels"),
      }
    end
  end
  local function by_name(a, b)
    return a.name < b.name
  end
  table.sort(open, by_name)
  table.sort(cordoned, by_name)
  return open, cordoned
end

local function keep(nodes, wanted)
  local kept = {}
  for _, node in ipairs(nodes) do
    if wanted(node) then
      kept[#kept + 1] = node
    end
  end
  return kept
end

local function fault(code, reason, fmt, ...)
  return nil, { code = code, reason = reason, message = fmt:format(...) }
end

--- A node selector as it is written: "k=v,k=v", keys sorted.
---@param selector table
---@return string
function M.selector_text(selector)
  local terms = {}
  for key, value in pairs(selector) do
    terms[#terms + 1] = ("%s=%s"):format(key, value)
  end
  table.sort(terms)
  return text.printable(table.concat(terms, ","))
end

local function by_selector(nodes, selector)
  local kept = keep(nodes, function(node)
    for key, value in pairs(selector) do
      if node.labels[key] ~= value then
        return false
      end
    end
    return true
  end)
  if #kept == 0 then
    return fault("INTERNAL", "no-gpu-nodes", "none of %d GPU nodes has the labels %s", #nodes,
      M.selector_text(selector))
  end
  return kept
end

-- By the product that GPU feature discovery names, where it names any.
local function by_product(nodes, prefix)
  local products, seen = {}, {}
  for _, node in ipairs(nodes) do
    local product = node.labels[PRODUCT]
    if product and not seen[product] then
      seen[product] = true
      products[#products + 1] = text.printable(tostring(product))
    end
  end
  if #products == 0 then
    return nodes
  end
  table.sort(products)
  local kept = keep(nodes, function(node)
    return tostring(node.labels[PRODUCT] or ""):sub(1, #prefix) == prefix
  end)
  if #kept == 0 then
    return fault("INTERNAL", "no-gpu-nodes", "none of %d GPU nodes has a %s that begins with %s: %s", #nodes, PRODUCT,
      prefix, table.concat(products, ", "))
  end
  return kept
end

local function uneven(nodes)
  local most, short = 0, {}
  for _, node in ipairs(nodes) do
    most = math.max(most, node.gpus)
  end
  for _, node in ipairs(nodes) do
    if node.gpus < most then
      short[#short + 1] = ("%s (%d/%d)"):format(text.printable(node.name), node.gpus, most)
    end
  end
  return most, #short > 0 and table.concat(short, ", ")
end

local function cordoned_text(cordoned)
  return #cordoned > 0 and ("; cordoned: " .. names_of(cordoned)) or ""
end

--- The node selector of a worker pod template (5.3 step 2), nil when it has none. Raises INVALID_REQUEST,
--- reason `node-selector`.
---@param template table|nil
---@return table|nil
function M.template_selector(template)
  local selector = tree.dig(template, "spec", "nodeSelector")
  if selector == nil then
    return nil
  end
  local sound = tree.is_map(selector)
  for _, value in pairs(sound and selector or {}) do
    sound = sound and type(value) == "string"
  end
  if not sound then
    errors.raise {
      code = "INVALID_REQUEST", reason = "node-selector", verdict = true,
      message = "spec.nodeSelector of the worker's pod template is not a map of texts",
    }
  end
  return next(selector) and selector or nil
end

--- The nodes of the benchmark: `{nodes = names sorted, labels = of each, workers, gpus, total, cordoned = names of the
--- GPU nodes that are, nil: none}`, or nil and a fault.
---@param list table[] Node objects
---@param opts {selector: table|nil, product: string|nil} labels wanted; else the beginning of the GPU product's name
---@return table|nil size
---@return table|nil fault
function M.of(list, opts)
  local open, cordoned = gpu_nodes(list)
  if #open == 0 then
    return fault("INTERNAL", "no-gpu-nodes", "no node of %d offers a GPU that pods can use%s", #list,
      cordoned_text(cordoned))
  end
  local kept, problem = open, nil
  if opts.selector then
    kept, problem = by_selector(open, opts.selector)
  elseif opts.product then
    kept, problem = by_product(open, opts.product)
  end
  if problem then
    return nil, problem
  end
  local gpus, short = uneven(kept)
  if short then
    return fault("INTERNAL", "gpu-counts", "the %d GPU nodes do not offer the same number of GPUs: %s", #kept, short)
  elseif #kept < 2 then
    return fault("NOT_FOUND", "too-few-nodes", "the benchmark measures between nodes and needs two, but there is one"
      .. " GPU node for it: %s%s", names_of(kept), cordoned_text(cordoned))
  end
  local names, labels = {}, {}
  for i, node in ipairs(kept) do
    names[i], labels[i] = node.name, node.labels
  end
  return {
    nodes = names, labels = labels, workers = #kept, gpus = gpus, total = #kept * gpus,
    cordoned = #cordoned > 0 and names_of(cordoned) or nil,
  }
end

return M
