-- SPDX-License-Identifier: Apache-2.0
--- What to do next about a reason that no check explains itself: the client's, the host's and the
--- engine's own. A check's `fixes` come first.
local rbac = require "aicr.engine.rbac"

local M = {}

local READYZ <const> = "kubectl get --raw '/readyz?verbose'"
local AGAIN <const> = "run the check again; if it repeats, look at the API server: " .. READYZ
local REACH <const> = "see whether the server is reachable from here (address, VPN, proxy): kubectl cluster-info"
local DOCTOR <const> = "aicr-run doctor"
local AGAIN_RECORDED <const> = "record it again on the cluster, in a run of this check: aicr-run --record DIR %s"
local WHOLE <const> = "add the whole answer to the recording: kubectl get %s -A -o json > RECORDING/%s.json; where "
  .. "that is empty: kubectl get --raw %s"

local RECORDING <const> = "name what --record made, an archive of it, or a folder or file that kubectl get -o json "
  .. "wrote whole: --recording DIR"

local FIX <const> = {
  ["no-cluster"] = "name a cluster or a recording of one: --kubeconfig FILE, --recording DIR",
  ["config-not-found"] = "name a kubeconfig: --kubeconfig FILE, or KUBECONFIG=FILE",
  ["config-invalid"] = "correct the file at the place named, then look: kubectl config view --minify",
  ["config-unsupported-auth"] = "let the user of the context log in with a certificate, a token or a credential "
    .. "plug-in: kubectl config set-credentials --help",
  ["context-not-found"] = "choose one that is there, --context NAME: kubectl config get-contexts",
  ["exec-plugin-refused"] = "leave out --no-exec-plugins, or choose a context whose user has a certificate or a token: "
    .. "kubectl config get-contexts",
  ["exec-plugin-not-found"] = "install the plug-in that the message names, or put it on PATH; then: " .. DOCTOR,
  ["exec-plugin-failed"] = "run the plug-in by hand, or log in again, then: kubectl auth whoami",
  ["recording-missing"] = RECORDING,
  ["recording-empty"] = RECORDING,
  ["recording-invalid"] = RECORDING,
  ["recording-too-large"] = "record less, or only what the checks read: --record DIR",
  ["no-libarchive"] = "apt-get install libarchive13; or unpack it, and name the folder: --recording DIR",
  ["recorded-end"] = "record the check again, with more time: --record DIR --set CHECK.timeout=30m",
  ["recording-changed"] = "run again when nothing writes to the recording any more",
  ["undeclared-permission"] = "add the line that the message names to the check's needs",
  invalid = "correct the fields that the message names: kubectl explain RESOURCE --recursive",
  ["bad-request"] = "correct what the check asks for, by what the server says of it: kubectl explain RESOURCE",
  unauthenticated = "renew the credentials (log in again, or ask for a new kubeconfig); see which are used: "
    .. "kubectl config view --minify",
  ["api-not-served"] = "install what serves this API, then look: kubectl api-resources",
  connect = REACH,
  dns = "see whether the server's name is right and known here: kubectl config view --minify "
    .. "-o jsonpath='{.clusters[0].cluster.server}'",
  ["proxy-dns"] = "correct the proxy's name in HTTPS_PROXY or in the kubeconfig: env | grep -i proxy",
  ["proxy-refused"] = "let the proxy connect to the server, or go past it: NO_PROXY=HOST, or proxy-url in the "
    .. "kubeconfig: kubectl config view --minify",
  ["tls-verify"] = "give the authority that signed the server's certificate: "
    .. "kubectl config set-cluster NAME --certificate-authority=FILE --embed-certs",
  ["tls-handshake"] = "see whether a TLS server is at that address, and what a proxy makes of it: kubectl cluster-info",
  ["tls-config"] = "correct the certificate or key that the kubeconfig names: kubectl config view --minify",
  ["connection-lost"] = AGAIN,
  ["page-not-found"] = AGAIN,
  deadline = AGAIN,
  throttled = AGAIN,
  unavailable = AGAIN,
  ["server-timeout"] = AGAIN,
  protocol = "see whether that address is a Kubernetes API server: kubectl version",
  ["unexpected-response"] = "see whether that address is a Kubernetes API server: kubectl version",
  ["response-too-large"] = "ask for less at once: one namespace, a selector, fewer lines of a log, less output "
    .. "of a command",
  ["read-only"] = "run it on the cluster itself: --kubeconfig FILE",
  ["redirect-refused"] = "name the server itself, not what leads to it: kubectl config view --minify",
  ["discovery-incomplete"] = "see which API is down: kubectl get apiservices",
  transport = DOCTOR,
  ambiguous = "name the resource with its group, as the message lists them: kubectl api-resources",
  ["scope-mismatch"] = "see whether it lies in a namespace, and name one or none accordingly: kubectl api-resources",
  ["method-not-allowed"] = "see what may be done with this resource: kubectl api-resources -o wide",
  ["not-acceptable"] = "see which version this server is of, and what stands before it: kubectl version",
  ["unsupported-media"] = 'take another kind of patch, custom resources know no "strategic" one: '
    .. "kubectl explain RESOURCE",
  ["bad-encoding"] = "see what a proxy on the way makes of answers, or go past it: NO_PROXY=HOST",
  ["too-large"] = "make the object or the question smaller: a ConfigMap holds 1 MiB, a request 3 MiB",
  ["stream-overflow"] = "follow less at once: one namespace, a selector",
  malformed = "correct the text at the place named",
  process = "see whether the program is there and may be started, and how many processes may run: ulimit -u",
  ["bad-need"] = "correct the line of the check's needs that the message names",
  conflict = "see who owns the fields or changed the object meanwhile: kubectl get RESOURCE NAME -o yaml "
    .. "--show-managed-fields",
  memory = "let the check keep less at once: each() instead of list(), and no growing tables",
  budget = "look for a loop in the check that does not end",
  script = "correct the check at the place named",
  interrupted = "run again",
  canceled = "run again",
  ["invalid-constraint"] = 'correct the constraint in the recipe: OP NUMBER, such as ">= 250"',
  coverage = "see in the evidence which part could not be verified, or run without --strict",
}

