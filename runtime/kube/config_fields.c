/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config_fields.h"

#include <stdio.h>
#include <string.h>

#include "core/base64.h"
#include "core/text.h"
#include "kube/config_pem.h"
#include "kube/config_read.h"
#include "kube/config_url.h"
#include "kube/credential_answer.h"
#include "kube/json_tree.h"

static const char *text_of(const struct kube_config_entry *e, const char *field)
{
  return kube_json_text(e->fields, field);
}

char *kube_config_path(const struct kube_config_entry *e, const char *path)
{
  struct aicr_buf b;
  aicr_buf_init(&b, KUBE_CONFIG_FILE_MAX * 2);
  if (path[0] != '/') {
    aicr_buf_adds(&b, e->file->folder);
    aicr_buf_adds(&b, strcmp(e->file->folder, "/") == 0 ? "" : "/");
  }
  aicr_buf_adds(&b, path);
  return b.data;
}

const char *kube_config_token_problem(const char **token, size_t *len)
{
  aicr_trim(token, len);
  return *len == 0                        ? "is empty"
         : kube_token_valid(*token, *len) ? NULL
                                          : "holds a character that no token "
                                            "may have";
}

bool kube_config_is_header(const char *text)
{
  for (const char *p = text; *p != '\0'; p++) {
    if ((unsigned char)*p < 0x20 || *p == 0x7f) {
      return false;
    }
  }
  return true;
}

/* People put a token or a key where the path of its file belongs: only what
 * looks like a path is shown. */
static bool shows(const char *path)
{
  return strlen(path) < 200 && kube_config_is_header(path) &&
         (path[0] == '/' || strncmp(path, "./", 2) == 0 ||
          strncmp(path, "../", 3) == 0);
}

/* "FIELD", and the path where it may be shown. */
struct described {
  char text[320];
};

static const char *describe(const struct kube_config_entry *e,
                            const char *field, struct described *out)
{
  const char *value = text_of(e, field), *folder = e->file->folder;
  struct aicr_quoted q;
  if (shows(value)) {
    snprintf(out->text, sizeof out->text, "%s %s", field,
             aicr_quote(&q, value, strlen(value)));
  } else {
    snprintf(out->text, sizeof out->text, "%s: the file that it names in %s",
             field, aicr_quote(&q, folder, strlen(folder)));
  }
  return out->text;
}

/* Reads the file that a field names. */
static bool read_named(const struct kube_config_entry *e, const char *field,
                       struct aicr_buf *text, bool *exposed,
                       struct aicr_error *err)
{
  const char *value = text_of(e, field), *problem = NULL;
  struct described d;
  char *path = kube_config_path(e, value);
  enum kube_config_found found = KUBE_CONFIG_NO_MEMORY;
  if (path != NULL) {
    found = kube_config_read(path, text, exposed, &problem);
  }
  if (found == KUBE_CONFIG_READ) {
    aicr_free(path);
    return true;
  }
  if (found == KUBE_CONFIG_NO_MEMORY) {
    kube_config_no_memory(err);
  } else {
    kube_config_bad(e, err, "%s: %s", describe(e, field, &d), problem);
  }
  kube_config_wipe_text(&path);
  return false;
}

static bool decode(const struct kube_config_entry *e, const char *field,
                   struct aicr_buf *out, struct aicr_error *err)
{
  const char *text = text_of(e, field);
  aicr_buf_init(out, KUBE_CONFIG_FILE_MAX);
  out->secret = true;
  if (aicr_base64_decode(text, strlen(text), out)) {
    return true;
  }
  return out->no_memory ? kube_config_no_memory(err)
                        : kube_config_bad(e, err, "%s is not base64", field);
}

