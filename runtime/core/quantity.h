/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_QUANTITY_H
#define AICR_CORE_QUANTITY_H

#include <stdint.h>

#include "core/error.h"

/* Kubernetes quantities ("8", "500m", "64Gi", "1e3") as apimachinery's
 * resource.Quantity reads them: [+-] digits [. digits] with a suffix n u m
 * k M G T P E, Ki Mi Gi Ti Pi Ei or e/E exponent; no white space. */

/* Value rounded up to an integer, as Quantity.Value(). INVALID_REQUEST
 * ("quantity") when it is no quantity or does not fit int64_t. */
bool aicr_quantity_value(const char *data, size_t len, int64_t *out,
                         struct aicr_error *err);

/* In thousandths, rounded up, as Quantity.MilliValue(). */
bool aicr_quantity_milli(const char *data, size_t len, int64_t *out,
                         struct aicr_error *err);

/* -1, 0, 1: exact comparison of two quantities. */
bool aicr_quantity_compare(const char *a, size_t a_len, const char *b,
                           size_t b_len, int *out, struct aicr_error *err);

#endif
