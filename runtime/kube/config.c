/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/config.h"

#include <string.h>

#include "core/text.h"
#include "kube/config_fields.h"
#include "kube/config_file.h"
#include "kube/config_pod.h"
#include "kube/config_proxy.h"
#include "kube/config_read.h"
#include "kube/config_sources.h"
#include "kube/config_url.h"
#include "kube/json_tree.h"

#define USE_ONE "--kubeconfig FILE, or --recording DIR to check a recording"

struct load {
  const struct kube_config_options *o;
  struct kube_config *c;
  struct aicr_buf *warnings;
  struct aicr_error *err;
  struct kube_config_sources sources;
};

static bool invalid(struct load *l, const char *what, const char *name,
                    const char *problem)
{
  struct aicr_quoted q;
  return aicr_fail(l->err, AICR_INVALID_REQUEST, "config-invalid", "%s %s %s",
                   what, aicr_quote(&q, name, strlen(name)), problem);
}

static const char *text_of(const struct aicr_buf *b)
{
  return b->data != NULL ? b->data : "";
}

/* The option that names something of a kubeconfig. */
static const char *file_option(const struct kube_config_options *o)
{
  return o->kubeconfig != NULL ? "kubeconfig"
         : o->context != NULL  ? "context"
         : o->cluster != NULL  ? "cluster"
         : o->user != NULL     ? "user"
                               : NULL;
}

static bool use_pod(struct load *l)
{
  return kube_config_copy(&l->c->source, "in-cluster", l->err) &&
         kube_config_pod_load(l->o, l->c, l->err);
}

/* No cluster is named anywhere: the pod's own, if this is one and nothing of a
 * kubeconfig was asked for. */
static bool from_nothing(struct load *l)
{
  const char *option = file_option(l->o);
  struct aicr_buf why;
  aicr_buf_init(&why, 1024);
  if (option == NULL) {
    aicr_buf_adds(&why, "; not in a pod: ");
    if (kube_config_pod_is(l->o, &why)) {
      aicr_buf_free(&why);
      return use_pod(l);
    }
  } else {
    aicr_buf_addf(&why, "; --%s needs a kubeconfig", option);
  }
  if (why.no_memory || l->sources.looked.no_memory) {
    kube_config_no_memory(l->err);
  } else if (l->o->kubeconfig != NULL) {
    struct aicr_quoted q;
    aicr_fail(l->err, AICR_INVALID_REQUEST, "config-not-found",
              "--kubeconfig %s: %s",
              aicr_quote(&q, l->o->kubeconfig, strlen(l->o->kubeconfig)),
              l->sources.count == 0 ? "no such file" : "it defines no cluster");
  } else {
    aicr_fail(l->err, AICR_INVALID_REQUEST, "config-not-found",
              "no cluster is configured: %s%s; give " USE_ONE,
              text_of(&l->sources.looked), text_of(&why));
  }
  aicr_buf_free(&why);
  return false;
}

/* The entry of a context, or of --cluster or --user. */
static bool find_named(struct load *l, enum kube_config_list list,
                       const char *name, const char *option,
                       const struct kube_config_entry *context,
                       struct kube_config_entry *out)
{
  const char *word = kube_config_list_word(list), *source = l->c->source;
  struct aicr_quoted q, s;
  if (kube_config_sources_find(&l->sources, list, name, out)) {
    return true;
  }
  if (option != NULL) {
    return aicr_fail(l->err, AICR_INVALID_REQUEST, "config-invalid",
                     "--%s %s: there is no such %s in %s", word,
                     aicr_quote(&q, name, strlen(name)), word,
                     aicr_quote(&s, source, strlen(source)));
  }
  return kube_config_bad(context, l->err,
                         "it names the %s %s, not defined in %s", word,
                         aicr_quote(&q, name, strlen(name)),
                         aicr_quote(&s, source, strlen(source)));
}

