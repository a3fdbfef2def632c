/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * A repaired, rebooted or replaced machine clears by itself, with any DCGM, with a log and without;
 * one that is still broken does not.
 */
#include "tests/lib/nvlink_host.h"

#define BOOT "Linux version 6.8.0-1015-nvidia (buildd@lcy02) #16-Ubuntu SMP"

enum fault { XID_74, XID_79, SXID, FAULTS };
enum repair { REBOOT, UNSEEN_REBOOT, REPLACED, REPAIRS };
enum dcgm { DCGM_DEFAULTS, DCGM_3_3, DCGM_4_0, DCGM_4_3, DCGM_4_5, DCGMS };

/* As an exporter of that DCGM reports it; DCGM_DEFAULTS: with the list of counters as delivered. */
static struct machine machine_by(enum dcgm dcgm)
{
	struct machine m = h100();

	m.energy = 1000000000;
	m.asks_links = m.asks_reset = dcgm >= DCGM_3_3;
	m.asks_fm = dcgm >= DCGM_4_0;
	m.asks_p2p = dcgm >= DCGM_4_3;
	m.asks_action = dcgm >= DCGM_4_5;
	return m;
}

static struct host *begin(enum dcgm dcgm)
{
	struct host *it = host_new(machine_by(dcgm));

	host_pass(it, 60);
	return it;
}

static void note_ports(struct host *it, enum memory_ports ports)
{
	memory_note_ports(host_memory(it), ports);
	host_pass(it, 1);
}

/* P2P does not fall, as it often does not at run time. */
static void break_it(struct host *it, enum fault fault, bool log)
{
	if (fault == SXID)
		strcpy(it->machine.extra,
		       "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch=\"nvswitch2\","
		       "hostname=\"dgx-00\"} 20034\n");
	else
		it->machine.xid[2] = fault == XID_74 ? 74 : 79;
	it->machine.action[2] = it->machine.asks_action ? ACTION_GPU_RESET : ACTION_NONE;
	if (log)
		host_log(it, fault == SXID ? "nvidia-nvswitch2: SXid (PCI:0000:85:00.0): 20034, "
					     "Fatal, Link 30 LTSSM Fault Up"
			     : fault == XID_74 ? "NVRM: Xid (PCI:0000:12:00): 74, pid=1, NVLink: "
						 "fatal error detected on link 14(0x0, 0x0)"
					       : "NVRM: Xid (PCI:0000:12:00): 79, pid=1, GPU has "
						 "fallen off the bus.");
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
}

/* The machine goes down, for so long as a DGX takes to boot, and is up again. */
static void reboot(struct host *it, bool seen, bool log)
{
	it->silent = true;
	host_pass(it, 10);
	if (seen)
		note_ports(it, PORTS_OFF);
	host_pass(it, 200);
	if (log)
		host_log(it, BOOT);
	if (seen)
		note_ports(it, PORTS_UP);
	host_pass(it, 40);
	it->machine.energy = 5000000;
	memset(it->machine.xid, 0, sizeof(it->machine.xid));
	memset(it->machine.action, 0, sizeof(it->machine.action));
	*it->machine.extra = '\0';
	it->silent = false;
}

static void assert_cleared(struct host *it, const char *how, unsigned number)
{
	host_pass(it, 700);
	if (it->h.hosts[0].state != NVSWITCH_HEALTHY || host_memory(it)->events.count)
		fail_msg("%s %u: %s, %s", how, number, nvswitch_states[host_state(it)],
			 health_reason(&it->h.hosts[0]));
}

/* ---- By itself ------------------------------------------------------------------------------- */

