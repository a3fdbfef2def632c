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

	snprintf(where, sizeof(where), HEALTH_REPORT_PREFIX "%s", report->source);
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
					    .gpu = -1,
					    .sw = -1,
					    .link = -1 };
	struct health_source *s;
	unsigned index;

	if (!memory_report(health_memory(h, host), report))
		return false;
	s = source_of(h, host, report, &index);
	if (report->state == NVSWITCH_UNKNOWN) { /* it does not know: it counts as silent */
		s->heard = s->up = false;
		s->verdict = (struct nvswitch_verdict){ 0 };
		snprintf(s->error, sizeof(s->error), "%.79s",
			 *report->text ? report->text : "state unknown");
		return true;
	}
	snprintf(finding.text, sizeof(finding.text), "%s", report->text);
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

int source_report_hear(struct source_home *home, const struct nvswitch_said *report, char *err,
		       size_t err_size)
{
	unsigned host = health_find(home->health, report->host);
	int state = nvswitch_state_parse(report->state);
	struct memory_report kept = { .state = state };
	size_t name = strspn(report->source, SOURCE_LETTERS), len = strlen(report->reason);
	bool heard = false;

	if (!name || report->source[name] || name >= sizeof(kept.source)) {
		snprintf(err, err_size,
			 "a source is a word of up to %zu letters, digits, '.', '_' and '-'",
			 sizeof(kept.source) - 1);
	} else if (host == UINT_MAX) {
		snprintf(err, err_size, "the fabric has no host %s, or several", report->host);
	} else if (state < 0) {
		snprintf(err, err_size,
			 "unknown state %s: HEALTHY, DEGRADED_LINK, NO_P2P, FATAL or UNKNOWN",
			 report->state);
	} else if (!*report->reason && state > NVSWITCH_HEALTHY) {
		snprintf(err, err_size, "a reason is expected");
	} else if (!(report->ttl_s >= 1 && report->ttl_s <= REPORT_TTL_MAX_S)) {
		snprintf(err, err_size, "the TTL is not in 1..%d s", REPORT_TTL_MAX_S);
	} else {
		snprintf(kept.source, sizeof(kept.source), "%s", report->source);
		kept.ttl_s = report->ttl_s;
		if (len >= sizeof(kept.text)) { /* it is cut between two characters */
			len = sizeof(kept.text) - 1;
			while (len && ((unsigned char)report->reason[len] & 0xc0) == 0x80)
				len--;
		}
		text_clean(report->reason, len, kept.text);
		heard = health_report(home->health, host, &kept, loop_now_us(home->loop));
		if (!heard)
			snprintf(err, err_size, "%s: %d sources report on it already", report->host,
				 MEMORY_REPORTS);
	}
	if (heard)
		source_heard(home);
	return heard ? 0 : -1;
}

/* Adds the sources of the reports in a host's memory that was read from a file, as silent. */
static void recall(struct source_home *home, unsigned host)
{
	const struct memory *m = health_memory(home->health, host);
	unsigned index;

	for (unsigned i = 0; i < m->nreports; i++) {
		struct health_source *s = source_of(home->health, host, &m->reports[i], &index);

		if (!s->heard)
			snprintf(s->error, sizeof(s->error), "no report since fmd began");
	}
}

static const struct health_source_ops source_report = { .name = "health-report", .recall = recall };

/* ---- Aliases --------------------------------------------------------------------------------- */

/*
 * A file of other names and addresses of hosts. It reports no states, but it is
 * opened, replaced and retried like the sources whose names it maps to hosts.
 */

struct alias_file {
	struct source_home *home;
	bool counts;
	struct aliases aliases; /* while it does not count; else health has them */
};

static void *open_aliases(const struct health_source_ops *ops, struct source_home *home,
			  const struct nvswitch_conf *conf, char *err, size_t err_size)
{
	struct alias_file *file = mem_alloc(1, sizeof(*file));

	file->home = home;
	if (!aliases_read(&file->aliases, conf->keys.alias_file, err, err_size))
		return file;
	aliases_fini(&file->aliases);
	free(file);
	return NULL;
}

static void set_counts(struct alias_file *file, bool counts)
{
	struct aliases aliases = file->home->health->aliases;

	if (file->counts == counts)
		return;
	file->home->health->aliases = file->aliases;
	file->aliases = aliases;
	file->counts = counts;
}

static void start_aliases(void *source, void *before)
{
	if (before)
		set_counts(before, false);
	set_counts(source, true);
}

static void close_aliases(void *source)
{
	struct alias_file *file = source;

	set_counts(file, false);
	aliases_fini(&file->aliases);
	free(file);
}

