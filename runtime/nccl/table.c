/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/table.h"

#include <math.h>
#include <string.h>

#include "core/number.h"

static const struct {
  const char *name;
  enum nccl_field field;
} names[] = {
    {"size", NCCL_SIZE},      {"count", NCCL_COUNT}, {"type", NCCL_TYPE},
    {"redop", NCCL_REDOP},    {"root", NCCL_ROOT},   {"time", NCCL_TIME},
    {"cputime", NCCL_TIME},   {"algbw", NCCL_ALGBW}, {"busbw", NCCL_BUSBW},
    {"#wrong", NCCL_WRONG},   {"error", NCCL_ERROR}, {"i_min", NCCL_I_MIN},
    {"i_max", NCCL_I_MAX},    {"i_p99", NCCL_I_P99}, {"i_cv%", NCCL_I_CV},
    {"timestamp", NCCL_DATE},
};

static enum nccl_field field_of(const struct nccl_word *word)
{
  for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
    if (nccl_word_is(word, names[i].name))
      return names[i].field;
  return NCCL_OTHER;
}

static bool add_column(struct nccl_columns *c, enum nccl_field field,
                       bool in_place)
{
  if (c->count == NCCL_COLUMNS_MAX)
    return false;
  c->of[c->count].field = field;
  c->of[c->count].in_place = in_place;
  c->of[c->count].stop = false;
  c->count++;
  return true;
}

/* How often a field stands in a placement. */
static unsigned times(const struct nccl_columns *c, enum nccl_field field,
                      bool in_place)
{
  unsigned n = 0;

  for (unsigned i = 0; i < c->count; i++)
    n += c->of[i].field == field && c->of[i].in_place == in_place;
  return n;
}

/* Each column that is needed stands there once, in an order that we know. */
static bool columns_are_sound(const struct nccl_columns *c)
{
  static const enum nccl_field figures[] = {NCCL_TIME, NCCL_ALGBW, NCCL_BUSBW};

  if (c->count < 7 || c->of[0].field != NCCL_SIZE ||
      c->of[1].field != NCCL_COUNT || c->of[2].field != NCCL_TYPE)
    return false;
  for (int ip = 0; ip <= (c->in_place ? 1 : 0); ip++) {
    for (size_t i = 0; i < 3; i++)
      if (times(c, figures[i], ip) != 1)
        return false;
    if (times(c, c->legacy ? NCCL_ERROR : NCCL_WRONG, ip) != 1 ||
        times(c, c->legacy ? NCCL_WRONG : NCCL_ERROR, ip) != 0)
      return false;
    for (int f = NCCL_I_MIN; f <= NCCL_I_CV; f++)
      if (times(c, (enum nccl_field)f, ip) > 1)
        return false;
  }
  for (int f = NCCL_SIZE; f <= NCCL_ROOT; f++)
    if (times(c, (enum nccl_field)f, false) > 1 ||
        times(c, (enum nccl_field)f, true) > 0)
      return false;
  return times(c, NCCL_DATE, false) + times(c, NCCL_DATE, true) <= 1;
}

static void mark_stops(struct nccl_columns *c)
{
  for (unsigned i = 0; i < c->count; i++) {
    enum nccl_field next = i + 1 < c->count ? c->of[i + 1].field : NCCL_TIME;

    c->of[i].stop = next == NCCL_TIME || next == NCCL_DATE ||
                    c->of[i].field == NCCL_WRONG ||
                    c->of[i].field == NCCL_ERROR;
    /* An operation that is the last word before the figures may be blank. */
    if (next == NCCL_REDOP && i + 2 < c->count &&
        c->of[i + 2].field == NCCL_TIME)
      c->of[i].stop = true;
  }
}

bool nccl_columns_read(const char *text, size_t len, struct nccl_columns *out)
{
  const char *at = text, *end = text + len;
  struct nccl_word word;
  unsigned placements = 0;

  memset(out, 0, sizeof(*out));
  while (nccl_next_word(&at, end, &word)) {
    enum nccl_field field = field_of(&word);

    if (field == NCCL_TIME) {
      if (++placements > 2)
        return false;
      out->cpu_time = nccl_word_is(&word, "cputime");
    }
    out->legacy |= field == NCCL_ERROR;
    out->has_redop |= field == NCCL_REDOP;
    out->has_root |= field == NCCL_ROOT;
    if (!add_column(out, field, placements > 1) ||
        (field == NCCL_DATE && !add_column(out, NCCL_CLOCK, placements > 1)))
      return false;
  }
  out->in_place = placements > 1;
  if (placements == 0 || !columns_are_sound(out)) {
    out->count = 0;
    return false;
  }
  mark_stops(out);
  return true;
}

bool nccl_is_old_header(const char *text, size_t len)
{
  const char *at = text, *end = text + len;
  struct nccl_word word;

  if (!nccl_next_word(&at, end, &word) || !nccl_word_is(&word, "bytes") ||
      !nccl_next_word(&at, end, &word) || !nccl_word_is(&word, "N"))
    return false;
  while (nccl_next_word(&at, end, &word))
    if (nccl_word_is(&word, "busbw"))
      return true;
  return false;
}

