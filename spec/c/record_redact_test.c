/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/record_redact.h"

#include "rows.h"

#include "torture.h"

#define GONE "\"" KUBE_REDACTED "\""
#define WEB  "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl"
#define PEM  "-----BEGIN RSA PRIVATE KEY-----\\nMIIE\\n"

struct row {
  const char *what, *text;
  bool secret;      /* it is an item of a list of Secrets */
  const char *want; /* NULL: nothing to redact */
};

static const struct row table[] = {
    {"a Secret",
     "{\"kind\":\"Secret\", \"data\": {\"a\":\"eA==\"} ,\"type\":\"Opaque\"}",
     false, "{\"kind\":\"Secret\", \"data\": " GONE " ,\"type\":\"Opaque\"}"},
    {"its kind comes after the data, twice",
     "{\"stringData\":{\"a\":[{\"b\":\"x\"}]},\"data\":{},\"kind\":\"Secret\"}",
     false, "{\"stringData\":" GONE ",\"data\":" GONE ",\"kind\":\"Secret\"}"},
    {"repeated data", "{\"data\":{\"a\":\"x\"},\"data\":{\"b\":\"y\"}}", true,
     "{\"data\":" GONE ",\"data\":" GONE "}"},
    {"an item of a list of Secrets", "{\"metadata\":{},\"data\":{\"a\":\"x\"}}",
     true, "{\"metadata\":{},\"data\":" GONE "}"},
    {"a Secret without data", "{\"kind\":\"Secret\",\"data\":null}", false,
     NULL},
    {"escapes are read", "{\"k\\u0069nd\":\"Secre\\u0074\",\"d\\u0061ta\":{}}",
     false, "{\"k\\u0069nd\":\"Secre\\u0074\",\"d\\u0061ta\":" GONE "}"},
    {"data of another kind", "{\"kind\":\"ConfigMap\",\"data\":{\"a\":\"x\"}}",
     false, NULL},
    {"a Secret in a List of three",
     "{\"kind\":\"List\",\"items\":[{\"kind\":\"ConfigMap\",\"data\":{\"a\":"
     "\"x\"}},{\"kind\":\"Secret\",\"data\":{\"a\":\"x\"}},{\"data\":{}}]}",
     false,
     "{\"kind\":\"List\",\"items\":[{\"kind\":\"ConfigMap\",\"data\":{\"a\":"
     "\"x\"}},{\"kind\":\"Secret\",\"data\":" GONE "},{\"data\":{}}]}"},
    {"a manifest within an object",
     "{\"spec\":{\"manifests\":[[{\"data\":{\"t\":\"x\"},\"kind\":\"Secret\"}]]"
     ",\"data\":{\"a\":1}}}",
     false,
     "{\"spec\":{\"manifests\":[[{\"data\":" GONE ",\"kind\":\"Secret\"}]],"
     "\"data\":{\"a\":1}}}"},
    {"last-applied-configuration of a Secret",
     "{\"metadata\":{\"annotations\":{\"x\":\"y\","
     "\"kubectl.kubernetes.io/last-applied-configuration\":"
     "\"{\\\"kind\\\":\\\"Secret\\\",\\\"data\\\":{\\\"a\\\":\\\"x\\\"}}\\n\"}}"
     "}",
     false,
     "{\"metadata\":{\"annotations\":{\"x\":\"y\","
     "\"kubectl.kubernetes.io/last-applied-configuration\":" GONE "}}}"},
    {"last-applied-configuration of a Pod with a token",
     "{\"a\":\"{\\\"env\\\":[{\\\"name\\\":\\\"HF_TOKEN\\\",\\\"value\\\":"
     "\\\"hf_1\\\"}]}\"}",
     false, "{\"a\":" GONE "}"},
    {"…of one without", "{\"a\":\"{\\\"kind\\\":\\\"Pod\\\"}\"}", false, NULL},
    {"a document in a document in a text",
     "{\"a\":\"[\\\"{\\\\\\\"token\\\\\\\":\\\\\\\"x\\\\\\\"}\\\"]\"}", false,
     "{\"a\":" GONE "}"},
    {"broken JSON that names a Secret",
     "{\"a\":\"{\\\"kind\\\":\\\"Secret\\\",\"}", false, "{\"a\":" GONE "}"},
    {"a manifest in YAML",
     "{\"data\":{\"x.yaml\":\"a: b\\nkind: Secret\\n\",\"y\":\"kind: Pod\"}}",
     false, "{\"data\":{\"x.yaml\":" GONE ",\"y\":\"kind: Pod\"}}"},
    {"variables of a container",
     "{\"env\":[{\"name\":\"HF_TOKEN\",\"value\":\"hf_1\"},{\"value\":\"k\","
     "\"name\":\"NGC_API_KEY\"},{\"name\":\"NCCL_IB_PKEY\",\"value\":\"4\"}]}",
     false,
     "{\"env\":[{\"name\":\"HF_TOKEN\",\"value\":" GONE "},{\"value\":" GONE
     ",\"name\":\"NGC_API_KEY\"},{\"name\":\"NCCL_IB_PKEY\",\"value\":\"4\"}]"
     "}"},
    {"a variable that says where a secret is",
     "{\"name\":\"AWS_WEB_IDENTITY_TOKEN_FILE\",\"value\":\"/var/run/t\"}",
     false, NULL},
    {"a variable that comes from a Secret",
     "{\"name\":\"HF_TOKEN\",\"valueFrom\":{\"secretKeyRef\":{\"key\":\"t\"}}}",
     false, NULL},
    {"variables of a ConfigMap",
     "{\"kind\":\"ConfigMap\",\"data\":{\"HF_TOKEN\":\"x\",\"NCCL_DEBUG\":"
     "\"INFO\",\"password\":\"y\"}}",
     false,
     "{\"kind\":\"ConfigMap\",\"data\":{\"HF_TOKEN\":" GONE ",\"NCCL_DEBUG\":"
     "\"INFO\",\"password\":" GONE "}}"},
    {"an answer to a request for a token",
     "{\"kind\":\"TokenRequest\",\"status\":{\"token\":\"abc\"}}", false,
     "{\"kind\":\"TokenRequest\",\"status\":{\"token\":" GONE "}}"},
    {"names of secrets are none",
     "{\"spec\":{\"secretName\":\"s\",\"imagePullSecrets\":[{\"name\":"
     "\"my-secret\"}],\"automountServiceAccountToken\":false}}",
     false, NULL},
    {"secrets that are no texts",
     "{\"token\":{\"a\":[\"x\"]},\"password\":[\"x\",{\"b\":1}],"
     "\"apiKey\":12345,\"PIN_TOKEN\": -1.5e3 ,\"idToken\":null,\"a\":[1]}",
     false,
     "{\"token\":" GONE ",\"password\":" GONE ",\"apiKey\":" GONE
     ",\"PIN_TOKEN\": " GONE " ,\"idToken\":null,\"a\":[1]}"},
    {"variables that are no texts",
     "[{\"name\":\"A_TOKEN\",\"value\":[\"x\"]},{\"value\":{\"x\":\"y\"},"
     "\"name\":\"B_TOKEN\"},{\"name\":\"C_TOKEN\",\"value\":7},"
     "{\"name\":\"D\",\"value\":[{\"token\":8}]}]",
     false,
     "[{\"name\":\"A_TOKEN\",\"value\":" GONE "},{\"value\":" GONE
     ",\"name\":\"B_TOKEN\"},{\"name\":\"C_TOKEN\",\"value\":" GONE
     "},{\"name\":\"D\",\"value\":[{\"token\":" GONE "}]}]"},
    {"a private key", "{\"a\":[\"" PEM "\",\"b\"]}", false,
     "{\"a\":[" GONE ",\"b\"]}"},
    {"a certificate", "{\"a\":\"-----BEGIN CERTIFICATE-----\\nMII\\n\"}", false,
     NULL},
    {"a web token", "{\"args\":[\"" WEB "\"]}", false, "{\"args\":[" GONE "]}"},
    {"three words that are none", "{\"a\":\"eyJ.example.com/a\"}", false, NULL},
    {"a scalar", "\"" WEB "\"", false, GONE},
    {"numbers and spaces stay",
     " { \"n\" : 1e3 , \"token\" : \"x\" , \"m\" : [ 1.0 , -0 ] } ", false,
     " { \"n\" : 1e3 , \"token\" : " GONE " , \"m\" : [ 1.0 , -0 ] } "},
};

