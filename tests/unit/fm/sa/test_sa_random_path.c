/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * 50,000 random PathRecord requests against a plain reference: all pairs of LIDs are walked by the
 * plainest code there is, and chosen from by the words of IBA 15.2.5.16.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "tests/lib/sa_ask.h"

#define REQUESTS 50000

struct way {
	bool there;
	unsigned mtu, rate; /* rate in 100 Mb/s */
};

#define LIDS 32
struct ref {
	struct world *w;
	struct way ways[LIDS][LIDS]; /* by LID */
};

static const struct {
	unsigned code, rate;
} codes[] = {
	{ 2, 25 },    { 5, 50 },    { 3, 100 },	   { 11, 140 },	  { 6, 200 },
	{ 15, 250 },  { 19, 280 },  { 4, 300 },	   { 7, 400 },	  { 20, 500 },
	{ 12, 560 },  { 8, 600 },   { 9, 800 },	   { 16, 1000 },  { 13, 1120 },
	{ 10, 1200 }, { 14, 1680 }, { 17, 2000 },  { 18, 3000 },  { 21, 4000 },
	{ 22, 6000 }, { 23, 8000 }, { 24, 12000 }, { 25, 16000 }, { 26, 24000 },
};
#define CODES (sizeof(codes) / sizeof(codes[0]))

static unsigned rate_of_code(unsigned code)
{
	for (unsigned i = 0; i < CODES; i++)
		if (codes[i].code == code)
			return codes[i].rate;
	return 0;
}

static unsigned code_below(unsigned rate)
{
	unsigned code = 0;

	for (unsigned i = 0; i < CODES && codes[i].rate < rate; i++)
		code = codes[i].code;
	return code;
}

/* Of a switch's port 0 the snapshot has no speed: spine-1 says HDR, the others nothing. */
static unsigned port_rate(const struct world *w, const struct topo_port *port)
{
	static const unsigned lane[] = { 25, 25, 50, 100, 100, 140, 250, 500, 1000, 2000 };

	if (port->num == 0)
		return w->topo->nodes[port->node].guid == WORLD_SW(3) ? 2000 : 25;
	return lane[port->speed] * port->width;
}

static unsigned port_mtu(const struct world *w, const struct topo_port *port)
{
	const struct inv_node *node = inventory_find(&w->inv, w->topo->nodes[port->node].guid);
	struct wire_port_info info;

	wire_port_info_decode(node->ports[port->num].info, &info);
	return info.mtu_cap;
}

static void way_meet(const struct world *w, struct way *way, const struct topo_port *port)
{
	unsigned mtu = port_mtu(w, port), rate = port_rate(w, port);

	if (mtu < way->mtu)
		way->mtu = mtu;
	if (rate < way->rate)
		way->rate = rate;
}

static struct way way_walk(const struct world *w, uint16_t slid, uint16_t dlid)
{
	const struct topo *t = w->topo;
	uint32_t end = w->lids->port_of_lid[dlid];
	const struct topo_port *at = &t->ports[w->lids->port_of_lid[slid]];
	struct way way = { .mtu = 5, .rate = 24000 };

	if (at == &t->ports[end]) {
		way_meet(w, &way, at);
		way.there = true;
		return way;
	}
	way_meet(w, &way, at);
	way_meet(w, &way, &t->ports[end]);
	for (unsigned hops = 0; hops < 64; hops++) {
		uint32_t node = at->node;

		if (t->nodes[node].type == TOPO_SWITCH) {
			uint8_t out = tables_row(&w->tables, node)[dlid];

			if (out == TABLES_NO_ROUTE)
				return way;
			at = topo_port(t, node, out);
			if (out == 0) {
				way.there = at == &t->ports[end];
				return way;
			}
		} else if (hops) {
			way.there = at == &t->ports[end];
			return way;
		}
		if (!at->link_up)
			return way;
		way_meet(w, &way, at);
		at = topo_peer(t, at);
		way_meet(w, &way, at);
	}
	return way;
}

