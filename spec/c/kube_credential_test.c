/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/credential.h"

#include "plugin.h"

static const struct fixed {
  const char *what;
  struct kube_config config;
  const char *authorization, *problem;
} fixed[] = {
    {"nobody", {.source = NULL}, NULL, NULL},
    {"a token", {.token = "abc"}, "Bearer abc", NULL},
    {"a token in blanks", {.token = " \tabc\n"}, "Bearer abc", NULL},
    {"a token before a name",
     {.token = "abc", .username = "u", .password = "p"},
     "Bearer abc",
     NULL},
    {"all that a header can carry", {.token = "!az~"}, "Bearer !az~", NULL},
    {"a token of blanks", {.token = " "}, NULL, "is empty"},
    {"a header more", {.token = "a\r\nX: y"}, NULL, "no header can carry"},
    {"a blank inside", {.token = "a b"}, NULL, "no header can carry"},
    {"DEL",
     {.token = "a\x7f"
               "b"},
     NULL,
     "header"},
    {"not ASCII", {.token = "\xc3\xa9"}, NULL, "header"},
    {"a name and a word",
     {.username = "Aladdin", .password = "open sesame"},
     "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==",
     NULL},
    {"a name alone", {.username = "u"}, "Basic dTo=", NULL},
    {"a word with a colon",
     {.username = "u", .password = "a:\n"},
     "Basic dTphOgo=",
     NULL},
    {"a name with a colon", {.username = "u:v"}, NULL, "ends a name"},
};

static void test_fixed(void **state)
{
  const struct fixed *row = *state;
  struct asker a;

  set_up(&a);
  a.config = row->config;
  open_asker(&a);
  for (int i = 0; i < 2; i++) {
    if (row->problem)
      assert_fails(&a, AICR_INVALID_REQUEST, "config-invalid", row->problem);
    else
      assert_gives(&a, row->authorization);
    /* Nothing of what is secret. */
    if (row->config.token && row->config.token[0] > ' ')
      assert_null(strstr(a.err.message, row->config.token));
  }
  assert_false(kube_credential_refused(a.c));
  assert_warns(&a, NULL);
  close_asker(&a);
}

static void test_k34(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_file(&a, "one");
  open_asker(&a);
  assert_gives(&a, "Bearer one");
  write_file("token", "two");
  a.now = NOW + 49999;
  assert_gives(&a, "Bearer one");
  a.now = NOW + 70000;
  assert_gives(&a, "Bearer two");
  write_file("token", "three");
  a.now += 49998;
  assert_gives(&a, "Bearer two");
  assert_gives(&a, "Bearer three");
  assert_warns(&a, NULL);
  close_asker(&a);
}

static const struct file {
  const char *what, *text, *token, *problem;
} files[] = {
    {"a line end", "abc\n", "Bearer abc", NULL},
    {"blanks around", "\r\n\t abc \xC2\xA0\r\n", "Bearer abc", NULL},
    {"nothing", "", NULL, "is empty"},
    {"blanks", " \n\n", NULL, "is empty"},
    {"two lines", "abc\ndef\n", NULL, "no header can carry"},
    {"not ASCII", "ab\xc3\xa9", NULL, "no header can carry"},
    {"no file", NULL, NULL, "cannot be read: no such file"},
};

static void test_k35(void **state)
{
  const struct file *row = *state;
  struct asker a;

  set_up(&a);
  set_file(&a, row->text);
  open_asker(&a);
  for (int i = 0; i < 2; i++) {
    if (row->problem)
      assert_fails(&a, AICR_INVALID_REQUEST, "config-invalid", row->problem);
    else
      assert_gives(&a, row->token);
  }
  if (row->problem) {
    assert_non_null(strstr(a.err.message, "/token\""));
    assert_null(strstr(a.err.message, "abc"));
    /* It is read again at once. */
    write_file("token", "late");
    assert_gives(&a, "Bearer late");
  }
  close_asker(&a);
}

static void test_files_that_are_none(void **state)
{
  struct aicr_buf large;
  struct asker a;

  (void)state;
  set_up(&a);
  set_file(&a, NULL);
  open_asker(&a);
  assert_int_equal(mkfifo(in_folder("token"), 0600), 0);
  assert_fails(&a, AICR_INVALID_REQUEST, "config-invalid", "it is a pipe");
  a.config.token_file = folder;
  assert_fails(&a, AICR_INVALID_REQUEST, "config-invalid", "it is a folder");
  set_file(&a, NULL);
  aicr_buf_init(&large, 2 << 20);
  aicr_buf_addf(&large, "%01048577d", 1);
  write_file("token", large.data);
  aicr_buf_free(&large);
  assert_fails(&a, AICR_INVALID_REQUEST, "config-invalid", "than 1 MiB");
  close_asker(&a);
}

