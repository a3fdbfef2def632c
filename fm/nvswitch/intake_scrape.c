/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <errno.h>
#include <limits.h>
#include <unistd.h>
#include "fm/nvswitch/intake_scrape.h"
#include "fm/nvswitch/intake_syslog.h"
#include "topology/base/mem.h"
#include "topology/base/text.h"

/* ---- Targets --------------------------------------------------------------------------------- */

/*
 * Names of hosts in the fabric come from node descriptions, which anybody with a port may write:
 * what is no host's name (text_is_host_name) is given no URL, and neither is a GUID, which stands
 * for a machine that has no name so far.
 */

static const struct nmx_place nowhere = { -1, -1, "" };

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
	target.where = mem_strdup(url);
	targets->list = mem_resize(targets->list, targets->count + 1, sizeof(target));
	targets->list[targets->count++] = target;
	return 0;
}

int targets_add(struct targets *targets, const char *host, const char *pattern,
		enum nvswitch_system system)
{
	const char *place = strstr(pattern, "%h");
	char *url;
	int status;

	if (!place)
		return -1;
	url = mem_printf("%.*s%s%s", (int)(place - pattern), pattern, host, place + 2);
	status = add(targets, host, url, system, &nowhere);
	free(url);
	return status;
}

/*
 * A line `HOST URL [SYSTEM] [tray=N] [slot=N] [chassis=ID]`. A host may have several, and hosts of
 * a rack have the same URL, with a tray or a slot each.
 */
static const char *read_line(void *arg, char *line)
{
	struct nmx_place place = nowhere;
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
		system = nvswitch_system_parse(word);
		if (system < 0)
			return "unknown system: auto, a100, h100, h200, h20, b200, nvl72 or other";
	}
	if (*place.chassis && !nmx_place_is_set(&place))
		return "a chassis has several hosts: tray=N or slot=N is needed too";
	return add(arg, host, url, system, &place) ? "invalid host name or URL" : NULL;
}

void targets_fini(struct targets *targets)
{
	for (unsigned i = 0; i < targets->count; i++) {
		free(targets->list[i].host);
		free(targets->list[i].where);
	}
	free(targets->list);
	*targets = (struct targets){ 0 };
}

/* ---- NMX-T: a rack's endpoint, which reports on all its hosts -------------------------------- */

static bool reads(const struct target *target)
{
	return nmx_place_is_set(&target->place);
}

static void *keep(void)
{
	return nmx_new();
}

static void drop(void *kept)
{
	nmx_free(kept);
}

static void begin(void *kept, const struct target *target, uint64_t now_us)
{
	nmx_begin(kept, now_us);
}

static void whole(void *kept)
{
	nmx_end(kept);
}

static bool judge(void *kept, const struct decoder_subject *subject,
		  struct nvswitch_verdict *verdict, char *error, size_t error_size)
{
	nmx_judge(kept, &subject->target->place, subject->home->conf->link_window_us, verdict);
	if (verdict->state == NVSWITCH_UNKNOWN)
		snprintf(error, error_size, "it reports no NVLinks of that tray or slot");
	return verdict->state != NVSWITCH_UNKNOWN;
}

const struct decoder decoder_nmx = {
	.reads = reads,
	.shared = true,
	.keep = keep,
	.drop = drop,
	.ops = &nmx_ops,
	.begin = begin,
	.whole = whole,
	.judge = judge,
};

/* ---- Requests -------------------------------------------------------------------------------- */

/*
 * HTTP endpoints as a source: exporters of hosts and of racks are asked in turn, evenly
 * over the interval, so that thousands of hosts are a steady trickle. What their answers say is a
 * decoder's.
 *
 * A turn comes at its time, whatever the answers before it took: as many may be under way as there
 * would be if each took its whole time-out. One that hung is asked in a lane of its own from then
 * on, of few slots and less and less often, until it answers. Each answer is read as it comes and
 * forgotten when it has been judged.
 *
 * Names are resolved now and then: where an answer came from is where the next is asked for, until
 * that fails.
 *
 * Hosts with a shared decoder and the same URL (a rack's) are asked for once; what is kept of their
 * endpoint outlives changes of the list of hosts, and of the configuration.
 */

