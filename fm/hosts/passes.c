/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * passes: finds hosts whose verdict has changed. After a change, a publication or a finding of a
 * room, all hosts are judged again GATHER_US later, some in each callback, so that no fault waits
 * for it and no callback is long. At the end of a pass the changes that are due are reported by an
 * event and the operators' hook. The verdicts reported last are in state_dir/hosts, `HOST VERDICT`
 * for hosts that are not healthy, so that a restart repeats no report and misses none.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/host.h"
#include "fm/fabric/view.h"
#include "fm/hosts/room.h"
#include "topology/mem.h"

#define GATHER_US	500000
#define HOSTS_A_SLICE	256
#define REPORTS_A_SLICE 64
#define ALIKE_MAX	8 /* more hosts that change alike at once are one event */
#define NAMES_REPORTED	5 /* in its text */

/* ---- state_dir/hosts ------------------------------------------------------------------------- */

static unsigned read_reported(void *arg, FILE *in)
{
	struct hosts_room *r = arg;
	char line[512], host[256], word[32], rest;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		int state;

		if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
			continue;
		if (sscanf(line, "%31s %255[^\n]%c", word, host, &rest) < 2)
			return number;
		state = host_state_parse(word);
		if (state < 0)
			return number;
		watch_recall(&r->watch, host, (enum host_state)state);
	}
	return 0;
}

static void forget_reported(void *arg)
{
	struct hosts_room *r = arg;

	watch_fini(&r->watch);
	watch_init(&r->watch);
}

static void write_reported(const void *arg, FILE *out)
{
	const struct hosts_room *r = arg;

	for (unsigned i = 0; i < r->watch.count; i++) {
		const struct watched *it = &r->watch.list[i];

		if (it->reported != HOST_HEALTHY && it->reported != HOST_STATES)
			fprintf(out, "%s %s\n", host_state_name(it->reported), it->name);
	}
}

static const struct state_file reported_file = {
	.name = "hosts",
	.small = true,
	.form = "`VERDICT HOST`",
	.read = read_reported,
	.forget = forget_reported,
	.write = write_reported,
	.gather_us = 200000,
	.gather_max_us = 2000000,
};

void passes_load(struct hosts_room *r)
{
	state_store_read(r->services.state, &reported_file, r);
}

/* ---- Reports --------------------------------------------------------------------------------- */

static enum log_level level_of(enum host_state state)
{
	return state == HOST_HEALTHY ? LOG_NOTICE : LOG_WARNING;
}

static const char *word_of(enum host_state reported)
{
	return host_state_name(reported == HOST_STATES ? HOST_UNKNOWN : reported);
}

static char *reasons_text(const struct host_verdict *v)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	for (unsigned i = 0; out && i < v->count; i++)
		fprintf(out, "%s%s: %s", i ? "\n" : "", host_state_name(v->reasons[i].state),
			v->reasons[i].text);
	if (out)
		fclose(out);
	return text;
}

static void run_hook(struct hosts_room *r, const struct watched *it, enum host_state before,
		     const struct host_verdict *v)
{
	char *reasons = reasons_text(v), share[32];
	const struct hook_variable more[] = { { "FMD_REASON", host_verdict_reason(v) },
					      { "FMD_EVIDENCE", reasons ? reasons : "" },
					      { "FMD_HCAS", share } };
	const struct hook_call call = { .host = it->name,
					.state = host_state_name(it->reported),
					.old_state = word_of(before),
					.more = more,
					.count = sizeof(more) / sizeof(more[0]) };

	snprintf(share, sizeof(share), "%u/%u", v->hcas_up, v->hcas);
	hook_run(r->hook, &call);
	free(reasons);
}

static void log_one(const struct hosts_room *r, const struct watched *it, enum host_state before,
		    const struct host_verdict *v)
{
	const char *reason = host_verdict_reason(v);

	event_log_add(r->services.events, level_of(it->reported), "host",
		      json_pack("{ss ss ss ss}", "host", it->name, "verdict",
				host_state_name(it->reported), "before", word_of(before), "reason",
				reason),
		      "host %s: %s, was %s%s%s", it->name, host_state_name(it->reported),
		      word_of(before), *reason ? ": " : "", reason);
}

static void log_many(const struct hosts_room *r, enum host_state state, unsigned count)
{
	json_t *names = json_array();
	char text[400] = "";
	size_t used = 0;

	for (unsigned i = 0; i < r->watch.count; i++) {
		const struct watched *it = &r->watch.list[i];

		if (!it->due || it->now != state)
			continue;
		if (json_array_size(names) < NAMES_REPORTED && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, " %s", it->name);
		json_array_append_new(names, json_string(it->name));
	}
	event_log_add(r->services.events, level_of(state), "host",
		      json_pack("{so ss}", "hosts", names, "verdict", host_state_name(state)),
		      "%u hosts: %s:%s ..", count, host_state_name(state), text);
}

static unsigned count_due(const struct hosts_room *r, enum host_state state)
{
	unsigned count = 0;

	for (unsigned i = 0; i < r->watch.count; i++)
		count += r->watch.list[i].due && r->watch.list[i].now == state;
	return count;
}

