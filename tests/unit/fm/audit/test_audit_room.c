/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The audit of forwarding tables and its repairs: this room alone, with a pipe that only looks like
 * one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>
#include "fm/audit/module.h"
#include "fm/multicast/module.h"
#include "fm/sa/module.h"
#include "fm/program/mft.h"
#include "fm/program/program.h"
#include "fm/program/audit.h"
#include "tests/lib/sweep_bench.h"
#include "tests/lib/fake_pipe.h"

#define SECOND_US 1000000ull

#define CONTAINER(fabric) ((struct room *)((char *)(fabric)-offsetof(struct room, f)))

struct room {
	struct bench b;
	struct fabric f;
	struct program *program;
	struct mft *mft;
	struct tables tables;
	unsigned written;	    /* applies of either kind that ended */
	unsigned rewrites, nunheld; /* asked of the rooms of multicast and of links_out */
	struct table_block unheld;  /* the latest */
	guid_t sw;
};

/* The rooms that this one calls. */
void multicast_rewrite(struct fabric *f)
{
	CONTAINER(f)->rewrites++;
}

bool multicast_busy(const struct fabric *f)
{
	return false;
}

bool sa_holds_guids(const struct fabric *f, guid_t port, unsigned block, struct port_table *table)
{
	return false;
}

void sa_read_guids(const struct fabric *f, const struct inv_node *node, uint8_t num,
		   const struct port_table *table, const uint8_t *data)
{
}

static void unheld(void *arg, const struct table_block *block)
{
	struct room *r = arg;

	r->nunheld++;
	r->unheld = *block;
}

static void lft_written(void *arg, const struct program_result *result)
{
	struct room *r = arg;

	r->written++;
	r->f.module->programmed(r->f.room, &(struct fabric_programmed){ .tables = result });
}

static void mft_written(void *arg, const struct mft_result *result)
{
	struct room *r = arg;

	r->written++;
	r->f.module->programmed(r->f.room, &(struct fabric_programmed){ .multicast = result });
}

/* What an update does, and a round of multicast. */
static void write_tables(struct room *r)
{
	program_apply(r->program, r->b.found, &r->tables, lft_written, r);
	mft_apply(r->mft, r->b.found, MCAST_FIRST_MLID, true, mft_written, r);
	fake_run_for(&r->f, SECOND_US);
}

/* A fabric whose switches hold their tables; the audit reads 100 blocks a second of them. */
static void begin(struct room *r)
{
	uint16_t ports[MCAST_POSITIONS] = { 6 };

	*r = (struct room){ 0 };
	bench_init(&r->b, design_pgft2(), NULL);
	bench_discover(&r->b);
	r->sw = r->b.found->nodes[0].guid;
	r->program = program_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep), 18);
	r->mft = mft_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep));
	tables_resize(&r->tables, r->b.found->nswitches, 127);
	r->b.bringup = bringup_new(r->b.loop, r->b.mad, sweep_inventory(r->b.sweep), &bringup_conf);
	fake_pipe_init_on(&r->f, &audit_module, topo_ref(r->b.found),
			  &(struct fabric_services){ .loop = r->b.loop,
						     .mad = r->b.mad,
						     .program = r->program,
						     .mft = r->mft,
						     .bringup = r->b.bringup,
						     .inventory = sweep_inventory(r->b.sweep) });
	audit_listen(&r->f, unheld, r);
	r->f.view.tables = &r->tables;
	r->f.conf.audit.rate = 0;
	r->f.conf.audit.after_ms = 0;
	r->f.module->configure(r->f.room);
	mft_want(r->mft, r->sw, MCAST_FIRST_MLID, ports);
	r->f.module->settled(r->f.room, FABRIC_SETTLED);
	write_tables(r);
	assert_int_equal(r->written, 2);
	double_sent_reset(r->b.d);
}

static void end(struct room *r)
{
	fake_pipe_fini(&r->f);
	tables_fini(&r->tables);
	mft_free(r->mft);
	program_free(r->program);
	bench_fini(&r->b);
}

static void audit_for(struct room *r, uint64_t us)
{
	r->f.conf.audit.rate = 100;
	r->f.module->configure(r->f.room);
	fake_run_for(&r->f, us);
	r->f.conf.audit.rate = 0;
	r->f.module->configure(r->f.room);
}

static unsigned repaired(const struct room *r)
{
	json_t *doc = json_object();
	unsigned count;

	r->f.module->status(r->f.room, doc);
	count = (unsigned)json_integer_value(
		json_object_get(json_object_get(doc, "audit"), "repaired"));
	json_decref(doc);
	return count;
}

static void nothing_is_read_while_the_fabric_is_not_idle(void **state)
{
	struct room r;

	begin(&r);
	r.f.updating = true;
	audit_for(&r, 10 * SECOND_US);
	assert_int_equal(gets(&r.b, WIRE_LFT), 0);
	r.f.updating = false;
	audit_for(&r, 10 * SECOND_US);
	assert_true(gets(&r.b, WIRE_LFT) > 100);
	assert_true(gets(&r.b, WIRE_MFT) > 10);
	assert_int_equal(r.f.asked.reroutes, 0);
	end(&r);
}