#define CONNECT_MS   1000
#define IN_FLIGHT    64	  /* at least */
#define MAX_FLIGHT   1024 /* and at most */
#define HUNG_FLIGHT  64	  /* beside those: of hosts that hung last time */
#define HUNG_PAUSES  3	  /* doublings of the interval between two questions to one */
#define ADDRESS_AGE  20	  /* answers before the name is resolved again */
#define SILENT_LINES 5	  /* a second, of endpoints that fail from the beginning */

/* The first that reads a target's answers. */
static const struct decoder *const decoders[] = { &decoder_nmx, &decoder_dcgm };

struct scrape { /* an answer under way */
	struct poll *poll;
	struct fetch_job *job;
	uint64_t began_us;
	unsigned *lane; /* where it is counted */
	struct exposition exposition;
};
struct endpoint { /* of a shared decoder */
	char *where;
	const struct decoder *decoder;
	void *kept;
	bool used;
};
struct poll { /* of one target, in the order of targets */
	struct exporters *of;
	const struct decoder *decoder;
	void *kept;	 /* its own, or its endpoint's */
	unsigned leader; /* who asks for all with its endpoint; itself where it has its own */
	unsigned host, source;
	struct scrape *scrape;
	char address[48];     /* where the latest good answer came from, "" = ask for it */
	unsigned address_age; /* answers since it was asked for */
	unsigned hung;	      /* times in a row that it took its whole time-out */
	uint64_t ask_us;      /* of one that hung: not before */
};
struct exporters {
	struct source_home *home;
	struct fetch *fetch; /* NULL: a loop of a test, where nobody is asked */
	struct targets targets;
	struct poll *polls; /* [targets.count] */
	struct endpoint *endpoints;
	unsigned nendpoints;
	unsigned cursor, in_flight, hung_in_flight;
	uint64_t due_us; /* of the poll at the cursor */
	struct loop_timer *timer;
	struct log_limit silent_limit;
};

/* ---- Answers --------------------------------------------------------------------------------- */

static void hear(struct poll *poll, const char *error)
{
	struct source_home *home = poll->of->home;
	struct target *target = &poll->of->targets.list[poll - poll->of->polls];
	const struct decoder_subject subject = { home, target, poll->host, poll->source };
	const struct health_source *source = &home->health->hosts[poll->host].sources[poll->source];
	uint64_t now_us = loop_now_us(home->loop);
	struct nvswitch_verdict verdict;
	char why[80];

	if (!error && !poll->decoder->judge(poll->kept, &subject, &verdict, why, sizeof(why)))
		error = why;
	/* One that was heard shows in its host's state; one that never was is logged once. */
	if (error && !source->heard && !strcmp(source->error, "not asked yet") &&
	    log_allow(&poll->of->silent_limit, now_us, SILENT_LINES))
		log_line(LOG_NVSWITCH, LOG_WARNING, "%s: %s: %s", target->host, target->where,
			 error);
	health_hear(home->health, poll->host, poll->source, error ? NULL : &verdict, error, now_us);
	source_heard(home);
}

static void end_scrape(struct poll *poll)
{
	if (poll->decoder->end)
		poll->decoder->end(poll->kept);
	free(poll->scrape);
	poll->scrape = NULL;
}

static void start_due(void *exporters);

static const char *data_cb(void *arg, const char *data, size_t len)
{
	struct scrape *scrape = arg;

	return exposition_feed(&scrape->exposition, data, len) ? NULL : scrape->exposition.fault;
}

