---@meta aicr.nccl
-- SPDX-License-Identifier: Apache-2.0

--- Logs of nccl-tests and of NCCL itself, read as nccl-benchmark.md sections 0.1, 5 and 7 say. Sizes
--- and counts are integers, times microseconds, bandwidths GB/s (decimal). What a log does not say is
--- nil. A figure that was printed as `inf` or `nan` is that float.
---@class aicr.nccl
local nccl = {}

--- A text, or a function that gives chunks of it until it gives nil.
---@alias aicr.nccl.Source string|fun(): string?

---@class aicr.nccl.ParseOpts
---@field op? string the collective, where the log does not name it (nccl-tests up to 2.16.6)
---@field lenient? boolean rows without a column header count, in the shape of 13 columns; they are
---  `truncated`, so that nothing is decided on them
---@field debug? boolean NCCL's own lines are read too: `evidence` of the result

--- What a log says. A log can hold several runs: a retry, a loop, several processes.
---@class aicr.nccl.Result
---@field runs aicr.nccl.Run[] in the order of their first lines; the last one is the latest attempt
---@field bytes integer
---@field lines integer
---@field long_lines integer lines over 8 KiB, whose tail was not read
---@field warnings aicr.nccl.Warning[] about the log as a whole: `too-many-runs`, `line-too-long`, …
---@field evidence? aicr.nccl.Evidence with `debug`

---@class aicr.nccl.Run
---@field op? string `all_reduce`, `all_gather`, `sendrecv`, …
---@field format? "current"|"legacy"|"json"|"unsupported" nil: there is no column header; `legacy`: an
---  error column in place of #wrong (up to 2.11); `unsupported`: nccl-tests 1.x, whose rows are not read
---@field tool_version? string of nccl-tests
---@field nccl_version? string of the library, such as "2.30.7"
---@field nccl_headers? string of the headers it was built with
---@field params aicr.nccl.Params empty when the log does not show them
---@field ranks? integer the highest rank that is listed, plus one
---@field ranks_listed integer lines that name a rank
---@field group_ranks? integer ranks in rank 0's group, the n of the formulas; nil when the list has gaps
---@field hosts string[] in the order of their first rank
---@field devices aicr.nccl.Device[]
---@field rows aicr.nccl.Row[] in the order of the log
---@field rows_dropped integer rows over 10,000 (a run with some is not `complete`)
---@field cpu_time boolean the time column is CPU time (-C 1)
---@field avg_busbw? number
---@field bw_status? "OK"|"FAILED" against NCCL_TESTS_MIN_BW
---@field oob? aicr.nccl.Oob the footer "Out of bounds values"
---@field complete boolean that footer is there, once, and no row was dropped
---@field concluded boolean "Collective test concluded" is there
---@field validated boolean|"legacy" true: checks were on (-c) and each whole row has its #wrong out of
---  place; "legacy": each has its max_error. Compare with `== true`
---@field wrong_total integer sum of #wrong of all whole rows and placements
---@field errors aicr.nccl.Failure[] what went wrong, by nccl-tests' own words; at most 100
---@field failures aicr.nccl.Frame[] the "Test failure" lines, the innermost first; at most 100
---@field warnings aicr.nccl.Warning[]
---@field tag? string what stands before each line of this run: "[1,0]", "[pod/x/y]", "0"
---@field line integer its first line in the log, from 1; 0 for JSON

---@class aicr.nccl.Params
---@field threads? integer
---@field gpus? integer a thread
---@field min_bytes? integer
---@field max_bytes? integer what was asked for with -e
---@field max_bytes_reduced? integer what the memory of the GPUs allowed, when that is less
---@field step_factor? integer
---@field step_bytes? integer
---@field warmup_iters? integer
---@field iters? integer
---@field agg_iters? integer
---@field validation? integer check iterations; 0: nothing was checked
---@field graph? integer
---@field unalign? integer

---@class aicr.nccl.Device
---@field rank integer
---@field group? integer
---@field pid? integer
---@field host string
---@field device integer
---@field bus? string as printed: "0000:1b:00" or "0x1b"
---@field name string

