/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include "kube/config.h"
#include "kube/config_read.h"

#include "rows.h"

#include "kube_config.h"
#include "torture.h"

/* A configuration from somebody who means ill, or without memory. */

static bool load(const struct asked *asked, struct aicr_error *err)
{
  struct kube_config config;
  struct aicr_buf warnings;
  struct kube_config_options options = options_of(asked);
  *err = (struct aicr_error){.code = AICR_CODE_NONE};
  aicr_buf_init(&warnings, 1 << 16);
  bool ok = kube_config_load(&options, &config, &warnings, err);
  check_message(err->message, false);
  check_message(warnings.data != NULL ? warnings.data : "", true);
  aicr_buf_free(&warnings);
  kube_config_free(&config);
  return ok;
}

static void refused(const struct asked *asked, const char *says)
{
  struct aicr_error err;
  assert_false(load(asked, &err));
  assert_string_equal(err.reason, INVALID);
  assert_non_null(strstr(err.message, says));
}

static void write_text(const char *name, const char *text)
{
  char expansion[8192];
  expand(text, expansion, sizeof expansion);
  folder_text(&world.folder, name, expansion);
}

static const struct file none[FILES_MAX];
static const struct asked kc;

/* Nobody waits for a pipe. */
static void test_special_files(void **state)
{
  char path[256];
  (void)state;
  world_open(none);
  folder_path(&world.folder, "kc", path, sizeof path);
  assert_int_equal(mkfifo(path, 0600), 0);
  refused(&kc, "kc\": it is a pipe or a device, not a file");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(symlink("/dev/zero", path), 0);
  refused(&kc, "kc\": it is a pipe or a device, not a file");
  assert_int_equal(unlink(path), 0);
  assert_int_equal(symlink("kc", path), 0);
  refused(&kc, "kc\": Too many levels of symbolic links");
  assert_int_equal(unlink(path), 0);
  write_text("kc", CURRENT K USER("u", "tokenFile: /dev/zero") C);
  refused(&kc, "tokenFile \"/dev/zero\": it is a pipe or a device");
  world_close();
}

/* The text, and a comment that makes it that large. */
static void write_padded(const char *text, size_t size)
{
  struct aicr_buf b;
  aicr_buf_init(&b, size);
  aicr_buf_adds(&b, text);
  while (b.len < size) {
    aicr_buf_addc(&b, '#');
  }
  assert_false(b.failed);
  folder_write(&world.folder, "kc", b.data, b.len);
  aicr_buf_free(&b);
}

static void test_size(void **state)
{
  struct aicr_error err;
  (void)state;
  world_open(none);
  write_padded(FULL, KUBE_CONFIG_FILE_MAX);
  assert_true(load(&kc, &err));
  write_padded(FULL, KUBE_CONFIG_FILE_MAX + 1);
  refused(&kc, "kc\": it is larger than 1 MiB");
  world_close();
}

/* The text, and that many entries more in its last list. */
static void write_entries(const char *head, size_t count)
{
  struct aicr_buf b;
  aicr_buf_init(&b, 1 << 20);
  aicr_buf_adds(&b, head);
  for (size_t i = 0; i < count; i++) {
    aicr_buf_addf(&b, "- {name: a%zu}\n", i);
  }
  assert_false(b.failed);
  folder_write(&world.folder, "kc", b.data, b.len);
  aicr_buf_free(&b);
}

static void test_many_entries(void **state)
{
  struct aicr_error err;
  (void)state;
  world_open(none);
  write_entries(FULL, 9999);
  assert_true(load(&kc, &err));
  write_entries(FULL, 10000);
  refused(&kc, "kc\": it has more than 10000 entries of a kind");
  write_entries(K U "contexts:\n", 100);
  refused(&kc, "\"a18\", \"a19\" and 80 more; choose one with --context");
  world_close();
}

