-- SPDX-License-Identifier: Apache-2.0
-- Takes the names of all pods, one at a time.
return {
  name = "names",
  phase = "deployment",
  summary = "The names of all pods are read",
  timeout = "10m",
  params = {
    count = { type = "integer", default = 0, help = "how many pods there are" },
  },
  needs = { "list pods" },
  run = function(ctx)
    local n, bytes = 0, 0
    for pod in ctx.k8s:each("pods", { fields = { "metadata.name" } }) do
      n, bytes = n + 1, bytes + #pod.metadata.name
    end
    ctx:must("pods read", n, "==", ctx.params.count)
    return ("%d pods, %d bytes of names"):format(n, bytes)
  end,
}
