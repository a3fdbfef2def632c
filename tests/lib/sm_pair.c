/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "tests/lib/sm_pair.h"

guid_t sm_host(const struct world *w, uint32_t number)
{
	return w->design->nodes[w->design->nswitches + number].guid;
}

void pair_init(struct pair *p, struct topo *design, int priority_a, int priority_b)
{
	struct world *a = &p->a, *b = &p->b;

	log_set_level(-1, LOG_ERR - 1);
	*p = (struct pair){ .a = { .design = design, .loop = loop_new_simulated() } };
	a->hw = double_new(a->loop, design, sm_host(a, 0), 1, NULL);
	a->stop = loop_timer_new(a->loop, stop_cb, a->loop);
	*b = *a;
	p->io_b = double_io_at(a->hw, sm_host(a, design->ncas - 1), 1);
	for (struct world *w = a; w; w = w == a ? b : NULL) {
		strcpy(w->state_dir, "/tmp/fmd-test-XXXXXX");
		assert_non_null(mkdtemp(w->state_dir));
		conf_default(&w->conf);
		w->conf.audit.rate = 0;
		w->conf.sm.priority = w == a ? priority_a : priority_b;
		strcpy(w->conf.state_dir, w->state_dir);
	}
}

void pair_start_b(struct pair *p)
{
	const struct mad_conf mad = {
		.window_max = 64, .window_device = 16, .timeout_ms = 200, .retries = 3
	};

	p->b.mad = mad_new(p->b.loop, p->io_b, &mad);
	p->b.fabric = fabric_new(p->b.loop, p->b.mad, &p->b.conf, fabric_rooms);
	fabric_start(p->b.fabric);
}

void pair_stop(struct world *w)
{
	if (w->fabric)
		stop_fabric(w);
	w->fabric = NULL;
}

void pair_fini(struct pair *p)
{
	char command[160];

	pair_stop(&p->a);
	pair_stop(&p->b);
	double_free(p->a.hw);
	loop_timer_free(p->a.stop);
	loop_free(p->a.loop);
	topo_unref(p->a.design);
	snprintf(command, sizeof(command), "rm -r %s %s", p->a.state_dir, p->b.state_dir);
	assert_int_equal(system(command), 0);
}

bool has_role(const struct world *w, const char *role)
{
	json_t *status = fabric_status(w->fabric);
	bool same = !strcmp(json_string_value(json_object_get(status, "sm")), role);

	json_decref(status);
	return same;
}

bool is_master_and_up(const struct world *w)
{
	return has_role(w, "master") && is_up(w);
}

uint64_t sets_by(struct io *io)
{
	return double_sent_by(io, WIRE_SET, 0) - double_sent_by(io, WIRE_SET, WIRE_SM_INFO);
}

unsigned all_reregistered(const struct world *w)
{
	unsigned count = 0;

	for (uint32_t i = 0; i < w->design->ncas; i++)
		count += double_reregistered(w->hw, sm_host(w, i), 1);
	return count;
}

void handed_cb(void *arg, json_t *result, const char *error)
{
	struct handed *handed = arg;

	handed->done++;
	handed->errors += error != NULL;
	assert_true(!result == (error != NULL));
}

uint16_t *lids_held(const struct world *w)
{
	const struct topo *t = w->design;
	uint16_t *lids = mem_alloc(t->nnodes, sizeof(*lids));

	for (uint32_t n = 0; n < t->nnodes; n++)
		lids[n] = double_port_info(w->hw, t->nodes[n].guid, n < t->nswitches ? 0 : 1)->lid;
	return lids;
}

void assert_lids_are(const struct world *w, uint16_t *lids)
{
	uint16_t *now = lids_held(w);

	for (uint32_t n = 0; n < w->design->nnodes; n++)
		assert_int_equal(now[n], lids[n]);
	free(now);
	free(lids);
}

void assert_well_managed_by(const struct world *w)
{
	assert_true(is_master_and_up(w));
	assert_int_equal(double_ports_not_active(w->hw), 0);
	assert_hardware_holds_the_tables(w);
	assert_hardware_delivers(w, 7);
}

void other_sm_at(const struct world *w, uint32_t number, struct wire_sm_info info)
{
	info.guid =
		w->design->ports[w->design->nodes[w->design->nswitches + number].port0 + 1].guid;
	double_set_sm(w->hw, sm_host(w, number), 1, &info);
}

void begin_beside_sm(struct world *w, struct wire_sm_info info)
{
	world_init_stopped(w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	other_sm_at(w, 5, info);
	start_fabric(w);
	run_for(w, 20 * SECOND_US);
}
