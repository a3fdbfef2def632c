/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "fm/nvswitch/evidence.h"

/* ---- The file -------------------------------------------------------------------------------- */

/*
 * What is remembered of a host as lines of text, each `KIND HOST WORD=VALUE..`:
 *
 *   host HOST system=h100 links=18 told=HEALTHY ports=0 cluster=UUID clique=0 gpus=7
 *   gpu HOST n=0 seen=1 pci=0000:1b:00 uuid=GPU-.. xid=0 told=1f mig=0 fm=3
 *     summary=0 action=0 watch=0 mask=1aa peers=fe pairs=0 up=0 down=0
 *   switch HOST n=2 seen=1 sxid=0 linksxid=0 reset=0 seen0=.. seen1=.. down0=.. down1=..
 *   event HOST state=NO_P2P remedy=2 trust=1 from=1 gpu=2 sw=-1 link=-1 code=74
 *     pci=0000:1b:00 old=0 times=1 text=the rest of the line
 *   report HOST source=redfish state=NO_P2P ttl=60 text=the rest of the line
 *
 * Kinds and words that are not known are passed over, so that an older fmd reads what a newer one
 * wrote. Bit masks are hexadecimal, all other numbers decimal.
 */

/* ---- Writing --------------------------------------------------------------------------------- */

static void write_gpu(const struct memory_gpu *gpu, unsigned n, const char *host, FILE *out)
{
	const struct gpu_said *last = &gpu->last;

	fprintf(out, "gpu %s n=%u seen=%d", host, n, gpu->seen);
	if (*gpu->pci)
		fprintf(out, " pci=%s", gpu->pci);
	if (*gpu->uuid)
		fprintf(out, " uuid=%s", gpu->uuid);
	fprintf(out,
		" xid=%" PRIu32 " xidsource=%u failed=%" PRIu64 " energy=%" PRIu64
		" dipped=%d told=%x mig=%d migmode=%d fm=%u "
		"summary=%u action=%u watch=%u probe=%d mask=%x peers=%" PRIx32 " pairs=%" PRIx32
		" up=%" PRIx64 " down=%" PRIx64 "\n",
		gpu->xid, gpu->gauge_source, gpu->failed_recoveries, gpu->energy, gpu->dipped,
		last->has, last->mig, last->has_mig_mode, last->fm_status, last->summary,
		last->action, last->watch, last->probe_failed, last->mask, last->peers,
		last->pairs_lost, last->links_up, last->links_down);
}

