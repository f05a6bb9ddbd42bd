/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_KUBE_CONFIG_H
#define SPEC_C_KUBE_CONFIG_H

#include <ctype.h>

#include <cjson/cJSON.h>

#include "kube/config.h"

#include "folder.h"

/* A cluster's configuration from files and an environment that a row says. In
 * all its texts $D is the folder in which the files lie. */

/* What no message may hold. */
#define SECRET "hunter2"

#define PEM(label, text)                                                       \
  "-----BEGIN " label "-----\n" text "\n-----END " label "-----\n"
#define CERTIFICATE(text) PEM("CERTIFICATE", text)
#define KEY(text)         PEM("PRIVATE KEY", text)

/* CERTIFICATE("AAAA") and KEY("BBBB") in base64. */
#define CERTIFICATE_DATA                                                       \
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCkFBQUEKLS0tLS1FTkQgQ0VSVElGSUNBVEUtLS" \
  "0tLQo="
#define KEY_DATA                                                               \
  "LS0tLS1CRUdJTiBQUklWQVRFIEtFWS0tLS0tCkJCQkIKLS0tLS1FTkQgUFJJVkFURSBLRVktLS" \
  "0tLQo="

/* A kubeconfig of the cluster k, the user u, the context c; the fields are
 * those of flow mappings. */
#define CLUSTER(name, fields)                                                  \
  "clusters:\n- name: " name "\n  cluster: {" fields "}\n"
#define USER(name, fields) "users:\n- name: " name "\n  user: {" fields "}\n"
#define CONTEXT(name, fields)                                                  \
  "contexts:\n- name: " name "\n  context: {" fields "}\n"
#define SERVER  "server: \"https://h:6443\""
#define K       CLUSTER("k", SERVER)
#define U       USER("u", "token: " SECRET)
#define C       CONTEXT("c", "cluster: k, user: u")
#define CURRENT "current-context: c\n"
#define WITH_USER(fields)                                                      \
  {                                                                            \
    {                                                                          \
      "kc", CURRENT K USER("u", fields) C                                      \
    }                                                                          \
  }
#define WITH_CLUSTER(fields)                                                   \
  {                                                                            \
    {                                                                          \
      "kc", CURRENT CLUSTER("k", fields) U C                                   \
    }                                                                          \
  }

#define TOKEN     "token=" SECRET "\n"
#define FULL      CURRENT K U C
#define POD       .host = "10.0.0.1", .port = "443"
#define ANONYMOUS "no credentials: requests are anonymous\n"
#define EXEC(fields)                                                           \
  WITH_USER("exec: {apiVersion: client.authentication.k8s.io/v1beta1, "        \
            "command: p" fields "}")

/* NULL: not given, not set. */
struct asked {
  const char *kubeconfig, *context, *cluster, *user, *server, *token, *as, *ns;
  bool in_cluster;
  const char *env_kubeconfig, *home, *host, *port, *pod_namespace, *proxy;
};

static struct {
  struct folder folder;
  struct asked asked; /* with $D replaced */
  char texts[8][1024];
  size_t used;
  char account[128];
} world;

static inline void expand(const char *text, char *out, size_t size)
{
  size_t len = 0;
  for (const char *p = text; *p != '\0'; p++) {
    bool here = strncmp(p, "$D", 2) == 0;
    len += (size_t)snprintf(out + len, size - len, "%.*s", here ? 64 : 1,
                            here ? world.folder.path : p);
    assert_true(len + 1 < size);
    p += here;
  }
  out[len] = '\0';
}

static inline const char *expanded(const char *text)
{
  if (text == NULL) {
    return NULL;
  }
  char *out = world.texts[world.used++];
  assert_true(world.used <= COUNT(world.texts));
  expand(text, out, sizeof world.texts[0]);
  return out;
}

