/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * http: checks who may send requests, and passes them on: to the page (page.h), to /metrics, to
 * documents (document.h).
 *
 * Requests with a body and other methods than GET and HEAD are refused.
 */
#include <openssl/crypto.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/answer.h"
#include "fm/core/child.h"
#include "fm/core/log.h"
#include "fm/http/child_reply.h"
#include "fm/http/document.h"
#include "fm/http/host_names.h"
#include "fm/http/http.h"
#include "fm/http/metrics.h"
#include "fm/http/page.h"
#include "fm/http/port_reply.h"
#include "fm/http/reply.h"
#include "fm/http/request.h"
#include "fm/http/serve.h"
#include "fm/http/stream.h"
#include "topology/mem.h"

#define API	    "/api/v1/"
#define TOKEN_MAX   512
#define TOKEN_LEAST 16
#define METRICS	    "text/plain; version=0.0.4; charset=utf-8"

struct http {
	struct serve *serve;
	struct command_env env;
	struct requests requests;
	struct streams *streams;
	char **names;		   /* that it is known by */
	char token[TOKEN_MAX + 1]; /* "" = none is needed */
	struct page *page;
	enum conf_port_metrics ports;
	struct port_replies port_replies;
};

/* ---- Metrics --------------------------------------------------------------------------------- */

static enum MHD_Result reply_metrics(const struct http *http, struct MHD_Connection *connection)
{
	json_t *status = fabric_status(http->env.fabric);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	metrics_write(status, out);
	fclose(out);
	json_decref(status);
	return reply_text(connection, METRICS, text, len);
}

/* Never compressed: that would take longer than all the rest. */
static enum MHD_Result reply_ports(struct http *http, struct MHD_Connection *connection)
{
	struct MHD_Response *response;

	if (http->ports == CONF_PORTS_OFF)
		return reply_refuse(connection, MHD_HTTP_NOT_FOUND, "port_metrics is \"off\"");
	response = port_reply_new(&http->port_replies, connection, http->env.fabric,
				  http->ports == CONF_PORTS_ALL);
	if (!response)
		return reply_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
				    "too many readers of port metrics at a time");
	return reply_queue(connection, MHD_HTTP_OK, METRICS, NULL, false, response);
}

/* ---- Requests -------------------------------------------------------------------------------- */

static bool is_known_host(const struct http *http, struct MHD_Connection *connection)
{
	char local[64];

	serve_local_address(connection, local, sizeof(local));
	return host_names_match(
		http->names,
		MHD_lookup_connection_value(connection, MHD_HEADER_KIND, MHD_HTTP_HEADER_HOST),
		local);
}

/* Compares tokens in a time that depends on their lengths only. */
static bool has_token(const struct http *http, struct MHD_Connection *connection)
{
	const char *given = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							MHD_HTTP_HEADER_AUTHORIZATION);
	size_t len = strlen(http->token);

	if (!len)
		return true;
	return given && !strncasecmp(given, "Bearer ", 7) && strlen(given + 7) == len &&
	       !CRYPTO_memcmp(given + 7, http->token, len);
}

static bool has_body(struct MHD_Connection *connection)
{
	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);

	return (length && strcmp(length, "0")) ||
	       MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					   MHD_HTTP_HEADER_TRANSFER_ENCODING);
}

/* Checks a request before any body is read: refuses it, or leaves *code 0: it is served. */
static unsigned objection(const struct http *http, struct MHD_Connection *connection,
			  const char *method, const char **why)
{
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD)) {
		*why = "GET and HEAD only";
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	}
	*why = "a request body is not accepted";
	if (has_body(connection))
		return MHD_HTTP_CONTENT_TOO_LARGE;
	*why = "unknown host name: see http_hosts";
	return is_known_host(http, connection) ? 0 : MHD_HTTP_MISDIRECTED_REQUEST;
}

