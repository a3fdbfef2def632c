/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * inventory: what the hardware last said, node by node; the only mutable record of the fabric.
 * sweep fills it; bringup and program read the ways and write back what Sets answered. Snapshots
 * are made from it.
 *
 * A cable is at both its ports or at none. One that is down at the moment stays with link_up false;
 * a node that went away stays with all its links down (gone). A node pointer is good until
 * inventory_fini(): inventory_remove() takes a node off the map and its cables off it, and marks it
 * removed.
 */
#ifndef FMD_SWEEP_INVENTORY_H
#define FMD_SWEEP_INVENTORY_H

#include <stdbool.h>
#include <stdint.h>
#include <complib/cl_qmap.h>
#include "fm/core/qos.h"
#include "fm/mad/mad.h"
#include "topology/topo.h"

#define INV_NONSENSE	   UINT64_MAX /* inv_port.refused */
#define INV_ENHANCED_PORT0 (1u << 3)  /* wire_switch_info.flags */

enum inv_pkey_state {
	INV_PKEYS_OPEN,
	INV_PKEYS_DONE,
	INV_PKEYS_FAILED, /* until the next apply */
};

/*
 * What a device acknowledged by the answer of a Set, and may not hold: bits of inv_port.unread and
 * its like.
 */
enum inv_set {
	INV_SET_INFO = 1, /* PortInfo */
	INV_SET_PKEYS = 2,
	INV_SET_LANES = 4, /* SL2VL, VL arbitration */
};

/*
 * SL2VL and VL arbitration (lanes.c's; the SA shows them): what a port holds is what qos_arb() and
 * qos_sl2vl() make of the configuration for its kind and `vls`, where `held` says so; nothing is
 * known of it otherwise.
 */
#define INV_SL2VL QOS_ARB_BLOCKS /* the step behind the arbitration blocks, and its bit in `held` */
struct inv_qos {
	uint8_t step;	 /* arbitration blocks 0 to 3, SL2VL, none */
	uint8_t in;	 /* of SL2VL: the next input port */
	uint8_t vls;	 /* lanes that this is for; 0 = not begun */
	uint8_t written; /* SL2VL by wildcard: for so many lanes, 0 = not yet */
	uint8_t job;	 /* on its way: 0, WIRE_GET or WIRE_SET */
	uint8_t held;	 /* a bit a step */
	bool differs;	 /* the table was read: it is to be set */
	bool failed;	 /* until the next apply */
	bool wrote;	 /* since it was read last */
	bool reading;	 /* what was acknowledged, once more */
};

/* Which keys of the configuration a port goes by. */
static inline enum qos_kind inv_qos_kind(uint8_t type, unsigned num)
{
	if (type == TOPO_SWITCH)
		return num ? QOS_SWITCH_PORT : QOS_SWITCH_PORT0;
	return type == TOPO_ROUTER ? QOS_ROUTER : QOS_CA;
}

struct inv_pkeys {	/* a P_Key table; pkeys.c's, but for `have`, which the SA shows */
	uint16_t *have; /* as last answered, whole blocks of 32; unknown ones are zero */
	uint16_t *want; /* behind it */
	uint16_t *keys; /* what it is to hold */
	unsigned nkeys;
	unsigned without; /* keys that find no room */
	uint64_t known;	  /* blocks, a bit each */
	uint16_t index0, cap;
	uint8_t nblocks;
	uint8_t job, block; /* on its way: 0, WIRE_GET or WIRE_SET */
	bool planned;	    /* want holds */
	uint64_t unread;    /* blocks that were acknowledged, and not read since.. */
	uint64_t reread;    /* ..and those that are to be read now */
	bool wrote;	    /* in this apply */
};

