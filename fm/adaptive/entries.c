/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/adaptive/write_own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define NO_SET UINT32_MAX

void ar_fails(struct writer *w, const struct inv_node *node, const char *why)
{
	struct ar_switch *ar = ar_of(node);
	bool on = ar->stage >= TURNING;

	ar->why = why;
	ar->failed = true;
	if (on)
		w->leave(w->arg, node, ar->raw);
	else
		ar->stage = PLAIN;
}

void ar_add_job(struct writer *w, unsigned kind, guid_t node, uint32_t arg)
{
	batch_add(w->batch, &(struct batch_job){ .object = (void *)node,
						 .kind = kind,
						 .arg = arg,
						 .urgent = w->phase == SHRINKS });
}

/* It forwards by its entries, or is about to; one that has booted does not. */
static bool has_entries(void *arg, const struct inv_node *node)
{
	const struct ar_switch *ar = ar_of(node);

	return ar && ar->stage >= READY && ar->reboots == node->reboots;
}

/* Groups come ahead of entries that name them. */
static bool waits(void *arg)
{
	return ((struct writer *)arg)->phase == SHRINKS;
}

/* ---- Sets of ports --------------------------------------------------------------------------- */

static bool is_within(const struct ar_ports *inner, const struct ar_ports *outer)
{
	bool within = true;

	for (unsigned i = 0; i < 4; i++)
		within &= !(inner->word[i] & ~outer->word[i]);
	return within;
}

#define is_empty(ports) is_within(ports, &(const struct ar_ports){ 0 })

static void put_set(uint8_t set[WIRE_AR_PORTS], const struct ar_ports *ports)
{
	for (unsigned i = 0; i < 4; i++)
		wire_put(set + WIRE_AR_PORTS - 8 * (i + 1), 8, ports->word[i]);
}

static struct ar_ports get_set(const uint8_t set[WIRE_AR_PORTS])
{
	struct ar_ports ports;

	for (unsigned i = 0; i < 4; i++)
		ports.word[i] = wire_get(set + WIRE_AR_PORTS - 8 * (i + 1), 8);
	return ports;
}

/* ---- Groups ---------------------------------------------------------------------------------- */

/* Sub-groups of a group that are in use, each a set of ports; two sets are a block. */
static unsigned sets_of(const struct ar_switch *ar)
{
	return ar->stacked ? 1 : ar->info.subgroups;
}

static uint32_t set_of(const struct ar_switch *ar, unsigned id)
{
	return id * sets_of(ar);
}

/* What the switch holds of a group; false: that is not known. */
bool ar_held_group(const struct ar_switch *ar, unsigned id, struct ar_ports *ports)
{
	uint32_t set = set_of(ar, id), last = (set + sets_of(ar) - 1) / 2;

	if (last >= ar->ngroups || any_of(at, set / 2, last + 1, !ar->groups[at].known))
		return false;
	*ports = get_set(ar->groups[set / 2].data + set % 2 * WIRE_AR_PORTS);
	return !is_empty(ports);
}

SORT_BY(compare_ids, struct ar_group, sort_order(a->id, b->id))

static const struct ar_group *group_named(const struct writer *w, uint32_t row, uint16_t id)
{
	const uint32_t *first = &w->next->first[row];
	const struct ar_group key = { .id = id };
	uint32_t count = first[1] - first[0];

	return count ? bsearch(&key, w->next->list + first[0], count, sizeof(key), compare_ids)
		     : NULL;
}

/* Sends the block unless the switch holds it so. */
static void send_groups(struct writer *w, struct ar_switch *ar, uint32_t at,
			const uint8_t data[WIRE_SMP_DATA])
{
	struct block *block = &ar->groups[at];

	if (block->known && !memcmp(block->data, data, WIRE_SMP_DATA))
		return;
	memcpy(block->data, data, WIRE_SMP_DATA);
	block->known = false;
	block->filled = ar->strays = true;
	if (block->busy) /* it is compared when it is answered, and goes again */
		return;
	ar_add_job(w, JOB_GROUPS, ar->guid, at);
}

/* That block, as it is held or on its way. */
static uint8_t *groups_at(struct ar_switch *ar, uint32_t at)
{
	if (at >= ar->ngroups) {
		ar->groups = mem_array_resize(ar->groups, at + 1);
		mem_zero(ar->groups + ar->ngroups, at + 1 - ar->ngroups);
		ar->ngroups = at + 1;
	}
	return ar->groups[at].data;
}