static bool is_open(const struct ref *ref, unsigned lid)
{
	return lid && lid <= ref->w->lids->top && ref->w->lids->port_of_lid[lid] != TOPO_NONE;
}

static void ways_walk(struct ref *ref)
{
	assert_true(ref->w->lids->top < LIDS);
	for (unsigned s = 1; s < LIDS; s++)
		for (unsigned d = 1; d < LIDS; d++)
			if (is_open(ref, s) && is_open(ref, d))
				ref->ways[s][d] = way_walk(ref->w, (uint16_t)s, (uint16_t)d);
}

/* "selector value" on what is there: false, or what to answer (15.2.5.16). */
static bool choose_mtu(const struct wire_path_record *q, uint64_t mask, unsigned *mtu)
{
	if (!(mask >> 16 & 1) || !(mask >> 17 & 1) || q->mtu_sel == 3)
		return true;
	if (q->mtu_sel == 0)
		return *mtu > q->mtu;
	if (q->mtu_sel == 2) {
		bool can = *mtu >= q->mtu;

		*mtu = q->mtu;
		return can;
	}
	if (*mtu >= q->mtu)
		*mtu = q->mtu - 1u;
	return *mtu > 0;
}

static bool choose_rate(const struct wire_path_record *q, uint64_t mask, unsigned *rate)
{
	unsigned want = rate_of_code(q->rate);

	if (!(mask >> 18 & 1) || !(mask >> 19 & 1) || q->rate_sel == 3)
		return true;
	if (q->rate_sel == 0)
		return *rate > want;
	if (q->rate_sel == 2)
		return *rate == want;
	if (*rate >= want)
		*rate = rate_of_code(code_below(want));
	return *rate > 0;
}

static bool choose_life(const struct wire_path_record *q, uint64_t mask, unsigned *life)
{
	if (!(mask >> 20 & 1) || !(mask >> 21 & 1) || q->life_sel == 3)
		return true;
	if (q->life_sel == 0)
		return *life > q->life;
	return q->life_sel == 2 ? *life == q->life : *life < q->life;
}

struct choice {
	unsigned mtu, rate, life;
	bool reversible;
};

static bool choose(const struct wire_path_record *q, uint64_t mask, struct choice *c)
{
	return choose_mtu(q, mask, &c->mtu) && choose_rate(q, mask, &c->rate) &&
	       choose_life(q, mask, &c->life);
}

static unsigned least(unsigned a, unsigned b)
{
	return a < b ? a : b;
}

static bool lids_choose(const struct ref *ref, const struct world_request *r,
			const struct wire_path_record *q, unsigned s, unsigned d, struct choice *c)
{
	const uint32_t *port_of = ref->w->lids->port_of_lid;
	struct way there = ref->ways[s][d], back = ref->ways[d][s];
	unsigned life = port_of[s] == port_of[d] ? 0 : 18;

	if (!there.there)
		return false;
	*c = (struct choice){ least(there.mtu, back.mtu), least(there.rate, back.rate), life,
			      true };
	if (back.there && choose(q, r->mask, c))
		return true;
	if (r->mask >> 11 & 1 && q->reversible)
		return false;
	*c = (struct choice){ there.mtu, there.rate, life, false };
	return port_of[s] != port_of[d] && choose(q, r->mask, c);
}

/* Late rates are for who runs at such a speed: no port here announces more than it runs at. */
static bool knows(const struct topo_port *port, unsigned rate)
{
	switch (rate) {
	case 280:
		return port->width == 2;
	case 500:
		return port->width == 2 || port->speed >= TOPO_HDR;
	case 4000:
	case 6000:
		return port->speed >= TOPO_HDR;
	default:
		return rate < 8000;
	}
}

static unsigned code_for(const struct world *w, uint32_t port, unsigned rate)
{
	unsigned i = 0;

	while (!knows(&w->topo->ports[port], rate))
		rate = rate_of_code(code_below(rate));
	while (codes[i].rate != rate)
		i++;
	return codes[i].code;
}

