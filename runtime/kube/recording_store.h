/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_STORE_H
#define AICR_KUBE_RECORDING_STORE_H

#include <stdint.h>

#include "kube/backend.h"
#include "kube/discovery.h"
#include "kube/recording_facts.h"
#include "kube/recording_files.h"
#include "kube/recording_index.h"

/* What a recording holds, after loading. Objects stay the JSON text that was
 * recorded, where it was recorded; only their identity was read. */

#define REC_TYPES_MAX   4096u
#define REC_OBJECTS_MAX 2000000u
#define REC_NO_TYPE     0xffffu
#define REC_IN_MEMORY   UINT32_MAX

/* Where the text of a JSON object is: in a file of the recording, or (YAML
 * became JSON) in memory. */
struct kube_rec_span {
  const char *text; /* NULL: in the file */
  size_t file;      /* of kube_rec_files.kept */
  uint64_t offset;
  size_t len;
};

/* There may be millions of them. */
struct kube_rec_object {
  char *ns_name; /* the namespace ("": none), NUL, the name */
  union {
    char *text;
    uint64_t offset;
  } at;
  uint32_t file; /* REC_IN_MEMORY: text is its own */
  uint32_t len;
  uint32_t order; /* later in the recording: larger */
  uint16_t type;  /* of kube_rec_store.types, REC_NO_TYPE: not yet */
  uint8_t ns_len;
  bool has_api_version : 1, has_kind : 1;
};

/* Objects of one list; once loaded sorted as a server lists them, by namespace
 * and name, unless it did not. */
struct kube_rec_set {
  struct kube_rec_object *items;
  size_t count, cap;
  bool unsorted;
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
  const char *seen_ns;   /* of the document at hand (recording_scope.c) */
  char *narrow_file;     /* the first that holds one namespace only… */
  const char *narrow_ns; /* …this one; the text is an object's */
  struct kube_rec_failure *failures;
  size_t failure_count;
  bool scoped;   /* namespaced is known from where it was recorded */
  bool answered; /* some answer was a success: the API is served */
  bool no_api;   /* some answer was the server's text 404 */
  bool by_kind;  /* added by its kind, the plural came later */
};

/* A text that stays in its file: offset and length in a kept one. */
struct kube_rec_blob {
  size_t file;
  uint64_t offset, len;
};

/* What is in an entry as its answer. */
enum kube_rec_holds {
  REC_HOLDS_SET,  /* a list */
  REC_HOLDS_BODY, /* body, len */
  REC_HOLDS_BLOB  /* blob */
};

/* Do all answers of a key say the same? */
enum kube_rec_same { REC_SAME_UNKNOWN, REC_SAME_YES, REC_SAME_NO };

/* One line of index.jsonl. */
struct kube_rec_entry {
  size_t type; /* of a path: REC_NO_TYPE */
  enum kube_verb verb;
  char *ns, *name, *subresource, *label, *field, *query; /* "": none */
  char *path;                                            /* the same */
  int http;
  enum kube_transport transport;
  enum aicr_code code;   /* NONE: one of them says what came */
  char *reason, *detail; /* "": none */
  unsigned attempts;
  char content_type[128];
  enum kube_rec_holds holds;
  char *body;
  size_t len;
  struct kube_rec_blob blob;
  struct kube_rec_set set;
  bool partial; /* the list goes on, unrecorded */
  char resource_version[64];
  size_t line;
  char *check, *part; /* who was answered, "": nobody said */
  unsigned attempt;   /* from 1 */
  /* Of the first of equal keys and askers: how many answers were given to which
   * attempt. */
  size_t served;
  unsigned served_to;
  enum kube_rec_same same; /* of the first of equal keys */
};

/* What became of a wait, a run of a check or a name of a resource. */
struct kube_rec_event {
  enum kube_index_kind kind;
  struct kube_asker asker;
  char *what; /* of a wait, of a name */
  unsigned looks;
  enum kube_transport transport;
  int http; /* of a name: this and the rest */
  unsigned attempts;
  enum aicr_code code;
  char *reason, *message;
  unsigned told_to; /* the attempt that this was told, 0: none */
  /* Of the first of a name and asker: how often that attempt looked for it. */
  unsigned lookups;
};

/* A check of which there are lines, and its last attempt; sorted by name. */
struct kube_rec_check {
  const char *name;
  unsigned attempts;
};

/* What a container wrote. */
struct kube_rec_log {
  char *ns, *pod, *container;
  bool previous;
  struct kube_rec_blob blob;
};

