/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Commands about cables and ports. */
#include "tests/sim/control_own.h"
#include <errno.h>
#include <string.h>
#include <stdlib.h>
#include "topology/base/mem.h"

static guid_t name_of(const struct dport *port)
{
	return port->node->guid;
}

/* Plugs it in: where it was, or into another port that is free, or whose cable is out. */
static int do_link(struct args *a)
{
	struct dport *one, *other;

	if (a->count == 2) {
		if (!next_cable(a, &one))
			return -EINVAL;
		double_join(a->d, name_of(one), one->num);
		return 0;
	}
	if (!next_port(a, &one) || !next_port(a, &other))
		return -EINVAL;
	if (one == other)
		return bad(a, "both ends are the same port");
	if (one->peer != other && ((one->peer && !one->cut) || (other->peer && !other->cut)))
		return bad(a, "a cable is in %s:%u already: unlink it",
			   node_name(one->peer && !one->cut ? one->node : other->node),
			   one->peer && !one->cut ? one->num : other->num);
	double_plug(a->d, name_of(one), one->num, name_of(other), other->num);
	return 0;
}

static int do_unlink(struct args *a)
{
	struct dport *one, *other;

	if (!next_cable(a, &one) || (a->count == 3 && !next_cable(a, &other)))
		return -EINVAL;
	if (a->count == 3 && one->peer != other)
		return bad(a, "these two are not joined: the cable of %s leads to %s:%u",
			   a->words[1], node_name(one->peer->node), one->peer->num);
	double_cut(a->d, name_of(one), one->num);
	return 0;
}

static int do_down(struct args *a)
{
	struct dport *port;
	uint64_t reason;

	if (!next_cable(a, &port))
		return -EINVAL;
	if (!next_is(a, "reason"))
		return bad(a, "reason N is expected behind the port");
	if (!next_number(a, &reason, UINT8_MAX))
		return -EINVAL;
	double_down(a->d, name_of(port), port->num, (uint8_t)reason);
	return 0;
}

/* A cable has the same number at both ends. */
static int do_cable(struct args *a)
{
	struct dport *port;
	const char *serial, *part;

	if (!next_cable(a, &port))
		return -EINVAL;
	serial = next_word(a);
	part = next_word(a);
	if (strlen(serial) >= sizeof(port->module.serial) ||
	    (part && strlen(part) >= sizeof(port->module.part)))
		return bad(a, "a number has up to 16 characters");
	double_name_cable(a->d, port);
	strcpy(port->module.serial, serial);
	strcpy(port->peer->module.serial, serial);
	if (part) {
		strcpy(port->module.part, part);
		strcpy(port->peer->module.part, part);
	}
	return 0;
}

static int do_heat(struct args *a)
{
	struct dport *port;
	uint64_t heat;

	if (!next_cable(a, &port) || !next_number(a, &heat, 127))
		return -EINVAL;
	port->heat = (int8_t)heat;
	return 0;
}

/* What is put off is lines, so that a log tells of each. The judge doesn't count it as a link. */
static int do_flap(struct args *a)
{
	struct dport *port;
	uint64_t times, period;

	if (!next_cable(a, &port) || !next_number(a, &times, 10000) || !next_time(a, &period))
		return -EINVAL;
	port->flaps = port->peer->flaps = true;
	for (uint64_t i = 0; i < times; i++)
		for (unsigned on = 0; on < 2; on++) {
			char *line = mem_printf("%s \"%s\"[%u]", on ? "link" : "unlink",
						node_name(port->node), port->num);

			sim_control_put_off(a->c, i * period + on * period / 2, line);
			free(line);
		}
	return 0;
}

static bool is_width(uint64_t lanes)
{
	return lanes == 1 || lanes == 2 || lanes == 4 || lanes == 8 || lanes == 12;
}

static int do_train(struct args *a)
{
	struct dport *port;
	enum topo_speed speed = TOPO_SPEED_NONE;
	uint64_t lanes = 4;
	const char *word;

	if (!next_cable(a, &port))
		return -EINVAL;
	word = next_word(a);
	speed = topo_speed_parse(word);
	if (speed == TOPO_SPEED_NONE)
		return bad(a, "'%s' is no speed: SDR to XDR", word);
	if (a->next < a->count && !next_number(a, &lanes, 12))
		return -EINVAL;
	if (!is_width(lanes))
		return bad(a, "a link has 1, 2, 4, 8 or 12 lanes");
	double_set_cable(a->d, name_of(port), port->num, speed, (unsigned)lanes);
	return 0;
}

