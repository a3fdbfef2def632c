/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <ctype.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/stat.h>
#include <systemd/sd-id128.h>
#include "fm/mad/wire.h"
#include "fm/mirror/channel.h"
#include "topology/base/mem.h"

/* ---- Frames ---------------------------------------------------------------------------------- */

#define PREFIX 4

/* Without its prefix, where it may be so long at all. */
static size_t longest(enum frame_type type)
{
	return type == FRAME_ROWS ? FRAME_MOST : FRAME_HEAD_MOST;
}

char *frame_encode(enum frame_type type, const json_t *head, const char *body, size_t body_length,
		   size_t *length)
{
	char *text = json_dumps(head, JSON_COMPACT), *bytes = NULL;
	size_t head_length = text ? strlen(text) : 0;

	*length = PREFIX + 1 + head_length + 1 + body_length;
	if (text && head_length < FRAME_HEAD_MOST && body_length < FRAME_MOST &&
	    *length - PREFIX <= longest(type)) {
		bytes = mem_alloc(*length, 1);
		wire_put((uint8_t *)bytes, PREFIX, *length - PREFIX);
		bytes[PREFIX] = type;
		memcpy(bytes + PREFIX + 1, text, head_length);
		bytes[PREFIX + 1 + head_length] = '\n';
		if (body_length)
			memcpy(bytes + PREFIX + 2 + head_length, body, body_length);
	}
	free(text);
	return bytes;
}

size_t frame_expected(const struct frame_reader *r)
{
	const uint8_t *prefix = (const uint8_t *)r->in.data + r->in.start;

	return bytes_held(&r->in) < PREFIX ? 0 : PREFIX + wire_get(prefix, PREFIX);
}

/* Takes the object as soon as it is there: the rest is waited for if it is one. */
static enum frame_read read_head(struct frame_reader *r, uint32_t length)
{
	const char *head = r->in.data + r->in.start + PREFIX + 1, *end;
	enum frame_type type = (uint8_t)head[-1];
	size_t here = bytes_held(&r->in) - PREFIX - 1, most = length - 1;

	if (length > longest(type))
		return FRAME_BAD;
	most = most < FRAME_HEAD_MOST ? most : FRAME_HEAD_MOST;
	end = memchr(head, '\n', here < most ? here : most);
	if (!end)
		return here < most ? FRAME_NONE : FRAME_BAD;
	r->head_length = end - head;
	r->head = json_loadb(head, r->head_length, 0, NULL);
	if (json_is_object(r->head))
		return FRAME_READ;
	json_decref(r->head);
	r->head = NULL;
	return FRAME_BAD;
}

enum frame_read frame_next(struct frame_reader *r, struct frame *frame)
{
	size_t held = bytes_held(&r->in), whole = frame_expected(r);

	if (!whole)
		return FRAME_NONE;
	if (whole < PREFIX + 2 || whole - PREFIX > (r->most ?: FRAME_MOST))
		return FRAME_BAD;
	if (held == PREFIX)
		return FRAME_NONE;

	enum frame_read got = r->head ? FRAME_READ : read_head(r, whole - PREFIX);
	const char *type = r->in.data + r->in.start + PREFIX;

	if (got != FRAME_READ)
		return got;
	if (held < whole)
		return FRAME_NONE;
	*frame = (struct frame){ .type = (uint8_t)*type,
				 .head = r->head,
				 .body = type + 2 + r->head_length,
				 .length = whole - PREFIX - 2 - r->head_length };
	r->head = NULL;
	return FRAME_READ;
}

void frame_done(struct frame_reader *r)
{
	r->in.start += frame_expected(r);
}

void frame_reader_fini(struct frame_reader *r)
{
	json_decref(r->head);
	free(r->in.data);
	*r = (struct frame_reader){ 0 };
}

/* ---- Channels -------------------------------------------------------------------------------- */

/*
 * A channel ends for many reasons and inside many calls. Whatever it is, it is only noted; the
 * channel's timer then runs at once, tells its owner and frees it. So it ends in one place.
 */

#define BACKLOG_MOST (128u << 20)
#define PSK_MOST     64 /* bytes */
#define PSK_LEAST    16
#define IDENTITY     "fmd"
#define SIGNATURE    64 /* bytes, of Ed25519 */
#define MANAGERS     SD_ID128_MAKE(6b, 0f, 5d, 8e, 2a, 71, 4c, 93, 8f, 1d, e4, 37, a9, 50, c2, 66)

