/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <string.h>

#include "core/text.h"
#include "kube/config_fields.h"
#include "kube/config_read.h"
#include "kube/json_tree.h"

#define EXTENSION "client.authentication.k8s.io/exec"
#define GROUP     "client.authentication.k8s.io/"

#define PRINTED_MAX ((size_t)16 << 20) /* of JSON of at most 2 MiB */

void kube_config_free_exec(struct kube_exec_plugin *exec)
{
  if (exec == NULL) {
    return;
  }
  for (size_t i = 0; i < exec->arg_count; i++) {
    kube_config_wipe_text(&exec->args[i]);
  }
  for (size_t i = 0; i < exec->env_count; i++) {
    kube_config_wipe_text(&exec->env[i].name);
    kube_config_wipe_text(&exec->env[i].value);
  }
  aicr_free(exec->args);
  aicr_free(exec->env);
  kube_config_wipe_text(&exec->api_version);
  kube_config_wipe_text(&exec->command);
  kube_config_wipe_text(&exec->install_hint);
  kube_config_wipe_text(&exec->cluster_config);
  aicr_free(exec);
}

static bool take_version(const struct kube_config_entry *e, const cJSON *from,
                         struct kube_exec_plugin *to, struct aicr_error *err)
{
  const char *version = kube_json_text(from, "apiVersion");
  struct aicr_quoted q;
  if (version[0] == '\0') {
    return kube_config_bad(e, err, "exec.apiVersion is missing");
  }
  if (strcmp(version, GROUP "v1") != 0 &&
      strcmp(version, GROUP "v1beta1") != 0) {
    return kube_config_bad(e, err,
                           "exec has an invalid apiVersion %s: " GROUP
                           "v1 and v1beta1 are known, so update the plug-in "
                           "and this entry",
                           aicr_quote(&q, version, strlen(version)));
  }
  return kube_config_copy(&to->api_version, version, err);
}

static bool take_mode(const struct kube_config_entry *e, const cJSON *from,
                      struct kube_exec_plugin *to, struct aicr_error *err)
{
  static const char *const modes[] = {[KUBE_INTERACTIVE_NEVER] = "Never",
                                      [KUBE_INTERACTIVE_IF_AVAILABLE] =
                                          "IfAvailable",
                                      [KUBE_INTERACTIVE_ALWAYS] = "Always"};
  const char *mode = kube_json_text(from, "interactiveMode");
  struct aicr_quoted q;
  if (mode[0] == '\0' && strcmp(to->api_version, GROUP "v1") == 0) {
    return kube_config_bad(e, err,
                           "exec.interactiveMode is missing, " GROUP
                           "v1 requires it: Never, IfAvailable or Always");
  }
  to->interactive = KUBE_INTERACTIVE_IF_AVAILABLE;
  for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++) {
    if (strcmp(mode, modes[i]) == 0) {
      to->interactive = (enum kube_interactive)i;
      return true;
    }
  }
  return mode[0] == '\0' ||
         kube_config_bad(e, err,
                         "exec.interactiveMode is %s, expected Never, "
                         "IfAvailable or Always",
                         aicr_quote(&q, mode, strlen(mode)));
}

/* A bare word is looked for in PATH, a relative path starts at the file. */
static bool take_command(const struct kube_config_entry *e, const cJSON *from,
                         struct kube_exec_plugin *to, struct aicr_error *err)
{
  const char *command = kube_json_text(from, "command");
  if (command[0] == '\0') {
    return kube_config_bad(e, err, "exec.command is missing");
  }
  if (strchr(command, '/') == NULL) {
    return kube_config_copy(&to->command, command, err);
  }
  to->command = kube_config_path(e, command);
  return to->command != NULL || kube_config_no_memory(err);
}

static bool take_args(const cJSON *list, struct kube_exec_plugin *to,
                      struct aicr_error *err)
{
  size_t count = (size_t)cJSON_GetArraySize(list);
  if (count == 0) {
    return true;
  }
  to->args = aicr_calloc(count, sizeof *to->args);
  if (to->args == NULL) {
    return kube_config_no_memory(err);
  }
  for (const cJSON *v = list->child; v != NULL; v = v->next) {
    if (!kube_config_copy(&to->args[to->arg_count], v->valuestring, err)) {
      return false;
    }
    to->arg_count++;
  }
  return true;
}

