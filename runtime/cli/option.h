/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CLI_OPTION_H
#define AICR_CLI_OPTION_H

#include <stdbool.h>
#include <stddef.h>

/* The one table of options: getopt_long's arrays, --help, the environment
 * forms, suggestions and the refusals of what is not there yet come from it. */

enum aicr_option_kind {
  AICR_OPTION_FLAG,
  AICR_OPTION_COUNT,   /* a flag that may be repeated: -vv */
  AICR_OPTION_TEXT,    /* any non-empty text */
  AICR_OPTION_INTEGER, /* 0 to INT64_MAX */
  AICR_OPTION_CHOICE   /* one of `choices` */
};

struct aicr_option {
  const char *name;
  char letter;       /* 0: none */
  bool later;        /* known, but refused: not available yet */
  bool repeatable;   /* a list; otherwise the last one wins */
  bool no_env;       /* has no AICR_RUN_… form */
  bool optional;     /* the argument may be left out: --keep[=failed] */
  bool may_be_empty; /* an empty value means: not given */
  bool layered;      /* its environment form adds to the command line's */
  bool sensitive;    /* may hold a secret: messages do not repeat it */
  char separator;    /* of the list in the environment form, 0: not split */
  enum aicr_option_kind kind;
  const char *argument;       /* as --help shows it, NULL: takes none */
  const char *const *choices; /* ended by NULL */
  const char *const *choices_later;
  const char *group; /* AICR_RENDER_GROUP: --help shows it with the command */
  const char *help;
};

#define AICR_RENDER_GROUP "Render"

#define AICR_OPTION_MAX 64
extern const struct aicr_option aicr_options[];
extern const size_t aicr_option_count;

/* The words that are a command when they are the first operand, available or
 * not; ended by NULL. */
extern const char *const aicr_commands[];
extern const char *const aicr_commands_later[];

/* Report formats, available or not; ended by NULL. */
extern const char *const aicr_formats[];
extern const char *const aicr_formats_later[];

/* NULL when there is none. */
const struct aicr_option *aicr_option_of_letter(int letter);

/* Is text one of the words, a list ended by NULL (which may itself be NULL)? */
bool aicr_word_in(const char *const *words, const char *text);

/* Folders that are searched for checks named without a path. */
#define AICR_PATH_VARIABLE "AICR_RUN_PATH"

/* "AICR_RUN_FAIL_FAST" for "fail-fast". */
#define AICR_ENV_NAME_MAX 64
void aicr_option_env_name(const struct aicr_option *option,
                          char out[AICR_ENV_NAME_MAX]);

#endif
