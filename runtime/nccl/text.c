/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): memmem */
#include "nccl/text.h"

#include <string.h>

#include "nccl/comment.h"
#include "nccl/figure.h"
#include "nccl/table.h"

#define STREAMS_MAX 64

/* How far a run has come: a line of an earlier stage begins a new one. */
enum stage { NOTHING, VERSION, STARTING, PARAMETERS, RANKS, TABLE, FOOTER };

/* The lines with one tag: one process' output. */
struct stream {
  size_t tag_len;
  char tag[NCCL_TAG_MAX];
  struct nccl_run *run; /* NULL: none yet, or too many */
  struct nccl_columns columns;
  struct nccl_open_row row;
  bool in_table, said_last;
  size_t devices; /* when group_ranks was counted */
};

struct nccl_text {
  struct nccl_text_options options;
  struct nccl_result result;
  struct nccl_evidence *evidence; /* NULL unless options.debug */
  struct stream *streams[STREAMS_MAX];
  size_t stream_count;
  bool finished;
  bool goes_on; /* the next line is the rest of one that was too long */
  struct nccl_lines lines;
  char clean[NCCL_LINE_MAX], untagged[NCCL_LINE_MAX];
};

struct nccl_text *nccl_text_new(const struct nccl_text_options *options)
{
  struct nccl_text *t = aicr_calloc(1, sizeof(*t));

  if (!t)
    return NULL;
  t->options = *options;
  nccl_result_init(&t->result);
  nccl_lines_init(&t->lines);
  if (options->debug) {
    t->evidence = nccl_evidence_new();
    if (!t->evidence) {
      nccl_text_free(t);
      return NULL;
    }
  }
  return t;
}

void nccl_text_free(struct nccl_text *t)
{
  if (!t)
    return;
  for (size_t i = 0; i < t->stream_count; i++)
    aicr_free(t->streams[i]);
  nccl_evidence_free(t->evidence);
  nccl_result_free(&t->result);
  aicr_free(t);
}

static struct stream *find_stream(struct nccl_text *t,
                                  const struct nccl_origin *origin)
{
  for (size_t i = 0; i < t->stream_count; i++) {
    struct stream *s = t->streams[i];

    if (s->tag_len == origin->len &&
        memcmp(s->tag, origin->tag, origin->len) == 0)
      return s;
  }
  return NULL;
}

/* NULL when there are too many, or no memory. */
static struct stream *need_stream(struct nccl_text *t,
                                  const struct nccl_origin *origin,
                                  uint64_t line)
{
  struct stream *s = find_stream(t, origin);

  if (s)
    return s;
  if (t->stream_count == STREAMS_MAX) {
    nccl_warn(&t->result.warnings, NCCL_TOO_MANY_RUNS, line);
    return NULL;
  }
  s = aicr_calloc(1, sizeof(*s));
  if (!s) {
    t->result.no_memory = true;
    return NULL;
  }
  s->tag_len = origin->len;
  memcpy(s->tag, origin->tag, origin->len);
  t->streams[t->stream_count++] = s;
  return s;
}

/* The row ends where it is: whole, or with its end missing. */
static void end_row(struct nccl_text *t, struct stream *s, bool whole)
{
  struct nccl_run *run = s->run;
  struct nccl_row *row = &s->row.row;
  enum nccl_warning why;

  s->row.open = false;
  if (!run)
    return;
  if (!whole) {
    nccl_warn(&run->warnings, NCCL_CUT_ROW, row->line);
    if (!row->oop.present)
      return;
    if (!row->ip.present)
      memset(&row->ip, 0, sizeof(row->ip));
    row->truncated = true;
  }
  if (run->device_count != s->devices) {
    s->devices = run->device_count;
    run->group_ranks = nccl_group_ranks(run);
  }
  if (!nccl_row_agrees(&s->row, run->op, run->format == NCCL_LEGACY,
                       run->cpu_time, run->group_ranks, &why)) {
    row->inconsistent = true;
    nccl_warn(&run->warnings, why, row->line);
  }
  nccl_add_row(&t->result, run, row);
}

