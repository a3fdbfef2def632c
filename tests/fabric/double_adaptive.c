/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tests/fabric/double_adaptive.h"
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_smp.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define GROUP_BITS 12
#define LFT_BITS   12

/* ---- Packings -------------------------------------------------------------------------------- */

static bool byte_is_free(unsigned byte, unsigned first, unsigned bits)
{
	return byte + 8 <= first || byte >= first + bits;
}

/* A byte beside the field, and beside `taken`. */
static uint8_t draw_byte(uint64_t *random, unsigned first, unsigned bits, unsigned taken)
{
	unsigned byte;

	do
		byte = random_next(random) % 4 * 8;
	while (!byte_is_free(byte, first, bits) || byte == taken);
	return (uint8_t)byte;
}

/* The lowest bit of a field that leaves so many bytes free. */
static uint8_t draw_field(uint64_t *random, unsigned bits, unsigned least)
{
	unsigned first, bytes;

	do {
		first = random_next(random) % (33 - bits);
		bytes = 0;
		for (unsigned byte = 0; byte < 32; byte += 8)
			bytes += byte_is_free(byte, first, bits);
	} while (bytes < least);
	return (uint8_t)first;
}

struct double_packing double_packing_draw(uint64_t seed, uint16_t top)
{
	uint64_t random = seed + 1;
	struct double_packing p = { .lft_bits = 1 };

	for (unsigned i = 0; i < 8; i++)
		random_next(&random);
	while (top / WIRE_AR_LFT_BLOCK >> p.lft_bits)
		p.lft_bits++;
	if (random_next(&random) % 2)
		p.lft_bits = LFT_BITS;
	p.lft_block = draw_field(&random, p.lft_bits, 1);
	p.lft_plft = draw_byte(&random, p.lft_block, p.lft_bits, 32);
	p.group_block = draw_field(&random, GROUP_BITS, 2);
	p.group_table = draw_byte(&random, p.group_block, GROUP_BITS, 32);
	p.group_plft = draw_byte(&random, p.group_block, GROUP_BITS, p.group_table);
	p.stacked = random_next(&random) % 2;
	p.lenient = random_next(&random) % 2;
	return p;
}

struct double_ar_plan double_ar_plan_draw(uint64_t seed)
{
	uint64_t random = seed + 77;
	struct double_ar_plan plan = { 0 };

	for (unsigned i = 0; i < 8; i++)
		random_next(&random);
	plan.own_numbers = random_next(&random) % 2;
	plan.hbf = random_next(&random) % 2;
	plan.thin = random_next(&random) % 2;
	plan.second = random_next(&random) % 2;
	plan.subgroups = 1 + random_next(&random) % 2;
	plan.tables = 1 + random_next(&random) % 2;
	plan.plfts = 1 + random_next(&random) % 2;
	return plan;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

static struct wire_ar_info info_of(const struct dnode *sw)
{
	struct wire_ar_info info;

