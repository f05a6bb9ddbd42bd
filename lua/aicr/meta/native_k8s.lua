---@meta aicr.native.k8s
-- SPDX-License-Identifier: Apache-2.0

--- `ctx.k8s`. A resource is "nodes", "networks.networking.gke.io" or
--- "networks.v1.networking.gke.io"; every request must be covered by the check's `needs`. Members
--- that are null are left out of objects. A call that fails raises an error object with
--- `aicr.k8s.Details`.
---@class aicr.k8s
local k8s = {}

---@class aicr.k8s.Details
---@field http? integer status, when the server answered
---@field status_reason? string the Status's reason as sent
---@field transport? string "deadline", "refused", …: why there is no answer
---@field verb string
---@field resource string
---@field namespace? string
---@field name? string
---@field attempts integer
---@field served? boolean what discovery says of the resource
---@field causes? {reason?: string, field?: string, message?: string}[]

---@class aicr.k8s.ListOptions
---@field namespace? string default: all
---@field label? string label selector
---@field field? string field selector
---@field fields? string[] paths of what is wanted of each object, such as `metadata.name`,
--- `metadata.labels["a.b/c"]`, `spec.containers[*].resources.limits["nvidia.com/gpu"]`: the objects hold
--- nothing else, and large lists are read several times faster. Reading what is not among them raises.

--- One object. Raises NOT_FOUND, reasons `not-found` and `api-not-served` (verdicts), and others.
---@param resource string
---@param name string
---@param namespace? string
---@return table
---@nodiscard
function k8s:get(resource, name, namespace) end

--- One object, nil when it is absent, and only then.
---@param resource string
---@param name string
---@param namespace? string
---@return table?
---@nodiscard
function k8s:find(resource, name, namespace) end

--- All objects, sorted by namespace and name.
---@param resource string
---@param opts? aicr.k8s.ListOptions
---@return table[]
---@nodiscard
function k8s:list(resource, opts) end

--- An iterator over the objects that holds one page at a time.
---@param resource string
---@param opts? aicr.k8s.ListOptions
---@return fun(): table?
---@nodiscard
function k8s:each(resource, opts) end

--- gitVersion of the server, nil when a recording does not know it.
---@return string?
---@nodiscard
function k8s:server_version() end

--- Refused on recordings: METHOD_NOT_ALLOWED/`read-only`.
function k8s:create() end

--- Refused on recordings: METHOD_NOT_ALLOWED/`read-only`.
function k8s:apply() end

--- Refused on recordings: METHOD_NOT_ALLOWED/`read-only`.
function k8s:patch() end

--- Refused on recordings: METHOD_NOT_ALLOWED/`read-only`.
function k8s:delete() end

--- Refused on recordings: METHOD_NOT_ALLOWED/`read-only`.
function k8s:exec() end

return k8s
