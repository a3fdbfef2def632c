/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "topology/files/netfile.h"
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/files/netfile_own.h"
#include "topology/snapshot/topo_builder.h"

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

static void write_port(const struct topo *t, const struct topo_port *port, FILE *out)
{
	const struct topo_port *peer = topo_peer(t, port);
	const struct topo_node *node = &t->nodes[port->node], *other;

	if (!peer || !port->link_up)
		return;
	other = &t->nodes[peer->node];
	fprintf(out, "[%u]", port->num);
	if (node->type != TOPO_SWITCH)
		fprintf(out, "(%" PRIx64 ")", port->guid);
	fprintf(out, "\t\"%c-%016" PRIx64 "\"[%u]", type_letter(other), other->guid, peer->num);
	if (other->type != TOPO_SWITCH)
		fprintf(out, "(%" PRIx64 ")", peer->guid);
	fputs("\t\t# ", out);
	if (node->type != TOPO_SWITCH)
		fprintf(out, "lid %u lmc %u ", port->lid, port->lmc);
	fprintf(out, "\"%s\" lid %u", other->label,
		other->type == TOPO_SWITCH ? topo_port(t, peer->node, 0)->lid : peer->lid);
	if (port->speed && port->width)
		fprintf(out, " %ux%s", port->width, topo_speed_name(port->speed));
	fputc('\n', out);
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
		for (unsigned num = 1; num <= node->nports; num++)
			write_port(t, topo_port(t, n, num), out);
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

	for (size_t i = 0; i < sizeof(rates) / sizeof(rates[0]); i++)
		if (strcmp(word, rates[i].rate) == 0)
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
		p->speed = (uint8_t)topo_speed_parse(word);
		if (!p->speed)
			p->speed = (uint8_t)speed_of_rate(word);
		if (p->speed && width <= 12)
			p->width = (uint8_t)width;
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
		const char *open = memchr(l.p, '"', (size_t)(l.end - l.p));
		struct lex own = { l.p, open ? open : l.p };

		if (open)
			l.p = (const char *)memrchr(open, '"', (size_t)(l.end - open)) + 1;
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

static void set_attr(struct topo_port_attr *attr, const struct net_port *p)
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
		.node = (int)nf->nnodes - 1,
		.peer_name = netfile_name(nf, p->peer),
		.port = (uint8_t)p->port,
		.peer_port = p->peer_port <= UINT8_MAX ? (uint8_t)p->peer_port : UINT8_MAX,
		.peer_lid = p->peer_lid <= LID_MAX ? (uint16_t)p->peer_lid : 0,
		.peer_guid = p->peer_guid,
	};
}

static bool check_port(struct netfile *nf, uint64_t port)
{
	const struct net_node *node;

	if (!nf->nnodes)
		return netfile_fail(nf, nf->line, "a port before any node");
	node = &nf->nodes[nf->nnodes - 1];
	if (port < 1 || port > node->nports)
		return netfile_fail(nf, nf->line,
				    "port %" PRIu64
				    " is outside of node \"%.*s\", which has ports 1 to %u",
				    port, (int)nf->names.list[node->name].len,
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
	struct topo_port_attr *attrs;

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
	attrs = nf->attrs + nf->nodes[nf->nnodes - 1].port0;
	set_attr(&attrs[p.port], &p);
	if (p.port && p.peer.p)
		add_link(nf, &p);
	return true;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static bool parse_other_line(struct netfile *nf, struct lex l)
{
	static const char *const ibsim_only[] = { "include ", "include\t", "do ", "module", "@" };
	static const char *const headings[] = { "Chassis", "Non-Chassis", "Spine Nodes",
						"Line Nodes" };
	static bool (*const kinds[])(struct netfile *, struct lex, bool *) = { netfile_node,
									       netfile_assignment,
									       parse_dumped_port };
	bool done = false;

	for (size_t i = 0; i < sizeof(ibsim_only) / sizeof(ibsim_only[0]); i++) {
		struct lex try = l;

		if (lex_take_word(&try, ibsim_only[i]))
			return netfile_fail(nf, nf->line,
					    "'%s' is ibsim's own: a fabric is one file here",
					    ibsim_only[i]);
	}
	for (size_t i = 0; i < sizeof(headings) / sizeof(headings[0]); i++)
		if (lex_take_word(&l, headings[i]))
			return true;
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		bool ok = kinds[i](nf, l, &done);

		if (!ok || done)
			return ok;
	}
	return netfile_fail_line(nf, l);
}

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
	return parse_other_line(nf, l);
}

