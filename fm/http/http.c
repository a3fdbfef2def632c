/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/http/http.h"
#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <openssl/crypto.h>
#include <resolv.h>
#include <strings.h>
#include <unistd.h>
#include "topology/base/text.h"
#include "fm/control/option.h"
#include "fm/loop/child.h"
#include "fm/http/child_reply.h"
#include "fm/http/metrics.h"
#include "fm/http/page.h"
#include "fm/http/port_metrics.h"
#include "fm/http/query.h"
#include "fm/http/stream.h"
#include "topology/base/mem.h"

#define SEPARATORS ", \t"

struct list {
	char **names;
	unsigned count;
};

static void add(struct list *list, char *name)
{
	list->names = mem_array_resize(list->names, list->count + 2);
	list->names[list->count++] = name;
	list->names[list->count] = NULL;
}

/*
 * "mgmt1", "mgmt1.cluster.example" by the search list; a name that has its domain already stands
 * first.
 */
static void add_machine(struct list *list)
{
	struct __res_state resolver = { 0 };
	char host[HOST_NAME_MAX + 1] = "";

	if (gethostname(host, sizeof(host) - 1) || !*host)
		return;
	add(list, mem_strdup(host));
	host[strcspn(host, ".")] = '\0';
	add(list, mem_strdup(host));
	if (res_ninit(&resolver))
		return;
	for (unsigned i = 0; i < MAXDNSRCH && resolver.dnsrch[i]; i++)
		if (*resolver.dnsrch[i])
			add(list, mem_printf("%s.%s", host, resolver.dnsrch[i]));
	res_nclose(&resolver);
}

static void host_names_free(char **names)
{
	for (unsigned i = 0; names && names[i]; i++)
		free(names[i]);
	free(names);
}

static bool is_loopback(const char *address)
{
	return address_is_numeric(address) &&
	       (!strncmp(address, "127.", 4) || !strcmp(address, "::1"));
}

/*
 * Whether a request is admitted by its header Host: NAME or NAME:PORT, an IPv6 address in brackets;
 * NULL = it has none, as HTTP/1.0, which no browser uses: admitted. `local` is the connection's own
 * address ("" = not known), which is admitted too: a page of another site cannot use it as a name.
 */
static bool host_names_match(char *const *names, const char *host, const char *local)
{
	/* Without port, brackets and the root's dot. */
	const char *end = host && *host == '[' ? strchr(host, ']') : strchrnul(host ?: "", ':');
	char name[256];
	size_t len;

	if (!host)
		return true;
	host += *host == '[';
	if (!end || (len = end - host) >= sizeof(name))
		return false;
	len -= len && host[len - 1] == '.';
	array_printf(name, "%.*s", (int)len, host);
	if (is_loopback(name) ? is_loopback(local)
			      : address_is_numeric(name) && !strcmp(name, local))
		return true;
	for (unsigned i = 0; names[i]; i++)
		if (!strcasecmp(names[i], name))
			return true;
	return false;
}

/*
 * document: short documents are made at once, documents that grow with the fabric by a child. A
 * page of rows is cut from the whole document there, in the child's time.
 */

struct document {
	const struct command_env *env;
	struct query query;
	bool gzip;
	char *if_none_match; /* NULL = none */
};

static void document_free(void *arg)
{
	struct document *d = arg;

	json_decref(d->query.args);
	free(d->if_none_match);
	free(d);
}

static enum MHD_Result take_option(void *arg, enum MHD_ValueKind kind, const char *key,
				   const char *value)
{
	query_take(arg, key, value);
	return MHD_YES;
}

/* The document, or NULL with the reason. *rows: how many there are in all, if it was paged. */
static json_t *make(const struct document *d, uint64_t *rows, char err[COMMAND_ERROR_SIZE])
{
	const struct query *query = &d->query;
	json_t *result = command_answer(d->env, query->command, query->args, err);

	*rows = CHILD_REPLY_UNKNOWN;
	if (!result || !query->paged)
		return result;
	if (!command_rows(query->command, result)) {
		json_decref(result);
		return command_refuse(err,
				      "this document has no rows: offset= and limit= do not apply");
	}
	*rows = query_page(query, &result);
	return result;
}

/* ---- By a child ------------------------------------------------------------------------------ */

