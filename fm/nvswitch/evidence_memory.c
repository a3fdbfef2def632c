/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include <strings.h>
#include "fm/nvswitch/evidence.h"
#include "topology/base/mem.h"

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

enum form {
	DECIMAL, /* below `bound`, else 0 */
	HEX,
	INDEX,	/* signed: below `bound`, else -1 */
	OPTION, /* the same; not written where it is 0 */
	AND_1,	/* one less than the member; not written where that is 0 */
	TEXT,	/* a word; not written where it is "" */
	SYSTEM, /* by its name */
	STATE,
	REST, /* a text to the end of the line */
};
struct word {
	const char *name;
	uint16_t at, size;
	enum form form;
	uint64_t bound;
};
#define WORD(of, name, member, form, bound)                                                        \
	{                                                                                          \
		name, offsetof(struct of, member), sizeof(((struct of *)NULL)->member), form,      \
			bound                                                                      \
	}
#define ANY  UINT64_MAX
#define FLAG 2

static const struct word host_words[] = {
	WORD(memory, "system", system, SYSTEM, 0),
	WORD(memory, "links", links, DECIMAL, ANY),
	WORD(memory, "told", sources_state, STATE, 0),
	WORD(memory, "heard", heard, DECIMAL, FLAG),
	WORD(memory, "ports", ports, DECIMAL, PORTS_CUT_OFF + 1),
	WORD(memory, "cluster", cluster, TEXT, 0),
	WORD(memory, "clique", clique, AND_1, UINT32_MAX),
	WORD(memory, "gpus", declared, OPTION, MEMORY_GPUS + 1),
	{ 0 },
};
static const struct word gpu_words[] = {
	WORD(memory_gpu, "seen", seen, DECIMAL, FLAG),
	WORD(memory_gpu, "pci", pci, TEXT, 0),
	WORD(memory_gpu, "uuid", uuid, TEXT, 0),
	WORD(memory_gpu, "xid", xid, DECIMAL, ANY),
	WORD(memory_gpu, "xidsource", gauge_source, DECIMAL, ANY),
	WORD(memory_gpu, "failed", failed_recoveries, DECIMAL, ANY),
	WORD(memory_gpu, "energy", energy, DECIMAL, ANY),
	WORD(memory_gpu, "dipped", dipped, DECIMAL, FLAG),
	WORD(memory_gpu, "told", last.has, HEX, ANY),
	WORD(memory_gpu, "mig", last.mig, DECIMAL, FLAG),
	WORD(memory_gpu, "migmode", last.has_mig_mode, DECIMAL, FLAG),
	WORD(memory_gpu, "fm", last.fm_status, DECIMAL, FM_STATUSES),
	WORD(memory_gpu, "summary", last.summary, DECIMAL, ANY),
	WORD(memory_gpu, "action", last.action, DECIMAL, ANY),
	WORD(memory_gpu, "watch", last.watch, DECIMAL, ANY),
	WORD(memory_gpu, "probe", last.probe_failed, DECIMAL, FLAG),
	WORD(memory_gpu, "mask", last.mask, HEX, ANY),
	WORD(memory_gpu, "peers", last.peers, HEX, ANY),
	WORD(memory_gpu, "pairs", last.pairs_lost, HEX, ANY),
	WORD(memory_gpu, "up", last.links_up, HEX, ANY),
	WORD(memory_gpu, "down", last.links_down, HEX, ANY),
	{ 0 },
};
static const struct word switch_words[] = {
	WORD(memory_switch, "seen", seen, DECIMAL, FLAG),
	WORD(memory_switch, "sxid", sxid, DECIMAL, ANY),
	WORD(memory_switch, "linksxid", link_sxid, DECIMAL, ANY),
	WORD(memory_switch, "sxidsource", gauge_source, DECIMAL, ANY),
	WORD(memory_switch, "reset", last.reset_required, DECIMAL, FLAG),
	WORD(memory_switch, "seen0", last.links_seen[0], HEX, ANY),
	WORD(memory_switch, "seen1", last.links_seen[1], HEX, ANY),
	WORD(memory_switch, "down0", last.links_down[0], HEX, ANY),
	WORD(memory_switch, "down1", last.links_down[1], HEX, ANY),
	{ 0 },
};
static const struct word event_words[] = {
	WORD(memory_event, "state", finding.state, STATE, 0),
	WORD(memory_event, "remedy", finding.remedy, DECIMAL, NVSWITCH_REMEDIES),
	WORD(memory_event, "trust", finding.trust, DECIMAL, NVSWITCH_PROVEN + 1),
	WORD(memory_event, "from", from, DECIMAL, ANY),
	WORD(memory_event, "gpu", finding.gpu, INDEX, MEMORY_GPUS),
	WORD(memory_event, "sw", finding.sw, INDEX, INT8_MAX),
	WORD(memory_event, "link", finding.link, INDEX, INT16_MAX),
	WORD(memory_event, "code", finding.code, DECIMAL, ANY),
	WORD(memory_event, "pci", finding.pci, TEXT, 0),
	WORD(memory_event, "old", old, DECIMAL, FLAG),
	WORD(memory_event, "times", times, DECIMAL, ANY),
	WORD(memory_event, "text", finding.text, REST, 0),
	{ 0 },
};
static const struct word report_words[] = {
	WORD(memory_report, "source", source, TEXT, 0),
	WORD(memory_report, "state", state, STATE, 0),
	WORD(memory_report, "ttl", ttl_s, DECIMAL, ANY),
	WORD(memory_report, "text", text, REST, 0),
	{ 0 },
};

