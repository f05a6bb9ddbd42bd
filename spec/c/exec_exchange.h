/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_EXEC_EXCHANGE_H
#define SPEC_C_EXEC_EXCHANGE_H

#include "kube/live_internal.h"

#include "exec_server.h"

/* A live client and the server that it runs commands on. */

#define STEPS 20000 /* of a test, at most */

struct exchange {
  struct server server;
  struct kube_backend *backend;
};

static inline char *copy(const char *text)
{
  char *made = aicr_strndup(text, strlen(text));
  assert_non_null(made);
  return made;
}

static inline void begin(struct exchange *x, const struct server_script *script)
{
  char url[64];
  struct aicr_error err;
  server_open(&x->server, script);
  snprintf(url, sizeof url, "http://127.0.0.1:%u/prefix", x->server.port);
  struct kube_config config = {.source = copy("test"),
                               .ns = copy("default"),
                               .server = copy(url),
                               .token = copy("hunter2")};
  x->backend = kube_live_open(&config, &err);
  assert_non_null(x->backend);
}

static inline void end(struct exchange *x)
{
  x->backend->ops->close(x->backend);
  server_close(&x->server);
}

static inline struct kube_request command(const char *text, int64_t deadline_ms)
{
  static const char words[] = "sh\0-c\0echo $(id) 'a b'";
  return (struct kube_request){
      .verb = KUBE_EXEC,
      .ns = "n",
      .name = "p",
      .subresource = "exec",
      .path = "/api/v1/namespaces/n/pods/p/exec",
      .command = words,
      .command_len = sizeof words,
      .container = "c",
      .body = text,
      .body_len = text == NULL ? 0 : strlen(text),
      .deadline_ms = deadline_ms == 0 ? 0 : aicr_monotonic_ms() + deadline_ms};
}

/* The next answer, or false when there was none in all steps. */
static inline bool wait_answer(struct exchange *x, struct kube_answer *a)
{
  void *owner = NULL;
  for (unsigned i = 0; i < STEPS; i++) {
    if (x->backend->ops->poll(x->backend, 2, &owner, a)) {
      return true;
    }
    server_step(&x->server);
  }
  return false;
}

static inline const char *show(const struct kube_answer *a)
{
  static char text[512];
  if (a->error.code != AICR_CODE_NONE) {
    snprintf(text, sizeof text, "%s/%s", aicr_code_name(a->error.code),
             a->error.reason);
  } else if (a->http == 0) {
    snprintf(text, sizeof text, "%s (%s)", kube_transport_name(a->transport),
             a->detail);
  } else if (a->http != 101) {
    snprintf(text, sizeof text, "%d", a->http);
  } else {
    snprintf(text, sizeof text, "101 %d %.60s|%.60s", a->exit_code,
             a->body.data == NULL ? "" : a->body.data,
             a->stderr_text.data == NULL ? "" : a->stderr_text.data);
  }
  return text;
}

#endif
