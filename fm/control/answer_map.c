/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * answer_map: the switches and what is between them, small enough to draw a fabric of 16,384 HCAs:
 *
 *   {"levels": N,
 *    "switches": {"name": [..], "guid": [..], "lid": .., "role": .., "level": .., "su": ..,
 *                 "rail": .., "links": .., "links_down": .., "hcas": .., "hcas_down": ..},
 *    "trunks": [[LOWER, UPPER, LINKS, DOWN, CORDONED, SET_ASIDE, UNHEALTHY, LOAD, ERRORS], ..]}
 *
 * A column has one value for each switch. A trunk is all links between two switches, by their
 * places in the columns, the lower tier first: how many links there are and how many of them are
 * down, cordoned, set aside (in quarantine or isolated), unhealthy; the load of the busiest in per
 * cent of its rate, and errors a minute, of all. Zeros at a trunk's end are left out.
 */
#include <math.h>
#include <stdlib.h>
#include "fm/control/answer.h"
#include "fm/control/traffic.h"
#include "fm/fabric/view.h"
#include "topology/mem.h"

#define MINUTE_S 60

enum { LINKS, DOWN, CORDONED, SET_ASIDE, UNHEALTHY, LOAD, ERRORS, FIGURES };

struct trunk {
	uint32_t upper;
	double figure[FIGURES];
};

struct map {
	const struct topo *t;
	bool *unhealthy;		       /* by port */
	const struct port_counters **counters; /* by port */
	struct trunk *trunks;		       /* of the switch at hand */
	uint32_t *place;		       /* in trunks, by upper switch; TOPO_NONE = none */
	uint32_t ntrunks;
	json_t *rows;
};

/* ---- Switches -------------------------------------------------------------------------------- */

static json_t *index_or_null(int value)
{
	return value < 0 ? json_null() : json_integer(value);
}

static json_t *column(json_t *columns, const char *name)
{
	json_t *array = json_object_get(columns, name);

	if (!array) {
		array = json_array();
		json_object_set_new(columns, name, array);
	}
	return array;
}

static void count_links(const struct topo *t, uint32_t sw, unsigned up[2], unsigned down[2])
{
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(t, sw, num), *peer = topo_peer(t, port);
		bool to_host = peer && topo_is_host(t, peer->node);

		if (!peer || t->nodes[peer->node].sharp)
			continue;
		up[to_host] += port->link_up;
		down[to_host] += !port->link_up;
	}
}

static void add_switch(const struct topo *t, uint32_t sw, json_t *columns)
{
	const struct topo_node *node = &t->nodes[sw];
	unsigned up[2] = { 0 }, down[2] = { 0 };

	count_links(t, sw, up, down);
	json_array_append_new(column(columns, "name"), json_string(node->name));
	json_array_append_new(column(columns, "guid"),
			      json_sprintf("0x%016llx", (unsigned long long)node->guid));
	json_array_append_new(column(columns, "lid"), json_integer(topo_port(t, sw, 0)->lid));
	json_array_append_new(column(columns, "role"), json_string(topo_role_name(node->role)));
	json_array_append_new(column(columns, "level"), json_integer(node->level));
	json_array_append_new(column(columns, "su"), index_or_null(node->su));
	json_array_append_new(column(columns, "rail"), index_or_null(node->rail));
	json_array_append_new(column(columns, "links"), json_integer(up[0] + up[1]));
	json_array_append_new(column(columns, "links_down"), json_integer(down[0] + down[1]));
	json_array_append_new(column(columns, "hcas"), json_integer(up[1] + down[1]));
	json_array_append_new(column(columns, "hcas_down"), json_integer(down[1]));
}

/* ---- Trunks ---------------------------------------------------------------------------------- */

static bool is_lower(const struct topo *t, uint32_t a, uint32_t b)
{
	return t->nodes[a].level != t->nodes[b].level ? t->nodes[a].level < t->nodes[b].level
						      : a < b;
}

/* 0 = not known. */
static double load_of(const struct map *map, uint32_t port)
{
	double load = traffic_load(&map->t->ports[port], map->counters[port]);

	return isnan(load) ? 0 : load;
}

static double errors_of(const struct map *map, uint32_t port)
{
	double rate = traffic_errors(map->counters[port]);

	return isnan(rate) ? 0 : rate * MINUTE_S;
}