static uint64_t get(const struct word *word, const void *from)
{
	if (word->size == 1)
		return *(const uint8_t *)from;
	if (word->size == 2)
		return *(const uint16_t *)from;
	return word->size == 4 ? *(const uint32_t *)from : *(const uint64_t *)from;
}

static void set(const struct word *word, void *to, uint64_t value)
{
	if (word->size == 1)
		*(uint8_t *)to = value;
	else if (word->size == 2)
		*(uint16_t *)to = value;
	else if (word->size == 4)
		*(uint32_t *)to = value;
	else
		*(uint64_t *)to = value;
}

static void write_words(FILE *out, const struct word *word, const void *of)
{
	for (; word->name; word++) {
		const void *from = (const char *)of + word->at;

		if ((word->form == TEXT && !*(const char *)from) ||
		    ((word->form == OPTION || word->form == AND_1) && !get(word, from)))
			continue;
		fprintf(out, " %s=", word->name);
		if (word->form == TEXT || word->form == REST)
			fputs(from, out);
		else if (word->form == SYSTEM)
			fputs(nvswitch_expect(get(word, from))->name, out);
		else if (word->form == STATE)
			fputs(nvswitch_state_name(get(word, from)), out);
		else if (word->form == INDEX && get(word, from) >= word->bound)
			fputs("-1", out);
		else
			fprintf(out, word->form == HEX ? "%" PRIx64 : "%" PRIu64,
				get(word, from) - (word->form == AND_1));
	}
	fputc('\n', out);
}

/* Parts of the memory that have a line each where they are not all zero, by number. */
static const struct part {
	const char *kind;
	const struct word *words;
	uint32_t at, size, count;
} parts[] = {
	{ "gpu", gpu_words, offsetof(struct memory, gpus), sizeof(struct memory_gpu), MEMORY_GPUS },
	{ "switch", switch_words, offsetof(struct memory, switches), sizeof(struct memory_switch),
	  MEMORY_SWITCHES },
};

void memory_write(const struct memory *m, const char *host, FILE *out)
{
	static const char zero[sizeof(struct memory_switch) + sizeof(struct memory_gpu)];

	fprintf(out, "host %s", host);
	write_words(out, host_words, m);
	ARRAY_EACH (part, parts, ARRAY_SIZE(parts))
		for (unsigned n = 0; n < part->count; n++) {
			const char *at = (const char *)m + part->at + n * part->size;

			if (!memcmp(at, zero, part->size))
				continue;
			fprintf(out, "%s %s n=%u", part->kind, host, n);
			write_words(out, part->words, at);
		}
	ARRAY_EACH (event, m->events, m->nevents) {
		fprintf(out, "event %s", host);
		write_words(out, event_words, event);
	}
}

