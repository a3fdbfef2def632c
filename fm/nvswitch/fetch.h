/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fetch: HTTP and HTTPS GETs on the loop, for answers that are read as they come.
 *
 * Nothing waits: names are resolved on the loop too. A request has one time limit from first to
 * last, so slow drips end; one connection, and no redirect is followed. Of an answer nothing is
 * kept here, so it may be of any length. https accepts servers whose certificate the CA file signs,
 * and no others.
 */
#ifndef FMD_NVSWITCH_FETCH_H
#define FMD_NVSWITCH_FETCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "fm/core/loop.h"

struct fetch;

struct fetch_conf {
	unsigned timeout_ms; /* of a request in all */
	unsigned connect_ms; /* until the connection is there */
	size_t body_max;     /* bytes; 0 = any number */
	const char *ca_file; /* "" = no https */
};
/* NULL with the reason in err: the CA file can't be used. The loop is a real one. */
struct fetch *fetch_new(struct loop *loop, const struct fetch_conf *conf, char *err,
			size_t err_size);
void fetch_free(struct fetch *fetch); /* its jobs end without a callback; NULL is fine */

struct fetch_url {
	bool tls;
	uint16_t port;
	char host[256];
	char path[512];
};
/* 0, or -1: no http:// or https:// URL that fits. */
int fetch_url_parse(const char *text, struct fetch_url *url);

struct fetch_job;
struct fetch_ops {
	/* A piece of the body of a 200 answer; a text = enough, for that reason. */
	const char *(*data)(void *arg, const char *data, size_t len);
	/*
	 * Once, last, from the loop: error NULL = the body was whole. The job is gone. address:
	 * where it went, "" = nowhere.
	 */
	void (*done)(void *arg, const char *error, const char *address);
};
/*
 * address: numeric, where to connect; NULL or "" = the URL's host is resolved. Never calls back
 * from inside.
 */
struct fetch_job *fetch_get(struct fetch *fetch, const struct fetch_url *url, const char *address,
			    const struct fetch_ops *ops, void *arg);
void fetch_cancel(struct fetch_job *job); /* no callback after */

#endif
