/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/credential.h"

#include <pty.h>

#include "plugin.h"

static char *keep_path(void)
{
  const char *path = getenv("PATH");

  return strdup(path ? path : "");
}

static void test_k23(void **state)
{
  static const struct {
    char *command, *hint;
    const char *text;
  } rows[] = {
      {"no-such-plugin", "\033[1mGet it\033[0m:\nbrew install it\n",
       "\"no-such-plugin\" of \"/x/kubeconfig\" is not in a folder of PATH; to "
       "install it: Get it: brew install it"},
      {"gke-gcloud-auth-plugin", NULL,
       "to install it: gcloud components install gke-gcloud-auth-plugin"},
      {"no-such-plugin", NULL, "try: kubectl config view --minify"},
      {"no-such-plugin", "\033[1m\001", "try: kubectl config view --minify"},
      {"/no/such/plugin", "do", "does not exist; to install it: do"},
      {"/etc/passwd", "do", "is a file that cannot be executed"},
      {"./plugin", "do", "does not exist"},
  };
  char *before = keep_path();
  struct asker a;

  (void)state;
  setenv("PATH", "/no/such/folder:/no/other", 1);
  for (size_t i = 0; i < COUNT(rows); i++) {
    set_up(&a);
    set_plugin(&a, "");
    a.exec.command = rows[i].command;
    a.exec.install_hint = rows[i].hint;
    open_asker(&a);
    for (int times = 0; times < 2; times++) {
      assert_fails(&a, AICR_INVALID_REQUEST, "exec-plugin-not-found",
                   rows[i].text);
      for (const char *p = a.err.message; *p; p++)
        assert_true((unsigned char)*p >= 0x20);
    }
    close_asker(&a);
  }
  setenv("PATH", before, 1);
  free(before);
}

static void test_bare_word(void **state)
{
  char *before = keep_path();
  struct asker a;
  char path[512];

  (void)state;
  set_up(&a);
  set_plugin(&a, PRINT(CREDENTIAL("\"token\":\"abc\"")));
  a.exec.command = "plugin";
  open_asker(&a);
  snprintf(path, sizeof(path), "%s:%s", folder, before);
  setenv("PATH", path, 1);
  assert_gives(&a, "Bearer abc");
  setenv("PATH", before, 1);
  close_asker(&a);
  free(before);
}

static void test_k30(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_plugin(&a, COUNTED PRINT(CREDENTIAL("\"token\":\"abc\"")));
  a.exec.interactive = KUBE_INTERACTIVE_ALWAYS;
  open_asker(&a);
  assert_fails(&a, AICR_UNAUTHORIZED, "exec-plugin-failed",
               "stdin is no terminal");
  assert_int_equal(count_lines("runs"), 0);
  a.exec.interactive = KUBE_INTERACTIVE_IF_AVAILABLE;
  assert_gives(&a, "Bearer abc");
  close_asker(&a);
}

/* In a session with a terminal, where a person types "typed". */
static int ask_a_person(void)
{
  struct asker a;
  bool good;

  set_up(&a);
  set_plugin(&a, "test -t 0 && test -t 2 || exit 9\n"
                 "case $KUBERNETES_EXEC_INFO in *'\"interactive\":true'*) ;; "
                 "*) exit 8;; esac\n"
                 "echo 'who are you?' >&2\n"
                 "read -r word\n"
                 "echo '{\"apiVersion\":\"" V1 "\",\"kind\":"
                 "\"ExecCredential\",\"status\":{\"token\":\"'$word'\"}}'");
  a.exec.interactive = KUBE_INTERACTIVE_ALWAYS;
  a.c = kube_credential_open(&a.config);
  good = ask(&a) == KUBE_CREDENTIAL_READY &&
         strcmp(a.authorization, "Bearer typed") == 0 &&
         tcgetpgrp(STDIN_FILENO) == getpgrp();
  kube_credential_close(a.c);
  return good ? 0 : 1;
}

/* How long the text is with n more bytes; those that do not fit are left. */
static size_t add_seen(char *seen, size_t size, size_t len, const char *chunk,
                       ssize_t n)
{
  if (n <= 0 || len + (size_t)n >= size)
    return len;
  memcpy(seen + len, chunk, (size_t)n);
  return len + (size_t)n;
}

