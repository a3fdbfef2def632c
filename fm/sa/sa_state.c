/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * What hosts have asked the SA for, as lines of text.
 *
 * subscriptions: `<port GUID> <QP> <trap> <type> <generic> <producer> <LID begin> <LID end>
 * <GID prefix> <GID> <SL> <P_Key index> <trusted>`, numbers with 0x in hexadecimal.
 *
 * services: `<what names it> <the rest of the ServiceRecord> <second it ends at, 0 = never>`, the
 * record in hexadecimal as in an answer.
 */
#include <inttypes.h>
#include "fm/sa/sa_impl.h"
#include "fm/sa/sa_state.h"

#define QP_MAX 0xffffff

/* ---- Subscriptions --------------------------------------------------------------------------- */

static bool subscription_parse(const char *line, guid_t *guid, struct subscription *s)
{
	unsigned qp, sl, index, trusted, trap, type, generic, producer, begin, end;
	struct wire_gid gid;
	char rest;

	if (sscanf(line,
		   "0x%" SCNx64 " %u %u %u %u %u %u %u 0x%" SCNx64 " 0x%" SCNx64 " %u %u %u %c",
		   guid, &qp, &trap, &type, &generic, &producer, &begin, &end, &gid.prefix,
		   &gid.guid, &sl, &index, &trusted, &rest) != 13)
		return false;
	if (qp > QP_MAX || sl > 15 || trusted > 1 || generic > 1 || producer > 0xffffff ||
	    (index | trap | type | begin | end) > UINT16_MAX)
		return false;
	*s = (struct subscription){ .info = { .gid = gid,
					      .lid_begin = begin,
					      .lid_end = end,
					      .generic = generic,
					      .subscribe = 1,
					      .type = type,
					      .trap = trap,
					      .qpn = qp,
					      .producer = producer },
				    .pkey_index = index,
				    .sl = sl,
				    .trusted = trusted };
	return true;
}

/* Those above this manager's limit (another manager may have a higher one) are left out. */
bool sa_subscriptions_line(void *sa, const char *line)
{
	struct subscription wish;
	guid_t guid;

	if (!subscription_parse(line, &guid, &wish))
		return false;
	sa_subscribe(sa, guid, &wish);
	return true;
}

/* A place is a subscriber's GUID. */
uint64_t sa_subscriptions_write(const void *sa, uint64_t from, FILE *out)
{
	const cl_qmap_t *map = &((const struct sa *)sa)->reports.subscribers;
	const cl_map_item_t *i = from ? cl_qmap_get_next(map, from - 1) : cl_qmap_head(map);
	int left = SA_LINES;

	for (; i != cl_qmap_end(map) && left > 0; i = cl_qmap_next(i)) {
		const struct subscriber *by = (const struct subscriber *)i;

		left -= by->count;
		for (unsigned n = 0; n < by->count; n++) {
			char line[SA_LINE];

			sa_subscription_line(cl_qmap_key(i), by->subs[n], line);
			fprintf(out, "%s\n", line);
		}
	}
	return i == cl_qmap_end(map) ? 0 : cl_qmap_key(i);
}

/* ---- Services -------------------------------------------------------------------------------- */

static bool service_parse(const char *line, int64_t *ends, struct wire_service *record)
{
	static const char digits[] = "0123456789abcdef";
	uint8_t row[SA_SERVICE_ROW] = { 0 };
	char rest;

	for (unsigned i = 0; i < 2 * SA_SERVICE_ROW; i++, line++) {
		line += i == SA_SERVICE_ID && *line == ' ';

		const char *digit = *line ? strchr(digits, *line) : NULL;

		if (!digit)
			return false;
		row[i / 2] = row[i / 2] << 4 | (digit - digits);
	}
	if (sscanf(line, " %" SCNd64 " %c", ends, &rest) != 1 || *ends < 0)
		return false;
	wire_service_decode(row, record);
	return true;
}

/* A lease that ended meanwhile is no error, and no service. */
bool sa_services_line(struct sa *sa, const char *line, int64_t now)
{
	struct wire_service record;
	int64_t ends;

	if (!service_parse(line, &ends, &record))
		return false;
	if (ends && ends <= now)
		return true;
	record.lease = !ends				 ? WIRE_LEASE_FOREVER
		       : ends - now < WIRE_LEASE_FOREVER ? (uint32_t)(ends - now)
							 : WIRE_LEASE_FOREVER - 1;
	sa_service_put(sa, &record, 0);
	return true;
}

/* A place is the number of the latest service. */
uint64_t sa_services_write(const struct sa *sa, uint64_t from, FILE *out, int64_t now)
{
	for (unsigned left = SA_LINES; left--;) {
		char line[SA_LINE];
		const struct service *s = sa_service_next(sa, &from);

		if (!s)
			return 0;
		sa_service_line(&s->record, sa_service_lease(sa, s), now, line);
		fprintf(out, "%s\n", line);
	}
	return from;
}

/* ---- What hosts registered with another manager's SA ----------------------------------------- */

enum sa_foreign_result sa_foreign_member(struct sa_groups *groups, const uint8_t *row)
{
	struct wire_mcmember attr, m;

	wire_mcmember_decode(row, &m);
	if (!m.port_gid.guid)
		return SA_FOREIGN_HIDDEN;
	attr = m;
	attr.port_gid = (struct wire_gid){ 0 };
	attr.join_state = 0;
	attr.proxy = false;
	if (!m.join_state || !mcast_group_is_plain(&attr, m.mlid))
		return SA_FOREIGN_BAD;

	struct sa_group *group = sa_groups_find(groups, &m.mgid);

	if (!group)
		group = sa_groups_create(groups, &attr, m.mlid, 0);
	if (!group || group->mlid != m.mlid)
		return SA_FOREIGN_BAD;
	sa_groups_join(groups, group, m.port_gid.guid, m.join_state, m.proxy);
	return SA_FOREIGN_TAKEN;
}

enum sa_foreign_result sa_foreign_service(const uint8_t *row, int64_t now, FILE *out)
{
	struct wire_service record;
	char line[SA_LINE];

	wire_service_decode(row, &record);
	if (!record.gid.guid)
		return SA_FOREIGN_BAD;
	sa_service_line(&record, record.lease, now, line);
	fprintf(out, "%s\n", line);
	return SA_FOREIGN_TAKEN;
}

enum sa_foreign_result sa_foreign_subscription(const uint8_t *row, FILE *out)
{
	struct subscription s = { .failures = 0 };
	struct wire_gid subscriber;
	char line[SA_LINE];

	wire_inform_record_decode(row, &subscriber, &s.info);
	if (!subscriber.guid)
		return SA_FOREIGN_BAD;
	if (!s.info.qpn)
		return SA_FOREIGN_HIDDEN;
	s.trusted = sa_trap_is_secret(s.info.generic, s.info.trap);
	sa_subscription_line(subscriber.guid, &s, line);
	fprintf(out, "%s\n", line);
	return SA_FOREIGN_TAKEN;
}
