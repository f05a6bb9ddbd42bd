/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_JSON_PROJECT_H
#define AICR_CORE_JSON_PROJECT_H

#include "core/json_reader.h"

/* What is wanted of a JSON document, as paths (kubernetes-client.md 5.2), and
 * the document cut down to it. */

#define AICR_FIELDS_MAX      64   /* paths */
#define AICR_FIELD_DEPTH     32   /* names in a path */
#define AICR_FIELD_BYTES_MAX 1024 /* of a path */

/* A tree of the names in the paths. */
struct aicr_json_field {
  struct aicr_json_field *next;    /* of the same object */
  struct aicr_json_field *members; /* wanted of an object */
  struct aicr_json_field *element; /* wanted of each element of an array */
  bool whole;                      /* all that is below it */
  unsigned id;                     /* 0: the root; 1, 2, … below it */
  unsigned count;                  /* of the root: how many are below it */
  size_t len;
  char name[];
};

/* Adds a path to *fields, which is NULL before the first one. A path is names
 * with dots between them; ["NAME"] or ['NAME'] stands for a name with other
 * characters than letters, digits, '_', '-' and '$', and [*] for each element
 * of an array: spec.containers[*].resources.limits["nvidia.com/gpu"].
 * Errors: INVALID_REQUEST/"field". */
bool aicr_json_fields_add(struct aicr_json_field **fields, const char *path,
                          size_t len, struct aicr_error *err);
void aicr_json_fields_free(struct aicr_json_field *fields);

/* The member of that name that is wanted; NULL: none. */
const struct aicr_json_field *
aicr_json_fields_member(const struct aicr_json_field *of, const char *name,
                        size_t len);

/* Appends to *out the JSON text without the members that are not wanted. The
 * rest stays as it is, in its order, repeated keys too. What is no object or
 * array where the paths have one is taken whole, so that it can be seen.
 * Errors: those of the strict reader, and `out` when it is too small:
 * INVALID_REQUEST/"too-large"; INTERNAL/"memory". */
bool aicr_json_project(const struct aicr_json_field *fields, const char *text,
                       size_t len, struct aicr_buf *out,
                       struct aicr_error *err);

#endif