static void test_person(void **state)
{
  int terminal, status = -1;
  pid_t session = forkpty(&terminal, NULL, NULL, NULL);
  char seen[4096] = "", chunk[256];
  size_t len = 0;

  (void)state;
  assert_true(session >= 0);
  if (session == 0)
    _exit(ask_a_person());
  assert_int_equal(write(terminal, "typed\n", 6), 6);
  for (int i = 0; waitpid(session, &status, WNOHANG) == 0; i++) {
    struct pollfd fd = {terminal, POLLIN, 0};
    ssize_t n = 0;

    if (i == PATIENCE)
      kill(session, SIGKILL);
    if (poll(&fd, 1, 5) > 0)
      n = read(terminal, chunk, sizeof(chunk));
    len = add_seen(seen, sizeof(seen), len, chunk, n);
  }
  /* What it said last, before it ended. */
  for (ssize_t n = 1; n > 0;) {
    n = read(terminal, chunk, sizeof(chunk));
    len = add_seen(seen, sizeof(seen), len, chunk, n);
  }
  close(terminal);
  assert_true(WIFEXITED(status));
  assert_int_equal(WEXITSTATUS(status), 0);
  assert_non_null(strstr(seen, "who are you?"));
}

static void test_k27(void **state)
{
  char *words[] = {"a b", "$(id)", ";x", ""};
  struct asker a;

  (void)state;
  set_up(&a);
  set_plugin(&a, "printf '<%s>' \"$@\" > $D/words\n" PRINT(
                     CREDENTIAL("\"token\":\"abc\"")));
  a.exec.args = words;
  a.exec.arg_count = COUNT(words);
  open_asker(&a);
  assert_gives(&a, "Bearer abc");
  assert_string_equal(read_file("words"), "<a b><$(id)><;x><>");
  close_asker(&a);
}

#define INFO_HEAD "{\"kind\":\"ExecCredential\",\"apiVersion\":\"" V1 "\","

static const struct info {
  const char *what;
  bool cluster;
  struct kube_config config;
  char *extension;
  const char *wanted;
} infos[] = {
    {"no cluster",
     false,
     {.tls_server_name = "x"},
     "{}",
     INFO_HEAD "\"spec\":{\"interactive\":false}}\n"},
    {"a cluster without config",
     true,
     {.tls_server_name = NULL},
     NULL,
     INFO_HEAD "\"spec\":{\"cluster\":{\"server\":\"https://h:1\","
               "\"config\":null},\"interactive\":false}}\n"},
    {"a cluster with all there is",
     true,
     {.tls_server_name = "a\"b",
      .insecure = true,
      .ca = {.data = "CA\n", .len = 3},
      .proxy = "http://p:2",
      .no_compression = true},
     "{\"aud\":[\"x\"]}",
     INFO_HEAD "\"spec\":{\"cluster\":{\"server\":\"https://h:1\","
               "\"tls-server-name\":\"a\\\"b\","
               "\"insecure-skip-tls-verify\":true,"
               "\"certificate-authority-data\":\"Q0EK\","
               "\"proxy-url\":\"http://p:2\",\"disable-compression\":true,"
               "\"config\":{\"aud\":[\"x\"]}},\"interactive\":false}}\n"},
};

static void test_info(void **state)
{
  const struct info *row = *state;
  struct asker a;

  set_up(&a);
  a.config = row->config;
  a.config.server = "https://h:1";
  set_plugin(&a, "printf %s \"$KUBERNETES_EXEC_INFO\" > $D/info\n" PRINT(
                     CREDENTIAL("\"token\":\"abc\"")));
  a.exec.provide_cluster_info = row->cluster;
  a.exec.cluster_config = row->extension;
  open_asker(&a);
  assert_gives(&a, "Bearer abc");
  assert_string_equal(read_file("info"), row->wanted);
  close_asker(&a);
}

static void test_environment(void **state)
{
  struct kube_exec_env env[] = {{"AICR_T1", "first"},
                                {"AICR_T1", "a b\n$(id)"},
                                {"AICR_T2", ""},
                                {"KUBERNETES_EXEC_INFO", "x"},
                                {"AICR_T", NULL}};
  struct asker a;

  (void)state;
  setenv("AICR_T1", "ours", 1);
  setenv("AICR_T2", "ours", 1);
  setenv("AICR_T3", "ours", 1);
  setenv("KUBERNETES_EXEC_INFO", "ours", 1);
  set_up(&a);
  set_plugin(&a, "tr '\\0' '\\n' < /proc/$$/environ > $D/all\n"
                 "printf '%s|%s|%s|%s' \"$AICR_T1\" \"$AICR_T2\" \"$AICR_T3\" "
                 "\"${AICR_T-unset}\" > $D/some\n" PRINT(
                     CREDENTIAL("\"token\":\"abc\"")));
  a.exec.env = env;
  a.exec.env_count = COUNT(env);
  open_asker(&a);
  assert_gives(&a, "Bearer abc");
  assert_string_equal(read_file("some"), "a b\n$(id)||ours|");
  for (const char *at = read_file("all"), *next; at; at = next) {
    next = strstr(at + 1, "\nAICR_T1=");
    assert_true(!next || !strstr(next + 1, "\nAICR_T1="));
  }
  assert_null(strstr(read_file("all"), "INFO=x"));
  assert_null(strstr(read_file("all"), "INFO=ours"));
  assert_non_null(strstr(read_file("all"), "INFO={"));
  assert_string_equal(getenv("AICR_T1"), "ours");
  close_asker(&a);
  unsetenv("AICR_T1");
  unsetenv("AICR_T2");
  unsetenv("AICR_T3");
  unsetenv("KUBERNETES_EXEC_INFO");
}

