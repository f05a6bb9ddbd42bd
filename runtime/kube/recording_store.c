/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_store.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "kube/fixed_text.h"
#include "kube/recording_load.h"
#include "kube/recording_log.h"
#include "kube/recording_run.h"

#define ENTRIES_MAX 100000u

static void free_type(struct kube_rec_type *t)
{
  kube_rec_set_free(&t->set);
  for (size_t i = 0; i < t->complete_ns_count; i++) {
    aicr_free(t->complete_ns[i]);
  }
  aicr_free(t->complete_ns);
  aicr_free(t->narrow_file);
  for (size_t i = 0; i < t->failure_count; i++) {
    aicr_free(t->failures[i].ns);
    aicr_free(t->failures[i].file);
    aicr_free(t->failures[i].body);
  }
  aicr_free(t->failures);
}

static void free_entry(struct kube_rec_entry *e)
{
  aicr_free(e->ns);
  aicr_free(e->name);
  aicr_free(e->subresource);
  aicr_free(e->label);
  aicr_free(e->field);
  aicr_free(e->query);
  aicr_free(e->path);
  aicr_free(e->reason);
  aicr_free(e->detail);
  aicr_free(e->check);
  aicr_free(e->part);
  aicr_free(e->body);
  kube_rec_set_free(&e->set);
}

void kube_rec_store_free(struct kube_rec_store *s)
{
  for (size_t i = 0; i < s->type_count; i++) {
    free_type(&s->types[i]);
  }
  for (size_t i = 0; i < s->entry_count; i++) {
    free_entry(&s->entries[i]);
  }
  aicr_free(s->types);
  aicr_free(s->sorted);
  kube_discovery_free(&s->discovery);
  aicr_free(s->entries);
  for (size_t i = 0; i < s->event_count; i++) {
    aicr_free(s->events[i].what);
    aicr_free(s->events[i].reason);
    aicr_free(s->events[i].message);
  }
  aicr_free(s->events);
  aicr_free(s->checks);
  for (size_t i = 0; i < s->log_count; i++) {
    aicr_free(s->logs[i].ns);
    aicr_free(s->logs[i].pod);
    aicr_free(s->logs[i].container);
  }
  aicr_free(s->logs);
  kube_rec_names_drop(&s->names, &(struct kube_rec_names){0});
  kube_rec_files_close(&s->files);
  *s = (struct kube_rec_store){.files = {.root = -1}};
}

static bool no_memory(struct aicr_error *err)
{
  return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
}

void *kube_rec_grow(void **array, size_t *count, size_t *cap, size_t size,
                    size_t max, struct aicr_error *err)
{
  if (*count >= max) {
    aicr_fail(err, AICR_INVALID_REQUEST, "recording-too-large",
              "the recording holds more than %zu entries of one sort", max);
    return NULL;
  }
  void *grown = aicr_grow(*array, cap, *count, size);
  if (grown == NULL) {
    no_memory(err);
    return NULL;
  }
  *array = grown;
  char *element = (char *)*array + *count * size;
  memset(element, 0, size);
  (*count)++;
  return element;
}

void kube_rec_note(struct aicr_buf *warnings, const char *fmt, ...)
{
  char line[1024];
  va_list args;
  va_start(args, fmt);
  vsnprintf(line, sizeof line, fmt, args);
  va_end(args);
  if (warnings != NULL && warnings->len + strlen(line) + 1 <= warnings->max) {
    aicr_buf_addf(warnings, "%s\n", line);
  }
}

char *kube_rec_copy(const char *text, size_t len, struct aicr_error *err)
{
  char *copy = aicr_strndup(text, len);
  if (copy == NULL) {
    no_memory(err);
  }
  return copy;
}

struct kube_rec_type *kube_rec_store_find(const struct kube_rec_store *s,
                                          const char *group,
                                          const char *version,
                                          const char *plural)
{
  for (size_t i = 0; i < s->type_count; i++) {
    struct kube_rec_type *t = &s->types[i];
    if (strcmp(t->r.plural, plural) == 0 && strcmp(t->r.group, group) == 0 &&
        (version == NULL || strcmp(t->r.version, version) == 0)) {
      return t;
    }
  }
  return NULL;
}

static int compare_type(const struct kube_rec_type *t, const char *group,
                        const char *version, const char *name, bool by_kind)
{
  if (t->by_kind != by_kind) {
    return t->by_kind ? 1 : -1;
  }
  int c = strcmp(by_kind ? t->r.kind : t->r.plural, name);
  c = c != 0 ? c : strcmp(t->r.group, group);
  return c != 0 ? c : strcmp(t->r.version, version);
}

/* A recording may name thousands of kinds in millions of objects, so this is
 * no walk. */
