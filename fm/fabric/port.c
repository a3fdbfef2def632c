/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_port: the manager's own port. What it is in is decided by fm/sm/own_port.c; here it is opened, read, and acted upon.
 *
 *   every second    no device: it is tried to be opened. Else its PortInfo is read, by a local MAD that is not on the wire
 *   beside a look   the same, ahead of it: the answer is here before that of any switch, so that nothing is sent by ways that are no more
 *   with a poll     the neighbour's NodeInfo: is it still the one that was met?
 *   after a sweep   the neighbour that it met is kept in mind
 *
 * Who leaves is renewed (fabric_renew), as by a restart, and waits in the process for as long as it takes. What the kernel forbids this
 * process is no matter of waiting: it ends, and the service manager starts it with a new list of devices.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/fabric/own.h"
#include "fm/sm/own_port.h"
#include "topology/mem.h"

#define TICK_US	   1000000
#define MISSED_MAX 5 /* reads without an answer until the port counts as down */
#define HIDDEN_MAX 2 /* reads that show no IsSM until it is set anew */

struct fabric_port {
	struct own_port core;
	struct loop_timer *tick, *act;
	enum own_port_act due; /* by `act` */
	mad_token read, probe;
	unsigned missed, hidden;
	bool had_link;
	char absent[256];  /* why there is no device */
	char refusal[400]; /* what nothing can be managed for */
	char failed[256];  /* why this process can't go on */
};

/* ---- What it is in ------------------------------------------------------------------------------- */

bool fabric_port_has_link(const struct fabric *f)
{
	return own_port_has_link(&f->port->core) && f->port->due < OWN_PORT_LEAVE;
}

/* Between the opening and the first answer nothing is known of the link. */
static bool is_known_down(const struct own_port *core)
{
	return core->state == OWN_PORT_NO_LINK && core->info.state;
}

static const char *explain(struct fabric_port *p, const struct io_port_info *info)
{
	if (p->core.state <= OWN_PORT_BUSY)
		snprintf(p->refusal, sizeof(p->refusal), "%s: nothing is managed until it is there",
			 p->absent);
	else
		snprintf(p->refusal, sizeof(p->refusal),
			 "%s port %u (port GUID 0x%016" PRIx64
			 ") %s: nothing is managed until it is up",
			 info->device, info->port, info->port_guid,
			 p->missed >= MISSED_MAX ? "does not answer" : "has no link");
	return p->refusal;
}

/* NULL at the start: it is about to be known. */
static const char *what_is_missing(const struct fabric *f)
{
	struct fabric_port *p = f->port;
	bool absent = p->core.state <= OWN_PORT_BUSY && p->absent[0];

	return absent || is_known_down(&p->core) ? explain(p, mad_port_info(f->mad)) : NULL;
}

const char *fabric_port_refusal(const struct fabric *f)
{
	return what_is_missing(f);
}

static void alert_if(struct fabric *f, bool on, const char *what, const char *text)
{
	if (on)
		alert_raise(f->alerts, what, "", "%s", text);
	else
		alert_end(f->alerts, what, "");
}

static void show(struct fabric *f)
{
	static const enum fabric_state states[OWN_PORT_STATES] = {
		[OWN_PORT_NO_DEVICE] = FABRIC_NO_DEVICE,
		[OWN_PORT_BUSY] = FABRIC_PORT_BUSY,
		[OWN_PORT_NO_LINK] = FABRIC_NO_LINK,
	};
	const struct own_port *core = &f->port->core;
	const struct io_port_info *info = mad_port_info(f->mad);
	const char *missing = what_is_missing(f);
	char silent[256];

	snprintf(silent, sizeof(silent),
		 "%s port %u has a link, and the switch behind it does not answer%s", info->device,
		 info->port,
		 f->conf.old_mkey ? ""
				  : " (as one does that hides all behind another M_Key: "
				    "old_m_key)");
	for (enum own_port_state state = OWN_PORT_NO_DEVICE; state <= OWN_PORT_NO_LINK; state++)
		alert_if(f, missing && core->state == state, own_port_state_name(state), missing);
	alert_if(f, own_port_has_link(core) && core->silent, own_port_state_name(OWN_PORT_SILENT),
		 silent);
	if (missing)
		f->state = states[core->state];
	else if (f->state >= FABRIC_NO_DEVICE)
		f->state = fabric_election_is_disabled(f) ? FABRIC_STANDBY : FABRIC_STARTING;
	fabric_election_note_role(f);
}