/*
 * 0 when neither end has another pair before it; a LID that was asked for is its port's only one.
 */
static uint8_t preference(const struct ref *ref, const struct world_request *r, unsigned s,
			  unsigned d)
{
	const struct lid_map *lids = ref->w->lids;
	unsigned from = s - lids->lid_of_port[lids->port_of_lid[s]];
	unsigned to = d - lids->lid_of_port[lids->port_of_lid[d]];

	if (r->mask >> 5 & 1)
		from = 0;
	if (r->mask >> 4 & 1)
		to = 0;
	return from == to ? 0 : 2;
}

static void row_make(const struct ref *ref, const struct world_request *r,
		     const struct wire_path_record *q, unsigned s, unsigned d,
		     const struct choice *c, uint8_t row[64])
{
	const uint32_t src = ref->w->lids->port_of_lid[s], dst = ref->w->lids->port_of_lid[d];
	bool raw = r->mask >> 6 & 1 && q->raw;
	struct wire_path_record rec = {
		.sgid = { WORLD_PREFIX, ref->w->topo->ports[src].guid },
		.dgid = { WORLD_PREFIX, ref->w->topo->ports[dst].guid },
		.slid = (uint16_t)s,
		.dlid = (uint16_t)d,
		.raw = raw,
		.reversible = c->reversible,
		.pkey = raw		    ? 0
			: r->mask >> 13 & 1 ? q->pkey
					    : 0xffff,
		.sl = r->mask >> 15 & 1 ? q->sl : 0,
		.mtu_sel = 2,
		.mtu = (uint8_t)c->mtu,
		.rate_sel = 2,
		.rate = (uint8_t)code_for(ref->w, src, c->rate),
		.life_sel = 2,
		.life = (uint8_t)c->life,
		.preference = preference(ref, r, s, d),
	};

	if (c->reversible)
		rec.rate = (uint8_t)code_for(ref->w, dst, rate_of_code(rec.rate));
	wire_path_record_encode(&rec, row);
}

static bool end_fits(const struct ref *ref, uint64_t mask, unsigned gid_bit, unsigned lid_bit,
		     const struct wire_gid *gid, uint16_t asked, unsigned lid)
{
	if (mask >> lid_bit & 1 && asked != lid)
		return false;
	return !(mask >> gid_bit & 1) ||
	       ref->w->topo->ports[ref->w->lids->port_of_lid[lid]].guid == gid->guid;
}

static unsigned path_reference(const struct ref *ref, const struct world_request *r,
			       const struct wire_path_record *q, uint8_t *rows)
{
	unsigned n = 0;
	bool pkey = !(r->mask >> 13 & 1) || (q->pkey & 0x7fff) == 0x7fff ||
		    (r->mask >> 6 & 1 && q->raw);

	for (unsigned s = 1; s < LIDS && pkey; s++)
		for (unsigned d = 1; d < LIDS; d++) {
			struct choice c;

			if (!is_open(ref, s) || !is_open(ref, d) ||
			    !end_fits(ref, r->mask, 3, 5, &q->sgid, q->slid, s) ||
			    !end_fits(ref, r->mask, 2, 4, &q->dgid, q->dlid, d) ||
			    !lids_choose(ref, r, q, s, d, &c))
				continue;
			row_make(ref, r, q, s, d, &c, rows + n++ * 64);
		}
	return n;
}

static int row_order(const void *a, const void *b)
{
	return memcmp(a, b, 64);
}

static bool row_among(const uint8_t *row, const uint8_t *rows, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		if (!memcmp(row, rows + i * 64, 64))
			return true;
	return false;
}

static uint16_t lid_make(const struct world *w)
{
	return pick_below(20) ? (uint16_t)(1 + pick_below(w->lids->top + 1))
			      : (uint16_t)pick_below(0x10000);
}