	wire_ar_info_decode(sw->adaptive, &info);
	return info;
}

static uint8_t *block_of(struct dar_table *table, uint32_t block)
{
	if (block >= table->count) {
		table->blocks = mem_resize(table->blocks, block + 1, WIRE_SMP_DATA);
		memset(table->blocks + (size_t)table->count * WIRE_SMP_DATA, 0,
		       (size_t)(block + 1 - table->count) * WIRE_SMP_DATA);
		table->count = block + 1;
	}
	return table->blocks + (size_t)block * WIRE_SMP_DATA;
}

static void table_read(const struct dar_table *table, uint32_t block, uint8_t *data)
{
	memset(data, 0, WIRE_SMP_DATA);
	if (block < table->count)
		memcpy(data, table->blocks + (size_t)block * WIRE_SMP_DATA, WIRE_SMP_DATA);
}

/* Which set of the table a group's sub-group is. */
static uint32_t set_of(const struct dnode *sw, uint32_t group, unsigned sub)
{
	struct wire_ar_info info = info_of(sw);
	unsigned subs = info.subgroups ? info.subgroups : 1;

	return sw->ar->packing.stacked ? sub * info.group_cap + group : group * subs + sub;
}

static uint8_t *set_place(struct dnode *sw, unsigned plft, unsigned table, uint32_t set)
{
	return block_of(&sw->ar->groups[plft][table], set / 2) + set % 2 * WIRE_AR_PORTS;
}

static void entry_put(struct dnode *sw, unsigned plft, uint16_t lid,
		      const struct wire_ar_entry *entry)
{
	uint8_t *block = block_of(&sw->ar->lft[plft], lid / WIRE_AR_LFT_BLOCK);

	wire_ar_entry_encode(entry, block + lid % WIRE_AR_LFT_BLOCK * WIRE_AR_ENTRY_BYTES);
}

void adaptive_forget(struct dnode *sw)
{
	struct wire_ar_info info;

	if (!sw->ar)
		return;
	for (unsigned plft = 0; plft < DOUBLE_PLFTS; plft++) {
		sw->ar->lft[plft].count = 0;
		for (unsigned table = 0; table < 16; table++)
			sw->ar->groups[plft][table].count = 0;
	}
	memset(sw->ar->numbers, 0, sizeof(sw->ar->numbers));
	info = info_of(sw);
	info.on = info.fr = info.rn_xmit = info.hbf_by_sl = info.whbf = info.pfrn = false;
	info.group_top = 0;
	info.subgroups = 1;
	wire_ar_info_encode(&info, sw->adaptive);
	memset(sw->private_lft, 0, sizeof(sw->private_lft));
}

void adaptive_free(struct dnode *sw)
{
	if (!sw->ar)
		return;
	for (unsigned plft = 0; plft < DOUBLE_PLFTS; plft++) {
		free(sw->ar->lft[plft].blocks);
		for (unsigned table = 0; table < 16; table++)
			free(sw->ar->groups[plft][table].blocks);
	}
	free(sw->ar->sent);
	free(sw->ar->live);
	free(sw->ar);
	sw->ar = NULL;
}

void double_adaptive_able(struct double_fabric *d, guid_t guid,
			  const struct double_packing *packing, const struct double_ar_caps *caps)
{
	struct dnode *sw = double_node(d, guid);
	const struct wire_ar_info info = {
		.dynamic_cap = true,
		.by_transport_able = true,
		.by_sl_able = true,
		.copy_cap = 1,
		.subgroups = 1,
		.fr_able = true,
		.arn_able = true,
		.frn_able = true,
		.tables = caps && caps->tables ? caps->tables : 2,
		.group_cap = caps && caps->groups ? caps->groups : 0xfff,
		.subgroup_cap = caps && caps->subgroups ? caps->subgroups : 2,
		.version = 1,
		.hbf_able = true,
	};

	adaptive_free(sw);
	sw->ar = mem_alloc(1, sizeof(*sw->ar));
	sw->ar->packing = *packing;
	sw->ar->random = guid | 1;
	sw->ar->sent = mem_alloc(sw->ni.nports + 1u, sizeof(*sw->ar->sent));
	sw->has_caps = true;
	sw->caps[3] |= 1 << WIRE_CAP_PRIVATE_LFT | 1 << WIRE_CAP_ADAPTIVE;
	wire_ar_info_encode(&info, sw->adaptive);
	memset(sw->private_lft, 0, sizeof(sw->private_lft));
	ways_changed(d);
}

void double_adaptive_answers(struct double_fabric *d, guid_t guid, enum double_ar_answers how)
{
	double_node(d, guid)->ar->answers = how;
}

const struct double_packing *double_adaptive_packing(const struct double_fabric *d, guid_t guid)
{
	const struct dnode *sw = double_node(d, guid);

	return sw->ar ? &sw->ar->packing : NULL;
}

/* ---- Its agent ------------------------------------------------------------------------------- */

/* A field of the modifier, whose bits are taken out of *rest. */
static uint32_t take(uint32_t *rest, unsigned first, unsigned bits)
{
	uint32_t mask = (uint32_t)((1ull << bits) - 1) << first, value = (*rest & mask) >> first;

	*rest &= ~mask;
	return value;
}

static struct dar_table *lft_named(struct smp_request *r, uint32_t *block)
{
	const struct double_packing *p = &r->node->ar->packing;
	uint32_t rest = r->mod, plft;

	*block = take(&rest, p->lft_block, p->lft_bits);
	plft = take(&rest, p->lft_plft, 8);
	if ((rest && !p->lenient) || plft >= DOUBLE_PLFTS ||
	    *block * WIRE_AR_LFT_BLOCK >= r->node->si.lft_cap)
		return NULL;
	return &r->node->ar->lft[plft];
}

static struct dar_table *groups_named(struct smp_request *r, uint32_t *block)
{
	const struct double_packing *p = &r->node->ar->packing;
	struct wire_ar_info info = info_of(r->node);
	uint32_t rest = r->mod, plft, table;

