/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Cables between two fabrics, each with its manager: nothing moves until both admit them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/sm/election.h"
#include "tests/fabric/double_own.h"
#include "tests/lib/pods.h"

/* A cable between the first spines of two pods, each with its fmd; `cables` of them. */
static void plug_pods(struct pair *p, unsigned cables)
{
	const struct topo *t = p->a.design;
	const struct topo_node *spine = &t->nodes[topo_find(t, switch_at(&p->a, t, 1, 0))], *other;

	for (other = spine + 1; strncmp(other->desc, "pod1", 4) || other->level != 1;)
		other++;
	for (unsigned i = 0; i < cables; i++)
		double_plug(p->a.hw, spine->guid, spine->nports - i, other->guid,
			    other->nports - i);
}

static void start_pods(struct pair *p)
{
	start_fabric(&p->a);
	pair_start_b(p);
	run_for(&p->a, 6 * SECOND_US);
	assert_true(is_master_and_up(&p->a) && is_master_and_up(&p->b));
}

static void begin_pods(struct pair *p)
{
	pair_init(p, pods(2), 1, 1);
	start_pods(p);
}

static void assert_apart(struct pair *p, uint16_t *lids)
{
	run_for(&p->a, SECOND_US);
	assert_true(count_alerts(&p->a, "link-held", "") >= 1);
	assert_true(count_alerts(&p->b, "link-held", "") >= 1);
	run_for(&p->a, 60 * SECOND_US);
	assert_true(is_master_and_up(&p->a) && is_master_and_up(&p->b));
	assert_int_equal(count_logged(&p->a, "two-masters", ""), 0);
	assert_int_equal(count_logged(&p->a, "other-sm", ""), 0);
	assert_lids_are(&p->a, lids);
	assert_hardware_holds_the_tables(&p->a);
	assert_hardware_holds_the_tables(&p->b);
}

static void assert_cables_keep_apart(unsigned cables)
{
	struct pair p;
	uint16_t *lids;

	begin_pods(&p);
	lids = lids_held(&p.a);
	plug_pods(&p, cables);
	assert_apart(&p, lids);
	for (unsigned i = 0; i < 2; i++) {
		json_t *dry = admit(i ? &p.b : &p.a, "all", true).result;

		assert_int_equal(json_array_size(json_object_get(dry, "lids_to_move")),
				 p.a.design->nnodes / 2);
		json_decref(dry);
	}
	pair_fini(&p);
}

static void a_cable_to_another_fabric_moves_no_lid_and_both_say_so(void **state)
{
	assert_cables_keep_apart(1);
}

/* Pods whose devices take 8 ms, those of `slow`: its bits are the first and the second pod. */
static void assert_slow_pods_are_listed(unsigned slow, unsigned cables)
{
	struct pair p;

	begin_pods(&p);
	for (uint32_t n = 0; n < p.a.design->nnodes; n++) {
		guid_t guid = p.a.design->nodes[n].guid;
		bool second = guid >> 32 != sm_host(&p.a, 0) >> 32;

		if (slow & (second ? 2 : 1))
			double_set_time(p.a.hw, guid, 8000);
	}
	plug_pods(&p, cables);
	run_for(&p.a, SECOND_US);
	for (unsigned i = 0; i < 2; i++) {
		json_t *dry = admit(i ? &p.b : &p.a, "all", true).result;

		assert_int_equal(json_array_size(json_object_get(dry, "lids_to_move")),
				 p.a.design->nnodes / 2);
		assert_null(json_object_get(dry, "unread"));
		json_decref(dry);
	}
	pair_fini(&p);
}

/* No port is disabled before the managers on both of its sides have read the LIDs behind it. */
static void the_lids_of_a_slow_fabric_are_listed_by_both_managers(void **state)
{
	for (unsigned cables = 1; cables <= 2; cables++)
		for (unsigned slow = 1; slow <= 3; slow++)
			assert_slow_pods_are_listed(slow, cables);
}

static void two_cables_to_another_fabric_move_no_lid(void **state)
{
	assert_cables_keep_apart(2);
}

