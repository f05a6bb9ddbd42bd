-- SPDX-License-Identifier: Apache-2.0
--- Which platform nodes are on, and which GPUs they have (platform-runtimes.md 5.1 to 5.3). Nodes are
--- objects of the API.
local errors = require "aicr.native.error"
local json = require "aicr.json"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"

local M = {}

M.PRODUCT_LABEL = "nvidia.com/gpu.product"
M.UNKNOWN = "unknown"
M.DRA_DRIVER = "gpu.nvidia.com"

local PREFIXES <const> = {
  { "aws://", "aws" }, { "gce://", "gcp" }, { "azure://", "azure" }, { "ocid1.", "oci" }, { "nscale://", "nscale" },
  { "openstack://", "onprem" }, { "metal3://", "mistral" },
}

local function labels_of(node)
  return node.metadata and value.opt(node.metadata.labels) or {}
end

local function name_of(node)
  return node.metadata and node.metadata.name or ""
end

local function of_labels(labels)
  local host = labels["kubernetes.io/hostname"] or ""
  if host:find("forge", 1, true) then
    return "forge", true, ("its host name %s contains forge"):format(value.quoted(host))
  elseif labels["nke.nvidia.com/site-name"] then
    return "forge", true, "it has the label nke.nvidia.com/site-name"
  end
  return "onprem", false, "it has no provider ID"
end

local function of_kubevirt(labels)
  if labels["node-role.together.ai/worker"] then
    return "togetherai", true, "kubevirt:// with the label node-role.together.ai/worker"
  end
  return "onprem", true, "kubevirt:// without the label node-role.together.ai/worker"
end

