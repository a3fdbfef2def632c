/* SPDX-License-Identifier: GPL-2.0-only OR Linux-OpenIB */
#include <math.h>
#include "fm/nvswitch/policy.h"
#include "topology/base/mem.h"
#include "topology/what/what.h"

/* ---- What is assumed ------------------------------------------------------------------------- */

int nvswitch_policy_assume(const struct topo *t, const char *text, uint8_t *states, char *err)
{
	const struct what_scope scope = { .topo = t };
	const char *word = strrchr(text, '=');
	char *name = mem_printf("%.*s", word ? (int)(word - text) : 0, text);
	int state = word ? nvswitch_state_parse(word + 1) : -1;
	char why[WHAT_ERROR_SIZE];
	struct what what;
	bool found = what_find(&scope, name, WHAT_HOST, &what, why, sizeof(why));

	free(name);
	if (!word) {
		snprintf(err, NVSWITCH_ERROR, "%.80s: HOST=STATE is expected", text);
	} else if (state < 0 || state == NVSWITCH_UNKNOWN) {
		snprintf(err, NVSWITCH_ERROR,
			 "unknown state %.40s: HEALTHY, DEGRADED_LINK, NO_P2P or FATAL", word + 1);
	} else if (!found) {
		snprintf(err, NVSWITCH_ERROR, "the fabric has no host %.*s, or several",
			 (int)(word - text), text);
	} else {
		states[what.host] = state;
		return 0;
	}
	return -1;
}

/* ---- What comes of it ------------------------------------------------------------------------ */

static double rounded(double rate)
{
	return round(rate * 1000) / 1000;
}

static json_t *load_json(const struct nvswitch_trial *trial, const struct nvswitch_scene *scene,
			 uint32_t host)
{
	struct rates r;

	rates_measure(scene->topo, trial->lids, scene->tables, trial->classes, host, false, &r);
	return json_pack("{si si si si sf si sf si sf sf}", "flows", r.own_flows, "worst_uplink",
			 r.worst_uplink, "uplinks", r.uplinks, "unreachable", r.unreachable, "rate",
			 rounded(r.own), "rate_of", r.adapters, "others_rate", rounded(r.others),
			 "others_flows", r.flows, "others_least", rounded(r.least), "others_alone",
			 rounded(r.others_alone));
}

json_t *nvswitch_trial_json(const struct nvswitch_trial *trial)
{
	json_t *rows = json_array();

	for (uint32_t h = 0; h < trial->now.topo->nhosts; h++) {
		uint8_t was = trial->now.states ? trial->now.states[h] : NVSWITCH_HEALTHY;
		uint8_t state = trial->then.states ? trial->then.states[h] : NVSWITCH_HEALTHY;

		/* Class and weight are those of all hosts. */
		if (state != was)
			json_array_append_new(
				rows,
				json_pack("{ss ss ss ss si so so}", "host",
					  trial->now.topo->hosts[h].name, "state",
					  nvswitch_state_name(state), "was",
					  nvswitch_state_name(was), "class", "unchanged", "weight",
					  1, "cross_rail_before", load_json(trial, &trial->now, h),
					  "cross_rail", load_json(trial, &trial->then, h)));
	}
	return rows;
}
