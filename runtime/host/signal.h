/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AICR_HOST_SIGNAL_H
#define AICR_HOST_SIGNAL_H

/* SIGINT, SIGTERM and the first SIGHUP, unless it was ignored (nohup), are
 * noted and told to the engine; SIGPIPE and SIGXFSZ are ignored. */
void aicr_signal_open(void);

/* "SIGINT", "SIGTERM" or "SIGHUP"; NULL for no signal. */
const char *aicr_signal_name(int number);

/* The oldest signal not taken yet, 0 when there is none. */
int aicr_signal_take(void);

/* Readable from a signal until it was taken; -1: there is none. */
int aicr_signal_descriptor(void);

#endif
