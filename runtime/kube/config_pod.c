/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config_pod.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "core/text.h"
#include "kube/config_fields.h"
#include "kube/config_pem.h"
#include "kube/config_read.h"
#include "kube/config_url.h"

#define SERVICE_ACCOUNT "/var/run/secrets/kubernetes.io/serviceaccount"
#define HOST            "KUBERNETES_SERVICE_HOST"
#define PORT            "KUBERNETES_SERVICE_PORT"

const char *kube_config_env(const struct kube_config_options *o,
                            const char *name)
{
  const char *value = o->env != NULL ? o->env(name) : getenv(name);
  return value != NULL ? value : "";
}

/* A file of the service account; NULL without memory. */
static char *path_of(const struct kube_config_options *o, const char *name)
{
  struct aicr_buf b;
  aicr_buf_init(&b, 4096);
  aicr_buf_adds(&b, o->service_account != NULL ? o->service_account
                                               : SERVICE_ACCOUNT);
  aicr_buf_addc(&b, '/');
  aicr_buf_adds(&b, name);
  return b.data;
}

bool kube_config_pod_is(const struct kube_config_options *o,
                        struct aicr_buf *why)
{
  static const char *const names[] = {HOST, PORT};
  struct aicr_quoted q;
  struct stat st;
  for (size_t i = 0; i < 2; i++) {
    if (kube_config_env(o, names[i])[0] == '\0') {
      aicr_buf_addf(why, "%s is not set", names[i]);
      return false;
    }
  }
  char *path = path_of(o, "token");
  if (path == NULL) {
    why->failed = why->no_memory = true;
    return false;
  }
  bool ok = stat(path, &st) == 0 && S_ISREG(st.st_mode);
  if (!ok) {
    aicr_buf_addf(why, "there is no %s", aicr_quote(&q, path, strlen(path)));
  }
  aicr_free(path);
  return ok;
}

static bool bad(struct aicr_error *err, const char *where, const char *what)
{
  return aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                   "in-cluster: %s %s", where, what);
}

static bool bad_file(struct aicr_error *err, const char *path, const char *what)
{
  struct aicr_quoted q;
  return bad(err, aicr_quote(&q, path, strlen(path)), what);
}

static bool bad_read(struct aicr_error *err, const char *path, const char *what)
{
  struct aicr_quoted q;
  return aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                   "in-cluster: %s: %s", aicr_quote(&q, path, strlen(path)),
                   what);
}

static bool take_server(const struct kube_config_options *o,
                        struct kube_config *c, struct aicr_error *err)
{
  const char *host = kube_config_env(o, HOST), *port = kube_config_env(o, PORT);
  const char *open = strchr(host, ':') != NULL ? "[" : "";
  const char *problem = NULL;
  struct aicr_buf text, url;
  bool dropped = false, digits = port[strspn(port, "0123456789")] == '\0';
  aicr_buf_init(&text, 4096);
  aicr_buf_init(&url, 4096);
  aicr_buf_addf(&text, "https://%s%s%s:%s", open, host,
                open[0] != '\0' ? "]" : "", port);
  bool ok = !text.failed && kube_config_is_host(host) && digits &&
            kube_config_server_url(text.data, &url, &dropped, &problem);
  bool no_memory = text.no_memory || url.no_memory;
  aicr_buf_free(&text);
  c->server = url.data;
  if (no_memory) {
    return kube_config_no_memory(err);
  }
  return ok || bad(err, HOST " and " PORT, "are no host and port");
}

/* Reads a file of the service account that has to be there. */
static bool read_file(const char *path, struct aicr_buf *text,
                      struct aicr_error *err)
{
  const char *problem = NULL;
  enum kube_config_found found = kube_config_read(path, text, NULL, &problem);
  if (found == KUBE_CONFIG_NO_MEMORY) {
    return kube_config_no_memory(err);
  }
  return found == KUBE_CONFIG_READ || bad_read(err, path, problem);
}

/* Without it the system's authorities would be trusted (1.4). */
static bool take_ca(const struct kube_config_options *o, struct kube_config *c,
                    struct aicr_error *err)
{
  char *path = path_of(o, "ca.crt");
  if (path == NULL) {
    return kube_config_no_memory(err);
  }
  bool ok = read_file(path, &c->ca, err);
  const char *problem = NULL;
  if (ok) {
    problem =
        kube_config_pem_problem(KUBE_PEM_CERTIFICATE, c->ca.data, c->ca.len);
    ok = problem == NULL || bad_file(err, path, problem);
  }
  aicr_free(path);
  return ok;
}

static bool take_token(const struct kube_config_options *o,
                       struct kube_config *c, struct aicr_error *err)
{
  struct aicr_buf text;
  aicr_buf_init(&text, 0);
  c->token_file = path_of(o, "token");
  if (c->token_file == NULL) {
    return kube_config_no_memory(err);
  }
  bool ok = read_file(c->token_file, &text, err);
  if (ok) {
    const char *token = text.data != NULL ? text.data : "";
    size_t len = text.len;
    const char *problem = kube_config_token_problem(&token, &len);
    if (problem != NULL) {
      ok = bad_file(err, c->token_file, problem);
    } else {
      c->token = aicr_strndup(token, len);
      ok = c->token != NULL || kube_config_no_memory(err);
    }
  }
  aicr_buf_free(&text);
  return ok;
}

bool kube_config_pod_load(const struct kube_config_options *o,
                          struct kube_config *c, struct aicr_error *err)
{
  return take_server(o, c, err) && take_ca(o, c, err) && take_token(o, c, err);
}

static bool set_namespace(struct kube_config *c, const char *where,
                          const char *data, size_t len, struct aicr_error *err)
{
  struct aicr_quoted q;
  c->ns = aicr_strndup(data, len);
  if (c->ns == NULL) {
    return kube_config_no_memory(err);
  }
  return (strlen(c->ns) == len && kube_config_is_dns_label(c->ns)) ||
         aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                   "in-cluster: the namespace of %s is %s, which is no DNS "
                   "label",
                   where, aicr_quote(&q, data, len));
}

bool kube_config_pod_namespace(const struct kube_config_options *o,
                               struct kube_config *c, struct aicr_error *err)
{
  const char *named = kube_config_env(o, "POD_NAMESPACE"), *problem = NULL;
  struct aicr_quoted q;
  struct aicr_buf text;
  if (named[0] != '\0') {
    return set_namespace(c, "POD_NAMESPACE", named, strlen(named), err);
  }
  char *path = path_of(o, "namespace");
  if (path == NULL) {
    return kube_config_no_memory(err);
  }
  enum kube_config_found found = kube_config_read(path, &text, NULL, &problem);
  const char *data = text.data != NULL ? text.data : "";
  size_t len = text.len;
  bool ok = found == KUBE_CONFIG_READ || found == KUBE_CONFIG_ABSENT;
  if (found == KUBE_CONFIG_NO_MEMORY) {
    kube_config_no_memory(err);
  } else if (!ok) {
    bad_read(err, path, problem);
  } else {
    aicr_trim(&data, &len);
    ok = len == 0 ? kube_config_copy(&c->ns, "default", err)
                  : set_namespace(c, aicr_quote(&q, path, strlen(path)), data,
                                  len, err);
  }
  aicr_buf_free(&text);
  aicr_free(path);
  return ok;
}