/* The watch's list is in the order of the snapshot's hosts. */
static void report(struct hosts_room *r, uint32_t host)
{
	struct watched *it = &r->watch.list[host];
	struct host_verdict verdict;
	enum host_state before = watch_report(it);

	fabric_judge_host(r->fabric, host, &verdict);
	if (!r->logged[it->reported])
		log_one(r, it, before, &verdict);
	run_hook(r, it, before, &verdict);
}

/* Begins the reports; many hosts with the same change become one event. */
static void report_begin(struct hosts_room *r)
{
	r->reporting = true;
	r->next = 0;
	for (int state = 0; state < HOST_STATES; state++) {
		unsigned count = count_due(r, (enum host_state)state);

		r->logged[state] = count > ALIKE_MAX;
		if (r->logged[state])
			log_many(r, (enum host_state)state, count);
	}
}

/* False: there are more. */
static bool report_some(struct hosts_room *r)
{
	unsigned reports = 0;

	for (; r->next < r->watch.count && reports < REPORTS_A_SLICE; r->next++) {
		if (!r->watch.list[r->next].due)
			continue;
		report(r, r->next);
		reports++;
	}
	if (reports)
		state_store_changed(r->services.state, &reported_file, r);
	return r->next == r->watch.count;
}

static void warn_of_guard(struct hosts_room *r)
{
	if (r->watch.guarded)
		alert_raise(r->services.alerts, "hosts-guard", NULL,
			    "%u of %u hosts were cut off at once: their verdicts are not reported "
			    "and host_hook is not run for them",
			    r->watch.cut_off, r->watch.count);
	else
		alert_end(r->services.alerts, "hosts-guard", NULL);
}

/* ---- Passes ---------------------------------------------------------------------------------- */

static struct watch_conf watch_conf(const struct hosts_room *r)
{
	const struct conf *c = r->services.conf;

	return (struct watch_conf){
		.worsen_us = c->hosts.worsen_hold_ms * 1000ull,
		.recover_us = c->hosts.recover_hold_ms * 1000ull,
		.unknown_us = 3 * c->nvswitch.poll_interval_ms * 1000ull,
		.guard_percent = (unsigned)c->hosts.guard,
	};
}

static void sleep_until_due(struct hosts_room *r)
{
	if (r->again)
		loop_timer_set(r->timer, GATHER_US);
	else if (r->next_us != UINT64_MAX)
		loop_timer_set(r->timer, r->next_us);
}

static void pass_end(struct hosts_room *r)
{
	const struct watch_conf conf = watch_conf(r);

	r->passing = false;
	memcpy(r->counts, r->counting, sizeof(r->counts));
	r->next_us = watch_end(&r->watch, &conf, loop_now_us(r->services.loop));
	warn_of_guard(r);
	report_begin(r);
}

static void pass_begin(struct hosts_room *r)
{
	r->passing = true;
	r->again = false;
	r->next = 0;
	memset(r->counting, 0, sizeof(r->counting));
	watch_begin(&r->watch);
}

static void slice(struct hosts_room *r, const struct topo *t)
{
	uint32_t end = r->next + HOSTS_A_SLICE < t->nhosts ? r->next + HOSTS_A_SLICE : t->nhosts;
	struct host_verdict v;

	for (; r->next < end; r->next++) {
		fabric_judge_host(r->fabric, r->next, &v);
		r->counting[v.state]++;
		watch_take(&r->watch, t->hosts[r->next].name, v.state,
			   loop_now_us(r->services.loop));
	}
}

static void step(struct hosts_room *r, const struct topo *t)
{
	if (r->reporting) {
		r->reporting = !report_some(r);
	} else {
		if (!r->passing)
			pass_begin(r);
		slice(r, t);
		if (r->next == t->nhosts)
			pass_end(r);
	}
	if (r->passing || r->reporting)
		loop_timer_set(r->timer, 0);
	else
		sleep_until_due(r);
}

static void timer_cb(void *arg)
{
	struct hosts_room *r = arg;
	const struct topo *t = fabric_view(r->fabric).topo;

	if (t && r->settled && fabric_is_master(r->fabric))
		step(r, t);
	else
		r->again = false; /* settled() asks again */
}

void passes_request(struct hosts_room *r)
{
	if (r->again)
		return;
	r->again = true;
	if (!r->passing && !r->reporting)
		loop_timer_set(r->timer, GATHER_US);
}

void passes_restart(struct hosts_room *r)
{
	r->passing = r->reporting = false;
	r->again = true;
	loop_timer_set(r->timer, GATHER_US);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void hook_done(void *arg, const char *host, const char *error)
{
	const struct hosts_room *r = arg;

	if (error)
		event_log_add(r->services.events, LOG_WARNING, "host-hook",
			      json_pack("{ss}", "host", host), "hook %s for %s: %s",
			      r->services.conf->hosts.hook, host, error);
}

void passes_configure(struct hosts_room *r)
{
	const struct conf_hosts *c = &r->services.conf->hosts;

	hook_configure(r->hook, c->hook, (unsigned)c->hook_timeout_ms);
	passes_request(r);
}

void passes_init(struct hosts_room *r)
{
	r->hook = hook_new(r->services.loop, HELPER_HOST_HOOK, hook_done, r);
	r->timer = loop_timer_new(r->services.loop, timer_cb, r);
}

void passes_fini(struct hosts_room *r)
{
	loop_timer_free(r->timer);
	hook_free(r->hook);
	watch_fini(&r->watch);
}
