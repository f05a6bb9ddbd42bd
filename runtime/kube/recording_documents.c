/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/text.h"
#include "kube/fixed_text.h"
#include "kube/recording_load.h"

bool kube_rec_is_json(const char *path)
{
  return kube_ends_in(path, ".json");
}

bool kube_rec_is_yaml(const char *path)
{
  return kube_ends_in(path, ".yaml") || kube_ends_in(path, ".yml");
}

bool kube_rec_is_document(const char *path)
{
  return kube_rec_is_json(path) || kube_rec_is_yaml(path);
}

/* Items of a list whose resource is known must be of it. */
static bool check_item(const struct kube_rec_list *list, const char *file,
                       size_t number, const struct kube_rec_facts *f,
                       struct aicr_error *err)
{
  char group[KUBE_NAME_MAX + 1], version[64];
  struct aicr_quoted q;
  if (f->name[0] == '\0') {
    return kube_rec_invalid(err, file, "item %zu has no metadata.name", number);
  }
  if (list->want == NULL) {
    return true;
  }
  if (f->api_version[0] != '\0' &&
      (!kube_rec_split_api_version(f->api_version, group, sizeof group, version,
                                   sizeof version) ||
       strcmp(group, list->want->group) != 0 ||
       strcmp(version, list->want->version) != 0)) {
    return kube_rec_invalid(
        err, file,
        "item %zu is of apiVersion %s, but is recorded among "
        "%s of %s/%s",
        number, aicr_quote(&q, f->api_version, strlen(f->api_version)),
        list->want->plural,
        list->want->group[0] == '\0' ? "core" : list->want->group,
        list->want->version);
  }
  if (list->ns != NULL && f->ns[0] != '\0' && strcmp(f->ns, list->ns) != 0) {
    return kube_rec_invalid(
        err, file, "item %zu is in namespace %s, but is recorded in %s", number,
        aicr_quote(&q, f->ns, strlen(f->ns)), list->ns);
  }
  return true;
}

static bool type_of(struct kube_rec_loader *l, const char *file,
                    const char *kind, const char *api_version, size_t *type,
                    struct aicr_error *err)
{
  char group[KUBE_NAME_MAX + 1], version[64];
  struct aicr_quoted q;
  if (!kube_rec_split_api_version(api_version, group, sizeof group, version,
                                  sizeof version)) {
    return kube_rec_invalid(err, file, "bad apiVersion %s",
                            aicr_quote(&q, api_version, strlen(api_version)));
  }
  const struct kube_rec_type *t =
      kube_rec_store_type(l->store, group, version, NULL, kind, err);
  if (t == NULL) {
    return false;
  }
  *type = (size_t)(t - l->store->types);
  return true;
}

bool kube_rec_add_item(struct kube_rec_loader *l, const char *file,
                       struct kube_rec_list *list,
                       const struct kube_rec_scan *scan,
                       const struct kube_rec_span *at, struct aicr_error *err)
{
  struct kube_rec_facts facts = scan->item;
  size_t type = list->type;
  if (!check_item(list, file, scan->items, &facts, err)) {
    return false;
  }
  if (list->want == NULL) {
    type = REC_NO_TYPE;
    if (facts.kind[0] != '\0' && facts.api_version[0] != '\0' &&
        !type_of(l, file, facts.kind, facts.api_version, &type, err)) {
      return false;
    }
  }
  if (list->ns != NULL && facts.ns[0] == '\0') {
    memcpy(facts.ns, list->ns, strlen(list->ns) + 1);
  }
  return kube_rec_set_add(l->store, list->set, at, &facts, type, err);
}

