/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_NCCL_COMMENT_H
#define AICR_NCCL_COMMENT_H

#include "nccl/lines.h"
#include "nccl/result.h"

/* What nccl-tests prints around its table: lines with a '#', and its errors,
 * which have none. */

enum nccl_comment {
  NCCL_REMARK, /* any other */
  NCCL_VERSION,
  NCCL_STARTING,
  NCCL_PARAMETERS,
  NCCL_RANK,
  NCCL_REDUCING,
  NCCL_OUT_OF_BOUNDS,
  NCCL_AVERAGE,
  NCCL_CONCLUDED,
  NCCL_ERROR_TEXT
};

/* Which line it is; the text is behind the '#'. */
enum nccl_comment nccl_comment_of(const char *text, size_t len);

/* Puts into the run what the line says. A line that is not whole is left out,
 * where a figure is its last word. */
void nccl_comment_read(struct nccl_result *r, struct nccl_run *run,
                       enum nccl_comment kind, const char *text, size_t len,
                       const struct nccl_line *line);

/* Is it an error line of nccl-tests? *from: where it begins, which may be
 * behind a piece of a row that it is glued to. */
bool nccl_is_failure(const char *text, size_t len, size_t *from);

/* Adds the error, or the frame, to the run. */
void nccl_failure_read(struct nccl_result *r, struct nccl_run *run,
                       const char *text, size_t len, uint64_t line);

/* The last error of NCCL as text below the footer. */
void nccl_last_error(struct nccl_result *r, struct nccl_run *run,
                     const char *text, size_t len, uint64_t line);

#endif
