/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/event.h>
#include <event2/http.h> /* URLs */
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include "fm/loop/loop.h"
#include "fm/nvswitch/intake_fetch.h"
#include "topology/base/mem.h"

/* ---- Answers: status line, headers, body ----------------------------------------------------- */

/*
 *   HTTP/1.1 200 OK                      RFC 9112, 4; 1xx answers stand before the real one and are
 *                                        passed over
 *   Content-Length: 3000 |               6.2
 *   Transfer-Encoding: chunked |         7.1: SIZE in hex [;extension] CRLF bytes CRLF .. 0 CRLF
 *                                        trailers CRLF
 *   neither: up to the end of the connection
 */

enum at { STATUS, HEADERS, LENGTH, TO_THE_END, CHUNK_SIZE, CHUNK, CHUNK_END, TRAILERS };

void answer_init(struct answer *a)
{
	*a = (struct answer){ .at = STATUS };
}

static void fail(struct answer *a, const char *words)
{
	if (!a->fault)
		a->fault = words;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

/* The value of a header of that name, else NULL. */
static char *header(struct answer *a, const char *name)
{
	size_t len = strlen(name);
	char *value = a->line + len;

	if (strncasecmp(a->line, name, len) || *value++ != ':')
		return NULL;
	value += strspn(value, " \t");
	value[strcspn(value, " \t")] = '\0';
	return value;
}

static bool read_length(const char *text, int base, uint64_t *length)
{
	char *end;

	*length = strtoull(text, &end, base);
	return end != text && *text != '-' && *text != '+' && *length < INT64_MAX &&
	       !*(end + strspn(end, " \t"));
}

static void take_line(struct answer *a)
{
	const char *code = a->line + 9;

	if (a->used && a->line[a->used - 1] == '\r')
		a->used--;
	a->line[a->used < sizeof(a->line) ? a->used : sizeof(a->line) - 1] = '\0';
	if (a->at == STATUS && (strncmp(a->line, "HTTP/1.", 7) || a->used < 12 ||
				a->line[8] != ' ' || strspn(code, "0123456789") != 3)) {
		fail(a, "the answer is not HTTP");
	} else if (a->at == STATUS) {
		a->code = atoi(code);
		a->has_length = a->chunked = false;
		a->at = HEADERS;
	} else if (a->at == HEADERS && a->used) {
		char *value;

		/* none of those that count is so long */
		if (a->used != sizeof(a->line)) {
			if ((value = header(a, "Content-Length"))) {
				a->has_length = true;
				if (!read_length(value, 10, &a->left))
					fail(a, "the answer's length is not a number");
			} else if ((value = header(a, "Transfer-Encoding"))) {
				a->chunked = !strcasecmp(value, "chunked");
				if (!a->chunked)
					fail(a,
					     "the answer has an encoding that was not requested");
			} else if ((value = header(a, "Content-Encoding")) &&
				   strcasecmp(value, "identity")) {
				fail(a, "the answer has an encoding that was not requested");
			}
		}
	} else if (a->at == HEADERS && a->code / 100 == 1) {
		a->at = STATUS;
	} else if (a->at == HEADERS && (a->code == 204 || a->code == 304)) {
		a->done = true;
	} else if (a->at == HEADERS && a->chunked) {
		a->at = CHUNK_SIZE;
	} else if (a->at == HEADERS) {
		a->at = a->has_length ? LENGTH : TO_THE_END;
		a->done = a->has_length && !a->left;
	} else if (a->at == CHUNK_SIZE) {
		a->line[strcspn(a->line, ";")] = '\0';
		if (!read_length(a->line, 16, &a->left))
			fail(a, "a chunk's size is not a number");
		a->at = a->left ? CHUNK : TRAILERS;
		a->header_bytes = 0;
	} else if (a->at == CHUNK_END && a->used) {
		fail(a, "a chunk is longer than its size");
	} else if (a->at == CHUNK_END) {
		a->at = CHUNK_SIZE;
	} else if (!a->used) {
		a->done = true; /* behind the trailers */
	}
	a->used = 0;
}

/* ---- The body -------------------------------------------------------------------------------- */

size_t answer_feed(struct answer *a, const char *data, size_t len, const char **body,
		   size_t *body_len)
{
	const char *newline;
	size_t part, room = sizeof(a->line) - a->used;

	*body = NULL;
	*body_len = 0;
	if (a->done || a->fault || !len)
		return 0;
	if (a->at == LENGTH || a->at == TO_THE_END || a->at == CHUNK) {
		*body = data;
		*body_len = a->at != TO_THE_END && a->left < len ? (size_t)a->left : len;
		if (a->at == TO_THE_END)
			return len;
		a->left -= *body_len;
		if (a->left)
			return *body_len;
		a->done = a->at == LENGTH;
		if (a->at == CHUNK) {
			a->at = CHUNK_END;
			a->header_bytes = 0;
		}
		return *body_len;
	}
	newline = memchr(data, '\n', len);
	part = newline ? (size_t)(newline - data) : len;
	a->header_bytes += (uint32_t)(part < ANSWER_HEADERS ? part : ANSWER_HEADERS) + 1;
	if (a->header_bytes > ANSWER_HEADERS && a->at != CHUNK_END) {
		fail(a, "the headers are too long");
		return len;
	}
	memcpy(a->line + a->used, data, part < room ? part : room);
	a->used += (uint32_t)(part < room ? part : room);
	if (!newline)
		return len;
	take_line(a);
	return part + 1;
}

void answer_end(struct answer *a)
{
	if (a->at == TO_THE_END)
		a->done = true;
	else if (!a->done)
		fail(a, "the answer is truncated");
}

/* ---- GETs on libevent's sockets -------------------------------------------------------------- */

/*
 * A request ends for many reasons and inside many calls. Whatever it is, it is only noted; the
 * job's own timer, which otherwise is its time limit, then runs at once, takes the connection down
 * and tells the caller. So a job ends in one place.
 *
 * libevent resolves and connects, and does TLS. What comes without TLS is read from the socket
 * itself, in larger pieces than libevent has: half a megabyte from each of two thousand exporters
 * is much for small ones. Nothing is gathered, so an answer may be of any length.
 */

#define READ_SIZE    65536
#define REQUEST_SIZE 1280

struct fetch {
	struct loop *loop;
	struct fetch_conf conf;
	struct evdns_base *dns;
	SSL_CTX *tls; /* NULL = no CA file */
	struct fetch_job *jobs;
};

struct fetch_job {
	struct fetch_job *next, **link;
	struct fetch *fetch;
	const struct fetch_ops *ops;
	void *arg;
	struct bufferevent *bev; /* NULL = there was none to be had */
	struct loop_fd *watch;	 /* without TLS, when it is connected */
	struct loop_timer *timer;
	uint64_t began_us;
	size_t length; /* of the body so far */
	struct answer answer;
	bool tls, connecting, ended;
	char request[REQUEST_SIZE];
	char error[80]; /* "" = none */
	char address[INET6_ADDRSTRLEN];
};

/* ---- URLs ------------------------------------------------------------------------------------ */

static int take_parts(const struct evhttp_uri *uri, struct fetch_url *url)
{
	const char *scheme = evhttp_uri_get_scheme(uri), *host = evhttp_uri_get_host(uri);
	const char *path = evhttp_uri_get_path(uri), *query = evhttp_uri_get_query(uri);
	int port = evhttp_uri_get_port(uri);
	size_t len;

	if (!scheme || !host || !*host || evhttp_uri_get_userinfo(uri))
		return -1;
	url->tls = !strcmp(scheme, "https");
	if (!url->tls && strcmp(scheme, "http"))
		return -1;
	url->port = (uint16_t)(port > 0 ? port : url->tls ? 443 : 80);
	len = (size_t)snprintf(url->path, sizeof(url->path), "%s%s%s", path && *path ? path : "/",
			       query ? "?" : "", query ? query : "");
	if (len >= sizeof(url->path))
		return -1;
	/* An IPv6 address stands in brackets. */
	len = strlen(host);
	if (*host == '[' && host[len - 1] == ']')
		len -= 2, host++;
	if (len >= sizeof(url->host))
		return -1;
	memcpy(url->host, host, len);
	url->host[len] = '\0';
	return 0;
}

int fetch_url_parse(const char *text, struct fetch_url *url)
{
	struct evhttp_uri *uri = evhttp_uri_parse(text);
	int status = uri ? take_parts(uri, url) : -1;

	if (uri)
		evhttp_uri_free(uri);
	return status;
}

/* ---- A job's end ----------------------------------------------------------------------------- */

/* The first reason stands. */
static void end_soon(struct fetch_job *job, const char *error)
{
	if (job->ended)
		return;
	job->ended = true;
	snprintf(job->error, sizeof(job->error), "%s", error);
	loop_timer_set(job->timer, 0);
}

void fetch_cancel(struct fetch_job *job)
{
	*job->link = job->next;
	if (job->next)
		job->next->link = job->link;
	loop_fd_free(job->watch);
	if (job->bev)
		bufferevent_free(job->bev);
	loop_timer_free(job->timer);
	free(job);
}

/* True, and the address noted, when there is a connection. */
static bool is_connected(struct fetch_job *job)
{
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof(peer);

	if (!job->bev || getpeername(bufferevent_getfd(job->bev), (struct sockaddr *)&peer, &len))
		return false;
	if (peer.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&peer)->sin_addr, job->address,
			  sizeof(job->address));
	else if (peer.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&peer)->sin6_addr, job->address,
			  sizeof(job->address));
	return true;
}

