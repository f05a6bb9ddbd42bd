/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "kube/live_internal.h"

void kube_live_target_free(struct live_target *t)
{
  aicr_free(t->base);
  aicr_free(t->authority);
  aicr_free(t->connect_to);
  memset(t, 0, sizeof *t);
}

struct parts {
  char *scheme, *host, *port, *path;
};

static void free_parts(struct parts *p)
{
  curl_free(p->scheme);
  curl_free(p->host);
  curl_free(p->port);
  curl_free(p->path);
}

static bool take_apart(const char *server, struct parts *p)
{
  CURLU *url = curl_url();
  bool ok =
      url != NULL && curl_url_set(url, CURLUPART_URL, server, 0) == 0 &&
      curl_url_get(url, CURLUPART_SCHEME, &p->scheme, 0) == 0 &&
      curl_url_get(url, CURLUPART_HOST, &p->host, 0) == 0 &&
      curl_url_get(url, CURLUPART_PORT, &p->port, CURLU_DEFAULT_PORT) == 0 &&
      curl_url_get(url, CURLUPART_PATH, &p->path, 0) == 0;
  curl_url_cleanup(url);
  return ok;
}

static char *text_of(struct aicr_buf *b)
{
  char *text =
      b->failed || b->data == NULL ? NULL : aicr_strndup(b->data, b->len);
  aicr_buf_reset(b);
  return text;
}

bool kube_live_target(const struct kube_config *config, struct live_target *t,
                      struct aicr_error *err)
{
  struct parts p = {0};
  struct aicr_buf b;
  memset(t, 0, sizeof *t);
  if (!take_apart(config->server, &p)) {
    free_parts(&p);
    return aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                     "the server of the configuration is no URL (%s)",
                     config->source);
  }
  const char *name = config->tls_server_name;
  size_t path_len = strlen(p.path);
  while (path_len > 0 && p.path[path_len - 1] == '/') {
    path_len--;
  }
  t->tls = strcmp(p.scheme, "https") == 0;
  aicr_buf_init(&b, 4096);
  aicr_buf_addf(&b, "%s:%s", p.host, p.port);
  t->authority = text_of(&b);
  aicr_buf_addf(&b, "%s://%s:%s", p.scheme, name == NULL ? p.host : name,
                p.port);
  aicr_buf_add(&b, p.path, path_len);
  t->base = text_of(&b);
  bool ok = t->authority != NULL && t->base != NULL;
  if (name != NULL) {
    aicr_buf_addf(&b, "%s:%s:%s:%s", name, p.port, p.host, p.port);
    t->connect_to = text_of(&b);
    ok = ok && t->connect_to != NULL;
  }
  aicr_buf_free(&b);
  free_parts(&p);
  return ok || aicr_fail(err, AICR_INTERNAL, "memory",
                         "no memory for the server's address");
}
