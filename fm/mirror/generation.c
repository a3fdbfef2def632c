/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * generation: which of two state_dirs is newer (generation.h); what follows where two managers were
 * master; and what both ends of a channel say of themselves, and which files go over it.
 */
#include <inttypes.h>
#include <openssl/crypto.h>
#include <unistd.h>
#include "fm/keys/lookup.h"
#include "fm/mirror/generation.h"
#include "fm/mirror/own.h"
#include "topology/base/mem.h"
#include "topology/base/sort.h"
#include "topology/base/text.h"

#define NUMBER_MOST (INT64_MAX - 1) /* of JSON, and of the file */

/* ---- Which is newer -------------------------------------------------------------------------- */

/* Also where it was so long ago that it is forgotten. */
static bool is_beginning(const struct generation *g, const struct generation *of)
{
	if (!g->count)
		return true;

	const struct takeover *last = &g->list[g->count - 1];

	/* Who was it is not known of older versions' take-overs. */
	for (const struct takeover *one = of->list; one < of->list + of->count; one++)
		if (one->number == last->number &&
		    (one->master == last->master || !one->master || !last->master))
			return true;
	return of->count == GENERATION_KEPT && last->number < of->list[0].number;
}

enum generation_result generation_compare(const struct generation *mine,
					  const struct generation *theirs)
{
	bool behind = is_beginning(mine, theirs), ahead = is_beginning(theirs, mine);

	if (behind)
		return ahead ? GENERATION_SAME : GENERATION_BEHIND;
	return ahead ? GENERATION_AHEAD : GENERATION_APART;
}

uint64_t generation_number(const struct generation *g)
{
	return g->count ? g->list[g->count - 1].number : 0;
}

static void append(struct generation *g, struct takeover one)
{
	if (g->count == GENERATION_KEPT)
		memmove(g->list, g->list + 1, --g->count * sizeof(*g->list));
	g->list[g->count++] = one;
}

void generation_add(struct generation *g, guid_t master, uint64_t heard)
{
	uint64_t last = generation_number(g);

	if (heard > last)
		last = heard;
	if (last >= NUMBER_MOST) {
		*g = (struct generation){ 0 };
		last = 0;
	}
	append(g, (struct takeover){ last + 1, master });
}

bool generation_is_plausible(const struct generation *theirs, const struct generation *mine)
{
	return generation_number(theirs) <= generation_number(mine) + GENERATION_AHEAD_MOST;
}

/* ---- Text and JSON --------------------------------------------------------------------------- */

/* Numbers grow. */
static bool take(struct generation *g, struct takeover one)
{
	if (one.number <= generation_number(g) || one.number > NUMBER_MOST)
		return false;
	append(g, one);
	return true;
}

bool generation_read(struct generation *g, const char *text)
{
	uint64_t number;
	int used = 0;

	*g = (struct generation){ 0 };

	bool fine = sscanf(text, "%" SCNu64 " %n", &number, &used) == 1;

	text += used;
	if (fine && !*text)
		return !number || take(g, (struct takeover){ number, 0 });
	while (fine && *text) {
		struct takeover one;

		fine = sscanf(text, "%" SCNu64 " 0x%" SCNx64 " %n", &one.number, &one.master,
			      &used) == 2 &&
		       take(g, one);
		text += used;
	}
	fine = fine && number == generation_number(g);
	if (!fine)
		*g = (struct generation){ 0 };
	return fine;
}

void generation_write(const struct generation *g, FILE *out)
{
	fprintf(out, "%" PRIu64 "\n", generation_number(g));
	for (unsigned i = 0; i < g->count; i++)
		fprintf(out, "%" PRIu64 " 0x%016" PRIx64 "\n", g->list[i].number,
			g->list[i].master);
}

json_t *generation_json(const struct generation *g)
{
	json_t *rows = json_array();

	for (unsigned i = 0; i < g->count; i++)
		json_add(rows, "[Io]", (json_int_t)g->list[i].number, json_guid(g->list[i].master));
	return rows;
}

bool generation_parse(struct generation *g, const json_t *json)
{
	json_t *row;
	size_t i;

	*g = (struct generation){ 0 };
	json_array_foreach ((json_t *)json, i, row) {
		json_int_t number;
		const char *guid;

		if (json_unpack(row, "[Is!]", &number, &guid) || number < 0 ||
		    !take(g, (struct takeover){ number, strtoull(guid, NULL, 16) })) {
			*g = (struct generation){ 0 };
			return false;
		}
	}
	return json_is_array(json);
}

/* ---- Lineage --------------------------------------------------------------------------------- */