static bool take_env(const struct kube_config_entry *e, const cJSON *list,
                     struct kube_exec_plugin *to, struct aicr_error *err)
{
  size_t count = (size_t)cJSON_GetArraySize(list);
  if (count == 0) {
    return true;
  }
  to->env = aicr_calloc(count, sizeof *to->env);
  if (to->env == NULL) {
    return kube_config_no_memory(err);
  }
  for (const cJSON *v = list->child; v != NULL; v = v->next) {
    struct kube_exec_env *row = &to->env[to->env_count++];
    const char *name = kube_json_text(v, "name");
    if (name[0] == '\0' || strchr(name, '=') != NULL) {
      return kube_config_bad(e, err,
                             "exec.env[%zu].name is missing or holds \"=\"",
                             to->env_count - 1);
    }
    if (!kube_config_copy(&row->name, name, err) ||
        !kube_config_copy(&row->value, kube_json_text(v, "value"), err)) {
      return false;
    }
  }
  return true;
}

bool kube_config_take_exec(const struct kube_config_entry *user,
                           struct kube_config *c, struct aicr_error *err)
{
  const cJSON *from = kube_json_member(user->fields, "exec");
  if (!cJSON_IsObject(from)) {
    return true;
  }
  struct kube_exec_plugin *to = aicr_calloc(1, sizeof *to);
  if (to == NULL) {
    return kube_config_no_memory(err);
  }
  c->exec = to;
  to->provide_cluster_info =
      cJSON_IsTrue(kube_json_member(from, "provideClusterInfo"));
  const char *hint = kube_json_text(from, "installHint");
  return take_version(user, from, to, err) && take_mode(user, from, to, err) &&
         take_command(user, from, to, err) &&
         take_args(kube_json_member(from, "args"), to, err) &&
         take_env(user, kube_json_member(from, "env"), to, err) &&
         (hint[0] == '\0' || kube_config_copy(&to->install_hint, hint, err));
}

/* A tree keeps larger numbers only about. */
static bool exact(const cJSON *v)
{
  const double most = 9007199254740992.0;
  if (cJSON_IsNumber(v) && !(fabs(v->valuedouble) < most)) {
    return false;
  }
  for (const cJSON *child = v->child; child != NULL; child = child->next) {
    if (!exact(child)) {
      return false;
    }
  }
  return true;
}

/* Into memory of ours, since cJSON does not wipe its own. */
static bool print(const cJSON *value, struct aicr_buf *out)
{
  for (size_t size = 1024; size <= PRINTED_MAX; size *= 2) {
    if (!aicr_buf_room(out, size)) {
      return false;
    }
    /* It takes a tree that is not const, and leaves it as it was. */
    if (cJSON_PrintPreallocated((cJSON *)value, out->data, (int)size, false)) {
      return true;
    }
  }
  return false;
}

static bool take_config(const struct kube_config_entry *e, const cJSON *value,
                        struct kube_config *c, struct aicr_error *err)
{
  struct aicr_buf text;
  if (!exact(value)) {
    return kube_config_bad(
        e, err, "the extension " EXTENSION " holds a number beyond 2^53");
  }
  aicr_buf_init(&text, PRINTED_MAX);
  text.secret = true;
  bool ok = print(value, &text)
                ? kube_config_copy(&c->exec->cluster_config, text.data, err)
                : kube_config_no_memory(err);
  aicr_buf_free(&text);
  return ok;
}

bool kube_config_take_extension(const struct kube_config_entry *cluster,
                                struct kube_config *c, struct aicr_error *err)
{
  const cJSON *list = kube_json_member(cluster->fields, "extensions");
  if (c->exec == NULL || !c->exec->provide_cluster_info || list == NULL) {
    return true;
  }
  for (const cJSON *v = list->child; v != NULL; v = v->next) {
    const cJSON *value = kube_json_member(v, "extension");
    if (strcmp(kube_json_text(v, "name"), EXTENSION) == 0 && value != NULL &&
        !cJSON_IsNull(value)) {
      return take_config(cluster, value, c, err);
    }
  }
  return true;
}
