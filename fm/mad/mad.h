/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mad: request/answer transactions over one port.
 *
 * Every mad_send() ends in exactly one call of done_fn, from the loop, never inside mad_send(),
 * never after mad_cancel(). Requests wait in a queue (urgent ones first) until the window has room;
 * the window grows while answers are clean and halves on time-outs, and no device gets more than
 * its cap at a time. Time-outs are retried here with the same TID. Answers are matched by TID,
 * class, attribute and modifier; what matches nothing (late, doubled, another attribute, short) is
 * dropped and counted. Requests and traps that others send go to the handler of their class.
 */
#ifndef FMD_MAD_MAD_H
#define FMD_MAD_MAD_H

#include "fm/core/loop.h"
#include "fm/mad/io.h"
#include "fm/mad/wire.h"

struct mad;

struct mad_path { /* a directed route: ports[0 .. hops) are the output ports, hop by hop */
	uint8_t hops;
	uint8_t ports[WIRE_MAX_HOPS];
};

struct mad_conf {
	unsigned window_max;	/* MADs in flight at most (conf max_wire_smps) */
	unsigned window_device; /* of these to one device (conf max_wire_smps_per_device) */
	unsigned timeout_ms, retries;
	uint64_t mkey;
	uint64_t old_mkey; /* tried in turns with mkey where tries are lost; 0 = there is none */
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
	uint8_t sl;	     /* GMPs, as the next two */
	uint16_t pkey_index; /* in the local port's table */
	uint32_t qp;	     /* 0 = QP 1 */
	uint8_t method;	     /* WIRE_GET, WIRE_SET; WIRE_REPORT .. */
	uint16_t attr_id;
	uint32_t attr_mod;
	const uint8_t *data;
	guid_t device; /* whose cap this counts against; 0 = none */
	bool urgent;   /* before those that are not */
	bool doubtful; /* was lost before: another loss is no sign of a full network */
	bool local;    /* to the own port: it is not on the wire, and not counted as sent */
	unsigned timeout_ms, retries; /* 0 = from mad_conf */
	bool old_key;		      /* with mad_conf.old_mkey alone */
	bool once;		      /* sent once, whatever mad_conf says */
	/*
	 * Asked before each try, with the callback's arg, also from within mad_send(): by then
	 * there may be another path. NULL = it stays.
	 */
	void (*way)(void *arg, struct mad_path *path);
};

enum mad_result { MAD_OK, MAD_TIMEOUT, MAD_STATUS, MAD_SEND_FAILED };
struct mad_answer {
	enum mad_result result;
	uint16_t status; /* MAD_STATUS: the answer's status field */
	/* as many bytes as a request's; MAD_OK and MAD_STATUS; valid during the callback */
	const uint8_t *data;
	unsigned rtt_us, tries;
};
typedef void mad_done_fn(void *arg, const struct mad_answer *answer);
typedef uint64_t mad_token; /* 0 is none */

/* Owns io, which may be closed. */
struct mad *mad_new(struct loop *loop, struct io *io, const struct mad_conf *conf);
/* Pending requests are dropped without a callback. Not from a callback of its own. */
void mad_free(struct mad *mad);
void mad_configure(struct mad *mad, const struct mad_conf *conf);

mad_token mad_send(struct mad *mad, const struct mad_request *request, mad_done_fn *fn, void *arg);
void mad_cancel(struct mad *mad, mad_token token); /* 0 and finished tokens are fine */

/*
 * MADs others start: requests, traps, SA queries. The handler answers by mad_reply() if it wants
 * to.
 */
typedef void mad_handler_fn(void *arg, const struct io_addr *from, const struct wire_mad *mad,
			    const uint8_t *raw, size_t len);
void mad_handle(struct mad *mad, uint8_t mgmt_class, mad_handler_fn *fn, void *arg);
/* Sends an answer as it is; 0 or -errno. */
int mad_reply(struct mad *mad, const struct io_addr *to, const uint8_t *raw, size_t len);
/*
 * An answer of len bytes that may be long: its first head_len bytes, and a body with room for these
 * before the rest; 0 or -errno.
 */
int mad_reply_long(struct mad *mad, const struct io_addr *to, const uint8_t *head, size_t head_len,
		   struct io_body *body, size_t len);

/*
 * For a manager that is not the master: no Set of any attribute but SMInfo leaves from now on.
 * Those that are asked for, or wait, or would be sent again, end with MAD_SEND_FAILED.
 */
void mad_set_quiet(struct mad *mad, bool on);

/*
 * The local port (fm/mad/io.h). It may not be there: then what is sent ends with MAD_SEND_FAILED.
 * mad_open() tries once, by io's results, and is fine when it is open. When the device goes it is
 * closed, and fn is called from the loop with the reason.
 */
int mad_open(struct mad *mad, char *err, size_t err_size);
void mad_close(struct mad *mad);
bool mad_is_open(const struct mad *mad);
bool mad_choose(struct mad *mad, bool had_link); /* io's: true = another port would be opened now */
typedef void mad_lost_fn(void *arg, const char *error);
void mad_on_lost(struct mad *mad, mad_lost_fn *fn, void *arg);
/* Of the port that is open, or was last; zeros before. */
const struct io_port_info *mad_port_info(const struct mad *mad);
int mad_set_is_sm(struct mad *mad, bool on);

struct mad_stats {
	uint64_t sent;	    /* SMPs put on the wire, retries included */
	uint64_t sent_gmps; /* requests of other classes, likewise */
	uint64_t timed_out; /* transactions that ended so */
	uint64_t retried, answered, bad_status;
	uint64_t dropped_short, dropped_late, dropped_mismatch, unsolicited;
	unsigned window, in_flight, queued;
};
struct mad_stats mad_stats(const struct mad *mad);

#endif
