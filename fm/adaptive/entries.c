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

static bool is_empty(const struct ar_ports *ports)
{
	return !(ports->word[0] | ports->word[1] | ports->word[2] | ports->word[3]);
}

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

/* The group's first sub-group, in sets of ports; two are a block. */
static uint32_t set_of(const struct ar_switch *ar, unsigned id)
{
	return ar->stacked ? id : id * ar->info.subgroups;
}

/* What the switch holds of a group; false: that is not known. */
bool ar_held_group(const struct ar_switch *ar, unsigned id, struct ar_ports *ports)
{
	uint32_t set = set_of(ar, id);

	if (set / 2 >= ar->ngroups || !ar->groups[set / 2].known)
		return false;
	*ports = get_set(ar->groups[set / 2].data + set % 2 * WIRE_AR_PORTS);
	return true;
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

static const struct ar_group *group_at(const struct ar_groups *g, uint32_t row, uint32_t lid)
{
	unsigned place = g ? ar_place(g, row, lid) : 0;

	return place ? &g->list[g->first[row] + place - 1] : NULL;
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

/*
 * Before the proof a group is what it was and is to be, if that is anything, so that no entry that
 * names it has a new choice; one that no entry names is as it is to be.
 */
void ar_write_groups(struct writer *w, struct ar_switch *ar)
{
	uint32_t at = NO_SET;
	uint8_t data[WIRE_SMP_DATA];

	for (uint32_t i = w->next->first[ar->row]; i < w->next->first[ar->row + 1]; i++) {
		struct ar_ports ports = w->next->list[i].ports, both = { 0 }, held = { 0 };
		uint32_t set = set_of(ar, w->next->list[i].id);

		if (set / 2 != at) {
			if (at != NO_SET)
				send_groups(w, ar, at, data);
			at = set / 2;
			if (at >= ar->ngroups) {
				ar->groups = mem_array_resize(ar->groups, at + 1);
				mem_zero(ar->groups + ar->ngroups, at + 1 - ar->ngroups);
				ar->ngroups = at + 1;
			}
			memcpy(data, ar->groups[at].data, WIRE_SMP_DATA);
		}
		held = get_set(ar->groups[at].data + set % 2 * WIRE_AR_PORTS);
		for (unsigned k = 0; k < 4; k++)
			both.word[k] = ports.word[k] & held.word[k];
		if (!w->proven && !is_empty(&held))
			ports = is_empty(&both) ? held : both;
		put_set(data + set % 2 * WIRE_AR_PORTS, &ports);
	}
	if (at != NO_SET)
		send_groups(w, ar, at, data);
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

	return ar_held_group(ar, group->id, &held) && !is_empty(&held) &&
	       is_within(&held, &group->ports) && (!w->proven || is_within(&group->ports, &held));
}

/* Whether an entry is to be Free by now, and with which group. */
static bool may_be_free(const struct writer *w, const struct ar_switch *ar, uint32_t lid,
			uint16_t *id)
{
	const struct ar_group *wanted;
	struct wire_ar_entry entry;

	if (ar->row == TOPO_NONE)
		return false;
	wanted = group_at(w->next, ar->row, lid);
	if (w->phase >= STATES) {
		*id = wanted ? wanted->id : 0;
		return wanted && is_ready(w, ar, wanted);
	}
	if (!w->next || lid >= w->nchanges || w->changes[lid] == OTHER ||
	    !ar_held_entry(ar, lid, &entry) || entry.state != WIRE_AR_FREE)
		return false;
	if (wanted && entry.group != wanted->id && w->changes[lid] != GAINS &&
	    is_ready(w, ar, wanted)) {
		*id = wanted->id;
		return true;
	}
	*id = entry.group;
	return (wanted && wanted->id == entry.group) || !group_named(w, ar->row, entry.group);
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

		if (ports[i] != TABLES_NO_ROUTE && lid <= w->lids->top &&
		    may_be_free(w, ar, lid, &entry.group))
			entry.state = WIRE_AR_FREE;
		else
			entry.group = 0;
		wire_ar_entry_encode(&entry, data + i * WIRE_AR_ENTRY_BYTES);
	}
}

/* Nothing changes of these LIDs but ports, and the switch holds them as the base has them. */
static bool is_of_base(const struct writer *w, const struct ar_switch *ar, uint32_t part)
{
	static const uint8_t none[WIRE_AR_LFT_BLOCK];

	return (w->phase < STATES || (w->next && !ar->strays)) &&
	       (part + 1) * WIRE_AR_LFT_BLOCK <= w->nchanges &&
	       !memcmp(w->changes + part * WIRE_AR_LFT_BLOCK, none, sizeof(none));
}

static unsigned differ(void *arg, const struct inv_node *node, uint32_t block,
		       const uint8_t ports[TABLES_BLOCK])
{
	const struct writer *w = arg;
	const struct ar_switch *ar = ar_of(node);
	uint8_t data[WIRE_SMP_DATA];
	unsigned parts = 0;

	for (unsigned i = 0; ar->row != TOPO_NONE && ar_fits(w, ar) && i < PROGRAM_PARTS; i++) {
		uint32_t part = block * PROGRAM_PARTS + i;
		const uint8_t *wanted = ports + i * WIRE_AR_LFT_BLOCK;
		bool same;

		if (part * WIRE_AR_LFT_BLOCK > w->lids->top)
			break;
		same = part < ar->nentries && ar->entries[part].known &&
		       !memcmp(ar->entries[part].ports, wanted, WIRE_AR_LFT_BLOCK);
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
	memcpy(block->ports, ports, WIRE_AR_LFT_BLOCK);
	block->known = false;
	block->filled = true;
	ar->strays = true;
	memcpy(data, block->data, WIRE_SMP_DATA);
}

static bool entries_answered(void *arg, const struct inv_node *node, uint32_t part,
			     const uint8_t *data)
{
	struct block *block = entries_at(ar_of(node), part);

	for (unsigned i = 0; block->reads && i < WIRE_AR_LFT_BLOCK; i++)
		block->ports[i] = data[i * WIRE_AR_ENTRY_BYTES + WIRE_AR_PORT];
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
			memcpy(to, ar->entries[part].ports, WIRE_AR_LFT_BLOCK);
		else
			memset(to, TABLES_NO_ROUTE, WIRE_AR_LFT_BLOCK);
		all &= filled || part > top / WIRE_AR_LFT_BLOCK;
	}
	return all;
}

/* ---- What a publication changes -------------------------------------------------------------- */

/* What a switch may choose, by a group or else a port; `up` has the ports whose links are up. */
static struct ar_ports choices(const struct ar_group *group, unsigned port,
			       const struct ar_ports *up)
{
	struct ar_ports out = { 0 };

	if (group)
		out = group->ports;
	else
		out.word[port / 64] = 1ull << port % 64;
	for (unsigned i = 0; i < 4; i++)
		out.word[i] &= up->word[i];
	return out;
}

/* What the switch is known to hold; false: it is not. */
static bool choices_held(const struct ar_switch *ar, uint32_t lid, const struct ar_ports *up,
			 struct ar_ports *out)
{
	struct wire_ar_entry entry;
	struct ar_group group;
	bool is_free;

	if (!ar_held_entry(ar, lid, &entry))
		return false;
	is_free = entry.state == WIRE_AR_FREE;
	if (is_free && !ar_held_group(ar, entry.group, &group.ports))
		return false;
	*out = choices(is_free ? &group : NULL, entry.port, up);
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

static void compare_row(const struct writer *w, const struct tables *tables, uint32_t row,
			uint8_t *changes)
{
	const guid_t guid = w->topo->nodes[row].guid;
	const struct inv_node *node = inventory_find(w->services.inventory, guid);
	const struct ar_switch *ar = node ? ar_of(node) : NULL;
	const struct ar_groups *was = w->base.groups;
	const struct ar_ports up = ports_up(w->topo, row);
	uint32_t old = topo_find(w->base.topo, guid);
	const uint8_t *now_ports = tables_row(tables, row);
	const uint8_t *ports =
		old < w->base.topo->nswitches ? tables_row(&w->base.tables, old) : NULL;
	bool strays = ar && ar->stage >= TURNING && ar->strays, same[AR_GROUPS_MAX + 1];

	if (ports)
		find_same(was, old, w->next, row, same);
	for (uint32_t lid = 1; lid <= w->lids->top; lid++) {
		const struct ar_group *now, *before = NULL;
		bool is_before = ports && lid <= w->base.tables.top;
		struct ar_ports from = { 0 }, held, to;
		unsigned place = ar_place(w->next, row, lid);
		uint8_t change;

		if (changes[lid] == OTHER ||
		    (is_before && !strays && same[place] && place == ar_place(was, old, lid) &&
		     (place || ports[lid] == now_ports[lid])))
			continue;
		if (w->next->dest[lid] == TOPO_NONE &&
		    (lid > was->top || was->dest[lid] == TOPO_NONE))
			continue;
		now = group_at(w->next, row, lid);
		if (is_before) {
			before = group_at(was, old, lid);
			from = choices(before, ports[lid], &up);
		}
		to = choices(now, now_ports[lid], &up);
		change = (is_within(&to, &from) ? 0 : GAINS) | (is_within(&from, &to) ? 0 : LOSES);
		if (!change && before && now && before->id != now->id)
			change = LOSES; /* what the old number names may change */
		changes[lid] |= change;
		/* One that was away holds what the base does not know of. */
		if (strays && choices_held(ar, lid, &up, &held) && !is_within(&held, &from))
			changes[lid] |= is_within(&held, &to) ? GAINS : OTHER;
	}
}

#define LIDS_A_CALL (1u << 19) /* of switches' rows: some milliseconds */

bool ar_compare_go(struct writer *w, const struct tables *tables)
{
	uint32_t left = LIDS_A_CALL / (w->lids->top + 1u) + 1, *row = &w->row;
	uint8_t *changes = w->compared;

	if (!changes) {
		changes = w->compared = mem_array(changes, w->lids->top + 1u);
		*row = 0;
		/* What is on its way counts; what may have grown is settled. */
		for (uint32_t lid = 0; lid < w->nchanges && lid <= w->lids->top; lid++)
			changes[lid] =
				w->grows && w->changes[lid] & GAINS ? OTHER : w->changes[lid];
		if (!w->base.groups || !w->next) {
			memset(changes, OTHER, w->lids->top + 1u);
			*row = w->topo->nswitches;
		}
	}
	for (; left && *row < w->topo->nswitches; left--)
		compare_row(w, tables, (*row)++, changes);
	if (*row < w->topo->nswitches)
		return true;
	free(w->changes);
	w->changes = changes;
	w->nchanges = w->lids->top + 1u;
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
