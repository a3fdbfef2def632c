/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <limits.h>
#include "fm/nvswitch/intake_sources.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- Health reports -------------------------------------------------------------------------- */

/*
 * Programs beside fmd (a reader of Redfish or gNMI) as sources of a host's health.
 * Each repeats its state before its TTL is over; one that does not is silent, like an exporter that
 * does not answer: its last report stands while no other source reports. The kernel authenticates
 * the senders of reports (fm/control/peer.h), so they are trusted like exporters with a verified
 * certificate.
 *
 * The latest reports are in the host's memory: after a restart their sources are known, and silent
 * until they report again.
 */

/* The source of a report, which is made if it is new; *index: its number. */
static struct health_source *source_of(struct health *h, unsigned host,
				       const struct memory_report *report, unsigned *index)
{
	char where[sizeof(HEALTH_REPORT_PREFIX) + sizeof(report->source)];
	struct health_source *s;

	array_printf(where, HEALTH_REPORT_PREFIX "%s", report->source);
	for (*index = 0; *index < h->hosts[host].nsources; (*index)++)
		if (!strcmp(h->hosts[host].sources[*index].where, where))
			break;
	if (*index == h->hosts[host].nsources)
		health_source_add(h, host, where, NVSWITCH_PROVEN);
	s = &h->hosts[host].sources[*index];
	s->reported = true;
	s->ttl_us = report->ttl_s * 1000000ull;
	return s;
}

bool health_report(struct health *h, unsigned host, const struct memory_report *report,
		   uint64_t now_us)
{
	struct nvswitch_verdict verdict = { .state = NVSWITCH_HEALTHY };
	struct nvswitch_finding finding = { .state = report->state,
					    .kind = NVSWITCH_IS_REPORT,
					    .trust = NVSWITCH_PROVEN,
					    NVSWITCH_NOWHERE };
	struct health_source *s;
	unsigned index;

	if (!memory_report(health_memory(h, host), report))
		return false;
	s = source_of(h, host, report, &index);
	if (report->state == NVSWITCH_UNKNOWN) { /* it does not know: it counts as silent */
		s->heard = s->up = false;
		s->verdict = (struct nvswitch_verdict){ 0 };
		array_printf(s->error, "%.79s", *report->text ? report->text : "state unknown");
		return true;
	}
	array_printf(finding.text, "%s", report->text);
	if (report->state != NVSWITCH_HEALTHY)
		nvswitch_verdict_add(&verdict, &finding);
	health_hear(h, host, index, &verdict, NULL, now_us);
	return true;
}

/*
 * `health-report`, by which a program beside fmd is a source: what an operator or a script typed is
 * checked here. Nothing is opened for it.
 */

#define REPORT_TTL_MAX_S 86400
#define SOURCE_LETTERS	 "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-"

int source_report_hear(struct source_home *home, const struct nvswitch_said *report, char *err)
{
	unsigned host = health_find(home->health, report->host);
	int state = nvswitch_state_parse(report->state);
	struct memory_report kept = { .state = state };
	size_t name = strspn(report->source, SOURCE_LETTERS), len = strlen(report->reason);
	bool heard = false;

	if (!name || report->source[name] || name >= sizeof(kept.source)) {
		snprintf(err, NVSWITCH_ERROR,
			 "a source is a word of up to %zu letters, digits, '.', '_' and '-'",
			 sizeof(kept.source) - 1);
	} else if (host == UINT_MAX) {
		snprintf(err, NVSWITCH_ERROR, "the fabric has no host %s, or several",
			 report->host);
	} else if (state < 0) {
		snprintf(err, NVSWITCH_ERROR,
			 "unknown state %s: HEALTHY, DEGRADED_LINK, NO_P2P, FATAL or UNKNOWN",
			 report->state);
	} else if (!*report->reason && state > NVSWITCH_HEALTHY) {
		snprintf(err, NVSWITCH_ERROR, "a reason is expected");
	} else if (!(report->ttl_s >= 1 && report->ttl_s <= REPORT_TTL_MAX_S)) {
		snprintf(err, NVSWITCH_ERROR, "the TTL is not in 1..%d s", REPORT_TTL_MAX_S);
	} else {
		array_printf(kept.source, "%s", report->source);
		kept.ttl_s = report->ttl_s;
		if (len >= sizeof(kept.text)) { /* it is cut between two characters */
			len = sizeof(kept.text) - 1;
			while (len && ((unsigned char)report->reason[len] & 0xc0) == 0x80)
				len--;
		}
		text_clean(report->reason, len, kept.text);
		heard = health_report(home->health, host, &kept, loop_now_us(home->loop));
		if (!heard)
			snprintf(err, NVSWITCH_ERROR, "%s: %d sources report on it already",
				 report->host, MEMORY_REPORTS);
	}
	if (heard)
		home->heard(home);
	return heard ? 0 : -1;
}

