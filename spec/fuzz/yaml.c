/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a YAML text says, what comes out is JSON within the limits, or an
 * error with a line; and that JSON, read as YAML, is the same again. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/json_reader.h"
#include "core/yaml.h"

#define OUTPUT_MAX (1u << 20)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok, const char *what)
{
  if (!ok) {
    fprintf(stderr, "%s\n", what);
    abort();
  }
}

static bool holds(const struct aicr_buf *b, const char *bytes)
{
  return strstr(b->data, bytes) != NULL;
}

/* The JSON of a document, read as YAML. A character that YAML does not take
 * or a long key may make it an error. */
static void check_again(const struct aicr_buf *json,
                        enum aicr_yaml_schema schema)
{
  struct aicr_buf again;
  struct aicr_yaml y;
  bool end = false;

  /* YAML folds these characters as it does line ends. */
  if (holds(json, "\xC2\x85") || holds(json, "\xE2\x80\xA8") ||
      holds(json, "\xE2\x80\xA9"))
    return;
  aicr_buf_init(&again, OUTPUT_MAX);
  require(aicr_yaml_open(&y, json->data, json->len, schema, NULL),
          "the JSON cannot be opened");
  if (aicr_yaml_next(&y, &again, &end, NULL)) {
    require(!end, "the JSON is empty");
    require(again.len == json->len &&
                memcmp(again.data, json->data, json->len) == 0,
            "the JSON means something else as YAML");
  }
  aicr_yaml_close(&y);
  aicr_buf_free(&again);
}

static void check_error(const struct aicr_error *err)
{
  static const char *const reasons[] = {"malformed", "duplicate-key",
                                        "too-deep", "alias-bomb", "too-large"};
  bool known = false;

  require(err->code == AICR_INVALID_REQUEST, "an unknown code");
  for (size_t i = 0; i < sizeof(reasons) / sizeof(reasons[0]); i++)
    known = known || strcmp(err->reason, reasons[i]) == 0;
  require(known, "an unknown reason");
  require(strncmp(err->message, "line ", 5) == 0, "an error without a line");
}

static void check_text(const char *text, size_t size,
                       enum aicr_yaml_schema schema)
{
  struct aicr_error err;
  struct aicr_yaml y;
  bool end = false;
  bool ok = aicr_yaml_open(&y, text, size, schema, &err);

  while (ok && !end) {
    struct aicr_buf json;

    aicr_buf_init(&json, OUTPUT_MAX);
    ok = aicr_yaml_next(&y, &json, &end, &err);
    if (ok && !end) {
      require(aicr_json_check(json.data, json.len, AICR_JSON_STRICT,
                              AICR_YAML_DEPTH, NULL),
              "the output is not JSON");
      check_again(&json, schema);
    }
    aicr_buf_free(&json);
  }
  if (!ok)
    check_error(&err);
  aicr_yaml_close(&y);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char *text = malloc(size ? size : 1);

  if (!text)
    return 0;
  if (size)
    memcpy(text, data, size);
  check_text(text, size, AICR_YAML_RECIPE);
  check_text(text, size, AICR_YAML_KUBERNETES);
  free(text);
  return 0;
}
