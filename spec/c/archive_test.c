/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/archive.h"

#include <archive.h>
#include <archive_entry.h>

#include "rows.h"

#include "kube_asker.h"
#include "recording_texts.h"
#include "torture.h"

/* Archives made member by member, good ones and hostile ones. */

struct member {
  const char *path, *text;
  unsigned type;       /* 0: a plain file */
  const char *link;    /* where a link leads */
  long long size_more; /* the header says that much more than there is */
};

#define MEMBERS 4

static void add(struct archive *a, const struct member *m)
{
  struct archive_entry *e = archive_entry_new();
  size_t len = m->text == NULL ? 0 : strlen(m->text);
  archive_entry_set_pathname(e, m->path);
  archive_entry_set_filetype(e, m->type == 0 ? AE_IFREG : m->type);
  archive_entry_set_perm(e, 0644);
  archive_entry_set_size(e, (la_int64_t)len + m->size_more);
  if (m->type == AE_IFLNK) {
    archive_entry_set_symlink(e, m->link);
  } else if (m->link != NULL) {
    archive_entry_set_hardlink(e, m->link);
  }
  assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
  if (len > 0 && m->link == NULL) {
    assert_int_equal(archive_write_data(a, m->text, len), len);
  }
  archive_entry_free(e);
}

/* Packs into memory; the caller frees it. */
static char *pack(const struct member *members, size_t count, bool gzip,
                  size_t *len)
{
  const size_t room = (size_t)1 << 20;
  char *data = malloc(room);
  struct archive *a = archive_write_new();
  assert_non_null(data);
  archive_write_set_format_pax_restricted(a);
  if (gzip) {
    archive_write_add_filter_gzip(a);
  }
  assert_int_equal(archive_write_open_memory(a, data, room, len), ARCHIVE_OK);
  for (size_t i = 0; i < count && members[i].path != NULL; i++) {
    add(a, &members[i]);
  }
  archive_write_close(a);
  archive_write_free(a);
  return data;
}

/* The archive as a line: "PATH=TEXT …", or the error. */
static void show(const struct kube_archive *a, struct aicr_buf *out)
{
  for (size_t i = 0; i < a->count; i++) {
    char text[256];
    const struct kube_archive_member *m = &a->members[i];
    ssize_t n = pread(a->fd, text, sizeof text, (off_t)m->offset);
    size_t len = n < (ssize_t)m->size ? (size_t)n : (size_t)m->size;
    assert_true(n >= 0);
    aicr_buf_addf(out, "%s%s=%.*s", i == 0 ? "" : " ", m->path, (int)len, text);
    assert_ptr_equal(kube_archive_find(a, m->path), m);
  }
}

static bool open_bytes(const void *data, size_t len, struct kube_archive *a,
                       struct aicr_error *err)
{
  struct folder f;
  char path[128];
  folder_make(&f);
  folder_write(&f, "x.tar", data, len);
  folder_path(&f, "x.tar", path, sizeof path);
  int fd = open(path, O_RDONLY);
  assert_true(fd >= 0);
  assert_true(kube_archive_is(fd, "x.tar"));
  bool ok = kube_archive_open(a, fd, "x.tar", err);
  close(fd);
  folder_remove(&f);
  return ok;
}

static void read_bytes(const void *data, size_t len, struct aicr_buf *out)
{
  struct kube_archive a;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  aicr_buf_reset(out);
  if (open_bytes(data, len, &a, &err)) {
    show(&a, out);
    kube_archive_close(&a);
  } else {
    assert_int_equal(err.code, AICR_INVALID_REQUEST);
    assert_int_equal(a.fd, -1);
    aicr_buf_addf(out, "%s: %s", err.reason, err.message);
  }
}

struct row {
  const char *what;
  struct member members[MEMBERS];
  const char *want; /* the end of what is told */
};

#define LINK(type, to) NULL, type, to, 0
#define REFUSED(name)  "recording-invalid: \"x.tar\": \"" name "\": "
#define OUTSIDE                                                                \
  "a name that leads out of the archive, is too deep, or holds a control "     \
  "character"
#define NOT_FOLLOWED "a link; links in a recording are not followed"

