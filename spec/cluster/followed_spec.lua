-- SPDX-License-Identifier: Apache-2.0
-- ctx.k8s:logs line by line on real kubelets, followed, recorded and replayed (kubernetes-client.md 3.3).
require "aicr_native"
local binary = require "spec.support.binary"
local cluster = require "spec.support.cluster"
local site = require "spec.support.site"

local LINES <const> = 5242880 // 256
-- Of lines this long, the file stays below the 10 MB at which kubelet begins a new one.
local LINE <const> = ("0"):rep(255)

-- Bodies of checks, each with what it returns. None changes anything, so that the replay can run them.
local BODIES <const> = {
  followed = { [[local got = {}
    ctx.k8s:wait("pods", "counting", ctx.namespace, function(pod)
      return pod and pod.status.phase ~= "Pending", pod and pod.status.phase
    end)
    for line in ctx.k8s:logs("counting", ctx.namespace, { follow = true }) do
      got[#got + 1] = line
    end
    return table.concat(got, " ")]], "1 2 3 4 5 err end" },
  much = { [[local n = 0
    for line in ctx.k8s:logs("much", ctx.namespace, { lines = true }) do
      n = n + (line == ("0"):rep(255) and 1 or 0)
    end
    return tostring(n)]], tostring(LINES) },
  long = { [[local sizes, size = {}, 0
    for text, goes_on in ctx.k8s:logs("long", ctx.namespace, { follow = true }) do
      size = size + #text
      if not goes_on then
        sizes[#sizes + 1], size = size, 0
      end
    end
    return table.concat(sizes, " ")]], "3000000 3" },
  bytes = { [[local got = {}
    for line in ctx.k8s:logs("bytes", ctx.namespace, { lines = true }) do
      got[#got + 1] = line
    end
    ctx:expect("bytes", #got, "==", 3)
    ctx:expect("first", got[1] == "a\0\xff\xfe\rb", "==", true)
    ctx:expect("third", got[3], "==", "z")
    return "three lines"]], "three lines" },
  left = { [[for line in ctx.k8s:logs("counting", ctx.namespace, { follow = true }) do
      if line == "3" then
        return "saw " .. line
      end
    end]], "saw 3" },
  tail = { [[local got = {}
    for line in ctx.k8s:logs("much", ctx.namespace, { lines = true, tail = 2, limit = 260 }) do
      got[#got + 1] = line
    end
    return table.concat(got, " ")]], LINE .. " 0000" },
  empty = { [[for line in ctx.k8s:logs("silent", ctx.namespace, { follow = true }) do
      return line
    end
    return "nothing"]],
    "nothing; found no lines in the log of pods silent in NAMESPACE, and compared nothing" },
  late = { [[for line in ctx.k8s:logs("waits", ctx.namespace, { follow = true, timeout = "1s" }) do
      ctx:progress("%s", line)
    end
    return "ended"]], "deadline" },
  absent = { [[for line in ctx.k8s:logs("none", ctx.namespace, { follow = true }) do
      return line
    end]], "not-found" },
}

local function pods()
  return {
    cluster.pod("counting", "for i in 1 2 3 4 5; do echo $i; sleep 1; done; echo err >&2; sleep 1; echo end"),
    -- A busy containerd may lose what is still in the pipe when a container ends.
    cluster.pod("much", "yes $(printf %0255d 0) | head -c 5242880; sleep 5"),
    cluster.pod("long", "yes | tr -d '\\n' | head -c 3000000; echo; printf end; sleep 5"),
    cluster.pod("bytes", [[printf 'a\000\377\376\rb\n\033[1m\nz']]),
    cluster.pod("silent", "true"), cluster.pod("waits", "echo begun; sleep 600"),
  }
end

describe("a log line by line", function()
  local live, replay = {}, {}

  setup(function()
    cluster.in_namespace(function(namespace)
      local applied = cluster.apply(pods(), "-n", namespace)
      assert.equal(0, applied.code, applied.stderr)
      for _, name in ipairs { "much", "long", "bytes", "silent" } do
        cluster.wait_pod(namespace, name, "Succeeded")
      end
      cluster.wait_pod(namespace, "waits", "Running")
      local contents = {}
      for name, body in pairs(BODIES) do
        contents[name .. ".lua"] = site.check(name, body[1], 'timeout = "2m", needs = { "logs,wait pods" },')
      end
      site.with(contents, function(folder)
        local words = { "--namespace", namespace }
        for name in pairs(BODIES) do
          words[#words + 1] = ("%s/%s.lua"):format(folder, name)
        end
        live = binary.report { "--kubeconfig", cluster.STATE .. "/kubeconfig", "--record", folder .. "/rec",
          table.unpack(words) }
        replay = binary.report { "--recording", folder .. "/rec", table.unpack(words) }
      end)
    end)
  end)

  for name, body in pairs(BODIES) do
    it("is " .. name, function()
      for how, report in pairs { live = live, replayed = replay } do
        local got = binary.check(report, name)
        local said = got.outcome == "pass" and got.result:gsub("aicr%-spec[%w-]*", "NAMESPACE") or got.reason
        assert.equal(body[2], said, ("%s: %s"):format(how, tostring(got.message)))
      end
    end)
  end
end)
