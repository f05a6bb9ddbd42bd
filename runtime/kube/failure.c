/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/failure.h"

#include <string.h>

static const char *const names[KUBE_TRANSPORT_COUNT] = {
    [KUBE_TRANSPORT_OK] = "",
    [KUBE_TRANSPORT_DEADLINE] = "deadline",
    [KUBE_TRANSPORT_CANCELED] = "canceled",
    [KUBE_TRANSPORT_SOCKET_TIMEOUT] = "socket-timeout",
    [KUBE_TRANSPORT_DNS_TIMEOUT] = "dns-timeout",
    [KUBE_TRANSPORT_REFUSED] = "refused",
    [KUBE_TRANSPORT_RESET] = "reset",
    [KUBE_TRANSPORT_HTTP2_LOST] = "http2-lost",
    [KUBE_TRANSPORT_UNREACHABLE] = "unreachable",
    [KUBE_TRANSPORT_PIPE] = "pipe",
    [KUBE_TRANSPORT_DNS] = "dns",
    [KUBE_TRANSPORT_TLS] = "tls",
    [KUBE_TRANSPORT_CUT] = "cut",
};

const char *kube_transport_name(enum kube_transport t)
{
  return (unsigned)t < KUBE_TRANSPORT_COUNT ? names[t] : "";
}

enum kube_transport kube_transport_from_name(const char *name, size_t len)
{
  unsigned t = KUBE_TRANSPORT_OK + 1;
  while (t < KUBE_TRANSPORT_COUNT &&
         (strlen(names[t]) != len || memcmp(names[t], name, len) != 0)) {
    t++;
  }
  return (enum kube_transport)t;
}
