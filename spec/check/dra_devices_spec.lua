-- SPDX-License-Identifier: Apache-2.0
--- Devices of DRA: what the faults of the suites (fabric_suites_spec) leave out.
require "aicr_native"
local fleet = require "spec.support.fleet"
local recording = require "spec.support.recording"

describe("dra-devices", function()
  fleet.rows(it, "dra-devices", {
    {
      "a class whose driver is not known", arch = "gb300", gpus = 4, outcome = "error",
      classes = { fleet.class "roce.networking.k8s.aws" }, code = "INVALID_REQUEST", reason = "driver-unknown",
      says = { "device class roce.networking.k8s.aws", "--set driver=roce.networking.k8s.aws=DRIVER" },
    },
    {
      "a class whose driver was said", arch = "gb300", gpus = 4, outcome = "pass",
      classes = { fleet.class "roce.networking.k8s.aws" }, devices = { d = 8 }, coverage = { 3, 3 },
      args = { "--set", "driver=roce.networking.k8s.aws=d" },
    },
    {
      "a driver without its class", arch = "gb300", gpus = 4, outcome = "error",
      classes = { fleet.class "roce.networking.k8s.aws" }, args = { "--set", "driver=d" }, reason = "driver",
      says = { 'expected CLASS=DRIVER, found "d"' },
    },
    {
      "no API for claims", arch = "gb300", gpus = 4, outcome = "fail", code = "NOT_FOUND",
      reason = "api-not-served", says = { "Kubernetes 1.34" },
      change = function(parts) recording.remove_group(parts, "resource.k8s.io") end,
    },
    {
      "classes that cannot be read", arch = "gb300", gpus = 4, outcome = "error",
      reason = "forbidden", change = fleet.unreadable(fleet.CLASSES),
    },
    {
      "slices that cannot be read", arch = "gb300", gpus = 4, outcome = "error",
      reason = "forbidden", classes = { fleet.class("roce.networking.k8s.aws", "d") },
      change = fleet.unreadable(fleet.SLICES),
    },
    {
      "devices that are not well", arch = "gb300", gpus = 4, outcome = "fail", reason = "too-few-devices",
      says = { "1 of 3", "n2 (7)" }, devices = { d = 8 }, classes = { fleet.class("roce.networking.k8s.aws", "d") },
      change = function(parts)
        local devices = fleet.find(parts, fleet.SLICES, "n2-d").spec.devices
        devices[1].taints = { { key = "d/unhealthy", effect = "NoExecute" } }
        devices[2].taints = { { key = "d/note", effect = "None" } }
      end,
    },
    {
      "devices that a driver calls by a type of its own", arch = "gb300", gpus = 4, outcome = "pass",
      classes = { fleet.class("roce.networking.k8s.aws", "d") }, devices = { d = 8 }, coverage = { 3, 3 },
      says = { "8 devices of driver d (class roce.networking.k8s.aws)" },
      change = function(parts)
        fleet.find(parts, fleet.SLICES, "n1-d").spec.devices[1].attributes = { type = { string = "nic" } }
      end,
    },
    {
      "a pool of which a slice is missing", arch = "gb300", gpus = 4, outcome = "fail", reason = "too-few-devices",
      says = { "n3 (0)" }, devices = { d = 8 }, classes = { fleet.class("roce.networking.k8s.aws", "d") },
      change = function(parts) fleet.find(parts, fleet.SLICES, "n3-d").spec.pool.resourceSliceCount = 2 end,
    },
    {
      "a pool that was replaced", arch = "gb300", gpus = 4, outcome = "fail",
      reason = "too-few-devices", says = { "1 of 3", "n1 (7)" }, devices = { d = 8 },
      classes = { fleet.class("roce.networking.k8s.aws", "d") },
      change = function(parts)
        local slice = fleet.slice("n1", "d", 7)
        slice.metadata.name, slice.spec.pool.generation = "n1-d-2", 2
        table.insert(parts.lists[fleet.SLICES].items, slice)
      end,
    },
  })
end)
