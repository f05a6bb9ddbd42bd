/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_YAML_SHOW_H
#define SPEC_C_YAML_SHOW_H

#include "core/json_reader.h"
#include "core/yaml.h"

#include "rows.h"

/* All documents as JSON, one after another with " --- " between; an error as
 * !reason and its message. Whatever is written must be JSON. */
static inline void show_yaml(struct aicr_buf *out, const char *text, size_t len,
                             enum aicr_yaml_schema schema)
{
  struct aicr_yaml y;
  struct aicr_error err;
  bool end = false;
  bool ok = aicr_yaml_open(&y, text, len, schema, &err);

  while (ok && !end) {
    struct aicr_buf json;

    aicr_buf_init(&json, SIZE_MAX);
    ok = aicr_yaml_next(&y, &json, &end, &err);
    if (ok && !end) {
      assert_true(aicr_json_check(json.data, json.len, AICR_JSON_STRICT,
                                  AICR_YAML_DEPTH, NULL));
      if (y.documents > 1)
        aicr_buf_adds(out, " --- ");
      aicr_buf_add(out, json.data, json.len);
    } else {
      assert_int_equal(json.len, 0);
    }
    aicr_buf_free(&json);
  }
  if (!ok) {
    assert_int_equal(err.code, AICR_INVALID_REQUEST);
    assert_false(err.verdict);
    aicr_buf_addf(out, "!%s %s", err.reason, err.message);
    assert_false(aicr_yaml_next(&y, out, &end, &err));
  }
  aicr_yaml_close(&y);
}

#endif
