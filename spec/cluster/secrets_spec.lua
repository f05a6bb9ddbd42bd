-- SPDX-License-Identifier: Apache-2.0
-- Planted secrets are searched for in everything that a full run writes, at the most talkative level there is.
require "aicr_native"
local cluster = require "spec.support.cluster"
local files = require "spec.support.files"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"

local PASSWORD <const> = "Pl4nted-pa55word-of-a-Secret"
local PARAMETER <const> = "pl4nted-parameter-value"
local BASIC <const> = "pl4nted-basic-pa55word"
local PROXY <const> = "pl4nted-proxy-pa55word"

local CHECK <const> = [[
return {
  name = "probe", phase = "deployment", summary = "probe", timeout = "20s",
  needs = { "get,list secrets", "get,list configmaps", "get nodes", "logs pods" },
  params = { key = { type = "string", secret = true, default = "" } },
  run = function(ctx)
    local secret = ctx.k8s:get("secrets", "planted", ctx.namespace)
    for _, s in ipairs(ctx.k8s:list("secrets", { namespace = ctx.namespace })) do
      print("listed", s.data and s.data.password)
    end
    print("got", secret.data.password, ctx.params.key)
    ctx:progress("has " .. secret.data.password)
    ctx:evidence("data %s, key %s", secret.data.password, ctx.params.key)
    ctx:attach("secret.json", "application/json", require("aicr.json").encode(secret))
    ctx:expect("the password", secret.data.password, "==", "another " .. ctx.params.key)
    ctx.k8s:list("configmaps", { namespace = ctx.namespace })
    ctx:try(ctx.k8s.logs, ctx.k8s, "planted", ctx.namespace)
    ctx:try(function()
      for line in ctx.k8s:logs("planted", ctx.namespace, { lines = true }) do
        ctx:progress("%s", line)
      end
    end)
    pcall(ctx.k8s.get, ctx.k8s, "nodes", secret.data.password:lower():gsub("[^a-z0-9]", "x"))
    ctx:step("told", function() error("raised with " .. secret.data.password .. ctx.params.key) end)
  end,
}
]]

local function base64(text)
  return (cluster.command({ "base64", "-w0" }, text).stdout)
end

local function kubeconfig(folder, name, user, more)
  local text = files.read(cluster.STATE .. "/kubeconfig")
  text = text:gsub("  user:\n.*$", function()
    return "  user:\n" .. user .. "\n"
  end)
  if more then
    text = text:gsub("    server:", more .. "    server:")
  end
  local path = folder .. "/" .. name
  files.write(path, text)
  os.execute("chmod 600 " .. path)
  return path
end

-- Everything below a folder, by its path.
local function contents(folder)
  local pipe = assert(io.popen("find " .. folder .. " -type f"))
  local all = {}
  for path in pipe:lines() do
    all[path] = files.read(path)
  end
  pipe:close()
  return all
end

local function key_of(kubeconfig_text)
  return assert(kubeconfig_text:match "client%-key%-data: (%S+)")
end

