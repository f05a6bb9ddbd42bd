-- SPDX-License-Identifier: Apache-2.0
-- The whole program against an API server that goes wrong (spec/c/wire_server.c).
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"
local server = require "spec.support.server"
local site = require "spec.support.site"

local NODE <const> = { kind = "Node", apiVersion = "v1", metadata = { name = "n", uid = "u" } }
local GET <const> = site.check("a", [[
    ctx.k8s:get("nodes", "n")
    ctx.k8s:get("nodes", "m")
    return "all is well"]], 'needs = { "get nodes" },')

-- Ends a run with SIGKILL once its recording has the answer, and gives its code.
local function killed(args, record)
  local words = { "env -u LD_PRELOAD", files.quote(os.getenv "AICR_RUN") }
  for _, word in ipairs(args) do
    words[#words + 1] = files.quote(word)
  end
  local index = files.quote(record .. "/index.jsonl")
  local _, _, code = os.execute(([[exec 2>/dev/null; %s >%s.out 2>&1 & pid=$!
    for i in $(seq 600); do grep -q '"name":"n"' %s 2>/dev/null && break; sleep 0.05; done
    kill -KILL $pid; wait $pid]]):format(table.concat(words, " "), files.quote(record), index))
  return code
end

describe("a run that is killed while it records", function()
  it("leaves a recording that says so, on which the check does not pass", function()
    server.with({
      server.row("GET /api/v1/nodes/n ", NODE), server.row("GET /api/v1/nodes/m ", nil, { how = { "silent" } }),
    }, function(args, folder)
      local record = folder .. "/rec"
      files.write(folder .. "/a.lua", GET)
      local words = { table.unpack(args) }
      table.move({ "--record", record, folder .. "/a.lua" }, 1, 3, #words + 1, words)
      assert.equal(137, killed(words, record))
      assert.is_true(json.decode(files.read(record .. "/aicr-recording.json")).open)
      local report = binary.report { "--recording", record, folder .. "/a.lua" }
      local check = binary.check(report, "a")
      assert.same({ "error", "CANCELED", "interrupted", 3 }, { check.outcome, check.code, check.reason, report.exit })
      assert.truthy(check.message:find("record", 1, true), check.message)
      -- One of which nothing was recorded may have been in that run.
      files.write(folder .. "/b.lua", (GET:gsub('"a"', '"b"')))
      local other = binary.check(binary.report { "--recording", record, folder .. "/b.lua" }, "b")
      assert.same({ "error", "CANCELED" }, { other.outcome, other.code }, other.message)
    end)
  end)
end)

describe("an apply of which the answer is lost", function()
  local PATH <const> = "/api/v1/namespaces/ns/configmaps/x"
  local CHECK <const> = site.check("a", [[
    ctx.k8s:apply { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "x", namespace = "ns" } }
    return "applied"]], 'timeout = "2m", needs = { "apply configmaps in ns" },')

  -- As it is read when the check cleans up; by whom and when it was changed.
  local function object(is_ours, uid, fields)
    local managed = json.array {}
    for i, field in ipairs(fields) do
      managed[i] = { manager = field[1], operation = field[2], time = field[3], apiVersion = "v1" }
    end
    return {
      apiVersion = "v1", kind = "ConfigMap", data = { a = "b" },
      metadata = {
        name = "x", namespace = "ns", uid = uid, creationTimestamp = "2026-01-01T00:00:10Z", managedFields = managed,
        labels = is_ours and { ["aicr-run/run"] = "@@", ["app.kubernetes.io/managed-by"] = "aicr-run" } or nil,
      },
    }
  end

  local function read(of, times)
    return server.row("GET " .. PATH .. " ", of, { times = times, echo = '"aicr-run/run":"' })
  end

  local function run(rows)
    local all = { server.absent("GET " .. PATH .. " ", "x", "configmaps", { times = 1 }) }
    table.move(rows, 1, #rows, 2, all)
    local check, requests = server.run(all, CHECK, { "-n", "ns" })
    local writes = {}
    for _, request in ipairs(requests) do
      if not request[1]:find "^GET" and not request[1]:find "selfsubject" then
        writes[#writes + 1] = { request[1]:match "^%u+ [^?]+", json.decode(request[2]) }
      end
    end
    return check, writes
  end

  local lost <const> = server.row("PATCH " .. PATH, nil, { how = { "nothing" }, times = 1 })

  it("deletes the object that it made, and no other of its name", function()
    local check, writes = run {
      lost, read(object(true, "u1", { { "aicr-run", "Apply", "2026-01-01T00:00:10Z" } }), 1),
      server.row("DELETE " .. PATH, object(true, "u1", {})),
      read(object(false, "u2", {})),
    }
    assert.same({ "error", "connection-lost" }, { check.outcome, check.reason }, check.message)
    assert.same({ "PATCH " .. PATH, "DELETE " .. PATH }, { writes[1][1], writes[2][1], writes[3] })
    assert.equal("u1", writes[2][2].preconditions.uid)
  end)

  it("takes its labels off what another made, and deletes nothing", function()
    local check, writes = run {
      lost, read(object(true, "u1", {
        { "other", "Update", "2026-01-01T00:00:10Z" }, { "aicr-run", "Apply", "2026-01-01T00:00:11Z" },
      })),
      server.row("PATCH " .. PATH, object(false, "u1", {})),
    }
    assert.same({ "error", "connection-lost" }, { check.outcome, check.reason }, check.message)
    assert.same({ "PATCH " .. PATH, "PATCH " .. PATH }, { writes[1][1], writes[2][1], writes[3] })
    assert.equal("u1", writes[2][2].metadata.uid)
    assert.is_nil(writes[2][2].metadata.labels)
  end)

  it("deletes nothing where it cannot be told who made it, and says what is left", function()
    local check, writes = run {
      lost, read(object(true, "u1", {
        { "other", "Update", "2026-01-01T00:00:10Z" }, { "aicr-run", "Apply", "2026-01-01T00:00:10Z" },
      })),
    }
    assert.equal("error", check.outcome)
    assert.same({ "PATCH " .. PATH }, { writes[1][1], writes[2] })
    assert.truthy(json.encode(check):find("show-managed-fields", 1, true), json.encode(check))
  end)

  it("deletes nothing that it never reached", function()
    local check, writes = run { lost, read(object(false, "u1", {})) }
    assert.same({ "error", "connection-lost" }, { check.outcome, check.reason }, check.message)
    assert.same({ "PATCH " .. PATH }, { writes[1][1], writes[2] })
  end)
end)

describe("a webhook that cannot be called", function()
  it("has made nothing, so that nothing is looked for", function()
    local create = site.check("a", [[
    ctx.k8s:create { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "x-" } }
    return "made"]], 'needs = { "create configmaps" },')
    local check, requests = server.run({
      server.row("POST /api/v1/namespaces/ns/configmaps?", {
        kind = "Status", apiVersion = "v1", status = "Failure", reason = "InternalError", code = 500,
        message = 'Internal error occurred: failed calling webhook "w": no endpoints available',
      }, { http = 500 }),
    }, create, { "-n", "ns" })
    assert.same({ "error", "server-error" }, { check.outcome, check.reason }, check.message)
    assert.truthy(check.fix:find("validatingwebhookconfigurations", 1, true), check.fix)
    for _, request in ipairs(requests) do
      assert.is_nil(request[1]:find("GET /api/v1/namespaces/ns/configmaps", 1, true), request[1])
    end
    assert.is_nil(json.encode(check):find("may be left", 1, true))
  end)
end)

describe("each request is told on stderr", function()
  local GETS <const> = site.check("a", 'ctx.k8s:get("nodes", "n") return "read"', 'needs = { "get nodes" },')

  for _, row in ipairs {
    { true, "--log-level", "trace" }, { true, "-vv" }, { true, "-v", "-v" }, { false, "-v" }, { false },
    { false, "-vv", "--log-level", "warn" },
  } do
    it((row[1] and "with " or "not with ") .. table.concat(row, " ", 2), function()
      local check = server.run({ server.row("GET /api/v1/nodes/n ", NODE) }, GETS, { table.unpack(row, 2) })
      assert.equal("pass", check.outcome, check.message)
      assert.equal(row[1], check.stderr:find("trace: get http", 1, true) ~= nil, check.stderr)
    end)
  end
end)

describe("a wait for a node", function()
  local WAIT <const> = site.check("a", [[
    ctx.k8s:wait("nodes", "n", nil, "condition=Ready", { timeout = "2m" })
    return "ready"]], 'timeout = "3m", needs = { "wait nodes" },')

  local function node(name, ready)
    return {
      kind = "Node", apiVersion = "v1", metadata = { name = name, uid = name, resourceVersion = "2" },
      status = { conditions = json.array { { type = "Ready", status = ready } } },
    }
  end

  local function run(list, event)
    list.kind, list.apiVersion = "NodeList", "v1"
    return server.run({
      server.row("GET /api/v1/nodes/n ", node("n", "False")),
      server.row("GET /api/v1/nodes?limit=500 ", { kind = "NodeList", apiVersion = "v1", items = json.array {} }),
      server.row("watch=true", json.encode(event) .. "\n", { how = { "endless", "stall" } }),
      server.row("GET /api/v1/nodes?", list),
    }, WAIT)
  end

  local here <const> = { metadata = { resourceVersion = "1" }, items = json.array { node("n", "False") } }

  it("passes when it is ready", function()
    local check = run(here, { type = "MODIFIED", object = node("n", "True") })
    assert.equal("pass", check.outcome, check.message)
  end)

  it("does not take another one for it, of which a server tells that knows no selector", function()
    local check = run(here, { type = "MODIFIED", object = node("m", "True") })
    assert.same({ "error", "unexpected-response" }, { check.outcome, check.reason }, check.message)
    check = run({ metadata = here.metadata, items = json.array { node("m", "True") } }, { type = "ADDED" })
    assert.same({ "error", "unexpected-response" }, { check.outcome, check.reason }, check.message)
  end)

  it("does not go round where a list says no version", function()
    local check, requests = run({ metadata = {}, items = here.items }, { type = "ADDED" })
    assert.same({ "error", "unexpected-response" }, { check.outcome, check.reason }, check.message)
    assert.is_true(#requests < 10, json.encode(requests))
  end)
end)

describe("an object of which the server says no uid", function()
  local PATH <const> = "/api/v1/namespaces/ns/configmaps/x"

  local function object(uid)
    return { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "x", namespace = "ns", uid = uid } }
  end

  local SUCCESS <const> = { kind = "Status", apiVersion = "v1", status = "Success" }

  it("is not gone after it was deleted", function()
    local check = server.run({
      server.row("DELETE " .. PATH, SUCCESS), server.row("GET " .. PATH .. " ", object()),
    }, site.check("a", 'ctx.k8s:delete("configmaps", "x", "ns", { uid = "u" }) return "deleted"',
      'timeout = "2m", needs = { "delete,get configmaps in ns" },'))
    assert.same({ "error", "unexpected-response" }, { check.outcome, check.reason }, check.message)
  end)

  it("is not removed after the check that made it", function()
    local check, requests = server.run({
      server.row("POST /api/v1/namespaces/ns/configmaps", object "u", { http = 201 }),
      server.row("GET " .. PATH .. " ", object()), server.row("DELETE " .. PATH, SUCCESS),
    }, site.check("a", [[
      ctx.k8s:create { apiVersion = "v1", kind = "ConfigMap", metadata = { name = "x", namespace = "ns" } }
      return "made"]], 'timeout = "2m", needs = { "create configmaps in ns" },'))
    assert.same({ "error", "cleanup" }, { check.outcome, check.reason }, check.message)
    assert.truthy(json.encode(check):find("kubectl delete -n ns configmap/x", 1, true), json.encode(check))
    for _, request in ipairs(requests) do
      assert.is_nil(request[1]:find "^DELETE", request[1])
    end
  end)
end)
