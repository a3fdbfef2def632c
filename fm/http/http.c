/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * http: evhttp serves, and three kinds of answers exist: bytes that are at hand (the page), figures of now (/metrics and short
 * documents), and documents that grow with the fabric. The last are written by a child process, as for the control
 * socket, and passed on chunk by chunk, no faster than the client reads; a client that goes takes its child with it.
 *
 * The documents are those of the operators' commands (fm/control/command.h), but only the commands of the table below: all of
 * them look and none acts. Requests with a body, other methods than GET and HEAD and more than ANSWERS_MAX answers at a time
 * are refused.
 */
#include <errno.h>
#include <event2/buffer.h>
#include <event2/bufferevent.h>
#include <event2/event.h>
#include <event2/http.h>
#include <event2/keyvalq_struct.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/child.h"
#include "fm/control/command.h"
#include "fm/core/address.h"
#include "fm/core/log.h"
#include "fm/http/http.h"
#include "fm/http/metrics.h"
#include "topology/mem.h"

#define API	    "/api/v1/"
#define TIMEOUT_S   30
#define HEADERS_MAX 8192
#define ANSWERS_MAX 16 /* written by children at a time */
#define OUT_HIGH                                                                                   \
	(256 << 10) /* bytes not yet taken by the client, from which on its child is held back */

/* fm/http/page.html, as it is. */
__asm__(".section .rodata\n"
	"http_page: .incbin \"fm/http/page.html\"\n"
	"http_page_end: .byte 0\n"
	".previous");
extern const char http_page[], http_page_end[];

struct http {
	struct evhttp *server;
	struct loop *loop;
	struct command_env env;
	struct answer *answers;
	unsigned nanswers;
};

struct answer { /* a document on its way from a child to a client */
	struct answer *next;
	struct http *http;
	struct evhttp_request *request;
	const struct command *command;
	json_t *args;
	struct child *child;
	bool began; /* the first chunk was sent */
};

static const struct option { /* of the query, to the command's arguments */
	const char *query, *arg;
	bool number; /* else a flag */
} options[] = { { "n", "count", true }, { "down", "down", false }, { "sick", "sick", false } };

static const struct {
	const char *name, *format;
} documents[] = { { "status", NULL },	{ "topology", "json" }, { "nodes", NULL },
		  { "switches", NULL }, { "links", NULL },	{ "hosts", NULL },
		  { "events", NULL },	{ "nvswitch", NULL },	{ "health", NULL } };

/* ---- Short answers --------------------------------------------------------------------------------- */

static void reply(struct evhttp_request *request, int code, const char *type, const char *data,
		  size_t len)
{
	struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
	struct evbuffer *body = evbuffer_new();

	evhttp_add_header(headers, "Content-Type", type);
	evhttp_add_header(headers, "Cache-Control", "no-store");
	evhttp_add_header(headers, "X-Content-Type-Options", "nosniff");
	evbuffer_add(body, data, len);
	evhttp_send_reply(request, code, NULL, body);
	evbuffer_free(body);
}

static void reply_json(struct evhttp_request *request, int code, json_t *document)
{
	char *text = json_dumps(document, JSON_COMPACT);

	reply(request, code, "application/json", text, strlen(text));
	free(text);
	json_decref(document);
}

static void refuse(struct evhttp_request *request, int code, const char *why)
{
	reply_json(request, code, json_pack("{s:s}", "error", why));
}

static void page_cb(struct evhttp_request *request, void *arg)
{
	evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Security-Policy",
			  "default-src 'self' 'unsafe-inline'");
	reply(request, HTTP_OK, "text/html; charset=utf-8", http_page,
	      (size_t)(http_page_end - http_page));
}

static void metrics_cb(struct evhttp_request *request, void *arg)
{
	const struct http *http = arg;
	json_t *status = fabric_status(http->env.fabric);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	metrics_write(status, out);
	fclose(out);
	json_decref(status);
	reply(request, HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text, len);
	free(text);
}

/* ---- Answers from a child ---------------------------------------------------------------------------- */