struct kube_rec_type *kube_rec_store_type(struct kube_rec_store *s,
                                          const char *group,
                                          const char *version,
                                          const char *plural, const char *kind,
                                          struct aicr_error *err)
{
  bool by_kind = plural == NULL;
  const char *name = by_kind ? kind : plural;
  size_t low = 0, high = s->type_count;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    struct kube_rec_type *t = &s->types[s->sorted[mid]];
    int c = compare_type(t, group, version, name, by_kind);
    if (c == 0) {
      return t;
    }
    if (c < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  if (s->sorted == NULL) {
    s->sorted = aicr_calloc(REC_TYPES_MAX, sizeof *s->sorted);
  }
  struct kube_rec_type *t =
      s->sorted == NULL
          ? NULL
          : kube_rec_grow((void **)&s->types, &s->type_count, &s->type_cap,
                          sizeof *t, REC_TYPES_MAX, err);
  if (t == NULL) {
    if (s->sorted == NULL) {
      no_memory(err);
    }
    return NULL;
  }
  memmove(s->sorted + low + 1, s->sorted + low,
          (s->type_count - 1 - low) * sizeof *s->sorted);
  s->sorted[low] = s->type_count - 1;
  t->by_kind = by_kind;
  kube_set_text(t->r.group, sizeof t->r.group, group);
  kube_set_text(t->r.version, sizeof t->r.version, version);
  kube_set_text(by_kind ? t->r.kind : t->r.plural,
                by_kind ? sizeof t->r.kind : sizeof t->r.plural, name);
  return t;
}

void kube_rec_store_drop_types(struct kube_rec_store *s, size_t count)
{
  size_t kept = 0;
  for (size_t i = 0; i < s->type_count; i++) {
    if (s->sorted[i] < count) {
      s->sorted[kept++] = s->sorted[i];
    }
  }
  s->type_count = count;
}

bool kube_rec_split_api_version(const char *text, char *group,
                                size_t group_size, char *version,
                                size_t version_size)
{
  const char *slash = strchr(text, '/');
  size_t group_len = slash == NULL ? 0 : (size_t)(slash - text);
  const char *rest = slash == NULL ? text : slash + 1;
  size_t rest_len = strlen(rest);
  if (rest_len == 0 || rest_len >= version_size || group_len >= group_size ||
      strchr(rest, '/') != NULL || slash == text) {
    return false;
  }
  memcpy(group, text, group_len);
  group[group_len] = '\0';
  memcpy(version, rest, rest_len + 1);
  return true;
}

bool kube_rec_set_add(struct kube_rec_store *s, struct kube_rec_set *set,
                      const struct kube_rec_span *at,
                      const struct kube_rec_facts *facts, size_t type,
                      struct aicr_error *err)
{
  if (s->objects >= REC_OBJECTS_MAX) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "recording-too-large",
                     "the recording holds more than %u objects",
                     REC_OBJECTS_MAX);
  }
  if (at->len > REC_ITEM_MAX) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "recording-too-large",
                     "an object over 16 MiB");
  }
  struct kube_rec_object *o =
      kube_rec_grow((void **)&set->items, &set->count, &set->cap, sizeof *o,
                    REC_OBJECTS_MAX, err);
  if (o == NULL) {
    return false;
  }
  o->ns_name = kube_rec_names_add(&s->names, facts->ns, facts->name, err);
  o->ns_len = (uint8_t)strlen(facts->ns);
  o->len = (uint32_t)at->len;
  o->type = (uint16_t)type;
  o->order = (uint32_t)s->objects++;
  o->has_api_version = facts->api_version[0] != '\0';
  o->has_kind = facts->kind[0] != '\0';
  if (at->text == NULL) {
    o->file = (uint32_t)at->file;
    o->at.offset = at->offset;
    return o->ns_name != NULL;
  }
  o->file = REC_IN_MEMORY;
  o->at.text = kube_rec_copy(at->text, at->len, err);
  return o->ns_name != NULL && o->at.text != NULL;
}

bool kube_rec_type_complete(struct kube_rec_type *t, const char *ns,
                            struct aicr_error *err)
{
  t->answered = true;
  if (ns == NULL) {
    t->complete = true;
    return true;
  }
  char *copy = kube_rec_copy(ns, strlen(ns), err);
  char **grown = copy == NULL
                     ? NULL
                     : aicr_realloc(t->complete_ns,
                                    (t->complete_ns_count + 1) * sizeof *grown);
  if (grown == NULL) {
    aicr_free(copy);
    return no_memory(err);
  }
  t->complete_ns = grown;
  t->complete_ns[t->complete_ns_count++] = copy;
  return true;
}

struct kube_rec_entry *kube_rec_entry_add(struct kube_rec_store *s,
                                          struct aicr_error *err)
{
  struct kube_rec_entry *e =
      kube_rec_grow((void **)&s->entries, &s->entry_count, &s->entry_cap,
                    sizeof *e, ENTRIES_MAX, err);
  if (e == NULL) {
    return NULL;
  }
  char **const texts[] = {&e->ns,     &e->name,  &e->subresource, &e->label,
                          &e->field,  &e->query, &e->path,        &e->reason,
                          &e->detail, &e->check, &e->part};
  e->attempt = 1;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    *texts[i] = kube_rec_copy("", 0, err);
    if (*texts[i] == NULL) {
      return NULL;
    }
  }
  return e;
}

