/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fetch: GETs by libevent's HTTP client.
 *
 * evhttp ends a request from many places and inside many calls. Whatever it says is only noted; the job's own timer, which otherwise
 * is its time limit, then runs at once, takes the connection down and tells the caller. So a job ends in one place.
 *
 * evhttp waits for a chunk as a whole before it hands it on, and exporters send all they have as one: body_max bounds what a
 * connection can make us hold.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/bufferevent_ssl.h>
#include <event2/dns.h>
#include <event2/event.h>
#include <event2/http.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include "fm/nvswitch/fetch.h"
#include "topology/mem.h"

#define HEADERS_MAX 16384

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
	struct evhttp_connection *connection;
	struct loop_timer *timer;
	bool connecting, ended;
	char error[80]; /* "" = none */
	char address[INET6_ADDRSTRLEN];
};

/* ---- URLs ---------------------------------------------------------------------------------------- */

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

/* ---- A job's end --------------------------------------------------------------------------------- */

/* The first reason stands. */
static void end_soon(struct fetch_job *job, const char *error)
{
	if (job->ended)
		return;
	job->ended = true;
	snprintf(job->error, sizeof(job->error), "%s", error);
	loop_timer_set(job->timer, 0);
}

static void job_free(struct fetch_job *job)
{
	*job->link = job->next;
	if (job->next)
		job->next->link = job->link;
	if (job->connection)
		evhttp_connection_free(job->connection);
	loop_timer_free(job->timer);
	free(job);
}

static void tell_end(struct fetch_job *job)
{
	const struct fetch_ops *ops = job->ops;
	void *arg = job->arg;
	char error[sizeof(job->error)], address[sizeof(job->address)];

	memcpy(error, job->error, sizeof(error));
	memcpy(address, job->address, sizeof(address));
	job_free(job);
	ops->done(arg, *error ? error : NULL, address);
}

/* True, and the address noted, when there is a connection. */
static bool is_connected(struct fetch_job *job)
{
	struct bufferevent *bev = evhttp_connection_get_bufferevent(job->connection);
	struct sockaddr_storage peer = { 0 };
	socklen_t len = sizeof(peer);

	if (getpeername(bufferevent_getfd(bev), (struct sockaddr *)&peer, &len))
		return false;
	if (peer.ss_family == AF_INET)
		inet_ntop(AF_INET, &((struct sockaddr_in *)&peer)->sin_addr, job->address,
			  sizeof(job->address));
	else if (peer.ss_family == AF_INET6)
		inet_ntop(AF_INET6, &((struct sockaddr_in6 *)&peer)->sin6_addr, job->address,
			  sizeof(job->address));
	return true;
}

static void timer_cb(void *arg)
{
	struct fetch_job *job = arg;
	const struct fetch_conf *conf = &job->fetch->conf;

	if (job->ended) {
		tell_end(job);
	} else if (job->connecting && conf->connect_ms < conf->timeout_ms && is_connected(job)) {
		job->connecting = false;
		loop_timer_set(job->timer, (conf->timeout_ms - conf->connect_ms) * 1000ull);
	} else {
		snprintf(job->error, sizeof(job->error),
			 job->connecting ? "no connection within %u ms"
					 : "no whole answer within %u ms",
			 job->connecting ? conf->connect_ms : conf->timeout_ms);
		tell_end(job);
	}
}

/* ---- What evhttp says ---------------------------------------------------------------------------- */

static void body_cb(struct evhttp_request *request, void *arg)
{
	struct evbuffer *body = evhttp_request_get_input_buffer(request);
	struct fetch_job *job = arg;
	struct evbuffer_iovec pieces[8];
	int count;

	if (evhttp_request_get_response_code(request) != HTTP_OK)
		return;
	while (!job->ended && evbuffer_get_length(body)) {
		size_t used = 0;

		count = evbuffer_peek(body, -1, NULL, pieces, 8);
		for (int i = 0; i < count && i < 8 && !job->ended; i++) {
			const char *enough =
				job->ops->data(job->arg, pieces[i].iov_base, pieces[i].iov_len);

			used += pieces[i].iov_len;
			if (enough)
				end_soon(job, enough);
		}
		evbuffer_drain(body, used);
	}
}

/* Where TLS knows why, in its words. */
static void end_failed(struct fetch_job *job, const char *otherwise)
{
	struct bufferevent *bev = evhttp_connection_get_bufferevent(job->connection);
	unsigned long code = bufferevent_get_openssl_error(bev);
	const char *reason = code ? ERR_reason_error_string(code) : NULL;
	char text[80];

	snprintf(text, sizeof(text), "%s%s", reason ? "TLS: " : otherwise, reason ? reason : "");
	end_soon(job, text);
}

static void error_cb(enum evhttp_request_error error, void *arg)
{
	static const char *const words[] = {
		[EVREQ_HTTP_TIMEOUT] = "no whole answer in time",
		[EVREQ_HTTP_EOF] = "the answer ends early",
		[EVREQ_HTTP_INVALID_HEADER] = "the answer is no HTTP",
		[EVREQ_HTTP_BUFFER_ERROR] = "the connection failed",
		[EVREQ_HTTP_REQUEST_CANCEL] = "cancelled",
		[EVREQ_HTTP_DATA_TOO_LONG] = "the answer is too long",
	};

	end_failed(arg, words[error]);
}

