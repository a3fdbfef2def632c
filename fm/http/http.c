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
#include "fm/loop/child.h"
#include "fm/http/document.h"
#include "fm/http/metrics.h"
#include "fm/http/page.h"
#include "fm/http/port_metrics.h"
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
	http->requests.starter = loop_timer_new(loop, document_start, &http->requests);
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
