/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * log_intake: a sender whose address nobody knows may send if the host of the fabric that his line
 * names has that address. The system's resolver is asked beside the loop (getaddrinfo_a(3)); what
 * he sends meanwhile waits, LINES_WAIT lines of it. Anybody else is counted, and reported by one
 * event in REFUSED_US.
 */
#include <limits.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "fm/nvswitch/log_intake.h"
#include "fm/nvswitch/source.h"
#include "fm/nvswitch/syslog.h"
#include "topology/base/mem.h"

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

struct log_intake {
	struct source_home *home;
	struct senders senders;
	char own_name[256];	/* of this machine */
	uint64_t unknown;	/* lines of hosts that the fabric does not have */
	struct lookup *lookups; /* of senders' addresses, under way */
	unsigned nlookups;
	struct loop_timer *lookup_timer;
	bool refused_reported; /* at refused_us */
	uint64_t refused_us;
	struct log_limit unknown_limit;
};

/* ---- Who is meant ---------------------------------------------------------------------------- */

/*
 * A host by what a line calls it: its name, or one of the names in a chain of relays. UINT_MAX =
 * nobody.
 */
static unsigned find_host(const struct log_intake *in, const char *name)
{
	char copy[SYSLOG_HOST], *rest = copy, *part;
	unsigned host = health_find(in->home->health, *name ? name : in->own_name);

	if (host != UINT_MAX || !strchr(name, '/'))
		return host;
	snprintf(copy, sizeof(copy), "%s", name);
	while (host == UINT_MAX && (part = strtok_r(rest, "/", &rest)))
		host = health_find(in->home->health, part);
	return host;
}

static void event_cb(void *arg, const char *name, const struct sxid_event *event)
{
	struct log_intake *in = arg;
	uint64_t now_us = loop_now_us(in->home->loop);
	unsigned host = find_host(in, name);

	if (host != UINT_MAX) {
		health_hear_log(in->home->health, host, event, now_us);
		source_heard(in->home);
		return;
	}
	in->unknown++;
	if (log_allow(&in->unknown_limit, now_us, STRANGER_LINES))
		log_line(LOG_NVSWITCH, LOG_WARNING,
			 "kernel log of a host that is not in the fabric: %s: %s",
			 *name ? name : in->own_name, event->finding.text);
}

/* ---- Who may not ----------------------------------------------------------------------------- */

static void refused_cb(void *arg, const struct sender *sender)
{
	struct log_intake *in = arg;
	uint64_t now_us = loop_now_us(in->home->loop);
	char text[240];

	if (in->refused_reported && now_us - in->refused_us < REFUSED_US)
		return;
	in->refused_reported = true;
	in->refused_us = now_us;
	snprintf(text, sizeof(text),
		 "nvswitch: syslog from %s is ignored: %s; `fmctl nvswitch logs` lists all senders",
		 sender->name,
		 in->senders.listed ? "it is not in syslog_allow"
				    : "the address belongs to no known host (see syslog_allow)");
	in->home->ops->event(in->home->arg, LOG_WARNING, "nvswitch-sender",
			     json_pack("{ss}", "sender", sender->name), text);
}

/* ---- The resolver ---------------------------------------------------------------------------- */

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

static void lookup_done(struct log_intake *in, struct lookup *l, bool good)
{
	struct sender *sender;

	if (good && has_address(l))
		senders_know(&in->senders, &l->sender);
	sender = senders_find(&in->senders, &l->sender, loop_now_us(in->home->loop));
	sender->verdict = good && has_address(l) ? SENDER_ALLOWED : SENDER_REFUSED;
	sender->decided_us = loop_now_us(in->home->loop);
	for (unsigned i = 0; i < l->waiting; i++)
		if (sender_may(sender))
			event_cb(in, l->lines[i].host, &l->lines[i].event);
	if (sender_may(sender)) {
		sender->understood += l->waiting;
	} else {
		sender->refused += l->waiting;
		refused_cb(in, sender);
	}
	if (l->ask.ar_result)
		freeaddrinfo(l->ask.ar_result);
	free(l);
}

static void look_cb(void *arg)
{
	struct log_intake *in = arg;
	struct lookup **link = &in->lookups;

	while (*link) {
		struct lookup *l = *link;
		int status = gai_error(&l->ask);

		if (status == EAI_INPROGRESS) {
			link = &l->next;
			continue;
		}
		*link = l->next;
		in->nlookups--;
		lookup_done(in, l, status == 0);
	}
	if (in->lookups)
		loop_timer_set(in->lookup_timer, LOOK_US);
}

static bool begin_lookup(struct log_intake *in, const struct sender *sender, const char *name)
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
	l->next = in->lookups;
	in->lookups = l;
	in->nlookups++;
	if (!in->lookup_timer)
		in->lookup_timer = loop_timer_new(in->home->loop, look_cb, in);
	loop_timer_set(in->lookup_timer, LOOK_US);
	return true;
}

static struct lookup *lookup_of(struct log_intake *in, const struct sender *sender)
{
	struct lookup *l = in->lookups;

	while (l && memcmp(&l->sender, &sender->address, sizeof(l->sender)))
		l = l->next;
	return l;
}

static bool undecided_cb(void *arg, struct sender *sender, const char *name,
			 const struct sxid_event *event)
{
	struct log_intake *in = arg;
	struct lookup *l = lookup_of(in, sender);
	unsigned host = find_host(in, name);

	if (!l) {
		if (host == UINT_MAX || in->nlookups == LOOKUPS ||
		    !begin_lookup(in, sender, in->home->health->hosts[host].name))
			return false;
		sender->verdict = SENDER_ASKED;
		l = in->lookups;
	}
	if (!event)
		return true;
	if (l->waiting == LINES_WAIT)
		return false;
	snprintf(l->lines[l->waiting].host, SYSLOG_HOST, "%s", name);
	l->lines[l->waiting++].event = *event;
	return true;
}

const struct log_server_ops log_intake_ops = { event_cb, undecided_cb, refused_cb };

/* ---- Life ------------------------------------------------------------------------------------ */

struct log_intake *log_intake_new(struct source_home *home)
{
	struct log_intake *in = mem_alloc(1, sizeof(*in));

	in->home = home;
	if (gethostname(in->own_name, sizeof(in->own_name) - 1))
		*in->own_name = '\0';
	return in;
}

struct senders *log_intake_senders(struct log_intake *in)
{
	return &in->senders;
}

uint64_t log_intake_unknown(const struct log_intake *in)
{
	return in->unknown;
}

/* A lookup that can't be stopped is left to its end, with its memory. */
void log_intake_free(struct log_intake *in)
{
	while (in->lookups) {
		struct lookup *l = in->lookups;
		bool over = gai_cancel(&l->ask) != EAI_NOTCANCELED;

		in->lookups = l->next;
		if (over && l->ask.ar_result)
			freeaddrinfo(l->ask.ar_result);
		if (over)
			free(l);
	}
	loop_timer_free(in->lookup_timer);
	senders_fini(&in->senders);
	free(in);
}