	*block = take(&rest, p->group_block, GROUP_BITS);
	plft = take(&rest, p->group_plft, 8);
	table = take(&rest, p->group_table, 8);
	if ((rest && !p->lenient) || plft >= DOUBLE_PLFTS || table >= info.tables ||
	    *block * 2 >= info.group_cap * (info.subgroups ? info.subgroups : 1u))
		return NULL;
	return &r->node->ar->groups[plft][table];
}

/* The answer of an agent that is not to be believed; false: there is none but the true one. */
static bool answer_wrongly(struct smp_request *r, const struct dar_table *table, uint16_t *status)
{
	struct dar *ar = r->node->ar;
	uint64_t noise = r->mod * 0x9e3779b97f4a7c15ull + r->node->guid;

	*status = 0;
	switch (ar->answers) {
	case DOUBLE_AR_TRUE:
	case DOUBLE_AR_ANSWERS:
		return false;
	case DOUBLE_AR_GARBAGE:
	case DOUBLE_AR_NOISE:
		for (unsigned i = 0; i < WIRE_SMP_DATA; i++)
			r->data[i] = (uint8_t)random_next(
				ar->answers == DOUBLE_AR_NOISE ? &noise : &ar->random);
		return true;
	case DOUBLE_AR_ZEROS:
		memset(r->data, 0, WIRE_SMP_DATA);
		return true;
	case DOUBLE_AR_SAME:
		table_read(table, table->count / 2, r->data);
		return true;
	case DOUBLE_AR_REFUSES:
		*status = STATUS_BAD_FIELD;
		return true;
	case DOUBLE_AR_NEAR:
		break;
	}
	return false;
}

static uint16_t table_get(struct smp_request *r, bool lft)
{
	struct dar *ar = r->node->ar;
	struct dar_table *table;
	uint32_t block;
	uint16_t status;

	if (!ar)
		return STATUS_UNSUPPORTED;
	if (answer_wrongly(r, lft ? &ar->lft[0] : &ar->groups[0][0], &status))
		return status;
	table = lft ? lft_named(r, &block) : groups_named(r, &block);
	if (!table)
		return STATUS_BAD_FIELD;
	table_read(table, block, r->data);
	for (unsigned i = 0; lft && ar->answers == DOUBLE_AR_NEAR && i < WIRE_AR_LFT_BLOCK; i++)
		r->data[i * WIRE_AR_ENTRY_BYTES + 1]++;
	return 0;
}

static uint16_t table_set(struct smp_request *r, bool lft)
{
	struct dar_table *table;
	uint32_t block;

	if (!r->node->ar)
		return STATUS_UNSUPPORTED;
	table = lft ? lft_named(r, &block) : groups_named(r, &block);
	if (!table || r->node->ar->answers == DOUBLE_AR_REFUSES)
		return STATUS_BAD_FIELD;
	memcpy(block_of(table, block), r->data, WIRE_SMP_DATA);
	return 0;
}

uint16_t smp_ar_lft_get(struct smp_request *r)
{
	return table_get(r, true);
}

uint16_t smp_ar_lft_set(struct smp_request *r)
{
	return table_set(r, true);
}

uint16_t smp_ar_groups_get(struct smp_request *r)
{
	return table_get(r, false);
}

uint16_t smp_ar_groups_set(struct smp_request *r)
{
	return table_set(r, false);
}

/* 16 ranges of first and last group become as the group that the modifier names. */
uint16_t smp_ar_copy_set(struct smp_request *r)
{
	uint32_t from = r->mod & 0xfff;
	struct wire_ar_info info;

	if (!r->node->ar)
		return STATUS_UNSUPPORTED;
	info = info_of(r->node);
	if (r->mod >> 12 || from >= info.group_cap)
		return STATUS_BAD_FIELD;
	for (unsigned i = 0; i < 16; i++) {
		uint32_t last = (uint32_t)wire_get(r->data + 4 * i, 2) & 0xfff;
		uint32_t first = (uint32_t)wire_get(r->data + 4 * i + 2, 2) & 0xfff;

		for (uint32_t group = first; last && group <= last && group < info.group_cap;
		     group++)
			for (unsigned sub = 0; sub < info.subgroups; sub++) {
				uint8_t copy[WIRE_AR_PORTS];

				memcpy(copy, set_place(r->node, 0, 0, set_of(r->node, from, sub)),
				       WIRE_AR_PORTS);
				memcpy(set_place(r->node, 0, 0, set_of(r->node, group, sub)), copy,
				       WIRE_AR_PORTS);
			}
	}
	return 0;
}

/* What a manager may set; nothing of it beyond what the switch can. */
uint16_t adaptive_take_info(struct dnode *sw, const uint8_t *data)
{
	struct wire_ar_info have = info_of(sw), want;

	wire_ar_info_decode(data, &want);
	if (want.subgroups > have.subgroup_cap || want.group_top >= have.group_cap ||
	    sw->ar->answers == DOUBLE_AR_REFUSES)
		return STATUS_BAD_FIELD;
	have.by_sl = want.by_sl;
	have.subgroups = want.subgroups;
	have.on = want.on;
	have.fr = want.fr;
	have.rn_xmit = want.rn_xmit;
	have.group_top = want.group_top;
	have.sl_mask = want.sl_mask;
	have.transport_off = want.transport_off;
	have.ageing_us = want.ageing_us;
	have.pfrn = want.pfrn;
	have.whbf = want.whbf;
	have.hbf_by_sl = want.hbf_by_sl;
	have.hbf_sl_mask = want.hbf_sl_mask;
	wire_ar_info_encode(&have, sw->adaptive);
	return 0;
}

/* ---- Forwarding ------------------------------------------------------------------------------ */

bool adaptive_forwards(const struct dnode *sw)
{
	return sw->ar && info_of(sw).on && !sw->ar->by_lft;
}

bool adaptive_hides_lft(const struct dnode *sw)
{
	return wire_adaptive_on(sw->adaptive) && !(sw->ar && sw->ar->by_lft);
}

struct wire_ar_entry adaptive_entry(const struct dnode *sw, uint16_t lid)
{
	struct wire_ar_entry entry = { 0 };
	uint8_t block[WIRE_SMP_DATA];

