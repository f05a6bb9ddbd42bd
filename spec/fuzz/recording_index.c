/* SPDX-License-Identifier: Apache-2.0 */
/* A line of an index that is accepted says one thing: it can be written again
 * and read back as the same, asks for a path that may be sent, and names a file
 * inside the recording. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kube/recording_index.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok) {
    abort();
  }
}

static void write_line(struct aicr_buf *b, const struct kube_index_line *l)
{
  kube_index_write(l, b);
  require(!b->failed);
}

static void check_asker(const struct kube_index_line *l)
{
  const struct kube_asker *a = &l->asker;
  require(a->check[0] != '\0' || (a->attempt == 0 && a->part[0] == '\0'));
  require(strlen(a->check) <= KUBE_CHECK_MAX);
  require(a->attempt <= 1000);
}

static void check(const struct kube_index_line *l)
{
  check_asker(l);
  if (l->kind != KUBE_INDEX_ANSWER) {
    require(l->asker.check[0] != '\0' && l->file[0] == '\0');
    require((l->kind == KUBE_INDEX_RUN) == (l->what[0] == '\0'));
    require((l->kind == KUBE_INDEX_RESOLVE) == (l->code != AICR_CODE_NONE));
    require(l->kind == KUBE_INDEX_RESOLVE || l->http == 0);
    return;
  }
  require(l->what[0] == '\0' && l->looks == 0);
  require((l->http != 0) + (l->transport != KUBE_TRANSPORT_OK) +
              (l->code != AICR_CODE_NONE) ==
          1);
  require(l->http == 0 || (l->http >= 100 && l->http <= 599));
  require(l->transport < KUBE_TRANSPORT_COUNT);
  require((l->verb == KUBE_RAW) == (l->path[0] == '/'));
  require(l->verb == KUBE_RAW ||
          (l->version[0] != '\0' && l->resource[0] != '\0'));
  require(l->verb != KUBE_GET || l->name[0] != '\0');
  require(l->verb != KUBE_LIST || l->name[0] == '\0');
  require(l->file[0] != '/' && strstr(l->file, "//") == NULL);
  require(strncmp(l->file, "../", 3) != 0 && strcmp(l->file, "..") != 0);
  require(strstr(l->file, "/../") == NULL);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static struct kube_index_line line, again;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct aicr_buf text, twice;
  if (!kube_index_parse((const char *)data, size, &line, &err)) {
    require(err.code == AICR_INVALID_REQUEST);
    require(strcmp(err.reason, "recording-invalid") == 0);
    require(err.message[0] != '\0' && !err.verdict);
    return 0;
  }
  check(&line);
  aicr_buf_init(&text, (size_t)1 << 20);
  write_line(&text, &line);
  require(kube_index_parse(text.data, text.len, &again, &err));
  aicr_buf_init(&twice, (size_t)1 << 20);
  write_line(&twice, &again);
  require(twice.len == text.len &&
          memcmp(twice.data, text.data, text.len) == 0);
  aicr_buf_free(&twice);
  aicr_buf_free(&text);
  return 0;
}
