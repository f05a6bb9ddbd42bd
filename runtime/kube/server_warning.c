/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/server_warning.h"

#include <string.h>
#include <strings.h>

#include "kube/fixed_text.h"

#define RAW_MAX 4096 /* bytes of a text before it is made printable */

struct rest {
  const char *data;
  size_t len;
};

void kube_server_warnings_free(struct kube_server_warnings *w)
{
  for (size_t i = 0; i < w->count; i++) {
    aicr_free(w->texts[i]);
  }
  memset(w, 0, sizeof *w);
}

static void add(struct kube_server_warnings *w, const char *raw, size_t len)
{
  char text[KUBE_WARNING_TEXT_MAX];
  kube_plain_text(text, sizeof text, raw, len);
  if (text[0] == '\0') {
    return;
  }
  for (size_t i = 0; i < w->count; i++) {
    if (strcmp(w->texts[i], text) == 0) {
      return;
    }
  }
  char *copy =
      w->count == KUBE_WARNINGS_MAX ? NULL : aicr_strndup(text, strlen(text));
  if (copy == NULL) {
    w->full = true;
  } else {
    w->texts[w->count++] = copy;
  }
}

static void step(struct rest *r, size_t n)
{
  r->data += n;
  r->len -= n;
}

static void skip(struct rest *r, const char *chars)
{
  while (r->len > 0 && r->data[0] != '\0' && strchr(chars, r->data[0])) {
    step(r, 1);
  }
}

/* A quoted text without its quotes and backslashes; of a long one what fits.
 * False where there is none. */
static bool take_quoted(struct rest *r, char out[RAW_MAX], size_t *len)
{
  *len = 0;
  if (r->len == 0 || r->data[0] != '"') {
    return false;
  }
  for (step(r, 1); r->len > 0 && r->data[0] != '"'; step(r, 1)) {
    if (r->data[0] == '\\' && r->len > 1) {
      step(r, 1);
    }
    if (*len < RAW_MAX) {
      out[(*len)++] = r->data[0];
    }
  }
  if (r->len == 0) {
    return false;
  }
  step(r, 1);
  return true;
}

/* "299", then who says it. */
static bool take_code(struct rest *r, bool *is_servers)
{
  *is_servers = r->len > 4 && memcmp(r->data, "299 ", 4) == 0;
  size_t digits = 0;
  while (digits < r->len && r->data[digits] >= '0' && r->data[digits] <= '9') {
    digits++;
  }
  if (digits != 3 || r->len < 5 || r->data[3] != ' ') {
    return false;
  }
  step(r, 4);
  while (r->len > 0 && r->data[0] != ' ') {
    step(r, 1);
  }
  skip(r, " ");
  return true;
}

void kube_server_warnings_take(struct kube_server_warnings *w, const char *line,
                               size_t len)
{
  static const char name[] = "warning:";
  char text[RAW_MAX], date[RAW_MAX];
  size_t text_len = 0, ignored = 0;
  bool is_servers = false;
  if (len < sizeof name || strncasecmp(line, name, sizeof name - 1) != 0) {
    return;
  }
  struct rest r = {line + sizeof name - 1, len - (sizeof name - 1)};
  for (skip(&r, " \t,\r\n"); take_code(&r, &is_servers); skip(&r, " \t,\r\n")) {
    if (!take_quoted(&r, text, &text_len)) {
      return;
    }
    if (is_servers) {
      add(w, text, text_len);
    }
    skip(&r, " \t");
    take_quoted(&r, date, &ignored);
  }
}

void kube_server_warnings_tell(struct kube_server_warnings *w,
                               struct aicr_buf *out)
{
  for (; w->told < w->count; w->told++) {
    aicr_buf_addf(out, "the API server says: %s\n", w->texts[w->told]);
  }
  if (w->full && !w->full_told) {
    aicr_buf_adds(out, "the API server says more, which is left out\n");
    w->full_told = true;
  }
}