static struct wire_gid gid_make(const struct world *w)
{
	uint32_t port = w->lids->port_of_lid[1 + pick_below(w->lids->top)];
	struct wire_gid gid = { WORLD_PREFIX,
				port == TOPO_NONE ? 0x4711 : w->topo->ports[port].guid };

	if (pick_below(40) == 0)
		gid.prefix = pick_below(2) ? 0xff12ull << 48 : 0x1234;
	return gid;
}

static struct wire_path_record path_make(const struct world *w)
{
	static const uint16_t pkeys[] = { 0xffff, 0x7fff, 0x8001, 0xffff };
	const uint8_t rate = (uint8_t)codes[pick_below(CODES)].code;

	return (struct wire_path_record){
		.service_id_lsb = pick_below(1u << 31),
		.sgid = gid_make(w),
		.dgid = gid_make(w),
		.slid = lid_make(w),
		.dlid = lid_make(w),
		.raw = pick_below(8) == 0,
		.reversible = pick_below(2),
		.num_path = (uint8_t)(pick_below(4) ? 127 : pick_below(4)),
		.pkey = pkeys[pick_below(4)],
		.sl = (uint8_t)pick_below(16),
		.mtu_sel = (uint8_t)pick_below(4),
		.mtu = (uint8_t)(pick_below(50) ? 1 + pick_below(5) : pick_below(64)),
		.rate_sel = (uint8_t)pick_below(4),
		.rate = pick_below(50) ? rate : (uint8_t)pick_below(64),
		.life_sel = (uint8_t)pick_below(4),
		.life = (uint8_t)(pick_below(3) ? 17 + pick_below(3) : pick_below(64)),
		.tclass = (uint8_t)pick_below(256),
		.flow_label = pick_below(1 << 20),
		.hop_limit = (uint8_t)pick_below(256),
		.qos_class = (uint16_t)pick_below(4096),
	};
}

static uint64_t path_mask_make(void)
{
	static const uint8_t ends[] = {
		0x0c, 0x30, 0x18, 0x24, 0x3c, 0x04, 0x08, 0x10, 0x20, 0x00
	};
	uint64_t mask = ends[pick_below(sizeof(ends))];

	for (unsigned n = pick_below(4); n; n--)
		mask |= 1ull << (6 + pick_below(16));
	if (pick_below(4) == 0)
		mask |= 3ull << (16 + 2 * pick_below(3));
	if (pick_below(50) == 0)
		mask |= 1ull << pick_below(2);
	return mask;
}

static bool value_bad(const struct world_request *r, const struct wire_path_record *q)
{
	return ((r->mask >> 16 & 3) == 3 && (q->mtu < 1 || q->mtu > 5)) ||
	       ((r->mask >> 18 & 3) == 3 && !rate_of_code(q->rate));
}

static bool gid_foreign(const struct world_request *r, unsigned bit, const struct wire_gid *gid)
{
	return r->mask >> bit & 1 && gid->prefix != WORLD_PREFIX;
}

static bool gid_multicast(const struct world_request *r, const struct wire_path_record *q)
{
	return r->mask >> 2 & 1 && q->dgid.prefix >> 56 == 0xff;
}

/* Both are named, both exist, and they are two. */
static bool ends_differ(const struct ref *ref, const struct world_request *r, unsigned gid_bit,
			unsigned lid_bit, const struct wire_gid *gid, uint16_t lid)
{
	uint32_t port = topo_find_port(ref->w->topo, gid->guid);

	return r->mask >> gid_bit & 1 && r->mask >> lid_bit & 1 && port != TOPO_NONE &&
	       is_open(ref, lid) && ref->w->lids->port_of_lid[lid] != port;
}

