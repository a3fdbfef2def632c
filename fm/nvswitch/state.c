/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state: names of states and machines, what a machine has of GPUs, NVSwitches and NVLinks, and the
 * list of what was found on one. A list is short and keeps the worst: a host with one dead switch
 * has a hundred symptoms.
 */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "fm/nvswitch/state.h"
#include "fm/nvswitch/module.h"

static const char *const state_names[NVSWITCH_STATES] = {
	[NVSWITCH_HEALTHY] = "HEALTHY", [NVSWITCH_DEGRADED_LINK] = "DEGRADED_LINK",
	[NVSWITCH_NO_P2P] = "NO_P2P",	[NVSWITCH_FATAL] = "FATAL",
	[NVSWITCH_UNKNOWN] = "UNKNOWN",
};

/*
 * DGX A100: 12 links of a GPU over 6 switches; H100 and H200: 18 over 4; B200: 18 over 2. NVL72's
 * switches are not in its compute trays.
 */
static const struct nvswitch_expect expectations[NVSWITCH_SYSTEMS] = {
	[NVSWITCH_SYSTEM_AUTO] = { "auto", 0, 0, 0 },
	[NVSWITCH_SYSTEM_A100] = { "a100", 8, 6, 12 },
	[NVSWITCH_SYSTEM_H100] = { "h100", 8, 4, 18 },
	[NVSWITCH_SYSTEM_H200] = { "h200", 8, 4, 18 },
	[NVSWITCH_SYSTEM_H20] = { "h20", 8, 4, 18 },
	[NVSWITCH_SYSTEM_B200] = { "b200", 8, 2, 18 },
	[NVSWITCH_SYSTEM_NVL72] = { "nvl72", 4, 0, 18 },
	[NVSWITCH_SYSTEM_OTHER] = { "other", 0, 0, 0 },
};

const char *nvswitch_state_name(enum nvswitch_state state)
{
	return state_names[state];
}

int nvswitch_state_parse(const char *text)
{
	for (int i = 0; i < NVSWITCH_STATES; i++)
		if (!strcasecmp(text, state_names[i]))
			return i;
	return -1;
}

bool nvlink_is_state(const char *text, bool unknown)
{
	int state = nvswitch_state_parse(text);

	return state >= 0 && (unknown || state != NVSWITCH_UNKNOWN);
}

const char *nvswitch_trust_name(enum nvswitch_trust trust)
{
	static const char *const names[] = { "anyone", "asked", "proven" };

	return names[trust];
}

const char *nvswitch_remedy_name(enum nvswitch_remedy remedy)
{
	static const char *const names[NVSWITCH_REMEDIES] = { "none", "restart job", "reset GPU",
							      "reboot", "contact support" };

	return names[remedy];
}

const struct nvswitch_expect *nvswitch_expect(enum nvswitch_system system)
{
	return &expectations[system];
}

int nvswitch_system_parse(const char *text)
{
	for (int i = 0; i < NVSWITCH_SYSTEMS; i++)
		if (!strcasecmp(text, expectations[i].name))
			return i;
	return -1;
}

void nvswitch_verdict_add(struct nvswitch_verdict *verdict, const struct nvswitch_finding *finding)
{
	unsigned at = verdict->count;

	while (at > 0 && verdict->findings[at - 1].state < finding->state)
		at--; /* behind all that are as bad */
	if (finding->state > verdict->state)
		verdict->state = finding->state;
	if (verdict->count < NVSWITCH_FINDINGS)
		verdict->count++;
	else
		verdict->more++;
	if (at == NVSWITCH_FINDINGS)
		return;
	memmove(verdict->findings + at + 1, verdict->findings + at,
		(verdict->count - 1u - at) * sizeof(*finding));
	verdict->findings[at] = *finding;
}

void nvswitch_find(struct nvswitch_verdict *verdict, enum nvswitch_state state,
		   struct nvswitch_finding finding, const char *format, ...)
{
	va_list args;

	finding.state = state;
	va_start(args, format);
	vsnprintf(finding.text, sizeof(finding.text), format, args);
	va_end(args);
	nvswitch_verdict_add(verdict, &finding);
}
