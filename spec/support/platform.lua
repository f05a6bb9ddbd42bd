-- SPDX-License-Identifier: Apache-2.0
--- What the specs of aicr.platform share: comparing as JSON, and the marks that the vectors put in
--- the place of scripts.
local json = require "aicr.json"
local luassert = require "luassert"
local quantity = require "aicr.quantity"
local scripts = require "aicr.platform.scripts"
local value = require "aicr.platform.value"

local M = {}

M.FILE = "platform-sample.jsonl"

local MARKS <const> = {
  [scripts.WORKER] = "<worker-script>",
  [scripts.LAUNCHER_INIT] = "<launcher-init-script>",
  [scripts.LAUNCHER_INIT .. scripts.WAIT_FOR_WORKERS] = "<launcher-init-script>+<wait-for-workers>",
}

--- A copy in which f(value, key) stands for each value, innermost first; nil leaves it out.
function M.map(v, f, key)
  if type(v) ~= "table" then
    return f(v, key)
  end
  local out = json.is_array(v) and json.array() or {}
  if value.is_list(v) then
    for _, item in ipairs(v) do
      out[#out + 1] = M.map(item, f)
    end
    return f(json.array(out), key)
  end
  for k, member in pairs(v) do
    out[k] = M.map(member, f, k)
  end
  return f(out, key)
end

--- The object with marks for its scripts.
function M.marked(object)
  return M.map(object, function(v) return MARKS[v] or v end)
end

-- Equal by meaning, by tag of the vectors' README.
local EQUAL <const> = {
  -- Text templates of the reference made other types of names that look like them.
  ["yaml-typed-name"] = function(v, key)
    if key == "labels" then
      v.app = "the name"
    end
    return v
  end,
  ["quantity-canonical"] = function(v, key)
    if key == "limits" or key == "requests" then
      for name, amount in pairs(v) do
        v[name] = quantity.milli(amount)
      end
    end
    return v
  end,
  ["empty-map-dropped"] = function(v, key)
    if (key == "limits" or key == "requests") and next(v) == nil then
      return nil
    end
    return v
  end,
}

--- The documents with the annotations of pods left out that repeat those of their job: ours has them
--- in both places.
function M.without_pod_annotations(documents)
  return M.map(documents, function(v)
    local pod = type(v) == "table" and v.metadata and v.spec and type(v.spec) == "table" and v.spec.template
    if type(pod) == "table" and pod.metadata and v.metadata.annotations then
      luassert.same(v.metadata.annotations, pod.metadata.annotations)
      pod.metadata.annotations = nil
      pod.metadata = next(pod.metadata) and pod.metadata or nil
    end
    return v
  end)
end

--- The rows in the form of the vectors: without names, which must be there and different.
function M.rows(rows)
  local seen = {}
  local out = M.without_pod_annotations(rows)
  for _, row in ipairs(out) do
    luassert.is_string(row.name)
    luassert.is_nil(seen[row.name], row.name .. " is there twice")
    seen[row.name] = true
    row.name = nil
  end
  return out
end

--- Fails unless the values are the same JSON text, after what the tags let differ.
function M.same(want, got, tags)
  for _, tag in ipairs(tags or {}) do
    if EQUAL[tag] then
      want, got = M.map(want, EQUAL[tag]), M.map(got, EQUAL[tag])
    end
  end
  if json.encode(want) ~= json.encode(got) then
    luassert.same(want, got)
    luassert.equal(json.encode(want), json.encode(got))
  end
end

--- Does the row have the tag?
function M.tagged(row, tag)
  for _, word in ipairs(row.tags or {}) do
    if word == tag then
      return true
    end
  end
  return false
end

--- The configuration of a vector, without nulls.
function M.config(fields)
  return M.map(fields, function(v)
    if v ~= json.null then
      return v
    end
  end)
end

--- A list for nil and null, as a nil slice of the reference is one.
function M.list(v)
  return value.list(v)
end

return M
