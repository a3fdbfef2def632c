/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/cabling/cabling.h"
#include <ctype.h>
#include "topology/cabling/cabling_own.h"
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/base/sort.h"

/* ---- Which switches are like one another ----------------------------------------------------- */

/*
 * Which switches are like one another, so that one can be held against the others.
 *
 * Two switches are alike in a set of neighbours when they share more than half of the larger of
 * both their sets; likeness is handed on. By all neighbours: switches that stand side by side,
 * among which the majority says what level they are at, so that an HCA on a core or a cable past a
 * tier moves nobody. Then by parents and by children, within a level.
 */

enum relation { ANY, ABOVE, BELOW };

struct likeness {
	const struct tiers *tiers;
	enum relation relation;
	uint32_t *shared, *touched; /* by switch; a list */
};

static bool is_related(const struct tiers *tiers, uint32_t sw, uint32_t other,
		       enum relation relation)
{
	return relation == ANY || (relation == ABOVE ? tiers->level[other] == tiers->level[sw] + 1
						     : tiers->level[other] + 1 == tiers->level[sw]);
}

static uint32_t count_related(const struct likeness *l, uint32_t sw)
{
	uint32_t count = 0;

	for (uint32_t i = l->tiers->first[sw]; i < l->tiers->first[sw + 1]; i++)
		count += is_related(l->tiers, sw, l->tiers->near[i], l->relation);
	return count;
}

/* Counts the neighbours that each later switch of the same level has in common with this one. */
static uint32_t count_shared(struct likeness *l, uint32_t sw)
{
	const struct tiers *tiers = l->tiers;
	uint32_t n = 0;

	for (uint32_t i = tiers->first[sw]; i < tiers->first[sw + 1]; i++) {
		uint32_t via = tiers->near[i];

		if (!is_related(tiers, sw, via, l->relation))
			continue;
		for (uint32_t j = tiers->first[via]; j < tiers->first[via + 1]; j++) {
			uint32_t other = tiers->near[j];

			if (other <= sw ||
			    (l->relation != ANY && tiers->level[other] != tiers->level[sw]))
				continue;
			if (!l->shared[other]++)
				l->touched[n++] = other;
		}
	}
	return n;
}

/* By switch, one that stands for all that are like it. */
static uint32_t *join_alike(const struct tiers *tiers, enum relation relation)
{
	uint32_t nswitches = tiers->t->nswitches;
	uint32_t *parent = mem_array(parent, nswitches + 1);
	struct likeness l = { .tiers = tiers,
			      .relation = relation,
			      .shared = mem_array(l.shared, nswitches + 1),
			      .touched = mem_array(l.touched, nswitches + 1) };

	for (uint32_t sw = 0; sw < nswitches; sw++)
		parent[sw] = sw;
	for (uint32_t sw = 0; sw < nswitches; sw++) {
		uint32_t own = count_related(&l, sw), n = count_shared(&l, sw);

		for (uint32_t i = 0; i < n; i++) {
			uint32_t other = l.touched[i], its = count_related(&l, other);

			if (l.shared[other] * 2 > (own > its ? own : its))
				parent[sort_root(parent, other)] = sort_root(parent, sw);
			l.shared[other] = 0;
		}
	}
	for (uint32_t sw = 0; sw < nswitches; sw++)
		parent[sw] = sort_root(parent, sw);
	free(l.shared);
	free(l.touched);
	return parent;
}

/* Each neighbour once, however many cables lead to it; cables that are down count. */
static void find_neighbours(struct tiers *tiers)
{
	const struct topo *t = tiers->t;
	uint32_t *last = mem_array(last, t->nswitches + 1), n = 0;

	tiers->first = mem_array(tiers->first, t->nswitches + 1);
	tiers->near = mem_array(tiers->near, t->nswitch_ports + 1);
	for (uint32_t sw = 0; sw < t->nswitches; sw++) {
		TOPO_LINKS (t, sw, port, peer) {
			if (peer->node >= t->nswitches || peer->node == sw ||
			    last[peer->node] == sw + 1)
				continue;
			last[peer->node] = sw + 1;
			tiers->near[n++] = peer->node;
		}
		tiers->first[sw + 1] = n;
	}
	free(last);
}

