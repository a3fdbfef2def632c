/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <unistd.h>
#include "fm/nvswitch/intake_sources.h"
#include "topology/base/names.h"
#include "topology/base/sort.h"

/*
 * HTTP endpoints as a source: exporters of hosts and of racks are asked in turn, evenly
 * over the interval, so that thousands of hosts are a steady trickle.
 *
 * A turn comes at its time, whatever the answers before it took: as many may be under way as there
 * would be if each took its whole time-out. One that hung is asked in a lane of its own from then
 * on, of few slots and less and less often, until it answers. Each answer is read as it comes and
 * forgotten when it has been judged.
 *
 * Names are resolved now and then: where an answer came from is where the next is asked for, until
 * that fails.
 *
 * Hosts with a place in a rack and the same URL (its NMX-T) are asked for once; what is kept of the
 * rack outlives changes of the list of hosts, and of the configuration.
 */

#define CONNECT_MS  1000
#define IN_FLIGHT   64	 /* at least */
#define MAX_FLIGHT  1024 /* and at most */
#define HUNG_FLIGHT 64	 /* beside those: of hosts that hung last time */
#define HUNG_PAUSES 3	 /* doublings of the interval between two questions to one */
#define ADDRESS_AGE 20	 /* answers before the name is resolved again */
#define SLACK_US    1000
#define MS	    1000ull

struct target { /* where one host's state is asked for */
	struct exporters *of;
	char *host;
	enum nvswitch_system system;
	enum nvswitch_trust trust; /* of its answers */
	struct nmx_place place;	   /* of the host in answers about a whole rack */
	struct fetch_url url;
	struct nmx *nmx;	 /* the rack's; NULL = the exporter is the host's own */
	unsigned number, source; /* of health */
	struct fetch_job *job;	 /* NULL = none is under way */
	uint64_t began_us;
	unsigned *lane; /* where it is counted */
	struct answer { /* from its first byte on: most of those that hang have none */
		struct evidence evidence;
		struct exposition exposition;
	} * answer;
	bool follows;	      /* another host of the rack asks for it */
	char address[48];     /* where the latest good answer came from, "" = ask for it */
	unsigned address_age; /* answers since it was asked for */
	unsigned hung;	      /* times in a row that it took its whole time-out */
	uint64_t ask_us;      /* of one that hung: not before */
};
struct targets {
	struct target *list;
	unsigned count;
};
struct exporters {
	struct source_home *home;
	struct fetch *fetch; /* NULL: a loop of a test, where nobody is asked */
	struct fetch_credentials credentials;
	struct targets targets;
	struct nmx *racks; /* that were ever listed */
	unsigned cursor, in_flight, hung_in_flight;
	uint64_t due_us; /* of the target at the cursor */
	struct loop_timer *timer;
};

/* ---- Targets --------------------------------------------------------------------------------- */

/*
 * Names of hosts in the fabric come from node descriptions, which anybody with a port may write:
 * what is no host's name (text_is_host_name) is given no URL, and neither is a GUID, which stands
 * for a machine that has no name so far.
 */
static int add(struct targets *targets, const char *host, const char *url,
	       enum nvswitch_system system, const struct nmx_place *place)
{
	struct target target = { .system = system, .place = *place };
	const char *at = target.url.host;

	if (!text_is_host_name(host) || fetch_url_parse(url, &target.url))
		return -1;
	/* A certificate vouches for who answers, and so does this machine for itself. */
	target.trust = target.url.tls || !strcmp(at, "localhost") || !strncmp(at, "127.", 4) ||
				       !strcmp(at, "::1")
			       ? NVSWITCH_PROVEN
			       : NVSWITCH_ASKED;
	target.host = mem_strdup(host);
	targets->list = mem_grow(targets->list, targets->count);
	targets->list[targets->count++] = target;
	return 0;
}

/* By a pattern in which %h is the host's name. */
static int add_by_pattern(struct targets *targets, const char *host, const char *pattern,
			  enum nvswitch_system system)
{
	const char *place = strstr(pattern, "%h");
	char url[sizeof(((struct fetch_url *)0)->text) + 1]; /* too long is refused */

	if (!place)
		return -1;
	array_printf(url, "%.*s%s%s", (int)(place - pattern), pattern, host, place + 2);
	return add(targets, host, url, system, &NMX_NOWHERE);
}

/*
 * A line `HOST URL [SYSTEM] [tray=N] [slot=N] [chassis=ID]`. A host may have several, and hosts of
 * a rack have the same URL, with a tray or a slot each.
 */
