/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * times: how long links train and devices boot. powercut: all devices lose power and come back at
 * random moments, some of them ill.
 *
 * What a power cut does is commands, at once or put off, whose moments and victims follow from its
 * seed and the fabric alone. Ills that keep a switch from being programmed come to switches without
 * HCAs, a quarter of them at most and one at least, in an order by the seed: all pairs can be alive
 * again.
 */
#include "tests/sim/control_own.h"
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"

#define SECONDS_MAX    3600
#define FLASH_VICTIMS  12
#define FACTORY_SHARE  8 /* one of so many HCAs */
#define FLAP	       "60 400ms"
#define FACTORY_HCA    "MT4129 ConnectX7   Mellanox Technologies"
#define FACTORY_SWITCH "MF0;switch-factory:MQM9700/U1"

static int do_times(struct args *a)
{
	static const struct double_times hardware = { { 1000000, 3000000 },
						      { 60000000, 120000000 } };
	struct double_times times = a->d->times;
	bool train = next_is(a, "train");
	unsigned *range = train ? times.train_us : times.boot_us;
	uint64_t least, most;

	if (next_is(a, "hardware"))
		times = hardware;
	else if (next_is(a, "none"))
		times = (struct double_times){ 0 };
	else if (!train && !next_is(a, "boot"))
		return bad(a, "'%s' is none of hardware, none, train, boot", a->words[1]);
	else if (a->next == a->count || !next_time(a, &least) || !next_time(a, &most))
		return -EINVAL;
	else if (least > most || most > UINT32_MAX)
		return bad(a, "the least time comes first");
	else {
		range[0] = (unsigned)least;
		range[1] = (unsigned)most;
	}
	if (a->next < a->count)
		return bad(a, "'%s' is too much", a->words[a->next]);
	double_set_times(a->d, &times);
	return 0;
}

/* ---- A power cut ----------------------------------------------------------------------------- */

struct cut {
	struct args *a;
	uint64_t random, span_us, last_us;
	bool *kept;	 /* by node: keeps its power, and its health */
	uint64_t *on_us; /* by node: when its power is back */
	/* switches without HCAs, in an order by the seed; the first nill are ill */
	uint32_t *transit, ntransit, nill;
};

typedef void ill_fn(struct cut *cut);

static uint64_t dice(struct cut *cut, uint64_t sides)
{
	return random_next(&cut->random) % sides;
}

