/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * helper: a small process that does for the daemon what the daemon itself is not allowed any more
 * (fm/os/sandbox.h): it starts the operators' hooks, and it binds sockets to ports below 1024. And
 * it keeps descriptors for the next daemon, when this one is killed.
 *
 * It is forked before anything is opened, and asked over two socket pairs by messages of a fixed
 * form. No message names a program or a port: both are what the configuration file says, and the
 * helper reads that file itself. So who has taken over the daemon can have the helper run the
 * operators' own hooks, and nothing else.
 *
 * It ends when the daemon ends, however that ends. If it ends sooner, hooks are not run any more:
 * helper_is_gone() says so.
 */
#pragma once

#include <sys/socket.h>
#include "fm/conf/conf.h"
#include "fm/loop/loop.h"

#define HELPER_NAME	48    /* bytes of a kept descriptor's name, with its zero */
#define HELPER_TEXT_MAX 32768 /* bytes of a hook's variables, with the zeros that end them */

enum helper_program {
	HELPER_NVSWITCH_HOOK,
	HELPER_HOST_HOOK,
	HELPER_EVENT_HOOK,
	HELPER_JOB_COMMAND,
	HELPER_PROGRAMS
};

struct helper;
struct helper_run;

/* As waitpid(2) has `status`; error: it could not be started (errno), 0 = it was. */
typedef void helper_ended_fn(void *arg, int error, int status);

/*
 * Forks it; conf_path: NULL = the configuration is never read again. NULL with the reason in err.
 * To be called while the process has one thread, and as few descriptors as possible. `confine` is
 * called in the helper alone, before it serves: what it gives up (NULL = nothing).
 */
struct helper *helper_start(const struct conf *conf, const char *conf_path, void (*confine)(void),
			    char *err, size_t err_size);
void helper_end(struct helper *helper); /* NULL is fine; waits for its end */

/* From now on ends of programs are read on `loop`, and loop_helper() returns this helper. */
void helper_attach(struct helper *helper, struct loop *loop);
bool helper_is_gone(const struct helper *helper);

/* It reads the configuration file again: 0, or -errno; what it had stays then. */
int helper_configure(struct helper *helper);

/*
 * Starts that hook with the variables in `text`: `NAME=VALUE` each, NAME is FMD_ and capitals, and
 * each ends with a zero. output: a descriptor that is its standard output, the caller's; -1 =
 * standard error. fn is called once from the loop, when it has ended, unless helper_stop() came
 * first. NULL: not now (errno EAGAIN), or never.
 */
struct helper_run *helper_start_program(struct helper *helper, enum helper_program program,
					const char *text, size_t len, int output,
					helper_ended_fn *fn, void *arg);
void helper_stop(struct helper_run *run); /* kills it with all it started; frees run */

/* bind(2) of a TCP or UDP socket to a port that the configuration names: 0, or -errno. */
int helper_bind(struct helper *helper, int fd, const struct sockaddr *at, socklen_t len);

/*
 * A copy of the descriptor is kept by that name, in place of the one before, and for some seconds
 * after the process was killed, not after helper_end(); -1: no more; with the name "" those that
 * nobody has taken are kept no more. 0, or -errno. A helper that was killed itself has none left.
 */
int helper_keep(struct helper *helper, const char *name, int fd);
/*
 * A copy of the descriptor of that name, kept since an earlier process with this state_dir: the
 * caller's. It is kept on. -ENOENT: there is none; or another -errno.
 */
int helper_take(struct helper *helper, const char *name);

/*
 * hook: the operators' program, run when a host's state changes. It gets its facts by environment
 * variables: FMD_HOST, FMD_NODE (its name in schedulers), FMD_STATE, FMD_OLD_STATE, PATH, and what
 * the caller adds. FMD_EVENT, where the caller adds that, is its standard input besides.
 *
 * A few run at a time, the others wait in line. A host waits once: a newer change replaces the one
 * that waits. One that takes too long is killed with all it started. The loop never waits for one.
 * One that does not end with status 0 is run again, 10 s later, then after 20 s and so on up to
 * 5 min, until it does or a newer change replaces it.
 */
struct hook;

struct hook_variable {
	const char *name, *value;
};
struct hook_call { /* all of it is copied */
	/* state NULL: of an event, whose number is `host`; its variables are `more` alone */
	const char *host, *state, *old_state;
	const struct hook_variable *more;
	unsigned count; /* of `more` */
};
/* The program has ended, error NULL = with status 0. host and error are valid during the call. */
typedef void hook_done_fn(void *arg, const char *host, const char *error);

/*
 * The caller's, never NULL. Programs are started by the loop's helper; without
 * one each run ends with an error.
 */
struct hook *hook_new(struct loop *loop, enum helper_program which, hook_done_fn *fn, void *arg);
void hook_free(struct hook *hook); /* those running are killed; NULL is fine */
/*
 * program "" = hook_run() does nothing. The name is for messages: the helper reads which program it
 * starts from the configuration. short_nodes: FMD_NODE is (text_node_name()).
 */
void hook_configure(struct hook *hook, const char *program, unsigned timeout_ms, bool short_nodes);
/* Queues a run; fn is called from the loop each time that it has ended. */
void hook_run(struct hook *hook, const struct hook_call *call);
/* While held, those that wait are not started. */
void hook_hold(struct hook *hook, bool held);
/*
 * The state of the host that the program last ran for with success, if a newer change waits or
 * runs; NULL = it knows the present one.
 */
const char *hook_owed(const struct hook *hook, const char *host);
/* The n-th host, from 0, whose run failed and is not replaced; NULL = there are no more. */
const char *hook_failing(const struct hook *hook, unsigned n);
/* Whether that key's program can be run ("" = none): 0, or -1 with the reason in err. */
int hook_check(const char *key, const char *program, char *err, size_t err_size);
