/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/server_warning.h"

#include "live_asker.h"
#include "rows.h"

/* What is told of Warning headers. */

#define SAYS "the API server says: "

static const struct row {
  const char *line, *told;
} table[] = {
    {"Warning: 299 - \"old\"\r\n", SAYS "old\n"},
    {"warning:299 kube \"old\"", SAYS "old\n"},
    {"Warning: 299 - \"unknown field \\\"spec.n\\\"\"",
     SAYS "unknown field \"spec.n\"\n"},
    {"Warning: 299 - \"a, b\", 299 - \"c\"", SAYS "a, b\n" SAYS "c\n"},
    {"Warning: 299 - \"a\" \"Wed, 21 Oct 2015 07:28:00 GMT\",299 - \"b\"",
     SAYS "a\n" SAYS "b\n"},
    {"Warning: 299 - \"a\", 299 - \"a\"", SAYS "a\n"},
    {"Warning: 199 - \"of a proxy\", 299 - \"a\"", SAYS "a\n"},
    {"Warning: 299 - \"\"", ""},
    {"Warning: 299 - \"open", ""},
    {"Warning: 299 - \"a\", 299 - open", SAYS "a\n"},
    {"Warning: 299 - \"ends in \\", ""},
    {"Warning: 2990 - \"x\"", ""},
    {"Warning: 299", ""},
    {"Warning:", ""},
    {"Warnings: 299 - \"x\"", ""},
    {"Content-Type: 299 - \"x\"", ""},
    {"", ""},
    {"Warning: 299 - \"\x1b[31mred\x07\"", SAYS "\\x1b[31mred\\x07\n"},
    {"Warning: 299 - \"\xff\xfe\"", SAYS "\\xff\\xfe\n"},
};

static void test_row(void **state)
{
  const struct row *row = *state;
  struct kube_server_warnings w = {0};
  struct aicr_buf out;
  aicr_buf_init(&out, 1 << 20);
  kube_server_warnings_take(&w, row->line, strlen(row->line));
  kube_server_warnings_take(&w, row->line, strlen(row->line));
  kube_server_warnings_tell(&w, &out);
  assert_string_equal(out.data == NULL ? "" : out.data, row->told);
  aicr_buf_reset(&out);
  kube_server_warnings_tell(&w, &out);
  assert_int_equal(out.len, 0);
  kube_server_warnings_free(&w);
  aicr_buf_free(&out);
}

static void test_bounds(void **state)
{
  struct kube_server_warnings w = {0};
  struct aicr_buf out, line;
  (void)state;
  aicr_buf_init(&out, 1 << 20);
  aicr_buf_init(&line, 1 << 20);
  aicr_buf_adds(&line, "Warning: 299 - \"");
  for (int i = 0; i < 20000; i++) {
    aicr_buf_adds(&line, "x");
  }
  aicr_buf_adds(&line, "\"");
  kube_server_warnings_take(&w, line.data, line.len);
  kube_server_warnings_tell(&w, &out);
  assert_true(out.len < KUBE_WARNING_TEXT_MAX + 40);
  assert_non_null(strstr(out.data, "x…\n"));
  for (int i = 0; i < 1000; i++) {
    aicr_buf_reset(&line);
    aicr_buf_addf(&line, "Warning: 299 - \"%d\"", i);
    kube_server_warnings_take(&w, line.data, line.len);
  }
  aicr_buf_reset(&out);
  kube_server_warnings_tell(&w, &out);
  assert_null(strstr(out.data, "says: 63\n"));
  assert_non_null(strstr(out.data, "says: 62\nthe API server says more"));
  kube_server_warnings_free(&w);
  aicr_buf_free(&out);
  aicr_buf_free(&line);
}

/* W59; also of an answer that is an error, and of one that is made again. */
static void test_answers(void **state)
{
#define OLD "Warning: 299 - \"deprecated\"\r\n"
  static const struct wire_answer rows[] = {
      {.body = NODE_N, .headers = OLD OLD},
      {.body = NODE_N, .headers = OLD},
      {.http = 503, .headers = "Warning: 299 - \"busy\"\r\n"},
      {.http = 422,
       .body = STATUS "\"reason\":\"Invalid\"}",
       .headers = "warning: 299 - \"unknown field\"\r\n"},
      {0}};
  struct aicr_buf out;
  (void)state;
  struct wire_server *s = wire_start(rows, NULL);
  struct kube_client *c = client_at(wire_url(s));
  struct kube_backend *b = kube_client_backend(c);
  aicr_buf_init(&out, 1 << 20);
  assert_answer(c, "get nodes name=n", "object " NODE_N);
  assert_answer(c, "get nodes name=n", "object " NODE_N);
  b->ops->warnings(b, &out);
  assert_string_equal(out.data, SAYS "deprecated\n");
  assert_answer(c, "get nodes name=n", "INVALID_REQUEST/invalid 422");
  aicr_buf_reset(&out);
  b->ops->warnings(b, &out);
  assert_string_equal(out.data, SAYS "busy\n" SAYS "unknown field\n");
  aicr_buf_free(&out);
  kube_client_close(c);
  wire_stop(s);
}

int main(void)
{
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&rows, "row", table[i].line, test_row, &table[i]);
  }
  add_row(&rows, "case", "bounds", test_bounds, NULL);
  add_row(&rows, "case", "answers", test_answers, NULL);
  return run_rows_with(&rows, "server warning", ignore_pipe, NULL);
}