void memory_write(const struct memory *m, const char *host, FILE *out)
{
	static const struct memory_switch no_switch;

	fprintf(out, "host %s system=%s links=%u told=%s heard=%d ports=%u", host,
		nvswitch_expect(m->system)->name, m->links, nvswitch_state_name(m->sources_state),
		m->heard, m->ports);
	if (*m->cluster)
		fprintf(out, " cluster=%s", m->cluster);
	if (m->has_clique)
		fprintf(out, " clique=%" PRIu32, m->clique);
	if (m->declared)
		fprintf(out, " gpus=%u", m->declared);
	fputc('\n', out);
	for (unsigned n = 0; n < MEMORY_GPUS; n++)
		if (m->gpus[n].seen || m->gpus[n].xid || *m->gpus[n].pci)
			write_gpu(&m->gpus[n], n, host, out);
	for (unsigned n = 0; n < MEMORY_SWITCHES; n++)
		if (memcmp(&m->switches[n], &no_switch, sizeof(no_switch)) != 0) {
			const struct switch_said *last = &m->switches[n].last;

			fprintf(out,
				"switch %s n=%u seen=%d sxid=%" PRIu32 " linksxid=%" PRIu32
				" sxidsource=%u reset=%d seen0=%" PRIx64 " seen1=%" PRIx64
				" down0=%" PRIx64 " down1=%" PRIx64 "\n",
				host, n, m->switches[n].seen, m->switches[n].sxid,
				m->switches[n].link_sxid, m->switches[n].gauge_source,
				last->reset_required, last->links_seen[0], last->links_seen[1],
				last->links_down[0], last->links_down[1]);
		}
	for (unsigned i = 0; i < m->nevents; i++) {
		const struct nvswitch_finding *f = &m->events[i].finding;

		fprintf(out,
			"event %s state=%s remedy=%u trust=%u from=%u gpu=%d sw=%d link=%d "
			"code=%" PRIu32,
			host, nvswitch_state_name(f->state), f->remedy, f->trust, m->events[i].from,
			f->gpu, f->sw, f->link, f->code);
		if (*f->pci)
			fprintf(out, " pci=%s", f->pci);
		fprintf(out, " old=%d times=%" PRIu32 " text=%s\n", m->events[i].old,
			m->events[i].times, f->text);
	}
	for (unsigned i = 0; i < m->nreports; i++)
		fprintf(out, "report %s source=%s state=%s ttl=%" PRIu32 " text=%s\n", host,
			m->reports[i].source, nvswitch_state_name(m->reports[i].state),
			m->reports[i].ttl_s, m->reports[i].text);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The value of a word, cut to size. False = it is not there. */
static bool word(const char *line, const char *name, char *to, size_t size)
{
	size_t len = strlen(name);

	for (const char *at = line; (at = strstr(at, name)); at += len) {
		size_t value;

		if (at[len] != '=' || (at > line && at[-1] != ' '))
			continue;
		value = strcspn(at + len + 1, " \n");
		value = value < size ? value : size - 1;
		memcpy(to, at + len + 1, value);
		to[value] = '\0';
		return true;
	}
	return false;
}

static uint64_t number(const char *line, const char *name, int base)
{
	char text[32];

	return word(line, name, text, sizeof(text)) ? strtoull(text, NULL, base) : 0;
}

static int index_of(const char *line, const char *name, int bound)
{
	char text[32];
	long value;

	if (!word(line, name, text, sizeof(text)))
		return -1;
	value = strtol(text, NULL, 10);
	return value >= 0 && value < bound ? value : -1;
}

static bool read_host(struct memory *m, const char *line)
{
	char text[48];
	int system = -1, state = -1;

	*m = (struct memory){ 0 }; /* the first of its lines */
	if (word(line, "system", text, sizeof(text)))
		system = nvswitch_system_parse(text);
	if (word(line, "told", text, sizeof(text)))
		state = nvswitch_state_parse(text);
	if (system >= 0)
		m->system = system;
	if (state >= 0 && state != NVSWITCH_UNKNOWN)
		m->sources_state = state;
	m->heard = number(line, "heard", 10);
	m->ports = number(line, "ports", 10) % (PORTS_CUT_OFF + 1);
	m->links = number(line, "links", 10);
	m->declared = number(line, "gpus", 10) % (MEMORY_GPUS + 1);
	word(line, "cluster", m->cluster, sizeof(m->cluster));
	m->has_clique = word(line, "clique", text, sizeof(text));
	m->clique = number(line, "clique", 10);
	return true;
}

static bool read_gpu(struct memory *m, const char *line)
{
	int n = index_of(line, "n", MEMORY_GPUS);
	struct memory_gpu *gpu;
	struct gpu_said *last;

	if (n < 0)
		return false;
	gpu = &m->gpus[n];
	last = &gpu->last;
	gpu->seen = number(line, "seen", 10);
	word(line, "pci", gpu->pci, sizeof(gpu->pci));
	word(line, "uuid", gpu->uuid, sizeof(gpu->uuid));
	gpu->xid = number(line, "xid", 10);
	gpu->gauge_source = number(line, "xidsource", 10);
	gpu->failed_recoveries = number(line, "failed", 10);
	gpu->energy = number(line, "energy", 10);
	gpu->dipped = number(line, "dipped", 10);
	last->has = number(line, "told", 16);
	last->mig = number(line, "mig", 10);
	last->has_mig_mode = number(line, "migmode", 10);
	last->fm_status = number(line, "fm", 10) % FM_STATUSES;
	last->summary = number(line, "summary", 10);
	last->action = number(line, "action", 10);
	last->watch = number(line, "watch", 10);
	last->probe_failed = number(line, "probe", 10);
	last->mask = number(line, "mask", 16);
	last->peers = number(line, "peers", 16);
	last->pairs_lost = number(line, "pairs", 16);
	last->links_up = number(line, "up", 16);
	last->links_down = number(line, "down", 16);
	return true;
}

static bool read_switch(struct memory *m, const char *line)
{
	int n = index_of(line, "n", MEMORY_SWITCHES);
	struct memory_switch *sw;

	if (n < 0)
		return false;
	sw = &m->switches[n];
	sw->seen = number(line, "seen", 10);
	sw->sxid = number(line, "sxid", 10);
	sw->link_sxid = number(line, "linksxid", 10);
	sw->gauge_source = number(line, "sxidsource", 10);
	sw->last.reset_required = number(line, "reset", 10);
	sw->last.links_seen[0] = number(line, "seen0", 16);
	sw->last.links_seen[1] = number(line, "seen1", 16);
	sw->last.links_down[0] = number(line, "down0", 16);
	sw->last.links_down[1] = number(line, "down1", 16);
	return true;
}

static bool read_event(struct memory *m, const char *line)
{
	const char *words = strstr(line, " text=");
	struct memory_event *event;
	struct nvswitch_finding *f;
	char text[32];
	int state = word(line, "state", text, sizeof(text)) ? nvswitch_state_parse(text) : -1;

	if (!words || state <= NVSWITCH_HEALTHY || state >= NVSWITCH_UNKNOWN)
		return false;
	if (m->nevents == MEMORY_EVENTS)
		return true;
	event = &m->events[m->nevents];
	f = &event->finding;
	*event = (struct memory_event){ .finding = { .state = state, .kind = NVSWITCH_IS_EVENT } };
	f->remedy = number(line, "remedy", 10) % NVSWITCH_REMEDIES;
	f->trust = number(line, "trust", 10) % (NVSWITCH_PROVEN + 1);
	f->gpu = index_of(line, "gpu", MEMORY_GPUS);
	f->sw = index_of(line, "sw", INT8_MAX);
	f->link = index_of(line, "link", INT16_MAX);
	f->code = number(line, "code", 10);
	word(line, "pci", f->pci, sizeof(f->pci));
	snprintf(f->text, sizeof(f->text), "%.*s", (int)strcspn(words + 6, "\n"), words + 6);
	event->from = number(line, "from", 10);
	event->old = number(line, "old", 10);
	event->times = number(line, "times", 10);
	m->nevents++;
	return true;
}

static bool read_report(struct memory *m, const char *line)
{
	const char *words = strstr(line, " text=");
	struct memory_report report = { .ttl_s = number(line, "ttl", 10) };
	char text[32];
	int state = word(line, "state", text, sizeof(text)) ? nvswitch_state_parse(text) : -1;

	if (!words || state < 0 || !word(line, "source", report.source, sizeof(report.source)) ||
	    !*report.source)
		return false;
	report.state = state;
	snprintf(report.text, sizeof(report.text), "%.*s", (int)strcspn(words + 6, "\n"),
		 words + 6);
	memory_report(m, &report);
	return true;
}

bool memory_read(struct memory *m, const char *kind, const char *rest)
{
	static const struct {
		const char *kind;
		bool (*read)(struct memory *m, const char *line);
	} readers[] = { { "host", read_host },
			{ "gpu", read_gpu },
			{ "switch", read_switch },
			{ "event", read_event },
			{ "report", read_report } };

	for (unsigned i = 0; i < sizeof(readers) / sizeof(readers[0]); i++)
		if (!strcmp(readers[i].kind, kind))
			return readers[i].read(m, rest);
	return true;
}

void memory_date(struct memory *m, uint64_t now_us)
{
	for (unsigned i = 0; i < m->nevents; i++)
		if (!m->events[i].last_us)
			m->events[i].last_us = m->events[i].finding.since_us = now_us;
}

/* ---- Events and their ends ------------------------------------------------------------------- */

/*
 * The list of events is short and keeps the worst: a dead NVSwitch has a hundred symptoms.
 *
 * Equal events are one: the same number about the same GPU, NVSwitch and link. A gauge and a log
 * that report the same one are two sources of it.
 */

/* ---- Words ----------------------------------------------------------------------------------- */

/*
 * What NVIDIA asks for, what it makes of the host. "Drain and reset" runs on at less capacity: jobs
 * end as they will.
 */
static const struct memory_action actions[ACTIONS] = {
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

const struct memory_action *memory_action(unsigned action)
{
	static const struct memory_action unknown = { "an unknown action", NVSWITCH_NO_P2P,
						      NVSWITCH_CONTACT_SUPPORT };

	return action < ACTIONS ? &actions[action] : &unknown;
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
		return "a boot is seen and its states are whole, or lost P2P is complete again "
		       "with the fabric manager done, or an operator clears it";
	return "a reset or boot is seen and its states are whole, or recovery action "
	       "0 "
	       "is reported after it, or lost P2P is complete again, or an operator clears it";
}

/* ---- Events ---------------------------------------------------------------------------------- */

/* Whether both are of the same subject. Events without a number are compared by their words. */
static bool is_same(const struct nvswitch_finding *a, const struct nvswitch_finding *b)
{
	if (a->code != b->code || a->sw != b->sw || (!b->code && strcmp(a->text, b->text)))
		return false;
	if (a->gpu != b->gpu || (a->gpu < 0 && strcmp(a->pci, b->pci)))
		return false;
	return a->link == b->link || a->link < 0 || b->link < 0;
}

static void remove_event(struct memory *m, unsigned i)
{
	memmove(m->events + i, m->events + i + 1, (--m->nevents - i) * sizeof(*m->events));
	m->changed = true;
}

void memory_note(struct memory *m, const struct nvswitch_finding *finding, uint8_t from,
		 uint64_t now_us)
{
	struct memory_event *known = NULL;
	struct memory_event event = {
		.finding = *finding, .last_us = now_us, .from = from, .times = 1
	};
	unsigned at;

	for (unsigned i = 0; i < m->nevents && !known; i++)
		if (is_same(&m->events[i].finding, finding))
			known = &m->events[i];
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
			m->changed |= known->from != event.from || known->old;
			known->from = event.from;
			known->old = false;
			known->times = event.times;
			known->finding.trust = event.finding.trust;
			return;
		}
		remove_event(m, known - m->events);
	}
	/* The worst first; of equals, what was there before. */
	at = m->nevents;
	while (at > 0 && m->events[at - 1].finding.state < event.finding.state)
		at--;
	if (at == MEMORY_EVENTS)
		return;
	if (m->nevents == MEMORY_EVENTS)
		m->nevents--;
	memmove(m->events + at + 1, m->events + at, (m->nevents - at) * sizeof(*m->events));
	m->events[at] = event;
	m->nevents++;
	m->changed = true;
}

