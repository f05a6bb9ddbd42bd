/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording.h"

#include "rows.h"

#include "folder.h"
#include "kube_asker.h"
#include "recording_texts.h"

#include "core/hash.h"

/* What a manifest says of the index and its files, and what there is. */

#define LIST                                                                   \
  "{\"version\":\"v1\",\"resource\":\"pods\",\"verb\":\"list\",\"http\":200,"  \
  "\"file\":\"x\"}\n"
#define REFUSED                                                                \
  "{\"version\":\"v1\",\"resource\":\"nodes\",\"verb\":\"list\","              \
  "\"transport\":\"refused\"}\n"
#define MANIFEST(more) "{\"schema\":1,\"indexed\":true" more "}"
#define SUM(file, of)  "\"" file "\":\"{" of "}\""
#define OF_INDEX(n, of)                                                        \
  ",\"lines\":" n ",\"sha256\":{" SUM("index.jsonl", of) "}"
#define OPEN ",\"open\":true"
#define ZERO "0000000000000000000000000000000000000000000000000000000000000000"

/* {…} in a manifest is the sum of a text: L of LIST, N of LIST REFUSED, A of an
 * empty discovery. */
struct row {
  const char *what, *manifest, *index, *discovery;
  const char *says; /* a part of the message; NULL: it is taken */
};

static const struct row table[] = {
    {"as it was", MANIFEST(OF_INDEX("2", "N")), LIST REFUSED, NULL, NULL},
    {"older, or of hand", MANIFEST(""), LIST, NULL, NULL},
    {"a line is lost", MANIFEST(OF_INDEX("2", "N")), LIST, NULL,
     "\"index.jsonl\": it has 1 lines, and \"lines\" of aicr-recording.json "
     "says 2: it was cut or changed after it was recorded: copy the recording "
     "again, whole, or record it again with --record; if the change is meant, "
     "remove \"lines\" and \"sha256\" of aicr-recording.json"},
    {"all are", MANIFEST(OF_INDEX("2", "N")), "", NULL, "it has 0 lines"},
    {"one more", MANIFEST(OF_INDEX("1", "L")), LIST REFUSED, NULL,
     "it has 2 lines, and \"lines\" of aicr-recording.json says 1"},
    {"the number is another's", MANIFEST(OF_INDEX("1", "N")), LIST REFUSED,
     NULL, "it has 2 lines"},
    {"another order", MANIFEST(OF_INDEX("2", "N")), REFUSED LIST, NULL,
     "its sha256 is "},
    {"one twice for another", MANIFEST(OF_INDEX("2", "N")), LIST LIST, NULL,
     "its sha256 is "},
    {"an empty line more", MANIFEST(OF_INDEX("1", "L")), LIST "\n", NULL,
     "it has 2 lines"},
    {"broken off later", MANIFEST(OPEN OF_INDEX("1", "L")), LIST REFUSED, NULL,
     NULL},
    {"broken off, a line before that is lost",
     MANIFEST(OPEN OF_INDEX("2", "N")), LIST, NULL, "it has 1 lines"},
    {"broken off, a line before that is another",
     MANIFEST(OPEN OF_INDEX("1", "L")), REFUSED LIST, NULL, "its sha256 is "},
    {"discovery as it was",
     MANIFEST(",\"lines\":1,\"sha256\":{" SUM("index.jsonl", "L") "," SUM(
         "discovery/apis.json", "A") "}"),
     LIST, APIS(""), NULL},
    {"discovery is another",
     MANIFEST(",\"lines\":1,\"sha256\":{" SUM("index.jsonl", "L") "," SUM(
         "discovery/apis.json", "A") "}"),
     LIST, APIS(" "), "\"discovery/apis.json\": its sha256 is "},
    {"discovery is lost",
     MANIFEST(",\"lines\":1,\"sha256\":{" SUM("index.jsonl", "L") "," SUM(
         "discovery/apis.json", "A") "}"),
     LIST, NULL, "\"discovery/apis.json\": the file is missing"},
    {"discovery of another one", MANIFEST(OF_INDEX("1", "L")), LIST, APIS(""),
     "\"discovery/apis.json\": the file is there, and \"sha256\" of "
     "aicr-recording.json does not name it"},
    {"a number alone", MANIFEST(",\"lines\":1"), LIST, NULL,
     "one is not without the other"},
    {"sums alone", MANIFEST(",\"sha256\":{" SUM("index.jsonl", "L") "}"), LIST,
     NULL, "one is not without the other"},
    {"a number that is none", MANIFEST(OF_INDEX("\"1\"", "L")), LIST, NULL,
     "\"lines\" is a number from 0"},
    {"a number below 0", MANIFEST(OF_INDEX("-1", "L")), LIST, NULL,
     "\"lines\" is a number from 0"},
    {"half a line", MANIFEST(OF_INDEX("1.5", "L")), LIST, NULL,
     "\"lines\" is a number from 0"},
    {"a number beyond all", MANIFEST(OF_INDEX("1e300", "L")), LIST, NULL,
     "\"lines\" is a number from 0"},
    {"no sum of the index", MANIFEST(",\"lines\":1,\"sha256\":{}"), LIST, NULL,
     "\"sha256\" lacks index.jsonl"},
    {"a sum that is none",
     MANIFEST(",\"lines\":1,\"sha256\":{\"index.jsonl\":\"x\"}"), LIST, NULL,
     "a sum of 64 hexadecimal digits"},
    {"a sum of an unknown file",
     MANIFEST(",\"lines\":1,\"sha256\":{" SUM("index.jsonl", "L") "," SUM(
         "Index.jsonl", "L") "}"),
     LIST, NULL, "a sum of 64 hexadecimal digits"},
    {"another schema", "{\"schema\":2,\"indexed\":true}", LIST, NULL,
     "\"schema\" is not 1, the only one known"},
    {"no manifest of an index with sums", NULL,
     "{\"version\":\"v1\",\"resource\":\"pods\",\"verb\":\"list\",\"http\":200,"
     "\"file\":\"x\",\"sha256\":\"" ZERO "\"}\n",
     NULL, "\"aicr-recording.json\": the file is missing, and a run wrote"},
    {"a file is another", MANIFEST(""),
     "{\"version\":\"v1\",\"resource\":\"pods\",\"verb\":\"list\",\"http\":200,"
     "\"file\":\"x\",\"sha256\":\"" ZERO "\"}\n",
     NULL, "and \"sha256\" of the line says " ZERO ": it was cut or changed"},
    {"a list is cut", MANIFEST(""),
     "{\"version\":\"v1\",\"resource\":\"pods\",\"verb\":\"list\",\"http\":200,"
     "\"file\":\"x\",\"bytes\":9}\n",
     NULL, "and \"bytes\" of the line says 9: it was cut or changed"},
    {"a sum of no file", MANIFEST(""),
     "{\"version\":\"v1\",\"resource\":\"pods\",\"verb\":\"list\","
     "\"transport\":\"cut\",\"sha256\":\"" ZERO "\"}\n",
     NULL, "only a \"file\" has \"bytes\" and \"sha256\""},
    {"a sum of a line that is none", MANIFEST(""),
     "{\"version\":\"v1\",\"resource\":\"pods\",\"verb\":\"list\",\"http\":200,"
     "\"file\":\"x\",\"sha256\":\"0\"}\n",
     NULL, "bad \"sha256\""},
};

