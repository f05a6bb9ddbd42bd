/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config.h"

#include "rows.h"

#include "kube_config.h"

#define SA(token)                                                              \
  {"sa/token", token},                                                         \
  {                                                                            \
    "sa/ca.crt", CERTIFICATE("CCCC")                                           \
  }
#define IN_POD                                                                 \
  "source=in-cluster\ncontext=none\nns=pod\nserver=https://10.0.0.1:443\n"     \
  "ca=CCCC\n" TOKEN "tokenFile=$D/sa/token\n"

static const struct loaded sources[] = {
    {"a file by name", {{"kc", FULL}}, {0}, TOKEN, ""},
    {"~/.kube/config",
     {{".kube/config", FULL}},
     {.home = "$D"},
     "source=$D/.kube/config\n" TOKEN,
     ""},
    {"KUBECONFIG before ~/.kube/config",
     {{".kube/config", CURRENT K USER("u", "token: b") C}, {"a", FULL}},
     {.home = "$D", .env_kubeconfig = "$D/a"},
     "source=$D/a\n" TOKEN,
     ""},
    {"--kubeconfig before KUBECONFIG, unmerged",
     {{"a", CURRENT K USER("u", "token: b") C}, {"kc", FULL}},
     {.kubeconfig = "$D/kc", .env_kubeconfig = "$D/a"},
     TOKEN,
     ""},
    {"K1 first user wins whole",
     {{"a", USER("u", "token: " SECRET)},
      {"b", CURRENT K USER("u", "client-certificate-data: " CERTIFICATE_DATA
                                ", client-key-data: " KEY_DATA) C}},
     {.env_kubeconfig = "$D/a:$D/b"},
     "source=$D/a:$D/b\n" TOKEN,
     ""},
    {"K2 second file's current-context",
     {{"a", K U CONTEXT("ctx2", "cluster: k, user: u, namespace: m")},
      {"b", "current-context: ctx2\n"}},
     {.env_kubeconfig = "$D/a:$D/b"},
     "source=$D/a:$D/b\ncontext=ctx2\nns=m\n" TOKEN,
     ""},
    {"K3 first file's current-context",
     {{"a", "current-context: ctx1\n" CONTEXT("ctx1", "cluster: k, user: u")},
      {"b", "current-context: ctx2\n" K U CONTEXT("ctx2", "cluster: z")}},
     {.env_kubeconfig = "$D/a:$D/b"},
     "source=$D/a:$D/b\ncontext=ctx1\n" TOKEN,
     ""},
    {"K4 one of the list is missing",
     {{"kc", FULL}},
     {.env_kubeconfig = "$D/missing:$D/kc"},
     TOKEN,
     "KUBECONFIG: \"$D/missing\" does not exist\n"},
    {"K7 empty elements and repetitions",
     {{"kc", FULL}},
     {.env_kubeconfig = "::$D/kc:$D/kc:"},
     TOKEN,
     ""},
    {"K8 a file of zero bytes",
     {{"a", ""}, {"b", FULL}},
     {.env_kubeconfig = "$D/a:$D/b"},
     "source=$D/a:$D/b\n" TOKEN,
     ""},
    {"only comments",
     {{"a", "# none\n---\n"}, {"b", FULL}},
     {.env_kubeconfig = "$D/a:$D/b"},
     "source=$D/a:$D/b\n" TOKEN,
     ""},
    {"/dev/null is an empty file",
     {{"kc", FULL}},
     {.env_kubeconfig = "/dev/null:$D/kc"},
     "source=/dev/null:$D/kc\n" TOKEN,
     ""},
    {"contexts, clusters and users of different files",
     {{"a", C}, {"b", U}, {"c", K}, {"d", CURRENT}},
     {.env_kubeconfig = "$D/a:$D/b:$D/c:$D/d"},
     "source=$D/a:$D/b:$D/c:$D/d\n" TOKEN,
     ""},
    {"K41 JSON",
     {{"kc",
       "{\"apiVersion\":\"v1\",\"kind\":\"Config\",\"current-context\":\"c\","
       "\n\t\"clusters\":[{\"name\":\"k\",\"cluster\":{\"server\":"
       "\"https:\\/\\/h:6443\"}}],\"users\":[{\"name\":\"u\",\"user\":{"
       "\"token\":\"" SECRET "\"}}],\"contexts\":[{\"name\":\"c\","
       "\"context\":{\"cluster\":\"k\",\"user\":\"u\"}}]}"}},
     {0},
     TOKEN,
     ""},
    {"BOM and CRLF",
     {{"kc", "\xEF\xBB\xBF"
             "current-context: c\r\n" K U C}},
     {0},
     TOKEN,
     ""},
    {"unknown fields",
     {{"kc", FULL "preferences: {colors: true}\nextra: [1]\nClusters: 7\n"}},
     {0},
     TOKEN,
     ""},
    {"the last of two keys",
     {{"kc", CURRENT K USER("u", "token: other, token: " SECRET) C}},
     {0},
     TOKEN,
     ""},
    {"null is absent",
     {{"kc", FULL "kind: null\napiVersion: ~\n"},
      {"b", "clusters: null\nusers:\n- {name: w, user: null}\n"}},
     {.env_kubeconfig = "$D/kc:$D/b"},
     "source=$D/kc:$D/b\n" TOKEN,
     ""},
    {"aliases and merge keys",
     {{"kc", CURRENT "x: &x {" SERVER "}\nclusters:\n- name: k\n  cluster:\n"
                     "    <<: *x\n    disable-compression: true\n" U C}},
     {0},
     "plain=true\n" TOKEN,
     ""},
    {"more than one document",
     {{"kc", FULL "---\ncurrent-context: z\n---\n{}\n"}},
     {0},
     TOKEN,
     "\"$D/kc\": only the first document is read\n"},
    {"a broken entry that is not used",
     {{"kc",
       FULL "- name: d\n  context: {cluster: none, namespace: Bad_NS}\n"}},
     {0},
     TOKEN,
     ""},
};

