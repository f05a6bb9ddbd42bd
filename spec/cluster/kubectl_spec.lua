-- SPDX-License-Identifier: Apache-2.0
-- The client and kubectl on the same cluster: for each verb and shape of an error the same HTTP status, reason and
-- object. With CONFORMANCE set (spec/cluster/conformance) it prints them side by side.
require "aicr_native"
local cluster = require "spec.support.cluster"
local json = require "aicr.json"
local objects = require "spec.support.cluster_objects"
local runs = require "spec.support.cluster_run"

local STRICT <const> = { "create", "--validate=strict", "-f", "-" }
local OWN <const> = { ["k"] = "made by kubectl", ["a"] = "made by us" }

-- A row: what kubectl is given (args, and input as its stdin) and the Lua text of the same request. "@" is k in the one
-- and a in the other, where each needs objects of its own; NS is the namespace. `user`: whose kubeconfig. What `same`
-- names is compared: "object" (the default), "names" of a list, "text", "nothing" but that it is done;
-- `bare`: the server gives no reason, kubectl makes one up.
local rows = {}

local function row(name, args, text, more)
  local t = more or {}
  t.name, t.args, t.text = name, args, text
  rows[#rows + 1] = t
end

local function config_map(name, more)
  local object = { apiVersion = "v1", kind = "ConfigMap", metadata = { name = name }, data = { a = "1" } }
  for key, value in pairs(more or {}) do
    object[key] = value
  end
  return object
end

-- kubectl reads what our side is given as a table.
local function make(name, args, object, more)
  more = more or {}
  more.input = object
  row(name, args, "return k:create(OBJECT)", more)
end

-- Reads.
row("get", { "get", "configmap", "shared-1" }, [[return k:get("configmaps", "shared-1", "NS")]])
row("get, absent", { "get", "configmap", "absent" }, [[return k:get("configmaps", "absent", "NS")]])
row("get, cluster scope", { "get", "namespace", "kube-system" }, [[return k:get("namespaces", "kube-system")]])
row("get, of a custom resource, absent", { "get", "networks.networking.gke.io", "absent" },
  [[return k:get("networks.networking.gke.io", "absent")]])
row("list", { "-n", "kube-system", "get", "configmaps" },
  [[return k:list("configmaps", { namespace = "kube-system" })]], { same = "names" })
row("list, all namespaces", { "get", "configmaps", "-A", "-l", "spec=shared" },
  [[return k:list("configmaps", { label = "spec=shared" })]], { same = "names" })
row("list, label selector", { "get", "configmaps", "-l", "n in (1,3),spec!=other" },
  [[return k:list("configmaps", { namespace = "NS", label = "n in (1,3),spec!=other" })]], { same = "names" })
row("list, label selector, none", { "get", "configmaps", "-l", "!spec,n" },
  [[return k:list("configmaps", { namespace = "NS", label = "!spec,n" })]], { same = "names" })
row("list, field selector", { "get", "configmaps", "--field-selector", "metadata.name=shared-2" },
  [[return k:list("configmaps", { namespace = "NS", field = "metadata.name=shared-2" })]], { same = "names" })
row("list, field selector that is not accepted", { "get", "configmaps", "--field-selector", "spec.x=1" },
  [[return k:list("configmaps", { namespace = "NS", field = "spec.x=1" })]])
row("list, custom resource", { "get", "gkenetworkparamsets.networking.gke.io" },
  [[return k:list("gkenetworkparamsets.networking.gke.io")]], { same = "names" })
row("raw text", { "get", "--raw", "/readyz" }, [[return k:get_raw("/readyz")]], { same = "text" })
row("raw text, absent", { "get", "--raw", "/absent" }, [[return k:get_raw("/absent")]],
  { bare = true })

-- Who may not.
for _, verb in ipairs { "get", "list" } do
  local name = verb == "get" and "absent" or nil
  row(verb .. ", forbidden", { "get", "configmaps", name },
    verb == "get" and [[return k:get("configmaps", "absent", "NS")]]
    or [[return k:list("configmaps", { namespace = "NS" })]], { user = "nobody" })
  row(verb .. ", not authenticated", { "get", "configmaps", name },
    verb == "get" and [[return k:get("configmaps", "absent", "NS")]]
    or [[return k:list("configmaps", { namespace = "NS" })]], { user = "bad-token" })
end
make("create, forbidden", { "create", "--validate=ignore", "-f", "-" }, config_map "one", { user = "nobody" })

-- Makes.
make("create", STRICT, config_map "made-@")
make("create, generated name", STRICT,
  { apiVersion = "v1", kind = "ConfigMap", metadata = { generateName = "made-" } }, { without_name = true })
make("create, already exists", STRICT, config_map "shared-1")
make("create, invalid name", STRICT, config_map "Not_valid")
make("create, invalid value", STRICT, { apiVersion = "v1", kind = "Service", metadata = { name = "made-@" },
  spec = { ports = json.array { { port = 70000 } } } })
make("create, unknown field", STRICT, config_map("made-2@", { nonsense = 1 }))
make("create, too large for its kind", STRICT, config_map("large-@", { data = { a = ("x"):rep(1200000) } }))
make("create, too large for the server", STRICT, config_map("large-@", { data = { a = ("x"):rep(3300000) } }))
row("create, namespace absent", { "-n", "absent", "create", "--validate=strict", "-f", "-" },
  [[return k:create(OBJECT, { namespace = "absent" })]], { input = config_map "made-@" })
row("create, only tried", { "create", "--dry-run=server", "-f", "-" },
  [[return k:create(OBJECT, { dry_run = true })]], { input = config_map "tried-@" })
make("create, what cannot be made", { "create", "--validate=ignore", "-f", "-" },
  { apiVersion = "v1", kind = "ComponentStatus", metadata = { name = "made-@" } })

-- Server-side apply.
local APPLY <const> = { "apply", "--server-side", "--field-manager=aicr-run", "-f", "-" }
row("apply, new", APPLY, [[return k:apply(OBJECT)]], { input = config_map "applied-@" })
row("apply, again", APPLY, [[return k:apply(OBJECT)]], { input = config_map "applied-@" })
row("apply, conflict", APPLY, [[return k:apply(OBJECT)]], { input = config_map("owned-@", { data = { a = "2" } }) })
row("apply, forced", { "apply", "--server-side", "--field-manager=aicr-run", "--force-conflicts", "-f", "-" },
  [[return k:apply(OBJECT, { force = true })]], { input = config_map("owned-@", { data = { a = "2" } }) })

-- Patches.
local function patch(name, kind, resource, object, body, more)
  more = more or {}
  local args = { "patch", resource, object, "--type=" .. kind, "-p", json.encode(body) }
  args[#args + 1] = more.subresource and "--subresource=" .. more.subresource or nil
  local text = [[return k:patch("%s", "%s", %s, PATCH, { type = "%s", subresource = %s })]]
  row(name, args, text:format(resource, object, more.cluster and "nil" or '"NS"', kind,
    more.subresource and '"' .. more.subresource .. '"' or "nil"), more)
  more.patch = body
end
local NETWORK <const> = "networks.networking.gke.io"
patch("patch, merge", "merge", "configmaps", "patched-@", { data = { b = "2" } })
patch("patch, merge, removes a member", "merge", "configmaps", "patched-@", { data = { a = json.null } })
patch("patch, JSON", "json", "configmaps", "patched-@",
  json.array { { op = "add", path = "/data", value = { c = "3" } } })
patch("patch, JSON, a test that fails", "json", "configmaps", "patched-@",
  json.array { { op = "test", path = "/data/c", value = "4" } })
patch("patch, strategic", "strategic", "configmaps", "patched-@", { metadata = { labels = { x = "y" } } })
patch("patch, strategic, of a custom resource", "strategic", NETWORK, "spec-@", { spec = { a = 1 } },
  { cluster = true })
patch("patch, status", "merge", NETWORK, "spec-@", { status = { ready = true } }, { cluster = true,
  subresource = "status" })
patch("patch, absent", "merge", "configmaps", "absent", { data = { b = "2" } })
patch("patch, what may not change", "merge", "configmaps", "fixed-@", { data = { a = "2" } })

-- Deletes.
row("delete, only tried", { "delete", "configmap", "deleted-@", "--dry-run=server" },
  [[return k:delete("configmaps", "deleted-@", "NS", { dry_run = true })]], { same = "nothing" })
row("delete, another uid", { "delete", "--raw", "/api/v1/namespaces/NS/configmaps/deleted-@", "-f", "-" },
  [[return k:delete("configmaps", "deleted-@", "NS", { uid = "another" })]],
  { input = { apiVersion = "v1", kind = "DeleteOptions", preconditions = { uid = "another" } } })
row("delete", { "delete", "configmap", "deleted-@" }, [[return k:delete("configmaps", "deleted-@", "NS")]],
  { same = "nothing" })
row("delete, absent", { "delete", "configmap", "absent" }, [[return k:delete("configmaps", "absent", "NS")]])

-- The header and the loop of the check that makes all requests of ours.
local NEEDS <const> = [[
  "get,list,create,patch,delete configmaps anywhere", "get namespaces", "create services in run",
  "get networks.networking.gke.io", "patch networks.networking.gke.io anywhere",
  "patch networks.networking.gke.io/status anywhere",
  "list gkenetworkparamsets.networking.gke.io", "create componentstatuses anywhere", "get /readyz", "get /absent"]]
local BODY <const> = [[
    local json = require "aicr.json"
    local k = ctx.k8s
    local function keep(name, f)
      local ok, value = pcall(f)
      local told = { name = name, ok = ok }
      if not ok then
        told.said = tostring(value)
        local details = type(value) == "table" and value.details or {}
        told.http, told.reason = details.http, details.status_reason
      elseif type(value) == "table" and json.is_array(value) then
        told.names = json.array()
        for i, object in ipairs(value) do
          local meta = object.metadata
          told.names[i] = ("%s/%s %s"):format(meta.namespace or "", meta.name, meta.resourceVersion)
        end
      elseif type(value) == "table" then
        told.object = value
      else
        told.text = value
      end
      ctx:attach(name, "application/json", json.encode(told))
    end
]]

local function filled(text, namespace, side)
  return (text:gsub("@", side):gsub("NS", namespace))
end

local function ours(namespace, user)
  local text = { BODY }
  for _, t in ipairs(rows) do
    if t.user == user then
      local line = t.text:gsub("OBJECT", function()
        return ("(json.decode(%q))"):format(json.encode(t.input))
      end)
      line = line:gsub("PATCH", function()
        return ("(json.decode(%q))"):format(json.encode(t.patch))
      end)
      text[#text + 1] = ("keep(%q, function() %s end)"):format(t.name, line)
    end
  end
  text[#text + 1] = [[return "asked"]]
  local result = runs.run(runs.check(NEEDS, "2m", filled(table.concat(text, "\n"), namespace, "a")), {
    namespace = namespace, kubeconfig = cluster.STATE .. "/kubeconfig" .. (user and "-" .. user or ""),
  }, 150)
  assert(result.check.outcome == "pass", result.stdout)
  local told = {}
  for _, attachment in ipairs(result.check.attachments) do
    told[attachment.name] = json.decode(attachment.text)
  end
  return told
end

-- kubectl's answer: what its log at -v=8 says of the last response, its exit code and what it prints.
local function kubectl(t, namespace)
  local words = { "spec/cluster/ctl", "kubectl", "-v=8", "-n", namespace }
  if t.user then
    table.move({ "--kubeconfig", ("%s/kubeconfig-%s"):format(cluster.STATE, t.user) }, 1, 2, #words + 1, words)
  end
  for _, word in ipairs(t.args) do
    words[#words + 1] = filled(word, namespace, "k")
  end
  if t.args[1] ~= "delete" and t.args[2] ~= "--raw" then
    words[#words + 1] = "-o"
    words[#words + 1] = "json"
  end
  local result = cluster.command(words, t.input and filled(json.encode(t.input), namespace, "k"))
  local told = { ok = result.code == 0, text = result.stdout }
  for status in result.stderr:gmatch '"Response"[^\n]*status="(%d+)' do
    told.http = math.tointeger(status)
  end
  for body in result.stderr:gmatch '"Response Body"[^\n]*body=<\n\t([^\n]*)' do
    local decoded, object = pcall(json.decode, body)
    if decoded and type(object) == "table" and object.kind == "Status" then
      told.http, told.reason = object.code, object.reason
    end
  end
  told.said = result.stderr:match "[^\n]*\n?$"
  if told.ok and result.stdout:match "^{" then
    told.object = json.decode(result.stdout)
  end
  return told
end

-- What differs between two objects that were made alike.
local function plain(object, t)
  local copy = objects.bare(object)
  copy.metadata.labels = copy.metadata.labels or {}
  copy.metadata.labels["app.kubernetes.io/managed-by"], copy.metadata.labels["aicr-run/run"] = nil, nil
  copy.metadata.name = t.without_name and "" or copy.metadata.name:gsub("%-%d?[ka]$", "")
  copy.metadata.namespace = nil
  return json.decode((json.encode(copy)))
end

local function names_of(list)
  local names = json.array()
  for i, object in ipairs(list.items) do
    local meta = object.metadata
    names[i] = ("%s/%s %s"):format(meta.namespace or "", meta.name, meta.resourceVersion)
  end
  return names
end

local function compare(t, theirs, our)
  local said = ("kubectl: %s\nours: %s"):format(theirs.said, tostring(our.said))
  assert.equal(theirs.ok, our.ok, said)
  if not theirs.ok then
    assert.equal(theirs.http, our.http, said)
    assert.equal(not t.bare and theirs.reason or "", our.reason or "", said)
  elseif t.same == "names" then
    assert.same(names_of(theirs.object), our.names)
  elseif t.same == "text" then
    assert.equal(theirs.text, our.text)
  elseif t.same ~= "nothing" then
    assert.same(plain(theirs.object, t), plain(our.object, t))
  end
end

local function show(t, theirs, our)
  if os.getenv "CONFORMANCE" then
    local function told(x)
      return x.ok and "done" or ("%s %s"):format(x.http or "-", x.reason or "-")
    end
    print(("%-44s %-28s %s"):format(t.name, told(theirs), told(our)))
  end
end

describe("as with kubectl:", function()
  local namespace, told

  lazy_setup(function()
    namespace = objects.namespace()
    local requests = {}
    local function add(object)
      local more = objects.apply_requests(object)
      table.move(more, 1, #more, #requests + 1, requests)
    end
    for n = 1, 3 do
      add(objects.config_map(namespace, "shared-" .. n, { labels = { n = tostring(n), spec = "shared" } }))
    end
    for side in pairs(OWN) do
      for _, name in ipairs { "owned", "patched", "deleted" } do
        add(objects.config_map(namespace, ("%s-%s"):format(name, side)))
      end
      local fixed = objects.config_map(namespace, "fixed-" .. side)
      fixed.immutable = true
      add(fixed)
      add { apiVersion = "networking.gke.io/v1", kind = "Network", metadata = { name = "spec-" .. side }, spec = {} }
    end
    for i, answer in ipairs(objects.batch(requests)) do
      assert(answer.http == 200 or answer.http == 201, requests[i].path .. answer.body)
    end
    -- Before anything changes what both read.
    for _, t in ipairs(rows) do
      t.theirs = kubectl(t, namespace)
    end
    told = {}
    for _, user in ipairs { "", "nobody", "bad-token" } do
      for name, answer in pairs(ours(namespace, user ~= "" and user or nil)) do
        told[name] = answer
      end
    end
  end)

  lazy_teardown(function()
    objects.send("DELETE", "/api/v1/namespaces/" .. namespace)
    for side in pairs(OWN) do
      objects.send("DELETE", "/apis/networking.gke.io/v1/networks/spec-" .. side)
    end
  end)

  for _, t in ipairs(rows) do
    it(t.name, function()
      local our = assert(told[t.name], "our side did not ask")
      show(t, t.theirs, our)
      compare(t, t.theirs, our)
    end)
  end

  it("the server's version", function()
    local server = json.decode(cluster.kubectl("version", "-o", "json")).serverVersion
    local result = runs.run(runs.check("", "60s", [[return ctx.k8s:server_version()]]), {}, 90)
    assert.equal(server.gitVersion, result.check.result)
  end)

  it("what one may do", function()
    for _, user in ipairs { "kubeconfig", "kubeconfig-nobody", "kubeconfig-token" } do
      local path = ("%s/%s"):format(cluster.STATE, user)
      local theirs = cluster.ctl("kubectl", "--kubeconfig", path, "auth", "can-i", "list", "pods", "-A")
      local result = runs.run(runs.check("", "60s", [[return tostring((ctx.k8s:can("list", "pods")))]]),
        { kubeconfig = path }, 30)
      assert.equal(theirs.code == 0, result.check.result == "true", result.stdout)
    end
  end)
end)
