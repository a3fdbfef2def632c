/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * 50,000 requests with random masks, components and modifiers against a plain reference.
 *
 * The table of all rows is fetched once; a request's rows must be exactly those of it whose
 * components, decoded one by one into host order, equal the request's where the mask says so.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "tests/lib/sa_ask.h"

#define REQUESTS     50000
#define PORT_OPTIONS 2 /* component number */
#define ROWS_MAX     512
#define COMPS	     64

/* ---- Records, component by component --------------------------------------------------------- */

struct comps {
	unsigned count;
	uint64_t value[COMPS];
	uint64_t reserved, lids, bits; /* by component: never compared; LIDs; capability masks */
	const uint8_t *blob;	       /* the one component of 64 bytes, the last */
};

static void put(struct comps *c, uint64_t value)
{
	c->value[c->count++] = value;
}

static void pass(struct comps *c)
{
	c->reserved |= 1ull << c->count++;
}

static void put_lid(struct comps *c, const uint8_t *at)
{
	c->lids |= 1ull << c->count;
	put(c, (uint64_t)(at[0] << 8 | at[1]));
}

static void put_mask(struct comps *c, uint64_t value)
{
	c->bits |= 1ull << c->count;
	put(c, value);
}

/* Any width, as a sum over the bytes that tells unlike ones apart. */
static void put_bytes(struct comps *c, const uint8_t *at, unsigned bytes)
{
	uint64_t value = 14695981039346656037ull;

	for (unsigned i = 0; i < bytes; i++)
		value = (value ^ at[i]) * 1099511628211ull;
	put(c, value);
}

static void put_blob(struct comps *c, const uint8_t *at)
{
	c->blob = at;
	c->count++;
}

static void node_comps(const uint8_t *row, struct comps *c)
{
	struct wire_node_info i;
	uint8_t data[64] = { 0 };

	memcpy(data, row + 4, 40);
	wire_node_info_decode(data, &i);
	put_lid(c, row);
	pass(c);
	put(c, i.base_version);
	put(c, i.class_version);
	put(c, i.type);
	put(c, i.nports);
	put(c, i.sys_guid);
	put(c, i.node_guid);
	put(c, i.port_guid);
	put(c, i.partition_cap);
	put(c, i.device);
	put(c, i.revision);
	put(c, i.local_port);
	put(c, i.vendor);
	put_blob(c, row + 44);
}

static void port_comps_first(const struct wire_port_info *i, struct comps *c)
{
	put(c, i->mkey);
	put(c, i->gid_prefix);
	put(c, i->lid);
	put(c, i->sm_lid);
	put_mask(c, i->capmask);
	put(c, i->diag_code);
	put(c, i->mkey_lease);
	put(c, i->local_port);
	put(c, i->width_enabled);
	put(c, i->width_supported);
	put(c, i->width_active);
	put(c, i->speed_supported);
	put(c, i->state);
	put(c, i->phys_state);
	put(c, i->down_default);
	put(c, i->mkey_protect);
	pass(c);
	put(c, i->lmc);
	put(c, i->speed_active);
	put(c, i->speed_enabled);
	put(c, i->neighbor_mtu);
	put(c, i->sm_sl);
	put(c, i->vl_cap);
	put(c, i->init_type);
}

static void port_comps_last(const struct wire_port_info *i, struct comps *c)
{
	put(c, i->vl_high_limit);
	put(c, i->arb_high_cap);
	put(c, i->arb_low_cap);
	put(c, i->init_type_reply);
	put(c, i->mtu_cap);
	put(c, i->vl_stall);
	put(c, i->hoq_life);
	put(c, i->op_vls);
	put(c, i->pkey_enforce_in);
	put(c, i->pkey_enforce_out);
	put(c, i->filter_raw_in);
	put(c, i->filter_raw_out);
	put(c, i->mkey_violations);
	put(c, i->pkey_violations);
	put(c, i->qkey_violations);
	put(c, i->guid_cap);
	put(c, i->client_reregister);
	pass(c);
	put(c, i->subnet_timeout);
	pass(c);
	put(c, i->resp_time);
	put(c, i->local_phy_errors);
	put(c, i->overrun_errors);
	put(c, i->max_credit_hint);
	pass(c);
	put(c, i->link_roundtrip);
	put_mask(c, i->capmask2);
	put(c, i->speed_ext_active);
	put(c, i->speed_ext_supported);
	pass(c);
	put(c, i->speed_ext_enabled);
}

