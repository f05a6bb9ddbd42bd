-- SPDX-License-Identifier: Apache-2.0
--- What happens while checks run (cli-and-reports.md 6.4), on stderr: a live region on a terminal,
--- else a heartbeat line every 30 s (AICR_RUN_HEARTBEAT) for each running check. On a terminal the
--- lines of the human report go to stdout as the checks end.
local human = require "aicr.report.human"
local styles = require "aicr.report.style"
local text = require "aicr.report.text"

local M = {}

local HEARTBEAT_MS <const> = 30000
local LIVE_TICK_MS <const> = 100
local QUIET_TICK_MS <const> = 1000
local SPINNER <const> = { utf8 = { "⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇",
  "⠏" }, ascii = { "|", "/", "-", "\\" } }

local Watch = {}
Watch.__index = Watch

--- `1m52s`: a duration without blanks.
local function compact(ms)
  return (text.duration(ms):gsub(" ", ""))
end

function Watch:begun(item)
  local now = self.host.monotonic()
  self.running[#self.running + 1] = { item = item, since = now, beat = now, text = "" }
end

--- A check that ended as error runs again.
function Watch:again(item, attempt, of)
  for _, entry in ipairs(self.running) do
    if entry.item == item then
      local now = self.host.monotonic()
      entry.since, entry.beat = now, now
      entry.text = ("attempt %d of at most %d"):format(attempt, of)
    end
  end
end

function Watch:said(item, what)
  for _, entry in ipairs(self.running) do
    if entry.item == item then
      entry.text = text.printable(what)
    end
  end
end

function Watch:ended(result)
  for i, entry in ipairs(self.running) do
    if entry.item.name == result.name then
      table.remove(self.running, i)
      break
    end
  end
  self.counts[result.shown] = (self.counts[result.shown] or 0) + 1
  self.done = self.done + 1
  if self.report then
    self:erase()
    self.report:result(result)
    self:flush()
  end
end

--- Writes what the human report has so far.
function Watch:flush()
  local written = self.report:take()
  if written == "" then
    return
  end
  local ok, why = self.host.write("-", written)
  if not ok then
    self.unwritten = why or "no reason given"
  end
end

--- Takes the live region away.
function Watch:erase()
  if self.drawn > 0 then
    self.host.write("stderr", ("\27[%dA\27[J"):format(self.drawn))
    self.drawn = 0
  end
end

local function fitted(s, width)
  local at = width and utf8.offset(s, width)
  return at and at <= #s and s:sub(1, at - 1) or s
end

function Watch:summary(now)
  local dot, parts = self.style.glyphs.dot, {}
  parts[1] = ("%d/%d done"):format(self.done, self.total)
  for _, row in ipairs { { "pass", "passed" }, { "fail", "failed" }, { "error", "errors" },
    { "waived", "waived" }, { "skip", "skipped" } } do
    local n = self.counts[row[1]]
    if n then
      parts[#parts + 1] = ("%d %s"):format(n, row[2])
    end
  end
  parts[#parts + 1] = text.duration(now - self.start)
  return table.concat(parts, dot)
end

function Watch:draw(now)
  local frames = self.utf8 and SPINNER.utf8 or SPINNER.ascii
  local frame = frames[now // LIVE_TICK_MS % #frames + 1]
  local lines = {}
  for _, entry in ipairs(self.running) do
    local took = ("%s / %s"):format(text.duration(now - entry.since),
      text.time_limit(entry.item.timeout_ms))
    lines[#lines + 1] = ("  %s %-26s %14s   %s"):format(frame, entry.item.name, took,
      self.style.plain(entry.text))
  end
  lines[#lines + 1] = "  " .. self:summary(now)
  local out = { self.drawn > 0 and ("\27[%dA\27[J"):format(self.drawn) or "" }
  for _, line in ipairs(lines) do
    out[#out + 1] = fitted(line, self.width) .. "\n"
  end
  self.drawn = #lines
  self.host.write("stderr", table.concat(out))
end

function Watch:heartbeat(now)
  for _, entry in ipairs(self.running) do
    if now - entry.beat >= self.heartbeat_ms then
      entry.beat = now
      local line = ("[%s] %s: running %s of %s"):format(compact(now - self.start), entry.item.name,
        compact(now - entry.since), text.time_limit(entry.item.timeout_ms))
      if entry.text ~= "" then
        line = line .. (self.utf8 and " — " or " - ") .. self.style.plain(entry.text)
      end
      self.host.write("stderr", line .. "\n")
    end
  end
end

function Watch:tick()
  local now = self.host.monotonic()
  if not self.live then
    self:heartbeat(now)
  elseif #self.running > 0 and now - self.last >= LIVE_TICK_MS then
    self.last = now
    self:draw(now)
  end
end

--- Ends the watch: nothing stays of the live region.
function Watch:stop()
  self:erase()
end

--- Writes the rest of the human report that was streamed.
--- @param run table the result model
--- @return boolean|nil true when all of it could be written
--- @return string|nil why not
function Watch:close(run)
  self.report:close(run)
  self:flush()
  return not self.unwritten, self.unwritten
end

--- Watches a run.
--- @param host table the border: monotonic, write
--- @param run table version, target, recipe, names (of the checks)
--- @param options table terminal (utf8, color, width; live = columns of stderr where a live region is
---   wanted), stream (write the human report to stdout as checks end), heartbeat_ms, quiet, verbose
function M.new(host, run, options)
  local terminal, now = options.terminal, host.monotonic()
  local heartbeat_ms = options.heartbeat_ms or HEARTBEAT_MS
  local watch = setmetatable({
    host = host, style = styles.new(terminal), utf8 = terminal.utf8,
    live = terminal.live ~= nil, width = terminal.live,
    tick_ms = terminal.live and LIVE_TICK_MS or math.min(QUIET_TICK_MS, heartbeat_ms),
    heartbeat_ms = heartbeat_ms,
    running = {}, counts = {}, done = 0, total = #run.names,
    start = now, last = now - LIVE_TICK_MS, drawn = 0,
  }, Watch)
  if options.stream then
    watch.report = human.open(run, run.names, options)
    watch:flush()
  end
  return watch
end

return M
