-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local human = require "aicr.report.human"
local json = require "aicr.json"
local result = require "aicr.engine.result"

local WIDE <const> = { utf8 = true, color = false }

local function res(name, outcome, fields)
  local r = {
    name = name, phase = "deployment", tags = {}, path = "checks/" .. name .. ".lua",
    file = "checks/" .. name .. ".lua",
    origin = "file", explain = "checks/" .. name .. ".lua", outcome = outcome, result = "it holds", duration_ms = 400,
    attempts = 1, notes = {},
    trace = {}, params = {}, steps = {}, expectations = {}, measures = {}, series = {},
    evidence = {}, log = {},
    resources = {}, attachments = {},
  }
  for k, v in pairs(fields or {}) do
    r[k] = v
  end
  return r
end

local function render(results, fields, options)
  local run = {
    version = "0.1.0", start = 0, stop = 3200, seed = 20260310, notes = {}, results = results,
    target = { context = "train-01", server_version = "v1.32.6-gke.1013000", platform = "gcp",
      gpu_nodes = 2, gpus = 16 },
    recipe = { name = "h100-gke" },
  }
  for k, v in pairs(fields or {}) do
    run[k] = v
  end
  options = options or {}
  options.terminal = options.terminal or WIDE
  return human.render(result.model(run), options)
end

local function swapped()
  local rows = {}
  for i = 1, 8 do
    rows[i] = { k = "eth" .. i, l = ("gpu-nic%d-net"):format(i - 1),
      r = ("gpu-nic%d-net"):format(i - 1) }
  end
  rows[2].r, rows[3].r = rows[3].l, rows[2].l
  return { diff = { key = "interface", left = "recipe", right = "deployed", rows = rows } }
end

local function failing()
  return {
    res("gke-gpu-nic-networks", "pass", { result = "8 GPU NIC networks, 8 required" }),
    res("tcpxo-runtime-mapping", "fail", {
      duration_ms = 700, code = "INVALID_REQUEST", reason = "mapping-mismatch", line = 31,
      result = "2 of 8 interfaces differ from the recipe",
      message = "ClusterTrainingRuntime torch-distributed-tcpxo wires eth2 and eth3 the other way round",
      why = "Interface ethN serves GPU NIC N.", fix = "Re-apply the manifest.", details = swapped(),
    }),
    res("gpu-operator-health", "error", {
      duration_ms = 2100, code = "UNAUTHORIZED", reason = "forbidden",
      result = "cannot list pods in gpu-operator", line = 12,
      message = "GET /api/v1/namespaces/gpu-operator/pods → 403",
      fix = "kubectl create rolebinding aicr-run-view",
      evidence = { "one", "two" },
    }),
  }
end

local FAILING <const> = [[
aicr-run 0.1.0 · train-01 · Kubernetes v1.32.6-gke.1013000 · gcp · 2 GPU nodes, 16 GPUs · recipe h100-gke

deployment
  ✓ gke-gpu-nic-networks        0.4s   8 GPU NIC networks, 8 required
  ✗ tcpxo-runtime-mapping       0.7s   2 of 8 interfaces differ from the recipe
  ! gpu-operator-health         2.1s   forbidden: cannot list pods in gpu-operator

✗ tcpxo-runtime-mapping  failed  mapping-mismatch                checks/tcpxo-runtime-mapping.lua:31
    ClusterTrainingRuntime torch-distributed-tcpxo wires eth2 and eth3 the other way round

             recipe              deployed
      eth1   gpu-nic0-net        gpu-nic0-net
    ≠ eth2   gpu-nic1-net        gpu-nic2-net
    ≠ eth3   gpu-nic2-net        gpu-nic1-net
      eth4…eth8  equal

    why   Interface ethN serves GPU NIC N.
    fix   Re-apply the manifest.
    see   aicr-run --explain checks/tcpxo-runtime-mapping.lua

! gpu-operator-health  error  forbidden                          checks/gpu-operator-health.lua:12
    GET /api/v1/namespaces/gpu-operator/pods → 403

    one
    two

    fix   kubectl create rolebinding aicr-run-view
    see   aicr-run --explain checks/gpu-operator-health.lua

3 checks: 1 passed, 1 failed, 1 error · 3.2s · seed 20260310
exit 1: at least one check failed
]]

