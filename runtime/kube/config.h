/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CONFIG_H
#define AICR_KUBE_CONFIG_H

#include "core/buffer.h"

/* Which cluster, and as whom: kubeconfig files or the pod's own service
 * account, as kubernetes-client.md 1.1-1.4 as corrected by 0.2. Holds secrets:
 * never printed, wiped by kube_config_free(). */

struct kube_exec_env {
  char *name, *value;
};

enum kube_interactive {
  KUBE_INTERACTIVE_NEVER,
  KUBE_INTERACTIVE_IF_AVAILABLE,
  KUBE_INTERACTIVE_ALWAYS
};

/* users[].user.exec: a credential plug-in (1.5). */
struct kube_exec_plugin {
  char *api_version;
  char *command; /* absolute when relative to its kubeconfig, or a bare word */
  char **args;
  size_t arg_count;
  struct kube_exec_env *env;
  size_t env_count;
  char *install_hint;
  bool provide_cluster_info;
  enum kube_interactive interactive;
  char *cluster_config; /* JSON of the cluster's exec extension, or NULL */
};

struct kube_impersonation {
  char *user, *uid;
  char **groups;
  size_t group_count;
  struct kube_exec_env *extra; /* a row a value */
  size_t extra_count;
};

struct kube_config {
  char *source;  /* "FILE", "FILE:FILE" or "in-cluster": for messages */
  char *context; /* NULL in-cluster */
  char *ns;      /* "default" when none is named */

  char *server; /* scheme://authority[/prefix], no '/' at the end */
  char *tls_server_name;
  bool insecure;
  struct aicr_buf ca; /* PEM, empty: the system's */
  char *proxy;        /* proxy-url; NULL: none */
  char *env_proxy;    /* the environment's, where there is no other */
  bool no_compression;

  struct aicr_buf certificate, key; /* PEM, both or none */
  char *token, *token_file;         /* the file wins once it was read */
  char *username, *password;
  struct kube_exec_plugin *exec;
  struct kube_impersonation as;
};

/* What the command line said; NULL: nothing. Single values override what was
 * merged. */
struct kube_config_options {
  const char *kubeconfig, *context, *cluster, *user, *server, *token, *as, *ns;
  bool in_cluster;
  bool no_exec_plugins; /* a user whom only a plug-in can log in is refused */
  /* The environment; NULL: getenv. */
  const char *(*env)(const char *name);
  /* NULL: /var/run/secrets/kubernetes.io/serviceaccount */
  const char *service_account;
};

/* Fills *config (freed by the caller, also after a failure). Notes and
 * warnings are appended to *warnings, a line each. INVALID_REQUEST with reason
 * "config-not-found", "config-invalid", "context-not-found",
 * "config-unsupported-auth" or "exec-plugin-refused"; the message names file,
 * field and the way out, never a value that may be secret. Over http:// all
 * credentials are left out, with a warning. */
bool kube_config_load(const struct kube_config_options *options,
                      struct kube_config *config, struct aicr_buf *warnings,
                      struct aicr_error *err);

void kube_config_free(struct kube_config *config);

#endif
