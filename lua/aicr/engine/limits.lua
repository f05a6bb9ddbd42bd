-- SPDX-License-Identifier: Apache-2.0
--- The options that bound a run: --jobs, --timeout, --retry, --seed (cli-and-reports.md 2.2), and how
--- often a running check is told of where there is no live region.
local values = require "aicr.engine.value"

local M = {}

local JOBS <const> = 4
local RETRY_MAX <const> = 100
local HEARTBEAT <const> = "AICR_RUN_HEARTBEAT"
local HEARTBEAT_MS <const> = 30000

--- How messages name an option: by where it was set.
--- @param given table the parsed command line
--- @param name string with `_`
function M.place(given, name)
  if given.origins[name] == "environment" then
    return "AICR_RUN_" .. name:upper()
  elseif given.options[name] == nil then
    return "suite option " .. name
  end
  return "--" .. name:gsub("_", "-")
end

local function whole(given, options, name, least, most, problems)
  local value = options[name]
  if value == nil then
    return nil
  end
  local n = math.tointeger(tonumber(value))
  if not n or n < least or n > most then
    local range = most == math.maxinteger and ("of at least %d"):format(least)
      or ("from %d to %d"):format(least, most)
    problems:add('%s: expected an integer %s, found "%s"', M.place(given, name), range,
      tostring(value))
    return nil
  end
  return n
end

local function duration(place, value, problems)
  if value == nil then
    return nil
  end
  local ms = values.duration(value)
  if not ms or ms <= 0 then
    problems:add('%s: expected %s, found "%s"', place, values.example "duration", tostring(value))
    return nil
  end
  return ms
end

--- Checks the name of the run's namespace (RFC 1123): it stands in commands and manifests that are told to people.
--- @param problems table message.problems()
function M.check_namespace(given, options, problems)
  local name = options.namespace
  if name and (#name > 63 or not name:find("^[a-z0-9][a-z0-9-]*$") or name:sub(-1) == "-") then
    problems:add {
      what = ('%s: expected a namespace, at most 63 of a-z, 0-9 and hyphens inside, found "%s"'):format(
        M.place(given, "namespace"), name),
      fix = "name one that is there (kubectl get namespaces): --namespace NS",
    }
  end
end

--- Reads them.
--- @param given table the parsed command line
--- @param options table its options, merged with the suites'
--- @param host table the border
--- @param now integer milliseconds since the epoch
--- @return table jobs, retry, timeout_ms (nil: none), seed, heartbeat_ms
function M.read(given, options, host, now, problems)
  local beat = host.env(HEARTBEAT)
  return {
    jobs = whole(given, options, "jobs", 1, math.maxinteger, problems) or JOBS,
    retry = whole(given, options, "retry", 0, RETRY_MAX, problems) or 0,
    timeout_ms = duration(M.place(given, "timeout"), options.timeout, problems),
    seed = whole(given, options, "seed", 0, math.maxinteger, problems) or now // 1000,
    heartbeat_ms = duration(HEARTBEAT, beat ~= "" and beat or nil, problems) or HEARTBEAT_MS,
  }
end

return M