static inline const char *world_env(const char *name)
{
  const struct {
    const char *name, *value;
  } env[] = {{"KUBECONFIG", world.asked.env_kubeconfig},
             {"HOME", world.asked.home},
             {"KUBERNETES_SERVICE_HOST", world.asked.host},
             {"KUBERNETES_SERVICE_PORT", world.asked.port},
             {"POD_NAMESPACE", world.asked.pod_namespace},
             {"HTTPS_PROXY", world.asked.proxy},
             {"https_proxy", NULL},
             {"HTTP_PROXY", NULL},
             {"http_proxy", NULL},
             {"NO_PROXY", NULL},
             {"no_proxy", NULL}};
  for (size_t i = 0; i < COUNT(env); i++) {
    if (strcmp(env[i].name, name) == 0) {
      return env[i].value;
    }
  }
  fail_msg("%s was asked for", name);
  return NULL;
}

/* Without anything said the file is "kc". The account's folder is "sa". */
static inline struct kube_config_options options_of(const struct asked *a)
{
  bool none = a->kubeconfig == NULL && a->env_kubeconfig == NULL &&
              a->home == NULL && !a->in_cluster;
  world.asked = *a;
  world.used = 0;
  world.asked.env_kubeconfig = expanded(a->env_kubeconfig);
  world.asked.home = expanded(a->home);
  snprintf(world.account, sizeof world.account, "%s/sa", world.folder.path);
  return (struct kube_config_options){
      .kubeconfig = none ? expanded("$D/kc") : expanded(a->kubeconfig),
      .context = a->context,
      .cluster = a->cluster,
      .user = a->user,
      .server = a->server,
      .token = a->token,
      .as = a->as,
      .ns = a->ns,
      .in_cluster = a->in_cluster,
      .env = world_env,
      .service_account = world.account};
}

static inline void world_open(const struct file *files)
{
  char text[8192];
  folder_make(&world.folder);
  for (size_t i = 0; i < FILES_MAX && files[i].path != NULL; i++) {
    char path[256];
    expand(files[i].text, text, sizeof text);
    folder_text(&world.folder, files[i].path, text);
    folder_path(&world.folder, files[i].path, path, sizeof path);
    assert_int_equal(chmod(path, 0600), 0);
  }
}

static inline void world_close(void)
{
  folder_remove(&world.folder);
}

static inline void show_text(struct aicr_buf *b, const char *name,
                             const char *text)
{
  if (text != NULL) {
    aicr_buf_addf(b, "%s=%s\n", name, text);
  }
}

/* PEM by the first line in it. */
static inline void show_pem(struct aicr_buf *b, const char *name,
                            const struct aicr_buf *pem)
{
  if (pem->len > 0) {
    const char *line = strstr(pem->data, "-----BEGIN");
    assert_non_null(line);
    line = strchr(line, '\n');
    assert_non_null(line);
    aicr_buf_addf(b, "%s=%.*s\n", name, (int)strcspn(line + 1, "\r\n"),
                  line + 1);
  }
}

static inline void show_exec(struct aicr_buf *b,
                             const struct kube_exec_plugin *e)
{
  static const char *const modes[] = {"Never", "IfAvailable", "Always"};
  aicr_buf_addf(b, "exec=%s", e->command);
  for (size_t i = 0; i < e->arg_count; i++) {
    aicr_buf_addf(b, " [%s]", e->args[i]);
  }
  aicr_buf_addf(b, " %s %s%s\n", strrchr(e->api_version, '/') + 1,
                modes[e->interactive],
                e->provide_cluster_info ? " +cluster" : "");
  for (size_t i = 0; i < e->env_count; i++) {
    aicr_buf_addf(b, "exec.env=%s=%s\n", e->env[i].name, e->env[i].value);
  }
  show_text(b, "exec.hint", e->install_hint);
  show_text(b, "exec.config", e->cluster_config);
}

