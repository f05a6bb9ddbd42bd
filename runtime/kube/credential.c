/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/credential.h"

#include <string.h>

#include "core/base64.h"
#include "core/text.h"
#include "core/time.h"
#include "kube/clock.h"
#include "kube/credential_exec.h"
#include "kube/credential_file.h"

#define TOKEN_MAX     ((size_t)1 << 20)
#define WARNINGS_MAX  ((size_t)16 << 10)
#define EARLY_MS      10000 /* before a credential's end it is renewed */
#define FILE_CACHE_MS 60000
/* Who waited for a run asks at once; later ones are others. */
#define NEWS_MS 1000

enum source {
  SOURCE_NONE,
  SOURCE_TOKEN,
  SOURCE_FILE,
  SOURCE_BASIC,
  SOURCE_EXEC
};

enum warned { WARNED_HTTP = 1, WARNED_FILE = 2, WARNED_EXPIRED = 4 };

struct kube_credential {
  const struct kube_config *config;
  enum source source;
  bool plain;                    /* http: nothing is sent */
  struct aicr_buf authorization; /* secret; empty: none */
  bool cached;                   /* it holds what may be given */
  int64_t read_ms;               /* when the token file was read */

  struct kube_process *process;
  bool ignored; /* its outcome is known */
  struct kube_exec_answer answer;
  int64_t expires_ms; /* monotonic */
  struct aicr_error failure;
  bool failed;
  bool fresh; /* nobody got what the last run gave */
  int64_t ended_ms;
  unsigned generation;

  struct aicr_buf warnings;
  unsigned warned;
};

static bool given(const char *text)
{
  return text && *text;
}

/* kubernetes-client.md 1.3: the plug-in is asked only when there is nothing
 * else. */
static enum source choose(const struct kube_config *config)
{
  if (given(config->token_file))
    return SOURCE_FILE;
  if (given(config->token))
    return SOURCE_TOKEN;
  if (given(config->username) || given(config->password))
    return SOURCE_BASIC;
  if (config->exec && config->certificate.len == 0)
    return SOURCE_EXEC;
  return SOURCE_NONE;
}

struct kube_credential *kube_credential_open(const struct kube_config *config)
{
  struct kube_credential *c = aicr_calloc(1, sizeof(*c));

  if (!c)
    return NULL;
  c->config = config;
  c->source = choose(config);
  c->plain = config->server && strncmp(config->server, "http://", 7) == 0;
  aicr_buf_init(&c->authorization, TOKEN_MAX + 16);
  c->authorization.secret = true;
  aicr_buf_init(&c->warnings, WARNINGS_MAX);
  kube_exec_answer_init(&c->answer);
  return c;
}

void kube_credential_close(struct kube_credential *c)
{
  if (!c)
    return;
  kube_process_close(c->process);
  kube_exec_answer_free(&c->answer);
  aicr_buf_free(&c->authorization);
  aicr_buf_free(&c->warnings);
  aicr_free(c);
}

/* A line once; `which` is let go where it is well again. What does not fit is
 * left out. */
static void warn(struct kube_credential *c, enum warned which, const char *text)
{
  if (c->warned & which)
    return;
  c->warned |= which;
  if (c->warnings.max - c->warnings.len > strlen(text) + 1) {
    aicr_buf_adds(&c->warnings, text);
    aicr_buf_addc(&c->warnings, '\n');
  }
}

void kube_credential_warnings(struct kube_credential *c, struct aicr_buf *out)
{
  aicr_buf_add(out, c->warnings.data, c->warnings.len);
  aicr_buf_reset(&c->warnings);
}

static enum kube_credential_state fail_memory(struct aicr_error *err)
{
  aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a credential");
  return KUBE_CREDENTIAL_FAILED;
}

static enum kube_credential_state ready(const struct kube_credential *c,
                                        const char **authorization)
{
  if (c->authorization.len > 0)
    *authorization = c->authorization.data;
  return KUBE_CREDENTIAL_READY;
}

static bool set_bearer(struct kube_credential *c, const char *token, size_t len)
{
  aicr_buf_reset(&c->authorization);
  aicr_buf_adds(&c->authorization, "Bearer ");
  return aicr_buf_add(&c->authorization, token, len);
}

static const char *source_of(const struct kube_config *config,
                             struct aicr_quoted *q)
{
  const char *name = config->source ? config->source : "the kubeconfig";

  return aicr_quote(q, name, strlen(name));
}

static enum kube_credential_state fail_config(const struct kube_credential *c,
                                              const char *field,
                                              const char *what,
                                              struct aicr_error *err)
{
  struct aicr_quoted q;

  aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
            "%s of %s %s; try: kubectl config view --minify", field,
            source_of(c->config, &q), what);
  return KUBE_CREDENTIAL_FAILED;
}

