/* SPDX-License-Identifier: Apache-2.0 */
/* The reader, the list cutter and the writer agree: tokens do not depend on
 * the chunks; what is strict is also read in the other profile, with the same
 * tokens; what is read and written again reads back the same; cut items are
 * texts of their own. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_list.h"
#include "core/json_reader.h"

#include "../c/json_tokens.h"

#define DEPTH 16

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
  if (!ok) {
    fprintf(stderr, "%s\n", what);
    abort();
  }
}

static void same(const struct aicr_buf *a, const struct aicr_buf *b,
                 const char *what)
{
  require(!a->failed && !b->failed, "no memory");
  require(a->len == b->len && memcmp(a->data, b->data, a->len) == 0, what);
}

/* Ends of chunks that the input itself decides. */
static size_t choose_cuts(const char *text, size_t size, size_t *cuts)
{
  size_t count = 0, at = 0;

  while (at < size && count < 64) {
    at += 1 + (unsigned char)text[size - 1 - at] % 17;
    if (at < size)
      cuts[count++] = at;
  }
  return count;
}

static bool ends_in(const struct aicr_buf *b, const char *end)
{
  size_t len = strlen(end);

  return b->len >= len && memcmp(b->data + b->len - len, end, len) == 0;
}

static bool check_chunks(const char *text, size_t size,
                         enum aicr_json_profile profile)
{
  struct aicr_buf whole, cut;
  size_t cuts[64], each[64];
  char end[32];
  size_t count = choose_cuts(text, size, cuts);
  bool accepted;

  aicr_buf_init(&whole, SIZE_MAX);
  aicr_buf_init(&cut, SIZE_MAX);
  show_tokens(&whole, text, size, NULL, 0, profile, DEPTH, true);
  show_tokens(&cut, text, size, cuts, count, profile, DEPTH, true);
  same(&whole, &cut, "chunks make a difference");
  aicr_buf_reset(&cut);
  for (count = 0; count < 64 && count < size; count++)
    each[count] = count;
  show_tokens(&cut, text, size, each, count, profile, DEPTH, true);
  same(&whole, &cut, "single bytes make a difference");
  accepted = aicr_json_check(text, size, profile, DEPTH, NULL);
  snprintf(end, sizeof(end), " $@%zu/0", size);
  require(accepted == ends_in(&whole, end), "the check and the tokens differ");
  aicr_buf_free(&whole);
  aicr_buf_free(&cut);
  return accepted;
}

/* Writes an accepted text anew. False when it holds what JSON cannot say. */
static bool write_again(struct aicr_buf *out, const char *text, size_t size,
                        enum aicr_json_profile profile)
{
  struct aicr_json_reader r;
  enum aicr_json_token token;
  bool comma = false, ok = true;

  aicr_json_init(&r, profile, DEPTH);
  aicr_json_feed(&r, text, size);
  aicr_json_finish(&r);
  for (;;) {
    token = aicr_json_next(&r);
    if (token == AICR_JSON_END)
      break;
    if (comma && token != AICR_JSON_OBJECT_END && token != AICR_JSON_ARRAY_END)
      aicr_buf_addc(out, ',');
    comma = token != AICR_JSON_OBJECT_BEGIN && token != AICR_JSON_ARRAY_BEGIN &&
            token != AICR_JSON_KEY;
    if (token == AICR_JSON_DOUBLE && isinf(r.number))
      ok = false;
    if (token == AICR_JSON_KEY || token == AICR_JSON_STRING)
      aicr_json_write_string(out, r.text, r.text_len);
    else
      show_token(out, &r, token);
    if (token == AICR_JSON_KEY)
      aicr_buf_addc(out, ':');
  }
  aicr_json_free(&r);
  return ok;
}

static void check_round_trip(const char *text, size_t size,
                             enum aicr_json_profile profile)
{
  struct aicr_buf again, before, after;

  aicr_buf_init(&again, SIZE_MAX);
  aicr_buf_init(&before, SIZE_MAX);
  aicr_buf_init(&after, SIZE_MAX);
  if (write_again(&again, text, size, profile)) {
    show_tokens(&before, text, size, NULL, 0, profile, DEPTH, false);
    show_tokens(&after, again.data, again.len, NULL, 0, AICR_JSON_STRICT, DEPTH,
                false);
    same(&before, &after, "what is written reads back differently");
  }
  aicr_buf_free(&again);
  aicr_buf_free(&before);
  aicr_buf_free(&after);
}

/* Cuts the text as a list in chunks of `step`; all items to *items. */
static enum aicr_json_list_result
cut_list(struct aicr_buf *items, const char *text, size_t size, size_t step)
{
  enum aicr_json_list_result result;
  struct aicr_json_list l;
  size_t at = 0;

  aicr_json_list_init(&l);
  do {
    result = aicr_json_list_next(&l);
    if (result == AICR_LIST_ITEM) {
      require(aicr_json_check(l.item, l.item_len, AICR_JSON_STRICT,
                              AICR_JSON_DEPTH, NULL),
              "an item is not JSON");
      aicr_buf_add(items, l.item, l.item_len);
      aicr_buf_addc(items, '\n');
    } else if (result == AICR_LIST_MORE && at == size) {
      aicr_json_finish(&l.reader);
    } else if (result == AICR_LIST_MORE) {
      size_t n = size - at < step ? size - at : step;

      aicr_json_feed(&l.reader, text + at, n);
      at += n;
    }
  } while (result == AICR_LIST_ITEM || result == AICR_LIST_MORE);
  aicr_buf_addf(items, "%s %s %s %s %zu %d", l.kind, l.api_version,
                l.resource_version, l.next_page ? l.next_page : "", l.count,
                l.has_items);
  aicr_json_list_free(&l);
  return result;
}

static void check_list(const char *text, size_t size)
{
  struct aicr_buf whole, cut;
  enum aicr_json_list_result result;

  aicr_buf_init(&whole, SIZE_MAX);
  aicr_buf_init(&cut, SIZE_MAX);
  result = cut_list(&whole, text, size, size ? size : 1);
  require(result == cut_list(&cut, text, size, 3), "a list ends differently");
  same(&whole, &cut, "a list is cut differently");
  if (result == AICR_LIST_END)
    require(
        aicr_json_check(text, size, AICR_JSON_STRICT, AICR_JSON_DEPTH, NULL),
        "a list is not JSON");
  aicr_buf_free(&whole);
  aicr_buf_free(&cut);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = malloc(size ? size : 1);
  bool strict, go;

  if (!text)
    return 0;
  if (size)
    memcpy(text, data, size);
  strict = check_chunks(text, size, AICR_JSON_STRICT);
  go = check_chunks(text, size, AICR_JSON_GO);
  require(go || !strict, "the strict profile takes more");
  if (strict)
    check_round_trip(text, size, AICR_JSON_STRICT);
  if (go)
    check_round_trip(text, size, AICR_JSON_GO);
  check_list(text, size);
  free(text);
  return 0;
}
