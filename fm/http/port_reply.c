/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdlib.h>
#include "fm/fabric/view.h"
#include "fm/http/port_metrics.h"
#include "fm/http/port_reply.h"
#include "fm/http/serve.h"
#include "fm/perf/module.h"
#include "topology/base/mem.h"

#define PIECE 65536 /* at most so many bytes at a time; the library's own buffer is less */

#define REPLIES_MAX 4 /* at a time: each holds a snapshot.. */
#define PER_CLIENT  2 /* ..of which one address has so many, for it may read slowly */

struct port_reply {
	const struct fabric *fabric;
	struct port_metrics *text;
	struct port_replies *all;
	struct port_reply *next;
	struct sockaddr_storage client;
};

static const struct port_counters *counters_of_node(void *arg, guid_t node, uint8_t *nports)
{
	const struct port_reply *reply = arg;

	return link_health_node(reply->fabric, node, nports);
}

static const struct fec_mode *fec_modes_of_node(void *arg, guid_t node, uint8_t *nports)
{
	const struct port_reply *reply = arg;

	return link_health_fec_node(reply->fabric, node, nports);
}

static uint64_t oldest(void *arg)
{
	const struct port_reply *reply = arg;

	return link_health_oldest_us(reply->fabric);
}

static ssize_t read_piece(void *arg, uint64_t pos, char *to, size_t most)
{
	const struct port_reply *reply = arg;
	size_t len = port_metrics_read(reply->text, to, most);

	return len ? (ssize_t)len : MHD_CONTENT_READER_END_OF_STREAM;
}

static void free_reply(void *arg)
{
	struct port_reply *reply = arg;
	struct port_reply **link = &reply->all->first;

	while (*link != reply)
		link = &(*link)->next;
	*link = reply->next;
	port_metrics_free(reply->text);
	free(reply);
}

/* Whether a client has to wait for others, or for its own replies, to end. */
static bool is_full(const struct port_replies *all, const struct sockaddr_storage *client)
{
	unsigned count = 0, same = 0;

	for (const struct port_reply *reply = all->first; reply; reply = reply->next) {
		count++;
		same += serve_same_client(&reply->client, client);
	}
	return count >= REPLIES_MAX || same >= PER_CLIENT;
}

struct MHD_Response *port_reply_new(struct port_replies *all, struct MHD_Connection *connection,
				    const struct fabric *fabric, bool hcas)
{
	struct port_reply *reply;
	struct sockaddr_storage client;
	struct port_metrics_source source = { counters_of_node, fec_modes_of_node, oldest, NULL };

	serve_client(connection, &client);
	if (is_full(all, &client))
		return NULL;
	source.arg = reply = mem_alloc(1, sizeof(*reply));
	*reply = (struct port_reply){
		.fabric = fabric, .all = all, .next = all->first, .client = client
	};
	reply->text = port_metrics_new(fabric_view(fabric).topo, hcas, &source);
	all->first = reply;
	return MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, PIECE, read_piece, reply,
						 free_reply);
}
