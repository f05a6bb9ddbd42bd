-- SPDX-License-Identifier: Apache-2.0
--- GPU pods as an API server lists them, about 9 KB of compact JSON each, managedFields included.
local M = {}

-- One pod; @i@ its number, @node@ its node, @gpus@ its GPUs, @uid@, @ip@.
local POD <const> = [[
{"metadata":{"name":"train-@i@-worker-0","generateName":"train-@i@-worker-","namespace":"team-@team@",
"uid":"@uid@","resourceVersion":"48@i@","creationTimestamp":"2026-05-03T08:1@team@:12Z",
"labels":{"app.kubernetes.io/name":"llama-pretrain","app.kubernetes.io/managed-by":"trainer",
"batch.kubernetes.io/job-completion-index":"0","batch.kubernetes.io/job-name":"train-@i@-worker",
"controller-uid":"@uid@","job-name":"train-@i@-worker","jobset.sigs.k8s.io/jobset-name":"train-@i@",
"jobset.sigs.k8s.io/replicatedjob-name":"node","jobset.sigs.k8s.io/restart-attempt":"0"},
"annotations":{"devices.gke.io/container.tcpxo-daemon":"- path: /dev/nvidia0\n- path: /dev/nvidia1\n- path:
 /dev/nvidia2\n- path: /dev/nvidia3\n- path: /dev/nvidia4\n- path: /dev/nvidia5\n- path: /dev/nvidia6\n- pat
h: /dev/nvidia7\n- path: /dev/nvidiactl\n- path: /dev/nvidia-uvm\n- path: /dev/dmabuf_import_helper\n",
"networking.gke.io/default-interface":"eth0","networking.gke.io/interfaces":"[{\"interfaceName\":\"eth0\",
\"network\":\"default\"},{\"interfaceName\":\"eth1\",\"network\":\"gpu-nic-0\"},{\"interfaceName\":\"eth2\",
\"network\":\"gpu-nic-1\"},{\"interfaceName\":\"eth3\",\"network\":\"gpu-nic-2\"},
{\"interfaceName\":\"eth4\",\"network\":\"gpu-nic-3\"},{\"interfaceName\":\"eth5\",
\"network\":\"gpu-nic-4\"},{\"interfaceName\":\"eth6\",\"network\":\"gpu-nic-5\"},
{\"interfaceName\":\"eth7\",\"network\":\"gpu-nic-6\"},{\"interfaceName\":\"eth8\",
\"network\":\"gpu-nic-7\"}]"},"ownerReferences":[{"apiVersion":"batch/v1","kind":"Job",
"name":"train-@i@-worker","uid":"@uid@","controller":true,"blockOwnerDeletion":true}],
"finalizers":["batch.kubernetes.io/job-tracking"],"managedFields":[{"manager":"kube-controller-manager",
"operation":"Update","apiVersion":"v1","time":"2026-05-03T08:11:12Z","fieldsType":"FieldsV1",
"fieldsV1":{"f:metadata":{"f:annotations":{".":{},"f:devices.gke.io/container.tcpxo-daemon":{},
"f:networking.gke.io/default-interface":{},"f:networking.gke.io/interfaces":{}},"f:finalizers":{".":{},
"v:\"batch.kubernetes.io/job-tracking\"":{}},"f:generateName":{},"f:labels":{".":{},
"f:app.kubernetes.io/managed-by":{},"f:app.kubernetes.io/name":{},
"f:batch.kubernetes.io/job-completion-index":{},"f:batch.kubernetes.io/job-name":{},"f:controller-uid":{},
"f:job-name":{},"f:jobset.sigs.k8s.io/jobset-name":{},"f:jobset.sigs.k8s.io/replicatedjob-name":{},
"f:jobset.sigs.k8s.io/restart-attempt":{}},"f:ownerReferences":{".":{},"k:{\"uid\":\"@uid@\"}":{}}},
"f:spec":{"f:containers":{"k:{\"name\":\"tcpxo-daemon\"}":{".":{},"f:args":{},"f:command":{},
"f:env":{".":{},"k:{\"name\":\"LD_LIBRARY_PATH\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},
"f:imagePullPolicy":{},"f:name":{},"f:resources":{},"f:securityContext":{".":{},"f:capabilities":{".":{},
"f:add":{}}},"f:terminationMessagePath":{},"f:terminationMessagePolicy":{},"f:volumeMounts":{".":{},
"k:{\"mountPath\":\"/usr/local/nvidia\"}":{".":{},"f:mountPath":{},"f:name":{}}}},
"k:{\"name\":\"worker\"}":{".":{},"f:args":{},"f:command":{},"f:env":{".":{},
"k:{\"name\":\"MASTER_ADDR\"}":{".":{},"f:name":{},"f:value":{}},
"k:{\"name\":\"NCCL_FASTRAK_CTRL_DEV\"}":{".":{},"f:name":{},"f:value":{}},
"k:{\"name\":\"NCCL_FASTRAK_IFNAME\"}":{".":{},"f:name":{},"f:value":{}}},"f:image":{},
"f:imagePullPolicy":{},"f:name":{},"f:resources":{".":{},"f:limits":{".":{},"f:cpu":{},"f:memory":{},
"f:nvidia.com/gpu":{}},"f:requests":{".":{},"f:cpu":{},"f:memory":{},"f:nvidia.com/gpu":{}}},
"f:terminationMessagePath":{},"f:terminationMessagePolicy":{},"f:volumeMounts":{".":{},
"k:{\"mountPath\":\"/dev/shm\"}":{".":{},"f:mountPath":{},"f:name":{}}}}},"f:dnsPolicy":{},
"f:enableServiceLinks":{},"f:hostNetwork":{},"f:nodeSelector":{},"f:restartPolicy":{},"f:schedulerName":{},
"f:securityContext":{},"f:terminationGracePeriodSeconds":{},"f:tolerations":{},"f:volumes":{".":{},
"k:{\"name\":\"dshm\"}":{".":{},"f:emptyDir":{".":{},"f:medium":{}},"f:name":{}}}}}},{"manager":"kubelet",
"operation":"Update","apiVersion":"v1","time":"2026-05-03T08:12:40Z","fieldsType":"FieldsV1",
"fieldsV1":{"f:status":{"f:conditions":{"k:{\"type\":\"ContainersReady\"}":{".":{},"f:lastProbeTime":{},
"f:lastTransitionTime":{},"f:status":{},"f:type":{}},"k:{\"type\":\"Ready\"}":{".":{},"f:lastProbeTime":{},
"f:lastTransitionTime":{},"f:status":{},"f:type":{}}},"f:containerStatuses":{},"f:hostIP":{},"f:hostIPs":{},
"f:phase":{},"f:podIP":{},"f:podIPs":{},"f:startTime":{}}},"subresource":"status"}]},
"spec":{"volumes":[{"name":"dshm","emptyDir":{"medium":"Memory"}},{"name":"nvidia",
"hostPath":{"path":"/home/kubernetes/bin/nvidia","type":""}},{"name":"sys","hostPath":{"path":"/sys",
"type":""}},{"name":"token","projected":{"sources":[{"serviceAccountToken":{"expirationSeconds":3607,
"path":"token"}},{"configMap":{"name":"kube-root-ca.crt","items":[{"key":"ca.crt","path":"ca.crt"}]}}],
"defaultMode":420}}],"containers":[{"name":"tcpxo-daemon","image":"registry.example/tcpxo-daemon:v1.0.17",
"command":["/bin/sh","-c"],"args":["set -ex\nchmod 755 /fts/entrypoint_rxdm_container.sh\n/fts/entrypoint_rx
dm_container.sh --num_hops=2 --num_nics=8 --uid= --alsologtostderr\n"],"env":[{"name":"LD_LIBRARY_PATH",
"value":"/usr/local/nvidia/lib64"}],"resources":{},"volumeMounts":[{"name":"nvidia",
"mountPath":"/usr/local/nvidia"},{"name":"sys","mountPath":"/hostsysfs"}],
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File",
"imagePullPolicy":"IfNotPresent","securityContext":{"capabilities":{"add":["NET_ADMIN",
"NET_BIND_SERVICE"]}}},{"name":"worker","image":"registry.example/train:25.04-py3","command":["torchrun"],
"args":["--nnodes=@gpus@","--nproc-per-node=8","--rdzv-backend=c10d","train.py","--config",
"/etc/train/config.yaml"],"env":[{"name":"MASTER_ADDR","value":"train-@i@-node-0-0.train-@i@"},
{"name":"NCCL_FASTRAK_CTRL_DEV","value":"eth0"},{"name":"NCCL_FASTRAK_IFNAME","value":"eth1,eth2,eth3,eth4,
eth5,eth6,eth7,eth8"},{"name":"NCCL_DEBUG","value":"INFO"},{"name":"POD_NAME",
"valueFrom":{"fieldRef":{"apiVersion":"v1","fieldPath":"metadata.name"}}}],
"resources":{"limits":{"cpu":"96","memory":"1400Gi","nvidia.com/gpu":"@gpus@"},"requests":{"cpu":"96",
"memory":"1400Gi","nvidia.com/gpu":"@gpus@"}},"volumeMounts":[{"name":"dshm","mountPath":"/dev/shm"},
{"name":"nvidia","mountPath":"/usr/local/nvidia"},{"name":"token","readOnly":true,
"mountPath":"/var/run/secrets/kubernetes.io/serviceaccount"}],
"terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"FallbackToLogsOnError",
"imagePullPolicy":"IfNotPresent"}],"restartPolicy":"OnFailure","terminationGracePeriodSeconds":30,
"dnsPolicy":"ClusterFirstWithHostNet","nodeSelector":{"cloud.google.com/gke-accelerator":"nvidia-h100-mega-8
0gb"},"serviceAccountName":"default","nodeName":"@node@","hostNetwork":true,"securityContext":{},
"hostname":"train-@i@-node-0-0","subdomain":"train-@i@","schedulerName":"default-scheduler",
"tolerations":[{"key":"nvidia.com/gpu","operator":"Exists","effect":"NoSchedule"},
{"key":"node.kubernetes.io/not-ready","operator":"Exists","effect":"NoExecute","tolerationSeconds":300},
{"key":"node.kubernetes.io/unreachable","operator":"Exists","effect":"NoExecute","tolerationSeconds":300}],
"priority":0,"enableServiceLinks":false,"preemptionPolicy":"PreemptLowerPriority"},
"status":{"phase":"Running","conditions":[{"type":"PodReadyToStartContainers","status":"True",
"lastProbeTime":null,"lastTransitionTime":"2026-05-03T08:12:38Z"},{"type":"Initialized","status":"True",
"lastProbeTime":null,"lastTransitionTime":"2026-05-03T08:11:14Z"},{"type":"Ready","status":"True",
"lastProbeTime":null,"lastTransitionTime":"2026-05-03T08:12:40Z"},{"type":"ContainersReady","status":"True",
"lastProbeTime":null,"lastTransitionTime":"2026-05-03T08:12:40Z"},{"type":"PodScheduled","status":"True",
"lastProbeTime":null,"lastTransitionTime":"2026-05-03T08:11:13Z"}],"hostIP":"@ip@",
"hostIPs":[{"ip":"@ip@"}],"podIP":"@ip@","podIPs":[{"ip":"@ip@"}],"startTime":"2026-05-03T08:11:14Z",
"containerStatuses":[{"name":"tcpxo-daemon","state":{"running":{"startedAt":"2026-05-03T08:12:37Z"}},
"lastState":{},"ready":true,"restartCount":0,"image":"registry.example/tcpxo-daemon:v1.0.17",
"imageID":"registry.example/tcpxo-daemon@sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3
c6ef","containerID":"containerd://8a1c@uid@","started":true},{"name":"worker",
"state":{"running":{"startedAt":"2026-05-03T08:12:39Z"}},"lastState":{},"ready":true,"restartCount":0,
"image":"registry.example/train:25.04-py3",
"imageID":"registry.example/train@sha256:9b2cf66b5a0c13a1f26b3a4d1d0d6e2c4e2c37df0a8b6e6ab6e2b9bdf8d1e7a5",
"containerID":"containerd://77de@uid@","started":true}],"qosClass":"Burstable"}}]]

-- The text between the placeholders, and the placeholders: {"text", "i", "text", …}.
local function split(text)
  local pieces, from = {}, 1
  for before, name, after in text:gmatch("()@(%l+)@()") do
    pieces[#pieces + 1] = text:sub(from, before - 1)
    pieces[#pieces + 1] = name
    from = after
  end
  pieces[#pieces + 1] = text:sub(from)
  return pieces
end

local PIECES <const> = split((POD:gsub("\n", "")))

--- The JSON text of a pod.
--- @param i integer its number
function M.pod(i)
  local value = {
    i = tostring(i), team = tostring(i % 10), gpus = tostring(1 << i % 4),
    node = ("gke-lyra-a3-mega-%04d"):format(i // 2),
    uid = ("%08x-7c1e-4b0f-9d3a-5f20c4e1%04x"):format(i, i % 65536),
    ip = ("10.%d.%d.%d"):format(i // 65536 % 256, i // 256 % 256, i % 256),
  }
  local out = {}
  for n, piece in ipairs(PIECES) do
    out[n] = n % 2 == 0 and value[piece] or piece
  end
  return table.concat(out)
end

--- Writes a PodList.
--- @param path string
--- @param n integer how many pods
--- @return integer bytes written
function M.write_list(path, n)
  local file <close> = assert(io.open(path, "wb"))
  file:setvbuf("full", 1 << 20)
  assert(file:write '{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"990001"},"items":[')
  for i = 1, n do
    assert(file:write(i > 1 and "," or "", M.pod(i)))
  end
  assert(file:write "]}\n")
  return file:seek()
end

--- Writes a recording of one list of pods.
--- @param dir string a folder; made
--- @param n integer how many pods
--- @return integer bytes of the list
function M.write_recording(dir, n)
  local pods = dir .. "/objects/core/v1/pods"
  assert(os.execute(("mkdir -p '%s'"):format(pods)))
  local head <close> = assert(io.open(dir .. "/aicr-recording.json", "w"))
  assert(head:write('{"schema":1,"capturedAt":"2026-05-04T10:11:12Z",',
    '"server":{"gitVersion":"v1.32.6"},"context":"bench"}\n'))
  return M.write_list(pods .. "/list.json", n)
end

return M