struct channel_tls {
	SSL_CTX *context;
	char *names; /* by commas: who may connect; "" = who has a certificate of that CA */
	unsigned char psk[PSK_MOST];
	size_t psk_length; /* 0 = certificates */
	EVP_PKEY *own;	   /* with a PSK: this machine's; NULL = it has no machine-id */
};

struct channel {
	struct loop *loop;
	const struct channel_tls *tls;
	const struct channel_ops *ops; /* NULL: its owner has closed it */
	void *arg;
	struct bufferevent *bev;
	struct evdns_base *dns;
	struct loop_timer *end, *silence;
	uint64_t heard_us; /* the latest whole frame, or its beginning */
	struct frame_reader reader;
	char *names; /* by commas: of which the other end has one; "" = any */
	bool ended;
	char why[120];
};

/* ---- TLS ------------------------------------------------------------------------------------- */

static unsigned give_psk(const SSL *ssl, unsigned char *psk, unsigned most)
{
	const struct channel_tls *tls = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));

	if (most < tls->psk_length)
		return 0;
	memcpy(psk, tls->psk, tls->psk_length);
	return tls->psk_length;
}

static unsigned client_psk(SSL *ssl, const char *hint, char *identity, unsigned identity_most,
			   unsigned char *psk, unsigned most)
{
	snprintf(identity, identity_most, "%s", IDENTITY);
	return give_psk(ssl, psk, most);
}

static unsigned server_psk(SSL *ssl, const char *identity, unsigned char *psk, unsigned most)
{
	return strcmp(identity, IDENTITY) ? 0 : give_psk(ssl, psk, most);
}

/* NULL, or *file and what is wrong with it. */
static const char *set_keys(struct channel_tls *tls, const struct conf_mirror *conf,
			    const char **file)
{
	struct stat st;

	*file = *conf->psk_file ? conf->psk_file : conf->key;
	if (stat(*file, &st))
		return "cannot be read";
	if (st.st_mode & (S_IRWXG | S_IRWXO))
		return "is accessible to others than its owner: chmod 0600";
	if (*conf->psk_file) {
		uint8_t seed[CHANNEL_PROOF];
		size_t end;
		char *line = mem_read_path(*file, &end);
		sd_id128_t id;

		if (!line)
			return "cannot be read";
		for (end = strcspn(line, "\n"); end && isspace((unsigned char)line[end - 1]);)
			end--;
		line[end] = '\0';

		bool fits = OPENSSL_hexstr2buf_ex(tls->psk, PSK_MOST, &tls->psk_length, line, '\0');

		OPENSSL_cleanse(line, end);
		free(line);
		if (!fits || tls->psk_length < PSK_LEAST)
			return "the first line is not 32 to 128 hexadecimal digits";
		if (!sd_id128_get_machine_app_specific(MANAGERS, &id)) {
			EVP_Digest(&id, sizeof(id), seed, NULL, EVP_sha256(), NULL);
			tls->own = EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, NULL, seed,
								sizeof(seed));
		}
		SSL_CTX_set_app_data(tls->context, tls);
		SSL_CTX_set_psk_client_callback(tls->context, client_psk);
		SSL_CTX_set_psk_server_callback(tls->context, server_psk);
		return SSL_CTX_set_ciphersuites(tls->context, "TLS_AES_128_GCM_SHA256") ? NULL
											: "TLS";
	}
	*file = conf->cert;
	if (SSL_CTX_use_certificate_chain_file(tls->context, *file) != 1)
		return "is not a PEM certificate";
	*file = conf->key;
	if (SSL_CTX_use_PrivateKey_file(tls->context, *file, SSL_FILETYPE_PEM) != 1)
		return "is not the private key of that certificate";
	*file = conf->ca;
	if (SSL_CTX_load_verify_locations(tls->context, *file, NULL) != 1)
		return "is not a PEM certificate";
	SSL_CTX_set_verify(tls->context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	return NULL;
}

