/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * MTU and rate of every link. The first request after a publication computes them, so that a path
 * costs a walk and some minima, and the answer to a fault does not wait for them.
 *
 * The MTU of a link is the lower NeighborMTU of its two ends: ports hold packets to that, also on a
 * link that fmd took over as it was. Before a link is armed it is the lower MTUCap, which bring-up
 * makes the NeighborMTU. The rate comes from the active speed and width. Port 0 of a switch has no
 * link; its PortInfo says how fast the management processor takes packets in. A value that no port
 * reports counts as the lowest possible one.
 *
 * Rates that joined the PathRecord late (28 Gb/s and more, codes from 19) are not known to every
 * host. A host whose port announces neither the width nor the speed behind such a rate gets the
 * next lower rate that it must know. A port that runs at such a speed itself knows it.
 */
#include "fm/mad/wire_sa.h"
#include "fm/sa/sa_impl.h"
#include "topology/base/mem.h"

#define FASTER_THAN_EDR (WIRE_CAP2_HDR | WIRE_CAP2_NDR | WIRE_CAP2_XDR)

/*
 * By PathRecord rate code (IBA 15.2.5.16): units of 100 Mb/s, and what lets a port know it; 0 = all
 * do.
 */
static const struct {
	uint16_t rate, needs;
} rates[] = {
	[2] = { 25, 0 },
	[3] = { 100, 0 },
	[4] = { 300, 0 },
	[5] = { 50, 0 },
	[6] = { 200, 0 },
	[7] = { 400, 0 },
	[8] = { 600, 0 },
	[9] = { 800, 0 },
	[10] = { 1200, 0 },
	[11] = { 140, 0 },
	[12] = { 560, 0 },
	[13] = { 1120, 0 },
	[14] = { 1680, 0 },
	[15] = { 250, 0 },
	[16] = { 1000, 0 },
	[17] = { 2000, 0 },
	[18] = { 3000, 0 },
	[19] = { 280, WIRE_CAP2_2X },
	[20] = { 500, WIRE_CAP2_2X | FASTER_THAN_EDR },
	[21] = { 4000, FASTER_THAN_EDR },
	[22] = { 6000, FASTER_THAN_EDR },
	[23] = { 8000, WIRE_CAP2_NDR | WIRE_CAP2_XDR },
	[24] = { 12000, WIRE_CAP2_NDR | WIRE_CAP2_XDR },
	[25] = { 16000, WIRE_CAP2_XDR },
	[26] = { 24000, WIRE_CAP2_XDR },
};
#define NRATES	    ARRAY_SIZE(rates)
#define RATE_LOWEST 2 /* 2.5 Gb/s */
#define MTU_LOWEST  1 /* 256 bytes */

bool sa_rate_known(uint8_t rate)
{
	return rate < NRATES && rates[rate].rate;
}

/* A code that means nothing is below all. */
static unsigned units_of(uint8_t rate)
{
	return rate < NRATES ? rates[rate].rate : 0;
}

int sa_rate_compare(uint8_t a, uint8_t b)
{
	return units_of(a) - units_of(b);
}

static uint8_t rate_best(unsigned below, uint16_t knows)
{
	uint8_t best = 0;

	for (uint8_t i = RATE_LOWEST; i < NRATES; i++)
		if (rates[i].rate < below && rates[i].rate > rates[best].rate &&
		    (!rates[i].needs || rates[i].needs & knows))
			best = i;
	return best;
}

uint8_t sa_rate_below(uint8_t rate)
{
	return rate_best(units_of(rate), UINT16_MAX);
}

uint8_t sa_rate_clip(uint8_t rate, uint16_t knows)
{
	uint16_t needs = rate < NRATES ? rates[rate].needs : 0;

	return !needs || needs & knows ? rate : rate_best(units_of(rate), knows);
}

static uint8_t rate_of(enum topo_speed speed, unsigned lanes)
{
	static const uint8_t codes[][5] = {
		/*             1x  2x  4x  8x  12x */
		[TOPO_SDR] = { 2, 5, 3, 6, 4 },	     [TOPO_DDR] = { 5, 3, 6, 7, 8 },
		[TOPO_QDR] = { 3, 6, 7, 9, 10 },     [TOPO_FDR10] = { 3, 6, 7, 9, 10 },
		[TOPO_FDR] = { 11, 19, 12, 13, 14 }, [TOPO_EDR] = { 15, 20, 16, 17, 18 },
		[TOPO_HDR] = { 20, 16, 17, 21, 22 }, [TOPO_NDR] = { 16, 17, 21, 23, 24 },
		[TOPO_XDR] = { 17, 21, 23, 25, 26 },
	};
	unsigned column = lanes >= 12 ? 4 : lanes >= 8 ? 3 : lanes >= 4 ? 2 : lanes >= 2 ? 1 : 0;

	return lanes && speed != TOPO_SPEED_NONE && speed <= TOPO_XDR ? codes[speed][column]
								      : RATE_LOWEST;
}

static void link_read(struct sa_link *link, const struct topo_port *port,
		      const struct inv_node *inv)
{
	bool known = inv && port->num <= inv->nports && inv->ports[port->num].known;
	struct wire_port_caps caps = { 0 };
	struct wire_port_info info;

	if (known)
		wire_port_caps_decode(inv->ports[port->num].info, &caps);
	link->mtu = caps.mtu_cap && !(port->num && port->state >= TOPO_ARMED) ? caps.mtu_cap
									      : port->mtu;
	if (!link->mtu)
		link->mtu = MTU_LOWEST;
	link->rate = rate_of(port->speed, port->width);
	if (known && port->num == 0) {
		wire_port_info_decode(inv->ports[0].info, &info);
		link->rate = rate_of(wire_port_info_speed(&info), wire_port_info_lanes(&info));
	}
	link->knows = caps.capmask2 & (FASTER_THAN_EDR | WIRE_CAP2_2X);
	if (port->speed >= TOPO_HDR)
		link->knows |= WIRE_CAP2_HDR;
	if (port->speed >= TOPO_NDR)
		link->knows |= WIRE_CAP2_NDR;
	if (port->speed >= TOPO_XDR)
		link->knows |= WIRE_CAP2_XDR;
	if (port->width == 2)
		link->knows |= WIRE_CAP2_2X;
}

const struct sa_link *sa_links_read(struct sa *sa)
{
	const struct topo *t = sa->view.topo;
	struct sa_link *links = mem_array(links, t->nports);

	for (uint32_t n = 0; n < t->nnodes; n++) {
		const struct inv_node *inv = inventory_find(sa->inv, t->nodes[n].guid);

		for (unsigned num = 0; num <= t->nodes[n].nports; num++) {
			uint32_t at = t->nodes[n].port0 + num;

			link_read(&links[at], &t->ports[at], inv);
		}
	}
	for (uint32_t i = 0; i < t->nports; i++) { /* both ends of a link take the lower MTU */
		uint32_t peer = t->ports[i].peer;

		if (peer == TOPO_NONE || peer < i)
			continue;
		if (links[peer].mtu < links[i].mtu)
			links[i].mtu = links[peer].mtu;
		links[peer].mtu = links[i].mtu;
	}
	return sa->links = links;
}
