/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Commands about devices, and faults by the table of them (tests/fabric/fault.h): NAME WHERE
 * [AMOUNT], or NAME AMOUNT [WHERE], everywhere where no place is named; the amount `off` ends it.
 */
#include "tests/sim/control_own.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "fm/mad/wire_optional.h"
#include "tests/fabric/fault.h"

static int do_node(struct args *a)
{
	struct dnode *node;
	bool on;

	if (!next_on(a, &on) || !next_node(a, &node))
		return -EINVAL;
	double_set_power(a->d, node->guid, on);
	return 0;
}

static int do_reboot(struct args *a)
{
	struct dnode *node;

	if (!next_node(a, &node))
		return -EINVAL;
	if (node->off)
		return bad(a, "%s is off: node on", node_name(node));
	double_reboot(a->d, node->guid);
	return 0;
}

static int do_forget(struct args *a)
{
	struct dnode *node;

	if (!next_node(a, &node))
		return -EINVAL;
	if (!is_switch(node))
		return bad(a, "%s is not a switch", node_name(node));
	if (next_is(a, "lft"))
		double_lose_lft(a->d, node->guid);
	else if (next_is(a, "mft"))
		double_lose_mft(a->d, node->guid);
	else
		return bad(a, "'%s' is neither lft nor mft", a->words[2]);
	return 0;
}

static int do_guid(struct args *a)
{
	struct dnode *node;
	uint64_t guid;

	if (!next_node(a, &node) || !next_number(a, &guid, UINT64_MAX))
		return -EINVAL;
	double_set_guid(a->d, node->guid, guid);
	return 0;
}

static int do_replace(struct args *a)
{
	struct dnode *node;
	uint64_t guid;

	if (!next_node(a, &node) || !next_number(a, &guid, UINT64_MAX))
		return -EINVAL;
	double_replace(a->d, node->guid, guid);
	return 0;
}

static int do_describe(struct args *a)
{
	struct dnode *node;

	if (!next_node(a, &node))
		return -EINVAL;
	if (strlen(a->words[2]) > 64)
		return bad(a, "a description has 64 bytes at most");
	double_set_desc(a->d, node->guid, next_word(a));
	return 0;
}