void source_report_recall(struct source_home *home, unsigned host)
{
	const struct memory *m = health_memory(home->health, host);
	unsigned index;

	for (unsigned i = 0; i < m->nreports; i++) {
		struct health_source *s = source_of(home->health, host, &m->reports[i], &index);

		if (!s->heard)
			array_printf(s->error, "no report since fmd began");
	}
}

/* ---- Aliases and kernel logs ----------------------------------------------------------------- */

static void *open_aliases(struct source_home *home, const struct nvswitch_conf *conf, char *err)
{
	return aliases_read(conf->keys.alias_file, err);
}

static void start_aliases(struct source_home *home, void *source, void *before)
{
	home->health->aliases = source;
}

static void close_aliases(void *source)
{
	json_decref(source);
}

static int check_aliases(const struct nvswitch_conf *conf, char *err)
{
	json_t *aliases = aliases_read(conf->keys.alias_file, err);

	json_decref(aliases);
	return aliases ? 0 : -1;
}

static const struct source_ops source_aliases = { .name = "aliases",
						  .texts = { SOURCE_TEXT(alias_file) },
						  .open = open_aliases,
						  .close = close_aliases,
						  .start = start_aliases,
						  .check = check_aliases };

/* ---- All of them ----------------------------------------------------------------------------- */

/* Of several that can't be opened the first is the one that refuses a configuration. */
enum { JOURNAL, SOCKET, EXPORTERS }; /* the first of them */
static const struct source_ops *const table[] = { &source_journal, &source_socket,
						  &source_exporters, &source_aliases };

#define SOURCES ARRAY_SIZE(table)

struct sources_opened {
	void *open[SOURCES];
	bool stays[SOURCES];		      /* the one that is open goes on */
	char errors[SOURCES][NVSWITCH_ERROR]; /* why it is not open; "" = it is, or is not wanted */
};
struct sources {
	struct source_home *home;
	struct sources_opened now;
	struct loop_timer *retry_timer;
};

/* ---- What a configuration says of each ------------------------------------------------------- */

static const char *text_of(unsigned i, unsigned text, const struct nvswitch_conf *conf)
{
	uint16_t at = table[i]->texts[text];

	return at ? (const char *)&conf->keys + at - 1 : "";
}

static bool wanted(unsigned i, const struct nvswitch_conf *conf)
{
	return conf && (*text_of(i, 0, conf) || *text_of(i, 1, conf) || *text_of(i, 2, conf));
}

static bool same(unsigned i, const struct nvswitch_conf *a, const struct nvswitch_conf *b)
{
	for (unsigned n = 0; a && n < SOURCE_TEXTS; n++)
		if (strcmp(text_of(i, n, a), text_of(i, n, b)))
			return false;
	return a;
}

/* ---- Opening aside --------------------------------------------------------------------------- */

static void open_one(struct sources *s, unsigned i, const struct nvswitch_conf *conf,
		     struct sources_opened *o)
{
	o->stays[i] = table[i]->stays && s->now.open[i] && same(i, s->home->conf, conf);
	if (wanted(i, conf) && !o->stays[i])
		o->open[i] = table[i]->open(s->home, conf, o->errors[i]);
}

static void close_all(struct sources_opened *o)
{
	for (unsigned i = 0; i < SOURCES; i++)
		if (o->open[i])
			table[i]->close(o->open[i]);
}

