/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include "fm/nvswitch/intake_sources.h"
#include "fm/nvswitch/module.h"

/* ---- Health reports -------------------------------------------------------------------------- */

/*
 * Programs beside fmd (a reader of Redfish or gNMI) as sources of a host's health.
 * Each repeats its state before its TTL is over; one that does not is silent, like an exporter that
 * does not answer: its last report stands while no other source reports. The kernel authenticates
 * the senders of reports (fm/control/peer.h), so they are trusted like exporters with a verified
 * certificate.
 *
 * The latest reports are kept with the hosts' memories: after a restart their sources are known,
 * and silent until they report again.
 */

/* The source of a report, which is made if it is new; NULL: there are too many. */
static struct health_source *source_of(struct health *h, unsigned host,
				       const struct memory_report *report)
{
	char where[sizeof(HEALTH_REPORT_PREFIX) + sizeof(report->source)];
	unsigned reports = 0, added;

	array_printf(where, HEALTH_REPORT_PREFIX "%s", report->source);
	ARRAY_EACH (s, h->hosts[host].sources, h->hosts[host].nsources) {
		if (!strcmp(s->where, where))
			return s;
		reports += *s->report.source != '\0';
	}
	if (reports == MEMORY_REPORTS)
		return NULL;
	added = health_source_add(h, host, where, NVSWITCH_PROVEN);
	return &h->hosts[host].sources[added];
}

static void take_report(struct health *h, unsigned host, struct health_source *s,
			const struct memory_report *report, uint64_t now_us)
{
	const struct nvswitch_finding finding = { .kind = NVSWITCH_IS_REPORT,
						  .trust = NVSWITCH_PROVEN,
						  NVSWITCH_NOWHERE };
	struct nvswitch_verdict verdict = { .state = NVSWITCH_HEALTHY };

	health_memory(h, host)->changed |= memcmp(&s->report, report, sizeof(*report)) != 0;
	s->report = *report;
	if (report->state == NVSWITCH_UNKNOWN) { /* it does not know: as if silent */
		s->heard = s->up = false;
		s->verdict = (struct nvswitch_verdict){ 0 };
		array_printf(s->error, "%.79s", *report->text ? report->text : "state unknown");
		return;
	}
	if (report->state > NVSWITCH_HEALTHY)
		nvswitch_find(&verdict, report->state, finding, "%s", report->text);
	health_hear(h, host, s - h->hosts[host].sources, &verdict, NULL, now_us);
}

/*
 * `health-report`, by which a program beside fmd is a source: what an operator or a script typed is
 * checked here. Nothing is opened for it.
 */

#define REPORT_TTL_MAX_S 86400

int source_report_hear(struct source_home *home, const struct health_report *report, char *err)
{
	struct health *h = home->health;
	unsigned host = health_find(h, report->host);
	int state = nvswitch_state_parse(report->state);
	struct memory_report kept = { .state = state, .ttl_s = report->ttl_s };
	size_t name = strspn(report->source, SOURCE_LETTERS), len = strlen(report->reason);

	if (!name || report->source[name] || name >= sizeof(kept.source))
		return nvswitch_refuse(
			err, "a source is a word of up to %zu letters, digits, '.', '_' and '-'",
			sizeof(kept.source) - 1);
	if (host == UINT_MAX)
		return nvswitch_refuse(err, NVSWITCH_NO_HOST, report->host);
	if (state < 0)
		return nvswitch_refuse(
			err, "unknown state %s: HEALTHY, DEGRADED_LINK, NO_P2P, FATAL or UNKNOWN",
			report->state);
	if (!*report->reason && state > NVSWITCH_HEALTHY)
		return nvswitch_refuse(err, "a reason is expected");
	if (!(report->ttl_s >= 1 && report->ttl_s <= REPORT_TTL_MAX_S))
		return nvswitch_refuse(err, "the TTL is not in 1..%d s", REPORT_TTL_MAX_S);
	array_printf(kept.source, "%s", report->source);
	if (len >= sizeof(kept.text)) { /* it is cut between two characters */
		len = sizeof(kept.text) - 1;
		while (len && ((unsigned char)report->reason[len] & 0xc0) == 0x80)
			len--;
	}
	text_clean(report->reason, len, kept.text);

	struct health_source *s = source_of(h, host, &kept);

	if (!s)
		return nvswitch_refuse(err, "%s: %d sources report on it already", report->host,
				       MEMORY_REPORTS);
	take_report(h, host, s, &kept, loop_now_us(home->loop));
	home->heard(home);
	return 0;
}

void source_report_recall(struct source_home *home, unsigned host,
			  const struct memory_report *report)
{
	struct health_source *s = source_of(home->health, host, report);

	if (!s || s->heard)
		return;
	s->report = *report;
	array_printf(s->error, "no report since fmd began");
}

/* ---- Aliases and kernel logs ----------------------------------------------------------------- */

static void *open_aliases(struct source_home *home, const struct conf_nvswitch *conf, char *err)
{
	return aliases_read(conf->alias_file, err);
}

static void start_aliases(struct source_home *home, void *source, void *before)
{
	home->health->aliases = source;
}

static void close_aliases(void *source)
{
	json_decref(source);
}

static const struct source_ops source_aliases = { .name = "aliases",
						  .texts = { SOURCE_TEXT(alias_file) },
						  .open = open_aliases,
						  .close = close_aliases,
						  .start = start_aliases };

/* ---- All of them ----------------------------------------------------------------------------- */

/* Of several that can't be opened the first is the one that refuses a configuration. */
static const struct source_ops *const table[] = { &source_journal, &source_socket,
						  &source_exporters, &source_aliases };

