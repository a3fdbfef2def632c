/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * http: three kinds of answers exist: bytes that are at hand (the page), figures of now (/metrics
 * and short documents), and documents that grow with the fabric. The last are written by a child
 * process, as for the control socket, and passed on no faster than the client reads: their
 * connection is suspended while there is nothing to send, and the child while the client does not
 * take it.
 *
 * The documents are those of the operators' commands (fm/control/commands.def), but only of those
 * whose row has a document: all of them look and none acts. Requests with a body, other methods
 * than GET and HEAD and more than ANSWERS_MAX answers at a time are refused.
 */
#include <openssl/crypto.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/answer.h"
#include "fm/control/child.h"
#include "fm/core/log.h"
#include "fm/fabric/view.h"
#include "fm/http/host_names.h"
#include "fm/http/http.h"
#include "fm/http/metrics.h"
#include "fm/http/serve.h"
#include "topology/mem.h"

#define API	    "/api/v1/"
#define ANSWERS_MAX 16 /* written by children at a time */
#define OUT_HIGH                                                                                   \
	(256 << 10) /* bytes not yet taken by the client, from which on its child is held back */
#define PIECE	    65536 /* of a response, at most so many bytes at a time */
#define TOKEN_MAX   512
#define TOKEN_LEAST 16

/* fm/http/page.html, as it is. */
__asm__(".section .rodata\n"
	"http_page: .incbin \"fm/http/page.html\"\n"
	"http_page_end: .byte 0\n"
	".previous");
extern const char http_page[], http_page_end[];

struct http {
	struct serve *serve;
	struct command_env env;
	struct loop *loop;
	char **names;		   /* that it is known by */
	char token[TOKEN_MAX + 1]; /* "" = none is needed */
	struct answer *answers;
	unsigned nanswers;
};

struct answer { /* a document on its way from a child to a client; lives as long as its request */
	struct answer *next;
	struct http *http;
	struct MHD_Connection *connection;
	const struct command *command;
	json_t *args;
	struct child *child; /* NULL = it has ended */
	bool whole;	     /* and its document is complete */
	bool suspended;	     /* the connection, until there is something to do */
	char *data;
	size_t start, end, size; /* of what is had and not passed on */
};

static const struct option { /* of the query, to the command's arguments */
	const char *query, *arg;
	bool number; /* else a flag */
} options[] = { { "n", "count", true }, { "down", "down", false }, { "sick", "sick", false } };

/* ---- Short answers --------------------------------------------------------------------------- */

static enum MHD_Result respond(struct MHD_Connection *connection, unsigned code, const char *type,
			       struct MHD_Response *response)
{
	enum MHD_Result status;

	MHD_add_response_header(response, MHD_HTTP_HEADER_CONTENT_TYPE, type);
	MHD_add_response_header(response, MHD_HTTP_HEADER_CACHE_CONTROL, "no-store");
	MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
	if (code == MHD_HTTP_UNAUTHORIZED)
		MHD_add_response_header(response, MHD_HTTP_HEADER_WWW_AUTHENTICATE, "Bearer");
	status = MHD_queue_response(connection, code, response);
	MHD_destroy_response(response);
	return status;
}

/* Takes `text`, which is from malloc. */
static enum MHD_Result reply_text(struct MHD_Connection *connection, unsigned code,
				  const char *type, char *text, size_t len)
{
	return respond(connection, code, type,
		       MHD_create_response_from_buffer(len, text, MHD_RESPMEM_MUST_FREE));
}

static enum MHD_Result reply_json(struct MHD_Connection *connection, unsigned code,
				  json_t *document)
{
	char *text = json_dumps(document, JSON_COMPACT);

	json_decref(document);
	return reply_text(connection, code, "application/json", text, strlen(text));
}

static enum MHD_Result refuse(struct MHD_Connection *connection, unsigned code, const char *why)
{
	return reply_json(connection, code, json_pack("{s:s}", "error", why));
}

static enum MHD_Result reply_page(struct MHD_Connection *connection)
{
	struct MHD_Response *response = MHD_create_response_from_buffer(
		(size_t)(http_page_end - http_page), (void *)http_page, MHD_RESPMEM_PERSISTENT);

	MHD_add_response_header(response, "Content-Security-Policy",
				"default-src 'self' 'unsafe-inline'");
	return respond(connection, MHD_HTTP_OK, "text/html; charset=utf-8", response);
}

