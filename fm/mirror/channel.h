/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * channel: frames (frame.h) between two managers over TCP with TLS 1.3, by libevent. Both ends
 * prove who they are: by certificates of one CA, or by a key that both have.
 */
#ifndef FMD_MIRROR_CHANNEL_H
#define FMD_MIRROR_CHANNEL_H

#include "fm/loop/loop.h"
#include "fm/mirror/frame.h"

/* "" = not set; either the first three or the last. */
struct channel_conf {
	const char *cert_file, *key_file; /* PEM; the key's file is readable by its owner alone */
	const char *ca_file;		  /* whose certificates are taken; names are not compared */
	const char *psk_file; /* its first line: 32 to 128 hexadecimal digits; as the key's file */
};

struct channel_tls;
/* NULL with the reason in err. */
struct channel_tls *channel_tls_new(const struct channel_conf *conf, char *err, size_t err_size);
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
 * host: a name or an address. Returns a channel, the caller's until closed() or channel_close();
 * never NULL: where there is no such way it is closed().
 */
struct channel *channel_connect(struct loop *loop, struct channel_tls *tls, const char *host,
				unsigned port, const struct channel_ops *ops, void *arg);
/* Takes the descriptor. Returns a channel, the caller's as above; never NULL. */
struct channel *channel_accept(struct loop *loop, struct channel_tls *tls, int fd,
			       const struct channel_ops *ops, void *arg);
/* Its other end has said who it is: frames may be longer than FRAME_WORD from now on. */
void channel_take_long(struct channel *channel);
/* No callback comes any more. */
void channel_close(struct channel *channel);
/*
 * Bytes that both ends of an opened() channel have and nobody else does (RFC 8446 7.5); `label`
 * says what for. False: there are none.
 */
bool channel_export(const struct channel *channel, const char *label, uint8_t *bytes, size_t count);
/*
 * The digest of the key by which the other end of an opened() channel proved who it is, of its
 * certificate; all 0 where both ends have one key, for then nobody can be told from the others.
 */
#define CHANNEL_PROOF 32
void channel_proof(const struct channel *channel, uint8_t proof[CHANNEL_PROOF]);
/* Takes head. A channel whose other end does not read is closed() when too much waits. */
void channel_send(struct channel *channel, enum frame_type type, json_t *head, const char *body,
		  size_t length);

#endif
