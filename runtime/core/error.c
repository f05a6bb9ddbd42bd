/* SPDX-License-Identifier: Apache-2.0 */
#include "core/error.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

static const char *const code_names[] = {
    [AICR_CODE_NONE] = "",
    [AICR_NOT_FOUND] = "NOT_FOUND",
    [AICR_UNAUTHORIZED] = "UNAUTHORIZED",
    [AICR_TIMEOUT] = "TIMEOUT",
    [AICR_INTERNAL] = "INTERNAL",
    [AICR_INVALID_REQUEST] = "INVALID_REQUEST",
    [AICR_SERVICE_UNAVAILABLE] = "SERVICE_UNAVAILABLE",
    [AICR_CONFLICT] = "CONFLICT",
    [AICR_CANCELED] = "CANCELED",
    [AICR_RATE_LIMIT_EXCEEDED] = "RATE_LIMIT_EXCEEDED",
    [AICR_METHOD_NOT_ALLOWED] = "METHOD_NOT_ALLOWED",
};
static_assert(sizeof(code_names) / sizeof(code_names[0]) == AICR_CODE_COUNT,
              "a code has no name");

const char *aicr_code_name(enum aicr_code code)
{
  if ((unsigned)code >= AICR_CODE_COUNT)
    return "";
  return code_names[code];
}

enum aicr_code aicr_code_from_name(const char *name, size_t len)
{
  for (unsigned i = AICR_CODE_NONE + 1; i < AICR_CODE_COUNT; i++)
    if (strlen(code_names[i]) == len && memcmp(code_names[i], name, len) == 0)
      return (enum aicr_code)i;
  return AICR_CODE_NONE;
}

/* Copies text that may be longer than out: cut where a character begins, so
 * that a valid text stays one. */
static void copy_cut(char *out, size_t size, const char *text, size_t len)
{
  if (len >= size) {
    len = size - 1;
    while (len > 0 && ((unsigned char)text[len] & 0xC0) == 0x80)
      len--;
  }
  memcpy(out, text, len);
  out[len] = '\0';
}

/* The arguments may point into *err (a message that repeats the one before),
 * hence the copy. */
static void set_message(char out[AICR_MESSAGE_MAX], const char *fmt, va_list ap)
    AICR_PRINTF(2, 0);

static void set_message(char out[AICR_MESSAGE_MAX], const char *fmt, va_list ap)
{
  /* Room for the bytes that tell whether the cut splits a character. */
  char text[AICR_MESSAGE_MAX + 4];
  int n = vsnprintf(text, sizeof(text), fmt, ap);
  size_t len = 0;

  if (n > 0)
    len = (size_t)n < sizeof(text) ? (size_t)n : sizeof(text) - 1;
  copy_cut(out, AICR_MESSAGE_MAX, text, len);
}

static void set(struct aicr_error *err, enum aicr_code code, bool verdict,
                const char *reason, const char *fmt, va_list ap)
    AICR_PRINTF(5, 0);

static void set(struct aicr_error *err, enum aicr_code code, bool verdict,
                const char *reason, const char *fmt, va_list ap)
{
  char kept[AICR_REASON_MAX];

  if (!err)
    return;
  copy_cut(kept, sizeof(kept), reason, strlen(reason));
  set_message(err->message, fmt, ap);
  memcpy(err->reason, kept, sizeof(kept));
  err->code = code;
  err->verdict = verdict;
  memset(&err->cause, 0, sizeof(err->cause));
}

bool aicr_fail(struct aicr_error *err, enum aicr_code code, const char *reason,
               const char *fmt, ...)
{
  va_list ap;

  va_start(ap, fmt);
  set(err, code, false, reason, fmt, ap);
  va_end(ap);
  return false;
}

bool aicr_verdict(struct aicr_error *err, enum aicr_code code,
                  const char *reason, const char *fmt, ...)
{
  va_list ap;

  va_start(ap, fmt);
  set(err, code, true, reason, fmt, ap);
  va_end(ap);
  return false;
}

static bool says_something(enum aicr_code code)
{
  return code == AICR_NOT_FOUND || code == AICR_CONFLICT ||
         code == AICR_INVALID_REQUEST;
}

bool aicr_wrap(struct aicr_error *err, enum aicr_code code, const char *fmt,
               ...)
{
  struct aicr_cause cause;
  va_list ap;

  if (!err)
    return false;
  cause.code = err->code;
  memcpy(cause.reason, err->reason, sizeof(cause.reason));
  memcpy(cause.message, err->message, sizeof(cause.message));
  va_start(ap, fmt);
  set_message(err->message, fmt, ap);
  va_end(ap);
  err->verdict = err->verdict && says_something(code);
  err->code = code;
  err->cause = cause;
  return false;
}
