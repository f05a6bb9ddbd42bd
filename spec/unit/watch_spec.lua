-- SPDX-License-Identifier: Apache-2.0
-- What ctx.k8s:watch and ctx.k8s:wait make of the answers of a server, over natives that answer from a list.
require "aicr_native"
local errors = require "aicr.native.error"

local FILES <const> = {
  "aicr.ctx.k8s.watch", "aicr.ctx.k8s.ask", "aicr.ctx.k8s.stream", "aicr.native.k8s", "aicr.native.task",
}

local function object(name, uid, version)
  return { metadata = { name = name, uid = uid, resourceVersion = version or "1" } }
end

local function gone()
  return errors.new { code = "INTERNAL", reason = "expired", message = "m", details = { http = 410 } }
end

local function absent()
  return errors.new { code = "NOT_FOUND", reason = "not-found", message = "m", verdict = true }
end

describe("the watch over", function()
  local kept, host, watch, ask = {}, nil, nil, nil

  before_each(function()
    host = { now = 0, sleeps = {}, lists = {}, events = {}, gets = {}, closed = 0, list_ends = {}, get_ends = {} }
    for _, name in ipairs(FILES) do
      kept[name], package.loaded[name] = package.loaded[name], nil
    end
    package.loaded["aicr.native.task"] = {
      monotonic = function() return host.now end,
      sleep = function(ms)
        host.sleeps[#host.sleeps + 1] = ms
        host.now = host.now + ms
      end,
      recording = function() return false end, stopping = function() return false end,
      wait = function()
        local close = function() end
        return setmetatable({ close = close }, { __close = close })
      end,
      look = function() end, seen = function() end, late = function() end, attained = function() end,
      goes_on = function(_, late) return not late end,
    }
    local function next_of(list)
      local item = table.remove(list, 1)
      if errors.is(item) then
        error(item, 0)
      end
      return assert(item, "the list of answers is over")
    end
    package.loaded["aicr.native.k8s"] = {
      known_version = function() return nil, false, false end,
      call = function(_, request)
        host.get_ends[#host.get_ends + 1] = request.deadline_ms or "none"
        return next_of(host.gets)
      end,
      list_for_watch = function(_, _, _, ends)
        host.list_ends[#host.list_ends + 1] = ends or "none"
        return next_of(host.lists), "1"
      end,
      stream = function()
        return function() return next_of(host.events) end, nil, nil, {
          close = function() host.closed = host.closed + 1 end,
        }
      end,
    }
    watch, ask = require "aicr.ctx.k8s.watch", require "aicr.ctx.k8s.ask"
  end)

  after_each(function()
    for _, name in ipairs(FILES) do
      package.loaded[name] = kept[name]
    end
  end)

  it("an expired version lists again at once, and pauses from the second time on", function()
    host.lists = { {}, {}, {}, { object("a", "u1") } }
    host.events = { gone(), gone(), gone() }
    local kind, seen = watch.watch({}, "pods")()
    assert.equal("ADDED", kind)
    assert.equal("a", seen.metadata.name)
    assert.same({ 1000, 2000 }, host.sleeps)
  end)

  it("a server that ends a watch is asked again after a time that it may name, whatever the number", function()
    for seconds, paused in pairs { [2] = 2000, [40] = 30000, [math.maxinteger] = 30000, [0] = 1000, [-5] = 1000,
      [math.mininteger] = 1000, [1e300] = 1000 } do
      local status = { code = 429, details = { retryAfterSeconds = seconds } }
      host.lists, host.sleeps = { {} }, {}
      host.events = { { type = "ERROR", object = status }, { type = "ADDED", object = object("a", "u1") } }
      watch.watch({}, "pods")()
      assert.same({ paused }, host.sleeps)
    end
  end)

  it("an object without a uid is unexpected, in a list and as an event", function()
    host.lists = { { { metadata = { name = "a" } } } }
    local ok, err = pcall(watch.watch({}, "pods"))
    assert.is_false(ok)
    assert.equal("unexpected-response", err.reason)
    host.lists = { {} }
    host.events = { { type = "ADDED", object = { metadata = { resourceVersion = "2" } } } }
    ok, err = pcall(watch.watch({}, "pods"))
    assert.is_false(ok)
    assert.equal("unexpected-response", err.reason)
  end)

  it("its time bounds its list", function()
    host.now = 5
    host.lists = { { object("a", "u1") } }
    watch.watch({}, "pods", { timeout = "2s" })()
    assert.same({ 2005 }, host.list_ends)
  end)

  describe("a wait", function()
    it("sees an end between its read and its list, and closes the watch", function()
      host.gets = { object("a", "u1") }
      host.lists = { {} }
      assert.is_nil(ask.wait({}, "pods", "a", "n", "gone"))
    end)

    it("closes the watch when it has seen what it waits for", function()
      host.gets = { object("a", "u1") }
      host.lists = { { object("a", "u1") } }
      host.events = { { type = "DELETED", object = object("a", "u1", "2") } }
      assert.is_nil(ask.wait({}, "pods", "a", "n", "gone"))
      assert.equal(1, host.closed)
    end)

    it("bounds its reads by its time", function()
      host.now = 5
      host.gets = { absent(), object("a", "u1") }
      ask.wait({}, "pods", "a", "n", function(o) return o ~= nil end, { timeout = "2s" })
      assert.same({ 2005, 2005 }, host.get_ends)
    end)

    it("says that it was not so when a read took all its time", function()
      host.gets = { errors.new { code = "TIMEOUT", reason = "deadline", message = "m",
        details = { transport = "deadline" } } }
      local call = package.loaded["aicr.native.k8s"].call
      package.loaded["aicr.native.k8s"].call = function(...)
        host.now = 2000
        return call(...)
      end
      local ok, err = pcall(ask.wait, {}, "pods", "a", "n", "gone", { timeout = "2s" })
      assert.is_false(ok)
      assert.equal("never-true", err.reason)
      assert.equal("pods n/a: waited 2s for gone; last seen: no answer", err.message)
    end)
  end)
end)
