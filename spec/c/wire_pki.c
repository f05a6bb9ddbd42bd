/* SPDX-License-Identifier: Apache-2.0 */
#include "wire_pki.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#define DAY 86400L

static void require(int ok)
{
  if (!ok) {
    fputs("OpenSSL cannot make a test certificate\n", stderr);
    abort();
  }
}

struct identity {
  X509 *certificate;
  EVP_PKEY *key;
};

static void extend(X509 *x, X509 *issuer, int nid, const char *value)
{
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, x, NULL, NULL, 0);
  X509_EXTENSION *e = X509V3_EXT_conf_nid(NULL, &context, nid, value);
  require(e != NULL && X509_add_ext(x, e, -1) == 1);
  X509_EXTENSION_free(e);
}

/* A certificate for the common name; without an issuer signed by itself,
 * without alternative names that of an authority. */
static struct identity make(const char *name, const char *alternative,
                            const struct identity *issuer, long end)
{
  static long serial = 1;
  struct identity id = {X509_new(), EVP_EC_gen("P-256")};
  require(id.certificate != NULL && id.key != NULL);
  X509 *x = id.certificate;
  X509_NAME *subject = X509_get_subject_name(x);
  const struct identity *by = issuer == NULL ? &id : issuer;
  require(X509_set_version(x, 2) == 1 &&
          ASN1_INTEGER_set(X509_get_serialNumber(x), serial++) == 1 &&
          X509_gmtime_adj(X509_getm_notBefore(x), -2 * DAY) != NULL &&
          X509_gmtime_adj(X509_getm_notAfter(x), end) != NULL &&
          X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC,
                                     (const unsigned char *)name, -1, -1,
                                     0) == 1);
  require(X509_set_issuer_name(x, X509_get_subject_name(by->certificate)) ==
              1 &&
          X509_set_pubkey(x, id.key) == 1);
  extend(x, by->certificate, NID_basic_constraints,
         alternative == NULL ? "critical,CA:TRUE" : "critical,CA:FALSE");
  extend(x, by->certificate, NID_subject_key_identifier, "hash");
  if (alternative != NULL && alternative[0] != '\0') {
    extend(x, by->certificate, NID_subject_alt_name, alternative);
  }
  require(X509_sign(x, by->key, EVP_sha256()) > 0);
  return id;
}

static char *text_of(BIO *bio)
{
  char *data = NULL;
  long len = BIO_get_mem_data(bio, &data);
  char *text = malloc((size_t)len + 1);
  require(text != NULL);
  memcpy(text, data, (size_t)len);
  text[len] = '\0';
  BIO_free(bio);
  return text;
}

static char *certificate_text(const struct identity *id)
{
  BIO *bio = BIO_new(BIO_s_mem());
  require(bio != NULL && PEM_write_bio_X509(bio, id->certificate) == 1);
  return text_of(bio);
}

static char *key_text(const struct identity *id)
{
  BIO *bio = BIO_new(BIO_s_mem());
  require(bio != NULL && PEM_write_bio_PrivateKey(bio, id->key, NULL, NULL, 0,
                                                  NULL, NULL) == 1);
  return text_of(bio);
}

static void drop(struct identity *id)
{
  X509_free(id->certificate);
  EVP_PKEY_free(id->key);
}

void wire_pki_make(struct wire_pki *pki)
{
#define HERE "IP:127.0.0.1,DNS:localhost"
  static const struct {
    const char *name, *alternative;
    int issuer; /* 0: itself */
    long end;
  } rows[WIRE_CERTIFICATES] = {
      [WIRE_GOOD] = {"server", HERE, 1, DAY},
      [WIRE_OTHER_HOST] = {"server", "DNS:inner.test", 1, DAY},
      [WIRE_EXPIRED] = {"server", HERE, 1, -DAY},
      [WIRE_SELF_SIGNED] = {"server", HERE, 0, DAY},
      [WIRE_OTHER_CA] = {"server", HERE, 2, DAY},
      [WIRE_CLIENT] = {"anna", "", 1, DAY},
      [WIRE_CLIENT_TWO] = {"berta", "", 1, DAY},
  };
  struct identity issuers[3] = {{NULL, NULL},
                                make("first CA", NULL, NULL, DAY),
                                make("second CA", NULL, NULL, DAY)};
  pki->ca = certificate_text(&issuers[1]);
  pki->other_ca = certificate_text(&issuers[2]);
  pki->of[WIRE_PLAIN].certificate = NULL;
  pki->of[WIRE_PLAIN].key = NULL;
  for (int i = WIRE_PLAIN + 1; i < WIRE_CERTIFICATES; i++) {
    const struct identity *by =
        rows[i].issuer == 0 ? NULL : &issuers[rows[i].issuer];
    struct identity id =
        make(rows[i].name, rows[i].alternative, by, rows[i].end);
    pki->of[i].certificate = certificate_text(&id);
    pki->of[i].key = key_text(&id);
    drop(&id);
  }
  drop(&issuers[1]);
  drop(&issuers[2]);
}

void wire_pki_free(struct wire_pki *pki)
{
  for (int i = 0; i < WIRE_CERTIFICATES; i++) {
    free(pki->of[i].certificate);
    free(pki->of[i].key);
  }
  free(pki->ca);
  free(pki->other_ca);
}
