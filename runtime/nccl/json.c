/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/json.h"

#include <math.h>
#include <string.h>

#include "core/json_reader.h"
#include "nccl/figure.h"
#include "nccl/table.h"

/* The text in work. Every function that reads a value gives false at the end
 * of what can be read. */
struct input {
  struct aicr_json_reader reader;
  struct nccl_result *result;
  struct nccl_run *run;
  const char *text, *end;
  bool in_string, escaped, finished, broken, has_program;
  enum aicr_json_token token;
};

/* Where the next bare word begins, or the end. */
static const char *next_bare_word(struct input *in)
{
  const char *p;

  for (p = in->text; p < in->end; p++) {
    if (in->escaped)
      in->escaped = false;
    else if (in->in_string && *p == '\\')
      in->escaped = true;
    else if (*p == '"')
      in->in_string = !in->in_string;
    else if (!in->in_string && (*p == 'i' || *p == 'n' || *p == '-') &&
             nccl_bare_word(p, in->end) > 0)
      break;
  }
  return p;
}

static void feed(struct input *in)
{
  const char *begin = in->text;
  size_t n = in->text < in->end && !in->in_string
                 ? nccl_bare_word(in->text, in->end)
                 : 0;

  if (n > 0) {
    /* Out of range is infinity here; nan is not known. */
    bool inf = memchr(in->text, 'f', n) != NULL;

    in->text += n;
    aicr_json_feed(&in->reader, inf ? "1e999" : "null", inf ? 5 : 4);
    return;
  }
  in->text = next_bare_word(in);
  if (in->text == begin) {
    in->finished = true;
    aicr_json_finish(&in->reader);
  } else
    aicr_json_feed(&in->reader, begin, (size_t)(in->text - begin));
}

/* The next token; false at the end and at an error. What comes only because
 * the input ended may be a part of something: only ends are taken then. */
static bool next(struct input *in)
{
  if (in->broken)
    return false;
  do {
    in->token = aicr_json_next(&in->reader);
    if (in->token == AICR_JSON_MORE)
      feed(in);
  } while (in->token == AICR_JSON_MORE);
  in->broken = in->token == AICR_JSON_ERROR || in->token == AICR_JSON_END ||
               (in->finished && in->token != AICR_JSON_OBJECT_END &&
                in->token != AICR_JSON_ARRAY_END);
  return !in->broken;
}

/* The rest of the value whose first token is the current one. */
static bool skip(struct input *in)
{
  unsigned depth = in->reader.depth;

  if (in->token != AICR_JSON_OBJECT_BEGIN && in->token != AICR_JSON_ARRAY_BEGIN)
    return true;
  while (next(in))
    if (in->reader.depth < depth)
      return true;
  return false;
}

struct member {
  const char *name;
  size_t offset;
  bool (*read)(struct input *in, void *out);
  bool is_list; /* read() is called for each item */
};

/* One that is named as its place in a struct of that type. */
#define AT(type, place) .name = #place, .offset = offsetof(struct type, place)

static const struct member *find_member(const struct member *members,
                                        const char *name, size_t len)
{
  for (; members->name; members++)
    if (strlen(members->name) == len && memcmp(members->name, name, len) == 0)
      return members;
  return NULL;
}

/* Reads the value whose first token is the current one to its place in *out. */
static bool read_member(struct input *in, const struct member *m, void *out)
{
  out = (char *)out + m->offset;
  if (!m->is_list)
    return m->read(in, out);
  if (in->token != AICR_JSON_ARRAY_BEGIN)
    return skip(in);
  while (next(in)) {
    if (in->token == AICR_JSON_ARRAY_END)
      return true;
    if (!m->read(in, out))
      return false;
  }
  return false;
}

/* Reads the object whose begin is the current token: members of the list are
 * read to their place in *out, others skipped. One that comes again is of
 * another run, and skipped too. True when it is whole. */
