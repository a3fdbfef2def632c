/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The judge of what devices forward, against packets that are walked one by one through small
 * random fabrics in ill states: wrong tables, links that are out, off, not Active, LIDs that are
 * missing or held twice.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include "tests/fabric/double_judge.h"
#include "tests/fabric/double_own.h"
#include "tests/fabric/double_world.h"
#include "topology/base/sort.h"
#include "topology/snapshot/topo_builder.h"

#define SWITCHES_MAX 9
#define PORTS	     12 /* of a switch */
#define LIDS_MAX     64
#define OLD_US	     1000 /* links came up then or then, and are judged now */
#define NEW_US	     5000
#define NOW_US	     9000
#define FABRICS	     600

struct small {
	uint64_t random;
	struct loop *loop;
	struct topo *topo;
	struct double_fabric *d;
	uint64_t ripe_us; /* links that came up later connect nobody */
};

static unsigned dice(struct small *s, unsigned sides)
{
	return (unsigned)(random_next(&s->random) % sides);
}

/* ---- Fabrics --------------------------------------------------------------------------------- */

static int add(struct topo_builder *b, unsigned number, uint8_t type, uint8_t nports, bool sharp)
{
	char name[32];
	const struct topo_node attr = {
		.guid = number + 1ull, .desc = name, .type = type, .nports = nports, .sharp = sharp
	};

	snprintf(name, sizeof(name), "node-%u", number);
	return topo_builder_node(b, &attr);
}

/* Some of these meet a port that is taken, and are left out. */
static void join(struct small *s, struct topo_builder *b, int a, int z, unsigned ports_z)
{
	topo_builder_link(b, a, 1 + dice(s, PORTS), z, ports_z ? 1 + dice(s, ports_z) : 1, true);
}

static struct topo *some_topo(struct small *s)
{
	struct topo_builder *b = topo_builder_new();
	unsigned nswitches = 1 + dice(s, SWITCHES_MAX), nhcas = 2 + dice(s, 12), number = 0;

	for (unsigned i = 0; i < nswitches; i++)
		add(b, number++, TOPO_SWITCH, PORTS, false);
	for (unsigned i = 1; i < nswitches; i++) /* now and then it is in several parts */
		if (dice(s, 8))
			join(s, b, (int)dice(s, i), (int)i, PORTS);
	for (unsigned i = dice(s, 2 * nswitches); nswitches > 1 && i; i--) {
		int one = (int)dice(s, nswitches), other = (int)dice(s, nswitches);

		if (one != other)
			join(s, b, one, other, PORTS);
	}
	for (unsigned i = 0; i < nhcas; i++) {
		int hca = add(b, number++, TOPO_CA, 2, dice(s, 8) == 0);

		join(s, b, (int)dice(s, nswitches), hca, 2);
		join(s, b, (int)dice(s, nswitches), hca, 2);
	}
	for (unsigned i = dice(s, 3); i == 1; i--) { /* two HCAs with a cable of their own */
		int one = add(b, number++, TOPO_CA, 1, false),
		    other = add(b, number++, TOPO_CA, 1, false);

		assert_int_equal(topo_builder_link(b, one, 1, other, 1, true), 0);
	}
	return topo_freeze(b);
}

/* A port towards a LID over the cables, by a search from its holder; 255 = none leads there. */
static void route(struct small *s, uint16_t lid, const struct dport *holder)
{
	struct double_fabric *d = s->d;
	uint32_t queue[64], head = 0, tail = 0;
	bool seen[64] = { false };

	assert_true(d->topo->nnodes <= 64);
	queue[tail++] = (uint32_t)(holder->node - d->nodes);
	seen[queue[0]] = true;
	while (head < tail) {
		const struct dnode *node = &d->nodes[queue[head++]];

		for (unsigned n = 1; n <= node->ni.nports; n++) {
			const struct dport *far = node->ports[n].peer;
			uint32_t index = far ? (uint32_t)(far->node - d->nodes) : 0;

			if (!far || !is_switch(far->node) || seen[index] ||
			    (!is_switch(node) && &node->ports[n] != holder))
				continue;
			seen[index] = true;
			queue[tail++] = index;
			double_set_lft(d, far->node->guid, lid, far->num);
		}
	}
}

