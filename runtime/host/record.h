/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_RECORD_H
#define AICR_HOST_RECORD_H

#include "core/buffer.h"

/* What a check records, as JSON texts, outside its Lua state: it survives a
 * state that is killed. Bounded: what does not fit is counted, not kept. */

enum aicr_record_kind {
  AICR_REC_ENDINGS,
  AICR_REC_EXPECTATIONS,
  AICR_REC_EVIDENCE,
  AICR_REC_MEASURES,
  AICR_REC_SERIES,
  AICR_REC_STEPS,
  AICR_REC_ATTACHMENTS,
  AICR_REC_LOG,
  AICR_REC_RESOURCES,
  AICR_REC_SECRETS, /* values that must not be shown; for the engine alone */
  AICR_REC_KINDS
};

#define AICR_RECORD_ITEM_MAX  (64u << 10)
#define AICR_RECORD_TOTAL_MAX (8u << 20)
#define AICR_RECORD_ITEMS_MAX 1000
#define AICR_RECORD_KEYS_MAX  64

struct aicr_record {
  struct {
    struct aicr_buf items; /* JSON texts, joined by ',' */
    size_t count;
    size_t dropped;
  } list[AICR_REC_KINDS];
  struct {
    char *key;  /* JSON text of the key */
    char *json; /* JSON text of the value */
  } extra[AICR_RECORD_KEYS_MAX];
  size_t extra_count;
  char *coverage; /* JSON text or NULL */
  char *cleanup;  /* JSON text or NULL */
  size_t total;
  bool lost; /* something that decides could not be kept: no pass is earned */
};

void aicr_record_init(struct aicr_record *r);
void aicr_record_free(struct aicr_record *r);

/* The kind of that name ("evidence", …), or AICR_REC_KINDS. */
enum aicr_record_kind aicr_record_kind(const char *name);

/* Adds one item. False when it was dropped; what was there stays. Endings have
 * room of their own: they are never dropped for what else was recorded. */
bool aicr_record_add(struct aicr_record *r, enum aicr_record_kind kind,
                     const char *json, size_t len);

/* Sets one key of `extra`; both are JSON texts. The last value of a key wins.
 * False when there are too many, or (`lost`) without memory. */
bool aicr_record_extra(struct aicr_record *r, const char *key,
                       const char *json);

/* Replaces a single value: which is &r->coverage or &r->cleanup. False, and
 * `lost`, when it is over AICR_RECORD_ITEM_MAX or without memory. */
bool aicr_record_set(struct aicr_record *r, char **which, const char *json,
                     size_t len);

/* Appends the whole record as a JSON object. */
bool aicr_record_write(const struct aicr_record *r, struct aicr_buf *out);

#endif
