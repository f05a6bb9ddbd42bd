/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever an answer says, it becomes an error with a code, a reason and a
 * message that a terminal may show; absence is a verdict only of a 404. The
 * first three bytes choose code, content type and request. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "core/text.h"
#include "kube/status.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok) {
    abort();
  }
}

static void check_text(const char *text)
{
  size_t len = strlen(text);
  require(len > 0);
  for (size_t i = 0; i < len;) {
    uint32_t cp = 0;
    size_t step = aicr_utf8_decode(text + i, len - i, &cp);
    require(step > 0 && cp >= 0x20 && (cp < 0x7f || cp >= 0xa0));
    i += step;
  }
}

static void check(const struct aicr_error *err, const struct kube_failure *f,
                  int http)
{
  bool absent = strcmp(err->reason, "not-found") == 0 ||
                strcmp(err->reason, "api-not-served") == 0;
  require(err->code != AICR_CODE_NONE && err->reason[0] != '\0');
  require(err->verdict == absent);
  require(!absent || (http == 404 && err->code == AICR_NOT_FOUND));
  require(f->http == http);
  require(f->cause_count <= sizeof f->causes / sizeof f->causes[0]);
  check_text(err->message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  static const int codes[] = {404, 403, 401, 400, 409, 410, 422, 429,
                              500, 502, 503, 504, 302, 405, 415, 418};
  static const char *const types[] = {
      "application/json", "text/plain; charset=utf-8", "", "text/html"};
  static const enum kube_verb verbs[] = {KUBE_GET, KUBE_LIST, KUBE_CREATE,
                                         KUBE_RAW};
  if (size < 3) {
    return 0;
  }
  struct kube_request rq = {.verb = verbs[data[2] & 3], .name = "n"};
  struct kube_answer a = {.http = codes[data[0] & 15], .attempts = 1};
  struct kube_failure failure = {.verb = "get", .resource = "pods"};
  struct aicr_error err = {.code = AICR_CODE_NONE};
  rq.subresource = (data[2] & 4) != 0 ? "log" : NULL;
  memcpy(a.content_type, types[data[1] & 3], strlen(types[data[1] & 3]) + 1);
  aicr_buf_init(&a.body, (size_t)1 << 24);
  require(aicr_buf_add(&a.body, data + 3, size - 3));
  kube_status_error(&rq, &a, (enum kube_served)((data[2] >> 4) % 3), &err,
                    &failure);
  check(&err, &failure, a.http);
  kube_answer_free(&a);
  return 0;
}
