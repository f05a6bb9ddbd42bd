/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/credential_exec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/base64.h"
#include "core/json_writer.h"
#include "core/text.h"

#define OUTPUT_MAX ((size_t)1 << 20)
#define ENV_MAX    ((size_t)8 << 20)
#define INFO       "KUBERNETES_EXEC_INFO"
#define HINT_MAX   600
#define SAID_MAX   1000

extern char **environ;

/* The well-known plug-ins: how each is installed, and the command that shows or
 * renews its login. */
static const struct known {
  const char *name, *install, *login;
} known[] = {
    {"gke-gcloud-auth-plugin",
     "gcloud components install gke-gcloud-auth-plugin", "gcloud auth login"},
    {"aws", "python3 -m pip install awscli", "aws sts get-caller-identity"},
    {"aws-iam-authenticator", "brew install aws-iam-authenticator",
     "aws sts get-caller-identity"},
    {"kubelogin", "az aks install-cli", "az login"},
    {"oci", "python3 -m pip install oci-cli", "oci session authenticate"},
};

static const struct known *find_known(const char *command)
{
  const char *slash = strrchr(command, '/');

  for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
    if (strcmp(slash ? slash + 1 : command, known[i].name) == 0)
      return &known[i];
  return NULL;
}

static const char *source(const struct kube_config *config)
{
  return config->source ? config->source : "the kubeconfig";
}

/* A message is one line. */
static void join_lines(struct aicr_buf *b)
{
  while (b->len > 0 &&
         (b->data[b->len - 1] == '\n' || b->data[b->len - 1] == ' '))
    b->data[--b->len] = '\0';
  for (size_t i = 0; i < b->len; i++)
    if (b->data[i] == '\n')
      b->data[i] = ' ';
}

/* The whole sentence: who, what, what it said on stderr, what to type. */
static bool plugin_failed(const struct kube_config *config,
                          const struct kube_process *p, enum aicr_code code,
                          const char *reason, const char *what,
                          struct aicr_error *err)
{
  const char *command = config->exec->command;
  const struct known *k = find_known(command);
  struct aicr_quoted name, from;
  struct aicr_buf said;
  size_t skip = 0;

  aicr_buf_init(&said, 3 * (size_t)4096);
  if (p)
    kube_process_add_errors(p, &said);
  join_lines(&said);
  if (said.len > SAID_MAX)
    skip = said.len - SAID_MAX;
  while (skip > 0 && ((unsigned char)said.data[skip] & 0xC0) == 0x80)
    skip++;
  aicr_fail(err, code, reason,
            "the credential plug-in %s of %s failed: %s%s%s%s; try: %s",
            aicr_quote(&name, command, strlen(command)),
            aicr_quote(&from, source(config), strlen(source(config))), what,
            said.len > 0 ? "; it said: " : "", skip > 0 ? "…" : "",
            said.len > 0 ? said.data + skip : "",
            k ? k->login : "kubectl auth whoami");
  aicr_buf_free(&said);
  return false;
}

bool kube_exec_late(const struct kube_config *config,
                    const struct kube_process *p, struct aicr_error *err)
{
  return plugin_failed(config, p, AICR_TIMEOUT, "deadline",
                       "it gave no answer before the deadline", err);
}

static bool no_memory(struct aicr_error *err)
{
  return aicr_fail(err, AICR_INTERNAL, "memory",
                   "no memory for a credential plug-in");
}

static bool not_found(const struct kube_config *config, int problem,
                      struct aicr_error *err)
{
  const struct kube_exec_plugin *exec = config->exec;
  const struct known *k = find_known(exec->command);
  const char *given = exec->install_hint ? exec->install_hint : "";
  struct aicr_quoted name, from;
  struct aicr_buf hint;
  bool path = strchr(exec->command, '/') != NULL;

