/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_NCCL_LINES_H
#define AICR_NCCL_LINES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "nccl/result.h"

/* Lines out of chunks of any size, and what launchers and container runtimes
 * put before them (nccl-benchmark.md 5.4, rule 1). */

#define NCCL_LINE_MAX 8192

struct nccl_line {
  const char *text; /* without its line end */
  size_t len;
  uint64_t number; /* from 1 */
  bool ended;      /* false: input or the bound on lines ended it, and its last
                    * word may be a part of one */
  bool partial;    /* a container runtime ended it: the next line goes on */
};

struct nccl_lines {
  uint64_t bytes, count, long_count, long_line;
  size_t held;
  bool cut; /* what is held is the head of a longer line */
  char hold[NCCL_LINE_MAX];
};

/* Told of each line; text of the line is valid during the call. */
typedef void (*nccl_line_fn)(void *arg, const struct nccl_line *line);

void nccl_lines_init(struct nccl_lines *l);
void nccl_lines_feed(struct nccl_lines *l, const char *data, size_t len,
                     nccl_line_fn fn, void *arg);
void nccl_lines_finish(struct nccl_lines *l, nccl_line_fn fn, void *arg);

/* Copies the line without escape sequences and without the NUL bytes and
 * carriage returns at its ends to `room` of NCCL_LINE_MAX bytes, where it has
 * any of them; else *line stays. NULs elsewhere stay. */
void nccl_clean(struct nccl_line *line, char *room);

/* Where a line comes from: the tags before it, without its time stamps. */
struct nccl_origin {
  size_t len;
  char tag[NCCL_TAG_MAX];
};

/* Takes what stands before the line off it: time stamps of any zone, those of
 * a container runtime, "[pod/x/y] ", "[1,0]<stdout>:", "12: ". The origin may
 * be NULL. */
void nccl_strip(struct nccl_line *line, struct nccl_origin *origin);

/* Does the text, behind a time stamp of NCCL's, begin as its lines do:
 * "host:pid:tid " with digits? Gives the length of that word. */
size_t nccl_log_head(const char *text, size_t len);

#endif
