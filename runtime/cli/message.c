/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

bool aicr_complain(const char *fmt, ...)
{
  va_list args;

  fputs("aicr-run: ", stderr);
  va_start(args, fmt);
  vfprintf(stderr, fmt, args);
  va_end(args);
  fputc('\n', stderr);
  return false;
}

int aicr_finish_stdout(void)
{
  errno = 0;
  if (fflush(stdout) == 0 && !ferror(stdout))
    return AICR_EXIT_OK;
  if (errno == EPIPE)
    return AICR_EXIT_OK;
  aicr_complain("cannot write to standard output: %s", strerror(errno));
  return AICR_EXIT_NO_VERDICT;
}
