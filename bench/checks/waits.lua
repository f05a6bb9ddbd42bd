-- SPDX-License-Identifier: Apache-2.0
-- Waits 100 ms; NAME is replaced.
return {
  name = "NAME",
  phase = "deployment",
  summary = "Waits 100 ms",
  run = function(ctx)
    ctx:sleep("100ms")
    return "waited"
  end,
}
