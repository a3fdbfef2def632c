/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sm/module.h"
#include <stdio.h>
#include <stdlib.h>
#include "fm/fabric/progress.h"
#include "fm/fabric/request.h"
#include "fm/fabric/view.h"
#include "fm/sm/control_packet.h"
#include "fm/sm/module_own.h"
#include "fm/sweep/sweep.h"
#include "topology/base/mem.h"
#include "topology/what/what.h"

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

static void ask_anew(struct sm_room *r, uint64_t us)
{
	event_log_add(r->services.events, LOG_WARNING, "stood-still", NULL, NULL,
		      "fabric: this manager stood still for %.1f s, and another may be master now: "
		      "it asks first",
		      (double)us / 1e6);
	fabric_pause(r->fabric, true, "stood still");
	sm_take(r, ELECTION_STOOD_STILL, NULL);
	r->reports.taking.begun_us = 0;
	r->was_away = true;
}

static void set_beat(struct sm_room *r)
{
	r->still.beat_us = loop_boot_us(r->services.loop);
	r->still.patience_us = patience_us(r);
	loop_timer_set(r->still.beat, r->still.patience_us / BEATS);
}

void sm_still_check(struct sm_room *r)
{
	uint64_t us = loop_boot_us(r->services.loop) - r->still.beat_us;
	bool still = us > r->still.patience_us;

	set_beat(r);
	if (still && r->core.state == SM_MASTER && knows_standby(r))
		ask_anew(r, us);
}

static void beat(void *arg)
{
	sm_still_check(arg);
}

/* The beat goes on from then, in all roles, until sm_still_fini(). */
static void sm_still_init(struct sm_room *r)
{
	r->still.beat = loop_timer_new(r->services.loop, beat, r);
	set_beat(r);
}

static void sm_still_fini(struct sm_room *r)
{
	loop_timer_free(r->still.beat);
}

/*
 * The door of the room that knows who is master: hooks of the pipe, control packets of other
 * managers, and the own port, without which this manager is nobody's master. The room goes on over
 * all changes of role, for it brings them about.
 */

/* ---- Control packets ------------------------------------------------------------------------- */

static const struct other *find_other(const struct sm_room *r, guid_t guid)
{
	return r->polls.master.guid == guid ? &r->polls.master : sm_find_other(r, guid);
}

static void asked(void *arg)
{
	sm_still_check(arg);
}

static void nobody_cares(void *arg, const struct mad_answer *answer)
{
}

/* Its sender takes the answer to HANDOVER for that, too. */
static void acknowledge(struct sm_room *r, const struct other *to)
{
	struct wire_sm_info info = sm_info(r->sm);
	uint8_t data[WIRE_SMP_DATA];

	info.state = SM_STANDBY;
	wire_sm_info_encode(&info, data);
	mad_send(r->services.mad,
		 &(struct mad_request){ .path = &to->path,
					.method = WIRE_SET,
					.attr_id = WIRE_SM_INFO,
					.attr_mod = ELECTION_ACKNOWLEDGE - ELECTION_CONTROL,
					.data = data,
					.doubtful = true },
		 nobody_cares, NULL);
}

static void obey(struct sm_room *r, enum election_event event, const struct wire_sm_info *sender,
		 const struct other *known)
{
	struct other from = known ? *known : (struct other){ .guid = sender->guid };

	from.info = *sender;
	control_obeyed(&r->core, event, loop_now_us(r->services.loop));
	sm_report_control(r, event, &from);
	if (event == ELECTION_HANDOVER) {
		r->peer = r->polls.master = from;
		r->stood_by = true;
		if (known)
			acknowledge(r, &from);
	}
	sm_take(r, event, event == ELECTION_GIVEN ? &r->peer : &from);
}

