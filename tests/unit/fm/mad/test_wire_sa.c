/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* SA header and records as bytes: layouts against <iba/ib_types.h>, encoders against decoders. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_query.h"

static uint16_t same_lid(void *arg, uint16_t lid)
{
	return lid;
}

static uint16_t even_lid(void *arg, uint16_t lid)
{
	return lid & 0xfffe;
}

/* Where the mask bit's field begins, as ib_types.h's structures have it. */
static void expect_at(const struct sa_record *record, uint64_t net_mask, size_t byte, unsigned bit,
		      unsigned width)
{
	const struct wire_sa_layout *layout = &record->layout;
	uint64_t mask = cl_ntoh64(net_mask);
	unsigned comp = (unsigned)__builtin_ctzll(mask);
	uint8_t row[WIRE_SA_ROW_MAX] = { 0 };

	assert_true(comp < layout->ncomps);
	for (unsigned i = 0; i < width; i++)
		row[byte + (bit + i) / 8] |= (uint8_t)(0x80 >> (bit + i) % 8);
	assert_int_equal(wire_sa_get(layout, comp, row),
			 width == 64 ? UINT64_MAX : (1ull << width) - 1);
	/* and no bit outside */
	for (unsigned i = 0; i < sizeof(row); i++)
		row[i] = (uint8_t)~row[i];
	assert_int_equal(wire_sa_get(layout, comp, row), 0);
}

