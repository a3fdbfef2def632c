/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tests/lib/sa_world.h"
#include "fm/sweep/sweep.h"
#include "topology/snapshot/topo_builder.h"

int world_send(struct io *io, const struct io_addr *to, const uint8_t *mad, size_t len,
	       unsigned timeout_ms)
{
	struct world *w = (struct world *)io;

	if (!w->sent || w->sent_len != len) /* a sanitizer's realloc copies and moves */
		w->sent = mem_resize(w->sent, len ? len : 1, 1);
	memcpy(w->sent, mad, len);
	w->sent_len = len;
	w->sent_to = *to;
	w->nsent++;
	if (w->hook)
		w->hook(w, to, mad);
	return 0;
}

int world_set_is_sm(struct io *io, bool on)
{
	return 0;
}

void world_io_free(struct io *io)
{
}

const struct io_ops world_io_ops = {
	.send = world_send,
	.set_is_sm = world_set_is_sm,
	.free = world_io_free,
};

/*
 * ---- The inventory ----------------------------------------------------------------------------
 */

static const struct world_link world_hdr = { 2, 4, 4 }, world_hdr_2x = { 16, 4, 4 },
			       world_ndr = { 2, 4, 8 }, world_edr = { 2, 4, 2 },
			       world_fdr_1x = { 1, 4, 1 };

static struct inv_node *world_node(struct world *w, guid_t guid, uint8_t type, uint8_t nports,
				   const char *desc)
{
	struct wire_node_info info = {
		.base_version = 1,
		.class_version = 1,
		.type = type,
		.nports = nports,
		.sys_guid = guid,
		.node_guid = guid,
		.port_guid = type == TOPO_SWITCH ? guid : guid + 1,
		.local_port = type == TOPO_SWITCH ? 0 : 1,
		.partition_cap = type == TOPO_SWITCH ? 8 : 64,
		.device = (uint16_t)(0x1000 + type),
		.revision = 0xa0,
		.vendor = 0x2c9,
	};
	struct inv_node *node = inventory_add(&w->inv, &info);

	inventory_set_desc(&w->inv, node, desc);
	node->have_desc = true;
	for (unsigned p = 1; type != TOPO_SWITCH && p <= nports; p++)
		node->port_guids[p] = guid + p;
	if (type == TOPO_SWITCH)
		node->sw = (struct wire_switch_info){
			.lft_cap = 49152,
			.mft_cap = 4096,
			.enforce_cap = 32,
			.life_time = 18,
			.flags = (uint8_t)((guid & 1) << 3),
		};
	return node;
}

static void world_port(struct inv_node *node, uint8_t num, const struct world_link *link,
		       uint8_t mtu_cap, uint32_t capmask, uint16_t capmask2)
{
	struct wire_port_info info = {
		.mkey = WORLD_MKEY + num,
		.gid_prefix = WORLD_PREFIX,
		.capmask = capmask,
		.capmask2 = capmask2,
		.local_port = num,
		.width_enabled = 2,
		.width_supported = 3,
		.speed_supported = 7,
		.speed_enabled = 7,
		.state = link ? TOPO_ACTIVE : TOPO_DOWN,
		.phys_state = link ? 5 : 2,
		.vl_cap = 4,
		.mtu_cap = mtu_cap,
		.neighbor_mtu = mtu_cap,
		.op_vls = (uint8_t)(num & 3),
		.subnet_timeout = 18,
		.resp_time = 16,
		.guid_cap = node->info.type == TOPO_SWITCH && num ? 0 : (uint8_t)(num ? 16 : 1),
		.qkey_violations = num,
	};
	uint8_t data[64];

	if (link) {
		info.width_active = link->width;
		info.speed_active = link->speed;
		info.speed_ext_active = link->ext;
	}
	wire_port_info_encode(&info, data);
	inventory_set_port_info(node, num, data);
}

