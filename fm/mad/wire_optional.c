/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <stdio.h>
#include <string.h>
#include "fm/mad/wire_format.h"
#include "fm/mad/wire_optional.h"
#include "topology/base/text.h"

/* ---- Adaptive routing ------------------------------------------------------------------------ */

enum { /* PrivateLFTInfo */
       MODE_BYTE = 3,
};
enum { /* AdaptiveRoutingInfo */
       ENABLE_BYTE = 3,
       ENABLED = 1 << 0,
       FAST_RECOVERY = 1 << 4,
       NOTIFICATIONS = 1 << 5,
       HASH_BYTE = 22,
       PFRN = 1 << 4,
       WHBF = 1 << 6,
       HBF = 1 << 7,
};
#define ENABLE_BITS (ENABLED | FAST_RECOVERY | NOTIFICATIONS)
#define HASH_BITS   (PFRN | WHBF | HBF)

WIRE_FORMAT(ar_info, uint8_t[64], WIRE_AR_INFO_LIST)
WIRE_CODEC(ar_info, 64)
WIRE_FORMAT(ar_entry, uint8_t[WIRE_AR_ENTRY_BYTES], WIRE_AR_ENTRY_LIST)
WIRE_CODEC(ar_entry, WIRE_AR_ENTRY_BYTES)
WIRE_FORMAT(ar_groups, uint8_t[64], WIRE_AR_GROUPS_LIST)
WIRE_CODEC(ar_groups, 64)

bool wire_adaptive_vendor(uint32_t vendor)
{
	return vendor == 0x0002c9 || vendor == 0x0008f1;
}

/* Capability n is bit n % 32 of the big-endian word n / 32. */
bool wire_has_cap(const uint8_t caps[64], enum wire_general_cap cap)
{
	return wire_get(caps + 4 * (cap / 32), 4) >> cap % 32 & 1;
}

bool wire_private_lft_on(const uint8_t info[64])
{
	return info[MODE_BYTE];
}

void wire_private_lft_off(uint8_t info[64])
{
	info[MODE_BYTE] = 0;
}

bool wire_adaptive_on(const uint8_t info[64])
{
	return (info[ENABLE_BYTE] & ENABLE_BITS) || (info[HASH_BYTE] & HASH_BITS);
}

void wire_adaptive_off(uint8_t info[64])
{
	info[ENABLE_BYTE] &= (uint8_t)~ENABLE_BITS;
	info[HASH_BYTE] &= (uint8_t)~HASH_BITS;
}

/* ---- PortInfoExtended ------------------------------------------------------------------------ */

#define CAP_FEC 0x01 /* of byte 3: bit 0 of CapabilityMask */

enum {
	CAPMASK_END = 3,
	ACTIVE = 4,
	SPEEDS = 6, /* FDR's supported modes, its enabled ones, then the same of EDR and faster */
	SPEED_BYTES = 4, /* of one speed */
};

bool wire_port_ext_decode(const uint8_t data[64], struct wire_port_ext *out)
{
	*out = (struct wire_port_ext){ .has_fec = data[CAPMASK_END] & CAP_FEC,
				       .active = wire_get(data + ACTIVE, 2) };
	for (unsigned i = 0; i < WIRE_EXT_SPEEDS; i++) {
		const uint8_t *at = data + SPEEDS + SPEED_BYTES * i;

		out->supported[i] = wire_get(at, 2);
		out->enabled[i] = wire_get(at + 2, 2);
	}
	return !out->has_fec || out->active < WIRE_FEC_MODES;
}

enum wire_ext_speed wire_port_ext_speed(enum topo_speed speed)
{
	return speed >= TOPO_FDR && speed <= TOPO_NDR ? speed - TOPO_FDR : WIRE_EXT_SPEEDS;
}

const char *wire_fec_mode_name(unsigned mode)
{
	static const char *const names[WIRE_FEC_MODE_NAMED] = { "none", "firecode", "rs-528-514",
								"rs-271-257", "rs-544-514" };

	return mode < WIRE_FEC_MODE_NAMED ? names[mode] : NULL;
}

/* ---- HierarchyInfo --------------------------------------------------------------------------- */

enum {
	TEMPLATE = 0,
	MAX_SUPPORTED = 8,
	MAX_ACTIVE = 9,
	ACTIVE_LEVELS = 10, /* upper half */
	LEVELS = 12,
};
#define VALUE_MASK 0xffffffu

bool wire_hierarchy_decode(const uint8_t data[64], struct wire_hierarchy *out)
{
	unsigned levels = data[ACTIVE_LEVELS] >> 4;

	*out = (struct wire_hierarchy){ .template = wire_get(data + TEMPLATE, 8) };
	if (levels > WIRE_HIERARCHY_LEVELS)
		return false;
	for (unsigned i = 0; i < levels; i++) {
		uint32_t level = wire_get(data + LEVELS + 4 * i, 4);
		unsigned top = level >> 24;
		unsigned record = top < WIRE_HIERARCHY_RECORDS ? top : top >> 4;

		if ((record != top && top & 0xf) || out->has >> record & 1)
			return false;
		out->has |= (uint16_t)(1u << record);
		out->value[record] = level & VALUE_MASK;
	}
	return true;
}

/* ---- Labels ---------------------------------------------------------------------------------- */

/* Numbers of records by template; of a record that a template does not have, NONE. */
enum { NONE = WIRE_HIERARCHY_RECORDS };
static const struct layout {
	uint8_t cage, port, split, asic, bdf, plane, planes;
} layouts[] = {
	[WIRE_HIERARCHY_PORT] = { 2, 1, 0, 3, 6, NONE, NONE },
	[WIRE_HIERARCHY_XDR_SWITCH] = { 3, 4, 5, 6, NONE, 10, 11 },
	[WIRE_HIERARCHY_XDR_CA] = { 3, 4, 5, NONE, 9, 10, 11 },
};

/* False: the record is missing, or its value is above `most`: all ones mean "none". */
static bool has(const struct wire_hierarchy *h, unsigned record, unsigned most, unsigned *value)
{
	if (record >= WIRE_HIERARCHY_RECORDS || !(h->has >> record & 1) || h->value[record] > most)
		return false;
	*value = h->value[record];
	return true;
}

bool wire_hierarchy_label(const struct wire_hierarchy *h, bool is_switch,
			  char label[WIRE_HIERARCHY_LABEL])
{
	unsigned bdf, asic = 0, cage, port, split, plane, planes = 0;
	const size_t size = WIRE_HIERARCHY_LABEL;

	if (h->template <WIRE_HIERARCHY_PORT || h->template > WIRE_HIERARCHY_XDR_CA)
		return false;

	const struct layout *at = &layouts[h->template];

	if (!is_switch && has(h, at->bdf, 0xffff, &bdf) && bdf) {
		/* Bus 8 bits, device 5, function 3. */
		snprintf(label, size, "PCI %02x:%02x.%u", bdf >> 8, bdf >> 3 & 0x1f, bdf & 7);
		return true;
	}
	if (!has(h, at->cage, 999, &cage) || !has(h, at->port, 99, &port))
		return false;
	*label = '\0';
	if (has(h, at->asic, 15, &asic) && asic > 1)
		text_add(label, size, "ASIC %u ", asic);
	text_add(label, size, "cage %u/%u", cage, port);
	if (has(h, at->split, 15, &split) && split)
		text_add(label, size, "/%u", split);
	if (has(h, at->planes, 15, &planes) && planes > 1 && has(h, at->plane, 15, &plane))
		text_add(label, size, " plane %u", plane);
	return true;
}