/* A host on the manager's leaf that asks it for SMInfo, three thousand times a second. */
struct client {
	struct mad *mad;
	struct loop_timer *timer;
	struct mad_path path;
};

static void unanswered(void *arg, const struct mad_answer *answer)
{
}

static void ask(void *arg)
{
	struct client *c = arg;

	for (unsigned i = 0; i < 30; i++)
		mad_send(c->mad,
			 &(struct mad_request){ .path = &c->path,
						.method = WIRE_GET,
						.attr_id = WIRE_SM_INFO,
						.timeout_ms = 1,
						.once = true },
			 unanswered, NULL);
	loop_timer_set(c->timer, SECOND_US / 100);
}

static void clients_that_ask_much_come_before_the_audit(void **state)
{
	static const struct mad_conf conf = { .window_max = 64, .window_device = 64 };
	struct client client = { 0 };
	const struct topo_node *ca;
	const struct topo_port *sm, *own;
	struct room r;
	unsigned alone;

	begin(&r);
	ca = design_sm(r.b.design) + 1;
	sm = topo_peer(r.b.design, &r.b.design->ports[design_sm(r.b.design)->port0 + 1]);
	own = topo_peer(r.b.design, &r.b.design->ports[ca->port0 + 1]);
	assert_int_equal(own->node, sm->node);
	client.path = (struct mad_path){ .hops = 2, .ports = { 1, sm->num } };
	client.mad = mad_new(r.b.loop, double_io_at(r.b.d, ca->guid, 1), &conf);
	client.timer = loop_timer_new(r.b.loop, ask, &client);
	audit_for(&r, 16 * SECOND_US);
	alone = gets(&r.b, WIRE_LFT);
	double_sent_reset(r.b.d);
	loop_timer_set(client.timer, 1);
	audit_for(&r, 16 * SECOND_US);
	assert_in_range(gets(&r.b, WIRE_LFT), alone / 16, alone / 4);
	loop_timer_stop(client.timer);
	double_sent_reset(r.b.d);
	audit_for(&r, 16 * SECOND_US);
	assert_in_range(gets(&r.b, WIRE_LFT), alone - alone / 8, alone + alone / 8);
	loop_timer_free(client.timer);
	mad_free(client.mad);
	end(&r);
}

static void a_block_that_differs_is_written_again_and_is_repaired_when_it_is_read_so(void **state)
{
	struct room r;

	begin(&r);
	double_set_lft(r.b.d, r.sw, 70, 3);
	audit_for(&r, 5 * SECOND_US);
	assert_int_equal(r.f.asked.reroutes, 1);
	assert_int_equal(repaired(&r), 0);
	write_tables(&r);
	assert_int_equal(repaired(&r), 1);
	assert_int_equal(fake_events(&r.f, "audit", NULL), 1);
	assert_int_equal(r.nunheld, 0);
	end(&r);
}

static void a_multicast_block_that_differs_has_multicast_write_it_again(void **state)
{
	struct room r;
	const char *text;

	begin(&r);
	double_flip_mft(r.b.d, r.sw, MCAST_FIRST_MLID, 3);
	audit_for(&r, 5 * SECOND_US);
	assert_int_equal(r.rewrites, 1);
	assert_int_equal(r.f.asked.reroutes, 0);
	write_tables(&r);
	assert_false(double_mft(r.b.d, r.sw, MCAST_FIRST_MLID, 3));
	assert_int_equal(repaired(&r), 1);
	fake_events(&r.f, "audit", &text);
	assert_non_null(strstr(text, "multicast block 0"));
	assert_int_equal(r.nunheld, 0);
	end(&r);
}

static void a_block_that_is_wrong_twice_is_reported_and_not_repaired(void **state)
{
	struct room r;

	begin(&r);
	double_set_lft(r.b.d, r.sw, 70, 3);
	double_set_pretends(r.b.d, r.sw, true);
	audit_mismatch(&r.f, r.sw, 1); /* as an operator's readback does */
	program_forget(r.program, r.sw);
	write_tables(&r);
	assert_int_equal(r.nunheld, 1);
	assert_int_equal(r.unheld.sw, r.sw);
	assert_int_equal(r.unheld.kind, TABLE_LFT);
	assert_int_equal(r.unheld.block, 1);
	assert_int_equal(repaired(&r), 0);
	assert_int_equal(fake_events(&r.f, "audit", NULL), 0);
	end(&r);
}

static void a_multicast_block_that_is_wrong_twice_is_reported(void **state)
{
	struct room r;

	begin(&r);
	double_flip_mft(r.b.d, r.sw, MCAST_FIRST_MLID, 3);
	double_set_pretends(r.b.d, r.sw, true);
	audit_for(&r, 5 * SECOND_US);
	write_tables(&r);
	assert_int_equal(r.nunheld, 1);
	assert_int_equal(r.unheld.kind, TABLE_MFT);
	assert_int_equal(r.unheld.block, 0);
	end(&r);
}

