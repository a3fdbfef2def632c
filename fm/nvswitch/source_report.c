/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "fm/nvswitch/health.h"
#include "fm/nvswitch/source.h"
#include "topology/base/text.h"

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

/* Adds the sources of the reports in a host's memory that was read from a file, as silent. */
static void health_report_recall(struct health *h, unsigned host)
{
	const struct memory *m = health_memory(h, host);
	unsigned index;

	for (unsigned i = 0; i < m->nreports; i++) {
		struct health_source *s = source_of(h, host, &m->reports[i], &index);

		if (!s->heard)
			snprintf(s->error, sizeof(s->error), "no report since fmd began");
	}
}

/*
 * source_report: `health-report`, by which a program beside fmd is a source: what an operator or a
 * script typed is checked here; source_report.c has what a report counts for. Nothing is opened for
 * it.
 */

#define REPORT_TTL_MAX_S 86400

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

int source_report_hear(struct source_home *home, const struct nvswitch_said *report, char *err,
		       size_t err_size)
{
	unsigned host = health_find(home->health, report->host);
	int state = nvswitch_state_parse(report->state);
	struct memory_report kept = { .state = (uint8_t)state };
	bool heard = false;

	if (!is_source_name(report->source))
		snprintf(err, err_size,
			 "a source is a word of up to %zu letters, digits, '.', '_' and '-'",
			 sizeof(kept.source) - 1);
	else if (host == UINT_MAX)
		snprintf(err, err_size, "the fabric has no host %s, or several", report->host);
	else if (state < 0)
		snprintf(err, err_size,
			 "unknown state %s: HEALTHY, DEGRADED_LINK, NO_P2P, FATAL or UNKNOWN",
			 report->state);
	else if (!*report->reason && state > NVSWITCH_HEALTHY)
		snprintf(err, err_size, "a reason is expected");
	else if (!(report->ttl_s >= 1 && report->ttl_s <= REPORT_TTL_MAX_S))
		snprintf(err, err_size, "the TTL is not in 1..%d s", REPORT_TTL_MAX_S);
	else {
		snprintf(kept.source, sizeof(kept.source), "%s", report->source);
		kept.ttl_s = (uint32_t)report->ttl_s;
		take_reason(&kept, report->reason);
		heard = health_report(home->health, host, &kept, loop_now_us(home->loop));
		if (!heard)
			snprintf(err, err_size, "%s: %d sources report on it already", report->host,
				 MEMORY_REPORTS);
	}
	if (heard)
		source_heard(home);
	return heard ? 0 : -1;
}

static void recall(struct source_home *home, unsigned host)
{
	health_report_recall(home->health, host);
}

const struct health_source_ops source_report = { .name = "health-report", .recall = recall };