static const struct loaded overrides[] = {
    {"--context",
     {{"kc",
       FULL "- name: d\n  context: {cluster: k, user: u, namespace: m}\n"}},
     {.context = "d"},
     "context=d\nns=m\n" TOKEN,
     ""},
    {"--cluster and --user",
     {{"kc", FULL},
      {"b", CLUSTER("l", "server: \"https://l\"") USER("w", "token: other")}},
     {.env_kubeconfig = "$D/kc:$D/b", .cluster = "l", .user = "w"},
     "source=$D/kc:$D/b\nserver=https://l\ntoken=other\n",
     ""},
    {"--namespace", {{"kc", FULL}}, {.ns = "other"}, "ns=other\n" TOKEN, ""},
    {"--namespace instead of a bad one",
     {{"kc", CURRENT K U CONTEXT("c", "cluster: k, user: u, namespace: A_B")}},
     {.ns = "other"},
     "ns=other\n" TOKEN,
     ""},
    {"--server clears tls-server-name, keeps the CA",
     WITH_CLUSTER("server: bad, tls-server-name: t, "
                  "certificate-authority-data: " CERTIFICATE_DATA),
     {.server = "https://other/"},
     "server=https://other\nca=AAAA\n" TOKEN,
     ""},
    {"--server without any file",
     {{"a", ""}},
     {.env_kubeconfig = "$D/a", .server = "https://other", .token = "t"},
     "source=$D/a\ncontext=none\nserver=https://other\ntoken=t\n",
     ""},
    {"--server without HOME",
     {{NULL, NULL}},
     {.home = "", .server = "https://other", .token = "t"},
     "source=the command line\ncontext=none\nserver=https://other\ntoken=t\n",
     ""},
    {"--cluster without a current-context",
     {{"kc", K U C}},
     {.cluster = "k"},
     "context=none\n",
     ANONYMOUS},
    {"--token instead of a token file",
     {{"t", "x"}, {"kc", CURRENT K USER("u", "tokenFile: t") C}},
     {.token = "  flag\n"},
     "token=flag\n",
     ""},
    {"--token instead of a password",
     WITH_USER("username: a, password: " SECRET),
     {.token = "flag"},
     "token=flag\n",
     ""},
    {"--token instead of exec",
     EXEC(""),
     {.token = "flag"},
     "token=flag\n",
     ""},
    {"--token beside a certificate",
     WITH_USER("client-certificate-data: " CERTIFICATE_DATA
               ", client-key-data: " KEY_DATA),
     {.token = "flag"},
     "certificate=AAAA\nkey=BBBB\ntoken=flag\n",
     "--token: the user's client certificate is sent too, and the server looks "
     "at it first\n"},
    {"--as",
     WITH_USER("token: " SECRET ", as: a, as-groups: [g]"),
     {.as = "b"},
     TOKEN "as=b\nas-group=g\n",
     ""},
    {"--as for groups without a user",
     WITH_USER("token: " SECRET ", as-groups: [g]"),
     {.as = "b"},
     TOKEN "as=b\nas-group=g\n",
     ""},
};

