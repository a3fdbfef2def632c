/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_node: a node of the double and its ports, as hardware and managers left them. */
#pragma once

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
#define PHYS_TRAINING	 4
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
	bool training;			      /* its link; at both ends */
	bool flaps;			      /* it was told to; at both ends */
	struct loop_timer *trains;	      /* of one end; NULL = never ran */
	uint64_t up_us;			      /* when its link came up last */
	uint16_t marked_lid;		      /* see double_judge_mark() */
	uint16_t flash_lid;		      /* that it has after power-on; 0 = none */
	guid_t guid;			      /* CAs */
	guid_t aliases[DOUBLE_ALIASES];	      /* of its table; the first is not used */
	struct loop_timer *mkey_lease;	      /* NULL = never ran */
	struct wire_sm_info sm;
	bool has_sm, sm_silent;
	bool ones;	     /* its PortInfo is all ones */
	uint8_t sl_masks[4]; /* of MlnxExtendedPortInfo: adaptive timeouts, packets out of order */
	/* the listener wants SMInfo requests, which the node's agent answers else */
	bool sm_listens;
	unsigned reregistered;
	io_recv_fn *listener; /* what arrives and is not for the node's own agent */
	void *listener_arg;
	uint8_t num;
	uint8_t active;			  /* enum double_active */
	uint8_t speed, width;		  /* the best it can: enum topo_speed, lanes */
	uint8_t trained;		  /* enum topo_speed, since it came up */
	uint8_t fec_mode;		  /* its number, or enum double_fec */
	uint8_t cable_speed, cable_lanes; /* what its cable can; 0 = as much as the ports */
	uint32_t capmask;
	uint8_t most_mtu, most_vls; /* double_set_most() */
	uint8_t down_reason;	    /* of its link's latest fall, if it is no pulled cable */
	int8_t heat;		    /* of its module, in C; 0 = as usual */
	struct dmodule {
		char serial[17], part[17]; /* "" = as they were delivered */
	} module;
};

struct dnode {
	struct double_fabric *d;
	struct loop_timer *boots; /* NULL = never ran */
	guid_t guid;		  /* its name here */
	struct wire_node_info ni;
	struct wire_switch_info si;
	const struct topo_node *design;
	char desc[65];
	struct dport *ports;				 /* [nports + 1] */
	uint8_t caps[64], private_lft[64], adaptive[64]; /* of NVIDIA's attributes.. */
	bool has_caps;					 /* ..which are unknown to it otherwise */
	struct dar *ar; /* NULL = none of its tables is kept (double_adaptive.h) */
	uint8_t *lft;
	uint32_t lft_size;
	uint16_t *mft; /* [mft_cap][columns] */
	unsigned columns;
	bool silent, state_table, no_sets;
	bool off;	      /* no power, or booting */
	bool refuses;	      /* Sets are answered with a status, and not taken over */
	bool mum;	      /* sends no traps */
	uint8_t labels;	      /* enum double_labels */
	bool no_cc;	      /* does not know the class */
	bool no_registers;    /* does not know AccessRegister */
	uint16_t firmware[3]; /* 0 = as its kind has */
	unsigned registers_read;
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

static inline bool is_switch(const struct dnode *node)
{
	return node->ni.type == TOPO_SWITCH;
}
