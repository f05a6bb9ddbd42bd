---@meta aicr.ctx
-- SPDX-License-Identifier: Apache-2.0

--- The table that a check file returns.
---@class aicr.Check
---@field name string [a-z0-9-], at most 63 characters
---@field phase "deployment"|"conformance"|"performance"
---@field summary string one line that states the requirement, no full stop
---@field run fun(ctx: aicr.ctx): string? the string is the result phrase
---@field platforms? string[] absent: any
---@field tags? string[]
---@field timeout? string "5m"
---@field exclusive? boolean run alone
---@field requires? string[] names of checks that must pass first
---@field component? string recipe component that it is about
---@field params? table<string, aicr.Param>
---@field needs? table permissions, "verb[,verb] resource[.group][/subresource]"; lists may nest
---@field doc? string
---@field fixes? table<string, string> reason -> what to do

---@class aicr.Param
---@field type "string"|"integer"|"number"|"boolean"|"duration"|"size"|"bandwidth"|"list"
---@field default? any
---@field help? string
---@field min? number
---@field max? number
---@field choices? any[]
---@field secret? boolean
---@field constraint? string recipe constraint that gives the default

---@alias aicr.Operator
---| "=="
---| "~="
---| "<"
---| "<="
---| ">"
---| ">="
---| "matches"
---| "contains"
---| "same_list"
---| "same_set"

---@class aicr.ExpectOptions
---@field reason? string
---@field code? aicr.Code
---@field message? string
---@field why? string
---@field fix? string
---@field key? string what a row of the comparison is called
---@field unit? string

---@class aicr.Limit
---@field op ">="|">"|"<="|"<"
---@field value number
---@field tolerance? number a share, 0.1
---@field reason? string
---@field code? aicr.Code
---@field why? string
---@field fix? string

--- What a check can do. Fields can only be read.
---@class aicr.ctx
---@field params table
---@field args string[] what followed `--`
---@field recipe? table
---@field platform? string
---@field namespace? string
---@field run_id? string
---@field seed integer
---@field k8s aicr.k8s
local ctx = {}

--- Ends the check as a fail. It stands whatever is caught.
---@param t {code?: aicr.Code, reason: string, message: string, why?: string, fix?: string, details?: table}
function ctx:fail(t) end

--- Ends the check as a skip: it does not apply here. Never for something that could not be read.
---@param t {reason: string, message: string}
function ctx:skip(t) end

--- Records an expectation. A false one makes the check fail at its end.
---@param what string
---@param actual any
---@param op aicr.Operator
---@param wanted any
---@param opts? aicr.ExpectOptions
---@return boolean
function ctx:expect(what, actual, op, wanted, opts) end

--- The same, but a false one ends the check now.
---@param what string
---@param actual any
---@param op aicr.Operator
---@param wanted any
---@param opts? aicr.ExpectOptions
---@return boolean
function ctx:must(what, actual, op, wanted, opts) end

--- Polls until fn returns true; the second result is shown as "last seen".
---@param what string
---@param opts {timeout: string, every?: string, reason?: string, why?: string, fix?: string}
---@param fn fun(): boolean, any
function ctx:eventually(what, opts, fn) end

--- Runs functions side by side; gives their first results by the same keys. When one raises, the
--- others are ended and its error leaves here.
---@param functions table<any, fun(): any>
---@return table results
function ctx:all(functions) end

--- Names and times a part of the check.
---@param name string
---@param fn fun(): ...
---@return any ... what fn returns
function ctx:step(name, fn) end

--- Calls f and gives its results, or nil and the error object that it raised.
---@param f function
---@param ... any
---@return any result
---@return aicr.Error? err
function ctx:try(f, ...) end

--- Text for the live line.
---@param fmt string
---@param ... any
function ctx:progress(fmt, ...) end

--- A line for the report.
---@param fmt string
---@param ... any
function ctx:evidence(fmt, ...) end

--- A number for the report; with a limit also an expectation.
---@param name string
---@param value number
---@param unit string
---@param limit? aicr.Limit
---@return boolean
function ctx:measure(name, value, unit, limit) end

--- Data for a plot.
---@param name string
---@param x string unit of the first numbers
---@param y string unit of the second numbers
---@param points number[][]
function ctx:series(name, x, y, points) end

--- A text in the report, at most 48 KiB.
---@param name string
---@param kind string media type
---@param bytes string
function ctx:attach(name, kind, bytes) end

--- How much of what the check is about it could verify.
---@param t {verified: integer, total: integer}
function ctx:coverage(t) end

--- Flat facts for machines.
---@param t table<string, string|number|boolean>
function ctx:extra(t) end

--- Runs fn after the check, however it ends; last in, first out.
---@param fn fun()
function ctx:defer(fn) end

--- Waits, "500ms".
---@param duration string
function ctx:sleep(duration) end

--- Milliseconds since the epoch; on a recording the time at which it was made.
---@return integer
---@nodiscard
function ctx:now() end

return ctx