/* Names of objects, which live as long as the store. */
struct kube_rec_block;
struct kube_rec_names {
  struct kube_rec_block *last;
  size_t used, size; /* of the last block */
};

struct kube_rec_store {
  struct kube_rec_files files;
  struct kube_rec_names names;
  struct kube_rec_type *types;
  size_t type_count, type_cap;
  size_t *sorted;                  /* types by what they were added as */
  struct kube_discovery discovery; /* and custom resource definitions */
  bool has_core_discovery, has_group_discovery;
  struct kube_rec_entry *entries; /* sorted by key, then line */
  size_t entry_count, entry_cap;
  bool open;                     /* the run that wrote it did not end it */
  bool indexed;                  /* only entries answer */
  struct kube_rec_event *events; /* in the order of their lines */
  size_t event_count, event_cap;
  struct kube_rec_check *checks;
  size_t check_count;
  struct kube_rec_log *logs;
  size_t log_count, log_cap;
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

/* Drops the types that were added after the first `count`; they are empty. */
void kube_rec_store_drop_types(struct kube_rec_store *s, size_t count);

/* "apps/v1" -> group, version; false when it is neither V nor G/V. */
bool kube_rec_split_api_version(const char *text, char *group,
                                size_t group_size, char *version,
                                size_t version_size);

/* "NS", NUL, "NAME", NUL; NULL and INTERNAL/"memory". */
char *kube_rec_names_add(struct kube_rec_names *n, const char *ns,
                         const char *name, struct aicr_error *err);

/* Frees what was added since *n was what `mark` is. */
void kube_rec_names_drop(struct kube_rec_names *n,
                         const struct kube_rec_names *mark);

/* Adds an object to a set; a text in memory is copied. */
bool kube_rec_set_add(struct kube_rec_store *s, struct kube_rec_set *set,
                      const struct kube_rec_span *at,
                      const struct kube_rec_facts *facts, size_t type,
                      struct aicr_error *err);

const char *kube_rec_ns(const struct kube_rec_object *o);
const char *kube_rec_name(const struct kube_rec_object *o);

/* Reads texts of objects, one at a time; keeps the last one's file open. */
struct kube_rec_texts {
  const struct kube_rec_files *files;
  struct kube_rec_input in; /* fd -1: none */
  size_t file;
  char *data;
  size_t cap;
};
void kube_rec_texts_begin(struct kube_rec_texts *t,
                          const struct kube_rec_store *s);

/* The text, NUL-terminated, valid until the next call; it begins with '{'.
 * NULL: "recording-changed", "recording-too-large", "memory", … */
const char *kube_rec_text(struct kube_rec_texts *t,
                          const struct kube_rec_object *o,
                          struct aicr_error *err);
const char *kube_rec_span_text(struct kube_rec_texts *t,
                               const struct kube_rec_span *at,
                               struct aicr_error *err);

/* Frees it. False when the file was changed under the last reads. */
bool kube_rec_texts_end(struct kube_rec_texts *t, struct aicr_error *err);

/* Sorts, and keeps one of equal names: the same version silently, else the
 * newer, else (with a warning) the later one. keep_order: what is left stands
 * as it was recorded. */
bool kube_rec_set_finish(const struct kube_rec_store *s,
                         struct kube_rec_set *set, bool keep_order,
                         const char *what, struct aicr_buf *warnings,
                         struct aicr_error *err);

/* Reads a blob into *out. False: "recording-changed", "memory", … */
bool kube_rec_blob_read(const struct kube_rec_store *s,
                        const struct kube_rec_blob *blob, struct aicr_buf *out,
                        struct aicr_error *err);

/* The object, NULL when the set has none of that name. */
const struct kube_rec_object *kube_rec_set_find(const struct kube_rec_set *set,
                                                const char *ns,
                                                const char *name);

/* A new entry with empty texts; NULL and *err as kube_rec_grow(). */
struct kube_rec_entry *kube_rec_entry_add(struct kube_rec_store *s,
                                          struct aicr_error *err);

/* Is it a request for a container's log? */
bool kube_rec_is_log(const struct kube_request *rq);

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

/* Orders of keys and of askers, not of lines. */
int kube_rec_entry_compare(const struct kube_rec_entry *a,
                           const struct kube_rec_entry *b);
int kube_rec_asker_compare(const struct kube_rec_entry *a,
                           const struct kube_rec_entry *b);

#endif
