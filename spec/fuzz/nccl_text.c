/* SPDX-License-Identifier: Apache-2.0 */
/* Logs of nccl-tests: rows do not depend on how the text is cut into chunks;
 * no size and no bandwidth comes out that is not a word of the input; a log
 * that is cut shows no row that the whole one lacks. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "nccl/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
  if (!ok) {
    fprintf(stderr, "%s\n", what);
    abort();
  }
}

static struct nccl_text *parse(const char *text, size_t len, size_t chunk,
                               unsigned flags)
{
  struct nccl_text_options options = {.lenient = flags & 1, .debug = flags & 2};
  struct nccl_text *t = nccl_text_new(&options);

  require(t != NULL, "memory");
  for (size_t at = 0; at < len; at += chunk)
    nccl_text_feed(t, text + at, chunk < len - at ? chunk : len - at);
  require(nccl_text_finish(t) != NULL, "memory");
  return t;
}

static bool same_number(double a, double b)
{
  return (isnan(a) && isnan(b)) || a == b;
}

static bool same_figures(const struct nccl_figures *a,
                         const struct nccl_figures *b)
{
  return a->present == b->present &&
         (!a->present ||
          (same_number(a->time_us, b->time_us) &&
           same_number(a->algbw, b->algbw) && same_number(a->busbw, b->busbw) &&
           a->has_wrong == b->has_wrong &&
           (!a->has_wrong || a->wrong == b->wrong)));
}

static bool same_row(const struct nccl_row *a, const struct nccl_row *b)
{
  return a->size == b->size && a->count == b->count && a->line == b->line &&
         a->truncated == b->truncated && !strcmp(a->type, b->type) &&
         !strcmp(a->redop, b->redop) && a->has_root == b->has_root &&
         (!a->has_root || a->root == b->root) &&
         same_figures(&a->oop, &b->oop) && same_figures(&a->ip, &b->ip);
}

static void require_same(const struct nccl_result *a,
                         const struct nccl_result *b)
{
  require(a->run_count == b->run_count && a->lines == b->lines, "other runs");
  for (size_t i = 0; i < a->run_count; i++) {
    const struct nccl_run *x = a->runs[i], *y = b->runs[i];

    require(x->row_count == y->row_count && x->complete == y->complete &&
                x->failure_count == y->failure_count &&
                x->device_count == y->device_count &&
                x->has_average == y->has_average &&
                (!x->has_average || same_number(x->average, y->average)),
            "another run");
    for (size_t k = 0; k < x->row_count; k++)
      require(same_row(&x->rows[k], &y->rows[k]), "another row");
  }
}

/* Is it a text without what the parser takes out of the middle of words: escape
 * sequences and Open MPI's tags? */
static bool is_plain(const char *text, size_t len)
{
  return len > 0 && !memchr(text, 0x1b, len) && !memchr(text, '>', len);
}

static bool is_blank(char c)
{
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Is a word of the text that number? */
static bool is_printed(const char *text, size_t len, double value)
{
  for (size_t i = 0; i < len; i++) {
    size_t n = 0;
    double found;

    if (i > 0 && !is_blank(text[i - 1]))
      continue;
    while (i + n < len && !is_blank(text[i + n]))
      n++;
    if (aicr_parse_double(text + i, n, &found) && found == value)
      return true;
  }
  return false;
}

static void require_printed(const char *text, size_t len,
                            const struct nccl_result *r)
{
  unsigned left = 8; /* the search is quadratic */

  for (size_t i = 0; i < r->run_count; i++)
    for (size_t k = 0; k < r->runs[i]->row_count && left; k++, left--) {
      const struct nccl_row *row = &r->runs[i]->rows[k];

      require(row->oop.present, "a row without figures");
      require(row->truncated || row->ip.present ||
                  r->runs[i]->format != NCCL_NO_FORMAT,
              "a whole row without a header");
      require(is_printed(text, len, (double)row->size), "a size");
      if (isfinite(row->oop.busbw))
        require(is_printed(text, len, row->oop.busbw), "a bandwidth");
      if (row->ip.present && isfinite(row->ip.busbw))
        require(is_printed(text, len, row->ip.busbw), "a bandwidth");
    }
}

/* Every whole row of the cut log is one of the whole log, in the same line; a
 * truncated one has no other figures out of place. */
static void require_part(const struct nccl_result *part,
                         const struct nccl_result *whole)
{
  /* The cut line can look like the beginning of a run. */
  require(part->run_count <= whole->run_count + 1, "more runs");
  for (size_t i = 0; i < part->run_count; i++) {
    const struct nccl_run *a = part->runs[i];
    const struct nccl_run *b = i < whole->run_count ? whole->runs[i] : NULL;

    if (!b) {
      require(a->row_count == 0, "a row of no run");
      continue;
    }
    require(a->row_count <= b->row_count, "more rows");
    for (size_t k = 0; k < a->row_count; k++) {
      const struct nccl_row *x = &a->rows[k], *y = &b->rows[k];

      require(x->size == y->size && x->line == y->line, "another row");
      require(same_figures(&x->oop, &y->oop), "other figures");
      require(x->truncated || same_row(x, y), "another whole row");
    }
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const char *text = (const char *)data + 2;
  struct nccl_text *whole, *other, *part;
  const struct nccl_result *r;
  size_t len;

  if (size < 2)
    return 0;
  len = size - 2;
  whole = parse(text, len, len ? len : 1, data[0]);
  r = nccl_text_finish(whole);
  other = parse(text, len, 1, data[0]);
  require_same(r, nccl_text_finish(other));
  nccl_text_free(other);
  other = parse(text, len, data[1] + 1u, data[0]);
  require_same(r, nccl_text_finish(other));
  nccl_text_free(other);
  part = parse(text, len * data[1] / 256, len + 1, data[0]);
  require_part(nccl_text_finish(part), r);
  nccl_text_free(part);
  if (is_plain(text, len))
    require_printed(text, len, r);
  nccl_text_free(whole);
  return 0;
}
