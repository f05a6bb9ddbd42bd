/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording.h"

#include <time.h>

#include "rows.h"

#include "kube_asker.h"
#include "recording_texts.h"

/* Objects stay in their files and are read when they are asked for. */

#define ITEMS_MAX 6000

/* All items of a list, their texts one after another. */
struct got {
  struct aicr_buf text;
  size_t ends[ITEMS_MAX];
  size_t items, pages;
  char reason[64];
};

static void list_all(struct kube_client *c, const struct kube_call_spec *spec,
                     struct got *got)
{
  void *owner = NULL;
  struct kube_call *call = kube_client_start(c, spec, NULL);
  *got = (struct got){0};
  aicr_buf_init(&got->text, (size_t)256 << 20);
  assert_non_null(call);
  for (enum kube_call_state s = KUBE_CALL_WAIT; s != KUBE_CALL_END;) {
    const char *text = NULL;
    size_t len = 0;
    s = kube_call_next(call, &text, &len);
    if (s == KUBE_CALL_WAIT) {
      assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
      got->pages++;
    } else if (s == KUBE_CALL_ITEM) {
      assert_true(got->items < ITEMS_MAX);
      assert_true(aicr_buf_add(&got->text, text, len));
      got->ends[got->items++] = got->text.len;
    } else if (s != KUBE_CALL_END) {
      assert_int_equal(s, KUBE_CALL_FAILED);
      snprintf(got->reason, sizeof got->reason, "%s",
               kube_call_error(call)->reason);
      assert_int_equal(kube_call_error(call)->code, AICR_INTERNAL);
      break;
    }
  }
  kube_call_close(call);
}

/* An item whose length is a matter of its number. */
static void add_network(struct aicr_buf *b, int i, size_t padding)
{
  aicr_buf_addf(b, "{\"metadata\":{\"name\":\"n%05d\"},\"pad\":\"\\u00e9", i);
  for (size_t n = 0; n < padding; n++) {
    aicr_buf_addc(b, (char)('a' + n % 26));
  }
  assert_true(aicr_buf_adds(b, "\"}"));
}

/* Writes a list of networks and returns what its items are. */
static struct aicr_buf write_networks(const struct folder *f, const char *file,
                                      int count, size_t (*padding)(int i))
{
  struct aicr_buf text, items;
  aicr_buf_init(&text, (size_t)256 << 20);
  aicr_buf_init(&items, (size_t)256 << 20);
  aicr_buf_adds(&text, "{\"kind\":\"NetworkList\",\"apiVersion\":"
                       "\"networking.gke.io/v1\",\"items\":[");
  for (int i = 0; i < count; i++) {
    aicr_buf_adds(&text, i == 0 ? "\n" : ",\n  ");
    add_network(&text, i, padding(i));
    add_network(&items, i, padding(i));
  }
  assert_true(aicr_buf_adds(&text, "]}"));
  folder_write(f, file, text.data, text.len);
  aicr_buf_free(&text);
  return items;
}

static size_t no_padding(int i)
{
  return (size_t)i * 0;
}

static size_t odd_padding(int i)
{
  return (size_t)(i * 7919 % 4099);
}

static size_t ten_kilobytes(int i)
{
  return 10000 + (size_t)(i % 3);
}

static size_t larger_than_a_page(int i)
{
  return i % 2 == 0 ? 300000 : 10;
}

static size_t larger_than_the_buffer(int i)
{
  return 200000 + (size_t)i;
}

struct size_row {
  const char *what, *file;
  size_t (*padding)(int i);
  int count;
  unsigned limit;
  size_t pages_min, pages_max;
};

/* Every item comes once, in order, byte for byte, however pages are cut. */
static void test_sizes(void **state)
{
  const struct size_row *row = *state;
  struct folder f;
  struct got got;
  struct kube_call_spec spec = {
      .verb = KUBE_LIST, .resource = "networks", .page_size = row->limit};
  folder_make(&f);
  struct aicr_buf items =
      write_networks(&f, row->file, row->count, row->padding);
  struct kube_client *c = open_client(f.path, NULL);
  list_all(c, &spec, &got);
  assert_string_equal(got.reason, "");
  assert_int_equal(got.items, row->count);
  assert_int_equal(got.text.len, items.len);
  assert_memory_equal(got.text.data, items.data, items.len);
  assert_in_range(got.pages, row->pages_min, row->pages_max);
  aicr_buf_free(&got.text);
  aicr_buf_free(&items);
  kube_client_close(c);
  folder_remove(&f);
}

