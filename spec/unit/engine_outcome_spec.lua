-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local json = require "aicr.json"
local outcome = require "aicr.engine.outcome"

local ITEM <const> = {
  name = "x", timeout_ms = 120000,
  meta = { fixes = { ["too-few"] = "add some", ["mapping-mismatch"] = "apply it again" } },
}

local FAIL <const> = {
  kind = "fail", code = "NOT_FOUND", reason = "too-few", message = "7 of 8",
  at = { file = "c.lua", line = 31 },
}
local SKIP <const> = { kind = "skip", reason = "not-declared", message = "not in the recipe" }
local FALSE <const> = { what = "gpus", op = "==", expected = 8, actual = 7, ok = false }
local TRUE <const> = { what = "gpus", op = "==", expected = 8, actual = 8, ok = true }
local EXPECTATION <const> = {
  kind = "expectation", code = "CONFLICT", reason = "expectation",
  message = "gpus: got 7, required == 8",
}

local function returned(result)
  return { how = "returned", result = result, result_type = type(result) }
end

local function raised(err)
  return { how = "error", error = err, at = { file = "c.lua", line = 9 } }
end

local function of(ending, record, options)
  return outcome.of({ kind = "done", ending = ending, record = record or {} }, ITEM, options)
end

local UNDECLARED <const> = { kind = "error", code = "INVALID_REQUEST", reason = "undeclared-permission",
  message = "the check does not declare \"get pods\"" }