/* A message has an end even when its list is long. */
static void test_many_files(void **state)
{
  struct aicr_buf list;
  struct aicr_error err;
  (void)state;
  world_open(none);
  aicr_buf_init(&list, 1000);
  for (size_t i = 0; i < 65; i++) {
    char name[16];
    snprintf(name, sizeof name, "f%02zu", i);
    folder_text(&world.folder, name, "");
    aicr_buf_addf(&list, "%s:", name);
  }
  char here[4096];
  assert_non_null(getcwd(here, sizeof here));
  assert_int_equal(chdir(world.folder.path), 0);
  struct asked asked = {.env_kubeconfig = list.data};
  refused(&asked, "KUBECONFIG lists more than 64 files");
  list.data[list.len - strlen("f64:")] = '\0';
  assert_false(load(&asked, &err));
  assert_string_equal(err.reason, "config-not-found");
  assert_non_null(strstr(err.message, "\"f30\" defines no cluster"));
  assert_non_null(strstr(err.message, ", and others; not in a pod"));
  assert_non_null(strstr(err.message, "--recording DIR"));
  aicr_buf_free(&list);
  assert_int_equal(chdir(here), 0);
  world_close();
}

#define RICH                                                                   \
  "kind: Config\n" CURRENT "clusters:\n- name: k\n  cluster:\n    " SERVER     \
  "\n    certificate-authority: ca\n    extensions:\n    - name: "             \
  "client.authentication.k8s.io/exec\n      extension: {a: " SECRET "}\n"      \
  "users:\n- name: u\n  user:\n    as: a\n    as-groups: [g]\n"                \
  "    as-user-extra: {k: [v]}\n    exec:\n      apiVersion: "                 \
  "client.authentication.k8s.io/v1beta1\n      command: ./p\n"                 \
  "      args: [" SECRET "]\n      env: [{name: A, value: " SECRET "}]\n"      \
  "      installHint: h\n      provideClusterInfo: true\n" C
#define CERTIFIED                                                              \
  CURRENT K USER("u", "client-certificate-data: " CERTIFICATE_DATA             \
                      ", client-key-data: " KEY_DATA ", tokenFile: t") C       \
      "---\nx\n"

/* A file that is cut off anywhere is an error or a smaller file, and no part of
 * it that may be secret is ever shown. */
static void test_cut_everywhere(void **state)
{
  static const char *const texts[] = {RICH, CERTIFIED, FULL};
  struct aicr_error err;
  (void)state;
  world_open(none);
  folder_text(&world.folder, "ca", CERTIFICATE("AAAA"));
  folder_text(&world.folder, "t", SECRET);
  for (size_t i = 0; i < COUNT(texts); i++) {
    for (size_t len = 0; len <= strlen(texts[i]); len++) {
      folder_write(&world.folder, "kc", texts[i], len);
      bool ok = load(&kc, &err);
      assert_int_equal(ok, err.message[0] == '\0');
      assert_true(ok || len < strlen(texts[i]));
    }
  }
  world_close();
}

/* Each of these once without memory at each request: the same answer or none,
 * and nothing is left. */
struct scene {
  struct file files[FILES_MAX];
  struct asked asked;
  const char *reason; /* "": it is loaded */
};

static const struct scene scenes[] = {
    {{{"kc", RICH}, {"ca", CERTIFICATE("AAAA")}}, {0}, ""},
    {{{"kc", CERTIFIED}, {"t", SECRET}}, {0}, ""},
    {{{"kc", CURRENT CLUSTER(
                 "k", "server: \"https://h/?a\", proxy-url: \"http://p\", "
                      "tls-server-name: t")
                 USER("u", "username: a, password: " SECRET) C}},
     {.ns = "b", .as = "c"},
     ""},
    {{{"kc", FULL}},
     {.env_kubeconfig = "$D/a:$D/kc", .server = "http://s", .token = "t"},
     ""},
    {{{"sa/token", SECRET},
      {"sa/ca.crt", CERTIFICATE("AAAA")},
      {"sa/namespace", "m"}},
     {.home = "$D", POD},
     ""},
    {{{"kc", FULL}, {"sa/token", "x"}}, {.pod_namespace = "m", POD}, ""},
    {{{NULL, NULL}},
     {.home = "$D", .host = "h", .port = "1"},
     "config-not-found"},
    {{{"kc", FULL}}, {.proxy = "p:3128"}, ""},
    {{{"kc", FULL}}, {.proxy = "foo://u:" SECRET "@p"}, INVALID},
    {{{"kc", K U C}, {"sa/token", "x"}}, {POD}, INVALID},
    {{{"kc", FULL}}, {.context = "d"}, "context-not-found"},
    {{{"kc", CURRENT C}}, {0}, INVALID},
    {{{"kc", C "- {name: c}\n"}}, {0}, INVALID},
    {{{"kc", CURRENT K USER("u", "tokenFile: none") C}}, {0}, INVALID},
};