/* What each snapshot and each walk reads of a port is in its first cache line. */
struct inv_port {
	struct inv_node *peer; /* NULL = no cable known */
	uint8_t peer_port;
	uint8_t state; /* enum topo_state, of info or newer */
	bool known;    /* info was read */
	bool link_up;
	/*
	 * .. and data may go over it: of a link between switches, ends that are known to be
	 * Active..
	 */
	uint8_t carries;
	bool bounced;	  /* ..or were: it fell, is up again, and is brought up right now */
	uint32_t capmask; /* of info, from here.. */
	uint16_t lid;
	uint8_t lmc, speed, lanes, mtu; /* ..to here */
	uint8_t suspect; /* requests over this cable that timed out since one passed */
	uint8_t probe;	 /* sweep.c's */
	bool cordoned, quarantined,
		isolated; /* carries no transit; set by the conductor before each snapshot, as.. */
	bool kept;	  /* ..this: routed over although it is not Active */
	/* an end of the cable answered that it is down; else no way may lead there */
	bool said_down;
	/*
	 * What is known was answered twice: of the cable (both ends), of PortInfo. See
	 * sweep_verify().
	 */
	bool cable_verified, info_verified;
	uint8_t verify_tries; /* in a row without an answer */
	bool ever_up;	      /* it said so, or the file of known cables does */
	bool must_probe;      /* who is behind is to be asked, whatever the record says.. */
	bool refuted;	      /* PortInfo was asked to decide about the cable, and did not come */
	uint8_t claims;	      /* contest.c's: answers that contradict the record.. */
	uint32_t claimed_in;  /* ..in that look.. */
	uint64_t claim;	      /* ..the latest of them */
	/* what answers behind it and can't be there: its GUID, or INV_NONSENSE; 0 = nobody */
	guid_t refused;
	uint32_t judged; /* inventory.clock when a request last passed, or failed, over its cable */
	uint32_t seen;	 /* the look that last read it */
	uint16_t sm_lid; /* of info */
	/* the conductor's: whether a manager there is known, since the cable is up */
	bool sm_asked;
	uint16_t want_lid; /* bringup.c's, from here on */
	uint8_t want_lmc;
	uint8_t job;	      /* on its way: 0 nothing, else bringup.c's code for it */
	uint8_t sets, errors; /* in this apply */
	uint8_t given_up;     /* so often in a row, 0 = it does as it is told.. */
	uint8_t lost;	      /* ..tries since then that got no answer, and are no refusal yet.. */
	uint64_t retry_at_us; /* ..when it is asked again.. */
	const char *refusal;  /* ..and how it refused, a literal */
	bool reread;	      /* is to be read before anything else */
	/* a Set got no answer, and the port was not read since: it may have taken it */
	bool unsure;
	bool settled;
	bool reregister; /* its host is to be asked to register with the SA anew */
	uint8_t unread;	 /* was acknowledged, and not read since; enum inv_set.. */
	/* ..and what was read otherwise then: from now on it is read behind each Set.. */
	uint8_t doubted;
	uint8_t at_once; /* ..as it is being now.. */
	/* ..and was read otherwise there too: bringup.c asks again now and then.. */
	uint8_t unheld;
	uint64_t trial_at_us; /* ..at that time */
	bool enforced;	      /* switches: its P_Key table is such that it may be enforced */
	uint8_t pkey_state;   /* enum inv_pkey_state */
	struct inv_qos qos;
	struct inv_pkeys *pkeys; /* NULL: the default partition at index 0 */
	uint8_t info[64];	 /* PortInfo as last answered */
};

#define SILENCES_MAX 3 /* looks; then the attribute counts as not there */
struct inv_silence {   /* of an optional attribute, while the node answers others */
	uint32_t look; /* the latest in which it got no answer */
	uint8_t looks; /* so many in a row */
};

enum inv_sharp { /* what a CA says itself of being a SHARP aggregation node */
		 INV_SHARP_UNASKED,
		 INV_SHARP_UNSAID, /* does not know that question */
		 INV_SHARP_NO,
		 INV_SHARP_YES,
};