/* ---- Ends ------------------------------------------------------------------------------------ */

int memory_gpu_by_pci(const struct memory *m, const char *pci)
{
	for (int g = 0; g < MEMORY_GPUS && *pci; g++)
		if (!strcasecmp(m->gpus[g].pci, pci))
			return g;
	return -1;
}

/*
 * States, and what gauges showed, of a GPU, or of all and the NVSwitches (-1); what was ever seen
 * stays known.
 */
static void forget_states(struct memory *m, int gpu, bool gauges)
{
	for (int g = 0; g < MEMORY_GPUS; g++)
		if (gpu < 0 || g == gpu) {
			m->gpus[g].last = (struct gpu_said){ 0 };
			m->gpus[g].dipped = false;
			m->gpus[g].xid = gauges ? 0 : m->gpus[g].xid;
		}
	for (unsigned n = 0; n < MEMORY_SWITCHES && gpu < 0; n++) {
		struct memory_switch *sw = &m->switches[n];

		sw->last.reset_required = false;
		memset(sw->last.links_down, 0, sizeof(sw->last.links_down));
		if (gauges)
			sw->sxid = sw->link_sxid = 0;
	}
	m->changed = true;
}

void memory_reset(struct memory *m, int gpu, const char *pci, enum nvswitch_trust trust)
{
	for (unsigned i = m->nevents; i-- > 0;)
		if ((!pci || (gpu >= 0 && m->events[i].finding.gpu == gpu) ||
		     (*pci && !strcasecmp(m->events[i].finding.pci, pci))) &&
		    m->events[i].finding.trust <= trust)
			remove_event(m, i);
	if (trust > NVSWITCH_ANYONE && (!pci || gpu >= 0))
		forget_states(m, pci ? gpu : -1, false);
	m->changed = true;
}

