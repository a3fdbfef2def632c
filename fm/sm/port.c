/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <inttypes.h>
#include "fm/sm/port.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

static void tick(void *arg);

/*
 * The own port's state machine as a table: state x event -> next state and act.
 *
 * A manager whose port is not in the fabric is nobody's master: what it would find is its own HCA.
 * One whose link was down, however briefly, may be plugged in elsewhere: the paths it knows may
 * lead to other switches, so it restarts, by Gets, from DISCOVERING. The link counts as bounced
 * when the logical state fell: it is only ever raised by a manager, to Active, and falls with the
 * link (IBA 7.2.7). A neighbour that only ceases to answer is no reason to leave: a switch whose
 * agent hangs forwards still.
 */

struct step {
	enum own_port_state next;
	enum own_port_action act;
};

#define STEP(state, do)                                                                            \
	{                                                                                          \
		OWN_PORT_##state, OWN_PORT_##do                                                    \
	}

/* Events that are not listed change nothing. */
static const struct step table[OWN_PORT_STATES][OWN_PORT_EVENTS] = {
	[OWN_PORT_NO_DEVICE] = {
		[OWN_PORT_OPENED] = STEP(NO_LINK, READ),
		[OWN_PORT_REFUSED] = STEP(BUSY, WAIT),
	},
	[OWN_PORT_BUSY] = {
		[OWN_PORT_OPENED] = STEP(NO_LINK, READ),
		[OWN_PORT_LOST] = STEP(NO_DEVICE, WAIT),
	},
	[OWN_PORT_NO_LINK] = {
		[OWN_PORT_LOST] = STEP(NO_DEVICE, WAIT),
		[OWN_PORT_REFUSED] = STEP(BUSY, WAIT),
		[OWN_PORT_UP] = STEP(SILENT, SWEEP),
		[OWN_PORT_BOUNCED] = STEP(SILENT, SWEEP),
		[OWN_PORT_CHANGED] = STEP(SILENT, SWEEP),
	},
	[OWN_PORT_SILENT] = {
		[OWN_PORT_LOST] = STEP(NO_DEVICE, LEAVE),
		[OWN_PORT_REFUSED] = STEP(BUSY, LEAVE),
		[OWN_PORT_DOWN] = STEP(NO_LINK, LEAVE),
		[OWN_PORT_UP] = STEP(SILENT, PROBE),
		[OWN_PORT_BOUNCED] = STEP(SILENT, BEGIN_AGAIN),
		[OWN_PORT_CHANGED] = STEP(SILENT, PROBE),
		[OWN_PORT_MET] = STEP(IN_FABRIC, WAIT),
		[OWN_PORT_HEARD] = STEP(SILENT, SWEEP),
		[OWN_PORT_OTHER] = STEP(SILENT, SWEEP),
		[OWN_PORT_STRANGE] = STEP(SILENT, PROBE),
	},
	[OWN_PORT_IN_FABRIC] = {
		[OWN_PORT_LOST] = STEP(NO_DEVICE, LEAVE),
		[OWN_PORT_REFUSED] = STEP(BUSY, LEAVE),
		[OWN_PORT_DOWN] = STEP(NO_LINK, LEAVE),
		[OWN_PORT_BOUNCED] = STEP(SILENT, BEGIN_AGAIN),
		[OWN_PORT_CHANGED] = STEP(IN_FABRIC, PROBE),
		[OWN_PORT_OTHER] = STEP(SILENT, BEGIN_AGAIN),
		[OWN_PORT_STRANGE] = STEP(IN_FABRIC, PROBE),
	},
};

const char *own_port_state_name(enum own_port_state state)
{
	static const char *const names[OWN_PORT_STATES] = { "no-device", "port-busy", "no-link",
							    "neighbour-silent", "in-fabric" };

	return (unsigned)state < OWN_PORT_STATES ? names[state] : "unknown";
}

enum own_port_event own_port_read(struct own_port *p, const struct wire_port_info *info)
{
	const struct wire_port_info before = p->info;

	p->info = *info;
	if (p->is_switch)
		return OWN_PORT_UP;
	if (info->state < TOPO_INIT)
		return OWN_PORT_DOWN;
	if (info->state < before.state)
		return OWN_PORT_BOUNCED;
	if (before.state == TOPO_ACTIVE &&
	    (before.lid != info->lid || before.sm_lid != info->sm_lid))
		return OWN_PORT_CHANGED;
	return OWN_PORT_UP;
}

