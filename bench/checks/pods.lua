-- SPDX-License-Identifier: Apache-2.0
-- Streams all pods of a recording and counts their GPUs.
return {
  name = "pods",
  phase = "deployment",
  summary = "All pods are read, one at a time",
  params = {
    count = { type = "integer", default = 0, help = "how many pods there are" },
  },
  needs = { "list pods" },
  run = function(ctx)
    local pods, gpus = 0, 0
    for pod in ctx.k8s:each("pods") do
      pods = pods + 1
      for _, container in ipairs(pod.spec.containers) do
        local limits = container.resources.limits
        gpus = gpus + (limits and tonumber(limits["nvidia.com/gpu"]) or 0)
      end
    end
    ctx:must("pods read", pods, "==", ctx.params.count)
    return ("%d pods, %d GPUs"):format(pods, gpus)
  end,
}
