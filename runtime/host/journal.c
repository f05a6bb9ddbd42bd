/* SPDX-License-Identifier: Apache-2.0 */
#include "host/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/buffer.h"
#include "host/watchdog.h"

bool aicr_journal_open(struct aicr_journal *j, const char *path,
                       const char **message)
{
  aicr_journal_close(j, false);
  j->path = aicr_strndup(path, strlen(path));
  if (!j->path) {
    *message = "out of memory";
    return false;
  }
  j->fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
  if (j->fd < 0) {
    *message = strerror(errno);
    aicr_free(j->path);
    j->path = NULL;
    return false;
  }
  aicr_watchdog_journal(path);
  return true;
}

void aicr_journal_add(struct aicr_journal *j, const char *line, size_t len)
{
  struct iovec parts[2] = {{(void *)line, len}, {(void *)"\n", 1}};
  ssize_t ignored;

  if (!j->path)
    return;
  ignored = writev(j->fd, parts, 2);
  (void)ignored;
}

void aicr_journal_close(struct aicr_journal *j, bool keep)
{
  if (!j->path)
    return;
  aicr_watchdog_journal(NULL);
  close(j->fd);
  if (keep)
    fprintf(stderr,
            "  fix  the results of the checks that had ended are in %s\n",
            j->path);
  else
    unlink(j->path);
  aicr_free(j->path);
  j->path = NULL;
}