static void answered_cb(struct evhttp_request *request, void *arg)
{
	struct fetch_job *job = arg;
	int code = request ? evhttp_request_get_response_code(request) : 0;
	char text[80];

	if (job->ended)
		return;
	if (!code) {
		end_failed(job, "no connection");
		return;
	}
	body_cb(request, arg);
	snprintf(text, sizeof(text), "HTTP %d%s", code,
		 code / 100 == 3 ? ": redirects are not followed" : "");
	is_connected(job);
	end_soon(job, code == HTTP_OK ? "" : text);
}

/* ---- A job's beginning --------------------------------------------------------------------------- */

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

static struct bufferevent *bev_new(struct fetch *fetch, const struct fetch_url *url)
{
	struct event_base *base = loop_event_base(fetch->loop);
	SSL *ssl;

	if (!url->tls)
		return bufferevent_socket_new(base, -1, BEV_OPT_CLOSE_ON_FREE);
	ssl = fetch->tls ? tls_new(fetch->tls, url->host) : NULL;
	return ssl ? bufferevent_openssl_socket_new(base, -1, ssl, BUFFEREVENT_SSL_CONNECTING,
						    BEV_OPT_CLOSE_ON_FREE)
		   : NULL;
}

static void add_headers(struct evhttp_request *request, const struct fetch_url *url)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	bool v6 = strchr(url->host, ':');
	char host[sizeof(url->host) + 16];

	snprintf(host, sizeof(host), "%s%s%s:%u", v6 ? "[" : "", url->host, v6 ? "]" : "",
		 url->port);
	evhttp_add_header(headers, "Host", host);
	evhttp_add_header(headers, "Connection", "close");
	evhttp_add_header(headers, "Accept", "text/plain; version=0.0.4");
	evhttp_add_header(headers, "User-Agent", "fmd/" FMD_VERSION);
}

static bool send_request(struct fetch_job *job, const struct fetch_url *url, const char *address)
{
	struct fetch *fetch = job->fetch;
	struct bufferevent *bev = bev_new(fetch, url);
	struct evhttp_request *request;

	if (!bev)
		return false;
	job->connection = evhttp_connection_base_bufferevent_new(
		loop_event_base(fetch->loop), fetch->dns, bev,
		address && *address ? address : url->host, url->port);
	if (!job->connection)
		return false;
	evhttp_connection_set_max_headers_size(job->connection, HEADERS_MAX);
	evhttp_connection_set_max_body_size(job->connection, (ev_ssize_t)fetch->conf.body_max);
	request = evhttp_request_new(answered_cb, job);
	evhttp_request_set_chunked_cb(request, body_cb);
	evhttp_request_set_error_cb(request, error_cb);
	add_headers(request, url);
	return !evhttp_make_request(job->connection, request, EVHTTP_REQ_GET, url->path);
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
				   .connecting = true };
	if (fetch->jobs)
		fetch->jobs->link = &job->next;
	fetch->jobs = job;
	job->timer = loop_timer_new(fetch->loop, timer_cb, job);
	loop_timer_set(job->timer, first * 1000ull);
	if (url->tls && !fetch->tls)
		end_soon(job, "https without a CA file");
	else if (!send_request(job, url, address))
		end_soon(job, "no connection");
	return job;
}

void fetch_cancel(struct fetch_job *job)
{
	job_free(job);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

static SSL_CTX *context_new(const char *ca_file, char *err, size_t err_size)
{
	SSL_CTX *context = SSL_CTX_new(TLS_client_method());

	if (context && SSL_CTX_load_verify_locations(context, ca_file, NULL) == 1) {
		SSL_CTX_set_verify(context, SSL_VERIFY_PEER, NULL);
		SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION);
		return context;
	}
	snprintf(err, err_size, "%s: %s", ca_file, ERR_reason_error_string(ERR_peek_last_error()));
	SSL_CTX_free(context);
	return NULL;
}

/* Without a resolv.conf names of /etc/hosts and addresses still serve. */
static struct evdns_base *dns_new(struct event_base *base)
{
	struct evdns_base *dns = evdns_base_new(base, EVDNS_BASE_INITIALIZE_NAMESERVERS |
							      EVDNS_BASE_DISABLE_WHEN_INACTIVE);

	if (!dns) {
		dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
		if (dns)
			evdns_base_load_hosts(dns, "/etc/hosts");
	}
	return dns;
}

struct fetch *fetch_new(struct loop *loop, const struct fetch_conf *conf, char *err,
			size_t err_size)
{
	struct fetch *fetch = mem_alloc(1, sizeof(*fetch));

	*fetch = (struct fetch){ .loop = loop, .conf = *conf };
	if (*conf->ca_file) {
		fetch->tls = context_new(conf->ca_file, err, err_size);
		if (!fetch->tls) {
			free(fetch);
			return NULL;
		}
	}
	fetch->conf.ca_file = NULL; /* the caller's, and read */
	fetch->dns = dns_new(loop_event_base(loop));
	return fetch;
}

void fetch_free(struct fetch *fetch)
{
	if (!fetch)
		return;
	while (fetch->jobs)
		job_free(fetch->jobs);
	if (fetch->dns)
		evdns_base_free(fetch->dns, 0);
	SSL_CTX_free(fetch->tls);
	free(fetch);
}
