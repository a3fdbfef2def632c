/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/batch.h"
#include "fm/perf/fec_modes.h"
#include "topology/base/mem.h"

struct fec_name fec_mode_name(unsigned mode)
{
	const char *text = wire_fec_mode_name(mode);
	struct fec_name name;

	if (text)
		array_printf(name.text, "%s", text);
	else
		array_printf(name.text, "mode-%u", mode);
	return name;
}

/*
 * A walk over the inventory in small pieces, each of which begins where the one before ended. What
 * is kept of nodes is made by a walk and freed when the next one begins, when no request is on its
 * way. The first walk asks one port of each device; the next one, which follows, the others of
 * those that have answered.
 */

#define TICK_US	     50000
#define PORTS_A_TICK 100 /* asked: 2000 a second */
#define LOOKS_A_TICK 2048
#define ASKED_MOST   128      /* on their way or waiting */
#define LATER_US     30000000 /* until those are asked again that did not answer */
#define LOST_MOST    3	      /* of a port, or of a device that never answered */

struct fec_node {
	cl_map_item_t item; /* key = node GUID */
	guid_t guid;
	struct inv_node *inv; /* of this walk */
	bool answers;	      /* a port of it reported its mode: the others are asked, too */
	bool refused;	      /* does not know it after all */
	bool chosen;	      /* a port of it is being asked alone */
	uint8_t lost;	      /* requests without an answer since one was answered */
	uint8_t nports;
	struct fec_mode modes[]; /* [nports + 1] */
};

struct fec_modes {
	struct inventory *inv;
	bool (*may_ask)(void *arg);
	void *arg;
	struct batch *batch;
	struct loop_timer *timer;
	cl_qmap_t nodes;
	guid_t next;	  /* the node where the walk goes on */
	unsigned num;	  /* the port of it where the walk goes on */
	bool walking;	  /* it has not come to its end */
	bool again;	  /* another walk follows, over all devices */
	bool follows;	  /* another walk follows, over devices that have answered once */
	bool missed;	  /* some did not answer */
	unsigned waiting; /* jobs */
	struct ask_counts counts;
};

/* ---- What is kept ---------------------------------------------------------------------------- */

static struct fec_node *find(const struct fec_modes *m, guid_t guid)
{
	cl_map_item_t *item = cl_qmap_get(&m->nodes, guid);

	return item == cl_qmap_end(&m->nodes) ? NULL : (struct fec_node *)item;
}

static void drop(struct fec_modes *m, struct fec_node *n)
{
	cl_qmap_remove_item(&m->nodes, &n->item);
	free(n);
}

/* NULL: another device was known by that GUID, and is forgotten when the next walk begins. */
static struct fec_node *node_of(struct fec_modes *m, struct inv_node *inv)
{
	struct fec_node *n = find(m, inv->guid);

	if (n && n->nports != inv->nports) {
		m->again = true;
		return NULL;
	}
	if (!n) {
		n = mem_alloc(1, sizeof(*n) + (inv->nports + 1u) * sizeof(n->modes[0]));
		n->guid = inv->guid;
		n->nports = inv->nports;
		cl_qmap_insert(&m->nodes, inv->guid, &n->item);
	}
	n->inv = inv;
	return n;
}

/* ---- Who is asked ---------------------------------------------------------------------------- */

/* A switch says at its port 0 what it knows, and may say it at the others. */
static bool claims(const struct inv_node *node, unsigned num)
{
	const struct inv_port *own = &node->ports[0], *port = &node->ports[num];

	return (port->known && wire_port_info_capmask2(port->info) & WIRE_CAP2_PORT_INFO_EXT) ||
	       (inv_is_switch(node) && own->known &&
		wire_port_info_capmask2(own->info) & WIRE_CAP2_PORT_INFO_EXT);
}

/* True: that port is asked now. What is kept is of the link that there is now. */
static bool ask(struct fec_modes *m, struct inv_node *inv, unsigned num)
{
	const struct inv_port *port = &inv->ports[num];

	if (!port->peer || !port->link_up || port->state != TOPO_ACTIVE || inv->gone ||
	    inv->silent || inv->removed || !claims(inv, num))
		return false;

	struct fec_node *n = node_of(m, inv);

	if (!n || n->refused || (!n->answers && (n->chosen || n->lost >= LOST_MOST)))
		return false;

	struct fec_mode *mode = &n->modes[num];

	if (mode->peer != port->peer->guid || mode->peer_port != port->peer_port ||
	    mode->speed != port->speed || mode->lanes != port->lanes)
		*mode = (struct fec_mode){ .peer = port->peer->guid,
					   .peer_port = port->peer_port,
					   .speed = port->speed,
					   .lanes = port->lanes };
	if (mode->state != FEC_UNASKED || mode->lost >= LOST_MOST)
		return false;
	n->chosen = true;
	mode->state = FEC_ASKED;
	m->counts.asked++;
	m->waiting++;
	batch_add(m->batch, &(struct batch_job){ .object = n, .arg = num });
	return true;
}