static void done_cb(void *arg, const char *error, const char *address)
{
	struct scrape *scrape = arg;
	struct poll *poll = scrape->poll;
	struct exporters *x = poll->of;
	uint64_t now_us = loop_now_us(x->home->loop), took_us = now_us - scrape->began_us;
	bool hung = error && took_us >= x->home->conf->timeout_ms * 1000ull;

	--*scrape->lane;
	poll->hung = hung ? poll->hung + 1 : 0;
	poll->ask_us = now_us + (x->home->conf->interval_us
				 << (poll->hung < HUNG_PAUSES ? poll->hung : HUNG_PAUSES));
	if (error || ++poll->address_age >= ADDRESS_AGE) {
		*poll->address = '\0';
		poll->address_age = 0;
	} else {
		snprintf(poll->address, sizeof(poll->address), "%s", address);
	}
	if (!error && !exposition_end(&scrape->exposition))
		error = scrape->exposition.fault;
	if (!error && poll->decoder->whole)
		poll->decoder->whole(poll->kept);
	if (!poll->decoder->shared)
		hear(poll, error);
	for (unsigned i = 0; poll->decoder->shared && i < x->targets.count; i++)
		if (x->polls + x->polls[i].leader == poll)
			hear(&x->polls[i], error);
	end_scrape(poll);
	start_due(x);
}

/* ---- Questions ------------------------------------------------------------------------------- */

static unsigned flight_max(const struct exporters *x)
{
	uint64_t need =
		x->targets.count * x->home->conf->timeout_ms * 1000ull / x->home->conf->interval_us;

	need = need < MAX_FLIGHT ? need : MAX_FLIGHT;
	return need > IN_FLIGHT ? need : IN_FLIGHT;
}

/*
 * Those whose time has come, as many as may be under way. After a halt of more than an interval the
 * rounds that were missed are left out.
 */
static void start_due(void *arg)
{
	static const struct fetch_ops ops = { data_cb, done_cb };
	struct exporters *x = arg;
	uint64_t now_us = loop_now_us(x->home->loop), interval_us = x->home->conf->interval_us;
	uint64_t gap_us = interval_us / x->targets.count;
	unsigned most = flight_max(x);

	if (now_us - x->due_us < UINT64_MAX / 2 && now_us - x->due_us > interval_us)
		x->due_us = now_us;
	while (x->due_us <= now_us && x->in_flight < most) {
		struct poll *poll = &x->polls[x->cursor];
		bool waits =
			poll->hung && (now_us < poll->ask_us || x->hung_in_flight >= HUNG_FLIGHT);

		if (!poll->scrape && !waits && poll->leader == x->cursor) {
			struct scrape *scrape = mem_alloc(1, sizeof(*scrape));

			scrape->poll = poll;
			scrape->began_us = now_us;
			scrape->lane = poll->hung ? &x->hung_in_flight : &x->in_flight;
			poll->scrape = scrape;
			++*scrape->lane;
			poll->decoder->begin(poll->kept,
					     &poll->of->targets.list[poll - poll->of->polls],
					     now_us);
			exposition_init(&scrape->exposition, poll->decoder->ops, poll->kept);
			scrape->job = fetch_get(x->fetch,
						&poll->of->targets.list[poll - poll->of->polls].url,
						poll->address, &ops, scrape);
		}
		x->cursor = (x->cursor + 1) % x->targets.count;
		x->due_us += gap_us;
	}
	loop_timer_set(x->timer, x->due_us > now_us ? x->due_us - now_us : interval_us);
}

/* ---- Endpoints of several hosts -------------------------------------------------------------- */

static struct endpoint *endpoint_of(struct exporters *x, const char *where,
				    const struct decoder *decoder)
{
	struct endpoint *endpoint;

	for (unsigned i = 0; i < x->nendpoints; i++)
		if (x->endpoints[i].decoder == decoder && !strcmp(x->endpoints[i].where, where))
			return &x->endpoints[i];
	x->endpoints = mem_resize(x->endpoints, x->nendpoints + 1, sizeof(*x->endpoints));
	endpoint = &x->endpoints[x->nendpoints++];
	*endpoint = (struct endpoint){ .where = mem_strdup(where),
				       .decoder = decoder,
				       .kept = decoder->keep() };
	return endpoint;
}

static void free_endpoints(struct exporters *x, bool all)
{
	unsigned kept = 0;

	for (unsigned i = 0; i < x->nendpoints; i++) {
		struct endpoint *endpoint = &x->endpoints[i];

		if (!all && endpoint->used) {
			x->endpoints[kept++] = *endpoint;
			continue;
		}
		endpoint->decoder->drop(endpoint->kept);
		free(endpoint->where);
	}
	x->nendpoints = kept;
}