/* What is left of the time for all of it. */
static uint64_t left_us(const struct fetch_job *job)
{
	uint64_t took = loop_now_us(job->fetch->loop) - job->began_us;
	uint64_t all = job->fetch->conf.timeout_ms * 1000ull;

	return took < all ? all - took : 0;
}

static void timer_cb(void *arg)
{
	struct fetch_job *job = arg;
	const struct fetch_conf *conf = &job->fetch->conf;
	const struct fetch_ops *ops = job->ops;
	bool there = !job->ended && job->connecting && is_connected(job);
	char error[sizeof(job->error)], address[sizeof(job->address)];

	if (there && left_us(job)) {
		job->connecting = false;
		loop_timer_set(job->timer, left_us(job));
		return;
	}
	if (!job->ended && job->connecting && !there)
		snprintf(job->error, sizeof(job->error), "no connection within %u ms",
			 conf->connect_ms < conf->timeout_ms ? conf->connect_ms : conf->timeout_ms);
	else if (!job->ended)
		snprintf(job->error, sizeof(job->error), "no whole answer within %u ms",
			 conf->timeout_ms);
	memcpy(error, job->error, sizeof(error));
	memcpy(address, job->address, sizeof(address));
	arg = job->arg;
	fetch_cancel(job);
	ops->done(arg, *error ? error : NULL, address);
}

