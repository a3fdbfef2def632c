/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include "fm/nvswitch/state_monitor.h"

/* ---- Aliases --------------------------------------------------------------------------------- */

/*
 * The file is read as a whole or not at all. Whether its hosts are in the fabric is not asked: they
 * may come later.
 */

#define NAME_MAX_LEN 255

/* Copies a name in lower case, cut to NAME_MAX_LEN bytes; returns its length. */
static size_t name_fold(const char *name, char to[NAME_MAX_LEN + 1])
{
	size_t len = 0;

	for (; name[len] && len < NAME_MAX_LEN; len++)
		to[len] = tolower((unsigned char)name[len]);
	to[len] = '\0';
	return len;
}

static const char *read_line(void *arg, char *line)
{
	json_t *hosts = json_object_get(arg, "hosts"), *gpus = json_object_get(arg, "gpus");
	char *rest = line, *host = strtok_r(rest, " \t", &rest), *name, more;
	char text[NAME_MAX_LEN + 1];
	unsigned count;

	if (!host)
		return NULL;
	name = strtok_r(rest, " \t", &rest);
	if (!text_is_host_name(host) || !name)
		return "`HOST NAME..` is expected";
	for (; name; name = strtok_r(rest, " \t", &rest)) {
		if (sscanf(name, "gpus=%3u%c", &count, &more) == 1) {
			if (count > MEMORY_GPUS)
				return "a host has 16 GPUs at most";
			json_object_set_new(gpus, host, json_integer(count));
			continue;
		}
		if (name_fold(name, text) == NAME_MAX_LEN)
			return "the name is too long";

		const char *known = json_text(hosts, text);

		if (known && strcmp(known, host))
			return "a name of two hosts";
		json_object_set_new(hosts, text, json_string(host));
	}
	return NULL;
}

json_t *aliases_read(const char *path, char *err)
{
	json_t *aliases = json_pack("{s{} s{}}", "hosts", "gpus");

	if (!lines_read(path, read_line, aliases, err))
		return aliases;
	json_decref(aliases);
	return NULL;
}

/* ---- Names ----------------------------------------------------------------------------------- */

/*
 * Which host is meant by a name. Machines call themselves dgx-01, DGX-01 or
 * dgx-01.cluster.example, and the fabric knows one of these. A name is looked for as it stands, in
 * small letters; then among the aliases; then its first part, if only one host has that.
 */

unsigned health_find(const struct health *h, const char *name)
{
	const json_t *hosts = json_object_get(h->aliases, "hosts"), *alias, *index;
	char text[NAME_MAX_LEN + 1];

	name_fold(name, text);
	index = json_object_get(h->names, text);
	alias = index ? NULL : json_object_get(hosts, text);
	if (!index && !alias)
		alias = json_object_getn(hosts, text, strcspn(text, "."));
	if (alias) {
		name_fold(json_string_value(alias), text);
		index = json_object_get(h->names, text);
	}
	if (!index)
		index = json_object_getn(h->firsts, text, strcspn(text, "."));
	return index ? json_integer_value(index) : UINT_MAX;
}

unsigned health_add(struct health *h, const char *name)
{
	char text[NAME_MAX_LEN + 1];

	name_fold(name, text);

	const json_t *known = json_object_get(h->names, text);

	if (known)
		return json_integer_value(known);
	json_object_set_new(h->names, text, json_integer(h->nhosts));
	text[strcspn(text, ".")] = '\0';

	bool shared = json_object_get(h->firsts, text);

	json_object_set_new(h->firsts, text, json_integer(shared ? UINT_MAX : h->nhosts));
	h->hosts = mem_grow(h->hosts, h->nhosts);
	h->hosts[h->nhosts] = (struct health_host){ .name = mem_strdup(name),
						    .state = NVSWITCH_UNKNOWN,
						    .before = NVSWITCH_STATES,
						    .override = NVSWITCH_UNKNOWN };
	return h->nhosts++;
}

