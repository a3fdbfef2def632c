/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <dlfcn.h>
#include <curl/curl.h>
#include <event2/dns.h>
#include "fm/nvswitch/intake_sources.h"

/*
 * libcurl's multi interface says which sockets and which timer it waits for; the loop has them.
 * Names are resolved by libevent beforehand, as libcurl would start a thread for each, and joins it
 * when a request ends early: it is given the address (CURLOPT_CONNECT_TO). A request ends in one
 * place, end_job(): what ends it early is noted, and the job's own timer runs at once.
 */

#define REDIRECTS 3

/*
 * libcurl and the libraries that it needs take milliseconds of a start, so it is loaded with the
 * first exporter. Its functions are file-scope like those of a linked library.
 */
static struct {
	bool loaded;
#define CURL_FUNCTION(name) typeof(curl_##name) *name;
#include "fm/nvswitch/curl.def"
#undef CURL_FUNCTION
} curl;

int fetch_load(const char *key, char *err)
{
	if (curl.loaded)
		return 0;

	void *library = dlopen("libcurl.so.4", RTLD_NOW);
	bool found = library;

#define CURL_FUNCTION(name) found = found && (curl.name = dlsym(library, "curl_" #name));
#include "fm/nvswitch/curl.def"
#undef CURL_FUNCTION
	curl.loaded = found && !curl.global_init(CURL_GLOBAL_DEFAULT);
	if (curl.loaded)
		return 0;
	return nvswitch_refuse(err, "%s: %s", key, found ? "libcurl cannot begin" : dlerror());
}

struct fetch {
	struct loop *loop;
	struct fetch_conf conf;
	CURLM *multi;
	struct loop_timer *timer; /* libcurl's */
	struct evdns_base *dns;
};

struct fetch_job {
	struct fetch *fetch;
	const struct fetch_ops *ops;
	void *arg;
	CURL *easy;
	struct curl_slist *connect_to;
	struct evdns_getaddrinfo_request *lookup; /* under way */
	struct loop_timer *timer;		  /* bounds the lookup; or it is over */
	uint64_t began_us;
	size_t length; /* of the body so far */
	unsigned redirects;
	char error[96]; /* "" = none */
	char reason[CURL_ERROR_SIZE];
	struct fetch_url url;
};

struct watch { /* a socket of libcurl's */
	struct fetch *fetch;
	struct loop_fd *fd;
	int socket;
};

/* ---- Credentials ----------------------------------------------------------------------------- */

static const char *const kinds[FETCH_CREDENTIALS] = { "basic", "bearer", "cert", "key", "proxy" };
static const CURLoption options[FETCH_CREDENTIALS] = { CURLOPT_USERPWD, CURLOPT_XOAUTH2_BEARER,
						       CURLOPT_SSLCERT, CURLOPT_SSLKEY,
						       CURLOPT_PROXY };

static const char *read_credential(void *arg, char *line)
{
	struct fetch_credentials *c = arg;
	char *rest = line, *kind = strtok_r(rest, " \t", &rest), *value;
	struct fetch_url url;

	if (!kind)
		return NULL;
	value = rest + strspn(rest, " \t");

	int i = nvswitch_word(kind, kinds, FETCH_CREDENTIALS);

	if (i < 0)
		return "`basic USER:PASSWORD`, `bearer TOKEN`, `cert FILE`, `key FILE` or `proxy "
		       "URL` is expected";
	if (!*value || *c->values[i] || strlen(value) >= sizeof(c->values[i]))
		return "one value of each kind is expected";
	if (i == FETCH_PROXY && (fetch_url_parse(value, &url) || !address_is_numeric(url.host)))
		return "a proxy's URL has a numeric address";
	strcpy(c->values[i], value);
	return NULL;
}

int fetch_credentials_read(struct fetch_credentials *c, const char *path, char *err)
{
	*c = (struct fetch_credentials){ 0 };
	return *path ? lines_read(path, read_credential, c, err) : 0;
}

