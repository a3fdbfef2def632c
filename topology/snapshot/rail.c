/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * rail: which CAs are in one machine, which HCA of its host a CA is, which leaf serves which rail,
 * and which leaves form a scalable unit.
 *
 * In a rail-optimised fabric HCA k of every host of a unit is cabled to the unit's leaf k. Two
 * things show k: the device's name (mlx5_3 comes before mlx5_10) and the leaf it is on. The name
 * shows what was intended, the leaf what was cabled; so a CA's rail comes from names, a leaf's from
 * the majority of its CAs. Where they differ a link is in the wrong place, which cabling_hosts.c
 * reports. GUIDs decide nothing.
 *
 *   1. Units: leaves are joined when more than half of the hosts of the smaller one are on both.
 *      A single misplaced link joins nothing. Only hosts count that have most of their CAs on
 *      leaves of their own: storage and login hosts on the same leaves say nothing of rails.
 *   2. A unit is rail-optimised when it has several leaves and 80% of its hosts have every CA on
 *      a leaf of its own.
 *   3. Names: over the unit's hosts that have all their CAs, each device name gets the
 *      position it most often has within its host. So a host that lacks a CA does not shift, and
 *      units of different machines may be mixed in one fabric. Where CAs have no distinct device
 *      names, the leaves in natural order of their names are the rails.
 *   4. A leaf's rail is that of 80% of its CAs, else -1. Where half of the leaves stay without
 *      one, the unit is dropped.
 *   5. Units are numbered by their first host in natural order.
 *   6. In a director a host's CAs are on any line cards of their rails. Where most leaves stay
 *      without a rail, leaves are joined that have any host in common, and device names give the
 *      rails; that stands if it gives more leaves one.
 *
 * A CA with two ports counts with its first cabled one; a host with one such CA has no rails.
 */
#include <ctype.h>
#include <inttypes.h>
#include <strings.h>
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/base/sort.h"
#include "topology/snapshot/naming.h"
#include "topology/snapshot/topo.h"
#include "topology/snapshot/topo_builder.h"

/* ---- Hosts: which CAs are in one machine ----------------------------------------------------- */

/*
 * This is known only from the node description that the host's rdma-ndd writes: host name first,
 * then the device: "dgx-su01-07 mlx5_3", "node018 HCA-1", "'host' HCA-1", and in expanded ibutils
 * topologies "H-9/U1". A factory description ("MT25408 ConnectX Mellanox Technologies") or an unset
 * host name names no host: such a CA is a host of its own, named by its GUID. SHARP aggregation
 * nodes and routers are no hosts.
 *
 * A name of the node-name-map is used if it has that form, host and device ("dgx-07 mlx5_3"). A
 * name of another form names the CA alone, and the description decides which CAs are one machine;
 * if that names no host, the CA is a host of the map's name.
 *
 * Hosts are in natural order of their names, so that neither GUIDs nor the order of discovery
 * affect what people read or what is numbered by hosts.
 */

struct slice {
	const char *text;
	size_t len;
};

struct host_work {
	struct topo *t;
	struct arena *arena;
	struct names hosts, devices;
	uint32_t *host;	  /* by node: id, later place in natural order; TOPO_NONE for all but hosts'
			     CAs */
	uint32_t *device; /* the same of its device name */
};

static struct slice trim(const char *text, size_t len)
{
	while (len && (isspace((unsigned char)*text) || strchr("'\"/", *text)))
		text++, len--;
	while (len && (isspace((unsigned char)text[len - 1]) || strchr("'\"", text[len - 1])))
		len--;
	return (struct slice){ text, len };
}

/* "mlx5_3", "HCA-1", "U1", and nothing behind it. */
static bool is_device(struct slice s)
{
	static const char *const kinds[] = { "mlx", "HCA", "hfi", "qib", "ib", "U" };

	return s.len && isdigit((unsigned char)s.text[s.len - 1]) && !memchr(s.text, ' ', s.len) &&
	       any_of(i, 0, ARRAY_SIZE(kinds),
		      s.len > strlen(kinds[i]) && !strncasecmp(s.text, kinds[i], strlen(kinds[i])));
}

