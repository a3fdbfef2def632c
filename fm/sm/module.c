/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sm/election.h"
#include "fm/sm/module.h"
#include "fm/sm/module_own.h"
#include "fm/sm/port.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"

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

#define BEATS 8 /* in the time that a standby waits */
#define ASKED 2 /* ports in a round */

static uint64_t patience_us(const struct sm_room *r)
{
	const struct conf_sm *conf = &r->services.conf->sm;
	unsigned polls = conf->polling_retries > 1 ? (unsigned)conf->polling_retries - 1 : 1;

	return (uint64_t)conf->polling_timeout_ms * 1000 * polls;
}

static bool knows_standby(const struct sm_room *r)
{
	return any_of(i, 0, r->rounds.nothers, r->rounds.others[i]->info.state == SM_STANDBY);
}

/*
 * The requester may be in another fabric, as this port is then; or has asked through a new cable,
 * and may disable its end before that is seen here. The request has come through one where its way
 * is none of known links, some of which may be down: the port where it leaves these, or the first
 * one on it whose link is down, is read again, if its switch is published.
 */
static void asked(void *room, const struct wire_mad *mad, const uint8_t *raw)
{
	struct sm_room *r = room;
	struct rounds *q = &r->rounds;
	const struct inv_node *node = r->services.inventory->local, *door = NULL;
	const struct topo *topo = fabric_view(r->fabric).topo;
	uint8_t door_port = 0;

	sm_still_check(r);
	port_check(r->port);
	for (unsigned hop = mad->hop_count; node && hop > 1; hop--) {
		uint8_t num = wire_smp_return_path(raw)[hop];
		const struct inv_port *port = num <= node->nports ? &node->ports[num] : NULL;
		bool known = num && port && port->peer && port->peer_port == mad->path[hop];

		if (!door && !(num && port))
			return;
		if (!door && !(known && port->link_up)) {
			door = node;
			door_port = num;
		}
		node = known ? port->peer : NULL;
	}
	if (node || !door || !topo || topo_find(topo, door->guid) == TOPO_NONE ||
	    sm_now(r) - q->met_us < VERIFY_US)
		return;
	q->met_us = sm_now(r);
	q->met_by = door->guid;
	q->met_port = door_port;
	sweep_node(door)->ports_read = false; /* it may have cleared PortStateChange there */
	fabric_request_refresh(r->fabric, door->guid, "another manager asked");
}

static void nobody_cares(void *arg, const struct mad_answer *answer)
{
}

/* It knows as much as a manager whose port was away, and begins like one. */
static void doubt_mastership(struct sm_room *r, const char *reason)
{
	fabric_pause(r->fabric, true, reason);
	sm_take(r, ELECTION_STOOD_STILL, NULL);
	r->reports.taking.begun_us = 0;
	r->was_away = true;
}

void sm_still_check(void *room)
{
	struct sm_room *r = room;
	uint64_t us = loop_boot_us(r->services.loop) - r->still.beat_us, patience = patience_us(r);
	bool still = us > r->still.patience_us;

	/* A check that somebody else asks for does not move the next beat. */
	if (patience != r->still.patience_us || !loop_timer_armed(r->still.beat))
		loop_timer_set(r->still.beat, patience / BEATS);
	r->still.beat_us += us;
	r->still.patience_us = patience;
	if (still && r->core.state == SM_MASTER && knows_standby(r)) {
		event_log_add(r->services.events, LOG_WARNING, "stood-still", NULL, NULL,
			      "fabric: this manager stood still for %.1f s, and another may be "
			      "master now: "
			      "it asks first",
			      (double)us / 1e6);
		doubt_mastership(r, "stood still");
	}
}

/*
 * A master whose packets are lost, or the answers to them, is none: a standby takes over after as
 * many polls in vain. Any answer counts, late ones too. Where none has come for a beat although
 * something was asked, or a standby is known, the neighbour and some ports further on are asked;
 * these by LID, because a switch whose agent hangs may pass no directed route. Silence is counted
 * from what was asked first, and the question is repeated with each beat: a time in which nobody
 * was asked is none, and a silence that ends is noticed a beat later. A manager that knows of no
 * standby waits longer: what it asked may be one device that answers nothing.
 */
