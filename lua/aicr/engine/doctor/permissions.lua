-- SPDX-License-Identifier: Apache-2.0
--- May this user do all that one check needs, and is it there? Asks the server about each of it; nothing is tried.
local SHOWN <const> = 3

return {
  name = "permissions",
  phase = "deployment",
  summary = "The user has the permissions that a check needs",
  timeout = "1m",
  params = {
    rights = {
      type = "list", default = {}, help = "what is asked: words, verb, resource, namespace, subresource, if_served",
    },
  },
  needs = { "get /version" },

  run = function(ctx)
    local questions = {}
    for i, right in ipairs(ctx.params.rights) do
      questions[i] = function()
        local may, _, is_served = ctx.k8s:can(right.verb, right.resource, {
          namespace = right.namespace, subresource = right.subresource, explain = true,
        })
        return { may = may, served = is_served ~= false }
      end
    end
    local answers, denied, absent = ctx:all(questions), {}, {}
    for i, right in ipairs(ctx.params.rights) do
      local answer = answers[i]
      ctx:evidence("%s  %s%s", answer.may and "allowed" or "denied ", right.words,
        answer.served and "" or " (not served)")
      local is_asked = answer.served or not right.if_served
      denied[#denied + 1] = is_asked and not answer.may and right.words or nil
      absent[#absent + 1] = is_asked and not answer.served and right.words or nil
    end
    if #denied > 0 then
      ctx:fail {
        code = "UNAUTHORIZED", reason = "forbidden", details = { denied = denied },
        message = ("%d of %d permissions are missing: %s%s"):format(#denied, #questions,
          table.concat(denied, ", ", 1, math.min(#denied, SHOWN)), #denied > SHOWN and ", …" or ""),
      }
    end
    if #absent > 0 then
      ctx:fail {
        code = "NOT_FOUND", reason = "api-not-served", details = { absent = absent },
        message = ("allowed, but the server does not serve what is asked: %s%s"):format(
          table.concat(absent, ", ", 1, math.min(#absent, SHOWN)), #absent > SHOWN and ", …" or ""),
      }
    end
    return ("%d %s"):format(#questions, #questions == 1 and "permission" or "permissions")
  end,
}
