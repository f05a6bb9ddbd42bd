/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/help.h"
#include "cli/message.h"
#include "cli/request.h"
#include "cli/terminal.h"
#include "host/host.h"

enum { REQUEST_MAX = 16 << 20 };

/* A standard descriptor that is closed would be given to the next file that is
 * opened, and reports would go there. What takes its place refuses the
 * operation it is for, as the closed one would. */
static bool hold_standard_descriptors(void)
{
  for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++) {
    int mode = fd == STDIN_FILENO ? O_WRONLY : O_RDONLY;

    if (fcntl(fd, F_GETFD) == -1 && errno == EBADF &&
        open("/dev/null", mode) != fd)
      return false;
  }
  return true;
}

static void prepare_process(void)
{
  struct sigaction ignore = {.sa_handler = SIG_IGN};

  sigemptyset(&ignore.sa_mask);
  sigaction(SIGPIPE, &ignore, NULL);
  /* Only LC_CTYPE: numbers are written with '.' whatever LC_NUMERIC says. */
  setlocale(LC_CTYPE, "");
}

static int run(const struct aicr_command_line *line)
{
  struct aicr_terminal terminal = {0};
  struct aicr_buf request;
  int exit_code = AICR_EXIT_INTERNAL;

  aicr_terminal_read(&terminal, aicr_command_line_value(line, "color"));
  aicr_buf_init(&request, REQUEST_MAX);
  if (aicr_request_write(&request, line, &terminal, getenv(AICR_PATH_VARIABLE)))
    exit_code = aicr_host_main(request.data, request.len,
                               aicr_command_line_value(line, "source"));
  else
    aicr_complain("the command line does not fit into %d bytes", REQUEST_MAX);
  aicr_buf_free(&request);
  return exit_code;
}

int aicr_cli_main(int argc, char **argv)
{
  struct aicr_command_line line;
  int exit_code = AICR_EXIT_INTERNAL;

  if (!hold_standard_descriptors())
    return AICR_EXIT_INTERNAL;
  prepare_process();
  if (!aicr_command_line_read(&line, argc, argv, &exit_code))
    goto out;
  if (line.help)
    aicr_print_help();
  else if (line.version)
    aicr_print_version();
  exit_code = line.help || line.version ? aicr_finish_stdout() : run(&line);

out:
  aicr_command_line_free(&line);
  return exit_code;
}