-- what happened, ending, record, expected {outcome, code, reason}
local ROWS <const> = {
  { "a phrase, no expectation", returned "8 bound", {}, { "pass" } },
  { "a phrase, true expectations", returned "8 bound", { expectations = { TRUE } }, { "pass" } },
  { "nothing, a true expectation", returned(nil), { expectations = { TRUE } }, { "pass" } },
  { "nothing, no expectation", returned(nil), {}, { "error", "INTERNAL", "script" } },
  { "a number", { how = "returned", result_type = "number" }, {},
    { "error", "INTERNAL", "script" } },
  { "a boolean, though an expectation holds", { how = "returned", result_type = "boolean" },
    { expectations = { TRUE } }, { "error", "INTERNAL", "script" } },
  { "a false expectation", returned "fine", { endings = { EXPECTATION }, expectations = { FALSE } },
    { "fail", "CONFLICT", "expectation" } },
  { "a false expectation with options", returned "fine",
    { endings = { { kind = "expectation", code = "TIMEOUT", reason = "slow", message = "slow" } },
      expectations = { FALSE } }, { "fail", "TIMEOUT", "slow" } },
  { "a false expectation that no ending names", returned "fine", { expectations = { FALSE } },
    { "fail", "CONFLICT", "expectation" } },
  { "a measure below its limit", returned "fine",
    { measures = { { name = "bw", value = 1, unit = "GB/s", limit = ">= 2", ok = false } } },
    { "fail", "CONFLICT", "expectation" } },
  { "ctx:fail", { how = "ended" }, { endings = { FAIL } }, { "fail", "NOT_FOUND", "too-few" } },
  { "ctx:fail that was caught, and a phrase", returned "fine", { endings = { FAIL } },
    { "fail", "NOT_FOUND", "too-few" } },
  { "ctx:fail, then a Lua error", { how = "script", message = "boom" }, { endings = { FAIL } },
    { "fail", "NOT_FOUND", "too-few" } },
  { "ctx:fail, then an error object", raised { code = "INTERNAL", reason = "malformed",
    message = "m" },
    { endings = { FAIL } }, { "fail", "NOT_FOUND", "too-few" } },
  { "ctx:fail, then the deadline", { how = "deadline" }, { endings = { FAIL } },
    { "fail", "NOT_FOUND", "too-few" } },
  { "ctx:fail, then a signal", { how = "canceled", reason = "SIGINT" }, { endings = { FAIL } },
    { "fail", "NOT_FOUND", "too-few" } },
  { "a false expectation, then memory", { how = "memory" },
    { endings = { EXPECTATION }, expectations = { FALSE } },
    { "fail", "CONFLICT", "expectation" } },
  { "a skip that was caught, then a fail", { how = "ended" }, { endings = { SKIP, FAIL } },
    { "fail", "NOT_FOUND", "too-few" } },
  { "ctx:skip", { how = "ended" }, { endings = { SKIP } }, { "skip", nil, "not-declared" } },
  { "ctx:skip that was caught, and a phrase", returned "fine", { endings = { SKIP } },
    { "skip", nil, "not-declared" } },
  { "ctx:skip that was caught, then a Lua error", { how = "script", message = "boom" },
    { endings = { SKIP } },
    { "error", "INTERNAL", "script" } },
  { "ctx:skip that was caught, then the deadline", { how = "deadline" }, { endings = { SKIP } },
    { "error", "TIMEOUT", "timeout" } },
  { "an eventually that was never true", { how = "ended" },
    { endings = { { kind = "fail", code = "TIMEOUT", reason = "never-true",
      message = "last seen: 1 of 2" } } },
    { "fail", "TIMEOUT", "never-true" } },
  { "an error object with verdict", raised { code = "INVALID_REQUEST", reason = "mapping-mismatch",
    message = "m",
    verdict = true }, {}, { "fail", "INVALID_REQUEST", "mapping-mismatch" } },
  { "an error object without verdict", raised { code = "UNAUTHORIZED", reason = "forbidden",
    message = "m",
    verdict = false }, {}, { "error", "UNAUTHORIZED", "forbidden" } },
  { "an error object whose verdict is null",
    raised { code = "INTERNAL", reason = "not-recorded", message = "m",
    verdict = json.null }, {}, { "error", "INTERNAL", "not-recorded" } },
  { "a request that is not declared, then an error object with verdict", raised { code = "NOT_FOUND",
    reason = "not-found", message = "m", verdict = true }, { endings = { UNDECLARED } },
    { "error", "INVALID_REQUEST", "undeclared-permission" } },
  { "a request that is not declared, and a phrase", returned "fine", { endings = { SKIP, UNDECLARED } },
    { "error", "INVALID_REQUEST", "undeclared-permission" } },
  { "an empty phrase", returned "", {}, { "error", "INTERNAL", "script" } },
  { "a phrase of blanks", returned " \n\t", {}, { "error", "INTERNAL", "script" } },
  { "an empty phrase, and expectations that hold", returned "", { expectations = { TRUE } }, { "pass" } },
  { "the deadline", { how = "deadline" }, {}, { "error", "TIMEOUT", "timeout" } },
  { "the deadline, though expectations hold", { how = "deadline" }, { expectations = { TRUE } },
    { "error", "TIMEOUT", "timeout" } },
  { "a signal", { how = "canceled", reason = "SIGTERM" }, {},
    { "error", "CANCELED", "interrupted" } },
  { "a Lua error", { how = "script", message = "boom", at = { at = { file = "c.lua", line = 3 } } },
    {},
    { "error", "INTERNAL", "script" } },
  { "memory", { how = "memory" }, {}, { "error", "INTERNAL", "memory" } },
  { "instructions", { how = "budget" }, {}, { "error", "INTERNAL", "budget" } },
  { "a pass whose clean-up failed", returned "fine",
    { cleanup = { ok = false, message = "pod stays" } },
    { "error", "INTERNAL", "cleanup" } },
  { "a skip whose clean-up failed", { how = "ended" },
    { endings = { SKIP }, cleanup = { ok = false } },
    { "error", "INTERNAL", "cleanup" } },
  { "a fail whose clean-up failed", { how = "ended" },
    { endings = { FAIL }, cleanup = { ok = false } },
    { "fail", "NOT_FOUND", "too-few" } },
  { "an error whose clean-up failed", { how = "deadline" }, { cleanup = { ok = false } },
    { "error", "TIMEOUT", "timeout" } },
  { "a clean-up that worked", returned "fine", { cleanup = { ok = true } }, { "pass" } },
  { "an ending of no known kind", { how = "nonsense" }, {}, { "error", "INTERNAL", "script" } },
  { "no ending at all", json.null, json.null, { "error", "INTERNAL", "script" } },
}

