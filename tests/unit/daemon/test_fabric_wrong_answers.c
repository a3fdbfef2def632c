/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Tier: long. Random answers by the thousand. */
/*
 * Devices with wrong answers. SMP answers are falsified on their way to the daemon, or switches
 * acknowledge a Set and do not execute it. While that lasts nothing crashes, and an alert names the
 * device; a minute or two after it has ended the fabric is as before, without a command.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/restart/module.h"
#include "tests/fabric/double_falsify.h"
#include "tests/fabric/double_own.h"
#include "tests/fabric/fault.h"
#include "tests/lib/fabric_world.h"

#ifdef __SANITIZE_ADDRESS__
#define SEEDS 3 /* it takes twenty times as long */
#else
#define SEEDS 12
#endif
#define FALSE_S 30
#define TRUE_S	60
/* What verification finds wrong 25 s later, and is then taken for one that holds no Set. */
#define RANDOM_S 135
#define SMP_HOPS 7  /* 0: the own adapter answers, which is believed */
#define SMP_DATA 64 /* where it begins */

struct falsifier {
	struct world w;
	io_recv_fn *recv;
	void *arg;
	uint64_t seed;
	unsigned per_mille, falsified;
	bool on;
	guid_t who;		 /* one alone, of one_falsified().. */
	unsigned bit;		 /* ..of its NodeInfo */
	unsigned subnet_timeout; /* of a host that shows it, one answer has another MTU */
	bool name;		 /* one NodeDescription has a wrong bit */
};

static unsigned dice(struct falsifier *l, unsigned sides)
{
	return (unsigned)(damage_random(&l->seed) % sides);
}

static guid_t get_guid(const uint8_t *at)
{
	guid_t guid = 0;

	for (unsigned i = 0; i < 8; i++)
		guid = guid << 8 | at[i];
	return guid;
}

/* The NodeInfo of one node, once, with a bit that is wrong in its GUIDs. */
static void one_falsified(struct falsifier *l, uint8_t *mad)
{
	uint8_t *data = mad + SMP_DATA;

	if (((unsigned)mad[16] << 8 | mad[17]) != WIRE_NODE_INFO || get_guid(data + 12) != l->who)
		return;
	data[12 + l->bit / 8] ^= (uint8_t)(1u << l->bit % 8);
	l->falsified++;
	l->on = false;
}

#define PORT_INFO_MTU		 36
#define PORT_INFO_SUBNET_TIMEOUT 51
#define WRONG_MTU		 1

static void mtu_falsified(struct falsifier *l, uint8_t *mad)
{
	uint8_t *data = mad + SMP_DATA;

	if (((unsigned)mad[16] << 8 | mad[17]) != WIRE_PORT_INFO || !mad[23] ||
	    (data[PORT_INFO_SUBNET_TIMEOUT] & 0x1fu) != l->subnet_timeout)
		return;
	data[PORT_INFO_MTU] = (uint8_t)((data[PORT_INFO_MTU] & 0x0f) | WRONG_MTU << 4);
	l->falsified++;
	l->on = false;
}

static void name_falsified(struct falsifier *l, uint8_t *mad)
{
	if (((unsigned)mad[16] << 8 | mad[17]) != WIRE_NODE_DESC)
		return;
	mad[SMP_DATA + 3] ^= 2;
	l->falsified++;
	l->on = false;
}

static void any_falsified(struct falsifier *l, uint8_t *mad)
{
	double_falsify(l->w.design, &l->seed, mad);
	l->falsified++;
}

static void falsifier_recv(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct falsifier *l = arg;
	uint8_t copy[4096];
	bool far = mad[1] == WIRE_SMI_LID || (mad[1] == WIRE_SMI_DR && mad[SMP_HOPS]);

	if (l->on && len <= sizeof(copy) && far && mad[3] & 0x80) {
		memcpy(copy, mad, len);
		if (l->who)
			one_falsified(l, copy);
		else if (l->subnet_timeout)
			mtu_falsified(l, copy);
		else if (l->name)
			name_falsified(l, copy);
		else if (dice(l, 1000) < l->per_mille)
			any_falsified(l, copy);
		mad = copy;
	}
	l->recv(l->arg, from, mad, len);
}

