-- SPDX-License-Identifier: Apache-2.0
--- All-reduce between the nodes must reach the recipe's floor, over the wiring that the recipe delivers (gke-tcpxo.md
--- 5). Where the benchmark's runtime comes from on a platform is a file in lua/aicr/nccl_runtime/.
local benchmark = require "aicr.nccl_benchmark"

return {
  name = benchmark.NAME,
  phase = "performance",
  summary = "All-reduce bus bandwidth between the nodes reaches the recipe's floor",
  tags = { "nccl", "network", "slow" },
  timeout = "30m",
  exclusive = true,
  params = benchmark.params,
  needs = benchmark.needs,
  doc = [[
Training stands or falls with the bandwidth at which GPUs of different nodes exchange gradients. The check runs
all_reduce_perf of nccl-tests under MPI on all GPU nodes, as a Kubeflow TrainJob in a namespace of its own, and holds
the bus bandwidth at the largest size against the recipe's constraint nccl-all-reduce-bw, less a tolerance of 10 %.

What it measures is named in the evidence: delivered-artifact, a benchmark derived from the runtime that the recipe
ships, with its wiring and its environment; cluster-capability, the built-in runtime, where the recipe ships none;
recipe-supplied-runtime, one that recipe or user bring. A shipped runtime is first compared with the recipe and with the
cluster. On GKE every node must have the TCPXO installer's files, and every worker must be seen with its interfaces and
its daemon: a good number over the wrong wiring does not pass.

The number counts when the sweep is complete, its values were checked and are right, and the log and the launcher's
termination message agree. What could not be measured is an error, never a pass. All that the check makes is removed.]],
  fixes = benchmark.fixes,

  run = function(ctx)
    local asked = benchmark.asked(ctx)
    local from = benchmark.source(ctx, asked)
    local size = benchmark.nodes(ctx, asked, from)
    return benchmark.judge(ctx, asked, from, size, benchmark.run(ctx, asked, from, size))
  end,
}
