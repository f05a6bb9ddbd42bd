/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_KUBE_ASKER_H
#define SPEC_C_KUBE_ASKER_H

#include "core/text.h"
#include "kube/client.h"
#include "kube/json_tree.h"
#include "kube/recording.h"

#include "folder.h"

/* Recordings, and calls as one line of text. */

/* The least that is an object. */
#define OBJECT_OF(version, kind, name)                                         \
  "{\"kind\":\"" kind "\",\"apiVersion\":\"" version                           \
  "\",\"metadata\":{\"name\":\"" name "\"}}"
/* … v: any number */
#define NODE_OF(name, v)                                                       \
  "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"" name    \
  "\"},\"v\":" v "}"
#define NODE_N OBJECT_OF("v1", "Node", "n")
#define POD_P  OBJECT_OF("v1", "Pod", "p")
/* … that only an exact reader gives on as it is. */
#define ODD_NODE                                                               \
  "{\"kind\":\"Node\",\"apiVersion\":\"v1\",\"metadata\":{\"name\":\"n\","     \
  "\"generation\":9007199254740993},\"b\":\"x\\u0000y\",\"c\":1e3}"

static inline struct kube_client *open_client(const char *path,
                                              struct aicr_buf *warnings)
{
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct kube_backend *b = kube_recording_open(path, warnings, &err);
  assert_string_equal(err.message, "");
  assert_non_null(b);
  struct kube_client *c = kube_client_open(b);
  assert_non_null(c);
  return c;
}

/* "list pods ns=a label=x=y limit=2", words with single spaces. */
struct asked {
  char text[1024];
  struct kube_call_spec spec;
};

static inline void read_question(const char *question, struct asked *a)
{
  static const struct kube_call_spec none = {0};
  snprintf(a->text, sizeof a->text, "%s", question);
  a->spec = none;
  char *words[8] = {NULL};
  size_t count = 0;
  for (char *p = a->text; p != NULL && count < 8; count++) {
    words[count] = p;
    p = strchr(p, ' ');
    if (p != NULL) {
      *p++ = '\0';
    }
  }
  for (unsigned v = 0; v < KUBE_VERB_COUNT; v++) {
    if (strcmp(kube_verb_name((enum kube_verb)v), words[0]) == 0) {
      a->spec.verb = (enum kube_verb)v;
    }
  }
  a->spec.resource = words[1];
  for (size_t i = 2; i < count; i++) {
    char *value = strchr(words[i], '=');
    assert_non_null(value);
    *value++ = '\0';
    const char **slot = strcmp(words[i], "ns") == 0      ? &a->spec.ns
                        : strcmp(words[i], "name") == 0  ? &a->spec.name
                        : strcmp(words[i], "label") == 0 ? &a->spec.label
                        : strcmp(words[i], "field") == 0 ? &a->spec.field
                        : strcmp(words[i], "sub") == 0   ? &a->spec.subresource
                                                         : NULL;
    if (slot != NULL) {
      *slot = value;
    } else {
      a->spec.page_size = (unsigned)(value[0] - '0');
    }
  }
}

static inline void add_item(struct aicr_buf *out, const struct kube_call *call,
                            const char *text, size_t len)
{
  cJSON *tree = kube_json_tree(text, len, NULL);
  assert_non_null(tree);
  const cJSON *meta = kube_json_member(tree, "metadata");
  const char *ns = kube_json_text(meta, "namespace");
  aicr_buf_addf(out, "%s%s%s ", ns, ns[0] == '\0' ? "" : "/",
                kube_json_text(meta, "name"));
  assert_true(kube_call_item_kind(call)[0] != '\0');
  assert_true(kube_call_item_api_version(call)[0] != '\0');
  cJSON_Delete(tree);
}

static inline void add_failure(struct aicr_buf *out,
                               const struct kube_call *call)
{
  static const char *const served[] = {"", " served", " not-served"};
  const struct aicr_error *e = kube_call_error(call);
  const struct kube_failure *f = kube_call_failure(call);
  aicr_buf_addf(out, "%s/%s", aicr_code_name(e->code), e->reason);
  if (f->http != 0) {
    aicr_buf_addf(out, " %d", f->http);
  }
  if (f->transport != KUBE_TRANSPORT_OK) {
    aicr_buf_addf(out, " %s", kube_transport_name(f->transport));
  }
  aicr_buf_addf(out, "%s%s", served[f->served], e->verdict ? " verdict" : "");
}

/* Runs a call to its end: "a/p1 a/p2 end 2" (names, pages), "object {…}" or
 * "CODE/reason HTTP|transport served verdict". */
static inline void ask(struct kube_client *c, const struct kube_call_spec *spec,
                       struct aicr_buf *out)
{
  int owner = 0;
  unsigned polls = 0;
  struct kube_call *call = kube_client_start(c, spec, &owner);
  assert_non_null(call);
  for (;;) {
    const char *text = NULL;
    size_t len = 0;
    void *got = NULL;
    switch (kube_call_next(call, &text, &len)) {
    case KUBE_CALL_WAIT:
      assert_int_equal(kube_client_pending(c), 1);
      assert_ptr_equal(kube_client_poll(c, 0, &got), call);
      assert_ptr_equal(got, &owner);
      polls++;
      continue;
    case KUBE_CALL_ITEM:
      add_item(out, call, text, len);
      continue;
    case KUBE_CALL_END:
      aicr_buf_addf(out, "end %u", polls);
      break;
    case KUBE_CALL_OBJECT:
      aicr_buf_addf(out, "object %.*s", (int)len, text);
      break;
    default:
      add_failure(out, call);
      break;
    }
    break;
  }
  assert_int_equal(kube_client_pending(c), 0);
  kube_call_close(call);
}

static inline void ask_text(struct kube_client *c, const char *question,
                            struct aicr_buf *out)
{
  struct asked a;
  read_question(question, &a);
  ask(c, &a.spec, out);
}

/* One recording and one question. */
struct question {
  const char *what;
  struct file files[FILES_MAX];
  const char *question;
  const char *answer;
};

static inline void test_question(void **state)
{
  const struct question *row = *state;
  struct folder f;
  struct aicr_buf out;
  folder_make(&f);
  write_files(&f, row->files);
  struct kube_client *c = open_client(f.path, NULL);
  aicr_buf_init(&out, 1 << 20);
  ask_text(c, row->question, &out);
  assert_string_equal(out.data, row->answer);
  aicr_buf_free(&out);
  kube_client_close(c);
  folder_remove(&f);
}

#endif
