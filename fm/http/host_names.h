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
 * The list of names: `hosts`, separated by commas or blanks, "" = the default; `listen` is
 * ADDRESS:PORT. The caller frees the list by host_names_free(), for which NULL is fine.
 */
char **host_names_new(const char *hosts, const char *listen);
void host_names_free(char **names);

/*
 * Whether a request is admitted by its header Host: NAME or NAME:PORT, an IPv6 address in brackets;
 * NULL = it has none, as HTTP/1.0, which no browser uses: admitted. `local` is the connection's own
 * address ("" = not known), which is admitted too: a page of another site cannot use it as a name.
 */
bool host_names_match(char *const *names, const char *host, const char *local);

#endif
