/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/loop/thread.h"
#include <signal.h>

int thread_start(pthread_t *thread, void *(*run)(void *arg), void *arg)
{
	sigset_t all, had;
	int error;

	sigfillset(&all);
	sigdelset(&all, SIGSYS);
	pthread_sigmask(SIG_SETMASK, &all, &had);
	error = pthread_create(thread, NULL, run, arg);
	pthread_sigmask(SIG_SETMASK, &had, NULL);
	return error;
}
