/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/sm/election.h"
#include "fm/sm/module.h"
#include "fm/sm/module_own.h"
#include "fm/sm/port.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"
#include "topology/snapshot/topo.h"
#include "topology/what/what.h"

/* ---- The own port ---------------------------------------------------------------------------- */

static void tick(void *arg);

/*
 * The own port's state machine as a table: state x event -> next state and act.
 *
 * A manager whose port is not in the fabric is nobody's master: what it would find is its own HCA.
 * One whose link was down, however briefly, may be plugged in elsewhere: the paths it knows may
 * lead to other switches, so it begins anew, by Gets, from DISCOVERING. The link counts as bounced
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

	if (p->is_switch)
		return OWN_PORT_UP;
	p->info = *info;
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
 *                    is not on the wire
 *   before a sweep   the same: the answer is here before that of any switch, so that nothing is
 *                    sent by paths that are no more
 *   with a poll      the neighbour's NodeInfo: is it still the one that was met?
 *   after a sweep    the neighbour that it met is kept in mind
 *
 * A manager whose port has left its fabric begins anew, as by a restart, and waits in the process
 * for as long as it takes. What the kernel forbids this process is no matter of waiting: it ends,
 * and the service manager starts it with a new list of devices.
 */

#define TICK_US	   1000000
#define MISSED_MAX 5 /* reads without an answer until the port counts as down */
#define HIDDEN_MAX 2 /* reads that show no IsSM until it is set anew */

struct port {
	struct port_services services;
	const struct port_ops *ops;
	void *arg;
	struct own_port core;
	struct loop_timer *tick, *act;
	enum own_port_action due; /* by `act` */
	mad_token read, probe;
	unsigned missed, hidden;
	bool had_link;
	char absent[256];  /* why there is no device */
	char refusal[400]; /* what nothing can be managed for */
	char failed[256];  /* why this process can't go on */
};

/* ---- What it is in --------------------------------------------------------------------------- */

