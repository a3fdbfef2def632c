/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/* fmctl_plan: what the parts of `fmctl plan` share. */
#pragma once

#include "fm/conf/conf.h"
#include "fm/fmctl/fmctl.h"
#include "fm/opensm/osm_dump.h"
#include "routing/adaptive/groups.h"
#include "routing/balance/rebalance.h"
#include "routing/ftree/route.h"
#include "routing/proof/check.h"
#include "routing/report/congestion.h"
#include "routing/report/report.h"
#include "routing/report/load_map.h"

#define PLAN_MAX_FAILS	65536
#define PLAN_MAX_REPEAT 1000

/* What was typed. */
struct plan_args {
	const char *netfile;
	const char *engine;	    /* NULL = ftree */
	const char *lfts, *heatmap; /* files to write, NULL = none */
	const char *foreign;	    /* tables to measure instead of computing some */
	const char *far, *far_out;  /* groups to compare with, and where to write those planned */
	const char *name_map;	    /* a file of names; NULL = none */
	const char *storage;	    /* patterns of storage nodes */
	const char *fails[PLAN_MAX_FAILS];
	const char *assumed[PLAN_MAX_FAILS]; /* "HOST=STATE" */
	const char *conf_path;		     /* NULL = its defaults */
	unsigned nfails, nassumed, repeat;
	bool check;			/* exit 1 if somebody loses something */
	struct rebalance_limits limits; /* entries 0 = no re-balancing wanted */
};

struct plan {
	struct plan_args args;
	struct route_params params;
	struct topo *intact, *topo; /* as in the file; with the failures */
	bool *is_storage;	    /* by node of topo; NULL = not named */
	struct conf conf;
	uint8_t *by_name; /* classes, NULL = all compute */
	uint8_t *states;  /* assumed, by host; NULL = none */
	struct lid_map *lids;
	struct route *route;
	struct tables before, tables;
	const char *engine;	/* that made the tables */
	char why[400];		/* another engine than asked made the tables, "" = no */
	uint32_t without_table; /* switches without a foreign table */
	double ms[PLAN_MAX_REPEAT], check_ms;
	struct check_report proof;
	struct congestion congestion;
	struct ebb ebb;
	struct ar_groups *groups; /* of adaptive routing; NULL = the tables are of no tree */
	json_t *adaptive, *far;	  /* what is shown of them, and of those read */
	uint64_t *flows;	  /* all-to-all, by port */
	struct load_map *tiers[TOPO_MAX_LEVEL + 1];
	unsigned ntiers;
	struct delta delta;
	json_t *lost;		     /* lost_json() by the failures; NULL = none was asked for */
	struct rebalance *rebalance; /* the pass and its result */
	double rebalance_ms;
	struct congestion stable; /* of the tables before re-balancing */
};

/* Whether something differs from the fabric of the file. */
static inline bool plan_changes(const struct plan *p)
{
	return (p->args.nfails || p->args.nassumed) && !p->args.foreign;
}

/* heatmap.c: write the tiers' loads, switch by switch. 0, or -errno of the stream. */
int heatmap_write_svg(const struct plan *p, FILE *out);
int heatmap_write_text(const struct plan *p, FILE *out);
