-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local errors = require "aicr.native.error"
local fake_host = require "spec.support.fake_host"
local result = require "aicr.engine.result"
local run = require "aicr.engine.run"

local OK <const> = { ok = true }
local FAIL <const> = { fail = { code = "CONFLICT", reason = "bad", message = "it is bad" } }
local ERROR <const> = { ending = { how = "deadline" } }
local SKIP <const> = { skip = { reason = "not-applicable", message = "not here" } }

local function item(name, fields)
  local it_ = { name = name, phase = "deployment", path = name .. ".lua", meta = { name = name },
    timeout_ms = 1000 }
  for k, v in pairs(fields or {}) do
    if k == "requires" or k == "needs" then
      it_.meta[k] = v
    else
      it_[k] = v
    end
  end
  return it_
end

local function execute(plan, fields, options)
  fields = fields or {}
  fields.disk = {}
  for _, it_ in ipairs(plan) do
    fields.disk[it_.path] = { name = it_.name }
  end
  local host = fake_host.new(fields)
  options = options or {}
  options.cluster, options.jobs = options.cluster or OK, options.jobs or 4
  options.context = {}
  local results, signal = run.execute(plan, host, options)
  local out = {}
  for i, res in ipairs(results) do
    out[i] = ("%s %s%s"):format(res.name, result.shown(res), res.reason and " " .. res.reason or "")
  end
  local started = {}
  for i, task in ipairs(host.state.started) do
    started[i] = plan[task.id].name
  end
  return out, table.concat(started, " "), host.state, signal, results
end

