/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_PLUGIN_H
#define SPEC_C_PLUGIN_H

#include <time.h>

#include "child.h"
#include "core/time.h"
#include "kube/credential.h"

/* Credential plug-ins that are scripts, and somebody who asks for what they
 * give. */

#define V1    "client.authentication.k8s.io/v1"
#define BETA  "client.authentication.k8s.io/v1beta1"
#define PEM   "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"
#define NOW   ((int64_t)1000000)
#define LATER ((int64_t)1000000000)

/* An ExecCredential as a line of a script that prints it. */
#define CREDENTIAL(status)                                                     \
  "{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\",\"status\":{" status \
  "}}"
#define PRINT(text) "cat <<'END'\n" text "\nEND\n"
/* … and says in "runs" that it ran. */
#define COUNTED "echo run >> $D/runs\n"

/* A configuration with a plug-in, and what asks it by a clock of its own. */
struct asker {
  char command[64];
  struct kube_config config;
  struct kube_exec_plugin exec;
  struct kube_credential *c;
  int64_t now;
  const char *authorization;
  struct aicr_error err;
};

static inline void set_up(struct asker *a)
{
  memset(a, 0, sizeof(*a));
  a->config.source = "/x/kubeconfig";
  a->config.server = "https://10.0.0.1:6443";
  a->now = NOW;
}

static inline void set_plugin(struct asker *a, const char *text)
{
  remove_file("runs");
  a->exec.api_version = V1;
  snprintf(a->command, sizeof(a->command), "%s", write_script("plugin", text));
  a->exec.command = a->command;
  a->config.exec = &a->exec;
}

static inline void open_asker(struct asker *a)
{
  a->c = kube_credential_open(&a->config);
  assert_non_null(a->c);
}

static inline void close_asker(struct asker *a)
{
  kube_credential_close(a->c);
  assert_no_children();
}

static inline void await_news(const struct asker *a)
{
  struct pollfd fds[4];

  poll(fds, (nfds_t)kube_credential_descriptors(a->c, fds), 20);
}

static inline enum kube_credential_state ask_until(struct asker *a,
                                                   int64_t deadline)
{
  for (int i = 0; i < PATIENCE; i++) {
    enum kube_credential_state s =
        kube_credential_get(a->c, a->now, deadline, &a->authorization, &a->err);

    if (s != KUBE_CREDENTIAL_WAIT)
      return s;
    await_news(a);
    kube_credential_step(a->c, a->now);
  }
  fail_msg("a plug-in did not end");
  return KUBE_CREDENTIAL_WAIT;
}

/* Each call is a millisecond after the one before. */
static inline enum kube_credential_state ask(struct asker *a)
{
  a->now++;
  return ask_until(a, 0);
}

static inline void assert_gives(struct asker *a, const char *authorization)
{
  if (ask(a) != KUBE_CREDENTIAL_READY)
    fail_msg("%s", a->err.message);
  if (authorization)
    assert_string_equal(a->authorization, authorization);
  else
    assert_null(a->authorization);
}

static inline void assert_fails(struct asker *a, enum aicr_code code,
                                const char *reason, const char *text)
{
  assert_int_equal(ask(a), KUBE_CREDENTIAL_FAILED);
  assert_null(a->authorization);
  assert_int_equal(a->err.code, code);
  assert_false(a->err.verdict);
  assert_string_equal(a->err.reason, reason);
  if (!strstr(a->err.message, text))
    fail_msg("\"%s\" is not in \"%s\"", text, a->err.message);
  /* The next command. */
  assert_true(strstr(a->err.message, "try: ") ||
              strstr(a->err.message, "to install it: "));
}

static inline void assert_warns(struct asker *a, const char *text)
{
  struct aicr_buf b;

  aicr_buf_init(&b, 20000);
  kube_credential_warnings(a->c, &b);
  if (!text) {
    assert_int_equal(b.len, 0);
  } else {
    assert_true(b.len > 0);
    assert_non_null(strstr(b.data, text));
    assert_ptr_equal(strchr(b.data, '\n'), b.data + b.len - 1);
  }
  aicr_buf_free(&b);
}

static inline int64_t wall_ms(void)
{
  struct timespec now;

  clock_gettime(CLOCK_REALTIME, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* A plug-in whose n-th run gives token "t<n>", which expires then. */
static inline void set_expiring(struct asker *a, int64_t in_ms)
{
  char text[1024], end[AICR_RFC3339_TEXT];

  aicr_time_format(wall_ms() + in_ms, end);
  snprintf(text, sizeof(text),
           COUNTED "n=$(wc -l < $D/runs)\n"
                   "cat <<END\n" CREDENTIAL("\"token\":\"t$n\","
                                            "\"expirationTimestamp\":"
                                            "\"%s\"") "\nEND\n",
           end);
  set_plugin(a, text);
}

/* A token file with that text, NULL: none. */
static inline void set_file(struct asker *a, const char *text)
{
  static char path[256];

  snprintf(path, sizeof(path), "%s", in_folder("token"));
  a->config.token_file = path;
  remove_file("token");
  if (text)
    write_file("token", text);
}

#endif
