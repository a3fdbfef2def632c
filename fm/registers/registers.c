/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_optional.h"
#include "fm/registers/registers.h"
#include "topology/base/mem.h"

#define TICK_US	     50000
#define WAITING_MOST 16 /* requests on their way */
#define ALONE_US     3600000000u

/* Laps */
#define ASK_US	    33334u /* 30 requests a second */
#define BURST	    6	   /* of them */
#define WATCH_LEFT  3	   /* of those, for laps */
#define CAGE_LEFT   4	   /* of those, for laps and those whose errors moved */
#define LOCAL_MOST  254	   /* a device's own numbers of ports; at most twice its ports */
#define PIECE_US    200000
#define LOOKS	    256	      /* of a piece */
#define LAP_US	    10000000u /* at least */
#define DAY_OF_PORT 878906u   /* microseconds: a day has so many of 98,304 */
#define READ_US	    600000000u
#define HOT_US	    60000000u
#define NEARLY_HOT  (10 * 256)
#define CLOCK_S	    10 /* seconds by which a device may be wrong beside */

static const struct {
	uint16_t id;
	uint8_t page;
	uint8_t counts_as; /* up to REGISTER_DEVICE */
	bool detail;	   /* that registers_read() alone asks for */
} pages[] = {
	[REGISTER_DOWN] = { WIRE_REGISTER_PDDR, WIRE_PDDR_DOWN, REGISTER_DOWN, false },
	[REGISTER_MODULE] = { WIRE_REGISTER_PDDR, WIRE_PDDR_MODULE, REGISTER_MODULE, false },
	[REGISTER_BER] = { WIRE_REGISTER_PPCNT, WIRE_PPCNT_BER, REGISTER_BER, false },
	[REGISTER_HISTOGRAM] = { WIRE_REGISTER_PPCNT, WIRE_PPCNT_HISTOGRAM, REGISTER_HISTOGRAM,
				 true },
	[REGISTER_DEVICE] = { .counts_as = REGISTER_DEVICE },
	[REGISTER_PLANES] = { WIRE_REGISTER_PPCR, 0, REGISTER_DEVICE, false },
	[REGISTER_PLANE] = { WIRE_REGISTER_PPCNT, WIRE_PPCNT_BER, REGISTER_BER, true },
	[REGISTER_IB_PORT] = { WIRE_REGISTER_PLIB, 0, REGISTER_DEVICE, false },
	[REGISTER_CAGE] = { WIRE_REGISTER_PMLP, 0, REGISTER_DEVICE, false },
};

enum able { ABLE_UNASKED, ABLE_ASKED, ABLE_YES, ABLE_NO };

struct rnode {
	cl_map_item_t item; /* key = node GUID */
	guid_t guid;
	uint64_t unable_us; /* ABLE_NO: since when */
	unsigned wanted;    /* ports in REGISTER_WANTED */
	uint8_t able;	    /* enum able */
	uint8_t was_able;   /* ABLE_ASKED: before that */
	uint8_t nports;
	bool again; /* a link of it fell: GeneralInfo is asked for once more */
	bool planes_asked, cage_asked;
	uint8_t planes;	 /* 0 = none, or not known */
	uint8_t local;	 /* its own number of the port whose cage is asked for */
	uint8_t cage_of; /* that port */
	uint8_t cages;	 /* ports whose cage is known */
	struct register_device device;
	struct register_port ports[]; /* [nports + 1] */
};

struct registers {
	struct loop *loop;
	struct inventory *inv;
	const struct registers_ops *ops;
	void *arg;
	struct batch *batch;
	struct loop_timer *timer;
	cl_qmap_t nodes;
	unsigned waiting; /* ports that are wanted or asked */
	unsigned jobs;	  /* queued or on their way */
	unsigned reading; /* of those, histograms */
	uint64_t paid_us; /* until when requests of the past have used up what there is a second */
	struct rnode *latest; /* of find(), as one device is asked for many times in a row */
	const uint64_t *key;
	struct ask_counts counts[REGISTER_DEVICE + 1];
	struct {
		struct loop_timer *timer;
		guid_t node; /* where it goes on */
		unsigned port;
		uint64_t began_us;
		unsigned ports, all; /* that could be asked: so far, and in the lap before */
	} lap;
};

