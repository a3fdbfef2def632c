/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "topology/base/mem.h"
#include "topology/files/netfile_own.h"
#include "topology/snapshot/topo_builder.h"

/*
 * What the readers of ibnetdiscover's files share: messages with their place, and names by number.
 */

bool netfile_fail(struct netfile *nf, uint32_t line, const char *format, ...)
{
	char reason[256];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	snprintf(nf->err, nf->err_size, "%s:%" PRIu32 ": %s", nf->name, line, reason);
	return false;
}

/* Shows the line's beginning, whatever bytes it has. */
bool netfile_fail_line(struct netfile *nf, struct lex l)
{
	size_t len = (size_t)(l.end - l.p);
	char shown[49];
	size_t n = len < sizeof(shown) - 1 ? len : sizeof(shown) - 1;

	for (size_t i = 0; i < n; i++)
		shown[i] = l.p[i] < ' ' || l.p[i] == 0x7f ? '.' : l.p[i];
	shown[n] = '\0';
	return netfile_fail(nf, nf->line, "line not understood: '%s'%s", shown,
			    n < len ? ".." : "");
}

uint32_t netfile_name(struct netfile *nf, struct lex_text name)
{
	uint32_t id = names_id(&nf->names, name.p, name.len);

	if (id >= nf->names_room) {
		uint32_t room = nf->names.room > id ? nf->names.room : id + 1;

		nf->node_of_name = mem_resize(nf->node_of_name, room, sizeof(*nf->node_of_name));
		for (uint32_t i = nf->names_room; i < room; i++)
			nf->node_of_name[i] = -1;
		nf->names_room = room;
	}
	return id;
}

/* ---- A node's own lines ---------------------------------------------------------------------- */

/*
 * A node's own lines in the ibnetdiscover format: vendid= .. caguid= before it, then
 * its header.
 *
 * What these lines say waits in `pending` for the next header and is forgotten after it. A node's
 * GUID is that of its caguid= (..) line, else the one in its name ("S-0002c90200000010"), else one
 * made from the name (ibsim takes any name): locally administered, and with the low byte free for
 * port GUIDs.
 */

/* ---- Names and GUIDs ------------------------------------------------------------------------- */

static guid_t choose_guid(const struct netfile *nf, enum topo_type type, struct lex_text name)
{
	guid_t guid = nf->pending[SET_CA_GUID + (type - TOPO_CA)];
	struct lex l = { name.p + 2, name.p + name.len };
	uint64_t h = 0xcbf29ce484222325u;

	if (guid)
		return guid;
	/*
	 * "S-0002c90200000010": more than 8 digits, so that hand-made "H-1" and "S-1" are two
	 * nodes.
	 */
	if (name.len >= 2 + 9 && name.len <= 2 + 16 && name.p[1] == '-' &&
	    strchr("SHR", name.p[0]) && lex_take_hex(&l, &guid) && lex_done(&l) && guid)
		return guid;
	/* FNV-1a, 48 bits of it between a locally administered byte and room for port numbers. */
	for (size_t i = 0; i < name.len; i++)
		h = (h ^ (unsigned char)name.p[i]) * 0x100000001b3u;
	return 0xfa00000000000000u | ((h ^ h >> 16) & 0xffffffffffffu) << 8;
}

/* ---- Assignments ----------------------------------------------------------------------------- */

static const struct {
	const char *word;
	enum assignment what;
	uint64_t max;
} assignments[] = {
	{ "vendid", SET_VENDOR, UINT32_MAX },
	{ "devid", SET_DEVICE, UINT16_MAX },
	{ "sysimgguid", SET_SYS_GUID, UINT64_MAX },
	{ "switchguids", SET_SWITCH_GUID, UINT64_MAX },
	{ "switchguid", SET_SWITCH_GUID, UINT64_MAX },
	{ "caguid", SET_CA_GUID, UINT64_MAX },
	{ "hcaguids", SET_CA_GUID, UINT64_MAX },
	{ "hcaguid", SET_CA_GUID, UINT64_MAX },
	{ "rtguid", SET_ROUTER_GUID, UINT64_MAX },
	{ "width", SET_WIDTH, 31 },
	{ "speed", SET_SPEED, 7 },
	{ "extspeed", SET_EXT_SPEED, 15 },
	{ "pdebug", SET_DEBUG, UINT64_MAX },
};

