/* SPDX-License-Identifier: Apache-2.0 */
#include <lauxlib.h>
#include <stdio.h>
#include <string.h>

#include "bind/k8s.h"

/* What the requests of a check showed, for who reads its verdict: a loop over
 * nothing compares nothing, and a read that failed may have been caught. */

/* Does the check itself ask? What a library looks for in vain it decides. */
static bool is_own(lua_State *L)
{
  static const char library[] = "@lua/aicr/", context[] = "@lua/aicr/ctx";
  lua_Debug ar;

  for (int level = 0; lua_getstack(L, level, &ar); level++) {
    if (!lua_getinfo(L, "S", &ar) || strcmp(ar.what, "C") == 0 ||
        strncmp(ar.source, context, sizeof(context) - 1) == 0)
      continue;
    return strncmp(ar.source, library, sizeof(library) - 1) != 0;
  }
  return false;
}

static void describe(char *out, size_t size, const struct kube_call_spec *spec)
{
  struct {
    const char *before, *text;
  } parts[] = {
      {"", spec->subresource && strcmp(spec->subresource, "log") == 0
               ? "lines in the log of "
               : NULL},
      {"", spec->resource ? spec->resource : spec->kind},
      {" ", spec->name},
      {" in ", spec->ns},
      {" with the label ", spec->label},
      {spec->label ? " and the field " : " with the field ", spec->field},
  };
  size_t len = 0;

  out[0] = '\0';
  for (size_t i = 0; i < sizeof(parts) / sizeof(*parts) && len < size; i++)
    if (parts[i].text && parts[i].text[0])
      len += (size_t)snprintf(out + len, size - len, "%s%s", parts[i].before,
                              parts[i].text);
}

void aicr_k8s_look_begin(lua_State *L, struct aicr_task *t,
                         struct aicr_k8s_look *look,
                         const struct kube_call_spec *spec)
{
  look->aside = spec->aside;
  t->seen.asked += !spec->aside;
  look->own = !spec->aside && is_own(L);
  if (look->own)
    describe(look->what, sizeof(look->what), spec);
}

void aicr_k8s_look_found(struct aicr_task *t, struct aicr_k8s_look *look)
{
  look->found = true;
  t->seen.found += !look->aside;
}

void aicr_k8s_look_empty(struct aicr_task *t, const struct aicr_k8s_look *look)
{
  struct aicr_seen *seen = &t->seen;

  if (look->found || !look->own || look->by_the_way)
    return;
  if (seen->empty > 0 && strcmp(seen->first_empty, look->what) == 0)
    return; /* asked again, as a log is that may go on */
  if (seen->empty++ == 0)
    snprintf(seen->first_empty, sizeof(seen->first_empty), "%s", look->what);
}

void aicr_k8s_look_failed(struct aicr_task *t, const struct aicr_k8s_look *look,
                          const struct aicr_error *err)
{
  struct aicr_seen *seen = &t->seen;

  if (!look->own)
    return;
  if (err->verdict) {
    aicr_k8s_look_empty(t, look);
    return;
  }
  if (seen->unread++ == 0)
    snprintf(seen->first_unread, sizeof(seen->first_unread),
             "%s, and went on: %.480s", look->what, err->message);
}
