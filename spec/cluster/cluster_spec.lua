-- SPDX-License-Identifier: Apache-2.0
-- The test cluster itself: what the other specs of this folder stand on is really there.
require "aicr_native"
local cluster = require "spec.support.cluster"
local json = require "aicr.json"

local NETWORKS <const> = "/apis/networking.gke.io/v1/networks"

local function certificate(name)
  return { "--cert", ("%s/%s.crt"):format(cluster.STATE, name), "--key", ("%s/%s.key"):format(cluster.STATE, name) }
end

local function apply(objects, ...)
  local result = cluster.apply(objects, ...)
  assert.equal(0, result.code, result.stderr)
end

describe("the nodes of the test cluster", function()
  for _, node in ipairs { "n1", "n2" } do
    it("has " .. node .. " ready, with eight GPUs", function()
      local status = cluster.get("node", node).status
      assert.equal("8", status.allocatable["nvidia.com/gpu"])
      assert.equal("8", status.capacity["nvidia.com/gpu"])
      local ready
      for _, condition in ipairs(status.conditions) do
        ready = condition.type == "Ready" and condition.status or ready
      end
      assert.equal("True", ready)
    end)

    it("runs a pod to completion on " .. node .. " and gives its log", function()
      cluster.in_namespace(function(namespace)
        local pod = cluster.pod("one", "echo hello from $(hostname)", { nodeSelector = {
          ["kubernetes.io/hostname"] = node } })
        pod.spec.containers[1].resources = { limits = { ["nvidia.com/gpu"] = "8" } }
        apply({ pod }, "-n", namespace)
        cluster.wait_pod(namespace, "one", "Succeeded")
        assert.equal("hello from one\n", cluster.kubectl("-n", namespace, "logs", "one"))
      end)
    end)

    it("executes a command on " .. node .. " and gives its exit code", function()
      cluster.in_namespace(function(namespace)
        apply({ cluster.pod("one", "sleep 600", { nodeName = node }) }, "-n", namespace)
        cluster.wait_pod(namespace, "one", "Running")
        local result = cluster.ctl("kubectl", "-n", namespace, "exec", "one", "--", "sh", "-c", "echo out; exit 7")
        assert.equal(7, result.code, result.stderr)
        assert.equal("out\n", result.stdout)
      end)
    end)
  end

  it("connects a pod with the API server's service address and with a pod of the other node", function()
    cluster.in_namespace(function(namespace)
      apply({ cluster.pod("server", "echo pong >/tmp/x && httpd -f -p 8000 -h /tmp", { nodeName = "n1" }) },
        "-n", namespace)
      cluster.wait_pod(namespace, "server", "Running")
      local address = cluster.get("-n", namespace, "pod", "server").status.podIP
      apply({ cluster.pod("client", ([[set -e
        i=0; until wget -q -O - http://%s:8000/x; do i=$((i + 1)); [ $i -lt 20 ]; sleep 0.5; done
        nc -w 5 $KUBERNETES_SERVICE_HOST $KUBERNETES_SERVICE_PORT </dev/null; echo served]]):format(address),
        { nodeName = "n2" }) }, "-n", namespace)
      cluster.wait_pod(namespace, "client", "Succeeded")
      assert.equal("pong\nserved\n", cluster.kubectl("-n", namespace, "logs", "client"))
    end)
  end)

  it("notices a kubelet that has ended, and one that is back", function()
    finally(function()
      cluster.ctl("start", "kubelet-n2")
    end)
    local function ready()
      return (cluster.kubectl("get", "node", "n2", "-o", 'jsonpath={.status.conditions[?(@.type=="Ready")].status}'))
    end
    cluster.must("end", "kubelet-n2")
    cluster.eventually("n2 is unknown", 60, function()
      local status = ready()
      return status == "Unknown", status
    end)
    cluster.must("start", "kubelet-n2")
    assert.equal("True", ready())
    assert.equal("8", cluster.get("node", "n2").status.allocatable["nvidia.com/gpu"])
  end)
end)

describe("the operators of the test cluster", function()
  local function runtime(name)
    local function job(step, count)
      return { name = step, replicas = 1, template = { spec = { completions = count, parallelism = count,
        template = { spec = { containers = json.array { { name = "node", image = "aicr.local/busybox:1",
          command = json.array { "true" } } } } } } } }
    end
    return { apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainingRuntime",
      metadata = { name = name, labels = { ["trainer.kubeflow.org/framework"] = "mpi" } },
      spec = {
        mlPolicy = { numNodes = 2, mpi = { numProcPerNode = 8, mpiImplementation = "OpenMPI",
          sshAuthMountPath = "/root/.ssh", runLauncherAsNode = false } },
        template = { spec = { network = { publishNotReadyAddresses = true },
          successPolicy = { operator = "All", targetReplicatedJobs = json.array { "launcher" } },
          replicatedJobs = json.array { job("launcher", 1), job("node", 1) } } },
      } }
  end

  local function train_job(runtime_name)
    return { apiVersion = "trainer.kubeflow.org/v1alpha1", kind = "TrainJob", metadata = { name = "one" },
      spec = { runtimeRef = { kind = "TrainingRuntime", name = runtime_name } } }
  end

  it("let Trainer's webhook judge a TrainJob", function()
    cluster.in_namespace(function(namespace)
      apply({ runtime("mpi") }, "-n", namespace)
      cluster.eventually("the TrainJob is taken", 30, function()
        local result = cluster.apply({ train_job("mpi") }, "-n", namespace, "--dry-run=server")
        return result.code == 0, result.stderr
      end)
      local refused = cluster.apply({ train_job("another") }, "-n", namespace, "--dry-run=server")
      assert.equal(1, refused.code)
      assert.matches("admission webhook \"validator%.trainjob%.trainer%.kubeflow%.org\" denied the request",
        refused.stderr)
    end)
  end)

  it("let JobSet's webhooks judge a JobSet", function()
    local set = json.decode(cluster.kubectl("create", "--dry-run=server", "-o", "json", "-f",
      "spec/cluster/config/probe_jobset.yaml"))
    -- Written by the defaulting webhook.
    assert.equal("Indexed", set.spec.replicatedJobs[1].template.spec.completionMode)
  end)
end)

