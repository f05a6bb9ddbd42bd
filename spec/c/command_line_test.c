/* SPDX-License-Identifier: Apache-2.0 */
#include <getopt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "cli/command_line.h"
#include "cli/message.h"
#include "cli/request.h"

extern char **environ;

enum { WORDS_MAX = 16, TEXT_MAX = 512 };

/* What stands between the fixed parts of a request. */
struct row {
  const char *words[WORDS_MAX];
  const char *variables[WORDS_MAX];
  const char *expected; /* NULL: refused as a usage error */
};

static const struct row rows[] = {
    {{NULL}, {NULL}, "[],\"args\":[],\"options\":{},\"origins\":{}"},
    {{"a", "-x", "b"},
     {NULL},
     "[\"a\",\"b\"],\"args\":[],\"options\":{\"fail_fast\":true},\"origins\":{"
     "\"fail_fast\":\"command line\"}"},
    {{"-xvv", "-tq,!r", "--tags=s", "-v"},
     {NULL},
     "[],\"args\":[],\"options\":{\"tags\":[\"q,!r\",\"s\"],\"fail_fast\":true,"
     "\"verbose\":3},\"origins\":{\"tags\":\"command line\",\"fail_fast\":"
     "\"command line\",\"verbose\":\"command line\"}"},
    {{"--seed", "1", "--seed=9223372036854775807"},
     {NULL},
     "[],\"args\":[],\"options\":{\"seed\":9223372036854775807},\"origins\":{"
     "\"seed\":\"command line\"}"},
    {{"a", "--", "-x", "--", "b"},
     {NULL},
     "[\"a\"],\"args\":[\"-x\",\"--\",\"b\"],\"options\":{},\"origins\":{}"},
    {{"--recipe", "--", "a"},
     {NULL},
     "[\"a\"],\"args\":[],\"options\":{\"recipe\":\"--\"},\"origins\":{"
     "\"recipe\":\"command line\"}"},
    {{"-", "x", "doctor"},
     {NULL},
     "[\"-\",\"x\",\"doctor\"],\"args\":[],\"options\":{},\"origins\":{}"},
    {{"--", "doctor"},
     {NULL},
     "[],\"args\":[\"doctor\"],\"options\":{},\"origins\":{}"},
    {{"--recip", "a\"\\\n"},
     {NULL},
     "[],\"args\":[],\"options\":{\"recipe\":\"a\\\"\\\\\\n\"},\"origins\":{"
     "\"recipe\":\"command line\"}"},
    {{NULL},
     {"AICR_RUN_FAIL_FAST=1", "AICR_RUN_STRICT=0", "AICR_RUN_VERBOSE=2"},
     "[],\"args\":[],\"options\":{\"fail_fast\":true,\"verbose\":2},"
     "\"origins\":{\"fail_fast\":\"environment\",\"verbose\":\"environment\"}"},
    {{NULL},
     {"AICR_RUN_PHASE=deployment,performance", "AICR_RUN_TAGS=a,!b"},
     "[],\"args\":[],\"options\":{\"phase\":[\"deployment\",\"performance\"],"
     "\"tags\":[\"a,!b\"]},\"origins\":{\"phase\":\"environment\",\"tags\":"
     "\"environment\"}"},
    {{NULL},
     {"AICR_RUN_OUTPUT=json:a.json:b.xml:junit:c"},
     "[],\"args\":[],\"options\":{\"output\":[\"json:a.json\",\"b.xml\","
     "\"junit:c\"]},\"origins\":{\"output\":\"environment\"}"},
    {{"-fhuman", "--set=a=1"},
     {"AICR_RUN_FORMAT=json", "AICR_RUN_SET=b=2,c=3"},
     "[],\"args\":[],\"options\":{\"set\":[\"a=1\"],\"format\":\"human\"},"
     "\"origins\":{\"set\":\"command line\",\"format\":\"command line\"},"
     "\"environment\":{\"set\":[\"b=2\",\"c=3\"]}"},
    {{"--values=v.yaml", "--set-file", "a.k=f"},
     {"AICR_RUN_VALUES=x", "AICR_RUN_SET_FILE=k=/f:b.k=g"},
     "[],\"args\":[],\"options\":{\"set_file\":[\"a.k=f\"],\"values\":["
     "\"v.yaml\"]},\"origins\":{\"set_file\":\"command line\",\"values\":"
     "\"command line\"},\"environment\":{\"set_file\":[\"k=/f\",\"b.k=g\"]}"},
    {{NULL},
     {"AICR_RUN_SET=a=1"},
     "[],\"args\":[],\"options\":{},\"origins\":{},"
     "\"environment\":{\"set\":[\"a=1\"]}"},
    {{"--platform="},
     {"AICR_RUN_PLATFORM=gcp"},
     "[],\"args\":[],\"options\":{},\"origins\":{}"},
    {{NULL},
     {"AICR_RUN_RECIPE=", "AICR_RUN_HELP=1", "AICR_RUN_VERSION=0.1.0"},
     "[],\"args\":[],\"options\":{},\"origins\":{}"},
    {{"--frmat"}, {NULL}, NULL},
    {{"--re", "a"}, {NULL}, NULL},
    {{"--recipe"}, {NULL}, NULL},
    {{"--recipe="}, {NULL}, NULL},
    {{"--strict=1"}, {NULL}, NULL},
    {{"-xz"}, {NULL}, NULL},
    {{"--seed=-1"}, {NULL}, NULL},
    {{"--seed=9223372036854775808"}, {NULL}, NULL},
    {{"--seed=1.0"}, {NULL}, NULL},
    {{"--platform=gke"}, {NULL}, NULL},
    {{"-f", "tap"}, {NULL}, NULL},
    {{"-p", "Deployment"}, {NULL}, NULL},
    {{""}, {NULL}, NULL},
    {{"\xff"}, {NULL}, NULL},
    {{"--", "\xff"}, {NULL}, NULL},
    {{"--set=a=\xc0\x80"}, {NULL}, NULL},
    {{"doctor", "--frmat"}, {NULL}, NULL},
    {{"-j4", "--timeout=1h", "--retry", "2"},
     {NULL},
     "[],\"args\":[],\"options\":{\"jobs\":4,\"timeout\":\"1h\",\"retry\":2},"
     "\"origins\":{\"jobs\":\"command line\",\"timeout\":\"command line\","
     "\"retry\":\"command line\"}"},
    {{NULL},
     {"AICR_RUN_JOBS=4"},
     "[],\"args\":[],\"options\":{\"jobs\":4},\"origins\":{\"jobs\":"
     "\"environment\"}"},
    {{"-j", "four"}, {NULL}, NULL},
    {{"--keep"}, {NULL}, NULL},
    {{NULL}, {"AICR_RUN_KEEP=failed"}, NULL},
    {{NULL}, {"AICR_RUN_STRICT=yes"}, NULL},
    {{NULL}, {"AICR_RUN_STRICT=2"}, NULL},
    {{NULL}, {"AICR_RUN_VERBOSE=10"}, NULL},
    {{NULL}, {"AICR_RUN_PHASE=deployment,,performance"}, NULL},
};

