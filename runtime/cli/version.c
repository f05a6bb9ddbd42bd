/* SPDX-License-Identifier: Apache-2.0 */
#include <lua.h>
#include <stdio.h>

#include "cli/help.h"

void aicr_print_version(void)
{
  puts("aicr-run " AICR_VERSION "\n" LUA_RELEASE "\n"
       "libcurl: not linked, recordings only\n"
       "TLS: none\n"
       "NCCL: none");
}
