-- SPDX-License-Identifier: Apache-2.0
--- Over what a benchmark went, against what it had to go over (nccl-benchmark.md 0 decision 9, 7.5): NCCL takes TCP
--- where it finds no fabric, and says no word of error. Pure; what NCCL said of itself is handed in.
local benchmarks = require "aicr.nccl_runtime.benchmarks"
local errors = require "aicr.native.error"
local nccl = require "aicr.nccl"
local text = require "aicr.native.text"

local M = {}

local FABRICS <const> = benchmarks.FABRICS
local SOCKET <const> = "NET/Socket"
-- Names of networks in a message.
local SHOWN_MAX <const> = 5

local function unknown(fmt, ...)
  errors.raise {
    code = "INTERNAL", reason = "transport-unknown", details = { subject = "transport" },
    message = "transport: " .. fmt:format(...),
  }
end

local function wrong(fmt, ...)
  return {
    code = "INTERNAL", reason = "wrong-transport", details = { subject = "transport" },
    message = "transport: " .. fmt:format(...),
  }
end

-- What was wanted, in words: "efa or ib".
local function wanted_text(want)
  local words = table.concat(want.fabric or {}, " or ")
  if want.nvlink then
    words = words == "" and "multi-node NVLink" or "multi-node NVLink and " .. words
  end
  return words
end

-- The names of the networks that ranks chose, with how many did: "Socket (3 ranks), IB (13 ranks)".
local function networks_text(evidence)
  local words = {}
  for i, one in ipairs(evidence.networks) do
    words[i] = #evidence.networks > 1 and ("%s (%d times)"):format(text.printable(one.name), one.count)
      or text.printable(one.name)
  end
  return #words == 0 and "none" or table.concat(words, ", ", 1, math.min(#words, SHOWN_MAX))
end

-- Do NVLinks reach from each rank to each other one?
local function is_whole(evidence, ranks)
  return evidence.mnnvl == true and evidence.clique_size ~= nil and ranks ~= nil and evidence.clique_size >= ranks
end

-- The links of the adapters that NCCL took, each once; an empty list where it names none.
local function links_of(evidence)
  local links, seen = {}, {}
  for _, device in ipairs(evidence.ib and evidence.ib.devices or {}) do
    if not seen[device.link] then
      seen[device.link] = true
      links[#links + 1] = device.link
    end
  end
  return links
end

local function allows(want, family, link)
  for _, name in ipairs(want.fabric or {}) do
    local fabric = FABRICS[name]
    if fabric.family == family and (not link or not fabric.link or fabric.link == link) then
      return true
    end
  end
  return false
end

-- What of the network is not what was wanted, nil: nothing.
local function wrong_network(evidence, want)
  local used, family = networks_text(evidence), evidence.family
  if #evidence.networks > 1 then
    return wrong("the ranks used different networks: %s, where all are to use %s", used, wanted_text(want))
  elseif want.fabric and not allows(want, family) or not want.fabric and family == "socket" then
    return wrong("NCCL used the network %s, where it is to use %s", used, wanted_text(want))
  end
  -- Beside the fabric's adapters a node may have one of its own network, which NCCL lists too.
  local links, is_there = family == "ib" and want.fabric and links_of(evidence) or {}, false
  for _, link in ipairs(links) do
    is_there = is_there or allows(want, family, link)
  end
  if #links > 0 and not is_there then
    return wrong("NCCL used %s over links of kind %s, where it is to use %s", used,
      text.printable(table.concat(links, " and ")), wanted_text(want))
  end
end

-- Channels over TCP, though another network was chosen.
local function wrong_channels(evidence, want)
  if evidence.socket_channels > 0 and not allows(want, "socket") then
    return wrong("%d channels go over TCP sockets (%s), where %s is to carry them", evidence.socket_channels, SOCKET,
      wanted_text(want))
  end
end

local function wrong_provider(evidence, want)
  local provider = evidence.ofi and evidence.ofi.provider
  if provider and provider ~= "efa" and allows(want, "efa") and not allows(want, "socket") then
    return wrong("libfabric chose the provider %s, where efa is wanted", text.printable(provider))
  end
end

local function has_net_channel(evidence)
  for _, path in ipairs(evidence.paths) do
    if path.path:sub(1, 4) == "NET/" then
      return true
    end
  end
  return false
end

-- Words of the lines that are kept, and bytes of all of them.
local WORDS <const> = { "Using network ", "MNNVL ", " via NET/", "NET/OFI Selected ", "NET/IB : Using " }
local KEPT_MAX <const> = 1024 * 1024

--- Keeps what NCCL says of its transport while a log is followed: a long one has lost its beginning when it is read.
---@return fun(line: string) keep
---@return fun(): string kept
function M.keeper()
  local lines, bytes = {}, 0
  return function(line)
    for _, words in ipairs(bytes < KEPT_MAX and WORDS or {}) do
      if line:find(words, 1, true) then
        lines[#lines + 1], bytes = line, bytes + #line
        return
      end
    end
  end, function()
    return table.concat(lines, "\n") .. "\n"
  end
end

--- What NCCL said of itself in a log, with the lines that were kept of it where the log does not say which network.
---@param evidence aicr.nccl.Evidence|nil of the log
---@param log string
---@param kept string|nil
---@return aicr.nccl.Evidence|nil
function M.evidence(evidence, log, kept)
  if kept and (not evidence or #evidence.networks == 0) then
    return nccl.parse_debug(kept .. log)
  end
  return evidence
end

--- Judges the transport: nil, or a fault `wrong-transport` for `ctx:fail`. Raises INTERNAL/`transport-unknown`, no
--- verdict, where the log does not say over what it went.
---@param evidence aicr.nccl.Evidence|nil
---@param want {fabric: string[]|nil, nvlink: boolean|nil} fabric: one of these; nil: any network but TCP
---@param ranks integer|nil of the run
---@return aicr.nccl_verdict.Fault|nil
function M.fault(evidence, want, ranks)
  if not evidence or #evidence.networks == 0 and evidence.mnnvl == nil then
    unknown("the log has no line of NCCL that says which network it used")
  end
  if want.nvlink and evidence.mnnvl == false then
    return wrong("NCCL used no multi-node NVLink (MNNVL 0; network %s), where it is to use %s",
      networks_text(evidence), wanted_text(want))
  end
  local fault = wrong_channels(evidence, want)
  if fault or want.nvlink and is_whole(evidence, ranks) then
    return fault
  elseif want.nvlink and evidence.mnnvl == nil then
    unknown("the log does not say whether multi-node NVLink was used (MNNVL)")
  elseif #evidence.networks == 0 then
    unknown("the log has no line of NCCL that says which network it used")
  end
  fault = wrong_network(evidence, want) or wrong_provider(evidence, want)
  if not fault and not has_net_channel(evidence) then
    unknown("the log names the network %s and shows no channel over it (via NET/…)", networks_text(evidence))
  end
  return fault
end

--- What carried it, in words: "multi-node NVLink", "AWS Libfabric".
---@param evidence aicr.nccl.Evidence
---@param ranks integer|nil
---@return string
function M.text(evidence, ranks)
  if is_whole(evidence, ranks) then
    return "multi-node NVLink"
  end
  return (evidence.mnnvl == true and "multi-node NVLink and " or "") .. networks_text(evidence)
end

return M
