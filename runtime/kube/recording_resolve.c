/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_resolve.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/fixed_text.h"

/* Does a name mean this recorded resource? The built-in table has its other
 * names. */
static bool means_type(const struct kube_rec_type *t, const char *name)
{
  if (strcmp(t->r.plural, name) == 0) {
    return true;
  }
  const struct kube_resource *b = kube_builtin_by_name(t->r.group, name);
  return b != NULL && strcmp(b->plural, t->r.plural) == 0;
}

#define GROUPS_MAX 8

struct groups {
  const char *names[GROUPS_MAX];
  size_t count;
};

static void add_group(struct groups *g, const char *group)
{
  for (size_t i = 0; i < g->count; i++) {
    if (strcmp(g->names[i], group) == 0) {
      return;
    }
  }
  if (g->count < GROUPS_MAX) {
    g->names[g->count++] = group;
  }
}

static bool fail_ambiguous(const char *name, const struct groups *g,
                           struct aicr_error *err)
{
  char list[GROUPS_MAX * (KUBE_NAME_MAX + 80)] = "";
  size_t len = 0;
  for (size_t i = 0; i < g->count && len < sizeof list; i++) {
    int n = snprintf(list + len, sizeof list - len, "%s%s.%s",
                     i == 0 ? "" : ", ", name, g->names[i]);
    len += n < 0 ? 0 : (size_t)n;
  }
  return aicr_fail(err, AICR_INVALID_REQUEST, "ambiguous",
                   "%s is served by several groups: write one of %s", name,
                   list);
}

/* The group of a name without one: core before all, else the only one. */
static bool choose_group(const struct kube_rec_store *s,
                         struct kube_resource *r, struct aicr_error *err)
{
  struct groups found = {0};
  for (size_t i = 0; i < s->discovery.count; i++) {
    if (kube_served_means(&s->discovery.items[i], r->plural)) {
      add_group(&found, s->discovery.items[i].r.group);
    }
  }
  for (size_t i = 0; i < s->type_count; i++) {
    if (means_type(&s->types[i], r->plural)) {
      add_group(&found, s->types[i].r.group);
    }
  }
  for (size_t i = 0; i < found.count; i++) {
    if (found.names[i][0] == '\0') {
      return true;
    }
  }
  const struct kube_resource *b = kube_builtin_by_name(NULL, r->plural);
  if (b != NULL && b->group[0] == '\0') {
    return true;
  }
  if (found.count > 1) {
    return fail_ambiguous(r->plural, &found, err);
  }
  if (found.count == 1) {
    kube_set_text(r->group, sizeof r->group, found.names[0]);
  } else if (b != NULL) {
    kube_set_text(r->group, sizeof r->group, b->group);
  }
  return true;
}

static void choose_plural(const struct kube_rec_store *s,
                          struct kube_resource *r)
{
  if (kube_rec_store_find(s, r->group, NULL, r->plural) != NULL ||
      kube_discovery_find(&s->discovery, r->group, NULL, r->plural) != NULL) {
    return;
  }
  for (size_t i = 0; i < s->discovery.count; i++) {
    const struct kube_served_resource *k = &s->discovery.items[i];
    if (strcmp(k->r.group, r->group) == 0 && kube_served_means(k, r->plural)) {
      memcpy(r->plural, k->r.plural, sizeof r->plural);
      return;
    }
  }
  const struct kube_resource *b = kube_builtin_by_name(r->group, r->plural);
  if (b != NULL) {
    memcpy(r->plural, b->plural, sizeof r->plural);
  }
}

/* The version of a name without one: the first of discovery that something
 * was recorded of, else what was recorded, else the first of discovery. */
static void choose_version(const struct kube_rec_store *s,
                           struct kube_resource *r)
{
  const struct kube_served_resource *first = NULL;
  for (size_t i = 0; i < s->discovery.count; i++) {
    const struct kube_served_resource *k = &s->discovery.items[i];
    if (strcmp(k->r.group, r->group) != 0 ||
        strcmp(k->r.plural, r->plural) != 0) {
      continue;
    }
    if (kube_rec_store_find(s, r->group, k->r.version, r->plural) != NULL) {
      memcpy(r->version, k->r.version, sizeof r->version);
      return;
    }
    first = first == NULL ? k : first;
  }
  const struct kube_rec_type *t =
      kube_rec_store_find(s, r->group, NULL, r->plural);
  const struct kube_resource *b = kube_builtin_by_name(r->group, r->plural);
  if (t != NULL) {
    memcpy(r->version, t->r.version, sizeof r->version);
  } else if (first != NULL) {
    memcpy(r->version, first->r.version, sizeof r->version);
  } else if (b != NULL) {
    memcpy(r->version, b->version, sizeof r->version);
  }
}

