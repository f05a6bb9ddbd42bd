-- SPDX-License-Identifier: Apache-2.0
--- InfiniBand on Mistral: is what the fabric needs on every GPU node? Other clusters of Metal3 look like it: for them
--- there is the suite of their own platform.
return {
  suite = "mistral",
  platform = "mistral",
  checks = {
    "deployment/gpu_nodes.lua",
    "deployment/fabric_resources.lua",
    "deployment/dra_devices.lua",
    "deployment/compute_domains.lua",
    "deployment/device_plugin.lua",
    "performance/nccl_all_reduce_bw.lua",
  },
}
