/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * address: where a server listens, as people write it: ADDRESS:PORT, an IPv6 address in brackets.
 */
#ifndef FMD_TOPOLOGY_BASE_ADDRESS_H
#define FMD_TOPOLOGY_BASE_ADDRESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct sockaddr;

struct address {
	char host[64]; /* without brackets; "" = all addresses of this machine */
	uint16_t port;
};
/* False: the text is not ADDRESS:PORT; what is in *address then does not count. */
bool address_parse(const char *text, struct address *address);
/* True: an IPv4 or IPv6 address, so that no name has to be resolved. */
bool address_is_numeric(const char *host);
/*
 * Writes the address without its port; one that is IPv4 mapped into IPv6 as IPv4. "" = it is of
 * another family.
 */
void address_print(const struct sockaddr *from, char *text, size_t size);

#endif
