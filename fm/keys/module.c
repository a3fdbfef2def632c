/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* The room's hooks. What is asked: asking.h; what is found: foreign.h, hidden.h, seen.h. */
#include "fm/keys/module.h"
#include <stdlib.h>
#include "fm/core/m_keys.h"
#include "fm/fabric/view.h"
#include "fm/keys/asking.h"
#include "fm/keys/foreign.h"
#include "fm/keys/hidden.h"
#include "fm/keys/seen.h"
#include "topology/mem.h"

#define BAD_M_KEY 256 /* trap number, IBA 14.2.5.1 */

struct port_keys {
	struct fabric *fabric;
	struct fabric_services services;
	struct asking asking;
	struct hidden hidden;
	unsigned foreign; /* ports, as last counted */
};

static void role(void *room, enum fabric_role now)
{
	struct port_keys *k = room;

	asking_configure(&k->asking);
}

static void start(void *room)
{
	struct port_keys *k = room;

	asking_configure(&k->asking);
}

static void load(void *room)
{
	const struct port_keys *k = room;

	seen_load(&k->services);
}

static void settled_later(void *room)
{
	const struct port_keys *k = room;

	seen_review(&k->services);
}

/* Its word costs a Get: who sends it in the name of others gains nothing. */
static void trap(void *room, const struct wire_notice *notice, uint16_t from_lid, unsigned times,
		 bool forged)
{
	struct port_keys *k = room;
	struct fabric_view view = fabric_view(k->fabric);
	uint32_t port;

	if (forged || !notice->generic || notice->trap != BAD_M_KEY)
		return;
	port = fabric_view_port_of_lid(&view, from_lid);
	if (port == TOPO_NONE)
		return;
	asking_soon(&k->asking, view.topo->nodes[view.topo->ports[port].node].guid);
	hidden_trap(&k->hidden, view.topo->nodes[view.topo->ports[port].node].guid);
}

static void review(void *room)
{
	struct port_keys *k = room;

	k->foreign = foreign_review(&k->services);
	hidden_review(&k->hidden, fabric_is_master(k->fabric));
}

static void unhealthy(const void *room, json_t *rows)
{
	const struct port_keys *k = room;
	struct fabric_view view = fabric_view(k->fabric);

	if (k->foreign)
		foreign_unhealthy(&k->services, &view, rows);
	hidden_unhealthy(&k->hidden, &view, rows);
}

static void status(const void *room, json_t *doc)
{
	const struct port_keys *k = room;
	const struct m_key_conf *conf = m_keys_conf(k->services.inventory->keys);

	json_object_set_new(
		doc, "m_keys",
		json_pack("{sb sb si si sI sI si so si so}", "set", m_key_conf_any(conf),
			  "per_port", conf->secret.set && conf->per_port, "protection",
			  (int)conf->protect, "lease_s", (int)conf->lease_s, "asked",
			  (json_int_t)k->asking.renewed, "expired", (json_int_t)k->asking.expired,
			  "foreign", (int)k->foreign, "foreign_ports",
			  k->foreign ? foreign_names(&k->services) : json_array(), "probable",
			  (int)k->hidden.probable, "probable_ports", hidden_json(&k->hidden)));
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void *init(struct fabric *fabric)
{
	struct port_keys *k = mem_alloc(1, sizeof(*k));

	k->fabric = fabric;
	k->services = fabric_services(fabric);
	asking_init(&k->asking, fabric, &k->services);
	hidden_init(&k->hidden, fabric, &k->services);
	return k;
}

static void fini(void *room)
{
	struct port_keys *k = room;

	asking_fini(&k->asking);
	hidden_fini(&k->hidden);
	foreign_end(&k->services);
	free(k);
}

const struct fabric_module port_keys_module = { .name = "keys",
						.init = init,
						.fini = fini,
						.load = load,
						.start = start,
						.configure = start,
						.role = role,
						.sweep.trap = trap,
						.deploy.settled_later = settled_later,
						.report.review = review,
						.report.unhealthy = unhealthy,
						.report.status = status };
