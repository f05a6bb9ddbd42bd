/* SPDX-License-Identifier: Apache-2.0 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/command_line.h"
#include "cli/message.h"
#include "core/number.h"
#include "core/text.h"

extern char **environ;

/* Does the command line leave no room for the variable? */
static bool is_given(const struct aicr_command_line *line,
                     const struct aicr_option *option)
{
  if (option->layered)
    return false;
  for (size_t i = 0; i < line->setting_count; i++)
    if (line->settings[i].option == option)
      return true;
  return false;
}

/* The end of the first item of a list in a variable. In a list of outputs,
 * "json:a:junit:b", a format belongs to the file that follows it. */
static size_t item_length(const struct aicr_option *option, const char *text)
{
  const char separators[] = {option->separator, '\0'};
  size_t len = strcspn(text, separators);
  char word[16];

  if (strcmp(option->name, "output") == 0 && text[len] == ':' &&
      len < sizeof(word)) {
    memcpy(word, text, len);
    word[len] = '\0';
    if (aicr_word_in(aicr_formats, word) ||
        aicr_word_in(aicr_formats_later, word))
      len += 1 + strcspn(text + len + 1, separators);
  }
  return len;
}

static bool add_list(struct aicr_command_line *line,
                     const struct aicr_option *option, const char *text,
                     int *exit_code)
{
  if (!option->separator)
    return aicr_command_line_add(line, option, AICR_FROM_ENVIRONMENT, text,
                                 strlen(text), exit_code);
  for (;;) {
    size_t len = item_length(option, text);

    if (!aicr_command_line_add(line, option, AICR_FROM_ENVIRONMENT, text, len,
                               exit_code))
      return false;
    if (text[len] == '\0')
      return true;
    text += len + 1;
  }
}

/* A flag in the environment: 1 or 0; a count: any small number. */
static bool add_flag(struct aicr_command_line *line,
                     const struct aicr_option *option, const char *text,
                     int *exit_code)
{
  struct aicr_quoted quoted;
  struct aicr_option_place place;
  int64_t times = 0;
  int64_t most = option->kind == AICR_OPTION_COUNT ? 9 : 1;

  if (!aicr_parse_int64(text, strlen(text), &times) || times < 0 ||
      times > most)
    return aicr_complain(
        "%s %s is not valid; expected %s",
        aicr_option_place(&place, option, AICR_FROM_ENVIRONMENT),
        aicr_quote(&quoted, text, strlen(text)),
        most == 1 ? "0 or 1" : "a number from 0 to 9");
  for (; times > 0; times--)
    if (!aicr_command_line_add(line, option, AICR_FROM_ENVIRONMENT, NULL, 0,
                               exit_code))
      return false;
  return true;
}

/* A misspelled variable would be silently without effect. */
static void warn_of_misspelled(void)
{
  char names[AICR_OPTION_MAX][AICR_ENV_NAME_MAX];
  const char *words[AICR_OPTION_MAX + 1];
  struct aicr_quoted quoted;
  size_t count = 0;

  for (size_t i = 0; i < aicr_option_count; i++) {
    aicr_option_env_name(&aicr_options[i], names[i]);
    words[count++] = names[i];
  }
  words[count++] = AICR_PATH_VARIABLE;
  for (char **entry = environ; *entry; entry++) {
    size_t len = strcspn(*entry, "=");
    const char *near = NULL;
    char name[AICR_ENV_NAME_MAX];

    if (strncmp(*entry, "AICR_RUN_", 9) != 0 || len >= sizeof(name))
      continue;
    memcpy(name, *entry, len);
    name[len] = '\0';
    near = aicr_nearest(name, words, count);
    if (near && strcmp(near, name) != 0)
      aicr_complain("warning: the variable %s has no effect; did you mean %s?",
                    aicr_quote(&quoted, name, len), near);
  }
}

bool aicr_environment_read(struct aicr_command_line *line, int *exit_code)
{
  warn_of_misspelled();
  for (size_t i = 0; i < aicr_option_count; i++) {
    const struct aicr_option *option = &aicr_options[i];
    const char *text = NULL;
    char name[AICR_ENV_NAME_MAX];
    bool ok = true;

    aicr_option_env_name(option, name);
    text = option->no_env || is_given(line, option) ? NULL : getenv(name);
    if (!text || *text == '\0')
      continue;
    if (!option->argument)
      ok = add_flag(line, option, text, exit_code);
    else if (option->repeatable)
      ok = add_list(line, option, text, exit_code);
    else
      ok = aicr_command_line_add(line, option, AICR_FROM_ENVIRONMENT, text,
                                 strlen(text), exit_code);
    if (!ok)
      return false;
  }
  return true;
}