uint8_t netfile_best_width(uint64_t mask)
{
	return mask & 8 ? 12 : mask & 4 ? 8 : mask & 2 ? 4 : mask & 16 ? 2 : 1;
}

uint8_t netfile_best_speed(uint64_t mask)
{
	return mask & 4 ? TOPO_QDR : mask & 2 ? TOPO_DDR : TOPO_SDR;
}

uint8_t netfile_best_ext_speed(uint64_t mask)
{
	return mask & 8 ? TOPO_NDR : mask & 4 ? TOPO_HDR : mask & 2 ? TOPO_EDR : TOPO_FDR;
}

bool netfile_assignment(struct netfile *nf, struct lex l, bool *done)
{
	const char *text = l.p;
	uint64_t value;
	size_t i;

	for (i = 0; i < sizeof(assignments) / sizeof(assignments[0]); i++) {
		l.p = text;
		if (lex_take_word(&l, assignments[i].word) &&
		    (lex_skip_blanks(&l), lex_take_char(&l, '=')))
			break;
	}
	*done = i < sizeof(assignments) / sizeof(assignments[0]);
	if (!*done)
		return true;
	lex_skip_blanks(&l);
	if (!lex_take_number(&l, &value) || !(lex_done(&l) || strchr(" \t(#", *l.p)))
		return netfile_fail(nf, nf->line, "%s= wants a number", assignments[i].word);
	if (value > assignments[i].max)
		return netfile_fail(nf, nf->line, "%s=0x%" PRIx64 " is out of range",
				    assignments[i].word, value);
	nf->pending[assignments[i].what] = value;
	if (assignments[i].what == SET_WIDTH)
		nf->width = netfile_best_width(value);
	else if (assignments[i].what == SET_SPEED)
		nf->speed = netfile_best_speed(value);
	else if (assignments[i].what == SET_EXT_SPEED && value)
		nf->speed = netfile_best_ext_speed(value);
	return true;
}

/* ---- Nodes ----------------------------------------------------------------------------------- */

struct net_header { /* what a node's first line says */
	enum topo_type type;
	uint64_t nports;
	struct lex_text name, desc;
	bool enhanced_port0;
	uint64_t lid, lmc;
	guid_t guid, sys_guid; /* ibsim's Dump */
};

static bool take_node_type(struct lex *l, enum topo_type *type)
{
	static const struct {
		const char *word;
		enum topo_type type;
	} words[] = {
		{ "Switch", TOPO_SWITCH }, { "Ca", TOPO_CA },	      { "Hca", TOPO_CA },
		{ "Rt", TOPO_ROUTER },	   { "Router", TOPO_ROUTER },
	};

	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		struct lex try = *l;

		if (!lex_take_word(&try, words[i].word) ||
		    !(lex_is(&try, ' ') || lex_is(&try, '\t')))
			continue;
		*type = words[i].type;
		*l = try;
		return true;
	}
	return false;
}

/*
 * `"description" enhanced port 0 lid 3 lmc 0`; a description may hold quotes, and may come without
 * them (ibsim).
 */
static void parse_node_remark(struct lex l, struct net_header *h)
{
	static const char *const ends[] = { " enhanced port ", " base port ", " lid ", " lmc " };
	const char *close = memrchr(l.p, '"', (size_t)(l.end - l.p));

	if (lex_is(&l, '"') && close > l.p) {
		h->desc = (struct lex_text){ l.p + 1, (size_t)(close - l.p - 1) };
		l.p = close + 1;
	} else {
		const char *end = l.end;

		for (size_t i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
			const char *at = memmem(l.p, (size_t)(end - l.p), ends[i], strlen(ends[i]));

			end = at ? at : end;
		}
		h->desc = (struct lex_text){ l.p, (size_t)(end - l.p) };
		l.p = end;
	}
	h->enhanced_port0 = lex_contains(&l, "enhanced port 0");
	lex_find_number(&l, "lid ", &h->lid);
	lex_find_number(&l, "lmc ", &h->lmc);
}

