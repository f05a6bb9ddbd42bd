/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "host/host.h"
#include "host/signal.h"
#include "kube/library.h"
#include "kube/live.h"
#include "kube/record_start.h"
#include "kube/recording.h"

/* Which cluster answers the checks of a run. */

static bool take(struct aicr_host *h, struct kube_backend *backend,
                 struct aicr_error *err)
{
  if (h->client)
    kube_client_close(h->client);
  backend->wake = aicr_signal_descriptor();
  h->client = kube_client_open(backend);
  if (h->client) {
    kube_client_on_secret(h->client, aicr_task_note_secret);
    return true;
  }
  return aicr_fail(err, AICR_INTERNAL, "memory", "out of memory");
}

void aicr_host_print_libraries(void)
{
  struct kube_library l;

  kube_library_facts(&l);
  printf("libcurl: %s%s%s\nTLS: %s\n", l.curl, l.http2 ? ", HTTP/2" : "",
         l.gzip ? ", gzip" : "", l.tls[0] ? l.tls : "none");
}

bool aicr_host_open_recording(struct aicr_host *h, const char *dir,
                              struct aicr_buf *warnings, struct aicr_error *err)
{
  struct kube_backend *backend = kube_recording_open(dir, warnings, err);

  h->recording = backend != NULL;
  return backend && take(h, backend, err);
}

static void print_trace(const char *line)
{
  fprintf(stderr, "trace: %s\n", line);
}

bool aicr_host_open_live(struct aicr_host *h,
                         const struct kube_config_options *options, bool trace,
                         struct aicr_cluster_facts *facts,
                         struct aicr_buf *warnings, struct aicr_error *err)
{
  struct kube_config config = {0};
  struct kube_backend *backend = NULL;

  h->recording = false;
  if (kube_config_load(options, &config, warnings, err)) {
    *facts = (struct aicr_cluster_facts){0};
    snprintf(facts->server, sizeof(facts->server), "%s", config.server);
    snprintf(facts->source, sizeof(facts->source), "%s", config.source);
    facts->insecure = config.insecure;
    backend = kube_live_open(&config, err);
    if (backend)
      backend->trace = trace ? print_trace : NULL;
  } else {
    kube_config_free(&config);
  }
  return backend && take(h, backend, err);
}

bool aicr_host_record(struct aicr_host *h, const char *folder,
                      struct aicr_buf *warnings, struct aicr_error *err)
{
  struct kube_backend *b = kube_client_backend(h->client);
  const struct kube_record_facts facts = {.context = b->ops->context(b),
                                          .tool = "aicr-run " AICR_VERSION,
                                          .captured_ms = aicr_now_ms()};

  return kube_record_start(h->client, folder, &facts, warnings, err);
}