static enum kube_credential_state get_token(struct kube_credential *c,
                                            const char **authorization,
                                            struct aicr_error *err)
{
  const char *token = c->config->token;
  size_t len = strlen(token);

  aicr_trim(&token, &len);
  if (!kube_token_valid(token, len))
    return fail_config(
        c, "users[].user.token",
        len ? "holds a character that no header can carry" : "is empty", err);
  if (!set_bearer(c, token, len))
    return fail_memory(err);
  return ready(c, authorization);
}

static enum kube_credential_state get_basic(struct kube_credential *c,
                                            const char **authorization,
                                            struct aicr_error *err)
{
  const char *name = c->config->username, *word = c->config->password;
  struct aicr_buf pair;

  if (given(name) && strchr(name, ':'))
    return fail_config(c, "users[].user.username",
                       "holds a ':', which ends a name", err);
  aicr_buf_init(&pair, TOKEN_MAX / 2);
  pair.secret = true;
  aicr_buf_adds(&pair, given(name) ? name : "");
  aicr_buf_addc(&pair, ':');
  aicr_buf_adds(&pair, given(word) ? word : "");
  aicr_buf_reset(&c->authorization);
  aicr_buf_adds(&c->authorization, "Basic ");
  if (!pair.failed)
    aicr_base64_encode(pair.data, pair.len, &c->authorization);
  if (pair.failed || c->authorization.failed) {
    aicr_buf_free(&pair);
    return fail_memory(err);
  }
  aicr_buf_free(&pair);
  return ready(c, authorization);
}

/* The file wins once it was read; without it what the config holds is used, and
 * while it cannot be re-read the token that came from it last. */
static enum kube_credential_state get_file(struct kube_credential *c,
                                           int64_t now_ms,
                                           const char **authorization,
                                           struct aicr_error *err)
{
  bool other = c->cached || given(c->config->token);
  struct aicr_error why;
  struct aicr_buf token;
  bool read;

  if (c->cached && now_ms < c->read_ms + FILE_CACHE_MS - EARLY_MS)
    return ready(c, authorization);
  aicr_buf_init(&token, TOKEN_MAX);
  token.secret = true;
  read = kube_token_file_read(c->config->token_file, &token, &why);
  if (read) {
    c->cached = set_bearer(c, token.data, token.len);
    c->read_ms = now_ms;
    c->warned &= ~(unsigned)WARNED_FILE;
  }
  aicr_buf_free(&token);
  if (read)
    return c->cached ? ready(c, authorization) : fail_memory(err);
  if (!other || why.code == AICR_INTERNAL) {
    if (err)
      *err = why;
    return KUBE_CREDENTIAL_FAILED;
  }
  aicr_wrap(&why, why.code, "%s; %s is used", why.message,
            c->cached ? "the token read before" : "users[].user.token");
  warn(c, WARNED_FILE, why.message);
  return c->cached ? ready(c, authorization) : get_token(c, authorization, err);
}

/* By either clock: the monotonic one stands still while a machine sleeps, the
 * other one can be set back. */
static bool expired(const struct kube_credential *c, int64_t now_ms)
{
  return c->answer.expires &&
         (now_ms >= c->expires_ms ||
          aicr_now_ms() >= c->answer.expires_ms - EARLY_MS);
}

static void warn_expired(struct kube_credential *c, int64_t wall)
{
  const char *command = c->config->exec->command;
  char end[AICR_RFC3339_TEXT], now[AICR_RFC3339_TEXT];
  struct aicr_error text;
  struct aicr_quoted q;

  if (!c->answer.expires || c->answer.expires_ms > wall) {
    c->warned &= ~(unsigned)WARNED_EXPIRED;
    return;
  }
  aicr_time_format(c->answer.expires_ms, end);
  aicr_time_format(wall, now);
  aicr_fail(&text, AICR_UNAUTHORIZED, "expired",
            "the credential plug-in %s gives a credential that expired at %s, "
            "and it is %s by this machine's clock: it is run again for each "
            "request; try: date -u",
            aicr_quote(&q, command, strlen(command)), end, now);
  warn(c, WARNED_EXPIRED, text.message);
}

static bool same(const struct aicr_buf *a, const struct aicr_buf *b)
{
  return a->len == b->len &&
         (a->len == 0 || memcmp(a->data, b->data, a->len) == 0);
}

