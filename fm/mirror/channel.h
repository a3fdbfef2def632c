/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * channel: frames between two managers over TCP with TLS 1.3, by libevent. Both ends
 * prove who they are: by certificates of one CA, or by a key that both have.
 */
#pragma once

#include <jansson.h>
#include "fm/conf/conf.h"
#include "fm/loop/loop.h"
#include "topology/base/mem.h"

/* ---- Frames ---------------------------------------------------------------------------------- */

/*
 * What two managers send each other, as bytes. A frame is four bytes, its length without them, most
 * significant first; one byte, its type; a JSON object; a line feed; and what follows the object,
 * any bytes. Pure.
 *
 * Who does not know a type, or a member, leaves it: managers of different versions understand each
 * other.
 */

#define FRAME_MOST	(256u << 20) /* bytes; no ROWS are longer */
#define FRAME_HEAD_MOST (64u << 10)  /* bytes; nor any object, nor a frame of another type */
#define FRAME_WORD	(16u << 10)  /* bytes; nor what standbys send, nor a HELLO */

enum frame_type {
	/*
	 * {"protocol","port_guid","name","takeovers"}: first, both ways; take-overs as of
	 * generation_json()
	 */
	FRAME_HELLO = 'H',
	FRAME_ROLE = 'R', /* {"master","takeovers"}: of who was asked; anew when it changes */
	/* {"seq"}: rows that follow (fm/state/rows.h), as they are by that change */
	FRAME_ROWS = 'K',
	FRAME_WHOLE = 'W', /* {"seq"}: all rows were sent; others are none */
	/* lines that follow: cordons of a standby that was master too */
	FRAME_CORDONS = 'C',
	FRAME_PING = 'P',  /* {"seq"}: what was sent until now */
	FRAME_TAKEN = 'T', /* {"seq","whole"}: the answer: what has arrived */
};

struct frame {
	enum frame_type type;
	json_t *head;	  /* an object */
	const char *body; /* borrowed */
	size_t length;	  /* of the body */
};

/* The bytes, the caller's; NULL = it is too long. Takes no reference of head. */
char *frame_encode(enum frame_type type, const json_t *head, const char *body, size_t body_length,
		   size_t *length);

/* What has arrived and is not a whole frame yet. Zero-initialised is empty. */
struct frame_reader {
	struct bytes in;    /* bytes_add() adds what has arrived */
	size_t most;	    /* longer frames are none; 0 = FRAME_MOST */
	json_t *head;	    /* of the frame that is arriving; NULL = it is not whole yet */
	size_t head_length; /* bytes that it was read from */
};

enum frame_read { FRAME_NONE, FRAME_READ, FRAME_BAD };
/*
 * The next whole frame of what has arrived; its head is the caller's. FRAME_NONE: it is not whole
 * yet. FRAME_BAD: these are no frames, and the reader is of no use any more.
 */
enum frame_read frame_next(struct frame_reader *r, struct frame *frame);
/* Of the frame that is arriving, how many bytes in all; 0 = that is not known yet. */
size_t frame_expected(const struct frame_reader *r);
/* What frame_next() gave is not used any more. */
void frame_done(struct frame_reader *r);
void frame_reader_fini(struct frame_reader *r);

/* ---- Channels -------------------------------------------------------------------------------- */

struct channel_tls;
/*
 * By the files that conf names, `cert`, `key` and `ca` or `psk_file`. Nobody but its owner may read
 * a key's file, in whose first line a PSK has 32 to 128 hexadecimal digits. NULL with the reason in
 * err.
 */
struct channel_tls *channel_tls_new(const struct conf_mirror *conf, char *err, size_t err_size);
void channel_tls_free(struct channel_tls *tls); /* behind its channels; NULL is fine */

struct channel;
/*
 * Who is silent is closed(): after CHANNEL_SILENCE_US without a whole frame, or a second longer for
 * each CHANNEL_RATE bytes of the one that is arriving.
 */
#define CHANNEL_SILENCE_US 10000000
#define CHANNEL_RATE	   100000
/* None is called from within a call of channel_*. */
struct channel_ops {
	void (*opened)(void *arg, struct channel *channel); /* frames may be sent */
	void (*frame)(void *arg, struct channel *channel, const struct frame *frame);
	/* why: valid until this returns; the channel is gone behind it */
	void (*closed)(void *arg, struct channel *channel, const char *why);
};

/*
 * host: a name or an address. names: by commas, SHA-256 fingerprints of certificates, DNS names and
 * IP addresses, of which the other end's certificate has one, copied; "" = any of that CA. Returns
 * a channel, the caller's until closed() or channel_close(); never NULL: where there is no such way
 * it is closed().
 */
struct channel *channel_connect(struct loop *loop, struct channel_tls *tls, const char *host,
				unsigned port, const char *names, const struct channel_ops *ops,
				void *arg);
/*
 * Takes the descriptor. Who connects has one of the names of all `peers`, where each of these has
 * some. Returns a channel, the caller's as above; never NULL.
 */
struct channel *channel_accept(struct loop *loop, struct channel_tls *tls, int fd,
			       const struct channel_ops *ops, void *arg);
/* Its other end has identified itself: frames may be longer than FRAME_WORD from now on. */
void channel_take_long(struct channel *channel);
/* No callback comes any more. */
void channel_close(struct channel *channel);
/*
 * Bytes that both ends of an opened() channel have and nobody else does (RFC 8446 7.5); `label`
 * says what for. False: there are none.
 */
bool channel_export(const struct channel *channel, const char *label, uint8_t *bytes, size_t count);
/*
 * Where both ends have one key: the public key of this machine and its signature of the session, in
 * hexadecimal, for the other end's channel_proof(). "" = none: certificates, or no machine-id.
 */
#define CHANNEL_PROOF  32
#define CHANNEL_SIGNED 193
void channel_sign(const struct channel *channel, char text[CHANNEL_SIGNED]);
/*
 * Who the other end of an opened() channel has proven to be: the digest of the name that it was
 * taken by, which another key may have next year, else of its certificate's key; without
 * certificates the key of text, which the other end's channel_sign() wrote; NULL, or no such
 * signature: all 0.
 */
void channel_proof(const struct channel *channel, const char *text, uint8_t proof[CHANNEL_PROOF]);
/* Takes head. A channel whose other end does not read is closed() when too much waits. */
void channel_send(struct channel *channel, enum frame_type type, json_t *head, const char *body,
		  size_t length);