/* The first word, and what follows it. */
static void split(const char *text, struct slice *first, struct slice *rest)
{
	struct slice all = trim(text, strlen(text));

	*first = all;
	for (first->len = 0; first->len < all.len; first->len++)
		if (isspace((unsigned char)all.text[first->len]) ||
		    strchr("'\"/", all.text[first->len]))
			break;
	*rest = trim(first->text + first->len, all.len - first->len);
}

/* False: neither names a host. label NULL, or desc: there is none. */
static bool split_host(const char *desc, const char *label, struct slice *first, struct slice *rest)
{
	if (label && label != desc) {
		split(label, first, rest);
		if (is_device(*rest))
			return true;
	}
	split(desc, first, rest);
	return !naming_is_factory(desc);
}

int naming_host(const char *desc, const char *label, char host[NAMING_MAX])
{
	struct slice first, rest;

	if (!split_host(desc, label, &first, &rest))
		first.len = 0;
	return snprintf(host, NAMING_MAX, "%.*s", (int)first.len, first.text);
}

static void read_names(struct host_work *w, uint32_t n)
{
	const struct topo_node *node = &w->t->nodes[n];
	struct slice first, rest;

	if (!split_host(node->desc, node->label, &first, &rest)) {
		/* A CA that no text assigns to a host is a host of its own. */
		char *name = arena_alloc(w->arena, 1, sizeof("0x0123456789abcdef"));

		sprintf(name, "0x%016" PRIx64, node->guid);
		first = node->label == node->desc ? (struct slice){ name, strlen(name) }
						  : trim(node->label, strlen(node->label));
		rest.len = 0;
	}
	w->host[n] = names_id(&w->hosts, first.text, first.len);
	w->device[n] = rest.len ? names_id(&w->devices, rest.text, rest.len) : TOPO_NONE;
}

/* Turns ids into places in natural order; returns these by id, the caller frees them. */
static uint32_t *to_ranks(const struct host_work *w, uint32_t *ids, const struct names *names)
{
	uint32_t *rank = names_rank(names);

	for (uint32_t n = 0; n < w->t->nnodes; n++)
		if (ids[n] != TOPO_NONE)
			ids[n] = rank[ids[n]];
	return rank;
}

static void make_hosts(struct host_work *w)
{
	struct topo_host *hosts = arena_array(w->arena, hosts, w->hosts.count);
	uint32_t *rank = to_ranks(w, w->host, &w->hosts), first = 0;

	for (uint32_t id = 0; id < w->hosts.count; id++) {
		const struct name *name = &w->hosts.list[id];

		hosts[rank[id]].name =
			memcpy(arena_alloc(w->arena, name->len + 1, 1), name->text, name->len);
	}
	free(rank);
	for (uint32_t n = w->t->nswitches; n < w->t->nnodes; n++)
		if (w->host[n] != TOPO_NONE)
			hosts[w->host[n]].ncas++;
	for (uint32_t h = 0; h < w->hosts.count; h++) {
		hosts[h].first = first;
		first += hosts[h].ncas;
	}
	w->t->hosts = hosts;
	w->t->nhosts = w->hosts.count;
}

/*
 * Fills hosts[] (natural order of their names), host_cas[] (within a host by device name, then
 * GUID) and node.host. Returns, by node index, the natural rank of the CA's device name ("mlx5_3")
 * among all device names of the fabric, TOPO_NONE where the description has none. The caller frees
 * it.
 */
