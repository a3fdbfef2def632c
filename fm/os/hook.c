/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* hook: those that wait, and those that run in the helper. */
#include <errno.h>
#include <unistd.h>
#include <sys/wait.h>
#include "fm/os/helper.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define AT_A_TIME    4
#define AGAIN_US     20000	 /* until the helper can take another */
#define RETRY_US     10000000ull /* after a first failure; each further wait is twice as long */
#define RETRY_MAX_US 300000000ull

struct call { /* waiting, or running */
	struct call *next;
	struct hook *hook;
	char *host, *old_state;
	char *text; /* the variables, each with the zero that ends it */
	size_t length;
	struct helper_run *run; /* NULL = it waits */
	unsigned failures;
	uint64_t due_us; /* of one that runs: its end; of one that waits: not to start before */
};

struct hook {
	struct loop *loop;
	enum helper_program which;
	hook_done_fn *fn;
	void *arg;
	char *program;
	unsigned timeout_ms;
	bool held; /* none is started */
	bool short_nodes;
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

static struct call *find_call(struct call *call, const char *host)
{
	while (call && strcmp(call->host, host))
		call = call->next;
	return call;
}

static void add_waiting(struct hook *hook, struct call *call)
{
	struct call **last = &hook->waiting;

	while (*last)
		last = &(*last)->next;
	call->next = NULL;
	*last = call;
}

/*
 * The call is in neither list. One that failed waits for another try, unless a newer change of its
 * host waits already.
 */
static void end_call(struct hook *hook, struct call *call, const char *error)
{
	unsigned doublings = call->failures < 5 ? call->failures : 5;
	uint64_t wait_us = RETRY_US << doublings;
	bool again = error && !find_call(hook->waiting, call->host);
	char *host = mem_strdup(call->host);

	call->run = NULL;
	call->failures++;
	call->due_us = loop_now_us(hook->loop) + (wait_us < RETRY_MAX_US ? wait_us : RETRY_MAX_US);
	if (again)
		add_waiting(hook, call);
	else
		call_free(call);
	hook->fn(hook->arg, host, error);
	free(host);
}

static void ended_cb(void *arg, int error, int status)
{
	struct call *call = arg, **link = &call->hook->running;
	struct hook *hook = call->hook;
	char text[64];

	while (*link != call)
		link = &(*link)->next;
	*link = call->next;
	hook->nrunning--;
	array_printf(text, "ended with %s %d", WIFEXITED(status) ? "status" : "signal",
		     WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
	if (error)
		end_call(hook, call, strerror(error));
	else
		end_call(hook, call, WIFEXITED(status) && !WEXITSTATUS(status) ? NULL : text);
	loop_timer_set(hook->timer, 0);
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

		if (now_us < call->due_us) {
			next = call->due_us < next ? call->due_us : next;
			link = &call->next;
			continue;
		}
		*link = call->next;
		hook->nrunning--;
		helper_stop(call->run);
		end_call(hook, call, "took too long and was killed");
	}
	return next;
}

/*
 * The first in line that is due and whose host has none running: a host's changes keep their order.
 */
static struct call *take_waiting(struct hook *hook)
{
	for (struct call **link = &hook->waiting; *link; link = &(*link)->next) {
		struct call *call = *link;

		if (call->due_us > loop_now_us(hook->loop) || find_call(hook->running, call->host))
			continue;
		*link = call->next;
		return call;
	}
	return NULL;
}

/* False: the helper runs as many as it can now. */
static bool start_waiting(struct hook *hook)
{
	struct helper *helper = loop_helper(hook->loop);
	struct call *call;

	while (!hook->held && hook->nrunning < AT_A_TIME && (call = take_waiting(hook))) {
		call->run = helper ? helper_start_program(helper, hook->which, call->text,
							  call->length, -1, ended_cb, call)
				   : NULL;

		int error = call->run ? 0 : helper ? errno : ENOSYS;

		if (error == EAGAIN) {
			call->next = hook->waiting;
			hook->waiting = call;
			return false;
		}
		if (error) {
			end_call(hook, call, strerror(error));
			continue;
		}
		call->due_us = loop_now_us(hook->loop) + hook->timeout_ms * 1000ull;
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

	end_late(hook, now_us);

	bool started = start_waiting(hook);

	next_us = end_late(hook, now_us);
	if (!started && now_us + AGAIN_US < next_us)
		next_us = now_us + AGAIN_US;
	for (const struct call *call = hook->waiting; call && !hook->held; call = call->next)
		if (call->due_us > now_us && call->due_us < next_us)
			next_us = call->due_us;
	if (next_us != UINT64_MAX)
		loop_timer_set(hook->timer, next_us - now_us);
}

/*
 * What waits for the host is out of date. If it was never tried, the change that it would have
 * reported is part of the newer one, and its old state is returned. A failed try may have had its
 * effect, so the newer change is reported as it is.
 */
static char *drop_waiting(struct hook *hook, const char *host)
{
	struct call **link = &hook->waiting, *call = find_call(hook->waiting, host);

	if (!call)
		return NULL;
	while (*link != call)
		link = &(*link)->next;
	*link = call->next;

	char *old_state = call->failures ? NULL : mem_strdup(call->old_state);

	call_free(call);
	return old_state;
}

void hook_run(struct hook *hook, const struct hook_call *from)
{
	char *earlier, node[TEXT_NODE_NAME];

	if (!*hook->program)
		return;
	earlier = drop_waiting(hook, from->host);
	if (earlier && from->state && !strcmp(earlier, from->state)) {
		free(earlier);
		return; /* the host is back in the state that was reported last */
	}

	struct call *call = mem_new(call);

	call->hook = hook;
	call->host = mem_strdup(from->host);
	call->old_state = earlier ? earlier : mem_strdup(from->old_state ?: "");

	FILE *out = open_memstream(&call->text, &call->length);

	text_node_name(from->host, hook->short_nodes, node);
	if (from->state)
		fprintf(out, "FMD_HOST=%s%cFMD_NODE=%s%cFMD_STATE=%s%cFMD_OLD_STATE=%s%c",
			from->host, 0, node, 0, from->state, 0, call->old_state, 0);
	for (unsigned i = 0; i < from->count; i++)
		fprintf(out, "%s=%s%c", from->more[i].name, from->more[i].value, 0);
	fclose(out);
	add_waiting(hook, call);
	loop_timer_set(hook->timer, 0);
}

void hook_hold(struct hook *hook, bool held)
{
	if (hook->held == held)
		return;
	hook->held = held;
	loop_timer_set(hook->timer, 0);
}

const char *hook_owed(const struct hook *hook, const char *host)
{
	const struct call *call = find_call(hook->running, host);

	if (!call)
		call = find_call(hook->waiting, host);
	return call ? call->old_state : NULL;
}

const char *hook_failing(const struct hook *hook, unsigned n)
{
	const struct call *lists[] = { hook->running, hook->waiting };

	for (unsigned i = 0; i < 2; i++)
		for (const struct call *call = lists[i]; call; call = call->next)
			if (call->failures && !n--)
				return call->host;
	return NULL;
}

struct hook *hook_new(struct loop *loop, enum helper_program which, hook_done_fn *fn, void *arg)
{
	struct hook *hook = mem_new(hook);

	*hook = (struct hook){ .loop = loop, .which = which, .fn = fn, .arg = arg };
	hook->program = mem_strdup("");
	hook->timer = loop_timer_new(loop, timer_cb, hook);
	return hook;
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

void hook_configure(struct hook *hook, const char *program, unsigned timeout_ms, bool short_nodes)
{
	hook->short_nodes = short_nodes;
	free(hook->program);
	hook->program = mem_strdup(program);
	hook->timeout_ms = timeout_ms;
	if (*program)
		return;
	free_all(hook->waiting); /* nobody is to be called any more */
	hook->waiting = NULL;
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
