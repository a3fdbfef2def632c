/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nmx: rows of NMX-T, by port.
 *
 *   Link_Down{Device_ID="GB100", logical_state="ACT", device_num_on_tray="2",
 *     chassis_slot_index="27", tray_index="17", chassis_id="1820325172739", down_blame="Unknown",
 *     Node_GUID="0xe1d04a69816f16bc", Port_Number="11", ..}  0 1781993954087
 *
 * A row is of a GPU where Device_ID begins with G or port_label with GPU; switches' own ports have
 * the same links once more, seen from the other end. Older releases have the logical state as a
 * metric too: IBA's PortState, 4 = Active.
 *
 * What an answer says lies beside what is believed until the answer is whole.
 */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/nmx.h"
#include "topology/base/mem.h"

#define DEVICES	     16	   /* of a tray; an NVL72 has 4 */
#define BER_LIMIT    1e-12 /* effective, after error correction */
#define STATE_ACTIVE 4	   /* IBA 14.2.5.6, PortInfo:PortState */

enum kind { LINK_DOWN, BER, STATE, OTHER };

enum link { LINK_UNKNOWN, LINK_ACTIVE, LINK_INACTIVE };

struct said { /* of a port, by one answer */
	bool there, has_downs;
	uint8_t link;
	char state[12], blame[20];
	uint64_t downs;
	double ber;
};
struct port {
	uint64_t guid; /* 0 = a free place: no GUID is */
	uint16_t number;
	int16_t tray, slot;
	uint8_t device;
	char chassis[20];
	struct said now, next; /* of the last whole answer; of the one under way */
	uint64_t rose_us;      /* its Link_Down, last */
	uint32_t rose_by;
	bool was_active, rose;
};
struct nmx {
	struct port *ports; /* [size], by hash, a power of two */
	uint32_t size, count;
	uint64_t now_us;
	bool heard;
};

/* ---- Places ---------------------------------------------------------------------------------- */

static bool parse_index(const char *text, int *index)
{
	char *end;
	unsigned long number = strtoul(text, &end, 10);

	if (end == text || *end || number > INT16_MAX || *text == '-' || *text == '+')
		return false;
	*index = (int)number;
	return true;
}

bool nmx_place_parse(struct nmx_place *place, const char *word)
{
	if (!strncmp(word, "tray=", 5))
		return parse_index(word + 5, &place->tray);
	if (!strncmp(word, "slot=", 5))
		return parse_index(word + 5, &place->slot);
	if (strncmp(word, "chassis=", 8) || !word[8] || strlen(word + 8) >= sizeof(place->chassis))
		return false;
	strcpy(place->chassis, word + 8);
	return true;
}

bool nmx_place_is_set(const struct nmx_place *place)
{
	return place->tray >= 0 || place->slot >= 0;
}

static bool is_at(const struct port *port, const struct nmx_place *place)
{
	return (place->tray < 0 || port->tray == place->tray) &&
	       (place->slot < 0 || port->slot == place->slot) &&
	       (!*place->chassis ||
		!strncmp(port->chassis, place->chassis, sizeof(port->chassis) - 1));
}

/* ---- Ports ----------------------------------------------------------------------------------- */

struct nmx *nmx_new(void)
{
	return mem_alloc(1, sizeof(struct nmx));
}

void nmx_free(struct nmx *nmx)
{
	if (nmx)
		free(nmx->ports);
	free(nmx);
}

static struct port *place_in(const struct nmx *nmx, uint64_t guid, uint16_t number)
{
	uint64_t hash = (guid ^ (uint64_t)number << 48) * 0x9e3779b97f4a7c15ull;

	for (uint32_t at = (uint32_t)(hash >> 32);; at++) {
		struct port *port = &nmx->ports[at & (nmx->size - 1)];

		if (!port->guid || (port->guid == guid && port->number == number))
			return port;
	}
}

static void grow(struct nmx *nmx)
{
	struct nmx larger = { .size = nmx->size ? nmx->size * 2 : 256 };

	larger.ports = mem_alloc(larger.size, sizeof(*larger.ports));
	for (uint32_t i = 0; i < nmx->size; i++)
		if (nmx->ports[i].guid)
			*place_in(&larger, nmx->ports[i].guid, nmx->ports[i].number) =
				nmx->ports[i];
	free(nmx->ports);
	nmx->ports = larger.ports;
	nmx->size = larger.size;
}

/* NULL = there is no more room. */
static struct port *port_of(struct nmx *nmx, uint64_t guid, uint16_t number)
{
	struct port *port;