static void flush(struct nccl_text *t, struct stream *s)
{
  if (s->row.open)
    end_row(t, s, false);
}

static void begin_run(struct nccl_text *t, struct stream *s, uint64_t line)
{
  flush(t, s);
  s->in_table = s->said_last = false;
  s->devices = 0;
  s->run = nccl_add_run(&t->result, line);
  if (!s->run)
    return;
  memcpy(s->run->tag, s->tag, s->tag_len);
  s->run->op = t->options.op;
  if (s->run->op != NCCL_OP_UNKNOWN) {
    const char *name = nccl_op_name(s->run->op);

    nccl_set_word(s->run->op_name, name, strlen(name));
  }
}

/* The stream's run, a new one where this line cannot be of the last. */
static struct nccl_run *need_run(struct nccl_text *t, struct stream *s,
                                 enum stage stage, uint64_t line)
{
  bool again = false;

  if (s->run)
    again = stage == RANKS ? s->run->stage == FOOTER
                           : stage < FOOTER && s->run->stage >= stage;
  if (!s->run || again)
    begin_run(t, s, line);
  if (s->run && s->run->stage < stage)
    s->run->stage = stage;
  return s->run;
}

static void on_header(struct nccl_text *t, const struct nccl_origin *origin,
                      const struct nccl_columns *columns, uint64_t line)
{
  struct stream *s = need_stream(t, origin, line);
  struct nccl_run *run = s ? need_run(t, s, TABLE, line) : NULL;

  if (!run)
    return;
  run->cpu_time = columns->cpu_time;
  if (columns->count == 0) {
    run->format = NCCL_UNSUPPORTED;
    nccl_warn(&run->warnings, NCCL_UNSUPPORTED_FORMAT, line);
    return;
  }
  run->format = columns->legacy ? NCCL_LEGACY : NCCL_CURRENT;
  s->columns = *columns;
  s->in_table = true;
}

/* A line with '#'; the text is behind it. */
static void on_comment(struct nccl_text *t, const struct nccl_origin *origin,
                       const char *text, size_t len,
                       const struct nccl_line *line)
{
  static const enum stage stages[] = {
      [NCCL_VERSION] = VERSION,       [NCCL_STARTING] = STARTING,
      [NCCL_PARAMETERS] = PARAMETERS, [NCCL_RANK] = RANKS,
      [NCCL_REDUCING] = RANKS,        [NCCL_OUT_OF_BOUNDS] = FOOTER,
      [NCCL_AVERAGE] = FOOTER,        [NCCL_CONCLUDED] = FOOTER,
      [NCCL_ERROR_TEXT] = FOOTER};
  enum nccl_comment kind = nccl_comment_of(text, len);
  struct stream *s = find_stream(t, origin);
  struct nccl_columns columns = {0};
  struct nccl_run *run;

  if (s)
    flush(t, s);
  if (kind == NCCL_REMARK) {
    if (line->ended && (nccl_columns_read(text, len, &columns) ||
                        nccl_is_old_header(text, len)))
      on_header(t, origin, &columns, line->number);
    return;
  }
  if (!s)
    s = need_stream(t, origin, line->number);
  run = s ? need_run(t, s, stages[kind], line->number) : NULL;
  if (!run)
    return;
  if (stages[kind] == FOOTER)
    s->in_table = false;
  nccl_comment_read(&t->result, run, kind, text, len, line);
}

/* A row's beginning or its rest. */
static void on_piece(struct nccl_text *t, struct stream *s, const char *text,
                     size_t len, bool ended, uint64_t line)
{
  bool begins = nccl_begins_row(text, len);
  enum nccl_piece piece;

  if (begins)
    flush(t, s);
  else if (!nccl_continues_row(&s->columns, &s->row, text, len))
    return;
  piece = nccl_row_add(&s->columns, &s->row, text, len, ended, line);
  if (piece == NCCL_WHOLE)
    end_row(t, s, true);
  else if (piece == NCCL_DAMAGED)
    end_row(t, s, false);
  else if (piece == NCCL_NO_ROW && s->run)
    nccl_warn(&s->run->warnings, NCCL_CUT_ROW, line);
}

