/* SPDX-License-Identifier: Apache-2.0 */
/* Of a document of discovery that is accepted every resource is found again by
 * its name, and makes a path that may be asked for or none. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kube/discovery.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define LOOKED_AT 64u

static void require(bool ok)
{
  if (!ok) {
    abort();
  }
}

static void check_path(const struct kube_resource *r)
{
  struct aicr_buf path;
  struct aicr_error err = {.code = AICR_CODE_NONE};
  aicr_buf_init(&path, 8192);
  if (kube_resource_path(r, r->namespaced ? "a" : NULL, "n", NULL, &path,
                         &err)) {
    require(strstr(path.data, "//") == NULL);
    require(strstr(path.data, "/../") == NULL);
    require(strpbrk(path.data, " \r\n?#%") == NULL);
  } else {
    require(err.code == AICR_INVALID_REQUEST);
  }
  aicr_buf_free(&path);
}

static void check_found(const struct kube_discovery *d,
                        const struct kube_resource *r)
{
  struct kube_resource asked = {.namespaced = false};
  struct aicr_error err = {.code = AICR_CODE_NONE};
  memcpy(asked.group, r->group, sizeof asked.group);
  memcpy(asked.version, r->version, sizeof asked.version);
  memcpy(asked.plural, r->plural, sizeof asked.plural);
  if (kube_discovery_resolve(d, &asked, &err)) {
    require(strcmp(asked.plural, r->plural) == 0);
    require(strcmp(asked.group, r->group) == 0 || r->version[0] == '\0');
  } else {
    require(strcmp(err.reason, "ambiguous") == 0);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
  struct kube_discovery d = {NULL, 0, 0, NULL, 0, 0};
  struct aicr_error err = {.code = AICR_CODE_NONE};
  if (kube_discovery_add(&d, (const char *)data, size, &err)) {
    for (size_t i = 0; i < d.count && i < LOOKED_AT; i++) {
      check_found(&d, &d.items[i].r);
      check_path(&d.items[i].r);
    }
    struct kube_resource none = {.plural = "gizmos", .group = "no.such"};
    require(!kube_discovery_resolve(&d, &none, &err));
    require(err.reason[0] != '\0');
  } else {
    require(err.code == AICR_INTERNAL && !err.verdict);
  }
  kube_discovery_free(&d);
  return 0;
}
