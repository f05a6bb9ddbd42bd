-- SPDX-License-Identifier: Apache-2.0
--- The benchmark on AWS: EFA on h100 and gb200, RoCE on gb300.
local built = require "aicr.nccl_runtime.built"

return built.platform {
  LOOK = "The device plug-in of EFA, and libfabric in the image: kubectl -n kube-system get pods -o wide | grep efa;"
    .. " aicr-run fabric-resources",
}
