-- SPDX-License-Identifier: Apache-2.0
--- Is there a server, and who vouches for it? An answer that refuses the credentials is one too.
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
    local http = err.details and err.details.http
    if http == 401 or http == 403 then
      return ("it answers, but does not tell its version to this user (HTTP %d)%s"):format(http, trust)
    end
    error(err, 0)
  end,
}