/* ---- Slow links ------------------------------------------------------------------------------ */

/*
 * Links slower, or with fewer lanes, than their like.
 *
 * Links are alike when they join the same kinds of devices in the same place: HCAs of one model and
 * one scalable unit (without rails: of one leaf) with its leaves, or switches of two models at two
 * levels. 80% of four links at least have to agree. A switch or host whose links are all like that
 * is another kind: it is left out, as an older card or switch is.
 */

#define LIKE_MIN 4

struct link_class {
	uint64_t kind;	/* of both devices, and how deep */
	uint32_t place; /* unit or leaf; levels */
	uint32_t port;	/* of the lower end, index */
	uint8_t speed, width;
};

SORT_BY(compare_classes, struct link_class,
	sort_order(a->kind, b->kind) ?: sort_order(a->place, b->place) ?:
	sort_order(a->port, b->port))

static bool is_running(const struct topo_port *port)
{
	return port->link_up && port->speed && port->width;
}

static struct link_class class_of(const struct wiring *w, uint32_t p)
{
	const struct topo_port *port = &w->t->ports[p], *peer = &w->t->ports[w->v[p].found];
	const struct topo_node *node = &w->t->nodes[port->node];
	const struct topo_node *far = &w->t->nodes[peer->node];
	bool host = node->type != TOPO_SWITCH;

	return (struct link_class){ .kind = (uint64_t)host << 32 | (uint32_t)node->device << 16 |
					    far->device,
				    .place = !host ? (uint32_t)node->level << 8 | far->level
					     : node->su >= 0 ? (uint32_t)node->su
							     : peer->node | 1u << 31,
				    .port = p,
				    .speed = port->speed,
				    .width = port->width };
}

/* Of a cable the lower end: an HCA, or the switch of the lower level. */
static bool is_lower(const struct wiring *w, uint32_t p)
{
	const struct topo_node *node = &w->t->nodes[w->v[p].node];
	const struct topo_node *far = &w->t->nodes[w->v[w->v[p].found].node];

	if (node->type != TOPO_SWITCH || far->type != TOPO_SWITCH)
		return node->type != TOPO_SWITCH && (far->type == TOPO_SWITCH || p < w->v[p].found);
	return node->level != far->level ? node->level < far->level : p < w->v[p].found;
}

/* Counts a port's link, where it runs, and whether it is slower than usual. */
static void count_slow(const struct topo_port *port, const struct link_class *usual,
		       uint32_t *links, uint32_t *slow)
{
	if (!port || !is_running(port))
		return;
	++*links;
	*slow += port->speed < usual->speed || port->width < usual->width;
}

/* A node that has two links of the kind at least, and all of them slower, is another kind. */
static bool is_all_slow(const struct wiring *w, uint32_t node, const struct link_class *usual,
			bool host)
{
	uint32_t slow = 0, links = 0;

	TOPO_LINKS (w->t, node, port, peer)
		if ((w->t->nodes[peer->node].type == TOPO_SWITCH) != host &&
		    !w->t->nodes[peer->node].sharp)
			count_slow(port, usual, &links, &slow);
	return links > 1 && slow == links;
}

/* The same of a host and all its HCAs. */
static bool is_slow_host(const struct wiring *w, uint32_t ca, const struct link_class *usual)
{
	const struct topo *t = w->t;
	const struct topo_host *host =
		t->nodes[ca].host == TOPO_NONE ? NULL : &t->hosts[t->nodes[ca].host];
	uint32_t slow = 0, links = 0;

	for (uint32_t i = 0; host && i < host->ncas; i++)
		count_slow(topo_link_from(t, t->host_cas[host->first + i], 1), usual, &links,
			   &slow);
	return links > 1 && slow == links;
}

