/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/links_out_room.h"
#include "topology/snapshot/topo_builder.h"

void room_answer_cb(void *arg, json_t *result, const char *error)
{
	struct answer *answer = arg;

	answer->count++;
	answer->result = json_incref(result);
	snprintf(answer->error, sizeof(answer->error), "%s", error ? error : "");
}

static struct inv_node *room_add(struct fabric *f, guid_t guid, uint8_t type, uint8_t ports,
				 const char *name)
{
	const struct wire_node_info info = { .base_version = 1,
					     .class_version = 1,
					     .type = type,
					     .nports = ports,
					     .node_guid = guid,
					     .port_guid = guid };
	struct inv_node *node = inventory_add(&f->inventory, &info);

	inventory_set_desc(&f->inventory, node, name);
	node->have_desc = true;
	if (type == TOPO_CA)
		inventory_set_port_guid(&f->inventory, node, 1, guid);
	return node;
}

struct inv_node *room_node(struct fabric *f, guid_t guid)
{
	return inventory_find(&f->inventory, guid);
}

static void room_fabric(struct fabric *f)
{
	char name[64];

	for (unsigned s = 0; s < SPINES; s++) {
		snprintf(name, sizeof(name), "spine-%u", s);
		room_add(f, SPINE + s, TOPO_SWITCH, 4, name);
	}
	for (unsigned l = 0; l < LEAVES; l++) {
		struct inv_node *leaf;

		snprintf(name, sizeof(name), "leaf-%u", l);
		leaf = room_add(f, LEAF + l, TOPO_SWITCH, 8, name);
		for (unsigned h = 0; h < 2; h++) {
			snprintf(name, sizeof(name), "host-%u-%u HCA-1", l, h);
			inventory_link(&f->inventory, leaf, (uint8_t)(1 + h),
				       room_add(f, HOST + 2 * l + h, TOPO_CA, 1, name), 1);
		}
		for (unsigned s = 0; s < SPINES; s++)
			inventory_link(&f->inventory, leaf, (uint8_t)(UPLINK + s),
				       room_node(f, SPINE + s), (uint8_t)(1 + l));
	}
}

void room_publish(struct fabric *f)
{
	static struct tables tables;
	struct route *route = route_new();
	struct topo *t;
	struct lid_map *lids;

	f->module->annotate(f->room, &f->inventory);
	t = topo_freeze(inventory_snapshot_builder(&f->inventory));
	lids = lid_plan(t, &f->lids, 0);
	lid_memory_learn(&f->lids, t, lids, 1);
	assert_int_equal(
		route_compute(route, t, lids, &(struct route_params){ .engine = "updn" }, &tables),
		0);
	topo_unref((struct topo *)f->view.topo);
	lid_map_free((struct lid_map *)f->view.lids);
	f->view = (struct fabric_view){ .topo = t,
					.lids = lids,
					.tables = &tables,
					.cordons_overridden = route_cordons_overridden(route) };
	route_free(route);
}

void room_init(struct fabric *f)
{
	fake_pipe_init(f, &links_out_module, NULL);
	room_fabric(f);
	f->module->load(f->room, FABRIC_LOAD);
	room_publish(f);
}

void room_restart(struct fabric *f)
{
	fake_pipe_restart(f);
	room_fabric(f);
	f->module->load(f->room, FABRIC_LOAD);
	room_publish(f);
}

void room_fini(struct fabric *f)
{
	tables_fini((struct tables *)f->view.tables);
	fake_pipe_fini(f);
}

void room_write_rows(struct fabric *f, const char *kind, const char *text)
{
	fake_take(f, kind, text);
	state_flush(f->services.state);
}

json_int_t answer_number(const struct answer *answer, const char *key)
{
	return json_integer_value(json_object_get(answer->result, key));
}

const char *answer_text(const struct answer *answer, const char *key)
{
	const char *text = json_string_value(json_object_get(answer->result, key));

	return text ? text : "";
}
