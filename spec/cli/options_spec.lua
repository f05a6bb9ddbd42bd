-- SPDX-License-Identifier: Apache-2.0
require "aicr_native"
local binary = require "spec.support.binary"
local files = require "spec.support.files"

local TRY = "Try 'aicr-run --help' for more information.\n"
local OK = "spec/fixtures/recordings/lyra-ok"
local SUITE = "checks/gke_tcpxo.lua"

--- A run that must be refused: exit code 2, nothing on stdout.
local function refused(args, how)
  local result = binary.run(args, how)
  assert.equal("", result.stdout)
  assert.equal(2, result.code)
  return result.stderr
end

describe("an option that is not known", function()
  local rows = {
    { { "--frmat", "json" }, "unrecognized option '--frmat'; did you mean '--format'?\n" .. TRY },
    { { "--frmat=json" }, "unrecognized option '--frmat'; did you mean '--format'?\n" .. TRY },
    { { "--recodring=x" }, "unrecognized option '--recodring'; did you mean '--recording'?\n" .. TRY },
    { { "--colour" }, "unrecognized option '--colour'; did you mean '--color'?\n" .. TRY },
    { { "--quite" }, "unrecognized option '--quite'; did you mean '--quiet'?\n" .. TRY },
    { { "--something-else" }, "unrecognized option '--something-else'\n" .. TRY },
    { { "--a\27[31m\255" }, "unrecognized option '--a\\x1b[31m\\xff'\n" .. TRY },
    { { "--" .. ("x"):rep(70) }, "unrecognized option '--" .. ("x"):rep(70) .. "'\n" .. TRY },
    { { "-z" }, "invalid option '-z'\n" .. TRY },
    { { "-qz" }, "invalid option '-z'\n" .. TRY },
    { { "-\27" }, "invalid option '-\\x1b'\n" .. TRY },
    { { "--seed=1", "--str", "--frmat" },
      "unrecognized option '--frmat'; did you mean '--format'?\n" .. TRY },
    { { "--s" }, "option '--s' is ambiguous; possibilities: '--skip' '--snapshot' '--seed' '--strict'"
      .. " '--source' '--set' '--set-file'\n" .. TRY },
  }
  for _, row in ipairs(rows) do
    it("is refused: " .. table.concat(row[1], " "):gsub("[^ -~]", "?"), function()
      assert.equal("aicr-run: " .. row[2], refused(row[1]))
    end)
  end
end)

describe("an argument", function()
  local rows = {
    { { "--recipe" }, "option '--recipe' requires an argument\n" .. TRY },
    { { "-r" }, "option '-r' requires an argument (--recipe=FILE)\n" .. TRY },
    { { "--strict=1" }, "option '--strict' doesn't allow an argument\n" .. TRY },
    { { "--recipe=" }, "--recipe is empty, expected FILE\n" },
    { { "--set", "" }, "--set is empty, expected KEY=VALUE\n" },
    { { "--recipe", "\255" }, '--recipe "\\xff" is not valid UTF-8\n' },
    { { "" }, "operand is empty, expected a check, file or folder\n" },
    { { "a\254" }, 'operand "a\\xfe" is not valid UTF-8\n' },
    { { "a", "--", "\254" }, 'argument "\\xfe" is not valid UTF-8\n' },
    { { "-p", "deploy" }, '--phase "deploy" is not valid; expected one of: deployment, conformance,'
      .. " performance, all\n" },
    { { "-f", "xml" }, '--format "xml" is not valid; expected one of: human, json, junit\n' },
    { { "--color=yes" }, '--color "yes" is not valid; expected one of: auto, always, never\n' },
    { { "--log-level=5" },
      '--log-level "5" is not valid; expected one of: error, warn, info, debug, trace\n' },
    { { "--seed=-1" }, '--seed "-1" is not valid; expected a whole number from 0\n' },
    { { "--seed=1e3" }, '--seed "1e3" is not valid; expected a whole number from 0\n' },
    { { "--seed=9223372036854775808" },
      '--seed "9223372036854775808" is not valid; expected a whole number from 0\n' },
  }
  for _, row in ipairs(rows) do
    it("is refused: " .. table.concat(row[1], " "):gsub("[^ -~]", "?"), function()
      assert.equal("aicr-run: " .. row[2], refused(row[1]))
    end)
  end
end)

describe("--platform", function()
  local NAMES = "aws, gcp, azure, oci, onprem, togetherai, mistral, forge, nscale"
  for _, value in ipairs { "gke", "eks", "AWS", "on-prem", " gcp", "gcp ", "gc", "unknown" } do
    it(("refuses %q with all names"):format(value), function()
      assert.equal(('aicr-run: --platform "%s" is not valid; expected one of: %s\n'):format(value,
        NAMES), refused { "--platform", value, "--list" })
    end)
  end
  it("shows control characters and quotes escaped", function()
    assert.equal('aicr-run: --platform "a\\"\\x1b" is not valid; expected one of: ' .. NAMES .. "\n",
      refused { "--platform", 'a"\27', "--list" })
  end)
  for name in (NAMES .. ", "):gmatch("(%a+), ") do
    it("takes " .. name, function()
      assert.equal(0, binary.run({ "--platform", name, "--list", SUITE }).code)
    end)
  end
  it("takes the empty text as not given", function()
    assert.equal(0, binary.run({ "--platform", "", "--list", SUITE }).code)
  end)
end)