static void *cjson_malloc(size_t size)
{
  return aicr_realloc(NULL, size);
}

static void test_without_memory(void **state)
{
  const struct scene *scene = *state;
  void *(*before)(void *, size_t) = aicr_realloc;
  cJSON_Hooks hooks = {cjson_malloc, aicr_free};
  struct aicr_error err;
  size_t failed = 0;
  world_open(scene->files);
  cJSON_InitHooks(&hooks);
  aicr_realloc = torture_realloc;
  do {
    torture_fail_at = failed + 1;
    torture_count = torture_live = 0;
    load(&scene->asked, &err);
    assert_int_equal(torture_live, 0);
    if (err.code != AICR_INTERNAL) {
      assert_string_equal(err.reason, scene->reason);
    } else {
      assert_string_equal(err.reason, "memory");
    }
    failed++;
  } while (torture_count >= torture_fail_at);
  assert_int_not_equal(err.code, AICR_INTERNAL);
  assert_true(failed > 5);
  aicr_realloc = before;
  cJSON_InitHooks(NULL);
  world_close();
}

/* No block of memory is given back with a secret in it. */
static bool holds_secret(const char *data, size_t len)
{
  for (size_t i = 0; i + strlen(SECRET) <= len; i++) {
    if (memcmp(data + i, SECRET, strlen(SECRET)) == 0 ||
        memcmp(data + i, "BBBB", 4) == 0) {
      return true;
    }
  }
  return false;
}

static size_t given_back;

static void *looking_realloc(void *ptr, size_t size)
{
  if (ptr != NULL) {
    given_back++;
    assert_false(holds_secret(ptr, malloc_usable_size(ptr)));
  }
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  /* What was there before is not ours. */
  void *p = realloc(ptr, size);
  if (p != NULL && ptr == NULL) {
    memset(p, 0, malloc_usable_size(p));
  }
  return p;
}

static void test_wiped(void **state)
{
  const struct scene *scene = *state;
  void *(*before)(void *, size_t) = aicr_realloc;
  cJSON_Hooks hooks = {cjson_malloc, aicr_free};
  struct aicr_error err;
  world_open(scene->files);
  cJSON_InitHooks(&hooks);
  aicr_realloc = looking_realloc;
  given_back = 0;
  load(&scene->asked, &err);
  assert_string_equal(err.reason, scene->reason);
  assert_true(given_back > 5);
  aicr_realloc = before;
  cJSON_InitHooks(NULL);
  world_close();
}

/* Without a function of its own the process's environment is read. */
static void test_environment(void **state)
{
  static const struct file files[FILES_MAX] = {{"kc", FULL}};
  char path[256];
  struct kube_config config;
  struct aicr_buf warnings;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  (void)state;
  world_open(files);
  struct kube_config_options options = options_of(&kc);
  folder_path(&world.folder, "kc", path, sizeof path);
  assert_int_equal(setenv("KUBECONFIG", path, 1), 0);
  options.kubeconfig = NULL;
  options.env = NULL;
  aicr_buf_init(&warnings, 1 << 16);
  assert_true(kube_config_load(&options, &config, &warnings, &err));
  assert_string_equal(config.token, SECRET);
  kube_config_free(&config);
  aicr_buf_free(&warnings);
  assert_int_equal(unsetenv("KUBECONFIG"), 0);
  world_close();
}

int main(void)
{
  static const struct CMUnitTest single[] = {
      cmocka_unit_test(test_special_files),  cmocka_unit_test(test_size),
      cmocka_unit_test(test_many_entries),   cmocka_unit_test(test_many_files),
      cmocka_unit_test(test_cut_everywhere), cmocka_unit_test(test_environment),
  };
  struct rows rows = {0};
  for (size_t i = 0; i < COUNT(single); i++) {
    add_row(&rows, "case", single[i].name, single[i].test_func, NULL);
  }
  for (size_t i = 0; i < COUNT(scenes); i++) {
    add_row(&rows, "without memory",
            scenes[i].files[0].path != NULL ? scenes[i].files[0].path
                                            : "nothing",
            test_without_memory, &scenes[i]);
    add_row(&rows, "wiped", scenes[i].reason, test_wiped, &scenes[i]);
  }
  return run_rows(&rows, "kube_config_hostile");
}
