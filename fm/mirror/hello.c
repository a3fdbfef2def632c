/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What both ends of a channel say of themselves, and which files go over it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/mirror/own.h"

bool mirror_has(const char *name)
{
	size_t length = strlen(name), aside = strlen(MIRROR_ASIDE);

	return strcmp(name, "tables") != 0 &&
	       (length < aside || strcmp(name + length - aside, MIRROR_ASIDE) != 0);
}

static guid_t own_guid(const struct mirror *m)
{
	return mad_port_info(m->services.mad)->port_guid;
}

json_t *mirror_hello(const struct mirror *m)
{
	char name[MIRROR_NAME] = "";

	gethostname(name, sizeof(name) - 1);
	return json_pack("{si so ss sb so}", "protocol", MIRROR_PROTOCOL, "port_guid",
			 json_sprintf("0x%016" PRIx64, own_guid(m)), "name", name, "records", true,
			 "takeovers", mirror_generation(m));
}

json_t *mirror_generation(const struct mirror *m)
{
	return generation_json(&m->generation);
}

bool mirror_meet(struct manager *who, const struct frame *hello)
{
	const char *guid, *name;
	int protocol, records = 0;

	if (json_unpack(hello->head, "{si ss ss}", "protocol", &protocol, "port_guid", &guid,
			"name", &name) ||
	    protocol < MIRROR_PROTOCOL - 1 || protocol > MIRROR_PROTOCOL + 1)
		return false;
	json_unpack(hello->head, "{sb}", "records", &records);
	who->records = records;
	generation_parse(&who->generation, json_object_get(hello->head, "takeovers"));
	who->port_guid = strtoull(guid, NULL, 16);
	snprintf(who->name, sizeof(who->name), "%s", name);
	return who->port_guid != 0;
}
