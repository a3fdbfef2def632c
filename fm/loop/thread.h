/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* thread: a thread for system calls that may block, beside the loop. */
#ifndef FMD_LOOP_THREAD_H
#define FMD_LOOP_THREAD_H

#include <pthread.h>

/*
 * Starts a thread that takes no signals: they are the loop's. SIGSYS alone is not blocked, for the
 * sandbox (sandbox.h) would end the process then. 0, or the error number of pthread_create(); the
 * caller joins the thread.
 */
int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg);

#endif
