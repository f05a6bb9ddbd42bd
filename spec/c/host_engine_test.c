/* SPDX-License-Identifier: Apache-2.0 */
/* Whole runs without memory: from the command line to the reports.
 * Each ends with an admission: no check passes, fails or is skipped that would
 * not with memory, the run is never a success, and nothing is left. */
#include <cjson/cJSON.h>
#include <fcntl.h>
#include <getopt.h>

#include "cli/cli.h"
#include "folder.h"
#include "inject.h"

#define RECORDING "spec/fixtures/recordings/lyra-ok"
#define HEAD                                                                   \
  "', phase = 'deployment', summary = 's', needs = {'list nodes'},\n"          \
  "params = {count = {type = 'integer', default = 3}}, run = function(ctx)\n"

enum { SUCCESS = 0, FAILED = 1, USAGE = 2, ERRORS = 3, INTERNAL = 70 };

/* The checks of the run, and what becomes of each with memory. */
static const struct check {
  const char *name;
  const char *body;
  const char *outcome;
  const char *result; /* of a pass: it is what was seen */
} checks[] = {
    {"a-holds",
     "local nodes = ctx.k8s:list('nodes')\n"
     "ctx:must('nodes', #nodes, '==', ctx.params.count)\n"
     "ctx:evidence('%d nodes', #nodes) ctx:defer(function() end)\n"
     "return ('%d nodes'):format(#nodes)",
     "pass", "3 nodes"},
    {"b-fails",
     "local a, b = {}, {} for i = 1, 300 do a[i], b[i] = i, -i end\n"
     "pcall(ctx.expect, ctx, 'x', a, 'same_list', b, {reason = 'too-few'})\n"
     "return 'fine'", /* most of what is allocated is for that list */
     "fail", NULL},
    {"c-skips", "ctx:skip {reason = 'not-here', message = 'm'}", "skip", NULL},
    {"d-waits",
     "local r = ctx:all {a = function() ctx:sleep('0s') return 1 end,\n"
     "b = function() return 2 end}\n"
     "ctx:must('sum', r.a + r.b, '==', 3) return 'three'",
     "pass", "three"},
};

static struct folder folder;
static char operand[128], report_path[128], output[160];
static size_t runs, reports;

static void write_checks(void)
{
  for (size_t i = 0; i < COUNT(checks); i++) {
    char path[128], name[64];
    FILE *f;

    snprintf(name, sizeof(name), "checks/%s.lua", checks[i].name);
    folder_path(&folder, name, path, sizeof(path));
    f = fopen(path, "w");
    assert_non_null(f);
    fprintf(f, "return { name = '%s%s%s\nend }\n", checks[i].name, HEAD,
            checks[i].body);
    assert_int_equal(fclose(f), 0);
  }
}

static int prepare(void **state)
{
  (void)state;
  aicr_realloc = inject_realloc;
  folder_make(&folder);
  write_checks();
  folder_path(&folder, "report.json", report_path, sizeof(report_path));
  setenv("TMPDIR", folder.path, 1);
  snprintf(output, sizeof(output), "json:%s", report_path);
  folder_path(&folder, "checks/", operand, sizeof(operand));
  return 0;
}

/* Its words are of no interest here, and stdout is for TAP. */
static int run_engine(void)
{
  int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
  int nowhere = open("/dev/null", O_WRONLY), exit_code;
  char *argv[] = {"aicr-run", "--recording", RECORDING, "--output",
                  output,     operand,       NULL};

  assert_true(out >= 0 && err >= 0 && nowhere >= 0);
  fflush(stdout);
  dup2(nowhere, STDOUT_FILENO);
  dup2(nowhere, STDERR_FILENO);
  close(nowhere);
  optind = 0; /* getopt begins anew */
  exit_code = aicr_cli_main((int)COUNT(argv) - 1, argv);
  inject_end();
  fflush(stderr);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  close(out);
  close(err);
  return exit_code;
}

static cJSON *read_report(void)
{
  static char text[1 << 20];
  FILE *f = fopen(report_path, "r");
  size_t len;
  cJSON *tree;

  if (!f)
    return NULL;
  len = fread(text, 1, sizeof(text) - 1, f);
  fclose(f);
  text[len] = '\0';
  tree = cJSON_Parse(text);
  assert_non_null(tree); /* whole or not at all */
  return tree;
}

static const char *text_of(const cJSON *object, const char *key)
{
  const char *text =
      cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, key));

  return text ? text : "";
}

/* One result of the report; adds it to the counts of fails and errors. */
static void expect_honest(const cJSON *result, const struct check *check,
                          int *fails, int *errors)
{
  const char *outcome = text_of(result, "outcome");

  assert_string_equal(text_of(result, "name"), check->name);
  *fails += !strcmp(outcome, "fail");
  if (!strcmp(outcome, "error")) {
    ++*errors;
    assert_true(inject_hit());
    assert_string_equal(text_of(result, "code"), "INTERNAL");
    return;
  }
  if (strcmp(outcome, check->outcome) != 0)
    fail_msg("%s: %s, allocation %zu of mode %d", check->name, outcome,
             inject.fail_at, (int)inject.mode);
  if (check->result)
    assert_string_equal(text_of(result, "result"), check->result);
  if (!strcmp(outcome, "fail"))
    assert_string_equal(text_of(result, "reason"), "too-few");
}

static void expect_report(int exit_code)
{
  cJSON *report = read_report();
  const cJSON *results = cJSON_GetObjectItemCaseSensitive(report, "checks");
  int fails = 0, errors = 0;

  if (!report) {
    assert_true(inject_hit());
    return;
  }
  reports++;
  assert_int_equal(cJSON_GetArraySize(results), COUNT(checks));
  for (int i = 0; i < (int)COUNT(checks); i++)
    expect_honest(cJSON_GetArrayItem(results, i), &checks[i], &fails, &errors);
  if (exit_code != INTERNAL)
    assert_int_equal(exit_code, fails ? FAILED : ERRORS);
  assert_true(fails > 0 || errors > 0);
  cJSON_Delete(report);
}

static void run(void *arg, enum inject_mode mode, size_t n)
{
  int exit_code;

  (void)arg;
  runs++;
  unlink(report_path);
  inject_begin(mode, n);
  exit_code = run_engine();
  if (!inject_hit())
    assert_int_equal(exit_code, FAILED);
  assert_true(exit_code == FAILED || exit_code == USAGE ||
              exit_code == ERRORS || exit_code == INTERNAL);
  if (exit_code == USAGE)
    assert_int_equal(access(report_path, F_OK), -1);
  else
    expect_report(exit_code);
}

static void test_engine(void **state)
{
  (void)state;
  /* What a process keeps, such as the pipe of signals, stays from here on. */
  run(NULL, INJECT_LUA_ONCE, 0);
  inject_loop(run, NULL, INJECT_GROWING);
}

static int finish(void **state)
{
  (void)state;
  folder_remove(&folder);
  printf("# %zu runs, %zu reports, %zu failed allocations\n", runs, reports,
         inject.refused);
  return inject.live == 0 ? 0 : -1;
}

int main(void)
{
  struct rows r = {0};

  add_row(&r, "without memory:", "a whole run", test_engine, checks);
  return run_rows_with(&r, "host_engine", prepare, finish);
}