/* The old token goes on, and one line says so until it was well again. */
static void test_file_fails_later(void **state)
{
  static const char *const later[] = {NULL, "", "a b"};

  (void)state;
  for (size_t i = 0; i < COUNT(later); i++) {
    struct asker a;

    set_up(&a);
    set_file(&a, "one");
    open_asker(&a);
    assert_gives(&a, "Bearer one");
    set_file(&a, later[i]);
    a.now += 60000;
    assert_gives(&a, "Bearer one");
    assert_gives(&a, "Bearer one");
    assert_warns(&a, "the token read before is used");
    assert_gives(&a, "Bearer one");
    assert_warns(&a, NULL);
    set_file(&a, "two");
    assert_gives(&a, "Bearer two");
    set_file(&a, later[i]);
    a.now += 60000;
    assert_gives(&a, "Bearer two");
    assert_warns(&a, "the token read before is used");
    close_asker(&a);
  }
}

static void test_file_refused(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_file(&a, "one");
  open_asker(&a);
  assert_gives(&a, "Bearer one");
  write_file("token", "two");
  assert_gives(&a, "Bearer one");
  assert_true(kube_credential_refused(a.c));
  assert_gives(&a, "Bearer two");
  assert_true(kube_credential_refused(a.c));
  remove_file("token");
  assert_fails(&a, AICR_INVALID_REQUEST, "config-invalid", "cannot be read");
  close_asker(&a);
}

static void test_file_and_token(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  a.config.token = "fixed";
  set_file(&a, NULL);
  open_asker(&a);
  assert_gives(&a, "Bearer fixed");
  assert_warns(&a, "users[].user.token is used");
  write_file("token", "one");
  assert_gives(&a, "Bearer one");
  assert_warns(&a, NULL);
  close_asker(&a);
}

static void test_k36(void **state)
{
  struct asker a;

  (void)state;
  for (int i = 0; i < 3; i++) {
    set_up(&a);
    if (i == 0)
      a.config.token = "abc";
    else if (i == 1)
      set_file(&a, "abc");
    else
      set_plugin(&a, COUNTED PRINT(CREDENTIAL("\"token\":\"abc\"")));
    a.config.server = "http://127.0.0.1:8080";
    open_asker(&a);
    assert_gives(&a, NULL);
    assert_gives(&a, NULL);
    assert_warns(&a, "no credentials are sent");
    assert_gives(&a, NULL);
    assert_warns(&a, NULL);
    assert_false(kube_credential_refused(a.c));
    close_asker(&a);
  }
  assert_int_equal(count_lines("runs"), 0);
  set_up(&a);
  a.config.server = "http://127.0.0.1:8080";
  open_asker(&a);
  assert_gives(&a, NULL);
  assert_warns(&a, NULL);
  close_asker(&a);
}

static void test_no_expiry(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_plugin(&a, COUNTED PRINT(CREDENTIAL("\"token\":\"abc\"")));
  open_asker(&a);
  assert_gives(&a, "Bearer abc");
  a.now = LATER * 1000;
  assert_gives(&a, "Bearer abc");
  assert_int_equal(count_lines("runs"), 1);
  assert_true(kube_credential_refused(a.c));
  assert_gives(&a, "Bearer abc");
  assert_int_equal(count_lines("runs"), 2);
  close_asker(&a);
}

static void test_expiry(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_expiring(&a, 3600000);
  open_asker(&a);
  assert_gives(&a, "Bearer t1");
  a.now += 3500000;
  assert_gives(&a, "Bearer t1");
  a.now += 90000;
  assert_gives(&a, "Bearer t2");
  assert_warns(&a, NULL);
  close_asker(&a);
}

static void test_k28_soon(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_expiring(&a, 5000);
  open_asker(&a);
  for (size_t i = 1; i < 4; i++) {
    char token[16];

    snprintf(token, sizeof(token), "Bearer t%zu", i);
    assert_gives(&a, token);
    assert_int_equal(count_lines("runs"), i);
  }
  assert_warns(&a, NULL);
  close_asker(&a);
}

static void test_k28_past(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_expiring(&a, -60000);
  open_asker(&a);
  for (size_t i = 1; i < 4; i++) {
    char token[16];

    snprintf(token, sizeof(token), "Bearer t%zu", i);
    assert_gives(&a, token);
    assert_int_equal(count_lines("runs"), i);
  }
  assert_warns(&a, "gives a credential that expired at ");
  assert_gives(&a, "Bearer t4");
  assert_warns(&a, NULL);
  close_asker(&a);
}

/* All that wait get what one run gave, even if it has expired. */
static void test_one_run_for_all(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_expiring(&a, -60000);
  open_asker(&a);
  for (int i = 0; i < 5; i++)
    assert_int_equal(
        kube_credential_get(a.c, a.now, 0, &a.authorization, &a.err),
        KUBE_CREDENTIAL_WAIT);
  assert_int_equal(ask_until(&a, 0), KUBE_CREDENTIAL_READY);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(ask_until(&a, 0), KUBE_CREDENTIAL_READY);
    assert_string_equal(a.authorization, "Bearer t1");
  }
  assert_int_equal(count_lines("runs"), 1);
  close_asker(&a);
}

