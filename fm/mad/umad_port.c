/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which local port to run on. All InfiniBand ports of all devices are looked at in the kernel's
 * order, or the operator's; those that he did not mean are passed over, and the first that has a
 * link is kept, or the first of all (its link may come later). Whether it is Active does not
 * matter: that only means that some manager manages that fabric. Ports that no subnet manager is to
 * run on count only when they are named. All ports met are kept as text, so that an error can name
 * what there is.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <infiniband/umad.h>
#include "fm/mad/umad_own.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define PHYS_LINK_UP	   5
#define CAP_IS_SM_DISABLED (1u << 10) /* IBA 14.2.5.6 */
#define SEEN_MAX	   512
#define VPD_MAX		   32768

enum rank { RANK_NONE, RANK_ANY, RANK_LINK_UP, RANK_NAMED, RANK_NAMED_UP };

struct choice {
	const struct umad_wish *wish;
	enum rank best;
	unsigned best_place;
	struct io_port_info *info;
	unsigned met, ethernet, barred;
	guid_t *guids; /* NULL, or [IO_PORTS] of those that have a link, by their places */
	unsigned places[IO_PORTS], nguids;
	char devices[SEEN_MAX], ports[SEEN_MAX];
};

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

static bool manages_nvswitches(struct umad_vpds *vpds, const char *device)
{
	unsigned n = vpds->count;
	char path[256];

	for (unsigned i = 0; i < n; i++)
		if (!strcmp(vpds->list[i].device, device))
			return vpds->list[i].manages_nvswitches;
	if (n == ARRAY_SIZE(vpds->list))
		return false; /* libibumad knows no more devices */
	array_printf(path, SYS_INFINIBAND "/%s/device/vpd", device);
	array_printf(vpds->list[n].device, "%s", device);
	vpds->count++;
	return vpds->list[n].manages_nvswitches = umad_port_manages_nvswitches(path);
}

#define NO_PLACE 9999

/* Where a list has that device, or port GUID; all have the first in an empty one. */
static unsigned place_in(const char *list, const char *device, guid_t guid)
{
	unsigned place = 0;
	char word[64];
	int used;

	for (; sscanf(list, "%63s%n", word, &used) == 1; list += used, place++)
		if (device ? !strcmp(word, device) : strtoull(word, NULL, 16) == guid)
			return place;
	return place ? NO_PLACE : 0;
}

/* Those of one place stay in the kernel's order. */
static void note_link(struct choice *choice, guid_t guid, unsigned place)
{
	unsigned i = choice->nguids;

	if (i == IO_PORTS)
		return;
	for (; i && choice->places[i - 1] > place; i--) {
		choice->guids[i] = choice->guids[i - 1];
		choice->places[i] = choice->places[i - 1];
	}
	choice->guids[i] = guid;
	choice->places[i] = place;
	choice->nguids++;
}

/* place: the device's, where GUIDs are given the port's. */
static enum rank rank_of(const struct umad_wish *wish, const umad_port_t *port, unsigned *place)
{
	bool link = port->phys_state == PHYS_LINK_UP;
	guid_t guid = be64toh(port->port_guid);
	enum rank named = link ? RANK_NAMED_UP : RANK_NAMED;

	if (wish->guid)
		return guid == wish->guid ? named : RANK_NONE;
	if (wish->guids[0]) {
		*place = place_in(wish->guids, NULL, guid);
		return *place == NO_PLACE ? RANK_NONE : named;
	}
	if (wish->port)
		return (unsigned)port->portnum == wish->port ? named : RANK_NONE;
	return link ? RANK_LINK_UP : RANK_ANY;
}