/*
 * The elected one's state is in force, whatever it comes from (IBA 14.4.1 knows nothing of files).
 * What another manager did as master without it is not lost by that: who yields puts its files
 * aside and says so, and the take-over of who stays master counts behind the other's, so that from
 * then on there is one order.
 *
 * A standby that fell behind, or was off, may become master before the one that it copied returns.
 * So a master keeps a note of changes that no standby had (`unshared`); who returns with such a
 * note yields like one that was master of its own.
 */

#define MET_BURST 4 /* events in a second */

/* ---- The file -------------------------------------------------------------------------------- */

static bool take_takeovers(void *arg, const char *text)
{
	return generation_read(&((struct mirror *)arg)->generation, text);
}

static const struct state_kind takeovers_kind = {
	.name = "takeovers",
	.form = "`NUMBER`, then `NUMBER MASTER`",
	.line = take_takeovers,
};

/* ---- What no standby had --------------------------------------------------------------------- */

#define UNSHARED "unshared" /* the number of a take-over */

static uint64_t unshared_of(const struct mirror *m)
{
	return strtoull(state_value(m->services.state, UNSHARED, "text") ?: "0", NULL, 10);
}

/*
 * A standby that was whole in this take-over has it in its take-overs, and would pass for one that
 * has all. Two ticks, because the latest change is always about to be taken.
 */
void lineage_review(struct mirror *m)
{
	uint64_t was = unshared_of(m), now = was;
	char text[24];

	if (!fabric_is_master(m->fabric))
		return;

	bool owes = m->shared && m->matters > m->shared;

	if (!owes)
		now = 0;
	else if (m->owed)
		now = generation_number(&m->generation);
	m->owed = owes;
	if (now == was)
		return;
	array_printf(text, "%" PRIu64 "\n", now);
	state_take(m->services.state, UNSHARED, "text", text);
}

/* ---- The present one ------------------------------------------------------------------------- */

void lineage_load(struct mirror *m)
{
	m->generation = (struct generation){ 0 };
	state_read(m->services.state, &takeovers_kind, m);
}

static void add(struct mirror *m, uint64_t heard)
{
	char *text = NULL;
	size_t length;
	FILE *out = open_memstream(&text, &length);

	generation_add(&m->generation, mad_port_info(m->services.mad)->port_guid, heard);
	generation_write(&m->generation, out);
	fclose(out);
	state_put(m->services.state, &takeovers_kind, m, text);
	free(text);
}

void lineage_take_over(struct mirror *m)
{
	uint64_t heard = 0;

	lineage_load(m);
	for (unsigned i = 0; i < m->npeers; i++) {
		uint64_t number = generation_number(&m->peers[i].who.generation);

		heard = number > heard ? number : heard;
	}
	add(m, heard);
}

/* ---- Two that were master -------------------------------------------------------------------- */

void lineage_meet(struct mirror *m, const struct manager *standby)
{
	enum generation_result result = generation_compare(&m->generation, &standby->generation);
	bool apart = result == GENERATION_APART || result == GENERATION_BEHIND, met = false;
	uint64_t number = generation_number(&standby->generation);
	bool unshared = result == GENERATION_AHEAD && number && standby->unshared == number;

	if (!apart && !unshared)
		return;
	/* What it says once more, for its connection was lost, is no news. */
	for (unsigned i = 0; i < MIRROR_READERS; i++)
		met |= m->met[i].port_guid == standby->port_guid && m->met[i].number == number;
	if (!met) {
		m->met[m->nmet % MIRROR_READERS].port_guid = standby->port_guid;
		m->met[m->nmet++ % MIRROR_READERS].number = number;
	}
	if (met && number < generation_number(&m->generation))
		return;
	if (!met && log_allow(&m->met_limit, mirror_now(m), MET_BURST))
		event_log_add(
			m->services.events, LOG_WARNING, "mirror", NULL, NULL,
			"fabric: %s (port GUID 0x%016" PRIx64 ") was master in take-over %" PRIu64
			" %s",
			standby->name, standby->port_guid, apart ? number : standby->unshared,
			apart ? "without this manager: what this one keeps stays in force, what "
				"that one did is put aside there"
			      : "and changed what no standby had copied when it ended: that is "
				"put aside there, what this manager keeps stays in force");
	if (apart)
		add(m, number);
}

static bool is_same(const struct rows_kind *a, const struct rows_kind *b)
{
	if (!b || a->count != b->count)
		return false;
	for (size_t i = 0; i < a->nbuckets; i++)
		for (const struct row *row = a->buckets[i]; row; row = row->next) {
			const struct row *other = rows_find(b, row->key);

			if (!other || other->sum != row->sum)
				return false;
		}
	return true;
}

