/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/sa/sa_known.h"
#include <arpa/inet.h>
#include <inttypes.h>
#include "fm/sa/sa_impl.h"
#include "topology/text.h"

static json_t *json_gid(const struct wire_gid *gid)
{
	char text[INET6_ADDRSTRLEN];
	uint8_t raw[16];

	wire_gid_encode(gid, raw);
	inet_ntop(AF_INET6, raw, text, sizeof(text));
	return json_string(text);
}

static json_t *json_guid(guid_t guid)
{
	return json_sprintf("0x%016" PRIx64, guid);
}

/* ---- Groups ---------------------------------------------------------------------------------- */

static const char *joined(uint8_t state)
{
	if (state & WIRE_JOIN_FULL)
		return "full";
	if (state & WIRE_JOIN_NON)
		return "non-member";
	return state & WIRE_JOIN_SEND_ONLY_FULL ? "send-only full" : "send-only";
}

static void add_groups(const struct sa *sa, guid_t port, bool alias, json_t *rows)
{
	if (!sa_groups_port(sa->groups, port))
		return;
	for (unsigned mlid = MCAST_FIRST_MLID; mlid <= sa_groups_top(sa->groups); mlid++)
		for (const struct sa_group *g = sa_groups_by_mlid(sa->groups, (uint16_t)mlid); g;
		     g = g->next) {
			const struct sa_member *member = sa_group_member(g, port);
			json_t *row;

			if (!member)
				continue;
			row = json_pack("{so so so ss}", "mlid", json_sprintf("0x%x", mlid), "mgid",
					json_gid(&g->attr.mgid), "pkey",
					json_sprintf("0x%04x", g->attr.pkey), "joined",
					joined(member->state));
			if (alias)
				json_object_set_new(row, "guid", json_guid(port));
			json_array_append_new(rows, row);
		}
}

/* By all of its GUIDs. */
static json_t *groups(const struct sa *sa, guid_t port)
{
	json_t *rows = json_array();
	unsigned at = 0;
	guid_t guid;

	while ((guid = sa_alias_each(sa, port, &at)))
		add_groups(sa, guid, guid != port, rows);
	return rows;
}

static json_t *aliases(const struct sa *sa, guid_t port)
{
	json_t *rows = json_array();
	unsigned at = 0;
	guid_t guid;

	while ((guid = sa_alias_each(sa, port, &at)))
		if (guid != port)
			json_array_append_new(rows, json_pack("{so si}", "guid", json_guid(guid),
							      "index", (int)at - 2));
	return rows;
}

/* ---- Services -------------------------------------------------------------------------------- */

static json_t *services(const struct sa *sa, guid_t port)
{
	json_t *rows = json_array();
	const struct service *s;
	uint64_t number = 0;

	if (!sa_service_owner(sa, port))
		return rows;
	while ((s = sa_service_next(sa, &number))) {
		char name[sizeof(s->record.name) + 1];
		uint32_t lease = sa_service_lease(sa, s);

		if (s->owner != port)
			continue;
		text_clean((const char *)s->record.name, sizeof(s->record.name), name);
		json_array_append_new(
			rows,
			json_pack("{ss so so so so}", "name", name, "id",
				  json_sprintf("0x%016" PRIx64, s->record.id), "gid",
				  json_gid(&s->record.gid), "pkey",
				  json_sprintf("0x%04x", s->record.pkey), "lease_s",
				  lease == WIRE_LEASE_FOREVER ? json_null() : json_integer(lease)));
	}
	return rows;
}

/* ---- Subscriptions --------------------------------------------------------------------------- */

static json_t *subscriptions(const struct sa *sa, guid_t port)
{
	cl_map_item_t *item = cl_qmap_get(&sa->subscribers, port);
	json_t *rows = json_array();
	const struct subscriber *by;

	if (item == cl_qmap_end(&sa->subscribers))
		return rows;
	by = (const struct subscriber *)item;
	for (unsigned i = 0; i < by->count; i++) {
		const struct wire_inform_info *info = &by->subs[i]->info;

		json_array_append_new(rows,
				      json_pack("{ss so si so}", "notices",
						info->generic ? "generic" : "vendor", "trap",
						info->trap == 0xffff ? json_string("all")
								     : json_integer(info->trap),
						"unanswered", (int)by->subs[i]->failures, "qpn",
						json_sprintf("0x%06" PRIx32, info->qpn)));
	}
	return rows;
}

json_t *sa_known(const struct sa *sa, guid_t port)
{
	return json_pack("{so so so so}", "alias_guids", aliases(sa, port), "groups",
			 groups(sa, port), "services", services(sa, port), "subscriptions",
			 subscriptions(sa, port));
}
