/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/json_tree.h"

#include <string.h>

#include "core/json_reader.h"

#define TREE_MAX ((size_t)8 << 20)

/* In a text that is known to be JSON a backslash escapes what follows it. */
static bool has_nul_escape(const char *text, size_t len)
{
  const char *end = text + len;
  const char *p = memchr(text, '\\', len);
  while (p != NULL && end - p > 1) {
    if (p[1] == 'u' && end - p >= 6 && memcmp(p + 2, "0000", 4) == 0) {
      return true;
    }
    p += 2;
    p = p < end ? memchr(p, '\\', (size_t)(end - p)) : NULL;
  }
  return false;
}

cJSON *kube_json_tree(const char *text, size_t len, struct aicr_error *err)
{
  if (len > TREE_MAX) {
    aicr_fail(err, AICR_INVALID_REQUEST, "too-large",
              "the JSON text is larger than 8 MiB");
    return NULL;
  }
  if (!aicr_json_check(text, len, AICR_JSON_STRICT, AICR_JSON_DEPTH, err)) {
    return NULL;
  }
  if (has_nul_escape(text, len)) {
    aicr_fail(err, AICR_INVALID_REQUEST, "malformed",
              "a string holds a NUL character");
    return NULL;
  }
  cJSON *tree = cJSON_ParseWithLength(text, len);
  if (tree == NULL) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a JSON text");
  }
  return tree;
}

const cJSON *kube_json_member(const cJSON *object, const char *name)
{
  const cJSON *found = NULL;
  for (const cJSON *m = cJSON_IsObject(object) ? object->child : NULL;
       m != NULL; m = m->next) {
    found = strcmp(m->string, name) == 0 ? m : found;
  }
  return found;
}

const char *kube_json_text(const cJSON *object, const char *name)
{
  const cJSON *member = kube_json_member(object, name);
  return cJSON_IsString(member) ? member->valuestring : "";
}