static const char *read_line(void *arg, char *line)
{
	struct nmx_place place = NMX_NOWHERE;
	char *rest = line, *host = strtok_r(rest, " \t", &rest), *url, *word;
	int system = NVSWITCH_SYSTEM_AUTO;

	if (!host)
		return NULL;
	url = strtok_r(rest, " \t", &rest);
	if (!url)
		return "`HOST URL [SYSTEM]` is expected";
	for (unsigned i = 0; (word = strtok_r(rest, " \t", &rest)); i++) {
		if (nmx_place_parse(&place, word))
			continue;
		if (i > 0 || strchr(word, '='))
			return "more than `HOST URL [SYSTEM] [tray=N] [slot=N] [chassis=ID]`";
		system = nvswitch_word(word, nvswitch_system_names, NVSWITCH_SYSTEMS);
		if (system < 0)
			return "unknown system: auto, a100, h100, h200, h20, b200, nvl72 or other";
	}
	if (*place.chassis && !place.set)
		return "a chassis has several hosts: tray=N or slot=N is needed too";
	return add(arg, host, url, system, &place) ? "invalid host name or URL" : NULL;
}

static void free_targets(struct targets *targets)
{
	ARRAY_EACH (t, targets->list, targets->count)
		free(t->host);
	free(targets->list);
	*targets = (struct targets){ 0 };
}

/*
 * What Prometheus has of one host, in the form of exporters: {__name__=~"DCGM_.*",LABEL=~"(?i)HOST
 * ([.:].*)?"}, so that a domain or a port behind the name makes no difference.
 */
#define PROMETHEUS_QUERY                                                                           \
	"%s/federate?match%%5B%%5D=%%7B__name__%%3D~%%22DCGM_.%%2A%%22%%2C%s%%3D~%%22%%28%%3Fi"    \
	"%%29%s%%28%%5B.%%3A%%5D.%%2A%%29%%3F%%22%%7D"

/* The file's lines, and the patterns for the hosts that it does not name. */
static int gather_targets(const struct source_home *home, const struct conf_nvswitch *conf,
			  struct targets *targets, char *err)
{
	const struct health *health = home->health;
	const char *key = *conf->hosts_file ? "nvswitch_hosts_file"
			  : *conf->url	    ? "nvswitch_url"
					    : "prometheus_url";
	char *prometheus =
		mem_printf(PROMETHEUS_QUERY, conf->prometheus_url, conf->prometheus_label, "%h");
	struct targets trial = { 0 };
	struct names named = { 0 };
	int status = fetch_load(key, err);

	if (!status && *conf->hosts_file)
		status = lines_read(conf->hosts_file, read_line, targets, err);
	if (!status && *conf->url && add_by_pattern(&trial, "host", conf->url, conf->system))
		status = nvswitch_refuse(
			err, "nvswitch_url = \"%s\": an http or https URL with %%h is expected",
			conf->url);
	free_targets(&trial);
	ARRAY_EACH (t, targets->list, targets->count)
		names_id(&named, t->host, strlen(t->host));
	ARRAY_EACH (it, health ? health->hosts : NULL, !status && health ? health->nhosts : 0) {
		bool asked =
			it->present && names_find(&named, it->name, strlen(it->name)) == NAMES_NONE;

		if (asked && *conf->url)
			add_by_pattern(targets, it->name, conf->url, conf->system);
		if (asked && *conf->prometheus_url)
			add_by_pattern(targets, it->name, prometheus, conf->system);
	}
	if (status)
		free_targets(targets);
	free(prometheus);
	names_fini(&named);
	return status;
}

/* ---- Answers --------------------------------------------------------------------------------- */

/*
 * Takes an answer for a host, or why there is none. What its exporter says is weighed together with
 * the host's memory (evidence.h). A sample may be as old as a state must last: what is reported so
 * soon after an event proves nothing of it.
 */
