/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the log parsers below Lua: numbers as printf writes them, what
 * launchers put before a line, NCCL's lines (nccl-benchmark.md 5.4, 7.4, 7.6
 * and 0.1), and a log without memory. */
#include <math.h>

#include "nccl/figure.h"
#include "nccl/lines.h"
#include "nccl/text.h"
#include "rows.h"

static const struct number {
  const char *text;
  double value, half; /* half < 0: it is none */
} numbers[] = {
    {"171.11", 171.11, 0.005},
    {"49870", 49870, 0.5},
    {"1.2e+07", 1.2e7, 0.05e7},
    {"4e+06", 4e6, 0.5e6},
    {"3e-07", 3e-7, 0.5e-7},
    {"0.00", 0, 0.005},
    {"1e+100", 1e100, 0.5e100},
    {"inf", INFINITY, 0},
    {"-1", 0, -1},
    {"+1", 0, -1},
    {"1.", 0, -1},
    {".5", 0, -1},
    {"1e5", 0, -1},
    {"1e+5", 0, -1},
    {"0x10", 0, -1},
    {"1_0", 0, -1},
    {"infinity", 0, -1},
    {"Inf", 0, -1},
    {"1.5.5", 0, -1},
    {"", 0, -1},
    {"N/A", 0, -1},
    {"1e+400", 0, -1},
};

static void test_number(void **state)
{
  const struct number *row = *state;
  double value, half;

  if (row->half < 0) {
    assert_false(nccl_decimal(row->text, strlen(row->text), &value, &half));
    return;
  }
  assert_true(nccl_decimal(row->text, strlen(row->text), &value, &half));
  assert_true(value == row->value);
  assert_true(fabs(half - row->half) <= row->half * 1e-12);
}

static const struct whole {
  const char *text;
  int64_t value; /* -1: it is none */
} wholes[] = {
    {"0", 0},
    {"17", 17},
    {"1.23457e+06", 1234570},
    {"1e+07", 10000000},
    {"1.1e+07", 11000000},
    {"9e+30", INT64_MAX},
    {"99999999999999999999", INT64_MAX},
    {"0.5", -1},
    {"1.5e+00", -1},
    {"1e-01", -1},
    {"-1", -1},
    {"N/A", -1},
    {"nan", -1},
};

static void test_whole(void **state)
{
  const struct whole *row = *state;
  int64_t value = -1;

  assert_int_equal(nccl_whole(row->text, strlen(row->text), &value),
                   row->value >= 0);
  if (row->value >= 0)
    assert_true(value == row->value);
}

static const struct glued {
  const char *text;
  size_t len;
} glueds[] = {
    {"-1node-0", 2}, {"0node-0", 1},  {"003f5a9", 1},      {"N/Anode", 3},
    {"1.2e+07n", 7}, {"9.42node", 4}, {"11:22:33node", 8}, {"node", 0},
    {"17slurmd", 2}, {"", 0},         {"1e5", 1},
};

static void test_glued(void **state)
{
  const struct glued *row = *state;

  assert_int_equal(nccl_glued(row->text, strlen(row->text)), row->len);
}

static const struct prefix {
  const char *line, *left, *tag;
} prefixes[] = {
    {"2026-03-02T11:30:00.123456789Z x", "x", ""},
    {"2026-05-04T03:02:01.123456789-07:00 x", "x", ""},
    {"2026-05-04T03:02:01+0530 x", "x", ""},
    {"2026-05-04T03:02:01 x", "x", ""},
    {"2026-05-04T03:02:01.5Z stdout F   8 2", "  8 2", ""},
    {"2026-05-04T03:02:01Z 2026-05-04T03:02:02Z x", "x", ""},
    {"[pod/a-0/main] # x", "# x", "[pod/a-0/main]"},
    {"[a-0 main]   8 2", "  8 2", "[a-0 main]"},
    {"[1,0]<stdout>:  8 2", "  8 2", "[1,0]"},
    {"[1,3]<stderr>:x", "x", "[1,3]"},
    {"[prterun-a-1@1,0]<stdout>: x", " x", "[prterun-a-1@1,0]"},
    {" 3:   8 2", "  8 2", "3"},
    {"12: # x", "# x", "12"},
    {"[pod/a/b] 2026-05-04T03:02:01Z [1,0]<stdout>:x", "x", "[pod/a/b][1,0]"},
    {"[2026-02-03 04:05:06] w2:70:90 [5] x",
     "[2026-02-03 04:05:06] w2:70:90 "
     "[5] x",
     ""},
    {"  8388608 2097152 float", "  8388608 2097152 float", ""},
    {"2026-03-02 11:30:00 x", "2026-03-02 11:30:00 x", ""},
    {"11:30:00 x", "11:30:00 x", ""},
    {"[", "[", ""},
    {"[]", "[]", ""},
};

