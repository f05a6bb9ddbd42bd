/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_LIVE_ASKER_H
#define SPEC_C_LIVE_ASKER_H

#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

#include "kube/call.h"
#include "kube/live_internal.h"

#include "kube_asker.h"
#include "wire_server.h"

/* A client over real connections to a server that a test scripts. */

#define J          "application/json"
#define TEXT       "text/plain; charset=utf-8"
#define STATUS     "{\"kind\":\"Status\",\"apiVersion\":\"v1\","
#define NODE(name) "{\"metadata\":{\"name\":\"" name "\"}}"
#define PAGE(items, token)                                                     \
  "{\"kind\":\"NodeList\",\"apiVersion\":\"v1\",\"metadata\":{\"continue\":"   \
  "\"" token "\"},\"items\":[" items "]}"

/* What libcurl would take as the system's authorities; NULL: what it does. */
static const char *system_authorities;

CURL *__real_curl_easy_init(void);
CURL *__wrap_curl_easy_init(void);

/* A new handle's defaults are where a distribution keeps its authorities. */
CURL *__wrap_curl_easy_init(void)
{
  CURL *easy = __real_curl_easy_init();
  if (easy != NULL && system_authorities != NULL) {
    curl_easy_setopt(easy, CURLOPT_CAINFO, system_authorities);
  }
  return easy;
}

static inline char *copy_of(const char *text)
{
  char *copy = aicr_strndup(text, strlen(text));
  assert_non_null(copy);
  return copy;
}

/* Who is asked, and nothing more. */
static inline struct kube_config config_of(const char *server)
{
  struct kube_config c = {.source = copy_of("FILE"),
                          .ns = copy_of("default"),
                          .server = copy_of(server)};
  aicr_buf_init(&c.ca, 1 << 16);
  aicr_buf_init(&c.certificate, 1 << 16);
  aicr_buf_init(&c.key, 1 << 16);
  return c;
}

static inline struct kube_live *live_of(struct kube_client *c)
{
  return (struct kube_live *)(void *)kube_client_backend(c);
}

/* Takes the config over. Retries come at once. */
static inline struct kube_client *client_of(struct kube_config *config)
{
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct kube_backend *b = kube_live_open(config, &err);
  assert_string_equal(err.message, "");
  assert_non_null(b);
  struct kube_client *c = kube_client_open(b);
  assert_non_null(c);
  live_of(c)->backoff_ms = 0;
  return c;
}

static inline struct kube_client *client_at(const char *server)
{
  struct kube_config config = config_of(server);
  return client_of(&config);
}

/* Takes a port of loopback, "127.0.0.1:port", at which nobody listens while the
 * descriptor is open: of one that was let go somebody else may get hold. */
