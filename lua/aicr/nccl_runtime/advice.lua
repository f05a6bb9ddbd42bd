-- SPDX-License-Identifier: Apache-2.0
--- What to do next about each way in which the all-reduce benchmark ends without a pass: the `fixes` of its check.
local gke = require "aicr.gke"

local M = {}

local NODES <const> = "See which nodes offer GPUs, and which are cordoned: kubectl get nodes -L nvidia.com/gpu.product"
  .. " -o wide; kubectl uncordon NODE; or choose others with --set nccl-all-reduce-bw.node_selector=KEY=VALUE"
local REDEPLOY <const> = "Deploy the bundle of this recipe again. Look with: kubectl get clustertrainingruntime "
  .. gke.RUNTIME .. " -o yaml"
local REGENERATE <const> = "Generate the recipe again for this cluster (aicr recipe --gke-tcpxo-interfaces"
  .. " eth1=NETWORK,…,eth8=NETWORK) and deploy its bundle."
local SUPPLY <const> = "Correct the TrainingRuntime: constraint nccl-benchmark-runtime of the recipe, or --set-file"
  .. " nccl-all-reduce-bw.runtime=FILE. Compare with: kubectl explain trainingruntime.spec"
local DAEMONS <const> = "Look at the installer and the device injector: kubectl -n kube-system get daemonsets | grep -E"
  .. " 'tcpxo|device-injector'"
local LOGS <const> = "Read attachments launcher.log and workers.txt of the report: aicr-run nccl-all-reduce-bw -o"
  .. " report.json"
local TRAINER <const> = "See why Trainer is not ready: kubectl get deployments,pods -A -l"
  .. " app.kubernetes.io/name=trainer; it belongs to the recipe's component kubeflow-trainer"
local AGAIN <const> = "Run it again: aicr-run nccl-all-reduce-bw -o report.json; if it repeats, read the log of the"
  .. " launcher in the report"
local ARCH <const> = "Say it: --set nccl-all-reduce-bw.arch=h100. Look with: kubectl get nodes -L"
  .. " nvidia.com/gpu.product"
local OTHERS <const> = "See which run is there: kubectl get namespaces,leases -A | grep aicr-nccl; wait for it, or run"
  .. " aicr-run doctor"

