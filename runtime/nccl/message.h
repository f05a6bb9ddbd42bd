/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_NCCL_MESSAGE_H
#define AICR_NCCL_MESSAGE_H

#include "nccl/evidence.h"
#include "nccl/figure.h"

/* What the readers of NCCL's messages share. */

/* A message in work: its rest. */
struct nccl_message {
  const char *text, *end;
};

/* Does it begin so? Then *m is behind it. */
bool nccl_skip(struct nccl_message *m, const char *begin);

/* Goes behind `what` wherever it is. */
bool nccl_seek(struct nccl_message *m, const char *what);

/* The text up to one of the bytes of `stops`. */
struct nccl_word nccl_upto(struct nccl_message *m, const char *stops);

/* All that is left. */
struct nccl_word nccl_rest(struct nccl_message m);

/* The number that comes, behind blanks; *m is then behind it. */
bool nccl_number(struct nccl_message *m, int64_t *out);

/* The number behind `what` wherever it is. */
bool nccl_number_behind(struct nccl_message m, const char *what, int64_t *out);

/* Valid UTF-8 of what fits: bytes that are none become '?'. */
void nccl_set_text(char *out, size_t size, const char *text, size_t len);

#define NCCL_SET(field, word)                                                  \
  nccl_set_text(field, sizeof(field), (word).text, (word).len)

void nccl_add_name(struct nccl_evidence *e, struct nccl_names *names,
                   struct nccl_word w);

/* Messages of networks and their plugins; false for others. */
bool nccl_on_network(struct nccl_evidence *e, struct nccl_message m);

#endif