/* The pod's own account is never what somebody else chose (0.2). */
static bool no_context(struct load *l, const char *name, const char *from)
{
  const char *source = l->c->source;
  struct aicr_quoted q, s;
  struct aicr_buf known, why;
  aicr_buf_init(&known, 4096);
  aicr_buf_init(&why, 1024);
  kube_config_sources_contexts(&l->sources, &known);
  bool pod = kube_config_pod_is(l->o, &why);
  bool none = known.len == 0, no_memory = known.no_memory || why.no_memory;
  const char *choose = none ? "none; make one: kubectl config set-context NAME "
                              "--cluster CLUSTER --user USER"
                       : l->o->context != NULL
                           ? ""
                           : "; choose one with --context NAME";
  aicr_quote(&s, source, strlen(source));
  if (no_memory) {
    kube_config_no_memory(l->err);
  } else if (from != NULL) {
    aicr_fail(l->err, AICR_INVALID_REQUEST, "context-not-found",
              "%s %s: no such context in %s; it has: %s%s", from,
              aicr_quote(&q, name, strlen(name)), s.text, text_of(&known),
              choose);
  } else {
    aicr_fail(l->err, AICR_INVALID_REQUEST, "config-invalid",
              "%s has no current-context; contexts: %s%s%s", s.text,
              text_of(&known), choose,
              pod ? "; --in-cluster uses this pod's own account" : "");
  }
  aicr_buf_free(&known);
  aicr_buf_free(&why);
  return false;
}

/* Which context; its name is "" when the command line names the cluster. */
static bool choose(struct load *l, struct kube_config_entry *context)
{
  const struct kube_config_options *o = l->o;
  const char *name = o->context;
  *context = (struct kube_config_entry){.name = ""};
  if (name == NULL) {
    name = kube_config_sources_current(&l->sources);
  }
  if (name[0] == '\0' && o->context == NULL &&
      (o->server != NULL || o->cluster != NULL)) {
    return true;
  }
  if (name[0] == '\0' ||
      !kube_config_sources_find(&l->sources, KUBE_CONFIG_CONTEXTS, name,
                                context)) {
    const char *from = o->context != NULL ? "--context" : "current-context";
    return no_context(l, name,
                      name[0] != '\0' || o->context != NULL ? from : NULL);
  }
  return kube_config_copy(&l->c->context, name, l->err);
}

static bool take_user(struct load *l, const struct kube_config_entry *context)
{
  const struct kube_impersonation *as = &l->c->as;
  const char *name = kube_json_text(context->fields, "user");
  struct kube_config_entry user;
  if (l->o->user != NULL) {
    name = l->o->user;
  }
  if (name[0] == '\0') {
    return true;
  }
  if (!find_named(l, KUBE_CONFIG_USERS, name, l->o->user, context, &user) ||
      !kube_config_take_user(&user, l->c, l->warnings, l->err)) {
    return false;
  }
  bool lonely = as->user == NULL && l->o->as == NULL &&
                (as->uid != NULL || as->group_count > 0 || as->extra_count > 0);
  return !lonely || kube_config_bad(&user, l->err,
                                    "as-uid, as-groups and as-user-extra do "
                                    "not go without as");
}

static bool take_cluster(struct load *l,
                         const struct kube_config_entry *context)
{
  const struct kube_config_options *o = l->o;
  const char *name = kube_json_text(context->fields, "cluster");
  struct kube_config_entry cluster;
  if (o->cluster != NULL) {
    name = o->cluster;
  }
  if (name[0] == '\0' && (o->server != NULL || context->file == NULL)) {
    return true;
  }
  if (name[0] == '\0') {
    return kube_config_bad(context, l->err, "it names no cluster");
  }
  return find_named(l, KUBE_CONFIG_CLUSTERS, name, o->cluster, context,
                    &cluster) &&
         kube_config_take_cluster(&cluster, o->server == NULL, l->c,
                                  l->warnings, l->err) &&
         kube_config_take_extension(&cluster, l->c, l->err);
}

