-- SPDX-License-Identifier: Apache-2.0
--- Who the server takes this user for.
return {
  name = "identity",
  phase = "deployment",
  summary = "The server accepts the credentials",
  timeout = "45s",
  needs = { "create selfsubjectreviews.authentication.k8s.io anywhere" },

  run = function(ctx)
    local review, err = ctx:try(ctx.k8s.create, ctx.k8s, {
      apiVersion = "authentication.k8s.io/v1", kind = "SelfSubjectReview", metadata = { generateName = "aicr-run-" },
    }, { dry_run = true })
    if not review and (err.reason == "api-not-served" or err.reason == "not-found") then
      ctx:skip { reason = "not-served", message = "the server does not tell who one is (Kubernetes 1.28 does)" }
    elseif not review then
      error(err, 0)
    end
    local user = review.status and review.status.userInfo or {}
    ctx:must("the kind of the user's name", type(user.username), "==", "string")
    local groups = table.concat(user.groups or {}, " ")
    ctx:evidence("groups: %s", groups ~= "" and groups or "none")
    return user.username
  end,
}
