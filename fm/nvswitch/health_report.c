/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * health_report: programs beside fmd (a reader of Redfish or gNMI) as sources of a host's health.
 * Each repeats its state before its TTL is over; one that does not is silent, like an exporter that
 * does not answer: its last report stands while no other source reports. The kernel authenticates
 * the senders of reports (fm/control/peer.h), so they are trusted like exporters with a verified
 * certificate.
 *
 * The latest reports are in the host's memory: after a restart their sources are known, and silent
 * until they report again.
 */
#include <stdio.h>
#include <string.h>
#include "fm/nvswitch/health.h"

/* The source of a report, which is made if it is new; *index: its number. */
static struct health_source *source_of(struct health *h, unsigned host,
				       const struct memory_report *report, unsigned *index)
{
	char where[sizeof(HEALTH_REPORT_PREFIX) + sizeof(report->source)];
	struct health_source *s;

	snprintf(where, sizeof(where), HEALTH_REPORT_PREFIX "%s", report->source);
	for (*index = 0; *index < h->hosts[host].nsources; (*index)++)
		if (!strcmp(h->hosts[host].sources[*index].where, where))
			break;
	if (*index == h->hosts[host].nsources)
		health_source_add(h, host, where, NVSWITCH_PROVEN);
	s = &h->hosts[host].sources[*index];
	s->reported = true;
	s->ttl_us = report->ttl_s * 1000000ull;
	return s;
}

static struct nvswitch_verdict verdict_of(const struct memory_report *report)
{
	struct nvswitch_verdict verdict = { .state = NVSWITCH_HEALTHY };
	struct nvswitch_finding finding = { .state = report->state,
					    .kind = NVSWITCH_IS_REPORT,
					    .trust = NVSWITCH_PROVEN,
					    .gpu = -1,
					    .sw = -1,
					    .link = -1 };

	snprintf(finding.text, sizeof(finding.text), "%s", report->text);
	if (report->state != NVSWITCH_HEALTHY)
		nvswitch_verdict_add(&verdict, &finding);
	return verdict;
}

/* The source reports that it does not know the state: it counts as silent. */
static void fall_silent(struct health_source *s, const struct memory_report *report)
{
	s->heard = s->up = false;
	s->verdict = (struct nvswitch_verdict){ 0 };
	snprintf(s->error, sizeof(s->error), "%.79s",
		 *report->text ? report->text : "state unknown");
}

bool health_report(struct health *h, unsigned host, const struct memory_report *report,
		   uint64_t now_us)
{
	struct nvswitch_verdict verdict;
	struct health_source *s;
	unsigned index;

	if (!memory_report(health_memory(h, host), report))
		return false;
	s = source_of(h, host, report, &index);
	if (report->state == NVSWITCH_UNKNOWN) {
		fall_silent(s, report);
		return true;
	}
	verdict = verdict_of(report);
	health_hear(h, host, index, &verdict, NULL, now_us);
	return true;
}

void health_report_recall(struct health *h, unsigned host)
{
	const struct memory *m = health_memory(h, host);
	unsigned index;

	for (unsigned i = 0; i < m->nreports; i++) {
		struct health_source *s = source_of(h, host, &m->reports[i], &index);

		if (!s->heard)
			snprintf(s->error, sizeof(s->error), "no report since fmd began");
	}
}
