/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The cables have a speed each of XDR, NDR, HDR and EDR. Tables are written for the five LIDs; the
 * links are led up as a subnet manager would.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <string.h>
#include "tests/fabric/double_world.h"
#include "topology/snapshot/topo_builder.h"

static int add_node(struct topo_builder *b, guid_t guid, uint8_t type, uint8_t nports,
		    const char *desc)
{
	const struct topo_node attr = {
		.guid = guid, .desc = desc, .type = type, .nports = nports, .vendor = 0x2c9
	};

	return topo_builder_node(b, &attr);
}

static void add_cable(struct topo_builder *b, int a, unsigned pa, int z, unsigned pz,
		      enum topo_speed speed)
{
	const struct topo_port attr = { .speed = (uint8_t)speed, .width = 4 };

	assert_int_equal(topo_builder_port(b, a, pa, &attr), 0);
	assert_int_equal(topo_builder_port(b, z, pz, &attr), 0);
	assert_int_equal(topo_builder_link(b, a, pa, z, pz, true), 0);
}

static struct topo *small_fabric(void)
{
	struct topo_builder *b = topo_builder_new();
	int leaf1 = add_node(b, LEAF1, TOPO_SWITCH, 40, "leaf-01");
	int leaf2 = add_node(b, LEAF2, TOPO_SWITCH, 40, "leaf-02");
	int spine = add_node(b, SPINE, TOPO_SWITCH, 4, "spine-01");
	int h1 = add_node(b, H1, TOPO_CA, 1, "h1 mlx5_0");
	int h2 = add_node(b, H2, TOPO_CA, 1, "h2 mlx5_0");

	add_cable(b, leaf1, 1, h1, 1, TOPO_NDR);
	add_cable(b, leaf2, 1, h2, 1, TOPO_EDR);
	add_cable(b, leaf1, 9, spine, 1, TOPO_XDR);
	add_cable(b, leaf2, 9, spine, 2, TOPO_HDR);
	return topo_freeze(b);
}

static void trap_cb(void *arg, const struct io_addr *from, const struct wire_mad *mad,
		    const uint8_t *raw, size_t len)
{
	struct double_world *w = arg;
	uint8_t copy[WIRE_MAD_SIZE];

	w->heard = *mad;
	if (mad->method != WIRE_TRAP)
		return;
	memcpy(copy, raw, sizeof(copy));
	w->traps++;
	wire_notice_decode(wire_smp_data(copy), &w->trap);
}

static void set_cb(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	((struct double_world *)arg)->sets++;
}

void double_world_init(struct double_world *w, const struct double_conf *conf)
{
	const struct mad_conf mad_conf = { .timeout_ms = 100, .retries = 2 };

	*w = (struct double_world){ .loop = loop_new_simulated(), .topo = small_fabric() };
	w->d = double_new(w->loop, w->topo, H1, 1, conf);
	w->mad = mad_new(w->loop, double_io(w->d), &mad_conf);
	mad_handle(w->mad, WIRE_SMI_LID, trap_cb, w);
	mad_handle(w->mad, WIRE_SMI_DR, trap_cb, w);
	mad_handle(w->mad, WIRE_SA, trap_cb, w);
	double_on_set(w->d, set_cb, w);
}

void double_world_fini(struct double_world *w)
{
	mad_free(w->mad);
	double_free(w->d);
	topo_unref(w->topo);
	loop_free(w->loop);
}

static void done_cb(void *arg, const struct mad_answer *answer)
{
	struct double_world *w = arg;

	w->done++;
	w->last = *answer;
	if (answer->data)
		memcpy(w->data, answer->data, sizeof(w->data));
}

const struct mad_path to_h1 = { .hops = 0 };
const struct mad_path to_leaf1 = { .hops = 1, .ports = { 1 } };
const struct mad_path to_spine = { .hops = 2, .ports = { 1, 9 } };
const struct mad_path to_leaf2 = { .hops = 3, .ports = { 1, 9, 2 } };
const struct mad_path to_h2 = { .hops = 4, .ports = { 1, 9, 2, 1 } };

enum mad_result double_world_ask(struct double_world *w, struct mad_request request)
{
	request.method = request.data ? WIRE_SET : WIRE_GET;
	return double_world_send(w, request);
}

enum mad_result double_world_send(struct double_world *w, struct mad_request request)
{
	unsigned before = w->done;

	mad_send(w->mad, &request, done_cb, w);
	loop_run(w->loop);
	assert_int_equal(w->done, before + 1);
	return w->last.result;
}

