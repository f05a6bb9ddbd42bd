-- SPDX-License-Identifier: Apache-2.0
--- GPUDirect-TCPXO on GKE, a3-megagpu-8g nodes: is the fabric provisioned and wired, and does it perform?
return {
  suite = "gke-tcpxo",
  platform = "gcp",
  checks = {
    "deployment/gke_gpu_nic_networks.lua",
    "deployment/gke_gpu_nic_topology.lua",
    "performance/nccl_all_reduce_bw.lua",
  },
}
