/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/help.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/option.h"

enum { HELP_COLUMN = 30, WIDTH = 79, CELL_MAX = 80 };

/* "  -r, --recipe=FILE" */
static int write_cell(char out[CELL_MAX], const struct aicr_option *option)
{
  char letter[] = "   ";

  if (option->letter)
    snprintf(letter, sizeof(letter), "-%c,", option->letter);
  return snprintf(out, CELL_MAX, "  %-3s --%s%s%s", letter, option->name,
                  option->argument ? "=" : "",
                  option->argument ? option->argument : "");
}

static void print_option(const struct aicr_option *option)
{
  char cell[CELL_MAX];
  int len = write_cell(cell, option);

  if (len < HELP_COLUMN)
    printf("%-*s%s\n", HELP_COLUMN, cell, option->help);
  else
    printf("%s\n%*s%s\n", cell, HELP_COLUMN, "", option->help);
}

/* Prints a word of a list that breaks before the right edge. */
static void print_word(const char *prefix, const char *word, size_t *column)
{
  size_t len = strlen(prefix) + strlen(word);

  if (*column + 1 + len > WIDTH) {
    fputs("\n ", stdout);
    *column = 1;
  }
  printf(" %s%s", prefix, word);
  *column += 1 + len;
}

static void print_later(void)
{
  static const char title[] = "Not available yet:";
  size_t column = sizeof(title) - 1;

  fputs(title, stdout);
  for (size_t i = 0; i < aicr_option_count; i++)
    if (aicr_options[i].later)
      print_word("--", aicr_options[i].name, &column);
  for (size_t i = 0; aicr_commands_later[i]; i++)
    print_word("", aicr_commands_later[i], &column);
  for (size_t i = 0; aicr_formats_later[i]; i++)
    print_word("-f", aicr_formats_later[i], &column);
  putchar('\n');
}

void aicr_print_help(void)
{
  const char *group = "";

  puts("Usage: aicr-run [OPTION]... [CHECK]... [-- ARG...]\n"
       "       aicr-run doctor|rbac [OPTION]... [CHECK]...\n"
       "       aicr-run render --platform=NAME --arch=ARCH [OPTION]... "
       "[TEST]\n"
       "Check that a GPU cluster is what its recipe says.\n"
       "CHECK: a built-in check, a suite as checks/aws_efa.lua, a Lua file, a "
       "folder;\n"
       "without it ./aicr-run.lua, else those of the recipe, else all of the "
       "platform.\n"
       "doctor looks whether they could run here; rbac prints the least role "
       "they need;\n"
       "render an NCCL test (--nodes --gpus --nics --nic-resource=R "
       "--overrides=FILE).");
  for (size_t i = 0; i < aicr_option_count; i++) {
    if (aicr_options[i].later ||
        strcmp(aicr_options[i].group, AICR_RENDER_GROUP) == 0)
      continue;
    if (strcmp(group, aicr_options[i].group) != 0) {
      group = aicr_options[i].group;
      printf("\n%s:\n", group);
    }
    print_option(&aicr_options[i]);
  }
  puts("Also as variables: AICR_RUN_FAIL_FAST=1; AICR_RUN_PATH, "
       "AICR_RUN_HEARTBEAT=30s\n"
       "Exit: 0 ok, 1 failed, 2 usage, 3 no verdict, 4 none ran, 70 bug, "
       "128+N signal");
  print_later();
  puts("Examples:\n"
       "  aicr-run --recording rec/ --recipe recipe.yaml checks/gke_tcpxo.lua\n"
       "  aicr-run --recording rec/ -r recipe.yaml -p deployment -o junit.xml\n"
       "  aicr-run -k ~/.kube/config --context prod -r recipe.yaml "
       "checks/gke_tcpxo.lua\n"
       "  aicr-run --recording rec/ checks/my_check.lua --set gpus=8 -v");
}