static struct rnode *find(const struct registers *r, guid_t guid)
{
	cl_map_item_t *item;

	if (r->latest && r->latest->guid == guid)
		return r->latest;
	item = cl_qmap_get(&r->nodes, guid);
	return item == cl_qmap_end(&r->nodes) ? NULL : (struct rnode *)item;
}

/* NULL: the inventory has no such node. */
static struct rnode *node_of(struct registers *r, guid_t guid)
{
	const struct inv_node *inv = inventory_find(r->inv, guid);
	struct rnode *n = find(r, guid);

	if (!n && inv) {
		n = mem_alloc(1, sizeof(*n) + (inv->nports + 1u) * sizeof(n->ports[0]));
		n->guid = guid;
		n->nports = inv->nports;
		cl_qmap_insert(&r->nodes, guid, &n->item);
	}
	r->latest = n ? n : r->latest;
	return n;
}

static void end(struct registers *r, struct rnode *n, unsigned num, enum register_kind kind,
		enum register_state state)
{
	n->ports[num].state[kind] = state;
	if (kind != REGISTER_DOWN)
		return;
	r->waiting--;
	r->ops->ended(r->arg, n->guid, num);
}

/* 0 = it is not reached. */
static uint16_t lid_of(const struct inv_node *inv, unsigned num)
{
	bool sw = inv_is_switch(inv);

	if (num > inv->nports || inv->gone || inv->silent || inv->removed ||
	    (!sw && !inv->ports[num].link_up))
		return 0;
	return inv->ports[sw ? 0 : num].lid;
}

/* ---- Requests -------------------------------------------------------------------------------- */

bool registers_get(const struct inventory *inventory, const struct inv_node *node, unsigned num,
		   uint64_t key, struct batch_request *request)
{
	wire_put(request->data, 8, key);
	request->mad.method = WIRE_GET;
	request->mad.mgmt_class = WIRE_VENDOR;
	request->mad.lid = lid_of(node, num);
	request->mad.pkey_index = inventory_default_pkey_index(inventory);
	request->mad.device = node->guid;
	request->mad.retries = 1;
	request->mad.doubtful = true;
	return request->mad.lid;
}

/* Whether a request more is within what there is a second; so many are left then. */
static bool affords(const struct registers *r, unsigned left)
{
	uint64_t now = loop_now_us(r->loop);

	return r->jobs < WAITING_MOST && (now > BURST * ASK_US && r->paid_us < now - BURST * ASK_US
						  ? left < BURST
						  : r->paid_us + (left + 1) * ASK_US <= now);
}

/* A job's arg is its port, of REGISTER_PLANE with the plane above. */
#define PLANE_OF(job) ((job)->arg >> 8)

static bool make(void *owner, const struct batch_job *job, struct batch_request *request)
{
	struct registers *r = owner;
	const struct rnode *n = job->object;
	const struct inv_node *inv = inventory_find(r->inv, n->guid);

	if (!inv || !r->ops->may_ask(r->arg))
		return false;
	if (job->kind != REGISTER_DEVICE) {
		wire_register_ask(pages[job->kind].id, (uint8_t)job->arg, pages[job->kind].page,
				  request->data);
		*wire_register_plane(request->data) |= PLANE_OF(job);
		request->mad.attr_id = WIRE_ACCESS_REGISTER;
		request->mad.attr_mod = pages[job->kind].id;
	} else {
		request->mad.attr_id = WIRE_VENDOR_INFO;
	}
	return registers_get(r->inv, inv, inv_is_switch(inv) ? 0 : (uint8_t)job->arg, *r->key,
			     request);
}

