/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch_inputs: what the monitor hears by: exporters (the list of hosts and the HTTP client), syslog by UDP and by TCP, kmsg; and by
 * which other names it knows hosts.
 *
 * A configuration opens its inputs aside. When fmd begins, an input that can't be opened (a port that another daemon has, a list that is not
 * there yet) leaves the others alone: it is told of, and tried again until it opens. Later configurations are taken whole or not at all,
 * since there is something to stay with; an input that they leave as it was, and that was not open before, does not speak against them.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/nvswitch/nvswitch_own.h"
#include "topology/mem.h"

#define CONNECT_MS 1000

struct opened { /* by a configuration, before it is in force */
	struct targets targets;
	struct aliases aliases;
	struct fetch *fetch;
	struct log_server *logs[LOG_SERVER_KINDS];
	bool stays[LOG_SERVER_KINDS]; /* what is open is right */
	char errors[NVSWITCH_INPUTS][NVSWITCH_ERROR];
};

static void opened_fini(struct opened *o)
{
	targets_fini(&o->targets);
	aliases_fini(&o->aliases);
	fetch_free(o->fetch);
	for (unsigned kind = 0; kind < LOG_SERVER_KINDS; kind++)
		log_server_free(o->logs[kind]);
}

/* ---- Names and texts ----------------------------------------------------------------------------- */

const char *nvswitch_input_name(unsigned input)
{
	static const char *const names[NVSWITCH_INPUTS] = { "syslog UDP", "syslog TCP", "kmsg",
							    "log socket", "exporters",	"aliases" };

	return names[input];
}

/* Of all but the exporters, which have several. */
static const char *text_of(const struct nvswitch_conf *conf, unsigned input)
{
	if (input == NVSWITCH_ALIASES)
		return conf->alias_file;
	if (input == LOG_SERVER_UNIX)
		return conf->log_socket;
	return input == LOG_SERVER_KMSG ? conf->kmsg : conf->syslog_listen;
}

static bool asks(const struct nvswitch_conf *conf)
{
	return *conf->url || *conf->hosts_file;
}

bool nvswitch_input_wanted(const struct nvswitch *nv, unsigned input)
{
	if (!nv->conf.url)
		return false;
	return input == NVSWITCH_EXPORTERS ? asks(&nv->conf) : *text_of(&nv->conf, input);
}

static bool same_input(const struct nvswitch *nv, const struct nvswitch_conf *conf, unsigned input)
{
	if (!nv->conf.url)
		return false;
	if (input != NVSWITCH_EXPORTERS)
		return !strcmp(text_of(&nv->conf, input), text_of(conf, input));
	return !strcmp(nv->conf.url, conf->url) && !strcmp(nv->conf.hosts_file, conf->hosts_file) &&
	       !strcmp(nv->conf.ca_file, conf->ca_file);
}

static void copy_texts(struct nvswitch_conf *conf)
{
	conf->url = mem_strdup(conf->url);
	conf->hosts_file = mem_strdup(conf->hosts_file);
	conf->alias_file = mem_strdup(conf->alias_file);
	conf->ca_file = mem_strdup(conf->ca_file);
	conf->syslog_listen = mem_strdup(conf->syslog_listen);
	conf->syslog_allow = mem_strdup(conf->syslog_allow);
	conf->log_socket = mem_strdup(conf->log_socket);
	conf->kmsg = mem_strdup(conf->kmsg);
	conf->hook = mem_strdup(conf->hook);
}

static void free_texts(struct nvswitch_conf *conf)
{
	free((char *)conf->url);
	free((char *)conf->hosts_file);
	free((char *)conf->alias_file);
	free((char *)conf->ca_file);
	free((char *)conf->syslog_listen);
	free((char *)conf->syslog_allow);
	free((char *)conf->log_socket);
	free((char *)conf->kmsg);
	free((char *)conf->hook);
}

/* ---- Exporters ----------------------------------------------------------------------------------- */

/* The pattern, for the hosts that the list does not name. */
static void add_by_pattern(const struct nvswitch *nv, const struct nvswitch_conf *conf,
			   struct targets *targets)
{
	struct names named = { 0 };

	for (unsigned i = 0; i < targets->count; i++)
		names_id(&named, targets->list[i].host, strlen(targets->list[i].host));
	for (unsigned i = 0; i < nv->npresent; i++)
		if (names_find(&named, nv->present[i], strlen(nv->present[i])) == NAMES_NONE)
			targets_add(targets, nv->present[i], conf->url, conf->system);
	names_fini(&named);
}

/* The file's lines, and the pattern for the hosts that it does not name. */
static int gather_targets(const struct nvswitch *nv, const struct nvswitch_conf *conf,
			  struct targets *targets, char *err, size_t err_size)
{
	struct targets of_file = { 0 };

