-- SPDX-License-Identifier: Apache-2.0
--- RDMA networks and multi-node NVLink on GKE (gIB): is what the fabric needs on every GPU node? GPUDirect-TCPXO has a
--- suite of its own.
return {
  suite = "gke-gib",
  platform = "gcp",
  checks = {
    "deployment/gpu_nodes.lua",
    "deployment/fabric_resources.lua",
    "deployment/dra_devices.lua",
    "deployment/compute_domains.lua",
    "deployment/device_plugin.lua",
    "performance/nccl_all_reduce_bw.lua",
  },
}