#define SOURCES ARRAY_SIZE(table)

struct source {
	const struct source_ops *ops;
	void *open, *next; /* next: opened aside, by a configuration that is not applied yet */
	bool stays;	   /* the one that is open goes on */
	/* Why each of them is not open; "" = it is, or is not wanted. */
	char error[NVSWITCH_ERROR], next_error[NVSWITCH_ERROR];
};
struct sources {
	struct source_home *home;
	struct source all[SOURCES];
	struct loop_timer *retry_timer;
};

/* ---- What a configuration says of each ------------------------------------------------------- */

static const char *text_of(const struct source_ops *ops, unsigned text,
			   const struct conf_nvswitch *conf)
{
	return ops->texts[text] ? (const char *)conf + ops->texts[text] - 1 : "";
}

static bool wanted(const struct source_ops *ops, const struct conf_nvswitch *conf)
{
	return conf && (*text_of(ops, 0, conf) || *text_of(ops, 1, conf) || *text_of(ops, 2, conf));
}

static bool same(const struct source_ops *ops, const struct conf_nvswitch *a,
		 const struct conf_nvswitch *b)
{
	for (unsigned n = 0; a && n < SOURCE_TEXTS; n++)
		if (strcmp(text_of(ops, n, a), text_of(ops, n, b)))
			return false;
	return a;
}

/* ---- Opening aside --------------------------------------------------------------------------- */

static void open_aside(struct sources *s, struct source *it, const struct conf_nvswitch *conf)
{
	it->stays = it->ops->stays && it->open && same(it->ops, s->home->conf, conf);
	it->next = NULL;
	*it->next_error = '\0';
	if (wanted(it->ops, conf) && !it->stays)
		it->next = it->ops->open(s->home, conf, it->next_error);
}

int sources_open(struct sources *s, const struct conf_nvswitch *conf, char *err)
{
	const struct conf_nvswitch *now = s->home->conf;
	const char *wrong = NULL;

	ARRAY_EACH (it, s->all, SOURCES) {
		open_aside(s, it, conf);
		if (now && !wrong && *it->next_error && !(same(it->ops, now, conf) && *it->error))
			wrong = it->next_error;
	}
	if (!wrong)
		return 0;
	ARRAY_EACH (it, s->all, SOURCES)
		if (it->next)
			it->ops->close(it->next);
	return nvswitch_refuse(err, "%s", wrong);
}

int sources_check(const struct conf_nvswitch *conf, char *err)
{
	struct source_home nobody = { 0 }; /* no host is there yet */

	ARRAY_EACH (ops, table, SOURCES) {
		bool asked = !(*ops)->stays && wanted(*ops, conf);
		void *source = asked ? (*ops)->open(&nobody, conf, err) : NULL;

		if (source)
			(*ops)->close(source);
		else if (asked)
			return -1;
	}
	return 0;
}

/* ---- Taking over ----------------------------------------------------------------------------- */

static void take_one(struct sources *s, struct source *it)
{
	char what[64];

	if (!it->stays) {
		if (it->ops->start)
			it->ops->start(s->home, it->next, it->open);
		if (it->open)
			it->ops->close(it->open);
		it->open = it->next;
	}
	strcpy(it->error, it->next_error);
	array_printf(what, "nvswitch: %s", it->ops->name);
	trouble_set(s->home->alerts, what, *it->error ? it->error : NULL);
}

static void announce(struct sources *s)
{
	health_sources_begin(s->home->health);
	loop_timer_stop(s->retry_timer);
	ARRAY_EACH (it, s->all, SOURCES) {
		if (it->ops->announce && it->open)
			it->ops->announce(it->open);
		if (*it->error && s->home->retry_us)
			loop_timer_set(s->retry_timer, s->home->retry_us);
	}
	health_sources_end(s->home->health);
}

static void retry_cb(void *arg)
{
	struct sources *s = arg;

	ARRAY_EACH (it, s->all, SOURCES)
		if (*it->error) {
			open_aside(s, it, s->home->conf);
			take_one(s, it);
		}
	announce(s);
}

void sources_take(struct sources *s)
{
	ARRAY_EACH (it, s->all, SOURCES)
		take_one(s, it);
	announce(s);
}

void sources_hosts_changed(struct sources *s)
{
	bool changed = false;

	ARRAY_EACH (it, s->all, SOURCES)
		changed |= it->ops->hosts && it->open && it->ops->hosts(it->open);
	if (changed)
		announce(s);
}

/* ---- Reports --------------------------------------------------------------------------------- */

void sources_add_inputs(const struct sources *s, json_t *doc)
{
	json_t *inputs = json_object(), *errors = json_object();

	ARRAY_EACH (it, s->all, SOURCES) {
		if (!wanted(it->ops, s->home->conf))
			continue;
		json_object_set_new(inputs, it->ops->name, json_boolean(!*it->error));
		if (*it->error)
			json_object_set_new(errors, it->ops->name, json_string(it->error));
	}
	json_object_set_new(doc, "inputs", inputs);
	json_object_set_new(doc, "input_errors", errors);
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct sources *sources_new(struct source_home *home)
{
	struct sources *s = mem_new(s);

	s->home = home;
	s->retry_timer = loop_timer_new(home->loop, retry_cb, s);
	for (unsigned i = 0; i < SOURCES; i++)
		s->all[i].ops = table[i];
	return s;
}

void sources_free(struct sources *s)
{
	ARRAY_EACH (it, s->all, SOURCES)
		if (it->open)
			it->ops->close(it->open);
	loop_timer_free(s->retry_timer);
	free(s);
}
