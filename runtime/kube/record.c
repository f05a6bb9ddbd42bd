/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/record.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/hash.h"
#include "core/json_writer.h"
#include "core/text.h"
#include "core/time.h"
#include "kube/fixed_text.h"
#include "kube/json_tree.h"
#include "kube/record_lookups.h"
#include "kube/record_redact.h"

#define NAME_MAX_BYTES 100
#define SECRETS_MAX    2000u /* all are looked for at each byte */
#define JSON_MAX       ((size_t)1 << 30)
#define PLAIN_MAX      4u

/* A file that no line names. */
struct plain {
  char path[64], sha256[AICR_SHA256_TEXT];
};

struct kube_record {
  char *folder;
  char context[256], tool[64], captured[AICR_RFC3339_TEXT];
  int root, index;        /* -1: closed */
  char version[64];       /* of the server; "": not known yet */
  bool ended;             /* nothing more comes: it is whole */
  uint64_t serial, lines; /* lines: of the index */
  struct aicr_sha256 sum; /* of the index */
  struct plain plain[PLAIN_MAX];
  size_t plain_count;
  struct kube_secrets secrets;
  struct kube_lookups lookups;
  struct aicr_error error; /* code NONE: none */
};

struct kube_record_file {
  struct kube_record *record;
  FILE *out; /* NULL: it failed */
  struct aicr_sha256 sum;
  char temporary[32];
};

static bool works(const struct kube_record *r)
{
  return r->error.code == AICR_CODE_NONE;
}

static void fail(struct kube_record *r, const char *file, const char *why)
{
  struct aicr_quoted folder, name;
  if (works(r)) {
    aicr_fail(&r->error, AICR_INTERNAL, "record-failed",
              "cannot record into %s: %s: %s",
              aicr_quote(&folder, r->folder, strlen(r->folder)),
              aicr_quote(&name, file, strlen(file)), why);
  }
}

static bool refuse(struct aicr_error *err, const char *reason,
                   const char *folder, const char *why)
{
  struct aicr_quoted q;
  return aicr_fail(err, AICR_INVALID_REQUEST, reason, "%s: %s",
                   aicr_quote(&q, folder, strlen(folder)), why);
}

/* True when nothing is in it. */
static bool is_empty(int folder, bool *empty)
{
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *dir = copy < 0 ? NULL : fdopendir(copy);
  if (dir == NULL) {
    if (copy >= 0) {
      close(copy);
    }
    return false;
  }
  *empty = true;
  for (const struct dirent *e = readdir(dir); e != NULL; e = readdir(dir)) {
    if (strcmp(e->d_name, ".") != 0 && strcmp(e->d_name, "..") != 0) {
      *empty = false;
    }
  }
  closedir(dir);
  return true;
}