static int child_write(void *arg, FILE *out)
{
	const struct document *d = arg;
	const struct encode_wish wish = { d->gzip, d->if_none_match };
	struct child_head head = { .code = MHD_HTTP_OK, .type = REPLY_JSON };
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *result = make(d, &head.rows, err);
	char *text = result ? json_dumps(result, JSON_COMPACT) : NULL;

	if (!text) {
		json_t *document = json_pack("{s:s}", "error", err);
		char *reason = document ? json_dumps(document, JSON_COMPACT) : strdup("{}");
		const struct child_head refusal = { .code = MHD_HTTP_BAD_REQUEST,
						    .type = REPLY_JSON,
						    .len = strlen(reason),
						    .rows = CHILD_REPLY_UNKNOWN };

		fwrite(&refusal, sizeof(refusal), 1, out);
		fputs(reason, out);
		return 0;
	}

	struct encoded body = encode_body(&wish, text, strlen(text));

	head.gzip = body.gzip;
	head.len = body.len;
	memcpy(head.tag, body.tag, sizeof(head.tag));
	if (!body.body)
		head.code = MHD_HTTP_NOT_MODIFIED;
	fwrite(&head, sizeof(head), 1, out);
	if (body.body)
		fwrite(body.body, 1, body.len, out);
	return 0;
}

static const struct child_reply_ops by_child = { child_write, document_free };

/* ---- Requests -------------------------------------------------------------------------------- */

/*
 * Answers with the document of that name: at once, or later by a child, *request then being
 * libmicrohttpd's pointer; 404, 400 or 503 with the reason where there is none. Returns
 * libmicrohttpd's verdict: MHD_NO = the connection is to be closed.
 */
static enum MHD_Result document_reply(struct requests *all, const struct command_env *env,
				      struct MHD_Connection *connection, const char *name,
				      void **request)
{
	/* The command of a document; NULL = there is none, or it is not read-only. */
	const struct command *found = command_find(name);
	const struct command *command = found && found->document && found->read_only ? found : NULL;

	const struct encode_wish wish = reply_wish(connection);

	if (!command)
		return reply_refuse(connection, MHD_HTTP_NOT_FOUND, "no such document");

	struct document *d = mem_new(d);

	*d = (struct document){ .env = env,
				.query = { .command = command, .args = json_object() },
				.gzip = wish.gzip };
	if (wish.if_none_match)
		d->if_none_match = mem_strdup(wish.if_none_match);
	MHD_get_connection_values(connection, MHD_GET_ARGUMENT_KIND, take_option, &d->query);
	if (*command->document && !json_object_get(d->query.args, "format"))
		json_object_set_new(d->query.args, "format", json_string(command->document));

	if (*d->query.error) {
		char why[QUERY_ERROR];

		strcpy(why, d->query.error);
		document_free(d);
		return reply_refuse(connection, MHD_HTTP_BAD_REQUEST, why);
	}
	if (!d->query.paged && !command_is_long(command, d->query.args)) {
		char err[COMMAND_ERROR_SIZE] = "";
		uint64_t rows;
		json_t *result = make(d, &rows, err);

		document_free(d);
		return result ? reply_json(connection, result)
			      : reply_refuse(connection, MHD_HTTP_BAD_REQUEST, err);
	}
	if (!fabric_view(d->env->fabric).topo) {
		document_free(d);
		return reply_refuse(connection, MHD_HTTP_SERVICE_UNAVAILABLE, "no topology yet");
	}
	if (command->run->before)
		command->run->before(env, d->query.args);
	return child_reply(all, connection, &by_child, d, request);
}

/*
 * http: checks who may send requests, and passes them on: to the page (page.h), to /metrics, to
 * documents (http.h).
 *
 * Requests with a body and other methods than GET and HEAD are refused.
 */

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
	bool all_counters; /* not the essential ones alone */
	struct port_replies port_replies;
};

/* ---- Requests -------------------------------------------------------------------------------- */

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

