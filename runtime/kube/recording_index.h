/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_RECORDING_INDEX_H
#define AICR_KUBE_RECORDING_INDEX_H

#include "core/hash.h"
#include "kube/backend.h"

/* A line of a recording's index.jsonl (design 9): one logical answer, or what
 * became of a wait or of a check's run, which a replay must not outlive. */

#define KUBE_INDEX_LINE_MAX (1u << 20)
#define KUBE_QUERY_MAX      1023u

/* The files of a recording beside those that its index names. */
#define KUBE_RECORD_MANIFEST "aicr-recording.json"
#define KUBE_RECORD_INDEX    "index.jsonl"
#define KUBE_RECORD_ACCESS   "access.json"

enum kube_index_kind {
  KUBE_INDEX_ANSWER,
  KUBE_INDEX_WAIT,   /* verb "wait": a wait is over */
  KUBE_INDEX_RUN,    /* verb "run": an attempt at a check is over */
  KUBE_INDEX_RESOLVE /* verb "resolve": the resource that a request names could
                      * not be found, or not be looked for */
};

/* Texts are "" where the line has none (absent or null). */
struct kube_index_line {
  enum kube_index_kind kind;
  char group[KUBE_NAME_MAX + 1]; /* "" for the core group, also for "core" */
  char version[64], resource[64];
  enum kube_verb verb;
  char ns[64], name[KUBE_NAME_MAX + 1], subresource[64];
  char label[1024], field[1024];
  char path[2048]; /* KUBE_RAW only, which has none of the names above */
  char query[KUBE_QUERY_MAX +
             1];     /* what else was asked for, sorted (kube_query_sort) */
  unsigned attempts; /* 0: not said */
  int http;          /* 0: transport or code say what happened instead */
  enum kube_transport transport;
  /* … of what was not even sent, or (RESOLVE) is not known; NONE: it was */
  enum aicr_code code;
  char reason[64], detail[256]; /* …and more of it */
  char content_type[128];
  char file[1024];               /* relative, without "." and ".." steps */
  int64_t bytes;                 /* of that file; 0: not said */
  char sha256[AICR_SHA256_TEXT]; /* of that file */
  /* who asked, or waited: as in struct kube_asker, but an attempt of 0 is the
   * first one. A line of hand has none. */
  struct kube_asker asker;
  /* KUBE_INDEX_WAIT: for what, how often it was looked at. A transport says
   * that time was over, none that it came true or raised an error.
   * KUBE_INDEX_RESOLVE: what was named, how often it had been looked for
   * before; http or transport is what discovery was answered. */
  char what[1024];
  unsigned looks;
};

/* Makes a text what a line can have as `what`, always the same of the same:
 * one that is too long or no text becomes its hash. */
void kube_index_what(const char *text, size_t len, char out[1024]);

/* Every member is checked: an unknown or repeated one, a wrong type, text that
 * is too long or holds a NUL, a name that could not be asked for, none or more
 * than one of http, transport and code, a file that leads out of the recording.
 * INVALID_REQUEST/"recording-invalid". */
bool kube_index_parse(const char *data, size_t len, struct kube_index_line *out,
                      struct aicr_error *err);

/* Appends the line, without its end; a member that says nothing is left out. */
void kube_index_write(const struct kube_index_line *line, struct aicr_buf *out);

/* Appends a query's parameters, sorted, so that equal queries are equal texts.
 * NULL is "". */
#define KUBE_QUERY_PARAMS 64
size_t kube_query_count(const char *query);
bool kube_query_sort(const char *query, struct aicr_buf *out);

/* 64 lower-case hexadecimal digits. */
bool kube_index_is_sha256(const char *text);

/* A path below a recording: steps that are not empty, "." or "..", at most 16
 * of them, no control characters. */
bool kube_index_path_ok(const char *path);

#endif
