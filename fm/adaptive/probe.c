/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/adaptive/probe.h"
#include "fm/mad/batch.h"
#include "fm/mad/wire_registers.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define SWITCHES   8 /* of a kind of device, leaves or others */
#define BLOCKS	   4 /* of a switch: of LIDs whose port is known; and of any */
#define GROUPS	   8
#define LIDS_LEAST 4 /* whose port is known, of a switch that judges */
#define PLACES	   32
#define UNKNOWN	   -1

/* What is sought, in this order, with so many hypotheses. */
enum field { LFT, LFT_PLFT, GROUP, TABLE, PLFT, FIELDS };
static const uint8_t hypotheses[FIELDS] = { PLACES, 4, 2 * PLACES, 4, 4 };
static const char *const names[FIELDS] = { "lft", "lft_plft", "group", "table", "plft" };

struct packing {
	int bit[FIELDS]; /* the lowest one, or UNKNOWN */
	bool stacked;
};

struct reading {
	uint16_t attr;
	uint32_t mod;
	enum { DUE, READ, FAILED } state;
	uint8_t data[WIRE_SMP_DATA];
};

struct probed { /* a switch */
	uint32_t node;
	char firmware[DEVICE_FIRMWARE];
	bool on, private_on;
	struct wire_ar_info info;
	uint32_t blocks[2 * BLOCKS]; /* of LIDs; 0 = none */
	struct reading *readings;
	uint32_t nreadings;
};

struct probe {
	struct fabric_services services;
	struct batch *batch;
	const struct topo *t; /* referenced */
	struct lid_map *lids; /* own */
	struct probed *switches;
	uint32_t nswitches;
	bool chosen; /* switches are those that are probed */
	bool waits;  /* something has yet to be read */
	probe_done_fn *done;
	void *arg;
};

/* ---- Reading --------------------------------------------------------------------------------- */

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	const struct probe *p = owner;
	const struct probed *sw = job->object;
	const struct inv_node *node =
		inventory_find(p->services.inventory, p->t->nodes[sw->node].guid);
	struct reading *reading = &sw->readings[job->arg];

	reading->state = FAILED;
	if (!node || node->gone || node->silent)
		return false;
	if (reading->attr == WIRE_VENDOR_INFO)
		return device_ask(&p->services, node, r);
	r->via.path = node->path;
	r->mad.method = WIRE_GET;
	r->mad.attr_id = reading->attr;
	r->mad.attr_mod = reading->mod;
	r->mad.device = node->guid;
	r->mad.retries = 1;
	r->mad.doubtful = true; /* it may know neither the attribute nor the modifier */
	return true;
}

static void answered(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer)
{
	struct probed *sw = job->object;
	struct reading *reading = &sw->readings[job->arg];

	if (reading->attr == WIRE_VENDOR_INFO)
		device_firmware(answer, sw->firmware);
	reading->state = answer->result == MAD_OK ? READ : FAILED;
	if (reading->state == READ)
		memcpy(reading->data, answer->data, WIRE_SMP_DATA);
}

/* What the switch answers; NULL: it refuses, or it has yet to be asked: then the probe waits. */
static const uint8_t *look(struct probe *p, struct probed *sw, uint16_t attr, uint32_t mod)
{
	ARRAY_EACH (r, sw->readings, sw->nreadings)
		if (r->attr == attr && r->mod == mod) {
			p->waits |= r->state == DUE;
			return r->state == READ ? r->data : NULL;
		}
	sw->readings = mem_grow(sw->readings, sw->nreadings);
	sw->readings[sw->nreadings] = (struct reading){ .attr = attr, .mod = mod };
	batch_add(p->batch, &(struct batch_job){ .object = sw, .arg = sw->nreadings++ });
	p->waits = true;
	return NULL;
}