describe("running a plan", function()
  it("reports in plan order, whatever ends first", function()
    local out, started = execute({ item "a", item "b", item "c" }, { last_first = true })
    assert.same({ "a pass", "b pass", "c pass" }, out)
    assert.equal("a b c", started)
  end)

  it("runs up to four side by side", function()
    local plan = {}
    for i = 1, 9 do
      plan[i] = item("c" .. i)
    end
    local out, _, state = execute(plan)
    assert.equal(9, #out)
    assert.equal(4, state.most)
  end)

  it("runs as many as it is told", function()
    local _, _, state = execute({ item "a", item "b", item "c" }, nil, { jobs = 1 })
    assert.equal(1, state.most)
  end)

  it("runs an exclusive check alone", function()
    local _, started, state = execute { item "a", item("b", { exclusive = true }), item "c",
      item("d", { exclusive = true }) }
    assert.equal("a b c d", started)
    assert.equal(1, state.most)
  end)

  it("ends a phase before the next", function()
    local _, started, state = execute({ item("a"), item("b"),
      item("p", { phase = "performance" }) }, { last_first = true })
    assert.equal("a b p", started)
    assert.equal(2, state.most)
  end)

  it("waits for what a check requires", function()
    local out, started, state = execute({ item "a", item("b", { requires = { "a" } }), item "c" })
    assert.same({ "a pass", "b pass", "c pass" }, out)
    assert.equal("a c b", started)
    assert.equal(2, state.most)
  end)

  for _, row in ipairs { { "fail", FAIL }, { "error", ERROR }, { "skip", SKIP } } do
    it("skips what requires a check that ended as " .. row[1], function()
      local out, started, _, _, results = execute(
        { item "a", item("b", { requires = { "a" } }), item("c", { requires = { "b" } }),
          item "d" }, { endings = { a = row[2] } })
      assert.equal("b skip prerequisite", out[2])
      assert.equal("c skip prerequisite", out[3])
      assert.equal("d pass", out[4])
      assert.equal("a d", started)
      assert.equal(("a did not pass (%s)"):format(row[1]), results[2].message)
    end)
  end

  it("ignores a requirement that is not in the run", function()
    assert.same({ "b pass" }, (execute { item("b", { requires = { "a" } }) }))
  end)

  for _, row in ipairs { { "fail", FAIL, "a fail bad" }, { "error", ERROR, "a error timeout" } } do
    it("with fail-fast starts nothing after the first " .. row[1], function()
      local out, started = execute({ item "a", item "b", item("p", { phase = "performance" }) },
        { endings = { a = row[2] } }, { fail_fast = true, jobs = 1 })
      assert.same({ row[3], "b skip fail-fast", "p skip fail-fast" }, out)
      assert.equal("a", started)
    end)
  end

  it("with fail-fast lets end what was running", function()
    local out = execute({ item "a", item "b", item "c" }, { endings = { a = FAIL } },
      { fail_fast = true, jobs = 2 })
    assert.same({ "a fail bad", "b pass", "c skip fail-fast" }, out)
  end)

  it("with fail-fast goes on after a skip and after a waived failure", function()
    local known = item("b", { waiver = { reason = "known", expires = "2099-01-01" } })
    local out = execute({ item "a", known, item "c" }, { endings = { a = SKIP, b = FAIL } },
      { fail_fast = true, jobs = 1 })
    assert.same({ "a skip not-applicable", "b waived bad", "c pass" }, out)
  end)

  it("does not start what is decided before", function()
    local preset = { outcome = "skip", reason = "platform", message = "not for platform aws" }
    local out, started = execute { item("a", { preset = preset }), item "b" }
    assert.same({ "a skip platform", "b pass" }, out)
    assert.equal("b", started)
  end)

  it("without a cluster errs for every check with needs, and starts the others", function()
    local none = { ok = false, error = { code = "INVALID_REQUEST", reason = "no-cluster",
      message = "no kubeconfig" } }
    local out, started, _, _, results = execute({ item("a", { needs = { "list nodes" } }),
      item "b" }, nil, { cluster = none })
    assert.same({ "a error no-cluster", "b pass" }, out)
    assert.equal("b", started)
    assert.same({ "INVALID_REQUEST", "no kubeconfig" }, { results[1].code, results[1].message })
    assert.is_string(results[1].fix)
  end)

  it("goes on when the host refuses to start one", function()
    local why = errors.new { code = "INVALID_REQUEST", reason = "bad-need",
      message = 'unknown verb "frob"' }
    local plan = { item "a", item "b", item("c", { requires = { "a" } }) }
    local out, started, _, _, results = execute(plan, { refuse = { a = why, c = "boom" } })
    assert.same({ "a error bad-need", "b pass", "c skip prerequisite" }, out)
    assert.equal("b", started)
    assert.equal('the check could not be started: unknown verb "frob"', results[1].message)
    assert.same({ "a error script" }, (execute({ item "a" }, { refuse = { a = "boom" } })))
  end)

  it("hands over parameters, needs, deadline and context", function()
    local it_ = item("a", { needs = { "list nodes" }, roots = { "d" }, source = "text",
      timeout_ms = 5000 })
    it_.params = { n = { value = 3, from = "default" } }
    local _, _, state = execute { it_ }
    local task = state.started[1]
    assert.same({ n = 3 }, task.params)
    assert.same({ "list nodes" }, task.needs)
    assert.same({ 5000, "text", "a.lua" }, { task.deadline_ms, task.source, task.path })
    assert.same({ "d" }, task.roots)
  end)
end)

describe("a signal", function()
  local function signals(...)
    local events = {}
    for i, name in ipairs { ... } do
      events[i] = { kind = "signal", signal = name }
    end
    return events
  end

  it("cancels what runs and starts nothing new", function()
    local out, started, _, signal = execute({ item "a", item "b",
      item("p", { phase = "performance" }) },
      { events = signals "SIGINT" }, { jobs = 1 })
    assert.same({ "a error interrupted", "b error interrupted", "p error interrupted" }, out)
    assert.equal("a", started)
    assert.equal("SIGINT", signal)
  end)

  it("leaves a fail that was recorded", function()
    local recorded = { record = { endings = { { kind = "fail", code = "CONFLICT", reason = "bad",
      message = "m" } } } }
    local out = execute({ item "a" }, { events = signals "SIGTERM", endings = { a = recorded } })
    assert.same({ "a fail bad" }, out)
  end)

  it("a second time ends the run at once and says so", function()
    local out, _, state, signal, results = execute({ item "a", item "b" },
      { events = signals("SIGINT", "SIGTERM") },
      { jobs = 1 })
    assert.same({ "a error interrupted", "b error interrupted" }, out)
    assert.equal(1, #state.in_flight)
    assert.equal("SIGINT", signal)
    assert.truthy(results[1].message:find("clean-up was not awaited", 1, true))
    assert.truthy(results[2].message:find("not started", 1, true))
    assert.same({ 1, 0 }, { results[1].attempts, results[2].attempts })
  end)

  it("a second time tells how long the check had run", function()
    local events = signals("SIGINT", "SIGTERM")
    events[1].after, events[2].after = 2000, 4000
    local _, _, _, _, results = execute({ item "a", item "b" }, { events = events }, { jobs = 1 })
    -- A look at the fake host's clock takes 100 ms.
    assert.same({ 6100, 0 }, { results[1].duration_ms, results[2].duration_ms })
    assert.equal("integer", math.type(results[1].started))
    assert.is_nil(results[2].started)
  end)

  it("that came before the checks starts none", function()
    local out, started = execute({ item "a" }, nil, { signal = "SIGINT" })
    assert.same({ "a error interrupted" }, out)
    assert.equal("", started)
  end)

  it("is told apart from ticks and progress, which a watcher sees", function()
    local seen = {}
    local function see(what, ...)
      seen[#seen + 1] = table.concat({ what, ... }, " ")
    end
    local watch = {
      tick_ms = 10,
      begun = function(_, it_) see("begun", it_.name) end,
      said = function(_, it_, text) see("said", it_.name, text) end,
      ended = function(_, res) see("ended", res.name, res.shown) end,
      tick = function() see("tick") end,
    }
    local events = { { kind = "tick" }, { kind = "progress", id = 1, text = "1/2" },
      { kind = "progress", id = 9, text = "x" } }
    assert.same({ "a pass" }, (execute({ item "a" }, { events = events }, { watch = watch })))
    assert.same({ "begun a", "tick", "said a 1/2", "tick", "tick", "ended a pass", "tick" }, seen)
  end)
end)

describe("--jobs", function()
  it("200 of 200: all in flight at once, in plan order whatever ends first", function()
    local plan, wanted = {}, {}
    for i = 1, 200 do
      plan[i] = item(("c%03d"):format(i))
      wanted[i] = plan[i].name .. " pass"
    end
    local out, _, state = execute(plan, { last_first = true }, { jobs = 200 })
    assert.same(wanted, out)
    assert.equal(200, state.most)
  end)

  it("does not matter to an exclusive check and to the performance phase", function()
    local plan = { item "a", item "b", item("c", { exclusive = true }), item "d",
      item("p", { phase = "performance", exclusive = true }),
      item("q", { phase = "performance", exclusive = true }) }
    local seen, most = {}, {}
    local watch = {
      tick_ms = 10, said = function() end, tick = function() end,
      begun = function(_, it_)
        seen[it_.name] = true
        local n = 0
        for _ in pairs(seen) do n = n + 1 end
        most[it_.name] = n
      end,
      ended = function(_, res) seen[res.name] = nil end,
    }
    execute(plan, nil, { jobs = 50, watch = watch })
    assert.same({ a = 1, b = 2, c = 1, d = 1, p = 1, q = 1 }, most)
  end)
end)

describe("the run's time limit", function()
  local function limited(events, endings, options)
    options = options or {}
    options.jobs, options.limit_ms, options.limit_at = 2, 60000, 1773173444872 + 60000
    local function long(name)
      return item(name, { timeout_ms = 120000 })
    end
    return execute({ long "a", long "b", long "c", item("p", { phase = "performance" }) },
      { events = events, endings = endings }, options)
  end

  it("ends what runs as TIMEOUT and starts nothing more", function()
    local out, started, state, signal, results = limited { { kind = "tick", after = 60000 } }
    assert.same({ "a error timeout", "b error timeout", "c error timeout", "p error timeout" }, out)
    assert.equal("a b", started)
    assert.is_nil(signal)
    assert.equal("the run's time limit is over", state.canceled[1])
    for i, res in ipairs(results) do
      assert.equal("TIMEOUT", res.code)
      assert.equal((i < 3 and "stopped: " or "not started: ") .. "the run's time limit of 1m was over",
        res.message)
    end
  end)

  it("leaves what ended before, and a fail that was recorded", function()
    local fail = { record = { endings = { { kind = "fail", code = "CONFLICT", reason = "bad",
      message = "m" } } } }
    local out = limited({ { kind = "done", id = 1 }, { kind = "tick", after = 70000 } }, { b = fail })
    assert.same({ "a pass", "b fail bad", "c error timeout", "p error timeout" }, out)
  end)

  it("before the first check starts none", function()
    local out, started = execute({ item "a" }, nil, { limit_ms = 5, limit_at = 0 })
    assert.same({ "a error timeout" }, out)
    assert.equal("", started)
  end)

  it("is not over a signal", function()
    local out = limited { { kind = "signal", signal = "SIGINT" }, { kind = "tick", after = 70000 } }
    assert.same({ "a error interrupted", "b error interrupted", "c error interrupted",
      "p error interrupted" }, out)
  end)

  it("is the deadline of a check that has more time than is left", function()
    local plan = { item("a", { timeout_ms = 120000 }), item("b", { timeout_ms = 5000 }),
      item("c", { timeout_ms = 120000 }) }
    local _, _, state = execute(plan, { events = { { kind = "done", id = 1, after = 20000 } } },
      { jobs = 2, limit_ms = 60000, limit_at = 1773173444872 + 60000 })
    local given = {}
    for i, task in ipairs(state.started) do
      given[i] = task.deadline_ms
    end
    assert.same({ 60000, 5000, 39900 }, given) -- the clock goes on by 100 when it is read
  end)

  it("is what ended a check that was too busy to be told of it", function()
    for timeout, message in pairs { [120000] = "stopped: the run's time limit of 1m was over",
      [5000] = "the check did not end within its time limit of 5s" } do
      local out, started, _, _, results = execute({ item("a", { timeout_ms = timeout }), item "b" },
        { events = { { kind = "done", id = 1, after = 60000 } }, endings = { a = { ending = { how = "deadline" } } } },
        { jobs = 1, retry = 5, limit_ms = 60000, limit_at = 1773173444872 + 60000 })
      assert.same({ "a error timeout", "b error timeout" }, out)
      assert.equal("a", started)
      assert.equal(message, results[1].message)
    end
  end)

  it("ends retries", function()
    local _, _, _, _, results = limited({ { kind = "done", id = 1 }, { kind = "tick", after = 70000 } },
      { a = ERROR }, { retry = 5 })
    assert.same({ 2, 1 }, { results[1].attempts, results[2].attempts })
  end)
end)

describe("--retry", function()
  local function retry(endings, n, options)
    options = options or {}
    options.retry, options.jobs = n, options.jobs or 1
    return execute({ item "a", item("b", { requires = { "a" } }) }, { endings = endings }, options)
  end

  it("repeats an error with the same parameters until it ends otherwise", function()
    local out, started, state, _, results = retry({ a = { ERROR, ERROR, { result = "well" } } }, 5)
    assert.same({ "a pass", "b pass" }, out)
    assert.equal("a a a b", started)
    local attempts = {}
    for i = 1, 3 do
      attempts[i], state.started[i].attempt = state.started[i].attempt, nil
    end
    assert.same({ 1, 2, 3 }, attempts)
    assert.same(state.started[1], state.started[3])
    assert.same({ 3, 1200 }, { results[1].attempts, results[1].duration_ms })
    local tries = {}
    for i, t in ipairs(results[1].tries) do
      tries[i] = ("%d %s %s %s %d"):format(t.attempt, t.outcome, t.reason, t.message, t.duration_ms)
    end
    assert.same({ "1 error timeout the check did not end within its time limit of 1s 400",
      "2 error timeout the check did not end within its time limit of 1s 400", "3 pass nil well 400" }, tries)
    assert.equal(2, #results[1].notes)
    assert.equal("attempt 1 of at most 6 ended in error timeout: "
      .. "the check did not end within its time limit of 1s", results[1].notes[1])
  end)

  it("gives up after so many", function()
    local out, started, _, _, results = retry({ a = ERROR }, 2)
    assert.same({ "a error timeout", "b skip prerequisite" }, out)
    assert.equal("a a a", started)
    assert.equal(3, #results[1].tries)
  end)

  it("never repeats a fail, a skip or a pass", function()
    for _, ending in ipairs { FAIL, SKIP, { result = "x" } } do
      local _, started, _, _, results = retry({ a = ending }, 3)
      assert.equal("a", started:match "^a[ a]*":gsub(" $", ""))
      assert.is_nil(results[1].tries)
      assert.equal(1, results[1].attempts)
    end
  end)

  it("takes a fail after an error as the verdict", function()
    local out, started = retry({ a = { ERROR, FAIL, { result = "x" } } }, 3)
    assert.same({ "a fail bad", "b skip prerequisite" }, out)
    assert.equal("a a", started)
  end)

  it("does not hide that an earlier clean-up was not confirmed", function()
    local first = { result = "x", record = { cleanup = { ok = false, message = "pod left" } } }
    local _, _, _, _, results = retry({ a = { first, { result = "well" } } }, 3)
    assert.same({ "error", "cleanup", 4 },
      { results[1].outcome, results[1].reason, results[1].attempts })
    assert.equal("clean-up of an earlier attempt could not be confirmed: pod left", results[1].message)
    _, _, _, _, results = retry({ a = { first, FAIL } }, 3)
    assert.equal("fail", results[1].outcome)
    assert.truthy(table.concat(results[1].notes, "\n"):find("pod left", 1, true))
  end)

  it("is not for what could not be started or was decided before", function()
    local _, _, state = execute({ item "a", item("b", { preset = { outcome = "error",
      code = "NOT_FOUND", reason = "not-available", message = "m" } }) }, { refuse = { a = "boom" } },
      { retry = 3 })
    assert.equal(0, #state.started)
  end)

  it("ends with a signal", function()
    local _, started, _, _, results = execute({ item "a" }, { endings = { a = ERROR },
      events = { { kind = "done", id = 1 }, { kind = "signal", signal = "SIGTERM" } } }, { retry = 9 })
    assert.equal("a a", started)
    assert.same({ 2, "interrupted" }, { results[1].attempts, results[1].reason })
  end)

  it("ends with fail-fast once another check failed", function()
    local out, started = execute({ item "a", item "b" }, { endings = { a = FAIL, b = ERROR } },
      { retry = 9, fail_fast = true, jobs = 2 })
    assert.same({ "a fail bad", "b error timeout" }, out)
    assert.equal("a b", started)
  end)

  it("holds fail-fast back until the last attempt", function()
    local out = execute({ item "a", item "b" }, { endings = { a = { ERROR, { result = "x" } } } },
      { retry = 1, fail_fast = true, jobs = 1 })
    assert.same({ "a pass", "b pass" }, out)
  end)
end)

describe("a waiver", function()
  local NOW <const> = 1773173444872 -- 2026-03-10T20:10:44.872Z

  local function waived(expires, outcome)
    local res = { outcome = outcome or "fail", notes = {} }
    result.waive(res, { reason = "known", expires = expires }, NOW)
    return res
  end

  it("holds on its last day and no longer", function()
    assert.same({ reason = "known", expires = "2026-03-10" }, waived("2026-03-10").waived)
    local late = waived "2026-03-09"
    assert.is_nil(late.waived)
    assert.same({ "the waiver of this check expired on 2026-03-09: known" }, late.notes)
  end)

  it("is for failures only", function()
    assert.is_nil(waived("2099-01-01", "error").waived)
    assert.is_nil(waived("2099-01-01", "pass").waived)
  end)
end)

describe("the exit code", function()
  for _, row in ipairs {
    { 0, { pass = 1 } }, { 0, { pass = 1, skip = 1 } }, { 0, { skip = 2 } }, { 0, { waived = 1 } },
    { 1, { fail = 1 } },
    { 1, { fail = 1, error = 1 } }, { 3, { error = 1, pass = 3 } }, { 4, {} },
    { 1, { skip = 1, pass = 1 }, { strict = true } },
    { 1, { waived = 1 }, { strict = true } }, { 0, { pass = 1 }, { strict = true } },
    { 1, { skip = 1, error = 1 }, { strict = true } }, { 3, { pass = 1 }, { unwritten = true } },
    { 1, { fail = 1 }, { unwritten = true } }, { 130, { fail = 1 }, { signal = "SIGINT" } },
    { 143, { error = 1 }, { signal = "SIGTERM", unwritten = true } },
    { 3, {}, { unwritten = true } },
  } do
    local words = {}
    for k, v in pairs(row[2]) do words[#words + 1] = v .. " " .. k end
    for k, v in pairs(row[3] or {}) do words[#words + 1] = k .. "=" .. tostring(v) end
    table.sort(words)
    it(("is %d for %s"):format(row[1], #words > 0 and table.concat(words, ", ") or "nothing"),
      function()
      local totals = { checks = 0, pass = 0, fail = 0, error = 0, skip = 0, waived = 0 }
      for k, v in pairs(row[2]) do
        totals[k] = v
        totals.checks = totals.checks + v
      end
      assert.equal(row[1], result.exit_code(totals, row[3] or {}))
    end)
  end
end)
