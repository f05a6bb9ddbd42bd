/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/discovery.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/fixed_text.h"
#include "kube/json_tree.h"
#include "kube/nearest.h"
#include "kube/url.h"

#define KNOWN_MAX 20000u

void kube_discovery_free(struct kube_discovery *d)
{
  aicr_free(d->items);
  aicr_free(d->versions);
  memset(d, 0, sizeof *d);
}

/* Grows an array by one zeroed element and returns it. */
static void *grow(void **array, size_t *count, size_t *cap, size_t size,
                  struct aicr_error *err)
{
  if (*count == KNOWN_MAX) {
    aicr_fail(err, AICR_INTERNAL, "discovery-incomplete",
              "the server serves more than %u resources", KNOWN_MAX);
    return NULL;
  }
  void *grown = aicr_grow(*array, cap, *count, size);
  if (grown == NULL) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for discovery");
    return NULL;
  }
  *array = grown;
  void *item = (char *)*array + *count * size;
  memset(item, 0, size);
  (*count)++;
  return item;
}

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

static bool add_resource(struct kube_discovery *d,
                         const struct kube_resource *r, const char *singular,
                         const cJSON *short_names, struct aicr_error *err)
{
  struct kube_served_resource *s =
      grow((void **)&d->items, &d->count, &d->cap, sizeof *s, err);
  if (s == NULL) {
    return false;
  }
  s->r = *r;
  add_word(s->names, sizeof s->names, singular);
  const cJSON *name = NULL;
  cJSON_ArrayForEach(name, short_names)
  {
    add_word(s->names, sizeof s->names,
             cJSON_IsString(name) ? name->valuestring : "");
  }
  return true;
}

/* A name that does not fit is no name of Kubernetes; nothing can ask for it. */
static bool fill(struct kube_resource *r, const char *group,
                 const char *version, const char *plural, const char *kind)
{
  return kube_set_text(r->group, sizeof r->group, group) &&
         kube_set_text(r->version, sizeof r->version, version) &&
         kube_set_text(r->plural, sizeof r->plural, plural) &&
         kube_set_text(r->kind, sizeof r->kind, kind) && plural[0] != '\0';
}

static struct kube_group_version *find_version(const struct kube_discovery *d,
                                               const char *group,
                                               const char *version)
{
  for (size_t i = 0; i < d->version_count; i++) {
    struct kube_group_version *v = &d->versions[i];
    if (strcmp(v->group, group) == 0 && strcmp(v->version, version) == 0) {
      return v;
    }
  }
  return NULL;
}

static bool add_version(struct kube_discovery *d, const char *group,
                        const char *version, enum kube_group_state state,
                        struct aicr_error *err)
{
  struct kube_group_version named, *v = find_version(d, group, version);
  if (v == NULL) {
    if (!kube_set_text(named.group, sizeof named.group, group) ||
        !kube_set_text(named.version, sizeof named.version, version)) {
      return true; /* nothing of that name can be asked for */
    }
    v = grow((void **)&d->versions, &d->version_count, &d->version_cap,
             sizeof *v, err);
    if (v == NULL) {
      return false;
    }
    *v = named;
  }
  v->state = state;
  return true;
}

static bool add_aggregated(struct kube_discovery *d, const char *group,
                           const cJSON *version, struct aicr_error *err)
{
  const char *name = kube_json_text(version, "version");
  const cJSON *resources = kube_json_member(version, "resources");
  bool stale = strcmp(kube_json_text(version, "freshness"), "Stale") == 0;
  if (!add_version(d, group, name, stale ? KUBE_GROUP_STALE : KUBE_GROUP_READ,
                   err)) {
    return false;
  }
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, resources)
  {
    struct kube_resource r = {0};
    const cJSON *kind = kube_json_member(item, "responseKind");
    r.namespaced = strcmp(kube_json_text(item, "scope"), "Namespaced") == 0;
    if (fill(&r, group, name, kube_json_text(item, "resource"),
             kube_json_text(kind, "kind")) &&
        !add_resource(d, &r, kube_json_text(item, "singularResource"),
                      kube_json_member(item, "shortNames"), err)) {
      return false;
    }
  }
  return true;
}

