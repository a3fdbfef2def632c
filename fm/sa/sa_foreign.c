/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/sa_foreign.h"
#include "fm/mad/wire_inform.h"
#include "fm/mad/wire_service.h"
#include "fm/sa/mcast_group_text.h"
#include "fm/sa/sa_report.h"
#include "fm/sa/sa_line.h"

static struct sa_group_attr attr_of(const struct wire_mcmember *m)
{
	return (struct sa_group_attr){ .mgid = m->mgid,
				       .qkey = m->qkey,
				       .flow_label = m->flow_label,
				       .pkey = m->pkey,
				       .mtu = m->mtu,
				       .rate = m->rate,
				       .life = m->life,
				       .tclass = m->tclass,
				       .sl = m->sl,
				       .hop_limit = m->hop_limit };
}

enum sa_foreign_result sa_foreign_member(struct sa_groups *groups, const uint8_t *row)
{
	struct sa_group_attr attr;
	struct wire_mcmember m;
	struct sa_group *group;

	wire_mcmember_decode(row, &m);
	if (!m.port_gid.guid)
		return SA_FOREIGN_HIDDEN;
	attr = attr_of(&m);
	if (!m.join_state || !mcast_group_is_plain(&attr, m.mlid))
		return SA_FOREIGN_BAD;
	group = sa_groups_find(groups, &m.mgid);
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