/* The names of all peers by commas, "" where one of them has none; the caller's. */
static char *names_of_all(const char *peers)
{
	char *all = mem_strdup(""), entry[CONF_PEER], *longer;
	int used;

	for (; sscanf(peers, CONF_PEER_SCAN "%n", entry, &used) == 1; peers += used) {
		const char *names = strchr(entry, '=');

		longer = mem_printf("%s%s%s", all, *all ? "," : "", names ? names + 1 : "");
		if (!names)
			longer[0] = '\0';
		free(all);
		all = longer;
		if (!names)
			break;
	}
	return all;
}

struct channel_tls *channel_tls_new(const struct conf_mirror *conf, char *err, size_t err_size)
{
	struct channel_tls *tls = mem_new(tls);
	const char *file = "TLS", *why = "unavailable";

	tls->names = names_of_all(conf->peers);
	tls->context = SSL_CTX_new(TLS_method());
	if (tls->context && SSL_CTX_set_min_proto_version(tls->context, TLS1_3_VERSION))
		why = set_keys(tls, conf, &file);
	if (!why && tls->psk_length && strchr(conf->peers, '=')) {
		file = "peers";
		why = "with peer_psk_file there are no certificates whose names could be compared";
	}
	ERR_clear_error();
	if (!why)
		return tls;
	snprintf(err, err_size, "%s: %s", file, why);
	channel_tls_free(tls);
	return NULL;
}

void channel_tls_free(struct channel_tls *tls)
{
	if (!tls)
		return;
	SSL_CTX_free(tls->context);
	EVP_PKEY_free(tls->own);
	free(tls->names);
	OPENSSL_cleanse(tls->psk, sizeof(tls->psk));
	free(tls);
}

/* ---- The end --------------------------------------------------------------------------------- */

/* The first reason stands. */
static void end_soon(struct channel *c, const char *why)
{
	if (c->ended)
		return;
	c->ended = true;
	array_printf(c->why, "%s", why);
	loop_timer_stop(c->silence);
	if (c->bev)
		bufferevent_disable(c->bev, EV_READ | EV_WRITE);
	loop_timer_set(c->end, 0);
}

static void end_cb(void *arg)
{
	struct channel *c = arg;

	if (c->ops)
		c->ops->closed(c->arg, c, c->why);
	if (c->bev)
		bufferevent_free(c->bev);
	resolver_free(c->dns);
	frame_reader_fini(&c->reader);
	free(c->names);
	loop_timer_free(c->silence);
	loop_timer_free(c->end);
	free(c);
}

void channel_close(struct channel *c)
{
	c->ops = NULL;
	end_soon(c, "closed");
}

/* ---- What comes ------------------------------------------------------------------------------ */

static void silence_cb(void *arg)
{
	end_soon(arg, "no data received from it");
}

/* Bytes alone are no sign of life: one a second would do. */
static void expect(struct channel *c)
{
	uint64_t patience =
		CHANNEL_SILENCE_US + 1000000ull * frame_expected(&c->reader) / CHANNEL_RATE;
	uint64_t passed = loop_now_us(c->loop) - c->heard_us;

	loop_timer_set(c->silence, patience > passed ? patience - passed : 0);
}

static void read_cb(struct bufferevent *bev, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(bev);
	enum frame_read got = FRAME_NONE;
	struct channel *c = arg;
	uint64_t start = loop_clock_us(c->loop);
	struct evbuffer_iovec piece;
	struct frame frame;

	while (evbuffer_peek(input, -1, NULL, &piece, 1) > 0 && piece.iov_len) {
		bytes_add(&c->reader.in, piece.iov_base, piece.iov_len);
		evbuffer_drain(input, piece.iov_len);
	}
	while (!c->ended && (got = frame_next(&c->reader, &frame)) == FRAME_READ) {
		c->heard_us = loop_now_us(c->loop);
		if (c->ops)
			c->ops->frame(c->arg, c, &frame);
		json_decref(frame.head);
		frame_done(&c->reader);
	}
	if (!c->ended && got == FRAME_BAD)
		end_soon(c, "it sent invalid data");
	if (!c->ended)
		expect(c);
	loop_ran(c->loop, start, "fm/mirror/channel.c: read_cb");
}

/* Hexadecimal digits, by colons or not, of that digest. */
static bool is_fingerprint(const char *text, const unsigned char *digest, size_t length)
{
	unsigned char bytes[EVP_MAX_MD_SIZE];
	size_t count = 0;
	bool same = OPENSSL_hexstr2buf_ex(bytes, sizeof(bytes), &count, text, ':') &&
		    count == length && !memcmp(bytes, digest, length);

	ERR_clear_error();
	return same;
}