static const struct row table[] = {
    {"files, in the order of a walk",
     {{.path = "b", .text = "1"},
      {.path = "a-b", .text = "2"},
      {.path = "a/b", .text = "3"},
      {.path = "a.json", .text = "4"}},
     "a/b=3 a-b=2 a.json=4 b=1"},
    {"a folder around all",
     {{.path = "rec/", .type = AE_IFDIR},
      {.path = "rec/x.json", .text = "1"},
      {.path = "rec/d/y", .text = "2"}},
     "d/y=2 x.json=1"},
    {"the folder that tar -C makes",
     {{.path = "./", .type = AE_IFDIR},
      {.path = "./x", .text = "1"},
      {.path = "././/y", .text = "2"}},
     "x=1 y=2"},
    {"a folder of our own format stays",
     {{.path = "objects/core/v1/nodes/list.json", .text = "1"}},
     "objects/core/v1/nodes/list.json=1"},
    {"two folders stay",
     {{.path = "a/x", .text = "1"}, {.path = "b/x", .text = "2"}},
     "a/x=1 b/x=2"},
    {"a name like the folder stays",
     {{.path = "a/x", .text = "1"}, {.path = "ab/x", .text = "2"}},
     "a/x=1 ab/x=2"},
    {"empty files", {{.path = "a", .text = ""}, {.path = "b"}}, "a= b="},
    {"nothing", {{.path = NULL}}, ""},
    {"O9 a member above it",
     {{.path = "../../x", .text = "1"}},
     REFUSED("../../x") OUTSIDE},
    {"one in the middle", {{.path = "a/../x"}}, REFUSED("a/../x") OUTSIDE},
    {"one at the end", {{.path = "a/.."}}, REFUSED("a/..") OUTSIDE},
    {"an absolute one", {{.path = "/etc/x"}}, REFUSED("/etc/x") OUTSIDE},
    {"an absolute one behind a dot",
     {{.path = ".//etc/../x"}},
     REFUSED(".//etc/../x") OUTSIDE},
    {"a newline", {{.path = "a\nb"}}, REFUSED("a\\nb") OUTSIDE},
    {"an escape", {{.path = "a\033[2Jb"}}, REFUSED("a\\x1b[2Jb") OUTSIDE},
    {"a backslash", {{.path = "..\\x"}}, REFUSED("..\\\\x") OUTSIDE},
    {"too deep",
     {{.path = "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17"}},
     OUTSIDE},
    {"a link", {{"a", LINK(AE_IFLNK, "b")}}, REFUSED("a") NOT_FOLLOWED},
    {"a link out of it",
     {{"a", LINK(AE_IFLNK, "/etc/passwd")}, {.path = "a/x", .text = "1"}},
     REFUSED("a") NOT_FOLLOWED},
    {"a second name",
     {{.path = "b", .text = "1"}, {"a", LINK(0, "b")}},
     REFUSED("a") NOT_FOLLOWED},
    {"a second name of a file outside",
     {{"a", LINK(0, "/etc/passwd")}},
     REFUSED("a") NOT_FOLLOWED},
    {"a pipe",
     {{.path = "a", .type = AE_IFIFO}},
     REFUSED("a") "neither a plain file nor a folder"},
    {"a device",
     {{.path = "a", .type = AE_IFBLK}},
     REFUSED("a") "neither a plain file nor a folder"},
    {"a file twice",
     {{.path = "a", .text = "1"}, {.path = "b"}, {.path = "./a", .text = "2"}},
     REFUSED("a") "the archive holds it twice"},
    {"a file that is a folder too",
     {{.path = "a", .text = "1"}, {.path = "a-b"}, {.path = "a/b"}},
     REFUSED("a/b") "the archive holds its folder as a file"},
};

static void test_row(void **state)
{
  const struct row *row = *state;
  struct aicr_buf out;
  aicr_buf_init(&out, 1 << 20);
  for (int gzip = 0; gzip < 2; gzip++) {
    size_t len = 0, n = strlen(row->want);
    char *data = pack(row->members, MEMBERS, gzip != 0, &len);
    read_bytes(data, len, &out);
    const char *got = out.len == 0 ? "" : out.data;
    assert_true(strlen(got) >= n);
    assert_string_equal(got + strlen(got) - n, row->want);
    assert_true(row->want[0] == 'r' || strchr(row->want, '=') == NULL ||
                strlen(got) == n);
    free(data);
  }
  aicr_buf_free(&out);
}

