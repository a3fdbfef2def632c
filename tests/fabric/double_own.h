/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_own: the double's state, shared by its files. */
#ifndef FMD_TESTS_FABRIC_DOUBLE_OWN_H
#define FMD_TESTS_FABRIC_DOUBLE_OWN_H

#include "tests/fabric/double.h"

#define CLASS_CC	 0x21 /* IBA annex A10 */
#define CLASS_VENDOR	 0x0a /* of NVIDIA's devices */
#define LFT_NONE	 255
#define MFT_PORTS	 16 /* of one column */
#define MFT_BLOCK	 32 /* MLIDs of one block */
#define MLID_FIRST	 0xc000
#define LID_PERMISSIVE	 0xffff
#define HOPS_MAX	 64
#define QP1_QKEY	 0x80010000u
#define PHYS_POLLING	 2
#define PHYS_DISABLED	 3
#define PHYS_LINK_UP	 5
#define SM_INFO_ATTR_MAX 0x100

/* Vendors' attributes, of which there are few, are apart from the standard's. */
static inline unsigned sent_place(uint16_t attr_id)
{
	return attr_id >= 0xff00 ? 0xc0 + (attr_id & 0x3f) : attr_id & 0xff;
}

struct dnode;

struct dfault {
	unsigned per_mille, value;
};

#define DOUBLE_ALIASES 16

struct dport {
	struct dnode *node;
	struct dport *peer; /* NULL = no cable */
	struct wire_port_info info;
	uint16_t *pkeys; /* NULL = as after power-on */
	uint8_t arb[4][64];
	uint8_t (*sl2vl)[8];	/* by input port; CAs: one */
	struct wire_perf *perf; /* NULL = nothing was counted */
	uint64_t fec[WIRE_FEC_COUNTERS];
	struct dfault out[DOUBLE_WAY_FAULTS]; /* of what leaves by it */
	bool odd;			      /* any of these is set */
	bool cut;			      /* the cable; at both ends */
	bool disabled;			      /* by the SM; at this end */
	guid_t guid;			      /* CAs */
	guid_t aliases[DOUBLE_ALIASES];	      /* of its table; the first is not used */
	struct loop_timer *mkey_lease;	      /* NULL = never ran */
	struct wire_sm_info sm;
	bool has_sm, sm_silent;
	/* the listener wants SMInfo requests, which the node's agent answers else */
	bool sm_listens;
	unsigned reregistered;
	io_recv_fn *listener; /* what arrives and is not for the node's own agent */
	void *listener_arg;
	uint8_t num;
	uint8_t active;			  /* enum double_active */
	uint8_t speed, width;		  /* the best it can: enum topo_speed, lanes */
	uint8_t trained;		  /* enum topo_speed, since it came up */
	uint8_t cable_speed, cable_lanes; /* what its cable can; 0 = as much as the ports */
	uint32_t capmask;
};

struct dnode {
	guid_t guid; /* its name here */
	struct wire_node_info ni;
	struct wire_switch_info si;
	const struct topo_node *design;
	char desc[65];
	struct dport *ports;				 /* [nports + 1] */
	uint8_t caps[64], private_lft[64], adaptive[64]; /* of NVIDIA's attributes.. */
	bool has_caps;					 /* ..which are unknown to it otherwise */
	uint8_t *lft;
	uint32_t lft_size;
	uint16_t *mft; /* [mft_cap][columns] */
	unsigned columns;
	bool silent, state_table, no_sets;
	bool off;		/* no power */
	bool refuses;		/* Sets are answered with a status, and not taken over */
	bool mum;		/* sends no traps */
	bool no_cc;		/* does not know the class */
	struct dcc *cc;		/* what was set of congestion control */
	bool pretends;		/* acknowledges blocks of tables and stores none */
	uint16_t feigns;	/* .. or values of that attribute; 0 = none */
	unsigned time_us;	/* its agent's for one SMP; 0 = conf.device_us */
	unsigned queue;		/* what waits for the agent, at most */
	unsigned queued;	/* .. and now */
	uint64_t busy_until_us; /* its agent is */
	uint64_t worked_us;	/* its agent has, since the fabric began */
	struct dtrap *traps;	/* told, and not repressed yet */
	uint64_t key_trap_us;	/* when it last told of a key; 0 = never */
	uint64_t booted_us;
	struct wire_perf_caps perf_caps;
	struct dfault faults[DOUBLE_FAULTS];
};

