/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_own: the double's state, shared by its files. */
#ifndef FMD_TESTS_FABRIC_DOUBLE_OWN_H
#define FMD_TESTS_FABRIC_DOUBLE_OWN_H

#include "tests/fabric/double.h"

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
	unsigned loss;			/* per mille */
	bool cut;			/* the cable; at both ends */
	bool disabled;			/* by the SM; at this end */
	guid_t guid;			/* CAs */
	guid_t aliases[DOUBLE_ALIASES]; /* of its table; the first is not used */
	struct wire_sm_info sm;
	bool has_sm, sm_silent;
	unsigned reregistered;
	io_recv_fn *listener; /* what arrives and is not for the node's own agent */
	void *listener_arg;
	uint8_t num;
	uint8_t active;	      /* enum double_active */
	uint8_t speed, width; /* of the cable: enum topo_speed, lanes */
	uint32_t capmask;
};

struct dfault {
	unsigned per_mille, value;
};

struct dnode {
	guid_t guid; /* its name here */
	struct wire_node_info ni;
	struct wire_switch_info si;
	const struct topo_node *design;
	char desc[65];
	struct dport *ports; /* [nports + 1] */
	uint8_t caps[64], private_lft[64],
		adaptive[64]; /* of NVIDIA's attributes; caps all 0: unknown to it */
	uint8_t *lft;
	uint32_t lft_size;
	uint16_t *mft; /* [mft_cap][columns] */
	unsigned columns;
	bool silent, state_table, no_sets;
	struct wire_perf_caps perf_caps;
	struct dfault faults[DOUBLE_FAULTS];
};

enum devent_kind { EVENT_LEAVES, EVENT_ARRIVES };

/* A MAD under way. */
struct devent {
	struct devent *next; /* in the pool */
	struct double_fabric *d;
	struct loop_timer *timer;
	struct dport *port;  /* it leaves from, or arrives at */
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

struct double_fabric {
	struct dclient clients[DOUBLE_CLIENTS];
	struct loop *loop;
	struct topo *topo;
	struct double_conf conf;
	struct dnode *nodes;	/* by topo index */
	struct dport *ports;	/* by topo index */
	struct devent *pool;	/* events not in use */
	struct devent **events; /* all, to free them */
	unsigned nevents;
	uint64_t random;
	uint64_t trap_tid;
	bool traps;
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

/* double_net.c */
void net_send(struct double_fabric *d, struct dport *from, const struct io_addr *to,
	      const uint8_t *mad, size_t len);
int net_trace(struct double_fabric *d, struct dport *from, uint16_t dlid, bool data,
	      struct dport **end);
void net_trap(struct double_fabric *d, struct dnode *node, const struct wire_notice *notice);

/* double_smp.c: the node's subnet management agent. Turns the request, header and bytes, into its answer; false = drops it. */
bool smp_execute(struct double_fabric *d, struct dport *arrival, struct wire_mad *m, uint8_t *mad);

/* double_perf.c: likewise, the performance management agent. It answers always. */
void perf_execute(struct dport *arrival, struct wire_mad *m, uint8_t *mad);

/* double_link.c */
void port_power_on(struct double_fabric *d, struct dport *port);
void link_update(struct double_fabric *d, struct dport *port); /* after cut, disabled changed */
void link_drop(struct dport *port); /* silently; link_update() brings it up again */
uint8_t port_set_state(struct double_fabric *d, struct dport *port,
		       uint8_t state); /* the state asked for; 0 or a status */

#endif
