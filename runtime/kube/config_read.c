/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config_read.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void kube_config_wipe_text(char **text)
{
  if (*text != NULL) {
    explicit_bzero(*text, strlen(*text));
    aicr_free(*text);
    *text = NULL;
  }
}

bool kube_config_no_memory(struct aicr_error *err)
{
  return aicr_fail(err, AICR_INTERNAL, "memory",
                   "no memory for the cluster's configuration");
}

bool kube_config_copy(char **out, const char *text, struct aicr_error *err)
{
  kube_config_wipe_text(out);
  *out = aicr_strndup(text, strlen(text));
  return *out != NULL || kube_config_no_memory(err);
}

static enum kube_config_found
read_all(int fd, size_t size, struct aicr_buf *text, const char **problem)
{
  if (!aicr_buf_room(text, size + 1)) {
    return KUBE_CONFIG_NO_MEMORY;
  }
  text->data[0] = '\0';
  while (text->len <= size) {
    ssize_t n = read(fd, text->data + text->len, size + 1 - text->len);
    if (n < 0 && errno != EINTR) {
      *problem = strerror(errno);
      return KUBE_CONFIG_BAD;
    }
    if (n == 0) {
      return KUBE_CONFIG_READ;
    }
    text->len += n > 0 ? (size_t)n : 0;
    text->data[text->len] = '\0';
  }
  *problem = "it grew while it was read";
  return KUBE_CONFIG_BAD;
}

static enum kube_config_found read_open(int fd, struct aicr_buf *text,
                                        bool *exposed, const char **problem)
{
  struct stat st;
  if (fstat(fd, &st) != 0) {
    *problem = strerror(errno);
    return KUBE_CONFIG_BAD;
  }
  if (!S_ISREG(st.st_mode)) {
    *problem = S_ISDIR(st.st_mode) ? "it is a folder"
                                   : "it is a pipe or a device, not a file";
    return KUBE_CONFIG_BAD;
  }
  if (st.st_size > (off_t)KUBE_CONFIG_FILE_MAX) {
    *problem = "it is larger than 1 MiB";
    return KUBE_CONFIG_BAD;
  }
  if (exposed != NULL) {
    *exposed = (st.st_mode & (S_IRGRP | S_IROTH)) != 0;
  }
  return read_all(fd, (size_t)st.st_size, text, problem);
}

enum kube_config_found kube_config_read(const char *path, struct aicr_buf *text,
                                        bool *exposed, const char **problem)
{
  aicr_buf_init(text, KUBE_CONFIG_FILE_MAX + 1);
  text->secret = true;
  *problem = NULL;
  if (exposed != NULL) {
    *exposed = false;
  }
  /* KUBECONFIG=/dev/null is how people say "none". */
  if (strcmp(path, "/dev/null") == 0) {
    return KUBE_CONFIG_READ;
  }
  /* Not blocking, so that a pipe without a writer cannot hold us up. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  if (fd < 0) {
    int e = errno;
    bool absent = e == ENOENT || e == ENOTDIR;
    *problem = absent ? "no such file" : strerror(e);
    return absent ? KUBE_CONFIG_ABSENT : KUBE_CONFIG_BAD;
  }
  enum kube_config_found found = read_open(fd, text, exposed, problem);
  close(fd);
  return found;
}