static void test_row(void **state)
{
  const struct row *row = *state;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct aicr_buf out;
  bool changed = true;
  aicr_buf_init(&out, 1 << 20);
  bool ok = kube_redact(row->text, strlen(row->text), row->secret, NULL, &out,
                        &changed, &err);
  assert_string_equal(err.message, "");
  assert_true(ok);
  assert_int_equal(changed, row->want != NULL);
  assert_string_equal(changed ? out.data : row->text,
                      row->want == NULL ? row->text : row->want);
  aicr_buf_free(&out);
}

/* Values of secret parameters go wherever they stand. */
static void test_secrets(void **state)
{
  static const char text[] =
      "{\"a\":\"x s3cret y\",\"is s3cret\" : {\"b\":[4711,47110]},"
      "\"c\":\"{\\\"d\\\":\\\"s3\\\\u0063ret\\\"}\",\"e\":\"a%2Fb\"}";
  static const char want[] = "{\"a\":" GONE "," GONE " : {\"b\":[" GONE
                             ",47110]},\"c\":" GONE ",\"e\":" GONE "}";
  struct kube_secrets secrets = {0};
  struct aicr_error err;
  struct aicr_buf out;
  bool changed = false;
  (void)state;
  assert_true(kube_secrets_add(&secrets, "s3cret", 6));
  assert_true(kube_secrets_add(&secrets, "4711", 4));
  assert_true(kube_secrets_add(&secrets, "a/b", 3));
  assert_true(kube_secrets_add(&secrets, "", 0));
  aicr_buf_init(&out, 1 << 20);
  assert_true(
      kube_redact(text, strlen(text), false, &secrets, &out, &changed, &err));
  assert_true(changed);
  assert_string_equal(out.data, want);
  aicr_buf_free(&out);
  aicr_buf_init(&out, 1 << 20);
  kube_secrets_mask(&secrets, "s3crets3cret 4711.", 18, "*", &out);
  assert_string_equal(out.data, "** *.");
  aicr_buf_free(&out);
  kube_secrets_free(&secrets);
}