static void report_slow(struct wiring *w, const struct link_class *link,
			const struct link_class *usual, struct wiring_votes votes)
{
	const struct topo_port *port = &w->t->ports[link->port];
	const struct topo_port *peer = &w->t->ports[w->v[link->port].found];
	bool host = w->t->nodes[port->node].type != TOPO_SWITCH;

	if (host ? is_slow_host(w, port->node, usual) || is_all_slow(w, peer->node, usual, true)
		 : is_all_slow(w, port->node, usual, false) ||
			    is_all_slow(w, peer->node, usual, false))
		return;
	cabling_add(w->result,
		    &(struct cabling_item){ .kind = link->speed < usual->speed ? CABLING_SPEED
									       : CABLING_WIDTH,
					    .at = cabling_end_of(w->t, host ? peer : port),
					    .found = cabling_end_of(w->t, host ? port : peer),
					    .a = cabling_end_of(w->t, port),
					    .b = cabling_end_of(w->t, peer),
					    .a_found = cabling_end_of(w->t, peer),
					    .b_found = cabling_end_of(w->t, port),
					    .speed = link->speed,
					    .width = link->width,
					    .usual_speed = usual->speed,
					    .usual_width = usual->width,
					    .votes = votes.votes,
					    .of = votes.of });
}

static void cabling_find_slow(struct wiring *w)
{
	struct link_class *links = mem_array(links, w->t->nports + 1);
	uint32_t n = 0;

	for (uint32_t p = 0; p < w->t->nports; p++)
		if (w->v[p].found != TOPO_NONE && is_running(&w->t->ports[p]) && is_lower(w, p))
			links[n++] = class_of(w, p);
	sort_if_needed(links, n, sizeof(*links), compare_classes);
	for (uint32_t i = 0, j; i < n; i = j) {
		/* The speed and width that most links of a class have. */
		uint32_t count[16][16] = { 0 }, votes = 0;
		const struct link_class *usual = &links[i];

		for (j = i;
		     j < n && links[j].kind == links[i].kind && links[j].place == links[i].place;
		     j++) {
			uint32_t *same = &count[links[j].speed & 15][links[j].width & 15];

			if (++*same > votes) {
				votes = *same;
				usual = &links[j];
			}
		}
		if (votes < LIKE_MIN || !most(votes, j - i, 4, 5))
			continue;
		for (uint32_t l = i; l < j; l++)
			if (links[l].speed < usual->speed || links[l].width < usual->width)
				report_slow(w, &links[l], usual,
					    (struct wiring_votes){ votes, j - i });
	}
	free(links);
}

/* ---- Hosts without an HCA, and hosts of another unit ----------------------------------------- */

/*
 * Hosts that lack an HCA, and whole hosts in another scalable unit.
 *
 * A rail that 80% of a unit's hosts have an HCA on is usual there. A host with HCAs on more than
 * half of the usual rails lacks an HCA on each of the others. A host with fewer, or with a name of
 * another form than most names of the unit, is another kind of machine and lacks nothing.
 *
 * Hosts whose names differ in the last number only ("dgx-su01-05") are a group. Where 80% of a
 * group are in one unit, and 80% of that unit are of the group, a host of it in another such unit
 * is in the wrong place as a whole.
 */

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

