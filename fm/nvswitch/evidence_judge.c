/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * evidence_judge: what a host's last states come to, against what the machine should have and ever
 * showed. Events are not judged here: they stand in the host's memory.
 *
 *   FATAL          an NVSwitch that wants a reset; the fabric manager not done for any GPU; a GPU
 *                  that asks for a reboot
 *   NO_P2P         a GPU does not reach another by NVLink, or is gone; the fabric manager not done
 *                  for it; its routes unhealthy; it asks for a reset
 *   DEGRADED_LINK  links down or absent while every GPU reaches every other; capacity said to be
 *                  limited; DCGM's own warnings
 *   UNKNOWN        nothing was said about NVLinks
 *
 * A link that was down when the exporter began is not in its answer, so links are counted against
 * what the machine has. A GPU that is cut up (MIG) is out of peer-to-peer on purpose, of its peers
 * too, and with A100 its links are off: it is left out of all that.
 *
 * Which status of the fabric manager is a failure, and which mask, is as in DCGM's own health watch
 * (DcgmHealthWatch.cpp, 4.5.0).
 */
#include <stdarg.h>
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/evidence_sxid.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- Findings -------------------------------------------------------------------------------- */

#define ABOUT(g, k, r)                                                                             \
	((struct nvswitch_finding){ .kind = (k), .remedy = (r), .gpu = (g), .sw = -1, .link = -1 })
#define GPU(n)	   ABOUT(n, NVSWITCH_IS_STATE, NVSWITCH_RESET_GPU)
#define GONE(n, r) ABOUT(n, NVSWITCH_IS_SILENCE, r)
#define NOWHERE	   GPU(-1)
#define UNNAMED	   ABOUT(-1, NVSWITCH_IS_STATE, NVSWITCH_REMEDY_NONE)

__attribute__((format(printf, 4, 5))) static void find(struct nvswitch_verdict *verdict,
						       enum nvswitch_state state,
						       struct nvswitch_finding finding,
						       const char *format, ...)
{
	va_list args;

	finding.state = state;
	va_start(args, format);
	vsnprintf(finding.text, sizeof(finding.text), format, args);
	va_end(args);
	nvswitch_verdict_add(verdict, &finding);
}

/* ---- Rows of NMX-T, by port ------------------------------------------------------------------ */

/*
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

#define DEVICES	     16	   /* of a tray; an NVL72 has 4 */
#define BER_LIMIT    1e-12 /* effective, after error correction */
#define STATE_ACTIVE 4	   /* IBA 14.2.5.6, PortInfo:PortState */

enum kind { LINK_DOWN, BER, STATE, STATE_TOO, OTHER };

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
};

/* ---- Places ---------------------------------------------------------------------------------- */

/* Decimal, also with zeros before it; or 0x. */
static bool read_number(const char *text, uint64_t max, uint64_t *number)
{
	while (*text == '0' && text[1] >= '0' && text[1] <= '9')
		text++;
	return words_number(text, max, number);
}

bool nmx_place_parse(struct nmx_place *place, const char *word)
{
	bool tray = !strncmp(word, "tray=", 5), slot = !strncmp(word, "slot=", 5);
	uint64_t number;

	if (tray || slot) {
		if (!read_number(word + 5, INT16_MAX, &number))
			return false;
		*(tray ? &place->tray : &place->slot) = (int)number;
		return true;
	}
	if (strncmp(word, "chassis=", 8) || !word[8] || strlen(word + 8) >= sizeof(place->chassis))
		return false;
	strcpy(place->chassis, word + 8);
	return true;
}

bool nmx_place_is_set(const struct nmx_place *place)
{
	return place->tray >= 0 || place->slot >= 0;
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

	for (uint32_t at = hash >> 32;; at++) {
		struct port *port = &nmx->ports[at & (nmx->size - 1)];

		if (!port->guid || (port->guid == guid && port->number == number))
			return port;
	}
}