bool kube_rec_end_list(const char *file, struct kube_rec_list *list,
                       const struct kube_rec_scan *scan, struct aicr_error *err)
{
  if (!scan->is_object) {
    return kube_rec_invalid(err, file, "a list is an object with \"items\"");
  }
  if (scan->bad_list) {
    return kube_rec_fail(err, file, &scan->list_error);
  }
  if (!scan->facts.has_items) {
    return kube_rec_invalid(err, file, "a list has \"items\"");
  }
  if (scan->next_page && !list->may_go_on) {
    return kube_rec_invalid(
        err, file,
        "the list is one page of several (metadata.continue is "
        "set): record it without a limit");
  }
  if (scan->remaining && !scan->next_page) {
    return kube_rec_invalid(
        err, file,
        "the list is not whole (metadata.remainingItemCount is above 0 and "
        "there is no metadata.continue): record it without a limit");
  }
  memcpy(list->kind, scan->facts.kind, sizeof list->kind);
  memcpy(list->api_version, scan->facts.api_version, sizeof list->api_version);
  list->typed = kube_ends_in(list->kind, "List");
  if (list->typed) {
    list->kind[strlen(list->kind) - strlen("List")] = '\0';
  }
  return true;
}

/* Gives each item to its type. */
static bool spread(struct kube_rec_store *s, struct kube_rec_set *set,
                   struct aicr_error *err)
{
  while (set->count > 0) {
    const struct kube_rec_object *from = &set->items[set->count - 1];
    struct kube_rec_type *t = &s->types[from->type];
    struct kube_rec_object *to =
        kube_rec_grow((void **)&t->set.items, &t->set.count, &t->set.cap,
                      sizeof *to, REC_OBJECTS_MAX, err);
    if (to == NULL) {
      return false;
    }
    *to = *from;
    set->count--;
  }
  return true;
}

/* The same for items of one type, which mostly are the only ones of it. */
static bool hand_over(struct kube_rec_store *s, struct kube_rec_set *set,
                      struct aicr_error *err)
{
  struct kube_rec_type *t =
      set->count == 0 ? NULL : &s->types[set->items[0].type];
  if (t == NULL || t->set.count > 0) {
    return spread(s, set, err);
  }
  aicr_free(t->set.items);
  t->set = *set;
  *set = (struct kube_rec_set){0};
  return true;
}

/* Is a typed list, which elsewhere counts for all namespaces, that of one? */
static bool is_of_dump(const struct kube_rec_loader *l,
                       const struct kube_rec_set *set)
{
  bool all = l->dump_ns != NULL;
  for (size_t i = 0; all && i < set->count; i++) {
    all = strcmp(kube_rec_ns(&set->items[i]), l->dump_ns) == 0;
  }
  return all;
}

/* Gives the items of a kubectl document to their types. */
static bool hand_out(struct kube_rec_loader *l, const char *file,
                     struct kube_rec_list *list, struct aicr_error *err)
{
  struct kube_rec_store *s = l->store;
  size_t own = REC_NO_TYPE;
  if (list->typed && list->api_version[0] != '\0' &&
      !type_of(l, file, list->kind, list->api_version, &own, err)) {
    return false;
  }
  bool dumped = own != REC_NO_TYPE && is_of_dump(l, list->set);
  if (own != REC_NO_TYPE &&
      !kube_rec_type_complete(&s->types[own], dumped ? l->dump_ns : NULL,
                              err)) {
    return false;
  }
  bool one_type = true;
  for (size_t i = list->set->count; i > 0; i--) {
    struct kube_rec_object *o = &list->set->items[i - 1];
    o->type = o->type == REC_NO_TYPE ? (uint16_t)own : o->type;
    if (o->type == REC_NO_TYPE) {
      return kube_rec_invalid(err, file, "item %zu has no apiVersion and kind",
                              i);
    }
    one_type =
        one_type && o->type == list->set->items[list->set->count - 1].type;
  }
  if (own == REC_NO_TYPE && list->set->count == 0) {
    kube_rec_warn(l, file,
                  "is an empty List, which does not say what there is none of; "
                  "it is ignored (kubectl get --raw PATH says it)");
  }
  return (dumped ||
          kube_rec_scope_take(s, list->set, file, list->typed, err)) &&
         (one_type ? hand_over(s, list->set, err) : spread(s, list->set, err));
}

static bool add_single(struct kube_rec_loader *l, const char *file,
                       const struct kube_rec_span *at,
                       const struct kube_rec_facts *f, struct aicr_error *err)
{
  size_t type = 0;
  if (f->name[0] == '\0' || f->kind[0] == '\0' || f->api_version[0] == '\0') {
    kube_rec_warn(
        l, file,
        "holds a document that is no Kubernetes object; it is ignored");
    return true;
  }
  if (!type_of(l, file, f->kind, f->api_version, &type, err)) {
    return false;
  }
  struct kube_rec_type *t = &l->store->types[type];
  t->answered = true;
  return kube_rec_set_add(l->store, &t->set, at, f, type, err);
}

