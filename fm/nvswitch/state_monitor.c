/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/conf/lists.h"
#include "fm/nvswitch/intake_sources.h"
#include "fm/nvswitch/module.h"
#include "fm/os/helper.h"
#include "topology/base/text.h"

/* ---- Documents ------------------------------------------------------------------------------- */

/*
 * What is known of hosts' NVLinks, as documents. Times are ages in seconds: the
 * loop's clock is nobody else's.
 */

#define EVIDENCE_TEXT 4096

static double age_s(const struct nvswitch *nv, uint64_t since_us)
{
	return (loop_now_us(nv->home.loop) - since_us) / 1e6;
}

enum nvswitch_state nvswitch_believed(const struct health_host *host)
{
	if (!host)
		return NVSWITCH_HEALTHY;
	return host->override != NVSWITCH_UNKNOWN ? host->override : host->believed;
}

/* The NVLink domain it is in; null = none was reported. */
static json_t *domain_json(const struct health_host *host)
{
	const struct memory *m = host->memory;

	if (!m || !*m->cluster)
		return json_null();
	return json_pack("{ss so}", "cluster_uuid", m->cluster, "clique",
			 m->clique ? json_integer((json_int_t)m->clique - 1) : json_null());
}

static unsigned sources_up(const struct health_host *host)
{
	unsigned up = 0;

	ARRAY_EACH (source, host->sources, host->nsources)
		up += source->up;
	return up;
}

/* The system that the sources report: the first that is known. */
static const char *system_of(const struct health_host *host)
{
	ARRAY_EACH (source, host->sources, host->nsources)
		if (source->verdict.system)
			return nvswitch_system_names[source->verdict.system];
	return "unknown";
}

json_t *nvswitch_summary(const struct nvswitch *nv)
{
	json_t *states = json_object(), *doc;
	const struct conf_nvswitch *conf = &nv->health.conf;
	unsigned counts[NVSWITCH_STATES] = { 0 }, up = 0, all = 0;

	ARRAY_EACH (host, nv->health.hosts, nv->health.nhosts) {
		counts[host->state]++;
		up += sources_up(host);
		all += host->nsources;
	}
	for (int i = 0; i < NVSWITCH_STATES; i++)
		json_object_set_new(states, nvswitch_states[i], json_integer(counts[i]));
	doc = json_pack("{so si si sb so?}", "states", states, "sources", all, "sources_up", up,
			"guarded", nv->health.guarded, "logs",
			*conf->log_socket || *conf->log_journal ? log_intake_json(nv->home.intake)
								: NULL);
	sources_add_inputs(nv->sources, doc);
	return doc;
}

/*
 * Hosts whose GPUs reach each other by NVLink: equal cluster UUID and clique (NVML's fabric info).
 * A domain's row is that of the first host in it.
 */
static json_t *domains_json(const struct nvswitch *nv)
{
	json_t *domains = json_array(), *by_name = json_object();

	ARRAY_EACH (host, nv->health.hosts, nv->health.nhosts) {
		char name[80], node[TEXT_NODE_NAME];

		if (!host->memory || !*host->memory->cluster)
			continue;
		array_printf(name, "%s %" PRIu64, host->memory->cluster, host->memory->clique);

		json_t *row = json_object_get(by_name, name);

		if (!row) {
			row = domain_json(host);
			json_put(row, "{s[] s[]}", "hosts", "nodes");
			json_array_append(domains, row);
			json_object_set_new(by_name, name, row);
		}
		text_node_name(host->name, nv->health.conf.short_node_names, node);
		json_array_append_new(json_object_get(row, "hosts"), json_string(host->name));
		json_array_append_new(json_object_get(row, "nodes"), json_string(node));
	}
	json_decref(by_name);
	return domains;
}

