/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): memmem */
#include <string.h>

#include "core/number.h"
#include "nccl/message.h"

/* A time stamp of NCCL's own: "[2026-02-03 04:05:06] ", or one without
 * brackets, of which only that it has no blank inside is known. */
static size_t stamp(const char *text, size_t len)
{
  if (len > 12 && text[0] == '[' && nccl_is_date(text + 1, 10)) {
    const char *close = memchr(text, ']', len);
    size_t n = close ? (size_t)(close - text) + 1 : 0;

    while (n < len && n > 0 && text[n] == ' ')
      n++;
    return n;
  }
  if (len > 11 && nccl_is_date(text, 10)) {
    const char *blank = memchr(text, ' ', len);

    return blank ? (size_t)(blank - text) + 1 : 0;
  }
  return 0;
}

/* "host:pid:tid" */
static bool read_origin(const struct nccl_word *w, struct nccl_log_line *out)
{
  size_t colons[2], n = 0;
  int64_t tid;

  for (size_t i = w->len; i > 0 && n < 2; i--)
    if (w->text[i - 1] == ':')
      colons[n++] = i - 1;
  if (n < 2 || colons[1] == 0)
    return false;
  out->host = w->text;
  out->host_len = colons[1];
  return aicr_parse_int64(w->text + colons[1] + 1, colons[0] - colons[1] - 1,
                          &out->pid) &&
         aicr_parse_int64(w->text + colons[0] + 1, w->len - colons[0] - 1,
                          &tid);
}

static void read_file(const struct nccl_word *w, struct nccl_log_line *out)
{
  const char *colon = memrchr(w->text, ':', w->len);
  size_t n = colon ? (size_t)(colon - w->text) : 0;

  if (n == 0 || !aicr_parse_int64(colon + 1, w->len - n - 1, &out->at))
    return;
  out->has_file = true;
  out->file = w->text;
  out->file_len = n;
}

static bool read_level(const char *at, const char *end,
                       struct nccl_log_line *out)
{
  static const char *const levels[] = {[NCCL_INFO] = "INFO",
                                       [NCCL_WARN] = "WARN",
                                       [NCCL_TRACE] = "TRACE",
                                       [NCCL_CALL] = "CALL"};
  struct nccl_word w;

  if (!nccl_next_word(&at, end, &w))
    return false;
  for (unsigned i = 0; i < sizeof(levels) / sizeof(levels[0]); i++) {
    if (!nccl_word_is(&w, levels[i]))
      continue;
    out->level = i;
    nccl_trim(&at, &end);
    out->message = at;
    out->message_len = (size_t)(end - at);
    return true;
  }
  return false;
}

bool nccl_log_line_read(const char *text, size_t len, struct nccl_log_line *out)
{
  const char *at, *end = text + len;
  struct nccl_word w;

  memset(out, 0, sizeof(*out));
  while (end > text && nccl_is_blank(end[-1]))
    end--;
  if (nccl_starts(text, len, "NCCL version ")) {
    out->level = NCCL_BARE;
    out->message = text;
    out->message_len = (size_t)(end - text);
    return true;
  }
  at = text + stamp(text, (size_t)(end - text));
  if (!nccl_next_word(&at, end, &w) || !read_origin(&w, out))
    return false;
  for (int i = 0; i < 4 && nccl_next_word(&at, end, &w); i++) {
    if (nccl_word_is(&w, "NCCL"))
      return read_level(at, end, out);
    if (w.len > 2 && w.text[0] == '[' && w.text[w.len - 1] == ']')
      out->has_device = aicr_parse_int64(w.text + 1, w.len - 2, &out->device);
    else if (w.text[0] != '(') /* a function */
      read_file(&w, out);
  }
  return false;
}

/* "11[3]" */
static bool is_rank(const struct nccl_word *w)
{
  const char *open = memchr(w->text, '[', w->len);
  int64_t rank;

  return open && aicr_parse_int64(w->text, (size_t)(open - w->text), &rank);
}

static bool has_part(const char *p, const char *end, const char *part)
{
  return p < end && memmem(p, (size_t)(end - p), part, strlen(part)) != NULL;
}

/* In "5(7)/GDRDMA(PCI)", behind the network's name: is there a "(7)" behind the
 * device? */
static bool has_pxn(const char *p, const char *end)
{
  const char *slash = memchr(p, '/', (size_t)(end - p));
  const char *stop = slash ? slash : end;
  const char *open = memchr(p, '(', (size_t)(stop - p));
  const char *close = open ? memchr(open, ')', (size_t)(stop - open)) : NULL;
  int64_t rank;

  return close && aicr_parse_int64(open + 1, (size_t)(close - open - 1), &rank);
}

static void read_via(struct nccl_channel *c, const char *p, const char *end)
{
  const char *slash = memchr(p, '/', (size_t)(end - p));
  const char *second =
      slash ? memchr(slash + 1, '/', (size_t)(end - slash - 1)) : NULL;
  const char *stop = second ? second : end;

  c->gdr = has_part(p, end, "/GDRDMA");
  c->read = has_part(p, end, "/read");
  if (nccl_starts(p, (size_t)(end - p), "SHM"))
    stop = p + 3;
  c->pxn = second && nccl_starts(p, (size_t)(end - p), "NET/") &&
           has_pxn(second + 1, end);
  nccl_set_text(c->path, sizeof(c->path), p, (size_t)(stop - p));
}

bool nccl_channel_read(const char *message, size_t len,
                       struct nccl_channel *out)
{
  const char *at = message, *end = message + len;
  struct nccl_word w;
  bool arrow = false, source = false, target = false;

  memset(out, 0, sizeof(*out));
  if (!nccl_starts(message, len, "Channel "))
    return false;
  while (nccl_next_word(&at, end, &w) && !nccl_word_is(&w, "via")) {
    if (nccl_word_is(&w, "->"))
      arrow = true;
    else if (!arrow)
      source |= is_rank(&w);
    else
      target |= is_rank(&w);
  }
  nccl_trim(&at, &end);
  if (!source || !target || at == end)
    return false;
  read_via(out, at, end);
  return true;
}
