/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lineage: the elected one's state is in force, whatever it comes from (IBA 14.4.1 knows nothing of
 * files). What another manager did as master without it is not lost by that: who yields puts its
 * files aside and says so, and the take-over of who stays master counts behind the other's, so that
 * from then on there is one order.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mirror/lineage.h"
#include "fm/mirror/own.h"
#include "topology/mem.h"

/* ---- The file -------------------------------------------------------------------------------- */

static unsigned read_takeovers(void *arg, FILE *in)
{
	char text[GENERATION_KEPT * 48 + 32];
	struct mirror *m = arg;
	size_t length = fread(text, 1, sizeof(text) - 1, in);

	text[length] = '\0';
	return !generation_read(&m->generation, text);
}

static void forget_takeovers(void *arg)
{
	struct mirror *m = arg;

	m->generation = (struct generation){ 0 };
}

static void write_takeovers(const void *arg, FILE *out)
{
	const struct mirror *m = arg;

	generation_write(&m->generation, out);
}

static const struct state_file takeovers_file = {
	.name = "takeovers",
	.form = "`NUMBER`, then `NUMBER MASTER`",
	.read = read_takeovers,
	.forget = forget_takeovers,
	.write = write_takeovers,
	.small = true,
};

void lineage_load(struct mirror *m)
{
	forget_takeovers(m);
	state_store_read(m->services.state, &takeovers_file, m);
}

static void add(struct mirror *m, uint64_t heard)
{
	generation_add(&m->generation, mad_port_info(m->services.mad)->port_guid, heard);
	state_store_changed(m->services.state, &takeovers_file, m);
}

void lineage_take_over(struct mirror *m)
{
	uint64_t heard = 0;

	lineage_load(m);
	for (unsigned i = 0; i < m->npeers; i++) {
		uint64_t number = generation_number(&m->peers[i].who.generation);

		heard = number > heard ? number : heard;
	}
	add(m, heard);
}

/* ---- Two that were master -------------------------------------------------------------------- */

void lineage_meet(struct mirror *m, const struct manager *standby)
{
	enum generation_result said = generation_compare(&m->generation, &standby->generation);

	if (said != GENERATION_APART && said != GENERATION_BEHIND)
		return;
	event_log_add(m->services.events, LOG_WARNING, "mirror", NULL,
		      "fabric: %s (port GUID 0x%016" PRIx64 ") was master in take-over %" PRIu64
		      " without this manager: what this one keeps stays in force, what that one "
		      "did is put aside there",
		      standby->name, standby->port_guid, generation_number(&standby->generation));
	add(m, generation_number(&standby->generation));
}

static bool is_same(const struct content *theirs, const char *bytes, size_t length)
{
	return theirs && theirs->text.length == length && !theirs->records.length &&
	       !memcmp(theirs->text.bytes, bytes, length);
}

struct aside {
	struct mirror *mirror;
	const struct peer *master;
	char names[200]; /* of files */
};

/* As it would be read: the file, and changes behind it as they are in the journal. */
static void put_aside(void *arg, const char *name)
{
	struct aside *a = arg;
	struct state_store *state = a->mirror->services.state;
	size_t length, used = strlen(a->names), more;
	char *bytes, *beside, *all;
	const char *lines;

	if (!mirror_has(name))
		return;
	bytes = state_store_on_disk(state, name, &length);
	lines = state_store_records(state, name, &more);
	if ((length || more) &&
	    (more || !is_same(contents_find((struct contents *)&a->master->contents, name), bytes,
			      length))) {
		beside = mem_printf("%s" MIRROR_ASIDE, name);
		all = mem_alloc(length + more + 1, 1);
		memcpy(all, bytes ? bytes : "", length);
		memcpy(all + length, more ? lines : "", more);
		state_store_put(state, beside, all, length + more);
		snprintf(a->names + used, sizeof(a->names) - used, "%s%s", used ? ", " : "",
			 beside);
		free(all);
		free(beside);
	}
	free(bytes);
}

void lineage_yield(struct mirror *m, const struct peer *master)
{
	enum generation_result said = generation_compare(&m->generation, &master->who.generation);
	struct aside a = { m, master, "" };

	if (!master->who.generation.count || (said != GENERATION_APART && said != GENERATION_AHEAD))
		return; /* an older version does not say what it comes from */
	state_store_each(m->services.state, put_aside, &a);
	event_log_add(m->services.events, LOG_WARNING, "mirror", NULL,
		      "fabric: this manager was master in take-over %" PRIu64
		      " without %s (port GUID 0x%016" PRIx64
		      "), whose state is in force now; what this one had is kept in state_dir: %s",
		      generation_number(&m->generation), master->who.name, master->who.port_guid,
		      *a.names ? a.names : "nothing that differs");
}
