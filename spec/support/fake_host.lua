-- SPDX-License-Identifier: Apache-2.0
--- A host border for specs of the engine: files are tables, checks are scripts of events.
---
---   local host = fake_host.new {
---     disk = { ["a.lua"] = { name = "a", phase = "deployment", summary = "A holds" } },
---     endings = { a = { result = "fine" } },
---   }
---   local code = main(fake_host.command { operands = { "a.lua" } }, host)
local json = require "aicr.json"

local M = {}

local START <const> = 1773173444872

local function copy(t)
  local out = {}
  for k, v in pairs(t or {}) do
    out[k] = v
  end
  return out
end

--- A parsed command line.
--- @param fields table operands, options, args, origins, path, terminal
function M.command(fields)
  return {
    command = "run", version = "0.1.0", operands = fields.operands or {}, args = fields.args or {},
    options = fields.options or {}, environment = fields.environment or {},
    origins = fields.origins or {}, path = fields.path or {},
    terminal = fields.terminal or { stdout_tty = false, color = false, utf8 = true },
  }
end

--- A done event from a short form: `{result=}`, `{fail={…}}`, `{skip={…}}`, `{ending={…},
--- record={…}}`.
function M.done(id, script)
  local record = copy(script.record)
  local ending = script.ending
  if script.fail or script.skip then
    local entry = copy(script.fail or script.skip)
    entry.kind = script.fail and "fail" or "skip"
    record.endings = { entry }
    ending = ending or { how = "ended" }
  end
  if not ending then
    ending = { how = "returned", result = script.result, result_type = type(script.result) }
  end
  return {
    id = id, kind = "done", duration_ms = script.duration_ms or 400, started = START,
    ending = ending, record = record,
  }
end

local Host = {}

