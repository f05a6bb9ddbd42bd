-- SPDX-License-Identifier: Apache-2.0
--- An API server on loopback that answers by rows (spec/c/wire_server.h), and the program run against it.
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"

local M = {}

local ALWAYS <const> = 1000000000

--- A row that answers as often as it is asked.
---@param match string part of "GET /path HTTP/1.1"
---@param body string|table
---@param more? table further members: http, type, headers, how, cut, times
function M.row(match, body, more)
  local row = { match = match, body = type(body) == "table" and json.encode(body) or body, times = ALWAYS }
  for name, value in pairs(more or {}) do
    row[name] = value
  end
  if row.how then
    row.how = json.array(row.how)
  end
  return row
end

--- The Status of an absent object.
function M.absent(match, name, plural, more)
  local row = M.row(match, {
    kind = "Status", apiVersion = "v1", status = "Failure", reason = "NotFound", code = 404,
    message = ('%s "%s" not found'):format(plural, name), details = { name = name, kind = plural },
  }, more)
  row.http = 404
  return row
end

local function await(path)
  for _ = 1, 2400 do
    if files.exists(path) then
      return files.read(path)
    end
    os.execute "sleep 0.05"
  end
  error("nothing came: " .. path)
end

--- Calls f with the arguments of a run against a server with these rows, and the folder that they are in; then tells
--- what was asked.
---@param rows table[] of M.row; discovery of nothing, a version and a namespace are there behind them
---@param f function(args, folder) -> anything
---@return any, table[] what f gave, and {line, body} of each request
function M.with(rows, f)
  local all = json.array {}
  for i, row in ipairs(rows) do
    all[i] = row
  end
  local discovery <const> = { kind = "APIGroupDiscoveryList", apiVersion = "apidiscovery.k8s.io/v2" }
  all[#all + 1] = M.row("GET /version ", { gitVersion = "v1.34.4" })
  for _, path in ipairs { "api", "apis" } do
    all[#all + 1] = M.row("GET /" .. path .. " ", {
      kind = discovery.kind, apiVersion = discovery.apiVersion, metadata = {},
      items = json.array(path == "api" and { { metadata = {}, versions = json.array {
        { version = "v1", freshness = "Current", resources = json.array {} },
      } } } or {}),
    })
  end
  local folder = files.folder()
  files.write(folder .. "/rows.json", json.encode(all))
  local serve = os.getenv "AICR_BUILD" .. "/spec/wire_serve"
  local server = assert(io.popen(("env -u LD_PRELOAD %s %s"):format(files.quote(serve), files.quote(folder)), "w"))
  local ok, result = pcall(function()
    files.write(folder .. "/kubeconfig", ([[
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "%s"}}]
users: [{name: u, user: {}}]
]]):format(await(folder .. "/url")))
    os.execute("chmod 600 " .. files.quote(folder .. "/kubeconfig"))
    return f({ "-k", folder .. "/kubeconfig" }, folder)
  end)
  server:close()
  local asked = folder .. "/requests.json"
  local requests = files.exists(asked) and json.decode(files.read(asked)) or {}
  files.remove(folder)
  assert(ok, result)
  return result, requests
end

--- Runs one check against such a server.
---@param rows table[]
---@param check string its text
---@param args? string[] more of them
---@return table the check of the report, with .exit and .stderr; the requests
function M.run(rows, check, args)
  return M.with(rows, function(words, folder)
    files.write(folder .. "/check.lua", check)
    local all = { table.unpack(words) }
    table.move(args or {}, 1, #(args or {}), #all + 1, all)
    table.move({ "-f", "json", folder .. "/check.lua" }, 1, 3, #all + 1, all)
    local ran = binary.run(all)
    local report = assert(ran.stdout ~= "" and json.decode(ran.stdout), ran.stderr)
    local result = report.checks[1]
    result.exit, result.stderr = ran.code, ran.stderr
    return result
  end)
end

return M
