/* SPDX-License-Identifier: Apache-2.0 */
#include "kube/recording_dump.h"

#include <stdio.h>
#include <string.h>

#include "kube/fixed_text.h"
#include "kube/recording_log.h"

bool kube_rec_is_dump_log(const char *path)
{
  return kube_ends_in(path, "/logs.txt");
}

bool kube_rec_find_dump(struct kube_rec_loader *l, const char *path,
                        struct aicr_error *err)
{
  static const char mark[] = "replication-controllers.json";
  size_t len = strcspn(path, "/");
  bool same = strlen(l->looked) == len && strncmp(l->looked, path, len) == 0;
  if (path[len] == '\0' || strchr(path + len + 1, '/') != NULL ||
      len >= sizeof l->looked) {
    l->dump_ns = NULL;
    return true;
  }
  if (!same) {
    char file[128];
    struct kube_rec_input in;
    memcpy(l->looked, path, len);
    l->looked[len] = '\0';
    snprintf(file, sizeof file, "%s/%s", l->looked, mark);
    if (!kube_rec_files_input(&l->store->files, file, &l->is_dump, &in, err)) {
      return false;
    }
    kube_rec_input_close(&in);
  }
  l->dump_ns = l->is_dump ? l->looked : NULL;
  return true;
}

bool kube_rec_visit_dump_log(struct kube_rec_loader *l,
                             const struct kube_rec_input *in,
                             struct aicr_error *err)
{
  char ns[64], pod[KUBE_NAME_MAX + 1];
  const char *at = in->path;
  if (!kube_take_step(&at, ns, sizeof ns) ||
      !kube_take_step(&at, pod, sizeof pod) || strcmp(at, "logs.txt") != 0) {
    return true;
  }
  return kube_rec_load_dump_log(l, in, ns, pod, err);
}
