/* SPDX-License-Identifier: Apache-2.0 */
/* A document cut down to fields: whatever is left is JSON, cutting it down
 * again changes nothing, and what is refused is no JSON. The input is paths
 * with blanks between them, a line end, and the document. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_project.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
  if (!ok) {
    fprintf(stderr, "%s\n", what);
    abort();
  }
}

/* NULL when a path is none. */
static struct aicr_json_field *parse(const char *paths, size_t len)
{
  struct aicr_json_field *fields = NULL;
  struct aicr_error err;
  size_t at = 0;

  while (at < len) {
    const char *blank = memchr(paths + at, ' ', len - at);
    size_t n = blank ? (size_t)(blank - paths) - at : len - at;

    if (!aicr_json_fields_add(&fields, paths + at, n, &err)) {
      require(err.code == AICR_INVALID_REQUEST, "an unknown refusal");
      aicr_json_fields_free(fields);
      return NULL;
    }
    at += n + 1;
  }
  return fields;
}

static void project(const struct aicr_json_field *fields, const char *text,
                    size_t len)
{
  struct aicr_buf left, again;
  struct aicr_error err, why;
  bool json =
      aicr_json_check(text, len, AICR_JSON_STRICT, AICR_JSON_DEPTH, &why);

  aicr_buf_init(&left, 1u << 24);
  aicr_buf_init(&again, 1u << 24);
  require(aicr_json_project(fields, text, len, &left, &err) == json,
          "JSON is projected, and nothing else");
  if (json) {
    require(aicr_json_check(left.data, left.len, AICR_JSON_STRICT,
                            AICR_JSON_DEPTH, &err),
            "what is left is JSON");
    require(left.len <= len, "what is left is no longer");
    require(aicr_json_project(fields, left.data, left.len, &again, &err),
            "what is left can be projected");
    require(again.len == left.len &&
                memcmp(again.data, left.data, left.len) == 0,
            "nothing more is left out");
  } else
    require(strcmp(err.reason, why.reason) == 0, "the same error");
  aicr_buf_free(&left);
  aicr_buf_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  const char *text = (const char *)data;
  const char *line = size ? memchr(text, '\n', size) : NULL;
  struct aicr_json_field *fields;

  if (!line)
    return 0;
  fields = parse(text, (size_t)(line - text));
  if (fields)
    project(fields, line + 1, size - (size_t)(line + 1 - text));
  aicr_json_fields_free(fields);
  return 0;
}