/* All of DCGM, log or none, fault and repair, more than once each: 0 stuck, 0 resumed broken. */
static void of_200_repairs_none_is_stuck_and_none_that_failed_is_resumed(void **state)
{
	unsigned stuck = 0, resumed = 0, tried = 0;

	for (unsigned n = 0; n < 270; n++) {
		enum dcgm dcgm = (enum dcgm)(n % DCGMS);
		enum fault fault = (enum fault)(n / DCGMS % FAULTS);
		enum repair repair = (enum repair)(n / DCGMS / FAULTS % REPAIRS);
		bool log = n / DCGMS / FAULTS / REPAIRS % 2, failed = n / 90 == 1;
		struct host *it;

		if (fault == SXID && dcgm == DCGM_DEFAULTS)
			continue; /* it shows no NVSwitch */
		it = begin(dcgm);
		break_it(it, fault, log);
		reboot(it, repair != UNSEEN_REBOOT, log);
		if (repair == REPLACED)
			it->machine.replaced[2]++;
		if (failed && fault == SXID) /* the same again, when the driver trains its links */
			strcpy(it->machine.extra, "DCGM_FI_DEV_NVSWITCH_FATAL_ERRORS{nvswitch="
						  "\"nvswitch2\",hostname=\"dgx-00\"} 20034\n");
		else if (failed)
			it->machine.xid[2] = fault == XID_74 ? 74 : 79;
		if (failed && it->machine.asks_action)
			it->machine.action[2] = ACTION_GPU_RESET;
		host_pass(it, 700);
		tried++;
		stuck += !failed &&
			 (host_state(it) != NVSWITCH_HEALTHY || host_memory(it)->events.count);
		resumed += failed && host_state(it) == NVSWITCH_HEALTHY;
		if (host_state(it) != (failed ? NVSWITCH_NO_P2P : NVSWITCH_HEALTHY))
			print_message("%u: DCGM %u, fault %u, repair %u%s%s: %s %s\n", n, dcgm,
				      fault, repair, log ? ", log" : "", failed ? ", failed" : "",
				      nvswitch_states[host_state(it)],
				      health_reason(&it->h.hosts[0]));
		host_free(it);
	}
	print_message("%u repairs: %u stuck, %u resumed broken\n", tried, stuck, resumed);
	assert_true(tried >= 200);
	assert_int_equal(stuck, 0);
	assert_int_equal(resumed, 0);
}

static void a_replaced_gpu_does_not_inherit_the_events_of_the_old_one(void **state)
{
	struct host *it = begin(DCGM_4_0);

	break_it(it, XID_74, false);
	reboot(it, false, false);
	it->machine.replaced[2] = 1;
	it->machine.fm[2] = FM_FAILURE; /* it has faults of its own */
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	assert_int_equal(host_memory(it)->events.count, 0);
	assert_string_equal(health_reason(&it->h.hosts[0]), "GPU 2: the fabric manager failed");
	it->machine.fm[2] = FM_SUCCESS;
	assert_cleared(it, "replaced", 0);
	host_free(it);
}

/* Events of a boot that is not over are of the next incarnation. */
static void what_is_logged_while_a_machine_boots_is_not_of_the_life_before(void **state)
{
	struct host *it = begin(DCGM_3_3);

	break_it(it, XID_74, false);
	it->silent = true;
	note_ports(it, PORTS_OFF);
	host_pass(it, 200);
	host_log(it,
		 "NVRM: Xid (PCI:0000:12:00): 74, pid=1, NVLink: fatal error detected on link 14"
		 "(0x0, 0x0)");
	note_ports(it, PORTS_UP);
	it->silent = false;
	it->machine.xid[2] = 0;
	host_pass(it, 3600);
	assert_host(it, NVSWITCH_NO_P2P);
	host_free(it);
}

static void states_of_the_new_incarnation_have_to_be_whole(void **state)
{
	struct host *it = begin(DCGM_4_3);

	break_it(it, XID_79, false);
	reboot(it, true, false);
	it->machine.fm[5] = FM_IN_PROGRESS;
	host_pass(it, 3600);
	assert_host(it, NVSWITCH_NO_P2P);
	it->machine.fm[5] = FM_SUCCESS;
	it->machine.gone[3] = true;
	host_pass(it, 3600);
	assert_host(it, NVSWITCH_NO_P2P);
	it->machine.gone[3] = false;
	assert_cleared(it, "whole", 0);
	host_free(it);
}

