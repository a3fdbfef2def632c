/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Both ends of a link that went down are asked for the reason once all that was published is
 * programmed and brought up, so that no reroute waits for them. What is known when both have
 * answered, or do not, is an event, EVENTS of them in a burst.
 *
 * Each end reports a reason of its own, one that it has heard of the other end, and whom it blames.
 * A reason at the end that is blamed goes before others.
 *
 * A cable is known by the serial number of its modules: a row of the kind `modules` has where it
 * is, at two ports where both of its modules have one number, where it was when its link went down,
 * and how often that happened, so that flaps go with the cable.
 */
#include <math.h>
#include "fm/conf/lists.h"
#include "fm/registers/module.h"
#include "fm/registers/registers.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

#define EVENTS	     20
#define REASONS	     256
#define REASON_LEAST 2 /* 0 is none, 1 is unknown */

struct registers_room {
	struct fabric *fabric;
	struct fabric_services services;
	struct registers *registers;
	unsigned burst;		/* events since nothing was waiting */
	unsigned moves;		/* events about cables in this lap */
	struct name_list hot;	/* ports that the lap has come to */
	struct waiters readers; /* of bit errors */
	unsigned labels;	/* cages that are new in this lap */
	bool unpublished;	/* those of laps before */
	uint64_t reasons[REASONS];
};

/* ---- What both ends report ------------------------------------------------------------------- */

struct verdict { /* on a link */
	uint8_t reason, by_port, blame_port;
	bool whole;		      /* both ends report it as their own */
	guid_t by;		      /* the end that reports it */
	const struct wire_down *down; /* all that this end reports */
	guid_t blame;		      /* 0 = nobody is blamed */
	unsigned weight;
};

static void weigh(struct verdict *v, const struct register_port *end, guid_t node, uint8_t port)
{
	const struct wire_down *down = &end->down;

	for (unsigned blame = WIRE_BLAME_LOCAL; blame <= WIRE_BLAME_REMOTE; blame++) {
		unsigned reason = blame == WIRE_BLAME_LOCAL ? down->local : down->remote;
		bool own = blame == WIRE_BLAME_LOCAL;
		unsigned weight = reason < REASON_LEAST ? 0 : 1 + own + 2 * (down->blame == blame);

		if (weight <= v->weight)
			continue;
		*v = (struct verdict){ .reason = reason,
				       .weight = weight,
				       .by = node,
				       .by_port = port,
				       .down = down };
		if (down->blame == WIRE_BLAME_LOCAL) {
			v->blame = node;
			v->blame_port = port;
		} else if (down->blame == WIRE_BLAME_REMOTE) {
			v->blame = end->peer;
			v->blame_port = end->peer_port;
		}
	}
}

/* False: neither end reports a reason. */
static bool judge(const struct registers *r, guid_t node, uint8_t port, struct verdict *v)
{
	const struct register_port *here = registers_port(r, node, port), *there;

	*v = (struct verdict){ 0 };
	if (!here || !here->peer)
		return false;
	there = registers_port(r, here->peer, here->peer_port);
	if (here->state[REGISTER_DOWN] == REGISTER_READ)
		weigh(v, here, node, port);
	if (there && there->state[REGISTER_DOWN] == REGISTER_READ && there->peer == node &&
	    there->peer_port == port) {
		weigh(v, there, here->peer, here->peer_port);
		v->whole = here->state[REGISTER_DOWN] == REGISTER_READ &&
			   here->down.local == v->reason && there->down.local == v->reason;
	}
	return v->weight;
}

/* ---- Words ----------------------------------------------------------------------------------- */

/* "leaf-07 p17 (cage 9/1)", where the label on the device is known. */
static void end_name(const struct fabric *fabric, guid_t node, uint8_t port, char *to, size_t size)
{
	const struct topo *t = fabric_view(fabric).topo;
	uint32_t at = t ? topo_port_of(t, node, port) : TOPO_NONE;
	const char *label = at == TOPO_NONE ? "" : topo_port_label(t, at);

	if (at == TOPO_NONE)
		snprintf(to, size, "0x%016" PRIx64 " p%u", node, port);
	else
		snprintf(to, size, "%s p%u%s%s%s", t->nodes[t->ports[at].node].name, port,
			 *label ? " (" : "", label, *label ? ")" : "");
}

