-- SPDX-License-Identifier: Apache-2.0
--- Recipe, deployed runtime and cluster must agree on the eight GPU NIC networks
--- (gke-tcpxo.md 4.1, in its order).
local gke = require "aicr.gke"
local recipe = require "aicr.recipe"
local verify = require "aicr.verify"

local INSPECT <const> = "Both objects must exist and be Ready; they are provisioned with the"
  .. " cluster. Look with: kubectl describe network.networking.gke.io; kubectl get"
  .. " gkenetworkparamset.networking.gke.io -o wide"
local REGENERATE <const> = "Generate the recipe again for this cluster (aicr recipe"
  .. " --gke-tcpxo-interfaces eth1=NETWORK,…,eth8=NETWORK) and deploy its bundle."
local REAPPLY <const> = "Deploy the bundle of this recipe again, or generate recipe and bundle"
  .. " again if the new order is wanted. Look with: kubectl get clustertrainingruntime "
  .. gke.RUNTIME .. " -o yaml"

-- What is there and as it should be, but not for long.
local function deleted(networks, runtime)
  local words = {}
  for _, network in ipairs(networks) do
    words[#words + 1] = network.deleted and "network " .. network.name or nil
  end
  words[#words + 1] = runtime and gke.is_deleted(runtime) and gke.RUNTIME or nil
  return #words > 0 and "; being deleted: " .. table.concat(words, ", ") or ""
end

return {
  name = "gke-gpu-nic-networks",
  phase = "deployment",
  summary = "Eight GPU NIC networks are bound, and the runtime is wired as the recipe says",
  platforms = { "gcp" },
  tags = { "network", "tcpxo" },
  component = gke.COMPONENT,
  timeout = "2m",
  needs = {
    "list networks.networking.gke.io",
    "get clustertrainingruntimes.trainer.kubeflow.org",
  },
  doc = [[
GPUDirect-TCPXO moves GPU memory over eight NICs of their own on every a3-megagpu-8g node. Without
them training runs on, at about a hundredth of the bandwidth and with no error anywhere.

Three things can disagree: the mapping of interfaces to networks that the recipe recorded, the one
that the deployed ClusterTrainingRuntime gives its workers, and the networks that the cluster has.
The check counts the networks, asks whether each is Ready and bound to its parameter set, and, when
the recipe ships the runtime, compares the three. It reads, it repairs nothing.]],
  fixes = {
    ["api-not-served"] = gke.PROVISIONING,
    ["too-few-networks"] = gke.PROVISIONING,
    ["network-not-bound"] = INSPECT,
    ["network-not-usable"] = INSPECT,
    ["network-missing"] = "Deploy the bundle of a recipe that was generated for this cluster."
      .. " Look with: kubectl get network.networking.gke.io",
    ["mapping-count"] = REAPPLY,
    ["mapping-mismatch"] = REAPPLY,
    ["mapping-not-recorded"] = REGENERATE,
    ["mapping-malformed"] = REGENERATE,
    ["mapping-invalid"] = REGENERATE,
    ["runtime-not-deployed"] = "Deploy the bundle of this recipe. Look with: kubectl get"
      .. " clustertrainingruntimes.trainer.kubeflow.org",
    ["no-node-template"] = REAPPLY,
    ["no-node-job"] = REAPPLY,
    ["not-wired"] = REAPPLY,
    ["default-interface"] = REAPPLY,
    ["annotation-malformed"] = REAPPLY,
    ["annotation-empty"] = REAPPLY,
    ["annotation-first-entry"] = REAPPLY,
  },

  run = function(ctx)
    local networks, err = ctx:try(gke.gpu_nic_networks, ctx.k8s)
    verify.require(ctx, {
      component = gke.COMPONENT,
      subject = "the GPU NIC networks",
      probe = err,
      present = networks ~= nil,
      absent = gke.ABSENT,
    })
    if not recipe.declares(ctx.recipe, gke.COMPONENT) then
      ctx:skip {
        reason = "not-declared",
        message = recipe.undeclared(ctx.recipe, gke.COMPONENT),
      }
    end
    ctx:evidence("%d GPU NIC networks, %d required: %s", #networks, gke.REQUIRED,
      #networks > 0 and table.concat(gke.names(networks), " ") or "none")
    gke.require_census(networks)
    gke.require_bound(networks)

    local recorded = gke.fabric_runtime_delivered(ctx.recipe)
    local bound = gke.bound(networks)
    if not recorded then
      return ("%d networks bound, no fabric runtime delivered"):format(#bound) .. deleted(networks)
    end
    local runtime = gke.read_deployed_runtime(ctx.k8s)
    local deployed = gke.deployed_mapping(runtime)
    verify.mapping_matches_recipe(recorded, deployed)
    verify.networks_exist(deployed, bound, gke.names(networks))
    ctx:evidence("%s: %d interfaces as recorded, all selected networks exist and are bound",
      gke.RUNTIME, #deployed)
    return ("%d interfaces: recipe = deployed, all on cluster"):format(#deployed) .. deleted(networks, runtime)
  end,
}