/* A line that is done now, or put off; and told. */
static void does(struct cut *cut, uint64_t at_us, bool tell, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
static void does(struct cut *cut, uint64_t at_us, bool tell, const char *format, ...)
{
	char line[256];
	va_list list;

	va_start(list, format);
	vsnprintf(line, sizeof(line), format, list);
	va_end(list);
	if (tell)
		fprintf(cut->a->out, "at %.3fs %s\n", (double)at_us / 1e6, line);
	if (at_us)
		sim_control_put_off(cut->a->c, at_us, line);
	else
		sim_control_line(cut->a->c, line, cut->a->out);
}

static unsigned long long guid_of(const struct dnode *node)
{
	return (unsigned long long)node->guid;
}

static bool has_hcas(const struct dnode *node)
{
	for (unsigned n = 1; n <= node->ni.nports; n++) {
		const struct dport *peer = node->ports[n].peer;

		if (peer && !is_switch(peer->node) && !peer->node->design->sharp)
			return true;
	}
	return false;
}

/* The switches that may be ill. */
static void find_transit(struct cut *cut)
{
	const struct double_fabric *d = cut->a->d;

	cut->transit = mem_alloc(d->topo->nnodes, sizeof(*cut->transit));
	for (uint32_t i = 0; i < d->topo->nnodes; i++)
		if (is_switch(&d->nodes[i]) && !cut->kept[i] && !has_hcas(&d->nodes[i]))
			cut->transit[cut->ntransit++] = i;
	for (uint32_t i = 1; i < cut->ntransit; i++) {
		uint32_t other = (uint32_t)dice(cut, i + 1), swap = cut->transit[i];

		cut->transit[i] = cut->transit[other];
		cut->transit[other] = swap;
	}
}

/* A switch that nothing is wrong with yet; NULL: as many are ill as may be. */
static const struct dnode *ill_switch(struct cut *cut, const char *ill)
{
	if (cut->nill < cut->ntransit && (!cut->nill || 4 * (cut->nill + 1) <= cut->ntransit))
		return &cut->a->d->nodes[cut->transit[cut->nill++]];
	fprintf(cut->a->out, "no switch is left for %s\n", ill);
	return NULL;
}

static void ill_by(struct cut *cut, const char *ill, const char *line, const char *amount)
{
	const struct dnode *node = ill_switch(cut, ill);

	if (node)
		does(cut, 0, true, "%s 0x%016llx%s # %s", line, guid_of(node), amount,
		     node_name(node));
}

static void deaf(struct cut *cut)
{
	ill_by(cut, "deaf", "deaf", "");
}

static void hung(struct cut *cut)
{
	ill_by(cut, "hung", "hang", "");
}

static void refusing(struct cut *cut)
{
	ill_by(cut, "refusing", "refuse", "");
}

static void slow(struct cut *cut)
{
	ill_by(cut, "slow", "slow", " 1s");
}

/* Of two healthy switches, or (hosts) of a switch and an HCA. */
static struct dport *some_cable(struct cut *cut, bool hosts, const struct dport *apart)
{
	const struct double_fabric *d = cut->a->d;

	for (unsigned tries = 0; tries < 10000; tries++) {
		struct dport *port = &d->ports[dice(cut, d->topo->nports)];
		bool ill = false;

		if (!port->num || !port->peer || port->cut || !is_switch(port->node) ||
		    is_switch(port->peer->node) == hosts || port->peer->node->design->sharp ||
		    cut->kept[port->node - d->nodes] || cut->kept[port->peer->node - d->nodes])
			continue;
		for (uint32_t i = 0; i < cut->nill; i++)
			ill |= port->node == &d->nodes[cut->transit[i]] ||
			       port->peer->node == &d->nodes[cut->transit[i]];
		if (!ill &&
		    (!apart ||
		     (port->node != apart->node && port->node != apart->peer->node &&
		      port->peer->node != apart->node && port->peer->node != apart->peer->node)))
			return port;
	}
	return NULL;
}

/* Into the last devices that come up: a bring-up is never without it. */
static void flapping(struct cut *cut)
{
	const struct dport *port = some_cable(cut, false, NULL);

	if (port)
		does(cut, cut->span_us / 2 + dice(cut, cut->span_us / 2 + 1), true,
		     "flap 0x%016llx:%u " FLAP " # %s", guid_of(port->node), port->num,
		     node_name(port->node));
}

static void swapped(struct cut *cut)
{
	bool hosts = dice(cut, 2);
	const struct dport *one = some_cable(cut, hosts, NULL);
	const struct dport *other = one ? some_cable(cut, hosts, one) : NULL;
	const struct dport *const both[] = { one, other };

	if (!other) {
		fputs("no two cables are left for swapped\n", cut->a->out);
		return;
	}
	for (unsigned i = 0; i < 2; i++)
		does(cut, 0, false, "unlink 0x%016llx:%u", guid_of(both[i]->node), both[i]->num);
	does(cut, 0, true, "swap 0x%016llx:%u 0x%016llx:%u # %s, %s", guid_of(one->node), one->num,
	     guid_of(other->node), other->num, node_name(one->node), node_name(other->node));
	for (unsigned i = 0; i < 2; i++)
		does(cut, 0, false, "link 0x%016llx:%u", guid_of(both[i]->node), both[i]->num);
}

/* HCAs that have power again say what the factory wrote, until their driver says their name. */
static void factory(struct cut *cut)
{
	const struct double_fabric *d = cut->a->d;
	unsigned count = 0;

	for (uint32_t i = 0; i < d->topo->nnodes; i++) {
		const struct dnode *node = &d->nodes[i];

		if (is_switch(node) || node->design->sharp || cut->kept[i] ||
		    strchr(node->desc, '"') || dice(cut, FACTORY_SHARE))
			continue;
		does(cut, cut->on_us[i] + 2000000 + dice(cut, 8000000), false,
		     "describe 0x%016llx \"%s\"", guid_of(node), node->desc);
		does(cut, 0, false, "rename 0x%016llx \"" FACTORY_HCA "\"", guid_of(node));
		count++;
	}
	fprintf(cut->a->out, "%u HCAs have their factory's name, for 2 to 10 s of power\n", count);
	if (!cut->ntransit)
		return;
	does(cut, 0, true, "rename 0x%016llx \"" FACTORY_SWITCH "\"",
	     guid_of(&d->nodes[cut->transit[cut->ntransit - 1]]));
}

/* HCAs come with each other's LIDs, as they hold them now. */
static void flash(struct cut *cut)
{
	const struct double_fabric *d = cut->a->d;
	const struct dport *victims[FLASH_VICTIMS];
	unsigned count = 0;

	for (unsigned tries = 0; tries < 10000 && count < FLASH_VICTIMS; tries++) {
		const struct dport *port = &d->ports[dice(cut, d->topo->nports)];
		bool taken = is_switch(port->node) || !port->num || !port->info.lid ||
			     port->node->design->sharp || cut->kept[port->node - d->nodes];

		for (unsigned i = 0; i < count; i++)
			taken |= victims[i] == port;
		if (!taken)
			victims[count++] = port;
	}
	for (unsigned i = 0; i < count; i++)
		does(cut, 0, true, "flash 0x%016llx:%u %u", guid_of(victims[i]->node),
		     victims[i]->num, victims[(i + 1) % count]->info.lid);
}

/* Who is ill first leaves less for the others, so the first four come in an order by the seed. */
static const struct {
	const char *name;
	ill_fn *fn;
} ills[] = {
	{ "deaf", deaf },	{ "hung", hung },	  { "refusing", refusing },
	{ "slow", slow },	{ "flapping", flapping }, { "swapped", swapped },
	{ "factory", factory }, { "flash", flash },
};
#define ILLS	    (sizeof(ills) / sizeof(ills[0]))
#define ILLS_SWITCH 4

static bool next_ills(struct args *a, unsigned *wanted)
{
	for (*wanted = 0; a->next < a->count && strcmp(a->words[a->next], "but") != 0;) {
		unsigned before = *wanted;

		if (next_is(a, "all"))
			*wanted = (1u << ILLS) - 1;
		for (unsigned i = 0; a->next < a->count && i < ILLS; i++)
			if (next_is(a, ills[i].name))
				*wanted |= 1u << i;
		if (*wanted != before)
			continue;
		bad(a,
		    "'%s' is no ill, or one twice: all, deaf, hung, refusing, slow, flapping, "
		    "swapped, factory, flash",
		    a->words[a->next]);
		return false;
	}
	return true;
}

static void power_goes(struct cut *cut)
{
	const struct double_fabric *d = cut->a->d;
	unsigned count = 0;

	for (uint32_t i = 0; i < d->topo->nnodes; i++) {
		if (cut->kept[i])
			continue;
		cut->on_us[i] = dice(cut, cut->span_us + 1);
		if (cut->on_us[i] > cut->last_us)
			cut->last_us = cut->on_us[i];
		count++;
		does(cut, 0, false, "node off 0x%016llx", guid_of(&d->nodes[i]));
	}
	fprintf(cut->a->out, "%u devices are off; the last one has power at %.6f s\n", count,
		sim_control_seconds(cut->a->c, loop_now_us(d->loop) + cut->last_us));
}

static void cut_run(struct cut *cut, unsigned wanted)
{
	const struct double_fabric *d = cut->a->d;
	unsigned first = (unsigned)dice(cut, ILLS_SWITCH);

	find_transit(cut);
	if (wanted & 1u << (ILLS - 1))
		flash(cut); /* by the LIDs that are still held */
	power_goes(cut);
	for (unsigned i = 0; i < ILLS - 1; i++) {
		unsigned ill = i < ILLS_SWITCH ? (first + i) % ILLS_SWITCH : i;

		if (wanted & 1u << ill)
			ills[ill].fn(cut);
	}
	for (uint32_t i = 0; i < d->topo->nnodes; i++)
		if (!cut->kept[i])
			does(cut, cut->on_us[i] + 1, false, "node on 0x%016llx",
			     guid_of(&d->nodes[i]));
}

static int do_powercut(struct args *a)
{
	uint32_t nnodes = a->d->topo->nnodes;
	struct cut cut = { .a = a };
	uint64_t seconds;
	unsigned wanted;
	int status = 0;

	if (!next_number(a, &cut.random, UINT64_MAX) || !next_number(a, &seconds, SECONDS_MAX) ||
	    !next_ills(a, &wanted))
		return -EINVAL;
	cut.span_us = seconds * 1000000;
	cut.kept = mem_alloc(nnodes, sizeof(*cut.kept));
	cut.on_us = mem_alloc(nnodes, sizeof(*cut.on_us));
	if (next_is(a, "but") && a->next == a->count)
		status = bad(a, "but whom?");
	while (!status && a->next < a->count) {
		struct dnode *node;

		if (next_node(a, &node))
			cut.kept[node - a->d->nodes] = true;
		else
			status = -EINVAL;
	}
	if (!status)
		cut_run(&cut, wanted);
	free(cut.kept);
	free(cut.on_us);
	free(cut.transit);
	return status;
}

const struct command commands_power[] = {
	{ "times", "hardware|none|train MIN MAX|boot MIN MAX",
	  "how long links train and devices boot; alone: how long agents worked", 1, 3, do_times },
	{ "powercut", "SEED SECONDS [ILL..|all] [but NODE..]",
	  "all devices lose power, and come back within SECONDS; see fmsim(1) for ills", 2, 14,
	  do_powercut },
	{ 0 },
};