static void test_no_json(void **state)
{
  struct aicr_error err;
  struct aicr_buf out;
  bool changed = false;
  (void)state;
  aicr_buf_init(&out, 1 << 20);
  assert_false(kube_redact("{\"a\":", 5, false, NULL, &out, &changed, &err));
  assert_int_equal(err.code, AICR_INVALID_REQUEST);
  assert_int_equal(out.len, 0);
}

static void test_deep(void **state)
{
  char text[600];
  struct aicr_error err;
  struct aicr_buf out;
  bool changed = false;
  (void)state;
  memset(text, '[', 256);
  memset(text + 256, ']', 256);
  aicr_buf_init(&out, 1 << 20);
  assert_true(kube_redact(text, 512, false, NULL, &out, &changed, &err));
  assert_false(changed);
  memset(text + 256, '[', 2);
  assert_false(kube_redact(text, 258, false, NULL, &out, &changed, &err));
}

static bool redact_all(void *arg)
{
  struct aicr_error err;
  struct aicr_buf out;
  bool ok = true;
  (void)arg;
  for (size_t i = 0; ok && i < COUNT(table); i++) {
    bool changed = false;
    aicr_buf_init(&out, 1 << 20);
    ok = kube_redact(table[i].text, strlen(table[i].text), table[i].secret,
                     NULL, &out, &changed, &err);
    if (ok && table[i].want != NULL) {
      assert_string_equal(out.data, table[i].want);
    }
    aicr_buf_free(&out);
  }
  assert_true(ok || err.code == AICR_INTERNAL);
  return ok;
}

static void test_memory(void **state)
{
  (void)state;
  assert_true(torture(redact_all, NULL) > 20);
}

int main(void)
{
  struct rows r = {0};
  for (size_t i = 0; i < COUNT(table); i++) {
    add_row(&r, "redact", table[i].what, test_row, &table[i]);
  }
  add_row(&r, "redact", "what is no JSON", test_no_json, NULL);
  add_row(&r, "redact", "values of secret parameters", test_secrets, NULL);
  add_row(&r, "redact", "the deepest", test_deep, NULL);
  add_row(&r, "redact", "without memory", test_memory, NULL);
  return run_rows(&r, "record_redact");
}
