/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hook: programs by posix_spawn, each in a process group of its own, with an environment made for
 * it and no descriptor of ours but standard error.
 *
 * Their end is looked for every LOOK_US while any runs: few run, seldom, and a signal handler for
 * children would be everybody's in this process.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/core/hook.h"
#include "topology/mem.h"

#define AT_A_TIME     4
#define LOOK_US	      20000
#define OWN_VARIABLES 4 /* beside the caller's */

struct call { /* waiting, or running */
	struct call *next;
	char *host, *old_state;
	char **variables; /* ends with NULL */
	pid_t pid;
	uint64_t deadline_us;
};

struct hook {
	struct loop *loop;
	hook_done_fn *fn;
	void *arg;
	char *program;
	unsigned timeout_ms;
	struct call *waiting, *running;
	unsigned nrunning;
	struct loop_timer *timer;
};

static void call_free(struct call *call)
{
	for (char **variable = call->variables; *variable; variable++)
		free(*variable);
	free(call->variables);
	free(call->host);
	free(call->old_state);
	free(call);
}

/* ---- One program ----------------------------------------------------------------------------- */

static int set_up_files(posix_spawn_file_actions_t *files)
{
	posix_spawn_file_actions_init(files);
	posix_spawn_file_actions_addopen(files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(files, STDERR_FILENO, STDOUT_FILENO);
	return posix_spawn_file_actions_addclosefrom_np(files, STDERR_FILENO + 1);
}

/* Signals as a program expects them, and a group to be killed as a whole. */
static void set_up_attributes(posix_spawnattr_t *attributes)
{
	sigset_t set;

	posix_spawnattr_init(attributes);
	posix_spawnattr_setpgroup(attributes, 0);
	sigfillset(&set);
	posix_spawnattr_setsigdefault(attributes, &set);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(attributes, &set);
	posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
						     POSIX_SPAWN_SETSIGMASK);
}

static int spawn(const struct hook *hook, struct call *call)
{
	char *arguments[] = { hook->program, NULL };
	posix_spawn_file_actions_t files;
	posix_spawnattr_t attributes;
	int status;

	set_up_files(&files);
	set_up_attributes(&attributes);
	status = posix_spawn(&call->pid, hook->program, &files, &attributes, arguments,
			     call->variables);
	posix_spawn_file_actions_destroy(&files);
	posix_spawnattr_destroy(&attributes);
	return status;
}

static void log_call(const struct hook *hook, const struct call *call, const char *error)
{
	hook->fn(hook->arg, call->host, error);
}

/* True: it has ended, and that was reported. */
static bool look_after(struct hook *hook, struct call *call, uint64_t now_us)
{
	char text[64];
	int status;

	if (waitpid(call->pid, &status, WNOHANG) == 0) {
		if (now_us < call->deadline_us)
			return false;
		kill(-call->pid, SIGKILL);
		waitpid(call->pid, &status, 0);
		log_call(hook, call, "took too long and was killed");
		return true;
	}
	if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
		log_call(hook, call, NULL);
		return true;
	}
	snprintf(text, sizeof(text), "ended with %s %d", WIFEXITED(status) ? "status" : "signal",
		 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	log_call(hook, call, text);
	return true;
}

/* ---- All of them ----------------------------------------------------------------------------- */

static bool is_running(const struct hook *hook, const char *host)
{
	for (const struct call *call = hook->running; call; call = call->next)
		if (!strcmp(call->host, host))
			return true;
	return false;
}

/* The first in line whose host has none running: a host's changes keep their order. */
static struct call *take_waiting(struct hook *hook)
{
	for (struct call **link = &hook->waiting; *link; link = &(*link)->next) {
		struct call *call = *link;

		if (is_running(hook, call->host))
			continue;
		*link = call->next;
		return call;
	}
	return NULL;
}

