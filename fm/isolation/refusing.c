/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/isolation/refusing.h"
#include <stdlib.h>
#include "fm/isolation/isolation.h"
#include "topology/mem.h"

#define SETS_LOST 4 /* Sets, all tries of each, between Gets that are answered: that is no loss */

/* 0 = no path leads there. */
static mad_token set_switch_info(struct isolation *is, const struct inv_node *node,
				 const struct wire_switch_info *info, bool once, mad_done_fn *fn,
				 void *arg)
{
	uint8_t data[64];
	struct mad_path path;
	const struct mad_request request = { .method = WIRE_SET,
					     .attr_id = WIRE_SWITCH_INFO,
					     .path = &path,
					     .device = node->guid,
					     .data = data,
					     .once = once,
					     .doubtful = true };

	if (!inventory_port_path(is->services.inventory, node, 0, &path))
		return 0;
	wire_switch_info_encode(info, data);
	return mad_send(is->services.mad, &request, fn, arg);
}

/* ---- Suspects -------------------------------------------------------------------------------- */

static void suspect_free(struct suspect *suspect)
{
	struct isolation *is = suspect->list;
	struct suspect **link = &is->suspects;

	while (*link != suspect)
		link = &(*link)->next;
	*link = suspect->next;
	mad_cancel(is->services.mad, suspect->token);
	free(suspect);
}

static void suspect_drop(struct suspect *suspect)
{
	struct isolation *is = suspect->list;

	suspect_free(suspect);
	if (!is->suspects)
		isolation_judge_soon(is);
}

static void suspect_ask(struct suspect *suspect);

static void set_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;

	suspect->token = 0;
	if (answer->result == MAD_TIMEOUT && ++suspect->lost < SETS_LOST) {
		suspect_ask(suspect);
		return;
	}
	if (answer->result == MAD_TIMEOUT || answer->result == MAD_STATUS)
		isolation_add(suspect->list, suspect->node, 0, ISOLATED_NO_SETS);
	suspect_drop(suspect);
}

/*
 * The suspect answered a Get: sends it a Set of what the answer contained, as the inventory may be
 * older. PortStateChange is left for the sweep to clear.
 */
static void suspect_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;
	const struct inv_node *node =
		inventory_find(suspect->list->services.inventory, suspect->node);
	struct wire_switch_info info;

	suspect->token = 0;
	if (answer->result == MAD_OK && node) {
		wire_switch_info_decode(answer->data, &info);
		info.port_state_change = false;
		suspect->token =
			set_switch_info(suspect->list, node, &info, false, set_answered, suspect);
	}
	if (!suspect->token)
		suspect_drop(suspect);
}

static void suspect_ask(struct suspect *suspect)
{
	struct isolation *is = suspect->list;
	const struct inv_node *node = inventory_find(is->services.inventory, suspect->node);
	struct mad_request request = { .method = WIRE_GET, .attr_id = WIRE_SWITCH_INFO };
	struct mad_path path;

	if (!node || !inventory_port_path(is->services.inventory, node, 0, &path)) {
		suspect_drop(suspect);
		return;
	}
	request.path = &path;
	request.device = suspect->node;
	suspect->token = mad_send(is->services.mad, &request, suspect_answered, suspect);
}

void refusing_suspect(struct isolation *is, guid_t sw)
{
	struct suspect *suspect;

	if (isolation_is_suspect(is, sw))
		return;
	suspect = mem_alloc(1, sizeof(*suspect));
	*suspect = (struct suspect){ .next = is->suspects, .list = is, .node = sw };
	is->suspects = suspect;
	suspect_ask(suspect);
}

void refusing_swept(struct isolation *is)
{
	const struct inventory *inv = is->services.inventory;

	for (struct inv_node *node = inventory_first(inv); node; node = inventory_next(inv, node))
		if (node->keeps_change && !node->no_sets && !node->gone)
			refusing_suspect(is, node->guid);
}

/* ---- Probes ---------------------------------------------------------------------------------- */

/* The probe has cleared PortStateChange: all its ports are read. */
static void probe_answered(void *arg, const struct mad_answer *answer)
{
	struct isolated *it = arg;
	struct inv_node *node = isolated_node(it);

	it->probe = 0;
	if (answer->result != MAD_OK || !node)
		return;
	node->unread = true;
	fabric_request_refresh(it->list->fabric, it->node, "accepts Sets again");
	isolation_release_it(it, "accepts Sets again");
}

static void probe(struct isolated *it)
{
	const struct inv_node *node = isolated_node(it);
	struct wire_switch_info info;

	if (it->cause != ISOLATED_NO_SETS || it->probe || !node || node->gone || node->silent)
		return;
	info = node->sw;
	info.port_state_change = true;
	it->probe = set_switch_info(it->list, node, &info, true, probe_answered, it);
}

void refusing_probe(void *isolation)
{
	struct isolation *is = isolation;

	loop_timer_set(is->probe, ISOLATION_PROBE_US);
	for (unsigned i = 0; i < is->count && fabric_is_master(is->fabric); i++)
		probe(is->all[i]);
}

void refusing_fini(struct isolation *is)
{
	while (is->suspects)
		suspect_free(is->suspects);
}