/* \n and \xNN stand for a byte: no text is too odd for a device. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *p = text; *p; to++) {
		unsigned byte;

		if (sscanf(p, "\\x%2x", &byte) == 1 && byte && strlen(p) >= 4) {
			*to = (char)byte;
			p += 4;
		} else if (!strncmp(p, "\\n", 2)) {
			*to = '\n';
			p += 2;
		} else {
			*to = *p++;
		}
	}
	*to = 0;
}

static int do_rename(struct args *a)
{
	struct dnode *node;

	if (!next_node(a, &node))
		return -EINVAL;
	unescape(a->words[2]);
	if (strlen(a->words[2]) > 64)
		return bad(a, "a description has 64 bytes at most");
	double_rename(a->d, node->guid, a->words[2]);
	return 0;
}

static const struct {
	const char *name;
	uint16_t id;
} attributes[] = {
	{ "NodeDesc", WIRE_NODE_DESC },
	{ "NodeInfo", WIRE_NODE_INFO },
	{ "SwitchInfo", WIRE_SWITCH_INFO },
	{ "GUIDInfo", WIRE_GUID_INFO },
	{ "PortInfo", WIRE_PORT_INFO },
	{ "PKey", WIRE_PKEY_TABLE },
	{ "SL2VL", WIRE_SL2VL },
	{ "VLArb", WIRE_VL_ARB },
	{ "LFT", WIRE_LFT },
	{ "MFT", WIRE_MFT },
	{ "SMInfo", WIRE_SM_INFO },
	{ "StateTable", WIRE_PORT_STATE_TABLE },
};

static bool next_attribute(struct args *a, uint64_t *id)
{
	for (size_t i = 0; i < sizeof(attributes) / sizeof(attributes[0]); i++)
		if (!strcasecmp(a->words[a->next], attributes[i].name)) {
			a->next++;
			*id = attributes[i].id;
			return true;
		}
	return next_number(a, id, UINT16_MAX);
}

static int do_drop(struct args *a)
{
	uint8_t method = 0;
	struct dnode *node;
	uint64_t id;

	if (!next_node(a, &node) || !next_attribute(a, &id))
		return -EINVAL;
	if (next_is(a, "get"))
		method = WIRE_GET;
	else if (next_is(a, "set"))
		method = WIRE_SET;
	double_drop(a->d, node->guid, method, (uint16_t)id, !next_is(a, "off"));
	if (a->next < a->count)
		return bad(a, "'%s' is none of get, set, off", a->words[a->next]);
	return 0;
}

static int do_entry(struct args *a)
{
	struct dnode *node;
	uint64_t lid, num;

	if (!next_node(a, &node) || !next_number(a, &lid, 0xbfff) || !next_number(a, &num, 255))
		return -EINVAL;
	if (!is_switch(node))
		return bad(a, "%s is not a switch", node_name(node));
	double_set_lft(a->d, node->guid, (uint16_t)lid, (uint8_t)num);
	return 0;
}

static int do_trap(struct args *a)
{
	static const uint16_t numbers[] = { 128, 129, 130, 131, 144, 145, 256, 257, 258, 259 };
	struct dnode *node;
	uint64_t number, num = 0;

	if (!next_node(a, &node) || !next_number(a, &number, UINT16_MAX) ||
	    (a->count > 3 && !next_number(a, &num, node->ni.nports)))
		return -EINVAL;
	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (numbers[i] == number) {
			double_trap(a->d, node->guid, (uint16_t)number, (uint8_t)num);
			return 0;
		}
	return bad(a, "no device sends trap %s", a->words[2]);
}

static int do_capability(struct args *a)
{
	struct dport *port;
	uint64_t mask;
	uint32_t now;
	bool on;

	if (!next_port(a, &port) || !next_number(a, &mask, UINT32_MAX) || !next_on(a, &on))
		return -EINVAL;
	now = port->info.capmask;
	port_set_capmask(a->d, port, on ? now | (uint32_t)mask : now & ~(uint32_t)mask);
	return 0;
}

static int do_labels(struct args *a)
{
	bool on = false, wrong = next_is(a, "wrong"), refused = !wrong && next_is(a, "refused");
	bool modules = !wrong && !refused && next_is(a, "modules");
	struct dnode *node;

	if (!wrong && !refused && !modules && !next_on(a, &on))
		return -EINVAL;
	if (!next_node(a, &node))
		return -EINVAL;
	double_set_labels(a->d, node->guid,
			  wrong	    ? DOUBLE_LABELS_WRONG
			  : refused ? DOUBLE_LABELS_REFUSED
			  : modules ? DOUBLE_MODULES
			  : on	    ? DOUBLE_CAGES
				    : DOUBLE_UNLABELLED);
	return 0;
}

static int do_firmware(struct args *a)
{
	struct dnode *node;
	const char *text;
	char rest;

	if (!next_node(a, &node))
		return -EINVAL;
	text = next_word(a);
	memset(node->firmware, 0, sizeof(node->firmware));
	if (strcmp(text, "usual") && sscanf(text, "%5hu.%5hu.%5hu%c", &node->firmware[0],
					    &node->firmware[1], &node->firmware[2], &rest) != 3)
		return bad(a, "'%s' is no firmware: as 31.2014.1010, or usual", text);
	return 0;
}

static int do_registers(struct args *a)
{
	struct dnode *node;
	bool on;

	if (!next_on(a, &on))
		return -EINVAL;
	if (next_is(a, "all")) {
		for (uint32_t i = 0; i < a->d->topo->nnodes; i++)
			a->d->nodes[i].no_registers = !on;
		return 0;
	}
	if (!next_node(a, &node))
		return -EINVAL;
	node->no_registers = !on;
	return 0;
}

static int do_fec(struct args *a)
{
	struct dport *port;
	uint64_t mode = DOUBLE_FEC_USUAL;

	if (!next_port(a, &port))
		return -EINVAL;
	if (next_is(a, "refused"))
		mode = DOUBLE_FEC_REFUSED;
	else if (next_is(a, "wrong"))
		mode = DOUBLE_FEC_WRONG;
	else if (!next_is(a, "usual") && !next_number(a, &mode, WIRE_FEC_MODES - 1))
		return -EINVAL;
	double_set_fec_mode(a->d, port->node->guid, port->num, (unsigned)mode);
	return 0;
}

static int do_strict(struct args *a)
{
	bool on;

	if (!next_on(a, &on))
		return -EINVAL;
	double_set_strict(a->d, on);
	return 0;
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static bool fault_amount(struct args *a, const struct fault *fault, unsigned *amount)
{
	uint64_t us;

	*amount = 0;
	if (next_is(a, "off"))
		return true;
	switch (fault->amount) {
	case FAULT_SHARE:
		return next_share(a, amount);
	case FAULT_TIME:
		if (!next_time(a, &us))
			return false;
		*amount = (unsigned)us;
		return true;
	default:
		*amount = 1;
		next_is(a, "on");
		return true;
	}
}

/* The port is as good as its node where one is meant. */
static bool fault_place(struct args *a, const struct fault *fault, struct dport **port)
{
	struct dnode *node;

	if (fault->scope == FAULT_CABLE)
		return next_cable(a, port);
	if (fault->scope == FAULT_PORT)
		return next_port(a, port);
	if (!next_node(a, &node))
		return false;
	*port = &node->ports[0];
	return true;
}

