/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * serve: libmicrohttpd without threads and without a listening socket of its own: connections are
 * accepted by fm/os/listener.h, which survives a shortage of descriptors, and the loop watches
 * the library's epoll descriptor.
 */
#include <errno.h>
#include <strings.h>
#include <unistd.h>
#include <zlib.h>
#include <openssl/sha.h>
#include <arpa/inet.h>
#include "fm/conf/conf.h"
#include "fm/http/serve.h"
#include "fm/loop/log.h"
#include "fm/os/listener.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- Gzip by zlib, entity tags by SHA-256 of what is not compressed -------------------------- */

#define LEAST	     1024 /* shorter bodies are not worth it */
#define LEVEL	     4	  /* of zlib: JSON of a large fabric to 5%, in half the time of level 6 */
#define GZIP_WINDOW  (15 + 16)
#define MEMORY_LEVEL 9

bool encode_accepts_gzip(const char *header)
{
	while (header && *header) {
		size_t blank = strspn(header, " \t,");
		size_t len = strcspn(header + blank, ","), name;

		header += blank;
		name = strcspn(header, ";, \t");
		if (name == 4 && !strncasecmp(header, "gzip", 4)) {
			/* "q=0", "q=0.0": the client does not want it. */
			const char *q = memmem(header + name, len - name, "q=", 2);
			return !(q && strtod(q + 2, NULL) <= 0);
		}
		header += len;
	}
	return false;
}

/* NULL where it comes out no shorter. */
static char *compress_body(const char *body, size_t len, size_t *out_len)
{
	z_stream z = { .next_in = (Bytef *)body, .avail_in = (uInt)len };
	size_t most = len - len / 8;
	char *out = NULL;

	if (len < LEAST || len > UINT32_MAX ||
	    deflateInit2(&z, LEVEL, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL, Z_DEFAULT_STRATEGY))
		return NULL;
	out = mem_alloc(most, 1);
	z.next_out = (Bytef *)out;
	z.avail_out = (uInt)most;

	bool whole = deflate(&z, Z_FINISH) == Z_STREAM_END;

	if (whole)
		*out_len = z.total_out;
	deflateEnd(&z);
	if (whole)
		return out;
	free(out);
	return NULL;
}

static void make_tag(const char *body, size_t len, bool gzip, char tag[ENCODE_TAG])
{
	unsigned char digest[SHA256_DIGEST_LENGTH];
	char *at = tag;

	SHA256((const unsigned char *)body, len, digest);
	*at++ = '"';
	for (unsigned i = 0; i < 10; i++)
		at += sprintf(at, "%02x", digest[i]);
	strcpy(at, gzip ? "-gz\"" : "\"");
}

/*
 * The tag without its mark of the encoding: a client that has the document in either has the
 * document.
 */
bool encode_has(const char *if_none_match, const char *tag)
{
	char stem[ENCODE_TAG];

	if (!if_none_match)
		return false;
	array_printf(stem, "%.21s", tag);
	return !strcmp(if_none_match, "*") || strstr(if_none_match, stem);
}

struct encoded encode_body(const struct encode_wish *wish, char *body, size_t len)
{
	struct encoded out = { .body = body, .len = len };

	make_tag(body, len, false, out.tag);
	if (encode_has(wish->if_none_match, out.tag)) {
		free(body);
		out.body = NULL;
		out.len = 0;
		return out;
	}

	char *packed = wish->gzip ? compress_body(body, len, &out.len) : NULL;

	if (!packed)
		return out;
	make_tag(body, len, true, out.tag);
	free(body);
	out.body = packed;
	out.gzip = true;
	return out;
}

/* ---- Browsers must not cache what is known of the fabric, so all responses are no-store ------ */

/* A client that wants to revalidate keeps the entity tag and sends If-None-Match itself. */