--- reason -> the next thing to do.
M.FIXES = {
  ["constraint"] = "Write the floor as a number, with a space before its unit: nccl-all-reduce-bw: \">= 300\" or"
    .. " \"300 GB/s\" in validation.performance.constraints of the recipe; or --set"
    .. " nccl-all-reduce-bw.min_busbw=300GB/s",
  ["two-runtimes"] = "Keep one of constraint nccl-benchmark-runtime, parameter runtime and constraint"
    .. " nccl-benchmark-profile.",
  ["two-owners"] = "Drop the supplied runtime or the profile to measure what the recipe delivers. Look with: grep -n"
    .. " nccl-benchmark RECIPE",
  ["runtime-unresolved"] = "Resolve the recipe with aicr recipe, or name the file: --set-file"
    .. " nccl-all-reduce-bw.runtime=FILE",
  ["runtime-malformed"] = SUPPLY, ["runtime-kind"] = SUPPLY,
  ["benchmark-profile"] = "Correct the constraint nccl-benchmark-profile of the recipe, or drop it.",
  ["sweep"] = "Begin below the end: --set nccl-all-reduce-bw.min_size=1K --set nccl-all-reduce-bw.max_size=16G",
  ["times"] = "Leave the parameter out, for its default: aicr-run --explain nccl-all-reduce-bw",
  ["fabric"] = "Leave the parameter out, for the platform's own: --set nccl-all-reduce-bw.fabric=",
  ["runtime-image"] = "--set nccl-all-reduce-bw.runtime_image=HOST/NAME:TAG, an image with nccl-tests for MPI",
  ["platform-unknown"] = "Name it: --platform gcp, or with --recipe FILE",
  ["mixed-platforms"] = "Name the one that is meant: --platform gcp, or with --recipe FILE",
  ["architecture"] = ARCH, ["architecture-unknown"] = ARCH, ["mixed-architectures"] = ARCH,
  ["other-architecture"] = ARCH,
  ["sizes-unknown"] = "Say how many NICs a worker asks for: --set nccl-all-reduce-bw.nics=8",
  ["not-available"] = "Bring a runtime for it: --set-file nccl-all-reduce-bw.runtime=FILE. One to begin with: aicr-run"
    .. " render --platform PLATFORM --arch ARCH",
  ["override"] = "Correct the rows, which recipes/overrides/workloadrun.yaml says how to write. Try them with: aicr-run"
    .. " render --overrides FILE",
  ["other-runtime"] = "Name the platform that the recipe is for, or take another recipe: --platform gcp",
  ["nic-resource-unknown"] = "Say which one workers ask for: --set nccl-all-reduce-bw.nic_resource=NAME",
  ["no-nic-resource"] = "kubectl get nodes -o yaml | grep -e rdma/ -e mlnxnics; --set"
    .. " nccl-all-reduce-bw.nic_resource=NAME names another resource, --set nccl-all-reduce-bw.nics=N another number",
  ["too-few-resources"] = "Look at the device plug-in of the nodes that have less: aicr-run fabric-resources"
    .. " device-plugin; kubectl describe node NODE | grep -A12 ^Allocatable",
  ["too-few-devices"] = "Look at the DRA driver of the nodes that have less: aicr-run dra-devices compute-domains;"
    .. " kubectl get resourceslices --field-selector spec.nodeName=NODE -o yaml",
  ["no-device-class"] = "Install the DRA driver that brings it. Look with: kubectl get deviceclasses",
  ["driver-unknown"] = "Say whose devices a class has: --set nccl-all-reduce-bw.driver=CLASS=DRIVER",
  ["driver"] = "Say whose devices a class has: --set nccl-all-reduce-bw.driver=CLASS=DRIVER",
  ["no-usable-nodes"] = NODES,
  ["api-not-served"] = "Install what serves the API that the message names; ComputeDomains and claims of GPUs: the"
    .. " NVIDIA DRA driver for GPUs. Look with: kubectl api-resources",
  ["wrong-transport"] = "Look at the device plug-in of the NICs and at the network plug-in in the image. Where another"
    .. " fabric is meant: --set nccl-all-reduce-bw.fabric=NAME",
  ["transport-unknown"] = "See that NCCL_DEBUG=INFO reaches the ranks, and read attachment launcher.log: aicr-run"
    .. " nccl-all-reduce-bw -o report.json",
  ["node-selector"] = "--set nccl-all-reduce-bw.node_selector=KEY=VALUE; of a shipped or supplied runtime, correct"
    .. " spec.nodeSelector of its worker",
  ["toleration"] = "--set nccl-all-reduce-bw.toleration=KEY=VALUE:NoSchedule",
  ["runtime-not-deployed"] = "Deploy the bundle of this recipe. Look with: kubectl get "
    .. "clustertrainingruntimes.trainer.kubeflow.org",
  ["no-node-template"] = REDEPLOY, ["no-node-job"] = REDEPLOY,
  ["not-wired"] = REDEPLOY, ["default-interface"] = REDEPLOY, ["annotation-malformed"] = REDEPLOY,
  ["annotation-empty"] = REDEPLOY, ["annotation-first-entry"] = REDEPLOY, ["mapping-count"] = REDEPLOY,
  ["mapping-mismatch"] = REDEPLOY, ["shipped-worker"] = REDEPLOY,
  ["mapping-not-recorded"] = REGENERATE, ["mapping-malformed"] = REGENERATE, ["mapping-invalid"] = REGENERATE,
  ["network-missing"] = "Deploy the bundle of a recipe that was generated for this cluster. Look with: kubectl get"
    .. " network.networking.gke.io",
  ["too-few-networks"] = gke.PROVISIONING,
  ["no-gpu-nodes"] = NODES, ["gpu-counts"] = NODES, ["gpu-count"] = NODES,
  ["too-few-nodes"] = "Add a GPU node, or remove the constraint nccl-all-reduce-bw from the recipe. Look with: kubectl"
    .. " get nodes -L nvidia.com/gpu.product",
  ["mixed-nodes"] = NODES,
  ["tcpxo-not-ready"] = "The DaemonSet nccl-tcpxo-installer puts it there; on a new node it needs some minutes. Look"
    .. " with: kubectl -n kube-system get daemonset nccl-tcpxo-installer; kubectl -n kube-system get pods -o wide"
    .. " | grep tcpxo-installer",
  ["probe-failed"] = "See whether pods with a hostPath may run there, or name another image: --set"
    .. " nccl-all-reduce-bw.probe_image=IMAGE",
  ["derivation"] = "This is a defect of aicr-run: report it with kubectl get clustertrainingruntime " .. gke.RUNTIME
    .. " -o yaml",
  ["worker-wiring"] = REDEPLOY, ["daemon-not-started"] = DAEMONS, ["no-workers-seen"] = AGAIN,
  ["trainer-not-ready"] = TRAINER,
  ["namespace-foreign"] = OTHERS, ["namespace-in-use"] = OTHERS, ["locked"] = OTHERS, ["lock-lost"] = OTHERS,
  ["namespace-terminating"] = "See what holds it: kubectl get namespaces | grep aicr-nccl; kubectl describe namespace"
    .. " NAME",
  ["object-changed"] = "Find what changes it, and leave namespaces aicr-nccl-perf-* out of that: kubectl get"
    .. " mutatingwebhookconfigurations -o yaml | grep -B9 -A9 -E 'trainer.kubeflow.org|\"\\*\"'",
  ["runtime-not-visible"] = AGAIN, ["job-terminating"] = AGAIN,
  ["launcher-missing"] = "See what JobSet and Trainer say: kubectl get trainjobs,jobsets,events -A; nodes with room for"
    .. " the launcher: kubectl describe nodes",
  ["launcher-timeout"] = LOGS .. "; give it more time: --set nccl-all-reduce-bw.timeout=1h --set"
    .. " nccl-all-reduce-bw.job_timeout=50m",
  ["launcher-failed"] = LOGS, ["launcher-deleted"] = LOGS, ["job-failed"] = LOGS,
  ["no-rows"] = LOGS, ["incomplete-sweep"] = LOGS, ["other-collective"] = SUPPLY, ["mpi-not-enabled"] = SUPPLY,
  ["rank-count"] = LOGS, ["host-count"] = LOGS, ["other-sweep"] = LOGS,
  ["unsupported-format"] = "Take an image with nccl-tests 2 or newer: --set"
    .. " nccl-all-reduce-bw.runtime_image=IMAGE",
  ["benchmark-errors"] = LOGS, ["unvalidated"] = "Let the benchmark check its values: without -c 0 in the launcher's"
    .. " args",
  ["interleaved-runs"] = AGAIN, ["not-finite"] = AGAIN, ["inconsistent-row"] = AGAIN, ["evidence-disagrees"] = AGAIN,
  ["wrong-values"] = "Data is damaged on the way: take the nodes out of use and test each pair of them: --set"
    .. " nccl-all-reduce-bw.node_selector=KEY=VALUE; look for Xid errors: kubectl debug node/NAME -it"
    .. " --profile=sysadmin --image=busybox -- dmesg",
  ["below-own-floor"] = "Take NCCL_TESTS_MIN_BW out of the supplied runtime, or see what slows it down: " .. LOGS,
  ["below-floor"] = "See that no other job uses the nodes (kubectl get pods -A -o wide); with TCPXO, that every node"
    .. " has its eight GPU NICs (aicr-run gke-gpu-nic-topology), and that the TCPXO installer is of one release on all"
    .. " nodes.",
}

return M
