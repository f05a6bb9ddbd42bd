/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config_sources.h"

#include <string.h>

#include "core/text.h"
#include "kube/config_pod.h"
#include "kube/config_read.h"
#include "kube/json_tree.h"

#define NAMES_MAX  20
#define LOOKED_MAX 1200 /* of a message's 2048 bytes */

static bool defines_cluster(const struct kube_config_file *f)
{
  for (const cJSON *i = kube_config_file_first(f, KUBE_CONFIG_CLUSTERS);
       i != NULL; i = i->next) {
    struct kube_config_entry e =
        kube_config_file_entry(f, KUBE_CONFIG_CLUSTERS, i);
    if (kube_json_text(e.fields, "server")[0] != '\0') {
      return true;
    }
  }
  return false;
}

bool kube_config_sources_empty(const struct kube_config_sources *s)
{
  for (size_t i = 0; i < s->count; i++) {
    const struct kube_config_file *f = &s->files[i];
    if (defines_cluster(f) || kube_config_file_current(f)[0] != '\0' ||
        kube_config_file_first(f, KUBE_CONFIG_CONTEXTS) != NULL) {
      return false;
    }
  }
  return true;
}

bool kube_config_sources_find(const struct kube_config_sources *s,
                              enum kube_config_list list, const char *name,
                              struct kube_config_entry *out)
{
  for (size_t i = 0; i < s->count; i++) {
    for (const cJSON *item = kube_config_file_first(&s->files[i], list);
         item != NULL; item = item->next) {
      *out = kube_config_file_entry(&s->files[i], list, item);
      if (strcmp(out->name, name) == 0) {
        return true;
      }
    }
  }
  return false;
}

const char *kube_config_sources_current(const struct kube_config_sources *s)
{
  const char *name = "";
  for (size_t i = 0; i < s->count && name[0] == '\0'; i++) {
    name = kube_config_file_current(&s->files[i]);
  }
  return name;
}

void kube_config_sources_contexts(const struct kube_config_sources *s,
                                  struct aicr_buf *out)
{
  struct kube_config_entry first;
  struct aicr_quoted q;
  size_t names = 0, more = 0;
  for (size_t i = 0; i < s->count; i++) {
    for (const cJSON *item =
             kube_config_file_first(&s->files[i], KUBE_CONFIG_CONTEXTS);
         item != NULL; item = item->next) {
      const char *name = kube_json_text(item, "name");
      if (names == NAMES_MAX || out->len > LOOKED_MAX - 300) {
        more++;
      } else if (kube_config_sources_find(s, KUBE_CONFIG_CONTEXTS, name,
                                          &first) &&
                 first.file == &s->files[i]) {
        aicr_buf_addf(out, "%s%s", names++ == 0 ? "" : ", ",
                      aicr_quote(&q, name, strlen(name)));
      }
    }
  }
  if (more > 0) {
    aicr_buf_addf(out, " and %zu more", more);
  }
}

bool kube_config_sources_name(const struct kube_config_sources *s, char **out,
                              struct aicr_error *err)
{
  struct aicr_buf b;
  aicr_buf_init(&b, (size_t)KUBE_CONFIG_FILES_MAX * 8192);
  for (size_t i = 0; i < s->count; i++) {
    const char *path = s->files[i].path;
    aicr_buf_adds(&b, i == 0 ? "" : ":");
    aicr_buf_add_printable(&b, path, strlen(path));
  }
  if (b.len == 0) {
    aicr_buf_adds(&b, "the command line");
  }
  *out = b.data;
  return !b.failed || kube_config_no_memory(err);
}

static void look(struct kube_config_sources *s, const char *path,
                 const char *what)
{
  struct aicr_quoted q;
  if (s->looked.len < LOOKED_MAX - 300) {
    aicr_buf_addf(&s->looked, "%s%s %s", s->looked.len > 0 ? ", " : "",
                  aicr_quote(&q, path, strlen(path)), what);
  } else if (!s->cut) {
    aicr_buf_adds(&s->looked, ", and others");
    s->cut = true;
  }
}

static bool has(const struct kube_config_sources *s, const char *path)
{
  for (size_t i = 0; i < s->count; i++) {
    if (strcmp(s->files[i].path, path) == 0) {
      return true;
    }
  }
  return false;
}

/* One file; `listed`: of a list, where one may be missing. */
static bool add(struct kube_config_sources *s, const char *path, bool listed,
                struct aicr_buf *warnings, struct aicr_error *err)
{
  struct aicr_quoted q;
  bool absent = false;
  if (has(s, path)) {
    return true;
  }
  if (s->count == KUBE_CONFIG_FILES_MAX) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                     "KUBECONFIG lists more than 64 files");
  }
  struct kube_config_file *f = &s->files[s->count];
  if (!kube_config_file_open(f, path, &absent, warnings, err)) {
    kube_config_file_close(f);
    return false;
  }
  if (!absent) {
    s->count++;
    look(s, path, "defines no cluster");
    return true;
  }
  kube_config_file_close(f);
  look(s, path, "does not exist");
  if (listed) {
    aicr_buf_addf(warnings, "KUBECONFIG: %s does not exist\n",
                  aicr_quote(&q, path, strlen(path)));
  }
  return true;
}

static bool add_list(struct kube_config_sources *s, const char *list,
                     struct aicr_buf *warnings, struct aicr_error *err)
{
  bool ok = true;
  while (ok && list[0] != '\0') {
    size_t len = strcspn(list, ":");
    char *path = len > 0 ? aicr_strndup(list, len) : NULL;
    if (len > 0) {
      ok = path != NULL ? add(s, path, true, warnings, err)
                        : kube_config_no_memory(err);
    }
    aicr_free(path);
    list += len + (list[len] == ':' ? 1 : 0);
  }
  if (ok && s->looked.len == 0) {
    aicr_buf_adds(&s->looked, "KUBECONFIG names no file");
  }
  return ok;
}

static bool add_home(struct kube_config_sources *s, const char *home,
                     struct aicr_buf *warnings, struct aicr_error *err)
{
  struct aicr_buf path;
  if (home[0] == '\0') {
    aicr_buf_adds(&s->looked, "neither KUBECONFIG nor HOME is set");
    return true;
  }
  aicr_buf_init(&path, strlen(home) + 32);
  aicr_buf_adds(&path, home);
  aicr_buf_adds(&path, "/.kube/config");
  bool ok = path.data != NULL ? add(s, path.data, false, warnings, err)
                              : kube_config_no_memory(err);
  aicr_buf_free(&path);
  return ok;
}

bool kube_config_sources_open(struct kube_config_sources *s,
                              const struct kube_config_options *o,
                              struct aicr_buf *warnings, struct aicr_error *err)
{
  const char *list = kube_config_env(o, "KUBECONFIG");
  *s = (struct kube_config_sources){0};
  aicr_buf_init(&s->looked, 4096);
  s->files = aicr_calloc(KUBE_CONFIG_FILES_MAX, sizeof *s->files);
  if (s->files == NULL) {
    return kube_config_no_memory(err);
  }
  if (o->kubeconfig != NULL) {
    return add(s, o->kubeconfig, false, warnings, err);
  }
  return list[0] != '\0'
             ? add_list(s, list, warnings, err)
             : add_home(s, kube_config_env(o, "HOME"), warnings, err);
}

void kube_config_sources_close(struct kube_config_sources *s)
{
  for (size_t i = 0; i < s->count; i++) {
    kube_config_file_close(&s->files[i]);
  }
  aicr_free(s->files);
  aicr_buf_free(&s->looked);
  *s = (struct kube_config_sources){0};
}
