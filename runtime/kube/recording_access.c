/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_access.h"

#include <string.h>

#include "kube/json_tree.h"
#include "kube/recording_index.h"
#include "kube/url.h"

/* Sorted, as kube_query_sort() leaves them. */
static const char *const review_names[] = {
    "group", "name", "namespace", "resource", "subresource", "verb"};

bool kube_rec_review_key(const cJSON *review, struct aicr_buf *out)
{
  const cJSON *spec = kube_json_member(review, "spec");
  const cJSON *asked = kube_json_member(spec, "resourceAttributes");
  const cJSON *other = kube_json_member(spec, "nonResourceAttributes");
  bool of_resource = cJSON_IsObject(asked), of_path = cJSON_IsObject(other);
  for (size_t i = 0; i < sizeof review_names / sizeof review_names[0]; i++) {
    const char *text = kube_json_text(asked, review_names[i]);
    kube_url_param(out, review_names[i], text[0] == '\0' ? NULL : text);
  }
  if (of_path) {
    kube_url_param(out, "path", kube_json_text(other, "path"));
    kube_url_param(out, "pathVerb", kube_json_text(other, "verb"));
  }
  return of_resource != of_path;
}

struct access_file {
  struct kube_rec_loader *loader;
  size_t type;
  struct kube_rec_texts texts;
};

static bool take_review(void *ctx, const char *file, struct kube_rec_scan *scan,
                        const struct kube_rec_span *at, struct aicr_error *err)
{
  struct access_file *f = ctx;
  struct aicr_error bad;
  struct aicr_buf asked;
  const char *text = kube_rec_span_text(&f->texts, at, err);
  cJSON *tree = text == NULL ? NULL : kube_json_tree(text, at->len, &bad);
  if (tree == NULL) {
    return text == NULL ? false : kube_rec_fail(err, file, &bad);
  }
  aicr_buf_init(&asked, 64u << 10);
  bool is_one = kube_rec_review_key(tree, &asked);
  cJSON_Delete(tree);
  if (!is_one) {
    aicr_buf_free(&asked);
    return kube_rec_invalid(err, file,
                            "expected access reviews, each with either "
                            "resourceAttributes or nonResourceAttributes");
  }
  struct kube_rec_entry *e =
      asked.failed ? NULL : kube_rec_entry_add(f->loader->store, err);
  bool ok = e != NULL;
  if (ok) {
    e->type = f->type;
    e->verb = KUBE_CREATE;
    e->http = 201;
    e->line = scan->items;
    e->holds = REC_HOLDS_BODY;
    memcpy(e->content_type, "application/json", 17);
    aicr_free(e->query);
    e->query = kube_rec_copy(asked.data, asked.len, err);
    e->body = kube_rec_copy(text, at->len, err);
    e->len = at->len;
    ok = e->query != NULL && e->body != NULL;
  } else if (asked.failed) {
    ok = aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  aicr_buf_free(&asked);
  return ok;
}

static bool end_reviews(void *ctx, const char *file, struct kube_rec_scan *scan,
                        const struct kube_rec_span *at, struct aicr_error *err)
{
  (void)ctx;
  (void)at;
  return (scan->is_object && scan->facts.has_items && !scan->bad_list) ||
         kube_rec_invalid(err, file, "expected a list of access reviews");
}

bool kube_rec_load_access(struct kube_rec_loader *l, struct aicr_error *err)
{
  struct access_file f = {.loader = l};
  const struct kube_rec_documents to = {take_review, end_reviews, &f};
  struct kube_rec_input in;
  bool found = false;
  if (!kube_rec_files_input(&l->store->files, KUBE_RECORD_ACCESS, &found, &in,
                            err)) {
    return false;
  }
  if (!found) {
    return true;
  }
  struct kube_rec_type *t =
      kube_rec_store_type(l->store, "authorization.k8s.io", "v1",
                          "selfsubjectaccessreviews", NULL, err);
  bool ok = t != NULL;
  if (ok) {
    f.type = (size_t)(t - l->store->types);
    t->answered = true;
    kube_rec_texts_begin(&f.texts, l->store);
    ok = kube_rec_one_document(l, &in, &to, err);
    ok = kube_rec_texts_end(&f.texts, ok ? err : NULL) && ok;
  }
  kube_rec_input_close(&in);
  return ok;
}
