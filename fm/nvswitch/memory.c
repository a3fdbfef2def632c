/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * memory: events and their ends. The list is short and keeps the worst: a dead NVSwitch has a
 * hundred symptoms.
 *
 * Equal events are one: the same number about the same GPU, NVSwitch and link. A gauge and a log
 * that report the same one are two sources of it.
 */
#include <string.h>
#include <strings.h>
#include "fm/nvswitch/memory.h"

/* ---- Words ----------------------------------------------------------------------------------- */

/*
 * What NVIDIA asks for, what it makes of the host. "Drain and reset" runs on at less capacity: jobs
 * end as they will.
 */
static const struct {
	const char *name;
	enum nvswitch_state state;
	enum nvswitch_remedy remedy;
} actions[ACTIONS] = {
	[ACTION_NONE] = { "none", NVSWITCH_HEALTHY, NVSWITCH_REMEDY_NONE },
	[ACTION_GPU_RESET] = { "GPU reset", NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	[ACTION_NODE_REBOOT] = { "node reboot", NVSWITCH_FATAL, NVSWITCH_REBOOT },
	[ACTION_DRAIN_P2P] = { "drain P2P", NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	[ACTION_DRAIN_AND_RESET] = { "drain and reset", NVSWITCH_DEGRADED_LINK,
				     NVSWITCH_RESET_GPU },
	[ACTION_RECOVER_IMEX] = { "recover IMEX domain", NVSWITCH_DEGRADED_LINK,
				  NVSWITCH_CONTACT_SUPPORT },
	[ACTION_BUS_RESET] = { "bus reset", NVSWITCH_NO_P2P, NVSWITCH_RESET_GPU },
	[ACTION_SYSTEM_REBOOT] = { "system reboot", NVSWITCH_FATAL, NVSWITCH_REBOOT },
};

const char *memory_action_name(unsigned action)
{
	return action < ACTIONS ? actions[action].name : "an unknown action";
}

enum nvswitch_state memory_action_state(unsigned action)
{
	return action < ACTIONS ? actions[action].state : NVSWITCH_NO_P2P;
}

enum nvswitch_remedy memory_action_remedy(unsigned action)
{
	return action < ACTIONS ? actions[action].remedy : NVSWITCH_CONTACT_SUPPORT;
}

const char *memory_end_of(const struct nvswitch_finding *f)
{
	if (f->kind == NVSWITCH_IS_STATE)
		return "the exporter reports it healthy";
	if (f->kind == NVSWITCH_IS_SILENCE)
		return "the exporter reports it again, or an operator clears it";
	if (f->kind == NVSWITCH_IS_REPORT)
		return "its source reports another state, or stops reporting and an operator "
		       "clears it";
	if (f->state == NVSWITCH_FATAL)
		return "a boot or driver start is seen, or lost P2P is complete again with the "
		       "fabric manager done, or an operator clears it";
	return "a reset or boot is seen, or recovery action 0 is reported after it, or lost P2P is "
	       "complete again, or an operator clears it";
}

/* ---- Events ---------------------------------------------------------------------------------- */

static bool same_subject(const struct nvswitch_finding *a, const struct nvswitch_finding *b)
{
	if (a->code != b->code || a->sw != b->sw)
		return false;
	if (a->gpu != b->gpu || (a->gpu < 0 && strcmp(a->pci, b->pci)))
		return false;
	return a->link == b->link || a->link < 0 || b->link < 0;
}

/* Events without a number are compared by their words. */
static struct memory_event *find_event(struct memory *m, const struct nvswitch_finding *f)
{
	for (unsigned i = 0; i < m->nevents; i++) {
		struct nvswitch_finding *other = &m->events[i].finding;

		if (same_subject(other, f) && (f->code || !strcmp(other->text, f->text)))
			return &m->events[i];
	}
	return NULL;
}

static void remove_event(struct memory *m, unsigned i)
{
	memmove(m->events + i, m->events + i + 1, (--m->nevents - i) * sizeof(*m->events));
	m->changed = true;
}

/* The worst first; of equals, what was there before. */
static void insert_event(struct memory *m, const struct memory_event *event)
{
	unsigned at = m->nevents;

	while (at > 0 && m->events[at - 1].finding.state < event->finding.state)
		at--;
	if (at == MEMORY_EVENTS)
		return;
	if (m->nevents == MEMORY_EVENTS)
		m->nevents--;
	memmove(m->events + at + 1, m->events + at, (m->nevents - at) * sizeof(*m->events));
	m->events[at] = *event;
	m->nevents++;
	m->changed = true;
}

void memory_note(struct memory *m, const struct nvswitch_finding *finding, uint8_t from,
		 uint64_t now_us)
{
	struct memory_event *known = find_event(m, finding);
	struct memory_event event = {
		.finding = *finding, .last_us = now_us, .from = from, .times = 1
	};

	event.finding.kind = NVSWITCH_IS_EVENT;
	event.finding.since_us = now_us;
	if (known) {
		event.from |= known->from;
		event.times += known->times;
		event.finding.since_us = known->finding.since_us;
		if (known->finding.trust > finding->trust)
			event.finding.trust = known->finding.trust;
		if (known->finding.state >= finding->state) {
			known->last_us = now_us;
			m->changed |= known->from != event.from;
			known->from = event.from;
			known->times = event.times;
			known->finding.trust = event.finding.trust;
			return;
		}
		remove_event(m, (unsigned)(known - m->events));
	}
	insert_event(m, &event);
}

/* ---- Ends ------------------------------------------------------------------------------------ */

int memory_gpu_by_pci(const struct memory *m, const char *pci)
{
	for (int g = 0; g < MEMORY_GPUS && *pci; g++)
		if (!strcasecmp(m->gpus[g].pci, pci))
			return g;
	return -1;
}

static int gpu_by_uuid(const struct memory *m, const char *uuid, bool *any)
{
	for (int g = 0; g < MEMORY_GPUS; g++) {
		*any |= *m->gpus[g].uuid != '\0';
		if (*uuid && !strcasecmp(m->gpus[g].uuid, uuid))
			return g;
	}
	return -1;
}

static bool is_of(const struct nvswitch_finding *f, int gpu, const char *pci)
{
	return !pci || (gpu >= 0 && f->gpu == gpu) || (*pci && !strcasecmp(f->pci, pci));
}

void memory_reset(struct memory *m, int gpu, const char *pci, enum nvswitch_trust trust)
{
	for (unsigned i = m->nevents; i-- > 0;)
		if (is_of(&m->events[i].finding, gpu, pci) && m->events[i].finding.trust <= trust)
			remove_event(m, i);
	for (int g = 0; g < MEMORY_GPUS && trust > NVSWITCH_ANYONE; g++)
		if (!pci || g == gpu) {
			m->gpus[g].last = (struct gpu_said){ 0 };
			m->gpus[g].dipped = false;
		}
	m->changed = true;
}

void memory_reset_uuid(struct memory *m, const char *uuid, enum nvswitch_trust trust)
{
	bool any = false;
	int gpu = gpu_by_uuid(m, uuid, &any);
	char pci[sizeof(m->events[0].finding.pci)] = "";

	if (gpu >= 0) {
		memory_reset(m, gpu, m->gpus[gpu].pci, trust);
		return;
	}
	for (unsigned i = 0; i < m->nevents && !any; i++) {
		any = *pci && strcmp(pci, m->events[i].finding.pci);
		memcpy(pci, m->events[i].finding.pci, sizeof(pci));
	}
	if (!any && *pci)
		memory_reset(m, -1, pci, trust);
}

void memory_boot(struct memory *m, enum nvswitch_trust trust)
{
	memory_reset(m, -1, NULL, trust);
	for (unsigned n = 0; n < MEMORY_SWITCHES && trust > NVSWITCH_ANYONE; n++) {
		struct switch_said *last = &m->switches[n].last;

		last->has_reset = last->reset_required = false;
		memset(last->links_down, 0, sizeof(last->links_down));
	}
}

void memory_clear(struct memory *m)
{
	memory_boot(m, NVSWITCH_PROVEN);
	for (unsigned g = 0; g < MEMORY_GPUS; g++)
		m->gpus[g].seen = false;
	for (unsigned n = 0; n < MEMORY_SWITCHES; n++) {
		m->switches[n].seen = false;
		m->switches[n].last = (struct switch_said){ 0 };
	}
}

/* ---- Reports --------------------------------------------------------------------------------- */

static struct memory_report *find_report(struct memory *m, const char *source)
{
	for (unsigned i = 0; i < m->nreports; i++)
		if (!strcmp(m->reports[i].source, source))
			return &m->reports[i];
	return NULL;
}

bool memory_report(struct memory *m, const struct memory_report *report)
{
	struct memory_report *kept = find_report(m, report->source);

	if (!kept && m->nreports == MEMORY_REPORTS)
		return false;
	if (!kept)
		kept = &m->reports[m->nreports++];
	else if (kept->state == report->state && kept->ttl_s == report->ttl_s &&
		 !strcmp(kept->text, report->text))
		return true;
	*kept = *report;
	m->changed = true;
	return true;
}

void memory_forget_report(struct memory *m, const char *source)
{
	struct memory_report *gone = find_report(m, source);

	if (!gone)
		return;
	*gone = m->reports[--m->nreports];
	m->changed = true;
}