static bool add_node(struct netfile *nf, const struct net_header *h)
{
	char text[NAME_MAX_BYTES + 1] = { 0 };
	size_t len = h->desc.len < NAME_MAX_BYTES ? h->desc.len : NAME_MAX_BYTES;
	struct topo_node_attr attr = {
		.guid = h->guid ? h->guid : choose_guid(nf, h->type, h->name),
		.desc = memcpy(text, h->desc.p, len),
		.vendor = (uint32_t)nf->pending[SET_VENDOR],
		.device = (uint16_t)nf->pending[SET_DEVICE],
		.type = (uint8_t)h->type,
		.nports = (uint8_t)h->nports,
		.enhanced_port0 = h->type == TOPO_SWITCH && h->enhanced_port0,
		.sharp = h->type == TOPO_CA && topo_named_sharp(text),
	};
	uint32_t name = netfile_name(nf, h->name);
	int handle;

	attr.sys_guid = h->sys_guid ?: nf->pending[SET_SYS_GUID] ?: attr.guid;
	if (nf->node_of_name[name] >= 0)
		return netfile_fail(
			nf, nf->line, "node \"%.*s\" is defined twice, first in line %" PRIu32,
			(int)h->name.len, h->name.p, nf->nodes[nf->node_of_name[name]].line);
	handle = topo_builder_find(nf->builder, attr.guid);
	if (handle >= 0)
		return netfile_fail(nf, nf->line,
				    "two nodes with GUID 0x%016" PRIx64
				    ", the other one in line %" PRIu32,
				    attr.guid, nf->nodes[handle].line);
	handle = topo_builder_node(nf->builder, &attr);
	if (handle < 0)
		return netfile_fail(nf, nf->line, "no such node can be: %s", strerror(-handle));
	nf->nodes = mem_grow(nf->nodes, nf->nnodes);
	nf->node_of_name[name] = handle;
	nf->nodes[nf->nnodes++] =
		(struct net_node){ nf->line, name, nf->nattrs, attr.guid, attr.type, attr.nports };
	return true;
}

static bool parse_header(struct netfile *nf, struct lex l, struct net_header *h)
{
	lex_skip_blanks(&l);
	if (!lex_take_number(&l, &h->nports))
		return netfile_fail(nf, nf->line, "a node wants its number of ports");
	if (h->nports < 1 || h->nports > 254)
		return netfile_fail(nf, nf->line, "a node has 1 to 254 ports, not %" PRIu64,
				    h->nports);
	lex_skip_blanks(&l);
	if (!lex_take_quoted(&l, &h->name) || !h->name.len)
		return netfile_fail(nf, nf->line, "a node wants a name in quotes");
	if (h->name.len > NAME_MAX_BYTES)
		return netfile_fail(nf, nf->line, "a node's name has at most %d bytes",
				    NAME_MAX_BYTES);
	h->desc = h->name;
	lex_skip_blanks(&l);
	if (lex_done(&l))
		return true;
	if (!lex_take_char(&l, '#')) {
		/* ibsim's Dump: `nodeguid 200000 sysimgguid 200000`. */
		if (!lex_take_word(&l, "nodeguid"))
			return netfile_fail_line(nf, l);
		lex_skip_blanks(&l);
		if (!lex_take_hex(&l, &h->guid))
			return netfile_fail_line(nf, l);
		lex_skip_blanks(&l);
		if (lex_take_word(&l, "sysimgguid")) {
			lex_skip_blanks(&l);
			lex_take_hex(&l, &h->sys_guid);
		}
		return true;
	}
	lex_skip_blanks(&l);
	parse_node_remark(l, h);
	return true;
}

bool netfile_node(struct netfile *nf, struct lex l, bool *done)
{
	struct net_header h = { 0 };
	struct topo_port_attr *attrs;

	*done = take_node_type(&l, &h.type);
	if (!*done)
		return true;
	if (!parse_header(nf, l, &h) || !add_node(nf, &h))
		return false;
	if (nf->nattrs + h.nports + 1 > nf->attrs_room) {
		nf->attrs_room = (nf->attrs_room + 256) * 2;
		nf->attrs = mem_resize(nf->attrs, nf->attrs_room, sizeof(*nf->attrs));
	}
	attrs = nf->attrs + nf->nattrs;
	memset(attrs, 0, (h.nports + 1) * sizeof(*attrs));
	if (h.type == TOPO_SWITCH) {
		attrs[0].lid = h.lid <= LID_MAX ? (uint16_t)h.lid : 0;
		attrs[0].lmc = h.lmc & 7;
	}
	nf->nattrs += (uint32_t)h.nports + 1;
	memset(nf->pending, 0, sizeof(nf->pending));
	return true;
}
