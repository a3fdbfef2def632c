/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * cabling_hcas: hosts that lack an HCA, and whole hosts in another scalable unit.
 *
 * A rail that 80% of a unit's hosts have an HCA on is usual there. A host with HCAs on more than
 * half of the usual rails lacks an HCA on each of the others. A host with fewer, or with a name of
 * another form than most names of the unit, is another kind of machine and lacks nothing.
 *
 * Hosts whose names differ in the last number only ("dgx-su01-05") are a group. Where 80% of a
 * group are in one unit, and 80% of that unit are of the group, a host of it in another such unit
 * is in the wrong place as a whole.
 */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topology/cabling_hosts.h"
#include "topology/mem.h"
#include "topology/names.h"

#define GROUP_MIN 4

struct crews { /* hosts by unit, and by two parts of their names */
	struct wiring *w;
	struct units units;
	struct names names;
	uint32_t *shape;       /* by host: id of its name without digits */
	uint32_t *group;       /* by host: id of its name without the last number */
	uint32_t *hosts;       /* by unit */
	uint32_t *usual_shape; /* by unit: the id that most have */
	uint32_t *usual_group;
};

static uint32_t shape_of(struct crews *c, const char *name)
{
	char *text = arena_alloc(c->w->result->arena, strlen(name) + 2, 1);
	size_t n = 0;

	text[n++] = '#'; /* no group begins with it */
	for (; *name; name++)
		if (!isdigit((unsigned char)*name))
			text[n++] = *name;
	return names_id(&c->names, text, n);
}

/* Of "rack3-node07-ib" it is "rack3-node". */
static uint32_t group_of(struct crews *c, const char *name)
{
	size_t end = strlen(name);

	while (end && !isdigit((unsigned char)name[end - 1]))
		end--;
	while (end && isdigit((unsigned char)name[end - 1]))
		end--;
	return names_id(&c->names, name, end);
}

/* By unit, the id that most of its hosts have. */
static uint32_t *most_frequent(const struct crews *c, const uint32_t *id)
{
	uint32_t *usual = mem_alloc(c->units.count + 1, sizeof(*usual));
	uint32_t *count = mem_alloc(c->names.count + 1, sizeof(*count));

	for (uint32_t su = 0; su < c->units.count; su++) {
		uint32_t best = 0;

		memset(count, 0, c->names.count * sizeof(*count));
		for (uint32_t h = 0; h < c->w->t->nhosts; h++)
			if (units_of_host(&c->units, h) == (int)su && ++count[id[h]] > best) {
				best = count[id[h]];
				usual[su] = id[h];
			}
	}
	free(count);
	return usual;
}

static void crews_init(struct crews *c, struct wiring *w)
{
	uint32_t nhosts = w->t->nhosts;

	*c = (struct crews){ .w = w,
			     .shape = mem_alloc(nhosts + 1, sizeof(*c->shape)),
			     .group = mem_alloc(nhosts + 1, sizeof(*c->group)) };
	units_init(&c->units, w);
	c->hosts = mem_alloc(c->units.count + 1, sizeof(*c->hosts));
	for (uint32_t h = 0; h < nhosts; h++) {
		int su = units_of_host(&c->units, h);

		c->shape[h] = shape_of(c, w->t->hosts[h].name);
		c->group[h] = group_of(c, w->t->hosts[h].name);
		if (su >= 0)
			c->hosts[su]++;
	}
	c->usual_shape = most_frequent(c, c->shape);
	c->usual_group = most_frequent(c, c->group);
}

static void crews_fini(struct crews *c)
{
	units_fini(&c->units);
	names_fini(&c->names);
	free(c->shape);
	free(c->group);
	free(c->hosts);
	free(c->usual_shape);
	free(c->usual_group);
}

/* ---- HCAs that are not there ----------------------------------------------------------------- */

static uint32_t hca_on_rail(const struct topo *t, const struct topo_host *host, int rail)
{
	for (uint32_t i = 0; i < host->ncas; i++)
		if (t->nodes[t->host_cas[host->first + i]].rail == rail)
			return t->host_cas[host->first + i];
	return TOPO_NONE;
}

static unsigned count_rails(const struct crews *c, const struct topo_host *host)
{
	unsigned rails = 0;

	for (uint32_t rail = 0; rail < c->units.rails; rail++)
		rails += hca_on_rail(c->w->t, host, (int)rail) != TOPO_NONE;
	return rails;
}

/* The description expected of a missing HCA: that of HCA `like`, with this host's name in it. */
static const char *name_hca(const struct crews *c, const struct topo_host *host, uint32_t like)
{
	const struct topo *t = c->w->t;
	const char *its = t->hosts[t->nodes[like].host].name, *desc = t->nodes[like].label;
	const char *rest = strstr(desc, its);
	char *text;
	size_t size;

	if (!rest)
		return arena_strdup(c->w->result->arena, host->name);
	rest += strlen(its);
	size = strlen(host->name) + strlen(rest) + 1;
	text = arena_alloc(c->w->result->arena, size, 1);
	snprintf(text, size, "%s%s", host->name, rest);
	return text;
}

struct usual_rails {
	int su;
	unsigned nrails;
	uint32_t like[256]; /* by rail: an HCA of it; TOPO_NONE = the rail is not usual */
	struct wiring_votes votes[256]; /* by rail */
};

