/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* double_state: the whole fabric's state, and what is under way in it. */
#pragma once

#include "tests/fabric/double_node.h"

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

#define DOUBLE_MACHINE 8

struct dclient {
	struct io io; /* first */
	struct double_fabric *d;
	struct dport *attach;		       /* NULL = none */
	struct dport *machine[DOUBLE_MACHINE]; /* other ports of its machine */
	unsigned nmachine;
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
	uint64_t sets[256];	   /* that came to devices, by management class */
	uint64_t vendor_gets;	   /* of NVIDIA's class 0x0a */
	uint64_t vs_key;	   /* without which no agent answers; 0 = none is needed */
	uint64_t register_garbage; /* registers are bytes by that seed; 0 = true */
	enum {
		DOUBLE_ALL,	   /* .. with the head, */
		DOUBLE_PAGE,	   /* .. behind it */
		DOUBLE_HALF,	   /* the page ends in its middle */
		DOUBLE_OTHER_PORT, /* the register is that of another port */
		DOUBLE_INFO,	   /* true, and GeneralInfo are bytes by the seed */
	} register_spoilt;
	uint64_t changed_us;	      /* when what devices forward may have changed last */
	uint64_t ways;		      /* how often something changed that ways depend on */
	struct {		      /* by the loop's clock, since they were reset; 0 = not yet */
		uint64_t trap_us;     /* the first trap reached a port */
		uint64_t first_us;    /* the first SMP was carried out.. */
		uint64_t last_us;     /* ..and the latest */
		uint64_t block_us;    /* the first Set of LFT was carried out.. */
		uint64_t answered_us; /* ..and the latest answered */
		uint64_t register_us; /* the first AccessRegister was */
		unsigned blocks;      /* of LFTs that were set */
		unsigned entries, groups; /* the same of AR's tables */
	} stamps;
	uint64_t tables_asked;
	struct dmute {
		guid_t node;	  /* 0 = all */
		uint8_t method;	  /* 0 = any */
		uint16_t attr_id; /* 0 = any */
	} * mutes;
	unsigned nmutes;
	struct double_times times;
	bool strict;
};
