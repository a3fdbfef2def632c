/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Devices and ports, as libibumad tells of them. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "tests/sim/umad_own.h"

#define STATE_ACTIVE  4
#define PHYS_DISABLED 3
#define PHYS_LINK_UP  5
#define NODE_SWITCH   2
#define DEFAULT_CA    "mthca0" /* what the real library says where there is none */

int umad_init(void)
{
	int fd = sim_connect();

	if (fd < 0) {
		sim_warn("no fmsim at FMSIM=%s: %s", getenv("FMSIM") ? getenv("FMSIM") : "",
			 strerror(-fd));
		return -1;
	}
	close(fd);
	return 0;
}

int umad_done(void)
{
	return 0;
}

int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	struct frame_request request;
	struct frame_reply reply;
	int n = 0;

	sim_request(&request, FRAME_DEVICES_ARE, NULL, 0);
	if (sim_ask_once(&request, &reply) == -ENOENT)
		sim_warn("no node `%s' in the fabric", request.node);
	else
		for (; n < max && n < (int)reply.count; n++)
			memcpy(cas[n], reply.names[n], UMAD_CA_NAME_LEN);
	return n;
}

/* ---- Ports ----------------------------------------------------------------------------------- */

static int port_read(const char *ca_name, int num, umad_port_t *port)
{
	struct frame_request request;
	struct frame_reply reply;
	const struct frame_port *from = &reply.port;
	int status;

	sim_request(&request, FRAME_PORT, ca_name, num);
	status = sim_ask_once(&request, &reply);
	if (status < 0)
		return -EIO;
	snprintf(port->ca_name, sizeof(port->ca_name), "%s", ca_name);
	snprintf(port->link_layer, sizeof(port->link_layer), "InfiniBand");
	port->portnum = num;
	port->base_lid = from->base_lid;
	port->lmc = from->lmc;
	port->sm_lid = from->sm_lid;
	port->sm_sl = from->sm_sl;
	port->state = from->state;
	port->phys_state = from->phys_state;
	port->rate = from->rate;
	port->capmask = from->capmask;
	port->gid_prefix = from->gid_prefix;
	port->port_guid = from->port_guid;
	port->pkeys_size = from->npkeys;
	port->pkeys = calloc(from->npkeys + 1, sizeof(port->pkeys[0]));
	if (!port->pkeys)
		return -ENOMEM;
	memcpy(port->pkeys, from->pkeys, from->npkeys * sizeof(port->pkeys[0]));
	return 0;
}

unsigned fmsim_reregistered(const char *ca_name, int num)
{
	struct frame_request request;
	struct frame_reply reply;

	sim_request(&request, FRAME_PORT, ca_name, num);
	return sim_ask_once(&request, &reply) < 0 ? 0 : reply.port.reregistered;
}

int umad_release_port(umad_port_t *port)
{
	if (!port)
		return -ENODEV;
	free(port->pkeys);
	port->pkeys = NULL;
	port->pkeys_size = 0;
	return 0;
}

int umad_release_ca(umad_ca_t *ca)
{
	if (!ca)
		return -ENODEV;
	for (int i = 0; i <= ca->numports && i < UMAD_CA_MAX_PORTS; i++) {
		if (!ca->ports[i])
			continue;
		umad_release_port(ca->ports[i]);
		free(ca->ports[i]);
		ca->ports[i] = NULL;
	}
	return 0;
}

static int ca_port_add(umad_ca_t *ca, int num)
{
	umad_port_t *port = calloc(1, sizeof(*port));
	int status = port ? port_read(ca->ca_name, num, port) : -ENOMEM;

	if (status) {
		free(port);
		return status;
	}
	ca->ports[num] = port;
	return 0;
}

static int ca_read(const char *ca_name, umad_ca_t *ca)
{
	struct frame_request request;
	struct frame_reply reply;
	int status, first;

	memset(ca, 0, sizeof(*ca));
	snprintf(ca->ca_name, sizeof(ca->ca_name), "%s", ca_name);
	sim_request(&request, FRAME_CA, ca_name, 0);
	status = sim_ask_once(&request, &reply);
	if (status < 0)
		return -ENOENT;
	ca->node_type = reply.ca.node_type;
	ca->numports = (int)reply.ca.nports;
	if (ca->numports >= UMAD_CA_MAX_PORTS)
		ca->numports = UMAD_CA_MAX_PORTS - 1;
	ca->node_guid = reply.ca.node_guid;
	ca->system_guid = reply.ca.system_guid;
	memcpy(ca->fw_ver, reply.ca.fw_ver, sizeof(ca->fw_ver));
	memcpy(ca->ca_type, reply.ca.ca_type, sizeof(ca->ca_type));
	memcpy(ca->hw_ver, reply.ca.hw_ver, sizeof(ca->hw_ver));
	first = ca->node_type == NODE_SWITCH ? 0 : 1;
	for (int num = first; num <= ca->numports && !status; num++)
		status = ca_port_add(ca, num);
	if (status < 0)
		umad_release_ca(ca);
	return status < 0 ? status : 0;
}

/* ---- Which port ------------------------------------------------------------------------------ */

enum rank { RANK_NONE, RANK_ENABLED, RANK_LINK_UP, RANK_ACTIVE };