-- Runs it and gives what it wrote.
local function run(folder, config, namespace, more)
  local out = folder .. "/out"
  os.execute("mkdir -p " .. out .. "/tmp")
  files.write(folder .. "/probe.lua", CHECK)
  files.write(folder .. "/parameter", PARAMETER)
  local words = {
    "env", "-u", "LD_PRELOAD", "AICR_RUN_HEARTBEAT=20ms", "TMPDIR=" .. out .. "/tmp", os.getenv "AICR_RUN",
    "-k", config, "-n", namespace, "--set-file", "key=" .. folder .. "/parameter", "-vv", "--log-level", "trace",
    "-o", out .. "/report.json", "-o", "junit:" .. out .. "/report.xml", "-o", "human:" .. out .. "/report.txt",
  }
  table.move(more or {}, 1, #(more or {}), #words + 1, words)
  words[#words + 1] = folder .. "/probe.lua"
  local result = cluster.command(words)
  assert(files.exists(out .. "/report.json"), result.stderr)
  files.write(out .. "/stdout", result.stdout)
  files.write(out .. "/stderr", result.stderr)
  return result, contents(out)
end

local function assert_nowhere(all, values)
  for path, text in pairs(all) do
    for what, value in pairs(values) do
      assert(#value > 8, what)
      local at = text:find(value, 1, true)
      assert.is_nil(at, ("%s stands in %s: %s"):format(what, path, at and text:sub(math.max(1, at - 60), at + 80)))
    end
  end
end

describe("no secret is written:", function()
  local folder, namespace, values

  before_each(function()
    folder, namespace = files.folder(), objects.namespace()
    objects.must("POST", ("/api/v1/namespaces/%s/secrets"):format(namespace), {
      metadata = { name = "planted" }, data = { password = base64(PASSWORD) },
    })
    values = {
      ["the Secret"] = PASSWORD, ["the Secret's data"] = base64(PASSWORD), ["the parameter"] = PARAMETER,
    }
  end)

  after_each(function()
    objects.send("DELETE", "/api/v1/namespaces/" .. namespace)
    files.remove(folder)
  end)

  it("with a client certificate", function()
    local config = cluster.STATE .. "/kubeconfig"
    local key = key_of(files.read(config))
    values["the key"] = key
    values["the key's text"] = files.read(cluster.STATE .. "/admin.key"):match "\n(%S+)\n"
    local result, all = run(folder, config, namespace)
    -- It was a full run: the check saw the Secret, and failed where it should.
    local report = json.decode(all[folder .. "/out/report.json"])
    assert.equal("fail", report.checks[1].outcome, result.stderr)
    assert.equal(1, result.code)
    assert.truthy(#all[folder .. "/out/report.xml"] > 0 and #all[folder .. "/out/report.txt"] > 0)
    assert.truthy(all[folder .. "/out/stderr"]:find("secrets", 1, true), "trace tells of requests")
    assert_nowhere(all, values)
  end)

  it("with a recording beside it, nor in the log of a pod that says it", function()
    assert.equal(0, cluster.apply({ cluster.pod("planted", ("echo says %s."):format(PASSWORD)) }, "-n",
      namespace).code)
    cluster.wait_pod(namespace, "planted", "Succeeded")
    local result, all = run(folder, cluster.STATE .. "/kubeconfig", namespace, { "--record", folder .. "/out/rec" })
    assert.truthy(all[folder .. "/out/rec/aicr-recording.json"], result.stderr)
    local log
    for path, text in pairs(all) do
      log = log or path:find("/logs/", 1, true) and text
    end
    assert.matches("says %[secret, not recorded%]%.\n$", log)
    assert_nowhere(all, values)
  end)

  it("with a token, accepted and refused", function()
    local token = files.read(cluster.STATE .. "/token"):match "%S+"
    for _, value in ipairs { token, "pl4nted-token-that-nobody-issued" } do
      values["the token"] = value
      local _, all = run(folder, kubeconfig(folder, "config", "    token: " .. value), namespace)
      assert_nowhere(all, values)
    end
  end)

  it("with a password", function()
    values["the password"], values["the header"] = BASIC, base64("me:" .. BASIC)
    local config = kubeconfig(folder, "config", "    username: me\n    password: " .. BASIC)
    local _, all = run(folder, config, namespace)
    assert_nowhere(all, values)
  end)

  it("with a credential plug-in that also writes what it has to stderr", function()
    local token = files.read(cluster.STATE .. "/token"):match "%S+"
    values["the plug-in's token"], values["its other token"] = token, "pl4nted-token-of-a-plug-in"
    values["its variable"] = "pl4nted-variable"
    for _, row in ipairs { { token, 0 }, { "pl4nted-token-of-a-plug-in", 0 }, { token, 1 } } do
      files.write(folder .. "/plugin", ([[#!/bin/sh
cat <<'END'
{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%s"}}
END
exit %d
]]):format(row[1], row[2]))
      os.execute("chmod 700 " .. folder .. "/plugin")
      local config = kubeconfig(folder, "config", ([[
    exec:
      apiVersion: client.authentication.k8s.io/v1
      interactiveMode: Never
      command: %s/plugin
      env: [{name: PLANTED, value: pl4nted-variable}] ]]):format(folder))
      local _, all = run(folder, config, namespace)
      assert_nowhere(all, values)
    end
  end)

  it("with a proxy that has a password", function()
    values["the proxy's password"] = PROXY
    local config = kubeconfig(folder, "config", "    token: pl4nted-token-for-a-proxy",
      ("    proxy-url: http://me:%s@127.0.0.1:1\n"):format(PROXY))
    values["the token"], values["the header"] = "pl4nted-token-for-a-proxy", base64("me:" .. PROXY)
    local _, all = run(folder, config, namespace)
    assert_nowhere(all, values)
  end)

  it("in the journal of a run that was killed", function()
    local text = CHECK:gsub("ctx:step.-\n", [[ctx:progress("waits here") ctx:sleep("15s")]] .. "\n")
    files.write(folder .. "/kill.lua", text)
    files.write(folder .. "/parameter", PARAMETER)
    os.execute("mkdir -p " .. folder .. "/out/tmp")
    local script = [[env -u LD_PRELOAD AICR_RUN_HEARTBEAT=20ms TMPDIR=@/out/tmp %s -k %s/kubeconfig -n %s
      --set-file key=@/parameter -vv --log-level trace -o @/out/report.json @/kill.lua
      >@/out/stdout 2>@/out/stderr & pid=$!
      until grep -q "waits here" @/out/stderr || ! kill -0 $pid; do sleep 0.1; done; kill -s KILL $pid; wait $pid]]
    script = script:gsub("\n      %-%-set", " --set"):gsub("\n      >", " >")
    os.execute((script:gsub("@", folder):format(os.getenv "AICR_RUN", cluster.STATE, namespace)))
    local all = contents(folder .. "/out")
    assert.truthy(all[folder .. "/out/stderr"]:find("waits here", 1, true), all[folder .. "/out/stderr"])
    assert_nowhere(all, values)
  end)
end)
