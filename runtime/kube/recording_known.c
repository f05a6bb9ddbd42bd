/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/fixed_text.h"
#include "kube/json_tree.h"
#include "kube/recording_store.h"

/* What a recording knows of resources: discovery documents, custom resource
 * definitions, and the plural of a kind where neither says it. */

#define KNOWN_MAX    20000u
#define VERSIONS_MAX 100

static void add_word(char *out, size_t size, const char *word)
{
  size_t have = strlen(out), n = strlen(word);
  if (n == 0 || have + n + 2 > size) {
    return;
  }
  if (have > 0) {
    out[have++] = ' ';
  }
  memcpy(out + have, word, n + 1);
}

static bool add_known(struct kube_rec_store *s, const struct kube_resource *r,
                      const char *singular, const cJSON *short_names,
                      struct aicr_error *err)
{
  struct kube_rec_known *k =
      kube_rec_grow((void **)&s->known, &s->known_count, &s->known_cap,
                    sizeof *k, KNOWN_MAX, err);
  if (k == NULL) {
    return false;
  }
  k->r = *r;
  add_word(k->names, sizeof k->names, singular);
  const cJSON *name = NULL;
  cJSON_ArrayForEach(name, short_names)
  {
    add_word(k->names, sizeof k->names,
             cJSON_IsString(name) ? name->valuestring : "");
  }
  return true;
}

static bool add_resources(struct kube_rec_store *s, const char *group,
                          const char *version, const cJSON *resources,
                          struct aicr_error *err)
{
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, resources)
  {
    struct kube_resource r = {0};
    const cJSON *kind = kube_json_member(item, "responseKind");
    r.namespaced = strcmp(kube_json_text(item, "scope"), "Namespaced") == 0;
    bool fits =
        kube_set_text(r.group, sizeof r.group, group) &&
        kube_set_text(r.version, sizeof r.version, version) &&
        kube_set_text(r.plural, sizeof r.plural,
                      kube_json_text(item, "resource")) &&
        kube_set_text(r.kind, sizeof r.kind, kube_json_text(kind, "kind"));
    if (fits && !add_known(s, &r, kube_json_text(item, "singularResource"),
                           kube_json_member(item, "shortNames"), err)) {
      return false;
    }
  }
  return true;
}

/* A group version whose server was down says nothing about its resources. */
static bool add_stale(struct kube_rec_store *s, const char *group,
                      const char *version, struct aicr_error *err)
{
  if (strlen(group) > KUBE_NAME_MAX || strlen(version) > 63) {
    return true; /* nothing of that name can be asked for */
  }
  struct kube_rec_group_version *g =
      kube_rec_grow((void **)&s->stale, &s->stale_count, &s->stale_cap,
                    sizeof *g, KNOWN_MAX, err);
  if (g == NULL) {
    return false;
  }
  return kube_set_text(g->group, sizeof g->group, group) &&
         kube_set_text(g->version, sizeof g->version, version);
}

static bool add_group(struct kube_rec_store *s, const cJSON *item,
                      struct aicr_error *err)
{
  const char *group =
      kube_json_text(kube_json_member(item, "metadata"), "name");
  const cJSON *version = NULL;
  cJSON_ArrayForEach(version, kube_json_member(item, "versions"))
  {
    const char *name = kube_json_text(version, "version");
    bool stale = strcmp(kube_json_text(version, "freshness"), "Stale") == 0;
    if (stale && !add_stale(s, group, name, err)) {
      return false;
    }
    if (!add_resources(s, group, name, kube_json_member(version, "resources"),
                       err)) {
      return false;
    }
  }
  return true;
}

bool kube_rec_add_discovery(struct kube_rec_store *s, const char *text,
                            size_t len, bool *taken, struct aicr_error *err)
{
  cJSON *tree = kube_json_tree(text, len, err);
  *taken = false;
  if (tree == NULL) {
    return false;
  }
  bool ok = true;
  const cJSON *items = kube_json_member(tree, "items");
  if (strcmp(kube_json_text(tree, "kind"), "APIGroupDiscoveryList") == 0 &&
      cJSON_IsArray(items)) {
    *taken = true;
    bool core = false;
    const cJSON *item = NULL;
    cJSON_ArrayForEach(item, items)
    {
      const cJSON *metadata = kube_json_member(item, "metadata");
      core = core || kube_json_text(metadata, "name")[0] == '\0';
      ok = ok && add_group(s, item, err);
    }
    if (core) {
      s->has_core_discovery = true;
    } else {
      s->has_group_discovery = true;
    }
  }
  cJSON_Delete(tree);
  return ok;
}

bool kube_rec_add_definition(struct kube_rec_store *s, const char *text,
                             size_t len, struct aicr_error *err)
{
  cJSON *tree = kube_json_tree(text, len, err);
  if (tree == NULL) {
    return false;
  }
  bool ok = true;
  const cJSON *spec = kube_json_member(tree, "spec");
  const cJSON *names = kube_json_member(spec, "names");
  const cJSON *versions = kube_json_member(spec, "versions");
  if (cJSON_GetArraySize(versions) > VERSIONS_MAX) {
    cJSON_Delete(tree);
    return aicr_fail(err, AICR_INVALID_REQUEST, "recording-invalid",
                     "a CustomResourceDefinition has more than %d versions",
                     VERSIONS_MAX);
  }
  const cJSON *version = NULL;
  cJSON_ArrayForEach(version, versions)
  {
    struct kube_resource r = {0};
    r.namespaced = strcmp(kube_json_text(spec, "scope"), "Namespaced") == 0;
    bool fits =
        cJSON_IsTrue(kube_json_member(version, "served")) &&
        kube_set_text(r.group, sizeof r.group, kube_json_text(spec, "group")) &&
        kube_set_text(r.version, sizeof r.version,
                      kube_json_text(version, "name")) &&
        kube_set_text(r.plural, sizeof r.plural,
                      kube_json_text(names, "plural")) &&
        kube_set_text(r.kind, sizeof r.kind, kube_json_text(names, "kind"));
    if (ok && fits &&
        kube_rec_store_known(s, r.group, r.version, r.plural) == NULL) {
      ok = add_known(s, &r, kube_json_text(names, "singular"),
                     kube_json_member(names, "shortNames"), err);
    }
  }
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

static const struct kube_rec_known *known_kind(const struct kube_rec_store *s,
                                               const struct kube_resource *r)
{
  const struct kube_rec_known *other = NULL;
  for (size_t i = 0; i < s->known_count; i++) {
    const struct kube_resource *k = &s->known[i].r;
    if (strcmp(k->group, r->group) != 0 || strcmp(k->kind, r->kind) != 0) {
      continue;
    }
    if (strcmp(k->version, r->version) == 0) {
      return &s->known[i];
    }
    other = &s->known[i];
  }
  return other;
}

static const struct kube_resource *known_plural(const struct kube_rec_store *s,
                                                const struct kube_resource *r)
{
  const struct kube_rec_known *k =
      kube_rec_store_known(s, r->group, r->version, r->plural);
  k = k != NULL ? k : kube_rec_store_known(s, r->group, NULL, r->plural);
  return k != NULL ? &k->r : kube_builtin_by_name(r->group, r->plural);
}

void kube_rec_name_type(const struct kube_rec_store *s, struct kube_rec_type *t,
                        struct aicr_buf *warnings)
{
  const struct kube_resource *known = NULL;
  if (t->r.plural[0] == '\0') {
    const struct kube_rec_known *k = known_kind(s, &t->r);
    known = k != NULL
                ? &k->r
                : kube_builtin_by_kind(t->r.group, t->r.version, t->r.kind);
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
