/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "tests/lib/sa_pod.h"

void publish_pod(struct world *w, unsigned units)
{
	struct route *route = route_new();
	char err[128];

	topo_unref(w->topo);
	lid_map_free(w->lids);
	w->topo = generate_superpod(GENERATE_H100, units, true, err, sizeof(err));
	assert_non_null(w->topo);
	w->lids = lid_plan(w->topo, &(struct lid_memory){ 0 }, 0);
	assert_int_equal(
		route_compute(route, w->topo, w->lids, &(struct route_params){ 0 }, &w->tables), 0);
	route_free(route);
	w->view.topo = w->topo;
	w->view.lids = w->lids;
	w->view.sm_lid = 1;
	sa_publish(w->sa, &w->view);
}

void post_from(struct world *w, const struct world_request *r, uint16_t lid, uint64_t tid)
{
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = r->method,
					 .attr_id = r->attr,
					 .key = r->sm_key,
					 .tid = tid };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };

	wire_mad_encode(&header, mad);
	w->io.recv(w->io.arg, &(struct io_addr){ .lid = lid, .qp = 1 }, mad, sizeof(mad));
}

void post(struct world *w, const struct world_request *r)
{
	post_from(w, r, 1, w->nsent);
}
