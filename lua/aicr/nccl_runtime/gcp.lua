-- SPDX-License-Identifier: Apache-2.0
--- The benchmark on GKE without GPUDirect-TCPXO, which is gke.lua: RDMA networks, or TCP on rtxpro6000.
local built = require "aicr.nccl_runtime.built"

return built.platform {
  LOOK = "The RDMA networks of the node pool: kubectl get networks.networking.gke.io; aicr-run fabric-resources",
}