static void port_comps(const uint8_t *row, struct comps *c)
{
	struct wire_port_info i;

	wire_port_info_decode(row + 4, &i);
	put_lid(c, row);
	put(c, row[2]);
	pass(c); /* options: how to answer */
	port_comps_first(&i, c);
	port_comps_last(&i, c);
}

static void switch_comps(const uint8_t *row, struct comps *c)
{
	struct wire_switch_info i;
	uint8_t data[64] = { 0 };

	memcpy(data, row + 4, 20);
	wire_switch_info_decode(data, &i);
	put_lid(c, row);
	pass(c);
	put(c, i.lft_cap);
	put(c, i.rft_cap);
	put(c, i.mft_cap);
	put(c, i.lft_top);
	put(c, i.default_port);
	put(c, i.default_mcast_primary);
	put(c, i.default_mcast_other);
	put(c, i.life_time);
	put(c, i.port_state_change);
	put(c, i.opt_sl2vl);
	put(c, i.lids_per_port);
	put(c, i.enforce_cap);
	for (int bit = 7; bit >= 3; bit--)
		put(c, i.flags >> bit & 1);
	pass(c);
	pass(c);
	put(c, i.mft_top);
}

static void sm_comps(const uint8_t *row, struct comps *c)
{
	struct wire_sm_info i;
	uint8_t data[64] = { 0 };

	memcpy(data, row + 4, 21);
	wire_sm_info_decode(data, &i);
	put_lid(c, row);
	pass(c);
	put(c, i.guid);
	put(c, i.sm_key);
	put(c, i.act_count);
	put(c, i.priority);
	put(c, i.state);
}

static void link_comps(const uint8_t *row, struct comps *c)
{
	put_lid(c, row);
	put(c, row[2]);
	put(c, row[3]);
	put_lid(c, row + 4);
}

static void lft_comps(const uint8_t *row, struct comps *c)
{
	put_lid(c, row);
	put(c, (uint64_t)(row[2] << 8 | row[3]));
	pass(c);
	put_blob(c, row + 8);
}

static void guid_comps(const uint8_t *row, struct comps *c)
{
	put_lid(c, row);
	put(c, row[2]);
	pass(c);
	pass(c);
	for (unsigned g = 0; g < 8; g++) {
		uint64_t guid = 0;

		for (unsigned i = 0; i < 8; i++)
			guid = guid << 8 | row[8 + g * 8 + i];
		put(c, guid);
	}
}

static void pkey_comps(const uint8_t *row, struct comps *c)
{
	put_lid(c, row);
	put(c, (uint64_t)(row[2] << 8 | row[3]));
	put(c, row[4]);
	pass(c);
	pass(c);
	put_blob(c, row + 8);
}

static void sl2vl_comps(const uint8_t *row, struct comps *c)
{
	put_lid(c, row);
	put(c, row[2]);
	put(c, row[3]);
	pass(c);
	put_bytes(c, row + 8, 8);
}

static void vl_arb_comps(const uint8_t *row, struct comps *c)
{
	put_lid(c, row);
	put(c, row[2]);
	put(c, row[3]);
	pass(c);
	put_blob(c, row + 8);
}

static void service_comps(const uint8_t *row, struct comps *c)
{
	static const uint8_t widths[] = { 8, 16, 2, 0, 0, 16, 64 };
	unsigned at = 0;

	for (unsigned i = 0; i < 7; i++) {
		if (widths[i])
			put_bytes(c, row + at, widths[i]);
		else
			pass(c); /* reserved, and the lease */
		at += widths[i] ? widths[i] : i == 3 ? 2 : 4;
	}
	for (unsigned width = 1; width <= 8; width *= 2)
		for (unsigned i = 0; i < 16 / width; i++, at += width)
			put_bytes(c, row + at, width);
}

