/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_LOAD_H
#define AICR_KUBE_RECORDING_LOAD_H

#include "kube/recording_files.h"
#include "kube/recording_store.h"

struct kube_rec_loader {
  struct kube_rec_store *store;
  struct kube_rec_files files;
  struct aicr_buf *warnings; /* or NULL */
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
};

/* Adds the items of a list document. A list that is one page of several is
 * refused: it is not the whole. */
bool kube_rec_load_list(struct kube_rec_loader *l, const char *file,
                        const char *text, size_t len,
                        struct kube_rec_list *list, struct aicr_error *err);

/* Whether a file of this name may hold documents. */
bool kube_rec_is_document(const char *path);

/* Calls `each` for the documents of a text, as JSON: YAML by the name's ending
 * or the look, JSON values one after another otherwise. */
struct kube_rec_document_visitor {
  bool (*each)(void *ctx, const char *file, const char *text, size_t len,
               struct aicr_error *err);
  void *ctx;
};
bool kube_rec_each_document(const char *file, const struct aicr_buf *text,
                            const struct kube_rec_document_visitor *v,
                            struct aicr_error *err);

/* Adds what `kubectl get -o json|yaml` wrote: lists, typed lists, objects. */
bool kube_rec_load_documents(struct kube_rec_loader *l, const char *file,
                             const struct aicr_buf *text,
                             struct aicr_error *err);

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
