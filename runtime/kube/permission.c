/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/permission.h"

#include <stdio.h>
#include <string.h>

#include "core/text.h"

#define LINES_MAX 256u
#define LINE_LEN  1024u

enum verb {
  V_GET = 1 << 0,
  V_LIST = 1 << 1,
  V_WATCH = 1 << 2,
  V_CREATE = 1 << 3,
  V_UPDATE = 1 << 4,
  V_PATCH = 1 << 5,
  V_DELETE = 1 << 6,
  V_DELETE_MANY = 1 << 7
};
#define V_READS (V_GET | V_LIST | V_WATCH)

/* What a word means, and the subresource that it brings along. */
static const struct {
  const char *name;
  unsigned verbs;
  const char *subresource;
} words[] = {
    {"get", V_GET, NULL},       {"find", V_GET, NULL},
    {"list", V_LIST, NULL},     {"each", V_LIST, NULL},
    {"watch", V_WATCH, NULL},   {"wait", V_GET | V_LIST | V_WATCH, NULL},
    {"create", V_CREATE, NULL}, {"update", V_UPDATE, NULL},
    {"patch", V_PATCH, NULL},   {"apply", V_PATCH | V_CREATE, NULL},
    {"delete", V_DELETE, NULL}, {"deletecollection", V_DELETE_MANY, NULL},
    {"logs", V_GET, "log"},     {"exec", V_GET | V_CREATE, "exec"},
};
#define WORD_COUNT (sizeof words / sizeof words[0])

enum scope { SCOPE_DEFAULT, SCOPE_ANYWHERE, SCOPE_RUN, SCOPE_NAMESPACE };

struct grant {
  unsigned verbs;
  char group[KUBE_NAME_MAX + 1], plural[64], subresource[64];
  enum scope scope;
  char ns[64];
  bool if_served;
};

struct kube_permissions {
  struct grant *grants;
  size_t count, cap;
  char *paths[LINES_MAX]; /* of get_raw; one may end in '*' */
  size_t path_count;
};

void kube_permissions_free(struct kube_permissions *p)
{
  if (p != NULL) {
    for (size_t i = 0; i < p->path_count; i++) {
      aicr_free(p->paths[i]);
    }
    aicr_free(p->grants);
    aicr_free(p);
  }
}

struct span {
  const char *data;
  size_t len;
};

static bool is(struct span s, const char *word)
{
  return strlen(word) == s.len && memcmp(s.data, word, s.len) == 0;
}

static struct span next_word(const char **p)
{
  *p += strspn(*p, " \t");
  struct span s = {*p, strcspn(*p, " \t")};
  *p += s.len;
  return s;
}

static bool bad_need(struct aicr_error *err, const char *line, const char *why)
{
  struct aicr_quoted q;
  return aicr_fail(err, AICR_INVALID_REQUEST, "bad-need", "bad need %s: %s",
                   aicr_quote(&q, line, strlen(line)), why);
}

static struct grant *add_grant(struct kube_permissions *p,
                               struct aicr_error *err)
{
  struct grant *grown = aicr_grow(p->grants, &p->cap, p->count, sizeof *grown);
  if (grown == NULL) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for needs");
    return NULL;
  }
  p->grants = grown;
  struct grant *g = &p->grants[p->count++];
  memset(g, 0, sizeof *g);
  return g;
}

static void copy(char *out, size_t size, struct span s)
{
  size_t n = s.len < size ? s.len : size - 1;
  memcpy(out, s.data, n);
  out[n] = '\0';
}

/* "pods", "networks.networking.gke.io", "pods/log". Other names of a built-in
 * resource mean the resource. */