static void reason_name(unsigned reason, char name[64])
{
	const char *word = wire_down_reason(reason);

	if (word)
		snprintf(name, 64, "%s", word);
	else
		snprintf(name, 64, "reason %u", reason);
}

bool link_down_reason(const struct fabric *fabric, guid_t node, uint8_t port,
		      struct link_down_reason *out)
{
	const struct registers_room *room = fabric_room(fabric, &registers_module);
	char name[64], end[128];
	struct verdict v;

	*out = (struct link_down_reason){ 0 };
	if (!room || !judge(room->registers, node, port, &v))
		return false;
	reason_name(v.reason, name);
	array_printf(out->reason, "%s", name);
	if (strstr(name, "BER") && v.down->effective_coefficient)
		array_add(out->reason, ": effective %ue-%u", v.down->effective_coefficient,
			  v.down->effective_magnitude);
	if (!v.whole) {
		end_name(fabric, v.by, v.by_port, end, sizeof(end));
		array_add(out->reason, ", reported by %s", end);
	}
	if (v.blame && !v.whole)
		end_name(fabric, v.blame, v.blame_port, out->blame, sizeof(out->blame));
	return true;
}

/* ---- Cables ---------------------------------------------------------------------------------- */

#define CABLE_ENDS 16
enum {
	END_HERE = 1,
	END_FELL = 2,
	END_LAST = 4, /* it was here before another cable was */
};

struct cable {
	char serial[17]; /* in one word */
	unsigned flaps, nends;
	struct cable_end {
		guid_t node;
		unsigned port, marks;
	} ends[CABLE_ENDS];
};

static bool cable_read(const char *line, struct cable *c)
{
	int at, more;

	*c = (struct cable){ 0 };
	if (sscanf(line, "%16s %u%n", c->serial, &c->flaps, &at) != 2)
		return false;
	for (; line[at] && c->nends < CABLE_ENDS; at += more) {
		struct cable_end *end = &c->ends[c->nends++];

		if (sscanf(line + at, " 0x%" SCNx64 " %u %u%n", &end->node, &end->port, &end->marks,
			   &more) != 3 ||
		    end->port > UINT8_MAX)
			return false;
	}
	return !line[at];
}

/* False: it was never met, and is empty. */
static bool cable_find(const struct registers_room *room, const char *serial, struct cable *c)
{
	const char *value = state_value(room->services.state, "modules", serial);
	char line[1024];

	array_printf(line, "%s %s", serial, value ? value : "");
	if (*serial && value && cable_read(line, c))
		return true;
	*c = (struct cable){ 0 };
	array_printf(c->serial, "%s", serial);
	return false;
}

/* NULL: it was never there. make: an end where it is no more gives way. */
static struct cable_end *cable_end(struct cable *c, guid_t node, unsigned port, bool make)
{
	struct cable_end *old = NULL;

	ARRAY_EACH (end, c->ends, c->nends) {
		if (end->node == node && end->port == port)
			return end;
		old = old || end->marks & END_HERE ? old : end;
	}
	if (make && c->nends < CABLE_ENDS)
		old = &c->ends[c->nends++];
	if (make && old)
		*old = (struct cable_end){ .node = node, .port = port };
	return make ? old : NULL;
}

static bool cable_line(void *arg, const char *line)
{
	struct registers_room *room = arg;
	struct cable c;

	if (!cable_read(line, &c))
		return false;
	ARRAY_EACH (end, c.ends, c.nends)
		if (end->marks & END_HERE)
			registers_restore(room->registers, end->node, end->port, c.serial);
	return true;
}

static const struct state_kind modules_kind = { .name = "modules",
						.form = "a cable",
						.line = cable_line };

