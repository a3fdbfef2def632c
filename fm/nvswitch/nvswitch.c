/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch: the monitor (see nvswitch.h).
 *
 *   exporters -> evidence --.
 *                            health -> state of a host -> events, hook
 *   kernel logs -> sxid ----'       -> routed           -> reroute
 *
 * What is heard is put into health at once, and a step brings everything up to date STEP_US later: a thousand answers or lines in
 * that time are one step. A step that changes many hosts alike is one event; the hook is told of each.
 *
 * Names that the fabric does not know are counted and never kept, so a forger makes a number grow and nothing else.
 */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/nvswitch/nvswitch_own.h"
#include "topology/mem.h"
#include "topology/text.h"

#define STEP_US	     2000
#define CONNECT_MS   1000
#define EVENTS_ALIKE 8 /* more at once are told in one */
#define HOSTS_MAX                                                                                  \
	65536 /* that were ever met: whoever writes node descriptions has no more of our memory */
#define NAMES_TOLD	 5
#define REPORT_TTL_MAX_S 86400

/* ---- Events and the hook ------------------------------------------------------------------------- */

/* The first that is heard of a host, and it is well: that is no news. */
static bool is_news(const struct health_host *host, enum nvswitch_state before)
{
	return before != NVSWITCH_UNKNOWN || host->state != NVSWITCH_HEALTHY || host->announced;
}

static void changed_cb(void *arg, const struct health_host *host, enum nvswitch_state before)
{
	struct nvswitch *nv = arg;
	struct health_host *mine = &nv->health.hosts[host - nv->health.hosts];

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
			 "nvswitch: %u hosts look bad at once: the sources are suspect, nothing is "
			 "changed",
			 bad);
	else
		snprintf(text, sizeof(text),
			 "nvswitch: %u hosts look bad: sources are believed again", bad);
	nv->ops->event(nv->arg, on ? LOG_ERR : LOG_NOTICE, "nvswitch-guard",
		       json_pack("{sb si}", "guarded", on, "bad", (int)bad), text);
}

static enum log_level level_of(enum nvswitch_state state)
{
	return state == NVSWITCH_HEALTHY ? LOG_NOTICE : LOG_WARNING;
}

static void tell_one(struct nvswitch *nv, const struct change *change)
{
	const struct health_host *host = &nv->health.hosts[change->host];
	const char *reason = health_reason(host);
	char text[400];

	snprintf(text, sizeof(text), "nvswitch: %s: %s, was %s%s%s", host->name,
		 nvswitch_state_name(host->state), nvswitch_state_name(change->before),
		 *reason ? ": " : "", reason);
	nv->ops->event(nv->arg, level_of(host->state), "nvswitch",
		       json_pack("{ss ss ss ss}", "host", host->name, "state",
				 nvswitch_state_name(host->state), "before",
				 nvswitch_state_name(change->before), "reason", reason),
		       text);
}

static void tell_many(struct nvswitch *nv, enum nvswitch_state state, unsigned count)
{
	json_t *names = json_array();
	char text[400];
	size_t used = (size_t)snprintf(text, sizeof(text), "nvswitch: %u hosts: %s:", count,
				       nvswitch_state_name(state));

	for (unsigned i = 0; i < nv->nchanges; i++) {
		const struct health_host *host = &nv->health.hosts[nv->changes[i].host];

		if (host->state != state)
			continue;
		if (json_array_size(names) < NAMES_TOLD && used < sizeof(text))
			used += (size_t)snprintf(text + used, sizeof(text) - used, " %s",
						 host->name);
		json_array_append_new(names, json_string(host->name));
	}
	if (used < sizeof(text))
		snprintf(text + used, sizeof(text) - used, " ..");
	nv->ops->event(nv->arg, level_of(state), "nvswitch",
		       json_pack("{so ss}", "hosts", names, "state", nvswitch_state_name(state)),
		       text);
}

