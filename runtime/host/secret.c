/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): memmem */
#include <string.h>

#include "core/json_writer.h"
#include "core/text.h"
#include "host/host.h"
#include "kube/record.h"
#include "kube/secret_values.h"

/* Shorter ones would mask words that mean something else. */
#define VALUE_MIN 6
/* A longer one is kept in pieces: an item of a record has its limit. */
#define PIECE_MAX (8u << 10)

static bool note_piece(struct aicr_task *t, const char *text, size_t len)
{
  const struct aicr_buf *known = &t->record.list[AICR_REC_SECRETS].items;
  struct aicr_buf json;
  bool ok;

  aicr_buf_init(&json, AICR_RECORD_ITEM_MAX);
  aicr_json_write_string(&json, text, len);
  ok = !json.failed;
  if (ok &&
      !(known->len && memmem(known->data, known->len, json.data, json.len)))
    ok = aicr_record_add(&t->record, AICR_REC_SECRETS, json.data, json.len);
  aicr_buf_free(&json);
  return ok;
}

/* A recording must not hold it either; in a log it stands without the newline
 * that it was made with. */
static void keep_out(const struct aicr_task *t, const char *value, size_t len)
{
  struct kube_record *r = t->host && t->host->client
                              ? kube_client_recording(t->host->client)
                              : NULL;

  if (!r)
    return;
  kube_record_secret(r, value, len);
  aicr_trim(&value, &len);
  if (len >= VALUE_MIN)
    kube_record_secret(r, value, len);
}

static bool note_value(void *owner, const char *value, size_t len)
{
  if (len < VALUE_MIN)
    return true;
  keep_out(owner, value, len);
  for (size_t at = 0; at < len; at += PIECE_MAX) {
    size_t left = len - at;

    if (!note_piece(owner, value + at, left > PIECE_MAX ? PIECE_MAX : left))
      return false;
  }
  return true;
}

void aicr_task_note_secret(void *owner, const char *text, size_t len)
{
  struct aicr_task *t = owner;

  if (!kube_secret_values(text, len, note_value, t))
    t->record.lost = true;
}