static void answer_free(struct answer *a)
{
	struct answer **link = &a->http->answers;

	while (*link != a)
		link = &(*link)->next;
	*link = a->next;
	a->http->nanswers--;
	child_kill(a->child);
	json_decref(a->args);
	free(a);
}

/* A request that is still being answered is ours by now, and its end frees it. */
static void client_gone_cb(struct evhttp_connection *connection, void *arg)
{
	struct answer *a = arg;
	struct evhttp_request *request = a->request;

	answer_free(a);
	if (!evhttp_request_get_connection(request))
		evhttp_send_reply_end(request);
}

static int child_write(void *arg, FILE *out)
{
	const struct answer *a = arg;
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *result = a->command->answer(&a->http->env, a->args, err);

	if (!result)
		result = json_pack("{s:s}", "error", err);
	if (json_dumpf(result, out, JSON_COMPACT))
		return -1;
	return ferror(out) ? -1 : 0;
}

static size_t waiting(struct evhttp_request *request)
{
	struct bufferevent *io =
		evhttp_connection_get_bufferevent(evhttp_request_get_connection(request));

	return evbuffer_get_length(bufferevent_get_output(io));
}

static void drained_cb(struct evhttp_connection *connection, void *arg)
{
	struct answer *a = arg;

	if (a->child)
		child_pause(a->child, false);
}

static void child_data(void *arg, const char *data, size_t len)
{
	struct answer *a = arg;
	struct evbuffer *chunk = evbuffer_new();

	if (!a->began) {
		struct evkeyvalq *headers = evhttp_request_get_output_headers(a->request);

		evhttp_add_header(headers, "Content-Type", "application/json");
		evhttp_add_header(headers, "Cache-Control", "no-store");
		evhttp_send_reply_start(a->request, HTTP_OK, NULL);
	}
	a->began = true;
	evbuffer_add(chunk, data, len);
	evhttp_send_reply_chunk_with_cb(a->request, chunk, drained_cb, a);
	evbuffer_free(chunk);
	if (waiting(a->request) > OUT_HIGH)
		child_pause(a->child, true);
}

/* A document that broke off must not look whole: the connection ends without the last chunk. */
static void child_end(void *arg, bool whole)
{
	struct answer *a = arg;
	struct evhttp_connection *connection = evhttp_request_get_connection(a->request);
	struct evhttp_request *request = a->request;
	bool began = a->began;

	a->child = NULL;
	evhttp_connection_set_closecb(connection, NULL, NULL);
	answer_free(a);
	if (whole && began)
		evhttp_send_reply_end(request);
	else if (!began)
		refuse(request, HTTP_INTERNAL, "the answer could not be written");
	else
		evhttp_connection_free(connection);
}

static const struct child_ops child_ops = { child_write, child_data, child_end };

static void answer_by_child(struct http *http, struct evhttp_request *request,
			    const struct command *command, json_t *args)
{
	struct answer *a = mem_alloc(1, sizeof(*a));

	*a = (struct answer){ .next = http->answers,
			      .http = http,
			      .request = request,
			      .command = command,
			      .args = json_incref(args) };
	http->answers = a;
	http->nanswers++;
	a->child = child_start(http->loop, &child_ops, a);
	if (a->child) {
		evhttp_connection_set_closecb(evhttp_request_get_connection(request),
					      client_gone_cb, a);
	} else {
		answer_free(a);
		refuse(request, HTTP_SERVUNAVAIL, "no process for the answer");
	}
}

/* ---- Documents ----------------------------------------------------------------------------------------- */

/* NULL: no such document. */
static const struct command *document_find(const char *name, const char **format)
{
	for (size_t i = 0; i < sizeof(documents) / sizeof(documents[0]); i++)
		if (!strcmp(documents[i].name, name)) {
			*format = documents[i].format;
			return command_find(name);
		}
	return NULL;
}

static void take_option(json_t *args, const struct option *option, const char *value)
{
	bool on = strcmp(value, "0") && strcmp(value, "false");

	if (option->number)
		json_object_set_new(args, option->arg, json_integer(strtol(value, NULL, 10)));
	else if (on)
		json_object_set_new(args, option->arg, json_true());
}

