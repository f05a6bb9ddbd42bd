---@meta aicr.platform
-- SPDX-License-Identifier: Apache-2.0

--- Platforms of GPU clusters: names, training runtimes, overrides, detection. Pure. What is wrong
--- with an argument raises INVALID_REQUEST.
---@class aicr.platform
---@field needs string[] permissions to make what `build_run` gives beside the runtime, for the `needs` of a check
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
---@field ImagePullSecrets? table[] builders do not use them; `build_run` puts them on all pods
---@field GangSchedulerName? string "" or absent: none
---@field GangSchedulerQueue? string "default-queue"
---@field GangSchedulerQueueLabelKey? string "kai.scheduler/queue"

--- What override rows are rendered for.
---@class aicr.platform.OverrideConfig
---@field EntryName string prefix of the names of objects
---@field NodesPerJob? integer
---@field GpusPerNode? integer
---@field MlnxPerNode? integer NICs
---@field EnableMNNVL? boolean multi-node NVLink
---@field FrameworkType? "torch"|"exec"|"mpi"
---@field NicResourceName? string "" or absent: none
---@field UserEnv? aicr.platform.Env[] wins over the rows' values; adds nothing

--- A row, for one run.
---@class aicr.platform.Row
---@field name string
---@field when aicr.platform.When
---@field dependencies? table[]
---@field jobTemplate? table
---@field jobTemplatePatch? table[] RFC 6902
---@field orchestration? {topology: table}
---@field preCommand? string[] lines of bash
---@field mpiArgs? string[]
---@field podSpec? table of the user's rows, as the next four: merged into the pods of the job "node"
---@field jobAnnotations? table<string, string> of that job and its pods
---@field trainerEnv? aicr.platform.Env[] in the place of the trainer's environment, which wins over the container's
---@field rankEnv? aicr.platform.Env[] the same; with MPI, `-x` arguments of mpirun
---@field topologyKey? string

--- Fields that are absent hold; a text matcher is {equals, in, notIn}.
---@class aicr.platform.When
---@field platform? table
---@field gpuArchitecture? table
---@field workloadKind? string
---@field topology? {mode: string?, domainCount: {equals: integer?, greaterThan: integer?, lessThan: integer?}?}
---@field config? table
---@field expression? string a question in CEL, as far as it is read (aicr.platform.expression)

---@class aicr.platform.Context
---@field Platform? string
---@field GPUArchitecture? string
---@field WorkloadKind? string
---@field TopologyMode? string
---@field DomainCount? integer
---@field Config? table

--- A run. Fields are those of the reference.
---@class aicr.platform.Run
---@field Platform string
---@field GPUArchitecture string
---@field FrameworkType "torch"|"exec"|"mpi"
---@field Runtime aicr.platform.RuntimeConfig its Env is the user's
---@field MlnxPerNode? integer
---@field EnableMNNVL? boolean
---@field NicResourceName? string
---@field Command? string[] torch: the script or module; exec: the command
---@field Module? boolean torch: Command names a module
---@field Binary? string mpi: what mpirun starts
---@field Args? string[]
---@field MpirunPath? string
---@field UserMPIArgs? string[]
---@field UserOverrides? aicr.platform.Row[] applied behind the rows of the platform
---@field OverrideRows? aicr.platform.Rows of a file of the user's, applied last
---@field Topology? table

---@class aicr.platform.Built
---@field dependencies table[] the TrainingRuntime first
---@field train_job table
---@field trainer table the trainer of train_job
---@field topology? table
---@field rows {name: string, index: integer, changed: boolean, user: boolean, file: string?}[] the rows that applied
---@field unreached string[] variables that rows set in containers, and that the ranks of MPI do not get

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

--- The rows of recipes/overrides/workloadrun.yaml for a run: those of all platforms, in order.
---@param config aicr.platform.OverrideConfig
---@return aicr.platform.Row[]
---@nodiscard
function platform.build_overrides(config) end

---@class aicr.platform.Rows what `load_overrides` gives, for `OverrideRows` of a run
---@field file string

