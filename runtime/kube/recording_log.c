/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_log.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/number.h"
#include "core/text.h"
#include "kube/fixed_text.h"

#define LOGS_MAX      100000u
#define DUMP_MAX      (64u << 20)
#define CONTAINER_MAX 253u

static const char *value_of(const char *param, size_t len, const char *name,
                            size_t *value_len)
{
  size_t n = strlen(name);
  if (len <= n || memcmp(param, name, n) != 0 || param[n] != '=') {
    return NULL;
  }
  *value_len = len - n - 1;
  return param + n + 1;
}

static bool is_word(const char *value, size_t len, const char *word)
{
  return len == strlen(word) && memcmp(value, word, len) == 0;
}

static void take_param(struct kube_log_query *q, const char *param, size_t len)
{
  size_t n = 0;
  const char *value = value_of(param, len, "container", &n);
  if (value != NULL && n < sizeof q->container &&
      memchr(value, '%', n) == NULL) {
    memcpy(q->container, value, n);
    q->container[n] = '\0';
    return;
  }
  value = value_of(param, len, "previous", &n);
  if (value != NULL && is_word(value, n, "true")) {
    q->previous = true;
    return;
  }
  value = value_of(param, len, "tailLines", &n);
  if (value != NULL && aicr_parse_int64(value, n, &q->tail) && q->tail >= 0) {
    return;
  }
  value = value_of(param, len, "limitBytes", &n);
  if (value != NULL && aicr_parse_int64(value, n, &q->limit) && q->limit > 0) {
    return;
  }
  value = value_of(param, len, "timestamps", &n);
  if (value == NULL || !is_word(value, n, "false")) {
    q->more = true;
  }
}

void kube_log_query_read(const char *query, struct kube_log_query *q)
{
  *q = (struct kube_log_query){.tail = -1, .limit = -1};
  for (const char *p = query == NULL ? "" : query; *p != '\0';) {
    size_t len = strcspn(p, "&");
    if (len > 0) {
      take_param(q, p, len);
    }
    p += len + (p[len] == '&');
  }
}

bool kube_log_query_is_whole(const struct kube_log_query *q)
{
  return q->tail < 0 && q->limit < 0 && !q->more;
}

static size_t tail_start(const struct aicr_buf *b, int64_t lines)
{
  size_t at = b->len;
  if (lines == 0) {
    return at;
  }
  /* The last line may or may not have an end. */
  at -= at > 0 && b->data[at - 1] == '\n';
  while (at > 0) {
    if (b->data[at - 1] == '\n' && --lines == 0) {
      return at;
    }
    at--;
  }
  return 0;
}

void kube_log_cut(const struct kube_log_query *q, struct aicr_buf *text)
{
  if (text->data == NULL) {
    return;
  }
  if (q->tail >= 0) {
    size_t at = tail_start(text, q->tail);
    memmove(text->data, text->data + at, text->len - at);
    text->len -= at;
  }
  if (q->limit >= 0 && (uint64_t)q->limit < text->len) {
    text->len = (size_t)q->limit;
  }
  text->data[text->len] = '\0';
}

static bool add_log(struct kube_rec_store *s, const char *ns, const char *pod,
                    const char *container, bool previous,
                    const struct kube_rec_blob *blob, struct aicr_error *err)
{
  struct kube_rec_log *log =
      kube_rec_grow((void **)&s->logs, &s->log_count, &s->log_cap, sizeof *log,
                    LOGS_MAX, err);
  if (log == NULL) {
    return false;
  }
  log->previous = previous;
  log->blob = *blob;
  log->ns = kube_rec_copy(ns, strlen(ns), err);
  log->pod = log->ns == NULL ? NULL : kube_rec_copy(pod, strlen(pod), err);
  log->container = log->pod == NULL
                       ? NULL
                       : kube_rec_copy(container, strlen(container), err);
  return log->container != NULL;
}

static int compare_pods(const struct kube_rec_log *log, const char *ns,
                        const char *pod, bool previous)
{
  int c = strcmp(log->ns, ns);
  c = c != 0 ? c : strcmp(log->pod, pod);
  return c != 0 ? c : (int)log->previous - (int)previous;
}

