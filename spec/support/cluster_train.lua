-- SPDX-License-Identifier: Apache-2.0
--- Training runs on the test cluster as a check's author writes them, with an image whose torchrun, mpirun, sshd and
--- program are shell scripts: there are no GPUs, no PyTorch, no MPI, and no DNS by which a rank could reach another.
local files = require "spec.support.files"
local image = require "spec.support.cluster_nccl_image"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"

local M = {}

M.IMAGE = "aicr.local/train:1"

-- What a rank is: it tells who it is, each of its arguments, its environment, and whether /opt/amazon is there.
local PROGRAM <const> = [[#!/bin/sh
rank=${RANK:-${OMPI_COMM_WORLD_RANK:-${JOB_COMPLETION_INDEX:-0}}}
for word in "$@"; do echo "rank $rank word <$word>"; done
env | grep -E '^(NCCL|FI|SPEC|PET|LOCAL|LD|OMPI)_?' | sort | sed "s/^/rank $rank env /"
[ -e /opt/amazon ] && echo "rank $rank has /opt/amazon" || echo "rank $rank has no /opt/amazon"
]]

-- As torchrun: so many processes, numbered through.
local TORCHRUN <const> = [[#!/bin/sh
echo "torchrun of node $PET_NODE_RANK of $PET_NNODES, main node $PET_MASTER_ADDR:$PET_MASTER_PORT"
script=$1
shift
local=0
while [ $local -lt $PET_NPROC_PER_NODE ]; do
  RANK=$((PET_NODE_RANK * PET_NPROC_PER_NODE + local)) LOCAL_RANK=$local sh "$script" "$@" || exit
  local=$((local + 1))
done
]]

-- As mpirun, but that its ranks run here: each slot of the hostfile is one, with a fresh environment as sshd gives it,
-- and what -x names. It waits until M.go.
local MPIRUN <const> = [[#!/bin/bash
set -eu
forward=()
while [ $# -gt 0 ]; do
  case $1 in
  -N) per_node=$2; shift 2 ;;
  --allow-run-as-root) shift ;;
  --mca) echo "mpirun mca $2 <$3>"; shift 3 ;;
  -x) case $2 in *=*) forward+=("$2") ;; *) forward+=("$2=${!2}") ;; esac; shift 2 ;;
  *) break ;;
  esac
done
[ -s /root/.ssh/id_rsa ] && [ "$(stat -c %a /root/.ssh/id_rsa)" = 600 ]
until [ -e /tmp/go ]; do sleep 0.1; done
rank=0
while read -r host slots; do
  echo "mpirun host $host $slots"
  [ "$slots" = "slots=$per_node" ]
  for ((i = 0; i < per_node; i++)); do
    env -i PATH="$PATH" OMPI_COMM_WORLD_RANK=$rank "${forward[@]}" "$@"
    rank=$((rank + 1))
  done
done <"$OMPI_MCA_orte_default_hostfile"
]]

-- As sshd: it answers on its port, but nobody comes in.
local SSHD <const> = [[#!/bin/sh
[ "$*" = -De ] && [ "$(stat -c %a /root/.ssh/authorized_keys)" = 644 ] || exit 2
env | grep -E '^(NCCL|SPEC)_' | sort | sed 's/^/sshd env /'
nc -ll -p 22 -e true &
trap 'exit 255' TERM
while :; do sleep 1 & wait $!; done
]]

--- Makes the image on both nodes.
function M.make_image()
  local folder = files.folder()
  image.base(folder)
  image.program(folder .. "/usr/bin/torchrun", TORCHRUN)
  image.program(folder .. "/usr/local/mpi/bin/mpirun", MPIRUN)
  image.program(folder .. "/usr/sbin/sshd", SSHD)
  image.program(folder .. "/share/train", PROGRAM)
  files.write(folder .. "/opt/amazon/efa/plugin.so", "")
  image.image(M.IMAGE, folder, {})
  files.remove(folder)
end

local CRD <const> = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
local DOMAINS <const> = "computedomains.resource.nvidia.com"

--- Has the cluster serve ComputeDomains, which nobody acts on.
function M.serve_domains()
  objects.must("POST", CRD, {
    metadata = { name = DOMAINS },
    spec = {
      group = "resource.nvidia.com", scope = "Namespaced",
      names = { plural = "computedomains", singular = "computedomain", kind = "ComputeDomain" },
      versions = json.array { { name = "v1beta1", served = true, storage = true, schema = { openAPIV3Schema = {
        type = "object", ["x-kubernetes-preserve-unknown-fields"] = true,
      } } } },
    },
  })
end

--- As before.
function M.serve_no_domains()
  objects.send("DELETE", CRD .. "/" .. DOMAINS)
end

-- The Lua text of a check; what is in braces is filled in.
local BODY <const> = [[
    local json = require "aicr.json"
    local platform = require "aicr.platform"
    local training = require "aicr.training"
    local built = platform.build_run {
      Platform = {platform}, GPUArchitecture = {arch}, FrameworkType = {framework}, {program},
      Runtime = {
        EntryName = {entry}, Image = {image}, NodesPerJob = 2, GpusPerNode = 2,
        Env = { { name = "SPEC_USER", value = "the user's own" }, { name = "NCCL_DEBUG", value = "WARN" } },
      },
      UserOverrides = { {
        name = "spec", preCommand = { 'echo "before on $HOSTNAME"', "export SPEC_BEFORE=before" },
        {overrides}
      } },
    }
    local result = training.run(ctx, {
      namespace = {namespace}, lock = "spec-lock", built = built,
      times = { look = "500ms", log_every = "100ms", trainer_every = "200ms", webhook_every = "100ms",
        cleanup = "40s", launcher = {launcher} },
    })
    ctx:extra { log = result.log, workers = result.workers and json.encode(result.workers) or "none" }
    return "it ran"
]]

-- There are no devices that a claim could get: the pods ask for none.
local NO_CLAIMS <const> = [[podSpec = { resourceClaims = json.null, containers = {
          { name = "node", resources = { claims = json.null } },
        } },]]

--- Starts a check that runs a training run.
---@param how table namespace, platform, arch, framework, program (Lua members of the run), has_claims; entry, its name;
--- launcher, how long its first pod is waited for
---@return table run of spec.support.cluster_run
function M.start(how)
  local values = {
    platform = ("%q"):format(how.platform), arch = ("%q"):format(how.arch), framework = ("%q"):format(how.framework),
    entry = ("%q"):format(how.entry or "run1"), launcher = ("%q"):format(how.launcher or "60s"),
    namespace = ("%q"):format(how.namespace), image = ("%q"):format(M.IMAGE), program = how.program,
    overrides = how.has_claims and NO_CLAIMS or "",
  }
  return runs.start(runs.check([[require("aicr.training").needs, require("aicr.platform").needs]], "3m",
    (BODY:gsub("{(%l+)}", values))), { namespace = "default" })
end

return M