  aicr_buf_init(&hint, 4 * (size_t)HINT_MAX);
  aicr_buf_add_plain(&hint, given, strnlen(given, HINT_MAX));
  join_lines(&hint);
  aicr_fail(err, AICR_INVALID_REQUEST, "exec-plugin-not-found",
            "the credential plug-in %s of %s %s; %s%s",
            aicr_quote(&name, exec->command, strlen(exec->command)),
            aicr_quote(&from, source(config), strlen(source(config))),
            problem == EACCES ? "is a file that cannot be executed"
            : path            ? "does not exist"
                              : "is not in a folder of PATH",
            hint.len > 0 || k ? "to install it: "
                              : "install it, or write its path to "
                                "users[].user.exec.command; try: "
                                "kubectl config view --minify",
            hint.len > 0 ? hint.data
            : k          ? k->install
                         : "");
  aicr_buf_free(&hint);
  return false;
}

static bool can_ask(void)
{
  /* In the background reading the terminal would stop the plug-in. */
  return isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) == getpgrp();
}

static void add_member(struct aicr_buf *b, const char *name, const char *text)
{
  if (!text || !*text)
    return;
  aicr_buf_addf(b, ",\"%s\":", name);
  aicr_json_write_string(b, text, strlen(text));
}

/* Members and their order as client-go 0.34 writes them. */
static void add_info(struct aicr_buf *b, const struct kube_config *config,
                     bool interactive)
{
  const struct kube_exec_plugin *exec = config->exec;

  aicr_buf_adds(b, INFO "={\"kind\":\"ExecCredential\",\"apiVersion\":");
  aicr_json_write_string(b, exec->api_version, strlen(exec->api_version));
  aicr_buf_adds(b, ",\"spec\":{");
  if (exec->provide_cluster_info) {
    aicr_buf_adds(b, "\"cluster\":{\"server\":");
    aicr_json_write_string(b, config->server, strlen(config->server));
    add_member(b, "tls-server-name", config->tls_server_name);
    if (config->insecure)
      aicr_buf_adds(b, ",\"insecure-skip-tls-verify\":true");
    if (config->ca.len > 0) {
      aicr_buf_adds(b, ",\"certificate-authority-data\":\"");
      aicr_base64_encode(config->ca.data, config->ca.len, b);
      aicr_buf_addc(b, '"');
    }
    add_member(b, "proxy-url", config->proxy);
    if (config->no_compression)
      aicr_buf_adds(b, ",\"disable-compression\":true");
    aicr_buf_addf(b, ",\"config\":");
    aicr_buf_adds(b, exec->cluster_config ? exec->cluster_config : "null");
    aicr_buf_adds(b, "},");
  }
  aicr_buf_addf(b, "\"interactive\":%s}}\n", interactive ? "true" : "false");
  aicr_buf_addc(b, '\0');
}

static bool names(const char *entry, const char *name)
{
  size_t len = strlen(name);

  return strncmp(entry, name, len) == 0 && entry[len] == '=';
}

/* Does the plug-in's env from row `from` on, or INFO, decide this name? */
static bool decided(const struct kube_exec_plugin *exec, size_t from,
                    const char *entry)
{
  for (size_t i = from; i < exec->env_count; i++)
    if (names(entry, exec->env[i].name))
      return true;
  return names(entry, INFO);
}

struct environment {
  char **entries;
  struct aicr_buf own; /* NAME=VALUE\0… that are not ours */
};

static bool build_environment(struct environment *e,
                              const struct kube_config *config,
                              bool interactive)
{
  const struct kube_exec_plugin *exec = config->exec;
  size_t count = 0, n = 0;

  aicr_buf_init(&e->own, ENV_MAX);
  e->own.secret = true;
  while (environ && environ[count])
    count++;
  e->entries = aicr_calloc(count + exec->env_count + 2, sizeof(char *));
  for (size_t i = 0; i < exec->env_count; i++) {
    size_t start = e->own.len;

    aicr_buf_addf(&e->own, "%s=", exec->env[i].name);
    aicr_buf_adds(&e->own, exec->env[i].value ? exec->env[i].value : "");
    aicr_buf_addc(&e->own, '\0');
    if (!e->own.failed && decided(exec, i + 1, e->own.data + start))
      e->own.len = start;
  }
  add_info(&e->own, config, interactive);
  if (!e->entries || e->own.failed)
    return false;
  for (size_t i = 0; i < count; i++)
    if (!decided(exec, 0, environ[i]))
      e->entries[n++] = environ[i];
  for (size_t at = 0; at < e->own.len; at += strlen(e->own.data + at) + 1)
    e->entries[n++] = e->own.data + at;
  return true;
}

