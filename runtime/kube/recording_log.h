/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_LOG_H
#define AICR_KUBE_RECORDING_LOG_H

#include <stdint.h>

#include "kube/recording_load.h"

/* Logs of containers in recordings: logs/NS/POD/CONTAINER[.previous].log, and
 * NS/POD/logs.txt as `kubectl cluster-info dump` writes it. They stay in their
 * files until they are asked for. */

/* What a request for a log asks for (ctx.k8s:logs). */
struct kube_log_query {
  char container[64]; /* "": the only one */
  bool previous;
  int64_t tail, limit; /* lines, bytes; -1: all */
  bool more;           /* something else: another log than the whole */
};
void kube_log_query_read(const char *query, struct kube_log_query *q);

/* Is it a container's whole log? */
bool kube_log_query_is_whole(const struct kube_log_query *q);

/* Cuts a whole log as the server would: the last lines, then the first bytes of
 * them. */
void kube_log_cut(const struct kube_log_query *q, struct aicr_buf *text);

/* Adds the logs below logs/. */
bool kube_rec_load_logs(struct kube_rec_loader *l, struct aicr_error *err);

/* Adds the logs of a pod that lie in one file of a dump, each between its START
 * and its END line. What a container wrote may hold such lines, so a log of
 * which there are several beginnings or ends is left out. */
bool kube_rec_load_dump_log(struct kube_rec_loader *l,
                            const struct kube_rec_input *in, const char *ns,
                            const char *pod, struct aicr_error *err);

/* After all were added. */
void kube_rec_sort_logs(struct kube_rec_store *s);

/* The log of a pod, NULL: it was not recorded. */
const struct kube_rec_log *kube_rec_find_log(const struct kube_rec_store *s,
                                             const char *ns, const char *pod,
                                             const struct kube_log_query *q);

#endif