enum own_port_event own_port_heard(struct own_port *p, const struct wire_node_info *info)
{
	p->silent = !info;
	if (!info)
		return OWN_PORT_UNHEARD;
	if (p->neighbour &&
	    (p->neighbour != info->node_guid || p->neighbour_port != info->local_port)) {
		/* Asked again at once, once; another one each time is nobody. */
		bool known = p->seen != 0;

		if (p->seen == info->node_guid && p->seen_port == info->local_port)
			return OWN_PORT_OTHER;
		p->seen = info->node_guid;
		p->seen_port = info->local_port;
		return known ? OWN_PORT_NO_NEWS : OWN_PORT_STRANGE;
	}
	p->seen = 0;
	return OWN_PORT_HEARD;
}

enum own_port_event own_port_swept(struct own_port *p, guid_t neighbour, uint8_t port, bool fresh)
{
	if (p->is_switch)
		return OWN_PORT_MET;
	if (!neighbour) {
		p->silent = true;
		return OWN_PORT_UNHEARD;
	}
	if (!fresh && p->neighbour && (p->neighbour != neighbour || p->neighbour_port != port))
		return OWN_PORT_OTHER;
	p->silent = false;
	p->neighbour = neighbour;
	p->neighbour_port = port;
	return OWN_PORT_MET;
}

enum own_port_action own_port_take(struct own_port *p, enum own_port_event event)
{
	const struct step *step = &table[p->state][event];

	if (step->act == OWN_PORT_STAY)
		return OWN_PORT_STAY;
	if (step->act == OWN_PORT_PROBE && event != OWN_PORT_STRANGE &&
	    p->state == OWN_PORT_SILENT && !p->silent)
		return OWN_PORT_STAY; /* the sweep that is under way asks it */
	if (step->act == OWN_PORT_LEAVE || step->act == OWN_PORT_BEGIN_AGAIN) {
		p->neighbour = p->seen = 0;
		p->silent = false;
	}
	if (step->next <= OWN_PORT_BUSY)
		p->info = (struct wire_port_info){ 0 };
	p->state = step->next;
	return step->act;
}

/*
 * The manager's own port.
 *
 *   every second     no device: one is looked for. Else its PortInfo is read, by a local MAD that
 *                    is not on the wire; without a link four times as often
 *   before a sweep   the same: the answer is here before that of any switch, so that nothing is
 *                    sent by paths that are no more
 *   with a poll      the neighbour's NodeInfo: is it still the one that was met?
 *   after a sweep    the neighbour that it met is kept in mind
 *
 * A manager whose port has left its fabric begins as after a restart, and waits in the process
 * for as long as it takes. What the kernel forbids this process is no matter of waiting: it ends,
 * and the service manager starts it with a new list of devices.
 */

#define TICK_US 1000000
#define LINK_US 250000 /* while it has no link */
/*
 * A port counts as down after MISSED_MAX reads without an answer. From MISSED_MOVE on other ports
 * of this machine are tried with each read; while there are some, reads are shorter and twice as
 * many are needed.
 */
#define MISSED_MAX  5
#define MISSED_MOVE 3
#define LOOK_EVERY  50 /* ticks, for other ports of this machine */
#define HIDDEN_MAX  2  /* reads that show no IsSM until it is set again */

struct port {
	struct port_services services;
	const struct port_ops *ops;
	void *arg;
	struct own_port core;
	struct loop_timer *tick, *act;
	enum own_port_action due; /* by `act` */
	mad_token read, probe;
	struct {
		guid_t guids[IO_PORTS], from;
		unsigned count, at, others; /* the latter as last looked for */
		enum own_port_action
			instead; /* where none leads to the fabric; STAY: not under way,
				    WAIT: it stays as it is */
	} move;
	unsigned ticks;
	uint64_t since_us; /* when this port became the manager's; `why` is the reason */
	char why[320];
	unsigned missed, hidden;
	bool had_link;
	bool doubted; /* another manager has set it: the neighbour is asked before a Set leaves */
	char absent[256];  /* why there is no device */
	char refusal[400]; /* what nothing can be managed for */
	char failed[256];  /* why this process can't go on */
};