static void tell_changes_to(struct nvswitch *nv, enum nvswitch_state state)
{
	unsigned count = 0;

	for (unsigned i = 0; i < nv->nchanges; i++)
		count += nv->health.hosts[nv->changes[i].host].state == state;
	if (count > EVENTS_ALIKE) {
		tell_many(nv, state, count);
		return;
	}
	for (unsigned i = 0; i < nv->nchanges && count; i++)
		if (nv->health.hosts[nv->changes[i].host].state == state)
			tell_one(nv, &nv->changes[i]);
}

/* NCCL does not start where two GPUs with an NVLink between them have no P2P; with links down it is slow. */
static const char *jobs_run(enum nvswitch_state state)
{
	if (state == NVSWITCH_UNKNOWN)
		return "unknown";
	return state <= NVSWITCH_DEGRADED_LINK ? "yes" : "no";
}

static void run_hook(struct nvswitch *nv, const struct change *change)
{
	const struct health_host *host = &nv->health.hosts[change->host];
	const struct nvswitch_finding *worst = health_worst(host);
	char gpu[16] = "", *evidence = nvswitch_evidence_text(nv, host);
	const struct hook_call call = {
		.host = host->name,
		.state = nvswitch_state_name(host->state),
		.old_state = nvswitch_state_name(change->before),
		.reason = health_reason(host),
		.system = nvswitch_host_system(host),
		.gpu = gpu,
		.pci = worst ? worst->pci : "",
		.action = nvswitch_remedy_name(worst ? (enum nvswitch_remedy)worst->remedy
						     : NVSWITCH_REMEDY_NONE),
		.jobs = jobs_run(host->state),
		.evidence = evidence,
	};

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
	snprintf(text, sizeof(text), "nvswitch: hook %s for %s: %s", nv->conf.hook, host, error);
	nv->ops->event(nv->arg, LOG_WARNING, "nvswitch-hook", json_pack("{ss}", "host", host),
		       text);
}

/* ---- Steps --------------------------------------------------------------------------------------- */

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
	next_us = health_step(&nv->health, loop_now_us(nv->loop), &reroute);
	if (next_us != UINT64_MAX)
		loop_timer_set(nv->step_timer, next_us);
	changed = nv->nchanges > 0;
	for (int state = 0; state < NVSWITCH_STATES && changed; state++)
		tell_changes_to(nv, (enum nvswitch_state)state);
	for (unsigned i = 0; i < nv->nchanges; i++)
		run_hook(nv, &nv->changes[i]);
	nv->nchanges = 0;
	if (take_memory_changes(nv))
		nv->ops->remember(nv->arg);
	if (!reroute)
		return;
	nv->ops->keep(nv->arg);
	nv->ops->reroute(nv->arg);
}

static void step_cb(void *arg)
{
	step(arg);
}

void nvswitch_step_soon(struct nvswitch *nv)
{
	if (nv->soon)
		return;
	nv->soon = true;
	loop_timer_set(nv->step_timer, STEP_US);
}

/* ---- Hosts --------------------------------------------------------------------------------------- */

static bool same_names(const struct nvswitch *nv, const char *const *names, unsigned count)
{
	if (count != nv->npresent)
		return false;
	for (unsigned i = 0; i < count; i++)
		if (strcmp(names[i], nv->present[i]))
			return false;
	return true;
}

static void free_present(struct nvswitch *nv)
{
	for (unsigned i = 0; i < nv->npresent; i++)
		free(nv->present[i]);
	free(nv->present);
}

static void take_names(struct nvswitch *nv, const char *const *names, unsigned count)
{
	free_present(nv);
	nv->present = mem_alloc(count + 1, sizeof(*nv->present));
	nv->npresent = count;
	for (unsigned i = 0; i < nv->health.nhosts; i++)
		nv->health.hosts[i].present = false;
	for (unsigned i = 0; i < count; i++) {
		unsigned host;

		nv->present[i] = mem_strdup(names[i]);
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
	nvswitch_retarget(nv);
	nvswitch_step_soon(nv);
}

enum nvswitch_state nvswitch_routed(const struct nvswitch *nv, const char *name)
{
	unsigned host = health_find(&nv->health, name);

	return host == UINT_MAX ? NVSWITCH_HEALTHY : nv->health.hosts[host].routed;
}

bool nvswitch_has_ill(const struct nvswitch *nv)
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
		snprintf(err, err_size, "no host %s in the fabric, or several", name);
		return -1;
	}
	health_override(&nv->health, host, state);
	step(nv);
	nv->ops->keep(nv->arg);
	return 0;
}

