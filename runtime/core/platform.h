/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_CORE_PLATFORM_H
#define AICR_CORE_PLATFORM_H

/* The platforms that there are, in the order in which they are shown
 * (platform-runtimes.md 1). Everything that names platforms reads this table:
 * the command line, the engine, detection.                ended by NULL */
extern const char *const aicr_platforms[];

#endif