void memory_reborn(struct memory *m, int gpu, bool gauges)
{
	for (unsigned i = 0; i < m->nevents; i++)
		m->events[i].old |= gpu < 0 || m->events[i].finding.gpu == gpu;
	forget_states(m, gpu, gauges);
}

void memory_end_old(struct memory *m)
{
	for (unsigned i = m->nevents; i-- > 0;)
		if (m->events[i].old)
			remove_event(m, i);
	m->ended = true;
}

/*
 * A host whose leaves are dead is cut off, and proves nothing when they are back. What is heard of
 * a host that is off is of its next incarnation.
 */
void memory_note_ports(struct memory *m, enum memory_ports ports)
{
	enum memory_ports before = m->ports;

	if (ports == before || (ports != PORTS_UP && before != PORTS_UP))
		return;
	m->ports = ports;
	m->changed = true;
	for (unsigned i = 0; i < m->nevents && ports == PORTS_OFF; i++)
		m->events[i].old = true;
	if (ports != PORTS_UP || before != PORTS_OFF)
		return;
	forget_states(m, -1, true);
	if (!m->heard)
		memory_end_old(m); /* a log alone speaks of it, and would do so again */
}

void memory_reset_uuid(struct memory *m, const char *uuid, enum nvswitch_trust trust)
{
	bool any = false;
	char pci[sizeof(m->events[0].finding.pci)] = "";

	for (int g = 0; g < MEMORY_GPUS; g++) {
		any |= *m->gpus[g].uuid != '\0';
		if (*uuid && !strcasecmp(m->gpus[g].uuid, uuid)) {
			memory_reset(m, g, m->gpus[g].pci, trust);
			return;
		}
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
}

void memory_declare(struct memory *m, uint8_t gpus)
{
	m->changed |= m->declared != gpus;
	m->declared = gpus;
	for (unsigned g = 0; g < MEMORY_GPUS; g++)
		m->gpus[g].seen = false;
}

void memory_clear(struct memory *m)
{
	memory_boot(m, NVSWITCH_PROVEN);
	memory_declare(m, m->declared);
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