static bool take_namespace(struct load *l,
                           const struct kube_config_entry *context)
{
  const char *name = kube_json_text(context->fields, "namespace");
  struct aicr_quoted q;
  if (name[0] == '\0' || l->o->ns != NULL) {
    return true;
  }
  return kube_config_is_dns_label(name)
             ? kube_config_copy(&l->c->ns, name, l->err)
             : kube_config_bad(context, l->err,
                               "namespace %s is not a DNS label (a-z, 0-9, "
                               "'-')",
                               aicr_quote(&q, name, strlen(name)));
}

static bool from_files(struct load *l)
{
  struct kube_config_entry context;
  if (!kube_config_sources_open(&l->sources, l->o, l->warnings, l->err)) {
    return false;
  }
  if (kube_config_sources_empty(&l->sources) && l->o->server == NULL) {
    return from_nothing(l);
  }
  return kube_config_sources_name(&l->sources, &l->c->source, l->err) &&
         choose(l, &context) && take_user(l, &context) &&
         take_cluster(l, &context) && take_namespace(l, &context);
}

static bool from_pod(struct load *l)
{
  const char *option = file_option(l->o);
  struct aicr_buf why;
  if (option != NULL) {
    return aicr_fail(l->err, AICR_INVALID_REQUEST, "config-invalid",
                     "--in-cluster uses no kubeconfig: leave out --%s", option);
  }
  aicr_buf_init(&why, 1024);
  bool ok = kube_config_pod_is(l->o, &why);
  if (!ok && why.no_memory) {
    kube_config_no_memory(l->err);
  } else if (!ok) {
    aicr_fail(l->err, AICR_INVALID_REQUEST, "config-not-found",
              "--in-cluster: not in a pod: %s; give " USE_ONE, text_of(&why));
  }
  aicr_buf_free(&why);
  return ok && use_pod(l);
}

static bool override_server(struct load *l)
{
  const char *text = l->o->server, *problem = NULL;
  struct aicr_buf url;
  bool dropped = false;
  aicr_buf_init(&url, strlen(text) + 16);
  bool ok = kube_config_server_url(text, &url, &dropped, &problem);
  if (ok) {
    kube_config_wipe_text(&l->c->server);
    l->c->server = url.data;
    return true;
  }
  aicr_buf_free(&url);
  if (problem == NULL) {
    return kube_config_no_memory(l->err);
  }
  return kube_config_url_shows(text)
             ? invalid(l, "--server", text, problem)
             : aicr_fail(l->err, AICR_INVALID_REQUEST, "config-invalid",
                         "--server %s", problem);
}

static void drop_credentials(struct kube_config *c)
{
  kube_config_wipe_text(&c->token);
  kube_config_wipe_text(&c->token_file);
  kube_config_wipe_text(&c->username);
  kube_config_wipe_text(&c->password);
  kube_config_free_exec(c->exec);
  c->exec = NULL;
}

static bool override_token(struct load *l)
{
  const char *token = l->o->token;
  size_t len = strlen(token);
  const char *problem = kube_config_token_problem(&token, &len);
  if (problem != NULL) {
    return aicr_fail(l->err, AICR_INVALID_REQUEST, "config-invalid",
                     "--token %s", problem);
  }
  drop_credentials(l->c);
  l->c->token = aicr_strndup(token, len);
  if (l->c->certificate.len > 0) {
    aicr_buf_adds(l->warnings, "--token: the user's client certificate is sent "
                               "too, and the server looks at it first\n");
  }
  return l->c->token != NULL || kube_config_no_memory(l->err);
}

static bool override(struct load *l)
{
  const struct kube_config_options *o = l->o;
  struct kube_config *c = l->c;
  if ((o->server != NULL && !override_server(l)) ||
      (o->token != NULL && !override_token(l))) {
    return false;
  }
  if (o->as != NULL) {
    if (o->as[0] == '\0' || !kube_config_is_header(o->as)) {
      return invalid(l, "--as", o->as, "is no user name");
    }
    if (!kube_config_copy(&c->as.user, o->as, l->err)) {
      return false;
    }
  }
  if (o->ns == NULL) {
    return true;
  }
  return kube_config_is_dns_label(o->ns)
             ? kube_config_copy(&c->ns, o->ns, l->err)
             : invalid(l, "--namespace", o->ns,
                       "is not a DNS label (a-z, 0-9, '-')");
}