static uint32_t *host_group(struct topo *t, struct arena *arena)
{
	struct host_work w = {
		.t = t,
		.arena = arena,
		.host = mem_array(w.host, t->nnodes),
		.device = mem_array(w.device, t->nnodes),
	};

	memset(w.host, 0xff, t->nnodes * sizeof(*w.host));
	memset(w.device, 0xff, t->nnodes * sizeof(*w.device));
	for (uint32_t n = t->nswitches; n < t->nnodes; n++)
		if (t->nodes[n].type == TOPO_CA && !t->nodes[n].sharp)
			read_names(&w, n);
	free(to_ranks(&w, w.device, &w.devices));
	make_hosts(&w);

	struct topo_node *nodes = (struct topo_node *)t->nodes;
	uint32_t *used = mem_array(used, t->nhosts);
	uint32_t *all = arena_array(arena, all, t->ncas);

	/*
	 * Nodes come by ascending GUID, so that stable insertion by device leaves equal devices in
	 * that order.
	 */
	for (uint32_t n = t->nswitches; n < t->nnodes; n++) {
		uint32_t h = nodes[n].host = w.host[n];

		if (h == TOPO_NONE)
			continue;
		uint32_t *cas = all + t->hosts[h].first, at = used[h]++;

		for (; at > 0 && w.device[cas[at - 1]] > w.device[n]; at--)
			cas[at] = cas[at - 1];
		cas[at] = n;
	}
	t->host_cas = all;
	free(used);
	names_fini(&w.hosts);
	names_fini(&w.devices);
	free(w.host);
	return w.device;
}

const char *host_device(const struct topo *t, uint32_t ca)
{
	const struct topo_node *node = &t->nodes[ca];
	const char *host = node->host == TOPO_NONE ? "" : t->hosts[node->host].name;
	const char *rest = *host ? strstr(node->label, host) : NULL;

	if (*host && !rest)
		rest = strstr(node->desc, host);
	if (!rest)
		return node->name;
	rest += strlen(host);
	rest += strspn(rest, " \t'\"/");
	return *rest ? rest : node->name;
}

/* ---- Which CAs count for rails --------------------------------------------------------------- */

#define HOST_CAS_MAX	    64 /* no machine has more; a name that more CAs share is no host's */
#define ENOUGH(part, whole) ((part)*10 >= (whole)*8) /* 80% */

struct unit {
	uint32_t nleaves, nhosts;
	uint32_t spread; /* hosts with every CA on a leaf of its own */
	uint32_t usual;	 /* number of CAs of a host that has them all */
	uint32_t named;	 /* hosts whose CAs have distinct device names */
	uint32_t leaves_railed;
	bool good;
};

struct rail_work {
	struct topo *t;
	struct topo_node *nodes;
	const uint32_t *device; /* by node, from host_group() */
	uint32_t *leaf;		/* by node: the switch of a CA that counts, else TOPO_NONE */
	uint32_t *leaf_first;	/* by switch, + 1: where its CAs start in leaf_cas */
	uint32_t *leaf_cas;
	uint32_t *leaf_hosts;	/* by switch: hosts on it */
	uint32_t *parent;	/* by switch: union-find; in the end its unit's root */
	bool loose;		/* leaves with any host in common are one unit */
	uint32_t *unit_of_leaf; /* by switch: index in units, TOPO_NONE = on no leaf that counts */
	uint32_t *unit_of_host; /* by host */
	struct unit *units;
	uint32_t nunits;
};

/* Is this the first CA of its host on its leaf? */
static bool first_on_leaf(const struct rail_work *w, const struct topo_host *host, uint32_t i)
{
	const uint32_t *cas = w->t->host_cas + host->first;

	return !any_of(j, 0, i, w->leaf[cas[j]] == w->leaf[cas[i]]);
}

/* A host counts when most of its cabled CAs, two at least, are each on a leaf of its own. */
static void find_leaves_of_host(struct rail_work *w, const struct topo_host *host)
{
	const uint32_t *cas = w->t->host_cas + host->first;
	uint32_t cabled = 0, leaves = 0;

	if (host->ncas < 2 || host->ncas > HOST_CAS_MAX)
		return;
	for (uint32_t i = 0; i < host->ncas; i++) {
		w->leaf[cas[i]] = topo_leaf_of(w->t, cas[i]);
		if (w->leaf[cas[i]] == TOPO_NONE)
			continue;
		cabled++;
		leaves += first_on_leaf(w, host, i);
	}
	for (uint32_t i = 0; i < host->ncas && (leaves < 2 || leaves * 2 <= cabled); i++)
		w->leaf[cas[i]] = TOPO_NONE;
}

