/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_run.h"

#include <stdlib.h>
#include <string.h>

#define EVENTS_MAX 100000u

bool kube_rec_event_add(struct kube_rec_store *s,
                        const struct kube_index_line *line,
                        struct aicr_error *err)
{
  struct kube_rec_event *e =
      kube_rec_grow((void **)&s->events, &s->event_count, &s->event_cap,
                    sizeof *e, EVENTS_MAX, err);
  if (e == NULL) {
    return false;
  }
  e->kind = line->kind;
  e->asker = line->asker;
  e->asker.attempt = line->asker.attempt == 0 ? 1 : line->asker.attempt;
  e->looks = line->looks;
  e->transport = line->transport;
  e->http = line->http;
  e->attempts = line->attempts;
  e->code = line->code;
  e->what = kube_rec_copy(line->what, strlen(line->what), err);
  e->reason = kube_rec_copy(line->reason, strlen(line->reason), err);
  e->message = kube_rec_copy(line->detail, strlen(line->detail), err);
  return e->what != NULL && e->reason != NULL && e->message != NULL;
}

static int compare_checks(const void *left, const void *right)
{
  const struct kube_rec_check *a = left, *b = right;
  int c = strcmp(a->name, b->name);
  return c != 0 ? c : (a->attempts > b->attempts) - (a->attempts < b->attempts);
}

static int compare_askers(const void *left, const void *right)
{
  const struct kube_asker *a = left;
  const struct kube_asker *b = right;
  int c = strcmp(a->check, b->check);
  return c != 0 ? c : (a->attempt > b->attempt) - (a->attempt < b->attempt);
}

