-- SPDX-License-Identifier: Apache-2.0
--- The catalogue of NCCL tests: program, arguments, environment and thresholds by platform,
--- architecture and test (platform-runtimes.md 6). The data is recipes/platforms/nccl_tests.yaml.
local constraint = require "aicr.constraint"
local fragment = require "aicr.platform.fragment"
local gke = require "aicr.gke"
local json = require "aicr.json"
local match = require "aicr.platform.match"
local merge = require "aicr.platform.merge"
local names = require "aicr.platform.names"
local native = require "aicr.native.platform"
local nics = require "aicr.platform.nics"
local runtime = require "aicr.platform.runtime"
local sorted_keys = require "aicr.base.sorted_keys"
local value = require "aicr.platform.value"

local M = {}

M.FILE = "recipes/platforms/nccl_tests.yaml"
--- The figures that a threshold can be about.
M.FIGURES = { "busBandwidthGBps", "algBandwidthGBps" }

local KNOWN <const> = {
  TestName = true, GpusPerNode = true, MlnxPerNode = true, Mnnvl = true, MinBytes = true, MaxBytes = true,
  Iterations = true, Cycles = true, Devices = true, Interfaces = true, TcpxoDaemon = true,
}

local TOP <const> = {
  tests = true, arguments = true, defaults = true, diagnose = true, launcher = true, platforms = true,
  thresholds = true, published = true,
}

local refuse, step = fragment.refuse, fragment.step

-- Keys of a threshold beside its figures.
local OF <const> = {
  test = function(at, name, tests)
    if not value.named(tests, name) then
      refuse(at, "there is no test %s", value.shown(name))
    end
  end,
  platform = function(at, name)
    if not names.is_name(name) then
      refuse(at, "%s is no platform; expected one of: %s", value.shown(name), names.names_list())
    end
  end,
  arch = function(at, name)
    if type(name) ~= "string" or not name:match "^%l[%l%d]*$" then
      refuse(at, "expected lower-case letters and digits, such as h100, got %s", value.shown(name))
    end
  end,
}

local function check_threshold(at, row, tests)
  if not value.is_map(row) then
    refuse(at, "expected an object, got %s", value.shown(row))
  elseif row.test == nil then
    refuse(at, "a threshold names its test")
  end
  local any = false
  for key, member in pairs(row) do
    if OF[key] then
      OF[key](step(at, key), member, tests)
    elseif key == M.FIGURES[1] or key == M.FIGURES[2] then
      any = true
      if type(member) ~= "string" or not M.parse_threshold(member) then
        refuse(step(at, key), 'expected a comparison such as ">= 370", got %s', value.shown(member))
      end
    else
      refuse(step(at, key), "is not known%s",
        value.suggestion(key, { "test", "platform", "arch", table.unpack(M.FIGURES) }))
    end
  end
  if not any then
    refuse(at, "a threshold names %s", table.concat(M.FIGURES, " or "))
  end
end

local function need_list(file, key, list)
  if list ~= nil and not value.is_list(list) then
    refuse({ file = file, key = key }, "expected a list, got %s", value.shown(list))
  end
end

--- Reads a catalogue. Raises INVALID_REQUEST/`override` with file, row and key.
---@param text string YAML
---@param file string
---@param read_fragment fun(name: string): string?
---@return table
function M.load(text, file, read_fragment)
  local read = fragment.read(text, file)
  if not value.is_map(read) then
    refuse({ file = file }, "expected an object")
  end
  for key in pairs(read) do
    if not TOP[key] then
      refuse({ file = file }, "%s is not known%s", value.quoted(key), value.suggestion(key, sorted_keys(TOP)))
    end
  end
  local out = {}
  for key, member in pairs(read) do
    local at = { file = file, key = key, known = KNOWN, fragment = read_fragment, stack = {} }
    out[key] = fragment.resolve(at, member)
  end
  for _, key in ipairs { "tests", "platforms", "thresholds", "published" } do
    need_list(file, key, out[key])
  end
  for i, row in ipairs(value.list(out.platforms)) do
    local at = { file = file, row = row.name, key = "when" }
    if type(row.name) ~= "string" then
      refuse({ file = file, key = ("platforms[%d]"):format(i) }, "a row has a name")
    end
    match.check(at, row.when or {})
  end
  for i, row in ipairs(value.list(out.thresholds)) do
    check_threshold({ file = file, key = ("thresholds[%d]"):format(i) }, row, value.list(out.tests))
  end
  return out
end

local built_in

local function catalogue()
  built_in = built_in or M.load(native.data "platforms/nccl_tests.yaml", M.FILE, function(name)
    return native.data(("overrides/_lib/%s.yaml"):format(name))
  end)
  return built_in
end

local function names_of(all)
  local out = json.array()
  for i, test in ipairs(all.tests) do
    out[i] = test.name
  end
  return out
end

--- The names of the tests, in the catalogue's order.
---@return string[]
function M.nccl_tests()
  return names_of(catalogue())
end

