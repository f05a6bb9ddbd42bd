/* SPDX-License-Identifier: Apache-2.0 */
#define _GNU_SOURCE /* NOLINT(bugprone-reserved-identifier): memmem */
#include "nccl/evidence.h"

#include <string.h>

#include "core/number.h"
#include "nccl/message.h"
#include "nccl/result.h"

struct nccl_evidence *nccl_evidence_new(void)
{
  struct nccl_evidence *e = aicr_calloc(1, sizeof(*e));

  if (!e)
    return NULL;
  e->highest = e->ofi_nics = e->nvls_channels = e->collnet_channels = -1;
  return e;
}

void nccl_evidence_free(struct nccl_evidence *e)
{
  aicr_free(e);
}

static void mark(struct nccl_evidence *e, unsigned char *set, int64_t rank)
{
  if (rank < 0 || rank >= NCCL_INIT_MAX) {
    e->over = true;
    return;
  }
  set[rank / 8] |= (unsigned char)(1u << rank % 8);
  if (rank > e->highest)
    e->highest = rank;
}

/* "… comm 0x… rank 3 nranks 8 … Init START" and the world's shape. */
static bool on_comm(struct nccl_evidence *e, struct nccl_message m)
{
  int64_t rank, ranks, nodes, local, mnnvl;
  struct nccl_message at = m;

  if (nccl_number_behind(m, " rank ", &rank)) {
    if (nccl_seek(&at, "Init START"))
      mark(e, e->started, rank);
    else if (nccl_seek(&at, "Init COMPLETE"))
      mark(e, e->completed, rank);
  }
  if (!nccl_skip(&m, "comm 0x") || !nccl_number_behind(m, " nRanks ", &ranks) ||
      !nccl_number_behind(m, " nNodes ", &nodes) ||
      !nccl_number_behind(m, " localRanks ", &local))
    return false;
  if (!e->has_topology || ranks > e->ranks) {
    e->has_topology = true;
    e->ranks = ranks;
    e->nodes = nodes;
    e->local_ranks = local;
  }
  if (nccl_number_behind(m, " MNNVL ", &mnnvl) && e->mnnvl != NCCL_YES)
    e->mnnvl = mnnvl ? NCCL_YES : NCCL_NO;
  return true;
}

static bool on_nvls(struct nccl_evidence *e, struct nccl_message m)
{
  int64_t value;

  if (nccl_skip(&m, "MNNVL ")) {
    if (nccl_number(&m, &value) && (value || e->mnnvl == NCCL_NOT_SAID))
      e->mnnvl = value ? NCCL_YES : NCCL_NO;
    nccl_number_behind(m, "cliqueSize ", &e->clique_size);
    return true;
  }
  if (nccl_skip(&m, "NVLS multicast support is ")) {
    /* One device without it decides. */
    if (nccl_skip(&m, "not available"))
      e->nvls = NCCL_NO;
    else if (nccl_skip(&m, "available") && e->nvls == NCCL_NOT_SAID)
      e->nvls = NCCL_YES;
    return true;
  }
  if (!nccl_skip(&m, "NVLS comm "))
    return false;
  e->nvls_comms++;
  return true;
}

/* The number that stands before a word of the message. */
static bool number_before(struct nccl_message m, const char *what, int64_t *out)
{
  const char *p = memmem(m.text, (size_t)(m.end - m.text), what, strlen(what));
  const char *d = p;

  while (d && d > m.text && nccl_is_digit(d[-1]))
    d--;
  return d && aicr_parse_int64(d, (size_t)(p - d), out);
}

static bool on_channels(struct nccl_evidence *e, struct nccl_message m)
{
  int64_t coll;

  if (m.text == m.end || !number_before(m, " coll channels", &coll))
    return false;
  e->has_channels = true;
  e->coll_channels = coll;
  number_before(m, " collnet channels", &e->collnet_channels);
  number_before(m, " nvls channels", &e->nvls_channels);
  number_before(m, " p2p channels", &e->p2p_channels);
  number_before(m, " p2p channels per peer", &e->p2p_per_peer);
  return true;
}

