/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
/*
 * policy: the table of treatments comes from the configuration. Only compute ports are distributed
 * differently; weights are set for each host.
 *
 * The effect of a treatment is measured by the host's own cross-rail traffic: all its compute
 * adapters send to each other, as they do when NVLink does not relay, and the busiest uplink that
 * carries such flows counts.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "fm/nvswitch/policy.h"
#include "routing/report/congestion.h"
#include "routing/report/load_map.h"
#include "routing/report/rates.h"
#include "routing/ftree/route.h"
#include "topology/base/mem.h"
#include "topology/what/what.h"

/* ---- Treatments ------------------------------------------------------------------------------ */

/* enum route_class of enum conf_class; -1: as it is. */
static const int class_of_conf[] = {
	[CONF_CLASS_UNCHANGED] = -1,
	[CONF_CLASS_CROSSRAIL] = ROUTE_CROSSRAIL,
	[CONF_CLASS_IDLE] = ROUTE_IDLE,
};

static struct nvswitch_treatment treatment(int class, int weight)
{
	return (struct nvswitch_treatment){ class_of_conf[class], (uint8_t)weight };
}

struct nvswitch_policy nvswitch_policy(const struct conf_nvswitch *c)
{
	struct nvswitch_policy policy;

	for (int s = 0; s < NVSWITCH_STATES; s++)
		policy.of[s] = (struct nvswitch_treatment){ -1, 1 };
	policy.of[NVSWITCH_DEGRADED_LINK] = treatment(c->degraded_class, c->degraded_weight);
	policy.of[NVSWITCH_NO_P2P] = treatment(c->no_p2p_class, c->no_p2p_weight);
	policy.of[NVSWITCH_FATAL] = treatment(c->fatal_class, c->fatal_weight);
	return policy;
}

void nvswitch_policy_number(const struct nvswitch_policy *policy, uint8_t *numbers)
{
	for (int s = 0; s < NVSWITCH_STATES; s++) {
		const struct nvswitch_treatment *t = &policy->of[s], *other = policy->of;

		while (other->class != t->class || other->weight != t->weight)
			other++;
		numbers[s] = (uint8_t)(other - policy->of);
	}
}

void nvswitch_policy_apply(const struct nvswitch_policy *policy, const struct topo *t,
			   const uint8_t *states, uint8_t **classes, uint8_t **weights)
{
	if (!*classes)
		*classes = mem_alloc(t->nports, 1); /* all compute */
	if (!*weights) {
		*weights = mem_alloc(t->nports, 1);
		memset(*weights, 1, t->nports);
	}
	for (uint32_t h = 0; h < t->nhosts; h++)
		for (uint32_t i = 0; i < t->hosts[h].ncas && states[h] != NVSWITCH_HEALTHY; i++) {
			const struct topo_node *node =
				&t->nodes[t->host_cas[t->hosts[h].first + i]];
			struct nvswitch_treatment how = policy->of[states[h]];
			uint8_t *class = *classes + node->port0;

			for (unsigned num = 0; num <= node->nports && how.class >= 0; num++)
				if (class[num] == ROUTE_COMPUTE)
					class[num] = (uint8_t)how.class;
			memset(*weights + node->port0, how.weight, node->nports + 1u);
		}
}

uint8_t *nvswitch_policy_aside(const struct nvswitch_policy *policy, const struct topo *t,
			       const uint8_t *now, const uint8_t *then)
{
	uint8_t *aside = mem_alloc(t->nnodes + 1, 1);

	for (uint32_t h = 0; h < t->nhosts; h++) {
		const struct topo_host *host = &t->hosts[h];
		struct nvswitch_treatment was = policy->of[now ? now[h] : NVSWITCH_HEALTHY];
		struct nvswitch_treatment is = policy->of[then[h]];

		if (is.class == was.class && is.weight == was.weight)
			continue;
		for (uint32_t i = 0; i < host->ncas; i++)
			aside[t->host_cas[host->first + i]] =
				is.weight ? CONGESTION_ASIDE : CONGESTION_SILENT;
	}
	return aside;
}

/* ---- What is assumed ------------------------------------------------------------------------- */

int nvswitch_policy_assume(const struct topo *t, const char *text, uint8_t *states, char *err,
			   size_t err_size)
{
	const struct what_scope scope = { .topo = t };
	const char *word = strrchr(text, '=');
	char *name = mem_printf("%.*s", word ? (int)(word - text) : 0, text);
	int state = word ? nvswitch_state_parse(word + 1) : -1;
	char why[WHAT_ERROR_SIZE];
	struct what what;
	bool found = what_find(&scope, name, WHAT_HOST, &what, why, sizeof(why));

	free(name);
	if (!word)
		snprintf(err, err_size, "%.80s: HOST=STATE is expected", text);
	else if (state < 0 || state == NVSWITCH_UNKNOWN)
		snprintf(err, err_size,
			 "unknown state %.40s: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL", word + 1);
	else if (!found)
		snprintf(err, err_size, "the fabric has no host %.*s, or several",
			 (int)(word - text), text);
	else
		states[what.host] = (uint8_t)state;
	return word && state >= 0 && state != NVSWITCH_UNKNOWN && found ? 0 : -1;
}

/* ---- What comes of it ------------------------------------------------------------------------ */

static json_t *load_json(const struct nvswitch_trial *trial, const struct nvswitch_scene *scene,
			 uint32_t host)
{
	struct crossrail load;
	struct rates rates;

	crossrail_measure(scene->topo, trial->lids, scene->tables, trial->classes, host, &load);
	rates_measure(scene->topo, trial->lids, scene->tables, trial->classes, host, false, &rates);
	return json_pack("{si si si si sf si sf si sf}", "flows", (int)load.flows, "worst_uplink",
			 (int)load.worst_uplink, "uplinks", (int)load.uplinks, "unreachable",
			 (int)load.unreachable, "rate", round(rates.own * 1000) / 1000, "rate_of",
			 (int)rates.adapters, "others_rate", round(rates.others * 1000) / 1000,
			 "others_flows", (int)rates.flows, "others_least",
			 round(rates.least * 1000) / 1000);
}

json_t *nvswitch_trial_json(const struct nvswitch_trial *trial)
{
	json_t *rows = json_array();

	for (uint32_t h = 0; h < trial->now.topo->nhosts; h++) {
		uint8_t was = trial->now.states ? trial->now.states[h] : NVSWITCH_HEALTHY;
		uint8_t state = trial->then.states ? trial->then.states[h] : NVSWITCH_HEALTHY;
		struct nvswitch_treatment t = trial->policy->of[state];
		const char *class = t.class == ROUTE_IDLE ? "idle" : "unchanged";

		if (state == was)
			continue;
		if (t.class == ROUTE_CROSSRAIL)
			class = "crossrail";
		json_array_append_new(
			rows,
			json_pack("{ss ss ss ss si so so}", "host", trial->now.topo->hosts[h].name,
				  "state", nvswitch_state_name((enum nvswitch_state)state), "was",
				  nvswitch_state_name((enum nvswitch_state)was), "class", class,
				  "weight", t.weight, "cross_rail_before",
				  load_json(trial, &trial->now, h), "cross_rail",
				  load_json(trial, &trial->then, h)));
	}
	return rows;
}
