/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/fabric_world.h"

#define QP1_QKEY      0x80010000u
#define SCRATCH_BYTES 40 /* of TMPDIR: a state_dir's path is short */

const struct topo *fabric_topo(const struct fabric *f)
{
	return fabric_view(f).topo;
}

const struct lid_map *fabric_lids(const struct fabric *f)
{
	return fabric_view(f).lids;
}

const struct tables *fabric_tables(const struct fabric *f)
{
	return fabric_view(f).tables;
}

void stop_cb(void *arg)
{
	loop_stop(arg);
}

void run_for(struct world *w, uint64_t us)
{
	loop_timer_set(w->stop, us);
	assert_int_equal(loop_run(w->loop), 0);
}

void start_fabric(struct world *w)
{
	const struct mad_conf mad = {
		.window_max = 64,
		.window_device = 16,
		.timeout_ms = 200,
		.retries = 3,
	};

	w->mad = mad_new(w->loop, double_io(w->hw), &mad);
	w->fabric = fabric_new(w->loop, w->mad, &w->conf, fabric_rooms);
	fabric_start(w->fabric);
}

void stop_fabric(struct world *w)
{
	fabric_free(w->fabric);
	mad_free(w->mad);
	w->fabric = NULL;
}

void world_init_stopped(struct world *w, struct topo *design)
{
	const char *tmp = getenv("TMPDIR");

	assert_non_null(design);
	log_set_level(-1, LOG_ERR);
	*w = (struct world){ .design = design, .loop = loop_new_simulated() };
	tmp = tmp && strlen(tmp) <= SCRATCH_BYTES ? tmp : "/tmp";
	snprintf(w->state_dir, sizeof(w->state_dir), "%s/fmd-test-XXXXXX", tmp);
	assert_non_null(mkdtemp(w->state_dir));
	conf_default(&w->conf);
	w->conf.audit.rate = 0; /* but where a test wants it */
	snprintf(w->conf.state_dir, sizeof(w->conf.state_dir), "%s", w->state_dir);
	w->hw = double_new(w->loop, design, design->nodes[design->nswitches].guid, 1, NULL);
	w->stop = loop_timer_new(w->loop, stop_cb, w->loop);
}

void world_init(struct world *w, struct topo *design)
{
	world_init_stopped(w, design);
	start_fabric(w);
	run_for(w, 2 * SECOND_US);
}

void remove_state(const struct world *w, const char *kind)
{
	static const char *const links[] = { "nodes", "ports" };

	rows_forget(w->state_dir, kind);
	for (unsigned i = 0; !strcmp(kind, "cables") && i < 2; i++)
		rows_forget(w->state_dir, links[i]);
}

static void remove_files(const char *folder)
{
	DIR *dir = opendir(folder);
	struct dirent *entry;

	while (dir && (entry = readdir(dir))) {
		char *path = mem_printf("%s/%s", folder, entry->d_name);

		unlink(path); /* no folder */
		free(path);
	}
	if (dir)
		closedir(dir);
}

void remove_all_state(const struct world *w)
{
	char old[128];

	state_path(w, "before-state.db", old);
	remove_files(old);
	rmdir(old);
	remove_files(w->state_dir);
}

void world_fini(struct world *w)
{
	if (w->fabric)
		stop_fabric(w);
	double_free(w->hw);
	loop_timer_free(w->stop);
	loop_free(w->loop);
	remove_all_state(w);
	rmdir(w->state_dir);
	topo_unref(w->design);
}

struct topo *small_tree(void)
{
	static const unsigned m[] = { 4, 4, 3 }, w[] = { 1, 4, 2 }, p[] = { 1, 1, 2 };
	char err[256];

	return generate_pgft(3, m, w, p, err, sizeof(err));
}

bool is_up(const struct world *w)
{
	json_t *status = fabric_status(w->fabric);
	bool up = strcmp(json_string_value(json_object_get(status, "state")), "up") == 0;

	json_decref(status);
	return up;
}

