/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * state: names of states and machines, what a machine has of GPUs, NVSwitches and NVLinks, and the list of what was
 * found on one. A list is short and keeps the worst: a host with one dead switch has a hundred symptoms.
 */
#include <string.h>
#include <strings.h>
#include "fm/nvswitch/state.h"

static const char *const state_names[NVSWITCH_STATES] = {
	[NVSWITCH_HEALTHY] = "HEALTHY", [NVSWITCH_DEGRADED_LINK] = "DEGRADED_LINK",
	[NVSWITCH_NO_P2P] = "NO_P2P",	[NVSWITCH_FATAL] = "FATAL",
	[NVSWITCH_UNKNOWN] = "UNKNOWN",
};

/* DGX A100: 12 links of a GPU over 6 switches; H100 and H200: 18 over 4; B200: 18 over 2. NVL72's switches are not in its compute trays. */
static const struct nvswitch_expect expectations[NVSWITCH_SYSTEMS] = {
	[NVSWITCH_SYSTEM_AUTO] = { "auto", 0, 0, 0 },
	[NVSWITCH_SYSTEM_A100] = { "a100", 8, 6, 12 },
	[NVSWITCH_SYSTEM_H100] = { "h100", 8, 4, 18 },
	[NVSWITCH_SYSTEM_H200] = { "h200", 8, 4, 18 },
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

const char *nvswitch_kind_name(enum nvswitch_kind kind)
{
	static const char *const names[] = { "state", "event", "silence" };

	return names[kind];
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

/* "NVIDIA H100 80GB HBM3" is on an NVSwitch board; "NVIDIA H100 PCIe" and "NVIDIA H100 NVL" are cards. */
enum nvswitch_system nvswitch_system_of_model(const char *model)
{
	static const struct {
		const char *part;
		enum nvswitch_system system;
	} models[] = {
		{ "PCIe", NVSWITCH_SYSTEM_OTHER },  { " NVL", NVSWITCH_SYSTEM_OTHER },
		{ "GB200", NVSWITCH_SYSTEM_NVL72 }, { "GB300", NVSWITCH_SYSTEM_NVL72 },
		{ "A100", NVSWITCH_SYSTEM_A100 },   { "A800", NVSWITCH_SYSTEM_A100 },
		{ "H100", NVSWITCH_SYSTEM_H100 },   { "H800", NVSWITCH_SYSTEM_H100 },
		{ "H200", NVSWITCH_SYSTEM_H200 },   { "B200", NVSWITCH_SYSTEM_B200 },
		{ "B300", NVSWITCH_SYSTEM_B200 },
	};

	for (unsigned i = 0; i < sizeof(models) / sizeof(models[0]); i++)
		if (strstr(model, models[i].part))
			return models[i].system;
	return NVSWITCH_SYSTEM_OTHER;
}

/* Where a finding of that state belongs: behind all that are as bad. */
static unsigned place_of(const struct nvswitch_verdict *verdict, uint8_t state)
{
	unsigned at = verdict->count;

	while (at > 0 && verdict->findings[at - 1].state < state)
		at--;
	return at;
}

void nvswitch_verdict_add(struct nvswitch_verdict *verdict, const struct nvswitch_finding *finding)
{
	unsigned at = place_of(verdict, finding->state);

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