static bool read_resource(struct span text, struct grant *g, const char *line,
                          struct aicr_error *err)
{
  struct kube_resource r;
  struct aicr_error bad;
  const char *slash = memchr(text.data, '/', text.len);
  struct span name = {text.data,
                      slash == NULL ? text.len : (size_t)(slash - text.data)};
  if (!kube_resource_name(name.data, name.len, &r, &bad)) {
    return bad_need(err, line, bad.message);
  }
  if (slash != NULL) {
    struct span sub = {slash + 1, text.len - name.len - 1};
    if (sub.len == 0 || sub.len >= sizeof g->subresource ||
        memchr(sub.data, '/', sub.len) != NULL) {
      return bad_need(err, line, "a subresource is one word, as in pods/log");
    }
    copy(g->subresource, sizeof g->subresource, sub);
  }
  bool bare = r.group[0] == '\0' && r.version[0] == '\0';
  const struct kube_resource *b =
      kube_builtin_by_name(bare ? NULL : r.group, r.plural);
  memcpy(g->group, b != NULL ? b->group : r.group, sizeof g->group);
  memcpy(g->plural, b != NULL ? b->plural : r.plural, sizeof g->plural);
  return true;
}

static bool read_namespace(struct span ns, struct grant *g, const char *line,
                           struct aicr_error *err)
{
  struct kube_resource any = {"", "v1", "pods", "Pod", true};
  struct aicr_error bad;
  struct aicr_buf path;
  if (ns.len == 0 || ns.len >= sizeof g->ns) {
    return bad_need(err, line, "a namespace or run is expected after in");
  }
  copy(g->ns, sizeof g->ns, ns);
  g->scope = is(ns, "run") ? SCOPE_RUN : SCOPE_NAMESPACE;
  aicr_buf_init(&path, 1024);
  bool ok = kube_resource_path(&any, g->ns, NULL, NULL, &path, &bad);
  aicr_buf_free(&path);
  if (!ok && bad.code == AICR_INTERNAL) {
    *err = bad;
    return false;
  }
  return ok || bad_need(err, line, bad.message);
}

/* What may follow the resource: a scope, then "if served". */
static bool read_scope(const char *rest, struct grant *g, const char *line,
                       struct aicr_error *err)
{
  struct span word = next_word(&rest);
  bool known = word.len == 0 || is(word, "if");
  if (is(word, "anywhere")) {
    g->scope = SCOPE_ANYWHERE;
    known = true;
    word = next_word(&rest);
  } else if (is(word, "in")) {
    if (!read_namespace(next_word(&rest), g, line, err)) {
      return false;
    }
    known = true;
    word = next_word(&rest);
  }
  if (!known) {
    return bad_need(err, line,
                    "in NAMESPACE, in run or anywhere is expected after the "
                    "resource");
  }
  if (is(word, "if") && is(next_word(&rest), "served")) {
    g->if_served = true;
    word = next_word(&rest);
  }
  return word.len == 0 ||
         bad_need(err, line,
                  "nothing may follow the scope but the words if served");
}

static const char ways_of_api[] = "name the resource instead of its path";

/* Does a path have the segment "." or ".."? What is on the way to the server
 * takes those out, and the server then answers for another path. */
static bool has_dots(const char *text)
{
  for (const char *at = text; (at = strstr(at, "/.")) != NULL; at += 2) {
    size_t n = 1 + strspn(at + 1, ".");
    if (n <= 3 && (at[n] == '/' || at[n] == '\0')) {
      return true;
    }
  }
  return false;
}

/* What is wrong with a path, NULL: nothing. The API's own paths have names of
 * their own. */
static const char *bad_path(const char *text)
{
  static const char *const roots[] = {"/api", "/apis"};
  static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                              "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789/-._~:*";
  if (text[0] != '/' || text[strspn(text, plain)] != '\0') {
    return "a path begins with / and has letters, digits and -._~: in it";
  }
  if (strstr(text, "//") != NULL || has_dots(text)) {
    return "a path has no // and no segment . or ..";
  }
  for (size_t i = 0; i < 2; i++) {
    size_t n = strlen(roots[i]);
    if (strncmp(text, roots[i], n) == 0 &&
        (text[n] == '\0' || text[n] == '/' || text[n] == '*')) {
      return ways_of_api;
    }
  }
  return NULL;
}

