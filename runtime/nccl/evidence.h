/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_NCCL_EVIDENCE_H
#define AICR_NCCL_EVIDENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/buffer.h"

/* What NCCL_DEBUG lines say of the transport (nccl-benchmark.md 7.4, 7.5).
 * Bounded; what is equal is counted. */

#define NCCL_TEXT_WORD  64  /* names: networks, plugins, interfaces */
#define NCCL_TEXT_SAID  512 /* warnings of NCCL */
#define NCCL_NAMES_MAX  16
#define NCCL_PATHS_MAX  64
#define NCCL_IB_MAX     64
#define NCCL_ALGOS_MAX  256
#define NCCL_ENV_MAX    128
#define NCCL_WARNS_MAX  20
#define NCCL_TRACES_MAX 32
#define NCCL_INIT_MAX   16384 /* ranks */

/* The parts of a line before its message. */
struct nccl_log_line {
  const char *host, *file, *message;
  size_t host_len, file_len, message_len;
  int64_t pid, device, at;
  bool has_device, has_file;
  enum { NCCL_INFO, NCCL_WARN, NCCL_TRACE, NCCL_CALL, NCCL_BARE } level;
};

/* Reads a line without what launchers put before it. A bare "NCCL version …"
 * has only a message. False for a line that is not NCCL's. */
bool nccl_log_line_read(const char *text, size_t len,
                        struct nccl_log_line *out);

struct nccl_name {
  char text[NCCL_TEXT_WORD];
  uint64_t count;
};

struct nccl_names {
  struct nccl_name of[NCCL_NAMES_MAX];
  size_t count;
};

struct nccl_path {
  char path[NCCL_TEXT_WORD];
  uint64_t count, gdr, pxn, read;
};

/* One "Channel … via …" message. */
struct nccl_channel {
  char path[NCCL_TEXT_WORD]; /* "NET/IB", "P2P/CUMEM", "SHM" */
  bool gdr, pxn, read;
};

bool nccl_channel_read(const char *message, size_t len,
                       struct nccl_channel *out);

struct nccl_algorithm {
  char op[32], algo[32], proto[16];
  int64_t bytes, channels; /* channels 0: not said */
  uint64_t count;
};

struct nccl_ib_device {
  char name[32], link[16];
  int64_t port;
};

struct nccl_setting {
  char name[NCCL_TEXT_WORD], value[256];
};

struct nccl_said {
  char text[NCCL_TEXT_SAID], host[NCCL_TEXT_WORD], file[NCCL_TEXT_WORD];
  int64_t pid, device, at;
  bool has_device, has_file;
  uint64_t count;
};

struct nccl_trace {
  char host[NCCL_TEXT_WORD], file[NCCL_TEXT_WORD];
  int64_t at, result;
  uint64_t count;
};

enum nccl_flag { NCCL_NOT_SAID, NCCL_NO, NCCL_YES };

struct nccl_evidence {
  uint64_t lines;
  char version[NCCL_TEXT_WORD], cuda[NCCL_TEXT_WORD];
  int64_t driver; /* 0: not said */
  struct nccl_names networks;
  char bootstrap_interface[NCCL_TEXT_WORD], bootstrap_address[NCCL_TEXT_WORD];
  char fastrak[NCCL_TEXT_WORD];
  struct nccl_names loaded, missing, initialized, failed;
  char ofi_plugin[NCCL_TEXT_WORD], ofi_libfabric[NCCL_TEXT_WORD],
      ofi_provider[NCCL_TEXT_WORD], ofi_fabric[NCCL_TEXT_WORD],
      ofi_protocol[NCCL_TEXT_WORD], ofi_platform[NCCL_TEXT_WORD];
  int64_t ofi_nics; /* -1: not said */
  struct nccl_ib_device ib[NCCL_IB_MAX];
  size_t ib_count;
  bool ib_relaxed, ib_none, dmabuf;
  uint64_t gdr_enabled, gdr_disabled, ring_gdr, ring_no_gdr;
  bool has_topology, has_channels;
  int64_t ranks, nodes, local_ranks;
  enum nccl_flag mnnvl, nvls;
  int64_t clique_size; /* 0: not said */
  uint64_t nvls_comms;
  int64_t coll_channels, p2p_channels, p2p_per_peer;
  int64_t nvls_channels, collnet_channels; /* -1: not said */
  struct nccl_path paths[NCCL_PATHS_MAX];
  size_t path_count;
  uint64_t socket_channels;
  struct nccl_algorithm algos[NCCL_ALGOS_MAX];
  size_t algo_count;
  unsigned char started[NCCL_INIT_MAX / 8], completed[NCCL_INIT_MAX / 8];
  int64_t highest; /* rank that started or completed, -1: none */
  struct nccl_setting env[NCCL_ENV_MAX];
  size_t env_count;
  struct nccl_said warns[NCCL_WARNS_MAX];
  size_t warn_count;
  struct nccl_trace traces[NCCL_TRACES_MAX];
  size_t trace_count;
  /* what follows from all of it, by nccl_evidence_finish() */
  bool over; /* something was over a bound */
  bool networks_differ, gdr_off, mixed_links, shm_too_small, fell_back;
};

/* NULL without memory. All the memory that it takes. */
struct nccl_evidence *nccl_evidence_new(void);
void nccl_evidence_free(struct nccl_evidence *e);

/* A line as nccl_log_line_read() reads it; others do nothing. */
void nccl_evidence_add(struct nccl_evidence *e, const char *text, size_t len);
void nccl_evidence_finish(struct nccl_evidence *e);

/* "ib", "socket", …: what kind the network of that name is. */
const char *nccl_network_family(const char *name);

#endif