bool kube_discovery_add_groups(struct kube_discovery *d, const cJSON *list,
                               struct aicr_error *err)
{
  const cJSON *item = NULL, *version = NULL;
  cJSON_ArrayForEach(item, kube_json_member(list, "items"))
  {
    const char *group =
        kube_json_text(kube_json_member(item, "metadata"), "name");
    cJSON_ArrayForEach(version, kube_json_member(item, "versions"))
    {
      if (!add_aggregated(d, group, version, err)) {
        return false;
      }
    }
  }
  return true;
}

static bool add_core_versions(struct kube_discovery *d, const cJSON *tree,
                              struct aicr_error *err)
{
  const cJSON *version = NULL;
  cJSON_ArrayForEach(version, kube_json_member(tree, "versions"))
  {
    if (cJSON_IsString(version) &&
        !add_version(d, "", version->valuestring, KUBE_GROUP_UNREAD, err)) {
      return false;
    }
  }
  return true;
}

static bool add_group_list(struct kube_discovery *d, const cJSON *tree,
                           struct aicr_error *err)
{
  const cJSON *group = NULL, *version = NULL;
  cJSON_ArrayForEach(group, kube_json_member(tree, "groups"))
  {
    const char *name = kube_json_text(group, "name");
    const char *first =
        kube_json_text(kube_json_member(group, "preferredVersion"), "version");
    if (first[0] != '\0' &&
        !add_version(d, name, first, KUBE_GROUP_UNREAD, err)) {
      return false;
    }
    cJSON_ArrayForEach(version, kube_json_member(group, "versions"))
    {
      if (!add_version(d, name, kube_json_text(version, "version"),
                       KUBE_GROUP_UNREAD, err)) {
        return false;
      }
    }
  }
  return true;
}

static bool add_resource_list(struct kube_discovery *d, const cJSON *tree,
                              struct aicr_error *err)
{
  char group[KUBE_NAME_MAX + 1] = "";
  const char *full = kube_json_text(tree, "groupVersion");
  const char *slash = strchr(full, '/');
  const char *version = slash == NULL ? full : slash + 1;
  if (slash != NULL && (size_t)(slash - full) < sizeof group) {
    memcpy(group, full, (size_t)(slash - full));
  }
  if (!add_version(d, group, version, KUBE_GROUP_READ, err)) {
    return false;
  }
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, kube_json_member(tree, "resources"))
  {
    struct kube_resource r = {0};
    const char *name = kube_json_text(item, "name");
    r.namespaced = cJSON_IsTrue(kube_json_member(item, "namespaced"));
    if (strchr(name, '/') == NULL && /* a subresource */
        fill(&r, group, version, name, kube_json_text(item, "kind")) &&
        !add_resource(d, &r, kube_json_text(item, "singularName"),
                      kube_json_member(item, "shortNames"), err)) {
      return false;
    }
  }
  return true;
}

bool kube_discovery_add(struct kube_discovery *d, const char *text, size_t len,
                        struct aicr_error *err)
{
  static const struct {
    const char *kind;
    bool (*add)(struct kube_discovery *, const cJSON *, struct aicr_error *);
  } shapes[] = {{"APIGroupDiscoveryList", kube_discovery_add_groups},
                {"APIVersions", add_core_versions},
                {"APIGroupList", add_group_list},
                {"APIResourceList", add_resource_list}};
  struct aicr_error bad = {.message = "it is of another kind"};
  cJSON *tree = kube_json_tree(text, len, &bad);
  if (tree == NULL && bad.code == AICR_INTERNAL) {
    *err = bad;
    return false;
  }
  const char *kind = kube_json_text(tree, "kind");
  for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
    if (strcmp(shapes[i].kind, kind) == 0) {
      bool ok = shapes[i].add(d, tree, err);
      cJSON_Delete(tree);
      return ok;
    }
  }
  cJSON_Delete(tree);
  return aicr_fail(err, AICR_INTERNAL, "discovery-incomplete",
                   "the server's discovery document cannot be read: %.300s",
                   bad.message);
}

bool kube_discovery_add_definition(struct kube_discovery *d,
                                   const cJSON *definition,
                                   struct aicr_error *err)
{
  const cJSON *spec = kube_json_member(definition, "spec"), *version = NULL;
  const cJSON *names = kube_json_member(spec, "names");
  const char *group = kube_json_text(spec, "group");
  const char *plural = kube_json_text(names, "plural");
  cJSON_ArrayForEach(version, kube_json_member(spec, "versions"))
  {
    struct kube_resource r = {0};
    const char *name = kube_json_text(version, "name");
    r.namespaced = strcmp(kube_json_text(spec, "scope"), "Namespaced") == 0;
    if (cJSON_IsTrue(kube_json_member(version, "served")) &&
        fill(&r, group, name, plural, kube_json_text(names, "kind")) &&
        kube_discovery_find(d, group, name, plural) == NULL &&
        !add_resource(d, &r, kube_json_text(names, "singular"),
                      kube_json_member(names, "shortNames"), err)) {
      return false;
    }
  }
  return true;
}