static void one_that_is_known_not_to_hold_its_tables_is_not_repaired(void **state)
{
	struct room r;

	begin(&r);
	inv_node_mark(inv(&r.b, r.sw), INV_WRONG_TABLES, true);
	double_set_lft(r.b.d, r.sw, 70, 3);
	double_flip_mft(r.b.d, r.sw, MCAST_FIRST_MLID, 3);
	audit_for(&r, 5 * SECOND_US);
	assert_int_equal(r.f.asked.reroutes + r.rewrites, 0);
	end(&r);
}

static void what_was_not_acknowledged_is_not_judged(void **state)
{
	struct room r;

	begin(&r);
	double_set_lft(r.b.d, r.sw, 70, 3);
	audit_mismatch(&r.f, r.sw, 1);
	r.f.module->programmed(
		r.f.room,
		&(struct fabric_programmed){ .tables = &(struct program_result){ .failed = 1 } });
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(gets(&r.b, WIRE_LFT), 0);
	end(&r);
}

static void an_answer_that_may_be_older_than_a_write_is_not_judged(void **state)
{
	struct room r;

	begin(&r);
	double_set_lft(r.b.d, r.sw, 70, 3);
	audit_mismatch(&r.f, r.sw, 1);
	r.f.module->programmed(
		r.f.room, &(struct fabric_programmed){ .tables = &(struct program_result){ 0 } });
	r.f.programming = true;
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(gets(&r.b, WIRE_LFT),
			 1 + 2); /* it differs: both blocks of the switch are read */
	assert_int_equal(r.nunheld, 0);
	assert_int_equal(repaired(&r), 0);
	end(&r);
}

static void nobody_hears(void *arg, const struct program_result *result)
{
}

/* The rest of the tables is read at one block a second, and has not come so far by then. */
static void an_answer_that_is_not_judged_is_asked_for_again(void **state)
{
	struct tables newer = { 0 };
	struct room r;
	guid_t last;

	begin(&r);
	last = r.b.found->nodes[r.b.found->nswitches - 1].guid;
	r.f.conf.audit.rate = 1;
	r.f.module->configure(r.f.room);
	audit_mismatch(&r.f, last, 1);
	tables_copy(&newer, &r.tables);
	for (uint32_t sw = 0; sw < r.b.found->nswitches; sw++)
		tables_row(&newer, sw)[5] = 2;
	program_apply(r.program, r.b.found, &newer, nobody_hears, NULL);
	r.f.module->programmed(
		r.f.room, &(struct fabric_programmed){ .tables = &(struct program_result){ 0 } });
	fake_run_for(&r.f, SECOND_US / 2);
	assert_int_equal(repaired(&r), 0);
	fake_run_for(&r.f, 2 * SECOND_US);
	assert_int_equal(repaired(&r), 1);
	end(&r);
	tables_fini(&newer);
}

/*
 * Members joined while the block was being read; their round of multicast has not begun to write.
 */
static void joined_meanwhile(void *arg, const struct mft_result *result)
{
	uint16_t ports[MCAST_POSITIONS] = { 14 };
	struct room *r = arg;

	mft_written(r, result);
	mft_want(r->mft, r->sw, MCAST_FIRST_MLID, ports);
}

static void a_multicast_block_that_is_to_change_by_now_is_not_judged(void **state)
{
	struct room r;

	begin(&r);
	double_flip_mft(r.b.d, r.sw, MCAST_FIRST_MLID, 3);
	audit_for(&r, 5 * SECOND_US);
	mft_apply(r.mft, r.b.found, MCAST_FIRST_MLID, true, joined_meanwhile, &r);
	fake_run_for(&r.f, SECOND_US);
	assert_int_equal(r.nunheld, 0);
	assert_int_equal(repaired(&r), 0);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(nothing_is_read_while_the_fabric_is_not_idle),
		cmocka_unit_test(clients_that_ask_much_come_before_the_audit),
		cmocka_unit_test(
			a_block_that_differs_is_written_again_and_is_repaired_when_it_is_read_so),
		cmocka_unit_test(a_multicast_block_that_differs_has_multicast_write_it_again),
		cmocka_unit_test(a_block_that_is_wrong_twice_is_reported_and_not_repaired),
		cmocka_unit_test(a_multicast_block_that_is_wrong_twice_is_reported),
		cmocka_unit_test(one_that_is_known_not_to_hold_its_tables_is_not_repaired),
		cmocka_unit_test(what_was_not_acknowledged_is_not_judged),
		cmocka_unit_test(an_answer_that_may_be_older_than_a_write_is_not_judged),
		cmocka_unit_test(an_answer_that_is_not_judged_is_asked_for_again),
		cmocka_unit_test(a_multicast_block_that_is_to_change_by_now_is_not_judged),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