local MISSPELT <const> = { ["api-not-served"] = true, ["not-recorded"] = true, ["bad-request"] = true }

--- What to do where the client knows a resource whose name is near to the one that was asked for.
--- @param out table reason, message
--- @return string|nil
function M.misspelt(out)
  local near = MISSPELT[out.reason] and (out.message or ""):match('did you mean "([^"]+)"%?')
  return near and ("write %s in the check and in its needs, if that is meant"):format(near)
end

local WEBHOOK <const> = "ask who runs the webhook that the message names: kubectl get "
  .. "validatingwebhookconfigurations,mutatingwebhookconfigurations"

-- A refusal that no role lifts: text of the server → what to do.
local REFUSALS <const> = {
  { "admission webhook", WEBHOOK },
  { "exceeded quota", "make room in the quota: kubectl describe resourcequota -A" },
  { "violates PodSecurity", "choose a namespace that allows such pods: kubectl get namespaces -L "
    .. "pod-security.kubernetes.io/enforce" },
  { "being terminated", "wait until the namespace is gone, or choose another one: --namespace NS" },
}

local BY_MESSAGE = {}

local ADMISSION <const> = "no role lifts that; see what decides there: kubectl get resourcequota,limitrange -A; "
  .. "kubectl get validatingadmissionpolicies"

function BY_MESSAGE.forbidden(item, text)
  for _, refusal in ipairs(REFUSALS) do
    if text:find(refusal[1], 1, true) then
      return refusal[2]
    end
  end
  return text:find("refused by admission control", 1, true) and ADMISSION or item.grant or rbac.command(item)
end

BY_MESSAGE.unauthorized = BY_MESSAGE.forbidden

BY_MESSAGE["not-available"] = function(item)
  return ("leave it out: --skip %s; or use a release that has it"):format(item.name or "NAME")
end

BY_MESSAGE["server-error"] = function(_, text)
  return text:find("failed calling webhook", 1, true) and WEBHOOK or AGAIN
end

function BY_MESSAGE.invalid(_, text)
  local policy = text:match "ValidatingAdmissionPolicy '([%w.-]+)'"
  return policy and ("see what this policy asks for: kubectl get validatingadmissionpolicy %s -o yaml"):format(policy)
    or FIX.invalid
end

-- What every API server serves was not found: it is not an API server's address, or something before it has a path.
BY_MESSAGE["discovery-incomplete"] = function(_, text)
  return text:find("page not found, and discovery cannot tell", 1, true)
    and "see whether the server's address, path and all, is an API server's: kubectl config view --minify -o "
      .. "jsonpath='{.clusters[0].cluster.server}'; if it is, which API is down: kubectl get apiservices"
    or FIX["discovery-incomplete"]