enum mad_result double_world_get(struct double_world *w, const struct mad_path *path,
				 uint16_t attr_id, uint32_t mod)
{
	return double_world_ask(
		w, (struct mad_request){ .path = path, .attr_id = attr_id, .attr_mod = mod });
}

enum mad_result double_world_set(struct double_world *w, const struct mad_path *path,
				 uint16_t attr_id, uint32_t mod, const uint8_t data[64])
{
	return double_world_ask(
		w, (struct mad_request){
			   .path = path, .attr_id = attr_id, .attr_mod = mod, .data = data });
}

enum mad_result double_world_change(struct double_world *w, const struct mad_path *path,
				    unsigned port, port_change_fn *change, unsigned value)
{
	struct wire_port_info info;
	uint8_t data[64];

	assert_int_equal(double_world_get(w, path, WIRE_PORT_INFO, port), MAD_OK);
	wire_port_info_decode(w->data, &info);
	info.state = 0;
	if (!info.lid)
		info.lid = 0x99;
	change(&info, value);
	wire_port_info_encode(&info, data);
	return double_world_set(w, path, WIRE_PORT_INFO, port, data);
}

void change_state(struct wire_port_info *info, unsigned value)
{
	info->state = (uint8_t)value;
}

void change_lid(struct wire_port_info *info, unsigned value)
{
	info->lid = (uint16_t)value;
	info->sm_lid = LID_H1;
}

void change_phys(struct wire_port_info *info, unsigned value)
{
	info->phys_state = (uint8_t)value;
}

void change_mtu(struct wire_port_info *info, unsigned value)
{
	info->neighbor_mtu = (uint8_t)value;
}

void double_world_set_top(struct double_world *w, const struct mad_path *path, uint16_t top)
{
	struct wire_switch_info si;
	uint8_t data[64];

	assert_int_equal(double_world_get(w, path, WIRE_SWITCH_INFO, 0), MAD_OK);
	wire_switch_info_decode(w->data, &si);
	si.lft_top = top;
	si.port_state_change = true;
	wire_switch_info_encode(&si, data);
	assert_int_equal(double_world_set(w, path, WIRE_SWITCH_INFO, 0, data), MAD_OK);
}

static void table_set(struct double_world *w, const struct mad_path *path, const uint8_t ports[6])
{
	uint8_t block[64];

	memset(block, 255, sizeof(block));
	memcpy(block, ports, 6);
	assert_int_equal(double_world_set(w, path, WIRE_LFT, 0, block), MAD_OK);
	double_world_set_top(w, path, 5);
}

static void hear(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct double_heard *heard = arg;

	heard->count++;
	memcpy(heard->mad, mad, sizeof(heard->mad));
}

struct double_heard double_world_ask_gmp(struct double_world *w, uint16_t lid,
					 const uint8_t mad[WIRE_MAD_SIZE])
{
	const struct io_addr to = { .lid = lid, .qp = 1 };
	struct double_heard heard = { 0 };

	double_inject(w->d, H2, 1, &to, mad, WIRE_MAD_SIZE, hear, &heard);
	loop_run(w->loop);
	return heard;
}

void double_world_bring_up(struct double_world *w)
{
	const struct mad_path *paths[] = { &to_h1, &to_h2, &to_leaf1, &to_leaf2, &to_spine };
	const struct {
		const struct mad_path *path;
		unsigned port;
	} ends[] = { { &to_h1, 1 },    { &to_leaf1, 1 }, { &to_leaf1, 9 }, { &to_spine, 1 },
		     { &to_spine, 2 }, { &to_leaf2, 9 }, { &to_leaf2, 1 }, { &to_h2, 1 } };

	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(double_world_change(w, paths[i], i < 2, change_lid, i + 1),
				 MAD_OK);
	table_set(w, &to_leaf1, (uint8_t[]){ 255, 1, 9, 0, 9, 9 });
	table_set(w, &to_spine, (uint8_t[]){ 255, 1, 2, 1, 2, 0 });
	table_set(w, &to_leaf2, (uint8_t[]){ 255, 9, 1, 9, 0, 9 });
	for (unsigned state = TOPO_ARMED; state <= TOPO_ACTIVE; state++)
		for (unsigned i = 0; i < 8; i++)
			assert_int_equal(double_world_change(w, ends[i].path, ends[i].port,
							     change_state, state),
					 MAD_OK);
	assert_int_equal(double_ports_not_active(w->d), 0);
}