static void device_consider(struct choice *choice, const char *name)
{
	const bool by_guid = choice->wish->guid || choice->wish->guids[0];
	const unsigned of_device = by_guid ? 0 : place_in(choice->wish->devices, name, 0);
	umad_ca_t ca;

	/* libibumad names a default device when there is none. */
	if (umad_get_ca(name, &ca) < 0)
		return;
	array_add(choice->devices, "%s%s", *choice->devices ? ", " : "", name);
	if (of_device == NO_PLACE)
		goto out;
	choice->met++;
	for (int i = 0; i < UMAD_CA_MAX_PORTS; i++)
		if (ca.ports[i]) {
			const umad_port_t *port = ca.ports[i];
			bool link = port->phys_state == PHYS_LINK_UP, barred;
			guid_t guid = be64toh(port->port_guid);
			unsigned place = of_device;
			enum rank rank = rank_of(choice->wish, port, &place);
			bool better = rank > choice->best ||
				      (rank == choice->best && place < choice->best_place);

			if (!strcmp(port->link_layer, "Ethernet")) {
				choice->ethernet++;
				continue;
			}
			array_add(choice->ports, "%s%s port %d 0x%016" PRIx64,
				  *choice->ports ? ", " : "", ca.ca_name, port->portnum, guid);
			if (rank == RANK_NONE || !(better || (choice->guids && link)))
				continue;
			barred = rank < RANK_NAMED &&
				 (be32toh(port->capmask) & CAP_IS_SM_DISABLED ||
				  manages_nvswitches(choice->wish->vpds, port->ca_name));
			choice->barred += barred;
			if (barred)
				continue;
			if (choice->guids && link)
				note_link(choice, guid, place);
			if (!better)
				continue;
			choice->best = rank;
			choice->best_place = place;
			*choice->info = (struct io_port_info){
				.port = port->portnum,
				.port_guid = guid,
				.node_guid = be64toh(ca.node_guid),
				.gid_prefix = be64toh(port->gid_prefix),
				.lid = port->base_lid,
				.sm_lid = port->sm_lid,
				.link = link,
			};
			array_printf(choice->info->device, "%s", ca.ca_name);
		}
out:
	umad_release_ca(&ca);
}

int umad_port_choose(const struct umad_wish *wish, struct io_port_info *info, char *err,
		     size_t err_size)
{
	struct choice choice = { .wish = wish, .info = info };
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];

	if (umad_init() < 0) {
		snprintf(err, err_size, "no umad driver (is the module ib_umad loaded?)");
		return -ENODEV;
	}

	int n = umad_get_cas_names(names, UMAD_MAX_DEVICES);

	for (int i = 0; i < n; i++)
		device_consider(&choice, names[i]);
	if (choice.best != RANK_NONE)
		return 0;

	const char *device = wish->devices[0] ? wish->devices : NULL;

	if (!choice.devices[0])
		snprintf(err, err_size, "no InfiniBand device in this machine (none in %s)",
			 SYS_INFINIBAND);
	else if (wish->guid)
		snprintf(err, err_size, "port GUID 0x%016" PRIx64 ": not found; there are: %s",
			 wish->guid, choice.ports);
	else if (wish->guids[0])
		snprintf(err, err_size, "port GUID %s: not found; there are: %s", wish->guids,
			 choice.ports);
	else if (device && !choice.met)
		snprintf(err, err_size, "device %s: not found; there are: %s", device,
			 choice.devices);
	else if (choice.ethernet && !choice.ports[0])
		snprintf(err, err_size, "%s: no InfiniBand port, only Ethernet",
			 device ? device : choice.devices);
	else if (wish->port)
		snprintf(err, err_size, "%s: no InfiniBand port %u; there are: %s",
			 device ? device : "all devices", wish->port, choice.ports);
	else if (choice.barred)
		snprintf(err, err_size, "no port for a subnet manager unless named by GUID: %s",
			 choice.ports);
	else
		snprintf(err, err_size, "no InfiniBand port; devices: %s", choice.devices);

	return -ENODEV;
}

unsigned umad_ports(const struct umad_wish *wish, guid_t guids[IO_PORTS])
{
	char names[UMAD_MAX_DEVICES][UMAD_CA_NAME_LEN];
	struct umad_wish usual = *wish;
	struct io_port_info info;
	struct choice choice = { .wish = &usual, .info = &info, .guids = guids };
	int n = umad_get_cas_names(names, UMAD_MAX_DEVICES);

	usual.guid = 0;
	for (int i = 0; i < n; i++)
		device_consider(&choice, names[i]);
	return choice.nguids;
}
