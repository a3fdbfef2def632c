/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
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

enum line { HOST_LINE, GPU_LINE, SWITCH_LINE, EVENT_LINE, REPORT_LINE, LINES };
enum form {
	DECIMAL, /* below `bound`, else 0 */
	HEX,
	INDEX,	/* signed: below `bound`, else -1 */
	OPTION, /* the same; not written where it is 0 */
	AND_1,	/* one less than the member; not written where that is 0 */
	TEXT,	/* a word; not written where it is "" */
	NAMES,	/* of systems, or of states, by how many there are */
	REST,	/* a text to the end of the line */
};
#define ANY  UINT64_MAX
#define FLAG 2

#define MEMORY_WORD(line, of, name, member, form, bound)                                           \
	{ line, form, offsetof(struct of, member), sizeof(((struct of *)0)->member), name, bound },
static const struct word {
	uint8_t line, form;
	uint16_t at, size;
	const char *name;
	uint64_t bound;
} words[] = {
#include "fm/nvswitch/memory.def"
};

#define PARTS(member) offsetof(struct memory, member), sizeof(((struct memory *)0)->member[0])
static const struct part {
	const char *kind;
	uint32_t at, size, count;
} parts[LINES] = {
	[HOST_LINE] = { "host", 0, sizeof(struct memory), 1 },
	[GPU_LINE] = { "gpu", PARTS(gpus), MEMORY_GPUS },
	[SWITCH_LINE] = { "switch", PARTS(switches), MEMORY_SWITCHES },
	[EVENT_LINE] = { "event", PARTS(events.findings), NVSWITCH_FINDINGS },
	[REPORT_LINE] = { "report", 0, 0, 1 },
};

static const char *const *names_of(const struct word *word)
{
	return word->bound == NVSWITCH_SYSTEMS ? nvswitch_system_names : nvswitch_states;
}

/* A number of a member lies in the low bytes of one of 64 bits. */
static char *low_bytes(const struct word *word, uint64_t *value)
{
	return (char *)value +
	       (__BYTE_ORDER__ == __ORDER_BIG_ENDIAN__ ? sizeof(*value) - word->size : 0);
}

static void write_line(enum line line, const char *host, unsigned n, const void *of, FILE *out)
{
	fprintf(out, "%s %s", parts[line].kind, host);
	if (line == GPU_LINE || line == SWITCH_LINE)
		fprintf(out, " n=%u", n);
	ARRAY_EACH (word, words, ARRAY_SIZE(words)) {
		const char *from = (const char *)of + word->at;
		bool text = word->form == TEXT || word->form == REST;
		uint64_t value = 0;

		if (word->line != line)
			continue;
		if (!text)
			memcpy(low_bytes(word, &value), from, word->size);
		if ((word->form == TEXT && !*from) ||
		    ((word->form == OPTION || word->form == AND_1) && !value))
			continue;
		fprintf(out, " %s=", word->name);
		if (text)
			fputs(from, out);
		else if (word->form == NAMES)
			fputs(names_of(word)[value], out);
		else if (word->form == INDEX && value >= word->bound)
			fputs("-1", out);
		else
			fprintf(out, word->form == HEX ? "%" PRIx64 : "%" PRIu64,
				value - (word->form == AND_1));
	}
	fputc('\n', out);
}

void memory_write(const struct memory *m, const char *host, FILE *out)
{
	static const struct memory zero;

	for (enum line line = HOST_LINE; line < REPORT_LINE; line++) {
		const struct part *part = &parts[line];
		unsigned count = line == EVENT_LINE ? m->events.count : part->count;

		for (unsigned n = 0; n < count; n++) {
			const char *of = (const char *)m + part->at + n * part->size;

			if (line == HOST_LINE || memcmp(of, &zero, part->size))
				write_line(line, host, n, of, out);
		}
	}
}

void memory_write_report(const struct memory_report *report, const char *host, FILE *out)
{
	write_line(REPORT_LINE, host, 0, report, out);
}

/* Sets the members that the text has words of. False: one of them is wrong. */
static bool read_words(const char *text, enum line line, void *of)
{
	bool good = true;

	for (size_t len; *(text += strspn(text, " \n")); text += len) {
		size_t name = strcspn(text, "= \n");
		const struct word *word = words, *end = words + ARRAY_SIZE(words);
		char value[48], *to;

		while (word < end && (word->line != line || strlen(word->name) != name ||
				      memcmp(word->name, text, name)))
			word++;
		text += name;
		text += *text == '=';
		len = strcspn(text, word < end && word->form == REST ? "\n" : " \n");
		if (word == end)
			continue;
		to = (char *)of + word->at;
		array_printf(value, "%.*s", (int)len, text);
		if (word->form == TEXT || word->form == REST) {
			snprintf(to, len < word->size ? len + 1 : word->size, "%s", text);
			continue;
		}

		int index =
			word->form == NAMES ? nvswitch_word(value, names_of(word), word->bound) : 0;

		good &= index >= 0;

		uint64_t number = strtoull(value, NULL, word->form == HEX ? 16 : 10);

		if (number >= word->bound && word->bound != ANY)
			number = word->form == INDEX || word->form == AND_1 ? ANY : 0;
		number += word->form == AND_1;
		if (word->form == NAMES)
			number = (unsigned)index;
		if (index >= 0)
			memcpy(to, low_bytes(word, &number), word->size);
	}
	return good;
}