static enum MHD_Result request_cb(void *arg, struct MHD_Connection *connection, const char *path,
				  const char *method, const char *version, const char *body,
				  size_t *body_len, void **request)
{
	static char seen; /* *request of one whose headers were looked at; never written */
	struct http *http = arg;
	const char *why = "";
	unsigned code;

	if (!*request) {
		*request = &seen;
		code = objection(http, connection, method, &why);
		return code ? reply_refuse(connection, code, why) : MHD_YES;
	}
	if (*request != &seen)
		return ((struct request *)*request)->ops->go_on(*request);
	if (!strcmp(path, PAGE_PATH))
		return page_reply(http->page, connection);
	if (!has_token(http, connection))
		return reply_refuse(connection, MHD_HTTP_UNAUTHORIZED, "a bearer token is needed");
	if (!strcmp(path, "/metrics"))
		return reply_metrics(http, connection);
	if (!strcmp(path, "/metrics/ports"))
		return reply_ports(http, connection);
	if (strncmp(path, API, strlen(API)))
		return reply_refuse(connection, MHD_HTTP_NOT_FOUND, "no such document");
	if (!strcmp(path, API "stream"))
		return stream_reply(http->streams, connection, request);
	return document_reply(&http->requests, &http->env, connection, path + strlen(API), request);
}

static void completed_cb(void *arg, struct MHD_Connection *connection, void **request,
			 enum MHD_RequestTerminationCode how)
{
	struct http *http = arg;
	struct request *ours = request_find(&http->requests, *request);

	if (ours)
		ours->ops->end(ours);
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* The first line of the file; -1 with the reason. */
static int read_token(const char *path, char *token, char *err, size_t err_size)
{
	FILE *file = *path ? fopen(path, "r") : NULL;
	const char *why = NULL;

	*token = '\0';
	if (!*path)
		return 0;
	if (!file || !fgets(token, TOKEN_MAX + 1, file))
		why = file && !ferror(file) ? "empty" : strerror(errno);
	if (file)
		fclose(file);
	token[strcspn(token, "\r\n")] = '\0';
	if (!why && strlen(token) < TOKEN_LEAST)
		why = "a token of 16 characters or more is expected in the first line";
	if (why)
		snprintf(err, err_size, "http_token_file = \"%s\": %s", path, why);
	return why ? -1 : 0;
}

static struct serve_conf serve_conf_of(const struct http_conf *conf)
{
	return (struct serve_conf){ conf->listen, conf->cert_file, conf->key_file };
}

static void take_conf(struct http *http, const struct http_conf *conf, const char *token)
{
	strcpy(http->token, token);
	http->ports = conf->ports;
	host_names_free(http->names);
	http->names = host_names_new(conf->hosts, conf->listen);
}

struct http *http_new(struct loop *loop, struct fabric *fabric, const struct http_conf *conf,
		      char *err, size_t err_size)
{
	const struct serve_conf serve_conf = serve_conf_of(conf);
	struct http *http = mem_alloc(1, sizeof(*http));
	const struct serve_ops ops = { request_cb, completed_cb, http };
	char token[TOKEN_MAX + 1];

	http->requests.loop = loop;
	http->env.fabric = fabric;
	if (!read_token(conf->token_file, token, err, err_size))
		http->serve = serve_new(loop, &serve_conf, &ops, err, err_size);
	if (!http->serve) {
		free(http);
		return NULL;
	}
	http->requests.serve = http->serve;
	http->requests.children = children_new(loop);
	http->requests.starter = loop_timer_new(loop, child_reply_start, &http->requests);
	http->streams = streams_new(&http->requests, fabric);
	http->page = page_new();
	take_conf(http, conf, token);
	log_line(LOG_CORE, LOG_NOTICE, "http%s://%s: metrics, documents and a page%s",
		 *conf->cert_file ? "s" : "", conf->listen, *token ? ", with a token" : "");
	return http;
}

int http_configure(struct http *http, const struct http_conf *conf, char *err, size_t err_size)
{
	const struct serve_conf serve_conf = serve_conf_of(conf);
	char token[TOKEN_MAX + 1];

	if (read_token(conf->token_file, token, err, err_size))
		return -1;
	requests_resume_all(&http->requests);
	if (serve_configure(http->serve, &serve_conf, err, err_size))
		return -1;
	take_conf(http, conf, token);
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	requests_resume_all(&http->requests);
	serve_free(http->serve);
	streams_free(http->streams);
	page_free(http->page);
	loop_timer_free(http->requests.starter);
	children_free(http->requests.children);
	host_names_free(http->names);
	free(http);
}