static enum control_verdict control(void *arg, uint32_t number, const struct wire_sm_info *sender,
				    const char **why)
{
	struct sm_room *r = arg;
	const struct other *known = find_other(r, sender->guid);
	const struct control packet = { .number = number,
					.sender = sender,
					.known = known && known->answered ? &known->info : NULL,
					.now_us = loop_now_us(r->services.loop) };
	enum election_event event;
	enum control_verdict verdict = control_judge(&r->core, &packet, &event, why);

	if (verdict == CONTROL_OBEYED)
		obey(r, event, sender, known);
	else if (verdict == CONTROL_DOUBTED)
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

static void port_left(void *arg)
{
	sm_leave(arg);
}

static void port_entered(void *arg)
{
	sm_enter(arg);
}

static void port_changed(void *arg)
{
	sm_report_role(arg);
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

static void sweep_begins(struct sm_room *r, bool light)
{
	port_check(r->port);
	if (light)
		port_probe(r->port);
}

/* What a master found waits for the answers of other managers that it met. */
static const char *sweep_ended(struct sm_room *r, const struct sweep_result *result)
{
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

static const char *swept(void *room, const struct fabric_swept *swept)
{
	if (swept->result)
		return sweep_ended(room, swept->result);
	if (swept->step == FABRIC_SWEEP_BEGINS)
		sweep_begins(room, swept->light);
	else if (swept->step == FABRIC_SWEEP_ENDED)
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

static void annotate(void *room, struct inventory *inventory)
{
	sm_allowed_mark(room, inventory);
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

static void status(const void *room, json_t *doc)
{
	sm_status(room, doc);
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

static const char *cannot_hand_over(const struct sm_room *r)
{
	if (!fabric_is_master(r->fabric) || r->core.state != SM_MASTER)
		return "this subnet manager is not the master";
	if (r->core.handing || r->wish.open)
		return "a handover is in progress";
	return r->rounds.nothers ? NULL : "no other subnet manager is known";
}

void sm_hand_over(struct fabric *fabric, const char *manager, waiter_fn *fn, void *arg)
{
	struct sm_room *r = fabric_room(fabric, &sm_module);
	const char *error = cannot_hand_over(r);
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

	return port_failed(r->port);
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
					     .left = port_left,
					     .entered = port_entered,
					     .changed = port_changed,
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
	sm_on_control(r->sm, control);
	sm_on_asked(r->sm, asked);
	sm_on_repress(r->sm, key_of);
	r->port = port_new(&(struct port_services){ s->loop, s->mad, r->sm, s->alerts, s->conf },
			   &ops, r);
	sm_ask_init(r);
	sm_role_init(r);
	sm_still_init(r);
	sm_report_init(r);
	return r;
}

static void fini(void *room)
{
	struct sm_room *r = room;

	port_free(r->port);
	sm_still_fini(r);
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
					 .annotate = annotate,
					 .settled = settled,
					 .status = status,
					 .load = load,
					 .admit = admit,
					 .published = published };

/*
 * Who hides its key from our Gets may do so here too; nobody else can (older OpenSM: always). A key
 * of a site's own has to be said: all who have one hide it, and a stranger could too.
 */
static bool key_is_right(const struct election *e, const struct control *c)
{
	return !e->sm_key || election_key_is_ours(e, c->sender->sm_key) ||
	       (e->sm_key == ELECTION_PUBLIC_KEY && !c->sender->sm_key && c->known &&
		!c->known->sm_key);
}

/* NULL, or why no manager's state could make it right. */
static const char *form_error(const struct election *e, const struct control *c,
			      enum election_event *event)
{
	bool acknowledges = c->number == ELECTION_ACKNOWLEDGE - ELECTION_CONTROL;

	if (!c->number || c->number >= ELECTION_EVENTS - ELECTION_CONTROL)
		return "unknown AttributeModifier";
	if (!key_is_right(e, c))
		return "wrong SM_Key";
	if (c->sender->state != (acknowledges ? SM_STANDBY : SM_MASTER))
		return "the sender is in the wrong state";
	*event = ELECTION_CONTROL + c->number;
	if (acknowledges && e->handing)
		*event = ELECTION_GIVEN;
	return election_step(e, *event).act == ELECTION_REFUSE ? "not valid in this state" : NULL;
}

/* What a manager can be kept from its work by, again and again. */
static bool begins_anew(const struct election *e, enum election_event event)
{
	enum election_action act = election_step(e, event).act;

	return act == ELECTION_BEGIN_ANEW || (act == ELECTION_TAKE_OVER && e->state == SM_MASTER);
}

static bool is_too_soon(const struct election *e, enum election_event event, uint64_t now_us)
{
	return begins_anew(e, event) && e->obeyed_us && now_us - e->obeyed_us < CONTROL_PAUSE_US;
}

static bool is_polled(const struct election *e, const struct control *c)
{
	return e->master.guid && e->master.guid == c->sender->guid;
}

/* Of equal priorities the GUIDs decide, and no wish can change these. */
static bool gives_way(const struct election *e)
{
	return !e->master.priority || !election_outranks_us(e, &e->master);
}

/* NULL = what is known bears it out. */
static const char *doubt(const struct election *e, const struct control *c,
			 enum election_event event)
{
	if (event != ELECTION_HANDOVER)
		return NULL;
	if (e->state == SM_MASTER && (!c->known || c->known->state != SM_MASTER))
		return "the sender did not answer that it is master";
	if (e->state == SM_STANDBY && !is_polled(e, c))
		return "the sender is not the master that is polled";
	if (e->state == SM_STANDBY && !gives_way(e))
		return "the master outranks this manager";
	return NULL;
}

/* Nobody but the master that is followed has anything to say to a standby. */
static bool is_strangers(const struct election *e, const struct control *c,
			 enum election_event event)
{
	return e->state == SM_STANDBY && !is_polled(e, c) &&
	       (event == ELECTION_DISABLE || event == ELECTION_DISCOVER);
}

enum control_verdict control_judge(const struct election *e, const struct control *c,
				   enum election_event *event, const char **why)
{
	*why = form_error(e, c, event);
	if (!*why && is_strangers(e, c, *event))
		*why = "the sender is not the master that is polled";
	if (!*why && is_too_soon(e, *event, c->now_us))
		*why = "too soon after the previous one";
	if (*why)
		return CONTROL_REFUSED;
	*why = doubt(e, c, *event);
	return *why ? CONTROL_DOUBTED : CONTROL_OBEYED;
}

void control_obeyed(struct election *e, enum election_event event, uint64_t now_us)
{
	if (begins_anew(e, event))
		e->obeyed_us = now_us;
}
