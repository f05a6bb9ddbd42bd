/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_JSON_TREE_H
#define AICR_KUBE_JSON_TREE_H

#include <cjson/cJSON.h>

#include "core/error.h"

/* The tree of a JSON text, for looking into it only: integers above 2^53 are
 * not exact in it. The strict reader checks the text before, since cJSON takes
 * what is not JSON and cuts strings at a NUL; a text with a NUL in a string is
 * refused, and one over 8 MiB, since a tree takes up to 40 times as much.
 * INVALID_REQUEST/"malformed" or "too-large", INTERNAL/"memory". The caller
 * frees it with cJSON_Delete(). */
cJSON *kube_json_tree(const char *text, size_t len, struct aicr_error *err);

/* The member, NULL when `object` is no object or has none of that name. Of
 * several the last, as everywhere here (design 8). */
const cJSON *kube_json_member(const cJSON *object, const char *name);

/* The member's text, "" when it is absent or no string. */
const char *kube_json_text(const cJSON *object, const char *name);

#endif
