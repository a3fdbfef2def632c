/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <inttypes.h>
#include "topology/base/mem.h"
#include "topology/base/names.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"
#include "topology/files/netfile.h"
#include "topology/snapshot/topo_builder.h"

/* ---- The reader's state ---------------------------------------------------------------------- */

#define NAME_MAX_BYTES 64
#define LID_MAX	       0xBFFF /* highest unicast LID, IBA 4.1.3 */

struct net_node {
	uint32_t line;
	uint32_t name;	/* id */
	uint32_t port0; /* in attrs */
	guid_t guid;
	uint8_t type, nports;
};

struct net_link { /* as one line has it */
	uint32_t line;
	int node;
	uint32_t peer_name; /* id */
	uint8_t port, peer_port;
	uint16_t peer_lid;
	guid_t peer_guid; /* 0 = not written */
};

enum assignment { /* the ..= lines; GUIDs in the order of enum topo_type */
		  SET_VENDOR,
		  SET_DEVICE,
		  SET_SYS_GUID,
		  SET_CA_GUID,
		  SET_SWITCH_GUID,
		  SET_ROUTER_GUID,
		  SET_WIDTH,
		  SET_SPEED,
		  SET_EXT_SPEED,
		  SET_DEBUG,
		  ASSIGNMENTS
};

struct netfile {
	const char *name;
	char *err;
	size_t err_size;
	uint32_t line;
	struct topo_builder *builder;
	struct names names;
	int *node_of_name; /* by name id: handle, -1 = not defined so far */
	uint32_t names_capacity;
	struct net_node *nodes; /* by handle */
	uint32_t nnodes;
	struct topo_port *attrs; /* by node.port0 + number */
	uint32_t nattrs, attrs_capacity;
	struct net_link *links;
	uint32_t nlinks;
	uint64_t pending[ASSIGNMENTS]; /* for the next node */
	uint8_t width, speed;	       /* of links that say nothing */
};

/* ---- Netfile node ---------------------------------------------------------------------------- */

/*
 * What the readers of ibnetdiscover's files share: messages with their place, and names by number.
 */

#define netfile_fail(nf, line, ...)                                                                \
	text_refuse((nf)->err, (nf)->err_size, (nf)->name, line, __VA_ARGS__)

/*
 * Reports the rest of the line as not understood; always false. Shows the line's beginning,
 * whatever bytes it has.
 */
static bool netfile_fail_line(struct netfile *nf, struct lex l)
{
	size_t len = l.end - l.p;
	char shown[49];
	size_t n = len < sizeof(shown) - 1 ? len : sizeof(shown) - 1;

	for (size_t i = 0; i < n; i++)
		shown[i] = l.p[i] < ' ' || l.p[i] == 0x7f ? '.' : l.p[i];
	shown[n] = '\0';
	return netfile_fail(nf, nf->line, "line not understood: '%s'%s", shown,
			    n < len ? ".." : "");
}