	if (*conf->hosts_file && targets_read(&of_file, conf->hosts_file, err, err_size))
		return -1;
	if (*conf->url && targets_add(targets, "host", conf->url, conf->system)) {
		snprintf(err, err_size,
			 "nvswitch_url = \"%s\": no http or https URL with %%h in it", conf->url);
		targets_fini(&of_file);
		return -1;
	}
	targets_fini(targets); /* it was a trial */
	*targets = of_file;
	if (*conf->url)
		add_by_pattern(nv, conf, targets);
	return 0;
}

static bool same_targets(const struct targets *a, const struct targets *b)
{
	if (a->count != b->count)
		return false;
	for (unsigned i = 0; i < a->count; i++)
		if (strcmp(a->list[i].host, b->list[i].host) ||
		    strcmp(a->list[i].where, b->list[i].where) ||
		    a->list[i].system != b->list[i].system ||
		    memcmp(&a->list[i].place, &b->list[i].place, sizeof(a->list[i].place)))
			return false;
	return true;
}

static void take_targets(struct nvswitch *nv, struct targets *targets)
{
	nvswitch_polls_stop(nv);
	targets_fini(&nv->targets);
	nv->targets = *targets;
	*targets = (struct targets){ 0 };
	nvswitch_polls_start(nv);
	nvswitch_know_addresses(nv);
}

void nvswitch_retarget(struct nvswitch *nv)
{
	struct targets targets = { 0 };
	char err[NVSWITCH_ERROR];

	if (!nv->conf.url || *nv->errors[NVSWITCH_EXPORTERS])
		return; /* not configured yet; or tried again anyway */
	if (gather_targets(nv, &nv->conf, &targets, err, sizeof(err)))
		log_line(LOG_NVSWITCH, LOG_ERR, "exporters stay as they were: %s", err);
	else if (!same_targets(&targets, &nv->targets))
		take_targets(nv, &targets);
	targets_fini(&targets);
}

/* ---- Opening aside ------------------------------------------------------------------------------- */

static void open_exporters(struct nvswitch *nv, const struct nvswitch_conf *conf, struct opened *o)
{
	const struct fetch_conf fetch = { .timeout_ms = conf->timeout_ms,
					  .connect_ms = CONNECT_MS,
					  .body_max = conf->body_max,
					  .ca_file = conf->ca_file };
	char *err = o->errors[NVSWITCH_EXPORTERS];

	if (gather_targets(nv, conf, &o->targets, err, NVSWITCH_ERROR) || !asks(conf) ||
	    !loop_event_base(nv->loop))
		return;
	o->fetch = fetch_new(nv->loop, &fetch, err, NVSWITCH_ERROR);
	if (!o->fetch)
		targets_fini(&o->targets);
}

/* An address that is listened on can't be bound twice: what stays the same stays open. */
static void open_log(struct nvswitch *nv, const struct nvswitch_conf *conf, unsigned kind,
		     struct opened *o)
{
	const char *where = text_of(conf, kind);

	o->stays[kind] = nv->logs[kind] && same_input(nv, conf, kind);
	if (*where && !o->stays[kind])
		o->logs[kind] =
			log_server_new(nv->loop, (enum log_server_kind)kind, where, &nv->senders,
				       &nvswitch_log_ops, nv, o->errors[kind], NVSWITCH_ERROR);
}

static void read_aliases(const struct nvswitch_conf *conf, struct opened *o)
{
	if (*conf->alias_file && aliases_read(&o->aliases, conf->alias_file,
					      o->errors[NVSWITCH_ALIASES], NVSWITCH_ERROR))
		aliases_fini(&o->aliases);
}

static void open_input(struct nvswitch *nv, const struct nvswitch_conf *conf, unsigned input,
		       struct opened *o)
{
	if (input == NVSWITCH_EXPORTERS)
		open_exporters(nv, conf, o);
	else if (input == NVSWITCH_ALIASES)
		read_aliases(conf, o);
	else
		open_log(nv, conf, input, o);
}

/* Why a configuration is not taken; NULL = it is. */
static const char *objection(const struct nvswitch *nv, const struct nvswitch_conf *conf,
			     const struct opened *o)
{
	for (unsigned input = 0; nv->conf.url && input < NVSWITCH_INPUTS; input++)
		if (*o->errors[input] && !(same_input(nv, conf, input) && *nv->errors[input]))
			return o->errors[input];
	return NULL;
}

/* ---- Taking over --------------------------------------------------------------------------------- */

static void note_error(struct nvswitch *nv, unsigned input, const char *error)
{
	char what[64];

	memcpy(nv->errors[input], error, NVSWITCH_ERROR);
	snprintf(what, sizeof(what), "nvswitch: %s", nvswitch_input_name(input));
	nv->ops->trouble(nv->arg, what, *error ? error : NULL);
}

