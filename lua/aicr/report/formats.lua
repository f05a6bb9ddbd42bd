-- SPDX-License-Identifier: Apache-2.0
--- The formats, and what `--format` and `--output [FMT:]FILE` ask for.
local message = require "aicr.engine.message"
local sorted_keys = require "aicr.base.sorted_keys"

local M = {}

local RENDER <const> = {
  human = function() return require "aicr.report.human" end,
  json = function() return require "aicr.report.native" end,
  junit = function() return require "aicr.report.junit" end,
}

local LATER <const> = { ctrf = true, tap = true, markdown = true, html = true, github = true }

local ENDINGS <const> = {
  { ".ctrf.json", "ctrf" }, { ".json", "json" }, { ".xml", "junit" }, { ".tap", "tap" },
  { ".md", "markdown" },
  { ".html", "html" },
}

local function known(name)
  return RENDER[name] ~= nil or LATER[name] ~= nil
end

--- Checks the name of a format.
local function accept(name, option, problems)
  if LATER[name] then
    problems:add {
      what = ("%s: format %s is not available yet"):format(option, name),
      fix = "one of: " .. table.concat(sorted_keys(RENDER), ", "),
    }
  elseif not RENDER[name] then
    local near = message.suggestion(name, sorted_keys(RENDER, LATER))
    problems:add('%s: unknown format "%s"%s', option, name, near)
  end
  return RENDER[name] and name
end

local function by_ending(file)
  for _, rule in ipairs(ENDINGS) do
    if #file > #rule[1] and file:sub(-#rule[1]) == rule[1] then
      return rule[2]
    end
  end
end

local function parse_output(text, problems)
  local format, file = text:match("^(%a[%w-]*):(.+)$")
  if format and not known(format) then
    if not by_ending(file) then
      accept(format, "--output " .. text, problems)
      return
    end
    format, file = nil, nil
  end
  file = file or text
  format = format or by_ending(file)
  local option = "--output " .. text
  if text == "" or file == "" then
    problems:add("--output: expected [FMT:]FILE")
  elseif file == "-" then
    problems:add {
      what = option .. ": stdout is not a file", fix = "choose what stdout gets with --format",
    }
  elseif not format then
    problems:add {
      what = ("%s: the name does not say which format is meant"):format(option),
      fix = "put it in front, FMT:FILE, with one of: " .. table.concat(sorted_keys(RENDER), ", "),
    }
  elseif accept(format, option, problems) then
    return { format = format, file = file }
  end
end

--- What is written where.
--- @param options table format, output (list) as given
--- @return table {format of stdout, outputs = list of {format, file}, json_file = the first that is JSON}
function M.parse(options, problems)
  local out = { format = options.format or "human", outputs = {} }
  local named = {}
  accept(out.format, "--format", problems)
  for _, text in ipairs(options.output or {}) do
    local output = parse_output(text, problems)
    local other = output and not output.file:find "^/dev/" and named[output.file]
    if other and other ~= output.format then
      problems:add("--output %s: a report of format %s is to be written there too", text, other)
    elseif output then
      named[output.file] = output.format
    end
    out.outputs[#out.outputs + 1] = output
    out.json_file = out.json_file or (output and output.format == "json" and output.file or nil)
  end
  return out
end

--- The text of a report.
--- @param format string human, json or junit
--- @param run table the result model
--- @param style table terminal properties for human
function M.render(format, run, style)
  return RENDER[format]().render(run, style)
end

return M