/* ---- Polls ----------------------------------------------------------------------------------- */

/* Of the present targets; announce() says which sources of health they are. */
static void make_polls(struct exporters *x)
{
	x->polls = mem_alloc(x->targets.count + 1, sizeof(*x->polls));
	for (unsigned i = 0; i < x->nendpoints; i++)
		x->endpoints[i].used = false;
	for (unsigned i = 0; i < x->targets.count; i++) {
		struct poll *poll = &x->polls[i];
		const struct decoder *const *decoder = decoders;
		struct endpoint *endpoint;

		while ((*decoder)->reads && !(*decoder)->reads(&x->targets.list[i]))
			decoder++;
		*poll = (struct poll){ .of = x, .decoder = *decoder, .leader = i };
		if (!(*decoder)->shared) {
			poll->kept = (*decoder)->keep();
			continue;
		}
		endpoint = endpoint_of(x, x->targets.list[i].where, *decoder);
		endpoint->used = true;
		poll->kept = endpoint->kept;
		poll->leader = 0;
		while (x->polls[poll->leader].kept != poll->kept)
			poll->leader++;
	}
	free_endpoints(x, false);
	x->cursor = 0;
	x->due_us = loop_now_us(x->home->loop);
	if (x->fetch && x->targets.count)
		loop_timer_set(x->timer, 0);
}

static void end_polls(struct exporters *x)
{
	for (unsigned i = 0; x->polls && i < x->targets.count; i++) {
		struct poll *poll = &x->polls[i];

		if (poll->scrape) {
			fetch_cancel(poll->scrape->job);
			end_scrape(poll);
		}
		if (!poll->decoder->shared)
			poll->decoder->drop(poll->kept);
	}
	free(x->polls);
	x->polls = NULL;
	x->in_flight = x->hung_in_flight = 0;
	loop_timer_stop(x->timer);
}

/* ---- Targets --------------------------------------------------------------------------------- */

/*
 * What Prometheus has of one host, in the form of exporters: {__name__=~"DCGM_.*",LABEL=~"(?i)HOST
 * ([.:].*)?"}, so that a domain or a port behind the name makes no difference.
 */
#define PROMETHEUS_QUERY                                                                           \
	"%s/federate?match%%5B%%5D=%%7B__name__%%3D~%%22DCGM_.%%2A%%22%%2C%s%%3D~%%22%%28%%3Fi"    \
	"%%29%s%%28%%5B.%%3A%%5D.%%2A%%29%%3F%%22%%7D"

/* The file's lines, and the patterns for the hosts that it does not name. */
static int gather_targets(const struct source_home *home, const struct nvswitch_conf *conf,
			  struct targets *targets, char *err, size_t err_size)
{
	const struct conf_nvswitch *keys = &conf->keys;
	enum nvswitch_system system = keys->system;
	struct targets of_file = { 0 };
	struct names named = { 0 };
	const char *key = *keys->hosts_file ? "nvswitch_hosts_file"
			  : *keys->url	    ? "nvswitch_url"
					    : "prometheus_url";
	char *prometheus;

	if (fetch_load(key, err, err_size))
		return -1;
	if (*keys->hosts_file && lines_read(keys->hosts_file, read_line, &of_file, err, err_size)) {
		targets_fini(&of_file);
		return -1;
	}
	if (*keys->url && targets_add(targets, "host", keys->url, system)) {
		snprintf(err, err_size,
			 "nvswitch_url = \"%s\": an http or https URL with %%h is expected",
			 keys->url);
		targets_fini(&of_file);
		return -1;
	}
	targets_fini(targets); /* it was a trial */
	*targets = of_file;
	for (unsigned i = 0; i < of_file.count; i++)
		names_id(&named, of_file.list[i].host, strlen(of_file.list[i].host));
	prometheus =
		mem_printf(PROMETHEUS_QUERY, keys->prometheus_url, keys->prometheus_label, "%h");
	for (unsigned i = 0; i < home->npresent; i++) {
		const char *host = home->present[i];

		if (names_find(&named, host, strlen(host)) != NAMES_NONE)
			continue;
		if (*keys->url)
			targets_add(targets, host, keys->url, system);
		if (*keys->prometheus_url)
			targets_add(targets, host, prometheus, system);
	}
	free(prometheus);
	names_fini(&named);
	return 0;
}

