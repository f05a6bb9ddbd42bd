/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_load.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "core/time.h"
#include "kube/fixed_text.h"
#include "kube/json_tree.h"
#include "kube/recording_access.h"
#include "kube/recording_dump.h"
#include "kube/recording_index.h"
#include "kube/recording_log.h"

#define MANIFEST KUBE_RECORD_MANIFEST

bool kube_rec_invalid(struct aicr_error *err, const char *file, const char *fmt,
                      ...)
{
  char text[1536];
  struct aicr_quoted q;
  va_list args;
  va_start(args, fmt);
  vsnprintf(text, sizeof text, fmt, args);
  va_end(args);
  return aicr_fail(err, AICR_INVALID_REQUEST, "recording-invalid", "%s: %s",
                   aicr_quote(&q, file, strlen(file)), text);
}

bool kube_rec_fail(struct aicr_error *err, const char *file,
                   const struct aicr_error *inner)
{
  struct aicr_quoted q;
  bool about_text = inner->code == AICR_INVALID_REQUEST;
  bool large = strstr(inner->reason, "too-large") != NULL;
  if (!about_text) {
    *err = *inner;
    return false;
  }
  return aicr_fail(err, AICR_INVALID_REQUEST,
                   large ? "recording-too-large" : "recording-invalid",
                   "%s: %s", aicr_quote(&q, file, strlen(file)),
                   inner->message);
}

void kube_rec_warn(struct kube_rec_loader *l, const char *file,
                   const char *what)
{
  struct aicr_quoted q;
  kube_rec_note(l->warnings, "%s: %s", aicr_quote(&q, file, strlen(file)),
                what);
}

bool kube_rec_is_no_api(int http, const char *content_type, const char *body,
                        size_t len)
{
  static const char text[] = "404 page not found";
  return http == 404 && strstr(content_type, "json") == NULL &&
         strstr(content_type, "html") == NULL && body != NULL &&
         len >= sizeof text - 1 && memcmp(body, text, sizeof text - 1) == 0;
}

bool kube_rec_read_error_file(const char *file, const char *text, size_t len,
                              struct kube_rec_error_file *out, bool *found,
                              struct aicr_error *err)
{
  struct aicr_error bad;
  *out = (struct kube_rec_error_file){0};
  *found = false;
  cJSON *tree = kube_json_tree(text, len, &bad);
  if (tree == NULL) {
    return kube_rec_fail(err, file, &bad);
  }
  bool ok = true;
  const cJSON *http = kube_json_member(tree, "http");
  const cJSON *body = kube_json_member(tree, "body");
  if (http != NULL && body != NULL) {
    const char *type = kube_json_text(tree, "contentType");
    *found = true;
    if (!cJSON_IsNumber(http) || http->valuedouble < 300 ||
        http->valuedouble > 599 ||
        http->valuedouble != (double)http->valueint) {
      ok = kube_rec_invalid(err, file, "\"http\" is a number from 300 to 599");
    } else if (!cJSON_IsString(body)) {
      ok = kube_rec_invalid(err, file,
                            "\"body\" is the answer's body as a text");
    } else if (strlen(type) >= sizeof out->content_type) {
      ok = kube_rec_invalid(err, file, "\"contentType\" is too long");
    } else {
      out->http = http->valueint;
      memcpy(out->content_type, type, strlen(type) + 1);
      out->len = strlen(body->valuestring);
      out->body = kube_rec_copy(body->valuestring, out->len, err);
      ok = out->body != NULL;
    }
  }
  cJSON_Delete(tree);
  return ok;
}

/* Where in the tree of objects/ or errors/ a file lies. */
struct place {
  struct kube_resource r;
  char ns[256]; /* "": none */
  char base[256];
};

/* Takes the next step of a path; false when there is none or it is too long.
 * `file` says whether it has to be the last one. */
static bool step(const char **path, bool file, char *out, size_t size)
{
  size_t len = strcspn(*path, "/");
  bool last = (*path)[len] == '\0';
  if (len == 0 || len >= size || last != file) {
    return false;
  }
  memcpy(out, *path, len);
  out[len] = '\0';
  *path += len + (last ? 0 : 1);
  return true;
}