static int check_aliases(const struct nvswitch_conf *conf, char *err, size_t err_size)
{
	struct aliases aliases = { 0 };
	int status = aliases_read(&aliases, conf->keys.alias_file, err, err_size);

	aliases_fini(&aliases);
	return status;
}

static const struct health_source_ops source_aliases = {
	.name = "aliases",
	.by = { SOURCE_TEXT(alias_file) },
	.open = open_aliases,
	.close = close_aliases,
	.start = start_aliases,
	.check = check_aliases,
};

/* ---- Kernel logs ----------------------------------------------------------------------------- */

/*
 * Kernel logs as sources: journals, and a unix socket for journald or syslog. Which host a line is
 * about is log_intake's to say.
 */

static const char *text_at(const struct conf_nvswitch *keys, uint16_t text)
{
	return text ? (const char *)keys + text - 1 : "";
}

static void *open_log(const struct health_source_ops *ops, struct source_home *home,
		      const struct nvswitch_conf *conf, char *err, size_t err_size)
{
	return log_server_new(home->intake, ops->kind, text_at(&conf->keys, ops->by[0]), err,
			      err_size);
}

static void close_log(void *source)
{
	log_server_free(source);
}

#define LOG(words, key, which)                                                                     \
	{                                                                                          \
		.name = words, .by = { SOURCE_TEXT(key) }, .kind = which, .stays = true,           \
		.open = open_log, .close = close_log,                                              \
	}
static const struct health_source_ops source_logs[] = {
	LOG("journal", log_journal, LOG_SERVER_JOURNAL),
	LOG("log socket", log_socket, LOG_SERVER_UNIX),
};

/* ---- All of them ----------------------------------------------------------------------------- */

/*
 * The table of sources, and opening, taking over and trying again, which is the same for all. A new
 * source is a row here. Of several that can't be opened the first is the one that refuses a
 * configuration.
 */
static const struct health_source_ops *const table[] = {
	&source_logs[0], &source_logs[1], &source_exporters, &source_aliases, &source_report,
};

#define SOURCES	     (sizeof(table) / sizeof(table[0]))
#define SOURCE_ERROR 256

struct sources {
	struct source_home *home;
	void *open[SOURCES];
	char errors[SOURCES][SOURCE_ERROR]; /* why it is not; "" = it is, or is not wanted */
	struct loop_timer *retry_timer;
};
struct sources_opened {
	void *open[SOURCES];
	bool stays[SOURCES]; /* the one that is open goes on */
	char errors[SOURCES][SOURCE_ERROR];
};

/* ---- What a configuration says of each ------------------------------------------------------- */

static bool wanted(const struct health_source_ops *ops, const struct nvswitch_conf *conf)
{
	return conf && (*text_at(&conf->keys, ops->by[0]) || *text_at(&conf->keys, ops->by[1]) ||
			*text_at(&conf->keys, ops->by[2]));
}

static bool same(const struct health_source_ops *ops, const struct nvswitch_conf *a,
		 const struct nvswitch_conf *b)
{
	for (unsigned i = 0; a && i < sizeof(ops->by) / sizeof(ops->by[0]); i++)
		if (strcmp(text_at(&a->keys, ops->by[i]), text_at(&b->keys, ops->by[i])) ||
		    strcmp(text_at(&a->keys, ops->with[i]), text_at(&b->keys, ops->with[i])))
			return false;
	return a;
}

/* ---- Opening aside --------------------------------------------------------------------------- */

static void open_one(struct sources *s, unsigned i, const struct nvswitch_conf *conf,
		     struct sources_opened *o)
{
	o->stays[i] = table[i]->stays && s->open[i] && same(table[i], s->home->conf, conf);
	if (wanted(table[i], conf) && !o->stays[i])
		o->open[i] = table[i]->open(table[i], s->home, conf, o->errors[i], SOURCE_ERROR);
}

static void close_one(unsigned i, void **open)
{
	if (*open)
		table[i]->close(*open);
	*open = NULL;
}

static void close_all(struct sources_opened *o)
{
	for (unsigned i = 0; i < SOURCES; i++)
		close_one(i, &o->open[i]);
	free(o);
}

struct sources_opened *sources_open(struct sources *s, const struct nvswitch_conf *conf, char *err,
				    size_t err_size)
{
	struct sources_opened *o = mem_alloc(1, sizeof(*o));
	const char *wrong = NULL;

	for (unsigned i = 0; i < SOURCES; i++)
		open_one(s, i, conf, o);
	for (unsigned i = 0; s->home->conf && i < SOURCES && !wrong; i++)
		if (*o->errors[i] && !(same(table[i], s->home->conf, conf) && *s->errors[i]))
			wrong = o->errors[i];
	if (!wrong)
		return o;
	snprintf(err, err_size, "%s", wrong);
	close_all(o);
	return NULL;
}