local OPERATORS <const> = {
  [">="] = function(a, b) return a >= b end, [">"] = function(a, b) return a > b end,
  ["<="] = function(a, b) return a <= b end, ["<"] = function(a, b) return a < b end,
  ["=="] = function(a, b) return a == b end, ["!="] = function(a, b) return a ~= b end,
}

--- The comparisons of a threshold such as ">= 370" or ">= 370 < 500 || == 0": the grammar of constraints
--- (validation-model.md 6.2), with numbers, which are compared as such and not as versions. nil for what is none.
---@param text string
---@return {op: string, limit: number}[][]|nil any of these groups must hold, in it all comparisons
function M.parse_threshold(text)
  local ok, groups = pcall(constraint.parse, text)
  local out = {}
  for i, group in ipairs(ok and groups or {}) do
    out[i] = {}
    for k, term in ipairs(group) do
      local limit = term.value:match "^%d+%.?%d*$" and tonumber(term.value)
      if not OPERATORS[term.op] or not limit then
        return nil
      end
      out[i][k] = { op = term.op, limit = limit }
    end
  end
  return #out > 0 and out or nil
end

local function holds(groups, got)
  for _, group in ipairs(groups) do
    local all = true
    for _, term in ipairs(group) do
      all = all and OPERATORS[term.op](got, term.limit)
    end
    if all then
      return true
    end
  end
  return false
end

--- Compares what was measured with what has to be reached, a row a threshold. What has a threshold
--- and was not measured fails: it is not known to be good.
---@param thresholds table<string, string>|nil by figure
---@param measured table<string, number>|nil by figure
---@return {figure: string, threshold: string, value: number?, pass: boolean, reason: string?}[]
function M.judge(thresholds, measured)
  local out = json.array()
  for _, figure in ipairs(sorted_keys(thresholds or {})) do
    local groups = M.parse_threshold(thresholds[figure])
    if not groups then
      value.invalid("threshold", "%s: expected a comparison such as \">= 370\", got %s", figure,
        value.quoted(thresholds[figure]))
    end
    local got = (measured or {})[figure]
    local pass = got ~= nil and got == got and holds(groups, got)
    out[#out + 1] = {
      figure = figure, threshold = thresholds[figure], value = got, pass = pass,
      reason = got == nil and "measurement-missing" or not pass and "threshold" or nil,
    }
  end
  return out
end

local function thresholds_of(all, name, run)
  local found
  for _, row in ipairs(value.list(all.thresholds)) do
    if row.test == name and (not row.platform or not run or row.platform == run.platform)
      and (not row.arch or not run or row.arch == run.arch) then
      found = found or {}
      for _, figure in ipairs(M.FIGURES) do
        found[figure] = row[figure] or found[figure]
      end
    end
  end
  return found
end

local function published_of(all, test, run, mnnvl)
  for _, row in ipairs(value.list(all.published)) do
    local same = row.platform == run.platform and row.arch == run.arch and (row.mnnvl == nil or row.mnnvl == mnnvl)
    if same and row[test.name] then
      return { busBandwidthGBps = row[test.name], nodes = row.nodes }
    end
  end
end

local function block_of(all, run)
  local out = {}
  for _, row in ipairs(all.platforms) do
    if match.matches(row.when, { Platform = run.platform, GPUArchitecture = run.arch }) then
      for key, member in pairs(row) do
        out[key] = member
      end
    end
  end
  return out
end

local function count(run, field, default)
  local n = run[field]
  if n == nil then
    return default
  elseif math.type(n) ~= "integer" or n < 1 or n > 1000000 then
    value.invalid("size", "%s %s is not valid; expected a whole number from 1 to 1000000", field, value.quoted(n))
  end
  return n
end

local function size(run, field, default)
  local text = tostring(run[field] or default)
  if not text:match "^[1-9]%d*[KMGT]?$" or #text > 16 then
    value.invalid("size", "%s %s is not valid; expected such as 16G", field, value.quoted(text))
  end
  return text
end

-- What GPUDirect-TCPXO is set up with, nil elsewhere. Networks and release are the defaults where
-- nobody looked at the nodes.
local function tcpxo_of(run)
  if run.platform ~= "gcp" or run.arch ~= "h100" then
    return nil
  end
  local networks = run.networks or nics.detect_gke_networks({}).networks
  local release = nics.detect_tcpxo_release({}, {}, { release = run.release or nics.OLDEST_RELEASE })
  return {
    Devices = gke.devices_annotation(run.gpus), Interfaces = gke.interfaces_annotation(networks),
    TcpxoDaemon = release.daemon, cuda = release.cuda,
  }
end

local function said(all, test, run, tcpxo)
  local base = run.diagnose and all.diagnose or all.defaults
  return {
    Devices = tcpxo and tcpxo.Devices or "", Interfaces = tcpxo and tcpxo.Interfaces or "",
    TcpxoDaemon = tcpxo and tcpxo.TcpxoDaemon or "",
    TestName = test.name, GpusPerNode = run.gpus, Mnnvl = run.mnnvl and "1" or "0",
    MinBytes = size(run, "min_bytes", base.min_bytes), MaxBytes = size(run, "max_bytes", base.max_bytes),
    MlnxPerNode = run.nics or 0, Iterations = count(run, "iterations", base.iterations),
    Cycles = count(run, "cycles", base.cycles),
  }