static bool read_object(struct input *in, const struct member *members,
                        void *out)
{
  uint32_t seen = 0;

  if (in->token != AICR_JSON_OBJECT_BEGIN)
    return skip(in);
  while (next(in)) {
    const struct member *m;
    uint32_t bit;

    if (in->token == AICR_JSON_OBJECT_END)
      return true;
    m = find_member(members, in->reader.text, in->reader.text_len);
    bit = m ? UINT32_C(1) << (m - members) : 0;
    if (seen & bit) {
      nccl_warn(&in->run->warnings, NCCL_INTERLEAVED_RUNS, 0);
      m = NULL;
    }
    seen |= bit;
    if (!next(in) || !(m ? read_member(in, m, out) : skip(in)))
      return false;
  }
  return false;
}

/* Scalars. A value of another kind is left out. */

struct integer {
  bool set;
  int64_t value;
};

struct figure {
  bool set, null;
  double value;
};

static bool read_integer(struct input *in, void *out)
{
  struct integer *i = out;

  if (in->token != AICR_JSON_INTEGER)
    return skip(in);
  i->set = true;
  i->value = in->reader.integer;
  return true;
}

static bool read_figure(struct input *in, void *out)
{
  struct figure *f = out;
  double half;

  f->null = in->token == AICR_JSON_NULL;
  f->set = true;
  if (in->token == AICR_JSON_INTEGER)
    f->value = (double)in->reader.integer;
  else if (in->token == AICR_JSON_DOUBLE)
    f->value = in->reader.number;
  else
    f->set =
        in->token == AICR_JSON_STRING &&
        nccl_decimal(in->reader.text, in->reader.text_len, &f->value, &half);
  return skip(in);
}

struct text {
  bool set;
  char value[NCCL_TAG_MAX];
};

/* One that is too long is left out. */
static bool read_text(struct input *in, void *out)
{
  struct text *t = out;
  size_t len = in->reader.text_len;

  if (in->token != AICR_JSON_STRING)
    return skip(in);
  if (len >= sizeof(t->value) || (len && memchr(in->reader.text, 0, len)))
    return true;
  t->set = true;
  if (len)
    memcpy(t->value, in->reader.text, len);
  t->value[len] = '\0';
  return true;
}

struct placement {
  struct figure time, cpu_time, alg_bw, bus_bw, nwrong;
  bool whole;
};

struct iterations {
  struct figure min_us, max_us, p99_us, cv_pct;
};

struct entry {
  struct integer size, count;
  struct text type, redop, root;
  struct placement out_of_place, in_place;
  struct iterations out_of_place_per_iter, in_place_per_iter;
};

static bool read_placement(struct input *in, void *out)
{
  static const struct member members[] = {
      {AT(placement, time), .read = read_figure},
      {AT(placement, cpu_time), .read = read_figure},
      {AT(placement, alg_bw), .read = read_figure},
      {AT(placement, bus_bw), .read = read_figure},
      {AT(placement, nwrong), .read = read_figure},
      {.name = NULL}};
  struct placement *p = out;

  if (!read_object(in, members, p))
    return false;
  p->whole = (p->time.set || p->cpu_time.set) && p->alg_bw.set &&
             p->bus_bw.set && (p->nwrong.set || p->nwrong.null);
  return true;
}

static bool read_iterations(struct input *in, void *out)
{
  static const struct member members[] = {
      {AT(iterations, min_us), .read = read_figure},
      {AT(iterations, max_us), .read = read_figure},
      {AT(iterations, p99_us), .read = read_figure},
      {AT(iterations, cv_pct), .read = read_figure},
      {.name = NULL}};

  return read_object(in, members, out);
}

/* How exact six decimals are. */
#define HALF 0.5e-6