void memory_write_report(const struct memory_report *report, const char *host, FILE *out)
{
	fprintf(out, "report %s", host);
	write_words(out, report_words, report);
}

/* A value of `len` bytes. False: it is wrong. */
static bool read_value(const struct word *word, const char *value, size_t len, void *to)
{
	char text[48];
	uint64_t number;
	int index;

	if (word->form == TEXT || word->form == REST) {
		len = len < word->size ? len : word->size - 1u;
		memcpy(to, value, len);
		((char *)to)[len] = '\0';
		return true;
	}
	array_printf(text, "%.*s", (int)len, value);
	if (word->form == SYSTEM || word->form == STATE) {
		index = word->form == STATE ? nvswitch_state_parse(text)
					    : nvswitch_system_parse(text);
		if (index >= 0)
			set(word, to, (uint64_t)index);
		return index >= 0;
	}
	number = strtoull(text, NULL, word->form == HEX ? 16 : 10);
	if (number >= word->bound && word->bound != ANY)
		number = word->form == INDEX || word->form == AND_1 ? ANY : 0;
	set(word, to, number + (word->form == AND_1));
	return true;
}

/* Sets the members that the line has words of. False: one of them is wrong. */
static bool read_words(const char *line, const struct word *words, void *of)
{
	bool good = true;

	while (*(line += strspn(line, " \n"))) {
		size_t name = strcspn(line, "= \n"), len;
		const struct word *word = words;

		while (word->name && (strlen(word->name) != name || memcmp(word->name, line, name)))
			word++;
		line += name;
		line += *line == '=';
		len = strcspn(line, word->name && word->form == REST ? "\n" : " \n");
		if (word->name)
			good &= read_value(word, line, len, (char *)of + word->at);
		line += len;
	}
	return good;
}

bool memory_read(struct memory *m, const char *kind, const char *rest, struct memory_report *report)
{
	struct memory_event event = { .finding = { .kind = NVSWITCH_IS_EVENT, NVSWITCH_NOWHERE } };
	bool text = strstr(rest, " text=");
	unsigned n;

	*report = (struct memory_report){ .state = NVSWITCH_STATES };
	if (!strcmp(kind, "host")) { /* the first of its lines */
		*m = (struct memory){ 0 };
		read_words(rest, host_words, m);
		if (m->sources_state == NVSWITCH_UNKNOWN)
			m->sources_state = NVSWITCH_HEALTHY;
		return true;
	}
	ARRAY_EACH (part, parts, ARRAY_SIZE(parts))
		if (!strcmp(kind, part->kind))
			return sscanf(rest, "n=%u", &n) == 1 && n < part->count &&
			       read_words(rest, part->words, (char *)m + part->at + n * part->size);
	if (!strcmp(kind, "event")) {
		if (!text || !read_words(rest, event_words, &event) ||
		    event.finding.state == NVSWITCH_HEALTHY ||
		    event.finding.state == NVSWITCH_UNKNOWN)
			return false;
		if (m->nevents < MEMORY_EVENTS)
			m->events[m->nevents++] = event;
	} else if (!strcmp(kind, "report")) {
		return text && read_words(rest, report_words, report) &&
		       report->state != NVSWITCH_STATES && *report->source;
	}
	return true;
}

/* ---- Events and their ends ------------------------------------------------------------------- */

/*
 * The list of events is short and keeps the worst: a dead NVSwitch has a hundred symptoms.
 *
 * Equal events are one: the same number about the same GPU, NVSwitch and link. A gauge and a log
 * that report the same one are two sources of it.
 */

/* ---- Words ----------------------------------------------------------------------------------- */

