/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Any line at the control socket of a small fabric: what parses as a request is answered in this
 * process, also what a child would answer. Each command gives a result or a reason, the result is
 * JSON that can be written, and a text that was promised can be written too.
 */
#include "fm/control/answer.h"
#include "routing/ftree/route.h"
#include "tests/lib/control_fabric.h"
#include "topology/generate/generate.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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
	struct lid_map *lids;
	struct route *route;
	char err[256];

	if (fabric.topo)
		return &fabric;
	fabric.topo = generate_pgft(2, m, w, p, err, sizeof(err));
	assert(fabric.topo);
	lids = lid_plan(fabric.topo, NULL, 0);
	fabric.lids = *lids;
	free(lids);
	route = route_new();
	assert(!route_compute(route, fabric.topo, &fabric.lids, &params, &fabric.tables));
	route_free(route);
	return &fabric;
}

static void check_text(const struct command *command, const struct command_env *env, json_t *args)
{
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);

	assert(!command->run->text(env, args, out));
	fclose(out);
	assert(!memchr(text, 0, len)); /* the end mark would be taken for it */
	free(text);
}

static void answer(const struct command *command, json_t *args)
{
	const struct command_env env = { .fabric = world(), .reload = refuse_reload };
	char err[COMMAND_ERROR_SIZE] = "";
	json_t *result = command->run->answer(&env, args, err);
	char *text;

	assert(memchr(err, 0, sizeof(err)));
	if (!result) {
		assert(*err);
		return;
	}
	text = json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY);
	assert(text);
	free(text);
	if (command->run->text)
		check_text(command, &env, args);
	json_decref(result);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	json_t *request = json_loadb((const char *)data, size, 0, NULL);
	json_t *args = json_object_get(request, "args");
	const char *name = json_string_value(json_object_get(request, "cmd"));
	const struct command *command = name ? command_find(name) : NULL;

	if (command && json_is_object(args) && !command_is_operation(command, args) &&
	    command->run->answer)
		answer(command, args);
	json_decref(request);
	return 0;
}
