/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/result.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

#define COPY_MAX 1024

static const struct {
  const char *code, *message;
} warnings[NCCL_WARNING_COUNT] = {
    [NCCL_RANK_LIST_INCOMPLETE] =
        {"rank-list-incomplete",
         "the list of ranks has gaps: some lines are missing"},
    [NCCL_MPI_NOT_ENABLED] =
        {"mpi-not-enabled",
         "a rank is listed twice: each process ran alone; use the program that "
         "was built with MPI"},
    [NCCL_INTERLEAVED_RUNS] = {"interleaved-runs",
                               "the output of several processes is mixed"},
    [NCCL_INCONSISTENT_ROW] =
        {"inconsistent-row",
         "the bandwidth of a row does not follow from its size and time"},
    [NCCL_RANK_COUNT_MISMATCH] =
        {"rank-count-mismatch",
         "the bus bandwidth of a row does not fit the number of ranks"},
    [NCCL_CUT_ROW] = {"cut-row", "a row is cut or damaged"},
    [NCCL_TOO_MANY_ROWS] = {"too-many-rows",
                            "there are over 10000 rows; the rest is not kept"},
    [NCCL_TOO_MANY_DEVICES] = {"too-many-devices",
                               "there are over 16384 ranks or 2048 hosts; the "
                               "rest is not kept"},
    [NCCL_TOO_MANY_RUNS] = {"too-many-runs",
                            "there are over 256 runs or 64 sources of lines; "
                            "the rest is not read"},
    [NCCL_TOO_MANY_ERRORS] = {"too-many-errors",
                              "there are over 100 errors; the rest is not "
                              "kept"},
    [NCCL_LINE_TOO_LONG] = {"line-too-long",
                            "a line is over 8 KiB; its tail is not read"},
    [NCCL_UNSUPPORTED_FORMAT] =
        {"unsupported-format",
         "the output is of nccl-tests 1.x, whose rows are not read"},
    [NCCL_SKIPPED] = {"skipped", "the program skipped the operation"},
    [NCCL_TYPE_DEFAULTED] = {"type-defaulted",
                             "an unknown type or operation was replaced by the "
                             "program"},
    [NCCL_NOT_RECOVERED] = {"not-recovered",
                            "the JSON text ends or breaks off; what stood "
                            "before was read"},
};

static const char *const params[NCCL_PARAM_COUNT] = {
    [NCCL_THREADS] = "threads",
    [NCCL_GPUS] = "gpus",
    [NCCL_MIN_BYTES] = "min_bytes",
    [NCCL_MAX_BYTES] = "max_bytes",
    [NCCL_MAX_BYTES_REDUCED] = "max_bytes_reduced",
    [NCCL_STEP_FACTOR] = "step_factor",
    [NCCL_STEP_BYTES] = "step_bytes",
    [NCCL_WARMUP_ITERS] = "warmup_iters",
    [NCCL_ITERS] = "iters",
    [NCCL_AGG_ITERS] = "agg_iters",
    [NCCL_VALIDATION] = "validation",
    [NCCL_GRAPH] = "graph",
    [NCCL_UNALIGN] = "unalign",
};

const char *nccl_warning_code(enum nccl_warning w)
{
  return warnings[w].code;
}

const char *nccl_warning_message(enum nccl_warning w)
{
  return warnings[w].message;
}

void nccl_warn(struct nccl_warnings *all, enum nccl_warning w, uint64_t line)
{
  if (all->of[w].count++ == 0)
    all->of[w].line = line;
}

const char *nccl_param_name(enum nccl_param p)
{
  return params[p];
}

void nccl_result_init(struct nccl_result *r)
{
  memset(r, 0, sizeof(*r));
}

static void free_failure(const struct nccl_failure *f)
{
  aicr_free(f->text);
  aicr_free(f->last_error);
  aicr_free(f->host);
  aicr_free(f->file);
}

static void free_run(struct nccl_run *run)
{
  for (size_t i = 0; i < run->device_count; i++) {
    aicr_free(run->devices[i].host);
    aicr_free(run->devices[i].name);
  }
  for (size_t i = 0; i < run->host_count; i++)
    aicr_free(run->hosts[i]);
  for (size_t i = 0; i < run->failure_count; i++)
    free_failure(&run->failures[i]);
  for (size_t i = 0; i < run->frame_count; i++) {
    aicr_free(run->frames[i].host);
    aicr_free(run->frames[i].file);
  }
  aicr_free(run->rows);
  aicr_free(run->devices);
  aicr_free((void *)run->hosts);
  aicr_free(run->failures);
  aicr_free(run->frames);
  aicr_free(run);
}

void nccl_result_free(struct nccl_result *r)
{
  for (size_t i = 0; i < r->run_count; i++)
    free_run(r->runs[i]);
  aicr_free((void *)r->runs);
  memset(r, 0, sizeof(*r));
}

/* Room for one more element of `size` bytes. */
static void *grow(struct nccl_result *r, void *items, size_t *cap, size_t count,
                  size_t size)
{
  void *grown = aicr_grow(items, cap, count, size);

  r->no_memory |= !grown;
  return grown;
}