const char *memory_end_of(const struct nvswitch_finding *f)
{
	static const char *const ends[] = {
		[NVSWITCH_IS_STATE] = "the exporter reports it healthy",
		[NVSWITCH_IS_SILENCE] = "the exporter reports it again, or an operator clears it",
		[NVSWITCH_IS_REPORT] = ("its source reports another state, or stops reporting and "
					"an operator clears it"),
		[NVSWITCH_IS_EVENT] = ("a reset or boot is seen and its states are whole, or "
				       "recovery action 0 is reported after it, or lost P2P is "
				       "complete again, or an operator clears it"),
	};

	if (f->kind == NVSWITCH_IS_EVENT && f->state == NVSWITCH_FATAL)
		return "a boot is seen and its states are whole, or lost P2P is complete again "
		       "with the fabric manager done, or an operator clears it";
	return ends[f->kind];
}

/* ---- Events ---------------------------------------------------------------------------------- */

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

	/* Events without a number are compared by their words. */
	for (unsigned i = 0; i < m->nevents && !known; i++) {
		const struct nvswitch_finding *a = &m->events[i].finding;

		if (a->code == finding->code && a->sw == finding->sw && a->gpu == finding->gpu &&
		    (a->code || !strcmp(a->text, finding->text)) &&
		    (a->gpu >= 0 || !strcmp(a->pci, finding->pci)) &&
		    (a->link == finding->link || a->link < 0 || finding->link < 0))
			known = &m->events[i];
	}
	event.finding.kind = NVSWITCH_IS_EVENT;
	event.finding.since_us = now_us;
	if (known) {
		event.from |= known->from;
		event.times += known->times;
		event.finding.since_us = known->finding.since_us;
		if (known->finding.trust > finding->trust)
			event.finding.trust = known->finding.trust;
		if (known->finding.state >= finding->state) {
			known->finding.trust = event.finding.trust;
			event.finding = known->finding;
			m->changed |= known->from != event.from || known->old;
			*known = event;
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

void memory_pci(const char *text, char pci[16])
{
	unsigned domain, bus, device;

	if (!strncmp(text, "PCI:", 4))
		text += 4;
	if (sscanf(text, "%8x:%2x:%2x", &domain, &bus, &device) == 3 && domain <= 0xffff)
		snprintf(pci, 16, "%04x:%02x:%02x", domain, bus, device);
}

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
	ARRAY_EACH (it, m->gpus + (gpu < 0 ? 0 : gpu), gpu < 0 ? MEMORY_GPUS : 1u) {
		it->last = (struct gpu_said){ 0 };
		it->dipped = false;
		it->xid = gauges ? 0 : it->xid;
	}
	ARRAY_EACH (sw, m->switches, gpu < 0 ? MEMORY_SWITCHES : 0u) {
		sw->last.reset_required = false;
		mem_zero(&sw->last.links_down, 1);
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
	ARRAY_EACH (event, m->events, m->nevents)
		event->old |= gpu < 0 || event->finding.gpu == gpu;
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

	/* That a host without events is off for a while is of no interest. */
	if (ports == before || (ports != PORTS_UP && before != PORTS_UP) ||
	    (!m->nevents && before == PORTS_UP))
		return;
	m->ports = ports;
	m->changed = true;
	ARRAY_EACH (event, m->events, ports == PORTS_OFF ? m->nevents : 0)
		event->old = true;
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
	ARRAY_EACH (event, m->events, any ? 0 : m->nevents) {
		any |= *pci && strcmp(pci, event->finding.pci);
		memcpy(pci, event->finding.pci, sizeof(pci));
	}
	if (!any && *pci)
		memory_reset(m, -1, pci, trust);
}

void memory_declare(struct memory *m, uint8_t gpus)
{
	m->changed |= m->declared != gpus;
	m->declared = gpus;
	ARRAY_EACH (gpu, m->gpus, MEMORY_GPUS)
		gpu->seen = false;
}

void memory_clear(struct memory *m)
{
	memory_reset(m, -1, NULL, NVSWITCH_PROVEN);
	memory_declare(m, m->declared);
	ARRAY_EACH (sw, m->switches, MEMORY_SWITCHES) {
		sw->seen = false;
		sw->last = (struct switch_said){ 0 };
	}
}
