-- SPDX-License-Identifier: Apache-2.0
-- Gets single objects, one after another.
return {
  name = "gets",
  phase = "deployment",
  summary = "Single objects are read",
  params = {
    count = { type = "integer", default = 1, help = "how many" },
  },
  needs = { "get namespaces" },
  run = function(ctx)
    for _ = 1, ctx.params.count do
      ctx.k8s:get("namespaces", "default")
    end
    return ("%d objects"):format(ctx.params.count)
  end,
}