static void set_placement(const struct placement *p, const struct iterations *i,
                          struct nccl_figures *f, double half[3])
{
  f->present = true;
  f->time_us = p->time.set ? p->time.value : p->cpu_time.value;
  f->algbw = p->alg_bw.value;
  f->busbw = p->bus_bw.value;
  half[0] = half[1] = half[2] = HALF;
  f->has_wrong = p->nwrong.set;
  if (f->has_wrong)
    f->wrong = p->nwrong.value < 0x1p63 ? (int64_t)p->nwrong.value : INT64_MAX;
  f->has_iterations =
      i->min_us.set && i->max_us.set && i->p99_us.set && i->cv_pct.set;
  f->i_min = i->min_us.value;
  f->i_max = i->max_us.value;
  f->i_p99 = i->p99_us.value;
  f->i_cv = i->cv_pct.value;
}

static bool is_wrong(const struct figure *f)
{
  return f->set && !(f->value >= 0 && f->value == floor(f->value));
}

/* The blanks before the root are printf's. */
static bool set_root(struct nccl_row *row, const char *text)
{
  const char *at = text;
  struct nccl_word w;

  if (!nccl_next_word(&at, text + strlen(text), &w))
    return false;
  row->has_root = true;
  if (nccl_word_is(&w, "-1")) {
    row->root = -1;
    return true;
  }
  return nccl_whole(w.text, w.len, &row->root);
}

static bool is_row(const struct entry *e)
{
  return e->size.set && e->size.value >= 0 && e->count.set &&
         e->count.value >= 0 && e->type.set && e->out_of_place.whole &&
         !is_wrong(&e->out_of_place.nwrong) && !is_wrong(&e->in_place.nwrong);
}

static void add_entry(struct input *in, const struct entry *e)
{
  struct nccl_open_row open = {0};
  struct nccl_row *row = &open.row;
  enum nccl_warning why;

  if (!is_row(e) ||
      !nccl_set_word(row->type, e->type.value, strlen(e->type.value)) ||
      !nccl_set_word(row->redop, e->redop.value, strlen(e->redop.value)) ||
      (e->root.set && !set_root(row, e->root.value))) {
    nccl_warn(&in->run->warnings, NCCL_CUT_ROW, 0);
    return;
  }
  row->size = e->size.value;
  row->count = e->count.value;
  row->has_redop = e->redop.set;
  set_placement(&e->out_of_place, &e->out_of_place_per_iter, &row->oop,
                open.half[0]);
  if (e->in_place.whole)
    set_placement(&e->in_place, &e->in_place_per_iter, &row->ip, open.half[1]);
  row->truncated = !e->in_place.whole;
  in->run->cpu_time |= e->out_of_place.cpu_time.set;
  if (!nccl_row_agrees(&open, in->run->op, false, in->run->cpu_time,
                       in->run->group_ranks, &why)) {
    row->inconsistent = true;
    nccl_warn(&in->run->warnings, why, 0);
  }
  nccl_add_row(in->result, in->run, row);
}

static bool read_entry(struct input *in, void *out)
{
  static const struct member members[] = {
      {AT(entry, size), .read = read_integer},
      {AT(entry, count), .read = read_integer},
      {AT(entry, type), .read = read_text},
      {AT(entry, redop), .read = read_text},
      {AT(entry, root), .read = read_text},
      {AT(entry, out_of_place), .read = read_placement},
      {AT(entry, in_place), .read = read_placement},
      {AT(entry, out_of_place_per_iter), .read = read_iterations},
      {AT(entry, in_place_per_iter), .read = read_iterations},
      {.name = NULL}};
  struct entry e = {0};

  (void)out;
  if (in->token != AICR_JSON_OBJECT_BEGIN)
    return skip(in);
  if (!read_object(in, members, &e))
    return false;
  add_entry(in, &e);
  return true;
}

struct json_device {
  struct integer rank, group, pid, device;
  struct text hostname, device_hex, device_info;
};

