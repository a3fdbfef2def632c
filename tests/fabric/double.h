/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * double: a fabric inside the process, for unit tests. Made from a snapshot, it stands in for the
 * hardware behind `struct io`, on a simulated loop.
 *
 * It carries SMPs hop by hop (IBA 14.2.2) and LID-routed MADs by the tables that were programmed,
 * holds the state a subnet manager sets, and misbehaves on demand. Nodes are named by the GUID they
 * have in the snapshot; ports by number. All that happens is a function of the snapshot, the calls
 * and the seed. Faults of the caller (no such node) abort.
 */
#ifndef FMD_TESTS_FABRIC_DOUBLE_H
#define FMD_TESTS_FABRIC_DOUBLE_H

#include "fm/core/loop.h"
#include "fm/mad/io.h"
#include "fm/mad/wire.h"
#include "fm/mad/wire_perf.h"
#include "topology/topo.h"

struct double_fabric;

struct double_conf {
	uint64_t seed;	     /* of losses; 0 = 1 */
	unsigned latency_us; /* of a MAD and its answer; 0 = 10 */
	unsigned hop_us;     /* more for each hop; 0 = 2 */
	bool keep_lids;	     /* ports hold the LIDs of the snapshot, else none */
	bool state_table;    /* switches have SwitchPortStateTable (see double_set_state_table) */
	uint8_t arb_cap;     /* entries of VL arbitration tables; and SL mapping. 0 = neither */
	bool wildcards;	     /* switches take SL2VL for all ports at once */
	unsigned device_us;  /* that an agent works at one SMP; others wait their turn. 0 = none */
	unsigned device_queue; /* how many may wait; what comes then is dropped. 0 = any number */
	bool all_counters;     /* agents have 64 bits, waiting and error correction */
	unsigned trap_repeats; /* of a trap that nobody represses */
	uint16_t pkey_cap;     /* entries of P_Key tables that the snapshot does not tell; 0 = 32 */
	bool at_once; /* a latency or hop of 0 is one, and what takes no time needs no timer */
};

/*
 * Attached at port `port` of node `attach`. Links that are up in the snapshot come up in Init. conf
 * NULL = all 0.
 */
struct double_fabric *double_new(struct loop *loop, const struct topo *topo, guid_t attach,
				 unsigned port, const struct double_conf *conf);
void double_free(struct double_fabric *d);     /* after its io's mad_free() */
struct io *double_io(struct double_fabric *d); /* its free() leaves the double alive */
/* A second client, at another port. */
struct io *double_io_at(struct double_fabric *d, guid_t attach, unsigned port);
/* Its device goes away, with IsSM, or may be opened again. */
void double_unplug(struct io *io, bool on);
/* Another process of its machine has the port: it can't be opened. */
void double_occupy(struct io *io, bool on);
/* Its IsSM bit is gone, and nobody told. */
void double_forget_sm(struct io *io);
/*
 * As if its process was killed: nothing is received or sent any more, and IsSM goes; or it is back.
 */
void double_freeze(struct io *io, bool on);

/* ---- What the hardware does by itself -------------------------------------------------------- */

/*
 * Down and up again: PortStateChange at switches, and trap 128 to the SM LID if it can be reached.
 */
void double_cut(struct double_fabric *d, guid_t node, unsigned port);
void double_join(struct double_fabric *d, guid_t node, unsigned port);
/* The cables of two ports change places, while both are cut. */
void double_swap(struct double_fabric *d, guid_t a, unsigned port_a, guid_t b, unsigned port_b);
/* A cable from one port to the other; what they had in was cut before. */
void double_plug(struct double_fabric *d, guid_t a, unsigned port_a, guid_t b, unsigned port_b);
/*
 * The cable comes up again, and can no more than that; TOPO_SPEED_NONE, 0 lanes: as much as the
 * ports.
 */
void double_set_cable(struct double_fabric *d, guid_t node, unsigned port, enum topo_speed speed,
		      unsigned lanes);