/* Adds a number that is a byte; 0 needs no place. False: others are there, or it has none. */
static bool put_byte(uint32_t *mod, uint32_t number, int bit)
{
	bool vacant = !number || (bit != UNKNOWN && !(*mod & 0xffu << bit));

	*mod |= number && vacant ? number << bit : 0;
	return vacant;
}

/* A block of ARLinearForwardingTable; NULL as look(), and where its number does not fit. */
static const uint8_t *lft_block(struct probe *p, struct probed *sw, const struct packing *bits,
				uint32_t block, unsigned plft)
{
	uint32_t mod = block << bits->bit[LFT];
	bool fits = mod >> bits->bit[LFT] == block && put_byte(&mod, plft, bits->bit[LFT_PLFT]);

	return block && fits ? look(p, sw, WIRE_AR_LFT, mod) : NULL;
}

/* ---- What is known --------------------------------------------------------------------------- */

/* The port of a switch leads straight to the HCA that has the LID, or to its leaf. */
static bool leads(const struct probe *p, const struct probed *sw, unsigned num, uint16_t lid)
{
	uint32_t end = lid <= p->lids->top ? p->lids->port_of_lid[lid] : TOPO_NONE, next;

	if (end == TOPO_NONE || end < p->t->nswitch_ports || p->t->ports[end].peer == TOPO_NONE ||
	    num > p->t->nodes[sw->node].nports)
		return false;
	next = topo_port(p->t, sw->node, num)->peer;
	return next == end || (next != TOPO_NONE &&
			       p->t->ports[next].node == p->t->ports[p->t->ports[end].peer].node);
}

/* The LID of an HCA at that port, or at the switch behind it; 0 = there is none. */
static uint16_t lid_behind(const struct probe *p, uint32_t node, unsigned num, bool further)
{
	uint32_t peer = topo_port(p->t, node, num)->peer;
	uint16_t lid = 0;

	if (peer == TOPO_NONE || peer >= p->t->nswitch_ports)
		return peer == TOPO_NONE ? 0 : p->lids->lid_of_port[peer];
	for (num = 1; further && num <= p->t->nodes[p->t->ports[peer].node].nports && !lid; num++)
		lid = lid_behind(p, p->t->ports[peer].node, num, false);
	return lid;
}

/* Apart from each other, and not block 0, which is the same whatever its place. */
static void choose_blocks(const struct probe *p, struct probed *sw)
{
	unsigned nports = p->t->nodes[sw->node].nports, top = p->lids->top;

	for (unsigned i = 0; i < BLOCKS; i++) {
		for (unsigned num = 1 + i * nports / BLOCKS; num <= nports && !sw->blocks[i]; num++)
			sw->blocks[i] = lid_behind(p, sw->node, num, true) / WIRE_AR_LFT_BLOCK;
		for (unsigned lid = i * top / BLOCKS; lid <= top && !sw->blocks[BLOCKS + i]; lid++)
			if (p->lids->port_of_lid[lid] != TOPO_NONE)
				sw->blocks[BLOCKS + i] = lid / WIRE_AR_LFT_BLOCK;
	}
}

/* ---- Hypotheses ------------------------------------------------------------------------------ */

enum verdict { NOTHING, RIGHT, WRONG };

/*
 * The static ports of LIDs whose port is known are right, but for few. A second private LFT proves
 * nothing where it is as the first.
 */
static enum verdict test_ports(struct probe *p, struct probed *sw, const struct packing *bits,
			       unsigned plft)
{
	unsigned known = 0, right = 0;
	struct wire_ar_entry entry;
	bool other = !plft;

	ARRAY_EACH (block, sw->blocks, 2 * BLOCKS) {
		const uint8_t *data = lft_block(p, sw, bits, *block, plft);
		const uint8_t *first = plft ? lft_block(p, sw, bits, *block, 0) : NULL;

		other |= data && first && memcmp(data, first, WIRE_SMP_DATA);
		for (unsigned i = 0; *block && i < WIRE_AR_LFT_BLOCK; i++) {
			uint16_t lid = *block * WIRE_AR_LFT_BLOCK + i;
			unsigned num = p->t->nodes[sw->node].nports;

			while (num && !leads(p, sw, num, lid))
				num--;
			known += num > 0;
			if (data)
				wire_ar_entry_decode(data + i * WIRE_AR_ENTRY_BYTES, &entry);
			right += num && data && leads(p, sw, entry.port, lid);
		}
	}
	if (right * 8 < known * 7)
		return known < LIDS_LEAST ? NOTHING : WRONG;
	return known < LIDS_LEAST || !other ? NOTHING : RIGHT;
}