static void list_cas_by_leaf(struct rail_work *w)
{
	const struct topo *t = w->t;
	uint32_t *next = mem_array(next, t->nswitches + 1);

	for (uint32_t n = t->nswitches; n < t->nnodes; n++)
		if (w->leaf[n] != TOPO_NONE)
			w->leaf_first[w->leaf[n] + 1]++;
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		w->leaf_first[sw + 1] += w->leaf_first[sw];
	mem_copy(next, w->leaf_first, t->nswitches);
	for (uint32_t n = t->nswitches; n < t->nnodes; n++)
		if (w->leaf[n] != TOPO_NONE)
			w->leaf_cas[next[w->leaf[n]]++] = n;
	free(next);
	for (uint32_t h = 0; h < t->nhosts; h++)
		for (uint32_t i = 0; i < t->hosts[h].ncas; i++) {
			uint32_t leaf = w->leaf[t->host_cas[t->hosts[h].first + i]];

			if (leaf != TOPO_NONE && first_on_leaf(w, &t->hosts[h], i))
				w->leaf_hosts[leaf]++;
		}
}

/* ---- Units ----------------------------------------------------------------------------------- */

static void join_leaves(struct rail_work *w)
{
	uint32_t *shared = mem_array(shared, w->t->nswitches);
	uint32_t *touched = mem_array(touched, w->t->nswitches);

	for (uint32_t leaf = 0; leaf < w->t->nswitches; leaf++)
		w->parent[leaf] = leaf;
	for (uint32_t leaf = 0; leaf < w->t->nswitches; leaf++) {
		/*
		 * Counts, for each other leaf, the hosts it shares with this one; touched lists the
		 * leaves counted.
		 */
		uint32_t n = 0;

		for (uint32_t c = w->leaf_first[leaf]; c < w->leaf_first[leaf + 1]; c++) {
			const struct topo_host *host = &w->t->hosts[w->nodes[w->leaf_cas[c]].host];

			for (uint32_t i = 0; i < host->ncas; i++) {
				uint32_t other = w->leaf[w->t->host_cas[host->first + i]];

				if (other == TOPO_NONE || other <= leaf ||
				    !first_on_leaf(w, host, i))
					continue;
				if (!shared[other]++)
					touched[n++] = other;
			}
		}

		for (uint32_t i = 0; i < n; i++) {
			uint32_t other = touched[i];
			uint32_t fewer = w->leaf_hosts[other] < w->leaf_hosts[leaf]
						 ? w->leaf_hosts[other]
						 : w->leaf_hosts[leaf];

			if (w->loose || shared[other] * 2 > fewer)
				w->parent[sort_root(w->parent, other)] = sort_root(w->parent, leaf);
			shared[other] = 0;
		}
	}
	free(shared);
	free(touched);
}

static void number_units(struct rail_work *w)
{
	uint32_t *unit_of_root = mem_array(unit_of_root, w->t->nswitches);

	memset(unit_of_root, 0xff, w->t->nswitches * sizeof(*unit_of_root));
	w->units = mem_array(w->units, w->t->nswitches);
	for (uint32_t leaf = 0; leaf < w->t->nswitches; leaf++) {
		uint32_t root = sort_root(w->parent, leaf);

		w->unit_of_leaf[leaf] = TOPO_NONE;
		if (!w->leaf_hosts[leaf])
			continue;
		if (unit_of_root[root] == TOPO_NONE)
			unit_of_root[root] = w->nunits++;
		w->unit_of_leaf[leaf] = unit_of_root[root];
		w->units[unit_of_root[root]].nleaves++;
	}
	free(unit_of_root);
}

