/* SPDX-License-Identifier: Apache-2.0 */
/* Files of nccl-tests' -J: rows have what the text says; a file that is cut
 * gives the first rows of the whole one and is not complete where the whole
 * one is not. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nccl/json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
  if (!ok) {
    fprintf(stderr, "%s\n", what);
    abort();
  }
}

static bool same_number(double a, double b)
{
  return (isnan(a) && isnan(b)) || a == b;
}

static bool same_row(const struct nccl_row *a, const struct nccl_row *b)
{
  return a->size == b->size && a->count == b->count &&
         !strcmp(a->type, b->type) && a->truncated == b->truncated &&
         same_number(a->oop.busbw, b->oop.busbw) &&
         a->ip.present == b->ip.present &&
         (!a->ip.present || same_number(a->ip.busbw, b->ip.busbw));
}

static bool holds(const char *text, size_t len, const char *what)
{
  size_t n = strlen(what);

  for (size_t i = 0; i + n <= len; i++)
    if (memcmp(text + i, what, n) == 0)
      return true;
  return false;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const char *text = (const char *)data + 1;
  struct nccl_result whole, part;
  struct aicr_error err;
  char number[32];
  size_t len;

  if (size < 1)
    return 0;
  len = size - 1;
  if (!nccl_json_read(text, len, &whole, &err)) {
    require(err.code == AICR_INVALID_REQUEST, "an unknown refusal");
    nccl_result_free(&whole);
    return 0;
  }
  require(whole.run_count == 1, "one run");
  for (size_t i = 0; i < whole.runs[0]->row_count; i++) {
    const struct nccl_row *row = &whole.runs[0]->rows[i];

    require(row->oop.present && row->truncated == !row->ip.present,
            "a row's figures");
    snprintf(number, sizeof(number), "%lld", (long long)row->size);
    require(holds(text, len, number), "a size");
  }
  if (nccl_json_read(text, len * data[0] / 256, &part, &err)) {
    const struct nccl_run *a = part.runs[0], *b = whole.runs[0];

    require(a->row_count <= b->row_count, "more rows");
    for (size_t i = 0; i < a->row_count; i++)
      require(same_row(&a->rows[i], &b->rows[i]), "another row");
    require(!a->has_oob || b->has_oob, "another end");
  }
  nccl_result_free(&part);
  nccl_result_free(&whole);
  return 0;
}
