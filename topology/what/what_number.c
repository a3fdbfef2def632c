/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * what_number: results and texts about them; numbers as operators write them: LIDs, MLIDs, P_Keys,
 * GUIDs, GIDs.
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <arpa/inet.h>
#include "topology/base/mem.h"
#include "topology/base/text.h"
#include "topology/what/what_own.h"

/* ---- What a WHAT has come to: how it is made, what it is of, how it is called ---------------- */

struct what what_place(uint32_t node, unsigned port)
{
	return (struct what){
		.kind = port ? WHAT_PORT : WHAT_NODE, .node = node, .host = TOPO_NONE, .port = port
	};
}

struct what what_thing(enum what_kind kind, unsigned number)
{
	return (struct what){
		.kind = kind, .node = TOPO_NONE, .host = TOPO_NONE, .number = number
	};
}

int what_link_name(const struct topo *t, uint32_t at, char *buf, size_t size)
{
	const struct topo_port *port = &t->ports[at], *peer = topo_peer(t, port);

	return snprintf(buf, size, "%s p%u - %s p%u", t->nodes[port->node].name, port->num,
			t->nodes[peer->node].name, peer->num);
}

unsigned what_nodes(const struct topo *t, const struct what *what, const uint32_t **nodes)
{
	switch (what->kind) {
	case WHAT_NODE:
	case WHAT_PORT:
		*nodes = &what->node;
		return 1;
	case WHAT_HOST:
		*nodes = t->host_cas + t->hosts[what->host].first;
		return t->hosts[what->host].ncas;
	default:
		*nodes = NULL;
		return 0;
	}
}

int what_name(const struct topo *t, const struct what *what, char *buf, size_t size)
{
	char mgid[INET6_ADDRSTRLEN];

	switch (what->kind) {
	case WHAT_PORT:
		if (what->by == WHAT_BY_LINK)
			return what_link_name(t, t->nodes[what->node].port0 + what->port, buf,
					      size);
		return snprintf(buf, size, "%s p%u", t->nodes[what->node].name, what->port);
	case WHAT_HOST:
		return snprintf(buf, size, "%s", t->hosts[what->host].name);
	case WHAT_MLID:
		return snprintf(buf, size, "MLID 0x%x", what->number);
	case WHAT_MGID:
		inet_ntop(AF_INET6, what->mgid, mgid, sizeof(mgid));
		return snprintf(buf, size, "%s", mgid);
	case WHAT_PKEY:
		return snprintf(buf, size, "P_Key 0x%04x", what->number);
	default:
		return snprintf(buf, size, "%s", t->nodes[what->node].name);
	}
}

/* ---- Numbers --------------------------------------------------------------------------------- */

#define FIRST_MLID     0xc000u
#define PERMISSIVE_LID 0xffffu
#define LID_DIGITS     4
#define GUID_DIGITS    16

bool what_parse_number(const char *text, uint64_t *value, size_t *digits)
{
	bool hex = text[0] == '0' && (text[1] == 'x' || text[1] == 'X');
	const char *first = hex ? text + 2 : text;
	char *end;

	if (!(hex ? isxdigit((unsigned char)*first) : isdigit((unsigned char)*first)))
		return false;
	errno = 0;
	*value = strtoull(first, &end, hex ? 16 : 10);
	*digits = hex ? (end - first) : 0;
	return !*end && !errno;
}

/* ---- LIDs ------------------------------------------------------------------------------------ */

static uint32_t port_of_lid(const struct what_scope *scope, unsigned lid)
{
	const struct topo *t = scope->topo;

	if (scope->port_of_lid)
		return lid <= scope->top_lid ? scope->port_of_lid[lid] : TOPO_NONE;
	for (uint32_t p = 0; p < t->nports; p++)
		if (t->ports[p].lid && lid >= t->ports[p].lid &&
		    lid < t->ports[p].lid + (1u << t->ports[p].lmc))
			return p;
	return TOPO_NONE;
}

enum outcome what_find_lid(struct find *f, uint64_t lid, struct what *w)
{
	const struct topo *t = f->scope->topo;
	uint32_t port = lid && lid < FIRST_MLID ? port_of_lid(f->scope, lid) : TOPO_NONE;

	if (port == TOPO_NONE) {
		snprintf(f->err, f->size, "no node matches '%.100s': no port has LID %" PRIu64,
			 f->what, lid);
		return REFUSED;
	}
	*w = what_place(t->ports[port].node, t->ports[port].num);
	w->by = WHAT_BY_LID;
	w->number = lid;
	return FOUND;
}

/* ---- GUIDs ----------------------------------------------------------------------------------- */

static bool parse_guid(const char *text, guid_t *guid)
{
	char plain[GUID_DIGITS + 1];
	size_t digits;

	if (what_parse_number(text, guid, &digits) && digits)
		return true;
	if (text[0] && strchr("SHR", text[0]) && text[1] == '-') {
		text += 2;
	} else if (strlen(text) == GUID_DIGITS + 3 && text[4] == ':' && text[9] == ':' &&
		   text[14] == ':') {
		array_printf(plain, "%.4s%.4s%.4s%.4s", text, text + 5, text + 10, text + 15);
		text = plain;
	} else if (strlen(text) != GUID_DIGITS) {
		return false;
	}

	size_t len = strlen(text);

	if (!len || len > GUID_DIGITS || text[strspn(text, "0123456789abcdefABCDEF")])
		return false;
	*guid = strtoull(text, NULL, 16);
	return true;
}

