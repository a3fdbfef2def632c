/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * Notices (IBA 13.4.8.2) and the trap details of 14.2.5.1, which are laid out by trap number:
 *   64-67    a GID at byte 6
 *   128      the switch's LID at byte 0
 *   129-131  LID at 2, port at 4
 *   144      LID at 2, CapabilityMask at 6, bit 0 of byte 5 = other local changes; of bytes 10-11
 *            bit 0 = NodeDescription changed, bit 3 = SM priority changed
 *   145      LID at 2, system image GUID at 6
 *   256-258  LID of who had the wrong key at 2
 *   259      the same, and the switch's port at 50
 * The encoder starts from the raw details and lays these fields over them, so that decode and
 * encode give the bytes back.
 */
#include <string.h>
#include <iba/ib_types.h>
#include <complib/cl_byteswap.h>
#include "fm/mad/wire.h"

#define ISSUER_GID_SIZE 16

enum details {
	DETAILS_OTHER,
	DETAILS_GID,
	DETAILS_LINK,
	DETAILS_PORT,
	DETAILS_LOCAL,
	DETAILS_GUID,
	DETAILS_KEY,
	DETAILS_SWITCH_KEY
};

_Static_assert(sizeof(ib_mad_notice_attr_t) == WIRE_SMP_DATA + ISSUER_GID_SIZE, "Notice");

static enum details details_kind(bool generic, uint16_t trap)
{
	if (!generic)
		return DETAILS_OTHER;
	if (trap >= 64 && trap <= 67)
		return DETAILS_GID;
	if (trap >= 129 && trap <= 131)
		return DETAILS_PORT;
	if (trap >= 256 && trap <= 258)
		return DETAILS_KEY;
	switch (trap) {
	case 128:
		return DETAILS_LINK;
	case 144:
		return DETAILS_LOCAL;
	case 145:
		return DETAILS_GUID;
	case 259:
		return DETAILS_SWITCH_KEY;
	default:
		return DETAILS_OTHER;
	}
}

static bool local_change(const ib_mad_notice_attr_t *ntc, uint16_t flag)
{
	return (ntc->data_details.ntc_144.local_changes & TRAP_144_MASK_OTHER_LOCAL_CHANGES) &&
	       (ntc->data_details.ntc_144.change_flgs & flag);
}

static void details_decode(const ib_mad_notice_attr_t *ntc, struct wire_notice *out)
{
	switch (details_kind(out->generic, out->trap)) {
	case DETAILS_GID:
		memcpy(out->gid, ntc->data_details.ntc_64_67.gid.raw, sizeof(out->gid));
		out->guid = cl_ntoh64(ntc->data_details.ntc_64_67.gid.unicast.interface_id);
		break;
	case DETAILS_LINK:
		out->lid = cl_ntoh16(ntc->data_details.ntc_128.sw_lid);
		break;
	case DETAILS_PORT:
		out->lid = cl_ntoh16(ntc->data_details.ntc_129_131.lid);
		out->port = ntc->data_details.ntc_129_131.port_num;
		break;
	case DETAILS_LOCAL:
		out->lid = cl_ntoh16(ntc->data_details.ntc_144.lid);
		out->capmask = cl_ntoh32(ntc->data_details.ntc_144.new_cap_mask);
		out->desc_changed = local_change(ntc, TRAP_144_MASK_NODE_DESCRIPTION_CHANGE);
		out->priority_changed = local_change(ntc, TRAP_144_MASK_SM_PRIORITY_CHANGE);
		break;
	case DETAILS_GUID:
		out->lid = cl_ntoh16(ntc->data_details.ntc_145.lid);
		out->guid = cl_ntoh64(ntc->data_details.ntc_145.new_sys_guid);
		break;
	case DETAILS_SWITCH_KEY:
		out->port = ntc->data_details.ntc_259.port_no;
		out->lid = cl_ntoh16(ntc->data_details.ntc_259.lid1);
		break;
	case DETAILS_KEY:
		out->lid = cl_ntoh16(ntc->data_details.ntc_257_258.lid1);
		break;
	case DETAILS_OTHER:
		break;
	}
}

