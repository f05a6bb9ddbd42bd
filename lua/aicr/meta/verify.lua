---@meta aicr.verify
-- SPDX-License-Identifier: Apache-2.0

---@class aicr.verify
local verify = {}

---@class aicr.verify.Capability
---@field component string recipe component
---@field probe? aicr.Error what the probe raised
---@field present? boolean looked at when the probe raised nothing
---@field absent? string message of the fail
---@field reason? string reason of the fail when the probe raised nothing
---@field subject? string what was probed, default the component
---@field inapplicable? string message of the skip

--- Judges a probe: returns, skips the check, or raises.
---@param ctx aicr.ctx
---@param capability aicr.verify.Capability
function verify.require(ctx, capability) end

--- Raises for any error of a list; an API that is not served is INTERNAL.
---@param ctx? aicr.ctx
---@param err? aicr.Error
---@param opts? {subject?: string}
function verify.require_list(ctx, err, opts) end

--- NOT_FOUND, UNAUTHORIZED, TIMEOUT, SERVICE_UNAVAILABLE or INTERNAL, from `err.details`.
---@param err aicr.Error
---@return aicr.Code
---@nodiscard
function verify.classify(err) end

--- NOT_FOUND, TIMEOUT or INTERNAL, from `err.details`.
---@param err aicr.Error
---@return aicr.Code
---@nodiscard
function verify.read_code(err) end

--- Equal pair by pair, in order; else INVALID_REQUEST with `details.diff`.
---@param recorded aicr.gke.Pair[]
---@param deployed aicr.gke.Pair[]
function verify.mapping_matches_recipe(recorded, deployed) end

--- Every selected network present (else NOT_FOUND) and usable (else CONFLICT).
---@param deployed aicr.gke.Pair[]
---@param usable string[]
---@param present? string[] default: usable
function verify.networks_exist(deployed, usable, present) end

return verify
