/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* mad_request: what is asked of a device, and the answer that its sender is called with. */
#ifndef FMD_MAD_MAD_REQUEST_H
#define FMD_MAD_MAD_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "fm/mad/wire.h"

struct mad_path { /* a directed route: ports[0 .. hops) are the output ports, hop by hop */
	uint8_t hops;
	uint8_t ports[WIRE_MAX_HOPS];
};

/*
 * A request. `data` and `path` are copied; data NULL = zeros. A SMP has 64 bytes of data. One of
 * another class (a GMP) goes to a QP of lid, and its data are the WIRE_GMP_DATA bytes behind the
 * common header: what lies where in them is the class's business.
 */
struct mad_request {
	const struct mad_path *path; /* directed route, or NULL: LID-routed to lid */
	uint16_t lid;
	uint8_t mgmt_class;  /* 0 = SMP; else WIRE_PERF, WIRE_SA .. */
	uint8_t sl;	     /* of a GMP */
	uint16_t pkey_index; /* of a GMP: in the local port's table */
	uint32_t qp;	     /* of a GMP: 0 = QP 1 */
	uint8_t method;	     /* WIRE_GET, WIRE_SET; WIRE_REPORT .. */
	uint16_t attr_id;
	uint32_t attr_mod;
	const uint8_t *data;
	guid_t device; /* whose cap this counts against; 0 = none */
	bool urgent;   /* before those that are not */
	bool doubtful; /* was lost before: another loss is no sign of a full network */
	bool local;    /* to the own port: it is not on the wire, and not counted as sent */
	unsigned timeout_ms, retries; /* 0 = from mad_conf */
	uint64_t key;		      /* SMPs: the M_Key; 0 = one of those that mad chooses from */
	bool once;		      /* sent once, whatever mad_conf says */
	/*
	 * Asked before each try, with the callback's arg, also from within mad_send(): by then
	 * there may be another path. NULL = it stays.
	 */
	void (*path_of)(void *arg, struct mad_path *path);
};

enum mad_result { MAD_OK, MAD_TIMEOUT, MAD_STATUS, MAD_SEND_FAILED };
struct mad_answer {
	enum mad_result result;
	uint16_t status; /* MAD_STATUS: the answer's status field */
	/*
	 * MAD_OK and MAD_STATUS; valid during the callback. length: as many bytes as a request's;
	 * of a table that RMPP put together (wire_sa_table_decode()), as many as it has.
	 */
	const uint8_t *data;
	size_t length;
	/*
	 * MAD_TIMEOUT: the last try was answered, by `data`, whose field of that name is impossible
	 * (wire_flaw()); NULL = it was not.
	 */
	const char *flaw;
	unsigned rtt_us, tries;
};
typedef void mad_done_fn(void *arg, const struct mad_answer *answer);

#endif