static const struct member two[] = {{.path = "a", .text = "first"},
                                    {.path = "b", .text = "second"}};

/* Cut anywhere before its end mark it is an error, never a part of it. */
static void test_cut(void **state)
{
  size_t len = 0;
  struct aicr_buf out;
  (void)state;
  char *data = pack(two, 2, false, &len);
  aicr_buf_init(&out, 1 << 20);
  /* two members of a header and a block each, then blocks of zeros */
  for (size_t cut = 1; cut < (size_t)5 * 512;
       cut += cut % 512 == 511 ? 1 : 102) {
    read_bytes(data, cut, &out);
    if (strncmp(out.data, "recording-invalid: ", 19) != 0) {
      fail_msg("cut at %zu: %s", cut, out.data);
    }
  }
  read_bytes(data, (size_t)5 * 512, &out);
  assert_string_equal(out.data, "a=first b=second");
  free(data);
  aicr_buf_free(&out);
}

static void test_cut_gzip(void **state)
{
  size_t len = 0;
  struct aicr_buf out;
  unsigned whole = 0;
  (void)state;
  char *data = pack(two, 2, true, &len);
  aicr_buf_init(&out, 1 << 20);
  for (size_t cut = 2; cut < len; cut++) {
    read_bytes(data, cut, &out);
    bool good = strcmp(out.data, "a=first b=second") == 0;
    if (!good && strncmp(out.data, "recording-invalid: ", 19) != 0) {
      fail_msg("cut at %zu: %s", cut, out.data);
    }
    whole += good;
  }
  /* what is missing then lies behind the end mark */
  assert_true(whole < 32);
  free(data);
  aicr_buf_free(&out);
}

/* A tar that was cut before it was packed. */
static void test_cut_inside(void **state)
{
  size_t len = 0, packed_len = 0;
  struct aicr_buf out;
  (void)state;
  char *data = pack(two, 2, false, &len);
  char *packed = malloc(1 << 16);
  struct archive *a = archive_write_new();
  struct archive_entry *e = archive_entry_new();
  assert_non_null(packed);
  archive_write_set_format_raw(a);
  archive_write_add_filter_gzip(a);
  archive_write_open_memory(a, packed, 1 << 16, &packed_len);
  archive_entry_set_filetype(e, AE_IFREG);
  archive_write_header(a, e);
  assert_int_equal(archive_write_data(a, data, 1024), 1024);
  archive_entry_free(e);
  archive_write_close(a);
  archive_write_free(a);
  aicr_buf_init(&out, 1 << 20);
  read_bytes(packed, packed_len, &out);
  assert_string_equal(out.data, "recording-invalid: \"x.tar\": the archive is "
                                "cut: its end mark is missing");
  free(packed);
  free(data);
  aicr_buf_free(&out);
}

/* A header of an old tar, whose fields say what they like. */
static void test_size(void **state)
{
  static const struct {
    const char *size, *want;
  } rows[] = {
      {"77777777777", "recording-too-large: "},
      {"00000002000", "recording-invalid: "},
      {"-0000000001", "recording-"},
  };
  size_t len = 0;
  struct aicr_buf out;
  (void)state;
  aicr_buf_init(&out, 1 << 20);
  for (size_t i = 0; i < COUNT(rows); i++) {
    char *data = pack(two, 1, false, &len);
    unsigned sum = 0;
    memcpy(data + 124, rows[i].size, 11);
    memset(data + 148, ' ', 8);
    for (size_t k = 0; k < 512; k++) {
      sum += (unsigned char)data[k];
    }
    snprintf(data + 148, 8, "%06o", sum);
    read_bytes(data, 1024 + 512, &out);
    assert_memory_equal(out.data, rows[i].want, strlen(rows[i].want));
    free(data);
  }
  aicr_buf_free(&out);
}

