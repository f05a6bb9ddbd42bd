/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_FAILURE_H
#define AICR_KUBE_FAILURE_H

#include "core/error.h"

/* What went wrong below HTTP. The names are those of recordings (design 9). */
enum kube_transport {
  KUBE_TRANSPORT_OK,
  KUBE_TRANSPORT_DEADLINE,
  KUBE_TRANSPORT_CANCELED,
  KUBE_TRANSPORT_SOCKET_TIMEOUT,
  KUBE_TRANSPORT_DNS_TIMEOUT,
  KUBE_TRANSPORT_REFUSED,
  KUBE_TRANSPORT_RESET,
  KUBE_TRANSPORT_HTTP2_LOST,
  KUBE_TRANSPORT_UNREACHABLE,
  KUBE_TRANSPORT_PIPE,
  KUBE_TRANSPORT_DNS,
  KUBE_TRANSPORT_TLS,
  KUBE_TRANSPORT_CUT,
  KUBE_TRANSPORT_COUNT
};
const char *kube_transport_name(enum kube_transport t); /* "" for OK */

/* KUBE_TRANSPORT_COUNT when there is no such name. */
enum kube_transport kube_transport_from_name(const char *name, size_t len);

enum kube_served { KUBE_SERVED_UNKNOWN, KUBE_SERVED_YES, KUBE_SERVED_NO };

/* The facts behind a failed call, `details` of its error object. */
struct kube_failure {
  int http; /* 0: no answer */
  enum kube_transport transport;
  char status_reason[64]; /* the Status's reason as sent, "" when none */
  char verb[16];
  char resource[256]; /* "networks.networking.gke.io" */
  char ns[64], name[256];
  unsigned attempts;
  enum kube_served served;
  bool admission; /* a write was refused by what it would have made, not by the
                   * user's permissions */
  size_t cause_count;
  struct {
    char reason[64], field[128], message[256];
  } causes[8];
};

#endif