struct sources_opened *sources_open(struct sources *s, const struct nvswitch_conf *conf, char *err)
{
	struct sources_opened *o = mem_new(o);
	const char *wrong = NULL;

	for (unsigned i = 0; i < SOURCES; i++)
		open_one(s, i, conf, o);
	for (unsigned i = 0; s->home->conf && i < SOURCES && !wrong; i++)
		if (*o->errors[i] && !(same(i, s->home->conf, conf) && *s->now.errors[i]))
			wrong = o->errors[i];
	if (!wrong)
		return o;
	snprintf(err, NVSWITCH_ERROR, "%s", wrong);
	close_all(o);
	free(o);
	return NULL;
}

int sources_check(const struct nvswitch_conf *conf, char *err)
{
	for (unsigned i = 0; i < SOURCES; i++)
		if (table[i]->check && wanted(i, conf) && table[i]->check(conf, err))
			return -1;
	return 0;
}

/* ---- Taking over ----------------------------------------------------------------------------- */

static void take_one(struct sources *s, unsigned i, struct sources_opened *o)
{
	char what[64];

	if (!o->stays[i]) {
		if (table[i]->start)
			table[i]->start(s->home, o->open[i], s->now.open[i]);
		if (s->now.open[i])
			table[i]->close(s->now.open[i]);
		s->now.open[i] = o->open[i];
	}
	memcpy(s->now.errors[i], o->errors[i], NVSWITCH_ERROR);
	array_printf(what, "nvswitch: %s", table[i]->name);
	trouble_set(s->home->alerts, what, *s->now.errors[i] ? s->now.errors[i] : NULL);
}

static void announce(struct sources *s)
{
	health_sources_begin(s->home->health);
	for (unsigned i = 0; i < SOURCES; i++)
		if (table[i]->announce && s->now.open[i])
			table[i]->announce(s->now.open[i]);
	health_sources_end(s->home->health);
	loop_timer_stop(s->retry_timer);
	for (unsigned i = 0; i < SOURCES; i++)
		if (*s->now.errors[i] && s->home->conf->retry_us)
			loop_timer_set(s->retry_timer, s->home->conf->retry_us);
}

static void retry_cb(void *arg)
{
	struct sources *s = arg;
	struct sources_opened o = { 0 };

	for (unsigned i = 0; i < SOURCES; i++) {
		if (!*s->now.errors[i])
			continue;
		open_one(s, i, s->home->conf, &o);
		take_one(s, i, &o);
	}
	announce(s);
}

void sources_take(struct sources *s, struct sources_opened *o)
{
	for (unsigned i = 0; i < SOURCES; i++)
		take_one(s, i, o);
	free(o);
	announce(s);
}

void sources_hosts_changed(struct sources *s)
{
	bool changed = false;

	for (unsigned i = 0; i < SOURCES; i++)
		changed |= table[i]->hosts && s->now.open[i] && table[i]->hosts(s->now.open[i]);
	if (changed)
		announce(s);
}

/* ---- Reports --------------------------------------------------------------------------------- */

void sources_add_inputs(const struct sources *s, json_t *doc)
{
	json_t *inputs = json_object(), *errors = json_object();

	for (unsigned i = 0; i < SOURCES; i++) {
		const char *error = s->now.errors[i];

		if (!wanted(i, s->home->conf))
			continue;
		json_object_set_new(inputs, table[i]->name, json_boolean(!*error));
		if (*error)
			json_object_set_new(errors, table[i]->name, json_string(error));
	}
	json_object_set_new(doc, "inputs", inputs);
	json_object_set_new(doc, "input_errors", errors);
}

json_t *sources_missing(const struct sources *s, unsigned host, unsigned number)
{
	return exporters_missing(s->now.open[EXPORTERS], host, number);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct sources *sources_new(struct source_home *home)
{
	struct sources *s = mem_new(s);

	s->home = home;
	s->retry_timer = loop_timer_new(home->loop, retry_cb, s);
	return s;
}

void sources_free(struct sources *s)
{
	if (!s)
		return;
	close_all(&s->now);
	loop_timer_free(s->retry_timer);
	free(s);
}