/*
 * Before the proof a group is what it was and is to be, if that is anything, so that no entry that
 * names it has a new choice; one that no entry names is as it is to be. Which of its sub-groups a
 * switch takes is not known: all of them are the group.
 */
void ar_write_groups(struct writer *w, struct ar_switch *ar)
{
	uint32_t at = NO_SET;
	uint8_t data[WIRE_SMP_DATA];

	for (uint32_t i = w->next->first[ar->row]; i < w->next->first[ar->row + 1]; i++) {
		struct ar_ports ports = w->next->list[i].ports, both = { 0 }, held;
		uint32_t first = set_of(ar, w->next->list[i].id), end = first + sets_of(ar);

		held = get_set(groups_at(ar, first / 2) + first % 2 * WIRE_AR_PORTS);
		for (unsigned k = 0; k < 4; k++)
			both.word[k] = ports.word[k] & held.word[k];
		if (!w->proven && !is_empty(&held))
			ports = is_empty(&both) ? held : both;
		for (uint32_t set = first; set < end; set++) {
			if (set / 2 != at) {
				if (at != NO_SET)
					send_groups(w, ar, at, data);
				at = set / 2;
				memcpy(data, groups_at(ar, at), WIRE_SMP_DATA);
			}
			put_set(data + set % 2 * WIRE_AR_PORTS, &ports);
		}
	}
	if (at != NO_SET)
		send_groups(w, ar, at, data);
}

/* ---- What a publication changes -------------------------------------------------------------- */

/* What a switch may choose, of a group's ports or else one; `up` has those whose links are up. */
static struct ar_ports choices(const struct ar_ports *members, unsigned port,
			       const struct ar_ports *up)
{
	struct ar_ports out = { 0 };

	out.word[port / 64] = 1ull << port % 64;
	for (unsigned i = 0; i < 4; i++)
		out.word[i] = up->word[i] & (members ?: &out)->word[i];
	return out;
}

/* Of an entry, from the base to what was published. */
struct change {
	struct ar_ports from, to;
	uint8_t kind; /* 0, GAINS, LOSES or OTHER */
};

static struct change change_of(const struct writer *w, uint32_t row, uint32_t lid)
{
	const struct tables *tables = fabric_view(w->fabric).tables;
	const struct ar_group *was = NULL, *now = ar_group_of(w->next, row, lid);
	uint32_t old = w->rows[row].old;
	struct change c = { .to = choices(now ? &now->ports : NULL, tables_row(tables, row)[lid],
					  &w->rows[row].up) };

	if (old < w->base.topo->nswitches && lid <= w->base.tables.top) {
		was = ar_group_of(w->base.groups, old, lid);
		c.from = choices(was ? &was->ports : NULL, tables_row(&w->base.tables, old)[lid],
				 &w->rows[row].up);
	}
	c.kind = (is_within(&c.to, &c.from) ? 0 : GAINS) | (is_within(&c.from, &c.to) ? 0 : LOSES);
	if (!c.kind && was && now && was->id != now->id)
		c.kind = LOSES; /* what the old number names may change */
	return c;
}

/* ---- Entries --------------------------------------------------------------------------------- */

/* The entry that the switch is known to hold; false: that is not known. */
bool ar_held_entry(const struct ar_switch *ar, uint32_t lid, struct wire_ar_entry *entry)
{
	uint32_t at = lid / WIRE_AR_LFT_BLOCK;

	if (at >= ar->nentries || !ar->entries[at].known)
		return false;
	wire_ar_entry_decode(ar->entries[at].data + lid % WIRE_AR_LFT_BLOCK * WIRE_AR_ENTRY_BYTES,
			     entry);
	return true;
}

/* The switch holds a part of the group that is to be, all of it behind the proof. */
static bool is_ready(const struct writer *w, const struct ar_switch *ar,
		     const struct ar_group *group)
{
	struct ar_ports held;

	return ar_held_group(ar, group->id, &held) && is_within(&held, &group->ports) &&
	       (!w->proven || is_within(&group->ports, &held));
}

/*
 * How an entry is to be by now. Where it only loses it is that at once, whatever port is asked for:
 * what it chooses it could choose before.
 */
