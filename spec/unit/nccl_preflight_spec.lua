-- SPDX-License-Identifier: Apache-2.0
--- The probe of each node, on a cluster that is a table: gke-tcpxo.md 5.5, vector R-17.
require "aicr_native"
local attempt = require "aicr.base.attempt"
local errors = require "aicr.native.error"
local preflight = require "aicr.nccl_runtime.gke_preflight"

local MARKER <const> = "tcpxo-artifact-missing\n"

-- A ctx whose pods end as `ends` says of their node: {phase, log}, or an error object by the call's name.
local function fake(ends)
  local seen = { created = {}, deleted = {}, lanes = 0 }
  local function of(name)
    return ends[name:match "^probe%-(.*)$"] or { "Succeeded" }
  end
  local ctx = {}
  function ctx:try(f, ...)
    return attempt(f, ...)
  end
  function ctx:progress(fmt, ...)
    seen.progress = fmt:format(...)
  end
  function ctx:all(functions)
    for _, f in ipairs(functions) do
      seen.lanes = seen.lanes + 1
      f()
    end
  end
  local k8s = {}
  function k8s:create(pod)
    local node = pod.spec.nodeName
    if ends[node] and ends[node].create then
      error(ends[node].create, 0)
    end
    seen.created[#seen.created + 1] = pod
    return { metadata = { name = "probe-" .. node, namespace = "ns" } }
  end
  function k8s:wait(_, name, _, wanted)
    local how = of(name)
    if how.wait then
      error(how.wait, 0)
    end
    local pod = { status = { phase = how[1] } }
    assert.is_false((wanted { status = { phase = "Running" } }))
    assert.is_false((wanted(nil)))
    assert.same({ false, "Pending, ErrImagePull: not found" }, { wanted { status = { phase = "Pending",
      containerStatuses = { { state = { waiting = { reason = "ErrImagePull", message = "not found" } } } } } } })
    assert.is_true((wanted(pod)))
    return pod
  end
  function k8s:logs(name)
    local how = of(name)
    if how.logs then
      error(how.logs, 0)
    end
    return how[2] or ""
  end
  function k8s:delete(_, name)
    seen.deleted[#seen.deleted + 1] = name
  end
  ctx.k8s = k8s
  return ctx, seen
end

local HOW <const> = { image = "busybox:1.36", timeout = "2m" }

local function refused(ends, nodes)
  local ok, err = pcall(preflight.run, (fake(ends)), nodes or { "a", "b" }, HOW)
  assert.is_false(ok)
  assert.is_true(errors.is(err), tostring(err))
  return err
end

local function err_of(code, reason)
  return errors.new { code = code, reason = reason, message = "it " .. reason }
end

describe("the probes", function()
  it("look at every node, pinned to it, and leave nothing", function()
    local ctx, seen = fake {}
    preflight.run(ctx, { "a", "b" }, HOW)
    local pod = seen.created[1]
    assert.same({ "a", "b" }, { pod.spec.nodeName, seen.created[2].spec.nodeName })
    assert.same({ "probe-a", "probe-b" }, seen.deleted)
    assert.equal("nccl-tcpxo-probe-", pod.metadata.generateName)
    assert.equal("nccl-tcpxo-preflight", pod.metadata.labels["app.kubernetes.io/component"])
    assert.equal("Never", pod.spec.restartPolicy)
    assert.same({ { operator = "Exists" } }, { pod.spec.tolerations[1] })
    assert.same({ path = "/home/kubernetes/bin/nvidia", type = "DirectoryOrCreate" }, pod.spec.volumes[1].hostPath)
    assert.is_true(pod.spec.containers[1].volumeMounts[1].readOnly)
    assert.truthy(pod.spec.containers[1].args[1]:find("/lib64/nccl-env-profile.sh", 1, true))
  end)

  it("are at most 16 at once, and one a node", function()
    local nodes = {}
    for i = 1, 40 do
      nodes[i] = ("n%02d"):format(i)
    end
    local ctx, seen = fake {}
    preflight.run(ctx, nodes, HOW)
    assert.equal(16, seen.lanes)
    assert.equal(40, #seen.created)
  end)

  it("R-17 name every node that is not ready", function()
    local err = refused({ b = { "Failed", MARKER }, c = { "Failed", MARKER } }, { "a", "b", "c" })
    assert.same({ "INVALID_REQUEST", "tcpxo-not-ready", true }, { err.code, err.reason, err.verdict })
    assert.truthy(err.message:find("on 2 of 3 nodes", 1, true))
    assert.truthy(err.message:find(": b, c", 1, true), err.message)
  end)

  it("want a node", function()
    assert.same({ "INVALID_REQUEST", "tcpxo-not-ready" }, { refused({}, {}).code, refused({}, {}).reason })
  end)

  local rows = {
    { "fails without the marker", { "Failed", "sh: not found\n" }, "INTERNAL", "probe-failed", "sh: not found" },
    { "fails with an unreadable log", { "Failed", logs = err_of("SERVICE_UNAVAILABLE", "not-ready") }, "INTERNAL",
      "not-ready", "log cannot be read" },
    { "cannot be made", { create = err_of("UNAUTHORIZED", "forbidden") }, "INTERNAL", "forbidden", "cannot be made" },
    { "does not end", { wait = err_of("TIMEOUT", "never-true") }, "TIMEOUT", "never-true",
      "its probe pod of image busybox:1.36 (parameter probe_image) did not end" },
    { "is canceled", { wait = err_of("CANCELED", "canceled") }, "CANCELED", "canceled", "did not end" },
  }
  for _, row in ipairs(rows) do
    it("are no verdict when one " .. row[1], function()
      local err = refused { b = row[2] }
      assert.same({ row[3], row[4], false }, { err.code, err.reason, err.verdict })
      assert.truthy(err.message:find("node b ", 1, true), err.message)
      assert.truthy(err.message:find(row[5], 1, true), err.message)
    end)
  end
end)
