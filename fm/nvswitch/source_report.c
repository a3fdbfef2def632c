/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * source_report: `health-report`, by which a program beside fmd is a source: what an operator or a
 * script typed is checked here; health_report.c has what a report counts for. Nothing is opened for
 * it.
 */
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "fm/nvswitch/source.h"
#include "topology/text.h"

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
