/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_NCCL_COLLECTIVE_H
#define AICR_NCCL_COLLECTIVE_H

#include "core/error.h"

#include <stdint.h>

/* The collectives of nccl-tests: sizes and bandwidths (nccl-benchmark.md 2.1).
 */

enum nccl_op {
  NCCL_OP_UNKNOWN,
  NCCL_ALL_REDUCE,
  NCCL_ALL_GATHER,
  NCCL_REDUCE_SCATTER,
  NCCL_BROADCAST,
  NCCL_REDUCE,
  NCCL_ALLTOALL,
  NCCL_SENDRECV,
  NCCL_GATHER,
  NCCL_SCATTER,
  NCCL_HYPERCUBE,
  NCCL_ALLTOALLV,
  NCCL_OP_COUNT
};

/* The one of that name, such as "all_reduce". */
enum nccl_op nccl_op_from_name(const char *name, size_t len);
const char *nccl_op_name(enum nccl_op op);

/* Bytes of an element of a type of nccl-tests, 0 when it is not known. */
unsigned nccl_type_size(const char *type, size_t len);

/* busbw / algbw for n ranks, n >= 1. */
double nccl_bus_factor(enum nccl_op op, int64_t n);

/* The bytes that algbw counts, of a printed size. */
double nccl_alg_bytes(enum nccl_op op, int64_t size, int64_t n);

/* Bandwidths in GB/s. INVALID_REQUEST/"argument" for an unknown operation, a
 * negative size, a time that is not above 0, fewer than 1 rank. */
bool nccl_busbw(const char *op, size_t op_len, int64_t bytes, double seconds,
                int64_t ranks, double *algbw, double *busbw,
                struct aicr_error *err);

/* The least size that a release prints for a request of so many bytes. 0 for
 * `ranks` or `type_size` says that they are not known: then it is exact, or as
 * for one byte an element. */
int64_t nccl_printed_size(enum nccl_op op, int64_t bytes, unsigned type_size,
                          int64_t ranks);

#endif