/* ---- What it is in --------------------------------------------------------------------------- */

static const char *explain(struct port *p, const struct io_port_info *info)
{
	if (p->core.state <= OWN_PORT_BUSY)
		array_printf(p->refusal, "%s: fmd manages nothing until the port is available",
			     p->absent);
	else
		array_printf(p->refusal,
			     "%s port %u (port GUID 0x%016" PRIx64
			     ") %s: fmd manages nothing until it is up",
			     info->device, info->port, info->port_guid,
			     p->missed < MISSED_MAX
				     ? "has no link"
				     : "does not answer (it may hold another M_Key)");
	return p->refusal;
}

/* NULL at the start: it is about to be known. */
const char *port_missing(struct port *p)
{
	bool absent = p->core.state <= OWN_PORT_BUSY && p->absent[0];

	/*
	 * Between the opening and the first answer, or its absence, nothing is known of the link.
	 */
	return absent || (p->core.state == OWN_PORT_NO_LINK &&
			  (p->core.info.state || p->missed >= MISSED_MAX))
		       ? explain(p, mad_port_info(p->services.mad))
		       : NULL;
}

const struct own_port *port_seen(const struct port *p)
{
	return &p->core;
}

static void show(struct port *p)
{
	const struct own_port *core = &p->core;
	const struct io_port_info *info = mad_port_info(p->services.mad);
	const char *missing = port_missing(p);
	char silent[256];

	array_printf(silent, "%s port %u has a link, but the switch behind it does not answer%s",
		     info->device, info->port,
		     p->services.conf->sm.old_mkey || p->services.conf->sm.old_mkey_secret.set
			     ? ""
			     : " (it may hold another M_Key: see old_m_key)");
	for (enum own_port_state state = OWN_PORT_NO_DEVICE; state <= OWN_PORT_NO_LINK; state++)
		alert_set(p->services.alerts, missing && core->state == state,
			  own_port_state_name(state), NULL, "%s", missing);
	alert_set(p->services.alerts, own_port_has_link(core) && core->silent,
		  own_port_state_name(OWN_PORT_SILENT), NULL, "%s", silent);
	p->ops->changed(p->arg);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* What was asked of the port's former life. */
static void stop_asking(struct port *p)
{
	mad_cancel(p->services.mad, p->read);
	mad_cancel(p->services.mad, p->probe);
	p->read = p->probe = 0;
	p->doubted = false;
	mad_is_sure(p->services.mad);
}

static bool move_begin(struct port *p, enum own_port_action instead);

static void take(struct port *p, enum own_port_event event)
{
	enum own_port_action act = own_port_take(&p->core, event);

	if (act >= OWN_PORT_LEAVE && move_begin(p, act))
		return;
	show(p);
	switch (act) {
	case OWN_PORT_STAY:
	case OWN_PORT_WAIT:
		return;
	case OWN_PORT_READ:
		port_check(p);
		return;
	case OWN_PORT_PROBE:
		port_probe(p);
		return;
	case OWN_PORT_SWEEP:
	case OWN_PORT_LEAVE:
	case OWN_PORT_BEGIN_AGAIN:
		if (act != OWN_PORT_SWEEP)
			p->ops->leaving(p->arg);
		if (act == OWN_PORT_SWEEP && p->due >= OWN_PORT_LEAVE)
			act = OWN_PORT_BEGIN_AGAIN;
		p->due = act;
		loop_timer_set(p->act, 0);
	}
}

static void action_cb(void *arg)
{
	struct port *p = arg;
	enum own_port_action act = p->due;

	p->due = OWN_PORT_STAY;
	if (act >= OWN_PORT_LEAVE) {
		stop_asking(p);
		p->ops->left(p->arg);
	}
	if (act != OWN_PORT_LEAVE && own_port_has_link(&p->core) && p->due < OWN_PORT_LEAVE)
		p->ops->entered(p->arg);
	show(p);
}

/* ---- Another port of this machine ------------------------------------------------------------ */

/*
 * A master whose port leaves its fabric goes on through the next of this machine's ports that leads
 * to the same: the neighbour says that it is the switch, and the port of it, where the inventory
 * has that adapter. Nothing is sent but these questions until then: requests of others are held,
 * and go by new paths. Where there is none, it leaves as if it had but the one.
 */

#define MOVE_MS	    100 /* for an answer of a neighbour */
#define MOVE_ROUNDS 4	/* of a port that is lost: a busy machine answers late */

static void move_next(struct port *p);

static void moved(struct port *p, const struct wire_node_info *neighbour)
{
	const struct io_port_info *info = mad_port_info(p->services.mad);
	char before[64];

	array_printf(before, "0x%016" PRIx64, p->move.from);
	array_printf(p->why, "port GUID %s lost its place in the fabric", before);
	p->since_us = loop_now_us(p->services.loop);
	p->move.instead = OWN_PORT_STAY;
	p->absent[0] = '\0';
	p->missed = p->hidden = 0;
	p->core = (struct own_port){ .state = OWN_PORT_IN_FABRIC,
				     .neighbour = neighbour->node_guid,
				     .neighbour_port = neighbour->local_port };
	event_log_add(p->services.events, LOG_WARNING, "port-moved", NULL,
		      json_pack("{ss so so}", "device", info->device, "port_guid",
				json_guid(info->port_guid), "before", json_string(before)),
		      "fabric: managed through %s port %u (port GUID 0x%016" PRIx64 ") now: %s",
		      info->device, info->port, info->port_guid, p->why);
	mad_hold(p->services.mad, false);
	port_check(p);
	show(p);
}

static void move_answered(void *arg, const struct mad_answer *answer)
{
	struct port *p = arg;
	struct wire_node_info info;

	p->probe = 0;
	if (answer->result == MAD_OK) {
		wire_node_info_decode(answer->data, &info);
		if (p->ops->moves(p->arg, &info)) {
			mad_set_is_sm(p->services.mad, true);
			moved(p, &info);
			return;
		}
	}
	move_next(p);
}

static void move_next(struct port *p)
{
	struct mad *mad = p->services.mad;
	unsigned rounds = p->move.instead == OWN_PORT_WAIT ? 1 : MOVE_ROUNDS;
	char err[256] = "";

	while (p->move.at < rounds * p->move.count) {
		guid_t guid = p->move.guids[p->move.at++ % p->move.count];
		struct mad_path path = { .hops = 1 };

		if (guid == p->move.from || mad_open_other(mad, guid, err, sizeof(err)))
			continue;
		path.ports[0] = mad_port_info(mad)->port;
		p->probe = mad_send(mad,
				    &(struct mad_request){ .path = &path,
							   .method = WIRE_GET,
							   .attr_id = WIRE_NODE_INFO,
							   .timeout_ms = MOVE_MS,
							   .urgent = true,
							   .doubtful = true,
							   .held_not = true },
				    move_answered, p);
		return;
	}

	enum own_port_action instead = p->move.instead;
	bool back =
		!mad_open_other(mad, p->move.from, err, sizeof(err)) && !mad_set_is_sm(mad, true);

	p->move.instead = OWN_PORT_STAY;
	mad_hold(mad, false);
	if (back && instead == OWN_PORT_WAIT)
		return;
	p->core.state = back ? OWN_PORT_NO_LINK : OWN_PORT_NO_DEVICE;
	if (!back)
		mad_close(mad);
	array_printf(p->absent, "%s", err);
	p->ops->leaving(p->arg);
	p->due = instead <= OWN_PORT_LEAVE ? OWN_PORT_LEAVE : instead;
	loop_timer_set(p->act, 0);
	show(p);
}

/* How many others have a link. */
static unsigned look(struct port *p)
{
	p->move.count = mad_ports(p->services.mad, p->move.guids);
	p->move.others = p->move.count;
	for (unsigned i = 0; i < p->move.count; i++)
		p->move.others -= p->move.guids[i] == mad_port_info(p->services.mad)->port_guid;
	return p->move.others;
}

/* True: the answers of others' neighbours are awaited. */
static bool move_begin(struct port *p, enum own_port_action instead)
{
	if (p->move.instead)
		return true;
	p->move.from = mad_port_info(p->services.mad)->port_guid;
	p->move.at = 0;
	if (!p->ops->moves(p->arg, NULL) || !look(p))
		return false;
	p->move.instead = instead;
	stop_asking(p);
	mad_hold(p->services.mad, true);
	move_next(p);
	return true;
}

void port_status(const struct port *p, json_t *doc)
{
	const struct io_port_info *info = mad_port_info(p->services.mad);
	json_object_set_new(doc, "own_port",
			    json_pack("{ss si so sf ss si}", "device", info->device, "port",
				      info->port, "guid", json_guid(info->port_guid), "since_s",
				      (loop_now_us(p->services.loop) - p->since_us) / 1e6, "why",
				      p->why, "others", p->move.others));
}

/* ---- The neighbour --------------------------------------------------------------------------- */

static void probed(void *arg, const struct mad_answer *answer)
{
	struct port *p = arg;
	bool heard = answer->result == MAD_OK;
	struct wire_node_info info;

	p->probe = 0;
	if (heard)
		wire_node_info_decode(answer->data, &info);

	enum own_port_event event = own_port_heard(&p->core, heard ? &info : NULL);

	p->doubted = event == OWN_PORT_STRANGE;
	if (!p->doubted)
		mad_is_sure(p->services.mad);
	take(p, event);
}

void port_probe(struct port *p)
{
	const struct mad_path path = { .hops = 1,
				       .ports = { mad_port_info(p->services.mad)->port } };

	if (p->probe || p->core.is_switch || !own_port_has_link(&p->core) ||
	    p->ops->disabled(p->arg))
		return;
	p->probe = mad_send(p->services.mad,
			    &(struct mad_request){ .path = &path,
						   .method = WIRE_GET,
						   .attr_id = WIRE_NODE_INFO,
						   .urgent = true,
						   .doubtful = true,
						   .held_not = true },
			    probed, p);
}

const char *port_swept(struct port *p, const struct inventory *inv, bool fresh)
{
	if (!inv->local)
		return "this manager's own port does not answer";

	const struct inv_port *port = &inv->local->ports[inv->local_port];
	bool met = port->peer && port->link_up && !port->peer->silent;

	take(p, own_port_swept(&p->core, met ? port->peer->guid : 0, port->peer_port, fresh));

	/* Why what a sweep found is of no use; NULL = it is. */
	const char *missing = port_missing(p);

	if (missing)
		return missing;
	if (p->due >= OWN_PORT_LEAVE)
		return "this manager's own port is now connected to another switch: sweeping the "
		       "fabric again";
	return p->core.state == OWN_PORT_IN_FABRIC
		       ? NULL
		       : "the switch behind this manager's own port does not answer";
}

/* ---- PortInfo -------------------------------------------------------------------------------- */

static void closed(struct port *p, enum own_port_event event, const char *why)
{
	array_printf(p->absent, "%s", why);
	stop_asking(p);
	mad_close(p->services.mad);
	take(p, event);
}

/* A device that hangs: others are asked at once, so that no time is lost where they answer. */
static void missed(struct port *p)
{
	p->missed++;
	if (p->missed >= (p->move.others ? 2 : 1) * MISSED_MAX)
		take(p, OWN_PORT_DOWN);
	else if (p->missed >= MISSED_MOVE && p->core.state == OWN_PORT_IN_FABRIC)
		move_begin(p, OWN_PORT_WAIT);
	else if (p->move.others)
		port_check(p);
}

static void was_read(void *arg, const struct mad_answer *answer)
{
	struct port *p = arg;
	struct wire_port_info info;

	p->read = 0;
	if (answer->result == MAD_SEND_FAILED) {
		closed(p, OWN_PORT_LOST, "the port does not send packets any more");
		return;
	}
	if (answer->result != MAD_OK) {
		mad_is_sure(p->services.mad);
		missed(p);
		return;
	}
	p->missed = 0;
	wire_port_info_decode(answer->data, &info);

	/*
	 * A driver that restarts forgets it, and the fabric then takes this port for one without
	 * a manager.
	 */
	p->hidden = info.capmask & WIRE_CAP_IS_SM ? 0 : p->hidden + 1;
	if (p->hidden >= HIDDEN_MAX) {
		p->hidden = 0;
		mad_set_is_sm(p->services.mad, false);
		mad_set_is_sm(p->services.mad, true);
	}

	p->ops->read(p->arg, &info);
	if (info.state >= TOPO_INIT && !p->had_link) {
		p->had_link = true;
		mad_choose(p->services.mad, true);
	}

	enum own_port_event event = own_port_read(&p->core, &info);

	take(p, event);
	p->doubted |= p->probe && event == OWN_PORT_CHANGED;
	if (!p->doubted)
		mad_is_sure(p->services.mad);
}

/* A device that is about to go may refuse it; that it does is one of the paths to learn of it. */
void port_check(struct port *p)
{
	const struct mad_path here = { 0 };

	if (p->read || p->move.instead || !mad_is_open(p->services.mad))
		return;
	p->read = mad_send(p->services.mad,
			   &(struct mad_request){ .path = &here,
						  .method = WIRE_GET,
						  .attr_id = WIRE_PORT_INFO,
						  .attr_mod = mad_port_info(p->services.mad)->port,
						  .timeout_ms = p->move.others ? MOVE_MS : 0,
						  .urgent = true,
						  .doubtful = true,
						  .local = true,
						  .held_not = true,
						  .once = p->move.others },
			   was_read, p);
}

/* Before a Set leaves. */
static void ask_first(void *arg)
{
	struct port *p = arg;

	port_check(p);
	if (!p->read)
		mad_is_sure(p->services.mad);
}

/* ---- The device ------------------------------------------------------------------------------ */

const char *port_failed(const struct port *p)
{
	return p->failed[0] ? p->failed : NULL;
}

static void open_port(struct port *p)
{
	struct mad *mad = p->services.mad;
	const struct io_port_info *info = mad_port_info(mad);
	char err[256] = "";
	int status = mad_open(mad, err, sizeof(err));

	if (!status) {
		/* IsSM is part of it: who can't have that has another manager beside him. */
		status = mad_set_is_sm(mad, true);
		if (status) {
			array_printf(err, "%s port %u: cannot set IsSM: %s", info->device,
				     info->port,
				     status == -EBUSY ? "another subnet manager runs on it"
						      : strerror(-status));
			mad_close(mad);
		}
	}
	if (status) {
		array_printf(p->absent, "%s", err);
		if (status == -EACCES || status == -EPERM) {
			array_printf(p->failed, "%s", err);
			loop_stop(p->services.loop);
		}
		take(p, status == -EBUSY ? OWN_PORT_REFUSED : OWN_PORT_LOST);
		return;
	}
	p->absent[0] = '\0';
	p->missed = p->hidden = 0;
	p->core.is_switch = !info->port;
	p->since_us = loop_now_us(p->services.loop);
	array_printf(p->why, "the first that was available");
	look(p);
	p->ops->opened(p->arg, info->port_guid);
	take(p, OWN_PORT_OPENED);
}

static void tick(void *arg)
{
	struct port *p = arg;

	if (++p->ticks % LOOK_EVERY == 0 && !p->move.instead)
		look(p);
	/* Where it can go on elsewhere it learns early that it has to. */
	loop_timer_set(p->tick,
		       p->core.state == OWN_PORT_NO_LINK || p->move.others ? LINK_US : TICK_US);
	if (p->move.instead)
		return;
	if (!mad_is_open(p->services.mad))
		open_port(p);
	else if (p->core.state == OWN_PORT_NO_LINK && !p->had_link &&
		 mad_choose(p->services.mad, false)) {
		/* Nobody had a link when this one was chosen. */
		closed(p, OWN_PORT_LOST, "another port has a link");
		open_port(p);
	} else
		port_check(p);
}

static void lost(void *arg, const char *why)
{
	struct port *p = arg;

	if (p->move.instead) /* the one that was tried */
		move_next(p);
	else
		closed(p, OWN_PORT_LOST, why);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct port *port_new(const struct port_services *services, const struct port_ops *ops, void *arg)
{
	struct port *p = mem_new(p);

	p->services = *services;
	p->ops = ops;
	p->arg = arg;
	p->tick = loop_timer_new(services->loop, tick, p);
	p->act = loop_timer_new(services->loop, action_cb, p);
	mad_on_lost(services->mad, lost, p);
	mad_ask_first(services->mad, ask_first, p);
	return p;
}

void port_start(struct port *p)
{
	loop_timer_set(p->tick, TICK_US);
	open_port(p);
}

void port_free(struct port *p)
{
	stop_asking(p);
	mad_on_lost(p->services.mad, NULL, NULL);
	mad_ask_first(p->services.mad, NULL, NULL);
	loop_timer_free(p->tick);
	loop_timer_free(p->act);
	free(p);
}