/* One of FIELD (a path) and FIELD-data (base64), or none. */
static bool take_pem(const struct kube_config_entry *e, const char *const f[2],
                     enum kube_pem kind, struct aicr_buf *out,
                     struct aicr_buf *warnings, struct aicr_error *err)
{
  bool file = text_of(e, f[0])[0] != '\0', data = text_of(e, f[1])[0] != '\0';
  struct aicr_quoted q, p;
  struct described d;
  bool exposed = false;
  if (file && data) {
    return kube_config_bad(e, err, "%s and %s are both set: keep one", f[0],
                           f[1]);
  }
  if ((file && !read_named(e, f[0], out, &exposed, err)) ||
      (data && !decode(e, f[1], out, err))) {
    return false;
  }
  const char *problem =
      file || data ? kube_config_pem_problem(kind, out->data, out->len) : NULL;
  if (problem != NULL) {
    return kube_config_bad(e, err, "%s %s", file ? describe(e, f[0], &d) : f[1],
                           problem);
  }
  if (exposed && kind == KUBE_PEM_KEY) {
    aicr_buf_addf(warnings,
                  "%s: the client-key of user %s may be read by others than "
                  "its owner: chmod 600\n",
                  aicr_quote(&p, e->file->path, strlen(e->file->path)),
                  aicr_quote(&q, e->name, strlen(e->name)));
  }
  return true;
}

static bool take_server(const struct kube_config_entry *e,
                        struct kube_config *c, struct aicr_buf *warnings,
                        struct aicr_error *err)
{
  const char *text = text_of(e, "server"), *problem = NULL;
  struct aicr_quoted q, p;
  struct aicr_buf url;
  bool dropped = false;
  if (text[0] == '\0') {
    return kube_config_bad(e, err, "it has no server");
  }
  aicr_buf_init(&url, strlen(text) + 16);
  if (!kube_config_server_url(text, &url, &dropped, &problem)) {
    aicr_buf_free(&url);
    if (problem == NULL) {
      return kube_config_no_memory(err);
    }
    return kube_config_bad(
        e, err, "server%s%s %s", kube_config_url_shows(text) ? " " : "",
        kube_config_url_shows(text) ? aicr_quote(&q, text, strlen(text)) : "",
        problem);
  }
  c->server = url.data;
  if (dropped) {
    aicr_buf_addf(warnings,
                  "%s: query and fragment of the server of cluster %s are not "
                  "used\n",
                  aicr_quote(&p, e->file->path, strlen(e->file->path)),
                  aicr_quote(&q, e->name, strlen(e->name)));
  }
  return true;
}

bool kube_config_take_cluster(const struct kube_config_entry *e,
                              bool needs_server, struct kube_config *c,
                              struct aicr_buf *warnings, struct aicr_error *err)
{
  static const char *const ca[2] = {"certificate-authority",
                                    "certificate-authority-data"};
  const char *name = text_of(e, "tls-server-name");
  const char *proxy = text_of(e, "proxy-url");
  if ((needs_server && !take_server(e, c, warnings, err)) ||
      !take_pem(e, ca, KUBE_PEM_CERTIFICATE, &c->ca, warnings, err)) {
    return false;
  }
  c->insecure =
      cJSON_IsTrue(kube_json_member(e->fields, "insecure-skip-tls-verify"));
  c->no_compression =
      cJSON_IsTrue(kube_json_member(e->fields, "disable-compression"));
  if (c->insecure && c->ca.len > 0) {
    return kube_config_bad(e, err,
                           "insecure-skip-tls-verify does not go with a "
                           "certificate authority: remove one of them");
  }
  /* It belongs to the server of the file. */
  if (name[0] != '\0' && needs_server) {
    if (!kube_config_is_host(name)) {
      return kube_config_bad(e, err, "tls-server-name is not a host name");
    }
    if (!kube_config_copy(&c->tls_server_name, name, err)) {
      return false;
    }
  }
  if (proxy[0] == '\0') {
    return true;
  }
  const char *problem = kube_config_proxy_problem(proxy);
  return problem != NULL ? kube_config_bad(e, err, "proxy-url %s", problem)
                         : kube_config_copy(&c->proxy, proxy, err);
}

static bool set_token(const struct kube_config_entry *e, const char *where,
                      const char *data, size_t len, struct kube_config *c,
                      struct aicr_error *err)
{
  const char *problem = kube_config_token_problem(&data, &len);
  if (problem != NULL) {
    return kube_config_bad(e, err, "%s %s", where, problem);
  }
  c->token = aicr_strndup(data, len);
  return c->token != NULL || kube_config_no_memory(err);
}

