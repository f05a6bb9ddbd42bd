-- SPDX-License-Identifier: Apache-2.0
-- ctx.k8s:logs on real kubelets and containerd (kubernetes-client.md 3.3).
require "aicr_native"
local cluster = require "spec.support.cluster"
local cluster_check = require "spec.support.cluster_check"
local json = require "aicr.json"

local BODY <const> = [[
    local function logs(name, pod, opts)
      attempt(name, "logs", pod, ctx.namespace, opts)
    end

    logs("running", "running")
    logs("last two", "running", { tail = 2 })
    logs("no line", "running", { tail = 0 })
    logs("ten bytes", "running", { limit = 10 })
    logs("times", "running", { timestamps = true, tail = 1 })
    logs("an hour", "running", { since = "1h" })
    logs("a second", "running", { since = "1s" })
    logs("finished", "finished")
    logs("silent", "silent")
    logs("restarted", "restarted")
    logs("before", "restarted", { previous = true })
    logs("no run before", "running", { previous = true })
    logs("waiting", "waiting")
    logs("initializing", "initializing")
    logs("init", "initializing", { container = "first" })
    logs("unscheduled", "unscheduled")
    logs("none chosen", "two")
    logs("a", "two", { container = "a" })
    logs("b", "two", { container = "b" })
    logs("no such container", "two", { container = "c" })
    logs("no such pod", "none")
    logs("gone", "gone")
    logs("unreachable", "unreachable")
    logs("bad tail", "running", { tail = -1 })
    note("bytes", { ctx.k8s:logs("bytes", ctx.namespace):byte(1, -1) })
    local much = ctx.k8s:logs("much", ctx.namespace)
    note("much", { size = #much, same = much == (("0"):rep(255) .. "\n"):rep(#much // 256) })
]]

local function named(name, text)
  return { name = name, image = "aicr.local/busybox:1", imagePullPolicy = "Never",
    command = json.array { "sh", "-c", text } }
end

local function pods(refused)
  local two = cluster.pod("two", "")
  two.spec.containers = json.array { named("a", "echo I am a; sleep 600"), named("b", "echo I am b; sleep 600") }
  local waiting = cluster.pod("waiting", "true")
  waiting.spec.containers[1].image = "aicr.local/none:1"
  local restarted = cluster.pod("restarted", [[n=$(cat /kept/n 2>/dev/null || echo 0)
    echo $((n + 1)) >/kept/n; echo run $n; [ $n = 0 ] && exit 1; sleep 600]], { restartPolicy = "Always",
    volumes = json.array { { name = "kept", emptyDir = {} } } })
  restarted.spec.containers[1].volumeMounts = json.array { { name = "kept", mountPath = "/kept" } }
  return {
    two, waiting, restarted,
    cluster.pod("running", "for i in 1 2 3; do echo line $i; done; sleep 600"),
    cluster.pod("finished", "echo out; sleep 1; echo err >&2; exit 3"), cluster.pod("silent", "true"),
    cluster.pod("initializing", "true", { initContainers = json.array { named("first", "echo init; sleep 600") } }),
    cluster.pod("unscheduled", "true", { nodeSelector = { ["kubernetes.io/hostname"] = "none" } }),
    cluster.pod("gone", "true", { nodeName = "aicr-spec-none" }),
    cluster.pod("unreachable", "true", { nodeName = refused }),
    cluster.pod("bytes", [[printf 'a\000\377\376\rb\n\033[1mz']]),
    -- A busy containerd may lose what is still in the pipe when a container ends; with short lines kubelet would
    -- begin a new file meanwhile.
    cluster.pod("much", "yes $(printf %0255d 0) | head -c 5242880; sleep 5"),
  }
end

-- Both runs of it are over or begun, and what running wrote is older than a second.
local function wait_for_pods(namespace)
  cluster.wait_pod(namespace, "finished", "Failed")
  for _, name in ipairs { "silent", "bytes", "much" } do
    cluster.wait_pod(namespace, name, "Succeeded")
  end
  for _, name in ipairs { "two", "running" } do
    cluster.wait_pod(namespace, name, "Running")
  end
  cluster.eventually("the container was restarted", 60, function()
    local seen = (cluster.get("-n", namespace, "pod", "restarted").status.containerStatuses or {})[1] or {}
    return seen.restartCount == 1 and seen.state.running, json.encode(seen)
  end)
  cluster.eventually("the init container runs", 60, function()
    local seen = (cluster.get("-n", namespace, "pod", "initializing").status.initContainerStatuses or {})[1] or {}
    return (seen.state or {}).running, json.encode(seen)
  end)
  os.execute("sleep 2")
end

describe("the log of a container", function()
  local got

  setup(function()
    cluster_check.with_refused_node(function(refused)
      cluster.in_namespace(function(namespace)
        local applied = cluster.apply(pods(refused), "-n", namespace)
        assert.equal(0, applied.code, applied.stderr)
        wait_for_pods(namespace)
        got = cluster_check.run(namespace, { "logs pods" }, BODY)
      end)
    end)
  end)

  local function gives(what, name, text)
    it(what, function()
      assert.equal(text, got[name])
    end)
  end

  local function raises(what, name, code, reason, message, http)
    it(what, function()
      local err = got[name]
      assert.same({ code, reason, http }, { err.code, err.reason, err.details.http }, err.message)
      assert.matches(message, err.message)
      assert.equal(reason == "not-found", err.verdict)
    end)
  end

  gives("is what it wrote until now", "running", "line 1\nline 2\nline 3\n")
  gives("may be its last lines", "last two", "line 2\nline 3\n")
  gives("may be no line", "no line", "")
  gives("may be its first bytes", "ten bytes", "line 1\nlin")
  gives("may be of the last hour", "an hour", "line 1\nline 2\nline 3\n")
  gives("may be of the last second", "a second", "")
  gives("has stderr, too", "finished", "out\nerr\n")
  gives("may be empty", "silent", "")
  gives("is of the run that runs", "restarted", "run 1\n")
  gives("is of the run before, where that is wanted", "before", "run 0\n")
  gives("may be of an init container", "init", "init\n")
  gives("is of the container that is named", "a", "I am a\n")
  gives("is of the other one, too", "b", "I am b\n")

  it("may have times", function()
    assert.matches("^%d%d%d%d%-%d%d%-%d%dT%d%d:%d%d:%d%d%.?%d*Z line 3\n$", got.times)
  end)

  it("may hold any bytes", function()
    assert.same({ ("a\0\xff\xfe\rb\n\27[1mz"):byte(1, -1) }, got.bytes)
  end)

  it("may be long", function()
    assert.same({ size = 5242880, same = true }, got.much)
  end)

  raises("of no run before is an error", "no run before", "NOT_FOUND", "no-previous", "previous terminated container",
    400)
  raises("is not there before the container starts", "waiting", "SERVICE_UNAVAILABLE", "not-ready",
    "is waiting to start", 400)
  raises("is not there while init containers run", "initializing", "SERVICE_UNAVAILABLE", "not-ready",
    "waiting to start: PodInitializing", 400)
  raises("is not there before the pod has a node", "unscheduled", "SERVICE_UNAVAILABLE", "not-ready",
    "has not started", 204)
  raises("needs a choice where there are several", "none chosen", "INVALID_REQUEST", "bad-request",
    "choose one of: %[a b%]", 400)
  raises("needs a container that is there", "no such container", "INVALID_REQUEST", "bad-request",
    "container c is not valid for pod two", 400)
  raises("needs a pod that is there", "no such pod", "NOT_FOUND", "not-found", 'pods "none" not found', 404)
  raises("needs a node that is there", "gone", "SERVICE_UNAVAILABLE", "node-gone", 'pods "aicr%-spec%-none" not found',
    404)
  raises("needs a node that can be reached", "unreachable", "SERVICE_UNAVAILABLE", "node-unreachable",
    "connection refused", 500)
  raises("needs options that can be", "bad tail", "INVALID_REQUEST", "invalid", "tailLines", 422)
end)