/* Zeros that take a thousandth of their size. */
static void test_bomb(void **state)
{
  const size_t piece = (size_t)1 << 20, pieces = 80;
  size_t len = 0;
  char *data = malloc(1 << 20), *zeros = calloc(1, piece);
  struct archive *a = archive_write_new();
  struct archive_entry *e = archive_entry_new();
  struct aicr_buf out;
  (void)state;
  assert_non_null(data);
  assert_non_null(zeros);
  archive_write_set_format_pax_restricted(a);
  archive_write_add_filter_gzip(a);
  archive_write_open_memory(a, data, 1 << 20, &len);
  archive_entry_set_pathname(e, "a");
  archive_entry_set_filetype(e, AE_IFREG);
  archive_entry_set_size(e, (la_int64_t)(piece * pieces));
  assert_int_equal(archive_write_header(a, e), ARCHIVE_OK);
  for (size_t i = 0; i < pieces; i++) {
    assert_int_equal(archive_write_data(a, zeros, piece), piece);
  }
  archive_entry_free(e);
  archive_write_close(a);
  archive_write_free(a);
  aicr_buf_init(&out, 1 << 20);
  read_bytes(data, len, &out);
  assert_string_equal(out.data,
                      "recording-too-large: \"x.tar\": \"a\": the archive "
                      "unpacks to more than 200 times its size");
  free(zeros);
  free(data);
  aicr_buf_free(&out);
}

static void test_no_archive(void **state)
{
  static const char *const texts[] = {"", "{}", "\x1f\x8b", "not a tar"};
  struct aicr_buf out;
  (void)state;
  aicr_buf_init(&out, 1 << 20);
  for (size_t i = 0; i < COUNT(texts); i++) {
    read_bytes(texts[i], strlen(texts[i]), &out);
    assert_memory_equal(out.data, "recording-invalid: ", 19);
  }
  aicr_buf_free(&out);
}

struct bytes {
  char *data;
  size_t len;
};

static bool open_again(void *arg)
{
  const struct bytes *b = arg;
  struct kube_archive a;
  struct aicr_error err;
  bool ok = open_bytes(b->data, b->len, &a, &err);
  if (ok) {
    kube_archive_close(&a);
  } else {
    assert_string_equal(err.reason, "memory");
  }
  return ok;
}

static void test_memory(void **state)
{
  struct bytes b;
  (void)state;
  b.data = pack(two, 2, true, &b.len);
  assert_int_equal(torture(open_again, &b), 3);
  free(b.data);
}

/* A recording in an archive answers as its folder does. */
static void test_recording(void **state)
{
  static const struct member members[] = {
      {.path = "rec/" NETWORKS "list.json",
       .text = NETWORK_LIST(NAMED("b") "," NAMED("a"))},
      {.path = "rec/._junk", .text = "not JSON"},
      {.path = "rec/logs/ns/pod/main.log", .text = "one\ntwo\n"}};
  struct aicr_buf out;
  (void)state;
  aicr_buf_init(&out, 1 << 20);
  for (int gzip = 0; gzip < 2; gzip++) {
    struct folder f;
    char path[128];
    size_t len = 0;
    char *data = pack(members, 3, gzip != 0, &len);
    folder_make(&f);
    folder_write(&f, "x", data, len);
    folder_path(&f, "x", path, sizeof path);
    struct kube_client *c = open_client(path, NULL);
    aicr_buf_reset(&out);
    ask_text(c, "list networks limit=1", &out);
    assert_string_equal(out.data, "a b end 2");
    aicr_buf_reset(&out);
    ask_text(c, "get pods ns=ns name=pod sub=log", &out);
    assert_string_equal(out.data, "INTERNAL/unexpected-response 200");
    kube_client_close(c);
    folder_remove(&f);
    free(data);
  }
  aicr_buf_free(&out);
}

int main(void)
{
  struct rows r = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&r, "archive", table[i].what, test_row, &table[i]);
  }
  add_row(&r, "archive", "cut", test_cut, NULL);
  add_row(&r, "archive", "cut and packed", test_cut_gzip, NULL);
  add_row(&r, "archive", "packed after it was cut", test_cut_inside, NULL);
  add_row(&r, "archive", "sizes that are no sizes", test_size, NULL);
  add_row(&r, "archive", "a bomb", test_bomb, NULL);
  add_row(&r, "archive", "what is none", test_no_archive, NULL);
  add_row(&r, "archive", "without memory", test_memory, NULL);
  add_row(&r, "archive", "a recording", test_recording, NULL);
  return run_rows(&r, "archive");
}