bool memory_read(struct memory *m, const char *kind, const char *rest, struct memory_report *report)
{
	struct nvswitch_finding event = { .kind = NVSWITCH_IS_EVENT, NVSWITCH_NOWHERE };
	bool text = strstr(rest, " text="), good;
	enum line line = HOST_LINE;
	unsigned n = 0;

	*report = (struct memory_report){ .state = NVSWITCH_STATES };
	while (line < LINES && strcmp(kind, parts[line].kind))
		line++;
	if (line == LINES)
		return true;
	sscanf(rest, "n=%u", &n);
	if (n >= parts[line].count)
		return false;

	void *of = line == EVENT_LINE	 ? (void *)&event
		   : line == REPORT_LINE ? (void *)report
					 : (char *)m + parts[line].at + n * parts[line].size;

	good = read_words(rest, line, of);
	if (line == HOST_LINE && m->sources_state == NVSWITCH_UNKNOWN)
		m->sources_state = NVSWITCH_HEALTHY;
	if (line == EVENT_LINE) {
		good = good && text && event.state != NVSWITCH_HEALTHY &&
		       event.state != NVSWITCH_UNKNOWN;
		if (good)
			nvswitch_verdict_add(&m->events, &event);
	}
	if (line == REPORT_LINE)
		good = good && text && report->state != NVSWITCH_STATES && *report->source;
	return good || line == HOST_LINE;
}

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
		[NVSWITCH_KINDS] = ("a boot is seen and its states are whole, or lost P2P is "
				    "complete again with the fabric manager done, or an operator "
				    "clears it"), /* a FATAL event */
	};
	bool fatal = f->kind == NVSWITCH_IS_EVENT && f->state == NVSWITCH_FATAL;

	return ends[fatal ? NVSWITCH_KINDS : f->kind];
}

/* ---- Events ---------------------------------------------------------------------------------- */

static void remove_event(struct memory *m, unsigned i)
{
	struct nvswitch_finding *list = m->events.findings;

	memmove(list + i, list + i + 1, (--m->events.count - i) * sizeof(*list));
	m->changed = true;
}

void memory_note(struct memory *m, const struct nvswitch_finding *finding, uint8_t from,
		 uint64_t now_us)
{
	struct nvswitch_finding *list = m->events.findings, before = { .since_us = now_us }, event;
	const struct nvswitch_finding *b = finding;
	unsigned at = 0;

	/* Events without a number are compared by their words. */
	for (const struct nvswitch_finding *a = list; at < m->events.count; at++, a++)
		if (a->code == b->code && a->sw == b->sw && a->gpu == b->gpu &&
		    (a->code || !strcmp(a->text, b->text)) &&
		    (a->gpu >= 0 || !strcmp(a->pci, b->pci)) &&
		    (a->link == b->link || a->link < 0 || b->link < 0))
			break;

	bool known = at < m->events.count;

	before = known ? list[at] : before;

	bool stays = known && before.state >= finding->state;

	event = stays ? before : *finding;
	event.kind = NVSWITCH_IS_EVENT;
	event.trust = before.trust > finding->trust ? before.trust : finding->trust;
	event.since_us = before.since_us;
	event.last_us = now_us;
	event.from = from | before.from;
	event.times = before.times + 1;
	event.old = false;
	if (stays) {
		m->changed |= event.from != before.from || before.old;
		list[at] = event;
		return;
	}
	if (known)
		remove_event(m, at);
	m->changed |= nvswitch_verdict_add(&m->events, &event);
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
		it->last = (struct gpu_report){ 0 };
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

void memory_reset(struct memory *m, int gpu, const char *pci)
{
	for (unsigned i = m->events.count; i-- > 0;) {
		const struct nvswitch_finding *event = &m->events.findings[i];

		if (!pci || (gpu >= 0 && event->gpu == gpu) ||
		    (*pci && !strcasecmp(event->pci, pci)))
			remove_event(m, i);
	}
	if (!pci || gpu >= 0)
		forget_states(m, pci ? gpu : -1, false);
}

void memory_reborn(struct memory *m, int gpu, bool gauges)
{
	ARRAY_EACH (event, m->events.findings, m->events.count)
		event->old |= gpu < 0 || event->gpu == gpu;
	forget_states(m, gpu, gauges);
}

void memory_end_old(struct memory *m)
{
	for (unsigned i = m->events.count; i-- > 0;)
		if (m->events.findings[i].old)
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
	    (!m->events.count && before == PORTS_UP))
		return;
	m->ports = ports;
	m->changed = true;
	ARRAY_EACH (event, m->events.findings, ports == PORTS_OFF ? m->events.count : 0)
		event->old = true;
	if (ports != PORTS_UP || before != PORTS_OFF)
		return;
	forget_states(m, -1, true);
	if (!m->heard)
		memory_end_old(m); /* a log alone speaks of it, and would do so again */
}

void memory_reset_uuid(struct memory *m, const char *uuid)
{
	const char *pci = m->events.count ? m->events.findings[0].pci : "";
	bool known = false;

	for (int g = 0; g < MEMORY_GPUS; g++) {
		known |= *m->gpus[g].uuid != '\0';
		if (*uuid && !strcasecmp(m->gpus[g].uuid, uuid)) {
			memory_reset(m, g, m->gpus[g].pci);
			return;
		}
	}
	ARRAY_EACH (event, m->events.findings, known ? 0 : m->events.count)
		known |= strcmp(pci, event->pci);
	if (!known && *pci) { /* of that GPU alone */
		m->events.count = 0;
		m->changed = true;
	}
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
	memory_reset(m, -1, NULL);
	memory_declare(m, m->declared);
	ARRAY_EACH (sw, m->switches, MEMORY_SWITCHES) {
		sw->seen = false;
		sw->last = (struct switch_report){ 0 };
	}
}
