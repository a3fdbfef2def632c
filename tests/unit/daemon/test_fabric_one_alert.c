/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* Build: plain. Hours of 256 HCAs are simulated. */
/*
 * One device is ill, each in one way, in a tree of two tiers: one alert names it, whatever number
 * of ports it shows at, and the alert ends when the device is well. Four times: fmd runs; fmd is a
 * replacement with an empty state_dir in a fabric that works; all were without power; fmd runs, and
 * the device boots with its ill.
 */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/fabric/request.h"
#include "tests/fabric/double_own.h"
#include "tests/fabric/fault.h"
#include "tests/lib/fabric_world.h"
#include "topology/base/sort.h"

#define NAMED_S	    15 /* until the alert is there */
#define DEAF_S	    90 /* a switch to which many links return */
#define DEAF_HOST_S 2
#define STAYS_S	    60	/* it is the only one meanwhile */
#define OVER_S	    130 /* until it is gone: some devices are tried once a minute */

enum when { RUNNING, REPLACED, POWER, BOOTED };
static const char *const when_words[] = { "while fmd runs", "to a replaced manager",
					  "after a power cut", "as it boots" };

/* Of the random devices. */
static uint64_t dice_seed;

static unsigned dice(unsigned sides)
{
	return (unsigned)(damage_random(&dice_seed) % sides);
}

static guid_t guid_of(const struct world *w, uint32_t node)
{
	return w->design->nodes[node].guid;
}

/* Another one of its tier. */
static uint32_t sister_of(const struct world *w, uint32_t node)
{
	const struct topo_node *nodes = w->design->nodes;

	return node && nodes[node - 1].level == nodes[node].level &&
			       (node < w->design->nswitches) == (node - 1 < w->design->nswitches)
		       ? node - 1
		       : node + 1;
}

static unsigned first_cable(const struct world *w, uint32_t node)
{
	unsigned num = 1;

	while (!topo_peer(w->design, topo_port(w->design, node, num)))
		num++;
	return num;
}

/* ---- Ills ------------------------------------------------------------------------------------ */

static void set_named_fault(struct world *w, uint32_t node, const char *name, unsigned amount)
{
	bool is_switch = node < w->design->nswitches;

	fault_set(w->hw, fault_find(name), guid_of(w, node), is_switch ? 0 : 1, amount);
}

static void set_hang(struct world *w, uint32_t node, bool on)
{
	set_named_fault(w, node, "hang", on);
}

static void set_deaf(struct world *w, uint32_t node, bool on)
{
	set_named_fault(w, node, "deaf", on);
}

static void set_refuse(struct world *w, uint32_t node, bool on)
{
	set_named_fault(w, node, "refuse", on);
}

static void set_slow(struct world *w, uint32_t node, bool on)
{
	set_named_fault(w, node, "slow", on ? SECOND_US : 0);
}

/* A cable of it is out meanwhile, for its tables are to be others. */
static void set_pretend(struct world *w, uint32_t node, bool on)
{
	set_named_fault(w, node, "pretend", on);
	(on ? double_cut : double_join)(w->hw, guid_of(w, node), first_cable(w, node));
}

static void set_ones(struct world *w, uint32_t node, bool on)
{
	set_named_fault(w, node, "ones", on);
}

#define FLAP_US	   200000
#define FLAPS_MOST 60

static struct flap {
	struct world *w;
	struct loop_timer *timer;
	uint32_t node;
	unsigned left;
} flap;

static void flap_cb(void *arg)
{
	(flap.left-- % 2 ? double_join : double_cut)(flap.w->hw, guid_of(flap.w, flap.node),
						     first_cable(flap.w, flap.node));
	if (flap.left)
		loop_timer_set(flap.timer, FLAP_US);
}

/* The first of its cables falls and comes back, again and again. */
static void set_flap(struct world *w, uint32_t node, bool on)
{
	if (on) {
		flap = (struct flap){ w, loop_timer_new(w->loop, flap_cb, NULL), node, FLAPS_MOST };
		loop_timer_set(flap.timer, FLAP_US);
	} else {
		loop_timer_free(flap.timer);
		double_join(w->hw, guid_of(w, node), first_cable(w, node));
	}
}

