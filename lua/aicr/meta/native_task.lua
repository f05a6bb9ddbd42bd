---@meta aicr.native.task
-- SPDX-License-Identifier: Apache-2.0

--- What `lua/aicr/ctx.lua` stands on; no check can require it.
---@class aicr.native.task
---@field STOP lightuserdata what is raised after an ending was recorded
local task = {}

--- Notes an item of the record. False when it did not fit and was counted.
---@param kind "expectations"|"evidence"|"measures"|"series"|"steps"|"attachments"|"log"|"resources"
---@param value any what JSON lacks becomes text
---@return boolean
function task.record(kind, value) end

--- A value as JSON text, nil when that is over 64 KiB.
---@param value any what JSON lacks becomes text
---@return string?
function task.brief(value) end

--- Notes how the check ends, with the place in the user's code. It stands whatever follows.
---@param ending table kind ("fail", "skip", "expectation"), code, reason, message, why, fix, details
function task.ending(ending) end

--- One key of the record's flat extra map.
---@param key string
---@param value string|number|boolean
---@return boolean
function task.extra(key, value) end

---@param which "coverage"|"cleanup"
---@param value table
function task.set(which, value) end

---@param text string what the check does now
function task.progress(text) end

--- There is clean-up to run after the check.
function task.defer() end

--- The deadline passed or the run was canceled.
---@return boolean
function task.stopping() end

--- Milliseconds since the epoch at which the cluster's answers are true.
---@return integer
function task.now() end

---@return integer milliseconds
function task.monotonic() end

---@return boolean
function task.recording() end

--- Raises a text that says what is wrong with the first bad line of `needs`.
---@param lines string[]
function task.check_needs(lines) end

--- From now on the only self of the methods of `aicr.native.k8s`.
---@param methods table
function task.k8s(methods) end

--- Runs functions side by side until all ended, or one raised (which is raised here). Yields.
---@param functions fun()[]
function task.all(functions) end

---@param ms integer yields
function task.sleep(ms) end

--- A wait, to be closed: a recording that is written is told how it ended, one that answers knows it.
---@param what string what is waited for, the same in each run
---@param told? string its words for a check whose time is over meanwhile; without them it is not told of
---@return userdata
function task.wait(what, told) end

--- What the last look at it showed, for the same words.
---@param wait userdata
---@param text string
function task.seen(wait, text) end

--- What is waited for is looked at, once more.
---@param wait userdata
function task.look(wait) end

--- The time for it is over.
---@param wait userdata
function task.late(wait) end

--- Something was seen; with a wait, that it is so: what was looked for in vain until then says nothing.
---@param wait? userdata
function task.attained(wait) end

--- Is it to be looked at again, after a look that did not show it? Raises INTERNAL/"not-recorded" on a recording of a
--- run that looked no further.
---@param wait userdata
---@param late boolean the time for it is over
---@return boolean
function task.goes_on(wait, late) end

return task
