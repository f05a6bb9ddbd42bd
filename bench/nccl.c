/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "nccl/text.h"

/* bench-nccl generate MB   writes a log of so many MB: the lines that NCCL
 *                          prints at INFO, and every 256 KB a row, every
 *                          fourth of them interrupted
 * bench-nccl parse|debug   reads it from stdin, as a stream; prints the CPU
 *                          milliseconds (reading included), the peak of memory
 *                          in KiB, the rows and the sum of their bus bandwidths
 * bench/nccl.py does the same with Python's re. */

#define BLOCK (256u << 10)
#define CHUNK (64u << 10)

static const char HEAD[] =
    "# nccl-tests version 2.19.6 nccl-headers=22707 nccl-library=23007\n"
    "# Collective test starting: all_reduce_perf\n"
    "# nThread 1 nGpus 1 minBytes 8 maxBytes 8589934592 step: 2(factor) warmup "
    "iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0 unalign: 0\n"
    "# Using devices\n"
    "#  Rank  0 Group  0 Pid    410 on     node-0 device  0 [0000:1b:00] "
    "NVIDIA "
    "H100 80GB HBM3\n"
    "#       size         count      type   redop    root     time   algbw   "
    "busbw  #wrong     time   algbw   busbw  #wrong \n";
static const char FOOT[] = "# Out of bounds values : 0 OK\n"
                           "# Avg bus bandwidth    : 225.658 \n";

static const char *const MESSAGES[] = {
    "Channel %02d/0 : %d[0] -> %d[1] [send] via NET/IB/%d/GDRDMA",
    "Channel %02d/0 : %d[0] -> %d[1] via P2P/CUMEM/read",
    "Connected all rings, use ring PXN 0 GDR 1",
    "threadThresholds 8/8/64 | 64/8/64 | 512 | 512",
    "Trees [0] %d/-1/-1->%d->-1 [1] -1/-1/-1->%d->%d [2] 1/-1/-1->0->-1",
    "NVLS comm 0x55d0c8 headRank %d nHeads 8 nvlsRanks %d buffSize 1048576",
    "AllReduce: opCount %d sendbuff 0x7f1a5c%06d recvbuff 0x7f1a5d%06d count "
    "262144 datatype 7 op 0 root 0 comm 0x55d0c8a0 [nranks=16]",
};

static void die(const char *what)
{
  fprintf(stderr, "bench-nccl: %s\n", what);
  exit(1);
}

static void put(const char *text, size_t len)
{
  if (fwrite(text, 1, len, stdout) != len)
    die("stdout cannot be written");
}

/* Lines of NCCL, BLOCK bytes or a little less. */
static size_t make_noise(char *out)
{
  size_t n = 0;

  for (unsigned i = 0; BLOCK - n > 512; i++) {
    const char *message = MESSAGES[i % (sizeof(MESSAGES) / sizeof(char *))];
    unsigned rank = i * 7 % 16;

    n += (size_t)snprintf(out + n, BLOCK - n, "node-%u:%u:%u [%u] NCCL INFO ",
                          rank / 8, 410 + rank, 26424 + rank, rank % 8);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    n += (size_t)snprintf(out + n, BLOCK - n, message, rank, rank, rank + 1,
                          rank % 8);
#pragma GCC diagnostic pop
    out[n++] = '\n';
  }
  return n;
}

static void put_row(unsigned i)
{
  static const char head[] =
      "  8589934592    2147483648     float     sum      -1";
  static const char half[] = "  49870.0  172.25  322.96       0";

  put(head, sizeof(head) - 1);
  if (i % 4 == 0)
    printf("node-0:410:26424 [0] NCCL INFO Connected all rings\n");
  put(half, sizeof(half) - 1);
  put(half, sizeof(half) - 1);
  put("\n", 1);
}

static void generate(unsigned megabytes)
{
  static char noise[BLOCK];
  size_t n = make_noise(noise);

  put(HEAD, sizeof(HEAD) - 1);
  for (unsigned i = 0; i < megabytes * 4; i++) {
    put(noise, n);
    put_row(i);
  }
  put(FOOT, sizeof(FOOT) - 1);
}

static void parse(bool debug)
{
  static char chunk[CHUNK];
  struct nccl_text_options options = {.debug = debug};
  struct nccl_text *t = nccl_text_new(&options);
  const struct nccl_result *r;
  struct rusage usage;
  double sum = 0;
  size_t rows = 0;
  ssize_t n;

  if (!t)
    die("not enough memory");
  do {
    n = read(STDIN_FILENO, chunk, sizeof(chunk));
    if (n > 0)
      nccl_text_feed(t, chunk, (size_t)n);
  } while (n > 0);
  r = nccl_text_finish(t);
  if (n < 0 || !r || r->run_count != 1 || !r->runs[0]->complete)
    die("the log was not read");
  for (size_t i = 0; i < r->runs[0]->row_count; i++) {
    rows += !r->runs[0]->rows[i].truncated;
    sum += r->runs[0]->rows[i].oop.busbw;
  }
  getrusage(RUSAGE_SELF, &usage);
  printf("%.1f %ld %zu %.2f %" PRIu64 "\n",
         (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) * 1e3 +
             (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e3,
         usage.ru_maxrss, rows, sum, r->bytes);
  nccl_text_free(t);
}

int main(int argc, char **argv)
{
  if (argc == 3 && strcmp(argv[1], "generate") == 0)
    generate((unsigned)strtoul(argv[2], NULL, 10));
  else if (argc == 2 &&
           (strcmp(argv[1], "parse") == 0 || strcmp(argv[1], "debug") == 0))
    parse(strcmp(argv[1], "debug") == 0);
  else {
    fputs("usage: bench-nccl generate MB | parse | debug\n", stderr);
    return 2;
  }
  return 0;
}