static void set_factory_name(struct world *w, uint32_t node, bool on)
{
	bool is_switch = node < w->design->nswitches;

	double_set_desc(w->hw, guid_of(w, node),
			!on	    ? w->design->nodes[node].desc
			: is_switch ? "MF0;switch-factory:MQM9700/U1"
				    : "MT4129 ConnectX7   Mellanox Technologies");
}

static unsigned last_cable(const struct world *w, uint32_t node)
{
	const struct topo *t = w->design;
	unsigned num = t->nodes[node].nports;
	const struct topo_port *far;

	for (; num > 1; num--) {
		far = topo_peer(t, topo_port(t, node, num));
		if (far && far->node < t->nswitches)
			break;
	}
	return num;
}

/* It and its sister change the ends of their highest cable to a switch. */
static void set_swap(struct world *w, uint32_t node, bool on)
{
	uint32_t other = sister_of(w, node);
	unsigned a = last_cable(w, node), b = last_cable(w, other);

	double_cut(w->hw, guid_of(w, node), a);
	double_cut(w->hw, guid_of(w, other), b);
	run_for(w, SECOND_US / 20);
	double_swap(w->hw, guid_of(w, node), a, guid_of(w, other), b);
	double_join(w->hw, guid_of(w, node), a);
	double_join(w->hw, guid_of(w, other), b);
}

/* It begins anew with the GUID of its sister, or with its own. */
static void set_guid(struct world *w, uint32_t node, bool on)
{
	double_set_power(w->hw, guid_of(w, node), false);
	double_set_guid(w->hw, guid_of(w, node), guid_of(w, on ? sister_of(w, node) : node));
	double_set_power(w->hw, guid_of(w, node), true);
}

static void hold_key(struct world *w, uint32_t node, bool on, uint8_t protect)
{
	bool is_switch = node < w->design->nswitches;

	double_hold_mkey(w->hw, guid_of(w, node), is_switch ? 0 : 1, on ? 0x9999 : 0,
			 on ? protect : 0, 0);
}

static void set_key(struct world *w, uint32_t node, bool on)
{
	hold_key(w, node, on, 1);
}

static void set_hidden_key(struct world *w, uint32_t node, bool on)
{
	hold_key(w, node, on, 2);
}

/* So many of its cables fall and come back, 0 = all. */
static void bounce(struct world *w, uint32_t node, unsigned cables)
{
	const struct topo *t = w->design;

	for (unsigned on = 0; on < 2; on++) {
		unsigned left = cables ? cables : UINT_MAX;

		for (unsigned num = 1; num <= t->nodes[node].nports && left; num++)
			if (topo_peer(t, topo_port(t, node, num))) {
				(on ? double_join : double_cut)(w->hw, guid_of(w, node), num);
				left--;
			}
		run_for(w, SECOND_US / 2);
	}
}

struct ill {
	const char *name;
	void (*set)(struct world *w, uint32_t node, bool on);
	/* The alert of a switch and of a host that is known; NULL = this ill does not show. */
	const char *of_switch, *of_host;
	const char *of_booted; /* of a host whose link is not up yet, where it is another */
	bool silent;	       /* who never met the device does not know who it is */
};

static const struct ill ills[] = {
	{ "hang", set_hang, "switches-silent", "hcas-silent", NULL, true },
	{ "slow", set_slow, "switches-silent", "hcas-silent", NULL, true },
	{ "deaf", set_deaf, "isolated", "port-refuses", "isolated", false },
	{ "refuse", set_refuse, "isolated", "port-refuses", "isolated", false },
	{ "pretend", set_pretend, "isolated", NULL, NULL, false },
	{ "another's GUID", set_guid, "guid-twice", "guid-twice", NULL, false },
	{ "M_Key", set_key, "port-m-key", "port-m-key", NULL, false },
	{ "hidden M_Key", set_hidden_key, "m-key-probable", "m-key-probable", NULL, true },
	{ "impossible answers", set_ones, "impossible-answer", "impossible-answer", NULL, false },
};

/* What random devices have besides; NULL = that is no alert. */
static const struct ill more_ills[] = {
	{ "swap", set_swap, "miswired", "miswired", NULL, false },
	{ "factory name", set_factory_name, NULL, NULL, NULL, false },
	{ "flap", set_flap, NULL, NULL, NULL, false },
};

