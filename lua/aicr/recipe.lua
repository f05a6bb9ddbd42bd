-- SPDX-License-Identifier: Apache-2.0
--- AICR's resolved recipes (validation-model.md 0 and 9; gke-tcpxo.md 2.4, 3.6; design 8).
local attempt = require "aicr.base.attempt"
local component = require "aicr.component"
local errors = require "aicr.native.error"
local gke = require "aicr.gke"
local json = require "aicr.json"
local native = require "aicr.native.gke"
local sorted_keys = require "aicr.base.sorted_keys"
local text = require "aicr.native.text"
local yaml = require "aicr.yaml"

local M = {}

--- The kind of a resolved recipe.
M.KIND = "RecipeResult"
--- The apiVersion that may carry `configuration` and a selected profile.
M.CONFIGURED = "aicr.run/v1beta2"

-- apiVersion -> "" (read silently) or its age.
local RESULT_VERSIONS <const> = {
  ["aicr.run/v1"] = "",
  [M.CONFIGURED] = "",
  ["aicr.run/v1beta1"] = "from before AICR 1.0",
  ["aicr.run/v1alpha3"] = "from before AICR 1.0",
  ["aicr.run/v1alpha2"] = "of about AICR 0.17",
  ["aicr.nvidia.com/v1alpha1"] = "of AICR 0.11 or older",
}
local SOURCE_VERSIONS <const> = { ["aicr.run/v1beta1"] = "", [M.CONFIGURED] = "" }

local function refuse(reason, fmt, ...)
  errors.raise {
    code = "INVALID_REQUEST", reason = reason, message = fmt:format(...), verdict = true,
  }
end

local function quoted(v)
  if type(v) == "string" then
    return '"' .. text.printable(v) .. '"'
  elseif v == nil then
    return "nothing"
  elseif v == json.null then
    return "null"
  elseif type(v) == "table" then
    return json.is_array(v) and "a list" or "a map"
  end
  return tostring(v)
end

--- Judges the header of a document that claims to be a recipe: kind first, then version.
--- Returns the age of an old version, nil for one that is read silently. Raises
--- INVALID_REQUEST, reasons `wrong-kind`, `unsupported-version`.
---@param kind any
---@param api_version any
---@return string|nil age
function M.header(kind, api_version)
  local versions
  if kind == M.KIND then
    versions = RESULT_VERSIONS
  elseif kind == "RecipeMetadata" then
    versions = SOURCE_VERSIONS
  else
    refuse("wrong-kind", "kind: expected %s, found %s", M.KIND, quoted(kind))
  end
  local age = type(api_version) == "string" and versions[api_version]
  if not age then
    refuse("unsupported-version", "apiVersion: expected aicr.run/v1 or %s, found %s", M.CONFIGURED,
      quoted(api_version))
  end
  return age ~= "" and age or nil
end

-- Readers. Each takes a value, its place and the list of warnings, and returns the value as its
-- field holds it; null is the empty value of any type, as in the tool that writes recipes.

local function wrong(place, expected, v)
  refuse("wrong-type", "%s: expected %s, found %s", place, expected, quoted(v))
end

