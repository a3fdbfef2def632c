/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * lineage: the elected one's state is in force, whatever it comes from (IBA 14.4.1 knows nothing of
 * files). What another manager did as master without it is not lost by that: who yields puts its
 * files aside and says so, and the take-over of who stays master counts behind the other's, so that
 * from then on there is one order.
 *
 * A standby that fell behind, or was off, may become master before the one that it copied returns.
 * So a master keeps a note of changes that no standby had (`unshared`); who returns with such a
 * note yields like one that was master of its own.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include "fm/mirror/lineage.h"
#include "fm/mirror/own.h"
#include "topology/base/mem.h"

#define MET_BURST 4 /* events in a second */

/* ---- The file -------------------------------------------------------------------------------- */

static void forget_takeovers(void *arg)
{
	struct mirror *m = arg;

	m->generation = (struct generation){ 0 };
}

static unsigned read_takeovers(void *arg, FILE *in)
{
	char text[GENERATION_KEPT * 48 + 32];
	struct mirror *m = arg;
	size_t length = fread(text, 1, sizeof(text) - 1, in);

	text[length] = '\0';
	if (length)
		return !generation_read(&m->generation, text);
	forget_takeovers(m); /* as the copy of a master has it that has written none yet */
	return 0;
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

/* ---- What no standby had --------------------------------------------------------------------- */

static void forget_unshared(void *arg)
{
	struct mirror *m = arg;

	m->unshared = 0;
}

static unsigned read_unshared(void *arg, FILE *in)
{
	struct mirror *m = arg;
	char line[32];

	m->unshared = fgets(line, sizeof(line), in) ? strtoull(line, NULL, 10) : 0;
	return 0;
}

static void write_unshared(const void *arg, FILE *out)
{
	const struct mirror *m = arg;

	fprintf(out, "%" PRIu64 "\n", m->unshared);
}

static const struct state_file unshared_file = {
	.name = "unshared",
	.form = "the number of a take-over",
	.read = read_unshared,
	.forget = forget_unshared,
	.write = write_unshared,
};

/*
 * A standby that was whole in this take-over has it in its take-overs, and would pass for one that
 * has all. Two ticks, because the latest change is always about to be taken.
 */
void lineage_review(struct mirror *m)
{
	uint64_t was = m->unshared;
	bool owes;

	if (!fabric_is_master(m->fabric))
		return;
	owes = m->shared && m->matters > m->shared;
	if (!owes)
		m->unshared = 0;
	else if (m->owed)
		m->unshared = generation_number(&m->generation);
	m->owed = owes;
	if (m->unshared != was)
		state_store_changed(m->services.state, &unshared_file, m);
}

static bool has_unshared(const struct generation *g, uint64_t unshared)
{
	return unshared && unshared == generation_number(g);
}

/* ---- The present one ------------------------------------------------------------------------- */

void lineage_load(struct mirror *m)
{
	forget_takeovers(m);
	state_store_read(m->services.state, &takeovers_file, m);
	forget_unshared(m);
	state_store_read(m->services.state, &unshared_file, m);
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

/* What it says once more, for its connection was lost, is no news. */
static bool is_met(struct mirror *m, const struct manager *standby)
{
	uint64_t number = generation_number(&standby->generation);

	for (unsigned i = 0; i < MIRROR_READERS; i++)
		if (m->met[i].port_guid == standby->port_guid && m->met[i].number == number)
			return true;
	m->met[m->nmet % MIRROR_READERS].port_guid = standby->port_guid;
	m->met[m->nmet++ % MIRROR_READERS].number = number;
	return false;
}

static void say_unshared(const struct mirror *m, const struct manager *standby)
{
	event_log_add(m->services.events, LOG_WARNING, "mirror", NULL, NULL,
		      "fabric: %s (port GUID 0x%016" PRIx64 ") was master in take-over %" PRIu64
		      " and changed what no standby had copied when it ended: that is put aside "
		      "there, what this manager keeps stays in force",
		      standby->name, standby->port_guid, standby->unshared);
}

static void say_apart(const struct mirror *m, const struct manager *standby)
{
	event_log_add(m->services.events, LOG_WARNING, "mirror", NULL, NULL,
		      "fabric: %s (port GUID 0x%016" PRIx64 ") was master in take-over %" PRIu64
		      " without this manager: what this one keeps stays in force, what that one "
		      "did is put aside there",
		      standby->name, standby->port_guid, generation_number(&standby->generation));
}

void lineage_meet(struct mirror *m, const struct manager *standby)
{
	enum generation_result said = generation_compare(&m->generation, &standby->generation);
	bool apart = said == GENERATION_APART || said == GENERATION_BEHIND;
	bool unshared =
		said == GENERATION_AHEAD && has_unshared(&standby->generation, standby->unshared);
	uint64_t number = generation_number(&standby->generation);
	bool met = (apart || unshared) && is_met(m, standby);

	if ((!apart && !unshared) || (met && number < generation_number(&m->generation)))
		return;
	if (!met && log_allow(&m->met_limit, loop_now_us(m->services.loop), MET_BURST))
		(apart ? say_apart : say_unshared)(m, standby);
	if (apart)
		add(m, number);
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
	bytes = state_store_text(state, name, &length);
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
	bool unshared = said == GENERATION_BEHIND && has_unshared(&m->generation, m->unshared);
	struct aside a = { m, master, "" };

	if (!master->who.generation.count ||
	    (!unshared && said != GENERATION_APART && said != GENERATION_AHEAD))
		return; /* an older version does not say what it comes from */
	state_store_each(m->services.state, put_aside, &a);
	state_store_put(m->services.state, unshared_file.name, "", 0);
	event_log_add(m->services.events, LOG_WARNING, "mirror", NULL, NULL,
		      "fabric: this manager was master in take-over %" PRIu64
		      " %s %s (port GUID 0x%016" PRIx64
		      "), whose state is in force now; what this one had is kept in state_dir: %s",
		      generation_number(&m->generation),
		      unshared ? "and made changes of which no copy reached" : "without",
		      master->who.name, master->who.port_guid,
		      *a.names ? a.names : "nothing that differs");
}
