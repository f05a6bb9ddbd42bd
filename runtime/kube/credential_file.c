/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/credential_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.h"
#include "kube/credential_answer.h"

#define FILE_MAX ((size_t)1 << 20)

static bool fail_file(struct aicr_error *err, const char *path,
                      const char *what)
{
  struct aicr_quoted q;

  return aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                   "the token file %s %s; try: ls -lL %s",
                   aicr_quote(&q, path, strlen(path)), what, q.text);
}

static bool fail_errno(struct aicr_error *err, const char *path)
{
  struct aicr_error what;

  aicr_fail(&what, AICR_INVALID_REQUEST, "", "cannot be read: %s",
            strerror(errno));
  return fail_file(err, path, what.message);
}

static bool read_all(int fd, const char *path, struct aicr_buf *out,
                     struct aicr_error *err)
{
  for (;;) {
    ssize_t n;

    if (out->len >= FILE_MAX)
      return fail_file(err, path, "is larger than 1 MiB");
    if (!aicr_buf_room(out, 4096))
      return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a token");
    n = read(fd, out->data + out->len, out->cap - 1 - out->len);
    if (n < 0 && errno == EINTR)
      continue;
    if (n < 0)
      return fail_errno(err, path);
    if (n == 0)
      return true;
    out->len += (size_t)n;
  }
}

static bool read_file(const char *path, struct aicr_buf *out,
                      struct aicr_error *err)
{
  /* A FIFO would wait for its writer. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat st;
  bool ok;

  if (fd < 0)
    return fail_errno(err, path);
  if (fstat(fd, &st) != 0)
    ok = fail_errno(err, path);
  else if (!S_ISREG(st.st_mode))
    ok = fail_file(err, path, "is no regular file");
  else
    ok = read_all(fd, path, out, err);
  close(fd);
  return ok;
}

bool kube_token_file_read(const char *path, struct aicr_buf *out,
                          struct aicr_error *err)
{
  struct aicr_buf text;
  const char *token;
  size_t len;
  bool ok;

  aicr_buf_init(&text, FILE_MAX + 4096);
  text.secret = true;
  ok = read_file(path, &text, err);
  if (ok) {
    token = text.len > 0 ? text.data : "";
    len = text.len;
    aicr_trim(&token, &len);
    if (len == 0)
      ok = fail_file(err, path, "is empty");
    else if (!kube_token_valid(token, len))
      ok = fail_file(err, path, "holds a character that no header can carry");
    else if (!aicr_buf_add(out, token, len))
      ok = aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a token");
  }
  aicr_buf_free(&text);
  return ok;
}