/* "get /version": for get_raw. */
static bool read_path(struct kube_permissions *p, struct span verbs,
                      struct span path, const char *rest, const char *line,
                      struct aicr_error *err)
{
  if (!is(verbs, "get")) {
    return bad_need(err, line, "a path can only be got");
  }
  if (next_word(&rest).len != 0) {
    return bad_need(err, line, "nothing may follow a path");
  }
  char text[LINE_LEN + 1];
  copy(text, sizeof text, path);
  const char *star = strchr(text, '*');
  if (star != NULL && star[1] != '\0') {
    return bad_need(err, line, "a path has * only at its end");
  }
  const char *why = strcmp(text, "/*") == 0 ? ways_of_api : bad_path(text);
  if (why != NULL) {
    return bad_need(err, line, why);
  }
  p->paths[p->path_count] = aicr_strndup(text, strlen(text));
  return p->paths[p->path_count++] != NULL ||
         aicr_fail(err, AICR_INTERNAL, "memory", "no memory for needs");
}

static unsigned find_word(struct span verb)
{
  unsigned i = 0;
  while (i < WORD_COUNT && !is(verb, words[i].name)) {
    i++;
  }
  return i;
}

static bool read_verb(struct kube_permissions *p, struct span verb,
                      const struct grant *from, const char *line,
                      struct aicr_error *err)
{
  unsigned w = find_word(verb);
  if (w == WORD_COUNT) {
    const char *known[WORD_COUNT];
    char text[64], why[160];
    for (size_t i = 0; i < WORD_COUNT; i++) {
      known[i] = words[i].name;
    }
    copy(text, sizeof text, verb);
    const char *near = aicr_nearest(text, known, WORD_COUNT);
    struct aicr_quoted q;
    snprintf(why, sizeof why, "unknown verb %.60s%s%s%s",
             aicr_quote(&q, text, strlen(text)),
             near == NULL ? "" : ", did you mean ", near == NULL ? "" : near,
             near == NULL ? "" : "?");
    return bad_need(err, line, why);
  }
  struct grant *g = add_grant(p, err);
  if (g == NULL) {
    return false;
  }
  *g = *from;
  g->verbs = words[w].verbs;
  if (words[w].subresource != NULL) {
    bool pods = g->group[0] == '\0' && strcmp(g->plural, "pods") == 0;
    if (!pods || (g->subresource[0] != '\0' &&
                  strcmp(g->subresource, words[w].subresource) != 0)) {
      return bad_need(err, line, "logs and exec are of pods");
    }
    snprintf(g->subresource, sizeof g->subresource, "%s", words[w].subresource);
  }
  return true;
}

static bool read_line(struct kube_permissions *p, const char *line,
                      struct aicr_error *err)
{
  const char *rest = line;
  if (strlen(line) > LINE_LEN) {
    return bad_need(err, line, "it is longer than 1024 bytes");
  }
  struct span verbs = next_word(&rest);
  struct span resource = next_word(&rest);
  if (verbs.len == 0 || resource.len == 0) {
    return bad_need(err, line,
                    "expected VERB[,VERB] RESOURCE[.GROUP][/SUBRESOURCE] [in "
                    "NAMESPACE | in run | anywhere] [if served]");
  }
  if (resource.data[0] == '/') {
    return read_path(p, verbs, resource, rest, line, err);
  }
  struct grant g = {0};
  if (!read_resource(resource, &g, line, err) ||
      !read_scope(rest, &g, line, err)) {
    return false;
  }
  for (size_t at = 0; at <= verbs.len;) {
    const char *begin = verbs.data + at;
    const char *comma = memchr(begin, ',', verbs.len - at);
    size_t n = comma == NULL ? verbs.len - at : (size_t)(comma - begin);
    if (!read_verb(p, (struct span){begin, n}, &g, line, err)) {
      return false;
    }
    at += n + 1;
  }
  return true;
}

