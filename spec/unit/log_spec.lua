-- SPDX-License-Identifier: Apache-2.0
-- What ctx.k8s:logs makes of the answers of a server line by line, over natives that play a kubelet.
require "aicr_native"
local errors = require "aicr.native.error"
local time = require "aicr.time"

local FILES <const> = { "aicr.ctx.k8s.log", "aicr.ctx.k8s.stream", "aicr.native.k8s", "aicr.native.task" }

local function lost(transport)
  return errors.new { code = "SERVICE_UNAVAILABLE", reason = "connection-lost", message = "m",
    details = { transport = transport or "reset" } }
end

local function stamp(ms, nanos)
  return ("%s.%09dZ"):format(time.format(ms // 1000 * 1000):sub(1, 19), ms % 1000 * 1000000 + (nanos or 0))
end

describe("the log, line by line,", function()
  local kept, host, logs = {}, nil, nil

  -- A kubelet with a file of lines {stamp, text}; what a request gets is cut by host.cut(request, items).
  local function answer(request)
    local items, q = {}, request.query
    local from = q.sinceTime and time.parse(q.sinceTime) or 0
    for _, line in ipairs(host.file) do
      if time.parse(line[1]) >= from then
        local text = q.timestamps and line[1] .. " " .. line[2] or line[2]
        for at = 1, math.max(#text, 1), host.piece do
          items[#items + 1] = { text:sub(at, at + host.piece - 1), at + host.piece > #text and "line" or "piece" }
        end
      end
    end
    return items
  end

  before_each(function()
    host = { now = 0, sleeps = 0, asked = {}, file = {}, piece = 1 << 20, pods = {}, closed = 0 }
    for _, name in ipairs(FILES) do
      kept[name], package.loaded[name] = package.loaded[name], nil
    end
    package.loaded["aicr.native.task"] = {
      monotonic = function() return host.now end,
      sleep = function(ms) host.now, host.sleeps = host.now + ms, host.sleeps + 1 end,
      recording = function() return host.replay end, stopping = function() return false end,
      wait = function() return { close = function() end } end,
      look = function() end, late = function() end, goes_on = function(_, late) return not late end,
    }
    package.loaded["aicr.native.k8s"] = {
      known_version = function() return nil, host.replay, host.recorded end,
      call = function()
        local pod = #host.pods > 1 and table.remove(host.pods, 1) or host.pods[1]
        if errors.is(pod) then
          error(pod, 0)
        end
        return assert(pod, "no pod")
      end,
      stream = function(_, request)
        host.asked[#host.asked + 1] = request.query
        local items = host.cut(request, answer(request))
        return function()
          local item = table.remove(items, 1)
          if errors.is(item) then
            error(item, 0)
          end
          return item and item[1], item and item[2]
        end, nil, nil, { close = function() host.closed = host.closed + 1 end }
      end,
    }
    logs = require("aicr.ctx.k8s.log").logs
  end)

  after_each(function()
    for _, name in ipairs(FILES) do
      package.loaded[name] = kept[name]
    end
  end)

  local function pod(state, id, was)
    return { spec = { containers = { { name = "c" } } }, status = { containerStatuses = { {
      name = "c", containerID = id or "1", state = { [state] = {} },
      lastState = was and { terminated = { containerID = was } } or {},
    } } } }
  end

  local function lines(n)
    for i = 1, n do
      host.file[i] = { stamp(1000000 + i * 10), "line " .. i }
    end
  end

  local function whole(_, items)
    return items
  end

  -- The first `n` items, then an error or the end.
  local function first(items, n, err)
    local out = table.move(items, 1, n, 1, {})
    out[#out + 1] = err
    return out
  end

  local function read(opts)
    local got, line = {}, nil
    for text, goes_on in logs({}, "p", "n", opts) do
      line = (line or "") .. text
      if not goes_on then
        got[#got + 1], line = line, nil
      end
    end
    assert.is_nil(line)
    return got
  end

  local function texts()
    local out = {}
    for i, line in ipairs(host.file) do
      out[i] = line[2]
    end
    return out
  end

  it("is read once more at its end, from a little before its last line", function()
    lines(3)
    host.cut = whole
    assert.same(texts(), read { lines = true })
    assert.same({ timestamps = "true" }, host.asked[1])
    assert.same({ timestamps = "true", sinceTime = "1970-01-01T00:16:30Z" }, host.asked[2])
    assert.equal(2, #host.asked)
    assert.equal(2, host.closed)
  end)

  it("is whole though its first answer was cut and ended well", function()
    lines(5)
    host.cut = function(_, items) return #host.asked == 1 and first(items, 2) or items end
    assert.same(texts(), read { lines = true })
  end)

  it("goes on where its connection was lost", function()
    lines(5)
    host.cut = function(_, items) return #host.asked < 4 and first(items, #host.asked, lost()) or items end
    assert.same(texts(), read { lines = true })
  end)

  it("has its times where they are wanted", function()
    lines(1)
    host.cut = whole
    assert.same({ host.file[1][1] .. " line 1" }, read { lines = true, timestamps = true })
  end)

  it("may end without a newline, and in a long line that was cut", function()
    lines(2)
    host.piece = 40
    host.file[2][2] = ("x"):rep(100)
    host.cut = function(_, items)
      local out = #host.asked == 1 and first(items, 2, lost()) or items
      if #host.asked > 1 then
        out[#out][2] = "unended"
      end
      return out
    end
    assert.same(texts(), read { lines = true })
    assert.equal(3, #host.asked)
  end)

  it("is an error where the last line is not there any more", function()
    lines(5)
    host.cut = function(_, items)
      if #host.asked == 1 then
        table.remove(host.file, 1)
        table.remove(host.file, 1)
        return first(items, 2, lost())
      end
      return items
    end
    local ok, err = pcall(read, { lines = true })
    assert.is_false(ok)
    assert.same({ "INTERNAL", "log-gap" }, { err.code, err.reason })
    assert.matches('pods/log "p" in namespace "n": lines may be missing after the one of 1970', err.message)
  end)

  it("may have lines of one time, and times that go back", function()
    for i, at in ipairs { 5, 5, 5, 4, 4, 6 } do
      host.file[i] = { stamp(1000000 + at), "same" }
    end
    host.cut = function(_, items) return #host.asked < 7 and first(items, #host.asked, lost()) or items end
    assert.equal(6, #read { lines = true })
  end)

  it("has a limit of bytes, its times not counted", function()
    lines(3)
    host.cut = whole
    assert.same({ "line 1", "lin" }, read { lines = true, limit = 10 })
    assert.same({ "line 1" }, read { lines = true, limit = 7 })
    assert.same({ "line 1" }, read { lines = true, limit = 6 })
  end)

  it("does not say of a request that failed at once what only the server knows", function()
    host.cut = function() return { lost() } end
    local ok, err = pcall(read, { lines = true })
    assert.is_false(ok)
    assert.equal("connection-lost", err.reason)
    assert.equal(1, #host.asked)
  end)

  it("waits for a node that cannot read it yet, and not for ever", function()
    lines(2)
    local none = { "unable to retrieve container logs for containerd://1", "unended" }
    host.cut = function(_, items) return #host.asked < 4 and { none } or items end
    assert.same(texts(), read { lines = true })
    host.cut = function() return { none } end
    local ok, err = pcall(read, { lines = true })
    assert.is_false(ok)
    assert.equal("log-unavailable", err.reason)
  end)

  it("takes what a node says of a log that it cannot read for no log, in one answer too", function()
    local call = package.loaded["aicr.native.k8s"]
    for _, text in ipairs { "unable to retrieve container logs for containerd://0123abc",
      'failed to try resolving symlinks in path "/var/log/pods/x/node/0.log": lstat: no such file or directory\n',
      "failed to open log file \"/var/log/pods/x/node/0.log\": no such file" } do
      call.call = function() return text end
      local ok, err = pcall(logs, nil, "p", "ns", {})
      assert.is_false(ok)
      assert.equal("log-unavailable", err.reason)
      for _, longer in ipairs { text .. "\nand a line of its own", "a line\n" .. text } do
        call.call = function() return longer end
        assert.equal(longer, logs(nil, "p", "ns", {}))
      end
    end
  end)

  it("waits for a kubelet that does not know the pod yet, but not where nothing was read", function()
    lines(3)
    local unknown = errors.new { code = "SERVICE_UNAVAILABLE", reason = "log-unavailable", message = "m",
      details = { http = 404 } }
    host.cut = function(_, items)
      return #host.asked == 1 and first(items, 1, lost()) or #host.asked < 4 and { unknown } or items
    end
    assert.same(texts(), read { lines = true })
    host.asked, host.cut = {}, function() return { unknown } end
    local ok, err = pcall(read, { lines = true })
    assert.is_false(ok)
    assert.equal("log-unavailable", err.reason)
  end)

  it("is no log where the time of a line is none", function()
    host.cut = function()
      return { { "9999-99-99T99:99:99Z a", "line" }, lost() }
    end
    local ok, err = pcall(read, { lines = true })
    assert.is_false(ok)
    assert.equal("unexpected-response", err.reason)
    assert.matches('pods/log "p" in namespace "n": .*9999%-99%-99', err.message)
  end)

  it("is no log where a line has no time", function()
    host.cut = function() return { { "hello", "line" } } end
    local ok, err = pcall(read, { lines = true })
    assert.is_false(ok)
    assert.equal("unexpected-response", err.reason)
  end)

  it("asks for the time that has passed where nothing had come", function()
    host.cut = function(_, items)
      host.now = host.now + 5000
      return items
    end
    assert.same({}, read { lines = true, tail = 0 })
    assert.same({ timestamps = "true", tailLines = 0 }, host.asked[1])
    assert.same({ timestamps = "true", sinceSeconds = 5 }, host.asked[2])
    host.asked = {}
    assert.same({}, read { lines = true, since = "10s" })
    assert.same({ 10, 15 }, { host.asked[1].sinceSeconds, host.asked[2].sinceSeconds })
  end)

  describe("followed,", function()
    it("ends when the container has ended, and not when an answer ends", function()
      lines(6)
      host.pods = { pod "running", pod "running", pod "running", pod "running", pod "running", pod "terminated" }
      host.cut = function(request, items)
        return request.query.follow and first(items, math.min(#items, #host.asked * 2)) or items
      end
      assert.same(texts(), read { follow = true })
      local final = host.asked[#host.asked]
      assert.is_nil(final.follow)
      assert.equal("true", host.asked[1].follow)
      assert.equal(3, #host.asked)
    end)

    it("reads the rest of the run that it followed where the container was started again", function()
      lines(4)
      host.pods = { pod "running", pod("running", "2", "1") }
      host.cut = function(request, items)
        return request.query.previous and items or first(items, 2)
      end
      assert.same(texts(), read { follow = true })
      assert.equal("true", host.asked[2].previous)
    end)

    it("finds that run too where the pod's status came later than the next one's log", function()
      lines(4)
      host.pods = { pod "running", pod "running", pod "running", pod "running", pod("running", "2", "1") }
      host.cut = function(request, items)
        if #host.asked == 2 then
          return { { stamp(1000100) .. " another run", "line" } }
        end
        return request.query.previous and items or first(items, 2)
      end
      assert.same(texts(), read { follow = true })
    end)

    it("does not follow another run for ever", function()
      lines(4)
      host.pods = { pod "running" }
      host.cut = function(_, items)
        return #host.asked == 1 and first(items, 2) or { { stamp(1020000) .. " another run", "line" }, lost "deadline" }
      end
      local ok, err = pcall(read, { follow = true })
      assert.is_false(ok)
      assert.equal("log-gap", err.reason)
    end)

    it("is an error where that run is not known any more", function()
      lines(4)
      host.pods = { pod "running", pod("running", "3", "2") }
      host.cut = whole
      local ok, err = pcall(read, { follow = true })
      assert.is_false(ok)
      assert.equal("log-gap", err.reason)
      assert.matches("was started again", err.message)
    end)

    it("is an error where the pod is gone", function()
      lines(4)
      host.pods = { pod "running", errors.new { code = "NOT_FOUND", reason = "not-found", message = "m", verdict = true,
        details = { http = 404 } } }
      host.cut = whole
      local ok, err = pcall(read, { follow = true })
      assert.is_false(ok)
      assert.same({ "log-gap", false }, { err.reason, err.verdict })
    end)

    it("ends where the pod may not be seen when an answer adds nothing", function()
      lines(4)
      host.pods = { errors.new { code = "UNAUTHORIZED", reason = "forbidden", message = "m" } }
      host.cut = function(_, items) return #host.asked == 1 and first(items, 2) or items end
      assert.same(texts(), read { follow = true })
      assert.equal(4, #host.asked)
    end)

    it("waits for a pod that cannot be read now", function()
      lines(2)
      local down = errors.new { code = "SERVICE_UNAVAILABLE", reason = "unavailable", message = "m",
        details = { http = 503 } }
      host.pods = { pod "running", down, down, pod "terminated" }
      host.cut = whole
      assert.same(texts(), read { follow = true })
    end)

    it("has a time, and that is an error", function()
      host.pods = { pod "running" }
      host.cut = function() return { lost "deadline" } end
      local ok, err = pcall(read, { follow = true, timeout = "1s" })
      assert.is_false(ok)
      assert.equal("deadline", err.details.transport)
    end)
  end)

  it("is whole over any cuts", function()
    math.randomseed(3)
    for round = 1, 300 do
      local n, now = math.random(0, 12), 1000000
      host.file, host.asked, host.piece = {}, {}, math.random(38, 60)
      for i = 1, n do
        now = math.max(1000000, now + math.random(-2, 3) * 1000)
        host.file[i] = { stamp(now, i // 2), ("ab"):rep(math.random(0, 20)) }
      end
      host.pods = { pod "running", pod "running", pod "running", pod "terminated" }
      host.recorded = math.random(2) == 1
      local bad = math.random(0, 6)
      local follow = math.random(2) == 1
      host.cut = function(request, items)
        bad = bad - 1
        if bad < 0 or #host.asked == 1 and #items == 0 then
          return items
        end
        local is_last = #host.asked > 1 and not (follow and request.query.follow)
        local out = first(items, math.random(#host.asked == 1 and 1 or 0, #items),
          (is_last or math.random(2) == 1) and lost() or nil)
        if not errors.is(out[#out]) and #out > 0 and out[#out][2] == "piece" then
          out[#out] = { out[#out][1], "unended" }
        end
        return out
      end
      local ok, got = pcall(read, { follow = follow, lines = true })
      if ok then
        assert.same(texts(), got, "round " .. round)
      else
        assert.equal("log-gap", errors.is(got) and got.reason or got, "round " .. round)
      end
    end
  end)

  describe("of a recording,", function()
    before_each(function()
      host.replay = true
    end)

    local function missing()
      return errors.new { code = "INTERNAL", reason = "not-recorded", message = "m" }
    end

    it("is the one that was read whole where it was not read by lines", function()
      lines(3)
      host.cut = function(request, items) return request.query.timestamps and { missing() } or items end
      assert.same(texts(), read { follow = true })
      assert.same({}, host.asked[2])
    end)

    it("needs its end", function()
      lines(3)
      host.cut = function(request, items) return request.query.follow and items or { missing() } end
      local ok, err = pcall(read, { follow = true })
      assert.is_false(ok)
      assert.equal("not-recorded", err.reason)
      host.cut = function(request, items)
        return (request.query.follow or request.query.previous) and items or { missing() }
      end
      assert.same(texts(), read { follow = true })
    end)

    it("is asked again where its connection was lost, without waiting", function()
      lines(3)
      host.cut = function(_, items) return #host.asked < 3 and { lost() } or items end
      assert.same(texts(), read { follow = true })
      assert.equal(0, host.sleeps)
      host.cut = function() return { lost() } end
      assert.is_false(pcall(read, { follow = true }))
    end)
  end)
end)