/* The command's arguments; NULL with the name of what is no option in *bad. */
static json_t *read_query(const struct evhttp_uri *uri, struct evkeyvalq *query, const char **bad)
{
	json_t *args = json_object();
	struct evkeyval *pair;

	evhttp_parse_query_str(evhttp_uri_get_query(uri) ? evhttp_uri_get_query(uri) : "", query);
	for (pair = query->tqh_first; pair; pair = pair->next.tqe_next) {
		size_t i = 0, n = sizeof(options) / sizeof(options[0]);

		while (i < n && strcmp(options[i].query, pair->key))
			i++;
		if (i == n) {
			*bad = pair->key;
			json_decref(args);
			return NULL;
		}
		take_option(args, &options[i], pair->value);
	}
	return args;
}

static void answer_now(struct http *http, struct evhttp_request *request,
		       const struct command *command, json_t *args)
{
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *result = command->answer(&http->env, args, err);

	if (result)
		reply_json(request, HTTP_OK, result);
	else
		refuse(request, HTTP_BADREQUEST, err);
}

static void answer_document(struct http *http, struct evhttp_request *request,
			    const struct command *command, json_t *args)
{
	if (!command->long_answer)
		answer_now(http, request, command, args);
	else if (!fabric_topo(http->env.fabric))
		refuse(request, HTTP_SERVUNAVAIL, "no picture of the fabric yet");
	else if (http->nanswers >= ANSWERS_MAX)
		refuse(request, HTTP_SERVUNAVAIL, "too many answers at a time");
	else
		answer_by_child(http, request, command, args);
}

static void document_cb(struct evhttp_request *request, void *arg)
{
	const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
	const char *path = evhttp_uri_get_path(uri), *format = NULL, *bad = "";
	const struct command *command = NULL;
	struct evkeyvalq query = { 0 };
	json_t *args;

	if (path && !strncmp(path, API, strlen(API)))
		command = document_find(path + strlen(API), &format);
	if (!command) {
		refuse(request, HTTP_NOTFOUND, "no such document");
		return;
	}
	args = read_query(uri, &query, &bad);
	if (args && format)
		json_object_set_new(args, "format", json_string(format));
	if (args)
		answer_document(arg, request, command, args);
	else
		refuse(request, HTTP_BADREQUEST, "no such option");
	json_decref(args);
	evhttp_clear_headers(&query);
}

/* ---- Life ------------------------------------------------------------------------------------------------ */

static void serve(struct http *http)
{
	evhttp_set_allowed_methods(http->server, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD);
	evhttp_set_timeout(http->server, TIMEOUT_S);
	evhttp_set_max_headers_size(http->server, HEADERS_MAX);
	evhttp_set_max_body_size(http->server, 0);
	evhttp_set_cb(http->server, "/", page_cb, http);
	evhttp_set_cb(http->server, "/metrics", metrics_cb, http);
	evhttp_set_gencb(http->server, document_cb, http);
}

struct http *http_new(struct loop *loop, struct fabric *fabric, const char *listen, char *err,
		      size_t err_size)
{
	struct http *http = mem_alloc(1, sizeof(*http));
	struct address at;

	http->loop = loop;
	http->env.fabric = fabric;
	if (!address_parse(listen, &at)) {
		snprintf(err, err_size, "http_listen = \"%s\": ADDRESS:PORT is expected", listen);
		free(http);
		return NULL;
	}
	http->server = evhttp_new(loop_event_base(loop));
	serve(http);
	if (!evhttp_bind_socket_with_handle(http->server, at.host, at.port)) {
		snprintf(err, err_size, "http_listen = \"%s\": %s", listen, strerror(errno));
		http_free(http);
		return NULL;
	}
	log_line(LOG_CORE, LOG_NOTICE, "http://%s: metrics, documents and a page", listen);
	return http;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	while (http->answers) {
		evhttp_connection_set_closecb(evhttp_request_get_connection(http->answers->request),
					      NULL, NULL);
		answer_free(http->answers);
	}
	evhttp_free(http->server);
	free(http);
}
