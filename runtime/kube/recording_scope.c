/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>
#include <string.h>

#include "core/text.h"
#include "kube/recording_load.h"

/* What a document of kubectl is complete for. `kubectl get -A` and `kubectl get
 * -n NS` write the same List, so one whose objects of a kind are all in one
 * namespace is taken for that namespace's; a typed list was asked for by its
 * path. */

static void see(struct kube_rec_type *t, const char *ns)
{
  if (t->seen_ns == NULL) {
    t->seen_ns = ns;
  } else if (strcmp(t->seen_ns, ns) != 0) {
    t->seen_ns = "";
  }
}

static bool narrow(struct kube_rec_type *t, const char *file, const char *ns,
                   struct aicr_error *err)
{
  if (!kube_rec_type_complete(t, ns, err)) {
    return false;
  }
  if (t->narrow_file == NULL) {
    t->narrow_ns = ns;
    t->narrow_file = kube_rec_copy(file, strlen(file), err);
  }
  return t->narrow_file != NULL;
}

bool kube_rec_scope_take(struct kube_rec_store *s,
                         const struct kube_rec_set *set, const char *file,
                         bool everywhere, struct aicr_error *err)
{
  for (size_t i = 0; i < set->count; i++) {
    const struct kube_rec_object *o = &set->items[i];
    see(&s->types[o->type], everywhere ? "" : kube_rec_ns(o));
  }
  for (size_t i = 0; i < set->count; i++) {
    struct kube_rec_type *t = &s->types[set->items[i].type];
    const char *ns = t->seen_ns;
    t->seen_ns = NULL;
    if (ns != NULL && !(ns[0] == '\0' ? kube_rec_type_complete(t, NULL, err)
                                      : narrow(t, file, ns, err))) {
      return false;
    }
  }
  return true;
}

/* The command that records all of a resource, "" where its names are of no
 * server. */
static void raw_command(const struct kube_resource *r, char *out, size_t size)
{
  static const char plain[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";
  const char *const names[] = {r->group, r->version, r->plural};
  out[0] = '\0';
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    if (names[i][strspn(names[i], plain)] != '\0') {
      return;
    }
  }
  snprintf(out, size, ": kubectl get --raw /%s%s/%s/%s",
           r->group[0] == '\0' ? "api" : "apis/", r->group, r->version,
           r->plural);
}

void kube_rec_scope_warn(const struct kube_rec_type *t,
                         struct aicr_buf *warnings)
{
  struct aicr_quoted file, ns, plural;
  char command[512];
  if (t->narrow_file == NULL || t->complete) {
    return;
  }
  raw_command(&t->r, command, sizeof command);
  kube_rec_note(warnings,
                "%s: its %s are all in namespace %s, so they count as all of "
                "that one only; where there are no others, record that%s",
                aicr_quote(&file, t->narrow_file, strlen(t->narrow_file)),
                aicr_quote(&plural, t->r.plural, strlen(t->r.plural)),
                aicr_quote(&ns, t->narrow_ns, strlen(t->narrow_ns)), command);
}