--- The platform of one node.
---@param node table
---@return string platform
---@return boolean told false where onprem is only what is left
---@return string why
function M.platform_of(node)
  local id = node.spec and value.opt(node.spec.providerID) or ""
  if id == "" then
    return of_labels(labels_of(node))
  elseif id:sub(1, 11) == "kubevirt://" then
    return of_kubevirt(labels_of(node))
  end
  for _, row in ipairs(PREFIXES) do
    if id:sub(1, #row[1]) == row[1] then
      return row[2], true, ("its provider ID starts with %s"):format(row[1])
    end
  end
  return "onprem", false, ("its provider ID %s is of no platform that is known"):format(value.quoted(id))
end

local function by_name(nodes)
  local sorted = table.move(nodes, 1, #nodes, 1, {})
  table.sort(sorted, function(a, b) return name_of(a) < name_of(b) end)
  return sorted
end

local function counted(counts)
  local words = {}
  for _, name in ipairs(sorted_keys(counts)) do
    words[#words + 1] = ("%s %d"):format(name, counts[name])
  end
  return table.concat(words, ", ")
end

--- Platforms that nodes of others look like too.
M.TRAPS = {
  mistral = "every cluster that Metal3 made looks so: --platform says otherwise",
}

--- The platform of a set of nodes, onprem of none. Raises CONFLICT/`mixed-platforms` where nodes say
--- different things, with the count of each.
---@param nodes table[]
---@param opts? {lenient: boolean?} lenient: the first node by name speaks for all
---@return {platform: string, told: boolean, why: string, note: string?}
function M.detect_platform(nodes, opts)
  local sorted, counts, example = by_name(nodes), {}, {}
  if #sorted == 0 then
    return { platform = "onprem", told = false, why = "there are no nodes" }
  end
  for _, node in ipairs(sorted) do
    local name, told, why = M.platform_of(node)
    counts[name] = (counts[name] or 0) + 1
    example[name] = example[name] or { platform = name, told = told, why = ("%s: %s"):format(name_of(node), why) }
  end
  local first = example[(M.platform_of(sorted[1]))]
  if not (opts and opts.lenient) and counts[first.platform] < #sorted then
    local whys = {}
    for _, name in ipairs(sorted_keys(example)) do
      whys[#whys + 1] = ("%s (%s)"):format(name, example[name].why)
    end
    errors.raise {
      code = "CONFLICT", reason = "mixed-platforms", details = { platforms = counts },
      message = ("the nodes are of more than one platform: %s; such as %s. Say which one is meant with --platform")
        :format(counted(counts), table.concat(whys, ", ")),
    }
  end
  first.note = M.TRAPS[first.platform]
  if not first.told then
    first.note = "onprem is what is left; --platform says otherwise"
  end
  return first
end

--- The architecture that a product label stands for, such as "gb200" for "NVIDIA-GB200-NVL72"; "" of
--- nothing.
---@param product string
---@return string
function M.gpu_architecture(product)
  local rest = product
  for _, prefix in ipairs { "NVIDIA-", "NVIDIA " } do
    if rest:sub(1, #prefix) == prefix then
      rest = rest:sub(#prefix + 1)
    end
  end
  if rest:upper():gsub(" ", "-"):sub(1, 12) == "RTX-PRO-6000" then
    return "rtxpro6000"
  end
  local cut = rest:find("[- ]")
  if cut and cut > 1 then
    rest = rest:sub(1, cut - 1)
  end
  return (rest:lower())
end

--- A device's name as the label would say it.
---@param name string
---@return string
function M.product_label_value(name)
  return (name:match "^%s*(.-)%s*$":gsub(" ", "-"):gsub("[^%w._-]", ""))
end

local function product_of_device(device)
  local attributes = value.opt(device.attributes) or value.opt(device.basic) and device.basic.attributes or {}
  local name = value.opt(attributes.productName)
  local text = type(name) == "table" and value.opt(name.string)
  return type(text) == "string" and text ~= "" and text or nil
end

--- The products of nodes whose GPUs are devices of DRA, which have no label: by node name.
---@param slices table[] ResourceSlices
---@return table<string, string>
function M.products_of_slices(slices)
  local products = {}
  for _, slice in ipairs(slices) do
    local spec = value.opt(slice.spec) or {}
    local node = value.opt(spec.nodeName)
    if spec.driver == M.DRA_DRIVER and node and not products[node] then
      for _, device in ipairs(value.list(spec.devices)) do
        local product = product_of_device(device)
        if product then
          products[node] = M.product_label_value(product)
          break
        end
      end
    end
  end
  return products
end

local function winner_of(sorted, arch_of)
  local counts, first = {}, {}
  for i, node in ipairs(sorted) do
    local arch = arch_of[node]
    if arch ~= "" then
      counts[arch] = (counts[arch] or 0) + 1
      first[arch] = first[arch] or i
    end
  end
  local best, tied
  for _, arch in ipairs(sorted_keys(counts)) do
    if not best or counts[arch] > counts[best] then
      best, tied = arch, false
    elseif counts[arch] == counts[best] then
      tied = true
      best = first[arch] < first[best] and arch or best
    end
  end
  return best, tied, counts
end

local function note_of(out, tied, counts, unlabelled)
  if out.arch == M.UNKNOWN then
    return unlabelled > 0 and ("no node has the label %s: say the architecture with --arch"):format(M.PRODUCT_LABEL)
      or nil
  elseif #out.excluded == 0 then
    return nil
  end
  local seen = counted(counts)
  if unlabelled > 0 then
    seen = seen .. (", without the label %s %d"):format(M.PRODUCT_LABEL, unlabelled)
  end
  local left = #out.excluded == 1 and "1 node is" or #out.excluded .. " nodes are"
  return ("GPUs of the nodes: %s; %s was taken%s, %s left out: --arch says otherwise"):format(seen, out.arch,
    tied and " because it has the first node by name of those as frequent" or "", left)
end

--- The architecture that most nodes have, of those that say one; of as many, that of the first node
--- by name. Nodes of another one, or of none, are left out.
---@param nodes table[]
---@param opts? {slices: table[]?, arch: string?} arch: as the user says it
---@return {arch: string, kept: table[], excluded: {node: string, arch: string}[], note: string?}
function M.detect_architecture(nodes, opts)
  local sorted, arch_of, unlabelled = by_name(nodes), {}, 0
  local products = M.products_of_slices(opts and opts.slices or {})
  for _, node in ipairs(sorted) do
    local product = labels_of(node)[M.PRODUCT_LABEL] or products[name_of(node)] or ""
    arch_of[node] = M.gpu_architecture(product)
    unlabelled = unlabelled + (arch_of[node] == "" and 1 or 0)
  end
  local best, tied, counts = winner_of(sorted, arch_of)
  local out = {
    arch = opts and opts.arch or best or M.UNKNOWN, kept = json.array(), excluded = json.array(),
  }
  for _, node in ipairs(sorted) do
    if not best or arch_of[node] == out.arch then
      out.kept[#out.kept + 1] = node
    else
      out.excluded[#out.excluded + 1] = {
        node = name_of(node), arch = arch_of[node] ~= "" and arch_of[node] or M.UNKNOWN,
      }
    end
  end
  out.note = not (opts and opts.arch) and note_of(out, tied, counts, unlabelled) or nil
  return out
end

return M
