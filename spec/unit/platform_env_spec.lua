-- SPDX-License-Identifier: Apache-2.0
--- Platform names and environments: platform-runtimes.md 1, 2 and rows 1 to 19 of its section 8.
require "aicr_native"
local json = require "aicr.json"
local platform = require "aicr.platform"
local raised = require "spec.support.raised"
local support = require "spec.support.platform"
local variables = require "aicr.platform.env"
local vectors = require "spec.support.vectors"

local NAMES <const> = { "aws", "gcp", "azure", "oci", "onprem", "togetherai", "mistral", "forge", "nscale" }
local LIST <const> = "aws, gcp, azure, oci, onprem, togetherai, mistral, forge, nscale"

-- "A=1 B=2 C@" is a list; @ stands for a value from a secret.
local function env(words)
  local list = json.array()
  for word in words:gmatch "%S+" do
    local name, value = word:match "^(.-)=(.*)$"
    if name then
      list[#list + 1] = { name = name, value = value }
    else
      list[#list + 1] = { name = word:sub(1, -2), valueFrom = { secretKeyRef = { name = "s", key = "k" } } }
    end
  end
  return list
end

local function words(list)
  local out = {}
  for i, entry in ipairs(list) do
    out[i] = entry.valueFrom and entry.name .. "@" or entry.name .. "=" .. entry.value
  end
  return table.concat(out, " ")
end

local BASE <const> = "NCCL_DEBUG=INFO NCCL_DEBUG_SUBSYS=NET,INIT NCCL_NVLS_ENABLE=1 NCCL_CUMEM_ENABLE=1"
  .. " NCCL_NET_GDR_C2C=1 NCCL_NET_GDR_LEVEL=PHB NCCL_P2P_NET_CHUNKSIZE=2097152 NCCL_SHM_DISABLE=1"
local OFF <const> = BASE .. " NCCL_MNNVL_ENABLE=0 NCCL_SOCKET_IFNAME=eth0"
local ON <const> = BASE .. " NCCL_MNNVL_ENABLE=1 NCCL_SOCKET_IFNAME=eth0"

describe("platform names", function()
  it("8.1 the nine in their order", function()
    assert.same(NAMES, platform.names())
  end)
  it("8.2 the nine in a sentence", function()
    assert.equal(LIST, platform.names_list())
  end)
  for row, name in pairs { ["8.3"] = "", ["8.4"] = "nscale" } do
    it(("%s %q is taken"):format(row, name), function()
      platform.validate_flag(name)
    end)
  end
  for _, row in ipairs { { "8.5", "AWS" }, { "8.6", "gke" }, { "8.6", " gcp" } } do
    it(("%s %q is refused"):format(row[1], row[2]), function()
      local err = raised(platform.validate_flag, row[2])
      assert.equal("INVALID_REQUEST", err.code)
      for _, part in ipairs { "--platform", '"' .. row[2] .. '"', LIST } do
        assert.is_truthy(err.message:find(part, 1, true), err.message)
      end
    end)
  end
  it("8.7 the list is the caller's own", function()
    local mine = platform.names()
    mine[1], mine[10] = "changed", "more"
    assert.same(NAMES, platform.names())
  end)
end)

describe("validate_flag", function()
  for _, row in ipairs(vectors.rows(support.FILE, "validate_flag")) do
    it(("%s %q"):format(row.id, row.args.value), function()
      if row.ok then
        platform.validate_flag(row.args.value)
        return
      end
      local message = raised(platform.validate_flag, row.args.value).message
      for _, part in ipairs(row.error.contains) do
        assert.is_truthy(message:find(part, 1, true), message)
      end
      -- quote-escape, quote-nonascii: how the value is escaped is ours.
      if #(row.tags or {}) == 0 and #row.args.value <= 200 then
        assert.is_truthy(message:find(row.error.quoted, 1, true), message)
      end
      assert.is_nil(message:find "%c", "control characters are escaped")
    end)
  end
end)

describe("base_nccl_env", function()
  for row, case in pairs { ["8.8"] = { false, OFF }, ["8.9"] = { true, ON } } do
    it(row .. " ten variables, in order", function()
      local list = platform.base_nccl_env(case[1])
      assert.equal(10, #list)
      assert.equal(case[2], words(list))
      list[1].value = "changed"
      assert.equal(case[2], words(platform.base_nccl_env(case[1])))
    end)
  end
end)

describe("merge_env", function()
  local rows = {
    { "8.10 with nothing", OFF, nil, OFF },
    { "8.10 with an empty list", OFF, "", OFF },
    { "8.11", OFF, "NCCL_DEBUG=TRACE", OFF:gsub("NCCL_DEBUG=INFO ", "") .. " NCCL_DEBUG=TRACE" },
    { "8.12", ON, "FOO=1 NCCL_SOCKET_IFNAME=bond0",
      ON:gsub(" NCCL_SOCKET_IFNAME=eth0", "") .. " FOO=1 NCCL_SOCKET_IFNAME=bond0" },
    { "8.13", "A=1", "A@", "A@" },
    { "8.14", "A=1 B=2", "A=3 A=4", "B=2 A=3 A=4" },
    { "8.15", "A=1 A=2 B=3", "B=9", "A=1 A=2 B=9" },
    { "8.16", "A=1", "a=2", "A=1 a=2" },
    { "8.17", "A=1", "A=", "A=" },
    { "8.18", nil, "X=1", "X=1" },
  }
  for _, row in ipairs(rows) do
    it(row[1], function()
      local user = row[3] and env(row[3])
      assert.equal(row[4], words(platform.merge_env(row[2] and env(row[2]), user)))
    end)
  end
  it("8.13 leaves no value beside valueFrom", function()
    assert.is_nil(platform.merge_env(env "A=1", env "A@")[1].value)
  end)
  it("is nil for nothing and nothing", function()
    assert.is_nil(platform.merge_env(nil, nil))
    assert.is_nil(platform.merge_env(json.null, json.array()))
  end)
  it("shares no table with the caller's lists", function()
    local base, user = env "A=1", env "B@"
    local merged = platform.merge_env(base, user)
    merged[1].value, merged[2].valueFrom.secretKeyRef.name = "x", "x"
    assert.equal("A=1 B@", words(base) .. " " .. words(user))
    assert.equal("s", user[1].valueFrom.secretKeyRef.name)
  end)
  for _, row in ipairs(vectors.rows(support.FILE, "merge_env")) do
    it(row.id, function()
      local got = platform.merge_env(row.args.base, row.args.user)
      support.same(row.result, got == nil and json.null or got)
    end)
  end
end)

describe("override_env", function()
  it("8.19 in place, nothing added", function()
    assert.equal("A=1 B=5", words(platform.override_env(env "A=1 B=2", env "B=5 C=6")))
  end)
  it("replaces the last of a name, which is the one that counts", function()
    assert.equal("A=1 A=9", words(platform.override_env(env "A=1 A=2", env "A=8 A=9")))
  end)
  for _, row in ipairs(vectors.rows(support.FILE, "override_env_by_name")) do
    it(row.id, function()
      -- The reference's empty list is null where the user sets something: no vector tells them apart.
      support.same(support.list(row.result), platform.override_env(row.args.base, row.args.user))
    end)
  end
end)

describe("mpi_env_args", function()
  for _, row in ipairs(vectors.rows(support.FILE, "mpi_env_args")) do
    it(row.id, function()
      support.same(row.result, platform.mpi_env_args(row.args.env, row.args.mpiArgs))
    end)
  end
end)

describe("unreached", function()
  local function names(...)
    return table.concat(variables.unreached(...), " ")
  end
  local function list(...)
    local out = {}
    for i, word in ipairs { ... } do
      local name, value = word:match "^([^=]+)=(.*)$"
      out[i] = { name = name, value = value }
    end
    return out
  end

  it("are variables that no -x names, or with another value", function()
    assert.equal("A", names(list "A=1", nil, {}, nil))
    assert.equal("A", names(list "A=1", nil, { "-x", "B=1" }, nil))
    assert.equal("A", names(list "A=1", nil, { "-x", "A=2" }, list "A=2"))
    assert.equal("", names(list "A=1", nil, { "-x", "A=1" }, nil))
    assert.equal("B A", names(list("B=1", "A=1"), list "B=1", nil, nil))
  end)

  it("are none that all containers have: what is forwarded has been decided", function()
    assert.equal("", names(list "A=1", list "A=1", { "-x", "A=2" }, list "A=1"))
    assert.equal("A", names(list("A=1", "A=3"), nil, { "-x", "A=2" }, list "A=1"))
  end)

  it("are not those that mpirun passes on of its own environment", function()
    local both = list("OMPI_MCA_pml=ob1", "PMIX_MCA_gds=hash", "OMPI_OTHER=1")
    assert.equal("OMPI_OTHER", names(nil, both, nil, nil))
    assert.equal("OMPI_MCA_pml PMIX_MCA_gds OMPI_OTHER", names(both, nil, nil, nil))
    assert.equal("OMPI_MCA_pml", names(list "OMPI_MCA_pml=ob1", list "OMPI_MCA_pml=cm", nil, nil))
  end)

  it("are of mpirun's own value where -x has a bare name", function()
    assert.equal("", names(nil, list "A=1", { "-x", "A" }, nil))
    assert.equal("A", names(list "A=1", list "A=2", { "-x", "A" }, nil))
    assert.equal("A", names(list "A=1", nil, { "-x", "A" }, nil))
  end)
end)

describe("a list of variables", function()
  for i, row in ipairs {
    { "merge_env", { {}, { "A=1" } }, 'merge_env: user[1]: expected an object with a name, and a value or a' },
    { "merge_env", { { { value = "x" } }, { { name = "A" } } }, "merge_env: base[1]: expected an object with a name" },
    { "merge_env", { {}, { { name = 5 } } }, 'got {"name":5}' },
    { "merge_env", { "A=1", {} }, 'merge_env: base: expected a list, got "A=1"' },
    { "override_env", { { { name = "A" } }, { true } }, "override_env: user[1]: expected an object" },
    { "override_env", { { 1 }, {} }, "override_env: list[1]: expected an object" },
    { "mpi_env_args", { { "A" }, {} }, "mpi_env_args: list[1]: expected an object" },
  } do
    it(("is refused: %d, %s"):format(i, row[3]), function()
      local err = raised(platform[row[1]], table.unpack(row[2]))
      assert.same({ "INVALID_REQUEST", "env" }, { err.code, err.reason })
      assert.truthy(err.message:find(row[3], 1, true), err.message)
    end)
  end
end)