static bool is_source_name(const char *name)
{
	size_t len =
		strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-");

	return len && !name[len] && len < sizeof(((struct memory_report *)0)->source);
}

/* Made safe to show, and cut between two characters. */
static void take_reason(struct memory_report *kept, const char *reason)
{
	size_t len = strlen(reason);

	if (len >= sizeof(kept->text)) {
		len = sizeof(kept->text) - 1;
		while (len && ((unsigned char)reason[len] & 0xc0) == 0x80)
			len--;
	}
	text_clean(reason, len, kept->text);
}

int nvswitch_hear_report(struct nvswitch *nv, const struct nvswitch_said *report, char *err,
			 size_t err_size)
{
	unsigned host = health_find(&nv->health, report->host);
	int state = nvswitch_state_parse(report->state);
	struct memory_report kept = { .state = (uint8_t)state };
	bool heard = false;

	if (!is_source_name(report->source))
		snprintf(err, err_size,
			 "a source is a word of up to %zu letters, digits, '.', '_' and '-'",
			 sizeof(kept.source) - 1);
	else if (host == UINT_MAX)
		snprintf(err, err_size, "no host %s in the fabric, or several", report->host);
	else if (state < 0)
		snprintf(err, err_size,
			 "no state %s: HEALTHY, DEGRADED_LINK, NO_P2P, FATAL or UNKNOWN",
			 report->state);
	else if (!*report->reason && state > NVSWITCH_HEALTHY)
		snprintf(err, err_size, "a reason is expected");
	else if (!(report->ttl_s >= 1 && report->ttl_s <= REPORT_TTL_MAX_S))
		snprintf(err, err_size, "the TTL is outside 1..%d s", REPORT_TTL_MAX_S);
	else {
		snprintf(kept.source, sizeof(kept.source), "%s", report->source);
		kept.ttl_s = (uint32_t)report->ttl_s;
		take_reason(&kept, report->reason);
		heard = health_report(&nv->health, host, &kept, loop_now_us(nv->loop));
		if (!heard)
			snprintf(err, err_size, "%s: %d sources report of it already", report->host,
				 MEMORY_REPORTS);
	}
	if (heard)
		nvswitch_step_soon(nv);
	return heard ? 0 : -1;
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
	nv->health.hosts[host].told = (enum nvswitch_state)nv->health.hosts[host].memory->told;
	memory_date(nv->health.hosts[host].memory, loop_now_us(nv->loop));
	health_report_recall(&nv->health, host);
	return true;
}

void nvswitch_memory_forget(struct nvswitch *nv)
{
	for (unsigned i = 0; i < nv->health.nhosts; i++) {
		free(nv->health.hosts[i].memory);
		nv->health.hosts[i].memory = NULL;
	}
}

/* ---- Life ---------------------------------------------------------------------------------------- */

struct nvswitch *nvswitch_new(struct loop *loop, const struct nvswitch_ops *ops, void *arg)
{
	static const struct health_ops health_ops = { changed_cb, guard_cb };
	struct nvswitch *nv = mem_alloc(1, sizeof(*nv));

	nv->loop = loop;
	nv->ops = ops;
	nv->arg = arg;
	health_init(&nv->health, &health_ops, nv);
	nv->hook = hook_new(loop, hook_done_cb, nv);
	nv->step_timer = loop_timer_new(loop, step_cb, nv);
	if (gethostname(nv->own_name, sizeof(nv->own_name) - 1))
		*nv->own_name = '\0';
	return nv;
}

void nvswitch_free(struct nvswitch *nv)
{
	if (!nv)
		return;
	nvswitch_inputs_fini(nv);
	nvswitch_senders_fini(nv);
	loop_timer_free(nv->step_timer);
	hook_free(nv->hook);
	health_fini(&nv->health);
	free_present(nv);
	free(nv->changes);
	free(nv);
}