static void add_job(struct registers *r, struct rnode *n, uint32_t arg, uint8_t kind)
{
	r->jobs++;
	r->reading += pages[kind].detail;
	r->counts[pages[kind].counts_as].asked++;
	if (kind == REGISTER_DEVICE) {
		n->was_able = n->able;
		n->able = ABLE_ASKED;
		n->again = false;
	} else if (kind < REGISTER_DEVICE) {
		n->ports[arg].state[kind] = REGISTER_ASKED;
	}
	batch_add(r->batch, &(struct batch_job){ .object = n, .arg = arg, .kind = kind });
}

/* The same, of what there is a second. */
static void ask_for(struct registers *r, struct rnode *n, uint32_t arg, enum register_kind kind)
{
	uint64_t now = loop_now_us(r->loop),
		 least = now > BURST * ASK_US ? now - BURST * ASK_US : 0;

	r->paid_us = (r->paid_us > least ? r->paid_us : least) + ASK_US;
	if (kind <= REGISTER_BER)
		n->ports[arg].asked_us[kind] = now;
	add_job(r, n, arg, kind);
}

static void read_one(struct registers *r, unsigned kind)
{
	if (pages[kind].detail && !--r->reading)
		r->ops->read(r->arg);
}

static void unwanted(void *owner, const struct batch_job *job)
{
	struct registers *r = owner;
	struct rnode *n = job->object;

	r->jobs--;
	if (job->kind == REGISTER_DEVICE) {
		n->able = n->was_able;
		n->again = true;
		return;
	}
	read_one(r, job->kind);
	if (job->kind == REGISTER_PLANES)
		n->planes_asked = false;
	if (job->kind == REGISTER_IB_PORT || job->kind == REGISTER_CAGE) {
		n->cage_asked = false;
		n->local--;
	}
	if (job->kind > REGISTER_DEVICE)
		return;

	uint8_t *state = &n->ports[job->arg].state[job->kind];

	if (*state != REGISTER_ASKED)
		return;
	*state = job->kind == REGISTER_DOWN ? REGISTER_WANTED : REGISTER_UNASKED;
	n->wanted += job->kind == REGISTER_DOWN;
	if (job->kind <= REGISTER_BER)
		n->ports[job->arg].asked_us[job->kind] = 0;
}

/* ---- Answers --------------------------------------------------------------------------------- */

static struct register_detail *detail(struct register_port *port)
{
	if (!port->detail)
		port->detail = mem_new(port->detail);
	return port->detail;
}

/* Whether what a device answered can be; it is kept then. */
static bool keep(struct registers *r, const struct batch_job *job, uint8_t *data)
{
	struct rnode *n = job->object;
	struct register_port *port = &n->ports[(uint8_t)job->arg];
	const uint8_t *page = wire_register_page(data);
	uint64_t bins[WIRE_HISTOGRAM_BINS];
	char label[WIRE_HIERARCHY_LABEL];
	struct wire_module module;
	struct wire_ber ber;

	switch (job->kind) {
	case REGISTER_DOWN:
		wire_down_decode(page, &port->down);
		return port->down.blame <= WIRE_BLAME_REMOTE && port->down.intent <= WIRE_INTENT_NO;
	case REGISTER_BER:
	case REGISTER_PLANE:
		wire_ber_decode(page, &ber);
		if (!wire_ber_is_sound(&ber) || (*wire_register_plane(data) & 15) != PLANE_OF(job))
			return false;
		if (PLANE_OF(job)) {
			detail(port)->plane[PLANE_OF(job) - 1] = true;
			port->detail->planes[PLANE_OF(job) - 1] = ber;
		} else {
			port->ber = ber;
			port->ber_us = loop_now_us(r->loop);
		}
		return true;
	case REGISTER_HISTOGRAM:
		if (!wire_histogram_decode(page, bins))
			return false;
		memcpy(detail(port)->bins, bins, sizeof(bins));
		return port->detail->histogram = true;
	case REGISTER_PLANES:
		n->planes = wire_planes(data);
		return true;
	case REGISTER_IB_PORT:
		n->cage_of = wire_ib_port(data) <= n->nports ? wire_ib_port(data) : 0;
		return true;
	case REGISTER_CAGE:
		if (!wire_cage(data, label))
			return false;
		n->cages++;
		r->ops->label(r->arg, n->guid, n->cage_of, label);
		return true;
	default:
		wire_module_decode(page, &module);
		if (!wire_module_is_sound(&module))
			return false;
		if (module.kind == WIRE_MODULE_UNPLUGGED) { /* as of a link on a board */
			port->module.temperature = port->module.hottest = 0;
			return true;
		}
		port->again = !r->ops->module(r->arg, n->guid, job->arg, &module);
		port->module = module;
		return true;
	}
}

