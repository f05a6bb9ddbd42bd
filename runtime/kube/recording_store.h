/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_STORE_H
#define AICR_KUBE_RECORDING_STORE_H

#include <stdint.h>

#include "kube/backend.h"

/* What a recording holds, after loading. Objects stay the JSON text that was
 * recorded; only their identity was read. */

#define REC_TYPES_MAX   4096u
#define REC_OBJECTS_MAX 2000000u
#define REC_NO_TYPE     SIZE_MAX

/* What the reader found at an object's top and in its metadata. */
struct kube_rec_facts {
  char api_version[320], kind[128];
  char name[KUBE_NAME_MAX + 1], ns[64], uid[64], rv[64];
  bool has_items; /* "items" is an array or null: a list */
};

struct kube_rec_object {
  char *text; /* JSON, an object */
  size_t len;
  char *ns, *name, *uid, *rv; /* ns "": none */
  size_t type;  /* of kube_rec_store.types, REC_NO_TYPE: not yet */
  size_t order; /* later in the recording: larger */
  bool has_api_version, has_kind;
};

/* Objects of one list; sorted by namespace and name once loaded. */
struct kube_rec_set {
  struct kube_rec_object *items;
  size_t count, cap;
};

/* An answer that was an error, for a whole resource or one namespace of it. */
struct kube_rec_failure {
  char *ns; /* NULL: all */
  char *file;
  int http;
  char content_type[128];
  char *body;
  size_t len;
};

/* One resource of which something was recorded. */
struct kube_rec_type {
  struct kube_resource r; /* plural "" until kube_rec_store_finish() */
  struct kube_rec_set set;
  bool complete;      /* set holds all objects */
  char **complete_ns; /* set holds all objects of these namespaces */
  size_t complete_ns_count;
  struct kube_rec_failure *failures;
  size_t failure_count;
  bool scoped;   /* namespaced is known from where it was recorded */
  bool answered; /* some answer was a success: the API is served */
  bool no_api;   /* some answer was the server's text 404 */
  bool by_kind;  /* added by its kind, the plural came later */
};

/* What discovery or a custom resource definition says of a resource. */
struct kube_rec_known {
  struct kube_resource r;
  char names[256]; /* singular and short names, with spaces between */
};

struct kube_rec_group_version {
  char group[KUBE_NAME_MAX + 1], version[64];
};

/* One line of index.jsonl. */
struct kube_rec_entry {
  size_t type;
  enum kube_verb verb;
  char *ns, *name, *subresource, *label, *field; /* "": none */
  int http;
  enum kube_transport transport;
  char content_type[128];
  char *body; /* NULL: see set */
  size_t len;
  struct kube_rec_set set;
  size_t line;
  size_t served; /* of the first of equal keys: answers given so far */
};

struct kube_rec_store {
  struct kube_rec_type *types;
  size_t type_count, type_cap;
  size_t *sorted; /* types by what they were added as */
  struct kube_rec_known *known;
  size_t known_count, known_cap;
  struct kube_rec_group_version *stale;
  size_t stale_count, stale_cap;
  bool has_core_discovery, has_group_discovery;
  struct kube_rec_entry *entries; /* sorted by key, then line */
  size_t entry_count, entry_cap;
  bool indexed; /* only entries answer */
  size_t objects;
  char server_version[64], context[256];
  int64_t captured;
};

void kube_rec_store_free(struct kube_rec_store *s);
void kube_rec_set_free(struct kube_rec_set *set);

/* Grows an array by one zeroed element and returns it. NULL and INTERNAL/
 * "memory", or INVALID_REQUEST/"recording-too-large" above `max`. */
void *kube_rec_grow(void **array, size_t *count, size_t *cap, size_t size,
                    size_t max, struct aicr_error *err);

/* Adds a line to the warnings (NULL: none wanted) while there is room for it:
 * an overflow would lose those that are there. */
void kube_rec_note(struct aicr_buf *warnings, const char *fmt, ...)
    AICR_PRINTF(2, 3);

/* A copy of len bytes; NULL and INTERNAL/"memory". */
char *kube_rec_copy(const char *text, size_t len, struct aicr_error *err);

/* The type of group, version and plural (kind when plural is NULL), added when
 * it is new. NULL and *err as kube_rec_grow(). */
struct kube_rec_type *kube_rec_store_type(struct kube_rec_store *s,
                                          const char *group,
                                          const char *version,
                                          const char *plural, const char *kind,
                                          struct aicr_error *err);
struct kube_rec_type *kube_rec_store_find(const struct kube_rec_store *s,
                                          const char *group,
                                          const char *version,
                                          const char *plural);
const struct kube_rec_known *
kube_rec_store_known(const struct kube_rec_store *s, const char *group,
                     const char *version, const char *plural);

/* Reads an object's identity; checks the whole text. */
bool kube_rec_read_facts(const char *text, size_t len,
                         struct kube_rec_facts *out, struct aicr_error *err);

/* "apps/v1" -> group, version; false when it is neither V nor G/V. */
bool kube_rec_split_api_version(const char *text, char *group,
                                size_t group_size, char *version,
                                size_t version_size);

/* Adds a copy of an object to a set. */
bool kube_rec_set_add(struct kube_rec_store *s, struct kube_rec_set *set,
                      const char *text, size_t len,
                      const struct kube_rec_facts *facts, size_t type,
                      struct aicr_error *err);

/* Sorts, and keeps one of equal names: the same version silently, else the
 * newer, else (with a warning) the later one. */
void kube_rec_set_finish(struct kube_rec_set *set, const char *what,
                         struct aicr_buf *warnings);

/* The object, NULL when the set has none of that name. */
const struct kube_rec_object *kube_rec_set_find(const struct kube_rec_set *set,
                                                const char *ns,
                                                const char *name);

/* Marks a namespace (NULL: everything) of a type as completely recorded. */
bool kube_rec_type_complete(struct kube_rec_type *t, const char *ns,
                            struct aicr_error *err);

/* Reads an aggregated discovery document; *taken false: it is another. */
bool kube_rec_add_discovery(struct kube_rec_store *s, const char *text,
                            size_t len, bool *taken, struct aicr_error *err);

/* Reads a CustomResourceDefinition: the versions that it serves. */
bool kube_rec_add_definition(struct kube_rec_store *s, const char *text,
                             size_t len, struct aicr_error *err);

/* Gives a type its plural, kind and scope as far as they are not known yet:
 * discovery, definitions, the built-in table, else a guess. */
void kube_rec_name_type(const struct kube_rec_store *s, struct kube_rec_type *t,
                        struct aicr_buf *warnings);

/* After everything was added: plurals and scopes, sorted sets and entries. */
bool kube_rec_store_finish(struct kube_rec_store *s, struct aicr_buf *warnings,
                           struct aicr_error *err);

/* Order of keys, not of lines. */
int kube_rec_entry_compare(const struct kube_rec_entry *a,
                           const struct kube_rec_entry *b);

#endif
