/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/command_line.h"

#include <getopt.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/message.h"
#include "core/number.h"
#include "core/text.h"

enum {
  LONG_OPTION = 256, /* getopt_long gives LONG_OPTION + index */
  WORDS_TEXT = 512
};

struct getopt_tables {
  struct option longs[AICR_OPTION_MAX + 1];
  char shorts[2 + 3 * AICR_OPTION_MAX + 1];
};

const char *aicr_option_place(struct aicr_option_place *place,
                              const struct aicr_option *option,
                              enum aicr_origin origin)
{
  if (origin == AICR_FROM_ENVIRONMENT) {
    aicr_option_env_name(option, place->text);
  } else {
    place->text[0] = '-';
    place->text[1] = '-';
    memcpy(place->text + 2, option->name, strlen(option->name) + 1);
  }
  return place->text;
}

static bool hint(void)
{
  fputs("Try 'aicr-run --help' for more information.\n", stderr);
  return false;
}

static bool out_of_memory(int *exit_code)
{
  *exit_code = AICR_EXIT_INTERNAL;
  return aicr_complain("out of memory");
}

static void make_tables(struct getopt_tables *tables)
{
  char *letter = tables->shorts;

  /* '-': operands come in their order, so that the end of the options stays
   * known; ':': a missing argument is told apart. */
  *letter++ = '-';
  *letter++ = ':';
  for (size_t i = 0; i < aicr_option_count; i++) {
    const struct aicr_option *option = &aicr_options[i];
    struct option *row = &tables->longs[i];

    row->name = option->name;
    row->val = LONG_OPTION + (int)i;
    row->has_arg = no_argument;
    if (option->argument)
      row->has_arg = option->optional ? optional_argument : required_argument;
    if (option->letter) {
      *letter++ = option->letter;
      if (option->argument)
        *letter++ = ':';
    }
  }
  *letter = '\0';
}

/* "human, json, junit" */
static void join_words(struct aicr_buf *out, const char *const *words)
{
  for (size_t i = 0; words[i]; i++) {
    aicr_buf_adds(out, i > 0 ? ", " : "");
    aicr_buf_adds(out, words[i]);
  }
}

static bool check_choice(const struct aicr_option *option,
                         enum aicr_origin origin, const char *value)
{
  struct aicr_quoted quoted;
  struct aicr_option_place place;
  struct aicr_buf words;

  if (aicr_word_in(option->choices, value))
    return true;
  aicr_option_place(&place, option, origin);
  if (aicr_word_in(option->choices_later, value))
    return aicr_complain("%s %s is not available yet", place.text, value);
  aicr_buf_init(&words, WORDS_TEXT);
  join_words(&words, option->choices);
  aicr_complain("%s %s is not valid; expected one of: %s", place.text,
                aicr_quote(&quoted, value, strlen(value)),
                words.data ? words.data : "");
  aicr_buf_free(&words);
  return false;
}

static bool check_value(const struct aicr_option *option,
                        enum aicr_origin origin, const char *value)
{
  struct aicr_quoted quoted;
  struct aicr_option_place place;
  int64_t number = 0;

  aicr_option_place(&place, option, origin);
  if (!value || (option->may_be_empty && *value == '\0'))
    return true;
  if (!aicr_utf8_valid(value, strlen(value)) && option->sensitive)
    return aicr_complain("%s is not valid UTF-8", place.text);
  if (!aicr_utf8_valid(value, strlen(value)))
    return aicr_complain("%s %s is not valid UTF-8", place.text,
                         aicr_quote(&quoted, value, strlen(value)));
  if (option->kind == AICR_OPTION_CHOICE)
    return check_choice(option, origin, value);
  if (*value == '\0')
    return aicr_complain("%s is empty, expected %s", place.text,
                         option->argument);
  if (option->kind == AICR_OPTION_INTEGER &&
      (!aicr_parse_int64(value, strlen(value), &number) || number < 0))
    return aicr_complain("%s %s is not valid; expected a whole number from 0",
                         place.text, aicr_quote(&quoted, value, strlen(value)));
  return true;
}

bool aicr_command_line_add(struct aicr_command_line *line,
                           const struct aicr_option *option,
                           enum aicr_origin origin, const char *value,
                           size_t len, int *exit_code)
{
  struct aicr_setting *grown = NULL;
  struct aicr_setting *setting = NULL;
  struct aicr_option_place place;

  if (option->later)
    return aicr_complain("%s is not available yet",
                         aicr_option_place(&place, option, origin));
  grown =
      aicr_realloc(line->settings, (line->setting_count + 1) * sizeof(*grown));
  if (!grown)
    return out_of_memory(exit_code);
  line->settings = grown;
  setting = &grown[line->setting_count];
  setting->option = option;
  setting->origin = origin;
  setting->value = value ? aicr_strndup(value, len) : NULL;
  if (value && !setting->value)
    return out_of_memory(exit_code);
  line->setting_count++;
  return check_value(option, origin, setting->value);
}

static bool is_prefix(const char *name, size_t len,
                      const struct aicr_option *option)
{
  return strncmp(option->name, name, len) == 0;
}

