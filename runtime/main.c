/* SPDX-License-Identifier: Apache-2.0 */
#include <malloc.h>

#include "cli/cli.h"

/* Memory that is not used goes back: without this glibc keeps more of it after
 * every large block, such as a page of a list. */
static void keep_little_memory(void)
{
  mallopt(M_MMAP_THRESHOLD, 64 << 10);
  mallopt(M_TRIM_THRESHOLD, 128 << 10);
  mallopt(M_TOP_PAD, 0);
}

int main(int argc, char **argv)
{
  keep_little_memory();
  return aicr_cli_main(argc, argv);
}