static void hear(struct target *t, const struct evidence *e, const char *error)
{
	struct source_home *home = t->of->home;
	struct health *health = home->health;
	struct health_source *source = &health->hosts[t->number].sources[t->source];
	uint64_t now_us = loop_now_us(home->loop);
	const struct evidence_context context = {
		.now_us = now_us,
		.settle_us = health->conf.worsen_hold_ms * MS + SLACK_US,
		.silent_us = source->heard ? now_us - source->heard_us : 0,
		.source = t->source < UINT8_MAX ? t->source : UINT8_MAX,
		.trust = t->trust,
		.progress = home->conf->fm_in_progress,
	};
	unsigned host = *e->host ? health_find(health, e->host) : t->number;
	struct nvswitch_verdict verdict;
	char why[128];

	if (!error && t->nmx) {
		error = nmx_judge(t->nmx, &t->place, home->conf->link_window_ms * MS, &verdict);
	} else if (!error && host != UINT_MAX && host != t->number) {
		/* An exporter that names another host of the fabric is at the wrong address. */
		array_printf(why, "it reports another host, %.60s", e->host);
		error = why;
	} else if (!error) {
		source->metrics = e->metrics;
		evidence_judge(e, health_memory(health, t->number), &context, &verdict);
		if (verdict.state == NVSWITCH_UNKNOWN)
			error = e->rack ? "NMX-T of a whole rack: its line in nvswitch_hosts_file "
					  "needs tray= or slot="
					: "it reports nothing about NVLinks";
	}
	health_hear(health, t->number, t->source, error ? NULL : &verdict, error, now_us);
	home->heard(home);
}

static void start_due(void *exporters);

static const char *data_cb(void *arg, const char *data, size_t len)
{
	struct target *t = arg;
	struct answer *answer = t->answer;

	if (!answer) {
		answer = t->answer = mem_new(answer);
		answer->evidence.configured = t->system;
		exposition_init(&answer->exposition, t->nmx ? &nmx_ops : &evidence_ops,
				t->nmx ? (void *)t->nmx : &answer->evidence);
	}
	return exposition_feed(&answer->exposition, data, len) ? NULL : answer->exposition.fault;
}

static void done_cb(void *arg, const char *error, const char *address)
{
	struct target *asked = arg;
	struct exporters *x = asked->of;
	const struct conf_nvswitch *conf = x->home->conf;
	uint64_t now_us = loop_now_us(x->home->loop), took_us = now_us - asked->began_us;

	--*asked->lane;
	asked->job = NULL;
	asked->hung = error && took_us >= conf->timeout_ms * MS ? asked->hung + 1 : 0;
	asked->ask_us = now_us + (conf->poll_interval_ms * MS
				  << (asked->hung < HUNG_PAUSES ? asked->hung : HUNG_PAUSES));
	asked->address_age = error ? ADDRESS_AGE : asked->address_age + 1;
	array_printf(asked->address, "%s", asked->address_age < ADDRESS_AGE ? address : "");
	asked->address_age %= ADDRESS_AGE;
	data_cb(asked, NULL, 0); /* an empty answer is one, too */

	struct answer *answer = asked->answer;

	asked->answer = NULL;
	if (!error && !exposition_end(&answer->exposition))
		error = answer->exposition.fault;
	if (!error && asked->nmx)
		nmx_end(asked->nmx);
	ARRAY_EACH (t, x->targets.list, x->targets.count)
		if (t == asked || (asked->nmx && t->nmx == asked->nmx))
			hear(t, &answer->evidence, error);
	free(answer);
	start_due(x);
}

/* ---- Questions ------------------------------------------------------------------------------- */

/*
 * Those whose time has come, as many as may be under way. After a halt of more than an interval the
 * rounds that were missed are left out.
 */
static void start_due(void *arg)
{
	static const struct fetch_ops ops = { data_cb, done_cb };
	struct exporters *x = arg;
	const struct conf_nvswitch *conf = x->home->conf;
	uint64_t now_us = loop_now_us(x->home->loop), interval_us = conf->poll_interval_ms * MS;
	uint64_t gap_us = interval_us / x->targets.count;
	uint64_t most = x->targets.count * (conf->timeout_ms * MS) / interval_us;

	most = most < MAX_FLIGHT ? most : MAX_FLIGHT;
	most = most > IN_FLIGHT ? most : IN_FLIGHT;
	if (now_us - x->due_us < UINT64_MAX / 2 && now_us - x->due_us > interval_us)
		x->due_us = now_us;
	for (; x->due_us <= now_us && x->in_flight < most; x->due_us += gap_us) {
		struct target *t = &x->targets.list[x->cursor];
		bool waits = t->hung && (now_us < t->ask_us || x->hung_in_flight >= HUNG_FLIGHT);

		x->cursor = (x->cursor + 1) % x->targets.count;
		if (t->job || waits || t->follows)
			continue;
		t->began_us = now_us;
		t->lane = t->hung ? &x->hung_in_flight : &x->in_flight;
		++*t->lane;
		if (t->nmx)
			nmx_begin(t->nmx, now_us);
		t->job = fetch_get(x->fetch, &t->url, t->address, &ops, t);
	}
	loop_timer_set(x->timer, x->due_us > now_us ? x->due_us - now_us : interval_us);
}

