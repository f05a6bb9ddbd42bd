/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_YAML_H
#define AICR_CORE_YAML_H

#include "core/buffer.h"

/* YAML becomes JSON text, which the one JSON reader then turns into values.
 * libyaml gives the structure, one of two schemas gives plain scalars their
 * type. Aliases are written out and merge keys (<<) applied: a mapping's own
 * keys win, then the first mapping that is merged. */

enum aicr_yaml_schema {
  /* AICR recipes (Go yaml.v3 into typed fields): only true/True/TRUE and
   * false/False/FALSE are booleans; null/Null/NULL/~/empty are null; decimal,
   * 0o and 0x integers and decimal floats are numbers (.inf, .nan: strings),
   * also 010 (8) and 1_000. Keys are the text that is written. A repeated key
   * in a mapping is an error. */
  AICR_YAML_RECIPE,
  /* kubernetes-client.md 5.3 (sigs.k8s.io/yaml): YAML 1.1 booleans yes/on/y
   * and so on, 010 is 8, 1_000 is 1000, dates stay strings. A repeated key:
   * the last wins. */
  AICR_YAML_KUBERNETES
};

struct aicr_yaml {
  const char *data; /* the text; must outlive the reading */
  size_t len;
  enum aicr_yaml_schema schema;
  void *parser; /* private */
  unsigned line;
  unsigned documents;
  bool secret; /* set after open: our copies of its texts are wiped */
};

#define AICR_YAML_SIZE_MAX (64u << 20)
#define AICR_YAML_DEPTH 100
#define AICR_YAML_ALIAS_FACTOR 100 /* expanded nodes <= factor * nodes */

/* Begins to read a text of one or more documents. A UTF-8 BOM is skipped.
 * False (INVALID_REQUEST/"malformed") when it is too large or not UTF-8. */
bool aicr_yaml_open(struct aicr_yaml *y, const char *data, size_t len,
                    enum aicr_yaml_schema schema, struct aicr_error *err);

/* Appends the next document to *json (keys in file order, keys always
 * strings). Sets *end and appends nothing when there is none left. Errors:
 * INVALID_REQUEST, reason "malformed" (syntax, tag unknown), "duplicate-key",
 * "too-deep", "alias-bomb", "too-large"; the message begins with "line N: ".
 */
bool aicr_yaml_next(struct aicr_yaml *y, struct aicr_buf *json, bool *end,
                    struct aicr_error *err);
void aicr_yaml_close(struct aicr_yaml *y);

#endif
