/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config_types.h"

#include <stdio.h>
#include <string.h>

#include "kube/json_tree.h"

enum type { TEXT, BOOLEAN, OBJECT, LIST, TEXTS, TEXT_LISTS };

struct field {
  const char *name;
  enum type type;
};

static const struct field top_fields[] = {
    {"apiVersion", TEXT}, {"kind", TEXT},  {"current-context", TEXT},
    {"clusters", LIST},   {"users", LIST}, {"contexts", LIST},
    {NULL, TEXT}};

static const struct field cluster_fields[] = {
    {"server", TEXT},
    {"tls-server-name", TEXT},
    {"insecure-skip-tls-verify", BOOLEAN},
    {"certificate-authority", TEXT},
    {"certificate-authority-data", TEXT},
    {"proxy-url", TEXT},
    {"disable-compression", BOOLEAN},
    {"extensions", LIST},
    {NULL, TEXT}};

static const struct field user_fields[] = {{"client-certificate", TEXT},
                                           {"client-certificate-data", TEXT},
                                           {"client-key", TEXT},
                                           {"client-key-data", TEXT},
                                           {"token", TEXT},
                                           {"tokenFile", TEXT},
                                           {"username", TEXT},
                                           {"password", TEXT},
                                           {"as", TEXT},
                                           {"as-uid", TEXT},
                                           {"as-groups", TEXTS},
                                           {"as-user-extra", TEXT_LISTS},
                                           {"auth-provider", OBJECT},
                                           {"exec", OBJECT},
                                           {NULL, TEXT}};

static const struct field context_fields[] = {
    {"cluster", TEXT}, {"user", TEXT}, {"namespace", TEXT}, {NULL, TEXT}};

static const struct field exec_fields[] = {{"apiVersion", TEXT},
                                           {"command", TEXT},
                                           {"args", TEXTS},
                                           {"env", LIST},
                                           {"installHint", TEXT},
                                           {"interactiveMode", TEXT},
                                           {"provideClusterInfo", BOOLEAN},
                                           {NULL, TEXT}};

static const struct field env_fields[] = {
    {"name", TEXT}, {"value", TEXT}, {NULL, TEXT}};

static const struct field name_fields[] = {{"name", TEXT}, {NULL, TEXT}};

static const char *is_now(const cJSON *v)
{
  return cJSON_IsBool(v)     ? "a boolean"
         : cJSON_IsNumber(v) ? "a number"
         : cJSON_IsString(v) ? "a string"
         : cJSON_IsArray(v)  ? "a list"
         : cJSON_IsObject(v) ? "an object"
                             : "null";
}

static bool wrong(char *what, const char *path, const cJSON *v,
                  const char *expected)
{
  bool scalar = cJSON_IsBool(v) || cJSON_IsNumber(v);
  const char *hint = "";
  if (scalar && strcmp(expected, "a string") == 0) {
    hint = ": write it in quotes";
  } else if (cJSON_IsString(v) && strcmp(expected, "a boolean") == 0) {
    hint = ": write true or false without quotes";
  }
  snprintf(what, KUBE_CONFIG_WHAT_MAX, "%s%sis %s, expected %s%s", path,
           path[0] == '\0' ? "" : " ", is_now(v), expected, hint);
  return false;
}

/* The elements of a list of texts. */
static bool texts(const char *path, const cJSON *list, char *what)
{
  char at[128];
  size_t i = 0;
  if (!cJSON_IsArray(list)) {
    return wrong(what, path, list, "a list of strings");
  }
  for (const cJSON *v = list->child; v != NULL; v = v->next, i++) {
    snprintf(at, sizeof at, "%s[%zu]", path, i);
    if (!cJSON_IsString(v)) {
      return wrong(what, at, v, "a string");
    }
  }
  return true;
}