struct used {
	struct wire_ar_entry entry;
	uint16_t lid;
};

/* Entries with groups, each group once, of table 0 or of others. */
static unsigned groups_used(struct probe *p, struct probed *sw, const struct packing *bits,
			    unsigned plft, bool other_tables, struct used used[GROUPS])
{
	unsigned count = 0;

	ARRAY_EACH (block, sw->blocks, 2 * BLOCKS) {
		const uint8_t *data = lft_block(p, sw, bits, *block, plft);

		for (unsigned at = 0; data && at < WIRE_AR_LFT_BLOCK && count < GROUPS; at++) {
			struct used it = { .lid = *block * WIRE_AR_LFT_BLOCK + at };

			wire_ar_entry_decode(data + at * WIRE_AR_ENTRY_BYTES, &it.entry);

			bool leave =
				(it.entry.state != WIRE_AR_FREE && it.entry.state != WIRE_AR_HBF) ||
				!it.entry.table == other_tables;
			for (unsigned i = 0; i < count && !leave; i++)
				leave = used[i].entry.group == it.entry.group;
			if (!leave)
				used[count++] = it;
		}
	}
	return count;
}

/*
 * A set of ports has the entry's static port, and leads somewhere by each: straight to the LID's
 * leaf if that port does.
 */
static bool fits(const struct probe *p, const struct probed *sw, const uint8_t *set,
		 const struct used *used)
{
	const struct topo_node *node = &p->t->nodes[sw->node];
	bool straight = leads(p, sw, used->entry.port, used->lid);

	for (unsigned num = 0; num < 256; num++)
		if (wire_ar_has(set, num) &&
		    (num > node->nports || p->t->ports[node->port0 + num].peer == TOPO_NONE ||
		     (straight && !leads(p, sw, num, used->lid))))
			return false;
	return wire_ar_has(set, used->entry.port);
}

/* All groups in use fit. */
static enum verdict test_groups(struct probe *p, struct probed *sw, const struct packing *bits,
				unsigned plft, bool other_tables)
{
	struct used used[GROUPS];
	unsigned count = groups_used(p, sw, bits, plft, other_tables, used);
	unsigned subgroups = bits->stacked ? 1 : sw->info.subgroups;
	bool fit = true, other = !plft;

	ARRAY_EACH (it, used, count) {
		uint32_t set = it->entry.group * subgroups, mod = set / 2 << bits->bit[GROUP];
		const uint8_t *data = NULL, *first = NULL;

		if (mod >> bits->bit[GROUP] == set / 2 &&
		    put_byte(&mod, it->entry.table, bits->bit[TABLE])) {
			first = plft ? look(p, sw, WIRE_AR_GROUPS, mod) : NULL;
			if (put_byte(&mod, plft, bits->bit[PLFT]))
				data = look(p, sw, WIRE_AR_GROUPS, mod);
		}
		fit &= data && fits(p, sw, data + set % 2 * WIRE_AR_PORTS, it);
		other |= data && first && memcmp(data, first, WIRE_SMP_DATA);
	}
	return !count || (fit && !other) ? NOTHING : fit ? RIGHT : WRONG;
}

static void suppose(struct packing *bits, enum field field, unsigned hypothesis)
{
	bits->bit[field] = hypotheses[field] < PLACES ? hypothesis * 8 : hypothesis % PLACES;
	bits->stacked = field == GROUP ? hypothesis >= PLACES : bits->stacked;
}

