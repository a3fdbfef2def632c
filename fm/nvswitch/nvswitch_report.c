/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch_report: what is known of hosts' NVLinks, as documents. Times are ages in seconds: the
 * loop's clock is nobody else's.
 */
#include <stdio.h>
#include <string.h>
#include "fm/nvswitch/nvswitch_own.h"
#include "topology/mem.h"

#define EVIDENCE_TEXT 4096
#define SENDERS_SHOWN 32 /* in the summary, of those whose lines could not be used */

static double age_s(const struct nvswitch *nv, uint64_t since_us)
{
	return (loop_now_us(nv->home.loop) - since_us) / 1e6;
}

static json_t *number_or_null(int number)
{
	return number < 0 ? json_null() : json_integer(number);
}

static json_t *text_or_null(const char *text)
{
	return *text ? json_string(text) : json_null();
}

static json_t *finding_json(const struct nvswitch *nv, const struct nvswitch_finding *f,
			    const char *source)
{
	return json_pack(
		"{ss ss* so so so sI ss sf ss ss ss so ss}", "state", nvswitch_state_name(f->state),
		"text", f->text, "gpu", number_or_null(f->gpu), "switch", number_or_null(f->sw),
		"link", number_or_null(f->link), "code", (json_int_t)f->code, "source", source,
		"since_s", age_s(nv, f->since_us), "kind", nvswitch_kind_name(f->kind), "trust",
		nvswitch_trust_name(f->trust), "remedy", nvswitch_remedy_name(f->remedy), "pci",
		text_or_null(f->pci), "ends_when", memory_end_of(f));
}

static const char *source_of(const struct health_host *host, const struct memory_event *event)
{
	unsigned first = event->from ? (unsigned)__builtin_ctz(event->from) : 0;

	return event->from & MEMORY_FROM_LOG || first >= host->nsources
		       ? "kernel log"
		       : host->sources[first].where;
}

/* Events first where they are as bad as what is reported now. */
static json_t *evidence_json(const struct nvswitch *nv, const struct health_host *host)
{
	json_t *list = json_array();

	for (unsigned i = 0; host->memory && i < host->memory->nevents; i++)
		json_array_append_new(list,
				      finding_json(nv, &host->memory->events[i].finding,
						   source_of(host, &host->memory->events[i])));
	for (unsigned i = 0; i < host->nsources; i++)
		for (unsigned k = 0; k < host->sources[i].verdict.count; k++)
			json_array_append_new(
				list, finding_json(nv, &host->sources[i].verdict.findings[k],
						   host->sources[i].where));
	return list;
}

char *nvswitch_evidence_text(const struct nvswitch *nv, const struct health_host *host)
{
	json_t *list = evidence_json(nv, host), *finding;
	size_t index, used = 0;
	char *text = mem_alloc(EVIDENCE_TEXT, 1);

	json_array_foreach (list, index, finding) {
		const char *state, *words, *source;

		if (used >= EVIDENCE_TEXT - 1 || json_unpack(finding, "{ss ss ss}", "state", &state,
							     "text", &words, "source", &source))
			continue;
		used += (size_t)snprintf(text + used, EVIDENCE_TEXT - used, "%s%s: %s (%s)",
					 used ? "\n" : "", state, words, source);
	}
	json_decref(list);
	return text;
}

/* The NVLink domain it is in; null = none was reported. */
static json_t *domain_json(const struct health_host *host)
{
	const struct memory *m = host->memory;

	if (!m || !*m->cluster)
		return json_null();
	return json_pack("{ss so}", "cluster_uuid", m->cluster, "clique",
			 m->has_clique ? json_integer(m->clique) : json_null());
}

static const char *ends_when(const struct health_host *host)
{
	const struct nvswitch_finding *worst = health_worst(host);

	if (host->override != NVSWITCH_UNKNOWN)
		return "an operator clears it";
	return worst && worst->state > NVSWITCH_HEALTHY ? memory_end_of(worst) : "";
}

static json_t *sources_json(const struct nvswitch *nv, const struct health_host *host)
{
	json_t *list = json_array();

	for (unsigned i = 0; i < host->nsources; i++) {
		const struct health_source *s = &host->sources[i];

		json_array_append_new(
			list,
			json_pack("{ss sb ss so so so}", "url", s->where, "up", s->up, "trust",
				  nvswitch_trust_name(s->trust), "heard_s",
				  s->heard ? json_real(age_s(nv, s->heard_us)) : json_null(),
				  "error", s->up ? json_null() : json_string(s->error), "missing",
				  sources_missing(nv->sources, (unsigned)(host - nv->health.hosts),
						  i)));
	}
	return list;
}

/* The system that the sources report: the first that is known. */
const char *nvswitch_host_system(const struct health_host *host)
{
	for (unsigned i = 0; i < host->nsources; i++)
		if (host->sources[i].verdict.system != NVSWITCH_SYSTEM_AUTO)
			return nvswitch_expect(host->sources[i].verdict.system)->name;
	return "unknown";
}

