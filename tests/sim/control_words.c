/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What words of a command stand for: nodes, ports, times, shares, numbers. */
#include "tests/sim/control_own.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "tests/sim/view.h"
#include "topology/what/what.h"

#define US_MAX 86400e6 /* a day */

const char *next_word(struct args *a)
{
	return a->next < a->count ? a->words[a->next++] : NULL;
}

bool next_is(struct args *a, const char *word)
{
	if (a->next >= a->count || strcmp(a->words[a->next], word) != 0)
		return false;
	a->next++;
	return true;
}

/* ---- Nodes and ports ------------------------------------------------------------------------- */

const char *node_name(const struct dnode *node)
{
	return node->design->desc;
}

void print_port(FILE *out, const struct dport *port)
{
	fprintf(out, "%s:%u", node_name(port->node), port->num);
}

static bool resolve(struct args *a, struct dnode **node, unsigned *num)
{
	const char *word = next_word(a);
	char err[256];
	uint32_t index;

	if (!word) {
		bad(a, "a node is missing");
		return false;
	}
	index = topo_resolve(a->d->topo, word, num, err, sizeof(err));
	if (index == TOPO_NONE) {
		bad(a, "%s", err);
		return false;
	}
	*node = &a->d->nodes[index];
	return true;
}

bool next_node(struct args *a, struct dnode **node)
{
	unsigned num;

	if (!resolve(a, node, &num))
		return false;
	if (num)
		bad(a, "a node is meant, not its port %u", num);
	return !num;
}

bool next_port(struct args *a, struct dport **port)
{
	struct dnode *node;
	unsigned num;

	if (!resolve(a, &node, &num))
		return false;
	if (!num && !is_switch(node) && node->ni.nports == 1)
		num = 1;
	if (!num) {
		bad(a, "which port of '%s'? it has 1 to %u: NODE:PORT", node_name(node),
		    node->ni.nports);
		return false;
	}
	*port = &node->ports[num];
	return true;
}

bool next_cable(struct args *a, struct dport **port)
{
	if (!next_port(a, port))
		return false;
	if ((*port)->peer)
		return true;
	bad(a, "no cable is in %s:%u", node_name((*port)->node), (*port)->num);
	return false;
}

/* ---- Amounts --------------------------------------------------------------------------------- */

/* A decimal number, and where it ends. */
static bool amount(const char *word, double *value, const char **unit)
{
	char *end;

	if (!word || !isdigit((unsigned char)word[0]))
		return false;
	errno = 0;
	*value = strtod(word, &end);
	*unit = end;
	return !errno && strcspn(word, "xXeEpP") >= (size_t)(end - word);
}

bool sim_control_time(const char *word, uint64_t *us)
{
	static const struct {
		const char *unit;
		double us;
	} units[] = { { "us", 1 }, { "ms", 1e3 }, { "s", 1e6 }, { "min", 60e6 } };
	const char *unit;
	double value;

	if (amount(word, &value, &unit))
		for (size_t i = 0; i < sizeof(units) / sizeof(units[0]); i++)
			if (strcmp(unit, units[i].unit) == 0 && value * units[i].us <= US_MAX) {
				*us = (uint64_t)(value * units[i].us + 0.5);
				return true;
			}
	return false;
}

bool next_time(struct args *a, uint64_t *us)
{
	const char *word = next_word(a);

	if (sim_control_time(word, us))
		return true;
	bad(a, "'%s' is no time: 20us, 2ms, 2.5s", word ? word : "");
	return false;
}

bool next_share(struct args *a, unsigned *per_mille)
{
	const char *word = next_word(a), *unit;
	double value;

	if (!amount(word, &value, &unit) || strcmp(unit, "%") != 0 || value > 100 ||
	    (value > 0 && value < 0.1)) {
		bad(a, "'%s' is no share: 0%%, or 0.1%% to 100%%", word ? word : "");
		return false;
	}
	*per_mille = (unsigned)(value * 10 + 0.5);
	return true;
}

bool next_number(struct args *a, uint64_t *number, uint64_t max)
{
	const char *word = next_word(a);
	char *end = NULL;

	errno = 0;
	if (word && isdigit((unsigned char)word[0]))
		*number = strtoull(word, &end, 0);
	if (end && !*end && !errno && *number <= max)
		return true;
	bad(a, "'%s' is no number from 0 to %llu", word ? word : "", (unsigned long long)max);
	return false;
}

bool next_on(struct args *a, bool *on)
{
	if (next_is(a, "on")) {
		*on = true;
		return true;
	}
	*on = false;
	if (next_is(a, "off"))
		return true;
	bad(a, "'%s' is neither on nor off", a->next < a->count ? a->words[a->next] : "");
	return false;
}
