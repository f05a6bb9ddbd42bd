/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/exec_request.h"

#include "rows.h"

#include "torture.h"

#define PATH   "/api/v1/namespaces/logs/pods/two/exec"
#define SECRET "Authorization: Bearer s3cr3t"

#define REST                                                                   \
  " HTTP/1.1\r\nHost: h:6443\r\nConnection: Upgrade\r\n"                       \
  "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"                        \
  "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"                            \
  "Sec-WebSocket-Protocol: v5.channel.k8s.io, v4.channel.k8s.io\r\n"

#define FLAGS(in, out, err, tty)                                               \
  "&stdin=" in "&stdout=" out "&stderr=" err "&tty=" tty

static struct kube_exec_request plain(void)
{
  static const char *const command[] = {"true"};
  struct kube_exec_request rq = {.host = "h:6443",
                                 .path = PATH,
                                 .command = command,
                                 .command_count = 1,
                                 .want_stdout = true};
  memcpy(rq.key, "the sample nonce", sizeof rq.key);
  return rq;
}

static void expect(const struct kube_exec_request *rq, const char *wanted)
{
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct aicr_buf out;
  aicr_buf_init(&out, KUBE_EXEC_REQUEST_MAX);
  out.secret = true;
  assert_true(kube_exec_request(rq, &out, &err));
  assert_string_equal(out.data, wanted);
  aicr_buf_free(&out);
}

static void test_plain(void **state)
{
  struct kube_exec_request rq = plain();
  (void)state;
  expect(&rq, "GET " PATH "?command=true" FLAGS("false", "true", "false",
                                                "false") REST "\r\n");
}

static void test_all(void **state)
{
  static const char *const command[] = {"sh", "-c",
                                        "echo \"a b\" > /x; exit $?", ""};
  static const char *const headers[] = {SECRET, "User-Agent: aicr-run/1"};
  struct kube_exec_request rq = plain();
  (void)state;
  rq.path = "/k8s/c-1" PATH;
  rq.command = command;
  rq.command_count = COUNT(command);
  rq.container = "main";
  rq.send_stdin = rq.want_stderr = true;
  rq.headers = headers;
  rq.header_count = COUNT(headers);
  expect(&rq,
         "GET /k8s/c-1" PATH "?command=sh&command=-c&command=echo%20%22a%20b"
         "%22%20%3E%20%2Fx%3B%20exit%20%24%3F&command=&container=main" FLAGS(
             "true", "true", "true", "false") REST SECRET
         "\r\nUser-Agent: aicr-run/1\r\n\r\n");
}

static void test_tty(void **state)
{
  struct kube_exec_request rq = plain();
  (void)state;
  rq.tty = true;
  expect(&rq, "GET " PATH "?command=true" FLAGS("false", "true", "false",
                                                "true") REST "\r\n");
}

/* No byte of a word gets out of its parameter. */
static void test_every_byte(void **state)
{
  static const char kept[] = "-._~:";
  (void)state;
  for (int c = 1; c < 256; c++) {
    char word[3] = {'a', (char)c, 0}, wanted[1024], escaped[8];
    const char *const command[] = {word};
    struct kube_exec_request rq = plain();
    bool plain_char = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') ||
                      (c >= 'A' && c <= 'Z') || strchr(kept, c) != NULL;
    snprintf(escaped, sizeof escaped, plain_char ? "%c" : "%%%02X", c);
    snprintf(wanted, sizeof wanted, "GET %s?command=a%s%s%s\r\n", PATH, escaped,
             FLAGS("false", "true", "false", "false"), REST);
    rq.command = command;
    expect(&rq, wanted);
  }
}

enum what { PATH_IS, HOST_IS, HEADER_IS, WORD_IS, CONTAINER_IS };