/* NULL = there is no more room. */
static struct port *port_of(struct nmx *nmx, uint64_t guid, uint16_t number)
{
	struct port *port;

	if (nmx->count * 2 >= nmx->size && nmx->size < NMX_PORTS_MAX * 2) {
		struct nmx larger = { .size = nmx->size ? nmx->size * 2 : 256 };

		larger.ports = mem_array(larger.ports, larger.size);
		for (uint32_t i = 0; i < nmx->size; i++)
			if (nmx->ports[i].guid)
				*place_in(&larger, nmx->ports[i].guid, nmx->ports[i].number) =
					nmx->ports[i];
		free(nmx->ports);
		nmx->ports = larger.ports;
		nmx->size = larger.size;
	}
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
	static const char *const names[] = { [LINK_DOWN] = "Link_Down",
					     [BER] = "Effective_BER",
					     [STATE] = "logical_state",
					     [STATE_TOO] = "Logical_state",
					     [OTHER] = "lid" };
	int kind = OTHER;

	while (kind >= 0 && !exposition_is(name, names[kind]))
		kind--;
	return kind;
}

/* A label's number; `none` where it has none, or one above `max`. */
static uint64_t number_in(const struct exposition_sample *s, const char *label, uint64_t max,
			  uint64_t none)
{
	struct exposition_text text = exposition_label(s, label);
	char copy[24];
	uint64_t number;

	if (!text.len || text.len >= sizeof(copy))
		return none;
	exposition_copy(text, copy, sizeof(copy));
	return read_number(copy, max, &number) ? number : none;
}

static void sample_cb(void *arg, int kind, const struct exposition_sample *s)
{
	struct exposition_text device = exposition_label(s, "Device_ID");
	struct exposition_text label = exposition_label(s, "port_label");
	struct exposition_text state = exposition_label(s, "logical_state");
	uint64_t guid = number_in(s, "Node_GUID", UINT64_MAX, 0);
	uint64_t number = number_in(s, "Port_Number", UINT16_MAX, 0);
	bool gpu = device.len ? *device.at == 'G' : label.len > 3 && !memcmp(label.at, "GPU", 3);
	struct port *port = guid && number && gpu ? port_of(arg, guid, (uint16_t)number) : NULL;
	struct said *said = port ? &port->next : NULL;
	bool active;

	if (!port)
		return;
	if (!said->there) {
		port->tray = number_in(s, "tray_index", INT16_MAX, UINT64_MAX);
		port->slot = number_in(s, "chassis_slot_index", INT16_MAX, UINT64_MAX);
		port->device = number_in(s, "device_num_on_tray", DEVICES - 1, 0);
		exposition_copy_shown(exposition_label(s, "chassis_id"), port->chassis,
				      sizeof(port->chassis));
	}
	said->there = true;
	if (state.len) {
		exposition_copy_shown(state, said->state, sizeof(said->state));
		exposition_copy_shown(exposition_label(s, "down_blame"), said->blame,
				      sizeof(said->blame));
		active = exposition_is(state, "ACT") || exposition_is(state, "Active") ||
			 exposition_is(state, "4");
		said->link = active ? LINK_ACTIVE : LINK_INACTIVE;
	}
	if (kind == LINK_DOWN && s->value >= 0 && s->value < 1e15) {
		said->has_downs = true;
		said->downs = s->value;
	} else if (kind == BER && s->value > said->ber) {
		said->ber = s->value;
	} else if (kind == STATE || kind == STATE_TOO) {
		said->link = s->value == STATE_ACTIVE ? LINK_ACTIVE : LINK_INACTIVE;
		array_printf(said->state, "%d", (int)(s->value < 99 ? s->value : 99));
	}
}

const struct exposition_ops nmx_ops = { kind_of, sample_cb };

/* ---- Answers --------------------------------------------------------------------------------- */