struct kube_permissions *kube_permissions_parse(const char *const *lines,
                                                size_t count,
                                                struct aicr_error *err)
{
  struct kube_permissions *p = aicr_calloc(1, sizeof *p);
  if (p == NULL) {
    aicr_fail(err, AICR_INTERNAL, "memory", "no memory for needs");
    return NULL;
  }
  bool ok =
      count <= LINES_MAX || aicr_fail(err, AICR_INVALID_REQUEST, "bad-need",
                                      "more than %u lines of needs", LINES_MAX);
  for (size_t i = 0; ok && i < count; i++) {
    ok = read_line(p, lines[i], err);
  }
  if (!ok) {
    kube_permissions_free(p);
    return NULL;
  }
  return p;
}

static bool in_scope(const struct grant *g, unsigned verb, const char *ns,
                     const char *run_namespace)
{
  enum scope scope = g->scope;
  if (scope == SCOPE_DEFAULT) {
    scope = (verb & V_READS) != 0 ? SCOPE_ANYWHERE : SCOPE_RUN;
  }
  if (scope == SCOPE_ANYWHERE) {
    return true;
  }
  const char *only = scope == SCOPE_RUN ? run_namespace : g->ns;
  return ns != NULL && only != NULL && strcmp(ns, only) == 0;
}

static bool granted(const struct kube_permissions *p, unsigned verb,
                    const struct kube_resource *r, const char *subresource,
                    const char *ns, const char *run_namespace)
{
  for (size_t i = 0; i < p->count; i++) {
    const struct grant *g = &p->grants[i];
    if ((g->verbs & verb) != 0 && strcmp(g->group, r->group) == 0 &&
        strcmp(g->plural, r->plural) == 0 &&
        strcmp(g->subresource, subresource) == 0 &&
        in_scope(g, verb, ns, run_namespace)) {
      return true;
    }
  }
  return false;
}

static bool refuse(struct aicr_error *err, const char *verb, unsigned verbs,
                   const struct kube_resource *r, const char *subresource,
                   const char *ns, const char *run_namespace)
{
  char what[512];
  const char *in = "", *where = "";
  if (r->plural[0] == '\0') {
    return aicr_fail(
        err, AICR_INVALID_REQUEST, "undeclared-permission",
        "no resource is known for kind \"%.63s\" of %.100s%s%.63s: "
        "correct apiVersion and kind (kubectl api-resources), and "
        "have \"%s RESOURCE.GROUP\" in its needs",
        r->kind, r->group, r->group[0] == '\0' ? "" : "/", r->version, verb);
  }
  bool own =
      ns != NULL && run_namespace != NULL && strcmp(ns, run_namespace) == 0;
  if (ns == NULL) {
    in = (verbs & V_READS) == 0 ? " anywhere" : "";
  } else if (!own) {
    in = " in ";
    where = ns;
  } else {
    in = (verbs & V_READS) == 0 ? "" : " in run";
  }
  snprintf(what, sizeof what, "%s %s%s%s%s%s%s%.64s", verb, r->plural,
           r->group[0] == '\0' ? "" : ".", r->group,
           subresource[0] == '\0' ? "" : "/", subresource, in, where);
  return aicr_fail(err, AICR_INVALID_REQUEST, "undeclared-permission",
                   "the check does not declare \"%s\": add that line to its "
                   "needs",
                   what);
}

bool kube_permissions_allow(const struct kube_permissions *p, const char *verb,
                            const struct kube_resource *r,
                            const char *subresource, const char *ns,
                            const char *run_namespace, struct aicr_error *err)
{
  unsigned w = find_word((struct span){verb, strlen(verb)});
  unsigned verbs = w == WORD_COUNT ? 0 : words[w].verbs;
  if (subresource == NULL) {
    subresource = w == WORD_COUNT || words[w].subresource == NULL
                      ? ""
                      : words[w].subresource;
  }
  bool ok = verbs != 0;
  for (unsigned bit = 1; ok && bit <= V_DELETE_MANY; bit <<= 1) {
    ok = (verbs & bit) == 0 ||
         granted(p, bit, r, subresource, ns, run_namespace);
  }
  return ok || refuse(err, verb, verbs, r, subresource, ns, run_namespace);
}