static bool on_channel(struct nccl_evidence *e, struct nccl_message m)
{
  struct nccl_channel c;
  struct nccl_path *p = NULL;

  if (!nccl_channel_read(m.text, (size_t)(m.end - m.text), &c))
    return false;
  e->socket_channels += strcmp(c.path, "NET/Socket") == 0;
  for (size_t i = 0; i < e->path_count && !p; i++)
    if (strcmp(e->paths[i].path, c.path) == 0)
      p = &e->paths[i];
  if (!p && e->path_count == NCCL_PATHS_MAX) {
    e->over = true;
    return true;
  }
  if (!p) {
    p = &e->paths[e->path_count++];
    NCCL_SET(p->path, ((struct nccl_word){c.path, strlen(c.path)}));
  }
  p->count++;
  p->gdr += c.gdr;
  p->pxn += c.pxn;
  p->read += c.read;
  return true;
}

/* A name in capitals, or the one that a number of an old release stands for. */
static void set_name(char *out, size_t size, struct nccl_word w,
                     const char *const *numbers, int64_t count)
{
  int64_t n;

  nccl_set_text(out, size, w.text, w.len);
  if (aicr_parse_int64(w.text, w.len, &n) && n >= 0 && n < count)
    nccl_set_text(out, size, numbers[n], strlen(numbers[n]));
  for (char *p = out; *p; p++)
    if (*p >= 'a' && *p <= 'z')
      *p = (char)(*p - 'a' + 'A');
}

static void set_algo(char out[32], struct nccl_word w)
{
  static const char *const numbers[] = {
      "TREE",      "RING", "COLLNET_DIRECT", "COLLNET_CHAIN", "NVLS",
      "NVLS_TREE", "PAT"};

  set_name(out, 32, w, numbers, 7);
  if (strcmp(out, "NVLSTREE") == 0)
    memcpy(out, "NVLS_TREE", 10);
}

static void set_proto(char out[16], struct nccl_word w)
{
  static const char *const numbers[] = {"LL", "LL128", "SIMPLE"};

  set_name(out, 16, w, numbers, 3);
}

/* "[AllReduce: ]8388608 Bytes -> Algo X proto Y [channel{Lo..Hi}={0..15}]" */
static bool on_algorithm(struct nccl_evidence *e, struct nccl_message m)
{
  struct nccl_algorithm a = {0};
  struct nccl_message op = m;
  int64_t low, high;

  if (m.text == m.end || !number_before(m, " Bytes -> Algo ", &a.bytes))
    return false;
  if (!nccl_is_digit(*op.text)) {
    struct nccl_word w = nccl_upto(&op, ":");

    NCCL_SET(a.op, w);
  }
  nccl_seek(&m, " Bytes -> Algo ");
  set_algo(a.algo, nccl_upto(&m, " "));
  if (nccl_seek(&m, " proto "))
    set_proto(a.proto, nccl_upto(&m, " "));
  if (nccl_seek(&m, "={") && nccl_number(&m, &low) && nccl_skip(&m, "..") &&
      nccl_number(&m, &high) && high >= low && high - low < 4096)
    a.channels = high - low + 1;
  for (size_t i = 0; i < e->algo_count; i++) {
    struct nccl_algorithm *b = &e->algos[i];

    if (a.bytes == b->bytes && a.channels == b->channels &&
        !strcmp(a.op, b->op) && !strcmp(a.algo, b->algo) &&
        !strcmp(a.proto, b->proto)) {
      b->count++;
      return true;
    }
  }
  a.count = 1;
  if (e->algo_count == NCCL_ALGOS_MAX)
    e->over = true;
  else
    e->algos[e->algo_count++] = a;
  return true;
}

static bool on_setting(struct nccl_evidence *e, struct nccl_message m)
{
  struct nccl_setting s;
  struct nccl_word name, value;

  if (!nccl_starts(m.text, (size_t)(m.end - m.text), "NCCL_"))
    return false;
  name = nccl_upto(&m, " ");
  if (!nccl_skip(&m, " set by environment to "))
    return false;
  value = nccl_rest(m);
  if (value.len && value.text[value.len - 1] == '.')
    value.len--;
  NCCL_SET(s.name, name);
  NCCL_SET(s.value, value);
  for (size_t i = 0; i < e->env_count; i++)
    if (!strcmp(e->env[i].name, s.name) && !strcmp(e->env[i].value, s.value))
      return true;
  if (e->env_count == NCCL_ENV_MAX)
    e->over = true;
  else
    e->env[e->env_count++] = s;
  return true;
}

