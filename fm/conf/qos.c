/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * qos: the texts of qos_* keys, "VL:weight, VL:weight .." and "VL, VL .." for SL 0 to 15, and what
 * they come to for each kind of port. What a kind does not say is taken from the keys without a
 * kind; what those do not say is as in OpenSM: SL n on VL n, SL 15 on VL 7, all lanes alike but VL
 * 0, which is served with high priority.
 *
 * Lanes that a port does not have are folded down by their low bits, as OpenSM folds them, so one
 * text serves all ports.
 */
#include <stdlib.h>
#include <string.h>
#include "fm/conf/qos.h"
#include "topology/base/text.h"

#define QOS_ARB_BLOCK 32
#define VLS_MAX	      15
#define BLANKS	      " \t"

/* A number up to max, blanks around it; false leaves the text. */
static bool take_number(const char **text, unsigned max, uint8_t *value)
{
	const char *at = *text + strspn(*text, BLANKS);
	char *end;

	if (*at < '0' || *at > '9')
		return false;

	unsigned long n = strtoul(at, &end, 10);

	if (n > max)
		return false;
	*value = n;
	*text = end + strspn(end, BLANKS);
	return true;
}

static bool take_char(const char **text, char c)
{
	if (**text != c)
		return false;
	++*text;
	return true;
}

static bool refuse(char *why, size_t size, const char *text, const char *expected)
{
	return text_wrong(why, size, "\"%.20s\": %s is expected", text, expected);
}

static bool read_vlarb(const char *text, struct qos_weight out[QOS_ARB_ENTRIES], char *why,
		       size_t size)
{
	unsigned n = 0;

	memset(out, 0, QOS_ARB_ENTRIES * sizeof(*out));
	do {
		const char *at = text;

		if (n == QOS_ARB_ENTRIES)
			return refuse(why, size, at, "no more than 64 entries");
		if (!take_number(&text, VLS_MAX - 1, &out[n].vl) || !take_char(&text, ':') ||
		    !take_number(&text, 255, &out[n].weight))
			return refuse(why, size, at, "VL:weight, 0..14 and 0..255,");
		n++;
	} while (take_char(&text, ','));
	return !*text || refuse(why, size, text, "a comma");
}

static bool read_sl2vl(const char *text, uint8_t out[QOS_SLS], char *why, size_t size)
{
	for (unsigned sl = 0; sl < QOS_SLS; sl++)
		if (!take_number(&text, QOS_DROP, &out[sl]) ||
		    (sl < QOS_SLS - 1 && !take_char(&text, ',')))
			return refuse(why, size, text, "a VL, 0..15, for each of 16 SLs");
	return !*text || refuse(why, size, text, "nothing behind the VL of SL 15");
}

bool qos_check_vlarb(const char *text, char *why, size_t size)
{
	struct qos_weight table[QOS_ARB_ENTRIES];

	return !*text || read_vlarb(text, table, why, size);
}

bool qos_check_sl2vl(const char *text, char *why, size_t size)
{
	uint8_t table[QOS_SLS];

	return !*text || read_sl2vl(text, table, why, size);
}

static const char *first_of(const char *kind, const char *all, const char *otherwise)
{
	return *kind ? kind : *all ? all : otherwise;
}

void qos_make(const struct qos_keys *keys, struct qos_set *out)
{
	const struct qos_text *all = &keys->all;
	char why[64];

	memset(out, 0, sizeof(*out));
	out->on = keys->on;
	for (unsigned k = 0; k < QOS_KINDS; k++) {
		const struct qos_text *kind = &keys->kind[k];
		struct qos_tables *to = &out->kind[k];

		to->max_vls = kind->max_vls ? kind->max_vls : all->max_vls;
		to->high_limit = kind->high_limit >= 0 ? kind->high_limit : all->high_limit;
		read_vlarb(first_of(kind->vlarb_high, all->vlarb_high, QOS_DEFAULT_HIGH), to->high,
			   why, sizeof(why));
		read_vlarb(first_of(kind->vlarb_low, all->vlarb_low, QOS_DEFAULT_LOW), to->low, why,
			   sizeof(why));
		read_sl2vl(first_of(kind->sl2vl, all->sl2vl, QOS_DEFAULT_SL2VL), to->sl2vl, why,
			   sizeof(why));
	}
}

/* ---- On the wire ----------------------------------------------------------------------------- */

unsigned qos_vls(uint8_t op_vls)
{
	static const uint8_t vls[] = { 0, 1, 2, 4, 8, VLS_MAX };

	return op_vls < sizeof(vls) ? vls[op_vls] : 1;
}

static uint8_t fold(uint8_t vl, unsigned vls)
{
	unsigned lanes = 1;

	if (vl == QOS_DROP || vl < vls)
		return vl;
	while (lanes * 2 <= vls)
		lanes *= 2;
	return vl & (lanes - 1);
}

void qos_sl2vl(const struct qos_tables *tables, unsigned vls, uint8_t data[8])
{
	for (unsigned i = 0; i < QOS_SLS / 2; i++)
		data[i] =
			fold(tables->sl2vl[2 * i], vls) << 4 | fold(tables->sl2vl[2 * i + 1], vls);
}

unsigned qos_arb_entries(unsigned block, uint8_t low_cap, uint8_t high_cap)
{
	unsigned cap = block < 2 ? low_cap : high_cap, before = block % 2 * QOS_ARB_BLOCK;

	if (cap <= before)
		return 0;
	return cap - before < QOS_ARB_BLOCK ? cap - before : QOS_ARB_BLOCK;
}

void qos_arb(const struct qos_tables *tables, unsigned block, unsigned entries, unsigned vls,
	     uint8_t data[64])
{
	const struct qos_weight *from =
		(block < 2 ? tables->low : tables->high) + block % 2 * QOS_ARB_BLOCK;

	memset(data, 0, 64);
	for (unsigned i = 0; i < entries; i++) {
		data[2 * i] = fold(from[i].vl, vls);
		data[2 * i + 1] = from[i].weight;
	}
}

uint16_t qos_dropped(const struct qos_set *set)
{
	uint16_t dropped = 0;

	for (unsigned sl = 0; set->on && sl < QOS_SLS; sl++)
		if (set->kind[QOS_CA].sl2vl[sl] == QOS_DROP ||
		    set->kind[QOS_SWITCH_PORT].sl2vl[sl] == QOS_DROP)
			dropped |= (uint16_t)(1u << sl);
	return dropped;
}
