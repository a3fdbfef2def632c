/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* spoil: see spoil.h. */
#include <string.h>
#include "tests/fabric/damage.h"
#include "tests/fabric/spoil.h"

struct spoil {
	const struct topo *t;
	struct tables *tables;
	uint64_t *random;
};

static uint32_t pick(const struct spoil *s, uint32_t below)
{
	return damage_random(s->random) % below;
}

static uint32_t some_switch(const struct spoil *s)
{
	return pick(s, s->t->nswitches);
}

static uint16_t some_lid(const struct spoil *s)
{
	return 1 + pick(s, s->tables->top);
}

static void spoil_entry(const struct spoil *s)
{
	uint32_t sw = some_switch(s);
	uint16_t lid = some_lid(s);

	tables_row(s->tables, sw)[lid] = pick(s, s->t->nodes[sw].nports + 4u);
}

static void spoil_dead_end(const struct spoil *s)
{
	uint32_t sw = some_switch(s);

	tables_row(s->tables, sw)[some_lid(s)] = TABLES_NO_ROUTE;
}

/* Two neighbours send a LID to one another. */
static void spoil_loop(const struct spoil *s)
{
	uint32_t sw = some_switch(s);
	uint16_t lid = some_lid(s);

	for (unsigned num = 1; num <= s->t->nodes[sw].nports; num++) {
		const struct topo_port *peer = topo_peer(s->t, topo_port(s->t, sw, num));

		if (!peer || peer->node >= s->t->nswitches)
			continue;
		tables_row(s->tables, sw)[lid] = num;
		tables_row(s->tables, peer->node)[lid] = peer->num;
		return;
	}
}

/* Some port of the switch that leads to another one, or 0. */
static unsigned some_cable(const struct spoil *s, uint32_t sw, const struct topo_port **peer)
{
	unsigned num = 1 + pick(s, s->t->nodes[sw].nports);
	const struct topo_port *port = topo_port(s->t, sw, num);

	*peer = topo_peer(s->t, port);
	return port->link_up && (*peer)->node < s->t->nswitches ? num : 0;
}

static void turn_some(const struct spoil *s)
{
	for (unsigned n = 0; n < 12; n++) {
		uint32_t sw = some_switch(s);
		uint16_t lid = some_lid(s);
		const struct topo_port *peer;
		unsigned num = some_cable(s, sw, &peer);
		uint8_t next = num ? tables_row(s->tables, peer->node)[lid] : TABLES_NO_ROUTE;

		if (next != TABLES_NO_ROUTE && next != peer->num)
			tables_row(s->tables, sw)[lid] = num;
	}
}

/* A switch sends to one that has no entry, which stays as it was. */
static void spoil_towards_a_gap(const struct spoil *s)
{
	uint32_t start = some_switch(s);
	uint16_t lid = some_lid(s);

	for (uint32_t i = 0; i < s->t->nswitches; i++) {
		uint32_t sw = (start + i) % s->t->nswitches;
		const struct topo_port *peer;
		unsigned num = some_cable(s, sw, &peer);

		if (!num || tables_row(s->tables, peer->node)[lid] != TABLES_NO_ROUTE)
			continue;
		tables_row(s->tables, sw)[lid] = num;
		return;
	}
}

/* As a switch that was given what is another's. */
static void spoil_block(const struct spoil *s)
{
	uint32_t at = pick(s, tables_blocks(s->tables)) * TABLES_BLOCK;
	uint32_t from = some_switch(s);

	memmove(tables_row(s->tables, some_switch(s)) + at, tables_row(s->tables, from) + at,
		TABLES_BLOCK);
}

/* Many neighbouring LIDs go by one port. */
static void spoil_run(const struct spoil *s)
{
	uint32_t sw = some_switch(s), lid = some_lid(s), end = lid + 1 + pick(s, 100);
	uint8_t out = pick(s, s->t->nodes[sw].nports + 1u);

	for (; lid < end && lid <= s->tables->top; lid++)
		tables_row(s->tables, sw)[lid] = out;
}

static void spoil_one(const struct spoil *s, void (*const ways[])(const struct spoil *s),
		      unsigned count)
{
	ways[pick(s, count)](s);
}

void spoil_tables(const struct topo *t, struct tables *tables, uint64_t *random)
{
	static void (*const ways[])(const struct spoil *s) = {
		spoil_entry, spoil_dead_end, spoil_loop, turn_some, spoil_towards_a_gap,
	};

	spoil_one(&(struct spoil){ t, tables, random }, ways, 5);
}

void spoil_many(const struct topo *t, struct tables *tables, uint64_t *random)
{
	static void (*const ways[])(const struct spoil *s) = { spoil_block, spoil_run };

	spoil_one(&(struct spoil){ t, tables, random }, ways, 2);
}

void spoil_turns(const struct topo *t, struct tables *tables, uint64_t *random)
{
	turn_some(&(struct spoil){ t, tables, random });
}

void spoil_all(struct tables *tables, unsigned below, uint64_t *random)
{
	for (uint32_t sw = 0; sw < tables->nswitches; sw++)
		for (uint32_t at = 0; at < tables->stride; at++)
			tables_row(tables, sw)[at] = damage_random(random) % below;
}