/* A row without a header: as the newest releases print it, never whole. */
static void on_headless(struct nccl_text *t, const struct nccl_origin *origin,
                        const struct nccl_line *line)
{
  struct nccl_columns usual;
  struct nccl_open_row row = {0};
  struct stream *s;

  if (line->number == 1 && !nccl_is_blank(line->text[0]))
    return;
  nccl_columns_usual(&usual);
  if (!nccl_begins_row(line->text, line->len) ||
      nccl_row_add(&usual, &row, line->text, line->len, line->ended,
                   line->number) != NCCL_WHOLE)
    return;
  s = need_stream(t, origin, line->number);
  if (!s)
    return;
  if (!s->run)
    begin_run(t, s, line->number);
  if (!s->run || s->run->format != NCCL_NO_FORMAT)
    return;
  row.row.truncated = true;
  nccl_add_row(&t->result, s->run, &row.row);
}

/* Where a host's name begins that ends at `end`, in the word that begins at
 * `word` and may have a row's last figure glued before it. */
static const char *host_begin(const struct nccl_text *t, const struct stream *s,
                              const char *line, const char *word,
                              const char *end)
{
  const struct nccl_run *run = s ? s->run : NULL;
  const char *best = NULL, *p = line;

  if (!run && t->result.run_count > 0)
    run = t->result.runs[t->result.run_count - 1];
  for (size_t i = 0; run && i < run->host_count; i++) {
    size_t len = strlen(run->hosts[i]), left;

    if (len > (size_t)(end - word) ||
        memcmp(end - len, run->hosts[i], len) != 0)
      continue;
    left = (size_t)(end - word) - len;
    if (nccl_glued(word, left) == left && (!best || word + left < best))
      best = word + left;
  }
  if (best)
    return best;
  while (p < word && nccl_is_blank(*p))
    p++;
  if (p == word)
    return word;
  return word + nccl_glued(word, (size_t)(end - word));
}

/* The end of a row's piece without a time stamp of NCCL's behind it. */
static size_t without_stamp(const char *text, size_t len)
{
  size_t n = len;

  while (n && nccl_is_blank(text[n - 1]))
    n--;
  if (n && text[n - 1] == ']') {
    for (size_t i = n; i > 0 && n - i < 48; i--)
      if (text[i - 1] == '[')
        return n - i > 10 && nccl_is_date(text + i, 10) ? i - 1 : len;
    return len;
  }
  for (size_t i = n; i >= 11 && n - i < 40 && !nccl_is_blank(text[i - 1]); i--)
    if (text[i - 1] == 'T' && nccl_is_date(text + i - 11, 10))
      return i - 11;
  return len;
}

/* In a line with " NCCL " at `at`: where the word "host:pid:tid" begins, and
 * its host ends; false when no word before is one. */
static bool find_log_word(const char *text, const char *at, const char **word,
                          const char **host_end)
{
  const char *end = at;

  for (int i = 0; i < 6 && end > text; i++) {
    const char *p = end, *w;
    int groups = 0;

    while (p > text && !nccl_is_blank(p[-1]))
      p--;
    w = p;
    for (p = end; groups < 2 && p > w; groups++) {
      const char *d = p;

      while (d > w && nccl_is_digit(d[-1]))
        d--;
      if (d == p || d == w || d[-1] != ':')
        break;
      p = d - 1;
    }
    if (groups == 2 && p > w) {
      *word = w;
      *host_end = p;
      return true;
    }
    end = w;
    while (end > text && nccl_is_blank(end[-1]))
      end--;
  }
  return false;
}