static const struct record {
	uint16_t attr;
	unsigned size, ncomps;
	void (*comps)(const uint8_t *row, struct comps *c);
	bool trusted;
} records[] = {
	{ WIRE_SA_NODE, 112, 15, node_comps, false },
	{ WIRE_SA_PORT_INFO, 72, 58, port_comps, false },
	{ WIRE_SA_PORT_INFO, 72, 58, port_comps, true },
	{ WIRE_SA_SWITCH_INFO, 24, 22, switch_comps, false },
	{ WIRE_SA_SM_INFO, 32, 7, sm_comps, false },
	{ WIRE_SA_LINK, 8, 4, link_comps, false },
	{ WIRE_SA_LFT, 72, 4, lft_comps, false },
	{ WIRE_SA_GUID_INFO, 72, 12, guid_comps, false },
	{ WIRE_SA_PKEY, 72, 6, pkey_comps, true },
	{ WIRE_SA_SL2VL, 16, 5, sl2vl_comps, false },
	{ WIRE_SA_VL_ARB, 72, 5, vl_arb_comps, false },
	{ WIRE_SA_SERVICE, 176, 37, service_comps, true },
};
#define RECORDS (sizeof(records) / sizeof(records[0]))

struct all_rows {
	unsigned count;
	uint8_t *bytes;
};

static void fetch_all(struct world *w, const struct record *rec, struct all_rows *all)
{
	struct world_request r = { .method = WIRE_GET_TABLE,
				   .attr = rec->attr,
				   .sm_key = rec->trusted ? WORLD_SM_KEY : 0 };

	assert_int_equal(world_ask(w, &r), 1);
	assert_int_equal(world_status(w), 0);
	all->count = world_rows(w);
	assert_in_range(all->count, 1, ROWS_MAX);
	assert_int_equal(w->sent_len, WIRE_SA_HEADER + all->count * rec->size);
	all->bytes = mem_alloc(all->count, rec->size);
	memcpy(all->bytes, w->sent + WIRE_SA_HEADER, all->count * rec->size);
}

/* A row, one made of bytes of two rows, or anything. */
static void request_make(const struct record *rec, const struct all_rows *all, uint8_t data[200])
{
	const uint8_t *a = all->bytes + pick_below(all->count) * rec->size;
	const uint8_t *b = all->bytes + pick_below(all->count) * rec->size;
	unsigned kind = pick_below(8);

	for (unsigned i = 0; i < 200; i++)
		data[i] = (uint8_t)pick_below(256);
	for (unsigned i = 0; i < rec->size && kind; i++)
		data[i] = kind > 2 || pick_below(2) ? a[i] : b[i];
	for (unsigned n = kind == 3 ? 1 + pick_below(4) : 0; n; n--)
		data[pick_below(rec->size)] ^= (uint8_t)(1u << pick_below(8));
}

static uint64_t mask_make(unsigned ncomps)
{
	uint64_t mask = 0;

	if (pick_below(50) == 0)
		return (uint64_t)pick_below(1u << 31) << 33 | pick_below(1u << 31);
	for (unsigned n = pick_below(5); n; n--)
		mask |= 1ull << pick_below(ncomps + 2);
	return mask;
}

static bool lid_equal(const struct world *w, uint64_t row, uint64_t asked)
{
	uint32_t port = asked && asked <= w->lids->top ? w->lids->port_of_lid[asked] : TOPO_NONE;

	return row == asked || (port != TOPO_NONE && w->lids->lid_of_port[port] == row &&
				row); /* end ports only have LIDs */
}

static bool comp_equal(const struct world *w, const struct comps *row, const struct comps *asked,
		       unsigned i, bool enough)
{
	if (row->reserved >> i & 1)
		return true;
	if (row->blob && i == row->count - 1)
		return !memcmp(row->blob, asked->blob, 64);
	if (row->lids >> i & 1)
		return lid_equal(w, row->value[i], asked->value[i]);
	if (enough && row->bits >> i & 1)
		return (row->value[i] & asked->value[i]) == asked->value[i];
	return row->value[i] == asked->value[i];
}

/*
 * Port numbers of QoS tables are of switches: of a host that is named by its LID none is looked at.
 */