double status_number(const struct world *w, const char *section, const char *key)
{
	json_t *status = fabric_status(w->fabric);
	json_t *from = section ? json_object_get(status, section) : status;
	double value = json_number_value(json_object_get(from, key));

	json_decref(status);
	return value;
}

uint16_t lid_of(const struct world *w, uint32_t host)
{
	const struct topo *t = fabric_topo(w->fabric);
	uint32_t node = topo_find(t, w->design->nodes[w->design->nswitches + host].guid);

	return fabric_lids(w->fabric)->lid_of_port[t->nodes[node].port0 + 1];
}

void assert_hardware_delivers(const struct world *w, uint64_t seed)
{
	const struct topo *t = w->design;

	for (unsigned i = 0; i < SAMPLED_PAIRS; i++) {
		uint32_t from = damage_random(&seed) % t->ncas, to = damage_random(&seed) % t->ncas;
		int hops =
			double_trace(w->hw, t->nodes[t->nswitches + from].guid, 1, lid_of(w, to));

		if (hops < 0)
			print_error("%s -> %s: %d\n", t->nodes[t->nswitches + from].desc,
				    t->nodes[t->nswitches + to].desc, hops);
		assert_true(hops >= 0);
	}
}

unsigned dead_pairs(const struct world *w)
{
	const struct topo *t = w->design;
	unsigned dead = 0;

	for (uint32_t a = 0; a < t->ncas; a++)
		for (uint32_t b = 0; b < t->ncas; b++)
			dead += a != b && double_trace(w->hw, t->nodes[t->nswitches + a].guid, 1,
						       lid_of(w, b)) < 0;
	return dead;
}

void assert_hardware_holds_the_tables(const struct world *w)
{
	const struct topo *t = fabric_topo(w->fabric);
	const struct tables *tables = fabric_tables(w->fabric);

	for (uint32_t sw = 0; sw < t->nswitches; sw++)
		for (uint32_t lid = 1; lid <= tables->top; lid++)
			if (double_lft(w->hw, t->nodes[sw].guid, lid) !=
			    tables_row(tables, sw)[lid])
				fail_msg("%s LID %u", t->nodes[sw].desc, lid);
}

uint32_t far_leaf(const struct world *w)
{
	for (uint32_t sw = w->design->nswitches; sw-- > 0;)
		if (w->design->nodes[sw].level == 0)
			return sw;
	fail();
	return 0;
}

unsigned count_alerts(const struct world *w, const char *what, const char *text)
{
	json_t *status = fabric_status(w->fabric), *alert;
	unsigned count = 0;
	size_t i;

	json_array_foreach (json_object_get(status, "alerts"), i, alert)
		count += (!*what ||
			  !strcmp(json_string_value(json_object_get(alert, "what")), what)) &&
			 strstr(json_string_value(json_object_get(alert, "text")), text);
	json_decref(status);
	return count;
}

/* Of this life: what files hold of those before stands ahead of it. */
unsigned count_logged(const struct world *w, const char *kind, const char *text)
{
	json_t *events = fabric_events(w->fabric, 1000), *event;
	unsigned count = 0;
	size_t i;

	json_array_foreach (events, i, event)
		if (!strcmp(json_string_value(json_object_get(event, "kind")), "started"))
			count = 0;
		else
			count += !strcmp(json_string_value(json_object_get(event, "kind")), kind) &&
				 strstr(json_string_value(json_object_get(event, "text")), text);
	json_decref(events);
	return count;
}

void state_path(const struct world *w, const char *name, char path[128])
{
	snprintf(path, 128, "%s/%s", w->state_dir, name);
}

char *state_lines(const struct world *w, const char *kind)
{
	return w->fabric ? rows_known(fabric_services(w->fabric).state, kind)
			 : rows_text(w->state_dir, kind);
}