/* Asks for the port's cage that is next, unless all are known, or were asked for. */
static void ask_cage(struct registers *r, struct rnode *n)
{
	const struct inv_node *inv = inventory_find(r->inv, n->guid);
	unsigned most = 2u * n->nports < LOCAL_MOST ? 2u * n->nports : LOCAL_MOST;

	if (!inv || !inv_is_switch(inv) || inv->ports[0].capmask & WIRE_CAP_HIERARCHY ||
	    n->able != ABLE_YES || n->cage_asked || n->cages == n->nports || n->local >= most ||
	    !affords(r, CAGE_LEFT))
		return;
	n->cage_asked = true;
	ask_for(r, n, ++n->local, REGISTER_IB_PORT);
}

static void take(struct registers *r, const struct batch_job *job, const struct mad_answer *answer)
{
	struct rnode *n = job->object;
	struct register_port *port = job->kind < REGISTER_DEVICE ? &n->ports[job->arg] : NULL;
	uint8_t data[WIRE_GMP_DATA], about, page;
	bool good = false;

	if (port && port->state[job->kind] != REGISTER_ASKED)
		return; /* the link fell once more */
	if (job->kind == REGISTER_BER && answer->result != MAD_TIMEOUT)
		port->ber_us = 0; /* until it is taken over below */
	if (answer->result == MAD_OK) {
		memcpy(data, answer->data, sizeof(data));
		wire_register_about(pages[job->kind].id, data, &about, &page);
		good = about == (uint8_t)job->arg &&
		       (!pages[job->kind].page || page == pages[job->kind].page) &&
		       keep(r, job, data);
	}
	ask_counts_add(&r->counts[pages[job->kind].counts_as], answer->result, good);
	if (port) {
		end(r, n, job->arg, job->kind, good ? REGISTER_READ : REGISTER_UNKNOWN);
	} else if (job->kind == REGISTER_IB_PORT && good && n->cage_of) {
		ask_for(r, n, n->local, REGISTER_CAGE);
	} else if (job->kind == REGISTER_IB_PORT || job->kind == REGISTER_CAGE) {
		if (job->kind == REGISTER_IB_PORT && answer->result == MAD_STATUS && n->local == 1)
			n->local = LOCAL_MOST; /* it has no such register */
		n->cage_asked = false;
		ask_cage(r, n);
	}
}

bool registers_take_device(const struct mad_answer *answer, struct wire_device *device)
{
	if (answer->result == MAD_OK)
		wire_device_decode(answer->data + WIRE_VENDOR_INFO_OFFSET, device);
	return answer->result == MAD_OK && wire_device_is_sound(device);
}

/*
 * A device that started again runs for less long than one that did not. Its clock may be wrong by a
 * hundredth.
 */
static void take_device(struct registers *r, struct rnode *n, const struct mad_answer *answer)
{
	const struct register_device was = n->device;
	struct wire_device now;
	bool sound = registers_take_device(answer, &now), rebooted;

	ask_counts_add(&r->counts[REGISTER_DEVICE], answer->result, sound);
	if (!sound)
		return;
	rebooted = was.read_us &&
		   now.up_s + CLOCK_S < was.info.up_s + (loop_now_us(r->loop) - was.read_us) /
								1000000 * 99 / 100;
	if (rebooted)
		r->ops->rebooted(r->arg, n->guid, &was.info, &now);
	n->device = (struct register_device){ loop_now_us(r->loop), now };
	for (unsigned num = 0; num <= n->nports && !n->again; num++)
		if (n->ports[num].fall == REGISTER_FELL)
			n->ports[num].fall = REGISTER_STOOD;
}