/* argv of a row in memory of its own, since getopt_long may write to it. */
static int make_argv(char **argv, const char *const *words)
{
  int argc = 0;

  argv[argc++] = strdup("aicr-run");
  for (size_t i = 0; i < WORDS_MAX - 1 && words[i]; i++)
    argv[argc++] = strdup(words[i]);
  argv[argc] = NULL;
  return argc;
}

static void check_request(const struct aicr_command_line *line,
                          const char *expected)
{
  static const char terminal_text[] =
      ",\"terminal\":{\"stdout_tty\":true,\"color\":false,\"utf8\":true,"
      "\"width\":80,\"live\":72},\"path\":[\"/a\",\"b\"]}";
  struct aicr_terminal terminal = {true, false, true, 80, 72};
  struct aicr_buf request;
  char wanted[4096];

  aicr_buf_init(&request, sizeof(wanted));
  assert_true(aicr_request_write(&request, line, &terminal, "/a::b:"));
  snprintf(wanted, sizeof(wanted),
           "{\"command\":\"run\",\"version\":\"%s\",\"operands\":%s%s%s",
           AICR_VERSION, expected,
           strstr(expected, "\"environment\":{") ? "" : ",\"environment\":{}",
           terminal_text);
  assert_string_equal(request.data, wanted);
  aicr_buf_free(&request);
}

