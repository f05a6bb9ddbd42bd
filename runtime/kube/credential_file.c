/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/credential_file.h"

#include <string.h>

#include "core/text.h"
#include "kube/config_read.h"
#include "kube/credential_answer.h"

static bool fail_file(struct aicr_error *err, const char *path,
                      const char *what)
{
  struct aicr_quoted q;

  return aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                   "the token file %s %s; try: ls -lL %s",
                   aicr_quote(&q, path, strlen(path)), what, q.text);
}

bool kube_token_file_read(const char *path, struct aicr_buf *out,
                          struct aicr_error *err)
{
  const char *problem, *token;
  struct aicr_error what;
  struct aicr_buf text;
  size_t len;
  enum kube_config_found found = kube_config_read(path, &text, NULL, &problem);
  bool ok = false;

  token = text.len > 0 ? text.data : "";
  len = text.len;
  aicr_trim(&token, &len);
  if (found == KUBE_CONFIG_NO_MEMORY) {
    kube_config_no_memory(err);
  } else if (found != KUBE_CONFIG_READ) {
    aicr_fail(&what, AICR_INVALID_REQUEST, "", "cannot be read: %s", problem);
    fail_file(err, path, what.message);
  } else if (len == 0) {
    fail_file(err, path, "is empty");
  } else if (!kube_token_valid(token, len)) {
    fail_file(err, path, "holds a character that no header can carry");
  } else {
    ok = aicr_buf_add(out, token, len) || kube_config_no_memory(err);
  }
  aicr_buf_free(&text);
  return ok;
}
