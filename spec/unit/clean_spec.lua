-- SPDX-License-Identifier: Apache-2.0
-- What is done about an object whose answer was lost, over natives that answer from a list.
require "aicr_native"
local errors = require "aicr.native.error"

local FILES <const> = { "aicr.ctx.k8s.clean", "aicr.native.k8s", "aicr.native.task" }
local ABSENT <const> = { code = "NOT_FOUND", reason = "not-found", message = "m", verdict = true }

describe("clean-up of what got no answer", function()
  local kept, host, clean = {}, nil, nil

  before_each(function()
    host = { now = 0, lists = {}, objects = {}, deleted = {}, gets = 0 }
    for _, name in ipairs(FILES) do
      kept[name], package.loaded[name] = package.loaded[name], nil
    end
    package.loaded["aicr.native.task"] = {
      monotonic = function() return host.now end, sleep = function(ms) host.now = host.now + ms end,
    }
    package.loaded["aicr.native.k8s"] = {
      call = function(_, request)
        host.gets = host.gets + 1
        local object = host.objects[request.name]
        if type(object) == "function" then
          object = object()
        end
        if errors.is(host.failure) then
          error(host.failure, 0)
        elseif not object then
          error(errors.new(ABSENT), 0)
        elseif request.verb == "apply" then
          host.applied = request
        elseif request.verb == "delete" then
          host.deleted[#host.deleted + 1], host.objects[request.name] = request.body.preconditions.uid, nil
        end
        return object
      end,
      stream = function(_, request)
        host.label = request.label
        local items = table.remove(host.lists, 1) or error(errors.new { code = "UNAUTHORIZED", reason = "forbidden",
          message = "no list" }, 0)
        return function() return table.remove(items, 1) end
      end,
    }
    clean = require "aicr.ctx.k8s.clean"
  end)

  after_each(function()
    for _, name in ipairs(FILES) do
      package.loaded[name] = kept[name]
    end
  end)

  local function object(name, uid)
    return { metadata = { name = name, uid = uid, namespace = "n", labels = { ["aicr-run/run"] = "r" } } }
  end

  local function generated()
    return { api_version = "batch/v1", kind = "Job", generated = "j-", namespace = "n", run_id = "r", lost = true }
  end

  it("finds by the run's label what has a generated name, and leaves what has its own removal", function()
    host.lists = { {}, { object("j-1", "u1"), object("j-2", "u2"), object("other", "u3") } }
    host.objects = { ["j-1"] = object("j-1", "u1"), ["j-2"] = object("j-2", "u2") }
    clean.remove_generated(generated(), { { uid = "u2" } })
    assert.same({ "u1" }, host.deleted)
    assert.equal("aicr-run/run=r", host.label)
  end)

  it("takes all of them that one look finds, and awaits a generated name once", function()
    host.lists = { { object("j-1", "u1"), object("j-2", "u2") } }
    host.objects = { ["j-1"] = object("j-1", "u1"), ["j-2"] = object("j-2", "u2") }
    clean.remove_generated(generated(), {})
    clean.remove_generated(generated(), {})
    assert.same({ "u1", "u2" }, host.deleted)
    assert.equal(0, host.now)
    for i = 1, 300 do
      host.lists[i] = {}
    end
    assert.is_false(pcall(clean.remove_generated, generated(), {}))
    local awaited = host.now
    assert.is_false(pcall(clean.remove_generated, generated(), {}))
    assert.equal(awaited, host.now)
  end)

  it("tells how to look where it may not list", function()
    local ok, err = pcall(clean.remove_generated, generated(), {})
    assert.is_false(ok)
    assert.truthy(err:find("kubectl get job.batch -n n -l aicr-run/run=r", 1, true), err)
  end)

  it("keeps looking for one that may come late", function()
    host.objects.late = function() return host.now >= 3000 and object("late", "u9") or nil end
    clean.remove { api_version = "v1", kind = "Pod", name = "late", namespace = "n", run_id = "r", lost = true,
      uid = nil }
    assert.same({ "u9" }, host.deleted)
  end)

  it("says of one that did not come that it may, and how to look", function()
    local ok, err = pcall(clean.remove, { api_version = "batch/v1", kind = "Job", name = "a", namespace = "n",
      run_id = "r", lost = true })
    assert.is_false(ok)
    assert.equal("-n n job.batch/a of which no answer came may be left (it was not there within 44 s); "
      .. "look with: kubectl get -n n job.batch/a", err)
    host.failure = errors.new { code = "UNAUTHORIZED", reason = "forbidden", message = "no get" }
    ok, err = pcall(clean.remove, { api_version = "batch/v1", kind = "Job", name = "a", namespace = "n",
      run_id = "r", lost = true })
    assert.is_false(ok)
    assert.truthy(err:find("-n n job.batch/a of which no answer came may be left ([UNAUTHORIZED] no get); look", 1,
      true), err)
    for i = 1, 200 do
      host.lists[i] = {}
    end
    ok, err = pcall(clean.remove_generated, generated(), {})
    assert.is_false(ok)
    assert.equal("a Job of which no answer came may be left (it was not there within 1 s); "
      .. "look with: kubectl get job.batch -n n -l aicr-run/run=r", err)
  end)

  it("is content where one that had its answer is not there", function()
    clean.remove { api_version = "v1", kind = "Pod", name = "p", namespace = "n", run_id = "r", uid = "u" }
    host.lists = { {} }
    local t = generated()
    t.lost = false
    clean.remove_generated(t, {})
  end)

  describe("of an apply", function()
    local AT <const>, BEFORE <const>, AFTER <const> = "2026-01-01T00:00:05Z", "2026-01-01T00:00:04Z",
      "2026-01-01T00:00:06Z"

    local function entry(manager, operation, time, subresource)
      return { manager = manager, operation = operation, time = time, subresource = subresource }
    end

    local function applied(...)
      local found = object("a", "u1")
      found.metadata.creationTimestamp, found.metadata.managedFields = AT, { ... }
      return found
    end

    local function lost()
      return { api_version = "v1", kind = "ConfigMap", name = "a", namespace = "n", run_id = "r", lost = true,
        applied = { metadata = { name = "a" }, data = { k = "v" } } }
    end

    for what, row in pairs {
      ["ours alone"] = { true, entry("aicr-run", "Apply", AT) },
      ["ours, changed by another one later"] = { true, entry("x", "Update", AFTER), entry("aicr-run", "Apply", AT) },
      ["ours, with a status"] = { true, entry("aicr-run", "Apply", AT), entry("x", "Update", AT, "status") },
      ["ours, made slowly"] = { true, entry("aicr-run", "Apply", BEFORE), entry("x", "Update", AT) },
      ["another one's"] = { false, entry("x", "Update", AT), entry("aicr-run", "Apply", AFTER) },
      ["another one's, of whose fields none is left"] = { false, entry("aicr-run", "Apply", AFTER) },
      ["of one second"] = { nil, entry("x", "Update", AT), entry("aicr-run", "Apply", AT) },
      ["without managed fields"] = { nil },
      ["without ours"] = { nil, entry("x", "Update", AT) },
      ["of a client without server-side apply that has our name"] = { nil, entry("aicr-run", "Update", AT) },
    } do
      it("tells who made it: " .. what, function()
        host.objects.a = applied(table.unpack(row, 2))
        assert.equal(row[1], clean.is_made_by_apply(host.objects.a.metadata))
        local ok, err = pcall(clean.remove, lost())
        assert.same(row[1] and { "u1" } or {}, host.deleted)
        assert.equal(row[1] ~= nil, ok)
        assert.equal(row[1] == false, host.applied ~= nil)
        if row[1] == nil then
          assert.truthy(err:find("-n n configmap/a is left (it cannot be told", 1, true), err)
        end
      end)
    end

    it("takes its labels off what another one made", function()
      host.objects.a = applied(entry("x", "Update", AT), entry("aicr-run", "Apply", AFTER))
      local t = lost()
      clean.remove(t)
      assert.same({ metadata = { name = "a", uid = "u1" }, data = { k = "v" } }, host.applied.body)
      assert.is_nil(t.applied.metadata.uid)
      assert.equal("aicr-run", host.applied.query.fieldManager)
    end)
  end)

  it("does not take another server's 404 for the end", function()
    host.failure = errors.new { code = "NOT_FOUND", reason = "api-not-served", message = "m", verdict = true }
    local ok, err = pcall(clean.remove, { api_version = "v1", kind = "Pod", name = "p", namespace = "n",
      run_id = "r", uid = "u" })
    assert.is_false(ok)
    assert.truthy(err:find("kubectl delete -n n pod/p", 1, true), err)
  end)
end)