describe("the outcome of a check", function()
  for _, row in ipairs(ROWS) do
    it("is " .. row[4][1] .. " for " .. row[1], function()
      local out = of(row[2], row[3])
      assert.equal(row[4][1], out.outcome)
      assert.equal(row[4][2], out.code)
      assert.equal(row[4][3], out.reason)
      assert.is_string(out.outcome == "pass" and out.result or out.message)
      assert.is_string(out.result)
    end)
  end

  it("keeps the phrase that the check returned", function()
    assert.equal("8 bound", of(returned "8 bound").result)
    assert.equal("2 expectations hold", of(returned(nil), { expectations = { TRUE, TRUE } }).result)
  end)

  it("names place, message and fix of a fail", function()
    local out = of({ how = "ended" }, { endings = { FAIL } })
    assert.same({ "c.lua", 31, "7 of 8", "add some" }, { out.file, out.line, out.message, out.fix })
  end)

  it("prefers the fix that the fail gives", function()
    local own = { kind = "fail", code = "CONFLICT", reason = "too-few", message = "m", fix = "mine",
      why = "because" }
    local out = of({ how = "ended" }, { endings = { own } })
    assert.same({ "mine", "because" }, { out.fix, out.why })
  end)

  it("has a next step for the client's and the host's own reasons", function()
    for reason in ([[forbidden unauthenticated not-recorded undeclared-permission api-not-served connect dns proxy-dns
      proxy-refused timeout deadline tls-verify tls-handshake tls-config connection-lost unavailable throttled
      server-error server-timeout protocol redirect-refused discovery-incomplete transport conflict already-exists
      config-invalid not-found never-true bad-request invalid
      config-not-found context-not-found config-unsupported-auth exec-plugin-refused exec-plugin-not-found
      exec-plugin-failed no-cluster
      cleanup coverage memory budget script]]):gmatch "%S+" do
      assert.is_string(of(raised { code = "INTERNAL", reason = reason, message = "m" }).fix, reason)
    end
    assert.truthy(of({ how = "deadline" }).fix:find("--set x.timeout=", 1, true))
    assert.truthy(of({ how = "deadline" }).message:find("time limit of 2m", 1, true))
    local out = of({ how = "deadline", awaited = "list pods", at = { file = "x.lua", line = 7 } })
    assert.same({ "the check did not end within its time limit of 2m; it was at list pods", "x.lua", 7 },
      { out.message, out.file, out.line })
  end)

  local next_steps = {
    { "forbidden", 'list nodes: forbidden (HTTP 403): User "x" cannot list resource "nodes"',
      "aicr-run rbac x > role.yaml && kubectl --kubeconfig ADMIN_KUBECONFIG apply -f role.yaml  # then bind the role "
        .. "as role.yaml says" },
    { "timeout", "stopped: the run's time limit of 5s was over", "give the run more time: --timeout 1h" },
    { "timeout", "not started: the run's time limit of 5s was over", "give the run more time: --timeout 1h" },
    { "not-found", 'get pods "p-0" in namespace "n": not found (HTTP 404): pods "p-0" not found',
      "see which there are: kubectl get pods -n n" },
    { "not-found", 'get networks.networking.gke.io "vpc1": not found (HTTP 404)',
      "see which there are: kubectl get networks.networking.gke.io -A" },
    { "not-found", 'get pods/log "p-0" in namespace "n": not found (HTTP 404)',
      "see which there are: kubectl get pods -n n" },
    { "not-found", 'there is no $(id) "x"', "see what is there, and correct the name in the check: kubectl get "
      .. "RESOURCE -A" },
    { "namespace-not-found", 'create pods in namespace "n": the namespace does not exist '
      .. '(HTTP 404): namespaces "n" not '
      .. "found", "make it, or choose another one with --namespace NS: kubectl create namespace n" },
    { "never-true", "jobs.batch j: waited 5s for condition=Complete; last seen: absent",
      "see what held it up: kubectl get events -A --field-selector involvedObject.name=j; and, if the check did not "
      .. "remove it: kubectl get jobs.batch -A --field-selector metadata.name=j -o yaml" },
    { "never-true", "pods n/p.q: waited 5s for the wanted state; last seen: Pending",
      "see what held it up: kubectl get events -n n --field-selector involvedObject.name=p.q; and, if the check did "
      .. "not remove it: kubectl get pods p.q -n n -o yaml" },
    { "never-true", "its pod did not end: pods n/p.q: waited 5s for the wanted state; last seen: Pending",
      "see what held it up: kubectl get events -n n --field-selector involvedObject.name=p.q; and, if the check did "
      .. "not remove it: kubectl get pods p.q -n n -o yaml" },
    { "never-true", "pods p: not so in the recording; waited 5s for the wanted state; last seen: nil",
      "see what held it up: kubectl get events -A --field-selector involvedObject.name=p; and, if the check did not "
      .. "remove it: kubectl get pods -A --field-selector metadata.name=p -o yaml" },
    { "not-recorded", "the recording cannot answer list networks.networking.gke.io: nothing of it was recorded; add it "
      .. "with: kubectl get networks.networking.gke.io -o json",
      "add the whole answer to the recording: kubectl get networks.networking.gke.io -A -o json > "
      .. "RECORDING/networks.json; where that is empty: kubectl get --raw "
      .. "/apis/networking.gke.io/VERSION/networks (VERSION: kubectl api-versions)" },
    { "not-recorded", "the recording cannot answer list pods: nothing of it was recorded; add it with: kubectl get "
      .. "pods -A -o json", "add the whole answer to the recording: kubectl get pods -A -o json > RECORDING/pods.json; "
      .. "where that is empty: kubectl get --raw /api/v1/pods" },
    { "not-recorded", "the recording cannot answer list pods: index.jsonl has no line of it; add it with: --record, in "
      .. "a run of this check", "record it again on the cluster, in a run of this check: aicr-run --record DIR x" },
    { "not-recorded", 'the recording cannot answer get pods/log "p" in namespace "n": this log was not recorded; add '
      .. "it with: kubectl logs (as logs/NAMESPACE/POD/CONTAINER.log), or --record",
      "add the log to the recording: kubectl logs p -n n > RECORDING/logs/n/p/CONTAINER.log" },
    { "cleanup", "a Pod of which no answer came may be left (x); look with: kubectl get pod -n n -l aicr-run/run=r",
      "look what is left, then kubectl delete it: kubectl get pod -n n -l aicr-run/run=r" },
    { "cleanup", "no message", "look what is left: aicr-run doctor x" },
    { "forbidden", 'create pods: forbidden (HTTP 403): admission webhook "w" denied the request: no',
      "ask who runs the webhook that the message names: kubectl get "
      .. "validatingwebhookconfigurations,mutatingwebhookconfigurations" },
    { "server-error", 'create pods: server-error (HTTP 500): failed calling webhook "w": no such host',
      "ask who runs the webhook that the message names: kubectl get "
      .. "validatingwebhookconfigurations,mutatingwebhookconfigurations" },
    { "forbidden", "create pods: forbidden (HTTP 403): exceeded quota: q, requested: pods=1",
      "make room in the quota: kubectl describe resourcequota -A" },
    { "forbidden", "create pods: refused by admission control (HTTP 403): no service account",
      "no role lifts that; see what decides there: kubectl get resourcequota,limitrange -A; "
      .. "kubectl get validatingadmissionpolicies" },
    { "subresource-not-served", "patch widgets.acme.com/status: the API is served, but has no subresource status",
      "see which subresources its definition has: kubectl get crd widgets.acme.com -o yaml" },
    { "tls-verify", "SSL certificate problem: unable to get local issuer certificate",
      "give the authority that signed the server's certificate: kubectl config set-cluster NAME "
      .. "--certificate-authority=FILE --embed-certs" },
    { "tls-verify", "SSL: no alternative certificate subject name matches target host name '198.18.0.3'",
      "use an address that the server's certificate names, or tell its name: kubectl config set-cluster NAME "
      .. "--tls-server-name=HOST" },
    { "timeout", "the server did not answer in time",
      "see whether the server is reachable from here (address, VPN, proxy): kubectl cluster-info" },
    { "timeout", "the check did not end within its time limit of 2m",
      "give the check more time: --set x.timeout=30m" },
    { "already-exists", 'pods "probe" already exists', "see whose it is, then kubectl delete pods probe, or choose "
      .. "another name: kubectl get pods -A -l app.kubernetes.io/managed-by=aicr-run" },
    { "cleanup", "clean-up could not be confirmed: -n a pod/x is left; remove it with: kubectl delete -n a pod/x; "
      .. "-n b job.batch/y is left, held by z; remove it with: kubectl delete -n b job.batch/y",
      "kubectl delete -n a pod/x && kubectl delete -n b job.batch/y" },
    { "cleanup", "-n a pod/x is left, held by z; remove it with: kubectl delete -n a pod/x, which waits for what "
      .. "holds it, and where nothing needs that any more: kubectl patch -n a pod/x --type merge -p "
      .. [['{"metadata":{"finalizers":null}}']],
      "kubectl delete -n a pod/x; what is held goes only then, or where nothing needs that any more: kubectl patch "
      .. [[-n a pod/x --type merge -p '{"metadata":{"finalizers":null}}']] },
    { "invalid", 'create configmaps: invalid (HTTP 422): configmaps "x" is forbidden: ValidatingAdmissionPolicy '
      .. "'p.example.com' with binding 'b' denied request: no",
      "see what this policy asks for: kubectl get validatingadmissionpolicy p.example.com -o yaml" },
    { "invalid", "create pods: invalid (HTTP 422): spec.containers: Required value",
      "correct the fields that the message names: kubectl explain RESOURCE --recursive" },
    { "discovery-incomplete", "list nodes: page not found, and discovery cannot tell whether the API is served",
      "see whether the server's address, path and all, is an API server's: kubectl config view --minify -o "
      .. "jsonpath='{.clusters[0].cluster.server}'; if it is, which API is down: kubectl get apiservices" },
    { "discovery-incomplete", "widgets.acme.com: the server of this API did not answer",
      "see which API is down: kubectl get apiservices" },
    { "unexpected-response", 'create configmaps: unexpected response (HTTP 201, content type "application/json"): '
      .. 'metadata.name is "renamed", not "mine": "{"…', "see which webhook renames it (kubectl get "
      .. "mutatingwebhookconfigurations), then kubectl delete configmaps renamed where it is: kubectl get configmaps "
      .. "-A -l app.kubernetes.io/managed-by=aicr-run" },
    { "unexpected-response", 'list pods: unexpected response (HTTP 200, content type "text/html"): "<html>"',
      "see whether that address is a Kubernetes API server: kubectl version" },
    { "config-invalid", "the environment's HTTPS_PROXY has no valid host",
      "correct the proxy's address, or leave it out: env | grep -i proxy" },
  }
  for i, row in ipairs(next_steps) do
    it(("has the next step that fits what is told: %s %d"):format(row[1], i), function()
      assert.equal(row[3], of(raised { code = "INTERNAL", reason = row[1], message = row[2] }).fix)
    end)
  end

  it("tells of a canceled check that its clean-up ran", function()
    assert.equal("the check was canceled: SIGINT; its clean-up ran to its end",
      of({ how = "canceled", reason = "SIGINT", cleaned = true }).message)
    assert.equal("the check was canceled: SIGINT", of({ how = "canceled", reason = "SIGINT" }).message)
  end)

  it("grants to a file on disk by its path, in the namespace of the run", function()
    local advice = require "aicr.engine.advice"
    assert.equal("aicr-run rbac 'a b/c.lua' > role.yaml && kubectl --kubeconfig ADMIN_KUBECONFIG apply -f role.yaml  "
      .. "# then bind the role as role.yaml says",
      advice.fix("forbidden", { name = "c", path = "a b/c.lua", origin = "file" }))
    assert.equal("x", advice.fix("forbidden", { name = "c", grant = "x" }))
  end)

  it("looks at the first node that differs, as a shell takes its name", function()
    local function fix(key, rows)
      return outcome.finish({
        outcome = "fail", code = "CONFLICT", reason = "r", message = "m",
        details = { diff = { key = key, left = "a", right = "b", rows = rows } },
      }, { name = "x", meta = { fixes = { r = "kubectl describe node NODE; NODES of NODE" } } }).fix
    end
    local SAME <const>, OTHER <const> = { k = "n1", l = "1", r = "1" }, { k = "n2", l = "1", r = "0" }
    assert.equal("kubectl describe node n2; NODES of n2", fix("node", { SAME, OTHER }))
    assert.equal("kubectl describe node NODE; NODES of NODE", fix("node", { SAME }))
    assert.equal("kubectl describe node NODE; NODES of NODE", fix("position", { OTHER }))
    assert.equal("kubectl describe node '%1;x'; NODES of '%1;x'", fix("node", { { k = "%1;x", l = "1", r = "0" } }))
  end)

  it("speaks to the cluster of the run", function()
    local on = require "aicr.engine.advice".on_cluster
    local BOTH <const> = { kubeconfig = "a b", context = "c" }
    for fix, wanted in pairs {
      ["kubectl get pods && kubectl delete pod x"] =
        "kubectl --kubeconfig 'a b' --context c get pods && kubectl --kubeconfig 'a b' --context c delete pod x",
      ["see: kubectl config view --minify"] = "see: kubectl --kubeconfig 'a b' --context c config view --minify",
      ["see: kubectl config get-contexts"] = "see: kubectl --kubeconfig 'a b' config get-contexts",
      ["aicr-run rbac x > role.yaml && kubectl --kubeconfig ADMIN_KUBECONFIG apply -f role.yaml; kubectl get y"] =
        "aicr-run rbac x > role.yaml && kubectl --kubeconfig ADMIN_KUBECONFIG apply -f role.yaml; "
        .. "kubectl --kubeconfig 'a b' --context c get y",
      ["run it: aicr-run nccl-all-reduce-bw -o x.json; a defect of aicr-run itself"] =
        "run it: aicr-run --kubeconfig 'a b' --context c nccl-all-reduce-bw -o x.json; a defect of aicr-run itself",
      ["look with: aicr-run -vv 'my x.lua'"] = "look with: aicr-run --kubeconfig 'a b' --context c -vv 'my x.lua'",
      ["again: aicr-run doctor"] = "again: aicr-run doctor --kubeconfig 'a b' --context c",
      ["my-kubectl get nodes"] = "my-kubectl get nodes",
    } do
      assert.equal(wanted, on(fix, BOTH))
      assert.equal(fix, on(fix, {}))
      local again = fix:gsub("aicr%-run %-vv", "aicr-run --recording r -vv")
      assert.equal(again, on(fix, { context = "c", recording = "r" }))
    end
    assert.equal("kubectl --context c get x", on("kubectl get x", { context = "c" }))
    assert.is_nil(on(nil, BOTH))
    local out = outcome.finish({ outcome = "fail", code = "CONFLICT", reason = "r", message = "m" },
      { name = "x", meta = { fixes = { r = "kubectl get x" } }, cluster = { kubeconfig = "k" } })
    assert.equal("kubectl --kubeconfig k get x", out.fix)
    out = outcome.finish({ outcome = "error", reason = "r", message = "m" },
      { name = "x", meta = { fixes = { r = "aicr-run my-check (aicr-run --record DIR my-check)" } },
        cluster = { recipe = "50%1.yaml" } })
    assert.equal("aicr-run --recipe 50%1.yaml my-check (aicr-run --recipe 50%1.yaml --record DIR my-check)", out.fix)
  end)

  it("names the pod that the message names", function()
    local function fix(reason, message)
      return of(raised { code = "INTERNAL", reason = reason, message = message }).fix
    end
    local EXEC <const> = 'exec pods "p-0" in namespace "n": '
    assert.equal("try it by hand: kubectl exec p-0 -n n -- COMMAND", fix("exec-failed", EXEC .. "x"))
    assert.matches("kubectl describe pod p%-0 %-n n$",
      fix("not-ready", 'get pods/log "p-0" in namespace "n": the container has not started (HTTP 204)'))
    for _, reason in ipairs { "not-ready", "no-previous", "log-unavailable", "log-gap", "node-gone", "node-unreachable",
      "exec-failed", "exec-unknown-exit" } do
      assert.matches("kubectl %l+ .*p%-0 %-n n", fix(reason, EXEC .. "x"))
      assert.matches("POD %-n NAMESPACE", fix(reason, 'exec pods "$(id)" in namespace "n": x'))
    end
    assert.equal("give the command more time, or see what it does: kubectl exec p-0 -n n -- ps",
      fix("deadline", EXEC .. "the deadline passed before the answer came (the command may still run)"))
    assert.matches("readyz", fix("deadline", "get nodes: the deadline passed before the answer came"))
    assert.matches("less output of a command", fix("response-too-large", EXEC .. "x"))
    assert.equal("run it on the cluster itself: --kubeconfig FILE", fix("read-only", "x"))
    assert.matches("^leave it out: %-%-skip %S+; ", fix("not-available", "x"))
  end)

  it("names the resource that may be meant before all else", function()
    local function fix(reason, message, cause)
      return of(raised { code = "NOT_FOUND", reason = reason, message = message, cause = cause }).fix
    end
    local SAID <const> = 'networkz: the API is not served; did you mean "networks.networking.gke.io"?'
    local WRITE <const> = "write networks.networking.gke.io in the check and in its needs, if that is meant; if not: "
    local general = fix("api-not-served", "m")
    assert.equal(WRITE .. general, fix("api-not-served", SAID))
    assert.equal(WRITE .. general, fix("api-not-served", "no networks", { message = SAID }))
    assert.equal(WRITE, fix("not-recorded", SAID):sub(1, #WRITE))
    assert.equal("see what is there", fix("not-found", SAID):sub(1, 17))
  end)

  it("puts the cause behind the message, once", function()
    local function message(cause)
      return of(raised { code = "INTERNAL", reason = "r", message = "cannot list nodes",
        cause = cause }).message
    end
    assert.equal("cannot list nodes: timed out", message { message = "timed out" })
    assert.equal("cannot list nodes: timed out", message "timed out")
    assert.equal("cannot list nodes", message { message = "list nodes" })
    assert.equal("cannot list nodes", message(json.null))
  end)

  it("shows the user's file and line of a Lua error first, once", function()
    local out = of { how = "script", message = "boom", at = { file = "c.lua", line = 3 },
      trace = { "run (c.lua:3)" } }
    assert.same({ "c.lua:3: boom", "c.lua", 3, { "run (c.lua:3)" } },
      { out.message, out.file, out.line, out.trace })
    for _, said in ipairs { "c.lua:3: boom", "lua/aicr/ctx/k8s.lua:38: boom" } do
      assert.equal("c.lua:3: boom", of { how = "script", message = said, at = { file = "c.lua", line = 3 } }.message)
    end
  end)

  it("counts several false expectations and tells the first", function()
    local out = of(returned "x", { endings = { EXPECTATION, EXPECTATION },
      expectations = { FALSE, TRUE, FALSE } })
    assert.equal("2 expectations do not hold; first: gpus: got 7, required == 8", out.message)
  end)

  it("notes what came after a recorded fail, and an unconfirmed clean-up", function()
    local out = of({ how = "script", message = "boom" },
      { endings = { FAIL }, cleanup = { ok = false, message = "pod stays" } })
    assert.same({ "afterwards: boom", "clean-up could not be confirmed: pod stays" }, out.notes)
  end)

  it("says what the clean-up took away", function()
    local out = of(returned "fine", { cleanup = { ok = false, message = "pod stays" } })
    assert.equal("clean-up could not be confirmed: pod stays", out.message)
    assert.same({ "before clean-up: pass, fine" }, out.notes)
  end)

  it("says when the record was full", function()
    assert.same({ "3 more of evidence were not kept: the record is full" },
      of(returned "x", { dropped = { evidence = 3, log = 0 } }).notes)
  end)

  it("takes text and codes as they should be, whatever a check puts there", function()
    local odd = { kind = "fail", code = "BAD", reason = "r", message = { "a", "b" }, why = 5, fix = { k = true } }
    local out = of({ how = "ended" }, { endings = { odd } })
    assert.same({ "CONFLICT", "a, b", "5", "k=true" }, { out.code, out.message, out.why, out.fix })
    assert.equal("INTERNAL", of(raised { code = 7, reason = "r", message = false }).code)
    assert.is_nil(of { how = "script", message = "x", at = { file = "c.lua", line = 0 } }.line)
  end)

  describe("with coverage", function()
    local PART <const> = { coverage = { verified = 1, total = 2 } }

    it("puts the share into the phrase, unless it says so", function()
      assert.equal("fine, 1 of 2 verified", of(returned "fine", PART).result)
      assert.equal("1 of 2 nodes verified", of(returned "1 of 2 nodes verified", PART).result)
      assert.equal("fine", of(returned "fine", { coverage = { verified = 2, total = 2 } }).result)
    end)

    it("fails a strict pass below its total", function()
      local out = of(returned "fine", PART, { strict = true })
      assert.same({ "fail", "CONFLICT", "coverage" }, { out.outcome, out.code, out.reason })
      assert.equal("only 1 of 2 verified: fine", out.message)
      assert.equal("pass", of(returned "fine", { coverage = { verified = 2, total = 2 } },
        { strict = true }).outcome)
    end)

    it("leaves a skip a skip", function()
      local record = { endings = { SKIP }, coverage = { verified = 0, total = 2 } }
      assert.equal("skip", of({ how = "ended" }, record, { strict = true }).outcome)
    end)
  end)

  describe("with a comparison", function()
    local function phrase(diff)
      return of(raised { code = "INVALID_REQUEST", reason = "mapping-mismatch", message = "m",
        verdict = true,
        details = { diff = diff } }).result
    end

    it("counts the rows that differ", function()
      local rows = { { k = "1", l = "a", r = "a" }, { k = "2", l = "b", r = json.null },
        { k = "3", l = "c", r = "d" } }
      assert.equal("2 of 3 positions differ from the recipe",
        phrase { key = "position", left = "recipe", right = "deployed", rows = rows })
      assert.equal("1 of 1 position differs from the recipe",
        phrase { key = "position", left = "recipe", right = "deployed", rows = { rows[2] } })
    end)

    it("takes the message where the comparison has another shape", function()
      for _, diff in ipairs { "x", 7, { rows = "x" },
        { key = 1, left = "a", right = "b", rows = { { k = "1" } } },
        { key = "k", left = "a", right = "b", rows = { "x" } }, json.null, {} } do
        assert.equal("m", phrase(diff))
      end
    end)
  end)
end)

describe("a pass that nothing stands behind", function()
  local NEEDS <const> = { name = "x", path = "x.lua", meta = { needs = { "list nodes" } } }

  local function seen(counts)
    local t = { asked = 0, found = 0, empty = 0, unread = 0, first_empty = "", first_unread = "" }
    for key, value in pairs(counts) do
      t[key] = value
    end
    return t
  end

  local function judged(counts, record, item, strict)
    return outcome.of({ kind = "done", ending = returned "fine", record = record or {}, seen = seen(counts) },
      item or NEEDS, { strict = strict ~= false })
  end

  it("says so in its phrase, and how to do better in a note", function()
    local out = judged({ asked = 1, empty = 1, first_empty = "pods" }, nil, nil, false)
    assert.same({ "pass", "fine; found no pods, and compared nothing" }, { out.outcome, out.result })
    assert.matches("ctx:must", out.notes[1], 1, true)
  end)

  it("is a strict error with what was looked for in vain, in that order", function()
    local out = judged {
      asked = 3, empty = 2, first_empty = "pods", unread = 1, first_unread = "logs, and went on: no",
    }
    assert.same({ "error", "INTERNAL", "nothing-observed" }, { out.outcome, out.code, out.reason })
    assert.equal('found no pods (and 1 more); could not read logs, and went on: no, and compared nothing, so that '
      .. '"fine" was not observed', out.message)
    assert.matches("aicr-run -vv x.lua", out.fix, 1, true)
  end)

  it("is a strict error where it asked nothing; what a library asked in vain the library judges", function()
    assert.matches("asked the cluster nothing", judged({}).message, 1, true)
    assert.same({ "pass", "fine" }, { judged({ asked = 1 }).outcome, judged({ asked = 1 }).result })
  end)

  it("tells what was looked for in vain where there is not even a phrase", function()
    local out = outcome.of({ kind = "done", ending = returned(nil), seen = seen { empty = 1, first_empty = "pods" } },
      NEEDS)
    assert.equal("script", out.reason)
    assert.same({ "found no pods" }, out.notes)
  end)

  it("stays a pass where it is not known what it saw, or nothing is needed", function()
    assert.equal("pass", of(returned "fine").outcome)
    assert.equal("pass", judged({}, {}, ITEM).outcome)
  end)

  it("counts comparisons that were not kept", function()
    assert.equal("pass", judged({ asked = 1 }, { dropped = { expectations = 1 } }).outcome)
  end)

  it("is a strict error for a coverage of none, whatever was compared, and leaves a fail a fail", function()
    local out = judged({ found = 2 }, { expectations = { TRUE }, coverage = { verified = 0, total = 0 } })
    assert.equal("nothing-observed", out.reason)
    assert.matches("verified 0 of 0", out.message, 1, true)
    out = judged({}, { endings = { FAIL }, coverage = { verified = 0, total = 0 } })
    assert.same({ "fail", "too-few" }, { out.outcome, out.reason })
    assert.equal("skip", judged({}, { endings = { SKIP } }).outcome)
  end)

  it("says of one comparison and of a share of them that both sides were absent", function()
    local ABSENT <const> = { what = "a\nb", op = "==", ok = true }
    local out = judged({ found = 1 }, { expectations = { ABSENT } })
    assert.equal("fine; both sides absent in its comparison", out.result)
    out = judged({ found = 1 }, { expectations = { ABSENT, TRUE } })
    assert.equal("fine", out.result)
    assert.same({ "both sides absent in 1 of 2 comparisons, first: a\nb" }, out.notes)
  end)
end)
