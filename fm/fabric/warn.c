/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_warn: what the present fabric's own state asks an operator for, as alerts: HCAs that are cut off, hosts whose NVLinks are
 * gravely ill, switches that do not answer, links below what they can. Counted anew behind each update and poll.
 */
#include <stdio.h>
#include <string.h>
#include "fm/fabric/own.h"

#define NAMES_SHOWN 5

struct name_list { /* `a, b and 3 more` */
	unsigned count;
	char text[256];
};

static void add_name(struct name_list *n, const char *name)
{
	size_t used = strlen(n->text);

	if (n->count++ < NAMES_SHOWN)
		snprintf(n->text + used, sizeof(n->text) - used, "%s%.60s", used ? ", " : "", name);
}

/* The alert that there are some, or its end. */
static void warn_of(struct fabric *f, const char *what, struct name_list *n, const char *one,
		    const char *several)
{
	size_t used = strlen(n->text);

	if (!n->count) {
		alert_end(f->alerts, what, NULL);
		return;
	}
	if (n->count > NAMES_SHOWN)
		snprintf(n->text + used, sizeof(n->text) - used, " and %u more",
			 n->count - NAMES_SHOWN);
	alert_raise(f->alerts, what, NULL, "%u %s: %s", n->count,
		    fabric_word(n->count, one, several), n->text);
}

/* ---- HCAs that are cut off ------------------------------------------------------------------------- */

void fabric_cutoff(const struct fabric *f, struct cutoff *out)
{
	const struct inv_node *local = sweep_inventory(f->sweep)->local;

	cutoff_find(f->topo, local ? topo_find(f->topo, local->guid) : TOPO_NONE, out);
}

static void warn_of_cut_off(struct fabric *f)
{
	struct cutoff c;
	char text[256];

	fabric_cutoff(f, &c);
	cutoff_describe(f->topo, &c, text, sizeof(text));
	if (c.hcas)
		alert_raise(f->alerts, "hcas-cut-off", NULL, "%s", text);
	else
		alert_end(f->alerts, "hcas-cut-off", NULL);
}

/* ---- The others ------------------------------------------------------------------------------------ */

static void warn_of_silent(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	struct name_list silent = { 0 };

	for (const struct inv_node *n = f->topo ? inventory_first(inv) : NULL; n;
	     n = inventory_next(inv, n))
		if (inv_is_switch(n) && n->silent && !n->gone)
			add_name(&silent, n->desc);
	warn_of(f, "switches-silent", &silent, "switch does not answer", "switches do not answer");
}

struct ill {
	struct name_list fatal, no_p2p;
};

static void add_host(void *arg, const char *host, enum nvswitch_state believed,
		     enum nvswitch_state override)
{
	enum nvswitch_state state = override == NVSWITCH_UNKNOWN ? believed : override;
	struct ill *ill = arg;

	if (state == NVSWITCH_FATAL)
		add_name(&ill->fatal, host);
	else if (state == NVSWITCH_NO_P2P)
		add_name(&ill->no_p2p, host);
}

static void warn_of_hosts(struct fabric *f)
{
	struct ill ill = { 0 };

	if (f->topo)
		nvswitch_each(f->nvswitch, add_host, &ill);
	warn_of(f, "hosts-fatal", &ill.fatal, "host FATAL", "hosts FATAL");
	warn_of(f, "hosts-no-p2p", &ill.no_p2p, "host NO_P2P", "hosts NO_P2P");
}

static void warn_of_slow(struct fabric *f)
{
	struct name_list slow = { 0 };
	struct cable_name name;

	while (f->topo && fabric_slow_link(f, slow.count, &name))
		add_name(&slow, name.text);
	warn_of(f, "links-slow", &slow, "link runs below what it can",
		"links run below what they can");
}

void fabric_warn(struct fabric *f)
{
	if (f->topo)
		warn_of_cut_off(f);
	else
		alert_end(f->alerts, "hcas-cut-off", NULL);
	warn_of_silent(f);
	warn_of_hosts(f);
	warn_of_slow(f);
}
