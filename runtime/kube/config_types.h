/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_CONFIG_TYPES_H
#define AICR_KUBE_CONFIG_TYPES_H

#include "kube/config_file.h"

/* The types of a kubeconfig's known fields. YAML makes a boolean of an unquoted
 * y and a number of 12345: where a text belongs both are refused, as client-go
 * does. null is as good as absent; unknown fields are not looked at. */

#define KUBE_CONFIG_WHAT_MAX 256

/* The top level, with its lists being lists. False: `what` says which field is
 * of which type, without its value. */
bool kube_config_top_types(const cJSON *top, char what[KUBE_CONFIG_WHAT_MAX]);

/* An item of a list: its name and all known fields below. */
bool kube_config_item_types(enum kube_config_list list, const cJSON *item,
                            char what[KUBE_CONFIG_WHAT_MAX]);

#endif
