/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "tests/lib/state_rows.h"
#include "fm/nvswitch/intake_sources.h"
#include "fm/os/helper.h"
#include "tests/lib/fake_fetch.h"
#include "tests/lib/nvlink_world.h"
#include "topology/base/mem.h"

static struct nvlink_world *world;

/* ---- Exporters ------------------------------------------------------------------------------- */

#define ANSWER_US 20000

struct fetch_job {
	struct loop_timer *timer;
	const struct fetch_ops *ops;
	void *arg;
	unsigned host;
};

int fetch_url_parse(const char *text, struct fetch_url *url)
{
	*url = (struct fetch_url){ .port = 9400 };
	snprintf(url->text, sizeof(url->text), "%s", text);
	return sscanf(text, "http://%255[^:/]", url->host) == 1 ? 0 : -1;
}

void fetch_cancel(struct fetch_job *job)
{
	loop_timer_free(job->timer);
	free(job);
}

static void answer_cb(void *arg)
{
	struct fetch_job *job = arg;
	const char *text = world->texts[job->host], *error = text ? NULL : "timed out";
	size_t left = text ? strlen(text) : 0;

	while (left && !error) { /* in pieces, as a socket has them */
		size_t len = left < 8192 ? left : 8192;

		error = job->ops->data(job->arg, text, len);
		text += len;
		left -= len;
	}
	job->ops->done(job->arg, error, "");
	fetch_cancel(job);
}

struct fetch_job *fetch_get(struct fetch *fetch, const struct fetch_url *url, const char *address,
			    const struct fetch_ops *ops, void *arg)
{
	struct fetch_job *job = mem_alloc(1, sizeof(*job));

	*job = (struct fetch_job){ loop_timer_new(world->loop, answer_cb, job), ops, arg,
				   (unsigned)atoi(url->host + strlen("box-")) };
	loop_timer_set(job->timer, world->texts[job->host] ? ANSWER_US : 5 * NVLINK_S);
	return job;
}

/* ---- Kernel logs ----------------------------------------------------------------------------- */

struct log_intake *log_intake_new(struct source_home *home)
{
	world->home = home;
	return NULL;
}

json_t *log_intake_json(const struct log_intake *intake)
{
	return json_null();
}

json_t *log_intake_senders(const struct log_intake *intake)
{
	return json_array();
}

/* They stand in place of the library's: AddressSanitizer takes that for a mistake. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "detect_odr_violation=0";
}

const struct source_ops source_journal = { .name = "journal" };
const struct source_ops source_socket = { .name = "log socket" };

bool nvlink_world_log(struct nvlink_world *w, unsigned host, const char *line)
{
	char *text = mem_printf("<3>Nov 21 01:02:03 %s kernel: %s", w->names[host], line);
	struct syslog_message m;
	struct sxid_event event;
	bool understood;

	assert_true(syslog_read(text, strlen(text), &m));
	understood = sxid_read(m.text, m.len, &event);
	if (understood) {
		health_hear_log(w->home->health, health_find(w->home->health, m.host), &event,
				loop_now_us(w->loop));
		w->home->heard(w->home);
	}
	free(text);
	return understood;
}

/* ---- The hook -------------------------------------------------------------------------------- */

struct hook {
	hook_done_fn *fn;
	void *arg;
	bool held;
};

struct hook *hook_new(struct loop *loop, enum helper_program which, hook_done_fn *fn, void *arg)
{
	struct hook *hook = mem_alloc(1, sizeof(*hook));

	*hook = (struct hook){ fn, arg, false };
	return hook;
}

void hook_free(struct hook *hook)
{
	free(hook);
}

void hook_configure(struct hook *hook, const char *program, unsigned timeout_ms, bool short_nodes)
{
}

int hook_check(const char *key, const char *program, char *err, size_t err_size)
{
	return 0;
}

void hook_hold(struct hook *hook, bool held)
{
	hook->held = held;
}

void hook_run(struct hook *hook, const struct hook_call *from)
{
	struct nvlink_call *call = &world->calls[world->ncalls % NVLINK_CALLS];
	const struct {
		const char *name;
		char *to;
		size_t size;
	} parts[] = { { "FMD_ACTION", call->action, sizeof(call->action) },
		      { "FMD_GPU", call->gpu, sizeof(call->gpu) },
		      { "FMD_JOBS", call->jobs, sizeof(call->jobs) } };

	if (hook->held)
		return;
	world->ncalls++;
	*call = (struct nvlink_call){ .at_us = loop_now_us(world->loop) };
	snprintf(call->host, sizeof(call->host), "%s", from->host);
	snprintf(call->state, sizeof(call->state), "%s", from->state);
	snprintf(call->old_state, sizeof(call->old_state), "%s", from->old_state);
	for (unsigned i = 0; i < from->count; i++)
		for (unsigned k = 0; k < sizeof(parts) / sizeof(parts[0]); k++)
			if (!strcmp(from->more[i].name, parts[k].name))
				snprintf(parts[k].to, parts[k].size, "%s", from->more[i].value);
	hook->fn(hook->arg, from->host, world->hook_fails ? "exit status 1" : NULL);
}

