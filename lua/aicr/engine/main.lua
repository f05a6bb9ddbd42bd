-- SPDX-License-Identifier: Apache-2.0
--- The way of a run: resolve, select, plan; then cluster, checks, reports, exit code.
local advice = require "aicr.engine.advice"
local catalogs = require "aicr.engine.catalog"
local declared = require "aicr.engine.declared"
local detect = require "aicr.platform.detect"
local describe = require "aicr.engine.describe"
local doctor = require "aicr.engine.doctor"
local dry_run = require "aicr.engine.dry_run"
local emptied = require "aicr.engine.emptied"
local facts = require "aicr.engine.facts"
local formats = require "aicr.report.formats"
local limits = require "aicr.engine.limits"
local message = require "aicr.engine.message"
local native = require "aicr.report.native"
local plans = require "aicr.engine.plan"
local platform = require "aicr.engine.platform"
local progress = require "aicr.report.progress"
local rbac = require "aicr.engine.rbac"
local recipe_file = require "aicr.engine.recipe_file"
local render = require "aicr.engine.render"
local result = require "aicr.engine.result"
local runs = require "aicr.engine.run"
local secret = require "aicr.engine.secret"
local select_checks = require "aicr.engine.select"
local settings = require "aicr.engine.settings"
local suites = require "aicr.engine.suite"
local writer = require "aicr.report.writer"

local USAGE <const> = 2
local NAMESPACE <const> = "aicr-validation"

local function say(host, m)
  host.write("stderr", message.format(m))
end

local function check_platform(name, problems)
  if name and not platform.is_name(name) then
    problems:add('--platform "%s" is not valid; expected one of: %s', name, platform.list())
  end
end

--- The items of the operands, or of what stands for none.
local function resolve(job, catalog, given, problems)
  local operands = given.operands
  if #operands == 0 then
    local default = catalog:default_operand()
    operands = default and { default } or operands
  end
  job.operands = operands
  if #operands > 0 then
    job.items, job.suites = catalog:operands(operands)
    job.empty = catalog.empty
    job.explicit = true
  else
    job.items, job.suites = {}, {}
  end
  job.options = suites.merge(given.options, job.suites)
  if job.options.recipe then
    job.recipe = recipe_file.load(job.options.recipe, job.host, problems)
  end
  if not job.explicit and job.recipe then
    local wanted = select_checks.phases(job.options.phase, message.problems())
    job.items = declared.items(job.recipe, wanted, catalog, problems)
  elseif not job.explicit and not job.options.recipe then
    local shown = job.options.list or job.options.explain
    job.items = shown and catalog:every() or catalog:all_built_in()
    job.implicit = true
  end
end

--- Why there was no check to select from.
local function nothing_there(job)
  local names = job.recipe and not job.explicit and declared.names(job.recipe.recipe) or nil
  return emptied.by_nothing(job.operands, names, job.options.phase)
end

--- Refuses what does not go with a command of its own.
local function check_command(given, problems)
  local command, options = given.command, given.options
  for _, name in ipairs(render.OPTIONS) do
    if options[name] and given.origins[name] == "command line" then
      problems:add("--%s goes with the command render only", name:gsub("_", "-"))
    end
  end
  if command == "run" then
    return
  end
  for _, name in ipairs { "list", "explain", "dry_run" } do
    if options[name] then
      problems:add("--%s does not go with the command %s", name:gsub("_", "-"), command)
    end
  end
  if command == "rbac" and #(options.output or {}) > 0 then
    problems:add("--output does not go with the command rbac, which prints to stdout")
  elseif command == "rbac" and options.format == "junit" then
    problems:add("--format junit does not go with the command rbac; expected human (YAML) or json")
  end
end