void nmx_begin(struct nmx *nmx, uint64_t now_us)
{
	nmx->now_us = now_us;
	for (uint32_t i = 0; i < nmx->size; i++)
		nmx->ports[i].next = (struct said){ 0 };
}

void nmx_end(struct nmx *nmx)
{
	for (uint32_t i = 0; i < nmx->size; i++) {
		struct port *port = &nmx->ports[i];
		struct said before = port->now;

		if (!port->guid)
			continue;
		/* A counter that is smaller than before began anew. */
		if (before.has_downs && port->next.has_downs && port->next.downs > before.downs) {
			port->rose = true;
			port->rose_us = nmx->now_us;
			port->rose_by = port->next.downs - before.downs;
		}
		port->now = port->next;
		if (!port->next.has_downs) {
			/* What it counted is kept for when it is there again. */
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

static void judge_tally(const struct tally *t, struct nvswitch_verdict *verdict)
{
	const struct port *p = t->first_inactive;
	unsigned dead = 0, all = 0;

	/* A device without one NVLink that works reaches nobody. */
	for (unsigned d = 0; d < DEVICES; d++) {
		all += t->devices[d].ports > 0;
		if (!t->devices[d].ports || t->devices[d].working)
			continue;
		dead++;
		find(verdict, NVSWITCH_NO_P2P, UNNAMED,
		     "GPU device %u of the tray: none of %u NVLinks works", d, t->devices[d].ports);
	}
	if (all && dead == all)
		find(verdict, NVSWITCH_FATAL, UNNAMED, "none of the tray's %u NVLinks works",
		     t->ports);
	if (p)
		find(verdict, NVSWITCH_DEGRADED_LINK, UNNAMED,
		     "%u NVLinks not active, first device %u port %u: %s, blame %s", t->inactive,
		     p->device, p->number, p->now.state, *p->now.blame ? p->now.blame : "unknown");
	if (t->absent)
		find(verdict, NVSWITCH_DEGRADED_LINK, UNNAMED, "%u of %u NVLinks absent", t->absent,
		     t->ports);
	p = t->first_rise;
	if (p)
		find(verdict, NVSWITCH_DEGRADED_LINK, UNNAMED,
		     "NVLinks went down %u times lately, first device %u port %u", t->rises,
		     p->device, p->number);
	p = t->first_high_ber;
	if (p)
		find(verdict, NVSWITCH_DEGRADED_LINK, UNNAMED,
		     "%u NVLinks with bit errors, first device %u port %u: %.1e", t->high_ber,
		     p->device, p->number, p->now.ber);
}

const char *nmx_judge(const struct nmx *nmx, const struct nmx_place *place, uint64_t window_us,
		      struct nvswitch_verdict *verdict)
{
	struct tally t = { 0 };
	const char *chassis = place->chassis;
	bool others = false;

	*verdict = (struct nvswitch_verdict){ .system = NVSWITCH_SYSTEM_NVL72 };
	for (uint32_t i = 0; i < nmx->size; i++) {
		const struct port *port = &nmx->ports[i];
		size_t len = sizeof(port->chassis) - 1;

		if (port->guid && (place->tray < 0 || port->tray == place->tray) &&
		    (place->slot < 0 || port->slot == place->slot) &&
		    (!*place->chassis || !strncmp(port->chassis, place->chassis, len))) {
			if (!port->now.there && !port->was_active)
				continue; /* never worked, and nobody misses it */
			if (port->now.there && !*place->chassis) {
				others |= *chassis && strcmp(chassis, port->chassis);
				chassis = port->chassis;
			}
			t.ports++;
			t.devices[port->device].ports++;
			t.absent += !port->now.there;
			if (port->now.there && port->now.link == LINK_INACTIVE) {
				t.inactive++;
				t.first_inactive = t.first_inactive ? t.first_inactive : port;
			} else if (port->now.there) {
				t.devices[port->device].working++;
			}
			if (port->rose && nmx->now_us - port->rose_us < window_us) {
				t.rises += port->rose_by;
				t.first_rise = t.first_rise ? t.first_rise : port;
			}
			if (port->now.ber > BER_LIMIT) {
				t.high_ber++;
				t.first_high_ber = t.first_high_ber ? t.first_high_ber : port;
			}
		}
	}
	/* A tray that is off is no NVLink fault. */
	if (!t.ports || t.absent == t.ports || others) {
		verdict->state = NVSWITCH_UNKNOWN;
		return others ? "it reports several chassis: chassis= is needed beside tray= or "
				"slot="
			      : "it reports no NVLinks of that tray or slot";
	}
	judge_tally(&t, verdict);
	return NULL;
}

/* ---- A host's last states -------------------------------------------------------------------- */

struct judge {
	const struct evidence *e;
	const struct memory *m;
	const struct evidence_context *c;
	unsigned gpus;	 /* that the machine has */
	unsigned links;	 /* of a GPU, 0 = not known */
	uint32_t exempt; /* GPUs without peers on purpose, by bit */
	struct nvswitch_verdict *verdict;
};

/* ---- What there should be -------------------------------------------------------------------- */

bool evidence_fm_failed(uint8_t status, enum fm_progress progress)
{
	if (status == FM_IN_PROGRESS)
		return progress == FM_PROGRESS_FAILED;
	return status != FM_NOT_SUPPORTED && status != FM_SUCCESS;
}

static uint32_t left_out(const struct memory *m)
{
	unsigned usual = nvswitch_expect(m->system)->gpus, left = m->declared ? m->declared : usual;
	uint32_t out = 0;

	for (unsigned g = 0; g < usual && left < usual; g++)
		if (!m->gpus[g].seen) {
			out |= 1u << g;
			left++;
		}
	return out;
}

uint32_t evidence_exempt(const struct memory *m, enum fm_progress progress)
{
	uint32_t exempt = left_out(m);

	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct gpu_said *last = &m->gpus[g].last;
		bool waits = last->has & HAS_FM && last->fm_status == FM_IN_PROGRESS &&
			     progress == FM_PROGRESS_NORMAL;

		if (last->mig || waits)
			exempt |= 1u << g;
	}
	return exempt;
}

unsigned evidence_gpus_expected(const struct evidence *e, const struct memory *m)
{
	unsigned usual = nvswitch_expect(m->system)->gpus, seen = 0, top = 0;
	bool switches =
		false; /* a board of four has none, and so a manager that is not supported */

	for (unsigned g = 0; g < MEMORY_GPUS; g++) {
		const struct gpu_said *last = &m->gpus[g].last;

		seen += m->gpus[g].seen;
		top = m->gpus[g].seen ? g + 1 : top;
		switches |= last->has & HAS_FM && last->fm_status != FM_NOT_SUPPORTED;
	}
	for (unsigned n = 0; n < MEMORY_SWITCHES; n++)
		switches |= m->switches[n].seen;
	if (top > usual)
		return top;
	return e->configured != NVSWITCH_SYSTEM_AUTO || seen > usual / 2u || switches ? usual : top;
}

/* ---- GPUs ------------------------------------------------------------------------------------ */

/* Any word in this scrape that only a GPU that is there has. An Xid is none. */
static bool is_there(const struct judge *j, unsigned g)
{
	return j->e->gpus[g].said.has & (HAS_STATES | HAS_PRESENT);
}

static const char *const fm_words[FM_STATUSES] = {
	[FM_NOT_SUPPORTED] = "has nothing to do",
	[FM_NOT_STARTED] = "has not started",
	[FM_IN_PROGRESS] = "is not done",
	[FM_SUCCESS] = "is done",
	[FM_FAILURE] = "failed",
	[FM_UNRECOGNIZED] = "has an unknown status",
	[FM_NVML_TOO_OLD] = "has a status that this NVML is too old for",
};

/*
 * NVML's mask: fields of two bits, but for the one of what is configured wrongly. The catalogue
 * says which values are bad; one that nobody knows is said. What NVML's summary calls unhealthy is
 * no P2P.
 */
static void judge_mask(const struct judge *j, unsigned g)
{
	const struct gpu_said *last = &j->m->gpus[g].last;
	struct nvswitch_finding place = GPU(g);

	for (unsigned shift = 0, bits; last->has & HAS_MASK && shift < 16; shift += bits) {
		const struct xid *row;

		bits = shift == 8 ? 4 : 2;
		row = mask_of(shift, last->mask >> shift & ((1u << bits) - 1));
		place.remedy = row->remedy;
		if (!*row->words || (shift == 12 && row->state && /* it waits for its partition */
				     j->c->progress == FM_PROGRESS_NORMAL))
			continue;
		if (row->state)
			find(j->verdict, row->state, place, "GPU %u: NVLink fabric: %s", g,
			     row->words);
		else
			find(j->verdict, NVSWITCH_HEALTHY, place, "GPU %u: NVLink fabric: %s 0x%x",
			     g, row->words, last->mask);
	}
}

/* What it reports as a number or a word: fabric manager, recovery action, health. */
static void judge_reported(const struct judge *j, unsigned g)
{
	const struct gpu_said *last = &j->m->gpus[g].last;
	bool summary = last->has & HAS_SUMMARY;
	struct nvswitch_finding place = GPU(g);

	if (last->has & HAS_FM && evidence_fm_failed(last->fm_status, j->c->progress))
		find(j->verdict, NVSWITCH_NO_P2P, place, "GPU %u: the fabric manager %s", g,
		     fm_words[last->fm_status]);
	else if (last->has & HAS_FM && last->fm_status == FM_IN_PROGRESS &&
		 j->c->progress == FM_PROGRESS_DEGRADED) {
		place.remedy = NVSWITCH_REMEDY_NONE; /* it may end by itself */
		find(j->verdict, NVSWITCH_DEGRADED_LINK, place, "GPU %u: the fabric manager %s", g,
		     fm_words[last->fm_status]);
	}
	if (last->has & HAS_ACTION && last->action != ACTION_NONE) {
		const struct xid *action = action_of(last->action);

		place.remedy = action->remedy;
		find(j->verdict, action->state, place, "GPU %u: recovery action: %s", g,
		     action->words);
	}
	if (summary && last->summary == SUMMARY_UNHEALTHY)
		find(j->verdict, NVSWITCH_NO_P2P, GPU(g), "GPU %u: NVLink fabric unhealthy", g);
	if (summary && last->summary == SUMMARY_LIMITED)
		find(j->verdict, NVSWITCH_DEGRADED_LINK, GPU(g), "GPU %u: NVLink capacity limited",
		     g);
	if (last->has & HAS_WATCH && last->watch > WATCH_PASS)
		find(j->verdict, last->probe_failed ? NVSWITCH_NO_P2P : NVSWITCH_DEGRADED_LINK,
		     GPU(g), "GPU %u: DCGM's health watch of NVLinks: %s", g,
		     last->watch >= WATCH_FAIL ? "fail" : "warning");
}

static void judge_all_gpus(const struct judge *j)
{
	unsigned reporting = 0, failed = 0, gone = 0;
	uint8_t status = FM_SUCCESS;
	struct nvswitch_finding all = NOWHERE;

	all.remedy = NVSWITCH_REBOOT;
	for (unsigned g = 0; g < j->gpus; g++) {
		const struct gpu_said *last = &j->m->gpus[g].last;

		gone += !is_there(j, g) && !(j->exempt >> g & 1);
		if (!is_there(j, g) || !(last->has & HAS_FM))
			continue;
		reporting++;
		if (!evidence_fm_failed(last->fm_status, j->c->progress))
			continue;
		failed++;
		status = last->fm_status;
	}
	if (reporting && failed == reporting)
		find(j->verdict, NVSWITCH_FATAL, all, "the fabric manager %s, for every GPU",
		     fm_words[status]);
	else if (failed && gone)
		find(j->verdict, NVSWITCH_FATAL, all, "a GPU is gone and the fabric manager %s",
		     fm_words[status]);
}

/* Those that are absent first: that others do not reach them follows from it. */
static void judge_gpus(const struct judge *j)
{
	unsigned there = 0;

	for (unsigned g = 0; g < j->gpus; g++)
		there += is_there(j, g);
	for (unsigned g = 0; g < j->gpus && there; g++)
		if (!is_there(j, g) && !(j->exempt >> g & 1)) /* instances of MIG come and go */
			find(j->verdict, NVSWITCH_NO_P2P, GONE(g, NVSWITCH_REBOOT),
			     "GPU %u: absent", g);
	for (unsigned g = 0; g < j->gpus; g++) {
		if (!is_there(j, g))
			continue;
		if (!(j->exempt >> g & 1)) {
			struct nvswitch_finding place = GPU(g);
			const struct gpu_said *told = &j->m->gpus[g].last;
			uint32_t others = ((1u << j->gpus) - 1) & ~(1u << g) & ~j->exempt;
			uint32_t lost = 0;

			if (told->has & HAS_P2P)
				lost |= others & ~told->peers;
			if (told->has & HAS_PAIRS)
				lost |= others & told->pairs_lost;
			place.peers_lost = __builtin_popcount(lost);
			if (lost)
				find(j->verdict, NVSWITCH_NO_P2P, place,
				     "GPU %u: no NVLink to %d of %d GPUs, the first GPU %d", g,
				     __builtin_popcount(lost), __builtin_popcount(others),
				     __builtin_ctz(lost));
			judge_mask(j, g);
		}
		judge_reported(j, g);

		/* Its own links, as NVML has them. Those that were never up are not reported. */
		const struct gpu_said *last = &j->m->gpus[g].last;
		uint64_t reporting = j->e->gpus[g].said.links_up | j->e->gpus[g].said.links_down;
		uint64_t ever = last->links_up | last->links_down;
		unsigned count = __builtin_popcountll(reporting), usual = j->links;
		bool exempt = j->exempt >> g & 1;
		struct nvswitch_finding place = GPU(g);

		if (!(last->has & HAS_LINKS) || (exempt && j->m->system == NVSWITCH_SYSTEM_A100))
			continue;
		if (last->links_down) {
			place.link = __builtin_ctzll(last->links_down);
			find(j->verdict, NVSWITCH_DEGRADED_LINK, place,
			     "GPU %u: %d NVLinks down, the first link %d", g,
			     __builtin_popcountll(last->links_down), place.link);
		}
		if ((unsigned)__builtin_popcountll(ever) > usual)
			usual = __builtin_popcountll(ever);
		if (count && count < usual)
			find(j->verdict, NVSWITCH_DEGRADED_LINK, GONE(g, NVSWITCH_RESET_GPU),
			     "GPU %u: %u of %u NVLinks absent", g, usual - count, usual);
	}
	judge_all_gpus(j);
}

/* ---- NVSwitches and links -------------------------------------------------------------------- */

/* By what each has at all times: an error number is reported only where there was one. */
static void judge_switches(const struct judge *j)
{
	/* Of GPUs that are not in the machine, or cut up: with A100 these are trained off. */
	uint32_t without = j->m->system == NVSWITCH_SYSTEM_A100 ? j->exempt : left_out(j->m);
	unsigned off = __builtin_popcount(without) * j->links;
	unsigned all = j->gpus * j->links, absent, seen = 0, down = 0;
	unsigned there = 0, usual = nvswitch_expect(j->m->system)->switches, ever = 0;
	struct nvswitch_finding first = NOWHERE;

	for (unsigned n = 0; n < MEMORY_SWITCHES; n++) {
		const struct memory_switch *sw = &j->m->switches[n];
		const struct evidence_switch *now = &j->e->switches[n];
		struct nvswitch_finding place = { .sw = n, .gpu = -1, .link = -1 };

		place.code = now->nonfatal;
		if (now->nonfatal)
			find(j->verdict, NVSWITCH_HEALTHY, place, "NVSwitch %u: non-fatal SXid %u",
			     n, now->nonfatal);
		place.code = 0;
		place.remedy = NVSWITCH_RESET_GPU;
		if (sw->last.reset_required)
			find(j->verdict, NVSWITCH_FATAL, place, "NVSwitch %u: needs a reset", n);
		there += now->said.present;
		ever += sw->seen;
		for (unsigned w = 0; w < MEMORY_LINKS / 64; w++) {
			uint64_t bits = sw->last.links_down[w];

			if (bits && !down) {
				first.sw = n;
				first.link = w * 64 + __builtin_ctzll(bits);
			}
			down += __builtin_popcountll(bits);
			seen += __builtin_popcountll(now->said.links_seen[w]);
		}
	}
	usual = ever > usual ? ever : usual;
	if (there && there < usual && !j->e->repeated)
		find(j->verdict, NVSWITCH_DEGRADED_LINK, GONE(-1, NVSWITCH_REBOOT),
		     "%u of %u NVSwitches absent", usual - there, usual);
	/* An exporter that began after they were trained off does not report them. */
	absent = seen && seen < all && !j->e->repeated && nvswitch_expect(j->m->system)->switches
			 ? all - seen
			 : 0;
	if (absent > off) {
		find(j->verdict, NVSWITCH_DEGRADED_LINK, GONE(-1, NVSWITCH_RESET_GPU),
		     "%u of %u NVLinks absent", absent - off, all - off);
		absent = off;
	}
	off -= absent;
	if (down > off)
		find(j->verdict, NVSWITCH_DEGRADED_LINK, first,
		     "%u NVLinks down, the first NVSwitch %d link %d", down - off, first.sw,
		     first.link);
}

/* ---- All of it ------------------------------------------------------------------------------- */

void evidence_judge(const struct evidence *e, const struct memory *m,
		    const struct evidence_context *c, struct nvswitch_verdict *verdict)
{
	struct judge j = { .e = e, .m = m, .c = c, .verdict = verdict };
	uint16_t reporting = 0;
	bool registered = false;

	j.links = m->links ? m->links : nvswitch_expect(m->system)->links;
	*verdict = (struct nvswitch_verdict){ .system = m->system };
	for (unsigned g = 0; g < MEMORY_GPUS; g++)
		reporting |= e->gpus[g].said.has;
	if (!e->states && !(reporting & HAS_STATES)) {
		verdict->state = NVSWITCH_UNKNOWN;
		return;
	}
	j.gpus = evidence_gpus_expected(e, m);
	for (unsigned g = 0; g < MEMORY_GPUS; g++)
		registered |=
			m->gpus[g].last.has & HAS_FM && m->gpus[g].last.fm_status == FM_SUCCESS;
	if (m->system == NVSWITCH_SYSTEM_NVL72 && registered && e->no_domain && !*e->cluster)
		find(verdict, NVSWITCH_NO_P2P, NOWHERE,
		     "registered without a domain: cluster UUID and clique are zero");
	if (m->system == NVSWITCH_SYSTEM_NVL72 && e->cliques_differ)
		find(verdict, NVSWITCH_NO_P2P, NOWHERE,
		     "GPUs are in different cliques: no NVLink between them");
	j.exempt = evidence_exempt(m, c->progress);
	if (m->system != NVSWITCH_SYSTEM_OTHER)
		judge_gpus(&j);
	judge_switches(&j);
	for (unsigned i = 0; i < verdict->count; i++) {
		struct nvswitch_finding *f = &verdict->findings[i];

		f->trust = c->trust;
		if (f->gpu >= 0)
			memcpy(f->pci, m->gpus[f->gpu].pci, sizeof(f->pci));
	}
}
