/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tests/lib/far_judge.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "topology/base/mem.h"

struct set {
	uint64_t word[4];
};
struct judge {
	const struct topo *t;
	struct far_verdict v;
	struct set *exits; /* by switch, then LID: ports that may be taken */
	struct set
		*behind; /* by port: ports at the next switch that a packet may take from there */
	unsigned lids;
	uint8_t *colour; /* by switch: 0 new, 1 open, 2 delivers whatever is chosen, 3 does not */
	bool looped;
};

static bool in(const struct set *s, unsigned num)
{
	return s->word[num / 64] >> (num % 64) & 1;
}

static void add(struct set *s, unsigned num)
{
	s->word[num / 64] |= 1ull << (num % 64);
}

static void parse(struct judge *j, char *text)
{
	struct set *groups = mem_array(groups, 65536);
	uint32_t sw = TOPO_NONE;
	bool lft = false;
	char *rest, *line;

	for (line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest)) {
		unsigned a, b, c, at = 0;
		uint64_t guid;
		char state[16];

		if (sscanf(line, "Switch 0x%" SCNx64, &guid) == 1) {
			sw = topo_find(j->t, guid);
			mem_zero(groups, 65536);
			lft = false;
			j->v.bad_lines += sw >= j->t->nswitches;
		} else if (!strncmp(line, "LFT", 3)) {
			lft = true;
		} else if (lft && sscanf(line, "0x%x %u %15s %u", &a, &b, state, &c) == 4) {
			struct set *exits = &j->exits[(size_t)sw * j->lids + a];

			if (a >= j->lids || b > 255) {
				j->v.bad_lines++;
			} else if (strcmp(state, "Free")) {
				add(exits, b);
			} else {
				*exits = groups[c];
				j->v.free_entries++;
				j->v.bad_lines += !in(exits, b);
			}
		} else if (!lft && sscanf(line, "%u %u %u %n", &a, &b, &c, &at) == 3 && at) {
			unsigned members = 0;

			for (char *p = line + at; *p && *p != '\n'; p += *p == ',') {
				add(&groups[a % 65536], strtoul(p, &p, 10) % 256);
				members++;
			}
			j->v.thin += members < 2;
		}
	}
	free(groups);
}

static int visit(struct judge *j, uint32_t sw, unsigned lid, uint32_t owner)
{
	const struct set *exits = &j->exits[(size_t)sw * j->lids + lid];
	bool all = true, any = false;

	if (j->colour[sw] == 1)
		j->looped = true;
	if (j->colour[sw])
		return j->colour[sw];
	j->colour[sw] = 1;
	for (unsigned num = 0; num <= j->t->nodes[sw].nports; num++) {
		const struct topo_port *port = topo_port(j->t, sw, num);
		uint32_t peer = port->link_up ? port->peer : TOPO_NONE;

		if (!in(exits, num))
			continue;
		any = true;
		if (peer != TOPO_NONE && j->t->ports[peer].node < j->t->nswitches) {
			uint32_t next = j->t->ports[peer].node;

			all &= visit(j, next, lid, owner) == 2;
			for (unsigned i = 0; i < 4; i++)
				j->behind[j->t->nodes[sw].port0 + num].word[i] |=
					j->exits[(size_t)next * j->lids + lid].word[i];
		} else {
			all &= peer == owner;
		}
	}
	return j->colour[sw] = any && all ? 2 : 3;
}

/* Takes channels that wait for none away, again and again; what is left waits in a circle. */
static unsigned long count_circular(struct judge *j)
{
	const struct topo *t = j->t;
	bool *gone = mem_array(gone, t->nports + 1), more = true;
	unsigned long left = 0;

	while (more) {
		more = false;
		left = 0;
		for (uint32_t p = 0; p < t->nswitch_ports; p++) {
			uint32_t next = t->ports[p].peer == TOPO_NONE
						? TOPO_NONE
						: t->ports[t->ports[p].peer].node;
			bool waits = false;

			if (gone[p] || next >= t->nswitches)
				continue;
			for (unsigned num = 1; num <= t->nodes[next].nports && !waits; num++) {
				uint32_t on = t->nodes[next].port0 + num, peer = t->ports[on].peer;

				waits = in(&j->behind[p], num) && !gone[on] && peer != TOPO_NONE &&
					t->ports[peer].node < t->nswitches;
			}
			gone[p] = !waits;
			more |= !waits;
			left += waits;
		}
	}
	free(gone);
	return left;
}

struct far_verdict far_judge(const struct topo *t, const uint32_t *port_of_lid, unsigned top,
			     char *text)
{
	struct judge j = { .t = t, .lids = top + 1 };
	bool *sources = mem_array(sources, t->nswitches + 1);

	j.exits = mem_array(j.exits, (size_t)t->nswitches * j.lids + 1);
	j.behind = mem_array(j.behind, t->nports + 1);
	j.colour = mem_array(j.colour, t->nswitches + 1);
	parse(&j, text);
	for (uint32_t p = t->nswitch_ports; p < t->nports; p++)
		if (t->ports[p].link_up && topo_is_host(t, t->ports[p].node))
			sources[t->ports[t->ports[p].peer].node] = true;
	for (unsigned lid = 1; lid <= top; lid++) {
		uint32_t owner = port_of_lid[lid];

		if (owner == TOPO_NONE || !topo_is_host(t, t->ports[owner].node) ||
		    !t->ports[owner].link_up)
			continue;
		j.looped = false;
		mem_zero(j.colour, t->nswitches);
		for (uint32_t sw = 0; sw < t->nswitches; sw++) {
			bool good = visit(&j, sw, lid, owner) == 2;

			if (sources[sw])
				(*(good ? &j.v.pairs : &j.v.lost))++;
		}
		j.v.loops += j.looped;
	}
	j.v.circular = count_circular(&j);
	free(j.exits);
	free(j.behind);
	free(j.colour);
	free(sources);
	return j.v;
}
