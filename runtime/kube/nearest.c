/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/nearest.h"

#include <ctype.h>
#include <string.h>

#include "core/text.h"
#include "kube/fixed_text.h"

#define LIMIT 2u /* edits, as for all that is misspelt */

void kube_full_name(const struct kube_resource *r, char *out, size_t size)
{
  kube_set_text(out, size, r->plural[0] == '\0' ? r->kind : r->plural);
  if (r->group[0] != '\0') {
    size_t n = strlen(out);
    kube_set_text(out + n, size - n, ".");
    kube_set_text(out + n + 1, size - n - 1, r->group);
  }
}

static void lower(char *out, size_t size, const char *text)
{
  size_t n = 0;
  for (; text[n] != '\0' && n + 1 < size; n++) {
    out[n] = (char)tolower((unsigned char)text[n]);
  }
  out[n] = '\0';
}

void kube_nearest_begin(struct kube_nearest *n, const struct kube_resource *r)
{
  char name[sizeof n->wanted];
  *n = (struct kube_nearest){
      .of = r, .with_group = r->group[0] != '\0', .best = LIMIT + 1};
  kube_full_name(r, name, sizeof name);
  lower(n->wanted, sizeof n->wanted, name);
}

static void consider(struct kube_nearest *n, const struct kube_resource *r,
                     const char *name)
{
  unsigned d = aicr_edit_distance(n->wanted, name, LIMIT);
  if (d < n->best && d < (strlen(n->wanted) + 1) / 2) {
    n->best = d;
    n->found = r;
  }
}

void kube_nearest_consider(struct kube_nearest *n,
                           const struct kube_resource *r)
{
  char name[sizeof n->wanted];
  if (n->with_group) {
    kube_full_name(r, name, sizeof name);
    consider(n, r, name);
    if (n->found == NULL && n->of->plural[0] != '\0' &&
        strcmp(r->plural, n->of->plural) == 0) {
      n->found = r; /* of another group */
    }
    return;
  }
  consider(n, r, r->plural);
  lower(name, sizeof name, r->kind);
  consider(n, r, name);
}

/* Served, but not in the version that was named? */
static bool is_other_version(const struct kube_nearest *n)
{
  return n->of->version[0] != '\0' && n->found != NULL &&
         strcmp(n->found->plural, n->of->plural) == 0 &&
         strcmp(n->found->group, n->of->group) == 0;
}

bool kube_fail_not_served(const struct kube_nearest *n, bool bare,
                          struct aicr_error *err)
{
  char name[KUBE_NAME_MAX + 140], near[KUBE_NAME_MAX + 140] = "";
  struct aicr_quoted q;
  bool meant = n->found != NULL;
  kube_full_name(n->of, name, sizeof name);
  if (is_other_version(n)) {
    return aicr_verdict(err, AICR_NOT_FOUND, "api-not-served",
                        "%s: the API is not served in version %s (discovery "
                        "lacks it), but in %s",
                        name, n->of->version, n->found->version);
  }
  if (meant) {
    kube_full_name(n->found, near, sizeof near);
  }
  const char *quoted = aicr_quote(&q, near, strlen(near));
  if (bare && meant && n->of->plural[0] != '\0') {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "no group of the server has a resource %s, and without "
                     "its group nobody knows which API is meant; did you mean "
                     "%s?",
                     name, quoted);
  }
  return aicr_verdict(err, AICR_NOT_FOUND, "api-not-served",
                      "%s: the API is not served (discovery lacks it%s)%s%s%s",
                      name, bare ? " in all groups" : "",
                      meant ? "; did you mean " : "", meant ? quoted : "",
                      meant ? "?" : "");
}