end

-- A webhook gave an object another name: it is there, and nobody removes it.
BY_MESSAGE["unexpected-response"] = function(_, text)
  local resource, name = text:match '^%l+ ([%w.-]+).-: metadata%.name is "([%w.-]+)", not "'
  return resource and ("see which webhook renames it (kubectl get mutatingwebhookconfigurations), then kubectl delete "
    .. "%s %s where it is: kubectl get %s -A -l app.kubernetes.io/managed-by=aicr-run"):format(resource, name, resource)
    or FIX["unexpected-response"]
end

BY_MESSAGE["config-invalid"] = function(_, text)
  return text:find "^the environment's %a+_" and "correct the proxy's address, or leave it out: env | grep -i proxy"
    or FIX["config-invalid"]
end

function BY_MESSAGE.timeout(item, text)
  if text:find("server", 1, true) and not text:find("time limit", 1, true) then
    return REACH
  end
  return text:find("the run's time limit", 1, true) and "give the run more time: --timeout 1h"
    or ("give the check more time: --set %s.timeout=30m"):format(item.name)
end

--- The command that finds what runs of some checks left.
--- @param operands string the checks, as words of a command line
--- @param options table|nil of the run
function M.doctor(operands, options)
  local namespace = options and options.namespace
  return ("%s %s%s"):format(DOCTOR, namespace and "-n " .. rbac.shell(namespace) .. " " or "", operands)
end

