/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config_file.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"
#include "core/yaml.h"
#include "kube/config_read.h"
#include "kube/config_types.h"
#include "kube/json_tree.h"

#define JSON_MAX    ((size_t)2 << 20) /* aliases may write it longer */
#define ENTRIES_MAX 10000

static const struct {
  const char *plural, *word;
} lists[KUBE_CONFIG_LISTS] = {
    {"clusters", "cluster"}, {"users", "user"}, {"contexts", "context"}};

const char *kube_config_list_word(enum kube_config_list list)
{
  return lists[list].word;
}

static bool bad_file(const struct kube_config_file *f, struct aicr_error *err,
                     const char *what)
{
  struct aicr_quoted q;
  return aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid", "%s: %s",
                   aicr_quote(&q, f->path, strlen(f->path)), what);
}

bool kube_config_bad(const struct kube_config_entry *e, struct aicr_error *err,
                     const char *fmt, ...)
{
  struct aicr_quoted path, name;
  char what[1024];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(what, sizeof what, fmt, ap);
  va_end(ap);
  return aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid", "%s: %s %s: %s",
                   aicr_quote(&path, e->file->path, strlen(e->file->path)),
                   lists[e->list].word,
                   aicr_quote(&name, e->name, strlen(e->name)), what);
}

/* A reader's message without what it quotes: that may be a token which looks
 * like an alias or a tag. */
static void hide_quoted(const char *message, char *out, size_t size)
{
  size_t len = 0;
  bool inside = false;
  for (const char *p = message; *p != '\0' && len + 4 < size; p++) {
    if (inside && *p == '\\' && p[1] != '\0') {
      p++;
    } else if (*p == '"') {
      inside = !inside;
      for (int i = 0; inside && i < 3; i++) {
        out[len++] = '*';
      }
    } else if (!inside) {
      out[len++] = *p;
    }
  }
  out[len] = '\0';
}

static bool bad_text(const struct kube_config_file *f,
                     const struct aicr_error *why, struct aicr_error *err)
{
  char what[512];
  if (why->code == AICR_INTERNAL) {
    return kube_config_no_memory(err);
  }
  hide_quoted(why->message, what, sizeof what);
  return bad_file(f, err, what);
}

static bool to_json(struct kube_config_file *f, const struct aicr_buf *text,
                    struct aicr_buf *json, bool *more, struct aicr_error *err)
{
  struct aicr_error why = {.code = AICR_CODE_NONE};
  struct aicr_buf rest;
  struct aicr_yaml y;
  bool end = false;
  bool ok = aicr_yaml_open(&y, text->data != NULL ? text->data : "", text->len,
                           AICR_YAML_KUBERNETES, &why);
  y.secret = true;
  ok = ok && aicr_yaml_next(&y, json, &end, &why);
  while (ok && !end) {
    aicr_buf_init(&rest, JSON_MAX);
    rest.secret = true;
    ok = aicr_yaml_next(&y, &rest, &end, &why);
    *more = *more || (ok && !end);
    aicr_buf_free(&rest);
  }
  aicr_yaml_close(&y);
  return ok || bad_text(f, &why, err);
}

static bool to_tree(struct kube_config_file *f, const struct aicr_buf *text,
                    struct aicr_buf *warnings, struct aicr_error *err)
{
  struct aicr_error why = {.code = AICR_CODE_NONE};
  struct aicr_quoted q;
  struct aicr_buf json;
  bool more = false;
  aicr_buf_init(&json, JSON_MAX);
  json.secret = true;
  bool ok = to_json(f, text, &json, &more, err);
  if (ok && json.len > 0) {
    f->tree = kube_json_tree(json.data, json.len, &why);
    ok = f->tree != NULL || bad_text(f, &why, err);
  }
  if (ok && more) {
    aicr_buf_addf(warnings, "%s: only the first document is read\n",
                  aicr_quote(&q, f->path, strlen(f->path)));
  }
  aicr_buf_free(&json);
  return ok;
}