static void find_usual_rails(const struct crews *c, struct usual_rails *usual)
{
	const struct topo *t = c->w->t;

	usual->nrails = 0;
	for (uint32_t rail = 0; rail < c->units.rails && rail < 256; rail++) {
		struct wiring_votes votes = { 0 };

		usual->like[rail] = TOPO_NONE;
		for (uint32_t h = 0; h < t->nhosts; h++) {
			uint32_t hca;

			if (units_of_host(&c->units, h) != usual->su)
				continue;
			votes.of++;
			hca = hca_on_rail(t, &t->hosts[h], (int)rail);
			votes.votes += hca != TOPO_NONE;
			usual->like[rail] = hca != TOPO_NONE ? hca : usual->like[rail];
		}
		usual->votes[rail] = votes;
		if (votes.votes < GROUP_MIN || !most(votes.votes, votes.of, 4, 5))
			usual->like[rail] = TOPO_NONE;
		usual->nrails += usual->like[rail] != TOPO_NONE;
	}
}

static void find_lost(struct crews *c, const struct usual_rails *usual, uint32_t h)
{
	struct wiring *w = c->w;
	const struct topo_host *host = &w->t->hosts[h];
	unsigned num = units_port(&c->units, h);

	for (uint32_t rail = 0; rail < c->units.rails && rail < 256; rail++) {
		uint32_t leaf = units_leaf(&c->units, usual->su, (int)rail), end, at;

		if (usual->like[rail] == TOPO_NONE || leaf == TOPO_NONE ||
		    hca_on_rail(w->t, host, (int)rail) != TOPO_NONE)
			continue;
		end = wiring_add_end(w, TOPO_NONE, name_hca(c, host, usual->like[rail]), 1);
		at = w->t->nodes[leaf].port0 + num;
		if (num && num <= w->t->nodes[leaf].nports &&
		    wiring_expect(w, at, end, usual->votes[rail]))
			continue;
		at = wiring_add_end(w, leaf, w->t->nodes[leaf].name, 0);
		wiring_expect(w, at, end, usual->votes[rail]);
	}
}

void cabling_find_lost_hcas(struct wiring *w)
{
	struct usual_rails usual;
	struct crews c;

	crews_init(&c, w);
	for (uint32_t su = 0; su < c.units.count; su++) {
		usual.su = (int)su;
		find_usual_rails(&c, &usual);
		for (uint32_t h = 0; h < w->t->nhosts; h++)
			if (units_of_host(&c.units, h) == (int)su &&
			    c.shape[h] == c.usual_shape[su] &&
			    count_rails(&c, &w->t->hosts[h]) * 2 > usual.nrails)
				find_lost(&c, &usual, h);
	}
	crews_fini(&c);
}

/* ---- Hosts of another unit ------------------------------------------------------------------- */

struct homes {
	uint32_t *unit; /* by group: where 80% of it are, TOPO_NONE = nowhere */
	struct wiring_votes *votes;
};

/* Finds the groups that have 80% of their hosts in one unit and are 80% of that unit's hosts. */
static void find_homes(const struct crews *c, struct homes *homes)
{
	uint32_t *all = mem_alloc(c->names.count + 1, sizeof(*all));

	for (uint32_t h = 0; h < c->w->t->nhosts; h++)
		all[c->group[h]] += units_of_host(&c->units, h) >= 0;
	memset(homes->unit, 0xff, (c->names.count + 1) * sizeof(*homes->unit));
	for (uint32_t su = 0; su < c->units.count; su++) {
		uint32_t group = c->usual_group[su], here = 0;

		for (uint32_t h = 0; h < c->w->t->nhosts; h++)
			here += c->group[h] == group && units_of_host(&c->units, h) == (int)su;
		if (here < GROUP_MIN || !most(here, all[group], 4, 5) ||
		    !most(here, c->hosts[su], 4, 5))
			continue;
		homes->unit[group] = su;
		homes->votes[group] = (struct wiring_votes){ here, all[group] };
	}
	free(all);
}

/* Whether the host is in a unit that another group fills, while its own group fills another. */
static bool is_away(const struct crews *c, const struct homes *homes, uint32_t h)
{
	int su = units_of_host(&c->units, h);
	uint32_t home = homes->unit[c->group[h]];

	return su >= 0 && home != TOPO_NONE && home != (uint32_t)su &&
	       homes->unit[c->usual_group[su]] == (uint32_t)su;
}

static void report_away(struct crews *c, const struct homes *homes, uint32_t h)
{
	struct wiring *w = c->w;
	const struct topo_host *host = &w->t->hosts[h];
	struct cabling_item item = { .kind = CABLING_HOST,
				     .found.name = host->name,
				     .su = (int16_t)homes->unit[c->group[h]],
				     .leaf_su = (int16_t)units_of_host(&c->units, h),
				     .votes = homes->votes[c->group[h]].votes,
				     .of = homes->votes[c->group[h]].of };

	for (uint32_t i = 0; i < host->ncas && !item.at.name; i++) {
		uint32_t ca = w->t->host_cas[host->first + i];
		const struct topo_port *port = cabling_first_cabled(w->t, ca);

		if (port && topo_peer(w->t, port)->node < w->t->nswitches) {
			uint32_t leaf = units_leaf(&c->units, item.su, w->t->nodes[ca].rail);

			item.at = item.b = item.a_found =
				cabling_end_of(w->t, topo_peer(w->t, port));
			item.a = item.b_found = cabling_end_of(w->t, port);
			item.belongs.name = leaf == TOPO_NONE ? NULL : w->t->nodes[leaf].name;
		}
	}
	cabling_add(w->result, &item);
}

void cabling_find_moved_hosts(struct wiring *w)
{
	struct crews c;
	struct homes homes;

	crews_init(&c, w);
	homes.unit = mem_alloc(c.names.count + 1, sizeof(*homes.unit));
	homes.votes = mem_alloc(c.names.count + 1, sizeof(*homes.votes));
	find_homes(&c, &homes);
	for (uint32_t h = 0; h < w->t->nhosts; h++)
		if (is_away(&c, &homes, h))
			report_away(&c, &homes, h);
	free(homes.unit);
	free(homes.votes);
	crews_fini(&c);
}
