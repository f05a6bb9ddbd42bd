-- SPDX-License-Identifier: Apache-2.0
--- What to do next about a reason that no check explains itself: the client's, the host's and the
--- engine's own. A check's `fixes` come first.
local M = {}

local VIEW <const> = "grant the permission that the check needs, or run with credentials that have "
  .. "it: kubectl auth can-i --list"
local AGAIN <const> = "run the check again; if it repeats, look at the API server: "
  .. "kubectl get --raw /readyz?verbose"

local FIX <const> = {
  ["no-cluster"] = "name a cluster or a recording of one: --recording DIR",
  ["not-recorded"] = "add the whole answer to the recording: kubectl get RESOURCE -A -o json > "
    .. "RECORDING/RESOURCE.json (when there is none of it: kubectl get --raw PATH)",
  ["recording-changed"] = "run again when nothing writes to the recording any more",
  ["undeclared-permission"] = "add the line that the message names to the check's needs",
  ["not-available"] = "remove the check from the recipe, or use a release that has it",
  forbidden = VIEW,
  unauthorized = VIEW,
  unauthenticated = VIEW,
  ["api-not-served"] = "install what serves this API, then look: kubectl api-resources",
  throttled = AGAIN,
  unavailable = AGAIN,
  ["server-error"] = AGAIN,
  ["server-timeout"] = AGAIN,
  deadline = AGAIN,
  connect = AGAIN,
  ["connection-lost"] = AGAIN,
  memory = "let the check keep less at once: each() instead of list(), and no growing tables",
  budget = "look for a loop in the check that does not end",
  script = "correct the check at the place named",
  interrupted = "run again",
  canceled = "run again",
  ["invalid-constraint"] = 'correct the constraint in the recipe: OP NUMBER, such as ">= 250"',
}

local MISSPELT <const> = { ["api-not-served"] = true, ["not-recorded"] = true }

--- What to do where the client knows a resource whose name is near to the one that was asked for.
--- @param out table reason, message
--- @return string|nil
function M.misspelt(out)
  local near = MISSPELT[out.reason] and (out.message or ""):match('did you mean "([^"]+)"%?')
  return near and ("write %s in the check and in its needs, if that is meant"):format(near)
end

--- The general fix for a reason, or nil.
--- @param reason string|nil
--- @param name string the check's name
function M.fix(reason, name)
  if reason == "timeout" then
    return ("give the check more time: --set %s.timeout=30m"):format(name)
  elseif reason == "cleanup" then
    return "look what is left: kubectl get all -A -l app.kubernetes.io/managed-by=aicr-run"
  elseif reason == "coverage" then
    return "see in the evidence which part could not be verified, or run without --strict"
  end
  return FIX[reason]
end

return M
