-- SPDX-License-Identifier: Apache-2.0
-- A recording that lost something, or has something of another one: each thing that it is made of is taken away, cut,
-- doubled or moved, one at a time, and no check may end better than on the whole one.
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"
local json = require "aicr.json"
local server = require "spec.support.server"
local site = require "spec.support.site"

local SOAK <const> = os.getenv "AICR_SOAK" ~= nil
local FIXTURES <const> = "spec/fixtures/recordings/"
local SUITE <const> = { "--recipe", "recipes/lyra.yaml", "-p", "deployment", "checks/gke_tcpxo.lua" }
local INDEX <const>, MANIFEST <const> = "index.jsonl", "aicr-recording.json"

local function shell(...)
  local command = string.format(...)
  assert(os.execute(("env -u LD_PRELOAD sh -c %s"):format(files.quote(command))), command)
end

-- Names of all files below a folder, sorted.
local function list(folder)
  local pipe = assert(io.popen(("env -u LD_PRELOAD sh -c %s"):format(
    files.quote(("cd %s && find . -type f | LC_ALL=C sort"):format(folder)))))
  local names = {}
  for name in pipe:lines() do
    names[#names + 1] = name:sub(3)
  end
  pipe:close()
  return names
end

local function lines_of(text)
  local lines = {}
  for line in text:gmatch "[^\n]*\n" do
    lines[#lines + 1] = line
  end
  return lines
end

-- The mutations of a recording: {what, file, text or nil (the file is gone), touches: what is not there any more}.
-- Without AICR_SOAK those that lose something.
local function mutations(folder)
  local all = {}
  local function add(file, text, touches, ...)
    all[#all + 1] = { what = string.format(...), file = file, text = text, touches = touches }
  end
  for _, file in ipairs(list(folder)) do
    local text = files.read(folder .. "/" .. file):gsub("%s+$", "")
    local touches = file == INDEX and text or file
    add(file, nil, touches, "%s lost", file)
    add(file, text:sub(1, #text // 2), touches, "%s cut", file)
    for i = 1, SOAK and 8 or 0 do
      add(file, text:sub(1, (#text - 1) * i // 8), touches, "%s cut at %d", file, (#text - 1) * i // 8)
    end
    if SOAK then
      add(file, "", touches, "%s emptied", file)
      add(file, text .. "\0", touches, "%s with a NUL", file)
      add(file, text:gsub("%w", "\xff", 1), touches, "%s with a byte that is no text", file)
    end
  end
  local lines = files.exists(folder .. "/" .. INDEX) and lines_of(files.read(folder .. "/" .. INDEX)) or {}
  local function edit(n, touches, what, f)
    local copy = table.move(lines, 1, #lines, 1, {})
    f(copy)
    add(INDEX, table.concat(copy), touches, "line %d %s", n, what)
  end
  for n = 1, #lines do
    edit(n, lines[n], "lost", function(copy) table.remove(copy, n) end)
    edit(n, table.concat(lines, "", n), "and all behind it lost", function(copy)
      for _ = n, #lines do
        table.remove(copy)
      end
    end)
    if SOAK then
      edit(n, "", "twice", function(copy) table.insert(copy, n, copy[n]) end)
      edit(n, lines[n], "with a member twice", function(copy) copy[n] = copy[n]:gsub("^{", '{"verb":"list",') end)
      if n > 1 then
        edit(n, "", "before the one before it", function(copy) copy[n], copy[n - 1] = copy[n - 1], copy[n] end)
      end
    end
  end
  return all
end

-- What a check reads, by the resource in paths and lines.
local READS <const> = {
  ["gke-gpu-nic-networks"] = { "networks", "clustertrainingruntimes" },
  ["gke-gpu-nic-topology"] = { "nodes" },
}

-- May a check that passed on the whole recording still pass? Where what is gone is nothing that it reads; and where the
-- older recording, which says not who asked, has the same answer once more: its networks were listed twice, and its
-- list of all nodes answers the selected one. A hand-made recording's list is evidence without discovery and manifest.
local function may_pass(name, m)
  local again = m.what:find "^line [2345] lost$" or m.what:find "^line [35] and all"
  for _, resource in ipairs(READS[name]) do
    if m.touches:find(resource, 1, true) and not (again and resource ~= "clustertrainingruntimes") then
      return false
    end
  end
  return true
end

-- What each check gave, or {} and the message where the recording was refused.
local function verdicts(recording, words)
  local ran = binary.run { "--recording", recording, "-f", "json", table.unpack(words) }
  local out = {}
  if ran.stdout == "" then
    assert.equal(2, ran.code, ran.stderr)
    assert.truthy(ran.stderr:find("%S"), "no message")
    return out, ran.stderr
  end
  for _, check in ipairs(json.decode(ran.stdout).checks) do
    out[check.name] = { outcome = check.outcome, result = check.result, told = check.message or check.result }
  end
  return out
end

-- Is a verdict one that the whole recording did not give?
local function is_better(whole, now)
  if now.outcome == "pass" then
    return whole.outcome ~= "pass" or whole.result ~= now.result
  end
  return now.outcome == "skip" and whole.outcome ~= "skip"
end

-- Tries all mutations of a recording; `judge` is told of each check that passes all the same.
local function try_all(recording, words, judge)
  local whole = verdicts(recording, words)
  assert.truthy(next(whole))
  site.with({}, function(folder)
    local copy = folder .. "/rec"
    for _, m in ipairs(mutations(recording)) do
      shell("rm -rf %s && cp -r %s %s", copy, recording, copy)
      if m.text then
        files.write(copy .. "/" .. m.file, m.text)
      else
        shell("rm %s", files.quote(copy .. "/" .. m.file))
      end
      local now, refused = verdicts(copy, words)
      for name, check in pairs(now) do
        local told = ("%s: %s: %s: %s, %s"):format(recording, m.what, name, check.outcome, check.told)
        assert.falsy(is_better(whole[name], check), told)
        if check.outcome == "pass" then
          judge(name, m, told)
        end
      end
      if refused then
        assert.truthy(refused:find('"' .. m.file .. '"', 1, true) or refused:find("recording", 1, true), refused)
      end
    end
  end)
end

-- A recording that a run writes of an API server that has what another recording has, and f of it.
local function with_written(recording, words, f)
  local rows = {}
  local function add(path, file)
    rows[#rows + 1] = server.row("GET " .. path, files.read(recording .. "/" .. file))
  end
  local runtimes = json.decode(files.read(recording .. "/objects/trainer.kubeflow.org/v1alpha1/"
    .. "clustertrainingruntimes/list.json"))
  add("/api ", "discovery/api.json")
  add("/apis ", "discovery/apis.json")
  local nodes = json.decode(files.read(recording .. "/objects/core/v1/nodes/list.json"))
  local selected = json.array {}
  for _, node in ipairs(nodes.items) do
    if (node.metadata.labels or {})["cloud.google.com/gke-accelerator"] then
      selected[#selected + 1] = node
    end
  end
  assert.truthy(#selected > 0 and #selected < #nodes.items)
  nodes.items = selected
  rows[#rows + 1] = server.row("labelSelector=cloud.google.com", nodes)
  add("/api/v1/nodes?", "objects/core/v1/nodes/list.json")
  add("/apis/networking.gke.io/v1/networks?", "objects/networking.gke.io/v1/networks/list.json")
  for _, runtime in ipairs(runtimes.items) do
    runtime.apiVersion, runtime.kind = "trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime"
    rows[#rows + 1] = server.row("GET /apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/"
      .. runtime.metadata.name .. " ", runtime)
  end
  return server.with(rows, function(args, folder)
    local all = { "--record", folder .. "/rec" }
    for _, more in ipairs { args, words } do
      table.move(more, 1, #more, #all + 1, all)
    end
    return f(folder .. "/rec", binary.report(all), folder)
  end)
end

describe("a recording of which one thing was taken or changed", function()
  for _, name in ipairs { "lyra-ok", "lyra-swapped", "lyra-recorded" } do
    it("gives no better verdict, and none of what is gone: " .. name, function()
      try_all(FIXTURES .. name, SUITE, function(check, m, told)
        assert.is_true(may_pass(check, m), told)
      end)
    end)
  end

  for _, name in ipairs(SOAK and { "lyra-ok", "lyra-swapped" } or { "lyra-ok" }) do
    it("is refused where a run wrote it: of " .. name, function()
      with_written(FIXTURES .. name, SUITE, function(rec, live)
        local passed = 0
        for _, check in ipairs(live.checks) do
          passed = passed + (check.outcome == "pass" and 1 or 0)
        end
        assert.equal(name == "lyra-ok" and 2 or 1, passed)
        try_all(rec, SUITE, function(_, _, told)
          error("not refused: " .. told)
        end)
      end)
    end)
  end
end)

describe("two recordings in one folder", function()
  local function refused(recording, file)
    local now, message = verdicts(recording, SUITE)
    assert.same({}, now)
    assert.truthy(message:find(file, 1, true), message)
    assert.truthy(message:find("copy the recording again, whole, or record it again with --record", 1, true), message)
  end

  it("are refused, whichever part is the other's", function()
    with_written(FIXTURES .. "lyra-swapped", SUITE, function(bad, _, folder)
      shell("mv %s %s/bad", bad, folder)
      with_written(FIXTURES .. "lyra-ok", SUITE, function(good, _, scratch)
        local mixed = scratch .. "/mixed"
        local runtime = "objects/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes/torch-distributed-tcpxo.json"
        for part, file in pairs { [INDEX] = INDEX, [MANIFEST] = INDEX, objects = runtime } do
          shell("rm -rf %s && cp -r %s/bad %s && cp -r %s/%s %s/", mixed, folder, mixed, good, part, mixed)
          refused(mixed, file)
        end
        shell("rm -rf %s && cp -r %s/bad %s && cp -r %s/. %s/", mixed, folder, mixed, good, mixed)
        assert.same(verdicts(good, SUITE), verdicts(mixed, SUITE))
      end)
    end)
  end)

  it("are not written: the folder must be new", function()
    with_written(FIXTURES .. "lyra-ok", SUITE, function(rec, _, folder)
      local words = { "-k", folder .. "/kubeconfig", "--record", rec }
      local before = files.read(rec .. "/" .. INDEX)
      local ran = binary.run(table.move(SUITE, 1, #SUITE, #words + 1, words))
      assert.equal(2, ran.code)
      assert.truthy(ran.stderr:find("not empty; a recording begins in a new folder", 1, true), ran.stderr)
      assert.equal(before, files.read(rec .. "/" .. INDEX))
    end)
  end)
end)
