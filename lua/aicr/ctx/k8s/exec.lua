-- SPDX-License-Identifier: Apache-2.0
--- `ctx.k8s:exec`: a command in a container (kubernetes-client.md 3.4).
local arguments = require "aicr.ctx.k8s.arguments"
local k8s = require "aicr.native.k8s"
local kept = require "aicr.ctx.kept"
local native = require "aicr.native.task"

local M = {}

local EXEC <const> = { container = "string", stdin = "string", timeout = "string" }
local WHAT <const> = "ctx.k8s:exec"

-- A list of its own of the words, which no shell sees.
local function words_of(command)
  if type(command) ~= "table" then
    error(('%s: the command must be a list of words such as { "cat", "/etc/hostname" }, got %s'):format(WHAT,
      type(command)), 4)
  end
  local words = {}
  for i = 1, rawlen(command) do
    local word = rawget(command, i)
    if type(word) ~= "string" or word:find("\0", 1, true) then
      error(("%s: word %d of the command must be a string without NUL, got %s"):format(WHAT, i, type(word)), 4)
    end
    words[i] = word
  end
  if (words[1] or "") == "" then
    error(("%s: the command has no first word"):format(WHAT), 4)
  end
  for key in next, command do
    if not words[key] then
      error(("%s: the command must be a list of words, it also has [%s]"):format(WHAT, tostring(key)), 4)
    end
  end
  return words
end

--- Runs a command in a container and waits for its end. It gets its words as they are, without a shell: for one say
--- { "sh", "-c", text }. What ends the wait early (the time-out, the check's end) does not end the command.
-- @param pod string
-- @param namespace string
-- @param command table a list of words
-- @param opts table|nil {container=(needed where there are several), stdin=text, timeout=duration (default: the
--   check's deadline)}
-- @return table {stdout=, stderr= any bytes, at most 16 MiB each, code=0-255}: a code that is not 0 is no error
-- @raise INTERNAL/"exec-failed" (it did not run: no such command, the container does not run), "exec-unknown-exit"
--   (the connection or the container ended before its exit code came), "response-too-large", "protocol";
--   SERVICE_UNAVAILABLE/"not-ready" (the pod has no node yet), "connection-lost"; TIMEOUT/"deadline";
--   NOT_FOUND/"not-found"; UNAUTHORIZED/"forbidden"; METHOD_NOT_ALLOWED/"read-only" on a recording
function M.exec(_, pod, namespace, command, opts)
  arguments.named("pods", pod, namespace, WHAT)
  opts = arguments.options(opts, EXEC, WHAT)
  local request = {
    name = pod, namespace = namespace, command = words_of(command), container = opts.container, stdin = opts.stdin,
    deadline_ms = opts.timeout and native.monotonic() + kept.duration(opts.timeout) or nil,
  }
  local stdout, stderr, code = k8s.exec(WHAT, request)
  return { stdout = stdout, stderr = stderr, code = code }
end

return M
