/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CLI_MESSAGE_H
#define AICR_CLI_MESSAGE_H

#include <stdbool.h>

#include "core/error.h"

/* Exit codes; what a run decides itself comes from the engine. */
enum {
  AICR_EXIT_OK = 0,
  AICR_EXIT_USAGE = 2,
  AICR_EXIT_NO_VERDICT = 3, /* also: output could not be written */
  AICR_EXIT_INTERNAL = 70
};

/* Writes "aicr-run: …" and a line end to stderr. Returns false. */
bool aicr_complain(const char *fmt, ...) AICR_PRINTF(1, 2);

/* Flushes stdout and gives the exit code of a command that only prints. A
 * reader that went away is no failure. */
int aicr_finish_stdout(void);

#endif