--- Reads rows of a user's, written as recipes/overrides/workloadrun.yaml says. Raises INVALID_REQUEST/`override` with
--- file, row and key.
---@param yaml string
---@param file string its name, for messages and results
---@param fragment? fun(name: string): string|nil the text of a fragment; default: those that are built in
---@return aicr.platform.Rows
---@nodiscard
function platform.load_overrides(yaml, file, fragment) end

--- Does a row apply?
---@param when aicr.platform.When
---@param context aicr.platform.Context
---@return boolean
---@nodiscard
function platform.matches(when, context) end

--- Merges documents: a null deletes, lists of named objects merge by name.
---@param base table
---@param override table
---@return table
---@nodiscard
function platform.merge_maps(base, override) end

--- The dependencies with one more, merged into that of its kind and name.
---@param dependencies table[]
---@param override table
---@return table[]
---@nodiscard
function platform.merge_dependency(dependencies, override) end

--- The objects of a run, with the rows of its platform applied. Raises `config`, `override`.
---@param run aicr.platform.Run
---@return aicr.platform.Built
---@nodiscard
function platform.build_run(run) end

---@class aicr.platform.Found
---@field platform string
---@field told boolean false where onprem is only what is left
---@field why string which node, and what of it
---@field note? string what to say to the user of it

---@class aicr.platform.Sizes
---@field NodesPerJob? integer
---@field GpusPerNode integer
---@field MlnxPerNode integer
---@field EnableMNNVL boolean
---@field warning? string

---@class aicr.platform.Capacity
---@field kept table[] nodes
---@field excluded {node: string, has: integer}[]
---@field messages string[] a sentence for each that is left out

--- The platform of one node.
---@param node table
---@return string platform
---@return boolean told false where onprem is only what is left
---@return string why
---@nodiscard
function platform.platform_of(node) end

--- The platform of nodes, onprem of none. Raises CONFLICT/`mixed-platforms`.
---@param nodes table[]
---@param opts? {lenient: boolean?} the first node by name speaks for all
---@return aicr.platform.Found
---@nodiscard
function platform.detect_platform(nodes, opts) end

--- "gb200" for "NVIDIA-GB200-NVL72"; "" of nothing.
---@param product string
---@return string
---@nodiscard
function platform.gpu_architecture(product) end

--- A device's name as the product label would say it.
---@param name string
---@return string
---@nodiscard
function platform.product_label_value(name) end

--- What most nodes have; of as many, the first by name. `arch` is "unknown" where no node says it.
---@param nodes table[]
---@param opts? {slices: table[]?, arch: string?} ResourceSlices; as the user says it
---@return {arch: string, kept: table[], excluded: {node: string, arch: string}[], note: string?}
---@nodiscard
function platform.detect_architecture(nodes, opts) end

--- GPUs and NICs of a node where nobody says them.
---@param arch string
---@param name? string the platform
---@return {gpusPerNode: integer, mlnxPerNode: integer, mnnvl: boolean, known: boolean}
---@nodiscard
function platform.gpu_defaults(arch, name) end

--- What is asked for, else the defaults. Raises INVALID_REQUEST/`size`.
---@param arch string
---@param name string the platform
---@param given {nodes: integer?, gpus: integer?, nics: integer?, mnnvl: boolean?}
---@return aicr.platform.Sizes
---@nodiscard
function platform.sizes(arch, name, given) end

--- Leaves out nodes that say that they have fewer GPUs than needed.
---@param nodes table[]
---@param need integer GPUs a node; 0: none is left out
---@return aicr.platform.Capacity
---@nodiscard
function platform.gpu_capacity(nodes, need) end

--- The same; raises CONFLICT/`too-few-gpus`, a verdict, when none is left.
---@param nodes table[]
---@param need integer
---@return aicr.platform.Capacity
function platform.require_gpu_capacity(nodes, need) end

--- The most GPUs that a container of the objects asks for.
---@param objects table[]
---@return integer
---@nodiscard
function platform.gpus_needed(objects) end

--- The NIC resource that all nodes have enough of, on premises; "" and why where there is not just one.
---@param nodes table[]
---@param run {platform: string, arch: string, nics: integer?, given: string?}
---@return {resource: string, why: string?}
---@nodiscard
function platform.detect_nic_resource(nodes, run) end