static const struct kube_served_resource *known(const struct kube_rec_store *s,
                                                const struct kube_resource *r,
                                                const char *version)
{
  return kube_discovery_find(&s->discovery, r->group, version, r->plural);
}

/* Was everything that the group (NULL: any) serves recorded? */
static bool is_covered(const struct kube_rec_store *s, const char *group)
{
  bool core = group == NULL || group[0] == '\0';
  bool others = group == NULL || group[0] != '\0';
  return (!core || s->has_core_discovery) &&
         (!others || s->has_group_discovery);
}

/* group NULL: it may be of any. */
static bool fail_unknown(const struct kube_rec_store *s, const char *group,
                         const struct kube_resource *r, struct aicr_error *err)
{
  char name[KUBE_NAME_MAX + 140], near[KUBE_NAME_MAX + 140];
  struct kube_nearest nearest;
  struct aicr_quoted q;
  kube_full_name(r, name, sizeof name);
  if (kube_discovery_is_dark(&s->discovery, group, r->version)) {
    return aicr_fail(err, AICR_INTERNAL, "discovery-incomplete",
                     "%s: the server of this API was down when it was "
                     "recorded",
                     name);
  }
  kube_rec_nearest(s, r, &nearest);
  if (is_covered(s, group)) {
    return kube_fail_not_served(&nearest, group == NULL, err);
  }
  if (nearest.found != NULL) {
    kube_full_name(nearest.found, near, sizeof near);
    return aicr_fail(err, AICR_INTERNAL, "not-recorded",
                     "%s was not recorded; did you mean %s?", name,
                     aicr_quote(&q, near, strlen(near)));
  }
  return aicr_fail(err, AICR_INTERNAL, "not-recorded",
                   "%s was not recorded; add it with: kubectl get %s -A -o "
                   "json",
                   name, name);
}

bool kube_rec_resolve(const struct kube_rec_store *s, struct kube_resource *r,
                      struct aicr_error *err)
{
  bool bare = r->group[0] == '\0' && r->version[0] == '\0';
  if (bare && !choose_group(s, r, err)) {
    return false;
  }
  choose_plural(s, r);
  bool any = r->version[0] == '\0';
  const struct kube_resource *b = kube_builtin_by_name(r->group, r->plural);
  const struct kube_served_resource *k = known(s, r, any ? NULL : r->version);
  const struct kube_rec_type *t =
      kube_rec_store_find(s, r->group, any ? NULL : r->version, r->plural);
  bool dark = kube_discovery_is_dark(&s->discovery, r->group, r->version);
  bool lacking = b == NULL || is_covered(s, r->group) || dark;
  if (k == NULL && t == NULL && lacking) {
    bool anywhere = bare && r->group[0] == '\0' && b == NULL;
    return fail_unknown(s, anywhere ? NULL : r->group, r, err);
  }
  if (any) {
    choose_version(s, r);
    k = known(s, r, r->version);
    t = kube_rec_store_find(s, r->group, r->version, r->plural);
  }
  const struct kube_resource *from = k != NULL ? &k->r : t != NULL ? &t->r : b;
  if (from == NULL) {
    return fail_unknown(s, r->group, r, err);
  }
  r->namespaced = from->namespaced;
  memcpy(r->kind, from->kind, sizeof r->kind);
  return true;
}

enum kube_served kube_rec_served(const struct kube_rec_store *s,
                                 const struct kube_resource *r)
{
  const struct kube_rec_type *t =
      kube_rec_store_find(s, r->group, r->version, r->plural);
  if (known(s, r, r->version) != NULL || (t != NULL && t->answered)) {
    return KUBE_SERVED_YES;
  }
  if (kube_discovery_is_dark(&s->discovery, r->group, r->version)) {
    return KUBE_SERVED_UNKNOWN;
  }
  if (is_covered(s, r->group) || (t != NULL && t->no_api)) {
    return KUBE_SERVED_NO;
  }
  return KUBE_SERVED_UNKNOWN;
}