/* " NCCL LEVEL " in a line, NULL without. */
static const char *find_level(const char *text, size_t len)
{
  static const char *const levels[] = {"INFO ", "WARN ", "TRACE ", "CALL "};
  const char *p = text, *end = text + len;

  while (p < end) {
    p = memmem(p, (size_t)(end - p), " NCCL ", 6);
    if (!p)
      return NULL;
    for (size_t i = 0; i < 4; i++)
      if (nccl_starts(p + 6, (size_t)(end - p) - 6, levels[i]))
        return p;
    p += 6;
  }
  return NULL;
}

/* A line with NCCL's own text. What stands before it may be a row's piece.
 * False when it is none. */
static bool on_log(struct nccl_text *t, struct stream *s,
                   const struct nccl_line *line)
{
  const char *level = find_level(line->text, line->len);
  const char *word, *host_end, *host;
  size_t head;

  if (!level || !find_log_word(line->text, level, &word, &host_end))
    return false;
  host = host_begin(t, s, line->text, word, host_end);
  head = without_stamp(line->text, (size_t)(host - line->text));
  if (t->evidence)
    nccl_evidence_add(t->evidence, line->text + head, line->len - head);
  if (s && s->in_table && head > 0)
    on_piece(t, s, line->text, head, true, line->number);
  return true;
}

static void on_failure(struct nccl_text *t, const struct nccl_origin *origin,
                       const struct nccl_line *line, size_t from)
{
  struct stream *s = find_stream(t, origin);
  const char *word = line->text + from, *end = line->text + line->len;
  const char *colon = memmem(word, (size_t)(end - word), ": Test ", 7);
  struct nccl_run *run = s ? s->run : NULL;

  if (from > 0 && colon) {
    const char *host = host_begin(t, s, line->text, word, colon);

    if (s && s->in_table)
      on_piece(t, s, line->text, (size_t)(host - line->text), true,
               line->number);
    word = host;
  }
  if (!run && t->result.run_count > 0)
    run = t->result.runs[t->result.run_count - 1];
  if (!run) {
    s = need_stream(t, origin, line->number);
    run = s ? need_run(t, s, NOTHING, line->number) : NULL;
  }
  if (run)
    nccl_failure_read(&t->result, run, word, (size_t)(end - word),
                      line->number);
}

/* Text that is no row, no comment and no error. */
static void on_other(struct nccl_text *t, struct stream *s,
                     const struct nccl_line *line)
{
  struct nccl_run *run = s ? s->run : NULL;
  const char *p = line->text;

  if (t->evidence)
    nccl_evidence_add(t->evidence, p, line->len);
  if (nccl_starts(p, line->len, "invalid type ") ||
      nccl_starts(p, line->len, "invalid op "))
    nccl_warn(&t->result.warnings, NCCL_TYPE_DEFAULTED, line->number);
  if (!run || nccl_is_blank(p[0]))
    return;
  if (nccl_starts(p, line->len, "nRanks ") &&
      memmem(p, line->len, "skipping", 8))
    nccl_warn(&run->warnings, NCCL_SKIPPED, line->number);
  else if (nccl_starts(p, line->len, "NCCL version ")) {
    size_t n = 13;

    while (n < line->len && (nccl_is_digit(p[n]) || p[n] == '.'))
      n++;
    if (!run->nccl_version[0])
      nccl_set_word(run->nccl_version, p + 13, n - 13);
  } else if (run->stage == FOOTER && run->has_average &&
             !run->tool_version[0] && !s->said_last) {
    /* Up to 2.17.2 NCCL's last error stands there without a '#'. */
    s->said_last = true;
    nccl_last_error(&t->result, run, p, line->len, line->number);
  }
}