/*
 * Fills in the name that the certificate has, of those by commas; "": it has that fingerprint.
 * False: it has none of them.
 */
static bool is_named(X509 *certificate, const char *names, char name[CONF_PEER])
{
	unsigned char digest[EVP_MAX_MD_SIZE];
	unsigned length = 0;

	if (certificate)
		X509_digest(certificate, EVP_sha256(), digest, &length);
	for (; certificate && *names; names += names[0] == ',') {
		int used = strcspn(names, ",");

		snprintf(name, CONF_PEER, "%.*s", used, names);
		names += used;
		if (is_fingerprint(name, digest, length)) {
			name[0] = '\0';
			return true;
		}
		if (X509_check_ip_asc(certificate, name, 0) == 1 ||
		    X509_check_host(certificate, name, 0,
				    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT |
					    X509_CHECK_FLAG_NO_WILDCARDS,
				    NULL) == 1)
			return true;
	}
	return false;
}

static void event_cb(struct bufferevent *bev, short what, void *arg)
{
	struct channel *c = arg;
	SSL *ssl = bufferevent_openssl_get_ssl(c->bev);
	char name[CONF_PEER];

	if (c->ended)
		return;
	if (!(what & BEV_EVENT_CONNECTED)) {
		unsigned long code = bufferevent_get_openssl_error(c->bev);

		/* "certificate has expired" is more than that it is refused. */
		if (ERR_GET_LIB(code) == ERR_LIB_SSL &&
		    ERR_GET_REASON(code) == SSL_R_CERTIFICATE_VERIFY_FAILED)
			end_soon(c, X509_verify_cert_error_string(SSL_get_verify_result(ssl)));
		else if (code && ERR_reason_error_string(code))
			end_soon(c, ERR_reason_error_string(code));
		else
			end_soon(c, what & BEV_EVENT_EOF ? "it closed the connection"
							 : "cannot connect");
		return;
	}
	/* With a key that both have a session goes on from it; without it is not proven. */
	if (c->tls->psk_length && !SSL_session_reused(ssl)) {
		end_soon(c, "it did not prove that it has the key of peer_psk_file");
		return;
	}
	if (*c->names && !is_named(SSL_get0_peer_certificate(ssl), c->names, name)) {
		end_soon(c, "its certificate has none of the names and fingerprints in peers");
		return;
	}
	bufferevent_enable(bev, EV_READ | EV_WRITE);
	if (c->ops)
		c->ops->opened(c->arg, c);
}

/* ---- The beginning --------------------------------------------------------------------------- */

static struct channel *channel_new(struct loop *loop, struct channel_tls *tls, int fd,
				   const char *names, const struct channel_ops *ops, void *arg)
{
	struct channel *c = mem_new(c);
	struct event_base *base = loop_event_base(loop);
	SSL *ssl = base ? SSL_new(tls->context) : NULL;

	*c = (struct channel){ .loop = loop, .tls = tls, .ops = ops, .arg = arg };
	c->reader.most = FRAME_WORD;
	c->names = mem_strdup(names);
	c->heard_us = loop_now_us(loop);
	c->end = loop_timer_new(loop, end_cb, c);
	c->silence = loop_timer_new(loop, silence_cb, c);
	expect(c);
	/* A server may answer a key that it does not have with a certificate: none is taken. */
	if (ssl && fd < 0)
		SSL_set_verify(ssl, SSL_VERIFY_PEER, NULL);
	if (ssl)
		c->bev = bufferevent_openssl_socket_new(
			base, fd, ssl,
			fd < 0 ? BUFFEREVENT_SSL_CONNECTING : BUFFEREVENT_SSL_ACCEPTING,
			BEV_OPT_CLOSE_ON_FREE | BEV_OPT_DEFER_CALLBACKS);
	if (!c->bev) {
		end_soon(c, "TLS is unavailable");
		return c;
	}
	bufferevent_setcb(c->bev, read_cb, NULL, event_cb, c);
	return c;
}

