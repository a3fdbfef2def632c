/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch: the monitor (see nvswitch.h).
 *
 *   exporters, kernel logs, reports (sources.h) -> health -> state of a host -> events, hook
 *                                                         -> routed          -> reroute
 *
 * What a source hears goes into health at once, and a step brings all hosts up to date STEP_US
 * later: a thousand answers or lines in that time are one step. A step that changes many hosts
 * alike is one event; the hook runs for each.
 *
 * Names that the fabric does not know are counted and never kept, so a forger makes a number grow
 * and nothing else.
 */
#include <limits.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/core/words.h"
#include "fm/nvswitch/nvswitch_own.h"
#include "topology/mem.h"
#include "topology/text.h"

#define STEP_US	     2000
#define EVENTS_ALIKE 8 /* more at once are one event */
#define HOSTS_MAX                                                                                  \
	65536 /* that were ever met: whoever writes node descriptions has no more of our memory */
#define NAMES_SHOWN 5

/* ---- Events and the hook --------------------------------------------------------------------- */

/* The first that is heard of a host, and it is well: that is no news. */
static bool is_news(const struct health_host *host, enum nvswitch_state before)
{
	return before != NVSWITCH_UNKNOWN || host->state != NVSWITCH_HEALTHY || host->announced;
}

static void changed_cb(void *arg, const struct health_host *host, enum nvswitch_state before)
{
	struct nvswitch *nv = arg;
	struct health_host *mine = &nv->health.hosts[host - nv->health.hosts];

	nv->states_changed = true;
	if (!is_news(host, before))
		return;
	mine->announced = true;
	nv->changes = mem_resize(nv->changes, nv->nchanges + 1, sizeof(*nv->changes));
	nv->changes[nv->nchanges++] =
		(struct change){ (unsigned)(host - nv->health.hosts), before };
}

static void guard_cb(void *arg, bool on, unsigned bad)
{
	struct nvswitch *nv = arg;
	char text[160];

	if (on)
		snprintf(text, sizeof(text),
			 "nvswitch: %u hosts look unhealthy at once: the sources are suspect, so "
			 "routing is not changed",
			 bad);
	else
		snprintf(text, sizeof(text), "nvswitch: %u %s unhealthy: sources are trusted again",
			 bad, words_plural(bad, "host looks", "hosts look"));
	nv->home.ops->event(nv->home.arg, on ? LOG_ERR : LOG_NOTICE, "nvswitch-guard",
			    json_pack("{sb si}", "guarded", on, "bad", (int)bad), text);
}

static enum log_level level_of(enum nvswitch_state state)
{
	return state == NVSWITCH_HEALTHY ? LOG_NOTICE : LOG_WARNING;
}

static void report_one(struct nvswitch *nv, const struct change *change)
{
	const struct health_host *host = &nv->health.hosts[change->host];
	const char *reason = health_reason(host);
	char text[400];

	snprintf(text, sizeof(text), "nvswitch: %s: %s, was %s%s%s", host->name,
		 nvswitch_state_name(host->state), nvswitch_state_name(change->before),
		 *reason ? ": " : "", reason);
	nv->home.ops->event(nv->home.arg, level_of(host->state), "nvswitch",
			    json_pack("{ss ss ss ss}", "host", host->name, "state",
				      nvswitch_state_name(host->state), "before",
				      nvswitch_state_name(change->before), "reason", reason),
			    text);
}

static void report_many(struct nvswitch *nv, enum nvswitch_state state, unsigned count)
{
	json_t *names = json_array();
	char text[400];
	size_t used = (size_t)snprintf(text, sizeof(text), "nvswitch: %u hosts: %s:", count,
				       nvswitch_state_name(state));

	for (unsigned i = 0; i < nv->nchanges; i++) {
		const struct health_host *host = &nv->health.hosts[nv->changes[i].host];

		if (host->state != state)
			continue;
		if (json_array_size(names) < NAMES_SHOWN && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, " %s",
						 host->name);
		json_array_append_new(names, json_string(host->name));
	}
	if (used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, " ..");
	nv->home.ops->event(
		nv->home.arg, level_of(state), "nvswitch",
		json_pack("{so ss}", "hosts", names, "state", nvswitch_state_name(state)), text);
}

