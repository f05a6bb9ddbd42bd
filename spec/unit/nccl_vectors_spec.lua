-- SPDX-License-Identifier: Apache-2.0
--- Outputs of the real nccl-tests programs, and disturbed copies of them, with their true figures
--- (spec/fixtures/vectors/nccl-logs).
require "aicr_native"
local files = require "spec.support.files"
local json = require "aicr.json"
local nccl = require "aicr.nccl"

local DIR <const> = "spec/fixtures/vectors/nccl-logs/"

local function names(folder, pattern)
  local found = {}
  local pipe = assert(io.popen("ls " .. DIR .. folder))
  for name in pipe:lines() do
    found[#found + 1] = name:match(pattern)
  end
  pipe:close()
  assert(#found > 0, "no vectors in " .. folder)
  return found
end

local function truth(path)
  return (json.decode(files.read(path)))
end

-- null of the vectors is nil here.
local function opt(value)
  if value ~= json.null then
    return value
  end
end

local function number(text)
  text = opt(text)
  return text and tonumber(text) + 0.0
end

-- A placement of the vectors in our shape. Legacy vectors have `error` and no `wrong`.
local function figures(p)
  p = opt(p)
  return p and {
    time_us = number(p.time), algbw = number(p.algbw), busbw = number(p.busbw),
    wrong = number(p.wrong) and math.tointeger(number(p.wrong)), max_error = number(p.error),
  }
end

local function wanted_row(row)
  return {
    size = row.size, count = row.count, type = row.type, redop = opt(row.redop), root = opt(row.root),
    oop = figures(row.oop), ip = figures(row.ip), truncated = row.truncated or false,
    timestamp = opt(row.timestamp),
  }
end

local function our_figures(p)
  return p and {
    time_us = p.time_us, algbw = p.algbw, busbw = p.busbw, wrong = p.wrong, max_error = p.max_error,
  }
end

local function our_row(row)
  return {
    size = row.size, count = row.count, type = row.type, redop = row.redop, root = row.root,
    oop = our_figures(row.oop), ip = our_figures(row.ip), truncated = row.truncated,
    timestamp = row.timestamp,
  }
end

local function our_rows(result)
  local rows = {}
  for _, run in ipairs(result.runs) do
    for _, row in ipairs(run.rows) do
      rows[#rows + 1] = our_row(row)
    end
  end
  return rows
end

local function key(row)
  return json.encode(row)
end

local function check_run(want, run, label)
  if want.avg_busbw == "-nan" then
    assert.is_true(run.avg_busbw ~= run.avg_busbw, label)
  elseif want.complete ~= json.null then
    assert.equal(number(want.avg_busbw), run.avg_busbw, label)
  end
  if want.complete ~= json.null then
    assert.equal(want.complete, run.complete, label)
  end
  assert.equal(opt(want.avg_status), run.bw_status, label)
  assert.same(opt(want.oob), run.oob, label)
end

describe("whole logs", function()
  for _, id in ipairs(names("logs", "^(.*)%.log$")) do
    it(id, function()
      local want = truth(DIR .. "logs/" .. id .. ".json")
      local result = nccl.parse(files.read(DIR .. "logs/" .. id .. ".log"), { op = want.op })
      if want.unsupported then
        assert.equal(1, #result.runs)
        assert.equal("unsupported", result.runs[1].format)
        assert.same({}, our_rows(result))
        return
      end
      assert.equal(#want.runs, #result.runs)
      for i, run in ipairs(result.runs) do
        local rows, ours = {}, {}
        for _, row in ipairs(want.runs[i].rows) do
          -- The last word of a log that was killed may be a part of one (0.1, rule 5).
          if not row.truncated then
            rows[#rows + 1] = wanted_row(row)
          end
        end
        for _, row in ipairs(run.rows) do
          ours[#ours + 1] = our_row(row)
          assert.is_false(row.inconsistent, ("line %d"):format(row.line))
        end
        assert.same(rows, ours)
        check_run(want.runs[i], run, id)
        assert.equal(want.op, run.op)
        assert.equal(want.time_kind == "cputime", run.cpu_time)
        if run.group_ranks then
          assert.equal(want.ranks, run.group_ranks)
        end
      end
    end)
  end
end)

-- Rows of the vectors by what they are; each of `must` once for each time that it stands there.
local function bag(rows)
  local counts = {}
  for _, row in ipairs(rows) do
    local k = key(wanted_row(row))
    counts[k] = (counts[k] or 0) + 1
  end
  return counts
end

local function check_rows(want, rows)
  local must, may = bag(want.must), bag(want.may)
  for _, row in ipairs(rows) do
    local k = key(row)
    if (must[k] or 0) > 0 then
      must[k] = must[k] - 1
    else
      assert.is_true(may[k] ~= nil, "neither in must nor in may: " .. k)
    end
  end
  for k, left in pairs(must) do
    assert.equal(0, left, "missing: " .. k)
  end
end

local function has_value(rows, ban)
  for _, row in ipairs(rows) do
    if ban.size == nil or row.size == ban.size then
      local value = number(ban.value)
      if ban.field == "row" and (ban.size == row.size or ban.line) then
        return ban.line == nil or tostring(ban.line):match "^%d+" == tostring(row.size)
      elseif ban.field == "ip" and (row.ip ~= nil) then
        return value == nil or row.ip.busbw == value or row.ip.algbw == value
      elseif ban.field == "oop" and (row.oop.busbw == value or row.oop.algbw == value) then
        return true
      elseif ban.field == "type" and row.type == ban.value then
        return true
      elseif ban.field == "size" and row.size == value then
        return true
      end
    end
  end
  return false
end

local function check_bans(want, result)
  local rows = our_rows(result)
  for _, ban in ipairs(want.must_not) do
    if ban.field == "avg_busbw" then
      assert.not_equal(number(ban.value), result.runs[#result.runs].avg_busbw)
    elseif ban.field == "oob_count" then
      assert.is_nil(result.runs[#result.runs].oob)
    elseif ban.field ~= "oop.wrong" then -- no number at all: it cannot be in a row
      assert.is_false(has_value(rows, ban), json.encode(ban))
    end
  end
end

describe("disturbed logs", function()
  for _, name in ipairs(names("variants", "^(.*%.log)$")) do
    it(name, function()
      local want = truth(DIR .. "variants/" .. name:gsub("%.log$", ".json"))
      local result = nccl.parse(files.read(DIR .. "variants/" .. name), { op = want.op })
      check_rows(want, our_rows(result))
      check_bans(want, result)
      if want.must[1] and want.complete ~= json.null then
        assert.equal(#want.runs, #result.runs)
        for i, run in ipairs(want.runs) do
          check_run(run, result.runs[i], name)
        end
      end
    end)
  end
end)

-- Half a unit of the last digit of a printed number.
local function half(text)
  local fraction, exponent = text:match "^%d+%.?(%d*)e?([+-]?%d*)$"
  return 0.5 * 10 ^ ((tonumber(exponent) or 0) - #fraction)
end

-- JSON has six decimals where the vectors have what the text printed.
local function check_json_figures(want, ours, label)
  want = opt(want)
  if not want then
    assert.is_nil(ours, label)
    return
  end
  if want.wrong == json.null then
    assert.is_nil(ours.wrong, label)
  else
    assert.is_true(math.abs(tonumber(want.wrong) - ours.wrong) <= half(want.wrong), label)
  end
  for ours_name, name in pairs { time_us = "time", algbw = "algbw", busbw = "busbw" } do
    local near = math.abs(tonumber(want[name]) - ours[ours_name]) <= half(want[name]) * 1.001
    assert.is_true(near, ("%s %s: %s %s"):format(label, name, want[name], ours[ours_name]))
  end
end

local function check_json_rows(want, rows)
  assert.equal(#want, #rows)
  for i, row in ipairs(want) do
    for _, name in ipairs { "size", "count", "type", "redop", "root" } do
      assert.equal(opt(row[name]), rows[i][name])
    end
    check_json_figures(row.oop, rows[i].oop, "out of place " .. row.size)
    check_json_figures(row.ip, rows[i].ip, "in place " .. row.size)
    assert.equal(row.truncated or false, rows[i].truncated)
  end
end

describe("-J files", function()
  for _, id in ipairs(names("logs", "^(.*)%.nccl%.json$")) do
    it(id, function()
      local want = truth(DIR .. "logs/" .. id .. ".json")
      local text = files.read(DIR .. "logs/" .. id .. ".nccl.json")
      local run = nccl.parse_json(text).runs[1]
      check_json_rows(want.runs[1].rows, run.rows)
      assert.equal(want.runs[1].complete, run.complete)
      assert.same(opt(want.runs[1].oob), run.oob)
      assert.equal(want.op, run.op)
      assert.equal(want.ranks, run.group_ranks)
      assert.is_nil(json.encode(run.devices):find("do-not-report-me", 1, true))
    end)
  end

  for _, id in ipairs(names("variants", "^(.*)%.nccl%.json$")) do
    it(id, function()
      local want = truth(DIR .. "variants/" .. id .. ".json")
      local run = nccl.parse_json(files.read(DIR .. "variants/" .. id .. ".nccl.json")).runs[1]
      check_json_rows(want.must, run.rows)
      assert.is_false(run.complete)
      assert.equal("not-recovered", run.warnings[#run.warnings].code)
    end)
  end
end)