/* The items of a document that may prove to be no list. */
struct batch {
  struct kube_rec_loader *loader;
  size_t documents; /* before it */
  struct kube_rec_set set;
  bool begun;
  size_t types, objects; /* of the store, before it */
  struct kube_rec_names names;
  bool failed;
  struct aicr_error error; /* …as a list */
};

static bool take_item(void *ctx, const char *file, struct kube_rec_scan *scan,
                      const struct kube_rec_span *at, struct aicr_error *err)
{
  struct batch *b = ctx;
  struct kube_rec_store *s = b->loader->store;
  struct kube_rec_list list = {.type = REC_NO_TYPE, .set = &b->set};
  if (!b->begun) {
    b->begun = true;
    b->types = s->type_count;
    b->objects = s->objects;
    b->names = s->names;
  }
  if (kube_rec_add_item(b->loader, file, &list, scan, at, &b->error)) {
    return true;
  }
  if (b->error.code == AICR_INTERNAL) {
    *err = b->error;
    return false;
  }
  b->failed = scan->muted = true;
  return true;
}

static void drop_batch(struct batch *b)
{
  struct kube_rec_store *s = b->loader->store;
  kube_rec_set_free(&b->set);
  if (b->begun) {
    kube_rec_store_drop_types(s, b->types);
    kube_rec_names_drop(&s->names, &b->names);
    s->objects = b->objects;
  }
}

static bool add_discovery(struct kube_rec_loader *l, const char *file,
                          const struct kube_rec_span *at,
                          struct aicr_error *err)
{
  struct kube_rec_texts texts;
  struct aicr_error bad;
  bool taken = false;
  kube_rec_texts_begin(&texts, l->store);
  const char *text = kube_rec_span_text(&texts, at, err);
  bool ok = text != NULL &&
            (kube_rec_add_discovery(l->store, text, at->len, &taken, &bad) ||
             kube_rec_fail(err, file, &bad));
  return kube_rec_texts_end(&texts, ok ? err : NULL) && ok;
}

static bool add_document(struct batch *b, const char *file,
                         const struct kube_rec_scan *scan,
                         const struct kube_rec_span *at, struct aicr_error *err)
{
  struct kube_rec_loader *l = b->loader;
  const struct kube_rec_facts *f = &scan->facts;
  struct kube_rec_list list = {.type = REC_NO_TYPE, .set = &b->set};
  bool discovery = strcmp(f->kind, "APIGroupDiscoveryList") == 0;
  bool is_list = strcmp(f->kind, "List") == 0 || kube_ends_in(f->kind, "List");
  if (f->has_items && is_list && !discovery) {
    if (b->failed) {
      *err = b->error;
      return false;
    }
    return kube_rec_end_list(file, &list, scan, err) &&
           hand_out(l, file, &list, err);
  }
  drop_batch(b);
  if (!scan->is_object) {
    kube_rec_warn(l, file, "holds a document that is no object; it is ignored");
    return true;
  }
  return discovery ? add_discovery(l, file, at, err)
                   : add_single(l, file, at, f, err);
}

static bool take_document(void *ctx, const char *file,
                          struct kube_rec_scan *scan,
                          const struct kube_rec_span *at,
                          struct aicr_error *err)
{
  struct batch *b = ctx;
  struct kube_rec_loader *l = b->loader;
  bool ok = add_document(b, file, scan, at, err);
  kube_rec_set_free(&b->set);
  *b = (struct batch){.loader = l, .documents = b->documents + 1};
  return ok;
}

bool kube_rec_load_documents(struct kube_rec_loader *l,
                             const struct kube_rec_input *in,
                             struct aicr_error *err)
{
  struct batch b = {.loader = l};
  const struct kube_rec_documents to = {take_item, take_document, &b};
  bool ok = kube_rec_each_document(l, in, &to, err);
  kube_rec_set_free(&b.set);
  if (ok && b.documents == 0) {
    kube_rec_warn(l, in->path, "is empty; it is ignored");
  }
  return ok;
}