/* Checks a request before any body is read: refuses it, or leaves *code 0: it is served. */
static unsigned objection(const struct http *http, struct MHD_Connection *connection,
			  const char *method, const char **why)
{
	char local[64];

	if (strcmp(method, MHD_HTTP_METHOD_GET) && strcmp(method, MHD_HTTP_METHOD_HEAD)) {
		*why = "GET and HEAD only";
		return MHD_HTTP_METHOD_NOT_ALLOWED;
	}
	*why = "a request body is not accepted";

	const char *length = MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							 MHD_HTTP_HEADER_CONTENT_LENGTH);

	if ((length && strcmp(length, "0")) ||
	    MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
					MHD_HTTP_HEADER_TRANSFER_ENCODING))
		return MHD_HTTP_CONTENT_TOO_LARGE;

	*why = "unknown host name: see http_hosts";
	serve_local_address(connection, local, sizeof(local));
	return host_names_match(http->names,
				MHD_lookup_connection_value(connection, MHD_HEADER_KIND,
							    MHD_HTTP_HEADER_HOST),
				local)
		       ? 0
		       : MHD_HTTP_MISDIRECTED_REQUEST;
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
	serve_proven(http->serve, connection);
	if (!strcmp(path, "/metrics")) {
		json_t *status = fabric_status(http->env.fabric);
		char *text = NULL;
		size_t len = 0;
		FILE *out = open_memstream(&text, &len);

		metrics_write(status, out);
		fclose(out);
		json_decref(status);
		return reply_text(connection, METRICS, text, len);
	}
	if (!strcmp(path, "/metrics/ports")) {
		const struct port_metrics_wish wish = { .hcas = http->ports == CONF_PORTS_ALL,
							.all = http->all_counters,
							.leaf = TOPO_NONE };
		const bool gzip = reply_wish(connection).gzip;

		if (http->ports == CONF_PORTS_OFF)
			return reply_refuse(connection, MHD_HTTP_NOT_FOUND,
					    "port_metrics is \"off\"");

		struct MHD_Response *response =
			port_reply_new(&http->port_replies, connection, http->env.fabric, &wish,
				       gzip, &code, &why);

		if (!response)
			return reply_refuse(connection, code, why);
		return reply_queue(connection, MHD_HTTP_OK, METRICS, NULL, gzip, response);
	}
	if (strncmp(path, API, strlen(API)))
		return reply_refuse(connection, MHD_HTTP_NOT_FOUND, "no such document");
	if (!strcmp(path, API "stream"))
		return stream_reply(http->streams, connection, request);
	return document_reply(&http->requests, &http->env, connection, path + strlen(API), request);
}

static void completed_cb(void *arg, struct MHD_Connection *connection, void **request,
			 enum MHD_RequestTerminationCode how)
{
	struct request *ours = ((struct http *)arg)->requests.first;

	while (ours && ours != *request) /* others have their answer */
		ours = ours->next;
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

static void take_conf(struct http *http, const struct conf_http *conf, const char *token)
{
	strcpy(http->token, token);
	http->ports = conf->port_metrics;
	http->all_counters = conf->port_metrics_counters;
	host_names_free(http->names);

	/*
	 * The list of names: `hosts`, separated by commas or blanks, "" = the default; `listen` is
	 * ADDRESS:PORT. The caller frees the list by host_names_free(), for which NULL is fine.
	 */
	struct list list = { 0 };
	struct address at;

	if (*conf->hosts) {
		char *copy = mem_strdup(conf->hosts), *rest = copy, *name;

		while ((name = strtok_r(rest, SEPARATORS, &rest)))
			add(&list, mem_strdup(name));
		free(copy);
	} else {
		if (address_parse(conf->listen, &at) && *at.host)
			add(&list, mem_strdup(at.host));
		add(&list, mem_strdup("localhost"));
		add_machine(&list);
	}
	if (!list.names)
		list.names = mem_new(list.names);
	http->names = list.names;
}

struct http *http_new(struct loop *loop, struct fabric *fabric, const struct conf_http *conf,
		      char *err, size_t err_size)
{
	struct http *http = mem_new(http);
	const struct serve_ops ops = { request_cb, completed_cb, http };
	char token[TOKEN_MAX + 1];

	http->requests.loop = loop;
	http->env.fabric = fabric;
	if (!read_token(conf->token_file, token, err, err_size))
		http->serve = serve_new(loop, conf, &ops, err, err_size);
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

int http_configure(struct http *http, const struct conf_http *conf, char *err, size_t err_size)
{
	char token[TOKEN_MAX + 1];

	if (read_token(conf->token_file, token, err, err_size))
		return -1;
	requests_resume_all(&http->requests);
	if (serve_configure(http->serve, conf, err, err_size))
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
