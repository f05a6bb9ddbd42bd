-- SPDX-License-Identifier: Apache-2.0
--- Whose runtime the benchmark measures (gke-tcpxo.md 5.2): one that was supplied, the one that the recipe delivers, or
--- the built-in one. The number means something else for each.
local errors = require "aicr.native.error"
local gke = require "aicr.gke"
local sizing = require "aicr.nccl_runtime.sizing"
local scheduling = require "aicr.nccl_runtime.scheduling"
local supplied = require "aicr.nccl_runtime.supplied"
local text = require "aicr.native.text"

local M = {}

M.SUPPLIED = "recipe-supplied-runtime"
M.DELIVERED = "delivered-artifact"
M.CAPABILITY = "cluster-capability"

-- A supplied runtime owns its wiring: nothing of the platform is looked at.
local OWN <const> = {
  selector = function(source)
    return sizing.template_selector(gke.node_template(source.object))
  end,
  preflight = function() end,
  runtime = function(_, request, _, size, namespace)
    local rendered = supplied.render(request.carrier, {
      namespace = namespace, workers = size.workers, gpus = size.gpus, min_size = request.min_size or "1K",
      max_size = request.max_size,
    })
    return scheduling.stamp(rendered, request.selector, request.tolerations)
  end,
  observed = function() end,
}

local function two_owners(what, fix)
  errors.raise {
    code = "INVALID_REQUEST", reason = "two-owners", verdict = true,
    message = ("the recipe ships %s, and there is %s: the benchmark would have two owners; %s"):format(gke.RUNTIME,
      what, fix),
  }
end

local function publish(ctx, class)
  ctx:extra { runtimeSource = class }
  ctx:evidence("runtime source: %s", class)
  return class
end

--- Chooses the source, says which it is, and verifies what the recipe delivers: `{class, platform, shipped, object}`.
--- The class is said before the cluster is looked at, so that a run that fails there says what it set out to measure.
--- Raises INVALID_REQUEST, reasons of `gke.fabric_runtime_delivered`, `two-owners` and `other-runtime`; what the
--- platform's `verify` raises.
---@param ctx aicr.ctx
---@param request table of `request.read`
---@param platforms table<string, table> the platforms' files, by name
---@return table
function M.choose(ctx, request, platforms)
  local recorded = gke.fabric_runtime_delivered(ctx.recipe)
  if request.carrier then
    if recorded then
      two_owners("a supplied benchmark runtime", "drop it to measure what is delivered")
    end
    return { class = publish(ctx, M.SUPPLIED), platform = OWN, object = request.object }
  end
  local platform = platforms[request.row.runtime]
  if not recorded then
    return { class = publish(ctx, M.CAPABILITY), platform = platform }
  elseif not platform.verify then
    errors.raise {
      code = "INVALID_REQUEST", reason = "other-runtime", verdict = true,
      message = ("the recipe ships %s, which is no runtime of %s %s"):format(gke.RUNTIME, request.platform,
        text.printable(request.arch)),
    }
  elseif request.profiled then
    two_owners("a benchmark profile", "drop it to measure what is delivered")
  end
  local class = publish(ctx, M.DELIVERED)
  return { class = class, platform = platform, shipped = platform.verify(ctx, recorded) }
end

return M
