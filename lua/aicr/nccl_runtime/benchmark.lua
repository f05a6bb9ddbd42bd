-- SPDX-License-Identifier: Apache-2.0
--- Runs the benchmark of a source on a cluster and gives what it wrote (gke-tcpxo.md 5.1 steps 9 to 11, 5.6, 5.7,
--- 5.11). All that can be read is read before anything is made.
local derive = require "aicr.nccl_runtime.derive"
local errors = require "aicr.native.error"
local fleet = require "aicr.fleet"
local json = require "aicr.json"
local params = require "aicr.nccl_runtime.params"
local request_of = require "aicr.nccl_runtime.request"
local sizing = require "aicr.nccl_runtime.sizing"
local text = require "aicr.native.text"
local training = require "aicr.training"
local transport = require "aicr.nccl_runtime.transport"
local verdict = require "aicr.nccl_verdict"

local M = {}

local PREFIX <const> = "aicr-nccl-perf-"
local JOB <const> = "nccl-all-reduce-tj"
local API <const> = "trainer.kubeflow.org"
-- Names of nodes in a line.
local NODES_SHOWN <const> = 16
-- Kinds of channels in a line.
local PATHS_SHOWN <const> = 6
-- Paths of a shipped worker that are shown; the report has all.
local INHERITED_SHOWN <const> = 5
-- Of the launcher's log: lines and bytes of the attachment, lines that are shown where there is no figure.
local LOG_LINES <const>, LOG_BYTES <const>, LOG_SHOWN <const> = 100, 32 * 1024, 5

--- Permissions, beside those of the platforms' files.
M.needs = { fleet.needs, training.needs }