/* adaptive routing, or another mode in which a switch does not forward by its LFT */
enum inv_adaptive {
	INV_ADAPTIVE_UNKNOWN,
	INV_ADAPTIVE_LATER, /* not known, and nothing waits for it */
	INV_ADAPTIVE_ASKED,
	INV_ADAPTIVE_NONE,    /* can't */
	INV_ADAPTIVE_CAPABLE, /* can, and it was off */
	INV_ADAPTIVE_ON,
	INV_ADAPTIVE_OFF, /* was on until this manager turned it off */
};

struct inv_node {
	cl_map_item_t item; /* in inventory.nodes, key = node GUID */
	struct inv_node *next_removed;
	guid_t guid;
	struct wire_node_info info; /* as seen by the port it was first met at */
	struct wire_switch_info sw; /* switches */
	char desc[65];
	bool have_desc;
	bool desc_stale; /* it may have another name: read again when it is looked at */
	bool silent;	 /* does not answer although its link is up: kept, retried later */
	/* answers, and one question got no answer: the next poll asks for a new look */
	bool partial;
	bool gone;	  /* no way leads to it */
	bool told_silent; /* the conductor's */
	bool removed;
	bool stranger;	/* a switch that is in nothing that was published since a way leads to it */
	bool leaf;	/* a switch with hosts, at the bottom; the conductor's */
	uint8_t ncarry; /* its cables to other switches that carry data */
	bool unread;	/* a switch whose ports have to be read, whatever it says of changes */
	bool rebooted;	/* a switch whose tables were found reset; program_apply() takes note and
			  clears it */
	uint8_t reboots; /* counts those, for who else keeps tables */
	/* LinearFDBTop was set, and was reset twice within a while; the conductor ends it */
	bool keeps_no_top;
	/* when it was reset last, and no port's state had changed; 0 = never */
	uint64_t top_lost_us;
	/* switches: all ports' SL2VL was written for so many lanes; 0 = not yet */
	uint8_t sl2vl_vls;
	uint8_t sl2vl_port;    /* the port for which that is on its way; 0 = none */
	bool no_wildcards;     /* refused that once */
	uint16_t want_top;     /* what program sets in SwitchInfo, 0 = nothing yet */
	uint16_t want_mft_top; /* likewise mft, 0 = it never had to */
	uint8_t want_life_time;
	bool sw_differs; /* LifeTimeValue or MulticastFDBTop is not as wanted, by the last poll.. */
	bool sw_tried;	 /* ..the conductor's: it was set again.. */
	bool sw_unheld;	 /* ..and differed again */
	bool no_ext, no_state_table;	/* refused these once */
	struct inv_silence ext, states; /* likewise not answered */
	bool keeps_change;		/* answers, and its PortStateChange could not be cleared */
	uint8_t adaptive;		/* enum inv_adaptive; program/adaptive.c's */
	uint8_t sharp;			/* enum inv_sharp; sweep's */
	/* does not hold tables that it acknowledged: not repaired; isolation's */
	bool wrong_tables;
	bool no_sets;	 /* answers, and takes no Set: is sent none; the conductor's */
	bool answered;	 /* in the present look */
	bool touched;	 /* sweep's */
	uint8_t waiting; /* sweep's: answers before its ports are read */
	uint8_t nports;
	struct mad_path path;	/* a directed route to it from the SM's port */
	uint32_t seen;		/* the look that met it last.. */
	uint32_t met_first;	/* ..and first, or first again after it was gone */
	uint32_t number;	/* its own: in inventory.marks */
	int handle;		/* in the builder, while a snapshot is made */
	guid_t *port_guids;	/* CAs: by port number, 0 = not met */
	struct inv_port *ports; /* [nports + 1] by port number; 0 = a switch's own port */
};