/* The state that its program knows, where the newest call failed. */
const char *hook_owed(const struct hook *hook, const char *host)
{
	const struct nvlink_call *call = NULL;

	for (unsigned i = 0; i < world->nhosts && !call; i++)
		if (!strcmp(world->names[i], host))
			call = nvlink_world_call(world, i);
	return world->hook_fails && call ? call->old_state : NULL;
}

const char *hook_failing(const struct hook *hook, unsigned n)
{
	return NULL;
}

/* ---- The world ------------------------------------------------------------------------------- */

static void changed_cb(void *arg, const char *host, enum nvswitch_state state)
{
}

static void keep_cb(void *arg, bool memories)
{
}

static void states_changed_cb(void *arg)
{
}

static const struct nvswitch_ops ops = { changed_cb, keep_cb, states_changed_cb };

static void begin(struct nvlink_world *w)
{
	const char *names[NVLINK_HOSTS];
	char err[512] = "";

	for (unsigned i = 0; i < w->nhosts; i++)
		names[i] = w->names[i];
	nvswitch_present(w->nv, names, w->nhosts);
	if (nvswitch_configure(w->nv, &w->conf, 0, err))
		fail_msg("%s", err);
	assert_null(trouble_error(w->alerts, "nvswitch: exporters"));
}

static void stop_cb(void *arg)
{
	loop_stop(((struct nvlink_world *)arg)->loop);
}

void nvlink_world_init(struct nvlink_world *w, unsigned nhosts, bool exporters)
{
	struct conf conf;

	conf_default(&conf);
	*w = (struct nvlink_world){ .loop = loop_new_simulated(), .nhosts = nhosts };
	world = w;
	for (unsigned i = 0; i < nhosts; i++)
		snprintf(w->names[i], sizeof(w->names[i]), "box-%02u", i);
	strcpy(conf.nvswitch.hook, "/hook");
	if (exporters)
		strcpy(conf.nvswitch.url, "http://%h:9400/metrics");
	w->conf = conf.nvswitch;
	w->stop = loop_timer_new(w->loop, stop_cb, w);
	w->events = event_log_new(64);
	w->alerts = alerts_new(w->loop, w->events);
	w->nv = nvswitch_new(w->loop, w->alerts, w->events, &ops, w);
	begin(w);
}

void nvlink_world_fini(struct nvlink_world *w)
{
	nvswitch_free(w->nv);
	alerts_free(w->alerts);
	event_log_free(w->events);
	loop_timer_free(w->stop);
	loop_free(w->loop);
	world = NULL;
}

void nvlink_world_pass(struct nvlink_world *w, uint64_t us)
{
	loop_timer_set(w->stop, us);
	loop_run(w->loop);
}

/* What the one keeps of that kind, the other takes. */
static void pass_on(const struct state_kind *kind, const struct nvswitch *from, struct nvswitch *to)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(kind->write(from, 0, out), 0);
	fclose(out);
	assert_int_equal(rows_give(text, kind->line, to), 0);
	free(text);
}

void nvlink_world_restart(struct nvlink_world *w)
{
	struct nvswitch *before = w->nv;

	w->nv = nvswitch_new(w->loop, w->alerts, w->events, &ops, w);
	pass_on(&nvswitch_states_kind, before, w->nv);
	pass_on(&nvswitch_memory_kind, before, w->nv);
	nvswitch_free(before);
	begin(w);
}

json_t *nvlink_world_row(const struct nvlink_world *w, unsigned host)
{
	json_t *doc = nvswitch_json(w->nv), *row, *found = NULL;
	size_t index;

	json_array_foreach (json_object_get(doc, "hosts"), index, row)
		if (!strcmp(json_string_value(json_object_get(row, "host")), w->names[host]))
			found = json_incref(row);
	json_decref(doc);
	assert_non_null(found);
	return found;
}

const struct nvlink_call *nvlink_world_call(const struct nvlink_world *w, unsigned host)
{
	for (unsigned i = w->ncalls; i-- > 0;)
		if (!strcmp(w->calls[i].host, w->names[host]))
			return &w->calls[i];
	return NULL;
}