static const char *explain(struct port *p, const struct io_port_info *info)
{
	if (p->core.state <= OWN_PORT_BUSY)
		snprintf(p->refusal, sizeof(p->refusal),
			 "%s: fmd manages nothing until the port is available", p->absent);
	else
		snprintf(p->refusal, sizeof(p->refusal),
			 "%s port %u (port GUID 0x%016" PRIx64
			 ") %s: fmd manages nothing until it is up",
			 info->device, info->port, info->port_guid,
			 p->missed < MISSED_MAX ? "has no link"
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

enum own_port_state port_state(const struct port *p)
{
	return p->core.state;
}

static void alert_if(struct port *p, bool on, const char *what, const char *text)
{
	if (on)
		alert_raise(p->services.alerts, what, NULL, "%s", text);
	else
		alert_end(p->services.alerts, what, NULL);
}

static void show(struct port *p)
{
	const struct own_port *core = &p->core;
	const struct io_port_info *info = mad_port_info(p->services.mad);
	const char *missing = port_missing(p);
	char silent[256];

	snprintf(silent, sizeof(silent),
		 "%s port %u has a link, but the switch behind it does not answer%s", info->device,
		 info->port,
		 p->services.conf->sm.old_mkey || p->services.conf->sm.old_mkey_secret.set
			 ? ""
			 : " (it may hold another M_Key: see old_m_key)");
	for (enum own_port_state state = OWN_PORT_NO_DEVICE; state <= OWN_PORT_NO_LINK; state++)
		alert_if(p, missing && core->state == state, own_port_state_name(state), missing);
	alert_if(p, own_port_has_link(core) && core->silent, own_port_state_name(OWN_PORT_SILENT),
		 silent);
	p->ops->changed(p->arg);
}

/* ---- Steps ----------------------------------------------------------------------------------- */

/* What was asked of the port's former life. */
static void stop_asking(struct port *p)
{
	mad_cancel(p->services.mad, p->read);
	mad_cancel(p->services.mad, p->probe);
	p->read = p->probe = 0;
}

static void port_check(struct port *p);
static void port_probe(struct port *p);

static void take(struct port *p, enum own_port_event event)
{
	enum own_port_action act = own_port_take(&p->core, event);

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

/* ---- The neighbour --------------------------------------------------------------------------- */

static void probed(void *arg, const struct mad_answer *answer)
{
	struct port *p = arg;
	bool heard = answer->result == MAD_OK;
	struct wire_node_info info;

	p->probe = 0;
	if (heard)
		wire_node_info_decode(answer->data, &info);
	take(p, own_port_heard(&p->core, heard ? &info : NULL));
}

/* Asks the neighbour who it is, by one SMP; not while one is on its way. */
static void port_probe(struct port *p)
{
	const struct mad_path path = { .hops = 1,
				       .ports = { (uint8_t)mad_port_info(p->services.mad)->port } };

	if (p->probe || p->core.is_switch || !own_port_has_link(&p->core) ||
	    p->ops->disabled(p->arg))
		return;
	p->probe = mad_send(p->services.mad,
			    &(struct mad_request){ .path = &path,
						   .method = WIRE_GET,
						   .attr_id = WIRE_NODE_INFO,
						   .device = p->core.neighbour,
						   .doubtful = true },
			    probed, p);
}

/*
 * A sweep has ended. fresh: nothing was known before it. NULL: the port is where it was. Else what
 * was found is of no use, and why: the port is in no fabric, or in another place. Until the next
 * callback.
 */
static const char *port_swept(struct port *p, const struct inventory *inv, bool fresh)
{
	const struct inv_port *port;
	bool met;

	if (!inv->local)
		return "this manager's own port does not answer";
	port = &inv->local->ports[inv->local_port];
	met = port->peer && port->link_up && !port->peer->silent;
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
	snprintf(p->absent, sizeof(p->absent), "%s", why);
	stop_asking(p);
	mad_close(p->services.mad);
	take(p, event);
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
	p->missed = answer->result == MAD_OK ? 0 : p->missed + 1;
	if (p->missed >= MISSED_MAX)
		take(p, OWN_PORT_DOWN);
	if (answer->result != MAD_OK)
		return;
	wire_port_info_decode(answer->data, &info);

	/*
	 * A driver that begins anew forgets it, and the fabric then takes this port for one without
	 * a manager.
	 */
	bool shown = info.capmask & WIRE_CAP_IS_SM;

	p->hidden = shown ? 0 : p->hidden + 1;

	if (!(p->hidden < HIDDEN_MAX)) {
		p->hidden = 0;
		mad_set_is_sm(p->services.mad, false);
		mad_set_is_sm(p->services.mad, true);
	}

	if (info.state >= TOPO_INIT && !p->had_link) {
		p->had_link = true;
		mad_choose(p->services.mad, true);
	}
	take(p, own_port_read(&p->core, &info));
}

/*
 * Reads its PortInfo, by a local MAD: before a sweep's first request, so that this answer is the
 * first. A device that is about to go may refuse it; that it does is one of the ways to learn it.
 */
static void port_check(struct port *p)
{
	const struct mad_path here = { 0 };

	if (p->read || !mad_is_open(p->services.mad))
		return;
	p->read = mad_send(p->services.mad,
			   &(struct mad_request){ .path = &here,
						  .method = WIRE_GET,
						  .attr_id = WIRE_PORT_INFO,
						  .attr_mod = mad_port_info(p->services.mad)->port,
						  .urgent = true,
						  .doubtful = true,
						  .local = true },
			   was_read, p);
}

/* ---- The device ------------------------------------------------------------------------------ */

static void open_port(struct port *p)
{
	char err[256] = "";
	int status = mad_open(p->services.mad, err, sizeof(err));

	if (!status) {
		/* IsSM is part of it: who can't have that has another manager beside him. */
		const struct io_port_info *info = mad_port_info(p->services.mad);

		status = mad_set_is_sm(p->services.mad, true);
		if (status) {
			snprintf(err, sizeof(err), "%s port %u: cannot set IsSM: %s", info->device,
				 info->port,
				 status == -EBUSY ? "another subnet manager runs on it"
						  : strerror(-status));
			mad_close(p->services.mad);
		}
	}
	if (status) {
		snprintf(p->absent, sizeof(p->absent), "%s", err);
		if (status == -EACCES || status == -EPERM) {
			snprintf(p->failed, sizeof(p->failed), "%s", err);
			loop_stop(p->services.loop);
		}
		take(p, status == -EBUSY ? OWN_PORT_REFUSED : OWN_PORT_LOST);

		return;
	}
	p->absent[0] = '\0';
	p->missed = p->hidden = 0;
	p->core.is_switch = !mad_port_info(p->services.mad)->port;
	p->ops->opened(p->arg, mad_port_info(p->services.mad)->port_guid);
	take(p, OWN_PORT_OPENED);
}

static void tick(void *arg)
{
	struct port *p = arg;

	loop_timer_set(p->tick, TICK_US);
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
	closed(arg, OWN_PORT_LOST, why);
}

/* ---- Module ---------------------------------------------------------------------------------- */

/*
 * A process that was stopped and goes on does not notice. As master it would meet the standby that
 * took over meanwhile as two masters meet, and where it has the higher rank be handed the fabric
 * back: then what it knew when it was stopped goes before all that hosts and operators have asked
 * of the other since. So it begins as a manager does that returns: it stands by where another is
 * master, and copies from that one.
 *
 * How long a standby waits is its own sminfo_polling_timeout times polling_retry_number; this
 * manager's are taken for them, less one poll, since the one under way had begun earlier.
 */

#define BEATS 4 /* in the time that a standby waits */

static uint64_t patience_us(const struct sm_room *r)
{
	const struct conf_sm *conf = &r->services.conf->sm;
	unsigned polls = conf->polling_retries > 1 ? (unsigned)conf->polling_retries - 1 : 1;

	return (uint64_t)conf->polling_timeout_ms * 1000 * polls;
}

static bool knows_standby(const struct sm_room *r)
{
	for (unsigned i = 0; i < r->rounds.nothers; i++)
		if (r->rounds.others[i]->info.state == SM_STANDBY)
			return true;
	return false;
}

static void set_beat(struct sm_room *r)
{
	r->still.beat_us = loop_boot_us(r->services.loop);
	r->still.patience_us = patience_us(r);
	loop_timer_set(r->still.beat, r->still.patience_us / BEATS);
}

void sm_still_check(void *room)
{
	struct sm_room *r = room;
	uint64_t us = loop_boot_us(r->services.loop) - r->still.beat_us;
	bool still = us > r->still.patience_us;

	set_beat(r);
	if (still && r->core.state == SM_MASTER && knows_standby(r)) {
		event_log_add(r->services.events, LOG_WARNING, "stood-still", NULL, NULL,
			      "fabric: this manager stood still for %.1f s, and another may be "
			      "master now: "
			      "it asks first",
			      (double)us / 1e6);
		fabric_pause(r->fabric, true, "stood still");
		sm_take(r, ELECTION_STOOD_STILL, NULL);
		r->reports.taking.begun_us = 0;
		r->was_away = true;
	}
}

/*
 * The door of the room that knows who is master: hooks of the pipe, control packets of other
 * managers, and the own port, without which this manager is nobody's master. The room goes on over
 * all changes of role, for it brings them about.
 */

/* ---- Control packets ------------------------------------------------------------------------- */

static void nobody_cares(void *arg, const struct mad_answer *answer)
{
}

static enum control_verdict control(void *arg, uint32_t number, const struct wire_sm_info *sender,
				    const char **why)
{
	struct sm_room *r = arg;
	const struct other *known = r->polls.master.guid == sender->guid
					    ? &r->polls.master
					    : sm_find_other(r, sender->guid);
	const struct control packet = { .number = number,
					.sender = sender,
					.known = known && known->answered ? &known->info : NULL,
					.now_us = loop_now_us(r->services.loop) };
	enum election_event event;
	enum control_verdict verdict = control_judge(&r->core, &packet, &event, why);

	if (verdict == CONTROL_OBEYED) {
		enum election_event obey_event = event;
		struct other from = known ? *known : (struct other){ .guid = sender->guid };

		from.info = *sender;
		control_obeyed(&r->core, obey_event, loop_now_us(r->services.loop));
		sm_report_control(r, obey_event, &from);
		if (obey_event == ELECTION_HANDOVER) {
			r->peer = r->polls.master = from;
			r->stood_by = true;
			if (known) {
				/* Its sender takes the answer to HANDOVER for that, too. */
				struct wire_sm_info info = sm_info(r->sm);
				uint8_t data[WIRE_SMP_DATA];

				info.state = SM_STANDBY;
				wire_sm_info_encode(&info, data);
				mad_send(r->services.mad,
					 &(struct mad_request){ .path = &from.path,
								.method = WIRE_SET,
								.attr_id = WIRE_SM_INFO,
								.attr_mod = ELECTION_ACKNOWLEDGE -
									    ELECTION_CONTROL,
								.data = data,
								.doubtful = true },
					 nobody_cares, NULL);
			}
		}
		sm_take(r, obey_event, obey_event == ELECTION_GIVEN ? &r->peer : &from);
	} else if (verdict == CONTROL_DOUBTED)
		sm_verify(r);
	return verdict;
}

/* ---- The own port ---------------------------------------------------------------------------- */

static void port_opened(void *arg, guid_t port_guid)
{
	struct sm_room *r = arg;

	r->core.guid = port_guid;
}

static void port_leaving(void *arg)
{
	struct sm_room *r = arg;

	fabric_pause(r->fabric, true, "the own port leaves its fabric");
}

static bool port_disabled(const void *arg)
{
	const struct sm_room *r = arg;

	return r->core.state == SM_NOT_ACTIVE;
}

/* ---- Hooks ----------------------------------------------------------------------------------- */

static void load(void *room, enum fabric_load_step step)
{
	struct sm_room *r = room;

	if (step == FABRIC_START) {
		/*
		 * Opens the device, and tries again each second. It may be absent for as long as it
		 * likes.
		 */
		struct port *p = r->port;

		loop_timer_set(p->tick, TICK_US);
		open_port(p);
	}
}

static const char *swept(void *room, const struct fabric_swept *swept)
{
	if (swept->result) {
		/* What a master found waits for the answers of other managers that it met. */
		struct sm_room *r = room;
		const struct sweep_result *result = swept->result;
		bool master = fabric_is_master(r->fabric);
		const char *useless = port_swept(r->port, r->services.inventory, !master);

		if (useless)
			return useless;
		if (master)
			sm_ask_holds(r, result->fell, result->another_sm);
		else
			sm_find_master(r);
		return NULL;
	}
	if (swept->step == FABRIC_SWEEP_BEGINS) {
		struct sm_room *r = room;
		bool light = swept->light;

		port_check(r->port);
		if (light)
			port_probe(r->port);
	} else if (swept->step == FABRIC_SWEEP_ENDED)
		sm_ask(room);
	return NULL;
}

static const char *admit(void *room, const struct topo *next)
{
	const struct sm_room *r = room;

	return !next && r->rounds.holds ? "other managers are asked" : NULL;
}

static void role(void *room, enum fabric_role now, enum fabric_role_step step)
{
	struct sm_room *r = room;

	if (step != FABRIC_ROLE_IN_FORCE)
		return;
	r->services = fabric_services(r->fabric);
	sm_role_changed(r, now);
}

static void published(void *room, enum fabric_update_step step, const struct topo *before)
{
	if (step == FABRIC_UNCHANGED) /* no update follows, behind which others are asked */
		sm_ask(room);
}

static void settled(void *room, enum fabric_settle_step step)
{
	if (step != FABRIC_SETTLED)
		return;
	sm_report_taken(room);
	sm_ask(room);
}

/* ---- For operators --------------------------------------------------------------------------- */

static bool is_among(const struct topo *t, const uint32_t *nodes, unsigned count, guid_t port_guid)
{
	for (unsigned i = 0; i < count; i++) {
		const struct topo_node *node = &t->nodes[nodes[i]];

		for (unsigned p = 0; p <= node->nports; p++)
			if (t->ports[node->port0 + p].guid == port_guid)
				return true;
	}
	return false;
}

/* What an operator wrote for another manager: its port's GUID; 0 with the reason in err. */
static guid_t find_manager(const struct sm_room *r, const char *text, char *err, size_t err_size)
{
	struct fabric_view view = fabric_view(r->fabric);
	struct what_scope scope = fabric_view_scope(&view);
	const uint32_t *nodes;
	struct what what;
	unsigned count;
	guid_t found = 0;

	if (!what_find(&scope, text, WHAT_PLACE, &what, err, err_size))
		return 0;
	count = what_nodes(view.topo, &what, &nodes);
	snprintf(err, err_size, "no other subnet manager is known at %s: see fmctl status", text);
	for (unsigned i = 0; i < r->rounds.nothers; i++) {
		if (!is_among(view.topo, nodes, count, r->rounds.others[i]->guid))
			continue;
		if (found) {
			snprintf(err, err_size, "several subnet managers are at %s", text);
			return 0;
		}
		found = r->rounds.others[i]->guid;
	}
	return found;
}

void sm_hand_over(struct fabric *fabric, const char *manager, waiter_fn *fn, void *arg)
{
	struct sm_room *r = fabric_room(fabric, &sm_module);
	const char *error = !fabric_is_master(r->fabric) || r->core.state != SM_MASTER
				    ? "this subnet manager is not the master"
			    : r->core.handing || r->wish.open ? "a handover is in progress"
			    : r->rounds.nothers		      ? NULL
							      : "no other subnet manager is known";
	char why[WHAT_ERROR_SIZE];
	struct wish wish = {
		.open = true, .since_us = loop_now_us(r->services.loop), .fn = fn, .arg = arg
	};

	if (!error && manager) {
		wish.whom = find_manager(r, manager, why, sizeof(why));
		error = wish.whom ? NULL : why;
	}
	if (error)
		fn(arg, NULL, error);
	else
		sm_wish(r, &wish);
}

void sm_client_gone(struct fabric *fabric, const void *arg)
{
	struct sm_room *r = fabric_room(fabric, &sm_module);

	if (r->wish.arg == arg)
		r->wish.fn = NULL;
}

const char *sm_refuses(const struct fabric *fabric)
{
	return sm_refusal(fabric_room(fabric, &sm_module));
}

void sm_when_parted(struct fabric *fabric, loop_fn *fn, void *arg)
{
	struct sm_room *r = fabric_room(fabric, &sm_module);

	if (!r->parting.on) {
		fn(arg);
		return;
	}
	r->parting.fn = fn;
	r->parting.arg = arg;
}

const char *sm_failed(const struct fabric *fabric)
{
	const struct sm_room *r = fabric_room(fabric, &sm_module);

	/*
	 * Why this process can't go on, though another may; the loop was stopped for it. NULL = it
	 * can.
	 */
	return r->port->failed[0] ? r->port->failed : NULL;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static struct sm_conf manager_conf(const struct fabric_services *services)
{
	const struct conf_sm *conf = &services->conf->sm;

	return (struct sm_conf){ .sm_key = conf->key,
				 .keys = services->inventory->keys,
				 .priority = (uint8_t)conf->priority };
}

static void configure(void *room)
{
	struct sm_room *r = room;
	const struct sm_conf conf = manager_conf(&r->services);

	sm_still_check(r);
	sm_configure(r->sm, &conf);
	election_configure(&r->core, conf.priority, (uint8_t)r->services.conf->sm.master_priority,
			   conf.sm_key, r->services.conf->sm.old_key);
	sm_show_state(r);
	sm_allowed_review(r);
	if (r->keys.foreign || r->foreign_prefix)
		fabric_request_sweep(r->fabric, "M_Keys or subnet prefix configured");
}

/* What that port holds; it checks TrapRepress as a Set. */
static uint64_t key_of(void *arg, uint16_t lid)
{
	const struct sm_room *r = arg;
	const struct fabric_view view = fabric_view(r->fabric);
	const struct inventory *inv = r->services.inventory;
	uint32_t port =
		view.lids && lid <= view.lids->top ? view.lids->port_of_lid[lid] : TOPO_NONE;
	const struct inv_node *node =
		port == TOPO_NONE
			? NULL
			: inventory_find(inv, view.topo->nodes[view.topo->ports[port].node].guid);

	if (!node || view.topo->ports[port].num > node->nports)
		return m_keys_wanted(inv->keys, 0);
	return inventory_key(inv, node, view.topo->ports[port].num);
}

static void trapped(void *arg, const struct wire_notice *notice, uint16_t from_lid, unsigned times)
{
	const struct sm_room *r = arg;

	fabric_trap_received(r->fabric, notice, from_lid, times);
}

static void *init(struct fabric *fabric)
{
	static const struct port_ops ops = { .opened = port_opened,
					     .leaving = port_leaving,
					     .left = sm_leave,
					     .entered = sm_enter,
					     .changed = sm_report_role,
					     .disabled = port_disabled };
	struct sm_room *r = mem_alloc(1, sizeof(*r));
	struct fabric_services *s = &r->services;
	struct sm_conf conf;

	r->fabric = fabric;
	*s = fabric_services(fabric);
	conf = manager_conf(s);
	r->core = (struct election){ .state = SM_DISCOVERING,
				     .guid = mad_port_info(s->mad)->port_guid,
				     .priority = conf.priority,
				     .master_priority = (uint8_t)s->conf->sm.master_priority,
				     .sm_key = conf.sm_key,
				     .old_sm_key = s->conf->sm.old_key };
	r->sm = sm_new(s->loop, s->mad, &conf, trapped, r);
	sm_follow(r->sm, &(struct sm_ops){
				 .control = control, .asked = sm_still_check, .key_of = key_of });

	/* The caller's, to port_free(). */
	const struct port_services *services =
		&(struct port_services){ s->loop, s->mad, r->sm, s->alerts, s->conf };
	void *arg = r;
	struct port *p = mem_alloc(1, sizeof(*p));

	p->services = *services;
	p->ops = &ops;
	p->arg = arg;
	p->tick = loop_timer_new(services->loop, tick, p);
	p->act = loop_timer_new(services->loop, action_cb, p);
	mad_on_lost(services->mad, lost, p);
	r->port = p;

	sm_ask_init(r);
	sm_role_init(r);

	/* The beat goes on from then, in all roles, until sm_still_fini(). */
	r->still.beat = loop_timer_new(r->services.loop, sm_still_check, r);
	set_beat(r);

	sm_report_init(r);
	return r;
}

static void fini(void *room)
{
	struct sm_room *r = room;

	struct port *p = r->port;

	stop_asking(p);
	mad_on_lost(p->services.mad, NULL, NULL);
	loop_timer_free(p->tick);
	loop_timer_free(p->act);
	free(p);

	loop_timer_free(r->still.beat);
	sm_role_fini(r);
	sm_ask_fini(r);
	sm_report_fini(r);
	sm_free(r->sm);
	free(r);
}

const struct fabric_module sm_module = { .name = "sm",
					 .lasts = true,
					 .init = init,
					 .fini = fini,
					 .configure = configure,
					 .role = role,
					 .swept = swept,
					 .annotate = sm_allowed_mark,
					 .settled = settled,
					 .status = sm_status,
					 .load = load,
					 .admit = admit,
					 .published = published };
