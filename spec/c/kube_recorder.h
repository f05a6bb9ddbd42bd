/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_KUBE_RECORDER_H
#define SPEC_C_KUBE_RECORDER_H

#include "kube/record.h"

#include "kube_asker.h"
#include "kube_fake.h"

/* A client that records what a fake backend answers. */

#define J "application/json"
#define PAGE(items, token)                                                     \
  {                                                                            \
    200, J,                                                                    \
        "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{"          \
        "\"resourceVersion\":\"7\",\"continue\":\"" token                      \
        "\"},\"items\":[" items "]}",                                          \
        KUBE_TRANSPORT_OK, false                                               \
  }
#define ANSWER(http, type, text)                                               \
  {                                                                            \
    http, type, text, KUBE_TRANSPORT_OK, false                                 \
  }
#define NEVER(transport)                                                       \
  {                                                                            \
    0, NULL, NULL, KUBE_TRANSPORT_##transport, false                           \
  }
#define NODE(name) "{\"metadata\":{\"name\":\"" name "\"}}"

static inline struct kube_client *
open_recording(struct fake *f, const char *folder,
               const struct fake_answer *answers)
{
  static const struct kube_record_facts facts = {
      .context = "a \"b\"", .tool = "spec", .captured_ms = 1700000000123};
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct kube_record *r = kube_record_open(folder, &facts, &err);
  struct kube_client *c =
      r == NULL ? NULL : kube_client_open(fake_init(f, answers));
  f->served = KUBE_SERVED_UNKNOWN;
  if (c == NULL) {
    kube_record_close(r);
  } else {
    kube_client_record(c, r);
  }
  return c;
}

/* Who asks. */
static const struct kube_asker askers[] = {
    {"a", 1, ""}, {"b", 1, "1.2"}, {"a", 2, ""}};

#endif