/* Between the double and fmd, as fmd is now. */
static void listen_in(struct falsifier *l)
{
	struct io *io = double_io(l->w.hw);

	l->recv = io->recv;
	l->arg = io->arg;
	io->recv = falsifier_recv;
	io->arg = l;
}

static void falsifier_init(struct falsifier *l)
{
	*l = (struct falsifier){ .seed = 1 };
	world_init(&l->w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	l->w.conf.audit.rate = 100;
	l->w.conf.audit.after_ms =
		10000; /* what a wrong answer hides of a table is the audit's to find */
	fabric_configure(l->w.fabric, &l->w.conf);
	listen_in(l);
}

static void restart(struct falsifier *l)
{
	stop_fabric(&l->w);
	start_fabric(&l->w);
	listen_in(l);
}

static guid_t switch_guid(const struct world *w, uint32_t sw)
{
	return w->design->nodes[sw].guid;
}

static guid_t host_guid(const struct world *w, uint32_t host)
{
	return w->design->nodes[w->design->nswitches + host].guid;
}

/* ---- As before ------------------------------------------------------------------------------- */

/* But for those of files that a test took away. */
static unsigned alerts_now(const struct world *w)
{
	json_t *status = fabric_status(w->fabric), *alert;
	unsigned count = 0;
	size_t i;

	json_array_foreach (json_object_get(status, "alerts"), i, alert)
		count += strcmp(json_string_value(json_object_get(alert, "what")), "state-lost") !=
			 0;
	json_decref(status);
	return count;
}

static unsigned wrong_entries(const struct world *w)
{
	const struct topo *t = fabric_topo(w->fabric);
	const struct tables *tables = fabric_tables(w->fabric);
	unsigned wrong = 0;

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= tables->top; lid++)
			wrong += topo_find(w->design, t->nodes[sw].guid) == TOPO_NONE ||
				 double_lft(w->hw, t->nodes[sw].guid, (uint16_t)lid) !=
					 tables_row(tables, sw)[lid];
	return wrong;
}

/* What is not as it should be, or "". */
static const char *what_differs(const struct world *w)
{
	if (!is_up(w))
		return "not up";
	if (status_number(w, NULL, "switches") != w->design->nswitches)
		return "switches";
	if (status_number(w, NULL, "hcas") != w->design->ncas)
		return "HCAs";
	if (status_number(w, NULL, "links_down"))
		return "links are down";
	if (status_number(w, "proof", "unreachable"))
		return "pairs are unreachable";
	for (uint32_t n = 0; n < w->design->nnodes; n++)
		if (topo_find(fabric_topo(w->fabric), w->design->nodes[n].guid) == TOPO_NONE)
			return "a node is not known";
	if (double_ports_not_active(w->hw))
		return "ports are not Active";
	if (wrong_entries(w))
		return "tables are not as published";
	if (dead_pairs(w))
		return "pairs are dead";
	return alerts_now(w) ? "alerts last" : "";
}

static void print_rows(const char *what, json_t *rows)
{
	char *text = json_dumps(rows, JSON_INDENT(1));

	print_error("%s: %s\n", what, text);
	free(text);
}

static void print_alerts(const struct world *w)
{
	json_t *status = fabric_status(w->fabric), *down = links_down(w->fabric);

	print_rows("alerts", json_object_get(status, "alerts"));
	print_rows("links down", down);
	json_decref(status);
	json_decref(down);
}

/* Within a minute. */
static void assert_as_before(struct world *w, const char *what)
{
	unsigned s;

	for (s = 0; s < TRUE_S && *what_differs(w); s++)
		run_for(w, SECOND_US);
	if (*what_differs(w)) {
		print_error("%s: %s after %u s; switches %g of %u, HCAs %g of %u, down %g\n", what,
			    what_differs(w), s, status_number(w, NULL, "switches"),
			    w->design->nswitches, status_number(w, NULL, "hcas"), w->design->ncas,
			    status_number(w, NULL, "links_down"));
		print_alerts(w);
	}
	assert_string_equal(what_differs(w), "");
}

