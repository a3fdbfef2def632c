/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What is set, reported and kept of states of hosts' NVLinks: the room alone, with a
 * pipe that only looks like one.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/nvswitch/module.h"
#include "fm/nvswitch/state.h"
#include "tests/lib/fabrics.h"
#include "tests/lib/fake_pipe.h"

#define HOST	  "dgx-su01-05"
#define SECOND_US 1000000ull

/* A fabric of 32 hosts is published. */
static void begin(struct fabric *f)
{
	fake_pipe_init(f, &nvlink_module, pod(1));
	f->module->load(f->room, FABRIC_LOAD);
	f->module->published(f->room, FABRIC_PUBLISHED, NULL);
}

struct reply {
	unsigned count;
	char error[256];
	bool rerouted;
	json_int_t entries;
};

static void reply_cb(void *arg, json_t *result, const char *error)
{
	struct reply *r = arg;

	r->count++;
	snprintf(r->error, sizeof(r->error), "%s", error ? error : "");
	r->rerouted = json_is_true(json_object_get(result, "rerouted"));
	r->entries = json_integer_value(json_object_get(result, "lft_entries_changed"));
}

/* A host's row in the document of all. */
static json_t *row_of(const struct fabric *f, const char *host)
{
	json_t *doc = nvlink_hosts(f), *row, *found = NULL;
	size_t index;

	json_array_foreach (json_object_get(doc, "hosts"), index, row)
		if (!strcmp(json_string_value(json_object_get(row, "host")), host))
			found = json_incref(row);
	json_decref(doc);
	assert_non_null(found);
	return found;
}

static void assert_override(const struct fabric *f, const char *host, const char *state)
{
	json_t *row = row_of(f, host);
	const char *override = json_string_value(json_object_get(row, "override"));

	assert_string_equal(override ? override : "", state);
	json_decref(row);
}

static void set_at_once(struct fabric *f, const char *host, const char *state, struct reply *r)
{
	*r = (struct reply){ 0 };
	nvlink_set(f, host, state, -1, reply_cb, r);
	assert_int_equal(r->count, 1);
}

/* ---- Overrides ------------------------------------------------------------------------------- */

static void no_state_moves_an_entry_and_each_is_answered_at_once(void **state)
{
	static const char *const states[] = { "NO_P2P", "FATAL", "DEGRADED_LINK", "HEALTHY" };
	struct fabric f;
	struct reply r;

	begin(&f);
	for (unsigned i = 0; i < 4; i++) {
		set_at_once(&f, HOST, states[i], &r);
		assert_string_equal(r.error, "");
		assert_false(r.rerouted);
		assert_int_equal(r.entries, 0);
		assert_override(&f, HOST, states[i]);
	}
	set_at_once(&f, HOST, NULL, &r);
	assert_override(&f, HOST, "");
	assert_int_equal(f.asked.reroutes, 0);
	fake_pipe_fini(&f);
}

static void a_state_that_is_none_changes_nothing(void **state)
{
	struct fabric f;
	struct reply r;

	begin(&f);
	set_at_once(&f, HOST, "POORLY", &r);
	assert_string_equal(r.error,
			    "unknown state POORLY: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL");
	set_at_once(&f, HOST, "UNKNOWN", &r);
	assert_string_equal(r.error,
			    "unknown state UNKNOWN: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL");
	assert_int_equal(f.asked.reroutes, 0);
	fake_pipe_fini(&f);
}

/* ---- Whose fabric ---------------------------------------------------------------------------- */

