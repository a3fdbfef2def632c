/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * mad: request/answer transactions over one port.
 *
 * Every mad_send() ends in exactly one call of done_fn, from the loop, never inside mad_send(),
 * never after mad_cancel(). Requests wait in a queue (urgent ones first) while the window is full;
 * the window grows while answers are clean and halves on time-outs, and no device gets more than
 * its cap at a time. Time-outs are retried here with the same TID. Answers are matched by TID,
 * class, attribute and modifier; what matches nothing (late, doubled, another attribute, short) is
 * dropped and counted. Requests and traps that others send go to the handler of their class.
 */
#pragma once

#include "fm/loop/loop.h"
#include "fm/mad/io.h"
#include "fm/mad/wire.h"

struct mad;

/* ---- Requests and answers -------------------------------------------------------------------- */

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
	uint8_t mgmt_class;  /* 0 = SMP; else that of a GMP, as WIRE_PERF or WIRE_SA */
	uint8_t sl;	     /* of a GMP */
	uint16_t pkey_index; /* of a GMP: in the local port's table */
	uint32_t qp;	     /* of a GMP: 0 = QP 1 */
	uint8_t method;	     /* WIRE_GET, WIRE_SET, WIRE_REPORT or another */
	uint16_t attr_id;
	uint32_t attr_mod;
	const uint8_t *data;
	guid_t device; /* whose cap this counts against; 0 = none */
	bool urgent;   /* before those that are not */
	bool doubtful; /* was lost before: another loss is no sign of a full network */
	bool local;    /* to the own port: it is not on the wire, and not counted as sent */
	bool held_not; /* goes also while others are held (mad_hold()), and beside the window */
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

/* ---- Transactions ---------------------------------------------------------------------------- */

struct mad_conf {
	unsigned window_max;	/* MADs in flight at most (conf max_wire_smps) */
	unsigned window_device; /* MADs in flight to one device (conf max_wire_smps_per_device) */
	unsigned timeout_ms, retries;
};

typedef uint64_t mad_token; /* 0 is none */

/* Takes io over, which may be closed; never NULL. The caller frees the mad, and io with it. */
struct mad *mad_new(struct loop *loop, struct io *io, const struct mad_conf *conf);
/* Pending requests are dropped without a callback. Not from a callback of its own. */
void mad_free(struct mad *mad);
/* Copies conf; a member that is 0 gets its default. Requests made before keep their time-outs. */
void mad_configure(struct mad *mad, const struct mad_conf *conf);

/* Queues a copy of the request; fn is called with its end. The token cancels it, and is never 0. */
mad_token mad_send(struct mad *mad, const struct mad_request *request, mad_done_fn *fn, void *arg);
/* Ends a request without its callback. 0 and tokens of requests that have ended are fine. */
void mad_cancel(struct mad *mad, mad_token token);

/*
 * MADs that others send without being asked: requests, traps, SA queries. One handler a class; the
 * last that was set. It answers by mad_reply() if it wants to; its arguments are valid during the
 * call.
 */
typedef void mad_handler_fn(void *arg, const struct io_addr *from, const struct wire_mad *mad,
			    const uint8_t *raw, size_t len);
void mad_handle(struct mad *mad, uint8_t mgmt_class, mad_handler_fn *fn, void *arg);
/* Sends a copy of an answer, once; 0 or -errno (-EAGAIN: the kernel's queues are full). */
int mad_reply(struct mad *mad, const struct io_addr *to, const uint8_t *raw, size_t len);
/*
 * An answer of len bytes that may be long: its first head_len bytes, and a body with as many unused
 * bytes before the rest. Takes a reference of body where it needs one; 0 or -errno as mad_reply().
 */
int mad_reply_long(struct mad *mad, const struct io_addr *to, const uint8_t *head, size_t head_len,
		   struct io_body *body, size_t len);

/*
 * The M_Keys that the port at the end of a directed route, or with a LID, may hold: the likeliest
 * first, each once. Where a try is lost the next one goes with another. Asked before each try.
 */