static void answered(void *owner, const struct batch_job *job, const struct batch_path *via,
		     const struct mad_answer *answer)
{
	struct registers *r = owner;
	struct rnode *n = job->object;

	r->jobs--;
	if (job->kind != REGISTER_DEVICE) {
		take(r, job, answer);
		read_one(r, job->kind);
		return;
	}
	n->able = answer->result == MAD_OK ? wire_registers_able(answer->data) ? ABLE_YES : ABLE_NO
		  : answer->result == MAD_TIMEOUT && n->was_able == ABLE_YES ? ABLE_YES
									     : ABLE_NO;
	n->unable_us = loop_now_us(r->loop);
	take_device(r, n, answer);
	loop_timer_set(r->timer, 1);
}

/* ---- What is wanted -------------------------------------------------------------------------- */

static void ask_device(struct registers *r, struct rnode *n)
{
	const struct inv_node *inv = inventory_find(r->inv, n->guid);
	bool alone = !inv || !wire_adaptive_vendor(inv->info.vendor) || n->able == ABLE_NO;

	for (unsigned num = 1; num <= n->nports && n->wanted; num++) {
		if (n->ports[num].state[REGISTER_DOWN] != REGISTER_WANTED)
			continue;
		if (alone || !lid_of(inv, num)) {
			n->wanted--;
			end(r, n, num, REGISTER_DOWN, REGISTER_UNKNOWN);
			continue;
		}
		if (r->jobs >= WAITING_MOST || n->able == ABLE_ASKED)
			return;
		if (n->able == ABLE_UNASKED) {
			add_job(r, n, num, REGISTER_DEVICE);
			return;
		}
		n->wanted--;
		add_job(r, n, num, REGISTER_DOWN);
	}
}

static void asked_again(struct registers *r, struct rnode *n)
{
	if (n->able == ABLE_NO && loop_now_us(r->loop) - n->unable_us >= ALONE_US)
		n->able = ABLE_UNASKED;
}

static void tick(void *arg)
{
	struct registers *r = arg;

	if (r->ops->may_ask(r->arg))
		QMAP_EACH (&r->nodes, rnode, n) {
			asked_again(r, n);
			if (n->wanted)
				ask_device(r, n);
		}
	if (r->waiting)
		loop_timer_set(r->timer, TICK_US);
}

static void want(struct registers *r, guid_t guid, uint8_t num, guid_t peer, uint8_t peer_port)
{
	struct rnode *n = node_of(r, guid);

	if (!n || num > n->nports)
		return;

	struct register_port *port = &n->ports[num];
	const uint8_t before = port->state[REGISTER_DOWN];

	r->waiting += before != REGISTER_WANTED && before != REGISTER_ASKED;
	n->wanted += before != REGISTER_WANTED;
	n->again = true;
	free(port->detail);
	*port = (struct register_port){ .state = { [REGISTER_DOWN] = REGISTER_WANTED },
					.peer = peer,
					.peer_port = peer_port,
					.fall = REGISTER_FELL,
					.module = port->module };
}

void registers_link_fell(struct registers *r, guid_t node, uint8_t port, guid_t peer,
			 uint8_t peer_port)
{
	want(r, node, port, peer, peer_port);
	want(r, peer, peer_port, node, port);
	loop_timer_set(r->timer, TICK_US);
}

/* ---- Laps ------------------------------------------------------------------------------------ */

static bool is_met(const struct inv_node *inv, unsigned num)
{
	const struct inv_port *at = num <= inv->nports ? &inv->ports[num] : NULL;

	return at && at->link_up && at->peer && at->state == TOPO_ACTIVE && lid_of(inv, num) &&
	       wire_adaptive_vendor(inv->info.vendor);
}

/* How much hotter than it may be, in 1/256 C; very cold where the module has no limit. */
static int too_hot(const struct wire_module *module)
{
	return module->hottest ? (int16_t)module->temperature - (int16_t)module->hottest
			       : INT16_MIN;
}

