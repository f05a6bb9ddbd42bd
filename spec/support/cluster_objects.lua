-- SPDX-License-Identifier: Apache-2.0
--- Objects and users of the test cluster for specs, by plain requests: quicker than kubectl, and not our client.
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local json = require "aicr.json"

local M = {}

local function quoted(text)
  return '"' .. text:gsub('[\\"]', "\\%0") .. '"'
end

-- What a line of curl's configuration surely takes.
local LINE_MAX <const> = 64 << 10

local function data_line(body, temporary)
  if #body <= LINE_MAX then
    return "data = " .. quoted(body)
  end
  local file = os.tmpname()
  temporary[#temporary + 1] = file
  files.write(file, body)
  return "data-binary = @" .. file
end

local function request_lines(user, request, temporary)
  local lines = {
    "url = " .. quoted(cluster.SERVER .. request.path), "request = " .. request.method,
    ("cacert = %s/ca.crt"):format(cluster.STATE), ("cert = %s/%s.crt"):format(cluster.STATE, user),
    ("key = %s/%s.key"):format(cluster.STATE, user), 'noproxy = "*"', "max-time = 20",
    'write-out = "\\n@@%{http_code}@@"',
  }
  if request.body then
    local body = type(request.body) == "table" and json.encode(request.body) or request.body
    lines[#lines + 1] = "header = " .. quoted("Content-Type: " .. (request.kind or "application/json"))
    lines[#lines + 1] = data_line(body, temporary)
  end
  return table.concat(lines, "\n")
end

-- All in one process, one after another: starting one costs more than the request.
local function ask(user, requests)
  local file = os.tmpname()
  local texts, temporary = {}, { file }
  for i, request in ipairs(requests) do
    texts[i] = request_lines(user, request, temporary)
  end
  files.write(file, table.concat(texts, "\nnext\n"))
  local pipe = assert(io.popen("exec env -u LD_PRELOAD curl -sS -K " .. file .. " 2>&1"))
  local answers = {}
  for body, http in pipe:read("a"):gmatch "(.-)\n@@(%d+)@@" do
    answers[#answers + 1] = { http = math.tointeger(http), body = body }
  end
  pipe:close()
  for _, name in ipairs(temporary) do
    os.remove(name)
  end
  assert(#answers == #requests, "requests without an answer")
  return answers
end

--- Sends requests one after another as the administrator.
---@param requests table[] {method=, path=, body=, kind= content type}
---@return table[] {http= 0 without an answer, body=}
function M.batch(requests)
  return #requests > 0 and ask("admin", requests) or {}
end

--- Sends a request as the administrator.
---@param method string
---@param path string
---@param body? table|string
---@param kind? string its content type
---@return table {http= 0 without an answer, body=}
function M.send(method, path, body, kind)
  return ask("admin", { { method = method, path = path, body = body, kind = kind } })[1]
end

--- The same; an answer of 400 and more is an error.
---@return table the decoded answer
function M.must(method, path, body, kind)
  local answer = M.send(method, path, body, kind)
  assert(answer.http > 0 and answer.http < 400, ("%s %s: %d %s"):format(method, path, answer.http, answer.body))
  return (json.decode(answer.body))
end

local PLURALS <const> = {
  Network = "networks", GKENetworkParamSet = "gkenetworkparamsets", Node = "nodes", ConfigMap = "configmaps",
  Secret = "secrets", ClusterTrainingRuntime = "clustertrainingruntimes", Namespace = "namespaces", Role = "roles",
  RoleBinding = "rolebindings", ClusterRole = "clusterroles", ClusterRoleBinding = "clusterrolebindings",
  APIService = "apiservices",
}

--- The path of its collection.
---@param object table
---@return string
function M.collection(object)
  local space = object.metadata.namespace
  return (object.apiVersion:find("/", 1, true) and "/apis/" or "/api/") .. object.apiVersion
    .. (space and "/namespaces/" .. space or "") .. "/" .. assert(PLURALS[object.kind], object.kind)
end

--- Its path.
---@param object table
---@return string
function M.path(object)
  return M.collection(object) .. "/" .. object.metadata.name
end

--- A copy without what the server writes.
---@param object table
---@return table
function M.bare(object)
  local copy = json.decode((json.encode(object)))
  for _, key in ipairs { "creationTimestamp", "generation", "resourceVersion", "uid", "managedFields" } do
    copy.metadata[key] = nil
  end
  return copy
end

local APPLY <const> = "application/apply-patch+yaml"

--- The requests that make an object what it is here, status too.
---@param object table
---@return table[]
function M.apply_requests(object)
  local want, query = M.bare(object), "?fieldManager=spec&force=true"
  local status = want.status
  want.status = nil
  local requests = { { method = "PATCH", path = M.path(want) .. query, body = want, kind = APPLY } }
  if want.apiVersion:find("gke", 1, true) then
    requests[2] = { method = "PATCH", path = M.path(want) .. "/status" .. query, kind = APPLY, body = {
      apiVersion = want.apiVersion, kind = want.kind, metadata = { name = want.metadata.name }, status = status,
    } }
  end
  return requests
end

--- Makes an object what it is here.
---@param object table
---@return string|nil what the server said if it does not take it
function M.put(object)
  for _, answer in ipairs(M.batch(M.apply_requests(object))) do
    if answer.http >= 400 or answer.http == 0 then
      return ("%d %s"):format(answer.http, answer.body)
    end
  end
end

--- The same in one piece, in the place of what is there: no apply with its rules about who owns what.
---@param object table
---@return string|nil what the server said if it does not take it
function M.replace(object)
  local want = M.bare(object)
  local now = M.send("GET", M.path(want))
  local method, path = "POST", M.collection(want)
  if now.http == 200 then
    local meta = json.decode(now.body).metadata
    want.metadata.resourceVersion, want.metadata.finalizers = meta.resourceVersion, meta.finalizers
    method, path = "PUT", M.path(want)
  end
  local answer = M.send(method, path, want)
  if answer.http >= 400 or answer.http == 0 then
    return ("%d %s"):format(answer.http, answer.body)
  end
end

--- Removes an object; one that is not there is fine.
---@param object table
function M.remove(object)
  local answer = M.send("DELETE", M.path(object))
  assert(answer.http == 200 or answer.http == 202 or answer.http == 404, answer.body)
end

--- Makes a namespace, which the caller deletes.
---@return string
function M.namespace()
  return M.must("POST", "/api/v1/namespaces", {
    metadata = { generateName = "aicr-spec-", labels = { ["aicr-spec"] = "1" } },
  }).metadata.name
end

--- Calls f with the name of a fresh namespace, which is deleted whatever happens. Quicker than cluster.in_namespace:
--- there may be no service account yet, so no pods.
---@param f fun(namespace: string)
function M.in_namespace(f)
  local name = M.namespace()
  local ok, err = pcall(f, name)
  M.send("DELETE", "/api/v1/namespaces/" .. name)
  if not ok then
    error(err, 0)
  end
end

--- A ConfigMap.
---@param namespace string
---@param name string
---@param more? table further metadata
---@return table
function M.config_map(namespace, name, more)
  local meta = { namespace = namespace, name = name }
  for key, value in pairs(more or {}) do
    meta[key] = value
  end
  return { apiVersion = "v1", kind = "ConfigMap", metadata = meta, data = { a = "1" } }
end

--- The same request as a user of M.user.
---@return integer HTTP status
function M.status_for(user, path)
  return ask(user, { { method = "GET", path = path } })[1].http
end

--- Gives a user (a certificate with that name) rights in the whole cluster or in a namespace, in the place of those
--- that it had.
---@param user string
---@param rules table[] of a Role
---@param namespace? string
function M.grant(user, rules, namespace)
  local api, prefix = "rbac.authorization.k8s.io/v1", namespace and "" or "Cluster"
  local meta = { name = "aicr-spec-" .. user, namespace = namespace }
  assert(not M.put { apiVersion = api, kind = prefix .. "Role", metadata = meta, rules = json.array(rules) })
  assert(not M.put {
    apiVersion = api, kind = prefix .. "RoleBinding", metadata = meta,
    roleRef = { apiGroup = "rbac.authorization.k8s.io", kind = prefix .. "Role", name = meta.name },
    subjects = json.array { { apiGroup = "rbac.authorization.k8s.io", kind = "User", name = user } },
  })
end

--- Takes away what M.grant gave.
function M.revoke(user, namespace)
  local api, prefix = "rbac.authorization.k8s.io/v1", namespace and "" or "Cluster"
  local meta = { name = "aicr-spec-" .. user, namespace = namespace }
  M.remove { apiVersion = api, kind = prefix .. "RoleBinding", metadata = meta }
  M.remove { apiVersion = api, kind = prefix .. "Role", metadata = meta }
end

--- One rule of a Role.
---@param verbs string words
---@param resource string
---@param group? string
---@return table
function M.rule(verbs, resource, group)
  local list = json.array()
  for verb in verbs:gmatch "%a+" do
    list[#list + 1] = verb
  end
  return { verbs = list, resources = json.array { resource }, apiGroups = json.array { group or "" } }
end

--- Makes that many ConfigMaps, n-1 and so on.
---@param namespace string
---@param count integer
function M.fill(namespace, count)
  local requests = {}
  for n = 1, count do
    requests[n] = {
      method = "POST", path = ("/api/v1/namespaces/%s/configmaps"):format(namespace),
      body = { metadata = { name = "n-" .. n } },
    }
  end
  for _, answer in ipairs(M.batch(requests)) do
    assert(answer.http == 201, answer.body)
  end
end

local function base64url(text)
  local result = cluster.command({ "base64", "-w0" }, text)
  return (result.stdout:gsub("[+/=]", { ["+"] = "-", ["/"] = "_", ["="] = "" }))
end

--- A token of the service account aicr-cluster/viewer that is refused after so many seconds: the API server issues none
--- under ten minutes. It takes one a minute longer than it says, and from its cache up to ten seconds more.
---@param seconds integer
---@return string
function M.short_token(seconds)
  local account = M.must("GET", "/api/v1/namespaces/aicr-cluster/serviceaccounts/viewer")
  local issuer = "https://kubernetes.default.svc"
  local now = os.time()
  local folder = files.folder()
  local text = base64url(json.encode { alg = "RS256", typ = "JWT" }) .. "." .. base64url(json.encode {
    aud = json.array { issuer }, iss = issuer, sub = "system:serviceaccount:aicr-cluster:viewer",
    exp = now - 60 + seconds, iat = now - 600, nbf = now - 600,
    ["kubernetes.io"] = {
      namespace = "aicr-cluster", serviceaccount = { name = "viewer", uid = account.metadata.uid },
    },
  })
  files.write(folder .. "/text", text)
  local signed = cluster.command { "openssl", "dgst", "-sha256", "-sign", cluster.STATE .. "/tokens.key", "-out",
    folder .. "/signature", folder .. "/text" }
  assert(signed.code == 0, signed.stderr)
  local signature = base64url(files.read(folder .. "/signature"))
  files.remove(folder)
  return text .. "." .. signature
end

--- A user with a certificate and no rights yet.
---@param user string a word
---@return string the path of a kubeconfig
function M.user(user)
  cluster.must("issue", user, "/O=aicr-spec/CN=" .. user)
  return ("%s/kubeconfig-%s"):format(cluster.STATE, user)
end

return M