/* Entries of each switch lead to switches beside it, wherever. */
static void stray(struct small *s)
{
	struct double_fabric *d = s->d;

	for (uint32_t i = 0; i < d->topo->nports; i++) {
		const struct dport *port = &d->ports[i];

		if (is_switch(port->node) && port->peer && is_switch(port->peer->node) &&
		    dice(s, 2))
			double_set_lft(d, port->node->guid, (uint16_t)dice(s, LIDS_MAX), port->num);
	}
}

static void some_state(struct small *s, unsigned ills)
{
	struct double_fabric *d = s->d;

	for (uint32_t i = 0; i < d->topo->nports; i++) {
		struct dport *port = &d->ports[i];

		if (port->info.phys_state == PHYS_LINK_UP)
			port->info.state = TOPO_ACTIVE;
		if (is_switch(port->node) && port->num)
			continue;
		port->info.lid = (uint16_t)(1 + i % (LIDS_MAX - 1));
		if (port->info.lid && (!is_switch(port->node) || !port->num))
			route(s, port->info.lid, port);
	}
	for (uint32_t i = 0; i < d->topo->nnodes; i++)
		d->nodes[i].si.lft_top = LIDS_MAX;
	for (unsigned i = dice(s, 2) * dice(s, 20); i; i--)
		stray(s);
	while (ills--) {
		struct dnode *node = &d->nodes[dice(s, d->topo->nnodes)];
		struct dport *port = &node->ports[dice(s, node->ni.nports + 1u)];

		switch (dice(s, 10)) {
		case 0:
			if (port->peer)
				double_cut(d, node->guid, port->num);
			break;
		case 1:
			double_set_power(d, node->guid, false);
			break;
		case 2:
		case 3:
			if (port->info.phys_state == PHYS_LINK_UP && port->num)
				port->info.state = (uint8_t)(TOPO_INIT + dice(s, 2));
			break;
		case 4:
			if (!is_switch(node) || !port->num)
				port->info.lid = (uint16_t)dice(s, LIDS_MAX);
			break;
		case 5:
			if (!is_switch(node))
				port->info.lmc = (uint8_t)dice(s, 3);
			break;
		case 6:
			if (is_switch(node))
				node->si.lft_top = (uint16_t)dice(s, LIDS_MAX);
			break;
		default:
			if (is_switch(node))
				for (unsigned n = dice(s, 6); n; n--)
					double_set_lft(d, node->guid, (uint16_t)dice(s, LIDS_MAX),
						       (uint8_t)dice(s, PORTS + 3));
		}
	}
}

static void stop_cb(void *arg)
{
	loop_stop(arg);
}

static void small_init(struct small *s, uint64_t seed)
{
	struct loop_timer *timer;
	uint64_t began;

	*s = (struct small){ .random = seed, .loop = loop_new_simulated() };
	s->topo = some_topo(s);
	s->d = double_new(s->loop, s->topo, s->topo->nodes[0].guid, 0, NULL);
	some_state(s, dice(s, 12));
	began = loop_now_us(s->loop);
	for (uint32_t i = 0; i < s->topo->nports; i++)
		if (s->d->ports[i].peer)
			s->d->ports[i].up_us = s->d->ports[i].peer->up_us =
				began + (dice(s, 4) ? OLD_US : NEW_US);
	timer = loop_timer_new(s->loop, stop_cb, s->loop);
	loop_timer_set(timer, NOW_US);
	loop_run(s->loop);
	loop_timer_free(timer);
}

static void small_fini(struct small *s)
{
	double_free(s->d);
	topo_unref(s->topo);
	loop_free(s->loop);
}

/* ---- One by one ------------------------------------------------------------------------------ */

static bool is_hca(const struct dport *port)
{
	return !is_switch(port->node) && port->num && port->peer && !port->node->design->sharp &&
	       !port->node->off && !port->cut;
}

static bool connects(const struct small *s, const struct dport *port)
{
	return port->peer && !port->cut && !port->node->off && !port->peer->node->off &&
	       port->up_us <= s->ripe_us;
}