static void test_refused_while_it_runs(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_expiring(&a, 3600000);
  open_asker(&a);
  assert_gives(&a, "Bearer t1");
  assert_true(kube_credential_refused(a.c));
  a.now++;
  assert_int_equal(kube_credential_get(a.c, a.now, 0, &a.authorization, &a.err),
                   KUBE_CREDENTIAL_WAIT);
  assert_true(kube_credential_refused(a.c));
  assert_gives(&a, "Bearer t2");
  assert_int_equal(count_lines("runs"), 2);
  close_asker(&a);
}

static void assert_pair(const struct asker *a, const char *certificate,
                        const char *key, unsigned generation)
{
  const struct aicr_buf *pair[2];
  unsigned got;

  kube_credential_certificate(a->c, &pair[0], &pair[1], &got);
  assert_int_equal(got, generation);
  if (!certificate) {
    assert_null(pair[0]);
    assert_null(pair[1]);
    return;
  }
  assert_int_equal(pair[0]->len, strlen(certificate));
  assert_string_equal(pair[0]->data, certificate);
  assert_string_equal(pair[1]->data, key);
}

static void test_pair_of_the_config(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_plugin(&a, COUNTED);
  a.config.certificate = (struct aicr_buf){.data = PEM, .len = strlen(PEM)};
  a.config.key = (struct aicr_buf){.data = "key", .len = 3};
  open_asker(&a);
  assert_gives(&a, NULL);
  assert_pair(&a, PEM, "key", 0);
  assert_false(kube_credential_refused(a.c));
  close_asker(&a);
  assert_int_equal(count_lines("runs"), 0);
}

static void test_pair_of_the_plugin(void **state)
{
  static const char print[] = "cat $D/pair\n";
  struct asker a;

  (void)state;
  set_up(&a);
  set_plugin(&a, print);
  write_file("pair", CREDENTIAL("\"token\":\"abc\",\"clientCertificateData\":"
                                "\"-----BEGIN A\\n\",\"clientKeyData\":"
                                "\"-----BEGIN K\\n\""));
  open_asker(&a);
  assert_pair(&a, NULL, NULL, 0);
  assert_gives(&a, "Bearer abc");
  assert_pair(&a, "-----BEGIN A\n", "-----BEGIN K\n", 1);
  kube_credential_refused(a.c);
  assert_pair(&a, "-----BEGIN A\n", "-----BEGIN K\n", 1);
  assert_gives(&a, "Bearer abc");
  assert_pair(&a, "-----BEGIN A\n", "-----BEGIN K\n", 1);
  kube_credential_refused(a.c);
  write_file("pair", CREDENTIAL("\"clientCertificateData\":\"-----BEGIN B\\n\","
                                "\"clientKeyData\":\"-----BEGIN K\\n\""));
  assert_gives(&a, NULL);
  assert_pair(&a, "-----BEGIN B\n", "-----BEGIN K\n", 2);
  kube_credential_refused(a.c);
  write_file("pair", "");
  assert_fails(&a, AICR_UNAUTHORIZED, "exec-plugin-failed", "nothing");
  assert_pair(&a, "-----BEGIN B\n", "-----BEGIN K\n", 2);
  write_file("pair", CREDENTIAL("\"token\":\"abc\""));
  assert_gives(&a, "Bearer abc");
  assert_pair(&a, NULL, NULL, 3);
  close_asker(&a);
}

#define ADD(name, test) add_row(&r, "credential", name, test, NULL)

int main(void)
{
  struct rows r = {NULL, 0};

  for (size_t i = 0; i < COUNT(fixed); i++)
    add_row(&r, "fixed", fixed[i].what, test_fixed, &fixed[i]);
  ADD("K34 a token file is rotated", test_k34);
  for (size_t i = 0; i < COUNT(files); i++)
    add_row(&r, "K35", files[i].what, test_k35, &files[i]);
  ADD("token files that are none", test_files_that_are_none);
  ADD("a token file fails later", test_file_fails_later);
  ADD("a token file's token is refused", test_file_refused);
  ADD("a token file and a token", test_file_and_token);
  ADD("K36 http", test_k36);
  ADD("no expiry", test_no_expiry);
  ADD("expiry", test_expiry);
  ADD("K28 expires soon", test_k28_soon);
  ADD("K28 has expired", test_k28_past);
  ADD("K28 one run for all who wait", test_one_run_for_all);
  ADD("refused while it runs", test_refused_while_it_runs);
  ADD("a pair of the config", test_pair_of_the_config);
  ADD("a pair of the plug-in", test_pair_of_the_plugin);
  return run_rows_with(&r, "kube_credential", make_folder, remove_folder);
}
