-- SPDX-License-Identifier: Apache-2.0
--- Did an earlier run leave something? Looks for its label among the kinds of objects that the selected checks make.
local MARK <const> = "app.kubernetes.io/managed-by=aicr-run"
local RUN <const> = "aicr-run/run"
local SHOWN <const> = 5

-- How to be rid of objects of one kind: run by run, so that a run that goes on is not hit; what is being deleted is not
-- deleted again, but looked at.
local function remedies(kind, objects)
  local where = kind.namespace and "-n " .. kind.namespace or "-A"
  local runs, fixes, held, seen = {}, {}, nil, {}
  for _, object in ipairs(objects) do
    local meta = object.metadata
    local label = (meta.labels or {})[RUN]
    if meta.deletionTimestamp then
      held = held or meta
    elseif not seen[label or ""] then
      seen[label or ""] = true
      runs[#runs + 1] = label and RUN .. "=" .. label or MARK
    end
  end
  for _, label in ipairs((seen[""] or #runs > SHOWN) and { MARK } or runs) do
    fixes[#fixes + 1] = ("kubectl delete %s %s -l %s"):format(kind.resource, where, label)
  end
  if held then
    fixes[#fixes + 1] = ("kubectl get %s %s%s -o yaml"):format(kind.resource, held.name,
      held.namespace and " -n " .. held.namespace or "")
  end
  return fixes
end

return {
  name = "leftovers",
  phase = "deployment",
  summary = "Earlier runs left nothing behind",
  timeout = "2m",
  params = {
    kinds = { type = "list", default = {}, help = "what is looked at: resource with its group, namespace" },
  },
  needs = {},

  run = function(ctx)
    local names, n, fixes, hidden, looks = {}, 0, {}, {}, {}
    for _, kind in ipairs(ctx.params.kinds) do
      local objects, err = ctx:try(ctx.k8s.list, ctx.k8s, kind.resource, { namespace = kind.namespace, label = MARK })
      if not objects and err.reason == "forbidden" then
        looks[#looks + 1] = ("kubectl get %s %s -l %s"):format(kind.resource,
          kind.namespace and "-n " .. kind.namespace or "-A", MARK)
        hidden[#hidden + 1] = kind.resource .. (kind.namespace and " in " .. kind.namespace or "")
      elseif not objects and err.reason ~= "api-not-served" then
        error(err, 0)
      end
      for _, object in ipairs(objects or {}) do
        local meta = object.metadata
        local name = ("%s/%s%s"):format(kind.resource, meta.name, meta.namespace and " in " .. meta.namespace or "")
        n = n + 1
        names[#names + 1] = #names < SHOWN and name or nil
        ctx:evidence("%s, of run %s, made %s%s", name, (meta.labels or {})[RUN] or "unknown",
          meta.creationTimestamp or "at an unknown time",
          meta.deletionTimestamp and ", being deleted" or "")
      end
      for _, fix in ipairs(remedies(kind, objects or {})) do
        fixes[#fixes + 1] = fix
      end
    end
    if n > 0 then
      ctx:fail {
        code = "CONFLICT", reason = "leftovers",
        message = ("%d %s of earlier runs: %s%s"):format(n, n == 1 and "object" or "objects",
          table.concat(names, ", "), n > #names and ", …" or ""),
        why = "a run that was killed could not clean up; one that goes on now has objects too",
        fix = table.concat(fixes, " && "),
      }
    end
    if #hidden > 0 then
      ctx:skip {
        reason = "not-allowed",
        message = ("this user may not list %s (the least role does not need it), so nobody knows what earlier runs "
          .. "left there; an administrator sees it with: %s"):format(table.concat(hidden, ", "),
          table.concat(looks, " && ")),
      }
    end
    return ("none among %d %s of objects"):format(#ctx.params.kinds, #ctx.params.kinds == 1 and "kind" or "kinds")
  end,
}
