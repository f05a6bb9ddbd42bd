/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/json_list.h"
#include "core/text.h"
#include "core/yaml.h"
#include "kube/recording_load.h"

static bool ends_in(const char *text, const char *end)
{
  size_t n = strlen(text), m = strlen(end);
  return n > m && strcmp(text + n - m, end) == 0;
}

bool kube_rec_is_document(const char *path)
{
  return ends_in(path, ".json") || ends_in(path, ".yaml") ||
         ends_in(path, ".yml");
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

static bool add_item(struct kube_rec_loader *l, const char *file,
                     struct kube_rec_list *list, size_t number,
                     const char *text, size_t len, struct aicr_error *err)
{
  struct kube_rec_facts facts;
  struct aicr_error bad;
  size_t type = list->type;
  if (!kube_rec_read_facts(text, len, &facts, &bad)) {
    if (bad.code == AICR_INTERNAL) {
      return kube_rec_fail(err, file, &bad);
    }
    return kube_rec_invalid(err, file, "item %zu: %s", number, bad.message);
  }
  if (!check_item(list, file, number, &facts, err)) {
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
  return kube_rec_set_add(l->store, list->set, text, len, &facts, type, err);
}

static bool list_is_whole(const char *file, struct kube_rec_list *list,
                          const struct aicr_json_list *cutter,
                          struct aicr_error *err)
{
  if (!cutter->has_items) {
    return kube_rec_invalid(err, file, "a list has \"items\"");
  }
  if (cutter->next_page != NULL) {
    return kube_rec_invalid(
        err, file,
        "the list is one page of several (metadata.continue is "
        "set): record it without a limit");
  }
  memcpy(list->kind, cutter->kind, sizeof list->kind);
  memcpy(list->api_version, cutter->api_version, sizeof list->api_version);
  list->typed = ends_in(list->kind, "List");
  if (list->typed) {
    list->kind[strlen(list->kind) - strlen("List")] = '\0';
  }
  return true;
}

bool kube_rec_load_list(struct kube_rec_loader *l, const char *file,
                        const char *text, size_t len,
                        struct kube_rec_list *list, struct aicr_error *err)
{
  struct aicr_json_list cutter;
  bool ok = true;
  size_t number = 0;
  aicr_json_list_init(&cutter);
  aicr_json_feed(&cutter.reader, text, len);
  aicr_json_finish(&cutter.reader);
  enum aicr_json_list_result got = aicr_json_list_next(&cutter);
  while (ok && got == AICR_LIST_ITEM) {
    ok = add_item(l, file, list, ++number, cutter.item, cutter.item_len, err);
    got = ok ? aicr_json_list_next(&cutter) : got;
  }
  if (ok) {
    ok = got == AICR_LIST_END ? list_is_whole(file, list, &cutter, err)
                              : kube_rec_fail(err, file, &cutter.reader.error);
  }
  aicr_json_list_free(&cutter);
  return ok;
}

/* Where the JSON value that begins at text[0] ends: the length, all of it when
 * the end is missing (the reader says what is wrong then). */
static size_t value_end(const char *text, size_t len)
{
  size_t depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < len; i++) {
    char c = text[i];
    if (in_string) {
      if (c == '\\') {
        i++;
      } else if (c == '"') {
        in_string = false;
      }
    } else if (c == '"') {
      in_string = true;
    } else if (c == '{' || c == '[') {
      depth++;
    } else if ((c == '}' || c == ']') && depth > 0 && --depth == 0) {
      return i + 1;
    }
  }
  return len;
}

static bool is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static bool each_json(const char *file, const char *text, size_t len,
                      const struct kube_rec_document_visitor *v,
                      struct aicr_error *err)
{
  size_t at = 0;
  for (size_t number = 1;; number++) {
    while (at < len && is_space(text[at])) {
      at++;
    }
    if (at == len) {
      return true;
    }
    size_t n = value_end(text + at, len - at);
    struct aicr_error bad;
    if (!aicr_json_check(text + at, n, AICR_JSON_STRICT, AICR_JSON_DEPTH,
                         &bad)) {
      if (bad.code == AICR_INTERNAL || (number == 1 && at == 0)) {
        return kube_rec_fail(err, file, &bad);
      }
      return kube_rec_invalid(err, file,
                              "document %zu, which begins at byte %zu: %s",
                              number, at, bad.message);
    }
    if (!v->each(v->ctx, file, text + at, n, err)) {
      return false;
    }
    at += n;
  }
}

static bool each_yaml(const char *file, const char *text, size_t len,
                      const struct kube_rec_document_visitor *v,
                      struct aicr_error *err)
{
  struct aicr_yaml yaml;
  struct aicr_error bad;
  struct aicr_buf json;
  bool end = false;
  if (!aicr_yaml_open(&yaml, text, len, AICR_YAML_KUBERNETES, &bad)) {
    return kube_rec_fail(err, file, &bad);
  }
  aicr_buf_init(&json, REC_FILE_MAX);
  bool ok = true;
  while (ok && !end) {
    aicr_buf_reset(&json);
    ok = aicr_yaml_next(&yaml, &json, &end, &bad) ||
         kube_rec_fail(err, file, &bad);
    bool empty =
        json.len == 0 || (json.len == 4 && memcmp(json.data, "null", 4) == 0);
    if (ok && !end && !empty) {
      ok = v->each(v->ctx, file, json.data, json.len, err);
    }
  }
  aicr_buf_free(&json);
  aicr_yaml_close(&yaml);
  return ok;
}

bool kube_rec_each_document(const char *file, const struct aicr_buf *text,
                            const struct kube_rec_document_visitor *v,
                            struct aicr_error *err)
{
  const char *data = text->data == NULL ? "" : text->data;
  size_t len = text->len, at = 0;
  if (len >= 2 &&
      (memcmp(data, "\xff\xfe", 2) == 0 || memcmp(data, "\xfe\xff", 2) == 0)) {
    return kube_rec_invalid(err, file, "the text is UTF-16; save it as UTF-8");
  }
  if (len >= 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0) {
    data += 3;
    len -= 3;
  }
  while (at < len && is_space(data[at])) {
    at++;
  }
  bool yaml = ends_in(file, ".yaml") || ends_in(file, ".yml");
  bool json = ends_in(file, ".json");
  if (!yaml && (json || at == len || data[at] == '{' || data[at] == '[')) {
    return each_json(file, data, len, v, err);
  }
  return each_yaml(file, data, len, v, err);
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
  if (own != REC_NO_TYPE &&
      !kube_rec_type_complete(&s->types[own], NULL, err)) {
    return false;
  }
  while (list->set->count > 0) {
    struct kube_rec_object *from = &list->set->items[list->set->count - 1];
    from->type = from->type == REC_NO_TYPE ? own : from->type;
    if (from->type == REC_NO_TYPE) {
      return kube_rec_invalid(err, file, "item %zu has no apiVersion and kind",
                              list->set->count);
    }
    struct kube_rec_type *t = &s->types[from->type];
    struct kube_rec_object *to =
        kube_rec_grow((void **)&t->set.items, &t->set.count, &t->set.cap,
                      sizeof *to, REC_OBJECTS_MAX, err);
    if (to == NULL || !kube_rec_type_complete(t, NULL, err)) {
      return false;
    }
    *to = *from;
    list->set->count--;
  }
  return true;
}

static bool add_single(struct kube_rec_loader *l, const char *file,
                       const char *text, size_t len,
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
  return kube_rec_set_add(l->store, &t->set, text, len, f, type, err);
}

static bool add_document(void *ctx, const char *file, const char *text,
                         size_t len, struct aicr_error *err)
{
  struct kube_rec_loader *l = ctx;
  struct kube_rec_facts facts;
  struct aicr_error bad;
  bool taken = false;
  if (text[0] != '{') {
    kube_rec_warn(l, file, "holds a document that is no object; it is ignored");
    return true;
  }
  if (!kube_rec_read_facts(text, len, &facts, &bad)) {
    return kube_rec_fail(err, file, &bad);
  }
  if (strcmp(facts.kind, "APIGroupDiscoveryList") == 0) {
    return kube_rec_add_discovery(l->store, text, len, &taken, &bad) ||
           kube_rec_fail(err, file, &bad);
  }
  bool list = facts.has_items &&
              (strcmp(facts.kind, "List") == 0 || ends_in(facts.kind, "List"));
  if (!list) {
    return add_single(l, file, text, len, &facts, err);
  }
  struct kube_rec_set batch = {0};
  struct kube_rec_list cut = {.type = REC_NO_TYPE, .set = &batch};
  bool ok = kube_rec_load_list(l, file, text, len, &cut, err) &&
            hand_out(l, file, &cut, err);
  kube_rec_set_free(&batch);
  return ok;
}

bool kube_rec_load_documents(struct kube_rec_loader *l, const char *file,
                             const struct aicr_buf *text,
                             struct aicr_error *err)
{
  const struct kube_rec_document_visitor v = {add_document, l};
  return kube_rec_each_document(file, text, &v, err);
}