/* ---- URLs ------------------------------------------------------------------------------------ */

int fetch_url_parse(const char *text, struct fetch_url *url)
{
	CURLU *parts = curl.url();
	char *scheme = NULL, *host = NULL, *port = NULL;
	bool good = strlen(text) < sizeof(url->text) &&
		    !curl.url_set(parts, CURLUPART_URL, text, CURLU_DISALLOW_USER) &&
		    !curl.url_get(parts, CURLUPART_SCHEME, &scheme, 0) &&
		    !curl.url_get(parts, CURLUPART_HOST, &host, 0) &&
		    !curl.url_get(parts, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) &&
		    (!strcmp(scheme, "http") || !strcmp(scheme, "https")) && *host &&
		    strlen(host) < sizeof(url->host);

	if (good) {
		bool v6 = *host == '[';

		url->tls = scheme[4] == 's';
		url->port = (uint16_t)atoi(port);
		array_printf(url->host, "%.*s", (int)(strlen(host) - 2 * v6), host + v6);
		strcpy(url->text, text);
	}
	curl.free(scheme);
	curl.free(host);
	curl.free(port);
	curl.url_cleanup(parts);
	return good ? 0 : -1;
}

/* ---- A job's end ----------------------------------------------------------------------------- */

void fetch_cancel(struct fetch_job *job)
{
	if (job->lookup)
		evdns_getaddrinfo_cancel(job->lookup);
	if (job->easy)
		curl.multi_remove_handle(job->fetch->multi, job->easy);
	curl.easy_cleanup(job->easy);
	curl.slist_free_all(job->connect_to);
	loop_timer_free(job->timer);
	free(job);
}

static void end_job(struct fetch_job *job, const char *address)
{
	job->ops->done(job->arg, *job->error ? job->error : NULL, address ? address : "");
	fetch_cancel(job);
}

/* The lookup took its time, or it has failed. */
static void timer_cb(void *arg)
{
	struct fetch_job *job = arg;

	if (!*job->error)
		array_printf(job->error, "no connection within %u ms", job->fetch->conf.connect_ms);
	end_job(job, NULL);
}

/* The first reason stands. */
static void end_soon(struct fetch_job *job, const char *error)
{
	if (!*job->error)
		array_printf(job->error, "%s", error);
	loop_timer_set(job->timer, 0);
}

static void end_those_done(struct fetch *fetch)
{
	CURLMsg *message;
	int left;

	while ((message = curl.multi_info_read(fetch->multi, &left))) {
		CURLcode code = message->data.result;
		struct fetch_job *job;
		const char *address = NULL, *path;
		char *to = NULL;
		long http = 0;

		curl.easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&job);
		curl.easy_getinfo(job->easy, CURLINFO_RESPONSE_CODE, &http);
		curl.easy_getinfo(job->easy, CURLINFO_REDIRECT_URL, &to);
		path = strchr(job->url.text + strlen("https://"), '/');

		size_t server = path ? (size_t)(path - job->url.text) : strlen(job->url.text);

		/* It goes on at another path of the same server. */
		if (!code && http / 100 == 3 && job->redirects < REDIRECTS && to &&
		    !strncasecmp(to, job->url.text, server) && to[server] == '/') {
			job->redirects++;
			curl.multi_remove_handle(job->fetch->multi, job->easy);
			curl.easy_setopt(job->easy, CURLOPT_URL, to);
			if (!curl.multi_add_handle(job->fetch->multi, job->easy))
				continue;
		}
		/* Of an answer that is no 200 the code is all that counts. */
		if (!*job->error && http && http != 200)
			array_printf(job->error, "HTTP %ld%s", http,
				     http / 100 == 3 ? ": redirects are followed within a host only"
						     : "");
		else if (!*job->error && code)
			array_printf(job->error, "%.80s",
				     *job->reason ? job->reason : curl.easy_strerror(code));
		curl.easy_getinfo(job->easy, CURLINFO_PRIMARY_IP, &address);
		end_job(job, *job->fetch->conf.credentials->values[FETCH_PROXY] ? NULL : address);
	}
}

