-- SPDX-License-Identifier: Apache-2.0
--- What a recipe and the parameters ask of the benchmark, before the cluster is looked at (gke-tcpxo.md 5.1, steps 1
--- to 7, in its order).
local constraint = require "aicr.constraint"
local errors = require "aicr.native.error"
local image = require "aicr.nccl_runtime.image"
local recipe = require "aicr.recipe"
local scheduling = require "aicr.nccl_runtime.scheduling"
local supplied = require "aicr.nccl_runtime.supplied"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

M.PROFILE = "nccl-benchmark-profile"

-- The benchmarks of AICR's default variant, and the platform whose file runs each; false: not in this release.
local BENCHMARKS <const> = {
  ["h100/gke"] = "gcp", ["h100/eks"] = false, ["h200/eks"] = false, ["h100/aks"] = false, ["b200/any"] = false,
}
-- Profiles of its other variants.
local OTHER_VARIANTS <const> = { ["gb200/any"] = true, ["gb200/eks"] = true, ["gb200/oke"] = true }
-- What criteria and profiles call a platform.
local SERVICES <const> = { gcp = "gke", aws = "eks", azure = "aks", oci = "oke" }
local FABRICS <const> = { [""] = true, efa = true, roce = true }

local function invalid(reason, fmt, ...)
  errors.raise { code = "INVALID_REQUEST", reason = reason, verdict = true, message = fmt:format(...) }
end