bool kube_rec_is_log(const struct kube_request *rq)
{
  return rq->verb == KUBE_GET && rq->subresource != NULL &&
         strcmp(rq->subresource, "log") == 0 &&
         strcmp(rq->resource.plural, "pods") == 0 &&
         rq->resource.group[0] == '\0';
}

int kube_rec_entry_compare(const struct kube_rec_entry *a,
                           const struct kube_rec_entry *b)
{
  int c = 0;
  if (a->type != b->type) {
    return a->type < b->type ? -1 : 1;
  }
  if (a->verb != b->verb) {
    return a->verb < b->verb ? -1 : 1;
  }
  c = strcmp(a->ns, b->ns);
  c = c != 0 ? c : strcmp(a->name, b->name);
  c = c != 0 ? c : strcmp(a->subresource, b->subresource);
  c = c != 0 ? c : strcmp(a->label, b->label);
  c = c != 0 ? c : strcmp(a->field, b->field);
  c = c != 0 ? c : strcmp(a->query, b->query);
  return c != 0 ? c : strcmp(a->path, b->path);
}

int kube_rec_asker_compare(const struct kube_rec_entry *a,
                           const struct kube_rec_entry *b)
{
  int c = strcmp(a->check, b->check);
  if (c == 0 && a->attempt != b->attempt) {
    c = a->attempt < b->attempt ? -1 : 1;
  }
  return c != 0 ? c : strcmp(a->part, b->part);
}

static int compare_entries(const void *left, const void *right)
{
  const struct kube_rec_entry *a = left, *b = right;
  int c = kube_rec_entry_compare(a, b);
  c = c != 0 ? c : kube_rec_asker_compare(a, b);
  if (c != 0) {
    return c;
  }
  return a->line < b->line ? -1 : a->line > b->line;
}

static bool read_definitions(struct kube_rec_store *s,
                             const struct kube_rec_set *set,
                             struct aicr_error *err)
{
  struct kube_rec_texts texts;
  bool ok = true;
  kube_rec_texts_begin(&texts, s);
  for (size_t i = 0; ok && i < set->count; i++) {
    const char *text = kube_rec_text(&texts, &set->items[i], err);
    ok = text != NULL &&
         kube_rec_add_definition(s, text, set->items[i].len, err);
  }
  return kube_rec_texts_end(&texts, ok ? err : NULL) && ok;
}

static bool is_definitions(const struct kube_resource *r)
{
  return strcmp(r->group, "apiextensions.k8s.io") == 0 &&
         (strcmp(r->kind, "CustomResourceDefinition") == 0 ||
          strcmp(r->plural, "customresourcedefinitions") == 0);
}

/* A list of another kind in the place of a resource's is none of it: neither
 * what it holds nor that it holds nothing. */
static bool check_kind(const struct kube_rec_store *s,
                       const struct kube_resource *r, struct aicr_error *err)
{
  const struct kube_served_resource *k =
      kube_discovery_find(&s->discovery, r->group, r->version, r->plural);
  const struct kube_resource *known =
      k != NULL ? &k->r : kube_builtin_by_name(r->group, r->plural);
  struct aicr_quoted q;
  return known == NULL || known->kind[0] == '\0' || r->kind[0] == '\0' ||
         strcmp(known->kind, r->kind) == 0 ||
         aicr_fail(
             err, AICR_INVALID_REQUEST, "recording-invalid",
             "what is recorded as %.63s%s%.253s is of kind %s, not %.127s",
             r->plural, r->group[0] == '\0' ? "" : ".", r->group,
             aicr_quote(&q, r->kind, strlen(r->kind)), known->kind);
}

bool kube_rec_store_finish(struct kube_rec_store *s, struct aicr_buf *warnings,
                           struct aicr_error *err)
{
  for (size_t i = 0; i < s->type_count; i++) {
    if (is_definitions(&s->types[i].r) &&
        !read_definitions(s, &s->types[i].set, err)) {
      return false;
    }
  }
  for (size_t i = 0; i < s->entry_count; i++) {
    struct kube_rec_entry *e = &s->entries[i];
    if (e->type == REC_NO_TYPE) {
      continue;
    }
    if (is_definitions(&s->types[e->type].r) &&
        !read_definitions(s, &e->set, err)) {
      return false;
    }
    if (!kube_rec_set_finish(s, &e->set, true, s->types[e->type].r.plural,
                             warnings, err)) {
      return false;
    }
  }
  for (size_t i = 0; i < s->type_count; i++) {
    kube_rec_name_type(s, &s->types[i], warnings);
    if (!check_kind(s, &s->types[i].r, err)) {
      return false;
    }
    kube_rec_scope_warn(&s->types[i], warnings);
    if (!kube_rec_set_finish(s, &s->types[i].set, false, s->types[i].r.plural,
                             warnings, err)) {
      return false;
    }
  }
  kube_rec_sort_logs(s);
  if (s->entry_count > 1) {
    qsort(s->entries, s->entry_count, sizeof s->entries[0], compare_entries);
  }
  return kube_rec_check_runs(s, err) && kube_rec_list_checks(s, err);
}