static void plan_entry(const struct writer *w, const struct ar_switch *ar, uint32_t lid,
		       struct wire_ar_entry *entry)
{
	const struct ar_group *wanted = ar_group_of(w->next, ar->row, lid);
	unsigned change = lid < w->changes.count ? w->changes.of[lid] : OTHER, port;
	bool apart = change >= APART;
	struct wire_ar_entry held;

	if (w->phase >= STATES && wanted && is_ready(w, ar, wanted)) {
		entry->state = WIRE_AR_FREE;
		entry->group = wanted->id;
	}
	if (w->phase >= STATES || !w->next)
		return;
	if (apart && w->changes.moves[(change - APART) * w->topo->nswitches + ar->row])
		return;
	change = apart ? change_of(w, ar->row, lid).kind : change;
	if (change == OTHER || !ar_held_entry(ar, lid, &held) || held.state != WIRE_AR_FREE)
		return;
	port = tables_row(fabric_view(w->fabric).tables, ar->row)[lid];
	if (change == LOSES && port != TABLES_NO_ROUTE)
		entry->port = port;
	if (wanted && change != GAINS && is_ready(w, ar, wanted))
		held.group = wanted->id;
	else if (change == LOSES && (apart || !wanted))
		return;
	else if (!(wanted && wanted->id == held.group) && group_named(w, ar->row, held.group))
		return;
	entry->state = WIRE_AR_FREE;
	entry->group = held.group;
}

bool ar_fits(const struct writer *w, const struct ar_switch *ar)
{
	uint32_t last = w->lids ? w->lids->top / WIRE_AR_LFT_BLOCK : 0;

	return (last << ar->lft_bit) >> ar->lft_bit == last;
}

static void make_part(const struct writer *w, const struct ar_switch *ar, uint32_t part,
		      const uint8_t *ports, uint8_t data[WIRE_SMP_DATA])
{
	for (unsigned i = 0; i < WIRE_AR_LFT_BLOCK; i++) {
		struct wire_ar_entry entry = { .state = WIRE_AR_STATIC, .port = ports[i] };
		uint32_t lid = part * WIRE_AR_LFT_BLOCK + i;

		if (ports[i] != TABLES_NO_ROUTE && lid <= w->lids->top && ar->row != TOPO_NONE)
			plan_entry(w, ar, lid, &entry);
		wire_ar_entry_encode(&entry, data + i * WIRE_AR_ENTRY_BYTES);
	}
}

/*
 * Nothing changes here of these LIDs but ports, nor need it be Static meanwhile, and the switch
 * holds them as the base has them.
 */
static bool is_of_base(const struct writer *w, const struct ar_switch *ar, uint32_t part)
{
	const struct ar_row *row = &w->rows[ar->row];
	unsigned most = ALL;

	if ((part + 1) * WIRE_AR_LFT_BLOCK <= w->changes.count &&
	    (w->phase < STATES || (w->next && !ar->strays)))
		most = w->changes.most[part];
	return !most || (row->alike && most < ALL && (most < OTHER || !row->moves));
}

/* The same of a block, which most are; these are its ports. */
static bool holds_base(const struct writer *w, const struct ar_switch *ar, uint32_t block,
		       const uint8_t *ports)
{
	uint32_t old = w->rows[ar->row].old;
	bool holds = !ar->strays && w->base.groups && old < w->base.topo->nswitches &&
		     block < tables_blocks(&w->base.tables);

	for (unsigned i = 0; holds && i < PROGRAM_PARTS; i++)
		holds = is_of_base(w, ar, block * PROGRAM_PARTS + i);
	return holds && !memcmp(ports, tables_block(&w->base.tables, old, block), TABLES_BLOCK);
}

static void ports_of(const struct block *block, uint8_t ports[WIRE_AR_LFT_BLOCK])
{
	for (unsigned i = 0; i < WIRE_AR_LFT_BLOCK; i++)
		ports[i] = block->data[i * WIRE_AR_ENTRY_BYTES + WIRE_AR_PORT];
}

