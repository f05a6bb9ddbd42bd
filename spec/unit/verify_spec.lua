-- SPDX-License-Identifier: Apache-2.0
--- The truth tables of gke-tcpxo.md 3.10 and validation-model.md 4.1, 5.
require "aicr_native"
local errors = require "aicr.native.error"
local gke = require "aicr.gke"
local verify = require "aicr.verify"
local recording = require "spec.support.recording"
local outcome = require "spec.support.outcome"
local vectors = require "spec.support.vectors"

local SAMPLE <const> = "validation-sample.jsonl"

local function client_error(details)
  return errors.new { code = "INTERNAL", reason = "the-reason", message = "GET /x failed",
    details = details }
end

-- Probe names of the validation vectors -> what the client's error would hold.
local TRANSPORT <const> = {
  ["ctx-deadline"] = "deadline", ["wrapped-deadline"] = "deadline", ["ctx-canceled"] = "canceled",
  ["url-timeout"] = "socket-timeout", ["conn-refused"] = "refused", ["conn-reset"] = "reset",
  dns = "dns", ["dns-timeout"] = "dns-timeout", tls = "tls",
}

local function probe_error(name)
  if name == "none" then
    return nil
  elseif TRANSPORT[name] then
    return client_error { transport = TRANSPORT[name] }
  elseif name == "json" then
    return client_error { http = 200 }
  elseif name == "partial-discovery" then
    return client_error {}
  end
  local generic = name:match "^generic%-(%d+)$"
  if generic then
    return client_error { http = math.tointeger(generic), status_reason = "" }
  end
  local http, reason = name:match "^(%d+)/(.+)$"
  return client_error {
    http = assert(math.tointeger(http), name),
    status_reason = reason == "empty-reason" and "" or reason,
  }
end

local SKIP = {}

local function fake(declared)
  return {
    recipe = { componentRefs = declared and { { name = "c" } } or {} },
    skip = function(_, ending) error(setmetatable({ ending = ending }, SKIP), 0) end,
  }
end

-- -> "proceed", "skip" or a code; the error or the skip's fields
local function verdict_of(f, ...)
  local ok, result = pcall(f, ...)
  if ok then
    return "proceed"
  elseif getmetatable(result) == SKIP then
    return "skip", result.ending
  end
  assert.is_true(errors.is(result), tostring(result))
  return result.code, result
end

describe("verify.require", function()
  for _, row in ipairs(vectors.rows(SAMPLE, "capability.require")) do
    it(("%s %s"):format(row.id, row.args.probe), function()
      local args = row.args
      local inapplicable = args.inapplicableMsg ~= "" and args.inapplicableMsg or nil
      local probe = probe_error(args.probe)
      local verdict, what = verdict_of(verify.require, fake(args.declared), {
        component = "c", probe = probe, present = args.present, absent = "it is absent",
        inapplicable = inapplicable,
      })
      if row.ok then
        assert.equal(row.result.verdict, verdict)
        if verdict == "skip" then
          assert.equal("not-declared", what.reason)
          assert.equal(inapplicable or "the recipe does not declare c: nothing to verify about c",
            what.message)
        end
        return
      end
      assert.equal(row.code, verdict)
      assert.equal(outcome.ours("fail", row.code) == "fail", what.verdict)
      assert.equal(verdict == "NOT_FOUND", what.message == "it is absent")
      assert.equal(probe, what.cause)
      assert.equal(probe and "the-reason" or "not-found", what.reason)
    end)
  end

  it("fails a declared component whose probe found nothing", function()
    local code, err = verdict_of(verify.require, fake(true),
      { component = "c", present = false, subject = "s", reason = "no-s" })
    assert.equal("NOT_FOUND", code)
    assert.equal("no-s", err.reason)
    assert.is_true(err.verdict)
    assert.equal("the recipe declares c, but s is not there", err.message)
  end)

  it("says that there is no recipe, whatever the check says of one", function()
    for _, inapplicable in ipairs { false, "inap" } do
      local ctx = fake(false)
      ctx.recipe = nil
      local verdict, what = verdict_of(verify.require, ctx, { component = "c", present = false,
        inapplicable = inapplicable or nil })
      assert.equal("skip", verdict)
      assert.same({ reason = "not-declared",
        message = "no recipe given: add --recipe FILE, one that declares c" }, what)
    end
  end)

  it("knows an API that discovery proves absent", function()
    local probe = client_error { served = false }
    assert.equal("NOT_FOUND", (verdict_of(verify.require, fake(true), { component = "c", probe = probe })))
    assert.equal("skip", (verdict_of(verify.require, fake(false), { component = "c", probe = probe })))
  end)

  it("takes nothing that was not recorded for absent", function()
    local probe = errors.new { code = "INTERNAL", reason = "not-recorded", message = "m", details = {} }
    for _, declared in ipairs { true, false } do
      local code, err = verdict_of(verify.require, fake(declared), { component = "c", probe = probe })
      assert.equal("INTERNAL", code)
      assert.equal("not-recorded", err.reason)
      assert.is_false(err.verdict)
    end
  end)

  it("takes no 404 for absent that no API server may have said, or of which it is not known what it is of", function()
    for _, reason in ipairs { "unexpected-response", "discovery-incomplete", "scope-mismatch" } do
      local probe = errors.new { code = "INTERNAL", reason = reason, message = "m", details = { http = 404 } }
      for _, declared in ipairs { true, false } do
        local code, err = verdict_of(verify.require, fake(declared), { component = "c", probe = probe })
        assert.equal("INTERNAL", code)
        assert.equal(reason, err.reason)
        assert.is_false(err.verdict)
      end
    end
  end)

  it("refuses wrong arguments as a script error", function()
    local ok, err = pcall(verify.require, fake(true), { present = true })
    assert.is_false(ok)
    assert.truthy(err:find("component must be a string", 1, true))
    ok, err = pcall(verify.require, fake(true), { component = "c", probe = "text" })
    assert.is_false(ok)
    assert.truthy(err:find("must be an error object", 1, true))
  end)
end)

