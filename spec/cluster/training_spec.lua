-- SPDX-License-Identifier: Apache-2.0
-- aicr.training on the real Trainer: what a TrainJob wrote is taken, whatever goes wrong is told, and nothing is left.
require "aicr_native"
local runs = require "spec.support.cluster_run"
local training = require "spec.support.cluster_training"

after_each(runs.end_all)

describe("a TrainJob", function()
  it("is run to its end, and its log is taken", function()
    local namespace = training.namespace()
    local result = training.run { namespace = namespace }
    assert.equal("pass", result.check.outcome, result.stdout .. result.stderr)
    assert.equal(training.TABLE, result.check.extra.log)
    assert.is_false(training.is_there(namespace))
  end)
end)
