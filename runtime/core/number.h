/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_NUMBER_H
#define AICR_CORE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Decimal text and numbers. The process never sets LC_NUMERIC, so '.' is the
 * decimal point everywhere. This is the only file that calls strtod(). */

/* The whole span is an optional '-' and ASCII digits and fits int64_t. */
bool aicr_parse_int64(const char *data, size_t len, int64_t *out);

/* The whole span is a decimal floating-point number: [+-] digits [. digits]
 * [eE [+-] digits], digits on at least one side of the point; no hexadecimal,
 * no inf, nan, underscores or white space. False also on overflow to
 * infinity. */
bool aicr_parse_double(const char *data, size_t len, double *out);

/* Shortest text that reads back as the same double, always with '.', 'e' or
 * as an integer followed by ".0" (3.0 -> "3.0", 1e300 -> "1e+300"). `value`
 * must be finite. */
#define AICR_DOUBLE_TEXT 32
void aicr_format_double(double value, char out[AICR_DOUBLE_TEXT]);

#endif