/* ---- What comes back ------------------------------------------------------------------------- */

/* Of an answer that is no 200 the code is all that counts. */
static void note_end(struct fetch_job *job)
{
	const struct answer *a = &job->answer;
	char text[80];

	if (a->fault) {
		end_soon(job, a->fault);
	} else if (a->code / 100 > 1 && a->code != HTTP_OK) {
		snprintf(text, sizeof(text), "HTTP %d%s", a->code,
			 a->code / 100 == 3 ? ": redirects are not followed" : "");
		end_soon(job, text);
	} else if (a->done) {
		end_soon(job, "");
	}
}

static void take(struct fetch_job *job, const char *data, size_t len)
{
	size_t most = job->fetch->conf.body_max;

	while (len && !job->ended) {
		const char *body, *enough = NULL;
		size_t body_len;
		size_t taken = answer_feed(&job->answer, data, len, &body, &body_len);

		if (body_len && job->answer.code == HTTP_OK) {
			job->length += body_len;
			if (most && job->length > most)
				enough = "the answer is too long";
			else
				enough = job->ops->data(job->arg, body, body_len);
		}
		if (enough)
			end_soon(job, enough);
		note_end(job);
		data += taken;
		len -= taken;
	}
}

static void socket_cb(void *arg, unsigned events)
{
	struct fetch_job *job = arg;
	char data[READ_SIZE];
	ssize_t len;

	if (job->ended)
		return;
	len = read(bufferevent_getfd(job->bev), data, sizeof(data));
	if (len > 0) {
		take(job, data, (size_t)len);
	} else if (!len) {
		answer_end(&job->answer);
		note_end(job);
	} else if (errno != EAGAIN && errno != EINTR) {
		end_soon(job, job->answer.code ? "the answer is truncated" : "cannot connect");
	}
	if (job->ended)
		loop_fd_set(job->watch, 0);
}