/* ---- Health ---------------------------------------------------------------------------------- */

/*
 * The state machine of a host's NVLinks (see state_monitor.h).
 *
 * Hold-downs: `differs_us` is when observed became worse (or better) than believed. It is set again
 * when that side changes, so one good answer between bad ones restarts the hold-down, while a state
 * that gets even worse does not. While no source reports no hold-down runs: silence proves nothing.
 *
 * The guard is an alert, and stands before hooks where that is wanted, never before what is shown.
 * It counts observed, not believed, states: hosts within their hold-down count.
 */

#define STALE_MS	   3000ull /* us in a ms, three intervals: nothing is known then */
#define NONFATAL_WINDOW_US 60000000
#define NONFATAL_MANY	   10 /* in a window: a degraded link */

void health_init(struct health *h)
{
	*h = (struct health){ .names = json_object(), .firsts = json_object() };
}

void health_fini(struct health *h)
{
	ARRAY_EACH (host, h->hosts, h->nhosts) {
		ARRAY_EACH (source, host->sources, host->nsources)
			free(source->where);
		free(host->sources);
		free(host->memory);
		free(host->name);
	}
	free(h->hosts);
	json_decref(h->names);
	json_decref(h->firsts);
}

void health_remember(struct health *h, unsigned host, enum nvswitch_state believed,
		     enum nvswitch_state override)
{
	struct health_host *it = &h->hosts[host];

	it->observed = it->believed = it->sources_state = believed;
	it->override = override;
}

/* ---- Sources --------------------------------------------------------------------------------- */

void health_sources_begin(struct health *h)
{
	ARRAY_EACH (host, h->hosts, h->nhosts)
		host->nlisted = 0;
}

/* The sources of health reports are in no configuration, and kept. */
void health_sources_end(struct health *h)
{
	ARRAY_EACH (host, h->hosts, h->nhosts) {
		for (unsigned k = host->nlisted; k < host->nsources; k++)
			if (*host->sources[k].report.source)
				host->sources[host->nlisted++] = host->sources[k];
			else
				free(host->sources[k].where);
		host->nsources = host->nlisted;
	}
}

unsigned health_source_add(struct health *h, unsigned host, const char *where,
			   enum nvswitch_trust trust)
{
	struct health_host *it = &h->hosts[host];
	unsigned at = it->nlisted, known = at;

	while (known < it->nsources && strcmp(it->sources[known].where, where))
		known++;
	if (known == it->nsources) {
		it->sources = mem_array_resize(it->sources, ++it->nsources);
		it->sources[known] = (struct health_source){ .where = mem_strdup(where),
							     .error = "not asked yet" };
	}

	struct health_source source = it->sources[known];

	source.trust = trust;
	it->sources[known] = it->sources[at];
	it->sources[at] = source;
	return it->nlisted++;
}

/* ---- Reports --------------------------------------------------------------------------------- */

void health_hear(struct health *h, unsigned host, unsigned source,
		 const struct nvswitch_verdict *verdict, const char *error, uint64_t now_us)
{
	struct health_source *s = &h->hosts[host].sources[source];
	struct nvswitch_verdict before = s->verdict;

	s->up = verdict;
	array_printf(s->error, "%s", error ? error : "");
	if (!verdict)
		return;
	s->heard = true;
	s->heard_us = now_us;
	s->verdict = *verdict;
	ARRAY_EACH (finding, s->verdict.findings, verdict->count) {
		finding->since_us = now_us;
		for (unsigned k = before.count; k-- > 0;) /* one that was there keeps its time */
			if (!strcmp(before.findings[k].text, finding->text))
				finding->since_us = before.findings[k].since_us;
	}
}

struct memory *health_memory(struct health *h, unsigned host)
{
	struct health_host *it = &h->hosts[host];

	if (!it->memory) {
		it->memory = mem_new(it->memory);
		it->memory->sources_state = it->sources_state;
	}
	return it->memory;
}

