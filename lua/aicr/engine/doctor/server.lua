-- SPDX-License-Identifier: Apache-2.0
--- Is there a server, and who vouches for it? One that knows the user and does not tell its version is there too; one
--- that refuses the credentials is no server for this user.
return {
  name = "server",
  phase = "deployment",
  summary = "The API server answers over a connection that can be trusted",
  timeout = "45s",
  params = {
    insecure = { type = "boolean", default = false, help = "its certificate is not verified" },
  },
  needs = { "get /version" },

  run = function(ctx)
    local trust = ctx.params.insecure and ", its certificate is NOT verified" or ""
    local version, err = ctx:try(ctx.k8s.server_version, ctx.k8s)
    if version then
      return ("Kubernetes %s%s"):format(version, trust)
    end
    if err.details and err.details.http == 403 then
      return ("it answers, but does not tell its version to this user (HTTP 403)%s"):format(trust)
    end
    error(err, 0)
  end,
}