/* A run that is over twice was ended in two ways: none of them is believed. */
bool kube_rec_check_runs(const struct kube_rec_store *s, struct aicr_error *err)
{
  struct kube_asker *runs = aicr_calloc(s->event_count + 1, sizeof *runs);
  size_t count = 0;
  bool ok = true;
  if (runs == NULL) {
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  for (size_t i = 0; i < s->event_count; i++) {
    if (s->events[i].kind == KUBE_INDEX_RUN) {
      runs[count++] = s->events[i].asker;
    }
  }
  if (count > 1) {
    qsort(runs, count, sizeof *runs, compare_askers);
  }
  for (size_t i = 1; ok && i < count; i++) {
    const struct kube_asker *a = &runs[i];
    ok = compare_askers(&runs[i - 1], &runs[i]) != 0 ||
         aicr_fail(err, AICR_INVALID_REQUEST, "recording-invalid",
                   "%s: attempt %u of the check %s is over twice",
                   KUBE_RECORD_INDEX, a->attempt, a->check);
  }
  aicr_free(runs);
  return ok;
}

bool kube_rec_list_checks(struct kube_rec_store *s, struct aicr_error *err)
{
  size_t most = s->entry_count + s->event_count, count = 0, kept = 0;
  struct kube_rec_check *all = aicr_calloc(most + 1, sizeof *all);
  if (all == NULL) {
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  for (size_t i = 0; i < s->entry_count; i++) {
    const struct kube_rec_entry *e = &s->entries[i];
    if (e->check[0] != '\0') {
      all[count++] = (struct kube_rec_check){e->check, e->attempt};
    }
  }
  for (size_t i = 0; i < s->event_count; i++) {
    const struct kube_asker *a = &s->events[i].asker;
    all[count++] = (struct kube_rec_check){a->check, a->attempt};
  }
  if (count > 1) {
    qsort(all, count, sizeof *all, compare_checks);
  }
  for (size_t i = 0; i < count; i++) {
    bool last = i + 1 == count || strcmp(all[i].name, all[i + 1].name) != 0;
    if (last) {
      all[kept++] = all[i];
    }
  }
  s->checks = all;
  s->check_count = kept;
  return true;
}

static int compare_name(const void *name, const void *item)
{
  return strcmp(name, ((const struct kube_rec_check *)item)->name);
}

struct kube_asker kube_rec_asker(const struct kube_rec_store *s,
                                 const struct kube_asker *asker)
{
  struct kube_asker nobody = {.attempt = 1}, own;
  if (asker == NULL || s->check_count == 0) {
    return nobody;
  }
  const struct kube_rec_check *c =
      bsearch(asker->check, s->checks, s->check_count, sizeof *c, compare_name);
  if (c == NULL) {
    return nobody;
  }
  own = *asker;
  own.attempt = own.attempt < c->attempts ? own.attempt : c->attempts;
  return own;
}

bool kube_rec_is_cleanup(const struct kube_asker *asker)
{
  return strncmp(asker->part, "end", 3) == 0;
}

static bool is_of(const struct kube_rec_event *e,
                  const struct kube_asker *asker)
{
  return e->asker.attempt == asker->attempt &&
         strcmp(e->asker.check, asker->check) == 0;
}

enum kube_transport kube_rec_run_end(const struct kube_rec_store *s,
                                     const struct kube_asker *asker)
{
  struct kube_asker own = kube_rec_asker(s, asker);
  if (own.check[0] == '\0') {
    return KUBE_TRANSPORT_OK;
  }
  for (size_t i = 0; i < s->event_count; i++) {
    const struct kube_rec_event *e = &s->events[i];
    if (e->kind == KUBE_INDEX_RUN && is_of(e, &own)) {
      return e->transport;
    }
  }
  return KUBE_TRANSPORT_CANCELED;
}

/* The next one of a kind of which an asker has not been told. */
static struct kube_rec_event *next_event(struct kube_rec_store *s,
                                         const struct kube_asker *asker,
                                         enum kube_index_kind kind,
                                         const char *what)
{
  struct kube_asker own = kube_rec_asker(s, asker);
  for (size_t i = 0; own.check[0] != '\0' && i < s->event_count; i++) {
    struct kube_rec_event *e = &s->events[i];
    if (e->kind == kind && e->told_to != asker->attempt && is_of(e, &own) &&
        strcmp(e->asker.part, own.part) == 0 && strcmp(e->what, what) == 0) {
      e->told_to = asker->attempt;
      return e;
    }
  }
  return NULL;
}

/* How the lookup at hand of a name ended, NULL: it was found. A line says how
 * many lookups were before it; one that does not is the next. */
static const struct kube_rec_event *lookup(struct kube_rec_store *s,
                                           const struct kube_asker *asker,
                                           const char *what)
{
  struct kube_asker own = kube_rec_asker(s, asker);
  const struct kube_rec_event *found = NULL;
  bool first = true;
  unsigned now = 0, next = 0;
  for (size_t i = 0; own.check[0] != '\0' && i < s->event_count; i++) {
    struct kube_rec_event *e = &s->events[i];
    if (e->kind != KUBE_INDEX_RESOLVE || !is_of(e, &own) ||
        strcmp(e->asker.part, own.part) != 0 || strcmp(e->what, what) != 0) {
      continue;
    }
    if (first) {
      e->lookups = e->told_to == asker->attempt ? e->lookups : 0;
      e->told_to = asker->attempt;
      now = e->lookups++;
      first = false;
    }
    unsigned at = e->looks > next ? e->looks : next;
    found = at == now ? e : found;
    next = at + 1;
  }
  return found;
}

bool kube_rec_unresolved(struct kube_rec_store *s,
                         const struct kube_asker *asker, const char *named,
                         struct kube_failure *failure, struct aicr_error *err)
{
  char what[1024];
  if (asker == NULL || named == NULL) {
    return false;
  }
  kube_index_what(named, strlen(named), what);
  const struct kube_rec_event *e = lookup(s, asker, what);
  if (e == NULL) {
    return false;
  }
  failure->http = e->http;
  failure->transport = e->transport;
  failure->attempts = e->attempts;
  aicr_fail(err, e->code, e->reason, "%s", e->message);
  err->verdict =
      e->code == AICR_NOT_FOUND && strcmp(e->reason, "api-not-served") == 0;
  return true;
}

bool kube_rec_is_over(const struct kube_rec_store *s,
                      const struct kube_asker *asker)
{
  if (asker == NULL || asker->check[0] == '\0') {
    return false;
  }
  bool known = kube_rec_asker(s, asker).check[0] != '\0';
  return known ? !kube_rec_is_cleanup(asker) &&
                     kube_rec_run_end(s, asker) != KUBE_TRANSPORT_OK
               : s->open;
}

void kube_rec_end_error(struct aicr_error *err)
{
  aicr_fail(err, AICR_CANCELED, "recorded-end",
            "the recorded run of the check ended before it was answered this");
}

enum kube_wait_end kube_rec_wait(struct kube_rec_store *s,
                                 const struct kube_asker *asker,
                                 const char *what, unsigned *looks)
{
  struct kube_asker own = kube_rec_asker(s, asker);
  *looks = 0;
  if (own.check[0] == '\0') {
    return KUBE_WAIT_UNKNOWN;
  }
  const struct kube_rec_event *e = next_event(s, asker, KUBE_INDEX_WAIT, what);
  if (e != NULL) {
    *looks = e->looks;
    return e->transport == KUBE_TRANSPORT_OK ? KUBE_WAIT_OVER : KUBE_WAIT_LATE;
  }
  return kube_rec_is_cleanup(&own) ||
                 kube_rec_run_end(s, asker) == KUBE_TRANSPORT_OK
             ? KUBE_WAIT_NONE
             : KUBE_WAIT_CUT;
}