static unsigned differ(void *arg, const struct inv_node *node, uint32_t block,
		       const uint8_t ports[TABLES_BLOCK])
{
	const struct writer *w = arg;
	const struct ar_switch *ar = ar_of(node);
	uint8_t data[WIRE_SMP_DATA], held[WIRE_AR_LFT_BLOCK];
	unsigned parts = 0;

	if (ar->row == TOPO_NONE || !ar_fits(w, ar) || holds_base(w, ar, block, ports))
		return 0;
	for (unsigned i = 0; i < PROGRAM_PARTS; i++) {
		uint32_t part = block * PROGRAM_PARTS + i;
		const uint8_t *wanted = ports + i * WIRE_AR_LFT_BLOCK;
		bool same;

		if (part * WIRE_AR_LFT_BLOCK > w->lids->top)
			break;
		same = part < ar->nentries && ar->entries[part].known;
		if (same)
			ports_of(&ar->entries[part], held);
		same = same && !memcmp(held, wanted, WIRE_AR_LFT_BLOCK);
		if (same && !is_of_base(w, ar, part)) {
			make_part(w, ar, part, wanted, data);
			same = !memcmp(ar->entries[part].data, data, WIRE_SMP_DATA);
		}
		parts |= same ? 0 : 1u << i;
	}
	return parts;
}

static struct block *entries_at(struct ar_switch *ar, uint32_t part)
{
	if (part >= ar->nentries) {
		ar->entries = mem_array_resize(ar->entries, part + 1);
		mem_zero(ar->entries + ar->nentries, part + 1 - ar->nentries);
		ar->nentries = part + 1;
	}
	return &ar->entries[part];
}

static void request_entries(void *arg, const struct inv_node *node, uint32_t part,
			    const uint8_t *ports, struct mad_request *request, uint8_t *data)
{
	struct ar_switch *ar = ar_of(node);
	struct block *block = entries_at(ar, part);

	request->attr_id = WIRE_AR_LFT;
	request->attr_mod = part << ar->lft_bit;
	block->reads = !ports;
	if (!ports)
		return;
	make_part(arg, ar, part, ports, block->data);
	block->known = false;
	block->filled = true;
	ar->strays = true;
	memcpy(data, block->data, WIRE_SMP_DATA);
}

static bool entries_answered(void *arg, const struct inv_node *node, uint32_t part,
			     const uint8_t *data)
{
	struct block *block = entries_at(ar_of(node), part);

	if (block->reads)
		memcpy(block->data, data, WIRE_SMP_DATA);
	block->filled = true;
	block->reads = false;
	block->known = !memcmp(block->data, data, WIRE_SMP_DATA);
	return block->known;
}

static void entries_refused(void *arg, const struct inv_node *node)
{
	ar_fails(arg, node, "it rejects entries");
}

static bool entries_ports(void *arg, const struct inv_node *node, uint32_t block,
			  uint8_t ports[TABLES_BLOCK])
{
	const struct writer *w = arg;
	uint32_t top = w->lids ? w->lids->top : 0;
	const struct ar_switch *ar = ar_of(node);
	bool all = true;

	for (unsigned i = 0; i < PROGRAM_PARTS; i++) {
		uint32_t part = block * PROGRAM_PARTS + i;
		bool filled = part < ar->nentries && ar->entries[part].filled;
		uint8_t *to = ports + i * WIRE_AR_LFT_BLOCK;

		if (filled)
			ports_of(&ar->entries[part], to);
		else
			memset(to, TABLES_NO_ROUTE, WIRE_AR_LFT_BLOCK);
		all &= filled || part > top / WIRE_AR_LFT_BLOCK;
	}
	return all;
}

/* ---- Comparing ------------------------------------------------------------------------------- */

/* What the switch is known to hold; false: it is not. */
static bool choices_held(const struct ar_switch *ar, uint32_t lid, const struct ar_ports *up,
			 struct ar_ports *out)
{
	struct wire_ar_entry entry;
	struct ar_ports members;

	if (!ar_held_entry(ar, lid, &entry) ||
	    (entry.state == WIRE_AR_FREE && !ar_held_group(ar, entry.group, &members)))
		return false;
	*out = choices(entry.state == WIRE_AR_FREE ? &members : NULL, entry.port, up);
	return true;
}

static struct ar_ports ports_up(const struct topo *t, uint32_t row)
{
	struct ar_ports up = { .word = { 1 } };

	for (unsigned num = 1; num <= t->nodes[row].nports; num++)
		if (topo_port(t, row, num)->link_up)
			up.word[num / 64] |= 1ull << num % 64;
	return up;
}