static void start_waiting(struct hook *hook)
{
	struct call *call;
	int status;

	while (hook->nrunning < AT_A_TIME && (call = take_waiting(hook))) {
		status = spawn(hook, call);
		if (status) {
			log_call(hook, call, strerror(status));
			call_free(call);
			continue;
		}
		call->deadline_us = loop_now_us(hook->loop) + hook->timeout_ms * 1000ull;
		call->next = hook->running;
		hook->running = call;
		hook->nrunning++;
	}
}

static void timer_cb(void *arg)
{
	struct hook *hook = arg;
	uint64_t now_us = loop_now_us(hook->loop);
	struct call **link = &hook->running;

	while (*link) {
		struct call *call = *link;

		if (!look_after(hook, call, now_us)) {
			link = &call->next;
			continue;
		}
		*link = call->next;
		hook->nrunning--;
		call_free(call);
	}
	start_waiting(hook);
	if (hook->running)
		loop_timer_set(hook->timer, LOOK_US);
}

/*
 * What waits for the host is out of date; the change that it would have reported is part of the
 * newer one.
 */
static char *drop_waiting(struct hook *hook, const char *host)
{
	for (struct call **link = &hook->waiting; *link; link = &(*link)->next) {
		struct call *call = *link;
		char *old_state;

		if (strcmp(call->host, host))
			continue;
		old_state = mem_strdup(call->old_state);
		*link = call->next;
		call_free(call);
		return old_state;
	}
	return NULL;
}

static struct call *call_new(const struct hook_call *from, const char *old_state)
{
	struct call *call = mem_alloc(1, sizeof(*call));
	const char *path = getenv("PATH");
	char **variable = mem_alloc(from->count + OWN_VARIABLES + 1, sizeof(*variable));

	call->host = mem_strdup(from->host);
	call->old_state = mem_strdup(old_state);
	call->variables = variable;
	*variable++ = mem_printf("FMD_HOST=%s", from->host);
	*variable++ = mem_printf("FMD_STATE=%s", from->state);
	*variable++ = mem_printf("FMD_OLD_STATE=%s", old_state);
	*variable++ = mem_printf("PATH=%s", path ? path : "/usr/sbin:/usr/bin:/sbin:/bin");
	for (unsigned i = 0; i < from->count; i++)
		*variable++ = mem_printf("%s=%s", from->more[i].name, from->more[i].value);
	return call;
}

void hook_run(struct hook *hook, const struct hook_call *from)
{
	struct call **last = &hook->waiting, *call;
	char *earlier;

	if (!*hook->program)
		return;
	earlier = drop_waiting(hook, from->host);
	if (earlier && !strcmp(earlier, from->state)) {
		free(earlier);
		return; /* back where it was before anybody heard of it */
	}
	call = call_new(from, earlier ? earlier : from->old_state);
	free(earlier);
	while (*last)
		last = &(*last)->next;
	*last = call;
	if (!loop_timer_armed(hook->timer))
		loop_timer_set(hook->timer, 0);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct hook *hook_new(struct loop *loop, hook_done_fn *fn, void *arg)
{
	struct hook *hook = mem_alloc(1, sizeof(*hook));

	*hook = (struct hook){ .loop = loop, .fn = fn, .arg = arg, .program = mem_strdup("") };
	hook->timer = loop_timer_new(loop, timer_cb, hook);
	return hook;
}

void hook_configure(struct hook *hook, const char *program, unsigned timeout_ms)
{
	free(hook->program);
	hook->program = mem_strdup(program);
	hook->timeout_ms = timeout_ms;
}

static void free_all(struct call *calls)
{
	while (calls) {
		struct call *call = calls;

		calls = call->next;
		if (call->pid) {
			kill(-call->pid, SIGKILL);
			waitpid(call->pid, NULL, 0);
		}
		call_free(call);
	}
}

void hook_free(struct hook *hook)
{
	if (!hook)
		return;
	free_all(hook->waiting);
	free_all(hook->running);
	loop_timer_free(hook->timer);
	free(hook->program);
	free(hook);
}

int hook_check(const char *key, const char *program, char *err, size_t err_size)
{
	if (!*program || !access(program, X_OK))
		return 0;
	snprintf(err, err_size, "%s: %s: %s", key, program, strerror(errno));
	return -1;
}
