-- SPDX-License-Identifier: Apache-2.0
--- How far this machine's clock and the server's are apart. The server says when it made an answer, in whole seconds;
--- it did so between two looks at the clock here, so what is told is the least that they can differ.
local time = require "aicr.time"

local function duration(ms)
  return ms < 60000 and ("%.1fs"):format(ms / 1000) or time.format_duration(ms)
end

return {
  name = "clock",
  phase = "deployment",
  summary = "The clocks agree well enough for certificates and tokens",
  timeout = "45s",
  params = {
    tolerance_ms = { type = "integer", default = 30000, help = "how far the clocks may be apart" },
  },
  needs = { "create selfsubjectreviews.authentication.k8s.io anywhere" },
  fixes = { ["clock-skew"] = "timedatectl status" },

  run = function(ctx)
    local before = ctx:now()
    local review = ctx.k8s:create({
      apiVersion = "authentication.k8s.io/v1", kind = "SelfSubjectReview", metadata = { generateName = "aicr-run-" },
    }, { dry_run = true })
    local after = ctx:now()
    local made = review.metadata and review.metadata.creationTimestamp
    if type(made) ~= "string" then
      ctx:skip { reason = "not-told", message = "the server does not say when it answers" }
    end
    local server = time.parse(made)
    local behind, ahead = server - after, before - (server + 999)
    local apart = math.max(behind, ahead, 0)
    if apart > ctx.params.tolerance_ms then
      ctx:fail {
        code = "CONFLICT", reason = "clock-skew",
        message = ("this machine's clock is at least %s %s the server's, %s is tolerated"):format(
          duration(apart), behind > ahead and "behind" or "ahead of",
          duration(ctx.params.tolerance_ms)),
        why = "certificates and tokens are refused as not yet or no longer valid",
      }
    end
    return apart == 0 and "no difference seen"
      or ("at least %s apart, %s tolerated"):format(duration(apart),
        duration(ctx.params.tolerance_ms))
  end,
}
