-- SPDX-License-Identifier: Apache-2.0
--- The signatures of nccl-benchmark.md 9 on lines as they are really written.
require "aicr_native"
local hints = require "aicr.nccl_hints"

local W <const> = "worker-0:500:600 [0] NCCL WARN "

local ROWS <const> = {
  { "driver-missing", "libcuda.so.1: cannot open shared object file: No such file or directory" },
  { "driver-mismatch", "Test CUDA failure common.cu:1024 'CUDA driver version is insufficient for CUDA runtime'" },
  { "fabric-not-ready", W .. "Cuda failure 802 'system not yet initialized'" },
  { "gpu-count", "Invalid number of GPUs: 8 requested but only 7 were found." },
  { "duplicate-gpu", W .. "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1b000" },
  { "shm-too-small", W .. "Error: failed to extend /dev/shm/nccl-abc to 33030532 bytes" },
  { "shm-too-small", W .. "Call to posix_fallocate failed : No space left on device, /dev/shm is full" },
  { "memlock", W .. "Call to ibv_reg_mr failed with error Cannot allocate memory" },
  { "no-ib-device", "worker-0:500:600 [0] NCCL INFO NET/IB : No device found." },
  { "ibverbs-missing", W .. "Failed to open libibverbs.so[.1]" },
  { "plugin-failed-fallback-socket", "worker-0:500:600 [0] NCCL INFO Failed to initialize NET plugin FasTrak" },
  { "socket-fallback", "worker-0:500:600 [0] NCCL INFO Using network Socket" },
  { "daemon-displaced", "Number of GPUs detected 7" },
  { "no-interface", W .. "Bootstrap : no socket interface found" },
  { "wrong-interface", W .. "socketPollConnect poll() returned 1, Connection refused, exceeded error retry count" },
  { "roce-gid", W .. "Got completion from peer 10.0.0.2 with status=12 opcode=0 len=0 vendor err 129" },
  { "qp-unreachable", W .. "Call to ibv_modify_qp failed with 110 Connection timed out" },
  { "mixed-link-layer", W .. "NET/IB : Attempted to connect incompatible devices" },
  { "nvls-multicast", W .. "transport/nvls.cc:170 Cuda failure 1 'invalid argument'" },
  { "imex", W .. "Cuda failure 800 'operation not permitted'" },
  { "version-mismatch", W .. "Message truncated : received 1024 bytes instead of 256" },
  { "topo-file", W .. "XML Import file /t.xml wrong version 0, expected 1" },
  { "fd-limit", W .. "Call to socket failed : Too many open files" },
  { "oom", "Test CUDA failure common.cu:891 'out of memory'" },
  { "launcher-ssh", "ssh: connect to host worker-0 port 22: Connection refused" },
  { "launcher-ssh", "ORTE was unable to reliably start one or more daemons." },
  { "logs-gone", "unable to retrieve container logs for containerd://abc" },
}

describe("the hints", function()
  for _, row in ipairs(ROWS) do
    it(("tell %s of: %s"):format(row[1], row[2]), function()
      local hint = hints.of("# before\n" .. row[2] .. "\nafter\n")
      assert.equal(row[1], hint and hint.code)
      assert.equal(row[2], hint.line)
      assert.is_true(#hint.cause > 0 and #hint.action > 0)
    end)
  end

  it("tell the first by priority, not by place", function()
    local log = "NCCL INFO Using network Socket\nssh: Could not resolve hostname a\nout of memory\n"
    assert.equal("socket-fallback", hints.of(log).code)
  end)

  it("want all words in one line", function()
    assert.is_nil(hints.of "libcuda.so.1\ncannot open\n")
    assert.is_nil(hints.of "libcuda.so.1 loaded\nx cannot open y")
    assert.equal("driver-missing", hints.of("libcuda.so.1 is fine\nlibcuda.so.1: cannot open").code)
  end)

  it("tell some of slow benchmarks only", function()
    local log = "NCCL INFO NVLS multicast support is not available on dev 0\n"
    assert.is_nil(hints.of(log))
    assert.equal("nvls-unavailable", hints.of(log, { slow = true }).code)
  end)

  it("are none of a log that shows nothing", function()
    assert.is_nil(hints.of "")
    assert.is_nil(hints.of(("x"):rep(100000)))
  end)

  it("show no more than a piece of a long line, and nothing that a terminal obeys", function()
    local hint = hints.of(("y"):rep(5000000) .. "\27[2J Using network Socket " .. ("z"):rep(100000))
    assert.is_true(#hint.line < 1000)
    assert.is_nil(hint.line:find("\27", 1, true))
  end)

  it("look at the end of a log that is too long", function()
    assert.is_nil(hints.of("Using network Socket\n" .. ("x\n"):rep(3000000)))
    assert.equal("socket-fallback", hints.of(("x\n"):rep(3000000) .. "Using network Socket\n").code)
  end)
end)
