/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CLI_HELP_H
#define AICR_CLI_HELP_H

/* What --help and --version print to stdout. */
void aicr_print_help(void);
void aicr_print_version(void);

#endif