static void drop_ending(char *name)
{
  char *dot = strrchr(name, '.');
  if (dot != NULL) {
    *dot = '\0';
  }
}

static bool check_place(const char *file, struct place *p,
                        struct aicr_error *err)
{
  struct aicr_error bad;
  struct aicr_buf path;
  struct kube_resource r = p->r;
  r.namespaced = p->ns[0] != '\0';
  aicr_buf_init(&path, 4096);
  bool ok = kube_resource_path(&r, p->ns[0] == '\0' ? NULL : p->ns, NULL, NULL,
                               &path, &bad);
  aicr_buf_free(&path);
  return ok || kube_rec_fail(err, file, &bad);
}

static bool begin_place(const char **at, struct place *p)
{
  memset(p, 0, sizeof *p);
  if (!step(at, false, p->r.group, sizeof p->r.group) ||
      !step(at, false, p->r.version, sizeof p->r.version)) {
    return false;
  }
  if (strcmp(p->r.group, "core") == 0) {
    p->r.group[0] = '\0';
  }
  return true;
}

static bool place_object(const char *file, struct place *p,
                         struct aicr_error *err)
{
  const char *at = file + strlen("objects/");
  bool ok =
      begin_place(&at, p) && step(&at, false, p->r.plural, sizeof p->r.plural);
  if (ok && strchr(at, '/') != NULL) {
    ok = step(&at, false, p->ns, sizeof p->ns);
  }
  ok = ok && step(&at, true, p->base, sizeof p->base);
  drop_ending(p->base);
  return ok ? check_place(file, p, err)
            : kube_rec_invalid(
                  err, file,
                  "expected "
                  "objects/GROUP/VERSION/RESOURCE/[NAMESPACE/]FILE");
}

static bool place_error(const char *file, struct place *p,
                        struct aicr_error *err)
{
  const char *at = file + strlen("errors/");
  bool ok = begin_place(&at, p) && step(&at, true, p->base, sizeof p->base);
  drop_ending(p->base);
  size_t len = strcspn(p->base, ".");
  ok = ok && len < sizeof p->r.plural;
  if (ok) {
    memcpy(p->r.plural, p->base, len);
    if (p->base[len] == '.') {
      memcpy(p->ns, p->base + len + 1, strlen(p->base + len + 1) + 1);
    }
  }
  return ok ? check_place(file, p, err)
            : kube_rec_invalid(
                  err, file,
                  "expected "
                  "errors/GROUP/VERSION/RESOURCE[.NAMESPACE].json");
}

static struct kube_rec_type *place_type(struct kube_rec_loader *l,
                                        const struct place *p,
                                        struct aicr_error *err)
{
  struct kube_rec_type *t = kube_rec_store_type(
      l->store, p->r.group, p->r.version, p->r.plural, NULL, err);
  if (t != NULL && p->ns[0] != '\0') {
    t->scoped = true;
    t->r.namespaced = true;
  }
  return t;
}

struct object_file {
  struct kube_rec_loader *loader;
  struct place place;
  bool is_list;
  unsigned documents;
  struct kube_resource want;
  struct kube_rec_list list; /* set NULL: nothing was in it yet */
};

static bool begin_list(struct object_file *f, struct aicr_error *err)
{
  struct kube_rec_store *s = f->loader->store;
  if (f->list.set != NULL) {
    return true;
  }
  struct kube_rec_type *t = place_type(f->loader, &f->place, err);
  if (t == NULL) {
    return false;
  }
  f->want = t->r;
  f->list =
      (struct kube_rec_list){.want = &f->want,
                             .type = (size_t)(t - s->types),
                             .ns = f->place.ns[0] == '\0' ? NULL : f->place.ns,
                             .set = &t->set};
  return true;
}

static bool one_document(const struct object_file *f, const char *file,
                         struct aicr_error *err)
{
  return f->documents == 0 ||
         kube_rec_invalid(err, file, "more than one document");
}

static bool take_item(void *ctx, const char *file, struct kube_rec_scan *scan,
                      const struct kube_rec_span *at, struct aicr_error *err)
{
  struct object_file *f = ctx;
  scan->muted = !f->is_list;
  return scan->muted ||
         (one_document(f, file, err) && begin_list(f, err) &&
          kube_rec_add_item(f->loader, file, &f->list, scan, at, err));
}

