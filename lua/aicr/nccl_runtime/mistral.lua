-- SPDX-License-Identifier: Apache-2.0
--- The benchmark on Mistral: multi-node NVLink, and InfiniBand on gb300.
local built = require "aicr.nccl_runtime.built"

return built.platform {
  LOOK = "The device plug-in of rdma/ib, and the ComputeDomain driver: aicr-run fabric-resources compute-domains",
}
