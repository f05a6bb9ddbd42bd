/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/secret_values.h"

#include <string.h>

#include "core/base64.h"
#include "kube/json_tree.h"

struct taker {
  bool (*take)(void *owner, const char *value, size_t len);
  void *owner;
};

static bool take_decoded(const struct taker *t, const char *value)
{
  struct aicr_buf b;
  size_t len = strlen(value);
  aicr_buf_init(&b, len + 4);
  /* What is no base64 has nothing else to hide. */
  bool ok = !aicr_base64_decode(value, len, &b) || b.len == 0 ||
            t->take(t->owner, b.data, b.len);
  ok = ok && !b.failed;
  aicr_buf_free(&b);
  return ok;
}

/* What Kubernetes puts beside a service account's token: names and certificates
 * that everybody may know. To mask a namespace would mask what is in it. */
static bool is_public(const char *type, const char *key)
{
  return strcmp(type, "kubernetes.io/service-account-token") == 0 &&
         (strcmp(key, "namespace") == 0 || strcmp(key, "ca.crt") == 0);
}

static bool take_values(const struct taker *t, const cJSON *values,
                        const char *type, bool encoded)
{
  const cJSON *value;
  cJSON_ArrayForEach(value, values)
  {
    const char *text = cJSON_GetStringValue(value);
    if (text == NULL || text[0] == '\0' ||
        (value->string != NULL && is_public(type, value->string))) {
      continue;
    }
    if (!t->take(t->owner, text, strlen(text)) ||
        (encoded && !take_decoded(t, text))) {
      return false;
    }
  }
  return true;
}

bool kube_secret_values(const char *text, size_t len,
                        bool (*take)(void *owner, const char *value,
                                     size_t len),
                        void *owner)
{
  struct taker t = {take, owner};
  struct aicr_error ignored;
  cJSON *tree = kube_json_tree(text, len, &ignored);
  const cJSON *object = kube_json_member(tree, "object");
  if (object == NULL) {
    object = tree;
  }
  const char *type = kube_json_text(object, "type");
  bool ok =
      tree != NULL &&
      take_values(&t, kube_json_member(object, "data"), type, true) &&
      take_values(&t, kube_json_member(object, "stringData"), type, false);
  cJSON_Delete(tree);
  return ok;
}