static const struct loaded pods[] = {
    {"nothing else: the pod's account",
     {SA(SECRET "\n"), {"sa/namespace", "pod\n"}},
     {.home = "$D", POD},
     IN_POD,
     ""},
    {"an empty file: the pod's account",
     {SA(SECRET), {"sa/namespace", "pod"}, {"kc", ""}},
     {.env_kubeconfig = "$D/kc", POD},
     IN_POD,
     ""},
    {"a file wins over the pod",
     {SA("other"),
      {"kc", CURRENT K U CONTEXT("c", "cluster: k, user: u, "
                                      "namespace: default")},
      {"sa/namespace", "pod"}},
     {POD},
     TOKEN,
     ""},
    {"--in-cluster wins over a file",
     {SA(SECRET), {"sa/namespace", "pod"}, {"kc", FULL}},
     {.in_cluster = true, .env_kubeconfig = "$D/kc", POD},
     IN_POD,
     ""},
    {"K37 an IPv6 host",
     {SA(SECRET)},
     {.in_cluster = true, .host = "fd00::1", .port = "443"},
     "source=in-cluster\ncontext=none\nserver=https://"
     "[fd00::1]:443\nca=CCCC\n" TOKEN "tokenFile=$D/sa/token\n",
     ""},
    {"POD_NAMESPACE before the file",
     {SA(SECRET), {"sa/namespace", "other"}},
     {.in_cluster = true, .pod_namespace = "pod", POD},
     IN_POD,
     ""},
    {"--namespace in a pod",
     {SA(SECRET), {"sa/namespace", "other"}},
     {.in_cluster = true, .ns = "pod", POD},
     IN_POD,
     ""},
    {"an empty namespace file",
     {SA(SECRET), {"sa/namespace", "\n"}},
     {.in_cluster = true, .host = "h", .port = "6443"},
     "source=in-cluster\ncontext=none\nca=CCCC\n" TOKEN
     "tokenFile=$D/sa/token\n",
     ""},
    {"a context without a namespace takes the pod's",
     {SA("other"), {"sa/namespace", "pod"}, {"kc", FULL}},
     {POD},
     "ns=pod\n" TOKEN,
     ""},
    {"--token and --server in a pod",
     {SA("other"), {"sa/namespace", "pod"}},
     {.in_cluster = true, .token = "t", .server = "https://s", POD},
     "source=in-cluster\ncontext=none\nns=pod\nserver=https://s\nca=CCCC\n"
     "token=t\n",
     ""},
};

