-- SPDX-License-Identifier: Apache-2.0
--- What a recipe and the parameters ask of the benchmark, before the cluster is looked at (gke-tcpxo.md 5.1, steps 1
--- to 7, in its order).
local benchmarks = require "aicr.nccl_runtime.benchmarks"
local catalog = require "aicr.platform.catalog"
local constraint = require "aicr.constraint"
local errors = require "aicr.native.error"
local fleet = require "aicr.fleet"
local image = require "aicr.nccl_runtime.image"
local objects = require "aicr.nccl_runtime.objects"
local platform = require "aicr.platform"
local recipe = require "aicr.recipe"
local scheduling = require "aicr.nccl_runtime.scheduling"
local sorted_keys = require "aicr.base.sorted_keys"
local supplied = require "aicr.nccl_runtime.supplied"
local text = require "aicr.native.text"
local times = require "aicr.nccl_runtime.params"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

M.PROFILE = "nccl-benchmark-profile"

-- What criteria and profiles call a platform.
local SERVICES <const> = { gcp = "gke", aws = "eks", azure = "aks", oci = "oke" }
local PLATFORMS <const> = {}
for name, service in pairs(SERVICES) do
  PLATFORMS[service] = name
end

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

-- The profile that the recipe names, nil when it names none.
local function profile_of(document)
  local value = text.trim(constraints(document, M.PROFILE)[1] or "")
  if value == "" then
    return nil
  end
  local accelerator, service = value:lower():match "^%s*([^/%s]+)%s*/%s*([^/%s]+)%s*$"
  local profile = accelerator and benchmarks.profile(accelerator .. "/" .. service)
  if not profile then
    invalid("benchmark-profile", "constraint %s: expected ACCELERATOR/SERVICE, one of %s, found \"%s\"", M.PROFILE,
      table.concat(benchmarks.profiles(), " "), text.printable(value))
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

-- The fabric that must carry it, nil: that of the platform.
local function fabric_of(given)
  local name = text.trim(given):lower()
  if name ~= "" and not benchmarks.FABRICS[name] then
    invalid("fabric", 'parameter fabric: expected nothing or one of %s, found "%s"',
      table.concat(sorted_keys(benchmarks.FABRICS), " "), text.printable(given))
  end
  return name ~= "" and name or nil
end

-- The architecture that somebody said, nil: nobody.
local function said_architecture(ctx)
  local accelerator = ctx.params.arch ~= "" and ctx.params.arch or tree.text(ctx.recipe, "criteria", "accelerator")
  accelerator = accelerator and accelerator:lower():gsub("-", "") or ""
  return accelerator ~= "" and accelerator ~= "any" and accelerator or nil
end

-- What is to be benchmarked: the profile's pair, else the run's platform and the architecture that was said; what
-- nobody says, the GPU nodes do.
local function target_of(ctx, profile)
  local arch, service
  if profile then
    arch, service = profile.name:match "^([^/]+)/(.+)$"
  end
  local on = service and PLATFORMS[service] or ctx.platform
  arch = arch or said_architecture(ctx)
  local seen = not (on and arch) and fleet.read(ctx)
  return on or seen.platform, arch or seen.arch, seen or nil
end

-- Its row of the benchmarks; skips when there is none for this hardware.
local function row_of(ctx, profile, on, arch)
  local row = not (profile and profile.other) and benchmarks.row(on, arch)
  local target = profile and profile.name or ("%s/%s"):format(arch, SERVICES[on] or on)
  if not row then
    ctx:skip {
      reason = "not-supported",
      message = ("there is no all-reduce benchmark for %s %s; one of your own is measured with --set-file"
        .. " %s.runtime=FILE"):format(profile and "profile" or "accelerator/platform", text.printable(target), M.NAME),
    }
  elseif row.missing then
    errors.raise {
      code = "INVALID_REQUEST", reason = "not-available",
      message = ("the all-reduce benchmark for %s is not in this release: %s"):format(text.printable(target),
        row.missing),
    }
  end
  return row
end

-- The user's own override rows, nil: none.
local function overrides_of(ctx, row)
  local given = ctx.params.overrides
  if text.trim(given) == "" then
    return nil
  elseif row.runtime == "gke" then
    errors.raise {
      code = "INVALID_REQUEST", reason = "override",
      message = "parameter overrides: the benchmark of GPUDirect-TCPXO has no override rows; supply a runtime instead",
    }
  end
  return platform.load_overrides(given, "parameter overrides")
end

-- The floor as it is written, nil when nobody asks for one.
local function floor_of(ctx)
  if ctx.params.min_busbw then
    return ("%s GB/s"):format(math.tointeger(ctx.params.min_busbw) or ctx.params.min_busbw)
  end
  local asked = recipe.constraint(ctx.recipe, "performance", M.NAME)
  return asked and (type(asked.value) == "string" and asked.value or "")
end

