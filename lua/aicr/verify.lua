-- SPDX-License-Identifier: Apache-2.0
--- Verifiers: each returns nothing when what it looks at holds, and raises an error object when it
--- does not (gke-tcpxo.md 3.5, 3.9, 3.10; validation-model.md 5).
---
--- The rule behind `require` and `require_list`: a read that could not be made is never evidence
--- that something does not apply.
local errors = require "aicr.native.error"
local failure = require "aicr.failure"
local native = require "aicr.native.gke"
local recipe = require "aicr.recipe"

local M = {}

--- The class of a failed call of the client: see `aicr.failure`.
M.classify = failure.classify

--- The code of a generic read that failed: see `aicr.failure`.
M.read_code = failure.read_code

local SENTENCE <const> = {
  UNAUTHORIZED = "cannot verify %s: the API server refuses to show it to this user",
  TIMEOUT = "cannot verify %s: the read timed out",
  SERVICE_UNAVAILABLE = "cannot verify %s: the API server is not available",
  INTERNAL = "cannot verify %s: the read failed",
}

-- The read could not be made: an error, whatever the recipe declares.
local function raise_unreadable(err, code, subject)
  errors.raise {
    code = code, reason = err.reason, cause = err, details = err.details,
    message = SENTENCE[code]:format(subject),
  }
end

local function check_error(err, what)
  if err ~= nil and not errors.is(err) then
    error(what .. " must be an error object or nil", 3)
  end
end

local function inapplicable(document, name, subject)
  local why = recipe.undeclared(document, name)
  return document == nil and why or ("%s: nothing to verify about %s"):format(why, subject)
end

--- Judges a probe for something that a recipe's component needs (gke-tcpxo.md 3.10):
--- returns when it is present; raises NOT_FOUND when it is absent (or its API is not served) and
--- the recipe declares the component; skips the check (`not-declared`) when it does not;
--- raises UNAUTHORIZED, TIMEOUT, SERVICE_UNAVAILABLE or INTERNAL, declared or not, when the probe
--- could not be made. Fields of `capability`:
--- `component` (string), `probe` (error object or nil), `present` (boolean, looked at without a
--- probe error), `absent` (message of the fail), `reason` (reason of the fail when nothing failed,
--- "not-found"), `subject` (what is probed, default the component), `inapplicable` (message of the
--- skip when there is a recipe).
---@param ctx table
---@param capability table
function M.require(ctx, capability)
  local name, probe = capability.component, capability.probe
  if type(name) ~= "string" then
    error("verify.require: component must be a string", 2)
  end
  check_error(probe, "verify.require: probe")
  if not probe and capability.present then
    return
  end
  local subject = capability.subject or name
  local class = probe and failure.classify(probe) or "NOT_FOUND"
  if class ~= "NOT_FOUND" then
    raise_unreadable(probe, class, subject)
  end
  if not recipe.declares(ctx.recipe, name) then
    ctx:skip {
      reason = "not-declared",
      message = ctx.recipe ~= nil and capability.inapplicable or inapplicable(ctx.recipe, name, subject),
    }
  end
  errors.raise {
    code = "NOT_FOUND", verdict = true, cause = probe, details = probe and probe.details,
    reason = probe and probe.reason or capability.reason or "not-found",
    message = capability.absent
      or ("the recipe declares %s, but %s is not there"):format(name, subject),
  }
end

--- Raises for any error of a list (gke-tcpxo.md 3.10): an API that is not served is INTERNAL here.
--- An empty list is the caller's business. `opts.subject`: what was listed.
---@param _ table|nil ctx, for symmetry with `require`
---@param err table|nil error object
---@param opts table|nil
function M.require_list(_, err, opts)
  check_error(err, "verify.require_list: err")
  if err == nil then
    return
  end
  local class = failure.classify(err)
  raise_unreadable(err, class == "NOT_FOUND" and "INTERNAL" or class,
    opts and opts.subject or "the list")
end

--- Recorded and deployed must be equal pair by pair, in order (gke-tcpxo.md 3.5). Raises
--- INVALID_REQUEST, reasons `mapping-count`, `mapping-mismatch`, with `details.diff`.
M.mapping_matches_recipe = native.verify_mapping

--- Every network that a mapping selects must be on the cluster and usable (gke-tcpxo.md 3.9).
--- Raises NOT_FOUND/`network-missing` before CONFLICT/`network-not-usable`.
---@param deployed table[] pairs
---@param usable string[] names of bound networks
---@param present string[]|nil names of all GPU NIC networks; default: the usable ones
function M.networks_exist(deployed, usable, present)
  native.verify_networks_exist(deployed, usable, present or usable)
end

return M
