/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CLI_TERMINAL_H
#define AICR_CLI_TERMINAL_H

#include <stdbool.h>

/* What decides how human output looks. */
struct aicr_terminal {
  bool stdout_tty;
  bool color;
  bool utf8; /* the locale's character set; false: ASCII only */
  int width; /* columns, 0: unlimited, because stdout is no terminal */
  int live;  /* columns of stderr, 0: nothing may be redrawn there */
};

/* Looks at stdout, stderr and the environment. `when` is the value of --color,
 * NULL for auto. setlocale(LC_CTYPE, "") was called. */
void aicr_terminal_read(struct aicr_terminal *terminal, const char *when);

#endif
