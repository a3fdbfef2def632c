/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * decoder: reads the response of an HTTP endpoint in Prometheus' text format. scrape.c sends the
 * requests; a decoder knows one kind of exporter. A new kind is a file with a `const struct
 * decoder` and a row in scrape.c.
 */
#ifndef FMD_NVSWITCH_DECODER_H
#define FMD_NVSWITCH_DECODER_H

#include "fm/nvswitch/exposition.h"
#include "fm/nvswitch/source.h"
#include "fm/nvswitch/targets.h"

struct decoder_subject { /* the host that a response is judged for */
	struct source_home *home;
	const struct target *target;
	unsigned host, source; /* of health */
};

struct decoder {
	/* Whether it reads that target; the first row of scrape.c's table that does is used. */
	bool (*reads)(const struct target *target);
	/*
	 * One response is for all hosts that have its URL: it is requested once, and what is kept
	 * of it outlives changes of the list of hosts. Else there is a request for each host.
	 */
	bool shared;
	void *(*keep)(void);	  /* makes what is kept of an endpoint from response to response */
	void (*drop)(void *kept); /* frees that */
	const struct exposition_ops *ops; /* of a response; their argument is what is kept */
	void (*begin)(void *kept, const struct target *target, uint64_t now_us); /* one at a time */
	void (*whole)(void *kept); /* the response is complete: it counts; NULL = not needed */
	/*
	 * Judges a host by the response, between whole() and end(). False: it says nothing of the
	 * host, with the reason in error.
	 */
	bool (*judge)(void *kept, const struct decoder_subject *subject,
		      struct nvswitch_verdict *verdict, char *error, size_t error_size);
	void (*end)(void *kept); /* ends a response, complete or not; NULL = not needed */
	/*
	 * Returns a list, which the caller owns, with a row for each thing that the endpoint leaves
	 * out; NULL = not known.
	 */
	json_t *(*missing)(const void *kept, enum nvswitch_system system);
};

extern const struct decoder decoder_nmx;  /* scrape.c: a rack's NMX-T */
extern const struct decoder decoder_dcgm; /* decode_dcgm.c: dcgm-exporter of one host */

#endif
