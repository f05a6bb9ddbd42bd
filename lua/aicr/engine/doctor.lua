-- SPDX-License-Identifier: Apache-2.0
--- `aicr-run doctor`: what stands between this user and a run of the selected checks (cli-and-reports.md 2.3). Its rows
--- are checks that the engine runs as any others; what needs no server is settled here.
local advice = require "aicr.engine.advice"
local rbac = require "aicr.engine.rbac"
local time = require "aicr.time"

local M = {}

--- The phase that its rows stand in.
M.PHASE = "doctor"

local FOLDER <const> = "lua/aicr/engine/doctor/"
local TIMEOUT_MS <const> = 60000

local function row(name, fields)
  local item = {
    name = name, phase = M.PHASE, path = FOLDER .. (fields.file or name) .. ".lua", origin = M.PHASE, roots = {},
    meta = { name = name, phase = M.PHASE, requires = fields.requires }, params = {}, exclusive = false,
    timeout_ms = TIMEOUT_MS, timeout_from = "default",
  }
  item.preset = fields.preset
  return item
end

-- A row that is known without a server.
local function settled(name, preset, requires)
  return row(name, { preset = preset, requires = requires })
end

local function passed(name, fmt, ...)
  return settled(name, { outcome = "pass", result = fmt:format(...) })
end

-- A row that a check of the folder decides.
-- @param fields table file, requires, params (key → value), needs, fixes
local function asked(host, name, fields)
  local item = row(name, fields)
  item.source = assert(host.embedded(item.path), item.path)
  local answer = host.load { path = item.path, source = item.source, roots = {} }
  assert(answer.ok, answer.message)
  for key, decl in pairs(answer.meta.params or {}) do
    item.params[key] = { value = decl.default, from = "default" }
  end
  for key, value in pairs(fields.params or {}) do
    item.params[key] = { value = value, from = M.PHASE }
  end
  item.meta.params = answer.meta.params
  item.meta.needs = fields.needs or answer.meta.needs
  item.meta.fixes = fields.fixes or answer.meta.fixes
  item.timeout_ms = answer.meta.timeout_ms or item.timeout_ms
  return item
end