/* `lose 5%`, `slow off`: the amount comes first, or alone. */
static bool amount_is_next(const struct args *a, const struct fault *fault)
{
	const char *word = a->next < a->count ? a->words[a->next] : "";
	uint64_t us;

	if (strcmp(word, "off") == 0)
		return true;
	if (fault->amount == FAULT_SHARE)
		return word[0] && word[strlen(word) - 1] == '%';
	return fault->amount == FAULT_TIME && sim_control_time(word, &us);
}

int sim_control_fault(struct args *a)
{
	const struct fault *fault = fault_find(a->words[0]);
	bool amount_first = amount_is_next(a, fault), everywhere, one_way;
	struct dport *port = NULL;
	unsigned amount;

	if (amount_first && !fault_amount(a, fault, &amount))
		return -EINVAL;
	everywhere = amount_first && a->next == a->count;
	if (!everywhere && !fault_place(a, fault, &port))
		return -EINVAL;
	if (!amount_first && !fault_amount(a, fault, &amount))
		return -EINVAL;
	one_way = fault->scope == FAULT_CABLE && next_is(a, "one-way");
	if (a->next < a->count)
		return bad(a, "'%s' is too much", a->words[a->next]);
	if (everywhere)
		fault_set_all(a->d, fault, amount);
	else if (one_way)
		fault_set_direction(a->d, fault, port->node->guid, port->num, amount);
	else
		fault_set(a->d, fault, port->node->guid, port->num, amount);
	return 0;
}

static int do_mend(struct args *a)
{
	fault_end_all(a->d);
	return 0;
}

const struct command commands_node[] = {
	{ "node", "on|off NODE", "its power; what comes back has forgotten all", 2, 2, do_node },
	{ "reboot", "NODE", "its links bounce, and it has forgotten all", 1, 1, do_reboot },
	{ "forget", "NODE lft|mft", "the switch loses its table, and tells nobody", 2, 2,
	  do_forget },
	{ "entry", "SWITCH LID PORT", "the switch's table says so; 255: nothing", 3, 3, do_entry },
	{ "guid", "NODE GUID", "says that it is another; its name here stays", 2, 2, do_guid },
	{ "replace", "NODE GUID", "another device in its place, fresh; its name here stays", 2, 2,
	  do_replace },
	{ "describe", "NODE TEXT", "its NodeDescription, with trap 144", 2, 2, do_describe },
	{ "rename", "NODE TEXT", "its NodeDescription, and nobody is told; \\n, \\xNN: bytes", 2, 2,
	  do_rename },
	{ "drop", "NODE ATTRIBUTE [get|set] [off]",
	  "its agent does not answer that one; names as PortInfo, LFT, or a number", 2, 4,
	  do_drop },
	{ "trap", "NODE NUMBER [PORT]", "it sends that trap", 2, 3, do_trap },
	{ "capability", "A:PORT MASK on|off", "bits of the port's CapabilityMask, with trap 144", 3,
	  3, do_capability },
	{ "labels", "on|off|wrong|refused|modules NODE",
	  "what it says of its cages (HierarchyInfo; modules: registers PLIB and PMLP)", 2, 2,
	  do_labels },
	{ "fec", "A:PORT 0..15|usual|refused|wrong",
	  "the error correction that the port says it uses (PortInfoExtended)", 2, 2, do_fec },
	{ "firmware", "NODE A.B.C|usual", "what it reports of itself (GeneralInfo)", 2, 2,
	  do_firmware },
	{ "registers", "on|off NODE|all", "whether it knows AccessRegister", 2, 2, do_registers },
	{ "strict", "on|off", "devices do what IBA has and few managers meet: see fmsim(1)", 1, 1,
	  do_strict },
	{ "mend", "", "all faults below end", 0, 0, do_mend },
	{ 0 },
};