/* With TLS. */
static void read_cb(struct bufferevent *bev, void *arg)
{
	struct evbuffer *input = bufferevent_get_input(bev);
	struct evbuffer_iovec piece;

	while (evbuffer_peek(input, -1, NULL, &piece, 1) > 0 && piece.iov_len) {
		take(arg, piece.iov_base, piece.iov_len);
		evbuffer_drain(input, piece.iov_len);
	}
}

/* ---- The connection -------------------------------------------------------------------------- */

static void send_request(struct fetch_job *job)
{
	size_t len = strlen(job->request);
	int fd = bufferevent_getfd(job->bev);

	is_connected(job);
	if (job->connecting && left_us(job))
		loop_timer_set(job->timer, left_us(job));
	job->connecting = false;
	if (job->tls) {
		bufferevent_enable(job->bev, EV_READ | EV_WRITE);
		bufferevent_write(job->bev, job->request, len);
		return;
	}
	bufferevent_disable(job->bev, EV_READ | EV_WRITE);
	if (send(fd, job->request, len, MSG_NOSIGNAL) == (ssize_t)len)
		job->watch = loop_fd_new(job->fetch->loop, fd, LOOP_READ, socket_cb, job);
	else
		end_soon(job, "cannot connect");
}

static void event_cb(struct bufferevent *bev, short what, void *arg)
{
	struct fetch_job *job = arg;
	unsigned long code;
	const char *reason;
	char text[80];

	if (job->ended)
		return;
	if (what & BEV_EVENT_CONNECTED) {
		send_request(job);
		return;
	}
	read_cb(bev, job);
	if (job->ended)
		return;
	if ((what & BEV_EVENT_EOF) && !job->connecting) {
		answer_end(&job->answer);
		note_end(job);
		return;
	}
	/* Where TLS knows why, in its words. */
	code = bufferevent_get_openssl_error(job->bev);
	reason = code ? ERR_reason_error_string(code) : NULL;
	snprintf(text, sizeof(text), "%s%s", reason ? "TLS: " : "cannot connect",
		 reason ? reason : "");
	if (!reason && job->answer.code)
		snprintf(text, sizeof(text), "the answer is truncated");
	end_soon(job, text);
}

/* ---- A job's beginning ----------------------------------------------------------------------- */

/* The certificate must name the host, or the address where the URL has one. */
static SSL *tls_new(SSL_CTX *context, const char *host)
{
	SSL *ssl = SSL_new(context);
	struct in6_addr address;

	if (!ssl)
		return NULL;
	if (inet_pton(AF_INET, host, &address) == 1 || inet_pton(AF_INET6, host, &address) == 1) {
		X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(ssl), host);
	} else {
		SSL_set1_host(ssl, host);
		SSL_set_tlsext_host_name(ssl, host);
	}
	return ssl;
}