static bool end_list(struct object_file *f, const char *file,
                     const struct kube_rec_scan *scan, struct aicr_error *err)
{
  if (!begin_list(f, err) || !kube_rec_end_list(file, &f->list, scan, err)) {
    return false;
  }
  struct kube_rec_type *t = &f->loader->store->types[f->list.type];
  if (t->r.kind[0] == '\0' && f->list.typed) {
    memcpy(t->r.kind, f->list.kind, sizeof t->r.kind);
  }
  return kube_rec_type_complete(t, f->list.ns, err);
}

static bool add_object_file(struct object_file *f, const char *file,
                            const struct kube_rec_facts *facts,
                            const struct kube_rec_span *at,
                            struct aicr_error *err)
{
  struct kube_rec_store *s = f->loader->store;
  struct kube_rec_type *t = place_type(f->loader, &f->place, err);
  struct aicr_quoted q;
  char want[320];
  if (t == NULL) {
    return false;
  }
  snprintf(want, sizeof want, "%s%s%s", t->r.group,
           t->r.group[0] == '\0' ? "" : "/", t->r.version);
  if (facts->name[0] == '\0') {
    return kube_rec_invalid(err, file, "the object has no metadata.name");
  }
  if (facts->api_version[0] != '\0' && strcmp(facts->api_version, want) != 0) {
    return kube_rec_invalid(
        err, file, "the object's apiVersion is %s, not %s",
        aicr_quote(&q, facts->api_version, strlen(facts->api_version)), want);
  }
  if (f->place.ns[0] != '\0' && strcmp(facts->ns, f->place.ns) != 0) {
    return kube_rec_invalid(err, file, "the object is in namespace %s",
                            aicr_quote(&q, facts->ns, strlen(facts->ns)));
  }
  if (t->r.kind[0] == '\0') {
    memcpy(t->r.kind, facts->kind, sizeof t->r.kind);
  }
  t->answered = true;
  return kube_rec_set_add(s, &t->set, at, facts, (size_t)(t - s->types), err);
}

static bool take_document(void *ctx, const char *file,
                          struct kube_rec_scan *scan,
                          const struct kube_rec_span *at,
                          struct aicr_error *err)
{
  struct object_file *f = ctx;
  if (!one_document(f, file, err)) {
    return false;
  }
  f->documents++;
  if (f->is_list) {
    return end_list(f, file, scan, err);
  }
  return scan->is_object
             ? add_object_file(f, file, &scan->facts, at, err)
             : kube_rec_invalid(err, file,
                                "a Kubernetes object is a JSON object");
}

static bool visit_object(void *ctx, const struct kube_rec_input *in,
                         struct aicr_error *err)
{
  struct object_file f = {.loader = ctx};
  const struct kube_rec_documents to = {take_item, take_document, &f};
  if (!place_object(in->path, &f.place, err)) {
    return false;
  }
  f.is_list = strcmp(f.place.base, "list") == 0;
  return kube_rec_each_document(f.loader, in, &to, err) &&
         (f.documents == 1 ||
          kube_rec_invalid(err, in->path, "the file is empty"));
}

static bool read_error(struct kube_rec_loader *l,
                       const struct kube_rec_input *in,
                       struct kube_rec_error_file *out, struct aicr_error *err)
{
  struct aicr_buf text;
  bool found = false;
  bool ok =
      kube_rec_files_text(&l->store->files, in, &text, err) &&
      kube_rec_read_error_file(in->path, text.data == NULL ? "" : text.data,
                               text.len, out, &found, err);
  aicr_buf_free(&text);
  return ok &&
         (found || kube_rec_invalid(err, in->path,
                                    "expected {http, contentType, body}"));
}

static bool visit_error(void *ctx, const struct kube_rec_input *in,
                        struct aicr_error *err)
{
  struct kube_rec_loader *l = ctx;
  const char *file = in->path;
  struct place p;
  struct kube_rec_error_file read;
  if (!place_error(file, &p, err) || !read_error(l, in, &read, err)) {
    return false;
  }
  struct kube_rec_type *t = place_type(l, &p, err);
  if (t == NULL) {
    aicr_free(read.body);
    return false;
  }
  t->no_api = t->no_api || kube_rec_is_no_api(read.http, read.content_type,
                                              read.body, read.len);
  return kube_rec_add_failure(t, file, p.ns, read.http, read.content_type,
                              read.body, read.len, err);
}

