/* SPDX-License-Identifier: Apache-2.0 */
/* Whatever a kubeconfig says, what is loaded may be used as it is: a URL, a
 * label, headers of one line, certificates with their keys; or there is an
 * error of one line. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/text.h"
#include "kube/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool ok)
{
  if (!ok) {
    abort();
  }
}

static const char *no_env(const char *name)
{
  (void)name;
  return NULL;
}

/* A file without a name, the same for all texts. */
static int scratch(void)
{
  static int fd = -1;
  if (fd < 0) {
    char path[] = "/tmp/aicr-fuzz-XXXXXX";
    fd = mkstemp(path);
    require(fd >= 0 && unlink(path) == 0);
  }
  return fd;
}

static void check_line(const char *text)
{
  for (const char *p = text; p != NULL && *p != '\0'; p++) {
    require((unsigned char)*p >= 0x20 && *p != 0x7f);
  }
}

static void check_server(const char *server)
{
  size_t len = strlen(server);
  bool https = strncmp(server, "https://", 8) == 0;
  require(https || strncmp(server, "http://", 7) == 0);
  const char *rest = server + (https ? 8 : 7);
  require(*rest != '\0' && server[len - 1] != '/');
  require(strpbrk(rest, "?# \\\"") == NULL && strstr(rest, "//") == NULL);
  require(strchr(rest, '@') == NULL || strchr(rest, '@') > strchr(rest, '/'));
  check_line(server);
}

static void check_config(const struct kube_config *c)
{
  bool http = strncmp(c->server, "http://", 7) == 0;
  check_server(c->server);
  require(c->context != NULL && c->source != NULL);
  require(c->ns[0] != '\0' && strlen(c->ns) <= 63);
  require(strspn(c->ns, "abcdefghijklmnopqrstuvwxyz0123456789-") ==
          strlen(c->ns));
  require((c->certificate.len > 0) == (c->key.len > 0));
  require(!(c->insecure && c->ca.len > 0));
  require(c->token == NULL || c->username == NULL);
  require(c->exec == NULL ||
          (c->token == NULL && c->username == NULL && c->certificate.len == 0));
  require(!http || (c->token == NULL && c->username == NULL &&
                    c->exec == NULL && c->key.len == 0));
  require(c->exec == NULL || (c->exec->command[0] != '\0' &&
                              (c->exec->command[0] == '/' ||
                               strchr(c->exec->command, '/') == NULL)));
  require(c->token == NULL ||
          (c->token[0] != '\0' && strpbrk(c->token, " \t\r\n") == NULL));
  check_line(c->token);
  check_line(c->as.user);
  check_line(c->as.uid);
  for (size_t i = 0; i < c->as.group_count; i++) {
    check_line(c->as.groups[i]);
  }
  for (size_t i = 0; i < c->as.extra_count; i++) {
    require(c->as.extra[i].name[0] != '\0');
    check_line(c->as.extra[i].value);
  }
}

static void check_error(const struct aicr_error *err)
{
  static const char *const reasons[] = {"config-not-found", "config-invalid",
                                        "context-not-found",
                                        "config-unsupported-auth"};
  bool known = false;
  for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
    known = known || strcmp(err->reason, reasons[i]) == 0;
  }
  require(known && err->code == AICR_INVALID_REQUEST && !err->verdict);
  require(err->message[0] != '\0');
  require(aicr_utf8_valid(err->message, strlen(err->message)));
  check_line(err->message);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  char path[64];
  int fd = scratch();
  struct aicr_error err = {.code = AICR_CODE_NONE};
  struct aicr_buf warnings;
  struct kube_config config;
  require(ftruncate(fd, 0) == 0);
  require(size == 0 || pwrite(fd, data, size, 0) == (ssize_t)size);
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct kube_config_options options = {
      .kubeconfig = path, .env = no_env, .service_account = "/nonexistent"};
  aicr_buf_init(&warnings, 1 << 20);
  if (kube_config_load(&options, &config, &warnings, &err)) {
    check_config(&config);
  } else {
    check_error(&err);
  }
  require(!warnings.failed);
  aicr_buf_free(&warnings);
  kube_config_free(&config);
  return 0;
}
