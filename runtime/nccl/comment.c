/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): memmem */
#include "nccl/comment.h"

#include <string.h>

#include "core/number.h"
#include "nccl/figure.h"

static const char *find(const char *text, size_t len, const char *what)
{
  return len ? memmem(text, len, what, strlen(what)) : NULL;
}

/* The text behind `what`, without blanks around; NULL where it is not. */
static const char *behind(const char *text, size_t len, const char *what,
                          size_t *rest)
{
  const char *p = find(text, len, what);
  const char *end = text + len;

  if (!p)
    return NULL;
  p += strlen(what);
  nccl_trim(&p, &end);
  *rest = (size_t)(end - p);
  return p;
}

static bool word_behind(const char *text, size_t len, const char *what,
                        struct nccl_word *word)
{
  size_t rest;
  const char *p = behind(text, len, what, &rest);

  return p && nccl_next_word(&p, p + rest, word);
}

static bool integer_behind(const char *text, size_t len, const char *what,
                           int64_t *out)
{
  struct nccl_word w;

  return word_behind(text, len, what, &w) &&
         aicr_parse_int64(w.text, nccl_digits(w.text, w.len), out);
}

static const struct {
  const char *begins;
  enum nccl_comment kind;
} comments[] = {
    {"nccl-tests version ", NCCL_VERSION},
    {"Collective test starting:", NCCL_STARTING},
    {"nThread ", NCCL_PARAMETERS},
    {"Rank ", NCCL_RANK},
    {"Reducing maxBytes to ", NCCL_REDUCING},
    {"Out of bounds values :", NCCL_OUT_OF_BOUNDS},
    {"Avg bus bandwidth", NCCL_AVERAGE},
    {"Collective test concluded:", NCCL_CONCLUDED},
    {"error:", NCCL_ERROR_TEXT},
};

enum nccl_comment nccl_comment_of(const char *text, size_t len)
{
  const char *end = text + len;

  nccl_trim(&text, &end);
  for (size_t i = 0; i < sizeof(comments) / sizeof(comments[0]); i++)
    if (nccl_starts(text, (size_t)(end - text), comments[i].begins))
      return comments[i].kind;
  return NCCL_REMARK;
}

/* "nccl-headers=22907": the number as a version. */
static void read_code(const char *text, size_t len, const char *what,
                      char out[NCCL_WORD_MAX])
{
  int64_t code;

  if (integer_behind(text, len, what, &code))
    nccl_version_text(code, out);
}

static void read_version(struct nccl_run *run, const char *text, size_t len)
{
  struct nccl_word w;

  if (word_behind(text, len, "version ", &w))
    nccl_set_word(run->tool_version, w.text, w.len);
  read_code(text, len, "nccl-headers=", run->nccl_headers);
  read_code(text, len, "nccl-library=", run->nccl_version);
}

static void read_op(struct nccl_run *run, const char *text, size_t len)
{
  struct nccl_word w;

  if (word_behind(text, len, "starting:", &w))
    nccl_set_program(run, w.text, w.len);
}

static void set_param(struct nccl_run *run, enum nccl_param p, int64_t value)
{
  run->has_param[p] = true;
  run->params[p] = value;
}

static void read_parameters(struct nccl_run *run, const char *text, size_t len)
{
  static const struct {
    const char *key;
    enum nccl_param param;
  } keys[] = {{"nThread ", NCCL_THREADS},
              {" nGpus ", NCCL_GPUS},
              {" minBytes ", NCCL_MIN_BYTES},
              {" maxBytes ", NCCL_MAX_BYTES},
              {" warmup iters: ", NCCL_WARMUP_ITERS},
              {" agg iters: ", NCCL_AGG_ITERS},
              {" validation: ", NCCL_VALIDATION},
              {" graph: ", NCCL_GRAPH},
              {" unalign: ", NCCL_UNALIGN}};
  const char *iters;
  struct nccl_word w;
  int64_t value;

  for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
    if (integer_behind(text, len, keys[i].key, &value))
      set_param(run, keys[i].param, value);
  /* " iters:" stands behind "warmup iters:" and before "agg iters:". */
  iters = find(text, len, "warmup iters:");
  if (iters) {
    iters += strlen("warmup iters:");
    if (integer_behind(iters, len - (size_t)(iters - text), " iters: ", &value))
      set_param(run, NCCL_ITERS, value);
  }
  if (!word_behind(text, len, " step: ", &w) ||
      !integer_behind(text, len, " step: ", &value))
    return;
  if (find(w.text, w.len, "(factor)"))
    set_param(run, NCCL_STEP_FACTOR, value);
  else if (find(w.text, w.len, "(bytes)"))
    set_param(run, NCCL_STEP_BYTES, value);
}

