/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_LIBRARY_H
#define AICR_KUBE_LIBRARY_H

#include <stdbool.h>

/* The libcurl that this process runs with, which may be another than it was
 * built with. */
struct kube_library {
  const char *curl; /* its version: "7.88.1" */
  const char *tls;  /* "OpenSSL/3.0.15", "" without TLS */
  bool http2, gzip;
};

void kube_library_facts(struct kube_library *out);

#endif
