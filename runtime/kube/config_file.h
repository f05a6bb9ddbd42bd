/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CONFIG_FILE_H
#define AICR_KUBE_CONFIG_FILE_H

#include <cjson/cJSON.h>

#include "core/buffer.h"

/* One kubeconfig file: YAML or JSON whose known fields have their types, and
 * whose names are there and differ within their list. What the values mean is
 * looked at only for the entries that are used. */

enum kube_config_list {
  KUBE_CONFIG_CLUSTERS,
  KUBE_CONFIG_USERS,
  KUBE_CONFIG_CONTEXTS,
  KUBE_CONFIG_LISTS
};

struct kube_config_file {
  char *path;   /* as it was named */
  char *folder; /* absolute: what relative paths in it start from */
  cJSON *tree;  /* NULL: an empty file */
};

struct kube_config_entry {
  const struct kube_config_file *file;
  enum kube_config_list list;
  const char *name;
  const cJSON *fields; /* NULL: none */
};

/* Errors: INVALID_REQUEST/"config-invalid" with the file, its line or field,
 * never a value. *absent: there is no such file, and no error. Close it in any
 * case. */
bool kube_config_file_open(struct kube_config_file *f, const char *path,
                           bool *absent, struct aicr_buf *warnings,
                           struct aicr_error *err);
void kube_config_file_close(struct kube_config_file *f);

/* "" when it names none. */
const char *kube_config_file_current(const struct kube_config_file *f);

/* The list's items, NULL when there are none: for kube_config_file_entry(). */
const cJSON *kube_config_file_first(const struct kube_config_file *f,
                                    enum kube_config_list list);
struct kube_config_entry
kube_config_file_entry(const struct kube_config_file *f,
                       enum kube_config_list list, const cJSON *item);

/* "cluster", "user" or "context". */
const char *kube_config_list_word(enum kube_config_list list);

/* INVALID_REQUEST/"config-invalid": "FILE": user "NAME": … */
bool kube_config_bad(const struct kube_config_entry *e, struct aicr_error *err,
                     const char *fmt, ...) AICR_PRINTF(3, 4);

#endif
