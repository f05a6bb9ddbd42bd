/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config_proxy.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "core/number.h"
#include "core/text.h"
#include "kube/config_fields.h"
#include "kube/config_pod.h"
#include "kube/config_read.h"
#include "kube/config_url.h"

struct span {
  const char *text;
  size_t len;
};

/* An IPv4 address is the IPv6 one that stands for it. */
struct address {
  unsigned char bytes[16];
  bool v4;
};

struct server {
  struct span host, port;
  bool is_address;
  struct address address;
};

static struct span span_of(const char *text)
{
  return (struct span){text, strlen(text)};
}

static bool same(struct span a, struct span b)
{
  return a.len == b.len && strncasecmp(a.text, b.text, a.len) == 0;
}

static struct span from(struct span s, size_t at)
{
  return (struct span){s.text + at, s.len - at};
}

static bool read_address(struct span s, struct address *a)
{
  static const unsigned char mapped[12] = {[10] = 0xff, [11] = 0xff};
  char copy[INET6_ADDRSTRLEN];
  if (s.len >= sizeof copy) {
    return false;
  }
  memcpy(copy, s.text, s.len);
  copy[s.len] = '\0';
  memcpy(a->bytes, mapped, sizeof mapped);
  if (inet_pton(AF_INET, copy, a->bytes + sizeof mapped) == 1) {
    a->v4 = true;
    return true;
  }
  if (inet_pton(AF_INET6, copy, a->bytes) != 1) {
    return false;
  }
  a->v4 = memcmp(a->bytes, mapped, sizeof mapped) == 0;
  return true;
}

static bool is_loopback(const struct address *a)
{
  static const unsigned char one[16] = {[15] = 1};
  return a->v4 ? a->bytes[12] == 127 : memcmp(a->bytes, one, sizeof one) == 0;
}

/* Takes "host:port", "[v6]:port" or, with port "", what has none. */
static void take_port(struct span s, struct span *host, struct span *port)
{
  const char *close = s.text[0] == '[' ? memchr(s.text, ']', s.len) : NULL;
  size_t before = close == NULL ? 0 : (size_t)(close - s.text);
  const char *colon = memchr(s.text + before, ':', s.len - before);
  size_t at = colon == NULL ? s.len : (size_t)(colon - s.text);
  *port = (struct span){"", 0};
  if (colon != NULL) {
    *port = from(s, at + 1);
    if (memchr(port->text, ':', port->len) != NULL) { /* an IPv6 address */
      *port = (struct span){"", 0};
      at = s.len;
    }
  }
  *host = (struct span){s.text, at};
  if (close != NULL && at == before + 1) {
    *host = (struct span){s.text + 1, at - 2};
  }
}

/* kube_config_server_url() wrote it. */
static void take_server(const char *url, struct server *s)
{
  const char *authority = strstr(url, "://") + 3;
  struct span all = {authority, strcspn(authority, "/")};
  take_port(all, &s->host, &s->port);
  if (s->port.len == 0) {
    s->port = span_of(strncmp(url, "https", 5) == 0 ? "443" : "80");
  }
  s->is_address = read_address(s->host, &s->address);
}

static bool in_network(const struct address *a, const struct address *net,
                       size_t bits)
{
  size_t bytes = bits / 8, rest = bits % 8;
  return a->v4 == net->v4 && memcmp(a->bytes, net->bytes, bytes) == 0 &&
         (rest == 0 ||
          ((a->bytes[bytes] ^ net->bytes[bytes]) >> (8 - rest)) == 0);
}

/* True when the entry is a network; *past: the server is in it. */
static bool try_network(struct span entry, const struct server *s, bool *past)
{
  struct address net;
  int64_t bits = 0;
  const char *slash = memchr(entry.text, '/', entry.len);
  if (slash == NULL) {
    return false;
  }
  struct span base = {entry.text, (size_t)(slash - entry.text)};
  struct span number = from(entry, base.len + 1);
  if (!read_address(base, &net) ||
      !aicr_parse_int64(number.text, number.len, &bits) || bits < 0 ||
      bits > (net.v4 ? 32 : 128)) {
    return false;
  }
  *past = s->is_address &&
          in_network(&s->address, &net, (size_t)bits + (net.v4 ? 96 : 0));
  return true;
}

/* "domain" means itself and what is below it, ".domain" and "*.domain" only
 * that. */
static bool is_below(struct span host, struct span domain)
{
  if (domain.len >= 2 && domain.text[0] == '*' && domain.text[1] == '.') {
    domain = from(domain, 1);
  }
  bool dotted = domain.text[0] == '.';
  if (!dotted && same(host, domain)) {
    return true;
  }
  size_t tail = domain.len + (dotted ? 0 : 1);
  if (host.len < tail || host.text[host.len - tail] != '.') {
    return false;
  }
  return same(from(host, host.len - domain.len), domain);
}

static bool goes_past(struct span entry, const struct server *s)
{
  struct span host, port;
  struct address address;
  bool past = false;
  aicr_trim(&entry.text, &entry.len);
  if (entry.len == 0) {
    return false;
  }
  if (same(entry, span_of("*"))) {
    return true;
  }
  if (try_network(entry, s, &past)) {
    return past;
  }
  take_port(entry, &host, &port);
  if (host.len == 0 || (port.len > 0 && !same(port, s->port))) {
    return false;
  }
  if (read_address(host, &address)) {
    return s->is_address &&
           memcmp(address.bytes, s->address.bytes, sizeof address.bytes) == 0;
  }
  return !s->is_address && is_below(s->host, host);
}

static bool is_past(const char *no_proxy, const struct server *s)
{
  if (same(s->host, span_of("localhost")) ||
      (s->is_address && is_loopback(&s->address))) {
    return true;
  }
  for (const char *p = no_proxy; *p != '\0';) {
    size_t len = strcspn(p, ",");
    if (goes_past((struct span){p, len}, s)) {
      return true;
    }
    p += len + (p[len] == ',' ? 1 : 0);
  }
  return false;
}

/* The first of two names that is set. */
static const char *first_of(const struct kube_config_options *o,
                            const char *const names[2], const char **name)
{
  *name = names[kube_config_env(o, names[0])[0] == '\0'];
  return kube_config_env(o, *name);
}

bool kube_config_take_env_proxy(const struct kube_config_options *o,
                                struct kube_config *c, struct aicr_error *err)
{
  static const char *const https[] = {"HTTPS_PROXY", "https_proxy"};
  static const char *const http[] = {"HTTP_PROXY", "http_proxy"};
  static const char *const past[] = {"NO_PROXY", "no_proxy"};
  const char *name = NULL, *ignored = NULL;
  bool tls = strncmp(c->server, "https:", 6) == 0;
  const char *value = first_of(o, tls ? https : http, &name);
  struct server server;
  struct aicr_buf url;
  take_server(c->server, &server);
  if (c->proxy != NULL || value[0] == '\0' ||
      is_past(first_of(o, past, &ignored), &server)) {
    return true;
  }
  aicr_buf_init(&url, strlen(value) + 16);
  aicr_buf_adds(&url, strstr(value, "://") == NULL ? "http://" : "");
  aicr_buf_adds(&url, value);
  c->env_proxy = url.data;
  if (url.failed) {
    return kube_config_no_memory(err);
  }
  const char *problem = kube_config_env_proxy_problem(url.data);
  return problem == NULL ||
         aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                   "the environment's %s %s; correct it, or go past it: "
                   "NO_PROXY=%.*s",
                   name, problem, (int)server.host.len, server.host.text);
}
