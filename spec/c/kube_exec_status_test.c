/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/exec_status.h"

#include "core/text.h"

#include "rows.h"

#define CAUSES(list)                                                           \
  "{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\",\"message\":"        \
  "\"it failed\",\"details\":{\"causes\":[" list "]}}"
#define CAUSE(reason, message)                                                 \
  "{\"reason\":\"" reason "\",\"message\":\"" message "\"}"

/* `reason`: of the error, with its message; NULL: exit code `code`. */
static const struct row {
  const char *name, *text;
  int code;
  const char *reason, *message;
} rows[] = {
    {"success", "{\"metadata\":{},\"status\":\"Success\"}", 0, NULL, NULL},
    {"success with a line end", "{\"status\":\"Success\"}\n", 0, NULL, NULL},
    {"success whatever the reason says",
     "{\"status\":\"Success\",\"reason\":\"NonZeroExitCode\"}", 0, NULL, NULL},
    {"1", CAUSES(CAUSE("ExitCode", "1")), 1, NULL, NULL},
    {"3", CAUSES(CAUSE("ExitCode", "3")), 3, NULL, NULL}, /* W52 */
    {"255", CAUSES(CAUSE("ExitCode", "255")), 255, NULL, NULL},
    {"among other causes",
     CAUSES("7,{}," CAUSE("Other", "9") "," CAUSE("ExitCode", "137")), 137,
     NULL, NULL},
#define UNKNOWN                                                                \
  -1, "exec-unknown-exit",                                                     \
      "the command failed, but the server names no exit code from 1 to 255: "  \
      "it failed"
    {"0 of a failure", CAUSES(CAUSE("ExitCode", "0")), UNKNOWN},
    {"256", CAUSES(CAUSE("ExitCode", "256")), UNKNOWN},
    {"-1", CAUSES(CAUSE("ExitCode", "-1")), UNKNOWN},
    {"no number", CAUSES(CAUSE("ExitCode", "three")), UNKNOWN},
    {"a number and more", CAUSES(CAUSE("ExitCode", "3 ")), UNKNOWN},
    {"an empty code", CAUSES(CAUSE("ExitCode", "")), UNKNOWN},
    {"a code of 65 bits", CAUSES(CAUSE("ExitCode", "18446744073709551619")),
     UNKNOWN},
    {"a code that is no text",
     CAUSES("{\"reason\":\"ExitCode\",\"message\":3}"), UNKNOWN},
    {"no causes", CAUSES(""), UNKNOWN},
    {"another cause", CAUSES(CAUSE("exitcode", "3")), UNKNOWN},
    {"the first code counts",
     CAUSES(CAUSE("ExitCode", "x") "," CAUSE("ExitCode", "3")), UNKNOWN},
    {"no details", "{\"status\":\"Failure\",\"reason\":\"NonZeroExitCode\"}",
     -1, "exec-unknown-exit",
     "the command failed, but the server names no exit code from 1 to 255"},
    {"another failure",
     "{\"status\":\"Failure\",\"reason\":\"InternalError\",\"message\":"
     "\"stat /nosuch: no such file\"}",
     -1, "exec-failed",
     "the command did not run to its end: stat /nosuch: no such file"},
    {"a failure without a reason", "{\"status\":\"Failure\"}", -1,
     "exec-failed", "the command did not run to its end"},
    {"a message that steers a terminal",
     "{\"status\":\"Failure\",\"message\":\"a\\u001b[31mb\\nc\\td\\r\"}", -1,
     "exec-failed", "the command did not run to its end: ab c d"},
    {"no status", "{\"code\":200}", -1, "exec-unknown-exit", NULL},
    {"a status in lower case", "{\"status\":\"success\"}", -1,
     "exec-unknown-exit", NULL},
    {"a status that is no text", "{\"status\":true}", -1, "exec-unknown-exit",
     NULL},
    {"text", "command terminated with non-zero exit code", -1, "protocol",
     "the server ended the command without a Status, with \"command "
     "terminated with non-zero exit code\""},
    {"nothing", "", -1, "protocol", NULL},
    {"a list", "[{\"status\":\"Success\"}]", -1, "protocol", NULL},
    {"a word", "\"Success\"", -1, "protocol", NULL},
    {"half of it", "{\"status\":\"Success\"", -1, "protocol", NULL},
    {"two of it", "{\"status\":\"Success\"}{\"status\":\"Success\"}", -1,
     "protocol", NULL},
};

static void test_row(void **state)
{
  const struct row *row = *state;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  int code = 7;
  bool ok = kube_exec_status(row->text, strlen(row->text), &code, &err);
  assert_int_equal(ok, row->reason == NULL);
  assert_int_equal(code, row->code);
  if (ok) {
    assert_int_equal(err.code, AICR_CODE_NONE);
    return;
  }
  assert_int_equal(err.code, AICR_INTERNAL);
  assert_string_equal(err.reason, row->reason);
  assert_false(err.verdict);
  assert_true(err.message[0] != '\0');
  if (row->message != NULL) {
    assert_string_equal(err.message, row->message);
  }
}

/* The whole of what a runtime says matters, its end most; but not without
 * bound, and no character is cut. */
static void test_long_message(void **state)
{
  static const char start[] = "{\"status\":\"Failure\",\"message\":\"";
  (void)state;
  for (size_t n = 1190; n < 1210; n++) {
    struct aicr_error err = {.code = AICR_CODE_NONE};
    struct aicr_buf b;
    int code;
    aicr_buf_init(&b, 1 << 16);
    aicr_buf_adds(&b, start);
    for (size_t i = 0; i < n; i++) {
      aicr_buf_addc(&b, 'm');
    }
    aicr_buf_adds(&b, "\xe2\x82\xac\"}");
    assert_false(kube_exec_status(b.data, b.len, &code, &err));
    assert_string_equal(err.reason, "exec-failed");
    assert_true(aicr_utf8_valid(err.message, strlen(err.message)));
    assert_int_equal(strstr(err.message, "\xe2\x82\xac") != NULL,
                     n + 3 <= 1200);
    assert_int_equal(strstr(err.message, "…") != NULL, n + 3 > 1200);
    assert_null(strstr(err.message, "\xef\xbf\xbd"));
    aicr_buf_free(&b);
  }
}

int main(void)
{
  struct rows r = {0};
  for (size_t i = 0; i < COUNT(rows); i++) {
    add_row(&r, "status", rows[i].name, test_row, &rows[i]);
  }
  add_row(&r, "status", "a long message", test_long_message, NULL);
  return run_rows(&r, "kube_exec_status");
}
