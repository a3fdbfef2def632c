/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * host_names: the names in a Host header (RFC 9110 7.2) that a server answers to.
 *
 * By default: the address listened on, `localhost` and loopback addresses, this machine's name, and
 * that with each search domain of resolv.conf(5). No name server is asked.
 */
#ifndef FMD_HTTP_HOST_NAMES_H
#define FMD_HTTP_HOST_NAMES_H

#include <stdbool.h>

/*
 * `hosts` by comma or blank, "" = the default; `listen` is ADDRESS:PORT. The caller frees the list
 * by host_names_free().
 */
char **host_names_new(const char *hosts, const char *listen);
void host_names_free(char **names); /* NULL is fine */

/*
 * `host` the header: NAME or NAME:PORT, an IPv6 address in brackets; NULL = the request has none,
 * as of HTTP/1.0, which no browser speaks: admitted. `local`: the address that the connection came
 * in by, "" = not known: an address in the URL is no name that somebody else could have given.
 */
bool host_names_match(char *const *names, const char *host, const char *local);

#endif