static inline int take_deaf_port(char *host, size_t size)
{
  struct sockaddr_in at = {.sin_family = AF_INET,
                           .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t len = sizeof at;
  int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  assert_true(fd >= 0);
  assert_int_equal(bind(fd, (struct sockaddr *)&at, len), 0);
  assert_int_equal(getsockname(fd, (struct sockaddr *)&at, &len), 0);
  snprintf(host, size, "127.0.0.1:%u", ntohs(at.sin_port));
  return fd;
}

#define PATIENCE_MS 60000 /* of a machine that has much else to do */

/* kube_call_next() that waits for news, of this call alone. */
static inline enum kube_call_state next_news(struct kube_call *call,
                                             const char **text, size_t *len)
{
  struct kube_client *c = call->client;
  enum kube_call_state state = kube_call_next(call, text, len);
  int64_t end = aicr_monotonic_ms() + PATIENCE_MS;
  while (state == KUBE_CALL_WAIT) {
    void *got = NULL;
    if (aicr_monotonic_ms() > end) {
      fail_msg("no news of %s %s", call->failure.verb, call->failure.resource);
    }
    struct kube_call *news = kube_client_poll(c, 60, &got);
    assert_true(news == NULL || news == call);
    state = kube_call_next(call, text, len);
  }
  return state;
}

/* As ask() of kube_asker.h: "a/p1 a/p2 end" (names), "object {…}" or
 * "CODE/reason HTTP|transport served verdict". */
static inline void ask_live(struct kube_client *c,
                            const struct kube_call_spec *spec,
                            struct aicr_buf *out)
{
  struct kube_call *call = kube_client_start(c, spec, NULL);
  const char *text = NULL;
  size_t len = 0;
  assert_non_null(call);
  enum kube_call_state state = next_news(call, &text, &len);
  for (; state == KUBE_CALL_ITEM; state = next_news(call, &text, &len)) {
    add_item(out, call, text, len);
  }
  if (state == KUBE_CALL_END) {
    aicr_buf_adds(out, "end");
  } else if (state == KUBE_CALL_OBJECT) {
    aicr_buf_addf(out, "object %.*s", (int)len, text);
  } else {
    add_failure(out, call);
  }
  assert_int_equal(kube_client_pending(c), 0);
  kube_call_close(call);
}

/* A question of kube_asker.h, also "… in=MS" at its end for a deadline; what
 * writes has the body {}. */
static inline void ask_live_text(struct kube_client *c, const char *question,
                                 struct aicr_buf *out)
{
  static const char *const types[KUBE_VERB_COUNT] = {
      [KUBE_CREATE] = J,
      [KUBE_UPDATE] = J,
      [KUBE_PATCH] = "application/strategic-merge-patch+json",
      [KUBE_APPLY] = "application/apply-patch+yaml",
      [KUBE_DELETE] = J};
  char text[512];
  struct asked a;
  snprintf(text, sizeof text, "%s", question);
  char *in = strstr(text, " in=");
  if (in != NULL) {
    *in = '\0';
  }
  read_question(text, &a);
  if (in != NULL) {
    a.spec.deadline_ms = aicr_monotonic_ms() + strtol(in + 4, NULL, 10);
  }
  a.spec.content_type = types[a.spec.verb];
  if (a.spec.content_type != NULL) {
    a.spec.body = "{}";
    a.spec.body_len = 2;
  }
  if (a.spec.subresource != NULL && strcmp(a.spec.subresource, "log") == 0) {
    a.spec.text = true;
  }
  ask_live(c, &a.spec, out);
}

/* The requests; the two of discovery, which go side by side, are one line. */
static inline const char *requests_of(struct wire_server *s)
{
  static const char *const twos[] = {"GET /api\nGET /apis\n",
                                     "GET /apis\nGET /api\n"};
  static char text[8192];
  size_t len = 0;
  for (const char *p = wire_requests(s); *p != '\0';) {
    size_t n = 0;
    for (size_t i = 0; i < COUNT(twos); i++) {
      n = strncmp(p, twos[i], strlen(twos[i])) == 0 ? strlen(twos[i]) : n;
    }
    size_t line = strcspn(p, "\n") + 1;
    len +=
        (size_t)snprintf(text + len, sizeof text - len, "%.*s",
                         (int)(n > 0 ? 10 : line), n > 0 ? "discovery\n" : p);
    assert_true(len < sizeof text);
    p += n > 0 ? n : line;
  }
  text[len] = '\0';
  return text;
}

/* One question, one answer. */
static inline void assert_answer(struct kube_client *c, const char *question,
                                 const char *answer)
{
  struct aicr_buf out;
  aicr_buf_init(&out, 1 << 20);
  ask_live_text(c, question, &out);
  assert_string_equal(out.data, answer);
  aicr_buf_free(&out);
}

/* … of which only the beginning is sure. */
static inline void assert_begins(struct kube_client *c, const char *question,
                                 const char *answer)
{
  struct aicr_buf out;
  aicr_buf_init(&out, 1 << 20);
  ask_live_text(c, question, &out);
  if (strncmp(out.data, answer, strlen(answer)) != 0) {
    fail_msg("%s, not %s", out.data, answer);
  }
  aicr_buf_free(&out);
}

/* A question to a server that answers so. */
struct live_row {
  const char *what;
  struct wire_answer answers[8];
  const char *question, *result, *requests;
};

static inline void test_live_row(void **state)
{
  const struct live_row *row = *state;
  struct wire_server *s = wire_start(row->answers, NULL);
  struct kube_client *c = client_at(wire_url(s));
  assert_answer(c, row->question, row->result);
  assert_string_equal(requests_of(s), row->requests);
  kube_client_close(c);
  wire_stop(s);
}

/* As the program does. */
/* What the environment says of proxies is not for tests. */
static inline void forget_proxies(void)
{
  static const char *const names[] = {
      "http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
      "ALL_PROXY",  "no_proxy",    "NO_PROXY"};
  for (size_t i = 0; i < COUNT(names); i++) {
    unsetenv(names[i]);
  }
}

static inline int ignore_pipe(void **state)
{
  (void)state;
  return signal(SIGPIPE, SIG_IGN) == SIG_ERR ? -1 : 0;
}

#endif
