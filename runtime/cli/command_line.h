/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CLI_COMMAND_LINE_H
#define AICR_CLI_COMMAND_LINE_H

#include "cli/option.h"
#include "core/buffer.h"

/* What the user typed, checked against the option table. */

enum aicr_origin { AICR_FROM_COMMAND_LINE, AICR_FROM_ENVIRONMENT };

/* One occurrence of an option. */
struct aicr_setting {
  const struct aicr_option *option;
  enum aicr_origin origin;
  char *value; /* owned; NULL for a flag or an argument left out */
};

struct aicr_command_line {
  struct aicr_setting *settings; /* in order */
  size_t setting_count;
  const char *command;   /* NULL: run checks */
  const char **operands; /* point into argv */
  size_t operand_count;
  char *const *args; /* what follows "--", in argv */
  size_t arg_count;
  bool help;
  bool version;
};

/* Reads argv and then the environment forms of the options that argv does not
 * give. False: *exit_code is set and a message was written to stderr; or
 * --help or --version was met, which ends the reading, then it is true. Either
 * way *line needs aicr_command_line_free(). */
bool aicr_command_line_read(struct aicr_command_line *line, int argc,
                            char **argv, int *exit_code);

/* The environment's part of it: options that *line does not have, and those
 * that are layered. */
bool aicr_environment_read(struct aicr_command_line *line, int *exit_code);

/* Checks and appends one occurrence; len bytes of the value are copied. */
bool aicr_command_line_add(struct aicr_command_line *line,
                           const struct aicr_option *option,
                           enum aicr_origin origin, const char *value,
                           size_t len, int *exit_code);

/* How messages name an option: as the user gave it, "--fail-fast" or
 * "AICR_RUN_FAIL_FAST". */
struct aicr_option_place {
  char text[AICR_ENV_NAME_MAX + 4];
};
const char *aicr_option_place(struct aicr_option_place *place,
                              const struct aicr_option *option,
                              enum aicr_origin origin);

void aicr_command_line_free(struct aicr_command_line *line);

/* The last value of a single option, NULL when it was not given. */
const char *aicr_command_line_value(const struct aicr_command_line *line,
                                    const char *name);

#endif