void health_declare(struct health *h)
{
	json_t *count;
	const char *name;

	json_object_foreach (json_object_get(h->aliases, "gpus"), name, count) {
		unsigned host = health_find(h, name), gpus = json_integer_value(count);

		if (gpus && host != UINT_MAX && health_memory(h, host)->declared != gpus)
			memory_declare(h->hosts[host].memory, gpus);
	}
}

void health_hear_log(struct health *h, unsigned host, const struct sxid_event *event,
		     uint64_t now_us)
{
	struct memory *m = health_memory(h, host);
	struct health_host *it = &h->hosts[host];
	struct nvswitch_finding finding = event->finding;

	it->log.heard = true;
	it->vouched |= event->news >= SXID_START;
	if (event->news == SXID_START)
		memory_reset(m, -1, NULL);
	else if (event->news == SXID_RESET)
		memory_reset_uuid(m, event->uuid);
	else if (event->news == SXID_NAMES)
		memcpy(it->log.pci, finding.pci, sizeof(it->log.pci));
	if (event->news >= SXID_NAMES && event->news != SXID_RECOVERED)
		return;
	/* The GPU is found by the PCI address in the line, or in the line before. */
	if (!*finding.pci && finding.sw < 0)
		memcpy(finding.pci, it->log.pci, sizeof(finding.pci));
	*it->log.pci = '\0';
	if (finding.gpu < 0)
		finding.gpu = memory_gpu_by_pci(m, finding.pci);
	if (event->news == SXID_RECOVERED) {
		memory_reset(m, finding.gpu, finding.pci);
		return;
	}
	if (event->news == SXID_NONFATALS && now_us - it->log.window_us >= NONFATAL_WINDOW_US) {
		it->log.window_us = now_us;
		it->log.nonfatal = 0;
	}
	if (event->news == SXID_NONFATALS && ++it->log.nonfatal >= NONFATAL_MANY)
		finding.state = NVSWITCH_DEGRADED_LINK;
	if (finding.state != NVSWITCH_HEALTHY)
		memory_note(m, &finding, EVENT_FROM_LOG, now_us);
}

void health_override(struct health *h, unsigned host, enum nvswitch_state state)
{
	struct health_host *it = &h->hosts[host];

	it->override = state;
	if (state != NVSWITCH_UNKNOWN)
		return;
	/*
	 * An operator who clears a manual override has checked the host: logged events and reports
	 * of silent sources are dropped, and a host without sources is healthy.
	 */
	if (it->memory)
		memory_clear(it->memory);
	for (unsigned i = it->nsources; i-- > 0;) {
		struct health_source *s = &it->sources[i];

		if (!*s->report.source || s->up)
			continue;
		free(s->where);
		memmove(s, s + 1, (--it->nsources - i) * sizeof(*s));
		it->nlisted = it->nsources;
	}
	it->vouched |= it->log.heard;
	if (!it->nsources)
		it->sources_state = it->observed = it->believed = NVSWITCH_HEALTHY;
}

const struct nvswitch_finding *health_finding(const struct health_host *host, unsigned n,
					      const char **source)
{
	unsigned events = host->memory ? host->memory->events.count : 0;

	if (n < events) {
		const struct nvswitch_finding *event = &host->memory->events.findings[n];
		unsigned first = event->from ? __builtin_ctz(event->from) : 0;
		bool of_log = event->from & EVENT_FROM_LOG || first >= host->nsources;

		*source = of_log ? "kernel log" : host->sources[first].where;
		return event;
	}
	n -= events;
	ARRAY_EACH (s, host->sources, host->nsources) {
		*source = s->where;
		if (n < s->verdict.count)
			return &s->verdict.findings[n];
		n -= s->verdict.count;
	}
	return NULL;
}

