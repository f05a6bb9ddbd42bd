/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_NCCL_RESULT_H
#define AICR_NCCL_RESULT_H

#include <stdint.h>

#include "core/buffer.h"
#include "nccl/collective.h"

/* What a log of nccl-tests says. Bounded in all directions: what is over a
 * bound is counted in a warning. */

#define NCCL_TEXT_MAX    ((size_t)64 << 20) /* for a text given as a whole */
#define NCCL_RUNS_MAX    256
#define NCCL_ROWS_MAX    10000 /* of a log */
#define NCCL_DEVICES_MAX 16384 /* of a log */
#define NCCL_HOSTS_MAX   2048  /* of a run */
#define NCCL_NOTES_MAX   100   /* errors, and frames, of a log */
#define NCCL_WORD_MAX    24
#define NCCL_TAG_MAX     160

struct nccl_figures {
  bool present, has_wrong, has_error, has_iterations;
  double time_us, algbw, busbw;
  double max_error;
  double i_min, i_max, i_p99, i_cv;
  int64_t wrong;
};

struct nccl_row {
  int64_t size, count, root;
  uint64_t line;
  char type[NCCL_WORD_MAX];
  char redop[NCCL_WORD_MAX];
  char timestamp[NCCL_WORD_MAX]; /* "" without one */
  bool has_redop, has_root, truncated, inconsistent;
  struct nccl_figures oop, ip;
};

struct nccl_device {
  int64_t rank, group, pid, index;
  bool has_group, has_pid;
  char bus[NCCL_WORD_MAX];
  char *host, *name;
};

enum nccl_failure_kind {
  NCCL_FAILED_NCCL,
  NCCL_FAILED_CUDA,
  NCCL_FAILED_TIMEOUT,
  NCCL_FAILED_GPUS,
  NCCL_LAST_ERROR
};

struct nccl_failure {
  enum nccl_failure_kind kind;
  char *text, *last_error, *host, *file; /* NULL: not said, but text */
  int64_t at;
  uint64_t line;
};

struct nccl_frame {
  char *host, *file;
  int64_t pid, at;
  uint64_t line;
};

enum nccl_warning {
  NCCL_RANK_LIST_INCOMPLETE,
  NCCL_MPI_NOT_ENABLED,
  NCCL_INTERLEAVED_RUNS,
  NCCL_INCONSISTENT_ROW,
  NCCL_RANK_COUNT_MISMATCH,
  NCCL_CUT_ROW,
  NCCL_TOO_MANY_ROWS,
  NCCL_TOO_MANY_DEVICES,
  NCCL_TOO_MANY_RUNS,
  NCCL_TOO_MANY_ERRORS,
  NCCL_LINE_TOO_LONG,
  NCCL_UNSUPPORTED_FORMAT,
  NCCL_SKIPPED,
  NCCL_TYPE_DEFAULTED,
  NCCL_NOT_RECOVERED,
  NCCL_WARNING_COUNT
};

struct nccl_warnings {
  struct {
    uint64_t count, line;
  } of[NCCL_WARNING_COUNT];
};

const char *nccl_warning_code(enum nccl_warning w);
const char *nccl_warning_message(enum nccl_warning w);
void nccl_warn(struct nccl_warnings *all, enum nccl_warning w, uint64_t line);

enum nccl_param {
  NCCL_THREADS,
  NCCL_GPUS,
  NCCL_MIN_BYTES,
  NCCL_MAX_BYTES,
  NCCL_MAX_BYTES_REDUCED,
  NCCL_STEP_FACTOR,
  NCCL_STEP_BYTES,
  NCCL_WARMUP_ITERS,
  NCCL_ITERS,
  NCCL_AGG_ITERS,
  NCCL_VALIDATION,
  NCCL_GRAPH,
  NCCL_UNALIGN,
  NCCL_PARAM_COUNT
};

/* The name that Lua sees. */
const char *nccl_param_name(enum nccl_param p);

