---@meta aicr.platform
-- SPDX-License-Identifier: Apache-2.0

--- Platforms of GPU clusters: names, training runtimes, overrides, detection. Pure. What is wrong
--- with an argument raises INVALID_REQUEST.
---@class aicr.platform
local platform = {}

--- A variable of a container, as in Kubernetes.
---@class aicr.platform.Env
---@field name string
---@field value? string
---@field valueFrom? table

--- What a runtime is built from. Fields are those of the reference.
---@class aicr.platform.RuntimeConfig
---@field EntryName string the run's name; the runtime is `EntryName-runtime`
---@field Image? string
---@field NodesPerJob integer nodes; MPI takes them from the TrainJob instead
---@field GpusPerNode integer
---@field Env? aicr.platform.Env[]
---@field Volumes? table[] not MPI
---@field VolumeMounts? table[] not MPI
---@field InitContainers? table[] not MPI
---@field Resources? {limits: table?, requests: table?} GPUs are added where neither names them
---@field ImagePullSecrets? table[] not used: they belong to the TrainJob
---@field GangSchedulerName? string "" or absent: none
---@field GangSchedulerQueue? string "default-queue"
---@field GangSchedulerQueueLabelKey? string "kai.scheduler/queue"

--- The nine names, in their order; a new list at each call.
---@return string[]
---@nodiscard
function platform.names() end

--- The nine names, separated by ", ".
---@return string
---@nodiscard
function platform.names_list() end

--- What `--platform` takes: a name, exactly, or "". Raises `unknown-platform`.
---@param name string
function platform.validate_flag(name) end

--- The ten NCCL variables that every run has.
---@param enable_mnnvl boolean multi-node NVLink
---@return aicr.platform.Env[]
---@nodiscard
function platform.base_nccl_env(enable_mnnvl) end

--- The base without what the user sets, then the user's.
---@param base? aicr.platform.Env[]
---@param user? aicr.platform.Env[]
---@return aicr.platform.Env[]? nil for nil and nothing
---@nodiscard
function platform.merge_env(base, user) end

--- The list with the user's entries in place; nothing is added.
---@param list? aicr.platform.Env[]
---@param user? aicr.platform.Env[]
---@return aicr.platform.Env[]
---@nodiscard
function platform.override_env(list, user) end

--- `-x NAME=value` for each variable that no `-x` of args names yet; the name alone for `valueFrom`.
---@param list? aicr.platform.Env[]
---@param args? string[] arguments of mpirun
---@return string[]
---@nodiscard
function platform.mpi_env_args(list, args) end

--- The TrainingRuntime of a run that torchrun starts. Raises `config`, `queue-label-key`.
---@param config aicr.platform.RuntimeConfig
---@return table
---@nodiscard
function platform.build_torch_runtime(config) end

--- The same object, for a run of any command.
---@param config aicr.platform.RuntimeConfig
---@return table
---@nodiscard
function platform.build_exec_runtime(config) end

--- The TrainingRuntime of a run that mpirun starts from a launcher pod. Raises as above.
---@param config aicr.platform.RuntimeConfig
---@return table
---@nodiscard
function platform.build_mpi_runtime(config) end

--- Merged dependencies, with their runtimes handed to the gang scheduler.
---@param dependencies table[]
---@param config aicr.platform.RuntimeConfig its three GangScheduler fields count
---@return table[]
---@nodiscard
function platform.gang_schedule(dependencies, config) end

return platform