bool kube_permissions_allow_path(const struct kube_permissions *p,
                                 const char *path, struct aicr_error *err)
{
  struct aicr_quoted q;
  const char *why = bad_path(path);
  if (why != NULL || strchr(path, '*') != NULL) {
    return aicr_fail(err, AICR_INVALID_REQUEST, "bad-request",
                     "bad path %s: %s", aicr_quote(&q, path, strlen(path)),
                     why == NULL ? "* stands only in needs" : why);
  }
  for (size_t i = 0; p != NULL && i < p->path_count; i++) {
    size_t n = strlen(p->paths[i]);
    bool any = p->paths[i][n - 1] == '*';
    if (any ? strncmp(path, p->paths[i], n - 1) == 0
            : strcmp(path, p->paths[i]) == 0) {
      return true;
    }
  }
  return p == NULL ||
         aicr_fail(err, AICR_INVALID_REQUEST, "undeclared-permission",
                   "the check does not declare \"get %.300s\": add that line "
                   "to its needs",
                   path);
}

/* The verbs of a grant and those that the client adds by itself. */
static unsigned verbs_sent(const struct grant *g)
{
  unsigned verbs = g->verbs;
  if (g->subresource[0] != '\0') {
    return verbs;
  }
  if ((verbs & V_CREATE) != 0) {
    verbs |= V_GET | V_DELETE;
  }
  return (verbs & V_DELETE) != 0 ? verbs | V_GET : verbs;
}

static enum kube_need_scope scope_sent(const struct grant *g, unsigned verb)
{
  /* What reads only what was written goes where that went. */
  bool read = (g->verbs & verb & V_READS) != 0;
  switch (g->scope) {
  case SCOPE_ANYWHERE:
    return KUBE_NEED_ANYWHERE;
  case SCOPE_RUN:
    return KUBE_NEED_RUN;
  case SCOPE_NAMESPACE:
    return KUBE_NEED_NAMESPACE;
  default:
    return read ? KUBE_NEED_ANYWHERE : KUBE_NEED_RUN;
  }
}

void kube_permissions_each(const struct kube_permissions *p,
                           void (*fn)(void *ud, const struct kube_need *need),
                           void *ud)
{
  static const struct {
    unsigned verb;
    const char *name;
  } names[] = {
      {V_GET, "get"},       {V_LIST, "list"},
      {V_WATCH, "watch"},   {V_CREATE, "create"},
      {V_UPDATE, "update"}, {V_PATCH, "patch"},
      {V_DELETE, "delete"}, {V_DELETE_MANY, "deletecollection"},
  };
  for (size_t i = 0; i < p->count; i++) {
    const struct grant *g = &p->grants[i];
    unsigned verbs = verbs_sent(g);
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
      struct kube_need need = {.verb = names[k].name,
                               .group = g->group,
                               .plural = g->plural,
                               .subresource = g->subresource,
                               .scope = scope_sent(g, names[k].verb),
                               .ns = g->scope == SCOPE_NAMESPACE ? g->ns : "",
                               .if_served = g->if_served};
      if ((verbs & names[k].verb) != 0) {
        fn(ud, &need);
      }
    }
  }
  for (size_t i = 0; i < p->path_count; i++) {
    struct kube_need need = {.verb = "get",
                             .group = "",
                             .plural = "",
                             .subresource = "",
                             .scope = KUBE_NEED_ANYWHERE,
                             .ns = "",
                             .path = p->paths[i]};
    fn(ud, &need);
  }
}