static void cable_put(struct registers_room *room, const struct cable *c)
{
	char line[1024];

	array_printf(line, "%s %u", c->serial, c->flaps);
	ARRAY_EACH (end, c->ends, c->nends)
		if (end->marks)
			array_add(line, " 0x%016" PRIx64 " %u %u", end->node, end->port,
				  end->marks);
	state_put(room->services.state, &modules_kind, room, line);
}

static double celsius(uint16_t of_256)
{
	return (int16_t)of_256 / 256.0;
}

/* In one word; "" = none is known. */
static void serial_of(const struct wire_module *module, char serial[17])
{
	wire_module_text(module->serial, serial);
	for (char *c = serial; *c; c++)
		*c = *c == ' ' ? '_' : *c;
}

static void serial_at(const struct registers_room *room, guid_t node, uint8_t port, char to[17])
{
	const struct register_port *at = registers_port(room->registers, node, port);

	*to = '\0';
	if (at)
		serial_of(&at->module, to);
}

/*
 * A link has fallen, and its cable's count changes by so much. Modules with two serial numbers are
 * two cables.
 */
static void count_flap(struct registers_room *room, guid_t node, uint8_t num, int by)
{
	const struct register_port *here = registers_port(room->registers, node, num);
	const struct cable_end ends[] = { { .node = node, .port = num },
					  { .node = here->peer, .port = here->peer_port } };
	char serials[2][17] = { "", "" };
	struct cable_end *end;
	struct cable c;

	for (unsigned i = 0; i < 2; i++) {
		serial_at(room, ends[i].node, ends[i].port, serials[i]);
		if (!cable_find(room, serials[i], &c) || (by < 0 && !c.flaps))
			continue;
		c.flaps += !i || strcmp(serials[0], serials[1]) ? by : 0;
		end = cable_end(&c, ends[i].node, ends[i].port, true);
		if (end)
			end->marks |= END_FELL;
		cable_put(room, &c);
	}
}

/* The link did not fall by its cable's fault. False: that is known already. */
static bool excuse(struct registers_room *room, guid_t node, uint8_t num)
{
	bool first = registers_excuse(room->registers, node, num);

	if (first)
		count_flap(room, node, num, -1);
	return first;
}

static void log_cable(struct registers_room *room, const struct inv_node *node, uint8_t num,
		      const struct wire_module *module, const char *was,
		      const struct cable_end *from)
{
	const struct inventory *inv = room->services.inventory;
	const struct event_subject subject = inventory_link_subject(inv, node->guid, num);
	char vendor[17], part[17], serial[17], place[128] = "", change[192];

	if (room->moves++ >= EVENTS)
		return;
	wire_module_text(module->vendor, vendor);
	wire_module_text(module->part, part);
	serial_of(module, serial);
	if (from) {
		end_name(room->fabric, from->node, from->port, place, sizeof(place));
		array_printf(change, "was at %s before", place);
	} else
		array_printf(change, "took the place of %s", was);
	event_log_add(room->services.events, LOG_NOTICE, from ? "cable-moved" : "cable-changed",
		      &subject,
		      json_pack("{ss ss ss ss* ss*}", "serial", serial, "vendor", vendor, "part",
				part, "was", *was ? was : NULL, "from", from ? place : NULL),
		      "%s: cable %s (%s %s) %s", inventory_link_name(inv, node->guid, num).text,
		      serial, vendor, part, change);
}

/*
 * As registers_ops.module. A cable that is known elsewhere has moved once it is certain that it is
 * there no more. Of one whose modules have one number the end that is read first tells of it.
 */