/* By unit, the id that most of its hosts have. */
static uint32_t *most_frequent(const struct crews *c, const uint32_t *id)
{
	uint32_t *usual = mem_array(usual, c->units.count + 1);
	uint32_t *count = mem_array(count, c->names.count + 1);

	for (uint32_t su = 0; su < c->units.count; su++) {
		uint32_t best = 0;

		mem_zero(count, c->names.count);
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
			     .shape = mem_array(c->shape, nhosts + 1),
			     .group = mem_array(c->group, nhosts + 1) };
	units_init(&c->units, w);
	c->hosts = mem_array(c->hosts, c->units.count + 1);
	for (uint32_t h = 0; h < nhosts; h++) {
		int su = units_of_host(&c->units, h);

		const char *of_name = w->t->hosts[h].name;
		char *text = arena_alloc(c->w->result->arena, strlen(of_name) + 2, 1);
		size_t n = 0;

		text[n++] = '#'; /* no group begins with it */
		for (; *of_name; of_name++)
			if (!isdigit((unsigned char)*of_name))
				text[n++] = *of_name;
		c->shape[h] = names_id(&c->names, text, n);

		/* Of "rack3-node07-ib" it is "rack3-node". */
		const char *name = w->t->hosts[h].name;
		size_t end = strlen(name);

		while (end && !isdigit((unsigned char)name[end - 1]))
			end--;
		while (end && isdigit((unsigned char)name[end - 1]))
			end--;
		c->group[h] = names_id(&c->names, name, end);

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

struct usual_rails {
	int su;
	unsigned nrails;
	uint32_t like[256]; /* by rail: an HCA of it; TOPO_NONE = the rail is not usual */
	struct wiring_votes votes[256]; /* by rail */
};

static void find_lost(struct crews *c, const struct usual_rails *usual, uint32_t h)
{
	struct wiring *w = c->w;
	const struct topo_host *host = &w->t->hosts[h];
	unsigned num = units_port(&c->units, h);

	for (uint32_t rail = 0; rail < c->units.rails && rail < 256; rail++) {
		uint32_t leaf = units_leaf(&c->units, usual->su, rail), end, at;

		if (usual->like[rail] == TOPO_NONE || leaf == TOPO_NONE ||
		    hca_on_rail(w->t, host, rail) != TOPO_NONE)
			continue;

		/*
		 * The description expected of a missing HCA: that of HCA `like`, with this host's
		 * name in it.
		 */
		uint32_t like = usual->like[rail];
		const struct topo *t = c->w->t;
		const char *its = t->hosts[t->nodes[like].host].name, *desc = t->nodes[like].label;
		const char *rest = strstr(desc, its);
		char *text = mem_printf("%s%s", host->name, rest ? rest + strlen(its) : "");
		const char *kept = arena_strdup(c->w->result->arena, text);

		free(text);
		end = wiring_add_end(w, TOPO_NONE, kept, 1);

		at = w->t->nodes[leaf].port0 + num;
		if (num && num <= w->t->nodes[leaf].nports &&
		    wiring_expect(w, at, end, usual->votes[rail]))
			continue;
		at = wiring_add_end(w, leaf, w->t->nodes[leaf].name, 0);
		wiring_expect(w, at, end, usual->votes[rail]);
	}
}

static void find_lost_hcas(struct wiring *w)
{
	struct usual_rails usual;
	struct crews c;

	crews_init(&c, w);
	for (uint32_t su = 0; su < c.units.count; su++) {
		usual.su = su;

		const struct topo *t = c.w->t;

		usual.nrails = 0;
		for (uint32_t rail = 0; rail < c.units.rails && rail < 256; rail++) {
			struct wiring_votes votes = { 0 };

			usual.like[rail] = TOPO_NONE;
			for (uint32_t h = 0; h < t->nhosts; h++) {
				if (units_of_host(&c.units, h) != usual.su)
					continue;
				votes.of++;

				uint32_t hca = hca_on_rail(t, &t->hosts[h], rail);

				votes.votes += hca != TOPO_NONE;
				usual.like[rail] = hca != TOPO_NONE ? hca : usual.like[rail];
			}
			usual.votes[rail] = votes;
			if (votes.votes < GROUP_MIN || !most(votes.votes, votes.of, 4, 5))
				usual.like[rail] = TOPO_NONE;
			usual.nrails += usual.like[rail] != TOPO_NONE;
		}

		for (uint32_t h = 0; h < w->t->nhosts; h++) {
			unsigned rails = 0;

			if (units_of_host(&c.units, h) != (int)su ||
			    c.shape[h] != c.usual_shape[su])
				continue;
			for (uint32_t rail = 0; rail < c.units.rails; rail++)
				rails += hca_on_rail(w->t, &w->t->hosts[h], rail) != TOPO_NONE;
			if (rails * 2 > usual.nrails)
				find_lost(&c, &usual, h);
		}
	}
	crews_fini(&c);
}

/* ---- Hosts of another unit ------------------------------------------------------------------- */

struct homes {
	uint32_t *unit; /* by group: where 80% of it are, TOPO_NONE = nowhere */
	struct wiring_votes *votes;
};

static void report_away(struct crews *c, const struct homes *homes, uint32_t h)
{
	struct wiring *w = c->w;
	const struct topo_host *host = &w->t->hosts[h];
	struct cabling_item item = { .kind = CABLING_HOST,
				     .found.name = host->name,
				     .su = homes->unit[c->group[h]],
				     .leaf_su = units_of_host(&c->units, h),
				     .votes = homes->votes[c->group[h]].votes,
				     .of = homes->votes[c->group[h]].of };

	for (uint32_t i = 0; i < host->ncas && !item.at.name; i++) {
		uint32_t ca = w->t->host_cas[host->first + i];
		const struct topo_port *port = topo_link_from(w->t, ca, 1);

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

/* Hosts that are in a unit that another group fills, while their own group fills another. */
static void find_away_hosts(struct wiring *w)
{
	struct crews c;
	struct homes homes;

	crews_init(&c, w);
	homes.unit = mem_array(homes.unit, c.names.count + 1);
	homes.votes = mem_array(homes.votes, c.names.count + 1);

	/*
	 * Finds the groups that have 80% of their hosts in one unit and are 80% of that unit's
	 * hosts.
	 */
	uint32_t *all = mem_array(all, c.names.count + 1);

	for (uint32_t h = 0; h < c.w->t->nhosts; h++)
		all[c.group[h]] += units_of_host(&c.units, h) >= 0;
	memset(homes.unit, 0xff, (c.names.count + 1) * sizeof(*homes.unit));
	for (uint32_t su = 0; su < c.units.count; su++) {
		uint32_t group = c.usual_group[su], here = 0;

		for (uint32_t h = 0; h < c.w->t->nhosts; h++)
			here += c.group[h] == group && units_of_host(&c.units, h) == (int)su;
		if (here < GROUP_MIN || !most(here, all[group], 4, 5) ||
		    !most(here, c.hosts[su], 4, 5))
			continue;
		homes.unit[group] = su;
		homes.votes[group] = (struct wiring_votes){ here, all[group] };
	}
	free(all);

	for (uint32_t h = 0; h < w->t->nhosts; h++) {
		int su = units_of_host(&c.units, h);
		uint32_t home = homes.unit[c.group[h]];

		if (su >= 0 && home != TOPO_NONE && home != (uint32_t)su &&
		    homes.unit[c.usual_group[su]] == (uint32_t)su)
			report_away(&c, &homes, h);
	}
	free(homes.unit);
	free(homes.votes);
	crews_fini(&c);
}

/* ---- A fabric's cables against its own pattern ----------------------------------------------- */

struct cabling *cabling_pattern(const struct topo *t)
{
	struct wiring w;
	struct tiers tiers = { .t = t, .level = mem_alloc(t->nswitches + 1, 1) };

	wiring_init(&w, t);
	find_neighbours(&tiers);

	uint32_t *alike = join_alike(&tiers, ANY);

	/* The level that most of a group have; of equals the highest. */
	uint32_t nswitches = tiers.t->nswitches;
	uint32_t(*votes)[TOPO_MAX_LEVEL + 1] = mem_array(votes, nswitches + 1);

	for (uint32_t sw = 0; sw < nswitches; sw++)
		votes[alike[sw]][tiers.t->nodes[sw].level]++;
	for (uint32_t sw = 0; sw < nswitches; sw++) {
		const uint32_t *of = votes[alike[sw]];

		tiers.level[sw] = 0;
		for (uint8_t level = 1; level <= TOPO_MAX_LEVEL; level++)
			if (of[level] >= of[tiers.level[sw]])
				tiers.level[sw] = of[level] ? level : tiers.level[sw];
	}
	free(votes);

	tiers.up = join_alike(&tiers, ABOVE);
	tiers.down = join_alike(&tiers, BELOW);
	free(alike);
	cabling_expect_hosts(&w);
	find_lost_hcas(&w);
	cabling_expect_uplinks(&w, &tiers);
	cabling_find_strays(&w, &tiers);
	find_away_hosts(&w);
	cabling_report(&w, &tiers);
	cabling_find_slow(&w);
	cabling_sort(w.result);
	free(tiers.level);
	free(tiers.up);
	free(tiers.down);
	free(tiers.first);
	free(tiers.near);
	free(w.v);
	return w.result;
}