static bool hosts_changed(void *source)
{
	struct exporters *x = source;
	struct targets targets = { 0 };
	char err[256];
	bool changed = false;

	if (gather_targets(x->home, x->home->conf, &targets, err, sizeof(err)))
		log_line(LOG_NVSWITCH, LOG_ERR, "previous exporters kept: %s", err);
	else
		changed = targets.count != x->targets.count;
	for (unsigned i = 0; i < targets.count && !changed; i++) {
		const struct target *a = &targets.list[i], *b = &x->targets.list[i];

		changed = strcmp(a->host, b->host) || strcmp(a->where, b->where) ||
			  a->system != b->system || memcmp(&a->place, &b->place, sizeof(a->place));
	}
	if (changed) {
		struct targets before = x->targets;

		end_polls(x);
		x->targets = targets;
		targets = before;
		make_polls(x);
	}
	targets_fini(&targets);
	return changed;
}

/* ---- As a source ----------------------------------------------------------------------------- */

static void close_exporters(void *source)
{
	struct exporters *x = source;

	end_polls(x);
	free_endpoints(x, true);
	free(x->endpoints);
	fetch_free(x->fetch);
	loop_timer_free(x->timer);
	targets_fini(&x->targets);
	free(x);
}

static void *open_exporters(const struct health_source_ops *ops, struct source_home *home,
			    const struct nvswitch_conf *conf, char *err, size_t err_size)
{
	const struct fetch_conf fetch = { .timeout_ms = conf->timeout_ms,
					  .connect_ms = CONNECT_MS,
					  .body_max = conf->body_max,
					  .ca_file = conf->keys.ca_file,
					  .credentials_file = conf->keys.credentials_file };
	struct exporters *x = mem_alloc(1, sizeof(*x));

	x->home = home;
	x->timer = loop_timer_new(home->loop, start_due, x);
	if (!gather_targets(home, conf, &x->targets, err, err_size)) {
		x->fetch = fetch_new(home->loop, &fetch, err, err_size);
		if (x->fetch || loop_is_simulated(home->loop))
			return x;
	}
	close_exporters(x);
	return NULL;
}

/* What was kept of racks goes on. */
static void start_exporters(void *source, void *before)
{
	struct exporters *x = source, *earlier = before;

	if (earlier) {
		end_polls(earlier);
		x->endpoints = earlier->endpoints;
		x->nendpoints = earlier->nendpoints;
		x->silent_limit = earlier->silent_limit;
		earlier->endpoints = NULL;
		earlier->nendpoints = 0;
	}
	make_polls(x);
}

static void announce(void *source)
{
	struct exporters *x = source;

	for (unsigned i = 0; i < x->targets.count; i++) {
		const struct target *target = &x->targets.list[i];
		struct poll *poll = &x->polls[i];

		poll->host = health_add(x->home->health, target->host);
		poll->source = health_source_add(x->home->health, poll->host, target->where,
						 target->trust);
	}
}

static json_t *missing(const void *source, unsigned host, unsigned number)
{
	const struct exporters *x = source;

	for (unsigned i = 0; i < x->targets.count; i++) {
		const struct poll *poll = &x->polls[i];
		enum nvswitch_system system = x->targets.list[i].system;

		if (poll->host != host || poll->source != number)
			continue;
		if (system == NVSWITCH_SYSTEM_AUTO)
			system = x->home->health->hosts[host].sources[number].verdict.system;
		return poll->decoder->missing ? poll->decoder->missing(poll->kept, system) : NULL;
	}
	return NULL;
}

static int check_exporters(const struct nvswitch_conf *conf, char *err, size_t err_size)
{
	static const struct source_home nobody; /* no host is there yet */
	struct targets targets = { 0 };
	struct fetch_credentials credentials;
	int status = gather_targets(&nobody, conf, &targets, err, err_size);

	targets_fini(&targets);
	if (!status)
		status = fetch_credentials_read(&credentials, conf->keys.credentials_file, err,
						err_size);
	if (!status && *conf->keys.ca_file && access(conf->keys.ca_file, R_OK)) {
		snprintf(err, err_size, "nvswitch_ca_file: %s: %s", conf->keys.ca_file,
			 strerror(errno));
		status = -1;
	}
	return status;
}

