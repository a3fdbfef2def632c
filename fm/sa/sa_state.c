/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What hosts have asked the SA for, as lines of text.
 *
 * subscriptions: `<port GUID> <QP> <SL> <P_Key index> <trusted> <trap> <type> <generic> <producer>
 * <LID begin> <LID end> <GID prefix> <GID>`, numbers with 0x in hexadecimal.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include "fm/sa/sa_impl.h"

#define LINE_MAX_SIZE 512
#define QP_MAX	      0xffffff

static bool is_blank(const char *line)
{
	return line[strspn(line, " \t\n")] == '\0' || line[0] == '#';
}

/* ---- Subscriptions ---------------------------------------------------------------------------- */

static bool subscription_parse(const char *line, guid_t *guid, struct subscription *s)
{
	unsigned qp, sl, index, trusted, trap, type, generic, producer, begin, end;
	struct wire_gid gid;
	char rest;

	if (sscanf(line,
		   "0x%" SCNx64 " %u %u %u %u %u %u %u %u %u %u 0x%" SCNx64 " 0x%" SCNx64 " %c",
		   guid, &qp, &sl, &index, &trusted, &trap, &type, &generic, &producer, &begin,
		   &end, &gid.prefix, &gid.guid, &rest) != 13)
		return false;
	if (qp > QP_MAX || sl > 15 || trusted > 1 || generic > 1 || producer > 0xffffff ||
	    (index | trap | type | begin | end) > UINT16_MAX)
		return false;
	*s = (struct subscription){ .info = { .gid = gid,
					      .lid_begin = (uint16_t)begin,
					      .lid_end = (uint16_t)end,
					      .generic = generic,
					      .subscribe = 1,
					      .type = (uint16_t)type,
					      .trap = (uint16_t)trap,
					      .qpn = qp,
					      .producer = producer },
				    .pkey_index = (uint16_t)index,
				    .sl = (uint8_t)sl,
				    .trusted = trusted };
	return true;
}

unsigned sa_subscriptions_read(struct sa *sa, FILE *in)
{
	char line[LINE_MAX_SIZE];

	for (unsigned number = 1; fgets(line, sizeof(line), in); number++) {
		struct subscription wish;
		guid_t guid;

		if (is_blank(line))
			continue;
		if (!subscription_parse(line, &guid, &wish) || !sa_subscribe(sa, guid, &wish))
			return number;
	}
	return 0;
}

static void subscription_write(const struct subscription *s, FILE *out)
{
	const struct wire_inform_info *i = &s->info;

	fprintf(out,
		"0x%016" PRIx64 " %u %u %u %u %u %u %u %u %u %u 0x%016" PRIx64 " 0x%016" PRIx64
		"\n",
		cl_qmap_key(&s->by->item), i->qpn, s->sl, s->pkey_index, s->trusted, i->trap,
		i->type, i->generic, i->producer, i->lid_begin, i->lid_end, i->gid.prefix,
		i->gid.guid);
}

void sa_subscriptions_write(const struct sa *sa, FILE *out)
{
	const cl_qmap_t *map = &sa->subscribers;

	for (const cl_map_item_t *i = cl_qmap_head(map); i != cl_qmap_end(map);
	     i = cl_qmap_next(i)) {
		const struct subscriber *by = (const struct subscriber *)i;

		for (unsigned n = 0; n < by->count; n++)
			subscription_write(by->subs[n], out);
	}
}