const struct nvswitch_finding *health_cause(const struct health_host *host)
{
	const struct nvswitch_finding *f, *cause = NULL;
	unsigned worst = NVSWITCH_HEALTHY, most = 0;
	const char *source;

	if (host->override != NVSWITCH_UNKNOWN)
		return NULL;
	for (unsigned n = 0; (f = health_finding(host, n, &source)); n++)
		worst = f->state > worst ? f->state : worst;
	for (unsigned n = 0; (f = health_finding(host, n, &source)); n++) {
		bool event = f->kind == NVSWITCH_IS_EVENT;
		unsigned scope = f->gpu >= 0 || *f->pci ? 2 : 1, weight;

		if (f->state < worst && !(event && f->state > NVSWITCH_DEGRADED_LINK))
			continue;
		scope = f->sw >= 0 ? 3 : f->peers_lost ? 0 : scope;
		weight = 1 + (scope << 16 | (unsigned)event << 15 | (unsigned)f->state << 8 |
			      f->peers_lost);
		if (weight > most) {
			most = weight;
			cause = f;
		}
	}
	return cause;
}

enum nvswitch_remedy health_remedy(const struct health_host *host)
{
	enum nvswitch_remedy gravest = NVSWITCH_REMEDY_NONE;
	const struct nvswitch_finding *f;
	const char *source;

	if (host->override != NVSWITCH_UNKNOWN)
		return gravest;
	for (unsigned n = 0; (f = health_finding(host, n, &source)); n++)
		if (f->state > NVSWITCH_HEALTHY && f->remedy > gravest)
			gravest = f->remedy;
	return gravest;
}

const char *health_reason(const struct health_host *host)
{
	const struct nvswitch_finding *cause = health_cause(host);

	if (host->override != NVSWITCH_UNKNOWN)
		return "manual override";
	if (host->state == NVSWITCH_UNKNOWN && host->reported)
		return "its first report is worse than HEALTHY, and has to last "
		       "(nvswitch_worsen_hold)";
	if (host->state == NVSWITCH_UNKNOWN)
		return host->nsources ? host->sources[0].error : "no telemetry source configured";
	return cause ? cause->text : "";
}

/* ---- What is observed ------------------------------------------------------------------------ */

static void note_due(uint64_t *next_us, uint64_t due_us, uint64_t now_us)
{
	uint64_t wait = due_us > now_us ? due_us - now_us : 0;

	*next_us = wait < *next_us ? wait : *next_us;
}

/* The worst that is reported: all of it, and as far as it needs no second source. */
struct worst {
	enum nvswitch_state all, sure;
};

static void note_state(struct worst *worst, enum nvswitch_state state, bool trusted)
{
	bool counts = trusted || state <= NVSWITCH_DEGRADED_LINK;
	enum nvswitch_state sure = counts ? state : NVSWITCH_DEGRADED_LINK;

	worst->all = state > worst->all ? state : worst->all;
	worst->sure = sure > worst->sure ? sure : worst->sure;
}

/*
 * Sets `observed`, and `reported`. The last reports of sources stand while they are silent. A host
 * whose sources never reported takes the state of its kernel log once that shows a boot or a reset;
 * errors of applications do not show the state of NVLinks.
 */