/* What either of the two took out of transit stays so. */
static void send_cordons(const struct peer *master, const struct rows_kind *cordons)
{
	char *text = NULL;
	size_t length = 0;
	FILE *out = open_memstream(&text, &length);

	for (size_t i = 0; i < cordons->nbuckets; i++)
		for (const struct row *row = cordons->buckets[i]; row; row = row->next)
			fprintf(out, "%s %s\n", row->key, row->value);
	fclose(out);
	if (length && length < FRAME_WORD - MIRROR_NAME)
		channel_send(master->channel, FRAME_CORDONS, json_object(), text, length);
	free(text);
}

/* Adds the name to names, if it differs. */
static void put_aside(struct mirror *m, const struct peer *master, const struct rows_kind *kind,
		      char *names, size_t size)
{
	struct state *state = m->services.state;
	size_t used = strlen(names);

	if (!strcmp(kind->name, "cordons"))
		send_cordons(master, kind);
	if (!kind->count ||
	    is_same(kind, rows_kind((struct rowset *)&master->rows, kind->name, false)))
		return;

	char *beside = mem_printf("%s" MIRROR_ASIDE, kind->name);

	state_drop_kind(state, beside);
	for (size_t i = 0; i < kind->nbuckets; i++)
		for (const struct row *row = kind->buckets[i]; row; row = row->next)
			state_take(state, beside, row->key, row->value);
	snprintf(names + used, size - used, "%s%s", used ? ", " : "", beside);
	free(beside);
}

void lineage_yield(struct mirror *m, const struct peer *master)
{
	enum generation_result result = generation_compare(&m->generation, &master->who.generation);
	uint64_t number = generation_number(&m->generation);
	bool unshared = result == GENERATION_BEHIND && number && unshared_of(m) == number;
	const struct rowset *rows = state_rows(m->services.state);
	char names[200] = ""; /* of kinds */

	if (!master->who.generation.count ||
	    (!unshared && result != GENERATION_APART && result != GENERATION_AHEAD))
		return; /* an older version does not say what it comes from */
	for (unsigned i = 0, count = rows->nkinds; i < count; i++)
		if (mirror_takes(NULL, rows->kinds[i].name))
			put_aside(m, master, &rows->kinds[i], names, sizeof(names));
	state_drop_kind(m->services.state, UNSHARED);
	event_log_add(m->services.events, LOG_WARNING, "mirror", NULL, NULL,
		      "fabric: this manager was master in take-over %" PRIu64
		      " %s %s (port GUID 0x%016" PRIx64
		      "), whose state is in force now; what this one had is kept in state_dir: %s",
		      number, unshared ? "and made changes of which no copy reached" : "without",
		      master->who.name, master->who.port_guid,
		      *names ? names : "nothing that differs");
}

/* ---- Kinds of rows --------------------------------------------------------------------------- */

static bool is_unknown(const char *kind)
{
	size_t length = strlen(kind), aside = strlen(MIRROR_ASIDE);

	return !state_rule(kind) && (length < aside || strcmp(kind + length - aside, MIRROR_ASIDE));
}

bool mirror_takes(const struct rowset *beside, const char *kind)
{
	const struct state_rule *rule = state_rule(kind);
	unsigned others = 0;

	if (rule || !is_unknown(kind))
		return rule && !rule->own;
	for (unsigned i = 0; beside && i < beside->nkinds; i++)
		others += is_unknown(beside->kinds[i].name) && strcmp(beside->kinds[i].name, kind);
	return others < MIRROR_UNKNOWN_KINDS;
}

/* ---- Keys ------------------------------------------------------------------------------------ */

static bool prove(const struct mirror *m, const struct channel *channel,
		  struct m_key_proofs *proofs)
{
	uint8_t session[M_KEY_SESSION];

	if (!channel_export(channel, "EXPORTER-fmd-m-keys", session, sizeof(session)))
		return false;
	m_key_prove(m_keys_conf(key_lookup_keys(m->services.inventory)), session, proofs);
	return true;
}

