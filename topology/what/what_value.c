/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* what_value: what a WHAT has come to: how it is made, what it is of, how it is called. */
#include "topology/what/what_own.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

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

void what_append(char *err, size_t size, const char *format, ...)
{
	size_t used = strlen(err);
	va_list list;

	va_start(list, format);
	vsnprintf(err + used, size - used, format, list);
	va_end(list);
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
