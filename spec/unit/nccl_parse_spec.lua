-- SPDX-License-Identifier: Apache-2.0
--- The vectors of nccl-benchmark.md 5.5, as section 0.1 corrects them, and what holds for any log.
-- luacheck: no max line length
require "aicr_native"
local nccl = require "aicr.nccl"
local nccl_log = require "spec.support.nccl_log"
local raised = require "spec.support.raised"

local H <const>, PARAMETERS <const> = nccl_log.TABLE_HEAD, nccl_log.PARAMETERS

local function run_of(text, opts)
  local result = nccl.parse(text, opts)
  assert.equal(1, #result.runs)
  return result.runs[1], result
end

local function codes(list)
  local found = {}
  for i, item in ipairs(list) do
    found[i] = item.code
  end
  return found
end

describe("vectors of 5.5", function()
  it("P01 takes the largest row", function()
    local run = run_of(H .. [[
  4294967296    1073741824     float     sum      -1  25100.4  171.11  320.83       0  25088.9  171.19  320.98       0
  8589934592    2147483648     float     sum      -1  49870.0  172.25  322.96       0  49911.7  172.10  322.69       0
]])
    assert.equal(2, #run.rows)
    local s = nccl.select(run)
    assert.equal(8589934592, s.size)
    assert.equal("integer", math.type(s.size))
    assert.equal(322.96, s.busbw)
    assert.equal(49870.0, s.time_us)
    assert.equal(0, s.wrong)
    assert.equal(322.69, run.rows[2].ip.busbw)
    assert.equal(322.69, nccl.select(run, { placement = "worst" }).busbw)
  end)

  it("P02 reads the narrow columns of 2.13 to 2.17", function()
    local run = run_of(H .. [[
  8589934592    2147483648     float     sum      -1    49870  172.25  322.96      0    49912  172.10  322.69      0
]])
    assert.equal(49870.0, run.rows[1].oop.time_us)
    assert.equal("float", math.type(run.rows[1].oop.time_us))
  end)

  it("P03 keeps the largest row when a time is in e-form", function()
    local run = run_of(H .. [[
    33554432      16777216  bfloat16     avg      -1   905001    0.04    0.07       0   901337    0.04    0.07       0
    67108864      33554432  bfloat16     avg      -1  3412345    0.02    0.04       0  1.2e+07    0.01    0.01       0
]])
    local s = nccl.select(run)
    assert.equal(67108864, s.size)
    assert.equal(0.04, s.busbw)
    assert.equal(12000000.0, run.rows[2].ip.time_us)
  end)

  it("P04 reads an e-form out of place", function()
    local run = run_of(H .. [[
    67108864      16777216     float     sum      -1  1.2e+07    0.01    0.01       0  3412345    0.02    0.04       0
]])
    assert.equal(1.2e7, run.rows[1].oop.time_us)
    assert.equal(0.01, run.rows[1].oop.busbw)
  end)

  it("P05 takes N/A for not checked", function()
    local run = run_of(H .. [[
     1048576         32768     float    none      -1    61.20   17.13   14.99       0    60.80   17.25   15.09     N/A
]])
    local row = run.rows[1]
    assert.equal("none", row.redop)
    assert.equal(-1, row.root)
    assert.equal(0, row.oop.wrong)
    assert.is_nil(row.ip.wrong)
    assert.is_true(nccl.select(run).validated)
    assert.is_false(nccl.select(run, { placement = "ip" }).validated)
  end)

  it("P06 does not call an unchecked run validated, though its footer says OK", function()
    local run = run_of(H .. [[
     1048576        262144     float     sum      -1    88.25   11.88   20.79     N/A    87.50   11.98   20.97     N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 20.88
]])
    assert.is_nil(run.rows[1].oop.wrong)
    assert.is_nil(run.rows[1].ip.wrong)
    assert.is_false(run.validated)
    assert.same({ count = 0, status = "OK" }, run.oob)
    assert.equal(20.88, run.avg_busbw)
    assert.is_true(run.complete)
    assert.same({ "unvalidated", "not-reached" }, nccl.select(run).problems)
  end)

  it("P07 counts wrong elements, also in e-form", function()
    local run = run_of(H .. [[
     2097152       1048576      half    prod      -1    70.00   29.96   52.43  1.23457e+06    71.00   29.54   51.69       3
# Out of bounds values : 2 FAILED
# Avg bus bandwidth    : 52.06
]])
    assert.equal(1234570, run.rows[1].oop.wrong)
    assert.equal("integer", math.type(run.rows[1].oop.wrong))
    assert.equal(3, run.rows[1].ip.wrong)
    assert.equal(1234573, run.wrong_total)
    assert.same({ count = 2, status = "FAILED" }, run.oob)
    assert.equal("wrong-data", nccl.select(run).problems[1])
  end)

  it("P08 reads a blank operation", function()
    local run = run_of(H .. [[
        1024            64     float              -1    15.50    0.05    0.05       0    15.10    0.05    0.05       0
]])
    assert.equal("", run.rows[1].redop)
    assert.equal(-1, run.rows[1].root)
    assert.equal(15.50, run.rows[1].oop.time_us)
  end)

  it("P09 reads a row of no bytes", function()
    local run = run_of(H .. [[
           0             0     float    none      -1     6.66    0.00    0.00       0     6.60    0.00    0.00       0
]], { op = "alltoall" })
    assert.equal(0, run.rows[1].size)
    assert.same({}, codes(run.warnings))
  end)

  it("P10 reads time stamps in their column", function()
    -- 0.1: the units line has 11 blanks before %Y.
    local run = run_of([[
#       size         count      type   redop    root     time   algbw   busbw  #wrong     time   algbw   busbw  #wrong           timestamp
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)  (GB/s)  (GB/s)           %Y-%m-%d %H:%M:%S
     1048576        262144     float     sum      -1    88.25   11.88   20.79       0    87.50   11.98   20.97       0  2026-03-02 11:22:33
]])
    assert.equal("2026-03-02 11:22:33", run.rows[1].timestamp)
    assert.equal(0, run.rows[1].ip.wrong)
  end)

  it("P11 reads the columns of iterations", function()
    local run = run_of([[
#       size         count      type   redop    root     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%     time   algbw   busbw  #wrong    i_min    i_max    i_p99    i_cv%
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)             (us)     (us)     (us)      (%)     (us)  (GB/s)  (GB/s)             (us)     (us)     (us)      (%)
     1048576        262144     float     sum      -1    88.25   11.88   20.79       0    80.11   120.50   119.80     9.42    87.50   11.98   20.97       0    79.90   101.20   101.20     4.15
]])
    local row = run.rows[1]
    assert.equal(120.50, row.oop.i_max)
    assert.equal(9.42, row.oop.i_cv)
    assert.equal(101.20, row.ip.i_p99)
    assert.equal(20.97, row.ip.busbw)
  end)

  it("P12 reads the format of 2021", function()
    local run = run_of([[
#       size         count    type   redop     time   algbw   busbw  error     time   algbw   busbw  error
#        (B)    (elements)                     (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
     1048576        262144   float     sum    131.4    7.98   13.97  3e-07    129.9    8.07   14.13  1e-07
]])
    local row = run.rows[1]
    assert.is_nil(row.root)
    assert.is_nil(row.oop.wrong)
    assert.equal(3e-07, row.oop.max_error)
    assert.equal("legacy", run.format)
    assert.equal("legacy", run.validated)
    assert.is_false(nccl.select(run).validated)
  end)

  -- The launcher tags the header too: only lines with its tag are the table's.
  it("P13 takes off time stamps with an offset and mpirun's tag", function()
    local prefix = "2026-05-04T03:02:01.123456789-07:00 [1,0]<stdout>:"
    local row = "     1048576        262144     float     sum      -1    88.25   11.88   20.79       0    87.50"
      .. "   11.98   20.97       0\n"
    local tagged = (H .. row):gsub("[^\n]+", prefix .. "%0")
    local run = run_of(tagged)
    assert.equal(20.79, run.rows[1].oop.busbw)
    assert.equal("[1,0]", run.tag)
    local other = run_of(tagged:match "^(.*\n)[^\n]*\n$" .. "[1,3]<stdout>:" .. row)
    assert.same({}, other.rows)
  end)

  it("P14 puts a row together that NCCL interrupted", function()
    local run, result = run_of(H .. [[
           8             2     float     sum      -1gpu-a:410:455 [3] NCCL INFO Connected all rings, use ring PXN 0 GDR 1
    21.30    0.00    0.00       0    20.95    0.00    0.00       0
]], { debug = true })
    assert.equal(1, #run.rows)
    assert.equal(8, run.rows[1].size)
    assert.equal(-1, run.rows[1].root)
    assert.equal(21.30, run.rows[1].oop.time_us)
    assert.equal(1, result.evidence.lines)
    assert.equal(1, result.evidence.gdr.ring_on)
  end)

  it("P15 marks a row that is cut", function()
    local run = run_of(H .. "  8589934592    2147483648     float     sum      -1  49870.0  172.25  322.96       0  499")
    assert.is_true(run.rows[1].truncated)
    assert.equal(322.96, run.rows[1].oop.busbw)
    assert.is_nil(run.rows[1].ip)
    assert.is_false(run.complete)
    assert.is_nil(nccl.select(run))
  end)

  it("a row without its line end is never whole", function()
    for _, tail in ipairs { "", " ", "  " } do
      assert.is_true(run_of(H .. "  8 2 float sum -1 1.00 0.01 0.02 0 1.00 0.01 0.02 0" .. tail).rows[1].truncated)
    end
  end)

  it("P16 sees that each process ran alone", function()
    local run = run_of(H .. [[
#  Rank  0 Group  0 Pid     31 on    node-a device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
#  Rank  0 Group  0 Pid     44 on    node-b device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
    33554432       8388608     float     sum      -1    25.10  1336.8    0.00       0     1.02   32897    0.00       0
    33554432       8388608     float     sum      -1    24.90  1347.6    0.00       0     1.05   31957    0.00       0
# Avg bus bandwidth    : 0
]])
    assert.same({ "mpi-not-enabled" }, codes(run.warnings))
    assert.equal(0.0, run.avg_busbw)
    local s = nccl.select(run)
    assert.equal(2, s.repeats)
    assert.same({ "incomplete", "not-reached", "interleaved" }, s.problems)
  end)

  it("P17 reads a failure without a table", function()
    local run = run_of(H .. [[
node-b: Test NCCL failure common.cu:1005 'unhandled system error (run with NCCL_DEBUG=INFO for details) / Error: failed to extend /dev/shm/nccl-Qx7 to 9637892 bytes, error: No space left on device (28)'
 .. node-b pid 77: Test failure common.cu:892
]])
    assert.same({}, run.rows)
    assert.same({ {
      kind = "nccl", host = "node-b", file = "common.cu", at = 1005, line = 5, hint = "shm-too-small",
      text = "unhandled system error (run with NCCL_DEBUG=INFO for details)",
      last_error = "Error: failed to extend /dev/shm/nccl-Qx7 to 9637892 bytes, error: No space left on device (28)",
    } }, run.errors)
    assert.same({ { host = "node-b", pid = 77, file = "common.cu", at = 892, line = 6 } }, run.failures)
  end)

  it("P18 reads a limit of memory and a floor of bandwidth", function()
    local run = run_of(PARAMETERS:format(8589934592, 17179869184) .. [[
#
# Reducing maxBytes to 11811160064 due to memory limitation
]] .. H .. [[
  8589934592    2147483648     float     sum      -1  49870.0  172.25  322.96       0  49911.7  172.10  322.69       0
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 322.825 FAILED
]])
    assert.equal(11811160064, run.params.max_bytes_reduced)
    assert.equal("FAILED", run.bw_status)
    local s = nccl.select(run)
    assert.equal(17179869184, s.requested)
    assert.same({ "not-reached", "low-bandwidth" }, s.problems)
  end)

  it("P19 takes the median of repeats", function()
    local rows = [[
   536870912     134217728     float     sum      -1   3400.0  157.90  296.07       0   3390.0  158.37  296.94       0
   536870912     134217728     float     sum      -1   3300.0  162.69  305.04       0   3310.0  162.20  304.12       0
]]
    local s = nccl.select(run_of(H .. rows), { size = 536870912 })
    assert.equal(2, s.repeats)
    assert.is_true(math.abs(s.busbw - 300.555) < 1e-9)
    s = nccl.select(run_of(H .. rows .. rows:gsub("296.07", "400.00"):gsub("305.04", "100.00")))
    assert.equal(4, s.repeats)
    assert.is_true(math.abs(s.busbw - 300.555) < 1e-9)
  end)

  it("P20 reads JSON with misspelt keys", function()
    local result = nccl.parse_json [[
{"version":1,"nccl_version":22705,"config":{"nthreads":1,"ngpus":1,"validation":1,"devices":[{"rank":0,"group":0,"pid":9,"hostname":"a","device":0,"device_hex":"0000:1b:00","device_info":"NVIDIA H100 80GB HBM3"}]},"results":[{"size":1024,"count":256,"type":"float","redop":"sum","root":"    -1","out_of_place":{"time":20.500000,"alg_bw":0.049951,"bus_bw":0.087415,"nwrong":0.000000},"in_place":{"time":20.100000,"alg_bw":0.050945,"bus_bw":0.089154,"nwrong":null},"actual_iterations":20,"experiment_name":""}],"out_of_bounds":{"count":0,"okay":"true"},"average_bus_bandwidith":{"bandwidith":0.088285,"okay":"unchecked"},"errors":[]}
]]
    local run = result.runs[1]
    assert.equal(-1, run.rows[1].root)
    assert.equal("integer", math.type(run.rows[1].root))
    assert.equal(0.087415, run.rows[1].oop.busbw)
    assert.equal(0, run.rows[1].oop.wrong)
    assert.is_nil(run.rows[1].ip.wrong)
    assert.equal(0.088285, run.avg_busbw)
    assert.is_nil(run.bw_status)
    assert.equal("2.27.5", run.nccl_version)
    assert.is_true(run.complete)
  end)

  it("reads a member of JSON once", function()
    local config = '"config":{"devices":[{"rank":0,"hostname":"a","device_hex":"0x1b"}]},'
    local run = nccl.parse_json("{" .. config:rep(2) .. '"results":[],"results":[]}').runs[1]
    assert.equal(1, #run.devices)
    assert.same({ "interleaved-runs", 2 }, { run.warnings[1].code, run.warnings[1].count })
  end)

  it("P21 reads what stands above the table", function()
    local run = run_of [[
# nccl-tests version 2.19.6 nccl-headers=22907 nccl-library=23007
# Collective test starting: all_reduce_perf_mpi
# nThread 1 nGpus 1 minBytes 1024 maxBytes 17179869184 step: 2(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0
# Using devices
#  Rank  0 Group  0 Pid    530 on     pod-0 device  0 [0000:04:00] NVIDIA H100 80GB HBM3
#  Rank 15 Group  0 Pid    537 on     pod-1 device  7 [0000:c0:00] NVIDIA H100 80GB HBM3
]]
    assert.equal("2.19.6", run.tool_version)
    assert.equal("2.30.7", run.nccl_version)
    assert.equal("2.29.7", run.nccl_headers)
    assert.equal("all_reduce", run.op)
    assert.same({
      threads = 1, gpus = 1, min_bytes = 1024, max_bytes = 17179869184, step_factor = 2, warmup_iters = 1,
      iters = 20, agg_iters = 1, validation = 1, graph = 0, unalign = 0,
    }, run.params)
    assert.same({ "pod-0", "pod-1" }, run.hosts)
    assert.equal(2, run.ranks_listed)
    assert.equal(16, run.ranks)
    assert.is_nil(run.group_ranks)
    assert.same({ "rank-list-incomplete" }, codes(run.warnings))
    assert.same({
      rank = 15, group = 0, pid = 537, host = "pod-1", device = 7, bus = "0000:c0:00",
      name = "NVIDIA H100 80GB HBM3",
    }, run.devices[2])
  end)
end)

local ROW <const> = "     1048576        262144     float     sum      -1    88.25   11.88   20.79       0    87.50   11.98"
  .. "   20.97       0"

describe("pieces of rows", function()
  local HEAD <const> = "     1048576        262144     float     sum      -1"
  local OOP <const> = "    88.25   11.88   20.79       0"
  local IP <const> = "    87.50   11.98   20.97       0"
  local LOG <const> = "gpu-a:410:455 [3] NCCL INFO Connected all trees\n"
  local RANKS <const> = "#  Rank  0 Group  0 Pid 410 on 03f5a9-worker-0 device  0 [0000:1b:00] NVIDIA H100\n"

  -- The table of the row's texts, and what comes of it: "whole", "cut" or "none".
  local cases = {
    { "INFO after the root, a WARN after the half", HEAD .. LOG .. OOP
      .. "\n\n[2026-02-03 04:05:06] gpu-a:410:455 [3] a.cc:1 NCCL WARN x\nmore of it\n" .. IP .. "\n", "whole" },
    { "INFO after the last figure, an empty line follows", HEAD .. OOP .. IP .. LOG .. "\n", "whole" },
    { "a host that begins with a digit", HEAD:gsub("%-1$", " 0") .. "03f5a9-worker-0:410:455 [3] NCCL INFO x\n"
      .. OOP .. IP .. "\n", "whole", 0 },
    { "the same after #wrong", HEAD .. OOP .. "03f5a9-worker-0:410:455 [3] NCCL INFO x\n" .. IP .. "\n", "whole" },
    { "a time stamp of NCCL's", HEAD .. "[2026-02-03 04:05:06] " .. LOG .. OOP .. IP .. "\n", "whole" },
    { "a time stamp without brackets", HEAD .. "2026-11-30T12:08:09.525 " .. LOG .. OOP .. IP .. "\n", "whole" },
    { "a comment in between", HEAD .. OOP .. "\n# x\n" .. IP .. "\n", "cut" },
    { "a comment after the head", HEAD .. "\n# x\n" .. OOP .. IP .. "\n", "none" },
    { "a new row in between", HEAD .. OOP .. "\n" .. HEAD .. "\n", "cut" },
    { "killed after the head", HEAD .. "Killed\n", "none" },
    { "killed after the half", HEAD .. OOP .. "slurmstepd: error: *** STEP 7 CANCELLED ***\n", "cut" },
    { "one figure too many", HEAD .. OOP .. IP .. "  7\n", "cut" },
    { "one figure too few", HEAD .. OOP .. "    87.50   11.98   20.97\n", "cut" },
    { "a word among the figures", HEAD .. "    88.25   x   20.79       0" .. IP .. "\n", "none" },
    { "a broken number", HEAD .. OOP .. "    87.50   11.98.1   20.97       0\n", "cut" },
    { "hexadecimal", HEAD .. "    0x10   11.88   20.79       0" .. IP .. "\n", "none" },
    { "a negative bandwidth", HEAD .. "    88.25   11.88  -20.79       0" .. IP .. "\n", "none" },
    { "a fraction of a wrong element", HEAD .. "    88.25   11.88   20.79     0.5" .. IP .. "\n", "none" },
    { "NUL bytes inside", HEAD .. "    88.25   11.\0\0\0\0" .. IP .. "\n", "none" },
    { "NUL bytes before", ("\0"):rep(4000) .. HEAD .. OOP .. IP .. "\n", "whole" },
    { "NUL bytes, then the rest of a word", "\0\0\0" .. (HEAD .. OOP .. IP):match "%S.*" .. "\n", "none" },
    { "colours and a carriage return", (HEAD .. OOP .. IP):gsub("%S+", "\27[1;32m%0\27[0m") .. "\r\n", "whole" },
    { "Open MPI's tag inside is of another line", HEAD .. OOP .. "[1,0]<stdout>:" .. IP .. "\n", "cut" },
  }
  for _, case in ipairs(cases) do
    it(case[1], function()
      local run = run_of(RANKS .. H .. case[2] .. "# Out of bounds values : 0 OK\n")
      local row = run.rows[1]
      local found = not row and "none" or row.truncated and "cut" or "whole"
      assert.equal(case[3], found)
      if row then
        assert.equal(20.79, row.oop.busbw)
        assert.equal(case[4] or -1, row.root)
        assert.equal(0, row.oop.wrong)
      end
      if found == "whole" then
        assert.equal(20.97, row.ip.busbw)
        assert.equal(0, row.ip.wrong)
      end
      if found ~= "none" then
        assert.same(found == "cut" and { "cut-row" } or {}, codes(run.warnings))
      end
    end)
  end

  it("a tag that Open MPI repeats inside a line is taken out", function()
    local text = (H .. ROW .. "\n"):gsub("[^\n]+", "[1,0]<stdout>:%0"):gsub("20%.79", "20[1,0]<stdout>:.79")
    assert.equal(20.79, run_of(text).rows[1].oop.busbw)
  end)

  it("what a container runtime split is not put together", function()
    local function cri(kind, text)
      return "2026-05-04T03:02:01.5Z stdout " .. kind .. " " .. text .. "\n"
    end
    local text = (H .. ROW .. "\n"):gsub("([^\n]*)\n", function(line) return cri("F", line) end)
    assert.equal(1, #run_of(text).rows)
    local split = text .. cri("P", ROW:sub(1, 12)) .. cri("F", ROW:sub(13)) .. cri("F", ROW)
    local sizes = {}
    for i, row in ipairs(run_of(split).rows) do
      sizes[i] = row.size
    end
    assert.same({ 1048576, 1048576 }, sizes)
  end)

  it("figures come from the column that the header names", function()
    -- The time comes first in a placement.
    local result = nccl.parse [[
#       size         count      type   redop    root     busbw   algbw   time  #wrong   other   busbw   time   algbw  #wrong
     1048576        262144     float     sum      -1    20.79   11.88   88.25       0       x     1.5    2.5     3.5       4
]]
    assert.same({}, result.runs)
    local run = run_of [[
#       size         count      type   root     redop     time   busbw   algbw  #wrong   other   time   #wrong   algbw   busbw
     1048576        262144     float     3      sum    20.79   11.88   88.25       0       x     1.5    2     3.5       4
]]
    assert.equal(88.25, run.rows[1].oop.algbw)
    assert.equal(11.88, run.rows[1].oop.busbw)
    assert.equal(4.0, run.rows[1].ip.busbw)
    assert.equal(2, run.rows[1].ip.wrong)
    assert.equal(3, run.rows[1].root)
  end)
end)

local function source_of(text, sizes)
  local at, i = 1, 0
  return function()
    if at > #text then
      return nil
    end
    i = i + 1
    local n = sizes(i)
    local chunk = text:sub(at, at + n - 1)
    at = at + n
    return chunk
  end
end

local function logs()
  local found = {}
  for _, folder in ipairs { "logs", "variants" } do
    local pipe = assert(io.popen("ls spec/fixtures/vectors/nccl-logs/" .. folder .. "/*.log"))
    for path in pipe:lines() do
      local file <close> = assert(io.open(path, "rb"))
      found[#found + 1] = file:read "a"
    end
    pipe:close()
  end
  assert(#found > 90)
  return found
end

-- The result, in which nan is equal to itself.
local function comparable(source)
  local result = nccl.parse(source, { debug = true })
  for _, run in ipairs(result.runs) do
    run.avg_busbw = tostring(run.avg_busbw)
  end
  return result
end

describe("any log", function()
  it("gives the same for any chunks", function()
    for i, text in ipairs(logs()) do
      local whole = comparable(text)
      assert.same(whole, comparable(source_of(text, function() return 1 end)))
      math.randomseed(i)
      assert.same(whole, comparable(source_of(text, function() return math.random(0, 300) end)))
    end
  end)

  -- What no verdict may rest on is left out: a shorter log has no other figures to judge by.
  it("shows no other bandwidth when it is cut", function()
    math.randomseed(7)
    for _, text in ipairs(logs()) do
      local by_size = {}
      for _, run in ipairs(nccl.parse(text).runs) do
        for _, row in ipairs(run.rows) do
          by_size[("%d %s %s"):format(row.size, row.oop.busbw, row.oop.wrong)] = true
        end
      end
      for _ = 1, 20 do
        for _, run in ipairs(nccl.parse(text:sub(1, math.random(0, #text))).runs) do
          for _, row in ipairs(run.rows) do
            assert.is_true(by_size[("%d %s %s"):format(row.size, row.oop.busbw, row.oop.wrong)])
          end
        end
      end
    end
  end)
end)

describe("bounds", function()
  it("a line over 8 KiB is cut and told", function()
    local run, result = run_of(H .. ROW .. (" "):rep(8192) .. "\n" .. ROW .. "\n")
    assert.equal(2, #run.rows)
    assert.is_true(run.rows[1].truncated or run.rows[1].ip.wrong == 0)
    assert.equal(1, result.long_lines)
    assert.same({ "line-too-long" }, codes(result.warnings))
    run = run_of(H .. (" "):rep(8192 - #ROW + 1) .. ROW .. "\n")
    assert.is_true(run.rows[1].truncated)
  end)

  it("more than 10,000 rows are counted, and the run is not complete", function()
    local sent = 0
    local run = run_of(function()
      sent = sent + 1
      return sent == 1 and H or sent <= 10002 and ROW .. "\n" or sent == 10003 and "# Out of bounds values : 0 OK\n"
        or nil
    end)
    assert.equal(10000, #run.rows)
    assert.equal(1, run.rows_dropped)
    assert.is_false(run.complete)
    assert.same({ "too-many-rows" }, codes(run.warnings))
  end)

  it("more than 256 runs are told", function()
    local result = nccl.parse((H .. ROW .. "\n"):rep(300))
    assert.equal(256, #result.runs)
    assert.same({ "too-many-runs" }, codes(result.warnings))
  end)

  it("a text over 64 MiB is refused, a source of it is read", function()
    local err = raised(nccl.parse, ("x"):rep((64 << 20) + 1))
    assert.equal("INVALID_REQUEST too-large", err.code .. " " .. err.reason)
    err = raised(nccl.parse_json, ("x"):rep((64 << 20) + 1))
    assert.equal("INVALID_REQUEST too-large", err.code .. " " .. err.reason)
    local left = 65
    local result = nccl.parse(function()
      left = left - 1
      return left >= 0 and ("x"):rep(1 << 20) or nil
    end)
    assert.equal(65 << 20, result.bytes)
    assert.same({}, result.runs)
  end)

  it("no word of a row is read behind the last column, not even where that is an operation", function()
    local run = run_of("# size count type time algbw busbw #wrong redop\n8 2 float 1.0 1.0 1.0 0" .. (" 5"):rep(2000) .. "\n")
    assert.is_true(run.rows[1].truncated)
    assert.is_nil(run.rows[1].redop)
  end)

  it("sizes up to 2^63 are integers", function()
    local run = run_of(H .. ROW:gsub(" 1048576 ", " 9223372036854775807 ") .. "\n"
      .. ROW:gsub(" 1048576 ", " 9223372036854775808 ") .. "\n")
    assert.equal(1, #run.rows)
    assert.equal(math.maxinteger, run.rows[1].size)
  end)
end)

describe("runs", function()
  it("that follow each other, or come from several tagged processes, are kept apart", function()
    local run = PARAMETERS:format(1048576, 1048576) .. H .. ROW .. "\n# Out of bounds values : 0 OK\n"
    assert.equal(2, #nccl.parse(run .. run).runs)
    local a, b = run:gsub("[^\n]+", "[pod/a/x] %0"), run:gsub("[^\n]+", "3: %0"):gsub("20%.79", "21.79")
    local mixed, left = {}, b:gmatch "[^\n]*\n"
    for line in a:gmatch "[^\n]*\n" do
      mixed[#mixed + 1] = line .. left()
    end
    local runs = nccl.parse(table.concat(mixed)).runs
    assert.equal(2, #runs)
    assert.equal(20.79, runs[1].rows[1].oop.busbw)
    assert.equal(21.79, runs[2].rows[1].oop.busbw)
    assert.same({ "[pod/a/x]", "3" }, { runs[1].tag, runs[2].tag })
    assert.same({}, nccl.select(runs[2]).problems)
  end)

  it("that end twice are mixed", function()
    local footer = "# Out of bounds values : 0 OK\n"
    local run = run_of(H .. ROW .. "\n" .. footer .. footer)
    assert.is_false(run.complete)
    assert.same({ "interleaved-runs" }, codes(run.warnings))
  end)

  it("without a header give rows only where that is asked for, and never whole ones", function()
    assert.same({}, nccl.parse(ROW .. "\n").runs)
    local run = run_of("x\n" .. ROW .. "\n" .. ROW, { lenient = true })
    assert.equal(1, #run.rows)
    assert.is_true(run.rows[1].truncated)
    assert.same({}, nccl.parse(ROW:match "%d.*" .. "\n", { lenient = true }).runs)
  end)

  it("flag figures that contradict each other", function()
    local ranks = "#  Rank  %d Group  0 Pid 4 on a device  %d [0000:1b:00] NVIDIA H100\n"
    local two = ranks:format(0, 0) .. ranks:format(1, 1)
    local good = ROW:gsub("20%.79", "11.88"):gsub("20%.97", "11.98")
    assert.same({}, codes(run_of(two .. H .. good .. "\n", { op = "all_reduce" }).warnings))
    local run = run_of(two .. H .. ROW .. "\n", { op = "all_reduce" })
    assert.same({ "rank-count-mismatch" }, codes(run.warnings))
    assert.is_true(run.rows[1].inconsistent)
    run = run_of(two .. H .. good:gsub("88%.25", "88.45") .. "\n", { op = "all_reduce" })
    assert.same({ "inconsistent-row" }, codes(run.warnings))
    local problems = nccl.select(run).problems
    assert.equal("inconsistent", problems[#problems])
  end)
end)
