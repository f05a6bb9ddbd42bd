/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_STATUS_FILES_H
#define SPEC_C_STATUS_FILES_H

#include "kube/status.h"

#include "rows.h"

/* The raw answers of a real API server, and answers as a backend gives them. */

#define SHAPES "spec/fixtures/kube/shapes"

struct http {
  int status;
  char content_type[128];
  char *text; /* the file */
  const char *body;
  size_t len;
};

static inline void read_http(const char *name, struct http *h)
{
  char path[256];
  snprintf(path, sizeof path, SHAPES "/%s.http", name);
  FILE *f = fopen(path, "rb");
  assert_non_null(f);
  h->text = calloc(1, 1 << 17);
  assert_non_null(h->text);
  size_t n = fread(h->text, 1, (1 << 17) - 1, f);
  fclose(f);
  h->status =
      100 * (h->text[9] - 48) + 10 * (h->text[10] - 48) + h->text[11] - 48;
  char *end = strstr(h->text, "\r\n\r\n");
  size_t gap = 4;
  if (end == NULL) {
    end = strstr(h->text, "\n\n");
    gap = 2;
  }
  h->body = end == NULL ? h->text + n : end + gap;
  h->len = n - (size_t)(h->body - h->text);
  h->content_type[0] = '\0';
  char *type = strstr(h->text, "Content-Type: ");
  if (type != NULL && type < h->body) {
    type += strlen("Content-Type: ");
    snprintf(h->content_type, sizeof h->content_type, "%.*s",
             (int)strcspn(type, "\r\n"), type);
  }
}

static inline void fill(struct kube_answer *a, int http, const char *type,
                        const char *body, size_t len)
{
  memset(a, 0, sizeof *a);
  a->http = http;
  a->attempts = 3;
  snprintf(a->content_type, sizeof a->content_type, "%s", type);
  aicr_buf_init(&a->body, 1 << 22);
  assert_true(aicr_buf_add(&a->body, body, len));
}

static const struct kube_failure facts = {
    .verb = "get", .resource = "things.example.org", .ns = "a", .name = "x"};

#endif
