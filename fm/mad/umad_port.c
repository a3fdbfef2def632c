/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The port choice. All InfiniBand ports of all devices are looked at, those the operator did not
 * mean are passed over, and the best of the rest is kept: before a subnet manager has come nothing
 * is Active, so a port whose link is up will do, and any port at last (its cable may come later).
 * What was seen on the way is kept as text, so that a refusal can name what there is.
 */
#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <infiniband/umad.h>
#include "fm/mad/umad_port.h"

#define STATE_ACTIVE 4
#define PHYS_LINK_UP 5
#define SEEN_MAX     512

enum rank { RANK_NONE, RANK_ANY, RANK_LINK_UP, RANK_ACTIVE, RANK_NAMED };

struct choice {
	guid_t guid; /* wanted; 0 = any */
	const char *device;
	unsigned port;
	enum rank best;
	struct io_port_info *info;
	unsigned met, ethernet;
	char devices[SEEN_MAX], ports[SEEN_MAX];
};

static void __attribute__((format(printf, 2, 3)))
seen_add(char seen[SEEN_MAX], const char *format, ...)
{
	size_t len = strlen(seen);
	va_list args;

	if (len && len < SEEN_MAX - 2) {
		memcpy(seen + len, ", ", 3);
		len += 2;
	}
	va_start(args, format);
	vsnprintf(seen + len, SEEN_MAX - len, format, args);
	va_end(args);
}

static enum rank port_rank(const struct choice *choice, const umad_port_t *port)
{
	guid_t guid = be64toh(port->port_guid);

	if (choice->guid)
		return guid == choice->guid ? RANK_NAMED : RANK_NONE;
	if (choice->port)
		return (unsigned)port->portnum == choice->port ? RANK_NAMED : RANK_NONE;
	if (port->state == STATE_ACTIVE)
		return RANK_ACTIVE;
	return port->phys_state == PHYS_LINK_UP ? RANK_LINK_UP : RANK_ANY;
}

static void port_consider(struct choice *choice, const umad_ca_t *ca, const umad_port_t *port)
{
	enum rank rank;

	if (!strcmp(port->link_layer, "Ethernet")) {
		choice->ethernet++;
		return;
	}
	seen_add(choice->ports, "%s port %d 0x%016" PRIx64, ca->ca_name, port->portnum,
		 (uint64_t)be64toh(port->port_guid));
	rank = port_rank(choice, port);
	if (rank <= choice->best)
		return;
	choice->best = rank;
	*choice->info = (struct io_port_info){
		.port = (unsigned)port->portnum,
		.port_guid = be64toh(port->port_guid),
		.node_guid = be64toh(ca->node_guid),
		.gid_prefix = be64toh(port->gid_prefix),
		.lid = (uint16_t)port->base_lid,
		.sm_lid = (uint16_t)port->sm_lid,
	};
	snprintf(choice->info->device, sizeof(choice->info->device), "%s", ca->ca_name);
}

static void device_consider(struct choice *choice, const char *name)
{
	umad_ca_t ca;

	/* libibumad names a default device when there is none. */
	if (umad_get_ca(name, &ca) < 0)
		return;
	seen_add(choice->devices, "%s", name);
	if (!choice->guid && choice->device && strcmp(choice->device, name))
		goto out;
	choice->met++;
	for (int i = 0; i < UMAD_CA_MAX_PORTS; i++)
		if (ca.ports[i])
			port_consider(choice, &ca, ca.ports[i]);
out:
	umad_release_ca(&ca);
}

static int choice_explain(const struct choice *choice, char *err, size_t err_size)
{
	if (!choice->devices[0])
		snprintf(err, err_size, "no InfiniBand device in this machine (none in %s)",
			 SYS_INFINIBAND);
	else if (choice->guid)
		snprintf(err, err_size, "port GUID 0x%016" PRIx64 ": not found; there are: %s",
			 choice->guid, choice->ports);
	else if (choice->device && !choice->met)
		snprintf(err, err_size, "device %s: not found; there are: %s", choice->device,
			 choice->devices);
	else if (choice->ethernet && !choice->ports[0])
		snprintf(err, err_size, "%s: no InfiniBand port, only Ethernet",
			 choice->device ? choice->device : choice->devices);
	else if (choice->port)
		snprintf(err, err_size, "%s: no InfiniBand port %u; there are: %s",
			 choice->device ? choice->device : "all devices", choice->port,
			 choice->ports);
	else
		snprintf(err, err_size, "no InfiniBand port; devices: %s", choice->devices);
	return -1;
}

int umad_port_choose(guid_t guid, const char *device, unsigned port, struct io_port_info *info,
		     char *err, size_t err_size)
{
	struct choice choice = {
		.guid = guid,
		.device = device && device[0] ? device : NULL,
		.port = port,
		.info = info,
	};
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	int n;

	if (umad_init() < 0) {
		snprintf(err, err_size, "no umad driver (is the module ib_umad loaded?)");
		return -1;
	}
	n = umad_get_cas_names(names, UMAD_MAX_DEVICES);
	for (int i = 0; i < n; i++)
		device_consider(&choice, names[i]);
	return choice.best == RANK_NONE ? choice_explain(&choice, err, err_size) : 0;
}
