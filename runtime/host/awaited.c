/* SPDX-License-Identifier: Apache-2.0 */
#include "host/awaited.h"

#include <stdio.h>
#include <string.h>

#include "core/json_writer.h"
#include "host/limit.h"
#include "host/task.h"

#define WORDS_MAX 1024

void aicr_awaited_begin(struct aicr_task *t, struct aicr_awaited *a)
{
  if (!t->current)
    return;
  a->outer = t->current->awaits;
  t->current->awaits = a;
}

void aicr_awaited_end(struct aicr_task *t, const struct aicr_awaited *a)
{
  for (struct aicr_strand *s = t->strands; s; s = s->next)
    for (struct aicr_awaited **at = &s->awaits; *at; at = &(*at)->outer)
      if (*at == a) {
        *at = a->outer;
        return;
      }
}

/* The strand that runs, else the first one that waits by itself; *more counts
 * the others. */
static struct aicr_strand *waiting(const struct aicr_task *t, int *more)
{
  struct aicr_strand *found = t->current;

  *more = 0;
  if (found)
    return found;
  for (struct aicr_strand *s = t->strands; s; s = s->next) {
    if (s->wait != AICR_WAIT_CALL && s->wait != AICR_WAIT_UNTIL)
      continue;
    if (found)
      (*more)++;
    else
      found = s;
  }
  return found;
}

static void add_call(struct aicr_buf *b, const struct kube_call *call)
{
  const struct kube_failure *f = kube_call_failure(call);

  aicr_buf_addf(b, "%s %s", f->verb, f->resource);
  if (f->name[0])
    aicr_buf_addf(b, " %s", f->name);
  if (f->ns[0])
    aicr_buf_addf(b, " in namespace %s", f->ns);
}

static void add_words(struct aicr_buf *b, const struct aicr_strand *s)
{
  const struct aicr_awaited *a = s->awaits;

  if (a) {
    aicr_buf_adds(b, a->what);
    if (a->seen[0])
      aicr_buf_addf(b, ", last seen: %s", a->seen);
  } else if (s->wait == AICR_WAIT_CALL && s->call)
    add_call(b, s->call);
  else if (s->wait == AICR_WAIT_UNTIL)
    aicr_buf_adds(b, "ctx:sleep");
}

void aicr_awaited_note(struct aicr_task *t)
{
  int more;
  const struct aicr_strand *s = waiting(t, &more);
  struct aicr_buf words;

  aicr_buf_reset(&t->awaited);
  if (!s)
    return;
  aicr_buf_init(&words, WORDS_MAX);
  add_words(&words, s);
  if (words.len && more)
    aicr_buf_addf(&words, "; and %d more side by side", more);
  if (words.len && !words.failed) {
    aicr_buf_adds(&t->awaited, ",\"awaited\":");
    aicr_json_write_string(&t->awaited, words.data, words.len);
    aicr_end_position(&t->awaited, s->co);
  }
  aicr_buf_free(&words);
}