static void world_join(struct world *w, struct inv_node *a, uint8_t pa, struct inv_node *b,
		       uint8_t pb, const struct world_link *link, uint8_t mtu_b)
{
	const uint32_t ext = WIRE_CAP_EXT_SPEEDS | WIRE_CAP_HAS_CAPMASK2;
	bool host = b->info.type != TOPO_SWITCH;

	world_port(a, pa, link, 5, 0, 0);
	world_port(b, pb, link, mtu_b, host ? ext | 0x10u << pb : 0,
		   host && link->ext >= 4 ? WIRE_CAP2_HDR : 0);
	inventory_link(&w->inv, a, pa, b, pb);
}

static void world_cables(struct world *w, struct inv_node *sw[4], struct inv_node *ca[6])
{
	static const struct world_link *const links[] = {
		&world_hdr, &world_ndr, &world_edr, &world_hdr_2x, &world_fdr_1x, &world_hdr
	};

	for (unsigned i = 0; i < 6; i++)
		world_join(w, sw[i / 3], (uint8_t)(1 + i % 3), ca[i], 1, links[i], i == 2 ? 4 : 5);
	world_join(w, sw[0], 4, ca[5], 2, &world_hdr, 5);
	world_join(w, sw[0], 7, sw[2], 1, &world_ndr, 5);
	world_join(w, sw[0], 8, sw[3], 1, &world_ndr, 5);
	world_join(w, sw[1], 7, sw[2], 2, &world_ndr, 5);
	world_join(w, sw[1], 8, sw[3], 2, &world_edr, 4);
	world_join(w, sw[0], 6, sw[3], 5, &world_ndr, 5);
	inventory_link_down(&w->inv, sw[0], 6);
}

static void world_inventory(struct world *w)
{
	struct inv_node *sw[4], *ca[6];
	char desc[32];

	inventory_init(&w->inv);
	sweep_open_columns(&w->inv);
	for (unsigned i = 0; i < 4; i++) {
		snprintf(desc, sizeof(desc), "%s-%u", i < 2 ? "leaf" : "spine", i % 2);
		sw[i] = world_node(w, WORLD_SW(i), TOPO_SWITCH, 8, desc);
		world_port(sw[i], 0, i == 3 ? &world_hdr : NULL, 5, WIRE_CAP_EXT_SPEEDS, 0);
		for (uint8_t p = 1; p <= 8; p++)
			world_port(sw[i], p, NULL, 5, 0, 0);
	}
	for (unsigned i = 0; i < 6; i++) {
		snprintf(desc, sizeof(desc), "host-%u mlx5_0", i);
		ca[i] = world_node(w, WORLD_CA(i), TOPO_CA, i == 5 ? 2 : 1, desc);
	}
	world_cables(w, sw, ca);
	w->inv.local = ca[0];
	w->inv.local_port = 1;
}

/*
 * ---- Life -------------------------------------------------------------------------------------
 */

uint32_t world_port_of(const struct world *w, guid_t port_guid)
{
	return topo_find_port(w->topo, port_guid);
}

uint16_t world_lid(const struct world *w, guid_t port_guid)
{
	return w->lids->lid_of_port[world_port_of(w, port_guid)];
}

/* The plan gives one LID each; this port has two, as with LMC 1. */
static void world_second_lid(struct world *w, guid_t port_guid)
{
	uint32_t port = world_port_of(w, port_guid);
	uint16_t base = (uint16_t)((w->lids->top + 2) & ~1);

	w->lids->port_of_lid = mem_resize(w->lids->port_of_lid, base + 2, sizeof(uint32_t));
	for (unsigned lid = w->lids->top + 1; lid < base; lid++)
		w->lids->port_of_lid[lid] = TOPO_NONE;
	w->lids->port_of_lid[w->lids->lid_of_port[port]] = TOPO_NONE;
	w->lids->port_of_lid[base] = w->lids->port_of_lid[base + 1] = port;
	w->lids->lid_of_port[port] = base;
	w->lids->top = base + 1;
}