static bool take_module(void *arg, guid_t guid, uint8_t num, const struct wire_module *module)
{
	struct registers_room *room = arg;
	struct inv_node *node;
	const struct inv_port *port = inventory_port(room->services.inventory, guid, num, &node);
	char serial[17], was[17], there[17];
	struct cable_end *end, from = { 0 };
	struct cable c, old;
	bool together = false;

	if (!port || !port->peer)
		return true;
	serial_of(module, serial);
	serial_at(room, guid, num, was);
	if (strcmp(was, serial) && cable_find(room, was, &old) &&
	    (end = cable_end(&old, guid, num, false))) {
		end->marks = (end->marks & ~END_HERE) | END_LAST;
		cable_put(room, &old);
	}
	cable_find(room, serial, &c);
	end = cable_end(&c, guid, num, false);
	if (end && end->marks & END_HERE)
		return true;
	ARRAY_EACH (it, c.ends, c.nends) {
		if (!(it->marks & (END_HERE | END_LAST)) || it == end)
			continue;
		if (it->marks & END_HERE && it->node == port->peer->guid &&
		    it->port == port->peer_port) {
			together = true;
			continue;
		}

		enum register_state state =
			registers_module_state(room->registers, it->node, it->port);

		serial_at(room, it->node, it->port, there);
		if (state < REGISTER_READ)
			return false;
		if (state == REGISTER_READ && !strcmp(there, serial))
			return true; /* two cables have one number */
		from = *it;
		it->marks &= END_FELL;
	}
	end = cable_end(&c, guid, num, true);
	if (end)
		end->marks = (end->marks & END_FELL) | END_HERE;
	cable_put(room, &c);
	if (from.node || (*was && strcmp(was, serial) && !together))
		log_cable(room, node, num, module, was, from.node ? &from : NULL);
	return true;
}

/* As registers_ops.hot. */
static void take_hot(void *arg, const struct inv_node *node, uint8_t num,
		     const struct wire_module *module)
{
	struct registers_room *room = arg;
	char name[160];

	end_name(room->fabric, node->guid, num, name, sizeof(name));
	array_add(name, " at %.0f C, limit %.0f C", celsius(module->temperature),
		  celsius(module->hottest));
	name_list_add(&room->hot, name);
	if (room->hot.count <= EVENTS)
		inventory_add_port(&room->hot.ports, node, num);
}

static void lapped(void *arg)
{
	struct registers_room *room = arg;

	name_list_alert(room->services.alerts, "modules-hot", &room->hot,
			"module is hotter than its limit", "modules are hotter than their limits");
	room->hot = (struct name_list){ 0 };
	room->moves = 0;
	if (room->unpublished && !room->labels) {
		room->services.inventory->shapes++; /* the next snapshot is made again, with them */
		fabric_request_reroute(room->fabric, "ports have other labels");
	}
	room->unpublished = room->labels;
	room->labels = 0;
}

/* As registers_ops.label. All are published behind a lap in which none came. */
static void take_label(void *arg, guid_t guid, uint8_t num, const char *label)
{
	struct registers_room *room = arg;
	struct inv_node *node = inventory_find(room->services.inventory, guid);

	if (!node || num > node->nports)
		return;
	if (!node->labels)
		node->labels = mem_array(node->labels, node->nports + 1u);
	snprintf(node->labels[num], sizeof(node->labels[0]), "%s", label);
	room->labels++;
}

/* Of a port whose link is down what was read before, without figures. NULL: nothing was. */
static const struct wire_module *module_at(const struct registers_room *room, guid_t node,
					   uint8_t num, bool *read)
{
	const struct register_port *at = room ? registers_port(room->registers, node, num) : NULL;

	*read = at && at->state[REGISTER_MODULE] == REGISTER_READ;
	return at && *at->module.serial ? &at->module : NULL;
}

static json_t *figure(double value)
{
	return isnan(value) ? json_null() : json_real(round(value * 10) / 10);
}