static void report_changes_to(struct nvswitch *nv, enum nvswitch_state state)
{
	unsigned count = 0;

	for (unsigned i = 0; i < nv->nchanges; i++)
		count += nv->health.hosts[nv->changes[i].host].state == state;
	if (count > EVENTS_ALIKE) {
		report_many(nv, state, count);
		return;
	}
	for (unsigned i = 0; i < nv->nchanges && count; i++)
		if (nv->health.hosts[nv->changes[i].host].state == state)
			report_one(nv, &nv->changes[i]);
}

/*
 * NCCL does not start where two GPUs with an NVLink between them have no P2P; with links down it is
 * slow.
 */
static const char *jobs_run(enum nvswitch_state state)
{
	if (state == NVSWITCH_UNKNOWN)
		return "unknown";
	return state <= NVSWITCH_DEGRADED_LINK ? "yes" : "no";
}

/*
 * Beside what every hook gets (fm/core/hook.h):
 *   FMD_REASON FMD_SYSTEM
 *   FMD_GPU FMD_PCI     the GPU that the reason is about: its index, its PCI address; empty where
 *                       it is about none, or that is not known
 *   FMD_ACTION          what mends it: "none", "restart job", "reset GPU", "reboot", "contact
 *                       support"
 *   FMD_JOBS            whether jobs of several GPUs can still run: "yes", "no", "unknown"
 *   FMD_EVIDENCE        all that is known, a line a finding: STATE: words (source)
 */
static void run_hook(struct nvswitch *nv, const struct change *change)
{
	const struct health_host *host = &nv->health.hosts[change->host];
	const struct nvswitch_finding *worst = health_worst(host);
	char gpu[16] = "", *evidence = nvswitch_evidence_text(nv, host);
	enum nvswitch_remedy remedy =
		worst ? (enum nvswitch_remedy)worst->remedy : NVSWITCH_REMEDY_NONE;
	const struct hook_variable more[] = {
		{ "FMD_REASON", health_reason(host) },
		{ "FMD_SYSTEM", nvswitch_host_system(host) },
		{ "FMD_GPU", gpu },
		{ "FMD_PCI", worst ? worst->pci : "" },
		{ "FMD_ACTION", nvswitch_remedy_name(remedy) },
		{ "FMD_JOBS", jobs_run(host->state) },
		{ "FMD_EVIDENCE", evidence },
	};
	const struct hook_call call = { .host = host->name,
					.state = nvswitch_state_name(host->state),
					.old_state = nvswitch_state_name(change->before),
					.more = more,
					.count = sizeof(more) / sizeof(more[0]) };

	if (worst && worst->gpu >= 0)
		snprintf(gpu, sizeof(gpu), "%d", worst->gpu);
	hook_run(nv->hook, &call);
	free(evidence);
}