	if (nmx->count * 2 >= nmx->size && nmx->size < NMX_PORTS_MAX * 2)
		grow(nmx);
	port = place_in(nmx, guid, number);
	if (port->guid)
		return port;
	if (nmx->count == NMX_PORTS_MAX)
		return NULL;
	nmx->count++;
	*port = (struct port){ .guid = guid, .number = number, .tray = -1, .slot = -1 };
	return port;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static int kind_of(void *arg, struct exposition_text name)
{
	static const struct {
		const char *name;
		enum kind kind;
	} kinds[] = { { "Link_Down", LINK_DOWN },
		      { "Effective_BER", BER },
		      { "logical_state", STATE },
		      { "Logical_state", STATE },
		      { "lid", OTHER } };

	for (unsigned i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (strlen(kinds[i].name) == name.len && !memcmp(kinds[i].name, name.at, name.len))
			return kinds[i].kind;
	return -1;
}

struct row { /* labels that count */
	struct exposition_text device, label, state, number, slot, tray, chassis, blame, guid, port;
};

static void read_row(const struct exposition_sample *s, struct row *row)
{
	*row = (struct row){ .device = exposition_label(s, "Device_ID"),
			     .label = exposition_label(s, "port_label"),
			     .state = exposition_label(s, "logical_state"),
			     .number = exposition_label(s, "device_num_on_tray"),
			     .slot = exposition_label(s, "chassis_slot_index"),
			     .tray = exposition_label(s, "tray_index"),
			     .chassis = exposition_label(s, "chassis_id"),
			     .blame = exposition_label(s, "down_blame"),
			     .guid = exposition_label(s, "Node_GUID"),
			     .port = exposition_label(s, "Port_Number") };
}

static bool is_gpu(const struct row *row)
{
	if (row->device.len)
		return *row->device.at == 'G';
	return row->label.len > 3 && !memcmp(row->label.at, "GPU", 3);
}

/* In any base that strtoull knows; `none` where it is no number, or above `max`. */
static uint64_t number_in(struct exposition_text text, uint64_t max, uint64_t none)
{
	char copy[24], *end;
	uint64_t number;

	if (!text.len || text.len >= sizeof(copy))
		return none;
	memcpy(copy, text.at, text.len);
	copy[text.len] = '\0';
	number = strtoull(copy, &end, *copy == '0' && text.len > 2 && copy[1] == 'x' ? 16 : 10);
	return *end || number > max ? none : number;
}

/* Shown later: letters and digits, `_`. */
static void copy_word(struct exposition_text text, char *to, size_t size)
{
	exposition_copy(text, to, size);
	for (; *to; to++)
		if (*to <= ' ' || *to > '~')
			*to = '?';
}

static void take_place(struct port *port, const struct row *row)
{
	port->tray = (int16_t)number_in(row->tray, INT16_MAX, (uint64_t)-1);
	port->slot = (int16_t)number_in(row->slot, INT16_MAX, (uint64_t)-1);
	port->device = (uint8_t)number_in(row->number, DEVICES - 1, 0);
	copy_word(row->chassis, port->chassis, sizeof(port->chassis));
}

static void take_state(struct said *said, const struct row *row)
{
	if (!row->state.len)
		return;
	copy_word(row->state, said->state, sizeof(said->state));
	copy_word(row->blame, said->blame, sizeof(said->blame));
	said->link = !strcmp(said->state, "ACT") || !strcmp(said->state, "Active") ||
				     !strcmp(said->state, "4")
			     ? LINK_ACTIVE
			     : LINK_INACTIVE;
}

static void take_value(struct said *said, enum kind kind, double value)
{
	if (kind == LINK_DOWN && value >= 0 && value < 1e15) {
		said->has_downs = true;
		said->downs = (uint64_t)value;
	} else if (kind == BER && value > said->ber) {
		said->ber = value;
	} else if (kind == STATE) {
		said->link = value == STATE_ACTIVE ? LINK_ACTIVE : LINK_INACTIVE;
		snprintf(said->state, sizeof(said->state), "%d", (int)(value < 99 ? value : 99));
	}
}

static void sample_cb(void *arg, int kind, const struct exposition_sample *s)
{
	struct nmx *nmx = arg;
	struct row row;
	struct port *port;
	uint64_t guid, number;

	read_row(s, &row);
	guid = number_in(row.guid, UINT64_MAX, 0);
	number = number_in(row.port, UINT16_MAX, 0);
	port = guid && number && is_gpu(&row) ? port_of(nmx, guid, (uint16_t)number) : NULL;
	if (!port)
		return;
	if (!port->next.there)
		take_place(port, &row);
	port->next.there = true;
	take_state(&port->next, &row);
	take_value(&port->next, (enum kind)kind, s->value);
}

const struct exposition_ops nmx_ops = { kind_of, sample_cb };

/* ---- Answers --------------------------------------------------------------------------------- */

void nmx_begin(struct nmx *nmx, uint64_t now_us)
{
	nmx->now_us = now_us;
	for (uint32_t i = 0; i < nmx->size; i++)
		nmx->ports[i].next = (struct said){ 0 };
}

/* A counter that is smaller than before began anew. */
static void note_rise(struct port *port, uint64_t now_us)
{
	if (!port->now.has_downs || !port->next.has_downs || port->next.downs <= port->now.downs)
		return;
	port->rose = true;
	port->rose_us = now_us;
	port->rose_by = (uint32_t)(port->next.downs - port->now.downs);
}

void nmx_end(struct nmx *nmx)
{
	nmx->heard = true;
	for (uint32_t i = 0; i < nmx->size; i++) {
		struct port *port = &nmx->ports[i];
		struct said before = port->now;

		if (!port->guid)
			continue;
		note_rise(port, nmx->now_us);
		port->now = port->next;
		if (!port->next
			     .has_downs) { /* what it counted is kept for when it is there again */
			port->now.has_downs = before.has_downs;
			port->now.downs = before.downs;
		}
		port->was_active |= port->now.link == LINK_ACTIVE;
	}
}

/* ---- A host ---------------------------------------------------------------------------------- */

struct tally {
	unsigned ports, absent, inactive, rises, high_ber;
	const struct port *first_inactive, *first_rise, *first_high_ber;
	struct {
		unsigned ports, working;
	} devices[DEVICES];
};

static void count_port(const struct nmx *nmx, const struct port *port, uint64_t window_us,
		       struct tally *t)
{
	if (!port->now.there && !port->was_active)
		return; /* never worked, and nobody misses it */
	t->ports++;
	t->devices[port->device].ports++;
	t->absent += !port->now.there;
	if (port->now.there && port->now.link == LINK_INACTIVE) {
		t->inactive++;
		t->first_inactive = t->first_inactive ? t->first_inactive : port;
	} else if (port->now.there) {
		t->devices[port->device].working++;
	}
	if (port->rose && nmx->now_us - port->rose_us < window_us) {
		t->rises += port->rose_by;
		t->first_rise = t->first_rise ? t->first_rise : port;
	}
	if (port->now.ber > BER_LIMIT) {
		t->high_ber++;
		t->first_high_ber = t->first_high_ber ? t->first_high_ber : port;
	}
}

__attribute__((format(printf, 3, 4))) static void find(struct nvswitch_verdict *verdict,
						       enum nvswitch_state state,
						       const char *format, ...)
{
	struct nvswitch_finding finding = {
		.state = (uint8_t)state, .gpu = -1, .sw = -1, .link = -1
	};
	va_list args;

	va_start(args, format);
	vsnprintf(finding.text, sizeof(finding.text), format, args);
	va_end(args);
	nvswitch_verdict_add(verdict, &finding);
}

/* A device without one NVLink that works reaches nobody. */
static void judge_devices(const struct tally *t, struct nvswitch_verdict *verdict)
{
	unsigned dead = 0, all = 0;

	for (unsigned d = 0; d < DEVICES; d++) {
		all += t->devices[d].ports > 0;
		if (!t->devices[d].ports || t->devices[d].working)
			continue;
		dead++;
		find(verdict, NVSWITCH_NO_P2P,
		     "GPU device %u of the tray: none of %u NVLinks works", d, t->devices[d].ports);
	}
	if (all && dead == all)
		find(verdict, NVSWITCH_FATAL, "none of the tray's %u NVLinks works", t->ports);
}

static void judge_links(const struct tally *t, struct nvswitch_verdict *verdict)
{
	const struct port *p = t->first_inactive;

	if (p)
		find(verdict, NVSWITCH_DEGRADED_LINK,
		     "%u NVLinks not active, first device %u port %u: %s, blame %s", t->inactive,
		     p->device, p->number, p->now.state, *p->now.blame ? p->now.blame : "unknown");
	if (t->absent)
		find(verdict, NVSWITCH_DEGRADED_LINK, "%u of %u NVLinks absent", t->absent,
		     t->ports);
	p = t->first_rise;
	if (p)
		find(verdict, NVSWITCH_DEGRADED_LINK,
		     "NVLinks went down %u times lately, first device %u port %u", t->rises,
		     p->device, p->number);
	p = t->first_high_ber;
	if (p)
		find(verdict, NVSWITCH_DEGRADED_LINK,
		     "%u NVLinks with bit errors, first device %u port %u: %.1e", t->high_ber,
		     p->device, p->number, p->now.ber);
}

void nmx_judge(const struct nmx *nmx, const struct nmx_place *place, uint64_t window_us,
	       struct nvswitch_verdict *verdict)
{
	struct tally t = { 0 };

	*verdict = (struct nvswitch_verdict){ .system = NVSWITCH_SYSTEM_NVL72 };
	for (uint32_t i = 0; i < nmx->size; i++)
		if (nmx->ports[i].guid && is_at(&nmx->ports[i], place))
			count_port(nmx, &nmx->ports[i], window_us, &t);
	if (!t.ports || t.absent == t.ports) {
		verdict->state = NVSWITCH_UNKNOWN; /* a tray that is off is no NVLink fault */
		return;
	}
	judge_devices(&t, verdict);
	judge_links(&t, verdict);
}