static int compare_logs(const void *left, const void *right)
{
  const struct kube_rec_log *a = left, *b = right;
  int c = compare_pods(a, b->ns, b->pod, b->previous);
  return c != 0 ? c : strcmp(a->container, b->container);
}

void kube_rec_sort_logs(struct kube_rec_store *s)
{
  if (s->log_count > 1) {
    qsort(s->logs, s->log_count, sizeof s->logs[0], compare_logs);
  }
}

const struct kube_rec_log *kube_rec_find_log(const struct kube_rec_store *s,
                                             const char *ns, const char *pod,
                                             const struct kube_log_query *q)
{
  size_t low = 0, high = s->log_count;
  ns = ns == NULL ? "" : ns;
  while (low < high) {
    size_t mid = low + (high - low) / 2;
    if (compare_pods(&s->logs[mid], ns, pod, q->previous) < 0) {
      low = mid + 1;
    } else {
      high = mid;
    }
  }
  const struct kube_rec_log *found = NULL;
  for (size_t i = low; i < s->log_count; i++) {
    const struct kube_rec_log *log = &s->logs[i];
    if (compare_pods(log, ns, pod, q->previous) != 0) {
      break;
    }
    if (q->container[0] == '\0' && found != NULL) {
      return NULL; /* the server would ask which */
    }
    if (q->container[0] == '\0' || strcmp(log->container, q->container) == 0) {
      found = log;
    }
  }
  return found;
}

static bool is_log_file(const char *path)
{
  return kube_ends_in(path, ".log");
}

/* logs/NS/POD/CONTAINER[.previous].log */
static bool visit_log(void *ctx, const struct kube_rec_input *in,
                      struct aicr_error *err)
{
  struct kube_rec_loader *l = ctx;
  struct kube_rec_blob blob = {0};
  char ns[64], pod[KUBE_NAME_MAX + 1], container[300];
  const char *at = in->path;
  bool fits = strncmp(at, "logs/", 5) == 0;
  at += fits ? 5 : 0;
  if (!fits || !kube_take_step(&at, ns, sizeof ns) ||
      !kube_take_step(&at, pod, sizeof pod) || strchr(at, '/') != NULL ||
      !kube_take_step(&at, container, sizeof container)) {
    return kube_rec_invalid(err, in->path,
                            "expected logs/NAMESPACE/POD/CONTAINER.log");
  }
  container[strlen(container) - strlen(".log")] = '\0';
  bool previous = kube_ends_in(container, ".previous");
  if (previous) {
    container[strlen(container) - strlen(".previous")] = '\0';
  }
  if (strchr(container, '+') != NULL) {
    return true; /* a part of a log, which only an index can name */
  }
  return kube_rec_size(in, &blob.len, err) &&
         kube_rec_files_keep(&l->store->files, in, &blob.file, err) &&
         add_log(l->store, ns, pod, container, previous, &blob, err);
}

bool kube_rec_load_logs(struct kube_rec_loader *l, struct aicr_error *err)
{
  const struct kube_rec_visitor v = {is_log_file, visit_log, l};
  enum kube_rec_sort sort = REC_ABSENT;
  return kube_rec_files_sort(&l->store->files, "logs", &sort, err) &&
         (sort != REC_FOLDER ||
          kube_rec_files_walk(&l->store->files, "logs", &v, err));
}

/* A file of a dump, in memory. */
struct dump {
  const char *text;
  size_t len;
  char suffix[512]; /* what follows the container's name in a mark */
};

/* Where the text is found from `at` on, SIZE_MAX: nowhere. */
static size_t find(const struct dump *d, size_t at, const char *text,
                   size_t text_len)
{
  while (at < d->len && d->len - at >= text_len) {
    const char *hit = memchr(d->text + at, text[0], d->len - at);
    if (hit == NULL) {
      break;
    }
    at = (size_t)(hit - d->text);
    if (d->len - at >= text_len && memcmp(hit, text, text_len) == 0) {
      return at;
    }
    at++;
  }
  return SIZE_MAX;
}