/* A disabled port does not show that its cable was pulled: an operator says so. */
static void a_port_whose_cable_was_pulled_is_enabled_by_forget(void **state)
{
	struct pair p;
	struct reply reply = { 0 };
	uint16_t *lids;
	guid_t spine;
	unsigned spare;
	char what[32];

	begin_pods(&p);
	lids = lids_held(&p.a);
	plug_pods(&p, 1);
	assert_apart(&p, lids);
	spine = switch_at(&p.a, p.a.design, 1, 0);
	spare = p.a.design->nodes[topo_find(p.a.design, spine)].nports;
	double_cut(p.a.hw, spine, spare);
	snprintf(what, sizeof(what), "0x%016llx:%u", (unsigned long long)spine, spare);
	links_out_forget(p.a.fabric, what, reply_cb, &reply);
	run_for(&p.a, 5 * SECOND_US);
	assert_int_equal(reply.count, 1);
	assert_int_equal(reply.error[0], '\0');
	json_decref(reply.result);
	assert_int_equal(held(&p.a), 0);
	assert_int_equal(count_alerts(&p.a, "link-held", ""), 0);
	plug_pods(&p, 1); /* it is not let in by that */
	run_for(&p.a, 30 * SECOND_US);
	assert_true(is_master_and_up(&p.a) && is_master_and_up(&p.b));
	pair_fini(&p);
}

/* Where a LID is to go by the answer of a dry run; 0 = it stays. */
static unsigned listed(const json_t *result, unsigned lid, bool ours)
{
	JSON_EACH (row, json_object_get(result, "lids_to_move")) {
		bool at = json_integer_value(json_object_get(row, "lid")) == lid;

		if (at && json_is_true(json_object_get(row, "ours")) == ours)
			return (unsigned)json_integer_value(json_object_get(row, "to"));
	}
	return 0;
}

/* Both have admitted it. before: the LIDs at the dry runs of the two. */
static void assert_merged_as_listed(struct pair *p, uint16_t *before, json_t *dry[2], bool of_b)
{
	uint16_t *after;

	run_for(&p->a, 40 * SECOND_US);
	assert_int_equal(status_number(&p->a, NULL, "hcas"), p->a.design->ncas);
	assert_well_managed_by(&p->a);
	assert_true(has_role(&p->b, "standby"));
	assert_int_equal(count_logged(&p->a, "sm-not-allowed", ""), 0);
	assert_int_equal(count_logged(&p->b, "sm-not-allowed", ""), 0);
	after = lids_held(&p->a);
	for (uint32_t n = 0; n < p->a.design->nnodes; n++) {
		bool at_b = p->a.design->nodes[n].guid >> 32 != sm_host(&p->a, 0) >> 32;
		unsigned to = listed(dry[at_b], before[n], true);

		assert_true(!to || at_b == of_b);
		assert_int_equal(after[n], to ? to : before[n]);
		assert_int_equal(listed(dry[!at_b], before[n], false), to);
	}
	json_decref(dry[0]);
	json_decref(dry[1]);
	free(before);
	free(after);
}

/*
 * Both sides admit the cable: one manager is left, all links are in use, and those LIDs have moved
 * that both listed before, and no other. of_b: those are of the second fabric.
 */
static void merge(struct pair *p, unsigned moves, bool of_b)
{
	struct reply reply;
	uint16_t *before;
	json_t *dry[2];

	before = lids_held(&p->a);
	plug_pods(p, 1);
	assert_apart(p, lids_held(&p->a));
	for (unsigned i = 0; i < 2; i++) {
		reply = admit(i ? &p->b : &p->a, "all", true);
		dry[i] = reply.result;
		assert_int_equal(json_array_size(json_object_get(dry[i], "lids_to_move")), moves);
	}
	assert_string_equal(json_string_value(json_object_get(dry[0], "master")), "this manager");
	assert_int_equal(strncmp(json_string_value(json_object_get(dry[1], "master")), "0x0", 3),
			 0);
	reply = admit(&p->a, "all", false);
	assert_int_equal(reply.error[0], '\0');
	json_decref(reply.result);
	run_for(&p->a, 5 * SECOND_US);
	assert_true(is_master_and_up(&p->a) &&
		    is_master_and_up(&p->b)); /* the other holds it still */
	reply = admit(&p->b, "all", false);
	assert_int_equal(reply.error[0], '\0');
	json_decref(reply.result);
	assert_merged_as_listed(p, before, dry, of_b);
	assert_int_equal(count_logged(&p->a, "take-over", ""), 1);
	assert_int_equal(count_logged(&p->a, "master", ""), 1);
}

