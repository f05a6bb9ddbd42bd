-- SPDX-License-Identifier: Apache-2.0
--- The benchmark on Azure: InfiniBand.
local built = require "aicr.nccl_runtime.built"

return built.platform {
  LOOK = "The RDMA device plug-in, and nvidia-peermem on the nodes: kubectl get pods -A -o wide | grep -e rdma -e"
    .. " mofed; aicr-run fabric-resources",
}