/* ---- Alerts ---------------------------------------------------------------------------------- */

/* But for those of files that the test took away. */
static unsigned alerts_now(const struct world *w)
{
	return count_alerts(w, "", "") - count_alerts(w, "state-lost", "");
}

static void print_alerts(const struct world *w)
{
	json_t *status = fabric_status(w->fabric), *alert;
	size_t i;

	json_array_foreach (json_object_get(status, "alerts"), i, alert)
		if (i < 4)
			print_error("    %s: %s\n",
				    json_string_value(json_object_get(alert, "what")),
				    json_string_value(json_object_get(alert, "text")));
	json_decref(status);
}

/* ---- A world --------------------------------------------------------------------------------- */

/* Three tiers: 4 leaves a spine, and one cable to each of 2 cores. */
static struct topo *tapered_tree(void)
{
	static const unsigned m[] = { 4, 4, 3 }, up[] = { 1, 4, 2 }, cables[] = { 1, 1, 1 };
	char err[256];

	return generate_pgft(3, m, up, cables, err, sizeof(err));
}

/* Units of a SuperPOD, or another design instead. */
enum { SMALL_TREE = 100, TAPERED_TREE };

static void begin(struct world *w, unsigned su)
{
	world_init_stopped(w, su == SMALL_TREE	   ? small_tree()
			      : su == TAPERED_TREE ? tapered_tree()
						   : pod(su));
	w->conf.audit.rate = 256;
	w->conf.audit.after_ms = 3000;
	start_fabric(w);
	run_for(w, 2 * SECOND_US);
	assert_int_equal(count_alerts(w, "", ""), 0);
	log_set_level(-1, LOG_ERR - 1);
}

static void fall_ill(struct world *w, const struct ill *ill, uint32_t node, enum when when,
		     unsigned cables)
{
	if (when == RUNNING) {
		ill->set(w, node, true);
		/* Who has nothing to do shows no ill; a silent host whose link falls is cut off. */
		if (ill->set != set_pretend && (node < w->design->nswitches || !ill->silent))
			bounce(w, node, cables);
		fabric_request_sweep(w->fabric, "test");
		return;
	}
	if (when == BOOTED) {
		ill->set(w, node, true);
		double_reboot(w->hw, guid_of(w, node));
		return;
	}
	stop_fabric(w);
	for (uint32_t n = 0; when == POWER && n < w->design->nnodes; n++)
		double_reboot(w->hw, guid_of(w, n));
	remove_all_state(w);
	ill->set(w, node, true);
	if (ill->set ==
	    set_pretend) /* all tables are others: a cable that is out is a fault more */
		double_join(w->hw, guid_of(w, node), first_cable(w, node));
	start_fabric(w);
}

static const char *expected(const struct world *w, const struct ill *ill, uint32_t node,
			    enum when when)
{
	bool is_switch = node < w->design->nswitches;

	if (when == REPLACED && ill->set == set_pretend)
		return NULL; /* its tables are right already: nothing is written */
	if (!is_switch && !ill->of_host)
		return NULL;
	if (when != RUNNING && ill->silent)
		return is_switch ? "switches-silent" : "hcas-silent";
	if (!is_switch && when != REPLACED && ill->of_booted)
		return ill->of_booted;
	return is_switch ? ill->of_switch : ill->of_host;
}

/* Its name; of one that nobody has met under its own, the first switch's port that leads to it. */
static void name_of(const struct world *w, const struct ill *ill, uint32_t node, enum when when,
		    char name[128])
{
	const struct topo *t = w->design;
	unsigned num = 1;

	snprintf(name, 128, "%s", t->nodes[node].desc);
	if (ill->set != set_guid && (when == RUNNING || when == BOOTED || !ill->silent))
		return;
	for (const struct topo_port *far; num <= t->nodes[node].nports; num++) {
		far = topo_peer(t, topo_port(t, node, num));
		if (far && far->node < t->nswitches) {
			snprintf(name, 128, "%s p%u", t->nodes[far->node].desc, far->num);
			return;
		}
	}
}