struct inventory {
	cl_qmap_t nodes;
	struct inv_node *local; /* the SM's own node */
	struct inv_node *removed;
	uint32_t nswitches;
	uint32_t nsuspects; /* cables */
	uint32_t nbetween;  /* cables between switches that are up.. */
	uint32_t nactive;   /* ..and carry data */
	uint32_t nbounced;  /* .. or are bounced */
	uint32_t turns;	    /* counts those that began to count as usable, or ceased */
	/*
	 * Snapshots take a cable between switches that carries no data for down, but those of a
	 * leaf none of whose do: nothing can be lost there. The conductor's.
	 */
	bool active_decides;
	uint32_t ngone; /* nodes, by the last walk */
	uint32_t nrefused,
		ntwice; /* ports with inv_port.refused; of these, GUIDs that are known elsewhere */
	/*
	 * Who was met by the last walk, by number: such has `walks`. Kept together and not with the
	 * nodes: a walk meets all of them, and after a fork each page that is written to costs more
	 * than the walk.
	 */
	uint32_t *marks;
	uint32_t walks;
	uint32_t numbered, room; /* nodes that ever came */
	uint32_t nstrangers;	 /* switches */
	uint32_t nsw_differ;	 /* with sw_differs, at least */
	uint32_t falls;		 /* counts cables that went down */
	uint16_t sm_lid;	 /* ours, the conductor's; 0 = not known yet */
	uint32_t clock;		 /* counts answers and time-outs */
	uint32_t shapes; /* counts nodes and cables that came, moved or went, and GUIDs of ports */
	uint8_t local_port;
	bool paths_stale; /* a cable went down or became suspect since inventory_update_paths() */
};

void inventory_init(struct inventory *inv);
void inventory_fini(struct inventory *inv);
struct inv_node *inventory_find(const struct inventory *inv, guid_t guid); /* or NULL */
struct inv_node *inventory_add(struct inventory *inv, const struct wire_node_info *info);
void inventory_remove(struct inventory *inv, struct inv_node *node);
struct inv_node *inventory_first(const struct inventory *inv);
struct inv_node *inventory_next(const struct inventory *inv, const struct inv_node *node);
struct inv_node *inventory_from(const struct inventory *inv,
				guid_t guid); /* of that GUID, or the next higher one */
static inline bool inv_is_switch(const struct inv_node *node)
{
	return node->info.type == TOPO_SWITCH;
}

/*
 * A CA that is a SHARP aggregation node: as it says itself where it was asked and knows, else by
 * its description.
 */
bool inv_is_sharp(const struct inv_node *node);

/*
 * Of the two ends of a cable, the one that it goes by: whatever is done once a cable is done there,
 * run by run alike.
 */
static inline bool inventory_is_first_end(const struct inv_node *node, unsigned num)
{
	const struct inv_port *port = &node->ports[num];

	return port->peer &&
	       (node->guid < port->peer->guid || (node == port->peer && num < port->peer_port));
}

/* Cables. inventory_link() forgets what was at either port before. */
void inventory_link(struct inventory *inv, struct inv_node *a, uint8_t port_a, struct inv_node *b,
		    uint8_t port_b);
void inventory_unlink(struct inventory *inv, struct inv_node *node, uint8_t port);
void inventory_link_down(struct inventory *inv, struct inv_node *node, uint8_t port);
/* What answers behind that port can't be there: a GUID, INV_NONSENSE, 0 = (no more). */
void inventory_refuse(struct inventory *inv, struct inv_node *node, uint8_t port, guid_t guid);
void inventory_set_stranger(struct inventory *inv, struct inv_node *node, bool on);
/* PortInfo's attribute modifier: bit 31 asks for the extended speeds where they are supported. */
uint32_t inventory_port_modifier(const struct inv_node *node, uint8_t port);
void inventory_set_port_guid(struct inventory *inv, struct inv_node *node, uint8_t port,
			     guid_t guid); /* CAs */
