/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/adaptive/calibrate.h"
#include "fm/mad/batch.h"
#include "fm/registers/module.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define PATIENCE_US 60000000
#define ANSWER_MS   50
#define PLACES	    32
#define GROUP	    3 /* with one sub-group the second set of block 1 */
#define HCAS_MOST   256

enum sends { ASK, HCAS, BLOCKS, TURN, BLOCK, SET };
enum place { ENTRIES, GROUPS, NEITHER }; /* what a stage tries the places of */
/* Of HCAS, who has to answer; of BLOCK, what the two have; of SET, whose port it is. */
enum { FIRST = 1, SECOND = 2, OTHERS = 4, ALL = FIRST | SECOND | OTHERS };
enum { STATIC, EXCHANGED, FREE };

static const struct stage {
	uint8_t sends, how;
	uint8_t place; /* of which the next one is tried where this stage fails */
	uint8_t again; /* the stage that this begins with */
} stages[] = {
	{ ASK, 0, NEITHER, 0 },		{ HCAS, 0, NEITHER, 0 },
	{ BLOCKS, STATIC, ENTRIES, 2 }, { TURN, 0, NEITHER, 0 },
	{ HCAS, ALL, ENTRIES, 2 },	{ BLOCK, EXCHANGED, ENTRIES, 2 },
	{ HCAS, OTHERS, ENTRIES, 2 },	{ BLOCK, STATIC, NEITHER, 0 },
	{ HCAS, ALL, NEITHER, 0 },	{ BLOCK, FREE, NEITHER, 0 },
	{ SET, FIRST, GROUPS, 10 },	{ HCAS, ALL, GROUPS, 10 },
	{ SET, SECOND, GROUPS, 10 },	{ HCAS, SECOND | OTHERS, GROUPS, 10 },
	{ SET, FIRST, NEITHER, 0 },	{ HCAS, ALL, NEITHER, 0 },
};

enum job { JOB_INFO, JOB_FIRMWARE, JOB_HCA, JOB_SET, JOB_READ };

struct calibrate {
	struct fabric *fabric;
	struct fabric_services services;
	const json_t *packings;
	calibrate_done_fn *done;
	void *arg;
	struct batch *batch;
	struct loop_timer *patience;
	guid_t leaf, last; /* whose links are held, 0 = none; and the one before */
	uint8_t reboots;
	bool runs;	    /* requests are sent */
	bool on;	    /* it may have been turned on */
	bool refused, lost; /* in this stage: something, or what is no answer */
	unsigned stage, place[NEITHER];
	uint8_t info[WIRE_SMP_DATA];
	char firmware[DEVICE_FIRMWARE];
	uint8_t *ports; /* its table */
	uint32_t top;
	struct hca {
		uint16_t lid;
		uint8_t port;	     /* of the leaf */
		bool answers, known; /* known: it answered before anything was changed */
	} hcas[HCAS_MOST];
	unsigned nhcas, pair; /* pair: the first of the two */
};

/* NULL: it is away, or not what it was. */
static struct inv_node *leaf_of(const struct calibrate *c)
{
	struct inv_node *node = inventory_find(c->services.inventory, c->leaf);

	return node && !node->gone && node->reboots == c->reboots ? node : NULL;
}

/* ---- Links that are held --------------------------------------------------------------------- */

/* HCAs behind its links, if all of these are in Init and none is the manager's own; else 0. */
static unsigned count_hcas(const struct calibrate *c, const struct inv_node *node)
{
	unsigned count = 0;

	for (unsigned num = 1; num <= node->nports; num++) {
		const struct inv_port *port = &node->ports[num];

		if (!port->link_up || !port->peer || inv_is_switch(port->peer))
			continue;
		if (port->state != TOPO_INIT || port->peer == c->services.inventory->local)
			return 0;
		count++;
	}
	return count;
}

static void hold(const struct calibrate *c, bool on)
{
	struct inv_node *node = inventory_find(c->services.inventory, c->leaf);

	for (unsigned num = 1; node && num <= node->nports; num++)
		inv_port_mark(node, num, INV_WAITS,
			      on && node->ports[num].peer && !inv_is_switch(node->ports[num].peer));
}

static void release(struct calibrate *c)
{
	hold(c, false);
	c->last = c->leaf;
	c->leaf = 0;
	c->on = false;
	fabric_request_reroute(c->fabric, "links of a leaf go on");
}

void calibrate_turned_off(struct calibrate *c, guid_t node)
{
	if (node == c->leaf && c->on && !c->runs)
		release(c);
}