static void add_device(struct input *in, const struct json_device *j)
{
  struct nccl_device d = {.rank = j->rank.value,
                          .group = j->group.value,
                          .has_group = j->group.set,
                          .pid = j->pid.value,
                          .has_pid = j->pid.set,
                          .index = j->device.value};

  if (!j->rank.set || j->rank.value < 0 || j->rank.value > INT32_MAX ||
      !j->hostname.set ||
      !nccl_set_word(d.bus, j->device_hex.value, strlen(j->device_hex.value)))
    return;
  nccl_add_device(in->result, in->run, &d, j->hostname.value,
                  strlen(j->hostname.value), j->device_info.value,
                  strlen(j->device_info.value), 0);
}

static bool read_device(struct input *in, void *out)
{
  static const struct member members[] = {
      {AT(json_device, rank), .read = read_integer},
      {AT(json_device, group), .read = read_integer},
      {AT(json_device, pid), .read = read_integer},
      {AT(json_device, device), .read = read_integer},
      {AT(json_device, hostname), .read = read_text},
      {AT(json_device, device_hex), .read = read_text},
      {AT(json_device, device_info), .read = read_text},
      {.name = NULL}};
  struct json_device d = {0};

  (void)out;
  if (!read_object(in, members, &d))
    return false;
  add_device(in, &d);
  return true;
}

static bool read_config(struct input *in, void *out)
{
  struct integer values[NCCL_PARAM_COUNT] = {{0}};
#define PARAM(text, param)                                                     \
  .name = (text), .offset = sizeof(struct integer) * (param),                  \
  .read = read_integer
  static const struct member members[] = {
      {PARAM("nthreads", NCCL_THREADS)},
      {PARAM("ngpus", NCCL_GPUS)},
      {PARAM("minimum_bytes", NCCL_MIN_BYTES)},
      {PARAM("maximum_bytes", NCCL_MAX_BYTES)},
      {PARAM("step_factor", NCCL_STEP_FACTOR)},
      {PARAM("step_bytes", NCCL_STEP_BYTES)},
      {PARAM("warmup_iters", NCCL_WARMUP_ITERS)},
      {PARAM("iterations", NCCL_ITERS)},
      {PARAM("aggregated_iterations", NCCL_AGG_ITERS)},
      {PARAM("validation", NCCL_VALIDATION)},
      {PARAM("graph", NCCL_GRAPH)},
      {PARAM("unalign", NCCL_UNALIGN)},
      {.name = "devices", .read = read_device, .is_list = true},
      {.name = NULL}};
#undef PARAM
  bool whole = read_object(in, members, values);

  (void)out;
  for (int p = 0; p < NCCL_PARAM_COUNT; p++) {
    in->run->has_param[p] = values[p].set && values[p].value >= 0;
    in->run->params[p] = values[p].value;
  }
  nccl_count_all_ranks(in->run);
  return whole;
}

struct out_of_bounds {
  struct integer count;
  struct text okay;
};

static bool read_out_of_bounds(struct input *in, void *out)
{
  static const struct member members[] = {
      {AT(out_of_bounds, count), .read = read_integer},
      {AT(out_of_bounds, okay), .read = read_text},
      {.name = NULL}};
  struct out_of_bounds o = {0};

  (void)out;
  if (!read_object(in, members, &o))
    return false;
  if (!o.count.set || o.count.value < 0 || !o.okay.set)
    return true;
  in->run->has_oob = true;
  in->run->footers++;
  in->run->oob_count = o.count.value;
  in->run->oob_ok = strcmp(o.okay.value, "true") == 0;
  return true;
}

struct average {
  struct figure bandwidth;
  struct text okay;
};