const struct health_source_ops source_exporters = {
	.name = "exporters",
	.by = { SOURCE_TEXT(url), SOURCE_TEXT(hosts_file), SOURCE_TEXT(prometheus_url) },
	.with = { SOURCE_TEXT(ca_file), SOURCE_TEXT(credentials_file),
		  SOURCE_TEXT(prometheus_label) },
	.open = open_exporters,
	.close = close_exporters,
	.start = start_exporters,
	.announce = announce,
	.hosts = hosts_changed,
	.missing = missing,
	.check = check_exporters,
};

/* ---- dcgm-exporter --------------------------------------------------------------------------- */

/*
 * Fields: names and releases are of NVIDIA/DCGM's history of dcgm_fields.h up to 4.6.0, which gave
 * some other names. A field that is silent on a machine that is well (an NVSwitch's last error) is
 * none of these.
 */

#define SEEN_ANY  (1u << 31) /* some metric of DCGM */
#define CARDS	  (1u << NVSWITCH_SYSTEM_OTHER)
#define NO_SWITCH (CARDS | 1u << NVSWITCH_SYSTEM_NVL72) /* NVSwitches are not the host's */

static const struct {
	const char *names[3]; /* any of these; the first is shown */
	const char *since, *unknown;
	uint32_t without; /* systems that have no use for it, by bit */
} fields[] = {
	{ { "P2P_NVLINK_STATUS", "NVLINK_P2P_STATUS", "DCGM_EXP_P2P_STATUS" },
	  "DCGM 4.3",
	  "whether GPUs reach each other by NVLink",
	  CARDS },
	{ { "FABRIC_MANAGER_STATUS" },
	  "DCGM 4.0",
	  "whether the fabric manager has set up the GPUs",
	  CARDS },
	{ { "NVSWITCH_LINK_STATUS", "NVLINK_GET_STATE" },
	  "DCGM 3.1",
	  "which NVLinks are down",
	  NO_SWITCH },
	{ { "NVLINK_GET_STATE" }, "DCGM 4.5", "which NVLinks of GPUs are down", CARDS },
	{ { "NVSWITCH_RESET_REQUIRED" },
	  "DCGM 3.1",
	  "whether an NVSwitch needs a reset, or is gone",
	  NO_SWITCH },
	{ { "GET_GPU_RECOVERY_ACTION", "GPU_RECOVERY_ACTION" },
	  "DCGM 4.5",
	  "whether the driver wants a GPU reset or a reboot",
	  CARDS },
	{ { "FABRIC_HEALTH_MASK", "FABRIC_HEALTH_SUMMARY" },
	  "DCGM 4.4.2",
	  "whether routes and bandwidth of the NVLink fabric are whole",
	  CARDS },
	{ { "MIG_MODE" }, "DCGM 3", "whether a GPU is out of P2P on purpose (MIG)", CARDS },
};

static bool starts(const struct exposition_text *name, const char *with)
{
	return name->len >= strlen(with) && !memcmp(name->at, with, strlen(with));
}