struct encode_wish reply_wish(struct MHD_Connection *connection)
{
	return (struct encode_wish){
		encode_accepts_gzip(MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
								MHD_HTTP_HEADER_ACCEPT_ENCODING)),
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					    MHD_HTTP_HEADER_IF_NONE_MATCH),
	};
}

enum MHD_Result reply_queue(struct MHD_Connection *connection, unsigned code, const char *type,
			    const char *tag, bool gzip, struct MHD_Response *response)
{
	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (tag) {
		MHD_add_response_header(response, MHD_HTTP_HEADER_ETAG, tag);
		MHD_add_response_header(response, MHD_HTTP_HEADER_VARY,
					MHD_HTTP_HEADER_ACCEPT_ENCODING);
	}
	if (gzip)
		MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_ENCODING, "gzip");
	if (code == MHD_HTTP_METHOD_NOT_ALLOWED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_ALLOW, "GET, HEAD");
	if (code == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	if (code == MHD_HTTP_SERVICE_UNAVAILABLE)
		MHD_add_response_header(response, MHD_HTTP_HEADER_RETRY_AFTER, "1");

	enum MHD_Result status = MHD_queue_response(connection, code, response);

	MHD_destroy_response(response);
	return status;
}

enum MHD_Result reply_text(struct MHD_Connection *connection, const char *type, char *text,
			   size_t len)
{
	const struct encode_wish wish = reply_wish(connection);
	const struct encoded out = encode_body(&wish, text, len);

	struct MHD_Response *response =
		out.body ? MHD_create_response_from_buffer(out.len, out.body, MHD_RESPMEM_MUST_FREE)
			 : MHD_create_response_from_buffer(0, "", MHD_RESPMEM_PERSISTENT);

	return reply_queue(connection, out.body ? MHD_HTTP_OK : MHD_HTTP_NOT_MODIFIED, type,
			   out.tag, out.gzip, response);
}

enum MHD_Result reply_json(struct MHD_Connection *connection, json_t *document)
{
	char *text = json_dumps(document, JSON_COMPACT);

	json_decref(document);
	return reply_text(connection, REPLY_JSON, text, strlen(text));
}

enum MHD_Result reply_refuse(struct MHD_Connection *connection, unsigned code, const char *why)
{
	json_t *document = json_pack("{s:s}", "error", why);

	if (!document)
		document = json_pack("{s:s}", "error", "not to be done");

	char *text = json_dumps(document, JSON_COMPACT);

	json_decref(document);
	return reply_queue(
		connection, code, REPLY_JSON, NULL, false,
		MHD_create_response_from_buffer(strlen(text), text, MHD_RESPMEM_MUST_FREE));
}

/* ---- Serve ----------------------------------------------------------------------------------- */

#define TIMEOUT_S      30u /* without a byte either way */
#define CONNECTIONS    256
#define FDS_PERCENT    25 /* of what the process may open */
#define UNPROVEN       8  /* connections whose other end has not had a request served yet */
#define PER_ADDRESS    32 /* at most; nor more than a quarter of all, but two */
#define TLS_PRIORITIES "NORMAL:-VERS-ALL:+VERS-TLS1.3:+VERS-TLS1.2"

struct serve {
	struct loop *loop;
	struct serve_ops ops;
	int fd;
	struct listener *listener;
	struct MHD_Daemon *daemon;
	struct loop_fd *watch;
	struct loop_timer *timer;
	bool rests;    /* others have the time */
	unsigned most; /* connections */
};

/* ---- The library on the loop ----------------------------------------------------------------- */

/* Connections are served in `delay_us`, or later where doors have had their share of the time. */
static void serve_in(struct serve *s, uint64_t delay_us)
{
	uint64_t rest = listener_rest_us(s->loop);

	if (s->rests || rest)
		loop_fd_set(s->watch, rest ? 0 : LOOP_READ);
	s->rests = rest;
	loop_timer_set(s->timer, delay_us > rest ? delay_us : rest);
}