static struct kube_process *start(const struct kube_config *config,
                                  const char *path, bool interactive,
                                  int64_t deadline_ms, struct aicr_error *err)
{
  const struct kube_exec_plugin *exec = config->exec;
  char **words = aicr_calloc(exec->arg_count + 2, sizeof(char *));
  struct kube_process *p = NULL;
  struct environment e;

  if (!build_environment(&e, config, interactive) || !words) {
    no_memory(err);
  } else {
    struct kube_process_spec spec = {path,        words,      e.entries,
                                     interactive, OUTPUT_MAX, deadline_ms};
    struct aicr_error why;

    words[0] = exec->command;
    for (size_t i = 0; i < exec->arg_count; i++)
      words[i + 1] = exec->args[i];
    p = kube_process_start(&spec, &why);
    if (!p && strcmp(why.reason, "memory") == 0)
      no_memory(err);
    else if (!p)
      plugin_failed(config, NULL, AICR_UNAUTHORIZED, "exec-plugin-failed",
                    why.message, err);
  }
  aicr_free(e.entries);
  aicr_buf_free(&e.own);
  aicr_free(words);
  return p;
}

struct kube_process *kube_exec_start(const struct kube_config *config,
                                     int64_t deadline_ms,
                                     struct aicr_error *err)
{
  const struct kube_exec_plugin *exec = config->exec;
  bool person = exec->interactive != KUBE_INTERACTIVE_NEVER && can_ask();
  struct kube_process *p = NULL;
  struct aicr_buf path;
  int problem;

  if (exec->interactive == KUBE_INTERACTIVE_ALWAYS && !person) {
    plugin_failed(config, NULL, AICR_UNAUTHORIZED, "exec-plugin-failed",
                  "it asks a person (interactiveMode: Always), but stdin is no "
                  "terminal in the foreground",
                  err);
    return NULL;
  }
  aicr_buf_init(&path, 4096);
  problem = kube_process_find(exec->command, getenv("PATH"), &path);
  if (problem == ENOMEM)
    no_memory(err);
  else if (problem)
    not_found(config, problem, err);
  else
    p = start(config, path.data, person, deadline_ms, err);
  aicr_buf_free(&path);
  return p;
}

/* How it ended, the subject being the plug-in. */
static void describe(enum kube_process_end end, int number,
                     struct aicr_error *why)
{
  const enum aicr_code code = AICR_UNAUTHORIZED;

  switch (end) {
  case KUBE_PROCESS_EXITED:
    aicr_fail(why, code, "", "it ended with exit status %d", number);
    break;
  case KUBE_PROCESS_SIGNALED:
    aicr_fail(why, code, "", "signal %d (%s) ended it", number,
              strsignal(number));
    break;
  case KUBE_PROCESS_UNEXECUTED:
    aicr_fail(why, code, "", "it cannot be executed: %s%s", strerror(number),
              number == ENOENT    ? " (the program that its first line names)"
              : number == ENOEXEC ? " (its first line names no program)"
                                  : "");
    break;
  case KUBE_PROCESS_TOO_LARGE:
    aicr_fail(why, code, "", "it printed more than 1 MiB on stdout");
    break;
  default:
    aicr_fail(why, code, "", "its exit status was lost");
    break;
  }
}

bool kube_exec_finish(const struct kube_config *config,
                      const struct kube_process *p, struct kube_exec_answer *a,
                      struct aicr_error *err)
{
  const struct aicr_buf *output = kube_process_output(p);
  struct aicr_error why;
  int number;
  enum kube_process_end end = kube_process_end(p, &number);

  if (end == KUBE_PROCESS_DEADLINE)
    return kube_exec_late(config, p, err);
  if (end == KUBE_PROCESS_NO_MEMORY)
    return no_memory(err);
  if (end != KUBE_PROCESS_EXITED || number != 0)
    describe(end, number, &why);
  else if (kube_exec_answer_read(output->data, output->len,
                                 config->exec->api_version, a, &why))
    return true;
  else if (why.code == AICR_INTERNAL)
    return no_memory(err);
  return plugin_failed(config, p, AICR_UNAUTHORIZED, "exec-plugin-failed",
                       why.message, err);
}