static bool take_token_file(const struct kube_config_entry *e,
                            struct kube_config *c, struct aicr_error *err)
{
  struct aicr_buf text;
  struct described d;
  aicr_buf_init(&text, 0);
  bool ok = read_named(e, "tokenFile", &text, NULL, err) &&
            set_token(e, describe(e, "tokenFile", &d),
                      text.data != NULL ? text.data : "", text.len, c, err);
  aicr_buf_free(&text);
  return ok;
}

/* A token of the file itself is for the first request (1.3). */
static bool take_token(const struct kube_config_entry *e, struct kube_config *c,
                       struct aicr_error *err)
{
  const char *token = text_of(e, "token"), *file = text_of(e, "tokenFile");
  if (token[0] != '\0' &&
      !set_token(e, "token", token, strlen(token), c, err)) {
    return false;
  }
  if (file[0] == '\0') {
    return true;
  }
  c->token_file = kube_config_path(e, file);
  if (c->token_file == NULL) {
    return kube_config_no_memory(err);
  }
  return token[0] != '\0' || take_token_file(e, c, err);
}

static bool take_basic(const struct kube_config_entry *e, struct kube_config *c,
                       struct aicr_error *err)
{
  const char *name = text_of(e, "username"), *word = text_of(e, "password");
  if (name[0] == '\0' && word[0] == '\0') {
    return true;
  }
  if (name[0] == '\0') {
    return kube_config_bad(e, err, "password is set without username");
  }
  if (c->token != NULL) {
    return kube_config_bad(e, err,
                           "more than one authentication method: keep %s or "
                           "username and password",
                           c->token_file != NULL ? "tokenFile" : "token");
  }
  if (strchr(name, ':') != NULL) {
    return kube_config_bad(e, err, "username holds a colon");
  }
  return kube_config_copy(&c->username, name, err) &&
         kube_config_copy(&c->password, word, err);
}

static bool take_certificate(const struct kube_config_entry *e,
                             struct kube_config *c, struct aicr_buf *warnings,
                             struct aicr_error *err)
{
  static const char *const certificate[2] = {"client-certificate",
                                             "client-certificate-data"};
  static const char *const key[2] = {"client-key", "client-key-data"};
  if (!take_pem(e, certificate, KUBE_PEM_CERTIFICATE, &c->certificate, warnings,
                err) ||
      !take_pem(e, key, KUBE_PEM_KEY, &c->key, warnings, err)) {
    return false;
  }
  if ((c->certificate.len > 0) != (c->key.len > 0)) {
    return kube_config_bad(e, err, "client-%s is set without client-%s",
                           c->key.len > 0 ? "key" : "certificate",
                           c->key.len > 0 ? "certificate" : "key");
  }
  return true;
}

static bool refuse_provider(const struct kube_config_entry *e,
                            struct aicr_error *err)
{
  const cJSON *provider = kube_json_member(e->fields, "auth-provider");
  const char *name = kube_json_text(provider, "name");
  const char *cure = "use an exec plug-in instead";
  struct aicr_quoted path, user, q;
  if (!cJSON_IsObject(provider)) {
    return true;
  }
  if (cJSON_IsObject(kube_json_member(e->fields, "exec"))) {
    return kube_config_bad(e, err,
                           "auth-provider and exec are both set: keep exec");
  }
  if (strcmp(name, "gcp") == 0) {
    cure = "install gke-gcloud-auth-plugin and run: gcloud container clusters "
           "get-credentials CLUSTER";
  } else if (strcmp(name, "azure") == 0) {
    cure = "install kubelogin and run: kubelogin convert-kubeconfig";
  } else if (strcmp(name, "oidc") == 0) {
    cure = "use kubelogin (kubectl oidc-login) as an exec plug-in instead";
  }
  return aicr_fail(err, AICR_INVALID_REQUEST, "config-unsupported-auth",
                   "%s: user %s: auth-provider %s is not supported: %s",
                   aicr_quote(&path, e->file->path, strlen(e->file->path)),
                   aicr_quote(&user, e->name, strlen(e->name)),
                   aicr_quote(&q, name, strlen(name)), cure);
}

