/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SPEC_C_WIRE_PKI_H
#define SPEC_C_WIRE_PKI_H

#include <stddef.h>

/* Certificates that are made when a test begins: two authorities that know
 * nothing of each other, and what they signed. */

enum wire_certificate {
  WIRE_PLAIN,       /* no TLS */
  WIRE_GOOD,        /* of the first authority, for 127.0.0.1 and localhost */
  WIRE_OTHER_HOST,  /* … for inner.test only */
  WIRE_EXPIRED,     /* … ended yesterday */
  WIRE_SELF_SIGNED, /* of nobody, for 127.0.0.1 */
  WIRE_OTHER_CA,    /* of the second authority, for 127.0.0.1 */
  WIRE_CLIENT,      /* of the first authority, for the user "anna" */
  WIRE_CLIENT_TWO,  /* … "berta" */
  WIRE_CERTIFICATES
};

struct wire_pki {
  char *ca, *other_ca; /* PEM */
  struct {
    char *certificate, *key; /* PEM; NULL for WIRE_PLAIN */
  } of[WIRE_CERTIFICATES];
};

/* Ends the program when OpenSSL cannot. */
void wire_pki_make(struct wire_pki *pki);
void wire_pki_free(struct wire_pki *pki);

#endif