static void assert_merges(struct pair *p, unsigned moves, bool of_b)
{
	merge(p, moves, of_b);
	pair_fini(p);
}

static void a_merge_moves_the_lids_that_were_listed_before_and_no_other(void **state)
{
	struct pair p;

	begin_pods(&p);
	assert_merges(&p, p.a.design->nnodes / 2, true);
}

/* ---- A manager that is busy when the cable comes --------------------------------------------- */

/* What came for it meanwhile, which it hears later. */
struct mail {
	struct io_addr from;
	size_t len;
	uint8_t mad[WIRE_MAD_SIZE];
};

static struct busy {
	struct io *io;
	io_recv_fn *recv;
	struct mail mail[4096];
	unsigned count;
} busy;

static void put_by(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct mail *it = &busy.mail[busy.count++];

	assert_true(busy.count < sizeof(busy.mail) / sizeof(*it) && len <= sizeof(it->mad));
	it->from = *from;
	it->len = len;
	memcpy(it->mad, mad, len);
}

static void be_busy(struct io *io)
{
	busy.io = io;
	busy.recv = io->recv;
	busy.count = 0;
	io->recv = put_by;
}

static void go_on(void)
{
	busy.io->recv = busy.recv;
	for (unsigned i = 0; i < busy.count; i++)
		busy.recv(busy.io->arg, &busy.mail[i].from, busy.mail[i].mad, busy.mail[i].len);
}

/* A manager that was busy while the other end was enabled. */
static void a_dry_run_without_a_list_says_why(void **state)
{
	struct pair p;
	json_t *dry;

	begin_pods(&p);
	be_busy(p.io_b);
	plug_pods(&p, 1);
	run_for(&p.a, SECOND_US / 2);
	go_on();
	run_for(&p.a, SECOND_US / 5);
	assert_int_equal(held(&p.b), 1);
	dry = admit(&p.b, "all", true).result;
	assert_null(json_object_get(dry, "lids_to_move"));
	assert_non_null(strstr(json_string_value(json_object_get(dry, "unread")),
			       "a dry run of its manager lists"));
	json_decref(dry);
	pair_fini(&p);
}

/*
 * The cable came while the second manager was away, so that one sees it when the first has admitted
 * it, and holds it then, perhaps busy at first. It admits it some time later.
 */
static void assert_late_manager_merges(uint64_t busy_us, uint64_t later_us)
{
	struct pair p;
	uint16_t *before;
	json_t *dry[2];

	begin_pods(&p);
	pair_stop(&p.b);
	plug_pods(&p, 1);
	run_for(&p.a, SECOND_US);
	p.io_b = double_io_at(p.a.hw, sm_host(&p.a, p.a.design->ncas - 1), 1);
	pair_start_b(&p);
	run_for(&p.a, 6 * SECOND_US);
	assert_true(is_master_and_up(&p.a) && is_master_and_up(&p.b));
	before = lids_held(&p.a);
	dry[0] = admit(&p.a, "all", true).result;
	be_busy(p.io_b);
	json_decref(admit(&p.a, "all", false).result);
	run_for(&p.a, busy_us);
	go_on();
	for (unsigned ms = 0; ms < 10000 && !held(&p.b); ms++)
		run_for(&p.a, 1000);
	run_for(&p.a, later_us);
	dry[1] = admit(&p.b, "all", true).result;
	assert_non_null(dry[1]);
	assert_int_equal(json_array_size(json_object_get(dry[1], "lids_to_move")),
			 p.a.design->nnodes / 2);
	json_decref(admit(&p.b, "all", false).result);
	assert_merged_as_listed(&p, before, dry, true);
	pair_fini(&p);
}

static void who_was_away_when_the_cable_came_merges_as_was_listed(void **state)
{
	assert_late_manager_merges(0, 40000);
	assert_late_manager_merges(0, 120000);
	assert_late_manager_merges(0, 10 * SECOND_US);
	assert_late_manager_merges(300000, 120000);
	assert_late_manager_merges(600000, 120000);
}

/* The manager of the smaller one becomes the master: its own LIDs move. */
static void a_merge_moves_lids_of_the_smaller_fabric_whoever_is_master(void **state)
{
	struct pair p;

	pair_init(&p, pods_of(2, 3), 1, 1);
	start_pods(&p);
	assert_merges(&p, (p.a.design->nnodes - 8) / 2, false);
}

