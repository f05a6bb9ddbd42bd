/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_PROCESS_H
#define AICR_KUBE_PROCESS_H

#include <poll.h>
#include <stdint.h>

#include "core/buffer.h"

/* A child process beside everything else: no shell, a group of its own, none of
 * our descriptors; its output in memory up to a bound, the end of what it says
 * on stderr, a deadline. Nothing here waits for it. */

struct kube_process;

struct kube_process_spec {
  const char *path; /* from kube_process_find() */
  char *const *argv, *const *envp;
  /* A person may be asked: stdin, and stderr where that is a terminal too, are
   * ours, and the group is in the terminal's foreground while it runs. Else
   * stdin is /dev/null. */
  bool terminal;
  size_t output_max;   /* bytes on stdout */
  int64_t deadline_ms; /* monotonic, 0: none */
};

enum kube_process_state {
  KUBE_PROCESS_RUNNING,
  KUBE_PROCESS_STOPPING, /* told to end; kube_process_end() says why */
  KUBE_PROCESS_ENDED
};

enum kube_process_end {
  KUBE_PROCESS_EXITED,     /* number: its exit status */
  KUBE_PROCESS_SIGNALED,   /* number: the signal */
  KUBE_PROCESS_UNEXECUTED, /* number: errno of execve() */
  KUBE_PROCESS_LOST,       /* somebody else took its exit status */
  KUBE_PROCESS_DEADLINE,
  KUBE_PROCESS_TOO_LARGE, /* wrote more than output_max */
  KUBE_PROCESS_NO_MEMORY  /* there was none for its output */
};

/* Finds the program: a command with a '/' is a path, a bare word is looked up
 * in `path` (PATH's value, NULL: none; relative and empty elements are passed
 * over, so that no working folder decides what runs). Fills *out; 0, or ENOENT,
 * EACCES (found, but it cannot be executed), ENOMEM. */
int kube_process_find(const char *command, const char *path,
                      struct aicr_buf *out);

/* NULL and INTERNAL/"process" (no descriptor or process to be had) or
 * INTERNAL/"memory". That path could not be executed is seen at its end. All
 * of the spec may go after the call. */
struct kube_process *kube_process_start(const struct kube_process_spec *spec,
                                        struct aicr_error *err);

/* Ends what still runs of its group at once (SIGKILL), takes its exit status,
 * wipes what it wrote. NULL is allowed. */
void kube_process_close(struct kube_process *p);

/* Descriptors that bring news: at most 3. */
size_t kube_process_descriptors(const struct kube_process *p,
                                struct pollfd *out);

/* The monotonic time at which kube_process_step() has to be called even without
 * news, 0: none. */
int64_t kube_process_wake(const struct kube_process *p);

/* Takes what it wrote and sees its end. A process that came to its deadline or
 * wrote too much is stopped. What a process leaves behind in its group when it
 * ends by itself lives on (a browser, an agent), but is not listened to. */
enum kube_process_state kube_process_step(struct kube_process *p,
                                          int64_t now_ms);

/* While it is not stopping. */
void kube_process_set_deadline(struct kube_process *p, int64_t deadline_ms);
int64_t kube_process_deadline(const struct kube_process *p);

/* Why it ended or is stopping; `number` may be NULL. */
enum kube_process_end kube_process_end(const struct kube_process *p,
                                       int *number);

/* What it wrote on stdout, complete once it ended. */
const struct aicr_buf *kube_process_output(const struct kube_process *p);

/* Appends the last 4 KiB that it wrote on stderr, made plain
 * (aicr_buf_add_plain). */
bool kube_process_add_errors(const struct kube_process *p,
                             struct aicr_buf *out);

#endif