static bool has_credentials(const struct kube_config *c)
{
  return c->token != NULL || c->username != NULL || c->exec != NULL ||
         c->certificate.len > 0;
}

/* What nobody should find out later. */
static void warn(struct load *l)
{
  struct kube_config *c = l->c;
  if (strncmp(c->server, "http://", 7) == 0) {
    if (has_credentials(c)) {
      aicr_buf_adds(l->warnings, "the server is http://, so no token, password "
                                 "or certificate is sent\n");
    }
    drop_credentials(c);
    aicr_buf_free(&c->certificate);
    aicr_buf_free(&c->key);
  } else if (c->insecure) {
    aicr_buf_adds(l->warnings, "insecure-skip-tls-verify: the server's "
                               "certificate is not checked\n");
  }
  if (!has_credentials(c)) {
    aicr_buf_adds(l->warnings, "no credentials: requests are anonymous\n");
  }
}

/* A context without a namespace takes the pod's inside a pod (0.2). */
static bool default_namespace(struct load *l)
{
  struct aicr_buf why;
  if (l->c->ns != NULL) {
    return true;
  }
  aicr_buf_init(&why, 1024);
  bool pod = kube_config_pod_is(l->o, &why);
  bool no_memory = why.no_memory;
  aicr_buf_free(&why);
  if (no_memory) {
    return kube_config_no_memory(l->err);
  }
  return pod ? kube_config_pod_namespace(l->o, l->c, l->err)
             : kube_config_copy(&l->c->ns, "default", l->err);
}

/* The plug-in is asked only when there is nothing else (1.3). */
static bool may_log_in(struct load *l)
{
  const struct kube_config *c = l->c;
  struct aicr_quoted q;
  if (!l->o->no_exec_plugins || c->exec == NULL || c->token != NULL ||
      c->token_file != NULL || c->username != NULL || c->certificate.len > 0) {
    return true;
  }
  return aicr_fail(l->err, AICR_INVALID_REQUEST, "exec-plugin-refused",
                   "%s: the user of the context logs in with the credential "
                   "plug-in %s, which --no-exec-plugins does not let start",
                   c->source,
                   aicr_quote(&q, c->exec->command, strlen(c->exec->command)));
}

bool kube_config_load(const struct kube_config_options *options,
                      struct kube_config *config, struct aicr_buf *warnings,
                      struct aicr_error *err)
{
  struct load l = {.o = options, .c = config, .warnings = warnings, .err = err};
  *config = (struct kube_config){0};
  bool ok = (options->in_cluster ? from_pod(&l) : from_files(&l)) &&
            override(&l) && may_log_in(&l) && default_namespace(&l) &&
            kube_config_take_env_proxy(options, config, err);
  kube_config_sources_close(&l.sources);
  if (ok) {
    warn(&l);
  }
  return ok && (!warnings->no_memory || kube_config_no_memory(err));
}

void kube_config_free(struct kube_config *c)
{
  drop_credentials(c);
  char **const texts[] = {&c->source,    &c->context,         &c->ns,
                          &c->server,    &c->tls_server_name, &c->proxy,
                          &c->env_proxy, &c->as.user,         &c->as.uid};
  for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
    kube_config_wipe_text(texts[i]);
  }
  for (size_t i = 0; i < c->as.group_count; i++) {
    kube_config_wipe_text(&c->as.groups[i]);
  }
  for (size_t i = 0; i < c->as.extra_count; i++) {
    kube_config_wipe_text(&c->as.extra[i].name);
    kube_config_wipe_text(&c->as.extra[i].value);
  }
  aicr_free(c->as.groups);
  aicr_free(c->as.extra);
  aicr_buf_free(&c->ca);
  aicr_buf_free(&c->certificate);
  aicr_buf_free(&c->key);
  *c = (struct kube_config){0};
}
