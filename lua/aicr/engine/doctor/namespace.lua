-- SPDX-License-Identifier: Apache-2.0
--- Is the namespace there in which checks make their objects? Who may not read it can still have been given something
--- in it: the binding that says so proves that it is there.
return {
  name = "namespace",
  phase = "deployment",
  summary = "The namespace of the run is there",
  timeout = "45s",
  params = {
    probe = { type = "list", help = "a permission in the namespace: verb, resource with its group, subresource" },
  },
  needs = { "get namespaces" },

  run = function(ctx)
    local name = ctx.namespace
    local found, err = ctx:try(ctx.k8s.find, ctx.k8s, "namespaces", name)
    if not found and err and err.reason ~= "forbidden" then
      error(err, 0)
    elseif not found and err then
      local verb, resource, subresource = table.unpack(ctx.params.probe)
      local allowed, reason = ctx.k8s:can(verb, resource, { namespace = name, subresource = subresource,
        explain = true })
      if allowed and reason:find(('allowed by RoleBinding "[^"/]*/%s"'):format((name:gsub("%-", "%%-")))) then
        return ("%s (a role is bound in it)"):format(name)
      end
      error(err, 0)
    elseif not found then
      ctx:fail {
        code = "NOT_FOUND", reason = "not-found", message = ("there is no namespace %s"):format(name),
        why = "the selected checks make their objects in it", fix = "kubectl create namespace " .. name,
      }
    elseif found.metadata.deletionTimestamp then
      ctx:fail {
        code = "CONFLICT", reason = "terminating", message = ("the namespace %s is being deleted"):format(name),
        fix = ("kubectl get namespace %s -o jsonpath='{.status.conditions}'"):format(name),
      }
    end
    return name
  end,
}
