---@meta aicr.native.gke
-- SPDX-License-Identifier: Apache-2.0

--- The pure part of `aicr.gke`: annotations of GKE multi-networking and mappings of interfaces to
--- networks (gke-tcpxo.md section 3). What it raises are verdicts. The classes of
--- its tables are those of `aicr.gke`.
---@class aicr.native.gke
local gke = {}

--- The pairs of a `networking.gke.io/interfaces` annotation after eth0 → default (3.2). Raises
--- INVALID_REQUEST, reasons `annotation-malformed`, `annotation-empty`, `annotation-first-entry`.
---@param text string
---@return aicr.gke.Pair[]
---@nodiscard
function gke.parse_interfaces(text) end

--- Gives back what it was given when it is eight valid pairs (3.6). Raises
--- INVALID_REQUEST/`mapping-invalid`.
---@param pairs aicr.gke.Pair[]
---@return aicr.gke.Pair[]
function gke.validate_interfaces(pairs) end

--- Reads "eth1=NETWORK,eth2=NETWORK,…" and validates it (3.6). Raises
--- INVALID_REQUEST/`mapping-invalid`.
---@param text string
---@return aicr.gke.Pair[]
---@nodiscard
function gke.parse_interface_list(text) end

--- The interfaces annotation for networks in the order given, eth0 → default first (3.12).
---@param networks string[]
---@return string
---@nodiscard
function gke.interfaces_annotation(networks) end

--- The device annotation of the daemon for a node with so many GPUs, 0 to 64 (3.12).
---@param gpus integer
---@return string
---@nodiscard
function gke.devices_annotation(gpus) end

--- Reads a `networking.gke.io/nic-info` annotation (3.11). Raises INVALID_REQUEST, reasons
--- `nic-info-missing`, `nic-info-malformed`, `nic-info-empty`, `nic-info-duplicate`.
---@param text string
---@return aicr.gke.NicInfo
---@nodiscard
function gke.parse_nic_info(text) end

--- Reads a `networking.gke.io/north-interfaces` annotation (3.11). Raises
--- INVALID_REQUEST/`north-interfaces-malformed`.
---@param text string
---@return table<string, string> network by address
---@nodiscard
function gke.parse_north_interfaces(text) end

--- Which of eth1..eth8 have an address on no GPU NIC network (3.11): `eth2 (ip "10.0.0.1", network
--- "other")` each, network "" when the address is unknown.
---@param info aicr.gke.NicInfo only `ips` is read
---@param ip_to_network table<string, string>
---@param gpu_networks string[]
---@return string[]
---@nodiscard
function gke.displaced_interfaces(info, ip_to_network, gpu_networks) end

--- Compares pair by pair, order counts (3.5). Raises INVALID_REQUEST, reasons `mapping-count` and
--- `mapping-mismatch`, with `details.diff` (key "position", left "recipe", right "deployed", all
--- positions in order).
---@param recorded aicr.gke.Pair[]
---@param deployed aicr.gke.Pair[]
function gke.verify_mapping(recorded, deployed) end

--- Whether the deployed networks are on the cluster and usable (3.9). Raises
--- NOT_FOUND/`network-missing`, then CONFLICT/`network-not-usable`.
---@param deployed aicr.gke.Pair[]
---@param usable string[]
---@param present string[]
function gke.verify_networks_exist(deployed, usable, present) end

return gke
