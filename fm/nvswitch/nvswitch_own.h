/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What the monitor's files share: nvswitch.c (life, decisions, events), nvswitch_inputs.c (what is opened), nvswitch_poll.c (exporters), nvswitch_report.c (JSON). */
#ifndef FMD_NVSWITCH_OWN_H
#define FMD_NVSWITCH_OWN_H

#include "fm/nvswitch/fetch.h"
#include "fm/nvswitch/hook.h"
#include "fm/nvswitch/log_server.h"
#include "fm/nvswitch/nvswitch.h"
#include "fm/nvswitch/targets.h"

struct scrape; /* one answer under way */

struct rack { /* an NMX-T endpoint, with what is kept of it from answer to answer */
	char *where;
	struct nmx *nmx;
	bool used;
};

struct poll { /* of one target, in the order of targets */
	struct nvswitch *nv;
	unsigned host, source;
	struct scrape *scrape;
	unsigned leader;      /* who asks for all of its rack; itself where it is no rack */
	struct rack *rack;    /* NULL = none; valid while polls are */
	uint32_t fields;      /* fields.h: of the latest answer */
	uint64_t link_downs;  /* of the latest answer, UINT64_MAX = none */
	char address[48];     /* where the latest good answer came from, "" = ask for it */
	unsigned address_age; /* answers since it was asked for */
};

struct change { /* of a host's state, in the step that runs */
	unsigned host;
	enum nvswitch_state before;
};

/* The kinds of log servers, then the exporters and other names of hosts. */
enum { NVSWITCH_EXPORTERS = LOG_SERVER_KINDS, NVSWITCH_ALIASES, NVSWITCH_INPUTS };
#define NVSWITCH_ERROR 256

struct nvswitch {
	struct loop *loop;
	const struct nvswitch_ops *ops;
	void *arg;
	struct health health;

	/* As configured; texts are ours. */
	struct nvswitch_conf conf; /* url NULL = not yet */
	char errors[NVSWITCH_INPUTS]
		   [NVSWITCH_ERROR]; /* why an input is not open; "" = it is, or is not wanted */
	struct loop_timer *retry_timer;
	struct targets targets;
	char **present;
	unsigned npresent;

	struct fetch *fetch; /* NULL = nobody is asked */
	struct poll *polls;  /* [targets.count] */
	struct rack *racks;
	unsigned nracks;
	unsigned cursor, in_flight;
	uint64_t due_us; /* of the poll at the cursor */
	struct loop_timer *poll_timer;

	struct log_server *logs[LOG_SERVER_KINDS]; /* NULL = not open */
	char own_name[256];
	uint64_t strangers; /* lines of hosts that nobody knows */
	struct senders senders;
	struct lookup *lookups; /* of senders' addresses, under way */
	unsigned nlookups;
	struct loop_timer *lookup_timer;
	bool refused_told; /* at refused_us */
	uint64_t refused_us;
	struct log_limit stranger_limit, source_limit;

	struct hook *hook;
	struct loop_timer *step_timer;
	bool soon; /* a step is near */
	struct change *changes;
	unsigned nchanges;
};

/* nvswitch.c */
void nvswitch_step_soon(struct nvswitch *nv);

/* nvswitch_inputs.c */
const char *nvswitch_input_name(unsigned input);
bool nvswitch_input_wanted(const struct nvswitch *nv, unsigned input);
void nvswitch_retarget(struct nvswitch *nv); /* the fabric's hosts are others */
void nvswitch_inputs_fini(struct nvswitch *nv);

/* nvswitch_senders.c */
extern const struct log_server_ops nvswitch_log_ops; /* arg: the monitor */
void nvswitch_know_addresses(struct nvswitch *nv);   /* targets or aliases are others */
void nvswitch_senders_fini(struct nvswitch *nv);

/* nvswitch_report.c */
const char *nvswitch_host_system(const struct health_host *host);
/* What is known of a host, a line a finding, cut to some KB; to be freed. */
char *nvswitch_evidence_text(const struct nvswitch *nv, const struct health_host *host);

/* nvswitch_poll.c */
void nvswitch_polls_start(struct nvswitch *nv); /* targets and fetch are set */
void nvswitch_polls_stop(struct nvswitch *nv);
void nvswitch_racks_fini(struct nvswitch *nv);

#endif