/* ---- Anything at random ---------------------------------------------------------------------- */

/*
 * The environment may set FMD_FALSE_SEEDS, the number of fabrics; FMD_FALSE_SEED, the first seed;
 * FMD_FALSE_PER_MILLE, how many of all answers are false.
 */
static uint64_t number_of(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

#define HOSTS_MAX 64
/*
 * Per mille. An answer that is falsified twice alike is believed, and then a LID may move or a link
 * be known that never was. That is a matter of chance: next to none at the first rate, rare at the
 * last one.
 */
#define LIDS_RATE 2
static const unsigned rates[] = { LIDS_RATE, 15, 30 };

static void list_lids(const struct world *w, uint16_t lids[HOSTS_MAX])
{
	assert_true(w->design->ncas <= HOSTS_MAX);
	for (uint32_t host = 0; host < w->design->ncas; host++)
		lids[host] = lid_of(w, host);
}

static const char *what_is_wrong(const struct world *w, const uint16_t *before)
{
	const char *what = what_differs(w);
	uint16_t now[HOSTS_MAX];

	if (*what || !before)
		return what;
	list_lids(w, now);
	return memcmp(before, now, w->design->ncas * sizeof(*now)) ? "LIDs have moved" : "";
}

static void falsify_for_a_while(struct falsifier *l, unsigned per_mille)
{
	l->per_mille = per_mille;
	l->on = true;
	for (unsigned s = 0; s < FALSE_S; s++) {
		if (s % 5 == 1)
			double_reboot(l->w.hw, switch_guid(&l->w, dice(l, l->w.design->nswitches)));
		if (s % 7 == 3)
			restart(l);
		run_for(&l->w, SECOND_US);
	}
	l->on = false;
}

static bool random_falsifications(uint64_t seed)
{
	unsigned rate = (unsigned)number_of("FMD_FALSE_PER_MILLE", rates[seed % 3]), s;
	uint16_t before[HOSTS_MAX], *lids = rate <= LIDS_RATE ? before : NULL;
	const char *wrong;
	struct falsifier l;

	falsifier_init(&l);
	list_lids(&l.w, before);
	l.seed = seed;
	falsify_for_a_while(&l, rate);
	for (s = 0; s < RANDOM_S && *what_is_wrong(&l.w, lids); s++)
		run_for(&l.w, SECOND_US);
	wrong = what_is_wrong(&l.w, lids);
	if (*wrong)
		print_error("seed %llu, %u falsified: %s after %u s, switches %g hcas %g down %g\n",
			    (unsigned long long)seed, l.falsified, wrong, s,
			    status_number(&l.w, NULL, "switches"),
			    status_number(&l.w, NULL, "hcas"),
			    status_number(&l.w, NULL, "links_down"));
	if (*wrong)
		print_alerts(&l.w);
	world_fini(&l.w);
	return !*wrong;
}

static void some_time_after_random_false_answers_all_is_as_before(void **state)
{
	uint64_t first = number_of("FMD_FALSE_SEED", 1),
		 count = number_of("FMD_FALSE_SEEDS", SEEDS);
	uint64_t well = 0;

	for (uint64_t i = 0; i < count; i++)
		well += random_falsifications(first + i);
	assert_int_equal(well, count);
}

/* ---- One wrong answer ------------------------------------------------------------------------ */

static void one_wrong_bit(uint32_t node, unsigned bit, bool after_reboot)
{
	uint16_t lids[HOSTS_MAX], now[HOSTS_MAX];
	struct falsifier l;

	falsifier_init(&l);
	list_lids(&l.w, lids);
	l.who = l.w.design->nodes[node].guid;
	l.bit = bit;
	l.on = true;
	if (after_reboot) {
		double_reboot(l.w.hw, l.who);
	} else { /* met for the first time */
		stop_fabric(&l.w);
		remove_state(&l.w, "cables");
		remove_state(&l.w, "lids");
		start_fabric(&l.w);
		listen_in(&l);
	}
	run_for(&l.w, 5 * SECOND_US);
	assert_int_equal(l.falsified, 1);
	assert_as_before(&l.w, "one wrong bit");
	list_lids(&l.w, now);
	assert_memory_equal(now, lids, l.w.design->ncas * sizeof(*lids));
	world_fini(&l.w);
}

static void one_wrong_bit_of_a_guid_makes_no_ghost(void **state)
{
	struct topo *t = small_tree();
	uint32_t last = t->nswitches - 1, host = t->nswitches + 5;

	topo_unref(t);
	one_wrong_bit(last, 6, true);
	one_wrong_bit(last, 6, false);
	one_wrong_bit(1, 6, true);
	one_wrong_bit(host, 6, true);
	one_wrong_bit(host, 6, false);
}

/* Of a port's GUID: it would be another port, with another LID. */
static void one_wrong_bit_of_a_port_guid_lasts_no_minute(void **state)
{
	struct topo *t = small_tree();
	uint32_t host = t->nswitches + 5;

	topo_unref(t);
	one_wrong_bit(host, (20 - 12) * 8 + 6, true);
	one_wrong_bit(host, (20 - 12) * 8 + 6, false);
}

/* Of the local port number: the cable would be another. */
static void one_wrong_bit_of_a_port_moves_no_cable(void **state)
{
	struct topo *t = small_tree();
	uint32_t last = t->nswitches - 1;

	topo_unref(t);
	one_wrong_bit(last, (36 - 12) * 8 + 1, true);
	one_wrong_bit(last, (36 - 12) * 8 + 1, false);
}

/*
 * ---- Tables -------------------------------------------------------------------------------------
 */

struct listener { /* counts the blocks that a switch is given */
	guid_t sw;
	unsigned sets;
};

static void count_blocks(void *arg, guid_t node, uint16_t attr_id, uint32_t attr_mod)
{
	struct listener *listener = arg;

	listener->sets += node == listener->sw && attr_id == WIRE_LFT;
}

static void a_switch_that_holds_no_block_is_isolated_not_repaired(void **state)
{
	struct listener listener = { 0 };
	const char *name;
	struct world w;
	uint32_t spine;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	w.conf.audit.rate = 1000;
	w.conf.audit.after_ms = 10000;
	fabric_configure(w.fabric, &w.conf);
	for (spine = 0; w.design->nodes[spine].level != 1; spine++)
		;
	name = w.design->nodes[spine].desc;
	listener.sw = switch_guid(&w, spine);
	double_on_set(w.hw, count_blocks, &listener);
	fault_set(w.hw, fault_find("pretend"), listener.sw, 0, 1);
	double_reboot(w.hw, listener.sw);
	run_for(&w, 60 * SECOND_US);
	assert_int_equal(count_alerts(&w, "isolated", name), 1);
	assert_int_equal(count_logged(&w, "audit", name), 0); /* nothing of it was repaired */
	assert_int_equal(dead_pairs(&w), 0);
	listener.sets = 0;
	run_for(&w, 600 * SECOND_US);
	assert_true(listener.sets <= 11);
	assert_int_equal(count_alerts(&w, "isolated", name), 1);
	fault_set(w.hw, fault_find("pretend"), listener.sw, 0, 0);
	assert_as_before(&w, "it holds its blocks again");
	double_on_set(w.hw, NULL, NULL);
	world_fini(&w);
}

/* ---- GUIDs that are met twice ---------------------------------------------------------------- */

/* Pairs of hosts that do not reach each other, but for those of one leaf. */
static unsigned dead_elsewhere(const struct world *w, uint32_t leaf)
{
	const struct topo *t = w->design;
	unsigned dead = 0;

	for (uint32_t a = 0; a < t->ncas; a++)
		for (uint32_t b = 0; b < t->ncas; b++) {
			uint32_t at = topo_peer(t, topo_port(t, t->nswitches + a, 1))->node,
				 to = topo_peer(t, topo_port(t, t->nswitches + b, 1))->node;

			if (a != b && at != leaf && to != leaf)
				dead += double_trace(w->hw, host_guid(w, a), 1, lid_of(w, b)) < 0;
		}
	return dead;
}

static void a_switch_with_the_guid_of_another(uint32_t of)
{
	struct world w;
	uint32_t leaf;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	leaf = far_leaf(&w);
	double_set_guid(w.hw, switch_guid(&w, leaf), switch_guid(&w, of));
	double_reboot(w.hw, switch_guid(&w, leaf));
	run_for(&w, 30 * SECOND_US);
	assert_true(count_alerts(&w, "guid-twice", w.design->nodes[of].desc) > 0);
	assert_true(status_number(&w, NULL, "duplicate_guids") > 0);
	run_for(&w, 60 * SECOND_US); /* over polls, and a sweep */
	fabric_sweep(w.fabric, NULL, NULL);
	run_for(&w, 30 * SECOND_US);
	assert_true(count_alerts(&w, "guid-twice", w.design->nodes[of].desc) > 0);
	assert_true(status_number(&w, NULL, "duplicate_guids") > 0);
	assert_int_equal(dead_elsewhere(&w, leaf), 0);
	double_set_guid(w.hw, switch_guid(&w, leaf), switch_guid(&w, leaf));
	assert_as_before(&w, "its own GUID again");
	assert_int_equal(status_number(&w, NULL, "duplicate_guids"), 0);
	world_fini(&w);
}

static void a_switch_with_the_guid_of_another_is_named_and_left_out(void **state)
{
	a_switch_with_the_guid_of_another(0); /* the manager's own leaf */
	a_switch_with_the_guid_of_another(9);
}

/* Where the published snapshot has a host: its leaf and port. */
static const struct topo_port *seat_of(const struct world *w, guid_t host)
{
	const struct topo *t = fabric_topo(w->fabric);

	return topo_peer(t, topo_port(t, topo_find(t, host), 1));
}

static void the_first_host_of_a_guid_keeps_its_place(void **state)
{
	const struct topo_port *seat;
	struct world w;
	guid_t first, second;
	uint32_t leaf;
	unsigned num;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	first = host_guid(&w, 3);
	second = host_guid(&w, w.design->ncas - 2);
	double_set_guid(w.hw, second, first);
	double_reboot(w.hw, second);
	run_for(&w, 10 * SECOND_US);
	seat = seat_of(&w, first);
	assert_int_equal(fabric_topo(w.fabric)->nodes[seat->node].guid, switch_guid(&w, 0));
	num = seat->num;
	assert_true(count_alerts(&w, "guid-twice", w.design->nodes[w.design->nswitches + 3].desc) >
		    0);
	/* Something else happens at the other's leaf, and everywhere. */
	leaf = topo_peer(w.design, topo_port(w.design, w.design->nswitches + w.design->ncas - 2, 1))
		       ->node;
	for (unsigned i = 0; i < 3; i++) {
		double_cut(w.hw, switch_guid(&w, leaf), uplink_of(w.design, leaf));
		run_for(&w, 5 * SECOND_US);
		double_join(w.hw, switch_guid(&w, leaf), uplink_of(w.design, leaf));
		run_for(&w, 5 * SECOND_US);
		fabric_sweep(w.fabric, NULL, NULL);
		run_for(&w, 5 * SECOND_US);
		seat = seat_of(&w, first);
		assert_int_equal(fabric_topo(w.fabric)->nodes[seat->node].guid, switch_guid(&w, 0));
		assert_int_equal(seat->num, num);
		assert_true(double_trace(w.hw, host_guid(&w, 0), 1, lid_of(&w, 3)) >= 0);
	}
	assert_int_equal(
		count_logged(&w, "node-gone", w.design->nodes[w.design->nswitches + 3].desc), 0);
	double_set_guid(w.hw, second, second);
	assert_as_before(&w, "a GUID of its own again");
	world_fini(&w);
}

/* A host moves, and its old leaf lost the trap that told of it. */
static void a_host_that_moved_is_met_at_its_new_place(void **state)
{
	const struct topo_port *was, *now;
	struct dport *a, *b;
	struct world w;

	world_init(&w, small_tree());
	log_set_level(-1, LOG_ERR - 1);
	was = seat_of(&w, host_guid(&w, 7));
	now = seat_of(&w, host_guid(&w, w.design->ncas - 1));
	a = double_port(w.hw, fabric_topo(w.fabric)->nodes[was->node].guid, was->num);
	b = double_port(w.hw, fabric_topo(w.fabric)->nodes[now->node].guid, now->num);
	double_set_traps(w.hw, false);
	double_cut(w.hw, host_guid(&w, 7), 1);
	double_cut(w.hw, host_guid(&w, w.design->ncas - 1), 1);
	struct dport *first = a->peer, *last = b->peer;

	a->peer = last;
	last->peer = a;
	b->peer = first;
	first->peer = b;
	double_set_traps(w.hw, true);
	double_join(w.hw, host_guid(&w, 7), 1);
	double_join(w.hw, host_guid(&w, w.design->ncas - 1), 1);
	assert_as_before(&w, "two hosts changed places");
	world_fini(&w);
}

/* The answer to a Set is no proof of what the link had: that MTU is not given back to it. */
static void an_mtu_that_the_answer_to_a_set_shows_wrong_is_not_written(void **state)
{
	struct falsifier l;
	struct world *w = &l.w;

	falsifier_init(&l);
	run_for(w, 10 * SECOND_US);
	w->conf.ports.subnet_timeout = 15;
	l.subnet_timeout = 15;
	l.on = true;
	fabric_configure(w->fabric, &w->conf);
	for (unsigned i = 0; i < 120; i++) {
		run_for(w, SECOND_US / 2);
		for (uint32_t host = 0; host < w->design->ncas; host++)
			assert_int_equal(
				double_port_info(w->hw, host_guid(w, host), 1)->neighbor_mtu, 5);
	}
	assert_int_equal(l.falsified, 1);
	assert_int_equal(count_logged(w, "alert", ""), 0);
	assert_as_before(w, "a wrong MTU was answered");
	world_fini(w);
}

/* Of a host that comes back the name is asked again; a trap says that of others. */
static void one_wrong_bit_of_a_name_renames_nobody(void **state)
{
	struct falsifier l;
	struct world *w = &l.w;
	guid_t host;

	falsifier_init(&l);
	run_for(w, 10 * SECOND_US);
	host = host_guid(w, 3);
	l.name = l.on = true;
	double_cut(w->hw, host, 1);
	run_for(w, SECOND_US);
	double_join(w->hw, host, 1);
	run_for(w, 5 * SECOND_US);
	assert_int_equal(l.falsified, 1);
	assert_int_not_equal(
		find_desc(fabric_topo(w->fabric), w->design->nodes[w->design->nswitches + 3].desc),
		TOPO_NONE);
	assert_as_before(w, "a wrong name was answered");
	double_rename(w->hw, host, "another");
	double_cut(w->hw, host, 1);
	run_for(w, SECOND_US);
	double_join(w->hw, host, 1);
	run_for(w, 5 * SECOND_US);
	assert_true(is_up(w));
	assert_int_not_equal(find_desc(fabric_topo(w->fabric), "another"), TOPO_NONE);
	world_fini(w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_wrong_bit_of_a_guid_makes_no_ghost),
		cmocka_unit_test(one_wrong_bit_of_a_port_guid_lasts_no_minute),
		cmocka_unit_test(one_wrong_bit_of_a_port_moves_no_cable),
		cmocka_unit_test(a_switch_that_holds_no_block_is_isolated_not_repaired),
		cmocka_unit_test(a_switch_with_the_guid_of_another_is_named_and_left_out),
		cmocka_unit_test(the_first_host_of_a_guid_keeps_its_place),
		cmocka_unit_test(a_host_that_moved_is_met_at_its_new_place),
		cmocka_unit_test(an_mtu_that_the_answer_to_a_set_shows_wrong_is_not_written),
		cmocka_unit_test(one_wrong_bit_of_a_name_renames_nobody),
		cmocka_unit_test(some_time_after_random_false_answers_all_is_as_before),
	};

	if (getenv("FMD_FALSE_SEEDS"))
		cmocka_set_test_filter("some_time_after_random*");
	return cmocka_run_group_tests(tests, NULL, NULL);
}