static bool check_head(const struct kube_config_file *f, struct aicr_error *err)
{
  static const char *const heads[][2] = {{"apiVersion", "v1"},
                                         {"kind", "Config"}};
  struct aicr_quoted path, q;
  for (size_t i = 0; i < 2; i++) {
    const char *text = kube_json_text(f->tree, heads[i][0]);
    if (text[0] != '\0' && strcmp(text, heads[i][1]) != 0) {
      return aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                       "%s: %s is %s, a kubeconfig has \"%s\"",
                       aicr_quote(&path, f->path, strlen(f->path)), heads[i][0],
                       aicr_quote(&q, text, strlen(text)), heads[i][1]);
    }
  }
  return true;
}

const cJSON *kube_config_file_first(const struct kube_config_file *f,
                                    enum kube_config_list list)
{
  const cJSON *items = kube_json_member(f->tree, lists[list].plural);
  return cJSON_IsArray(items) ? items->child : NULL;
}

struct kube_config_entry
kube_config_file_entry(const struct kube_config_file *f,
                       enum kube_config_list list, const cJSON *item)
{
  const cJSON *fields = kube_json_member(item, lists[list].word);
  return (struct kube_config_entry){.file = f,
                                    .list = list,
                                    .name = kube_json_text(item, "name"),
                                    .fields =
                                        cJSON_IsObject(fields) ? fields : NULL};
}

const char *kube_config_file_current(const struct kube_config_file *f)
{
  return kube_json_text(f->tree, "current-context");
}

static int compare_names(const void *a, const void *b)
{
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool check_distinct(const struct kube_config_file *f,
                           enum kube_config_list list, size_t count,
                           struct aicr_error *err)
{
  struct aicr_quoted path, name;
  bool ok = true;
  size_t n = 0;
  const char **names = count > 0 ? aicr_calloc(count, sizeof *names) : NULL;
  if (names == NULL) {
    return count == 0 || kube_config_no_memory(err);
  }
  for (const cJSON *i = kube_config_file_first(f, list); i != NULL;
       i = i->next) {
    names[n++] = kube_json_text(i, "name");
  }
  qsort(names, count, sizeof *names, compare_names);
  for (size_t i = 1; i < count && ok; i++) {
    if (strcmp(names[i - 1], names[i]) == 0) {
      ok = aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                     "%s: duplicate %s %s: rename or remove one",
                     aicr_quote(&path, f->path, strlen(f->path)),
                     lists[list].word,
                     aicr_quote(&name, names[i], strlen(names[i])));
    }
  }
  aicr_free(names);
  return ok;
}

static bool bad_item(const struct kube_config_file *f,
                     enum kube_config_list list, size_t index,
                     const cJSON *item, const char *what,
                     struct aicr_error *err)
{
  const char *name = kube_json_text(item, "name"), *plural = lists[list].plural;
  struct aicr_quoted path, q;
  aicr_quote(&path, f->path, strlen(f->path));
  return name[0] == '\0'
             ? aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                         "%s: %s[%zu] %s", path.text, plural, index, what)
             : aicr_fail(err, AICR_INVALID_REQUEST, "config-invalid",
                         "%s: %s[%zu] %s: %s", path.text, plural, index,
                         aicr_quote(&q, name, strlen(name)), what);
}

static bool check_list(const struct kube_config_file *f,
                       enum kube_config_list list, struct aicr_error *err)
{
  size_t count = 0;
  char what[KUBE_CONFIG_WHAT_MAX];
  for (const cJSON *i = kube_config_file_first(f, list); i != NULL;
       i = i->next, count++) {
    if (count == ENTRIES_MAX) {
      return bad_file(f, err, "it has more than 10000 entries of a kind");
    }
    if (!kube_config_item_types(list, i, what)) {
      return bad_item(f, list, count, i, what, err);
    }
  }
  return check_distinct(f, list, count, err);
}