static unsigned sources_up(const struct health_host *host)
{
	unsigned up = 0;

	for (unsigned i = 0; i < host->nsources; i++)
		up += host->sources[i].up;
	return up;
}

/* HEALTHY only where something has reported lately that it is. */
static enum nvswitch_state observed_of(const struct health_host *host)
{
	bool proven = host->reported || host->observed > NVSWITCH_HEALTHY;

	return proven ? host->observed : NVSWITCH_UNKNOWN;
}

static json_t *host_json(const struct nvswitch *nv, const struct health_host *host)
{
	bool overridden = host->override != NVSWITCH_UNKNOWN;

	return json_pack(
		"{ss ss ss ss ss so sf ss sb si si so so so so sb}", "host", host->name, "system",
		nvswitch_host_system(host), "state", nvswitch_state_name(host->state), "observed",
		nvswitch_state_name(observed_of(host)), "routed", nvswitch_state_name(host->routed),
		"override",
		overridden ? json_string(nvswitch_state_name(host->override)) : json_null(),
		"since_s", host->since_us ? age_s(nv, host->since_us) : 0.0, "reason",
		health_reason(host), "in_fabric", host->present, "sources_up",
		(int)sources_up(host), "sources_count", (int)host->nsources, "sources",
		sources_json(nv, host), "evidence", evidence_json(nv, host), "ends_when",
		text_or_null(ends_when(host)), "domain", domain_json(host), "unconfirmed",
		host->unconfirmed);
}

/* Of all kernel logs; null = none is read. */
static json_t *logs_json(const struct nvswitch *nv)
{
	const struct senders *senders = log_intake_senders(nv->intake);
	struct log_server_stats sum;

	if (!sources_count(nv->sources, &sum))
		return json_null();
	return json_pack("{sI sI sI sI si si so so}", "lines", (json_int_t)sum.lines, "events",
			 (json_int_t)sum.events, "bad", (json_int_t)sum.bad, "strangers",
			 (json_int_t)log_intake_unknown(nv->intake), "connections",
			 (int)sum.connections, "refused", (int)sum.refused, "by_use",
			 senders_totals(senders), "unread", senders_worst(senders, SENDERS_SHOWN));
}

json_t *nvswitch_summary(const struct nvswitch *nv)
{
	json_t *doc = json_object(), *states = json_object();
	unsigned counts[NVSWITCH_STATES] = { 0 }, up = 0, all = 0;

	for (unsigned i = 0; i < nv->health.nhosts; i++) {
		counts[nv->health.hosts[i].state]++;
		up += sources_up(&nv->health.hosts[i]);
		all += nv->health.hosts[i].nsources;
	}
	for (int i = 0; i < NVSWITCH_STATES; i++)
		json_object_set_new(states, nvswitch_state_name(i), json_integer(counts[i]));
	json_object_set_new(doc, "states", states);
	json_object_set_new(doc, "sources", json_integer(all));
	json_object_set_new(doc, "sources_up", json_integer(up));
	json_object_set_new(doc, "guarded", json_boolean(nv->health.guarded));
	json_object_set_new(doc, "logs", logs_json(nv));
	sources_add_inputs(nv->sources, doc);
	return doc;
}

static bool same_domain(const struct memory *a, const struct memory *b)
{
	return !strcmp(a->cluster, b->cluster) && a->clique == b->clique;
}

/* The domain's row: that of the first host in it. */
static unsigned first_of_domain(const struct nvswitch *nv, unsigned host)
{
	const struct health_host *hosts = nv->health.hosts;
	unsigned first = 0;

	while (!hosts[first].memory || !same_domain(hosts[first].memory, hosts[host].memory))
		first++;
	return first;
}

/*
 * Hosts whose GPUs reach each other by NVLink: equal cluster UUID and clique (NVML's fabric info).
 */
static json_t *domains_json(const struct nvswitch *nv)
{
	json_t *domains = json_array(), **of = mem_alloc(nv->health.nhosts + 1, sizeof(json_t *));

	for (unsigned i = 0; i < nv->health.nhosts; i++) {
		const struct health_host *host = &nv->health.hosts[i];
		unsigned first;

		if (!host->memory || !*host->memory->cluster)
			continue;
		first = first_of_domain(nv, i);
		if (!of[first]) {
			of[first] = domain_json(host);
			json_object_set_new(of[first], "hosts", json_array());
			json_array_append_new(domains, of[first]);
		}
		json_array_append_new(json_object_get(of[first], "hosts"), json_string(host->name));
	}
	free(of);
	return domains;
}

json_t *nvswitch_json(const struct nvswitch *nv)
{
	json_t *hosts = json_array();

	for (unsigned i = 0; i < nv->health.nhosts; i++)
		json_array_append_new(hosts, host_json(nv, &nv->health.hosts[i]));
	return json_pack("{so so so so}", "summary", nvswitch_summary(nv), "senders",
			 senders_json(log_intake_senders(nv->intake), loop_now_us(nv->home.loop)),
			 "hosts", hosts, "domains", domains_json(nv));
}