/* A host that no exporter speaks of: its own fabric saw it boot. */
static void a_host_known_by_its_log_alone_is_well_after_a_boot_that_the_fabric_saw(void **state)
{
	struct host *it = host_new(h100());

	it->silent = true;
	host_log(it, "NVRM: Xid (PCI:0000:12:00): 79, pid=1, GPU has fallen off the bus.");
	host_pass(it, 60);
	assert_host(it, NVSWITCH_NO_P2P);
	note_ports(it, PORTS_OFF);
	host_pass(it, 600);
	assert_host(it, NVSWITCH_NO_P2P);
	note_ports(it, PORTS_UP);
	assert_cleared(it, "log alone", 0);
	host_free(it);
}

/* ---- Nothing else ends what happened --------------------------------------------------------- */

static void a_restarted_exporter_a_dead_leaf_and_silence_prove_nothing(void **state)
{
	for (unsigned i = 0; i < 4; i++) {
		struct host *it = begin(i == 3 ? DCGM_3_3 : DCGM_4_3);

		break_it(it, XID_74, false);
		if (i == 0 || i == 3) { /* a pod begins anew; what it forgot, the GPU did not */
			it->silent = true;
			host_pass(it, i ? 600 : 30);
			it->machine.xid[2] = 0;
			it->machine.energy += 1000000;
			it->silent = false;
		} else if (i == 1) { /* its leaves are dead for a while */
			note_ports(it, PORTS_CUT_OFF);
			host_pass(it, 100);
			note_ports(it, PORTS_OFF); /* links that train again are down first */
			host_pass(it, 10);
			note_ports(it, PORTS_UP);
		} else {
			note_ports(it, PORTS_OFF); /* and it stays off */
		}
		host_pass(it, 3600);
		assert_host(it, NVSWITCH_NO_P2P);
		host_free(it);
	}
}

/* GPU 5 is gone, and those behind it have other numbers now. */
static void gpus_that_are_numbered_in_another_way_are_not_replaced(void **state)
{
	struct memory m = { 0 };
	struct nvswitch_verdict verdict;
	struct evidence e;
	const struct evidence_context c = { .now_us = 1000 * HOST_S, .trust = NVSWITCH_PROVEN };
	struct nvswitch_finding lost = { .state = NVSWITCH_NO_P2P,
					 .gpu = 5,
					 .sw = -1,
					 .link = -1,
					 .code = 79,
					 .pci = "0000:15:00",
					 .text = "GPU 5: Xid 79" };

	for (unsigned pass = 0; pass < 2; pass++) {
		e = (struct evidence){ .configured = NVSWITCH_SYSTEM_H100 };
		e.samples = e.states = 8;
		for (unsigned g = 0; g < 8 - pass; g++) {
			unsigned which = pass && g >= 5 ? g + 1 : g;

			e.gpus[g].last.has = HAS_PRESENT | HAS_FM;
			e.gpus[g].last.fm_status = FM_SUCCESS;
			snprintf(e.gpus[g].uuid, sizeof(e.gpus[g].uuid), "GPU-%u", which);
			snprintf(e.gpus[g].pci, sizeof(e.gpus[g].pci), "0000:%02x:00",
				 0x10 + which);
		}
		evidence_judge(&e, &m, &c, &verdict);
		if (!pass)
			memory_note(&m, &lost, EVENT_FROM_LOG, c.now_us);
	}
	assert_int_equal(m.events.count, 1);
	assert_false(m.events.findings[0].old);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_200_repairs_none_is_stuck_and_none_that_failed_is_resumed),
		cmocka_unit_test(a_replaced_gpu_does_not_inherit_the_events_of_the_old_one),
		cmocka_unit_test(what_is_logged_while_a_machine_boots_is_not_of_the_life_before),
		cmocka_unit_test(states_of_the_new_incarnation_have_to_be_whole),
		cmocka_unit_test(
			a_host_known_by_its_log_alone_is_well_after_a_boot_that_the_fabric_saw),
		cmocka_unit_test(a_restarted_exporter_a_dead_leaf_and_silence_prove_nothing),
		cmocka_unit_test(gpus_that_are_numbered_in_another_way_are_not_replaced),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
