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

  it("does not take another server's 404 for the end", function()
    host.failure = errors.new { code = "NOT_FOUND", reason = "api-not-served", message = "m", verdict = true }
    local ok, err = pcall(clean.remove, { api_version = "v1", kind = "Pod", name = "p", namespace = "n",
      run_id = "r", uid = "u" })
    assert.is_false(ok)
    assert.truthy(err:find("kubectl delete -n n pod/p", 1, true), err)
  end)
end)