/* The id of a node's name in the file; it is added if it is new. */
static uint32_t netfile_name(struct netfile *nf, struct lex_text name)
{
	uint32_t id = names_id(&nf->names, name.p, name.len);

	if (id >= nf->names_capacity) {
		uint32_t capacity = nf->names.capacity > id ? nf->names.capacity : id + 1;

		nf->node_of_name = mem_array_resize(nf->node_of_name, capacity);
		for (uint32_t i = nf->names_capacity; i < capacity; i++)
			nf->node_of_name[i] = -1;
		nf->names_capacity = capacity;
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
	/* FNV-1a, 48 bits of it between a locally administered byte and one for port numbers. */
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

/* The best width (lanes) and speed (enum topo_speed) of ibsim's masks, IBA 14.2.5.6; 0 = none. */
static uint8_t netfile_best_width(uint64_t mask)
{
	return mask & 8 ? 12 : mask & 4 ? 8 : mask & 2 ? 4 : mask & 16 ? 2 : 1;
}

static uint8_t netfile_best_speed(uint64_t mask)
{
	return mask & 4 ? TOPO_QDR : mask & 2 ? TOPO_DDR : TOPO_SDR;
}

static uint8_t netfile_best_ext_speed(uint64_t mask)
{
	return mask & 8 ? TOPO_NDR : mask & 4 ? TOPO_HDR : mask & 2 ? TOPO_EDR : TOPO_FDR;
}

/*
 * Read a line of their kind. False after an error, which is reported; *done: the line was of that
 * kind.
 */
static bool netfile_assignment(struct netfile *nf, struct lex l, bool *done)
{
	const char *text = l.p;
	uint64_t value;
	size_t i;

	for (i = 0; i < ARRAY_SIZE(assignments); i++) {
		l.p = text;
		if (lex_take_word(&l, assignments[i].word) &&
		    (lex_skip_blanks(&l), lex_take_char(&l, '=')))
			break;
	}
	*done = i < ARRAY_SIZE(assignments);
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

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
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
	const char *close = memrchr(l.p, '"', l.end - l.p);

	if (lex_is(&l, '"') && close > l.p) {
		h->desc = (struct lex_text){ l.p + 1, close - l.p - 1 };
		l.p = close + 1;
	} else {
		const char *end = l.end;

		for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
			const char *at = memmem(l.p, end - l.p, ends[i], strlen(ends[i]));

			end = at ? at : end;
		}
		h->desc = (struct lex_text){ l.p, end - l.p };
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
	struct topo_node attr = {
		.guid = h->guid ? h->guid : choose_guid(nf, h->type, h->name),
		.desc = memcpy(text, h->desc.p, len),
		.vendor = nf->pending[SET_VENDOR],
		.device = nf->pending[SET_DEVICE],
		.type = h->type,
		.nports = h->nports,
		.enhanced_port0 = h->type == TOPO_SWITCH && h->enhanced_port0,
		.sharp = h->type == TOPO_CA && topo_named_sharp(text),
	};
	uint32_t name = netfile_name(nf, h->name);

	attr.sys_guid = h->sys_guid ?: nf->pending[SET_SYS_GUID] ?: attr.guid;
	if (nf->node_of_name[name] >= 0)
		return netfile_fail(
			nf, nf->line, "node \"%.*s\" is defined twice, first in line %" PRIu32,
			(int)h->name.len, h->name.p, nf->nodes[nf->node_of_name[name]].line);

	int handle = topo_builder_find(nf->builder, attr.guid);

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

static bool netfile_node(struct netfile *nf, struct lex l, bool *done)
{
	struct net_header h = { 0 };

	*done = take_node_type(&l, &h.type);
	if (!*done)
		return true;
	if (!parse_header(nf, l, &h) || !add_node(nf, &h))
		return false;
	if (nf->nattrs + h.nports + 1 > nf->attrs_capacity) {
		nf->attrs_capacity = (nf->attrs_capacity + 256) * 2;
		nf->attrs = mem_array_resize(nf->attrs, nf->attrs_capacity);
	}

	struct topo_port *attrs = nf->attrs + nf->nattrs;

	mem_zero(attrs, h.nports + 1);
	if (h.type == TOPO_SWITCH) {
		attrs[0].lid = h.lid <= LID_MAX ? (uint16_t)h.lid : 0;
		attrs[0].lmc = h.lmc & 7;
	}
	nf->nattrs += (uint32_t)h.nports + 1;
	mem_zero(&nf->pending, 1);
	return true;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/*
 * A snapshot as ibnetdiscover(8) would print it, so that ibsim and every tool that
 * reads that loads it.
 *
 * Nodes are named by type and GUID, in snapshot order, switches first. A link that is down is left
 * out at both ends: ibnetdiscover would not have seen it. The rate behind a link is left out where
 * it is not known. Lines stay below the 255 bytes that ibsim reads, as descriptions have at
 * most 64.
 */

static char type_letter(const struct topo_node *node)
{
	return node->type == TOPO_SWITCH ? 'S' : node->type == TOPO_ROUTER ? 'R' : 'H';
}

int netfile_write(const struct topo *t, FILE *out)
{
	fprintf(out,
		"# Topology file: %" PRIu32 " switches, %" PRIu32 " channel adapters, %" PRIu32
		" links\n",
		t->nswitches, t->ncas, topo_links(t) - topo_links_down(t));
	for (uint32_t n = 0; n < t->nnodes; n++) {
		static const char *const words[] = { "", "ca", "switch", "rt" };
		static const char *const kinds[] = { "", "Ca", "Switch", "Rt" };
		const struct topo_node *node = &t->nodes[n];
		const struct topo_port *port0 = topo_port(t, n, 0);

		fprintf(out, "\nvendid=0x%x\ndevid=0x%x\n", node->vendor, node->device);
		if (node->sys_guid)
			fprintf(out, "sysimgguid=0x%" PRIx64 "\n", node->sys_guid);
		fprintf(out, "%sguid=0x%" PRIx64, words[node->type], node->guid);
		if (node->type == TOPO_SWITCH)
			fprintf(out, "(%" PRIx64 ")", node->guid);
		fprintf(out, "\n%s\t%u \"%c-%016" PRIx64 "\"\t\t# \"%s\"", kinds[node->type],
			node->nports, type_letter(node), node->guid, node->label);
		if (node->type == TOPO_SWITCH)
			fprintf(out, " %s port 0 lid %u lmc %u",
				node->enhanced_port0 ? "enhanced" : "base", port0->lid, port0->lmc);
		fputc('\n', out);
		TOPO_LINKS (t, n, port, peer) {
			const struct topo_node *other = &t->nodes[peer->node];

			if (!port->link_up)
				continue;
			fprintf(out, "[%u]", port->num);
			if (node->type != TOPO_SWITCH)
				fprintf(out, "(%" PRIx64 ")", port->guid);
			fprintf(out, "\t\"%c-%016" PRIx64 "\"[%u]", type_letter(other), other->guid,
				peer->num);
			if (other->type != TOPO_SWITCH)
				fprintf(out, "(%" PRIx64 ")", peer->guid);
			fputs("\t\t# ", out);
			if (node->type != TOPO_SWITCH)
				fprintf(out, "lid %u lmc %u ", port->lid, port->lmc);
			fprintf(out, "\"%s\" lid %u", other->label,
				other->type == TOPO_SWITCH ? topo_port(t, peer->node, 0)->lid
							   : peer->lid);
			if (port->speed && port->width)
				fprintf(out, " %ux%s", port->width, topo_speed_name(port->speed));
			fputc('\n', out);
		}
	}
	return mem_flush(out);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/*
 * Reading ibnetdiscover(8)'s format, in all the forms that are met.
 *
 *   ibnetdiscover   vendid= devid= sysimgguid= switchguid=G(G) | caguid=G | rtguid=G
 *                   Switch 36 "S-0002c9.."   # "description" enhanced port 0 lid 3 lmc 0
 *                   [1](G)  "S-0002c9.."[7](G)   # lid 4 lmc 0 "peer's description" lid 3 4xHDR
 *                   with chassis headings, `[ext 5]` and chassis remarks (--grouping)
 *   hand-made       Hca 2 "any name", `[1] "Switch1"[3] w=2 s=4`, width=, speed=; no GUIDs and no
 *                   remarks
 *   ibsim's Dump    Switch 8 "S1" nodeguid 200000 sysimgguid 200000
 *                   200001  [1]  "H1"[1]  lid 4 lmc 0 smlid 1 4x 2.5G Init/LinkUp
 *
 * One pass over the lines fills the builder with nodes and an array with links, because a link may
 * name a node that comes later. Names are interned, so that a link holds two small numbers. Then
 * the links are joined in file order, and each port gets what its own line, else the line at the
 * other end, says of it. Anything wrong ends the reading with `name:line: reason`, and the builder
 * is thrown away whole: there is never part of a fabric.
 */

#define LINE_MAX_BYTES 1024

/* ---- Port lines ------------------------------------------------------------------------------ */

struct net_port { /* what a port line says */
	uint64_t port, peer_port;
	guid_t guid, peer_guid;
	uint64_t lid, lmc, peer_lid;
	struct lex_text peer;
	uint8_t width, speed;
};

static bool take_bracketed(struct lex *l, uint64_t *value)
{
	struct lex try = *l;

	if (!lex_take_char(&try, '[') || !lex_take_number(&try, value) || !lex_take_char(&try, ']'))
		return false;
	*l = try;
	return true;
}

/* `[ext 5]` (chassis numbering), `(guid)` and blanks, in any order. */
static void take_port_suffixes(struct lex *l, guid_t *guid)
{
	for (;;) {
		struct lex try = *l;
		uint64_t value;

		lex_skip_blanks(&try);
		if (lex_take_word(&try, "[ext ") && lex_take_number(&try, &value) &&
		    lex_take_char(&try, ']'))
			;
		else if (lex_take_char(&try, '(') && lex_take_hex(&try, &value) &&
			 lex_take_char(&try, ')'))
			*guid = value;
		else
			break;
		*l = try;
	}
	lex_skip_blanks(l);
}

/* Lane rates as ibsim's Dump writes them. */
static enum topo_speed speed_of_rate(const char *word)
{
	static const struct {
		const char *rate;
		enum topo_speed speed;
	} rates[] = {
		{ "2.5G", TOPO_SDR }, { "5.0G", TOPO_DDR }, { "10.0G", TOPO_QDR },
		{ "14G", TOPO_FDR },  { "25G", TOPO_EDR },  { "50G", TOPO_HDR },
		{ "100G", TOPO_NDR }, { "200G", TOPO_XDR },
	};

	for (size_t i = 0; i < ARRAY_SIZE(rates); i++)
		if (!strcmp(word, rates[i].rate))
			return rates[i].speed;
	return TOPO_SPEED_NONE;
}

/* "4xHDR", and "4x HDR" in ibsim's Dump; names and lane rates of speeds. */
static void find_rate(struct lex l, struct net_port *p)
{
	for (; !lex_done(&l); l.p++) {
		struct lex try = l;
		char word[8] = { 0 };
		uint64_t width;
		size_t n = 0;

		if (!lex_take_number(&try, &width) || !lex_take_char(&try, 'x'))
			continue;
		lex_skip_blanks(&try);
		for (; n < sizeof(word) - 1 && !lex_done(&try) && *try.p > ' '; try.p++)
			word[n++] = *try.p;
		p->speed = topo_speed_parse(word);
		if (!p->speed)
			p->speed = speed_of_rate(word);
		if (p->speed && width <= 12)
			p->width = width;
		return;
	}
}

static bool parse_port_peer(struct netfile *nf, struct lex l, struct net_port *p)
{
	if (!lex_take_quoted(&l, &p->peer))
		return netfile_fail(nf, nf->line, "port %" PRIu64 " wants a peer in quotes",
				    p->port);
	lex_skip_blanks(&l);
	p->peer_port = 1; /* ibsim's default */
	if (lex_is(&l, '[') && !take_bracketed(&l, &p->peer_port))
		return netfile_fail_line(nf, l);
	take_port_suffixes(&l, &p->peer_guid);
	if (lex_take_char(&l, '#')) {
		/*
		 * `lid 4 lmc 0 "peer" lid 3 4xHDR`; a switch's own ports have no LID. The peer's
		 * description may hold quotes.
		 */
		const char *open = memchr(l.p, '"', l.end - l.p);
		struct lex own = { l.p, open ? open : l.p };

		if (open)
			l.p = (const char *)memrchr(open, '"', l.end - open) + 1;
		lex_find_number(&own, "lid ", &p->lid);
		lex_find_number(&own, "lmc ", &p->lmc);
		lex_find_number(&l, "lid ", &p->peer_lid);
		find_rate(l, p);
	} else {
		/* Hand-made `w=2 s=4 e=1`. */
		uint64_t mask;

		if (lex_find_number(&l, "w=", &mask))
			p->width = netfile_best_width(mask);
		if (lex_find_number(&l, "s=", &mask))
			p->speed = netfile_best_speed(mask ? mask : 4);
		if (lex_find_number(&l, "e=", &mask) && mask)
			p->speed = netfile_best_ext_speed(mask);
	}
	return true;
}

static void set_attr(struct topo_port *attr, const struct net_port *p)
{
	attr->guid = p->guid;
	attr->lid = p->lid <= LID_MAX ? (uint16_t)p->lid : 0;
	attr->lmc = p->lmc & 7;
	attr->width = p->width;
	attr->speed = p->speed;
}

static void add_link(struct netfile *nf, const struct net_port *p)
{
	nf->links = mem_grow(nf->links, nf->nlinks);
	nf->links[nf->nlinks++] = (struct net_link){
		.line = nf->line,
		.node = nf->nnodes - 1,
		.peer_name = netfile_name(nf, p->peer),
		.port = p->port,
		.peer_port = p->peer_port <= UINT8_MAX ? (uint8_t)p->peer_port : UINT8_MAX,
		.peer_lid = p->peer_lid <= LID_MAX ? (uint16_t)p->peer_lid : 0,
		.peer_guid = p->peer_guid,
	};
}

static bool check_port(struct netfile *nf, uint64_t port)
{
	if (!nf->nnodes)
		return netfile_fail(nf, nf->line, "a port before any node");

	const struct net_node *node = &nf->nodes[nf->nnodes - 1];

	if (port < 1 || port > node->nports)
		return netfile_fail(nf, nf->line,
				    "port %" PRIu64
				    " is outside of node \"%.*s\", which has ports 1 to %u",
				    port, nf->names.list[node->name].len,
				    nf->names.list[node->name].text, node->nports);
	return true;
}

/*
 * ibsim's Dump: `200001 [1] "H1"[1] lid 4 lmc 0 smlid 1 4x SDR Init/LinkUp`; without a peer when it
 * is down.
 */
static bool parse_dumped_port(struct netfile *nf, struct lex l, bool *done)
{
	struct net_port p = { 0 };

	*done = lex_take_hex(&l, &p.guid) && (lex_is(&l, ' ') || lex_is(&l, '\t'));
	lex_skip_blanks(&l);
	*done = *done && take_bracketed(&l, &p.port);
	if (!*done)
		return true;
	if (p.port && !check_port(nf, p.port))
		return false;
	lex_skip_blanks(&l);
	if (lex_is(&l, '"') && !parse_port_peer(nf, l, &p))
		return false;
	lex_find_number(&l, " lid ", &p.lid);
	lex_find_number(&l, " lmc ", &p.lmc);
	find_rate(l, &p);
	if (!nf->nnodes)
		return netfile_fail(nf, nf->line, "a port before any node");

	struct topo_port *attrs = nf->attrs + nf->nodes[nf->nnodes - 1].port0;

	set_attr(&attrs[p.port], &p);
	if (p.port && p.peer.p)
		add_link(nf, &p);
	return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool parse_line(struct netfile *nf, struct lex l)
{
	if (l.end - l.p > LINE_MAX_BYTES)
		return netfile_fail(nf, nf->line, "a line of %td bytes, more than %d", l.end - l.p,
				    LINE_MAX_BYTES);
	while (l.end > l.p && strchr(" \t\r", l.end[-1]))
		l.end--;
	lex_skip_blanks(&l);
	if (lex_done(&l) || *l.p == '#')
		return true;
	if (*l.p == '[') {
		struct net_port p = { 0 };

		if (!take_bracketed(&l, &p.port))
			return netfile_fail_line(nf, l);
		if (!check_port(nf, p.port))
			return false;
		take_port_suffixes(&l, &p.guid);
		if (!parse_port_peer(nf, l, &p))
			return false;
		set_attr(&nf->attrs[nf->nodes[nf->nnodes - 1].port0 + p.port], &p);
		add_link(nf, &p);
		return true;
	}

	static const char *const ibsim_only[] = { "include ", "include\t", "do ", "module", "@" };
	static const char *const headings[] = { "Chassis", "Non-Chassis", "Spine Nodes",
						"Line Nodes" };
	static bool (*const kinds[])(struct netfile *, struct lex, bool *) = { netfile_node,
									       netfile_assignment,
									       parse_dumped_port };
	bool done = false;

	for (size_t i = 0; i < ARRAY_SIZE(ibsim_only); i++) {
		struct lex try = l;

		if (lex_take_word(&try, ibsim_only[i]))
			return netfile_fail(nf, nf->line,
					    "'%s' is ibsim's own: a fabric is one file here",
					    ibsim_only[i]);
	}
	for (size_t i = 0; i < ARRAY_SIZE(headings); i++)
		if (lex_take_word(&l, headings[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		bool ok = kinds[i](nf, l, &done);

		if (!ok || done)
			return ok;
	}
	return netfile_fail_line(nf, l);
}

static bool parse_lines(struct netfile *nf, const char *text, size_t len)
{
	const char *end = text + len;

	for (const char *p = text, *eol; p < end; p = eol + 1) {
		nf->line++;
		eol = memchr(p, '\n', end - p);
		if (!eol)
			eol = end;
		if (memchr(p, '\0', eol - p))
			return netfile_fail(nf, nf->line, "not text: a zero byte");
		if (!parse_line(nf, (struct lex){ p, eol }))
			return false;
	}
	if (!nf->nnodes)
		return netfile_fail(nf, nf->line ? nf->line : 1,
				    len ? "not a topology: no node in it"
					: "not a topology: empty");
	return true;
}

/* ---- Links ----------------------------------------------------------------------------------- */

static const char *node_name(const struct netfile *nf, int node, int *len)
{
	const struct name *name = &nf->names.list[nf->nodes[node].name];

	*len = name->len;
	return name->text;
}

/* Names the earlier line that holds one of the two ports. */
static bool fail_taken(struct netfile *nf, const struct net_link *link, int peer)
{
	int len;
	const char *name = node_name(nf, link->node, &len);

	if (peer == link->node && link->port == link->peer_port)
		return netfile_fail(nf, link->line, "port %u of \"%.*s\" is linked to itself",
				    link->port, len, name);
	for (unsigned end = 0; end < 2; end++) {
		int node = end ? peer : link->node;
		unsigned port = end ? link->peer_port : link->port;

		name = node_name(nf, node, &len);
		for (const struct net_link *l = nf->links; l < link; l++)
			if ((l->node == node && l->port == port) ||
			    (nf->node_of_name[l->peer_name] == node && l->peer_port == port))
				return netfile_fail(
					nf, link->line,
					"port %u of \"%.*s\" is in two links, the other "
					"in line %" PRIu32,
					port, len, name, l->line);
	}
	return netfile_fail(nf, link->line, "a port in two links");
}

static bool join_link(struct netfile *nf, const struct net_link *link)
{
	const struct name *peer_name = &nf->names.list[link->peer_name];
	int peer = nf->node_of_name[link->peer_name], len;

	if (peer < 0)
		return netfile_fail(nf, link->line, "a link to \"%.*s\", which is defined nowhere",
				    peer_name->len, peer_name->text);
	switch (topo_builder_link(nf->builder, link->node, link->port, peer, link->peer_port,
				  true)) {
	case 0:
		return true;
	case -ERANGE: {
		const char *name = node_name(nf, peer, &len);

		return netfile_fail(nf, link->line,
				    "a link to port %u of \"%.*s\", which has ports 1 to %u",
				    link->peer_port, len, name, nf->nodes[peer].nports);
	}
	default:
		return fail_taken(nf, link, peer);
	}
}

static bool join_links(struct netfile *nf)
{
	for (uint32_t i = 0; i < nf->nlinks; i++)
		if (!join_link(nf, &nf->links[i]))
			return false;
	for (uint32_t i = 0; i < nf->nlinks; i++) {
		const struct net_link *link = &nf->links[i];

		/*
		 * What this line says of the other end counts where that end's own line says
		 * nothing, or is missing.
		 */
		const struct net_node *peer = &nf->nodes[nf->node_of_name[link->peer_name]];
		struct topo_port *own = &nf->attrs[nf->nodes[link->node].port0 + link->port];
		struct topo_port *other = &nf->attrs[peer->port0 + link->peer_port];
		struct topo_port *lid_holder =
			peer->type == TOPO_SWITCH ? &nf->attrs[peer->port0] : other;

		other->guid = other->guid ?: link->peer_guid;
		lid_holder->lid = lid_holder->lid ?: link->peer_lid;
		other->speed = other->speed ?: own->speed;
		other->width = other->width ?: own->width;
		own->state = other->state = TOPO_INIT;
	}
	return true;
}

struct port_guid { /* of a CA's port, as the file has it */
	guid_t guid;
	uint32_t node;
	unsigned num;
};

SORT_BY(compare_guids, struct port_guid,
	sort_order(a->guid, b->guid) ?: sort_order(a->node, b->node) ?:
	sort_order(a->num, b->num))

/* LIDs and paths go by port GUID: two ports with one GUID are no fabric. */
static bool guids_differ(struct netfile *nf)
{
	struct port_guid *guids = mem_array_unset(guids, nf->nattrs + 1u);
	uint32_t count = 0;
	bool differ = true;

	for (uint32_t n = 0; n < nf->nnodes; n++)
		for (unsigned num = 1;
		     nf->nodes[n].type != TOPO_SWITCH && num <= nf->nodes[n].nports; num++) {
			guid_t guid = nf->attrs[nf->nodes[n].port0 + num].guid;

			if (guid)
				guids[count++] = (struct port_guid){ guid, n, num };
		}
	qsort(guids, count, sizeof(*guids), compare_guids);
	for (uint32_t i = 1; i < count && differ; i++) {
		const struct port_guid *a = &guids[i - 1], *b = &guids[i];

		if (a->guid == b->guid)
			differ = netfile_fail(nf, nf->nodes[b->node].line,
					      "port %u has GUID 0x%016" PRIx64
					      ", which port %u of the node in line %" PRIu32
					      " has too",
					      b->num, b->guid, a->num, nf->nodes[a->node].line);
	}
	free(guids);
	return differ;
}

/* ---- The whole ------------------------------------------------------------------------------- */

struct topo *netfile_parse(const char *name, const char *text, size_t len, char *err,
			   size_t err_size)
{
	struct netfile nf = {
		.name = name,
		.err = err,
		.err_size = err_size,
		.builder = topo_builder_new(),
		.width = 4,
		.speed = TOPO_SDR,
	};
	struct topo *t = NULL;

	if (err_size)
		err[0] = '\0';
	if (len >= 3 && !memcmp(text, "\xef\xbb\xbf", 3)) { /* editors mark UTF-8 so */
		text += 3;
		len -= 3;
	}
	if (parse_lines(&nf, text, len) && join_links(&nf) && guids_differ(&nf)) {
		/*
		 * The states after power-on: a port with a link is in Init, any other is Down. Port
		 * 0 of a switch is always Active.
		 */
		for (uint32_t n = 0; n < nf.nnodes; n++) {
			const struct net_node *node = &nf.nodes[n];

			for (unsigned num = node->type == TOPO_SWITCH ? 0 : 1; num <= node->nports;
			     num++) {
				struct topo_port *attr = &nf.attrs[node->port0 + num];

				if (num == 0) {
					attr->state = TOPO_ACTIVE;
				} else if (attr->state == TOPO_INIT) {
					attr->speed = attr->speed ? attr->speed : nf.speed;
					attr->width = attr->width ? attr->width : nf.width;
					attr->mtu = attr->speed >= TOPO_FDR10 ? 5 : 4;
				} else {
					attr->state = TOPO_DOWN;
				}
				if (!attr->guid)
					attr->guid = node->guid + num;
				(void)topo_builder_port(nf.builder, n, num, attr);
			}
		}

		t = topo_freeze(nf.builder);
		nf.builder = NULL;
	}
	topo_builder_free(nf.builder);
	names_fini(&nf.names);
	free(nf.node_of_name);
	free(nf.nodes);
	free(nf.attrs);
	free(nf.links);
	return t;
}

struct topo *netfile_read(const char *path, char *err, size_t err_size)
{
	size_t len;
	char *text = mem_read_named(path, &len, err, err_size);
	struct topo *t = text ? netfile_parse(path, text, len, err, err_size) : NULL;

	free(text);
	return t;
}
