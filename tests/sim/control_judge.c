/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* judge: what the devices really forward (tests/fabric/double_judge.h), as text or JSON. */
#include "tests/sim/control_own.h"
#include <errno.h>
#include <string.h>
#include "tests/fabric/double_judge.h"

#define MOVED_SHOWN 8
#define AGES	    16

static void print_place(FILE *out, const struct dport *port)
{
	fprintf(out, "0x%016llx:%u", (unsigned long long)port->node->guid, port->num);
}

static void json_place(FILE *out, const char *key, const struct dport *port)
{
	fprintf(out, ", \"%s\": ", key);
	fputs(port ? "\"" : "null", out);
	if (!port)
		return;
	print_place(out, port);
	fputc('"', out);
}

static void json_write(struct args *a, const struct verdict *v)
{
	fprintf(a->out,
		"{\"pairs_dead\": %llu, \"pairs_cut\": %llu, \"lids_moved\": %u, "
		"\"pairs\": %llu, \"alive\": %llu, \"dead\": %llu, \"hcas\": %u, \"dark\": %u, "
		"\"unreached\": %u, \"lids\": %u, \"moved\": %u, \"loops\": %u, \"cycles\": %u, "
		"\"off\": %u, "
		"\"training\": %u, \"to_come\": %u, \"now\": %.6f, \"last_up\": %.6f, "
		"\"changed\": %.6f",
		(unsigned long long)(v->pairs - v->alive), (unsigned long long)v->cut, v->moved,
		(unsigned long long)v->pairs, (unsigned long long)v->alive,
		(unsigned long long)(v->pairs - v->alive), v->hcas, v->dark, v->unreached, v->lids,
		v->moved, v->loops, v->cycles, v->off, v->training, sim_control_to_come(a->c),
		sim_control_seconds(a->c, loop_now_us(a->d->loop)),
		sim_control_seconds(a->c, v->up_us), sim_control_seconds(a->c, v->changed_us));
	json_place(a->out, "from", v->from);
	json_place(a->out, "to", v->to);
	json_place(a->out, "cycle", v->cycle);
	fputs("}\n", a->out);
}

static void text_write(struct args *a, const struct verdict *v)
{
	unsigned shown = 0;

	fprintf(a->out, "pairs_dead %llu pairs_cut %llu lids_moved %u loops %u cycles %u\n",
		(unsigned long long)(v->pairs - v->alive), (unsigned long long)v->cut, v->moved,
		v->loops, v->cycles);
	fprintf(a->out,
		"pairs %llu, alive %llu, dead %llu; HCA ports %u, not Active %u, unreached %u\n",
		(unsigned long long)v->pairs, (unsigned long long)v->alive,
		(unsigned long long)(v->pairs - v->alive), v->hcas, v->dark, v->unreached);
	fprintf(a->out, "LIDs marked %u, moved %u; LFT loops %u; credit cycles %u\n", v->lids,
		v->moved, v->loops, v->cycles);
	fprintf(a->out,
		"devices off %u, links training %u, lines to come %u; last link up at %.3f s, now "
		"%.3f s\n",
		v->off, v->training, sim_control_to_come(a->c), sim_control_seconds(a->c, v->up_us),
		sim_control_seconds(a->c, loop_now_us(a->d->loop)));
	if (v->from) {
		fputs("dead: packet ", a->out);
		print_place(a->out, v->from);
		fputc(' ', a->out);
		print_place(a->out, v->to);
		fputc('\n', a->out);
	}
	if (v->cycle) {
		fputs("cycle through ", a->out);
		print_port(a->out, v->cycle);
		fputc('\n', a->out);
	}
	for (uint32_t i = 0; i < a->d->topo->nports && shown < MOVED_SHOWN; i++) {
		const struct dport *port = &a->d->ports[i];

		if (!double_lid_moved(port))
			continue;
		fprintf(a->out, "moved %u -> %u: ", port->marked_lid, port->info.lid);
		print_port(a->out, port);
		fputc('\n', a->out);
		shown++;
	}
}