void wire_notice_decode(const uint8_t data[64], struct wire_notice *out)
{
	ib_mad_notice_attr_t ntc = { 0 };

	memcpy(&ntc, data, WIRE_SMP_DATA);
	*out = (struct wire_notice){
		.generic = ntc.generic_type & 0x80,
		.type = ntc.generic_type & 0x7f,
		.producer = (uint32_t)ntc.g_or_v.generic.prod_type_msb << 16 |
			    cl_ntoh16(ntc.g_or_v.generic.prod_type_lsb),
		.trap = cl_ntoh16(ntc.g_or_v.generic.trap_num),
		.issuer_lid = cl_ntoh16(ntc.issuer_lid),
		.toggle = cl_ntoh16(ntc.toggle_count) & 0x8000,
		.count = cl_ntoh16(ntc.toggle_count) & 0x7fff,
	};
	memcpy(out->details, ntc.data_details.raw_data.details, sizeof(out->details));
	details_decode(&ntc, out);
}

static void local_encode(const struct wire_notice *in, ib_mad_notice_attr_t *ntc)
{
	ntc->data_details.ntc_144.lid = cl_hton16(in->lid);
	ntc->data_details.ntc_144.new_cap_mask = cl_hton32(in->capmask);
	if (in->desc_changed || in->priority_changed)
		ntc->data_details.ntc_144.local_changes |= TRAP_144_MASK_OTHER_LOCAL_CHANGES;
	if (in->desc_changed)
		ntc->data_details.ntc_144.change_flgs |= TRAP_144_MASK_NODE_DESCRIPTION_CHANGE;
	if (in->priority_changed)
		ntc->data_details.ntc_144.change_flgs |= TRAP_144_MASK_SM_PRIORITY_CHANGE;
}

static void details_encode(const struct wire_notice *in, ib_mad_notice_attr_t *ntc)
{
	switch (details_kind(in->generic, in->trap)) {
	case DETAILS_GID:
		memcpy(ntc->data_details.ntc_64_67.gid.raw, in->gid, sizeof(in->gid));
		break;
	case DETAILS_LINK:
		ntc->data_details.ntc_128.sw_lid = cl_hton16(in->lid);
		break;
	case DETAILS_PORT:
		ntc->data_details.ntc_129_131.lid = cl_hton16(in->lid);
		ntc->data_details.ntc_129_131.port_num = in->port;
		break;
	case DETAILS_LOCAL:
		local_encode(in, ntc);
		break;
	case DETAILS_GUID:
		ntc->data_details.ntc_145.lid = cl_hton16(in->lid);
		ntc->data_details.ntc_145.new_sys_guid = cl_hton64(in->guid);
		break;
	case DETAILS_SWITCH_KEY:
		ntc->data_details.ntc_259.port_no = in->port;
		ntc->data_details.ntc_259.lid1 = cl_hton16(in->lid);
		break;
	case DETAILS_KEY:
		ntc->data_details.ntc_257_258.lid1 = cl_hton16(in->lid);
		break;
	case DETAILS_OTHER:
		break;
	}
}

void wire_notice_encode(const struct wire_notice *in, uint8_t data[64])
{
	ib_mad_notice_attr_t ntc = {
		.generic_type = (uint8_t)((in->generic ? 0x80 : 0) | (in->type & 0x7f)),
		.issuer_lid = cl_hton16(in->issuer_lid),
		.toggle_count =
			cl_hton16((uint16_t)((in->toggle ? 0x8000 : 0) | (in->count & 0x7fff))),
	};

	ntc.g_or_v.generic.prod_type_msb = (uint8_t)(in->producer >> 16);
	ntc.g_or_v.generic.prod_type_lsb = cl_hton16((uint16_t)in->producer);
	ntc.g_or_v.generic.trap_num = cl_hton16(in->trap);
	memcpy(ntc.data_details.raw_data.details, in->details, sizeof(in->details));
	details_encode(in, &ntc);
	memcpy(data, &ntc, WIRE_SMP_DATA);
}