static bool is_due(const struct registers *r, const struct register_port *port,
		   enum register_kind kind)
{
	uint64_t day = (uint64_t)DAY_OF_PORT * r->lap.all;
	uint8_t state = port->state[kind];
	uint64_t period = kind == REGISTER_BER || state == REGISTER_UNKNOWN ? ALONE_US
			  : too_hot(&port->module) > -NEARLY_HOT	    ? HOT_US
			  : day > READ_US				    ? day
									    : READ_US;

	return state != REGISTER_ASKED &&
	       (!port->asked_us[kind] || (kind == REGISTER_MODULE && port->again) ||
		loop_now_us(r->loop) - port->asked_us[kind] >= period);
}

/* Asks what is due of that port, and of its device. */
static void look(struct registers *r, const struct inv_node *inv, unsigned num)
{
	struct rnode *n = is_met(inv, num) ? node_of(r, inv->guid) : NULL;
	struct register_port *port = n && num <= n->nports ? &n->ports[num] : NULL;

	if (!port)
		return;
	r->lap.ports++;
	if (port->state[REGISTER_MODULE] == REGISTER_READ && too_hot(&port->module) > 0)
		r->ops->hot(r->arg, inv, num, &port->module);
	asked_again(r, n);
	if (n->able != ABLE_ASKED && affords(r, 0) &&
	    (n->able == ABLE_UNASKED || (n->again && n->device.read_us)))
		ask_for(r, n, num, REGISTER_DEVICE);
	for (enum register_kind kind = REGISTER_MODULE; kind <= REGISTER_BER; kind++)
		if (n->able == ABLE_YES && is_due(r, port, kind) && affords(r, 0))
			ask_for(r, n, num, kind);
	if (n->able == ABLE_YES && !inv_is_switch(inv) && inv->ports[num].speed == TOPO_XDR &&
	    !n->planes_asked && affords(r, 0)) {
		n->planes_asked = true;
		ask_for(r, n, num, REGISTER_PLANES);
	}
	ask_cage(r, n);
}

static void lap(void *arg)
{
	struct registers *r = arg;
	struct inv_node *inv = inventory_from(r->inv, r->lap.node);
	uint64_t now = loop_now_us(r->loop), next = PIECE_US;

	if (!r->ops->may_ask(r->arg)) {
		loop_timer_set(r->lap.timer, LAP_US / 10);
		return;
	}
	for (unsigned looks = LOOKS; inv && looks && affords(r, 0); looks--) {
		look(r, inv, ++r->lap.port);
		if (r->lap.port < inv->nports)
			continue;
		inv = inventory_next(r->inv, inv);
		r->lap.port = 0;
		r->lap.node = inv ? inv->guid : 0;
	}
	if (!inv) {
		r->ops->lapped(r->arg);
		r->lap.all = r->lap.ports;
		r->lap.ports = 0;
		next = r->lap.began_us + LAP_US > now + PIECE_US ? r->lap.began_us + LAP_US - now
								 : PIECE_US;
		r->lap.began_us = now + next;
	}
	loop_timer_set(r->lap.timer, next);
}

/* A port that can be asked now; NULL = it can not. */
static struct rnode *node_to_ask(struct registers *r, guid_t node, unsigned num)
{
	const struct inv_node *inv = inventory_find(r->inv, node);
	struct rnode *n = inv && is_met(inv, num) ? node_of(r, node) : NULL;

	return n && num <= n->nports && n->able == ABLE_YES && r->ops->may_ask(r->arg) ? n : NULL;
}

void registers_watch(struct registers *r, guid_t node, uint8_t num)
{
	struct rnode *n = affords(r, WATCH_LEFT) ? node_to_ask(r, node, num) : NULL;
	uint8_t state = n ? n->ports[num].state[REGISTER_BER] : REGISTER_ASKED;

	if (state != REGISTER_ASKED && state != REGISTER_UNKNOWN)
		ask_for(r, n, num, REGISTER_BER);
}

