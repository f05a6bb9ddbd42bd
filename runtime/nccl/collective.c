/* SPDX-License-Identifier: Apache-2.0 */
#include "nccl/collective.h"

#include <math.h>
#include <string.h>

#include "core/text.h"

enum factor { ONE, TWICE_OTHERS, OTHERS };

static const struct {
  const char *name;
  enum factor factor;
  bool whole; /* the size is not split among the ranks */
} ops[NCCL_OP_COUNT] = {
    [NCCL_OP_UNKNOWN] = {"", ONE, false},
    [NCCL_ALL_REDUCE] = {"all_reduce", TWICE_OTHERS, true},
    [NCCL_ALL_GATHER] = {"all_gather", OTHERS, false},
    [NCCL_REDUCE_SCATTER] = {"reduce_scatter", OTHERS, false},
    [NCCL_BROADCAST] = {"broadcast", ONE, true},
    [NCCL_REDUCE] = {"reduce", ONE, true},
    [NCCL_ALLTOALL] = {"alltoall", OTHERS, false},
    [NCCL_SENDRECV] = {"sendrecv", ONE, true},
    [NCCL_GATHER] = {"gather", OTHERS, false},
    [NCCL_SCATTER] = {"scatter", OTHERS, false},
    [NCCL_HYPERCUBE] = {"hypercube", ONE, false},
    [NCCL_ALLTOALLV] = {"alltoallv", OTHERS, false},
};

enum nccl_op nccl_op_from_name(const char *name, size_t len)
{
  for (int i = 1; i < NCCL_OP_COUNT; i++)
    if (strlen(ops[i].name) == len && memcmp(ops[i].name, name, len) == 0)
      return (enum nccl_op)i;
  return NCCL_OP_UNKNOWN;
}

const char *nccl_op_name(enum nccl_op op)
{
  return ops[op].name;
}

unsigned nccl_type_size(const char *type, size_t len)
{
  static const struct {
    const char *name;
    unsigned size;
  } types[] = {{"int8", 1},   {"uint8", 1}, {"int32", 4},    {"uint32", 4},
               {"int64", 8},  {"half", 2},  {"uint64", 8},   {"float", 4},
               {"double", 8}, {"char", 1},  {"bfloat16", 2}, {"f8e4m3", 1},
               {"int", 4},    {"f8e5m2", 1}};

  for (size_t i = 0; i < sizeof(types) / sizeof(types[0]); i++)
    if (strlen(types[i].name) == len && memcmp(types[i].name, type, len) == 0)
      return types[i].size;
  return 0;
}

double nccl_bus_factor(enum nccl_op op, int64_t n)
{
  double others = (double)(n - 1) / (double)n;

  if (ops[op].factor == ONE)
    return 1;
  return ops[op].factor == OTHERS ? others : 2 * others;
}

double nccl_alg_bytes(enum nccl_op op, int64_t size, int64_t n)
{
  if (op == NCCL_HYPERCUBE)
    return (double)size / (double)n * (double)(n - 1);
  return (double)size;
}

bool nccl_busbw(const char *name, size_t name_len, int64_t bytes,
                double seconds, int64_t ranks, double *algbw, double *busbw,
                struct aicr_error *err)
{
  enum nccl_op op = nccl_op_from_name(name, name_len);
  struct aicr_quoted q;

  if (op == NCCL_OP_UNKNOWN)
    return aicr_fail(err, AICR_INVALID_REQUEST, "argument",
                     "no collective is named %s",
                     aicr_quote(&q, name, name_len));
  if (bytes < 0)
    return aicr_fail(err, AICR_INVALID_REQUEST, "argument",
                     "a size of %lld bytes is below 0", (long long)bytes);
  if (!(seconds > 0) || !isfinite(seconds))
    return aicr_fail(err, AICR_INVALID_REQUEST, "argument",
                     "a time of %g s is not above 0", seconds);
  if (ranks < 1)
    return aicr_fail(err, AICR_INVALID_REQUEST, "argument",
                     "%lld ranks are fewer than 1", (long long)ranks);
  *algbw = nccl_alg_bytes(op, bytes, ranks) / seconds / 1e9;
  *busbw = *algbw * nccl_bus_factor(op, ranks);
  return true;
}

int64_t nccl_printed_size(enum nccl_op op, int64_t bytes, unsigned type_size,
                          int64_t ranks)
{
  int64_t e = type_size ? type_size : 1;
  int64_t base;

  if (bytes < 0)
    return 0;
  if (ops[op].whole || ranks < 1)
    return bytes / e * e;
  base = bytes / e / ranks;
  base -= base % (16 / e);
  return base * e * ranks;
}