static json_t *host_json(const struct nvswitch *nv, const struct health_host *host)
{
	static const char *const kinds[] = { [NVSWITCH_IS_STATE] = "state",
					     [NVSWITCH_IS_EVENT] = "event",
					     [NVSWITCH_IS_SILENCE] = "silence",
					     [NVSWITCH_IS_REPORT] = "report" };
	const struct nvswitch_finding *cause = health_cause(host);
	/* HEALTHY only where something has reported lately that it is. */
	bool proven = host->reported || host->observed > NVSWITCH_HEALTHY;
	bool overridden = host->override != NVSWITCH_UNKNOWN;
	const char *ends = overridden ? "an operator clears it" : NULL;
	unsigned declared = host->memory ? host->memory->declared : 0;
	json_t *sources = json_array(), *evidence = json_array();
	const struct nvswitch_finding *f;
	const char *source;

	for (unsigned n = 0; (f = health_finding(host, n, &source)); n++)
		json_add(evidence, "{ss ss* so so so sI ss sf ss ss ss ss? ss}", "state",
			 nvswitch_states[f->state], "text", f->text, "gpu", json_index(f->gpu),
			 "switch", json_index(f->sw), "link", json_index(f->link), "code",
			 (json_int_t)f->code, "source", source, "since_s", age_s(nv, f->since_us),
			 "kind", kinds[f->kind], "trust", nvswitch_trusts[f->trust], "remedy",
			 nvswitch_remedies[f->remedy], "pci", *f->pci ? f->pci : NULL, "ends_when",
			 memory_end_of(f));
	ARRAY_EACH (s, host->sources, host->nsources)
		json_add(sources, "{ss sb ss so ss? so}", "url", s->where, "up", s->up, "trust",
			 nvswitch_trusts[s->trust], "heard_s",
			 s->heard ? json_real(age_s(nv, s->heard_us)) : json_null(), "error",
			 s->up ? NULL : s->error, "missing",
			 evidence_missing(s->metrics, s->verdict.system));
	if (cause && cause->state > NVSWITCH_HEALTHY)
		ends = memory_end_of(cause);
	return json_pack(
		"{ss ss ss ss ss ss? sf ss ss sb si si so so ss? so sb so}", "host", host->name,
		"system", system_of(host), "state", nvswitch_states[host->state], "observed",
		nvswitch_states[proven ? host->observed : NVSWITCH_UNKNOWN], "routed",
		nvswitch_states[nvswitch_believed(host)], "override",
		overridden ? nvswitch_states[host->override] : NULL, "since_s",
		host->since_us ? age_s(nv, host->since_us) : 0.0, "reason", health_reason(host),
		"action", nvswitch_remedies[health_remedy(host)], "in_fabric", host->present,
		"sources_up", (int)sources_up(host), "sources_count", (int)host->nsources,
		"sources", sources, "evidence", evidence, "ends_when", ends, "domain",
		domain_json(host), "unconfirmed", host->unconfirmed, "gpus_declared",
		declared ? json_integer(declared) : json_null());
}

json_t *nvswitch_json(const struct nvswitch *nv)
{
	json_t *hosts = json_array();

	ARRAY_EACH (host, nv->health.hosts, nv->health.nhosts)
		json_array_append_new(hosts, host_json(nv, host));
	return json_pack("{so so so so}", "summary", nvswitch_summary(nv), "senders",
			 log_intake_senders(nv->home.intake), "hosts", hosts, "domains",
			 domains_json(nv));
}

/* ---- The monitor ----------------------------------------------------------------------------- */

/*
 * The monitor (see state_monitor.h).
 *
 *   exporters, kernel logs, reports -> health -> state of a host -> events, alerts, hook
 *
 * What a source hears goes into health at once, and a step brings all hosts up to date STEP_US
 * later: a thousand answers or lines in that time are one step. A step that changes many hosts
 * alike is one event; the hook runs for each.
 *
 * Names that the fabric does not know are counted and never kept, so a forger makes a number grow
 * and nothing else.
 */

#define STEP_US	     50000
#define EVENTS_ALIKE 8 /* more at once are one event */
/* Hosts that were ever met: a writer of node descriptions gets no more of our memory. */
#define HOSTS_MAX 65536

/* ---- Events and the hook --------------------------------------------------------------------- */

/* A step that changes many hosts alike is one event. */
static void report_changes_to(struct nvswitch *nv, enum nvswitch_state state)
{
	enum log_level level = state == NVSWITCH_HEALTHY ? LOG_NOTICE : LOG_WARNING;
	const char *name = nvswitch_states[state];
	struct name_list shown = { 0 };
	json_t *names = json_array();

	ARRAY_EACH (host, nv->health.hosts, nv->health.nhosts)
		if (host->before != NVSWITCH_STATES && host->state == state) {
			json_array_append_new(names, json_string(host->name));
			name_list_add(&shown, host->name);
		}
	if (shown.count > EVENTS_ALIKE)
		event_log_add(nv->home.events, level, "nvswitch", NULL,
			      json_pack("{sO ss}", "hosts", names, "state", name),
			      "nvswitch: %u hosts: %s: %s ..", shown.count, name, shown.text);
	json_decref(names);
	ARRAY_EACH (host, nv->health.hosts, shown.count > EVENTS_ALIKE ? 0 : nv->health.nhosts) {
		if (host->before == NVSWITCH_STATES || host->state != state)
			continue;

		const char *reason = health_reason(host);
		const char *before = nvswitch_states[host->before];

		event_log_add(nv->home.events, level, "nvswitch",
			      &(struct event_subject){ .host = host->name },
			      json_pack("{ss ss ss ss ss}", "host", host->name, "state", name,
					"before", before, "reason", reason, "action",
					nvswitch_remedies[health_remedy(host)]),
			      "nvswitch: %s: %s, was %s%s%s", host->name, name, before,
			      *reason ? ": " : "", reason);
	}
}

