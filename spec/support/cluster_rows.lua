-- SPDX-License-Identifier: Apache-2.0
--- Runs of the GKE TCPXO suite side by side on the test cluster, a row each. Those whose workers take the GPUs follow
--- one another: the next one starts when the one before removes its namespace.
local nccl = require "spec.support.cluster_nccl"
local files = require "spec.support.files"
local objects = require "spec.support.cluster_objects"

local M = {}

-- As many as the machine takes; seconds that one may take.
local SIDE_BY_SIDE <const>, PATIENCE_S <const> = 6, 240

local at = {}
at.__index = at

--- Waits until f() is true.
function at:wait(what, f)
  while not f() do
    if self.run:has_ended() then
      error("the run ended before " .. what, 0)
    end
    coroutine.yield()
  end
end

--- Waits until the run says the text.
function at:sees(text)
  self:wait(text, function()
    return self.run:told((text:gsub("%p", "%%%0")))
  end)
end

--- Waits until launcher and both workers run.
function at:running()
  self:sees "workers 2/2 running, launcher running"
  self.namespace = self.run:told(nccl.SPACES)
end

function at:go()
  nccl.go(self.namespace)
end

function at:pods_path(name)
  return ("/api/v1/namespaces/%s/pods/%s"):format(self.namespace, name or "")
end

--- Name of the first pod of a job.
---@param job "launcher"|"node"
function at:first(job)
  return nccl.pods(self.namespace, job)[1].metadata.name
end

local function by_default(row)
  if row.runtime or row.short then
    return function() end
  end
  return function(self)
    self:running()
    self:go()
  end
end

local function start(row)
  local how = {
    params = {}, words = {}, only = row.only, recipe = row.recipe, kubeconfig = row.kubeconfig, keep = true,
  }
  for name, value in pairs(row.params or {}) do
    how.params[name] = value
  end
  if row.runtime then
    row.file = files.folder()
    files.write(row.file .. "/runtime.yaml", row.runtime)
    how.words = { "--set-file", ("%s.runtime=%s/runtime.yaml"):format(nccl.CHECK, row.file) }
  end
  table.move(row.words or {}, 1, #(row.words or {}), #how.words + 1, how.words)
  row.run, row.began = nccl.start(how), os.time()
  local self = setmetatable({ run = row.run, row = row }, at)
  row.act = coroutine.create(row.act or by_default(row))
  row.at = self
end

local function step(row)
  if coroutine.status(row.act) ~= "dead" then
    local ok, err = coroutine.resume(row.act, row.at)
    row.problem = not ok and row.problem == nil and tostring(err) or row.problem
  end
  if os.time() - row.began > PATIENCE_S then
    row.problem = row.problem or "it did not end"
    row.namespace = row.run:told(nccl.SPACES)
    row.run:kill()
    row.is_over = true
    return true
  elseif row.run:has_ended() then
    row.namespace = row.run:told(nccl.SPACES)
    row.result = row.run:finish(5)
    row.is_over = true
    return true
  end
  return false
end

-- May it begin beside those that run? What they hold of the GPUs is free once their namespaces go.
local function fits(row, running)
  if #running >= SIDE_BY_SIDE then
    return false
  end
  for _, other in ipairs(row.gpus and running or {}) do
    if other.gpus and not other.run:told "removes the namespace" then
      return false
    end
  end
  return true
end

local function ended(row)
  if row.file then
    files.remove(row.file)
  end
end

--- Runs them all; each has then its result or problem.
---@param rows table[] {name, only, recipe, runtime (text), params, words, kubeconfig, short (takes no
--- GPUs), act(at)}
function M.all(rows)
  local running, waiting = {}, table.move(rows, 1, #rows, 1, {})
  for _, row in ipairs(rows) do
    row.gpus = not row.runtime and not row.short
  end
  while #running + #waiting > 0 do
    for i = #waiting, 1, -1 do
      local row = waiting[#waiting - i + 1]
      if row and fits(row, running) then
        start(table.remove(waiting, #waiting - i + 1))
        running[#running + 1] = row
      end
    end
    for i = #running, 1, -1 do
      if step(running[i]) then
        ended(table.remove(running, i))
      end
    end
    os.execute "sleep 0.1"
  end
end

--- Ends what is still there of them.
function M.end_all(rows)
  for _, row in ipairs(rows) do
    if row.run and not row.is_over then
      row.run:kill()
    end
    if row.namespace then
      objects.send("DELETE", "/api/v1/namespaces/" .. row.namespace)
    end
  end
end

return M
