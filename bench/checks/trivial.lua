-- SPDX-License-Identifier: Apache-2.0
-- The least that a check can be; NAME is replaced.
return {
  name = "NAME",
  phase = "deployment",
  summary = "Passes",
  run = function()
    return "ok"
  end,
}