/* The one that hands over does so before it has met the other fabric, of slow devices. */
static void managers_ask_each_other_before_they_sweep_what_was_admitted(void **state)
{
	struct pair p;
	uint64_t asked, written;

	begin_pods(&p);
	plug_pods(&p, 1);
	run_for(&p.a, 10 * SECOND_US);
	json_decref(admit(&p.a, "all", false).result);
	run_for(&p.a, 5 * SECOND_US);
	for (uint32_t n = 0; n < p.a.design->nnodes; n++)
		double_set_time(p.a.hw, p.a.design->nodes[n].guid, 3000);
	asked = double_sent_by(p.io_b, WIRE_GET, WIRE_NODE_INFO);
	written = sets_by(p.io_b);
	json_decref(admit(&p.b, "all", false).result);
	for (unsigned ms = 0; ms < 10000 && has_role(&p.b, "master"); ms++)
		run_for(&p.a, 1000);
	assert_true(has_role(&p.b, "standby"));
	assert_in_range(double_sent_by(p.io_b, WIRE_GET, WIRE_NODE_INFO) - asked, 0, 10);
	assert_in_range(sets_by(p.io_b) - written, 0, 4);
	pair_fini(&p);
}

/* With ranges that differ both keep all of their LIDs. */
static void a_merge_of_two_lid_ranges_moves_no_lid(void **state)
{
	struct pair p;

	pair_init(&p, pods(2), 1, 1);
	strcpy(p.a.conf.routing.lid_range, "1-127");
	strcpy(p.b.conf.routing.lid_range, "128-256");
	start_pods(&p);
	assert_merges(&p, 0, true);
}

/*
 * Each names its own manager alone in allowed_sm_guids and isolates others: `admit` names the
 * manager behind the link. Hosts whose LID was an SM LID of the other fabric are no managers.
 */
static void merge_with_guards(struct pair *p)
{
	pair_init(p, pods(2), 1, 1);
	for (struct world *w = &p->a; w; w = w == &p->a ? &p->b : NULL) {
		const struct topo *t = w->design;
		uint32_t host = w == &p->a ? t->nswitches : t->nnodes - 1;

		snprintf(w->conf.sm.allowed, sizeof(w->conf.sm.allowed), "0x%llx",
			 (unsigned long long)topo_port(t, host, 1)->guid);
		w->conf.sm.foreign_action = CONF_SM_ISOLATE;
	}
	start_pods(p);
	merge(p, p->a.design->nnodes / 2, true);
}

static void an_admitted_manager_is_allowed_and_bystanders_stay_in_use(void **state)
{
	struct pair p;

	merge_with_guards(&p);
	pair_fini(&p);
}

/* Also after a restart; and another GUID is none that was admitted. */
static void a_manager_that_was_revoked_is_not_allowed(void **state)
{
	struct pair p;
	struct reply reply = { 0 };
	char guid[32];

	merge_with_guards(&p);
	admission_revoke(links_out_admission(p.a.fabric), "0x1234", reply_cb, &reply);
	assert_non_null(strstr(reply.error, "was admitted"));
	run_for(&p.a, 5 * SECOND_US);
	assert_int_equal(count_alerts(&p.a, "sm-not-allowed", ""), 0);
	snprintf(guid, sizeof(guid), "0x%016llx",
		 (unsigned long long)topo_port(p.a.design, p.a.design->nnodes - 1, 1)->guid);
	reply = (struct reply){ 0 };
	admission_revoke(links_out_admission(p.a.fabric), guid, reply_cb, &reply);
	assert_int_equal(reply.error[0], '\0');
	assert_string_equal(json_string_value(json_object_get(reply.result, "port_guid")), guid);
	json_decref(reply.result);
	run_for(&p.a, 2 * SECOND_US);
	assert_int_equal(count_alerts(&p.a, "sm-not-allowed", guid), 1);
	assert_int_equal(count_logged(&p.a, "manager-revoked", guid), 1);
	pair_stop(&p.b);
	pair_stop(&p.a);
	start_fabric(&p.a);
	pair_start_b(&p);
	run_for(&p.a, 10 * SECOND_US);
	assert_int_equal(count_alerts(&p.a, "sm-not-allowed", guid), 1);
	pair_fini(&p);
}

