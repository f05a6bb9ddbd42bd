/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/exec_status.h"

#include <string.h>

#include "core/number.h"
#include "core/text.h"
#include "kube/json_tree.h"

#define MESSAGE_MAX 1200 /* of the server's text in ours */

/* The code that the first cause ExitCode names, -1: none that can be. A
 * failure with code 0 contradicts itself. */
static int named_code(const cJSON *status)
{
  const cJSON *causes =
      kube_json_member(kube_json_member(status, "details"), "causes");
  const cJSON *cause = NULL;
  cJSON_ArrayForEach(cause, causes)
  {
    int64_t code = 0;
    if (strcmp(kube_json_text(cause, "reason"), "ExitCode") != 0) {
      continue;
    }
    const char *text = kube_json_text(cause, "message");
    bool ok = aicr_parse_int64(text, strlen(text), &code);
    return ok && code >= 1 && code <= 255 ? (int)code : -1;
  }
  return -1;
}

/* The server's words on one line, without what a terminal would obey. */
static bool fail_with(const cJSON *status, const char *reason, const char *what,
                      struct aicr_error *err)
{
  const char *text = kube_json_text(status, "message");
  size_t len = strlen(text);
  struct aicr_buf b;
  bool cut = len > MESSAGE_MAX;
  if (cut) {
    len = MESSAGE_MAX;
    while (len > 0 && ((unsigned char)text[len] & 0xc0) == 0x80) {
      len--;
    }
  }
  aicr_buf_init(&b, (size_t)4 * MESSAGE_MAX);
  aicr_buf_adds(&b, len == 0 ? "" : ": ");
  aicr_buf_add_plain(&b, text, len);
  aicr_buf_adds(&b, cut ? "…" : "");
  for (size_t i = 0; i < b.len; i++) {
    if (b.data[i] == '\n') {
      b.data[i] = ' ';
    }
  }
  if (b.failed) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for the end of an exec");
  } else {
    aicr_fail(err, AICR_INTERNAL, reason, "%s%s", what,
              b.data == NULL ? "" : b.data);
  }
  aicr_buf_free(&b);
  return false;
}

static bool read_tree(const cJSON *status, int *exit_code,
                      struct aicr_error *err)
{
  const char *word = kube_json_text(status, "status");
  if (strcmp(word, "Success") == 0) {
    *exit_code = 0;
    return true;
  }
  if (strcmp(word, "Failure") != 0) {
    return fail_with(status, "exec-unknown-exit",
                     "how the command ended is not known: the server's status "
                     "is neither Success nor Failure",
                     err);
  }
  if (strcmp(kube_json_text(status, "reason"), "NonZeroExitCode") != 0) {
    return fail_with(status, "exec-failed",
                     "the command did not run to its end", err);
  }
  *exit_code = named_code(status);
  return *exit_code > 0 ||
         fail_with(status, "exec-unknown-exit",
                   "the command failed, but the server names no exit code from "
                   "1 to 255",
                   err);
}

bool kube_exec_status(const char *text, size_t len, int *exit_code,
                      struct aicr_error *err)
{
  struct aicr_error why = {.code = AICR_CODE_NONE};
  struct aicr_quoted q;
  *exit_code = -1;
  cJSON *tree = kube_json_tree(text, len, &why);
  if (why.code == AICR_INTERNAL) {
    return aicr_fail(err, why.code, why.reason, "%s", why.message);
  }
  if (!cJSON_IsObject(tree)) {
    cJSON_Delete(tree);
    return aicr_fail(err, AICR_INTERNAL, "protocol",
                     "the server ended the command without a Status, with %s",
                     aicr_quote(&q, text, len));
  }
  bool ok = read_tree(tree, exit_code, err);
  cJSON_Delete(tree);
  return ok;
}
