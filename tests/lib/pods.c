/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/pods.h"

struct topo *pods_of(unsigned count, unsigned hosts)
{
	static const unsigned w[] = { 1, 4 }, p[] = { 1, 2 };
	struct topo_builder *b = topo_builder_new();

	for (unsigned i = 0; i < count; i++) {
		const unsigned m[] = { i ? 4 : hosts, 8 };
		char err[256];
		struct topo *pod = generate_pgft(2, m, w, p, err, sizeof(err));
		int handles[256];

		assert_non_null(pod);

		for (uint32_t n = 0; n < pod->nnodes; n++) {
			const struct topo_node *node = &pod->nodes[n];
			char desc[64];
			bool sw = node->type == TOPO_SWITCH;

			snprintf(desc, sizeof(desc), "pod%u-%s", i, node->desc);
			/* Two ports more, for cables that come later. */
			struct topo_node attr = { .guid = node->guid + ((guid_t)i << 32),
						  .desc = desc,
						  .type = node->type,
						  .lft_cap = node->lft_cap,
						  .mft_cap = node->mft_cap,
						  .nports = (uint8_t)(node->nports + 2 * sw) };

			handles[n] = topo_builder_node(b, &attr);
			assert_true(handles[n] >= 0);
			for (unsigned num = sw ? 0 : 1; num <= node->nports; num++) {
				const struct topo_port *port = topo_port(pod, n, num);
				struct topo_port at = { .speed = port->speed,
							.width = port->width,
							.mtu = port->mtu,
							.state = port->state };

				at.guid = port->guid ? port->guid + ((guid_t)i << 32) : 0;
				topo_builder_port(b, handles[n], num, &at);
			}
		}
		for (uint32_t at = 0; at < pod->nports; at++) {
			const struct topo_port *port = &pod->ports[at];
			const struct topo_port *peer = topo_peer(pod, port);

			if (peer && at < port->peer)
				topo_builder_link(b, handles[port->node], port->num,
						  handles[peer->node], peer->num, true);
		}
		topo_unref(pod);
	}
	return topo_freeze(b);
}

struct topo *pods(unsigned count)
{
	return pods_of(count, 4);
}

guid_t switch_at(const struct world *w, const struct topo *t, unsigned level, unsigned which)
{
	for (uint32_t n = 0; n < t->nswitches; n++)
		if (t->nodes[n].level == level && !which--)
			return t->nodes[n].guid;
	fail();
	return 0;
}

unsigned held(const struct world *w)
{
	return (unsigned)status_number(w, NULL, "links_held");
}

struct reply admit(struct world *w, const char *what, bool dry)
{
	struct reply r = { 0 };

	admission_admit(links_out_admission(w->fabric), what, dry, reply_cb, &r);
	return r;
}
