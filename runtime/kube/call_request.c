/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/call.h"
#include "kube/discovery.h"
#include "kube/fixed_text.h"
#include "kube/record_call.h"
#include "kube/status.h"

static void set_resource(struct kube_failure *f, const struct kube_resource *r)
{
  snprintf(f->resource, sizeof f->resource, "%.63s%s%.190s", r->plural,
           r->group[0] == '\0' ? "" : ".", r->group);
}

/* A name that cannot be resolved is still judged by what was asked for, so
 * that an undeclared request is always refused as that. */
static void canonical(struct kube_resource *r)
{
  bool bare = r->group[0] == '\0' && r->version[0] == '\0';
  const struct kube_resource *b =
      r->plural[0] == '\0'
          ? kube_builtin_by_kind(r->group, r->version, r->kind)
          : kube_builtin_by_name(bare ? NULL : r->group, r->plural);
  if (b != NULL) {
    kube_set_text(r->group, sizeof r->group, b->group);
    kube_set_text(r->plural, sizeof r->plural, b->plural);
  }
}

/* An object that names no namespace is meant in the run's. */
static void default_namespace(struct kube_call *call)
{
  struct kube_call_spec *spec = &call->spec;
  if (spec->resource == NULL && call->rq.resource.namespaced &&
      spec->ns == NULL) {
    spec->ns = spec->run_namespace;
    call->rq.ns = spec->ns;
    call->in_run = true;
    kube_set_text(call->failure.ns, sizeof call->failure.ns, spec->ns);
  }
}

/* What the call names: a resource, or an object's apiVersion and kind. */
static bool read_resource(const struct kube_call_spec *spec,
                          struct kube_resource *r, struct aicr_error *err)
{
  struct aicr_quoted q;
  if (spec->resource != NULL) {
    return kube_resource_name(spec->resource, strlen(spec->resource), r, err);
  }
  const char *text = spec->api_version == NULL ? "" : spec->api_version;
  const char *slash = strchr(text, '/');
  size_t group_len = slash == NULL ? 0 : (size_t)(slash - text);
  memset(r, 0, sizeof *r);
  bool ok = group_len < sizeof r->group &&
            kube_set_text(r->version, sizeof r->version,
                          slash == NULL ? text : slash + 1) &&
            kube_set_text(r->kind, sizeof r->kind, spec->kind) &&
            r->version[0] != '\0' && r->kind[0] != '\0';
  if (!ok) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "an object needs apiVersion and kind, got %s",
                     aicr_quote(&q, text, strlen(text)));
  }
  memcpy(r->group, text, group_len);
  return true;
}

/* RESOLVED: the resource is known, and the check may ask for it. */
static enum kube_resolved resolve(struct kube_call *call,
                                  struct aicr_error *err)
{
  const struct kube_call_spec *spec = &call->spec;
  struct kube_backend *b = call->client->backend;
  struct kube_resource *r = &call->rq.resource;
  if (!read_resource(spec, r, err)) {
    return KUBE_RESOLVE_FAILED;
  }
  struct kube_resource written = *r;
  call->resolving.asker = call->rq.asker;
  call->resolving.named = call->named;
  enum kube_resolved found =
      b->ops->resolve(b, r, &call->resolving, &call->failure, err);
  if (found == KUBE_RESOLVE_WAIT) {
    return found;
  }
  kube_record_looked(call);
  if (found == KUBE_RESOLVE_FAILED) {
    canonical(&written);
    *r = written;
  }
  set_resource(&call->failure, r);
  default_namespace(call);
  struct aicr_error refused;
  if (spec->permissions != NULL &&
      !kube_permissions_allow(spec->permissions, kube_verb_name(spec->verb), r,
                              spec->subresource, spec->ns, spec->run_namespace,
                              &refused)) {
    *err = refused;
    return KUBE_RESOLVE_FAILED;
  }
  if (found == KUBE_RESOLVE_FAILED &&
      strcmp(err->reason, "api-not-served") == 0) {
    /* the answer that the server would have given */
    call->failure.http = 404;
    call->failure.served = KUBE_SERVED_NO;
  }
  if (found == KUBE_RESOLVE_FAILED) {
    kube_record_unresolved(call, err);
  }
  return found;
}

static bool check_shape(const struct kube_call_spec *spec,
                        struct aicr_error *err)
{
  bool collection = spec->verb == KUBE_LIST || spec->verb == KUBE_CREATE ||
                    spec->verb == KUBE_WATCH;
  if (!collection && spec->name == NULL) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "%s needs a name", kube_verb_name(spec->verb));
  }
  if (spec->verb == KUBE_LIST && spec->name != NULL) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "list takes no name; use get");
  }
  return true;
}