static int do_degrade(struct args *a)
{
	enum topo_speed speed = TOPO_SPEED_NONE;
	unsigned lanes = 0;
	struct dport *port;
	const char *word;

	if (!next_cable(a, &port))
		return -EINVAL;
	if (port->info.phys_state != PHYS_LINK_UP)
		return bad(a, "the link of %s:%u is not up", node_name(port->node), port->num);
	word = next_word(a);
	if (strcmp(word, "off") != 0) {
		char *unit;

		lanes = (unsigned)strtoul(word, &unit, 10);
		if (strcmp(unit, "x") != 0)
			lanes = 0;
		speed = topo_speed_parse(word);
		if (!is_width(lanes) && speed == TOPO_SPEED_NONE)
			return bad(a, "'%s' is neither a width (1x to 12x) nor a speed", word);
	}
	double_degrade(a->d, name_of(port), port->num, speed, lanes);
	return 0;
}

static int do_flash(struct args *a)
{
	uint64_t lid = 0;
	struct dport *port;

	if (!next_port(a, &port) || (!next_is(a, "off") && !next_number(a, &lid, 0xbfff)))
		return -EINVAL;
	if (is_switch(port->node))
		return bad(a, "%s is a switch: these have no LID in flash", node_name(port->node));
	double_set_flash(a->d, name_of(port), port->num, (uint16_t)lid);
	return 0;
}

static int do_swap(struct args *a)
{
	struct dport *one, *other;

	if (!next_cable(a, &one) || !next_cable(a, &other))
		return -EINVAL;
	if (!one->cut || !other->cut)
		return bad(a, "both cables have to be out: unlink them");
	double_swap(a->d, name_of(one), one->num, name_of(other), other->num);
	return 0;
}

static int do_mkey(struct args *a)
{
	struct dport *port;
	struct dnode *node;
	uint64_t key, protect = 1, lease = 0;

	if (!next_node(a, &node) || !next_number(a, &key, UINT64_MAX) ||
	    (a->count > 3 && !next_number(a, &protect, 3)) ||
	    (a->count > 4 && !next_number(a, &lease, UINT16_MAX)))
		return -EINVAL;
	for (unsigned num = 0; num <= node->ni.nports; num++) {
		port = &node->ports[num];
		if (is_switch(node) ? !num : num)
			double_hold_mkey(a->d, name_of(port), num, key,
					 (uint8_t)(key ? protect : 0), (uint16_t)lease);
	}
	return 0;
}

static int do_count(struct args *a)
{
	struct dport *port;
	const char *name;
	uint64_t amount;

	if (!next_port(a, &port))
		return -EINVAL;
	name = next_word(a);
	if (!next_number(a, &amount, UINT64_MAX))
		return -EINVAL;
	for (unsigned i = 0; i < PERF_COUNTERS; i++)
		if (strcmp(wire_perf_name((enum perf_counter)i), name) == 0) {
			perf_add(port, (enum perf_counter)i, amount);
			return 0;
		}
	for (unsigned i = 0; i < WIRE_FEC_COUNTERS; i++)
		if (strcmp(wire_fec_name((enum wire_fec_counter)i), name) == 0) {
			port->fec[i] += amount;
			return 0;
		}
	return bad(a, "no counter is named '%s'", name);
}

const struct command commands_link[] = {
	{ "link", "A:PORT [B:PORT]", "plugs the cable in again, or a cable from A to B", 1, 2,
	  do_link },
	{ "unlink", "A:PORT [B:PORT]", "pulls the cable", 1, 2, do_unlink },
	{ "down", "A:PORT reason N",
	  "the link goes down, and A's registers give that reason (PDDR, page 6)", 3, 3, do_down },
	{ "cable", "A:PORT SERIAL [PART]", "the cable has that serial and part number", 2, 3,
	  do_cable },
	{ "heat", "A:PORT CELSIUS", "its module is that hot; 0: as usual", 2, 2, do_heat },
	{ "flap", "A:PORT TIMES PERIOD", "the link falls and comes back, so often", 3, 3, do_flap },
	{ "train", "A:PORT SPEED [LANES]", "the cable comes up again with that speed", 2, 3,
	  do_train },
	{ "degrade", "A:PORT 1x|HDR|off",
	  "the link goes on with that width or speed, and nobody is told", 2, 2, do_degrade },
	{ "flash", "A:PORT LID|off", "the HCA's port has that LID after each power-on", 2, 2,
	  do_flash },
	{ "swap", "A:PORT B:PORT", "two cables that are out change places at these ends", 2, 2,
	  do_swap },
	{ "mkey", "NODE KEY [PROTECT [LEASE]]",
	  "its ports hold the M_Key of somebody else; 0: none", 2, 4, do_mkey },
	{ "count", "A:PORT COUNTER AMOUNT", "adds to a counter of the port", 3, 3, do_count },
	{ 0 },
};
