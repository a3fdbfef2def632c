/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/names.h"
#include "topology/graph/cutoff.h"

static void flood(const struct topo *t, uint32_t first, uint32_t number, uint32_t *island,
		  uint32_t *queue)
{
	uint32_t count = 0;

	island[first] = number;
	queue[count++] = first;
	for (uint32_t at = 0; at < count; at++) {
		const struct topo_node *sw = &t->nodes[queue[at]];

		for (unsigned num = 1; num <= sw->nports; num++) {
			const struct topo_end *end = &t->ends[sw->port0 + num];

			if (!end->up || end->to >= t->nswitches || island[end->to] != TOPO_NONE)
				continue;
			island[end->to] = number;
			queue[count++] = end->to;
		}
	}
}

uint32_t *islands_find(const struct topo *t, uint32_t *count)
{
	uint32_t *island = mem_array(island, t->nswitches + 1);
	uint32_t *queue = mem_array_unset(queue, t->nswitches + 1);

	*count = 0;
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		island[sw] = TOPO_NONE;
	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		if (island[sw] == TOPO_NONE)
			flood(t, sw, (*count)++, island, queue);
	free(queue);
	return island;
}

struct search {
	const struct topo *t;
	uint32_t *island; /* by switch */
	uint32_t main;	  /* the one that counts as reached; TOPO_NONE = none */
};

/* The island that a CA is in, by its first link that is up. */
static uint32_t island_of_ca(const struct search *s, uint32_t ca)
{
	TOPO_LINKS (s->t, ca, port, peer)
		if (port->link_up && peer->node < s->t->nswitches)
			return s->island[peer->node];
	return TOPO_NONE;
}

/* Of one link of an HCA; *sw: its switch, where that is to blame. */
static enum cutoff_fate port_fate(const struct search *s, const struct topo_port *port,
				  uint32_t *sw)
{
	const struct topo_port *peer = topo_peer(s->t, port);

	if (!peer || (peer->node >= s->t->nswitches && s->t->nswitches))
		return CUTOFF_NOT_KNOWN; /* no link was ever met, or it leads to another host */
	if (!s->t->nswitches)		 /* two hosts with a cable between them are a fabric */
		return port->link_up ? CUTOFF_REACHED : CUTOFF_OFF;
	*sw = peer->node;
	if (s->island[peer->node] != s->main)
		return CUTOFF_CUT_OFF;
	if (port->link_up)
		return CUTOFF_REACHED;
	return peer->state > TOPO_DOWN ? CUTOFF_CUT_OFF : CUTOFF_OFF;
}

static enum cutoff_fate node_fate(const struct search *s, uint32_t ca, uint32_t *sw)
{
	enum cutoff_fate fate = CUTOFF_NOT_KNOWN;

	for (unsigned num = 1; (s->t->nodes[ca].type == TOPO_CA && topo_is_host(s->t, ca)) &&
			       num <= s->t->nodes[ca].nports;
	     num++) {
		uint32_t at = TOPO_NONE;
		enum cutoff_fate one = port_fate(s, topo_port(s->t, ca, num), &at);

		if (one == CUTOFF_REACHED)
			return CUTOFF_REACHED;
		if (one == CUTOFF_OFF && fate == CUTOFF_CUT_OFF)
			continue; /* one of its leaves is dead: that is the worse news */
		if (one == CUTOFF_NOT_KNOWN)
			continue;
		fate = one;
		*sw = at;
	}
	return fate;
}

/*
 * `among`: by node, which CAs decide it by their number where `from` has no link; NULL = all decide
 * without a `from`, none with one. The caller frees its islands.
 */
static struct search search_from(const struct topo *t, uint32_t from, const uint8_t *among)
{
	uint32_t islands;
	struct search s = { .t = t, .island = islands_find(t, &islands) };

	if (from != TOPO_NONE) {
		s.main = from < t->nswitches ? s.island[from] : island_of_ca(&s, from);
		if (s.main != TOPO_NONE || !among)
			return s;
	}