static const struct size_row size_rows[] = {
    {"5000 objects in pages of 500", NETWORKS "list.json", no_padding, 5000,
     500, 10, 10},
    {"5000 objects, kubectl", "a.json", no_padding, 5000, 0, 10, 10},
    {"pages bounded by bytes", NETWORKS "list.json", ten_kilobytes, 300, 0, 11,
     20},
    {"pages bounded by bytes and limit", "a.json", ten_kilobytes, 300, 20, 15,
     15},
    {"objects larger than a page", "a.json", larger_than_a_page, 8, 0, 4, 8},
    {"objects larger than what is read at once", "a.json",
     larger_than_the_buffer, 5, 0, 5, 5},
    {"objects across the pieces that are read", NETWORKS "list.json",
     odd_padding, 400, 0, 2, 20},
    {"one object", "a.json", no_padding, 1, 0, 1, 1},
};

/* Reading much of which little is selected also ends a page. */
static void test_sparse_selection(void **state)
{
  static const char selector[] = "metadata.name=n01199";
  (void)state;
  struct folder f;
  struct got got;
  struct kube_call_spec spec = {
      .verb = KUBE_LIST, .resource = "networks", .field = selector};
  folder_make(&f);
  struct aicr_buf items = write_networks(&f, "a.json", 1200, ten_kilobytes);
  struct kube_client *c = open_client(f.path, NULL);
  list_all(c, &spec, &got);
  assert_string_equal(got.reason, "");
  assert_int_equal(got.items, 1);
  assert_int_equal(got.pages, 2);
  aicr_buf_free(&got.text);
  aicr_buf_free(&items);
  kube_client_close(c);
  folder_remove(&f);
}

/* White space before a document, and documents, across the pieces. */
static void test_documents_across_pieces(void **state)
{
  (void)state;
  struct aicr_buf text;
  aicr_buf_init(&text, 1 << 24);
  for (size_t i = 0; i < 65536 + 17; i++) {
    aicr_buf_addc(&text, i % 80 == 0 ? '\n' : ' ');
  }
  for (int i = 0; i < 3000; i++) {
    aicr_buf_addf(&text,
                  "{\"apiVersion\":\"networking.gke.io/v1\",\"kind\":"
                  "\"Network\",\"metadata\":{\"name\":\"n%d\"}}%s",
                  i, i % 3 == 0 ? "" : "\n");
  }
  static const char *const names[] = {"a.json", "noending"};
  for (size_t i = 0; i < COUNT(names); i++) {
    struct folder f;
    char path[256];
    folder_make(&f);
    folder_write(&f, names[i], text.data, text.len);
    folder_path(&f, names[i], path, sizeof path);
    struct kube_client *c = open_client(path, NULL);
    for (int n = 0; n < 3000; n += 1) {
      char question[64], want[256];
      struct aicr_buf out;
      snprintf(question, sizeof question, "get networks name=n%d", n);
      snprintf(want, sizeof want,
               "object {\"apiVersion\":\"networking.gke.io/v1\",\"kind\":"
               "\"Network\",\"metadata\":{\"name\":\"n%d\"}}",
               n);
      aicr_buf_init(&out, 1 << 16);
      ask_text(c, question, &out);
      assert_string_equal(out.data, want);
      aicr_buf_free(&out);
    }
    kube_client_close(c);
    folder_remove(&f);
  }
  aicr_buf_free(&text);
}

/* What happens to a file between open and the request. */
struct change {
  const char *what;
  void (*make)(const char *path, const char *other);
  bool one_file; /* the recording is the file */
};

static void append(const char *path, const char *other)
{
  FILE *out = fopen(path, "ab");
  (void)other;
  assert_non_null(out);
  fputs("\n", out);
  fclose(out);
}

static void cut(const char *path, const char *other)
{
  (void)other;
  assert_int_equal(truncate(path, 40), 0);
}

static void take_away(const char *path, const char *other)
{
  (void)other;
  assert_int_equal(remove(path), 0);
}

static void replace(const char *path, const char *other)
{
  assert_int_equal(rename(other, path), 0);
}

static void replace_by_link(const char *path, const char *other)
{
  assert_int_equal(remove(path), 0);
  assert_int_equal(symlink(other, path), 0);
}

