/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_KUBE_EXEC_STATUS_H
#define AICR_KUBE_EXEC_STATUS_H

#include "core/error.h"

/* The exit code of a command, from the Status that the server sends on channel
 * 3 at its end: kubernetes-client.md 3.4. Success is 0; NonZeroExitCode names
 * the code, 1-255, in a cause. True with *exit_code, else INTERNAL with
 * "exec-failed" (the command did not run), "exec-unknown-exit" (it says
 * neither), "protocol" (no Status) or "memory". */
bool kube_exec_status(const char *text, size_t len, int *exit_code,
                      struct aicr_error *err);

#endif
