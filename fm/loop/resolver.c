/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <event2/dns.h>
#include "fm/loop/resolver.h"

struct evdns_base *resolver_new(struct loop *loop)
{
	struct event_base *base = loop_event_base(loop);
	struct evdns_base *dns;

	if (!base)
		return NULL;
	dns = evdns_base_new(base,
			     EVDNS_BASE_INITIALIZE_NAMESERVERS | EVDNS_BASE_DISABLE_WHEN_INACTIVE);
	if (!dns) {
		dns = evdns_base_new(base, EVDNS_BASE_DISABLE_WHEN_INACTIVE);
		if (dns)
			evdns_base_load_hosts(dns, "/etc/hosts");
	}
	return dns;
}

void resolver_free(struct evdns_base *resolver)
{
	if (resolver)
		evdns_base_free(resolver, 0);
}