static const struct answer {
  const char *what, *text;
  const char *token;   /* NULL and no problem: a certificate alone */
  const char *problem; /* part of the message */
} answers[] = {
    {"a token", PRINT(CREDENTIAL("\"token\":\"abc\"")), "abc", NULL},
    {"white space and unknown members",
     PRINT("\n {\"x\": [1, {\"status\": {}}], \"kind\": \"ExecCredential\",\n"
           "\"spec\": {\"interactive\": false}, \"status\": {\"a\": [[]],"
           "\"token\": \"abc\", \"expirationTimestamp\": null},"
           "\"apiVersion\": \"" V1 "\"}\n"),
     "abc", NULL},
    {"the last of a name",
     PRINT("{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\","
           "\"status\":{\"token\":\"x\",\"clientKeyData\":\"y\"},"
           "\"status\":{\"token\":\"y\",\"token\":\"abc\"}}"),
     "abc", NULL},
    {"an escaped token", PRINT(CREDENTIAL("\"token\":\"\\u0061bc\"")), "abc",
     NULL},
    {"words on stderr",
     "echo 'Updates are available' >&2\n" PRINT(
         CREDENTIAL("\"token\":\"abc\"")),
     "abc", NULL},
    {"nothing", ":", NULL, "it printed nothing on stdout"},
    {"K24 another version",
     PRINT("{\"apiVersion\":\"" BETA "\",\"kind\":\"ExecCredential\","
           "\"status\":{\"token\":\"abc\"}}"),
     NULL,
     "its answer has apiVersion \"" BETA "\", the kubeconfig asks for \"" V1
     "\""},
    {"no version",
     PRINT("{\"kind\":\"ExecCredential\",\"status\":{\"token\":\"abc\"}}"),
     NULL, "apiVersion none"},
    {"another kind",
     PRINT("{\"apiVersion\":\"" V1 "\",\"kind\":\"Token\","
           "\"status\":{\"token\":\"abc\"}}"),
     NULL, "of kind \"Token\""},
    {"no kind",
     PRINT("{\"apiVersion\":\"" V1 "\",\"status\":{\"token\":\"abc\"}}"), NULL,
     "of kind none"},
    {"no status",
     PRINT("{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\"}"), NULL,
     "has no status"},
    {"a null status",
     PRINT("{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\","
           "\"status\":null}"),
     NULL, "has no status"},
    {"a text as status",
     PRINT("{\"apiVersion\":\"" V1 "\",\"kind\":\"ExecCredential\","
           "\"status\":\"abc\"}"),
     NULL, "status is no object"},
    {"an empty status", PRINT(CREDENTIAL("")), NULL,
     "neither a token nor a certificate"},
    {"an empty token", PRINT(CREDENTIAL("\"token\":\"\"")), NULL,
     "neither a token nor a certificate"},
    {"K25 a certificate without a key",
     PRINT(CREDENTIAL("\"clientCertificateData\":\"-----BEGIN \"")), NULL,
     "clientCertificateData without clientKeyData"},
    {"a key without a certificate",
     PRINT(CREDENTIAL("\"token\":\"abc\",\"clientKeyData\":\"-----BEGIN \"")),
     NULL, "clientKeyData without clientCertificateData"},
    {"a pair alone",
     PRINT(CREDENTIAL("\"clientCertificateData\":\"-----BEGIN \\n\","
                      "\"clientKeyData\":\"-----BEGIN \\n\"")),
     NULL, NULL},
    {"a pair in base64",
     PRINT(CREDENTIAL("\"clientCertificateData\":\"LS0tLS1CRUdJTiA=\","
                      "\"clientKeyData\":\"LS0tLS1CRUdJTiA=\"")),
     NULL, "is no PEM text"},
    {"a number as token", PRINT(CREDENTIAL("\"token\":5")), NULL,
     "status.token is no string"},
    {"an object as token", PRINT(CREDENTIAL("\"token\":{\"a\":1}")), NULL,
     "status.token is no string"},
    {"a token with a line end", PRINT(CREDENTIAL("\"token\":\"abc\\n\"")), NULL,
     "no header can carry"},
    {"a token with a NUL", PRINT(CREDENTIAL("\"token\":\"abc\\u0000\"")), NULL,
     "NUL"},
    {"a token that is not ASCII", PRINT(CREDENTIAL("\"token\":\"\\u00e9\"")),
     NULL, "no header can carry"},
    {"a time that is none",
     PRINT(CREDENTIAL("\"token\":\"abc\",\"expirationTimestamp\":\"soon\"")),
     NULL, "expirationTimestamp is no RFC 3339 time"},
    {"a number as time",
     PRINT(CREDENTIAL("\"token\":\"abc\",\"expirationTimestamp\":17")), NULL,
     "expirationTimestamp is no string"},
    {"a bare token", "echo abc", NULL, "its answer is no JSON"},
    {"a list", "echo '[]'", NULL, "its answer is no JSON object"},
    {"something behind", PRINT(CREDENTIAL("\"token\":\"abc\"") " x"), NULL,
     "its answer is no JSON"},
    {"half of it", "printf '{\"kind\":\"ExecCredential\"'", NULL,
     "its answer is no JSON"},
    {"bad UTF-8", "printf '{\"kind\":\"\\377\"}'", NULL,
     "its answer is no JSON"},
    {"too deep",
     "printf '{\"a\":'; i=0; while [ $i -lt 100 ]; do printf '['; i=$((i+1)); "
     "done",
     NULL, "its answer is no JSON"},
    {"an exit status",
     PRINT(CREDENTIAL("\"token\":\"abc\"")) "printf '\\033[31mno "
                                            "login\\nnone\\033[0m\\n' >&2\n"
                                            "exit 3",
     NULL, "it ended with exit status 3; it said: no login none; try: "},
    {"a signal", PRINT(CREDENTIAL("\"token\":\"abc\"")) "kill -TERM $$", NULL,
     "signal 15 (Terminated) ended it"},
    {"over 1 MiB", "head -c 1048577 /dev/zero", NULL,
     "more than 1 MiB on stdout"},
    {"1 MiB of blanks", "printf '%1048576s' x", NULL, "its answer is no JSON"},
    {"a long story on stderr",
     "i=0; while [ $i -lt 500 ]; do echo \"line $i\" >&2; i=$((i+1)); done; "
     "exit 1",
     NULL, "line 499; try: kubectl auth whoami"},
};