static void take_input(struct nvswitch *nv, unsigned input, struct opened *o)
{
	if (input == NVSWITCH_EXPORTERS) {
		nvswitch_polls_stop(nv);
		fetch_free(nv->fetch);
		nv->fetch = o->fetch;
		o->fetch = NULL;
		take_targets(nv, &o->targets);
	} else if (input == NVSWITCH_ALIASES) {
		aliases_fini(&nv->health.aliases);
		nv->health.aliases = o->aliases;
		o->aliases = (struct aliases){ 0 };
		nvswitch_know_addresses(nv);
	} else if (!o->stays[input]) {
		log_server_free(nv->logs[input]);
		nv->logs[input] = o->logs[input];
		o->logs[input] = NULL;
	}
	note_error(nv, input, o->errors[input]);
}

static void arm_retry(struct nvswitch *nv)
{
	loop_timer_stop(nv->retry_timer);
	for (unsigned input = 0; input < NVSWITCH_INPUTS; input++)
		if (*nv->errors[input] && nv->conf.retry_us)
			loop_timer_set(nv->retry_timer, nv->conf.retry_us);
}

static void retry_cb(void *arg)
{
	struct nvswitch *nv = arg;
	struct opened o = { 0 };

	for (unsigned input = 0; input < NVSWITCH_INPUTS; input++) {
		if (!*nv->errors[input])
			continue;
		open_input(nv, &nv->conf, input, &o);
		take_input(nv, input, &o);
	}
	opened_fini(&o);
	arm_retry(nv);
}

static void take_conf(struct nvswitch *nv, const struct nvswitch_conf *conf)
{
	char err[NVSWITCH_ERROR];

	free_texts(&nv->conf);
	nv->conf = *conf;
	copy_texts(&nv->conf);
	senders_allow(&nv->senders, conf->syslog_allow, err, sizeof(err)); /* it was checked */
	nv->health.conf = conf->health;
	hook_configure(nv->hook, conf->hook, conf->hook_timeout_ms);
}

int nvswitch_configure(struct nvswitch *nv, const struct nvswitch_conf *conf, char *err,
		       size_t err_size)
{
	struct opened o = { 0 };
	struct senders trial = { 0 };
	char allow[NVSWITCH_ERROR];
	const char *wrong;

	for (unsigned input = 0; input < NVSWITCH_INPUTS; input++)
		open_input(nv, conf, input, &o);
	wrong = senders_allow(&trial, conf->syslog_allow, allow, sizeof(allow))
			? objection(nv, conf, &o)
			: allow;
	senders_fini(&trial);
	if (wrong) {
		snprintf(err, err_size, "%s", wrong);
	} else {
		if (!nv->retry_timer)
			nv->retry_timer = loop_timer_new(nv->loop, retry_cb, nv);
		take_conf(nv, conf);
		for (unsigned input = 0; input < NVSWITCH_INPUTS; input++)
			take_input(nv, input, &o);
		arm_retry(nv);
		nvswitch_step_soon(nv);
	}
	opened_fini(&o);
	return wrong ? -1 : 0;
}

void nvswitch_inputs_fini(struct nvswitch *nv)
{
	nvswitch_polls_stop(nv);
	loop_timer_free(nv->poll_timer);
	loop_timer_free(nv->retry_timer);
	fetch_free(nv->fetch);
	for (unsigned kind = 0; kind < LOG_SERVER_KINDS; kind++)
		log_server_free(nv->logs[kind]);
	nvswitch_racks_fini(nv);
	targets_fini(&nv->targets);
	free_texts(&nv->conf);
}

/* ---- Beforehand ---------------------------------------------------------------------------------- */

int nvswitch_check(const struct nvswitch_conf *conf, char *err, size_t err_size)
{
	static const struct nvswitch nobody; /* no host is there yet */
	struct targets targets = { 0 };
	struct aliases aliases = { 0 };
	struct senders trial = { 0 };
	char why[128];
	int status = gather_targets(&nobody, conf, &targets, err, err_size);

	targets_fini(&targets);
	if (!status && *conf->alias_file)
		status = aliases_read(&aliases, conf->alias_file, err, err_size);
	aliases_fini(&aliases);
	if (!status && !senders_allow(&trial, conf->syslog_allow, why, sizeof(why))) {
		snprintf(err, err_size, "syslog_allow: %s", why);
		status = -1;
	}
	senders_fini(&trial);
	if (!status && asks(conf) && *conf->ca_file && access(conf->ca_file, R_OK)) {
		snprintf(err, err_size, "nvswitch_ca_file: %s: %s", conf->ca_file, strerror(errno));
		status = -1;
	}
	if (!status && *conf->hook && access(conf->hook, X_OK)) {
		snprintf(err, err_size, "nvswitch_hook: %s: %s", conf->hook, strerror(errno));
		status = -1;
	}
	return status;
}
