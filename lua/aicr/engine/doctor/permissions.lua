-- SPDX-License-Identifier: Apache-2.0
--- May this user do all that one check needs? Asks the server about each of it; nothing is tried.
local SHOWN <const> = 3

return {
  name = "permissions",
  phase = "deployment",
  summary = "The user has the permissions that a check needs",
  timeout = "1m",
  params = {
    rights = { type = "list", default = {}, help = "what is asked: words, verb, resource, namespace, subresource" },
  },
  needs = { "get /version" },

  run = function(ctx)
    local questions = {}
    for i, right in ipairs(ctx.params.rights) do
      questions[i] = function()
        return (ctx.k8s:can(right.verb, right.resource, {
          namespace = right.namespace, subresource = right.subresource,
        }))
      end
    end
    local allowed, denied = ctx:all(questions), {}
    for i, right in ipairs(ctx.params.rights) do
      ctx:evidence("%s  %s", allowed[i] and "allowed" or "denied ", right.words)
      denied[#denied + 1] = not allowed[i] and right.words or nil
    end
    if #denied > 0 then
      ctx:fail {
        code = "UNAUTHORIZED", reason = "forbidden", details = { denied = denied },
        message = ("%d of %d permissions are missing: %s%s"):format(#denied, #questions,
          table.concat(denied, ", ", 1, math.min(#denied, SHOWN)), #denied > SHOWN and ", …" or ""),
      }
    end
    return ("%d permissions"):format(#questions)
  end,
}