void world_publish(struct world *w)
{
	struct lid_memory memory = { 0 };
	struct route *route = route_new();
	int err;

	w->topo = topo_freeze(inventory_snapshot_builder(&w->inv));
	w->lids = lid_plan(w->topo, &memory, 0);
	world_second_lid(w, WORLD_CA(4) + 1);
	err = route_compute(route, w->topo, w->lids, &(struct route_params){ 0 }, &w->tables);
	assert(!err);
	(void)err;
	route_free(route);
	for (uint32_t sw = 0; sw < w->topo->nswitches; sw++) /* the second LID goes the same way */
		tables_row(&w->tables, sw)[w->lids->top] =
			tables_row(&w->tables, sw)[w->lids->top - 1];
	w->view = (struct sa_view){
		.topo = w->topo,
		.lids = w->lids,
		.tables = &w->tables,
		.sm_lid = world_lid(w, WORLD_CA(0) + 1),
	};
	sa_publish(w->sa, &w->view);
}

struct world *world_new(void)
{
	struct world *w = mem_alloc(1, sizeof(*w));
	const struct sa_conf conf = {
		.gid_prefix = WORLD_PREFIX,
		.sa_key = WORLD_SM_KEY,
		.subnet_timeout = 18,
	};

	w->io.ops = &world_io_ops;
	w->loop = loop_new_simulated();
	w->mad = mad_new(w->loop, &w->io, &(struct mad_conf){ 0 });
	world_inventory(w);
	w->sa = sa_new(w->loop, w->mad, &w->inv, &conf);
	sa_show_priority(w->sa, 7);
	return w;
}

void world_free(struct world *w)
{
	sa_free(w->sa);
	mad_free(w->mad);
	loop_free(w->loop);
	tables_fini(&w->tables);
	lid_map_free(w->lids);
	topo_unref(w->topo);
	inventory_fini(&w->inv);
	free(w->sent);
	free(w);
}

/*
 * ---- Requests ---------------------------------------------------------------------------------
 */

unsigned world_ask(struct world *w, const struct world_request *r)
{
	struct wire_mad header = {
		.mgmt_class = WIRE_SA,
		.class_version = 2,
		.method = r->method,
		.tid = 0x123456789abcdef0ull + w->nsent,
		.attr_id = r->attr,
		.attr_mod = r->mod,
		.key = r->sm_key,
	};
	struct io_addr from = { .lid = r->from, .qp = r->qp ? r->qp : 1, .sl = 3 };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	unsigned before = w->nsent;

	if (!from.lid && w->topo)
		from.lid = world_lid(w, WORLD_CA(0) + 1);
	wire_mad_encode(&header, mad);
	for (unsigned i = 0; i < 8; i++)
		mad[48 + i] = (uint8_t)(r->mask >> (56 - 8 * i));
	if (r->len)
		memcpy(mad + WIRE_SA_HEADER, r->data, r->len);
	w->io.recv(w->io.arg, &from, mad, r->cut ? r->cut : sizeof(mad));
	loop_run(w->loop);
	return w->nsent - before;
}

uint16_t world_status(const struct world *w)
{
	return (uint16_t)(w->sent[4] << 8 | w->sent[5]);
}

const uint8_t *world_row(const struct world *w, unsigned i)
{
	unsigned size = (unsigned)(w->sent[44] << 8 | w->sent[45]) * 8;

	return w->sent + WIRE_SA_HEADER + (size_t)i * size;
}

unsigned world_rows(const struct world *w)
{
	unsigned size = (unsigned)(w->sent[44] << 8 | w->sent[45]) * 8;

	if (world_status(w) || !size)
		return 0;
	return w->sent[3] == WIRE_GET_TABLE_RESP || w->sent[3] == WIRE_GET_MULTI_RESP
		       ? (unsigned)((w->sent_len - WIRE_SA_HEADER) / size)
		       : 1;
}
