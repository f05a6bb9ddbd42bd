-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local engines = require "spec.support.engine"
local json = require "aicr.json"

local check, engine, outcomes, recipe = engines.check, engines.run, engines.outcomes, engines.recipe
local FAIL <const>, ERROR <const>, SKIP <const> = engines.FAIL, engines.ERROR, engines.SKIP

describe("the exit code of a run", function()
  local disk = {
    ["s/a.lua"] = check "a", ["s/b.lua"] = check "b",
    ["s/c.lua"] = check("c", { tags = { "slow" } }),
  }
  for _, row in ipairs {
    { "passes", 0, {} },
    { "passes and skips", 0, { a = SKIP } },
    { "only skips", 0, { a = SKIP, b = SKIP, c = SKIP } },
    { "a fail", 1, { b = FAIL } },
    { "an error", 3, { b = ERROR } },
    { "a fail and an error", 1, { a = ERROR, b = FAIL } },
    { "a skip, strict", 1, { a = SKIP }, { strict = true } },
    { "passes, strict", 0, {}, { strict = true } },
    { "no check selected", 4, {}, { tags = { "none" } } },
  } do
    it(("is %d for %s"):format(row[2], row[1]), function()
      local code, out, err, report = engine { operands = { "s/" }, disk = disk, endings = row[3],
        options = row[4] }
      assert.equal(row[2], code)
      assert.equal(row[2], report.run.exit_code)
      assert.equal("", err)
      assert.equal(row[2] ~= 0, out:find(("exit %d: "):format(row[2]), 1, true) ~= nil)
    end)
  end

  it("is not changed by a folder without checks, which a note tells", function()
    for _, given in ipairs { { "s/", "none/" }, { "s.lua" } } do
      local more = { ["none/_x.lua"] = "", ["s.lua"] = { suite = "s", checks = { "s/", "none/" } } }
      for path, file in pairs(disk) do
        more[path] = file
      end
      local code, _, _, report = engine { operands = given, disk = more }
      assert.equal(0, code)
      assert.equal(1, #report.notes)
      assert.truthy(report.notes[1]:find("none/? holds no check$"), report.notes[1])
    end
  end)

  it("is 3 when a report cannot be written, though all passed, and the others are", function()
    local code, out, err, report = engine {
      operands = { "s/" }, disk = disk, unwritable = { ["no/x.xml"] = "No such file or directory" },
      options = { output = { "no/x.xml", "out.json" } },
    }
    assert.equal(3, code)
    assert.truthy(err:find("^aicr%-run: cannot write the report no/x%.xml: No such file or directory\n"
      .. "aicr%-run: the junit report that could not be written follows\n<%?xml .*</testsuites>\n$"), err)
    assert.truthy(out:find("exit 3: a report could not be written", 1, true))
    assert.equal(3, report.run.exit_code)
  end)

  it("is 3 when the recording is not whole, and says why", function()
    local code, out, err, report = engine {
      operands = { "s/" }, disk = disk, unrecorded = "cannot record into x: y: the path is too long",
    }
    assert.equal(3, code)
    assert.matches("cannot record into x: y: the path is too long", err, 1, true)
    assert.is_nil(err:find("make room", 1, true))
    assert.truthy(out:find("exit 3: the recording is not whole", 1, true))
    assert.equal(3, report.run.exit_code)
  end)

  it("stays 1 when a report cannot be written and a check failed", function()
    local code = engine {
      operands = { "s/" }, disk = disk, endings = { a = FAIL },
      unwritable = { ["-"] = "No space left on device" },
    }
    assert.equal(1, code)
  end)

  for signal, number in pairs { SIGINT = 130, SIGTERM = 143 } do
    it(("is %d after %s, and reports are written"):format(number, signal), function()
      local code, out, _, report = engine {
        operands = { "s/" }, disk = disk,
        events = { { kind = "done", id = 0 }, { kind = "signal", signal = signal } },
      }
      assert.equal(number, code)
      assert.is_true(report.run.interrupted)
      assert.same({ "a error interrupted", "b error interrupted", "c error interrupted" },
        outcomes(report))
      assert.truthy(out:find("exit " .. number, 1, true))
    end)
  end

  -- Signals after so many of the run's events; nil when the run ended before.
  local function interrupted(...)
    local after = { ... }
    local code, out, err, report, state = engine { operands = { "s/" }, disk = disk,
      options = { jobs = 2 }, endings = { b = FAIL },
      signals = { [after[1]] = "SIGINT", [after[2] or 0] = after[2] and "SIGTERM" } }
    return code, report, state, out, err
  end

  it("is 130 after a signal at every event of a run, and a report is there", function()
    local n = 0
    local code, report
    repeat
      n = n + 1
      code, report = interrupted(n)
      assert.equal(3, #report.checks)
      assert.equal(code, report.run.exit_code)
      for _, c in ipairs(report.checks) do
        local before = c.name == "b" and "fail" or "pass"
        assert.is_true(c.outcome == before or c.reason == "interrupted")
      end
    until code ~= 130
    assert.same({ 1, 5 }, { code, n }, "the four events: the target and three checks")
  end)

  it("is 130 after two signals at all pairs of events, and what was not awaited is named", function()
    local pairs_tried, named = 0, 0
    for first = 1, 4 do
      for second = first + 1, 8 do
        local code, report, state, _, err = interrupted(first, second)
        pairs_tried = pairs_tried + 1
        assert.equal(130, code)
        assert.equal(3, #report.checks)
        for _, c in ipairs(report.checks) do
          if (c.message or ""):find("was not awaited", 1, true) then
            named = named + 1
            assert.truthy(err:find("the clean%-up of [^\n]*" .. c.name .. "[^\n]* was not awaited"), err)
          end
        end
        for _, id in ipairs(state.in_flight) do
          local target = id == 0
          assert.is_true(target or report.checks[id].message:find("was not awaited", 1, true) ~= nil)
        end
      end
    end
    assert.equal(22, pairs_tried)
    assert.is_true(named > 0)
  end)

  it("is 130 when the signal comes while the target is looked at", function()
    local code, _, _, report, state = engine {
      operands = { "s/" }, disk = disk, events = { { kind = "signal", signal = "SIGINT" } },
    }
    assert.equal(130, code)
    assert.same({ "a error interrupted", "b error interrupted", "c error interrupted" },
      outcomes(report))
    assert.equal(1, #state.started)
  end)
end)

describe("a usage error", function()
  local function usage(fields)
    local code, out, err, report, state = engine(fields)
    assert.equal(2, code)
    assert.equal("", out)
    assert.is_nil(report)
    assert.is_nil(state.where)
    assert.same({}, state.started)
    assert.truthy(err:find("aicr%-run: no check was run\n$"))
    return err
  end

  for _, row in ipairs {
    { "an unknown check", { operands = { "nccl-bv" } },
      'no check named "nccl-bv"; did you mean "nccl-bw"?' },
    { "an unknown platform", { operands = { "nccl-bw" }, options = { platform = "gke" } },
      '--platform "gke" is not valid; expected one of: aws, gcp, azure, oci, onprem, togetherai, mistral, '
        .. "forge, nscale" },
    { "an unknown phase", { options = { phase = { "x" } } }, '--phase "x" is not valid' },
    { "a bad seed", { options = { seed = "x" } },
      '--seed: expected an integer of at least 0, found "x"' },
    { "no jobs", { options = { jobs = 0 } },
      '--jobs: expected an integer of at least 1, found "0"' },
    { "a time limit without a unit", { options = { timeout = "30" } },
      '--timeout: expected a duration such as 90s or 5m, found "30"' },
    { "a time limit of nothing", { options = { timeout = "0s" }, origins = { timeout = "environment" } },
      'AICR_RUN_TIMEOUT: expected a duration such as 90s or 5m, found "0s"' },
    { "too many retries", { options = { retry = 101 } },
      '--retry: expected an integer from 0 to 100, found "101"' },
    { "an unknown format", { options = { format = "jason" } },
      '--format: unknown format "jason"; did you mean "json"?' },
    { "a later format", { options = { format = "tap" } },
      "--format: format tap is not available yet" },
    { "a parameter", { options = { set = { "x=1" } } },
      '--set x: no selected check has a parameter "x"' },
    { "a skip", { options = { skip = { "node-helth" } } },
      'no check named "node-helth"; did you mean "node-health"?' },
    { "a missing recipe", { options = { recipe = "r.yaml" } },
      "--recipe r.yaml: No such file or directory" },
    { "a recipe that is none", { disk = { ["r.yaml"] = "kind: Pod\n" },
      options = { recipe = "r.yaml" } }, "r.yaml" },
    { "a recipe that is not YAML", { disk = { ["r.yaml"] = "a: [" },
      options = { recipe = "r.yaml" } }, "r.yaml" },
  } do
    it("is " .. row[1], function()
      local err = usage(row[2])
      assert.truthy(err:find(row[3], 1, true), err)
    end)
  end

  it("shows all offenders at once", function()
    local err = usage { operands = { "nope" },
      options = { platform = "x", format = "y", seed = "z", phase = { "w" } } }
    assert.equal(6, select(2, err:gsub("aicr%-run: ", "")))
  end)

  it("shows control characters instead of sending them", function()
    local err = usage { operands = { "\27[31mx" } }
    assert.is_nil(err:find("\27", 1, true))
    assert.truthy(err:find("\\x1b[31mx", 1, true))
  end)

  it("is a recording that cannot be opened", function()
    local code, out, err, report = engine {
      operands = { "node-health" }, options = { recording = "rec" },
      cluster = { ok = false, error = { code = "INVALID_REQUEST", reason = "recording",
        message = "is a file, not a folder" } },
    }
    assert.equal(2, code)
    assert.equal("", out)
    assert.is_nil(report)
    assert.truthy(err:find("aicr-run: --recording rec: is a file, not a folder\n", 1, true))
    assert.truthy(err:find("no check was run", 1, true))
  end)
end)

describe("a run without operands", function()
  it("takes all built-in checks that fit the platform", function()
    local _, _, _, report = engine {}
    assert.same({ "node-health pass", "gke-networks pass", "nccl-bw pass" }, outcomes(report))
    _, _, _, report = engine { options = { platform = "aws" } }
    assert.same({ "node-health pass", "nccl-bw pass" }, outcomes(report))
  end)

  it("takes ./aicr-run.lua where it is", function()
    local disk = { ["aicr-run.lua"] = { suite = "mine", checks = { "nccl-bw" } } }
    local _, _, _, report = engine { disk = disk }
    assert.same({ "nccl-bw pass" }, outcomes(report))
  end)

  it("takes what the recipe declares; what is not built in is an error, the others run", function()
    local text = recipe { deployment = { checks = { "node-health", "gke-network" } },
      performance = { checks = { "nccl-bw" } } }
    local code, _, _, report = engine { disk = { ["r.yaml"] = text },
      options = { recipe = "r.yaml" } }
    assert.equal(3, code)
    assert.same({ "node-health pass", "gke-network error not-available", "nccl-bw pass" },
      outcomes(report))
    assert.equal('the recipe declares gke-network, which is not a built-in check; did you mean "gke-networks"?',
      report.checks[2].message)
    assert.equal("recipe", report.checks[2].origin)
    assert.is_string(report.checks[2].fix)
  end)

  for _, row in ipairs {
    { "a malformed name", { deployment = { checks = { "Node Health" } } },
      'r.yaml: validation.deployment.checks[0]: expected a name of [a-z0-9-]+, found "Node Health"' },
    { "a duplicate", { deployment = { checks = { "node-health", "node-health" } } },
      'r.yaml: validation.deployment.checks: "node-health" stands there twice' },
    { "a check of another phase", { deployment = { checks = { "nccl-bw" } } },
      'r.yaml: validation.deployment.checks: "nccl-bw" is a check of phase performance' },
  } do
    it("refuses a recipe with " .. row[1], function()
      local code, _, err = engine { disk = { ["r.yaml"] = recipe(row[2]) },
        options = { recipe = "r.yaml" } }
      assert.equal(2, code)
      assert.truthy(err:find(row[3], 1, true), err)
    end)
  end

  it("looks only at the phases that are asked for", function()
    local text = recipe { deployment = { checks = { "node-health" } },
      performance = { checks = { "zzz", "zzz" } } }
    local code, _, _, report = engine {
      disk = { ["r.yaml"] = text }, options = { recipe = "r.yaml", phase = { "deployment" } },
    }
    assert.equal(0, code)
    assert.same({ "node-health pass" }, outcomes(report))
  end)

  it("is 4 with a recipe that declares nothing", function()
    local code, _, _, report = engine { disk = { ["r.yaml"] = recipe {} },
      options = { recipe = "r.yaml" } }
    assert.equal(4, code)
    assert.same({}, outcomes(report))
  end)
end)

describe("a recipe beside operands", function()
  it("is noted where it declares more, and for readiness", function()
    local text = recipe { deployment = { checks = { "node-health", "gke-networks" } },
      readiness = { constraints = { { name = "K8s.server.version", value = ">= 1.32" } } } }
    local _, out, _, report = engine {
      operands = { "node-health" }, disk = { ["r.yaml"] = text }, options = { recipe = "r.yaml" },
    }
    assert.same({
      "1 readiness constraint was not evaluated: that needs a snapshot",
      "the recipe also declares gke-networks, which this selection leaves out",
    }, report.notes)
    assert.truthy(out:find("note: the recipe also declares gke-networks", 1, true))
    assert.equal("r", report.recipe.name)
  end)

  it("reaches the checks", function()
    local _, _, _, _, state = engine {
      operands = { "node-health" }, disk = { ["r.yaml"] = recipe {} },
      options = { recipe = "r.yaml" }, args = { "x" },
    }
    local context = state.started[2].context
    assert.equal("RecipeResult", context.recipe.kind)
    assert.equal("aicr-validation", context.namespace)
    assert.same({ "x" }, { table.unpack(context.args) })
  end)
end)

describe("the platform of a run", function()
  for _, row in ipairs {
    { "the option", { options = { platform = "aws" } }, "aws", "skip platform", "option" },
    { "the recipe's service", { service = "eks" }, "aws", "skip platform", "recipe" },
    { "the recipe's service before the suite", { service = "eks", suite = "gcp" }, "aws",
      "skip platform", "recipe" },
    { "the suite, by an alias", { suite = "oke" }, "oci", "skip platform", "suite" },
    { "the suite where the service is none of ours", { service = "kind", suite = "oke" }, "oci",
      "skip platform", "suite" },
    { "the suite, as the nodes say too", { suite = "gke" }, "gcp", "pass", "suite", " gcp · " },
    { "detection", {}, "gcp", "pass", "nodes", " gcp · " },
    { "unknown, and nothing is skipped",
      { target = { ending = { how = "error", error = { message = "forbidden" } } } },
      json.null, "pass" },
  } do
    it("is " .. row[1], function()
      local how, disk = row[2], {}
      local operands, options = { "gke-networks" }, how.options or {}
      if how.service then
        disk["r.yaml"] = recipe({}, how.service)
        options.recipe = "r.yaml"
      end
      if how.suite then
        disk["s.lua"] = { suite = "s", platform = how.suite, checks = { "gke-networks" } }
        operands = { "s.lua" }
      end
      local _, out, _, report = engine {
        operands = operands, disk = disk, options = options, endings = { target = how.target },
      }
      assert.same({ row[3], row[5] or json.null }, { report.target.platform, report.target.platform_from })
      assert.truthy(not row[5] or out:find(row[6] or ("%s (%s)"):format(row[3], row[5]), 1, true), out)
      assert.same({ "gke-networks " .. row[4] }, outcomes(report))
    end)
  end

  it("is told where the nodes look like another one, and where others look like that one too", function()
    local function notes(name, options)
      local target = { result = "2", record = { extra = { platform = name, platform_why = "node n: W" } } }
      local _, _, _, report = engine { operands = { "node-health" }, options = options, endings = { target = target } }
      return report.notes, report.target.platform_why
    end
    assert.same({ "the platform is aws, as --platform says; the nodes look like gcp (node n: W)" },
      (notes("gcp", { platform = "aws" })))
    assert.is_nil(select(2, notes("gcp", { platform = "aws" })))
    assert.same({}, (notes("gcp", { platform = "gcp" })))
    assert.same({}, (notes("gcp")))
    assert.equal("node n: W", (select(2, notes "gcp")))
    assert.same({ "the platform is mistral (node n: W): every cluster that Metal3 made looks so: --platform says"
      .. " otherwise" }, (notes "mistral"))
    assert.same({}, (notes("mistral", { platform = "mistral" })))
    local mixed = "the nodes are of more than one platform: aws 2, gcp 1"
    local target = { result = "2", record = { extra = { reason = mixed } } }
    local _, _, _, report = engine { operands = { "node-health" }, options = { platform = "aws" },
      endings = { target = target } }
    assert.same({ "the platform is aws, as --platform says; " .. mixed }, report.notes)
  end)

  it("that is unknown is admitted where a check asks for one", function()
    local target = { ending = { how = "error", error = { message = "forbidden" } } }
    local _, _, _, report = engine { operands = { "gke-networks" }, endings = { target = target } }
    assert.same({ "the platform is unknown (forbidden), so no check was skipped for it: --platform NAME"
      .. " says it" }, report.notes)
    _, _, _, report = engine { operands = { "node-health" }, endings = { target = target } }
    assert.same({}, report.notes)
  end)

  it("and the other facts are null where the nodes cannot be read", function()
    local code, _, _, report = engine {
      operands = { "node-health" }, endings = { target = { ending = { how = "error",
        error = { message = "no" } } } },
    }
    assert.equal(0, code)
    assert.same({ json.null, json.null }, { report.target.gpu_nodes, report.target.gpus })
  end)

  it("and labelled nodes without GPUs stand in the report", function()
    local found = { result = "2", record = { extra = { gpu_nodes = 2, gpus = 16, gpu_nodes_empty = 1 } } }
    local _, out, _, report = engine { operands = { "node-health" }, endings = { target = found } }
    assert.equal(1, report.target.gpu_nodes_empty)
    assert.truthy(out:find("2 GPU nodes (1 more labelled, without GPUs), 16 GPUs", 1, true))
  end)
end)

describe("no cluster", function()
  it("is an error for checks with needs, the others run", function()
    local code, _, _, report = engine {
      operands = { "gke-networks", "node-health" },
      cluster = { ok = false, error = { code = "INVALID_REQUEST", reason = "no-cluster",
        message = "no kubeconfig" } },
    }
    assert.equal(3, code)
    assert.same({ "gke-networks error no-cluster", "node-health pass" }, outcomes(report))
  end)
end)

describe("two runs with one seed", function()
  it("differ in times and ids only", function()
    local fields = { operands = { "node-health", "gke-networks" }, options = { seed = "42" },
      endings = { ["node-health"] = FAIL } }
    local _, out, _, report = engine(fields)
    local _, again, _, second = engine(fields)
    assert.equal(out, again)
    assert.equal(42, report.run.seed)
    assert.same(report, second)
  end)
end)

describe("--list and --explain", function()
  local disk = {
    ["x.lua"] = check("x", {
      doc = "Long\ntext.", tags = { "a" }, needs = { "list nodes" },
      fixes = { ["too-few"] = "add some" },
      params = { n = { type = "integer", default = 8, help = "how many" },
        s = { type = "string", secret = true, default = "p" } },
    }),
  }

  it("show a table without a cluster", function()
    local code, out, _, _, state = engine { operands = { "x.lua", "gke-networks" }, disk = disk,
      options = { list = true } }
    assert.equal(0, code)
    assert.equal("PHASE       NAME          PLATFORMS  TIMEOUT  SUMMARY\n"
      .. "deployment  x             any        5m       it holds\n"
      .. "deployment  gke-networks  gcp        5m       it holds\n", out)
    assert.is_nil(state.where)
  end)

  for _, look in ipairs { "list", "explain" } do
    it(("are of what AICR_RUN_PATH holds too, without an operand (%s)"):format(look), function()
      local site = { ["site/z.lua"] = check "site-z", ["site/deep/a.lua"] = check "site-a" }
      local code, out = engine { disk = site, path = { "site" }, options = { [look] = true } }
      assert.equal(0, code)
      local seen = {}
      for name in out:gmatch("site%-%a") do
        seen[#seen + 1] = name
      end
      assert.same({ "site-a", "site-z" }, seen)
      assert.truthy(out:find("node-health", 1, true))
    end)
  end

  it("leave AICR_RUN_PATH alone where operands say what is meant", function()
    local _, out = engine { operands = { "x.lua" }, disk = disk, path = { "/nowhere" },
      options = { list = true } }
    assert.truthy(out:find("deployment  x ", 1, true))
  end)

  it("show JSON", function()
    local _, out = engine { operands = { "x.lua" }, disk = disk,
      options = { list = true, format = "json" } }
    local list = json.decode(out)
    assert.same({ "x", 300000 }, { list[1].name, list[1].timeout_ms })
  end)

  it("explain parameters, permissions, reasons; never a secret", function()
    local code, out = engine { operands = { "x.lua" }, disk = disk, options = { explain = true } }
    assert.equal(0, code)
    for _, text in ipairs { "x: it holds", "Long", "text.", "n  integer  8    default  how many",
      "list nodes", "too-few  add some" } do
      assert.truthy(out:find(text, 1, true), text)
    end
    assert.truthy(out:find("***", 1, true))
    assert.is_nil(out:find("  p ", 1, true))
  end)

  it("explain as JSON, too", function()
    local code, out = engine { operands = { "x.lua" }, disk = disk, options = { explain = true, format = "json" } }
    assert.equal(0, code)
    local x = json.decode(out)[1]
    assert.same({ "x", "Long\ntext.", { "a" } }, { x.name, x.doc, x.tags })
    assert.same({ { name = "n", type = "integer", value = 8, from = "default", help = "how many" },
      { name = "s", type = "string", from = "default", secret = true } }, x.params)
    assert.same({ { reason = "too-few", fix = "add some" } }, x.fixes)
    assert.same({ need = "list nodes", permissions = "list nodes" }, x.needs[1])
  end)

  it("are 4 when nothing is selected", function()
    assert.equal(4, (engine { operands = { "x.lua" }, disk = disk,
      options = { list = true, tags = { "zzz" } } }))
  end)
end)