json_t *link_module(const struct fabric *fabric, guid_t node, uint8_t num)
{
	const struct registers_room *room = fabric_room(fabric, &registers_module);
	char serial[17], vendor[17], part[17], firmware[32] = "";
	bool read, light;
	const struct wire_module *m = module_at(room, node, num, &read);
	unsigned fell = 0;
	struct cable c;

	if (!m)
		return NULL;
	serial_of(m, serial);
	wire_module_text(m->vendor, vendor);
	wire_module_text(m->part, part);
	if (m->firmware)
		array_printf(firmware, "%u.%u.%u", m->firmware >> 24, m->firmware >> 16 & 255,
			     m->firmware & 65535);
	cable_find(room, serial, &c);
	ARRAY_EACH (end, c.ends, c.nends)
		fell += !!(end->marks & END_FELL);
	light = read && m->kind != WIRE_MODULE_PASSIVE;
	return json_pack("{ss? ss? so ss ss ss ss? so so so so sI sI}", "kind",
			 wire_module_kind(m->kind), "identifier",
			 wire_module_identifier(m->identifier), "length_m",
			 figure(m->length ? wire_module_length_m(m) : NAN), "vendor", vendor,
			 "part", part, "serial", serial, "firmware", *firmware ? firmware : NULL,
			 "temperature_c", figure(link_module_celsius(fabric, node, num)), "limit_c",
			 figure(m->hottest ? celsius(m->hottest) : NAN), "rx_dbm",
			 figure(light ? (int16_t)m->rx_power : NAN), "tx_dbm",
			 figure(light ? (int16_t)m->tx_power : NAN), "flaps", (json_int_t)c.flaps,
			 "flap_ports", (json_int_t)fell);
}

double link_module_celsius(const struct fabric *fabric, guid_t node, uint8_t num)
{
	bool read;
	const struct wire_module *m =
		module_at(fabric_room(fabric, &registers_module), node, num, &read);

	return m && read && m->temperature ? celsius(m->temperature) : NAN;
}

/* ---- Events ---------------------------------------------------------------------------------- */

static bool may_ask(void *arg)
{
	const struct registers_room *room = arg;

	return fabric_is_quiet(room->fabric);
}

static void ended(void *arg, guid_t node, uint8_t port)
{
	struct registers_room *room = arg;
	const struct register_port *here = registers_port(room->registers, node, port);
	const struct register_port *there =
		registers_port(room->registers, here->peer, here->peer_port);
	const struct topo *t = fabric_view(room->fabric).topo;
	struct link_down_reason why;
	struct verdict v;

	if (there && (there->state[REGISTER_DOWN] == REGISTER_WANTED ||
		      there->state[REGISTER_DOWN] == REGISTER_ASKED))
		return;
	if (link_down_reason(room->fabric, node, port, &why) && t &&
	    judge(room->registers, node, port, &v)) {
		uint32_t at = topo_find(t, node);
		char link[2][128];

		room->reasons[v.reason]++;
		if (v.down->intent == WIRE_INTENT_YES)
			excuse(room, node, port);
		end_name(room->fabric, node, port, link[0], sizeof(link[0]));
		end_name(room->fabric, here->peer, here->peer_port, link[1], sizeof(link[1]));
		if (at != TOPO_NONE && port <= t->nodes[at].nports && room->burst++ < EVENTS) {
			const struct event_subject subject =
				event_subject_port(t, t->nodes[at].port0 + port);

			event_log_add(room->services.events, LOG_NOTICE, "link-down-reason",
				      &subject,
				      json_pack("{ss ss* sb}", "reason", why.reason, "blame",
						*why.blame ? why.blame : NULL, "intended",
						v.down->intent == WIRE_INTENT_YES),
				      "%s - %s: went down: %s", link[0], link[1], why.reason);
		}
	}
	if (!registers_waiting(room->registers))
		room->burst = 0;
}

static const char *registers_swept(void *arg, const struct fabric_swept *swept)
{
	struct registers_room *room = arg;
	struct inv_node *node;
	const struct inv_port *port =
		inventory_port(room->services.inventory, swept->node, swept->port, &node);

	if (swept->step == FABRIC_LINK_FELL && port && port->peer) {
		registers_link_fell(room->registers, swept->node, swept->port, port->peer->guid,
				    port->peer_port);
		count_flap(room, swept->node, swept->port, 1);
	}
	return NULL;
}

/* ---- Devices --------------------------------------------------------------------------------- */

/*
 * A device that started again took its links down: that is neither their cables' fault nor a reason
 * of theirs.
 */