struct kube_group_version *kube_discovery_unread(const struct kube_discovery *d)
{
  for (size_t i = 0; i < d->version_count; i++) {
    if (d->versions[i].state == KUBE_GROUP_UNREAD) {
      return &d->versions[i];
    }
  }
  return NULL;
}

const struct kube_served_resource *
kube_discovery_find(const struct kube_discovery *d, const char *group,
                    const char *version, const char *plural)
{
  for (size_t i = 0; i < d->count; i++) {
    const struct kube_resource *r = &d->items[i].r;
    if (strcmp(r->plural, plural) == 0 && strcmp(r->group, group) == 0 &&
        (version == NULL || strcmp(r->version, version) == 0)) {
      return &d->items[i];
    }
  }
  return NULL;
}

bool kube_served_means(const struct kube_served_resource *s, const char *name)
{
  return strcmp(s->r.plural, name) == 0 || kube_has_word(s->names, name);
}

bool kube_discovery_is_dark(const struct kube_discovery *d, const char *group,
                            const char *version)
{
  for (size_t i = 0; i < d->version_count; i++) {
    const struct kube_group_version *v = &d->versions[i];
    if (v->state == KUBE_GROUP_READ ||
        (group != NULL && strcmp(v->group, group) != 0)) {
      continue;
    }
    if (version[0] == '\0' || strcmp(v->version, version) == 0) {
      return true;
    }
  }
  return false;
}

static bool fail_unknown(const struct kube_discovery *d, const char *group,
                         const struct kube_resource *r, struct aicr_error *err)
{
  struct kube_nearest near;
  if (kube_discovery_is_dark(d, group, r->version)) {
    char name[KUBE_NAME_MAX + 140];
    kube_full_name(r, name, sizeof name);
    return aicr_fail(err, AICR_INTERNAL, "discovery-incomplete",
                     "%s: the server of this API did not answer, so it is "
                     "not known whether it is served",
                     name);
  }
  kube_nearest_begin(&near, r);
  for (size_t i = 0; i < d->count; i++) {
    kube_nearest_consider(&near, &d->items[i].r);
  }
  return kube_fail_not_served(&near, group == NULL, err);
}

static bool fail_ambiguous(const char *name, const char *one, const char *other,
                           struct aicr_error *err)
{
  return aicr_fail(err, AICR_INVALID_REQUEST, "ambiguous",
                   "%s is served by several groups: write %s.%s or %s.%s", name,
                   name, one, name, other);
}

/* A plural counts before a singular or short name, a version that the group
 * prefers before others: the order of discovery. */
static const struct kube_served_resource *
find_in_group(const struct kube_discovery *d, const struct kube_resource *r)
{
  const struct kube_served_resource *second = NULL;
  bool by_kind = r->plural[0] == '\0';
  for (size_t i = 0; i < d->count; i++) {
    const struct kube_served_resource *s = &d->items[i];
    if (strcmp(s->r.group, r->group) != 0 ||
        (r->version[0] != '\0' && strcmp(s->r.version, r->version) != 0) ||
        (by_kind ? strcmp(s->r.kind, r->kind) != 0
                 : !kube_served_means(s, r->plural))) {
      continue;
    }
    if (by_kind || strcmp(s->r.plural, r->plural) == 0) {
      return s;
    }
    second = second == NULL ? s : second;
  }
  return second;
}

/* A name without a group: core before all, else the only one. */
static const struct kube_served_resource *
find_anywhere(const struct kube_discovery *d, const struct kube_resource *r,
              struct aicr_error *err)
{
  const struct kube_served_resource *found = find_in_group(d, r);
  if (found != NULL) {
    return found;
  }
  for (size_t i = 0; i < d->count; i++) {
    const struct kube_served_resource *s = &d->items[i];
    if (!kube_served_means(s, r->plural)) {
      continue;
    }
    if (found != NULL && strcmp(found->r.group, s->r.group) != 0) {
      fail_ambiguous(r->plural, found->r.group, s->r.group, err);
      return NULL;
    }
    found = found == NULL ? s : found;
  }
  if (found == NULL) {
    fail_unknown(d, NULL, r, err);
  }
  return found;
}