bool registers_read(struct registers *r, guid_t node, uint8_t num)
{
	struct rnode *n = node_to_ask(r, node, num);
	bool again = n && n->ports[num].state[REGISTER_HISTOGRAM] != REGISTER_ASKED;

	for (uint32_t plane = 1; again && plane <= n->planes; plane++) {
		detail(&n->ports[num])->plane[plane - 1] = false;
		ask_for(r, n, num | plane << 8, REGISTER_PLANE);
	}
	for (enum register_kind kind = REGISTER_BER; n && kind <= REGISTER_HISTOGRAM; kind++)
		if (n->ports[num].state[kind] != REGISTER_ASKED)
			ask_for(r, n, num, kind);
	return n;
}

/* ---- The outside ----------------------------------------------------------------------------- */

const struct register_port *registers_port(const struct registers *r, guid_t node, uint8_t port)
{
	const struct rnode *n = find(r, node);

	return n && port <= n->nports ? &n->ports[port] : NULL;
}

void registers_restore(struct registers *r, guid_t node, uint8_t port, const char *serial)
{
	struct rnode *n = node_of(r, node);

	if (n && port <= n->nports)
		memcpy(n->ports[port].module.serial, serial,
		       strnlen(serial, sizeof(n->ports[port].module.serial)));
}

enum register_state registers_module_state(const struct registers *r, guid_t node, uint8_t port)
{
	const struct inv_node *inv = inventory_find(r->inv, node);
	const struct rnode *n = find(r, node);

	if (!inv || !is_met(inv, port) || (n && (n->able == ABLE_NO || port > n->nports)))
		return REGISTER_UNKNOWN;
	return n ? n->ports[port].state[REGISTER_MODULE] : REGISTER_UNASKED;
}

unsigned registers_waiting(const struct registers *r)
{
	return r->waiting;
}

const struct register_device *registers_device(const struct registers *r, guid_t node)
{
	const struct rnode *n = find(r, node);

	return n && n->device.read_us ? &n->device : NULL;
}

bool registers_excuse(struct registers *r, guid_t node, uint8_t num)
{
	struct rnode *n = find(r, node);
	struct register_port *here = n && num <= n->nports ? &n->ports[num] : NULL;
	struct rnode *m = here && here->fall != REGISTER_EXCUSED ? find(r, here->peer) : NULL;

	if (!m || here->peer_port > m->nports)
		return false;
	here->fall = m->ports[here->peer_port].fall = REGISTER_EXCUSED;
	return true;
}

struct ask_counts registers_counts(const struct registers *r, unsigned kind)
{
	return r->counts[kind];
}

struct registers *registers_new(struct loop *loop, struct mad *mad, struct inventory *inventory,
				const uint64_t *key, const struct registers_ops *ops, void *arg)
{
	static const struct batch_ops batch_ops = { .make = make,
						    .done = answered,
						    .unwanted = unwanted };
	struct registers *r = mem_new(r);

	r->loop = loop;
	r->inv = inventory;
	r->key = key;
	r->ops = ops;
	r->arg = arg;
	r->batch = batch_new(loop, mad, &batch_ops, r);
	r->timer = loop_timer_new(loop, tick, r);
	r->lap.timer = loop_timer_new(loop, lap, r);
	loop_timer_set(r->lap.timer, LAP_US);
	r->lap.began_us = loop_now_us(loop) + LAP_US;
	cl_qmap_init(&r->nodes);
	return r;
}

void registers_free(struct registers *r)
{
	if (!r)
		return;
	batch_free(r->batch);
	loop_timer_free(r->timer);
	loop_timer_free(r->lap.timer);
	while (cl_qmap_count(&r->nodes)) {
		struct rnode *n = (struct rnode *)cl_qmap_head(&r->nodes);

		cl_qmap_remove_item(&r->nodes, &n->item);
		for (unsigned num = 0; num <= n->nports; num++)
			free(n->ports[num].detail);
		free(n);
	}
	free(r);
}