/* Makes the strings of the call's spec its own. */
bool kube_call_copy(struct kube_call *call, const struct kube_call_spec *spec,
                    struct aicr_error *err)
{
  struct kube_call_spec *own = &call->spec;
  *own = *spec;
  own->asker = call->rq.asker;
  const char **const at[CALL_STRINGS] = {
      &own->resource, &own->ns,          &own->name,          &own->subresource,
      &own->label,    &own->field,       &own->run_namespace, &own->query,
      &own->body,     &own->api_version, &own->kind,          &own->command,
      &own->container};
  for (size_t i = 0; i < CALL_STRINGS; i++) {
    if (*at[i] == NULL) {
      continue;
    }
    size_t len = at[i] == &own->body      ? spec->body_len
                 : at[i] == &own->command ? spec->command_len
                                          : strlen(*at[i]);
    call->strings[i] = aicr_strndup(*at[i], len);
    if (call->strings[i] == NULL) {
      return kube_call_no_memory(err);
    }
    *at[i] = call->strings[i];
  }
  snprintf(call->named, sizeof call->named, "%s%s%s",
           own->resource != NULL      ? own->resource
           : own->api_version != NULL ? own->api_version
                                      : "",
           own->resource != NULL ? "" : " ",
           own->resource != NULL || own->kind == NULL ? "" : own->kind);
  call->rq.name = own->name;
  call->rq.ns = own->ns;
  call->rq.subresource = own->subresource;
  call->rq.label = own->label;
  call->rq.field = own->field;
  call->rq.query = own->query;
  call->rq.body = own->body;
  call->rq.body_len = own->body_len;
  call->rq.content_type = own->content_type;
  call->rq.command = own->command;
  call->rq.command_len = own->command_len;
  call->rq.container = own->container;
  call->rq.text = own->text || own->verb == KUBE_RAW;
  return true;
}

bool kube_call_send(struct kube_call *call, struct aicr_error *err)
{
  struct kube_backend *b = call->client->backend;
  call->rq.page = call->page;
  call->transfer = b->ops->start(b, &call->rq, call, err);
  if (call->transfer == NULL) {
    return false;
  }
  call->phase = PHASE_FLIGHT;
  return true;
}

/* The resource of a request that was answered 404 has been looked up anew.
 * False when there is nothing else to ask for: then the answer stands. */
static bool is_worth_it(struct kube_call *call, struct aicr_error *err)
{
  const struct kube_resource *is = &call->rq.resource, *was = &call->was;
  if (call->explained == KUBE_SERVED_NO &&
      strcmp(is->version, was->version) == 0 &&
      strcmp(is->plural, was->plural) == 0) {
    kube_record_failure(call);
    kube_status_error(&call->rq, &call->answer, call->explained, err,
                      &call->failure);
    return false;
  }
  kube_answer_free(&call->answer);
  memset(&call->answer, 0, sizeof call->answer);
  aicr_buf_reset(&call->path);
  return true;
}

bool kube_call_look_up(struct kube_call *call, enum kube_served served,
                       struct aicr_error *err)
{
  call->again = true;
  call->explained = served;
  call->was = call->rq.resource;
  call->resolving = (struct kube_resolving){.anew = true};
  if (call->in_run) { /* it may belong to the cluster by now */
    call->spec.ns = call->rq.ns = NULL;
    call->in_run = false;
    call->failure.ns[0] = '\0';
  }
  return kube_call_go_on(call, err);
}

/* Would the request be refused for the scope that an older answer of discovery
 * gives its resource? A definition may have been made anew meanwhile. */
static bool is_scope_old(const struct kube_call *call)
{
  const struct kube_resource *r = &call->rq.resource;
  bool fits = call->spec.ns != NULL ? r->namespaced
                                    : !r->namespaced || call->spec.name == NULL;
  return !fits && !call->again && !call->waited && !kube_always_served(r) &&
         call->client->backend->ops->served == NULL; /* no recording */
}

/* Sends the request once its resource is known. False: nothing is sent, with
 * *err unless that was all that was asked for. */
bool kube_call_go_on(struct kube_call *call, struct aicr_error *err)
{
  const struct kube_call_spec *spec = &call->spec;
  if (spec->verb == KUBE_RAW) {
    call->rq.path = spec->resource;
    return kube_permissions_allow_path(spec->permissions, spec->resource,
                                       err) &&
           kube_call_send(call, err);
  }
  switch (resolve(call, err)) {
  case KUBE_RESOLVE_WAIT:
    call->waited = true;
    call->phase = PHASE_RESOLVE;
    return true;
  case KUBE_RESOLVE_FAILED:
    return false;
  default:
    break;
  }
  if (spec->resolve_only) {
    call->resolved = true;
    return false;
  }
  if ((call->again && !is_worth_it(call, err)) || !check_shape(spec, err)) {
    return false;
  }
  if (is_scope_old(call)) {
    return kube_call_look_up(call, KUBE_SERVED_YES, err);
  }
  if (!kube_resource_path(&call->rq.resource, spec->ns, spec->name,
                          spec->subresource, &call->path, err)) {
    return false;
  }
  call->rq.path = call->path.data;
  return kube_call_send(call, err);
}
