/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/clock.h"

#include <time.h>

static int64_t clock_ms(clockid_t clock)
{
  struct timespec now;
  clock_gettime(clock, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t aicr_now_ms(void)
{
  return clock_ms(CLOCK_REALTIME);
}

int64_t aicr_monotonic_ms(void)
{
  return clock_ms(CLOCK_MONOTONIC);
}