static bool text_lists(const char *path, const cJSON *object, char *what)
{
  char at[128];
  size_t i = 0;
  if (!cJSON_IsObject(object)) {
    return wrong(what, path, object, "an object");
  }
  for (const cJSON *v = object->child; v != NULL; v = v->next, i++) {
    snprintf(at, sizeof at, "%s (key %zu)", path, i + 1);
    if (!cJSON_IsNull(v) && !texts(at, v, what)) {
      return false;
    }
  }
  return true;
}

static bool value(const struct field *f, const char *path, const cJSON *v,
                  char *what)
{
  switch (f->type) {
  case TEXT:
    return cJSON_IsString(v) || wrong(what, path, v, "a string");
  case BOOLEAN:
    return cJSON_IsBool(v) || wrong(what, path, v, "a boolean");
  case OBJECT:
    return cJSON_IsObject(v) || wrong(what, path, v, "an object");
  case LIST:
    return cJSON_IsArray(v) || wrong(what, path, v, "a list");
  case TEXTS:
    return texts(path, v, what);
  default:
    return text_lists(path, v, what);
  }
}

/* `prefix` ends in '.' when it is not empty. */
static bool object(const struct field *fields, const char *prefix,
                   const cJSON *v, char *what)
{
  char path[128];
  if (!cJSON_IsObject(v)) {
    snprintf(path, sizeof path, "%.*s",
             (int)(prefix[0] == '\0' ? 0 : strlen(prefix) - 1), prefix);
    return wrong(what, path, v, "an object");
  }
  for (const struct field *f = fields; f->name != NULL; f++) {
    const cJSON *member = kube_json_member(v, f->name);
    snprintf(path, sizeof path, "%s%s", prefix, f->name);
    if (member != NULL && !cJSON_IsNull(member) &&
        !value(f, path, member, what)) {
      return false;
    }
  }
  return true;
}

/* A list of objects, known by now to be a list or nothing. */
static bool objects(const struct field *fields, const char *name,
                    const cJSON *list, char *what)
{
  char prefix[96];
  size_t i = 0;
  for (const cJSON *v = list != NULL ? list->child : NULL; v != NULL;
       v = v->next, i++) {
    snprintf(prefix, sizeof prefix, "%s[%zu].", name, i);
    if (!object(fields, prefix, v, what)) {
      return false;
    }
  }
  return true;
}

static bool user(const cJSON *v, char *what)
{
  const cJSON *exec = kube_json_member(v, "exec");
  const cJSON *provider = kube_json_member(v, "auth-provider");
  return (!cJSON_IsObject(exec) ||
          (object(exec_fields, "exec.", exec, what) &&
           objects(env_fields, "exec.env", kube_json_member(exec, "env"),
                   what))) &&
         (!cJSON_IsObject(provider) ||
          object(name_fields, "auth-provider.", provider, what));
}

bool kube_config_top_types(const cJSON *top, char what[KUBE_CONFIG_WHAT_MAX])
{
  return object(top_fields, "", top, what);
}

bool kube_config_item_types(enum kube_config_list list, const cJSON *item,
                            char what[KUBE_CONFIG_WHAT_MAX])
{
  static const struct field *const fields[] = {cluster_fields, user_fields,
                                               context_fields};
  if (!object(name_fields, "", item, what)) {
    return false;
  }
  if (kube_json_text(item, "name")[0] == '\0') {
    snprintf(what, KUBE_CONFIG_WHAT_MAX, "has no name");
    return false;
  }
  const char *word = kube_config_list_word(list);
  const cJSON *v = kube_json_member(item, word);
  if (v == NULL || cJSON_IsNull(v)) {
    return true;
  }
  if (!cJSON_IsObject(v)) {
    return wrong(what, word, v, "an object");
  }
  return object(fields[list], "", v, what) &&
         (list != KUBE_CONFIG_USERS || user(v, what)) &&
         (list != KUBE_CONFIG_CLUSTERS ||
          objects(name_fields, "extensions", kube_json_member(v, "extensions"),
                  what));
}