function BY_MESSAGE.cleanup(item, text)
  local commands = {}
  for command in text:gmatch("remove it with: (kubectl delete [%w%s%./_-]*[%w])") do
    commands[#commands + 1] = command
  end
  for command in text:gmatch("any more: (kubectl patch [%w%s%./_-]* '[^']*')") do
    commands.held = (commands.held or "; what is held goes only then, or where nothing needs that any more: ")
      .. (commands.held and " && " or "") .. command
  end
  local look = text:match "look with: (kubectl get [%w%s%./_=-]*[%w])"
  return #commands > 0 and table.concat(commands, " && ") .. (commands.held or "")
    or look and "look what is left, then kubectl delete it: " .. look
    or "look what is left: " .. M.doctor(rbac.operand(item), item.cluster)
end

BY_MESSAGE["not-recorded"] = function(item, text)
  if text:find("add it with: --record", 1, true) then
    return AGAIN_RECORDED:format(rbac.operand(item))
  elseif text:find("add it with: kubectl logs", 1, true) then
    local pod, namespace = text:match 'pods/log "([%w.-]+)" in namespace "([%w-]+)"'
    pod, namespace = pod or "POD", namespace or "NAMESPACE"
    return ("add the log to the recording: kubectl logs %s -n %s > RECORDING/logs/%s/%s/CONTAINER.log"):format(pod,
      namespace, namespace, pod)
  end
  local resource = text:match "cannot answer %l+ (%l[%l%d.-]*)" or text:match "(%l[%l%d.-]*) was not recorded"
  local plural, group = (resource or ""):match "^([^.]+)%.(.+)$"
  return WHOLE:format(resource or "RESOURCE", plural or resource or "RESOURCE",
    group and ("/apis/%s/VERSION/%s (VERSION: kubectl api-versions)"):format(group, plural)
    or resource and "/api/v1/" .. resource or "PATH")
end

BY_MESSAGE["never-true"] = function(_, text)
  local resource, object
  -- A check may have put before it what it waited for.
  for _, pattern in ipairs { "([%w.-]+) ([%w./-]+): waited", "([%w.-]+) ([%w./-]+): not so in the recording" } do
    if not resource then
      resource, object = (": " .. text):match(": " .. pattern)
    end
  end
  if not resource then
    return "see what held it up: kubectl get events -A --sort-by=.lastTimestamp"
  end
  local namespace, name = object:match "^([%w-]+)/(.+)$"
  if namespace then
    return ("see what held it up: kubectl get events -n %s --field-selector involvedObject.name=%s; and, if the check "
      .. "did not remove it: kubectl get %s %s -n %s -o yaml"):format(namespace, name, resource, name, namespace)
  end
  return ("see what held it up: kubectl get events -A --field-selector involvedObject.name=%s; and, if "
    .. "the check did not remove it: kubectl get %s -A --field-selector metadata.name=%s -o yaml"):format(object,
    resource, object)
end

BY_MESSAGE["namespace-not-found"] = function(_, text)
  return ("make it, or choose another one with --namespace NS: kubectl create namespace %s"):format(
    text:match 'namespaces "([%w.-]+)" not found' or text:match 'in namespace "([%w.-]+)"' or "NS")
end

BY_MESSAGE["not-found"] = function(_, text)
  local install = text:match "install it with: (kubectl [^\n]+)$"
  if install then
    return install
  end
  local resource, rest = text:match '^%l+ ([%l%d.-]+)[%l/]* "[^"]*"(.*)'
  if not resource then
    resource, rest = text:match '([%l%d.-]+) "[^"]*" not found', ""
  end
  local namespace = (rest or ""):match '^ in namespace "([%w-]+)"'
  return resource and ("see which there are: kubectl get %s %s"):format(resource,
    namespace and "-n " .. namespace or "-A")
    or "see what is there, and correct the name in the check: kubectl get RESOURCE -A"
end

BY_MESSAGE["already-exists"] = function(_, text)
  local kind, name = text:match('([%l.]+) "([%w.-]+)" already exists')
  return kind and ("see whose it is, then kubectl delete %s %s, or choose another name: kubectl get %s -A "
    .. "-l app.kubernetes.io/managed-by=aicr-run"):format(kind, name, kind)
    or "see what an earlier run left: " .. DOCTOR
end

BY_MESSAGE["tls-verify"] = function(_, text)
  if text:find("subject name", 1, true) or text:find("does not match", 1, true) then
    return "use an address that the server's certificate names, or tell its name: "
      .. "kubectl config set-cluster NAME --tls-server-name=HOST"
  elseif text:find("expired", 1, true) or text:find("not yet valid", 1, true) then
    return "compare the clocks, then renew the server's certificate: timedatectl status"
  end
  return FIX["tls-verify"]
end

-- What concerns a pod, which the message names.
local OF_POD <const> = {
  ["not-ready"] = "see why its container does not start: kubectl describe pod %s",
  ["no-previous"] = "see how often it was started, and read the log of this run: kubectl get pod %s",
  ["log-unavailable"] = "read it again a little later: kubectl logs %s",
  ["log-gap"] = "see whether it was started again, and how long a log its node keeps: kubectl describe pod %s",
  ["node-gone"] = "see which node it was on, and which there are (kubectl get nodes): kubectl get pod %s -o wide",
  ["node-unreachable"] = "see its node, and whether the API server reaches its port 10250: kubectl get pod %s -o wide",
  ["exec-failed"] = "try it by hand: kubectl exec %s -- COMMAND",
  ["exec-unknown-exit"] = "see whether it still runs, and was not restarted: kubectl get pod %s -o wide",
}

local function of_pod(text, message)
  local pod, namespace = message:match('pods[/%l]* "([%w.-]+)" in namespace "([%w-]+)"')
  return text:format(("%s -n %s"):format(pod or "POD", namespace or "NAMESPACE"))
end

for reason, text in pairs(OF_POD) do
  BY_MESSAGE[reason] = function(_, message)
    return of_pod(text, message)
  end
end

BY_MESSAGE["subresource-not-served"] = function(_, message)
  local resource = message:match("^%l+ ([%w.-]+)/") or "RESOURCE"
  return ("see which subresources its definition has: kubectl get crd %s -o yaml"):format(resource)
end

-- What concerns a namespace that the message names.
local OF_NAMESPACE <const> = {
  ["namespace-foreign"] = "see whose it is; if nobody needs it: kubectl delete namespace %s",
  ["namespace-in-use"] = "wait until the other run is over, or see what it is: kubectl get pods -o wide -n %s",
  ["namespace-terminating"] = "see what holds it: kubectl get namespace %s -o yaml",
  locked = "wait until the other run is over, or see what it is: kubectl get leases,pods -n %s",
  ["lock-lost"] = "when the run that holds it is over: kubectl delete namespace %s",
  ["job-terminating"] = "see what holds it: kubectl get trainjobs.trainer.kubeflow.org -o yaml -n %s",
}

for reason, text in pairs(OF_NAMESPACE) do
  BY_MESSAGE[reason] = function(_, message)
    return text:format(message:match "namespace ([%w-]+)" or "NAMESPACE")
  end
end

local CONTROLLERS <const> = "see whether the controllers of JobSet and Trainer are at work: "
  .. "kubectl get pods -n jobset-system && kubectl get pods -n kubeflow-system"
FIX["trainer-not-ready"], FIX["runtime-not-visible"], FIX["launcher-missing"] = CONTROLLERS, CONTROLLERS, CONTROLLERS

FIX["object-changed"] = "see who changes such objects, and let it leave out the namespaces of aicr-run: "
  .. "kubectl get mutatingwebhookconfigurations"

-- A run whose namespace is gone: what it wrote is in the report, its node is still there.
local function of_launcher(item, message)
  local node = message:match "^the launcher %S+ on ([%w.-]+)"
  return ("read launcher.log and workers.txt among its attachments (aicr-run -f json %s), and see %s"):format(
    rbac.shell(item.name), node and "its node: kubectl describe node " .. node or "the nodes: kubectl get nodes")
end

for _, reason in ipairs { "launcher-failed", "launcher-deleted", "launcher-timeout", "job-failed" } do
  BY_MESSAGE[reason] = of_launcher
end

function BY_MESSAGE.expired(_, message)
  return message:find("HTTP 410", 1, true) and AGAIN or FIX.unauthenticated
end

function BY_MESSAGE.deadline(_, message)
  if message:find("the command may", 1, true) then
    return of_pod("give the command more time, or see what it does: kubectl exec %s -- ps", message)
  end
  return FIX.deadline
end

-- What of `kubectl config` reads the cluster of a context.
local function reads_context(rest)
  return not rest:find "^config " or rest:find "^config view" ~= nil
end

-- What is another's: the administrator's kubeconfig.
local ANOTHERS <const> = " --kubeconfig ADMIN_KUBECONFIG"

local COMMANDS <const> = { "kubectl ", "aicr-run doctor" }

-- How a run of a check begins: with its name, which has a hyphen, or with an option.
local RUNS <const> = { "(%l[%l%d]*%-[%l%d])", "(%-%-record )", "(%-f json )", "(%-vv? )" }
local SAME <const> = { "kubeconfig", "context", "recipe", "platform", "namespace" }
-- Runs that look again at a recording; others need its cluster.
local LOOKS <const> = { "(%-f json )", "(%-vv? )" }
local RECORDED <const> = { "recording", "recipe", "platform", "namespace" }

-- Runs of checks with what this run was about: without its recipe a benchmark is skipped.
local function same_run(fix, options)
  local words = {}
  for _, name in ipairs(options.recording and RECORDED or SAME) do
    words[#words + 1] = options[name] and ("--%s %s "):format(name, rbac.shell(options[name])) or nil
  end
  local with = "aicr-run " .. table.concat(words):gsub("%%", "%%%%") .. "%1"
  for _, run in ipairs(options.recording and LOOKS or RUNS) do
    fix = fix:gsub("%f[%w-]aicr%-run " .. run, with)
  end
  return fix
end

--- A fix whose commands speak to the cluster of the run: with its --kubeconfig and --context. One that runs checks is
--- also about the same recipe, platform and namespace, one that looks again about the same recording.
--- @param fix string|nil
--- @param options table|nil of the run
function M.on_cluster(fix, options)
  options = options or {}
  fix = fix and same_run(fix, options)
  if not fix or options.recording or not (options.kubeconfig or options.context) then
    return fix
  end
  local file = options.kubeconfig and " --kubeconfig " .. rbac.shell(options.kubeconfig) or ""
  local context = options.context and " --context " .. rbac.shell(options.context) or ""
  local out, from = {}, 1
  while true do
    local first, last
    for _, command in ipairs(COMMANDS) do
      local a, b = fix:find("%f[%w-]" .. command:gsub("%-", "%%-"), from)
      if a and (not first or a < first) then
        first, last = a, b
      end
    end
    if not first then
      out[#out + 1] = fix:sub(from)
      return table.concat(out)
    end
    local word = fix:sub(first, last):gsub(" $", "")
    local rest = fix:sub(first + #word)
    local own = rest:sub(1, #ANOTHERS) ~= ANOTHERS
    out[#out + 1] = fix:sub(from, first - 1) .. word .. (own and file or "")
      .. (own and reads_context(fix:sub(last + 1)) and context or "")
    from = first + #word
  end
end

--- The general fix for a reason, or nil.
--- @param reason string|nil
--- @param item table|nil the planned check: name, path, grant (the command that gives it its permissions)
--- @param message string|nil what happened
function M.fix(reason, item, message)
  local by_message = BY_MESSAGE[reason]
  if by_message then
    return by_message(item or { name = "CHECK" }, message or "")
  end
  return FIX[reason]
end

return M