static void ask_anybody(struct sm_room *r)
{
	const struct lid_memory *lids = r->services.lids;
	uint64_t first = mad_stats(r->services.mad).sent; /* others each time */

	port_probe(r->port);
	for (unsigned i = 0; i < ASKED && i < lids->count; i++) {
		const struct lid_entry *entry =
			&lids->entries[((uint64_t)lids->count * i / ASKED + first) % lids->count];

		if (entry->port_guid != mad_port_info(r->services.mad)->port_guid)
			mad_send(r->services.mad,
				 &(struct mad_request){ .lid = entry->lid,
							.method = WIRE_GET,
							.attr_id = WIRE_NODE_INFO,
							.urgent = true,
							.once = true,
							.doubtful = true },
				 nobody_cares, NULL);
	}
}

static void beat(void *room)
{
	struct sm_room *r = room;
	struct still *still = &r->still;
	const struct mad_stats stats = mad_stats(r->services.mad);
	uint64_t answers = stats.answered + stats.dropped_late + stats.dropped_malformed,
		 sent = stats.sent + stats.sent_gmps;
	bool hurries = still->unheard || knows_standby(r);

	sm_still_check(r);
	if (answers != still->answers || (r->core.state != SM_MASTER && !still->unheard)) {
		still->answers = answers;
		still->sent = sent;
		still->silent = 0;
		if (still->deaf)
			fabric_request_sweep(r->fabric, "devices answer again");
		return;
	}
	if (!still->silent && sent == still->sent && !hurries)
		return;
	if (still->silent++ >= (hurries ? 1 : 2) * BEATS && r->core.state == SM_MASTER) {
		event_log_add(r->services.events, LOG_ERR, "unheard", NULL, NULL,
			      "fabric: no device has answered this manager for %.1f s, and another "
			      "may be master now: this one is no longer, and asks who is",
			      (double)(still->patience_us / BEATS * still->silent) / 1e6);
		still->unheard = still->deaf = true;
		doubt_mastership(r, "no device answers");
	}
	if (hurries || still->silent > BEATS)
		ask_anybody(r);
}

/*
 * The door of the room that knows who is master: hooks of the pipe, control packets of other
 * managers, and the own port, without which this manager is nobody's master. The room goes on over
 * all changes of role, for it brings them about.
 */

