/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * address: ADDRESS:PORT. The last colon separates the two, since an IPv6 address has colons itself.
 * Whether this machine has the address shows when it is bound.
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include "topology/base/address.h"

static bool parse_port(const char *text, uint16_t *port)
{
	size_t digits = strspn(text, "0123456789");
	unsigned long number = strtoul(text, NULL, 10);

	if (!digits || digits > 5 || text[digits] || !number || number > UINT16_MAX)
		return false;
	*port = (uint16_t)number;
	return true;
}

bool address_parse(const char *text, struct address *address)
{
	const char *colon = strrchr(text, ':');
	size_t len = colon ? (size_t)(colon - text) : 0;

	if (!colon || !parse_port(colon + 1, &address->port))
		return false;
	if (len > 2 && text[0] == '[' && text[len - 1] == ']')
		text++, len -= 2;
	if (len >= sizeof(address->host))
		return false;
	memcpy(address->host, text, len);
	address->host[len] = '\0';
	return !strpbrk(address->host, " \t[]/");
}

bool address_is_numeric(const char *host)
{
	uint8_t bytes[16];

	return inet_pton(AF_INET, host, bytes) == 1 || inet_pton(AF_INET6, host, bytes) == 1;
}

void address_print(const struct sockaddr *from, char *text, size_t size)
{
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)from;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)from;

	*text = '\0';
	if (from->sa_family == AF_INET)
		inet_ntop(AF_INET, &v4->sin_addr, text, (socklen_t)size);
	else if (from->sa_family == AF_INET6 && IN6_IS_ADDR_V4MAPPED(&v6->sin6_addr))
		inet_ntop(AF_INET, &v6->sin6_addr.s6_addr[12], text, (socklen_t)size);
	else if (from->sa_family == AF_INET6)
		inet_ntop(AF_INET6, &v6->sin6_addr, text, (socklen_t)size);
}
