/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Which error correction links use (fec_modes.h). Ports are asked when all that was published is
 * programmed and brought up, so nothing waits for them.
 */
#include "fm/fabric/progress.h"
#include "fm/perf/module_own.h"

static bool may_ask(void *arg)
{
	const struct link_health *h = arg;

	return fabric_is_quiet(h->fabric);
}

void link_health_fec_begin(struct link_health *h)
{
	h->fec =
		fec_modes_new(h->services.loop, h->services.mad, h->services.inventory, may_ask, h);
}

void link_health_fec_end(struct link_health *h)
{
	fec_modes_free(h->fec);
}

void link_health_published(void *room, const struct topo *before)
{
	((struct link_health *)room)->fec_stale = true;
}

void link_health_settled(void *room)
{
	struct link_health *h = room;

	if (!h->fec_stale)
		return;
	h->fec_stale = false;
	fec_modes_ask(h->fec);
}

void link_health_fell(void *room, guid_t node, uint8_t port)
{
	struct link_health *h = room;

	fec_modes_forget(h->fec, node, port);
}

json_t *link_health_fec_summary(const struct link_health *h)
{
	struct fec_modes_counts counts = fec_modes_counts(h->fec);

	return json_pack("{sI sI sI sI sI}", "asked", (json_int_t)counts.asked, "read",
			 (json_int_t)counts.read, "refused", (json_int_t)counts.refused,
			 "malformed", (json_int_t)counts.malformed, "unanswered",
			 (json_int_t)counts.unanswered);
}