local function libraries(host)
  local l = host.libraries()
  local words = { "libcurl " .. l.curl, l.tls and (l.tls:gsub("/", " ")), l.http2 and "HTTP/2", l.gzip and "gzip" }
  if not l.tls then
    return settled("libraries", {
      outcome = "fail", code = "INTERNAL", reason = "no-tls",
      message = ("libcurl %s has no TLS: no API server can be asked"):format(l.curl),
      fix = "apt-get install libcurl4",
    })
  end
  local named = {}
  for i = 1, 4 do
    named[#named + 1] = words[i] or nil
  end
  return passed("libraries", "%s", table.concat(named, ", "))
end

local function terminal(given)
  local t = given.terminal
  local where = t.stdout_tty and "stdout is a terminal" or "stdout is a pipe or a file"
  if t.width then
    where = ("%s of %d columns"):format(where, t.width)
  end
  return passed("terminal", "%s, %s, %s", where, t.utf8 and "UTF-8" or "ASCII only (the locale is not UTF-8)",
    t.color and "colour" or "no colour")
end

local function unusable(err)
  return {
    outcome = "fail", code = err.code, reason = err.reason or "no-cluster",
    message = err.message or "no cluster is configured", fix = advice.fix(err.reason or "no-cluster"),
  }
end

local function configuration(rows, cluster)
  local err = not cluster.ok and (cluster.error or {}) or nil
  if err and err.reason ~= "context-not-found" then
    rows[#rows + 1] = settled("kubeconfig", unusable(err))
    rows[#rows + 1] = settled("context", nil, { "kubeconfig" })
  elseif err then
    rows[#rows + 1] = passed("kubeconfig", "read")
    rows[#rows + 1] = settled("context", unusable(err))
  else
    rows[#rows + 1] = passed("kubeconfig", "%s", cluster.source == "in-cluster" and "the pod's service account"
      or cluster.source)
    rows[#rows + 1] = passed("context", "%s: %s", cluster.context or "none", cluster.server)
  end
end

local function recording(job, cluster)
  if not cluster.ok then
    return settled("recording", unusable(cluster.error or {}))
  end
  local words = { "answers come from " .. job.options.recording }
  words[2] = cluster.captured and "taken " .. time.format(cluster.captured) or nil
  words[#words + 1] = cluster.server_version and "Kubernetes " .. cluster.server_version or nil
  return passed("recording", "%s; no cluster is looked at", table.concat(words, ", "))
end

-- Words for ctx.k8s:can of a right.
local function question(right)
  local plural, sub = (right.resource or ""):match("^([^/]*)/?(.*)$")
  return {
    words = rbac.words(right), verb = right.verb, namespace = right.namespace,
    resource = right.path or plural .. (right.group ~= "" and "." .. right.group or ""),
    subresource = sub ~= "" and sub or nil, if_served = right.if_served,
  }
end

local function unique(list, key_of)
  local out, seen = {}, {}
  for _, entry in ipairs(list) do
    local key = key_of(entry)
    if not seen[key] then
      seen[key] = true
      out[#out + 1] = entry
    end
  end
  table.sort(out, function(a, b) return key_of(a) < key_of(b) end)
  return out
end

local function permissions(job, host, rows)
  local whole = rbac.command_of_all(job)
  for _, item in ipairs(job.wanted) do
    local rights = unique(rbac.rights(host, item.needs, job.namespace), rbac.words)
    local questions = {}
    for i, right in ipairs(rights) do
      questions[i] = question(right)
    end
    local name = "may-run-" .. item.name
    if #questions == 0 then
      rows[#rows + 1] = passed(name, "it needs no permission")
    else
      rows[#rows + 1] = asked(host, name, {
        file = "permissions", requires = { "identity" }, params = { rights = questions },
        fixes = { forbidden = whole or item.grant },
      })
    end
  end
end

-- What grants something in the namespace of the run: whoever has that knows that it is there.
local function grant_in(job, host)
  for _, item in ipairs(job.wanted) do
    for _, right in ipairs(rbac.rights(host, item.needs, job.namespace)) do
      if right.namespace == job.namespace then
        return rbac.command_of_all(job) or item.grant
      end
    end
  end
end

local function namespace(job, host, rights)
  for _, right in ipairs(rights) do
    if right.namespace == job.namespace then
      local q = question(right)
      return asked(host, "namespace", {
        requires = { "identity" }, params = { probe = { q.verb, q.resource, q.subresource } },
        fixes = { forbidden = grant_in(job, host) .. "; or leave the row out: --skip namespace" },
      })
    end
  end
  return settled("namespace", {
    outcome = "skip", reason = "not-needed",
    message = ("no selected check needs anything in %s"):format(job.namespace),
  })
end

-- The kinds of objects that the rights allow to make, and where.
local function made(rights)
  local kinds = {}
  for _, right in ipairs(rights) do
    local q = question(right)
    if right.verb == "create" and not q.subresource then
      kinds[#kinds + 1] = { resource = q.resource, namespace = right.namespace }
    end
  end
  return unique(kinds, function(k) return k.resource .. " " .. (k.namespace or "") end)
end

local function leftovers(host, rights)
  local kinds, needs = made(rights), {}
  if #kinds == 0 then
    return settled("leftovers", {
      outcome = "skip", reason = "not-needed", message = "no selected check makes an object",
    })
  end
  for i, kind in ipairs(kinds) do
    needs[i] = ("list %s%s"):format(kind.resource, kind.namespace and " in " .. kind.namespace or "")
  end
  return asked(host, "leftovers", {
    requires = { "identity" }, params = { kinds = kinds }, needs = needs,
  })
end

local function online(job, host, cluster, rows)
  configuration(rows, cluster)
  rows[#rows + 1] = asked(host, "server", {
    requires = { "libraries", "kubeconfig", "context" }, params = { insecure = job.insecure },
  })
  rows[#rows + 1] = asked(host, "identity", { requires = { "server" } })
  rows[#rows + 1] = asked(host, "clock", { requires = { "identity" } })
  local rights = rbac.all(job, host)
  rows[#rows + 1] = namespace(job, host, rights)
  permissions(job, host, rows)
  rows[#rows + 1] = leftovers(host, rights)
end

local function skip_rows(rows, names)
  for _, item in ipairs(rows) do
    if names[item.name] then
      item.preset = { outcome = "skip", reason = "skipped-by-user", message = "left out with --skip" }
    end
  end
end

--- Names of its rows, which --skip may name beside those of checks.
M.ROWS = { "libraries", "terminal", "recording", "kubeconfig", "context", "server", "identity", "clock", "namespace",
  "leftovers" }

local IS_ROW <const> = {}
for _, name in ipairs(M.ROWS) do
  IS_ROW[name] = true
end

--- The options with those --skip names alone that are of checks.
function M.selecting(options)
  local out, skip = {}, {}
  for name, value in pairs(options) do
    out[name] = value
  end
  for _, name in ipairs(options.skip or {}) do
    skip[#skip + 1] = not IS_ROW[name] and name or nil
  end
  out.skip = skip
  return out
end

--- The rows, as a plan.
--- @param job table plan (the selected checks), options, namespace, insecure
--- @param given table the parsed command line
--- @param host table the border
--- @param cluster table what host.cluster gave
--- @return table plan
function M.plan(job, given, host, cluster)
  local rows, skipped = { libraries(host), terminal(given) }, {}
  rbac.wanted(job)
  if job.options.recording then
    rows[#rows + 1] = recording(job, cluster)
  else
    online(job, host, cluster, rows)
  end
  for _, item in ipairs(job.unknown) do
    rows[#rows + 1] = settled("may-run-" .. item.name, item.preset)
  end
  for _, name in ipairs(job.options.skip or {}) do
    skipped[name] = true
  end
  skip_rows(rows, skipped)
  for _, item in ipairs(rows) do
    item.cluster = job.options
  end
  return rows
end

--- What of the selection cannot be looked at.
function M.notes(job)
  local out = { job.emptied and "no check is selected: " .. job.emptied or nil }
  if job.options.recording and #job.wanted > 0 then
    out[#out + 1] = "permissions are asked of a live cluster only: leave out --recording"
  end
  return out
end

return M
