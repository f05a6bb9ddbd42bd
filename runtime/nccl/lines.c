/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/lines.h"

#include <string.h>

#include "nccl/figure.h"

void nccl_lines_init(struct nccl_lines *l)
{
  /* Not `hold`: it is large. */
  l->bytes = l->count = l->long_count = l->long_line = 0;
  l->held = 0;
  l->cut = false;
}

static void give(struct nccl_lines *l, const char *text, size_t len, bool ended,
                 nccl_line_fn fn, void *arg)
{
  struct nccl_line line = {text, len, ++l->count, ended && !l->cut, false};

  if (len > NCCL_LINE_MAX) {
    line.len = NCCL_LINE_MAX;
    line.ended = false;
    l->cut = true;
  }
  if (l->cut && l->long_count++ == 0)
    l->long_line = line.number;
  l->cut = false;
  fn(arg, &line);
}

static void hold(struct nccl_lines *l, const char *data, size_t len)
{
  size_t room = NCCL_LINE_MAX - l->held;

  if (len > room) {
    len = room;
    l->cut = true;
  }
  if (len)
    memcpy(l->hold + l->held, data, len);
  l->held += len;
}

void nccl_lines_feed(struct nccl_lines *l, const char *data, size_t len,
                     nccl_line_fn fn, void *arg)
{
  const char *end = data + len;

  l->bytes += len;
  while (data < end) {
    const char *newline = memchr(data, '\n', (size_t)(end - data));
    size_t n = (size_t)((newline ? newline : end) - data);

    if (!newline || l->held || l->cut)
      hold(l, data, n);
    if (!newline)
      return;
    if (l->held || l->cut) {
      size_t held = l->held;

      l->held = 0;
      give(l, l->hold, held, true, fn, arg);
    } else
      give(l, data, n, true, fn, arg);
    data = newline + 1;
  }
}

void nccl_lines_finish(struct nccl_lines *l, nccl_line_fn fn, void *arg)
{
  size_t held = l->held;

  if (held == 0)
    return;
  l->held = 0;
  give(l, l->hold, held, false, fn, arg);
}

/* The length of the escape sequence at the beginning: CSI ones as ECMA-48 has
 * them, of others the introducer and one byte. */
static size_t escape(const char *p, size_t len)
{
  size_t n = 2;

  if (len < 2 || p[1] != '[')
    return len < 2 ? len : 2;
  while (n < len && (unsigned char)p[n] >= 0x20 && (unsigned char)p[n] < 0x40)
    n++;
  return n < len ? n + 1 : n;
}

void nccl_clean(struct nccl_line *line, char *room)
{
  size_t n = 0;

  while (line->len && line->text[line->len - 1] == '\r')
    line->len--;
  if (line->len && line->text[0] == '\0') {
    while (line->len && line->text[0] == '\0') {
      line->text++;
      line->len--;
    }
    /* NULs in place of lost text: what follows is the rest of a word unless a
     * blank or a '#' begins it. */
    if (line->len && !nccl_is_blank(line->text[0]) && line->text[0] != '#')
      line->len = 0;
  }
  if (line->len == 0 || !memchr(line->text, 0x1b, line->len))
    return;
  for (size_t i = 0; i < line->len;) {
    if (line->text[i] == 0x1b)
      i += escape(line->text + i, line->len - i);
    else
      room[n++] = line->text[i++];
  }
  line->text = room;
  line->len = n;
}

/* "2026-03-02T11:30:00[.123][Z|+01:00|-0700]" and what a container runtime
 * writes behind it, "stdout F " or, before a line that goes on, "stdout P "; 0
 * when there is none. */