static enum MHD_Result reply_metrics(const struct http *http, struct MHD_Connection *connection)
{
	json_t *status = fabric_status(http->env.fabric);
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	metrics_write(status, out);
	fclose(out);
	json_decref(status);
	return reply_text(connection, MHD_HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", text,
			  len);
}

/* ---- Answers from a child -------------------------------------------------------------------- */

static void answer_free(struct answer *a)
{
	struct answer **link = &a->http->answers;

	while (*link != a)
		link = &(*link)->next;
	*link = a->next;
	a->http->nanswers--;
	child_kill(a->child);
	json_decref(a->args);
	free(a->data);
	free(a);
}

static void answer_suspend(struct answer *a)
{
	a->suspended = true;
	MHD_suspend_connection(a->connection);
}

static void answer_resume(struct answer *a)
{
	if (!a->suspended)
		return;
	a->suspended = false;
	MHD_resume_connection(a->connection);
	serve_poke(a->http->serve);
}

static int child_write(void *arg, FILE *out)
{
	const struct answer *a = arg;
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *result = a->command->run->answer(&a->http->env, a->args, err);

	if (!result)
		result = json_pack("{s:s}", "error", err);
	if (json_dumpf(result, out, JSON_COMPACT))
		return -1;
	return ferror(out) ? -1 : 0;
}

static void child_data(void *arg, const char *data, size_t len)
{
	struct answer *a = arg;

	if (a->start == a->end)
		a->start = a->end = 0;
	if (a->end + len > a->size) {
		a->size = (a->end + len) * 2;
		a->data = mem_resize(a->data, a->size, 1);
	}
	memcpy(a->data + a->end, data, len);
	a->end += len;
	if (a->end - a->start > OUT_HIGH)
		child_pause(a->child, true);
	answer_resume(a);
}

static void child_end(void *arg, bool whole)
{
	struct answer *a = arg;

	a->child = NULL;
	a->whole = whole;
	answer_resume(a);
}

static const struct child_ops child_ops = { child_write, child_data, child_end };

/*
 * The library asks for more of the body. A document that broke off must not look whole: the
 * connection ends without the last chunk.
 */
static ssize_t body_read(void *arg, uint64_t pos, char *to, size_t most)
{
	struct answer *a = arg;
	size_t len = a->end - a->start;

	if (!len && a->child) {
		answer_suspend(a);
		return 0;
	}
	if (!len)
		return a->whole ? MHD_CONTENT_READER_END_OF_STREAM
				: MHD_CONTENT_READER_END_WITH_ERROR;
	if (len > most)
		len = most;
	memcpy(to, a->data + a->start, len);
	a->start += len;
	if (a->child && a->end - a->start <= OUT_HIGH)
		child_pause(a->child, false);
	return (ssize_t)len;
}

/* The child has written something, or has ended without. */
static enum MHD_Result answer_begin(struct answer *a)
{
	if (a->start == a->end && a->child) {
		answer_suspend(a);
		return MHD_YES;
	}
	if (a->start == a->end)
		return refuse(a->connection, MHD_HTTP_INTERNAL_SERVER_ERROR,
			      "the answer could not be written");
	return respond(
		a->connection, MHD_HTTP_OK, "application/json",
		MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, body_read, a, NULL));
}

static enum MHD_Result answer_by_child(struct http *http, struct MHD_Connection *connection,
				       const struct command *command, json_t *args, void **request)
{
	struct answer *a = mem_alloc(1, sizeof(*a));

	*a = (struct answer){ .next = http->answers,
			      .http = http,
			      .connection = connection,
			      .command = command,
			      .args = json_incref(args) };
	http->answers = a;
	http->nanswers++;
	a->child = child_start(http->loop, &child_ops, a);
	if (!a->child) {
		answer_free(a);
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "no process for the answer");
	}
	*request = a;
	return answer_begin(a);
}

/* ---- Documents ------------------------------------------------------------------------------- */

/* Nothing acts over HTTP, whatever its row says. */
static const struct command *document_find(const char *name)
{
	const struct command *command = command_find(name);

	return command && command->document && command->looks ? command : NULL;
}

struct query {
	json_t *args;
	bool bad; /* an option that there is not */
};

static enum MHD_Result take_option(void *arg, enum MHD_ValueKind kind, const char *key,
				   const char *value)
{
	struct query *query = arg;
	const struct option *option = options,
			    *end = options + sizeof(options) / sizeof(options[0]);

	while (option < end && strcmp(option->query, key))
		option++;
	if (option == end)
		query->bad = true;
	else if (option->number)
		json_object_set_new(query->args, option->arg,
				    json_integer(value ? strtol(value, NULL, 10) : 0));
	else if (value && strcmp(value, "0") && strcmp(value, "false"))
		json_object_set_new(query->args, option->arg, json_true());
	return MHD_YES;
}