/* Everything that is set, a line each; what is as in most rows is left out. */
static inline void show_config(struct aicr_buf *b, const struct kube_config *c)
{
  if (strcmp(c->source, expanded("$D/kc")) != 0) {
    show_text(b, "source", c->source);
  }
  if (c->context == NULL || strcmp(c->context, "c") != 0) {
    show_text(b, "context", c->context == NULL ? "none" : c->context);
  }
  if (strcmp(c->ns, "default") != 0) {
    show_text(b, "ns", c->ns);
  }
  if (strcmp(c->server, "https://h:6443") != 0) {
    show_text(b, "server", c->server);
  }
  show_text(b, "tls", c->tls_server_name);
  show_text(b, "insecure", c->insecure ? "true" : NULL);
  show_text(b, "plain", c->no_compression ? "true" : NULL);
  show_pem(b, "ca", &c->ca);
  show_text(b, "proxy", c->proxy);
  show_pem(b, "certificate", &c->certificate);
  show_pem(b, "key", &c->key);
  show_text(b, "token", c->token);
  show_text(b, "tokenFile", c->token_file);
  show_text(b, "username", c->username);
  show_text(b, "password", c->password);
  if (c->exec != NULL) {
    show_exec(b, c->exec);
  }
  show_text(b, "as", c->as.user);
  show_text(b, "as-uid", c->as.uid);
  for (size_t i = 0; i < c->as.group_count; i++) {
    show_text(b, "as-group", c->as.groups[i]);
  }
  for (size_t i = 0; i < c->as.extra_count; i++) {
    aicr_buf_addf(b, "as-extra=%s: %s\n", c->as.extra[i].name,
                  c->as.extra[i].value);
  }
}

/* No secret, one line, nothing that steers a terminal. */
static inline void check_message(const char *text, bool lines)
{
  assert_null(strstr(text, SECRET));
  assert_null(strstr(text, "BBBB"));
  for (const char *p = text; *p != '\0'; p++) {
    assert_true((lines && *p == '\n') || !iscntrl((unsigned char)*p));
  }
}

/* What is loaded, and what is said beside it. K and a number: the vector of
 * kubernetes-client.md 8, as section 0.2 corrects it. */
struct loaded {
  const char *what;
  struct file files[FILES_MAX];
  struct asked asked;
  const char *config;   /* show_config() */
  const char *warnings; /* all of them, "" none */
};

static inline void test_loaded(void **state)
{
  const struct loaded *row = *state;
  struct kube_config config;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct aicr_buf warnings, shown;
  char expected[2048];
  world_open(row->files);
  struct kube_config_options options = options_of(&row->asked);
  aicr_buf_init(&warnings, 1 << 16);
  aicr_buf_init(&shown, 1 << 16);
  bool ok = kube_config_load(&options, &config, &warnings, &err);
  assert_string_equal(err.message, "");
  assert_true(ok);
  show_config(&shown, &config);
  expand(row->config, expected, sizeof expected);
  assert_string_equal(shown.data != NULL ? shown.data : "", expected);
  expand(row->warnings, expected, sizeof expected);
  assert_string_equal(warnings.data != NULL ? warnings.data : "", expected);
  check_message(expected, true);
  aicr_buf_free(&warnings);
  aicr_buf_free(&shown);
  kube_config_free(&config);
  world_close();
}

/* What is refused, and in which words. K and a number: the vector of
 * kubernetes-client.md 8, as section 0.2 corrects it. */
struct refused {
  const char *what;
  struct file files[FILES_MAX];
  struct asked asked;
  const char *reason;
  const char *message; /* all of it */
};

#define INVALID "config-invalid"

#define GIVE "; give --kubeconfig FILE, or --recording DIR to check a recording"

static inline void test_refused(void **state)
{
  const struct refused *row = *state;
  struct kube_config config;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct aicr_buf warnings;
  char expected[2048];
  world_open(row->files);
  struct kube_config_options options = options_of(&row->asked);
  aicr_buf_init(&warnings, 1 << 16);
  assert_false(kube_config_load(&options, &config, &warnings, &err));
  expand(row->message, expected, sizeof expected);
  assert_string_equal(err.message, expected);
  assert_string_equal(err.reason, row->reason);
  assert_int_equal(err.code, AICR_INVALID_REQUEST);
  assert_false(err.verdict);
  check_message(err.message, false);
  check_message(warnings.data != NULL ? warnings.data : "", true);
  aicr_buf_free(&warnings);
  kube_config_free(&config);
  world_close();
}

#endif
