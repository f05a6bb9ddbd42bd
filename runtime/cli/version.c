/* SPDX-License-Identifier: Apache-2.0 */
#include <lua.h>
#include <stdio.h>

#include "cli/help.h"
#include "host/host.h"

void aicr_print_version(void)
{
  puts("aicr-run " AICR_VERSION "\n" LUA_RELEASE);
  aicr_host_print_libraries();
  puts("NCCL: none");
}
