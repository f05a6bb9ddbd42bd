-- SPDX-License-Identifier: Apache-2.0
--- All-reduce between the nodes must reach its floor, over the wiring that the recipe delivers (gke-tcpxo.md 5) or the
--- fabric of the platform (platform-runtimes.md 6, nccl-benchmark.md 7.5). Which benchmark there is for a platform and
--- an architecture: recipes/platforms/benchmarks.yaml.
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
the bus bandwidth at the largest size against the recipe's constraint nccl-all-reduce-bw or the parameter min_busbw,
less a tolerance of 10 %. Without a floor it skips.

What it measures is named in the evidence: delivered-artifact, a benchmark derived from the runtime that the recipe
ships, with its wiring and its environment; cluster-capability, the built-in runtime, where the recipe ships none;
recipe-supplied-runtime, one that recipe or user bring. A shipped runtime is first compared with the recipe and with the
cluster. On GKE h100 every node must have the TCPXO installer's files, and every worker must be seen with its interfaces
and its daemon: a good number over the wrong wiring does not pass.

Elsewhere the objects are those that aicr-run render prints, put on the nodes that were chosen. What each worker asks
of its node every node must offer before anything is made, and NCCL's own log must say that it went over the fabric of
recipes/platforms/benchmarks.yaml or of the parameter fabric, on gb200 and gb300 over multi-node NVLink. TCP in its
place fails with any number; a log that does not say is an error. Nodes that were left out are listed, and counted as
not verified.

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
