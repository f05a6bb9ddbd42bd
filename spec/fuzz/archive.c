/* SPDX-License-Identifier: Apache-2.0 */
/* An archive that is accepted holds files under names that are safe, each once,
 * all of which can be read and found; one that is refused leaves nothing. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "kube/archive.h"
#include "kube/recording_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok)
    abort();
}

static int open_input(const uint8_t *data, size_t size)
{
  char path[] = "/tmp/aicr-fuzz-XXXXXX";
  int fd = mkstemp(path);

  require(fd >= 0 && unlink(path) == 0);
  require(write(fd, data, size) == (ssize_t)size);
  return fd;
}

static void check(const struct kube_archive *a)
{
  struct stat st;

  require(a->count == 0 || a->members != NULL);
  require(fstat(a->fd, &st) == 0);
  for (size_t i = 0; i < a->count; i++) {
    const struct kube_archive_member *m = &a->members[i];

    require(kube_index_path_ok(m->path));
    require(kube_archive_find(a, m->path) == m);
    require(!kube_archive_has_folder(a, m->path));
    require(m->offset + m->size <= (uint64_t)st.st_size);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct kube_archive a;
  struct aicr_error err;
  int fd = open_input(data, size);

  if (kube_archive_open(&a, fd, "fuzz.tar", &err)) {
    check(&a);
    kube_archive_close(&a);
  } else {
    require(a.fd == -1 && a.count == 0 && a.members == NULL);
    require(err.code == AICR_INVALID_REQUEST && err.message[0] != '\0');
  }
  close(fd);
  return 0;
}