/* What the access rights of a file give reason to say. */
static void test_access_rights(void **state)
{
  static const struct {
    const char *kc, *key;
    unsigned kc_mode, key_mode;
    const char *says;
  } rows[] = {
      {FULL, "", 0600, 0600, ""},
      {FULL, "", 0640, 0600, "kc\" holds secrets"},
      {FULL, "", 0604, 0600, "kc\" holds secrets"},
      {CURRENT K USER("u", "username: a, password: b") C, "", 0644, 0600,
       "kc\" holds secrets"},
      {FULL "- name: w\n  context: {}\n", "", 0622, 0600, ""},
      {CURRENT K CONTEXT("c", "cluster: k"), "", 0644, 0600, ANONYMOUS},
      {CURRENT K USER("u", "client-certificate: key, client-key: key") C,
       CERTIFICATE("AAAA") KEY("BBBB"), 0644, 0600, ""},
      {CURRENT K USER("u", "client-certificate: key, client-key: key") C,
       CERTIFICATE("AAAA") KEY("BBBB"), 0600, 0640,
       "the client-key of user \"u\" may be read by others"},
      {CURRENT K USER("w", "client-key-data: " KEY_DATA)
           CONTEXT("c", "cluster: k"),
       "", 0644, 0600, "chmod 600"},
  };
  (void)state;
  for (size_t i = 0; i < COUNT(rows); i++) {
    const struct file files[FILES_MAX] = {{"kc", rows[i].kc},
                                          {"key", rows[i].key}};
    const struct asked asked = {0};
    struct kube_config config;
    struct aicr_buf warnings;
    char path[256];
    world_open(files);
    folder_path(&world.folder, "kc", path, sizeof path);
    assert_int_equal(chmod(path, rows[i].kc_mode), 0);
    folder_path(&world.folder, "key", path, sizeof path);
    assert_int_equal(chmod(path, rows[i].key_mode), 0);
    struct kube_config_options options = options_of(&asked);
    aicr_buf_init(&warnings, 1 << 16);
    assert_true(kube_config_load(&options, &config, &warnings, NULL));
    const char *said = warnings.data != NULL ? warnings.data : "";
    if (rows[i].says[0] == '\0') {
      assert_string_equal(said, "");
    } else {
      assert_non_null(strstr(said, rows[i].says));
    }
    check_message(said, true);
    aicr_buf_free(&warnings);
    kube_config_free(&config);
    world_close();
  }
}

/* A path without a folder starts where the program does. */
static void test_relative_path(void **state)
{
  static const struct file files[FILES_MAX] = {
      {"kc", CURRENT CLUSTER("k", SERVER ", certificate-authority: ca")
                 USER("u", "token: x, tokenFile: t") C},
      {"sub/kc", CURRENT CLUSTER("k", SERVER ", certificate-authority: ../ca")
                     USER("u", "token: x, tokenFile: t") C},
      {"ca", CERTIFICATE("CCCC")}};
  static const char *const paths[][2] = {
      {"kc", "$D/t"}, {"./kc", "$D/./t"}, {"sub/kc", "$D/sub/t"}};
  char here[4096];
  (void)state;
  assert_non_null(getcwd(here, sizeof here));
  world_open(files);
  assert_int_equal(chdir(world.folder.path), 0);
  for (size_t i = 0; i < COUNT(paths); i++) {
    const struct asked asked = {.kubeconfig = paths[i][0]};
    struct kube_config config;
    struct aicr_buf warnings;
    struct kube_config_options options = options_of(&asked);
    aicr_buf_init(&warnings, 1 << 16);
    assert_true(kube_config_load(&options, &config, &warnings, NULL));
    assert_string_equal(config.token_file, expanded(paths[i][1]));
    assert_true(config.ca.len > 0);
    kube_config_free(&config);
    aicr_buf_free(&warnings);
  }
  assert_int_equal(chdir(here), 0);
  world_close();
}

/* The kubelet's files are links, and so may ours be. */
static void test_links(void **state)
{
  static const struct file files[FILES_MAX] = {{"real/kc", FULL},
                                               {"real/ca", ""}};
  const struct asked asked = {0};
  struct kube_config config;
  struct aicr_buf warnings;
  (void)state;
  world_open(files);
  struct kube_config_options options = options_of(&asked);
  assert_int_equal(symlink("real/kc", options.kubeconfig), 0);
  aicr_buf_init(&warnings, 1 << 16);
  assert_true(kube_config_load(&options, &config, &warnings, NULL));
  assert_string_equal(config.token, SECRET);
  kube_config_free(&config);
  aicr_buf_free(&warnings);
  world_close();
}

int main(void)
{
  static const struct {
    const char *name;
    const struct loaded *rows;
    size_t count;
  } tables[] = {{"sources", sources, COUNT(sources)},
                {"overrides", overrides, COUNT(overrides)},
                {"pod", pods, COUNT(pods)}};
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_access_rights),
      cmocka_unit_test(test_relative_path),
      cmocka_unit_test(test_links),
  };
  struct rows rows = {0};
  for (size_t t = 0; t < COUNT(tables); t++) {
    for (size_t i = 0; i < tables[t].count; i++) {
      add_row(&rows, tables[t].name, tables[t].rows[i].what, test_loaded,
              &tables[t].rows[i]);
    }
  }
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  return run_rows(&rows, "kube_config");
}
