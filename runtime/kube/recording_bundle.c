/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/json_writer.h"
#include "kube/fixed_text.h"
#include "kube/json_tree.h"
#include "kube/recording_load.h"

/* Troubleshoot's support bundles: cluster-resources/RESOURCE.json or
 * RESOURCE/NAMESPACE.json, which older ones write as bare arrays whose objects
 * do not say what they are, and RESOURCE-errors.json. */

#define FOLDER "cluster-resources/"
#define ERRORS "-errors"

struct bundled {
  struct kube_resource r;
  char ns[64]; /* "": of no or of all namespaces */
  bool errors;
};

/* The resource that a file's name means: "storage-classes" or "network-policy".
 */
static const struct kube_resource *resource_of(const char *name)
{
  char plain[64];
  size_t n = 0;
  for (; *name != '\0' && n + 1 < sizeof plain; name++) {
    if (*name != '-') {
      plain[n++] = *name;
    }
  }
  plain[n] = '\0';
  return *name == '\0' ? kube_builtin_by_name(NULL, plain) : NULL;
}

/* What a path says; false: it is no file of a bundle that we know. */
static bool place(const char *path, struct bundled *b)
{
  char name[80], file[80];
  const char *at = path + strlen(FOLDER);
  *b = (struct bundled){.ns = ""};
  if (strncmp(path, FOLDER, strlen(FOLDER)) != 0 || !kube_rec_is_json(path) ||
      !kube_set_text(name, sizeof name, at)) {
    return false;
  }
  char *slash = strchr(name, '/');
  if (slash != NULL) {
    *slash = '\0';
    if (strchr(slash + 1, '/') != NULL ||
        !kube_set_text(file, sizeof file, slash + 1)) {
      return false;
    }
    file[strlen(file) - strlen(".json")] = '\0';
    if (!kube_set_text(b->ns, sizeof b->ns, file)) {
      return false;
    }
  } else {
    name[strlen(name) - strlen(".json")] = '\0';
  }
  b->errors = kube_ends_in(name, ERRORS);
  if (b->errors) {
    name[strlen(name) - strlen(ERRORS)] = '\0';
  }
  const struct kube_resource *r = resource_of(name);
  if (r == NULL || (b->ns[0] != '\0' && !r->namespaced)) {
    return false;
  }
  b->r = *r;
  return true;
}

struct array_file {
  struct kube_rec_loader *loader;
  struct kube_rec_list list;
};

static bool take_item(void *ctx, const char *file, struct kube_rec_scan *scan,
                      const struct kube_rec_span *at, struct aicr_error *err)
{
  struct array_file *f = ctx;
  return kube_rec_add_item(f->loader, file, &f->list, scan, at, err);
}

static bool take_end(void *ctx, const char *file, struct kube_rec_scan *scan,
                     const struct kube_rec_span *at, struct aicr_error *err)
{
  struct array_file *f = ctx;
  (void)at;
  return kube_rec_end_list(file, &f->list, scan, err);
}

static struct kube_rec_type *type_of(struct kube_rec_loader *l,
                                     const struct kube_resource *r,
                                     struct aicr_error *err)
{
  struct kube_rec_type *t =
      kube_rec_store_type(l->store, r->group, r->version, NULL, r->kind, err);
  if (t != NULL) {
    t->r.namespaced = r->namespaced;
    t->scoped = true;
  }
  return t;
}

static bool load_array(struct kube_rec_loader *l,
                       const struct kube_rec_input *in, const struct bundled *b,
                       struct aicr_error *err)
{
  struct kube_rec_type *t = type_of(l, &b->r, err);
  const char *ns = b->ns[0] == '\0' ? NULL : b->ns;
  if (t == NULL) {
    return false;
  }
  const struct kube_resource want = b->r;
  size_t type = (size_t)(t - l->store->types);
  struct array_file f = {
      .loader = l,
      .list = {.want = &want, .type = type, .ns = ns, .set = &t->set}};
  const struct kube_rec_documents to = {take_item, take_end, &f};
  return kube_rec_array(l, in, &to, err) &&
         kube_rec_type_complete(&l->store->types[type], ns, err);
}

/* "… is forbidden …" as the answer that it was; another error says only that
 * something is missing. */
static bool add_error(struct kube_rec_loader *l, const char *file,
                      const struct bundled *b, const char *ns, const char *text,
                      struct aicr_error *err)
{
  struct kube_rec_type *t = type_of(l, &b->r, err);
  struct aicr_buf body;
  if (t == NULL) {
    return false;
  }
  bool forbidden = strstr(text, "is forbidden") != NULL;
  aicr_buf_init(&body, 1u << 20);
  aicr_buf_adds(&body, "{\"kind\":\"Status\",\"apiVersion\":\"v1\",\"status\":"
                       "\"Failure\",\"message\":");
  aicr_json_write_string(&body, text, strlen(text));
  aicr_buf_addf(&body, ",\"reason\":\"%s\",\"code\":%d}",
                forbidden ? "Forbidden" : "InternalError",
                forbidden ? 403 : 500);
  char *copy = body.failed ? NULL : kube_rec_copy(body.data, body.len, err);
  size_t len = body.len;
  bool failed = body.failed;
  aicr_buf_free(&body);
  if (copy == NULL) {
    return failed ? aicr_fail(err, AICR_INVALID_REQUEST, "recording-too-large",
                              "an error text over 1 MiB")
                  : false;
  }
  return kube_rec_add_failure(t, file, ns, forbidden ? 403 : 500,
                              "application/json", copy, len, err);
}

/* A map of namespaces to texts, or an array of texts. */
static bool load_errors(struct kube_rec_loader *l,
                        const struct kube_rec_input *in,
                        const struct bundled *b, struct aicr_error *err)
{
  struct aicr_buf text;
  struct aicr_error bad;
  if (!kube_rec_files_text(&l->store->files, in, &text, err)) {
    aicr_buf_free(&text);
    return false;
  }
  cJSON *tree =
      kube_json_tree(text.data == NULL ? "" : text.data, text.len, &bad);
  aicr_buf_free(&text);
  if (tree == NULL) {
    return kube_rec_fail(err, in->path, &bad);
  }
  bool ok = true;
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, tree)
  {
    bool in_map = cJSON_IsObject(tree);
    if (ok && cJSON_IsString(item)) {
      ok = add_error(l, in->path, b, in_map ? item->string : "",
                     item->valuestring, err);
    }
  }
  cJSON_Delete(tree);
  return ok;
}

bool kube_rec_load_bundled(struct kube_rec_loader *l,
                           const struct kube_rec_input *in, bool *taken,
                           struct aicr_error *err)
{
  struct bundled b;
  bool array = false;
  *taken = place(in->path, &b);
  if (!*taken) {
    return true;
  }
  if (b.errors) {
    return load_errors(l, in, &b, err);
  }
  if (!kube_rec_is_array(in, &array, err)) {
    return false;
  }
  if (array) {
    return load_array(l, in, &b, err);
  }
  /* a list that says what it is, of one namespace */
  kube_set_text(l->looked, sizeof l->looked, b.ns);
  l->dump_ns = b.ns[0] == '\0' ? NULL : l->looked;
  bool ok = kube_rec_load_documents(l, in, err);
  l->looked[0] = '\0';
  l->dump_ns = NULL;
  return ok;
}
