/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* masks: of HCAs, the SLs whose packets may come out of order (MlnxExtendedPortInfo). */
#include "fm/adaptive/module.h"
#include "fm/adaptive/write_own.h"
#include "fm/conf/lists.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define LAP_US 600000000

/* Both masks that an HCA is to have, beside what is set there. */
#define BOTH_SLS(w) (SLS(w) << 16 | SLS(w))

static struct ar_masks *masks_of(const struct inv_node *node, unsigned num)
{
	return inv_port_cell(node, num, INV_AR_MASKS, sizeof(struct ar_masks));
}

static uint32_t get_masks(const struct ar_masks *masks)
{
	return wire_get(masks->raw + WIRE_SL_MASKS, 4);
}

/* Of a port of the published snapshot; NULL = it has none, or its link is down. */
static struct ar_masks *masks_at(const struct writer *w, uint32_t at, const struct inv_node **node)
{
	const struct topo_port *port = &w->topo->ports[at];
	const struct topo_node *hca = &w->topo->nodes[port->node];
	struct ar_masks *masks;

	if (hca->sharp || !wire_adaptive_vendor(hca->vendor) ||
	    !(*node = inventory_find(w->services.inventory, hca->guid)))
		return NULL;
	masks = masks_of(*node, port->num);
	if (!port->link_up)
		masks->state = UNREAD;
	return port->link_up ? masks : NULL;
}

#define MASKS_EACH(w, at, node, masks)                                                             \
	for (uint32_t at = (w)->topo->nswitch_ports; at < (w)->topo->nports; at++)                 \
		for (struct ar_masks *masks = masks_at(w, at, &node); masks; masks = NULL)

/* Of ports whose links are up, once each time, and when more SLs use it. */
void ar_masks_read(struct writer *w)
{
	const struct inv_node *node;

	MASKS_EACH (w, at, node, masks)
		if (masks->state == UNREAD ||
		    (masks->state == HOLDS && BOTH_SLS(w) & ~get_masks(masks)))
			ar_add_job(w, JOB_MASKS, node->guid, w->topo->ports[at].num);
}

void ar_masks_fill(const struct writer *w, const struct inv_node *node, unsigned num, uint8_t *data)
{
	memcpy(data, masks_of(node, num)->raw, WIRE_SMP_DATA);
	wire_put(data + WIRE_SL_MASKS, 4, wire_get(data + WIRE_SL_MASKS, 4) | BOTH_SLS(w));
}

/* What was set is read back. */
void ar_masks_answered(struct writer *w, const struct inv_node *node, const struct batch_job *job,
		       const uint8_t *data)
{
	struct ar_masks *masks = masks_of(node, job->arg);
	struct batch_job next = *job;

	next.tries = job->kind == JOB_MASKS_SET;
	next.kind = next.tries ? JOB_MASKS : JOB_MASKS_SET;
	if (job->kind == JOB_MASKS && data)
		memcpy(masks->raw, data, WIRE_SMP_DATA);
	if (job->kind == JOB_MASKS_SET ||
	    (data && !job->tries && BOTH_SLS(w) & ~get_masks(masks))) {
		batch_add(w->batch, &next);
		return;
	}
	w->masks.changed |= masks->state != HOLDS;
	masks->state = !data ? REFUSES : BOTH_SLS(w) & ~get_masks(masks) ? LACKS : HOLDS;
	w->masks.changed |= masks->state != HOLDS;
	w->masks.set += masks->state == HOLDS && job->tries;
}

void ar_masks_judge(struct writer *w)
{
	struct name_list lacking = { .ports = NULL };
	const struct inv_node *node;

	MASKS_EACH (w, at, node, masks) {
		unsigned num = w->topo->ports[at].num;
		char text[128];

		if (masks->state == REFUSES)
			array_printf(text, "%s p%u (no answer)", node->name, num);
		else
			array_printf(text, "%s p%u (0x%04x, 0x%04x)", node->name, num,
				     get_masks(masks) >> 16, get_masks(masks) & UINT16_MAX);
		if (masks->state != REFUSES && masks->state != LACKS)
			continue;
		name_list_add(&lacking, text);
		inventory_add_port(&lacking.ports, node, num);
	}
	name_list_alert(
		w->services.alerts, AR_MASKS, &lacking,
		"HCA port's masks (timeouts, out of order) lack SLs of adaptive_routing_sl",
		"HCA ports' masks (timeouts, out of order) lack SLs of adaptive_routing_sl");
	if (w->masks.set)
		event_log_add(w->services.events, LOG_NOTICE, "adaptive-routing-on", NULL,
			      json_pack("{si}", "ports", w->masks.set),
			      "fabric: masks of packets out of order were set at %u %s of HCAs",
			      w->masks.set, words_plural(w->masks.set, "port", "ports"));
	w->masks.set = 0;
	w->masks.changed = false;
}

/* Also of those that did not have what was sent. */
void ar_masks_audit(struct writer *w, int most)
{
	struct ar_lap *lap = &w->masks;
	const uint64_t now = loop_now_us(w->services.loop);
	const struct inv_node *node;

	if (!w->next || now - lap->lap_us < LAP_US)
		return;
	for (; most > 0 && lap->at < w->topo->nports; lap->at++)
		if (lap->at >= w->topo->nswitch_ports && masks_at(w, lap->at, &node)) {
			ar_add_job(w, JOB_MASKS, node->guid, w->topo->ports[lap->at].num);
			most--;
		}
	if (lap->at < w->topo->nports)
		return;
	lap->at = 0;
	lap->lap_us = now;
}

void adaptive_show_hca(struct fabric *fabric, guid_t guid, unsigned num, json_t *doc)
{
	const struct inv_node *hca = inventory_find(fabric_services(fabric).inventory, guid);
	char texts[2][256] = { "" }, word[8];

	if (!hca || inv_is_switch(hca) || !hca->columns[INV_AR_MASKS].bytes)
		return;
	for (unsigned i = num ?: 1; i <= (num ?: hca->nports); i++)
		for (unsigned k = 0; k < 2 && masks_of(hca, i)->state >= LACKS; k++) {
			array_printf(word, "0x%04x",
				     get_masks(masks_of(hca, i)) >> 16 * (1 - k) & UINT16_MAX);
			if (strcmp(texts[k], word))
				array_add(texts[k], "%s%s", *texts[k] ? ", " : "", word);
		}
	if (*texts[0])
		json_put(doc, "{ss ss}", "adaptive_timeout_sls", texts[0], "out_of_order_sls",
			 texts[1]);
}
