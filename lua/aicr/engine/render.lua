-- SPDX-License-Identifier: Apache-2.0
--- aicr-run render: what an NCCL test would create on a platform, and which override rows made it so
--- (platform-runtimes.md 9). A cluster is asked where the command line names one.
local benchmark = require "aicr.nccl_runtime.objects"
local clusters = require "aicr.engine.render_cluster"
local documents = require "aicr.report.documents"
local errors = require "aicr.native.error"
local fabric = require "aicr.platform.fabric"
local json = require "aicr.json"
local message = require "aicr.engine.message"
local overrides = require "aicr.platform.overrides"
local catalog = require "aicr.platform.catalog"
local names = require "aicr.platform.names"
local nics = require "aicr.platform.nics"
local path = require "aicr.engine.path"
local platform = require "aicr.platform"
local settings = require "aicr.engine.settings"
local text = require "aicr.report.text"

local M = {}

local USAGE <const> = 2
local NODES <const> = 2
-- What the system says of a file that there is not.
local MISSING <const> = "No such file or directory"

--- Options that only this command has.
M.OPTIONS = { "arch", "nodes", "gpus", "nics", "nic_resource", "overrides" }

local ALLOWED <const> = {
  arch = true, nodes = true, gpus = true, nics = true, nic_resource = true, overrides = true, platform = true,
  recording = true, kubeconfig = true, context = true, no_exec_plugins = true, namespace = true, format = true,
  source = true, color = true, quiet = true, verbose = true, log_level = true,
}

-- The architectures that a rule speaks of (platform-runtimes.md 1).
local ARCHITECTURES <const> = { "a100", "h100", "h200", "b200", "b300", "gb200", "gb300", "l40", "l40s", "rtxpro6000",
  "unknown" }

-- A name near to a known one is a slip, unless both sizes are said: nothing is guessed of it.
local function misspelt_arch(options, problems)
  if options.gpus and options.nics then
    return
  end
  for _, known in ipairs(ARCHITECTURES) do
    if known == options.arch then
      return
    end
  end
  local near = message.suggestion(options.arch, ARCHITECTURES)
  if near ~= "" then
    problems:add {
      what = ('the sizes of architecture "%s" are not known%s'):format(text.printable(options.arch), near),
      fix = "correct --arch; if it is meant, say what its nodes have: --gpus N --nics N",
    }
  end
end

local function check(given, problems)
  local options = given.options
  for name in pairs(options) do
    if not ALLOWED[name] and given.origins[name] == "command line" then
      problems:add("--%s does not go with the command render", name:gsub("_", "-"))
    end
  end
  local is_told = clusters.is_asked(given)
  if not options.platform and not is_told then
    problems:add {
      what = ("render needs --platform; expected one of: %s"):format(platform.names_list()),
      fix = "or name a cluster whose nodes say it: --kubeconfig FILE, --context NAME, --recording DIR",
    }
  elseif options.platform and not names.is_name(options.platform) then
    problems:add('--platform "%s" is not valid; expected one of: %s', text.printable(options.platform),
      platform.names_list())
  end
  if not options.arch then
    if not is_told then
      problems:add("render needs --arch, the architecture of the GPUs, such as h100")
    end
  elseif not options.arch:match "^%l[%l%d]*$" then
    problems:add('--arch "%s" is not valid; expected lower-case letters and digits, such as h100',
      text.printable(options.arch))
  else
    misspelt_arch(options, problems)
  end
  if options.format == "junit" then
    problems:add("--format junit does not go with the command render; expected human (YAML) or json")
  end
  if #given.operands > 1 then
    problems:add("render takes one test; expected one of: %s", table.concat(platform.nccl_tests(), ", "))
  end
end

local function refuse(file, why)
  errors.raise {
    code = "INVALID_REQUEST", reason = "override", message = ("--overrides %s: %s"):format(text.printable(file), why),
  }
end