bool kube_rec_add_failure(struct kube_rec_type *t, const char *file,
                          const char *ns, int http, const char *content_type,
                          char *body, size_t len, struct aicr_error *err)
{
  struct kube_rec_failure *grown =
      aicr_realloc(t->failures, (t->failure_count + 1) * sizeof *grown);
  if (grown == NULL) {
    aicr_free(body);
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  t->failures = grown;
  struct kube_rec_failure *f = &grown[t->failure_count++];
  *f = (struct kube_rec_failure){.http = http, .body = body, .len = len};
  kube_set_text(f->content_type, sizeof f->content_type, content_type);
  f->file = kube_rec_copy(file, strlen(file), err);
  f->ns = ns[0] == '\0' ? NULL : kube_rec_copy(ns, strlen(ns), err);
  return f->file != NULL && (f->ns != NULL || ns[0] == '\0');
}

static bool is_wanted(const char *path)
{
  return kube_rec_is_document(path) || kube_rec_is_dump_log(path);
}

static bool visit_document(void *ctx, const struct kube_rec_input *in,
                           struct aicr_error *err)
{
  struct kube_rec_loader *l = ctx;
  if (kube_rec_is_dump_log(in->path)) {
    return kube_rec_visit_dump_log(l, in, err);
  }
  bool taken = false;
  if (!kube_rec_find_dump(l, in->path, err) ||
      !kube_rec_load_bundled(l, in, &taken, err)) {
    return false;
  }
  return taken || kube_rec_load_documents(l, in, err);
}

/* What is not said plainly is not guessed: a recording that was broken off must
 * not pass for a whole one. */
static bool take_flag(const cJSON *tree, const char *name, bool *to,
                      struct aicr_error *err)
{
  const cJSON *flag = kube_json_member(tree, name);
  *to = cJSON_IsTrue(flag);
  return flag == NULL || cJSON_IsBool(flag) ||
         kube_rec_invalid(err, MANIFEST, "\"%s\" is not true or false", name);
}

static bool load_manifest(struct kube_rec_loader *l, struct aicr_error *err)
{
  struct aicr_buf text;
  struct aicr_error bad;
  bool found = false;
  if (!kube_rec_files_read(&l->store->files, MANIFEST, &found, &text, err)) {
    return false;
  }
  l->has_manifest = found;
  if (!found) {
    return true;
  }
  cJSON *tree =
      kube_json_tree(text.data == NULL ? "" : text.data, text.len, &bad);
  aicr_buf_free(&text);
  if (tree == NULL) {
    return kube_rec_fail(err, MANIFEST, &bad);
  }
  const cJSON *schema = kube_json_member(tree, "schema");
  const char *captured = kube_json_text(tree, "capturedAt");
  bool ok = true;
  if (!cJSON_IsNumber(schema) || schema->valuedouble != 1) {
    ok = kube_rec_invalid(err, MANIFEST,
                          "\"schema\" is not 1, the only one known");
  } else if (captured[0] != '\0' &&
             !aicr_time_parse(captured, strlen(captured), &l->store->captured,
                              &bad)) {
    ok = kube_rec_invalid(err, MANIFEST, "capturedAt: %s", bad.message);
  }
  ok = ok && take_flag(tree, "indexed", &l->wants_index, err) &&
       take_flag(tree, "open", &l->store->open, err) &&
       kube_rec_whole_take(&l->whole, tree, l->store->open, err);
  snprintf(l->store->context, sizeof l->store->context, "%.255s",
           kube_json_text(tree, "context"));
  snprintf(l->store->server_version, sizeof l->store->server_version, "%.63s",
           kube_json_text(kube_json_member(tree, "server"), "gitVersion"));
  cJSON_Delete(tree);
  return ok;
}

static bool load_discovery(struct kube_rec_loader *l, const char *file,
                           struct aicr_error *err)
{
  struct aicr_buf text;
  struct aicr_error bad;
  bool found = false, taken = false;
  if (!kube_rec_files_read(&l->store->files, file, &found, &text, err)) {
    return false;
  }
  const char *data = text.data == NULL ? "" : text.data;
  if (!kube_rec_whole_text(&l->whole, file, found, data, text.len, err)) {
    aicr_buf_free(&text);
    return false;
  }
  if (!found) {
    return true;
  }
  bool ok = kube_rec_add_discovery(l->store, data, text.len, &taken, &bad) ||
            kube_rec_fail(err, file, &bad);
  aicr_buf_free(&text);
  if (ok && !taken) {
    kube_rec_warn(
        l, file,
        "no aggregated discovery (APIGroupDiscoveryList); it is ignored");
  }
  return ok;
}

static bool load_own(struct kube_rec_loader *l, struct aicr_error *err)
{
  const struct kube_rec_visitor objects = {kube_rec_is_document, visit_object,
                                           l};
  const struct kube_rec_visitor errors = {kube_rec_is_json, visit_error, l};
  if (!load_manifest(l, err) || !load_discovery(l, "discovery/api.json", err) ||
      !load_discovery(l, "discovery/apis.json", err) ||
      !kube_rec_load_access(l, err) ||
      !kube_rec_load_index(l, &l->store->indexed, err)) {
    return false;
  }
  if (l->wants_index && !l->store->indexed) {
    /* without it, files of selected lists would be taken for whole ones */
    return kube_rec_invalid(err, KUBE_RECORD_INDEX, "the file is missing");
  }
  return l->store->indexed ||
         (kube_rec_load_logs(l, err) &&
          kube_rec_files_walk(&l->store->files, "objects", &objects, err) &&
          kube_rec_files_walk(&l->store->files, "errors", &errors, err));
}

/* A folder with any of our own names in it is of our own format. */
static bool is_own(struct kube_rec_loader *l, bool *own, struct aicr_error *err)
{
  static const struct {
    const char *name;
    enum kube_rec_sort sort;
  } marks[] = {{MANIFEST, REC_FILE},
               {"index.jsonl", REC_FILE},
               {"objects", REC_FOLDER},
               {"errors", REC_FOLDER},
               {"discovery", REC_FOLDER}};
  *own = false;
  for (size_t i = 0; i < sizeof marks / sizeof marks[0] && !*own; i++) {
    enum kube_rec_sort sort = REC_ABSENT;
    if (!kube_rec_files_sort(&l->store->files, marks[i].name, &sort, err)) {
      return false;
    }
    *own = sort == marks[i].sort;
  }
  return true;
}

static bool load(struct kube_rec_loader *l, const char *path,
                 struct aicr_error *err)
{
  if (!l->store->files.is_folder) {
    struct kube_rec_input in;
    const char *slash = strrchr(path, '/');
    const char *name = slash == NULL ? path : slash + 1;
    bool ok = kube_rec_files_input(&l->store->files, name, NULL, &in, err) &&
              kube_rec_load_documents(l, &in, err);
    kube_rec_input_close(&in);
    return ok;
  }
  bool own = false;
  const struct kube_rec_visitor documents = {is_wanted, visit_document, l};
  return is_own(l, &own, err) &&
         (own ? load_own(l, err)
              : kube_rec_files_walk(&l->store->files, "", &documents, err));
}

static bool is_empty(const struct kube_rec_store *s)
{
  bool empty =
      s->entry_count == 0 && !s->has_core_discovery && !s->has_group_discovery;
  for (size_t i = 0; empty && i < s->type_count; i++) {
    const struct kube_rec_type *t = &s->types[i];
    empty = t->set.count == 0 && !t->answered && t->failure_count == 0;
  }
  return empty;
}

bool kube_rec_load(struct kube_rec_store *store, const char *path,
                   struct aicr_buf *warnings, struct aicr_error *err)
{
  struct kube_rec_loader l = {.store = store, .warnings = warnings};
  struct aicr_quoted q;
  if (!kube_rec_files_open(&store->files, path, err) || !load(&l, path, err) ||
      !kube_rec_store_finish(store, warnings, err)) {
    return false;
  }
  return !is_empty(store) ||
         aicr_fail(err, AICR_INVALID_REQUEST, "recording-empty",
                   "%s holds no Kubernetes object, list or answer: write it "
                   "with kubectl get RESOURCE -A -o json",
                   aicr_quote(&q, path, strlen(path)));
}