static const struct bad {
  const char *name;
  enum what what;
  const char *text;
} bads[] = {
    {"no path", PATH_IS, ""},
    {"a path without a slash", PATH_IS, "api/v1"},
    {"an empty segment", PATH_IS, "/api/v1/namespaces//pods/p/exec"},
    {"a path with a query", PATH_IS, PATH "?x=y"},
    {"a path with a fragment", PATH_IS, PATH "#x"},
    {"a path with a blank", PATH_IS, "/api/v1 HTTP/1.1"},
    {"a path with a line end", PATH_IS, "/api\r\nX: y"},
    {"a path with a high byte", PATH_IS, "/api/\xc3\xa9"},
    {"no host", HOST_IS, ""},
    {"a host with a line end", HOST_IS, "h\r\nX: y"},
    {"a host with a blank", HOST_IS, "h h"},
    {"an empty header", HEADER_IS, ""},
    {"a header without a colon", HEADER_IS, "s3cr3t"},
    {"a header without a name", HEADER_IS, ": s3cr3t"},
    {"a name with a blank", HEADER_IS, "A B: s3cr3t"},
    {"a line end in a header", HEADER_IS, "A: s3cr3t\r\nX: y"},
    {"LF in a header", HEADER_IS, "A: s3cr3t\nX: y"},
    {"DEL in a header", HEADER_IS, "A: s3cr3t\x7f"},
    {"another Host", HEADER_IS, "host: s3cr3t"},
    {"another Connection", HEADER_IS, "Connection: s3cr3t"},
    {"another Upgrade", HEADER_IS, "Upgrade: s3cr3t"},
    {"a length", HEADER_IS, "Content-Length: 7"},
    {"a coding", HEADER_IS, "Transfer-Encoding: chunked"},
    {"another key", HEADER_IS, "sec-websocket-key: s3cr3t"},
    {"an extension", HEADER_IS, "Sec-WebSocket-Extensions: s3cr3t"},
    {"an empty command", WORD_IS, ""},
    {"an empty container", CONTAINER_IS, ""},
};

static void refuse(const struct kube_exec_request *rq, const char *reason)
{
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct aicr_buf out;
  aicr_buf_init(&out, KUBE_EXEC_REQUEST_MAX);
  assert_false(kube_exec_request(rq, &out, &err));
  assert_int_equal(out.len, 0);
  assert_int_equal(err.code, AICR_INVALID_REQUEST);
  assert_string_equal(err.reason, reason);
  assert_false(err.verdict);
  assert_null(strstr(err.message, "s3cr3t"));
  assert_null(strpbrk(err.message, "\r\n"));
  aicr_buf_free(&out);
}

static void test_bad(void **state)
{
  const struct bad *row = *state;
  const char *const text[] = {row->text};
  struct kube_exec_request rq = plain();
  switch (row->what) {
  case PATH_IS:
    rq.path = row->text;
    break;
  case HOST_IS:
    rq.host = row->text;
    break;
  case HEADER_IS:
    rq.headers = text;
    rq.header_count = 1;
    break;
  case WORD_IS:
    rq.command = text;
    break;
  default:
    rq.container = row->text;
  }
  refuse(&rq, "bad-request");
}

static void test_flags(void **state)
{
  struct kube_exec_request rq = plain();
  (void)state;
  rq.command_count = 0;
  refuse(&rq, "bad-request");
  rq = plain();
  rq.want_stdout = false;
  refuse(&rq, "bad-request");
  rq = plain();
  rq.tty = rq.want_stderr = true;
  refuse(&rq, "bad-request");
}

static void test_too_large(void **state)
{
  char *word = malloc(KUBE_EXEC_REQUEST_MAX);
  const char *const command[] = {"echo", word};
  struct kube_exec_request rq = plain();
  (void)state;
  assert_non_null(word);
  memset(word, ' ', KUBE_EXEC_REQUEST_MAX);
  word[KUBE_EXEC_REQUEST_MAX / 3] = '\0';
  rq.command = command;
  rq.command_count = COUNT(command);
  refuse(&rq, "too-large");
  free(word);
}

static bool use_memory(void *arg)
{
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct kube_exec_request rq = plain();
  struct aicr_buf out;
  (void)arg;
  aicr_buf_init(&out, KUBE_EXEC_REQUEST_MAX);
  bool ok = kube_exec_request(&rq, &out, &err);
  assert_true(ok ||
              (err.code == AICR_INTERNAL && strcmp(err.reason, "memory") == 0));
  aicr_buf_free(&out);
  return ok;
}

static void test_memory(void **state)
{
  (void)state;
  assert_true(torture(use_memory, NULL) >= 1);
}

int main(void)
{
  struct rows r = {0};
  add_row(&r, "request", "plain", test_plain, NULL);
  add_row(&r, "request", "all of it", test_all, NULL);
  add_row(&r, "request", "a terminal", test_tty, NULL);
  add_row(&r, "request", "every byte", test_every_byte, NULL);
  for (size_t i = 0; i < COUNT(bads); i++) {
    add_row(&r, "refused", bads[i].name, test_bad, &bads[i]);
  }
  add_row(&r, "refused", "no command, no stream, tty", test_flags, NULL);
  add_row(&r, "refused", "too large", test_too_large, NULL);
  add_row(&r, "memory", "none", test_memory, NULL);
  return run_rows(&r, "kube_exec_request");
}
