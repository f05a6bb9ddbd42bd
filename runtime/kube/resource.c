/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/resource.h"

#include <string.h>

#include "core/text.h"
#include "kube/url.h"

#define LABEL_MAX 63

static bool lower_or_digit(char c)
{
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

/* An RFC 1123 label: [a-z0-9]([-a-z0-9]*[a-z0-9])?, at most 63 bytes. */
static bool is_label(const char *text, size_t len)
{
  if (len == 0 || len > LABEL_MAX) {
    return false;
  }
  for (size_t i = 0; i < len; i++) {
    if (!lower_or_digit(text[i]) && text[i] != '-') {
      return false;
    }
  }
  return text[0] != '-' && text[len - 1] != '-';
}

static bool is_subdomain(const char *text, size_t len)
{
  if (len == 0 || len > KUBE_NAME_MAX) {
    return false;
  }
  size_t begin = 0;
  for (size_t i = 0; i <= len; i++) {
    if (i < len && text[i] != '.') {
      continue;
    }
    if (!is_label(text + begin, i - begin)) {
      return false;
    }
    begin = i + 1;
  }
  return true;
}

/* v1, v2beta1, v1alpha2: what tells a version from a group's first part. */
static bool is_version(const char *text, size_t len)
{
  size_t i = 1;
  if (len < 2 || len > LABEL_MAX || text[0] != 'v') {
    return false;
  }
  while (i < len && text[i] >= '0' && text[i] <= '9') {
    i++;
  }
  if (i == 1 || i == len) {
    return i == len && i > 1;
  }
  size_t word = 0;
  if (len - i > 5 && memcmp(text + i, "alpha", 5) == 0) {
    word = 5;
  } else if (len - i > 4 && memcmp(text + i, "beta", 4) == 0) {
    word = 4;
  }
  if (word == 0) {
    return false;
  }
  for (i += word; i < len; i++) {
    if (text[i] < '0' || text[i] > '9') {
      return false;
    }
  }
  return true;
}

static void copy(char *out, const char *text, size_t len)
{
  memcpy(out, text, len);
  out[len] = '\0';
}

bool kube_resource_name(const char *text, size_t len, struct kube_resource *out,
                        struct aicr_error *err)
{
  struct aicr_quoted q;
  memset(out, 0, sizeof *out);
  const char *dot = len == 0 ? NULL : memchr(text, '.', len);
  size_t plural_len = dot == NULL ? len : (size_t)(dot - text);
  if (!is_label(text, plural_len)) {
    goto bad;
  }
  copy(out->plural, text, plural_len);
  if (dot == NULL) {
    return true;
  }
  const char *rest = dot + 1;
  size_t rest_len = len - plural_len - 1;
  dot = rest_len == 0 ? NULL : memchr(rest, '.', rest_len);
  size_t part_len = dot == NULL ? rest_len : (size_t)(dot - rest);
  if (is_version(rest, part_len)) {
    copy(out->version, rest, part_len);
    if (dot == NULL) {
      return true;
    }
    rest = dot + 1;
    rest_len -= part_len + 1;
  }
  if (!is_subdomain(rest, rest_len)) {
    goto bad;
  }
  copy(out->group, rest, rest_len);
  return true;
bad:
  return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                   "bad resource name %s: expected a name such as pods, "
                   "networks.networking.gke.io or "
                   "networks.v1.networking.gke.io",
                   aicr_quote(&q, text, len));
}

/* What the server itself refuses in a path segment, and white space: nothing
 * that ends a request line or opens another segment may come from a check. */
static bool check_name(const char *what, const char *name,
                       struct aicr_error *err)
{
  struct aicr_quoted q;
  size_t len = strlen(name);
  const char *why = NULL;
  if (len == 0) {
    why = "it is empty";
  } else if (len > KUBE_NAME_MAX) {
    why = "it is longer than 253 bytes";
  } else if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) {
    why = "it is a path step";
  } else if (!aicr_utf8_valid(name, len)) {
    why = "it is not UTF-8";
  }
  for (size_t i = 0; why == NULL && i < len; i++) {
    unsigned char c = (unsigned char)name[i];
    if (c == '/' || c == '%' || c == '\\') {
      why = "it holds '/', '%' or '\\'";
    } else if (c <= 0x20 || c == 0x7f) {
      why = "it holds white space or a control character";
    }
  }
  return why == NULL ||
         aicr_fail(err, AICR_INVALID_REQUEST, "bad-request", "bad %s %s: %s",
                   what, aicr_quote(&q, name, len), why);
}

static bool check_resource(const struct kube_resource *r,
                           struct aicr_error *err)
{
  const char *what = NULL, *text = NULL;
  if (r->group[0] != '\0' && !is_subdomain(r->group, strlen(r->group))) {
    what = "API group";
    text = r->group;
  } else if (!is_label(r->version, strlen(r->version))) {
    what = "API version";
    text = r->version;
  } else if (!is_label(r->plural, strlen(r->plural))) {
    what = "resource";
    text = r->plural;
  }
  struct aicr_quoted q;
  return what == NULL ||
         aicr_fail(err, AICR_INVALID_REQUEST, "bad-request", "bad %s %s", what,
                   aicr_quote(&q, text, strlen(text)));
}

static bool check_scope(const struct kube_resource *r, const char *ns,
                        const char *name, struct aicr_error *err)
{
  struct aicr_quoted q;
  if (ns == NULL) {
    return !r->namespaced || name == NULL ||
           aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "%s need a namespace to get one by its name", r->plural);
  }
  size_t len = strlen(ns);
  if (!is_label(ns, len)) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "bad namespace %s", aicr_quote(&q, ns, len));
  }
  return r->namespaced ||
         aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                   "%s belong to the cluster, not to a namespace: leave out %s",
                   r->plural, aicr_quote(&q, ns, len));
}

static bool check_subresource(const char *name, const char *subresource,
                              struct aicr_error *err)
{
  struct aicr_quoted q;
  if (subresource == NULL) {
    return true;
  }
  size_t len = strlen(subresource);
  if (!is_label(subresource, len)) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "bad subresource %s", aicr_quote(&q, subresource, len));
  }
  return name != NULL || aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                                   "subresource %s needs a name", subresource);
}

static void add_segment(struct aicr_buf *out, const char *text)
{
  aicr_buf_addc(out, '/');
  kube_url_escape(out, text, strlen(text));
}

bool kube_resource_path(const struct kube_resource *r, const char *ns,
                        const char *name, const char *subresource,
                        struct aicr_buf *out, struct aicr_error *err)
{
  if (!check_resource(r, err) || !check_scope(r, ns, name, err) ||
      (name != NULL && !check_name("name", name, err)) ||
      !check_subresource(name, subresource, err)) {
    return false;
  }
  if (r->group[0] == '\0') {
    aicr_buf_adds(out, "/api");
  } else {
    aicr_buf_adds(out, "/apis");
    add_segment(out, r->group);
  }
  add_segment(out, r->version);
  if (ns != NULL) {
    aicr_buf_adds(out, "/namespaces");
    add_segment(out, ns);
  }
  add_segment(out, r->plural);
  if (name != NULL) {
    add_segment(out, name);
  }
  if (subresource != NULL) {
    add_segment(out, subresource);
  }
  return !out->failed ||
         aicr_fail(err, AICR_INTERNAL, "memory", "no memory for a path");
}