struct nccl_run *nccl_add_run(struct nccl_result *r, uint64_t line)
{
  struct nccl_run **runs, *run;

  if (r->run_count == NCCL_RUNS_MAX) {
    nccl_warn(&r->warnings, NCCL_TOO_MANY_RUNS, line);
    return NULL;
  }
  runs = (struct nccl_run **)grow(
      r, (void *)r->runs, &r->run_cap, r->run_count,
      sizeof(struct nccl_run *)); /* NOLINT(bugprone-sizeof-expression) */
  if (!runs)
    return NULL;
  r->runs = runs;
  run = aicr_calloc(1, sizeof(*run));
  if (!run) {
    r->no_memory = true;
    return NULL;
  }
  run->max_rank = -1;
  run->line = line;
  r->runs[r->run_count++] = run;
  return run;
}

bool nccl_add_row(struct nccl_result *r, struct nccl_run *run,
                  const struct nccl_row *row)
{
  struct nccl_row *rows;

  if (r->rows == NCCL_ROWS_MAX) {
    run->rows_dropped++;
    nccl_warn(&run->warnings, NCCL_TOO_MANY_ROWS, row->line);
    return false;
  }
  rows = grow(r, run->rows, &run->row_cap, run->row_count, sizeof(*rows));
  if (!rows)
    return false;
  run->rows = rows;
  run->rows[run->row_count++] = *row;
  r->rows++;
  return true;
}

char *nccl_copy(struct nccl_result *r, const char *data, size_t len)
{
  struct aicr_buf b;
  char *copy = NULL;

  aicr_buf_init(&b, (size_t)COPY_MAX * 3 + 1);
  if (aicr_buf_add_utf8(&b, data, len < COPY_MAX ? len : COPY_MAX))
    copy = aicr_strndup(b.len ? b.data : "", b.len);
  aicr_buf_free(&b);
  if (!copy)
    r->no_memory = true;
  return copy;
}

/* The first device of a host adds its name to the list. */
static bool add_host(struct nccl_result *r, struct nccl_run *run,
                     const char *host)
{
  char **hosts;

  for (size_t i = run->host_count; i > 0; i--)
    if (strcmp(run->hosts[i - 1], host) == 0)
      return true;
  if (run->host_count == NCCL_HOSTS_MAX)
    return false;
  hosts = (char **)grow(r, (void *)run->hosts, &run->host_cap, run->host_count,
                        sizeof(*hosts));
  if (!hosts)
    return false;
  run->hosts = hosts;
  run->hosts[run->host_count] = nccl_copy(r, host, strlen(host));
  if (!run->hosts[run->host_count])
    return false;
  run->host_count++;
  return true;
}

bool nccl_add_device(struct nccl_result *r, struct nccl_run *run,
                     const struct nccl_device *device, const char *host,
                     size_t host_len, const char *name, size_t name_len,
                     uint64_t line)
{
  struct nccl_device *devices, d = *device;

  if (r->devices == NCCL_DEVICES_MAX) {
    nccl_warn(&run->warnings, NCCL_TOO_MANY_DEVICES, line);
    return false;
  }
  devices = grow(r, run->devices, &run->device_cap, run->device_count,
                 sizeof(*devices));
  if (!devices)
    return false;
  run->devices = devices;
  d.host = nccl_copy(r, host, host_len);
  d.name = nccl_copy(r, name, name_len);
  if (!d.host || !d.name || !add_host(r, run, d.host)) {
    aicr_free(d.host);
    aicr_free(d.name);
    if (!r->no_memory)
      nccl_warn(&run->warnings, NCCL_TOO_MANY_DEVICES, line);
    return false;
  }
  run->devices[run->device_count++] = d;
  r->devices++;
  if (d.rank > run->max_rank)
    run->max_rank = d.rank;
  return true;
}

bool nccl_add_failure(struct nccl_result *r, struct nccl_run *run,
                      const struct nccl_failure *failure)
{
  struct nccl_failure *all;

  if (r->failures == NCCL_NOTES_MAX) {
    nccl_warn(&run->warnings, NCCL_TOO_MANY_ERRORS, failure->line);
    free_failure(failure);
    return false;
  }
  all = grow(r, run->failures, &run->failure_cap, run->failure_count,
             sizeof(*all));
  if (!all || !failure->text) {
    free_failure(failure);
    if (all)
      run->failures = all;
    return false;
  }
  run->failures = all;
  run->failures[run->failure_count++] = *failure;
  r->failures++;
  return true;
}

bool nccl_add_frame(struct nccl_result *r, struct nccl_run *run,
                    const struct nccl_frame *frame)
{
  struct nccl_frame *all = NULL;

  if (r->frames == NCCL_NOTES_MAX)
    nccl_warn(&run->warnings, NCCL_TOO_MANY_ERRORS, frame->line);
  else
    all = grow(r, run->frames, &run->frame_cap, run->frame_count, sizeof(*all));
  if (all)
    run->frames = all;
  if (!all || !frame->host || !frame->file) {
    aicr_free(frame->host);
    aicr_free(frame->file);
    return false;
  }
  run->frames[run->frame_count++] = *frame;
  r->frames++;
  return true;
}

