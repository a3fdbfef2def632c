/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * nvswitch_senders: lines of kernel logs, from who sent them to the host that they are about; and whether a sender whose address nobody knows may.
 *
 * He may if the name of a host of ours, which his line says it is of, has his address. The system's resolver is asked for that beside the loop
 * (getaddrinfo_a(3)); what he said in the meantime waits, LINES_WAIT lines of it. Anybody else is counted, and told of by one event in a while.
 */
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/nvswitch_own.h"
#include "fm/nvswitch/syslog.h"
#include "topology/mem.h"

#define LOOK_US	       20000
#define LOOKUPS	       8
#define LINES_WAIT     4
#define REFUSED_US     (600 * 1000000ull) /* between two events about refused lines */
#define STRANGER_LINES 1		  /* a second */

struct lookup {
	struct lookup *next;
	struct gaicb ask;
	char name[256];
	struct sender_address sender;
	char sender_name[SENDER_NAME];
	unsigned waiting;
	struct {
		char host[SYSLOG_HOST];
		struct sxid_event event;
	} lines[LINES_WAIT];
};

/* ---- Who is meant -------------------------------------------------------------------------------- */

/* A host by what a line calls it: its name, or one of the names in a chain of relays. UINT_MAX = nobody. */
static unsigned find_host(const struct nvswitch *nv, const char *name)
{
	char copy[SYSLOG_HOST], *rest = copy, *part;
	unsigned host = health_find(&nv->health, *name ? name : nv->own_name);

	if (host != UINT_MAX || !strchr(name, '/'))
		return host;
	snprintf(copy, sizeof(copy), "%s", name);
	while (host == UINT_MAX && (part = strtok_r(rest, "/", &rest)))
		host = health_find(&nv->health, part);
	return host;
}

static void event_cb(void *arg, const char *name, const struct sxid_event *event)
{
	struct nvswitch *nv = arg;
	uint64_t now_us = loop_now_us(nv->loop);
	unsigned host = find_host(nv, name);

	if (host != UINT_MAX) {
		health_hear_log(&nv->health, host, event, now_us);
		nvswitch_step_soon(nv);
		return;
	}
	nv->strangers++;
	if (log_allow(&nv->stranger_limit, now_us, STRANGER_LINES))
		log_line(LOG_NVSWITCH, LOG_WARNING,
			 "kernel log of a host that is not in the fabric: %s: %s",
			 *name ? name : nv->own_name, event->finding.text);
}

/* ---- Who may not --------------------------------------------------------------------------------- */

static void refused_cb(void *arg, const struct sender *sender)
{
	struct nvswitch *nv = arg;
	uint64_t now_us = loop_now_us(nv->loop);
	char text[240];

	if (nv->refused_told && now_us - nv->refused_us < REFUSED_US)
		return;
	nv->refused_told = true;
	nv->refused_us = now_us;
	snprintf(text, sizeof(text),
		 "nvswitch: syslog of %s is not read: %s; `fmctl nvswitch logs` shows all senders",
		 sender->name,
		 nv->senders.listed ? "it is not in syslog_allow"
				    : "no host is known to have that address (syslog_allow)");
	nv->ops->event(nv->arg, LOG_WARNING, "nvswitch-sender",
		       json_pack("{ss}", "sender", sender->name), text);
}

/* ---- The resolver -------------------------------------------------------------------------------- */

static bool has_address(const struct lookup *l)
{
	for (const struct addrinfo *at = l->ask.ar_result; at; at = at->ai_next) {
		struct sender_address address;

		sender_address_of(&address, at->ai_addr);
		if (!memcmp(&address, &l->sender, sizeof(address)))
			return true;
	}
	return false;
}

