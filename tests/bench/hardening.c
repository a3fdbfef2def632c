/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * hardening WORK: the whole manager on a fabric double of 256 HCAs, in simulated time, so that two
 * builds do the same: `start` brings the fabric up, `fault` cuts and joins 40 links behind that,
 * `sa` answers 4,000 requests for a path. For hardening.py, which counts instructions.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/fabric_world.h"

#define FAULTS	 40
#define REQUESTS 4000

static void fault(struct world *w, unsigned n)
{
	uint32_t leaf = n % 8;
	unsigned port = uplink_of(w->design, leaf) + n / 8;
	guid_t guid = w->design->nodes[leaf].guid;

	double_cut(w->hw, guid, port);
	run_for(w, SECOND_US / 5);
	double_join(w->hw, guid, port);
	run_for(w, SECOND_US / 5);
}

static guid_t port_guid(const struct world *w, uint32_t host)
{
	const struct topo_node *node = &w->design->nodes[w->design->nswitches + host];

	return w->design->ports[node->port0 + 1].guid;
}

static void request(struct world *w, unsigned n)
{
	ask_path(w, w->design->nswitches + n % 256, port_guid(w, n % 256),
		 port_guid(w, (n * 7 + 13) % 256));
}

int main(int argc, char **argv)
{
	struct world w;
	const char *work = argc > 1 ? argv[1] : "";

	world_init(&w, pod(1));
	log_set_level(-1, LOG_ERR);
	for (unsigned n = 0; n < FAULTS && !strcmp(work, "fault"); n++)
		fault(&w, n);
	for (unsigned n = 0; n < REQUESTS && !strcmp(work, "sa"); n++)
		request(&w, n);
	if (!is_up(&w))
		return 1;
	world_fini(&w);
	return 0;
}