	uint32_t *hcas = mem_array(hcas, islands + 1);

	s.main = TOPO_NONE; /* but for that with most HCAs */
	for (uint32_t ca = t->nswitches; ca < t->nnodes; ca++) {
		bool counts = topo_is_host(t, ca) && (!among || among[ca]);
		uint32_t at = counts ? island_of_ca(&s, ca) : TOPO_NONE;

		if (at != TOPO_NONE)
			hcas[at]++;
	}
	for (uint32_t i = 0; i < islands; i++)
		if (hcas[i] && (s.main == TOPO_NONE || hcas[i] > hcas[s.main]))
			s.main = i;
	free(hcas);
	return s;
}

uint8_t *cutoff_fates(const struct topo *t, uint32_t from)
{
	struct search s = search_from(t, from, NULL);
	uint8_t *fates = mem_alloc(t->nnodes + 1, 1);
	uint32_t sw;

	for (uint32_t ca = t->nswitches; ca < t->nnodes && s.main != TOPO_NONE; ca++)
		fates[ca] = node_fate(&s, ca, &sw);
	free(s.island);
	return fates;
}

void cutoff_find(const struct topo *t, uint32_t from, struct cutoff *out)
{
	uint32_t *behind = mem_array(behind, t->nswitches + 1);
	struct search s = search_from(t, from, NULL);

	*out = (struct cutoff){ .worst = TOPO_NONE, .hca = TOPO_NONE };
	for (uint32_t ca = t->nswitches; ca < t->nnodes && s.main != TOPO_NONE; ca++) {
		uint32_t sw = TOPO_NONE;
		enum cutoff_fate fate = node_fate(&s, ca, &sw);

		out->off += fate == CUTOFF_OFF;
		if (fate != CUTOFF_CUT_OFF)
			continue;
		out->hcas++;
		if (s.island[sw] == s.main && out->hca == TOPO_NONE)
			out->hca = ca;
		if (s.island[sw] == s.main)
			continue;
		out->switches += !behind[sw]++;
		if (out->worst == TOPO_NONE || behind[sw] > behind[out->worst])
			out->worst = sw;
	}
	free(behind);
	free(s.island);
}

int cutoff_describe(const struct topo *t, const struct cutoff *c, char *buf, size_t size)
{
	char more[48] = "";

	if (!c->hcas)
		return snprintf(buf, size, "%s", "");
	if (c->worst == TOPO_NONE)
		return snprintf(buf, size, "%u HCA%s cut off: the link of %s%s is not Active",
				c->hcas, c->hcas == 1 ? "" : "s", t->nodes[c->hca].name,
				c->hcas == 1 ? "" : " and others");
	if (c->switches > 1)
		array_printf(more, ", and so %s %u more", c->switches == 2 ? "is" : "are",
			     c->switches - 1);
	return snprintf(
		buf, size, "%u HCA%s cut off: %s is %s%s", c->hcas, c->hcas == 1 ? "" : "s",
		t->nodes[c->worst].name,
		!any_of(num, 1, t->nodes[c->worst].nports + 1, topo_port(t, c->worst, num)->link_up)
			? "down"
			: "unreachable",
		more);
}

#define LISTED 512 /* names of a sort that are in the text; the lists have all */

struct loss { /* of a host or a switch that loses something */
	const char *name;
	uint32_t had, kept;	       /* HCAs of a host, links to higher switches */
	uint32_t parents_had, parents; /* higher switches; 0 = a host */
	const char *above;	       /* what these are, "spine" */
};

struct losses { /* by node, links: of an HCA those that are reached, of a switch its uplinks */
	const struct topo *t, *after;
	struct search now;
	uint8_t *before, *kept;
	json_t *hcas;
	struct loss *list;
	uint32_t count;
};

