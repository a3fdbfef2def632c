/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include "fm/fabric/view.h"
#include "fm/http/port_metrics.h"
#include "fm/http/port_reply.h"
#include "fm/perf/module.h"
#include "topology/mem.h"

#define PIECE 65536 /* at most so many bytes at a time; the library's own buffer is less */

struct reply {
	const struct fabric *fabric;
	struct port_metrics *text;
	unsigned *running;
};

static const struct port_counters *counters_of_node(void *arg, guid_t node, uint8_t *nports)
{
	const struct reply *reply = arg;

	return link_health_node(reply->fabric, node, nports);
}

static const struct fec_mode *fec_modes_of_node(void *arg, guid_t node, uint8_t *nports)
{
	const struct reply *reply = arg;

	return link_health_fec_node(reply->fabric, node, nports);
}

static uint64_t oldest(void *arg)
{
	const struct reply *reply = arg;

	return link_health_oldest_us(reply->fabric);
}

static ssize_t read_piece(void *arg, uint64_t pos, char *to, size_t most)
{
	const struct reply *reply = arg;
	size_t len = port_metrics_read(reply->text, to, most);

	return len ? (ssize_t)len : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_reply(void *arg)
{
	struct reply *reply = arg;

	--*reply->running;
	port_metrics_free(reply->text);
	free(reply);
}

struct MHD_Response *port_reply_new(const struct fabric *fabric, bool hcas, unsigned *running)
{
	struct reply *reply = mem_alloc(1, sizeof(*reply));
	const struct port_metrics_source source = { counters_of_node, fec_modes_of_node, oldest,
						    reply };

	*reply = (struct reply){ .fabric = fabric, .running = running };
	reply->text = port_metrics_new(fabric_view(fabric).topo, hcas, &source);
	++*running;
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_piece, reply,
						 free_reply);
}