static void warn_of(const struct mirror *m, const struct manager *who)
{
	char subject[MIRROR_NAME + 32];

	if (!who->port_guid || !who->other_keys)
		return;
	array_printf(subject, "%s 0x%016" PRIx64, who->name, who->port_guid);
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

/* ---- Whose a port GUID is -------------------------------------------------------------------- */

/*
 * All managers have certificates of one CA, or one key, so who has one could take the place of a
 * manager that is off: the port GUID of a HELLO belongs to who claimed it first, in `peer_keys` of
 * state_dir, lines of `GUID PROOF` (channel_proof()).
 */

#define DIGITS (2 * CHANNEL_PROOF + 1)

static bool is_owner(void *arg, const char *line)
{
	char digits[DIGITS];
	guid_t port_guid;

	return sscanf(line, "0x%" SCNx64 " %64[0-9a-fA-F]", &port_guid, digits) == 2 && port_guid &&
	       strlen(digits) == DIGITS - 1;
}

static const struct state_kind owners_kind = { .name = "peer_keys",
					       .form = "`GUID PROOF`",
					       .line = is_owner };

void mirror_read_owners(struct mirror *m)
{
	state_read(m->services.state, &owners_kind, m);
	alerts_end(m->services.alerts, "peer-key"); /* it may try again */
}

/* Whether who has that proof may not have one port GUID more. */
static bool has_many(const struct rowset *rows, const char *proof)
{
	const struct rows_kind *kind = rows_kind((struct rowset *)rows, owners_kind.name, true);
	struct row **list = rows_list(kind, false);
	unsigned of_it = 0;

	for (size_t i = 0; i < kind->count; i++)
		of_it += !strcasecmp(list[i]->value, proof);
	free(list);
	return kind->count >= MIRROR_OWNERS || of_it >= MIRROR_EACH;
}

/* NULL, or why it is not its port GUID. Who proves nothing may have one that is nobody's. */
static const char *claim_guid(const struct mirror *m, const struct manager *who)
{
	static const uint8_t nobody[CHANNEL_PROOF];
	struct state *state = m->services.state;
	char name[32], proof[DIGITS];
	struct event_subject subject = { .name = name };

	array_printf(name, "0x%016" PRIx64, who->port_guid);
	OPENSSL_buf2hexstr_ex(proof, DIGITS, NULL, who->proof, CHANNEL_PROOF, '\0');

	const char *owner = state_value(state, owners_kind.name, name);

	if (who->port_guid == mad_port_info(m->services.mad)->port_guid)
		return "it says that it is this manager";
	if (!memcmp(who->proof, nobody, sizeof(nobody)) && !owner)
		return NULL;
	if (!owner && has_many(state_rows(state), proof))
		return "too many managers have introduced themselves by keys like its";
	if (!owner) {
		state_take(state, owners_kind.name, name, proof);
	} else if (strcasecmp(owner, proof)) {
		alert_raise(m->services.alerts, "peer-key", &subject,
			    "%s: %s came with the port GUID of a manager that had another key, and "
			    "was refused; if its key was replaced stop fmd, delete the row of that "
			    "port GUID and kind peer_keys in state_dir/state.db, and start it",
			    name, who->name);
		return "its port GUID belongs to another key (peer_keys in state_dir)";
	} else {
		alert_end(m->services.alerts, "peer-key", &subject);
	}
	return NULL;
}

/* ---- Hello ----------------------------------------------------------------------------------- */

json_t *mirror_hello(const struct mirror *m, const struct channel *channel)
{
	guid_t guid = mad_port_info(m->services.mad)->port_guid;
	json_t *list = json_array(), *hello;
	char name[MIRROR_NAME] = "";
	char sign[CHANNEL_SIGNED];
	struct m_key_proofs own;

	channel_sign(channel, sign);
	gethostname(name, sizeof(name) - 1);
	hello = json_pack("{si so ss so sI ss}", "protocol", MIRROR_PROTOCOL, "port_guid",
			  json_guid(guid), "name", name, "takeovers",
			  generation_json(&m->generation), "unshared", (json_int_t)unshared_of(m),
			  "signed", sign);
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
	int protocol;
	json_int_t unshared = 0;

	if (json_unpack(hello->head, "{si ss ss}", "protocol", &protocol, "port_guid", &guid,
			"name", &name) ||
	    protocol < MIRROR_PROTOCOL || protocol > MIRROR_PROTOCOL + 1)
		return "it uses another version of the protocol";
	json_unpack(hello->head, "{sI}", "unshared", &unshared);
	who->unshared = unshared;
	generation_parse(&who->generation, json_object_get(hello->head, "takeovers"));

	/* One that says nothing of its M_Keys is of an older version. */
	const json_t *list = json_object_get(hello->head, "m_keys");

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
	array_printf(who->name, "%s", name);
	channel_proof(channel, json_text(hello->head, "signed"), who->proof);
	if (!who->port_guid)
		return "it has no port GUID";
	return generation_is_plausible(&who->generation, &m->generation) ? NULL
									 : MIRROR_IMPLAUSIBLE;
}

const char *mirror_meet(struct mirror *m, const struct channel *channel, struct manager *who,
			const struct frame *hello)
{
	const char *why =
		who->port_guid ? "it introduced itself twice" : read_hello(m, channel, who, hello);

	if (!why)
		why = claim_guid(m, who);
	if (why)
		*who = (struct manager){ 0 };
	return why;
}