static bool is_alike(const struct probe *p, const struct probed *a, const struct probed *b)
{
	return p->t->nodes[a->node].device == p->t->nodes[b->node].device &&
	       !strcmp(a->firmware, b->firmware);
}

static enum verdict test(struct probe *p, struct probed *sw, const struct packing *bits,
			 enum field field)
{
	bool second = field == LFT_PLFT || field == PLFT;

	if ((second && !sw->private_on) || (bits->stacked && sw->info.subgroups < 2))
		return NOTHING;
	return field < GROUP ? test_ports(p, sw, bits, second)
			     : test_groups(p, sw, bits, second, field == TABLE);
}

/*
 * The hypothesis that counts for a kind of device is supposed then, and put into the row; or none
 * is.
 */
static void find(struct probe *p, const struct probed *kind, struct packing *bits, enum field field,
		 json_t *row)
{
	unsigned tallies[2 * PLACES][WRONG + 1] = { 0 };
	unsigned best = 0, least = UINT32_MAX;
	bool alone = false, several = false; /* sub-groups */

	for (unsigned h = 0; h < hypotheses[field]; h++) {
		suppose(bits, field, h);
		ARRAY_EACH (sw, p->switches, p->nswitches)
			if (sw->on && is_alike(p, sw, kind)) {
				tallies[h][test(p, sw, bits, field)]++;
				several |= sw->info.subgroups > 1;
			}
		if (tallies[h][RIGHT] && tallies[h][WRONG] <= least) {
			alone = tallies[h][WRONG] < least;
			least = tallies[best = h][WRONG];
		}
	}
	bits->bit[field] = UNKNOWN;
	if (p->waits || !alone || 3 * least > tallies[best][RIGHT])
		return;
	suppose(bits, field, best);
	if (field == GROUP && several)
		json_put(row, "{ss}", "subgroups", bits->stacked ? "stacked" : "interleaved");
	json_object_set_new(row, names[field],
			    json_pack("{si so}", "bit", bits->bit[field], "agree",
				      json_sprintf("%u/%u", tallies[best][RIGHT],
						   tallies[best][RIGHT] + least)));
}

/* ---- A kind of device ------------------------------------------------------------------------ */

static json_t *judge(struct probe *p, const struct probed *kind)
{
	struct packing bits = { { UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN, UNKNOWN }, false };
	unsigned switches = 0, on = 0, odd = 0;
	json_t *row = json_object();
	bool known = *kind->firmware;

	ARRAY_EACH (sw, p->switches, p->nswitches) {
		const uint8_t *info = look(p, sw, WIRE_ADAPTIVE_INFO, 0);
		const uint8_t *private = look(p, sw, WIRE_PRIVATE_LFT_INFO, 0);

		switches += is_alike(p, sw, kind);
		if (!is_alike(p, sw, kind) || !info)
			continue;
		wire_ar_info_decode(info, &sw->info);

		bool wrong = !sw->info.subgroups || sw->info.subgroups > sw->info.subgroup_cap ||
			     !sw->info.group_cap || sw->info.group_top > sw->info.group_cap;
		sw->private_on = private && wire_private_lft_on(private);
		sw->on = sw->info.on && !wrong;
		on += sw->on;
		odd += wrong;
	}
	for (enum field field = LFT; field < FIELDS && !p->waits; field++)
		if (field == LFT ||
		    (bits.bit[LFT] != UNKNOWN && (field <= GROUP || bits.bit[GROUP] != UNKNOWN)))
			find(p, kind, &bits, field, row);
	json_put(row, "{so ss si si si ss}", "device",
		 json_sprintf("0x%04x", p->t->nodes[kind->node].device), "firmware", kind->firmware,
		 "switches", switches, "on", on, "odd", odd, "result",
		 bits.bit[GROUP] != UNKNOWN ? known ? "found" : "no firmware"
		 : bits.bit[LFT] != UNKNOWN ? "no groups"
		 : on			    ? "not found"
					    : "off");
	return row;
}

