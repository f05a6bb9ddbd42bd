/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of NCCL: what is read of one points into it; counts add up; nothing
 * depends on lines that are not NCCL's; names are valid UTF-8. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "nccl/evidence.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
  if (!ok) {
    fprintf(stderr, "%s\n", what);
    abort();
  }
}

static bool inside(const char *p, size_t n, const char *text, size_t len)
{
  return p == NULL || (p >= text && n <= len && (size_t)(p - text) <= len - n);
}

static void check_line(const char *text, size_t len)
{
  struct nccl_log_line l;
  struct nccl_channel c;

  if (!nccl_log_line_read(text, len, &l))
    return;
  require(inside(l.host, l.host_len, text, len) &&
              inside(l.file, l.file_len, text, len) &&
              inside(l.message, l.message_len, text, len),
          "a part out of its line");
  require(l.level == NCCL_BARE || l.host_len > 0, "a line without its host");
  if (nccl_channel_read(l.message, l.message_len, &c))
    require(c.path[0] != '\0', "a channel without a path");
}

static void check_names(const struct nccl_names *names)
{
  for (size_t i = 0; i < names->count; i++)
    require(names->of[i].count > 0 &&
                aicr_utf8_valid(names->of[i].text, strlen(names->of[i].text)),
            "a name");
}

static void check(const struct nccl_evidence *e, uint64_t lines)
{
  uint64_t channels = 0;

  require(e->lines <= lines, "more lines than there are");
  for (size_t i = 0; i < e->path_count; i++) {
    require(e->paths[i].gdr <= e->paths[i].count &&
                e->paths[i].pxn <= e->paths[i].count,
            "more of a path than there is");
    channels += e->paths[i].count;
  }
  require(channels <= e->lines && e->socket_channels <= e->lines,
          "more channels than lines");
  check_names(&e->networks);
  check_names(&e->loaded);
  check_names(&e->failed);
  for (size_t i = 0; i < e->warn_count; i++)
    require(aicr_utf8_valid(e->warns[i].text, strlen(e->warns[i].text)),
            "a warning");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct nccl_evidence *e = nccl_evidence_new();
  uint64_t lines = 0;
  size_t at = 0;

  require(e != NULL, "memory");
  while (at < size) {
    const char *text = (const char *)data + at;
    const char *newline = memchr(text, '\n', size - at);
    size_t n = newline ? (size_t)(newline - text) : size - at;
    char *copy = malloc(n ? n : 1); /* of exactly its size */

    require(copy != NULL, "memory");
    memcpy(copy, text, n);
    check_line(copy, n);
    nccl_evidence_add(e, copy, n);
    free(copy);
    lines++;
    at += n + 1;
  }
  nccl_evidence_finish(e);
  check(e, lines);
  nccl_evidence_free(e);
  return 0;
}