/* The unit that most of the host's CAs are in, TOPO_NONE for a host that does not count. */
static uint32_t unit_of(const struct rail_work *w, const struct topo_host *host)
{
	const uint32_t *cas = w->t->host_cas + host->first;
	uint32_t best = TOPO_NONE, most = 0;

	for (uint32_t i = 0; i < host->ncas; i++) {
		uint32_t unit =
			w->leaf[cas[i]] == TOPO_NONE ? TOPO_NONE : w->unit_of_leaf[w->leaf[cas[i]]];
		uint32_t count = 0;

		for (uint32_t j = 0; j < host->ncas && unit != TOPO_NONE; j++)
			count += w->leaf[cas[j]] != TOPO_NONE &&
				 w->unit_of_leaf[w->leaf[cas[j]]] == unit;
		if (count > most) {
			most = count;
			best = unit;
		}
	}
	return best;
}

/* ---- Rails ----------------------------------------------------------------------------------- */

struct vote { /* one CA's say on its device name's position, or one leaf's place */
	uint32_t unit, key, value;
};

SORT_BY(compare_votes, struct vote,
	sort_order(a->unit, b->unit) ?: sort_order(a->key, b->key) ?:
	sort_order(a->value, b->value))

/*
 * Reduces votes to one for each (unit, key): the most frequent value, the smaller of equals.
 * Returns how many are left.
 */
static uint32_t settle_votes(struct vote *votes, uint32_t n)
{
	uint32_t out = 0, most = 0;

	qsort(votes, n, sizeof(*votes), compare_votes);
	for (uint32_t i = 0, j; i < n; i = j) {
		for (j = i + 1; j < n && compare_votes(&votes[i], &votes[j]) == 0;)
			j++;
		if (out && votes[out - 1].unit == votes[i].unit &&
		    votes[out - 1].key == votes[i].key) {
			if (j - i <= most)
				continue;
			out--;
		}
		most = j - i;
		votes[out++] = votes[i];
	}
	return out;
}

static bool named_unit(const struct unit *unit)
{
	return unit->good && ENOUGH(unit->named, unit->nhosts);
}

static void rails_from_names(struct rail_work *w, struct vote *votes)
{
	const struct topo *t = w->t;
	uint32_t n = 0;

	for (uint32_t h = 0; h < t->nhosts; h++) {
		uint32_t u = w->unit_of_host[h];

		if (u == TOPO_NONE || !named_unit(&w->units[u]) ||
		    t->hosts[h].ncas != w->units[u].usual)
			continue;
		for (uint32_t i = 0; i < t->hosts[h].ncas; i++) {
			uint32_t ca = t->host_cas[t->hosts[h].first + i];

			votes[n++] = (struct vote){ u, w->device[ca], i };
		}
	}
	n = settle_votes(votes, n);
	for (uint32_t h = 0; h < t->nhosts; h++) {
		uint32_t u = w->unit_of_host[h];

		if (u == TOPO_NONE || !named_unit(&w->units[u]))
			continue;
		for (uint32_t i = 0; i < t->hosts[h].ncas; i++) {
			uint32_t ca = t->host_cas[t->hosts[h].first + i];

			/*
			 * The rail that the unit's hosts give to a device name; -1 when none of the
			 * usual ones has it.
			 */
			uint32_t device = w->device[ca];
			struct vote key = { u, device, 0 };
			uint32_t place = sort_place(0, n, at, compare_votes(&votes[at], &key) < 0);
			w->nodes[ca].rail =
				place < n && votes[place].unit == u && votes[place].key == device
					? (int16_t)votes[place].value
					: -1;
		}
	}
}

/* For units without device names: leaf i in natural order serves rail i. */
static void rails_from_leaves(struct rail_work *w, struct vote *votes)
{
	struct names names = { 0 };
	uint32_t *id = mem_array(id, w->t->nswitches), *rank, n = 0, i = 0;

	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		id[sw] = names_id(&names, w->nodes[sw].label, strlen(w->nodes[sw].label));
	rank = names_rank(&names);
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++) {
		uint32_t u = w->unit_of_leaf[sw];

		if (u != TOPO_NONE && w->units[u].good && !named_unit(&w->units[u]))
			votes[n++] = (struct vote){ u, rank[id[sw]], sw };
	}
	qsort(votes, n, sizeof(*votes), compare_votes);
	for (uint32_t v = 0; v < n; v++) {
		uint32_t sw = votes[v].value;

		i = v && votes[v].unit == votes[v - 1].unit ? i + 1 : 0;
		for (uint32_t c = w->leaf_first[sw]; c < w->leaf_first[sw + 1]; c++)
			w->nodes[w->leaf_cas[c]].rail = i;
	}
	names_fini(&names);
	free(rank);
	free(id);
}