/* Of those with the most HCAs the last: its LIDs are hardly in block 0, the same at any place. */
void calibrate_choose(struct calibrate *c)
{
	const struct inv_node *best = NULL;
	unsigned most = 2;

	INVENTORY_EACH (c->services.inventory, node)
		if (!c->leaf && inv_is_switch(node) && !node->gone && !node->silent &&
		    !inv_node_is(node, INV_NO_SETS) && wire_adaptive_vendor(node->info.vendor) &&
		    (node->guid != c->last || node->reboots != c->reboots) &&
		    count_hcas(c, node) >= most) {
			most = count_hcas(c, node);
			best = node;
		}
	if (!best)
		return;
	c->leaf = best->guid;
	c->reboots = best->reboots;
	hold(c, true);
	loop_timer_set(c->patience, PATIENCE_US);
}

static json_t *row_of(const struct calibrate *c, const struct inv_node *node)
{
	return json_pack("{so ss s{si ss} s{si ss}}", "device",
			 json_sprintf("0x%04x", node->info.device), "firmware", c->firmware, "lft",
			 "bit", c->place[ENTRIES], "agree", "1/1", "group", "bit", c->place[GROUPS],
			 "agree", "1/1");
}

/* It is over; why NULL: there is nothing to say. */
static void end(struct calibrate *c, const char *why)
{
	const struct inv_node *node = inventory_find(c->services.inventory, c->leaf);
	struct event_subject subject = inventory_link_subject(c->services.inventory, c->leaf, 0);
	bool found = c->stage == ARRAY_SIZE(stages);

	batch_drop(c->batch);
	loop_timer_stop(c->patience);
	c->runs = false;
	if (why && node) {
		subject.name = node->name;
		event_log_add(c->services.events, found ? LOG_NOTICE : LOG_WARNING,
			      found ? "adaptive-routing-on" : "adaptive-routing-off", &subject,
			      NULL, "%s: %s: %s", node->name,
			      found ? "calibrated" : "not calibrated", why);
	}
	if (c->on && node)
		c->done(c->arg, node, c->info, found ? row_of(c, node) : NULL);
	if (!c->on || !leaf_of(c))
		release(c);
}

static void patience_cb(void *arg)
{
	end(arg, "it takes too long");
}

/* ---- What is sent ---------------------------------------------------------------------------- */

/* A block of entries; where it is not as its table is, that of the two. */
static void encode_part(const struct calibrate *c, uint32_t part, unsigned how,
			uint8_t data[WIRE_SMP_DATA])
{
	const struct hca *first = &c->hcas[c->pair], *second = first + 1;

	for (unsigned i = 0; i < WIRE_AR_LFT_BLOCK; i++) {
		uint32_t lid = part * WIRE_AR_LFT_BLOCK + i;
		bool is_first = how && lid == first->lid, free = is_first && how == FREE;
		struct wire_ar_entry entry = {
			.state = free ? WIRE_AR_FREE : WIRE_AR_STATIC,
			.port = is_first				 ? second->port
				: how == EXCHANGED && lid == second->lid ? first->port
									 : c->ports[lid],
			.group = free ? GROUP : 0,
		};

		wire_ar_entry_encode(&entry, data + i * WIRE_AR_ENTRY_BYTES);
	}
}

/* What this stage sets. */
static void encode_set(const struct calibrate *c, uint32_t part, struct mad_request *mad,
		       uint8_t data[WIRE_SMP_DATA])
{
	const struct stage *now = &stages[c->stage];
	struct wire_ar_info info;
	unsigned port;

	if (now->sends == TURN) {
		mad->attr_id = WIRE_ADAPTIVE_INFO;
		memcpy(data, c->info, WIRE_SMP_DATA);
		wire_ar_info_decode(data, &info);
		info.on = true;
		info.group_top = GROUP;
		wire_ar_info_encode(&info, data);
	} else if (now->sends == SET) {
		mad->attr_id = WIRE_AR_GROUPS;
		mad->attr_mod = GROUP / 2u << c->place[GROUPS];
		port = c->hcas[c->pair + (now->how == SECOND)].port;
		data[2 * WIRE_AR_PORTS - 1 - port / 8] = (uint8_t)(1u << port % 8);
	} else {
		mad->attr_id = WIRE_AR_LFT;
		mad->attr_mod = part << c->place[ENTRIES];
		encode_part(c, part, now->how, data);
	}
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *r)
{
	struct calibrate *c = owner;
	const struct inv_node *node = leaf_of(c);

	if (!node)
		return false;
	if (job->kind == JOB_FIRMWARE)
		return device_ask(&c->services, node, r);
	r->via.path = node->path;
	r->mad.method = job->kind == JOB_SET ? WIRE_SET : WIRE_GET;
	r->mad.attr_id = WIRE_ADAPTIVE_INFO;
	r->mad.device = node->guid;
	r->mad.doubtful = true;
	if (job->kind == JOB_HCA) {
		r->mad.lid = c->hcas[job->arg].lid;
		r->mad.attr_id = WIRE_NODE_INFO;
		r->mad.timeout_ms = ANSWER_MS;
		r->mad.retries = 1;
	} else if (job->kind != JOB_INFO) {
		encode_set(c, job->arg, &r->mad, r->data);
		c->on |= stages[c->stage].sends == TURN;
	}
	return true;
}

