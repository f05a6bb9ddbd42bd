/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORD_START_H
#define AICR_KUBE_RECORD_START_H

#include "kube/client.h"
#include "kube/record.h"

/* Begins a recording of all that the client will be answered: asks the server
 * for its version and for what it serves, since a replay needs to know what is
 * absent. What it does not tell within a few seconds is a warning, and is
 * missing. Errors: those of kube_record_open(). */
bool kube_record_start(struct kube_client *c, const char *folder,
                       const struct kube_record_facts *facts,
                       struct aicr_buf *warnings, struct aicr_error *err);

#endif