static enum rank port_rank(const umad_port_t *port)
{
	if (port->state == STATE_ACTIVE)
		return RANK_ACTIVE;
	if (port->phys_state == PHYS_LINK_UP)
		return RANK_LINK_UP;
	return port->phys_state == PHYS_DISABLED ? RANK_NONE : RANK_ENABLED;
}

/* The named port of a device, or (0) its best. */
static enum rank ca_rank(const char *ca_name, int *num)
{
	enum rank best = RANK_NONE;
	umad_ca_t ca;
	int wanted = *num;

	if (ca_read(ca_name, &ca))
		return RANK_NONE;
	if (ca.node_type == NODE_SWITCH)
		best = RANK_ACTIVE;
	for (int i = 1; i <= ca.numports && ca.node_type != NODE_SWITCH; i++) {
		enum rank rank = ca.ports[i] && (!wanted || wanted == i) ? port_rank(ca.ports[i])
									 : RANK_NONE;

		if (rank > best) {
			best = rank;
			*num = i;
		}
	}
	if (ca.node_type == NODE_SWITCH)
		*num = 0;
	umad_release_ca(&ca);
	return best;
}

static int best_of_all(int *port, char name[UMAD_CA_NAME_LEN])
{
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	int n = umad_get_cas_names(names, UMAD_MAX_DEVICES), wanted = *port;
	enum rank best = RANK_NONE;

	snprintf(name, UMAD_CA_NAME_LEN, DEFAULT_CA);
	*port = wanted ? wanted : 1;
	for (int i = 0; i < n && best != RANK_ACTIVE; i++) {
		int num = wanted;
		enum rank rank = ca_rank(names[i], &num);

		if (rank <= best || (best != RANK_NONE && rank != RANK_ACTIVE))
			continue;
		best = rank;
		*port = num;
		memcpy(name, names[i], UMAD_CA_NAME_LEN);
	}
	return 0;
}

int view_resolve(const char *ca_name, int *port, char name[UMAD_CA_NAME_LEN])
{
	if (!ca_name)
		return best_of_all(port, name);
	snprintf(name, UMAD_CA_NAME_LEN, "%s", ca_name);
	if (*port)
		return 0;
	return ca_rank(ca_name, port) == RANK_NONE ? -1 : 0;
}

/* ---- libibumad's ----------------------------------------------------------------------------- */

static int name_only(const char *ca_name, char name[UMAD_CA_NAME_LEN])
{
	int port = 0;

	if (!ca_name)
		return best_of_all(&port, name);
	snprintf(name, UMAD_CA_NAME_LEN, "%s", ca_name);
	return 0;
}

int umad_get_ca(const char *ca_name, umad_ca_t *ca)
{
	char name[UMAD_CA_NAME_LEN];

	name_only(ca_name, name);
	return ca_read(name, ca);
}

int umad_get_port(const char *ca_name, int num, umad_port_t *port)
{
	char name[UMAD_CA_NAME_LEN];

	if (view_resolve(ca_name, &num, name) < 0)
		return -ENODEV;
	return port_read(name, num, port);
}

int umad_get_ca_portguids(const char *ca_name, __be64 *guids, int max)
{
	umad_ca_t ca;
	int n = 0;

	if (umad_get_ca(ca_name, &ca) < 0)
		return -1;
	if (guids && ca.numports + 1 > max)
		n = -ENOMEM;
	else if (guids)
		for (; n <= ca.numports; n++)
			guids[n] = ca.ports[n] ? ca.ports[n]->port_guid : 0;
	umad_release_ca(&ca);
	return n;
}

/* ---- Lists of devices ------------------------------------------------------------------------ */

struct umad_device_node *umad_get_ca_device_list(void)
{
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	struct umad_device_node *head = NULL, **end = &head;
	int n = umad_get_cas_names(names, UMAD_MAX_DEVICES);

	for (int i = 0; i < n; i++) {
		struct umad_device_node *node = calloc(1, sizeof(*node));

		if (!node || !(node->ca_name = strdup(names[i]))) {
			free(node);
			umad_free_ca_device_list(head);
			errno = ENOMEM;
			return NULL;
		}
		*end = node;
		end = &node->next;
	}
	errno = 0;
	return head;
}

void umad_free_ca_device_list(struct umad_device_node *head)
{
	while (head) {
		struct umad_device_node *next = head->next;

		free((char *)head->ca_name);
		free(head);
		head = next;
	}
}

/* Devices with a port that is Active come first; within that by name. */
static bool stands_before(const struct umad_device_node *a, const struct umad_device_node *b)
{
	int port_a = 0, port_b = 0;
	enum rank rank_a = ca_rank(a->ca_name, &port_a), rank_b = ca_rank(b->ca_name, &port_b);

	return rank_a != rank_b ? rank_a > rank_b : strverscmp(a->ca_name, b->ca_name) < 0;
}

int umad_sort_ca_device_list(struct umad_device_node **head, size_t size)
{
	struct umad_device_node *sorted = NULL;
	size_t n = 0;

	if (!head)
		return EINVAL;
	while (*head) {
		struct umad_device_node *node = *head, **at = &sorted;

		*head = node->next;
		while (*at && !stands_before(node, *at))
			at = &(*at)->next;
		node->next = *at;
		*at = node;
		n++;
	}
	*head = sorted;
	return size && n != size ? EINVAL : 0;
}