	table_read(&sw->ar->lft[0], lid / WIRE_AR_LFT_BLOCK, block);
	wire_ar_entry_decode(block + lid % WIRE_AR_LFT_BLOCK * WIRE_AR_ENTRY_BYTES, &entry);
	return entry;
}

bool double_adaptive_entry(const struct double_fabric *d, guid_t guid, uint16_t lid,
			   struct wire_ar_entry *entry)
{
	const struct dnode *sw = double_node(d, guid);

	if (!adaptive_forwards(sw))
		return false;
	*entry = adaptive_entry(sw, lid);
	return true;
}

static bool leads_on(const struct dnode *sw, uint16_t lid);

/* A member that is chosen: without fast recovery one whose link is down, too. */
static bool is_chosen(const struct dnode *sw, unsigned num, uint16_t lid, bool fr)
{
	const struct dport *port = &sw->ports[num];

	if (!fr || port->info.state != TOPO_ACTIVE)
		return !fr;
	return !is_switch(port->peer->node) || !adaptive_forwards(port->peer->node) ||
	       !info_of(port->peer->node).rn_xmit || leads_on(port->peer->node, lid);
}

/* Its ports that are chosen for packets to the LID; false: there is none. */
static bool choose(const struct dnode *sw, uint16_t lid, struct double_ports *exits)
{
	const struct wire_ar_entry entry = adaptive_entry(sw, lid);
	uint32_t set = set_of(sw, entry.group, 0);
	bool fr = info_of(sw).fr, any = false;
	uint8_t block[WIRE_SMP_DATA];

	*exits = (struct double_ports){ 0 };
	if (entry.state != WIRE_AR_FREE && entry.state != WIRE_AR_HBF) {
		if (entry.port == 0 || entry.port > sw->ni.nports)
			return false;
		double_ports_add(exits, entry.port);
		return is_chosen(sw, entry.port, lid, true);
	}
	table_read(&sw->ar->groups[0][entry.table], set / 2, block);
	for (unsigned num = 1; num <= sw->ni.nports; num++)
		if (wire_ar_has(block + set % 2 * WIRE_AR_PORTS, num) &&
		    is_chosen(sw, num, lid, fr)) {
			double_ports_add(exits, num);
			any = true;
		}
	return any;
}

/* It has a live port for the LID. Asked again on the way around it has. */
static bool leads_on(const struct dnode *sw, uint16_t lid)
{
	struct double_ports exits;
	uint64_t *live;

	if (sw->ports[0].info.lid == lid)
		return true;
	if (!sw->ar->live)
		sw->ar->live = mem_alloc(UINT16_MAX + 1, sizeof(*sw->ar->live));
	live = &sw->ar->live[lid];
	if (*live / 2 != sw->d->ways) {
		*live = 2 * sw->d->ways + 1;
		*live = 2 * sw->d->ways + choose(sw, lid, &exits);
	}
	return *live % 2;
}

void adaptive_exits(const struct dnode *sw, uint16_t lid, struct double_ports *exits)
{
	uint8_t port = adaptive_entry(sw, lid).port;

	choose(sw, lid, exits);
	if (double_ports_next(exits, 0) == 256 && port && port <= sw->ni.nports)
		double_ports_add(exits, port);
}

void double_adaptive_recovery(struct double_fabric *d, enum double_recovery how)
{
	for (uint32_t i = 0; i < d->topo->nnodes; i++) {
		struct wire_ar_info info;

		if (!adaptive_forwards(&d->nodes[i]))
			continue;
		info = info_of(&d->nodes[i]);
		info.fr = how != DOUBLE_RECOVERY_OFF;
		info.rn_xmit = how == DOUBLE_RECOVERY_RN;
		wire_ar_info_encode(&info, d->nodes[i].adaptive);
	}
	ways_changed(d);
}

/* ---- ibdiagnet2.far -------------------------------------------------------------------------- */

/* `1, 5,7`: false: a number is none of a port. */
static bool take_ports(const struct dnode *sw, const char *text, uint8_t *set)
{
	memset(set, 0, WIRE_AR_PORTS);
	while (*text) {
		char *end;
		unsigned long num = strtoul(text, &end, 10);

		if (end == text || !num || num > sw->ni.nports)
			return false;
		set[WIRE_AR_PORTS - 1 - num / 8] |= (uint8_t)(1u << num % 8);
		text = end + strspn(end, ", \t");
	}
	return true;
}

static bool take_group(struct dnode *sw, const char *line)
{
	struct wire_ar_info info = info_of(sw);
	uint8_t ports[WIRE_AR_PORTS];
	unsigned id, sub, weight;
	int at;

	if (sscanf(line, "%u %u %u %n", &id, &sub, &weight, &at) != 3 || id >= info.group_cap ||
	    sub >= info.subgroups || !take_ports(sw, line + at, ports))
		return false;
	memcpy(set_place(sw, 0, 0, set_of(sw, id, sub)), ports, WIRE_AR_PORTS);
	if (id > info.group_top)
		info.group_top = id & 0xfff;
	wire_ar_info_encode(&info, sw->adaptive);
	return true;
}

static bool take_entry(struct dnode *sw, const char *line)
{
	unsigned lid, port, group = 0;
	struct wire_ar_entry entry;
	char state[16];

	if (sscanf(line, "%x %u %15s %u", &lid, &port, state, &group) < 3 || lid > UINT16_MAX ||
	    port > UINT8_MAX)
		return false;
	entry = (struct wire_ar_entry){ .state = !strcmp(state, "Free")	 ? WIRE_AR_FREE
						 : !strcmp(state, "HBF") ? WIRE_AR_HBF
									 : WIRE_AR_STATIC,
					.port = (uint8_t)port,
					.group = (uint16_t)group };
	entry_put(sw, 0, (uint16_t)lid, &entry);
	return entry.state != WIRE_AR_STATIC || !strcmp(state, "Static");
}

static const char heads[][8] = { "Groups ", "LFT ", "PLFT_NU", "File ve", "Group ", "LID ", "-" };
enum { GROUPS_HEAD, LFT_HEAD, HEADS = sizeof(heads) / sizeof(heads[0]) };

/* A line of a switch, or what begins the next one's. *part: which table the lines are of. */
static bool take_line(struct double_fabric *d, struct dnode **sw, unsigned *part, const char *line)
{
	unsigned long long guid;

	if (sscanf(line, "Switch 0x%llx", &guid) == 1) {
		uint32_t index = topo_find(d->topo, guid);
		struct wire_ar_info info;

		if (index == TOPO_NONE || !d->nodes[index].ar)
			return false;
		*sw = &d->nodes[index];
		*part = HEADS;
		adaptive_forget(*sw);
		info = info_of(*sw);
		info.on = info.fr = true;
		info.sl_mask = 0xffff;
		wire_ar_info_encode(&info, (*sw)->adaptive);
		return true;
	}
	for (unsigned i = 0; i < HEADS; i++)
		if (!strncmp(line, heads[i], strlen(heads[i]))) {
			*part = i <= LFT_HEAD ? i : *part;
			return true;
		}
	if (!*line)
		return true;
	return *part < HEADS && (*part == LFT_HEAD ? take_entry : take_group)(*sw, line);
}

int double_adaptive_read(struct double_fabric *d, FILE *in, char *err, size_t err_size)
{
	struct dnode *sw = NULL, *last = NULL;
	unsigned part = HEADS, at = 0;
	char *line = NULL;
	size_t size = 0;
	int count = 0;
	bool good = true;

	while (good && getline(&line, &size, in) >= 0) {
		line[strcspn(line, "\r\n")] = '\0';
		at++;
		good = take_line(d, &sw, &part, line + strspn(line, " \t"));
		count += sw != last;
		last = sw;
	}
	if (!good)
		snprintf(err, err_size, "line %u is none of ibdiagnet2.far, or of another fabric",
			 at);
	free(line);
	ways_changed(d);
	return good ? count : -1;
}

/* ---- Another manager ------------------------------------------------------------------------- */

static void set_port(uint8_t *set, unsigned num)
{
	set[WIRE_AR_PORTS - 1 - num / 8] |= (uint8_t)(1u << num % 8);
}

/* Hops from each switch to one, over links that are up; 0xff = none. */
static void measure(const struct double_fabric *d, uint32_t to, uint8_t *hops, uint32_t *queue)
{
	uint32_t count = 0;

	memset(hops, 0xff, d->topo->nnodes);
	hops[to] = 0;
	queue[count++] = to;
	for (uint32_t i = 0; i < count; i++) {
		const struct dnode *sw = &d->nodes[queue[i]];

		for (unsigned num = 1; num <= sw->ni.nports; num++) {
			const struct dport *port = &sw->ports[num];
			uint32_t next;

			if (port->info.phys_state != PHYS_LINK_UP || !is_switch(port->peer->node))
				continue;
			next = (uint32_t)(port->peer->node - d->nodes);
			if (hops[next] != 0xff)
				continue;
			hops[next] = (uint8_t)(hops[queue[i]] + 1);
			queue[count++] = next;
		}
	}
}

struct way { /* of a switch to a leaf */
	uint8_t set[WIRE_AR_PORTS], members[256];
	unsigned count;
};

static struct way ways_to(const struct double_fabric *d, const struct dnode *sw,
			  const uint8_t *hops)
{
	uint8_t own = hops[sw - d->nodes];
	struct way way = { .count = 0 };

	for (unsigned num = 1; num <= sw->ni.nports; num++) {
		const struct dport *port = &sw->ports[num];

		if (port->info.phys_state != PHYS_LINK_UP || !is_switch(port->peer->node) ||
		    hops[port->peer->node - d->nodes] + 1 != own)
			continue;
		set_port(way.set, num);
		way.members[way.count++] = (uint8_t)num;
	}
	return way;
}

/* The number of a set: a leaf's own, or that of an equal one; -1 = there is no number left. */
static int number_of(struct dnode *sw, const struct double_ar_plan *plan, const struct way *way,
		     unsigned table, uint32_t leaf)
{
	struct wire_ar_info info = info_of(sw);
	uint32_t group = plan->own_numbers ? 0 : leaf + 1;

	for (; plan->own_numbers && group < sw->ar->numbers[table]; group++)
		if (!memcmp(set_place(sw, 0, table, set_of(sw, group, 0)), way->set, WIRE_AR_PORTS))
			return (int)group;
	if (group + 1 >= info.group_cap)
		return -1;
	if (plan->own_numbers)
		sw->ar->numbers[table] = group + 1;
	for (unsigned plft = 0; plft < DOUBLE_PLFTS; plft++) {
		uint32_t own = set_of(sw, group + plft, 0); /* each private LFT has its numbers */

		memcpy(set_place(sw, plft, table, own), way->set, WIRE_AR_PORTS);
		for (unsigned num = 1; plan->second && info.subgroups > 1 && num <= sw->ni.nports;
		     num++)
			if (sw->ports[num].peer && is_switch(sw->ports[num].peer->node))
				set_port(set_place(sw, plft, table, set_of(sw, group + plft, 1)),
					 num);
	}
	if (group > info.group_top)
		info.group_top = group & 0xfff;
	wire_ar_info_encode(&info, sw->adaptive);
	return (int)group;
}

/* Of one LID on one switch, in all private LFTs; the second has another of the members. */
static void entry_make(struct dnode *sw, const struct double_ar_plan *plan, uint16_t lid,
		       const struct way *way, unsigned table, uint32_t leaf)
{
	struct wire_ar_entry entry = { .state = WIRE_AR_STATIC,
				       .port = lid < sw->lft_size ? sw->lft[lid] : LFT_NONE };
	unsigned tables = info_of(sw).tables;
	bool member = way && way->count >= (plan->thin ? 1 : 2) && entry.port != LFT_NONE &&
		      wire_ar_has(way->set, entry.port);
	int group;

	table = tables ? table % tables : 0;
	group = member ? number_of(sw, plan, way, table, leaf) : -1;

	if (group >= 0) {
		entry.state = plan->hbf ? WIRE_AR_HBF : WIRE_AR_FREE;
		entry.table = table & 0xf;
		entry.group = (uint16_t)group;
	}
	entry_put(sw, 0, lid, &entry);
	entry.group += group >= 0;
	for (unsigned i = 0; member && i < way->count; i++)
		if (way->members[i] == sw->lft[lid])
			entry.port = way->members[(i + 1) % way->count];
	entry_put(sw, 1, lid, &entry);
}

static void turn_on(struct dnode *sw, const struct double_ar_plan *plan)
{
	struct wire_ar_info info = info_of(sw);

	info.on = info.fr = true;
	info.sl_mask = 0xffff;
	info.hbf_by_sl = plan->hbf;
	wire_ar_info_encode(&info, sw->adaptive);
	sw->private_lft[3] = plan->plfts > 1;
}

void double_adaptive_run(struct double_fabric *d, const struct double_ar_plan *plan)
{
	uint8_t *hops = mem_alloc(d->topo->nnodes, 1);
	uint32_t *queue = mem_alloc(d->topo->nnodes, sizeof(*queue)), leaf = 0;

	for (uint32_t i = 0; i < d->topo->nnodes; i++) {
		struct wire_ar_info info;

		if (!d->nodes[i].ar)
			continue;
		adaptive_forget(&d->nodes[i]);
		info = info_of(&d->nodes[i]);
		info.subgroups = plan->subgroups > info.subgroup_cap ? info.subgroup_cap
				 : plan->subgroups		     ? plan->subgroups
								     : 1;
		wire_ar_info_encode(&info, d->nodes[i].adaptive);
	}
	for (uint32_t i = 0; i < d->topo->nnodes; i++) {
		const struct dnode *to = &d->nodes[i];
		unsigned table = plan->tables > 1 ? leaf % plan->tables : 0;
		bool hosts = false;

		if (!is_switch(to))
			continue;
		measure(d, i, hops, queue);
		for (uint32_t s = 0; s < d->topo->nnodes; s++) {
			struct dnode *sw = &d->nodes[s];
			struct way way = sw->ar ? ways_to(d, sw, hops) : (struct way){ 0 };

			for (unsigned num = 0; sw->ar && num <= to->ni.nports; num++) {
				const struct dport *end = num ? to->ports[num].peer : to->ports;
				unsigned lids = end && end->info.lid ? 1u << end->info.lmc : 0;

				if (num && (!end || is_switch(end->node)))
					continue;
				hosts |= num > 0;
				for (unsigned n = 0; n < lids; n++)
					entry_make(sw, plan, (uint16_t)(end->info.lid + n),
						   num ? &way : NULL, table, leaf);
			}
		}
		leaf += hosts;
	}
	for (uint32_t i = 0; i < d->topo->nnodes; i++)
		if (d->nodes[i].ar)
			turn_on(&d->nodes[i], plan);
	free(hops);
	free(queue);
	ways_changed(d);
}
