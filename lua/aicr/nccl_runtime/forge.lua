-- SPDX-License-Identifier: Apache-2.0
--- The benchmark on Forge: multi-node NVLink.
local built = require "aicr.nccl_runtime.built"

return built.platform {
  LOOK = "The ComputeDomain driver and the IMEX domain of the nodes: aicr-run compute-domains; kubectl get pods -A -o"
    .. " wide | grep dra-driver",
}