static bool parse_lines(struct netfile *nf, const char *text, size_t len)
{
	const char *end = text + len;

	for (const char *p = text, *eol; p < end; p = eol + 1) {
		nf->line++;
		eol = memchr(p, '\n', (size_t)(end - p));
		if (!eol)
			eol = end;
		if (memchr(p, '\0', (size_t)(eol - p)))
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

	*len = (int)name->len;
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
				    (int)peer_name->len, peer_name->text);
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
		struct topo_port_attr *own = &nf->attrs[nf->nodes[link->node].port0 + link->port];
		struct topo_port_attr *other = &nf->attrs[peer->port0 + link->peer_port];
		struct topo_port_attr *lid_holder =
			peer->type == TOPO_SWITCH ? &nf->attrs[peer->port0] : other;

		other->guid = other->guid ?: link->peer_guid;
		lid_holder->lid = lid_holder->lid ?: link->peer_lid;
		other->speed = other->speed ?: own->speed;
		other->width = other->width ?: own->width;
		own->state = other->state = TOPO_INIT;
	}
	return true;
}

struct said_guid { /* of a CA's port, as the file has it */
	guid_t guid;
	uint32_t node;
	unsigned num;
};

static int compare_said(const void *va, const void *vb)
{
	const struct said_guid *a = va, *b = vb;

	return sort_order(a->guid, b->guid) ?: sort_order(a->node, b->node) ?:
	       sort_order(a->num, b->num);
}

/* LIDs and paths go by port GUID: two ports with one GUID are no fabric. */
static bool guids_differ(struct netfile *nf)
{
	struct said_guid *said = mem_alloc_unset(nf->nattrs + 1u, sizeof(*said));
	uint32_t count = 0;
	bool differ = true;

	for (uint32_t n = 0; n < nf->nnodes; n++)
		for (unsigned num = 1;
		     nf->nodes[n].type != TOPO_SWITCH && num <= nf->nodes[n].nports; num++) {
			guid_t guid = nf->attrs[nf->nodes[n].port0 + num].guid;

			if (guid)
				said[count++] = (struct said_guid){ guid, n, num };
		}
	qsort(said, count, sizeof(*said), compare_said);
	for (uint32_t i = 1; i < count && differ; i++) {
		const struct said_guid *a = &said[i - 1], *b = &said[i];

		if (a->guid == b->guid)
			differ = netfile_fail(nf, nf->nodes[b->node].line,
					      "port %u has GUID 0x%016" PRIx64
					      ", which port %u of the node in line %" PRIu32
					      " has too",
					      b->num, b->guid, a->num, nf->nodes[a->node].line);
	}
	free(said);
	return differ;
}

/*
 * The states after power-on: a port with a link is in Init, any other is Down. Port 0 of a switch
 * is always Active.
 */
static void set_ports(struct netfile *nf)
{
	for (uint32_t n = 0; n < nf->nnodes; n++) {
		const struct net_node *node = &nf->nodes[n];

		for (unsigned num = node->type == TOPO_SWITCH ? 0 : 1; num <= node->nports; num++) {
			struct topo_port_attr *attr = &nf->attrs[node->port0 + num];

			if (num == 0) {
				attr->state = TOPO_ACTIVE;
			} else if (attr->state == TOPO_INIT) {
				attr->speed = attr->speed ? attr->speed : nf->speed;
				attr->width = attr->width ? attr->width : nf->width;
				attr->mtu = attr->speed >= TOPO_FDR10 ? 5 : 4;
			} else {
				attr->state = TOPO_DOWN;
			}
			if (!attr->guid)
				attr->guid = node->guid + num;
			(void)topo_builder_port(nf->builder, (int)n, num, attr);
		}
	}
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
		set_ports(&nf);
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
	struct topo *t = NULL;
	size_t len;
	char *text = mem_read_path(path, &len);

	if (text)
		t = netfile_parse(path, text, len, err, err_size);
	else
		snprintf(err, err_size, "%s: %s", path, strerror(errno));
	free(text);
	return t;
}