static void set_time(const char *path, const char *other)
{
  const struct timespec times[2] = {{.tv_sec = 1}, {.tv_sec = 1}};
  (void)other;
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

/* Another text of the same length with the time of the first one. */
static void rewrite(const char *path, const char *other)
{
  struct stat st;
  (void)other;
  assert_int_equal(stat(path, &st), 0);
  FILE *out = fopen(path, "r+b");
  assert_non_null(out);
  assert_int_equal(fseek(out, -5, SEEK_END), 0);
  fputs("X", out);
  fclose(out);
  const struct timespec times[2] = {st.st_atim, st.st_mtim};
  assert_int_equal(utimensat(AT_FDCWD, path, times, 0), 0);
}

static const struct change changes[] = {
    {"longer", append, false},
    {"longer, one file", append, true},
    {"truncated", cut, false},
    {"truncated, one file", cut, true},
    {"removed", take_away, false},
    {"removed, one file", take_away, true},
    {"replaced", replace, false},
    {"replaced, one file", replace, true},
    {"replaced by a link", replace_by_link, false},
    {"another time", set_time, false},
    {"another text, size and time kept", rewrite, false},
    {"another text, size and time kept, one file", rewrite, true},
};

/* …is an error, never another answer. */
static void test_change(void **state)
{
  static const char *const questions[] = {"list networks",
                                          "list networks field=metadata.name=a",
                                          "get networks name=a"};
  const struct change *row = *state;
  struct folder f, others;
  char path[256], other[256];
  folder_make(&f);
  folder_make(&others);
  folder_text(&f, "a.json", NETWORK_LIST(NAMED("a") "," NAMED("b")));
  folder_text(&f, "b.json", POD_LIST(IN("a", "p")));
  folder_text(&others, "other", NETWORK_LIST(NAMED("a") "," NAMED("c")));
  folder_path(&f, "a.json", path, sizeof path);
  folder_path(&others, "other", other, sizeof other);
  struct kube_client *c = open_client(row->one_file ? path : f.path, NULL);
  const struct timespec step = {.tv_nsec = 20000000};
  nanosleep(&step, NULL); /* a file's time has steps */
  row->make(path, other);
  for (size_t i = 0; i < COUNT(questions); i++) {
    struct aicr_buf out;
    aicr_buf_init(&out, 1 << 16);
    ask_text(c, questions[i], &out);
    assert_string_equal(out.data, "INTERNAL/recording-changed served");
    aicr_buf_free(&out);
  }
  if (!row->one_file) {
    struct aicr_buf out;
    aicr_buf_init(&out, 1 << 16);
    ask_text(c, "list pods", &out);
    assert_string_equal(out.data, "a/p end 1");
    aicr_buf_free(&out);
  }
  kube_client_close(c);
  folder_remove(&f);
  folder_remove(&others);
}

/* What lies in a file that changes after its first page was given. */
static void test_change_between_pages(void **state)
{
  (void)state;
  struct folder f;
  struct asked a;
  char path[256];
  void *owner = NULL;
  const char *text = NULL;
  size_t len = 0;
  folder_make(&f);
  folder_text(&f, "a.json", NETWORK_LIST(NAMED("a") "," NAMED("b")));
  folder_path(&f, "a.json", path, sizeof path);
  struct kube_client *c = open_client(f.path, NULL);
  read_question("list networks limit=1", &a);
  struct kube_call *call = kube_client_start(c, &a.spec, NULL);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
  assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_ITEM);
  cut(path, NULL);
  assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_WAIT);
  assert_ptr_equal(kube_client_poll(c, 0, &owner), call);
  assert_int_equal(kube_call_next(call, &text, &len), KUBE_CALL_FAILED);
  assert_string_equal(kube_call_error(call)->reason, "recording-changed");
  assert_non_null(strstr(kube_call_error(call)->message, "a.json"));
  kube_call_close(call);
  kube_client_close(c);
  folder_remove(&f);
}