static enum outcome take_guid(struct find *f, guid_t guid, struct what *w)
{
	const struct topo *t = f->scope->topo;
	uint32_t node = topo_find(t, guid);
	uint32_t port = node == TOPO_NONE ? topo_find_port(t, guid) : TOPO_NONE;

	if (node == TOPO_NONE && port == TOPO_NONE && f->scope->alias) {
		guid_t alias = f->scope->alias(f->scope->alias_arg, guid);

		port = alias ? topo_find_port(t, alias) : TOPO_NONE;
	}
	if (node == TOPO_NONE && port == TOPO_NONE) {
		/* The only node of that system image GUID. */
		uint32_t count = 0;

		for (uint32_t n = 0; guid && n < t->nnodes; n++)
			if (t->nodes[n].sys_guid == guid) {
				node = n;
				count++;
			}
		node = count == 1 ? node : TOPO_NONE;
	}
	if (node == TOPO_NONE && port == TOPO_NONE)
		return NOTHING;
	*w = port == TOPO_NONE ? what_place(node, 0)
			       : what_place(t->ports[port].node, t->ports[port].num);
	w->by = WHAT_BY_GUID;
	w->guid = guid;
	return FOUND;
}

enum outcome what_find_guid(struct find *f, const char *text, struct what *w)
{
	guid_t guid;

	return parse_guid(text, &guid) ? take_guid(f, guid, w) : NOTHING;
}

enum outcome what_find_gid(struct find *f, const char *text, struct what *w)
{
	uint8_t gid[16];
	guid_t guid = 0;

	if (inet_pton(AF_INET6, text, gid) != 1)
		return NOTHING;
	if (gid[0] == 0xff) {
		*w = what_thing(WHAT_MGID, 0);
		memcpy(w->mgid, gid, sizeof(gid));
		return FOUND;
	}
	for (unsigned i = 8; i < sizeof(gid); i++)
		guid = guid << 8 | gid[i];
	return take_guid(f, guid, w);
}

/* ---- Bare numbers ---------------------------------------------------------------------------- */

/* A hexadecimal number that is no port's LID may be a GUID of few digits. */
enum outcome what_find_number(struct find *f, const char *text, struct what *w)
{
	uint64_t value;
	size_t digits;

	if (!what_parse_number(text, &value, &digits) || digits > LID_DIGITS || value > UINT16_MAX)
		return NOTHING;
	if (f->scope->number_is_pkey)
		*w = what_thing(WHAT_PKEY, value);
	else if (value >= FIRST_MLID && value < PERMISSIVE_LID)
		*w = what_thing(WHAT_MLID, value);
	else if (what_find_lid(f, value, w) != FOUND)
		return digits ? take_guid(f, value, w) : NOTHING;
	return FOUND;
}

/* ---- Numbers that cannot be ------------------------------------------------------------------ */

enum form { NUMBER_FORM, NAME_FORM, GUID_FORM, GID_FORM };

/* As far as the text alone shows, without a port's mark behind it. */
static bool may_be(const char *text, enum form form, uint64_t least, uint64_t most)
{
	bool hex = isxdigit((unsigned char)*text), digit = isdigit((unsigned char)*text);
	uint64_t value;
	size_t digits;

	if (form == GUID_FORM)
		return hex || (*text && strchr("SHR", *text) && text[1] == '-');
	if (form == GID_FORM)
		return (hex || *text == ':') && strchr(text, ':');
	return (form == NAME_FORM && *text && !digit) ||
	       (digit &&
		(!what_parse_number(text, &value, &digits) || (value >= least && value <= most)));
}

bool what_is_sound(const char *text, char *err, size_t err_size)
{
	static const struct {
		const char *tag;
		enum form form;
		uint64_t least, most;
		const char *expected;
	} tags[] = {
		{ "lid:", NUMBER_FORM, 1, FIRST_MLID - 1, "a LID from 1 to 0xbfff" },
		{ "mlid:", NUMBER_FORM, FIRST_MLID, PERMISSIVE_LID - 1,
		  "an MLID from 0xc000 to 0xfffe" },
		{ "guid:", GUID_FORM, 0, 0, "a GUID as 0x0002c90300000100" },
		{ "gid:", GID_FORM, 0, 0, "a GID as fe80::2:c903:0:100" },
		{ "mgid:", GID_FORM, 0, 0, "an MGID as ff12:401b:ffff::1" },
		{ "pkey:", NAME_FORM, 0, UINT16_MAX,
		  "a P_Key from 0 to 0xffff, or a partition's name" },
	};

	if (!text[strspn(text, " \t")])
		return text_wrong(err, err_size, "a name, NODE:PORT, a LID or a GUID is expected");
	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		size_t len = strlen(tags[i].tag);

		if (strncmp(text, tags[i].tag, len) ||
		    may_be(text + len, tags[i].form, tags[i].least, tags[i].most))
			continue;
		return text_wrong(err, err_size, "%.100s: %s is expected", text, tags[i].expected);
	}
	return true;
}
