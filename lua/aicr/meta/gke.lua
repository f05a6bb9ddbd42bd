---@meta aicr.gke
-- SPDX-License-Identifier: Apache-2.0

---@class aicr.gke
---@field REQUIRED integer
---@field COMPONENT string
---@field TRAINER string
---@field RUNTIME string
---@field RUNTIME_MANIFEST string
---@field OVERRIDE string
---@field INTERFACES_ANNOTATION string
---@field DEFAULT_INTERFACE_ANNOTATION string
---@field DEVICES_ANNOTATION string
---@field NIC_INFO_ANNOTATION string
---@field NORTH_INTERFACES_ANNOTATION string
---@field DEFAULT_INTERFACE string
---@field DEFAULT_NETWORK string
---@field NODE_JOB string
---@field SIDECAR string
---@field NAME_SUBSTRING string
---@field MAX_NETWORK_NAME integer
---@field NODE_SELECTOR string
---@field NETWORKS string
---@field RUNTIMES string
---@field ABSENT string message when the API is not served
---@field PROVISIONING string advice about the networks
local gke = {}

---@class aicr.gke.Pair
---@field interfaceName string
---@field network string

---@class aicr.gke.Status
---@field name string
---@field ready boolean
---@field paramsReady boolean
---@field paramSet string "" when there is none
---@field bound boolean
---@field why? string why it is not bound
---@field deleted? boolean it is being deleted (of gpu_nic_networks)

---@class aicr.gke.NicInfo
---@field interfaces table<string, string> name -> PCI address
---@field ips table<string, string> name -> address
---@field present integer of eth1..eth8
---@field missing string[]
---@field extra string[]

---@class aicr.gke.NodeTopology
---@field name string
---@field annotated boolean it has nic-info
---@field verified boolean its nic-info can be read
---@field placed boolean its interfaces could be compared with the networks
---@field problems string[]

---@param text string
---@return aicr.gke.Pair[]
---@nodiscard
function gke.parse_interfaces(text) end

---@param pairs aicr.gke.Pair[]
---@return aicr.gke.Pair[]
function gke.validate_interfaces(pairs) end

---@param text string "eth1=net,eth2=net,…"
---@return aicr.gke.Pair[]
---@nodiscard
function gke.parse_interface_list(text) end

---@param networks string[]
---@return string
---@nodiscard
function gke.interfaces_annotation(networks) end

---@param gpus integer
---@return string
---@nodiscard
function gke.devices_annotation(gpus) end

---@param text string
---@return aicr.gke.NicInfo
---@nodiscard
function gke.parse_nic_info(text) end

---@param text string
---@return table<string, string> address -> network
---@nodiscard
function gke.parse_north_interfaces(text) end

---@param info aicr.gke.NicInfo
---@param ip_to_network table<string, string>
---@param gpu_networks string[]
---@return string[]
---@nodiscard
function gke.displaced_interfaces(info, ip_to_network, gpu_networks) end

---@param value any
---@param place? string for messages
---@return aicr.gke.Pair[]
---@nodiscard
function gke.normalize_interfaces(value, place) end

---@param runtime table
---@return table
---@nodiscard
function gke.node_template(runtime) end

---@param runtime table
---@return aicr.gke.Pair[]
---@nodiscard
function gke.deployed_mapping(runtime) end

---@param recipe? table
---@return aicr.gke.Pair[]? nil when the recipe ships no fabric runtime
---@nodiscard
function gke.fabric_runtime_delivered(recipe) end

---@param network table
---@return aicr.gke.Status
---@nodiscard
function gke.network_status(network) end

---@param object table
---@return boolean
---@nodiscard
function gke.is_deleted(object) end

---@param k8s aicr.k8s
---@return aicr.gke.Status[]
---@nodiscard
function gke.gpu_nic_networks(k8s) end

---@param networks aicr.gke.Status[]
---@return string[]
---@nodiscard
function gke.names(networks) end

---@param networks aicr.gke.Status[]
---@return string[]
---@nodiscard
function gke.bound(networks) end

---@param networks aicr.gke.Status[]
function gke.require_census(networks) end

---@param networks aicr.gke.Status[]
function gke.require_bound(networks) end

---@param err aicr.Error
---@return aicr.Code
---@nodiscard
function gke.read_error_code(err) end

---@param k8s aicr.k8s
---@return table
---@nodiscard
function gke.read_deployed_runtime(k8s) end

---@param node table
---@param gpu_networks string[]
---@return aicr.gke.NodeTopology
---@nodiscard
function gke.node_topology(node, gpu_networks) end

return gke
