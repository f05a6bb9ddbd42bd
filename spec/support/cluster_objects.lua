-- SPDX-License-Identifier: Apache-2.0
--- Objects and users of the test cluster for specs, by plain requests: quicker than kubectl, and not our client.
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local json = require "aicr.json"

local M = {}

-- One process a request: specs make thousands.
local function ask(user, method, path, body, kind)
  local file = body and os.tmpname()
  local words = {
    "exec env -u LD_PRELOAD curl -sS --noproxy '*' --max-time 20 -w '\\n%{http_code}' -X", method,
    "--cacert", cluster.STATE .. "/ca.crt", "--cert", ("%s/%s.crt"):format(cluster.STATE, user),
    "--key", ("%s/%s.key"):format(cluster.STATE, user), files.quote(cluster.SERVER .. path),
  }
  if file then
    files.write(file, type(body) == "table" and json.encode(body) or body)
    words[#words + 1] = ("-H 'Content-Type: %s' --data-binary @%s"):format(kind or "application/json", file)
  end
  local pipe = assert(io.popen(table.concat(words, " ") .. " 2>&1"))
  local text, http = pipe:read("a"):match "^(.*)\n(%d+)$"
  pipe:close()
  if file then
    os.remove(file)
  end
  return { http = math.tointeger(http), body = text }
end

--- Sends a request as the administrator.
---@param method string
---@param path string
---@param body? table|string
---@param kind? string its content type
---@return table {http= 0 without an answer, body=}
function M.send(method, path, body, kind)
  return ask("admin", method, path, body, kind)
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

local function path_of(object)
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

--- Makes an object what it is here, status too.
---@param object table
---@return string|nil what the server said if it does not take it
function M.put(object)
  local want = M.bare(object)
  local path = path_of(want)
  local answer = M.send("POST", M.collection(want), want)
  if answer.http == 409 then
    local now = json.decode(M.send("GET", path).body)
    want.metadata.resourceVersion = now.metadata and now.metadata.resourceVersion
    answer = M.send("PUT", path, want)
  end
  if answer.http < 400 and want.apiVersion:find("gke", 1, true) then
    local made = json.decode(answer.body)
    made.status = want.status
    answer = M.send("PUT", path .. "/status", made)
  end
  if answer.http >= 400 or answer.http == 0 then
    return ("%d %s"):format(answer.http, answer.body)
  end
end

--- Removes an object; one that is not there is fine.
---@param object table
function M.remove(object)
  local answer = M.send("DELETE", path_of(object))
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
  return ask(user, "GET", path).http
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

--- Makes that many ConfigMaps, n-1 and so on, of one connection.
---@param namespace string
---@param count integer
function M.fill(namespace, count)
  local folder = files.folder()
  local lines = {}
  local path = ("%s/api/v1/namespaces/%s/configmaps"):format(cluster.SERVER, namespace)
  for n = 1, count do
    lines[#lines + 1] = ([[
%surl = "%s"
cacert = "%s/ca.crt"
cert = "%s/admin.crt"
key = "%s/admin.key"
header = "Content-Type: application/json"
data = "{\"metadata\":{\"name\":\"n-%d\"}}"
fail
silent
noproxy = "*"
output = /dev/null]]):format(n > 1 and "next\n" or "", path, cluster.STATE, cluster.STATE, cluster.STATE, n)
  end
  files.write(folder .. "/requests", table.concat(lines, "\n"))
  local result = cluster.command { "curl", "--parallel", "--parallel-max", "20", "-K", folder .. "/requests" }
  files.remove(folder)
  assert(result.code == 0, result.stderr)
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