/* The run is over for those who wait for it. */
static void take_outcome(struct kube_credential *c, int64_t now_ms)
{
  struct kube_exec_answer answer;
  int64_t wall = aicr_now_ms();

  kube_exec_answer_init(&answer);
  c->failed = !kube_exec_finish(c->config, c->process, &answer, &c->failure);
  if (!c->failed && answer.token.len > 0)
    c->failed = !set_bearer(c, answer.token.data, answer.token.len);
  else
    aicr_buf_reset(&c->authorization);
  if (c->failed && c->authorization.failed)
    fail_memory(&c->failure);
  if (!c->failed) {
    if (!same(&answer.certificate, &c->answer.certificate) ||
        !same(&answer.key, &c->answer.key))
      c->generation++;
    kube_exec_answer_free(&c->answer);
    c->answer = answer;
    kube_exec_answer_init(&answer);
    c->expires_ms = now_ms + (c->answer.expires_ms - wall) - EARLY_MS;
    warn_expired(c, wall);
  }
  kube_exec_answer_free(&answer);
  c->cached = !c->failed;
  c->fresh = true;
  c->ended_ms = now_ms;
  c->ignored = true;
}

void kube_credential_step(struct kube_credential *c, int64_t now_ms)
{
  enum kube_process_state state;

  if (!c->process)
    return;
  state = kube_process_step(c->process, now_ms);
  if (state == KUBE_PROCESS_RUNNING)
    return;
  if (!c->ignored)
    take_outcome(c, now_ms);
  if (state == KUBE_PROCESS_ENDED) {
    kube_process_close(c->process);
    c->process = NULL;
  }
}

/* One more who waits for the run. */
static enum kube_credential_state wait_for(struct kube_credential *c,
                                           int64_t now_ms, int64_t deadline_ms,
                                           struct aicr_error *err)
{
  int64_t until = kube_process_deadline(c->process);

  if (deadline_ms && now_ms >= deadline_ms) {
    kube_exec_late(c->config, c->process, err);
    return KUBE_CREDENTIAL_FAILED;
  }
  if (until && (!deadline_ms || deadline_ms > until))
    kube_process_set_deadline(c->process, deadline_ms);
  return KUBE_CREDENTIAL_WAIT;
}

static enum kube_credential_state get_exec(struct kube_credential *c,
                                           int64_t now_ms, int64_t deadline_ms,
                                           const char **authorization,
                                           struct aicr_error *err)
{
  bool new =
      now_ms == c->ended_ms || (c->fresh && now_ms < c->ended_ms + NEWS_MS);

  if (c->failed && new) {
    c->fresh = false;
    if (err)
      *err = c->failure;
    return KUBE_CREDENTIAL_FAILED;
  }
  c->failed = false;
  if (c->cached && (new || !expired(c, now_ms))) {
    c->fresh = false;
    return ready(c, authorization);
  }
  c->cached = false;
  if (c->process)
    return wait_for(c, now_ms, deadline_ms, err);
  if (deadline_ms && now_ms >= deadline_ms) {
    kube_exec_late(c->config, NULL, err);
    return KUBE_CREDENTIAL_FAILED;
  }
  c->process = kube_exec_start(c->config, deadline_ms, err);
  c->ignored = false;
  return c->process ? KUBE_CREDENTIAL_WAIT : KUBE_CREDENTIAL_FAILED;
}

enum kube_credential_state kube_credential_get(struct kube_credential *c,
                                               int64_t now_ms,
                                               int64_t deadline_ms,
                                               const char **authorization,
                                               struct aicr_error *err)
{
  *authorization = NULL;
  if (c->source != SOURCE_NONE && c->plain) {
    warn(c, WARNED_HTTP,
         "the server's address begins with http: no credentials are sent; "
         "write https:// in clusters[].cluster.server");
    return KUBE_CREDENTIAL_READY;
  }
  switch (c->source) {
  case SOURCE_TOKEN:
    return get_token(c, authorization, err);
  case SOURCE_FILE:
    return get_file(c, now_ms, authorization, err);
  case SOURCE_BASIC:
    return get_basic(c, authorization, err);
  case SOURCE_EXEC:
    return get_exec(c, now_ms, deadline_ms, authorization, err);
  default:
    return KUBE_CREDENTIAL_READY;
  }
}

void kube_credential_certificate(const struct kube_credential *c,
                                 const struct aicr_buf **certificate,
                                 const struct aicr_buf **key,
                                 unsigned *generation)
{
  bool own = c->answer.certificate.len > 0;
  const struct aicr_buf *pair[2] = {own ? &c->answer.certificate
                                        : &c->config->certificate,
                                    own ? &c->answer.key : &c->config->key};
  bool any = pair[0]->len > 0 && pair[1]->len > 0;

  *certificate = any ? pair[0] : NULL;
  *key = any ? pair[1] : NULL;
  *generation = c->generation;
}

bool kube_credential_refused(struct kube_credential *c)
{
  if (c->plain || (c->source != SOURCE_FILE && c->source != SOURCE_EXEC))
    return false;
  c->cached = false;
  return true;
}

size_t kube_credential_descriptors(const struct kube_credential *c,
                                   struct pollfd *out)
{
  return c->process ? kube_process_descriptors(c->process, out) : 0;
}

int64_t kube_credential_wake(const struct kube_credential *c)
{
  return c->process ? kube_process_wake(c->process) : 0;
}