/* By majority of the leaf's CAs that count. */
static void rails_of_leaves(struct rail_work *w, struct vote *votes)
{
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++) {
		const uint32_t *cas = w->leaf_cas + w->leaf_first[sw];
		uint32_t count = w->leaf_first[sw + 1] - w->leaf_first[sw], same = 0;
		uint32_t u = w->unit_of_leaf[sw];

		if (u == TOPO_NONE || !w->units[u].good || !count)
			continue;
		for (uint32_t c = 0; c < count; c++)
			votes[c] = (struct vote){ 0, 0, w->nodes[cas[c]].rail };
		settle_votes(votes, count);
		for (uint32_t c = 0; c < count; c++)
			same += (uint32_t)w->nodes[cas[c]].rail == votes[0].value;
		if (ENOUGH(same, count))
			w->nodes[sw].rail = votes[0].value;
		w->units[u].leaves_railed += w->nodes[sw].rail >= 0;
	}
}

/* ---- Numbering units ------------------------------------------------------------------------- */

/*
 * Units in order of their first hosts: hosts lie in natural order, so one walk over them numbers
 * the units.
 */
static void number_scalable_units(struct rail_work *w)
{
	int16_t *su = mem_array(su, w->nunits), next = 0;

	for (uint32_t u = 0; u < w->nunits; u++) {
		su[u] = -1;
		w->units[u].good =
			w->units[u].good && w->units[u].leaves_railed * 2 > w->units[u].nleaves;
	}
	for (uint32_t h = 0; h < w->t->nhosts; h++) {
		uint32_t u = w->unit_of_host[h];

		if (u != TOPO_NONE && w->units[u].good && su[u] < 0 && next < INT16_MAX)
			su[u] = next++;
		for (uint32_t i = 0; i < w->t->hosts[h].ncas; i++) {
			struct topo_node *ca = &w->nodes[w->t->host_cas[w->t->hosts[h].first + i]];

			ca->su = u == TOPO_NONE ? -1 : su[u];
			if (ca->su < 0)
				ca->rail = -1;
		}
	}
	for (uint32_t sw = 0; sw < w->t->nswitches; sw++) {
		uint32_t u = w->unit_of_leaf[sw];

		w->nodes[sw].su = u == TOPO_NONE ? -1 : su[u];
		if (w->nodes[sw].su < 0)
			w->nodes[sw].rail = -1;
	}
	free(su);
}

/* Within a host by rail; CAs without one stay last, and equals in the order they have. */
static void order_host_cas(struct rail_work *w)
{
	uint32_t *all = (uint32_t *)w->t->host_cas;

	for (uint32_t h = 0; h < w->t->nhosts; h++) {
		uint32_t *cas = all + w->t->hosts[h].first;

		for (uint32_t i = 1; i < w->t->hosts[h].ncas; i++) {
			uint32_t ca = cas[i], at = i;
			uint16_t rail = w->nodes[ca].rail;

			for (; at && (uint16_t)w->nodes[cas[at - 1]].rail > rail; at--)
				cas[at] = cas[at - 1];
			cas[at] = ca;
		}
	}
}

/* ---- All together ---------------------------------------------------------------------------- */