describe("what is not available yet", function()
  local later = {
    "--rerun=a", "--snapshot=a", "-s=a",
    "--keep", "--keep=failed",
    "--node-selector=a=b", "--toleration=a=b:c",
    "--log-format=json",
  }
  local letters = { s = "snapshot" }
  for _, option in ipairs(later) do
    it("is option " .. option, function()
      local name = option:match("^%-%-([%a-]+)") or letters[option:match("^%-(%a)")]
      assert.equal(("aicr-run: --%s is not available yet\n"):format(name), refused { option })
    end)
  end
  for word in ("new report validator cleanup repl completion bench"):gmatch("%a+") do
    it("is command " .. word, function()
      assert.equal(("aicr-run: command '%s' is not available yet\n"):format(word),
        refused { word, "--an-option-of-its-own" })
    end)
  end
  for format in ("ctrf tap markdown html"):gmatch("%a+") do
    it("is format " .. format, function()
      assert.equal(("aicr-run: --format %s is not available yet\n"):format(format),
        refused { "-f", format })
    end)
  end
  it("is a variable of such an option", function()
    assert.equal("aicr-run: AICR_RUN_SNAPSHOT is not available yet\n",
      refused({ SUITE }, { env = { AICR_RUN_SNAPSHOT = "a" } }))
  end)
  it("is not an operand after a command", function()
    assert.equal('aicr-run: no check named "repl"\n  fix  see which there are: aicr-run --list\n'
      .. "aicr-run: no check was run\n", refused { "rbac", "repl" })
  end)
  it("is not a file of such a name", function()
    assert.not_match("not available", refused { "./doctor" })
    assert.not_match("not available", refused { "a", "doctor" })
  end)
end)

