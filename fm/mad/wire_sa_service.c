/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * The SA's larger structures: ServiceRecord (IBA 15.2.5.14), MultiPathRecord (15.2.5.20), and the
 * QoS tables' records (15.2.5.4, 15.2.5.9).
 *
 * A MultiPathRecord asks in other words for what a PathRecord asks: it is decoded into one, and its
 * component mask into that of one, so that the same code finds the paths.
 */
#include <string.h>
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>
#include "fm/mad/wire_path.h"
#include "fm/mad/wire_sa.h"
#include "fm/mad/wire_sa_comp.h"
#include "fm/mad/wire_sa_rows.h"
#include "fm/mad/wire_service.h"

#define MULTI_HEADER 24

_Static_assert(sizeof(ib_service_record_t) == 176, "ServiceRecord");
_Static_assert(offsetof(ib_service_record_t, service_data8) == 112, "ServiceData");
_Static_assert(sizeof(ib_slvl_table_record_t) == 16, "SLtoVLMappingTableRecord");
_Static_assert(sizeof(ib_vl_arb_table_record_t) == 72, "VLArbitrationTableRecord");
_Static_assert(offsetof(ib_multipath_rec_t, gids) == MULTI_HEADER, "MultiPathRecord");

static uint64_t number(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	while (bytes--)
		value = value << 8 | *at++;
	return value;
}

/* ---- ServiceRecord --------------------------------------------------------------------------- */

void wire_service_decode(const uint8_t row[176], struct wire_service *out)
{
	ib_service_record_t rec;

	memcpy(&rec, row, sizeof(rec));
	*out = (struct wire_service){
		.id = cl_ntoh64(rec.service_id),
		.gid = { number(rec.service_gid.raw, 8), number(rec.service_gid.raw + 8, 8) },
		.pkey = cl_ntoh16(rec.service_pkey),
		.lease = cl_ntoh32(rec.service_lease),
	};
	memcpy(out->key, rec.service_key, sizeof(out->key));
	memcpy(out->name, rec.service_name, sizeof(out->name));
	memcpy(out->data, rec.service_data8, sizeof(out->data));
}

void wire_service_encode(const struct wire_service *in, uint8_t row[176])
{
	ib_service_record_t rec = {
		.service_id = cl_hton64(in->id),
		.service_pkey = cl_hton16(in->pkey),
		.service_lease = cl_hton32(in->lease),
	};

	wire_gid_encode(&in->gid, rec.service_gid.raw);
	memcpy(rec.service_key, in->key, sizeof(in->key));
	memcpy(rec.service_name, in->name, sizeof(in->name));
	memcpy(row, &rec, sizeof(rec));
	memcpy(row + offsetof(ib_service_record_t, service_data8), in->data, sizeof(in->data));
}

/* ---- MultiPathRecord ------------------------------------------------------------------------- */

void wire_multi_path_decode(const uint8_t data[WIRE_SA_DATA], struct wire_multi_path *out)
{
	uint32_t hop_flow_raw = (uint32_t)number(data, 4);
	uint16_t qos_class_sl = (uint16_t)number(data + 8, 2);

	*out = (struct wire_multi_path){
		.path = {
			.service_id = (uint64_t)data[13] << 56 | number(data + 17, 7),
			.raw = hop_flow_raw >> 31,
			.flow_label = hop_flow_raw >> 8 & 0xfffff,
			.hop_limit = (uint8_t)hop_flow_raw,
			.tclass = data[4],
			.reversible = data[5] >> 7,
			.num_path = data[5] & 0x7f,
			.pkey = (uint16_t)number(data + 6, 2),
			.qos_class = qos_class_sl >> 4,
			.sl = qos_class_sl & 0xf,
			.mtu_sel = data[10] >> 6,
			.mtu = data[10] & 0x3f,
			.rate_sel = data[11] >> 6,
			.rate = data[11] & 0x3f,
			.life_sel = data[12] >> 6,
			.life = data[12] & 0x3f,
		},
		.independent = data[14] >> 6,
		.nsrc = data[15],
		.ndst = data[16],
	};
	for (unsigned i = 0; i < WIRE_MULTI_GIDS; i++) {
		const uint8_t *gid = data + MULTI_HEADER + i * sizeof(ib_gid_t);

		out->gids[i] = (struct wire_gid){ number(gid, 8), number(gid + 8, 8) };
	}
}

uint64_t wire_multi_path_mask(uint64_t comp_mask)
{
	static const uint8_t to[] = {
		[0] = WIRE_PATH_RAW,	  [5] = WIRE_PATH_REVERSIBLE, [6] = WIRE_PATH_NUM_PATH,
		[7] = WIRE_PATH_PKEY,	  [8] = WIRE_PATH_QOS_CLASS,  [9] = WIRE_PATH_SL,
		[10] = WIRE_PATH_MTU_SEL, [11] = WIRE_PATH_MTU,	      [12] = WIRE_PATH_RATE_SEL,
		[13] = WIRE_PATH_RATE,	  [14] = WIRE_PATH_LIFE_SEL,  [15] = WIRE_PATH_LIFE,
	};
	uint64_t mask = 0;

	for (unsigned i = 0; i < sizeof(to); i++)
		if (comp_mask & WIRE_BIT(i) && to[i])
			mask |= WIRE_BIT(to[i]);
	if (comp_mask & WIRE_BIT(16))
		mask |= WIRE_BIT(WIRE_PATH_SERVICE_ID_MSB);
	if (comp_mask & WIRE_BIT(21))
		mask |= WIRE_BIT(WIRE_PATH_SERVICE_ID_LSB);
	return mask;
}

/* ---- QoS tables ------------------------------------------------------------------------------ */

void wire_sl2vl_record_encode(uint16_t lid, uint8_t in_port, uint8_t out_port,
			      const uint8_t table[8], uint8_t row[16])
{
	ib_slvl_table_record_t rec = {
		.lid = cl_hton16(lid),
		.in_port_num = in_port,
		.out_port_num = out_port,
	};

	memcpy(&rec.slvl_tbl, table, sizeof(rec.slvl_tbl));
	memcpy(row, &rec, sizeof(rec));
}

void wire_vl_arb_record_encode(uint16_t lid, uint8_t port, uint8_t block, const uint8_t table[64],
			       uint8_t row[72])
{
	ib_vl_arb_table_record_t rec = {
		.lid = cl_hton16(lid),
		.port_num = port,
		.block_num = block,
	};

	memcpy(&rec.vl_arb_tbl, table, sizeof(rec.vl_arb_tbl));
	memcpy(row, &rec, sizeof(rec));
}
