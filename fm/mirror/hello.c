/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* What both ends of a channel say of themselves, and which files go over it. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/conf/m_keys.h"
#include "fm/mirror/own.h"

/* ---- Files ----------------------------------------------------------------------------------- */

/* Those that are copied; a test holds the list and the sources together. */
static const char *const shared_files[] = {
	"aliases",  "cables",	   "cordons",	    "events-0",	  "events-1",
	"events-2", "events-3",	   "events-4",	    "events-5",	  "events-6",
	"events-7", "generalinfo", "groups",	    "hosts",	  "lids",
	"nvlink",   "nvswitch",	   "overrides",	    "partitions", "quarantine",
	"sa_key",   "services",	   "subscriptions", "takeovers",  "untrue",
};
static const char *const own_files[] = { "guid2mkey", "journal-0", "journal-1", "lock",
					 "manifest",  "tables",	   "unshared" };

static bool is_among(const char *name, const char *const *list, size_t count)
{
	for (size_t i = 0; i < count; i++)
		if (!strcmp(name, list[i]))
			return true;
	return false;
}

bool mirror_has(const char *name)
{
	size_t length = strlen(name), aside = strlen(MIRROR_ASIDE);

	return !is_among(name, own_files, sizeof(own_files) / sizeof(own_files[0])) &&
	       (length < aside || strcmp(name + length - aside, MIRROR_ASIDE) != 0);
}

static bool is_unknown(const char *name)
{
	return mirror_has(name) &&
	       !is_among(name, shared_files, sizeof(shared_files) / sizeof(shared_files[0]));
}

struct unknown_files {
	const char *name;
	unsigned others;
	bool has;
};

static void count_unknown(void *arg, const char *name)
{
	struct unknown_files *u = arg;

	if (!strcmp(name, u->name))
		u->has = true;
	else
		u->others += is_unknown(name);
}

bool mirror_takes(const struct mirror *m, const struct contents *c, const char *name)
{
	struct unknown_files held = { .name = name }, kept = { .name = name };

	if (!is_unknown(name))
		return mirror_has(name);
	for (unsigned i = 0; i < c->count; i++)
		count_unknown(&held, c->list[i].name);
	state_store_each(m->services.state, count_unknown, &kept);
	return held.has || (held.others < MIRROR_UNKNOWN_FILES &&
			    (kept.has || kept.others < MIRROR_UNKNOWN_FILES));
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static bool prove(const struct mirror *m, const struct channel *channel,
		  struct m_key_proofs *proofs)
{
	const struct m_key_conf conf = conf_m_keys(m->services.conf);
	uint8_t session[M_KEY_SESSION];

	if (!channel_export(channel, "EXPORTER-fmd-m-keys", session, sizeof(session)))
		return false;
	m_key_prove(&conf, session, proofs);
	return true;
}

static void warn_of(const struct mirror *m, const struct manager *who)
{
	char subject[MIRROR_NAME + 32];

	if (!who->port_guid || !who->other_keys)
		return;
	snprintf(subject, sizeof(subject), "%s 0x%016" PRIx64, who->name, who->port_guid);
	alert_raise(m->services.alerts, "peer-m-keys", &(struct event_subject){ .name = subject },
		    "%s: has other M_Keys than this manager: whichever of the two takes over "
		    "could set no port; compare m_key, m_key_secret_file, m_key_per_port and the "
		    "old ones",
		    subject);
}

void mirror_review_keys(const struct mirror *m)
{
	alerts_review(m->services.alerts, "peer-m-keys");
	for (const struct reader *r = m->readers; r; r = r->next)
		warn_of(m, &r->who);
	for (unsigned i = 0; i < m->npeers; i++)
		warn_of(m, &m->peers[i].who);
	alerts_reviewed(m->services.alerts, "peer-m-keys");
}

/* ---- Hello ----------------------------------------------------------------------------------- */

json_t *mirror_hello(const struct mirror *m, const struct channel *channel)
{
	guid_t guid = mad_port_info(m->services.mad)->port_guid;
	json_t *list = json_array(), *hello;
	char name[MIRROR_NAME] = "";
	struct m_key_proofs own;

	gethostname(name, sizeof(name) - 1);
	hello = json_pack("{si so ss sb so sI}", "protocol", MIRROR_PROTOCOL, "port_guid",
			  json_sprintf("0x%016" PRIx64, guid), "name", name, "records", true,
			  "takeovers", generation_json(&m->generation), "unshared",
			  (json_int_t)m->unshared);
	if (prove(m, channel, &own)) {
		for (unsigned i = 0; i < own.count; i++)
			json_array_append_new(list, json_string(own.text[i]));
		json_object_set_new(hello, "gives_m_keys", json_boolean(own.gives));
		json_object_set(hello, "m_keys", list);
	}
	json_decref(list);
	return hello;
}

static const char *read_hello(const struct mirror *m, const struct channel *channel,
			      struct manager *who, const struct frame *hello)
{
	struct m_key_proofs own, theirs = { 0 };
	const char *guid, *name;
	const json_t *list;
	int protocol, records = 0;
	json_int_t unshared = 0;

	if (json_unpack(hello->head, "{si ss ss}", "protocol", &protocol, "port_guid", &guid,
			"name", &name) ||
	    protocol < MIRROR_PROTOCOL - 1 || protocol > MIRROR_PROTOCOL + 1)
		return "it uses another version of the protocol";
	json_unpack(hello->head, "{sb}", "records", &records);
	who->records = records;
	json_unpack(hello->head, "{sI}", "unshared", &unshared);
	who->unshared = (uint64_t)unshared;
	generation_parse(&who->generation, json_object_get(hello->head, "takeovers"));
	/* One that says nothing of its M_Keys is of an older version. */
	list = json_object_get(hello->head, "m_keys");
	if (json_is_array(list) && prove(m, channel, &own)) {
		theirs.gives = json_is_true(json_object_get(hello->head, "gives_m_keys"));
		for (size_t i = 0; i < json_array_size(list) && i < M_KEY_PROOFS; i++) {
			const char *text = json_string_value(json_array_get(list, i));

			snprintf(theirs.text[theirs.count++], sizeof(theirs.text[0]), "%s",
				 text ? text : "");
		}
		who->other_keys = !m_key_proofs_agree(&own, &theirs);
	}
	who->port_guid = strtoull(guid, NULL, 16);
	snprintf(who->name, sizeof(who->name), "%s", name);
	channel_proof(channel, who->proof);
	if (!who->port_guid)
		return "it has no port GUID";
	return generation_is_plausible(&who->generation, &m->generation) ? NULL
									 : MIRROR_IMPLAUSIBLE;
}

const char *mirror_meet(const struct mirror *m, const struct channel *channel, struct manager *who,
			const struct frame *hello)
{
	const char *why =
		who->port_guid ? "it introduced itself twice" : read_hello(m, channel, who, hello);

	if (why)
		*who = (struct manager){ 0 };
	return why;
}
