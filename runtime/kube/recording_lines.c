/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kube/recording_index.h"
#include "kube/recording_load.h"
#include "kube/recording_run.h"

#define INDEX KUBE_RECORD_INDEX

static bool fail_line(struct aicr_error *err, size_t line,
                      const struct aicr_error *inner)
{
  if (inner->code == AICR_INTERNAL ||
      strcmp(inner->reason, "recording-too-large") == 0) {
    return kube_rec_fail(err, INDEX, inner);
  }
  return kube_rec_invalid(err, INDEX, "line %zu: %s", line, inner->message);
}

static bool copy_texts(struct kube_rec_entry *e,
                       const struct kube_index_line *line,
                       struct aicr_error *err)
{
  const struct {
    char **to;
    const char *from;
  } texts[] = {{&e->ns, line->ns},
               {&e->name, line->name},
               {&e->label, line->label},
               {&e->subresource, line->subresource},
               {&e->field, line->field},
               {&e->path, line->path},
               {&e->reason, line->reason},
               {&e->detail, line->detail},
               {&e->check, line->asker.check},
               {&e->part, line->asker.part}};
  struct aicr_buf query;
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    char *copy = kube_rec_copy(texts[i].from, strlen(texts[i].from), err);
    if (copy == NULL) {
      return false;
    }
    aicr_free(*texts[i].to);
    *texts[i].to = copy;
  }
  aicr_buf_init(&query, 64u << 10);
  bool sorted = kube_query_sort(line->query, &query);
  char *copy = kube_rec_copy(query.len == 0 ? "" : query.data, query.len, err);
  bool no_memory = query.no_memory;
  aicr_buf_free(&query);
  if (!sorted || copy == NULL) {
    aicr_free(copy);
    return copy == NULL || no_memory
               ? aicr_fail(err, AICR_INTERNAL, "memory",
                           "no memory for a recording")
               : aicr_fail(err, AICR_INVALID_REQUEST, "recording-invalid",
                           "bad \"query\"");
  }
  aicr_free(e->query);
  e->query = copy;
  return true;
}

static bool keep_body(struct kube_rec_entry *e, const char *text, size_t len,
                      struct aicr_error *err)
{
  e->holds = REC_HOLDS_BODY;
  e->body = kube_rec_copy(text, len, err);
  e->len = len;
  return e->body != NULL;
}

/* A text of any size stays where it is. */
static bool keep_blob(struct kube_rec_loader *l, struct kube_rec_entry *e,
                      const struct kube_rec_input *in, struct aicr_error *err)
{
  e->holds = REC_HOLDS_BLOB;
  if (!kube_rec_size(in, &e->blob.len, err)) {
    return false;
  }
  return kube_rec_files_keep(&l->store->files, in, &e->blob.file, err);
}

/* The answer of a get that should be JSON. */
static bool take_object(struct kube_rec_loader *l, struct kube_rec_entry *e,
                        const char *file, const struct aicr_buf *text,
                        struct aicr_error *err)
{
  struct kube_rec_facts facts;
  struct aicr_error bad;
  const char *data = text->data == NULL ? "" : text->data;
  struct kube_rec_type *t = &l->store->types[e->type];
  if (!kube_rec_read_facts(data, text->len, &facts, &bad)) {
    return kube_rec_fail(err, file, &bad);
  }
  if (t->r.kind[0] == '\0' && e->verb == KUBE_GET &&
      e->subresource[0] == '\0') {
    memcpy(t->r.kind, facts.kind, sizeof t->r.kind);
  }
  return keep_body(e, data, text->len, err);
}

struct list_file {
  struct kube_rec_loader *loader;
  struct kube_rec_list list;
  bool is_list, goes_on;
  char resource_version[64];
};

static bool take_item(void *ctx, const char *file, struct kube_rec_scan *scan,
                      const struct kube_rec_span *at, struct aicr_error *err)
{
  struct list_file *f = ctx;
  return kube_rec_add_item(f->loader, file, &f->list, scan, at, err);
}

