-- SPDX-License-Identifier: Apache-2.0
--- Another image for the benchmark's program (gke-tcpxo.md 5.4, image override). Pure.
local errors = require "aicr.native.error"
local text = require "aicr.native.text"
local tree = require "aicr.nccl_runtime.tree"

local M = {}

-- What runs the benchmark's program. The daemon has its own image and keeps it.
local OURS <const> = { node = true, ["fix-ssh-perms"] = true }
local KINDS <const> = { "initContainers", "containers" }

local LENGTH_MAX <const> = 4096

local function is_host(s)
  local host, port = s:match "^(.-):(%d+)$"
  host = host or s
  if port and #port > 5 or host == "" then
    return false
  end
  for label in (host .. "."):gmatch "([^.]*)%." do
    if not label:find "^%w" or not label:find "%w$" or label:find "[^%w-]" then
      return false
    end
  end
  return true
end

local function is_path(s)
  for part in (s .. "/"):gmatch "([^/]*)/" do
    local bare = part:gsub("__", "-"):gsub("%-+", "-"):gsub("[_.]", "-")
    if not bare:find "^%l" and not bare:find "^%d" or bare:find "[^%l%d-]" or bare:find "%-%-" or bare:find "%-$" then
      return false
    end
  end
  return true
end

local function is_tag(s)
  return #s <= 128 and s:find "^[%w_][%w_.-]*$" ~= nil
end

local function is_digest(s)
  local hex = s:match "^%l[%l%d]*:(%x+)$"
  return hex ~= nil and #hex >= 32
end

-- [HOST[:PORT]/]PATH[:TAG][@DIGEST], as container runtimes read it.
local function is_reference(s)
  local name, digest = s:match "^([^@]*)@(.*)$"
  name = name or s
  if #s > LENGTH_MAX or digest and not is_digest(digest) then
    return false
  end
  local rest, tag = name:match "^(.*):([^/:]*)$"
  if rest and not is_tag(tag) then
    return false
  end
  local first, path = (rest or name):match "^([^/]*)/(.*)$"
  if first and (first:find "[.:]" or first == "localhost" or first:find "%u") then
    return is_host(first) and is_path(path)
  end
  return is_path(rest or name)
end

--- The reference that was given, nil when it is empty. Raises INVALID_REQUEST/`runtime-image` (a verdict) when it is
--- blank or malformed.
---@param given string
---@return string|nil
function M.reference(given)
  if given == "" then
    return nil
  end
  local reference = text.trim(given)
  if not is_reference(reference) then
    errors.raise {
      code = "INVALID_REQUEST", reason = "runtime-image", verdict = true,
      message = ("the benchmark's image %s: expected [HOST/]NAME[:TAG][@DIGEST], found \"%s\""):format(
        reference == "" and "is blank" or "is no reference", text.printable(given)),
    }
  end
  return reference
end

--- Puts the image into every container that runs the benchmark's program, in place. Raises INTERNAL/`no-container` when
--- there is none.
---@param runtime table
---@param reference string
---@return table runtime
function M.override(runtime, reference)
  local found = 0
  for _, job in ipairs(tree.list(runtime, "spec", "template", "spec", "replicatedJobs")) do
    local spec = tree.dig(job, "template", "spec", "template", "spec")
    for _, kind in ipairs(KINDS) do
      for _, container in ipairs(tree.list(spec, kind)) do
        if OURS[tree.text(container, "name") or ""] then
          container.image = reference
          found = found + 1
        end
      end
    end
  end
  if found == 0 then
    errors.raise {
      code = "INTERNAL", reason = "no-container",
      message = ("no container of the benchmark could be given the image %s"):format(reference),
    }
  end
  return runtime
end

return M