local function shown_names(names)
  return table.concat(names, " ", 1, math.min(#names, NODES_SHOWN))
    .. (#names > NODES_SHOWN and (" and %d more"):format(#names - NODES_SHOWN) or "")
end

-- Nodes, or GPUs of each, that were asked for and are not there.
local function fewer_than_asked(ctx, size)
  local nodes, gpus = ctx.params.nodes, ctx.params.gpus
  if nodes and size.workers < nodes then
    return {
      code = "NOT_FOUND", reason = "too-few-nodes",
      message = ("%d GPU nodes are asked for, and it can run on %d"):format(nodes, size.workers),
    }
  elseif gpus and size.gpus ~= gpus then
    return {
      code = "INTERNAL", reason = "gpu-counts",
      message = ("%d GPUs of each node are asked for, and the nodes offer %d"):format(gpus, size.gpus),
    }
  end
end

-- Nodes that it does not run on are not verified.
local function covered(ctx, size)
  local criteria = type(ctx.recipe) == "table" and ctx.recipe.criteria
  local asked = ctx.params.nodes or type(criteria) == "table" and criteria.nodes
  local total = math.max(size.seen, math.type(asked) == "integer" and asked or 0)
  ctx:coverage { verified = size.workers, total = total }
  if size.left_out then
    ctx:evidence("GPU nodes that were left out: %s", size.left_out)
  end
  if size.workers < total then
    size.covers = ("%d of %d GPU nodes%s"):format(size.workers, total, size.left_out
      and (" (left out: %s)"):format(size.left_out) or "")
  end
  return size
end

--- The nodes of the benchmark. Ends the check when they are not enough.
---@param ctx aicr.ctx
---@param request table of `request.read`
---@param source table of `source.choose`
---@return table size of `sizing.of`, and covers: words where not all nodes are verified; of a platform's own `size`
--- more
function M.size(ctx, request, source)
  if source.platform.size then
    local size = source.platform.size(ctx, request)
    request_of.require_sweep(request.min_bytes or size.min_bytes, request.max_bytes)
    ctx:evidence("%d workers with %d GPUs each: %s", size.workers, size.gpus, shown_names(size.nodes))
    return size
  end
  local selector = request.selector or source.platform.selector(source)
  local nodes, err = ctx:try(ctx.k8s.list, ctx.k8s, "nodes", { fields = sizing.FIELDS })
  if err then
    errors.raise {
      code = "INTERNAL", reason = err.reason, cause = err, details = err.details, message = "cannot list the GPU nodes",
    }
  end
  local size, fault = sizing.of(nodes, { selector = selector, product = source.platform.PRODUCT })
  fault = fault or fewer_than_asked(ctx, size)
  if fault then
    ctx:fail(fault)
  end
  size.min_bytes = source.platform.MIN_BYTES
  if size.min_bytes then
    request_of.require_sweep(request.min_bytes or size.min_bytes, request.max_bytes)
  end
  ctx:evidence("%d workers with %d GPUs each: %s", size.workers, size.gpus, table.concat(size.nodes, " "))
  return covered(ctx, size)
end

-- A fault of what was measured ends the check; it says what it was about.
local function fail(ctx, subject, fault, why)
  ctx:fail {
    code = fault.code, reason = fault.reason, message = ("%s: %s"):format(subject, fault.message), why = why,
    details = { subject = subject },
  }
end

-- What of a row of the table is shown while the benchmark runs.
local function shown(line)
  local size, busbw = line:match "^%s*(%d+)%s+%d+%s+%a[%w_]*%s+%l+%s+%-?%d+%s+[%d.e+]+%s+[%d.]+%s+([%d.]+)"
  size = size and math.tointeger(tonumber(size))
  return size and ("%s: %s GB/s"):format(verdict.size_text(size), busbw)
end

-- Digests and paths of a derived runtime, of the object that the server keeps.
local function record_provenance(ctx, shipped, stored)
  local found = derive.provenance(shipped, stored)
  ctx:evidence("shipped worker sha256 %s, measured worker sha256 %s", found.shippedDigest, found.derivedDigest)
  ctx:evidence("overridden: %s", table.concat(found.overriddenPaths, " "))
  local inherited = found.inheritedPaths
  local more = #inherited - INHERITED_SHOWN
  ctx:evidence("inherited: %d paths: %s%s", #inherited, table.concat(inherited, " ", 1, math.min(#inherited,
    INHERITED_SHOWN)), more > 0 and (" and %d more, in provenance.json"):format(more) or "")
  ctx:attach("provenance.json", "application/json", json.encode {
    shippedDigest = found.shippedDigest, derivedDigest = found.derivedDigest,
    overriddenPaths = json.array(found.overriddenPaths), inheritedPaths = json.array(found.inheritedPaths),
  })
end

-- A launcher that failed: wrong wiring or wrong values that were seen are the verdict, all else is none.
local function failed(ctx, err, log, seen)
  local problem = seen and seen:problem()
  if problem then
    fail(ctx, "wiring", problem, "the launcher did not succeed: " .. err.message)
  end
  local fault, fields = verdict.of_failure(err, log)
  if fault then
    ctx:fail(fault)
  end
  errors.raise(fields)
end

local LAUNCH <const> = {
  ["launcher-failed"] = true, ["launcher-deleted"] = true, ["launcher-timeout"] = true, ["job-failed"] = true,
}

-- What the log must show: the sweep, the ranks and the nodes that were asked for. A supplied runtime has its own.
local function asked_of(request, size)
  if request.carrier then
    return {}
  end
  return {
    min_bytes = request.min_bytes or size.min_bytes, max_bytes = request.max_bytes, ranks = size.total,
    hosts = size.workers,
  }
end

-- The last lines of a log, at most so many bytes.
local function tail(log, lines, bytes)
  local from = #log + 1
  for _ = 1, lines + 1 do
    local before = from - 1
    while before > 0 and log:byte(before) ~= 10 do
      before = before - 1
    end
    from = before
    if from <= 0 or #log - from >= bytes then
      break
    end
  end
  return log:sub(math.max(from + 1, #log - bytes + 1, 1))
end

-- How many adapters have which link: "8 IB, 1 RoCE".
local function links_text(devices)
  local counts, links, words = {}, {}, {}
  for _, device in ipairs(devices) do
    links[#links + 1] = not counts[device.link] and device.link or nil
    counts[device.link] = (counts[device.link] or 0) + 1
  end
  for i, link in ipairs(links) do
    words[i] = ("%d %s"):format(counts[link], text.printable(link))
  end
  return table.concat(words, ", ")
end

-- What NCCL said of the way that it took, as evidence.
local function describe_transport(ctx, seen)
  local paths = {}
  for i, path in ipairs(seen.paths) do
    paths[i] = ("%s %d%s"):format(text.printable(path.path), path.count,
      path.gdr > 0 and (" (GDRDMA %d)"):format(path.gdr) or "")
  end
  ctx:evidence("channels: %s", #paths == 0 and "none seen"
    or table.concat(paths, ", ", 1, math.min(#paths, PATHS_SHOWN)))
  if #seen.ib.devices > 0 then
    ctx:evidence("%d adapters: %s", #seen.ib.devices, links_text(seen.ib.devices))
  end
  if seen.mnnvl ~= nil then
    ctx:evidence("multi-node NVLink %s%s", seen.mnnvl and "used" or "not used",
      seen.clique_size and (", %d ranks in a domain"):format(seen.clique_size) or "")
  end
  if seen.ofi and seen.ofi.provider then
    ctx:evidence("libfabric provider %s, %s NICs", text.printable(seen.ofi.provider), tostring(seen.ofi.nics or "?"))
  end
end

-- Ends the check where it went another way than it had to; a good number over TCP says nothing of the fabric.
local function require_transport(ctx, figure, size, look, result)
  local seen = transport.evidence(figure.evidence, result.log, result.kept)
  if seen then
    describe_transport(ctx, seen)
  end
  local fault = transport.fault(seen, size.transport, figure.ranks)
  if fault then
    fault.fix = look
    fault.why = ("%.2f GB/s at %s were measured, which say nothing of the fabric"):format(figure.busbw,
      verdict.size_text(figure.size))
    ctx:fail(fault)
  end
  figure.over = transport.text(seen, figure.ranks)
end

-- A launcher whose container failed and was started again, with what it wrote before.
local function check_starts(ctx, figure, result)
  local before = result.before or {}
  local lost = math.max(0, (result.restarts or 0) - #before)
  if #before + lost > 0 then
    ctx:evidence("the launcher failed and was started again %d times%s", #before + lost, lost > 0
      and ("; what it wrote in %d of them is gone"):format(lost) or "")
  end
  for _, written in ipairs(before) do
    local fault = verdict.of_start(written, figure)
    if fault then
      fault.why = "an earlier start of the launcher; the last one gave no fault"
      ctx:fail(fault)
    end
  end
end

--- The figure to judge by, of what the benchmark wrote. Ends the check when values are wrong, or it went over another
--- transport than it had to; raises what `verdict.read` and `transport.fault` raise, and shows the end of the log then.
---@param ctx aicr.ctx
---@param request table
---@param source table
---@param size table
---@param result aicr.training.Result
---@return aicr.nccl_verdict.Figure
function M.figure(ctx, request, source, size, result)
  ctx:attach("launcher.log", "text/plain", tail(result.log, LOG_LINES, LOG_BYTES))
  local found, err = ctx:try(function()
    return table.pack(verdict.read(result.log, result.termination, asked_of(request, size)))
  end)
  if err then
    for line in tail(result.log, LOG_SHOWN, LOG_SHOWN * 200):gmatch "[^\n]+" do
      ctx:evidence("log: %s", text.printable(line:sub(1, 200)))
    end
    error(err, 0)
  end
  local figure, fault = found[1], found[2]
  if fault then
    ctx:fail(fault)
  end
  check_starts(ctx, figure, result)
  if size.transport then
    require_transport(ctx, figure, size, source.platform.LOOK, result)
  end
  return figure
end

-- The TrainJob of a runtime that has all else.
local function job_of(runtime, size)
  return {
    apiVersion = API .. "/v1alpha1", kind = "TrainJob", metadata = { name = JOB },
    spec = {
      runtimeRef = { name = runtime.metadata.name, apiGroup = API, kind = "TrainingRuntime" },
      trainer = { numNodes = size.workers },
    },
  }
end

--- Runs it: `{log, termination, …}` of `training.run`. Ends the check when workers were wired wrongly or their daemons
--- did not start, before any bandwidth is looked at. Raises what `training.run` raises, of a launcher that did not
--- succeed with a hint.
---@param ctx aicr.ctx
---@param request table
---@param source table
---@param size table
---@return aicr.training.Result
function M.run(ctx, request, source, size)
  local namespace = ("%sdefault-%s"):format(PREFIX, ctx.run_id)
  local runtime, job, objects = source.platform.runtime(ctx, request, source, size, namespace)
  source.platform.preflight(ctx, size)
  local seen, log = source.platform.observed(source), nil
  local keep, kept = transport.keeper()
  local function line(written)
    keep(written)
    return shown(written)
  end
  local result, err = ctx:try(training.run, ctx, {
    namespace = namespace, lock = "aicr-nccl-run-lock", prune = PREFIX, runtime = runtime,
    job = job or job_of(runtime, size), objects = objects,
    launcher = { job = "launcher", container = "node" }, workers = { job = "node", count = size.workers },
    times = params.times(ctx.params), line = line,
    watch = seen and function(pod, kind)
      if kind ~= "DELETED" then
        seen:see(pod)
      end
    end,
    complete = function(written) return written:find("Avg bus bandwidth", 1, true) ~= nil end,
    created = source.shipped and function(stored)
      record_provenance(ctx, source.shipped, stored)
      derive.guard_stored(source.shipped, stored, request)
    end,
    failed = function(written) log = written end,
  })
  if err then
    if LAUNCH[err.reason] then
      failed(ctx, err, log, seen)
    end
    error(err, 0)
  end
  result.kept = size.transport and kept()
  local fault = seen and seen:verdict(size.workers)
  if fault then
    fail(ctx, "wiring", fault)
  end
  return result
end

return M
