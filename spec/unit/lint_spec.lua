-- SPDX-License-Identifier: Apache-2.0
-- Plants a violation of each rule in a small tree; spec/lint has to find it at
-- its place, and must not find it in what only looks like one.
local files = require "spec.support.files"

local C = "/* SPDX-License-Identifier: Apache-2.0 */\n"
local LUA = "-- SPDX-License-Identifier: Apache-2.0\n"

local function lint(tree, words)
  local folder = files.folder()
  for path, text in pairs(tree) do
    files.write(folder .. "/" .. path, text)
    if text:match("^#!") then
      assert(os.execute("chmod +x " .. files.quote(folder .. "/" .. path)))
    end
  end
  local pipe = assert(io.popen(("env -u LD_PRELOAD spec/lint --root %s %s 2>&1"):format(files.quote(folder), words)))
  local output = pipe:read "a"
  local _, _, code = pipe:close()
  files.remove(folder)
  return output, code
end

local HEADER = C .. "#ifndef AICR_CORE_A_H\n#define AICR_CORE_A_H\n%s\n#endif\n"

-- rule, path, text with the violation, what must be told, text without one
local rows = {
  { "layers", "runtime/core/a.c", C .. '#include "kube/client.h"\n', ":2: core may not include kube",
    C .. '#include "core/buffer.h"\n' },
  { "layers", "runtime/kube/a.c", C .. '#include "gke/topology.h"\n', ":2: kube may not include gke",
    C .. '#include "kube/b.h"\n#include "core/buffer.h"\n' },
  { "layers", "runtime/host/a.c", C .. '#include "bind/bind.h"\n', ":2: host may not include bind",
    C .. '#include "kube/client.h"\n' },
  { "layers", "runtime/cli/a.c", C .. '#include "kube/client.h"\n', ":2: cli may not include kube",
    C .. '#include "host/host.h"\n' },
  { "layers", "runtime/main.c", C .. '#include "host/host.h"\n', ":2: main may not include host",
    C .. '#include "cli/cli.h"\n' },
  { "layers", "runtime/core/a.c", C .. '#include "buffer.h"\n', ":2: include without its folder", C },
  { "libraries", "runtime/core/a.c", C .. "#include <lua.h>\n", ":2: core may not include lua.h",
    C .. "#include <yaml.h>\n" },
  { "libraries", "runtime/kube/a.c", C .. "#include <lauxlib.h>\n", ":2: kube may not include lauxlib.h",
    C .. "#include <curl/curl.h>\n" },
  { "libraries", "runtime/host/a.c", C .. "#  include <curl/curl.h>\n",
    ":2: host may not include curl/curl.h", C .. "#include <lua.h>\n" },
  { "libraries", "runtime/nccl/a.c", C .. "#include <nccl.h>\n", ":2: nccl may not include nccl.h",
    C .. "#include <dlfcn.h>\n" },
  { "libraries", "runtime/nccl/a.c", C .. "#include <cuda_runtime_api.h>\n",
    ":2: nccl may not include cuda_runtime_api.h", C },
  { "pure", "runtime/gke/a.c", C .. 'int f(void)\n{\n  return fopen("a", "r");\n}\n', ":4: call of fopen",
    C .. '/* fopen("a") */ const char *s = "fopen(1)";\n' },
  { "pure", "runtime/core/a.c", C .. "  t = time(NULL);\n", ":2: call of time", C .. "  aicr_time(NULL);\n" },
  { "globals", "runtime/core/a.c", C .. "static int count;\n", ":2: mutable variable",
    C .. "static const int count = 1;\n" },
  { "globals", "runtime/kube/a.c", C .. "static char cache[8] = {0};\n", ":2: mutable variable",
    C .. "static int count(void);\n" },
  { "banned", "runtime/host/a.c", C .. "  strcpy(a, b);\n", ":2: call of strcpy",
    C .. '/* strcpy(a, b) */ x("strcpy(");\n  my_strcpy(a);\n' },
  { "banned", "spec/c/a_test.c", C .. "  n = atoi (a);\n", ":2: call of atoi", C .. "  atoi_like(a);\n" },
  { "banned", "runtime/cli/a.c", C .. "  snprintf(a); sprintf(a);\n", ":2: call of sprintf",
    C .. "  snprintf(a, 1);\n" },
  { "numbers", "runtime/gke/a.c", C .. "  x = strtol(a, 0, 10);\n", ":2: call of strtol",
    C .. "  aicr_parse_int64(a);\n" },
  { "memory", "runtime/kube/a.c", C .. "  free(a);\n", ":2: call of free", C .. "  aicr_free(a);\n" },
  { "memory", "runtime/core/a.c", C .. "  a = strdup(b);\n", ":2: call of strdup",
    C .. "  aicr_strndup(b, 1);\n" },
  { "names", "runtime/core/a.c", C .. "int parse(int a)\n{\n  return a;\n}\n", ":2: parse",
    C .. "static int parse(int a)\n{\n  return other(a);\n}\nbool aicr_a(void);\n" },
  { "names", "runtime/core/a.h", HEADER:format "struct a *make(void);", ":4: make",
    HEADER:format "struct a *aicr_make(void);" },
  { "typedef", "runtime/core/a.c", C .. "typedef struct a a;\n", ":2: typedef struct",
    C .. "typedef int (*aicr_f)(void);\n" },
  { "assignment", "runtime/core/a.c", C .. "  if ((a = f()) != 0)\n", ":2: assignment",
    C .. '  if (a == f() || b <= 1 || c != 2 || s("a = b"))\n    d = 1;\n' },
  { "assignment", "runtime/core/a.c", C .. "  while ((c = *p++))\n", ":2: assignment",
    C .. "  for (i = 0; i < n; i++)\n" },
  { "comments", "runtime/core/a.c", C .. "int a; // b\n", ":2: comment of the // kind",
    C .. '/* http://a */ const char *s = "http://b\\"//";\n' },
  { "guards", "runtime/core/a.h", C .. "#ifndef A_H\n#define A_H\n#endif\n",
    "guard is not AICR_CORE_A_H", HEADER:format "" },
  { "licence", "lua/aicr/a.lua", "return 1\n", ":1: no SPDX", LUA .. "return 1\n" },
  { "licence", "spec/a", "#!/bin/sh\nexit\n", ":1: no SPDX",
    "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n" },
  { "blanks", "lua/aicr/a.lua", LUA .. "local a \n", ":2: trailing blank", LUA .. "local a\n" },
  { "blanks", "runtime/core/a.c", C .. "\tint a;\n", ":2: tab", C .. "  int a;\n" },
  { "blanks", "runtime/core/a.c", C .. "int a;\r\n", ":2: trailing blank", C .. "int a;\n" },
  { "width", "runtime/core/a.c", C .. "/* " .. ("x"):rep(75) .. " */\n", ":2: 81 columns",
    C .. "/* " .. ("é"):rep(74) .. " */\n" },
  { "file-length", "lua/aicr/a.lua", LUA .. ("\n"):rep(600), ": 601 lines", LUA .. ("\n"):rep(599) },
  { "function-length", "runtime/core/a.c", C .. "void f(void)\n{\n" .. ("\n"):rep(79) .. "}\n",
    ":3: 81 lines", C .. "void f(void)\n{\n" .. ("\n"):rep(78) .. "}\n" },
  { "function-length", "lua/aicr/a.lua", LUA .. "local function f()\n" .. ("\n"):rep(79) .. "end\n",
    ":2: 81 lines", LUA .. "local function f()\n" .. ("\n"):rep(78) .. "end\n" },
  { "leftovers", "lua/aicr/a.lua", LUA .. "-- TO" .. "DO: more\n", ":2: TO" .. "DO",
    LUA .. "-- TO" .. "DOS and METHO" .. "DS\n" },
  { "file-names", "lua/aicr/My-File.lua", LUA, "My-File.lua", nil },
  { "check-specs", "checks/deployment/a.lua", LUA, "no spec/check/a_spec.lua", nil },
  { "sandbox", "checks/deployment/a.lua", LUA .. 'local f = io.open("a")\n', ":2: use of io.",
    LUA .. '-- io.open\nlocal f = "os.time"; ctx.k8s:list("networks.networking.gke.io.x"); f.io.x()\n' },
  { "sandbox", "lua/aicr/a.lua", LUA .. "return os.getenv(1)\n", ":2: use of os.",
    LUA .. "return [[\nos.getenv\n]]\n" },
  { "requires", "checks/deployment/a.lua", LUA .. 'require "aicr.native.gke"\n', ":2: aicr.native",
    LUA .. 'require "aicr.gke" -- require "aicr.native.gke"\n' },
  { "engine", "lua/aicr/report/a.lua", LUA .. "ctx.k8s:list()\n", ":2: use of k8s",
    LUA .. '-- ctx.k8s\nlocal a = "k8s.io"\n' },
  { "engine", "lua/aicr/engine/a.lua", LUA .. 'local socket = f()\n', ":2: use of socket", LUA },
  { "luacheck", "lua/aicr/a.lua", LUA .. "a_global = 1\n", "lua/aicr/a.lua:2:1: (W111)",
    LUA .. "local a = 1\nreturn a\n" },
}