void fields_note(uint32_t *seen, struct exposition_text name)
{
	if (!starts(&name, "DCGM_"))
		return;
	*seen |= SEEN_ANY;
	if (starts(&name, "DCGM_FI_DEV_")) {
		name.at += strlen("DCGM_FI_DEV_");
		name.len -= strlen("DCGM_FI_DEV_");
	}
	for (unsigned i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		for (unsigned n = 0; n < 3 && fields[i].names[n]; n++)
			if (strlen(fields[i].names[n]) == name.len &&
			    !memcmp(fields[i].names[n], name.at, name.len))
				*seen |= 1u << i;
}

json_t *fields_missing(uint32_t seen, enum nvswitch_system system)
{
	json_t *rows = json_array();

	for (unsigned i = 0; (seen & SEEN_ANY) && i < sizeof(fields) / sizeof(fields[0]); i++)
		if (!(seen >> i & 1) && !(fields[i].without >> system & 1))
			json_array_append_new(
				rows,
				json_pack("{so ss ss}", "field",
					  json_sprintf("DCGM_FI_DEV_%s", fields[i].names[0]),
					  "since", fields[i].since, "unknown", fields[i].unknown));
	return rows;
}

/*
 * dcgm-exporter of one host: what an answer says is weighed together with the host's
 * memory (evidence.h); of the endpoint only the fields that it answered with are kept.
 */

#define SLACK_US 1000

struct dcgm_answer { /* under way */
	uint32_t fields;
	bool rack; /* it has NMX-T's rows */
	struct evidence evidence;
};
struct exporter {
	uint32_t fields; /* of the latest answer that was the host's */
	struct dcgm_answer *answer;
};

static void *dcgm_keep(void)
{
	return mem_alloc(1, sizeof(struct exporter));
}

static void end(void *kept)
{
	struct exporter *e = kept;

	free(e->answer);
	e->answer = NULL;
}

static void dcgm_drop(void *kept)
{
	end(kept);
	free(kept);
}

static void dcgm_begin(void *kept, const struct target *target, uint64_t now_us)
{
	struct exporter *e = kept;

	e->answer = mem_alloc(1, sizeof(*e->answer));
	evidence_init(&e->answer->evidence, target->system);
}

static int kind_cb(void *arg, struct exposition_text name)
{
	struct exporter *e = arg;

	fields_note(&e->answer->fields, name);
	e->answer->rack |= nmx_ops.kind(NULL, name) >= 0;
	return evidence_ops.kind(&e->answer->evidence, name);
}

static void sample_cb(void *arg, int kind, const struct exposition_sample *sample)
{
	struct exporter *e = arg;

	evidence_ops.sample(&e->answer->evidence, kind, sample);
}

static const struct exposition_ops ops = { kind_cb, sample_cb };

/*
 * A sample may be as old as a state must last: what is reported so soon after an event proves
 * nothing of it.
 */
static bool dcgm_judge(void *kept, const struct decoder_subject *subject,
		       struct nvswitch_verdict *verdict, char *error, size_t error_size)
{
	struct exporter *e = kept;
	const struct dcgm_answer *answer = e->answer;
	struct health *health = subject->home->health;
	const struct health_source *source = &health->hosts[subject->host].sources[subject->source];
	uint64_t now_us = loop_now_us(subject->home->loop);
	const struct evidence_context context = {
		.now_us = now_us,
		.settle_us = health->conf.worsen_us + SLACK_US,
		.silent_us = source->heard ? now_us - source->heard_us : 0,
		.source = subject->source < UINT8_MAX ? subject->source : UINT8_MAX,
		.trust = subject->target->trust,
		.progress = subject->home->conf->keys.fm_in_progress,
	};
	const char *named = answer->evidence.host;
	unsigned host = *named ? health_find(health, named) : UINT_MAX;
	struct memory *memory;

	/* An exporter that names another host of the fabric is at the wrong address. */
	if (host != UINT_MAX && host != subject->host) {
		snprintf(error, error_size, "it reports another host, %.60s", named);
		return false;
	}
	e->fields = answer->fields;
	memory = health_memory(health, subject->host);
	evidence_remember(&answer->evidence, memory, &context);
	evidence_judge(&answer->evidence, memory, &context, verdict);
	if (verdict->state != NVSWITCH_UNKNOWN)
		return true;
	snprintf(error, error_size, "%s",
		 answer->rack ? "NMX-T of a whole rack: its line in nvswitch_hosts_file needs "
				"tray= or slot="
			      : "it reports nothing about NVLinks");
	return false;
}

static json_t *dcgm_missing(const void *kept, enum nvswitch_system system)
{
	return fields_missing(((const struct exporter *)kept)->fields, system);
}

const struct decoder decoder_dcgm = {
	.keep = dcgm_keep,
	.drop = dcgm_drop,
	.ops = &ops,
	.begin = dcgm_begin,
	.judge = dcgm_judge,
	.end = end,
	.missing = dcgm_missing,
};
