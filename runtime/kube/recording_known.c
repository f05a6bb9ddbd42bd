/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/fixed_text.h"
#include "kube/json_tree.h"
#include "kube/recording_store.h"

/* What a recording knows of resources: discovery documents, custom resource
 * definitions, and the plural of a kind where neither says it. */

#define VERSIONS_MAX 100

bool kube_rec_add_discovery(struct kube_rec_store *s, const char *text,
                            size_t len, bool *taken, struct aicr_error *err)
{
  cJSON *tree = kube_json_tree(text, len, err);
  const cJSON *items = kube_json_member(tree, "items"), *item = NULL;
  bool core = false;
  *taken = strcmp(kube_json_text(tree, "kind"), "APIGroupDiscoveryList") == 0 &&
           cJSON_IsArray(items);
  cJSON_ArrayForEach(item, items)
  {
    const cJSON *metadata = kube_json_member(item, "metadata");
    core = core || kube_json_text(metadata, "name")[0] == '\0';
  }
  if (*taken && core) {
    s->has_core_discovery = true;
  } else if (*taken) {
    s->has_group_discovery = true;
  }
  bool ok = tree != NULL &&
            (!*taken || kube_discovery_add_groups(&s->discovery, tree, err));
  cJSON_Delete(tree);
  return ok;
}

bool kube_rec_add_definition(struct kube_rec_store *s, const char *text,
                             size_t len, struct aicr_error *err)
{
  cJSON *tree = kube_json_tree(text, len, err);
  const cJSON *spec = kube_json_member(tree, "spec");
  bool ok = tree != NULL;
  if (cJSON_GetArraySize(kube_json_member(spec, "versions")) > VERSIONS_MAX) {
    ok = aicr_fail(err, AICR_INVALID_REQUEST, "recording-invalid",
                   "a CustomResourceDefinition has more than %d versions",
                   VERSIONS_MAX);
  }
  ok = ok && kube_discovery_add_definition(&s->discovery, tree, err);
  cJSON_Delete(tree);
  return ok;
}

/* The way most plurals are made: Policy policies, Class classes, Pod pods. */
static void guess_plural(const char *kind, char *out, size_t size)
{
  char lower[64];
  size_t n = 0;
  for (const char *p = kind; *p != '\0' && n + 4 < sizeof lower; p++) {
    lower[n++] = (char)(*p >= 'A' && *p <= 'Z' ? *p - 'A' + 'a' : *p);
  }
  lower[n] = '\0';
  bool vowel = n > 1 && strchr("aeiou", lower[n - 2]) != NULL;
  if (n > 1 && lower[n - 1] == 'y' && !vowel) {
    snprintf(out, size, "%.*sies", (int)(n - 1), lower);
  } else if (kube_ends_in(lower, "s") || kube_ends_in(lower, "x") ||
             kube_ends_in(lower, "z") || kube_ends_in(lower, "ch") ||
             kube_ends_in(lower, "sh")) {
    snprintf(out, size, "%.60ses", lower);
  } else {
    snprintf(out, size, "%.60ss", lower);
  }
}

static void warn_guess(const struct kube_rec_type *t, struct aicr_buf *warnings)
{
  struct aicr_quoted kind, plural;
  kube_rec_note(warnings, "kind %s: the resource's name is guessed as %s",
                aicr_quote(&kind, t->r.kind, strlen(t->r.kind)),
                aicr_quote(&plural, t->r.plural, strlen(t->r.plural)));
}

static const struct kube_resource *known_kind(const struct kube_rec_store *s,
                                              const struct kube_resource *r)
{
  const struct kube_resource *other = NULL;
  for (size_t i = 0; i < s->discovery.count; i++) {
    const struct kube_resource *k = &s->discovery.items[i].r;
    if (strcmp(k->group, r->group) != 0 || strcmp(k->kind, r->kind) != 0) {
      continue;
    }
    if (strcmp(k->version, r->version) == 0) {
      return k;
    }
    other = k;
  }
  return other != NULL ? other
                       : kube_builtin_by_kind(r->group, r->version, r->kind);
}

static const struct kube_resource *known_plural(const struct kube_rec_store *s,
                                                const struct kube_resource *r)
{
  const struct kube_served_resource *k =
      kube_discovery_find(&s->discovery, r->group, r->version, r->plural);
  k = k != NULL ? k
                : kube_discovery_find(&s->discovery, r->group, NULL, r->plural);
  return k != NULL ? &k->r : kube_builtin_by_name(r->group, r->plural);
}

void kube_rec_name_type(const struct kube_rec_store *s, struct kube_rec_type *t,
                        struct aicr_buf *warnings)
{
  const struct kube_resource *known = NULL;
  if (t->r.plural[0] == '\0') {
    known = known_kind(s, &t->r);
    if (known != NULL) {
      kube_set_text(t->r.plural, sizeof t->r.plural, known->plural);
    } else {
      guess_plural(t->r.kind, t->r.plural, sizeof t->r.plural);
      warn_guess(t, warnings);
    }
  } else {
    known = known_plural(s, &t->r);
  }
  if (known != NULL) {
    t->r.namespaced = known->namespaced;
    if (t->r.kind[0] == '\0') {
      kube_set_text(t->r.kind, sizeof t->r.kind, known->kind);
    }
  } else if (!t->scoped) {
    for (size_t i = 0; i < t->set.count && !t->r.namespaced; i++) {
      t->r.namespaced = t->set.items[i].ns_len > 0;
    }
  }
}