static void rebooted(void *arg, guid_t guid, const struct wire_device *before,
		     const struct wire_device *now)
{
	struct registers_room *room = arg;
	const struct inv_node *node = inventory_find(room->services.inventory, guid);
	char was[32], is[32];
	unsigned lost = 0;

	for (unsigned num = 1; node && num <= node->nports; num++) {
		const struct register_port *at = registers_port(room->registers, guid, num);

		lost += at && at->fall == REGISTER_FELL && excuse(room, guid, num);
	}
	if (!node || room->moves++ >= EVENTS)
		return;

	const struct event_subject subject = inventory_subject(node, -1);

	wire_device_firmware(before, was);
	wire_device_firmware(now, is);
	event_log_add(room->services.events, LOG_NOTICE, "device-rebooted", &subject,
		      json_pack("{si si ss ss}", "up_s", now->up_s, "links_lost", lost, "firmware",
				is, "firmware_before", was),
		      "%s: rebooted, up for %u s, %u links were lost by that%s%s%s",
		      inventory_name(node, -1).text, now->up_s, lost,
		      strcmp(was, is) ? "; firmware " : "", strcmp(was, is) ? is : "",
		      strcmp(was, is) ? " is new" : "");
}

json_t *device_facts(const struct fabric *fabric, guid_t node)
{
	const struct registers_room *room = fabric_room(fabric, &registers_module);
	const struct register_device *device =
		room ? registers_device(room->registers, node) : NULL;
	char firmware[32], psid[17];

	if (!device)
		return NULL;
	wire_device_firmware(&device->info, firmware);
	wire_module_text(device->info.psid, psid);
	return json_pack(
		"{ss ss sI}", "firmware", firmware, "psid", psid, "up_s",
		(json_int_t)(device->info.up_s +
			     (loop_now_us(room->services.loop) - device->read_us) / 1000000));
}

bool device_ask(const struct fabric_services *services, const struct inv_node *sw,
		struct batch_request *request)
{
	request->mad.attr_id = WIRE_VENDOR_INFO;
	return registers_get(services->inventory, sw, 0, services->conf->sm.vs_key, request);
}

bool device_firmware(const struct mad_answer *answer, char firmware[DEVICE_FIRMWARE])
{
	struct wire_device device;
	bool sound = registers_take_device(answer, &device);

	*firmware = '\0';
	if (sound)
		wire_device_firmware(&device, firmware);
	return sound;
}

/* ---- Bit errors ------------------------------------------------------------------------------ */

uint64_t link_effective_errors(const struct fabric *fabric, guid_t node, uint8_t num, bool again,
			       uint64_t *errors)
{
	const struct registers_room *room = fabric_room(fabric, &registers_module);
	const struct register_port *at = room ? registers_port(room->registers, node, num) : NULL;

	if (again && room)
		registers_watch(room->registers, node, num);
	*errors = at ? at->ber.effective_errors : 0;
	return at ? at->ber_us : 0;
}

/* A magnitude of 255 stands for none. */
static json_t *rate(unsigned coefficient, unsigned magnitude)
{
	return !magnitude
		       ? json_null()
		       : json_real(magnitude == 255 ? 0 : coefficient * pow(10, -(int)magnitude));
}

/* plane: 0 = of the whole port. */
static json_t *rates(unsigned plane, const struct wire_ber *ber)
{
	return json_pack("{so so so so sI}", "plane", plane ? json_integer(plane) : json_null(),
			 "raw_ber", rate(ber->raw_coefficient, ber->raw_magnitude), "effective_ber",
			 rate(ber->effective_coefficient, ber->effective_magnitude), "symbol_ber",
			 rate(ber->symbol_coefficient, ber->symbol_magnitude), "effective_errors",
			 (json_int_t)ber->effective_errors);
}

