/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * decoder: what the answer of an HTTP endpoint in Prometheus' text format says of hosts. scrape.c
 * asks and hands on; a decoder knows one kind of exporter. A new kind is a file with a `const
 * struct decoder` and a row in scrape.c.
 */
#ifndef FMD_NVSWITCH_DECODER_H
#define FMD_NVSWITCH_DECODER_H

#include "fm/nvswitch/exposition.h"
#include "fm/nvswitch/source.h"
#include "fm/nvswitch/targets.h"

struct decoder_subject { /* the host that an answer is judged for */
	struct source_home *home;
	const struct target *target;
	unsigned host, source; /* of health */
};

struct decoder {
	bool (*reads)(const struct target *target); /* the first of scrape.c's table that does */
	/*
	 * One answer is for all hosts that have its URL: it is asked for once, and what is kept of
	 * it outlives changes of the list of hosts. Else each host is asked for by itself.
	 */
	bool shared;
	void *(*keep)(void); /* what is kept of an endpoint from answer to answer; drop() ends it */
	void (*drop)(void *kept);
	const struct exposition_ops *ops; /* of an answer; their argument is what is kept */
	void (*begin)(void *kept, const struct target *target, uint64_t now_us); /* one at a time */
	void (*whole)(void *kept); /* the answer is complete: it counts; NULL = no matter */
	/*
	 * What the answer says of a host. False, with the reason in error: nothing. Between whole()
	 * and end().
	 */
	bool (*judge)(void *kept, const struct decoder_subject *subject,
		      struct nvswitch_verdict *verdict, char *error, size_t error_size);
	void (*end)(void *kept); /* of the answer, complete or not; NULL = no matter */
	/*
	 * What the endpoint leaves out, a row each: a list, the caller's; NULL = nobody can tell.
	 */
	json_t *(*missing)(const void *kept, enum nvswitch_system system);
};

extern const struct decoder decoder_nmx;  /* decode_nmx.c: a rack's NMX-T */
extern const struct decoder decoder_dcgm; /* decode_dcgm.c: dcgm-exporter of one host */

#endif
