/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/mad/wire_hierarchy.h"
#include <stdio.h>
#include <string.h>

enum {
	TEMPLATE = 0,
	MAX_SUPPORTED = 8,
	MAX_ACTIVE = 9,
	ACTIVE_LEVELS = 10, /* upper half */
	LEVELS = 12,
};
#define VALUE_MASK 0xffffffu

static uint32_t get_word(const uint8_t *at)
{
	return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static void put_word(uint32_t value, uint8_t *at)
{
	at[0] = (uint8_t)(value >> 24);
	at[1] = (uint8_t)(value >> 16);
	at[2] = (uint8_t)(value >> 8);
	at[3] = (uint8_t)value;
}

/* WIRE_HIERARCHY_RECORDS = it is none. */
static unsigned record_of(uint32_t level)
{
	unsigned top = level >> 24;

	if (top < WIRE_HIERARCHY_RECORDS)
		return top;
	return top & 0xf ? WIRE_HIERARCHY_RECORDS : top >> 4;
}

bool wire_hierarchy_decode(const uint8_t data[64], struct wire_hierarchy *out)
{
	unsigned levels = data[ACTIVE_LEVELS] >> 4;

	*out = (struct wire_hierarchy){ .template = (uint64_t)get_word(data + TEMPLATE) << 32 |
						    get_word(data + TEMPLATE + 4) };
	if (levels > WIRE_HIERARCHY_LEVELS)
		return false;
	for (unsigned i = 0; i < levels; i++) {
		uint32_t level = get_word(data + LEVELS + 4 * i);
		unsigned record = record_of(level);

		if (record == WIRE_HIERARCHY_RECORDS || out->has >> record & 1)
			return false;
		out->has |= (uint16_t)(1u << record);
		out->value[record] = level & VALUE_MASK;
	}
	return true;
}

void wire_hierarchy_encode(const struct wire_hierarchy *in, uint8_t data[64])
{
	unsigned levels = 0;

	memset(data, 0, 64);
	put_word((uint32_t)(in->template >> 32), data + TEMPLATE);
	put_word((uint32_t)in->template, data + TEMPLATE + 4);
	for (uint32_t record = 0; record < WIRE_HIERARCHY_RECORDS; record++)
		if (in->has >> record & 1 && levels < WIRE_HIERARCHY_LEVELS)
			put_word(record << 24 | (in->value[record] & VALUE_MASK),
				 data + LEVELS + 4 * levels++);
	data[ACTIVE_LEVELS] = (uint8_t)(levels << 4);
}

/* ---- Labels ---------------------------------------------------------------------------------- */

/* Numbers of records by template; of a record that a template does not have, NONE. */
enum { NONE = WIRE_HIERARCHY_RECORDS };
struct layout {
	uint8_t cage, port, split, asic, bdf, plane, planes;
};

static const struct layout *layout_of(uint64_t template)
{
	static const struct layout layouts[] = {
		[WIRE_HIERARCHY_PORT] = { 2, 1, 0, 3, 6, NONE, NONE },
		[WIRE_HIERARCHY_XDR_SWITCH] = { 3, 4, 5, 6, NONE, 10, 11 },
		[WIRE_HIERARCHY_XDR_CA] = { 3, 4, 5, NONE, 9, 10, 11 },
	};

	return template >= WIRE_HIERARCHY_PORT && template <= WIRE_HIERARCHY_XDR_CA
		       ? &layouts[template]
		       : NULL;
}

/* False: the record is missing, or its value is above `most`: all ones mean "none". */
static bool has(const struct wire_hierarchy *h, unsigned record, unsigned most, unsigned *value)
{
	if (record >= WIRE_HIERARCHY_RECORDS || !(h->has >> record & 1) || h->value[record] > most)
		return false;
	*value = h->value[record];
	return true;
}

/* Bus 8 bits, device 5, function 3. */
static int put_pci(const struct wire_hierarchy *h, const struct layout *at, char *to, size_t size)
{
	unsigned bdf;

	if (!has(h, at->bdf, 0xffff, &bdf) || !bdf)
		return 0;
	return snprintf(to, size, "PCI %02x:%02x.%u", bdf >> 8, bdf >> 3 & 0x1f, bdf & 7);
}

static int put_cage(const struct wire_hierarchy *h, const struct layout *at, char *to, size_t size)
{
	unsigned asic = 0, cage, port, split, plane, planes = 0;
	int len = 0;

	if (!has(h, at->cage, 999, &cage) || !has(h, at->port, 99, &port))
		return 0;
	if (has(h, at->asic, 15, &asic) && asic > 1)
		len += snprintf(to + len, size - (size_t)len, "ASIC %u ", asic);
	len += snprintf(to + len, size - (size_t)len, "cage %u/%u", cage, port);
	if (has(h, at->split, 15, &split) && split)
		len += snprintf(to + len, size - (size_t)len, "/%u", split);
	if (has(h, at->planes, 15, &planes) && planes > 1 && has(h, at->plane, 15, &plane))
		len += snprintf(to + len, size - (size_t)len, " plane %u", plane);
	return len;
}

bool wire_hierarchy_label(const struct wire_hierarchy *h, bool is_switch,
			  char label[WIRE_HIERARCHY_LABEL])
{
	const struct layout *at = layout_of(h->template);

	if (!at)
		return false;
	if (!is_switch && put_pci(h, at, label, WIRE_HIERARCHY_LABEL))
		return true;
	return put_cage(h, at, label, WIRE_HIERARCHY_LABEL) > 0;
}
