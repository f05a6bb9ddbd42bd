/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_TIME_H
#define AICR_CORE_TIME_H

#include <stddef.h>
#include <stdint.h>

#include "core/error.h"

/* RFC 3339 instants and durations such as "300ms", "1h30m". Pure: no clock. */

#define AICR_RFC3339_TEXT 32

/* Milliseconds since the epoch -> "2026-03-10T20:10:44.872Z". */
void aicr_time_format(int64_t ms, char out[AICR_RFC3339_TEXT]);

/* RFC 3339 with any offset and fraction -> milliseconds since the epoch. */
bool aicr_time_parse(const char *data, size_t len, int64_t *ms,
                     struct aicr_error *err);

/* One or more of NUMBER UNIT (h m s ms), NUMBER may have a fraction; "0" is
 * zero; a bare number otherwise is refused with the unit in the message.
 * INVALID_REQUEST/"duration". Result in milliseconds, at most 366 days. */
bool aicr_duration_parse(const char *data, size_t len, int64_t *ms,
                         struct aicr_error *err);

/* For people: "0.4s", "12s", "1m 52s", "1h 03m" (cli-and-reports.md 6). */
#define AICR_DURATION_TEXT 32
void aicr_duration_format(int64_t ms, char out[AICR_DURATION_TEXT]);

#endif