static void check_row(void **state)
{
  const struct row *row = *state;
  struct aicr_command_line line;
  char *argv[WORDS_MAX + 1];
  char *variables[WORDS_MAX + 1] = {NULL};
  char **kept = environ;
  int argc = make_argv(argv, row->words);
  int exit_code = -1;

  for (size_t i = 0; i < WORDS_MAX && row->variables[i]; i++)
    variables[i] = strdup(row->variables[i]);
  environ = variables;
  optind = 0;
  if (row->expected) {
    assert_true(aicr_command_line_read(&line, argc, argv, &exit_code));
    check_request(&line, row->expected);
  } else {
    assert_false(aicr_command_line_read(&line, argc, argv, &exit_code));
    assert_int_equal(exit_code, AICR_EXIT_USAGE);
  }
  aicr_command_line_free(&line);
  environ = kept;
  for (size_t i = 0; i < WORDS_MAX; i++)
    free(variables[i]);
  for (int i = 0; i < argc; i++)
    free(argv[i]);
}

static void table_is_sound(void **state)
{
  char name[AICR_ENV_NAME_MAX];

  (void)state;
  for (size_t i = 0; i < aicr_option_count; i++) {
    const struct aicr_option *option = &aicr_options[i];

    if (option->letter)
      assert_ptr_equal(aicr_option_of_letter(option->letter), option);
    assert_non_null(option->group);
    assert_in_range(strlen(option->help), 1, 49);
    assert_int_equal(option->argument != NULL,
                     option->kind != AICR_OPTION_FLAG &&
                         option->kind != AICR_OPTION_COUNT);
    assert_int_equal(option->choices != NULL,
                     option->kind == AICR_OPTION_CHOICE);
    aicr_option_env_name(option, name);
    assert_in_range(strlen(name), 10, AICR_ENV_NAME_MAX - 2);
  }
  aicr_option_env_name(&(struct aicr_option){.name = "fail-fast"}, name);
  assert_string_equal(name, "AICR_RUN_FAIL_FAST");
  assert_null(aicr_option_of_letter(0));
}

static size_t failing_at;

static void *failing_realloc(void *ptr, size_t size)
{
  if (size > 0 && failing_at > 0 && --failing_at == 0)
    return NULL;
  if (size == 0) {
    free(ptr);
    return NULL;
  }
  return realloc(ptr, size);
}

/* Makes the n-th allocation fail, for every n until none fails any more. */
static void survives_failing_allocations(void **state)
{
  void *(*kept)(void *, size_t) = aicr_realloc;
  char **kept_environ = environ;
  char *variables[] = {"AICR_RUN_PHASE=deployment,all", NULL};
  size_t n = 1;
  bool done = false;

  (void)state;
  environ = variables;
  aicr_realloc = failing_realloc;
  for (; !done; n++) {
    struct aicr_command_line line;
    char *argv[] = {"aicr-run", "a", "-x", "--recipe=r", NULL};
    int exit_code = -1;

    optind = 0;
    failing_at = n;
    if (!aicr_command_line_read(&line, 4, argv, &exit_code))
      assert_int_equal(exit_code, AICR_EXIT_INTERNAL);
    done = failing_at > 0;
    failing_at = 0;
    aicr_command_line_free(&line);
  }
  aicr_realloc = kept;
  environ = kept_environ;
  assert_true(n > 8);
}

/* What the user typed, as the name of a test: one line of ASCII. */
static void name_row(char out[TEXT_MAX], const struct row *row)
{
  int len = snprintf(out, TEXT_MAX, "aicr-run");

  for (size_t i = 0; row->words[i] && len < TEXT_MAX; i++)
    len += snprintf(out + len, (size_t)(TEXT_MAX - len), " %s", row->words[i]);
  for (size_t i = 0; row->variables[i] && len < TEXT_MAX; i++)
    len +=
        snprintf(out + len, (size_t)(TEXT_MAX - len), " %s", row->variables[i]);
  for (char *c = out; *c; c++)
    if (*c < ' ' || *c > '~')
      *c = '?';
}

int main(void)
{
  enum { ROWS = sizeof(rows) / sizeof(rows[0]) };
  static struct CMUnitTest tests[ROWS + 2];
  static char names[ROWS][TEXT_MAX];

  for (size_t i = 0; i < ROWS; i++) {
    name_row(names[i], &rows[i]);
    tests[i].name = names[i];
    tests[i].test_func = check_row;
    tests[i].initial_state = (void *)(uintptr_t)&rows[i];
  }
  tests[ROWS] = (struct CMUnitTest)cmocka_unit_test(table_is_sound);
  tests[ROWS + 1] =
      (struct CMUnitTest)cmocka_unit_test(survives_failing_allocations);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
