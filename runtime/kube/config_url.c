/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config_url.h"

#include <arpa/inet.h>
#include <string.h>
#include <strings.h>

#include "core/number.h"

#define HOST_MAX 253
#define URL_MAX  2048

struct url {
  const char *scheme, *authority, *path, *end; /* end: of the path */
  size_t scheme_len;
};

static bool is_alnum(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c >= '0' && c <= '9');
}

static bool is_hex(char c)
{
  return (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F') ||
         (c >= '0' && c <= '9');
}

bool kube_config_is_dns_label(const char *text)
{
  size_t len = strlen(text);
  for (size_t i = 0; i < len; i++) {
    bool dash = text[i] == '-' && i > 0 && i + 1 < len;
    if (!dash && (!is_alnum(text[i]) || (text[i] >= 'A' && text[i] <= 'Z'))) {
      return false;
    }
  }
  return len >= 1 && len <= 63;
}

static bool is_ipv6(const char *text, size_t len)
{
  char copy[INET6_ADDRSTRLEN];
  struct in6_addr addr;
  if (len >= sizeof copy) {
    return false;
  }
  memcpy(copy, text, len);
  copy[len] = '\0';
  return inet_pton(AF_INET6, copy, &addr) == 1;
}

static bool is_name(const char *text, size_t len)
{
  for (size_t i = 0; i < len; i++) {
    bool inner = text[i] == '-' || text[i] == '_' ||
                 (text[i] == '.' && i > 0 && text[i - 1] != '.');
    if (!is_alnum(text[i]) && !inner) {
      return false;
    }
  }
  return len >= 1 && len <= HOST_MAX;
}

bool kube_config_is_host(const char *text)
{
  size_t len = strlen(text);
  return is_name(text, len) || is_ipv6(text, len);
}

bool kube_config_url_shows(const char *text)
{
  return strpbrk(text, "@?#") == NULL;
}

static const char *split(const char *text, struct url *u)
{
  const char *colon = strstr(text, "://");
  if (strlen(text) > URL_MAX) {
    return "is longer than 2048 bytes";
  }
  u->scheme = text;
  u->scheme_len = colon != NULL ? (size_t)(colon - text) : 0;
  if (u->scheme_len == 0 || strcspn(text, "/?#@[") < u->scheme_len) {
    return "has no scheme: write https://HOST:PORT";
  }
  u->authority = colon + 3;
  u->path = u->authority + strcspn(u->authority, "/?#");
  u->end = u->path + strcspn(u->path, "?#");
  return NULL;
}

static bool scheme_is(const struct url *u, const char *name)
{
  return strlen(name) == u->scheme_len &&
         strncasecmp(u->scheme, name, u->scheme_len) == 0;
}

static const char *check_port(const char *p, const char *end)
{
  int64_t port;
  if (p == end) {
    return NULL;
  }
  if (*p != ':') {
    return "has no valid host";
  }
  if (end - p < 2 || !aicr_parse_int64(p + 1, (size_t)(end - p) - 1, &port) ||
      port < 1 || port > 65535) {
    return "has no valid port";
  }
  return NULL;
}

static const char *check_host(const char *p, const char *end)
{
  const char *close = memchr(p, ']', (size_t)(end - p));
  if (p < end && *p == '[') {
    return close != NULL && is_ipv6(p + 1, (size_t)(close - p) - 1)
               ? check_port(close + 1, end)
               : "has no valid IPv6 address in its brackets";
  }
  const char *colon = memchr(p, ':', (size_t)(end - p));
  const char *stop = colon != NULL ? colon : end;
  return is_name(p, (size_t)(stop - p)) ? check_port(stop, end)
                                        : "has no valid host";
}

/* An empty segment would turn a request into another one (0.2). */
static const char *check_path(const char *p, const char *end)
{
  while (p < end) {
    const char *next = memchr(p + 1, '/', (size_t)(end - p) - 1);
    const char *stop = next != NULL ? next : end;
    size_t len = (size_t)(stop - p) - 1;
    if (len == 0) {
      return "has an empty path segment";
    }
    if ((len == 1 && p[1] == '.') || (len == 2 && p[1] == '.' && p[2] == '.')) {
      return "has a path segment of dots";
    }
    for (const char *c = p + 1; c < stop; c++) {
      bool escape = *c == '%' && stop - c > 2 && is_hex(c[1]) && is_hex(c[2]);
      if (!is_alnum(*c) && !escape && strchr("-._~!$&'()*+,;=:@", *c) == NULL) {
        return "has a character in its path that has to be escaped";
      }
    }
    p = stop;
  }
  return NULL;
}

bool kube_config_server_url(const char *text, struct aicr_buf *out,
                            bool *dropped, const char **problem)
{
  struct url u;
  *dropped = false;
  *problem = split(text, &u);
  if (*problem != NULL) {
    return false;
  }
  bool https = scheme_is(&u, "https");
  if (!https && !scheme_is(&u, "http")) {
    *problem = "is neither https:// nor http://";
    return false;
  }
  *dropped = *u.end != '\0';
  while (u.end > u.path && u.end[-1] == '/') {
    u.end--;
  }
  if (memchr(u.authority, '@', (size_t)(u.path - u.authority)) != NULL) {
    *problem = "holds a user name or password: set them in the user's entry";
    return false;
  }
  *problem = check_host(u.authority, u.path);
  *problem = *problem != NULL ? *problem : check_path(u.path, u.end);
  return *problem == NULL &&
         aicr_buf_adds(out, https ? "https://" : "http://") &&
         aicr_buf_add(out, u.authority, (size_t)(u.end - u.authority));
}

static const char *proxy_problem(const char *text, bool remote_names)
{
  struct url u;
  const char *problem = split(text, &u);
  if (problem != NULL) {
    return "has no scheme: write http://HOST:PORT, https:// or socks5://";
  }
  if (!scheme_is(&u, "http") && !scheme_is(&u, "https") &&
      !scheme_is(&u, "socks5") && !(remote_names && scheme_is(&u, "socks5h"))) {
    return "is neither http://, https:// nor socks5://";
  }
  for (const char *p = text; *p != '\0'; p++) {
    if ((unsigned char)*p <= ' ' || (unsigned char)*p >= 0x7f) {
      return "has a character that has to be escaped";
    }
  }
  const char *host = u.authority;
  for (const char *p = u.authority; p < u.path; p++) {
    host = *p == '@' ? p + 1 : host;
  }
  return check_host(host, u.path);
}

const char *kube_config_proxy_problem(const char *text)
{
  return proxy_problem(text, false);
}

const char *kube_config_env_proxy_problem(const char *text)
{
  return proxy_problem(text, true);
}