static size_t time_stamp(const char *p, size_t len, bool *partial)
{
  size_t n = 19;

  if (len < 21 || p[10] != 'T' || !nccl_is_date(p, 10) ||
      !nccl_is_time(p + 11, 8))
    return 0;
  if (n < len && (p[n] == '.' || p[n] == ','))
    n += 1 + nccl_digits(p + n + 1, len - n - 1);
  if (n < len && p[n] == 'Z')
    n++;
  else if (n < len && (p[n] == '+' || p[n] == '-')) {
    n += 1 + nccl_digits(p + n + 1, len - n - 1);
    if (n < len && p[n] == ':')
      n += 1 + nccl_digits(p + n + 1, len - n - 1);
  }
  if (n >= len || p[n] != ' ')
    return n == len ? n : 0;
  n++;
  if (len - n >= 9 &&
      (memcmp(p + n, "stdout ", 7) == 0 || memcmp(p + n, "stderr ", 7) == 0) &&
      (p[n + 7] == 'F' || p[n + 7] == 'P') && p[n + 8] == ' ') {
    *partial = p[n + 7] == 'P';
    n += 9;
  }
  return n;
}

/* "[pod/x/y] ", "[1,0]<stdout>:"; *tag is the length with the bracket. */
static size_t bracket(const char *p, size_t len, size_t *tag)
{
  size_t n = 1, blanks = 0;

  while (n < len && n < NCCL_TAG_MAX && p[n] != ']' && blanks < 2) {
    if ((unsigned char)p[n] <= ' ' && p[n] != ' ')
      return 0;
    blanks += p[n] == ' ';
    n++;
  }
  if (n >= len || p[n] != ']' || n == 1 || blanks > 1 || p[1] == ' ')
    return 0;
  if (n >= 11 && nccl_is_date(p + 1, 10)) /* NCCL's own time stamp */
    return 0;
  *tag = ++n;
  if (len - n >= 9 && (memcmp(p + n, "<stdout>:", 9) == 0 ||
                       memcmp(p + n, "<stderr>:", 9) == 0))
    return n + 9;
  if (n == len)
    return n;
  return p[n] == ' ' ? n + 1 : 0;
}

/* "12: " of srun --label. */
static size_t label(const char *p, size_t len, size_t *from, size_t *tag)
{
  size_t n = 0, d;

  while (n < len && p[n] == ' ')
    n++;
  *from = n;
  d = nccl_digits(p + n, len - n);
  if (d == 0 || d > 7 || n + d >= len || p[n + d] != ':')
    return 0;
  *tag = d;
  n += d + 1;
  if (n < len && p[n] != ' ')
    return 0;
  return n < len ? n + 1 : n;
}

static void take(struct nccl_line *line, size_t n)
{
  line->text += n;
  line->len -= n;
}

static void add_tag(struct nccl_origin *origin, const char *p, size_t len)
{
  size_t room;

  if (!origin)
    return;
  room = sizeof(origin->tag) - origin->len;
  if (len > room)
    len = room;
  memcpy(origin->tag + origin->len, p, len);
  origin->len += len;
}

void nccl_strip(struct nccl_line *line, struct nccl_origin *origin)
{
  if (origin)
    origin->len = 0;
  for (int i = 0; i < 6 && line->len; i++) {
    const char *p = line->text;
    size_t n = 0, from = 0, tag = 0;

    if (nccl_is_digit(p[0]))
      n = time_stamp(p, line->len, &line->partial);
    else if (p[0] == '[')
      n = bracket(p, line->len, &tag);
    if (n == 0 && (p[0] == ' ' || nccl_is_digit(p[0])))
      n = label(p, line->len, &from, &tag);
    if (n == 0)
      return;
    add_tag(origin, p + from, tag);
    take(line, n);
  }
}

/* The digits that end at text[n], with a ':' before them: where that is, 0
 * when there are none. */
static size_t group_before(const char *text, size_t n)
{
  size_t end = n;

  while (n > 0 && nccl_is_digit(text[n - 1]))
    n--;
  return n < end && n > 0 && text[n - 1] == ':' ? n - 1 : 0;
}

size_t nccl_log_head(const char *text, size_t len)
{
  const char *blank = len ? memchr(text, ' ', len) : NULL;
  size_t n = blank ? (size_t)(blank - text) : 0;
  size_t tid = group_before(text, n);
  size_t pid = tid ? group_before(text, tid) : 0;

  return pid > 0 ? n : 0;
}
