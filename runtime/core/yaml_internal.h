/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_YAML_INTERNAL_H
#define AICR_CORE_YAML_INTERNAL_H

#include <stdint.h>

#include "core/yaml.h"

/* What yaml.c (documents to JSON), yaml_load.c (events to nodes) and
 * yaml_scalar.c (the types of plain scalars) share. */

enum aicr_yaml_kind {
  AICR_YAML_SCALAR,
  AICR_YAML_SEQUENCE,
  AICR_YAML_MAPPING,
  AICR_YAML_ALIAS
};

enum aicr_yaml_tag {
  AICR_TAG_NONE,
  AICR_TAG_STR, /* !!str, !!timestamp and the tag "!" */
  AICR_TAG_INT,
  AICR_TAG_FLOAT,
  AICR_TAG_BOOL,
  AICR_TAG_NULL,
  AICR_TAG_MAP,
  AICR_TAG_SEQ,
  AICR_TAG_MERGE
};

/* A document is an array of nodes in the order of the text. The children of
 * node i follow it; `end` is the index behind the last of its descendants. */
struct aicr_yaml_node {
  uint32_t end;
  uint32_t target; /* of an alias */
  uint32_t line;
  uint32_t text, len; /* of a scalar, in `texts` */
  uint8_t kind, tag;
  bool plain;
};

struct aicr_yaml_anchor {
  uint32_t text, len, node;
  bool used;
};

struct aicr_yaml_document {
  struct aicr_yaml_node *nodes;
  size_t count, cap;
  struct aicr_buf texts;
  struct aicr_yaml_anchor *anchors; /* a hash table */
  size_t anchor_count, anchor_cap;
};

/* Reads the next document of the stream. */
bool aicr_yaml_load(struct aicr_yaml *y, struct aicr_yaml_document *doc,
                    bool *end, struct aicr_error *err);
void aicr_yaml_document_free(struct aicr_yaml_document *doc);

/* The parser of libyaml, over y->data. */
bool aicr_yaml_parser_open(struct aicr_yaml *y, struct aicr_error *err);
void aicr_yaml_parser_close(struct aicr_yaml *y);

enum aicr_resolved {
  AICR_RESOLVED_STRING,
  AICR_RESOLVED_NULL,
  AICR_RESOLVED_TRUE,
  AICR_RESOLVED_FALSE,
  AICR_RESOLVED_INTEGER,
  AICR_RESOLVED_NATURAL, /* above INT64_MAX */
  AICR_RESOLVED_DOUBLE
};

struct aicr_yaml_value {
  enum aicr_resolved is;
  int64_t integer;
  uint64_t natural;
  double number;
};

/* The type of a plain scalar without a tag. */
void aicr_yaml_resolve(enum aicr_yaml_schema schema, const char *text,
                       size_t len, struct aicr_yaml_value *out);

#endif