/* ---- Steps --------------------------------------------------------------------------------------- */

static void read_port(struct fabric *f);
static void probe(struct fabric *f);

/* What was asked of the port's former life. */
static void stop_asking(struct fabric *f)
{
	mad_cancel(f->mad, f->port->read);
	mad_cancel(f->mad, f->port->probe);
	f->port->read = f->port->probe = 0;
}

static void act_later(struct fabric *f, enum own_port_act act)
{
	struct fabric_port *p = f->port;

	if (act != OWN_PORT_SWEEP)
		mad_set_quiet(f->mad, true);
	if (act == OWN_PORT_SWEEP && p->due >= OWN_PORT_LEAVE)
		act = OWN_PORT_BEGIN_AGAIN;
	p->due = act;
	loop_timer_set(p->act, 0);
}

static void take(struct fabric *f, enum own_port_event event)
{
	enum own_port_act act = own_port_take(&f->port->core, event);

	show(f);
	switch (act) {
	case OWN_PORT_STAY:
	case OWN_PORT_WAIT:
		return;
	case OWN_PORT_READ:
		read_port(f);
		return;
	case OWN_PORT_PROBE:
		probe(f);
		return;
	case OWN_PORT_SWEEP:
	case OWN_PORT_LEAVE:
	case OWN_PORT_BEGIN_AGAIN:
		act_later(f, act);
	}
}

static void act_cb(void *arg)
{
	struct fabric *f = arg;
	enum own_port_act act = f->port->due;

	f->port->due = OWN_PORT_STAY;
	if (act >= OWN_PORT_LEAVE) {
		stop_asking(f);
		fabric_election_leave(f);
	}
	if (act != OWN_PORT_LEAVE && fabric_port_has_link(f))
		fabric_election_enter(f);
	show(f);
}

/* ---- The neighbour ------------------------------------------------------------------------------- */

static void probed(void *arg, const struct mad_answer *answer)
{
	struct fabric *f = arg;
	bool heard = answer->result == MAD_OK;
	struct wire_node_info info;

	f->port->probe = 0;
	if (heard)
		wire_node_info_decode(answer->data, &info);
	take(f, own_port_heard(&f->port->core, heard ? &info : NULL));
}

static void probe(struct fabric *f)
{
	struct fabric_port *p = f->port;
	const struct mad_path path = { .hops = 1,
				       .ports = { (uint8_t)mad_port_info(f->mad)->port } };

	if (p->probe || p->core.is_switch || !own_port_has_link(&p->core) ||
	    fabric_election_is_disabled(f))
		return;
	p->probe = mad_send(f->mad,
			    &(struct mad_request){ .path = &path,
						   .method = WIRE_GET,
						   .attr_id = WIRE_NODE_INFO,
						   .device = p->core.neighbour,
						   .doubtful = true },
			    probed, f);
}

void fabric_port_probe(struct fabric *f)
{
	probe(f);
}

bool fabric_port_swept(struct fabric *f, bool fresh)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	struct fabric_port *p = f->port;
	const struct inv_port *port;
	bool met;

	if (!inv->local)
		return false;
	port = &inv->local->ports[inv->local_port];
	met = port->peer && port->link_up && !port->peer->silent;
	take(f, own_port_swept(&p->core, met ? port->peer->guid : 0, port->peer_port, fresh));
	return p->core.state == OWN_PORT_IN_FABRIC && p->due < OWN_PORT_LEAVE;
}

/* ---- PortInfo ------------------------------------------------------------------------------------ */

static void closed(struct fabric *f, enum own_port_event event, const char *why)
{
	struct fabric_port *p = f->port;

	snprintf(p->absent, sizeof(p->absent), "%s", why);
	stop_asking(f);
	mad_close(f->mad);
	take(f, event);
}

/* A driver that begins anew forgets it, and the fabric then takes this port for one without a manager. */
static void check_is_sm(struct fabric *f, bool shown)
{
	struct fabric_port *p = f->port;

	p->hidden = shown ? 0 : p->hidden + 1;
	if (p->hidden < HIDDEN_MAX)
		return;
	p->hidden = 0;
	sm_show(f->sm, false);
	sm_show(f->sm, true);
}

