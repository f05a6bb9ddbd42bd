/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_DUMP_H
#define AICR_KUBE_RECORDING_DUMP_H

#include "kube/recording_load.h"

/* The folders of `kubectl cluster-info dump --output-directory`: nodes.json,
 * NS/pods.json and the like, NS/POD/logs.txt. */

/* Sets l->dump_ns when NS/FILE lies in a namespace's folder: its lists are
 * typed, but those of that namespace only. */
bool kube_rec_find_dump(struct kube_rec_loader *l, const char *path,
                        struct aicr_error *err);

bool kube_rec_is_dump_log(const char *path);
bool kube_rec_visit_dump_log(struct kube_rec_loader *l,
                             const struct kube_rec_input *in,
                             struct aicr_error *err);

#endif