/* An object over the bound, in a list and alone. */
static void test_large_objects(void **state)
{
  static const char *const before[] = {
      "{\"kind\":\"NetworkList\",\"apiVersion\":\"networking.gke.io/v1\","
      "\"items\":[",
      ""};
  static const char *const after[] = {"]}", ""};
  (void)state;
  for (size_t i = 0; i < 2; i++) {
    for (size_t mib = 15; mib <= 16; mib++) {
      struct folder f;
      struct aicr_buf text;
      struct aicr_error err;
      aicr_buf_init(&text, (size_t)64 << 20);
      aicr_buf_adds(&text, before[i]);
      aicr_buf_adds(&text, "{\"apiVersion\":\"networking.gke.io/v1\",\"kind\":"
                           "\"Network\",\"metadata\":{\"name\":\"n\"},\"x\":[");
      for (size_t n = 0; n < mib << 4; n++) {
        char piece[65536];
        memset(piece, 'x', sizeof piece);
        piece[0] = n == 0 ? ' ' : ',';
        piece[1] = '"';
        piece[sizeof piece - 1] = '"';
        aicr_buf_add(&text, piece, sizeof piece);
      }
      aicr_buf_adds(&text, "]}");
      assert_true(aicr_buf_adds(&text, after[i]));
      folder_make(&f);
      folder_write(&f, "a.json", text.data, text.len);
      struct kube_backend *b = kube_recording_open(f.path, NULL, &err);
      if (mib == 15) {
        assert_non_null(b);
        b->ops->close(b);
      } else {
        assert_null(b);
        assert_string_equal(err.reason, "recording-too-large");
        assert_non_null(strstr(err.message, "over 16 MiB"));
      }
      aicr_buf_free(&text);
      folder_remove(&f);
    }
  }
}

/* Members in the order in which kubectl writes them, and documents whose
 * "items" are none of a list. */
static const struct question questions[] = {
    {"the kind comes after the items",
     {{"a.json", "{\"apiVersion\":\"networking.gke.io/v1\",\"items\":[" NAMED(
                     "b") "," NAMED("a") "],\"kind\":\"NetworkList\","
                                         "\"metadata\":{\"resourceVersion\":"
                                         "\"1\"}}"}},
     "list networks",
     "a b end 1"},
    {"items of an object",
     {{"a.json", "{\"apiVersion\":\"example.org/v1\",\"items\":[" POD(
                     "a", "p") ",7,[\"x\"],{}],\"kind\":\"Box\","
                               "\"metadata\":{\"name\":\"x\"}}"}},
     "get boxes.example.org name=x",
     "object {\"apiVersion\":\"example.org/v1\",\"items\":[" POD(
         "a", "p") ",7,[\"x\"],{}],\"kind\":\"Box\","
                   "\"metadata\":{\"name\":\"x\"}}"},
    {"… are not recorded",
     {{"a.json", "{\"apiVersion\":\"example.org/v1\",\"items\":[" POD(
                     "a", "p") "],\"kind\":\"Box\","
                               "\"metadata\":{\"name\":\"x\"}}"}},
     "list pods",
     "INTERNAL/not-recorded"},
    {"… nor their kinds",
     {{"a.json", "{\"apiVersion\":\"example.org/v1\",\"items\":[{\"kind\":"
                 "\"Disk\",\"apiVersion\":\"z.example/v1\",\"metadata\":{"
                 "\"name\":\"d\"}}],\"kind\":\"Box\","
                 "\"metadata\":{\"name\":\"x\"}}"},
      {"b.json", "{\"apiVersion\":\"a.example/v1\",\"kind\":\"DiskList\","
                 "\"items\":[" NAMED("d") "]}"}},
     "list disks",
     "d end 1"},
    {"an array of objects",
     {{"a.json", "[" NETWORK("a") "]" NETWORK("b")}},
     "get networks name=a",
     "INTERNAL/not-recorded served"},
    {"items of an object in its own file",
     {{NETWORKS "a.json", "{\"items\":[7],\"metadata\":{\"name\":\"a\"}}"}},
     "get networks name=a",
     "object {\"kind\":\"Network\",\"apiVersion\":\"networking.gke.io/v1\","
     "\"items\":[7],\"metadata\":{\"name\":\"a\"}}"},
    {"two lists of one kind",
     {{"a.json", NETWORK_LIST(NAMED("b"))},
      {"b.json", NETWORK_LIST(NAMED("a") "," NAMED("c"))}},
     "list networks",
     "a b c end 1"},
    {"escapes in names",
     {{"a.json", NETWORK_LIST("{\"metadata\":{\"name\":\"\\u0061\\/b\"}}")}},
     "list networks",
     "a/b end 1"},
};

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_sparse_selection),
      cmocka_unit_test(test_documents_across_pieces),
      cmocka_unit_test(test_change_between_pages),
      cmocka_unit_test(test_large_objects),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(questions); i++) {
    add_row(&rows, "question", questions[i].what, test_question, &questions[i]);
  }
  for (size_t i = 0; i < COUNT(size_rows); i++) {
    add_row(&rows, "sizes", size_rows[i].what, test_sizes, &size_rows[i]);
  }
  for (size_t i = 0; i < COUNT(changes); i++) {
    add_row(&rows, "changed", changes[i].what, test_change, &changes[i]);
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "recording, streamed");
}
