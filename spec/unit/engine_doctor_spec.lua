-- SPDX-License-Identifier: Apache-2.0
-- The rows of doctor on answers that a real cluster does not give on demand.
require "aicr_native"
local time = require "aicr.time"

local FOLDER <const> = "lua/aicr/engine/doctor/"
local NOW <const> = time.parse "2026-03-10T20:10:44.500Z"

--- An error object, as far as the rows look at it.
local function failure(reason, http)
  return { code = "X", reason = reason, message = reason, details = { http = http } }
end

--- Runs a row; gives how it ended ("pass", "fail", "skip" or "error") and what it said.
local function row(name, k8s, more)
  local ctx = { k8s = k8s, params = {}, namespace = "ns-1", said = {} }
  function ctx:try(f, ...)
    local results = table.pack(pcall(f, ...))
    if results[1] then
      return table.unpack(results, 2, results.n)
    end
    return nil, results[2]
  end
  function ctx:evidence(fmt, ...)
    self.said[#self.said + 1] = fmt:format(...)
  end
  function ctx:fail(t) error({ ended = "fail", t = t }, 0) end
  function ctx:skip(t) error({ ended = "skip", t = t }, 0) end
  function ctx:must(_, actual, _, wanted) assert(actual == wanted) end
  function ctx:all(functions)
    local out = {}
    for i, f in ipairs(functions) do
      out[i] = f()
    end
    return out
  end
  function ctx:now() return NOW end
  for key, value in pairs(more or {}) do
    ctx[key] = value
  end
  local ok, result = pcall(dofile(FOLDER .. name .. ".lua").run, ctx)
  if ok then
    return "pass", result, ctx.said
  elseif result.ended then
    return result.ended, result.t.reason, result.t, ctx.said
  end
  return "error", result.reason, result
end

local function two(a, b)
  return { a, b }
end

local function review(fields)
  return { create = function() return fields end }
end

describe("the clock", function()
  local function at(stamp)
    return row("clock", review { metadata = { creationTimestamp = stamp } }, { params = { tolerance_ms = 30000 } })
  end
  local rows = {
    { "2026-03-10T20:10:44Z", "pass", "no difference seen" },
    { "2026-03-10T20:10:43Z", "pass", "at least 0.5s apart, 30.0s tolerated" },
    { "2026-03-10T20:10:45Z", "pass", "at least 0.5s apart, 30.0s tolerated" },
    { "2026-03-10T20:11:14Z", "pass", "at least 29.5s apart, 30.0s tolerated" },
    { "2026-03-10T20:11:15Z", "fail", "clock-skew", "this machine's clock is at least 30.5s behind the server's" },
    { "2026-03-10T20:10:13Z", "fail", "clock-skew", "this machine's clock is at least 30.5s ahead of the server's" },
    { "2027-03-10T20:10:44Z", "fail", "clock-skew", "behind" },
  }
  for _, case in ipairs(rows) do
    it("of a server at " .. case[1], function()
      local ended, said, t = at(case[1])
      assert.same({ case[2], case[3] }, { ended, said })
      if case[4] then
        assert.truthy(t.message:find(case[4], 1, true), t.message)
      end
    end)
  end
  it("is not judged where the server says nothing", function()
    assert.same({ "skip", "not-told" }, two(row("clock", review { metadata = {} })))
  end)
end)

describe("the server", function()
  local function server(f, insecure)
    return row("server", { server_version = f }, { params = { insecure = insecure } })
  end
  it("tells its version", function()
    assert.same({ "pass", "Kubernetes v1.34.4" }, two(server(function() return "v1.34.4" end)))
    assert.truthy(select(2, server(function() return "v1.34.4" end, true)):find("NOT verified", 1, true))
  end)
  it("answers where it refuses the user", function()
    local ended, said = server(function() error(failure("x", 403), 0) end)
    assert.equal("pass", ended)
    assert.truthy(said:find("HTTP 403", 1, true))
  end)
  it("is an error where it answers otherwise, or not", function()
    for _, err in ipairs { failure("unavailable", 503), failure("connect"), failure("tls-verify"),
      failure("unauthenticated", 401) } do
      assert.same({ "error", err.reason }, two(server(function() error(err, 0) end)))
    end
  end)
end)

describe("the identity", function()
  it("is the user's name, with the groups", function()
    local ended, said, evidence = row("identity", review { status = { userInfo = { username = "jane",
      groups = { "a", "b" } } } })
    assert.same({ "pass", "jane", { "groups: a b" } }, { ended, said, evidence })
  end)
  it("is no question for a server that cannot say", function()
    for reason, ended in pairs { ["api-not-served"] = "skip", ["not-found"] = "skip", unauthenticated = "error" } do
      assert.equal(ended, (row("identity", { create = function() error(failure(reason), 0) end })))
    end
  end)
end)

describe("the namespace", function()
  local PROBE <const> = { params = { probe = { "create", "pods" } } }
  local function namespace(find, can)
    return row("namespace", { find = find, can = can }, PROBE)
  end
  local function forbidden() error(failure("forbidden", 403), 0) end
  it("is there, is being deleted, is not there", function()
    assert.same({ "pass", "ns-1" }, two(namespace(function() return { metadata = {} } end)))
    local ended, reason = namespace(function() return { metadata = { deletionTimestamp = "x" } } end)
    assert.same({ "fail", "terminating" }, { ended, reason })
    local _, missing, t = namespace(function() return nil end)
    assert.same({ "not-found", "kubectl create namespace ns-1" }, { missing, t.fix })
  end)
  it("is proved by a role that is bound in it, where it may not be read", function()
    local function reason_of(text, allowed)
      return (namespace(forbidden, function() return allowed ~= false, text end))
    end
    assert.equal("pass", reason_of 'RBAC: allowed by RoleBinding "r/ns-1" of Role "r" to User "u"')
    assert.equal("error", reason_of 'RBAC: allowed by RoleBinding "r/ns-11" of Role "r" to User "u"')
    assert.equal("error", reason_of 'RBAC: allowed by RoleBinding "r/nsx1" of Role "r" to User "u"')
    assert.equal("error", reason_of 'RBAC: allowed by ClusterRoleBinding "r" of ClusterRole "r" to User "u"')
    assert.equal("error", reason_of("", false))
  end)
  it("is an error where it cannot be read for another reason", function()
    assert.equal("error", (namespace(function() error(failure("unavailable", 503), 0) end)))
  end)
end)

describe("permissions", function()
  it("name what is missing", function()
    local asked = {}
    local rights = { { words = "list nodes", verb = "list", resource = "nodes" },
      { words = "get /x", verb = "get", resource = "/x" },
      { words = "create pods/exec in a", verb = "create", resource = "pods", subresource = "exec", namespace = "a" } }
    local function can(_, verb, resource, opts)
      asked[#asked + 1] = ("%s %s %s %s"):format(verb, resource, tostring(opts.subresource), tostring(opts.namespace))
      return resource ~= "pods"
    end
    local ended, reason, t = row("permissions", { can = can }, { params = { rights = rights } })
    assert.same({ "fail", "forbidden", "UNAUTHORIZED" }, { ended, reason, t.code })
    assert.equal("1 of 3 permissions are missing: create pods/exec in a", t.message)
    assert.same({ "list nodes nil nil", "get /x nil nil", "create pods exec a" }, asked)
  end)
  local RIGHTS <const> = { rights = { { words = "list xs.a.b", verb = "list", resource = "xs.a.b" } } }
  local function one(allowed, served)
    return row("permissions", { can = function() return allowed, "", served end }, { params = RIGHTS })
  end
  it("are counted", function()
    assert.same({ "pass", "1 permission" }, two(one(true, true)))
    assert.same({ "pass", "1 permission" }, two(one(true, nil)))
  end)
  it("are of no use for what is not served", function()
    local ended, reason, t = one(true, false)
    assert.same({ "fail", "api-not-served", "NOT_FOUND" }, { ended, reason, t.code })
    assert.truthy(t.message:find("list xs.a.b", 1, true))
    assert.same({ "fail", "forbidden" }, two(one(false, false)))
  end)
  it("are none of what need not be served, until it is", function()
    local function optional(allowed, served)
      return two(row("permissions", { can = function() return allowed, "", served end }, { params = { rights = {
        { words = "list xs.a.b", verb = "list", resource = "xs.a.b", if_served = true } } } }))
    end
    assert.same({ "pass", "1 permission" }, optional(true, false))
    assert.same({ "pass", "1 permission" }, optional(false, false))
    assert.same({ "pass", "1 permission" }, optional(true, true))
    assert.same({ "fail", "forbidden" }, optional(false, true))
  end)
end)

describe("leftovers", function()
  local MARK <const> = "app.kubernetes.io/managed-by=aicr-run"
  local function leftovers(objects, kinds)
    return row("leftovers", {
      list = function(_, resource, opts)
        assert.equal(MARK, opts.label)
        local found = objects[resource]
        if type(found) == "string" then
          error(failure(found), 0)
        end
        return found or {}
      end,
    }, { params = { kinds = kinds or { { resource = "pods", namespace = "a" }, { resource = "jobs.batch" } } } })
  end
  it("are none, also of an API that is not served", function()
    assert.same({ "pass", "none among 2 kinds of objects" }, two(leftovers {}))
    assert.equal("pass", (leftovers { ["jobs.batch"] = "api-not-served" }))
  end)
  it("are named with what removes them", function()
    local ended, _, t, said = leftovers {
      pods = { { metadata = { name = "p", namespace = "a", labels = { ["aicr-run/run"] = "r1" } } } },
      ["jobs.batch"] = { { metadata = { name = "j", namespace = "b" } } },
    }
    assert.equal("fail", ended)
    assert.equal("2 objects of earlier runs: pods/p in a, jobs.batch/j in b", t.message)
    assert.equal("kubectl delete pods -n a -l aicr-run/run=r1 && kubectl delete jobs.batch -A -l " .. MARK, t.fix)
    assert.truthy(said[1]:find("of run r1", 1, true))
  end)
  it("that are being deleted are looked at, not deleted again", function()
    local function pod(name, run, deleted)
      return { metadata = { name = name, namespace = "a", labels = { ["aicr-run/run"] = run },
        deletionTimestamp = deleted } }
    end
    local _, _, t, said = leftovers { pods = { pod("p", "r1", "2026-01-02T03:04:05Z") } }
    assert.equal("kubectl get pods p -n a -o yaml", t.fix)
    assert.truthy(said[1]:find(", being deleted", 1, true))
    local both = { pod("p", "r1", "2026-01-02T03:04:05Z"), pod("q", "r2"), pod("r", "r2"), pod("s", "r3") }
    _, _, t = leftovers { pods = both }
    assert.equal("kubectl delete pods -n a -l aicr-run/run=r2 && kubectl delete pods -n a -l aicr-run/run=r3 && "
      .. "kubectl get pods p -n a -o yaml", t.fix)
  end)
  it("are not known where they cannot be listed", function()
    local ended, reason, t = leftovers { pods = "forbidden" }
    assert.same({ "skip", "not-allowed" }, { ended, reason })
    assert.truthy(t.message:find("may not list pods in a (", 1, true), t.message)
    assert.equal("an administrator sees it with: kubectl get pods -n a -l " .. MARK, t.message:match "; (.*)$")
    assert.same({ "fail", "leftovers" }, two(leftovers { pods = "forbidden",
      ["jobs.batch"] = { { metadata = { name = "j", namespace = "b" } } } }))
    assert.equal("error", (leftovers { pods = "unavailable" }))
  end)
end)

describe("the command that grants all that is selected", function()
  local rbac = require "aicr.engine.rbac"
  local GRANTS <const> = " > role.yaml && kubectl --kubeconfig ADMIN_KUBECONFIG apply -f role.yaml  "
    .. "# then bind the role as role.yaml says"

  for _, case in ipairs {
    { { "checks/gke_tcpxo.lua" }, {}, "aicr-run rbac checks/gke_tcpxo.lua" },
    { { "a b.lua", "c" }, { recipe = "r.yaml", namespace = "n" },
      "aicr-run rbac -n n --recipe r.yaml 'a b.lua' c" },
    { {}, { recipe = "r.yaml" } },
    { { "c" }, { phase = { "deployment" } } },
    { { "c" }, { skip = { "d" } } },
    { { "c" }, { platform = "aws" } },
  } do
    it(("is %s"):format(case[3] or "none where operands are not all"), function()
      assert.equal(case[3] and case[3] .. GRANTS, rbac.command_of_all { operands = case[1], options = case[2] })
    end)
  end
end)