--- Everything that can be known before the cluster is touched.
local function prepare(given, host, problems)
  local job = { host = host, command = given.command, start = host.now(), began = host.monotonic() }
  local catalog = catalogs.new(host, given.path, problems)
  resolve(job, catalog, given, problems)
  local options = job.options
  job.limits = limits.read(given, options, host, job.start, problems)
  job.seed, job.namespace = job.limits.seed, options.namespace or NAMESPACE
  check_platform(options.platform, problems)
  limits.check_namespace(given, options, problems)
  check_command(given, problems)
  if options.record and options.recording then
    problems:add("--record needs a live cluster, which --recording stands for: leave one of them out")
  end
  -- The reports that a suite wants are those of its runs.
  job.reports = formats.parse(job.command == "run" and options or given.options, problems)
  settings.apply(job, given, function() return catalog:every() end, problems)
  local function all_names()
    return catalog:names()
  end
  local selecting = job.command == "doctor" and doctor.selecting(options) or options
  local chosen, why = select_checks.choose(job.items, selecting, all_names, problems)
  job.plan = plans.complete(chosen, options)
  job.emptied = why or (#job.items == 0 and nothing_there(job) or nil)
  return job
end

local WHO <const> = { option = "--platform", recipe = "the recipe", suite = "the suite" }

--- Says that the nodes look like another platform than was said, or only look like that one; that the platform could
--- not be told, where a check asks for one.
local function platform_note(job, out)
  local target = job.target
  if target.observed and target.platform ~= target.observed then
    out[#out + 1] = ("the platform is %s, as %s says; the nodes look like %s (%s)"):format(target.platform,
      WHO[target.platform_from], target.observed, target.platform_why or "?")
  elseif target.platform and (job.target_reason or ""):find("more than one platform", 1, true) then
    out[#out + 1] = ("the platform is %s, as %s says; %s"):format(target.platform, WHO[target.platform_from],
      job.target_reason)
  elseif target.platform_from == "nodes" and detect.TRAPS[target.platform] then
    out[#out + 1] = ("the platform is %s (%s): %s"):format(target.platform, target.platform_why or "?",
      detect.TRAPS[target.platform])
  end
  for _, item in ipairs(job.plan) do
    if #(item.meta.platforms or {}) > 0 and not job.target.platform then
      out[#out + 1] = ("the platform is unknown (%s), so no check was skipped for it: --platform NAME says it"):format(
        job.target_reason or "no cluster was looked at")
      return
    end
  end
end

local function notes(job)
  if job.command == "doctor" then
    return doctor.notes(job)
  end
  local out = {}
  if job.emptied then
    out[1] = job.emptied
  end
  for _, note in ipairs(not job.emptied and job.empty or {}) do
    out[#out + 1] = note
  end
  platform_note(job, out)
  if not job.recipe then
    return out
  end
  for _, warning in ipairs(job.recipe.warnings) do
    out[#out + 1] = warning
  end
  local recipe = job.recipe.recipe
  local n = recipe_file.readiness_count(recipe)
  if n > 0 then
    out[#out + 1] = ("%d readiness %s not evaluated: that needs a snapshot"):format(n,
      n == 1 and "constraint was" or "constraints were")
  end
  if job.explicit then
    local wanted = select_checks.phases(job.options.phase, message.problems())
    local left = declared.left_out(recipe, wanted, job.items)
    if #left > 0 then
      out[#out + 1] = ("the recipe also declares %s, which this selection leaves out"):format(
        table.concat(left, ", "))
    end
  end
  return out
end

local OPEN_FIX <const> = {
  recording = advice.fix "recording-missing",
  kubeconfig = "name a kubeconfig that kubectl takes: --kubeconfig FILE",
  record = "name a folder that is new or empty: --record DIR",
}

--- What the command line named and cannot be used is a mistake of the command line.
local function say_unusable(job, option, err)
  local value, why = job.options[option], err.message or "cannot be used"
  local proxy = why:find "^the environment's %a+_"
  local named = (proxy or why:find "^%-%-") and why or ("--%s %s"):format(option,
    why:find(value, 1, true) and why or value .. ": " .. why)
  say(job.host, {
    what = named,
    fix = not proxy and err.reason ~= "exec-plugin-refused" and OPEN_FIX[option]
      or advice.on_cluster(advice.fix(err.reason, nil, why), { kubeconfig = job.options.kubeconfig }),
  })
  say(job.host, "no check was run")
end

-- Is each request told? -vv is for all that there is to tell, where no level was given.
local function tells_requests(options)
  return (options.log_level or (options.verbose or 0) > 1 and "trace") == "trace"
end

--- Opens the cluster or the recording; nil when the one that was named cannot be used, unless a doctor is to say why.
local function open_cluster(job)
  local options = job.options
  local cluster = job.host.cluster {
    recording = options.recording, kubeconfig = options.kubeconfig, context = options.context,
    record = options.record, trace = tells_requests(options), no_exec_plugins = options.no_exec_plugins,
  }
  for _, warning in ipairs(cluster.warnings or {}) do
    say(job.host, "warning: " .. warning)
  end
  local named = options.recording and "recording" or options.kubeconfig and "kubeconfig"
    or options.context and "context"
  local reason = not cluster.ok and (cluster.error or {}).reason or ""
  if reason:find "^record%-" then
    named = "record"
  elseif reason == "context-not-found" and options.context then
    named = "context"
  end
  if not cluster.ok and named and (job.command ~= "doctor" or named == "record") then
    say_unusable(job, named, cluster.error or {})
    return nil
  end
  return cluster
end

--- Leaves out what does not apply to the platform, as far as it is known without looking.
local function fit_platform(job)
  local why
  job.platform, job.platform_from = platform.requested(job.options.platform, job.recipe and job.recipe.recipe,
    job.suites)
  job.plan, why = plans.apply_platform(job.plan, job.platform, job.implicit)
  job.emptied = job.emptied or why
end

--- True where nothing proves that the answers are the server's.
local function is_insecure(cluster)
  return cluster.insecure or (cluster.server or ""):find("^http://") ~= nil
end

--- The facts of the target, and the platform of the run.
local function look_at_target(job, cluster, context)
  local found, signal = {}, nil
  if cluster.ok and #job.plan > 0 and job.command == "run" then
    found, signal = facts.read(job.host, context, job.limits.timeout_ms)
  end
  local name, from = platform.requested(job.options.platform, job.recipe and job.recipe.recipe,
    job.suites)
  job.target_reason = found.reason
  job.target = {
    context = cluster.context or (cluster.source == "in-cluster" and cluster.source or nil),
    server = cluster.server, insecure = is_insecure(cluster) or nil,
    server_version = cluster.server_version or found.server_version,
    recording = job.options.recording,
    platform = name or found.platform, platform_from = name and from or found.platform and "nodes",
    observed = found.platform, platform_why = found.platform_why, gpu_nodes = found.gpu_nodes, gpus = found.gpus,
    gpu_nodes_empty = found.gpu_nodes_empty,
  }
  return signal
end

local function names_of(plan)
  local names = {}
  for i, item in ipairs(plan) do
    names[i] = item.name
  end
  return names
end

--- Keeps each result in a file while the run lasts (design 3): beside the first report, else in TMPDIR. Without
--- it the run goes on: it is a second chance.
local function journal(job)
  local host, first = job.host, job.reports.outputs[1]
  local folder = first and (first.file:match("^(.*)/[^/]*$") or ".") or host.env "TMPDIR" or "/tmp"
  if not host.journal(("%s/.aicr-run-%s.journal"):format(folder ~= "" and folder or "/", job.id)) then
    return nil
  end
  return function(res)
    host.journal_add(native.line(res))
  end
end

--- What a second signal left, and how to find it.
local function say_unconfirmed(job, names, signal)
  if #names > 0 then
    local cut, words = {}, {}
    for _, name in ipairs(names) do
      cut[name] = true
    end
    for _, item in ipairs(job.plan) do
      words[#words + 1] = cut[item.name] and rbac.operand(item) or nil
    end
    say(job.host, {
      what = ("stopped by a second %s: the clean-up of %s was not awaited"):format(signal,
        table.concat(names, ", ")),
      fix = advice.on_cluster(("look what is left of run %s: %s"):format(job.id,
        advice.doctor(table.concat(words, " "), job.options)), job.options),
    })
  end
end

--- Runs the plan; gives the results, the signal that came, and the watch.
local function execute(job, given, cluster, style)
  local options, host = job.options, job.host
  local context = {
    recipe = job.recipe and job.recipe.recipe, namespace = job.namespace,
    run_id = job.id, seed = job.seed, args = given.args,
  }
  local signal = look_at_target(job, cluster, context)
  context.platform = job.target.platform
  if job.command == "run" then
    local why
    job.plan, why = plans.apply_platform(job.plan, job.target.platform, job.implicit)
    job.emptied = job.emptied or why
  end
  local watch = progress.new(host, {
    version = given.version, target = job.target, recipe = job.recipe, names = names_of(job.plan),
    json_report = job.reports.json_file,
  }, style)
  local limit = job.limits.timeout_ms
  local results, later, unconfirmed = runs.execute(job.plan, host, {
    cluster = cluster, context = context, jobs = job.limits.jobs, retry = job.limits.retry,
    limit_ms = limit, limit_at = limit and job.began + limit,
    fail_fast = options.fail_fast, strict = options.strict, signal = signal, watch = watch,
    journal = journal(job),
  })
  watch:stop()
  say_unconfirmed(job, unconfirmed, later)
  return results, later, watch
end

--- Shows the selection or the plan, and runs nothing.
local function show(job, host, given)
  local code
  if job.command == "rbac" then
    fit_platform(job)
    code = rbac.print(job, host, given.terminal)
  elseif job.options.list or job.options.explain then
    code = describe.print(job, host, given.terminal.width)
  else
    code = dry_run.print(job, host, given)
  end
  if job.emptied then
    say(host, "no check is selected: " .. job.emptied)
  end
  return code
end

--- A recording that is not whole makes the exit code say so, as a report that cannot be written does.
local function check_recorded(job, run)
  local whole, why = job.host.recorded()
  if not whole then
    run.unwritten, run.unrecorded = true, true
    run.exit_code = result.exit_code(run.totals, run)
    say(job.host, {
      what = why or "the recording is not whole",
      fix = "remove what the message names and run again with --record and a new folder; what is there answers only"
        .. " what it has",
    })
  end
end

--- Runs what the command line asks for.
--- @param given table the parsed command line
--- @param host table the border to C
--- @return integer exit code
return function(given, host)
  if given.command == "render" then
    return render.run(given, host)
  end
  local problems = message.problems()
  local job = prepare(given, host, problems)
  if problems:any() then
    host.write("stderr", problems:text())
    return USAGE
  elseif job.command == "rbac" or job.options.list or job.options.explain or job.options.dry_run then
    return show(job, host, given)
  end
  writer.warn(host, job.reports)
  local cluster = open_cluster(job)
  if not cluster then
    return USAGE
  end
  if job.command == "doctor" then
    fit_platform(job)
    job.insecure = is_insecure(cluster)
    job.plan = doctor.plan(job, given, host, cluster)
  end
  secret.each(job.plan, host.keep_out)
  job.id = result.run_id(job.start, host.random())
  if tells_requests(job.options) then
    given.terminal.live = nil -- its lines would be written into the live region
  end
  local style = {
    terminal = given.terminal, quiet = job.options.quiet, verbose = (job.options.verbose or 0) > 0,
    stream = writer.streams(job.reports, given.terminal), heartbeat_ms = job.limits.heartbeat_ms,
  }
  local results, signal, watch = execute(job, given, cluster, style)
  for _, warning in ipairs(host.cluster_warnings()) do
    say(host, "warning: " .. warning)
  end
  local run = result.model {
    version = given.version, id = job.id, start = job.start, stop = host.now(), seed = job.seed,
    strict = job.options.strict == true, signal = signal, target = job.target, recipe = job.recipe,
    notes = notes(job), results = results,
  }
  check_recorded(job, run)
  writer.write(host, job.reports, run, style, watch)
  return run.exit_code
end