end

local function append(list, more)
  for _, item in ipairs(value.list(more)) do
    list[#list + 1] = item
  end
  return list
end

--- A test of a catalogue on a platform.
---@param all table what `load` gave
---@param name string
---@param run aicr.platform.NcclTestOptions
---@return aicr.platform.NcclTest
function M.test_of(all, name, run)
  local test = value.named(all.tests, name)
  if not test then
    value.invalid("unknown-test", "there is no NCCL test %s%s", value.quoted(name),
      value.suggestion(name, names_of(all)))
  end
  local tcpxo, block = tcpxo_of(run), block_of(all, run)
  local facts = said(all, test, run, tcpxo)
  local image = tcpxo and block.imageOfCuda and block.imageOfCuda[tostring(tcpxo.cuda)] or block.image
  local args = append(json.array(), fragment.render(all.arguments, facts))
  append(args, test.arguments and fragment.render(test.arguments, facts))
  return {
    name = test.name, type = test.type, framework = test.framework, nodes = test.nodes, judged = test.judged,
    processes = test.processes, image = image, launcher = test.framework == "mpi" and all.launcher or nil,
    podSpec = merge.merge_maps(fragment.render(block.podSpec, facts) or {}, fragment.render(test.podSpec, facts) or {}),
    podAnnotations = fragment.render(block.podAnnotations, facts),
    mpirun = block.mpirun,
    binary = block.path .. test.binary .. block.suffix, args = args,
    env = fragment.render(block.env, facts), row = block.name,
    thresholds = thresholds_of(all, test.name, run), published = published_of(all, test, run, run.mnnvl or false),
  }
end

--- What a built-in test has to reach, by figure; nil: nothing is said.
---@param name string
---@param platform? string nil: anywhere
---@param arch? string
---@return table<string, string>|nil
function M.thresholds(name, platform, arch)
  return thresholds_of(catalogue(), name, platform and { platform = platform, arch = arch })
end

--- A built-in test on a platform. Raises INVALID_REQUEST/`unknown-test`, `size`.
---@param name string one of `nccl_tests`
---@param run aicr.platform.NcclTestOptions
---@return aicr.platform.NcclTest
function M.nccl_test(name, run)
  return M.test_of(catalogue(), name, run)
end

-- What is forwarded with its value, and what as it is in the launcher.
local function forwarded(list)
  local out = json.array()
  for _, entry in ipairs(list) do
    out[#out + 1] = "-x"
    out[#out + 1] = entry.value and entry.name .. "=" .. entry.value or entry.name
  end
  return out
end

local function with_values(list)
  local out = json.array()
  for _, entry in ipairs(list) do
    if entry.value then
      out[#out + 1] = entry
    end
  end
  return out
end

local function job_of(name, pod)
  return { name = name, template = { spec = { template = pod } } }
end

-- What a test changes of its runtime and job, as an override of the user's.
local function own_override(test, entry)
  local jobs, processes = json.array(), test.processes
  if next(test.podSpec) ~= nil or test.podAnnotations then
    jobs[1] = job_of(runtime.NODE, {
      spec = test.podSpec, metadata = test.podAnnotations and { annotations = test.podAnnotations },
    })
  end
  if test.launcher then
    jobs[#jobs + 1] = job_of(runtime.LAUNCHER, { spec = test.launcher })
  end
  if #jobs == 0 and not processes then
    return nil
  end
  return value.array {
    name = test.name,
    jobTemplate = processes and { spec = { workload = { trainJob = { trainer = { numProcPerNode = processes } } } } },
    dependencies = value.array {
      apiVersion = runtime.API_VERSION, kind = runtime.KIND, metadata = { name = runtime.name(entry) },
      spec = {
        mlPolicy = processes and { torch = { numProcPerNode = processes } },
        template = #jobs > 0 and { spec = { replicatedJobs = jobs } } or nil,
      },
    },
  }
end

--- The run of a test, for `build_run`.
---@param test aicr.platform.NcclTest
---@param run aicr.platform.NcclRunOptions
---@return aicr.platform.Run
function M.nccl_run(test, run)
  local is_mpi = test.framework == "mpi"
  return {
    Platform = run.platform, GPUArchitecture = run.arch, FrameworkType = test.framework, MlnxPerNode = run.nics,
    EnableMNNVL = run.mnnvl or false, NicResourceName = run.nic_resource,
    Runtime = {
      EntryName = run.entry, Image = run.image or test.image, NodesPerJob = test.nodes or run.nodes,
      GpusPerNode = run.gpus, Env = not is_mpi and with_values(test.env) or nil,
    },
    Binary = test.binary, Args = test.args, MpirunPath = test.mpirun,
    UserMPIArgs = is_mpi and forwarded(test.env) or nil, Command = not is_mpi and value.array(test.binary) or nil,
    UserOverrides = own_override(test, run.entry),
  }
end

return M
