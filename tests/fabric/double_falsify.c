/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "tests/fabric/double_falsify.h"
#include <string.h>
#include "fm/mad/wire.h"
#include "topology/base/sort.h"

#define SMP_DATA 64 /* where it begins */

struct teller {
	const struct topo *design;
	uint64_t *seed;
};

static unsigned dice(struct teller *l, unsigned sides)
{
	return (unsigned)(random_next(l->seed) % sides);
}

static void put_guid(uint8_t *at, guid_t guid)
{
	for (unsigned i = 0; i < 8; i++)
		at[i] = (uint8_t)(guid >> (56 - 8 * i));
}

/* Of NodeInfo: type, size, whose GUID, which port. */
static void lie_node_info(struct teller *l, uint8_t *data)
{
	static const uint8_t sizes[] = { 0, 1, 2, 36, 64, 65, 129, 254, 255 };

	data[3] = sizes[dice(l, sizeof(sizes))];
	data[2] = (uint8_t)(1 + dice(l, 4));
	if (dice(l, 2))
		memcpy(data + 12, data + 4, 8);
	if (dice(l, 3) == 0)
		put_guid(data + 12, l->design->nodes[dice(l, l->design->nnodes)].guid);
	data[36] = (uint8_t)dice(l, 256);
}

static void lie_about(struct teller *l, unsigned attr_id, uint8_t *data)
{
	static const uint8_t port_info[] = { 16, 17, 28, 32, 33, 34 },
			     switch_info[] = { 0, 1, 4, 5, 6, 7 };

	if (attr_id == WIRE_NODE_INFO)
		lie_node_info(l, data);
	for (unsigned i = 0; attr_id == WIRE_PORT_INFO && i < sizeof(port_info); i++)
		data[port_info[i]] = (uint8_t)dice(l, 256);
	for (unsigned i = 0; attr_id == WIRE_SWITCH_INFO && i < sizeof(switch_info); i++)
		data[switch_info[i]] = (uint8_t)dice(l, 256);
}

void double_falsify(const struct topo *design, uint64_t *seed, uint8_t *mad)
{
	struct teller *l = &(struct teller){ design, seed };
	uint8_t *data = mad + SMP_DATA;

	switch (dice(l, 6)) {
	case 0:
		data[dice(l, 64)] = (uint8_t)dice(l, 256);
		break;
	case 1:
		for (unsigned i = 0; i < 8; i++)
			data[dice(l, 64)] ^= (uint8_t)(1u << dice(l, 8));
		break;
	case 2:
		for (unsigned i = 0; i < 64; i++)
			data[i] = (uint8_t)dice(l, 256);
		break;
	case 3:
		memset(data, 0xff, 64);
		break;
	case 4:
		memset(data, 0, 64);
		break;
	default:
		lie_about(l, (unsigned)mad[16] << 8 | mad[17], data);
	}
}