--- The eight networks of GPUDirect-TCPXO.
---@param nodes table[]
---@param opts? {networks: string[]?} as the user says them
---@return {networks: string[], order: "host"|"name"|"default"|"given", warning: string?}
---@nodiscard
function platform.detect_gke_networks(nodes, opts) end

--- The pairs of the interfaces annotation, eth0 first.
---@param networks string[]
---@return aicr.gke.Pair[]
---@nodiscard
function platform.interface_pairs(networks) end

--- The release of the TCPXO plug-in on the nodes. Raises INVALID_REQUEST/`release` for one that is none.
---@param nodes table[]
---@param pods table[] of kube-system
---@param opts? {release: string?} as the user says it
---@return {tag: string, cuda: integer, daemon: string, exact: boolean, warning: string?}
---@nodiscard
function platform.detect_tcpxo_release(nodes, pods, opts) end

---@class aicr.platform.NcclTestOptions
---@field platform string
---@field arch string
---@field gpus integer a node
---@field mnnvl? boolean multi-node NVLink
---@field min_bytes? string "8": the first size
---@field max_bytes? string "16G": the last size
---@field nics? integer a node
---@field iterations? integer
---@field cycles? integer
---@field diagnose? boolean few iterations, to find a bad node
---@field networks? string[] of GPUDirect-TCPXO; by convention gpu-nic0 to gpu-nic7
---@field release? string of its plug-in; the oldest one that is known

---@class aicr.platform.NcclTest
---@field name string
---@field type string the collective
---@field framework "mpi"|"exec"
---@field nodes? integer so many, whatever is asked for
---@field processes? integer a node
---@field judged "busBandwidthGBps"|"algBandwidthGBps"
---@field binary string
---@field mpirun string
---@field image string
---@field args string[]
---@field env table[] one without a value is forwarded as it is in the launcher
---@field podSpec table merged into the pods of the job "node"
---@field podAnnotations? table
---@field launcher? table merged into the launcher's pod
---@field row string the row of the catalogue that the environment is from
---@field thresholds? table<string, string> by figure; nil: none
---@field published? {busBandwidthGBps: number, nodes: integer} to see whether a figure can be right

---@class aicr.platform.NcclRunOptions
---@field platform string
---@field arch string
---@field entry string the run's name
---@field nodes integer
---@field gpus integer a node
---@field nics? integer
---@field mnnvl? boolean
---@field nic_resource? string
---@field image? string another one than the test's

--- The names of the NCCL tests.
---@return string[]
---@nodiscard
function platform.nccl_tests() end

--- A test on a platform. Raises INVALID_REQUEST/`unknown-test`, `size`.
---@param name string
---@param options aicr.platform.NcclTestOptions
---@return aicr.platform.NcclTest
---@nodiscard
function platform.nccl_test(name, options) end

--- The run of a test, for `build_run`.
---@param test aicr.platform.NcclTest
---@param options aicr.platform.NcclRunOptions
---@return aicr.platform.Run
---@nodiscard
function platform.nccl_run(test, options) end

--- Compares figures with thresholds; one that was not measured fails. Raises INVALID_REQUEST/`threshold`.
---@param thresholds? table<string, string> such as {busBandwidthGBps = ">= 370"}
---@param measured? table<string, number>
---@return {figure: string, threshold: string, value: number?, pass: boolean, reason: string?}[]
---@nodiscard
function platform.judge(thresholds, measured) end

--- The means of a size with one more row; two decimals are kept.
---@param mean? {algbw: number, busbw: number, count: integer}
---@param row {algbw: number, busbw: number}
---@return {algbw: number, busbw: number, count: integer}
---@nodiscard
function platform.add_measurement(mean, row) end

--- The largest mean of all sizes, of each figure by itself.
---@param means {algbw: number, busbw: number}[]
---@return {busBandwidthGBps: number?, algBandwidthGBps: number?}
---@nodiscard
function platform.peak(means) end

--- The nodes that failed: sorted, each reason once.
---@param entries {name: string, reason: string, message: string?}[]
---@return {name: string, reason: string, message: string?}[]
---@nodiscard
function platform.failed_nodes(entries) end

return platform
