-- SPDX-License-Identifier: Apache-2.0
--- ComputeDomains: what the faults of the suites (fabric_suites_spec) leave out.
require "aicr_native"
local fleet = require "spec.support.fleet"
local recording = require "spec.support.recording"

local DRIVER <const> = "compute-domain.nvidia.com"

describe("compute-domains", function()
  fleet.rows(it, "compute-domains", {
    {
      "ComputeDomains that cannot be read", arch = "gb200", gpus = 4, domains = true,
      devices = { [DRIVER] = 1 }, outcome = "error", reason = "forbidden", change = fleet.unreadable(fleet.DOMAINS),
    },
    {
      "a driver that says what its devices are", arch = "gb200", gpus = 4, domains = true, devices = { [DRIVER] = 1 },
      outcome = "pass", coverage = { 3, 3 },
    },
    {
      "no device class to claim a channel from", arch = "gb200", gpus = 4, domains = true,
      devices = { [DRIVER] = 1 }, outcome = "fail", code = "NOT_FOUND", reason = "no-device-class", coverage = { 0, 3 },
      says = { "none of 1 device classes selects devices of driver compute-domain.nvidia.com" },
      change = function(parts)
        parts.lists[fleet.CLASSES].items = { fleet.class("gpu.nvidia.com", "gpu.nvidia.com") }
      end,
    },
    {
      "no API for the claims of ComputeDomains", arch = "gb200", gpus = 4, domains = true,
      outcome = "fail", reason = "api-not-served", says = { "NVIDIA DRA driver" },
      change = function(parts) recording.remove_group(parts, "resource.k8s.io") end,
    },
  })
end)