enum devent_kind {
	EVENT_LEAVES,
	EVENT_REACHES, /* late, the node it is for */
	EVENT_RUNS,    /* its turn at the agent has come, and is over */
	EVENT_ARRIVES
};

/* A MAD under way. */
struct devent {
	struct devent *next; /* in the pool */
	struct double_fabric *d;
	struct loop_timer *timer;
	struct dport *port; /* it leaves from, or arrives at */
	struct dport *at;   /* REACHES, RUNS: where its way ended */
	struct wire_mad m;  /* likewise: its header */
	unsigned hops;
	struct io_addr addr; /* to, or from */
	enum devent_kind kind;
	size_t len;
	uint8_t *mad;
	size_t size; /* of mad */
};

#define DOUBLE_CLIENTS 2

struct dclient {
	struct io io; /* first */
	struct double_fabric *d;
	struct dport *attach; /* NULL = none */
	bool frozen, unplugged, occupied;
	uint64_t sent[256][SM_INFO_ATTR_MAX]; /* by method, sent_place() of the attribute */
};

/* What comes to a host's port that nobody listens at: its kernel is there all the same. */
typedef void dkernel_fn(void *arg, struct dport *port, const struct io_addr *from,
			const uint8_t *mad);

struct double_fabric {
	struct dclient clients[DOUBLE_CLIENTS];
	dkernel_fn *kernel; /* NULL = hosts have none */
	void *kernel_arg;
	struct loop *loop;
	struct topo *topo;
	struct double_conf conf;
	struct dnode *nodes;	       /* by topo index */
	struct dport *ports;	       /* by topo index */
	struct devent *pool;	       /* events not in use */
	struct devent *due, **due_end; /* happen now, one after the other */
	bool in_due;
	struct devent **events; /* all, to free them */
	unsigned nevents;
	uint64_t random;
	uint64_t trap_tid;
	bool traps;
	struct dload *load; /* NULL = no traffic */
	double_set_fn *on_set;
	void *on_set_arg;
	struct double_drops drops;
	struct {
		guid_t node;
		uint8_t method; /* 0 = nobody is mute */
		uint16_t attr_id;
	} mute;
};

struct dclient *double_client(struct double_fabric *d, const struct dport *port); /* or NULL */
struct dnode *double_node(const struct double_fabric *d, guid_t guid);
struct dport *double_port(const struct double_fabric *d, guid_t guid, unsigned port);
bool double_chance(struct double_fabric *d, unsigned per_mille);
unsigned double_pkey_cap(const struct dport *port); /* entries of its P_Key table */
static inline bool is_switch(const struct dnode *node)
{
	return node->ni.type == TOPO_SWITCH;
}

/* double_walk.c: ways through tables and links as they are. */
enum walk_end {
	WALK_ARRIVES,
	WALK_NO_ENTRY,	   /* the switch's table has none, or it is beyond LinearFDBTop */
	WALK_NOT_BY_TABLE, /* the switch forwards otherwise: adaptive routing, private LFT */
	WALK_LOOP,
	WALK_DEAD_LINK,	 /* the port has no link */
	WALK_NOT_ACTIVE, /* one end of the link is not */
	WALK_NO_LANE,	 /* SL2VL names VL 15, or one that is not operational */
	WALK_PKEY_OUT,	 /* the switch's port does not let it out.. */
	WALK_PKEY_IN,	 /* ..or not in */
	WALK_PKEY_END,	 /* its end has no such P_Key */
	WALK_WRONG_HOST, /* comes to a CA that it is not for */
	WALK_LOST,	 /* by a fault of a cable */
	WALK_NO_PORT,	 /* of a directed route: the node has none of that number */
	WALK_ENDS
};
const char *walk_end_text(enum walk_end end);

