-- SPDX-License-Identifier: Apache-2.0
--- Which nodes the benchmark runs on, and with how many GPUs (gke-tcpxo.md 5.3, 5.1 steps 9 and 10). Pure.
---
--- What the cluster lacks comes back as a fault, `{code, reason, message}` for `ctx:fail`: it was looked at and is not
--- enough.
local errors = require "aicr.native.error"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"
local value = require "aicr.platform.value"

local M = {}

local GPU <const>, PRODUCT <const> = "nvidia.com/gpu", "nvidia.com/gpu.product"
-- Labels that say that a node has GPUs, also where its device plug-in offers none: of GPU feature discovery, of GKE.
local PRESENT <const>, ACCELERATOR <const> = "nvidia.com/gpu.present", "cloud.google.com/gke-accelerator"
-- Why a node with GPUs is left out.
local CORDONED <const>, EMPTY <const> = "cordoned", "offers no GPU that pods can use"
--- What is read of each node.
M.FIELDS = {
  "metadata.name", "metadata.labels", "spec.unschedulable", 'status.allocatable["nvidia.com/gpu"]',
  'status.capacity["nvidia.com/gpu"]',
}

-- Names in a message.
local SHOWN_MAX <const> = 10

local function count_of(node, where)
  local amount = tree.dig(node, "status", where, GPU)
  if amount == nil then
    return 0
  end
  local count = value.whole(amount)
  if not count or count < 0 then
    errors.raise {
      code = "INTERNAL", reason = "gpu-count",
      message = ("node %s: %s %s is no number of GPUs: %s"):format(text.printable(tree.text(node, "metadata", "name")
        or ""), where, GPU, text.printable(tostring(amount))),
    }
  end
  return count
end

-- Does a node say that it has GPUs, whatever its device plug-in offers?
local function has_gpus(node, labels)
  return labels[PRESENT] == "true" or (labels[ACCELERATOR] or "") ~= "" or (labels[PRODUCT] or "") ~= ""
    or count_of(node, "capacity") > 0
end

local function names_of(nodes)
  local names = {}
  for i, node in ipairs(nodes) do
    names[i] = text.printable(node.name)
  end
  local more = #names > SHOWN_MAX and (" and %d more"):format(#names - SHOWN_MAX) or ""
  return table.concat(names, ", ", 1, math.min(#names, SHOWN_MAX)) .. more
end

-- The nodes with GPUs: those that pods may use, and those that are left out, with the reason.
local function gpu_nodes(list)
  local open, left = {}, {}
  for _, node in ipairs(list) do
    local one = {
      name = tree.text(node, "metadata", "name") or "", gpus = count_of(node, "allocatable"),
      labels = tree.map(node, "metadata", "labels"),
    }
    if one.gpus > 0 or has_gpus(node, one.labels) then
      one.reason = tree.dig(node, "spec", "unschedulable") == true and CORDONED or one.gpus == 0 and EMPTY or nil
      local into = one.reason and left or open
      into[#into + 1] = one
    end
  end
  local function by_name(a, b)
    return a.name < b.name
  end
  table.sort(open, by_name)
  table.sort(left, by_name)
  return open, left
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

-- A node selector as it is written: "k=v,k=v", keys sorted.
local function selector_text(selector)
  local terms = {}
  for key, wanted in pairs(selector) do
    terms[#terms + 1] = ("%s=%s"):format(key, wanted)
  end
  table.sort(terms)
  return text.printable(table.concat(terms, ","))
end

local function has_labels(node, selector)
  for key, wanted in pairs(selector) do
    if node.labels[key] ~= wanted then
      return false
    end
  end
  return true
end

local function by_selector(nodes, selector)
  local kept = keep(nodes, function(node) return has_labels(node, selector) end)
  if #kept == 0 then
    return fault("INTERNAL", "no-gpu-nodes", "none of %d GPU nodes has the labels %s", #nodes,
      selector_text(selector))
  end
  return kept
end

local function has_product(node, prefix)
  return tostring(node.labels[PRODUCT] or ""):sub(1, #prefix) == prefix
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
  local kept = keep(nodes, function(node) return has_product(node, prefix) end)
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

-- Of the nodes that are left out those that the benchmark would have taken: what does not say its product is one of
-- them, unless GKE says that it has other GPUs than those that are taken.
local function left_of(left, kept, opts)
  local accelerators = {}
  for _, node in ipairs(kept) do
    accelerators[node.labels[ACCELERATOR] or ""] = true
  end
  return keep(left, function(node)
    if opts.selector then
      return has_labels(node, opts.selector)
    elseif opts.product and (node.labels[PRODUCT] or "") ~= "" then
      return has_product(node, opts.product)
    end
    local accelerator = node.labels[ACCELERATOR] or ""
    return accelerator == "" or accelerators[""] or accelerators[accelerator] or #kept == 0
  end)
end

-- "cordoned: a, b; offers no GPU that pods can use: c", nil for none.
local function left_text(left)
  local words = {}
  for _, reason in ipairs { CORDONED, EMPTY } do
    local nodes = keep(left, function(node) return node.reason == reason end)
    words[#words + 1] = #nodes > 0 and ("%s: %s"):format(reason, names_of(nodes)) or nil
  end
  return words[1] and table.concat(words, "; ")
end

local function and_left(left)
  local words = left_text(left)
  return words and "; " .. words or ""
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
  for _, wanted in pairs(sound and selector or {}) do
    sound = sound and type(wanted) == "string"
  end
  if not sound then
    errors.raise {
      code = "INVALID_REQUEST", reason = "node-selector", verdict = true,
      message = "spec.nodeSelector of the worker's pod template is not a map of texts",
    }
  end
  return next(selector) and selector or nil
end

--- The nodes of the benchmark: `{nodes = names sorted, labels = of each, workers, gpus, total, seen = how many nodes
--- it would run on, were they all in use, left_out = which are not and why, nil: none}`, or nil and a fault.
---@param list table[] Node objects
---@param opts {selector: table|nil, product: string|nil} labels wanted; else the beginning of the GPU product's name
---@return table|nil size
---@return table|nil fault
function M.of(list, opts)
  local open, left = gpu_nodes(list)
  if #open == 0 then
    return fault("INTERNAL", "no-gpu-nodes", "no node of %d offers a GPU that pods can use%s", #list,
      and_left(left_of(left, {}, opts)))
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
  left = left_of(left, kept, opts)
  local gpus, short = uneven(kept)
  if short then
    return fault("INTERNAL", "gpu-counts", "the %d GPU nodes do not offer the same number of GPUs: %s", #kept, short)
  elseif #kept < 2 then
    return fault("NOT_FOUND", "too-few-nodes", "the benchmark measures between nodes and needs two, but there is one"
      .. " GPU node for it: %s%s", names_of(kept), and_left(left))
  end
  local names, labels = {}, {}
  for i, node in ipairs(kept) do
    names[i], labels[i] = node.name, node.labels
  end
  return {
    nodes = names, labels = labels, workers = #kept, gpus = gpus, total = #kept * gpus,
    seen = #kept + #left, left_out = left_text(left),
  }
end

return M