/* The other has disabled its end by then, and who starts sees that a link came and went. */
static void who_starts_beside_an_end_that_was_disabled_says_so(void **state)
{
	struct pair p;
	uint16_t *lids;

	begin_pods(&p);
	lids = lids_held(&p.a);
	pair_stop(&p.b);
	plug_pods(&p, 1);
	run_for(&p.a, SECOND_US);
	p.io_b = double_io_at(p.a.hw, sm_host(&p.a, p.a.design->ncas - 1), 1);
	pair_start_b(&p);
	run_for(&p.a, SECOND_US);
	assert_int_equal(count_alerts(&p.b, "link-held", "its other end may be disabled"), 1);
	assert_apart(&p, lids);
	pair_stop(&p.b);
	p.io_b = double_io_at(p.a.hw, sm_host(&p.a, p.a.design->ncas - 1), 1);
	pair_start_b(&p);
	run_for(&p.a, 2 * SECOND_US);
	assert_int_equal(count_alerts(&p.b, "link-held", "its other end may be disabled"), 1);
	assert_int_equal(held(&p.b), 1);
	json_decref(admit(&p.a, "all", false).result);
	run_for(&p.a, 2 * SECOND_US);
	assert_int_equal(held(&p.b), 1);
	assert_int_equal(count_alerts(&p.b, "link-held", "its port here is disabled"), 1);
	pair_fini(&p);
}

/* The other has disabled its end by then; who is busy knows by which port it was asked. */
static void who_is_busy_when_the_cable_comes_holds_it_too(void **state)
{
	struct pair p;
	uint16_t *lids;
	json_t *rows;

	begin_pods(&p);
	lids = lids_held(&p.a);
	be_busy(p.io_b);
	plug_pods(&p, 1);
	run_for(&p.a, SECOND_US / 2);
	go_on();
	run_for(&p.a, SECOND_US / 5);
	assert_int_equal(count_alerts(&p.b, "link-held", "pod1"), 1);
	assert_int_equal(count_alerts(&p.b, "link-held", "other end is disabled"), 1);
	assert_apart(&p, lids);
	assert_int_equal(held(&p.a), 1);
	assert_int_equal(held(&p.b), 1);
	rows = admission_rows(links_out_admission(p.b.fabric));
	assert_int_equal(json_array_size(rows), 1);
	json_decref(rows);
	json_decref(admit(&p.a, "all", false).result);
	json_decref(admit(&p.b, "all", false).result);
	run_for(&p.a, 60 * SECOND_US);
	assert_well_managed_by(&p.a);
	assert_int_equal(held(&p.b), 0);
	assert_true(has_role(&p.b, "standby"));
	pair_fini(&p);
}

/* What is asked by that way again and again has that switch read ten times a second, no more. */
static void a_flood_of_questions_has_one_switch_read_now_and_then(void **state)
{
	struct pair p;
	uint64_t reads;

	begin_pods(&p);
	be_busy(p.io_b);
	plug_pods(&p, 1);
	run_for(&p.a, SECOND_US / 2);
	reads = double_sent_by(p.io_b, WIRE_GET, WIRE_SWITCH_INFO);
	for (unsigned i = 0; i < 200; i++) {
		go_on();
		run_for(&p.a, 5000);
	}
	assert_in_range(double_sent_by(p.io_b, WIRE_GET, WIRE_SWITCH_INFO) - reads, 1, 20);
	assert_int_equal(held(&p.b), 1);
	pair_fini(&p);
}

/* Who holds it that way judges it when it is met, and forgets it where the cable was pulled. */
static void what_was_held_unseen_is_judged_when_it_is_met(void **state)
{
	struct pair p;

	begin_pods(&p);
	be_busy(p.io_b);
	plug_pods(&p, 1);
	run_for(&p.a, SECOND_US / 2);
	go_on();
	run_for(&p.a, SECOND_US / 5);
	assert_int_equal(held(&p.b), 1);
	json_decref(admit(&p.a, "all", false).result);
	run_for(&p.a, 2 * SECOND_US);
	assert_int_equal(held(&p.b), 1);
	assert_int_equal(count_alerts(&p.b, "link-held", "its port here is disabled"), 1);
	assert_true(is_master_and_up(&p.a) && is_master_and_up(&p.b));
	pair_fini(&p);
}

