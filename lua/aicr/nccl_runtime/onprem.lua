-- SPDX-License-Identifier: Apache-2.0
--- The benchmark on premises: InfiniBand or RoCE, under the resource that the site's nodes offer.
local built = require "aicr.nccl_runtime.built"

return built.platform {
  LOOK = "The RDMA device plug-in of the site, and the resource that workers asked for: kubectl describe nodes | grep"
    .. " -e rdma/ -e mlnxnics; --set nccl-all-reduce-bw.nic_resource=NAME",
}
