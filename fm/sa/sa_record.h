/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * sa_record: what a record family (record_*.c) is to the SA, and what it is written with. Private
 * to fm/sa.
 *
 * To add a record: one file with a `const struct sa_record`, and its row of SA_RECORDS below.
 */
#ifndef FMD_SA_SA_RECORD_H
#define FMD_SA_SA_RECORD_H

#include "fm/mad/wire_sa.h"
#include "fm/mad/wire_sa_comp.h"

/* All that the SA knows, each by the name of its struct behind `sa_record_`; most wanted first. */
#define SA_RECORDS(ROW)                                                                            \
	ROW(path)                                                                                  \
	ROW(mcmember)                                                                              \
	ROW(node)                                                                                  \
	ROW(port_info)                                                                             \
	ROW(class_port_info)                                                                       \
	ROW(inform_info)                                                                           \
	ROW(multi_path)                                                                            \
	ROW(service)                                                                               \
	ROW(guid_info)                                                                             \
	ROW(link)                                                                                  \
	ROW(switch_info)                                                                           \
	ROW(sm_info)                                                                               \
	ROW(pkey)                                                                                  \
	ROW(lft)                                                                                   \
	ROW(mft)                                                                                   \
	ROW(sl2vl)                                                                                 \
	ROW(vl_arb)                                                                                \
	ROW(inform_info_record)

struct sa;
struct sa_query;

enum { SA_GET = 1, SA_TABLE = 2, SA_SET = 4, SA_DELETE = 8, SA_MULTI = 16 };

struct sa_record {
	uint16_t attr_id; /* enum wire_sa_attr */
	uint8_t methods;  /* SA_GET .. */
	bool trusted;	  /* only for requests that carry the SM_Key */
	/*
	 * How long a row is and where its components lie: SA_COMPONENTS(table). A record whose
	 * emit() decides itself what matches has no table, and says `.layout.size`, a multiple of
	 * 8.
	 */
	struct wire_sa_layout layout;
	/* Reads the request and sets the items to walk. Returns a status to refuse. */
	enum wire_sa_status (*prepare)(struct sa_query *q);
	/* Adds the rows of one item, by sa_row() and sa_row_keep(). */
	void (*emit)(struct sa_query *q, uint32_t item);
};
#define SA_COMPONENTS(table)                                                                       \
	{                                                                                          \
		.comps = table, .ncomps = sizeof(table) / sizeof(table[0])                         \
	}

#define SA_RECORD_DECLARE(name) extern const struct sa_record sa_record_##name;
SA_RECORDS(SA_RECORD_DECLARE)
#undef SA_RECORD_DECLARE
#define SA_RECORD_NUMBER(name) SA_RECORD_NUMBER_##name,
enum { SA_RECORDS(SA_RECORD_NUMBER) SA_RECORD_COUNT };
#undef SA_RECORD_NUMBER

/* ---- For emit() ------------------------------------------------------------------------------ */

/*
 * Room for a row at the answer's end, not cleared; NULL: the answer is too long, q->status says so.
 */
uint8_t *sa_row(struct sa_query *q);
void sa_row_keep(struct sa_query *q); /* keeps it if it is as the component mask asks */
void sa_row_add(struct sa_query *q);  /* keeps it */

/* ---- For prepare() --------------------------------------------------------------------------- */

/* Items are indices of the view's nodes: all of them, or that of the LID the request names. */
enum wire_sa_status sa_walk_nodes(struct sa_query *q);
enum wire_sa_status sa_walk_switches(struct sa_query *q);
enum wire_sa_status sa_walk_once(struct sa_query *q);		     /* one item, 0 */
void sa_walk_one(struct sa_query *q, uint32_t item, uint32_t count); /* that; none from count on */

#endif
