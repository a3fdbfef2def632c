/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* resolver: resolves names of hosts on the loop, which never waits for a DNS server. */
#ifndef FMD_LOOP_RESOLVER_H
#define FMD_LOOP_RESOLVER_H

#include "fm/loop/loop.h"

struct evdns_base; /* libevent's: event2/dns.h */

/*
 * The caller's, to be freed behind the connections that use it; NULL in a simulated loop. Without a
 * resolv.conf names of /etc/hosts and addresses still serve.
 */
struct evdns_base *resolver_new(struct loop *loop);
void resolver_free(struct evdns_base *resolver); /* NULL is fine */

#endif
