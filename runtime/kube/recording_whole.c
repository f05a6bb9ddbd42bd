/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_whole.h"

#include <string.h>

#include "kube/json_tree.h"
#include "kube/recording_index.h"
#include "kube/recording_load.h"

#define MANIFEST  KUBE_RECORD_MANIFEST
#define LINES_MAX 9007199254740992.0 /* 2^53: exact in a double */
#define CHUNK     65536u

#define MEANT                                                                  \
  "it was cut or changed after it was recorded: copy the recording again, "    \
  "whole, or record it again with --record; if the change is meant, remove "

static const char *const files[REC_WHOLE_FILES] = {
    KUBE_RECORD_INDEX, "discovery/api.json", "discovery/apis.json"};

static size_t place_of(const char *file)
{
  size_t i = 0;
  while (i < REC_WHOLE_FILES && strcmp(files[i], file) != 0) {
    i++;
  }
  return i;
}

static bool take_sum(struct kube_rec_whole *w, const cJSON *item,
                     struct aicr_error *err)
{
  size_t i = place_of(item->string);
  const char *text = cJSON_IsString(item) ? item->valuestring : "";
  if (i == REC_WHOLE_FILES || w->sums[i][0] != '\0' ||
      !kube_index_is_sha256(text)) {
    return kube_rec_invalid(err, MANIFEST,
                            "\"sha256\" has a sum of 64 hexadecimal digits of "
                            "each of %s, %s and %s that there is",
                            files[0], files[1], files[2]);
  }
  memcpy(w->sums[i], text, AICR_SHA256_TEXT);
  return true;
}

bool kube_rec_whole_take(struct kube_rec_whole *w, const cJSON *manifest,
                         bool open, struct aicr_error *err)
{
  const cJSON *lines = kube_json_member(manifest, "lines");
  const cJSON *sums = kube_json_member(manifest, "sha256");
  if (lines == NULL && sums == NULL) {
    return true;
  }
  double count =
      lines != NULL && cJSON_IsNumber(lines) ? lines->valuedouble : -1;
  bool whole = count >= 0 && count <= LINES_MAX;
  if (!whole || count != (double)(uint64_t)count || sums == NULL ||
      !cJSON_IsObject(sums)) {
    return kube_rec_invalid(err, MANIFEST,
                            "\"lines\" is a number from 0, \"sha256\" an "
                            "object, and one is not without the other");
  }
  w->said = true;
  w->open = open;
  w->lines = (uint64_t)count;
  for (const cJSON *item = sums->child; item != NULL; item = item->next) {
    if (!take_sum(w, item, err)) {
      return false;
    }
  }
  return w->sums[0][0] != '\0' ||
         kube_rec_invalid(err, MANIFEST, "\"sha256\" lacks %s", files[0]);
}

static bool check_sum(const char *file, const char *data, size_t len,
                      const char *wanted, const char *remove,
                      struct aicr_error *err)
{
  char sum[AICR_SHA256_TEXT];
  if (!aicr_sha256_hex(data, len, sum)) {
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  return strcmp(sum, wanted) == 0 ||
         kube_rec_invalid(err, file,
                          "its sha256 is %s, and %s says %s: " MEANT "%s", sum,
                          MANIFEST, wanted, remove);
}

#define OF_MANIFEST "\"lines\" and \"sha256\" of " MANIFEST

bool kube_rec_whole_text(const struct kube_rec_whole *w, const char *file,
                         bool found, const char *data, size_t len,
                         struct aicr_error *err)
{
  size_t i = place_of(file);
  if (!w->said || i == REC_WHOLE_FILES) {
    return true;
  }
  bool wanted = w->sums[i][0] != '\0';
  if (found != wanted) {
    return kube_rec_invalid(
        err, file,
        wanted ? "the file is missing, and \"sha256\" of %s names it: " MEANT
                 "%s"
               : "the file is there, and \"sha256\" of %s does not name it: "
                 "it is another recording's, or " MEANT "%s",
        MANIFEST, OF_MANIFEST);
  }
  return !found || check_sum(file, data, len, w->sums[i], OF_MANIFEST, err);
}

/* Counts lines, also one that has no end; *head: the bytes of the first `most`
 * of them. */
static uint64_t count_lines(const char *data, size_t len, uint64_t most,
                            size_t *head)
{
  uint64_t count = 0;
  const char *end = data + len;
  *head = 0;
  for (const char *p = data; p < end; count++) {
    const char *stop = memchr(p, '\n', (size_t)(end - p));
    p = stop == NULL ? end : stop + 1;
    if (count < most) {
      *head = (size_t)(p - data);
    }
  }
  return count;
}

bool kube_rec_whole_index(const struct kube_rec_whole *w, const char *data,
                          size_t len, struct aicr_error *err)
{
  size_t head = 0;
  if (!w->said) {
    return true;
  }
  uint64_t count = count_lines(data, len, w->lines, &head);
  if (count < w->lines || (count > w->lines && !w->open)) {
    return kube_rec_invalid(err, files[0],
                            "it has %llu lines, and \"lines\" of %s says "
                            "%llu: " MEANT "%s",
                            (unsigned long long)count, MANIFEST,
                            (unsigned long long)w->lines, OF_MANIFEST);
  }
  return check_sum(files[0], data, head, w->sums[0], OF_MANIFEST, err);
}

/* The sum of what a file holds. */
static bool sum_file(const struct kube_rec_input *in, char sum[],
                     struct aicr_error *err)
{
  struct aicr_sha256 hash;
  char *chunk = aicr_calloc(1, CHUNK);
  size_t n = 0;
  uint64_t at = 0;
  bool ok = chunk != NULL;
  if (!ok) {
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  aicr_sha256_begin(&hash);
  do {
    ok = kube_rec_pread(in, chunk, CHUNK, at, &n, err);
    aicr_sha256_add(&hash, chunk, n);
    at += n;
  } while (ok && n == CHUNK);
  if (ok && !aicr_sha256_text(&hash, sum)) {
    ok = aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  aicr_sha256_free(&hash);
  aicr_free(chunk);
  return ok;
}

#define OF_LINE "\"bytes\" and \"sha256\" of the line, and " OF_MANIFEST

bool kube_rec_whole_file(const struct kube_rec_input *in, int64_t bytes,
                         const char *sha256, struct aicr_error *err)
{
  char sum[AICR_SHA256_TEXT];
  uint64_t size = 0;
  if (bytes != 0 && !kube_rec_size(in, &size, err)) {
    return false;
  }
  if (bytes != 0 && size != (uint64_t)bytes) {
    return kube_rec_invalid(
        err, in->path,
        "it has %llu bytes, and \"bytes\" of the line says %lld: " MEANT "%s",
        (unsigned long long)size, (long long)bytes, OF_LINE);
  }
  if (sha256[0] == '\0') {
    return true;
  }
  if (!sum_file(in, sum, err)) {
    return false;
  }
  return strcmp(sum, sha256) == 0 ||
         kube_rec_invalid(
             err, in->path,
             "its sha256 is %s, and \"sha256\" of the line says %s: " MEANT
             "%s",
             sum, sha256, OF_LINE);
}