static void lookup_done(struct nvswitch *nv, struct lookup *l, bool good)
{
	struct sender *sender;

	if (good && has_address(l))
		senders_know(&nv->senders, &l->sender);
	sender = senders_find(&nv->senders, &l->sender, loop_now_us(nv->loop));
	sender->verdict = good && has_address(l) ? SENDER_ALLOWED : SENDER_REFUSED;
	sender->decided_us = loop_now_us(nv->loop);
	for (unsigned i = 0; i < l->waiting; i++)
		if (sender_may(sender))
			event_cb(nv, l->lines[i].host, &l->lines[i].event);
	if (sender_may(sender)) {
		sender->understood += l->waiting;
	} else {
		sender->refused += l->waiting;
		refused_cb(nv, sender);
	}
	if (l->ask.ar_result)
		freeaddrinfo(l->ask.ar_result);
	free(l);
}

static void look_cb(void *arg)
{
	struct nvswitch *nv = arg;
	struct lookup **link = &nv->lookups;

	while (*link) {
		struct lookup *l = *link;
		int status = gai_error(&l->ask);

		if (status == EAI_INPROGRESS) {
			link = &l->next;
			continue;
		}
		*link = l->next;
		nv->nlookups--;
		lookup_done(nv, l, status == 0);
	}
	if (nv->lookups)
		loop_timer_set(nv->lookup_timer, LOOK_US);
}

static bool begin_lookup(struct nvswitch *nv, const struct sender *sender, const char *name)
{
	struct lookup *l = mem_alloc(1, sizeof(*l));
	struct gaicb *list[] = { &l->ask };

	snprintf(l->name, sizeof(l->name), "%s", name);
	snprintf(l->sender_name, sizeof(l->sender_name), "%s", sender->name);
	l->sender = sender->address;
	l->ask.ar_name = l->name;
	if (getaddrinfo_a(GAI_NOWAIT, list, 1, NULL)) {
		free(l);
		return false;
	}
	l->next = nv->lookups;
	nv->lookups = l;
	nv->nlookups++;
	if (!nv->lookup_timer)
		nv->lookup_timer = loop_timer_new(nv->loop, look_cb, nv);
	loop_timer_set(nv->lookup_timer, LOOK_US);
	return true;
}

static struct lookup *lookup_of(struct nvswitch *nv, const struct sender *sender)
{
	struct lookup *l = nv->lookups;

	while (l && memcmp(&l->sender, &sender->address, sizeof(l->sender)))
		l = l->next;
	return l;
}

static bool undecided_cb(void *arg, struct sender *sender, const char *name,
			 const struct sxid_event *event)
{
	struct nvswitch *nv = arg;
	struct lookup *l = lookup_of(nv, sender);
	unsigned host = find_host(nv, name);

	if (!l) {
		if (host == UINT_MAX || nv->nlookups == LOOKUPS ||
		    !begin_lookup(nv, sender, nv->health.hosts[host].name))
			return false;
		sender->verdict = SENDER_ASKED;
		l = nv->lookups;
	}
	if (!event)
		return true;
	if (l->waiting == LINES_WAIT)
		return false;
	snprintf(l->lines[l->waiting].host, SYSLOG_HOST, "%s", name);
	l->lines[l->waiting++].event = *event;
	return true;
}

const struct log_server_ops nvswitch_log_ops = { event_cb, undecided_cb, refused_cb };

/* ---- Whose addresses are known ------------------------------------------------------------------- */

void nvswitch_know_addresses(struct nvswitch *nv)
{
	senders_forget_known(&nv->senders);
	senders_know_own(&nv->senders);
	for (unsigned i = 0; i < nv->targets.count; i++)
		senders_know_text(&nv->senders, nv->targets.list[i].url.host);
	for (uint32_t i = 0; i < nv->health.aliases.names.count; i++)
		senders_know_text(&nv->senders, nv->health.aliases.texts[i]);
}

/* A lookup that can't be stopped is left to its end, with its memory. */
void nvswitch_senders_fini(struct nvswitch *nv)
{
	while (nv->lookups) {
		struct lookup *l = nv->lookups;
		bool over = gai_cancel(&l->ask) != EAI_NOTCANCELED;

		nv->lookups = l->next;
		if (over && l->ask.ar_result)
			freeaddrinfo(l->ask.ar_result);
		if (over)
			free(l);
	}
	loop_timer_free(nv->lookup_timer);
	senders_fini(&nv->senders);
}