/* ---- libcurl's sockets and timer ------------------------------------------------------------- */

static void act(struct fetch *fetch, int socket, int what)
{
	int running;

	curl.multi_socket_action(fetch->multi, socket, what, &running);
	end_those_done(fetch);
}

static void socket_cb(void *arg, unsigned events)
{
	struct watch *watch = arg;

	act(watch->fetch, watch->socket,
	    (events & LOOP_READ ? CURL_CSELECT_IN : 0) |
		    (events & LOOP_WRITE ? CURL_CSELECT_OUT : 0));
}

static void run_cb(void *arg)
{
	act(arg, CURL_SOCKET_TIMEOUT, 0);
}

static int watch_cb(CURL *easy, curl_socket_t fd, int what, void *arg, void *known)
{
	struct fetch *fetch = arg;
	struct watch *watch = known;
	unsigned events =
		(what & CURL_POLL_IN ? LOOP_READ : 0u) | (what & CURL_POLL_OUT ? LOOP_WRITE : 0u);

	if (what == CURL_POLL_REMOVE) {
		curl.multi_assign(fetch->multi, fd, NULL);
		loop_fd_free(watch->fd);
		free(watch);
	} else if (watch) {
		loop_fd_set(watch->fd, events);
	} else {
		watch = mem_new(watch);
		watch->fetch = fetch;
		watch->socket = fd;
		watch->fd = loop_fd_new(fetch->loop, fd, events, socket_cb, watch);
		curl.multi_assign(fetch->multi, fd, watch);
	}
	return 0;
}

static int when_cb(CURLM *multi, long ms, void *arg)
{
	struct fetch *fetch = arg;

	if (ms < 0)
		loop_timer_stop(fetch->timer);
	else
		loop_timer_set(fetch->timer, (uint64_t)ms * 1000);
	return 0;
}

static size_t body_cb(char *data, size_t one, size_t len, void *arg)
{
	struct fetch_job *job = arg;
	size_t most = job->fetch->conf.body_max;
	long http = 0;

	curl.easy_getinfo(job->easy, CURLINFO_RESPONSE_CODE, &http);
	if (http != 200)
		return len;
	job->length += len;

	const char *wrong = most && job->length > most ? "the answer is too long"
						       : job->ops->data(job->arg, data, len);

	if (wrong)
		array_printf(job->error, "%s", wrong);
	return wrong ? 0 : len;
}

/* ---- A job's beginning ----------------------------------------------------------------------- */

