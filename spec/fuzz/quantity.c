/* SPDX-License-Identifier: Apache-2.0 */
/* Quantities equal themselves, order is antisymmetric, whole and thousandths
 * agree; durations and times come back. The part after the first NUL is a
 * second quantity. */
#include <stdlib.h>
#include <string.h>

#include "core/quantity.h"
#include "core/time.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok)
    abort();
}

static void check_one(const char *text, size_t len)
{
  struct aicr_error err;
  int64_t value, milli;
  int order;

  if (!aicr_quantity_compare(text, len, text, len, &order, &err)) {
    require(!aicr_quantity_value(text, len, &value, &err));
    require(!aicr_quantity_milli(text, len, &milli, &err));
    return;
  }
  require(order == 0);
  if (!aicr_quantity_milli(text, len, &milli, &err))
    return;
  require(aicr_quantity_value(text, len, &value, &err));
  /* Both are rounded away from zero. */
  require((milli < 0) == (value < 0) && (milli == 0) == (value == 0));
  require(value == milli / 1000 + (milli % 1000 > 0) - (milli % 1000 < 0));
}

static void check_two(const char *a, size_t a_len, const char *b, size_t b_len)
{
  struct aicr_error err;
  int64_t a_value, b_value;
  int forth, back;

  if (!aicr_quantity_compare(a, a_len, b, b_len, &forth, &err))
    return;
  require(aicr_quantity_compare(b, b_len, a, a_len, &back, &err));
  require(forth == -back);
  if (aicr_quantity_value(a, a_len, &a_value, &err) &&
      aicr_quantity_value(b, b_len, &b_value, &err))
    require(a_value == b_value || (a_value < b_value) == (forth < 0));
}

static void check_times(const char *text, size_t len)
{
  char shown[AICR_RFC3339_TEXT];
  char duration[AICR_DURATION_TEXT];
  struct aicr_error err;
  int64_t ms, again;

  if (aicr_duration_parse(text, len, &ms, &err)) {
    require(ms >= 0 && ms <= 366 * INT64_C(86400000));
    aicr_duration_format(ms, duration);
    require(strlen(duration) > 1);
  }
  if (!aicr_time_parse(text, len, &ms, &err))
    return;
  aicr_time_format(ms, shown);
  require(aicr_time_parse(shown, strlen(shown), &again, &err));
  /* An offset may lead out of the years that can be written. */
  require(again == ms || ms < INT64_C(-62167219200000) ||
          ms > INT64_C(253402300799999));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *copy = malloc(size ? size : 1);
  const char *cut;
  size_t head;

  require(copy != NULL);
  if (size)
    memcpy(copy, data, size);
  cut = size ? memchr(copy, '\0', size) : NULL;
  head = cut ? (size_t)(cut - copy) : size;
  check_one(copy, head);
  check_times(copy, head);
  if (cut)
    check_two(copy, head, cut + 1, size - head - 1);
  free(copy);
  return 0;
}