/* Those that keep least first; of equal ones in natural order of names. */
SORT_BY(compare_losses, struct loss,
	sort_order(!!a->above, !!b->above) ?: sort_order(a->kept, b->kept) ?:
	sort_order(a->had, b->had) ?: sort_order(a->parents, b->parents) ?:
	sort_order(a->parents_had, b->parents_had) ?: strverscmp(a->name, b->name))

/*
 * By node, how many links of an HCA lead to the switches that are reached; NULL: all that are
 * known. The caller frees it. Linear in ports.
 */
static uint8_t *count_links(const struct topo *t, const struct search *s)
{
	uint8_t *links = mem_alloc(t->nnodes + 1, 1);
	uint32_t sw;

	for (uint32_t ca = t->nswitches; ca < t->nnodes; ca++)
		for (unsigned num = 1; (t->nodes[ca].type == TOPO_CA && topo_is_host(t, ca)) &&
				       num <= t->nodes[ca].nports;
		     num++) {
			const struct topo_port *port = topo_port(t, ca, num),
					       *peer = topo_peer(t, port);

			links[ca] += s ? port_fate(s, port, &sw) == CUTOFF_REACHED
				       : peer && (peer->node < t->nswitches || !t->nswitches);
		}
	return links;
}

/* ---- The text -------------------------------------------------------------------------------- */

/* "keep 7 of 8 HCAs (", of so many that are alike. */
static void write_kept(FILE *out, const struct loss *l, uint32_t count)
{
	const char *s = count == 1 ? "s" : "";

	if (!l->above && !l->kept)
		fputs("cut off", out);
	else if (!l->above && l->kept == l->had)
		fprintf(out, "keep%s all HCAs, with fewer links", s);
	else if (!l->above)
		fprintf(out, "keep%s %u of %u HCAs", s, l->kept, l->had);
	else if (l->parents < l->parents_had)
		fprintf(out, "keep%s %u of %u %ss", s, l->parents, l->parents_had, l->above);
	else
		fprintf(out, "keep%s %u of %u uplinks", s, l->kept, l->had);
}

static json_t *text_of(const struct losses *l)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	size_t hcas = json_array_size(l->hcas);
	bool of_hosts = l->count && !l->list->above;

	if (!out)
		abort();
	if (hcas)
		fprintf(out, "%zu HCA%s lost", hcas, hcas == 1 ? "" : "s");
	else
		fputs(l->count ? "no HCA lost" : "nothing: no HCA is lost", out);
	for (uint32_t i = 0, end; i < l->count; i = end) {
		const struct loss *first = &l->list[i];
		const bool sw = first->above;

		for (end = i + 1; end < l->count && !!l->list[end].above == sw &&
				  l->list[end].kept == first->kept &&
				  l->list[end].had == first->had &&
				  l->list[end].parents == first->parents &&
				  l->list[end].parents_had == first->parents_had;)
			end++;
		fputs(!i ? (of_hosts ? ": " : "; ") : sw && !first[-1].above ? "; " : ", ", out);

		/* "32 hosts keep 7 of 8 HCAs (dgx-su01-[01-32])", of those that are alike. */
		uint32_t count = end - i, listed = count < LISTED ? count : LISTED;
		const char **names = mem_array(names, listed);

		for (uint32_t k = 0; k < listed; k++)
			names[k] = first[k].name;

		char *list = hostlist_format(names, listed);

		fprintf(out, "%u %s%s ", count, sw ? "switch" : "host",
			count == 1 ? ""
			: sw	   ? "es"
				   : "s");
		write_kept(out, first, count);
		fprintf(out, " (%s%s)", list, listed < count ? ",.." : "");
		free(list);
		free(names);
	}
	fclose(out);

	json_t *value = json_string(text);

	free(text);
	return value;
}

/* ---- The document ---------------------------------------------------------------------------- */

static void note_loss(struct losses *l, const struct loss *loss)
{
	l->list = mem_grow(l->list, l->count);
	l->list[l->count++] = *loss;
}

