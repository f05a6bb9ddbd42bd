-- SPDX-License-Identifier: Apache-2.0
--- The benchmark on OCI: RoCE of the cluster network. The names of network attachments are the site's, so that workers
--- have none of their own: where they need them, a row of the parameter overrides brings them.
local built = require "aicr.nccl_runtime.built"

return built.platform {
  LOOK = "The RDMA device plug-in, and whether pods need a network attachment: kubectl get"
    .. " network-attachment-definitions -A; a row with jobAnnotations k8s.v1.cni.cncf.io/networks: --set-file"
    .. " nccl-all-reduce-bw.overrides=FILE",
}