/* By cables, through switches. */
static bool are_connected(const struct small *s, const struct dport *from, const struct dport *to)
{
	const struct double_fabric *d = s->d;
	bool reached[64] = { false }, more = true;

	if (!connects(s, from) || !connects(s, to))
		return false;
	if (from->peer == to)
		return true;
	if (!is_switch(from->peer->node) || !is_switch(to->peer->node))
		return false;
	reached[from->peer->node - d->nodes] = true;
	while (more) {
		more = false;
		for (uint32_t i = 0; i < d->topo->nports; i++) {
			const struct dport *port = &d->ports[i];

			if (!connects(s, port) || !is_switch(port->node) ||
			    !is_switch(port->peer->node) || !reached[port->node - d->nodes] ||
			    reached[port->peer->node - d->nodes])
				continue;
			reached[port->peer->node - d->nodes] = more = true;
		}
	}
	return reached[to->peer->node - d->nodes];
}

static enum walk_end walk(struct small *s, struct dport *from, uint16_t lid, struct walk *walk)
{
	const struct packet packet = { .dlid = lid, .data = true, .bare = true, .look = true };

	walk_lid(s->d, from, &packet, walk);
	return walk->end;
}

/* waits[a * ports + b]: packets from switches with adapters come by channel a and leave by b. */
static void add_waits(struct small *s, bool *waits)
{
	struct double_fabric *d = s->d;
	uint32_t n = d->topo->nports;

	for (uint32_t i = 0; i < d->topo->nports; i++) {
		struct dport *adapter = &d->ports[i], *trail[HOPS_MAX + 1];

		if (is_switch(adapter->node) || !adapter->peer ||
		    adapter->info.state != TOPO_ACTIVE ||
		    adapter->peer->info.state != TOPO_ACTIVE || !is_switch(adapter->peer->node))
			continue;
		for (uint32_t k = 0; k < d->topo->nports; k++) {
			const struct dport *to = &d->ports[k];
			struct walk way = { .trail = trail };
			unsigned crossed;

			if (!to->info.lid || to->node->off || (is_switch(to->node) && to->num))
				continue;
			walk(s, &adapter->peer->node->ports[0], to->info.lid, &way);
			crossed = way.hops < HOPS_MAX ? way.hops
						      : HOPS_MAX; /* the last may be dead */
			for (unsigned h = 1; h < crossed; h++)
				waits[(trail[h - 1] - d->ports) * n + (trail[h] - d->ports)] = true;
		}
	}
}

static bool closes_a_cycle(bool *waits, uint32_t n)
{
	bool cycle = false;

	for (uint32_t via = 0; via < n; via++)
		for (uint32_t a = 0; a < n; a++)
			for (uint32_t z = 0; waits[a * n + via] && z < n; z++)
				waits[a * n + z] |= waits[via * n + z];
	for (uint32_t i = 0; i < n; i++)
		cycle |= waits[i * n + i];
	return cycle;
}

static bool has_cycle(struct small *s)
{
	bool *waits = calloc((size_t)s->d->topo->nports * s->d->topo->nports, 1), cycle;

	add_waits(s, waits);
	cycle = closes_a_cycle(waits, s->d->topo->nports);
	free(waits);
	return cycle;
}

static struct verdict judge_slowly(struct small *s, const struct dport *with)
{
	struct double_fabric *d = s->d;
	struct verdict v = { 0 };
	bool looping[65536] = { false };

	for (uint32_t i = 0; i < d->topo->nports; i++) {
		struct dport *to = &d->ports[i];
		uint64_t before = v.alive;

		if (is_hca(to))
			v.hcas++;
		for (uint32_t k = 0; k < d->topo->nports; k++) {
			struct dport *from = &d->ports[k];
			struct walk way = { 0 };

			if (to->info.lid && !to->node->off && (!is_switch(to->node) || !to->num) &&
			    is_switch(from->node) && !from->num)
				looping[to->info.lid] |=
					walk(s, from, to->info.lid, &way) == WALK_LOOP;
			if (from == to || !is_hca(from) || !is_hca(to) ||
			    !are_connected(s, from, to) ||
			    (with && with != to && !are_connected(s, with, to)))
				continue;
			v.pairs++;
			v.alive += to->info.lid &&
				   walk(s, from, to->info.lid, &way) == WALK_ARRIVES &&
				   way.at == to;
		}
		v.unreached += is_hca(to) && v.alive == before;
	}
	for (unsigned lid = 1; lid < LIDS_MAX; lid++)
		v.loops += looping[lid];
	return v;
}

