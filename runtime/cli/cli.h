/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CLI_CLI_H
#define AICR_CLI_CLI_H

/* The whole program: reads the command line, runs it, gives the exit code. */
int aicr_cli_main(int argc, char **argv);

#endif