describe("spec/lint finds by rule", function()
  for i, row in ipairs(rows) do
    local rule, path, bad, told, good = table.unpack(row, 1, 5)
    it(("%d %s: %s"):format(i, rule, told), function()
      local output, code = lint({ [path] = bad }, "--rule " .. rule)
      assert.truthy(output:find("not ok 1 - " .. rule, 1, true), output)
      assert.truthy(output:find(told:match("^:") and path .. told or told, 1, true), output)
      assert.equal(1, code)
      if good then
        output, code = lint({ [path] = good }, "--rule " .. rule)
        assert.truthy(output:find("\nok 1 - " .. rule, 1, true), output)
        assert.equal(0, code)
      end
    end)
  end
end)

describe("spec/lint finds", function()
  it("a second file of cli that includes Lua", function()
    local tree = { ["runtime/cli/a.c"] = C .. "#include <lua.h>\n" }
    assert.equal(0, select(2, lint(tree, "--rule lua-in-cli")))
    tree["runtime/cli/b.c"] = C .. "#include <lauxlib.h>\n"
    local output, code = lint(tree, "--rule lua-in-cli")
    assert.truthy(output:find("runtime/cli/b.c: so does runtime/cli/a.c", 1, true), output)
    assert.equal(1, code)
  end)

  it("a native module without annotations", function()
    local tree = {
      ["runtime/bind/modules.c"] = C .. '    {"aicr.json", a},\n    {"aicr.native.gke", b},\n',
      ["lua/aicr/meta/json.lua"] = "---@meta aicr.json\n" .. LUA,
    }
    local output, code = lint(tree, "--rule meta")
    assert.truthy(output:find("says ---@meta aicr.native.gke", 1, true), output)
    assert.falsy(output:find("says ---@meta aicr.json", 1, true), output)
    assert.equal(1, code)
    tree["lua/aicr/meta/gke.lua"] = "---@meta aicr.native.gke\n" .. LUA
    assert.equal(0, select(2, lint(tree, "--rule meta")))
  end)

  it("a file that may be executed but is no script", function()
    local folder = files.folder()
    files.write(folder .. "/a.lua", LUA)
    assert(os.execute("chmod +x " .. files.quote(folder .. "/a.lua")))
    files.write(folder .. "/b", "#!/bin/sh\n# SPDX-License-Identifier: Apache-2.0\n")
    local pipe = assert(io.popen(("env -u LD_PRELOAD spec/lint --root %s --rule executable"):format(folder)))
    local output = pipe:read "a"
    pipe:close()
    files.remove(folder)
    assert.truthy(output:find("a.lua: is executable", 1, true), output)
    assert.truthy(output:find("b: is not executable", 1, true), output)
  end)

  it("what clang-tidy finds, and files that it was not shown", function()
    local source = C .. "int aicr_f(int a);\nint aicr_f(int a)\n{\n  int b[1] = {0};\n  return a ? b[a] : b[5];\n}\n"
    local folder = files.folder()
    files.write(folder .. "/runtime/core/a.c", source)
    files.write(folder .. "/runtime/core/b.c", C)
    files.write(folder .. "/.clang-tidy", "Checks: '-*,clang-analyzer-*,clang-diagnostic-*'\nWarningsAsErrors: '*'\n")
    files.write(folder .. "/compile_commands.json", ('[{"directory": "%s", "file": "%s/runtime/core/a.c",'
      .. ' "command": "cc -c runtime/core/a.c"}]\n'):format(folder, folder))
    local pipe = assert(io.popen(("env -u LD_PRELOAD spec/lint --root %s --rule clang-tidy %s"):format(folder, folder)))
    local output = pipe:read "a"
    pipe:close()
    files.remove(folder)
    assert.truthy(output:find("runtime/core/a.c:6:", 1, true), output)
    assert.truthy(output:find("runtime/core/b.c: is not built", 1, true), output)
  end)

  it("that it was given no build", function()
    local output, code = lint({ ["runtime/core/a.c"] = C }, "--rule clang-tidy")
    assert.truthy(output:find("no compile_commands.json here", 1, true), output)
    assert.equal(1, code)
  end)

  it("a wrong command line", function()
    assert.equal(2, select(2, lint({ ["a.lua"] = LUA }, "--rule no-such-rule")))
    assert.equal(2, select(2, lint({ ["a.lua"] = LUA }, "--bogus")))
  end)

  it("an empty tree", function()
    assert.equal(1, select(2, lint({}, "--rule blanks")))
  end)
end)
