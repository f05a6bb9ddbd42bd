-- SPDX-License-Identifier: Apache-2.0
--- What a failed call of the Kubernetes client means (gke-tcpxo.md 3.10, validation-model.md 4.1).
--- Decided from the facts in `err.details`, never from the client's own code; but where the client
--- says that a 404 proves nothing, it is none.
local M = {}

-- The reasons that the API machinery defines. Any other counts as no reason at all.
local KNOWN <const> = {
  Unauthorized = "UNAUTHORIZED",
  Forbidden = "UNAUTHORIZED",
  NotFound = "NOT_FOUND",
  Timeout = "TIMEOUT",
  ServerTimeout = "TIMEOUT",
  ServiceUnavailable = "SERVICE_UNAVAILABLE",
  AlreadyExists = "INTERNAL",
  BadRequest = "INTERNAL",
  Conflict = "INTERNAL",
  Expired = "INTERNAL",
  Gone = "INTERNAL",
  InternalError = "INTERNAL",
  Invalid = "INTERNAL",
  MethodNotAllowed = "INTERNAL",
  NotAcceptable = "INTERNAL",
  RequestEntityTooLarge = "INTERNAL",
  StorageReadError = "INTERNAL",
  TooManyRequests = "INTERNAL",
  UnsupportedMediaType = "INTERNAL",
}

local BY_HTTP <const> = {
  [401] = "UNAUTHORIZED",
  [403] = "UNAUTHORIZED",
  [404] = "NOT_FOUND",
  [503] = "SERVICE_UNAVAILABLE",
  [504] = "TIMEOUT",
}

-- Reasons of a 404 that a proxy may have said, of which discovery cannot tell what is absent, or of which it tells that
-- it is there.
local UNPROVED <const> = {
  ["unexpected-response"] = true, ["discovery-incomplete"] = true, ["scope-mismatch"] = true,
}

local BY_TRANSPORT <const> = {
  deadline = "TIMEOUT",
  canceled = "TIMEOUT",
  ["socket-timeout"] = "TIMEOUT",
  ["dns-timeout"] = "TIMEOUT",
  refused = "SERVICE_UNAVAILABLE",
  reset = "SERVICE_UNAVAILABLE",
  ["http2-lost"] = "SERVICE_UNAVAILABLE",
}

-- The run itself was stopped: such an error has no request and so no details.
local function stopped(err)
  return err.details == nil and (err.code == "TIMEOUT" or err.code == "CANCELED")
end

--- The class of a failed call: NOT_FOUND (the one that may mean "not applicable"), UNAUTHORIZED,
--- TIMEOUT, SERVICE_UNAVAILABLE or INTERNAL. A client cancellation counts as TIMEOUT.
---@param err table error object of the client
---@return string code
function M.classify(err)
  if stopped(err) then
    return "TIMEOUT"
  end
  local details = type(err.details) == "table" and err.details or {}
  if details.transport then
    return BY_TRANSPORT[details.transport] or "INTERNAL"
  end
  local by_reason = KNOWN[details.status_reason]
  if by_reason then
    return by_reason
  elseif details.http == 404 and UNPROVED[err.reason] then
    return "INTERNAL"
  elseif details.http then
    return BY_HTTP[details.http] or "INTERNAL"
  end
  -- Nothing was asked because discovery proves that the API is not there.
  return details.served == false and "NOT_FOUND" or "INTERNAL"
end

--- The code of a generic read that failed: NOT_FOUND, TIMEOUT, else INTERNAL.
---@param err table error object of the client
---@return string code
function M.read_code(err)
  local class = M.classify(err)
  return (class == "NOT_FOUND" or class == "TIMEOUT") and class or "INTERNAL"
end

--- The code of a read of the deployed runtime that failed with anything but a 404
--- (gke-tcpxo.md 3.8): an expired deadline is TIMEOUT, a run that was cancelled CANCELED, all else
--- INTERNAL.
---@param err table error object of the client
---@return string code
function M.runtime_read_code(err)
  if stopped(err) then
    return err.code
  end
  local transport = type(err.details) == "table" and err.details.transport
  if transport == "deadline" then
    return "TIMEOUT"
  end
  return transport == "canceled" and "CANCELED" or "INTERNAL"
end

return M
