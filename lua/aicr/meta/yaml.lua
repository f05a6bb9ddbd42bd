---@meta aicr.yaml
-- SPDX-License-Identifier: Apache-2.0

--- YAML as values of `aicr.json`, nulls kept.
---@class aicr.yaml
local yaml = {}

---@alias aicr.yaml.Options {schema?: "recipe"|"kubernetes"} default "kubernetes"

--- Reads a text that is one document. Raises INVALID_REQUEST, reasons `malformed`,
--- `duplicate-key`, `too-deep`, `alias-bomb`, `too-large`.
---@param text string
---@param opts? aicr.yaml.Options
---@return any
---@nodiscard
function yaml.decode(text, opts) end

--- Reads all documents of a text. Raises as `decode`.
---@param text string
---@param opts? aicr.yaml.Options
---@return any[]
---@nodiscard
function yaml.decode_all(text, opts) end

return yaml
