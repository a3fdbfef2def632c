/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fetch: HTTP and HTTPS GETs on the loop, by libcurl, for responses that are read as they arrive.
 *
 * Nothing blocks: names are resolved on the loop too. One time limit holds for a whole request, so
 * a server that sends slowly does not hold it up. A request uses one connection, and follows a
 * redirect within its host only. Nothing of a response is kept here, so it may be of any length.
 * https accepts only servers whose certificate the CA file signs.
 */
#ifndef FMD_NVSWITCH_INTAKE_FETCH_H
#define FMD_NVSWITCH_INTAKE_FETCH_H

#include <stddef.h>
#include "fm/loop/loop.h"

struct fetch;

/*
 * Loads libcurl, unless that is done: before any other call here. 0, or -1 with `KEY: reason` in
 * err; it may be tried again. key: of the configuration, the one that needs it.
 */
int fetch_load(const char *key, char *err);

/* How fmd proves itself to exporters: lines `KIND VALUE` of a file, each kind once. */
enum {
	FETCH_BASIC,  /* USER:PASSWORD */
	FETCH_BEARER, /* a token */
	FETCH_CERT,
	FETCH_KEY,   /* files of a client's certificate and its key, PEM */
	FETCH_PROXY, /* URL with a numeric address */
	FETCH_CREDENTIALS
};
struct fetch_credentials {
	char values[FETCH_CREDENTIALS][2048]; /* "" = none */
};
/* Reads a file of them; "" = there are none. 0, or -1 with `FILE:LINE: reason` in err. */
int fetch_credentials_read(struct fetch_credentials *credentials, const char *path, char *err);

struct fetch_conf {
	unsigned timeout_ms; /* for a whole request */
	unsigned connect_ms; /* for the connection */
	size_t body_max;     /* bytes; 0 = any number */
	const char *ca_file; /* "" = no https */
	const struct fetch_credentials *credentials;
};
/*
 * The caller owns it; the loop and what conf points to are borrowed. NULL in a simulated loop.
 * fetch_free() ends its jobs without a callback; NULL is fine.
 */
struct fetch *fetch_new(struct loop *loop, const struct fetch_conf *conf);
void fetch_free(struct fetch *fetch);

struct fetch_url {
	bool tls;
	uint16_t port;
	char host[256];
	char text[768]; /* as written */
};
/* 0, or -1: it is no http:// or https:// URL, or too long for *url. */
int fetch_url_parse(const char *text, struct fetch_url *url);

struct fetch_job;
struct fetch_ops {
	/* Takes a piece of the body of a 200 response. Returns NULL, or why the request ends. */
	const char *(*data)(void *arg, const char *data, size_t len);
	/*
	 * Called once, last, from the loop; the job is freed then. error NULL = the body is
	 * complete. address: the server's numeric address, "" = there was no connection.
	 */
	void (*done)(void *arg, const char *error, const char *address);
};
/*
 * Starts a request and returns its job, which fetch owns, valid until done() or fetch_cancel().
 * `ops` must live as long; the URL is copied. address: numeric, where to connect; NULL or "" = the
 * URL's host is resolved. Failures are reported by done(), never within the call.
 */
struct fetch_job *fetch_get(struct fetch *fetch, const struct fetch_url *url, const char *address,
			    const struct fetch_ops *ops, void *arg);
/* Ends and frees a job without a callback. */
void fetch_cancel(struct fetch_job *job);

#endif
