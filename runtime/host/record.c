/* SPDX-License-Identifier: Apache-2.0 */
#include "host/record.h"

#include <string.h>

static const char *const names[AICR_REC_KINDS] = {
    "endings", "expectations", "evidence", "measures",  "series",
    "steps",   "attachments",  "log",      "resources", "secrets",
};

void aicr_record_init(struct aicr_record *r)
{
  memset(r, 0, sizeof(*r));
  for (size_t i = 0; i < AICR_REC_KINDS; i++)
    aicr_buf_init(&r->list[i].items, (size_t)AICR_RECORD_TOTAL_MAX * 2);
}

void aicr_record_free(struct aicr_record *r)
{
  for (size_t i = 0; i < AICR_REC_KINDS; i++)
    aicr_buf_free(&r->list[i].items);
  for (size_t i = 0; i < r->extra_count; i++) {
    aicr_free(r->extra[i].key);
    aicr_free(r->extra[i].json);
  }
  aicr_free(r->coverage);
  aicr_free(r->cleanup);
  memset(r, 0, sizeof(*r));
}

enum aicr_record_kind aicr_record_kind(const char *name)
{
  size_t i = 0;

  while (i < AICR_REC_KINDS && strcmp(names[i], name) != 0)
    i++;
  return (enum aicr_record_kind)i;
}

static bool fits(const struct aicr_record *r, enum aicr_record_kind kind,
                 size_t len)
{
  if (r->list[kind].count >= AICR_RECORD_ITEMS_MAX)
    return false;
  if (kind == AICR_REC_ENDINGS)
    return true;
  return len <= AICR_RECORD_ITEM_MAX && r->total + len <= AICR_RECORD_TOTAL_MAX;
}

bool aicr_record_add(struct aicr_record *r, enum aicr_record_kind kind,
                     const char *json, size_t len)
{
  struct aicr_buf *items = &r->list[kind].items;

  bool fit = fits(r, kind, len);

  if (!fit || !aicr_buf_room(items, len + 1)) {
    r->list[kind].dropped++;
    r->lost = r->lost || fit || kind == AICR_REC_ENDINGS;
    return false;
  }
  if (r->list[kind].count > 0)
    aicr_buf_addc(items, ',');
  aicr_buf_add(items, json, len);
  r->list[kind].count++;
  r->total += len;
  return true;
}

bool aicr_record_set(struct aicr_record *r, char **which, const char *json,
                     size_t len)
{
  char *copy = len <= AICR_RECORD_ITEM_MAX ? aicr_strndup(json, len) : NULL;

  if (!copy) {
    r->lost = true;
    return false;
  }
  aicr_free(*which);
  *which = copy;
  return true;
}

bool aicr_record_extra(struct aicr_record *r, const char *key, const char *json)
{
  size_t i = 0;

  while (i < r->extra_count && strcmp(r->extra[i].key, key) != 0)
    i++;
  if (i == AICR_RECORD_KEYS_MAX)
    return false;
  if (i == r->extra_count) {
    if (!aicr_record_set(r, &r->extra[i].key, key, strlen(key)))
      return false;
    if (!aicr_record_set(r, &r->extra[i].json, json, strlen(json))) {
      aicr_free(r->extra[i].key);
      r->extra[i].key = NULL;
      return false;
    }
    r->extra_count++;
    return true;
  }
  return aicr_record_set(r, &r->extra[i].json, json, strlen(json));
}

static void write_dropped(const struct aicr_record *r, struct aicr_buf *out)
{
  const char *comma = "";

  aicr_buf_adds(out, "\"dropped\":{");
  for (size_t i = 0; i < AICR_REC_KINDS; i++) {
    if (!r->list[i].dropped)
      continue;
    aicr_buf_addf(out, "%s\"%s\":%zu", comma, names[i], r->list[i].dropped);
    comma = ",";
  }
  aicr_buf_addc(out, '}');
}

bool aicr_record_write(const struct aicr_record *r, struct aicr_buf *out)
{
  aicr_buf_addc(out, '{');
  for (size_t i = 0; i < AICR_REC_KINDS; i++) {
    aicr_buf_addf(out, "\"%s\":[", names[i]);
    aicr_buf_add(out, r->list[i].items.data, r->list[i].items.len);
    aicr_buf_adds(out, "],");
  }
  aicr_buf_adds(out, "\"extra\":{");
  for (size_t i = 0; i < r->extra_count; i++)
    aicr_buf_addf(out, "%s%s:%s", i ? "," : "", r->extra[i].key,
                  r->extra[i].json);
  aicr_buf_adds(out, "},");
  if (r->coverage)
    aicr_buf_addf(out, "\"coverage\":%s,", r->coverage);
  if (r->cleanup)
    aicr_buf_addf(out, "\"cleanup\":%s,", r->cleanup);
  write_dropped(r, out);
  return aicr_buf_addc(out, '}');
}