void nccl_columns_usual(struct nccl_columns *out)
{
  static const char usual[] = "size count type redop root time algbw busbw "
                              "#wrong time algbw busbw #wrong";

  nccl_columns_read(usual, sizeof(usual) - 1, out);
}

static bool is_type(const struct nccl_word *w)
{
  if (w->len >= NCCL_WORD_MAX || w->text[0] < 'a' || w->text[0] > 'z')
    return false;
  for (size_t i = 0; i < w->len; i++) {
    char c = w->text[i];

    if (!(c >= 'a' && c <= 'z') && !nccl_is_digit(c) && c != '_')
      return false;
  }
  return !nccl_word_is(w, "inf") && !nccl_word_is(w, "nan");
}

static bool is_integer(const struct nccl_word *w)
{
  for (size_t i = 0; i < w->len; i++)
    if (!nccl_is_digit(w->text[i]))
      return false;
  return w->len > 0;
}

bool nccl_begins_row(const char *text, size_t len)
{
  const char *at = text, *end = text + len;
  struct nccl_word word;

  return nccl_next_word(&at, end, &word) && is_integer(&word) &&
         nccl_next_word(&at, end, &word) && is_integer(&word) &&
         nccl_next_word(&at, end, &word) && is_type(&word);
}

static bool set_integer(const struct nccl_word *w, bool negative, int64_t *out)
{
  if (negative && nccl_word_is(w, "-1")) {
    *out = -1;
    return true;
  }
  return is_integer(w) && aicr_parse_int64(w->text, w->len, out);
}

static bool set_figure(const struct nccl_word *w, double *value, double *half)
{
  return nccl_decimal(w->text, w->len, value, half);
}

/* #wrong or the error: the last of the four figures of a placement. */
static bool set_check(const struct nccl_word *w, bool legacy,
                      struct nccl_figures *f)
{
  double half;

  f->has_wrong = f->has_error = false;
  if (nccl_word_is(w, "N/A")) {
    f->present = true;
    return true;
  }
  if (legacy)
    f->has_error = f->present = set_figure(w, &f->max_error, &half);
  else
    f->has_wrong = f->present = nccl_whole(w->text, w->len, &f->wrong);
  return f->present;
}

static bool set_clock(struct nccl_row *row, const struct nccl_word *w)
{
  size_t n = strlen(row->timestamp);

  if (!nccl_is_time(w->text, w->len) || n + 1 + w->len >= NCCL_WORD_MAX)
    return false;
  row->timestamp[n] = ' ';
  memcpy(row->timestamp + n + 1, w->text, w->len);
  row->timestamp[n + 1 + w->len] = '\0';
  return true;
}

/* Puts a word into the column; false when it cannot stand there. */
static bool put(const struct nccl_columns *c, struct nccl_open_row *r,
                unsigned at, const struct nccl_word *w)
{
  bool ip = c->of[at].in_place;
  struct nccl_row *row = &r->row;
  struct nccl_figures *f = ip ? &row->ip : &row->oop;
  double unused;

  switch (c->of[at].field) {
  case NCCL_SIZE:
    return set_integer(w, false, &row->size);
  case NCCL_COUNT:
    return set_integer(w, false, &row->count);
  case NCCL_TYPE:
    return is_type(w) && nccl_set_word(row->type, w->text, w->len);
  case NCCL_REDOP:
    row->has_redop = true;
    return is_type(w) && nccl_set_word(row->redop, w->text, w->len);
  case NCCL_ROOT:
    row->has_root = true;
    return set_integer(w, true, &row->root);
  case NCCL_TIME:
    return set_figure(w, &f->time_us, &r->half[ip][0]);
  case NCCL_ALGBW:
    return set_figure(w, &f->algbw, &r->half[ip][1]);
  case NCCL_BUSBW:
    return set_figure(w, &f->busbw, &r->half[ip][2]);
  case NCCL_WRONG:
  case NCCL_ERROR:
    return set_check(w, c->legacy, f);
  case NCCL_I_MIN:
    return set_figure(w, &f->i_min, &unused);
  case NCCL_I_MAX:
    return set_figure(w, &f->i_max, &unused);
  case NCCL_I_P99:
    return set_figure(w, &f->i_p99, &unused);
  case NCCL_I_CV:
    f->has_iterations = set_figure(w, &f->i_cv, &unused);
    return f->has_iterations;
  case NCCL_DATE:
    return nccl_is_date(w->text, w->len) &&
           nccl_set_word(row->timestamp, w->text, w->len);
  case NCCL_CLOCK:
    return set_clock(row, w);
  case NCCL_OTHER:
  default:
    return true;
  }
}

/* Is the operation left out before that word? Then a figure or the root comes
 * in its place (rule 4). */
static bool is_blank_redop(const struct nccl_columns *c, unsigned at,
                           const struct nccl_word *w)
{
  return c->of[at].field == NCCL_REDOP && at + 1 < c->count && !is_type(w) &&
         (nccl_glued(w->text, w->len) > 0 || nccl_word_is(w, "inf") ||
          nccl_word_is(w, "nan") || nccl_word_is(w, "-nan"));
}