---@class aicr.nccl.Row
---@field size integer bytes, as printed
---@field count integer elements
---@field type string
---@field redop? string "" where the column is there and blank, nil where there is none
---@field root? integer -1: not applicable
---@field oop aicr.nccl.Figures out of place
---@field ip? aicr.nccl.Figures in place
---@field timestamp? string "2026-03-02 11:22:33" (-S 1)
---@field truncated boolean the row's end is missing: never for a verdict
---@field inconsistent boolean its figures contradict each other, or the number of ranks
---@field line integer

---@class aicr.nccl.Figures
---@field time_us number
---@field algbw number
---@field busbw number
---@field wrong? integer nil: not checked (N/A)
---@field max_error? number of the legacy format
---@field i_min? number microseconds of one iteration (-I 1)
---@field i_max? number
---@field i_p99? number
---@field i_cv? number percent

---@class aicr.nccl.Oob
---@field count integer
---@field status "OK"|"FAILED"

---@class aicr.nccl.Failure
---@field kind "nccl"|"cuda"|"timeout"|"gpus"|"error" `error`: a last error of NCCL below the footer
---@field text string
---@field last_error? string NCCL's own words behind the text
---@field host? string
---@field file? string
---@field at? integer line in that file
---@field hint? string such as "shm-too-small"
---@field line integer in the log

---@class aicr.nccl.Frame
---@field host string
---@field pid integer
---@field file string
---@field at integer
---@field line integer

--- `code` is one of: `rank-list-incomplete`, `mpi-not-enabled` (a rank is listed twice: each process
--- ran alone), `interleaved-runs`, `inconsistent-row`, `rank-count-mismatch`, `cut-row`,
--- `too-many-rows`, `too-many-devices`, `too-many-runs`, `line-too-long`, `unsupported-format`,
--- `skipped`, `type-defaulted`, `not-recovered` (a JSON file that is cut).
---@class aicr.nccl.Warning
---@field code string
---@field message string
---@field line integer 0 where it is about no one line
---@field count integer how often

--- Reads the text output of nccl-tests, all three generations, with what launchers, container
--- runtimes and NCCL put between. A source that is a function may give a log of any length, in
--- bounded memory; a text may have at most 64 MiB (INVALID_REQUEST/`too-large`).
---@param source aicr.nccl.Source
---@param opts? aicr.nccl.ParseOpts
---@return aicr.nccl.Result
---@nodiscard
function nccl.parse(source, opts) end

--- Reads a file of `-J`. What is whole in a file that is cut is taken; `complete` says whether the
--- run ended. The environment in it is left out. At most 64 MiB.
---@param text string
---@return aicr.nccl.Result
---@nodiscard
function nccl.parse_json(text) end

--- What NCCL_DEBUG=INFO lines say of the transport (7.5).
---@param source aicr.nccl.Source
---@return aicr.nccl.Evidence
---@nodiscard
function nccl.parse_debug(source) end

--- Bandwidths of a collective (2.1). `bytes` is the size as nccl-tests prints it.
---@param op string
---@param bytes integer
---@param seconds number above 0
---@param ranks integer
---@return number algbw GB/s
---@return number busbw GB/s
---@nodiscard
function nccl.busbw(op, bytes, seconds, ranks) end

---@class aicr.nccl.SelectOpts
---@field size? integer the size to look at; default: the largest
---@field placement? "oop"|"ip"|"worst" default "oop"; "worst": the slower of both
---@field repeats? "median"|"slowest" which of a size that was measured several times; default "median"
---@field type? string
---@field redop? string
---@field root? integer