static void hook_done_cb(void *arg, const char *host, const char *error)
{
	struct nvswitch *nv = arg;
	char text[400];

	if (!error)
		return;
	snprintf(text, sizeof(text), "nvswitch: hook %s for %s: %s", nv->conf.keys.hook, host,
		 error);
	nv->home.ops->event(nv->home.arg, LOG_WARNING, "nvswitch-hook",
			    json_pack("{ss}", "host", host), text);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static bool take_memory_changes(struct nvswitch *nv)
{
	bool any = false;

	for (unsigned i = 0; i < nv->health.nhosts; i++) {
		struct memory *memory = nv->health.hosts[i].memory;

		if (memory && memory->changed) {
			any = true;
			memory->changed = false;
		}
	}
	return any;
}

static void step(struct nvswitch *nv)
{
	bool reroute, changed;
	uint64_t next_us;

	nv->soon = false;
	next_us = health_step(&nv->health, loop_now_us(nv->home.loop), &reroute);
	if (next_us != UINT64_MAX)
		loop_timer_set(nv->step_timer, next_us);
	changed = nv->nchanges > 0;
	for (int state = 0; state < NVSWITCH_STATES && changed; state++)
		report_changes_to(nv, (enum nvswitch_state)state);
	for (unsigned i = 0; i < nv->nchanges; i++)
		run_hook(nv, &nv->changes[i]);
	nv->nchanges = 0;
	if (take_memory_changes(nv))
		nv->home.ops->remember(nv->home.arg);
	if (nv->states_changed && nv->home.ops->states_changed)
		nv->home.ops->states_changed(nv->home.arg);
	nv->states_changed = false;
	if (!reroute)
		return;
	nv->home.ops->keep(nv->home.arg);
	nv->home.ops->reroute(nv->home.arg);
}

static void step_cb(void *arg)
{
	step(arg);
}

static void step_soon(struct nvswitch *nv)
{
	if (nv->soon)
		return;
	nv->soon = true;
	loop_timer_set(nv->step_timer, STEP_US);
}

static void heard_cb(struct source_home *home)
{
	step_soon((struct nvswitch *)home);
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

static bool same_names(const struct nvswitch *nv, const char *const *names, unsigned count)
{
	if (count != nv->home.npresent)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (strcmp(names[i], nv->home.present[i]))
			return false;
	return true;
}

static void free_present(struct nvswitch *nv)
{
	for (unsigned i = 0; i < nv->home.npresent; i++)
		free(nv->home.present[i]);
	free(nv->home.present);
}

static void take_names(struct nvswitch *nv, const char *const *names, unsigned count)
{
	free_present(nv);
	nv->home.present = mem_alloc(count + 1, sizeof(*nv->home.present));
	nv->home.npresent = count;
	for (unsigned i = 0; i < nv->health.nhosts; i++)
		nv->health.hosts[i].present = false;
	for (unsigned i = 0; i < count; i++) {
		unsigned host;

		nv->home.present[i] = mem_strdup(names[i]);
		if (!text_is_host_name(names[i]) || nv->health.nhosts >= HOSTS_MAX)
			continue;
		host = health_add(&nv->health, names[i]);
		nv->health.hosts[host].present = true;
	}
}

void nvswitch_present(struct nvswitch *nv, const char *const *names, unsigned count)
{
	if (same_names(nv, names, count))
		return;
	take_names(nv, names, count);
	if (nv->home.conf)
		sources_hosts_changed(nv->sources);
	nv->states_changed = true;
	step_soon(nv);
}

enum nvswitch_state nvswitch_routed(const struct nvswitch *nv, const char *name)
{
	unsigned host = health_find(&nv->health, name);

	return host == UINT_MAX ? NVSWITCH_HEALTHY : nv->health.hosts[host].routed;
}

struct nvswitch_known nvswitch_known(const struct nvswitch *nv, const char *name)
{
	unsigned index = health_find(&nv->health, name);
	const struct health_host *host = index == UINT_MAX ? NULL : &nv->health.hosts[index];

	if (!host)
		return (struct nvswitch_known){ .state = NVSWITCH_UNKNOWN, .reason = "" };
	return (struct nvswitch_known){ .state = host->state,
					.watched =
						host->nsources || host->state != NVSWITCH_UNKNOWN,
					.reason = health_reason(host) };
}

bool nvswitch_has_degraded(const struct nvswitch *nv)
{
	for (unsigned i = 0; i < nv->health.nhosts; i++)
		if (nv->health.hosts[i].routed != NVSWITCH_HEALTHY)
			return true;
	return false;
}

int nvswitch_set(struct nvswitch *nv, const char *name, enum nvswitch_state state, char *err,
		 size_t err_size)
{
	unsigned host = health_find(&nv->health, name);

	if (host == UINT_MAX) {
		snprintf(err, err_size, "the fabric has no host %s, or several", name);
		return -1;
	}
	health_override(&nv->health, host, state);
	step(nv);
	nv->home.ops->keep(nv->home.arg);
	return 0;
}

int nvswitch_hear_report(struct nvswitch *nv, const struct nvswitch_said *report, char *err,
			 size_t err_size)
{
	return source_report_hear(&nv->home, report, err, err_size);
}

void nvswitch_each(const struct nvswitch *nv, nvswitch_each_fn *fn, void *arg)
{
	for (unsigned i = 0; i < nv->health.nhosts; i++) {
		const struct health_host *host = &nv->health.hosts[i];

		if (host->believed != NVSWITCH_HEALTHY || host->override != NVSWITCH_UNKNOWN)
			fn(arg, host->name, host->believed, host->override);
	}
}

void nvswitch_remember(struct nvswitch *nv, const char *name, enum nvswitch_state believed,
		       enum nvswitch_state override)
{
	unsigned host = health_add(&nv->health, name);

	health_remember(&nv->health, host, believed, override);
	nv->health.hosts[host].announced = true;
}

void nvswitch_memory_write(const struct nvswitch *nv, FILE *out)
{
	fputs("version 1\n", out);
	for (unsigned i = 0; i < nv->health.nhosts; i++)
		if (nv->health.hosts[i].memory)
			memory_write(nv->health.hosts[i].memory, nv->health.hosts[i].name, out);
}

bool nvswitch_memory_read(struct nvswitch *nv, const char *line)
{
	char kind[16], name[256];
	int used = 0;
	unsigned host;

	if (sscanf(line, "%15s %255s %n", kind, name, &used) < 2)
		return false;
	if (!strcmp(kind, "version"))
		return true; /* kinds and words that a version does not know are passed over */
	if (!text_is_host_name(name) || nv->health.nhosts >= HOSTS_MAX)
		return false;
	host = health_add(&nv->health, name);
	if (!memory_read(health_memory(&nv->health, host), kind, line + used))
		return false;
	nv->health.hosts[host].sources_state =
		(enum nvswitch_state)nv->health.hosts[host].memory->sources_state;
	memory_date(nv->health.hosts[host].memory, loop_now_us(nv->home.loop));
	sources_recall(nv->sources, host);
	return true;
}

void nvswitch_memory_forget(struct nvswitch *nv)
{
	for (unsigned i = 0; i < nv->health.nhosts; i++) {
		free(nv->health.hosts[i].memory);
		nv->health.hosts[i].memory = NULL;
	}
}

/* ---- Configuration --------------------------------------------------------------------------- */

static void take_conf(struct nvswitch *nv, const struct nvswitch_conf *conf)
{
	char err[256];

	nv->conf = *conf;
	nv->home.conf = &nv->conf;
	nv->health.conf = conf->health;
	senders_allow(log_intake_senders(nv->intake), conf->keys.syslog_allow, err, sizeof(err));
	hook_configure(nv->hook, conf->keys.hook, conf->hook_timeout_ms);
}

/* senders_allow() without what follows from it. */
static bool allow_is_good(const char *list, char *err, size_t err_size)
{
	struct senders trial = { 0 };
	bool good = senders_allow(&trial, list, err, err_size);

	senders_fini(&trial);
	return good;
}

int nvswitch_configure(struct nvswitch *nv, const struct nvswitch_conf *conf, char *err,
		       size_t err_size)
{
	struct sources_opened *opened;

	if (!allow_is_good(conf->keys.syslog_allow, err, err_size))
		return -1;
	opened = sources_open(nv->sources, conf, err, err_size);
	if (!opened)
		return -1;
	take_conf(nv, conf);
	sources_take(nv->sources, opened);
	nv->states_changed = true;
	step_soon(nv);
	return 0;
}

int nvswitch_check(const struct nvswitch_conf *conf, char *err, size_t err_size)
{
	char why[128];

	if (sources_check(conf, err, err_size))
		return -1;
	if (!allow_is_good(conf->keys.syslog_allow, why, sizeof(why))) {
		snprintf(err, err_size, "syslog_allow: %s", why);
		return -1;
	}
	return hook_check("nvswitch_hook", conf->keys.hook, err, err_size);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct nvswitch *nvswitch_new(struct loop *loop, const struct nvswitch_ops *ops, void *arg)
{
	static const struct health_ops health_ops = { changed_cb, guard_cb };
	struct nvswitch *nv = mem_alloc(1, sizeof(*nv));

	nv->home = (struct source_home){
		.loop = loop, .ops = ops, .arg = arg, .health = &nv->health, .heard = heard_cb
	};
	nv->home.intake = nv->intake = log_intake_new(&nv->home);
	nv->sources = sources_new(&nv->home);
	health_init(&nv->health, &health_ops, nv);
	nv->hook = hook_new(loop, HELPER_NVSWITCH_HOOK, hook_done_cb, nv);
	nv->step_timer = loop_timer_new(loop, step_cb, nv);
	return nv;
}

void nvswitch_free(struct nvswitch *nv)
{
	if (!nv)
		return;
	sources_free(nv->sources);
	log_intake_free(nv->intake);
	loop_timer_free(nv->step_timer);
	hook_free(nv->hook);
	health_fini(&nv->health);
	free_present(nv);
	free(nv->changes);
	free(nv);
}