static void an_nvlink_subnet_is_refused_and_that_is_logged_once(void **state)
{
	static const char *const foreign[] = {
		"vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x9\nswitchguid=0x9(9)\n"
		"Switch\t4 \"S-0000000000000009\"\t\t# \"MF0;gb-nvl-087-switch03:N5110_LD/U1\" "
		"enhanced port 0 lid 1 lmc 0\n"
		"[1]\t\"H-0000000000000010\"[1](11) \t\t# \"dgx-su01-05 mlx5_0\" lid 2 4xNDR\n\n"
		"vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x10\ncaguid=0x10\n"
		"Ca\t1 \"H-0000000000000010\"\t\t# \"dgx-su01-05 mlx5_0\"\n"
		"[1](11) \t\"S-0000000000000009\"[1]\t\t# lid 2 lmc 0 \"switch\" lid 1 4xNDR\n",
		"vendid=0x2c9\ndevid=0xd2f2\nsysimgguid=0x9\nswitchguid=0x9(9)\n"
		"Switch\t4 \"S-0000000000000009\"\t\t# \"leaf\" enhanced port 0 lid 1 lmc 0\n"
		"[1]\t\"H-0000000000000010\"[1](11) \t\t# \"GB100 Nvidia Technologies\" lid 2 "
		"4xNDR\n\n"
		"vendid=0x2c9\ndevid=0x1021\nsysimgguid=0x10\ncaguid=0x10\n"
		"Ca\t1 \"H-0000000000000010\"\t\t# \"GB100 Nvidia Technologies\"\n"
		"[1](11) \t\"S-0000000000000009\"[1]\t\t# lid 2 lmc 0 \"switch\" lid 1 4xNDR\n",
	};
	struct fabric f;

	begin(&f);
	for (unsigned i = 0; i < 2; i++) {
		struct topo *t = parse_netfile(foreign[i]);

		assert_null(f.module->admit(f.room, f.view.topo));
		assert_non_null(f.module->admit(f.room, t));
		assert_non_null(f.module->admit(f.room, t));
		assert_int_equal(fake_events(&f, "nvlink-subnet", NULL), i + 1);
		topo_unref(t);
	}
	fake_pipe_fini(&f);
}

/* ---- What is kept and reported --------------------------------------------------------------- */

static void a_restart_keeps_what_operators_set(void **state)
{
	struct fabric f;
	struct reply r;

	begin(&f);
	set_at_once(&f, HOST, "NO_P2P", &r);
	fake_pipe_restart(&f);
	f.module->load(f.room, FABRIC_LOAD);
	assert_override(&f, HOST, "NO_P2P");
	fake_pipe_fini(&f);
}

static void a_row_with_a_state_that_is_none_is_lost(void **state)
{
	struct fabric f;
	struct reply r;

	begin(&f);
	set_at_once(&f, HOST, "NO_P2P", &r);
	fake_pipe_restart(&f);
	fake_take(&f, "nvswitch", HOST " POORLY -\n");
	f.module->load(f.room, FABRIC_LOAD);
	assert_int_equal(f.lost, 1);
	fake_pipe_fini(&f);
}

/* All links of its HCAs, as the leaves see them. */
static void set_links(struct fabric *f, const char *name, bool up)
{
	const struct topo *t = f->view.topo;
	struct topo_port *ports = (struct topo_port *)t->ports;

	for (uint32_t h = 0; h < t->nhosts; h++)
		for (uint32_t i = 0; i < t->hosts[h].ncas && !strcmp(t->hosts[h].name, name); i++) {
			uint32_t port = t->nodes[t->host_cas[t->hosts[h].first + i]].port0 + 1;

			ports[port].link_up = ports[ports[port].peer].link_up = up;
			ports[port].state = ports[ports[port].peer].state =
				up ? TOPO_ACTIVE : TOPO_DOWN;
		}
	f->module->published(f->room, FABRIC_PUBLISHED, t);
	fake_run_for(f, SECOND_US);
}

static size_t evidence_of(struct fabric *f, const char *name)
{
	json_t *doc = nvlink_hosts(f), *row;
	size_t index, count = 0;

	json_array_foreach (json_object_get(doc, "hosts"), index, row)
		if (!strcmp(json_string_value(json_object_get(row, "host")), name))
			count = json_array_size(json_object_get(row, "evidence"));
	json_decref(doc);
	return count;
}

/* Known by its log alone: that its HCAs went off and came back is all that shows a boot. */
static void a_host_whose_hcas_were_all_off_and_are_on_again_has_a_new_life(void **state)
{
	struct fabric f;

	begin(&f);
	fake_pipe_restart(&f);
	fake_take(&f, "nvlink",
		  "host " HOST " system=h100 told=HEALTHY heard=0\nevent " HOST " state=NO_P2P "
		  "remedy=3 trust=2 from=128 gpu=2 sw=-1 link=-1 code=79 times=1 text=Xid 79\n");
	f.module->load(f.room, FABRIC_LOAD);
	f.module->published(f.room, FABRIC_PUBLISHED, NULL);
	fake_run_for(&f, 60 * SECOND_US);
	assert_int_equal(evidence_of(&f, HOST), 1);
	set_links(&f, "dgx-su01-06", false); /* another host's are its own affair */
	set_links(&f, "dgx-su01-06", true);
	set_links(&f, HOST, false);
	assert_int_equal(evidence_of(&f, HOST), 1);
	set_links(&f, HOST, true);
	assert_int_equal(evidence_of(&f, HOST), 0);
	fake_pipe_fini(&f);
}

