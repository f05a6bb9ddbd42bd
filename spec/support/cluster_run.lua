-- SPDX-License-Identifier: Apache-2.0
--- Runs the program beside a spec that does something to the cluster meanwhile.
---
--- The check tells where it is with ctx:progress, which comes as a heartbeat on stderr; the spec answers with a change
--- of the cluster that the check waits for.
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local json = require "aicr.json"

local M = {}

--- The text of a check.
---@param needs string Lua: the members of `needs`
---@param timeout string
---@param body string Lua: the body of run
---@return string
function M.check(needs, timeout, body)
  return ([[
return {
  name = "probe", phase = "deployment", summary = "probe", timeout = %q, needs = { %s },
  run = function(ctx)
%s
  end,
}
]]):format(timeout, needs, body)
end

local run = {}
run.__index = run

local started = {}

local function sleep()
  os.execute "sleep 0.05"
end

local function contents(self, name)
  local path = self.folder .. "/" .. name
  return files.exists(path) and files.read(path) or ""
end

--- Starts the program on a check.
---@param text string|nil of M.check; nil: how.args name what is run
---@param how table kubeconfig=(the administrator's), namespace=, args={}, env={}, before= words before it,
--- keep= (end_all leaves it), check= name of the check whose result is wanted (that of the text)
---@return table run
function M.start(text, how)
  local self = setmetatable({ folder = files.folder(), began = os.time(), name = how.check or "probe" }, run)
  local words = { "env -u LD_PRELOAD AICR_RUN_HEARTBEAT=20ms TMPDIR=" .. self.folder }
  for name, value in pairs(how.env or {}) do
    words[#words + 1] = name .. "=" .. files.quote(value)
  end
  words[#words + 1] = how.before
  local args = { os.getenv "AICR_RUN", "-k", how.kubeconfig or cluster.STATE .. "/kubeconfig", "-n",
    how.namespace or "default", "-o", self.folder .. "/report.json" }
  if text then
    files.write(self.folder .. "/probe.lua", text)
    args[#args + 1] = self.folder .. "/probe.lua"
  end
  for _, word in ipairs(how.args or {}) do
    args[#args + 1] = word
  end
  for _, word in ipairs(args) do
    words[#words + 1] = files.quote(word)
  end
  local script = [[(%s >@/stdout 2>@/stderr </dev/null & pid=$!
    echo $pid >@/pid; wait $pid; echo $? >@/ended; mv @/ended @/code) &]]
  assert(os.execute(script:gsub("@", self.folder):format(table.concat(words, " "))))
  started[self] = not how.keep or nil
  return self
end

--- Its process.
---@return integer
function run:pid()
  return assert(math.tointeger(tonumber(contents(self, "pid"))), "it has not started")
end

function run:has_ended()
  return files.exists(self.folder .. "/code")
end

--- Waits until the check says a text as its progress.
---@param text string
---@param seconds? integer
function run:saw(text, seconds)
  local limit = os.time() + (seconds or 120)
  while not contents(self, "stderr"):find(text, 1, true) do
    if os.time() > limit or self:has_ended() then
      local seen = contents(self, "stderr") .. contents(self, "stdout")
      self:finish(5)
      error(("no %q: %s"):format(text, seen), 2)
    end
    sleep()
  end
end

--- A match in what its stderr has by now.
---@param pattern string
---@return string|nil
function run:told(pattern)
  return contents(self, "stderr"):match(pattern)
end

function run:signal(name)
  assert(os.execute(("kill -s %s %d"):format(name, self:pid())))
end

--- Waits for its end; one that is not there in time is ended and an error.
---@param seconds integer
---@return table {code=, stdout=, stderr=, report=, check= the result of the check, seconds= how long it ran}
function run:finish(seconds)
  local limit = os.time() + seconds
  while not self:has_ended() do
    if os.time() > limit then
      local said = contents(self, "stderr"):sub(-2000)
      self:kill()
      error(("it did not end within %d s: %s"):format(seconds, said), 2)
    end
    sleep()
  end
  local report = contents(self, "report.json")
  local result = {
    code = math.tointeger(tonumber(contents(self, "code"))), stdout = contents(self, "stdout"),
    stderr = contents(self, "stderr"), report = report ~= "" and json.decode(report) or nil,
    seconds = os.time() - self.began,
  }
  result.check = result.report and binary.check(result.report, self.name)
  started[self] = nil
  files.remove(self.folder)
  return result
end

--- Ends it whatever it does.
function run:kill()
  os.execute(("kill -s KILL %d 2>/dev/null"):format(self:pid()))
  while not self:has_ended() do
    sleep()
  end
  started[self] = nil
  files.remove(self.folder)
end

--- Ends what a test that failed has left: for after_each.
function M.end_all()
  for self in pairs(started) do
    self:kill()
  end
end

--- Starts it and waits for its end.
---@param text string
---@param how table
---@param seconds integer
---@return table
function M.run(text, how, seconds)
  return M.start(text, how):finish(seconds)
end

return M