/* Which refusals there is a reason for; 0 = none. */
static bool refusal_fits(const struct ref *ref, const struct world_request *r,
			 const struct wire_path_record *q, uint16_t status)
{
	bool group = gid_multicast(r, q); /* that nobody made */
	bool differ = ends_differ(ref, r, 3, 5, &q->sgid, q->slid) ||
		      (!group && ends_differ(ref, r, 2, 4, &q->dgid, q->dlid));
	bool foreign = gid_foreign(r, 3, &q->sgid) || (!group && gid_foreign(r, 2, &q->dgid));

	if (value_bad(r, q))
		return status == WIRE_SA_REQ_INVALID;
	if ((r->mask & 3) == 1 || (r->mask & 3) == 2)
		return status == WIRE_SA_INSUF_COMPS;
	return (differ && status == WIRE_SA_REQ_INVALID) ||
	       (foreign && status == WIRE_SA_INVALID_GID);
}

static bool refused(const struct ref *ref, const struct world_request *r,
		    const struct wire_path_record *q)
{
	return refusal_fits(ref, r, q, WIRE_SA_REQ_INVALID) ||
	       refusal_fits(ref, r, q, WIRE_SA_INSUF_COMPS) ||
	       refusal_fits(ref, r, q, WIRE_SA_INVALID_GID);
}

/* NumbPath: so many of each pair of ports at most; all rows are still of the reference. */
static void table_check(struct world *w, const struct world_request *r,
			const struct wire_path_record *q, uint8_t *rows, unsigned n)
{
	unsigned got = world_rows(w);

	if (!(r->mask >> 12 & 1) || q->num_path == 127) {
		assert_int_equal(got, n);
		qsort(rows, n, 64, row_order);
		qsort(w->sent + WIRE_SA_HEADER, got, 64, row_order);
		assert_memory_equal(w->sent + WIRE_SA_HEADER, rows, n * 64);
		return;
	}
	assert_true(got <= n && (q->num_path || !got) && (!q->num_path || !n || got));
	for (unsigned i = 0; i < got; i++)
		assert_true(row_among(world_row(w, i), rows, n));
}

static void path_check(struct ref *ref, const struct world_request *r,
		       const struct wire_path_record *q)
{
	static uint8_t rows[LIDS * LIDS * 64];
	struct world *w = ref->w;
	unsigned n;

	assert_int_equal(world_ask(w, r), 1);
	if (refused(ref, r, q)) {
		assert_true(refusal_fits(ref, r, q, world_status(w)));
		return;
	}
	n = gid_multicast(r, q) ? 0 : path_reference(ref, r, q, rows);
	if (r->method == WIRE_GET && !n) {
		assert_int_equal(world_status(w), WIRE_SA_NO_RECORDS);
		return;
	}
	assert_int_equal(world_status(w), WIRE_SA_OK);
	if (r->method == WIRE_GET)
		assert_true(row_among(world_row(w, 0), rows, n));
	else
		table_check(w, r, q, rows, n);
}

static void paths_answer_as_the_reference_does(void **state)
{
	struct ref ref = { .w = *state };
	struct wire_path_record q;
	uint8_t row[64];
	unsigned with_rows = 0;

	/* one street becomes one-way */
	tables_row(&ref.w->tables,
		   topo_find(ref.w->topo, WORLD_SW(0)))[world_lid(ref.w, WORLD_CA(3) + 1)] =
		TABLES_NO_ROUTE;
	ways_walk(&ref);
	for (unsigned n = 0; n < REQUESTS; n++) {
		struct world_request r = { .method = pick_below(2) ? WIRE_GET : WIRE_GET_TABLE,
					   .attr = WIRE_SA_PATH,
					   .mask = path_mask_make(),
					   .data = row,
					   .len = sizeof(row) };

		q = path_make(ref.w);
		if (pick_below(2)) /* both names of one end */
			q.sgid.guid =
				is_open(&ref, q.slid)
					? ref.w->topo->ports[ref.w->lids->port_of_lid[q.slid]].guid
					: q.sgid.guid;
		wire_path_record_encode(&q, row);
		path_check(&ref, &r, &q);
		with_rows += world_rows(ref.w) > 0;
	}
	assert_true(with_rows > REQUESTS / 5);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(paths_answer_as_the_reference_does, sa_setup,
						sa_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