/* By place: groups that are the same in both. */
static void find_same(const struct ar_groups *was, uint32_t old, const struct ar_groups *now,
		      uint32_t row, bool same[AR_GROUPS_MAX + 1])
{
	const struct ar_group *a = &was->list[was->first[old]], *b = &now->list[now->first[row]];
	uint32_t na = was->first[old + 1] - was->first[old];
	uint32_t nb = now->first[row + 1] - now->first[row];

	same[0] = true;
	for (uint32_t i = 0; i < nb; i++)
		same[i + 1] = i < na && a[i].id == b[i].id &&
			      !memcmp(&a[i].ports, &b[i].ports, sizeof(a[i].ports));
}

/* Whether the entries of a row name the groups that they named; else blocks that have others. */
static bool find_others(const struct writer *w, uint32_t row, const bool same[AR_GROUPS_MAX + 1],
			bool others[TABLES_BLOCKS])
{
	uint32_t nd = w->next->ndests;
	const uint16_t *was = w->base.groups->entry + (size_t)w->rows[row].old * nd;
	const uint16_t *now = w->next->entry + (size_t)row * nd;
	bool alike = true;

	for (uint32_t d = 0; d < nd; d++)
		if (was[d] != now[d] || !same[now[d]]) {
			alike = false;
			for (uint32_t b = w->next->spans[d].first; b < w->next->spans[d].end; b++)
				others[b] = true;
		}
	return alike;
}

static void compare_row(struct writer *w, const struct tables *tables, uint32_t row,
			uint8_t *changes)
{
	const guid_t guid = w->topo->nodes[row].guid;
	const struct inv_node *node = inventory_find(w->services.inventory, guid);
	const struct ar_switch *ar = node ? ar_of(node) : NULL;
	const struct ar_groups *was = w->base.groups, *next = w->next;
	uint32_t old = w->rows[row].old, nblocks = w->lids->top / TABLES_BLOCK + 1;
	const uint8_t *now_ports = tables_row(tables, row);
	const uint8_t *ports =
		old < w->base.topo->nswitches ? tables_row(&w->base.tables, old) : NULL;
	bool on = ar && ar->stage >= TURNING, same[AR_GROUPS_MAX + 1], others[TABLES_BLOCKS];
	/* Of what it holds the base knows nothing. */
	bool away = on ? ar->away || !ports : !ports && node && node->sw.lft_top;
	bool strays = on && (ar->strays || away);
	bool in_place = ports && !strays && w->changes.in_place;

	memset(others, !in_place, nblocks);
	if (ports)
		find_same(was, old, next, row, same);
	w->rows[row].alike = in_place && find_others(w, row, same, others);
	for (uint32_t lid = 0; lid <= w->lids->top; lid++) {
		bool is_before = ports && lid <= w->base.tables.top, known;
		unsigned place = ar_place(next, row, lid);
		struct ar_ports held;

		/* Most rows differ in few blocks, if in any. */
		if (lid % TABLES_BLOCK == 0 && !others[lid / TABLES_BLOCK] &&
		    lid + TABLES_BLOCK <= w->base.tables.top + 1u &&
		    !memcmp(ports + lid, now_ports + lid, TABLES_BLOCK)) {
			lid += TABLES_BLOCK - 1;
			continue;
		}
		if (changes[lid] == OTHER ||
		    (is_before && !strays && same[place] && place == ar_place(was, old, lid) &&
		     (place || ports[lid] == now_ports[lid])))
			continue;
		if (next->dest[lid] == TOPO_NONE && (lid > was->top || was->dest[lid] == TOPO_NONE))
			continue;

		struct change c = change_of(w, row, lid);

		changes[lid] |= c.kind;
		known = strays && choices_held(ar, lid, &w->rows[row].up, &held);
		if (known ? !is_within(&held, &c.from) : away)
			changes[lid] |= STRAYS | (known && is_within(&held, &c.to) ? GAINS : OTHER);
	}
}

/*
 * Who moves: entries of the LID that keep none of their choices, and those that lead to one that
 * moves by what they keep.
 */
