---@meta aicr.training
-- SPDX-License-Identifier: Apache-2.0

--- How long a step may take, as durations. What is left out is as here (gke-tcpxo.md 5.6).
---@class aicr.training.Times
---@field namespace? string "5m": an old namespace of that name finishes terminating
---@field stale? string "20m": a lock that was not renewed for so long is taken over
---@field renew? string "1m": how often our lock is renewed
---@field prune? string "60m": how old a namespace of an earlier run must be to be removed
---@field trainer? string "3m": Trainer is there and its controller ready
---@field trainer_every? string "5s"
---@field runtime? string "2m": the runtime that was made can be read
---@field webhook? string "1m": the webhook sees the runtime and takes the TrainJob
---@field webhook_every? string "500ms"
---@field replace? string "5m": an old TrainJob of that name is gone
---@field launcher? string "5m": the launcher's pod appears
---@field run? string "30m": the launcher succeeds
---@field look? string "5s": how often the TrainJob and events are looked at meanwhile
---@field log_every? string "2s": between five readings of a log that is not complete
---@field cleanup? string "5m": the namespace is gone

---@class aicr.training.Options
---@field namespace string of this run alone: made here, removed here
---@field lock string name of the Lease in it that says whose it is
---@field prune? string namespaces of earlier runs whose names begin so are removed when old, unlocked and idle
---@field declared? boolean the recipe declares Trainer: one that is not there yet is waited for
---@field built? aicr.platform.Built what `aicr.platform.build_run` gave, in the place of the next five
---@field runtime? table the TrainingRuntime; its namespace is set here
---@field job? table the TrainJob; its namespace is set here
---@field objects? table[] what else the job needs, made behind the runtime; their namespace is set here, and the check
--- has the permissions to create them
---@field launcher? {job: string, container: string} the replicated job that decides, and its container; where it is
--- that of the workers, its pod 0 is the launcher, and all of its pods have to succeed
---@field workers? {job: string, count: integer}
---@field times? aicr.training.Times
---@field watch? fun(pod: table, kind: "ADDED"|"MODIFIED"|"DELETED") each state of each worker pod that was seen,
--- from before the first one exists until the launcher has succeeded; a DELETED one may have metadata only
---@field complete? fun(text: string): boolean is the launcher's log whole? One that is not is read again
---@field created? fun(runtime: table) the runtime as the server stored it, before the TrainJob is made
---@field line? fun(line: string): string? each line of the launcher's log while it runs, as far as it can be
--- followed; what it gives is shown as progress
---@field failed? fun(text: string) what attachment `launcher.log` says, when the launcher did not succeed

---@class aicr.training.Result
---@field log string what the launcher's container wrote; "" where it cannot be read and there is a termination message
---@field complete boolean what `complete` said of it, true without
---@field cut boolean the log was longer than 16 MiB: its end is there
---@field termination? string the container's termination message, trimmed; nil: none
---@field launcher table the launcher's pod as it was seen last
---@field restarts integer how often its container was started again
---@field before string[] what it wrote before, of each start that could be read, in order
---@field workers? {index: integer, name: string, node: string, log: string, cut: boolean}[] of a run of one job: what
--- its other pods wrote
---@field seconds number from the launcher's appearance to its success, in a run of one job that of all its pods

--- Kubeflow TrainJobs: one is made, followed to its end, what it wrote is taken, and nothing of it is left.
---@class aicr.training
---@field needs string[] permissions, for the `needs` of a check
local training = {}

--- Runs a TrainJob in a namespace of its own and gives what its launcher wrote. Whatever happens, the namespace is
--- removed and that is confirmed, unless another run holds its lock. Where the launcher did not succeed, attachments
--- `launcher.log` and `workers.txt` say what was seen.
---
--- Raises, none of them a verdict unless it says so: CONFLICT/`namespace-foreign`, `namespace-in-use`, `locked`,
--- `lock-lost`; TIMEOUT/`namespace-terminating`, `trainer-not-ready`, `runtime-not-visible`, `job-terminating`,
--- `launcher-missing`, `launcher-timeout`; NOT_FOUND/`not-found` (no Trainer: a verdict where it is declared);
--- INTERNAL/`launcher-failed`, `launcher-deleted`, `job-failed`, `object-changed` (the server keeps another runtime or
--- TrainJob than was sent); INTERNAL with the reason of a request that failed when the runtime or the log is concerned;
--- else what the client raises.
---@param ctx aicr.ctx
---@param options aicr.training.Options
---@return aicr.training.Result
function training.run(ctx, options) end

return training