/* "Rank  0 [Group  0] [Pid 530] on pod-0 device  0 [0000:04:00] NAME". */
static void read_rank(struct nccl_result *r, struct nccl_run *run,
                      const char *text, size_t len, uint64_t line)
{
  struct nccl_device d = {0};
  struct nccl_word host, bus;
  const char *on = find(text, len, " on "), *device, *at, *end = text + len;

  if (!on || !integer_behind(text, (size_t)(on - text), "Rank ", &d.rank) ||
      d.rank > INT32_MAX)
    return;
  d.has_group = integer_behind(text, (size_t)(on - text), " Group ", &d.group);
  d.has_pid = integer_behind(text, (size_t)(on - text), " Pid ", &d.pid);
  at = on + strlen(" on ");
  if (!nccl_next_word(&at, end, &host))
    return;
  device = find(at, (size_t)(end - at), " device ");
  if (!device ||
      !integer_behind(device, (size_t)(end - device), " device ", &d.index))
    return;
  at = memchr(device, '[', (size_t)(end - device));
  if (!at || !nccl_next_word(&at, end, &bus) || bus.len < 3 ||
      bus.text[bus.len - 1] != ']' ||
      !nccl_set_word(d.bus, bus.text + 1, bus.len - 2))
    return;
  nccl_trim(&at, &end);
  nccl_add_device(r, run, &d, host.text, host.len, at, (size_t)(end - at),
                  line);
}

static void read_out_of_bounds(struct nccl_run *run, const char *text,
                               size_t len, uint64_t line)
{
  struct nccl_word count, status;
  size_t rest;
  const char *at = behind(text, len, ":", &rest);
  const char *end = at ? at + rest : NULL;
  int64_t value;

  if (!at || !nccl_next_word(&at, end, &count) ||
      !nccl_next_word(&at, end, &status) ||
      !aicr_parse_int64(count.text, count.len, &value) || value < 0 ||
      !(nccl_word_is(&status, "OK") || nccl_word_is(&status, "FAILED")))
    return;
  if (run->footers++ > 0) {
    nccl_warn(&run->warnings, NCCL_INTERLEAVED_RUNS, line);
    return;
  }
  run->has_oob = true;
  run->oob_count = value;
  run->oob_ok = nccl_word_is(&status, "OK");
}

static void read_average(struct nccl_run *run, const char *text, size_t len)
{
  struct nccl_word w, status;
  size_t rest;
  const char *at = behind(text, len, ":", &rest);
  const char *end = at ? at + rest : NULL;
  double value, half;

  if (run->has_average || !at || !nccl_next_word(&at, end, &w) ||
      !nccl_decimal(w.text, w.len, &value, &half))
    return;
  run->has_average = true;
  run->average = value;
  if (nccl_next_word(&at, end, &status)) {
    run->bw_ok = nccl_word_is(&status, "OK");
    run->has_bw_status = run->bw_ok || nccl_word_is(&status, "FAILED");
  }
}

void nccl_comment_read(struct nccl_result *r, struct nccl_run *run,
                       enum nccl_comment kind, const char *text, size_t len,
                       const struct nccl_line *line)
{
  int64_t value;
  size_t rest;
  const char *said;

  if (kind == NCCL_CONCLUDED)
    run->concluded = true;
  if (kind == NCCL_ERROR_TEXT) {
    said = behind(text, len, "error:", &rest);
    if (said)
      nccl_last_error(r, run, said, rest, line->number);
  }
  if (!line->ended)
    return;
  if (kind == NCCL_VERSION)
    read_version(run, text, len);
  else if (kind == NCCL_STARTING)
    read_op(run, text, len);
  else if (kind == NCCL_PARAMETERS)
    read_parameters(run, text, len);
  else if (kind == NCCL_RANK)
    read_rank(r, run, text, len, line->number);
  else if (kind == NCCL_REDUCING &&
           integer_behind(text, len, "maxBytes to ", &value))
    set_param(run, NCCL_MAX_BYTES_REDUCED, value);
  else if (kind == NCCL_OUT_OF_BOUNDS)
    read_out_of_bounds(run, text, len, line->number);
  else if (kind == NCCL_AVERAGE)
    read_average(run, text, len);
}

/* Where the word begins that ends right before p. */
static size_t word_before(const char *text, const char *p)
{
  while (p > text && !nccl_is_blank(p[-1]))
    p--;
  return (size_t)(p - text);
}