/* address NULL: the proxy resolves the name. */
static void begin(struct fetch_job *job, const char *address)
{
	uint64_t took_ms = (loop_now_us(job->fetch->loop) - job->began_us) / 1000;
	const struct fetch_conf *conf = &job->fetch->conf;
	CURL *easy = job->easy = curl.easy_init();
	char to[INET6_ADDRSTRLEN + 16];

	curl.easy_setopt(easy, CURLOPT_PRIVATE, job);
	curl.easy_setopt(easy, CURLOPT_URL, job->url.text);
	curl.easy_setopt(easy, CURLOPT_WRITEFUNCTION, body_cb);
	curl.easy_setopt(easy, CURLOPT_WRITEDATA, job);
	curl.easy_setopt(easy, CURLOPT_ERRORBUFFER, job->reason);
	curl.easy_setopt(easy, CURLOPT_USERAGENT, "fmd/" FMD_VERSION);
	curl.easy_setopt(easy, CURLOPT_ACCEPT_ENCODING, "");
	curl.easy_setopt(easy, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	curl.easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
	curl.easy_setopt(easy, CURLOPT_FORBID_REUSE, 1L);
	curl.easy_setopt(easy, CURLOPT_PROXY, ""); /* none of the environment's */
	curl.easy_setopt(easy, CURLOPT_SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	curl.easy_setopt(easy, CURLOPT_CAINFO, conf->ca_file);
	curl.easy_setopt(easy, CURLOPT_CAPATH, NULL);
	for (unsigned i = 0; i < FETCH_CREDENTIALS; i++)
		if (*conf->credentials->values[i])
			curl.easy_setopt(easy, options[i], conf->credentials->values[i]);
	if (*conf->credentials->values[FETCH_BEARER])
		curl.easy_setopt(easy, CURLOPT_HTTPAUTH, (long)CURLAUTH_BEARER);
	curl.easy_setopt(easy, CURLOPT_TIMEOUT_MS,
			 took_ms < conf->timeout_ms ? (long)(conf->timeout_ms - took_ms) : 1L);
	curl.easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, (long)conf->connect_ms);
	if (address) {
		array_printf(to, strchr(address, ':') ? "::[%s]:%u" : "::%s:%u", address,
			     job->url.port);
		job->connect_to = curl.slist_append(NULL, to);
		curl.easy_setopt(easy, CURLOPT_CONNECT_TO, job->connect_to);
	}
	if (curl.multi_add_handle(job->fetch->multi, easy))
		end_soon(job, "cannot connect");
}

static void found_cb(int error, struct evutil_addrinfo *found, void *arg)
{
	struct fetch_job *job = arg;
	char address[INET6_ADDRSTRLEN] = "";

	if (error == EVUTIL_EAI_CANCEL)
		return;
	job->lookup = NULL;
	loop_timer_stop(job->timer);
	if (found) {
		address_print(found->ai_addr, address, sizeof(address));
		evutil_freeaddrinfo(found);
	}
	if (*address)
		begin(job, address);
	else
		end_soon(job, "cannot connect");
}

struct fetch_job *fetch_get(struct fetch *fetch, const struct fetch_url *url, const char *address,
			    const struct fetch_ops *ops, void *arg)
{
	const struct evutil_addrinfo hints = { .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM };
	struct fetch_job *job = mem_new(job);

	*job = (struct fetch_job){ .fetch = fetch,
				   .ops = ops,
				   .arg = arg,
				   .began_us = loop_now_us(fetch->loop),
				   .timer = loop_timer_new(fetch->loop, timer_cb, job),
				   .url = *url };
	if (url->tls && !*fetch->conf.ca_file) {
		end_soon(job, "https needs nvswitch_ca_file");
	} else if (*fetch->conf.credentials->values[FETCH_PROXY]) {
		begin(job, NULL);
	} else if ((address && *address) || address_is_numeric(url->host)) {
		begin(job, address && *address ? address : url->host);
	} else {
		loop_timer_set(job->timer, job->fetch->conf.connect_ms * 1000ull);
		job->lookup = evdns_getaddrinfo(fetch->dns, url->host, NULL, &hints, found_cb, job);
	}
	return job;
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct fetch *fetch_new(struct loop *loop, const struct fetch_conf *conf)
{
	if (loop_is_simulated(loop))
		return NULL;

	struct fetch *fetch = mem_new(fetch);

	fetch->loop = loop;
	fetch->conf = *conf;
	if (conf->connect_ms > conf->timeout_ms)
		fetch->conf.connect_ms = conf->timeout_ms;
	fetch->multi = curl.multi_init();
	fetch->timer = loop_timer_new(loop, run_cb, fetch);
	fetch->dns = resolver_new(loop);
	curl.multi_setopt(fetch->multi, CURLMOPT_SOCKETFUNCTION, watch_cb);
	curl.multi_setopt(fetch->multi, CURLMOPT_SOCKETDATA, fetch);
	curl.multi_setopt(fetch->multi, CURLMOPT_TIMERFUNCTION, when_cb);
	curl.multi_setopt(fetch->multi, CURLMOPT_TIMERDATA, fetch);
	return fetch;
}

void fetch_free(struct fetch *fetch)
{
	if (!fetch)
		return;
	curl.multi_cleanup(fetch->multi);
	loop_timer_free(fetch->timer);
	resolver_free(fetch->dns);
	free(fetch);
}
