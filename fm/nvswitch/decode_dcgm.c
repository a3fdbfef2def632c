/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/decoder.h"
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/fields.h"
#include "fm/nvswitch/nmx.h"
#include "topology/base/mem.h"

/*
 * fields: names and releases are of NVIDIA/DCGM's history of dcgm_fields.h up to 4.6.0, which gave
 * some other names. A field that is silent on a machine that is well (an NVSwitch's last error) is
 * none of these.
 */

#define SEEN_ANY  (1u << 31) /* some metric of DCGM */
#define CARDS	  (1u << NVSWITCH_SYSTEM_OTHER)
#define NO_SWITCH (CARDS | 1u << NVSWITCH_SYSTEM_NVL72) /* NVSwitches are not the host's */

static const struct {
	const char *names[3]; /* any of these; the first is shown */
	const char *since, *unknown;
	uint32_t without; /* systems that have no use for it, by bit */
} fields[] = {
	{ { "P2P_NVLINK_STATUS", "NVLINK_P2P_STATUS", "DCGM_EXP_P2P_STATUS" },
	  "DCGM 4.3",
	  "whether GPUs reach each other by NVLink",
	  CARDS },
	{ { "FABRIC_MANAGER_STATUS" },
	  "DCGM 4.0",
	  "whether the fabric manager has set up the GPUs",
	  CARDS },
	{ { "NVSWITCH_LINK_STATUS", "NVLINK_GET_STATE" },
	  "DCGM 3.1",
	  "which NVLinks are down",
	  NO_SWITCH },
	{ { "NVLINK_GET_STATE" }, "DCGM 4.5", "which NVLinks of GPUs are down", CARDS },
	{ { "NVSWITCH_RESET_REQUIRED" },
	  "DCGM 3.1",
	  "whether an NVSwitch needs a reset, or is gone",
	  NO_SWITCH },
	{ { "GET_GPU_RECOVERY_ACTION", "GPU_RECOVERY_ACTION" },
	  "DCGM 4.5",
	  "whether the driver wants a GPU reset or a reboot",
	  CARDS },
	{ { "FABRIC_HEALTH_MASK", "FABRIC_HEALTH_SUMMARY" },
	  "DCGM 4.4.2",
	  "whether routes and bandwidth of the NVLink fabric are whole",
	  CARDS },
	{ { "MIG_MODE" }, "DCGM 3", "whether a GPU is out of P2P on purpose (MIG)", CARDS },
};

static bool starts(const struct exposition_text *name, const char *with)
{
	return name->len >= strlen(with) && !memcmp(name->at, with, strlen(with));
}

void fields_note(uint32_t *seen, struct exposition_text name)
{
	if (!starts(&name, "DCGM_"))
		return;
	*seen |= SEEN_ANY;
	if (starts(&name, "DCGM_FI_DEV_")) {
		name.at += strlen("DCGM_FI_DEV_");
		name.len -= strlen("DCGM_FI_DEV_");
	}
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (unsigned n = 0; n < 3 && fields[i].names[n]; n++)
			if (strlen(fields[i].names[n]) == name.len &&
			    !memcmp(fields[i].names[n], name.at, name.len))
				*seen |= 1u << i;
}

json_t *fields_missing(uint32_t seen, enum nvswitch_system system)
{
	json_t *rows = json_array();

	for (unsigned i = 0; (seen & SEEN_ANY) && i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!(seen >> i & 1) && !(fields[i].without >> system & 1))
			json_array_append_new(
				rows,
				json_pack("{so ss ss}", "field",
					  json_sprintf("DCGM_FI_DEV_%s", fields[i].names[0]),
					  "since", fields[i].since, "unknown", fields[i].unknown));
	return rows;
}

/*
 * decode_dcgm: dcgm-exporter of one host. What an answer says is weighed together with the host's
 * memory (evidence.h); of the endpoint only the fields that it answered with are kept.
 */

#define SLACK_US 1000

struct answer { /* under way */
	uint32_t fields;
	bool rack; /* it has NMX-T's rows */
	struct evidence evidence;
};
struct exporter {
	uint32_t fields; /* fields.h: of the latest answer that was the host's */
	struct answer *answer;
};

static bool reads(const struct target *target)
{
	return true;
}

static void *keep(void)
{
	return mem_alloc(1, sizeof(struct exporter));
}

static void end(void *kept)
{
	struct exporter *e = kept;

	free(e->answer);
	e->answer = NULL;
}

static void drop(void *kept)
{
	end(kept);
	free(kept);
}

static void begin(void *kept, const struct target *target, uint64_t now_us)
{
	struct exporter *e = kept;

	e->answer = mem_alloc(1, sizeof(*e->answer));
	evidence_init(&e->answer->evidence, target->system);
}

static int kind_cb(void *arg, struct exposition_text name)
{
	struct exporter *e = arg;

	fields_note(&e->answer->fields, name);
	e->answer->rack |= nmx_ops.kind(NULL, name) >= 0;
	return evidence_ops.kind(&e->answer->evidence, name);
}

static void sample_cb(void *arg, int kind, const struct exposition_sample *sample)
{
	struct exporter *e = arg;

	evidence_ops.sample(&e->answer->evidence, kind, sample);
}

static const struct exposition_ops ops = { kind_cb, sample_cb };

/*
 * An exporter that names another host of the fabric is at the wrong address: what it says is not
 * this host's.
 */
static bool speaks_of_another(const struct evidence *evidence,
			      const struct decoder_subject *subject)
{
	unsigned host =
		*evidence->host ? health_find(subject->home->health, evidence->host) : UINT_MAX;

	return host != UINT_MAX && host != subject->host;
}

/*
 * A sample may be as old as a state must last: what is reported so soon after an event proves
 * nothing of it.
 */
static void weigh(const struct evidence *evidence, const struct decoder_subject *subject,
		  struct nvswitch_verdict *verdict)
{
	struct health *health = subject->home->health;
	struct memory *memory = health_memory(health, subject->host);
	const struct evidence_context context = {
		.now_us = loop_now_us(subject->home->loop),
		.settle_us = health->conf.worsen_us + SLACK_US,
		.source = (uint8_t)(subject->source < UINT8_MAX ? subject->source : UINT8_MAX),
		.trust = subject->target->trust,
		.progress = (enum fm_progress)subject->home->conf->keys.fm_in_progress,
	};

	evidence_remember(evidence, memory, &context);
	evidence_judge(evidence, memory, &context, verdict);
}

static bool judge(void *kept, const struct decoder_subject *subject,
		  struct nvswitch_verdict *verdict, char *error, size_t error_size)
{
	struct exporter *e = kept;
	const struct answer *answer = e->answer;

	if (speaks_of_another(&answer->evidence, subject)) {
		snprintf(error, error_size, "it reports another host, %.60s",
			 answer->evidence.host);
		return false;
	}
	e->fields = answer->fields;
	weigh(&answer->evidence, subject, verdict);
	if (verdict->state != NVSWITCH_UNKNOWN)
		return true;
	snprintf(error, error_size, "%s",
		 answer->rack ? "NMX-T of a whole rack: its line in nvswitch_hosts_file needs "
				"tray= or slot="
			      : "it reports nothing about NVLinks");
	return false;
}

static json_t *missing(const void *kept, enum nvswitch_system system)
{
	return fields_missing(((const struct exporter *)kept)->fields, system);
}

const struct decoder decoder_dcgm = {
	.reads = reads,
	.keep = keep,
	.drop = drop,
	.ops = &ops,
	.begin = begin,
	.judge = judge,
	.end = end,
	.missing = missing,
};