/* It has asked by that way, and the PortStateChange that it cleared is the one of this cable. */
static void a_cable_is_met_though_the_other_manager_cleared_portstatechange(void **state)
{
	struct pair p;
	guid_t other;

	begin_pods(&p);
	other = switch_at(&p.a, p.a.design, 1, 0) + (1ull << 32);
	be_busy(p.io_b);
	plug_pods(&p, 1);
	run_for(&p.a, SECOND_US / 2);
	go_on();
	run_for(&p.a, SECOND_US / 5);
	assert_int_equal(count_alerts(&p.b, "link-held", "other end is disabled"), 1);
	be_busy(p.io_b);
	json_decref(admit(&p.a, "all", false).result);
	run_for(&p.a, SECOND_US / 2);
	double_node(p.a.hw, other)->si.port_state_change = false;
	go_on();
	run_for(&p.a, SECOND_US / 5);
	assert_int_equal(count_alerts(&p.b, "link-held", "its port here is disabled"), 1);
	pair_fini(&p);
}

/* A known link is missing, and the cable to the other fabric is in its port. */
static void who_is_busy_holds_a_cable_in_the_port_of_a_missing_link(void **state)
{
	struct pair p;
	const struct topo *t;
	guid_t spine, other;

	begin_pods(&p);
	t = p.a.design;
	spine = switch_at(&p.a, t, 1, 0);
	other = spine + (1ull << 32);
	double_cut(p.a.hw, other, 1);
	run_for(&p.a, 5 * SECOND_US);
	assert_true(is_master_and_up(&p.b));
	be_busy(p.io_b);
	double_plug(p.a.hw, spine, t->nodes[topo_find(t, spine)].nports, other, 1);
	run_for(&p.a, SECOND_US / 2);
	go_on();
	run_for(&p.a, SECOND_US / 5);
	assert_int_equal(count_alerts(&p.b, "link-held", "other end is disabled"), 1);
	assert_int_equal(held(&p.b), 1);
	assert_int_equal(status_number(&p.b, NULL, "links_down"), 1);
	assert_true(is_master_and_up(&p.a) && is_master_and_up(&p.b));
	pair_fini(&p);
}

/* The other fabric's manager is master and stays it; this one's operator has admitted the cable. */
static void admit_beside_a_master(struct pair *p)
{
	struct wire_sm_info info = { .sm_key = 1, .priority = 1, .state = SM_MASTER };
	uint32_t last;

	begin_pods(p);
	last = p->a.design->ncas - 1;
	pair_stop(&p->b);
	info.guid = topo_port(p->a.design, p->a.design->nswitches + last, 1)->guid;
	double_set_sm(p->a.hw, sm_host(&p->a, last), 1, &info);
	plug_pods(p, 1);
	run_for(&p->a, 2 * SECOND_US);
	assert_int_equal(held(&p->a), 1);
	json_decref(admit(&p->a, "all", false).result);
}

/* Of two masters one hands over first: what is the other's is not written to until then. */
static void a_master_that_was_admitted_has_time_to_hand_over(void **state)
{
	struct pair p;
	uint16_t *lids;

	admit_beside_a_master(&p);
	lids = lids_held(&p.a);
	run_for(&p.a, 3 * SECOND_US);
	assert_int_equal(held(&p.a), 0);
	assert_int_equal(count_alerts(&p.a, "two-masters", ""), 1);
	assert_lids_are(&p.a, lids);
	run_for(&p.a, 6 * SECOND_US); /* it does not */
	assert_int_equal(status_number(&p.a, NULL, "hcas"), p.a.design->ncas);
	pair_fini(&p);
}

/* What was seen of it is no part of this fabric, and has no LID here. */
static void an_admitted_cable_that_the_other_side_holds_leaves_nothing(void **state)
{
	struct pair p;
	guid_t spine;

	admit_beside_a_master(&p);
	run_for(&p.a, SECOND_US);
	spine = switch_at(&p.a, p.a.design, 1, 0);
	double_cut(p.a.hw, spine, p.a.design->nodes[topo_find(p.a.design, spine)].nports);
	run_for(&p.a, 10 * SECOND_US);
	assert_int_equal(status_number(&p.a, NULL, "switches"), p.a.design->nswitches / 2);
	assert_int_equal(status_number(&p.a, NULL, "hcas"), p.a.design->ncas / 2);
	pair_fini(&p);
}