/* ---- Control packets ------------------------------------------------------------------------- */

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
					.now_us = sm_now(r) };
	enum election_event event;
	enum control_verdict verdict = control_judge(&r->core, &packet, &event, why);

	if (verdict == CONTROL_OBEYED) {
		struct other from = known ? *known : (struct other){ .guid = sender->guid };

		from.info = *sender;
		control_obeyed(&r->core, event, sm_now(r));
		sm_report_control(r, event, &from);
		if (event == ELECTION_HANDOVER) {
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
		sm_take(r, event, event == ELECTION_GIVEN ? &r->peer : &from);
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

/*
 * Another manager that writes to the fabric of this master writes to this port as well, and no trap
 * tells of it: the device holds another LID or SM LID than the one that this manager has given it
 * and last read. All ports are read at once; module_lids.c goes on with what is found.
 */
static void port_read(void *arg, const struct wire_port_info *info)
{
	struct sm_room *r = arg;
	const struct inventory *inv = r->services.inventory;
	const struct inv_port *port = inv->local ? &inv->local->ports[inv->local_port] : NULL;
	uint16_t own = fabric_view(r->fabric).sm_lid;

	if (port && own && fabric_is_master(r->fabric) && !fabric_sweep_running(r->fabric) &&
	    port->lid == own && port->sm_lid == own && (info->lid != own || info->sm_lid != own))
		fabric_request_sweep(r->fabric, "another manager has written to the own port");
}

static bool port_moves(void *arg, const struct wire_node_info *neighbour)
{
	struct sm_room *r = arg;
	const struct inventory *inv = r->services.inventory;
	guid_t guid = mad_port_info(r->services.mad)->port_guid;
	struct inv_node *sw = NULL;

	if (!fabric_is_master(r->fabric) || r->core.state != SM_MASTER ||
	    r->core.waits == ELECTION_HANDING || !inv->local || !fabric_view(r->fabric).topo)
		return false;
	if (!neighbour)
		return true;

	const struct inv_port *seat =
		inventory_port(inv, neighbour->node_guid, neighbour->local_port, &sw);

	if (!seat || !inv_is_switch(sw) || !seat->peer || inv_is_switch(seat->peer) ||
	    seat->peer->port_guids[seat->peer_port] != guid)
		return false;
	sm_know_lid(r, fabric_view(r->fabric).sm_lid);
	lids_moved(r->fabric, fabric_view(r->fabric).sm_lid);
	r->core.guid = guid;
	fabric_move(r->fabric, seat->peer, seat->peer_port);
	return true;
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

	if (step == FABRIC_START)
		port_start(r->port);
}

static const char *swept(void *room, const struct fabric_swept *swept)
{
	struct sm_room *r = room;
	const struct sweep_result *result = swept->result;
	bool master = fabric_is_master(r->fabric);

	if (result) {
		/* What a master found waits for the answers of other managers that it met. */
		const char *useless = port_swept(r->port, r->services.inventory, !master);

		if (useless)
			return useless;
		/* What a sweep without all answers has not met may be there, and master. */
		r->still.deaf = r->still.unheard && (r->still.deaf || port_seen(r->port)->silent);
		if (r->still.deaf || (r->still.unheard && result->rest))
			return "no device answers this manager";
		if (master)
			sm_ask_holds(r, result->fell, result->another_sm);
		else
			sm_find_master(r);
	} else if (swept->step == FABRIC_SWEEP_BEGINS) {
		r->still.deaf = r->still.unheard && r->still.silent;
		port_check(r->port);
		if (swept->light)
			port_probe(r->port);
	} else if (swept->step == FABRIC_SWEEP_ENDED)
		sm_ask(r);
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
	sm_set_inventory(r->sm, r->services.inventory);
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
	guid_t found = 0;

	if (!what_find(&scope, text, WHAT_PLACE, &what, err, err_size))
		return 0;

	unsigned count = what_nodes(view.topo, &what, &nodes);

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
			    : r->core.waits == ELECTION_HANDING || r->wish.open
				    ? "a handover is in progress"
			    : r->rounds.nothers ? NULL
						: "no other subnet manager is known";
	char why[WHAT_ERROR_SIZE];
	struct wish wish = { .open = true, .since_us = sm_now(r), .fn = fn, .arg = arg };

	if (!error && manager) {
		wish.whom = find_manager(r, manager, why, sizeof(why));
		error = wish.whom ? NULL : why;
	}
	if (error)
		fn(arg, NULL, error);
	else
		sm_wish(r, &wish);
}

void sm_take_over(struct fabric *fabric, const char *manager, waiter_fn *fn, void *arg)
{
	struct sm_room *r = fabric_room(fabric, &sm_module);
	const struct other *master = &r->polls.master;
	bool named = manager && (!strcmp(manager, master->name) ||
				 strtoull(manager, NULL, 16) == master->guid);
	const char *refusal =
		r->core.state == SM_MASTER ? "this subnet manager is the master" : sm_refusal(r);
	char why[512] = "";

	if (r->core.state != SM_STANDBY || r->wish.open)
		array_printf(why, "%s", refusal ? refusal : "who is master is being found out");
	else if (!r->idle.is || !named)
		array_printf(why, "%s, %s", refusal,
			     r->idle.is ? "whose name or port GUID confirms"
					: "not idle for 10 s: use fmctl handover there");
	if (*why) {
		fn(arg, NULL, why);
		return;
	}
	r->wish = (struct wish){
		.open = true, .taking = true, .since_us = sm_now(r), .fn = fn, .arg = arg
	};
	sm_take_from_idle(r, "an operator has");
}

const char *sm_refuses(const struct fabric *fabric)
{
	return sm_refusal(fabric_room(fabric, &sm_module));
}

void sm_allow(struct fabric *fabric, guid_t port_guid, bool on)
{
	struct sm_room *r = fabric_room(fabric, &sm_module);
	struct unallowed *s = &r->unallowed;

	if (on)
		s->admitted[s->nadmitted++ % UNALLOWED_MAX] = port_guid;
	for (unsigned i = 0; !on && i < UNALLOWED_MAX; i++)
		if (s->admitted[i] == port_guid)
			s->admitted[i] = 0;
	if (!on)
		sm_ask(r);
}

void sm_meet(struct fabric *fabric, guid_t port_guid, uint16_t lid, const struct mad_path *path)
{
	struct sm_room *r = fabric_room(fabric, &sm_module);

	r->rounds.met = (struct other){
		.room = r, .guid = port_guid, .lid = lid, .path = *path, .name = "another manager"
	};
	sm_ask_met(r);
}

guid_t sm_met_by(struct fabric *fabric, uint8_t *port)
{
	struct rounds *q = &((struct sm_room *)fabric_room(fabric, &sm_module))->rounds;
	guid_t node = q->met_by;

	q->met_by = 0;
	*port = q->met_port;
	return node;
}

uint64_t sm_met_us(const struct fabric *fabric)
{
	return ((struct sm_room *)fabric_room(fabric, &sm_module))->rounds.met_us;
}

bool sm_is_outranked(const struct fabric *fabric, const struct wire_sm_info *by)
{
	const struct sm_room *r = fabric_room(fabric, &sm_module);

	return election_outranks_us(&r->core, by);
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

	return port_failed(r->port);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static struct sm_conf manager_conf(const struct fabric_services *services)
{
	const struct conf_sm *conf = &services->conf->sm;

	return (struct sm_conf){ .sm_key = conf->key,
				 .inventory = services->inventory,
				 .priority = conf->priority };
}

static void configure(void *room)
{
	struct sm_room *r = room;
	const struct sm_conf conf = manager_conf(&r->services);

	sm_still_check(r);
	sm_configure(r->sm, &conf);
	election_configure(&r->core, conf.priority, r->services.conf->sm.master_priority,
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
		return port_key_first(inv, NULL, 0);
	return port_key_first(inv, node, view.topo->ports[port].num);
}

static void trapped(void *arg, const struct wire_notice *notice, uint16_t from_lid, unsigned times,
		    uint64_t came_us)
{
	const struct sm_room *r = arg;

	fabric_trap_received(r->fabric, notice, from_lid, times, came_us);
}

static void *init(struct fabric *fabric)
{
	static const struct port_ops ops = { .opened = port_opened,
					     .leaving = port_leaving,
					     .left = sm_leave,
					     .entered = sm_enter,
					     .changed = sm_report_role,
					     .read = port_read,
					     .moves = port_moves,
					     .disabled = port_disabled };
	struct sm_room *r = mem_new(r);
	struct fabric_services *s = &r->services;

	r->fabric = fabric;
	*s = fabric_services(fabric);

	struct sm_conf conf = manager_conf(s);

	r->core = (struct election){ .state = SM_DISCOVERING,
				     .guid = mad_port_info(s->mad)->port_guid,
				     .priority = conf.priority,
				     .master_priority = s->conf->sm.master_priority,
				     .sm_key = conf.sm_key,
				     .old_sm_key = s->conf->sm.old_key };
	r->sm = sm_new(s->loop, s->mad, &conf, trapped, r);
	sm_follow(r->sm, &(struct sm_ops){ .control = control, .asked = asked, .key_of = key_of });
	r->port = port_new(
		&(struct port_services){ s->loop, s->mad, r->sm, s->alerts, s->events, s->conf },
		&ops, r);
	sm_ask_init(r);
	sm_role_init(r);

	/* The beat goes on from then, in all roles, until sm_still_fini(). */
	r->still.beat = loop_timer_new(r->services.loop, beat, r);
	sm_still_check(r);

	sm_report_init(r);
	return r;
}

static void fini(void *room)
{
	struct sm_room *r = room;

	port_free(r->port);
	loop_timer_free(r->still.beat);
	sm_role_fini(r);
	sm_ask_fini(r);
	loop_timer_free(r->reports.settled);
	free(r->reports.reported);
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