#define AT(record, mask, type, field, bit, width)                                                  \
	expect_at(&sa_record_##record, mask, offsetof(type, field), bit, width)
#define PI(mask, field, bit, width)                                                                \
	AT(port_info, IB_PIR_COMPMASK_##mask, ib_portinfo_record_t, port_info.field, bit, width)

static void port_info_components_lie_where_the_mask_says(void **state)
{
	AT(port_info, IB_PIR_COMPMASK_LID, ib_portinfo_record_t, lid, 0, 16);
	AT(port_info, IB_PIR_COMPMASK_PORTNUM, ib_portinfo_record_t, port_num, 0, 8);
	AT(port_info, IB_PIR_COMPMASK_OPTIONS, ib_portinfo_record_t, options, 0, 8);
	PI(MKEY, m_key, 0, 64);
	PI(GIDPRE, subnet_prefix, 0, 64);
	PI(BASELID, base_lid, 0, 16);
	PI(SMLID, master_sm_base_lid, 0, 16);
	PI(CAPMASK, capability_mask, 0, 32);
	PI(DIAGCODE, diag_code, 0, 16);
	PI(MKEYLEASEPRD, m_key_lease_period, 0, 16);
	PI(LOCALPORTNUM, local_port_num, 0, 8);
	PI(LINKWIDTHENABLED, link_width_enabled, 0, 8);
	PI(LNKWIDTHACTIVE, link_width_active, 0, 8);
	PI(LNKSPEEDSUPPORT, state_info1, 0, 4);
	PI(PORTSTATE, state_info1, 4, 4);
	PI(PORTPHYSTATE, state_info2, 0, 4);
	PI(LINKDWNDFLTSTATE, state_info2, 4, 4);
	PI(MKEYPROTBITS, mkey_lmc, 0, 2);
	PI(LMC, mkey_lmc, 5, 3);
	PI(LINKSPEEDACTIVE, link_speed, 0, 4);
	PI(NEIGHBORMTU, mtu_smsl, 0, 4);
	PI(VLCAP, vl_cap, 0, 4);
	PI(INITTYPE, vl_cap, 4, 4);
	PI(VLARBLOWCAP, vl_arb_low_cap, 0, 8);
	PI(MTUCAP, mtu_cap, 4, 4);
	PI(VLSTALLCNT, vl_stall_life, 0, 3);
	PI(HOQLIFE, vl_stall_life, 3, 5);
	PI(OPVLS, vl_enforce, 0, 4);
	PI(FILTERRAWOUT, vl_enforce, 7, 1);
	PI(QKEYVIO, q_key_violations, 0, 16);
	PI(GUIDCAP, guid_cap, 0, 8);
	PI(CLIENTREREG, subnet_timeout, 0, 1);
	PI(SUBNTO, subnet_timeout, 3, 5);
	PI(RESPTIME, resp_time_value, 3, 5);
	PI(OVERRUNERR, error_threshold, 4, 4);
	PI(MAXCREDHINT, max_credit_hint, 0, 16);
	PI(LINKRTLAT, link_rt_latency, 8, 24);
	PI(CAPMASK2, capability_mask2, 0, 16);
	PI(LINKSPDEXTACT, link_speed_ext, 0, 4);
	PI(LINKSPDEXTSUPP, link_speed_ext, 4, 4);
	PI(LINKSPDEXTENAB, link_speed_ext_enabled, 3, 5);
}

static void other_components_lie_where_the_mask_says(void **state)
{
	AT(node, IB_NR_COMPMASK_NODETYPE, ib_node_record_t, node_info.node_type, 0, 8);
	AT(node, IB_NR_COMPMASK_NODEGUID, ib_node_record_t, node_info.node_guid, 0, 64);
	AT(node, IB_NR_COMPMASK_DEVID, ib_node_record_t, node_info.device_id, 0, 16);
	AT(node, IB_NR_COMPMASK_PORTNUM, ib_node_record_t, node_info.port_num_vendor_id, 0, 8);
	AT(node, IB_NR_COMPMASK_VENDID, ib_node_record_t, node_info.port_num_vendor_id, 8, 24);
	AT(sm_info, IB_SMIR_COMPMASK_GUID, ib_sminfo_record_t, sm_info.guid, 0, 64);
	AT(sm_info, IB_SMIR_COMPMASK_ACTCOUNT, ib_sminfo_record_t, sm_info.act_count, 0, 32);
	AT(sm_info, IB_SMIR_COMPMASK_SMSTATE, ib_sminfo_record_t, sm_info.pri_state, 4, 4);
	AT(link, IB_LR_COMPMASK_TO_LID, ib_link_record_t, to_lid, 0, 16);
	AT(link, IB_LR_COMPMASK_TO_PORT, ib_link_record_t, to_port_num, 0, 8);
	AT(lft, IB_LFTR_COMPMASK_BLOCK, ib_lft_record_t, block_num, 0, 16);
	AT(mft, IB_MFTR_COMPMASK_POSITION, ib_mft_record_t, position_block_num, 0, 4);
	AT(mft, IB_MFTR_COMPMASK_BLOCK, ib_mft_record_t, position_block_num, 7, 9);
	AT(guid_info, IB_GIR_COMPMASK_BLOCKNUM, ib_guidinfo_record_t, block_num, 0, 8);
	AT(guid_info, IB_GIR_COMPMASK_GID7, ib_guidinfo_record_t, guid_info.guid[7], 0, 64);
	AT(pkey, IB_PKEY_COMPMASK_PORT, ib_pkey_table_record_t, port_num, 0, 8);
	AT(inform_info_record, IB_IIR_COMPMASK_ENUM, ib_inform_info_record_t, subscriber_enum, 0,
	   16);
	AT(inform_info_record, IB_IIR_COMPMASK_TRAPNUMB, ib_inform_info_record_t,
	   inform_info.g_or_v.generic.trap_num, 0, 16);
	AT(inform_info_record, IB_IIR_COMPMASK_PRODTYPE, ib_inform_info_record_t,
	   inform_info.g_or_v.generic.node_type_msb, 0, 24);
	AT(switch_info, cl_hton64(1ull << 9), ib_switch_info_record_t, switch_info.life_state, 0,
	   5);
	AT(switch_info, cl_hton64(1ull << 21), ib_switch_info_record_t, switch_info.mcast_top, 0,
	   16);
}

static void rows_are_as_long_as_ib_types_has_them(void **state)
{
	const struct {
		const struct sa_record *record;
		size_t size;
	} is[] = {
		{ &sa_record_node, sizeof(ib_node_record_t) },
		{ &sa_record_port_info, sizeof(ib_portinfo_record_t) },
		{ &sa_record_switch_info, sizeof(ib_switch_info_record_t) },
		{ &sa_record_lft, sizeof(ib_lft_record_t) },
		{ &sa_record_mft, sizeof(ib_mft_record_t) },
		{ &sa_record_sm_info, sizeof(ib_sminfo_record_t) },
		{ &sa_record_link, sizeof(ib_link_record_t) },
		{ &sa_record_guid_info, sizeof(ib_guidinfo_record_t) },
		{ &sa_record_pkey, sizeof(ib_pkey_table_record_t) },
		{ &sa_record_sl2vl, sizeof(ib_slvl_table_record_t) },
		{ &sa_record_vl_arb, sizeof(ib_vl_arb_table_record_t) },
		{ &sa_record_service, sizeof(ib_service_record_t) },
		{ &sa_record_inform_info_record, sizeof(ib_inform_info_record_t) },
	};

	for (size_t i = 0; i < sizeof(is) / sizeof(is[0]); i++)
		assert_int_equal(wire_sa_layout_size(&is[i].record->layout), is[i].size);
}

static void a_row_is_its_first_components_and_the_bytes_behind_them(void **state)
{
	const uint64_t first[] = { 0x1234, 4, 0, 0x1ab, 0 };
	struct wire_sa_layout layout = sa_record_mft.layout;
	uint8_t data[64], row[72];

	memset(data, 0x5a, sizeof(data));
	memset(row, 0xff, sizeof(row));
	layout.size = wire_sa_layout_size(&layout);
	wire_sa_row(&layout, first, 5, data, sizeof(data), row);
	assert_int_equal(wire_get(row, 8), 0x123441ab00000000);
	assert_memory_equal(row + 8, data, sizeof(data));
	layout = sa_record_link.layout;
	layout.size = wire_sa_layout_size(&layout);
	wire_sa_row(&layout, first, 2, "", 0, row);
	assert_int_equal(wire_get(row, 8), 0x1234040000000000);
}

/* Another record with the same attribute would never be found. */
static void each_record_is_listed_once_and_says_how_to_be_walked(void **state)
{
#define RECORD_POINTER(name) &sa_record_##name,
	const struct sa_record *const records[] = { SA_RECORDS(RECORD_POINTER) };

	for (unsigned i = 0; i < SA_RECORD_COUNT; i++) {
		assert_true(records[i]->methods);
		assert_non_null(records[i]->prepare);
		assert_non_null(records[i]->emit);
		assert_true(records[i]->layout.ncomps
				    ? !records[i]->layout.size
				    : records[i]->layout.size && records[i]->layout.size % 8 == 0);
		for (unsigned j = 0; j < i; j++)
			assert_int_not_equal(records[i]->attr_id, records[j]->attr_id);
	}
}

static void a_component_is_put_where_it_is_read_and_nowhere_else(void **state)
{
	const struct wire_sa_layout *layout = &sa_record_sm_info.layout;
	const uint64_t value = 0x0123456789abcdefull;
	uint8_t row[32], was[32], ones[32];

	memset(was, 0xa5, sizeof(was));
	memset(ones, 0xff, sizeof(ones));
	for (unsigned comp = 0; comp < layout->ncomps; comp++) {
		memcpy(row, was, sizeof(row));
		wire_sa_put(layout, comp, value, row);
		for (unsigned other = 0; other < layout->ncomps; other++)
			assert_int_equal(wire_sa_get(layout, other, row),
					 other == comp ? value & wire_sa_get(layout, comp, ones)
						       : wire_sa_get(layout, other, was));
		assert_memory_equal(row + 29, was + 29, 3); /* padding */
	}
}

static void component_match(struct wire_sa_match *match, uint64_t mask, const uint8_t *request,
			    bool enough)
{
	struct wire_sa_layout layout = sa_record_port_info.layout;

	layout.size = wire_sa_layout_size(&layout);
	wire_sa_match_init(match, &layout, mask, request, enough, same_lid, NULL);
}

static void an_empty_mask_matches_all(void **state)
{
	uint8_t request[72], row[72];
	struct wire_sa_match match;

	memset(request, 0x5a, sizeof(request));
	memset(row, 0xc3, sizeof(row));
	component_match(&match, 0, request, false);
	assert_true(wire_sa_match(&match, row));
}

static void reserved_components_and_unknown_bits_are_not_compared(void **state)
{
	const uint64_t reserved =
		cl_ntoh64(IB_PIR_COMPMASK_RESV2 | IB_PIR_COMPMASK_RESV3 | IB_PIR_COMPMASK_RESV5 |
			  IB_PIR_COMPMASK_RESV7 | IB_PIR_COMPMASK_OPTIONS) |
		0xfcull << 56;
	uint8_t request[72], row[72];
	struct wire_sa_match match;

	memset(request, 0x5a, sizeof(request));
	memset(row, 0xc3, sizeof(row));
	component_match(&match, reserved, request, false);
	assert_true(wire_sa_match(&match, row));
}

static void capability_masks_match_whole_or_by_the_bits_asked_for(void **state)
{
	uint64_t mask = cl_ntoh64(IB_PIR_COMPMASK_CAPMASK);
	uint8_t request[72] = { 0 }, row[72] = { 0 }, info[64];
	struct wire_port_info pi = { .capmask = 0x0251486a };
	struct wire_sa_match match;

	wire_port_info_encode(&pi, info);
	memcpy(row + 4, info, sizeof(info));
	pi.capmask = WIRE_CAP_IS_SM;
	wire_port_info_encode(&pi, info);
	memcpy(request + 4, info, sizeof(info));
	component_match(&match, mask, request, true);
	assert_true(wire_sa_match(&match, row));
	component_match(&match, mask, request, false);
	assert_false(wire_sa_match(&match, row));
	pi.capmask = WIRE_CAP_IS_SM | 4;
	wire_port_info_encode(&pi, info);
	memcpy(request + 4, info, sizeof(info));
	component_match(&match, mask, request, true);
	assert_false(wire_sa_match(&match, row));
}

static void a_lid_is_compared_as_the_base_lid_of_its_port(void **state)
{
	const unsigned to_lid = 3;
	struct wire_sa_layout layout = sa_record_link.layout;
	const uint64_t asked[] = { 0x1235, 0, 0, 0x4321 }, is[] = { 0x1234, 0, 0, 0x4320 };
	uint64_t both = WIRE_BIT(WIRE_SA_LID) | WIRE_BIT(to_lid);
	struct wire_sa_match match;
	uint8_t request[8], row[8];

	layout.size = wire_sa_layout_size(&layout);
	wire_sa_row(&layout, asked, 4, "", 0, request);
	wire_sa_row(&layout, is, 4, "", 0, row);
	wire_sa_match_init(&match, &layout, both, request, false, even_lid, NULL);
	assert_true(wire_sa_match(&match, row));
	wire_sa_match_init(&match, &layout, both, request, false, same_lid, NULL);
	assert_false(wire_sa_match(&match, row));
}

static void a_path_record_reads_back(void **state)
{
	unsigned short seed[3] = { 1, 2, 3 };
	uint8_t row[64], again[64];
	struct wire_path_record rec;

	for (unsigned n = 0; n < 1000; n++) {
		for (unsigned i = 0; i < sizeof(row); i++)
			row[i] = (uint8_t)nrand48(seed);
		row[44] &= 0x8f; /* reserved next to RawTraffic */
		memset(row + 58, 0, 6);
		wire_path_record_decode(row, &rec);
		wire_path_record_encode(&rec, again);
		assert_memory_equal(row, again, sizeof(row));
	}
}

static void a_path_record_is_laid_out_as_ib_types_has_it(void **state)
{
	const struct wire_path_record rec = {
		.dgid = { 0xfe80000000000000ull, 7 },
		.dlid = 0x1234,
		.slid = 0x4321,
		.reversible = true,
		.num_path = 5,
		.flow_label = 0xabcde,
		.hop_limit = 64,
		.pkey = 0xffff,
		.qos_class = 0x123,
		.sl = 4,
		.mtu_sel = WIRE_EXACT,
		.mtu = 5,
		.rate_sel = WIRE_BEST,
		.rate = 21,
		.life_sel = WIRE_LESS,
		.life = 18,
	};
	ib_path_rec_t is;

	wire_path_record_encode(&rec, (uint8_t *)&is);
	assert_int_equal(cl_ntoh64(is.dgid.unicast.interface_id), 7);
	assert_int_equal(cl_ntoh16(is.dlid), 0x1234);
	assert_int_equal(cl_ntoh16(is.slid), 0x4321);
	assert_int_equal(is.num_path, 0x85);
	assert_int_equal(ib_path_rec_flow_lbl(&is), 0xabcde);
	assert_int_equal(ib_path_rec_hop_limit(&is), 64);
	assert_int_equal(ib_path_rec_sl(&is), 4);
	assert_int_equal(ib_path_rec_qos_class(&is), 0x123);
	assert_int_equal(ib_path_rec_mtu(&is), 5);
	assert_int_equal(ib_path_rec_mtu_sel(&is), 2);
	assert_int_equal(ib_path_rec_rate(&is), 21);
	assert_int_equal(ib_path_rec_rate_sel(&is), 3);
	assert_int_equal(ib_path_rec_pkt_life(&is), 18);
	assert_int_equal(ib_path_rec_pkt_life_sel(&is), 1);
}

static void an_inform_info_reads_back(void **state)
{
	const struct wire_inform_info info = {
		.gid = { 0xfe80000000000000ull, 0x1234567890abcdefull },
		.lid_begin = 0xffff,
		.generic = true,
		.subscribe = 1,
		.type = 0xffff,
		.trap = 144,
		.qpn = 0xabcdef,
		.resp_time = 18,
		.producer = 0xffffff,
	};
	struct wire_inform_info again;
	uint8_t data[36];

	memset(&again, 0, sizeof(again));
	wire_inform_info_encode(&info, data);
	wire_inform_info_decode(data, &again);
	assert_int_equal(again.gid.guid, info.gid.guid);
	assert_int_equal(again.lid_begin, 0xffff);
	assert_true(again.generic);
	assert_int_equal(again.subscribe, 1);
	assert_int_equal(again.trap, 144);
	assert_int_equal(again.qpn, 0xabcdef);
	assert_int_equal(again.resp_time, 18);
	assert_int_equal(again.producer, 0xffffff);
	assert_int_equal(ib_inform_info_get_prod_type((ib_inform_info_t *)data),
			 cl_hton32(0xffffff));
}

static void an_answer_keeps_what_the_asker_needs(void **state)
{
	uint8_t mad[256];
	ib_sa_mad_t sa;

	for (unsigned i = 0; i < sizeof(mad); i++)
		mad[i] = (uint8_t)(i + 1);
	memcpy(&sa, mad, sizeof(sa));
	wire_sa_answer(mad, WIRE_GET_TABLE_RESP, WIRE_SA_OK, true, 112);
	assert_memory_equal(mad + 8, &sa.trans_id, 8);
	assert_memory_equal(mad + 16, &sa.attr_id, 2);
	assert_memory_equal(mad + 20, &sa.attr_mod, 4);
	assert_memory_equal(mad + 48, &sa.comp_mask, 8);
	memcpy(&sa, mad, sizeof(sa));
	assert_int_equal(sa.method, WIRE_GET_TABLE_RESP);
	assert_int_equal(sa.status, 0);
	assert_int_equal(sa.sm_key, 0);
	assert_int_equal(cl_ntoh16(sa.attr_offset), 14);
	assert_int_equal(sa.rmpp_version, 1);
	assert_int_equal(sa.rmpp_type, IB_RMPP_TYPE_DATA);
	assert_int_equal(sa.rmpp_flags, IB_RMPP_FLAG_ACTIVE);
	wire_sa_answer(mad, WIRE_GET_RESP, WIRE_SA_NO_RECORDS, false, 0);
	memcpy(&sa, mad, sizeof(sa));
	assert_int_equal(sa.status, IB_SA_MAD_STATUS_NO_RECORDS);
	assert_int_equal(sa.rmpp_version | sa.rmpp_type | sa.rmpp_flags, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(port_info_components_lie_where_the_mask_says),
		cmocka_unit_test(other_components_lie_where_the_mask_says),
		cmocka_unit_test(rows_are_as_long_as_ib_types_has_them),
		cmocka_unit_test(a_row_is_its_first_components_and_the_bytes_behind_them),
		cmocka_unit_test(each_record_is_listed_once_and_says_how_to_be_walked),
		cmocka_unit_test(a_component_is_put_where_it_is_read_and_nowhere_else),
		cmocka_unit_test(an_empty_mask_matches_all),
		cmocka_unit_test(reserved_components_and_unknown_bits_are_not_compared),
		cmocka_unit_test(capability_masks_match_whole_or_by_the_bits_asked_for),
		cmocka_unit_test(a_lid_is_compared_as_the_base_lid_of_its_port),
		cmocka_unit_test(a_path_record_reads_back),
		cmocka_unit_test(a_path_record_is_laid_out_as_ib_types_has_it),
		cmocka_unit_test(an_inform_info_reads_back),
		cmocka_unit_test(an_answer_keeps_what_the_asker_needs),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