static void observe(struct health *h, struct health_host *host, uint64_t now_us, uint64_t *next_us)
{
	struct worst events = { 0 }, reports = { 0 };
	uint8_t grave = 0; /* sources that report worse than DEGRADED_LINK; as of an event */
	static const struct memory nothing;
	const struct memory *m = host->memory ? host->memory : &nothing;
	bool fresh = false, heard = false, second;

	host->at_once = NVSWITCH_HEALTHY;
	ARRAY_EACH (event, m->events.findings, m->events.count) {
		bool is_grave = event->state > NVSWITCH_DEGRADED_LINK;

		note_state(&events, event->state, (int)event->trust >= h->conf.second_source);
		grave |= is_grave ? event->from : 0;
		if (is_grave && event->from & EVENT_FROM_LOG && event->state > host->at_once)
			host->at_once = event->state;
	}
	for (unsigned k = 0; k < host->nsources; k++) {
		struct health_source *s = &host->sources[k];
		uint64_t until_us =
			s->heard_us + (*s->report.source ? s->report.ttl_s * 1000000ull
							 : h->conf.poll_interval_ms * STALE_MS);

		heard |= s->heard;
		if (s->heard && now_us < until_us) { /* its last report counts still */
			fresh = true;
			note_due(next_us, until_us, now_us);
			note_state(&reports, s->verdict.state,
				   (int)s->trust >= h->conf.second_source);
			if (s->verdict.state > NVSWITCH_DEGRADED_LINK)
				grave |= 1u << (k < 7 ? k : 6);
		} else if (*s->report.source && s->up) {
			s->up = false;
			array_printf(s->error, "no report within its TTL of %u s", s->report.ttl_s);
		}
	}
	second = __builtin_popcount(grave) > 1;
	host->unconfirmed = !second && (events.all > events.sure || reports.all > reports.sure);
	if (fresh || !host->nsources)
		host->sources_state = second ? reports.all : reports.sure;
	if (host->memory && m->sources_state != host->sources_state) {
		host->memory->sources_state = host->sources_state;
		host->memory->changed = true;
	}
	events.sure = second ? events.all : events.sure;
	host->observed = events.sure > host->sources_state ? events.sure : host->sources_state;
	host->vouched |= m->ended;
	host->reported = fresh || events.all || (host->vouched && !heard);
}

/* ---- What is believed ------------------------------------------------------------------------ */

/* A host whose first report is bad stays UNKNOWN until the hold-down is over. */
static void believe(struct health *h, struct health_host *host, uint64_t now_us, uint64_t *next_us)
{
	enum nvswitch_state before = host->state;
	int8_t side = (host->observed > host->believed) - (host->observed < host->believed);

	if (!host->reported)
		side = 0;
	if (side != host->side) {
		host->side = side;
		host->differs_us = now_us;
	}

	uint64_t due = host->differs_us +
		       1000ull * (side > 0 ? h->conf.worsen_hold_ms : h->conf.recover_hold_ms);

	if (side && due <= now_us) {
		host->believed = host->observed;
		host->side = 0;
	} else if (side > 0 && host->at_once > host->believed) {
		host->believed = host->at_once;
		host->side = 0;
		note_due(next_us, now_us, now_us); /* what is observed may be worse still */
	} else if (side) {
		note_due(next_us, due, now_us);
	}
	if (host->override != NVSWITCH_UNKNOWN)
		host->state = host->override;
	else if (!host->reported || (host->side > 0 && before == NVSWITCH_UNKNOWN))
		host->state = NVSWITCH_UNKNOWN;
	else
		host->state = host->believed;
	if (host->state == before)
		return;
	host->since_us = now_us;
	h->changed = true;
	/* The first that is heard of a host, and it is well: that is no news. */
	if (before != NVSWITCH_UNKNOWN || host->state != NVSWITCH_HEALTHY || host->announced) {
		host->announced = true;
		host->before = before;
	}
}

/* ---- A step --------------------------------------------------------------------------------- */

uint64_t health_step(struct health *h, uint64_t now_us)
{
	uint64_t next_us = UINT64_MAX;
	unsigned bad = 0, present = 0, limit;

	ARRAY_EACH (host, h->hosts, h->nhosts) {
		bool counts = host->present || host->nsources; /* else it is gone */

		observe(h, host, now_us, &next_us);
		present += counts;
		bad += counts && host->observed >= NVSWITCH_NO_P2P &&
		       host->override == NVSWITCH_UNKNOWN;
	}
	limit = present * h->conf.guard / 100;

	bool on = bad > (limit ? limit : 1) && h->conf.guard < 100;

	h->bad = on != h->guarded ? bad : h->bad;
	h->guarded = on;
	ARRAY_EACH (host, h->hosts, h->nhosts)
		believe(h, host, now_us, &next_us);
	return next_us;
}