json_t *link_bit_errors(const struct fabric *fabric, guid_t node, uint8_t num)
{
	const struct registers_room *room = fabric_room(fabric, &registers_module);
	const struct register_port *at = room ? registers_port(room->registers, node, num) : NULL;
	const struct register_detail *detail = at ? at->detail : NULL;
	json_t *doc, *bins, *planes;

	if (!at || (!at->ber_us && !detail))
		return NULL;
	doc = rates(0, &at->ber);
	bins = json_array();
	planes = json_array();
	for (unsigned i = 0; detail && detail->histogram && i < WIRE_HISTOGRAM_BINS; i++)
		json_array_append_new(bins, json_integer((json_int_t)detail->bins[i]));
	for (unsigned i = 0; detail && i < WIRE_PLANES_MOST; i++)
		if (detail->plane[i])
			json_array_append_new(planes, rates(i + 1, &detail->planes[i]));
	json_put(doc, "{so so so}", "age_s",
		 at->ber_us ? json_real((loop_now_us(room->services.loop) - at->ber_us) / 1e6)
			    : json_null(),
		 "histogram", bins, "planes", planes);
	return doc;
}

static void read_cb(void *arg)
{
	struct registers_room *room = arg;
	json_t *empty = json_object();

	waiters_answer(&room->readers, empty, NULL);
	json_decref(empty);
}

void link_bit_errors_read(struct fabric *fabric, guid_t guid, uint8_t num, waiter_fn *fn, void *arg)
{
	struct registers_room *room = fabric_room(fabric, &registers_module);
	struct inv_node *node;
	const struct inv_port *port = inventory_port(room->services.inventory, guid, num, &node);
	bool asked = registers_read(room->registers, guid, num);

	if (port && port->peer)
		asked |= registers_read(room->registers, port->peer->guid, port->peer_port);
	waiters_add(&room->readers, fn, arg);
	if (!asked)
		read_cb(room);
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void registers_status(const void *arg, json_t *doc)
{
	const struct registers_room *room = arg;
	const struct registers *r = room->registers;
	json_t *reasons = json_object(),
	       *counts = ask_counts_json(registers_counts(r, REGISTER_DOWN));

	for (unsigned i = 0; i < REASONS; i++)
		if (room->reasons[i]) {
			char name[64];

			reason_name(i, name);
			json_object_set_new(reasons, name,
					    json_integer((json_int_t)room->reasons[i]));
		}
	json_put(counts, "{si so so so so so}", "waiting", registers_waiting(r), "modules",
		 ask_counts_json(registers_counts(r, REGISTER_MODULE)), "bit_errors",
		 ask_counts_json(registers_counts(r, REGISTER_BER)), "histograms",
		 ask_counts_json(registers_counts(r, REGISTER_HISTOGRAM)), "devices",
		 ask_counts_json(registers_counts(r, REGISTER_DEVICE)), "down_reasons", reasons);
	json_object_set_new(doc, "registers", counts);
}

static void load(void *arg, enum fabric_load_step step)
{
	struct registers_room *room = arg;

	if (step == FABRIC_LOAD)
		state_read(room->services.state, &modules_kind, room);
}

static void *init(struct fabric *fabric)
{
	static const struct registers_ops ops = { .may_ask = may_ask,
						  .ended = ended,
						  .module = take_module,
						  .hot = take_hot,
						  .lapped = lapped,
						  .rebooted = rebooted,
						  .read = read_cb,
						  .label = take_label };
	struct registers_room *room = ROOM_NEW(room, fabric);

	room->registers =
		registers_new(room->services.loop, room->services.mad, room->services.inventory,
			      &room->services.conf->sm.vs_key, &ops, room);
	return room;
}

static void role(void *arg, enum fabric_role now, enum fabric_role_step step)
{
	if (step == FABRIC_ROLE_LEFT)
		waiters_answer(&((struct registers_room *)arg)->readers, NULL, FABRIC_ROLE_CHANGED);
}

static void fini(void *arg)
{
	struct registers_room *room = arg;

	registers_free(room->registers);
	waiters_fini(&room->readers);
	json_decref(room->hot.ports);
	room->hot = (struct name_list){ 0 };
	lapped(room);
	free(room);
}

const struct fabric_module registers_module = {
	.name = "registers",
	.init = init,
	.fini = fini,
	.load = load,
	.role = role,
	.swept = registers_swept,
	.status = registers_status,
};