/* Every rank from 0 to the highest, each once? `twice` says of a repetition. */
static bool ranks_are_whole(const struct nccl_run *run, bool *twice)
{
  unsigned char seen[NCCL_DEVICES_MAX / 8] = {0};

  *twice = false;
  for (size_t i = 0; i < run->device_count; i++) {
    int64_t rank = run->devices[i].rank;

    if (rank < 0 || rank >= NCCL_DEVICES_MAX)
      continue;
    if (seen[rank / 8] & 1u << rank % 8)
      *twice = true;
    seen[rank / 8] |= (unsigned char)(1u << rank % 8);
  }
  return !*twice && run->max_rank >= 0 &&
         run->max_rank + 1 == (int64_t)run->device_count;
}

int64_t nccl_group_ranks(const struct nccl_run *run)
{
  int64_t group = 0, count = 0;
  bool twice;

  if (!ranks_are_whole(run, &twice))
    return 0;
  for (size_t i = 0; i < run->device_count; i++)
    if (run->devices[i].rank == 0)
      group = run->devices[i].has_group ? run->devices[i].group : 0;
  for (size_t i = 0; i < run->device_count; i++)
    count += !run->devices[i].has_group || run->devices[i].group == group;
  return count;
}

void nccl_count_all_ranks(struct nccl_run *run)
{
  int64_t threads =
      run->has_param[NCCL_THREADS] ? run->params[NCCL_THREADS] : 1;
  int64_t gpus = run->has_param[NCCL_GPUS] ? run->params[NCCL_GPUS] : 1;

  if (run->max_rank < 0 || threads < 1 || gpus < 1 || threads > 4096 ||
      gpus > 4096)
    return;
  if (threads * gpus == 1) {
    run->group_ranks = nccl_group_ranks(run);
    return;
  }
  run->max_rank += threads * gpus - 1;
  for (size_t i = 1; i < run->device_count; i++)
    if (run->devices[i].group != run->devices[0].group)
      return;
  run->group_ranks = run->max_rank + 1;
}

static void add_wrong(struct nccl_run *run, const struct nccl_figures *f)
{
  if (!f->present || !f->has_wrong)
    return;
  if (f->wrong > INT64_MAX - run->wrong_total)
    run->wrong_total = INT64_MAX;
  else
    run->wrong_total += f->wrong;
}

void nccl_run_finish(struct nccl_run *run)
{
  size_t whole = 0, wrong = 0, error = 0;
  bool twice, all = ranks_are_whole(run, &twice);

  run->wrong_total = 0;
  for (size_t i = 0; i < run->row_count; i++) {
    const struct nccl_row *row = &run->rows[i];

    add_wrong(run, &row->oop);
    add_wrong(run, &row->ip);
    if (row->truncated)
      continue;
    whole++;
    wrong += row->oop.has_wrong;
    error += row->oop.has_error;
  }
  run->validated = NCCL_NOT_VALIDATED;
  if (whole > 0 && wrong == whole &&
      !(run->has_param[NCCL_VALIDATION] && run->params[NCCL_VALIDATION] == 0))
    run->validated = NCCL_VALIDATED;
  else if (whole > 0 && error == whole)
    run->validated = NCCL_BY_ERROR;
  if (run->format != NCCL_JSON) {
    if (twice)
      nccl_warn(&run->warnings, NCCL_MPI_NOT_ENABLED, run->line);
    else if (!all && run->device_count > 0)
      nccl_warn(&run->warnings, NCCL_RANK_LIST_INCOMPLETE, run->line);
    run->group_ranks = nccl_group_ranks(run);
  }
  run->complete = run->has_oob && run->footers <= 1 && run->rows_dropped == 0;
}

void nccl_version_text(int64_t code, char out[NCCL_WORD_MAX])
{
  int64_t major = code < 10000 ? code / 1000 : code / 10000;
  int64_t minor = code < 10000 ? code / 100 % 10 : code / 100 % 100;

  out[0] = '\0';
  if (code > 0 && code < 100000000)
    snprintf(out, NCCL_WORD_MAX, "%lld.%lld.%lld", (long long)major,
             (long long)minor, (long long)(code % 100));
}

bool nccl_set_word(char out[NCCL_WORD_MAX], const char *data, size_t len)
{
  if (len >= NCCL_WORD_MAX)
    return false;
  memcpy(out, data, len);
  out[len] = '\0';
  return true;
}

void nccl_set_program(struct nccl_run *run, const char *path, size_t len)
{
  static const char end[] = "_perf";
  size_t begin = len, n = 0;

  while (begin > 0 && path[begin - 1] != '/')
    begin--;
  path += begin;
  len -= begin;
  while (n < len && !(len - n >= sizeof(end) - 1 &&
                      memcmp(path + n, end, sizeof(end) - 1) == 0))
    n++;
  if (nccl_set_word(run->op_name, path, n))
    run->op = nccl_op_from_name(path, n);
}

const char *nccl_hint(const char *text)
{
  if (strstr(text, "/dev/shm/") && strstr(text, "No space left on device"))
    return "shm-too-small";
  return NULL;
}