struct channel *channel_connect(struct loop *loop, struct channel_tls *tls, const char *host,
				unsigned port, const char *names, const struct channel_ops *ops,
				void *arg)
{
	struct channel *c = channel_new(loop, tls, -1, names, ops, arg);

	if (c->ended)
		return c;
	c->dns = resolver_new(loop);
	if (bufferevent_socket_connect_hostname(c->bev, c->dns, AF_UNSPEC, host, port))
		end_soon(c, "cannot connect");
	return c;
}

struct channel *channel_accept(struct loop *loop, struct channel_tls *tls, int fd,
			       const struct channel_ops *ops, void *arg)
{
	struct channel *c = channel_new(loop, tls, fd, tls->names, ops, arg);

	if (!c->ended)
		bufferevent_enable(c->bev, EV_READ | EV_WRITE);
	return c;
}

void channel_take_long(struct channel *c)
{
	c->reader.most = FRAME_MOST;
}

void channel_send(struct channel *c, enum frame_type type, json_t *head, const char *body,
		  size_t length)
{
	size_t bytes;
	char *frame = c->ended ? NULL : frame_encode(type, head, body, length, &bytes);

	json_decref(head);
	if (!frame)
		return;
	if (evbuffer_get_length(bufferevent_get_output(c->bev)) + bytes > BACKLOG_MOST)
		end_soon(c, "it stopped reading");
	else
		bufferevent_write(c->bev, frame, bytes);
	free(frame);
}

bool channel_export(const struct channel *c, const char *label, uint8_t *bytes, size_t count)
{
	SSL *ssl = c->bev && !c->ended ? bufferevent_openssl_get_ssl(c->bev) : NULL;

	return ssl &&
	       SSL_export_keying_material(ssl, bytes, count, label, strlen(label), NULL, 0, 0) == 1;
}

/* Signs the session with the key, or else says whether it has signed so. */
static bool is_signed(const struct channel *c, EVP_PKEY *key, bool sign, uint8_t bytes[SIGNATURE])
{
	EVP_MD_CTX *context = EVP_MD_CTX_new();
	uint8_t session[CHANNEL_PROOF];
	size_t length = SIGNATURE, count = sizeof(session);
	bool done = key && channel_export(c, "EXPORTER-fmd-manager", session, count);

	if (done && sign)
		done = EVP_DigestSignInit(context, NULL, NULL, NULL, key) == 1 &&
		       EVP_DigestSign(context, bytes, &length, session, count) == 1;
	else if (done)
		done = EVP_DigestVerifyInit(context, NULL, NULL, NULL, key) == 1 &&
		       EVP_DigestVerify(context, bytes, length, session, count) == 1;
	EVP_MD_CTX_free(context);
	ERR_clear_error();
	return done;
}

void channel_sign(const struct channel *c, char text[CHANNEL_SIGNED])
{
	uint8_t bytes[CHANNEL_PROOF + SIGNATURE];
	size_t length = CHANNEL_PROOF;

	*text = '\0';
	if (is_signed(c, c->tls->own, true, bytes + CHANNEL_PROOF) &&
	    EVP_PKEY_get_raw_public_key(c->tls->own, bytes, &length) == 1)
		OPENSSL_buf2hexstr_ex(text, CHANNEL_SIGNED, NULL, bytes, sizeof(bytes), '\0');
}

void channel_proof(const struct channel *c, const char *text, uint8_t proof[CHANNEL_PROOF])
{
	SSL *ssl = c->bev && !c->ended ? bufferevent_openssl_get_ssl(c->bev) : NULL;
	X509 *certificate = ssl ? SSL_get0_peer_certificate(ssl) : NULL;
	uint8_t bytes[CHANNEL_PROOF + SIGNATURE] = { 0 };
	char name[CONF_PEER];

	memset(proof, 0, CHANNEL_PROOF);
	if (certificate && is_named(certificate, c->names, name) && *name)
		EVP_Digest(name, strlen(name), proof, NULL, EVP_sha256(), NULL);
	else if (certificate)
		X509_pubkey_digest(certificate, EVP_sha256(), proof, NULL);
	if (certificate || !text || !OPENSSL_hexstr2buf_ex(bytes, sizeof(bytes), NULL, text, '\0'))
		return;

	EVP_PKEY *key = EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, NULL, bytes, CHANNEL_PROOF);

	if (is_signed(c, key, false, bytes + CHANNEL_PROOF))
		memcpy(proof, bytes, CHANNEL_PROOF);
	EVP_PKEY_free(key);
}
