-- SPDX-License-Identifier: Apache-2.0
-- What doctor says where there is no cluster to ask.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"
local json_schema = require "spec.support.json_schema"

local SCHEMA <const> = json_schema.load("spec/schema/report.schema.json")
local CHECK <const> = "gke-gpu-nic-networks"

local KUBECONFIG <const> = [[
apiVersion: v1
kind: Config
current-context: there
clusters: [{name: c, cluster: {server: "SERVER"}}]
contexts: [{name: there, context: {cluster: c, user: u}}]
users: [{name: u, user: {token: x}}]
]]

--- Runs doctor; gives its exit code, report and `outcome reason` by row.
local function doctor(args, how)
  local result = binary.run({ "doctor", "-f", "json", table.unpack(args) }, how)
  assert.not_equal("", result.stdout, result.stderr)
  local report = json.decode(result.stdout)
  assert(json_schema.validate(report, SCHEMA))
  local rows, checks = {}, {}
  for _, check in ipairs(report.checks) do
    rows[check.name] = check.outcome .. (check.reason and " " .. check.reason or "")
    checks[check.name] = check
    assert.equal("doctor", check.phase)
    if check.outcome == "fail" or check.outcome == "error" then
      assert.is_string(check.fix, check.name)
    end
  end
  return result.code, rows, checks, result.stderr
end

--- Calls f with a kubeconfig for that server.
local function with_server(server, f)
  files.with_folder(function(folder)
    files.write(folder .. "/config", (KUBECONFIG:gsub("SERVER", server)))
    assert(os.execute("chmod 600 " .. folder .. "/config"))
    f(folder .. "/config")
  end)
end

describe("--no-exec-plugins", function()
  it("starts none, and says who would have needed one", function()
    with_server("https://127.0.0.1:1", function(path)
      local text = files.read(path)
      local ran = path .. "-ran"
      files.write(path, (text:gsub("user: *{[^}]*}", ("user: {exec: {apiVersion: client.authentication.k8s.io/v1, "
        .. "interactiveMode: Never, command: touch, args: [%s]}}"):format(ran))))
      assert.truthy(files.read(path):find("exec:", 1, true), text)
      local result = binary.run { "-k", path, "--no-exec-plugins", CHECK }
      assert.equal(2, result.code)
      assert.truthy(result.stderr:find('the credential plug-in "touch", which --no-exec-plugins does not let start', 1,
        true), result.stderr)
      assert.truthy(result.stderr:find("leave out --no-exec-plugins", 1, true), result.stderr)
      assert.is_false(files.exists(ran))
      binary.run { "-k", path, CHECK }
      assert.is_true(files.exists(ran))
    end)
  end)
end)

