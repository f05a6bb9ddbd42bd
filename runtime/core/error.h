/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_ERROR_H
#define AICR_CORE_ERROR_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

/* The closed set of codes that a fail or an error carries (AICR's set). */
enum aicr_code {
  AICR_CODE_NONE,
  AICR_NOT_FOUND,
  AICR_UNAUTHORIZED,
  AICR_TIMEOUT,
  AICR_INTERNAL,
  AICR_INVALID_REQUEST,
  AICR_SERVICE_UNAVAILABLE,
  AICR_CONFLICT,
  AICR_CANCELED,
  AICR_RATE_LIMIT_EXCEEDED,
  AICR_METHOD_NOT_ALLOWED,
  AICR_CODE_COUNT
};

#define AICR_REASON_MAX 48
#define AICR_MESSAGE_MAX 2048

/* One layer of an error: what an outer layer keeps of the one it wraps. */
struct aicr_cause {
  enum aicr_code code; /* AICR_CODE_NONE: there is no cause */
  char reason[AICR_REASON_MAX];
  char message[AICR_MESSAGE_MAX];
};

/* An error value. Lives in the caller's frame, owns nothing. `verdict` is true
 * when the error says something about the cluster (it ends a check as a fail),
 * false when it says that nothing could be observed (it ends it as an error).
 */
struct aicr_error {
  enum aicr_code code;
  bool verdict;
  char reason[AICR_REASON_MAX];
  char message[AICR_MESSAGE_MAX];
  struct aicr_cause cause;
};

#if defined(__GNUC__)
#define AICR_PRINTF(fmt, args) __attribute__((format(printf, fmt, args)))
#else
#define AICR_PRINTF(fmt, args)
#endif

/* The name of a code, such as "NOT_FOUND"; "" for AICR_CODE_NONE. */
const char *aicr_code_name(enum aicr_code code);

/* The code of that name, AICR_CODE_NONE when it is none of the set. */
enum aicr_code aicr_code_from_name(const char *name, size_t len);

/* Fills *err (no cause, verdict false) and returns false, so that a function
 * can end with `return aicr_fail(err, …)`. The message is cut at a UTF-8
 * boundary. Text from outside goes through aicr_quote() first. `err` may be
 * NULL. */
bool aicr_fail(struct aicr_error *err, enum aicr_code code, const char *reason,
               const char *fmt, ...) AICR_PRINTF(4, 5);

/* Same, with verdict true: for verifiers, annotation parsers, recipe readers
 * and an observed absence (design: section 4). */
bool aicr_verdict(struct aicr_error *err, enum aicr_code code,
                  const char *reason, const char *fmt, ...) AICR_PRINTF(4, 5);

/* Puts a new outer layer on *err: what was there becomes the cause, the reason
 * is kept, `verdict` follows from the new code as in design section 4 (true
 * for NOT_FOUND, CONFLICT, INVALID_REQUEST only if it was true before).
 * Returns false. */
bool aicr_wrap(struct aicr_error *err, enum aicr_code code, const char *fmt,
               ...) AICR_PRINTF(3, 4);

#endif