static void test_answer(void **state)
{
  const struct answer *row = *state;
  struct asker a;
  char bearer[64];

  set_up(&a);
  set_plugin(&a, row->text);
  open_asker(&a);
  snprintf(bearer, sizeof(bearer), "Bearer %s", row->token ? row->token : "");
  for (int i = 0; i < 2; i++) {
    if (row->problem)
      assert_fails(&a, AICR_UNAUTHORIZED, "exec-plugin-failed", row->problem);
    else
      assert_gives(&a, row->token ? bearer : NULL);
    assert_null(strstr(a.err.message, "abc"));
    assert_null(strchr(a.err.message, '\033'));
    assert_true(strlen(a.err.message) < AICR_MESSAGE_MAX - 1);
  }
  assert_warns(&a, NULL);
  close_asker(&a);
}

static void test_k26(void **state)
{
  struct asker a;

  (void)state;
  set_up(&a);
  set_plugin(&a, "printf '" CREDENTIAL("\"token\":\"%06000d\"") "' 7");
  open_asker(&a);
  assert_int_equal(ask(&a), KUBE_CREDENTIAL_READY);
  assert_int_equal(strlen(a.authorization), 6007);
  assert_string_equal(a.authorization + 6005, "07");
  close_asker(&a);
}

#define ADD(name, test) add_row(&r, "credential", name, test, NULL)

int main(void)
{
  struct rows r = {NULL, 0};

  ADD("K23 no plug-in", test_k23);
  ADD("a bare word", test_bare_word);
  ADD("K30 no terminal", test_k30);
  ADD("a person at a terminal", test_person);
  ADD("K27 arguments", test_k27);
  for (size_t i = 0; i < COUNT(infos); i++)
    add_row(&r, "info", infos[i].what, test_info, &infos[i]);
  ADD("environment", test_environment);
  for (size_t i = 0; i < COUNT(answers); i++)
    add_row(&r, "answer", answers[i].what, test_answer, &answers[i]);
  ADD("K26 a long token", test_k26);
  return run_rows_with(&r, "kube_plugin", make_folder, remove_folder);
}