/*
 * Beside what every hook gets (fm/os/helper.h):
 *   FMD_REASON FMD_SYSTEM
 *   FMD_GPU FMD_PCI     the GPU that the reason is about: its index, its PCI address; empty where
 *                       it is about none, or that is not known
 *   FMD_ACTION          the gravest remedy that is asked for: "none", "restart job", "reset GPU",
 *                       "reboot", "contact support"
 *   FMD_JOBS            whether jobs of several GPUs can still run: "yes", "no", "unknown"
 *   FMD_EVIDENCE        all that is known, a line a finding: STATE: words (source)
 */
static void run_hook(struct nvswitch *nv, const struct health_host *host)
{
	const struct nvswitch_finding *cause = health_cause(host);
	/* NCCL does not start where two GPUs with an NVLink between them have no P2P. */
	const char *jobs = host->state <= NVSWITCH_DEGRADED_LINK ? "yes" : "no";
	char gpu[16] = "", *text = mem_alloc(EVIDENCE_TEXT, 1);
	const struct hook_variable more[] = {
		{ "FMD_REASON", health_reason(host) },
		{ "FMD_SYSTEM", system_of(host) },
		{ "FMD_GPU", gpu },
		{ "FMD_PCI", cause ? cause->pci : "" },
		{ "FMD_ACTION", nvswitch_remedies[health_remedy(host)] },
		{ "FMD_JOBS", host->state == NVSWITCH_UNKNOWN ? "unknown" : jobs },
		{ "FMD_EVIDENCE", text },
	};
	const struct hook_call call = { .host = host->name,
					.state = nvswitch_states[host->state],
					.old_state = nvswitch_states[host->before],
					.more = more,
					.count = ARRAY_SIZE(more) };
	const struct nvswitch_finding *f;
	const char *source;
	size_t used = 0;

	if (cause && cause->gpu >= 0)
		array_printf(gpu, "%d", cause->gpu);
	for (unsigned n = 0; used < EVIDENCE_TEXT && (f = health_finding(host, n, &source)); n++)
		used += snprintf(text + used, EVIDENCE_TEXT - used, "%s%s: %s (%s)",
				 used ? "\n" : "", nvswitch_states[f->state], f->text, source);
	hook_run(nv->hook, &call);
	free(text);
}