static void arm(struct serve *s)
{
	MHD_UNSIGNED_LONG_LONG ms;

	if (listener_rest_us(s->loop))
		serve_in(s, 0);
	else if (MHD_get_timeout(s->daemon, &ms) == MHD_YES)
		serve_in(s, (uint64_t)ms * 1000);
	else
		loop_timer_stop(s->timer);
}

static void work_cb(void *arg)
{
	struct serve *s = arg;
	uint64_t began = loop_clock_us(s->loop);

	if (!listener_rest_us(s->loop)) {
		MHD_run(s->daemon);
		listener_worked(s->loop, began);
	}
	arm(s);
}

static void ready_cb(void *arg, unsigned events)
{
	work_cb(arg);
}

/* One that is over a limit was closed by the library. */
static void connection_cb(void *arg, int fd, const struct sockaddr *from)
{
	struct serve *s = arg;
	socklen_t size = from->sa_family == AF_INET6 ? sizeof(struct sockaddr_in6)
						     : sizeof(struct sockaddr_in);

	if (fd >= 0 && MHD_add_connection(s->daemon, fd, from, size) == MHD_YES)
		serve_in(s, 0);
	else
		listener_done(s->listener, fd, false);
}

static int socket_of(struct MHD_Connection *connection)
{
	return MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD)->connect_fd;
}

static void notify_cb(void *arg, struct MHD_Connection *connection, void **context,
		      enum MHD_ConnectionNotificationCode code)
{
	struct serve *s = arg;

	if (code == MHD_CONNECTION_NOTIFY_CLOSED && s->listener)
		listener_done(s->listener, socket_of(connection), false);
}

void serve_proven(struct serve *s, struct MHD_Connection *connection)
{
	listener_done(s->listener, socket_of(connection), true);
}

static void log_cb(void *arg, const char *format, va_list args)
{
	char text[256];

	vsnprintf(text, sizeof(text), format, args);
	text[strcspn(text, "\n")] = '\0';
	log_line(LOG_CORE, LOG_DEBUG, "http: %s", text);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* NULL with the reason: a certificate and key that can't be read or don't fit. */
static struct MHD_Daemon *open_daemon(struct serve *s, const struct conf_http *conf, char *err,
				      size_t err_size)
{
	const char *file = *conf->cert_file ? conf->cert_file : NULL;
	const char *why =
		file ? "the certificate does not match the key" : "the HTTP server cannot start";
	char *cert = file ? mem_read_path(file, &(size_t){ 0 }) : NULL, *key = NULL;
	struct MHD_Daemon *daemon = NULL;
	unsigned flags = MHD_USE_EPOLL | MHD_USE_NO_LISTEN_SOCKET | MHD_ALLOW_SUSPEND_RESUME |
			 MHD_USE_ERROR_LOG | (file ? MHD_USE_TLS : 0);
	unsigned quarter = s->most / 4;
	unsigned per_address = quarter > PER_ADDRESS ? PER_ADDRESS : quarter < 2 ? 2 : quarter;

	if (cert)
		key = mem_read_path(file = conf->key_file, &(size_t){ 0 });

	struct MHD_OptionItem tls[] = {
		{ MHD_OPTION_HTTPS_MEM_CERT, 0, cert },
		{ MHD_OPTION_HTTPS_MEM_KEY, 0, key },
		{ MHD_OPTION_HTTPS_PRIORITIES, 0, (void *)TLS_PRIORITIES },
		{ MHD_OPTION_END, 0, NULL },
	};

	if (file && !key)
		why = strerror(errno);
	else
		daemon = MHD_start_daemon(
			flags, 0, NULL, NULL, s->ops.request, s->ops.arg,
			MHD_OPTION_EXTERNAL_LOGGER, log_cb, NULL, MHD_OPTION_NOTIFY_COMPLETED,
			s->ops.completed, s->ops.arg, MHD_OPTION_NOTIFY_CONNECTION, notify_cb, s,
			MHD_OPTION_CONNECTION_TIMEOUT, TIMEOUT_S, MHD_OPTION_CONNECTION_LIMIT,
			s->most, MHD_OPTION_PER_IP_CONNECTION_LIMIT, per_address,
			cert ? MHD_OPTION_ARRAY : MHD_OPTION_END, tls, MHD_OPTION_END);
	if (!daemon)
		snprintf(err, err_size, "%s: %s", file ? file : conf->listen, why);
	free(cert);
	free(key);
	return daemon;
}

static void take_daemon(struct serve *s, struct MHD_Daemon *daemon)
{
	loop_fd_free(s->watch);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	s->daemon = daemon;
	s->watch = loop_fd_new(s->loop,
			       MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_EPOLL_FD)->epoll_fd,
			       LOOP_READ, ready_cb, s);
	arm(s);
}

