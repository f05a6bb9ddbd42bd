-- SPDX-License-Identifier: Apache-2.0
--- Makes recorded clusters for specs. A cluster is a table of parts:
---   meta        aicr-recording.json
---   discovery   {api = document, apis = document}, either may be nil
---   lists       resource key -> List document
---   errors      resource key -> {http=, contentType=, body=}: the answer to every read of it
---   transports  resource key -> name of a transport error: no read of it got an answer
--- A resource key is "group|core/version/resource". A cluster with transports is written with an
--- index, any other as plain folders, so that both forms are used.
local json = require "aicr.json"
local files = require "spec.support.files"

local M = {}

M.NETWORKS = "networking.gke.io/v1/networks"
M.RUNTIMES = "trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
M.NODES = "core/v1/nodes"

local LYRA <const> = "spec/fixtures/recordings/lyra-ok"
local A3 <const> = "cloud.google.com/gke-accelerator=nvidia-h100-mega-80gb"
local RUNTIME <const> = "torch-distributed-tcpxo"
local KINDS <const> = {
  [M.NETWORKS] = "NetworkList",
  [M.RUNTIMES] = "ClusterTrainingRuntimeList",
  [M.NODES] = "NodeList",
}

local function api_version(key)
  return (key:gsub("/[^/]*$", ""):gsub("^core/", ""))
end

--- A List document of a resource.
---@param key string
---@param items table[]
---@return table
function M.list(key, items)
  return {
    apiVersion = api_version(key), kind = KINDS[key], metadata = { resourceVersion = "48211907" },
    items = json.array(items),
  }
end

--- Reads one of our recordings (folders only).
---@param dir string|nil default: the healthy example cluster
---@return table parts
function M.read(dir)
  dir = dir or LYRA
  local function document(path)
    return (json.decode(files.read(dir .. "/" .. path)))
  end
  local parts = {
    meta = document "aicr-recording.json",
    discovery = { api = document "discovery/api.json", apis = document "discovery/apis.json" },
    lists = {}, errors = {}, transports = {},
  }
  for key in pairs(KINDS) do
    parts.lists[key] = document("objects/" .. key .. "/list.json")
  end
  return parts
end

--- Takes an API group out of the cluster: its discovery and all that was recorded of it.
---@param parts table
---@param group string
function M.remove_group(parts, group)
  local kept = json.array()
  for _, item in ipairs(parts.discovery.apis.items) do
    if item.metadata.name ~= group then
      kept[#kept + 1] = item
    end
  end
  parts.discovery.apis.items = kept
  for key in pairs(parts.lists) do
    if key:sub(1, #group + 1) == group .. "/" then
      parts.lists[key] = nil
    end
  end
end

--- The answer of an API server that fails: with a reason a Status, without one plain text.
---@param status integer HTTP status
---@param reason string|nil
---@param message string|nil
---@return table
function M.http_error(status, reason, message)
  if not reason or reason == "" then
    return {
      http = status, contentType = "text/plain; charset=utf-8",
      body = message or (status == 404 and "404 page not found\n" or "upstream error\n"),
    }
  end
  return {
    http = status, contentType = "application/json",
    body = json.encode {
      kind = "Status", apiVersion = "v1", metadata = {}, status = "Failure", code = status,
      reason = reason, message = message or ("the server says %s"):format(reason),
    },
  }
end

-- Transport errors of the vectors -> of recordings.
local TRANSPORTS <const> = {
  deadline = "deadline", canceled = "canceled", socket_timeout = "socket-timeout",
  dns_timeout = "dns-timeout", refused = "refused", reset = "reset", http2_lost = "http2-lost",
  unreachable = "unreachable", pipe = "pipe", dns = "dns", tls = "tls", eof = "cut",
  -- Our client has no rate limiter that could refuse; its deadline stands for it.
  ratelimit = "deadline",
}

--- The transport that stands for an error kind of a vector.
---@param kind string
---@return string
function M.transport(kind)
  return assert(TRANSPORTS[kind], "unknown kind of error")
end

--- Makes every read of a resource fail.
---@param parts table
---@param key string
---@param err table {status=, reason=, message=} or {kind=} or {transport=}
function M.fail(parts, key, err)
  parts.lists[key] = nil
  if err.status then
    parts.errors[key] = M.http_error(err.status, err.reason, err.message)
    return
  end
  parts.transports[key] = err.transport or M.transport(err.kind)
end

local function take(parts, key, value, drop_group)
  if value == nil then
    return
  elseif value == json.null then
    parts.lists[key] = M.list(key, {})
  elseif json.is_array(value) then
    parts.lists[key] = M.list(key, value)
  elseif value.error then
    M.fail(parts, key, value.error)
    if value.error.status == 404 and drop_group then
      M.remove_group(parts, drop_group)
      parts.errors[key] = M.http_error(404)
    end
  else
    parts.lists[key] = M.list(key, { value })
  end
end

--- The cluster of a `check` vector.
---@param args table its args
---@return table parts
function M.from_vector(args)
  local parts = M.read()
  parts.lists = {}
  take(parts, M.NETWORKS, args.networks, "networking.gke.io")
  take(parts, M.NODES, args.nodes)
  take(parts, M.RUNTIMES, args.runtime)
  return parts
end

-- The lines of index.jsonl: with an index nothing else answers. A list answers selectors and names
-- of its own accord; errors are written for each request that a check may make.
local function index_lines(dir, parts)
  local lines = {}
  local function add(key, line)
    line.group, line.version, line.resource = key:match "^([^/]*)/([^/]*)/([^/]*)$"
    lines[#lines + 1] = json.encode(line)
  end
  local function body(contents)
    local file = ("answers/%d"):format(#lines + 1)
    files.write(dir .. "/" .. file, contents)
    return file
  end
  local function failing(key, line)
    add(key, { verb = "get", name = RUNTIME, http = line.http, transport = line.transport,
      contentType = line.contentType, file = line.file })
    add(key, { verb = "list", http = line.http, transport = line.transport,
      contentType = line.contentType, file = line.file })
    if key == M.NODES then
      add(key, { verb = "list", label = A3, http = line.http, transport = line.transport,
        contentType = line.contentType, file = line.file })
    end
  end

  for key, list in pairs(parts.lists) do
    add(key, { verb = "list", http = 200, contentType = "application/json",
      file = body(json.encode(list)) })
  end
  for key, err in pairs(parts.errors) do
    failing(key, { http = err.http, contentType = err.contentType, file = body(err.body) })
  end
  for key, transport in pairs(parts.transports) do
    failing(key, { transport = transport })
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Writes a recording.
---@param dir string a folder that exists
---@param parts table
---@return string dir
function M.write(dir, parts)
  files.write(dir .. "/aicr-recording.json", json.encode(parts.meta))
  for name, document in pairs(parts.discovery) do
    files.write(("%s/discovery/%s.json"):format(dir, name), json.encode(document))
  end
  if next(parts.transports) then
    files.write(dir .. "/index.jsonl", index_lines(dir, parts))
    return dir
  end
  for key, list in pairs(parts.lists) do
    files.write(("%s/objects/%s/list.json"):format(dir, key), json.encode(list))
  end
  for key, err in pairs(parts.errors) do
    files.write(("%s/errors/%s.json"):format(dir, key), json.encode(err))
  end
  return dir
end

return M