char *disk_lines(const struct world *w, const char *kind)
{
	char copy[96], command[300], *text;

	snprintf(copy, sizeof(copy), "%s-disk", w->state_dir);
	snprintf(command, sizeof(command), "rm -rf %s; cp -r %s %s", copy, w->state_dir, copy);
	assert_int_equal(system(command), 0);
	text = rows_text(copy, kind);
	snprintf(command, sizeof(command), "rm -r %s", copy);
	assert_int_equal(system(command), 0);
	return text;
}

bool restart_with(struct world *w, const char *kind, const char *text)
{
	char start[64];

	stop_fabric(w);
	rows_replace(w->state_dir, kind, text);
	log_set_level(LOG_CORE, LOG_ERR - 1);
	start_fabric(w);
	run_for(w, 2 * SECOND_US);
	snprintf(start, sizeof(start), "%s: `", kind);
	return !count_alerts(w, "state-lost", start);
}

void restart_with_corrupted(struct world *w, const char *kind, const char *text)
{
	assert_false(restart_with(w, kind, text));
}

void reply_cb(void *arg, json_t *result, const char *error)
{
	struct reply *r = arg;

	r->count++;
	r->result = json_incref(result);
	snprintf(r->error, sizeof(r->error), "%s", error ? error : "");
}

struct reply cordon(struct world *w, const char *what, bool on)
{
	struct reply r = { 0 };

	links_out_cordon(w->fabric, what, on, reply_cb, &r);
	run_for(w, SECOND_US);
	assert_int_equal(r.count, 1);
	return r;
}

void operation_cb(void *arg, json_t *result, const char *error)
{
	struct answer *a = arg;

	a->count++;
	a->failed = error != NULL || !result;
}

void try_present(const struct fabric *fabric, struct tables *out)
{
	const struct topo *present = fabric_topo(fabric);
	struct fabric_policy policy = fabric_policy(fabric, present, NULL);

	lid_map_free(fabric_try(fabric, present, &policy, out, &(struct fabric_tried){ 0 }));
	fabric_policy_fini(&policy);
}

/* ---- A client -------------------------------------------------------------------------------- */

static void path_heard(void *arg, const struct io_addr *from, const uint8_t *mad, size_t len)
{
	struct path_heard *h = arg;
	struct wire_path_record rec;

	wire_path_record_decode(mad + WIRE_SA_HEADER, &rec);
	h->count++;
	h->status = (uint16_t)(mad[4] << 8 | mad[5]);
	h->pkey = rec.pkey;
}

struct path_heard ask_path(struct world *w, uint32_t asker, guid_t from, guid_t to)
{
	static uint32_t tid;
	const struct wire_mad header = { .mgmt_class = WIRE_SA,
					 .class_version = 2,
					 .method = WIRE_GET,
					 .tid = ++tid,
					 .attr_id = WIRE_SA_PATH };
	const struct wire_path_record want = { .sgid = { w->conf.sm.subnet_prefix, from },
					       .dgid = { w->conf.sm.subnet_prefix, to } };
	const uint64_t mask = WIRE_BIT(WIRE_PATH(sgid)) | WIRE_BIT(WIRE_PATH(dgid));
	const guid_t own = w->design->nodes[w->design->nswitches].guid;
	const struct io_addr sa = { .lid = double_port_info(w->hw, own, 1)->lid,
				    .qp = 1,
				    .qkey = QP1_QKEY };
	uint8_t mad[WIRE_MAD_SIZE] = { 0 };
	struct path_heard heard = { 0 };

	wire_mad_encode(&header, mad);
	for (unsigned i = 0; i < 8; i++)
		mad[48 + i] = (uint8_t)(mask >> (56 - 8 * i));
	wire_path_record_encode(&want, mad + WIRE_SA_HEADER);
	double_inject(w->hw, w->design->nodes[asker].guid, 1, &sa, mad, sizeof(mad), path_heard,
		      &heard);
	run_for(w, 1000);
	return heard;
}