/* Another manager makes the link Active, at both ends. */
void double_activate(struct double_fabric *d, guid_t node, unsigned port);
/* All the node was told is forgotten, its links bounce. */
void double_reboot(struct double_fabric *d, guid_t node);
/* The cable comes up again with so many lanes. */
void double_retrain(struct double_fabric *d, guid_t node, unsigned port, unsigned lanes);
/* Another device in its place: new GUIDs (of ports: the numbers behind it), and nothing known. */
void double_replace(struct double_fabric *d, guid_t node, guid_t guid);
void double_set_desc(struct double_fabric *d, guid_t node, const char *desc); /* with trap 144 */

/* ---- Misbehaviour ---------------------------------------------------------------------------- */

/* Of each crossing of the cable at that port, either way. */
void double_set_loss(struct double_fabric *d, guid_t node, unsigned port, unsigned per_mille);
/* What a cable does to MADs that leave by that port; the other way is the other port's. */
enum double_way_fault {
	DOUBLE_LOSE,
	DOUBLE_TWICE,	/* it arrives twice */
	DOUBLE_REORDER, /* others overtake it: it is late by value microseconds */
	DOUBLE_LATE,	/* likewise, and meant for all */
	DOUBLE_WAY_FAULTS
};
void double_set_way_fault(struct double_fabric *d, guid_t node, unsigned port,
			  enum double_way_fault fault, unsigned per_mille, unsigned value);
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
/* Its port holds that key, with protection 1: Sets with another are not answered. 0 = none. */
void double_set_mkey(struct double_fabric *d, guid_t node, unsigned port, uint64_t mkey);
/* The same with M_KeyProtectBits 0 .. 3 and a lease; 0 s = it does not end. */
void double_hold_mkey(struct double_fabric *d, guid_t node, unsigned port, uint64_t mkey,
		      uint8_t protect, uint16_t lease_s);
/* VLCap's code, until it is switched off. */
void double_set_vl_cap(struct double_fabric *d, guid_t node, unsigned port, uint8_t vl_cap);
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

/* ---- What it holds --------------------------------------------------------------------------- */

enum topo_state double_link_state(const struct double_fabric *d, guid_t node, unsigned port);
/* How often its host was told to register anew. */
unsigned double_reregistered(const struct double_fabric *d, guid_t node, unsigned port);
unsigned double_ports_not_active(const struct double_fabric *d); /* of those whose link is up */
const struct wire_port_info *double_port_info(const struct double_fabric *d, guid_t node,
					      unsigned port);
const struct wire_switch_info *double_switch_info(const struct double_fabric *d, guid_t node);
uint8_t double_lft(const struct double_fabric *d, guid_t node, uint16_t lid); /* port, 255 = none */
/* Behind the SM's back. */
guid_t double_alias(const struct double_fabric *d, guid_t node, unsigned port, unsigned entry);
void double_set_lid(struct double_fabric *d, guid_t node, unsigned port, uint16_t lid);
void double_set_lft(struct double_fabric *d, guid_t node, uint16_t lid, uint8_t port);
bool double_mft(const struct double_fabric *d, guid_t node, uint16_t mlid, unsigned port);
void double_grow_mft(struct double_fabric *d,
		     guid_t node); /* empty, and as large as its MulticastFDBCap */
void double_flip_mft(struct double_fabric *d, guid_t node, uint16_t mlid,
		     unsigned port); /* as by itself */
const uint16_t *double_pkeys(const struct double_fabric *d, guid_t node, unsigned port,
			     unsigned *count);
/* Of a switch the output port's, for packets that come in by `in`. */
const uint8_t *double_sl2vl(const struct double_fabric *d, guid_t node, unsigned port, unsigned in);
const uint8_t *double_arb(const struct double_fabric *d, guid_t node, unsigned port,
			  unsigned block); /* 0 .. 3 */
/*
 * Hops from a port to a LID by the tables as they are, links up: >= 0, -ENOENT no entry, -ELOOP,
 * -ENOTCONN dead end.
 */
