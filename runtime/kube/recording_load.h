/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_LOAD_H
#define AICR_KUBE_RECORDING_LOAD_H

#include "kube/recording_files.h"
#include "kube/recording_scan.h"
#include "kube/recording_store.h"
#include "kube/recording_whole.h"

struct kube_rec_loader {
  struct kube_rec_store *store;
  struct aicr_buf *warnings; /* or NULL */
  bool has_manifest;
  bool wants_index; /* the manifest says that there is one */
  struct kube_rec_whole whole;
  const char *dump_ns; /* the file at hand is of a dump of this namespace */
  char looked[64];     /* the folder that is_dump is said of */
  bool is_dump;
};

/* Reads the recording at a path, whatever its format, into an empty store. */
bool kube_rec_load(struct kube_rec_store *store, const char *path,
                   struct aicr_buf *warnings, struct aicr_error *err);

/* "FILE: MESSAGE" with INVALID_REQUEST/"recording-invalid"; an error that is
 * not about the text (no memory, too large) stays what it is. False. */
bool kube_rec_fail(struct aicr_error *err, const char *file,
                   const struct aicr_error *inner);
bool kube_rec_invalid(struct aicr_error *err, const char *file, const char *fmt,
                      ...) AICR_PRINTF(3, 4);
void kube_rec_warn(struct kube_rec_loader *l, const char *file,
                   const char *what);

/* A list to cut, and what its document said. */
struct kube_rec_list {
  const struct kube_resource *want; /* what the items are; NULL: any kinds */
  size_t type;                      /* of want */
  const char *ns;                   /* all are in there; NULL: anywhere */
  struct kube_rec_set *set;         /* takes the items */
  char kind[128], api_version[192]; /* of the list */
  bool typed;                       /* kind is SOMETHINGList */
  bool may_go_on;                   /* a part of a list is taken too */
};

/* Adds an item, which must be what the list wants. */
bool kube_rec_add_item(struct kube_rec_loader *l, const char *file,
                       struct kube_rec_list *list,
                       const struct kube_rec_scan *scan,
                       const struct kube_rec_span *at, struct aicr_error *err);

/* After the items: is the document a list, and all of it? One page of several
 * is refused. */
bool kube_rec_end_list(const char *file, struct kube_rec_list *list,
                       const struct kube_rec_scan *scan,
                       struct aicr_error *err);

/* What a file's name says. */
bool kube_rec_is_document(const char *path);
bool kube_rec_is_json(const char *path);
bool kube_rec_is_yaml(const char *path);

/* Told of the documents of a text, each after the items that were in it. */
struct kube_rec_documents {
  bool (*item)(void *ctx, const char *file, struct kube_rec_scan *scan,
               const struct kube_rec_span *at, struct aicr_error *err);
  bool (*document)(void *ctx, const char *file, struct kube_rec_scan *scan,
                   const struct kube_rec_span *at, struct aicr_error *err);
  void *ctx;
};

/* Tells of a file's documents, as JSON: YAML by the name's ending or the look,
 * else JSON values one after another. */
bool kube_rec_each_document(struct kube_rec_loader *l,
                            const struct kube_rec_input *in,
                            const struct kube_rec_documents *to,
                            struct aicr_error *err);

/* Tells of a file that is one JSON value. */
bool kube_rec_one_document(struct kube_rec_loader *l,
                           const struct kube_rec_input *in,
                           const struct kube_rec_documents *to,
                           struct aicr_error *err);

/* Tells of a file that is one JSON array as of a list of its elements. */
bool kube_rec_is_array(const struct kube_rec_input *in, bool *yes,
                       struct aicr_error *err);
bool kube_rec_array(struct kube_rec_loader *l, const struct kube_rec_input *in,
                    const struct kube_rec_documents *to,
                    struct aicr_error *err);

/* Adds a file of a support bundle's cluster-resources/ (kubernetes-client.md
 * 6.3); *taken false: it is none of those that say what they hold by their
 * name. */
bool kube_rec_load_bundled(struct kube_rec_loader *l,
                           const struct kube_rec_input *in, bool *taken,
                           struct aicr_error *err);

/* Adds a failure of a type: all reads of it, or in one namespace (not ""). */
bool kube_rec_add_failure(struct kube_rec_type *t, const char *file,
                          const char *ns, int http, const char *content_type,
                          char *body, size_t len, struct aicr_error *err);

/* Adds what `kubectl get -o json|yaml` wrote: lists, typed lists, objects. */
bool kube_rec_load_documents(struct kube_rec_loader *l,
                             const struct kube_rec_input *in,
                             struct aicr_error *err);

/* Says of which kinds, and where, the items of a document are all there are.
 * Each item has its type. everywhere: in all namespaces, whatever the items
 * say. */
bool kube_rec_scope_take(struct kube_rec_store *s,
                         const struct kube_rec_set *set, const char *file,
                         bool everywhere, struct aicr_error *err);

/* Warns of a type that is complete only for what was in such a document; its
 * plural is known. */
void kube_rec_scope_warn(const struct kube_rec_type *t,
                         struct aicr_buf *warnings);

/* Adds index.jsonl and the files that it names; *found false: there is none. */
bool kube_rec_load_index(struct kube_rec_loader *l, bool *found,
                         struct aicr_error *err);

/* Reads {http, contentType, body}; *found false: the text is another. */
struct kube_rec_error_file {
  int http;
  char content_type[128];
  char *body; /* the caller frees it */
  size_t len;
};
bool kube_rec_read_error_file(const char *file, const char *text, size_t len,
                              struct kube_rec_error_file *out, bool *found,
                              struct aicr_error *err);

/* The server's text 404, which says that nothing is served at a path. */
bool kube_rec_is_no_api(int http, const char *content_type, const char *body,
                        size_t len);

#endif
