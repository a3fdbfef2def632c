/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* readings: what is kept of nodes and their ports between two passes over their counters. */
#ifndef FMD_PERF_READINGS_H
#define FMD_PERF_READINGS_H

#include <complib/cl_qmap.h>
#include "fm/perf/perf.h"

struct detail { /* of a port that is not well */
	uint16_t rcv[WIRE_PERF_DETAILS], xmit[WIRE_PERF_DETAILS];
};

struct pnode {
	cl_map_item_t item; /* key = node GUID */
	guid_t guid;
	struct inv_node *inv; /* of this pass */
	uint32_t silent_in;   /* the pass in which it did not answer */
	bool has_caps, asked_caps, no_details;
	struct wire_perf_caps caps;
	uint64_t due[4]; /* ports that are asked when it has told its caps, by bit */
	uint8_t nports;
	struct judge_port *judged;	/* [nports + 1] */
	struct port_counters *counters; /* [nports]: of port N at N - 1 */
	struct ber_port *ber;		/* as judged */
	float *bits_s;			/* as judged: when last read */
	struct judge_fec *fec;		/* as judged; NULL = its agent does not count that */
	struct detail **details;	/* [nports + 1], NULL = well */
};

/* `nodes` is the owner's map of all of them. */
struct pnode *pnode_find(const cl_qmap_t *nodes, guid_t guid); /* NULL: none */
/* That of a node; a new one when there is none, or it had another number of ports. */
struct pnode *pnode_of(cl_qmap_t *nodes, const struct inv_node *inv);
void pnode_forget_gone(cl_qmap_t *nodes, const struct inventory *inv);
void pnode_forget_ber(cl_qmap_t *nodes); /* error rates are counted anew */
void pnode_free_all(cl_qmap_t *nodes);

/* What the last reading of its counters says of the port's error rate. */
struct ber_reading pnode_ber_reading(const struct pnode *n, uint8_t num, uint64_t now_us);
struct perf_port pnode_port(const struct pnode *n, uint8_t num);

#endif