local ASCII <const> = [[
aicr-run 0.1.0 | train-01 | Kubernetes v1.32.6-gke.1013000 | gcp | 2 GPU nodes, 16 GPUs | recipe h100-gke

deployment
  ok   gke-gpu-nic-networks        0.4s   8 GPU NIC networks, 8 required
  FAIL tcpxo-runtime-mapping       0.7s   2 of 8 interfaces differ from the recipe
  ERR  gpu-operator-health         2.1s   forbidden: cannot list pods in gpu-operator

FAIL tcpxo-runtime-mapping  failed  mapping-mismatch             checks/tcpxo-runtime-mapping.lua:31
    ClusterTrainingRuntime torch-distributed-tcpxo wires eth2 and eth3 the other way round

             recipe              deployed
      eth1   gpu-nic0-net        gpu-nic0-net
   != eth2   gpu-nic1-net        gpu-nic2-net
   != eth3   gpu-nic2-net        gpu-nic1-net
      eth4...eth8  equal
]]

local NARROW <const> = [[
aicr-run 0.1.0 · train-01
  Kubernetes v1.32.6-gke.1013000 · gcp
  2 GPU nodes, 16 GPUs · recipe h100-gke

deployment
  ✗ tcpxo-runtime-mapping       0.7s
      2 of 8 interfaces differ from the
      recipe

✗ tcpxo-runtime-mapping failed
mapping-mismatch
    checks/tcpxo-runtime-mapping.lua:31
    ClusterTrainingRuntime
    torch-distributed-tcpxo wires eth2
    and eth3 the other way round

      eth1   recipe    gpu-nic0-net
             deployed  gpu-nic0-net
    ≠ eth2   recipe    gpu-nic1-net
             deployed  gpu-nic2-net
    ≠ eth3   recipe    gpu-nic2-net
             deployed  gpu-nic1-net
      eth4…eth8  equal
]]