static uint64_t mask_for_row(const struct world *w, const struct record *rec,
			     const struct comps *row, uint64_t mask)
{
	bool qos = rec->attr == WIRE_SA_SL2VL || rec->attr == WIRE_SA_VL_ARB;

	if (!qos || !(mask & WIRE_BIT(WIRE_SA_LID)))
		return mask;
	for (unsigned i = 0; i < 4; i++)
		if (world_lid(w, WORLD_SW(i)) == row->value[0])
			return mask;
	return mask & ~(rec->attr == WIRE_SA_SL2VL ? WIRE_BIT(1) | WIRE_BIT(2) : WIRE_BIT(1));
}

static bool row_matches(const struct world *w, const struct record *rec, const uint8_t *bytes,
			const uint8_t *data, uint64_t mask, bool enough)
{
	struct comps row = { 0 }, asked = { 0 };

	rec->comps(bytes, &row);
	rec->comps(data, &asked);
	assert_int_equal(row.count, rec->ncomps);
	mask = mask_for_row(w, rec, &row, mask);
	for (unsigned i = 0; i < row.count; i++)
		if (mask >> i & 1 && !comp_equal(w, &row, &asked, i, enough))
			return false;
	return true;
}

static unsigned reference(const struct world *w, const struct record *rec,
			  const struct all_rows *all, const struct world_request *r,
			  uint8_t rows[ROWS_MAX * WIRE_SA_ROW_MAX])
{
	unsigned n = 0;

	for (unsigned i = 0; i < all->count; i++) {
		const uint8_t *row = all->bytes + i * rec->size;

		if (row_matches(w, rec, row, r->data, r->mask, r->mod >> 31))
			memcpy(rows + n++ * rec->size, row, rec->size);
	}
	return n;
}

static void check_answer(struct world *w, const struct record *rec, const struct world_request *r,
			 unsigned n, const uint8_t *rows)
{
	assert_int_equal(world_ask(w, r), 1);
	if (r->method == WIRE_GET && n != 1) {
		assert_int_equal(world_status(w),
				 n ? WIRE_SA_TOO_MANY_RECORDS : WIRE_SA_NO_RECORDS);
		return;
	}
	assert_int_equal(world_status(w), WIRE_SA_OK);
	assert_int_equal(world_rows(w), n);
	assert_memory_equal(w->sent + WIRE_SA_HEADER, rows, n * rec->size);
}

/* Services that have some components in common. */
static void register_services(struct world *w)
{
	for (uint64_t id = 0; id < 40; id++) {
		struct wire_service s = { .id = id,
					  .gid = { WORLD_PREFIX, HOST(id % 5) },
					  .pkey = 0xffff,
					  .lease = WIRE_LEASE_FOREVER };

		s.key[15] = (uint8_t)(id % 3);
		s.name[0] = (uint8_t)('a' + id % 4);
		for (unsigned i = 0; i < sizeof(s.data); i++)
			s.data[i] = (uint8_t)pick_below(3);
		sa_service_put(w->sa, &s, 0);
	}
}

static void records_answer_as_the_reference_does(void **state)
{
	struct world *w = *state;
	struct all_rows all[RECORDS];
	uint8_t data[200], rows[ROWS_MAX * WIRE_SA_ROW_MAX];
	unsigned matched = 0;

	register_services(w);
	for (unsigned i = 0; i < RECORDS; i++)
		fetch_all(w, &records[i], &all[i]);
	for (unsigned n = 0; n < REQUESTS; n++) {
		unsigned i = pick_below(RECORDS), found;
		const struct record *rec = &records[i];
		struct world_request r = { .method = pick_below(2) ? WIRE_GET : WIRE_GET_TABLE,
					   .attr = rec->attr,
					   .sm_key = rec->trusted ? WORLD_SM_KEY : 0,
					   .mod = pick_below(4) ? 0 : 1u << 31,
					   .mask = mask_make(rec->ncomps),
					   .data = data,
					   .len = sizeof(data) };

		if (rec->attr == WIRE_SA_PORT_INFO)
			r.mask &= ~WIRE_BIT(PORT_OPTIONS); /* changes the rows */
		request_make(rec, &all[i], data);
		found = reference(w, rec, &all[i], &r, rows);
		matched += found && r.mask;
		check_answer(w, rec, &r, found, rows);
	}
	assert_true(matched > REQUESTS / 5); /* it was about something */
	for (unsigned i = 0; i < RECORDS; i++)
		free(all[i].bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(records_answer_as_the_reference_does, sa_setup,
						sa_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
