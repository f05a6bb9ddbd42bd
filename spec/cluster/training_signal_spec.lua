-- SPDX-License-Identifier: Apache-2.0
-- A TrainJob's run that ends in the middle of its clean-up names what it leaves, with the command that removes it: a
-- second signal, a deadline, an API server that is gone. What holds its namespace is a finalizer.
require "aicr_native"
local cluster = require "spec.support.cluster"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"
local training = require "spec.support.cluster_training"

local PATIENCE_S <const> = 240
local MERGE <const> = "application/merge-patch+json"

local function contains(text, ...)
  for _, words in ipairs { ... } do
    assert.truthy(tostring(text):find(words, 1, true), ("%q is not in %s"):format(words, text))
  end
end

local function hold(namespace)
  objects.must("POST", ("/api/v1/namespaces/%s/configmaps"):format(namespace),
    objects.config_map(namespace, "held", { finalizers = json.array { "example.com/held" } }))
end

local function free(namespace)
  objects.send("PATCH", ("/api/v1/namespaces/%s/configmaps/held"):format(namespace),
    { metadata = { finalizers = json.null } }, MERGE)
end

local function is_going(namespace)
  local answer = objects.send("GET", "/api/v1/namespaces/" .. namespace)
  return answer.http == 200 and json.decode(answer.body).metadata.deletionTimestamp ~= nil
end

-- Waits for its clean-up: the namespace is being removed.
local function cleaning(row)
  cluster.eventually("clean-up has begun", PATIENCE_S, function() return is_going(row.namespace) end)
end

local function running(row)
  row.run:saw("workers 2/2 running, launcher running", PATIENCE_S)
end

local function held_then(f)
  return function(row)
    running(row)
    hold(row.namespace)
    f(row)
  end
end

local function is_named(result, namespace)
  contains(json.encode(result.check), ("namespace/%s is left"):format(namespace),
    "kubectl delete namespace/" .. namespace)
end

local ROWS <const> = {
  {
    name = "SIGTERM leaves nothing", code = 143, reason = "interrupted", act = function(row)
      running(row)
      row.run:signal "TERM"
    end,
  },
  {
    name = "SIGHUP leaves nothing", code = 129, reason = "interrupted", act = function(row)
      running(row)
      row.run:signal "HUP"
    end,
  },
  {
    name = "SIGHUP behind SIGINT, as of a closed terminal, is no second one", code = 130, reason = "interrupted",
    act = held_then(function(row)
      row.run:signal "INT"
      cleaning(row)
      row.run:signal "HUP"
      free(row.namespace)
    end),
  },
  {
    name = "one signal, and what holds the namespace is named", code = 130, reason = "interrupted", stays = true,
    act = held_then(function(row) row.run:signal "INT" end), check = function(row, result)
      is_named(result, row.namespace)
      contains(json.encode(result.check), "example.com/held")
    end,
  },
  {
    name = "a second signal stops at once, and says how to find what is left", code = 130, reason = "interrupted",
    stays = true, act = held_then(function(row)
      row.run:signal "INT"
      cleaning(row)
      row.run:signal "INT"
    end),
    check = function(row, result)
      contains(result.check.message, "stopped by a second SIGINT: its clean-up was not awaited")
      contains(json.encode(result.check), row.namespace)
      contains(json.encode(result.check), "kubectl delete namespace/" .. row.namespace)
      contains(result.stderr, "aicr-run doctor")
    end,
  },
  {
    name = "a deadline while it runs names what holds the namespace", how = { timeout = "80s" }, code = 3,
    first = true,
    reason = "timeout", stays = true, act = held_then(function() end), check = function(row, result)
      is_named(result, row.namespace)
    end,
  },
  {
    name = "a deadline in the middle of clean-up names what is left", code = 3, stays = true,
    how = { timeout = "80s", times = { cleanup = "5m" } }, first = true,
    act = held_then(function(row) training.go(row.namespace) end),
    check = function(row, result) is_named(result, row.namespace) end,
  },
}

local function start(row)
  row.namespace = training.namespace()
  local how = { namespace = row.namespace, launcher = training.HOLD .. training.PRINT, run = { keep = true } }
  for key, value in pairs(row.how or {}) do
    how[key] = value
  end
  row.run = training.start(how)
end

local function judge(row)
  assert(row.acted[1], row.acted[2])
  local result = row.run:finish(PATIENCE_S)
  row.run = nil
  local said = result.stdout .. result.stderr
  assert.truthy(result.check, said)
  assert.equal("error", result.check.outcome, said)
  assert.equal(row.reason or result.check.reason, result.check.reason, said)
  assert.equal(row.code, result.code, said)
  assert.equal(row.stays or false, training.is_there(row.namespace), said)
  if row.check then
    row.check(row, result)
  end
end

describe("the clean-up of a TrainJob's run:", function()
  lazy_setup(function()
    for _, row in ipairs(ROWS) do
      start(row)
    end
    for _, is_first in ipairs { true, false } do
      for _, row in ipairs(ROWS) do
        if (row.first or false) == is_first then
          row.acted = table.pack(pcall(row.act, row))
        end
      end
    end
  end)
  lazy_teardown(function()
    for _, row in ipairs(ROWS) do
      if row.run then
        pcall(row.run.kill, row.run)
      end
      free(row.namespace)
      training.remove(row.namespace)
    end
  end)
  after_each(runs.end_all)

  for _, row in ipairs(ROWS) do
    it(row.name, function() judge(row) end)
  end
end)

-- Takes minutes, and Trainer's controller loses its lease by it: only in make soak.
local describe_slow <const> = os.getenv "AICR_SOAK" and describe or function() end

describe_slow("an API server", function()
  after_each(runs.end_all)

  for how, words in pairs { ["that is gone"] = { "end", "start" }, ["that hangs"] = { "stop", "cont" } } do
    it(how .. " in the middle of clean-up: what is left is named", function()
      local row <const> = { name = how }
      start(row)
      running(row)
      hold(row.namespace)
      row.run:signal "INT"
      cleaning(row)
      cluster.must(words[1], "kube-apiserver")
      local ok, result = pcall(row.run.finish, row.run, PATIENCE_S)
      cluster.must(words[2], "kube-apiserver")
      free(row.namespace)
      training.remove(row.namespace)
      assert(ok, result)
      assert.equal(130, result.code)
      is_named(result, row.namespace)
    end)
  end
end)