static bool take_document(void *ctx, const char *file,
                          struct kube_rec_scan *scan,
                          const struct kube_rec_span *at,
                          struct aicr_error *err)
{
  struct list_file *f = ctx;
  (void)at;
  if (!scan->is_object) {
    return kube_rec_invalid(err, file, "a Kubernetes object is a JSON object");
  }
  f->is_list = scan->facts.has_items;
  f->goes_on = scan->next_page;
  memcpy(f->resource_version, scan->facts.rv, sizeof f->resource_version);
  return !f->is_list || kube_rec_end_list(file, &f->list, scan, err);
}

/* The answer of a list that should be JSON; *found false: it is no list. */
static bool take_list(struct kube_rec_loader *l, struct kube_rec_entry *e,
                      const struct kube_rec_input *in, bool *found,
                      struct aicr_error *err)
{
  struct kube_rec_type *t = &l->store->types[e->type];
  const struct kube_resource want = t->r;
  struct list_file f = {.loader = l,
                        .list = {.want = &want,
                                 .type = e->type,
                                 .ns = e->ns[0] == '\0' ? NULL : e->ns,
                                 .may_go_on = true,
                                 .set = &e->set}};
  const struct kube_rec_documents to = {take_item, take_document, &f};
  if (!kube_rec_one_document(l, in, &to, err)) {
    return false;
  }
  *found = f.is_list;
  e->partial = f.is_list && f.goes_on;
  memcpy(e->resource_version, f.resource_version, sizeof e->resource_version);
  if (f.is_list && t->r.kind[0] == '\0' && f.list.typed) {
    memcpy(t->r.kind, f.list.kind, sizeof t->r.kind);
  }
  return true;
}

static bool take_failure(struct kube_rec_entry *e, const char *file,
                         const struct aicr_buf *text, struct aicr_error *err)
{
  const char *data = text->data == NULL ? "" : text->data;
  struct kube_rec_error_file wrapped;
  bool found = false;
  if (strncmp(file, "errors/", 7) == 0 &&
      !kube_rec_read_error_file(file, data, text->len, &wrapped, &found, err)) {
    return false;
  }
  if (!found) {
    return keep_body(e, data, text->len, err);
  }
  e->holds = REC_HOLDS_BODY;
  e->body = wrapped.body;
  e->len = wrapped.len;
  if (e->content_type[0] == '\0') {
    memcpy(e->content_type, wrapped.content_type, sizeof e->content_type);
  }
  return wrapped.http == e->http ||
         kube_rec_invalid(err, file, "http %d, but the index says %d",
                          wrapped.http, e->http);
}

static bool take_text(struct kube_rec_loader *l, struct kube_rec_entry *e,
                      const struct kube_rec_input *in, bool success,
                      struct aicr_error *err)
{
  struct aicr_buf text;
  bool ok = kube_rec_files_text(&l->store->files, in, &text, err) &&
            (success ? take_object(l, e, in->path, &text, err)
                     : take_failure(e, in->path, &text, err));
  aicr_buf_free(&text);
  return ok;
}

/* Is the answer an object or a list, which a check is given as a table? */
static bool is_document(const struct kube_rec_entry *e)
{
  bool json =
      e->content_type[0] == '\0' || strstr(e->content_type, "json") != NULL;
  return json && e->verb != KUBE_RAW && e->verb != KUBE_WATCH &&
         strcmp(e->subresource, "log") != 0;
}