static void test_prefix(void **state)
{
  const struct prefix *row = *state;
  struct nccl_line line = {row->line, strlen(row->line), 1, true, false};
  struct nccl_origin origin;

  nccl_strip(&line, &origin);
  assert_int_equal(line.len, strlen(row->left));
  assert_memory_equal(line.text, row->left, line.len);
  assert_int_equal(origin.len, strlen(row->tag));
  assert_memory_equal(origin.tag, row->tag, origin.len);
}

static const struct channel {
  const char *message, *path; /* NULL: it is none */
  bool gdr, pxn, read;
} channels[] = {
    {"Channel 03/0 : 11[3] -> 2[2] [receive] via NET/IB/5/GDRDMA", "NET/IB",
     true, false, false},
    {"Channel 04/0 : 2[2] -> 11[3] [send] via NET/IB/5(7)/GDRDMA/Shared",
     "NET/IB", true, true, false},
    {"Channel 00/1 : 2[2] -> 3[3] via P2P/CUMEM/read", "P2P/CUMEM", false,
     false, true},
    {"Channel 01 : 1[101d0] -> 0[101c0] via SHM/direct/direct", "SHM", false,
     false, false},
    {"Channel 01 : 1[1] -> 0[0] via P2P/direct pointer", "P2P/direct pointer",
     false, false, false},
    {"Channel 00/0 : 0[0] -> 8[0] [send] via NET/AWS Libfabric/0/GDRDMA(PCI)",
     "NET/AWS Libfabric", true, false, false},
    {"Channel 00/02 :    0   1", NULL, false, false, false},
    {"Channel 00/0 : 0[0] -> 8 [send] via NET/IB/5", NULL, false, false, false},
    {"Channel 00/0 : [0] -> 8[0] [send] via NET/IB/5", NULL, false, false,
     false},
    {"Channel 00/0 : 0[0] -> 8[0] [send] via ", NULL, false, false, false},
};

static void test_channel(void **state)
{
  const struct channel *row = *state;
  struct nccl_channel c;

  assert_int_equal(nccl_channel_read(row->message, strlen(row->message), &c),
                   row->path != NULL);
  if (!row->path)
    return;
  assert_string_equal(c.path, row->path);
  assert_int_equal(c.gdr, row->gdr);
  assert_int_equal(c.pxn, row->pxn);
  assert_int_equal(c.read, row->read);
}

static size_t fail_at, requests, live;

static void *failing(void *ptr, size_t size)
{
  void *p;

  if (size == 0) {
    live -= ptr != NULL;
    free(ptr);
    return NULL;
  }
  if (++requests == fail_at)
    return NULL;
  p = realloc(ptr, size);
  live += p && !ptr;
  return p;
}

/* Every allocation of a log fails once: no result, and nothing is left. */
static void test_memory(void **state)
{
  static const char log[] =
      "[a] #  Rank  0 Group  0 Pid 4 on node-0 device  0 [0000:1b:00] H100\n"
      "[a] # size count type redop root time algbw busbw #wrong\n"
      "[a]   8 2 float sum -1 1.00 0.01 0.00 0\n"
      "[b] # size count type redop root time algbw busbw #wrong\n"
      "[b]   8 2 float sum -1 1.00 0.01 0.00 0\n"
      "node-0: Test NCCL failure common.cu:5 'x / y'\n"
      " .. node-0 pid 4: Test failure common.cu:6\n";
  struct nccl_text_options options = {.debug = true};
  void *(*before)(void *, size_t) = aicr_realloc;
  bool failed;

  (void)state;
  aicr_realloc = failing;
  fail_at = 0;
  do {
    struct nccl_text *t;
    const struct nccl_result *r = NULL;

    fail_at++;
    requests = 0;
    t = nccl_text_new(&options);
    if (t) {
      nccl_text_feed(t, log, sizeof(log) - 1);
      r = nccl_text_finish(t);
    }
    failed = requests >= fail_at;
    assert_int_equal(r == NULL, failed);
    if (r) {
      assert_int_equal(r->run_count, 2);
      assert_int_equal(r->rows, 2);
      assert_int_equal(r->failures, 1);
    }
    nccl_text_free(t);
    assert_int_equal(live, 0);
  } while (failed);
  aicr_realloc = before;
  assert_true(fail_at > 20);
}

#define ADD(prefix, array, name, test)                                         \
  for (size_t i = 0; i < COUNT(array); i++)                                    \
  add_row(&rows, prefix, (array)[i].name, test, &(array)[i])

int main(void)
{
  struct rows rows = {0};

  ADD("number", numbers, text, test_number);
  ADD("whole", wholes, text, test_whole);
  ADD("glued", glueds, text, test_glued);
  ADD("prefix", prefixes, line, test_prefix);
  ADD("channel", channels, message, test_channel);
  add_row(&rows, "memory", "each allocation fails once", test_memory, NULL);
  return run_rows(&rows, "nccl_log");
}