-- The floor of the catalogue for a platform and an architecture, nil where it has none.
local function catalogue_floor(on, arch)
  local written = (catalog.thresholds(objects.ALL_REDUCE, on, arch) or {}).busBandwidthGBps
  local groups = written and catalog.parse_threshold(written)
  if groups and (#groups > 1 or #groups[1] > 1 or groups[1][1].op ~= ">=") then
    invalid("constraint", "the threshold \"%s\" of %s is no floor, such as \">= 300\"", text.printable(written),
      catalog.FILE)
  end
  return written
end

-- Ends the check where nobody says a floor: nothing could pass without one.
local function skip_floorless(ctx)
  local arch = said_architecture(ctx)
  local profile = arch and benchmarks.profile(("%s/%s"):format(arch, SERVICES[ctx.platform] or ctx.platform))
  local example = profile and profile.floor
  ctx:skip {
    reason = "no-constraint",
    message = (ctx.recipe and "the recipe has no performance constraint %s; a floor can be given with"
      or "no recipe given, and no floor for %s: add --recipe FILE or"):format(M.NAME)
      .. (" --set %s.min_busbw=%dGB/s"):format(M.NAME, example or 300)
      .. (example and (", as AICR's recipes want of two nodes of %s"):format(profile.name)
      or ", or what it has to reach"),
  }
end

-- Bytes of a value of the benchmark.
local FLOAT <const> = 4

--- Refuses sizes of which nothing could be judged. Raises INVALID_REQUEST/`sweep`.
---@param first integer bytes
---@param last integer bytes
function M.require_sweep(first, last)
  if last < FLOAT or first > last then
    errors.raise {
      code = "INVALID_REQUEST", reason = "sweep",
      message = last < FLOAT and ("parameter max_size: %d bytes hold no value of %d bytes"):format(last, FLOAT)
        or ("the sweep would begin at %s and end at %s, parameters min_size and max_size"):format(M.size_text(first),
          M.size_text(last)),
    }
  end
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

-- Parameters that some benchmarks have no use for.
local PATHS <const> = { "fabric", "mnnvl", "nic_resource", "nics" }
local BUILDS <const> = { "overrides", "runtime_image" }

-- Says which parameters change nothing, and which floor another one goes before.
local function tell_unused(ctx, out)
  local unused = {}
  for _, list in ipairs { (out.carrier or out.row.runtime == "gke") and PATHS or {}, out.carrier and BUILDS or {} } do
    for _, name in ipairs(list) do
      local given = ctx.params[name]
      unused[#unused + 1] = given ~= nil and given ~= "" and name or nil
    end
  end
  if #unused > 0 then
    ctx:evidence("%s does not use parameters that were given: %s", out.carrier and "a supplied runtime"
      or "the benchmark of GPUDirect-TCPXO", table.concat(unused, ", "))
  end
  local asked = ctx.params.min_busbw and recipe.constraint(ctx.recipe, "performance", M.NAME)
  if asked then
    ctx:evidence("parameter min_busbw goes before the recipe's constraint %s", text.printable(tostring(asked.value)))
  end
end

--- What is asked: `{floor, floor_text, carrier, profiled, image, platform, arch, row, fleet, fabric, overrides,
--- selector, tolerations, min_size, max_size, min_bytes, max_bytes}`; min_size nil: the runtime's own; fleet: where it
--- was read. Skips the check when nothing is asked (`no-constraint`) or there is no benchmark for the hardware
--- (`not-supported`). Raises INVALID_REQUEST, verdicts `two-runtimes`, `runtime-unresolved`, `fabric`,
--- `runtime-image`, `benchmark-profile`, `constraint` and those of `supplied.check`; no verdicts `not-available`,
--- `override`, `node-selector`, `toleration`, `sweep`, `times`; where nobody says platform or architecture,
--- what `aicr.fleet.read` raises.
---@param ctx aicr.ctx
---@return table
function M.read(ctx)
  local params = ctx.params
  times.check(params)
  M.require_sweep(params.min_size or FLOAT, params.max_size)
  local floor_text = floor_of(ctx)
  if not floor_text and not catalog.thresholds(objects.ALL_REDUCE) then
    skip_floorless(ctx)
  end
  local profile, carrier = profile_of(ctx.recipe), carrier_of(ctx)
  local object = carrier and supplied.check(carrier)
  if carrier and profile then
    invalid("two-runtimes", "a supplied benchmark runtime and constraint %s: drop one of them", M.PROFILE)
  end
  local out = {
    carrier = carrier, object = object, profiled = profile ~= nil,
    min_size = params.min_size and M.size_text(params.min_size), max_size = M.size_text(params.max_size),
    min_bytes = params.min_size, max_bytes = params.max_size,
    selector = scheduling.selector(params.node_selector), tolerations = scheduling.tolerations(params.toleration),
  }
  if not carrier then
    out.fabric, out.image = fabric_of(params.fabric), image.reference(params.runtime_image)
    out.platform, out.arch, out.fleet = target_of(ctx, profile)
    out.row = row_of(ctx, profile, out.platform, out.arch)
    out.overrides = overrides_of(ctx, out.row)
    floor_text = floor_text or catalogue_floor(out.platform, out.arch)
  end
  if not floor_text then
    skip_floorless(ctx)
  end
  out.floor_text, out.floor = floor_text, M.floor(floor_text)
  tell_unused(ctx, out)
  return out
end

return M