int sources_check(const struct nvswitch_conf *conf, char *err, size_t err_size)
{
	for (unsigned i = 0; i < SOURCES; i++)
		if (table[i]->check && wanted(table[i], conf) &&
		    table[i]->check(conf, err, err_size))
			return -1;
	return 0;
}

/* ---- Taking over ----------------------------------------------------------------------------- */

/* True: another one is open now, or none any more. */
static bool take_one(struct sources *s, unsigned i, struct sources_opened *o)
{
	bool changes = !o->stays[i] && (s->open[i] || o->open[i]);
	char what[64];

	if (changes) {
		if (o->open[i] && table[i]->start)
			table[i]->start(o->open[i], s->open[i]);
		close_one(i, &s->open[i]);
		s->open[i] = o->open[i];
		o->open[i] = NULL;
	}
	if (!table[i]->open)
		return changes;
	memcpy(s->errors[i], o->errors[i], SOURCE_ERROR);
	snprintf(what, sizeof(what), "nvswitch: %s", table[i]->name);
	s->home->ops->trouble(s->home->arg, what, *s->errors[i] ? s->errors[i] : NULL);
	return changes;
}

static void announce(struct sources *s)
{
	health_sources_begin(s->home->health);
	for (unsigned i = 0; i < SOURCES; i++)
		if (s->open[i] && table[i]->announce)
			table[i]->announce(s->open[i]);
	health_sources_end(s->home->health);
}

static void arm_retry(struct sources *s)
{
	loop_timer_stop(s->retry_timer);
	for (unsigned i = 0; i < SOURCES; i++)
		if (*s->errors[i] && s->home->conf->retry_us)
			loop_timer_set(s->retry_timer, s->home->conf->retry_us);
}

static void retry_cb(void *arg)
{
	struct sources *s = arg;
	struct sources_opened *o = mem_alloc(1, sizeof(*o));
	bool changed = false;

	for (unsigned i = 0; i < SOURCES; i++) {
		if (!*s->errors[i])
			continue;
		open_one(s, i, s->home->conf, o);
		changed |= take_one(s, i, o);
	}
	close_all(o);
	if (changed)
		announce(s);
	arm_retry(s);
}

void sources_take(struct sources *s, struct sources_opened *o)
{
	for (unsigned i = 0; i < SOURCES; i++)
		take_one(s, i, o);
	close_all(o);
	announce(s);
	arm_retry(s);
}

void sources_hosts_changed(struct sources *s)
{
	bool changed = false;

	for (unsigned i = 0; i < SOURCES; i++)
		if (s->open[i] && table[i]->hosts)
			changed |= table[i]->hosts(s->open[i]);
	if (changed)
		announce(s);
}

void sources_recall(const struct sources *s, unsigned host)
{
	for (unsigned i = 0; i < SOURCES; i++)
		if (table[i]->recall)
			table[i]->recall(s->home, host);
}

/* ---- Reports --------------------------------------------------------------------------------- */

void sources_add_inputs(const struct sources *s, json_t *doc)
{
	json_t *inputs = json_object(), *errors = json_object();

	for (unsigned i = 0; i < SOURCES; i++) {
		if (!wanted(table[i], s->home->conf))
			continue;
		json_object_set_new(inputs, table[i]->name, json_boolean(!*s->errors[i]));
		if (*s->errors[i])
			json_object_set_new(errors, table[i]->name, json_string(s->errors[i]));
	}
	json_object_set_new(doc, "inputs", inputs);
	json_object_set_new(doc, "input_errors", errors);
}

json_t *sources_missing(const struct sources *s, unsigned host, unsigned number)
{
	json_t *rows = NULL;

	for (unsigned i = 0; i < SOURCES && !rows; i++)
		if (s->open[i] && table[i]->missing)
			rows = table[i]->missing(s->open[i], host, number);
	return rows ? rows : json_array();
}

/* ---- Life ------------------------------------------------------------------------------------ */

struct sources *sources_new(struct source_home *home)
{
	struct sources *s = mem_alloc(1, sizeof(*s));

	s->home = home;
	s->retry_timer = loop_timer_new(home->loop, retry_cb, s);
	return s;
}

void sources_free(struct sources *s)
{
	if (!s)
		return;
	for (unsigned i = 0; i < SOURCES; i++)
		close_one(i, &s->open[i]);
	loop_timer_free(s->retry_timer);
	free(s);
}