/* Where it shows, all these ports are in the alert: of hosts those behind it, if they were met. */
static bool has_all_ports(const struct world *w, const struct ill *ill, uint32_t node,
			  enum when when, const char *what)
{
	const struct topo *t = w->design;
	size_t i, count = 0, cables = 0;
	json_t *status, *alert;

	if (!ill->silent && ill->set != set_guid)
		return true;
	status = fabric_status(w->fabric);
	for (unsigned num = 1; num <= t->nodes[node].nports; num++) {
		const struct topo_port *far = topo_peer(t, topo_port(t, node, num));

		cables += far && (far->node < t->nswitches ||
				  ((when == RUNNING || when == BOOTED) && ill->silent));
	}
	json_array_foreach (json_object_get(status, "alerts"), i, alert)
		if (!strcmp(json_string_value(json_object_get(alert, "what")), what))
			count = json_array_size(json_object_get(alert, "ports"));
	json_decref(status);
	if (count != cables)
		print_error("    %zu ports of %zu\n", count, cables);
	return count == cables;
}

/* True: there is one alert in time, it stays alone, and it is over when the device is well. */
static bool is_one_alert(struct world *w, const struct ill *ill, uint32_t node, enum when when,
			 const char *what, unsigned patience)
{
	unsigned s, named_in = 0, most = 0, least = UINT_MAX;
	char name[128];

	name_of(w, ill, node, when, name);

	for (s = 0; s < patience + STAYS_S && (!named_in || s < named_in + STAYS_S); s++) {
		unsigned now = alerts_now(w);

		most = now > most ? now : most;
		named_in = named_in || !now ? named_in : s + 1;
		least = named_in && now < least ? now : least;
		if (s + 1 == patience && !named_in)
			break;
		run_for(w, SECOND_US);
	}
	if (most != 1 || least != 1 || count_alerts(w, what, name) != 1 ||
	    !has_all_ports(w, ill, node, when, what) || count_logged(w, "link-speed", "") ||
	    count_logged(w, "alert", "") - count_logged(w, "alert", "state_dir") != 1) {
		print_error("    %u alerts at most, %u begun, after %u s:\n", most,
			    count_logged(w, "alert", "") - count_logged(w, "alert", "state_dir"),
			    named_in);
		print_alerts(w);
		return false;
	}
	ill->set(w, node, false);
	for (s = 0; s < OVER_S && alerts_now(w); s++)
		run_for(w, SECOND_US);
	if (!alerts_now(w))
		return true;
	print_error("    not over:\n");
	print_alerts(w);
	return false;
}

/* What a reboot leaves as it is, and shows at a host too. */
static bool boots_with(const struct ill *ill)
{
	return ill->set == set_slow || ill->set == set_deaf || ill->set == set_refuse ||
	       ill->set == set_pretend;
}

static void each_ill_is_one_alert(enum when when)
{
	static const char *const devices[] = { "spine-03", "leaf-su01-rail4",
					       "dgx-su01-09 mlx5_3" };
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof(ills) / sizeof(ills[0]); i++)
		for (size_t k = 0; k < 3; k++) {
			struct world w;
			uint32_t node;
			const char *what;

			if (when == BOOTED && !boots_with(&ills[i]))
				continue;

			begin(&w, 1);
			node = find_desc(w.design, devices[k]);
			what = expected(&w, &ills[i], node, when);
			if (what) {
				bool is_deaf_host =
					ills[i].set == set_deaf && k == 2 && when != BOOTED;

				fall_ill(&w, &ills[i], node, when, 1);
				if (!is_one_alert(&w, &ills[i], node, when, what,
						  is_deaf_host ? DEAF_HOST_S : NAMED_S)) {
					print_error("  %s, %s %s: not one alert %s\n", devices[k],
						    ills[i].name, when_words[when], what);
					wrong++;
				}
			}
			world_fini(&w);
		}
	assert_int_equal(wrong, 0);
}

static void each_ill_that_begins_while_fmd_runs_is_one_alert(void **state)
{
	each_ill_is_one_alert(RUNNING);
}

static void each_ill_that_a_replaced_manager_meets_is_one_alert(void **state)
{
	each_ill_is_one_alert(REPLACED);
}