describe("doctor", function()
  it("says that there is no kubeconfig", function()
    local code, rows, checks = doctor({ CHECK }, { env = { HOME = "/nonexistent" } })
    assert.equal(1, code)
    assert.same({
      libraries = "pass", terminal = "pass", kubeconfig = "fail config-not-found", context = "skip prerequisite",
      server = "skip prerequisite", identity = "skip prerequisite", clock = "skip prerequisite",
      namespace = "skip not-needed", ["may-run-" .. CHECK] = "skip prerequisite", leftovers = "skip not-needed",
    }, rows)
    assert.truthy(checks.kubeconfig.message:find("/nonexistent/.kube/config", 1, true))
  end)

  it("says that the one that is named is not there, or is none", function()
    local _, rows = doctor { "-k", "/nonexistent", CHECK }
    assert.equal("fail config-not-found", rows.kubeconfig)
    _, rows = doctor { "-k", "README.md", CHECK }
    assert.equal("fail config-invalid", rows.kubeconfig)
  end)

  it("says that the context is not there", function()
    with_server("https://127.0.0.1:1", function(path)
      local code, rows, checks = doctor { "-k", path, "--context", "elsewhere", CHECK }
      assert.equal(1, code)
      assert.same({ "pass", "fail context-not-found", "skip prerequisite" },
        { rows.kubeconfig, rows.context, rows.server })
      assert.truthy(checks.context.message:find('"there"', 1, true))
    end)
  end)

  it("says that nobody answers", function()
    with_server("https://127.0.0.1:1", function(path)
      local code, rows, checks = doctor { "-k", path, CHECK }
      assert.equal(3, code)
      assert.same({ "pass", "pass", "error connect", "skip prerequisite" },
        { rows.kubeconfig, rows.context, rows.server, rows.identity })
      assert.equal("there: https://127.0.0.1:1", checks.context.result)
      assert.equal(path, checks.kubeconfig.result)
    end)
  end)

  it("warns of a server that proves nothing", function()
    with_server("http://127.0.0.1:1", function(path)
      local out = binary.run({ "doctor", "-q", "-k", path, CHECK }).stdout
      assert.truthy(out:find("^WARNING: nothing proves that these answers are the server's"), out)
    end)
  end)

  it("says that it looks at a recording", function()
    local code, rows, checks = doctor { "--recording", "spec/fixtures/recordings/lyra-ok", CHECK }
    assert.equal(0, code)
    assert.same({ libraries = "pass", terminal = "pass", recording = "pass" }, rows)
    assert.truthy(checks.recording.result:find("^answers come from spec/fixtures/recordings/lyra%-ok, taken 2026%-.*"
      .. "Kubernetes v1%.32.*; no cluster is looked at$"), checks.recording.result)
    code, rows = doctor { "--recording", "/nonexistent", CHECK }
    assert.same({ 1, "fail recording-missing" }, { code, rows.recording })
  end)

  it("tells what the terminal can do", function()
    local function terminal(how)
      local _, _, checks = doctor({ "--recording", "spec/fixtures/recordings/lyra-ok", CHECK }, how)
      return checks.terminal.result
    end
    assert.equal("stdout is a pipe or a file, UTF-8, no colour", terminal())
    assert.equal("stdout is a pipe or a file, ASCII only (the locale is not UTF-8), no colour",
      terminal { env = { LC_ALL = "C" } })
  end)

  it("leaves out the rows and checks of --skip, and refuses other names", function()
    local _, rows = doctor { "--recording", "spec/fixtures/recordings/lyra-ok", "--skip", "terminal", "--skip", CHECK,
      CHECK }
    assert.equal("skip skipped-by-user", rows.terminal)
    local result = binary.run { "doctor", "--skip", "terminla", CHECK }
    assert.equal(2, result.code)
    assert.truthy(result.stderr:find('no check named "terminla"', 1, true), result.stderr)
  end)

  it("writes reports in any format, none that a suite asks for", function()
    local folder = files.folder()
    files.write(folder .. "/suite.lua", ('return { suite = "s", checks = { %q }, options = { output = "own.json" } }')
      :format(CHECK))
    local result = binary.run { "doctor", "--recording", "spec/fixtures/recordings/lyra-ok", folder .. "/suite.lua",
      "-o", folder .. "/out.xml" }
    local xml, own = files.read(folder .. "/out.xml"), files.exists(folder .. "/own.json")
    files.remove(folder)
    assert.equal(0, result.code, result.stderr)
    assert.truthy(xml:find('<testcase classname="doctor" name="recording"', 1, true), xml)
    assert.is_false(own)
  end)

  it("admits what it cannot know the needs of", function()
    local code, rows = doctor { "--recording", "spec/fixtures/recordings/lyra-ok", "-r", "recipes/lyra.yaml" }
    assert.equal(3, code)
    assert.equal("error not-available", rows["may-run-check-nvidia-smi"])
  end)

  it("does not take --list", function()
    local result = binary.run { "doctor", "--list" }
    assert.equal(2, result.code)
    assert.equal("aicr-run: --list does not go with the command doctor\naicr-run: no check was run\n", result.stderr)
  end)
end)