static void begin_stage(struct calibrate *c)
{
	uint8_t sends = stages[c->stage].sends;
	uint32_t at = sends == BLOCK ? c->hcas[c->pair].lid / WIRE_AR_LFT_BLOCK : 0, last = at;
	struct batch_job job = { .kind = sends == HCAS ? JOB_HCA : sends ? JOB_SET : JOB_INFO };

	c->refused = c->lost = false;
	if (sends == BLOCKS || sends == HCAS)
		last = sends == BLOCKS ? c->top / WIRE_AR_LFT_BLOCK : c->nhcas - 1;
	for (job.arg = at; job.arg <= last; job.arg++)
		batch_add(c->batch, &job);
}

/* ---- What is answered ------------------------------------------------------------------------ */

static void answered(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer)
{
	struct calibrate *c = owner;
	struct batch_job next = { .kind = job->kind + 1, .arg = job->arg };
	uint8_t sent[WIRE_SMP_DATA] = { 0 };
	bool good = answer->result == MAD_OK;

	if (job->kind == JOB_HCA) {
		c->hcas[job->arg].answers = good;
	} else if (job->kind == JOB_FIRMWARE) {
		device_firmware(answer, c->firmware);
	} else if (!good) {
		c->refused = true;
		c->lost |= answer->result != MAD_STATUS;
	} else if (job->kind == JOB_READ) {
		encode_set(c, job->arg, &(struct mad_request){ 0 }, sent);
		c->refused |= stages[c->stage].sends == TURN
				      ? !wire_adaptive_on(answer->data)
				      : memcmp(sent, answer->data, sizeof(sent));
	} else {
		if (job->kind == JOB_INFO)
			memcpy(c->info, answer->data, WIRE_SMP_DATA);
		batch_add(c->batch, &next);
	}
}

/* ---- Stages ---------------------------------------------------------------------------------- */

/* Why its packing is not to be learned; "": there is nothing to say. */
static const char *not_wanted(const struct calibrate *c, const struct inv_node *node)
{
	struct wire_ar_info info;
	char device[16];

	wire_ar_info_decode(c->info, &info);
	array_printf(device, "0x%04x", node->info.device);
	if (!info.group_cap || json_object_get(json_object_get(c->packings, device), c->firmware))
		return "";
	return *c->firmware && !wire_adaptive_on(c->info) && info.subgroups == 1 &&
			       info.group_cap > GROUP
		       ? NULL
		       : "it names no firmware, is on, has sub-groups in use or few groups";
}

/* Of those that answer as things are, two whose LIDs are in one block, but for block 0. */
static bool choose_pair(struct calibrate *c)
{
	c->pair = HCAS_MOST;
	for (unsigned i = 0; i < c->nhcas; i++) {
		const struct hca *it = &c->hcas[i], *before = it - (i > 0);

		c->hcas[i].known = it->answers;
		if (it != before && it->known && before->known && it->lid >= WIRE_AR_LFT_BLOCK &&
		    it->lid / WIRE_AR_LFT_BLOCK == before->lid / WIRE_AR_LFT_BLOCK)
			c->pair = i - 1;
	}
	return c->pair < HCAS_MOST;
}

static unsigned who_answers(const struct calibrate *c)
{
	unsigned who = ALL;

	for (unsigned i = 0; i < c->nhcas; i++)
		if (c->hcas[i].known && !c->hcas[i].answers)
			who &= i == c->pair ? ~FIRST : i == c->pair + 1 ? ~SECOND : ~OTHERS;
	return who;
}

