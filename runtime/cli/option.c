/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/option.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/platform.h"

static const char *const phases[] = {"deployment", "conformance", "performance",
                                     "all", NULL};
static const char *const colors[] = {"auto", "always", "never", NULL};
static const char *const levels[] = {"error", "warn",  "info",
                                     "debug", "trace", NULL};
static const char *const log_formats[] = {"text", "json", NULL};
static const char *const keeps[] = {"failed", NULL};

const char *const aicr_formats[] = {"human", "json", "junit", NULL};
const char *const aicr_formats_later[] = {"ctrf", "tap", "markdown", "html",
                                          NULL};

const char *const aicr_commands[] = {"doctor", "rbac", "render", NULL};
const char *const aicr_commands_later[] = {"new",     "report", "validator",
                                           "cleanup", "repl",   "completion",
                                           "bench",   NULL};

#define SELECT     "Select"
#define TARGET     "Target"
#define RUN        "Run"
#define PARAMETERS "Parameters"
#define OUTPUT     "Output"
#define RENDER     AICR_RENDER_GROUP

const struct aicr_option aicr_options[] = {
    {.name = "list",
     .letter = 'l',
     .group = SELECT,
     .help = "print the selected checks, run none"},
    {.name = "explain",
     .group = SELECT,
     .help = "describe the selected checks, run none"},
    {.name = "dry-run",
     .group = SELECT,
     .help = "print the plan with all parameters, run none"},
    {.name = "phase",
     .letter = 'p',
     .repeatable = true,
     .separator = ',',
     .kind = AICR_OPTION_CHOICE,
     .argument = "PHASE",
     .choices = phases,
     .group = SELECT,
     .help = "deployment, conformance, performance, all"},
    {.name = "tags",
     .letter = 't',
     .repeatable = true,
     .kind = AICR_OPTION_TEXT,
     .argument = "EXPR",
     .group = SELECT,
     .help = "comma is and, leading ! is not, repeated is or"},
    {.name = "skip",
     .repeatable = true,
     .separator = ',',
     .kind = AICR_OPTION_TEXT,
     .argument = "NAME",
     .group = SELECT,
     .help = "leave a check out and report it as skipped"},
    {.name = "rerun",
     .later = true,
     .kind = AICR_OPTION_TEXT,
     .argument = "FILE",
     .group = SELECT,
     .help = "what did not pass in an earlier JSON report"},

    {.name = "kubeconfig",
     .letter = 'k',
     .kind = AICR_OPTION_TEXT,
     .argument = "FILE",
     .group = TARGET,
     .help = "how to reach the cluster"},
    {.name = "context",
     .kind = AICR_OPTION_TEXT,
     .argument = "NAME",
     .group = TARGET,
     .help = "context of the kubeconfig"},
    {.name = "no-exec-plugins",
     .kind = AICR_OPTION_FLAG,
     .group = TARGET,
     .help = "start no credential plug-in of the kubeconfig"},
    {.name = "namespace",
     .letter = 'n',
     .kind = AICR_OPTION_TEXT,
     .argument = "NS",
     .group = TARGET,
     .help = "where checks create objects (aicr-validation)"},
    {.name = "recipe",
     .letter = 'r',
     .kind = AICR_OPTION_TEXT,
     .argument = "FILE",
     .group = TARGET,
     .help = "recipe that the cluster is held against"},
    {.name = "snapshot",
     .letter = 's',
     .later = true,
     .kind = AICR_OPTION_TEXT,
     .argument = "FILE",
     .group = TARGET,
     .help = "snapshot for readiness constraints"},
    {.name = "record",
     .kind = AICR_OPTION_TEXT,
     .argument = "DIR",
     .group = TARGET,
     .help = "save what the cluster answers in a new folder DIR"},
    {.name = "recording",
     .kind = AICR_OPTION_TEXT,
     .argument = "DIR",
     .group = TARGET,
     .help = "answer every API request from DIR, no network"},
    {.name = "platform",
     .kind = AICR_OPTION_CHOICE,
     .argument = "NAME",
     .choices = aicr_platforms,
     .may_be_empty = true,
     .group = TARGET,
     .help = "platform, instead of recipe, suite, detection"},

    {.name = "jobs",
     .letter = 'j',
     .kind = AICR_OPTION_INTEGER,
     .argument = "N",
     .group = RUN,
     .help = "checks in flight (4)"},
    {.name = "timeout",
     .kind = AICR_OPTION_TEXT,
     .argument = "DUR",
     .group = RUN,
     .help = "time limit of the whole run, such as 1h"},
    {.name = "fail-fast",
     .letter = 'x',
     .group = RUN,
     .help = "start nothing new after a fail or an error"},
    {.name = "retry",
     .kind = AICR_OPTION_INTEGER,
     .argument = "N",
     .group = RUN,
     .help = "repeat a check that ended in error up to N times"},
    {.name = "keep",
     .later = true,
     .optional = true,
     .kind = AICR_OPTION_CHOICE,
     .argument = "failed",
     .choices = keeps,
     .group = RUN,
     .help = "do not clean up"},
    {.name = "seed",
     .kind = AICR_OPTION_INTEGER,
     .argument = "N",
     .group = RUN,
     .help = "seed of everything random (from the clock)"},
    {.name = "strict",
     .group = RUN,
     .help = "no skip, waived failure or pass on nothing passes"},
    {.name = "source",
     .kind = AICR_OPTION_TEXT,
     .argument = "DIR",
     .group = RUN,
     .help = "read lua/ checks/ recipes/ from DIR instead"},

    {.name = "set",
     .repeatable = true,
     .layered = true,
     .sensitive = true,
     .separator = ',',
     .kind = AICR_OPTION_TEXT,
     .argument = "KEY=VALUE",
     .group = PARAMETERS,
     .help = "parameter of a check, also CHECK.KEY=VALUE"},
    {.name = "set-file",
     .repeatable = true,
     .layered = true,
     .separator = ':',
     .kind = AICR_OPTION_TEXT,
     .argument = "KEY=FILE",
     .group = PARAMETERS,
     .help = "the value is in a file: the way for secrets"},
    {.name = "values",
     .repeatable = true,
     .separator = ':',
     .kind = AICR_OPTION_TEXT,
     .argument = "FILE",
     .group = PARAMETERS,
     .help = "YAML or JSON: CHECK or all, then KEY: VALUE"},
    {.name = "node-selector",
     .later = true,
     .kind = AICR_OPTION_TEXT,
     .argument = "K=V",
     .group = PARAMETERS,
     .help = "for the pods that checks create"},
    {.name = "toleration",
     .later = true,
     .repeatable = true,
     .separator = ',',
     .kind = AICR_OPTION_TEXT,
     .argument = "K=V:EFFECT",
     .group = PARAMETERS,
     .help = "for the pods that checks create"},

    {.name = "arch",
     .kind = AICR_OPTION_TEXT,
     .argument = "ARCH",
     .group = RENDER,
     .help = "architecture of the GPUs, such as h100"},
    {.name = "nodes",
     .kind = AICR_OPTION_INTEGER,
     .argument = "N",
     .group = RENDER,
     .help = "nodes of the run (2)"},
    {.name = "gpus",
     .kind = AICR_OPTION_INTEGER,
     .argument = "N",
     .group = RENDER,
     .help = "GPUs a node (by architecture)"},
    {.name = "nics",
     .kind = AICR_OPTION_INTEGER,
     .argument = "N",
     .group = RENDER,
     .help = "NICs a node (by architecture)"},
    {.name = "nic-resource",
     .kind = AICR_OPTION_TEXT,
     .argument = "NAME",
     .group = RENDER,
     .help = "resource of NICs on premises, such as rdma/ib"},
    {.name = "overrides",
     .kind = AICR_OPTION_TEXT,
     .argument = "FILE",
     .group = RENDER,
     .help = "rows of your own behind the built-in ones"},

    {.name = "format",
     .letter = 'f',
     .kind = AICR_OPTION_CHOICE,
     .argument = "FMT",
     .choices = aicr_formats,
     .choices_later = aicr_formats_later,
     .group = OUTPUT,
     .help = "what stdout gets: human, json, junit"},
    {.name = "output",
     .letter = 'o',
     .repeatable = true,
     .separator = ':',
     .kind = AICR_OPTION_TEXT,
     .argument = "[FMT:]FILE",
     .group = OUTPUT,
     .help = "also write a report (.json, .xml); repeatable"},
    {.name = "color",
     .kind = AICR_OPTION_CHOICE,
     .argument = "WHEN",
     .choices = colors,
     .group = OUTPUT,
     .help = "auto, always, never"},
    {.name = "quiet",
     .letter = 'q',
     .group = OUTPUT,
     .help = "only failures, errors and the totals"},
    {.name = "verbose",
     .letter = 'v',
     .kind = AICR_OPTION_COUNT,
     .group = OUTPUT,
     .help = "what passing checks saw, too; -vv: each request"},
    {.name = "log-level",
     .kind = AICR_OPTION_CHOICE,
     .argument = "LEVEL",
     .choices = levels,
     .group = OUTPUT,
     .help = "trace tells each request; others tell nothing"},
    {.name = "log-format",
     .later = true,
     .kind = AICR_OPTION_CHOICE,
     .argument = "FMT",
     .choices = log_formats,
     .group = OUTPUT,
     .help = "text or json"},
    {.name = "help",
     .letter = 'h',
     .no_env = true,
     .group = OUTPUT,
     .help = "print this and exit"},
    {.name = "version",
     .letter = 'V',
     .no_env = true,
     .group = OUTPUT,
     .help = "print version and linked libraries and exit"},
};

const size_t aicr_option_count = sizeof(aicr_options) / sizeof(aicr_options[0]);
static_assert(sizeof(aicr_options) / sizeof(aicr_options[0]) <= AICR_OPTION_MAX,
              "arrays of one row an option have AICR_OPTION_MAX rows");

const struct aicr_option *aicr_option_of_letter(int letter)
{
  for (size_t i = 0; letter != 0 && i < aicr_option_count; i++)
    if (aicr_options[i].letter == letter)
      return &aicr_options[i];
  return NULL;
}

bool aicr_word_in(const char *const *words, const char *text)
{
  for (; words && *words; words++)
    if (strcmp(*words, text) == 0)
      return true;
  return false;
}

void aicr_option_env_name(const struct aicr_option *option,
                          char out[AICR_ENV_NAME_MAX])
{
  int len = snprintf(out, AICR_ENV_NAME_MAX, "AICR_RUN_%s", option->name);

  for (int i = 0; i < len && i < AICR_ENV_NAME_MAX - 1; i++) {
    if (out[i] == '-')
      out[i] = '_';
    else if (out[i] >= 'a' && out[i] <= 'z')
      out[i] = (char)(out[i] - 'a' + 'A');
  }
}