/* False: there is no socket, no TLS, or the request does not fit. */
static bool begin_connection(struct fetch_job *job, const struct fetch_url *url,
			     const char *address)
{
	struct event_base *base = loop_event_base(job->fetch->loop);
	SSL *ssl = url->tls ? tls_new(job->fetch->tls, url->host) : NULL;
	bool v6 = strchr(url->host, ':');
	int len = snprintf(job->request, sizeof(job->request),
			   "GET %s HTTP/1.1\r\nHost: %s%s%s:%u\r\nConnection: close\r\n"
			   "Accept: text/plain; version=0.0.4\r\nUser-Agent: fmd/" FMD_VERSION
			   "\r\n\r\n",
			   url->path, v6 ? "[" : "", url->host, v6 ? "]" : "", url->port);

	if (ssl)
		job->bev = bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_CONNECTING,
							  BEV_OPT_CLOSE_ON_FREE);
	else if (!url->tls)
		job->bev = bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	if (!job->bev || len <= 0 || (size_t)len >= sizeof(job->request))
		return false;
	bufferevent_setcb(job->bev, read_cb, NULL, event_cb, job);
	return !bufferevent_socket_connect_hostname(job->bev, job->fetch->dns, AF_UNSPEC, address,
						    url->port);
}

struct fetch_job *fetch_get(struct fetch *fetch, const struct fetch_url *url, const char *address,
			    const struct fetch_ops *ops, void *arg)
{
	struct fetch_job *job = mem_alloc(1, sizeof(*job));
	unsigned first = fetch->conf.connect_ms < fetch->conf.timeout_ms ? fetch->conf.connect_ms
									 : fetch->conf.timeout_ms;

	*job = (struct fetch_job){ .next = fetch->jobs,
				   .link = &fetch->jobs,
				   .fetch = fetch,
				   .ops = ops,
				   .arg = arg,
				   .began_us = loop_now_us(fetch->loop),
				   .tls = url->tls,
				   .connecting = true };
	answer_init(&job->answer);
	if (fetch->jobs)
		fetch->jobs->link = &job->next;
	fetch->jobs = job;
	job->timer = loop_timer_new(fetch->loop, timer_cb, job);
	loop_timer_set(job->timer, first * 1000ull);
	if (url->tls && !fetch->tls)
		end_soon(job, "https needs nvswitch_ca_file");
	else if (!begin_connection(job, url, address && *address ? address : url->host))
		end_soon(job, "cannot connect");
	return job;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct fetch *fetch_new(struct loop *loop, const struct fetch_conf *conf, char *err,
			size_t err_size)
{
	struct fetch *fetch;
	SSL_CTX *tls;

	if (loop_is_simulated(loop))
		return NULL;
	fetch = mem_alloc(1, sizeof(*fetch));
	tls = *conf->ca_file ? SSL_CTX_new(TLS_client_method()) : NULL;
	if (*conf->ca_file &&
	    (!tls || SSL_CTX_load_verify_locations(tls, conf->ca_file, NULL) != 1)) {
		snprintf(err, err_size, "%s: %s", conf->ca_file,
			 ERR_reason_error_string(ERR_peek_last_error()));
		SSL_CTX_free(tls);
		free(fetch);
		return NULL;
	}
	if (tls) {
		SSL_CTX_set_verify(tls, SSL_VERIFY_PEER, NULL);
		SSL_CTX_set_min_proto_version(tls, TLS1_2_VERSION);
	}
	*fetch = (struct fetch){ .loop = loop, .conf = *conf, .tls = tls };
	fetch->conf.ca_file = NULL; /* the caller's, and read */
	fetch->dns = resolver_new(loop);
	return fetch;
}

void fetch_free(struct fetch *fetch)
{
	if (!fetch)
		return;
	while (fetch->jobs)
		fetch_cancel(fetch->jobs);
	resolver_free(fetch->dns);
	SSL_CTX_free(fetch->tls);
	free(fetch);
}
