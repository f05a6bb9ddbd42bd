-- SPDX-License-Identifier: Apache-2.0
--- Environment lists of containers: `{name=, value=}` or `{name=, valueFrom=}`
--- (platform-runtimes.md 2, 3.6.7).
local json = require "aicr.json"
local value = require "aicr.platform.value"

local M = {}

-- What mpirun passes on of its own environment without -x (seen with Open MPI 4.1.4 over ssh).
local PASSED <const> = { "OMPI_MCA_", "PMIX_MCA_" }

-- What NCCL needs on any fabric; what a fabric needs stands in the overrides.
local BASE <const> = {
  { "NCCL_DEBUG", "INFO" },
  { "NCCL_DEBUG_SUBSYS", "NET,INIT" },
  { "NCCL_NVLS_ENABLE", "1" },
  { "NCCL_CUMEM_ENABLE", "1" },
  { "NCCL_NET_GDR_C2C", "1" },
  { "NCCL_NET_GDR_LEVEL", "PHB" },
  { "NCCL_P2P_NET_CHUNKSIZE", "2097152" },
  { "NCCL_SHM_DISABLE", "1" },
  { "NCCL_MNNVL_ENABLE", "0", "1" },
  { "NCCL_SOCKET_IFNAME", "eth0" },
}

--- The ten variables that every run has (2.1).
---@param enable_mnnvl boolean does the run use multi-node NVLink?
---@return table[]
function M.base_nccl_env(enable_mnnvl)
  local out = json.array()
  for i, row in ipairs(BASE) do
    out[i] = { name = row[1], value = enable_mnnvl and row[3] or row[2] }
  end
  return out
end

--- Refuses a list whose entries are none: they would be lost, or end in an error of Lua. Raises INVALID_REQUEST/`env`.
---@param what string its name, for the message
---@param list any
function M.need_entries(what, list)
  if list == nil or list == json.null then
    return
  elseif type(list) ~= "table" then
    value.invalid("env", "%s: expected a list, got %s", what, value.shown(list))
  end
  for i, entry in ipairs(list) do
    if not value.is_map(entry) or type(entry.name) ~= "string" then
      value.invalid("env", "%s[%d]: expected an object with a name, and a value or a valueFrom, got %s", what, i,
        value.shown(entry))
    end
  end
end

local function names_of(list)
  local names = {}
  for _, entry in ipairs(list) do
    names[entry.name] = true
  end
  return names
end

--- The base without what the user sets, then all that the user sets (2.2). Nothing within one of
--- the lists is looked for twice; entries are replaced whole.
---@param base table[]|nil
---@param user table[]|nil
---@return table[]|nil base itself where the user sets nothing
function M.merge_env(base, user)
  M.need_entries("merge_env: base", base)
  M.need_entries("merge_env: user", user)
  if #value.list(user) == 0 then
    return value.opt(base)
  end
  local out, set = json.array(), names_of(user)
  for _, entry in ipairs(value.list(base)) do
    if not set[entry.name] then
      out[#out + 1] = value.copy(entry)
    end
  end
  for _, entry in ipairs(user) do
    out[#out + 1] = value.copy(entry)
  end
  return out
end

-- The user's entry of each name; the last one counts.
local function last_of(user)
  local by_name = {}
  for _, entry in ipairs(value.list(user)) do
    by_name[entry.name] = entry
  end
  return by_name
end

--- The list with the user's entry in the place of each that the user set; nothing is added (2.3). Of
--- entries with the same name the last one is replaced: it is the one that counts.
---@param list table[]
---@param user table[]|nil
---@return table[]
function M.override_env(list, user)
  M.need_entries("override_env: list", list)
  M.need_entries("override_env: user", user)
  local out, by_name = value.copy(value.list(list)), last_of(user)
  for i = #out, 1, -1 do
    local mine = by_name[out[i].name]
    if mine then
      by_name[out[i].name] = nil
      out[i] = value.copy(mine)
    end
  end
  return out
end

--- How mpirun forwards the variable: its name alone where the value comes from elsewhere.
local function forwarded(entry)
  if value.opt(entry.valueFrom) ~= nil then
    return entry.name
  end
  return entry.name .. "=" .. (value.opt(entry.value) or "")
end

local function is_passed(name)
  for _, prefix in ipairs(PASSED) do
    if name:sub(1, #prefix) == prefix then
      return true
    end
  end
  return false
end

--- Calls see(i, name) for the operand of each `-x`.
local function each_forwarded(args, see)
  local i = 1
  while i < #args do
    if args[i] == "-x" then
      see(i + 1, args[i + 1]:match "^[^=]*")
      i = i + 1
    end
    i = i + 1
  end
end

--- The arguments of mpirun with the user's value in each `-x` that names a variable of the user's.
---@param args string[]
---@param user table[]|nil
---@return string[]
function M.override_mpi_args(args, user)
  local out, by_name = value.copy(args), last_of(user)
  each_forwarded(args, function(i, name)
    if by_name[name] then
      out[i] = forwarded(by_name[name])
    end
  end)
  return out
end

--- `-x` pairs for a list of variables.
---@param list table[]
---@return string[]
function M.forward(list)
  local out = json.array()
  for _, entry in ipairs(value.list(list)) do
    out[#out + 1] = "-x"
    out[#out + 1] = forwarded(entry)
  end
  return out
end

--- `-x` pairs for the variables that no `-x` of args names yet. sshd gives the ranks a fresh
--- environment, so that only what is forwarded reaches them.
---@param list table[]|nil
---@param args string[]|nil
---@return string[]
function M.mpi_env_args(list, args)
  M.need_entries("mpi_env_args: list", list)
  local named, left = {}, {}
  each_forwarded(value.list(args), function(_, name) named[name] = true end)
  for _, entry in ipairs(value.list(list)) do
    if not named[entry.name] then
      left[#left + 1] = entry
    end
  end
  return M.forward(left)
end

-- Does the rank get this entry? `operand` is what -x says of it, `own` mpirun's entry of that name.
local function reaches(entry, operand, own)
  local same = own and value.equal(own, entry)
  if operand == entry.name or not operand and is_passed(entry.name) then
    return same
  end
  return operand ~= nil and operand == forwarded(entry)
end

--- The names of variables that override rows put into containers and that the ranks of MPI do not get: sshd gives them
--- a fresh environment, in which is what mpirun forwards (3.6.10), another value of it perhaps. In order of the lists.
---@param workers table[]|nil environment of the workers' container
---@param launcher table[]|nil that of mpirun's
---@param args string[]|nil of mpirun
---@param common table[]|nil what every container of the run has: of these the operands decide
---@return string[]
function M.unreached(workers, launcher, args, common)
  local out, operands, seen = json.array(), {}, {}
  local of_mpirun, of_all = last_of(launcher), last_of(common)
  each_forwarded(value.list(args), function(i, name) operands[name] = args[i] end)
  for _, list in ipairs { value.list(workers), value.list(launcher) } do
    for name, entry in pairs(last_of(list)) do
      seen[name] = seen[name] or not value.equal(entry, of_all[name] or {})
        and not reaches(entry, operands[name], of_mpirun[name])
    end
    for _, entry in ipairs(list) do
      if seen[entry.name] == true then
        out[#out + 1], seen[entry.name] = entry.name, "told"
      end
    end
  end
  return out
end

return M