enum nccl_format {
  NCCL_NO_FORMAT, /* no column header */
  NCCL_CURRENT,
  NCCL_LEGACY,
  NCCL_JSON,
  NCCL_UNSUPPORTED
};

enum nccl_validated { NCCL_NOT_VALIDATED, NCCL_VALIDATED, NCCL_BY_ERROR };

struct nccl_run {
  enum nccl_op op;
  char op_name[NCCL_WORD_MAX]; /* also of an operation that we do not know */
  enum nccl_format format;
  char tool_version[NCCL_WORD_MAX];
  char nccl_version[NCCL_WORD_MAX];
  char nccl_headers[NCCL_WORD_MAX];
  char tag[NCCL_TAG_MAX + 1];
  bool has_param[NCCL_PARAM_COUNT];
  int64_t params[NCCL_PARAM_COUNT];
  bool cpu_time, concluded, complete;
  bool has_oob, oob_ok, has_average, has_bw_status, bw_ok;
  int64_t oob_count;
  double average;
  enum nccl_validated validated;
  int64_t wrong_total;
  int64_t max_rank;    /* -1: none */
  int64_t group_ranks; /* 0: not known */
  uint64_t rows_dropped;
  uint64_t line;
  unsigned stage, footers; /* private to text.c */

  struct nccl_row *rows;
  struct nccl_device *devices;
  char **hosts;
  struct nccl_failure *failures;
  struct nccl_frame *frames;
  size_t row_count, row_cap, device_count, device_cap, host_count, host_cap,
      failure_count, failure_cap, frame_count, frame_cap;
  struct nccl_warnings warnings;
};

struct nccl_result {
  struct nccl_run **runs;
  size_t run_count, run_cap;
  size_t rows, devices, failures, frames; /* of all runs */
  uint64_t bytes, lines, long_lines;
  struct nccl_warnings warnings;
  bool no_memory;
};

void nccl_result_init(struct nccl_result *r);
void nccl_result_free(struct nccl_result *r);

/* A new last run. NULL over the bound, which is a warning, or without memory,
 * which is `no_memory`; so do the functions below. */
struct nccl_run *nccl_add_run(struct nccl_result *r, uint64_t line);

bool nccl_add_row(struct nccl_result *r, struct nccl_run *run,
                  const struct nccl_row *row);

/* The device with the copies of host and name. */
bool nccl_add_device(struct nccl_result *r, struct nccl_run *run,
                     const struct nccl_device *device, const char *host,
                     size_t host_len, const char *name, size_t name_len,
                     uint64_t line);

/* A copy of bytes as valid UTF-8 of at most 1 KiB; NULL sets no_memory. */
char *nccl_copy(struct nccl_result *r, const char *data, size_t len);

/* Takes over the texts, also when it gives false. */
bool nccl_add_failure(struct nccl_result *r, struct nccl_run *run,
                      const struct nccl_failure *failure);
bool nccl_add_frame(struct nccl_result *r, struct nccl_run *run,
                    const struct nccl_frame *frame);

/* How many ranks are in rank 0's group; 0 while the list has gaps. */
int64_t nccl_group_ranks(const struct nccl_run *run);

/* For lists that have one entry a process, of its first rank: the ranks of its
 * other threads and GPUs count too. */
void nccl_count_all_ranks(struct nccl_run *run);

/* What follows from all of a run: validated, wrong_total, complete, …
 * `has_oob` stands. */
void nccl_run_finish(struct nccl_run *run);

/* A version number of NCCL, 22809 or 2804, as "2.28.9". */
void nccl_version_text(int64_t code, char out[NCCL_WORD_MAX]);

/* Copies a word that fits; false when it does not. */
bool nccl_set_word(char out[NCCL_WORD_MAX], const char *data, size_t len);

/* The operation of a program: ".../all_reduce_perf_mpi" is all_reduce. */
void nccl_set_program(struct nccl_run *run, const char *path, size_t len);

/* The hint that follows from a text, such as "shm-too-small", or NULL. */
const char *nccl_hint(const char *text);

#endif
