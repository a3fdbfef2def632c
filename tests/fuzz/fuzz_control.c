/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any line at the control socket of a small fabric: what parses as a request is answered in this process, also what a child
 * would answer. Each command gives a result or a reason, the result is JSON that can be written, and a text that
 * was promised can be written too.
 */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include "fm/control/command.h"
#include "routing/report.h"
#include "routing/route.h"
#include "topology/generate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct fabric {
	struct topo *topo;
	struct lid_map *lids;
	struct tables tables;
};

const struct topo *fabric_topo(const struct fabric *f)
{
	return f->topo;
}
const struct lid_map *fabric_lids(const struct fabric *f)
{
	return f->lids;
}
const struct tables *fabric_tables(const struct fabric *f)
{
	return &f->tables;
}
json_t *fabric_status(const struct fabric *f)
{
	return json_object();
}
const struct mcast_plan *fabric_trees(const struct fabric *f)
{
	return NULL;
}
json_t *fabric_partitions(const struct fabric *f, const char *which)
{
	return which && *which == '?' ? NULL : json_array();
}
json_t *fabric_groups(const struct fabric *f)
{
	return json_pack("[{s:s, s:s}]", "mgid", "ff12::1", "mlid", "0xc000");
}
const char *fabric_refusal(const struct fabric *f)
{
	return NULL;
}

json_t *fabric_events(const struct fabric *f, unsigned count)
{
	return json_array();
}
bool fabric_check(const struct fabric *f, struct check_report *report)
{
	return check_tables(f->topo, f->lids, &f->tables, report);
}
void fabric_sweep(struct fabric *f, fabric_done_fn *fn, void *arg)
{
}
void fabric_reroute(struct fabric *f, fabric_done_fn *fn, void *arg)
{
}
void fabric_readback(struct fabric *f, fabric_done_fn *fn, void *arg)
{
}
void fabric_cordon(struct fabric *f, const char *what, bool on, fabric_done_fn *fn, void *arg)
{
}
void fabric_release(struct fabric *f, const char *what, fabric_done_fn *fn, void *arg)
{
}
json_t *fabric_sick(const struct fabric *f)
{
	return json_array();
}
json_t *fabric_health(const struct fabric *f)
{
	return json_object();
}
void fabric_health_read(struct fabric *f, fabric_done_fn *fn, void *arg)
{
}
void fabric_nvswitch_set(struct fabric *f, const char *host, const char *state, fabric_done_fn *fn,
			 void *arg)
{
}
json_t *fabric_nvswitch(const struct fabric *f)
{
	return json_object();
}
int fabric_assume(const struct fabric *f, const char *text, uint8_t **states, char *err,
		  size_t err_size)
{
	if (strcmp(text, "host-1=NO_P2P")) {
		snprintf(err, err_size, "no host there: %s", text);
		return -1;
	}
	free(*states);
	*states = calloc(1, 1);
	return 0;
}
json_t *fabric_trial(const struct fabric *f, const struct topo *variant, const uint8_t *states,
		     const struct tables *tables)
{
	return json_pack("[{ss}]", "host", "host-1");
}
void fabric_try(const struct fabric *f, const struct topo *variant, const uint8_t *states,
		struct tables *out)
{
	tables_copy(out, &f->tables);
}
uint8_t *fabric_port_classes(const struct fabric *f)
{
	return NULL;
}
void fabric_follow(struct fabric *f, fabric_event_fn *fn, void *arg)
{
}
void fabric_unfollow(struct fabric *f, void *arg)
{
}
void fabric_act_cancel(struct fabric *f, void *arg)
{
}

static int refuse_reload(void *arg, char *err, size_t err_size)
{
	snprintf(err, err_size, "not here");
	return -1;
}

/* Made once and kept: the fabric is the same for every input. */
static struct fabric *world(void)
{
	static struct fabric fabric;
	static const unsigned m[] = { 2, 2 }, w[] = { 1, 2 }, p[] = { 1, 1 };
	const struct route_params params = { .engine = "ftree" };
	struct lid_memory memory = { 0 };
	struct route *route;
	char err[256];

	if (fabric.topo)
		return &fabric;
	fabric.topo = generate_pgft(2, m, w, p, err, sizeof(err));
	assert(fabric.topo);
	fabric.lids = lid_plan(fabric.topo, &memory);
	route = route_new();
	assert(!route_compute(route, fabric.topo, fabric.lids, &params, &fabric.tables));
	route_free(route);
	return &fabric;
}

static void check_text(const struct command *command, const struct command_env *env, json_t *args)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert(!command->text(env, args, out));
	fclose(out);
	assert(!memchr(text, 0, len)); /* the end mark would be taken for it */
	free(text);
}

static void answer(const struct command *command, json_t *args)
{
	const struct command_env env = { .fabric = world(), .reload = refuse_reload };
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *result = command->answer(&env, args, err);
	char *text;

	assert(memchr(err, 0, sizeof(err)));
	if (!result) {
		assert(*err);
		return;
	}
	text = json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY);
	assert(text);
	free(text);
	if (command->text)
		check_text(command, &env, args);
	json_decref(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *request = json_loadb((const char *)data, size, 0, NULL);
	json_t *args = json_object_get(request, "args");
	const char *name = json_string_value(json_object_get(request, "cmd"));
	const struct command *command = name ? command_find(name) : NULL;

	if (command && json_is_object(args) && !command_is_act(command, args) && command->answer)
		answer(command, args);
	json_decref(request);
	return 0;
}