describe("the API server of the test cluster", function()
  it("answers with its own version", function()
    local answer = cluster.request("/version")
    assert.equal(200, answer.http, answer.stderr)
    assert.equal("v1.34.4", json.decode(answer.body).gitVersion)
  end)

  it("says 404 as text once GKE's networks are not served", function()
    finally(function()
      cluster.kubectl("apply", "--server-side", "-f", "spec/cluster/config/gke_crds.yaml")
      cluster.eventually("networks are served", 30, function()
        local answer = cluster.request(NETWORKS)
        return answer.http == 200, answer.body
      end)
    end)
    assert.equal(200, cluster.request(NETWORKS).http)
    cluster.kubectl("delete", "-f", "spec/cluster/config/gke_crds.yaml")
    local answer = cluster.eventually("networks are gone", 30, function()
      local answer = cluster.request(NETWORKS)
      return answer.http == 404 and answer, answer.body
    end)
    assert.equal("404 page not found\n", answer.body)
    assert.matches("^text/plain", answer.type)
  end)

  it("refuses who has no rights, is expired, or is not known", function()
    assert.equal(403, cluster.request("/api/v1/nodes", certificate "nobody").http)
    assert.equal(401, cluster.request("/api/v1/nodes", certificate "expired").http)
    assert.equal(401, cluster.request("/api/v1/nodes", { "-H", "Authorization: Bearer not-a-token" }).http)
    local other = certificate "admin"
    table.move({ "--cacert", cluster.STATE .. "/wrong-ca.crt" }, 1, 2, #other + 1, other)
    assert.equal(60, cluster.request("/api/v1/nodes", other).code)
    assert.equal(60, cluster.request("/api/v1/nodes", nil, cluster.SERVER_UNNAMED).code)
  end)

  for _, row in ipairs { { "kubeconfig", 0 }, { "kubeconfig-token", 0 }, { "kubeconfig-nobody", 1 },
    { "kubeconfig-expired", 1 }, { "kubeconfig-bad-token", 1 }, { "kubeconfig-wrong-ca", 1 },
    { "kubeconfig-wrong-name", 1 } } do
    it(("is asked for pods with %s: exit code %d"):format(row[1], row[2]), function()
      local result = cluster.ctl("kubectl", "--kubeconfig", ("%s/%s"):format(cluster.STATE, row[1]), "get", "pods")
      assert.equal(row[2], result.code, result.stderr)
    end)
  end

  it("gives a credential to whom it is asked for", function()
    cluster.must("issue", "guest", "/O=system:masters/CN=guest", "1 hour")
    assert.equal(200, cluster.request("/api/v1/nodes", certificate "guest").http)
    cluster.must("issue", "guest", "/O=system:masters/CN=guest", "1 hour ago")
    assert.equal(401, cluster.request("/api/v1/nodes", certificate "guest").http)
  end)

  it("forgets list tokens after a compaction", function()
    local page = json.decode(cluster.request("/api/v1/namespaces?limit=1").body)
    local token = assert(page.metadata.continue)
    cluster.must("compact")
    -- A later write moves the store past the compacted revision.
    cluster.in_namespace(function() end)
    cluster.eventually("the token has expired", 60, function()
      local answer = cluster.request("/api/v1/namespaces?limit=1&continue=" .. token)
      return answer.http == 410, answer.http
    end)
  end)

  it("keeps silent while it is stopped", function()
    finally(function()
      cluster.must("cont", "kube-apiserver")
    end)
    cluster.must("stop", "kube-apiserver")
    local options = certificate "admin"
    table.move({ "--max-time", "2" }, 1, 2, #options + 1, options)
    assert.equal(28, cluster.request("/version", options).code)
    cluster.must("cont", "kube-apiserver")
    assert.equal(200, cluster.request("/version").http)
  end)

  it("comes back after a restart", function()
    cluster.must("restart", "kube-apiserver")
    assert.equal(200, cluster.request("/readyz").http)
  end)

  it("has a newer one beside it", function()
    finally(function()
      cluster.must("end", "kube-apiserver-new")
    end)
    cluster.must("start", "kube-apiserver-new")
    local answer = cluster.request("/version", nil, cluster.SERVER_NEW)
    assert.matches("^v1%.3[5-9]", json.decode(answer.body).gitVersion)
    assert.equal(200, cluster.request("/api/v1/namespaces", nil, cluster.SERVER_NEW).http)
  end)
end)