/* Of a CA's port, the GUID that is known is another one. */
static inline bool inventory_other_port_guid(const struct inv_node *node, uint8_t num, guid_t guid)
{
	return node->port_guids && node->port_guids[num] && node->port_guids[num] != guid;
}
void inventory_node_answers(struct inv_node *node); /* it is not silent (any more) */
/* A Get's answer. What was acknowledged before is compared. */
void inventory_set_port_info(struct inv_node *node, uint8_t port, const uint8_t data[64]);
/* A Set's answer: not compared with what was acknowledged before. */
void inventory_port_was_set(struct inv_node *node, uint8_t port, const uint8_t data[64]);
/* What a port acknowledged was read: as it was acknowledged, or not. */
void inventory_was_read(struct inv_port *port, enum inv_set what, bool same);
/* What a manager sets at that port, but for its state. */
bool inventory_same_settings(const struct inv_node *node, uint8_t port, const uint8_t a[64],
			     const uint8_t b[64]);
/*
 * Behind each change of a port's state: does its cable carry data now? What was not read of one end
 * goes by the other.
 */
void inventory_port_changed(struct inventory *inv, struct inv_node *node, uint8_t port);
bool inventory_same_port_info(const uint8_t a[64], const uint8_t b[64]); /* to a subnet manager */
/* Links that bounced and are not Active by now count as such. */
void inventory_end_bounces(struct inventory *inv);
/* So do those of a switch that rebooted: they are led around at once. */
void inventory_end_bounces_of(struct inventory *inv, struct inv_node *node);
void inventory_forget_pkeys(struct inv_port *port);
/*
 * Where the own port's P_Key table has the default partition, the full membership first; 0 where it
 * is not known to have it.
 */
uint16_t inventory_default_pkey_index(const struct inventory *inv);

/* A walk over nodes. */
static inline void inventory_walk_begin(struct inventory *inv)
{
	inv->walks++;
}
static inline bool inventory_was_met(const struct inventory *inv, const struct inv_node *node)
{
	return inv->marks[node->number] == inv->walks;
}
static inline void inventory_meet(struct inventory *inv, const struct inv_node *node)
{
	inv->marks[node->number] = inv->walks;
}

/* Ways. The way to a CA's port is the one that enters by that port. False = none is known. */
bool inventory_port_path(struct inventory *inv, const struct inv_node *node, uint8_t port,
			 struct mad_path *path);
bool inventory_path_add(const struct mad_path *from, uint8_t port,
			struct mad_path *to); /* false: 63 hops */
void inventory_path_worked(struct inventory *inv, const struct mad_path *path);
/* Cables that nothing passed since `since` (inv.clock when the request left) become suspect. */
void inventory_path_failed(struct inventory *inv, const struct mad_path *path, uint32_t since);
void inventory_update_paths(
	struct inventory *inv); /* shortest over good cables; a good one is kept; sets gone */

/* `sw leaf-03 0x...`, `ca ... p1`; port < 0: the node alone. */
struct inv_name {
	char text[112];
};
struct inv_name inventory_name(const struct inv_node *node, int port);
/* A link by one of its ends, both of them named; by GUID where that end is not known. */
struct inv_link_name {
	char text[160];
};
struct inv_link_name inventory_link_name(const struct inventory *inv, guid_t node, uint8_t port);

/*
 * A snapshot of the present; known cables that are down are in it as such, and where active_decides
 * says so those that carry no data too. The draft is all that is read of the inventory:
 * topo_freeze() makes the snapshot of it, at any time.
 */
struct topo_builder *inventory_draft(const struct inventory *inv);
struct topo *inventory_snapshot(const struct inventory *inv);
/*
 * The present as an older snapshot with other ports (topo_again), much sooner; `shapes` as it was
 * when that was made. NULL: more than ports may differ.
 */
struct topo *inventory_again(const struct inventory *inv, const struct topo *older,
			     uint32_t shapes);

#endif
