-- SPDX-License-Identifier: Apache-2.0
--- EFA on AWS, and RoCE and multi-node NVLink where the nodes have them: is what the fabric needs on every GPU node?
return {
  suite = "aws-efa",
  platform = "aws",
  checks = {
    "deployment/gpu_nodes.lua",
    "deployment/fabric_resources.lua",
    "deployment/dra_devices.lua",
    "deployment/compute_domains.lua",
    "deployment/device_plugin.lua",
    "performance/nccl_all_reduce_bw.lua",
  },
}