describe("--help", function()
  local help = binary.run({ "--help" })

  it("prints to stdout and ends with 0", function()
    assert.equal(0, help.code)
    assert.equal("", help.stderr)
    assert.match("^Usage: aicr%-run %[OPTION%]%.%.%. %[CHECK%]%.%.%. %[%-%- ARG%.%.%.%]\n", help.stdout)
    assert.equal(help.stdout, binary.run({ "-h" }).stdout)
    assert.equal(help.stdout, binary.run({ SUITE, "-xh", "--frmat" }).stdout)
  end)
  it("wins over variables that are wrong", function()
    assert.equal(0, binary.run({ "--help" }, { env = { AICR_RUN_FORMAT = "x" } }).code)
  end)
  it("fits two screens", function()
    local count = 0
    for line in help.stdout:gmatch("([^\n]*)\n") do
      count = count + 1
      assert.is_true(#line < 80, line)
    end
    assert.is_true(count <= 60, count .. " lines")
  end)
  it("names the exit codes that the README has", function()
    local said, codes = help.stdout:match "\nExit: ([^\n]*)\n", 0
    for cell in files.read("README.md"):gmatch "\n| (%d[%d, ]*) |" do
      for code in cell:gmatch "%d+" do
        assert.match(tonumber(code) > 128 and "128%+N signal$" or "%f[%d]" .. code .. "%f[%D]", said)
        codes = codes + 1
      end
    end
    assert.equal(9, codes)
  end)
  it("ends with four examples", function()
    local examples = help.stdout:match("\nExamples:\n(.*)$")
    local count = select(2, examples:gsub("  aicr%-run [^\n]*\n", ""))
    assert.equal(4, count)
  end)

  local all = {
    "list", "explain", "dry-run", "phase", "tags", "skip", "rerun", "kubeconfig", "context", "no-exec-plugins",
    "namespace", "recipe", "snapshot", "record", "recording", "platform", "jobs", "timeout",
    "fail-fast", "retry", "keep", "seed", "strict", "source", "set", "set-file", "values",
    "node-selector", "toleration", "format", "output", "color", "quiet", "verbose", "log-level",
    "log-format", "help", "version", "arch", "nodes", "gpus", "nics", "nic-resource", "overrides",
  }
  for _, name in ipairs(all) do
    it("has --" .. name, function()
      assert.match("%f[%w-]%-%-" .. name:gsub("%-", "%%-") .. "%f[^%w-]", help.stdout)
    end)
  end
  it("has no option that is missing here", function()
    local known = {}
    for _, name in ipairs(all) do
      known[name] = true
    end
    for name in help.stdout:match("^(.-)\nExamples"):gmatch("%-%-(%l[%l-]*)") do
      assert.is_true(known[name], name)
    end
  end)
end)

describe("--dry-run", function()
  it("shows the plan of the shipped suite without a cluster", function()
    local result = binary.run { "--dry-run", "--seed=1", "-p", "deployment", SUITE }
    assert.equal(0, result.code, result.stderr)
    assert.equal("", result.stderr)
    assert.match("^plan: 2 checks, 4 side by side, platform gcp %(suite%), seed 1\n\ndeployment\n"
      .. "  1  gke%-gpu%-nic%-networks\n", result.stdout)
    assert.match("\n  2  gke%-gpu%-nic%-topology\n", result.stdout)
  end)
end)

describe("--version", function()
  it("names the version and the libraries, a line each", function()
    local result = binary.run { "--version" }
    assert.equal(0, result.code)
    assert.equal("", result.stderr)
    assert.match("^aicr%-run %d+%.%d+%.%d+\nLua 5%.4%.%d+\nlibcurl: [^\n]+\nTLS: [^\n]+\nNCCL: [^\n]+\n$",
      result.stdout)
    assert.equal(result.stdout, binary.run({ "-V" }).stdout)
  end)
end)

describe("stdout that takes nothing", function()
  it("is told when it is closed or full", function()
    local result = binary.run({ "--help" }, { stdout = ">&-" })
    assert.equal(3, result.code)
    assert.equal("aicr-run: cannot write to standard output: Bad file descriptor\n", result.stderr)
    result = binary.run({ "--version" }, { stdout = ">/dev/full" })
    assert.equal(3, result.code)
    assert.equal("aicr-run: cannot write to standard output: No space left on device\n", result.stderr)
  end)
  for _, words in ipairs {
    { "--list" }, { "--explain", SUITE }, { "--dry-run", "--recording", OK, SUITE }, { "--list", "-f", "json" },
    { "rbac", SUITE }, { "render", "--platform", "aws", "--arch", "h100" },
  } do
    it("is told, and is no success, of " .. words[1], function()
      local result = binary.run(words, { stdout = ">/dev/full" })
      assert.equal("aicr-run: cannot write to standard output: No space left on device\n", result.stderr)
      assert.equal(3, result.code)
    end)
  end
  it("is no failure when its reader went away", function()
    local result = binary.run({ "--help" }, { stdout = "| true" })
    assert.equal("", result.stderr)
  end)
end)

describe("an environment form", function()
  local function seed(args, env)
    local words = { "--recording", OK, "-f", "json", SUITE, table.unpack(args) }
    local result = binary.run(words, { env = env })
    assert.equal(0, result.code, result.stderr)
    return tonumber(result.stdout:match('"seed"%s*:%s*(%d+)'))
  end

  it("stands for its option", function()
    assert.equal(77, seed({}, { AICR_RUN_SEED = "77" }))
  end)
  it("yields to the command line", function()
    assert.equal(5, seed({ "--seed", "4", "--seed=5" }, { AICR_RUN_SEED = "77" }))
  end)

  local rows = {
    { { AICR_RUN_FORMAT = "x" },
      'AICR_RUN_FORMAT "x" is not valid; expected one of: human, json, junit\n' },
    { { AICR_RUN_STRICT = "yes" }, 'AICR_RUN_STRICT "yes" is not valid; expected 0 or 1\n' },
    { { AICR_RUN_VERBOSE = "x" },
      'AICR_RUN_VERBOSE "x" is not valid; expected a number from 0 to 9\n' },
    { { AICR_RUN_PLATFORM = "gke" }, 'AICR_RUN_PLATFORM "gke" is not valid; expected one of: aws, gcp,'
      .. " azure, oci, onprem, togetherai, mistral, forge, nscale\n" },
  }
  for _, row in ipairs(rows) do
    it("is refused by its own name: " .. next(row[1]), function()
      assert.equal("aicr-run: " .. row[2], refused({ "--list" }, { env = row[1] }))
    end)
  end

  it("that is misspelled draws a warning", function()
    local result = binary.run({ "--list", SUITE }, { env = { AICR_RUN_STRCT = "1" } })
    assert.equal(0, result.code)
    assert.equal('aicr-run: warning: the variable "AICR_RUN_STRCT" has no effect; '
      .. "did you mean AICR_RUN_STRICT?\n", result.stderr)
  end)
  it("that belongs to somebody else draws none", function()
    local env = { AICR_RUN_VERSION = "0.1.0", AICR_RUN_PATH = "/nowhere", AICR_RUN_IMAGE = "x" }
    assert.equal("", binary.run({ "--list", SUITE }, { env = env }).stderr)
  end)
end)

describe("arguments after --", function()
  it("reach the check, whatever they look like", function()
    local result = binary.run { "--recording", OK, "spec/fixtures/checks/args.lua", "--", "-x", "--", "a b" }
    assert.equal(0, result.code, result.stderr)
    assert.match("3 arguments: %-x|%-%-|a b", result.stdout)
  end)
end)
