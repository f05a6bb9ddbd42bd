/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config_pem.h"

#include <string.h>

#define BEGIN "-----BEGIN "
#define END   "-----END "
#define CLOSE "-----"

struct span {
  const char *p, *end;
};

static bool skip_to(struct span *s, const char *word)
{
  size_t n = strlen(word);
  while ((size_t)(s->end - s->p) >= n) {
    if (memcmp(s->p, word, n) == 0) {
      s->p += n;
      return true;
    }
    s->p++;
  }
  return false;
}

/* The label behind BEGIN or END, up to the dashes on its line. */
static bool label(struct span *s, struct span *out)
{
  out->p = s->p;
  while (s->p < s->end && *s->p != '\n') {
    if (s->end - s->p >= 5 && memcmp(s->p, CLOSE, 5) == 0) {
      out->end = s->p;
      s->p += 5;
      return true;
    }
    s->p++;
  }
  return false;
}

static bool is(const struct span *s, const char *text)
{
  size_t n = strlen(text);
  return (size_t)(s->end - s->p) == n && memcmp(s->p, text, n) == 0;
}

static bool wanted(enum kube_pem kind, const struct span *name)
{
  if (kind == KUBE_PEM_CERTIFICATE) {
    return is(name, "CERTIFICATE") || is(name, "X509 CERTIFICATE") ||
           is(name, "TRUSTED CERTIFICATE");
  }
  return is(name, "PRIVATE KEY") || is(name, "RSA PRIVATE KEY") ||
         is(name, "EC PRIVATE KEY") || is(name, "DSA PRIVATE KEY");
}

/* Base64 and white space, and some of it. */
static bool body(const struct span *s)
{
  size_t digits = 0;
  for (const char *p = s->p; p < s->end; p++) {
    bool digit = (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z') ||
                 (*p >= '0' && *p <= '9') || *p == '+' || *p == '/' ||
                 *p == '=';
    if (!digit && *p != ' ' && *p != '\t' && *p != '\r' && *p != '\n') {
      return false;
    }
    digits += digit ? 1 : 0;
  }
  return digits >= 4;
}

static bool encrypted(const struct span *name, const struct span *text)
{
  struct span all = *text;
  return is(name, "ENCRYPTED PRIVATE KEY") ||
         skip_to(&all, "Proc-Type: 4,ENCRYPTED");
}

const char *kube_config_pem_problem(enum kube_pem kind, const char *data,
                                    size_t len)
{
  bool found = false;
  if (len == 0) {
    return "is empty";
  }
  struct span s = {data, data + len};
  if (memchr(data, '\0', len) != NULL) {
    return "is not PEM (is it DER?)";
  }
  while (skip_to(&s, BEGIN)) {
    struct span name, text, last;
    if (!label(&s, &name)) {
      return "has a broken BEGIN line";
    }
    text.p = s.p;
    if (!skip_to(&s, END)) {
      return "is cut off: an END line is missing";
    }
    text.end = s.p - strlen(END);
    if (!label(&s, &last) || last.end - last.p != name.end - name.p ||
        memcmp(last.p, name.p, (size_t)(name.end - name.p)) != 0) {
      return "has an END line that does not match its BEGIN line";
    }
    if (kind == KUBE_PEM_KEY && encrypted(&name, &text)) {
      return "is encrypted: give a key without a passphrase";
    }
    if (wanted(kind, &name)) {
      if (!body(&text)) {
        return "holds a block that is empty or not base64";
      }
      found = true;
    }
  }
  if (found) {
    return NULL;
  }
  return kind == KUBE_PEM_KEY ? "holds no private key in PEM form"
                              : "holds no certificate in PEM form";
}