/* The cable comes while one of them is away; it holds it at its start, and again after the next. */
static void a_restart_holds_what_is_new_and_what_was_held(void **state)
{
	struct pair p;
	uint16_t *lids;
	json_t *dry;

	begin_pods(&p);
	lids = lids_held(&p.a);
	pair_stop(&p.a);
	pair_stop(&p.b);
	plug_pods(&p, 1);
	p.io_b = double_io_at(p.a.hw, sm_host(&p.a, p.a.design->ncas - 1), 1);
	start_fabric(&p.a);
	pair_start_b(&p);
	assert_apart(&p, lids);
	lids = lids_held(&p.a);
	pair_stop(&p.a);
	start_fabric(&p.a);
	run_for(&p.a, 2 * SECOND_US);
	assert_apart(&p, lids);
	dry = admit(&p.a, "all", true).result;
	assert_int_equal(json_array_size(json_object_get(dry, "lids_to_move")),
			 p.a.design->nnodes / 2);
	assert_string_equal(json_string_value(json_object_get(dry, "master")), "this manager");
	json_decref(dry);
	pair_fini(&p);
}

/* A pod without a manager, and without LIDs: too many hosts to come at once. */
static void many_unknown_hosts_stay_in_init(void **state)
{
	struct world w;
	guid_t spine;
	unsigned spare;

	world_init_stopped(&w, pods(2));
	log_set_level(-1, LOG_ERR - 1);
	w.conf.admission.max_hosts = 16;
	start_fabric(&w);
	run_for(&w, 6 * SECOND_US);
	assert_true(is_up(&w));
	spine = switch_at(&w, w.design, 1, 0);
	spare = w.design->nodes[topo_find(w.design, spine)].nports;
	double_plug(w.hw, spine, spare, spine + (1ull << 32), spare);
	run_for(&w, SECOND_US);
	assert_int_equal(held(&w), 1);
	assert_int_equal(count_alerts(&w, "link-held", "admission_max_hosts"), 1);
	run_for(&w, 60 * SECOND_US);
	assert_true(is_up(&w));
	assert_int_equal(held(&w), 1);
	assert_int_equal(double_link_state(w.hw, spine, spare), TOPO_INIT);
	assert_int_equal(double_port_info(w.hw, spine + (1ull << 32), 0)->lid, 0);
	world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cable_to_another_fabric_moves_no_lid_and_both_say_so),
		cmocka_unit_test(two_cables_to_another_fabric_move_no_lid),
		cmocka_unit_test(the_lids_of_a_slow_fabric_are_listed_by_both_managers),
		cmocka_unit_test(a_dry_run_without_a_list_says_why),
		cmocka_unit_test(a_port_whose_cable_was_pulled_is_enabled_by_forget),
		cmocka_unit_test(a_merge_moves_the_lids_that_were_listed_before_and_no_other),
		cmocka_unit_test(a_merge_moves_lids_of_the_smaller_fabric_whoever_is_master),
		cmocka_unit_test(who_was_away_when_the_cable_came_merges_as_was_listed),
		cmocka_unit_test(who_starts_beside_an_end_that_was_disabled_says_so),
		cmocka_unit_test(managers_ask_each_other_before_they_sweep_what_was_admitted),
		cmocka_unit_test(a_merge_of_two_lid_ranges_moves_no_lid),
		cmocka_unit_test(an_admitted_manager_is_allowed_and_bystanders_stay_in_use),
		cmocka_unit_test(a_manager_that_was_revoked_is_not_allowed),
		cmocka_unit_test(who_is_busy_when_the_cable_comes_holds_it_too),
		cmocka_unit_test(who_is_busy_holds_a_cable_in_the_port_of_a_missing_link),
		cmocka_unit_test(a_flood_of_questions_has_one_switch_read_now_and_then),
		cmocka_unit_test(what_was_held_unseen_is_judged_when_it_is_met),
		cmocka_unit_test(a_cable_is_met_though_the_other_manager_cleared_portstatechange),
		cmocka_unit_test(a_master_that_was_admitted_has_time_to_hand_over),
		cmocka_unit_test(an_admitted_cable_that_the_other_side_holds_leaves_nothing),
		cmocka_unit_test(a_restart_holds_what_is_new_and_what_was_held),
		cmocka_unit_test(many_unknown_hosts_stay_in_init),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