bool nccl_continues_row(const struct nccl_columns *columns,
                        const struct nccl_open_row *row, const char *text,
                        size_t len)
{
  const char *at = text;
  struct nccl_word word;
  struct nccl_open_row trial;

  if (!row->open || row->at >= columns->count ||
      !nccl_next_word(&at, text + len, &word))
    return false;
  trial = *row;
  if (is_blank_redop(columns, row->at, &word))
    trial.at++;
  return put(columns, &trial, trial.at, &word);
}

/* A figure in the column and other text behind it: the figure, then the end of
 * the piece. */
static bool put_glued(const struct nccl_columns *c, struct nccl_open_row *r,
                      const struct nccl_word *w)
{
  struct nccl_word figure = {w->text, nccl_glued(w->text, w->len)};

  return c->of[r->at].stop && r->at + 1 < c->count && figure.len > 0 &&
         figure.len < w->len && put(c, r, r->at, &figure);
}

enum nccl_piece nccl_row_add(const struct nccl_columns *c,
                             struct nccl_open_row *r, const char *text,
                             size_t len, bool ended, uint64_t line)
{
  const char *at = text, *end = text + len;
  struct nccl_open_row before = *r, sure = *r;
  struct nccl_word word;

  if (!r->open) {
    memset(r, 0, sizeof(*r));
    r->row.line = line;
  }
  while (nccl_next_word(&at, end, &word)) {
    /* More words may have followed the last one. */
    if (r->at == c->count || (!ended && (at == end || r->at + 1 == c->count)))
      goto damaged;
    if (is_blank_redop(c, r->at, &word)) {
      r->row.has_redop = true;
      r->at++;
    }
    if (!put(c, r, r->at, &word)) {
      if (!put_glued(c, r, &word))
        goto damaged;
      r->at++;
      r->open = true;
      return NCCL_OPEN;
    }
    if (c->of[r->at++].stop) {
      r->open = true;
      sure = *r;
    }
  }
  if (r->open && r->at == c->count) {
    r->open = false;
    return NCCL_WHOLE;
  }
  if (r->open && sure.at == r->at)
    return NCCL_OPEN;
damaged:
  *r = sure;
  if (!r->open)
    return NCCL_NO_ROW;
  if (before.open && before.at == r->at)
    return NCCL_FOREIGN;
  r->open = false;
  return NCCL_DAMAGED;
}

struct interval {
  double low, high;
};

/* Not further apart than what the computation itself loses. */
static bool meet(struct interval a, struct interval b)
{
  return a.low <= b.high * (1 + 1e-9) + 1e-12 &&
         b.low <= a.high * (1 + 1e-9) + 1e-12;
}

static struct interval around(double value, double half)
{
  struct interval i = {value - half, value + half};

  if (i.low < 0)
    i.low = 0;
  return i;
}

static bool placement_agrees(const struct nccl_figures *f, const double half[3],
                             double bytes, double factor,
                             enum nccl_warning *why)
{
  struct interval t = around(f->time_us, half[0]);
  struct interval a = around(f->algbw, half[1]);
  struct interval b = around(f->busbw, half[2]);

  if (!isfinite(f->time_us) || !isfinite(f->algbw) || !isfinite(f->busbw))
    return true;
  if (bytes >= 0) {
    struct interval want = {t.high > 0 ? bytes / t.high / 1e3 : 0,
                            t.low > 0 ? bytes / t.low / 1e3 : INFINITY};

    *why = NCCL_INCONSISTENT_ROW;
    if (!meet(want, a))
      return false;
    a.low = fmax(a.low, want.low);
    a.high = fmin(a.high, want.high);
  }
  if (factor < 0)
    return true;
  *why = NCCL_RANK_COUNT_MISMATCH;
  a.low *= factor;
  a.high *= factor;
  return meet(a, b);
}

bool nccl_row_agrees(const struct nccl_open_row *r, enum nccl_op op,
                     bool legacy, bool cpu_time, int64_t ranks,
                     enum nccl_warning *why)
{
  const struct nccl_row *row = &r->row;
  double bytes = -1, factor = -1;
  bool shared = legacy && (op == NCCL_ALL_GATHER || op == NCCL_REDUCE_SCATTER);

  if (op == NCCL_OP_UNKNOWN || op == NCCL_ALLTOALLV || (shared && ranks < 1))
    return true;
  if (ranks > 0)
    factor = nccl_bus_factor(op, ranks);
  if (!cpu_time && (op != NCCL_HYPERCUBE || ranks > 0))
    bytes = nccl_alg_bytes(op, row->size, ranks);
  for (int ip = 0; ip <= 1; ip++) {
    const struct nccl_figures *f = ip ? &row->ip : &row->oop;
    enum nccl_warning unused;

    if (!f->present || placement_agrees(f, r->half[ip], bytes, factor, why))
      continue;
    /* 2.0.0 leaves the own block out and has no factor. */
    if (!shared || !placement_agrees(f, r->half[ip],
                                     (double)row->size * (double)(ranks - 1) /
                                         (double)ranks,
                                     1, &unused))
      return false;
  }
  return true;
}