static void hosts_without_nvlink_are_an_alert_for_as_long_as_that_lasts(void **state)
{
	struct fabric f;
	struct reply r;

	begin(&f);
	set_at_once(&f, HOST, "NO_P2P", &r);
	f.module->settled(f.room, FABRIC_REVIEWED);
	assert_string_equal(alert_text(f.services.alerts, "hosts-no-p2p", NULL),
			    "1 host NO_P2P: " HOST);
	assert_null(alert_text(f.services.alerts, "hosts-fatal", NULL));
	set_at_once(&f, HOST, "FATAL", &r);
	f.module->settled(f.room, FABRIC_REVIEWED);
	assert_null(alert_text(f.services.alerts, "hosts-no-p2p", NULL));
	assert_non_null(alert_text(f.services.alerts, "hosts-fatal", NULL));
	set_at_once(&f, HOST, NULL, &r);
	f.module->settled(f.room, FABRIC_REVIEWED);
	assert_null(alert_text(f.services.alerts, "hosts-fatal", NULL));
	fake_pipe_fini(&f);
}

static void nine_sixteen_and_all_of_32_broken_hosts_are_one_alert_and_the_guard_is_another(
	void **state)
{
	static const unsigned broken[] = { 9, 16, 32 };

	for (unsigned k = 0; k < 3; k++) {
		struct fabric f;
		char *text = NULL, words[32];
		size_t length;
		FILE *out;

		begin(&f);
		fake_pipe_restart(&f);
		out = open_memstream(&text, &length);
		for (unsigned i = 0; i < broken[k]; i++) {
			const char *host = f.view.topo->hosts[i].name;

			fprintf(out,
				"host %s system=h100 told=HEALTHY heard=0\nevent %s state=FATAL "
				"remedy=3 trust=2 from=128 gpu=-1 sw=1 link=-1 code=22003 times=1 "
				"text=SXid 22003\n",
				host, host);
		}
		fclose(out);
		fake_take(&f, "nvlink", text);
		free(text);
		f.module->load(f.room, FABRIC_LOAD);
		f.module->published(f.room, FABRIC_PUBLISHED, NULL);
		fake_run_for(&f, 60 * SECOND_US);
		f.module->settled(f.room, FABRIC_REVIEWED);
		snprintf(words, sizeof(words), "%u hosts FATAL: ", broken[k]);
		assert_non_null(strstr(alert_text(f.services.alerts, "hosts-fatal", NULL), words));
		assert_non_null(alert_text(f.services.alerts, "nvswitch-guard", NULL));
		print_message("%.60s\n", alert_text(f.services.alerts, "hosts-fatal", NULL));
		fake_pipe_fini(&f);
	}
}

static void files_that_a_configuration_names_and_that_are_not_there_are_refused(void **state)
{
	struct conf conf;
	char err[512] = "";

	conf_default(&conf);
	assert_int_equal(nvlink_module.check(&conf, err, sizeof(err)), 0);
	strcpy(conf.nvswitch.alias_file, "/nowhere/aliases");
	assert_int_equal(nvlink_module.check(&conf, err, sizeof(err)), -1);
	assert_non_null(strstr(err, "/nowhere/aliases"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_state_moves_an_entry_and_each_is_answered_at_once),
		cmocka_unit_test(a_state_that_is_none_changes_nothing),
		cmocka_unit_test(an_nvlink_subnet_is_refused_and_that_is_logged_once),
		cmocka_unit_test(a_restart_keeps_what_operators_set),
		cmocka_unit_test(a_row_with_a_state_that_is_none_is_lost),
		cmocka_unit_test(a_host_whose_hcas_were_all_off_and_are_on_again_has_a_new_life),
		cmocka_unit_test(hosts_without_nvlink_are_an_alert_for_as_long_as_that_lasts),
		cmocka_unit_test(
			nine_sixteen_and_all_of_32_broken_hosts_are_one_alert_and_the_guard_is_another),
		cmocka_unit_test(
			files_that_a_configuration_names_and_that_are_not_there_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