static void each_ill_after_a_power_cut_is_one_alert(void **state)
{
	each_ill_is_one_alert(POWER);
}

static void each_ill_device_that_boots_is_one_alert(void **state)
{
	each_ill_is_one_alert(BOOTED);
}

/* But for all links of a leaf: then its hosts are cut off meanwhile. */
static void links_that_return_at_a_deaf_switch_are_one_alert(void **state)
{
	static const struct ill deaf = { .name = "deaf", .set = set_deaf };
	static const unsigned cables[] = { 1, 7, 30, 63, 0 };
	unsigned wrong = 0;

	for (size_t i = 0; i < sizeof(cables) / sizeof(cables[0]); i++)
		for (size_t k = 0; k < 2 && (!k || cables[i]); k++) {
			struct world w;
			uint32_t node;

			begin(&w, 1);
			node = find_desc(w.design, k ? "leaf-su01-rail4" : "spine-03");
			fall_ill(&w, &deaf, node, RUNNING, cables[i]);
			if (!is_one_alert(&w, &deaf, node, RUNNING, "isolated", DEAF_S)) {
				print_error("  deaf %s, %u cables return: not one alert\n",
					    w.design->nodes[node].desc, cables[i]);
				wrong++;
			}
			world_fini(&w);
		}
	assert_int_equal(wrong, 0);
}

/* It can not be brought up. */
static void a_silent_host_whose_link_fell_is_cut_off_and_no_other_alert(void **state)
{
	static const struct ill hang = { .name = "hang", .set = set_hang };
	struct world w;
	uint32_t host;

	begin(&w, 1);
	host = find_desc(w.design, "dgx-su01-09 mlx5_3");
	set_hang(&w, host, true);
	bounce(&w, host, 1);
	assert_true(is_one_alert(&w, &hang, host, RUNNING, "hcas-cut-off", NAMED_S));
	world_fini(&w);
}

/* Who is behind a port is not known, how many switches and hosts they are is. */
static const struct unmet {
	const char *devices[9];
	const char *switches, *hosts;
	unsigned su;
} unmet[] = {
	{ { "spine-02", "spine-03" }, "2 switches do not answer", "", 1 },
	{ { "spine-01", "spine-04" }, "2 switches do not answer", "", 1 },
	{ { "leaf-su01-rail2", "leaf-su01-rail3", "leaf-su01-rail7" },
	  "3 switches do not answer",
	  "",
	  1 },
	{ { "leaf-su01-rail2", "spine-03" }, "2 switches do not answer", "", 1 },
	{ { "leaf-su02-rail2", "spine-03", "spine-11" }, "3 switches do not answer", "", 4 },
	{ { "dgx-su01-09 mlx5_3", "dgx-su01-10 mlx5_3", "spine-01" },
	  "1 switch does not answer",
	  "2 devices do not answer",
	  1 },
	{ { "dgx-su01-31 mlx5_0", "dgx-su01-31 mlx5_3", "dgx-su01-31 mlx5_4", "dgx-su01-31 mlx5_5",
	    "dgx-su01-31 mlx5_6", "dgx-su01-31 mlx5_9", "dgx-su01-31 mlx5_10",
	    "dgx-su01-31 mlx5_11" },
	  "",
	  "8 devices do not answer",
	  1 },
	{ { "spine-0002" }, "1 switch does not answer", "", SMALL_TREE },
	{ { "spine-0002" }, "1 switch does not answer", "", TAPERED_TREE },
	{ { "core-0003" }, "1 switch does not answer", "", TAPERED_TREE },
	{ { "leaf-0003", "spine-0007" }, "2 switches do not answer", "", TAPERED_TREE },
	{ { "spine-0002", "spine-0003" }, "2 switches do not answer", "", TAPERED_TREE },
	{ { "spine-0002", "spine-0007", "core-0005" }, "3 switches do not answer", "", SMALL_TREE },
	{ { "spine-0002", "spine-0007", "spine-0012" },
	  "3 switches do not answer",
	  "",
	  TAPERED_TREE },
};

