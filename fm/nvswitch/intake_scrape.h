/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * scrape: the exporters of hosts and of racks as sources: their URLs, from a file or by one pattern
 * for all hosts of the fabric, and the decoders of their responses.
 */
#ifndef FMD_NVSWITCH_INTAKE_SCRAPE_H
#define FMD_NVSWITCH_INTAKE_SCRAPE_H

#include "fm/nvswitch/intake_exposition.h"
#include "fm/nvswitch/intake_fetch.h"
#include "fm/nvswitch/evidence.h"
#include "fm/nvswitch/intake_sources.h"
#include "fm/nvswitch/state.h"

struct target {
	char *host, *where; /* where: the URL as written */
	enum nvswitch_system system;
	enum nvswitch_trust trust; /* of its responses */
	struct nmx_place place;	   /* of the host in responses about a whole rack */
	struct fetch_url url;
};
struct targets {
	struct target *list;
	unsigned count;
};

/*
 * Adds a host by a pattern in which %h is its name. 0, or -1: the result is no URL, or the name has
 * characters that host names have not.
 */
int targets_add(struct targets *targets, const char *host, const char *pattern,
		enum nvswitch_system system);
/* Frees the list; it is empty then. */
void targets_fini(struct targets *targets);

/* ---- Reads the response of an HTTP endpoint in Prometheus' text format ----------------------- */

/*
 * Scrape.c sends the
 * requests; a decoder knows one kind of exporter. A new kind is a file with a `const struct
 * decoder` and a row of the decoders in intake_scrape.c.
 */

struct decoder_subject { /* the host that a response is judged for */
	struct source_home *home;
	const struct target *target;
	unsigned host, source; /* of health */
};

struct decoder {
	/*
	 * Whether it reads that target, NULL = any; the first row of the decoders that does is
	 * used.
	 */
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

extern const struct decoder decoder_nmx;  /* a rack's NMX-T */
extern const struct decoder decoder_dcgm; /* dcgm-exporter of one host */

/* ---- Fields ---------------------------------------------------------------------------------- */

/*
 * Which of DCGM's fields about NVLinks an exporter reports, and what is not known without
 * the others. Exporters report the fields in their list of counters, and the default list has none
 * of these; etc/dcgm has lists for each generation of DCGM.
 */

/* Adds the field of a metric's name to *seen, a set that is 0 at first. */
void fields_note(uint32_t *seen, struct exposition_text name);
/*
 * A new list, which the caller owns, with a row for each field that a machine of that system should
 * report and does not: the field, the first DCGM release that has it, and what is not known without
 * it. Empty if no DCGM metric was seen at all.
 */
json_t *fields_missing(uint32_t seen, enum nvswitch_system system);

#endif
