---@meta aicr.native.k8s
-- SPDX-License-Identifier: Apache-2.0

--- What `lua/aicr/ctx/k8s/` stands on; no check can require it. Its first four are methods of `ctx.k8s` as they are:
--- see `aicr.ctx.k8s`. Each request raises as those do.
---@class aicr.native.k8s
local k8s = {}

---@param self aicr.k8s
---@param resource string
---@param name string
---@param namespace? string
---@return table
function k8s.get(self, resource, name, namespace) end

---@param self aicr.k8s
---@param resource string
---@param name string
---@param namespace? string
---@return table?
function k8s.find(self, resource, name, namespace) end

---@param self aicr.k8s
---@param resource string
---@param opts? aicr.k8s.ListOptions
---@return table[]
function k8s.list(self, resource, opts) end

---@param self aicr.k8s
---@param resource string
---@param opts? aicr.k8s.ListOptions
---@return fun(): table?
function k8s.each(self, resource, opts) end

--- All objects, and the resourceVersion from which a watch goes on.
---@param self aicr.k8s
---@param resource string
---@param opts? aicr.k8s.ListOptions
---@param deadline_ms? integer of the monotonic clock
---@param aside? boolean a replay does not ask it
---@return table[]
---@return string version
function k8s.list_for_watch(self, resource, opts, deadline_ms, aside) end

---@class aicr.native.k8s.Request
---@field verb string
---@field resource? string or apiVersion and kind
---@field apiVersion? string
---@field kind? string
---@field name? string
---@field namespace? string
---@field subresource? string
---@field query? table<string, string>
---@field body? table|string
---@field content_type? string
---@field text? boolean the answer is text
---@field label? string of a list
---@field deadline_ms? integer of the monotonic clock
---@field resolve_only? boolean sends nothing; the answer is {group, version, plural, kind, namespace}
---@field free? boolean needs no permission of the check
---@field aside? boolean a replay does not ask it, so that in a recording it stands apart from what the check asks

--- Any request.
---@param what string its name for the check
---@param request aicr.native.k8s.Request
---@return table|string answer
---@return integer? http the code of the answer
function k8s.call(what, request) end

--- A request whose answer comes in pieces: lines where text is wanted (their second value is "line", "piece" of one of
--- more than 1 MiB, or "unended" at the text's end), else events; with what a generic `for` closes.
---@param what string its name for the check
---@param request aicr.native.k8s.Request
---@return fun(): any
---@return any state
---@return any control
---@return any closing
function k8s.stream(what, request) end

--- Runs a command in a container.
---@param what string its name for the check
---@param t {name: string, namespace: string, command: string[], container?: string, stdin?: string,
--- deadline_ms?: integer}
---@return string stdout
---@return string stderr
---@return integer code
function k8s.exec(what, t) end

--- gitVersion as far as it is known without asking, whether this is a recording, whether one is written.
---@return string? version
---@return boolean recording
---@return boolean recorded
function k8s.known_version() end

return k8s
