/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "core/text.h"
#include "core/yaml.h"
#include "kube/recording_load.h"

/* The documents of a file, in one pass and piece by piece. */

#define CHUNK ((size_t)64 << 10)

struct stream {
  const struct kube_rec_documents *to;
  const char *file;
  const char *text; /* NULL: the bytes are those of `kept` */
  size_t kept;
  uint64_t base; /* what offsets in messages count from */
  bool whole, array;
  size_t number; /* of the document, from 1 */
  uint64_t start;
  bool open; /* scan is in use */
  struct kube_rec_scan scan;
};

static bool is_space(char c)
{
  return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

static struct kube_rec_span span(const struct stream *s, size_t offset,
                                 size_t len)
{
  struct kube_rec_span at = {
      .file = s->kept, .offset = s->start + offset, .len = len};
  if (s->text != NULL) {
    at.text = s->text + at.offset;
  }
  return at;
}

static void begin_document(struct stream *s, uint64_t at)
{
  kube_rec_scan_init(&s->scan, s->whole);
  s->open = true;
  s->start = at;
  s->number++;
}

static void end_document(struct stream *s)
{
  if (s->open) {
    kube_rec_scan_free(&s->scan);
    s->open = false;
  }
}

static bool fail_scan(const struct stream *s, struct aicr_error *err)
{
  const struct aicr_error *bad = &s->scan.reader.error;
  bool first = s->number == 1 && s->start == s->base;
  if (s->array && bad->code != AICR_INTERNAL) {
    /* the reader counts bytes that are not the file's */
    return kube_rec_invalid(err, s->file, "it is not one JSON array");
  }
  if (first || bad->code == AICR_INTERNAL) {
    return kube_rec_fail(err, s->file, bad);
  }
  return kube_rec_invalid(
      err, s->file, "document %zu, which begins at byte %llu: %s", s->number,
      (unsigned long long)(s->start - s->base), bad->message);
}

/* Tells what the reader has, up to its next MORE or the document's end. */
static bool tell(struct stream *s, struct aicr_error *err)
{
  for (;;) {
    struct kube_rec_span at;
    switch (kube_rec_scan_next(&s->scan)) {
    case REC_SCAN_ITEM:
      at = span(s, s->scan.item_offset, s->scan.item_len);
      if (!s->to->item(s->to->ctx, s->file, &s->scan, &at, err)) {
        return false;
      }
      break;
    case REC_SCAN_DOCUMENT:
      at = span(s, 0, s->scan.len);
      if (!s->to->document(s->to->ctx, s->file, &s->scan, &at, err)) {
        return false;
      }
      end_document(s);
      return true;
    case REC_SCAN_MORE:
      return true;
    default:
      return fail_scan(s, err);
    }
  }
}

static bool take_chunk(struct stream *s, uint64_t at, const char *data,
                       size_t len, struct aicr_error *err)
{
  size_t p = 0;
  for (;;) {
    while (!s->open && p < len && is_space(data[p])) {
      p++;
    }
    if (p == len) {
      return true;
    }
    if (!s->open) {
      begin_document(s, at + p);
    }
    aicr_json_feed(&s->scan.reader, data + p, len - p);
    if (!tell(s, err)) {
      return false;
    }
    if (s->open) {
      return true;
    }
    p = (size_t)(s->start + s->scan.len - at);
  }
}

static bool take_end(struct stream *s, struct aicr_error *err)
{
  if (!s->open) {
    return true;
  }
  aicr_json_finish(&s->scan.reader);
  return tell(s, err);
}

/* A bare array is read as a list of its elements. */
static bool begin_array(struct stream *s, struct aicr_error *err)
{
  static const char head[] = "{\"items\":";
  /* Where it begins lies before the file; offsets come out right. */
  return take_chunk(s, s->base - (sizeof head - 1), head, sizeof head - 1, err);
}

static bool each_json(struct kube_rec_loader *l,
                      const struct kube_rec_input *in, struct stream *s,
                      struct aicr_error *err)
{
  struct kube_rec_files *files = &l->store->files;
  uint64_t at = s->base;
  size_t got = 0;
  if (!kube_rec_files_keep(files, in, &s->kept, err)) {
    return false;
  }
  char *chunk = aicr_realloc(NULL, CHUNK);
  if (chunk == NULL) {
    return aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
  }
  bool ok = !s->array || begin_array(s, err);
  do {
    ok = ok && at <= REC_STREAM_MAX &&
         kube_rec_pread(in, chunk, CHUNK, at, &got, err) &&
         take_chunk(s, at, chunk, got, err);
    at += got;
  } while (ok && got == CHUNK);
  ok = ok && (!s->array || take_chunk(s, at, "}", 1, err)) && take_end(s, err);
  /* An error of a file that changes is that it changes. */
  bool same = kube_rec_files_same(files, s->kept, in->fd, ok ? err : NULL);
  end_document(s);
  aicr_free(chunk);
  return ok && same;
}

static bool tell_text(const char *file, const struct aicr_buf *json,
                      const struct kube_rec_documents *to,
                      struct aicr_error *err)
{
  struct stream s = {.to = to, .file = file, .text = json->data};
  bool ok = take_chunk(&s, 0, json->data, json->len, err) && take_end(&s, err);
  end_document(&s);
  return ok;
}

static bool each_yaml(const char *file, const struct aicr_buf *text,
                      const struct kube_rec_documents *to,
                      struct aicr_error *err)
{
  struct aicr_yaml yaml;
  struct aicr_error bad;
  struct aicr_buf json;
  bool end = false;
  if (!aicr_yaml_open(&yaml, text->data == NULL ? "" : text->data, text->len,
                      AICR_YAML_KUBERNETES, &bad)) {
    return kube_rec_fail(err, file, &bad);
  }
  aicr_buf_init(&json, REC_FILE_MAX);
  bool ok = true;
  while (ok && !end) {
    aicr_buf_reset(&json);
    ok = aicr_yaml_next(&yaml, &json, &end, &bad) ||
         kube_rec_fail(err, file, &bad);
    bool empty =
        json.len == 0 || (json.len == 4 && memcmp(json.data, "null", 4) == 0);
    if (ok && !end && !empty) {
      ok = tell_text(file, &json, to, err);
    }
  }
  aicr_buf_free(&json);
  aicr_yaml_close(&yaml);
  return ok;
}

/* The first bytes of a file, and the first that is no white space. */
struct look {
  size_t bom;
  bool utf16, blank; /* blank: there is none */
  char first;
};

static bool look_at(const struct kube_rec_input *in, struct look *out,
                    struct aicr_error *err)
{
  char data[512];
  size_t got = 0;
  *out = (struct look){.blank = true};
  if (!kube_rec_pread(in, data, 3, 0, &got, err)) {
    return false;
  }
  out->utf16 = got >= 2 && (memcmp(data, "\xff\xfe", 2) == 0 ||
                            memcmp(data, "\xfe\xff", 2) == 0);
  out->bom = got == 3 && memcmp(data, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
  uint64_t at = out->bom;
  do {
    if (!kube_rec_pread(in, data, sizeof data, at, &got, err)) {
      return false;
    }
    for (size_t i = 0; i < got; i++) {
      if (!is_space(data[i])) {
        out->blank = false;
        out->first = data[i];
        return true;
      }
    }
    at += got;
  } while (got == sizeof data);
  return true;
}

bool kube_rec_each_document(struct kube_rec_loader *l,
                            const struct kube_rec_input *in,
                            const struct kube_rec_documents *to,
                            struct aicr_error *err)
{
  struct look look;
  if (!look_at(in, &look, err)) {
    return false;
  }
  if (look.utf16) {
    return kube_rec_invalid(err, in->path,
                            "the text is UTF-16; save it as UTF-8");
  }
  if (kube_rec_is_json(in->path) ||
      (!kube_rec_is_yaml(in->path) &&
       (look.blank || look.first == '{' || look.first == '['))) {
    struct stream s = {.to = to, .file = in->path, .base = look.bom};
    return each_json(l, in, &s, err);
  }
  struct aicr_buf text;
  bool ok = kube_rec_files_text(&l->store->files, in, &text, err) &&
            each_yaml(in->path, &text, to, err);
  aicr_buf_free(&text);
  return ok;
}

bool kube_rec_one_document(struct kube_rec_loader *l,
                           const struct kube_rec_input *in,
                           const struct kube_rec_documents *to,
                           struct aicr_error *err)
{
  struct stream s = {.to = to, .file = in->path, .whole = true};
  return each_json(l, in, &s, err) &&
         (s.number > 0 || kube_rec_invalid(err, in->path, "the file is empty"));
}

bool kube_rec_is_array(const struct kube_rec_input *in, bool *yes,
                       struct aicr_error *err)
{
  struct look look;
  bool ok = look_at(in, &look, err);
  *yes = ok && !look.utf16 && look.first == '[';
  return ok;
}

bool kube_rec_array(struct kube_rec_loader *l, const struct kube_rec_input *in,
                    const struct kube_rec_documents *to, struct aicr_error *err)
{
  struct stream s = {.to = to, .file = in->path, .whole = true, .array = true};
  return each_json(l, in, &s, err);
}
