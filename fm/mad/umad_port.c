/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The port choice. All InfiniBand ports of all devices are looked at in the kernel's order, those
 * the operator did not mean are passed over, and the first that has a link is kept, or the first of
 * all (its link may come later). Whether it is Active does not matter: that only means that some
 * manager manages that fabric. Ports that no subnet manager is to run on count only when they are
 * named. All ports met are kept as text, so that an error can name what there is.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <infiniband/umad.h>
#include "fm/mad/umad_port.h"
#include "topology/base/mem.h"

#define PHYS_LINK_UP	   5
#define CAP_IS_SM_DISABLED (1u << 10) /* IBA 14.2.5.6 */
#define SEEN_MAX	   512
#define VPD_MAX		   32768

enum rank { RANK_NONE, RANK_ANY, RANK_LINK_UP, RANK_NAMED };

struct choice {
	const struct umad_wish *wish;
	enum rank best;
	struct io_port_info *info;
	unsigned met, ethernet, barred;
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

bool umad_port_manages_nvswitches(const char *vpd_path)
{
	char *vpd = mem_alloc(1, VPD_MAX);
	FILE *in = fopen(vpd_path, "r");
	size_t len = in ? fread(vpd, 1, VPD_MAX, in) : 0;
	bool found = memmem(vpd, len, "SW_MNG", 6);

	if (in)
		fclose(in);
	free(vpd);
	return found;
}

static bool is_barred(const umad_port_t *port)
{
	char path[256];

	if (be32toh(port->capmask) & CAP_IS_SM_DISABLED)
		return true;
	snprintf(path, sizeof(path), SYS_INFINIBAND "/%s/device/vpd", port->ca_name);
	return umad_port_manages_nvswitches(path);
}

static enum rank port_rank(const struct choice *choice, const umad_port_t *port)
{
	guid_t guid = be64toh(port->port_guid);

	if (choice->wish->guid)
		return guid == choice->wish->guid ? RANK_NAMED : RANK_NONE;
	if (choice->wish->port)
		return (unsigned)port->portnum == choice->wish->port ? RANK_NAMED : RANK_NONE;
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
	if (rank != RANK_NAMED && is_barred(port)) {
		choice->barred++;
		return;
	}
	choice->best = rank;
	*choice->info = (struct io_port_info){
		.port = (unsigned)port->portnum,
		.port_guid = be64toh(port->port_guid),
		.node_guid = be64toh(ca->node_guid),
		.gid_prefix = be64toh(port->gid_prefix),
		.lid = (uint16_t)port->base_lid,
		.sm_lid = (uint16_t)port->sm_lid,
		.link = port->phys_state == PHYS_LINK_UP,
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
	if (!choice->wish->guid && choice->wish->device[0] && strcmp(choice->wish->device, name))
		goto out;
	choice->met++;
	for (int i = 0; i < UMAD_CA_MAX_PORTS; i++)
		if (ca.ports[i])
			port_consider(choice, &ca, ca.ports[i]);
out:
	umad_release_ca(&ca);
}

static void choice_explain(const struct choice *choice, char *err, size_t err_size)
{
	const struct umad_wish *wish = choice->wish;
	const char *device = wish->device[0] ? wish->device : NULL;

	if (!choice->devices[0])
		snprintf(err, err_size, "no InfiniBand device in this machine (none in %s)",
			 SYS_INFINIBAND);
	else if (wish->guid)
		snprintf(err, err_size, "port GUID 0x%016" PRIx64 ": not found; there are: %s",
			 wish->guid, choice->ports);
	else if (device && !choice->met)
		snprintf(err, err_size, "device %s: not found; there are: %s", device,
			 choice->devices);
	else if (choice->ethernet && !choice->ports[0])
		snprintf(err, err_size, "%s: no InfiniBand port, only Ethernet",
			 device ? device : choice->devices);
	else if (wish->port)
		snprintf(err, err_size, "%s: no InfiniBand port %u; there are: %s",
			 device ? device : "all devices", wish->port, choice->ports);
	else if (choice->barred)
		snprintf(err, err_size, "no port for a subnet manager unless named by GUID: %s",
			 choice->ports);
	else
		snprintf(err, err_size, "no InfiniBand port; devices: %s", choice->devices);
}

int umad_port_choose(const struct umad_wish *wish, struct io_port_info *info, char *err,
		     size_t err_size)
{
	struct choice choice = { .wish = wish, .info = info };
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	int n;

	if (umad_init() < 0) {
		snprintf(err, err_size, "no umad driver (is the module ib_umad loaded?)");
		return -ENODEV;
	}
	n = umad_get_cas_names(names, UMAD_MAX_DEVICES);
	for (int i = 0; i < n; i++)
		device_consider(&choice, names[i]);
	if (choice.best != RANK_NONE)
		return 0;
	choice_explain(&choice, err, err_size);
	return -ENODEV;
}