/* "file.cc:123 -> 2" */
static bool on_trace(struct nccl_evidence *e, struct nccl_message m,
                     const struct nccl_log_line *line)
{
  struct nccl_trace t = {0};
  struct nccl_word file = nccl_upto(&m, ": ");

  if (file.len == 0 || !nccl_skip(&m, ":") || !nccl_number(&m, &t.at) ||
      !nccl_skip(&m, " -> ") || !nccl_number(&m, &t.result))
    return false;
  NCCL_SET(t.file, file);
  nccl_set_text(t.host, sizeof(t.host), line->host, line->host_len);
  for (size_t i = 0; i < e->trace_count; i++)
    if (e->traces[i].at == t.at && e->traces[i].result == t.result &&
        !strcmp(e->traces[i].file, t.file)) {
      e->traces[i].count++;
      return true;
    }
  t.count = 1;
  if (e->trace_count == NCCL_TRACES_MAX)
    e->over = true;
  else
    e->traces[e->trace_count++] = t;
  return true;
}

/* Equal but for numbers: pids, addresses and counters differ from rank to
 * rank. */
static bool is_same_text(const char *a, const char *b)
{
  while (*a && *b) {
    if ((nccl_is_digit(*a) || (*a >= 'a' && *a <= 'f')) &&
        (nccl_is_digit(*b) || (*b >= 'a' && *b <= 'f'))) {
      while (nccl_is_digit(*a) || (*a >= 'a' && *a <= 'f'))
        a++;
      while (nccl_is_digit(*b) || (*b >= 'a' && *b <= 'f'))
        b++;
    } else if (*a++ != *b++)
      return false;
  }
  return *a == *b;
}

static void on_warning(struct nccl_evidence *e, const struct nccl_log_line *l)
{
  struct nccl_said s = {.count = 1};

  nccl_set_text(s.text, sizeof(s.text), l->message, l->message_len);
  if (nccl_hint(s.text))
    e->shm_too_small = true;
  for (size_t i = 0; i < e->warn_count; i++)
    if (is_same_text(e->warns[i].text, s.text)) {
      e->warns[i].count++;
      return;
    }
  if (e->warn_count == NCCL_WARNS_MAX) {
    e->over = true;
    return;
  }
  nccl_set_text(s.host, sizeof(s.host), l->host, l->host_len);
  if (l->has_file)
    nccl_set_text(s.file, sizeof(s.file), l->file, l->file_len);
  s.has_file = l->has_file;
  s.at = l->at;
  s.pid = l->pid;
  s.has_device = l->has_device;
  s.device = l->device;
  e->warns[e->warn_count++] = s;
}

void nccl_evidence_add(struct nccl_evidence *e, const char *text, size_t len)
{
  static bool (*const readers[])(struct nccl_evidence *,
                                 struct nccl_message) = {
      on_channel,  nccl_on_network, on_nvls, on_algorithm,
      on_channels, on_setting,      on_comm};
  struct nccl_log_line line;
  struct nccl_message m;

  if (!nccl_log_line_read(text, len, &line))
    return;
  e->lines++;
  if (line.level == NCCL_WARN) {
    on_warning(e, &line);
    return;
  }
  m.text = line.message;
  m.end = line.message + line.message_len;
  if (nccl_skip(&m, "cudaDriverVersion ")) {
    nccl_number(&m, &e->driver);
    return;
  }
  for (size_t i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
    if (readers[i](e, m))
      return;
  on_trace(e, m, &line);
}

void nccl_evidence_finish(struct nccl_evidence *e)
{
  const char *network = e->networks.count ? e->networks.of[0].text : "";

  e->networks_differ = e->networks.count > 1;
  e->gdr_off = e->ring_no_gdr > 0 && strcmp(network, "") != 0 &&
               strcmp(nccl_network_family(network), "socket") != 0;
  for (size_t i = 1; i < e->ib_count; i++)
    e->mixed_links |= strcmp(e->ib[i].link, e->ib[0].link) != 0;
  e->fell_back = false;
  for (size_t i = 0; i < e->networks.count && e->failed.count > 0; i++)
    e->fell_back |=
        strcmp(nccl_network_family(e->networks.of[i].text), "socket") == 0;
}
