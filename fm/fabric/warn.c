/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * warn: what the present state of the fabric asks an operator for, as alerts: HCAs that are cut
 * off, switches that do not answer; rooms review theirs with it. Counted anew behind each update
 * and light sweep.
 */
#include "fm/fabric/warn.h"
#include <stdio.h>
#include <string.h>
#include "fm/conf/lists.h"
#include "fm/fabric/pipe.h"

/* ---- HCAs that are cut off ------------------------------------------------------------------- */

void fabric_cutoff(const struct fabric *f, struct cutoff *out)
{
	const struct inv_node *local = sweep_inventory(f->sweep)->local;

	cutoff_find(f->now.topo, local ? topo_find(f->now.topo, local->guid) : TOPO_NONE, out);
}

static void warn_of_cut_off(struct fabric *f)
{
	struct cutoff c;
	char text[256];

	fabric_cutoff(f, &c);
	cutoff_describe(f->now.topo, &c, text, sizeof(text));
	if (c.hcas)
		alert_raise(f->alerts, "hcas-cut-off", NULL, "%s", text);
	else
		alert_end(f->alerts, "hcas-cut-off", NULL);
}

/* ---- The others ------------------------------------------------------------------------------ */

static void warn_of_silent(struct fabric *f)
{
	const struct inventory *inv = sweep_inventory(f->sweep);
	struct name_list silent = { 0 };

	for (const struct inv_node *n = f->now.topo ? inventory_first(inv) : NULL; n;
	     n = inventory_next(inv, n))
		if (inv_is_switch(n) && n->silent && !n->gone)
			name_list_add(&silent, n->name);
	name_list_alert(f->alerts, "switches-silent", &silent, "switch does not answer",
			"switches do not answer");
}

void fabric_warn(struct fabric *f)
{
	if (f->now.topo)
		warn_of_cut_off(f);
	else
		alert_end(f->alerts, "hcas-cut-off", NULL);
	warn_of_silent(f);
	MODULES_CALL(f->kept.modules, settled, FABRIC_REVIEWED);
}