static void find_hosts(struct losses *l)
{
	for (uint32_t host = 0; host < l->t->nhosts; host++) {
		const struct topo_host *it = &l->t->hosts[host];
		struct loss loss = { .name = it->name };
		bool any = false;

		for (uint32_t i = 0; i < it->ncas; i++) {
			uint32_t ca = l->t->host_cas[it->first + i];

			loss.had += l->before[ca] > 0;
			loss.kept += l->kept[ca] > 0;
			any |= l->kept[ca] < l->before[ca];
			if (l->before[ca] && !l->kept[ca])
				json_array_append_new(l->hcas, json_string(l->t->nodes[ca].name));
		}
		if (any)
			note_loss(l, &loss);
	}
}

/*
 * Links of a switch to higher ones, as of `before`, that carry transit in t, and these switches;
 * `known`: as if all were up and none was cordoned. seen: by switch, 0 before and after.
 */
static void count_uplinks(const struct losses *l, const struct topo *t, bool known, uint32_t sw,
			  uint8_t *seen, struct loss *loss)
{
	uint32_t links = 0, parents = 0;

	for (int pass = 1; pass >= 0; pass--)
		TOPO_LINKS (t, sw, port, peer) {
			const bool carries =
				known || (port->link_up && !port->cordoned && !peer->cordoned);

			if (!carries || peer->node >= t->nswitches ||
			    l->t->nodes[peer->node].level <= l->t->nodes[sw].level)
				continue;
			links += pass;
			parents += pass && !seen[peer->node];
			seen[peer->node] = pass;
			loss->above = topo_role_name(l->t->nodes[peer->node].role);
		}
	loss->had = loss->kept;
	loss->parents_had = loss->parents;
	loss->kept = links;
	loss->parents = parents;
}

static void find_switches(struct losses *l, bool known)
{
	uint8_t *seen = mem_alloc(l->t->nswitches + 1, 1);

	for (uint32_t sw = 0; sw < l->t->nswitches; sw++) {
		struct loss loss = { .name = l->t->nodes[sw].name };

		if (l->now.island[sw] != l->now.main)
			continue;
		count_uplinks(l, l->t, known, sw, seen, &loss);
		count_uplinks(l, l->after, false, sw, seen, &loss);
		/* Without any it is cordoned itself. */
		if (!loss.kept || loss.kept == loss.had)
			continue;
		/* Where higher switches are missing, they are counted and not links. */
		if (loss.parents < loss.parents_had)
			loss.kept = loss.had = 0;
		note_loss(l, &loss);
	}
	free(seen);
}

json_t *lost_json(const struct topo *before, const struct topo *after, uint32_t from)
{
	json_t *cut_off = json_array(), *degraded = json_array(), *redundancy = json_array(), *doc;
	struct losses l = { .t = before ?: after, .after = after, .hcas = json_array() };
	struct search was = { 0 };

	if (before)
		was = search_from(before, TOPO_NONE, NULL);
	l.before = count_links(l.t, before ? &was : NULL);
	l.now = search_from(after, from, l.before);
	l.kept = count_links(after, &l.now);
	find_hosts(&l);
	if (after->nswitches && l.now.main != TOPO_NONE)
		find_switches(&l, !before);
	if (l.count)
		qsort(l.list, l.count, sizeof(*l.list), compare_losses);
	for (uint32_t i = 0; i < l.count; i++)
		json_array_append_new(l.list[i].above  ? redundancy
				      : l.list[i].kept ? degraded
						       : cut_off,
				      json_string(l.list[i].name));
	doc = json_pack("{so so so so so}", "hcas", l.hcas, "hosts_cut_off", cut_off,
			"hosts_degraded", degraded, "redundancy", redundancy, "text", text_of(&l));
	free(was.island);
	free(l.now.island);
	free(l.before);
	free(l.kept);
	free(l.list);
	return doc;
}

bool lost_any(const json_t *lost)
{
	return json_array_size(json_object_get(lost, "hcas")) ||
	       json_array_size(json_object_get(lost, "hosts_degraded"));
}