bool nccl_is_failure(const char *text, size_t len, size_t *from)
{
  static const char *const parts[] = {
      ": Test NCCL failure ", ": Test CUDA failure ", ": Test timeout ("};
  const char *p = text, *end = text + len;
  struct nccl_word first;

  *from = 0;
  if (!find(text, len, "Test ") || !nccl_next_word(&p, end, &first))
    return nccl_starts(text, len, "Invalid number of GPUs:");
  if (nccl_word_is(&first, "..") && find(text, len, ": Test failure "))
    return true;
  for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++) {
    p = find(text, len, parts[i]);
    if (!p)
      continue;
    *from = word_before(text, p);
    return true;
  }
  return false;
}

/* "common.cu:217", followed by `end`; *rest is what stands behind it. */
static char *read_place(struct nccl_result *r, const char *p, const char *end,
                        int64_t *at, const char **rest)
{
  struct nccl_word w;
  const char *colon = NULL;
  size_t n;

  *rest = p;
  if (!nccl_next_word(&p, end, &w))
    return NULL;
  for (size_t i = w.len; i > 0 && !colon; i--)
    if (w.text[i - 1] == ':')
      colon = w.text + i - 1;
  if (!colon)
    return NULL;
  n = w.len - (size_t)(colon + 1 - w.text);
  if (n == 0 || !aicr_parse_int64(colon + 1, n, at))
    return NULL;
  *rest = p;
  return nccl_copy(r, w.text, (size_t)(colon - w.text));
}

static void read_frame(struct nccl_result *r, struct nccl_run *run,
                       const char *text, size_t len, uint64_t line)
{
  struct nccl_frame f = {.line = line};
  struct nccl_word host;
  const char *at = text, *end = text + len, *rest;
  size_t n;
  const char *place = behind(text, len, ": Test failure ", &n);

  if (nccl_next_word(&at, end, &host) && nccl_word_is(&host, ".."))
    nccl_next_word(&at, end, &host);
  if (!place || !integer_behind(text, len, " pid ", &f.pid))
    return;
  f.file = read_place(r, place, place + n, &f.at, &rest);
  if (!f.file)
    return;
  f.host = nccl_copy(r, host.text, host.len);
  nccl_add_frame(r, run, &f);
}

/* The quoted text "'A / B'": B is what NCCL itself said last. */
static void read_quoted(struct nccl_result *r, struct nccl_failure *f,
                        const char *p, const char *end)
{
  const char *slash;

  while (p < end && (nccl_is_blank(*p) || *p == '\''))
    p++;
  while (end > p && (nccl_is_blank(end[-1]) || end[-1] == '\''))
    end--;
  slash =
      f->kind == NCCL_FAILED_NCCL ? find(p, (size_t)(end - p), " / ") : NULL;
  f->text = nccl_copy(r, p, (size_t)((slash ? slash : end) - p));
  if (slash && slash + 3 < end)
    f->last_error = nccl_copy(r, slash + 3, (size_t)(end - slash - 3));
}

void nccl_failure_read(struct nccl_result *r, struct nccl_run *run,
                       const char *text, size_t len, uint64_t line)
{
  static const struct {
    const char *part;
    enum nccl_failure_kind kind;
  } kinds[] = {{": Test NCCL failure ", NCCL_FAILED_NCCL},
               {": Test CUDA failure ", NCCL_FAILED_CUDA},
               {": Test timeout (", NCCL_FAILED_TIMEOUT}};
  struct nccl_failure f = {.line = line, .kind = NCCL_FAILED_GPUS};
  const char *end = text + len, *p = NULL, *rest;

  if (nccl_starts(text, len, "Invalid number of GPUs:")) {
    f.text = nccl_copy(r, text, len);
    nccl_add_failure(r, run, &f);
    return;
  }
  for (size_t i = 0; i < 3 && !p; i++) {
    p = find(text, len, kinds[i].part);
    f.kind = kinds[i].kind;
    if (p && p > text)
      f.host = nccl_copy(r, text, (size_t)(p - text));
    if (p)
      p += strlen(kinds[i].part);
  }
  if (!p) {
    read_frame(r, run, text, len, line);
    return;
  }
  if (f.kind == NCCL_FAILED_TIMEOUT) {
    const char *close = memchr(p, ')', (size_t)(end - p));

    f.text = nccl_copy(r, p - strlen("timeout ("),
                       (size_t)((close ? close + 1 : end) - p) +
                           strlen("timeout ("));
    f.file = read_place(r, close ? close + 1 : end, end, &f.at, &rest);
  } else {
    f.file = read_place(r, p, end, &f.at, &rest);
    read_quoted(r, &f, rest, end);
  }
  nccl_add_failure(r, run, &f);
}

void nccl_last_error(struct nccl_result *r, struct nccl_run *run,
                     const char *text, size_t len, uint64_t line)
{
  struct nccl_failure f = {.line = line, .kind = NCCL_LAST_ERROR};

  if (len == 0)
    return;
  f.text = nccl_copy(r, text, len);
  nccl_add_failure(r, run, &f);
}