static void hook_done_cb(void *arg, const char *host, const char *error)
{
	struct nvswitch *nv = arg;

	nv->ops->keep(nv->arg, false);
	nv->ops->states_changed(nv->arg);
	if (error)
		event_log_add(nv->home.events, LOG_WARNING, "nvswitch-hook",
			      &(struct event_subject){ .host = host },
			      json_pack("{ss}", "host", host), "nvswitch: hook %s for %s: %s",
			      nv->health.conf.hook, host, error);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void step(void *arg)
{
	struct nvswitch *nv = arg;
	struct health *h = &nv->health;
	bool remember = false, news = false, guarded = h->guarded;
	uint64_t next_us = health_step(h, loop_now_us(nv->home.loop));

	nv->soon = false;
	if (next_us != UINT64_MAX)
		loop_timer_set(nv->step_timer, next_us);
	if (guarded != h->guarded) {
		event_log_add(nv->home.events, h->guarded ? LOG_ERR : LOG_NOTICE, "nvswitch-guard",
			      NULL, json_pack("{sb si}", "guarded", h->guarded, "bad", h->bad),
			      "nvswitch: %u %s", h->bad,
			      h->guarded ? "hosts look unhealthy at once: the sources are suspect"
			      : h->bad == 1 ? "host looks unhealthy: sources are trusted again"
					    : "hosts look unhealthy: sources are trusted again");
		hook_hold(nv->hook, h->guarded && h->conf.guard_hooks);
		h->changed = true;
	}
	for (int state = 0; state < NVSWITCH_STATES; state++)
		report_changes_to(nv, state);
	ARRAY_EACH (host, h->hosts, h->nhosts) {
		struct memory *memory = host->memory;

		if (host->before != NVSWITCH_STATES) {
			news = true;
			run_hook(nv, host);
			nv->ops->changed(nv->arg, host->name, host->state);
		}
		host->before = NVSWITCH_STATES;
		remember |= memory && memory->changed;
		if (memory)
			memory->changed = false;
	}
	if (remember)
		nv->ops->keep(nv->arg, true);
	if (h->changed)
		nv->ops->states_changed(nv->arg);
	h->changed = false;
	if (news)
		nv->ops->keep(nv->arg, false);
}

/* As source_home.heard: the home is the first member. */
static void step_soon(struct source_home *home)
{
	struct nvswitch *nv = (struct nvswitch *)home;

	if (nv->soon)
		return;
	nv->soon = true;
	loop_timer_set(nv->step_timer, STEP_US);
}

/* ---- Hosts ----------------------------------------------------------------------------------- */

void nvswitch_present(struct nvswitch *nv, const char *const *names, unsigned count)
{
	struct health *h = &nv->health;
	bool changed = false;

	ARRAY_EACH (host, h->hosts, h->nhosts)
		host->present <<= 1;
	ARRAY_EACH (name, names, count)
		if (text_is_host_name(*name) && h->nhosts < HOSTS_MAX) {
			unsigned host = health_add(h, *name);

			h->hosts[host].present |= 1;
		}
	ARRAY_EACH (host, h->hosts, h->nhosts) {
		changed |= host->present == 1 || host->present == 2;
		host->present &= 1;
	}
	if (!changed)
		return;
	if (nv->home.conf)
		sources_hosts_changed(nv->sources);
	health_declare(h);
	nv->health.changed = true;
	step_soon(&nv->home);
}

const struct health_host *nvswitch_host(const struct nvswitch *nv, const char *name)
{
	unsigned host = health_find(&nv->health, name);

	return host == UINT_MAX ? NULL : &nv->health.hosts[host];
}

void nvswitch_note_ports(struct nvswitch *nv, const char *name, enum memory_ports ports)
{
	const struct health_host *host = nvswitch_host(nv, name);

	if (!host || !host->memory)
		return;
	memory_note_ports(host->memory, ports);
	if (host->memory->changed)
		step_soon(&nv->home);
}

int nvswitch_set(struct nvswitch *nv, const char *name, const char *state, int gpus, char *err)
{
	unsigned host = health_find(&nv->health, name);

	if (state && !nvlink_is_state(state, false))
		return nvswitch_refuse(err, NVSWITCH_NO_STATE, state);
	if (host == UINT_MAX)
		return nvswitch_refuse(err, NVSWITCH_NO_HOST, name);
	if (gpus > MEMORY_GPUS)
		return nvswitch_refuse(err, "a host has %d GPUs at most", MEMORY_GPUS);
	if (gpus >= 0) {
		memory_declare(health_memory(&nv->health, host), gpus);
	} else {
		health_override(&nv->health, host,
				state ? nvswitch_state_parse(state) : NVSWITCH_UNKNOWN);
		step(nv);
	}
	nv->ops->keep(nv->arg, gpus >= 0);
	return 0;
}

/* ---- What outlives a restart ----------------------------------------------------------------- */

#define LINES_A_HOST 10 /* in nvlink, about */

static bool take_state(void *arg, const char *line)
{
	struct nvswitch *nv = arg;
	char host[256], believed[32], word[32], rest;
	int state, override = NVSWITCH_UNKNOWN;

	if (sscanf(line, "%255s %31s %31s %c", host, believed, word, &rest) != 3)
		return false;
	state = nvswitch_state_parse(believed);
	if (strcmp(word, "-"))
		override = nvswitch_state_parse(word);
	if (state < 0 || state == NVSWITCH_UNKNOWN || override < 0)
		return false;

	unsigned index = health_add(&nv->health, host);

	health_remember(&nv->health, index, state, override);
	nv->health.hosts[index].announced = true;
	return true;
}

/* Of hosts that are not HEALTHY, are overridden, or whose hook has not run for their state. */
static uint64_t write_states(const void *arg, uint64_t from, FILE *out)
{
	const struct nvswitch *nv = arg;

	for (unsigned i = from; i < nv->health.nhosts; i++) {
		const struct health_host *host = &nv->health.hosts[i];
		bool overridden = host->override != NVSWITCH_UNKNOWN;

		if (i == from + STATE_LINES)
			return i;
		if (host->believed != NVSWITCH_HEALTHY || overridden ||
		    hook_owed(nv->hook, host->name))
			fprintf(out, "%s %s %s\n", host->name, nvswitch_states[host->believed],
				overridden ? nvswitch_states[host->override] : "-");
	}
	return 0;
}

/* Kinds and words that a version does not know are passed over. */
static bool take_memory(void *arg, const char *line)
{
	struct nvswitch *nv = arg;
	char kind[16], name[256];
	int used = 0;
	struct memory_report report;

	if (sscanf(line, "%15s %255s %n", kind, name, &used) < 2)
		return false;
	if (!strcmp(kind, "version"))
		return true;
	if (!text_is_host_name(name) || nv->health.nhosts >= HOSTS_MAX)
		return false;

	unsigned host = health_add(&nv->health, name);
	struct memory *m = health_memory(&nv->health, host);

	if (!memory_read(m, kind, line + used, &report))
		return false;
	nv->health.hosts[host].sources_state = m->sources_state;
	ARRAY_EACH (event, m->events.findings, m->events.count) /* the file has no times */
		if (!event->last_us)
			event->last_us = event->since_us = loop_now_us(nv->home.loop);
	if (*report.source)
		source_report_recall(&nv->home, host, &report);
	return true;
}

static uint64_t write_memory(const void *arg, uint64_t from, FILE *out)
{
	const struct nvswitch *nv = arg;

	for (unsigned i = from; i < nv->health.nhosts; i++) {
		const struct health_host *host = &nv->health.hosts[i];

		if (i == from + STATE_LINES / LINES_A_HOST)
			return i;
		if (host->memory)
			memory_write(host->memory, host->name, out);
		ARRAY_EACH (s, host->sources, host->nsources)
			if (*s->report.source)
				memory_write_report(&s->report, host->name, out);
	}
	return 0;
}

const struct state_kind nvswitch_states_kind = {
	.name = "nvswitch",
	.form = "`HOST STATE STATE`, the last may be -",
	.line = take_state,
	.write = write_states,
};

const struct state_kind nvswitch_memory_kind = {
	.name = "nvlink",
	.form = "`KIND HOST WORD=VALUE..`",
	.line = take_memory,
	.write = write_memory,
	.gather_us = 2000000,
	.gather_max_us = 10000000,
};

/* ---- Configuration --------------------------------------------------------------------------- */

int nvswitch_configure(struct nvswitch *nv, const struct conf_nvswitch *conf, uint64_t retry_us,
		       char *err)
{
	char why[NVSWITCH_ERROR];

	if ((catalogue_read(conf->catalogue, false, err) && nv->home.conf) ||
	    sources_open(nv->sources, conf, err))
		return -1;
	nv->health.conf = *conf;
	nv->home.conf = &nv->health.conf;
	nv->home.retry_us = retry_us;

	int status = catalogue_read(conf->catalogue, true, why);

	trouble_set(nv->home.alerts, "nvswitch: nvlink_catalogue", status ? why : NULL);
	hook_configure(nv->hook, conf->hook, conf->hook_timeout_ms, conf->short_node_names);
	hook_hold(nv->hook, nv->health.guarded && conf->guard_hooks);
	sources_take(nv->sources);
	health_declare(&nv->health);
	nv->health.changed = true;
	step_soon(&nv->home);
	return 0;
}

int nvswitch_check(const struct conf_nvswitch *conf, char *err)
{
	if (sources_check(conf, err) || catalogue_read(conf->catalogue, false, err))
		return -1;
	return hook_check("nvswitch_hook", conf->hook, err, NVSWITCH_ERROR);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct nvswitch *nvswitch_new(struct loop *loop, struct alerts *alerts, struct event_log *events,
			      const struct nvswitch_ops *ops, void *arg)
{
	struct nvswitch *nv = mem_new(nv);

	nv->home = (struct source_home){ .loop = loop,
					 .alerts = alerts,
					 .events = events,
					 .health = &nv->health,
					 .heard = step_soon };
	nv->ops = ops;
	nv->arg = arg;
	nv->home.intake = log_intake_new(&nv->home);
	nv->sources = sources_new(&nv->home);
	health_init(&nv->health);
	nv->hook = hook_new(loop, HELPER_NVSWITCH_HOOK, hook_done_cb, nv);
	nv->step_timer = loop_timer_new(loop, step, nv);
	return nv;
}

void nvswitch_free(struct nvswitch *nv)
{
	if (!nv)
		return;
	sources_free(nv->sources);
	free(nv->home.intake);
	loop_timer_free(nv->step_timer);
	hook_free(nv->hook);
	health_fini(&nv->health);
	free(nv);
}
