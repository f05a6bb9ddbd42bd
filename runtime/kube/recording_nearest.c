/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <string.h>

#include "core/text.h"
#include "kube/fixed_text.h"
#include "kube/recording_resolve.h"

#define LIMIT 2u /* edits, as for all that is misspelt */

struct search {
  char wanted[KUBE_NAME_MAX + 80];
  bool with_group;
  unsigned best;
  const struct kube_resource *found;
};

void kube_rec_full_name(const struct kube_resource *r, char *out, size_t size)
{
  kube_set_text(out, size, r->plural);
  if (r->group[0] != '\0') {
    size_t n = strlen(out);
    kube_set_text(out + n, size - n, ".");
    kube_set_text(out + n + 1, size - n - 1, r->group);
  }
}

static void consider(struct search *s, const struct kube_resource *r,
                     const char *name)
{
  unsigned d = aicr_edit_distance(s->wanted, name, LIMIT);
  if (d < s->best && d < (strlen(s->wanted) + 1) / 2) {
    s->best = d;
    s->found = r;
  }
}

/* By the plural and the singular, which is the kind in lower case; a name with
 * a group by both together. */
static void consider_resource(struct search *s, const struct kube_resource *r,
                              const char *plural)
{
  char name[sizeof s->wanted];
  if (s->with_group) {
    kube_rec_full_name(r, name, sizeof name);
    consider(s, r, name);
    if (s->found == NULL && strcmp(r->plural, plural) == 0) {
      s->found = r; /* of another group */
    }
    return;
  }
  consider(s, r, r->plural);
  size_t n = 0;
  for (; r->kind[n] != '\0' && n + 1 < sizeof name; n++) {
    name[n] = (char)tolower((unsigned char)r->kind[n]);
  }
  name[n] = '\0';
  consider(s, r, name);
}

bool kube_rec_nearest(const struct kube_rec_store *store,
                      const struct kube_resource *r, char *out, size_t size)
{
  struct search s = {.with_group = r->group[0] != '\0', .best = LIMIT + 1};
  kube_rec_full_name(r, s.wanted, sizeof s.wanted);
  for (size_t i = 0; i < store->discovery.count; i++) {
    consider_resource(&s, &store->discovery.items[i].r, r->plural);
  }
  for (size_t i = 0; i < store->type_count; i++) {
    if (store->types[i].answered) {
      consider_resource(&s, &store->types[i].r, r->plural);
    }
  }
  if (s.found == NULL) {
    return false;
  }
  kube_rec_full_name(s.found, out, size);
  return true;
}
