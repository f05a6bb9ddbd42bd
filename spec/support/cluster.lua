-- SPDX-License-Identifier: Apache-2.0
--- The test cluster (spec/cluster/README.md) for specs: kubectl, ctl, plain requests, a namespace a test.
local files = require "spec.support.files"
local json = require "aicr.json"

local M = {}

local given <const> = os.getenv "AICR_CLUSTER_NUMBER" or ""
local NUMBER <const> = given == "" and "0" or given

--- The folder of its kubeconfig files, certificates and logs.
M.STATE = os.getenv "AICR_CLUSTER_DIR" or "/run/aicr-cluster" .. (NUMBER == "0" and "" or "-" .. NUMBER)

--- The folder of what its programs store; a node's is below it.
M.DATA = os.getenv "AICR_CLUSTER_DIR" and M.STATE .. "/data" or (M.STATE:gsub("^/run/", "/var/lib/"))

-- A busy machine gets at least so long, whatever a spec says.
local PATIENCE_S <const> = 120

local ADDRESS <const> = "https://198.18." .. NUMBER

--- The address of the API server, another one that its certificate does not name, and that of the
--- newer one (cluster.ctl("start", "kube-apiserver-new")).
M.SERVER = ADDRESS .. ".2:6443"
M.SERVER_UNNAMED = ADDRESS .. ".3:6443"
M.SERVER_NEW = ADDRESS .. ".2:6444"

--- Runs a command without the sanitizer's runtime.
---@param words string[]
---@param input? string what it reads
---@return table {code=, stdout=, stderr=}
function M.command(words, input)
  local folder = files.folder()
  files.write(folder .. "/in", input or "")
  local quoted = {}
  for i, word in ipairs(words) do
    quoted[i] = files.quote(word)
  end
  local _, ending, code = os.execute(("env -u LD_PRELOAD %s <%s/in >%s/out 2>%s/err"):format(
    table.concat(quoted, " "), folder, folder, folder))
  local result = { code = code, stdout = files.read(folder .. "/out"), stderr = files.read(folder .. "/err") }
  files.remove(folder)
  assert(ending == "exit", ("%s ended by signal %s"):format(words[1], code))
  return result
end

--- spec/cluster/ctl with those words, whatever comes of it.
---@return table {code=, stdout=, stderr=}
function M.ctl(...)
  return M.command { "spec/cluster/ctl", ... }
end

--- spec/cluster/ctl with those words, which has to succeed.
---@return string stdout
function M.must(...)
  local result = M.ctl(...)
  assert(result.code == 0, ("ctl %s: %s%s"):format(table.concat({ ... }, " "), result.stdout, result.stderr))
  return result.stdout
end

--- kubectl as the administrator, which has to succeed.
---@return string stdout
function M.kubectl(...)
  return M.must("kubectl", ...)
end

--- An object or a list as kubectl get shows it.
---@return table
function M.get(...)
  return json.decode(M.kubectl("get", "-o", "json", ...))
end

--- Applies objects (tables); with options such as "--dry-run=server" or "-n", "NAMESPACE".
---@param objects table[]
---@return table {code=, stdout=, stderr=}
function M.apply(objects, ...)
  local text = json.encode { apiVersion = "v1", kind = "List", items = json.array(objects) }
  return M.command({ "spec/cluster/ctl", "kubectl", "apply", "--server-side", "-f", "-", ... }, text)
end

--- A request without a client's interpretation, as the administrator unless options say otherwise.
---@param path string
---@param options? string[] of curl, in the place of the administrator's certificate
---@param server? string
---@return table {http = number, 0 if there was no answer; type=, body=, stderr=, code = curl's exit code}
function M.request(path, options, server)
  local words = { "curl", "-sS", "--noproxy", "*", "--max-time", "20", "--cacert", M.STATE .. "/ca.crt",
    "-w", "\n%{http_code} %{content_type}", (server or M.SERVER) .. path }
  options = options or { "--cert", M.STATE .. "/admin.crt", "--key", M.STATE .. "/admin.key" }
  table.move(options, 1, #options, #words + 1, words)
  local result = M.command(words)
  local body, http, kind = result.stdout:match("^(.*)\n(%d+) ([^\n]*)$")
  return { http = math.tointeger(http) or 0, type = kind, body = body, stderr = result.stderr, code = result.code }
end

--- Calls f until it returns something true, and returns that; an error after so many seconds.
---@param what string
---@param seconds integer
---@param f fun(): any, any the second result is shown if it stays false
function M.eventually(what, seconds, f)
  seconds = math.max(seconds, PATIENCE_S)
  local limit = os.time() + seconds
  while true do
    local good, seen = f()
    if good then
      return good
    elseif os.time() > limit then
      error(("%s: not within %d s; last seen: %s"):format(what, seconds, tostring(seen)), 2)
    end
    os.execute("sleep 0.3")
  end
end

--- Calls f with the name of a fresh namespace, which is deleted whatever happens.
---@param f fun(namespace: string)
function M.in_namespace(f)
  local created = M.command({ "spec/cluster/ctl", "kubectl", "create", "-o", "name", "-f", "-" },
    '{"apiVersion":"v1","kind":"Namespace","metadata":{"generateName":"aicr-spec-","labels":{"aicr-spec":"1"}}}')
  local name = assert(created.stdout:match("^namespace/([^\n]+)"), created.stderr)
  local ok, err = pcall(function()
    M.eventually("the default service account of " .. name, 30, function()
      return M.ctl("kubectl", "-n", name, "get", "serviceaccount", "default").code == 0
    end)
    f(name)
  end)
  M.ctl("kubectl", "delete", "namespace", name, "--wait=false")
  if not ok then
    error(err, 0)
  end
end

--- A pod of one container that runs a shell text.
---@param name string
---@param text string
---@param more? table further members of its spec, such as nodeName
---@return table
function M.pod(name, text, more)
  local spec = { restartPolicy = "Never", terminationGracePeriodSeconds = 0, containers = json.array { {
    name = "main", image = "aicr.local/busybox:1", imagePullPolicy = "Never", command = json.array { "sh", "-c", text },
  } } }
  for key, value in pairs(more or {}) do
    spec[key] = value
  end
  return { apiVersion = "v1", kind = "Pod", metadata = { name = name }, spec = spec }
end

--- Waits until a pod has reached a phase.
function M.wait_pod(namespace, name, phase)
  return M.eventually(("pod %s is %s"):format(name, phase), 60, function()
    local seen = M.get("-n", namespace, "pod", name).status
    return seen.phase == phase, json.encode(seen)
  end)
end

return M