static bool open_folder(struct kube_record *r, struct aicr_error *err)
{
  bool empty = false;
  if (mkdir(r->folder, 0700) != 0 && errno != EEXIST) {
    return refuse(err, "record-failed", r->folder, strerror(errno));
  }
  r->root = open(r->folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (r->root < 0 || !is_empty(r->root, &empty)) {
    return refuse(err, "record-failed", r->folder, strerror(errno));
  }
  return empty || refuse(err, "record-not-empty", r->folder,
                         "not empty; a recording begins in a new folder");
}

static void add_member(struct aicr_buf *b, const char *name, const char *text)
{
  if (text != NULL && text[0] != '\0') {
    aicr_buf_addf(b, ",\n  \"%s\": ", name);
    aicr_json_write_string(b, text, strlen(text));
  }
}

/* What the index, as it is now, and the other files must still be when they are
 * read: a line that was lost is no answer that never came. */
static void add_sums(struct kube_record *r, struct aicr_buf *b)
{
  char index[AICR_SHA256_TEXT];
  if (!aicr_sha256_text(&r->sum, index)) {
    fail(r, KUBE_RECORD_INDEX, "no memory");
    return;
  }
  aicr_buf_addf(b, ",\n  \"lines\": %llu,\n  \"sha256\": {\n    \"%s\": \"%s\"",
                (unsigned long long)r->lines, KUBE_RECORD_INDEX, index);
  for (size_t i = 0; i < r->plain_count; i++) {
    aicr_buf_addf(b, ",\n    \"%s\": \"%s\"", r->plain[i].path,
                  r->plain[i].sha256);
  }
  aicr_buf_adds(b, "\n  }");
}

static void write_plain(struct kube_record *r, const char *path,
                        const char *data, size_t len);

static void write_manifest(struct kube_record *r)
{
  struct aicr_buf b;
  aicr_buf_init(&b, 1u << 16);
  aicr_buf_adds(&b, "{\n  \"schema\": 1,\n  \"indexed\": true");
  if (!r->ended) {
    aicr_buf_adds(&b, ",\n  \"open\": true");
  }
  add_member(&b, "capturedAt", r->captured);
  if (r->version[0] != '\0') {
    aicr_buf_adds(&b, ",\n  \"server\": {\"gitVersion\": ");
    aicr_json_write_string(&b, r->version, strlen(r->version));
    aicr_buf_addc(&b, '}');
  }
  add_member(&b, "context", r->context);
  add_member(&b, "tool", r->tool);
  add_sums(r, &b);
  aicr_buf_adds(&b, "\n}\n");
  if (b.failed) {
    fail(r, KUBE_RECORD_MANIFEST, "no memory");
  } else {
    write_plain(r, KUBE_RECORD_MANIFEST, b.data, b.len);
  }
  aicr_buf_free(&b);
}

struct kube_record *kube_record_open(const char *folder,
                                     const struct kube_record_facts *facts,
                                     struct aicr_error *err)
{
  struct kube_record *r = aicr_calloc(1, sizeof *r);
  if (r == NULL) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
    return NULL;
  }
  r->root = r->index = -1;
  r->folder = aicr_strndup(folder, strlen(folder));
  if (r->folder == NULL) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a recording");
    aicr_free(r);
    return NULL;
  }
  aicr_sha256_begin(&r->sum);
  bool ok = open_folder(r, err);
  if (ok) {
    kube_set_text(r->context, sizeof r->context, facts->context);
    kube_set_text(r->tool, sizeof r->tool, facts->tool);
    aicr_time_format(facts->captured_ms, r->captured);
    write_manifest(r);
    r->index = openat(r->root, KUBE_RECORD_INDEX,
                      O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0600);
    if (r->index < 0) {
      fail(r, KUBE_RECORD_INDEX, strerror(errno));
    }
    if (!works(r)) {
      ok = refuse(err, "record-failed", folder, r->error.message);
    }
  }
  if (!ok) {
    kube_record_close(r);
    return NULL;
  }
  return r;
}

bool kube_record_version(struct kube_record *r, const char *text, size_t len)
{
  struct aicr_error ignored;
  cJSON *tree = text == NULL || r->version[0] != '\0'
                    ? NULL
                    : kube_json_tree(text, len, &ignored);
  const char *version = kube_json_text(tree, "gitVersion");
  if (works(r) && version[0] != '\0') {
    kube_set_text(r->version, sizeof r->version, version);
    write_manifest(r);
  }
  cJSON_Delete(tree);
  return r->version[0] != '\0';
}

void kube_record_close(struct kube_record *r)
{
  if (r == NULL) {
    return;
  }
  if (r->index >= 0 && works(r)) {
    r->ended = true;
    write_manifest(r);
  }
  if (r->root >= 0) {
    close(r->root);
  }
  if (r->index >= 0) {
    close(r->index);
  }
  aicr_sha256_free(&r->sum);
  kube_secrets_free(&r->secrets);
  kube_lookups_free(&r->lookups);
  aicr_free(r->folder);
  aicr_free(r);
}

static void free_file(struct kube_record_file *f)
{
  aicr_sha256_free(&f->sum);
  aicr_free(f);
}