/* getopt_long refused the argument `given`, which starts with "--". */
static bool refuse_long(const char *given)
{
  const char *names[AICR_OPTION_MAX];
  struct aicr_quoted quoted;
  struct aicr_buf same;
  const char *near = NULL;
  const char *name = given + 2;
  size_t len = strcspn(name, "=");
  size_t matches = 0;
  char word[AICR_ENV_NAME_MAX] = "";

  aicr_buf_init(&same, 4096);
  for (size_t i = 0; i < aicr_option_count; i++) {
    names[i] = aicr_options[i].name;
    if (is_prefix(name, len, &aicr_options[i])) {
      aicr_buf_addf(&same, " '--%s'", names[i]);
      matches++;
    }
  }
  if (matches > 1) {
    aicr_complain("option '--%.*s' is ambiguous; possibilities:%s", (int)len,
                  name, same.data ? same.data : "");
  } else {
    if (len < sizeof(word)) {
      memcpy(word, name, len);
      near = aicr_nearest(word, names, aicr_option_count);
    }
    aicr_quote(&quoted, given, len + 2);
    quoted.text[strlen(quoted.text) - 1] = '\0';
    if (near)
      aicr_complain("unrecognized option '%s'; did you mean '--%s'?",
                    quoted.text + 1, near);
    else
      aicr_complain("unrecognized option '%s'", quoted.text + 1);
  }
  aicr_buf_free(&same);
  return hint();
}

/* getopt_long gave '?' or ':' for the argument `given`. */
static bool refuse(int answer, const char *given)
{
  const struct aicr_option *option = NULL;
  struct aicr_quoted quoted;
  char letter = (char)optopt;

  if (optopt >= LONG_OPTION) {
    option = &aicr_options[optopt - LONG_OPTION];
    if (answer == ':')
      aicr_complain("option '--%s' requires an argument", option->name);
    else
      aicr_complain("option '--%s' doesn't allow an argument", option->name);
    return hint();
  }
  if (optopt == 0)
    return refuse_long(given);
  if (answer == ':') {
    option = aicr_option_of_letter(optopt);
    aicr_complain("option '-%c' requires an argument (--%s=%s)", optopt,
                  option->name, option->argument);
  } else {
    aicr_quote(&quoted, &letter, 1);
    quoted.text[strlen(quoted.text) - 1] = '\0';
    aicr_complain("invalid option '-%s'", quoted.text + 1);
  }
  return hint();
}

static bool add_operand(struct aicr_command_line *line, const char *operand)
{
  struct aicr_quoted quoted;

  if (!operand || *operand == '\0')
    return aicr_complain("operand is empty, expected a check, file or folder");
  if (line->operand_count == 0 && !line->command) {
    if (aicr_word_in(aicr_commands_later, operand))
      return aicr_complain("command '%s' is not available yet", operand);
    if (aicr_word_in(aicr_commands, operand)) {
      line->command = operand;
      return true;
    }
  }
  if (!aicr_utf8_valid(operand, strlen(operand)))
    return aicr_complain("operand %s is not valid UTF-8",
                         aicr_quote(&quoted, operand, strlen(operand)));
  line->operands[line->operand_count++] = operand;
  return true;
}

static bool read_args(struct aicr_command_line *line, int argc, char **argv)
{
  struct aicr_quoted quoted;

  line->args = argv + optind;
  line->arg_count = (size_t)(argc - optind);
  for (size_t i = 0; i < line->arg_count; i++)
    if (!aicr_utf8_valid(line->args[i], strlen(line->args[i])))
      return aicr_complain(
          "argument %s is not valid UTF-8",
          aicr_quote(&quoted, line->args[i], strlen(line->args[i])));
  return true;
}

static bool read_argv(struct aicr_command_line *line, int argc, char **argv,
                      int *exit_code)
{
  struct getopt_tables tables = {0};
  int answer = 0;

  make_tables(&tables);
  opterr = 0;
  for (;;) {
    const struct aicr_option *option = NULL;
    const char *given = argv[optind];

    optopt = 0;
    answer = getopt_long(argc, argv, tables.shorts, tables.longs, NULL);
    if (answer == -1)
      return read_args(line, argc, argv);
    if (answer == '?' || answer == ':')
      return refuse(answer, given);
    if (answer == 1) {
      if (!add_operand(line, optarg))
        return false;
      continue;
    }
    if (answer >= LONG_OPTION)
      option = &aicr_options[answer - LONG_OPTION];
    else
      option = aicr_option_of_letter(answer);
    line->help = strcmp(option->name, "help") == 0;
    line->version = strcmp(option->name, "version") == 0;
    if (line->help || line->version)
      return true;
    if (!aicr_command_line_add(line, option, AICR_FROM_COMMAND_LINE, optarg,
                               optarg ? strlen(optarg) : 0, exit_code))
      return false;
  }
}

bool aicr_command_line_read(struct aicr_command_line *line, int argc,
                            char **argv, int *exit_code)
{
  memset(line, 0, sizeof(*line));
  *exit_code = AICR_EXIT_USAGE;
  line->operands = aicr_calloc((size_t)argc + 1, sizeof(*line->operands));
  if (!line->operands)
    return out_of_memory(exit_code);
  if (!read_argv(line, argc, argv, exit_code))
    return false;
  if (line->help || line->version)
    return true;
  return aicr_environment_read(line, exit_code);
}

void aicr_command_line_free(struct aicr_command_line *line)
{
  for (size_t i = 0; i < line->setting_count; i++)
    aicr_free(line->settings[i].value);
  aicr_free(line->settings);
  aicr_free(line->operands);
  memset(line, 0, sizeof(*line));
}

const char *aicr_command_line_value(const struct aicr_command_line *line,
                                    const char *name)
{
  const char *value = NULL;

  for (size_t i = 0; i < line->setting_count; i++)
    if (strcmp(line->settings[i].option->name, name) == 0)
      value = line->settings[i].value;
  return value;
}