static bool read_average(struct input *in, void *out)
{
  static const struct member members[] = {
      {AT(average, bandwidth), .read = read_figure},
      {.name = "bandwidith",
       .offset = offsetof(struct average, bandwidth),
       .read = read_figure},
      {AT(average, okay), .read = read_text},
      {.name = NULL}};
  struct average a = {0};

  (void)out;
  if (!read_object(in, members, &a))
    return false;
  in->run->has_average = a.bandwidth.set;
  in->run->average = a.bandwidth.value;
  in->run->bw_ok = strcmp(a.okay.value, "true") == 0;
  in->run->has_bw_status = in->run->bw_ok || strcmp(a.okay.value, "false") == 0;
  return true;
}

static bool read_error(struct input *in, void *out)
{
  struct nccl_failure f = {.kind = NCCL_LAST_ERROR};

  (void)out;
  if (in->token != AICR_JSON_STRING || in->reader.text_len == 0)
    return skip(in);
  f.text = nccl_copy(in->result, in->reader.text, in->reader.text_len);
  nccl_add_failure(in->result, in->run, &f);
  return true;
}

/* The first argument is the program. */
static bool read_arg(struct input *in, void *out)
{
  (void)out;
  if (!in->has_program && in->token == AICR_JSON_STRING &&
      in->reader.text_len > 0)
    nccl_set_program(in->run, in->reader.text, in->reader.text_len);
  in->has_program = true;
  return skip(in);
}

static bool read_nccl_version(struct input *in, void *out)
{
  (void)out;
  if (in->token == AICR_JSON_INTEGER)
    nccl_version_text(in->reader.integer, in->run->nccl_version);
  return skip(in);
}

static const struct member top[] = {
    {.name = "args", .read = read_arg, .is_list = true},
    {.name = "nccl_version", .read = read_nccl_version},
    {.name = "config", .read = read_config},
    {.name = "results", .read = read_entry, .is_list = true},
    {.name = "out_of_bounds", .read = read_out_of_bounds},
    {.name = "average_bus_bandwidth", .read = read_average},
    {.name = "average_bus_bandwidith", .read = read_average},
    {.name = "errors", .read = read_error, .is_list = true},
    {.name = NULL}};

static bool read_all(struct input *in, struct aicr_error *err)
{
  char nothing = 0;

  if (!next(in)) {
    /* An empty file is one that was cut. */
    if (in->reader.offset == 0 && in->text == in->end && in->finished)
      nccl_warn(&in->run->warnings, NCCL_NOT_RECOVERED, 0);
    else
      return aicr_fail(err, AICR_INVALID_REQUEST, "malformed", "%s",
                       in->reader.error.message);
    return true;
  }
  if (in->token != AICR_JSON_OBJECT_BEGIN)
    return aicr_fail(err, AICR_INVALID_REQUEST, "malformed",
                     "the output of -J is an object, this text is none");
  if (!read_object(in, top, &nothing))
    nccl_warn(&in->run->warnings, NCCL_NOT_RECOVERED, 0);
  nccl_run_finish(in->run);
  return true;
}

bool nccl_json_read(const char *text, size_t len, struct nccl_result *r,
                    struct aicr_error *err)
{
  struct input in;
  bool good;

  nccl_result_init(r);
  if (len > NCCL_TEXT_MAX)
    return aicr_fail(err, AICR_INVALID_REQUEST, "too-large",
                     "the text has %zu bytes, over the %zu that are read", len,
                     NCCL_TEXT_MAX);
  memset(&in, 0, sizeof(in));
  in.result = r;
  in.text = text;
  in.end = text + len;
  in.run = nccl_add_run(r, 0);
  if (in.run) {
    in.run->format = NCCL_JSON;
    aicr_json_init(&in.reader, AICR_JSON_GO, AICR_JSON_DEPTH);
    good = read_all(&in, err);
    r->no_memory |= in.reader.scratch.no_memory;
    aicr_json_free(&in.reader);
    if (!r->no_memory && !good)
      return false;
  }
  r->bytes = len;
  if (r->no_memory)
    return aicr_fail(err, AICR_INTERNAL, "memory", "not enough memory");
  return true;
}
