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
/*
 * That of a node, for a walk in the order of GUIDs: *old, which the walk hands on, is the first of
 * the map that it has not come to. Those with lower GUIDs are gone, and freed. A new one is made
 * when there is none, or it had another number of ports; the map owns it.
 */
struct pnode *pnode_take(cl_qmap_t *nodes, cl_map_item_t **old, const struct inv_node *inv);
/* The end of that walk: frees `old` and all behind it. */
void pnode_drop_from(cl_qmap_t *nodes, cl_map_item_t *old);
/* The LID that answers for a port; 0 = cannot be asked. */
uint16_t port_lid(const struct inv_node *node, unsigned num);
/* It has an Active link and can be reached by LID; false too where there is no such port. */
bool port_is_asked(const struct inv_node *node, unsigned num);
void pnode_forget_ber(cl_qmap_t *nodes); /* error rates are counted anew */
void pnode_free_all(cl_qmap_t *nodes);

/* What the last reading of its counters says of the port's error rate. */
struct ber_reading pnode_ber_reading(const struct pnode *n, uint8_t num, uint64_t now_us);
struct perf_port pnode_port(const struct pnode *n, uint8_t num);

#endif