/* Open MPI repeats its tag inside a line where its reads were cut. */
static void untag(struct nccl_text *t, struct nccl_line *line,
                  const struct nccl_origin *origin)
{
  static const char mark[] = "<stdout>:";
  char needle[NCCL_TAG_MAX + sizeof(mark)];
  size_t begin = origin->len, n, kept = 0;
  const char *at = line->text, *end = line->text + line->len, *p;

  while (begin > 0 && origin->tag[begin - 1] != '[')
    begin--;
  if (begin == 0 || origin->tag[origin->len - 1] != ']')
    return;
  n = origin->len - begin + 1;
  memcpy(needle, origin->tag + begin - 1, n);
  memcpy(needle + n, mark, sizeof(mark));
  n += sizeof(mark) - 1;
  p = memmem(at, line->len, needle, n);
  if (!p)
    return;
  for (; p; p = memmem(at, (size_t)(end - at), needle, n)) {
    memcpy(t->untagged + kept, at, (size_t)(p - at));
    kept += (size_t)(p - at);
    at = p + n;
  }
  memcpy(t->untagged + kept, at, (size_t)(end - at));
  line->text = t->untagged;
  line->len = kept + (size_t)(end - at);
}

static void read_line(struct nccl_text *t, struct nccl_line *line)
{
  struct nccl_origin origin;
  struct stream *s;
  size_t from;
  bool rest = t->goes_on;

  nccl_clean(line, t->clean);
  nccl_strip(line, &origin);
  t->goes_on = line->partial;
  line->ended &= !line->partial;
  if (rest)
    return;
  if (origin.len > 0)
    untag(t, line, &origin);
  if (line->len == 0)
    return;
  if (line->text[0] == '#') {
    on_comment(t, &origin, line->text + 1, line->len - 1, line);
    return;
  }
  s = find_stream(t, &origin);
  if (on_log(t, s, line))
    return;
  if (nccl_is_failure(line->text, line->len, &from))
    on_failure(t, &origin, line, from);
  else if (s && s->in_table &&
           (nccl_begins_row(line->text, line->len) ||
            nccl_continues_row(&s->columns, &s->row, line->text, line->len)))
    on_piece(t, s, line->text, line->len, line->ended, line->number);
  else if (t->options.lenient && !(s && s->in_table))
    on_headless(t, &origin, line);
  else
    on_other(t, s, line);
}

/* Most of a log is whole lines of NCCL, which need no more than a look at
 * their first words. */
static void on_line(void *arg, const struct nccl_line *raw)
{
  struct nccl_text *t = arg;
  struct nccl_line line = *raw;
  size_t head;

  if (line.len == 0)
    return;
  if (line.text[0] == '[' || nccl_is_digit(line.text[0]))
    nccl_strip(&line, NULL);
  head = nccl_log_head(line.text, line.len);
  if (head > 0 && !line.partial && !t->goes_on) {
    const char *p = line.text + head + 1, *end = line.text + line.len;

    if (p < end && *p == '[') {
      const char *blank = memchr(p, ' ', (size_t)(end - p));

      p = blank ? blank + 1 : end;
    }
    if (nccl_starts(p, (size_t)(end - p), "NCCL INFO ")) {
      if (t->evidence)
        nccl_evidence_add(t->evidence, line.text, line.len);
      return;
    }
  }
  line = *raw;
  read_line(t, &line);
}

void nccl_text_feed(struct nccl_text *t, const char *data, size_t len)
{
  if (!t->finished)
    nccl_lines_feed(&t->lines, data, len, on_line, t);
}

const struct nccl_result *nccl_text_finish(struct nccl_text *t)
{
  struct nccl_result *r = &t->result;

  if (!t->finished) {
    t->finished = true;
    nccl_lines_finish(&t->lines, on_line, t);
    for (size_t i = 0; i < t->stream_count; i++)
      flush(t, t->streams[i]);
    for (size_t i = 0; i < r->run_count; i++)
      nccl_run_finish(r->runs[i]);
    r->bytes = t->lines.bytes;
    r->lines = t->lines.count;
    r->long_lines = t->lines.long_count;
    if (r->long_lines > 0) {
      nccl_warn(&r->warnings, NCCL_LINE_TOO_LONG, t->lines.long_line);
      r->warnings.of[NCCL_LINE_TOO_LONG].count = r->long_lines;
    }
    if (t->evidence)
      nccl_evidence_finish(t->evidence);
  }
  if (r->no_memory)
    return NULL;
  return r;
}

const struct nccl_evidence *nccl_text_evidence(const struct nccl_text *t)
{
  return t->evidence;
}
