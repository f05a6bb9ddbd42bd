-- SPDX-License-Identifier: Apache-2.0
--- GPU nodes and multi-node NVLink on Forge: is what the fabric needs on every GPU node?
return {
  suite = "forge",
  platform = "forge",
  checks = {
    "deployment/gpu_nodes.lua",
    "deployment/fabric_resources.lua",
    "deployment/dra_devices.lua",
    "deployment/compute_domains.lua",
    "deployment/device_plugin.lua",
    "performance/nccl_all_reduce_bw.lua",
  },
}