/* ---- Asking in turn -------------------------------------------------------------------------- */

/* With the targets of now; announce() says which sources of health they are. */
static void begin(struct exporters *x)
{
	for (unsigned i = 0; i < x->targets.count; i++) {
		struct target *t = &x->targets.list[i];

		t->of = x;
		t->nmx = t->place.set ? nmx_at(&x->racks, t->url.text) : NULL;
		t->follows = t->nmx && any_of(k, 0, i, x->targets.list[k].nmx == t->nmx);
	}
	x->due_us = loop_now_us(x->home->loop);
	if (!x->fetch || !x->targets.count)
		return;
	x->cursor %= x->targets.count; /* hosts that come and go leave none unasked */
	loop_timer_set(x->timer, 0);
}

static void end(struct exporters *x)
{
	ARRAY_EACH (t, x->targets.list, x->targets.count) {
		if (t->job)
			fetch_cancel(t->job);
		free(t->answer);
		t->job = NULL;
		t->answer = NULL;
	}
	x->in_flight = x->hung_in_flight = 0;
	loop_timer_stop(x->timer);
}

/* Hosts that the file names are asked whether they are in the fabric or not. */
static bool exporters_hosts_changed(void *source)
{
	struct exporters *x = source;
	const struct conf_nvswitch *conf = x->home->conf;
	struct targets targets = { 0 };
	char err[NVSWITCH_ERROR];

	if (!*conf->url && !*conf->prometheus_url)
		return false;
	if (gather_targets(x->home, conf, &targets, err)) {
		log_line(LOG_NVSWITCH, LOG_ERR, "previous exporters kept: %s", err);
		return false;
	}
	end(x);
	free_targets(&x->targets);
	x->targets = targets;
	begin(x);
	return true;
}

/* ---- As a source ----------------------------------------------------------------------------- */

static void close_exporters(void *source)
{
	struct exporters *x = source;

	if (x->timer) /* it was started */
		end(x);
	fetch_free(x->fetch);
	loop_timer_free(x->timer);
	free_targets(&x->targets);
	nmx_free(x->racks);
	free(x);
}

static void *open_exporters(struct source_home *home, const struct conf_nvswitch *conf, char *err)
{
	struct exporters *x = mem_new(x);
	const char *ca_file = conf->ca_file;

	x->home = home;
	if (!gather_targets(home, conf, &x->targets, err) &&
	    !fetch_credentials_read(&x->credentials, conf->credentials_file, err)) {
		if (!*ca_file || !access(ca_file, R_OK))
			return x;
		snprintf(err, NVSWITCH_ERROR, "nvswitch_ca_file: %s: %s", ca_file, strerror(errno));
	}
	close_exporters(x);
	return NULL;
}

static void start(struct source_home *home, void *source, void *before)
{
	const struct conf_nvswitch *conf = home->conf;
	struct exporters *x = source, *earlier = before;
	const struct fetch_conf fetch = { .timeout_ms = conf->timeout_ms,
					  .connect_ms = CONNECT_MS,
					  .body_max = (size_t)conf->body_limit << 10,
					  .ca_file = conf->ca_file,
					  .credentials = x ? &x->credentials : NULL };

	if (!x)
		return;
	if (earlier) {
		end(earlier);
		x->racks = earlier->racks;
		earlier->racks = NULL;
	}
	x->timer = loop_timer_new(home->loop, start_due, x);
	x->fetch = fetch_new(home->loop, &fetch);
	begin(x);
}

static void exporters_announce(void *source)
{
	struct exporters *x = source;

	ARRAY_EACH (t, x->targets.list, x->targets.count) {
		t->number = health_add(x->home->health, t->host);
		t->source = health_source_add(x->home->health, t->number, t->url.text, t->trust);
	}
}

const struct source_ops source_exporters = {
	.name = "exporters",
	.texts = { SOURCE_TEXT(url), SOURCE_TEXT(hosts_file), SOURCE_TEXT(prometheus_url),
		   SOURCE_TEXT(ca_file), SOURCE_TEXT(credentials_file),
		   SOURCE_TEXT(prometheus_label) },
	.open = open_exporters,
	.close = close_exporters,
	.start = start,
	.announce = exporters_announce,
	.hosts = exporters_hosts_changed,
};