struct kube_record_file *kube_record_begin(struct kube_record *r)
{
  struct kube_record_file *f = works(r) ? aicr_calloc(1, sizeof *f) : NULL;
  if (f == NULL) {
    fail(r, "a file", "no memory");
    return NULL;
  }
  f->record = r;
  aicr_sha256_begin(&f->sum);
  r->serial++;
  snprintf(f->temporary, sizeof f->temporary, ".new-%llu",
           (unsigned long long)r->serial);
  int fd = openat(r->root, f->temporary,
                  O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
  f->out = fd < 0 ? NULL : fdopen(fd, "wb");
  if (f->out == NULL) {
    fail(r, f->temporary, strerror(errno));
    if (fd >= 0) {
      close(fd);
    }
    kube_record_drop(f);
    return NULL;
  }
  return f;
}

void kube_record_add(struct kube_record_file *f, const char *data, size_t len)
{
  if (f == NULL || !works(f->record) || len == 0) {
    return;
  }
  if (fwrite(data, 1, len, f->out) != len) {
    fail(f->record, f->temporary, strerror(errno));
  }
  aicr_sha256_add(&f->sum, data, len);
}

void kube_record_secret(struct kube_record *r, const char *text, size_t len)
{
  if (r->secrets.count >= SECRETS_MAX) {
    fail(r, "a secret", "there are more of them than can be kept out");
  } else if (!kube_secrets_add(&r->secrets, text, len)) {
    fail(r, "a secret", "no memory");
  }
}

void kube_record_add_text(struct kube_record_file *f, const char *text,
                          size_t len)
{
  struct aicr_buf clean;
  if (f == NULL || !kube_secrets_in(&f->record->secrets, text, len)) {
    kube_record_add(f, text, len);
    return;
  }
  aicr_buf_init(&clean, JSON_MAX);
  kube_secrets_mask(&f->record->secrets, text, len, KUBE_REDACTED, &clean);
  if (clean.failed) {
    fail(f->record, f->temporary, "no memory");
  } else {
    kube_record_add(f, clean.data, clean.len);
  }
  aicr_buf_free(&clean);
}

void kube_record_no_memory(struct kube_record *r)
{
  fail(r, "an answer", "no memory");
}

void kube_record_add_buf(struct kube_record_file *f, const struct aicr_buf *b)
{
  if (f != NULL && b->failed) {
    kube_record_no_memory(f->record);
  } else if (b->len > 0) {
    kube_record_add(f, b->data, b->len);
  }
}

void kube_record_add_json(struct kube_record_file *f, const char *text,
                          size_t len, bool is_secret)
{
  struct aicr_buf clean;
  struct aicr_error err;
  bool changed = false;
  if (f == NULL || !works(f->record)) {
    return;
  }
  aicr_buf_init(&clean, JSON_MAX);
  if (!kube_redact(text, len, is_secret, &f->record->secrets, &clean, &changed,
                   &err)) {
    fail(f->record, f->temporary, err.message);
  } else if (changed) {
    kube_record_add(f, clean.data, clean.len);
  } else {
    kube_record_add(f, text, len);
  }
  aicr_buf_free(&clean);
}

void kube_record_drop(struct kube_record_file *f)
{
  if (f == NULL) {
    return;
  }
  if (f->out != NULL) {
    fclose(f->out);
    unlinkat(f->record->root, f->temporary, 0);
  }
  free_file(f);
}

/* Closes the file; true when all of it was written. */
static bool finish(struct kube_record_file *f)
{
  struct kube_record *r = f->record;
  FILE *out = f->out;
  f->out = NULL;
  if (fclose(out) != 0) {
    fail(r, f->temporary, strerror(errno));
  }
  if (!works(r)) {
    unlinkat(r->root, f->temporary, 0);
  }
  return works(r);
}

/* Makes the folders that a path leads through. */
static bool make_folders(struct kube_record *r, char *path)
{
  for (char *p = strchr(path, '/'); p != NULL; p = strchr(p + 1, '/')) {
    *p = '\0';
    bool ok = mkdirat(r->root, path, 0700) == 0 || errno == EEXIST;
    if (!ok) {
      fail(r, path, strerror(errno));
    }
    *p = '/';
    if (!ok) {
      return false;
    }
  }
  return true;
}

static bool is_taken(const struct kube_record *r, const char *path)
{
  struct stat st;
  return fstatat(r->root, path, &st, AT_SYMLINK_NOFOLLOW) == 0;
}

/* A file's name that no shell and no file system stumbles over. '+' is left
 * for our numbers. */
static void safe_name(const char *name, char out[NAME_MAX_BYTES + 1])
{
  static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                              "abcdefghijklmnopqrstuvwxyz0123456789-_.";
  size_t n = 0;
  for (; name[n] != '\0' && n < NAME_MAX_BYTES; n++) {
    bool good = strchr(plain, name[n]) != NULL && (n > 0 || name[n] != '.');
    out[n] = '_';
    if (good) {
      out[n] = name[n];
    }
  }
  out[n] = '\0';
}

static bool key_has_secret(const struct kube_record *r,
                           const struct kube_index_line *l)
{
  const char *const texts[] = {l->ns,     l->name,  l->subresource, l->label,
                               l->field,  l->query, l->path,        l->reason,
                               l->detail, l->what};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    if (kube_secrets_in(&r->secrets, texts[i], strlen(texts[i]))) {
      return true;
    }
  }
  return false;
}

void kube_record_answer(struct kube_record_file *f,
                        const struct kube_index_line *line, const char *folder,
                        const char *name, const char *ending, bool plain)
{
  char safe[NAME_MAX_BYTES + 1];
  struct kube_index_line full = *line;
  if (f == NULL) {
    return;
  }
  struct kube_record *r = f->record;
  if (key_has_secret(r, line)) {
    kube_record_drop(f);
    return;
  }
  /* A text that is cut still is one, and so is another recording's. */
  full.bytes = ftell(f->out);
  full.bytes = full.bytes < 0 ? 0 : full.bytes;
  if (!aicr_sha256_text(&f->sum, full.sha256)) {
    fail(r, f->temporary, "no memory");
  }
  safe_name(name, safe);
  int n =
      snprintf(full.file, sizeof full.file, "%s/%s.%s", folder, safe, ending);
  bool whole = strlen(name) == strlen(safe);
  if (!plain || !whole || is_taken(r, full.file)) {
    n = snprintf(full.file, sizeof full.file, "%s/%s+%s.%s", folder, safe,
                 f->temporary + strlen(".new-"), ending);
  }
  if (n < 0 || (size_t)n >= sizeof full.file) {
    fail(r, folder, "the path is too long");
  }
  if (finish(f) && make_folders(r, full.file)) {
    if (renameat(r->root, f->temporary, r->root, full.file) == 0) {
      kube_record_line(r, &full);
    } else {
      fail(r, full.file, strerror(errno));
    }
  }
  free_file(f);
}