static enum MHD_Result answer_now(struct http *http, struct MHD_Connection *connection,
				  const struct command *command, json_t *args)
{
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *result = command->run->answer(&http->env, args, err);

	return result ? reply_json(connection, MHD_HTTP_OK, result)
		      : refuse(connection, MHD_HTTP_BAD_REQUEST, err);
}

static enum MHD_Result answer_document(struct http *http, struct MHD_Connection *connection,
				       const struct command *command, json_t *args, void **request)
{
	if (!command->run->long_answer)
		return answer_now(http, connection, command, args);
	if (!fabric_view(http->env.fabric).topo)
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "no picture of the fabric yet");
	if (http->nanswers >= ANSWERS_MAX)
		return refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE,
			      "too many answers at a time");
	return answer_by_child(http, connection, command, args, request);
}

static enum MHD_Result reply_document(struct http *http, struct MHD_Connection *connection,
				      const char *path, void **request)
{
	const struct command *command =
		strncmp(path, API, strlen(API)) ? NULL : document_find(path + strlen(API));
	struct query query = { .args = json_object() };
	enum MHD_Result status;

	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_option, &query);
	if (command && *command->document)
		json_object_set_new(query.args, "format", json_string(command->document));
	if (!command)
		status = refuse(connection, MHD_HTTP_NOT_FOUND, "no such document");
	else if (query.bad)
		status = refuse(connection, MHD_HTTP_BAD_REQUEST, "no such option");
	else
		status = answer_document(http, connection, command, query.args, request);
	json_decref(query.args);
	return status;
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

/* How long the comparison takes tells nothing of the token but whether its length was met. */
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

/* Refused before any body is read; MHD_YES with *code 0: it may go on. */
static unsigned objection(const struct http *http, struct MHD_Connection *connection,
			  const char *method, const char **why)
{
	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD)) {
		*why = "GET and HEAD only";
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	}
	*why = "no body is taken";
	if (has_body(connection))
		return MHD_HTTP_CONTENT_TOO_LARGE;
	*why = "not a name of this server: see http_hosts";
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
		return code ? refuse(connection, code, why) : MHD_YES;
	}
	if (*request != &seen)
		return answer_begin(*request);
	if (!strcmp(path, "/"))
		return reply_page(connection);
	if (!has_token(http, connection))
		return refuse(connection, MHD_HTTP_UNAUTHORIZED, "a bearer token is needed");
	if (!strcmp(path, "/metrics"))
		return reply_metrics(http, connection);
	return reply_document(http, connection, path, request);
}

static void completed_cb(void *arg, struct MHD_Connection *connection, void **request,
			 enum MHD_RequestTerminationCode how)
{
	struct http *http = arg;

	for (struct answer *a = http->answers; a; a = a->next)
		if (a == *request) {
			answer_free(a);
			return;
		}
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
		why = file ? "empty" : strerror(errno);
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

	http->loop = loop;
	http->env.fabric = fabric;
	if (!read_token(conf->token_file, token, err, err_size))
		http->serve = serve_new(loop, &serve_conf, &ops, err, err_size);
	if (!http->serve) {
		free(http);
		return NULL;
	}
	take_conf(http, conf, token);
	log_line(LOG_CORE, LOG_NOTICE, "http%s://%s: metrics, documents and a page%s",
		 *conf->cert_file ? "s" : "", conf->listen, *token ? ", with a token" : "");
	return http;
}

static void resume_all(struct http *http)
{
	for (struct answer *a = http->answers; a; a = a->next)
		answer_resume(a);
}

int http_configure(struct http *http, const struct http_conf *conf, char *err, size_t err_size)
{
	const struct serve_conf serve_conf = serve_conf_of(conf);
	char token[TOKEN_MAX + 1];

	if (read_token(conf->token_file, token, err, err_size))
		return -1;
	resume_all(http);
	if (serve_configure(http->serve, &serve_conf, err, err_size))
		return -1;
	take_conf(http, conf, token);
	return 0;
}

void http_free(struct http *http)
{
	if (!http)
		return;
	resume_all(http);
	serve_free(http->serve);
	host_names_free(http->names);
	free(http);
}
