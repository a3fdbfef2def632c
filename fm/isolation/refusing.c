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

static void suspect_get(struct suspect *suspect, uint16_t attr_id, mad_done_fn *fn)
{
	struct isolation *is = suspect->list;
	const struct inv_node *node = inventory_find(is->services.inventory, suspect->node);
	struct mad_request request = { .method = WIRE_GET, .attr_id = attr_id };
	struct mad_path path;

	if (!node || !inventory_port_path(is->services.inventory, node, 0, &path)) {
		suspect_drop(suspect);
		return;
	}
	request.path = &path;
	request.device = suspect->node;
	suspect->token = mad_send(is->services.mad, &request, fn, suspect);
}

/* Lists it for its key, if that is somebody else's, otherwise as one that takes no Set. */
static void suspect_judge(struct suspect *suspect)
{
	struct isolation *is = suspect->list;
	const struct inv_node *node = inventory_find(is->services.inventory, suspect->node);

	if (node)
		isolation_add(is, suspect->node, 0,
			      isolated_has_foreign_key(is, node) ? ISOLATED_FOREIGN_KEY
								 : ISOLATED_NO_SETS);
	suspect_drop(suspect);
}

static mad_done_fn suspect_answered;

static void suspect_ask(struct suspect *suspect)
{
	suspect_get(suspect, WIRE_SWITCH_INFO, suspect_answered);
}

/*
 * PortInfo behind a Set that got no answer. A port that hides its key has counted the Set as a
 * violation, if the key is somebody else's (inv_protection.c).
 */
static void key_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;
	struct inventory *inv = suspect->list->services.inventory;
	struct inv_node *node = inventory_find(inv, suspect->node);

	suspect->token = 0;
	if (answer->result == MAD_OK && node) {
		inventory_set_port_info(node, 0, answer->data);
		inventory_port_changed(inv, node, 0);
	}
	if (suspect->lost < SETS_LOST && !(node && isolated_has_foreign_key(suspect->list, node)))
		suspect_ask(suspect);
	else
		suspect_judge(suspect);
}

static void set_answered(void *arg, const struct mad_answer *answer)
{
	struct suspect *suspect = arg;

	suspect->token = 0;
	if (answer->result == MAD_TIMEOUT) {
		suspect->lost++;
		suspect_get(suspect, WIRE_PORT_INFO, key_answered);
	} else if (answer->result == MAD_STATUS) {
		suspect_judge(suspect);
	} else {
		suspect_drop(suspect);
	}
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
	if (isolated_has_foreign_key(it->list, node))
		return; /* listed for that by the next snapshot */
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
