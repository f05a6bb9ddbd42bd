-- SPDX-License-Identifier: Apache-2.0
-- A log that is followed while its kubelet and the API server end and come back: every line once, or an error.
require "aicr_native"
local cluster = require "spec.support.cluster"
local runs = require "spec.support.cluster_run"

local LINES <const> = 400

local FOLLOW <const> = ([[
    ctx.k8s:wait("pods", "counts", ctx.namespace, function(pod)
      return pod and pod.status.phase == "Running", pod and pod.status.phase
    end)
    local n = 0
    for line in ctx.k8s:logs("counts", ctx.namespace, { follow = true, timeout = "100s" }) do
      n = n + 1
      ctx:must("line", line, "==", tostring(n))
      ctx:progress("line %%d.", n)
    end
    ctx:must("lines", n, "==", %d)
    return "every line once"
]]):format(LINES)

after_each(runs.end_all)

describe("a log that is followed", function()
  it("is whole though its kubelet and the API server were started again", function()
    finally(function()
      cluster.ctl("start", "kubelet-n1")
      cluster.ctl("start", "kube-apiserver")
    end)
    cluster.in_namespace(function(namespace)
      local text = ("for i in $(seq %d); do echo $i; sleep 0.05; done"):format(LINES)
      local applied = cluster.apply({ cluster.pod("counts", text, { nodeName = "n1" }) }, "-n", namespace)
      assert.equal(0, applied.code, applied.stderr)
      local run = runs.start(runs.check([["logs,wait pods"]], "110s", FOLLOW), { namespace = namespace })
      run:saw("line 40.", 60)
      cluster.must("end", "kubelet-n1")
      cluster.must("start", "kubelet-n1")
      cluster.must("restart", "kube-apiserver")
      local result = run:finish(120)
      assert.equal("pass", result.check.outcome, result.check.message)
      assert.equal("every line once", result.check.result)
    end)
  end)

  it("is that of the run that was followed, though the container is started again", function()
    cluster.in_namespace(function(namespace)
      local pod = cluster.pod("counts", "for i in 1 2 3; do echo $i; sleep 1; done; exit 1",
        { restartPolicy = "Always" })
      assert.equal(0, cluster.apply({ pod }, "-n", namespace).code)
      local run = runs.start(runs.check([["logs,wait pods"]], "60s", [[
        ctx.k8s:wait("pods", "counts", ctx.namespace, function(pod)
          return pod and pod.status.phase == "Running", pod and pod.status.phase
        end)
        local got = {}
        for line in ctx.k8s:logs("counts", ctx.namespace, { follow = true }) do
          got[#got + 1] = line
        end
        return table.concat(got, " ")]]), { namespace = namespace })
      local result = run:finish(80)
      -- The run that was followed, from its log or from that of the run before.
      assert.equal("1 2 3", result.check.result, result.check.message)
    end)
  end)
end)