local function read_text(v, place, warnings)
  if math.type(v) == "float" then
    -- 1.30 would arrive as 1.3: what was written is lost.
    warnings[#warnings + 1] = ("%s: the number %s is read as text; write it in quotes")
      :format(place, tostring(v))
  elseif type(v) ~= "string" and type(v) ~= "boolean" and math.type(v) ~= "integer" then
    wrong(place, "a text", v)
  end
  return tostring(v)
end

local function read_limit(v, place, warnings)
  if math.type(v) == "float" then
    refuse("wrong-type", "%s: write the value in quotes: as a bare number %s may have lost digits",
      place, tostring(v))
  end
  return read_text(v, place, warnings)
end

local YES <const> = { y = true, Y = true, yes = true, Yes = true, YES = true, on = true, On = true,
  ON = true }
local NO <const> = { n = true, N = true, no = true, No = true, NO = true, off = true, Off = true,
  OFF = true }

local function read_flag(v, place)
  if type(v) == "boolean" then
    return v
  elseif YES[v] or NO[v] then
    return YES[v] or false
  end
  wrong(place, "true or false", v)
end

local function read_integer(v, place)
  local n = type(v) == "number" and math.tointeger(v)
  if not n then
    wrong(place, "a whole number", v)
  end
  return n
end

local function read_any(v)
  return v
end

local function list_of(read, empty)
  return function(v, place, warnings)
    if not json.is_array(v) then
      wrong(place, "a list", v)
    end
    local out = json.array()
    for i = 1, #v do
      local item = v[i]
      if item == json.null then
        item = empty == nil and {} or empty
      end
      out[i] = read(item, ("%s[%d]"):format(place, i - 1), warnings)
    end
    return out
  end
end

local function check_map(v, place)
  if type(v) ~= "table" or json.is_array(v) then
    wrong(place, "a map", v)
  end
end

local function child(place, key)
  local shown = text.printable(key)
  return place == "" and shown or place .. "." .. shown
end

local function map_of(read)
  return function(v, place, warnings)
    check_map(v, place)
    local out = {}
    for _, key in ipairs(sorted_keys(v)) do
      local value = v[key] == json.null and "" or v[key]
      out[key] = read(value, child(place, key), warnings)
    end
    return out
  end
end

local function unknown_field(place, key, fields)
  local near = text.nearest(key, sorted_keys(fields))
  return ("%s: unknown field%s"):format(child(place, key),
    near and ("; did you mean \"%s\"?"):format(near) or "")
end

-- `fields`: name -> reader. Unknown fields stay as they are, with a warning unless `open`.
local function record(fields, open)
  return function(v, place, warnings)
    check_map(v, place)
    local out = {}
    for _, key in ipairs(sorted_keys(v)) do
      local read = fields[key]
      if not read then
        out[key] = v[key]
        if not open then
          warnings[#warnings + 1] = unknown_field(place, key, fields)
        end
      elseif v[key] ~= json.null then
        out[key] = read(v[key], child(place, key), warnings)
      end
    end
    return out
  end
end

local function read_overrides(v, place, warnings)
  check_map(v, place)
  for _, gate in ipairs(component.GATES) do
    if v[gate] ~= nil and type(v[gate]) ~= "boolean" then
      warnings[#warnings + 1] = ("%s: %s is not a boolean, so the component counts as enabled"
        .. " (write true or false)"):format(child(place, gate), quoted(v[gate]))
    end
  end
  return v
end

local texts <const> = list_of(read_text, "")
local constraints <const> = list_of(record {
  name = read_text, value = read_limit, severity = read_text, remediation = read_text,
  unit = read_text,
})
local interfaces <const> = list_of(record { interfaceName = read_text, network = read_text })
local phase <const> = record {
  timeout = read_text,
  checks = texts,
  constraints = constraints,
  infrastructure = read_text,
  nodeSelection = record {
    selector = map_of(read_text), maxNodes = read_integer, excludeNodes = texts,
  },
}
local component_ref <const> = record {
  name = read_text, namespace = read_text, type = read_text, chart = read_text, source = read_text,
  version = read_text, tag = read_text, path = read_text, valuesFile = read_text,
  overrides = read_overrides, patches = texts, dependencyRefs = texts, manifestFiles = texts,
  preManifestFiles = texts,
  expectedResources = list_of(record { kind = read_text, name = read_text, namespace = read_text }),
  healthCheckAsserts = read_text, healthCheckSkip = read_flag, cleanup = read_flag,
}
local criteria <const> = record {
  service = read_text, accelerator = read_text, intent = read_text, os = read_text,
  platform = read_text, nodes = read_integer,
}
local read_recipe <const> = record {
  kind = read_text,
  apiVersion = read_text,
  -- Made by the tool that resolved the recipe; only what is looked at is read.
  metadata = record({
    name = read_text, version = read_text, appliedOverlays = texts, excludedOverlays = read_any,
    selectedProfile = record({
      name = read_text, value = read_text, ownedPaths = map_of(texts),
    }, true),
  }, true),
  criteria = criteria,
  configuration = record { gke = record { tcpxoInterfaces = interfaces } },
  constraints = constraints,
  componentRefs = list_of(component_ref),
  deploymentOrder = texts,
  validation = record {
    readiness = phase, deployment = phase, performance = phase, conformance = phase,
  },
}

-- Coherence of configuration.gke.tcpxoInterfaces (gke-tcpxo.md 3.6).

local RECORDED <const> = "configuration.gke.tcpxoInterfaces"

local function incoherent(fmt, ...)
  refuse("incoherent", fmt, ...)
end

local function owned_by_profile(recipe)
  local profile = recipe.metadata and recipe.metadata.selectedProfile
  local paths = profile and profile.ownedPaths and profile.ownedPaths[gke.TRAINER] or {}
  for _, path in ipairs(paths) do
    if path == gke.OVERRIDE or path:sub(1, #gke.OVERRIDE + 1) == gke.OVERRIDE .. "." then
      incoherent("%s: the selected profile owns %s.%s too", RECORDED, gke.TRAINER, path)
    end
  end
end

local function check_projected(mapping, trainer)
  local projected = component.override(trainer, gke.OVERRIDE)
  if projected == nil then
    incoherent("%s is recorded, but component %s has no override %s", RECORDED, gke.TRAINER,
      gke.OVERRIDE)
  end
  projected = gke.normalize_interfaces(projected,
    ("component %s: overrides.%s"):format(gke.TRAINER, gke.OVERRIDE))
  local same = #projected == #mapping
  for i = 1, same and #mapping or 0 do
    same = same and projected[i].interfaceName == mapping[i].interfaceName
      and projected[i].network == mapping[i].network
  end
  if not same then
    incoherent("%s and override %s of component %s differ: generate the recipe again instead of"
      .. " editing one half", RECORDED, gke.OVERRIDE, gke.TRAINER)
  end
end

local APPLIES_TO <const> = { service = "gke", accelerator = "h100", platform = "kubeflow" }

local function check_coherence(recipe)
  local configured = recipe.configuration and recipe.configuration.gke
  if not configured then
    return
  end
  if recipe.apiVersion ~= M.CONFIGURED then
    incoherent("%s needs apiVersion %s, found %s", RECORDED, M.CONFIGURED,
      quoted(recipe.apiVersion))
  end
  local mapping = json.array()
  for i, entry in ipairs(configured.tcpxoInterfaces or {}) do
    mapping[i] = { interfaceName = entry.interfaceName or "", network = entry.network or "" }
  end
  local _, err = attempt(native.validate_interfaces, mapping)
  if err then
    refuse(err.reason, "%s: %s", RECORDED, err.message)
  end
  for _, key in ipairs { "service", "accelerator", "platform" } do
    local found = recipe.criteria and recipe.criteria[key]
    if found ~= APPLIES_TO[key] then
      incoherent("%s is for criteria.%s %s, found %s", RECORDED, key, APPLIES_TO[key],
        quoted(found))
    end
  end
  local trainer = component.named(recipe, gke.TRAINER)[1]
  if not trainer or not component.enabled(trainer)
    or not component.has_manifest(trainer, gke.RUNTIME_MANIFEST) then
    incoherent("%s needs component %s to ship %s", RECORDED, gke.TRAINER, gke.RUNTIME)
  end
  local tcpxo = component.named(recipe, gke.COMPONENT)[1]
  if not tcpxo or not component.enabled(tcpxo) then
    incoherent("%s needs component %s to be enabled", RECORDED, gke.COMPONENT)
  end
  owned_by_profile(recipe)
  check_projected(mapping, trainer)
end

local function decode(source)
  local document, err = attempt(yaml.decode, source, { schema = "recipe" })
  if err then
    refuse(err.reason, "%s", err.message)
  end
  return document
end

local function read(source, warnings)
  local document = decode(source)
  check_map(document, "the document")
  local age = M.header(document.kind, document.apiVersion)
  if document.kind ~= M.KIND then
    refuse("wrong-kind", "kind: %s is the source of an overlay; resolve it into a %s first with"
      .. " \"aicr recipe\"", document.kind, M.KIND)
  end
  if age then
    warnings[#warnings + 1] = ("apiVersion %s is %s; generate the recipe again with a newer AICR")
      :format(document.apiVersion, age)
  end
  local recipe = read_recipe(document, "", warnings)
  if recipe.apiVersion == "aicr.run/v1" and recipe.metadata and recipe.metadata.selectedProfile then
    refuse("incoherent", "metadata.selectedProfile needs apiVersion %s, found \"aicr.run/v1\"",
      M.CONFIGURED)
  end
  check_coherence(recipe)
  return recipe
end

--- Reads a recipe, YAML or JSON. Fields have the types of AICR: a whole number or a boolean in a
--- text field is its text, null is absent; `overrides` stay as written, nulls included. Warnings
--- are sentences that begin with the file's name. Raises INVALID_REQUEST (a verdict), reasons
--- `malformed`, `duplicate-key` and the others of `aicr.yaml`, `wrong-kind`,
--- `unsupported-version`, `wrong-type`, `incoherent`, `mapping-invalid`, `mapping-malformed`.
---@param source string
---@param filename string|nil for messages
---@return table recipe
---@return string[] warnings
function M.load(source, filename)
  local prefix = filename and text.printable(filename) .. ": " or ""
  local warnings = {}
  local recipe, err = attempt(read, source, warnings)
  if err then
    errors.raise {
      code = err.code, reason = err.reason, message = prefix .. err.message, details = err.details, cause = err.cause,
      verdict = err.verdict,
    }
  end
  for i, warning in ipairs(warnings) do
    warnings[i] = prefix .. warning
  end
  return recipe, warnings
end

--- Does the recipe declare the component: an entry of exactly that name that is enabled? No recipe
--- declares nothing (gke-tcpxo.md 2.4).
---@param recipe table|nil
---@param name string
---@return boolean
function M.declares(recipe, name)
  return component.first_enabled(recipe, name) ~= nil
end

--- Why a component is not declared, for the message of a skip: there is no recipe, or it says nothing
--- of the component.
---@param recipe table|nil
---@param name string
---@return string
function M.undeclared(recipe, name)
  if recipe == nil then
    return ("no recipe given: add --recipe FILE, one that declares %s"):format(name)
  end
  return ("the recipe does not declare %s"):format(name)
end

--- The first enabled entry of that name, nil when there is none.
---@param recipe table|nil
---@param name string
---@return table|nil
function M.component(recipe, name)
  return component.first_enabled(recipe, name)
end

local function find_constraint(list, name)
  if type(list) == "table" then
    for i = 1, #list do
      if type(list[i]) == "table" and list[i].name == name then
        return list[i]
      end
    end
  end
  return nil
end

--- The first constraint of that name in a phase: "deployment", "performance", "conformance", or
--- "readiness" (the recipe's own list, then that of `validation.readiness`); nil if there is none.
---@param recipe table|nil
---@param phase_name string
---@param name string
---@return table|nil constraint `{name=, value=, unit=, …}`
function M.constraint(recipe, phase_name, name)
  if type(recipe) ~= "table" then
    return nil
  end
  local found = phase_name == "readiness" and find_constraint(recipe.constraints, name) or nil
  local validation = type(recipe.validation) == "table" and recipe.validation or {}
  local section = validation[phase_name]
  if found or type(section) ~= "table" then
    return found
  end
  return find_constraint(section.constraints, name)
end

return M