static bool add_groups(const cJSON *list, struct kube_impersonation *as,
                       struct aicr_error *err)
{
  size_t count = (size_t)cJSON_GetArraySize(list);
  if (count == 0) {
    return true;
  }
  as->groups = aicr_calloc(count, sizeof *as->groups);
  for (const cJSON *v = as->groups != NULL ? list->child : NULL; v != NULL;
       v = v->next) {
    if (!kube_config_copy(&as->groups[as->group_count], v->valuestring, err)) {
      return false;
    }
    as->group_count++;
  }
  return as->groups != NULL || kube_config_no_memory(err);
}

static bool add_extra(const cJSON *object, struct kube_impersonation *as,
                      struct aicr_error *err)
{
  size_t count = 0;
  for (const cJSON *k = object != NULL ? object->child : NULL; k != NULL;
       k = k->next) {
    count += (size_t)cJSON_GetArraySize(k);
  }
  if (count == 0) {
    return true;
  }
  as->extra = aicr_calloc(count, sizeof *as->extra);
  if (as->extra == NULL) {
    return kube_config_no_memory(err);
  }
  for (const cJSON *k = object->child; k != NULL; k = k->next) {
    for (const cJSON *v = k->child; v != NULL; v = v->next) {
      struct kube_exec_env *row = &as->extra[as->extra_count++];
      if (!kube_config_copy(&row->name, k->string, err) ||
          !kube_config_copy(&row->value, v->valuestring, err)) {
        return false;
      }
    }
  }
  return true;
}

static bool headers(const struct kube_impersonation *as)
{
  bool ok = (as->user == NULL || kube_config_is_header(as->user)) &&
            (as->uid == NULL || kube_config_is_header(as->uid));
  for (size_t i = 0; i < as->group_count; i++) {
    ok = ok && kube_config_is_header(as->groups[i]);
  }
  for (size_t i = 0; i < as->extra_count; i++) {
    ok = ok && as->extra[i].name[0] != '\0' &&
         kube_config_is_header(as->extra[i].value);
  }
  return ok;
}

static bool take_impersonation(const struct kube_config_entry *e,
                               struct kube_config *c, struct aicr_error *err)
{
  const char *user = text_of(e, "as"), *uid = text_of(e, "as-uid");
  if ((user[0] != '\0' && !kube_config_copy(&c->as.user, user, err)) ||
      (uid[0] != '\0' && !kube_config_copy(&c->as.uid, uid, err)) ||
      !add_groups(kube_json_member(e->fields, "as-groups"), &c->as, err) ||
      !add_extra(kube_json_member(e->fields, "as-user-extra"), &c->as, err)) {
    return false;
  }
  return headers(&c->as) ||
         kube_config_bad(e, err,
                         "a value of as, as-uid, as-groups or as-user-extra "
                         "holds a control character, or a key is empty");
}

bool kube_config_take_user(const struct kube_config_entry *e,
                           struct kube_config *c, struct aicr_buf *warnings,
                           struct aicr_error *err)
{
  struct aicr_quoted path, q;
  if (!refuse_provider(e, err) || !take_token(e, c, err) ||
      !take_basic(e, c, err) || !take_certificate(e, c, warnings, err) ||
      !take_impersonation(e, c, err) || !kube_config_take_exec(e, c, err)) {
    return false;
  }
  if (c->exec != NULL &&
      (c->token != NULL || c->username != NULL || c->certificate.len > 0)) {
    kube_config_free_exec(c->exec);
    c->exec = NULL;
    aicr_buf_addf(warnings,
                  "%s: exec of user %s is not used: it has other credentials\n",
                  aicr_quote(&path, e->file->path, strlen(e->file->path)),
                  aicr_quote(&q, e->name, strlen(e->name)));
  }
  return true;
}
