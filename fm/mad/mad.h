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
#include "fm/mad/mad_request.h"
#include "fm/mad/wire.h"

struct mad;

struct mad_conf {
	unsigned window_max;	/* MADs in flight at most (conf max_wire_smps) */
	unsigned window_device; /* of these to one device (conf max_wire_smps_per_device) */
	unsigned timeout_ms, retries;
	/* without mad_set_keys(): the M_Key, and one that ports may hold; 0 = none */
	uint64_t mkey, old_mkey;
};

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
 * The M_Keys that the port at the end of a directed route, or with a LID, may hold: the likeliest
 * first, each once. Where a try is lost the next one goes with another. Asked before each try.
 */
#define MAD_KEYS_MOST 16
struct mad_keys {
	unsigned count; /* 0 = it needs none */
	bool shown;	/* the first is what the port has shown that it holds */
	uint64_t key[MAD_KEYS_MOST];
};
typedef void mad_keys_fn(void *arg, const struct mad_path *path, uint16_t lid,
			 struct mad_keys *keys);		/* path NULL: by LID */
void mad_set_keys(struct mad *mad, mad_keys_fn *fn, void *arg); /* fn NULL: by mad_conf */

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
