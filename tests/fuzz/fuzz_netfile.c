/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any bytes as a topology file: either there is a reason with file and line, or a snapshot that is
 * sound, that every dump can show, and that comes back the same from what netfile_write() makes of
 * it.
 */
#include <assert.h>
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "topology/snapshot/diff.h"
#include "topology/files/dump.h"
#include "topology/files/netfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_links(const struct topo *t)
{
	uint32_t ends = 0;

	for (uint32_t p = 0; p < t->nports; p++) {
		const struct topo_port *port = &t->ports[p], *peer = topo_peer(t, port);

		assert(t->nodes[port->node].port0 + port->num == p);
		if (!peer)
			continue;
		assert(peer != port && topo_peer(t, peer) == port);
		assert(port->num && peer->num && port->link_up && port->state == TOPO_INIT);
		ends++;
	}
	assert(ends == 2 * t->nlinks && t->nlinks_down == 0);
}

static void check_nodes(const struct topo *t)
{
	uint32_t cas = 0;

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct topo_node *node = &t->nodes[n];

		assert((node->type == TOPO_SWITCH) == (n < t->nswitches));
		assert(n == 0 || n == t->nswitches || t->nodes[n - 1].guid < node->guid);
		assert(topo_find(t, node->guid) == n);
		assert(strlen(node->desc) <= 64);
		assert(node->host == TOPO_NONE || node->host < t->nhosts);
	}
	for (uint32_t h = 0; h < t->nhosts; h++)
		cas += t->hosts[h].ncas;
	assert(cas == t->ncas);
}

static void check_dumps(const struct topo *t)
{
	FILE *out = fopen("/dev/null", "w");
	json_t *json = dump_json(t);

	assert(json && json_object_size(json) == 4);
	assert(json_array_size(json_object_get(json, "links")) == t->nlinks);
	json_decref(json);
	assert(!dump_text(t, out) && !dump_dot(t, out) && !dump_svg(t, out));
	assert(!dump_slurm(t, NULL, false, out) && !dump_lst(t, out));
	fclose(out);
}

static void check_written(const struct topo *t)
{
	char *text = NULL, err[256], line[512];
	size_t size;
	FILE *out = open_memstream(&text, &size);
	struct topo *again;
	struct diff *diff;

	assert(netfile_write(t, out) == 0);
	fclose(out);
	again = netfile_parse("written", text, size, err, sizeof(err));
	assert(again && again->nnodes == t->nnodes && again->nlinks == t->nlinks);
	diff = diff_new(t, again);
	if (diff->count) {
		diff_describe(t, again, &diff->items[0], line, sizeof(line));
		fprintf(stderr, "%s\n", line);
		abort();
	}
	diff_free(diff);
	topo_unref(again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char err[256] = "";
	struct topo *t = netfile_parse("fuzz", (const char *)data, size, err, sizeof(err));

	if (!t) {
		assert(!strncmp(err, "fuzz:", 5) && isdigit((unsigned char)err[5]));
		assert(strstr(err + 5, ": "));
		return 0;
	}
	check_nodes(t);
	check_links(t);
	check_dumps(t);
	check_written(t);
	topo_unref(t);
	return 0;
}
