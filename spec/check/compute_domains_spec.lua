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
      "nodes of one NVLink domain", arch = "gb200", gpus = 4, domains = true, devices = { [DRIVER] = 1 },
      outcome = "pass", coverage = { 3, 3 }, says = { "3 of 3 GPU nodes: ComputeDomains served", "one NVLink domain" },
    },
    {
      "nodes of two NVLink domains", arch = "gb200", gpus = 4, domains = true, devices = { [DRIVER] = 1 },
      outcome = "pass", coverage = { 3, 3 }, change = fleet.move("n2", "other.7"),
      says = { "2 NVLink domains (" .. fleet.DOMAIN .. ": n1, n3; other.7: n2), and NVLink joins no nodes of two" },
    },
    {
      "a node in no NVLink domain", arch = "gb200", gpus = 4, domains = true, devices = { [DRIVER] = 1 },
      outcome = "fail", code = "CONFLICT", reason = "no-nvlink-domain", coverage = { 2, 3 },
      change = fleet.move("n2", nil), says = {
        "1 of 3 GPU nodes are of no NVLink domain, they have no label nvidia.com/gpu.clique: n2;",
        "the others have it (" .. fleet.DOMAIN .. ": n1, n3)", "nvidia-smi -q",
      },
    },
    {
      "a node whose NVLink domain is empty", arch = "gb200", gpus = 4, domains = true, devices = { [DRIVER] = 1 },
      outcome = "fail", reason = "no-nvlink-domain", coverage = { 2, 3 }, change = fleet.move("n2", ""),
    },
    {
      "nodes that say no NVLink domain", arch = "gb200", gpus = 4, domains = true, devices = { [DRIVER] = 1 },
      outcome = "pass", coverage = { 0, 3 }, says = {
        "which nodes share an NVLink domain is not known", "kubectl get nodes -L nvidia.com/gpu.clique",
      },
      change = function(parts)
        for _, name in ipairs { "n1", "n2", "n3" } do
          fleet.move(name, nil)(parts)
        end
      end,
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
