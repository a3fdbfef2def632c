/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hidden: ports that answer no SMP and probably hold an M_Key of another manager. With protection
 * level 2 or 3 a port drops every SMP without its key (IBA 14.2.4.1), so it looks like a dead one.
 * It can be told from that by what M_Keys do not protect, each of it by itself:
 *
 *   it sends trap 256        it has dropped an SMP for its M_Key, and its agent is alive
 *   it answers PerfMgt       GMPs have no M_Key: its port is alive, and answers no SMP
 *   its link is Armed or     somebody has brought the link up, and this manager never met the port
 *   Active, and nobody knows behind it
 *   who is behind it
 *
 * None of these is proof, so each text says "probably" and names the reason. Only ports whose link
 * is up at the end that answers are looked at; a port without any of the three is left to
 * fmd_nodes_silent. No Set is sent to any of them. Light sweeps go on to ask who they are, with the
 * keys that they may hold (fm/sweep/sweep.c).
 */
#ifndef FMD_KEYS_HIDDEN_H
#define FMD_KEYS_HIDDEN_H

#include "fm/fabric/module.h"
#include "fm/fabric/view.h"

#define HIDDEN_MOST 64 /* ports that do not answer, followed at a time */

enum hidden_reason { HIDDEN_NONE, HIDDEN_LINK, HIDDEN_GMP, HIDDEN_TRAP };

struct hidden;

struct hidden_port { /* named by the end of its link that answers */
	struct hidden *list;
	guid_t node, behind; /* behind: who was met there before; 0 = nobody */
	uint8_t num;
	bool seen, answers_gmp;
	uint64_t trap_us;  /* when trap 256 came from behind; 0 = none came */
	uint64_t asked_us; /* when PerfMgt was asked last; 0 = not yet */
	mad_token asked;
};

/* The room's; services are borrowed. */
struct hidden {
	struct fabric *fabric;
	const struct fabric_services *services;
	struct hidden_port ports[HIDDEN_MOST];
	unsigned count, probable; /* followed; of these with a reason */
};

/* ---- Keys that were seen --------------------------------------------------------------------- */

/*
 * Which key each port was seen to hold last, in `guid2mkey` of state_dir, in OpenSM's form: a
 * port GUID (a switch: its node GUID) and a key a line. A port that was off while keys were changed
 * is asked with what it held. A guid2mkey of OpenSM that is put there is read as well. Keys of
 * somebody else are not kept. No copy goes to other managers.
 */

/* Takes note of what all ports hold now; has the file written where that is news. */
void seen_review(const struct fabric_services *services);

#endif
