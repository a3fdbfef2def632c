/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What a restart knows of hosts: state_dir/nvswitch has what is believed and manual overrides,
 * `HOST BELIEVED OVERRIDE`, so that a restart moves nothing; state_dir/nvlink has what each host
 * showed and what happened to it, so that a restart heals nothing.
 */
#include <stdio.h>
#include <string.h>
#include "fm/nvswitch/module_own.h"

/* ---- States and overrides -------------------------------------------------------------------- */

static unsigned read_states(void *arg, FILE *in)
{
	struct nvlink_room *r = arg;
	char line[512], host[256], believed[32], word[32], rest;

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		int state, override = NVSWITCH_UNKNOWN;

		if (line[strspn(line, " \t\n")] == '\0' || line[0] == '#')
			continue;
		if (sscanf(line, "%255s %31s %31s %c", host, believed, word, &rest) != 3)
			return number;
		state = nvswitch_state_parse(believed);
		if (strcmp(word, "-"))
			override = nvswitch_state_parse(word);
		if (state < 0 || state == NVSWITCH_UNKNOWN || override < 0)
			return number;
		nvswitch_remember(r->nvswitch, host, (enum nvswitch_state)state,
				  (enum nvswitch_state) override);
	}
	return 0;
}

static void forget_one(void *arg, const char *host, enum nvswitch_state believed,
		       enum nvswitch_state override)
{
	nvswitch_remember(arg, host, NVSWITCH_HEALTHY, NVSWITCH_UNKNOWN);
}

static void forget_states(void *arg)
{
	struct nvlink_room *r = arg;

	nvswitch_each(r->nvswitch, forget_one, r->nvswitch);
}

static void write_one(void *arg, const char *host, enum nvswitch_state believed,
		      enum nvswitch_state override)
{
	fprintf(arg, "%s %s %s\n", host, nvswitch_state_name(believed),
		override == NVSWITCH_UNKNOWN ? "-" : nvswitch_state_name(override));
}

static void write_states(const void *arg, FILE *out)
{
	const struct nvlink_room *r = arg;

	nvswitch_each(r->nvswitch, write_one, out);
}

static const struct state_file states_file = {
	.name = NVLINK_STATES_FILE,
	.small = true,
	.form = "`HOST STATE STATE`, the last may be -",
	.read = read_states,
	.forget = forget_states,
	.write = write_states,
};

/* ---- What is remembered of each host beside that: written by hand by nobody ------------------ */

static unsigned read_memory(void *arg, FILE *in)
{
	struct nvlink_room *r = arg;
	char line[1024];

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++)
		if (line[strspn(line, " \t\n")] && line[0] != '#' &&
		    !nvswitch_memory_read(r->nvswitch, line))
			return number;
	return 0;
}

static void forget_memory(void *arg)
{
	struct nvlink_room *r = arg;

	nvswitch_memory_forget(r->nvswitch);
}

static void write_memory(const void *arg, FILE *out)
{
	const struct nvlink_room *r = arg;

	nvswitch_memory_write(r->nvswitch, out);
}

static const struct state_file memory_file = {
	.name = "nvlink",
	.small = true,
	.form = "`KIND HOST WORD=VALUE..`",
	.read = read_memory,
	.forget = forget_memory,
	.write = write_memory,
	.gather_us = 2000000,
	.gather_max_us = 10000000,
};

void nvlink_files_load(struct nvlink_room *r)
{
	state_store_read(r->services.state, &states_file, r);
	state_store_read(r->services.state, &memory_file, r);
}

void nvlink_states_changed(struct nvlink_room *r)
{
	state_store_changed(r->services.state, &states_file, r);
}

void nvlink_memory_changed(struct nvlink_room *r)
{
	state_store_changed(r->services.state, &memory_file, r);
}