static bool take_file(struct kube_rec_loader *l, struct kube_rec_entry *e,
                      const struct kube_index_line *line,
                      struct aicr_error *err)
{
  const char *file = line->file;
  struct kube_rec_input in;
  bool success = e->http >= 200 && e->http < 300, found = false;
  if (file[0] == '\0') {
    return success ? aicr_fail(err, AICR_INVALID_REQUEST, "recording-invalid",
                               "a success has a \"file\"")
                   : keep_body(e, "", 0, err);
  }
  if (!kube_rec_files_input(&l->store->files, file, NULL, &in, err)) {
    return false;
  }
  bool blob = success && !is_document(e);
  bool list = success && !blob && e->verb == KUBE_LIST;
  bool ok = kube_rec_whole_file(&in, line->bytes, line->sha256, err);
  ok = ok && (blob ? keep_blob(l, e, &in, err)
                   : !list || take_list(l, e, &in, &found, err));
  if (ok && !blob && !found) {
    ok = take_text(l, e, &in, success, err);
  }
  kube_rec_input_close(&in);
  return ok;
}

/* What the line says of the resource that it is about. */
static void note_type(struct kube_rec_type *t, const struct kube_rec_entry *e)
{
  if (e->ns[0] != '\0') {
    t->scoped = true;
    t->r.namespaced = true;
  }
  t->answered = t->answered || (e->http >= 200 && e->http < 300);
  t->no_api = t->no_api ||
              kube_rec_is_no_api(e->http, e->content_type, e->body, e->len);
}

static bool take_line(struct kube_rec_loader *l, const char *data, size_t len,
                      size_t number, struct aicr_error *err)
{
  struct kube_index_line line;
  struct kube_rec_store *s = l->store;
  size_t type = REC_NO_TYPE;
  if (!kube_index_parse(data, len, &line, err)) {
    return false;
  }
  if (line.sha256[0] != '\0' && !l->has_manifest) {
    /* who else says what was lost? */
    return kube_rec_invalid(err, KUBE_RECORD_MANIFEST,
                            "the file is missing, and a run wrote the index: "
                            "copy the recording again, whole, or record it "
                            "again with --record");
  }
  if (line.kind != KUBE_INDEX_ANSWER) {
    return kube_rec_event_add(s, &line, err);
  }
  if (line.verb != KUBE_RAW) {
    const struct kube_rec_type *t = kube_rec_store_type(
        s, line.group, line.version, line.resource, NULL, err);
    if (t == NULL) {
      return false;
    }
    type = (size_t)(t - s->types);
  }
  struct kube_rec_entry *e = kube_rec_entry_add(s, err);
  if (e == NULL) {
    return false;
  }
  e->type = type;
  e->verb = line.verb;
  e->http = line.http;
  e->transport = line.transport;
  e->code = line.code;
  e->attempts = line.attempts;
  e->line = number;
  e->attempt = line.asker.attempt == 0 ? 1 : line.asker.attempt;
  memcpy(e->content_type, line.content_type, sizeof e->content_type);
  if (!copy_texts(e, &line, err) || !take_file(l, e, &line, err)) {
    return false;
  }
  if (type != REC_NO_TYPE) {
    note_type(&s->types[type], e);
  }
  return true;
}

bool kube_rec_load_index(struct kube_rec_loader *l, bool *found,
                         struct aicr_error *err)
{
  struct aicr_buf text;
  struct aicr_error bad;
  if (!kube_rec_files_read(&l->store->files, INDEX, found, &text, err)) {
    return false;
  }
  bool ok = true;
  const char *p = text.data == NULL ? "" : text.data;
  const char *end = p + text.len;
  ok = !*found || kube_rec_whole_index(&l->whole, p, text.len, err);
  for (size_t number = 1; ok && p < end; number++) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    size_t len = (size_t)((stop == NULL ? end : stop) - p);
    if (len > KUBE_INDEX_LINE_MAX) {
      ok =
          kube_rec_invalid(err, INDEX, "line %zu is longer than 1 MiB", number);
    } else if (len > strspn(p, " \t\r")) {
      ok = take_line(l, p, len, number, &bad) || fail_line(err, number, &bad);
    }
    p += len + 1;
  }
  aicr_buf_free(&text);
  return ok;
}
