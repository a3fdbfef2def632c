/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <limits.h>
#include <netinet/in.h>
#include <resolv.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "fm/core/address.h"
#include "fm/http/host_names.h"
#include "topology/mem.h"

#define SEPARATORS ", \t"

struct list {
	char **names;
	unsigned count;
};

static void add(struct list *list, char *name)
{
	list->names = mem_resize(list->names, list->count + 2, sizeof(*list->names));
	list->names[list->count++] = name;
	list->names[list->count] = NULL;
}

static void add_configured(struct list *list, const char *hosts)
{
	char *copy = mem_strdup(hosts), *rest = copy, *name;

	while ((name = strtok_r(rest, SEPARATORS, &rest)))
		add(list, mem_strdup(name));
	free(copy);
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

char **host_names_new(const char *hosts, const char *listen)
{
	struct list list = { 0 };
	struct address at;

	if (*hosts) {
		add_configured(&list, hosts);
	} else {
		if (address_parse(listen, &at) && *at.host)
			add(&list, mem_strdup(at.host));
		add(&list, mem_strdup("localhost"));
		add_machine(&list);
	}
	if (!list.names)
		list.names = mem_alloc(1, sizeof(*list.names));
	return list.names;
}

void host_names_free(char **names)
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

/* The name in a header: without port, brackets and the root's dot. False: too long to be one. */
static bool take_name(const char *host, char *name, size_t size)
{
	const char *end = *host == '[' ? strchr(host, ']') : strchrnul(host, ':');
	size_t len;

	host += *host == '[';
	if (!end || (len = (size_t)(end - host)) >= size)
		return false;
	len -= len && host[len - 1] == '.';
	memcpy(name, host, len);
	name[len] = '\0';
	return true;
}

bool host_names_match(char *const *names, const char *host, const char *local)
{
	char name[256];

	if (!host)
		return true;
	if (!take_name(host, name, sizeof(name)))
		return false;
	if (is_loopback(name) ? is_loopback(local)
			      : address_is_numeric(name) && !strcmp(name, local))
		return true;
	for (unsigned i = 0; names[i]; i++)
		if (!strcasecmp(names[i], name))
			return true;
	return false;
}
