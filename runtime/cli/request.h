/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CLI_REQUEST_H
#define AICR_CLI_REQUEST_H

#include "cli/command_line.h"
#include "cli/terminal.h"
#include "core/buffer.h"

/* Appends the JSON document that the engine gets: the command, operands,
 * options as given and their origins, facts of the terminal, search path
 * (`path` is the value of AICR_RUN_PATH, may be NULL). */
bool aicr_request_write(struct aicr_buf *out,
                        const struct aicr_command_line *line,
                        const struct aicr_terminal *terminal, const char *path);

#endif