static struct trunk *trunk_to(struct map *map, uint32_t upper)
{
	if (map->place[upper] == TOPO_NONE) {
		map->place[upper] = map->ntrunks++;
		map->trunks[map->place[upper]] = (struct trunk){ .upper = upper };
	}
	return &map->trunks[map->place[upper]];
}

static void add_link(struct map *map, const struct topo_port *a)
{
	const struct topo *t = map->t;
	const struct topo_port *b = topo_peer(t, a);
	double *figure = trunk_to(map, b->node)->figure;
	uint32_t ends[2] = { (uint32_t)(a - t->ports), a->peer };
	bool aside = a->quarantined || a->isolated || b->quarantined || b->isolated;

	figure[LINKS]++;
	figure[DOWN] += !a->link_up;
	figure[SET_ASIDE] += aside;
	figure[CORDONED] += !aside && (a->cordoned || b->cordoned);
	figure[UNHEALTHY] += map->unhealthy[ends[0]] || map->unhealthy[ends[1]];
	for (int i = 0; i < 2 && a->link_up; i++) {
		figure[LOAD] = fmax(figure[LOAD], load_of(map, ends[i]));
		figure[ERRORS] += errors_of(map, ends[i]);
	}
}

/* What is there is not nothing, however little. */
static json_int_t whole(double figure)
{
	return figure > 0 && figure < 1 ? 1 : llround(figure);
}

static void add_row(struct map *map, uint32_t lower, const struct trunk *trunk)
{
	json_t *row = json_pack("[ii]", (int)lower, (int)trunk->upper);
	int last = FIGURES - 1;

	while (trunk->figure[last] <= 0)
		last--;
	for (int i = 0; i <= last; i++)
		json_array_append_new(row, json_integer(whole(trunk->figure[i])));
	json_array_append_new(map->rows, row);
}

static void add_trunks(struct map *map, uint32_t sw)
{
	const struct topo *t = map->t;

	map->ntrunks = 0;
	for (unsigned num = 1; num <= t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(t, sw, num), *peer = topo_peer(t, port);

		if (peer && peer->node < t->nswitches && is_lower(t, sw, peer->node))
			add_link(map, port);
	}
	for (uint32_t i = 0; i < map->ntrunks; i++) {
		map->place[map->trunks[i].upper] = TOPO_NONE;
		add_row(map, sw, &map->trunks[i]);
	}
}

/* ---- The document ---------------------------------------------------------------------------- */

static void take_counters(void *arg, uint32_t port, const struct port_counters *counters)
{
	struct map *map = arg;

	map->counters[port] = counters;
}

static void take_unhealthy(struct map *map, const struct fabric *fabric)
{
	json_t *rows = fabric_unhealthy(fabric), *row;
	size_t i;

	json_array_foreach (rows, i, row) {
		const json_t *a = json_object_get(row, "a");
		const char *guid = json_string_value(json_object_get(a, "guid"));
		json_int_t num = json_integer_value(json_object_get(a, "port"));
		uint32_t port = guid ? topo_port_of(map->t, strtoull(guid, NULL, 16), (unsigned)num)
				     : TOPO_NONE;

		if (port != TOPO_NONE)
			map->unhealthy[port] = true;
	}
	json_decref(rows);
}

static json_t *make(struct map *map, const struct fabric *fabric)
{
	const struct topo *t = map->t;
	json_t *columns = json_object();

	map->rows = json_array();
	map->unhealthy = mem_alloc(t->nports, sizeof(*map->unhealthy));
	map->counters = mem_alloc(t->nports, sizeof(*map->counters));
	map->trunks = mem_alloc(UINT8_MAX + 1, sizeof(*map->trunks));
	map->place = mem_alloc(t->nswitches, sizeof(*map->place));
	link_health_each_port(fabric, take_counters, map);
	take_unhealthy(map, fabric);
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		map->place[sw] = TOPO_NONE;
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		add_switch(t, sw, columns);
		add_trunks(map, sw);
	}
	free(map->unhealthy);
	free(map->counters);
	free(map->trunks);
	free(map->place);
	return json_pack("{s:i, s:o, s:o}", "levels", (int)t->nlevels, "switches", columns,
			 "trunks", map->rows);
}

static json_t *answer_map(const struct command_env *env, json_t *args, char *err)
{
	struct map map = { .t = command_topo(env, err) };

	return map.t && command_unpack(args, err, "{}") ? make(&map, env->fabric) : NULL;
}
const struct command_run map_run = { .answer = answer_map, .long_answer = true };
