/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* trap: a trap on its way to the rooms: did the port that it names send it? */
#include "fm/fabric/pipe.h"

/*
 * A switch sends 128 about itself, a port 129-131, 144 and 145 (IBA 14.2.5.1), so they come from a
 * LID of the port that they name. 64-67 are the SA's own and never come from the fabric. Only
 * 256-259 name others. Before LIDs are published senders can't be distinguished.
 */
static bool is_forged(const struct fabric_view *view, const struct wire_notice *notice,
		      uint16_t from_lid)
{
	uint32_t sender = fabric_view_port_of_lid(view, from_lid);

	if (!notice->generic || notice->trap >= 256)
		return false;
	if (notice->trap >= 64 && notice->trap <= 67)
		return true;
	if (!notice->lid || notice->lid == from_lid || !view->lids)
		return false;
	return sender == TOPO_NONE || sender != fabric_view_port_of_lid(view, notice->lid);
}

void fabric_trap_received(struct fabric *f, const struct wire_notice *notice, uint16_t from_lid,
			  unsigned times)
{
	struct fabric_view view = fabric_view(f);

	MODULES_CALL(f->modules, trap, notice, from_lid, times, is_forged(&view, notice, from_lid));
}