static void was_read(void *arg, const struct mad_answer *answer)
{
	struct fabric *f = arg;
	struct fabric_port *p = f->port;
	struct wire_port_info info;

	p->read = 0;
	if (answer->result == MAD_SEND_FAILED) {
		closed(f, OWN_PORT_LOST, "the own port takes no packets any more");
		return;
	}
	p->missed = answer->result == MAD_OK ? 0 : p->missed + 1;
	if (p->missed >= MISSED_MAX)
		take(f, OWN_PORT_DOWN);
	if (answer->result != MAD_OK)
		return;
	wire_port_info_decode(answer->data, &info);
	check_is_sm(f, info.capmask & WIRE_CAP_IS_SM);
	if (info.state >= TOPO_INIT && !p->had_link) {
		p->had_link = true;
		mad_choose(f->mad, true);
	}
	take(f, own_port_read(&p->core, &info));
}

/* A device that is about to go may refuse it; that it does is one of the ways to learn of it. */
static void read_port(struct fabric *f)
{
	const struct mad_path here = { 0 };

	if (f->port->read || !mad_is_open(f->mad))
		return;
	f->port->read = mad_send(f->mad,
				 &(struct mad_request){ .path = &here,
							.method = WIRE_GET,
							.attr_id = WIRE_PORT_INFO,
							.attr_mod = mad_port_info(f->mad)->port,
							.urgent = true,
							.doubtful = true,
							.local = true },
				 was_read, f);
}

void fabric_port_check(struct fabric *f)
{
	read_port(f);
}

/* ---- The device ---------------------------------------------------------------------------------- */

static void fail(struct fabric *f, const char *why)
{
	snprintf(f->port->failed, sizeof(f->port->failed), "%s", why);
	loop_stop(f->loop);
}

const char *fabric_failed(const struct fabric *f)
{
	return f->port->failed[0] ? f->port->failed : NULL;
}

static void not_opened(struct fabric *f, int status, const char *why)
{
	snprintf(f->port->absent, sizeof(f->port->absent), "%s", why);
	if (status == -EACCES || status == -EPERM)
		fail(f, why);
	take(f, status == -EBUSY ? OWN_PORT_REFUSED : OWN_PORT_LOST);
}

/* IsSM is part of it: who can't have that has another manager beside him. */
static int show_manager(struct fabric *f, char *err, size_t err_size)
{
	const struct io_port_info *info = mad_port_info(f->mad);
	int status = sm_show(f->sm, true);

	if (status)
		snprintf(err, err_size, "%s port %u: cannot show a subnet manager there: %s",
			 info->device, info->port,
			 status == -EBUSY ? "another one runs on it" : strerror(-status));
	return status;
}

static void open_port(struct fabric *f)
{
	char err[256] = "";
	int status = mad_open(f->mad, err, sizeof(err));

	if (!status) {
		status = show_manager(f, err, sizeof(err));
		if (status)
			mad_close(f->mad);
	}
	if (status) {
		not_opened(f, status, err);
		return;
	}
	f->port->absent[0] = '\0';
	f->port->missed = f->port->hidden = 0;
	f->port->core.is_switch = !mad_port_info(f->mad)->port;
	fabric_election_opened(f);
	take(f, OWN_PORT_OPENED);
}

/* Nobody had a link when this one was chosen. */
static void choose_again(struct fabric *f)
{
	closed(f, OWN_PORT_LOST, "another port has a link");
	open_port(f);
}

static void tick(void *arg)
{
	struct fabric *f = arg;
	struct fabric_port *p = f->port;

	loop_timer_set(p->tick, TICK_US);
	if (!mad_is_open(f->mad))
		open_port(f);
	else if (p->core.state == OWN_PORT_NO_LINK && !p->had_link && mad_choose(f->mad, false))
		choose_again(f);
	else
		read_port(f);
}

static void lost(void *arg, const char *why)
{
	closed(arg, OWN_PORT_LOST, why);
}

/* ---- Life ---------------------------------------------------------------------------------------- */

void fabric_port_init(struct fabric *f)
{
	f->port = mem_alloc(1, sizeof(*f->port));
	f->port->tick = loop_timer_new(f->loop, tick, f);
	f->port->act = loop_timer_new(f->loop, act_cb, f);
	mad_on_lost(f->mad, lost, f);
}

void fabric_port_start(struct fabric *f)
{
	loop_timer_set(f->port->tick, TICK_US);
	open_port(f);
}

void fabric_port_fini(struct fabric *f)
{
	stop_asking(f);
	mad_on_lost(f->mad, NULL, NULL);
	loop_timer_free(f->port->tick);
	loop_timer_free(f->port->act);
	free(f->port);
}
