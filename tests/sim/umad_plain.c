/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What needs no fmsim: fields of a MAD's address, and how they are shown. */
#include <stdio.h>
#include <arpa/inet.h>
#include "tests/sim/umad_own.h"

size_t umad_size(void)
{
	return sizeof(struct ib_user_mad);
}

void *umad_get_mad(void *umad)
{
	return ((struct ib_user_mad *)umad)->data;
}

ib_mad_addr_t *umad_get_mad_addr(void *umad)
{
	return &((struct ib_user_mad *)umad)->addr;
}

int umad_status(void *umad)
{
	return (int)((struct ib_user_mad *)umad)->status;
}

static int grh_set(ib_mad_addr_t *addr, const ib_mad_addr_t *from, uint32_t flow_label)
{
	addr->grh_present = from ? 1 : 0;
	if (!from)
		return 0;
	memcpy(addr->gid, from->gid, sizeof(addr->gid));
	addr->flow_label = flow_label;
	addr->hop_limit = from->hop_limit;
	addr->traffic_class = from->traffic_class;
	return 0;
}

int umad_set_grh(void *umad, void *mad_addr)
{
	const ib_mad_addr_t *from = mad_addr;

	return grh_set(umad_get_mad_addr(umad), from, from ? htonl(from->flow_label) : 0);
}

int umad_set_grh_net(void *umad, void *mad_addr)
{
	const ib_mad_addr_t *from = mad_addr;

	return grh_set(umad_get_mad_addr(umad), from, from ? from->flow_label : 0);
}

int umad_set_addr_net(void *umad, __be16 dlid, __be32 dqp, int sl, __be32 qkey)
{
	ib_mad_addr_t *addr = umad_get_mad_addr(umad);

	addr->lid = dlid;
	addr->qpn = dqp;
	addr->sl = (uint8_t)sl;
	addr->qkey = qkey;
	return 0;
}

int umad_set_addr(void *umad, int dlid, int dqp, int sl, int qkey)
{
	return umad_set_addr_net(umad, htons((uint16_t)dlid), htonl((uint32_t)dqp), sl,
				 htonl((uint32_t)qkey));
}

int umad_set_pkey(void *umad, int pkey_index)
{
	umad_get_mad_addr(umad)->pkey_index = (uint16_t)pkey_index;
	return 0;
}

int umad_get_pkey(void *umad)
{
	return umad_get_mad_addr(umad)->pkey_index;
}

int umad_debug(int level)
{
	if (level >= 0)
		sim_debug_level = level;
	return sim_debug_level;
}

void umad_addr_dump(ib_mad_addr_t *addr)
{
	char gid[2 * sizeof(addr->gid) + 1];

	for (size_t i = 0; i < sizeof(addr->gid); i++)
		snprintf(gid + 2 * i, 3, "%02x", addr->gid[i]);
	sim_warn("qpn %u qkey 0x%x lid %u sl %u grh %u gid_index %u hop_limit %u traffic_class %u "
		 "flow_label 0x%x "
		 "pkey_index %u gid 0x%s",
		 ntohl(addr->qpn), ntohl(addr->qkey), ntohs(addr->lid), addr->sl, addr->grh_present,
		 addr->gid_index, addr->hop_limit, addr->traffic_class, ntohl(addr->flow_label),
		 addr->pkey_index, gid);
}

void umad_dump(void *umad)
{
	const struct ib_user_mad *mad = umad;

	sim_warn("agent %u status %x timeout %u", mad->agent_id, mad->status, mad->timeout_ms);
	umad_addr_dump(umad_get_mad_addr(umad));
}
