---@meta aicr.native.nccl
-- SPDX-License-Identifier: Apache-2.0

--- The pure part of `aicr.nccl`: logs of nccl-tests and of NCCL (nccl-benchmark.md 5 and 7). The
--- classes of its tables are those of `aicr.nccl`.
---@class aicr.native.nccl
local nccl = {}

--- A log in work; `close` and `<close>` free it.
---@class aicr.native.nccl.Parser
---@field close fun(self: aicr.native.nccl.Parser)

--- Begins a log. Raises an error for an operation that is not known.
---@param opts? aicr.nccl.ParseOpts
---@return aicr.native.nccl.Parser
---@nodiscard
function nccl.parser(opts) end

--- Hands in the next bytes, of any number.
---@param parser aicr.native.nccl.Parser
---@param chunk string
function nccl.feed(parser, chunk) end

--- Ends the log and closes the parser.
---@param parser aicr.native.nccl.Parser
---@return aicr.nccl.Result
---@nodiscard
function nccl.finish(parser) end

--- Reads a file of `-J`. Raises INVALID_REQUEST, reasons `malformed` for what is no JSON object,
--- `too-large` over 64 MiB.
---@param text string
---@return aicr.nccl.Result
---@nodiscard
function nccl.parse_json(text) end

--- Bandwidths in GB/s (2.1). Raises INVALID_REQUEST/`argument`.
---@param op string
---@param bytes integer as nccl-tests prints it
---@param seconds number
---@param ranks integer
---@return number algbw
---@return number busbw
---@nodiscard
function nccl.busbw(op, bytes, seconds, ranks) end

--- The least size that a release of nccl-tests prints for a request of so many bytes (2.1).
---@param op? string
---@param bytes integer
---@param type string
---@param ranks? integer
---@return integer bytes
---@nodiscard
function nccl.printed_size(op, bytes, type, ranks) end

return nccl
