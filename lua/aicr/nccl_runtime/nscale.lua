-- SPDX-License-Identifier: Apache-2.0
--- The benchmark on Nscale: GPUs and RDMA devices by claims; multi-node NVLink on gb200 and gb300.
local built = require "aicr.nccl_runtime.built"

return built.platform {
  LOOK = "The DRA drivers of GPUs and RDMA devices: aicr-run dra-devices compute-domains; kubectl get resourceslices",
}