/* TIME,TIME.. */
static bool next_ages(struct args *a, uint64_t *ages, unsigned *nages)
{
	char *words = a->words[a->next++], *word;

	for (*nages = 0; (word = strsep(&words, ",")); ++*nages)
		if (*nages == AGES || !sim_control_time(word, &ages[*nages])) {
			bad(a, "'%s' is no time (20us, 2ms, 2.5s), or one too many", word);
			return false;
		}
	return true;
}

static int do_judge(struct args *a)
{
	const struct dport *with = NULL;
	struct verdict verdicts[AGES];
	uint64_t ages[AGES] = { 0 };
	struct dport *port;
	unsigned nages = 1;
	bool json, sound;

	if (next_is(a, "mark")) {
		double_judge_mark(a->d);
		return 0;
	}
	json = next_is(a, "--json");
	sound = next_is(a, "sound");
	if (a->next < a->count && !next_ages(a, ages, &nages))
		return -EINVAL;
	if (a->next < a->count) {
		if (!next_port(a, &port))
			return -EINVAL;
		with = port;
	}
	double_judge_ages(a->d, ages, nages, with, sound, verdicts);
	for (unsigned i = 0; i < nages; i++)
		(json ? json_write : text_write)(a, &verdicts[i]);
	return 0;
}

/* A line a class: its number, and how many Sets devices got; of a node: how many it has sent. */
static int do_sets(struct args *a)
{
	struct dnode *node;
	uint64_t sent = 0;

	if (a->count > 1) {
		if (!next_node(a, &node))
			return -1;
		for (unsigned p = 0; p <= node->ni.nports; p++) {
			struct dclient *c = double_client(a->d, &node->ports[p]);

			sent += c ? double_sent_by(&c->io, WIRE_SET, 0) : 0;
		}
		fprintf(a->out, "%llu\n", (unsigned long long)sent);
		return 0;
	}
	for (unsigned c = 0; c < 256; c++)
		if (a->d->sets[c])
			fprintf(a->out, "0x%02x %llu\n", c, (unsigned long long)a->d->sets[c]);
	return 0;
}

/*
 * What happened since they were reset, in microseconds of this clock; and how many devices
 * repeat a trap that is not repressed yet.
 */
static int do_stamps(struct args *a)
{
	unsigned traps = 0;

	for (uint32_t n = 0; n < a->d->topo->nnodes; n++)
		traps += a->d->nodes[n].traps != NULL;
	if (next_is(a, "reset"))
		memset(&a->d->stamps, 0, sizeof(a->d->stamps));
	fprintf(a->out,
		"{\"now\": %llu, \"trap\": %llu, \"first\": %llu, \"last\": %llu, "
		"\"block\": %llu, \"answered\": %llu, \"blocks\": %u, \"entries\": %u, "
		"\"groups\": %u, \"traps\": %u, \"register\": %llu}\n",
		(unsigned long long)loop_clock_us(a->d->loop),
		(unsigned long long)a->d->stamps.trap_us, (unsigned long long)a->d->stamps.first_us,
		(unsigned long long)a->d->stamps.last_us, (unsigned long long)a->d->stamps.block_us,
		(unsigned long long)a->d->stamps.answered_us, a->d->stamps.blocks,
		a->d->stamps.entries, a->d->stamps.groups, traps,
		(unsigned long long)a->d->stamps.register_us);
	return 0;
}

const struct command commands_judge[] = {
	{ "stamps", "[reset]",
	  "when a trap reached a port, SMPs came and blocks of tables were answered; who repeats "
	  "traps",
	  0, 1, do_stamps },
	{ "sets", "[NODE]", "how many Sets devices got, by management class; or the node has sent",
	  0, 1, do_sets },
	{ "judge", "[mark] [--json] [sound] [TIME[,TIME..] [A:PORT]]",
	  "pairs that cables connect (for so long) and tables do not, LIDs moved since the mark", 0,
	  4, do_judge },
	{ 0 },
};