/* Another hypothesis; false: there is none. */
static bool try_next(struct calibrate *c)
{
	const struct stage *now = &stages[c->stage];
	uint32_t last = now->place == ENTRIES ? c->top / WIRE_AR_LFT_BLOCK : GROUP / 2;
	unsigned place = now->place == NEITHER ? PLACES : ++c->place[now->place];

	if (place < PLACES)
		c->stage = now->again - 1u; /* it goes on behind that */
	return place < PLACES && (last << place) >> place == last;
}

static void idle(void *owner)
{
	struct calibrate *c = owner;
	const struct stage *now = &stages[c->stage];
	const struct inv_node *node = leaf_of(c);
	const char *why = NULL;

	if (!c->runs)
		return;
	if (!node || c->lost)
		why = node ? "it does not answer" : "it boots, or is gone";
	else if (now->sends == ASK)
		why = not_wanted(c, node);
	else if (now->sends == HCAS && !now->how)
		why = choose_pair(c) ? NULL : "no two HCAs answer whose LIDs are in one block";
	else if ((c->refused || (now->sends == HCAS && who_answers(c) != now->how)) && !try_next(c))
		why = now->place == ENTRIES  ? "no place of entries agrees with what it forwards"
		      : now->place == GROUPS ? "no place of groups agrees with what it forwards"
					     : "it does not go on as it did";
	if (!why && ++c->stage == ARRAY_SIZE(stages))
		why = "what it forwards by is kept";
	if (why)
		end(c, *why ? why : NULL);
	else
		begin_stage(c);
}

/* Its table and its HCAs. False: others may be reached through it. */
static bool take_leaf(struct calibrate *c, const struct fabric_view *view, uint32_t row)
{
	const struct topo *t = view->topo;

	free(c->ports);
	c->top = view->tables->top;
	c->ports = mem_array(c->ports, view->tables->stride);
	memcpy(c->ports, tables_row(view->tables, row), view->tables->stride);
	c->nhcas = 0;
	TOPO_LINKS (t, row, port, peer) {
		bool sw = peer->node < t->nswitches;

		if (!sw && c->nhcas < HCAS_MOST)
			c->hcas[c->nhcas++] =
				(struct hca){ .lid = view->lids->lid_of_port[peer - t->ports],
					      .port = port->num };
		if (sw && t->nodes[peer->node].level <= t->nodes[row].level)
			return false;
	}
	return c->nhcas;
}

void calibrate_settled(struct calibrate *c)
{
	const struct fabric_view view = fabric_view(c->fabric);
	const struct inv_node *node = leaf_of(c);
	uint32_t row = topo_find(view.topo, c->leaf);

	if (!c->leaf || c->runs || c->on || !fabric_is_up(c->fabric))
		return;
	memset(c->info, 0, sizeof(c->info));
	*c->firmware = '\0';
	c->stage = c->place[ENTRIES] = c->place[GROUPS] = 0;
	c->runs = node && row < view.topo->nswitches && count_hcas(c, node) &&
		  take_leaf(c, &view, row);
	if (c->runs)
		begin_stage(c);
	else
		end(c, NULL);
}

void calibrate_published(struct calibrate *c)
{
	const struct fabric_view view = fabric_view(c->fabric);
	uint32_t row = topo_find(view.topo, c->leaf);

	if (c->runs && (row >= view.topo->nswitches || view.tables->top != c->top ||
			memcmp(tables_row(view.tables, row), c->ports, c->top + 1u)))
		end(c, "tables have changed");
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct calibrate *calibrate_new(struct fabric *fabric, const json_t *packings,
				calibrate_done_fn *done, void *arg)
{
	static const struct batch_ops ops = { .make = make, .done = answered, .idle = idle };
	struct calibrate *c = ROOM_NEW(c, fabric);

	c->packings = packings;
	c->done = done;
	c->arg = arg;
	c->batch = batch_new(c->services.loop, c->services.mad, &ops, c);
	c->patience = loop_timer_new(c->services.loop, patience_cb, c);
	return c;
}

static void nothing(void *arg, const struct mad_answer *answer)
{
}

void calibrate_free(struct calibrate *c)
{
	struct mad_request off = { .method = WIRE_SET, .attr_id = WIRE_ADAPTIVE_INFO };
	const struct inv_node *node = c ? leaf_of(c) : NULL;

	if (!c)
		return;
	if (c->on && node) {
		off.path = &node->path;
		off.data = c->info;
		mad_send(c->services.mad, &off, nothing, NULL);
		log_line(LOG_CORE, LOG_WARNING,
			 "%s: not calibrated: its manager begins again, or ends", node->name);
	}
	hold(c, false);
	batch_free(c->batch);
	loop_timer_free(c->patience);
	free(c->ports);
	free(c);
}
