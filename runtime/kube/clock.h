/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CLOCK_H
#define AICR_KUBE_CLOCK_H

#include <stdint.h>

/* The clocks of the machine, in milliseconds. */

int64_t aicr_now_ms(void);       /* since the epoch */
int64_t aicr_monotonic_ms(void); /* of the clock that deadlines use */

#endif