/* Where the text is found, when that is in one place only. */
static size_t find_only(const struct dump *d, const char *text)
{
  size_t len = strlen(text), at = find(d, 0, text, len);
  return at == SIZE_MAX || find(d, at + 1, text, len) != SIZE_MAX ? SIZE_MAX
                                                                  : at;
}

/* What kubectl writes where it got no log. */
static bool is_complaint(const char *text, size_t len)
{
  static const char *const begins[] = {"Request log error: ",
                                       "Create log request error: "};
  for (size_t i = 0; i < sizeof begins / sizeof begins[0]; i++) {
    size_t n = strlen(begins[i]);
    if (len >= n && memcmp(text, begins[i], n) == 0) {
      return true;
    }
  }
  return false;
}

#define START "==== START logs for container "

/* Takes the log that a START mark at `at` begins; *next is where to look on. */
static bool take_dumped(struct kube_rec_loader *l, const struct dump *d,
                        size_t at, const char *ns, const char *pod, size_t kept,
                        size_t *next, struct aicr_error *err)
{
  char name[CONTAINER_MAX + 1], mark[1024];
  size_t from = at + strlen(START);
  size_t end = find(d, from, d->suffix, strlen(d->suffix));
  *next = from;
  if (end == SIZE_MAX || end - from > CONTAINER_MAX || end == from) {
    return true;
  }
  memcpy(name, d->text + from, end - from);
  name[end - from] = '\0';
  if (strpbrk(name, " \n/") != NULL || strlen(name) != end - from) {
    return true;
  }
  snprintf(mark, sizeof mark, START "%s%s", name, d->suffix);
  size_t start = find_only(d, mark), begin = end + strlen(d->suffix);
  snprintf(mark, sizeof mark, "==== END logs for container %s%s", name,
           d->suffix);
  size_t stop = find_only(d, mark);
  if (start == SIZE_MAX || stop == SIZE_MAX || stop < begin ||
      is_complaint(d->text + begin, stop - begin)) {
    kube_rec_note(l->warnings,
                  "%s/%s: the log of one of its containers cannot "
                  "be told from the others; it is left out",
                  ns, pod);
    return true;
  }
  *next = stop;
  const struct kube_rec_blob blob = {kept, begin, stop - begin};
  return add_log(l->store, ns, pod, name, false, &blob, err);
}

static bool take_dump(struct kube_rec_loader *l, const struct dump *d,
                      const char *ns, const char *pod, size_t kept,
                      struct aicr_error *err)
{
  size_t at = 0;
  for (;;) {
    at = find(d, at, START, strlen(START));
    if (at == SIZE_MAX) {
      return true;
    }
    size_t next = at + 1;
    bool begins_line = at == 0 || d->text[at - 1] == '\n';
    if (begins_line && !take_dumped(l, d, at, ns, pod, kept, &next, err)) {
      return false;
    }
    at = next;
  }
}

bool kube_rec_load_dump_log(struct kube_rec_loader *l,
                            const struct kube_rec_input *in, const char *ns,
                            const char *pod, struct aicr_error *err)
{
  struct dump d = {0};
  struct aicr_buf text;
  uint64_t size = 0;
  size_t kept = 0;
  if (!kube_rec_size(in, &size, err)) {
    return false;
  }
  if (size > DUMP_MAX) {
    kube_rec_warn(l, in->path, "is larger than 64 MiB; it is left out");
    return true;
  }
  bool ok = kube_rec_files_text(&l->store->files, in, &text, err) &&
            kube_rec_files_keep(&l->store->files, in, &kept, err);
  if (ok && text.len > 0) {
    d.text = text.data;
    d.len = text.len;
    snprintf(d.suffix, sizeof d.suffix, " of pod %.63s/%.253s ====\n", ns, pod);
    ok = take_dump(l, &d, ns, pod, kept, err);
  }
  aicr_buf_free(&text);
  return ok;
}
