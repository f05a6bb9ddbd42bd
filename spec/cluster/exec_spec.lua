-- SPDX-License-Identifier: Apache-2.0
-- ctx.k8s:exec on real kubelets and containerd (kubernetes-client.md 3.4).
require "aicr_native"
local cluster = require "spec.support.cluster"
local cluster_check = require "spec.support.cluster_check"
local files = require "spec.support.files"
local json = require "aicr.json"

local BODY <const> = [[
    local function exec(name, pod, words, opts)
      attempt(name, "exec", pod, ctx.namespace, words, opts)
    end
    local function sh(name, text, opts)
      exec(name, "one", { "sh", "-c", text }, opts)
    end

    sh("both", "echo out; echo err >&2; exit 7")
    sh("nothing", "exit 0")
    exec("words", "one", { "printf", "%s|", "a b", "$(id)", "x\ny", "'\"`\\", "", "ä&=+%41?#", "-n" })
    exec("cat", "one", { "cat" }, { stdin = "hello\nthere" })
    exec("cat nothing", "one", { "cat" }, { stdin = "" })
    sh("no stdin", "cat; echo ended")
    exec("no such command", "one", { "/no/such" })
    exec("a folder", "one", { "/tmp" })
    exec("no such pod", "none", { "true" })
    exec("no such container", "one", { "true" }, { container = "other" })
    exec("none chosen", "two", { "true" })
    exec("a", "two", { "sh", "-c", "echo $WHO" }, { container = "a" })
    exec("b", "two", { "sh", "-c", "echo $WHO" }, { container = "b" })
    exec("waiting", "waiting", { "true" })
    exec("unscheduled", "unscheduled", { "true" })
    exec("finished", "finished", { "true" })
    exec("gone", "gone", { "true" })
    exec("unreachable", "unreachable", { "true" })
    exec("dies", "dies", { "sh", "-c", "echo out; sleep 0.3; kill -TERM 1; sleep 60" })
    sh("too late", "echo out; sleep 60", { timeout = "1s" })

    local runs = {}
    for code = 0, 255 do
      runs[code + 1] = function()
        return ctx.k8s:exec("one", ctx.namespace, { "sh", "-c", "exit " .. code }).code
      end
    end
    note("codes", ctx:all(runs))

    local function sizes(name, ...)
      local result = ctx.k8s:exec("one", ctx.namespace, ...)
      local same = result.stdout == ("0123456789abcde\n"):rep(#result.stdout // 16)
      note(name, { size = #result.stdout, same = same, errors = #result.stderr, code = result.code })
    end
    sizes("much", { "sh", "-c", "yes 0123456789abcde | head -c 10485760; head -c 100000 /dev/zero >&2" })
    sizes("echoed", { "cat" }, { stdin = ("0123456789abcde\n"):rep(1 << 18) })
    sh("too much", "head -c 17000000 /dev/zero")

    local bytes = {}
    for i = 0, 255 do
      bytes[#bytes + 1] = string.char(i)
    end
    local all = table.concat(bytes):rep(300)
    note("bytes", ctx.k8s:exec("one", ctx.namespace, { "cat" }, { stdin = all }).stdout == all)
]]

local function pods(refused)
  local two = cluster.pod("two", "sleep 600")
  local list = {}
  for i, name in ipairs { "a", "b" } do
    list[i] = { name = name, image = "aicr.local/busybox:1", imagePullPolicy = "Never",
      command = json.array { "sleep", "600" }, env = json.array { { name = "WHO", value = "I am " .. name } } }
  end
  two.spec.containers = json.array(list)
  local waiting = cluster.pod("waiting", "true")
  waiting.spec.containers[1].image = "aicr.local/none:1"
  return {
    cluster.pod("one", "sleep 600"), two, waiting,
    cluster.pod("unscheduled", "true", { nodeSelector = { ["kubernetes.io/hostname"] = "none" } }),
    cluster.pod("finished", "true"), cluster.pod("gone", "true", { nodeName = "aicr-spec-none" }),
    cluster.pod("unreachable", "true", { nodeName = refused }),
    cluster.pod("dies", "trap 'exit 0' TERM; while :; do sleep 0.2; done"),
  }
end

describe("a command in a container", function()
  local got, stranger, told, found

  setup(function()
    cluster_check.with_refused_node(function(refused)
      cluster.in_namespace(function(namespace)
        local applied = cluster.apply(pods(refused), "-n", namespace)
        assert.equal(0, applied.code, applied.stderr)
        for _, name in ipairs { "one", "two", "dies" } do
          cluster.wait_pod(namespace, name, "Running")
        end
        cluster.wait_pod(namespace, "finished", "Succeeded")
        got = cluster_check.run(namespace, { "exec pods" }, BODY)
        stranger = cluster_check.run(namespace, { "exec pods" },
          'attempt("exec", "exec", "one", ctx.namespace, { "true" })',
          { "--kubeconfig", cluster.STATE .. "/kubeconfig-nobody" })
        local folder = files.folder()
        told = cluster_check.run(namespace, { "exec pods" }, [[
          attempt("exec", "exec", "one", ctx.namespace, { "printf", "hunt%s", "er2" })]],
          { "--kubeconfig", cluster.STATE .. "/kubeconfig", "--record", folder .. "/rec" })
        found = cluster.command({ "grep", "-rlE", "hunter2|hunt%s", folder .. "/rec" })
        files.remove(folder)
      end)
    end)
  end)

  local function gives(what, name, stdout, stderr, code)
    it(what, function()
      assert.same({ stdout = stdout, stderr = stderr, code = code }, got[name])
    end)
  end

  local function raises(what, name, code, reason, message, http)
    it(what, function()
      local err = name and got[name] or stranger.exec
      assert.same({ code, reason, http }, { err.code, err.reason, err.details and err.details.http }, err.message)
      assert.matches(message, err.message)
      assert.equal(reason == "not-found", err.verdict)
    end)
  end

  gives("gives its stdout, stderr and exit code", "both", "out\n", "err\n", 7)
  gives("may say nothing", "nothing", "", "", 0)
  gives("gets its words as they are", "words", "a b|$(id)|x\ny|'\"`\\||ä&=+%41?#|-n|", "", 0)
  gives("gets stdin, and its end", "cat", "hello\nthere", "", 0)
  gives("gets the end of an empty stdin", "cat nothing", "", "", 0)
  gives("has an empty stdin where none is given", "no stdin", "ended\n", "", 0)
  gives("runs in the container that is named", "a", "I am a\n", "", 0)
  gives("runs in the other one, too", "b", "I am b\n", "", 0)
  gives("is killed with its container", "dies", "out\n", "", 137)

  it("exits with any code", function()
    local wanted = {}
    for code = 0, 255 do
      wanted[code + 1] = code
    end
    assert.same(wanted, got.codes)
  end)

  it("gives 10 MiB of output as it is", function()
    assert.same({ size = 10485760, same = true, errors = 100000, code = 0 }, got.much)
  end)

  it("gives 4 MiB of stdin back", function()
    assert.same({ size = 1 << 22, same = true, errors = 0, code = 0 }, got.echoed)
  end)

  it("gives any bytes", function()
    assert.is_true(got.bytes)
  end)

  it("leaves nothing in a recording", function()
    assert.equal("hunter2", told.exec.stdout)
    assert.same({ code = 1, stdout = "", stderr = "" }, found)
  end)

  raises("is an error when it is not there", "no such command", "INTERNAL", "exec-failed", "no such file")
  raises("is an error when it is a folder", "a folder", "INTERNAL", "exec-failed", "permission denied")
  raises("needs a pod that is there", "no such pod", "NOT_FOUND", "not-found", 'pods "none" not found', 404)
  raises("needs a container that is there", "no such container", "INVALID_REQUEST", "bad-request",
    "container other is not valid for pod one", 400)
  raises("needs a choice where there are several", "none chosen", "INVALID_REQUEST", "bad-request",
    "choose one of: %[a b%]", 400)
  raises("needs a container that runs", "waiting", "INTERNAL", "exec-failed", "container not found")
  raises("needs a pod that has a node", "unscheduled", "SERVICE_UNAVAILABLE", "not-ready",
    "does not have a host assigned", 400)
  raises("needs a pod that has not ended", "finished", "INTERNAL", "exec-failed", "container not found")
  raises("needs a node that is there", "gone", "SERVICE_UNAVAILABLE", "node-gone",
    'pods "aicr%-spec%-none" not found', 404)
  raises("needs a node that can be reached", "unreachable", "INTERNAL", "exec-failed", "connection refused")
  raises("needs the permission", nil, "UNAUTHORIZED", "forbidden", 'User "nobody" cannot get resource "pods/exec"', 403)
  raises("is an error when it takes too long", "too late", "TIMEOUT", "deadline", "the command may still run")
  raises("is an error when it writes too much", "too much", "INTERNAL", "response-too-large", "stdout")
end)
