/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * fabric_warn: what the present fabric's own state asks an operator for, as alerts: HCAs that are cut off, hosts whose NVLinks are
 * gravely ill, switches that do not answer; rooms review theirs with it. Counted anew behind each update and poll.
 */
#include <stdio.h>
#include <string.h>
#include "fm/core/name_list.h"
#include "fm/fabric/own.h"

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
			name_list_add(&silent, n->desc);
	name_list_alert(f->alerts, "switches-silent", &silent, "switch does not answer",
			"switches do not answer");
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
		name_list_add(&ill->fatal, host);
	else if (state == NVSWITCH_NO_P2P)
		name_list_add(&ill->no_p2p, host);
}

static void warn_of_hosts(struct fabric *f)
{
	struct ill ill = { 0 };

	if (f->topo)
		nvswitch_each(f->nvswitch, add_host, &ill);
	name_list_alert(f->alerts, "hosts-fatal", &ill.fatal, "host FATAL", "hosts FATAL");
	name_list_alert(f->alerts, "hosts-no-p2p", &ill.no_p2p, "host NO_P2P", "hosts NO_P2P");
}

void fabric_warn(struct fabric *f)
{
	if (f->topo)
		warn_of_cut_off(f);
	else
		alert_end(f->alerts, "hcas-cut-off", NULL);
	warn_of_silent(f);
	warn_of_hosts(f);
	modules_review(f->modules);
}