static void find_moves(const struct writer *w, uint32_t lid, struct ar_ports *kept, uint32_t *moved,
		       bool *moves)
{
	const struct topo *t = w->topo;
	uint32_t n = t->nswitches, count = 0;

	for (uint32_t row = 0; row < n; row++) {
		struct change c = change_of(w, row, lid);

		moves[row] = c.kind == OTHER;
		kept[row] = c.kind & GAINS && ar_group_of(w->next, row, lid) ? c.from : c.to;
		if (moves[row])
			moved[count++] = row;
	}
	while (count) {
		uint32_t row = moved[--count];

		for (unsigned num = 1; num <= t->nodes[row].nports; num++) {
			const struct topo_port *peer = topo_peer(t, topo_port(t, row, num));

			if (!peer || peer->node >= n || moves[peer->node] ||
			    !ar_has(&kept[peer->node], peer->num))
				continue;
			moves[peer->node] = true;
			moved[count++] = peer->node;
		}
	}
}

/* LIDs, in place as the base has them, of which some entries need not become Static. */
static void find_apart(struct writer *w, uint8_t *changes)
{
	uint32_t n = w->topo->nswitches;
	struct ar_ports *kept = mem_array(kept, n + 1);
	uint32_t *moved = mem_array(moved, n + 1);
	unsigned count = 0;

	w->changes.moves = mem_array_resize(w->changes.moves, APART_MOST * n + 1);
	for (uint32_t lid = 1; lid <= w->lids->top; lid++) {
		bool apart = changes[lid] == OTHER && count < APART_MOST &&
			     !(lid < w->changes.count && w->changes.of[lid]);

		changes[lid] = apart ? APART + count : changes[lid] & OTHER;
		if (apart)
			find_moves(w, lid, kept, moved, w->changes.moves + count++ * n);
	}
	for (uint32_t at = 0; at < count * n; at++)
		w->rows[at % n].moves |= w->changes.moves[at];
	free(kept);
	free(moved);
}

void ar_set_changes(struct ar_changes *changes, uint8_t *of, uint32_t top)
{
	free(changes->of);
	free(changes->most);
	changes->of = of;
	changes->count = of ? top + 1 : 0;
	changes->most = of ? mem_array(of, top / WIRE_AR_LFT_BLOCK + 1) : NULL;
	for (uint32_t lid = 0; lid < changes->count; lid++) {
		uint8_t change = of[lid] == OTHER ? ALL : of[lid];

		if (change > changes->most[lid / WIRE_AR_LFT_BLOCK])
			changes->most[lid / WIRE_AR_LFT_BLOCK] = change;
	}
}

void ar_place_rows(struct writer *w)
{
	w->rows = mem_array_resize(w->rows, w->topo->nswitches + 1);
	for (uint32_t row = 0; row < w->topo->nswitches; row++) {
		guid_t guid = w->topo->nodes[row].guid;
		uint32_t old = w->base.groups ? topo_find(w->base.topo, guid) : TOPO_NONE;

		w->rows[row] = (struct ar_row){ .up = ports_up(w->topo, row), .old = old };
	}
}

void ar_compare_begin(struct writer *w)
{
	const struct ar_groups *was = w->base.groups, *next = w->next;

	w->compared = mem_array(w->compared, w->lids->top + 1u);
	w->row = was && next ? 0 : w->topo->nswitches;
	/* What is on its way counts: behind the proof, what had to lose more. */
	for (uint32_t lid = 0; lid <= w->lids->top; lid++) {
		unsigned change = lid < w->changes.count ? w->changes.of[lid] : 0;

		w->compared[lid] = !was || !next     ? OTHER
				   : w->grows	     ? (change == LOSES ? OTHER : 0)
				   : change >= APART ? OTHER
						     : change;
	}
	w->changes.in_place =
		was && next && was->ndests == next->ndests && was->top == next->top &&
		!memcmp(was->dest, next->dest, (next->top + 1u) * sizeof(*next->dest));
}

#define LIDS_A_CALL (1u << 19) /* of switches' rows: some milliseconds */

bool ar_compare_go(struct writer *w, const struct tables *tables)
{
	uint32_t left = LIDS_A_CALL / (w->lids->top + 1u) + 1;

	if (w->row < w->topo->nswitches) {
		for (; left && w->row < w->topo->nswitches; left--)
			compare_row(w, tables, w->row++, w->compared);
		return true;
	}
	if (w->base.groups && w->next)
		find_apart(w, w->compared);
	ar_set_changes(&w->changes, w->compared, w->lids->top);
	w->compared = NULL;
	w->grows = false;
	return false;
}

const struct program_entries ar_entries = { .has = has_entries,
					    .waits = waits,
					    .differ = differ,
					    .request = request_entries,
					    .answered = entries_answered,
					    .refused = entries_refused,
					    .ports = entries_ports };