/* An HCA port that judges may be asked about; NULL = there is none with a cable and power. */
static const struct dport *some_hca(struct small *s)
{
	for (uint32_t i = 0; i < s->d->topo->nports; i++)
		if (is_hca(&s->d->ports[i]) && !s->d->ports[i].peer->node->off)
			return &s->d->ports[i];
	return NULL;
}

static void the_judge_counts_what_packets_walked_one_by_one_find(void **state)
{
	uint64_t dead = 0, loops = 0, cycles = 0, whole = 0;

	for (uint64_t seed = 1; seed <= FABRICS; seed++) {
		struct verdict fast, slow;
		struct small s;
		const struct dport *with;
		uint64_t age;

		small_init(&s, seed);
		age = seed % 2 ? 0 : NOW_US - NEW_US + 1;
		s.ripe_us = loop_now_us(s.loop) - age;
		with = seed % 3 ? NULL : some_hca(&s);
		slow = judge_slowly(&s, with);
		double_judge(s.d, age, with, false, &fast);

		/* Asked beside other ages, the verdict is the same. */
		struct verdict both[2];

		double_judge_ages(s.d, (uint64_t[]){ NOW_US - NEW_US + 1 - age, age }, 2, with,
				  false, both);
		assert_true(both[1].pairs == fast.pairs && both[1].alive == fast.alive &&
			    both[1].unreached == fast.unreached && both[1].loops == fast.loops &&
			    both[1].from == fast.from);
		if (fast.pairs != slow.pairs || fast.alive != slow.alive ||
		    fast.loops != slow.loops || fast.hcas != slow.hcas ||
		    fast.unreached != slow.unreached)
			fail_msg("seed %llu: pairs %llu, alive %llu, loops %u, HCAs %u, unreached "
				 "%u; one by one %llu, %llu, %u, %u, %u",
				 (unsigned long long)seed, (unsigned long long)fast.pairs,
				 (unsigned long long)fast.alive, fast.loops, fast.hcas,
				 fast.unreached, (unsigned long long)slow.pairs,
				 (unsigned long long)slow.alive, slow.loops, slow.hcas,
				 slow.unreached);
		if (!fast.cycles != !has_cycle(&s))
			fail_msg("seed %llu: %u cycles", (unsigned long long)seed, fast.cycles);
		assert_int_equal(!fast.from, fast.alive == fast.pairs);
		if (fast.from) {
			struct walk way = { 0 };

			assert_true(are_connected(&s, fast.from, fast.to));
			if (fast.to->info.lid)
				assert_false(walk(&s, (struct dport *)fast.from, fast.to->info.lid,
						  &way) == WALK_ARRIVES &&
					     way.at == fast.to);
		}
		dead += fast.pairs - fast.alive;
		loops += fast.loops;
		cycles += fast.cycles;
		whole += fast.pairs && fast.alive == fast.pairs;
		small_fini(&s);
	}
	assert_true(dead > 2000 && loops > 100 && cycles > 100 && whole > 50);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

#define GROUPED 3 /* switches that forward by groups, at most, and members of a group */

struct grouped {
	guid_t guid;
	unsigned count[LIDS_MAX];
	uint8_t ports[LIDS_MAX][GROUPED]; /* the first is the static one */
};

/* Gives switches of the fabric groups, by a text; returns how many. */
static unsigned some_groups(struct small *s, struct grouped *all, bool fr)
{
	const struct double_packing packing = double_packing_draw(s->random, LIDS_MAX);
	unsigned n = 0;
	char *text, err[256];
	size_t size;
	FILE *out = open_memstream(&text, &size), *in;

	for (uint32_t i = 0; i < s->topo->nnodes && n < GROUPED; i++) {
		struct dnode *node = &s->d->nodes[i];
		struct grouped *g = &all[n];

		if (!is_switch(node) || !dice(s, 3))
			continue;
		n++;
		*g = (struct grouped){ .guid = node->guid };
		double_adaptive_able(s->d, node->guid, &packing, NULL);
		fprintf(out, "Switch 0x%llx\nGroups Definition:\n", (unsigned long long)node->guid);
		for (unsigned lid = 1; lid < LIDS_MAX; lid++) {
			unsigned port = lid < node->lft_size ? node->lft[lid] : 255;

			if (port && port <= PORTS)
				g->ports[lid][g->count[lid]++] = (uint8_t)port;
			for (unsigned more = dice(s, 8) ? 0 : dice(s, 3); more; more--) {
				unsigned num = 1 + dice(s, PORTS);

				if (node->ports[num].peer && is_switch(node->ports[num].peer->node))
					g->ports[lid][g->count[lid]++] = (uint8_t)num;
			}
			if (!g->count[lid])
				continue;
			fprintf(out, "%u 0 0 ", lid);
			for (unsigned m = 0; m < g->count[lid]; m++)
				fprintf(out, "%u,", g->ports[lid][m]);
			fputc('\n', out);
		}
		fputs("LFT Definition:\n", out);
		for (unsigned lid = 1; lid < LIDS_MAX; lid++)
			if (g->count[lid])
				fprintf(out, "0x%04x %u %s %u\n", lid, g->ports[lid][0],
					g->count[lid] > 1 ? "Free" : "Static",
					g->count[lid] > 1 ? lid : 0);
	}
	fclose(out);
	in = fmemopen(text, size + !size, "r");
	assert_int_equal(double_adaptive_read(s->d, in, err, sizeof(err)), n);
	double_adaptive_recovery(s->d, fr ? DOUBLE_RECOVERY_FR : DOUBLE_RECOVERY_OFF);
	fclose(in);
	free(text);
	return n;
}

/* Plain tables of one choice of members everywhere. */
static void choose(struct small *s, const struct grouped *all, unsigned n, unsigned choice, bool fr)
{
	for (unsigned i = 0; i < n; i++, choice /= GROUPED) {
		struct dnode *node = double_node(s->d, all[i].guid);

		node->si.lft_top = LIDS_MAX;
		for (unsigned lid = 1; lid < LIDS_MAX; lid++) {
			unsigned live[GROUPED], nlive = 0;

			for (unsigned m = 0; m < all[i].count[lid]; m++)
				if (!fr || all[i].count[lid] < 2 ||
				    node->ports[all[i].ports[lid][m]].info.state == TOPO_ACTIVE)
					live[nlive++] = all[i].ports[lid][m];
			if (!nlive && all[i].count[lid])
				live[nlive++] = all[i].ports[lid][0];
			double_set_lft(s->d, node->guid, (uint16_t)lid,
				       nlive ? (uint8_t)live[choice % GROUPED % nlive] : 255);
		}
	}
}

/* What packets meet under any choice, by index of port. */
struct met {
	bool looping[LIDS_MAX];
	bool *waits, *fails; /* from, to */
};

static void meet(struct small *s, struct met *met)
{
	const uint32_t nports = s->topo->nports;

	add_waits(s, met->waits);
	for (uint32_t i = 0; i < nports * nports; i++) {
		struct dport *from = &s->d->ports[i / nports], *to = &s->d->ports[i % nports];
		struct walk way = { 0 };

		if (!to->info.lid || to->node->off || from->node->off ||
		    (is_switch(to->node) && to->num))
			continue;
		if (is_switch(from->node) ? !from->num : is_hca(from))
			met->fails[i] |=
				walk(s, from, to->info.lid, &way) != WALK_ARRIVES || way.at != to;
		met->looping[to->info.lid] |= is_switch(from->node) && way.end == WALK_LOOP;
	}
}

static struct verdict verdict_of(struct small *s, const struct met *met)
{
	const uint32_t nports = s->topo->nports;
	struct verdict v = { .cycles = closes_a_cycle(met->waits, nports) };

	for (uint32_t i = 0; i < nports * nports; i++) {
		struct dport *from = &s->d->ports[i / nports], *to = &s->d->ports[i % nports];

		if (from == to || !is_hca(from) || !is_hca(to) || !are_connected(s, from, to))
			continue;
		v.pairs++;
		v.alive += to->info.lid && !met->fails[i];
	}
	for (unsigned lid = 1; lid < LIDS_MAX; lid++)
		v.loops += met->looping[lid];
	return v;
}

static void the_judge_follows_every_choice_of_members(void **state)
{
	uint64_t dead = 0, loops = 0, cycles = 0, whole = 0;

	for (uint64_t seed = 1; seed <= FABRICS / 2; seed++) {
		struct grouped all[GROUPED];
		struct small s, plain;
		struct verdict fast, slow;
		struct met met = { 0 };
		unsigned n;

		small_init(&s, seed);
		small_init(&plain, seed);
		plain.ripe_us = loop_now_us(plain.loop);
		met.waits = calloc((size_t)s.topo->nports * s.topo->nports, 1);
		met.fails = calloc((size_t)s.topo->nports * s.topo->nports, 1);
		n = some_groups(&s, all, seed % 2);
		double_judge(s.d, 0, NULL, false, &fast);
		for (unsigned choice = 0; choice < 27; choice++) {
			choose(&plain, all, n, choice, seed % 2);
			meet(&plain, &met);
		}
		slow = verdict_of(&plain, &met);
		if (fast.pairs != slow.pairs || fast.alive != slow.alive ||
		    fast.loops != slow.loops || !fast.cycles != !slow.cycles)
			fail_msg("seed %llu: pairs %llu, alive %llu, loops %u, cycles %u; one by "
				 "one %llu, %llu, %u, %u",
				 (unsigned long long)seed, (unsigned long long)fast.pairs,
				 (unsigned long long)fast.alive, fast.loops, fast.cycles,
				 (unsigned long long)slow.pairs, (unsigned long long)slow.alive,
				 slow.loops, slow.cycles);
		dead += fast.pairs - fast.alive;
		loops += fast.loops;
		cycles += fast.cycles;
		whole += n && fast.pairs && fast.alive == fast.pairs;
		free(met.waits);
		free(met.fails);
		small_fini(&s);
		small_fini(&plain);
	}
	assert_true(dead > 1000 && loops > 100 && cycles > 50 && whole > 20);
}

/* ---- Time, LIDs ------------------------------------------------------------------------------ */

static struct verdict verdict(struct double_world *w, uint64_t age)
{
	struct verdict v;

	double_judge(w->d, age, NULL, false, &v);
	return v;
}

static void wait_for(struct double_world *w, uint64_t us)
{
	struct loop_timer *timer = loop_timer_new(w->loop, stop_cb, w->loop);

	loop_timer_set(timer, us);
	loop_run(w->loop);
	loop_timer_free(timer);
}

static void a_link_that_is_younger_than_asked_connects_nobody(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	assert_int_equal(verdict(&w, 0).alive, 2);
	wait_for(&w, 5000000);
	double_cut(w.d, LEAF1, 9);
	assert_int_equal(verdict(&w, 0).pairs, 0);
	double_join(w.d, LEAF1, 9);
	assert_int_equal(verdict(&w, 0).pairs, 2);
	assert_int_equal(verdict(&w, 0).alive, 0);
	assert_int_equal(verdict(&w, 2000000).pairs, 0);
	wait_for(&w, 1900000);
	assert_int_equal(verdict(&w, 2000000).pairs, 0);
	wait_for(&w, 100000);
	assert_int_equal(verdict(&w, 2000000).pairs, 2);
	assert_int_equal(verdict(&w, 2000000).alive, 0);
	assert_int_equal(loop_now_us(w.loop) - verdict(&w, 0).up_us, 2000000);
	double_world_fini(&w);
}

static void lids_move_from_the_mark_on(void **state)
{
	struct double_world w;

	double_world_init(&w, NULL);
	double_world_bring_up(&w);
	assert_int_equal(verdict(&w, 0).lids, 0);
	double_judge_mark(w.d);
	assert_int_equal(verdict(&w, 0).lids, 5);
	assert_int_equal(verdict(&w, 0).moved, 0);
	double_set_lid(w.d, H2, 1, 7);
	assert_int_equal(verdict(&w, 0).moved, 1);
	double_set_lid(w.d, H2, 1, 0); /* it has none: it may get its own again */
	assert_int_equal(verdict(&w, 0).moved, 0);
	double_world_fini(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_judge_counts_what_packets_walked_one_by_one_find),
		cmocka_unit_test(the_judge_follows_every_choice_of_members),
		cmocka_unit_test(a_link_that_is_younger_than_asked_connects_nobody),
		cmocka_unit_test(lids_move_from_the_mark_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