-- One that is there and cannot be read is not the same as none.
local function fragment_beside(file, name, host)
  local beside = path.join(path.dirname(file), ("_lib/%s.yaml"):format(name))
  local written, why = settings.content(beside, host)
  if not written and why ~= MISSING then
    refuse(beside, why)
  end
  return written
end

-- The rows of --overrides. Their fragments are in _lib/ beside the file, else those that are built in.
local function own_rows(file, host)
  if not file then
    return nil
  end
  local written, why = settings.content(file, host)
  if not written then
    refuse(file, why)
  end
  return overrides.load(written, text.printable(file), function(name)
    return fragment_beside(file, name, host) or overrides.fragment(name)
  end)
end

-- What the command line says and, where it names a cluster, what its nodes say.
local function asked(options, told)
  return {
    platform = options.platform or told.platform, arch = options.arch or told.arch, gpus = options.gpus or told.gpus,
    nodes = options.nodes or told.nodes, nics = options.nics or told.nics,
    nic_resource = options.nic_resource or told.nic_resource, overrides = options.overrides,
  }
end

local function tcpxo_warnings(told, warnings)
  if told.tcpxo then
    for _, warning in ipairs(told.tcpxo.warnings) do
      warnings[#warnings + 1] = warning
    end
    return
  end
  warnings[#warnings + 1] = ("networks gpu-nic0 to gpu-nic7 and release %s of the TCPXO plug-in were taken: what the"
    .. " nodes have is not known without a cluster"):format(nics.OLDEST_RELEASE)
end

-- The test, its run and what came out; `told` is what nodes say.
local function build(given, host, told)
  local options = asked(given.options, told)
  local sizes = platform.sizes(options.arch, options.platform, {
    nodes = options.nodes, gpus = options.gpus, nics = options.nics,
  })
  local facts = {
    platform = options.platform, arch = options.arch, nodes = sizes.NodesPerJob or NODES, gpus = sizes.GpusPerNode,
    nics = sizes.MlnxPerNode, mnnvl = sizes.EnableMNNVL, nic_resource = options.nic_resource,
    overrides = own_rows(options.overrides, host), networks = told.tcpxo and told.tcpxo.networks,
    release = told.tcpxo and told.tcpxo.release,
  }
  local test, built = benchmark.build(given.operands[1] or benchmark.ALL_REDUCE, facts)
  local warnings = { sizes.warning }
  if not facts.nic_resource and nics.needs_resource(facts.platform, facts.arch) then
    warnings[#warnings + 1] = "no NIC is asked for: which resource the nodes have is not known without a cluster; say"
      .. " it with --nic-resource"
  end
  if facts.platform == "gcp" and facts.arch == "h100" then
    tcpxo_warnings(told, warnings)
  end
  if facts.mnnvl and told.apart then
    warnings[#warnings + 1] = told.apart
  end
  if told.nodes and facts.nodes > told.nodes then
    warnings[#warnings + 1] = ("%d nodes are asked for, and %d of the cluster can take it"):format(facts.nodes,
      told.nodes)
  end
  return {
    test = test, facts = facts, warnings = warnings, built = built, told = told,
    domain_label = sizes.EnableMNNVL and fabric.fabric(facts.platform, facts.arch, sizes).domain_label,
  }
end

local function objects_of(built, namespace)
  local objects = json.array()
  for _, object in ipairs(built.dependencies) do
    objects[#objects + 1] = object
  end
  objects[#objects + 1] = built.train_job
  for _, object in ipairs(objects) do
    object.metadata.namespace = namespace
  end
  return objects
end

-- The rows of a file that apply, of the built-in one without a name; what the test itself changes is none.
local function rows_of(built, file)
  local rows = json.array()
  for _, row in ipairs(built.rows) do
    if row.file == file and row.user == (file ~= nil) then
      rows[#rows + 1] = { name = row.name, changed = row.changed }
    end
  end
  return rows
end

local function add_rows(lines, built, file)
  local rows, name = rows_of(built, file), file or overrides.FILE
  if #rows == 0 then
    lines[#lines + 1] = ("no row of %s applies"):format(name)
    return
  end
  lines[#lines + 1] = ("rows of %s that apply:"):format(name)
  for _, row in ipairs(rows) do
    lines[#lines + 1] = ("  %s%s"):format(row.name, row.changed and "" or " (changed nothing)")
  end
end

local function head(rendered)
  local facts, test, built = rendered.facts, rendered.test, rendered.built
  local lines = {
    ("%s on %s %s: %s of %s and %s, multi-node NVLink %s"):format(test.name, facts.platform, facts.arch,
      text.count(facts.nodes, "node"), text.count(facts.gpus, "GPU"), text.count(facts.nics, "NIC"),
      facts.mnnvl and "on" or "off"),
    ("program and environment: row %s of %s"):format(test.row, catalog.FILE),
  }
  if rendered.told.covered then
    table.insert(lines, 2, "what the nodes say: " .. rendered.told.covered)
  end
  add_rows(lines, built)
  if facts.overrides then
    add_rows(lines, built, facts.overrides.file)
  end
  if built.topology then
    lines[#lines + 1] = "the nodes of a job share the label " .. built.topology.topologyKey
  end
  if #built.unreached > 0 then
    lines[#lines + 1] = ("set in containers, and not for the ranks, as no -x of mpirun names it so: %s; a row of"
      .. " --overrides can, mpiArgs: [-x, NAME=VALUE]"):format(table.concat(built.unreached, " "))
  end
  if rendered.domain_label then
    lines[#lines + 1] = ("NVLink joins the nodes that share the label %s, the network all others"):format(
      rendered.domain_label)
  end
  if test.published then
    lines[#lines + 1] = ("published for such nodes: %.2f GB/s with %d nodes, as an order of magnitude"):format(
      test.published.busBandwidthGBps, test.published.nodes)
  end
  for i, line in ipairs(lines) do
    lines[i] = "# " .. line
  end
  return table.concat(lines, "\n") .. "\n"
end

local function as_json(rendered, objects)
  local facts, test = rendered.facts, rendered.test
  return json.encode {
    test = test.name, platform = facts.platform, arch = facts.arch, nodes = facts.nodes, gpus = facts.gpus,
    nics = facts.nics, mnnvl = facts.mnnvl, catalogue_row = test.row, rows = rows_of(rendered.built),
    own_rows = facts.overrides and rows_of(rendered.built, facts.overrides.file), topology = rendered.built.topology,
    unreached = rendered.built.unreached, published = test.published, thresholds = test.thresholds,
    objects = objects,
  } .. "\n"
end

local function usage(host, problems)
  host.write("stderr", problems:text("nothing was rendered"))
  return USAGE
end

--- Prints the objects, as YAML with a head of comments or with --format json as JSON.
--- @param given table the parsed command line
--- @param host table the border
--- @return integer exit code
function M.run(given, host)
  local problems = message.problems()
  check(given, problems)
  if problems:any() then
    return usage(host, problems)
  end
  local told, why, ended = {}, nil, nil
  if clusters.is_asked(given) then
    told, why, ended = clusters.read(given, host)
  end
  if not told then
    problems:add("%s", why)
    usage(host, problems)
    return ended
  end
  local ok, rendered = pcall(build, given, host, told)
  if not ok then
    if not errors.is(rendered) or rendered.code ~= "INVALID_REQUEST" then
      error(rendered, 0)
    end
    problems:add("%s", rendered.message)
    return usage(host, problems)
  end
  local objects = objects_of(rendered.built, given.options.namespace)
  local code = message.print(host, given.options.format == "json" and as_json(rendered, objects)
    or head(rendered) .. documents.yaml(objects))
  for _, warning in ipairs(rendered.warnings) do
    host.write("stderr", message.format("warning: " .. warning))
  end
  return code
end

return M