#define MAD_KEYS_MOST 16
struct mad_keys {
	unsigned count; /* 0 = it needs none */
	bool shown;	/* the first is what the port has shown that it holds */
	uint64_t key[MAD_KEYS_MOST];
};
/* path NULL: the port with this LID. keys comes zeroed. */
typedef void mad_keys_fn(void *arg, const struct mad_path *path, uint16_t lid,
			 struct mad_keys *keys);
/* fn NULL: none. */
void mad_set_keys(struct mad *mad, mad_keys_fn *fn, void *arg);

/*
 * For a manager that is not the master: no Set of any attribute but SMInfo leaves from now on.
 * Those that are asked for, or wait, or would be sent again, end with MAD_SEND_FAILED.
 */
void mad_set_quiet(struct mad *mad, bool on);

/*
 * For a manager that only observes: nothing leaves from now on but Gets of any class. All other
 * requests end with MAD_SEND_FAILED and are counted (mad_stats.refused), requests of others are
 * neither handed to handlers nor answered, and IsSM is never set.
 */
void mad_set_observer(struct mad *mad, bool on);

/*
 * The local port (fm/mad/io.h). While it is closed, what is sent ends with MAD_SEND_FAILED.
 *
 * mad_open() tries once. 0, also when it is open already; else -errno as io_ops.open(), and err
 * names the reason.
 */
int mad_open(struct mad *mad, char *err, size_t err_size);
void mad_close(struct mad *mad); /* one that is closed is fine; requests run into time-outs */
bool mad_is_open(const struct mad *mad);
/* True: another port than the open one would be opened now. had_link: see io_ops.choose(). */
bool mad_choose(struct mad *mad, bool had_link);
/* As io_ops.ports(): 0 where there is but the one. */
unsigned mad_ports(struct mad *mad, guid_t guids[IO_PORTS]);
/* Closes the port, and opens that one (0: the usual one), also later on. As mad_open(). */
int mad_open_other(struct mad *mad, guid_t guid, char *err, size_t err_size);
/* While on, requests wait, also those that are to be sent again; time-outs go on. */
void mad_hold(struct mad *mad, bool on);
/*
 * No Set leaves unless the port was found where it was, MAD_SURE_US ago at most: no cable is moved
 * and its link trained in that time. Else fn is called from the loop, and all wait as by mad_hold()
 * until mad_is_sure().
 */
#define MAD_SURE_US 20000
void mad_ask_first(struct mad *mad, loop_fn *fn, void *arg);
void mad_is_sure(struct mad *mad);
/* fn is called from the loop when the device has gone: the port is closed by then. */
typedef void mad_lost_fn(void *arg, const char *error);
void mad_on_lost(struct mad *mad, mad_lost_fn *fn, void *arg);
/* The port that is open, or was last; zeros before. Belongs to mad, filled again by mad_open(). */
const struct io_port_info *mad_port_info(const struct mad *mad);
/*
 * Sets the IsSM capability bit of the local port; an observer leaves it alone. 0 or -errno, -EBUSY:
 * another process has it.
 */
int mad_set_is_sm(struct mad *mad, bool on);

struct mad_stats {
	uint64_t sent;	    /* SMPs put on the wire, retries included */
	uint64_t sent_gmps; /* requests of other classes put on the wire, retries included */
	uint64_t timed_out; /* transactions that no try of was answered */
	uint64_t retried, answered, bad_status; /* answered: by others than the own node */
	uint64_t dropped_short;
	uint64_t dropped_late;
	uint64_t dropped_mismatch;
	uint64_t unsolicited;
	uint64_t dropped_malformed; /* answers with a field that is impossible (wire_flaw()) */
	uint64_t refused;	    /* requests and answers that an observer does not send */
	unsigned window, in_flight, queued;
};
/* The sums since mad_new(), and window, in_flight and queued as they are now. */
struct mad_stats mad_stats(const struct mad *mad);
