-- SPDX-License-Identifier: Apache-2.0
--- The benchmark on Together AI: InfiniBand, on the adapters that its environment names.
local built = require "aicr.nccl_runtime.built"

return built.platform {
  LOOK = "The RDMA device plug-in, and the adapters of the nodes beside NCCL_IB_HCA: kubectl get pods -A -o wide | grep"
    .. " rdma; aicr-run fabric-resources",
}