local function entries_below(disk, dir, links)
  local prefix = dir == "." and "" or dir:gsub("/+$", "") .. "/"
  local seen, out = {}, {}
  for path in pairs(disk) do
    local rest = (path:gsub("^%./", "")):sub(1, #prefix) == prefix and path:sub(#prefix + 1)
    local name = rest and rest:match("^[^/]+")
    if name and not seen[name] then
      seen[name] = true
      local link = links and links[prefix .. name]
      out[#out + 1] = { name = name, type = link and "link" or rest == name and "file" or "dir" }
    end
  end
  table.sort(out, function(a, b) return a.name < b.name end)
  return #out > 0 and out or nil, "No such file or directory"
end

local function add_writing(h, state)
  -- What fails at the end was to be had before: state.unwritable is of writing.
  function h.can_write()
    return true
  end
  function h.write(target, text)
    if state.unwritable[target] then
      return nil, state.unwritable[target]
    end
    state.written[target] = (state.written[target] or "") .. text
    return true
  end
  function h.journal(path)
    state.journal = { path = path }
    return true
  end
  function h.journal_add(line)
    state.journal[#state.journal + 1] = line
  end
end

local function host_functions(state)
  local h = {}
  add_writing(h, state)
  function h.read_file(path)
    local content = state.disk[(path:gsub("^%./", ""))]
    if content == nil then
      return nil, "No such file or directory"
    elseif content == false then
      return nil, "Permission denied"
    end
    return type(content) == "string" and content or "table:" .. path
  end
  function h.list_dir(path)
    return entries_below(state.disk, path, state.links)
  end
  function h.real_path(path)
    local plain = path:gsub("^%./", "")
    for link, target in pairs(state.links) do
      if plain == link or plain:sub(1, #link + 1) == link .. "/" then
        return target .. plain:sub(#link + 1)
      end
    end
    local there = state.disk[plain] ~= nil or entries_below(state.disk, plain) ~= nil
    return there and "/root/" .. plain or nil
  end
  function h.env() end
  function h.embedded(path)
    local content = state.embedded[path]
    return content and (type(content) == "string" and content or "table:" .. path)
  end
  function h.embedded_list(prefix)
    local out = {}
    for path in pairs(state.embedded) do
      if path:sub(1, #prefix) == prefix then
        out[#out + 1] = path
      end
    end
    table.sort(out)
    return out
  end
  function h.now()
    state.clock = state.clock + 100
    return state.clock
  end
  function h.monotonic()
    return state.clock
  end
  --- "list nodes", "create pods in NS": as the real one, without what one verb means for others.
  function h.needs(lines)
    local out = {}
    for i, line in ipairs(lines) do
      local verb, resource, rest = line:match("^(%S+) (%S+)(.*)$")
      local namespace = rest:match(" in (%S+)$")
      local scope = namespace == "run" and "run" or namespace and "namespace" or "anywhere"
      out[i] = { verb = verb, group = "", resource = resource, scope = scope,
        namespace = scope == "namespace" and namespace or nil }
    end
    return out
  end
  function h.libraries()
    return { curl = "7.88.1", tls = "OpenSSL/3.0.15", http2 = true, gzip = true }
  end
  function h.random()
    return 0x7f3a
  end
  return h
end

local function name_of(state, task)
  local path = task.path:gsub("^%./", "")
  local meta = state.disk[path] or state.embedded[path]
  return task.id == 0 and "target" or meta.name
end

function Host.load(state, what)
  local path = what.path:gsub("^%./", "")
  local meta = state.disk[path] or state.embedded[path]
  if what.source ~= "table:" .. what.path then
    return { ok = false, message = "syntax error near <eof>", file = what.path, line = 1 }
  end
  if meta.load_error then
    return { ok = false, message = meta.load_error, file = what.path, line = meta.line }
  end
  return { ok = true, kind = meta.checks and "suite" or "check",
    meta = json.decode(json.encode(meta)) }
end

function Host.start(state, task)
  assert(math.type(task.id) == "integer", "a task's id is an integer")
  local refusal = state.refuse[name_of(state, task)]
  if refusal then
    error(refusal)
  end
  state.started[#state.started + 1] = task
  state.in_flight[#state.in_flight + 1] = task.id
  state.most = math.max(state.most, #state.in_flight)
end

local function finish(state, id)
  local name
  for i, running in ipairs(state.in_flight) do
    if running == id then
      table.remove(state.in_flight, i)
    end
  end
  for _, task in ipairs(state.started) do
    name = task.id == id and name_of(state, task) or name
  end
  local script = state.endings[name] or { result = name .. " holds" }
  if script[1] then
    script = #script > 1 and table.remove(script, 1) or script[1]
  end
  if state.canceled[id] and not script.uncancelable then
    local over = state.over[id]
    script = { ending = { how = over and "deadline" or "canceled", reason = not over and state.canceled[id] or nil },
      record = script.record }
  end
  return M.done(id, script)
end

function Host.next(state, timeout)
  assert(math.type(timeout) == "integer" and timeout > 0, "next() waits for whole milliseconds")
  state.asked = state.asked + 1
  if state.signals[state.asked] then
    return { kind = "signal", signal = state.signals[state.asked] }
  end
  local event = table.remove(state.events, 1)
  state.clock = state.clock + (event and event.after or 0)
  if event and event.kind ~= "done" then
    return event
  elseif event then
    return finish(state, event.id)
  end
  assert(#state.in_flight > 0, "next() while nothing runs")
  return finish(state, state.in_flight[state.last_first and #state.in_flight or 1])
end

function Host.cancel(state, id, reason, over)
  state.canceled[id], state.over[id] = reason, over or nil
end

function Host.recorded(state)
  if state.unrecorded then
    return nil, state.unrecorded
  end
  return true
end

function Host.keep_out() end

function Host.cluster_warnings()
  return {}
end

function Host.cluster(state, where)
  state.where = where
  return state.cluster
end

--- A fake host. What happened stands in `host.state`: written, started, most (in flight at once).
--- @param fields table disk, embedded (path → metadata or text), endings (name → script, or a list of
---   scripts, one an attempt), events (delivered before anything ends; `after` = ms of the clock),
---   signals (n → name, the n-th event), links (path → where it leads), cluster, unrecorded (message),
---   unwritable (target → message), refuse (name → what start() raises), last_first
function M.new(fields)
  local state = {
    disk = fields.disk or {}, embedded = fields.embedded or {}, endings = fields.endings or {},
    links = fields.links or {}, events = fields.events or {}, unwritable = fields.unwritable or {},
    last_first = fields.last_first,
    cluster = fields.cluster or { ok = true, context = "train-01", server_version = "v1.32.6" },
    clock = START, written = {}, started = {}, refuse = fields.refuse or {}, in_flight = {},
    canceled = {}, over = {}, most = 0, asked = 0, signals = fields.signals or {}, unrecorded = fields.unrecorded,
  }
  local host = host_functions(state)
  host.state = state
  for name, f in pairs(Host) do
    host[name] = function(...) return f(state, ...) end
  end
  return host
end

return M
