-- SPDX-License-Identifier: Apache-2.0
--- The images of the all-reduce benchmark on the test cluster: shell scripts in the place of mpirun, sshd and apt-get,
--- and recorded logs.
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local json = require "aicr.json"
local log = require "spec.support.nccl_log"

local M = {}

--- The names under which the benchmark, its daemon and that of the recorded runtime are known.
M.NGC = "nvcr.io/nvidia/pytorch:25.06-py3"
local REGISTRY <const>, DAEMON_NAME <const> = "us-docker.pkg.dev", "gce-ai-infra/gpudirect-tcpxo/tcpgpudmarxd-dev"
local TAG <const> = "v1.0.21"
local DAEMONS <const> = { ("%s/%s:%s"):format(REGISTRY, DAEMON_NAME, TAG), "registry.example/tcpxo-daemon:" .. TAG }
--- Prints the table that does not reach the floor; that without its last rows; the good one, without being asked to;
--- the good one, and is then asked to end.
M.SLOW, M.CUT, M.FREE, M.LATE = "aicr.local/nccl:slow", "aicr.local/nccl:cut", "aicr.local/nccl:free",
  "aicr.local/nccl:late"

--- The logs by name; those of two nodes with eight GPUs each.
M.LOGS = {
  good = log.log {}, slow = log.log { busbw = 250.0 }, cut = log.log { last = 1 << 30, footer = false },
  wrong = log.log { wrong = { [1 << 34] = 3 } },
}
local whole = M.LOGS.good:match "^(.*\n)# Out of bounds"
--- Half of its last row is there.
M.LOGS.half = whole:sub(1, #whole - 60)

-- As mpirun, which tries until the workers' sshd answers: it waits until M.go of spec.support.cluster_nccl.
local MPIRUN <const> = [[#!/bin/sh
[ "$1 $2 $3" = "-np 16 --allow-run-as-root" ] || { echo "mpirun: $*"; exit 2; }
grep -q slots=8 /etc/mpi/hostfile || { cat /etc/mpi/hostfile; exit 2; }
[ -z "$AICR_LATE" ] || cat /logs/$AICR_LOG
if [ -n "$AICR_FREE" ]; then sleep 2; else until [ -e /tmp/go ]; do sleep 0.1; done; fi
[ -n "$AICR_LATE" ] || cat /logs/$AICR_LOG
]]
local SSHD <const> = [[#!/bin/sh
[ "$*" = -De ] && [ -s /root/.ssh/authorized_keys ] && grep -q PermitUserEnvironment /etc/ssh/sshd_config || exit 2
grep NCCL_ /root/.ssh/environment || exit 2
trap 'exit 255' TERM
while :; do sleep 1 & wait; done
]]
local APT_GET <const> = [[#!/bin/sh
case "$*" in
update) ;;
"install -y --no-install-recommends openssh-server") mkdir -p /etc/ssh /usr/sbin; cp /share/sshd /usr/sbin/sshd ;;
*) exit 2 ;;
esac
]]
local DAEMON <const> = [[#!/bin/sh
trap 'exit 0' TERM
while :; do sleep 1 & wait; done
]]

local function sh(text, ...)
  assert(os.execute(("env -u LD_PRELOAD sh -ec %s"):format(files.quote(text:format(...)))))
end

--- Makes a folder a file system with a shell of each kind.
function M.base(folder)
  sh([[cd %s
    mkdir -p bin etc tmp root lib64 usr/sbin usr/local/mpi/bin
    cp "$(command -v busybox)" bin/busybox
    for applet in $(busybox --list); do [ $applet = busybox ] || ln -s busybox bin/$applet; done
    cp "$(command -v bash)" bin/bash
    rm bin/apt-get 2>/dev/null || :
    ldd bin/bash | grep -o '/[^ ]*' | while read -r library; do
      mkdir -p .${library%%/*}
      cp -L "$library" .$library
    done
    echo root:x:0:0:root:/root:/bin/sh >etc/passwd]], folder)
end

--- Writes a program.
function M.program(path, text)
  files.write(path, text)
  sh("chmod 0755 %s", path)
end

--- Makes a folder an image on both nodes.
---@param env string[] "NAME=VALUE"
function M.image(tag, folder, env)
  env[#env + 1] = "PATH=/usr/sbin:/usr/bin:/sbin:/bin"
  cluster.must("image", tag, folder, json.encode { Env = json.array(env) })
end

--- Makes them on both nodes.
function M.make()
  local folder = files.folder()
  M.base(folder)
  M.program(folder .. "/usr/local/mpi/bin/mpirun", MPIRUN)
  M.program(folder .. "/bin/apt-get", APT_GET)
  M.program(folder .. "/share/sshd", SSHD)
  M.program(folder .. "/fts/entrypoint_rxdm_container.sh", DAEMON)
  for name, text in pairs(M.LOGS) do
    files.write(folder .. "/logs/" .. name, text)
  end
  M.image(M.NGC, folder, { "AICR_LOG=good" })
  M.image(M.SLOW, folder, { "AICR_LOG=slow" })
  M.image(M.CUT, folder, { "AICR_LOG=cut" })
  M.image(M.FREE, folder, { "AICR_LOG=good", "AICR_FREE=1" })
  M.image(M.LATE, folder, { "AICR_LOG=good", "AICR_LATE=1" })
  for _, tag in ipairs(DAEMONS) do
    M.image(tag, folder, {})
  end
  files.remove(folder)
end

--- The image of the built benchmark on aws h100, by its own name, and others of what its log may be: `BUILT .. name`.
M.AWS = "public.ecr.aws/hpc-cloud/nccl-tests:cuda12.8.1-efa1.43.2-ofiv1.16.3-ncclv2.27.7-1-testsv2.16.9"
M.BUILT = "aicr.local/nccl-built:"

-- As mpirun on ranks by the hostfile; it ends as $AICR_CODE says.
local BUILT_MPIRUN <const> = [[#!/bin/sh
case "$*" in
"-N $2 --allow-run-as-root --mca plm_rsh_args "*" NCCL_DEBUG=INFO "*/all_reduce_perf*" -b 8 -e 16G -f 2 -n 20 -N 1") ;;
*) echo "mpirun: $*"; exit 2 ;;
esac
[ "$(grep -c "slots=$2" /etc/mpi/hostfile)" = 2 ] || { cat /etc/mpi/hostfile; exit 2; }
cat /logs/$AICR_LOG
exit ${AICR_CODE:-0}
]]
local BUILT_SSHD <const> = [[#!/bin/sh
[ "$*" = -De ] && [ -s /root/.ssh/authorized_keys ] || exit 2
trap 'exit 255' TERM
while :; do nc -l -p 22 </dev/null >/dev/null 2>&1 || sleep 1; done &
while :; do sleep 1 & wait $!; done
]]