bool kube_discovery_resolve(const struct kube_discovery *d,
                            struct kube_resource *r, struct aicr_error *err)
{
  const struct kube_served_resource *s = NULL;
  if (r->group[0] == '\0' && r->version[0] == '\0') {
    s = find_anywhere(d, r, err);
  } else {
    s = find_in_group(d, r);
    if (s == NULL) {
      fail_unknown(d, r->group, r, err);
    }
  }
  if (s == NULL) {
    return false;
  }
  *r = s->r;
  return true;
}

bool kube_discovery_path(const struct kube_resource *r, struct aicr_buf *path)
{
  aicr_buf_reset(path);
  aicr_buf_adds(path, r->group[0] == '\0' ? "/api/" : "/apis/");
  if (r->group[0] != '\0') {
    kube_url_escape(path, r->group, strlen(r->group));
    aicr_buf_addc(path, '/');
  }
  return kube_url_escape(path, r->version, strlen(r->version));
}

/* Is a 404 of a group version the API server's own? What stands before it has
 * other words. */
static bool is_own_404(const struct kube_answer *a)
{
  static const char page[] = "404 page not found";
  const char *body = a->body.data;
  size_t len = body == NULL ? 0 : a->body.len;
  struct aicr_error ignored;
  aicr_trim(&body, &len);
  if (len == sizeof page - 1 && memcmp(body, page, len) == 0) {
    return true;
  }
  if (len == 0 || body[0] != '{') {
    return false;
  }
  cJSON *tree = kube_json_tree(body, len, &ignored);
  bool own = strcmp(kube_json_text(tree, "kind"), "Status") == 0 &&
             strcmp(kube_json_text(tree, "reason"), "NotFound") == 0;
  cJSON_Delete(tree);
  return own;
}

bool kube_always_served(const struct kube_resource *r)
{
  static const char *const groups[] = {"",
                                       "apps",
                                       "batch",
                                       "rbac.authorization.k8s.io",
                                       "authorization.k8s.io",
                                       "authentication.k8s.io"};
  bool found = false;
  for (size_t i = 0; i < sizeof groups / sizeof groups[0]; i++) {
    found = found || strcmp(groups[i], r->group) == 0;
  }
  return found && strcmp(r->version, "v1") == 0;
}

bool kube_discovery_lacks(const struct kube_resource *r,
                          const char *subresource,
                          const struct kube_answer *answer)
{
  char name[2 * KUBE_NAME_MAX + 2];
  struct aicr_error ignored;
  if (kube_discovery_served(r, answer) != KUBE_SERVED_YES) {
    return false;
  }
  snprintf(name, sizeof name, "%s/%s", r->plural, subresource);
  cJSON *tree = kube_json_tree(answer->body.data, answer->body.len, &ignored);
  const cJSON *list = kube_json_member(tree, "resources"), *item = NULL;
  bool lacks = cJSON_IsArray(list);
  cJSON_ArrayForEach(item, list)
  {
    lacks = lacks && strcmp(kube_json_text(item, "name"), name) != 0;
  }
  cJSON_Delete(tree);
  return lacks;
}

enum kube_served kube_discovery_served(const struct kube_resource *r,
                                       const struct kube_answer *answer)
{
  struct kube_discovery d = {0};
  struct aicr_error ignored;
  enum kube_served served = KUBE_SERVED_UNKNOWN;
  if (answer->http == 404) {
    /* Of what every API server serves a 404 is another server's. */
    return is_own_404(answer) && !kube_always_served(r) ? KUBE_SERVED_NO
                                                        : served;
  }
  if (answer->http != 200 || answer->body.data == NULL) {
    return served;
  }
  if (kube_discovery_add(&d, answer->body.data, answer->body.len, &ignored) &&
      find_version(&d, r->group, r->version) != NULL) {
    served = KUBE_SERVED_NO;
    for (size_t i = 0; i < d.count; i++) {
      if (strcmp(d.items[i].r.plural, r->plural) == 0) {
        served = KUBE_SERVED_YES;
      }
    }
  }
  kube_discovery_free(&d);
  return served;
}
