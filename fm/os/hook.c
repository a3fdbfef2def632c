/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hook: the line of those that wait, and those that run in the helper (fm/os/helper.h): this
 * process may start no program.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "fm/os/hook.h"
#include "topology/base/mem.h"

#define AT_A_TIME 4
#define AGAIN_US  20000 /* until the helper can take another */

struct call { /* waiting, or running */
	struct call *next;
	struct hook *hook;
	char *host, *old_state;
	char *text; /* the variables, each with the zero that ends it */
	size_t length;
	struct helper_run *run; /* NULL = it waits */
	uint64_t deadline_us;
};

struct hook {
	struct loop *loop;
	enum helper_program which;
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
	free(call->text);
	free(call->host);
	free(call->old_state);
	free(call);
}

/* ---- One program ----------------------------------------------------------------------------- */

static void log_call(const struct hook *hook, const struct call *call, const char *error)
{
	hook->fn(hook->arg, call->host, error);
}

static void take_from_running(struct call *call)
{
	struct call **link = &call->hook->running;

	while (*link != call)
		link = &(*link)->next;
	*link = call->next;
	call->hook->nrunning--;
}

static void ended_cb(void *arg, int error, int status)
{
	struct call *call = arg;
	struct hook *hook = call->hook;
	char text[64];

	take_from_running(call);
	if (error)
		log_call(hook, call, strerror(error));
	else if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
		log_call(hook, call, NULL);
	else {
		snprintf(text, sizeof(text), "ended with %s %d",
			 WIFEXITED(status) ? "status" : "signal",
			 WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
		log_call(hook, call, text);
	}
	call_free(call);
	loop_timer_set(hook->timer, 0);
}

/* 0, or errno. */
static int begin(struct hook *hook, struct call *call)
{
	struct helper *helper = loop_helper(hook->loop);

	if (!helper)
		return ENOSYS;
	call->run =
		helper_start_program(helper, hook->which, call->text, call->length, ended_cb, call);
	return call->run ? 0 : errno;
}

/*
 * Kills programs that took too long; returns when the next one will have, UINT64_MAX = none runs.
 */
static uint64_t end_late(struct hook *hook, uint64_t now_us)
{
	struct call **link = &hook->running;
	uint64_t next = UINT64_MAX;

	while (*link) {
		struct call *call = *link;

		if (now_us < call->deadline_us) {
			next = call->deadline_us < next ? call->deadline_us : next;
			link = &call->next;
			continue;
		}
		*link = call->next;
		hook->nrunning--;
		helper_stop(call->run);
		log_call(hook, call, "took too long and was killed");
		call_free(call);
	}
	return next;
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

static void put_back(struct hook *hook, struct call *call)
{
	call->next = hook->waiting;
	hook->waiting = call;
}

/* False: the helper has no room for another now. */
static bool start_waiting(struct hook *hook)
{
	struct call *call;
	int error;

	while (hook->nrunning < AT_A_TIME && (call = take_waiting(hook))) {
		error = begin(hook, call);
		if (error == EAGAIN) {
			put_back(hook, call);
			return false;
		}
		if (error) {
			log_call(hook, call, strerror(error));
			call_free(call);
			continue;
		}
		call->deadline_us = loop_now_us(hook->loop) + hook->timeout_ms * 1000ull;
		call->next = hook->running;
		hook->running = call;
		hook->nrunning++;
	}
	return true;
}

static void timer_cb(void *arg)
{
	struct hook *hook = arg;
	uint64_t now_us = loop_now_us(hook->loop), next_us;
	bool room;

	end_late(hook, now_us);
	room = start_waiting(hook);
	next_us = end_late(hook, now_us);
	if (!room && now_us + AGAIN_US < next_us)
		next_us = now_us + AGAIN_US;
	if (next_us != UINT64_MAX)
		loop_timer_set(hook->timer, next_us - now_us);
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

static char *render(const struct hook_call *from, const char *old_state, size_t *length)
{
	char *text = NULL;
	FILE *out = open_memstream(&text, length);

	fprintf(out, "FMD_HOST=%s%c", from->host, 0);
	fprintf(out, "FMD_STATE=%s%c", from->state, 0);
	fprintf(out, "FMD_OLD_STATE=%s%c", old_state, 0);
	for (unsigned i = 0; i < from->count; i++)
		fprintf(out, "%s=%s%c", from->more[i].name, from->more[i].value, 0);
	fclose(out);
	return text;
}

static struct call *call_new(struct hook *hook, const struct hook_call *from, const char *old_state)
{
	struct call *call = mem_alloc(1, sizeof(*call));

	call->hook = hook;
	call->host = mem_strdup(from->host);
	call->old_state = mem_strdup(old_state);
	call->text = render(from, old_state, &call->length);
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
		return; /* the host is back in the state that was reported last */
	}
	call = call_new(hook, from, earlier ? earlier : from->old_state);
	free(earlier);
	while (*last)
		last = &(*last)->next;
	*last = call;
	loop_timer_set(hook->timer, 0);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct hook *hook_new(struct loop *loop, enum helper_program which, hook_done_fn *fn, void *arg)
{
	struct hook *hook = mem_alloc(1, sizeof(*hook));

	*hook = (struct hook){ .loop = loop, .which = which, .fn = fn, .arg = arg };
	hook->program = mem_strdup("");
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
		if (call->run)
			helper_stop(call->run);
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