struct serve *serve_new(struct loop *loop, const struct conf_http *conf,
			const struct serve_ops *ops, char *err, size_t err_size)
{
	struct serve *s = mem_new(s);

	*s = (struct serve){ .loop = loop, .ops = *ops, .fd = -1 };
	s->most = listener_allowance(FDS_PERCENT, CONNECTIONS);
	s->fd = listener_socket(loop, conf->listen, true);
	if (s->fd < 0)
		snprintf(err, err_size, "http_listen = \"%s\": %s", conf->listen, strerror(-s->fd));

	struct MHD_Daemon *daemon = s->fd < 0 ? NULL : open_daemon(s, conf, err, err_size);

	if (!daemon) {
		serve_free(s);
		return NULL;
	}
	s->timer = loop_timer_new(loop, work_cb, s);
	take_daemon(s, daemon);
	s->listener = listener_new(loop, s->fd, "http", UNPROVEN, connection_cb, s);
	return s;
}

int serve_configure(struct serve *s, const struct conf_http *conf, char *err, size_t err_size)
{
	struct MHD_Daemon *daemon = open_daemon(s, conf, err, err_size);

	if (!daemon)
		return -1;
	take_daemon(s, daemon);
	return 0;
}

void serve_free(struct serve *s)
{
	if (!s)
		return;
	listener_free(s->listener);
	s->listener = NULL;
	loop_timer_free(s->timer);
	loop_fd_free(s->watch);
	if (s->daemon)
		MHD_stop_daemon(s->daemon);
	if (s->fd >= 0)
		close(s->fd);
	free(s);
}

void serve_client(struct MHD_Connection *connection, char text[SERVE_ADDRESS])
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);

	*text = '\0';
	if (info && info->client_addr)
		address_print(info->client_addr, text, SERVE_ADDRESS);
}

void serve_local_address(struct MHD_Connection *connection, char *text, size_t size)
{
	const union MHD_ConnectionInfo *info =
		MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
	struct sockaddr_storage at = { 0 };
	socklen_t len = sizeof(at);

	*text = '\0';
	if (info && !getsockname(info->connect_fd, (struct sockaddr *)&at, &len))
		address_print((const struct sockaddr *)&at, text, size);
}

/* ---- The list of them, and the suspension of their connections ------------------------------- */

void request_init(struct request *request, const struct request_ops *ops, struct requests *all,
		  struct MHD_Connection *connection)
{
	*request = (struct request){
		.ops = ops, .all = all, .next = all->first, .connection = connection
	};
	all->first = request;
}

void request_fini(struct request *request)
{
	struct request **link = &request->all->first;

	while (*link != request)
		link = &(*link)->next;
	*link = request->next;
}

void request_suspend(struct request *request)
{
	request->suspended = true;
	MHD_suspend_connection(request->connection);
}

void request_resume(struct request *request)
{
	if (!request->suspended)
		return;
	request->suspended = false;
	MHD_resume_connection(request->connection);
	serve_in(request->all->serve, 0);
}

void requests_resume_all(struct requests *all)
{
	for (struct request *request = all->first; request; request = request->next)
		request_resume(request);
}
