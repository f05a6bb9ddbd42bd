/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/terminal.h"

#include <langinfo.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "core/number.h"

enum { WIDTH_DEFAULT = 80, WIDTH_MAX = 10000 };

static int width_of(int fd)
{
  struct winsize size = {0};
  const char *columns = getenv("COLUMNS");
  int64_t width = 0;

  if (ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
    return size.ws_col;
  if (columns && aicr_parse_int64(columns, strlen(columns), &width) &&
      width > 0 && width <= WIDTH_MAX)
    return (int)width;
  return WIDTH_DEFAULT;
}

static bool is_set(const char *name)
{
  const char *value = getenv(name);

  return value && *value != '\0';
}

static bool forces(const char *name)
{
  const char *value = getenv(name);

  return value && strcmp(value, "0") != 0;
}

static bool is_dumb(void)
{
  const char *term = getenv("TERM");

  return term && strcmp(term, "dumb") == 0;
}

static bool wants_color(bool stdout_tty, const char *when)
{
  if (when && strcmp(when, "auto") != 0)
    return strcmp(when, "always") == 0;
  if (is_set("NO_COLOR"))
    return false;
  if (forces("FORCE_COLOR") || forces("CLICOLOR_FORCE"))
    return true;
  return stdout_tty && !is_dumb();
}

void aicr_terminal_read(struct aicr_terminal *terminal, const char *when)
{
  terminal->stdout_tty = isatty(STDOUT_FILENO) == 1;
  terminal->width = terminal->stdout_tty ? width_of(STDOUT_FILENO) : 0;
  terminal->live = 0;
  if (isatty(STDERR_FILENO) == 1 && !is_dumb() && !is_set("CI"))
    terminal->live = width_of(STDERR_FILENO);
  terminal->utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
  terminal->color = wants_color(terminal->stdout_tty, when);
}