static bool check(const struct kube_config_file *f, struct aicr_error *err)
{
  char what[KUBE_CONFIG_WHAT_MAX];
  if (f->tree == NULL || cJSON_IsNull(f->tree)) {
    return true;
  }
  if (!cJSON_IsObject(f->tree)) {
    return bad_file(f, err, "it is no object, as a kubeconfig is");
  }
  if (!kube_config_top_types(f->tree, what)) {
    return bad_file(f, err, what);
  }
  bool ok = check_head(f, err);
  for (int list = 0; list < KUBE_CONFIG_LISTS && ok; list++) {
    ok = check_list(f, (enum kube_config_list)list, err);
  }
  return ok;
}

static bool holds_secrets(const struct kube_config_file *f)
{
  static const char *const secrets[] = {"token", "password", "client-key-data"};
  for (const cJSON *i = kube_config_file_first(f, KUBE_CONFIG_USERS); i != NULL;
       i = i->next) {
    struct kube_config_entry e =
        kube_config_file_entry(f, KUBE_CONFIG_USERS, i);
    for (size_t s = 0; s < sizeof secrets / sizeof secrets[0]; s++) {
      if (kube_json_text(e.fields, secrets[s])[0] != '\0') {
        return true;
      }
    }
  }
  return false;
}

/* The folder's path as it stands, links and ".." kept: as client-go. */
static bool find_folder(struct kube_config_file *f, struct aicr_error *err)
{
  const char *slash = strrchr(f->path, '/');
  char here[PATH_MAX] = "";
  struct aicr_buf b;
  if (f->path[0] != '/' && getcwd(here, sizeof here) == NULL) {
    return bad_file(f, err, "the current folder has no path");
  }
  aicr_buf_init(&b, (size_t)4 * PATH_MAX);
  aicr_buf_adds(&b, here);
  if (slash != NULL && here[0] != '\0') {
    aicr_buf_addc(&b, '/');
  }
  aicr_buf_add(&b, f->path, slash != NULL ? (size_t)(slash - f->path) : 0);
  if (b.len == 0) {
    aicr_buf_addc(&b, '/');
  }
  f->folder = b.data;
  return !b.failed || kube_config_no_memory(err);
}

bool kube_config_file_open(struct kube_config_file *f, const char *path,
                           bool *absent, struct aicr_buf *warnings,
                           struct aicr_error *err)
{
  struct aicr_quoted q;
  struct aicr_buf text;
  const char *problem = NULL;
  bool exposed = false;
  *f = (struct kube_config_file){0};
  *absent = false;
  if (!kube_config_copy(&f->path, path, err)) {
    return false;
  }
  enum kube_config_found found =
      kube_config_read(path, &text, &exposed, &problem);
  *absent = found == KUBE_CONFIG_ABSENT;
  bool ok = found == KUBE_CONFIG_READ || *absent;
  if (!ok) {
    ok = found == KUBE_CONFIG_NO_MEMORY ? kube_config_no_memory(err)
                                        : bad_file(f, err, problem);
  }
  ok = ok && (*absent || (find_folder(f, err) &&
                          to_tree(f, &text, warnings, err) && check(f, err)));
  if (ok && exposed && holds_secrets(f)) {
    aicr_buf_addf(warnings,
                  "%s holds secrets and others than its owner may read it: "
                  "chmod 600\n",
                  aicr_quote(&q, path, strlen(path)));
  }
  aicr_buf_free(&text);
  return ok;
}

static void wipe_tree(cJSON *item)
{
  for (; item != NULL; item = item->next) {
    if (item->valuestring != NULL) {
      explicit_bzero(item->valuestring, strlen(item->valuestring));
    }
    wipe_tree(item->child);
  }
}

void kube_config_file_close(struct kube_config_file *f)
{
  wipe_tree(f->tree);
  cJSON_Delete(f->tree);
  aicr_free(f->path);
  aicr_free(f->folder);
  *f = (struct kube_config_file){0};
}