bool probe_row_is_sound(const json_t *row)
{
	const char *subgroups = json_text(row, "subgroups");
	json_int_t bit[FIELDS];

	if (json_object_get(row, "subgroups") &&
	    (!subgroups || (strcmp(subgroups, "stacked") && strcmp(subgroups, "interleaved"))))
		return false;

	for (enum field field = LFT; field < FIELDS; field++) {
		const json_t *value = json_object_get(json_object_get(row, names[field]), "bit");
		enum field beside = field < GROUP ? LFT : GROUP;

		bit[field] = json_is_integer(value) ? json_integer_value(value)
			     : value		    ? PLACES
						    : UNKNOWN;
		if (bit[field] >= PLACES ||
		    (field == beside
			     ? bit[field] < 0
			     : bit[field] != UNKNOWN &&
				       (bit[field] & ~24 || bit[field] == bit[beside] / 8 * 8)))
			return false;
	}
	return bit[PLFT] == UNKNOWN || bit[PLFT] != bit[TABLE];
}

/* Some of each kind. */
static void choose(struct probe *p)
{
	uint32_t count = 0;

	for (uint32_t i = 0; i < p->nswitches; i++) {
		struct probed sw = p->switches[i];
		unsigned alike = 0;

		free(sw.readings);
		sw.readings = NULL;
		sw.nreadings = 0;
		ARRAY_EACH (it, p->switches, count)
			alike += is_alike(p, it, &sw) &&
				 !p->t->nodes[it->node].level == !p->t->nodes[sw.node].level;
		if (alike == SWITCHES)
			continue;
		choose_blocks(p, &sw);
		p->switches[count++] = sw;
	}
	p->nswitches = count;
	p->chosen = true;
}

/* Judges by what has been read; where something is missing this is done again behind it. */
static void idle(void *owner)
{
	struct probe *p = owner;
	json_t *rows = json_array();

	p->waits = false;
	for (uint32_t i = 0; !p->chosen && i < p->nswitches; i++)
		look(p, &p->switches[i], WIRE_VENDOR_INFO, 0);
	if (!p->chosen && !p->waits)
		choose(p);
	for (uint32_t i = 0, first = 0; p->chosen && i < p->nswitches; i++, first = 0) {
		while (!is_alike(p, &p->switches[first], &p->switches[i]))
			first++;
		if (first == i)
			json_array_append_new(rows, judge(p, &p->switches[i]));
	}
	if (p->waits)
		json_decref(rows);
	else
		p->done(p->arg, rows); /* may free p */
}

struct probe *probe_new(const struct fabric_services *services, const struct topo *t,
			const struct lid_map *lids, uint32_t only, probe_done_fn *done, void *arg)
{
	static const struct batch_ops ops = { .make = make, .done = answered, .idle = idle };
	struct probe *p = mem_new(p);

	p->services = *services;
	p->batch = batch_new(services->loop, services->mad, &ops, p);
	p->t = topo_ref(t);
	p->lids = lid_map_copy(lids);
	p->done = done;
	p->arg = arg;
	p->switches = mem_array(p->switches, t->nswitches + 1);
	for (uint32_t n = 0; n < t->nswitches; n++)
		if (wire_adaptive_vendor(t->nodes[n].vendor) && (only == TOPO_NONE || only == n))
			p->switches[p->nswitches++] = (struct probed){ .node = n };
	batch_wake(p->batch);
	return p;
}

void probe_free(struct probe *p)
{
	batch_free(p->batch);
	topo_unref(p->t);
	lid_map_free(p->lids);
	ARRAY_EACH (sw, p->switches, p->nswitches)
		free(sw->readings);
	free(p->switches);
	free(p);
}