static void several_that_nobody_met_are_counted_by_their_places(void **state)
{
	for (size_t i = 0; i < sizeof(unmet) / sizeof(unmet[0]); i++) {
		struct world w;

		begin(&w, unmet[i].su);
		stop_fabric(&w);
		remove_all_state(&w);
		for (size_t k = 0; unmet[i].devices[k]; k++)
			set_hang(&w, find_desc(w.design, unmet[i].devices[k]), true);
		start_fabric(&w);
		run_for(&w, NAMED_S * SECOND_US);
		if (alerts_now(&w) !=
		    (*unmet[i].switches != 0) + (unsigned)(*unmet[i].hosts != 0)) {
			print_error("  %s ..: not as counted\n", unmet[i].devices[0]);
			print_alerts(&w);
		}
		assert_int_equal(alerts_now(&w),
				 (*unmet[i].switches != 0) + (*unmet[i].hosts != 0));
		assert_int_equal(count_alerts(&w, "switches-silent", unmet[i].switches),
				 *unmet[i].switches != 0);
		assert_int_equal(count_alerts(&w, "hcas-silent", unmet[i].hosts),
				 *unmet[i].hosts != 0);
		world_fini(&w);
	}
}

static unsigned number_of(const char *name, unsigned otherwise)
{
	const char *text = getenv(name);

	return text ? (unsigned)strtoul(text, NULL, 0) : otherwise;
}

static const struct ill *ill_at(size_t i)
{
	size_t first = sizeof(ills) / sizeof(ills[0]);

	return i < first					      ? &ills[i]
	       : i < first + sizeof(more_ills) / sizeof(more_ills[0]) ? &more_ills[i - first]
								      : NULL;
}

/* But for the manager's own host and leaf. */
static uint32_t some_device(const struct world *w)
{
	const struct topo *t = w->design;
	uint32_t own = topo_peer(t, topo_port(t, t->nswitches, 1))->node, node;

	do
		node = dice(2) ? dice(t->nswitches) : 1 + t->nswitches + dice(t->ncas - 1);
	while (node == own || t->nodes[node].sharp);
	return node;
}

static bool random_ill_is_one_alert(const struct ill *ill, uint64_t seed)
{
	const char *what;
	struct world w;
	uint32_t node;
	bool well;

	dice_seed = hash_word(seed);
	begin(&w, 1);
	node = some_device(&w);
	for (unsigned k = dice(1000); k; k--)
		double_random(w.hw);
	what = expected(&w, ill, node, RUNNING);
	fall_ill(&w, ill, node, RUNNING, 1 + dice(3));
	if (what) {
		well = is_one_alert(&w, ill, node, RUNNING, what, NAMED_S);
	} else {
		run_for(&w, STAYS_S * SECOND_US);
		well = !count_logged(&w, "alert", "");
		ill->set(&w, node, false);
	}
	if (!well)
		print_error("  seed %llu: %s, %s: not one alert %s\n", (unsigned long long)seed,
			    w.design->nodes[node].desc, ill->name, what ? what : "less");
	world_fini(&w);
	return well;
}

/* The environment may say SEEDS, fabrics for each ill; SEED, the first; ILL, one alone. */
static void a_random_device_of_each_ill_is_one_alert(void **state)
{
	unsigned seed = number_of("SEED", 1), end = seed + number_of("SEEDS", 3), wrong = 0;

	for (; seed < end; seed++)
		for (unsigned i = 0; ill_at(i); i++)
			wrong += number_of("ILL", i) == i &&
				 !random_ill_is_one_alert(ill_at(i), 1000ull * seed + i);
	assert_int_equal(wrong, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_ill_that_begins_while_fmd_runs_is_one_alert),
		cmocka_unit_test(each_ill_that_a_replaced_manager_meets_is_one_alert),
		cmocka_unit_test(each_ill_after_a_power_cut_is_one_alert),
		cmocka_unit_test(each_ill_device_that_boots_is_one_alert),
		cmocka_unit_test(links_that_return_at_a_deaf_switch_are_one_alert),
		cmocka_unit_test(a_silent_host_whose_link_fell_is_cut_off_and_no_other_alert),
		cmocka_unit_test(a_random_device_of_each_ill_is_one_alert),
		cmocka_unit_test(several_that_nobody_met_are_counted_by_their_places),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
