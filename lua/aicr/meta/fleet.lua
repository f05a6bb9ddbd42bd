---@meta aicr.fleet
-- SPDX-License-Identifier: Apache-2.0

--- The GPU nodes of a cluster, for the deployment checks of a platform. A check that reads them has `needs` and
--- `params` of this module among its own.
---@class aicr.fleet
---@field needs table for a check's `needs`
local fleet = {}

--- What the rows of recipes/platforms/fabric.yaml ask of every node.
---@class aicr.platform.Fabric
---@field rows string[] names of the rows that match
---@field resources {name: string, count: integer}[] extended resources
---@field classes {name: string, count: integer, driver: string?}[] device classes
---@field claimed_gpus boolean GPUs are devices of DRA
---@field networks? integer networks of GKE
---@field nics? integer NICs, under a name that the nodes say
---@field domain_driver? string driver of ComputeDomains
---@field domain_label? string label that says which NVLink domain a node is of
---@field nothing? string why nothing is needed

---@class aicr.fleet.Node
---@field name string
---@field arch string "" where the node says none
---@field gpus integer allocatable, or devices
---@field ready string state of the condition Ready
---@field cordoned boolean
---@field out_of_use string|nil key of a taint of Kubernetes, a cloud or an autoscaler that keeps pods away
---@field taints string[]|nil other taints that keep pods away, "KEY=VALUE:EFFECT"
---@field domains table<string, string>|nil labels that say which NVLink domain it is of
---@field type string|nil instance type, where it says what hardware the node is
---@field like string|nil a node of its type that has GPUs, where it says itself nothing of them
---@field cut boolean its GPUs are offered as parts (MIG) or shares (time slicing)
---@field offers table<string, string> allocatable resources of GPUs and fabric; shared by nodes that offer the same

---@class aicr.fleet.Fleet
---@field platform string
---@field arch string
---@field by string who said the architecture
---@field sizes aicr.platform.Sizes
---@field arch_known boolean false: the architecture has no row in recipes/platforms/gpu_defaults.yaml
---@field gpus_known boolean false: how many GPUs a node has is neither said nor known
---@field fabric aicr.platform.Fabric
---@field nodes aicr.fleet.Node[] those that count
---@field excluded {node: string, reason: string, empty: boolean}[] empty: ready, but offers no GPU
---@field others {node: string, reason: string}[] of another architecture than the one that was asked for
---@field asked integer nodes that parameter or recipe ask for, 0: none
---@field total integer nodes that a result is about

--- The parameters that every such check has, and more.
---@param more? table<string, aicr.Param>
---@return table<string, aicr.Param>
---@nodiscard
function fleet.params(more) end

--- Reads the GPU nodes and what is asked of them, and puts into the report which were left out and why. Fails with
--- `no-gpu-nodes`, `no-usable-nodes`; raises `mixed-platforms`, `platform-unknown`, `mixed-architectures`,
--- `architecture-unknown`, `architecture`, `quantity`, `size`, and what the client raises.
---@param ctx aicr.ctx
---@return aicr.fleet.Fleet
function fleet.read(ctx) end

--- Records the coverage; gives the words for it, "5 of 6 GPU nodes (left out: …)".
---@param ctx aicr.ctx
---@param seen aicr.fleet.Fleet
---@param verified? integer default: all that count
---@return string
function fleet.covered(ctx, seen, verified) end

--- Skips the check: `not-needed`, or `not-known` where no row is about that platform and architecture.
---@param ctx aicr.ctx
---@param seen aicr.fleet.Fleet
---@param what string such as "no device of DRA"
function fleet.skip(ctx, seen, what) end

--- How much of a resource a node offers. Raises `quantity`.
---@param node aicr.fleet.Node
---@param resource string
---@return integer
---@nodiscard
function fleet.amount(node, resource) end

--- Fails with `no-gpus-offered` where nodes are ready but offer no GPU.
---@param ctx aicr.ctx
---@param seen aicr.fleet.Fleet
function fleet.fail_empty(ctx, seen) end

--- How many GPUs a node says that it has, well or not.
---@param node aicr.fleet.Node
---@return integer
---@nodiscard
function fleet.gpu_capacity(node) end

--- Devices of a DRA driver by node name; a node without has no key.
---@param ctx aicr.ctx
---@param seen aicr.fleet.Fleet
---@param driver string
---@return table<string, integer>
---@nodiscard
function fleet.devices(ctx, seen, driver) end

--- Rows `{k = node, l = needed, r = has}` of the nodes that have less than they need.
---@param seen aicr.fleet.Fleet
---@param need integer|fun(node: aicr.fleet.Node): integer
---@param has fun(node: aicr.fleet.Node): integer
---@return {k: string, l: string, r: string}[]
---@nodiscard
function fleet.short_of(seen, need, has) end

--- Fails with such rows.
---@param ctx aicr.ctx
---@param seen aicr.fleet.Fleet
---@param t {reason: string, what: string, need: integer|nil, rows: table[], why: string?, fix: string?}
function fleet.fail_short(ctx, seen, t) end

--- The names of nodes in a sentence, the first of many.
---@param nodes {name: string}[]
---@return string
---@nodiscard
function fleet.node_names(nodes) end

return fleet