int double_trace(const struct double_fabric *d, guid_t node, unsigned port, uint16_t dlid);

/* The same for data packets: they pass links that are Active at both ends alone. */
int double_trace_data(const struct double_fabric *d, guid_t node, unsigned port, uint16_t dlid);

/* Another subnet manager answers SMInfo at that port; NULL = none does. */
void double_set_sm(struct double_fabric *d, guid_t node, unsigned port,
		   const struct wire_sm_info *info);
/* Whom another manager has told it to turn to. */
void double_set_sm_lid(struct double_fabric *d, guid_t node, unsigned port, uint16_t sm_lid);
/* It does not answer, though its IsSM bit is set. */
void double_set_sm_silent(struct double_fabric *d, guid_t node, unsigned port);

/* It does not know the class of congestion control. */
void double_set_no_cc(struct double_fabric *d, guid_t node, bool on);
/* What was set of it: the attribute's bytes, NULL = nothing. Port 0 for what is the node's. */
const uint8_t *double_cc(const struct double_fabric *d, guid_t node, unsigned port,
			 uint16_t attr_id, uint32_t mod);

/* What a port has counted, and what its node's agent can do (PortCounters alone unless told). */
void double_set_counter(struct double_fabric *d, guid_t node, unsigned port,
			enum perf_counter counter, uint64_t value);
uint64_t double_counter(const struct double_fabric *d, guid_t node, unsigned port,
			enum perf_counter counter);
void double_set_fec(struct double_fabric *d, guid_t node, unsigned port,
		    enum wire_fec_counter counter, uint64_t value);
void double_set_perf_caps(struct double_fabric *d, guid_t node, const struct wire_perf_caps *caps);

/* ---- Traffic --------------------------------------------------------------------------------- */

/*
 * Each HCA of each host sends to the like one of the host `shift` places on, in the snapshot's
 * order of hosts, at a share of what its port carries; that takes the place of all traffic before.
 * Counters follow, through the tables and links in force.
 */
void double_load_shift(struct double_fabric *d, unsigned shift, unsigned per_mille);
/* One flow more. */
void double_load_pair(struct double_fabric *d, guid_t from, unsigned from_port, guid_t to,
		      unsigned to_port, unsigned per_mille);
void double_load_off(struct double_fabric *d);
struct double_load {
	unsigned flows, stopped; /* stopped: have no way */
	double offered_mbps, carried_mbps;
	double slowest; /* what the slowest flow gets of what it wants, 0 .. 1 */
	double busiest; /* what would go by the busiest port, of what that carries.. */
	guid_t node;	/* ..which is this one */
	unsigned port;
};
struct double_load double_load(struct double_fabric *d);

/* ---- Watching -------------------------------------------------------------------------------- */

/* SMPs handed to io's send(); attr_id or method 0 = any. */
uint64_t double_sent(const struct double_fabric *d, uint8_t method, uint16_t attr_id);
uint64_t double_sent_by(const struct io *io, uint8_t method, uint16_t attr_id);
void double_sent_reset(struct double_fabric *d);

struct double_drops {
	uint64_t lost, dead_link, no_entry, loop, inactive, bad_route, mkey, sets, silent, nobody;
	uint64_t pkey, lane, queue;
};
const struct double_drops *double_drops(const struct double_fabric *d);

/* How long agents have worked at SMPs: no manager is through before the busiest one is. */
struct double_work {
	uint64_t all_us, busiest_us;
	guid_t busiest; /* 0 = none took any time */
};
struct double_work double_work(const struct double_fabric *d);

/* After every Set that a node took over, before its answer leaves. */
typedef void double_set_fn(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod);
void double_on_set(struct double_fabric *d, double_set_fn *fn, void *arg);

/*
 * Sends a MAD from another port, by LID or by the directed route in it; what then arrives at that
 * port goes to fn.
 */
void double_inject(struct double_fabric *d, guid_t node, unsigned port, const struct io_addr *to,
		   const uint8_t *mad, size_t len, io_recv_fn *fn, void *arg);

#endif