/* What goes by LID. */
struct packet {
	uint16_t dlid, pkey;
	uint8_t sl;
	bool data; /* not an SMP: passes Active links alone, by lanes and P_Keys */
	bool bare; /* its SL and P_Key are not looked at */
	bool look; /* only asked: nothing is lost by chance, counted or told */
};

struct walk {
	enum walk_end end;
	struct dport *at;     /* where it ended: arrived, or the port where it died */
	struct dport **trail; /* NULL, or room for HOPS_MAX + 1: the ports that it left by */
	unsigned hops;
	unsigned late_us; /* by faults of cables */
	bool twice;
};
/* True where it arrives. A walk's faults and trail are the caller's to clear and give. */
bool walk_lid(struct double_fabric *d, struct dport *from, const struct packet *packet,
	      struct walk *walk);
/* Over one cable. */
bool walk_cross(struct double_fabric *d, struct dport *out, const struct packet *packet,
		struct walk *walk);
/*
 * The port's own table has it, and one of both is a full member (IBA 10.9.3). Where a switch passes
 * packets on it is the partition that counts: managers give such a port the table of the host
 * behind it, limited memberships too.
 */
bool pkey_passes(const struct dport *port, uint16_t pkey);
uint16_t port_pkey(const struct dport *port, unsigned index);

/* double_net.c */
void net_send(struct double_fabric *d, struct dport *from, const struct io_addr *to,
	      const uint8_t *mad, size_t len);
/* Between the two nothing happens at once. hold() says what release() is to be told. */
bool net_hold(struct double_fabric *d);
void net_release(struct double_fabric *d, bool held);

/*
 * double_trap.c: to the SM that the node's port names, as often as conf says until it is repressed.
 */
void net_trap(struct double_fabric *d, struct dnode *node, const struct wire_notice *notice);
void trap_repressed(struct double_fabric *d, struct dnode *node, uint64_t tid);
void traps_forget(struct dnode *node);
/*
 * A bad P_Key came to the port, a wrong M_Key to the node: counted, and told by a trap now and
 * then.
 */
void port_set_capmask(struct double_fabric *d, struct dport *port, uint32_t capmask); /* trap 144 */
void port_bad_pkey(struct double_fabric *d, struct dport *port);
void node_bad_mkey(struct double_fabric *d, struct dport *own);

/*
 * double_smp.c: the node's subnet management agent. Turns the request, header and bytes, into its
 * answer; false = drops it.
 */
bool smp_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m, uint8_t *mad);

/* double_mkey.c: false where the M_Key keeps the request from being answered. */
bool mkey_check(struct double_fabric *d, struct dport *arrival, const struct wire_mad *m);

/* double_load.c */
struct dload;
void load_count(struct double_fabric *d, struct dport *port); /* up to now */
void load_refresh(struct double_fabric *d);
void load_changed(struct double_fabric *d);
void load_free(struct double_fabric *d);

/* double_cc.c: likewise, congestion control. */
struct dcc;
bool cc_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m, uint8_t *mad);
void cc_forget(struct dnode *node);

/* double_vendor.c: likewise, NVIDIA's class 0x0a. False: it has no such agent. */
bool vendor_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m,
		    uint8_t *mad);

/* double_perf.c: likewise, the performance management agent. It answers always. */
void perf_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m, uint8_t *mad);
void perf_add(struct dport *port, enum perf_counter counter, uint64_t amount);
const struct wire_perf *perf_now(struct double_fabric *d, struct dport *port);

/* Something changed that a packet's way may depend on. */
static inline void ways_changed(struct double_fabric *d)
{
	if (d->load)
		load_changed(d);
}

/* double_link.c */
void port_power_on(struct double_fabric *d, struct dport *port);
void link_update(struct double_fabric *d, struct dport *port); /* after cut, disabled changed */
void link_drop(struct dport *port); /* silently; link_update() brings it up again */
uint8_t port_set_state(struct double_fabric *d, struct dport *port,
		       uint8_t state); /* the state asked for; 0 or a status */

#endif