--- The figures to judge a run by.
---@class aicr.nccl.Selection
---@field size integer
---@field type string
---@field redop? string
---@field root? integer
---@field placement "oop"|"ip" where the figures are from
---@field busbw number the median of the repeats, or their slowest
---@field algbw number the median of the repeats
---@field time_us number the median of the repeats
---@field repeats integer whole rows of this size (-N)
---@field wrong? integer sum over the repeats, of this placement; nil: one of them was not checked
---@field validated boolean `-c` was on and every repeat has its #wrong
---@field line integer of the first repeat
---@field requested? integer the size that the last step of the sweep prints, from -b -e -f -i
---@field reached boolean `size` is not below `requested`; false when it is not known
---@field problems string[] why nothing may pass on this: `unsupported-format`, `incomplete`, `errors`,
---  `wrong-data`, `unvalidated`, `not-reached`, `not-finite`, `inconsistent`, `interleaved`,
---  `low-bandwidth` (the run's own NCCL_TESTS_MIN_BW); empty when it is sound

--- Chooses the row to judge a run by (5.4, rules 7 and 8): the largest size, the median where it was
--- repeated, never a truncated row. Where types, operations or roots differ at that size, the
--- slowest of them. nil when there is no whole row (of that size).
---@param run aicr.nccl.Run
---@param opts? aicr.nccl.SelectOpts
---@return aicr.nccl.Selection?
---@nodiscard
function nccl.select(run, opts) end

--- What NCCL says of itself. Lists are bounded; equal entries are counted.
---@class aicr.nccl.Evidence
---@field lines integer lines of NCCL
---@field version? string "2.27.7"
---@field cuda? string "12.8", what the library was built for
---@field driver? integer 13010 is 13.1
---@field network? string as in "Using network NAME"; nil when none is named, or several
---@field family? "socket"|"ib"|"fastrak"|"tcpx"|"efa"|"gib"|"other"
---@field networks aicr.nccl.Counted[]
---@field bootstrap? { interface: string, address: string }
---@field fastrak_version? string
---@field plugins { loaded: string[], missing: string[], initialized: string[], failed: string[] }
---@field ofi aicr.nccl.Ofi
---@field ib { devices: { name: string, port: integer, link: string }[], relaxed_ordering: boolean, none: boolean }
---@field gdr { enabled: integer, disabled: integer, ring_on: integer, ring_off: integer, dmabuf: boolean }
---@field topology? { ranks: integer, nodes: integer, local_ranks: integer }
---@field mnnvl? boolean
---@field clique_size? integer
---@field nvls { available?: boolean, comms: integer }
---@field channels? { coll: integer, p2p: integer, p2p_per_peer: integer, nvls?: integer, collnet?: integer }
---@field paths aicr.nccl.Path[]
---@field socket_channels integer channel lines over NET/Socket
---@field algorithms aicr.nccl.Algorithm[]
---@field init { started: integer[], completed: integer[], missing: integer[] } ranks
---@field env { name: string, value: string }[] NCCL_… that were set
---@field warns aicr.nccl.Warn[] the first 20 distinct ones
---@field trace aicr.nccl.Trace[] `file:line -> code`, the origin first
---@field warnings aicr.nccl.Warning[] `networks-differ`, `gdr-disabled`, `mixed-links`, `too-many-…`
---@field hints string[] `shm-too-small`, `plugin-failed-fallback-socket`

---@class aicr.nccl.Counted
---@field name string
---@field count integer

---@class aicr.nccl.Ofi
---@field plugin? string "aws-ofi-nccl 1.16.3"
---@field libfabric? string
---@field provider? string
---@field fabric? string
---@field nics? integer
---@field protocol? string
---@field platform? string

---@class aicr.nccl.Path
---@field path string "NET/IB", "P2P/CUMEM", "SHM"
---@field count integer
---@field gdr integer of them with GDRDMA
---@field pxn integer of them by way of another rank
---@field read integer of them

---@class aicr.nccl.Algorithm
---@field op? string
---@field bytes integer
---@field algo string "RING", "TREE", "NVLS", "NVLS_TREE", …
---@field proto string "LL", "LL128", "SIMPLE"
---@field channels? integer
---@field count integer

---@class aicr.nccl.Warn
---@field text string
---@field host string
---@field pid integer
---@field device? integer
---@field file? string
---@field at? integer
---@field count integer

---@class aicr.nccl.Trace
---@field host string
---@field file string
---@field at integer
---@field result integer
---@field count integer

return nccl