static bool write_all(int fd, const char *data, size_t len)
{
  while (len > 0) {
    ssize_t n = write(fd, data, len);
    if (n < 0 && errno == EINTR) {
      continue;
    }
    if (n < 0) {
      return false;
    }
    data += n;
    len -= (size_t)n;
  }
  return true;
}

/* Half a line at the end would make the whole recording unreadable. */
static void append_line(struct kube_record *r, const struct aicr_buf *text)
{
  off_t before = lseek(r->index, 0, SEEK_END);
  if (before < 0 || !write_all(r->index, text->data, text->len)) {
    fail(r, KUBE_RECORD_INDEX, strerror(errno));
    if (before >= 0 && ftruncate(r->index, before) != 0) {
      return; /* the reader will refuse it */
    }
    return;
  }
  r->lines++;
  aicr_sha256_add(&r->sum, text->data, text->len);
}

void kube_record_line(struct kube_record *r, const struct kube_index_line *line)
{
  struct kube_index_line again;
  struct aicr_error err;
  struct aicr_buf text;
  if (!works(r) || key_has_secret(r, line)) {
    return;
  }
  aicr_buf_init(&text, KUBE_INDEX_LINE_MAX);
  kube_index_write(line, &text);
  if (!aicr_buf_addc(&text, '\n')) {
    fail(r, KUBE_RECORD_INDEX, "no memory, or a line too long");
  } else if (!kube_index_parse(text.data, text.len, &again, &err)) {
    fail(r, KUBE_RECORD_INDEX, err.message);
  } else {
    append_line(r, &text);
  }
  aicr_buf_free(&text);
}

static void write_plain(struct kube_record *r, const char *path,
                        const char *data, size_t len)
{
  struct kube_record_file *f = kube_record_begin(r);
  char copy[64];
  if (f == NULL) {
    return;
  }
  kube_record_add(f, data, len);
  snprintf(copy, sizeof copy, "%s", path);
  if (finish(f) && make_folders(r, copy) &&
      renameat(r->root, f->temporary, r->root, copy) != 0) {
    fail(r, path, strerror(errno));
  }
  free_file(f);
}

void kube_record_plain(struct kube_record *r, const char *path,
                       const char *data, size_t len)
{
  struct plain *p = &r->plain[r->plain_count];
  if (r->plain_count == PLAIN_MAX || strlen(path) >= sizeof p->path ||
      !aicr_sha256_hex(data, len, p->sha256)) {
    fail(r, path, "no memory, or too many files");
    return;
  }
  write_plain(r, path, data, len);
  kube_set_text(p->path, sizeof p->path, path);
  r->plain_count++;
  write_manifest(r);
}

unsigned kube_record_lookup(struct kube_record *r,
                            const struct kube_asker *asker, const char *what)
{
  unsigned before = 0;
  if (works(r) && !kube_lookups_add(&r->lookups, asker, what, &before)) {
    fail(r, KUBE_RECORD_INDEX, "no memory, or too many names of resources");
  }
  return before;
}

void kube_record_wait(struct kube_record *r, const struct kube_asker *asker,
                      const char *what, unsigned looks, bool late)
{
  struct kube_index_line line = {.kind = KUBE_INDEX_WAIT,
                                 .transport = late ? KUBE_TRANSPORT_DEADLINE
                                                   : KUBE_TRANSPORT_OK,
                                 .asker = *asker,
                                 .looks = looks};
  kube_set_text(line.what, sizeof line.what, what);
  kube_record_line(r, &line);
}

void kube_record_run(struct kube_record *r, const struct kube_asker *asker,
                     enum kube_transport how)
{
  struct kube_index_line line = {
      .kind = KUBE_INDEX_RUN, .transport = how, .asker = *asker};
  line.asker.part[0] = '\0';
  kube_record_line(r, &line);
  if (works(r)) {
    write_manifest(r);
  }
}

const struct aicr_error *kube_record_error(const struct kube_record *r)
{
  return works(r) ? NULL : &r->error;
}