/* The manifest with the sums in their places. */
static void expand(const char *text, char *out, size_t size)
{
  size_t n = 0;
  while (*text != '\0') {
    char sum[AICR_SHA256_TEXT];
    const char *of = text[0] != '{'                 ? NULL
                     : strncmp(text, "{L}", 3) == 0 ? LIST
                     : strncmp(text, "{N}", 3) == 0 ? LIST REFUSED
                     : strncmp(text, "{A}", 3) == 0 ? APIS("")
                                                    : NULL;
    assert_true(n + sizeof sum < size);
    if (of == NULL) {
      out[n++] = *text++;
      continue;
    }
    assert_true(aicr_sha256_hex(of, strlen(of), sum));
    memcpy(out + n, sum, sizeof sum - 1);
    n += sizeof sum - 1;
    text += 3;
  }
  out[n] = '\0';
}

static void test_row(void **state)
{
  const struct row *row = *state;
  struct folder f;
  struct aicr_error err;
  char manifest[2048];
  folder_make(&f);
  if (row->manifest != NULL) {
    expand(row->manifest, manifest, sizeof manifest);
    folder_text(&f, "aicr-recording.json", manifest);
  }
  folder_text(&f, "index.jsonl", row->index);
  folder_text(&f, "x", POD_LIST(""));
  if (row->discovery != NULL) {
    folder_text(&f, "discovery/apis.json", row->discovery);
  }
  struct kube_backend *b = kube_recording_open(f.path, NULL, &err);
  if (row->says == NULL) {
    assert_non_null(b);
    b->ops->close(b);
  } else {
    assert_null(b);
    assert_string_equal(err.reason, "recording-invalid");
    if (strstr(err.message, row->says) == NULL) {
      fail_msg("%s lacks %s", err.message, row->says);
    }
  }
  folder_remove(&f);
}

int main(void)
{
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&rows, "whole", table[i].what, test_row, &table[i]);
  }
  return run_rows(&rows, "recording, whole");
}