-- The values of the performance constraints of that name, in order.
local function constraints(document, name)
  local found = {}
  for _, entry in ipairs(tree.list(document, "validation", "performance", "constraints")) do
    if tree.text(entry, "name") == name then
      found[#found + 1] = tree.text(entry, "value") or ""
    end
  end
  return found
end

-- The one value of a constraint, trimmed; nil when it is absent or blank.
local function only(document, name)
  local found = constraints(document, name)
  if #found > 1 then
    invalid("two-runtimes", "the recipe has %d constraints %s, at most one may be", #found, name)
  end
  local value = text.trim(found[1] or "")
  return value ~= "" and value or nil
end

local function known_profiles()
  local names = {}
  for _, set in ipairs { BENCHMARKS, OTHER_VARIANTS } do
    for name in pairs(set) do
      names[#names + 1] = name
    end
  end
  table.sort(names)
  return table.concat(names, " ")
end

-- "ACCELERATOR/SERVICE", nil when the recipe has no profile.
local function profile_of(document)
  local value = text.trim(constraints(document, M.PROFILE)[1] or "")
  if value == "" then
    return nil
  end
  local accelerator, service = value:lower():match "^%s*([^/%s]+)%s*/%s*([^/%s]+)%s*$"
  local profile = accelerator and accelerator .. "/" .. service
  if not profile or BENCHMARKS[profile] == nil and not OTHER_VARIANTS[profile] then
    invalid("benchmark-profile", "constraint %s: expected ACCELERATOR/SERVICE, one of %s, found \"%s\"", M.PROFILE,
      known_profiles(), text.printable(value))
  end
  return profile
end

-- The text of a supplied runtime, nil when none is supplied.
local function carrier_of(ctx)
  local carried, reference = only(ctx.recipe, supplied.CONSTRAINT), only(ctx.recipe, supplied.REFERENCE)
  local given = text.trim(ctx.params.runtime)
  given = given ~= "" and given or nil
  if carried and given then
    invalid("two-runtimes", "two benchmark runtimes: constraint %s of the recipe and parameter runtime",
      supplied.CONSTRAINT)
  elseif reference and not carried and not given then
    invalid("runtime-unresolved", "constraint %s: \"%s\" was not replaced by the runtime that it names",
      supplied.REFERENCE, text.printable(reference))
  end
  return carried or given
end

local function check_fabric(given)
  if not FABRICS[text.trim(given):lower()] then
    invalid("fabric", 'parameter fabric: expected nothing, "efa" or "roce", found "%s"', text.printable(given))
  end
end

-- What is to be benchmarked, "ACCELERATOR/SERVICE": the recipe's criteria, on the run's platform.
local function target_of(ctx)
  if not ctx.platform then
    errors.raise {
      code = "INVALID_REQUEST", reason = "platform-unknown",
      message = "the platform of this cluster is not known, and with it the benchmark",
    }
  end
  local accelerator = tree.text(ctx.recipe, "criteria", "accelerator")
  if ctx.recipe == nil then
    accelerator = "h100"
  end
  return ("%s/%s"):format((accelerator or "any"):lower(), SERVICES[ctx.platform] or ctx.platform)
end

-- The platform whose file has the benchmark; skips when there is none for this hardware.
local function platform_of(ctx, profile)
  local target = profile or target_of(ctx)
  local platform = BENCHMARKS[target]
  if platform == nil then
    platform = BENCHMARKS[target:gsub("/.*", "/any")]
  end
  if platform == nil then
    ctx:skip {
      reason = "not-supported",
      message = ("there is no all-reduce benchmark for %s %s"):format(profile and "profile" or "accelerator/platform",
        text.printable(target)),
    }
  elseif not platform then
    errors.raise {
      code = "INVALID_REQUEST", reason = "not-available",
      message = ("the all-reduce benchmark for %s is not in this release"):format(text.printable(target)),
    }
  end
  return platform
end

-- The floor as it is written, nil when nobody asks for one.
local function floor_of(ctx)
  if ctx.params.min_busbw then
    return ("%s GB/s"):format(math.tointeger(ctx.params.min_busbw) or ctx.params.min_busbw)
  end
  local asked = recipe.constraint(ctx.recipe, "performance", M.NAME)
  return asked and (type(asked.value) == "string" and asked.value or "")
end

-- Of less nothing is printed.
local FLOOR_MIN <const> = 0.01

--- The floor in GB/s. The rule of thresholds ends a number at a blank and looks at no unit; here "3 00", "1 TB/s" and a
--- floor that every bandwidth reaches are refused. Raises INVALID_REQUEST/`constraint`, a verdict.
---@param written string
---@return number
function M.floor(written)
  local floor = constraint.threshold(written)
  local behind = text.trim(written):gsub("^[<>=!%s]+", ""):match "^%S+%s+(.*)$" or ""
  if behind:find "^%d" or behind:find "^[kKMTPGg]?i?[Bb]" and not behind:find "^GB" then
    invalid("constraint", "the floor \"%s\" is no number of GB/s, such as \">= 300\" or \"300 GB/s\"",
      text.printable(written))
  elseif floor < FLOOR_MIN then
    invalid("constraint", "the floor \"%s\" is below %.2f GB/s: every bandwidth would reach it",
      text.printable(written), FLOOR_MIN)
  end
  return floor
end

local SIZES <const> = { { "G", 30 }, { "M", 20 }, { "K", 10 } }

--- A size as nccl-tests takes it: "16G", "1K", bytes where no unit fits.
---@param bytes integer
---@return string
function M.size_text(bytes)
  for _, unit in ipairs(SIZES) do
    if bytes > 0 and bytes & ((1 << unit[2]) - 1) == 0 then
      return ("%d%s"):format(bytes >> unit[2], unit[1])
    end
  end
  return tostring(bytes)
end

--- Name of the check and of its constraint.
M.NAME = "nccl-all-reduce-bw"

--- What is asked: `{floor, floor_text, carrier, profiled, image, platform, selector, tolerations, min_size, max_size,
--- max_bytes}`. Skips the check when nothing is asked (`no-constraint`) or there is no benchmark for the hardware
--- (`not-supported`). Raises INVALID_REQUEST, verdicts `two-runtimes`, `runtime-unresolved`, `fabric`, `runtime-image`,
--- `benchmark-profile`, `constraint` and those of `supplied.check`; no verdicts `platform-unknown`, `not-available`,
--- `node-selector`, `toleration`.
---@param ctx aicr.ctx
---@return table
function M.read(ctx)
  local params = ctx.params
  local floor_text = floor_of(ctx)
  if not floor_text then
    ctx:skip {
      reason = "no-constraint",
      message = ctx.recipe and ("the recipe has no performance constraint %s"):format(M.NAME)
        or ("no recipe given, and no floor: add --recipe FILE or --set %s.min_busbw=300GB/s"):format(M.NAME),
    }
  end
  local profile, carrier = profile_of(ctx.recipe), carrier_of(ctx)
  local object = carrier and supplied.check(carrier)
  if carrier and profile then
    invalid("two-runtimes", "a supplied benchmark runtime and constraint %s: drop one of them", M.PROFILE)
  end
  local reference
  if not carrier then
    check_fabric(params.fabric)
    reference = image.reference(params.runtime_image)
  end
  return {
    carrier = carrier, object = object, profiled = profile ~= nil, image = reference,
    platform = not carrier and platform_of(ctx, profile) or nil,
    floor_text = floor_text, floor = M.floor(floor_text),
    selector = scheduling.selector(params.node_selector), tolerations = scheduling.tolerations(params.toleration),
    min_size = M.size_text(params.min_size), max_size = M.size_text(params.max_size),
    min_bytes = params.min_size, max_bytes = params.max_size,
  }
end

return M