static bool make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct fec_modes *m = owner;
	const struct fec_node *n = job->object;

	if (n->inv->removed || n->modes[job->arg].state != FEC_ASKED ||
	    !inventory_port_path(m->inv, n->inv, job->arg, &request->via.path))
		return false;
	request->mad.method = WIRE_GET;
	request->mad.attr_id = WIRE_PORT_INFO_EXT;
	request->mad.attr_mod = job->arg;
	request->mad.device = n->guid;
	request->mad.retries = 1;
	request->mad.doubtful = true;
	return true;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static void answered(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer)
{
	struct fec_modes *m = owner;
	struct fec_node *n = job->object;
	struct fec_mode *mode = &n->modes[job->arg];
	enum wire_ext_speed speed = wire_port_ext_speed(mode->speed);
	bool whole = answer->result == MAD_OK, possible = true;
	struct wire_port_ext info = { 0 };

	m->waiting--;
	if (mode->state != FEC_ASKED)
		return; /* the link fell meanwhile */
	if (whole)
		possible = wire_port_ext_decode(answer->data, &info);
	ask_counts_add(&m->counts, whole && possible && !info.has_fec ? MAD_STATUS : answer->result,
		       possible);
	if (!whole && answer->result != MAD_STATUS) {
		m->missed = true;
		mode->state = FEC_UNASKED;
		mode->lost++;
		n->lost++;
		return;
	}
	if (!whole || !possible || !info.has_fec) {
		n->refused = true;
		mode->state = FEC_UNKNOWN;
		return;
	}
	m->follows |= !n->answers;
	n->answers = true;
	n->lost = 0;
	mode->state = FEC_KNOWN;
	mode->active = info.active;
	mode->supported = speed < WIRE_EXT_SPEEDS ? info.supported[speed] : 0;
	mode->enabled = speed < WIRE_EXT_SPEEDS ? info.enabled[speed] : 0;
}

static void unwanted(void *owner, const struct batch_job *job)
{
	struct fec_modes *m = owner;
	struct fec_node *n = job->object;

	m->waiting--;
	if (n->modes[job->arg].state == FEC_ASKED)
		n->modes[job->arg].state = FEC_UNASKED;
}

/* ---- The walk -------------------------------------------------------------------------------- */

static void tick(void *arg)
{
	struct fec_modes *m = arg;
	bool may = m->may_ask(m->arg);

	if ((m->again || m->follows) && may && !m->walking && !m->waiting) {
		cl_map_item_t *item = cl_qmap_head(&m->nodes);

		while (item != cl_qmap_end(&m->nodes)) {
			struct fec_node *n = (struct fec_node *)item;
			const struct inv_node *inv = inventory_find(m->inv, n->guid);

			item = cl_qmap_next(item);
			n->chosen = n->chosen && m->follows;
			if (!inv || inv->nports != n->nports)
				drop(m, n);
		}
		m->missed = m->missed && m->follows;
		m->again = m->follows = false;
		m->walking = true;
		m->next = 0;
		m->num = 1;
	}
	if (m->walking && may) {
		struct inv_node *inv = inventory_from(m->inv, m->next);
		unsigned asked = 0;

		for (unsigned looks = 0; inv; looks++) {
			if (looks == LOOKS_A_TICK || asked == PORTS_A_TICK ||
			    m->waiting >= ASKED_MOST)
				break;
			if (m->next != inv->guid) { /* the one before is gone, or at its end */
				m->next = inv->guid;
				m->num = 1;
			}
			if (m->num > inv->nports) {
				m->next = inv->guid + 1;
				inv = inventory_next(m->inv, inv);
				continue;
			}
			asked += ask(m, inv, m->num++);
		}
		m->walking = inv != NULL;
	}
	if (m->walking || m->waiting || m->again || m->follows) {
		loop_timer_set(m->timer, TICK_US);
	} else if (m->missed) {
		m->again = true;
		loop_timer_set(m->timer, LATER_US);
	}
}

/* ---- The outside ----------------------------------------------------------------------------- */

void fec_modes_ask(struct fec_modes *m)
{
	m->again = true;
	loop_timer_set(m->timer, TICK_US);
}

static void forget(struct fec_modes *m, guid_t node, uint8_t port)
{
	struct fec_node *n = find(m, node);

	if (!n || port > n->nports)
		return;
	n->refused = false; /* it may have restarted, with another firmware */
	n->lost = 0;
	n->modes[port] = (struct fec_mode){ 0 };
}

void fec_modes_forget(struct fec_modes *m, guid_t node, uint8_t port)
{
	const struct fec_node *n = find(m, node);

	if (!n || port > n->nports)
		return;

	struct fec_mode was = n->modes[port];

	forget(m, node, port);
	forget(m, was.peer, was.peer_port);
}

const struct fec_mode *fec_modes_of(const struct fec_modes *m, guid_t node, uint8_t *nports)
{
	const struct fec_node *n = find(m, node);

	*nports = n ? n->nports : 0;
	return n ? n->modes : NULL;
}

struct ask_counts fec_modes_counts(const struct fec_modes *m)
{
	return m->counts;
}

struct fec_modes *fec_modes_new(struct loop *loop, struct mad *mad, struct inventory *inventory,
				bool (*may_ask)(void *arg), void *arg)
{
	static const struct batch_ops ops = { .make = make,
					      .done = answered,
					      .unwanted = unwanted };
	struct fec_modes *m = mem_new(m);

	m->inv = inventory;
	m->may_ask = may_ask;
	m->arg = arg;
	m->batch = batch_new(loop, mad, &ops, m);
	m->timer = loop_timer_new(loop, tick, m);
	cl_qmap_init(&m->nodes);
	return m;
}

void fec_modes_free(struct fec_modes *m)
{
	if (!m)
		return;
	batch_free(m->batch);
	loop_timer_free(m->timer);
	while (cl_qmap_count(&m->nodes))
		drop(m, (struct fec_node *)cl_qmap_head(&m->nodes));
	free(m);
}