static void find_rails(struct rail_work *w, struct vote *votes)
{
	join_leaves(w);
	number_units(w);
	for (uint32_t h = 0; h < w->t->nhosts; h++) {
		const struct topo_host *host = &w->t->hosts[h];
		const uint32_t *cas = w->t->host_cas + host->first;
		uint32_t u = w->unit_of_host[h] = unit_of(w, host);
		bool spread = true, named = true;

		if (u == TOPO_NONE)
			continue;
		/* CAs lie by device within a host: equal names are neighbours. */
		for (uint32_t i = 0; i < host->ncas; i++) {
			spread &= w->leaf[cas[i]] == TOPO_NONE || first_on_leaf(w, host, i);
			named &= w->device[cas[i]] != TOPO_NONE &&
				 (!i || w->device[cas[i]] != w->device[cas[i - 1]]);
		}
		w->units[u].nhosts++;
		w->units[u].spread += spread;
		w->units[u].named += named;
	}
	for (uint32_t u = 0; u < w->nunits; u++)
		w->units[u].good = w->units[u].nleaves > 1 && w->units[u].nhosts &&
				   ENOUGH(w->units[u].spread, w->units[u].nhosts);

	/*
	 * The largest size that a quarter of the hosts have: lost CAs are many in one unit, extra
	 * ones not.
	 */
	uint32_t n = 0;

	for (uint32_t h = 0; h < w->t->nhosts; h++)
		if (w->unit_of_host[h] != TOPO_NONE)
			votes[n++] = (struct vote){ w->unit_of_host[h], 0, w->t->hosts[h].ncas };
	qsort(votes, n, sizeof(*votes), compare_votes);
	for (uint32_t i = 0, j; i < n; i = j) {
		struct unit *unit = &w->units[votes[i].unit];

		for (j = i + 1; j < n && compare_votes(&votes[i], &votes[j]) == 0;)
			j++;
		if (!unit->usual || (j - i) * 4 >= unit->nhosts)
			unit->usual = votes[i].value;
	}

	rails_from_names(w, votes);
	if (!w->loose)
		rails_from_leaves(w, votes);
	rails_of_leaves(w, votes);
	number_scalable_units(w);
}

static void find_rails_again(struct rail_work *w, struct vote *votes, bool loose)
{
	for (uint32_t n = 0; n < w->t->nnodes; n++)
		w->nodes[n].rail = w->nodes[n].su = -1;
	free(w->units);
	w->units = NULL;
	w->nunits = 0;
	w->loose = loose;
	find_rails(w, votes);
}

/* Leaves with hosts that count, or those of them that have a rail. */
static uint32_t count_leaves(const struct rail_work *w, bool railed)
{
	uint32_t count = 0;

	for (uint32_t sw = 0; sw < w->t->nswitches; sw++)
		count += w->leaf_hosts[sw] && (!railed || w->nodes[sw].rail >= 0);
	return count;
}

void rail_assign(struct topo *t, struct arena *arena)
{
	uint32_t *device = host_group(t, arena);
	struct rail_work w = {
		.t = t,
		.nodes = (struct topo_node *)t->nodes,
		.device = device,
		.leaf = mem_array(w.leaf, t->nnodes),
		.leaf_first = mem_array(w.leaf_first, t->nswitches + 1),
		.leaf_cas = mem_array(w.leaf_cas, t->ncas),
		.leaf_hosts = mem_array(w.leaf_hosts, t->nswitches),
		.parent = mem_array(w.parent, t->nswitches),
		.unit_of_leaf = mem_array(w.unit_of_leaf, t->nswitches),
		.unit_of_host = mem_array(w.unit_of_host, t->nhosts),
	};
	bool any = false;

	memset(w.leaf, 0xff, t->nnodes * sizeof(*w.leaf));
	for (uint32_t h = 0; h < t->nhosts; h++) {
		find_leaves_of_host(&w, &t->hosts[h]);
		any = any || t->hosts[h].ncas > 1;
	}
	if (any) {
		struct vote *votes = mem_array(votes, w.t->nnodes);

		list_cas_by_leaf(&w);
		find_rails(&w, votes);

		uint32_t railed = count_leaves(&w, true);

		if (railed * 2 < count_leaves(&w, false)) {
			find_rails_again(&w, votes, true);
			if (count_leaves(&w, true) <= railed)
				find_rails_again(&w, votes, false);
		}
		order_host_cas(&w);
		free(votes);
	}
	free(device);
	free(w.leaf);
	free(w.leaf_first);
	free(w.leaf_cas);
	free(w.leaf_hosts);
	free(w.parent);
	free(w.unit_of_leaf);
	free(w.unit_of_host);
	free(w.units);
}
