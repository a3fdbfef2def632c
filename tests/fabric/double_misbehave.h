/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_misbehave: nodes and cables that are faulty, or behave as few do. */
#pragma once

#include "topology/snapshot/topo.h"

struct double_fabric;

/*
 * The link goes down, and that port's registers give the reason, a number of PDDR's page 6; 0 = the
 * cable is pulled.
 */
void double_down(struct double_fabric *d, guid_t node, unsigned port, uint8_t reason);
/* It has no AccessRegister, and says so. */
void double_set_no_registers(struct double_fabric *d, guid_t node, bool on);
/* AccessRegister requests that it has got. */
unsigned double_registers_read(const struct double_fabric *d, guid_t node);
/* Of each crossing of the cable at that port, either way. */
void double_set_loss(struct double_fabric *d, guid_t node, unsigned port, unsigned per_mille);
/* What a cable does to MADs that leave by that port; the other way is the other port's. */
enum double_direction_fault {
	DOUBLE_LOSE,
	DOUBLE_TWICE,	/* it arrives twice */
	DOUBLE_REORDER, /* others overtake it: it is late by value microseconds */
	DOUBLE_LATE,	/* likewise, and meant for all */
	DOUBLE_WAY_FAULTS
};
void double_set_direction_fault(struct double_fabric *d, guid_t node, unsigned port,
				enum double_direction_fault fault, unsigned per_mille,
				unsigned value);
/*
 * What it says of the places of its ports (HierarchyInfo): it does not know that; a cage for each
 * two ports; that it knows, and refuses; what contradicts itself; nothing, but registers have it.
 */
enum double_labels {
	DOUBLE_UNLABELLED,
	DOUBLE_CAGES,
	DOUBLE_LABELS_REFUSED,
	DOUBLE_LABELS_WRONG,
	DOUBLE_MODULES,
};
#define DOUBLE_WRONG_PLANE 3 /* of a port of XDR: all its bit errors are there */
void double_set_labels(struct double_fabric *d, guid_t node, enum double_labels labels);
/*
 * Which error correction a port says that it uses (PortInfoExtended): a number of IBA 14.2.5.19, or
 * what suits the speed of its link; that it knows none, though its device claims it; a number that
 * no mode has; that it answers of no mode (CapabilityMask). Until it is switched off.
 */
enum double_fec { DOUBLE_FEC_USUAL = 0xf0, DOUBLE_FEC_REFUSED, DOUBLE_FEC_WRONG, DOUBLE_FEC_NONE };
void double_set_fec_mode(struct double_fabric *d, guid_t node, unsigned port, unsigned fec);
/* How long its agent works at one SMP; 0 = as conf says. */
void double_set_time(struct double_fabric *d, guid_t node, unsigned us);
/* Without power its links are down; with it again it has forgotten what it was told. */
void double_set_power(struct double_fabric *d, guid_t node, bool on);
/* Sets are answered with status 0x1c, and nothing is taken over. */
void double_set_refuses(struct double_fabric *d, guid_t node, bool on);
/* Blocks of tables are acknowledged, and not stored. */
void double_set_pretends(struct double_fabric *d, guid_t node, bool on);
/*
 * Sets of that attribute are acknowledged, the answer says what was asked for, and what it had
 * stays; 0 = it holds what it is told.
 */
void double_set_feigns(struct double_fabric *d, guid_t node, uint16_t attr_id);
/* Its tables are as after power-on, and nobody is told. */
void double_lose_lft(struct double_fabric *d, guid_t node);
void double_lose_mft(struct double_fabric *d, guid_t node);
void double_set_silent(struct double_fabric *d, guid_t node, bool silent);
/*
 * It does not answer such requests (node 0: nobody does); attr_id 0 = any. One rule at a time,
 * method 0 ends it.
 */
void double_set_mute(struct double_fabric *d, guid_t node, uint8_t method, uint16_t attr_id);
/* One rule more, or without that one; method 0 = Gets and Sets. */
void double_drop(struct double_fabric *d, guid_t node, uint8_t method, uint16_t attr_id, bool on);
/*
 * Devices do what IBA has and few managers meet: a switch has PortStateChange after power-on; a
 * TrapRepress with a wrong M_Key is not accepted; a Set of PortInfo writes the counters of
 * violations; it is refused where it changes OperationalVLs or NeighborMTU of a port that is
 * Active; an Armed port that data comes to is Active (7.2.7).
 */
void double_set_strict(struct double_fabric *d, bool on);
/* Its port holds that key, with protection 1: Sets with another are not answered. 0 = none. */
void double_set_mkey(struct double_fabric *d, guid_t node, unsigned port, uint64_t mkey);
/* The same with M_KeyProtectBits 0 .. 3 and a lease; 0 s = it does not end. */
void double_hold_mkey(struct double_fabric *d, guid_t node, unsigned port, uint64_t mkey,
		      uint8_t protect, uint16_t lease_s);
/* VLCap's code, until it is switched off. */
void double_set_vl_cap(struct double_fabric *d, guid_t node, unsigned port, uint8_t vl_cap);
/*
 * The port's firmware goes down to that NeighborMTU and OperationalVLs now and at each Set: codes;
 * 0 = as it is told.
 */
void double_set_most(struct double_fabric *d, guid_t node, unsigned port, uint8_t mtu, uint8_t vls);
/* How a port takes the state Active, once asked for it. What it already has stays. */
enum double_active { DOUBLE_TAKES_ACTIVE, DOUBLE_REFUSES_ACTIVE, DOUBLE_FEIGNS_ACTIVE };
void double_set_active(struct double_fabric *d, guid_t node, unsigned port, enum double_active how);
/* Gets are answered, Sets are not: a hung agent, or somebody else's M_Key. */
void double_set_no_sets(struct double_fabric *d, guid_t node, bool on);
/* The node GUID it says it has; callers keep its old name. */
void double_set_guid(struct double_fabric *d, guid_t node, guid_t guid);
void double_set_state_table(struct double_fabric *d, guid_t node, bool on);
/*
 * A switch of NVIDIA's that can adaptive routing and private LFTs, or both of these, fast recovery
 * and hash-based forwarding are on: then it does not forward by its LFT, whose content a plain
 * write loses but for that block.
 */
void double_set_adaptive(struct double_fabric *d, guid_t node, bool able, bool on);
/*
 * A CA that answers GeneralInfo: that it is a SHARP aggregation node, or that it is none. Others do
 * not know that question.
 */
void double_set_sharp(struct double_fabric *d, guid_t node, bool is);
const uint8_t *double_adaptive(const struct double_fabric *d,
			       guid_t node);			    /* AdaptiveRoutingInfo */
void double_set_traps(struct double_fabric *d, bool on);	    /* default on */
void double_set_mum(struct double_fabric *d, guid_t node, bool on); /* sends no traps */
/* It sends that trap, as if it had a reason; port: for 129 to 131, 259. */
void double_trap(struct double_fabric *d, guid_t node, uint16_t number, uint8_t port);

enum double_fault {
	DOUBLE_DUPLICATE,  /* the answer comes twice */
	DOUBLE_TRUNCATE,   /* value = bytes left */
	DOUBLE_WRONG_ATTR, /* of another attribute */
	DOUBLE_DELAY,	   /* value = more microseconds */
	DOUBLE_BAD_STATUS, /* value = status */
	DOUBLE_LIE,	   /* what an SMP says is not so */
	DOUBLE_FAULTS,
};
/* For answers of one node, or of all (node 0). */
void double_set_fault(struct double_fabric *d, guid_t node, enum double_fault fault,
		      unsigned per_mille, unsigned value);