local function starts_with(expected, actual)
  assert.equal(expected, actual:sub(1, #expected))
end

describe("the human report", function()
  it("is as the reference shows it, unlimited", function()
    assert.equal(FAILING, render(failing()))
  end)

  it("falls back to ASCII", function()
    local out = render(failing(), nil, { terminal = { utf8 = false } })
    starts_with(ASCII, out)
    assert.is_nil(out:find("[\x80-\xff]"))
    assert.truthy(out:find("pods -> 403", 1, true))
  end)

  it("wraps in a narrow terminal and loses nothing", function()
    starts_with(NARROW, render({ failing()[2] }, nil, { terminal = { utf8 = true, width = 41 } }))
  end)

  for _, width in ipairs { 40, 60, 80, 100, 120 } do
    it(("keeps to %d columns wherever a word fits"):format(width), function()
      for line in render(failing(), nil,
        { terminal = { utf8 = true, width = width } }):gmatch("[^\n]+") do
        local is_command = line:find "^%s+see%s+aicr%-run " or line:find "^%s+fix%s+kubectl "
        assert.truthy(is_command or utf8.len(line) <= math.max(width, width < 80 and 50 or 0), line)
      end
    end)
  end

  it("tells an error that several checks have once whole", function()
    local function unreachable(name, fields)
      local r = res(name, "error", { code = "SERVICE_UNAVAILABLE", reason = "connect", fix = "kubectl cluster-info",
        message = "list nodes: connection refused", result = "list nodes: connection refused" })
      for k, v in pairs(fields or {}) do
        r[k] = v
      end
      return r
    end
    local out = render { unreachable "a", unreachable("b", { evidence = { "of its own" } }),
      unreachable("c", { fix = "kubectl version" }) }
    local _, whole = out:gsub("\n    list nodes: connection refused\n", "")
    local _, short = out:gsub("\n    the same error as that of a, above\n", "")
    local _, fixes = out:gsub("    fix   kubectl cluster%-info\n", "")
    assert.same({ 2, 1, 1 }, { whole, short, fixes })
    assert.truthy(out:find("\n! b  error  connect", 1, true))
    assert.truthy(out:find("of its own", 1, true))
    assert.truthy(out:find("    fix   kubectl version\n", 1, true))
  end)

  it("colours meaning, never text alone", function()
    local out = render(failing(), nil, { terminal = { utf8 = true, color = true } })
    for _, text in ipairs { "\27[32m✓\27[0m", "\27[1;31m✗\27[0m", "\27[35m!\27[0m",
      "\27[1;31m≠\27[0m" } do
      assert.truthy(out:find(text, 1, true), text)
    end
    assert.equal(FAILING, (out:gsub("\27%[[%d;]*m", "")))
  end)

  it("quiet shows only what is wrong and the totals", function()
    local out = render(failing(), nil, { quiet = true })
    assert.is_nil(out:find("aicr-run 0.1.0", 1, true))
    assert.is_nil(out:find("gke-gpu-nic-networks", 1, true))
    assert.truthy(out:find("✗ tcpxo-runtime-mapping", 1, true))
    assert.truthy(out:find("3 checks: 1 passed, 1 failed, 1 error", 1, true))
    assert.equal("1 check: 1 passed · 3.2s · seed 20260310\n",
      render({ res("a", "pass") }, nil, { quiet = true }))
  end)

  it("verbose shows evidence, measures and notes of passing checks", function()
    local passing = res("a", "pass", { evidence = { "8 found" }, notes = { "a note" },
      measures = { { name = "busbw", value = 327.2, unit = "GB/s", limit = ">= 250" } } })
    local out = render({ passing }, nil, { verbose = true })
    for _, text in ipairs { "\n        8 found\n", "note: a note",
      "busbw 327.2 GB/s, required >= 250" } do
      assert.truthy(out:find(text, 1, true), text)
    end
    assert.is_nil(render({ passing }):find("8 found", 1, true))
  end)

  it("says in its head how many labelled nodes have no GPU", function()
    local target = { gpu_nodes = 2, gpus = 16, gpu_nodes_empty = 1 }
    assert.equal("aicr-run 0.1.0 · 2 GPU nodes (1 more labelled, without GPUs), 16 GPUs · recipe h100-gke",
      render({}, { target = target }):match("^[^\n]*"))
  end)

  it("warns loudly of a server that proves nothing, also when quiet", function()
    local WARNING <const> = "WARNING: nothing proves that these answers are the server's: its certificate is not "
      .. "verified (insecure-skip-tls-verify or http:// in the kubeconfig)"
    local target = { context = "train-01", insecure = true }
    local out = render({ res("a", "pass") }, { target = target })
    assert.equal(WARNING, out:match("^[^\n]*\n([^\n]*)"))
    out = render({ res("a", "pass") }, { target = target }, { quiet = true })
    assert.equal(WARNING, out:match("^[^\n]*"))
    out = render({ res("a", "pass") }, { target = target }, { terminal = { utf8 = true, color = true } })
    assert.truthy(out:find("\27[1;31mWARNING: ", 1, true))
    assert.is_nil(render({ res("a", "pass") }):find("WARNING", 1, true))
  end)

  it("sends nobody from a row of doctor to its source", function()
    local row = { origin = "doctor", code = "UNAUTHORIZED", reason = "forbidden", message = "m", fix = "f" }
    local out = render { res("may-run-a", "fail", row) }
    assert.is_nil(out:find("--explain", 1, true))
    assert.is_nil(out:find(".lua", 1, true))
  end)

  it("verbose shows what was compared and printed", function()
    local log = { { level = "info", text = "one\ntwo" }, { level = "warn", text = "three" } }
    local passing = res("a", "pass", {
      log = log,
      measures = { { name = "busbw", value = 327.2, unit = "GB/s", limit = ">= 250" } },
      expectations = {
        { what = "node-a", op = "==", actual = "8", expected = "8", ok = true },
        { what = "busbw", op = ">=", actual = 327.2, expected = 250, ok = true },
        { what = "names", op = "same_set", actual = { "x", "y" }, expected = { "y", "x" }, ok = true },
      },
    })
    local failing_too = res("b", "fail", { code = "CONFLICT", reason = "bad", message = "m", log = log })
    local out = render({ passing, failing_too }, nil, { verbose = true })
    assert.truthy(out:find("0.4s   it holds\n        node-a: \"8\" == \"8\"\n"
      .. '        names: ["x","y"] same_set ["y","x"]\n'
      .. "        log: one\n        log: two\n        log (warn): three\n", 1, true), out)
    assert.truthy(out:find("\n    log: one\n    log: two\n    log (warn): three\n", 1, true), out)
    local _, busbw = out:gsub("busbw", "")
    assert.equal(1, busbw)
    assert.is_nil(render({ passing, failing_too }):find("log", 1, true))
    assert.is_nil(render({ passing }):find("node-a", 1, true))
  end)

  it("verbose shows what of a waived failure does not hold", function()
    local out = render({ res("a", "fail", { code = "CONFLICT", reason = "bad", message = "m",
      waived = { reason = "OPS-812", expires = "2026-06-30" },
      expectations = { { what = "n", op = "==", actual = 7, expected = 8, ok = false } } }) }, nil,
      { verbose = true })
    assert.truthy(out:find("\n        n: got 7, required == 8\n", 1, true), out)
  end)

  it("verbose shows the last twenty lines of each sort, and where the others are", function()
    local lines, entries, log = {}, {}, {}
    for i = 1, 25 do
      lines[i] = ("seen %02d"):format(i)
      entries[i] = { what = ("n%02d"):format(i), op = "==", actual = i, expected = i, ok = true }
      log[i] = { level = "info", text = ("said %02d"):format(i) }
    end
    local out = render({ res("a", "pass", { evidence = lines, expectations = entries, log = log }) },
      { json_report = "r.json" }, { verbose = true })
    local _, cut = out:gsub("        … 5 more lines in r%.json\n", "")
    assert.equal(3, cut)
    for _, row in ipairs { { "seen 05", false }, { "seen 06", true }, { "n05: 5", false },
      { "n06: 6", true }, { "said 05", false }, { "said 06", true }, { "said 25", true } } do
      assert.equal(row[2], out:find(row[1], 1, true) ~= nil, row[1])
    end
  end)

  it("says what was skipped and waived, and when nothing was verified", function()
    local out = render {
      res("nccl", "skip", { reason = "nodes-busy", result = "14 of 16 GPUs are in use" }),
      res("dcgm", "fail", { code = "CONFLICT", reason = "bad", result = "1/2 ready",
        message = "1/2 ready",
        waived = { reason = "OPS-812", expires = "2026-06-30" } }),
    }
    for _, text in ipairs {
      "○ nccl                        0.4s   skipped: nodes-busy, 14 of 16 GPUs are in use\n",
      "~ dcgm                        0.4s   waived until 2026-06-30: OPS-812 (failed: 1/2 ready)\n",
      "\n2 checks: 1 waived, 1 skipped · 3.2s · seed 20260310\n"
        .. "note: nothing was verified. Use --strict to make this a failure.\n",
    } do
      assert.truthy(out:find(text, 1, true), text)
    end
    local strict = render({ res("a", "skip", { reason = "x", result = "y" }) }, { strict = true })
    assert.is_nil(strict:find("nothing was verified", 1, true))
    assert.truthy(strict:find("exit 1: a check was skipped or waived, and --strict counts that as a failure", 1, true))
  end)

  it("is whole for zero checks and unknown facts", function()
    assert.equal("aicr-run 0.1.0\n\n0 checks · 3.2s · seed 20260310\nexit 4: no check was selected, nothing ran\n",
      (render({}, { target = {}, recipe = false })))
  end)

  it("keeps the last 20 lines of evidence and says where the others are", function()
    local lines = {}
    for i = 1, 133 do
      lines[i] = "line " .. i
    end
    local function with(fields)
      return render({ res("a", "fail", { code = "CONFLICT", reason = "bad", message = "m",
        evidence = lines }) }, fields)
    end
    local out = with { json_report = "out/report.json" }
    assert.truthy(out:find("    … 113 more lines in out/report.json\n    line 114\n", 1, true))
    assert.is_nil(out:find("line 113\n", 1, true))
    assert.truthy(with():find("… 113 more lines with -f json\n", 1, true))
  end)

  it("lists false expectations where there are several, and sets by what is missing", function()
    local out = render { res("a", "fail", {
      code = "CONFLICT", reason = "expectation",
        message = "3 expectations do not hold; first: gpus: got 7, required == 8",
      expectations = {
        { what = "gpus", op = "==", expected = 8, actual = 7, ok = false },
        { what = "driver", op = ">=", expected = 550, actual = json.null, ok = false },
        { what = "fine", op = "==", expected = 1, actual = 1, ok = true },
        { what = "networks", op = "same_set", expected = { "a", "b" }, actual = { "b", "c" },
          ok = false },
      },
    }) }
    assert.truthy(out:find("\n      gpus: got 7, required == 8\n      driver: got nothing, required >= 550\n"
      .. "      networks: missing a\n      networks: unexpected c\n", 1, true), out)
    assert.is_nil(out:find("fine", 1, true))
  end)

  it("does not repeat the one false expectation that is the message", function()
    local out = render { res("a", "fail", {
      code = "CONFLICT", reason = "expectation", message = "gpus: got 7, required == 8",
        result = "gpus: got 7, required == 8",
      expectations = { { what = "gpus", op = "==", expected = 8, actual = 7, ok = false } },
    }) }
    assert.equal(2, select(2, out:gsub("got 7", "")))
  end)

  it("shows the frames of a script error and the notes", function()
    local out = render { res("a", "error", {
      code = "INTERNAL", reason = "script", message = "c.lua:3: boom", trace = { "run (c.lua:3)" },
        notes = { "afterwards: x" },
    }) }
    assert.truthy(out:find("    c.lua:3: boom\n      in  run (c.lua:3)\n", 1, true))
    assert.truthy(out:find("    note  afterwards: x\n", 1, true))
  end)

  it("cuts the line of a check whose message stands below in full, and no other", function()
    local long = ("word "):rep(30)
    local out = render {
      res("a", "fail", { code = "CONFLICT", reason = "bad", message = long, result = long }),
      res("b", "error", { code = "INTERNAL", reason = "bad", message = ("x"):rep(90), result = ("x"):rep(90) }),
      res("c", "skip", { reason = "platform", message = long, result = long }),
    }
    assert.truthy(out:find("✗ a                           0.4s   bad: " .. ("word "):rep(10)
      .. "word…\n", 1, true), out)
    assert.truthy(out:find("! b                           0.4s   bad: " .. ("x"):rep(54) .. "…\n", 1, true), out)
    assert.truthy(out:find("skipped: platform, " .. ("word "):rep(29), 1, true))
    assert.truthy(out:find("\n    " .. ("word "):rep(29), 1, true))
  end)

  it("says where a built-in check comes from", function()
    local out = render { res("a", "fail",
      { code = "CONFLICT", reason = "bad", message = "m", origin = "built-in", explain = "a", line = 3 }) }
    assert.truthy(out:find("checks/a.lua:3 (built-in)\n", 1, true))
    assert.truthy(out:find("aicr-run --explain a\n", 1, true))
  end)

  it("shows control characters, escapes and bad bytes instead of sending them", function()
    local evil = "x\27[31m\0\r\n\7\255" .. "y"
    local hostile = {
      res("a", "fail", {
        code = "CONFLICT", reason = "bad", result = evil, message = evil, why = evil, fix = evil,
          evidence = { evil },
        notes = { evil }, trace = { evil }, file = evil,
        details = { diff = { key = evil, left = evil, right = evil,
          rows = { { k = evil, l = evil, r = "z" } } } },
      }),
      res("b", "skip", { reason = "not-declared", result = evil, message = evil }),
      res("c", "fail", { code = "CONFLICT", reason = "bad", message = "m",
        expectations = { { what = evil, op = "==", expected = evil, actual = { evil },
          ok = false } } }),
    }
    for _, terminal in ipairs { { utf8 = true }, { utf8 = false }, { utf8 = true, width = 40 } } do
      local out = render(hostile, { notes = { evil }, recipe = { name = evil },
        target = { context = evil, server_version = evil, platform = evil, recording = evil } },
        { terminal = terminal, verbose = true })
      assert.is_nil(out:find("[\0-\9\11-\31\127]"))
      assert.is_truthy(utf8.len(out))
      assert.truthy(out:find("\\x1b[31m", 1, true) or out:find("\\x1b", 1, true))
    end
  end)
end)

describe("a comparison", function()
  local diff = require "aicr.report.diff"
  local styles = require "aicr.report.style"

  local function draw(rows, terminal)
    return table.concat(diff.lines({ key = "k", left = "recipe", right = "deployed", rows = rows },
      styles.new(terminal or WIDE)), "\n")
  end

  local function rows_of(text)
    local rows = {}
    for l, r in text:gmatch("(%S+)/(%S+)") do
      rows[#rows + 1] = { k = tostring(#rows + 1), l = l ~= "-" and l or json.null, r = r ~= "-"
        and r or json.null }
    end
    return rows
  end

  for _, row in ipairs {
    { "one that differs", "a/b", "    ≠ 1   a                   b" },
    { "a missing side", "a/- -/b", "    ≠ 1   a                   (none)\n    ≠ 2   (none)              b" },
    { "the row before", "a/a b/c", "      1   a                   a\n    ≠ 2   b                   c" },
    { "an equal run before", "a/a b/b c/c d/e",
      "      1…2  equal\n      3   c                   c\n    ≠ 4   d                   e" },
    { "an equal run behind", "a/b c/c d/d", "    ≠ 1   a                   b\n      2…3  equal" },
    { "a lone equal row", "a/b c/c", "    ≠ 1   a                   b\n      2   c                   c" },
    { "runs between", "a/b c/c d/d e/e f/g",
      "    ≠ 1   a                   b\n      2…3  equal\n"
        .. "      4   e                   e\n    ≠ 5   f                   g" },
  } do
    it("shows " .. row[1], function()
      assert.equal("          recipe              deployed\n" .. row[3], draw(rows_of(row[2])))
    end)
  end

  it("shows one line where nothing differs", function()
    assert.equal("      1…2  equal", draw(rows_of("a/a b/b")))
  end)

  describe("of thousands of rows", function()
    local function many(n, from, to)
      local rows = {}
      for i = 1, n do
        rows[i] = { k = tostring(i), l = "left", r = (i >= from and i <= to) and "right" or "left" }
      end
      return rows
    end
    local function shown(rows, fields)
      return render({ res("a", "fail", { code = "CONFLICT", reason = "bad", message = "m",
        details = { diff = { key = "k", left = "x", right = "y", rows = rows } } }) }, fields)
    end
    local MORE <const> = "      … %d more %s %s\n"

    for _, row in ipairs {
      { "all differ", many(30000, 1, 30000), 40, 29960, "rows that differ" },
      { "as many as are shown", many(40, 1, 40), 40, 0 },
      { "one more", many(41, 1, 41), 40, 1, "row that differs" },
      { "few, between long runs of equal ones", many(30000, 20000, 20009), 10, 0 },
      { "an equal one stands before", many(60, 2, 60), 39, 20, "rows that differ" },
    } do
      it(row[1], function()
        for where, fields in pairs { ["with -f json"] = {}, ["in r.json"] = { json_report = "r.json" } } do
          local out = shown(row[2], fields)
          local _, marked = out:gsub("≠", "")
          assert.equal(row[3], marked)
          local more = MORE:format(row[4], row[5] or "", where)
          assert.equal(row[4] > 0, out:find(more, 1, true) ~= nil, out)
          assert.equal(row[4] > 0, out:find(" more ", 1, true) ~= nil)
        end
      end)
    end

    it("is whole in the JSON report", function()
      local run = result.model { version = "0.1.0", start = 0, stop = 1, seed = 1, notes = {}, id = "x",
        target = {}, results = { res("a", "fail", { code = "CONFLICT", reason = "bad", message = "m",
          details = { diff = { key = "k", left = "x", right = "y", rows = many(500, 1, 500) } } }) } }
      local back = json.decode(require "aicr.report.native".render(run))
      assert.equal(500, #back.checks[1].details.diff.rows)
    end)
  end)

  it("of many expectations, or of large sets, shows forty", function()
    local entries, names = {}, {}
    for i = 1, 100 do
      entries[i] = { what = ("n%03d"):format(i), op = "==", actual = 1, expected = 2, ok = false }
      names[i] = ("name-%03d"):format(i)
    end
    local function shown(expectations)
      return render { res("a", "fail", { code = "CONFLICT", reason = "bad", message = "m",
        expectations = expectations }) }
    end
    local out = shown(entries)
    assert.truthy(out:find("n040: got 1, required == 2\n      … 60 more lines with -f json\n", 1, true), out)
    assert.is_nil(out:find("n041", 1, true))
    out = shown { { what = "names", op = "same_set", actual = {}, expected = names, ok = false } }
    assert.truthy(out:find("names: missing name-001, ", 1, true), out)
    assert.truthy(out:find(", name-040 and 60 more\n", 1, true), out)
  end)

  it("aligns in ASCII, where an arrow is wider", function()
    local rows = { { k = "1", l = "eth1 → network-of-nic-one", r = "eth1 → n2" } }
    assert.equal("          recipe                      deployed\n   != 1   eth1 -> network-of-nic-one  eth1 -> n2",
      draw(rows, { utf8 = false }))
  end)

  it("shows an empty string", function()
    assert.truthy(draw({ { k = "1", l = "", r = "x" } }):find('≠ 1   ""', 1, true))
  end)
end)
