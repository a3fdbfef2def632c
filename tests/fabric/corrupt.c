/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* corrupt: see corrupt.h. */
#include <string.h>
#include "tests/fabric/damage.h"
#include "tests/fabric/corrupt.h"

struct corruption {
	const struct topo *t;
	struct tables *tables;
	uint64_t *random;
};

static uint32_t pick(const struct corruption *s, uint32_t below)
{
	return damage_random(s->random) % below;
}

static uint32_t some_switch(const struct corruption *s)
{
	return pick(s, s->t->nswitches);
}

static uint16_t some_lid(const struct corruption *s)
{
	return 1 + pick(s, s->tables->top);
}

static void corrupt_entry(const struct corruption *s)
{
	uint32_t sw = some_switch(s);
	uint16_t lid = some_lid(s);

	tables_row(s->tables, sw)[lid] = pick(s, s->t->nodes[sw].nports + 4u);
}

static void corrupt_dead_end(const struct corruption *s)
{
	uint32_t sw = some_switch(s);

	tables_row(s->tables, sw)[some_lid(s)] = TABLES_NO_ROUTE;
}

/* Two neighbours send a LID to one another. */
static void corrupt_loop(const struct corruption *s)
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
static unsigned some_cable(const struct corruption *s, uint32_t sw, const struct topo_port **peer)
{
	unsigned num = 1 + pick(s, s->t->nodes[sw].nports);
	const struct topo_port *port = topo_port(s->t, sw, num);

	*peer = topo_peer(s->t, port);
	return port->link_up && (*peer)->node < s->t->nswitches ? num : 0;
}

static void turn_some(const struct corruption *s)
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
static void corrupt_towards_a_gap(const struct corruption *s)
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
static void corrupt_block(const struct corruption *s)
{
	uint32_t at = pick(s, tables_blocks(s->tables)) * TABLES_BLOCK;
	uint32_t from = some_switch(s);

	memmove(tables_row(s->tables, some_switch(s)) + at, tables_row(s->tables, from) + at,
		TABLES_BLOCK);
}

/* Many neighbouring LIDs go by one port. */
static void corrupt_run(const struct corruption *s)
{
	uint32_t sw = some_switch(s), lid = some_lid(s), end = lid + 1 + pick(s, 100);
	uint8_t out = pick(s, s->t->nodes[sw].nports + 1u);

	for (; lid < end && lid <= s->tables->top; lid++)
		tables_row(s->tables, sw)[lid] = out;
}

static void corrupt_one(const struct corruption *s,
			void (*const ways[])(const struct corruption *s), unsigned count)
{
	ways[pick(s, count)](s);
}

void corrupt_tables(const struct topo *t, struct tables *tables, uint64_t *random)
{
	static void (*const ways[])(const struct corruption *s) = {
		corrupt_entry, corrupt_dead_end, corrupt_loop, turn_some, corrupt_towards_a_gap,
	};

	corrupt_one(&(struct corruption){ t, tables, random }, ways, 5);
}

void corrupt_many(const struct topo *t, struct tables *tables, uint64_t *random)
{
	static void (*const ways[])(const struct corruption *s) = { corrupt_block, corrupt_run };

	corrupt_one(&(struct corruption){ t, tables, random }, ways, 2);
}

void corrupt_turns(const struct topo *t, struct tables *tables, uint64_t *random)
{
	turn_some(&(struct corruption){ t, tables, random });
}

void corrupt_all(struct tables *tables, unsigned below, uint64_t *random)
{
	for (uint32_t sw = 0; sw < tables->nswitches; sw++)
		for (uint32_t at = 0; at < tables->stride; at++)
			tables_row(tables, sw)[at] = damage_random(random) % below;
}
