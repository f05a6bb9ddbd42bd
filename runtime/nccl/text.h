/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_NCCL_TEXT_H
#define AICR_NCCL_TEXT_H

#include "nccl/evidence.h"
#include "nccl/lines.h"
#include "nccl/result.h"

/* The text output of nccl-tests, all three generations, between whatever else
 * stands in a log (nccl-benchmark.md 5 and 0.1). A log of any length is read
 * in bounded memory. */

struct nccl_text;

struct nccl_text_options {
  enum nccl_op op; /* NCCL_OP_UNKNOWN: as the log says */
  bool lenient;    /* rows without a header, as truncated ones */
  bool debug;      /* NCCL's own lines are evidence */
};

/* NULL without memory. */
struct nccl_text *nccl_text_new(const struct nccl_text_options *options);
void nccl_text_free(struct nccl_text *t);

void nccl_text_feed(struct nccl_text *t, const char *data, size_t len);

/* After the last chunk; again, it changes nothing. The result is t's. NULL when
 * there was no memory. */
const struct nccl_result *nccl_text_finish(struct nccl_text *t);

/* NULL unless options.debug; after nccl_text_finish(). */
const struct nccl_evidence *nccl_text_evidence(const struct nccl_text *t);

#endif
