/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/text.h"
#include "kube/live_internal.h"

/* The address without its query where that holds a command's words. */
void kube_live_trace(const struct kube_transfer *t, int64_t now_ms)
{
  const struct kube_live *l = t->live;
  const struct kube_answer *a = &t->answer;
  struct aicr_buf line;
  if (l->base.trace == NULL) {
    return;
  }
  const char *query = t->exec == NULL ? strchr(t->url.data, '?') : NULL;
  aicr_buf_init(&line, 1u << 20);
  aicr_buf_addf(&line, "%s %s", kube_verb_name(t->rq.verb), l->target.base);
  aicr_buf_add_printable(&line, t->rq.path, strlen(t->rq.path));
  if (query != NULL) {
    aicr_buf_add_printable(&line, query, strlen(query));
  }
  if (a->http != 0) {
    aicr_buf_addf(&line, " -> %d, %zu bytes", a->http, a->body.len);
  } else {
    aicr_buf_addf(&line, " -> %s", kube_transport_name(a->transport));
  }
  aicr_buf_addf(&line, ", attempt %u, %lld ms", t->attempts,
                (long long)(now_ms - t->sent_ms));
  if (!line.failed) {
    l->base.trace(line.data);
  }
  aicr_buf_free(&line);
}
