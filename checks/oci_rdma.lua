-- SPDX-License-Identifier: Apache-2.0
--- RDMA on OCI: is what the fabric needs on every GPU node?
return {
  suite = "oci-rdma",
  platform = "oci",
  checks = {
    "deployment/gpu_nodes.lua",
    "deployment/fabric_resources.lua",
    "deployment/dra_devices.lua",
    "deployment/compute_domains.lua",
    "deployment/device_plugin.lua",
    "performance/nccl_all_reduce_bw.lua",
  },
}
