-- SPDX-License-Identifier: Apache-2.0
--- What the containers of an MPI runtime run before mpirun (platform-runtimes.md 3.4). POSIX shell:
--- an image need not have more.
local M = {}

--- Where the Trainer mounts the key pair, read-only and with a mode that ssh refuses.
M.SSH_RAW = "/tmp/mpi-ssh-raw"
M.SSH_HOME = "/root/.ssh"
--- The folder of the file in which the Trainer writes the workers' names.
M.HOSTFILE_DIR = "/etc/mpi"

local KEYS <const> = ([[
cp RAW/* HOME/
chmod 600 HOME/id_rsa
chmod 644 HOME/id_rsa.pub HOME/authorized_keys
]]):gsub("RAW", M.SSH_RAW):gsub("HOME", M.SSH_HOME)

--- Installs sshd only where the image has none: a cluster need not reach a package server.
M.WORKER = [[
set -ex
if [ ! -x /usr/sbin/sshd ]; then
  apt-get update
  apt-get install -y --no-install-recommends openssh-server
fi
mkdir -p /var/run/sshd
chmod 0755 /var/run/sshd
mkdir -p /root/.ssh
chmod 700 /root/.ssh
]] .. KEYS .. [[
exec /usr/sbin/sshd -De
]]

M.LAUNCHER_INIT = "set -ex\n" .. KEYS

--- The launcher waits here, and not by `dependsOn`, where the scheduler admits the pods of a run
--- only together: a launcher that is not made yet would be waited for in vain.
M.WAIT_FOR_WORKERS = [[
set +x
hostfile=/etc/mpi/hostfile
hosts=
while read -r host _ || [ -n "$host" ]; do
  hosts="$hosts $host"
done < "$hostfile"
if [ -z "${hosts# }" ]; then
  echo "wait-for-workers: no host in $hostfile" >&2
  exit 1
fi
round=1
while [ "$round" -le 240 ]; do
  silent=0
  for host in $hosts; do
    case "$host" in
    "$HOSTNAME" | "$HOSTNAME".*) continue ;;
    esac
    if ! said=$(timeout 10 ssh -o BatchMode=yes -o StrictHostKeyChecking=no \
      -o UserKnownHostsFile=/dev/null -o ConnectTimeout=5 "$host" true 2>&1); then
      silent=$((silent + 1))
      if [ $((round % 10)) -eq 0 ]; then
        echo "wait-for-workers: round $round: $host: $(echo "$said" | head -n 3)"
      fi
    fi
  done
  if [ "$silent" -eq 0 ]; then
    echo "wait-for-workers: all answer"
    exit 0
  fi
  round=$((round + 1))
  sleep 5
done
echo "wait-for-workers: after 20 minutes $silent host(s) of $hostfile do not answer on port 22" >&2
exit 1
]]

return M
