/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/upgrade_head.h"

#include <string.h>
#include <strings.h>

#include "core/number.h"
#include "core/text.h"

static bool bad(struct aicr_error *err, const char *what)
{
  return aicr_fail(err, AICR_INTERNAL, "protocol",
                   "the answer to the WebSocket upgrade is not HTTP/1.1: %s",
                   what);
}

static bool is_digit(char c)
{
  return c >= '0' && c <= '9';
}

bool kube_upgrade_status_line(struct kube_upgrade_head *h, const char *line,
                              size_t len, struct aicr_error *err)
{
  static const char version[] = "HTTP/1.";
  struct aicr_quoted q;
  memset(h, 0, sizeof *h);
  bool ok = len >= 12 && memcmp(line, version, 7) == 0 &&
            (line[7] == '0' || line[7] == '1') && line[8] == ' ' &&
            line[9] >= '1' && line[9] <= '5' && is_digit(line[10]) &&
            is_digit(line[11]) && (len == 12 || line[12] == ' ');
  if (!ok) {
    return aicr_fail(err, AICR_INTERNAL, "protocol",
                     "the answer to the WebSocket upgrade is not HTTP/1.1, it "
                     "begins with %s",
                     aicr_quote(&q, line, len));
  }
  h->minor = line[7] - '0';
  h->http = 100 * (line[9] - '0') + 10 * (line[10] - '0') + (line[11] - '0');
  return true;
}

static bool is_token_char(char c)
{
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
         (c != '\0' && strchr("!#$%&'*+-.^_`|~", c) != NULL);
}

struct span {
  const char *data;
  size_t len;
};

static struct span trim_blanks(struct span s)
{
  while (s.len > 0 && (s.data[0] == ' ' || s.data[0] == '\t')) {
    s.data++;
    s.len--;
  }
  while (s.len > 0 && (s.data[s.len - 1] == ' ' || s.data[s.len - 1] == '\t')) {
    s.len--;
  }
  return s;
}

static bool equal(struct span s, const char *text)
{
  return s.len == strlen(text) && memcmp(s.data, text, s.len) == 0;
}

static bool equal_nocase(struct span s, const char *text)
{
  return s.len == strlen(text) && strncasecmp(s.data, text, s.len) == 0;
}

/* Is the word in a list with commas? */
static bool lists(struct span s, const char *word)
{
  while (s.len > 0) {
    const char *comma = memchr(s.data, ',', s.len);
    size_t n = comma == NULL ? s.len : (size_t)(comma - s.data);
    if (equal_nocase(trim_blanks((struct span){s.data, n}), word)) {
      return true;
    }
    n += comma != NULL;
    s.data += n;
    s.len -= n;
  }
  return false;
}

static bool take_length(struct kube_upgrade_head *h, struct span value,
                        struct aicr_error *err)
{
  int64_t n = 0;
  if (value.len == 0 || !is_digit(value.data[0]) ||
      !aicr_parse_int64(value.data, value.len, &n)) {
    return bad(err, "Content-Length is no number");
  }
  if (h->has_length && h->length != (uint64_t)n) {
    return bad(err, "Content-Length has two values");
  }
  h->has_length = true;
  h->length = (uint64_t)n;
  return true;
}

static void take_version(struct kube_upgrade_head *h, struct span value)
{
  h->protocols++;
  h->version = equal(value, "v5.channel.k8s.io")   ? 5
               : equal(value, "v4.channel.k8s.io") ? 4
                                                   : 0;
}

static void take_text(char *out, size_t size, struct span value)
{
  size_t n = value.len < size - 1 ? value.len : size - 1;
  memcpy(out, value.data, n);
  out[n] = '\0';
}

static bool take_field(struct kube_upgrade_head *h, const char *accept,
                       struct span name, struct span value,
                       struct aicr_error *err)
{
  if (equal_nocase(name, "Content-Length")) {
    return take_length(h, value, err);
  }
  if (equal_nocase(name, "Content-Type")) {
    take_text(h->content_type, sizeof h->content_type, value);
  } else if (equal_nocase(name, "Retry-After")) {
    take_text(h->retry_after, sizeof h->retry_after, value);
  } else if (equal_nocase(name, "Content-Encoding")) {
    h->encoded = h->encoded || !equal_nocase(value, "identity");
  } else if (equal_nocase(name, "Transfer-Encoding")) {
    h->codings++;
    h->chunked = equal_nocase(value, "chunked");
  } else if (equal_nocase(name, "Upgrade")) {
    h->upgrade = h->upgrade || lists(value, "websocket");
  } else if (equal_nocase(name, "Connection")) {
    h->connection = h->connection || lists(value, "upgrade");
  } else if (equal_nocase(name, "Sec-WebSocket-Extensions")) {
    h->extension = h->extension || value.len > 0;
  } else if (equal_nocase(name, "Sec-WebSocket-Accept")) {
    h->accepts++;
    h->accepted = equal(value, accept);
  } else if (equal_nocase(name, "Sec-WebSocket-Protocol")) {
    take_version(h, value);
  }
  return true;
}

bool kube_upgrade_field(struct kube_upgrade_head *h, const char *accept,
                        const char *line, size_t len, struct aicr_error *err)
{
  size_t n = 0;
  while (n < len && is_token_char(line[n])) {
    n++;
  }
  if (n == 0 || n == len || line[n] != ':') {
    return bad(err, "a line of the head is no header field");
  }
  for (size_t i = n; i < len; i++) {
    unsigned char c = (unsigned char)line[i];
    if ((c < 0x20 && c != '\t') || c == 0x7f) {
      return bad(err, "a header field has a control character");
    }
  }
  struct span value = {line + n + 1, len - n - 1};
  return take_field(h, accept, (struct span){line, n}, trim_blanks(value), err);
}

bool kube_upgrade_verify(const struct kube_upgrade_head *h,
                         struct aicr_error *err)
{
  const char *what = NULL;
  if (h->minor == 0 || !h->upgrade || !h->connection) {
    what = "HTTP 101 without \"Upgrade: websocket\" and \"Connection: "
           "Upgrade\" of HTTP/1.1";
  } else if (h->accepts != 1 || !h->accepted) {
    what = "Sec-WebSocket-Accept does not belong to our key";
  } else if (h->extension) {
    what = "an extension was chosen, none was offered";
  } else if (h->protocols != 1 || h->version == 0) {
    what = "the subprotocol is none of the offered v5.channel.k8s.io, "
           "v4.channel.k8s.io";
  }
  return what == NULL ||
         aicr_fail(err, AICR_INTERNAL, "protocol",
                   "the server did not upgrade to the WebSocket that was asked "
                   "for: %s",
                   what);
}
