---@meta aicr.ctx.k8s
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
---@field admission? boolean true: refused by an admission webhook, policy or quota, not by this user's permissions
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

--- Follows objects: `for kind, object in ctx.k8s:watch("pods", { namespace = "x" }) do …`. First what is there, as
--- ADDED, then what changes; over lost connections and expired versions, until the time-out or the check ends.
---@param resource string
---@param opts? {namespace?: string, label?: string, field?: string, timeout?: string}
---@return fun(): string?, table? kind "ADDED", "MODIFIED" or "DELETED"; the object
---@nodiscard
function k8s:watch(resource, opts) end

--- Waits until an object is as wanted; nothing falls between the read and the watch. Raises TIMEOUT/`never-true` with
--- what was seen last.
---@param resource string
---@param name string
---@param namespace? string
---@param wanted string|fun(object: table?): boolean?, any "gone", "condition=NAME[=VALUE]", or a function that gives
--- whether it is done and what was seen
---@param opts? {timeout?: string, every?: string} default: the check's deadline, "1s"
---@return table? object as it is now
function k8s:wait(resource, name, namespace, wanted, opts) end

---@class aicr.k8s.LogsOptions
---@field container? string needed where there are several
---@field previous? boolean of the run before
---@field tail? integer lines
---@field since? string duration
---@field timestamps? boolean an RFC 3339 time before each line
---@field limit? integer bytes
---@field lines? boolean an iterator over lines instead of text
---@field follow? boolean the same, until the container has ended
---@field timeout? string duration, default: the check's deadline; TIMEOUT/`deadline` when it is over

--- What a container wrote and its node still has (kubelets keep 10 MiB of a log by default), any bytes: text of at most
--- 64 MiB; with `lines` or `follow` an iterator for logs of any length,
--- `for line, goes_on in ctx.k8s:logs(…, { follow = true }) do …`. A line has no newline; one of more than 1 MiB comes
--- in pieces, goes_on is true for all but its last. Over lost connections nothing is left out or comes twice, or
--- INTERNAL/`log-gap` is raised: the log was rotated or the container was started again where lines were missing. While
--- it follows it reads the pod where this user may.
--- Raises SERVICE_UNAVAILABLE/`not-ready` (it has not started), `node-unreachable`, `node-gone`, `log-unavailable` (its
--- node cannot read it), NOT_FOUND/`no-previous`, which is no verdict, and others; an empty log is "" and no error.
---@param pod string
---@param namespace string
---@param opts? aicr.k8s.LogsOptions
---@return string|fun(): string?, boolean?
---@nodiscard
function k8s:logs(pod, namespace, opts) end

---@class aicr.k8s.ExecOptions
---@field container? string needed where there are several
---@field stdin? string default: empty
---@field timeout? string duration, default: the check's deadline

---@class aicr.k8s.ExecResult
---@field stdout string any bytes, at most 16 MiB
---@field stderr string any bytes, at most 16 MiB
---@field code integer 0-255

--- Runs a command in a container. Its words are passed on as they are, without a shell; a code that is not 0 is no
--- error. What ends the wait early (the time-out, the check's end) does not end the command. Raises INTERNAL/
--- `exec-failed` (it did not run), `exec-unknown-exit` (the connection ended before its exit code came),
--- `response-too-large`, SERVICE_UNAVAILABLE/`not-ready` (the pod has no node yet), TIMEOUT/`deadline`, and others; on
--- recordings METHOD_NOT_ALLOWED/`read-only`.
---@param pod string
---@param namespace string
---@param command string[]
---@param opts? aicr.k8s.ExecOptions
---@return aicr.k8s.ExecResult
function k8s:exec(pod, namespace, command, opts) end

--- May this run's user do it? Asks the server.
---@param verb string as Kubernetes spells it: get, list, create, …
---@param resource string such as "pods" or "networks.networking.gke.io", or a path that is no resource's
---@param opts? {namespace?: string, name?: string, subresource?: string, explain?: boolean}
---@return boolean allowed
---@return string? reason with `explain`: of the server, may be empty
---@return boolean? served with `explain`: is the resource served? nil for a path
---@nodiscard
function k8s:can(verb, resource, opts) end

--- gitVersion of the server. Raises INTERNAL/`not-recorded` where a recording does not hold it.
---@return string
---@nodiscard
function k8s:server_version() end

--- The text behind a path that is no resource's, such as "/readyz"; covered by a need `get /path`.
---@param path string
---@return string
---@nodiscard
function k8s:get_raw(path) end

--- Makes an object, which is removed when the check ends. Its namespace: the option's, its own, else the run's. Raises
--- CONFLICT/`already-exists`, INVALID_REQUEST/`invalid`, and others; on recordings METHOD_NOT_ALLOWED/`read-only`, as
--- the other methods that change the cluster.
---@param object table with apiVersion, kind, metadata.name or metadata.generateName
---@param opts? {namespace?: string, dry_run?: boolean}
---@return table object as the server made it
function k8s:create(object, opts) end

--- Server-side apply: makes the object, or makes its fields so. One that was there before stays after the check. Raises
--- CONFLICT/`conflict` with `details.causes`, and others.
---@param object table with apiVersion, kind, metadata.name
---@param opts? {namespace?: string, force?: boolean, dry_run?: boolean}
---@return table object as it is now
function k8s:apply(object, opts) end

--- Changes fields of an object.
---@param resource string
---@param name string
---@param namespace? string
---@param patch table an object for "merge" and "strategic", an array of operations for "json"
---@param opts? {type?: "merge"|"json"|"strategic", subresource?: string, dry_run?: boolean}
---@return table object as it is now
function k8s:patch(resource, name, namespace, patch, opts) end

--- Deletes an object and waits until it is gone. Raises NOT_FOUND/`not-found`, CONFLICT/`conflict` when the uid is
--- another's, and others.
---@param resource string
---@param name string
---@param namespace? string
---@param opts? {propagation?: "Background"|"Foreground"|"Orphan", grace?: integer, uid?: string, wait?: boolean,
--- dry_run?: boolean} grace: seconds
function k8s:delete(resource, name, namespace, opts) end

return k8s