describe("verify.require_list", function()
  for _, row in ipairs(vectors.rows(SAMPLE, "capability.list")) do
    it(("%s %s"):format(row.id, row.args.probe), function()
      local code, err = verdict_of(verify.require_list, nil, probe_error(row.args.probe))
      if row.ok then
        assert.equal("proceed", code)
      else
        assert.equal(row.code, code)
        assert.is_false(err.verdict)
      end
    end)
  end

  it("proceeds without an error", function()
    assert.equal("proceed", (verdict_of(verify.require_list, nil, nil)))
  end)
end)

describe("verify.read_code", function()
  for _, row in ipairs(vectors.rows(SAMPLE, "k8s.read")) do
    it(("%s %s"):format(row.id, row.args.probe), function()
      assert.equal(row.result, verify.read_code(probe_error(row.args.probe)))
    end)
  end
end)

describe("classification", function()
  for _, row in ipairs(vectors.rows(vectors.GKE, "classify")) do
    local facts = row.args.error
    it(("%s %s"):format(row.id, facts.kind or facts.status), function()
      local details = facts.kind and { transport = recording.transport(facts.kind) }
        or { http = facts.status, status_reason = facts.reason or "" }
      local err, want = client_error(details), row.result
      assert.equal(want.notFound, verify.classify(err) == "NOT_FOUND")
      assert.equal(want.requireList, (verdict_of(verify.require_list, nil, err)))
      assert.equal(want.requireDeclared,
        (verdict_of(verify.require, fake(true), { component = "c", probe = err })))
      assert.equal(want.requireUndeclared,
        (verdict_of(verify.require, fake(false), { component = "c", probe = err })))
      -- Our client has no rate limiter: the deadline that stands for it reads as one.
      assert.equal(facts.kind == "ratelimit" and "TIMEOUT" or want.readErrorCode,
        gke.read_error_code(err))
    end)
  end

  it("takes a run that was stopped for a time-out", function()
    assert.equal("TIMEOUT", verify.classify(errors.new { code = "CANCELED", reason = "canceled", message = "m" }))
    assert.equal("INTERNAL", verify.classify(errors.new { code = "NOT_FOUND", reason = "x", message = "m" }))
  end)
end)

describe("verify.networks_exist", function()
  local deployed = { { interfaceName = "eth1", network = "a" } }

  it("with two lists tells missing from unusable", function()
    assert.equal("NOT_FOUND", (verdict_of(verify.networks_exist, deployed, { "b" }, { "b" })))
    assert.equal("CONFLICT", (verdict_of(verify.networks_exist, deployed, { "b" }, { "a", "b" })))
    assert.equal("proceed", (verdict_of(verify.networks_exist, deployed, { "a" }, { "a" })))
  end)

  it("with one list takes it for both", function()
    assert.equal("NOT_FOUND", (verdict_of(verify.networks_exist, deployed, { "b" })))
    assert.equal("proceed", (verdict_of(verify.networks_exist, deployed, { "a" })))
  end)
end)