-- Lines of NCCL, as its ranks write them.
local function said(...)
  local lines = {}
  for i, message in ipairs { ... } do
    lines[i] = ("worker-0:21:21 [0] NCCL INFO %s\n"):format(message)
  end
  return table.concat(lines)
end

local function channel(path)
  return "Channel 00/0 : 0[0] -> 8[0] [send] via " .. path
end

local EFA <const> = said("Using network AWS Libfabric",
  "NET/OFI Selected provider is efa, fabric is efa-direct (found 32 nics)", channel "NET/AWS Libfabric/0/GDRDMA")

-- What there is of them: log, and exit code.
local BUILT <const> = {
  efa = { EFA .. log.log { min = 8, busbw = 487.87 } },
  slow = { EFA .. log.log { min = 8, busbw = 191.40 } },
  wrong = { EFA .. log.log { min = 8, wrong = { [1 << 34] = 3 } }, 1 },
  socket = { said("Using network Socket", channel "NET/Socket/0") .. log.log { min = 8, busbw = 487.87 } },
  ib = { said("NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0:10.2.0.7<0>", "Using network IB", channel "NET/IB/0/GDRDMA")
    .. log.log { min = 8, busbw = 380.0 } },
  nvlink = { said("Using network Socket", "MNNVL 1 cliqueId 7ffe cliqueSize 8 cliqueRank 5")
    .. log.log { min = 8, busbw = 838.07, ranks = 8 } },
}

--- Makes the images of the built benchmark on both nodes.
function M.make_built()
  local folder = files.folder()
  M.base(folder)
  for _, path in ipairs { "/usr/local/mpi/bin/mpirun", "/opt/amazon/openmpi/bin/mpirun" } do
    sh("mkdir -p %s%s", folder, path:match "^(.*)/")
    M.program(folder .. path, BUILT_MPIRUN)
  end
  M.program(folder .. "/usr/sbin/sshd", BUILT_SSHD)
  for name, one in pairs(BUILT) do
    files.write(folder .. "/logs/" .. name, one[1])
  end
  for name, one in pairs(BUILT) do
    M.image(M.BUILT .. name, folder, { "AICR_LOG=" .. name, ("AICR_CODE=%d"):format(one[2] or 0) })
  end
  M.image(M.AWS, folder, { "AICR_LOG=efa" })
  files.remove(folder)
end

local MANIFEST <const> = "application/vnd.docker.distribution.manifest.v2+json"
local NODES <const> = { "n1", "n2" }
local served

--- A registry that has the manifest of the daemon's image and nothing else: the built-in runtime always pulls it, and
--- the nodes have the rest. Until M.serve_no_more.
function M.serve()
  local socket, folder = cluster.STATE .. "/n1.sock", files.folder()
  local digest = cluster.command { "ctr", "-a", socket, "-n", "k8s.io", "images", "ls", "name==" .. DAEMONS[1] }
    .stdout:match "sha256:%x+"
  local manifest = cluster.command { "ctr", "-a", socket, "-n", "k8s.io", "content", "get", digest }.stdout
  files.write(("%s/v2/%s/manifests/%s"):format(folder, DAEMON_NAME, TAG), manifest)
  files.write(folder .. "/httpd.conf", (".%s:%s\n"):format(TAG:match "%d+$", MANIFEST))
  -- Another one each time: what a run that was killed has left keeps its own until its time is over.
  local address = ("%s.1:%d"):format(cluster.SERVER:match "//(.*)%.%d+:", 20000 + os.time() % 20000)
  sh("timeout 1800 busybox httpd -f -p %s -h %s -c %s/httpd.conf </dev/null >/dev/null 2>&1 & echo $! >%s/pid", address,
    folder, folder, folder)
  served = folder
  for _, node in ipairs(NODES) do
    files.write(("%s/%s/registries/%s/hosts.toml"):format(cluster.DATA, node, REGISTRY),
      ('server = "http://%s"\n[host."http://%s"]\ncapabilities = ["pull", "resolve"]\n'):format(address, address))
  end
end

--- Ends it.
function M.serve_no_more()
  if served then
    sh("kill $(cat %s/pid) 2>/dev/null || :", served)
    files.remove(served)
    served = nil
  end
  for _, node in ipairs(NODES) do
    sh("rm -rf %s/%s/registries/%s", cluster.DATA, node, REGISTRY)
  end
end

return M
