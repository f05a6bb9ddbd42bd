/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CONFIG_FIELDS_H
#define AICR_KUBE_CONFIG_FIELDS_H

#include "kube/config.h"
#include "kube/config_file.h"

/* What the entries of a kubeconfig that are used mean (kubernetes-client.md
 * 1.3). Errors: "config-invalid", "config-unsupported-auth". */

/* server (unless it is overridden), TLS and proxy. */
bool kube_config_take_cluster(const struct kube_config_entry *e,
                              bool needs_server, struct kube_config *c,
                              struct aicr_buf *warnings,
                              struct aicr_error *err);

/* Credentials and impersonation. */
bool kube_config_take_user(const struct kube_config_entry *e,
                           struct kube_config *c, struct aicr_buf *warnings,
                           struct aicr_error *err);

/* users[].user.exec into c->exec. */
bool kube_config_take_exec(const struct kube_config_entry *user,
                           struct kube_config *c, struct aicr_error *err);

/* The cluster's extension for the plug-in, when that is told about the
 * cluster. */
bool kube_config_take_extension(const struct kube_config_entry *cluster,
                                struct kube_config *c, struct aicr_error *err);

void kube_config_free_exec(struct kube_exec_plugin *exec);

/* A path of the entry's file, made absolute. NULL without memory. */
char *kube_config_path(const struct kube_config_entry *e, const char *path);

/* A token as it may stand in a header, without the white space around it. NULL,
 * or what is wrong with it. */
const char *kube_config_token_problem(const char **token, size_t *len);

/* A value that may stand in a header. */
bool kube_config_is_header(const char *text);

#endif
